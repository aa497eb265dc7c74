"""Batch: the reviews of one conference, or of many side by side, as flat integer arrays."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from blindcal.checks import Array, Integers, numbers
from blindcal.errors import InputError


@dataclass(frozen=True, eq=False)
class Batch:
    """The reviews of one conference, or of many side by side.

    Row r says that `reviewer[r]` gave `paper[r]` the score `score[r]`. Papers and reviewers are numbered from
    0 through all conferences; a reviewer of two conferences is two numbers. Conferences share nothing: every
    calibrator estimates whatever it estimates for each conference alone.

    Attributes:
        paper: The paper of each row.
        reviewer: The reviewer of each row.
        score: The score of each row.
        paper_group: The conference of each paper; by default there is one conference.
        reviewer_group: The conference of each reviewer.
        row_group: The conference of each row, which follows.

    Example:
        >>> two = Batch([0, 0, 1, 1], [0, 1, 2, 3], [1, 3, 7, 8], [0, 1], [0, 0, 1, 1])
        >>> two.per_paper(two.score), two.groups
        (array([ 4., 15.]), 2)
    """

    paper: Integers
    reviewer: Integers
    score: Array
    paper_group: Integers
    reviewer_group: Integers
    row_group: Integers = field(repr=False)

    def __init__(
        self,
        paper: ArrayLike,
        reviewer: ArrayLike,
        score: ArrayLike,
        paper_group: ArrayLike | None = None,
        reviewer_group: ArrayLike | None = None,
    ) -> None:
        p, r, s = _integers("paper", paper), _integers("reviewer", reviewer), numbers("score", score)
        if not p.shape == r.shape == s.shape or p.ndim != 1 or p.size == 0:
            raise InputError(
                f"a batch needs rows of paper, reviewer, score, found {p.shape}, {r.shape}, {s.shape}"
            )
        pg = _groups("paper_group", paper_group, int(p.max()) + 1)
        rg = _groups("reviewer_group", reviewer_group, int(r.max()) + 1)
        if (pg[p] != rg[r]).any():
            raise InputError("a paper and its reviewer must belong to the same group")
        if np.bincount(p, minlength=pg.size).min() == 0 or np.bincount(r, minlength=rg.size).min() == 0:
            raise InputError("every paper and every reviewer of a batch must have a review")
        fields = (("paper", p), ("reviewer", r), ("score", s), ("paper_group", pg), ("reviewer_group", rg))
        for name, value in (*fields, ("row_group", pg[p])):
            object.__setattr__(self, name, value)

    @property
    def papers(self) -> int:
        """How many papers there are, in all conferences."""
        return int(self.paper_group.size)

    @property
    def reviewers(self) -> int:
        """How many reviewers there are, in all conferences."""
        return int(self.reviewer_group.size)

    @property
    def groups(self) -> int:
        """How many conferences there are."""
        return int(self.paper_group.max()) + 1

    def per_paper(self, value: Array | None = None) -> Array:
        """Sums of a row value over each paper; without a value, the number of its reviews."""
        return np.bincount(self.paper, value, self.papers).astype(np.float64, copy=False)

    def per_reviewer(self, value: Array | None = None) -> Array:
        """Sums of a row value over each reviewer; without a value, the number of reviews."""
        return np.bincount(self.reviewer, value, self.reviewers).astype(np.float64, copy=False)

    def per_group(self, value: Array | None = None) -> Array:
        """Sums of a row value over each conference; without a value, the number of its reviews."""
        return np.bincount(self.row_group, value, self.groups).astype(np.float64, copy=False)


def _integers(name: str, value: ArrayLike) -> Integers:
    """Numbers from 0, as an array."""
    array = np.asarray(value)
    if not np.issubdtype(array.dtype, np.integer) or (array.size and array.min() < 0):
        raise InputError(f"{name} must be numbered from 0, found {value!r:.60}")
    return array.astype(np.int64)


def _groups(name: str, value: ArrayLike | None, size: int) -> Integers:
    """The conference of each paper or reviewer."""
    group = np.zeros(size, np.int64) if value is None else _integers(name, value)
    if group.ndim != 1 or group.size != size:
        raise InputError(f"{name} must name the conference of each of {size}, found shape {group.shape}")
    return group
