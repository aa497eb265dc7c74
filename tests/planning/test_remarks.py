"""Remarks for the chair: said where they hold, and not where they do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from blindcal.planning.remarks import (
    bar_remarks,
    crowd_remarks,
    plan_remarks,
    pool_remarks,
    row_remarks,
    stray_remarks,
)
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import prepare
from blindcal.reviews import Reviews
from commands import call
from small_conferences import (
    command_line,
    loaded,
    small_conference,
    with_key,
)


def test_a_bar_that_nobody_passes_is_remarked_on_by_its_own_words_only() -> None:
    reviews = Reviews.from_table({"paper": ["p"], "reviewer": ["a"], "score": [5]})
    people = dict.fromkeys(("a", "b"), (1.0, 5.0, 1.0, 0.0, 0.0, 0.0, 0.0))
    conference = prepare(reviews, people, {"p": {"a": 0.5, "b": 0.5}}, bar=2.0)
    (said,) = bar_remarks(conference, 2.0)
    assert "not a score" not in said
    assert bar_remarks(conference, None) == []


@pytest.mark.parametrize(
    ("pools", "said"),
    [
        (["ab", "ab", "ab"], "every pool has exactly"),
        (["ab", "ab", "abc"], "2 of 3 pools (67 %) have exactly as many people as the paper has reviews, so"),
        (["ab", "abc", "abc", "ab"], None),
        (["ab*", "ab*"], None),
        (["a*"], None),
    ],
)
def test_pools_that_are_the_reviewers_are_noted(pools: list[str], said: str | None) -> None:
    people = dict.fromkeys("abc*", (1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0))
    papers = [str(place) for place in range(len(pools))]
    table = {"paper": papers * 2, "reviewer": ["a"] * len(pools) + ["b"] * len(pools), "score": papers * 2}
    given = {paper: dict.fromkeys(pool, 1.0) for paper, pool in zip(papers, pools, strict=True)}
    found = pool_remarks(prepare(Reviews.from_table(table), people, given, bar=0.0))
    assert [said] * (said is not None) == [note[: len(said or "")] for note in found]


def test_never_against_that_is_worse_than_raw_is_noted() -> None:
    figures = {"success_scores_only": 0.3, "expected_wrong": 0.2, "expected_wrong_raw": 0.15}
    (said,) = plan_remarks(figures, 0.6)
    assert "more decisions are expected to be wrong (20.0 %) than by raw mean scores (15.0 %)" in said
    assert plan_remarks(figures, None) == []
    assert plan_remarks({**figures, "expected_wrong": 0.1}, 0.6) == []


@pytest.mark.edge
def test_conflicts_of_other_papers_altogether_are_refused(tmp_path: Path) -> None:
    """They once were left out with a remark, and the papers decided from public data."""
    small = small_conference()
    folder = replace(small, pools=(("paper", "conflict"), ("nowhere", "Nobody"))).write(tmp_path / "in")
    for command in ("plan", "decide"):
        code, _, err = call(*command_line(command, folder, with_key(tmp_path / "key.bin"), tmp_path / "out"))
        assert code == 2
        assert "pools.csv, column paper: must list papers that have reviews: are the ids" in err
    assert not (tmp_path / "out").exists()
    assert stray_remarks("everyone", ["1"], ["a"]) == []


def test_candidates_who_are_all_taken_as_anyone_are_counted() -> None:
    people = ["ann", "ben", "cat", "dan"]
    told = "candidates have no row in r.csv and are taken as its row *"
    assert row_remarks([*people, "*"], [*people, "*"], "r.csv") == []
    assert row_remarks(people, ["ann", "ben", "cat", "*"], "r.csv") == []
    (remark,) = row_remarks(people, ["a@x", "b@x", "*"], "r.csv")
    assert remark.startswith(f"4 of 4 {told}: are their ids spelled differently")
    (remark,) = row_remarks(people, ["Ann", "ben", "cat", "dan", "*"], "r.csv")
    assert remark.startswith(f"1 of 4 {told} (1 like a row but for capital letters")
    assert not any(name in remark for name in people)


def test_a_crowd_larger_than_pools_is_said_to_be_steady_there():
    """Pools of 4 and of 3 with `*`: the outsider may be anyone, so that nobody need be likelier."""
    conference, _ = loaded(small_conference(papers=5, pool=4))
    (said,) = crowd_remarks(conference, Guarantee("crowd", among=5, epsilon=2.0))
    assert said.startswith("for 5 of 5 papers fewer than 5 people may have reviewed")
    assert "there a crowd of 5 is steady" in said
    assert crowd_remarks(conference, Guarantee("crowd", among=4, epsilon=2.0)) == []
    assert crowd_remarks(conference, Guarantee("steady", epsilon=2.0)) == []
    first, *rest = conference.cases
    others = replace(first, candidates=("*", *first.candidates[1:]))
    (less,) = crowd_remarks(
        replace(conference, cases=(others, *rest)), Guarantee("average", among=5, epsilon=2.0)
    )
    assert less.startswith("for 4 of 5 papers")
