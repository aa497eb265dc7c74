"""`blindcal check`: read a table of reviews and say what is in it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from blindcal.cells import number_text
from blindcal.cli.arguments import decimals
from blindcal.cli.console import Json, emit_json, table
from blindcal.reviews import Reviews


def check(
    reviews: Annotated[Path, typer.Argument(help="Table with the columns paper, reviewer, score.")],
    grid: Annotated[
        str | None, typer.Option(help="The scores that can be given, such as 1,3,5,6,8,10.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Read a table of reviews and say what is in it, or everything that is wrong with it.

    Prints counts only: no paper or reviewer is named.

    Example: blindcal check reviews.csv --grid 1,2,3,4,5
    """
    read = Reviews.read(reviews, grid=None if grid is None else decimals("--grid", grid))
    facts = _facts(read)
    if as_json:
        emit_json(facts)
    else:
        table(("", ""), [(name.replace("_", " "), _shown(value)) for name, value in facts.items()])


def _facts(reviews: Reviews) -> dict[str, object]:
    by_paper, by_reviewer = np.bincount(reviews.paper), np.bincount(reviews.reviewer)
    return {
        "reviews": len(reviews),
        "papers": len(reviews.papers),
        "reviewers": len(reviews.reviewers),
        "conferences": max(1, len(reviews.conferences)),
        "reviews_a_paper": [int(by_paper.min()), int(by_paper.max())],
        "reviewers_with_one_review": int((by_reviewer == 1).sum()),
        "connected_parts": reviews.components.count,
        "lowest_and_highest_score": [reviews.score.min(), reviews.score.max()],
        "grid": None if reviews.grid is None else reviews.grid,
        "grid_declared": reviews.grid_declared,
    }


def _shown(value: object) -> str:
    if value is None:
        return "none: scores look continuous"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | np.ndarray):
        return " ".join(number_text(float(item)) for item in value)
    return f"{value:,}"
