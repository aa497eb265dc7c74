"""The final list: exactly so many, the best ones, ties by public data, and cuts to compare with later."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from blindcal.planning.ranking_and_wait_list import (
    ACCEPT,
    DECIMALS,
    REJECT,
    WAIT,
    cuts,
    cuts_by_track,
    cuts_from_json,
    cuts_json,
    list_decision,
    rank,
)
from blindcal.planning.request import WHOLE, Quota

PAPERS = st.lists(
    st.tuples(
        st.floats(0, 1) | st.sampled_from([0.25, 0.5]), st.lists(st.integers(1, 4), min_size=1, max_size=3)
    ),
    min_size=1,
    max_size=12,
)


@given(PAPERS, st.data())
def test_exactly_so_many_are_accepted_and_wait(
    papers: list[tuple[float, list[int]]], data: st.DataObject
) -> None:
    accept = data.draw(st.integers(0, len(papers)))
    wait = data.draw(st.integers(0, len(papers) - accept))
    ranks = [rank(f"p{i}", [float(s) for s in scores], favor) for i, (favor, scores) in enumerate(papers)]
    cut = cuts(ranks, accept, wait)
    found = [list_decision(one, cut) for one in ranks]
    assert Counter(found) == {
        word: number
        for word, number in ((ACCEPT, accept), (WAIT, wait), (REJECT, len(papers) - accept - wait))
        if number
    }
    for (favor, _), word in zip(papers, found, strict=True):
        for (other, _), theirs in zip(papers, found, strict=True):
            if (ACCEPT, WAIT, REJECT).index(word) < (ACCEPT, WAIT, REJECT).index(theirs):
                assert round(favor, DECIMALS) >= round(other, DECIMALS)
    again = cuts_from_json(json.loads(json.dumps(cuts_json({WHOLE: cut}))))
    assert again == {WHOLE: cut}
    assert [list_decision(one, again[WHOLE]) for one in ranks] == found


def test_ties_go_to_the_better_mean_as_it_is_written_then_to_the_smaller_id() -> None:
    """.1 + .2 and .3 are the same score here, and p2 comes before p10."""
    best, second, third, last = (
        rank("p9", [0.1, 0.6], 0.5),
        rank("p2", [0.1, 0.2], 0.5 + 4e-10),
        rank("p10", [0.3, 0.0], 0.5 - 4e-10),
        rank("p1", [9.0], 0.49),
    )
    assert best < second < third < last
    assert best[1] == -Fraction(7, 20)


def test_each_track_is_a_list_of_its_own() -> None:
    ranks = [rank(f"p{i}", [1.0], favor) for i, favor in enumerate((0.9, 0.8, 0.7, 0.1, 0.2))]
    tracks = ["a", "a", "a", "b", "b"]
    found = cuts_by_track(ranks, tracks, Quota({"a": 1, "b": 1}, {"a": 1}))
    words = [list_decision(one, found[track]) for one, track in zip(ranks, tracks, strict=True)]
    assert words == [ACCEPT, WAIT, REJECT, REJECT, ACCEPT]


def test_a_paper_that_comes_later_must_rank_above_the_best_one_that_was_not_accepted() -> None:
    ranks = [rank(f"p{i}", [1.0], favor) for i, favor in enumerate((0.9, 0.7, 0.5))]
    cut = cuts(ranks, 1, 1)
    later = {
        favor: list_decision(rank("p7", [1.0], favor), cut) for favor in (0.95, 0.71, 0.7, 0.51, 0.5, 0.4)
    }
    assert list(later.values()) == [ACCEPT, ACCEPT, WAIT, WAIT, REJECT, REJECT]
    assert list_decision(rank("p0", [1.0], 0.7), cut) == ACCEPT, "at a tie the smaller id ranks above"


def test_where_all_have_a_place_there_is_no_cut() -> None:
    ranks = [rank(f"p{i}", [1.0], 0.5) for i in range(3)]
    assert cuts(ranks, 3, 0) == (None, None)
    assert cuts(ranks, 2, 1) == (ranks[2], None)
    assert {list_decision(rank("late", [0.0], 0.0), (None, None))} == {ACCEPT}


@given(PAPERS, st.integers(0, 12), st.floats(0, 1), st.floats(-1e9, 1e9))
def test_where_nobody_is_accepted_nobody_is_later(
    papers: list[tuple[float, list[int]]], wait: int, favor: float, score: float
) -> None:
    """Also in a track that had no paper."""
    ranks = [rank(f"p{i}", [float(s) for s in scores], value) for i, (value, scores) in enumerate(papers)]
    for known in (ranks, []):
        cut = cuts_from_json(json.loads(json.dumps(cuts_json({WHOLE: cuts(known, 0, wait)}))))[WHOLE]
        later = list_decision(rank("", [score], favor), cut)
        assert later == REJECT if wait == 0 else later != ACCEPT
