"""Slopes and offsets that drift from visit to visit: what past scores say about them, forward and back.

(slope, offset) of a reviewer is a stationary Gaussian process over conferences: at each one it has the
population's mean and covariance, and n conferences apart it correlates by `persistence**n`. Given qualities
and noise, the scores of a visit have the log likelihood `-1/2 x'Px + h'x` for x = (slope, offset). All below
is exact (Kalman filter, and drawing backward), for all reviewers at once.
"""

from __future__ import annotations

import numpy as np

from blindcal.checks import Array, Integers
from blindcal.compute.mcmc import bivariate_draw, bivariate_posterior
from blindcal.fitting.history import Visits

# Rows of an array of Gaussians: means of slope and offset, variance of slope, covariance, variance of offset.
# Rows of an array of what scores say: h of slope and offset, then P in the same order.
_MEAN, _SPREAD = slice(0, 2), slice(2, 5)


def filtered(visits: Visits, observed: Array, population: Array, persistence: float) -> tuple[Array, float]:
    """(slope, offset) at each visit given the scores up to it, and the log evidence of all scores (up to a
    constant that depends on nothing but the scores).

    `observed[5, visit]`, `population[5]` and what is returned have the rows that stand above.
    """
    after, evidence = np.empty_like(observed), 0.0
    for rank, here in enumerate(visits.ranks):
        if rank == 0:
            prior = np.broadcast_to(population[:, None], observed[:, here].shape)
        else:
            prior = later(after[:, visits.before(rank)], population, kept(persistence, visits.gap[here]))
        after[:, here], gained = bivariate_posterior(prior, observed[:, here])
        evidence += 0.5 * float(gained.sum())
    return after, evidence


def kept(persistence: float, gap: Integers) -> Array:
    """How habits correlate with those of `gap` conferences ago."""
    return np.asarray(persistence**gap, dtype=np.float64)


def later(state: Array, population: Array, old: Array) -> Array:
    """(slope, offset) some conferences later, when its correlation with the present one is `old`.

    >>> later(np.array([[2.0], [1.0], [0.0], [0.0], [0.0]]), np.array([1.0, 0, 4.0, 0, 2.0]), np.array([0.5]))
    array([[1.5],
           [0.5],
           [3. ],
           [0. ],
           [1.5]])
    """
    base = population[:, None]
    moved = np.empty_like(state)
    moved[_MEAN] = base[_MEAN] + old * (state[_MEAN] - base[_MEAN])
    moved[_SPREAD] = old**2 * state[_SPREAD] + (1.0 - old**2) * base[_SPREAD]
    return moved


def drawn_back(
    visits: Visits, after: Array, population: Array, persistence: float, rng: np.random.Generator
) -> Array:
    """A joint draw of (slope, offset) at all visits, from what `filtered` returns: `[2, visit]`."""
    drawn = np.empty((2, len(visits)))
    given = after[:, visits.last]
    drawn[:, visits.last] = bivariate_draw(given, rng.standard_normal(given[:2].shape))
    for rank in range(len(visits.ranks) - 1, 0, -1):
        here, before = visits.ranks[rank], visits.before(rank)
        given = _given_next(after[:, before], drawn[:, here], population, kept(persistence, visits.gap[here]))
        drawn[:, before] = bivariate_draw(given, rng.standard_normal(given[:2].shape))
    return drawn


def _given_next(state: Array, following: Array, population: Array, old: Array) -> Array:
    """The filtered state of a visit, given the drawn one of the next: one more observation of it.

    `following - (1 - old) mean = old * state + N(0, (1 - old^2) covariance)`.
    """
    aa, ab, bb = population[_SPREAD]
    det = (aa * bb - ab * ab) * (1.0 - old**2)
    ya, yb = following - (1.0 - old) * population[_MEAN, None]
    observed = np.stack(
        [
            old * (bb * ya - ab * yb) / det,
            old * (aa * yb - ab * ya) / det,
            old**2 * bb / det,
            -(old**2) * ab / det,
            old**2 * aa / det,
        ]
    )
    return bivariate_posterior(state, observed)[0]
