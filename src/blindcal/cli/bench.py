"""`blindcal research bench`: where a mechanism lies against the frontier, and beside ours."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from blindcal.benchmark import (
    INSTANCES,
    MECHANISMS,
    SEQUENCES,
    BenchmarkScore,
    Mechanism,
    SequentialMechanism,
    best_guesses,
    instance,
    is_sequence,
    load,
    measure,
)
from blindcal.cli.console import Json, emit_json, number, progress, say, table

_HEADINGS = ("mechanism", "wrong", "wasted", "added", "hinted", "coupled", "wrong then", "rise", "epsilon")


def bench(
    mechanism: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODULE:FUNCTION]",
            help="A function from a belief to a policy, or from an instance and the decisions so far to the "
            "next paper and its policy, in a module of this folder or of Python; none: ours.",
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="INSTANCE",
            help=f"One instance: {'; '.join(INSTANCES)}; or MODULE:FUNCTION, which makes one.",
        ),
    ] = None,
    adversary: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="Who sees all decisions, in place of the one who knows the matching: a function of an "
            "instance and the chances of all decisions under each matching.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure a mechanism on fixed instances, beside ours.

    Instances are two reviewers, papers with pools, matchings and a conference. wrong: share of wrong
    decisions, in percent; wasted: how much of it another policy would save while revealing as much. added:
    percentage points by which naming a reviewer became likelier; hinted: the same for an adversary with a
    hint; coupled: the same for an adversary who knows that a matching couples the papers and sees all
    decisions; wrong then: wrong decisions for someone who knows the matching. rise: the most by which one
    outcome raised a best guess; all decisions together, if they are a sequence. epsilon: that of the worst
    paper.

    The module is imported, so run this on code that you trust.

    Example: blindcal research bench my_module:policy --only "papers, pools of 4"
    """
    chosen = [instance(score) for score in ((only,) if only is not None else INSTANCES)]
    mechanisms: dict[str, Mechanism | SequentialMechanism] = {**MECHANISMS, **SEQUENCES}
    if mechanism is not None:
        mechanisms = {mechanism: load(mechanism), **mechanisms}
    guesses = best_guesses if adversary is None else load(adversary)
    with progress("measuring mechanisms", len(chosen) * len(mechanisms)) as advance:
        scores = []
        for benchmark_instance in chosen:
            for name, function in mechanisms.items():
                if benchmark_instance.assignments is not None or not is_sequence(function):
                    scores.append(measure(function, name, benchmark_instance, guesses))
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
        if (known := mine[0].coupled_before) == known:
            say(f"who knows the matching is right with {number(100 * known, 1)} % from the scores alone")
        table(_HEADINGS, [_row(score) for score in mine])
        say()


def _row(score: BenchmarkScore) -> tuple[str, ...]:
    percents = (score.error, score.wasted, score.added, score.hinted, score.coupled, score.coupled_error)
    shown = ["-" if value != value else number(100 * max(value, 0.0), 2) for value in percents]
    return (score.mechanism, *shown, number(score.rise, 3), number(score.epsilon, 2))
