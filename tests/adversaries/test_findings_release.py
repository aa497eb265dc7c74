"""Opening a release for an audit: the same tables and decisions, and the true reviewers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")

from blindcal.adversaries.findings import open_release, planned_views
from blindcal.errors import InputError
from blindcal.planning.conference_plan import plan
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from small_conferences import decided, read_small, small_conference

pytestmark = pytest.mark.edge


def test_a_release_and_its_plan_are_about_the_same_tables(tmp_path: Path) -> None:
    small = small_conference(papers=6, pool=5)
    decided(small.write(tmp_path / "in"), tmp_path / "key.bin", tmp_path / "out")
    opened = open_release(tmp_path / "out", tmp_path / "key.bin")
    before = planned_views(plan(read_small(small, tmp_path / "in"), Request(Guarantee(), accept_rate=0.4)))
    wrote = {row[0]: [] for row in small.reviews[1:]}
    for paper, who, score in small.reviews[1:]:
        wrote[paper].append((float(score), who))
    assert [view.paper for view in opened.views] == sorted(wrote)
    for view, planned, record in zip(opened.views, before, opened.record.papers, strict=True):
        np.testing.assert_array_equal(view.accept["chosen"], planned.accept["chosen"])
        assert [view.names[i] for i in view.truth] == [who for _, who in sorted(wrote[view.paper])]
        seen = view.accept["chosen"] if record.accepted else 1.0 - view.accept["chosen"]
        np.testing.assert_array_equal(view.outcome["chosen"], seen)
        assert planned.truth is None
        assert planned.outcome is None


def test_what_is_no_release_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"certificate\.json"):
        open_release(tmp_path / "empty", tmp_path / "key.bin")
    with pytest.raises(InputError, match="`key` must be the path"):
        open_release(tmp_path / "empty", 3)
