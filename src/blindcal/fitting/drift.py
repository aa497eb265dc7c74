"""Slopes and offsets that drift: a Kalman filter over the conferences of each reviewer, and draws backward.

(slope, offset) of a reviewer is a stationary Gaussian process over conferences. At each one it has the
population's mean and covariance, and n conferences apart it correlates by `persistence**n`. Given qualities
and noise, the scores of a visit (one reviewer at one conference) have the log likelihood `h'x - x'Px/2` of
x = (slope, offset). All below is exact, for all reviewers at once: the first visits of everybody, then the
second ones, and so on.

Arrays of distributions `[5, visit]` and of log likelihoods `[5, visit]` have the rows of
`blindcal.compute.mcmc`.
"""

from __future__ import annotations

import numpy as np

from blindcal.checks import Array, Integers
from blindcal.compute.mcmc import bivariate_draw, bivariate_posterior
from blindcal.fitting.history import Visits

_MEAN, _SPREAD = slice(0, 2), slice(2, 5)


def filtered(visits: Visits, observed: Array, population: Array, persistence: float) -> tuple[Array, float]:
    """(slope, offset) at each visit given the scores up to it, and the log evidence of all scores.

    `observed[5, visit]` are log likelihoods; `population[5]` is the distribution at a first visit. The
    evidence leaves out a constant that depends on the scores alone.
    """
    after, evidence = np.empty_like(observed), 0.0
    for rank, here in enumerate(visits.ranks):
        if rank == 0:
            prior = np.broadcast_to(population[:, None], observed[:, here].shape)
        else:
            prior = predicted(
                after[:, visits.before(rank)], population, persistence_over(persistence, visits.gap[here])
            )
        after[:, here], gained = bivariate_posterior(prior, observed[:, here])
        evidence += 0.5 * float(gained.sum())
    return after, evidence


def persistence_over(persistence: float, gap: Integers) -> Array:
    """The correlation of (slope, offset) with that of `gap` conferences ago."""
    return np.asarray(persistence**gap, dtype=np.float64)


def predicted(state: Array, population: Array, old: Array) -> Array:
    """The distribution of (slope, offset) some conferences later, which correlates by `old` with the present.

    >>> now = np.array([[2.0], [1.0], [0.0], [0.0], [0.0]])
    >>> predicted(now, np.array([1.0, 0, 4.0, 0, 2.0]), np.array([0.5]))
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


def sample_backward(
    visits: Visits, after: Array, population: Array, persistence: float, rng: np.random.Generator
) -> Array:
    """A joint draw `[2, visit]` of (slope, offset) at all visits, from the distributions of `filtered`."""
    drawn = np.empty((2, len(visits)))
    last = after[:, visits.last]
    drawn[:, visits.last] = bivariate_draw(last, rng.standard_normal(last[:2].shape))
    for rank in range(len(visits.ranks) - 1, 0, -1):
        here, before = visits.ranks[rank], visits.before(rank)
        state = _given_next(
            after[:, before], drawn[:, here], population, persistence_over(persistence, visits.gap[here])
        )
        drawn[:, before] = bivariate_draw(state, rng.standard_normal(state[:2].shape))
    return drawn


def _given_next(state: Array, following: Array, population: Array, old: Array) -> Array:
    """The filtered distribution of a visit, given the draw of the next visit: one more observation.

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
