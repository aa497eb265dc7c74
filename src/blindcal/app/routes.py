"""Requests to answers: pages, numbers, files. Each one parses, calls and answers, as a command does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Body, FastAPI, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from blindcal import __version__
from blindcal.app.guard import policy
from blindcal.app.pages import conference_view, job_view
from blindcal.app.pair import SLIDERS, drawn, picture, read_settings
from blindcal.app.session import Session, TooLargeError
from blindcal.app.steps import PUBLISHED
from blindcal.errors import BlindcalError, InputError, unexpected
from blindcal.importers import MAX_EXPORT, Choices
from blindcal.importers.plain_table import columns_of
from blindcal.io.atomic_files import read_bytes, to_jsonable
from blindcal.project.create import InitialSettings
from blindcal.project.settings import Value
from blindcal.report.charts import WIDTH

Form = Mapping[str, str]
Fields = Annotated[dict[str, str], Body()]
_STATIC: Mapping[str, tuple[str, str]] = {
    "report.css": ("blindcal.report/templates", "text/css"),
    "app.css": ("blindcal.app/static", "text/css"),
    "app.js": ("blindcal.app/static", "text/javascript"),
    "pair.js": ("blindcal.app/static", "text/javascript"),
    "icon.svg": ("blindcal.app/static", "image/svg+xml"),
}
_DOWNLOADS = {
    "decisions.csv": "text/csv",
    "certificate.json": "application/json",
    "report.html": "text/html",
    "CONFIDENTIAL-report.html": "text/html",
}


def make_app(session: Session, token: str, *, limit: int = MAX_EXPORT) -> FastAPI:
    """The application behind the guard; its pages are about one session.

    Every address begins with the `token`. An uploaded file has at most `limit` bytes.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.include_router(_rooms(session, token, limit), prefix=f"/{token}")

    @app.exception_handler(RequestValidationError)
    async def unread(request: Request, error: RequestValidationError) -> Response:
        return PlainTextResponse("That cannot be read.\n", status_code=422)

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:
        return PlainTextResponse(f"{unexpected(error)}\n", status_code=500)

    return app


Shown = Callable[..., HTMLResponse]


def _rooms(session: Session, token: str, limit: int) -> APIRouter:
    pages = _environment()

    def shown(name: str, **facts: Any) -> HTMLResponse:
        text = pages.get_template(name).render(base=f"/{token}", version=__version__, **facts)
        return HTMLResponse(text)

    router = APIRouter()
    for page in (_hall(shown), _pair(shown), _conference(session, shown), _files(session, limit)):
        router.include_router(page)
    return router


def _hall(shown: Shown) -> APIRouter:
    """The first page, and what all pages need."""
    router = APIRouter()

    @router.get("/")
    def home() -> Response:
        return shown("home.html", page="home")

    @router.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in _STATIC:
            raise HTTPException(404)
        place, kind = _STATIC[name]
        package, _, folder = place.partition("/")
        return Response(files(package).joinpath(folder, name).read_bytes(), media_type=kind)

    return router


def _pair(shown: Shown) -> APIRouter:
    """The routes of *Pair*: its page, its numbers, its draws."""
    router, rng = APIRouter(), np.random.default_rng()

    @router.get("/pair")
    def pair() -> Response:
        return shown("pair.html", page="pair", sliders=SLIDERS)

    @router.get("/pair/numbers")
    def numbers(request: Request) -> Response:
        return _json_or_refusal(lambda: picture(read_settings(dict(request.query_params))))

    @router.post("/pair/draws")
    def draws(fields: Fields) -> Response:
        number = fields.pop("number", "1")

        def found() -> dict[str, Any]:
            if not number.isascii() or not number.isdigit() or len(number) > 7:
                raise InputError("the number of draws must be a whole number")
            return drawn(read_settings(fields), int(number), rng)

        return _json_or_refusal(found)

    return router


def _conference(session: Session, shown: Shown) -> APIRouter:
    """The routes of *Conference*: its page, the job that runs, and its actions."""
    router = APIRouter()

    @router.get("/conference")
    def conference() -> Response:
        with session.lock:
            return shown("conference.html", page="conference", width=WIDTH, **conference_view(session))

    @router.get("/conference/job")
    def job() -> Response:
        return JSONResponse(job_view(None if session.job is None else session.job.state))

    @router.post("/conference/do/{action}")
    def do(action: str, fields: Fields) -> Response:
        if action not in ACTIONS:
            raise HTTPException(404)
        session.error = None
        try:
            ACTIONS[action](session, fields)
        except BlindcalError as error:
            session.error = error
            return JSONResponse({"done": False})
        return JSONResponse({"done": True})

    return router


def _files(session: Session, limit: int) -> APIRouter:
    """What comes in, of at most `limit` bytes, and what goes out."""
    router = APIRouter()

    @router.put("/conference/files/{role}")
    async def file(role: str, name: str, request: Request) -> Response:
        try:
            with session.staging.open(role, name) as incoming:
                async for chunk in request.stream():
                    incoming.write(chunk, limit)
        except TooLargeError as error:
            return _refusal(error, 413)
        except InputError as error:
            return _refusal(error, 400)
        await run_in_threadpool(session.check_upload, role, incoming.target)
        return JSONResponse({"done": True})

    @router.get("/conference/report")
    def report() -> Response:
        return _page(session, "public")

    @router.get("/conference/chair")
    def chair() -> Response:
        return _page(session, "chair")

    @router.get("/conference/download/{name}")
    def download(name: str) -> Response:
        if name not in _DOWNLOADS:
            raise HTTPException(404)
        return _download(session, name)

    return router


def _environment() -> Environment:
    return Environment(
        loader=ChoiceLoader([PackageLoader("blindcal.app"), PackageLoader("blindcal.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _json_or_refusal(found: Callable[[], Any]) -> Response:
    try:
        return JSONResponse(to_jsonable(found()))
    except InputError as error:
        return _refusal(error, 400)


def _refusal(error: InputError, status: int) -> Response:
    return PlainTextResponse(f"{error}\n", status_code=status)


def _page(session: Session, kind: str) -> Response:
    """A report as it is, with a policy that allows the styles in it and nothing else."""
    with session.lock:
        pages = None if session.opened is None else session.opened.pages
    if pages is None:
        raise HTTPException(404)
    text: str = getattr(pages, kind)
    return HTMLResponse(text, headers={"content-security-policy": policy(text)})


def _download(session: Session, name: str) -> Response:
    with session.lock:
        opened = session.opened
    if opened is None or opened.release is None:
        raise HTTPException(404)
    if name in PUBLISHED:
        data = read_bytes(opened.release.path / name)
    elif opened.pages is None:
        raise HTTPException(404)
    else:
        data = (opened.pages.public if name == "report.html" else opened.pages.chair).encode()
    kind, given = _DOWNLOADS[name], {"content-disposition": f'attachment; filename="{name}"'}
    return Response(data, media_type=kind, headers=given)


# What can be done at the session.


def _open_example(session: Session, fields: Form) -> None:
    session.open_example()
    _compare_if_ready(session)


def _open(session: Session, fields: Form) -> None:
    session.open_named(fields.get("name", ""))
    _compare_if_ready(session)


def _compare_if_ready(session: Session) -> None:
    """Start on what everybody who opens a conference wants to see."""
    opened = session.opened
    if opened and opened.wanted and opened.calibrated and not opened.release and not opened.compared:
        session.compare()


def _choose(session: Session, fields: Form) -> None:
    given = {name: fields.get(name, "").strip() for name in ("score_field", "columns", "best_first")}
    session.choose(
        Choices(
            score_field=given["score_field"] or None,
            columns=columns_of(given["columns"]) if given["columns"] else {},
            best_first=tuple(one.strip() for one in given["best_first"].split(",") if one.strip()),
        )
    )


def _found(session: Session, fields: Form) -> None:
    rate = fields.get("accept_rate", "").strip()
    wishes = InitialSettings(
        fields.get("scores"),
        accept_rate=_share(rate) if rate else None,
        grid=fields.get("grid", "").strip() or None,
        better=fields.get("better", "high"),
    )
    session.found(fields.get("name", "").strip(), wishes)


def _accept(session: Session, fields: Form) -> None:
    rate, number = (fields.get(name, "").strip() for name in ("accept_rate", "accept"))
    if bool(rate) == bool(number):
        raise InputError("give either a share of the papers or a number of them")
    wanted: dict[str, Value | None] = {"accept-rate": _share(rate)} if rate else {"accept": _whole(number)}
    session.accept(wanted)
    _compare_if_ready(session)


def _share(text: str) -> float:
    """A share in percent.

    >>> _share("25"), _share("12.5")
    (0.25, 0.125)
    """
    try:
        value = float(text.removesuffix("%").replace(",", ".")) / 100
    except ValueError:
        value = 0.0
    if not 0.0 < value < 1.0:
        raise InputError("the share of papers to accept must be between 0 and 100 percent")
    return value


def _whole(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 7:
        raise InputError("the number of papers to accept must be a whole number")
    return int(text)


def _guarantee(session: Session, fields: Form) -> None:
    session.choose_guarantee(_whole(fields.get("place", "")))


def _decide(session: Session, fields: Form) -> None:
    if fields.get("sure") != "yes":
        raise InputError("tick that you are sure: decisions are drawn once")
    session.decide()


ACTIONS: Mapping[str, Callable[[Session, Form], None]] = {
    "example": _open_example,
    "open": _open,
    "leave": lambda session, fields: session.leave(),
    "choose": _choose,
    "remove": lambda session, fields: session.remove_upload(fields.get("role", ""), fields.get("name", "")),
    "found": _found,
    "assess": lambda session, fields: session.assess(),
    "compare": lambda session, fields: session.compare(),
    "accept": _accept,
    "guarantee": _guarantee,
    "decide": _decide,
    "report": lambda session, fields: session.report(),
    "cancel": lambda session, fields: session.cancel(),
}
"""What a page can ask for; each answer is the page, read again."""
