"""What limits imply for each other: success within an epsilon, an epsilon behind a success, many papers."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from blindcal.checks import Array, nonnegative, strictly_within, where, within
from blindcal.errors import InputError


def largest_success(weight: ArrayLike, epsilon: ArrayLike) -> Array:
    """The greatest chance of a correct guess that any policy within `epsilon` can give the adversary.

    `weight[..., n]` is that of the secrets before the decision; `epsilon` broadcasts against leading axes.

    `max(w1, (w1 + w2) e^eps/(1+e^eps))` with the two largest weights: randomized response between them.

    >>> float(largest_success([0.6, 0.4], np.log(4.0)))
    0.8
    >>> float(largest_success([0.9, 0.1], np.log(4.0)))
    0.9
    """
    w, limit = nonnegative("weight", weight), nonnegative("epsilon", epsilon)
    if w.ndim == 0:
        raise InputError(f"weight must have shape [..., n], found {w.shape}")
    top = np.sort(w, axis=-1)[..., -2:]
    return np.asarray(np.maximum(top[..., -1], top.sum(axis=-1) / (1.0 + np.exp(-limit))))


def least_epsilon(weight: ArrayLike, success: ArrayLike) -> Array:
    """No policy under which the adversary guesses right with chance `success` has an epsilon below this.

    The inverse of `largest_success`, with the same `weight[..., n]`; 0 where the scores alone give that much.
    The reverse does not hold: a success of no more than the scores give allows any epsilon, even infinity.

    >>> round(float(np.exp(least_epsilon([0.6, 0.4], 0.8))), 9)
    4.0
    """
    w, wanted = nonnegative("weight", weight), within("success", success, 0.0, 1.0)
    top = np.sort(w, axis=-1)[..., -2:]
    both = top.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.log(wanted) - np.log(np.maximum(both - wanted, 0.0))
    return np.where(wanted <= top[..., -1], 0.0, np.maximum(needed, 0.0))


def composed_epsilon(epsilons: ArrayLike) -> float:
    """The epsilon between two complete assignments that differ on several papers: the sum.

    `epsilons` has that of each such paper; their coins are independent.

    >>> composed_epsilon([1.0, 0.5, 0.5])
    2.0
    """
    return float(np.sum(nonnegative("epsilon", epsilons)))


def composed_success(epsilon: float, papers: int, prior: float = 0.5) -> float:
    """The greatest chance of telling apart two complete assignments that differ on k papers.

    `epsilon`: the limit within which each of these papers is decided, by its own coin.
    `papers`: their number k.
    `prior`: the chance p of the first assignment before any decision, strictly between 0 and 1.

    Randomized response on each is the worst case: the number of evident decisions is binomial,
    `sum_j max(p B(j; k, q), (1-p) B(j; k, 1-q))` with `q = e^eps/(1+e^eps)`.

    >>> composed_success(np.log(3.0), 1), round(composed_success(np.log(3.0), 3), 6)
    (0.75, 0.84375)
    """
    chance = 1.0 / (1.0 + np.exp(-float(nonnegative("epsilon", epsilon))))
    p = float(strictly_within("prior", prior, 0.0, 1.0))
    k = int(
        where("papers", np.asarray(papers, dtype=np.float64), np.asarray(papers >= 1), "must be at least 1")
    )
    hits = np.arange(k + 1)
    evident, other = (scipy.stats.binom.pmf(hits, k, part) for part in (chance, 1 - chance))
    return float(np.maximum(p * evident, (1 - p) * other).sum())
