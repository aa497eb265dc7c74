"""Findings about whole conferences against lists of everything that can happen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from blindcal.adversaries.findings import (
    SCORES,
    Exposure,
    exposures,
    finding_about,
    findings_of,
    planned_views,
)
from blindcal.adversaries.single_paper import POLICIES, authors, published_views
from blindcal.deciding.publish import recorded_release
from blindcal.errors import InputError
from blindcal.planning.conference_plan import plan
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from sizes import count
from small_conferences import decided, read_small, small_conference
from whole_conferences import Lister, random_views


def test_findings_equal_a_list_of_all_assignments_and_outcomes() -> None:
    """Exact adversaries: 500 small conferences if long."""
    rng = np.random.default_rng(17)
    for number in range(count(12, 500)):
        views = random_views(rng, 2 + number % 2)
        found = findings_of(views)
        assert (found.papers, found.published, found.sampled) == (2 + number % 2, False, 0)
        assert {one.policy for one in found.findings} == set(POLICIES)
        for policy in ("chosen", "full") if number % 2 else ("chosen", "raw", "public"):
            lister = Lister(views, policy)
            before, after = lister.right(decided=False), lister.right(decided=True)
            for question in before:
                one = finding_about(found.findings, policy, question)
                assert (one.adversary, one.error) == (SCORES, 0.0)
                assert one.baseline == pytest.approx(before[question], abs=1e-12), question
                assert one.success == pytest.approx(after[question], abs=1e-12), question
            assert found.bits[policy] == pytest.approx(lister.bits(), abs=1e-12)
            assert found.largest_rise[policy] == pytest.approx(lister.largest_rise(), abs=1e-9)


def test_the_most_exposed_come_first() -> None:
    views = random_views(np.random.default_rng(4), 5)
    found = exposures(views)
    assert [one.after for one in found] == sorted((one.after for one in found), reverse=True)
    assert len(found) == sum(len(view.scores) for view in views)
    assert all(
        isinstance(one, Exposure) and one.right is None and one.after >= one.before - 1e-12 for one in found
    )
    guesses = [tuple(authors(view, view.mass("chosen"))[0].argmax(axis=1).tolist()) for view in views]
    seen = [replace(view, truth=guess) for view, guess in zip(views, guesses, strict=True)]
    assert all(one.right for one in exposures(seen))
    mean = np.mean([one.after for one in found])
    assert finding_about(findings_of(views).findings, "chosen").success == pytest.approx(mean, abs=1e-12)


def test_exposed_reviews_have_the_scores_that_were_given() -> None:
    """Where low scores are better they are negated inside."""
    views = random_views(np.random.default_rng(4), 5)
    given = [one.score for one in findings_of(views, better="low").exposures]
    assert given == [0.0 - one.score for one in findings_of(views).exposures]
    assert sorted(given) == sorted(0.0 - score for view in views for score in view.scores)


# --- Opening a release for an audit: the same tables and decisions, and the true reviewers.


@pytest.mark.edge
def test_a_release_and_its_plan_are_about_the_same_tables(tmp_path: Path) -> None:
    small = small_conference(papers=6, pool=5)
    decided(small.write(tmp_path / "in"), tmp_path / "key.bin", tmp_path / "out")
    past, release = recorded_release(tmp_path / "out", tmp_path / "key.bin")
    views = published_views(past, release)
    before = planned_views(plan(read_small(small, tmp_path / "in"), Request(Guarantee(), accept_rate=0.4)))
    wrote = {row[0]: [] for row in small.reviews[1:]}
    for paper, who, score in small.reviews[1:]:
        wrote[paper].append((float(score), who))
    assert [view.paper for view in views] == sorted(wrote)
    for view, planned, record in zip(views, before, release.papers, strict=True):
        np.testing.assert_array_equal(view.accept["chosen"], planned.accept["chosen"])
        assert [view.names[i] for i in view.truth] == [who for _, who in sorted(wrote[view.paper])]
        seen = view.accept["chosen"] if record.accepted else 1.0 - view.accept["chosen"]
        np.testing.assert_array_equal(view.outcome["chosen"], seen)
        assert planned.truth is None
        assert planned.outcome is None


@pytest.mark.edge
def test_what_is_no_release_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"certificate\.json"):
        recorded_release(tmp_path / "empty", tmp_path / "key.bin")
    with pytest.raises(InputError, match="`key` must be the path"):
        recorded_release(tmp_path / "empty", 3)
