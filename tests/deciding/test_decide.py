"""Decisions as often as their tables say, for a fixed assignment and over the belief; amendments as pairs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from blindcal.deciding.amend import PriorDecisions
from blindcal.deciding.certificate import claim_of
from blindcal.deciding.decide import Outcome, release
from blindcal.deciding.key import Key, make_key
from blindcal.deciding.ledger import open_ledger
from blindcal.errors import InputError, RefusedError, VerificationError
from blindcal.planning.conference_plan import PaperPlan, plan_conference
from blindcal.planning.expected_errors import summary
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import Conference, TrueReviewers, assemble
from blindcal.verification import checks_of, refuse_failed
from chances import keys, within
from sealed_releases import probability_of
from sizes import count
from small_conferences import drawn, loaded, small_conference

REQUEST = Request(Guarantee("steady", epsilon=2.0), accept_rate=0.4)


@pytest.fixture(scope="module")
def planned() -> tuple[Conference, TrueReviewers, list[PaperPlan]]:
    conference, truth = loaded(small_conference(seed=4, papers=16))
    plans = plan_conference(conference, REQUEST.guarantee)
    assert sum(np.ptp(plan.policy.accept) > 0.1 for plan in plans) >= 3, "some tables must use the secret"
    return conference, truth, plans


def test_frequencies_with_a_fixed_assignment(
    planned: tuple[Conference, TrueReviewers, list[PaperPlan]],
) -> None:
    """Over fresh keys every paper is accepted as often as its sealed probability says."""
    conference, truth, plans = planned
    draws = count(2_000, 20_000)
    hits = np.zeros(len(plans), dtype=int)
    for key in keys(1, draws):
        papers = drawn(key, conference, truth, REQUEST, plans)
        hits += [paper.accepted for paper in papers]
    for paper, accepted in zip(papers, hits, strict=True):
        assert within(int(accepted), draws, float(probability_of(paper)), tests=len(plans))


def test_frequencies_over_the_belief(planned: tuple[Conference, TrueReviewers, list[PaperPlan]]) -> None:
    """Assignments redrawn from the belief: an adversary of its own code wins as often as certified."""
    conference, _, plans = planned
    draws, rng = count(2_000, 20_000), np.random.default_rng(2)
    beliefs = [case.belief for case in conference.cases]
    secrets = [rng.choice(belief.weight.size, draws, p=belief.weight) for belief in beliefs]
    right = [np.zeros(len(case.scores), dtype=int) for case in conference.cases]
    wrong = np.zeros(len(plans), dtype=int)
    pairs = list(zip(conference.cases, plans, strict=True))
    guesses = [best_guesses(case.belief.weight, case.tuples, plan) for case, plan in pairs]
    for index, key in enumerate(keys(3, draws)):
        truth = {
            case.paper: tuple(case.candidates[i] for i in case.tuples[secret[index]])
            for case, secret in zip(conference.cases, secrets, strict=True)
        }
        for i, paper in enumerate(drawn(key, conference, truth, REQUEST, plans)):
            case = conference.cases[i]
            right[i] += guesses[i][paper.accepted] == case.tuples[paper.secret]
            good = rng.random() < beliefs[i].favor[paper.secret]
            wrong[i] += paper.accepted != good
    tests = sum(map(len, right)) + len(plans)
    total = 0.0
    for i, (case, plan) in enumerate(pairs):
        chances = success_by_slot(case.belief.weight, case.tuples, plan)
        total += sum(chances)
        assert sum(chances) == pytest.approx(float(plan.claim.named), abs=1e-12)
        for hits, chance in zip(right[i], chances, strict=True):
            assert within(int(hits), draws, chance, tests)
        assert within(int(wrong[i]), draws, plan.figures.wrong, tests)
    stated = summary([plan.claim for plan in plans], [plan.figures for plan in plans])
    assert stated["success"] == pytest.approx(total / sum(map(len, right)), abs=1e-12)


def best_guesses(weight: np.ndarray, tuples: np.ndarray, plan: PaperPlan) -> dict[bool, np.ndarray]:
    """For each outcome the author that the adversary names in each slot."""
    guess = {}
    for accepted in (True, False):
        mass = weight * (plan.policy.accept if accepted else 1 - plan.policy.accept)
        totals = [np.bincount(column, mass) for column in tuples.T]
        guess[accepted] = np.array([int(total.argmax()) for total in totals])
    return guess


def success_by_slot(weight: np.ndarray, tuples: np.ndarray, plan: PaperPlan) -> list[float]:
    chances = []
    for column in tuples.T:
        chance = 0.0
        for mass in (weight * plan.policy.accept, weight * (1 - plan.policy.accept)):
            chance += max(float(mass[column == who].sum()) for who in set(column.tolist()))
        chances.append(chance)
    return chances


def decided(
    path: Path, conference: Conference, truth: TrueReviewers, *, amend: bool = False, reason: str = ""
) -> Outcome:
    key = Key(path.read_bytes()) if path.exists() else make_key(path)
    with open_ledger(path, key) as ledger:
        return release(conference, truth, REQUEST, ledger, plan_conference, amend=amend, reason=reason)


def swapped(truth: TrueReviewers, paper: str) -> TrueReviewers:
    return {**truth, paper: tuple(reversed(truth[paper]))}


def test_a_paper_corrected_many_times_has_one_coin(tmp_path: Path) -> None:
    """Five corrections of one score: each is decided from public data, and the first promise is repeated."""
    conference, truth = loaded(small_conference())
    case, key = conference.cases[0], tmp_path / "key.bin"
    first = decided(key, conference, truth)
    for number in range(1, 6):
        scores = (case.scores[0], case.scores[1] + 0.5 * number)
        now = replace(conference, cases=(replace(case, scores=scores), *conference.cases[1:]))
        outcome = decided(key, now, truth, amend=True, reason="corrected")
        paper = outcome.record.papers[0]
        assert probability_of(paper) in (0, 1)
        assert claim_of(paper) == claim_of(first.record.papers[0])
        assert outcome.certificate["decided_again"]["papers"] == 1
        assert outcome.record.papers[1:] == first.record.papers[1:], "everything else is frozen"
    assert paper.earlier == tuple((number, "p00") for number in range(1, 6))
    with open_ledger(key, Key(key.read_bytes())) as ledger:
        refuse_failed(checks_of(now, truth, REQUEST, PriorDecisions(ledger), plan_conference, assemble))


def test_a_corrected_name_is_told_to_the_chair_alone(tmp_path: Path) -> None:
    """No file, number or counter changes: the stored release is returned, with or without `amend`."""
    conference, truth = loaded(small_conference())
    key = tmp_path / "key.bin"
    first = decided(key, conference, truth)
    for amend in (False, True):
        again = decided(key, conference, swapped(truth, "p00"), amend=amend, reason="a name" * amend)
        assert (again.how, again.record) == ("stored", first.record)
        assert [remark[:46] for remark in again.remarks] == ["CONFIDENTIAL: the reviewers of 1 paper differ "]
    with open_ledger(key, Key(key.read_bytes())) as ledger:
        assert len(ledger.releases) == 1
        now = swapped(truth, "p00")
        with pytest.raises(VerificationError, match="reviewers are those recorded: 1 of 6 does not agree"):
            refuse_failed(
                checks_of(conference, now, REQUEST, PriorDecisions(ledger), plan_conference, assemble)
            )


def test_new_and_withdrawn_papers(tmp_path: Path) -> None:
    conference, truth = loaded(small_conference())
    key, bar = tmp_path / "key.bin", conference.bar
    part = replace(conference, cases=conference.cases[1:5], raw_accept=conference.raw_accept[1:5])
    decided(key, part, truth)
    moved = replace(conference, cases=conference.cases[:4], raw_accept=conference.raw_accept[:4])
    with pytest.raises(RefusedError, match=r"2 of 5 papers \(1 new, 1 withdrawn\)"):
        decided(key, moved, truth)
    outcome = decided(key, moved, truth, amend=True, reason="late")
    assert [p.release for p in outcome.record.papers] == [2, 1, 1, 1]
    assert outcome.record.bar == bar
    assert outcome.certificate["decided_again"]["papers"] == 0


def test_an_amendment_needs_a_release_and_a_reason(tmp_path: Path) -> None:
    conference, truth = loaded(small_conference())
    with pytest.raises(InputError, match="no release to amend"):
        decided(tmp_path / "key.bin", conference, truth, amend=True, reason="x")
    decided(tmp_path / "key.bin", conference, truth)
    fewer = replace(conference, cases=conference.cases[1:], raw_accept=conference.raw_accept[1:])
    with pytest.raises(InputError, match="reason"):
        decided(tmp_path / "key.bin", fewer, truth, amend=True, reason=" ")


def test_a_name_corrected_while_its_paper_was_withdrawn_changes_nothing_public(tmp_path: Path) -> None:
    """A list keeps its cuts when a paper comes back, whoever is now said to have reviewed it."""
    request = Request(Guarantee("steady", epsilon=2.0), accept=3, wait_list=1)
    conference, truth = loaded(small_conference(seed=5, papers=9))
    first = assemble(conference.cases[:8], 3 / 8, None)
    whole = assemble(conference.cases, None, first.bar)
    without = assemble(whole.cases[1:], None, first.bar)
    texts = set()
    for name, now in (("same", truth), ("other", swapped(truth, "p00"))):
        key = tmp_path / name / "key.bin"
        key.parent.mkdir()
        for number, (papers, names) in enumerate(((first, truth), (without, truth), (whole, now))):
            with open_ledger(key, Key(bytes(range(32)))) as ledger:
                amend = {"amend": True, "reason": "late"} if number else {}
                outcome = release(papers, names, request, ledger, plan_conference, **amend)
        certificate = {k: str(v) for k, v in outcome.certificate.items() if k != "commitment"}
        texts.add((outcome.record.decisions, *certificate.items()))
    assert len(texts) == 1
