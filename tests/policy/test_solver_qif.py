"""Accept probabilities and audits against an independent library of optimal mechanisms (qif)."""

from __future__ import annotations

import numpy as np
import pytest

from blindcal import Belief, Policy, audit
from blindcal.adversaries.single_paper import bits
from blindcal.checks import Array
from blindcal.policy import solve
from blindcal.policy.guarantee import UNLIMITED, Guarantee
from sizes import count

qif = pytest.importorskip("qif")
pytestmark = pytest.mark.edge


def random_belief(rng: np.random.Generator, labels: int = 0) -> Belief:
    n = int(rng.integers(2, 7))
    slots = rng.integers(0, labels, (1, n)) if labels else None
    return Belief(rng.dirichlet(np.ones(n)), rng.random(n), slots)


def losses(belief: Belief) -> Array:
    return np.stack([1.0 - belief.favor, belief.favor], axis=-1)


def value(belief: Belief, channel: Array) -> float:
    return float((belief.weight[:, None] * channel * losses(belief)).sum())


def test_the_best_policy_at_a_success_agrees_with_qif() -> None:
    rng = np.random.default_rng(1)
    for _ in range(count(60, 600)):
        belief = random_belief(rng)
        loss, success = losses(belief), rng.uniform(belief.weight.max(), 1.0)
        channel = qif.mechanism.bayes_vuln.min_loss_given_max_vuln(
            belief.weight, 2, success, lambda r, d, loss=loss: float(loss[r, d])
        )
        found = solve(belief, UNLIMITED, success=success)
        assert found.error == pytest.approx(value(belief, channel), abs=1e-8)


def test_the_best_policy_with_labels_agrees_with_qif() -> None:
    rng = np.random.default_rng(2)
    for _ in range(count(60, 600)):
        belief = random_belief(rng, labels=3)
        assert belief.labels is not None
        loss, labels = losses(belief), belief.labels[0]
        success = rng.uniform(min(np.bincount(labels, belief.weight).max(), 1.0), 1.0)
        channel = qif.mechanism.g_vuln.min_loss_given_max_vuln(
            belief.weight,
            2,
            3,
            success,
            lambda y, r, labels=labels: float(labels[r] == y),
            lambda r, d, loss=loss: float(loss[r, d]),
        )
        found = solve(belief, UNLIMITED, success=success)
        assert found.error == pytest.approx(value(belief, channel), abs=1e-8)


def test_the_best_policy_at_an_epsilon_agrees_with_qif() -> None:
    rng = np.random.default_rng(3)
    for _ in range(count(60, 600)):
        belief = random_belief(rng)
        loss, epsilon = losses(belief), rng.uniform(0.1, 3.0)
        channel = qif.mechanism.d_privacy.min_loss_given_d(
            belief.weight,
            2,
            lambda a, b, epsilon=epsilon: epsilon * (a != b),
            lambda r, d, loss=loss: float(loss[r, d]),
        )
        found = solve(belief, Guarantee("none", epsilon=epsilon))
        assert found.error == pytest.approx(value(belief, channel), abs=1e-7)


def test_audit_agrees_with_qif() -> None:
    rng = np.random.default_rng(4)
    for _ in range(count(100, 1000)):
        belief = random_belief(rng)
        policy = Policy(rng.random(belief.weight.size))
        found = audit(belief, policy)
        channel = np.stack([policy.accept, 1.0 - policy.accept], axis=-1)
        assert float(found.success) == pytest.approx(
            qif.measure.bayes_vuln.posterior(belief.weight, channel), abs=1e-13
        )
        assert found.multiplier == pytest.approx(qif.measure.bayes_vuln.mult_capacity(channel), abs=1e-13)
        assert bits(belief, policy) == pytest.approx(
            qif.measure.shannon.add_leakage(belief.weight, channel), abs=1e-12
        )
