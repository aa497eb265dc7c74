"""The studies of docs/evidence/adversaries.md, against plain loops."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from blindcal.policy.guarantee import Guarantee
from studies import audit, misfits


def test_conferences_of_the_audit_have_even_loads_and_pools_with_the_truth() -> None:

    setting = audit.Setting(12, 3, 3, 6)
    cases, truth = audit.conference(setting, 1)
    assert set(Counter(name for names in truth for name in names).values()) == {3}
    for case, names in zip(cases, truth, strict=True):
        assert set(names) < set(case.candidates)
        assert (len(case.candidates), list(case.scores)) == (6, sorted(case.scores))
    view = audit.decided((cases[0], truth[0], 0.5), Guarantee("steady", epsilon=2.0))
    assert [view.names[one] for one in view.truth] == list(truth[0])
    assert view.outcome is not None


def test_papers_of_other_worlds() -> None:

    for world in (*misfits.SCORE_MODELS, misfits.UNSURE):
        case, true = misfits.paper(np.random.default_rng(5), world)
        weight = world.weight(case, true)
        assert weight.shape == (720,)
        assert weight.sum() == pytest.approx(1.0)
        stated = np.array(case.parameters)
        assert (stated[:, :3] == true[:, :3]).all() == (world is not misfits.UNSURE)
