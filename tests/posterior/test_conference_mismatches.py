"""Files that do not fit together: what is said, that it is said at once, and that it names nobody."""

from __future__ import annotations

import pytest

from blindcal.errors import InputError
from blindcal.posterior.conference import Sources, prepare
from blindcal.reviews import Reviews
from random_cases import row_of

_ANYBODY = {"*": row_of(1, 0, 1)}
_SWAPPED = [("canary-b", "p2", 1.0), ("canary-a", "p1", 2.0), ("canary-c", "p1", 1.0)]


def _reviews(rows, tracks: dict[str, str] | None = None) -> Reviews:
    paper, reviewer, score = zip(*rows, strict=True)
    more = {} if tracks is None else {"track": [tracks[one] for one in paper]}
    return Reviews.from_table({"paper": paper, "reviewer": reviewer, "score": score, **more})


def test_every_problem_is_listed_at_once_and_no_reviewer_named():
    parameters = {"canary-a": row_of(1, 0, 0.5), "canary-b": row_of(1, 0, 0.5)}
    rows = [("p", "canary-a", 1.0), ("p", "canary-b", 2.0), ("q", "canary-z", 1.0), ("r", "canary-a", 0.0)]
    pools = {"p": {"canary-a": 1.0, "canary-b": 0.0}, "q": {"canary-a": 1.0, "canary-c": 1.0}}
    with pytest.raises(InputError) as caught:
        prepare(_reviews(rows), parameters, pools, accept_rate=0.5)
    text = str(caught.value)
    for part in (
        "above 0 for every reviewer of a paper",
        "limitations.md), found 1 with 0 for paper 'p'",
        "at least as many candidates as the paper has reviews, found 1 candidate for paper 'p'",
        "(each must also be in the paper's pool), found 1 without a row for paper 'q'",
        "a pool for a paper that has reviews, found none for paper 'r'",
        "row for every candidate",
    ):
        assert part in text
    assert "canary" not in text


@pytest.mark.parametrize(
    ("rows", "pools", "why"),
    [
        (_SWAPPED, {"p1": {"canary-a": 1.0, "canary-c": 1.0}, "p2": {"canary-b": 1.0}}, "look swapped"),
        (_SWAPPED, {"p1": {"canary-x": 1.0}}, "no paper is in both files: are the ids spelled differently?"),
        ([("P-1", "canary-a", 1.0)], {"p1": {"canary-a": 1.0}}, "are the ids spelled differently?"),
    ],
)
def test_where_no_paper_has_a_pool_that_is_said_once_and_no_id_shown(rows, pools, why: str):
    with pytest.raises(InputError) as caught:
        prepare(_reviews(rows), _ANYBODY, pools, bar=0.0)
    (line,) = str(caught.value).splitlines()
    assert why in line
    assert not any(one[0] in line for one in rows)


def test_an_id_that_is_also_a_persons_is_not_shown_and_rows_are_in_the_order_of_the_file():
    """Swapped columns, and one id that both files happen to share."""
    rows = [("p1", "canary-a", 1.0), *_SWAPPED]
    pools = {"p1": {"canary-a": 1.0, "canary-b": 1.0, "canary-c": 1.0}}
    sources = Sources("reviews.csv", "reviewers.csv", "nowhere.csv")
    with pytest.raises(InputError) as caught:
        prepare(_reviews(rows), _ANYBODY, pools, bar=0.0, sources=sources)
    found = [line.split("found ")[1] for line in str(caught.value).splitlines()]
    assert found == [f"none for a paper (reviews.csv, row {row})" for row in (1, 2, 3)]


def test_reviewers_of_another_kind_of_id_are_said_once():
    """Emails in the reviews, names in the other files."""
    names = {"Ada": row_of(1, 0, 1), "Eva": row_of(1, 0, 1)}
    rows = [(paper, f"{who}@canary", 1.0) for paper in "pqr" for who in "xy"]
    pools = {paper: dict.fromkeys(names, 1.0) for paper in "pqr"}
    with pytest.raises(InputError) as caught:
        prepare(_reviews(rows), names, pools, bar=0.0)
    (line,) = str(caught.value).splitlines()
    assert line.endswith("found none of the reviewers of reviews: emails in one file and names in the other?")
    assert len(caught.value.confidential) == 6


def test_columns_swapped_in_the_pools_are_told_too():
    names = {name: row_of(1, 0, 1) for name in ("canary-a", "canary-b")}
    rows = [("p1", "canary-a", 1.0), ("p2", "canary-b", 2.0)]
    for pools, why in (
        ({"canary-a": {"p1": 1.0, "p2": 1.0}, "canary-b": {"p2": 1.0}}, "look swapped in one of them"),
        ({}, "are the ids spelled differently?"),
    ):
        with pytest.raises(InputError) as caught:
            prepare(_reviews(rows), names, pools, bar=0.0)
        assert str(caught.value).splitlines()[0].endswith(why)
        assert "canary" not in str(caught.value)


def test_swapped_columns_are_told_from_another_kind_of_id():
    """Everyone is a candidate for everything, so that people, too, have pools."""
    names = {name: row_of(1, 0, 1) for name in ("canary-a", "canary-b", "canary-c")}
    pools = {name: dict.fromkeys(names, 1.0) for name in names}
    with pytest.raises(InputError) as caught:
        prepare(_reviews(_SWAPPED), names, pools, bar=0.0)
    (line,) = str(caught.value).splitlines()
    assert line.endswith("reviewers of reviews: the columns paper and reviewer look swapped there")
    assert "canary" not in line
