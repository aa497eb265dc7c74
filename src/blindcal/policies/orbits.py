"""A belief's tuples by what the public data can tell of them: the columns and rows of its program.

Tuples that the public data cannot tell apart (authors with the same parameters and chances, slots with the
same score) are one *orbit* and share one accept probability, so a policy treats them alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from blindcal.assignments.priors import NOBODY
from blindcal.beliefs.belief import Belief
from blindcal.beliefs.cases import PaperCase
from blindcal.checks import Array, Integers
from blindcal.errors import CertificateError

_ALIKE = 1e-9
# Keys that reach this many times further than there are tuples are sorted.
_WIDEST = 16


@dataclass(frozen=True, eq=False)
class Orbits:
    """Tuples that look alike, as one: `of[n]` names each tuple's orbit.

    `share[row, orbit]`: the part of an orbit's mass that one author has in one slot (mean over tied slots);
    `mass[row]` is that author's chance before any decision, `top[row]` the largest one of the row's slot,
    `slot[row]` the row's group of tied slots and `size[group]` how many slots that is.
    """

    of: Integers
    weight: Array
    favor: Array
    share: Any
    mass: Array
    top: Array
    slot: Integers
    size: Integers


def orbits(case: PaperCase, belief: Belief) -> Orbits:
    """Group the tuples of a paper by what the public data can tell of them."""
    if belief.entry is not None and belief.labels is not None:
        return _by_entry(belief, belief.entry, belief.labels, len(case.candidates))
    return _grouped(case.tuples, belief, *case.look_alikes)


def single_orbits(belief: Belief) -> Orbits:
    """Every secret of one instance by itself: of a plain belief nothing says what looks alike.

    >>> found = single_orbits(Belief([0.5, 0.3, 0.2], [0.9, 0.2, 0.7], [[7, 8, 8]]))
    >>> found.mass, found.top
    (array([0.5, 0.5]), array([0.5, 0.5]))
    """
    secrets = np.arange(belief.weight.size)
    labels = secrets[None] if belief.labels is None else belief.labels
    names, place = np.unique(np.maximum(labels, NOBODY), return_inverse=True)
    place = place.reshape(labels.shape) - int(names[0] == NOBODY)
    return _by_entry(belief, secrets, place, int(place.max()) + 1)


def crowd_orbits(case: PaperCase) -> Orbits:
    """The entries of a crowd as orbits: every author keeps its row in every slot."""
    group, kind = case.look_alikes
    one, belief = case.crowd, case.belief
    if belief.labels is None or belief.entry is None:
        raise CertificateError("a crowd has labels and entries")
    groups, kinds = int(group.max()) + 1, int(kind.max()) + 1
    look, named = belief.labels, belief.labels >= 0
    row = group[:, None] * kinds + look
    weight = belief.by_entry(one.weight.size)
    share = belief.weight / np.where(weight > 0.0, weight, 1.0)[belief.entry]
    value = share / (np.bincount(group)[group][:, None] * np.bincount(kind + 1)[look + 1])
    column = np.broadcast_to(belief.entry, row.shape)
    shares = sparse.coo_array(
        (value[named], (row[named], column[named])), shape=(groups * kinds, weight.size)
    ).tocsc()
    return _orbits(np.arange(weight.size), weight, one.favor, shares, np.bincount(group))


def _by_entry(belief: Belief, entry: Integers, labels: Integers, kinds: int) -> Orbits:
    """Tuples with one accept probability as an orbit, whatever their weights; every author keeps its row."""
    groups, size = len(labels), int(entry.max()) + 1
    weight = np.bincount(entry, belief.weight, size).astype(np.float64)
    # Where an orbit weighs nothing its tuples count alike.
    part = np.where(weight[entry] > 0.0, belief.weight, 1.0)
    part = part / np.bincount(entry, part, size)[entry]
    row, named = np.arange(groups)[:, None] * kinds + labels, labels >= 0
    value, column = (np.broadcast_to(each, labels.shape)[named] for each in (part, entry))
    share = sparse.coo_array((value, (row[named], column)), shape=(groups * kinds, size)).tocsc()
    favor = np.bincount(entry, part * belief.favor, size).clip(0.0, 1.0)
    return _orbits(np.arange(size), weight, favor, share, np.ones(groups, dtype=np.int64))


def _grouped(rows: Integers, belief: Belief, group: Integers, kind: Integers) -> Orbits:
    """Tuples that look alike as an orbit. Kind -1 is nobody, who has no row."""
    kinds, groups = int(kind.max()) + 1, int(group.max()) + 1
    looks = kind[rows]
    for g in range(groups):
        looks[:, group == g] = np.sort(looks[:, group == g], axis=1)
    key = np.zeros(len(rows), dtype=np.int64)
    for column in looks.T:
        key = key * (kinds + 1) + column + 1
    first, of, count = _distinct(key)
    weight = np.bincount(of, belief.weight).astype(np.float64)
    if (np.abs(belief.weight * count[of] - weight[of]) > _ALIKE * weight[of]).any():
        raise CertificateError("tuples that look alike must have equal weights")
    favor = np.bincount(of, belief.favor) / count
    look, tied = looks[first], np.bincount(group)
    value = 1.0 / (tied[group] * np.bincount(kind + 1)[look + 1])
    row, column = group * kinds + look, np.arange(first.size)[:, None] + 0 * look
    named = look >= 0
    share = sparse.coo_array(
        (value[named], (row[named], column[named])), shape=(groups * kinds, first.size)
    ).tocsc()
    return _orbits(of, weight, favor, share, tied)


def _distinct(key: Integers) -> tuple[Integers, Integers, Integers]:
    """Of numbers from 0 on, in the order of their values: where each one is first, the place of every one
    among them, and how often each is there.

    >>> [part.tolist() for part in _distinct(np.array([7, 2, 7]))]
    [[1, 0], [1, 0, 1], [1, 2]]
    """
    size = int(key.max()) + 1
    if size > _WIDEST * key.size:
        _, first, of, count = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
        return first, of, count
    # Few numbers are missing: count them in place of sorting.
    many, start = np.bincount(key, minlength=size), np.empty(size, dtype=np.int64)
    start[key[::-1]] = np.arange(key.size)[::-1]
    there = np.flatnonzero(many)
    return start[there], (np.cumsum(many > 0) - 1)[key], many[there]


def _orbits(of: Integers, weight: Array, favor: Array, share: Any, size: Integers) -> Orbits:
    """With each author's chance before any decision, and the largest one of each group of slots."""
    mass, groups = share @ weight, size.size
    kinds = mass.size // groups
    top = mass.reshape(groups, kinds).max(axis=1, initial=0.0).repeat(kinds)
    return Orbits(of, weight, favor, share, mass, top, np.arange(groups).repeat(kinds), size)
