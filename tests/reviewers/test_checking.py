"""What `check_reviewer` accepts and which broken rule it names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from blindcal import Affine, InputError, Reviewer
from blindcal.checks import Array
from blindcal.reviewers import Logistic, PiecewiseLinear, Power, check_reviewer


@dataclass(frozen=True)
class Cubic(Reviewer):
    """score = t + t^3/10, with one fault if wanted."""

    fault: str = "none"

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", np.asarray(0.5))

    def score(self, quality: object) -> Array:
        t = np.asarray(quality, dtype=float)
        return -t if self.fault == "falls" else t + 0.1 * t**3

    def quality(self, score: object) -> Array:
        s = np.asarray(score, dtype=float)
        at = 2.0 * np.sqrt(10.0 / 3.0) * np.sinh(np.arcsinh(3.0 * s / 2.0 * np.sqrt(3.0 / 10.0)) / 3.0)
        return at + (0.1 if self.fault == "inverse" else 0.0)

    def derivative(self, quality: object) -> Array:
        return 1.0 + (0.2 if self.fault == "slope" else 0.3) * np.square(np.asarray(quality, dtype=float))

    def log_likelihood(self, score: object, quality: object) -> Array:
        return super().log_likelihood(score, quality) + (0.2 if self.fault == "mass" else 0.0)


@pytest.mark.parametrize(
    "reviewer",
    [
        Affine(1.2, 0.3, noise=0.5),
        Affine(1.2, 0.3),
        Logistic(1.0, 10.0, 1.0, noise=0.8),
        Power(1.5, 1.0, 0.2, noise=0.4),
        PiecewiseLinear([-1.0, 0.0, 1.0], [-2.0, 0.0, 0.5], noise=0.5),
        Cubic(),
    ],
    ids=lambda reviewer: type(reviewer).__name__,
)
def test_good_reviewers_pass(reviewer: Reviewer) -> None:
    check_reviewer(reviewer)


@pytest.mark.parametrize(
    ("fault", "rule"),
    [
        ("falls", "score must rise"),
        ("inverse", "quality must be the inverse"),
        ("slope", "derivative must be the slope"),
        ("mass", "the likelihood must integrate to 1 .*; log_likelihood must never be above log_ceiling"),
    ],
)
def test_every_fault_is_named(fault: str, rule: str) -> None:
    with pytest.raises(InputError, match=f"Cubic: .*{rule}"):
        check_reviewer(Cubic(fault))
