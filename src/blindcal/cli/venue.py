"""`blindcal research audit-venue`: what the decisions of a venue reveal that decided by calibrated scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from blindcal.adversaries.coupled_exact import read_loads
from blindcal.adversaries.coupled_mcmc import coupled_findings
from blindcal.adversaries.findings import findings_of
from blindcal.adversaries.learned_calibration import learning_findings
from blindcal.adversaries.release_audit import posterior_table, read_venue
from blindcal.adversaries.side_knowledge import author_findings, evidence_findings, prior_findings
from blindcal.cells import count
from blindcal.cli.audit import Evidence, Learns, Priors, facts_of, say_findings
from blindcal.cli.console import Json, emit_json, note, number, progress, say
from blindcal.cli.options import Processes, decimal, hired, numeric, word
from blindcal.io.atomic_files import check_targets, refuse_published, write_json, write_table
from blindcal.project.settings import parse_grid
from blindcal.project.workflow import prior_of
from blindcal.reviews import BETTER

_FULL = ("full",)
PoolsFile = Annotated[
    Path,
    typer.Option(
        help="Who may have reviewed each paper: columns paper, reviewer, optionally probability. Or sampled "
        "assignments: draw, paper, reviewer. Or conflicts, if everyone else is a candidate: paper, conflict. "
        "Or the word everyone."
    ),
]
Bar = Annotated[
    float | None,
    numeric(decimal, "The acceptance bar, as a quality (N(0,1) over papers)."),
]
Better = Annotated[
    str,
    word(BETTER, "Which scores are better, high or low; public data cannot show it."),
]
Grid = Annotated[
    str | None,
    typer.Option(
        help="The scores reviewers can give: 1..10, or a list such as 1,3,5, or none if any number can be "
        "given. Unless given, they are recognized in the scores."
    ),
]


def audit_venue(
    decisions: Annotated[
        Path, typer.Argument(help="What the venue decided: columns paper, decision (accept or reject).")
    ],
    scores: Annotated[
        Path,
        typer.Option(help="The scores it published: columns paper, score; one row per review, in any order."),
    ],
    reviewers: Annotated[
        Path,
        typer.Option(help="The calibrations it used: columns reviewer, slope, offset, noise, as for plan."),
    ],
    pools: PoolsFile,
    bar: Bar = None,
    grid: Grid = None,
    better: Better = "high",
    prior: Priors = None,
    evidence: Evidence = None,
    loads: Annotated[
        Path | None,
        typer.Option(
            help="Also an adversary that knows how many reviews everybody wrote: columns reviewer, load."
        ),
    ] = None,
    learns: Learns = False,
    processes: Processes = None,
    posterior: Annotated[
        Path | None,
        typer.Option(
            help="Also write how likely each candidate wrote each review, to a table that only its owner can "
            "read. It names people: for whoever answers for the reviews, and nobody else."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Also write everything as JSON to this file, which only its owner can read."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what the decisions of a venue without protection reveal.

    The venue decided by calibrated scores. The command needs only what such a venue may have published:
    decisions, scores and a table of calibrations, but no key and no true reviewers. It assumes that a paper
    was accepted if its calibrated reviewers say that it is more likely above the bar than below. Without
    --bar, the bar is the one at which as many papers are accepted on average as were.

    Example: blindcal research audit-venue decisions.csv --scores scores.csv --reviewers reviewers.csv --pools
    pools.csv
    """
    check_targets(out, posterior)
    for file in (out, posterior):
        if file is not None:
            refuse_published(file)
    venue = read_venue(decisions, scores, reviewers, pools, bar=bar, grid=parse_grid(grid), better=better)
    views = venue.views
    with hired(processes, None) as workers:
        findings = [
            *(finding for name in prior or () for finding in prior_findings(views, prior_of(name), _FULL)),
            *(
                finding
                for strength in evidence or ()
                for finding in evidence_findings(views, strength, _FULL)
            ),
            *author_findings(views, _FULL),
        ]
        if loads is not None:
            findings += coupled_findings(views, read_loads(loads), _FULL, workers=workers, progress=progress)
        if learns:
            findings += learning_findings(views, _FULL, workers=workers, progress=progress)
    summary = findings_of(views, _FULL, better=better)
    summary = replace(summary, findings=(*summary.findings, *findings))
    facts = facts_of(
        summary,
        bar=venue.bar,
        accepted=venue.accepted,
        better=better,
        unexplained=len(venue.unexplained),
        confidential=True,
        notes=[],
    )
    if out is not None:
        write_json(out, facts, confidential=True)
    if posterior is not None:
        write_table(posterior, posterior_table(views, better=better), confidential=True)
    if venue.unexplained:
        note(
            f"for {count(len(venue.unexplained), 'paper')} no candidates lead to the decision that was "
            "published, which then says nothing: are bar, calibration and pools those of the venue?"
        )
    if as_json:
        emit_json(facts)
        return
    say(f"{count(venue.accepted, 'paper')} accepted; taken to be decided at a bar of {number(venue.bar, 3)}")
    say_findings(summary)
    for file in (out, posterior):
        if file is not None:
            say(f"wrote {file} (CONFIDENTIAL, never share)")
