"""Ordered levels instead of accept and reject: the study of guarantees.md against the product's beliefs."""

from __future__ import annotations

import numpy as np
import pytest
from studies import levels

from blindcal.planning.conference_plan import plan_conference
from blindcal.policy.multi_outcome import least_loss
from blindcal.posterior.acceptance_bar import choose_bar
from blindcal.posterior.conference import assemble


@pytest.mark.parametrize("name", levels.GUARANTEES)
def test_two_levels_are_the_private_decisions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one cut the loss is that of accepting or rejecting, and the best level costs what the best table
    does: two programs and two ways to each tuple's evidence."""
    monkeypatch.setattr(levels, "PAPERS", 12)
    found = assemble(levels.cases_of(levels.REGIMES["prototype"], 5), 0.25, None)
    plans, _ = plan_conference(found, levels.GUARANTEES[name])
    for case, plan in zip(found.cases, plans, strict=True):
        chances = levels.above(case, np.array([found.bar]))
        np.testing.assert_allclose(chances[:, 0], case.belief.favor, atol=1e-12)
        solved = least_loss(
            case.belief.weight, levels.losses(chances), case.belief.labels, levels.GUARANTEES[name]
        )
        assert solved.loss == pytest.approx(plan.figures.wrong, abs=1e-8)


def test_a_list_of_levels_that_say_nothing_is_the_public_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "PAPERS", 20)
    cases = levels.cases_of(levels.REGIMES["prototype"], 6)
    silent = [np.full((len(case.tuples), 3), 1 / 3) for case in cases]
    for share, wrong in zip(levels.LISTS, levels.listed(cases, silent, 1), strict=True):
        bar = choose_bar(cases, share, None)[0]
        favor = np.sort([case.belief.weight @ levels.above(case, np.array([bar]))[:, 0] for case in cases])
        accepted = round(20 * share)
        assert wrong == pytest.approx((favor[:-accepted].sum() + (1 - favor[-accepted:]).sum()) / 20)
