"""What an adversary who learns calibration gains, against lists of all joint assignments and all outcomes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from blindcal.adversaries.findings import SCORES, Finding, finding_about, findings_of
from blindcal.adversaries.learned_calibration import LEARNS, calibration_model, learn, learning_findings
from blindcal.adversaries.single_paper import AUTHOR, ONE_BY_ONE, POLICIES, View
from blindcal.errors import InputError
from blindcal.posterior.paper import PaperCase
from learned_conferences import GRID, best, integrated, listed, paper, people, seen
from sizes import count

# The error is that of 32 chains: seven times it is exceeded with a chance below 1e-7, in each of up to twenty
# comparisons of a test.
SPREAD = 7.0


def drawn(seed: int, papers: int, *, star: bool = False) -> tuple[list[PaperCase], list[View]]:
    """Papers with two reviews each from pools of three that overlap; offsets are uncertain."""
    rng = np.random.default_rng([190, seed])
    rows = people(rng, 4, errors=(0.0, 0.9, 0.0, 0.1))
    names = list(rows)
    if star:
        rows["*"] = (1.0, 0.0, 0.8, 0.0, 1.0, 0.0, 0.0)
    pools = [[names[(one + k) % 4] for k in range(3)] + ["*"] * star for one in range(papers)]
    cases = [paper(rng, one, rows, pool, 2) for one, pool in enumerate(pools)]
    return cases, seen(cases, rng)


def published(views: Sequence[View], seed: int) -> list[View]:
    """Decisions for tuples drawn from the scores; raw and public ones say nothing."""
    rng, found = np.random.default_rng([191, seed]), []
    for view in views:
        row, chance, outcome = rng.choice(len(view.weight), p=view.weight), rng.random(), {}
        for policy, accept in view.accept.items():
            said = accept if chance < accept[row] else 1.0 - accept
            outcome[policy] = said if policy in ("chosen", "full") else np.ones_like(said)
        found.append(replace(view, outcome=outcome))
    return found


def ones(views: Sequence[View]) -> list[np.ndarray]:
    return [np.ones_like(view.weight) for view in views]


@pytest.mark.parametrize("star", [False, True])
def test_findings_of_a_release_against_all_joint_assignments(star: bool) -> None:
    for number in range(count(1, 10)):
        cases, views = drawn(number, 3, star=star)
        views = published(views, number)
        found = learning_findings(views, target=0.002, seed=number)
        alone = best(listed(cases, ones(views)), cases)
        for policy in POLICIES:
            one, error = finding_about(found, policy), max(each.error for each in found)
            likely = [view.outcome[policy] for view in views if view.outcome is not None]
            decided = best(listed(cases, likely), cases)
            assert abs(one.baseline - alone) < SPREAD * error
            assert abs(one.success - decided) < SPREAD * error
            if policy in ("raw", "public"):
                assert one.added == one.error == 0.0


def test_rounded_scores_of_a_release_against_quadrature() -> None:
    rng = np.random.default_rng(192)
    rows = people(rng, 3)
    rows["r0"] = (*rows["r0"][:3], 0.4, 0.9, 0.5, 0.2)
    cases = [paper(rng, one, rows, list(rows), 2, grid=GRID) for one in range(3)]
    views = published(seen(cases, rng), 1)
    one = finding_about(learning_findings(views, ["chosen"], target=0.002), "chosen")
    likely = [view.outcome["chosen"] for view in views if view.outcome is not None]
    assert abs(one.baseline - best(integrated(cases, ones(views), ["r0"]), cases)) < SPREAD * one.error
    assert abs(one.success - best(integrated(cases, likely, ["r0"]), cases)) < SPREAD * one.error


def test_beside_it_stands_what_papers_one_by_one_reveal() -> None:
    views = published(drawn(1, 3)[1], 1)
    found = learning_findings(views, target=0.01)
    plain = findings_of(views).findings
    assert all(
        one.adversary.startswith(LEARNS) and "no certificate covers it" in one.adversary for one in found
    )
    for policy in POLICIES:
        one, other = finding_about(found, policy, ONE_BY_ONE), finding_about(plain, policy)
        assert (one.baseline, one.success, one.error) == (other.baseline, other.success, 0.0)
    assert [one.question for one in found] == [AUTHOR] * 4 + [ONE_BY_ONE] * 4


def test_before_the_toss_against_all_outcomes() -> None:
    """Two papers, four outcomes, each with a list of all joint assignments."""
    cases, views = drawn(5, 2)
    tables = [view.accept for view in views]
    for policy in ("chosen", "full"):
        exact = 0.0
        # With a list of one row for each outcome, P(outcome) is the sum of its weights.
        for outcome in product((True, False), repeat=2):
            likely = [t[policy] if yes else 1.0 - t[policy] for t, yes in zip(tables, outcome, strict=True)]
            exact += chance_of(cases, likely) * best(listed(cases, likely), cases)
        one = finding_about(learning_findings(views, [policy], target=0.002), policy)
        assert one.error < 0.05
        assert abs(one.success - exact) < SPREAD * one.error
        assert abs(one.baseline - best(listed(cases, ones(views)), cases)) < SPREAD * one.error


def chance_of(cases: Sequence[PaperCase], likely: Sequence[np.ndarray]) -> float:
    """P(an outcome of two papers | scores): the first paper's, then the second's where the first is known."""
    return mean_of(cases, [likely[0], np.ones_like(likely[1])], likely[0], 0) * mean_of(
        cases, likely, likely[1], 1
    )


def mean_of(
    cases: Sequence[PaperCase], likely: Sequence[np.ndarray], chance: np.ndarray, number: int
) -> float:
    """The mean of a paper's `chance` over its tuples, given what is known of the others: from lists in which
    one tuple after the other is the only possible one."""
    before = [one if other != number else np.ones_like(one) for other, one in enumerate(likely)]
    return float(tuple_chances(cases, before, number) @ chance)


def tuple_chances(cases: Sequence[PaperCase], likely: Sequence[np.ndarray], number: int) -> np.ndarray:
    """Each tuple's chance, two reviews: P(first author) P(second author | first author)."""
    first = listed(cases, likely)[number][0]
    found = []
    for who, other in cases[number].tuples:
        only = (cases[number].tuples[:, 0] == who).astype(float)
        given = [only if place == number else one for place, one in enumerate(likely)]
        found.append(first[who] * listed(cases, given)[number][1][other])
    return np.array(found)


def test_without_errors_it_is_exactly_the_certificates_adversary() -> None:
    rng = np.random.default_rng(193)
    rows = people(rng, 4)
    cases = [paper(rng, one, rows, list(rows), 2) for one in range(3)]
    for views in (seen(cases, rng), published(seen(cases, rng), 2)):
        plain = findings_of(views).findings
        for policy in POLICIES:
            one, other = finding_about(learning_findings(views), policy), finding_about(plain, policy)
            assert other.adversary == SCORES
            assert "nothing to learn" in one.adversary
            assert (one.baseline, one.success, one.error) == (other.baseline, other.success, 0.0)


def test_learning_gains_more_than_papers_one_by_one() -> None:
    """One of two reviewers is hardly known, and in truth three points above the other: whoever takes all
    papers together finds that out."""
    known, unsure = (1.0, 0.0, 0.3, 0.0, 0.0, 0.0, 0.0), (1.0, 0.0, 0.3, 0.0, 2.0, 0.0, 0.0)
    scores = [0.2, -0.5, 0.9, 0.4, 2.6, 3.3, 2.1, 3.8]
    cases = [
        PaperCase(f"p{k}", (score,), ("a", "b"), (0.5, 0.5), (known, unsure), bar=0.0)
        for k, score in enumerate(scores)
    ]
    views = published(seen(cases, np.random.default_rng(0)), 3)
    found, chains = (
        learning_findings(views, ["full"], target=0.002),
        learn(calibration_model(views), target=0.002),
    )
    one, plain = finding_about(found, "full"), finding_about(found, "full", ONE_BY_ONE)
    assert one.baseline == chains.success
    assert abs(chains.success - best(listed(cases, ones(views)), cases)) < SPREAD * chains.error
    assert one.baseline > plain.baseline + 0.05


def test_chains_that_cannot_meet_say_nothing() -> None:
    """Two reviewers of whom the same is stated wrote all reviews of eight papers, and one of them a ninth:
    chains that take the one for the other would have to change all papers at once."""
    unsure = (1.0, 0.0, 0.3, 0.0, 3.0, 0.0, 0.0)
    pairs = [
        PaperCase(f"p{k}", (0.1 * k, 3.0 + 0.1 * k), ("a", "b"), (1.0, 1.0), (unsure, unsure), bar=0.0)
        for k in range(8)
    ]
    last = PaperCase("q", (3.2,), ("a",), (1.0,), (unsure,), bar=0.0)
    views = published(seen([*pairs, last], np.random.default_rng(0)), 3)
    with pytest.raises(InputError, match="`learns`: chains from different starts do not agree"):
        learning_findings(views, ["chosen"], most=1)


def test_the_same_seed_gives_the_same_numbers_for_any_number_of_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before the toss outcomes are shared out among them, afterwards starts."""
    monkeypatch.setattr("blindcal.compute.parallel._PATIENCE", 0.0)
    views = drawn(2, 2)[1]
    planned = [learning_findings(views, ["full"], target=1.0, most=2, workers=number) for number in (1, 2)]
    monkeypatch.setattr("blindcal.adversaries.learned_calibration._TOGETHER", 0)
    views = published(views, 2)
    decided = [learning_findings(views, ["full"], target=1.0, most=2, workers=number) for number in (1, 2)]
    assert planned[0] == planned[1]
    assert decided[0] == decided[1] != learning_findings(views, ["full"], target=1.0, most=2, seed=1)


def test_progress_comes_to_its_end_and_an_interrupt_ends_it() -> None:
    views = published(drawn(2, 2)[1], 2)
    said: list[tuple[str, int]] = []

    @contextmanager
    def counting(work: str, steps: int) -> Iterator[object]:
        said.append((work, steps))
        yield lambda done: said.append((work, -done))

    for target in (0.0, 1.0):
        learning_findings(views, ["chosen"], target=target, most=3, progress=counting)
        assert sum(steps for _, steps in said) == 0

    @contextmanager
    def interrupting(work: str, steps: int) -> Iterator[object]:
        def stop(done: int) -> None:
            raise KeyboardInterrupt

        yield stop

    with pytest.raises(KeyboardInterrupt):
        learning_findings(views, ["chosen"], progress=interrupting)


def test_chains_stop_where_they_are_precise_enough() -> None:
    sheet = calibration_model(drawn(3, 2)[1])
    quick, slow = learn(sheet, target=1.0), learn(sheet, target=0.0, most=4)
    assert (quick.sweeps, slow.sweeps) == (100, 200)
    assert (quick.chains, quick.starts, quick.pick.shape) == (32, 8, (32, 2))
    assert quick.low <= quick.success <= max(quick.high, quick.low)
    assert quick.agrees


def test_decisions_that_are_the_same_whoever_reviewed_add_nothing() -> None:
    views = [
        replace(view, accept={**view.accept, "chosen": np.full_like(view.weight, 0.3)})
        for view in drawn(4, 2)[1]
    ]
    one = finding_about(learning_findings(views, ["chosen"], target=1.0), "chosen")
    assert one.added == one.error == 0.0


def test_a_finding_is_of_one_policy() -> None:
    found = learning_findings(published(drawn(3, 2)[1], 3), ["full"], target=1.0)
    assert [(one.policy, one.question) for one in found] == [("full", AUTHOR), ("full", ONE_BY_ONE)]
    assert all(isinstance(one, Finding) for one in found)
