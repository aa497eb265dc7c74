"""Conferences put together: the bar, raw decisions, and bad input."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest

from blindcal.errors import InputError
from blindcal.posterior.conference import Conference, Sources, prepare, read_reviewers, true_reviewers
from blindcal.posterior.paper import secret_of
from blindcal.reviews import Reviews
from random_cases import row_of


def conference_reviews(rng: np.random.Generator, papers: int = 30, people: int = 15, reviews: int = 3):
    """A simulated conference: reviews, parameters, pools."""
    slope, offset = np.exp(rng.normal(0, 0.4, people)), rng.normal(0, 0.7, people)
    rows, pools = [], {}
    for i in range(papers):
        quality, pool = rng.normal(), rng.choice(people, 6, replace=False)
        pools[f"p{i:02d}"] = {f"r{j:02d}": float(rng.uniform(0.2, 0.9)) for j in sorted(pool)}
        rows += [
            (f"p{i:02d}", f"r{j:02d}", round(slope[j] * quality + offset[j] + 0.5 * rng.normal(), 2))
            for j in pool[:reviews]
        ]
    parameters = {f"r{j:02d}": row_of(float(slope[j]), float(offset[j]), 0.5) for j in range(people)}
    return rows, parameters, pools


def _reviews(rows, tracks: dict[str, str] | None = None) -> Reviews:
    paper, reviewer, score = zip(*rows, strict=True)
    more = {} if tracks is None else {"track": [tracks[one] for one in paper]}
    return Reviews.from_table({"paper": paper, "reviewer": reviewer, "score": score, **more})


def test_raw_decisions_are_the_top_share_by_mean_score_and_ties_are_ties():
    """Half of the two tied papers fits: neither their ids nor rounding decides between them."""
    rows = [("a", "x", 1.0), ("b", "x", 3.0), ("e", "x", 0.0)]
    rows += [("c", "x", 1.1), ("c", "y", 2.2), ("d", "x", 1.6), ("d", "y", 1.7)]
    assert 1.1 + 2.2 != 1.6 + 1.7
    for rate, expected in ((0.4, [0, 1, 0.5, 0.5, 0]), (0.6, [0, 1, 1, 1, 0]), (0.05, [0] * 5)):
        conference = _five(rows, rate)
        assert conference.raw_accept == tuple(expected)
    renamed = [({"c": "d", "d": "c"}.get(paper, paper), who, score) for paper, who, score in rows]
    assert _five(renamed, 0.4).raw_accept == _five(rows, 0.4).raw_accept


def test_each_track_is_prepared_as_a_conference_of_its_own():
    """Its bar and raw decisions; the order of the papers is that of them all, and a given bar stays."""
    rows, parameters, pools = conference_reviews(np.random.default_rng(5))
    tracks = {paper: ("main", "short", "main")[int(paper[1:]) % 3] for paper in pools}
    both = _reviews(rows, tracks)
    conference = prepare(both, parameters, pools, accept_rate={"main": 0.3, "short": 0.6})
    assert [case.paper for case in conference.cases] == sorted(pools)
    assert {case.paper: case.track for case in conference.cases} == tracks
    found = dict(zip(conference.cases, conference.raw_accept, strict=True))
    for track, rate in (("main", 0.3), ("short", 0.6)):
        mine = [row for row in rows if tracks[row[0]] == track]
        alone = prepare(_reviews(mine), parameters, pools, accept_rate=rate)
        assert conference.bar[track] == alone.bar
        parts = [(case, raw) for case, raw in found.items() if case.track == track]
        assert tuple(replace(case, track="") for case, _ in parts) == alone.cases
        assert tuple(raw for _, raw in parts) == alone.raw_accept
    again = prepare(both, parameters, pools, bar={**conference.bar, "demo": 0.75})
    assert (again.cases, again.bar) == (conference.cases, {**conference.bar, "demo": 0.75})
    whole = prepare(both, parameters, pools, accept_rate=0.3)
    assert whole == prepare(_reviews(rows), parameters, pools, accept_rate=0.3)


def test_a_paper_in_no_track_that_has_a_bar_is_refused():
    rows, parameters, pools = conference_reviews(np.random.default_rng(5), papers=5)
    tracks = {"p00": "main", "p01": "main", "p02": "demo", "p03": "demo", "p04": ""}
    with pytest.raises(InputError) as caught:
        prepare(_reviews(rows, tracks), parameters, pools, bar={"main": 0.3})
    assert [(p.column, p.found) for p in caught.value.problems] == [
        ("track", "another one for 2 papers"),
        ("track", "none for 1 paper"),
    ]
    with pytest.raises(InputError, match="none for 5 papers"):
        prepare(_reviews(rows), parameters, pools, bar={"main": 0.3})
    for bad in ({"main": 1.0}, {"main": 0.0}):
        with pytest.raises(InputError, match="accept rate must be between 0 and 1"):
            prepare(_reviews(rows, dict.fromkeys(pools, "main")), parameters, pools, accept_rate=bad)


def _five(rows, rate: float) -> Conference:
    pools = {paper: {"x": 1.0, "y": 1.0} for paper in "abcde"}
    return prepare(
        _reviews(rows), {"x": row_of(1, 0, 0.5), "y": row_of(1, 0.2, 0.5)}, pools, accept_rate=rate
    )


def test_the_public_side_is_the_same_for_every_true_assignment():
    pools = {"p": {"a": 0.9, "b": 0.5, "c": 0.6}, "q": {"b": 1.0, "c": 1.0, "d": 1.0}}
    parameters = {name: row_of(1 + 0.1 * i, 0.2 * i, 0.5) for i, name in enumerate("abcd")}
    seen = set()
    for first, second in product(permutations("abc", 2), permutations("bcd", 2)):
        rows = [("p", first[0], 0.5), ("p", first[1], 1.5), ("q", second[0], 0.0), ("q", second[1], 0.0)]
        conference = prepare(_reviews(rows), parameters, pools, accept_rate=0.5)
        belief = b"".join(c.belief.weight.tobytes() + c.belief.favor.tobytes() for c in conference.cases)
        seen.add((conference, belief))
        truth = true_reviewers(conference, _reviews(rows))
        case = conference.cases[0]
        named = [case.candidates[j] for j in case.tuples[secret_of(case, truth["p"])]]
        assert named == list(first)
        assert truth["q"] == tuple(sorted(second))
    assert len(seen) == 1


def test_row_order_does_not_matter():
    rng = np.random.default_rng(9)
    rows, parameters, pools = conference_reviews(rng)
    one = prepare(_reviews(rows), parameters, pools, accept_rate=0.3)
    shuffled = [rows[i] for i in rng.permutation(len(rows))]
    backwards = {paper: dict(reversed(pool.items())) for paper, pool in reversed(pools.items())}
    assert prepare(_reviews(shuffled), parameters, backwards, accept_rate=0.3) == one


def test_an_outsider_stands_for_everybody_missing_from_the_pool():
    pools = {"p": {"a": 1.0, "b": 1.0, "*": 0.2}}
    parameters = {"a": row_of(1, 0, 0.5), "b": row_of(1, 1, 0.5), "*": row_of(1, 0, 1)}
    conference = prepare(_reviews([("p", "b", 0.0), ("p", "zed", 1.0)]), parameters, pools, bar=0.0)
    (case,) = conference.cases
    assert case.candidates == ("*", "a", "b")
    assert case.tuples[secret_of(case, ("b", "zed"))].tolist() == [2, 0]
    assert case.tuples[secret_of(case, ("y", "zed"))].tolist() == [0, 0]
    assert prepare(_reviews([("p", "y", 0.0), ("p", "zed", 1.0)]), parameters, pools, bar=0.0) == conference
    del pools["p"]["*"]
    with pytest.raises(InputError, match="2 missing"):
        prepare(_reviews([("p", "y", 0.0), ("p", "zed", 1.0)]), parameters, pools, bar=0.0)


def test_a_candidate_without_a_row_takes_that_of_anybody():
    pools = {"p": {"a": 0.9, "b": 0.6, "c": 0.5}}
    parameters = {"a": row_of(1, 0, 0.5), "*": row_of(1, 0.3, 1)}
    reviews = _reviews([("p", "a", 0.0), ("p", "c", 1.0)])
    case = prepare(reviews, parameters, pools, bar=0.0).cases[0]
    assert case.parameters == (row_of(1, 0, 0.5), row_of(1, 0.3, 1), row_of(1, 0.3, 1))
    with pytest.raises(InputError, match="for those without one, found 2 missing"):
        prepare(reviews, {"a": parameters["a"]}, pools, bar=0.0)


@pytest.mark.parametrize(
    ("level", "message"),
    [
        *(({"accept_rate": rate}, "accept rate") for rate in (0.0, 1.0, -0.1, 2.0, float("nan"))),
        *((level, "give one of") for level in ({}, {"accept_rate": 0.2, "bar": 0.1})),
    ],
)
def test_one_possible_share_or_a_bar_is_needed(level: dict[str, float], message: str):
    rows, parameters, pools = conference_reviews(np.random.default_rng(1), papers=2)
    with pytest.raises(InputError, match=message):
        prepare(_reviews(rows), parameters, pools, **level)


def test_bad_reviewer_files_list_every_row(tmp_path):
    rows = "canary,1,0,0.5,0,0\ncanary,1,0,0.5,0,0\nb,0,0,0.5,0,0\nc,1,0,0,0,0\nd,1,0,1,-1,2\n"
    path = tmp_path / "reviewers.csv"
    path.write_text(f"reviewer,slope,offset,noise,slope_se,correlation\n{rows}")
    with pytest.raises(InputError) as caught:
        read_reviewers(path)
    found = {(problem.row, problem.column) for problem in caught.value.problems}
    assert found == {(3, "reviewer"), (4, "slope"), (5, "noise"), (6, "slope_se"), (6, "correlation")}
    assert "canary" not in str(caught.value)


# --- Files that do not fit together: what is said, that it is said at once, and that it names nobody.


def refusal(rows, parameters, pools, **more: object) -> InputError:
    with pytest.raises(InputError) as caught:
        prepare(_reviews(rows), parameters, pools, bar=0.0, **more)
    assert "canary" not in str(caught.value)
    return caught.value


_ANYBODY = {"*": row_of(1, 0, 1)}
_SWAPPED = [("canary-b", "p2", 1.0), ("canary-a", "p1", 2.0), ("canary-c", "p1", 1.0)]
_NAMES = {name: row_of(1, 0, 1) for name in ("canary-a", "canary-b", "canary-c")}
_APART = "no paper is in both files: are the ids spelled differently?"


def test_every_problem_is_listed_at_once_and_no_reviewer_named():
    parameters = {"canary-a": row_of(1, 0, 0.5), "canary-b": row_of(1, 0, 0.5)}
    rows = [("p", "canary-a", 1.0), ("p", "canary-b", 2.0), ("q", "canary-z", 1.0), ("r", "canary-a", 0.0)]
    pools = {"p": {"canary-a": 1.0, "canary-b": 0.0}, "q": {"canary-a": 1.0, "canary-c": 1.0}}
    text = str(refusal(rows, parameters, pools))
    for part in (
        "above 0 for every reviewer of a paper",
        "limitations.md), found 1 with 0 for paper 'p'",
        "at least as many candidates as the paper has reviews, found 1 candidate for paper 'p'",
        "(each must also be in the paper's pool), found 1 without a row for paper 'q'",
        "a pool for a paper that has reviews, found none for paper 'r'",
        "row for every candidate",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("rows", "parameters", "pools", "why", "missing"),
    [
        # No paper has a pool.
        (
            _SWAPPED,
            _ANYBODY,
            {"p1": {"canary-a": 1.0, "canary-c": 1.0}, "p2": {"canary-b": 1.0}},
            "swapped",
            0,
        ),
        (_SWAPPED, _ANYBODY, {"p1": {"canary-x": 1.0}}, _APART, 0),
        ([("canary-1", "canary-a", 1.0)], _ANYBODY, {"p1": {"canary-a": 1.0}}, _APART, 0),
        # Columns that are swapped in the pools.
        ([("p1", "canary-a", 1.0)], _NAMES, {"canary-a": {"p1": 1.0}}, "swapped in one", 0),
        ([("p1", "canary-a", 1.0)], _NAMES, {}, _APART, 0),
        # Everyone is a candidate for everything, so that people, too, have pools.
        (_SWAPPED, _NAMES, {name: dict.fromkeys(_NAMES, 1.0) for name in _NAMES}, "swapped there", 3),
        # Emails in the reviews, names in the other files.
        (
            [(paper, f"{who}@canary", 1.0) for paper in "pqr" for who in "xy"],
            {"Ada": row_of(1, 0, 1), "Eva": row_of(1, 0, 1)},
            {paper: {"Ada": 1.0, "Eva": 1.0} for paper in "pqr"},
            "none of the reviewers of `reviews`: emails in one file and names in the other?",
            6,
        ),
    ],
)
def test_what_is_wrong_with_all_papers_is_said_once(rows, parameters, pools, why: str, missing: int):
    error = refusal(rows, parameters, pools)
    first, *more = str(error).splitlines()
    assert why in first
    assert all("row for every candidate" in line for line in more)
    assert len(error.confidential) == missing


def test_an_id_that_is_also_a_persons_is_not_shown_and_rows_are_in_the_order_of_the_file():
    """Swapped columns, and one id that both files happen to share."""
    rows = [("p1", "canary-a", 1.0), *_SWAPPED]
    pools = {"p1": dict.fromkeys(_NAMES, 1.0)}
    lines = str(
        refusal(rows, _ANYBODY, pools, sources=Sources("reviews.csv", pools="nowhere.csv"))
    ).splitlines()
    found = [line.split("found ")[1] for line in lines]
    assert found == [f"none for a paper (reviews.csv, row {row})" for row in (1, 2, 3)]
