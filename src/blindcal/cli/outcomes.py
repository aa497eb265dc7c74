"""`blindcal research outcomes`: the best private choice among several outcomes, with an exact certificate."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from blindcal.cells import Column
from blindcal.certify.multi_outcome import OutcomeClaim, certify_outcomes
from blindcal.cli.console import Json, emit_json, say, table
from blindcal.cli.options import decimal, numeric, probability, word
from blindcal.errors import InputError
from blindcal.io.atomic_files import read_table
from blindcal.policy.guarantee import NAMES, Guarantee
from blindcal.policy.multi_outcome import least_loss

_CLAIMS = {
    "success_scores_only": "chance of naming the reviewer from the scores",
    "success": "chance of naming the reviewer, with the outcome",
    "largest_posterior": "largest posterior after any outcome",
    "multiplier": "multiplier: a correct guess becomes at most this many times likelier",
    "epsilon": "epsilon: odds change by at most e^",
}


def outcomes(
    losses: Annotated[
        Path,
        typer.Argument(
            help="Columns reviewer, weight (how likely this reviewer is, given the scores), and one for each "
            "outcome: what it costs if the calibration of this reviewer is right."
        ),
    ],
    names: Annotated[str, typer.Option("--outcomes", metavar="NAME,NAME,...", help="The outcomes' columns.")],
    guarantee: Annotated[str, word(NAMES, f"One of {', '.join(NAMES)}.")] = "steady",
    epsilon: Annotated[
        float | None,
        numeric(
            decimal,
            "No outcome changes the odds between two reviewers by more than e^EPSILON.  [default: none]",
        ),
    ] = None,
    added_success: Annotated[
        float, numeric(probability, "With average: how much likelier a correct guess may become.")
    ] = 0.0,
    as_json: Json = False,
) -> None:
    """Find and certify the best private choice among several outcomes.

    Minimizes the expected loss of one paper under a guarantee, then puts the chances on exact fractions that
    keep it. The JSON has these fractions.

    Example: blindcal research outcomes losses.csv --outcomes oral,poster,rejected --guarantee average
    """
    labels = names.split(",")
    if len({*labels, "reviewer", "weight"}) < len(labels) + 2 or len(labels) < 2:
        raise InputError(f"--outcomes must be two or more different columns, found {names!r}")
    columns = [Column("reviewer", "id"), Column("weight", "number", low=0.0, high=1.0)]
    rows = read_table(losses, [*columns, *(Column(label, "number") for label in labels)])
    weight, loss = rows.number("weight"), np.stack([rows.number(label) for label in labels], axis=-1)
    limits = Guarantee(guarantee, added_success, epsilon)
    chance, claim = certify_outcomes(weight, least_loss(weight, loss, guarantee=limits).chance, limits)
    expected = float((weight[:, None] * loss * np.array(chance, dtype=np.float64)).sum())
    if as_json:
        emit_json(_report(rows.text("reviewer"), labels, chance, claim, expected))
        return
    table(
        ("reviewer", "weight", *labels),
        list(zip(rows.text("reviewer"), weight.tolist(), *_columns(chance), strict=True)),
    )
    say()
    claims = [(text, float(getattr(claim, name))) for name, text in _CLAIMS.items()]
    table(("certified", ""), [("expected loss", expected), *claims])


def _columns(chance: tuple[tuple[Fraction, ...], ...]) -> list[list[float]]:
    return [[float(value) for value in column] for column in zip(*chance, strict=True)]


def _report(
    reviewers: tuple[str, ...],
    labels: list[str],
    chance: tuple[tuple[Fraction, ...], ...],
    claim: OutcomeClaim,
    expected: float,
) -> dict[str, object]:
    by_reviewer = {
        reviewer: dict(zip(labels, map(str, row), strict=True))
        for reviewer, row in zip(reviewers, chance, strict=True)
    }
    claims = {name: float(getattr(claim, name)) for name in _CLAIMS}
    return {"chance": by_reviewer, "loss": expected, "claim": claims}
