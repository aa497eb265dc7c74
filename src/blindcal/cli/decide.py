"""`blindcal decide`: toss once, seal the record, write the public decisions and their certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from blindcal.agreements import agreement
from blindcal.cli.console import Json, emit_json, note, number, progress, say, say_gap
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
from blindcal.coins import make_key, read_key
from blindcal.errors import InputError, RefusedError
from blindcal.plans import plan_conference
from blindcal.records import check_vacant, open_ledger, publish, read_ledger, sealed_folder
from blindcal.releases import Outcome, Request, input_stamp
from blindcal.releases import decide as decide_conference
from blindcal.remarks import plan_remarks
from blindcal.workers import cores

KeyFile = Annotated[Path, typer.Option(help="The secret key; made if it does not exist.")]
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
    yes_leak: Leak = False,
    despite_misfit: Misfit = False,
    as_json: Json = False,
) -> None:
    """Decide every paper, privately: accept or reject, and advice relative to the raw decision.

    Writes OUT/decisions.csv (paper, decision, raw_decision, advice) and OUT/certificate.json, both public,
    and a sealed record beside the key. The same input always returns the same decisions; a changed input is
    refused unless --amend, which decides again only the papers that changed.

    Example: blindcal decide reviews.csv --reviewers reviewers.csv --pools pools.csv --accept-rate 0.25
    --key key.bin --out out/
    """
    asked = guarantee_of(
        guarantee, added_success, epsilon, multiplier, posterior_cap, never_against, yes_leak
    )
    request = request_of(asked, conference, accept_rate, bar, better)
    files = Files(reviews, reviewers, pools, levels(grid))
    outcome, made, remarks = run(
        files, request, key, out, amend=amend, reason=reason, despite_misfit=despite_misfit
    )
    remarks = [*remarks, *plan_remarks(outcome.certificate, never_against)]
    facts = {**_facts(outcome, made, key, out), "notes": remarks}
    if as_json:
        emit_json(facts)
    else:
        _print(outcome, facts)
        for remark in remarks:
            note(remark)


def run(
    files: Files,
    request: Request,
    key: Path,
    out: Path,
    *,
    amend: bool = False,
    reason: str = "",
    despite_misfit: bool = False,
) -> tuple[Outcome, bool, list[str]]:
    """Decide the conference in `files` and publish; also says whether the key was made, and what the chair
    should know."""
    frozen = None
    if out.resolve() in sealed_folder(key).resolve().parents:
        raise InputError("--key must not lie in the --out folder, which is there to be sent on")
    if made := not key.exists():
        check_vacant(out, None)
        if (sealed_folder(key) / "ledger.json").exists():
            raise RefusedError(
                f"{sealed_folder(key)} holds decisions of a key that is not there: a new key would toss again"
            )
    else:
        ledger = read_ledger(key, read_key(key))
        releases = ledger.of(request.conference)
        frozen = ledger.record(releases[-1]).bar if releases else None
    conference, truth = files.load(request, bar=frozen)
    fit = agreement(conference.cases, request.better)
    # What was decided once is returned, and corrected, whatever it was decided from.
    refuse_misfit(fit, despite_misfit or frozen is not None)
    secret = make_key(key) if made else read_key(key)
    with open_ledger(key, secret) as ledger, progress("papers", 2 * len(conference.cases)) as advance:
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
        )
    publish(outcome.record, out)
    return outcome, made, [*files.remarks(conference, request), *fit.notes]


def _facts(outcome: Outcome, made: bool, key: Path, out: Path) -> dict[str, Any]:
    return {
        "how": outcome.how,
        "release": outcome.record.release,
        "key_made": made,
        "key": key,
        "sealed": sealed_folder(key),
        "decisions": out / "decisions.csv",
        "certificate_file": out / "certificate.json",
        "certificate": outcome.certificate,
    }


def _print(outcome: Outcome, facts: dict[str, Any]) -> None:
    told = {
        "new": "decided",
        "stored": "decided before: the stored decisions are returned, nothing was tossed",
        "amended": "amended: papers that did not change keep their decisions",
    }
    certificate = facts["certificate"]
    say(f"{certificate['papers']} papers, {certificate['accepted']} accepted; {told[outcome.how]}")
    if facts["key_made"]:
        say(f"a new key was made: {facts['key']}. Keep it secret and back it up with {facts['sealed']}")
    say(f"better: {certificate['better']} scores; calibration: {certificate['calibration_fit']['verdict']}")
    say(f"guarantee: {certificate['guarantee']}, epsilon {_shown(certificate['epsilon'])}")
    say(
        f"naming a review's author: {_percent(certificate['success_scores_only'])} from the scores alone, "
        f"{_percent(certificate['success'])} with the decisions"
    )
    say(
        f"wrong decisions expected: {_percent(certificate['expected_wrong'])} "
        f"(raw {_percent(certificate['expected_wrong_raw'])}, "
        f"fully calibrated {_percent(certificate['expected_wrong_fully_calibrated'])})"
    )
    say_gap(certificate["gap"])
    say(f"public: {facts['decisions']}, {facts['certificate_file']}")
    say(f"CONFIDENTIAL, never send on: {facts['key']}, {facts['sealed']}")


def _percent(share: float) -> str:
    return f"{number(100 * share, 1)} %"


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else number(value, 3)
