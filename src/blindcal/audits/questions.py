"""What an adversary may want to know of a paper, and how often it gets it right: exact for the view it has.

Each answer is a function of masses `[outcome, tuple]` that sum to 1, summed over the outcomes: with the
weights alone in one row it is what the scores reveal, with one row for each outcome what decisions add.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from blindcal.audits.views import View
from blindcal.checks import Array

AUTHOR, THREE, MEMBER, WHOLE, LINK = "author", "three guesses", "reviewed at all", "whole tuple", "link"
QUESTIONS = (AUTHOR, THREE, MEMBER, WHOLE)
"""Who wrote a review, in one guess or in three; whether somebody reviewed the paper; all of its reviewers."""

ONE_BY_ONE = "author, papers one by one"
"""Who wrote a review, for the same adversary if it took every paper on its own."""

GUESSES = 3


def authors(view: View, mass: Array) -> Array:
    """`[outcome, slot, candidate]`: P(outcome and this candidate wrote this review | scores); of nobody
    nothing is said."""
    size = len(view.names)
    slots = view.rows.T
    found = np.array([[np.bincount(slot + 1, row, size + 1)[1:] for slot in slots] for row in mass])
    return found.astype(np.float64)


def members(view: View, mass: Array) -> Array:
    """`[outcome, candidate]`: P(outcome and this candidate reviewed the paper | scores)."""
    # Somebody named writes one review of a paper at most.
    return np.asarray(authors(view, mass).sum(axis=1))


def answers(view: View, mass: Array) -> dict[str, float]:
    """The chance of a right answer to each of `QUESTIONS`: about a review, mean over the paper's reviews;
    about a candidate, mean over the pool.

    >>> view = View("p", ("a", "b"), (1.0,), np.array([[0], [1]]), np.array([0.75, 0.25]),
    ...             np.zeros(2), {"full": np.array([1.0, 0.0])})
    >>> answers(view, view.alone)["author"], answers(view, view.mass("full"))["author"]
    (0.75, 1.0)
    """
    by_slot = authors(view, mass)
    chance, reviewed = mass.sum(axis=1), by_slot.sum(axis=1)
    named = np.array([name != "*" for name in view.names])
    yes = reviewed[:, named]
    ranked = -np.sort(-by_slot, axis=2)
    return {
        AUTHOR: float(ranked[:, :, 0].sum(axis=0).mean()),
        THREE: float(ranked[:, :, :GUESSES].sum(axis=(0, 2)).mean()),
        MEMBER: float(np.maximum(yes, chance[:, None] - yes).sum(axis=0).mean()) if named.any() else 1.0,
        WHOLE: float(_named_rows(view, mass).max(axis=1, initial=0.0).sum()),
    }


def _named_rows(view: View, mass: Array) -> Array:
    """Masses of tuples that can be named: those with nobody in them cannot. A sample may hold one twice."""
    every = (view.rows >= 0).all(axis=1)
    if view.exact:
        return mass[:, every]
    _, which = np.unique(view.rows[every], axis=0, return_inverse=True)
    size = int(which.max(initial=-1)) + 1
    return np.array([np.bincount(which.ravel(), row, size) for row in mass[:, every]])


def bits(view: View, mass: Array) -> float:
    """Information of the decision about a review's author, mean over the reviews; of a decision that is known
    the information gained, `sum_y P(y|d) log2(P(y|d)/P(y))`."""
    with_nobody = _all_labels(view, mass)
    before, chance = _all_labels(view, view.alone)[0], mass.sum(axis=1)
    possible = with_nobody > 0.0
    given = np.divide(with_nobody, before, out=np.ones_like(with_nobody), where=possible)
    logs = np.log2(given) - np.log2(np.where(chance > 0.0, chance, 1.0))[:, None, None]
    return max(0.0, float((with_nobody * np.where(possible, logs, 0.0)).sum(axis=(0, 2)).mean()))


def _all_labels(view: View, mass: Array) -> Array:
    size = len(view.names) + 1
    found = np.array([[np.bincount(slot + 1, row, size) for slot in view.rows.T] for row in mass])
    return found.astype(np.float64)


def rises(view: View, mass: Array) -> Array:
    """`[outcome, slot]`: by how much the best guess at a review's author becomes likelier; minus infinity
    after an outcome that cannot happen."""
    chance, before = mass.sum(axis=1), authors(view, view.alone)[0].max(axis=1)
    after = authors(view, mass).max(axis=2)
    possible = (chance > 0.0)[:, None]
    return np.where(possible, after / np.where(possible, chance[:, None], 1.0) - before, -np.inf)


def links(views: Sequence[View], masses: Sequence[Array]) -> list[float]:
    """For each paper the chance to name, for one of its reviews, a review of another paper by the same
    person; mean over its reviews.

    Papers are independent, so for one review the best of the others' chances is the largest of independent
    numbers, each with one value for each outcome of its paper.
    """
    people = {name: place for place, name in enumerate(sorted({n for view in views for n in view.names}))}
    chances, blocks, owner, at = [], [], [], []
    for index, (view, mass) in enumerate(zip(views, masses, strict=True)):
        chance, by_slot = mass.sum(axis=1), authors(view, mass)
        for one, part in zip(chance, by_slot, strict=True):
            if one > 0.0:
                chances.append(one)
                blocks.append(part / one)
                owner.append(index)
                at.append([people[name] for name in view.names])
    size = [block.shape[0] for block in blocks]
    row = np.repeat(np.arange(sum(size)), np.repeat([len(names) for names in at], size))
    column = np.concatenate([np.tile(names, number) for names, number in zip(at, size, strict=True)])
    value = np.concatenate([block.ravel() for block in blocks])
    table = csr_array((value, (row, column)), shape=(sum(size), len(people)))
    starts, owners = np.concatenate([[0], np.cumsum(size)]), np.array(owner)
    found, across = np.zeros(len(views)), table.T.tocsr()
    for block, index in enumerate(owner):
        near = (table[starts[block] : starts[block + 1]] @ across).toarray()
        best = np.maximum.reduceat(near, starts[:-1], axis=1)
        other = owners != index
        if other.any():
            expected = [_largest(one[other], np.array(chances)[other], owners[other]) for one in best]
            found[index] += chances[block] * float(np.mean(expected))
    return found.tolist()


def _largest(value: Array, chance: Array, owner: Array) -> float:
    """The mean of the largest of independent numbers: `value` has `chance` where it is its `owner`'s.

    >>> _largest(np.array([1.0, 0.0, 0.5]), np.array([0.25, 0.75, 1.0]), np.array([0, 0, 1]))
    0.625
    """
    order = np.argsort(-value, kind="stable")
    first = np.zeros(order.size, dtype=np.bool_)
    first[np.unique(owner[order], return_index=True)[1]] = True
    # An owner has two values at most: after the larger one it has the other, after both none is left.
    less = np.where(first, 1.0 - chance[order], 0.0)
    below = np.concatenate([[1.0], np.cumprod(np.clip(less, 0.0, 1.0))])
    return float(value[order] @ (below[:-1] - below[1:]))
