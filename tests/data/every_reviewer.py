"""One reviewer of each kind, none of them symmetric."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

import blindcal as bc

COVARIANCE = [[0.2, 0.05], [0.05, 0.1]]


def curves(noise: float) -> dict[str, bc.Reviewer]:
    """One of each kind, none of them symmetric."""
    return {
        "affine": bc.Affine(1.3, 0.4, noise),
        "power": bc.reviewers.Power(1.5, 0.7, 0.2, noise),
        "timid power": bc.reviewers.Power(0.6, 1.7, -0.2, noise),
        "cubic": bc.reviewers.Power(3.0, 0.5, 0.3, noise),
        "pieces": bc.reviewers.PiecewiseLinear([-1.0, 0.3, 0.5, 2.0], [0.0, 0.2, 1.4, 1.9], noise),
        "logistic": bc.reviewers.Logistic(1.0, 10.0, 1.2, 0.3, noise),
        "steep logistic": bc.reviewers.Logistic(1.0, 10.0, 6.0, -5.0, noise),
        "callable": bc.reviewers.Monotone(lambda t: t + 0.9 * np.sin(t), noise=noise),
    }


def noisy() -> list[tuple[str, bc.Reviewer]]:
    uncertain = {
        "uncertain": bc.Affine(1.3, 0.4, 0.3, COVARIANCE),
        "uncertain, no noise": bc.Affine(1.3, 0.4, 0.0, COVARIANCE),
        "uncertain slope": bc.Affine(0.8, 0.1, 0.05, [[1.0, 0.0], [0.0, 0.0]]),
    }
    return [
        *((f"{name} {noise}", r) for noise in (0.05, 0.5, 2.0) for name, r in curves(noise).items()),
        *uncertain.items(),
    ]


def on_grid() -> list[tuple[str, bc.Rounded]]:
    grid = [-1.5, 0.0, 0.5, 2.0, 6.0]
    return [
        (name, bc.Rounded(r, grid)) for name, r in [*curves(0.0).items(), *noisy()] if "no noise" not in name
    ]


def named(cases: list[tuple[str, bc.Reviewer]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("reviewer", [r for _, r in cases], ids=[name for name, _ in cases])


def integral(log_density, low: float, high: float, points: list[float]) -> float:
    inside = sorted(p for p in points if low < p < high)
    return sum(
        quad(lambda x: float(np.exp(log_density(x))), a, b, epsabs=1e-13, epsrel=1e-12, limit=200)[0]
        for a, b in zip([low, *inside], [*inside, high], strict=True)
    )
