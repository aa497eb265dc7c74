"""`blindcal check`: read a table of reviews and say what is in it."""

from __future__ import annotations

import numpy as np

from blindcal.cells import number_text
from blindcal.cli.console import Json, emit_json, table
from blindcal.cli.inputs import Better, Grid, ReviewsFile, levels
from blindcal.orientations import known_end
from blindcal.reviews import Reviews


def check(reviews: ReviewsFile, grid: Grid = None, better: Better = "high", as_json: Json = False) -> None:
    """Read a table of reviews and say what is in it, or everything that is wrong with it.

    Prints counts only: no paper or reviewer is named.

    Example: blindcal check reviews.csv --grid 1..10
    """
    read = Reviews.read(reviews, grid=levels(grid))
    facts = {**_facts(read), "better": known_end(better)}
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
        "grid": reviews.grid,
        "grid_declared": reviews.grid_declared,
    }


def _shown(value: object) -> str:
    if value is None:
        return "none: scores look continuous"
    if isinstance(value, str):
        return f"{value} scores, as --better says"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | np.ndarray):
        return " ".join(number_text(float(item)) for item in value)
    return f"{value:,}"
