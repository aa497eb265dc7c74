"""`blindcal research bench`: where a mechanism lies against the frontier, and beside ours."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from blindcal.benchmark import INSTANCES, MECHANISMS, BenchmarkScore, instance, load, measure
from blindcal.cli.console import Json, emit_json, number, progress, say, table

_HEADINGS = ("mechanism", "wrong", "wasted", "added", "hinted", "coupled", "rise", "epsilon")


def bench(
    mechanism: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODULE:FUNCTION]",
            help="A function from a belief to a policy, in a module of this folder or of Python; none: ours.",
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(metavar="INSTANCE", help=f"One instance: {'; '.join(INSTANCES)}."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure a mechanism on fixed instances, beside ours.

    Instances are two reviewers, papers with pools, matchings and a conference. wrong: share of wrong
    decisions, in percent; wasted: how much of it another policy would save while revealing as much. added:
    percentage points by which naming a reviewer became likelier; hinted: the same for an adversary with a
    hint; coupled: the same for an adversary who knows that a matching couples the papers. rise: the most by
    which one outcome raised a best guess. epsilon: that of the worst paper.

    The module is imported, so run this on code that you trust.

    Example: blindcal research bench my_module:policy --only "papers, pools of 4"
    """
    chosen = [instance(score) for score in ((only,) if only is not None else INSTANCES)]
    mechanisms = dict(MECHANISMS) if mechanism is None else {mechanism: load(mechanism), **MECHANISMS}
    with progress("measuring mechanisms", len(chosen) * len(mechanisms)) as advance:
        scores = []
        for benchmark_instance in chosen:
            for name, function in mechanisms.items():
                scores.append(measure(function, name, benchmark_instance))
                advance(1)
    if as_json:
        emit_json(
            {"scores": [asdict(score) | {"added": score.added, "wasted": score.wasted} for score in scores]}
        )
        return
    for benchmark_instance in chosen:
        mine = [score for score in scores if score.instance == benchmark_instance.name]
        before = number(100 * mine[0].scores_only, 1)
        say(f"{benchmark_instance.name}: a reviewer is named from the scores alone with {before} %")
        table(_HEADINGS, [_row(score) for score in mine])
        say()


def _row(score: BenchmarkScore) -> tuple[str, ...]:
    percents = (score.error, score.wasted, score.added, score.hinted, score.coupled)
    shown = ["-" if value != value else number(100 * max(value, 0.0), 2) for value in percents]
    return (score.mechanism, *shown, number(score.rise, 3), number(score.epsilon, 2))
