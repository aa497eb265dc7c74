"""The studies of docs/evidence/adversaries.md, against plain loops."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom

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


def test_offsets_fitted_on_the_same_reviews_name_their_authors() -> None:
    """Why `decide` must not be given them: far above what the pools give, beyond chance (exact binomial)."""
    leak = audit.leak(papers=60)
    hits = round(leak.with_fitted_offsets * leak.reviews)
    assert binom.sf(hits - 1, leak.reviews, leak.pools_alone) < 1e-6
    assert leak.with_fitted_offsets > 2 * leak.pools_alone
