"""`blindcal decide`: toss once, seal the record, write the public decisions and their certificate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from blindcal.cells import count, number_text
from blindcal.cli.console import Json, budget_line, emit_json, note, number, progress, say, say_gap
from blindcal.cli.inputs import (
    Added,
    Bar,
    Better,
    Cap,
    ConferenceName,
    Epsilon,
    Files,
    Grid,
    Leak,
    Misfit,
    Multiplier,
    Name,
    Never,
    PoolsFile,
    Rate,
    ReviewersFile,
    ReviewsFile,
    guarantee_of,
    levels,
    refuse_misfit,
    request_of,
)
from blindcal.decisions.coins import Key, read_key
from blindcal.decisions.drafts import Changes
from blindcal.decisions.places import check_apart, check_writable
from blindcal.decisions.records import (
    Published,
    check_published,
    check_vacant,
    open_ledger,
    publish,
    read_ledger,
    read_published,
    sealed_folder,
)
from blindcal.decisions.releases import Outcome
from blindcal.decisions.releases import decide as decide_conference
from blindcal.decisions.requests import Request, input_stamp
from blindcal.errors import InputError, RefusedError
from blindcal.files.disk import clear_stale
from blindcal.plans.agreements import agreement
from blindcal.plans.planning import plan_conference
from blindcal.plans.remarks import plan_remarks
from blindcal.workers import cores

# Of papers that changed, so many are named; all of them with --json.
_SHOWN = 20

KeyFile = Annotated[Path, typer.Option(help="The secret key, made once by `blindcal key`.")]
Out = Annotated[Path, typer.Option(help="Folder for the public files; never overwrites another result.")]


def decide(
    reviews: ReviewsFile,
    reviewers: ReviewersFile,
    pools: PoolsFile,
    key: KeyFile,
    out: Out,
    accept_rate: Rate = None,
    bar: Bar = None,
    grid: Grid = None,
    better: Better = "high",
    guarantee: Name = "steady",
    added_success: Added = 0.0,
    epsilon: Epsilon = "2",
    multiplier: Multiplier = None,
    posterior_cap: Cap = None,
    never_against: Never = None,
    conference: ConferenceName = "conference",
    amend: Annotated[bool, typer.Option("--amend", help="Decide again the papers that changed.")] = False,
    reason: Annotated[str, typer.Option(help="Why, for the sealed record; with --amend.")] = "",
    published: Annotated[
        list[Path] | None,
        typer.Option(
            help="A folder published before with this key, to make sure of key and ledger; repeatable."
        ),
    ] = None,
    yes_leak: Leak = False,
    despite_misfit: Misfit = False,
    as_json: Json = False,
) -> None:
    """Decide every paper, privately: accept or reject, and advice relative to the raw decision.

    Writes OUT/decisions.csv (paper, decision, raw_decision, advice) and OUT/certificate.json, both public,
    and a sealed record beside the key, which `blindcal key` makes. The same input always returns the same
    decisions; a changed input is refused unless --amend, which decides again only the papers that changed.

    Example: blindcal decide reviews.csv --reviewers reviewers.csv --pools pools.csv --accept-rate 0.25
    --key key.bin --out out/
    """
    if reason.strip() and not amend:
        raise InputError("--reason goes with --amend: without it nothing is decided again")
    asked = guarantee_of(
        guarantee, added_success, epsilon, multiplier, posterior_cap, never_against, yes_leak
    )
    request = request_of(asked, conference, accept_rate, bar, better)
    files = Files(reviews, reviewers, pools, levels(grid))
    outcome, remarks = run(
        files,
        request,
        key,
        out,
        published or (),
        amend=amend,
        reason=reason,
        may_leak=yes_leak,
        despite_misfit=despite_misfit,
    )
    facts = _facts(outcome, key, out)
    if amend and outcome.how == "stored":
        note("nothing changed since the latest release, so nothing was amended")
    if not as_json:
        _print(outcome, facts)
    for remark in (*remarks, *plan_remarks(outcome.certificate, never_against)):
        note(remark)
    if as_json:
        emit_json(facts)


def run(
    files: Files,
    request: Request,
    key: Path,
    out: Path,
    published: Sequence[Path] = (),
    *,
    amend: bool = False,
    reason: str = "",
    may_leak: bool = False,
    despite_misfit: bool = False,
) -> tuple[Outcome, list[str]]:
    """Decide the conference in `files` and publish; also what the chair should know."""
    secret, frozen = _key(key, out), None
    # What was published is read before the ledger, which can only have grown in between.
    seen = [*_seen(published), read_published(out)]
    ledger = read_ledger(key, secret)
    for certificate in filter(None, seen):
        check_published(ledger, certificate)
    if releases := ledger.of(request.conference):
        frozen = ledger.record(releases[-1]).bar
    conference, truth = files.load(request, bar=frozen, out=out)
    fit = agreement(conference.cases, request.better)
    # What was decided once is returned, and corrected, whatever it was decided from.
    refuse_misfit(fit, despite_misfit or frozen is not None)
    work = f"deciding {count(len(conference.cases), 'paper')}"
    with open_ledger(key, secret) as ledger, progress(work, 2 * len(conference.cases)) as advance:
        stamp, past = input_stamp(secret, conference, truth, request), ledger.of(request.conference)
        if (amend or not past) and all(release.input != stamp for release in past):
            check_vacant(out, None)
        outcome = decide_conference(
            conference,
            truth,
            request,
            ledger,
            lambda part, limits, price: plan_conference(
                part, limits, price, workers=cores(), advance=advance
            ),
            amend=amend,
            reason=reason,
            may_leak=may_leak,
        )
        publish(outcome.record, out)
    return outcome, [*files.remarks(conference, request), *fit.notes]


def _key(path: Path, out: Path) -> Key:
    """The key, once it is certain that it and its sealed folder lie apart from what is sent on."""
    check_apart(path, out)
    check_writable(out)
    sealed = sealed_folder(path)
    if not path.exists():
        if sealed.exists():
            raise RefusedError(
                f"{sealed} holds decisions of a key that is not there, {path}: restore the key from its "
                "backup; a new one would draw new coins"
            )
        raise InputError(
            f"there is no key {path}. If these papers were never decided, make one: blindcal key {path}. If "
            "they were, give the key they were decided with: another one would draw new coins"
        )
    for folder in (path.parent, out):
        clear_stale(folder)
    return read_key(path)


def _seen(folders: Sequence[Path]) -> Iterator[Published]:
    for folder in folders:
        seen = read_published(folder)
        if seen is None:
            raise InputError(f"--published {folder} must hold a certificate.json that blindcal wrote")
        yield seen


def _facts(outcome: Outcome, key: Path, out: Path) -> dict[str, Any]:
    return {
        "how": outcome.how,
        "release": outcome.record.release,
        "key": key,
        "sealed": sealed_folder(key),
        "decisions": out / "decisions.csv",
        "certificate_file": out / "certificate.json",
        "certificate": outcome.certificate,
        "changes": outcome.changes,
        "notes": [],
    }


def _print(outcome: Outcome, facts: dict[str, Any]) -> None:
    told = {
        "new": "decided",
        "stored": "decided before: the stored decisions are returned, nothing was tossed",
        "amended": "amended",
    }
    certificate = facts["certificate"]
    papers = count(certificate["papers"], "paper")
    say(f"{papers}, {certificate['accepted']:,} accepted; {told[outcome.how]}")
    if outcome.how == "amended" or outcome.changes.alike:
        _print_changes(outcome.changes, certificate["papers"])
    say(f"better: {certificate['better']} scores; calibration: {certificate['calibration_fit']['verdict']}")
    say(_promise(certificate))
    say(
        f"naming a review's author: {_percent(certificate['success_scores_only'])} from the scores alone, "
        f"{_percent(certificate['success'])} with the decisions"
    )
    if certificate["limits"]["added_success"]:
        say(budget_line(certificate["added_share_of_full"]))
    say(
        f"wrong decisions expected: {_percent(certificate['expected_wrong'])} "
        f"(raw {_percent(certificate['expected_wrong_raw'])}, "
        f"fully calibrated {_percent(certificate['expected_wrong_fully_calibrated'])})"
    )
    say_gap(certificate["gap"])
    say(f"public: {facts['decisions']}, {facts['certificate_file']}")
    say(f"CONFIDENTIAL, never send on: {facts['key']}, {facts['sealed']}")


def _promise(certificate: dict[str, Any]) -> str:
    """The guarantee in a line; what decisions on one paper add up to stands apart from what each keeps."""
    twice = certificate["decided_again"]
    if not twice["papers"]:
        return f"guarantee: {certificate['guarantee']}, epsilon {_shown(certificate['epsilon'])}"
    limit = certificate["limits"]["epsilon"]
    each = "no limit" if limit is None else f"{_shown(limit)}"
    return (
        f"guarantee: {certificate['guarantee']}, epsilon {each} for each decision; "
        f"{_shown(twice['epsilon'])} together for {count(twice['papers'], 'paper')} decided more than once"
    )


def _print_changes(changes: Changes, papers: int) -> None:
    """Which papers were decided now, and why; for the chair's eyes."""
    kinds = (
        ("new", changes.new),
        ("scores changed", changes.scores),
        ("pools or calibration changed", changes.pools),
        ("the grid of scores changed", changes.grid),
        ("reviewers changed", changes.reviewers),
        ("back as they were, decision kept", changes.returned),
        ("withdrawn", changes.withdrawn),
        ("like papers decided under another name: decided by public information alone", changes.alike),
    )
    say(
        f"{count(len(changes.decided), 'paper')} decided now, {papers - len(changes.decided)} kept their "
        "decisions"
    )
    for why, which in kinds:
        if which:
            more = f" and {len(which) - _SHOWN} more" if len(which) > _SHOWN else ""
            say(f"  {why}: {', '.join(which[:_SHOWN])}{more}")


def _percent(share: float) -> str:
    return f"{number(100 * share, 1)} %"


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else number_text(value)
