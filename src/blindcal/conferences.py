"""Reviews, reviewers and candidate pools -> one belief over reviewer tuples for each paper."""

from __future__ import annotations

from dataclasses import dataclass

from blindcal.beliefs import Belief
from blindcal.checks import Integers


@dataclass(frozen=True)
class PaperCase:
    """Everything public about one paper; the same whatever the true assignment.

    `scores` are sorted: slot l is the l-th lowest score. `candidates` are the sorted ids of the pool
    (`*`: someone outside it), `inclusion` their probabilities of having reviewed the paper, `parameters`
    their rows (slope, offset, noise, slope_se, offset_se, correlation, noise_se). `grid` holds the scores
    that reviewers can give, None where scores are not rounded.
    """

    paper: str
    scores: tuple[float, ...]
    candidates: tuple[str, ...]
    inclusion: tuple[float, ...]
    parameters: tuple[tuple[float, ...], ...]
    bar: float
    grid: tuple[float, ...] | None = None

    @property
    def tuples(self) -> Integers:
        """`[n, k]`: the candidate index in each slot, for every tuple the pool allows, in listing order."""
        raise NotImplementedError

    @property
    def belief(self) -> Belief:
        """weight[n], favor[n], labels[k, n] (`labels = tuples.T`), computed when asked for."""
        raise NotImplementedError


@dataclass(frozen=True)
class Conference:
    """The public side of a conference: one case a paper, sorted by paper id, and the bar."""

    cases: tuple[PaperCase, ...]
    bar: float
    accept_rate: float | None
    raw_accept: tuple[bool, ...]
