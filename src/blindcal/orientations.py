"""Which end of the scale is better. Inside, higher is: where low scores are the better ones, scores, offsets
and grid are negated at the door, and negated back wherever they are shown.

No public data can tell: reversed scores look the same as reversed qualities. So it is for the chair to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from blindcal.errors import InputError
from blindcal.reviews import Reviews

BETTER = ("high", "low")
_OFFSET, _CORRELATION = 1, 5


def known_end(better: str) -> str:
    """`better` if it is `high` or `low`."""
    if better not in BETTER:
        raise InputError(f"`better` must be high or low, found {better!r}")
    return better


def upright_reviews(reviews: Reviews, better: str) -> Reviews:
    """The reviews with high scores the better ones."""
    if known_end(better) == "high":
        return reviews
    # 0 - x and not -x: a score of 0 stays 0.
    grid = None if reviews.grid is None else 0.0 - reviews.grid[::-1]
    return replace(reviews, score=0.0 - reviews.score, grid=grid)


def upright_reviewers(
    parameters: Mapping[str, tuple[float, ...]], better: str
) -> dict[str, tuple[float, ...]]:
    """The calibration for upright scores: `score = offset - slope * quality` was given for `low`.

    >>> upright_reviewers({"a": (1.5, 3.0, 0.5, 0.1, 0.2, 0.4, 0.0)}, "low")
    {'a': (1.5, -3.0, 0.5, 0.1, 0.2, -0.4, 0.0)}
    """
    turned = (_OFFSET, _CORRELATION) if known_end(better) == "low" else ()
    return {
        name: tuple(0.0 - value if place in turned else value for place, value in enumerate(row))
        for name, row in parameters.items()
    }


def upright_scores(scores: Iterable[float], better: str) -> tuple[float, ...]:
    """Scores with high ones the better ones, lowest first.

    >>> upright_scores([1.0, 5.0], "low")
    (-5.0, -1.0)
    """
    return tuple(sorted(0.0 - score if known_end(better) == "low" else score for score in scores))


def as_given(scores: Iterable[float], better: str) -> list[float]:
    """Upright scores as the chair knows them, lowest first.

    >>> as_given([-5.0, -1.0], "low")
    [1.0, 5.0]
    """
    return sorted(0.0 - score if better == "low" else score for score in scores)
