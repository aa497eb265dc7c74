"""Advice for a meeting of people who decide: what a draw says, relative to what mean scores decide.

Advice says which way to move, never how good a paper is. A tie of mean scores decides nothing, so that every
advice about it is marked as such.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from blindcal.checks import Array
from blindcal.planning.ranking_and_wait_list import ACCEPT, REJECT

TIE = "tie"
"""What mean scores decide on a paper that ties with others at the cut."""
BY_MEANS = (ACCEPT, REJECT, TIE)
"""What mean scores decide."""
RAISE, LOWER, LEAVE = "raise", "lower", "leave"
TIE_RAISE, TIE_LOWER = f"{TIE}: {RAISE}", f"{TIE}: {LOWER}"
ADVICE: Mapping[str, str] = {
    RAISE: "mean scores would reject it, and it was accepted",
    LOWER: "mean scores would accept it, and it was not accepted",
    LEAVE: "mean scores decide the same",
    TIE_RAISE: "its mean score ties at the cut and decides nothing; it was accepted",
    TIE_LOWER: "its mean score ties at the cut and decides nothing; it was not accepted",
}
"""Every advice, and what it means."""


def by_means(share: float) -> str:
    """What mean scores decide on a paper of which they accept this share: neither 0 nor 1 at a tie.

    >>> by_means(1.0), by_means(0.0), by_means(0.5)
    ('accept', 'reject', 'tie')
    """
    return {1.0: ACCEPT, 0.0: REJECT}.get(share, TIE)


def decided_by_means(shares: Array) -> Array:
    """1 where mean scores, which accept these shares of papers, decide something, 0 at a tie.

    >>> decided_by_means(np.array([1.0, 0.0, 0.5]))
    array([1., 1., 0.])
    """
    return np.asarray((shares == 0.0) | (shares == 1.0), dtype=float)


def advice(decision: str, by_means: str) -> str:
    """The way from what mean scores decide to a decision; a paper on the wait list is not accepted.

    >>> advice("accept", "reject"), advice("wait list", "accept"), advice("wait list", "reject")
    ('raise', 'lower', 'leave')
    >>> advice("accept", "tie"), advice("reject", "tie")
    ('tie: raise', 'tie: lower')
    """
    accepted = decision == ACCEPT
    if by_means == TIE:
        return TIE_RAISE if accepted else TIE_LOWER
    if accepted == (by_means == ACCEPT):
        return LEAVE
    return RAISE if accepted else LOWER
