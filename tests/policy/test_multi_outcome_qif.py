"""The general program against an independent library of optimal mechanisms (qif)."""

from __future__ import annotations

import numpy as np
import pytest

from blindcal import Policy, audit
from blindcal.adversaries.single_paper import bits
from blindcal.checks import Array
from blindcal.policy import least_loss
from blindcal.posterior.belief import Belief
from sizes import count
from strategies import limits

qif = pytest.importorskip("qif")
pytestmark = pytest.mark.edge


def random_case(rng: np.random.Generator) -> tuple[Array, Array]:
    n, decisions = rng.integers(2, 7), rng.integers(2, 5)
    return rng.dirichlet(np.ones(n)), rng.random((n, decisions))


def value(weight: Array, loss: Array, channel: Array) -> float:
    return float((weight[:, None] * channel * loss).sum())


def test_least_loss_at_a_success_agrees_with_qif() -> None:
    rng = np.random.default_rng(1)
    for _ in range(count(60, 600)):
        weight, loss = random_case(rng)
        success = rng.uniform(weight.max(), 1.0)
        channel = qif.mechanism.bayes_vuln.min_loss_given_max_vuln(
            weight, loss.shape[1], success, lambda r, d, loss=loss: float(loss[r, d])
        )
        assert least_loss(weight, loss, success=success).loss == pytest.approx(
            value(weight, loss, channel), abs=1e-8
        )


def test_least_loss_with_labels_agrees_with_qif() -> None:
    rng = np.random.default_rng(2)
    for _ in range(count(60, 600)):
        weight, loss = random_case(rng)
        labels = rng.integers(0, 3, weight.size)
        top = np.bincount(labels, weight).max()
        success = rng.uniform(min(top, 1.0), 1.0)
        channel = qif.mechanism.g_vuln.min_loss_given_max_vuln(
            weight,
            loss.shape[1],
            3,
            success,
            lambda y, r, labels=labels: float(labels[r] == y),
            lambda r, d, loss=loss: float(loss[r, d]),
        )
        assert least_loss(weight, loss, labels[None, :], success=success).loss == pytest.approx(
            value(weight, loss, channel), abs=1e-8
        )


def test_least_loss_at_an_epsilon_agrees_with_qif() -> None:
    rng = np.random.default_rng(3)
    for _ in range(count(60, 600)):
        weight, loss = random_case(rng)
        epsilon = rng.uniform(0.1, 3.0)
        channel = qif.mechanism.d_privacy.min_loss_given_d(
            weight,
            loss.shape[1],
            lambda a, b, epsilon=epsilon: epsilon * (a != b),
            lambda r, d, loss=loss: float(loss[r, d]),
        )
        assert least_loss(weight, loss, **limits(epsilon=epsilon)).loss == pytest.approx(
            value(weight, loss, channel), abs=1e-7
        )


def test_audit_agrees_with_qif() -> None:
    rng = np.random.default_rng(4)
    for _ in range(count(100, 1000)):
        n = int(rng.integers(2, 9))
        weight, accept = rng.dirichlet(np.ones(n)), rng.random(n)
        belief, policy = Belief(weight, rng.random(n)), Policy(accept)
        found = audit(belief, policy)
        channel = np.stack([accept, 1.0 - accept], axis=-1)
        assert float(found.success) == pytest.approx(
            qif.measure.bayes_vuln.posterior(weight, channel), abs=1e-13
        )
        assert found.multiplier == pytest.approx(qif.measure.bayes_vuln.mult_capacity(channel), abs=1e-13)
        assert bits(belief, policy) == pytest.approx(
            qif.measure.shannon.add_leakage(weight, channel), abs=1e-12
        )
