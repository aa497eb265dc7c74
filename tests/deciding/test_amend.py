"""The same reviews under other names, with other digits, pools and orders: never tossed twice unnoticed."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import permutations
from math import comb
from pathlib import Path

import numpy as np
import pytest

from blindcal.deciding.amend import PriorDecisions, duplicates, same_scores
from blindcal.deciding.certificate import claim_of
from blindcal.deciding.decide import Outcome, decide, release
from blindcal.deciding.key import Key
from blindcal.deciding.ledger import ledger_folder, open_ledger
from blindcal.deciding.record import PaperRecord
from blindcal.errors import InputError, RefusedError
from blindcal.planning.conference_plan import plan_conference
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import Conference, TrueReviewers, assemble
from blindcal.posterior.inputs import Inputs
from blindcal.posterior.paper import PaperCase
from blindcal.reviews import Reviews
from blindcal.verification import checks_of, refuse_failed
from sealed_releases import probability_of
from sizes import count
from small_conferences import SmallConference, everything, loaded, read_small, small_conference

KEY = Key(bytes(range(32)))
REQUEST = Request(Guarantee("average", epsilon=2.0), accept_rate=0.4)
Given = tuple[Conference, TrueReviewers]


def decided(path: Path, given: Given, request: Request = REQUEST, *, amend: bool = False) -> Outcome:
    path.parent.mkdir(exist_ok=True)
    with open_ledger(path, KEY) as ledger:
        return release(*given, request, ledger, plan_conference, amend=amend, reason="again")


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
    shuffled = replace(
        given[0],
        cases=tuple(given[0].cases[i] for i in order),
        raw_accept=tuple(given[0].raw_accept[i] for i in order),
    )
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
            tables = ledger.tables(ledger.record(ledger.releases[-1]))
        for case, paper in zip(given[0].cases, outcome.record.papers, strict=True):
            accept = tables[case.paper].accept
            rows = accept if accept.size == len(case.tuples) else np.full(len(case.tuples), accept[0])
            seen[case.paper].append(rows if paper.accepted else 1 - rows)
            mass = case.belief.weight * np.prod(seen[case.paper], axis=0)
            best = sum(np.bincount(slot, mass).max() for slot in case.tuples.T) / mass.sum()
            assert best <= first.setdefault(case.paper, best) + 1e-12
            assert best <= float(claim_of(paper).named) + 1e-9 or number == 0
    with open_ledger(key, KEY) as ledger:
        refuse_failed(checks_of(*copy, REQUEST, PriorDecisions(ledger), plan_conference, assemble))


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
            tables = ledger.tables(ledger.record(ledger.releases[-1]))
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
    early = replace(given[0], cases=given[0].cases[:4], raw_accept=given[0].raw_accept[:4])
    decided(key, (early, given[1]))
    decided(key, given, amend=True)
    again = [replace(case, paper=f"q{case.paper}") for case in given[0].cases]
    truth = {f"q{paper}": who for paper, who in given[1].items()}
    outcome = decided(key, (assemble(again, None, given[0].bar), truth), amend=True)
    assert outcome.changes.alike == tuple(case.paper for case in again)
    assert {probability_of(paper) for paper in outcome.record.papers} <= {0, 1}


def test_a_key_decides_one_conference(tmp_path: Path) -> None:
    """Whoever could decide the same papers under another name could toss for them again."""
    given, key = loaded(small_conference(papers=8)), tmp_path / "key.bin"
    decided(key, given)
    others = loaded(small_conference(seed=5, papers=10))
    for papers in (given, renamed_papers(given, np.random.default_rng(0)), others):
        for amend in (False, True):
            with pytest.raises(RefusedError, match="needs a key of its own"):
                decided(key, papers, replace(REQUEST, conference="other"), amend=amend)
    with open_ledger(key, KEY) as ledger:
        assert len(ledger.releases) == 1
    with pytest.raises(InputError, match="no release to amend"):
        decided(tmp_path / "other" / "key.bin", given, amend=True)


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


# --- One paper under several ids is refused before a coin is tossed; different papers are not.


DUPLICATES_REQUEST = Request(Guarantee("steady", epsilon=2.0), accept_rate=0.4)


def under_ids(small: SmallConference, ids: list[str], shift: float = 0.0) -> SmallConference:
    """The first paper once more under each of these ids, its scores moved by a little."""
    paper = small.reviews[1][0]
    reviews = tuple(
        (other, who, f"{float(score) + shift:.6f}")
        for other in ids
        for p, who, score in small.reviews[1:]
        if p == paper
    )
    pools = tuple((other, *row[1:]) for other in ids for row in small.pools[1:] if row[0] == paper)
    return replace(small, reviews=(*small.reviews, *reviews), pools=(*small.pools, *pools))


def inputs_of(small: SmallConference, tmp_path: Path) -> Inputs:
    return read_small(small, tmp_path / "in")


def table(*rows: tuple[str, str, float]) -> Reviews:
    names = ("paper", "reviewer", "score")
    return Reviews.from_table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def test_twelve_decisions_about_one_paper_reveal_what_one_does_not() -> None:
    """Why: under steady no decision makes a guess likelier, and twelve independent ones do."""
    conference, _ = loaded(small_conference(seed=10, papers=12, pool=6))
    plans = plan_conference(conference, DUPLICATES_REQUEST.guarantee)
    case, plan = conference.cases[5], plans[5]
    belief = case.belief
    accept = belief.spread(plan.policy.accept)

    def success(decisions: int) -> float:
        seen = [
            belief.weight * comb(decisions, k) * accept**k * (1 - accept) ** (decisions - k)
            for k in range(decisions + 1)
        ]
        slots = range(len(case.scores))
        best = [np.bincount(case.tuples[:, slot], one).max() for slot in slots for one in seen]
        return float(sum(best)) / len(case.scores)

    assert success(0) == pytest.approx(success(1), abs=1e-9) == pytest.approx(0.39, abs=0.01)
    assert success(12) == pytest.approx(0.59, abs=0.01)


@pytest.mark.parametrize("reviews", [1, 2, 3])
@pytest.mark.parametrize("shift", [0.0, 0.000001])
def test_one_paper_under_several_ids_is_refused(
    key_path: Path, tmp_path: Path, reviews: int, shift: float
) -> None:
    ids = [f"x{index:02d}" for index in range(11)]
    small = under_ids(small_conference(papers=12, reviewers=12, reviews=reviews), ids, shift)
    inputs, before = inputs_of(small, tmp_path), everything(tmp_path)
    with pytest.raises(
        RefusedError, match=r"CONFIDENTIAL, for the chair alone: .*p00 and x00.*61 more pairs"
    ) as caught:
        decide(inputs, DUPLICATES_REQUEST, key_path, tmp_path / "out")
    assert not any(canary in str(caught.value) for canary in small.canaries)
    assert everything(tmp_path) == before
    assert not ledger_folder(key_path).exists()
    assert decide(inputs, DUPLICATES_REQUEST, key_path, tmp_path / "out", distinct_papers=True).how == "new"
    assert decide(inputs, DUPLICATES_REQUEST, key_path, tmp_path / "out").how == "stored"


def test_what_is_published_does_not_say_that_papers_were_declared_distinct(
    key_path: Path, tmp_path: Path
) -> None:
    inputs = inputs_of(small_conference(), tmp_path)
    plain = decide(inputs, DUPLICATES_REQUEST, key_path, tmp_path / "out")
    again = tmp_path / "again" / "key.bin"
    again.parent.mkdir()
    again.write_bytes(key_path.read_bytes())
    again.chmod(0o600)
    declared = decide(inputs, DUPLICATES_REQUEST, again, tmp_path / "out2", distinct_papers=True)
    assert declared.record == plain.record


def amended(small: SmallConference, key: Path, tmp_path: Path) -> Outcome:
    inputs = inputs_of(small, tmp_path)
    return decide(inputs, DUPLICATES_REQUEST, key, tmp_path / "out2", amend=True, reason="late papers")


def test_a_second_id_that_comes_with_an_amendment_is_refused(key_path: Path, tmp_path: Path) -> None:
    """Of a paper that was decided, and of another new one; a paper that only changes its id is no second."""
    small = small_conference(papers=4)
    decide(inputs_of(small, tmp_path), DUPLICATES_REQUEST, key_path, tmp_path / "out")
    with pytest.raises(RefusedError, match="late and p00"):
        amended(under_ids(small, ["late"]), key_path, tmp_path)
    both = under_ids(small.with_review(1, score="0.31").with_review(2, score="0.17"), ["new", "new2"])
    joined = replace(both, reviews=(*small.reviews, *both.reviews[len(small.reviews) :]))
    with pytest.raises(RefusedError, match="new and new2"):
        amended(joined, key_path, tmp_path)
    renamed = [("late" if row[0] == "p00" else row[0], *row[1:]) for row in small.reviews]
    pools = [("late" if row[0] == "p00" else row[0], *row[1:]) for row in small.pools]
    moved = replace(small, reviews=tuple(renamed), pools=tuple(pools))
    outcome = amended(moved, key_path, tmp_path)
    assert outcome.changes.alike == ("late",), "it is decided by public information alone"


def test_papers_are_alike_reviewer_by_reviewer() -> None:
    first = [("a", "ada", 7.0), ("a", "ben", 4.0)]
    assert duplicates(table(*first, ("b", "ben", 4.0), ("b", "ada", 7.0))) == [("a", "b")]
    for other in (
        [("b", "ada", 4.0), ("b", "ben", 7.0)],
        [("b", "ada", 7.0), ("b", "cleo", 4.0)],
        [("b", "ada", 7.0), ("b", "ben", 5.0)],
        [("b", "ada", 7.0)],
        [("b", "ada", 7.0), ("b", "ben", 4.0), ("b", "cleo", 4.0)],
    ):
        assert duplicates(table(*first, *other)) == []


def test_one_reviewer_gives_the_same_grade_to_many_papers() -> None:
    """On a scale of grades that is no sign; if scores are never repeated else, it is."""
    rng = np.random.default_rng(5)
    grades = [(f"p{i}", f"r{i % 9}", float(rng.integers(1, 11))) for i in range(60)]
    assert len({row[1:] for row in grades}) < len(grades), "some are the same"
    assert duplicates(table(*grades)) == []
    assert duplicates(table(("a", "ada", 7), ("b", "ada", 7), ("c", "ada", 7), ("d", "ben", 3))) == []
    fine = [(paper, who, round(float(rng.normal(5, 2)), 3)) for paper, who, _ in grades]
    assert duplicates(table(*fine)) == []
    ids = [f"x{i}" for i in range(12)]
    again = table(*fine, *((paper, *fine[7][1:]) for paper in ids))
    assert {paper for pair in duplicates(again) for paper in pair} >= {"p7", *ids}


def test_different_papers_are_seldom_refused() -> None:
    """Papers assigned one by one: 180 papers, three of 60 reviewers each, grades from 1 to 10."""
    refused, runs = 0, count(60, 400)
    for seed in range(runs):
        rng = np.random.default_rng([27, seed])
        quality, severity = rng.normal(size=180), rng.normal(size=60)
        rows = [
            (
                f"p{paper}",
                f"r{who}",
                float(np.clip(round(5.5 + 1.5 * quality[paper] + severity[who] + rng.normal()), 1, 10)),
            )
            for paper in range(180)
            for who in rng.choice(60, 3, replace=False)
        ]
        refused += bool(duplicates(table(*rows)))
    assert refused <= 0.1 * runs
