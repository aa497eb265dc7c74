"""`blindcal plan`: everything but the toss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Annotated, Any

import typer

from blindcal.adversaries.coupled_epsilon import CONFIDENCE, Held, hold
from blindcal.adversaries.coupled_exact import read_loads
from blindcal.adversaries.findings import Findings, findings_of
from blindcal.adversaries.learned_calibration import learning_findings
from blindcal.adversaries.release_audit import planned_views
from blindcal.cells import count
from blindcal.cli.arguments import ClusterAddress, Processes, hired, probability
from blindcal.cli.audit import Learns, facts_of, say_findings
from blindcal.cli.console import (
    Json,
    about,
    budget_line,
    emit_json,
    note,
    number,
    progress,
    say,
    say_gap,
    table,
)
from blindcal.cli.folders import current_folder
from blindcal.cli.inputs import (
    Accept,
    Added,
    Bar,
    Better,
    Cap,
    ConferenceName,
    Epsilon,
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
    WaitList,
    Withdrawn,
    loaded,
)
from blindcal.compute.parallel import Workers
from blindcal.deciding.certificate_file import stated
from blindcal.deciding.coins import commit_to, read_key
from blindcal.deciding.ledger import CONFIDENTIAL
from blindcal.errors import InputError
from blindcal.io.atomic_files import refuse_existing, refuse_published, write_bytes
from blindcal.planning.calibration_check import Agreement
from blindcal.planning.conference_plan import Plan, plan_prepared
from blindcal.planning.expected_errors import ASSUMPTIONS, SELECTED
from blindcal.planning.guarantee_menu import KNOWN, Menu
from blindcal.planning.request import Request
from blindcal.posterior.conference import Level
from blindcal.project.settings import guarantee_of, levels, papers
from blindcal.report.guarantee_survey import survey
from blindcal.report.html_page import Report, page
from blindcal.report.wording import percent, quota_line, shown

# A chair who waits longer than this wants to know it beforehand.
_LONG_SECONDS = 60.0

_COLUMNS = """\
wrong: papers on the wrong side of the bar; benefit kept: share of what full calibration gains over raw;
against evidence: papers decided against their reviewers' scores; author named: chance per review.
All numbers are expected values."""


def plan(
    reviews: ReviewsFile,
    reviewers: ReviewersFile,
    pools: PoolsFile,
    accept_rate: Rate = None,
    accept: Accept = None,
    wait_list: WaitList = None,
    bar: Bar = None,
    grid: Grid = None,
    better: Better = "high",
    guarantee: Name = "steady",
    added_success: Added = 0.0,
    epsilon: Epsilon = None,
    multiplier: Multiplier = None,
    posterior_cap: Cap = None,
    never_against: Never = None,
    conference: ConferenceName = "conference",
    withdrawn: Withdrawn = None,
    key: Annotated[
        Path | None,
        typer.Option(help="Also print the commitment under this key, to publish before the draw."),
    ] = None,
    only: Annotated[
        bool, typer.Option("--only", help="Skip the menu: show only the requested guarantee.")
    ] = False,
    audit: Annotated[
        bool,
        typer.Option(
            "--audit",
            help="Also play adversaries against the planned decisions, on average over what may come out.",
        ),
    ] = False,
    learns: Learns = False,
    coupled: Annotated[
        float | None,
        typer.Option(
            parser=probability,
            metavar="NUMBER",
            help="Lower epsilon until all decisions together are measured to add at most this to the chance "
            "of naming an author, for somebody who knows everybody's load; takes minutes. Needs --loads.",
        ),
    ] = None,
    loads: Annotated[
        Path | None,
        typer.Option(
            help="With --coupled: columns reviewer, load; only numbers that may be public, for they shape "
            "the tables."
        ),
    ] = None,
    yes_leak: Leak = False,
    despite_misfit: Misfit = False,
    processes: Processes = None,
    cluster: ClusterAddress = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Also write all of it as a page to read or print, for the chair alone if scores are "
            "confidential; nothing is overwritten."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what each guarantee would cost this conference, without tossing a coin.

    Prints what the requested guarantee promises, then the menu: for each guarantee the expected share of
    wrong decisions, how much of full calibration's benefit it keeps, how many papers would be decided against
    the evidence, and the chance of naming a review's author. Nothing is decided; every number is an
    expectation over public information.

    Example: blindcal plan reviews.csv --reviewers reviewers.csv --pools pools.csv --accept-rate 0.25
    """
    hidden = (folder := current_folder()) is not None and folder.settings.get("scores") == CONFIDENTIAL
    if out is not None:
        refuse_existing(out)
        if hidden:
            refuse_published(out)
    requested = guarantee_of(
        guarantee, added_success, epsilon, multiplier, posterior_cap, never_against, yes_leak
    )
    _check_coupled(coupled, loads, guarantee)
    if learns and not audit:
        raise InputError("--learns goes with --audit")
    exactly = papers("--accept", accept), papers("--wait-list", wait_list) or 0
    request = Request(requested, conference, accept_rate, bar, better, *exactly).checked()
    with hired(processes, cluster) as workers:
        with loaded(reviews, reviewers, pools, levels(grid), withdrawn=withdrawn) as inputs:
            request = request.on_scale(inputs.scale)
            prepared, truth = request.prepared(inputs, workers=workers, progress=progress)
        held = None
        if coupled is not None and loads is not None:
            held = hold(prepared, requested, read_loads(loads), coupled, workers=workers, progress=progress)
            requested = held.chosen.guarantee
            request = replace(request, guarantee=requested)
        start = monotonic()
        planned = plan_prepared(
            inputs, prepared, request, despite_misfit=despite_misfit, workers=workers, progress=progress
        )
        taken = monotonic() - start
        promise = None if key is None else commit_to(read_key(key), prepared, truth, request)
        if out is None:
            found, choices = None, None if only else planned.menu(workers=workers, progress=progress)
        else:
            found = survey(prepared, requested, better=better, only=only, workers=workers, progress=progress)
            choices = found.menu
        audited = _audited(planned, learns, workers) if audit else None
    facts = _facts(planned, choices, promise, held)
    if found is not None and out is not None:
        made = page(Report(_as_certificate(facts, request), survey=found, confidential=hidden))
        write_bytes(out, made.encode(), confidential=hidden)
    if audited is not None:
        facts["audit"] = facts_of(audited)
    if not as_json:
        if held is not None:
            _say_held(held)
        _print(facts, planned, choices, promise)
        if audited is not None:
            say()
            say_findings(audited)
    for remark in planned.remarks:
        note(remark)
    if taken >= _LONG_SECONDS:
        note(f"deciding takes as long as planning did, {about(taken)}, and verifying too")
    if as_json:
        emit_json(facts)
    elif out is not None:
        say(f"wrote {out}; open it in any browser, or print it from there")
        if hidden:
            say(f"CONFIDENTIAL, never share: {out}")


def _check_coupled(limit: float | None, loads: Path | None, guarantee: str) -> None:
    if (limit is None) != (loads is None):
        raise InputError("--coupled and --loads go together: the true loads are secret before the toss")
    if limit is not None and guarantee == "none":
        raise InputError("--coupled goes with --guarantee steady or average, whose epsilon it lowers")


def _facts(planned: Plan, choices: Menu | None, promise: str | None, held: Held | None) -> dict[str, Any]:
    request = planned.request
    return {
        **stated(planned.summary, request.guarantee),
        "guarantee": request.guarantee,
        "bar": planned.conference.bar,
        "accept": request.accept,
        "wait_list": request.wait_list,
        "better": request.better,
        "calibration_fit": planned.fit.public,
        "price": planned.price,
        "commitment": promise,
        "menu": choices,
        "coupled": held,
        "notes": [],
    }


def _audited(planned: Plan, learns: bool, workers: Workers) -> Findings:
    views = planned_views(planned)
    found = findings_of(views, better=planned.request.better)
    more = learning_findings(views, workers=workers, progress=progress) if learns else []
    return replace(found, findings=(*found.findings, *more))


def _as_certificate(facts: dict[str, Any], request: Request) -> dict[str, Any]:
    """The fields of the certificate that this plan would get, but for those of the toss."""
    limits = {name: value for name, value in vars(request.guarantee).items() if name != "name"}
    exactly = {} if request.quota is None else {"selection": {"accept": request.accept}}
    said = {"conference": request.conference, "guarantee": request.guarantee.name, "limits": limits}
    return {**facts, **said, **exactly, "assumptions": [*ASSUMPTIONS, *(SELECTED if exactly else ())]}


def _print(facts: dict[str, Any], planned: Plan, choices: Menu | None, promise: str | None) -> None:
    request = planned.request
    say(f"{count(facts['papers'], 'paper')}, {count(facts['reviews'], 'review')}; no coin was tossed")
    say(f"{_bar_line(planned.conference.bar)} (quality is N(0,1) over papers)")
    if request.quota is not None:
        say(f"{quota_line(request.quota)}; the bar alone is frozen when papers are decided")
    say(f"better: {request.better} scores")
    say(fit_line(planned.fit))
    say(
        f"requested: {shown(request.guarantee)}. Expected: {percent(facts['expected_wrong'])} of decisions "
        f"wrong, {percent(facts['success'])} of reviewers named "
        f"({percent(facts['success_scores_only'])} from the scores alone)"
    )
    if request.guarantee.spends:
        say(budget_line(facts["added_share_of_full"]))
    if promise is not None:
        say(f"commitment: {promise}")
    if choices is None:
        say_gap(facts["gap"])
        return
    say()
    rows = [
        (
            shown(one.guarantee),
            percent(one.wrong, one.wrong_se),
            percent(one.kept, one.kept_se),
            number(one.against * choices.papers, 1),
            percent(one.success, one.success_se),
        )
        for one in choices.choices
    ]
    rows.insert(0, ("raw decisions by mean score", percent(choices.wrong_raw), "", "", ""))
    table(["guarantee", "wrong", "benefit kept", "papers against evidence", "author named"], rows)
    say(_COLUMNS)
    if choices.weighed < choices.papers:
        say(
            f"The table is estimated from {choices.weighed:,} of {choices.papers:,} papers, chosen by their "
            "ids alone; +- is one standard error."
        )
    if request.quota is not None:
        say("The table is about papers decided one by one; an exact number costs a little more.")
    say()
    say(f"{_at_stake(choices.nothing_at_stake)} {_secret(choices.nothing_secret)}")
    say_gap(choices.gap)


def _say_held(held: Held) -> None:
    """What all decisions together reveal, as measured, at every epsilon that was tried."""
    rows = []
    for one in held.tries:
        found = one.measured
        most = "exact" if found.error == 0.0 else number(100 * found.upper, 2)
        rows.append((shown(one.guarantee), f"{100 * found.added:+z.2f}", most, percent(one.wrong)))
    limit = number(100 * held.limit, 2)
    say(f"all decisions together, for somebody who knows everybody's load; requested: at most {limit} added")
    table(["guarantee", "measured to add", f"{100 * CONFIDENCE:.0f} % upper limit", "wrong"], rows)
    say(
        "in percentage points of reviewers named: measured on average over public information, not guaranteed"
    )
    chosen = held.chosen.guarantee
    if chosen != held.tries[0].guarantee:
        say(f"decide with --epsilon {chosen.epsilon:g}: {percent(held.price)} more of decisions wrong")
    say()


def _bar_line(bar: Level) -> str:
    """The bar, or that of each track.

    >>> _bar_line(0.5), _bar_line({"main": 0.5, "short": 0.75})
    ('bar: quality 0.5', 'bars: quality 0.5 in main, 0.75 in short')
    """
    if not isinstance(bar, Mapping):
        return f"bar: quality {bar:g}"
    return "bars: quality " + ", ".join(f"{height:g} in {track}" for track, height in bar.items())


def _at_stake(papers: int) -> str:
    """The sentence on papers for which all likely reviewers lead to the same decision.

    >>> print(_at_stake(85))
    For 85 papers the decision does not depend on who reviewed them.
    >>> print(_at_stake(0))
    For every paper the decision can depend on who reviewed it.
    """
    if not papers:
        return "For every paper the decision can depend on who reviewed it."
    whom = "it" if papers == 1 else "them"
    return f"For {count(papers, 'paper')} the decision does not depend on who reviewed {whom}."


def _secret(papers: int) -> str:
    """The sentence on papers whose reviewers the scores alone reveal.

    >>> print(_secret(1))
    For 1 paper the scores alone name every author with 95 % certainty, so nothing is left to protect.
    """
    named = f"the scores alone name every author with {100 * KNOWN:.0f} % certainty"
    if not papers:
        return f"For no paper do {named}."
    return f"For {count(papers, 'paper')} {named}, so nothing is left to protect."


def fit_line(fit: Agreement) -> str:
    """What the calibration predicts for all the scores together, and what is there."""
    return (
        f"calibration: {fit.verdict}; predicted mean {fit.predicted_mean:.2f} and standard deviation "
        f"{fit.predicted_sd:.2f}, scores {fit.observed_mean:.2f} and {fit.observed_sd:.2f}"
    )
