"""The plan of a conference from its files: each paper's, their sum, and words; nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from blindcal.errors import InputError
from blindcal.planning.conference_plan import Answer, answer, plan, plan_prepared
from blindcal.planning.guarantee_menu import MENU
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.inputs import Inputs
from listed_tuples import agree, keeps
from small_conferences import everything, loaded, read_small, small_conference

REQUEST = Request(Guarantee("steady", epsilon=2.0), accept_rate=0.4)


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    return read_small(small_conference(), tmp_path)


@pytest.mark.parametrize(
    "guarantee",
    [Guarantee("steady", epsilon=2.0), Guarantee("average", epsilon=None)],
    ids=("steady", "average"),
)
def test_every_paper_is_planned_in_order_and_keeps_its_promise(guarantee: Guarantee, inputs: Inputs) -> None:
    found = plan(inputs, replace(REQUEST, guarantee=guarantee))
    direct, _ = loaded(small_conference())
    assert found.conference == direct
    assert len(found.papers) == len(direct.cases) == 6
    for case, paper in zip(direct.cases, found.papers, strict=True):
        agree(paper.claim, keeps(guarantee, case.belief, paper.policy))
    assert sum((paper.claim.newly_named for paper in found.papers), Fraction(0)) == 0


def test_the_summary_is_that_of_the_papers(inputs: Inputs) -> None:
    found = plan(inputs, REQUEST)
    success = sum((paper.claim.named for paper in found.papers), Fraction(0)) / 12
    assert found.summary["success"] == pytest.approx(float(success), abs=1e-15)
    assert found.summary["expected_wrong"] == pytest.approx(sum(p.figures.wrong for p in found.papers) / 6)
    assert found.summary["epsilon"] == max(paper.claim.epsilon for paper in found.papers) <= 2
    assert (found.summary["papers"], found.summary["reviews"]) == (6, 12)


def test_planning_writes_nothing_and_is_the_same_again(inputs: Inputs, tmp_path: Path) -> None:
    before = everything(tmp_path)
    one, two = plan(inputs, REQUEST), plan(inputs, REQUEST)
    assert everything(tmp_path) == before
    for first, second in zip(one.papers, two.papers, strict=True):
        assert first.policy.integers.tolist() == second.policy.integers.tolist()
    assert one.summary == two.summary


def test_the_menu_is_that_of_the_same_conference(inputs: Inputs) -> None:
    """What it says of the guarantee that was planned is what the plan says."""
    told: list[tuple[str, int]] = []

    @contextmanager
    def progress(work: str, steps: int) -> Iterator[Callable[[int], None]]:
        told.append((work, steps))
        yield lambda done: None

    found = plan(inputs, REQUEST)
    choice = found.menu(progress=progress).choice(Guarantee("steady", epsilon=2.0))
    assert choice.wrong == pytest.approx(6 * found.summary["expected_wrong"], abs=1e-9)
    assert told == [(f"comparing {len(MENU)} guarantees", 6)]


def test_the_answer_is_that_of_the_plan_and_needs_no_table(inputs: Inputs) -> None:
    found, planned, told = answer(inputs, REQUEST), plan(inputs, REQUEST), list[Answer]()
    for name in ("", "_raw", "_fully_calibrated"):
        own = found.choice.wrong if name == "" else getattr(found.menu, f"wrong{name}")
        assert own == pytest.approx(6 * planned.summary[f"expected_wrong{name}"], abs=1e-9)
    added = planned.summary["success"] - planned.summary["success_scores_only"]
    assert found.choice.added == pytest.approx(added, abs=1e-9)
    assert (found.bar, found.weighed, found.reviews) == (planned.conference.bar, 6, len(inputs.reviews))
    assert (found.fit, found.remarks) == (planned.fit, planned.remarks)
    assert answer(inputs, REQUEST, tell=told.append) == found == told[-1]
    assert answer(inputs, REQUEST, prepared=planned.conference, seconds=0.0) == told[0]
    two = answer(inputs, REQUEST, [Guarantee("public", epsilon=None)])
    assert [choice.guarantee.name for choice in two.menu.choices] == ["public", "steady"]


def test_a_request_that_says_too_little_is_refused_before_anything_is_weighed(inputs: Inputs) -> None:
    @contextmanager
    def progress(work: str, steps: int) -> Iterator[Callable[[int], None]]:
        raise AssertionError(work)
        yield

    for bad in (
        Request(Guarantee("steady", epsilon=2.0)),
        replace(REQUEST, bar=0.0),
        replace(REQUEST, conference=""),
    ):
        with pytest.raises(InputError):
            plan(inputs, bad, progress=progress)


def test_a_misfit_is_refused_or_said(tmp_path: Path) -> None:
    small = small_conference(papers=12)
    rows = [(paper, who, f"{float(score) + 50}") for paper, who, score in small.reviews[1:]]
    far = read_small(replace(small, reviews=(small.reviews[0], *rows)), tmp_path)
    conference, _ = far.prepared(accept_rate=0.4)
    for refused in (
        lambda: plan(far, REQUEST),
        lambda: plan_prepared(far, conference, REQUEST),
    ):
        with pytest.raises(InputError, match="despite_misfit"):
            refused()
    found = plan(far, REQUEST, despite_misfit=True)
    assert found.fit.notes
    assert set(found.fit.notes) <= set(found.remarks)


def test_a_bar_that_nobody_passes_is_remarked_on(inputs: Inputs) -> None:
    assert not any("expected to pass" in remark for remark in plan(inputs, REQUEST).remarks)
    found = plan(inputs, Request(Guarantee("steady", epsilon=2.0), bar=7.0))
    assert any(remark.startswith("no paper is expected to pass `bar` 7") for remark in found.remarks)
    assert found.conference.bar == 7.0
