"""The same reviews under other names, with other digits, pools and orders: never tossed twice unnoticed."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np

from blindcal.deciding.amend import same_scores, score_tolerance
from blindcal.deciding.certificate import claim_of
from blindcal.deciding.decide import Outcome
from blindcal.deciding.key import Key
from blindcal.deciding.ledger import open_ledger
from blindcal.deciding.record import PaperRecord
from blindcal.errors import RefusedError
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import Conference, TrueReviewers, assemble
from blindcal.posterior.paper import PaperCase
from blindcal.verification import checks_of, refuse_failed
from sealed_releases import probability_of
from sizes import count
from small_conferences import known_key, loaded, only, released, small_conference

KEY = Key(bytes(range(32)))
REQUEST = Request(Guarantee("average", epsilon=2.0), accept_rate=0.4)
Given = tuple[Conference, TrueReviewers]


def decided(path: Path, given: Given, *, amend: bool = False) -> Outcome:
    return released(path if path.exists() else known_key(path), *given, REQUEST, amend=amend)


def with_cases(given: Given, cases: list[PaperCase], truth: TrueReviewers) -> Given:
    return replace(given[0], cases=tuple(cases)), truth


def renamed_papers(given: Given, rng: np.random.Generator) -> Given:
    names = {case.paper: f"q{index}" for index, case in enumerate(given[0].cases)}
    cases = [replace(case, paper=names[case.paper]) for case in given[0].cases]
    return with_cases(given, cases, {names[p]: who for p, who in given[1].items()})


def swapped_papers(given: Given, rng: np.random.Generator) -> Given:
    """Every paper under the id of the next one."""
    ids = [case.paper for case in given[0].cases]
    names = dict(zip(ids, ids[1:] + ids[:1], strict=True))
    cases = sorted((replace(case, paper=names[case.paper]) for case in given[0].cases), key=lambda c: c.paper)
    return with_cases(given, cases, {names[p]: who for p, who in given[1].items()})


def moved_digits(given: Given, rng: np.random.Generator) -> Given:
    cases = [
        replace(case, scores=tuple(sorted(s + 1e-9 * float(rng.uniform(-1, 1)) for s in case.scores)))
        for case in given[0].cases
    ]
    return with_cases(given, cases, given[1])


def other_chances(given: Given, rng: np.random.Generator) -> Given:
    cases = []
    for case in given[0].cases:
        step = 1e-7 * np.array([1.0, -1.0] + [0.0] * (len(case.inclusion) - 2))
        cases.append(replace(case, inclusion=tuple((np.array(case.inclusion) + step).tolist())))
    return with_cases(given, cases, given[1])


def larger_pools(given: Given, rng: np.random.Generator) -> Given:
    cases = []
    for case in given[0].cases:
        size = len(case.candidates) + 1
        chance = len(case.scores) / size
        cases.append(
            replace(
                case,
                candidates=(*case.candidates, "~somebody"),
                inclusion=(chance,) * size,
                parameters=(*case.parameters, case.parameters[0]),
            )
        )
    return with_cases(given, cases, given[1])


def other_order(given: Given, rng: np.random.Generator) -> Given:
    order = rng.permutation(len(given[0].cases))
    shuffled = only(given[0], *order)
    return shuffled, dict(sorted(given[1].items(), reverse=True))


def one_review_dropped(given: Given, rng: np.random.Generator) -> Given:
    """The lowest review of every paper is gone, under another id."""
    cases, truth = [], {}
    for index, case in enumerate(given[0].cases):
        chance = (len(case.scores) - 1) / len(case.candidates)
        cases.append(
            replace(
                case,
                paper=f"z{index}",
                scores=case.scores[1:],
                inclusion=(chance,) * len(case.candidates),
            )
        )
        truth[f"z{index}"] = given[1][case.paper][1:]
    return with_cases(given, cases, truth)


COPIES = (renamed_papers, swapped_papers, moved_digits, other_chances, larger_pools, other_order)


def tossed(outcome: Outcome, number: int) -> list[PaperRecord]:
    return [paper for paper in outcome.record.papers if paper.release == number]


def test_near_copies_of_a_conference_are_noticed_and_never_tossed(tmp_path: Path) -> None:
    """Each of 200 copies, by one to three of the ways."""
    given = loaded(small_conference(papers=8, pool=4))
    kinds = Counter[str]()
    for seed in range(count(48, 200)):
        rng = np.random.default_rng([80, seed])
        path, copy = tmp_path / f"{seed}" / "key.bin", given
        decided(path, given)
        for way in rng.permutation(len(COPIES))[: 1 + seed % 3]:
            copy = COPIES[way](copy, rng)
        if seed % 8 == 7:
            copy = one_review_dropped(copy, rng)
        try:
            again = decided(path, copy)
        except RefusedError:
            kinds["refused without --amend"] += 1
        else:
            assert again.how == "stored", "an input that did not change returns what was decided"
            kinds["stored"] += 1
        again = decided(path, copy, amend=True)
        fresh = tossed(again, again.record.release) if again.how != "stored" else []
        for paper in fresh:
            assert paper.earlier, "every decision knows what was decided about these reviews"
            assert probability_of(paper) in (0, 1), "what may be a copy is decided in public"
            kinds["public"] += 1
    assert min(kinds[kind] for kind in ("refused without --amend", "stored", "public")) > 0


def test_thirteen_copies_in_a_row_reveal_no_more_than_the_first(tmp_path: Path) -> None:
    """An adversary that has seen all thirteen, by enumeration, does no better than after the first."""
    given, key = loaded(small_conference(papers=8, pool=4)), tmp_path / "key.bin"
    seen: dict[str, list[np.ndarray]] = {case.paper: [] for case in given[0].cases}
    first: dict[str, float] = {}
    for number in range(13):
        copy = moved_digits(given, np.random.default_rng(number)) if number else given
        outcome = decided(key, copy, amend=number > 0)
        with open_ledger(key, KEY) as ledger:
            tables = ledger.tables(len(ledger.releases))
        for case, paper in zip(given[0].cases, outcome.record.papers, strict=True):
            accept = tables[case.paper].accept
            rows = accept if accept.size == len(case.tuples) else np.full(len(case.tuples), accept[0])
            seen[case.paper].append(rows if paper.accepted else 1 - rows)
            mass = case.belief.weight * np.prod(seen[case.paper], axis=0)
            best = sum(np.bincount(slot, mass).max() for slot in case.tuples.T) / mass.sum()
            assert best <= first.setdefault(case.paper, best) + 1e-12
            assert best <= float(claim_of(paper).named) + 1e-9 or number == 0
    with open_ledger(key, KEY) as ledger:
        refuse_failed(checks_of(*copy, ledger))


def test_what_is_decided_and_certified_does_not_depend_on_who_wrote_a_late_paper(tmp_path: Path) -> None:
    """A late paper with the scores of an early one, by the same people or others: the same public files."""
    conference, truth = loaded(small_conference(papers=6, pool=5))
    first = conference.cases[0]
    late = replace(first, paper="q")
    whole = assemble([*conference.cases, late], None, conference.bar)
    seen = set()
    for index, who in enumerate(permutations(first.candidates, 2)):
        key = tmp_path / f"{index}" / "key.bin"
        decided(key, (conference, truth))
        outcome = decided(key, (whole, {**truth, "q": who}), amend=True)
        hidden = ("commitment",)
        told = {name: value for name, value in outcome.certificate.items() if name not in hidden}
        with open_ledger(key, KEY) as ledger:
            tables = ledger.tables(len(ledger.releases))
        seen.add((json.dumps(told, sort_keys=True), outcome.record.decisions, tables["q"].accept.tobytes()))
    assert len(seen) == 1


def test_a_paper_alone_is_measured_by_the_conference_it_was_in(tmp_path: Path) -> None:
    """One paper has no spread of its own: a score moved by a thousandth of that of all papers is the same."""
    given, key = loaded(small_conference(papers=8)), tmp_path / "key.bin"
    decided(key, given)
    case = given[0].cases[0]
    moved = replace(case, scores=tuple(score + 1e-3 for score in case.scores), paper="alone")
    alone = assemble([moved], None, given[0].bar)
    outcome = decided(key, (alone, {"alone": given[1][case.paper]}), amend=True)
    assert outcome.changes.alike == ("alone",)
    assert outcome.record.papers[0].earlier == ((1, case.paper),)


def test_papers_of_a_later_release_are_known_under_another_name_too(tmp_path: Path) -> None:
    given, key = loaded(small_conference(papers=6)), tmp_path / "key.bin"
    early = only(given[0], 0, 1, 2, 3)
    decided(key, (early, given[1]))
    decided(key, given, amend=True)
    again = [replace(case, paper=f"q{case.paper}") for case in given[0].cases]
    truth = {f"q{paper}": who for paper, who in given[1].items()}
    outcome = decided(key, (assemble(again, None, given[0].bar), truth), amend=True)
    assert outcome.changes.alike == tuple(case.paper for case in again)
    assert {probability_of(paper) for paper in outcome.record.papers} <= {0, 1}


def test_a_copy_of_a_copy_is_known_as_one_of_the_first(tmp_path: Path) -> None:
    """Scores that move a little with each new name, until they are no longer those of the first paper."""
    given, key = loaded(small_conference(papers=8)), tmp_path / "key.bin"
    decided(key, given)
    case, *rest = given[0].cases
    step = 0.9 * score_tolerance([score for one in given[0].cases for score in one.scores])
    for number, name in enumerate(("q", "r"), start=1):
        copy = replace(case, paper=name, scores=tuple(score + number * step for score in case.scores))
        truth = {**given[1], name: given[1][case.paper]}
        outcome = decided(key, with_cases(given, [copy, *rest], truth), amend=True)
    assert outcome.record.papers[0].earlier == ((1, case.paper), (2, "q"))
    assert not same_scores(case.scores, copy.scores, step / 0.9, whole=True)


def test_the_same_scores_by_hand() -> None:
    then = (1.0, 3.0, 5.0)
    assert same_scores(then, then, 0.0, whole=True)
    assert same_scores(then, (5.0, 1.1, 3.0), 0.11, whole=True)
    assert not same_scores(then, (1.1, 3.0, 5.0), 0.09, whole=True)
    assert same_scores(then, (1.0, 5.0), 0.0, whole=False), "one was dropped"
    assert same_scores((1.0, 5.0), then, 0.0, whole=False), "one was added"
    assert not same_scores(then, (1.0, 5.0), 0.0, whole=True), "the other paper is still there"
    assert not same_scores(then, (1.0,), 0.0, whole=False), "less than half"
    assert not same_scores((1.0, 1.0, 2.0), (1.0, 2.0, 2.0), 0.0, whole=True), "each has one partner"
    assert same_scores((1.0, 1.4), (0.6, 1.0), 0.5, whole=True), "the lowest is taken first"


def test_partners_are_those_of_every_matching() -> None:
    """Against all ways to give each of the fewer scores a partner of its own."""
    rng = np.random.default_rng(83)
    for _ in range(count(400, 4000)):
        few, many = (rng.integers(0, 5, int(rng.integers(1, 5))).astype(float) for _ in range(2))
        few, many = sorted((few, many), key=len)
        near = float(rng.choice([0.0, 1.0]))
        fits = any((np.abs(few - np.array(some)) <= near).all() for some in permutations(many, len(few)))
        found = same_scores(few.tolist(), many.tolist(), near, whole=False)
        assert found == (fits and 2 * len(few) >= len(many))
