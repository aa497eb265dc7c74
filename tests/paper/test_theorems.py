"""The paper's statements, each under its number: every case, every branch, and the printed slips."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from scipy.stats import norm

from blindcal import Affine, Belief, InputError, Policy, Rounded, frontier, pair_belief, paper
from blindcal.checks import Array
from blindcal.policy import epsilon_policy
from blindcal.reviewers import Logistic, chance_better
from general_program import least_loss
from sizes import count
from strategies import beliefs, random_beliefs

EIGHT_CASES = list(
    product(["u<v", "u>v"], ["Phi_1<1/2<Phi_2", "Phi_2<1/2<Phi_1"], ["1 cheaper", "2 cheaper"])
)


def noisy_case(case: tuple[str, str, str], rng: np.random.Generator) -> tuple[float, float, float, float]:
    """Random (u, v, Phi_1, Phi_2) of one of the eight noisy cases, u + v = 1."""
    light, heavy = sorted(rng.dirichlet([2.0, 2.0]))
    small, large = sorted(rng.uniform(0.02, 0.48, 2))
    u, v = (light, heavy) if case[0] == "u<v" else (heavy, light)
    lean_1, lean_2 = (small, large) if case[2] == "1 cheaper" else (large, small)
    sign = -1.0 if case[1] == "Phi_1<1/2<Phi_2" else 1.0
    return u, v, 0.5 + sign * lean_1, 0.5 - sign * lean_2


def belief_of(u: float, v: float, phi_1: float, phi_2: float) -> Belief:
    return Belief([u, v], [1.0 - phi_1, 1.0 - phi_2])


def least_error(belief: Belief, success: float) -> float:
    """The least conference error within a success, by a general program."""
    loss = np.stack([1.0 - belief.favor, belief.favor], axis=-1)
    return least_loss(belief.weight, loss, success=success).loss


def best_adversary_error(belief: Belief, conference_error: float) -> float:
    """By programs alone: bisection on success until the least error meets the allowed one."""
    low, high = float(belief.weight.max()), 1.0
    if least_error(belief, low) <= conference_error:
        return 1.0 - low
    for _ in range(45):
        middle = 0.5 * (low + high)
        if least_error(belief, middle) <= conference_error:
            high = middle
        else:
            low = middle
    return 1.0 - high


def scenarios(u: float, v: float, q1: float, q2: float) -> float:
    """The adversary's error from the proof's four scenarios, where A1 favors paper 1 and A2 paper 2."""
    wrong = 0.0
    wrong += u * q1 * (u * q1 < v * (1 - q2)) + v * (1 - q2) * (u * q1 >= v * (1 - q2))
    wrong += u * (1 - q1) * (u * (1 - q1) < v * q2) + v * q2 * (u * (1 - q1) >= v * q2)
    return wrong


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.01, 0.99))
def test_the_four_scenarios_are_the_adversary_error(q1: float, q2: float, u: float) -> None:
    belief = Belief([u, 1.0 - u], [0.9, 0.2])
    assert Policy([q1, 1.0 - q2]).adversary_error(belief) == pytest.approx(scenarios(u, 1.0 - u, q1, q2))


@given(beliefs(2, 2), st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)))
def test_proposition_4_1(belief: Belief, g: tuple[float, float]) -> None:
    """h, executed as the paper describes it (MAP, ties at random), is no worse than g on either error."""
    assert_no_worse(belief, g, Fraction(1, 10**12))


def assert_no_worse(belief: Belief, g: ArrayLike, roundoff: Fraction = Fraction(0)) -> None:
    h = paper.proposition_4_1(belief, g)
    assert ((h >= 0.0) & (h <= 1.0)).all()
    executed = errors_by_enumeration(belief.weight, belief.favor, executed_chances(belief.favor, h))
    given = errors_by_enumeration(belief.weight, belief.favor, [Fraction(x) for x in np.asarray(g)])
    assert executed[0] <= given[0] + roundoff
    assert executed[1] >= given[1] - roundoff


def executed_chances(favor: Array, h: Array) -> list[Fraction]:
    """Chance of accepting paper 1 under each assignment: MAP under the true one with chance h, else under the
    wrong one, and MAP at exactly 1/2 tosses a fair coin."""
    by_map = [Fraction(1) if f > 0.5 else Fraction(0) if f < 0.5 else Fraction(1, 2) for f in favor]
    true, wrong = by_map, by_map[::-1]
    return [Fraction(q) * a + (1 - Fraction(q)) * b for q, a, b in zip(h, true, wrong, strict=True)]


def errors_by_enumeration(weight: Array, favor: Array, accept: list[Fraction]) -> tuple[Fraction, Fraction]:
    """Both errors by going through assignment and decision in exact fractions, nothing of blindcal used."""
    conference, adversary = Fraction(0), Fraction(0)
    for paper_1 in (True, False):
        chances = [a if paper_1 else 1 - a for a in accept]
        mass = [Fraction(w) * p for w, p in zip(weight, chances, strict=True)]
        right = [Fraction(f) if paper_1 else 1 - Fraction(f) for f in favor]
        conference += sum((m * (1 - r) for m, r in zip(mass, right, strict=True)), start=Fraction(0))
        adversary += min(mass)
    return conference, adversary


def tied_beliefs(noise: float) -> Belief:
    """Whole scores 1 to 5 by reviewers whose offsets differ by 1 or 2, where an assignment ties."""
    offsets = np.array([(b1, b2) for b1 in (-1.0, 0.0, 1.0) for b2 in (-1.0, 0.0, 1.0) if b1 != b2])
    scores = np.array(list(product(range(1, 6), repeat=2)), dtype=np.float64)
    one, two = (Affine(1.3, offsets[:, None, k], noise=noise) for k in (0, 1))
    belief = pair_belief((one, two), scores[None])
    tied = (belief.favor == 0.5).any(axis=-1)
    return Belief(belief.weight[tied], belief.favor[tied])


@pytest.mark.parametrize("noise", [0.0, 0.7])
def test_proposition_4_1_at_ties(noise: float) -> None:
    """Thousands of strategies g at tied whole scores: under the paper's rule h is no worse, exactly."""
    rng = np.random.default_rng(41)
    belief = tied_beliefs(noise)
    assert len(belief.weight) == 44
    for weight, favor in zip(belief.weight, belief.favor, strict=True):
        for g in [*product([0.0, 0.5, 1.0], repeat=2), *rng.random((count(25, 100), 2))]:
            assert_no_worse(Belief(weight, favor), g)


def test_at_one_tie_the_tied_assignment_never_decides() -> None:
    belief = Belief([[0.6, 0.4]] * 4, [[0.5, 0.8], [0.3, 0.5], [0.5, 0.0], [0.5, 0.5]])
    h = paper.proposition_4_1(belief, [0.7, 0.1])
    np.testing.assert_array_equal(h, [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def test_a_quarter_of_whole_scores_tie_and_no_tie_ends_a_batch() -> None:
    """6 of 25 pairs of scores 1 to 5 tie where offsets are -1 and 1; every view takes all 25 at once."""
    scores = np.array(list(product(range(1, 6), repeat=2)), dtype=np.float64)
    belief = pair_belief((Affine(1.0, -1.0), Affine(1.0, 1.0)), scores)
    tied = (belief.favor == 0.5).any(axis=1)
    assert tied.sum() == 6
    for error in (0.0, 0.3, 1.0):
        found = paper.algorithm_1(belief, error)
        assert np.isin(found.branch[tied], [paper.PAPER_1, paper.PAPER_2]).all()
        np.testing.assert_array_equal(np.sort(found.q[tied], axis=1), [[0.0, 1.0]] * 6)
        line = paper.theorem_4_2(belief)
        np.testing.assert_array_equal(line.start[tied], line.end[tied])
        np.testing.assert_allclose(
            found.policy.adversary_error(belief)[tied], belief.weight[tied].min(axis=1)
        )
    mixed = paper.algorithm_2(belief, 0.05, 0.2)
    np.testing.assert_array_equal(mixed.accept[tied], paper.algorithm_1(belief, 1.0).policy.accept[tied])
    assert paper.theorem_4_3(belief, 1.0).shape == (25,)


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.5])
@pytest.mark.parametrize("far", [1.0, 100.0])
def test_every_constructed_tie_is_a_tie(noise: float, far: float) -> None:
    """s1 on the printed line of equal estimates, rounded: 2,000 of 2,000 are recognized, under A1 and A2; a
    score a millionth of a deviation away is none."""
    rng = np.random.default_rng(17)
    a1, a2 = rng.uniform(0.3, 3.0, (2, 2000))
    b1, b2 = rng.normal(size=(2, 2000)) * far
    n1, n2 = noise * rng.uniform(0.5, 1.5, (2, 2000))
    k1, k2 = a1**2 + n1**2, a2**2 + n2**2
    pair = Affine(a1, b1, n1), Affine(a2, b2, n2)
    for secret, (to, of) in enumerate((((a1, b1, k1), (a2, b2, k2)), ((a2, b2, k2), (a1, b1, k1)))):
        s2 = of[1] + rng.normal(size=2000)
        s1 = of[0] * to[2] * (s2 - of[1]) / (to[0] * of[2]) + to[1]
        assert (pair_belief(pair, np.stack([s1, s2], axis=-1)).favor[:, secret] == 0.5).all()
        for step in (-1e-6, 1e-6):
            near = pair_belief(pair, np.stack([s1 + step, s2], axis=-1)).favor[:, secret]
            assert (np.sign(near - 0.5) == np.sign(step)).all()


def test_curved_and_rounded_reviewers_tie_too() -> None:
    """Equal scores by equal reviewers, and scores on a line of equal qualities, without a closed form."""
    scale = np.arange(1.0, 6.0)
    same = np.stack([scale, scale], axis=-1)
    for reviewer in (Logistic(0.0, 6.0, 1.1, noise=0.4), Rounded(Affine(1.2, 3.0, noise=0.6), scale)):
        assert (pair_belief((reviewer, reviewer), same).favor == 0.5).all()
    shifted = Rounded(Affine(1.2, 3.0, noise=0.6), scale), Rounded(Affine(1.2, 4.0, noise=0.6), scale + 1.0)
    lead = chance_better(*shifted, np.stack([scale, scale + 1.0], axis=-1))
    assert (lead == 0.5).all()


def affine_pair(rng: np.random.Generator, size: int, noise: float) -> tuple[tuple[Affine, Affine], Array]:
    reviewers = tuple(
        Affine(rng.uniform(0.4, 2.5, size), rng.normal(size=size), noise=noise) for _ in range(2)
    )
    return (reviewers[0], reviewers[1]), rng.normal(size=(size, 2)) * 1.5


def test_theorem_4_2_in_both_parts() -> None:
    """Thresholds and densities as printed, from the reviewers' functions."""
    rng = np.random.default_rng(1)
    (one, two), scores = affine_pair(rng, 4000, 0.0)
    belief = pair_belief((one, two), scores)
    s1, s2 = scores.T
    bounds = np.stack([two.score(one.quality(s2)), one.score(two.quality(s2))])
    u = np.exp(one.log_marginal(s1) + two.log_marginal(s2))
    v = np.exp(two.log_marginal(s1) + one.log_marginal(s2))
    most = np.minimum(u, v) / (u + v)
    point = (s1 >= bounds.max(axis=0)) | (s1 <= bounds.min(axis=0))
    assert point.any()
    assert (~point).any()
    found = paper.theorem_4_2(belief)
    np.testing.assert_allclose(found.start[:, 0], 0.0, atol=1e-12)
    np.testing.assert_allclose(found.start[:, 1], np.where(point, most, 0.0), atol=1e-12)
    np.testing.assert_allclose(found.end[:, 0], np.where(point, 0.0, most), atol=1e-12)
    np.testing.assert_allclose(found.end[:, 1], most, atol=1e-12)


def test_theorem_4_2_counts_ties_as_no_error() -> None:
    """s1 = beta_2(beta_1^-1(s2)): equal qualities under A2, paper 1 better under A1."""
    one, two = Affine(1.0), Affine(2.0)
    belief = pair_belief((one, two), [2.0, 1.0])
    np.testing.assert_array_equal(belief.favor, [1.0, 0.5])
    found = paper.theorem_4_2(belief)
    np.testing.assert_allclose(found.start, [0.0, belief.weight.min()])
    np.testing.assert_allclose(found.end, found.start)
    assert frontier(belief).conference_error[0] == pytest.approx(0.5 * belief.weight[1])


DISAGREE = Belief([0.7, 0.3], [1.0, 0.0])


@pytest.mark.parametrize(
    ("belief", "allowed", "branch", "accept"),
    [
        pytest.param(Belief([0.7, 0.3], [1.0, 1.0]), 0.0, paper.PAPER_1, [1, 1], id="both for paper 1"),
        pytest.param(Belief([0.7, 0.3], [1.0, 0.5]), 0.0, paper.PAPER_1, [1, 1], id="tie and paper 1"),
        pytest.param(Belief([0.7, 0.3], [1.0, 0.5]), 1.0, paper.PAPER_1, [1, 1], id="tie, all allowed"),
        pytest.param(Belief([0.7, 0.3], [0.5, 0.5]), 0.0, paper.PAPER_1, [1, 1], id="two ties"),
        pytest.param(Belief([0.7, 0.3], [0.0, 0.0]), 0.0, paper.PAPER_2, [0, 0], id="both for paper 2"),
        pytest.param(Belief([0.7, 0.3], [0.0, 0.5]), 0.0, paper.PAPER_2, [0, 0], id="tie and paper 2"),
        pytest.param(DISAGREE, 1.0, paper.SATURATED, [1, 1], id="saturated"),
        pytest.param(DISAGREE, 0.3, paper.SATURATED, [1, 1], id="just saturated"),
        pytest.param(DISAGREE, 0.15, paper.INTERIOR, [1, 0.5], id="interior"),
        pytest.param(DISAGREE, 0.0, paper.INTERIOR, [1, 0], id="no error allowed"),
    ],
)
def test_algorithm_1_every_branch(belief: Belief, allowed: float, branch: str, accept: list[float]) -> None:
    found = paper.algorithm_1(belief, allowed)
    assert found.branch == branch
    np.testing.assert_allclose(found.policy.accept, accept, atol=1e-15)
    u, v = belief.weight
    if branch == paper.SATURATED:
        assert u * found.q[0] + v * found.q[1] == pytest.approx(max(u, v))
    if branch == paper.INTERIOR:
        assert 1.0 - (u * found.q[0] + v * found.q[1]) == pytest.approx(allowed)
    if branch in (paper.PAPER_1, paper.PAPER_2):
        tied = belief.favor == 0.5
        decides = np.where(tied, 0.0, 1.0) if tied.sum() == 1 else np.full(2, np.nan)
        np.testing.assert_array_equal(found.q, decides)


@given(beliefs(2, 2), st.floats(0.0, 1.0))
def test_theorem_4_3_algorithm_1_is_optimal(belief: Belief, allowed: float) -> None:
    certain = Belief(belief.weight, np.round(belief.favor))
    reached = paper.theorem_4_3(certain, allowed)
    most = best_adversary_error(certain, allowed + 1e-10)
    assert reached == pytest.approx(most, abs=1e-8)
    assert paper.algorithm_1(certain, allowed).policy.conference_error(certain) <= allowed + 1e-12


def test_theorem_4_4_algorithm_2_reaches_its_average() -> None:
    """On a finite list of equally likely scores: zeta, eta and the coin's averages, and no better list."""
    rng = np.random.default_rng(4)
    (one, two), scores = affine_pair(rng, 300, 0.0)
    belief = pair_belief((one, two), scores)
    full = paper.algorithm_1(belief, 0.0).policy
    saturated = paper.algorithm_1(belief, 1.0).policy
    zeta = float(saturated.conference_error(belief).mean())
    eta = float(full.adversary_error(belief).mean())
    for allowed in (0.0, 0.3 * zeta, zeta, 2.0 * zeta):
        policy = paper.algorithm_2(belief, allowed, zeta)
        assert policy.conference_error(belief).mean() == pytest.approx(min(allowed, zeta), abs=1e-12)
        stated = paper.theorem_4_4(allowed, zeta, eta)
        assert policy.adversary_error(belief).mean() == pytest.approx(stated, abs=1e-12)
        # Any other way to spend the same average: points anywhere on each instance's frontier.
        front = frontier(belief)
        spent = rng.dirichlet(np.ones(300)) * 300 * min(allowed, zeta)
        other = front.policy(conference_error=spent)
        assert other.adversary_error(belief).mean() <= stated + 1e-12


@pytest.mark.parametrize("case", EIGHT_CASES, ids=" ".join)
def test_theorem_4_5_in_all_eight_cases(case: tuple[str, str, str]) -> None:
    """One segment from (e0, 0) to (e0 + m*w, m), against programs, at five places of it."""
    rng = np.random.default_rng(EIGHT_CASES.index(case))
    for _ in range(5):
        u, v, phi_1, phi_2 = noisy_case(case, rng)
        belief = belief_of(u, v, phi_1, phi_2)
        found = paper.theorem_4_5(belief)
        least = u * min(phi_1, 1 - phi_1) + v * min(phi_2, 1 - phi_2)
        m, w = min(u, v), min(abs(2 * phi_1 - 1), abs(2 * phi_2 - 1))
        np.testing.assert_allclose(found.start, [least, 0.0], atol=1e-15)
        np.testing.assert_allclose(found.end, [least + m * w, m], atol=1e-15)
        for share in (0.0, 0.2, 0.5, 0.9, 1.0):
            assert least_error(belief, 1.0 - share * m) == pytest.approx(least + share * m * w, abs=1e-9)


def test_theorem_4_5_part_1_is_a_point() -> None:
    found = paper.theorem_4_5(belief_of(0.3, 0.7, 0.1, 0.4))
    np.testing.assert_allclose(found.start, [0.3 * 0.1 + 0.7 * 0.4, 0.3])
    np.testing.assert_allclose(found.end, found.start)


def test_theorem_4_5_regions_are_the_printed_lines() -> None:
    rng = np.random.default_rng(6)
    sigma = 0.6
    (one, two), scores = affine_pair(rng, 4000, sigma)
    s1, s2 = scores.T
    a1, b1, a2, b2 = one.slope, one.offset, two.slope, two.offset
    k1, k2 = a1**2 + sigma**2, a2**2 + sigma**2
    lines = np.stack([a2 * k1 * (s2 - b2) / (a1 * k2) + b1, a1 * k2 * (s2 - b1) / (a2 * k1) + b2])
    found = paper.theorem_4_5(pair_belief((one, two), scores))
    single = (found.end == found.start).all(axis=1)
    np.testing.assert_array_equal(single, (s1 >= lines.max(axis=0)) | (s1 <= lines.min(axis=0)))


@pytest.mark.parametrize("case", EIGHT_CASES, ids=" ".join)
def test_theorem_4_6_algorithm_3_in_all_eight_cases(case: tuple[str, str, str]) -> None:
    rng = np.random.default_rng(50 + EIGHT_CASES.index(case))
    for _ in range(3):
        u, v, phi_1, phi_2 = noisy_case(case, rng)
        belief = belief_of(u, v, phi_1, phi_2)
        line = paper.theorem_4_5(belief)
        for share, branch in ((0.0, paper.INTERIOR), (0.4, paper.INTERIOR), (1.0, paper.SATURATED)):
            allowed = float((1 - share) * line.start[0] + share * line.end[0]) + 1e-12 * (share == 1.0)
            found = paper.algorithm_3(belief, allowed)
            assert found.branch == branch
            assert found.policy.conference_error(belief) <= allowed + 1e-12
            reached = paper.theorem_4_6(belief, allowed)
            assert reached == pytest.approx(best_adversary_error(belief, allowed + 1e-11), abs=1e-7)
            cheaper = int(case[2] == "2 cheaper")
            bought = share * min(u, v)
            assert found.q[1 - cheaper] == 1.0
            assert found.q[cheaper] == pytest.approx(1.0 - bought / belief.weight[cheaper], abs=1e-9)


@pytest.mark.parametrize(
    ("belief", "allowed", "branch", "accept"),
    [
        pytest.param(belief_of(0.4, 0.6, 0.1, 0.3), 0.3, paper.PAPER_1, [1, 1], id="both for paper 1"),
        pytest.param(belief_of(0.4, 0.6, 0.5, 0.3), 0.4, paper.PAPER_1, [1, 1], id="tie and paper 1"),
        pytest.param(belief_of(0.4, 0.6, 0.9, 0.7), 0.3, paper.PAPER_2, [0, 0], id="both for paper 2"),
        pytest.param(belief_of(0.4, 0.6, 0.5, 0.7), 0.4, paper.PAPER_2, [0, 0], id="tie and paper 2"),
        pytest.param(belief_of(0.4, 0.6, 0.1, 0.7), 1.0, paper.SATURATED, [1, 2 / 3], id="saturated"),
        pytest.param(belief_of(0.4, 0.6, 0.1, 0.7), 0.28, paper.INTERIOR, [1, 0.25], id="interior"),
        pytest.param(belief_of(0.4, 0.6, 0.1, 0.7), 0.22, paper.INTERIOR, [1, 0], id="least error"),
    ],
)
def test_algorithm_3_every_branch(belief: Belief, allowed: float, branch: str, accept: list[float]) -> None:
    found = paper.algorithm_3(belief, allowed)
    assert found.branch == branch
    np.testing.assert_allclose(found.policy.accept, accept, atol=1e-12)


@pytest.mark.parametrize("phis", [(0.1, 0.7), (0.7, 0.1), (0.1, 0.3), (0.8, 0.9)])
def test_algorithm_3_refuses_errors_that_cannot_be_achieved(phis: tuple[float, float]) -> None:
    """Below e0, where the assignments disagree and, unlike the printed text, where they agree."""
    belief = belief_of(0.4, 0.6, *phis)
    least = float(paper.theorem_4_5(belief).start[0])
    with pytest.raises(InputError, match=r"cannot be achieved: the least achievable is 0\.\d"):
        paper.algorithm_3(belief, least - 1e-6)


def test_the_printed_q2_of_algorithm_3_is_infeasible_and_the_corrected_one_optimal() -> None:
    rng = np.random.default_rng(9)
    for _ in range(200):
        u, v, phi_1, phi_2 = noisy_case(("u<v", "Phi_1<1/2<Phi_2", "2 cheaper"), rng)
        printed = (v - u) * (1.0 - 2.0 * phi_2) / (u + v)
        assert printed < 0.0
        belief = belief_of(u, v, phi_1, phi_2)
        found = paper.algorithm_3(belief, 1.0)
        assert found.q == pytest.approx([1.0, 1.0 - u / v])
        assert found.policy.adversary_error(belief) == pytest.approx(u)
        assert found.policy.conference_error(belief) == pytest.approx(least_error(belief, v), abs=1e-9)


def test_how_many_of_the_eight_cases_each_printed_expression_covers() -> None:
    rng = np.random.default_rng(10)
    right = {"lower": 0, "saturation": 0, "interior q2": 0, "corrected q2": 0}
    for case in EIGHT_CASES:
        u, v, phi_1, phi_2 = noisy_case(case, rng)
        belief = belief_of(u, v, phi_1, phi_2)
        line = paper.theorem_4_5(belief)
        allowed = float(line.start[0] + 0.4 * (line.end[0] - line.start[0]))
        q = paper.algorithm_3(belief, allowed).q
        right["lower"] += u * phi_1 + v * (1 - phi_2) == pytest.approx(line.start[0])
        right["saturation"] += u * (phi_1 + 2 * phi_2 - 1) + v * (1 - phi_2) == pytest.approx(line.end[0])
        t = allowed - u * (1 - phi_1) - v * phi_2
        right["interior q2"] += (t - (2 * phi_1 - 1) * u) / ((1 - 2 * phi_2) * v) == pytest.approx(q[1])
        right["corrected q2"] += [1.0, 1 - u / v] == pytest.approx(paper.algorithm_3(belief, 1.0).q)
    # 1 - min(u,v)/v is what the correction amounts to; as printed in the proof it needs u <= v.
    assert right["lower"] == 4
    assert right["saturation"] == 1
    assert right["interior q2"] == 2
    assert right["corrected q2"] == 2


# --- Appendix B: randomized response, its epsilon, and why the paper's algorithms have none.


@given(st.floats(0.0, 8.0))
def test_proposition_b_3(epsilon: float) -> None:
    """The printed response and the useful one both keep exactly epsilon; only the latter is mostly true."""
    printed, useful = paper.definition_b_2(np.exp(epsilon)), paper.proposition_b_3(epsilon)
    np.testing.assert_allclose(printed.sum(axis=1), 1.0)
    for table in (printed, useful):
        assert paper.definition_b_1(table) == pytest.approx(epsilon, abs=1e-9)
    assert printed[0, 0] <= 0.5 <= useful[0, 0]
    assert useful[0, 0] == pytest.approx(np.exp(epsilon) / (1.0 + np.exp(epsilon)))


def test_definition_b_1_goes_through_all_outputs() -> None:
    """Against all sets of outputs of three, as the definition has it."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        table = rng.dirichlet(np.ones(3), 4)
        sets = [[bool(k >> d & 1) for d in range(3)] for k in range(1, 8)]
        chances = np.array([table[:, one].sum(axis=1) for one in sets])
        assert paper.definition_b_1(table) == pytest.approx(
            np.log(chances.max(axis=1) / chances.min(axis=1)).max()
        )
    assert paper.definition_b_1([[1.0, 0.0], [1.0, 0.0]]) == 0.0


def test_the_response_policy_keeps_epsilon_for_all_scores() -> None:
    belief = random_beliefs(np.random.default_rng(3), 200, 2)
    policy = paper.response_policy(belief, 1.0)
    assert (policy.epsilon <= 1.0 + 1e-12).all()
    disagree = np.sign(belief.favor - 0.5).sum(axis=1) == 0
    np.testing.assert_allclose(policy.epsilon[disagree], 1.0)
    # No policy with that epsilon errs less than the best one, which may also decide without the assignment.
    best = epsilon_policy(belief, 1.0).conference_error(belief)
    assert (policy.conference_error(belief) >= best - 1e-12).all()


def test_the_algorithms_have_no_epsilon_over_all_scores() -> None:
    belief = random_beliefs(np.random.default_rng(4), 500, 2)
    least = paper.theorem_4_5(belief).start[:, 0]
    found = paper.strategy_epsilon(paper.algorithm_3(belief, np.minimum(least + 0.05, 1.0)))
    assert np.isinf(found).any()
    assert (found[np.abs(np.sign(belief.favor - 0.5).sum(axis=1)) == 2] == 0.0).all()


def test_proposition_b_3_at_an_epsilon_whose_factor_is_no_float() -> None:
    """e^800 overflows and e^-800 is 0 as a float: the response is then always the truth."""
    assert paper.proposition_b_3([0.0, 800.0]).tolist() == [
        [[0.5, 0.5], [0.5, 0.5]],
        [[1.0, 0.0], [0.0, 1.0]],
    ]


# --- The setting in the paper's letters, against its printed formulas.


def test_the_setting_is_the_printed_one() -> None:
    """u and v from the densities of the scores, Phi_1 and Phi_2 from equations (4.1), sixty random pairs."""
    rng = np.random.default_rng(1)
    for _ in range(60):
        a_1, a_2, sigma = rng.uniform(0.3, 2.0, 3)
        b_1, b_2, s_1, s_2 = rng.normal(size=4)
        found = paper.to_letters(paper.setting([s_1, s_2], a_1, b_1, a_2, b_2, sigma))
        f_1, f_2 = (norm(b, np.hypot(a, sigma)).pdf for a, b in ((a_1, b_1), (a_2, b_2)))
        u, v = f_1(s_1) * f_2(s_2), f_2(s_1) * f_1(s_2)
        k_1, k_2 = a_1**2 + sigma**2, a_2**2 + sigma**2
        root = np.sqrt(sigma**2 * (a_1**2 + a_2**2 + 2 * sigma**2) * k_1 * k_2)
        phi_1 = norm.cdf((a_2 * k_1 * (s_2 - b_2) - a_1 * k_2 * (s_1 - b_1)) / root)
        phi_2 = norm.cdf((a_1 * k_2 * (s_2 - b_1) - a_2 * k_1 * (s_1 - b_2)) / root)
        expected = [u / (u + v), v / (u + v), phi_1, phi_2]
        assert [found.u, found.v, found.Phi_1, found.Phi_2] == pytest.approx(expected, abs=1e-12)


def test_without_noise_the_density_changes_variable() -> None:
    found = paper.to_letters(paper.setting([0.9, 0.4], 1.2, 0.6, 0.8, -0.6))
    f_1, f_2 = norm(0.6, 1.2).pdf, norm(-0.6, 0.8).pdf
    assert found.u / found.v == pytest.approx(f_1(0.9) * f_2(0.4) / (f_2(0.9) * f_1(0.4)))
    assert {float(found.Phi_1), float(found.Phi_2)} == {0.0, 1.0}


def test_letters_there_and_back() -> None:
    belief = paper.from_letters([0.3, 2.0], [0.9, 1.0], 0.2, [0.7, 0.6])
    found = paper.to_letters(belief)
    np.testing.assert_allclose(found.u, [0.25, 2 / 3])
    np.testing.assert_allclose(np.stack([found.Phi_1, found.Phi_2]), [[0.2, 0.2], [0.7, 0.6]])
