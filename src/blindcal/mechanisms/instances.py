"""The instances: pairs, papers with pools, matchings and one conference, the same numbers for everybody.

Each is a tuple of beliefs, one per paper, made from stated reviewers and scores. In a matching everybody
reviewed one paper: `assignments[matching, paper]` lists who may have reviewed what, and `chance[matching]` is
the probability of each given the scores, for an adversary who knows that papers are coupled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import permutations

import numpy as np

from blindcal.beliefs.belief import Belief
from blindcal.checks import Array, Integers
from blindcal.errors import InputError
from blindcal.paper.letters import setting
from blindcal.reviewers.affine import Affine
from blindcal.reviewers.quality import posterior_tail
from blindcal.simulations.drawing import (
    Population,
    nips_2014_population,
    pooled_conference,
    prototype_population,
)

# The upper quartile of N(0, 1), as elsewhere.
_BAR = 0.6745


@dataclass(frozen=True, eq=False)
class Instance:
    """Papers that are decided one by one; `assignments` and `chance` are given where a matching couples them.

    `name`: one of `INSTANCES`.
    `beliefs`: one per paper.
    `assignments[matching, paper]`: who reviewed each paper in each matching, as the number of a secret.
    `chance[matching]`: the probability of each matching given the scores.
    """

    name: str
    beliefs: tuple[Belief, ...]
    assignments: Integers | None = None
    chance: Array | None = None


def _pair(name: str, scores: tuple[float, float], sigma: float) -> Instance:
    belief = setting(scores, a_1=1.2, b_1=0.6, a_2=0.8, b_2=-0.6, sigma=sigma)
    return Instance(name, (belief,))


def _pools(name: str, papers: int, pool: int, reviews: int, population: Population, seed: int) -> Instance:
    """Papers whose pools hardly overlap."""
    rng = np.random.default_rng(seed)
    drawn = pooled_conference(rng, papers, pool, reviews, population, reviewers=40 * papers)
    return Instance(name, tuple(case.belief for case in drawn.cases(_BAR)))


def _matching(name: str, papers: int, seed: int) -> Instance:
    """As many reviewers as papers, one review each, every matching equally likely, bar 0."""
    rng = np.random.default_rng(seed)
    population = prototype_population()
    slope, offset, noise = population.parameters(rng, (papers,))
    score = population.scores(rng, rng.standard_normal(papers), slope, offset, noise)
    people = Affine(slope, offset, noise)
    density = np.exp(people.log_marginal(score[:, None]))
    favor = posterior_tail([people], score[:, None, None], 0.0)
    assignments = np.array(list(permutations(range(papers))))
    chance = density[np.arange(papers), assignments].prod(axis=1)
    weight = density / density.sum(axis=1, keepdims=True)
    beliefs = tuple(Belief(weight[i], favor[i]) for i in range(papers))
    return Instance(name, beliefs, assignments, chance / chance.sum())


_MAKERS: dict[str, Callable[[str], Instance]] = {
    "pair without noise": partial(_pair, scores=(0.9, 0.4), sigma=0.0),
    "pair with noise": partial(_pair, scores=(0.9, 0.4), sigma=0.5),
    "pair near a tie": partial(_pair, scores=(1.2, 0.2), sigma=0.5),
    "papers, pools of 4": partial(
        _pools, papers=12, pool=4, reviews=2, population=prototype_population(), seed=11
    ),
    "papers, pools of 8": partial(
        _pools, papers=8, pool=8, reviews=2, population=prototype_population(), seed=12
    ),
    "matching of 2": partial(_matching, papers=2, seed=21),
    "matching of 3": partial(_matching, papers=3, seed=22),
    "matching of 4": partial(_matching, papers=4, seed=23),
    "conference": partial(_pools, papers=30, pool=5, reviews=3, population=nips_2014_population(), seed=31),
}
INSTANCES = tuple(_MAKERS)


@cache
def instance(name: str) -> Instance:
    """An instance by its `name`, one of `INSTANCES`; it is made once, and always the same.

    >>> found = instance("matching of 3")
    >>> len(found.beliefs), found.assignments.shape, round(float(found.chance.sum()), 12)
    (3, (6, 3), 1.0)
    """
    if name not in _MAKERS:
        raise InputError(f"an instance must be one of {'; '.join(INSTANCES)}, found {name!r}")
    return _MAKERS[name](name)
