"""What a table does on average, against sums over every tuple and every outcome."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import nextafter
from typing import Any

import numpy as np
import pytest

from blindcal.certify.claims import Claim
from blindcal.planning.expected_errors import (
    Figures,
    Standing,
    evidence_probability,
    expected_figures,
    success_by_slot,
    summary,
)
from blindcal.posterior.belief import Belief, unchecked_belief
from blindcal.posterior.paper import TupleSample
from listed_tuples import Oracle
from papers import random_paper

CASES = [(seed, candidates, reviews) for seed, (candidates, reviews) in enumerate(((4, 1), (4, 2), (5, 3)))]


def listed(belief: Belief, accept: np.ndarray) -> dict[str, float]:
    """Every tuple, whether the paper is good, and what is decided, one by one."""
    weight = belief.weight / belief.weight.sum()
    found = dict.fromkeys(("wrong", "good", "against", "full"), 0.0)
    for w, favor, chance in zip(weight, belief.favor, accept, strict=True):
        for good, accepted in product((True, False), repeat=2):
            p = w * (favor if good else 1 - favor) * (chance if accepted else 1 - chance)
            found["wrong"] += p * (accepted != good)
            found["good"] += p * good
            found["against"] += p * (favor != 0.5 and accepted != (favor > 0.5))
            found["full"] += p * (good != (favor > 0.5))
    return found


def named(belief: Belief, chance: np.ndarray) -> list[float]:
    """The best guesses after each outcome, added up for each slot."""
    return [max(slot[True].values()) + max(slot[False].values()) for slot in Oracle(belief, chance).slots]


@pytest.mark.parametrize(("seed", "candidates", "reviews"), CASES)
def test_figures_are_sums_over_all_tuples(seed: int, candidates: int, reviews: int) -> None:
    rng = np.random.default_rng(seed)
    belief = random_paper(rng, candidates, reviews)
    favor = belief.favor.copy()
    favor[0] = 0.5
    belief = Belief(belief.weight, favor, belief.labels)
    accept = rng.random(favor.size)
    figures = expected_figures(belief, accept, 0.3, bound=0.01)
    by_hand = listed(belief, accept)
    assert figures.wrong == pytest.approx(by_hand["wrong"], abs=1e-14)
    assert figures.wrong_raw == pytest.approx(0.3 * (1 - by_hand["good"]) + 0.7 * by_hand["good"], abs=1e-14)
    assert figures.wrong_public == pytest.approx(min(by_hand["good"], 1 - by_hand["good"]), abs=1e-14)
    assert figures.gap == pytest.approx(by_hand["wrong"] - 0.01, abs=1e-14)
    assert figures.against == pytest.approx(by_hand["against"], abs=1e-14)
    assert figures.wrong_fully_calibrated == pytest.approx(by_hand["full"], abs=1e-14)
    full = named(belief, (favor >= 0.5).astype(float))
    assert figures.success_fully_calibrated == pytest.approx(sum(full), abs=1e-14)


@pytest.mark.parametrize(("seed", "candidates", "reviews"), CASES)
def test_standings_are_sums_over_all_tuples(seed: int, candidates: int, reviews: int) -> None:
    """After each decision: its chance, whether the paper is good, and on which side the evidence is."""
    rng = np.random.default_rng(seed)
    belief = random_paper(rng, candidates, reviews)
    accept = np.where(rng.random(belief.weight.size) < 0.3, 0.0, rng.random(belief.weight.size))
    weight = belief.weight / belief.weight.sum()
    found = expected_figures(belief, accept, 1.0).standings
    for standing, chance in zip(found, (1 - accept, accept), strict=True):
        rows = list(zip(weight.tolist(), chance.tolist(), belief.favor.tolist(), strict=True))
        total = sum(w * p for w, p, _ in rows)
        assert standing.chance == pytest.approx(total, abs=1e-12)
        assert standing.favor == pytest.approx(sum(w * p * f for w, p, f in rows) / total, abs=1e-12)
        for side, stated in ((1, standing.evidence_for), (-1, standing.evidence_against)):
            part = sum(w * p for w, p, f in rows if side * (f - 0.5) > 0)
            assert stated == pytest.approx(part / total, abs=1e-12)


def test_a_decision_that_cannot_happen_says_nothing() -> None:
    standings = expected_figures(Belief([0.75, 0.25], [0.5, 0.0]), np.array([1.0, 1.0]), 1.0).standings
    assert standings == (Standing(0.0, 0.375, 0.0, 0.0), Standing(1.0, 0.375, 0.0, 0.25))


def test_a_table_that_beats_a_rounded_bound_has_no_gap() -> None:
    belief = Belief([0.6, 0.4], [0.9, 0.2])
    assert expected_figures(belief, np.array([1.0, 0.0]), 1.0, bound=0.2).gap == 0.0
    assert expected_figures(belief, np.array([1.0, 0.0]), 1.0).gap == 0.0


def test_secrets_that_share_an_entry_are_decided_by_it() -> None:
    """Two entries for three secrets: the same figures as the table written out."""
    weight, favor, labels = np.array([0.5, 0.3, 0.2]), np.array([0.9, 0.2, 0.7]), np.array([[0, 1, 1]])
    entry, table = np.array([1, 0, 1]), np.array([0.25, 0.75])
    shared = expected_figures(unchecked_belief(weight, favor, labels, entry), table, 1.0)
    assert shared == expected_figures(Belief(weight, favor, labels), table[entry], 1.0)


@pytest.mark.parametrize(("seed", "candidates", "reviews"), CASES)
def test_success_is_the_best_guess_after_each_outcome(seed: int, candidates: int, reviews: int) -> None:
    rng = np.random.default_rng(seed + 10)
    belief = random_paper(rng, candidates, reviews)
    somebody = np.where(belief.labels == 1, -1, belief.labels)
    chance = rng.random(belief.weight.size)
    for labels in (belief.labels, somebody, np.full_like(belief.labels, -1)):
        one = Belief(belief.weight, belief.favor, labels)
        assert success_by_slot(one, chance) == pytest.approx(named(one, chance), abs=1e-15)


def test_a_label_that_stands_for_several_people_is_worth_one_of_them() -> None:
    """0.6 shared by three who look alike is 0.2 for each: less than the 0.4 of somebody alone."""
    alike = unchecked_belief(
        np.array([0.6, 0.4]), np.array([0.9, 0.2]), np.array([[0, 1]]), None, np.array([3, 1])
    )
    assert success_by_slot(alike, [1.0, 0.0]) == pytest.approx([0.2 + 0.4])
    assert success_by_slot(alike, [1.0, 1.0]) == pytest.approx([0.4])


def drawn(favor: list[float], author: list[int], entry: list[int]) -> TupleSample:
    """Draws of papers with one review."""
    rows = np.array(author)[:, None]
    no_case: Any = None
    sample = TupleSample(no_case, rows, rows, np.array(favor), np.zeros(rows.shape))
    # As if a layout had found it.
    sample.__dict__["entry"] = np.array(entry)
    return sample


def test_evidence_on_one_side_is_the_weight_of_its_tuples() -> None:
    belief = Belief([0.5, 0.3, 0.2], [0.9, 0.5, 0.1])
    assert (evidence_probability(belief, 1), evidence_probability(belief, -1)) == (0.5, 0.2)
    sample = drawn([0.9, 0.5, 0.1, 0.2], [0, 0, 0, 0], [0, 0, 0, 0])
    assert (evidence_probability(sample, 1), evidence_probability(sample, -1)) == (0.25, 0.5)


def test_a_sample_stands_for_the_tuples_by_hand() -> None:
    """Four draws: two with evidence for accepting, both written by 0; two against, by 1 and by 2.

    A guess learned from every other draw: 0 is right in both draws that accept, 1/2 of all. Those that reject
    disagree, so a guess learned from one is wrong about the other: 1/2 in all.
    """
    belief = Belief([0.4, 0.3, 0.3], [0.9, 0.3, 0.2], [[0, 1, 2]])
    sample = drawn([0.9, 0.8, 0.3, 0.2], [0, 0, 1, 2], [0, 0, 1, 2])
    accept = np.array([0.75, 0.5, 0.0])
    figures = expected_figures(belief, accept, 1.0, sample=sample)
    assert figures.wrong_fully_calibrated == pytest.approx((0.1 + 0.2 + 0.3 + 0.2) / 4)
    assert figures.against == pytest.approx((0.25 + 0.25 + 0.5 + 0.0) / 4)
    assert figures.success_fully_calibrated == pytest.approx(0.5)
    nobody = drawn([0.9, 0.8, 0.3, 0.2], [-1] * 4, [0, 0, 1, 2])
    least = expected_figures(belief, accept, 1.0, sample=nobody).success_fully_calibrated
    assert least == pytest.approx(0.4), "never below what the scores alone give: the weight of 0"


def test_a_guess_learned_from_a_sample_is_the_commonest_author() -> None:
    """All draws accept; of those with even and with odd numbers alike, two thirds were written by 1."""
    belief = Belief([0.3, 0.4, 0.3], [0.9, 0.8, 0.7], [[0, 1, 2]])
    sample = drawn([0.9] * 6, [1, 1, 1, 1, 0, 2], [0] * 6)
    figures = expected_figures(belief, np.ones(3), 1.0, sample=sample)
    assert figures.success_fully_calibrated == pytest.approx(4 / 6)


@pytest.mark.parametrize(("favor", "wrong"), [(0.9, 0.1), (0.2, 0.2)])
def test_public_information_decides_for_the_likelier_side(favor: float, wrong: float) -> None:
    belief = Belief([0.5, 0.5], [favor, favor])
    assert expected_figures(belief, np.ones(2), 1.0).wrong_public == pytest.approx(wrong)


def test_a_raw_tie_counts_as_a_fair_draw_among_the_tied():
    """Three papers tie for one place: the mean over the three ways to give it."""
    belief = [Belief([0.7, 0.3], [0.9, 0.4]), Belief([0.2, 0.8], [0.6, 0.1]), Belief([0.5, 0.5], [0.3, 0.2])]
    table = np.full(2, 0.5)
    tied = sum(expected_figures(one, table, 1 / 3).wrong_raw for one in belief)
    ways = [
        sum(expected_figures(one, table, float(k == chosen)).wrong_raw for k, one in enumerate(belief))
        for chosen in range(3)
    ]
    assert tied == pytest.approx(sum(ways) / 3, abs=1e-15)


# --- Several claims as one promise, against Fractions by hand: each number on its unsafe side.


ONE = Claim(
    reviews=2,
    named_scores_only=Fraction(3, 4),
    named=Fraction(7, 8),
    newly_named=Fraction(1, 8),
    largest_rise=0.0625,
    epsilon=1.5,
    multiplier=1.25,
    largest_posterior=0.5,
    largest_posterior_scores_only=0.4375,
    largest_posterior_named=0.5,
    largest_posterior_paper=0.75,
    largest_factor=1.125,
)
NOTHING_SEEN = (Standing(0.5, 0.5, 0.0, 0.0), Standing(0.5, 0.5, 0.0, 0.0))
TWO = Claim(3, Fraction(5, 4), Fraction(5, 4), Fraction(0), 0.125, 0.0, 1.5, 0.25, 0.25, 0.625, 0.5, 1.25)


def test_a_summary_by_hand() -> None:
    """Success is a mean over five reviews, errors are means over two papers, limits are the largest."""
    figures = [
        Figures(0.1, 0.2, 0.3, 0.05, 0.01, 1.5, 0.002, NOTHING_SEEN),
        Figures(0.3, 0.4, 0.5, 0.15, 0.03, 2.0, 0.0, NOTHING_SEEN),
    ]
    found = summary([ONE, TWO], figures)
    exact = {
        "success_scores_only": Fraction(2, 5),
        "success": Fraction(17, 40),
        "added_success": Fraction(1, 40),
    }
    for name, value in exact.items():
        assert Fraction(nextafter(float(found[name]), 0.0)) < value <= Fraction(found[name])
    assert found["success_fully_calibrated"] == pytest.approx(0.7)
    assert found["added_share_of_full"] == pytest.approx(0.025 / 0.3)
    assert {name: found[name] for name in ("papers", "reviews", "largest_rise", "epsilon")} == {
        "papers": 2,
        "reviews": 5,
        "largest_rise": 0.125,
        "epsilon": 1.5,
    }
    assert (found["multiplier"], found["largest_posterior"]) == (1.5, 0.5)
    further = ("largest_posterior_named", "largest_posterior_paper", "largest_factor")
    assert [found[name] for name in further] == [0.625, 0.75, 1.25]
    means = {
        "expected_wrong": 0.2,
        "expected_wrong_raw": 0.3,
        "expected_wrong_public": 0.4,
        "expected_wrong_fully_calibrated": 0.1,
        "against_evidence": 0.02,
        "gap": 0.001,
    }
    assert {name: found[name] for name in means} == pytest.approx(means)
    assert (found["largest_posterior_scores_only"], found["decided_by_public_information"]) == (0.4375, 1)
    assert len(found) == len(exact) + len(means) + 13, "a new number has a line here"


def test_a_share_of_nothing_is_nothing_and_no_share_is_above_one() -> None:
    for full, share in ((2.0, 0.0), (2.0 + 4e-9, 0.0), (2.0625, 1.0), (2.25, 0.5)):
        figures = [Figures(0, 0, 0, 0, 0, full / 2, 0, NOTHING_SEEN)] * 2
        assert summary([ONE, TWO], figures)["added_share_of_full"] == pytest.approx(share)
