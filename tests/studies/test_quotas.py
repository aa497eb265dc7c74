"""What an exact number of papers costs: the study of guarantees.md, played with qualities and coins."""

from __future__ import annotations

import numpy as np
import pytest

from blindcal.planning.conference_plan import plan_conference
from studies import quotas


@pytest.mark.parametrize("name", quotas.GUARANTEES)
def test_a_conference_played_many_times(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """30 papers, 8 accepted; tuples, coins and qualities drawn 20,000 times. Means are within 5.5 standard
    errors: a false alarm of 1e-6 over all eight comparisons (the normal tail, for means of 20,000)."""
    for setting, value in {"PAPERS": 30, "ACCEPTED": 8, "POOL": 5, "REVIEWS": 2}.items():
        monkeypatch.setattr(quotas, setting, value)
    stated = quotas.cost(("prototype", name, 3))
    found = quotas.conference(quotas.REGIMES["prototype"], 3)
    plans = plan_conference(found, quotas.GUARANTEES[name])
    rng, draws = np.random.default_rng(4), 20_000
    accepted, good, favors = (np.empty((draws, 30)) for _ in range(3))
    for i, (case, plan) in enumerate(zip(found.cases, plans, strict=True)):
        weight, favor = case.belief.weight, case.belief.favor
        secret = rng.choice(weight.size, draws, p=weight / weight.sum())
        accepted[:, i] = rng.random(draws) < plan.policy.accept[secret]
        good[:, i] = rng.random(draws) < favor[secret]
        after = [
            float(weight @ (chance * favor)) / max(float(weight @ chance), 1e-300)
            for chance in (1 - plan.policy.accept, plan.policy.accept)
        ]
        favors[:, i] = np.where(accepted[:, i] > 0, after[1], after[0])
    listed = np.zeros((draws, 30))
    np.put_along_axis(listed, np.argsort(-favors, axis=1)[:, :8], 1.0, axis=1)
    played = {
        "alone": (accepted != good).mean(axis=1),
        "listed": (listed != good).mean(axis=1),
        "accepted": accepted.sum(axis=1),
        "changed": (listed != accepted).sum(axis=1),
    }
    for part, values in played.items():
        error = values.std() / np.sqrt(draws)
        assert getattr(stated, part) == pytest.approx(values.mean(), abs=5.5 * error + 1e-12), part
    assert stated.spread == pytest.approx(played["accepted"].std(), rel=0.05)
    assert stated.listed >= stated.alone
