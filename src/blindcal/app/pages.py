"""The words of the page *Conference*. No reviewer is named here: problems are located by their rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from blindcal.app.jobs import CanceledError, JobState
from blindcal.app.session import ROLES, SEVERAL, Session, Upload
from blindcal.app.steps import Compared, LatestRelease, OpenedFolder
from blindcal.calibrators.assessment import Assessment
from blindcal.cells import count, number_text
from blindcal.deciding.ledger import ledger_folder
from blindcal.errors import BlindcalError, InputError, Problem, unexpected
from blindcal.fitting.diagnostics import Forecast
from blindcal.planning.calibration_check import FITS
from blindcal.planning.request import Request
from blindcal.report.charts import Bar, Span
from blindcal.report.explanation import explain_certificate
from blindcal.report.html_page import menu_bars, more_words, score_spans
from blindcal.report.wording import SOURCES, VERDICTS, expected, guarantee_words, percent, promises

MOST_LISTED = 200
"""More papers, or problems, than this are not listed one by one."""
LABELS: Mapping[str, str] = {
    "score_field": "“Score field”",
    "columns": "“Columns”",
    "best_first": "“Order of scores”",
    "accept_rate": "“Share”",
    "accept": "“Number”",
    "grid": "“Scores that can be given”",
    "better": "“Better scores”",
    "scores": "“Who may see the scores”",
    "yes_leak": "the command line, with its option --yes-leak",
    "despite_misfit": "the command line, with its option --despite-misfit",
    "distinct_papers": "distinct-papers = true in conference.toml",
    "withdrawn": "[withdrawn] in conference.toml",
    "map": "`blindcal import` with its option --map",
}
"""What messages call by the names of arguments, by those of the fields of the page."""
_METHODS = {
    "raw": "by mean scores",
    "hierarchical": "calibrated from these reviews alone, without privacy",
    "known": "if every reviewer's habits were known",
}
_HINTS: Mapping[str, str] = {
    "reviews": "an export of HotCRP, OpenReview, CMT, EasyChair or pretalx; or paper, reviewer, score",
    "committee": "everyone who may have reviewed, also those who did not; needed with past reviews",
    "past": "reviews of earlier conferences, from which reviewers' habits are learned",
    "conflicts": "who cannot have reviewed what: paper, conflict (or email)",
    "pools": "or who may have reviewed each paper: paper, reviewer, optionally probability",
    "reviewers": "a calibration that you have already, in place of past reviews",
    "same": "people whose id changed since: old, new",
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


@dataclass(frozen=True)
class UploadedFile:
    """An uploaded file as the page lists it.

    It has a `role` with its `label`, a `name` and `size`, the `lines` that say what was recognized, and the
    `notice` of what is wrong with it, if anything is.
    """

    role: str
    label: str
    name: str
    size: str
    lines: tuple[str, ...]
    notice: Notice | None


def notice(error: BaseException | None, private: Path) -> Notice | None:
    """What a page says of an `error`; files below `private`, the session's own, go by their names alone.

    >>> notice(InputError("give one of `accept_rate`, `accept` and `bar`"), Path("/x")).text
    'give one of “Share”, “Number” and bar'
    """
    if error is None:
        return None
    if isinstance(error, CanceledError):
        return Notice("Canceled. Nothing was written.", mild=True)
    if isinstance(error, InputError) and error.problems:
        faults = tuple(fault(one, private) for one in error.problems[:MOST_LISTED])
        more = len(error.problems) - len(faults)
        return Notice(count(len(error.problems), "problem"), faults, more)
    if isinstance(error, BlindcalError):
        return Notice(plain(str(error), private))
    if isinstance(error, OSError):
        return Notice(f"The system says: {error.strerror or type(error).__name__}.")
    return Notice(unexpected(error))


def fault(problem: Problem, private: Path) -> Fault:
    """A `problem` without its value, unless that names a row or is none of a row's cells.

    Files below `private` go by their names alone.

    >>> fault(Problem("/x/reviews.csv", 7, "reviewer", "must not be empty", "ada"), Path("/x"))
    Fault(file='reviews.csv', row='7', column='reviewer', rule='must not be empty')
    """
    found, rule = problem.found, plain(problem.rule, private)
    shows_value = found is not None and (
        _ROW.fullmatch(found) is not None or (problem.row is None and problem.column != "reviewer")
    )
    return Fault(
        plain(problem.file, private),
        "" if problem.row is None else f"{problem.row:,}",
        problem.column or "",
        f"{rule}, found {found}" if shows_value else rule,
    )


def plain(text: str, private: Path) -> str:
    """The `text` of a message, with files and arguments as the page calls them.

    Files below `private` go by their names alone.

    >>> plain("/x/uploads/past/2026.csv: say which with `score_field`", Path("/x"))
    '2026.csv: say which with “Score field”'
    """
    text = re.sub(rf"{re.escape(str(private))}/uploads/[a-z]+/", "", text)
    text = text.replace(f"{private}/", "")
    return re.sub(r"`([a-z_]+)`", lambda one: LABELS.get(one[1], one[1].replace("_", " ")), text)


def found_upload(upload: Upload, private: Path) -> UploadedFile:
    """An `upload` as the page lists it; files below `private` go by their names alone.

    >>> found = found_upload(Upload("past", "2026.csv", 2500, ("12 reviews",)), Path("/x"))
    >>> found.label, found.size, found.lines
    ('Past reviews', '2 kB', ('12 reviews',))
    """
    lines = tuple(plain(line, private) for line in upload.lines)
    label, said = ROLES[upload.role], notice(upload.error, private)
    return UploadedFile(upload.role, label, upload.name, _size(upload.size), lines, said)


def conference_view(session: Session) -> dict[str, Any]:
    """All that the page of the page *Conference* says about a `session`, by the names of its template."""
    opened, private = session.opened, session.private
    state = None if session.job is None else session.job.state
    return {
        "job": state if state is not None and state.running else None,
        "notice": notice(session.error, private),
        "home": str(session.home),
        "suggested": session.suggested,
        "folders": session.folders if opened is None else [],
        "uploads": [] if opened is not None else [found_upload(one, private) for one in session.uploads],
        "roles": [(role, label, _HINTS[role], role in SEVERAL) for role, label in ROLES.items()],
        "choices": session.choices,
        "columns": ",".join(f"{name}={column}" for name, column in session.choices.columns.items()),
        "open": None if opened is None else _opened_view(opened, session),
        "listed": MOST_LISTED,
    }


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


def _opened_view(opened: OpenedFolder, session: Session) -> dict[str, Any]:
    reviews, private = opened.reviews, session.private
    wanted, request = opened.wanted, None if opened.wanted is None else opened.wanted.request
    per_paper = np.bincount(reviews.paper)
    key = Path(str(opened.folder.settings.get("key", "")))
    return {
        "name": "The embedded conference" if session.is_example else _name(opened),
        "example": session.is_example,
        "path": "a temporary folder, which goes when the app ends"
        if session.is_example
        else opened.folder.path,
        "key": "the example's own" if session.is_example else key,
        "sealed": "" if session.is_example else ledger_folder(key),
        "reviews": count(len(reviews), "review"),
        "papers": count(len(reviews.papers), "paper"),
        "reviewers": count(len(reviews.reviewers), "reviewer"),
        "each": "–".join(dict.fromkeys(str(int(one)) for one in (per_paper.min(), per_paper.max()))),
        "scores": " to ".join(number_text(float(one)) for one in (reviews.score.min(), reviews.score.max())),
        "better": "high" if request is None else request.better,
        "remarks": [plain(one, private) for one in opened.remarks],
        "calibrated": opened.calibrated,
        "fit": None if opened.fit is None else fit_view(opened.fit),
        "assessed": None if opened.assessed is None else assessed_view(opened.assessed),
        "unset": None if opened.unset is None else plain(opened.unset, private),
        "accept": None if request is None else _accept_words(request),
        "rate": None if request is None else request.accept_rate,
        "number": None if request is None or not isinstance(request.accept, int) else request.accept,
        "compared": None if opened.compared is None else compared_view(opened.compared, private),
        "guarantee": None if wanted is None else guarantee_words(wanted.request.guarantee),
        "promises": [] if wanted is None else promises(wanted.request.guarantee),
        "release": None if opened.release is None else release_view(opened.release, private),
        "pages": opened.pages is not None,
    }


def _name(opened: OpenedFolder) -> str:
    return str(opened.folder.settings.get("conference", opened.folder.path.name))


def _accept_words(request: Request) -> str:
    """How many papers are accepted, in words."""
    rate, accept, bar = request.accept_rate, request.accept, request.bar
    if rate is not None:
        return f"about {percent(rate)} of the papers"
    if isinstance(accept, Mapping):
        return ", ".join(f"exactly {number} in {track}" for track, number in accept.items())
    return f"exactly {accept:,} papers" if isinstance(accept, int) else f"papers above quality {bar:g}"


def fit_view(content: Mapping[str, Any]) -> dict[str, Any]:
    """What a fit found out about the reviewers together; those whom its `content` names stay unnamed."""
    checks = content["checks"]
    shares = [(meaning, checks["shares"][name]) for name, meaning in SOURCES.items()]
    kept, forecasted = checks["persistence"], checks["forecast"]
    forecast = None if forecasted is None else Forecast(**forecasted)
    return {
        "conferences": count(len(content.get("conferences", ())), "past conference"),
        "shares": [(meaning, percent(one["value"]), _ends(one)) for meaning, one in shares],
        "persistence": f"{kept['value']:.2f} ({kept['low']:.2f} to {kept['high']:.2f})",
        "newcomers": checks["newcomers"],
        "outliers": len(checks["outliers"]),
        "forecast": None if forecast is None else (forecast.verdict, percent(forecast.gain)),
    }


def _ends(found: Mapping[str, float]) -> str:
    return f"{percent(found['low'])} to {percent(found['high'])}"


def assessed_view(found: Assessment) -> dict[str, Any]:
    """Whether calibration is worth it by the assessment that was `found`, in words."""
    return {
        "verdict": found.verdict,
        "meaning": VERDICTS[found.verdict],
        "rows": [(_METHODS[name], percent(one.value), _ends(vars(one))) for name, one in found.wrong.items()],
        "notes": found.notes,
    }


def compared_view(found: Compared, private: Path) -> dict[str, Any]:
    """The menu as a table: for each line its bar, and whether it can be chosen here.

    Files below `private` go by their names alone.
    """
    menu = found.survey.menu
    bars: tuple[Bar, ...] = menu_bars(found.survey) or ()
    choices = () if menu is None else menu.choices
    spans: tuple[Span, ...] = score_spans(found.fit.public)
    return {
        "raw": bars[0],
        "rows": [
            (place, bar, one.guarantee.name != "none", promises(one.guarantee))
            for place, (bar, one) in enumerate(zip(bars[1:], choices, strict=True))
        ],
        "more": more_words(found.survey),
        "gray": f"{found.survey.gray:,}",
        "papers": count(len(found.survey.papers), "paper"),
        "verdict": found.fit.verdict,
        "fits": found.fit.verdict == FITS,
        "spans": spans,
        "remarks": [plain(one, private) for one in found.remarks],
        "sampled": menu is not None and menu.weighed < menu.papers,
    }


def release_view(release: LatestRelease, private: Path) -> dict[str, Any]:
    """What a `release` decided, in words and numbers; files below `private` go by their names alone."""
    content = release.certificate
    papers = content["papers"]
    wrong = {name: expected(content[f"expected_wrong{name}"] * papers) for name in ("", "_raw")}
    return {
        "number": content["release"],
        "papers": count(papers, "paper"),
        "accepted": f"{content['accepted']:,}",
        "wrong": wrong[""],
        "wrong_raw": wrong["_raw"],
        "success": percent(content["success"]),
        "success_before": percent(content["success_scores_only"]),
        "changed": sum(one.advice in ("raise", "lower") for one in release.decided),
        "rows": release.decided[:MOST_LISTED],
        "all": len(release.decided),
        "explained": explain_certificate(content),
        "remarks": [plain(one, private) for one in release.remarks],
        "place": plain(str(release.path), private),
    }


def _size(size: int) -> str:
    """A size for people.

    >>> _size(900), _size(2_500_000)
    ('1 kB', '2,500 kB')
    """
    return f"{max(1, round(size / 1000)):,} kB"
