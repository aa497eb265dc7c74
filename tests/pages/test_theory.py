"""What theory.md states, checked by means of their own: search, limits, symmetries, worked numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest

from blindcal import Affine, Belief, Policy, audit, frontier, pair_belief
from blindcal.adversaries import posterior
from blindcal.checks import Array
from blindcal.policy import epsilon_policy, evidence_policy, public_policy
from blindcal.policy.policy import missed_mass
from documents import ROOT, named
from general_program import least_loss
from sizes import count
from strategies import limits, random_beliefs


def losses(belief: Belief) -> Array:
    return np.stack([1.0 - belief.favor, belief.favor], axis=-1)


def least_error(belief: Belief, adversary_error: Array) -> Array:
    """The frontier's conference error at each adversary error; full calibration's to the left of it."""
    front = frontier(belief)
    rows = zip(adversary_error, front.adversary_error, front.conference_error, strict=True)
    return np.array([np.interp(a, x, y) for a, x, y in rows])


@pytest.mark.parametrize("secrets", [2, 3, 4, 6])
def test_the_cap_theorem_survives_a_search_for_better_policies(secrets: int) -> None:
    """Random policies, then random moves away from an optimum: none lies above the frontier."""
    rng = np.random.default_rng(secrets)
    belief = random_beliefs(rng, 400, secrets)
    front = frontier(belief)
    half = front.adversary_error[:, 0] + 0.5 * front.bought[:, -1]
    accept = front.policy(adversary_error=half).accept
    for step in [1.0] * 50 + list(np.geomspace(0.5, 1e-6, count(150, 3000))):
        moved = np.clip(accept + step * rng.normal(size=accept.shape), 0.0, 1.0)
        kept = np.where(rng.random(accept.shape) < 0.5, moved, accept)
        policy = Policy(kept)
        error = policy.conference_error(belief)
        assert (error >= least_error(belief, policy.adversary_error(belief)) - 1e-12).all()


def test_the_adversary_never_errs_more_than_from_the_scores_alone() -> None:
    rng = np.random.default_rng(1)
    for n in (2, 5):
        belief = random_beliefs(rng, 2000, n)
        policy = Policy(rng.random((2000, n)))
        assert (policy.adversary_error(belief) <= missed_mass(belief.weight, None) + 1e-15).all()


def test_exchanging_accept_and_reject_keeps_the_adversary_and_mirrors_the_conference() -> None:
    rng = np.random.default_rng(2)
    belief, accept = random_beliefs(rng, 500, 4), rng.random((500, 4))
    policy, opposite = Policy(accept), Policy(1.0 - accept)
    np.testing.assert_allclose(policy.adversary_error(belief), opposite.adversary_error(belief), atol=1e-15)
    total = policy.conference_error(belief) + opposite.conference_error(belief)
    np.testing.assert_allclose(total, 1.0, atol=1e-14)


def random_pair(
    rng: np.random.Generator, size: int, noise: float
) -> tuple[tuple[Affine, Affine], Array, Array]:
    one, two = (
        Affine(rng.uniform(0.4, 2.5, size), rng.normal(size=size), noise=noise * rng.uniform(0.5, 2.0, size))
        for _ in range(2)
    )
    return (one, two), rng.normal(size=(size, 2)) * 1.5, rng.uniform(0.1, 0.9, size)


def test_noise_to_zero_recovers_the_noiseless_frontier() -> None:
    rng = np.random.default_rng(3)
    (one, two), scores, prior = random_pair(rng, 2000, 0.0)
    exact = frontier(pair_belief((one, two), scores, prior=prior))
    errors = []
    for noise in (1e-2, 1e-4, 1e-6, 1e-8):
        loud = tuple(Affine(r.slope, r.offset, noise=noise) for r in (one, two))
        near = frontier(pair_belief((loud[0], loud[1]), scores, prior=prior))
        errors.append(
            np.maximum(
                np.abs(near.conference_error - exact.conference_error),
                np.abs(near.adversary_error - exact.adversary_error),
            )
        )
    # Away from ties the frontier converges; a tie within the noise is what is left.
    assert [np.mean(e > 1e-6) for e in errors] == sorted((np.mean(e > 1e-6) for e in errors), reverse=True)
    assert np.mean(errors[-1] > 1e-12) < 1e-3
    assert errors[-1].mean() < 1e-6


def test_a_noiseless_tie_is_the_limit_of_small_noise() -> None:
    exact = pair_belief((Affine(1.0), Affine(2.0)), [2.0, 1.0])
    near = pair_belief((Affine(1.0, noise=1e-9), Affine(2.0, noise=1e-9)), [2.0, 1.0])
    np.testing.assert_allclose(near.favor, exact.favor, atol=1e-6)
    np.testing.assert_allclose(
        frontier(near).conference_error[0], frontier(exact).conference_error[0], atol=1e-6
    )


def points(belief: Belief, share: Array) -> tuple[Array, Array, Array]:
    front = frontier(belief)
    wanted = front.adversary_error[..., 0] + share * front.bought[..., -1]
    policy = front.policy(adversary_error=wanted)
    return policy.accept, policy.conference_error(belief), policy.adversary_error(belief)


@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_swapping_papers_mirrors_policy_and_errors_and_swapping_reviewers_relabels_them(noise: float) -> None:
    """The other paper is then paper 1, or the other reviewer: the assignment that was A1 is A2."""
    rng = np.random.default_rng(4)
    (one, two), scores, prior = random_pair(rng, 5000, noise)
    share = rng.choice([0.0, 0.3, 1.0], 5000)
    accept, conference, adversary = points(pair_belief((one, two), scores, prior=prior), share)
    papers = pair_belief((one, two), scores[:, ::-1], prior=1.0 - prior)
    reviewers = pair_belief((two, one), scores, prior=1.0 - prior)
    for swapped, expected in ((papers, 1.0 - accept), (reviewers, accept)):
        other = points(swapped, share)
        np.testing.assert_allclose(other[0][:, ::-1], expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(other[1], conference, rtol=0, atol=1e-12)
        np.testing.assert_allclose(other[2], adversary, rtol=0, atol=1e-12)


def test_symmetric_pairs_are_randomized_equally() -> None:
    """Equal scores, reviewers of equal slope: both assignments cost the same, so both are randomized."""
    belief = pair_belief((Affine(1.0, 0.5, noise=0.3), Affine(1.0, -0.5, noise=0.3)), [0.7, 0.7])
    accept, _, _ = points(belief, np.asarray(0.6))
    assert accept[0] + accept[1] == pytest.approx(1.0, abs=1e-12)
    assert 0.0 < accept[0] < 0.5


def test_equal_reviewers_leave_nothing_to_hide() -> None:
    reviewer = Affine(1.3, 0.2, noise=0.5)
    front = frontier(pair_belief((reviewer, reviewer), [1.0, 0.4]))
    assert np.ptp(front.conference_error) == 0.0
    np.testing.assert_allclose(front.adversary_error, 0.5)


def test_an_average_can_hide_certainty() -> None:
    """Weights .6/.4, accept (1/3, 0): success stays .6, yet every acceptance names the secret."""
    belief, policy = Belief([0.6, 0.4], [0.9, 0.2]), Policy([1 / 3, 0.0])
    found = audit(belief, policy)
    assert float(found.success) == pytest.approx(0.6)
    assert found.largest_posterior == 1.0
    assert found.epsilon == np.inf
    np.testing.assert_allclose(posterior(belief, policy)[0], [1.0, 0.0])


def test_a_steady_decision_never_makes_the_best_guess_likelier() -> None:
    rng = np.random.default_rng(6)
    for _ in range(count(40, 400)):
        n = int(rng.integers(2, 7))
        weight, favor = rng.dirichlet(np.ones(n)), rng.random(n)
        labels = rng.integers(0, 3, (2, n))
        belief = Belief(weight, favor, labels)
        steady = least_loss(weight, losses(belief), labels, **limits(steady=True))
        policy = Policy(np.clip(steady.chance[:, 0], 0.0, 1.0))
        for slot in (0, 1):
            one = Belief(weight, favor, labels[slot : slot + 1])
            before = audit(one, public_policy(one)).largest_posterior
            assert audit(one, policy).largest_posterior <= before + 1e-7


def test_the_menu_is_ordered() -> None:
    """Public, steady, zero added success, full: each allows what the one before it does."""
    rng = np.random.default_rng(7)
    for _ in range(count(40, 400)):
        n = int(rng.integers(2, 8))
        belief = Belief(rng.dirichlet(np.ones(n)), rng.random(n))
        loss = losses(belief)
        public = float(public_policy(belief).conference_error(belief))
        steady = least_loss(belief.weight, loss, **limits(steady=True)).loss
        average = least_loss(belief.weight, loss, success=float(belief.weight.max())).loss
        full = float(evidence_policy(belief).conference_error(belief))
        assert public >= steady - 1e-9
        assert steady >= average - 1e-9
        assert average >= full - 1e-9


def test_epsilon_zero_is_the_public_decision() -> None:
    belief = random_beliefs(np.random.default_rng(8), 500, 4)
    np.testing.assert_allclose(
        epsilon_policy(belief, 0.0).conference_error(belief), public_policy(belief).conference_error(belief)
    )


def test_randomized_response_as_defined_in_appendix_b_mostly_lies() -> None:
    """Truth with probability 1/(1+gamma), gamma = e^eps: the useful one's epsilon and mirrored errors."""
    belief, epsilon = Belief([0.5, 0.5], [1.0, 0.0]), 1.5
    printed = Policy(np.array([1.0, np.exp(epsilon)]) / (1.0 + np.exp(epsilon)))
    useful = epsilon_policy(belief, epsilon)
    assert printed.epsilon == pytest.approx(epsilon)
    assert useful.epsilon == pytest.approx(epsilon)
    assert printed.conference_error(belief) == pytest.approx(1.0 - useful.conference_error(belief))
    assert printed.conference_error(belief) > 0.5


def test_the_adversary_error_printed_for_ties_is_off() -> None:
    """u = v, A1 a tie, A2 for paper 1, q = (.8, .6): the printed formula gives .5, the true error is .4."""
    q1, q2 = 0.8, 0.6
    accept = [0.5 * q1 + (1 - q1), q2 + 0.5 * (1 - q2)]
    belief = Belief([0.5, 0.5], [0.5, 1.0])
    printed = 0.5 * (0.5 * (1 - q1 / 2) + 0.5 * (0.5 + q2 / 2)) + 0.5 * (0.5 * q1 / 2 + 0.5 * (1 - q2) / 2)
    assert printed == pytest.approx(0.5)
    assert Policy(accept).adversary_error(belief) == pytest.approx(0.4)


def test_price_is_what_a_unit_of_privacy_costs() -> None:
    front = frontier(Belief([0.5, 0.3, 0.2], [0.9, 0.2, 0.1]))
    run, rise = np.diff(front.adversary_error)[:2], np.diff(front.conference_error)[:2]
    np.testing.assert_allclose(run, [0.1, 0.2])
    np.testing.assert_allclose(rise / run, [0.6, 0.8])


PAGE = (ROOT / "docs" / "explanation" / "theory.md").read_text(encoding="utf-8")
RESULT = r"(?:Definition|Theorem|Corollary|Proposition) \d+ \([^)]*\)"
ROWS = [
    tuple(cell.strip() for cell in line.strip("| ").split("|"))
    for line in PAGE.splitlines()
    if re.match(rf"\| {RESULT}", line)
]


def test_every_numbered_result_is_stated_once_and_listed_in_order() -> None:
    stated = re.findall(rf"\*\*({RESULT})", PAGE)
    assert len(stated) == len(set(stated)) > 15
    assert sorted(stated) == sorted(row[0] for row in ROWS)
    results = [int(row[0].split()[1]) for row in ROWS if not row[0].startswith("Definition")]
    assert results == list(range(1, len(results) + 1))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_result_has_its_function_and_its_test(row: tuple[str, ...]) -> None:
    if row[1] == "proof only":
        assert row[0] == "Proposition 15 (no easy bound)"
        return
    assert callable(named(row[1].strip("`")))
    file, _, test = row[2].strip("`").partition("::")
    assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8")
