"""The study behind the first table of README.md, against a list of all assignments and by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from studies.single_decisions import believed, largest_rise
from studies.this_year import GUARANTEES, MODERATE, cases_of, simulated
from studies.this_year_observers import informed

from blindcal.adversaries.this_year_exact import all_assignments, observe, tables_of

pytestmark = pytest.mark.edge


def test_what_is_believed_of_reviewers_after_one_decision_is_the_sum_over_all_assignments() -> None:
    """Walks visit some 25,000 assignments: standard errors below .006, so .04 is beyond six of them."""
    world = replace(MODERATE, papers=4, people=4, reviews=(2,))
    made = simulated(world, np.random.default_rng(13))
    cases = cases_of(made, share=0.5)
    seen, offset = informed(observe(made.reviews, cases, tables_of(cases, GUARANTEES["full"])), made, world)
    seen, lots = replace(seen, strictness=0.4 * made.model.moments.disagreement), seen.lots.size
    accept = np.tile([0.1, 0.8], (lots, 1))

    every = np.array(all_assignments(seen))
    # Two scores of a paper share its quality, of variance 1; noise is their own.
    density = multivariate_normal(np.zeros(2), 1.0 + seen.noise * np.eye(2))
    rest = (seen.score - offset[every]).reshape(len(every), 4, 2)
    weight = density.pdf(rest).prod(axis=1)
    levels = seen.levels(every)
    each = weight[:, None] * np.where(levels, 0.8, 0.1)
    names = np.eye(len(seen.people))[every].reshape(len(every), -1)
    exact = (each.T @ names / each.sum(axis=0)[:, None]).reshape(lots, 8, -1)

    ((counts, total, mass),) = believed(seen, offset, [accept], 1)
    alone = counts.sum(axis=0) / counts.sum(axis=(0, 2))[:, None]
    assert np.abs(alone - (weight @ names / weight.sum()).reshape(8, -1)).max() < 0.04
    found = total.sum(axis=0) / mass.sum(axis=0)[:, None, None]
    assert lots > 0
    assert np.abs(found - exact).max() < 0.04
    assert np.abs(exact - alone).max() > 0.1


def test_the_largest_rise_is_measured_by_walks_that_did_not_choose_it() -> None:
    """One decision, one review, two people: from .6 to .9 in one half and to .7 in the other."""
    counts = np.array([[[60.0, 40.0]], [[60.0, 40.0]]])
    after = np.array([[[[45.0, 5.0]]], [[[35.0, 15.0]]]])
    assert largest_rise(counts, after, np.array([[50.0], [50.0]])) == pytest.approx((0.1 + 0.3) / 2)
