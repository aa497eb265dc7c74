"""Tables planned under one model of reviewers, in a world with another: what was claimed, and what is true.

A certificate is exact for the adversary that believes the stated model. Here the adversary knows better: the
scores arose in a `World`, it weighs tuples by that world's likelihoods, and decisions follow the tables that
were planned without knowing it. What it gains is compared with what was claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, log_ndtr, logsumexp

from blindcal.audits.findings import named, paper_findings
from blindcal.audits.questions import rises
from blindcal.audits.views import View
from blindcal.beliefs.cases import PaperCase
from blindcal.checks import Array
from blindcal.errors import InputError

# Qualities further out than this are neglected; this many of them are summed over.
_REACH, _NODES = 8.0, 1601
QUALITIES = np.linspace(-_REACH, _REACH, _NODES)

Likelihood = Callable[[Array, Array, Array], Array]
"""`(score[slot], parameters[candidate, field], quality[node]) -> log density [slot, candidate, node]`."""


@dataclass(frozen=True)
class World:
    """How scores really arise: log density of a score given reviewer and quality, and of quality."""

    name: str
    log_score: Likelihood
    log_quality: Callable[[Array], Array]

    def weight(self, case: PaperCase, parameters: Array | None = None) -> Array:
        """What each tuple of a paper weighs in this world, by sums over quality; `parameters` are the true
        ones, where they are not those stated."""
        if not case.listed:
            raise InputError(f"the tuples of paper {case.paper!r} must be few enough to be listed")
        known = np.array(case.parameters) if parameters is None else parameters
        log_score = self.log_score(np.array(case.scores), known, QUALITIES)
        total = case.log_prior(case.tuples)[:, None] + self.log_quality(QUALITIES)
        for slot, who in enumerate(case.tuples.T):
            total = total + log_score[slot, who]
        log_weight = logsumexp(total, axis=1)
        return np.asarray(np.exp(log_weight - logsumexp(log_weight)))


@dataclass(frozen=True)
class Misfit:
    """Naming an author, mean over reviews, as claimed and as it is: from the scores and with decisions; and
    the most that a decision makes the best guess likelier."""

    world: str
    claimed_alone: float
    claimed: float
    alone: float
    success: float
    claimed_rise: float
    rise: float

    @property
    def claimed_added(self) -> float:
        return self.claimed - self.claimed_alone

    @property
    def added(self) -> float:
        return self.success - self.alone


def misfit(world: str, views: Sequence[View], weights: Sequence[Array], policy: str = "chosen") -> Misfit:
    """Views as they were planned, and what their tuples weigh in truth."""
    true = [view.believing(weight) for view, weight in zip(views, weights, strict=True)]
    claimed_alone, claimed, claimed_rise = _named(views, policy)
    alone, success, rise = _named(true, policy)
    return Misfit(world, claimed_alone, claimed, alone, success, claimed_rise, rise)


def _named(views: Sequence[View], policy: str) -> tuple[float, float, float]:
    """An author named from the scores and with decisions, mean over reviews, and the largest rise."""
    one = named(paper_findings("", views, policy), policy)
    return one.baseline, one.success, max(float(rises(view, view.mass(policy)).max()) for view in views)


def worst(found: Sequence[Misfit]) -> Misfit:
    """The world in which decisions add most beyond what was claimed."""
    return max(found, key=lambda one: one.added - one.claimed_added)


def affine(score: Array, parameters: Array, quality: Array) -> Array:
    """The stated model: N(slope q + offset, noise^2)."""
    slope, offset, noise = (column[None, :, None] for column in parameters.T[:3])
    gap = (score[:, None, None] - slope * quality - offset) / noise
    return np.asarray(-0.5 * gap**2 - np.log(noise))


def heavy_tailed(score: Array, parameters: Array, quality: Array, freedom: float = 4.0) -> Array:
    """Student's t around the same line, with the same standard deviation."""
    slope, offset, noise = (column[None, :, None] for column in parameters.T[:3])
    scale = noise * np.sqrt((freedom - 2.0) / freedom)
    gap = (score[:, None, None] - slope * quality - offset) / scale
    constant = gammaln((freedom + 1.0) / 2.0) - gammaln(freedom / 2.0) - 0.5 * np.log(freedom * np.pi)
    return np.asarray(constant - np.log(scale) - 0.5 * (freedom + 1.0) * np.log1p(gap**2 / freedom))


def curved(score: Array, parameters: Array, quality: Array) -> Array:
    """Reviewers who flatten out at both ends: slope where quality is 0, and half of it at about 1.8."""
    return affine(score, parameters, bent(quality))


def bent(quality: Array) -> Array:
    """
    >>> bent(np.array([0.0, 1.0, -2.0])).round(3)
    array([ 0.   ,  0.924, -1.523])
    """
    return np.asarray(2.0 * np.tanh(quality / 2.0))


def rounded_to(step: float) -> Likelihood:
    """Scores on a grid of this step, the nearest one, where the model takes them as exact."""

    def log_score(score: Array, parameters: Array, quality: Array) -> Array:
        slope, offset, noise = (column[None, :, None] for column in parameters.T[:3])
        middle = slope * quality + offset
        low, high = ((score[:, None, None] + side * step / 2 - middle) / noise for side in (-1, 1))
        # The difference of two normal chances, in the tail where both are small.
        upper, lower = np.where(low > 0.0, -low, high), np.where(low > 0.0, -high, low)
        with np.errstate(divide="ignore"):
            return np.asarray(log_ndtr(upper) + np.log(-np.expm1(log_ndtr(lower) - log_ndtr(upper))))

    return log_score


def normal(quality: Array) -> Array:
    return np.asarray(-0.5 * quality**2)


def two_humped(quality: Array, apart: float = 0.9) -> Array:
    """Half of the papers good and half of them bad, with mean 0 and variance 1."""
    spread = np.sqrt(1.0 - apart**2)
    humps = [-0.5 * ((quality - side * apart) / spread) ** 2 for side in (-1.0, 1.0)]
    return np.asarray(np.logaddexp(humps[0], humps[1]))


WORLDS = (
    World("as stated", affine, normal),
    World("heavy tails (t with 4 degrees of freedom)", heavy_tailed, normal),
    World("curved reviewers", curved, normal),
    World("rounded scores, rounding ignored", rounded_to(1.0), normal),
    World("two kinds of papers", affine, two_humped),
)
"""Worlds with the stated parameters. In another one the parameters differ: `World.weight` takes true ones."""
