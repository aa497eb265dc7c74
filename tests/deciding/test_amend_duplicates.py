"""One paper under several ids is refused before a coin is tossed; different papers are not."""

from __future__ import annotations

from dataclasses import replace
from math import comb
from pathlib import Path

import numpy as np
import pytest

from blindcal.deciding.amend import duplicates
from blindcal.deciding.decide import Outcome, decide
from blindcal.deciding.ledger import ledger_folder
from blindcal.errors import RefusedError
from blindcal.planning.conference_plan import plan_conference
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.inputs import Inputs
from blindcal.reviews import Reviews
from sizes import count
from small_conferences import SmallConference, everything, loaded, read_small, small_conference

REQUEST = Request(Guarantee("steady", epsilon=2.0), accept_rate=0.4)


def under_ids(small: SmallConference, ids: list[str], shift: float = 0.0) -> SmallConference:
    """The first paper once more under each of these ids, its scores moved by a little."""
    paper = small.reviews[1][0]
    reviews = tuple(
        (other, who, f"{float(score) + shift:.6f}")
        for other in ids
        for p, who, score in small.reviews[1:]
        if p == paper
    )
    pools = tuple((other, *row[1:]) for other in ids for row in small.pools[1:] if row[0] == paper)
    return replace(small, reviews=(*small.reviews, *reviews), pools=(*small.pools, *pools))


def inputs_of(small: SmallConference, tmp_path: Path) -> Inputs:
    return read_small(small, tmp_path / "in")


def table(*rows: tuple[str, str, float]) -> Reviews:
    names = ("paper", "reviewer", "score")
    return Reviews.from_table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def test_twelve_decisions_about_one_paper_reveal_what_one_does_not() -> None:
    """Why: under steady no decision makes a guess likelier, and twelve independent ones do."""
    conference, _ = loaded(small_conference(seed=10, papers=12, pool=6))
    plans = plan_conference(conference, REQUEST.guarantee)
    case, plan = conference.cases[5], plans[5]
    belief = case.belief
    accept = belief.spread(plan.policy.accept)

    def success(decisions: int) -> float:
        seen = [
            belief.weight * comb(decisions, k) * accept**k * (1 - accept) ** (decisions - k)
            for k in range(decisions + 1)
        ]
        slots = range(len(case.scores))
        best = [np.bincount(case.tuples[:, slot], one).max() for slot in slots for one in seen]
        return float(sum(best)) / len(case.scores)

    assert success(0) == pytest.approx(success(1), abs=1e-9) == pytest.approx(0.39, abs=0.01)
    assert success(12) == pytest.approx(0.59, abs=0.01)


@pytest.mark.parametrize("reviews", [1, 2, 3])
@pytest.mark.parametrize("shift", [0.0, 0.000001])
def test_one_paper_under_several_ids_is_refused(
    key_path: Path, tmp_path: Path, reviews: int, shift: float
) -> None:
    ids = [f"x{index:02d}" for index in range(11)]
    small = under_ids(small_conference(papers=12, reviewers=12, reviews=reviews), ids, shift)
    inputs, before = inputs_of(small, tmp_path), everything(tmp_path)
    with pytest.raises(
        RefusedError, match=r"CONFIDENTIAL, for the chair alone: .*p00 and x00.*61 more pairs"
    ) as caught:
        decide(inputs, REQUEST, key_path, tmp_path / "out")
    assert not any(canary in str(caught.value) for canary in small.canaries)
    assert everything(tmp_path) == before
    assert not ledger_folder(key_path).exists()
    assert decide(inputs, REQUEST, key_path, tmp_path / "out", distinct_papers=True).how == "new"
    assert decide(inputs, REQUEST, key_path, tmp_path / "out").how == "stored"


def test_what_is_published_does_not_say_that_papers_were_declared_distinct(
    key_path: Path, tmp_path: Path
) -> None:
    inputs = inputs_of(small_conference(), tmp_path)
    plain = decide(inputs, REQUEST, key_path, tmp_path / "out")
    again = tmp_path / "again" / "key.bin"
    again.parent.mkdir()
    again.write_bytes(key_path.read_bytes())
    again.chmod(0o600)
    declared = decide(inputs, REQUEST, again, tmp_path / "out2", distinct_papers=True)
    assert declared.record == plain.record


def amended(small: SmallConference, key: Path, tmp_path: Path) -> Outcome:
    inputs = inputs_of(small, tmp_path)
    return decide(inputs, REQUEST, key, tmp_path / "out2", amend=True, reason="late papers")


def test_a_second_id_that_comes_with_an_amendment_is_refused(key_path: Path, tmp_path: Path) -> None:
    """Of a paper that was decided, and of another new one; a paper that only changes its id is no second."""
    small = small_conference(papers=4)
    decide(inputs_of(small, tmp_path), REQUEST, key_path, tmp_path / "out")
    with pytest.raises(RefusedError, match="late and p00"):
        amended(under_ids(small, ["late"]), key_path, tmp_path)
    both = under_ids(small.with_review(1, score="0.31").with_review(2, score="0.17"), ["new", "new2"])
    joined = replace(both, reviews=(*small.reviews, *both.reviews[len(small.reviews) :]))
    with pytest.raises(RefusedError, match="new and new2"):
        amended(joined, key_path, tmp_path)
    renamed = [("late" if row[0] == "p00" else row[0], *row[1:]) for row in small.reviews]
    pools = [("late" if row[0] == "p00" else row[0], *row[1:]) for row in small.pools]
    moved = replace(small, reviews=tuple(renamed), pools=tuple(pools))
    outcome = amended(moved, key_path, tmp_path)
    assert outcome.changes.alike == ("late",), "it is decided by public information alone"


def test_papers_are_alike_reviewer_by_reviewer() -> None:
    first = [("a", "ada", 7.0), ("a", "ben", 4.0)]
    assert duplicates(table(*first, ("b", "ben", 4.0), ("b", "ada", 7.0))) == [("a", "b")]
    for other in (
        [("b", "ada", 4.0), ("b", "ben", 7.0)],
        [("b", "ada", 7.0), ("b", "cleo", 4.0)],
        [("b", "ada", 7.0), ("b", "ben", 5.0)],
        [("b", "ada", 7.0)],
        [("b", "ada", 7.0), ("b", "ben", 4.0), ("b", "cleo", 4.0)],
    ):
        assert duplicates(table(*first, *other)) == []


def test_one_reviewer_gives_the_same_grade_to_many_papers() -> None:
    """On a scale of grades that is no sign; if scores are never repeated else, it is."""
    rng = np.random.default_rng(5)
    grades = [(f"p{i}", f"r{i % 9}", float(rng.integers(1, 11))) for i in range(60)]
    assert len({row[1:] for row in grades}) < len(grades), "some are the same"
    assert duplicates(table(*grades)) == []
    assert duplicates(table(("a", "ada", 7), ("b", "ada", 7), ("c", "ada", 7), ("d", "ben", 3))) == []
    fine = [(paper, who, round(float(rng.normal(5, 2)), 3)) for paper, who, _ in grades]
    assert duplicates(table(*fine)) == []
    ids = [f"x{i}" for i in range(12)]
    again = table(*fine, *((paper, *fine[7][1:]) for paper in ids))
    assert {paper for pair in duplicates(again) for paper in pair} >= {"p7", *ids}


def test_different_papers_are_seldom_refused() -> None:
    """Papers assigned one by one: 180 papers, three of 60 reviewers each, grades from 1 to 10."""
    refused, runs = 0, count(60, 400)
    for seed in range(runs):
        rng = np.random.default_rng([27, seed])
        quality, severity = rng.normal(size=180), rng.normal(size=60)
        rows = [
            (
                f"p{paper}",
                f"r{who}",
                float(np.clip(round(5.5 + 1.5 * quality[paper] + severity[who] + rng.normal()), 1, 10)),
            )
            for paper in range(180)
            for who in rng.choice(60, 3, replace=False)
        ]
        refused += bool(duplicates(table(*rows)))
    assert refused <= 0.1 * runs
