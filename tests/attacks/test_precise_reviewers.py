"""Reviewers with hardly any noise: weights against 60 digits, and refusals where floats do not reach."""

from __future__ import annotations

from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from blindcal.certify.claims import certify, keeps_guarantee
from blindcal.certify.exact import ExactPolicy
from blindcal.errors import InputError
from blindcal.planning.conference_plan import plan_conference
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.belief import Belief
from blindcal.posterior.conference import Conference
from blindcal.posterior.paper import PaperCase
from blindcal.posterior.tuple_weights import WEIGHT_ERROR
from sizes import count

DIGITS = Context(prec=60, Emin=-(10**9))
STEADY = Guarantee("steady", epsilon=None)


def true_weights(case: PaperCase) -> list[Fraction]:
    """prior * N(s; b, diag(sigma^2) + a a^T) in fractions and 60 digits, for candidates equally likely."""
    logs = []
    for who in permutations(range(len(case.candidates)), len(case.scores)):
        rows = [[Fraction(value) for value in case.parameters[j][:3]] for j in who]
        gap = [Fraction(s) - b for s, (_, b, _) in zip(case.scores, rows, strict=True)]
        precision = 1 + sum(a * a / (n * n) for a, _, n in rows)
        pull = sum(a * g / (n * n) for g, (a, _, n) in zip(gap, rows, strict=True))
        square = (
            sum(g * g / (n * n) for g, (_, _, n) in zip(gap, rows, strict=True)) - pull * pull / precision
        )
        volume = precision
        for _, _, n in rows:
            volume *= n * n
        logs.append(DIGITS.multiply(Decimal("-0.5"), DIGITS.add(decimal(square), DIGITS.ln(decimal(volume)))))
    less = [DIGITS.subtract(log, max(logs)) for log in logs]
    # Below e^-5000 nothing is left that a rise could show.
    return [Fraction(DIGITS.exp(log)) if log > -5000 else Fraction(0) for log in less]


def decimal(value: Fraction) -> Decimal:
    return DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


def rises(case: PaperCase, policy: ExactPolicy) -> list[float]:
    """How much each outcome raises each slot's best guess, under the true weights."""
    weight = true_weights(case)
    tuples = list(permutations(range(len(case.candidates)), len(case.scores)))
    accept = [policy.probability(r) for r in range(len(tuples))]
    found = []
    for slot in range(len(case.scores)):
        masses = [[Fraction(0)] * len(case.candidates) for _ in range(3)]
        for who, w, p in zip(tuples, weight, accept, strict=True):
            for mass, part in zip(masses, (w, w * p, w - w * p), strict=True):
                mass[who[slot]] += part
        before = max(masses[0]) / sum(masses[0])
        found += [float(max(mass) / sum(mass) - before) for mass in masses[1:] if sum(mass) > 0]
    return found


def precise_case(rng: np.random.Generator, noise: float, *, close: bool) -> PaperCase:
    """Two reviews, four candidates equally likely; `close`: so alike that several can have written."""
    slope, spread = rng.uniform(0.7, 1.4, 4), (3 * noise if close else 0.7)
    slope = np.where(close, slope[0] * np.exp(noise * rng.normal(size=4)), slope)
    offset = 0.4 + spread * rng.normal(size=4)
    quality = float(rng.normal())
    scores = slope[:2] * quality + offset[:2] + noise * rng.normal(size=2)
    rows = np.column_stack([slope, offset, np.full(4, noise), np.zeros((4, 4))])
    return PaperCase(
        "p",
        tuple(sorted(scores.tolist())),
        tuple("abcd"),
        (0.5,) * 4,
        tuple(map(tuple, rows.tolist())),
        quality,
    )


@pytest.mark.parametrize("noise", [0.5, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9])
def test_a_rise_stated_as_zero_is_one_or_the_paper_is_refused(noise: float) -> None:
    rng = np.random.default_rng(17)
    planned = 0
    for trial in range(count(12, 100)):
        case = precise_case(rng, noise, close=trial % 3 > 0)
        try:
            plans = plan_conference(Conference((case,), case.bar, None, (False,)), STEADY)
        except InputError:
            continue
        planned += 1
        assert plans[0].claim.largest_rise == 0.0
        assert max(rises(case, plans[0].policy)) <= WEIGHT_ERROR
    assert planned == count(12, 100) or noise < 1e-3
    assert planned > 0 or noise < 1e-6
    assert planned == 0 or noise > 1e-9


@pytest.mark.parametrize("noise", [1e-3, 1e-4, 1e-5, 1e-6])
def test_no_weight_is_off_by_more_than_is_stated(noise: float) -> None:
    rng = np.random.default_rng(3)
    worst, seen = 0.0, 0
    for trial in range(count(10, 100)):
        case = precise_case(rng, noise, close=trial % 2 == 0)
        try:
            weight = case.belief.weight.tolist()
        except InputError:
            continue
        true = true_weights(case)
        total = sum(true)
        ratios = [Fraction(w) / (t / total) for w, t in zip(weight, true, strict=True) if w > 0]
        worst, seen = max(worst, *(float(abs(ratio - 1)) for ratio in ratios)), seen + 1
        assert all(t / max(true) < 2e-300 for w, t in zip(weight, true, strict=True) if w == 0)
    assert seen > 0
    assert worst <= 2 * WEIGHT_ERROR, "of a weight and of their sum"


@pytest.mark.parametrize("noise", [1e-3, 1e-6, 1e-9])
def test_a_grid_too_fine_for_bounded_memory_is_refused(noise: float) -> None:
    case = precise_case(np.random.default_rng(1), 0.3, close=False)
    sharp = tuple((row[0], row[1], noise, *row[3:]) for row in case.parameters)
    gridded = replace(case, scores=(0.0, 1.0), grid=(-1.0, 0.0, 1.0, 2.0), bar=0.2)
    assert gridded.belief.weight.sum() == pytest.approx(1.0)
    with pytest.raises(InputError, match=r"paper 'p' needs .* nodes .* in the units of the scores\?"):
        _ = replace(gridded, parameters=sharp).belief
    with pytest.raises(InputError, match="nodes"):
        _ = replace(gridded, bar=1e9).belief


def test_a_tuple_too_unlikely_for_a_float_does_nothing_that_no_other_does() -> None:
    """Its true weight is not 0: an outcome that it alone had would name its reviewers for certain."""
    belief = Belief([0.6, 0.4, 0.0], [0.9, 0.8, 0.1])
    for guarantee in (
        Guarantee("none", epsilon=None),
        Guarantee("average", epsilon=None),
        STEADY,
        Guarantee("none", epsilon=None, never_against=0.85),
    ):
        policy, _ = certify(belief, np.array([1.0, 1.0, 0.0]), guarantee)
        assert policy.probability(2) == 1
        assert keeps_guarantee(belief, policy, guarantee)
    # A table that is better than the public decision keeps its range.
    divided = Belief([0.6, 0.4, 0.0], [0.9, 0.2, 0.1])
    policy, _ = certify(divided, np.array([0.75, 0.25, 0.0]), Guarantee("none", epsilon=None))
    assert policy.probability(2) == Fraction(1, 4)


def test_far_scores_leave_tuples_of_weight_zero_that_decide_like_others() -> None:
    """One candidate cannot have written these scores; alone it would be accepted."""
    row = (1.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0)
    rows = (row, (1.0, 0.3, 0.5, *row[3:]), (1.0, -60.0, 0.5, *row[3:]))
    case = PaperCase("p", (-1.0,), ("a", "b", "c"), (0.4, 0.4, 0.2), rows, 0.0)
    assert case.belief.weight[2] == 0.0
    assert case.belief.favor[2] > 0.5 > case.belief.favor[:2].max()
    plans = plan_conference(Conference((case,), 0.0, None, (False,)), Guarantee("none", epsilon=None))
    assert [plans[0].policy.probability(r) for r in range(3)] == [0, 0, 0]
