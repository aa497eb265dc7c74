"""`blindcal check`: read a table of reviews and say what is in it."""

from __future__ import annotations

import numpy as np

from blindcal.cells import number_text
from blindcal.cli.console import CONFIDENTIAL, Json, emit_json, note, say, table
from blindcal.cli.folders import calibrated, current_folder
from blindcal.cli.inputs import Better, Grid, ReviewsFile, Withdrawn
from blindcal.fitting.committee import read_committee
from blindcal.project.create import INPUTS
from blindcal.project.outsiders import refused_in, unlisted_remarks
from blindcal.project.settings import levels
from blindcal.reviews import Reviews, absent_remarks, known_end, twin_remarks

_LABELS = {"reviews_a_paper": "reviews per paper"}
_BETTER = {
    "high": "high scores (--better low if low scores are better)",
    "low": "low scores, as --better says",
}


def check(
    reviews: ReviewsFile,
    grid: Grid = None,
    better: Better = "high",
    withdrawn: Withdrawn = None,
    as_json: Json = False,
) -> None:
    """Read a table of reviews and report what it holds, or all that is wrong with it.

    Prints counts only: no reviewer is named, and no paper but one withdrawn that has no review. Some counts
    depend on who reviewed what, so they are CONFIDENTIAL.

    Example: blindcal check reviews.csv --grid 1..10
    """
    whole = Reviews.read(reviews, grid=levels(grid))
    read = whole.without(withdrawn or ())
    facts = {**_facts(read), "better": known_end(better)}
    for remark in absent_remarks(whole, withdrawn or (), str(reviews)):
        note(remark)
    for remark in twin_remarks(read, str(reviews)):
        note(remark)
    for remark in _refused(read, str(reviews)):
        note(remark)
    if as_json:
        emit_json({**facts, "warning": CONFIDENTIAL})
    else:
        say(CONFIDENTIAL)
        shown = {**facts, "grid": _grid(read), "better": _BETTER[better]}
        table(("", ""), [(_LABELS.get(name, name.replace("_", " ")), _shown(v)) for name, v in shown.items()])


def _refused(reviews: Reviews, file: str) -> list[str]:
    """What `plan` would refuse in a conference's folder; before there is a calibration, whether it has
    reviewers who are not on its committee."""
    folder = current_folder()
    if folder is None:
        return []
    if calibrated(folder):
        refused = refused_in(folder)
        return [] if refused is None else str(refused).split("\n")
    if "committee" not in folder.settings:
        return []
    committee = read_committee(str(folder.settings["committee"]))
    return unlisted_remarks(reviews, committee, file, folder.path / INPUTS)


def _facts(reviews: Reviews) -> dict[str, object]:
    by_paper, by_reviewer = np.bincount(reviews.paper), np.bincount(reviews.reviewer)
    return {
        "reviews": len(reviews),
        "papers": len(reviews.papers),
        "reviewers": len(reviews.reviewers),
        "conferences": 1 if reviews.conference is None else len(np.unique(reviews.conference)),
        "reviews_a_paper": [int(by_paper.min()), int(by_paper.max())],
        "reviewers_with_one_review": int((by_reviewer == 1).sum()),
        "connected_parts": reviews.components.count,
        "lowest_and_highest_score": [reviews.score.min(), reviews.score.max()],
        "grid": reviews.grid,
        "grid_declared": reviews.grid_declared,
    }


def _grid(reviews: Reviews) -> str:
    """The scores that can be given, as far as these tell."""
    if not reviews.grid_declared and len(given := np.unique(reviews.score)) == 1:
        return f"all scores are {number_text(float(given[0]))}"
    if reviews.grid is not None:
        return _shown(reviews.grid)
    return "none: any number can be given" if reviews.grid_declared else "none: scores look continuous"


def _shown(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " to ".join(number_text(float(end)) for end in dict.fromkeys(value))
    if isinstance(value, np.ndarray):
        return " ".join(number_text(float(item)) for item in value)
    return f"{value:,}"
