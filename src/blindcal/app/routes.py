"""Requests to answers: pages, numbers, files. Each one parses, calls and answers, as a command does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from mimetypes import guess_type
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Body, Depends, FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse
from starlette.exceptions import HTTPException

from blindcal import __version__
from blindcal.adversaries.side_knowledge import PRIORS
from blindcal.app.folder_state import PUBLISHED
from blindcal.app.guard import policy
from blindcal.app.pages import TABS, page_view, templates
from blindcal.app.pair import SLIDERS, drawn, picture, read_settings
from blindcal.app.session import EDITABLE, Reading, Session, TooLargeError, checked_name
from blindcal.errors import BlindcalError, InputError, unexpected
from blindcal.importers import MAX_EXPORT
from blindcal.importers.plain_table import columns_of
from blindcal.importers.raw_export import Choices
from blindcal.io.atomic_files import read_bytes, to_jsonable
from blindcal.project.check import Adversaries
from blindcal.project.create import InitialSettings
from blindcal.project.settings import accept_setting
from blindcal.report.html_page import table_page


async def _own_session(request: Request) -> Session:
    session: Session = request.app.state.session
    return session


Fields = Annotated[dict[str, str], Body()]
OwnSession = Annotated[Session, Depends(_own_session)]
_STATIC: Mapping[str, tuple[str, str]] = {
    "report.css": ("blindcal.report/templates", "text/css"),
    "papers.js": ("blindcal.report/templates", "text/javascript"),
    "app.css": ("blindcal.app/static", "text/css"),
    "app.js": ("blindcal.app/static", "text/javascript"),
    "pair.js": ("blindcal.app/static", "text/javascript"),
    "icon.svg": ("blindcal.app/static", "image/svg+xml"),
}
_PAPERS = "CONFIDENTIAL-papers.html"
_REPORTS = ("report.html", "CONFIDENTIAL-report.html")
_TEMPLATES = templates()
router = APIRouter()


def make_app(session: Session, token: str) -> FastAPI:
    """The application behind the guard; its pages are about one session, and addresses begin with `token`."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.state.session, app.state.base = session, f"/{token}"
    app.include_router(router, prefix=app.state.base)

    @app.exception_handler(RequestValidationError)
    async def unread(request: Request, error: RequestValidationError) -> Response:
        return PlainTextResponse("That cannot be read.\n", status_code=422)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        return PlainTextResponse(f"{error.detail}\n", status_code=error.status_code)

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:
        return PlainTextResponse(f"{unexpected(error)}\n", status_code=500)

    return app


def _page_shown(request: Request, template: str, page: str, **facts: Any) -> HTMLResponse:
    """A page. Files that are private to the session go by their names alone."""
    state = request.app.state
    facts |= {"base": state.base, "version": __version__, "page": page}
    text = _TEMPLATES.get_template(template).render(facts)
    return HTMLResponse(re.sub(rf"{re.escape(str(state.session.private))}/(?:uploads/)?", "", text))


@contextmanager
def _refusals_as_text() -> Iterator[None]:
    """A block whose input may be refused: the page shows why."""
    try:
        yield
    except InputError as error:
        raise HTTPException(413 if isinstance(error, TooLargeError) else 400, str(error)) from None


@router.get("/")
def home(request: Request) -> Response:
    """The first page."""
    return _page_shown(request, "home.html", "home")


@router.get("/static/{name}")
def static(name: str) -> Response:
    """What all pages need."""
    if name not in _STATIC:
        raise HTTPException(404)
    location, kind = _STATIC[name]
    package, _, folder = location.partition("/")
    return Response(files(package).joinpath(folder, name).read_bytes(), media_type=kind)


@router.get("/pair")
def pair(request: Request) -> Response:
    """The page *Pair*."""
    return _page_shown(request, "pair.html", "pair", sliders=SLIDERS)


@router.get("/pair/numbers")
def numbers(request: Request) -> Response:
    """Its numbers."""
    with _refusals_as_text():
        return JSONResponse(to_jsonable(picture(read_settings(dict(request.query_params)))))


@router.post("/pair/draws")
def draws(fields: Fields) -> Response:
    """Its draws."""
    with _refusals_as_text():
        number = _whole_number(fields.pop("number", "1"), "the number of draws")
        return JSONResponse(to_jsonable(drawn(read_settings(fields), number, np.random.default_rng())))


@router.get("/conference")
def conference(request: Request, session: OwnSession) -> Response:
    """The overview of the open folder, or the page that opens one."""
    return tab(request, session, "overview")


@router.get("/conference/job")
def job(session: OwnSession) -> Response:
    """How far the job is, which a page asks again and again."""
    state = {"running": False} if session.job is None else session.job.state._asdict()
    return JSONResponse({**state, "changes": session.changes})


@router.get("/conference/{slug}")
def tab(request: Request, session: OwnSession, slug: str) -> Response:
    """A page about the open folder."""
    if slug not in TABS:
        raise HTTPException(404)
    with session.lock:
        template, facts = page_view(session, slug)
        return _page_shown(request, template, "conference", **facts)


@router.post("/conference/do/{action}")
def do(session: OwnSession, action: str, fields: Fields) -> Response:
    """An action, whose outcome the page shows that is read after it."""
    if action not in ACTIONS:
        raise HTTPException(404)
    if re.search("[\ud800-\udfff]", "".join((*fields, *fields.values()))):
        raise HTTPException(422)  # no text: it could be written to no file, and shown on no page
    session.error = None
    try:
        ACTIONS[action](session, Form(fields))
    except BlindcalError as error:
        session.error = error
        return JSONResponse({"done": False})
    return JSONResponse({"done": True})


@router.put("/conference/{kind}")
async def upload(
    request: Request, session: OwnSession, kind: Literal["files", "tables"], name: str
) -> Response:
    """A file that comes in."""
    store = session.staging if kind == "files" else session.tables
    with _refusals_as_text(), store.incoming(name, MAX_EXPORT) as write:
        async for chunk in request.stream():
            write(chunk)
    await run_in_threadpool(session.uploaded)
    return JSONResponse({"done": True})


@router.get("/conference/page/{which}")
def report(session: OwnSession, which: Literal["report", "chair"]) -> Response:
    """A report as it is, with a policy that allows the styles in it and nothing else."""
    with session.lock:
        pages = session.result("report")
    if pages is None:
        raise HTTPException(404)
    page = pages[which == "chair"]
    return HTMLResponse(page, headers={"content-security-policy": policy(page)})


@router.get("/conference/download/{name}")
def download(session: OwnSession, name: str) -> Response:
    """A file that goes out."""
    with session.lock:
        found = _download(session, name)
    if found is None:
        raise HTTPException(404)
    called, data = found
    kind = guess_type(name)[0] or "application/octet-stream"
    return Response(
        data, media_type=kind, headers={"content-disposition": f'attachment; filename="{called}"'}
    )


def _download(session: Session, name: str) -> tuple[str, bytes] | None:
    """What a file is called, and its bytes; None if there is no such file."""
    release = None if session.path is None else session.state.release
    if name in ("export", "printed"):
        made = session.result(name)
        return None if made is None else (made.name, made.data)
    if name in _REPORTS:
        pages = session.result("report")
        return None if pages is None else (name, pages[_REPORTS.index(name)].encode())
    if release is not None and name == _PAPERS:
        return name, table_page(session.papers).encode()
    if release is not None and name in PUBLISHED and (release.path / name).is_file():
        return name, read_bytes(release.path / name)
    return None


# What can be done, each by the function behind a command.


class Form(dict[str, str]):
    """What a page's form says; fields that it does not have are empty."""

    def __missing__(self, name: str) -> str:
        return ""

    def text(self, name: str) -> str:
        """A field without the spaces around it."""
        return self[name].strip()

    def ticked(self, name: str) -> bool:
        return self[name] == "yes"

    def by_name(self, prefix: str) -> dict[str, str]:
        """The fields that are called `prefix` and a name, by that name."""
        return {name.removeprefix(prefix): text for name, text in self.items() if name.startswith(prefix)}


def _whole_number(text: str, what: str = "that") -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 7:
        raise InputError(f"{what} must be a whole number")
    return int(text)


def _make_conference(session: Session, form: Form) -> None:
    scores, accept = form.text("scores") or None, form.text("accept") or None
    session.new(form.text("name"), InitialSettings(scores, accept, form["better"] or "high"))


def _read_uploads(session: Session, form: Form) -> None:
    """How the files on their way are read: what each is, and what exports leave open."""
    choices = Choices(
        format=form.text("system") or None,
        score_field=form.text("score_field") or None,
        columns=columns_of(form.text("columns")) if form.text("columns") else {},
        best_first=tuple(level.strip() for level in form["best_first"].split(",") if level.strip()),
        unit="member" if form["unit"] == "member" else "reviewer",
        layout=form.text("layout"),
        latest=form.ticked("latest"),
    )
    kinds = {name: kind for name, kind in form.by_name("kind:").items() if kind}
    years = {name: year.strip() for name, year in form.by_name("year:").items() if year.strip()}
    session.read_as(Reading(kinds, years, choices, form.text("keep"), form.ticked("codes")))


def _confirm_people(session: Session, form: Form) -> None:
    same = form.by_name("same:").items()
    session.confirm_people({_whole_number(number): text == "yes" for number, text in same})


def _join_people(session: Session, form: Form) -> None:
    """Whom on the committee a past id stands for, typed by hand; nobody, if that is empty."""
    old, new = form.text("old"), form.text("new")
    if not old:
        raise InputError("say which id in past reviews is meant")
    session.join_people({old: new or old})


def _set_acceptance(session: Session, form: Form) -> None:
    rate, number = accept_setting(form.text("accept") or None)
    accept = {"accept-rate": "" if rate is None else f"{rate:g}", "accept": number or "", "bar": ""}
    session.set_texts(accept | {name: form.text(name) for name in ("wait-list", "scores")})


def _decide_papers(session: Session, form: Form) -> None:
    if not form.ticked("sure"):
        raise InputError("tick that you are sure: this step cannot be undone")
    session.decide(reason=form.get("reason"), misfit=form.ticked("misfit"), leak=form.ticked("leak"))


def _audit_release(session: Session, form: Form) -> None:
    evidence, colluders = form.text("evidence"), form.text("colluders")
    try:
        strengths = (float(evidence),) if evidence else ()
    except ValueError:
        raise InputError("the strength of evidence must be a number, like 1.5") from None
    groups = (_whole_number(colluders),) if colluders else ()
    tables = {path.name: str(path) for path in session.tables.files}
    priors, loads = {name: name for name in PRIORS} | tables, {"true": "true"} | tables
    prior, load = form.text("prior"), form.text("loads")
    if {prior} - {"", *priors} or {load} - {"", *loads}:
        raise InputError("there is no such table: choose its file first")
    chosen = (priors[prior],) if prior else ()
    session.start("audited", adversaries=Adversaries(chosen, strengths, groups, loads.get(load)))


ACTIONS: Mapping[str, Callable[[Session, Form], None]] = {
    "example": lambda session, form: session.open_example(),
    "open": lambda session, form: session.open(session.home / checked_name(form["name"])),
    "leave": lambda session, form: session.open(None),
    "new": _make_conference,
    "read": _read_uploads,
    "remove": lambda session, form: session.remove_upload(form["name"]),
    "import": lambda session, form: session.bring_in(),
    "override": lambda session, form: session.override(
        form.text("paper"), form.text("decision"), form["reason"]
    ),
    "restore": lambda session, form: session.restore(form.text("paper")),
    "withdraw": lambda session, form: session.withdraw(form.text("paper"), form["reason"]),
    "fit": lambda session, form: session.start("fitted"),
    "people": _confirm_people,
    "join": _join_people,
    "accept": _set_acceptance,
    "set": lambda session, form: session.set_texts({name: form[name] for name in EDITABLE if name in form}),
    "plan": lambda session, form: session.plan(),
    "guarantee": lambda session, form: session.choose_guarantee(_whole_number(form["place"])),
    "decide": _decide_papers,
    "amend": _decide_papers,
    "preview": lambda session, form: session.preview(form.text("accept"), form.text("wait_list")),
    "print": lambda session, form: session.print_list(*map(form.text, ("shown", "to", "waiting"))),
    "report": lambda session, form: session.start("report"),
    "export": lambda session, form: session.export(form["to"], form["what"], form),
    "verify": lambda session, form: session.start("verified", commitment=form.text("commitment") or None),
    "audit": _audit_release,
    "cancel": lambda session, form: session.cancel(),
}
"""What a page can ask for; each answer is the page, read again."""
