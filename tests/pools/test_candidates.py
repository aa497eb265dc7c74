"""Candidate pools: read from files, assumed from bids or similarities, or everyone."""

from __future__ import annotations

import contextlib
import pickle
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blindcal.errors import InputError
from blindcal.pools.candidates import (
    ASSUMPTIONS,
    NameDirectory,
    SharedTuple,
    all_but,
    assumed_pools,
    everyone,
    missing_reviewers,
    pools_of,
    read_pools,
    read_similarity,
    union,
)
from sizes import count


def written(folder: Path, text: str) -> Path:
    path = folder / "table.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_pool_files(tmp_path):
    table = written(tmp_path, "paper,reviewer,probability\np,b,0.5\np,*,0.1\nq,NA,1\n")
    assert read_pools(table) == {"p": {"b": 0.5, "*": 0.1}, "q": {"NA": 1.0}}
    assert read_pools(written(tmp_path, "reviewer,paper\n007,p\n7,p\n")) == {"p": {"007": 1.0, "7": 1.0}}


def test_bad_pool_files_name_the_row_and_not_the_reviewer(tmp_path):
    twice = ("p,canary,0.5\np,canary,0.5\nq,canary,0.2\nq,canary,0.2\n", "row 3", 2)
    numbers = [
        (f"p,canary,{bad}\n", "row 2, column probability", 1) for bad in ("1.5", "-0.1", "nan", "many")
    ]
    for rows, message, problems in (twice, *numbers):
        with pytest.raises(InputError, match=message) as caught:
            read_pools(written(tmp_path, f"paper,reviewer,probability\n{rows}"))
        assert len(caught.value.problems) == problems
        assert "canary" not in str(caught.value)


def test_the_columns_of_a_file_say_what_its_pools_are(tmp_path):
    people, texts = ["a", "b", "c", "*"], ["paper,reviewer,probability\np,b,0.5\n", "paper,conflict\np,a\n"]
    assert pools_of(written(tmp_path, texts[0]), ["p"], people) == {"p": {"b": 0.5}}
    everyone_else = {"p": {"b": 1.0, "c": 1.0}, "q": {"a": 1.0, "b": 1.0, "c": 1.0}}
    assert pools_of(written(tmp_path, texts[1]), ["p", "q"], people) == everyone_else
    assert pools_of("everyone", ["q"], people) == {"q": everyone_else["q"]}
    bad = ["paper", "draw,paper,reviewer", "paper,reviewer,conflict", "reviewer", "paper,author"]
    for header in bad:
        with pytest.raises(InputError):
            pools_of(
                written(tmp_path, f"{header}\n{','.join('pab'[: header.count(',') + 1])}\n"), ["p"], people
            )


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


def test_bids_are_words_or_numbers_and_similarities_numbers_in_any_order(tmp_path: Path) -> None:
    expected = {"p": {"a": 1.0, "b": 0.5, "c": 0.0}, "q": {"b": 0.25}}
    for text in (
        "paper,reviewer,bid\nq,b,0.25\np,c,conflict\np,b,Maybe\np,a,yes\n",
        "paper,reviewer,bid\np,a,1\np,b,5e-1\np,c,NO\nq,b,.25\n",
        "similarity,paper,reviewer\n0.25,q,b\n1,p,a\n0.5,p,b\n0,p,c\n",
    ):
        assert read_similarity(written(tmp_path, text)) == expected


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (
            "paper,reviewer,bid\np,canary-51,perhaps\nq,canary-51,-1\n",
            ["row 2, column bid: must be a number of at least 0, or one of yes, maybe", "row 3, column bid"],
        ),
        (
            "paper,reviewer,bid\np,canary-51,1\np,canary-51,2\n",
            ["row 3, column reviewer: must not be listed twice for one paper"],
        ),
        ("paper,reviewer,similarity\np,canary-51,-0.1\n", ["row 2, column similarity: must lie in"]),
        ("paper,reviewer,similarity\np,canary-51,nan\n", ["row 2, column similarity: must be a finite"]),
        ("paper,reviewer\np,canary-51\n", ["must have one more column: similarity, or bid"]),
        ("paper,reviewer,bid,similarity\np,canary-51,1,1\n", ["must have one more column"]),
        ("paper,reviewer,bid\np,,1\n", ["row 2, column reviewer: must not be empty"]),
    ],
)
def test_bad_bids_name_rows_and_no_reviewer(tmp_path: Path, text: str, problems: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        read_similarity(written(tmp_path, text))
    assert all(problem in str(caught.value) for problem in problems)
    assert len(caught.value.problems) >= len(problems)
    assert "canary-51" not in str(caught.value)


@pytest.mark.parametrize("kind", ["similarity", "bid"])
def test_any_change_of_bytes_of_bids_is_read_or_refused(tmp_path: Path, kind: str) -> None:
    rng, path = Random(5), tmp_path / "bids.csv"
    whole = f"paper,reviewer,{kind}\np,a,0.5\np,b,{'yes' if kind == 'bid' else 1}\nq,a,3\n".encode()
    for _ in range(count(300, 20_000)):
        place, byte = rng.randrange(len(whole)), rng.randrange(256)
        path.write_bytes(whole[:place] + bytes([byte]) * rng.randrange(3) + whole[place + 1 :])
        with contextlib.suppress(InputError):
            values = [value for row in read_similarity(path).values() for value in row.values()]
            assert np.isfinite(values).all()
            assert min(values) >= 0.0


SIMILARITY = {"p": {"a": 6.0, "b": 1.0, "c": 1.0, "d": 0.0}, "q": {"a": 1.0, "b": 1.0, "c": 2.0, "d": 4.0}}


def test_each_assumption_has_its_pools() -> None:
    conflicts = {("q", "d")}
    assert assumed_pools(SIMILARITY, "bidders", 2, conflicts) == {
        "p": dict.fromkeys("abc", pytest.approx(2 / 3)),
        "q": dict.fromkeys("abc", pytest.approx(2 / 3)),
    }
    # 6 : 1 : 1 for two places is a chance of 1 and the other place shared.
    assert assumed_pools(SIMILARITY, "similarity", 2, conflicts) == {
        "p": {"a": 1.0, "b": 0.5, "c": 0.5},
        "q": {"a": pytest.approx(0.5), "b": pytest.approx(0.5), "c": pytest.approx(1.0)},
    }


def test_assumed_chances_sum_to_the_reviews_and_spare_conflicts() -> None:
    rng = np.random.default_rng(1)
    names = [f"r{j:02d}" for j in range(12)]
    value, barred = rng.random((9, 12)), rng.random((9, 12)) < 0.3
    similarity = {f"p{i}": dict(zip(names, row, strict=True)) for i, row in enumerate(value.tolist())}
    conflicts = {(f"p{i}", names[j]) for i, j in np.argwhere(barred).tolist()}
    for assume in ASSUMPTIONS:
        pools = assumed_pools(similarity, assume, 3, conflicts)
        assert pools.keys() == similarity.keys()
        for paper, pool in pools.items():
            assert sum(pool.values()) == pytest.approx(3)
            assert max(pool.values()) <= 1
            assert pool.keys() == {name for name in names if (paper, name) not in conflicts}


def test_assumptions_that_are_refused() -> None:
    for assume, per_paper, message in (
        ("best", 2, "`assume` must be one of bidders, similarity, found 'best'"),
        ("bidders", 0, "`per_paper` must be at least 1, found 0"),
        ("bidders", 4, r"must have 4 candidates if `assume` is bidders, found 'p' with 3$"),
    ):
        with pytest.raises(InputError, match=message):
            assumed_pools(SIMILARITY, assume, per_paper)


# --- Reviewers that no file knows: close ids are shown, and thousands looked up in time.


def test_close_ids_are_shown_and_not_taken_for_misspelled() -> None:
    """`r12` for `r13` may be a slip or another person; a letter more in a name is a slip."""
    pools = {"p": {"r13": 1.0, "Emmy Noether": 1.0}}
    found = missing_reviewers({"p": ["r12", "Emmy Nother"]}, pools, ["r13", "Emmy Noether"])
    assert [(one.reviewer, one.cause, one.nearest) for one in found] == [
        ("Emmy Nother", "spelling", "Emmy Noether"),
        ("r12", "calibration", "r13"),
    ]


def test_addresses_of_one_place_are_not_near_by_what_they_share() -> None:
    known = ["yuki.yano@example.edu", "uma.usmani@example.edu"]
    directory = NameDirectory(known)
    assert directory.nearest("bob.berg@example.edu", True) == ""
    assert directory.nearest("umar.usmani@example.edu", True) == "uma.usmani@example.edu"
    assert NameDirectory(known[:1]).nearest("umar.usmani@example.edu", True) == ""
    bob = "bob@university.edu"
    found = missing_reviewers({"p": ["rob@university.edu"]}, {"p": {bob: 1.0}}, [bob])
    assert found[0].cause == "calibration", "two people, though most letters are the same"


def test_thousands_of_unknown_names_are_looked_up_in_time() -> None:
    """Where columns were swapped everyone is unknown: only the first few hundred are compared by letters."""
    known = [f"person number {i:05d}" for i in range(3000)]
    missing = {f"p{i}": [f"Person Number-{i:05d}", f"somebody {i} else"] for i in range(2000)}
    found = missing_reviewers(missing, {"p0": dict.fromkeys(known, 1.0)}, known)
    assert len(found) == 4000
    assert found[0].nearest == NameDirectory(known).nearest("PERSON NUMBER 00000", False)
