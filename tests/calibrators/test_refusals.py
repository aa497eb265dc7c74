"""What calibrators refuse, and in which words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import blindcal as bc
from blindcal import Affine, InputError, Reviews
from blindcal.calibrators import hierarchical, maximum_likelihood, offsets, posterior, raw
from blindcal.calibrators.gibbs import Batch
from blindcal.calibrators.results import batch_of
from small_reviews import conference

REVIEWS = conference(1)
SINGLE = Reviews.from_table({"paper": [1, 2, 3], "reviewer": [1, 1, 2], "score": [1, 2, 3]})
EQUAL = Reviews.from_table({"paper": [1, 1, 2], "reviewer": [1, 2, 1], "score": [4, 4, 4]})

REFUSED: list[tuple[str, Callable[[], object]]] = [
    ("15 reviewers, found shape \\(3,\\)", lambda: posterior(REVIEWS, Affine([1.0, 1.0, 2.0]))),
    ("use posterior", lambda: maximum_likelihood(REVIEWS, Affine(1.0, 0.0, 0.5, 0.1 * np.eye(2)))),
    ("for all of them", lambda: posterior(REVIEWS, Affine(1.0, 0.0, np.r_[0.0, np.ones(14)]))),
    ("found Power", lambda: posterior(REVIEWS, bc.reviewers.Power(2.0))),
    ("no paper has two reviews", lambda: offsets(SINGLE)),
    ("no paper has two reviews", lambda: hierarchical(SINGLE)),
    ("all scores are 4", lambda: offsets(EQUAL)),
    ("all scores are 4", lambda: hierarchical(EQUAL)),
    ("accept_rate", lambda: bc.assess(REVIEWS, accept_rate=1.0)),
    ("least_gain", lambda: bc.assess(REVIEWS, least_gain=-0.1)),
    ("same group", lambda: Batch([0, 1], [0, 1], [1, 2], paper_group=[0, 1], reviewer_group=[1, 0])),
    ("must have a review", lambda: Batch([0, 2], [0, 0], [1, 2])),
    ("numbered from 0", lambda: Batch([0, -1], [0, 0], [1, 2])),
    ("each of 2", lambda: Batch([0, 1], [0, 0], [1, 2], paper_group=[0])),
    ("score must be finite", lambda: Batch([0], [0], [np.nan])),
    ("unknown paper 'p99'", lambda: raw(REVIEWS).predict("p99", "r00")),
    ("unknown reviewer 'x'", lambda: raw(REVIEWS).predict("p00", ["r00", "x"])),
    ("rate", lambda: raw(REVIEWS).probability_accepted(0.0)),
    ("rate", lambda: raw(REVIEWS).probability_accepted(1.0)),
    ("rate", lambda: raw(REVIEWS).probability_accepted(-0.2)),
    (r"reviews must be what Reviews\.read returns, found str", lambda: batch_of("reviews.csv")),
]


@pytest.mark.parametrize(("message", "call"), REFUSED, ids=[message for message, _ in REFUSED])
def test_what_is_refused_is_named(message: str, call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match=message):
        call()
