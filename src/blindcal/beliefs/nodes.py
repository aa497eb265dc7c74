"""A paper with a large pool -> nodes of a quadrature over its quality, with everybody's likelihood there.

Evenly spaced nodes: for smooth integrands that die out at both ends no rule is better. The distance is half
the standard deviation of the sharpest posterior there can be, where sums over the nodes are off by less than
e^-78 of themselves, and the part above the bar, which takes the nodes' values for those of a function without
higher frequencies, by less than e^-19.

Panels that meet at the bar, as `weighing` has them, need nearly twice as many nodes, and here each node costs
as much as all tuples of a small pool. There they are worth it: a listed tuple's favor has all its digits, and
the sums below and above the bar are parts of one matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

import numpy as np
from scipy.special import sici

from blindcal.assignments.priors import copied, log_odds, seats
from blindcal.beliefs.weighing import Weighed, likelihoods, spacing
from blindcal.checks import Array

_APART = 0.5
# Where there are many nodes, the mass is looked for at every this many of them; what is this many orders of e
# below the most is no float.
_MANY, _COARSE, _FAR = 256, 8, 740.0
Slots = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Nodes:
    """A quadrature over quality: `likelihood[slot, candidate, node]`, odds included, is at most 1, and
    `mass[node]` the rest of the integrand. `above[node]` is the part of each that counts above the bar: close
    to 0 or 1, but near the bar.

    `forced` candidates certainly wrote a review. Those in `peeled` are seated one by one, without any
    subtraction: the forced ones, and whoever would be taken for the author of several reviews at once.
    """

    likelihood: Array
    mass: Array
    above: Array
    forced: frozenset[int] = frozenset()
    peeled: Slots = ()

    @property
    def slots(self) -> Slots:
        return tuple(range(len(self.likelihood)))


def worked_case() -> tuple[Nodes, Array]:
    """A case small enough to follow by hand, which the docstrings of `sums` and `crowds` carry through: two
    reviews, candidates a, b and c, one node; and the steps that each candidate takes in each slot.

    >>> nodes, steps = worked_case()
    >>> nodes.likelihood[:, :, 0]
    array([[0.5 , 0.25, 1.  ],
           [1.  , 0.5 , 0.25]])
    >>> steps
    array([[0. , 1. , 1.5],
           [0. , 1. , 1.5]])
    """
    likelihood = np.array([[[0.5], [0.25], [1.0]], [[1.0], [0.5], [0.25]]])
    return Nodes(likelihood, mass=np.ones(1), above=np.ones(1)), np.array([[0.0, 1.0, 1.5]] * 2)


def all_nodes(case: Weighed) -> tuple[Nodes, float]:
    """Each review's likelihood at each node, odds counted in, and the log of what their mass was divided
    by."""
    apart, reach = spacing(case, _APART)
    reviews = len(case.scores)
    odds = np.asarray(log_odds(copied(case.inclusion, reviews, case.outsider), reviews))
    forced = np.isposinf(odds)
    odds = np.where(forced, 0.0, odds)
    # The bar lies midway between two nodes.
    ends = floor((-reach - case.bar) / apart), ceil((reach - case.bar) / apart)
    steps = np.arange(*ends, dtype=np.float64) + 0.5
    stride = _COARSE if steps.size > _MANY else 1
    likelihood, log_mass = _log_likelihood(case, odds, case.bar + apart * steps[::stride])
    some = _telling(log_mass, steps.size, stride)
    steps = steps[some]
    if stride > 1:
        likelihood, log_mass = _log_likelihood(case, odds, case.bar + apart * steps)
    else:
        likelihood, log_mass = likelihood[:, :, some], log_mass[some]
    mass = np.exp(log_mass - log_mass.max())
    above = 0.5 + sici(np.pi * steps)[0] / np.pi
    sure = frozenset(np.flatnonzero(forced).tolist())
    return Nodes(np.exp(likelihood), mass, above, sure), float(log_mass.max() + np.log(apart))


def _log_likelihood(case: Weighed, odds: Array, quality: Array) -> tuple[Array, Array]:
    """`[slot, seat, node]` log likelihood beside the likeliest one's, odds counted in, and `[node]` what was
    taken off, with the log density of the quality."""
    each = likelihoods(case, quality)[:, seats(len(case.candidates), len(case.scores), case.outsider)]
    each += odds[:, None]
    top = each.max(axis=1)
    return each - top[:, None], -0.5 * quality**2 + top.sum(axis=0)


def _telling(log_mass: Array, size: int, stride: int) -> slice:
    """The nodes between which the mass lies, from that at every `stride`-th of them."""
    kept = np.flatnonzero(log_mass > log_mass.max() - _FAR)
    if not kept.size:
        return slice(0, size)
    return slice(max(0, stride * (int(kept[0]) - 2)), stride * (int(kept[-1]) + 2) + 1)
