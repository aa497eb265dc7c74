"""`blindcal plan`: everything but the toss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Annotated, Any

import typer

from blindcal.adversaries.findings import Findings, findings_of
from blindcal.adversaries.learned_calibration import learning_findings
from blindcal.adversaries.release_audit import planned_views
from blindcal.cells import count
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
from blindcal.cli.folders import FolderPath, Leak, Misfit, say_next
from blindcal.cli.options import ClusterAddress, Processes, hired, one_of
from blindcal.compute.parallel import Workers
from blindcal.deciding.certificate_file import stated
from blindcal.deciding.coins import commitment_to_input, read_key
from blindcal.deciding.ledger import CONFIDENTIAL
from blindcal.errors import InputError
from blindcal.io.atomic_files import refuse_existing, refuse_published, write_bytes
from blindcal.planning.calibration_check import CalibrationCheck
from blindcal.planning.conference_plan import Plan, plan_prepared
from blindcal.planning.expected_errors import ASSUMPTIONS, SELECTED
from blindcal.planning.guarantee_menu import KNOWN, Menu, menu, menu_steps
from blindcal.planning.request import Request
from blindcal.policy.guarantee import NAMES, Guarantee
from blindcal.posterior.conference import LevelByTrack
from blindcal.project.settings import parse_guarantee
from blindcal.project.workflow import folder_inputs, opened, settings_of
from blindcal.report.guarantee_survey import survey
from blindcal.report.html_page import Report, page
from blindcal.report.wording import guarantee_words, percent, quota_line

# A chair who waits longer than this wants to know it beforehand.
_LONG_SECONDS = 60.0

_COLUMNS = """\
wrong: papers on the wrong side of the bar; benefit kept: share of what full calibration gains over raw;
against evidence: papers decided against their reviewers' scores; author named: chance per review.
All numbers are expected values."""


def plan(
    path: FolderPath,
    guarantee: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="What if: plan this guarantee instead of the folder's, like public, or 'steady epsilon=1'. "
            "Repeatable: the first is planned, and all of them are compared.",
            autocompletion=one_of(NAMES),
        ),
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
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also print the commitment under this key, to publish before the draw."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write all of it as a page to read or print, for the chair alone if scores are "
            "confidential; nothing is overwritten.",
        ),
    ] = None,
    yes_leak: Leak = False,
    despite_misfit: Misfit = False,
    processes: Processes = None,
    cluster: ClusterAddress = None,
    as_json: Json = False,
) -> None:
    """Show what each guarantee would cost this conference, without tossing a coin.

    Prints what the requested guarantee promises, then the menu: for each guarantee the expected share of
    wrong decisions, how much of full calibration's benefit it keeps, how many papers would be decided against
    the evidence, and the chance of naming a review's author. Nothing is decided; every number is an
    expectation over public information.

    Example: blindcal plan icx2027 --guarantee 'average added-success=0.01'
    """
    if learns and not audit:
        raise InputError("--learns goes with --audit")
    candidates = [_guarantee(text, yes_leak) for text in guarantee or ()]
    if out is not None and len(candidates) > 1:
        raise InputError("--out goes with one --guarantee: its page has the menu")
    folder = opened(path)
    hidden = folder.settings.get("scores") == CONFIDENTIAL
    if out is not None:
        refuse_existing(out)
        if hidden:
            refuse_published(out)
    settings = settings_of(folder, yes_leak=yes_leak or bool(candidates))
    request = settings.request
    if candidates:
        request = replace(request, guarantee=candidates[0])
    with hired(processes, cluster) as workers:
        with folder_inputs(folder, settings.grid, settings.out) as inputs:
            request = request.on_scale(inputs.scale)
            prepared, truth = request.prepared(inputs, workers=workers, progress=progress)
        start = monotonic()
        planned = plan_prepared(
            inputs, prepared, request, despite_misfit=despite_misfit, workers=workers, progress=progress
        )
        taken = monotonic() - start
        promise = None if key is None else commitment_to_input(read_key(key), prepared, truth, request)
        if out is not None:
            surveyed = survey(
                prepared,
                request.guarantee,
                better=request.better,
                only=only,
                workers=workers,
                progress=progress,
            )
            choices = surveyed.menu
        else:
            surveyed, choices = None, None if only else _menu(planned, candidates, workers)
        audited = _audited(planned, learns, workers) if audit else None
    facts = _facts(planned, choices, promise)
    if surveyed is not None and out is not None:
        made = page(Report(_as_certificate(facts, request), survey=surveyed, confidential=hidden))
        write_bytes(out, made.encode(), confidential=hidden)
    if audited is not None:
        facts["audit"] = facts_of(audited)
    if not as_json:
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
        return
    if out is not None:
        say(f"wrote {out}; open it in any browser, or print it from there")
        if hidden:
            say(f"CONFIDENTIAL, never share: {out}")
    say_next("plan", folder)


def _guarantee(text: str, yes_leak: bool) -> Guarantee:
    """The guarantee that a text names, with its limits; `none` needs consent.

    >>> _guarantee("steady epsilon=1", False).epsilon
    1.0
    """
    guarantee = parse_guarantee(text)
    if guarantee.name == "none" and not yes_leak:
        raise InputError(
            "--guarantee none lets every decision reveal who reviewed the paper: it needs --yes-leak"
        )
    return guarantee


def _menu(planned: Plan, candidates: Sequence[Guarantee], workers: Workers) -> Menu:
    """What each guarantee of the menu would cost, or each of several candidates."""
    if len(candidates) < 2:
        return planned.menu(workers=workers, progress=progress)
    steps = menu_steps(planned.conference, candidates)
    with progress(f"comparing {len(candidates)} guarantees", steps) as advance:
        return menu(planned.conference, candidates, workers=workers, advance=advance)


def _facts(planned: Plan, choices: Menu | None, promise: str | None) -> dict[str, Any]:
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
        "notes": [],
    }


def _audited(planned: Plan, learns: bool, workers: Workers) -> Findings:
    views = planned_views(planned)
    findings = findings_of(views, better=planned.request.better)
    more = learning_findings(views, workers=workers, progress=progress) if learns else []
    return replace(findings, findings=(*findings.findings, *more))


def _as_certificate(facts: dict[str, Any], request: Request) -> dict[str, Any]:
    """The fields of the certificate that this plan would get, but for those of the toss."""
    limits = {name: value for name, value in vars(request.guarantee).items() if name != "name"}
    exactly = {} if request.quota is None else {"selection": {"accept": request.accept}}
    requested = {"conference": request.conference, "guarantee": request.guarantee.name, "limits": limits}
    return {**facts, **requested, **exactly, "assumptions": [*ASSUMPTIONS, *(SELECTED if exactly else ())]}


def _print(facts: dict[str, Any], planned: Plan, choices: Menu | None, promise: str | None) -> None:
    request = planned.request
    say(f"{count(facts['papers'], 'paper')}, {count(facts['reviews'], 'review')}; no coin was tossed")
    say(f"{_bar_line(planned.conference.bar)} (quality is N(0,1) over papers)")
    if request.quota is not None:
        say(f"{quota_line(request.quota)}; the bar alone is frozen when papers are decided")
    say(f"better: {request.better} scores")
    say(fit_line(planned.fit))
    say(
        f"requested: {guarantee_words(request.guarantee)}. Expected: {percent(facts['expected_wrong'])} of "
        f"decisions wrong, {percent(facts['success'])} of reviewers named "
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
            guarantee_words(choice.guarantee),
            percent(choice.wrong, choice.wrong_se),
            percent(choice.kept, choice.kept_se),
            number(choice.against * choices.papers, 1),
            percent(choice.success, choice.success_se),
        )
        for choice in choices.choices
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


def _bar_line(bar: LevelByTrack) -> str:
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


def fit_line(fit: CalibrationCheck) -> str:
    """What the calibration predicts for all the scores together, and what is there."""
    return (
        f"calibration: {fit.verdict}; predicted mean {fit.predicted_mean:.2f} and standard deviation "
        f"{fit.predicted_sd:.2f}, scores {fit.observed_mean:.2f} and {fit.observed_sd:.2f}"
    )
