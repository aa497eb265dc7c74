"""Candidate pools: read from files, drawn together, or everyone."""

from __future__ import annotations

import pickle
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blindcal.assignment.candidates import (
    SampledPool,
    SharedTuple,
    all_but,
    everyone,
    pools_of,
    read_draws,
    read_pools,
    union,
)
from blindcal.assignment.prior import log_set_prior, tuples_of_sets
from blindcal.errors import InputError


def test_pool_files(tmp_path):
    table = tmp_path / "pools.csv"
    table.write_text("paper,reviewer,probability\np,b,0.5\np,*,0.1\nq,NA,1\n")
    assert read_pools(table) == {"p": {"b": 0.5, "*": 0.1}, "q": {"NA": 1.0}}
    table.write_text("reviewer,paper\n007,p\n7,p\n")
    assert read_pools(table) == {"p": {"007": 1.0, "7": 1.0}}
    draws = tmp_path / "draws.csv"
    draws.write_text("draw,paper,reviewer\n1,p,a\n1,p,b\n2,p,a\n2,p,c\n")
    assert read_draws(draws) == {"p": {"a": 1.0, "b": 0.5, "c": 0.5}}
    assert read_draws(draws)["p"].sets == {("a", "b"): 1, ("a", "c"): 1}
    assert everyone(["p", "q"], ["a", "b"], [("q", "a")]) == {"p": {"a": 1.0, "b": 1.0}, "q": {"b": 1.0}}


def test_bad_pool_files_name_the_row_and_not_the_reviewer(tmp_path):
    table = tmp_path / "pools.csv"
    table.write_text("paper,reviewer,probability\np,canary,0.5\np,canary,0.5\nq,canary,0.2\nq,canary,0.2\n")
    with pytest.raises(InputError, match="row 3") as caught:
        read_pools(table)
    assert len(caught.value.problems) == 2
    assert "canary" not in str(caught.value)
    for bad in ("1.5", "-0.1", "nan", "many"):
        table.write_text(f"paper,reviewer,probability\np,canary,{bad}\n")
        with pytest.raises(InputError, match="row 2, column probability") as caught:
            read_pools(table)
        assert "canary" not in str(caught.value)
    draws = tmp_path / "draws.csv"
    draws.write_text("draw,paper,reviewer\n1,p,a\n1,p,a\n")
    with pytest.raises(InputError, match="row 3, column reviewer: must not stand twice"):
        read_draws(draws)
    draws.write_text("draw,paper,reviewer\n1,p,a\n1,p,*\n")
    with pytest.raises(InputError, match="row 3, column reviewer: must be a person"):
        read_draws(draws)


def test_a_draw_that_leaves_a_paper_out_has_nobody_there(tmp_path):
    draws = tmp_path / "draws.csv"
    draws.write_text("draw,paper,reviewer\n1,p,b\n1,p,a\n1,q,c\n2,p,a\n2,p,b\n3,q,c\n")
    found = read_draws(draws)
    assert {paper: dict(pool.sets) for paper, pool in found.items()} == {
        "p": {("a", "b"): 2, (): 1},
        "q": {("c",): 2, (): 1},
    }
    assert found["p"].least == 0
    assert found["p"] == {"a": 2 / 3, "b": 2 / 3}


@given(
    st.dictionaries(
        st.frozensets(st.sampled_from("abcdefg"), min_size=2, max_size=4), st.integers(1, 9), min_size=1
    ),
    st.integers(1, 2),
)
def test_fewer_reviews_than_drawn_leave_open_who_wrote_none(sets, reviews):
    """Against drawing: a set by its count, then a group of it, each as likely."""
    pool = SampledPool({tuple(sorted(people)): times for people, times in sets.items()})
    draws = sum(sets.values())
    expected = Counter()
    for people, times in sets.items():
        groups = list(combinations(sorted(people), reviews))
        for group in groups:
            expected[group] += Fraction(times, draws * len(groups))
    found = pool.of(reviews)
    total = sum(found.sets.values())
    assert {group: Fraction(times, total) for group, times in found.sets.items()} == expected
    names = sorted(found)
    placed = found.by_place(names)
    assert list(placed) == sorted(placed)
    assert {tuple(names[i] for i in who): n for who, n in placed}.keys() == expected.keys()
    rows = tuples_of_sets(placed)
    prior = np.exp(log_set_prior(placed, rows))
    for index, name in enumerate(names):
        chance = prior[(rows == index).any(axis=1)].sum() / prior.sum()
        assert chance == pytest.approx(found[name])


def test_the_columns_of_a_file_say_what_its_pools_are(tmp_path):
    path, people = tmp_path / "pools.csv", ["a", "b", "c", "*"]
    path.write_text("paper,reviewer,probability\np,b,0.5\n")
    assert pools_of(path, ["p"], people) == {"p": {"b": 0.5}}
    path.write_text("draw,paper,reviewer\n1,p,a\n2,p,c\n")
    assert pools_of(path, ["p"], people) == {"p": {"a": 0.5, "c": 0.5}}
    path.write_text("paper,conflict\np,a\n")
    everyone_else = {"p": {"b": 1.0, "c": 1.0}, "q": {"a": 1.0, "b": 1.0, "c": 1.0}}
    assert pools_of(path, ["p", "q"], people) == everyone_else
    assert pools_of("everyone", ["q"], people) == {"q": everyone_else["q"]}
    path.write_text("draw,paper,reviewer\n1,p,a\n2,p,*\n")
    with pytest.raises(InputError, match=r"row 3, column reviewer: must be a person: .* add \* to"):
        pools_of(path, ["p"], people)
    for bad in ("paper\np\n", "paper,reviewer,conflict\np,a,b\n", "reviewer\na\n", "paper,author\np,a\n"):
        path.write_text(bad)
        with pytest.raises(InputError):
            pools_of(path, ["p"], people)


@given(st.lists(st.integers(0, 9), unique=True, max_size=7), st.integers(1, 9))
def test_a_committee_without_some_is_like_a_tuple_of_the_others(left_out, size):
    shared = SharedTuple("abcdefghi"[:size])
    without = tuple(sorted(place for place in left_out if place < size))
    plain = tuple(name for place, name in enumerate(shared) if place not in without)
    some = all_but(shared, without)
    assert (len(some), tuple(some), some, hash(some)) == (len(plain), plain, plain, hash(plain))
    assert [some[place] for place in range(-len(plain), len(plain))] == [*plain, *plain]
    assert [some.index(name) for name in plain] == list(range(len(plain)))
    assert [name in some for name in "abcdefghi*"] == [name in plain for name in "abcdefghi*"]
    assert some[1:] == plain[1:]
    assert pickle.loads(pickle.dumps(some)) == some == all_but(SharedTuple(shared), without)
    assert some != (*plain, "z")
    with pytest.raises(IndexError):
        _ = some[len(plain)]


def test_a_shared_tuple_is_hashed_anew_in_another_process():
    shared = SharedTuple(("a", "b"))
    assert hash(shared) == hash(("a", "b"))
    assert vars(shared)
    assert not vars(pickle.loads(pickle.dumps(shared)))


@given(st.lists(st.lists(st.integers(0, 5), unique=True).map(sorted), min_size=1, max_size=5))
def test_everyone_in_some_pools_is_found_without_listing_them(barred):
    committee, other = SharedTuple("abcdef"), SharedTuple("fgh")
    pools = [all_but(committee, tuple(without)) for without in barred] + [all_but(other, (0,)), ("b", "x")]
    assert union(pools) == {name for pool in pools for name in pool}


def test_papers_with_the_same_conflicts_share_their_pool():
    pools = everyone(["p", "q", "r"], ["b", "a", "c"], [("p", "b"), ("q", "b"), ("r", "z")])
    assert pools == {"p": {"a": 1.0, "c": 1.0}, "q": {"a": 1.0, "c": 1.0}, "r": dict.fromkeys("abc", 1.0)}
    assert pools["p"] is pools["q"]
    assert pools["p"].get("b") is None
