"""`blindcal decide`: decide once, record the release, write the public decisions and their certificate."""

from __future__ import annotations

from collections import Counter
from typing import Any

from blindcal.cli.console import emit_json, note, say, say_gap
from blindcal.cli.options import (
    ClusterAddress,
    FolderPath,
    KeyFile,
    Leak,
    Misfit,
    Processes,
    Published,
    flag,
    hired,
    option,
)
from blindcal.deciding.amend import Changes
from blindcal.deciding.certificate_fields import CONFIDENTIAL, by_scores_alone
from blindcal.deciding.decide import Outcome, first_of_key
from blindcal.deciding.ledger import ledger_folder
from blindcal.exporters.formats import decided_of
from blindcal.io.atomic_files import CERTIFICATE
from blindcal.io.cells import count, number_text
from blindcal.planning.advice import ADVICE
from blindcal.project.decide import decide_folder
from blindcal.project.folder import key_of
from blindcal.project.settings import read_folder
from blindcal.report.wording import certified_promises, has_figures, percent

_BY = {"this-year": "these reviews themselves", "file": "another method's evidence"}
# How many of the changed papers are named; with --json, all of them.
_MOST_NAMED = 20


def decide(
    path: FolderPath,
    key: KeyFile = None,
    amend: bool = flag("Decide new papers, and papers whose scores changed.", "--amend"),
    reason: str = option(
        "Why the papers are amended, for the private log; required with --amend.", default=""
    ),
    published: Published = None,
    yes_leak: Leak = False,
    despite_misfit: Misfit = False,
    processes: Processes = None,
    cluster: ClusterAddress = None,
) -> None:
    """Decide every paper privately, once, and write the decisions with their certificate.

    Decides what conference.toml says. Writes decisions.csv (paper, decision, by_mean_score, advice), or
    advice.csv if the conference publishes advice, and certificate.json into the public folder, for people who
    may see the scores (if scores are confidential, for everyone: only the decisions in it depend on them, and
    advice stays out of it), and a record into the private log beside the key. The same input always returns
    the same decisions; a changed input is refused without --amend, which decides new papers, and papers whose
    scores changed from public data. If a number of papers is to be accepted exactly, the private decisions
    stay in the log, and the best papers by them are accepted.

    Example: blindcal decide icx2027
    """
    folder = read_folder(path)
    with hired(processes, cluster) as work:
        outcome, public = decide_folder(
            folder,
            key=key,
            amend=amend,
            reason=reason,
            published=published or (),
            yes_leak=yes_leak,
            despite_misfit=despite_misfit,
            **work,
        )
    secret = key_of(folder, key)
    facts = {
        "how": outcome.how,
        "release": outcome.record.release,
        "decisions": next((public / name for name in outcome.record.published if name != CERTIFICATE), None),
        "certificate_file": public / CERTIFICATE,
        "certificate": outcome.certificate,
        "key": secret,
        "sealed": ledger_folder(secret),
        "changes": outcome.changes,
    }
    if amend and outcome.how == "stored":
        note("nothing changed since the latest release, so nothing was amended")
    _print_release(outcome, facts)
    note(*outcome.remarks)
    emit_json(facts)
    step = f"blindcal report {folder.path} --out {folder.path.name}.html"
    say(f"next: back up the key with its private log, then {step}")


def _print_release(outcome: Outcome, facts: dict[str, Any]) -> None:
    how = {
        "new": "decided",
        "stored": "already decided: the stored decisions are returned, nothing was drawn",
        "amended": "amended",
    }
    certificate = outcome.full_certificate
    counted = count(certificate["papers"], "paper")
    what = f"{certificate['accepted']:,} accepted{waiting(certificate)}"
    if outcome.record.publishes == "advice":
        what = f"advice: {_advice_counts(outcome)}"
    say(f"{counted}, {what}; {how[outcome.how]}")
    if outcome.how == "amended" or outcome.changes.alike:
        _print_changes(outcome.changes, certificate["papers"])
    _say_figures(certificate)
    if outcome.record.scores == CONFIDENTIAL and has_figures(certificate):
        say("scores are confidential: these figures are for you alone, and no public file has them")
    if (only := first_of_key(outcome)) is not None:
        say(only)
    public = [facts[name] for name in ("decisions", "certificate_file") if facts[name] is not None]
    say(f"public: {', '.join(map(str, public))}")
    if facts["decisions"] is None:
        say("scores are confidential, and so is the advice: `blindcal export` writes it for who may see it")
    say(f"CONFIDENTIAL, never share: {facts['key']}, {facts['sealed']}")


def _advice_counts(outcome: Outcome) -> str:
    """How often each advice is given."""
    number = Counter(decided.advice for decided in decided_of(outcome.record.decisions.encode(), "decisions"))
    return ", ".join(f"{number[advice]:,} {advice}" for advice in ADVICE if number[advice])


def _say_figures(certificate: dict[str, Any]) -> None:
    """The promise, and the figures that the certificate has."""
    if not has_figures(certificate):
        how = f"calibrated by {_BY[certificate['source']]}"
        how = "decided by the scores alone" if by_scores_alone(certificate) else how
        say(f"better: {certificate['better']} scores; {how}")
        for promise in certified_promises(certificate):
            say(promise)
        return
    say(f"better: {certificate['better']} scores; calibration: {certificate['calibration_fit']['verdict']}")
    say(_guarantee_line(certificate))
    say(
        f"chance of naming a reviewer: {percent(certificate['success_scores_only'])} "
        f"from the scores alone, {percent(certificate['success'])} with the decisions"
    )
    full = certificate.get("expected_wrong_fully_calibrated")
    say(
        f"expected wrong decisions: {percent(certificate['expected_wrong'])} "
        f"(raw {percent(certificate['expected_wrong_raw'])}"
        + (")" if full is None else f", fully calibrated {percent(full)})")
    )
    say_gap(certificate.get("gap", 0.0))


def waiting(certificate: dict[str, Any]) -> str:
    """How many papers are on the wait list, where there is one."""
    number = certificate.get("selection", {}).get("waiting", 0)
    return f", {number:,} on the wait list" if number else ""


def _guarantee_line(certificate: dict[str, Any]) -> str:
    """The guarantee in one line; what several decisions on a paper add up to is stated apart from each."""
    twice, among = certificate["decided_again"], certificate["limits"].get("among")
    name = f"{certificate['guarantee']}{'' if among is None else f', among {among}'}"
    if not twice["papers"]:
        return f"guarantee: {name}, epsilon {_limit_text(certificate['epsilon'])}"
    limit = certificate["limits"]["epsilon"]
    each = "without a limit" if limit is None else f"at most {_limit_text(limit)}"
    again = f"{count(twice['papers'], 'paper')} decided again from public data"
    return f"guarantee: {name}, epsilon {each} for each paper's one draw ({again})"


def _print_changes(changes: Changes, papers: int) -> None:
    """Which papers were decided now, and why; for the chair's eyes."""
    kinds = (
        ("new", changes.new),
        ("late reviews, decided from public data", changes.late),
        ("scores changed, decided from public data", changes.scores),
        ("pools or calibration changed, decision kept", changes.pools),
        ("the grid of scores changed, decision kept", changes.grid),
        ("track changed", changes.tracks),
        ("CONFIDENTIAL, reviewers changed, decision kept", changes.reviewers),
        ("returned unchanged, decision kept", changes.returned),
        ("withdrawn", changes.withdrawn),
        ("look like papers decided under another name: decided by public information alone", changes.alike),
    )
    kept = papers - len(changes.decided)
    theirs = "its decision" if kept == 1 else "their decisions"
    say(f"{count(len(changes.decided), 'paper')} decided now, {kept} kept {theirs}")
    for why, which in kinds:
        if which:
            more = f" and {len(which) - _MOST_NAMED} more" if len(which) > _MOST_NAMED else ""
            say(f"  {why}: {', '.join(which[:_MOST_NAMED])}{more}")


def _limit_text(value: float | str) -> str:
    return value if isinstance(value, str) else number_text(value)
