"""Requests to answers: pages, numbers, files. Each one parses, calls and answers, as a command does."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Body, FastAPI, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from blindcal import __version__
from blindcal.adversaries.side_knowledge import PRIORS
from blindcal.app.folder_state import PUBLISHED
from blindcal.app.guard import policy
from blindcal.app.pages import TABS, job_view, page_view
from blindcal.app.pair import SLIDERS, drawn, picture, read_settings
from blindcal.app.session import EDITABLE, Reading, Session, TooLargeError
from blindcal.errors import BlindcalError, InputError, unexpected
from blindcal.importers import MAX_EXPORT
from blindcal.importers.plain_table import columns_of
from blindcal.importers.raw_export import Choices
from blindcal.io.atomic_files import read_bytes, to_jsonable
from blindcal.project.check import Adversaries
from blindcal.project.create import InitialSettings
from blindcal.project.publish import folder_papers
from blindcal.project.settings import accept_setting
from blindcal.report.charts import WIDTH
from blindcal.report.html_page import table_page

Form = Mapping[str, str]
Fields = Annotated[dict[str, str], Body()]
_STATIC: Mapping[str, tuple[str, str]] = {
    "report.css": ("blindcal.report/templates", "text/css"),
    "papers.js": ("blindcal.report/templates", "text/javascript"),
    "app.css": ("blindcal.app/static", "text/css"),
    "app.js": ("blindcal.app/static", "text/javascript"),
    "pair.js": ("blindcal.app/static", "text/javascript"),
    "icon.svg": ("blindcal.app/static", "image/svg+xml"),
}
PAPERS = "CONFIDENTIAL-papers.html"
_DOWNLOADS = {
    "decisions.csv": "text/csv",
    "advice.csv": "text/csv",
    "certificate.json": "application/json",
    "report.html": "text/html",
    "CONFIDENTIAL-report.html": "text/html",
    PAPERS: "text/html",
}
_REPORTS = ("report.html", "CONFIDENTIAL-report.html")


def make_app(session: Session, token: str, *, limit: int = MAX_EXPORT) -> FastAPI:
    """The application behind the guard; its pages are about one session.

    Every address begins with the `token`. An uploaded file has at most `limit` bytes.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.include_router(_routers(session, token, limit), prefix=f"/{token}")

    @app.exception_handler(RequestValidationError)
    async def unread(request: Request, error: RequestValidationError) -> Response:
        return PlainTextResponse("That cannot be read.\n", status_code=422)

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:
        return PlainTextResponse(f"{unexpected(error)}\n", status_code=500)

    return app


Shown = Callable[..., HTMLResponse]


def _routers(session: Session, token: str, limit: int) -> APIRouter:
    pages = _environment()

    def shown(name: str, **facts: Any) -> HTMLResponse:
        text = pages.get_template(name).render(base=f"/{token}", version=__version__, **facts)
        # Files that are private to the session go by their names alone.
        return HTMLResponse(re.sub(rf"{re.escape(str(session.private))}/(?:uploads/)?", "", text))

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
        location, kind = _STATIC[name]
        package, _, folder = location.partition("/")
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

        def answer() -> dict[str, Any]:
            if not number.isascii() or not number.isdigit() or len(number) > 7:
                raise InputError("the number of draws must be a whole number")
            return drawn(read_settings(fields), int(number), rng)

        return _json_or_refusal(answer)

    return router


def _conference(session: Session, shown: Shown) -> APIRouter:
    """The routes of *Conference*: its pages, the job that runs, and its actions."""
    router = APIRouter()

    def rendered(slug: str) -> Response:
        with session.lock:
            template, facts = page_view(session, slug)
        return shown(template, page="conference", width=WIDTH, **facts)

    @router.get("/conference")
    def conference() -> Response:
        return rendered("overview")

    @router.get("/conference/job")
    def job() -> Response:
        state = None if session.job is None else session.job.state
        return JSONResponse({**job_view(state), "changes": session.changes})

    @router.get("/conference/{slug}")
    def tab(slug: str) -> Response:
        if slug not in TABS:
            raise HTTPException(404)
        return rendered(slug)

    @router.post("/conference/do/{action}")
    def do(action: str, fields: Fields) -> Response:
        if action not in ACTIONS:
            raise HTTPException(404)
        if re.search("[\ud800-\udfff]", "".join((*fields, *fields.values()))):
            raise HTTPException(422)  # no text: it could be written to no file, and shown on no page
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

    @router.put("/conference/{kind}")
    async def file(kind: Literal["files", "tables"], name: str, request: Request) -> Response:
        store = session.staging if kind == "files" else session.tables
        try:
            with store.open(name) as incoming:
                async for chunk in request.stream():
                    incoming.write(chunk, limit)
        except TooLargeError as error:
            return _refusal(error, 413)
        except InputError as error:
            return _refusal(error, 400)
        await run_in_threadpool(session.uploaded)
        return JSONResponse({"done": True})

    @router.get("/conference/page/report")
    def report() -> Response:
        return _page(session, 0)

    @router.get("/conference/page/chair")
    def chair() -> Response:
        return _page(session, 1)

    @router.get("/conference/download/{name}")
    def download(name: str) -> Response:
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


def _json_or_refusal(answer: Callable[[], Any]) -> Response:
    try:
        return JSONResponse(to_jsonable(answer()))
    except InputError as error:
        return _refusal(error, 400)


def _refusal(error: InputError, status: int) -> Response:
    return PlainTextResponse(f"{error}\n", status_code=status)


def _page(session: Session, which: int) -> Response:
    """A report as it is, with a policy that allows the styles in it and nothing else."""
    with session.lock:
        pages = session.result("report")
    if pages is None:
        raise HTTPException(404)
    return HTMLResponse(pages[which], headers={"content-security-policy": policy(pages[which])})


def _download(session: Session, name: str) -> Response:
    with session.lock:
        release = None if session.path is None else session.state.release
        pages = session.result("report")
        papers = folder_papers(session.state.folder) if release is not None and name == PAPERS else None
        files = {name: session.result(name) for name in ("export", "printed")}
    kind = _DOWNLOADS.get(name, "application/octet-stream")
    if release is not None and name in PUBLISHED and (release.path / name).is_file():
        data = read_bytes(release.path / name)
    elif papers is not None:
        data = table_page(papers).encode()
    elif pages is not None and name in _REPORTS:
        data = pages[_REPORTS.index(name)].encode()
    elif (made := files.get(name)) is not None:
        name, data = made.name, made.data
    else:
        raise HTTPException(404)
    return Response(data, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})


# What can be done, each by the function behind a command.


def _text(fields: Form, name: str) -> str:
    return fields.get(name, "").strip()


def _new(session: Session, fields: Form) -> None:
    rate, number = accept_setting(_text(fields, "accept") or None)
    wishes = InitialSettings(
        _text(fields, "scores") or None, rate, number, better=fields.get("better", "high")
    )
    session.new(_text(fields, "name"), wishes)


def _read(session: Session, fields: Form) -> None:
    """How the files on their way are read: what each is, and what exports leave open."""
    columns, order, unit = (_text(fields, name) for name in ("columns", "best_first", "unit"))
    choices = Choices(
        format=_text(fields, "system") or None,
        score_field=_text(fields, "score_field") or None,
        columns=columns_of(columns) if columns else {},
        best_first=tuple(level.strip() for level in order.split(",") if level.strip()),
        unit="member" if unit == "member" else "reviewer",
        layout=_text(fields, "layout"),
        latest=fields.get("latest") == "yes",
    )
    session.read_as(
        Reading(
            {name: kind for name, kind in _named(fields, "kind:").items() if kind},
            {name: year.strip() for name, year in _named(fields, "year:").items() if year.strip()},
            choices,
            _text(fields, "keep"),
            fields.get("codes") == "yes",
        )
    )


def _people(session: Session, fields: Form) -> None:
    session.confirm_people(
        {_whole(number): text == "yes" for number, text in _named(fields, "same:").items()}
    )


def _join(session: Session, fields: Form) -> None:
    """Whom on the committee a past id stands for, typed by hand; nobody, if that is empty."""
    old, new = _text(fields, "old"), _text(fields, "new")
    if not old:
        raise InputError("say which id in past reviews is meant")
    session.join_people({old: new or old})


def _named(fields: Form, prefix: str) -> dict[str, str]:
    return {name.removeprefix(prefix): text for name, text in fields.items() if name.startswith(prefix)}


def _set(session: Session, fields: Form) -> None:
    session.set_texts({name: text for name, text in fields.items() if name in EDITABLE})


def _accept(session: Session, fields: Form) -> None:
    rate, number = accept_setting(_text(fields, "accept") or None)
    wait_list = _text(fields, "wait-list")
    session.set_texts(
        {
            "accept-rate": "" if rate is None else f"{rate:g}",
            "accept": number or "",
            "bar": "",
            "wait-list": wait_list,
            "scores": _text(fields, "scores"),
        }
    )


def _whole(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 7:
        raise InputError("that must be a whole number")
    return int(text)


def _sure(fields: Form) -> None:
    if fields.get("sure") != "yes":
        raise InputError("tick that you are sure: this step cannot be undone")


def _decide(session: Session, fields: Form) -> None:
    _sure(fields)
    misfit, leak = (fields.get(name) == "yes" for name in ("misfit", "leak"))
    session.decide(reason=fields.get("reason"), misfit=misfit, leak=leak)


def _print(session: Session, fields: Form) -> None:
    session.print_list(*(_text(fields, name) for name in ("shown", "to", "waiting")))


def _audit(session: Session, fields: Form) -> None:
    evidence = _text(fields, "evidence")
    try:
        strengths = [float(evidence)] if evidence else []
    except ValueError:
        raise InputError("the strength of evidence must be a number, like 1.5") from None
    colluders = _text(fields, "colluders")
    groups = [_whole(colluders)] if colluders else []
    tables = {path.name: str(path) for path in session.tables.files}
    known = {**dict.fromkeys(PRIORS), **tables}, {"true": None, **tables}
    given = [_text(fields, name) for name in ("prior", "loads")]
    if any(text and text not in names for text, names in zip(given, known, strict=True)):
        raise InputError("there is no such table: choose its file first")
    prior, loads = (tables.get(text, text) for text in given)
    session.audit(Adversaries([prior] if prior else [], strengths, groups, loads or None))


ACTIONS: Mapping[str, Callable[[Session, Form], None]] = {
    "example": lambda session, fields: session.open_example(),
    "open": lambda session, fields: session.open_named(fields.get("name", "")),
    "leave": lambda session, fields: session.leave(),
    "new": _new,
    "read": _read,
    "remove": lambda session, fields: session.remove_upload(fields.get("name", "")),
    "import": lambda session, fields: session.bring_in(),
    "override": lambda session, fields: session.override(
        *(fields.get(name, "").strip() for name in ("paper", "decision", "reason"))
    ),
    "restore": lambda session, fields: session.restore(_text(fields, "paper")),
    "withdraw": lambda session, fields: session.withdraw(_text(fields, "paper"), fields.get("reason", "")),
    "fit": lambda session, fields: session.fit(),
    "people": _people,
    "join": _join,
    "accept": _accept,
    "set": _set,
    "plan": lambda session, fields: session.plan(),
    "guarantee": lambda session, fields: session.choose_guarantee(_whole(fields.get("place", ""))),
    "decide": _decide,
    "amend": _decide,
    "preview": lambda session, fields: session.preview(_text(fields, "accept"), _text(fields, "wait_list")),
    "print": _print,
    "report": lambda session, fields: session.report(),
    "export": lambda session, fields: session.export(fields.get("to", ""), fields.get("what", ""), fields),
    "verify": lambda session, fields: session.verify(fields.get("commitment", "")),
    "audit": _audit,
    "cancel": lambda session, fields: session.cancel(),
}
"""What a page can ask for; each answer is the page, read again."""
