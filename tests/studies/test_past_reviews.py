"""The method that the study of past reviews compares with, by dense algebra; and its histories."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from studies.past_reviews import drawn_pasts, shrunken_offsets

from blindcal.fitting.history import History, build_history, past_conferences


@pytest.fixture(scope="module")
def history() -> History:
    drawn = drawn_pasts(np.random.default_rng(1), 25, 2, most=9)
    return build_history(past_conferences({"past": drawn.reviews}))


def test_shrunken_offsets_are_those_of_dense_restricted_likelihood(history: History) -> None:
    paper, person, where = (
        np.eye(part.max() + 1)[part] for part in (history.paper, history.reviewer, history.conference)
    )
    y, n = history.score, len(history)

    def solved(logs: np.ndarray) -> tuple[float, np.ndarray]:
        total = np.exp(logs[0]) * paper @ paper.T + np.exp(logs[1]) * person @ person.T + np.eye(n)
        inverse = np.linalg.inv(total)
        fixed = np.linalg.solve(where.T @ inverse @ where, where.T @ inverse @ y)
        rest = y - where @ fixed
        value = np.linalg.slogdet(total)[1] + np.linalg.slogdet(where.T @ inverse @ where)[1]
        value += (n - 2) * np.log(rest @ inverse @ rest)
        return float(value), np.exp(logs[1]) * person.T @ inverse @ rest

    best = minimize(lambda x: solved(x)[0], [0.5, -0.5], method="Nelder-Mead")
    slope, offsets = shrunken_offsets(history)
    # The study stops its search at 0.01 in the logarithms of the ratios.
    np.testing.assert_allclose(offsets, solved(best.x)[1], atol=0.01)
    assert slope > 0


def test_everybody_has_as_many_reviews_as_asked_and_offsets_spread_as_asked() -> None:
    """Reviews of a paper that somebody has already are left out; 400 offsets, five standard errors."""
    drawn = drawn_pasts(np.random.default_rng(2), 400, 2, least=9, most=9, offset_sd=0.67)
    number = np.bincount(drawn.reviews.reviewer)
    assert (number.min(), number.max(), len(number)) == (8, 9, 400)
    truth = np.array(list(drawn.truth.values()))
    slope, offset, _ = truth.T
    assert offset.std() / slope.mean() == pytest.approx(0.67, rel=5 / np.sqrt(800))
