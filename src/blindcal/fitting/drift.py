"""Drift: how a reviewer's slope and offset move from one conference to the next.

(slope, offset) of a reviewer is a stationary Gaussian process over conferences. At each one it has the
population's mean and covariance, and n conferences apart it correlates by `persistence**n`. Given qualities
and noise, the scores of a visit (one reviewer at one conference) have the log likelihood `h'x - x'Px/2` of
x = (slope, offset). So a Kalman filter over the visits of each reviewer gives distributions, and draws
backward give values. All is exact, for all reviewers at once: the first visits of everybody, then the second
ones, and so on. The sampler that uses it is in `gibbs`.

Arrays of distributions `[5, visit]` and of log likelihoods `[5, visit]` have the rows of
`blindcal.compute.mcmc`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from blindcal.checks import Array, Integers
from blindcal.compute.mcmc import bivariate_draw, bivariate_posterior

PERSISTENCE = (4.0, 1.0)  # a Beta prior: correlations from one conference to the next around 0.8
LOWEST, HIGHEST = 0.01, 0.999  # no persistence beyond these is drawn
_MEAN, _SPREAD = slice(0, 2), slice(2, 5)


@dataclass(frozen=True, eq=False)
class Visits:
    """Who came to which conference, first visits of everyone first, then second ones, and so on.

    `conference` counts those that only shared sums too: it is a time. Visits number `starts[k]` to
    `starts[k + 1]` are the k-th ones, of reviewers 0, 1, 2, ... without a gap: reviewers are numbered by how
    often they came. `gap` is how many conferences ago the visit before was.
    """

    reviewer: Integers
    conference: Integers
    gap: Integers
    starts: tuple[int, ...]
    last: Integers

    def __len__(self) -> int:
        return len(self.reviewer)

    @property
    def returns(self) -> list[tuple[slice, slice]]:
        """Second visits and the visits before these, one by one; third visits and the visits before; ..."""
        ranks = zip(self.starts, self.starts[1:], self.starts[2:], strict=False)
        return [(slice(here, end), slice(before, before + end - here)) for before, here, end in ranks]

    @property
    def ago(self) -> Integers:
        """How many conferences before the next one each reviewer came last."""
        return np.asarray(self.conference.max() + 1 - self.conference[self.last])


def visits_by_rank(reviewer: Integers, conference: Integers, people: int) -> tuple[Visits, Integers]:
    """Visits by rank and reviewer, and the visit of each row."""
    size = int(conference.max()) + 1
    pair, row_pair = np.unique(reviewer * size + conference, return_inverse=True)
    who, time = pair // size, pair % size
    begin = np.concatenate([[0], np.cumsum(np.bincount(who, minlength=people))])
    rank = np.arange(len(pair)) - begin[who]
    order = np.lexsort((who, rank))
    number = np.argsort(order)
    gap = np.where(rank > 0, np.diff(time, prepend=0), 0)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rank))])
    last = number[begin[1:] - 1]
    visits = Visits(who[order], time[order], gap[order], tuple(starts.tolist()), last)
    return visits, number[row_pair]


def log_prior_of_persistence(persistence: float) -> float:
    """Log density of the logit of persistence."""
    up, down = PERSISTENCE
    return float(up * np.log(persistence) + down * np.log1p(-persistence))


def filtered(visits: Visits, observed: Array, population: Array, persistence: float) -> tuple[Array, float]:
    """(slope, offset) at each visit given the scores up to it, and the log evidence of all scores.

    `observed[5, visit]` are log likelihoods; `population[5]` is the distribution at a first visit. The
    evidence leaves out a constant that depends on the scores alone.
    """
    after, first = np.empty_like(observed), slice(visits.starts[1])
    prior = np.broadcast_to(population[:, None], observed[:, first].shape)
    after[:, first], gained = bivariate_posterior(prior, observed[:, first])
    evidence = 0.5 * float(gained.sum())
    for here, before in visits.returns:
        prior = predicted(after[:, before], population, persistence, visits.gap[here])
        after[:, here], gained = bivariate_posterior(prior, observed[:, here])
        evidence += 0.5 * float(gained.sum())
    return after, evidence


def predicted(state: Array, population: Array, persistence: float, gap: Integers) -> Array:
    """The distribution of (slope, offset) `gap` conferences later.

    >>> now = np.array([[2.0], [1.0], [0.0], [0.0], [0.0]])
    >>> predicted(now, np.array([1.0, 0, 4.0, 0, 2.0]), 0.5, np.array([1]))
    array([[1.5],
           [0.5],
           [3. ],
           [0. ],
           [1.5]])
    """
    base, old = population[:, None], persistence**gap
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
    for here, before in reversed(visits.returns):
        old = persistence ** visits.gap[here]
        state = _given_next(after[:, before], drawn[:, here], population, old)
        drawn[:, before] = bivariate_draw(state, rng.standard_normal(state[:2].shape))
    return drawn


def _given_next(state: Array, following: Array, population: Array, old: Array) -> Array:
    """The filtered distribution of a visit, given the draw of the next visit: one more observation.

    `following - (1 - old) mean = old * state + N(0, (1 - old^2) covariance)`.
    """
    aa, ab, bb = population[_SPREAD]
    det = (aa * bb - ab * ab) * (1.0 - old**2)
    ya, yb = following - (1.0 - old) * population[_MEAN, None]
    pull = old * (bb * ya - ab * yb) / det, old * (aa * yb - ab * ya) / det
    precision = old**2 * bb / det, -(old**2) * ab / det, old**2 * aa / det
    observed = np.stack([*pull, *precision])
    return bivariate_posterior(state, observed)[0]


def persistence_to_previous(visits: Visits, persistence: float) -> Array:
    """The correlation of (slope, offset) at each visit with that of the visit before; 0 for a first visit."""
    return np.where(visits.gap > 0, persistence**visits.gap, 0.0)


def innovations(visits: Visits, value: Array, old: Array) -> Array:
    """Each visit's value less what the visit before predicts, with which it correlates by `old`."""
    news = value.copy()
    for here, before in visits.returns:
        news[here] -= old[here] * value[before]
    return news
