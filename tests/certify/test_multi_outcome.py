"""Any number of outcomes: exact chances, and an adversary who goes through every way to guess."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blindcal import CertificateError, Guarantee, InputError
from blindcal.certify.exact import exponential_below
from blindcal.certify.multi_outcome import OutcomeTable, certify_outcomes
from blindcal.policy import least_loss
from sizes import count

GUARANTEES = [
    Guarantee("steady", epsilon=None),
    Guarantee("steady", epsilon=2.0),
    Guarantee("crowd", among=3, epsilon=None),
    Guarantee("crowd", among=2, epsilon=2.0),
    Guarantee("average", among=3, epsilon=None),
    Guarantee("average", epsilon=None),
    Guarantee("average", epsilon=2.0),
    Guarantee("none", epsilon=1.0),
    Guarantee("none", epsilon=None, multiplier=1.5),
    Guarantee("public", epsilon=2.0),
]


def prior_of(weight: np.ndarray) -> list[Fraction]:
    stored = [Fraction(float(one)) for one in weight]
    return [one / sum(stored) for one in stored]


def best_guessing(prior: list[Fraction], table: OutcomeTable) -> Fraction:
    """The best of all functions from outcomes to secrets, each played out in fractions."""
    outcomes, secrets = range(len(table[0])), range(len(prior))
    return max(
        sum((prior[guess[d]] * table[guess[d]][d] for d in outcomes), Fraction(0))
        for guess in product(secrets, repeat=len(table[0]))
    )


@given(st.integers(0, 10**6), st.sampled_from(GUARANTEES), st.integers(2, 4))
@settings(max_examples=count(25, 200), deadline=None)
def test_three_outcomes_certified_and_audited_by_enumeration(
    seed: int, guarantee: Guarantee, secrets: int
) -> None:
    rng = np.random.default_rng(seed)
    weight, loss = rng.dirichlet(np.ones(secrets)), rng.random((secrets, 3))
    best = least_loss(weight, loss, guarantee=guarantee)
    table, claim = certify_outcomes(weight, best.chance, guarantee)
    prior = prior_of(weight)
    assert all(sum(row) == 1 and min(row) >= 0 for row in table)
    assert claim.success == best_guessing(prior, table)
    assert claim.success_scores_only == max(prior)
    if guarantee.name in ("average", "public"):
        assert claim.added == 0
    if guarantee.epsilon is not None and guarantee.name != "public":
        limit = exponential_below(guarantee.epsilon)
        assert all(max(column) <= limit * min(column) for column in zip(*table, strict=True))
    if guarantee.name == "steady":
        assert claim.largest_rise <= 0
        for d in range(3):
            chance = sum(w * row[d] for w, row in zip(prior, table, strict=True))
            assert all(w * row[d] <= max(prior) * chance for w, row in zip(prior, table, strict=True))
    if guarantee.multiplier is not None:
        assert claim.multiplier <= Fraction(guarantee.multiplier)
    posteriors = [
        prior[r] * table[r][d] / sum(w * row[d] for w, row in zip(prior, table, strict=True))
        for r in range(secrets)
        for d in range(3)
        if table[r][d]
    ]
    assert claim.largest_posterior == max(posteriors)
    # What making it exact costs is hardly to be seen, except where the best guess is tied.
    top = np.sort(weight)
    cost = sum(
        float(w * p) * c
        for w, row, cs in zip(prior, table, loss, strict=True)
        for p, c in zip(row, cs, strict=True)
    )
    if guarantee.name != "public" and top[-1] - top[-2] > 1e-3:
        assert cost <= best.loss + 1e-4


def test_steady_over_two_slots_pins_both_likeliest_labels() -> None:
    """Six secrets, two slots, three outcomes: posteriors of every label by enumeration, none above its slot's
    top."""
    rng = np.random.default_rng(5)
    labels = np.array([[0, 0, 1, 1, 2, 2], [0, 1, 0, 2, 1, 2]])
    for _ in range(count(5, 50)):
        weight, loss = rng.dirichlet(np.ones(6)), rng.random((6, 3))
        guarantee = Guarantee("steady", epsilon=3.0)
        best = least_loss(weight, loss, labels, guarantee)
        table, claim = certify_outcomes(weight, best.chance, guarantee, labels)
        prior = prior_of(weight)
        for slot in labels:
            tops = [
                sum((w for w, one in zip(prior, slot, strict=True) if one == y), Fraction(0))
                for y in range(3)
            ]
            for d in range(3):
                mass = [w * row[d] for w, row in zip(prior, table, strict=True)]
                for y in range(3):
                    part = sum((m for m, one in zip(mass, slot, strict=True) if one == y), Fraction(0))
                    assert part <= max(tops) * sum(mass)
        assert claim.largest_rise == 0
        exact = sum(
            float(w * one) * c
            for w, row, costs in zip(prior, table, loss, strict=True)
            for one, c in zip(row, costs, strict=True)
        )
        assert exact <= best.loss + 1e-4


def test_labels_are_guessed_slot_by_slot() -> None:
    """Two slots over four secrets: the mean of the best guess in each, by enumeration of guesses."""
    weight, labels = np.array([0.4, 0.3, 0.2, 0.1]), np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
    chance = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5], [0.0, 0.5, 0.5]])
    table, claim = certify_outcomes(weight, chance, Guarantee("none", epsilon=None), labels)
    prior = prior_of(weight)
    expected = Fraction(0)
    for slot in labels:
        expected += max(
            sum(
                (prior[r] * table[r][d] for r in range(4) for d in range(3) if slot[r] == guess[d]),
                Fraction(0),
            )
            for guess in product((0, 1), repeat=3)
        )
    assert claim.success == expected / 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: certify_outcomes(
                [0.5, 0.5], [[1, 0], [0, 1]], Guarantee("steady", never_against=0.9, epsilon=2.0)
            ),
            "never-against is a limit on accepting and rejecting",
        ),
        (lambda: certify_outcomes([0.5, 0.5], [[1, 1], [0, 1]], GUARANTEES[0]), "must sum to 1"),
        (lambda: certify_outcomes([0.5, 0.5], [[1, 0]], GUARANTEES[0]), "1 secrets and weight 2"),
        (
            lambda: certify_outcomes([0.5, 0.5], [[1, 0], [0, 1]], GUARANTEES[0], [0, 1]),
            r"integers \[slot, secret\] for 2 secrets",
        ),
    ],
)
def test_bad_input_is_named(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(InputError, match=message):
        call()


def test_a_cap_below_the_scores_cannot_be_certified() -> None:
    with pytest.raises(CertificateError, match="not even a constant"):
        certify_outcomes(
            [0.7, 0.3], [[1, 0, 0], [0, 1, 0]], Guarantee("none", epsilon=None, posterior_cap=0.6)
        )
