"""The words of the pages *Conference*. Reviewers are not named: problems are located by their rows.

Templates read the session, the state of its folder and what its steps returned. They get from the functions
here what does not stand there as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from blindcal.adversaries.findings import Finding
from blindcal.adversaries.side_knowledge import PRIORS
from blindcal.app.folder_state import FolderState, LatestRelease
from blindcal.app.session import EDITABLE, FROZEN, PEOPLE_MAP, CanceledError, Session, setting_text
from blindcal.deciding.certificate_fields import CONFIDENTIAL
from blindcal.deciding.decide import first_of_key
from blindcal.deciding.ledger import ledger_folder
from blindcal.errors import BlindcalError, InputError, Problem, unexpected
from blindcal.exporters import FORMATS, WHAT
from blindcal.exporters.formats import WAITING, table_of
from blindcal.fitting.diagnostics import Forecast
from blindcal.importers import FORMATS as SYSTEMS
from blindcal.importers.plain_table import LAYOUTS
from blindcal.io.cells import count, number_text
from blindcal.planning.calibration_check import FITS
from blindcal.planning.conference_plan import Answer
from blindcal.planning.level_menu import LevelAnswer
from blindcal.planning.request import RELEASES, Quota, Request
from blindcal.policy.guarantee import GUARANTEES
from blindcal.pools.candidates import EVERYONE
from blindcal.posterior.inputs import PAST
from blindcal.project.decide import FolderRelease
from blindcal.project.imports import FolderImport, imported_lines
from blindcal.project.settings import SECTIONS, SETTINGS
from blindcal.report.charts import bars
from blindcal.report.html_page import (
    changed_and_tied,
    menu_bars,
    page_templates,
    score_spans,
    wrong_papers,
)
from blindcal.report.wording import (
    MENU_HEADINGS,
    MENU_NOTE,
    SOURCES,
    added_text,
    answer_words,
    explain_certificate,
    guarantee_words,
    has_figures,
    level_table,
    papers_text,
    percent,
    promises,
    quota_line,
)

if TYPE_CHECKING:
    from jinja2 import Environment

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
    (r"\(delete the line under \[withdrawn\] .*\)", "(“Decide all the same” keeps them)"),
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
class Notice:
    """What went wrong, in words."""

    text: str  # a sentence
    faults: tuple[Problem, ...] = ()  # what is wrong with a file, as `fault` shows it
    more: int = 0  # how many faults are not shown
    mild: bool = False  # whether nothing went wrong, for example if someone canceled


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


def fault(problem: Problem) -> Problem:
    """A `problem` as a page shows it: its value is a part of its rule if it cannot be somebody's name.

    That is if it names a row, or is none of a row's cells.

    >>> fault(Problem("reviews.csv", 7, "reviewer", "must not be empty", "ada"))
    Problem(file='reviews.csv', row=7, column='reviewer', rule='must not be empty', found=None)
    """
    found, rule = problem.found, plain(problem.rule)
    in_a_cell = problem.row is not None or problem.column == "reviewer"
    if found is not None and (_ROW.fullmatch(found) or not in_a_cell):
        rule = f"{rule}, found {found}"
    return replace(problem, file=plain(problem.file), rule=rule, found=None)


def plain(text: str) -> str:
    """The `text` of a message, with arguments as the page calls them.

    >>> plain("2026.csv: say which with `score_field`")
    '2026.csv: say which with “Score field”'
    """
    for pattern, words in _COMMAND_WORDS:
        text = re.sub(pattern, words, text)
    return text


class Tab(NamedTuple):
    """A page about the open folder."""

    label: str  # what it is called
    # What its template gets besides session and state, by name
    view: Callable[[Session, FolderState], dict[str, Any]] = lambda session, state: {}
    confidential: bool = False  # whether it is marked as for the chair alone


def templates() -> Environment:
    """The templates of all pages, as Jinja2 has them, with the ways in which they write values."""
    made = page_templates("blindcal.app")
    made.filters |= {"plain": plain, "typed": setting_text, "notice": notice}
    made.globals |= {"listed": MOST_LISTED, "formats": FORMATS, "promises": promises, "priors": [*PRIORS[1:]]}
    return made


def page_view(session: Session, slug: str) -> tuple[str, dict[str, Any]]:
    """The template of the page `slug` about a `session`, and all that it says, by the template's names.

    Without an open folder it is the page that opens one; a folder that cannot be read has a page that says
    why.
    """
    job = None if session.job is None else session.job.state
    facts: dict[str, Any] = {
        "session": session,
        "job": job if job is not None and job.running else None,
        "notice": notice(session.error),
        "slug": slug,
        "tabs": TABS,
        "confidential": False,
    }
    if session.path is None:
        return "start.html", facts
    try:
        state, tab = session.state, TABS[slug]
        hidden = slug == "results" and state.folder.settings.get("scores") == CONFIDENTIAL
        facts |= {"confidential": tab.confidential or hidden, "open": _folder_view(session, state)}
        return f"{slug}.html", {**facts, "state": state, **tab.view(session, state)}
    except BlindcalError as error:
        facts["notice"] = notice(error)
    try:
        return "broken.html", {**facts, "readable": True, **_uploads_view(session)}
    except BlindcalError:
        return "broken.html", {**facts, "readable": False}


def _folder_view(session: Session, state: FolderState) -> dict[str, Any]:
    """What every page says about the open folder: its name, its place, and how far it is."""
    folder, key = state.folder, Path(state.folder.text("key"))
    facts: dict[str, Any] = {
        "name": folder.settings.get("conference", folder.path.name),
        "path": folder.path.resolve(),
        "key": key.resolve(),
        "sealed": ledger_folder(key).resolve(),
        "reviews": review_words(state),
        "unset": _left_open(state),
        "chosen": "" if state.request is None else request_words(state.request),
        "outcome": "" if state.release is None else _outcome_words(state.release),
    }
    if session.is_example:
        place = "a temporary folder, which goes when the app ends"
        facts |= {"name": "The embedded conference", "path": place, "key": "the example's own", "sealed": ""}
    # What is promised by default is looked at before it is decided.
    looked = state.decided or session.result("planned") is not None
    steps = _conference_steps(state, facts, looked)
    return {**facts, "steps": steps, "upcoming": next((step for step in steps if not step[2]), None)}


def _conference_steps(state: FolderState, facts: Mapping[str, Any], looked: bool) -> list[tuple[Any, ...]]:
    """The steps of a conference: page, label, whether it is done, and what is there."""
    keyed, reviewed = state.fingerprint is not None, state.reviews is not None
    calibrated, chosen = state.calibrated is not None, facts["chosen"]
    reviews = facts["reviews"] if reviewed else "none yet"
    rows = "none yet" if state.calibrated is None else count(state.calibrated, "row")
    if reviewed and state.folder.source != PAST:
        calibrated, rows = True, "these reviews themselves"
    changed = "; files or papers changed since, so amend them" if state.amendable else ""
    decided = state.release is not None and not state.amendable
    return [
        ("overview", "Folder and key", keyed, "made" if keyed else "no key"),
        ("files", "Reviews", reviewed, reviews),
        ("calibration", "Calibration", calibrated, rows),
        ("plan", "Promise and number", looked and bool(chosen), chosen or facts["unset"] or ""),
        ("decide", "Decisions", decided, f"{facts['outcome'] or 'not yet'}{changed}"),
    ]


def _outcome_words(release: LatestRelease) -> str:
    """What a release published: how many papers are accepted, or advice."""
    papers, public = count(release.certificate["papers"], "paper"), release.public
    advised = public["publishes"] == "advice"
    words = f"advice on {papers}" if advised else f"{public['accepted']:,} of {papers} accepted"
    return f"release {public['release']}: {words}"


def _left_open(state: FolderState) -> str | None:
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
    accepted = f"papers above quality {request.bar:g}" if request.bar is not None else ""
    if request.accept_rate is not None:
        accepted = f"about {percent(request.accept_rate)} of the papers"
    elif request.quota is not None:
        accepted = quota_line(request.quota)
    return f"{guarantee_words(request.guarantee)}; {accepted}"


def _uploads_view(session: Session) -> dict[str, Any]:
    """The files on their way into a folder, which may have one that cannot be read."""
    checked, imported, columns = session.checked, session.result("imported"), session.reading.choices.columns
    return {
        "checked": checked,
        "brought": None if checked.brought is None else import_lines(checked.brought),
        "imported": None if imported is None else import_lines(imported),
        "kinds": KIND_LABELS,
        "systems": list(SYSTEMS),
        "layouts": list(LAYOUTS),
        "columns": ",".join(f"{name}={column}" for name, column in columns.items()),
        "codes": session.codes.resolve(),
    }


def _files_view(session: Session, state: FolderState) -> dict[str, Any]:
    pools = state.folder.text("pools")
    candidates = "everyone" if pools in ("", EVERYONE) else "a list for each paper"
    there = {
        "this year's reviews": review_words(state),
        "past conferences": ", ".join(Path(file).stem for file in state.folder.past) or "none",
        "committee": "there" if "committee" in state.folder.settings else "none",
        "who may have reviewed": f"{EVERYONE} without a conflict"
        if pools.endswith("conflicts.csv")
        else candidates,
    }
    return {**_uploads_view(session), "there": there}


def import_lines(brought: FolderImport) -> tuple[list[str], list[str]]:
    """What an import would bring, or brought, in lines, and what the chair should know; it names nobody."""
    lines = imported_lines(brought)
    lines += [f"sets {', '.join(brought.settings)} in conference.toml"] if brought.settings else []
    if not (brought.places or brought.settings or brought.withdrawn):
        lines.append("the folder has this already: nothing would change")
    return [plain(line) for line in lines], [plain(line) for line in (*brought.remarks, *brought.refusals)]


def fit_view(content: Mapping[str, Any]) -> dict[str, Any]:
    """What a fit found out about the reviewers together; those whom its `content` names stay unnamed."""
    checks = content["checks"]
    kept, forecast = checks["persistence"], checks["forecast"] and Forecast(**checks["forecast"])
    shares = [(meaning, checks["shares"][name]) for name, meaning in SOURCES.items()]
    ends = [f"{percent(share['low'])} to {percent(share['high'])}" for _, share in shares]
    errors = forecast and {
        "all reviewers alike": forecast.population,
        "corrected by each reviewer's past mean": forecast.raw,
        "as fitted here": forecast.fitted,
    }
    return {
        "conferences": count(len(content.get("conferences", ())), "past conference"),
        "shares": bars(
            (meaning, share["value"], percent(share["value"]), False, (span,))
            for (meaning, share), span in zip(shares, ends, strict=True)
        ),
        "persistence": f"{kept['value']:.2f} ({kept['low']:.2f} to {kept['high']:.2f})",
        "newcomers": checks["newcomers"],
        "outliers": len(checks["outliers"]),
        "forecast": forecast,
        "errors": errors
        and bars((what, error, f"{error:.3f}", error == forecast.fitted) for what, error in errors.items()),
    }


def _plan_view(session: Session, state: FolderState) -> dict[str, Any]:
    planned: Answer | LevelAnswer | None = session.result("planned")
    request = state.request
    if planned is not None and request is not None and request.guarantee != planned.chosen:
        # Chosen since, in the menu, in Settings or in conference.toml.
        compared = [choice.guarantee for choice in planned.menu.choices]
        planned = replace(planned, chosen=request.guarantee) if request.guarantee in compared else None
    return {
        "planned": planned,
        "answer": answer_words(planned),
        **({} if planned is None else _menu_view(planned)),
    }


def _menu_view(planned: Answer | LevelAnswer) -> dict[str, Any]:
    """The menu of an answer as a table with a bar for each line; `raw` and `full` are outside of it."""
    if isinstance(planned, Answer):
        raw, *rows, full = menu_bars(planned.menu, planned.chosen)
        facts = {"headings": MENU_HEADINGS, "note": MENU_NOTE, "spans": score_spans(planned.fit.public)}
        return {**facts, "raw": raw, "rows": rows, "full": full}
    headings, lines, note = level_table(planned)
    # Of another method's evidence no gain is known.
    gains = [0.0 if planned.from_file else choice.gain[1] for choice in planned.menu.choices]
    chosen = [choice == planned.choice for choice in planned.menu.choices]
    drawn = bars(
        (name, gain, text, own, tuple(more))
        for (name, text, *more), gain, own in zip(lines, gains, chosen, strict=True)
    )
    return {"headings": headings, "note": note, "raw": None, "rows": drawn, "full": None}


def _settings_view(session: Session, state: FolderState) -> dict[str, Any]:
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


def _decide_view(session: Session, state: FolderState) -> dict[str, Any]:
    planned: Answer | LevelAnswer | None = session.result("planned")
    made: FolderRelease | None = session.result("decided")
    misfit = isinstance(planned, Answer) and planned.fit.verdict != FITS
    return {
        "misfit": misfit or "`despite_misfit`" in str(session.error),
        "made": None if made is None else _made_lines(made),
    }


def _made_lines(made: FolderRelease) -> list[str]:
    """What was just decided, in lines; papers are named, reviewers are not."""
    outcome, changes = made.outcome, made.outcome.changes
    how = {
        "new": "decided",
        "stored": "nothing changed: these decisions were made before, and nothing was drawn",
        "amended": "amended",
    }[outcome.how]
    kinds = {
        "new papers, decided now": changes.new,
        "late reviews, decided from public data": changes.late,
        "scores changed, decided from public data": changes.scores,
        "track changed": changes.tracks,
        "withdrawn": changes.withdrawn,
        "look like papers decided under another name: decided by public information alone": changes.alike,
    }
    lines = [
        f"{why}: {', '.join(papers[:MOST_LISTED])}"
        for why, papers in kinds.items()
        if papers and outcome.how == "amended"
    ]
    notes = (*filter(None, [first_of_key(outcome)]), *outcome.remarks)
    return [f"release {outcome.record.release}: {how}", *lines, *map(plain, notes)]


def _papers_view(session: Session, state: FolderState) -> dict[str, Any]:
    there = state.release is not None and state.fingerprint is not None
    return {"table": session.papers if there else None}


def _lists_view(session: Session, state: FolderState) -> dict[str, Any]:
    accept, wait_list, preview = session.result("preview") or ("", "", None)
    settings, release = state.folder.settings, state.release
    selection = None if release is None else release.certificate.get("selection")
    papers = () if release is None else release.papers
    return {
        "quota": selection and quota_line(Quota(selection["accept"], selection.get("wait_list") or 0)),
        "accept": accept or setting_text(settings.get("accept")),
        "wait_list": wait_list if preview else setting_text(settings.get("wait-list")),
        "preview": preview,
        "waiting": [decided.paper for decided in papers if decided.decision == WAITING],
        "printed": session.result("printed"),
    }


def _results_view(session: Session, state: FolderState) -> dict[str, Any]:
    if (release := state.release) is None:
        return {}
    content, (changed, tied) = release.certificate, changed_and_tied(release.papers)
    gain, added = "", ""
    if has_figures(content):
        wrong = wrong_papers(content)
        gain, added = papers_text(wrong["_raw"] - wrong[""]), added_text(content["added_success"])
    return {
        "content": content,
        "papers": count(content["papers"], "paper"),
        "changed": changed,
        "tied": tied,
        "gain": gain,
        "added": added,
        "explained": explain_certificate(content),
        "pages": session.result("report") is not None,
        "table": getattr(table_of(release.path), "name", ""),
        "place": release.path.resolve(),
        "what": ["advice"] if release.public["publishes"] == "advice" else list(WHAT),
        "export": session.result("export"),
    }


def _check_view(session: Session, state: FolderState) -> dict[str, Any]:
    audited = session.result("audited")
    return {} if audited is None else _audit_view(audited.findings.findings)


def _audit_view(findings: Sequence[Finding]) -> dict[str, Any]:
    """Of each adversary a table: a question, the chances before the decisions, with them, fully calibrated.

    `best` is the first guess at who wrote a review.
    """
    chosen, full = (
        {(finding.adversary, finding.question): finding for finding in findings if finding.policy == policy}
        for policy in ("chosen", "full")
    )
    played: dict[str, list[tuple[str, ...]]] = {finding.adversary: [] for finding in findings}
    for (adversary, question), own in chosen.items():
        free = full.get((adversary, question))
        chances = (own.baseline, own.success, *([] if free is None else [free.success]))
        played[adversary].append((_QUESTIONS.get(question, question), *map(percent, chances)))
    best = next((finding for finding in chosen.values() if finding.question == "author"), None)
    return {"played": played, "best": best}


TABS: Mapping[str, Tab] = {
    "overview": Tab("Overview"),
    "files": Tab("Files", _files_view),
    "calibration": Tab("Calibration", lambda _, state: {"fit": state.fit and fit_view(state.fit)}, True),
    "people": Tab("People", confidential=True),
    "plan": Tab("Promise", _plan_view),
    "settings": Tab("Settings", _settings_view),
    "decide": Tab("Decide", _decide_view),
    "papers": Tab("Papers", _papers_view, confidential=True),
    "lists": Tab("Lists", _lists_view, confidential=True),
    "results": Tab("Results", _results_view),
    "check": Tab("Check", _check_view, confidential=True),
}
"""The pages about an open folder, in the order of the work."""
