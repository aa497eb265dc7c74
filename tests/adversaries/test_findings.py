"""Findings about whole conferences against lists of everything that can happen."""

from __future__ import annotations

import numpy as np
import pytest

from blindcal.adversaries.findings import SCORES, Exposure, exposures, finding_about, findings_of
from blindcal.adversaries.single_paper import POLICIES
from sizes import count
from whole_conferences import Lister, random_views


def test_findings_equal_a_list_of_all_assignments_and_outcomes() -> None:
    """Exact adversaries: 500 small conferences if long."""
    rng = np.random.default_rng(17)
    for number in range(count(12, 500)):
        views = random_views(rng, 2 + number % 2)
        found = findings_of(views)
        for policy in ("chosen", "full") if number % 2 else ("chosen",):
            lister = Lister(views, policy)
            before, after = lister.right(decided=False), lister.right(decided=True)
            for question in before:
                one = finding_about(found.findings, policy, question)
                assert (one.adversary, one.error) == (SCORES, 0.0)
                assert one.baseline == pytest.approx(before[question], abs=1e-12), question
                assert one.success == pytest.approx(after[question], abs=1e-12), question
            assert found.bits[policy] == pytest.approx(lister.bits(), abs=1e-12)
            assert found.largest_rise[policy] == pytest.approx(lister.largest_rise(), abs=1e-9)


def test_constant_decisions_add_nothing() -> None:
    found = findings_of(random_views(np.random.default_rng(3), 4))
    for policy in ("raw", "public"):
        assert found.bits[policy] == pytest.approx(0.0, abs=1e-12)
        assert found.largest_rise[policy] <= 1e-12
        for one in found.findings:
            assert one.policy != policy or one.added == pytest.approx(0.0, abs=1e-12)
    assert {one.policy for one in found.findings} == set(POLICIES)
    assert (found.papers, found.published, found.sampled) == (4, False, 0)


def test_the_most_exposed_come_first() -> None:
    views = random_views(np.random.default_rng(4), 5)
    found = exposures(views)
    assert [one.after for one in found] == sorted((one.after for one in found), reverse=True)
    assert len(found) == sum(len(view.scores) for view in views)
    assert all(
        isinstance(one, Exposure) and one.right is None and one.after >= one.before - 1e-12 for one in found
    )
    mean = np.mean([one.after for one in found])
    assert finding_about(findings_of(views).findings, "chosen").success == pytest.approx(mean, abs=1e-12)


def test_exposed_reviews_have_the_scores_that_were_given() -> None:
    """Where low scores are better they are negated inside."""
    views = random_views(np.random.default_rng(4), 5)
    given = [one.score for one in findings_of(views, better="low").exposures]
    assert given == [0.0 - one.score for one in findings_of(views).exposures]
    assert sorted(given) == sorted(0.0 - score for view in views for score in view.scores)
