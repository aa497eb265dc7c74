"""The words of the pages *Conference*. Reviewers are not named: problems are located by their rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from blindcal.adversaries.findings import Finding
from blindcal.adversaries.side_knowledge import PRIORS
from blindcal.app.folder_state import FolderState, LatestRelease
from blindcal.app.session import (
    EDITABLE,
    FROZEN,
    PEOPLE_MAP,
    CanceledError,
    JobState,
    Session,
    setting_text,
)
from blindcal.deciding.certificate_fields import CONFIDENTIAL
from blindcal.deciding.decide import first_of_key
from blindcal.deciding.ledger import ledger_folder
from blindcal.errors import BlindcalError, InputError, Problem, unexpected
from blindcal.exporters import FORMATS, WHAT
from blindcal.exporters.formats import WAITING, table_of
from blindcal.fitting.diagnostics import Forecast
from blindcal.importers import FORMATS as SYSTEMS
from blindcal.importers.normalize import withdrawn_lines
from blindcal.importers.plain_table import LAYOUTS
from blindcal.io.cells import count, number_text
from blindcal.planning.advice import LOWER, RAISE, TIE_LOWER, TIE_RAISE
from blindcal.planning.calibration_check import FITS
from blindcal.planning.conference_plan import Answer
from blindcal.planning.level_menu import LevelAnswer, LevelChoice
from blindcal.planning.request import RELEASES, Quota, Request
from blindcal.policy.guarantee import GUARANTEES
from blindcal.pools.candidates import EVERYONE
from blindcal.posterior.inputs import PAST
from blindcal.project.check import FolderAudit, FolderVerification
from blindcal.project.decide import FolderRelease
from blindcal.project.fit import FolderFit
from blindcal.project.imports import FolderImport
from blindcal.project.publish import ReleaseExport, folder_papers
from blindcal.project.settings import SECTIONS, SETTINGS
from blindcal.report.charts import bars
from blindcal.report.html_page import menu_bars, score_spans
from blindcal.report.wording import (
    MENU_HEADINGS,
    MENU_NOTE,
    SOURCES,
    added_text,
    advice,
    explain_certificate,
    guarantee_words,
    has_figures,
    level_advice,
    level_table,
    papers_text,
    percent,
    promises,
    quota_line,
)

_CHOICES = {
    "better": ("high", "low"),
    "scores": ("public", "confidential"),
    "guarantee": GUARANTEES,
    "release": RELEASES,
}
MOST_LISTED = 200
"""More papers, or problems, than this are not listed one by one."""
LABELS: Mapping[str, str] = {
    "score_field": "“Score field”",
    "columns": "“Columns”",
    "best_first": "“Order of scores”",
    "layout": "“Layout”",
    "latest": "“take the last”",
    "accept_rate": "accept-rate",
    "wait_list": "“Wait list”",
    "distinct_papers": "distinct-papers",
    "map": "a file taken as “who is behind the ids”",
    "despite_misfit": "“Go on though the calibration does not fit”",
    "confidential": "the page for the chair",
    "waiting": "the field “Wait list”",
    "yes_leak": "“Let decisions reveal who reviewed”",
    "commitment": "“Commitment”",
    "same": "“people whose id changed”",
    "keep": "“Decide all the same”",
    "accepted": "“Accepted papers are called”",
    "rejected": "“Rejected papers are called”",
}
"""What messages call by the names of arguments, by the names that these pages have for them."""
_BUTTONS = {
    "import": "“Files”",
    "fit": "“Calibrate”",
    "plan": "“Promise”",
    "decide": "“Decide”",
    "new": "“Make the folder”",
}
KIND_LABELS: Mapping[str, str] = {
    "reviews": "this year's reviews",
    "past": "reviews of a past conference",
    "committee": "the committee",
    "conflicts": "conflicts",
    "assignments": "who was asked to review what (metareviews)",
    "pools": "candidates of each paper",
    "reviewers": "a calibration",
    "titles": "titles of papers",
    "same": "people whose id changed",
    "evidence": "another method's calibration",
    "statuses": "what became of papers (withdrawn, desk rejected)",
    PEOPLE_MAP: "who is behind the ids",
}
"""What a file can be, as the page calls it."""
# What messages say of commands and their options, by what these pages have for it; in this order.
_COMMAND_WORDS: Sequence[tuple[str, str | Callable[[re.Match[str]], str]]] = (
    (r"write yes or no into the column taken .* fit again", "“People” has them side by side"),
    (r"`blindcal ([a-z]+)[^`]*`", lambda match: _BUTTONS.get(match[1], match[0])),
    (r"list such papers under \[withdrawn\] of conference\.toml", "withdraw such papers below"),
    (r"give --as ", "take it as --as "),
    (r"Give --as ", "Take it as --as "),
    (r"--as ([a-z]+)", lambda match: f"“{KIND_LABELS[match[1]]}”"),
    (r" with --amend and --reason", ", with a reason,"),
    (r"give --name", "say what it is called"),
    (r"--codes", "“Replace reviewers by codes”"),
    (r"`([a-z_]+)`", lambda match: LABELS.get(match[1], match[1].replace("_", " "))),
    (r"`([^`]*)`", r"“\1”"),
)
_QUESTIONS = {
    "author": "who wrote a review",
    "three guesses": "the same, in three guesses",
    "reviewed at all": "whether someone reviewed a paper",
    "whole tuple": "all reviewers of a paper",
    "link": "whether two reviews are one person's",
}
_ROW = re.compile(r"row [0-9]+'s\b.*")


@dataclass(frozen=True)
class Fault:
    """One problem of a `file`: its `row` and `column`, empty if it has none, and the `rule` that it breaks.

    A value is shown only if it cannot be somebody's name.
    """

    file: str
    row: str
    column: str
    rule: str


@dataclass(frozen=True)
class Notice:
    """What went wrong: a sentence (`text`), and the `faults` of a file, of which `more` are not shown.

    It is `mild` if nothing went wrong, for example if someone canceled.
    """

    text: str
    faults: tuple[Fault, ...] = ()
    more: int = 0
    mild: bool = False


def notice(error: BaseException | None) -> Notice | None:
    """What a page says of an `error`.

    >>> notice(InputError("give one of `accept_rate`, `accept` and `bar`")).text
    'give one of accept-rate, accept and bar'
    """
    if error is None:
        return None
    if isinstance(error, CanceledError):
        return Notice("Stopped. Nothing was written by it.", mild=True)
    if isinstance(error, InputError) and error.problems:
        faults = tuple(fault(problem) for problem in error.problems[:MOST_LISTED])
        more = len(error.problems) - len(faults)
        return Notice(count(len(error.problems), "problem"), faults, more)
    if isinstance(error, BlindcalError):
        return Notice(plain(str(error)))
    if isinstance(error, OSError):
        return Notice(f"The system says: {error.strerror or type(error).__name__}.")
    return Notice(unexpected(error))


def fault(problem: Problem) -> Fault:
    """A `problem` without its value, unless that names a row or is none of a row's cells.

    >>> fault(Problem("reviews.csv", 7, "reviewer", "must not be empty", "ada"))
    Fault(file='reviews.csv', row='7', column='reviewer', rule='must not be empty')
    """
    found, rule = problem.found, plain(problem.rule)
    shows_value = found is not None and (
        _ROW.fullmatch(found) is not None or (problem.row is None and problem.column != "reviewer")
    )
    return Fault(
        plain(problem.file),
        "" if problem.row is None else f"{problem.row:,}",
        problem.column or "",
        f"{rule}, found {found}" if shows_value else rule,
    )


def plain(text: str) -> str:
    """The `text` of a message, with arguments as the page calls them.

    >>> plain("2026.csv: say which with `score_field`")
    '2026.csv: say which with “Score field”'
    """
    for pattern, words in _COMMAND_WORDS:
        text = re.sub(pattern, words, text)
    return text


def job_view(state: JobState | None) -> dict[str, Any]:
    """How far a job in this `state` is, as its page asks again and again.

    >>> job_view(JobState("planning", "planning 9 papers", 3, 18, 2.4, True, False))["left"]
    'about 2 s left'
    """
    if state is None:
        return {"running": False}
    left = "" if state.left is None else f"about {max(1, round(state.left)):,} s left"
    return {
        "running": state.running,
        "work": state.work,
        "done": state.done,
        "steps": state.steps,
        "left": left,
        "canceled": state.canceled,
    }


@dataclass(frozen=True)
class Tab:
    """A page about the open folder.

    Attributes:
        label: What it is called.
        view: What it says, by the names of its template.
        confidential: Whether it is marked as for the chair alone.
    """

    label: str
    view: Callable[[Session, FolderState], dict[str, Any]]
    confidential: bool = False


def page_view(session: Session, slug: str) -> tuple[str, dict[str, Any]]:
    """The template of the page `slug` about a `session`, and all that it says, by the template's names.

    Without an open folder it is the page that opens one; a folder that cannot be read has a page that says
    why.
    """
    job = None if session.job is None else session.job.state
    common: dict[str, Any] = {
        "job": job if job is not None and job.running else None,
        "changes": session.changes,
        "notice": notice(session.error),
        "slug": slug,
        "tabs": [(name, tab.label) for name, tab in TABS.items()],
        "listed": MOST_LISTED,
        "confidential": False,
    }
    if session.path is None:
        common |= {"home": str(session.home.resolve()), "folders": session.folders}
        return "start.html", {**common, "suggested": session.suggested}
    try:
        state, tab = session.state, TABS[slug]
        hidden = slug == "results" and state.folder.settings.get("scores") == CONFIDENTIAL
        common |= {"confidential": tab.confidential or hidden, "open": _header(session, state)}
        return f"{slug}.html", {**common, **tab.view(session, state)}
    except BlindcalError as error:
        common |= {"path": str(session.path), "notice": notice(error), "has_reviews": True}
    try:
        return "broken.html", {**common, "readable": True, **_bringing(session)}
    except BlindcalError:
        return "broken.html", {**common, "readable": False}


def _header(session: Session, state: FolderState) -> dict[str, Any]:
    """What stands above every page about a folder: its name and its place."""
    example = session.is_example
    steps = _steps(session, state)
    return {
        "name": "The embedded conference" if example else state.name,
        "path": "a temporary folder, which goes when the app ends"
        if example
        else str(state.folder.path.resolve()),
        "key": "the example's own" if example else str(state.key.resolve()),
        "sealed": "" if example else str(ledger_folder(state.key).resolve()),
        "decided": state.decided,
        "steps": steps,
        "upcoming": next((step for step in steps if not step[2]), None),
    }


def _overview(session: Session, state: FolderState) -> dict[str, Any]:
    return {
        "fingerprint": state.fingerprint,
        "remarks": [plain(remark) for remark in state.remarks],
        "withdrawn": len(state.folder.withdrawn),
    }


def _steps(session: Session, state: FolderState) -> list[tuple[str, str, bool, str]]:
    """The steps of a conference: page, label, whether it is done, and what is there."""
    release = state.release
    reviews = "none yet" if state.reviews is None else review_words(state)
    itself = state.reviews is not None and state.folder.source != PAST
    calibrated = "none yet" if state.calibrated is None else count(state.calibrated, "row")
    calibrated = "these reviews themselves" if itself else calibrated
    chosen = "" if state.request is None else request_words(state.request)
    # What is promised by default is looked at before it is decided.
    looked = state.decided or session.result("planned") is not None
    decided = "not yet"
    if release is not None:
        decided = f"release {release.public['release']}: {_gone_out(release)}"
        decided += "; files or papers changed since, so amend them" if state.amendable else ""
    keyed = state.fingerprint is not None
    return [
        ("overview", "Folder and key", keyed, "made" if keyed else "no key"),
        ("files", "Reviews", state.reviews is not None, reviews),
        ("calibration", "Calibration", state.calibrated is not None or itself, calibrated),
        ("plan", "Promise and number", looked and bool(chosen), chosen or _unset(state) or ""),
        ("decide", "Decisions", release is not None and not state.amendable, decided),
    ]


def _gone_out(release: LatestRelease) -> str:
    """What a release published: how many papers are accepted, or advice."""
    papers = count(release.certificate["papers"], "paper")
    if release.public["publishes"] == "advice":
        return f"advice on {papers}"
    return f"{release.public['accepted']:,} of {papers} accepted"


def _unset(state: FolderState) -> str | None:
    """What must still be said or brought in before papers can be decided; None if nothing."""
    settings = state.folder.settings
    missing = [] if settings.get("scores") else ["who may see the scores"]
    missing += [] if {"accept-rate", "accept", "bar"} & settings.keys() else ["how many papers to accept"]
    if missing:
        return f"still open: {' and '.join(missing)}"
    past = state.folder.source == PAST
    if state.reviews is None or (past and state.calibrated is None):
        return "needs reviews and their calibration" if past else "needs reviews"
    return None if state.unset is None else plain(state.unset)


def review_words(state: FolderState) -> str:
    """How many reviews a folder has, of what."""
    reviews = state.reviews
    if reviews is None:
        return "no reviews yet"
    per_paper = np.bincount(reviews.paper)
    each = "–".join(dict.fromkeys(str(int(number)) for number in (per_paper.min(), per_paper.max())))
    ends = " to ".join(number_text(float(end)) for end in (reviews.score.min(), reviews.score.max()))
    papers, people = count(len(reviews.papers), "paper"), count(len(reviews.reviewers), "reviewer")
    return f"{papers}, {count(len(reviews), 'review')} by {people}; {each} per paper; scores from {ends}"


def request_words(request: Request) -> str:
    """What is promised, and how many papers are accepted."""
    return f"{guarantee_words(request.guarantee)}; {accept_words(request)}"


def accept_words(request: Request) -> str:
    """How many papers are accepted, in words."""
    if request.accept_rate is not None:
        return f"about {percent(request.accept_rate)} of the papers"
    return quota_line(request.quota) if request.quota is not None else f"papers above quality {request.bar:g}"


def _bringing(session: Session) -> dict[str, Any]:
    """The files on their way into a folder, which may have one that cannot be read."""
    checked, reading = session.checked, session.reading
    files = [
        {
            "name": path.name,
            "size": _size(path.stat().st_size),
            "kind": checked.kinds.get(path.name, ""),
            "said": reading.kinds.get(path.name, ""),
            "year": reading.years.get(path.name, ""),
            "notice": notice(checked.errors.get(path.name)),
        }
        for path in session.staging.files
    ]
    imported: FolderImport | None = session.result("imported")
    return {
        "files": files,
        "together": notice(checked.errors.get("")),
        "brought": None if checked.brought is None else import_lines(checked.brought),
        "imported": None if imported is None else import_lines(imported),
        "kinds": KIND_LABELS,
        "systems": list(SYSTEMS),
        "reading": reading,
        "layouts": list(LAYOUTS),
        "columns": ",".join(f"{name}={column}" for name, column in reading.choices.columns.items()),
        "codes": str(session.codes.resolve()),
        "coded": session.codes.exists(),
    }


def _files(session: Session, state: FolderState) -> dict[str, Any]:
    settings, pools = state.folder.settings, state.folder.text("pools")
    years = [Path(file).stem for file in state.folder.past]
    return {
        **_bringing(session),
        "there": {
            "this year's reviews": review_words(state),
            "past conferences": ", ".join(years) or "none",
            "committee": "there" if "committee" in settings else "none",
            "who may have reviewed": "everyone without a conflict"
            if pools.endswith("conflicts.csv")
            else "everyone"
            if pools in ("", EVERYONE)
            else "a list for each paper",
        },
        "withdrawn": state.folder.withdrawn,
        "has_reviews": state.reviews is not None,
    }


def import_lines(brought: FolderImport) -> dict[str, Any]:
    """What an import would bring, or brought, in lines; it names nobody."""
    contents = brought.contents
    lines = []
    if (imported := contents.imported) is not None:
        reviews = imported.reviews
        papers, people = count(len(reviews.papers), "paper"), count(len(reviews.reviewers), "reviewer")
        lines += [
            f"recognized: {'; '.join(imported.recognized)}",
            f"{count(len(reviews), 'review')} of {papers} by {people}",
            f"score: {imported.score_field}, with the values {imported.scale}",
        ]
    lines += [
        f"past conference {name}: {count(len(past), 'review')}"
        for name, past in contents.past_reviews.items()
    ]
    lines += [f"committee: {count(len(contents.committee), 'member')}"] if contents.committee else []
    lines += [f"conflicts: {len(contents.conflicts):,}"] if contents.conflicts else []
    warnings = () if imported is None else imported.warnings
    return {
        "lines": [plain(line) for line in lines],
        "dropped": [] if imported is None else [plain(str(item)) for item in imported.dropped],
        "withdrawn": list(withdrawn_lines(brought.withdrawn)),
        "settings": ", ".join(brought.settings),
        "warnings": [plain(line) for line in (*warnings, *brought.remarks, *brought.refusals)],
        "nothing": not brought.places and not brought.settings and not brought.withdrawn,
    }


def _calibration(session: Session, state: FolderState) -> dict[str, Any]:
    fitted: FolderFit | None = session.result("fitted")
    return {
        "calibrated": state.calibrated,
        "past": bool(state.folder.past),
        "has_reviews": state.reviews is not None,
        "fit": None if state.fit is None else fit_view(state.fit),
        "remarks": [] if fitted is None else [plain(remark) for remark in fitted.remarks],
        "pairs": len(state.pairs),
        "found": "" if fitted is None or fitted.people is None else str(fitted.people),
    }


def _people(session: Session, state: FolderState) -> dict[str, Any]:
    """Pairs of ids side by side, for the chair to confirm: the only page that names people."""
    return {
        "pairs": list(enumerate(state.pairs[:MOST_LISTED])),
        "more": max(0, len(state.pairs) - MOST_LISTED),
        "said": state.same,
        "past": bool(state.folder.past),
    }


def fit_view(content: Mapping[str, Any]) -> dict[str, Any]:
    """What a fit found out about the reviewers together; those whom its `content` names stay unnamed."""
    checks = content["checks"]
    shares = [(meaning, checks["shares"][name]) for name, meaning in SOURCES.items()]
    kept, forecast = checks["persistence"], checks["forecast"]
    return {
        "conferences": count(len(content.get("conferences", ())), "past conference"),
        "shares": bars(
            (meaning, share["value"], percent(share["value"]), False, (_ends(share),))
            for meaning, share in shares
        ),
        "persistence": f"{kept['value']:.2f} ({kept['low']:.2f} to {kept['high']:.2f})",
        "newcomers": checks["newcomers"],
        "outliers": len(checks["outliers"]),
        "forecast": None if forecast is None else forecast_view(Forecast(**forecast)),
    }


def _ends(interval: Mapping[str, float]) -> str:
    return f"{percent(interval['low'])} to {percent(interval['high'])}"


def forecast_view(forecast: Forecast) -> dict[str, Any]:
    """How well the last past conference is predicted from the earlier ones."""
    rows = [
        ("all reviewers alike", forecast.population),
        ("corrected by each reviewer's past mean", forecast.raw),
        ("as fitted here", forecast.fitted),
    ]
    return {
        "verdict": forecast.verdict,
        "gain": percent(forecast.gain),
        "bars": bars((label, value, f"{value:.3f}", value == forecast.fitted, ()) for label, value in rows),
        "reviews": count(forecast.reviews, "score"),
    }


def _plan(session: Session, state: FolderState) -> dict[str, Any]:
    planned: Answer | LevelAnswer | None = session.result("planned")
    request = state.request
    settings = state.folder.settings
    if planned is not None and request is not None and request.guarantee != planned.chosen:
        # Chosen elsewhere, in Settings or in conference.toml.
        compared = [choice.guarantee for choice in planned.menu.choices]
        planned = replace(planned, chosen=request.guarantee) if request.guarantee in compared else None
    return {
        "unset": _unset(state),
        "accept": {name: setting_text(settings.get(name)) for name in ("accept-rate", "accept", "wait-list")},
        "scores": setting_text(settings.get("scores")),
        "chosen": None if request is None else request_words(request),
        "promises": [] if request is None else promises(request.guarantee),
        "planned": None if planned is None else planned_view(planned),
    }


def level_view(planned: LevelAnswer) -> dict[str, Any]:
    """The answer if papers are decided by this year's evidence, and its menu as a table."""
    headings, lines, meaning = level_table(planned)
    choices = planned.menu.choices

    def gain(choice: LevelChoice) -> float:
        # Of another method's evidence no gain is known.
        return 0.0 if planned.from_file else choice.gain[1]

    drawn = bars(
        (name, gain(choice), cells[0], choice == planned.choice, tuple(cells[1:]))
        for (name, *cells), choice in zip(lines, choices, strict=True)
    )
    return {
        "answer": level_advice(planned),
        "headings": headings,
        "note": meaning,
        "rows": [*enumerate(drawn)],
        "raw": None,
        "full": None,
        "fits": None,
        "remarks": [plain(remark) for remark in planned.remarks],
        "sampled": False,
    }


def planned_view(planned: Answer | LevelAnswer) -> dict[str, Any]:
    """The answer, and the menu as a table with a bar for each line."""
    if isinstance(planned, LevelAnswer):
        return level_view(planned)
    menu = planned.menu
    raw, *lines, full = menu_bars(menu, planned.chosen)
    return {
        "answer": advice(menu, planned.chosen),
        "headings": MENU_HEADINGS,
        "note": MENU_NOTE,
        "raw": raw,
        "full": full,
        "rows": [*enumerate(lines)],
        "verdict": planned.fit.verdict,
        "fits": planned.fit.verdict == FITS,
        "spans": score_spans(planned.fit.public),
        "remarks": [plain(remark) for remark in planned.remarks],
        "sampled": menu.sampled,
    }


def _settings(session: Session, state: FolderState) -> dict[str, Any]:
    def row(name: str) -> tuple[object, ...]:
        choices = ("true", "false") if SETTINGS[name].kind == "flag" else _CHOICES.get(name)
        text = setting_text(state.folder.settings.get(name))
        label = SETTING_LABELS.get(name, name.replace("-", " ").capitalize())
        frozen = state.decided and name in FROZEN
        return name, label, plain(SETTINGS[name].sentence), text, frozen, choices

    past = state.folder.source == PAST
    others = {name for name in EDITABLE if name in (_THIS_YEAR_ALONE if past else _PAST_ALONE)}
    others -= state.folder.settings.keys()
    sections = [
        (title.partition(" (")[0], [row(name) for name in names if name in EDITABLE and name not in others])
        for title, names in SECTIONS.items()
    ]
    return {
        "sections": [section for section in sections if section[1]],
        "others": [row(name) for name in EDITABLE if name in others],
        "past": past,
    }


# Settings that a calibration on this year's reviews alone has, and those that only past years have.
_THIS_YEAR_ALONE = ("people", "strictness-share")
_PAST_ALONE = ("past-better", "posterior-cap", "among")
SETTING_LABELS: Mapping[str, str] = {
    "distinct-papers": "Papers that look alike are different ones",
    "source": "What calibrates",
    "people": "How many people reviewed",
    "strictness-share": "Part of disagreement that is strictness",
    "past-better": "Better end of past scales",
    "grid": "Scores that can be given",
    "better": "Better scores are",
    "accept-rate": "Share to accept",
    "accept": "Number to accept",
    "bar": "Or the bar itself",
    "epsilon": "Limit on odds (epsilon)",
    "multiplier": "Limit on a correct guess",
    "posterior-cap": "Limit on how sure anyone can be",
    "never-against": "Never against evidence this strong",
    "among": "Size of the crowd",
    "scores": "Who may see the scores",
    "release": "What goes out",
    "accepted": "Accepted papers are called",
    "rejected": "Rejected papers are called",
}
"""What the page calls a setting whose own name says less."""


def _decide(session: Session, state: FolderState) -> dict[str, Any]:
    request = state.request
    planned: Answer | LevelAnswer | None = session.result("planned")
    made: FolderRelease | None = session.result("decided")
    refused = "`despite_misfit`" in str(session.error)
    return {
        "unset": _unset(state),
        "chosen": None if request is None else request_words(request),
        "promises": [] if request is None else promises(request.guarantee),
        "reviews": review_words(state),
        "public": state.folder.settings.get("scores") != CONFIDENTIAL,
        "misfit": refused or (isinstance(planned, Answer) and planned.fit.verdict != FITS),
        "leak": request is not None and request.guarantee.name == "none",
        "made": None if made is None else _made_lines(made),
        "release": None if state.release is None else release_view(state.release),
        "withdrawn": len(state.folder.withdrawn),
    }


def _made_lines(made: FolderRelease) -> list[str]:
    """What was just decided, in lines; papers are named, reviewers are not."""
    outcome = made.outcome
    how = {
        "new": "decided",
        "stored": "nothing changed: these decisions were made before, and nothing was drawn",
        "amended": "amended",
    }[outcome.how]
    changes = outcome.changes
    kinds = (
        ("new papers, decided now", changes.new),
        ("late reviews, decided from public data", changes.late),
        ("scores changed, decided from public data", changes.scores),
        ("track changed", changes.tracks),
        ("withdrawn", changes.withdrawn),
        ("look like papers decided under another name: decided by public information alone", changes.alike),
    )
    amended = outcome.how == "amended"
    lines = [f"{why}: {', '.join(which[:MOST_LISTED])}" for why, which in kinds if which and amended]
    notes = (*filter(None, [first_of_key(outcome)]), *outcome.remarks)
    return [f"release {outcome.record.release}: {how}", *lines, *(plain(note) for note in notes)]


def release_view(release: LatestRelease) -> dict[str, Any]:
    """What a `release` decided, in words and numbers."""
    content, papers = release.certificate, release.certificate["papers"]
    view = {
        "number": content["release"],
        "papers": count(papers, "paper"),
        "accepted": f"{content.get('accepted', 0):,}",
        "table": getattr(table_of(release.path), "name", ""),
        "advised": content["publishes"] == "advice",
        "ties": sum(paper.advice in (TIE_RAISE, TIE_LOWER) for paper in release.papers),
        "changed": sum(paper.advice in (RAISE, LOWER) for paper in release.papers),
        "compared": any(paper.advice for paper in release.papers),
        "rows": release.papers[:MOST_LISTED],
        "all": len(release.papers),
        "explained": explain_certificate(content),
        "place": str(release.path.resolve()),
        "figures": has_figures(content),
        "quota": None,
    }
    if "selection" in content:
        selection = content["selection"]
        view["quota"] = quota_line(Quota(selection["accept"], selection.get("wait_list") or 0))
    if has_figures(content):
        view |= {
            "gain": papers_text((content["expected_wrong_raw"] - content["expected_wrong"]) * papers),
            "added": added_text(content["added_success"]),
            "success_before": percent(content["success_scores_only"]),
        }
    return view


def _papers(session: Session, state: FolderState) -> dict[str, Any]:
    """The table of papers for the meeting; it names no reviewer."""
    if state.release is None or state.fingerprint is None:
        return {"table": None}
    if (table := session.result("papers")) is None:
        table = folder_papers(state.folder)
        session.keep("papers", table)
    return {"table": table}


def _lists(session: Session, state: FolderState) -> dict[str, Any]:
    accept, wait_list, preview = session.result("preview") or ("", "", None)
    printed: ReleaseExport | None = session.result("printed")
    settings = state.folder.settings
    release = state.release
    exact = release is not None and "selection" in release.certificate
    papers = () if release is None else release.papers
    return {
        "exact": exact,
        "release": None if release is None else release_view(release),
        "accept": accept or setting_text(settings.get("accept")),
        "wait_list": wait_list if preview else setting_text(settings.get("wait-list")),
        "preview": preview,
        "waiting": [decided.paper for decided in papers if decided.decision == WAITING],
        "formats": list(FORMATS),
        "printed": printed,
        "upload": "" if printed is None else plain(FORMATS[printed.to].upload.format(out=printed.name)),
        "printed_remarks": [] if printed is None else [plain(remark) for remark in printed.remarks],
    }


def _results(session: Session, state: FolderState) -> dict[str, Any]:
    export: ReleaseExport | None = session.result("export")
    settings = state.folder.settings
    return {
        "release": None if state.release is None else release_view(state.release),
        "pages": session.result("report") is not None,
        "formats": list(FORMATS),
        "what": ["advice"] if state.release and state.release.public["publishes"] == "advice" else list(WHAT),
        "export": export,
        "upload": "" if export is None else plain(FORMATS[export.to].upload.format(out=export.name)),
        "export_remarks": [] if export is None else [plain(remark) for remark in export.remarks],
        "overridden": state.folder.overridden,
        "words": {name: setting_text(settings.get(name)) for name in ("accepted", "rejected")},
        "sent": {} if export is None else {word: count(n, "paper") for word, n in export.words.items()},
        "public": settings.get("scores") != CONFIDENTIAL,
    }


def _check(session: Session, state: FolderState) -> dict[str, Any]:
    verified: FolderVerification | None = session.result("verified")
    audited: FolderAudit | None = session.result("audited")
    return {
        "decided": state.decided,
        "fingerprint": state.fingerprint,
        "verified": None
        if verified is None
        else {
            "agrees": verified.verification.agrees,
            "release": verified.record.release,
            "checks": verified.verification.checks,
            "limits": plain(verified.verification.limits),
        },
        "audited": None if audited is None else audit_view(audited),
        "tables": [path.name for path in session.tables.files],
        "priors": [*PRIORS[1:]],
    }


def audit_view(audited: FolderAudit) -> dict[str, Any]:
    """What adversaries gain, as a table for each; reviews are named by their papers alone."""
    findings, exposed = audited.findings, audited.findings.exposures[:10]
    played: dict[str, list[Finding]] = {}
    for finding in findings.findings:
        played.setdefault(finding.adversary, []).append(finding)
    first = {finding.policy: finding for finding in findings.findings[::-1] if finding.question == "author"}
    own = first.get("chosen")
    return {
        "papers": count(findings.papers, "paper"),
        "sentence": ""
        if own is None
        else f"The best guess names who wrote a review in {percent(own.success)} of tries with the decisions "
        f"and in {percent(own.baseline)} from the scores alone.",
        "tables": [(name, _questions(own)) for name, own in played.items()],
        "exposed": [
            (exposure.paper, exposure.review, percent(exposure.before), percent(exposure.after))
            for exposure in exposed
        ],
        "remarks": audited.remarks,
    }


def _questions(findings: list[Finding]) -> list[tuple[str, str, str, str]]:
    """For each question: the chance before the decisions, with them, and with full calibration."""
    chances = {
        policy: {finding.question: finding for finding in findings if finding.policy == policy}
        for policy in ("chosen", "full")
    }
    rows = []
    for question, own in chances["chosen"].items():
        full = percent(chances["full"][question].success) if question in chances["full"] else ""
        rows.append((_QUESTIONS.get(question, question), percent(own.baseline), percent(own.success), full))
    return rows


def _size(size: int) -> str:
    """A size for people.

    >>> _size(900), _size(2_500_000)
    ('1 kB', '2,500 kB')
    """
    return f"{max(1, round(size / 1000)):,} kB"


TABS: Mapping[str, Tab] = {
    "overview": Tab("Overview", _overview),
    "files": Tab("Files", _files),
    "calibration": Tab("Calibration", _calibration, confidential=True),
    "people": Tab("People", _people, confidential=True),
    "plan": Tab("Promise", _plan),
    "settings": Tab("Settings", _settings),
    "decide": Tab("Decide", _decide),
    "papers": Tab("Papers", _papers, confidential=True),
    "lists": Tab("Lists", _lists, confidential=True),
    "results": Tab("Results", _results),
    "check": Tab("Check", _check, confidential=True),
}
"""The pages about an open folder, in the order of the work."""
