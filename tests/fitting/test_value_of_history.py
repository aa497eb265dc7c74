"""What history buys, against closed forms and by itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr, ndtri
from scipy.stats import norm

from blindcal.errors import InputError
from blindcal.fitting.value_of_history import covariances, twice_as_much, value_of_history

# slope, offset, noise, slope_se, offset_se, correlation, noise_se
ANYONE = np.array([1.0, 5.0, 0.6, 0.3, 0.7, 0.2, 0.0])
LIMIT = norm.isf(1e-6 / 2)


def rows(people: int, se: float) -> np.ndarray:
    return np.tile(np.array([1.0, 5.0, 0.6, 0.3 * se, 0.7 * se, 0.2, 0.0])[:, None], people)


def test_with_known_and_equal_reviewers_the_share_is_an_integral() -> None:
    found = value_of_history(rows(9, 0.0), ANYONE, 1.0, accept_rate=0.3)
    bar, precision = ndtri(0.7), 1 + 3 / 0.36
    # E[q | scores] is N(0, 1 - 1/precision), and quality is 1/sqrt(precision) around it.
    sd = np.sqrt(1 - 1 / precision)
    exact = quad(lambda m: ndtr(-abs(m - bar) * np.sqrt(precision)) * norm.pdf(m, scale=sd), -5, 5)[0]
    assert abs(found.known - exact) < LIMIT * found.error
    assert found.now == found.twice == found.known
    assert found.to_gain == found.twice_gains == (0.0, 0.0)


def test_more_history_is_worth_more_and_none_is_worth_nothing() -> None:
    given, rng = rows(30, 0.6), np.random.default_rng(3)
    given[1] += 0.7 * 0.8 * rng.standard_normal(30)
    some = value_of_history(given, ANYONE, 1.0)
    assert some.alike > some.now > some.twice > some.known
    assert some.to_gain[0] == pytest.approx(some.now - some.known)
    none = value_of_history(rows(30, 1.0), ANYONE, 1.0)
    assert none.now == none.twice == none.alike
    assert none.twice_gains == (0.0, 0.0)


def test_where_habits_do_not_last_more_history_gains_little() -> None:
    """What is left at the next conference is at least what drifted."""
    lasting = twice_as_much(covariances(rows(1, 0.9)), covariances(ANYONE[:, None])[:, 0], 1.0)
    drifting = twice_as_much(covariances(rows(1, 0.9)), covariances(ANYONE[:, None])[:, 0], 0.5)
    population = covariances(ANYONE[:, None])
    assert (lasting[[0, 2]] < drifting[[0, 2]]).all()
    assert (drifting[[0, 2]] >= 0.75 * population[[0, 2]]).all()


def test_twice_as_much_is_the_posterior_after_the_same_reviews_again() -> None:
    """A slope and an offset seen through a regression, once and twice, and then drifting on."""
    prior = np.array([[0.09, 0.042], [0.042, 0.49]])
    told = np.array([[3.0, 0.4], [0.4, 7.0]])
    kept = 0.8**2

    def ahead(times: int) -> np.ndarray:
        then = np.linalg.inv(np.linalg.inv(prior) + times * told)
        return kept * then + (1 - kept) * prior

    def parts(matrix: np.ndarray) -> np.ndarray:
        return np.array([[matrix[0, 0]], [matrix[0, 1]], [matrix[1, 1]]])

    found = twice_as_much(parts(ahead(1)), parts(prior)[:, 0], 0.8)
    assert found == pytest.approx(parts(ahead(2)))


def test_bad_requests_are_refused() -> None:
    with pytest.raises(InputError, match="accept_rate"):
        value_of_history(rows(5, 0.5), ANYONE, 1.0, accept_rate=1.0)
    with pytest.raises(InputError, match="from 1 to 5 reviews"):
        value_of_history(rows(5, 0.5), ANYONE, 1.0, reviews_per_paper=6)
