"""Releases made again and again for other true reviewers, by whatever system: does anything but the decisions
depend on them, and is every decision a toss of its own?

What is public must be a function of public data and decisions, and tables of public data alone. So the same
public data are released for many assignments and keys (`Trial`), and three things are looked for: tables that
move with the truth (parameters fitted on the reviews being decided move them too), public texts that differ
where the decisions do not (rows in the order of processing), and decisions that go together (a coin that is
used twice) or that come more or less often than the tables say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtri

from blindcal.checks import Array
from blindcal.errors import InputError

FALSE_ALARM = 1e-6
"""How often a sound system is suspected for its coins, over all papers and pairs of papers together."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One release of the same public data: its tables, one for each paper; the chance of accepting each paper
    under the true reviewers of this trial; the decisions; and everything that was made public."""

    tables: tuple[Array, ...] = field(repr=False)
    chance: tuple[float, ...] = field(repr=False)
    accepted: tuple[bool, ...]
    public: bytes = field(repr=False)


@dataclass(frozen=True)
class Leaks:
    """What depends on the truth: papers (by number) whose table does, how many pairs of trials with equal
    decisions had other texts, papers decided too often one way, and pairs of papers decided together."""

    tables: tuple[int, ...]
    texts: int
    biased: tuple[int, ...]
    together: tuple[tuple[int, int], ...]

    @property
    def any(self) -> bool:
        return bool(self.tables or self.texts or self.biased or self.together)


def leaks(trials: Sequence[Trial]) -> Leaks:
    """What the trials show.

    >>> one = Trial((np.array([0.5, 0.5]),), (0.5,), (True,), b"accept")
    >>> other = Trial((np.array([0.5, 0.6]),), (0.6,), (True,), b"accept ")
    >>> found = leaks([one, other])
    >>> found.tables, found.texts
    ((0,), 1)
    """
    if len(trials) < 2:
        raise InputError("`trials` must be at least 2 releases of the same public data")
    papers = range(len(trials[0].tables))
    moved = [
        paper
        for paper in papers
        if any(not np.array_equal(one.tables[paper], trials[0].tables[paper]) for one in trials[1:])
    ]
    texts: dict[tuple[bool, ...], bytes] = {}
    differ = sum(texts.setdefault(one.accepted, one.public) != one.public for one in trials)
    chance = np.array([one.chance for one in trials])
    rest = np.array([one.accepted for one in trials], dtype=np.float64) - chance
    spread = chance * (1.0 - chance)
    pairs = [(one, other) for one in papers for other in papers if one < other]
    limit = -float(ndtri(FALSE_ALARM / 2 / (len(pairs) + len(papers))))
    return Leaks(
        tables=tuple(moved),
        texts=differ,
        biased=tuple(paper for paper in papers if _beyond(rest[:, paper], spread[:, paper], limit)),
        together=tuple(
            (one, other)
            for one, other in pairs
            if _beyond(rest[:, one] * rest[:, other], spread[:, one] * spread[:, other], limit)
        ),
    )


def _beyond(rest: Array, variance: Array, limit: float) -> bool:
    """Whether a sum of independent numbers of mean 0 is further out than chance allows. What was certain
    must come out so; where few tosses were open nothing can be said."""
    total = float(variance.sum())
    if total < 10.0 / 16.0:
        return bool(np.abs(rest[variance == 0.0]).max(initial=0.0) > 0.0)
    return abs(float(rest.sum())) > limit * float(np.sqrt(total))
