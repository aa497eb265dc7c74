"""What guarantees gain on this year's evidence, against simulated qualities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from blindcal.errors import InputError
from blindcal.planning.level_menu import LEVEL_MENU, level_answer, level_menu
from blindcal.planning.remarks import level_remarks
from blindcal.planning.request import Request
from blindcal.policy.guarantee import PUBLIC, Guarantee
from blindcal.posterior.conference import Conference
from blindcal.posterior.inputs import read_inputs
from blindcal.posterior.this_year_evidence import SHARES
from blindcal.posterior.this_year_inputs import Evidence, ThisYearInputs
from sizes import count


def inputs(papers: int = 40, people: int = 25, reviews: int = 3) -> ThisYearInputs:
    rng = np.random.default_rng(4)
    strict = rng.normal(size=people)
    rows = [
        (f"p{paper:02d}", f"r{who}", round(5 + 2 * (quality + strict[who] + rng.normal()), 1))
        for paper, quality in enumerate(rng.normal(size=papers))
        for who in rng.choice(people, reviews, replace=False)
    ]
    papers_of, names, scores = zip(*rows, strict=True)
    return read_inputs({"paper": papers_of, "reviewer": names, "score": scores})


def conference(share: float = 0.35) -> Conference:
    return inputs().prepared(accept_rate=0.25, people=25, strictness_share=share)[0]


@pytest.mark.parametrize("share", SHARES)
def test_gains_are_those_of_simulated_qualities(share: float) -> None:
    """Quality and corrected quality are drawn given the scores, and decided by the tables of the menu."""
    prepared, rng, draws = conference(), np.random.default_rng(7), count(4_000, 40_000)
    menu = level_menu(prepared)
    for choice in menu.choices:
        epsilon = choice.guarantee.epsilon
        saved = np.zeros(draws)
        for case, raw in zip(prepared.graded, prepared.raw_accept, strict=True):
            joint, alone = case.model.joint(3, share), case.model.variance_alone(3)
            mean = case.expected_quality
            quality = mean + np.sqrt(alone) * rng.normal(size=draws)
            rest = joint.variance - joint.covariance**2 / alone
            x = joint.slope * mean + joint.covariance / alone * (quality - mean)
            x = x + np.sqrt(max(rest, 0.0)) * rng.normal(size=draws)
            follow = 1.0 if choice.guarantee.name == "none" else 0.5
            constant = float(case.favor > 0.5)
            if epsilon is not None:
                follow = 1.0 / (1.0 + np.exp(-epsilon))
            evidence = np.where(x > case.bar, follow, 1.0 - follow)
            stated = case.belief
            lot = stated.weight @ np.minimum(stated.favor, 1.0 - stated.favor)
            lot = follow * lot + (1.0 - follow) * (1.0 - lot)
            lots = choice.guarantee is not PUBLIC and lot < min(case.favor, 1.0 - case.favor)
            accept = evidence if lots or choice.guarantee.name == "none" else constant
            right = quality > case.bar
            saved += np.where(right, accept - raw, raw - accept)
        gain = choice.gains[SHARES.index(share)]
        # Five standard errors: missed once in 600,000 times.
        assert abs(saved.mean() - gain) < 5 * saved.std() / np.sqrt(draws) + 1e-9


def test_a_looser_limit_never_gains_less_as_stated() -> None:
    menu = level_menu(conference(0.25))
    stated = [choice.gains[SHARES.index(0.25)] for choice in menu.choices]
    assert stated == sorted(stated)
    assert menu.choices[0].lots == 0 == menu.choices[-1].lots
    assert menu.choice(Guarantee("odds")).lots > menu.choice(Guarantee("odds", epsilon=1.0)).lots


def test_papers_that_tie_by_mean_score_are_not_decided_otherwise() -> None:
    """As reports count them: six papers tie for two places, and the scores alone reject all six."""
    papers = np.repeat([f"p{number:02d}" for number in range(20)], 2)
    scores = [1, 2, 2, 3] * 5 + [3] * 4 + [4] * 12 + [5] * 4
    table = {"paper": papers, "reviewer": [f"r{place % 7}" for place in range(40)], "score": scores}
    prepared = read_inputs(table).prepared(accept_rate=0.2, people=7, strictness_share=0.25)[0]
    assert prepared.raw_accept == pytest.approx([0.0] * 12 + [1 / 3] * 6 + [1.0] * 2)
    accepted = [case.favor > 0.5 for case in prepared.graded]
    otherwise = sum(accepted[:12]) + 2 - sum(accepted[18:])
    assert level_menu(prepared, [PUBLIC]).choices[0].changed == otherwise


def test_the_frame_has_a_row_for_each_guarantee_and_share() -> None:
    pytest.importorskip("pandas")
    frame = level_menu(conference()).to_frame()
    assert len(frame) == len(LEVEL_MENU) * len(SHARES)


def test_what_is_not_stated_is_said_and_does_not_depend_on_who_wrote_what() -> None:
    request = Request(Guarantee("odds"), accept_rate=0.25)
    answer = level_answer(inputs(), request)
    assert "24 is taken, a person for every five reviews; nobody was counted" in " ".join(answer.remarks)
    stated = level_answer(inputs(), Request(Guarantee("odds"), accept_rate=0.25, people=3))
    assert "everyone reviews everything" in " ".join(stated.remarks)
    assert stated.choice.lots == 0
    single = read_inputs({"paper": [1, 2, 2], "reviewer": ["a", "a", "b"], "score": [1, 2, 4]})
    remarks = level_remarks(single.prepared(accept_rate=0.5)[0], request)
    assert any(remark.startswith("1 paper has one review") for remark in remarks)


def test_nothing_is_stated_of_evidence_that_another_method_made() -> None:
    given = replace(inputs(), given=Evidence(dict.fromkeys(inputs().reviews.papers, 1)))
    answer = level_answer(given, Request(Guarantee("odds"), accept_rate=0.25, people=12))
    assert answer.from_file
    assert "can dictate decisions" in answer.remarks[0]
    assert not level_answer(inputs(), Request(Guarantee("odds"), accept_rate=0.25, people=12)).from_file


@pytest.mark.parametrize("name", ["crowd", "steady", "average"])
def test_guarantees_about_candidates_are_refused_with_the_way_to_have_them(name: str) -> None:
    with pytest.raises(InputError, match=rf"`{name}` limits how likely .* committee and past reviews"):
        level_answer(inputs(), Request(Guarantee(name), accept_rate=0.25))
    with pytest.raises(InputError, match="`posterior_cap`"):
        level_answer(inputs(), Request(Guarantee("odds", posterior_cap=0.5), accept_rate=0.25))
