"""A conference that is calibrated on its own reviews: decided, amended, verified, and attacks on draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blindcal.certify.exact import UNIT, ExactPolicy, PolicyTables, pack_policy
from blindcal.deciding.decide import Outcome, decide_paper, draft, with_texts
from blindcal.deciding.key import Key, coin_facts, input_stamp, public_facts
from blindcal.deciding.ledger import commit, open_ledger
from blindcal.errors import InputError, RefusedError
from blindcal.planning.conference_plan import plan_conference
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.inputs import read_inputs
from blindcal.posterior.this_year_evidence import evidence
from blindcal.verification import verify
from chances import keys, within
from forgeries import ends_of
from sizes import count
from small_conferences import Chair, known_key
from small_reviews import this_year

REQUEST = Request(Guarantee("odds"), accept_rate=0.3, people=20, strictness_share=0.5)


@pytest.fixture
def chair(tmp_path: Path) -> Chair:
    return Chair(tmp_path, read_inputs(this_year(1)), REQUEST)


def accepted(outcome: Outcome) -> dict[str, bool]:
    return {paper.paper: paper.accepted for paper in outcome.record.papers}


@pytest.mark.parametrize("request_", [REQUEST, Request(Guarantee("odds"), accept=9, wait_list=3, people=20),
                                      Request(Guarantee("public"), accept_rate=0.3)])  # fmt: skip
@pytest.mark.parametrize("scores", ["public", "confidential"])
def test_a_release_is_stored_and_verifies(chair: Chair, request_: Request, scores: str) -> None:
    chair = replace(chair, request=replace(request_, scores=scores))
    assert [chair.decide().how, chair.decide().how] == ["new", "stored"]
    checked = chair.verify()
    assert checked.agrees, [check for check in checked.checks if check.failed]


def test_draws_follow_the_evidence_with_the_stated_chance(chair: Chair) -> None:
    outcome = chair.decide()
    chances = {int(p[0], 16) / int(p[1], 16) for p in (paper.probability for paper in outcome.record.papers)}
    high = np.exp(3.0) / (1.0 + np.exp(3.0))
    assert {round(chance, 9) for chance in chances} == {0.0, 1.0, round(high, 9), round(1.0 - high, 9)}
    epsilons = {paper.figures["claim"]["epsilon"] for paper in outcome.record.papers}
    assert epsilons == {0.0, max(epsilons)}
    assert 2.999 < max(epsilons) <= 3.0


def test_draws_are_as_frequent_as_certified_alone_and_in_pairs() -> None:
    """Over fresh keys: each draw follows its evidence with e^3/(1+e^3), and no two draws share a coin."""
    inputs = read_inputs(this_year(1))
    request = REQUEST.for_inputs(inputs)
    conference, truth = request.prepared(inputs)
    levels = evidence(conference.graded, truth.reviewers)
    plans = zip(conference.cases, plan_conference(conference, request.guarantee), strict=True)
    drawn = [(case, plan) for case, plan in plans if plan.claim.epsilon > 0.0]
    draws = count(400, 20_000)
    accepted = np.zeros((len(drawn), draws), dtype=bool)
    for index, key in enumerate(keys(8, draws)):
        rows = input_stamp(key, conference, truth.reviewers, request, None)
        for place, (case, plan) in enumerate(drawn):
            who, level = truth.reviewers[case.paper], levels[case.paper]
            paper = decide_paper(key, request, 1, case, who, plan, 0.0, level=level, rows=rows)
            accepted[place, index] = paper.accepted
    follow = np.exp(3.0) / (1.0 + np.exp(3.0))
    chance = [follow if levels[case.paper] else 1.0 - follow for case, _ in drawn]
    pairs = [*combinations(range(len(drawn)), 2)]
    assert len(pairs) >= 3
    tests = len(drawn) + len(pairs)
    assert all(within(int(a.sum()), draws, p, tests) for a, p in zip(accepted, chance, strict=True))
    for one, two in pairs:
        both = int((accepted[one] & accepted[two]).sum())
        assert within(both, draws, chance[one] * chance[two], tests)


def test_writers_who_are_other_people_change_nothing_public_but_decisions(tmp_path: Path) -> None:
    rows, rng = this_year(1), np.random.default_rng(9)
    certificates = []
    for name in ("true", "permuted", "merged", "split"):
        people = {"true": 20, "permuted": 20, "merged": 5, "split": 80}[name]
        writers = rows["reviewer"]
        if name != "true":
            writers = [f"r{who:02d}" for _ in range(30) for who in rng.choice(people, 3, replace=False)]
        folder = known_key(tmp_path / name / "key.bin").parent
        outcome = Chair(folder, read_inputs({**rows, "reviewer": writers}), REQUEST).decide()
        kept = {k: v for k, v in outcome.certificate.items() if k not in ("commitment", "accepted")}
        certificates.append((kept, outcome.remarks))
    assert all(other == certificates[0] for other in certificates)


def test_an_amendment_decides_new_papers_by_what_is_frozen_and_leaves_the_rest(chair: Chair) -> None:
    rows, first = this_year(1), chair.decide()
    more = this_year(8, papers=3)
    later = {name: [*rows[name], *more[name]] for name in rows}
    later["paper"] = [*rows["paper"], *(f"q{paper}" for paper in more["paper"])]
    later["score"] = [*later["score"]]
    later["score"][0] += 0.5  # the first paper is corrected: it is decided from public data
    with pytest.raises(RefusedError, match="amend"):
        chair.decide(read_inputs(later), out="out2")
    second = chair.amend(read_inputs(later))
    assert second.record.model == first.record.model
    assert second.record.bar == first.record.bar
    assert set(second.changes.new) == {"qp00", "qp01", "qp02"}
    kept = {paper: own for paper, own in accepted(second).items() if paper in accepted(first)}
    assert {paper for paper in kept if kept[paper] != accepted(first)[paper]} <= {"p00"}
    corrected = next(paper for paper in second.record.papers if paper.paper == "p00")
    assert corrected.probability in (("0", "1"), ("1", "1"))
    checked = chair.verify(read_inputs(later), "out2")
    assert checked.agrees, [check for check in checked.checks if check.failed]


def test_evidence_from_elsewhere_is_drawn_recorded_and_verified(tmp_path: Path) -> None:
    rows = this_year(1)
    made = {
        paper: "accept" if number % 3 else "reject"
        for number, paper in enumerate(dict.fromkeys(rows["paper"]))
    }
    chair = Chair(tmp_path, read_inputs(rows, evidence=made), REQUEST)
    first = chair.decide()
    assert {paper.paper: paper.secret for paper in first.record.papers} == {
        paper: int(word == "accept") for paper, word in made.items()
    }
    assert chair.verify().agrees
    other = read_inputs(rows, evidence={**made, "p00": "accept"})
    assert not chair.verify(other).agrees
    with pytest.raises(InputError, match="decided with source file"):
        chair.verify(read_inputs(rows))
    with pytest.raises(RefusedError):
        chair.decide(other, out="out2")


def test_full_calibration_needs_consent(chair: Chair) -> None:
    request = Request(Guarantee("none", epsilon=None), accept_rate=0.3)
    with pytest.raises(InputError, match="yes_leak"):
        chair.decide(request=request)
    assert chair.decide(request=request, yes_leak=True).how == "new"


TWO = Guarantee("odds", epsilon=2.0)


def coin_of_last(rows: Mapping[str, Any], request: Request = REQUEST, **more: Any) -> bytes:
    """The stamp of the coin of the last paper, under one key."""
    inputs = read_inputs(rows, **more)
    request = request.for_inputs(inputs)
    conference, truth = request.prepared(inputs)
    key, last = Key(bytes(range(32))), conference.cases[-1]
    stamp = input_stamp(key, conference, truth.reviewers, request, truth.given)
    facts = coin_facts(request, 1, last.paper, public_facts(last), truth.reviewers[last.paper], stamp)
    return key.stamp("coin", facts)


def with_row(rows: Mapping[str, Any], *cells: object) -> dict[str, Any]:
    return {name: [*rows[name], cell] for name, cell in zip(rows, cells, strict=True)}


def changed(rows: Mapping[str, Any], column: str, place: int, cell: object) -> dict[str, Any]:
    cells = [*rows[column]]
    cells[place] = cell
    return {**rows, column: cells}


def test_a_coin_takes_every_given_row_and_setting_and_nothing_computed() -> None:
    """Of other papers too: who reviewed, what score, which area; the grid, the request, other evidence."""
    rows = this_year(1)
    papers = [*dict.fromkeys(rows["paper"])]
    made = {paper: "accept" if number % 3 else "reject" for number, paper in enumerate(papers)}
    other = {**made, papers[0]: "accept" if made[papers[0]] == "reject" else "reject"}
    areas = {**rows, "area": ["a" if paper < "p15" else "b" for paper in rows["paper"]]}
    more = with_row(rows, "p00", "r99", 5.0)
    integers = {**rows, "score": [float(round(score)) for score in rows["score"]]}
    coins = {
        "as it is": coin_of_last(rows),
        "another reviewer elsewhere": coin_of_last(changed(rows, "reviewer", 0, "r77")),
        "another score of another paper": coin_of_last(changed(rows, "score", 0, rows["score"][0] + 1e-9)),
        "one more review": coin_of_last(more),
        "areas": coin_of_last(areas),
        "another area of another paper": coin_of_last(
            {**areas, "area": ["b" if paper == "p00" or paper >= "p15" else "a" for paper in rows["paper"]]}
        ),
        "a share": coin_of_last(rows, replace(REQUEST, accept_rate=0.31)),
        "strictness": coin_of_last(rows, replace(REQUEST, strictness_share=0.35)),
        "people": coin_of_last(rows, replace(REQUEST, people=21)),
        "epsilon": coin_of_last(rows, replace(REQUEST, guarantee=TWO)),
        "a number": coin_of_last(rows, replace(REQUEST, accept_rate=None, accept=9)),
        "another name": coin_of_last(rows, replace(REQUEST, conference="other")),
        "evidence": coin_of_last(rows, evidence=made),
        "evidence on another paper": coin_of_last(rows, evidence=other),
        "integers": coin_of_last(integers, grid=[*map(float, range(-9, 25))]),
        "another grid": coin_of_last(integers, grid=[*map(float, range(-9, 26))]),
    }
    assert len({*coins.values()}) == len(coins), "each of these would be another coin"
    order = np.random.default_rng(5).permutation(len(rows["paper"]))
    shuffled = {name: [cells[place] for place in order] for name, cells in rows.items()}
    advice = replace(REQUEST, release="advice", scores="confidential")
    assert coin_of_last(shuffled) == coins["as it is"], "the order of rows is no lever"
    assert coin_of_last(rows, advice) == coins["as it is"], "nor is what goes out"


def test_a_drawn_paper_keeps_its_decision_though_its_evidence_would_turn(chair: Chair) -> None:
    """Other papers' reviews changed so much that many levels differ; what was drawn stands, and verifies."""
    rows, first = this_year(1), chair.decide()
    lots = [p for p in first.record.papers if p.probability not in (("0", "1"), ("1", "1"))]
    moved = [*rows["score"]]
    strict = list(dict.fromkeys(rows["reviewer"]))[::2]
    kept = {lot.paper for lot in lots[:3]}
    for place, (paper, who) in enumerate(zip(rows["paper"], rows["reviewer"], strict=True)):
        if paper not in kept:
            moved[place] += 4.0 if who in strict else -4.0
    later = read_inputs({**rows, "score": moved})
    second = chair.amend(later)
    record = {paper.paper: paper for paper in second.record.papers}
    conference, truth = REQUEST.prepared(later, first.record.bar, model=first.record.level_model)
    today = evidence(conference.graded, truth.reviewers)
    then = {paper.paper: paper for paper in first.record.papers}
    assert any(today[paper] != then[paper].secret for paper in kept), "some evidence would turn"
    for paper in kept:
        assert record[paper].accepted == then[paper].accepted
        assert (record[paper].secret, record[paper].release) == (then[paper].secret, 1)
    for paper in record.keys() - kept:
        assert record[paper].probability in (("0", "1"), ("1", "1")), "decided from public data"
    assert chair.verify(later, "out2").agrees


def test_a_late_review_and_a_withdrawal_draw_nothing_again(chair: Chair) -> None:
    rows, first = this_year(1), chair.decide()
    without = read_inputs({name: cells[3:] for name, cells in rows.items()})
    assert chair.amend(without).changes.withdrawn == ("p00",)
    third = chair.amend(read_inputs(rows), out="out3")
    assert third.changes.returned == ("p00",)
    assert accepted(third) == accepted(first)
    late = read_inputs(with_row(rows, "p01", "r77", 3.0))
    fourth = chair.amend(late, out="out4")
    own = next(paper for paper in fourth.record.papers if paper.paper == "p01")
    assert own.probability in (("0", "1"), ("1", "1"))
    assert {p: w for p, w in accepted(fourth).items() if p != "p01"} == {
        p: w for p, w in accepted(first).items() if p != "p01"
    }
    assert chair.verify(late, "out4").agrees


def test_all_that_is_frozen_is_refused_and_a_new_area_has_the_center_of_all(tmp_path: Path) -> None:
    rows = {**this_year(1), "area": ["a" if paper < "p15" else "b" for paper in this_year(1)["paper"]]}
    chair = Chair(tmp_path, read_inputs(rows), REQUEST)
    first = chair.decide()
    for change in ({"accept_rate": 0.31}, {"accept_rate": None, "bar": 0.5}, {"better": "low"},
                   {"scores": "confidential"}, {"accept_rate": None, "accept": 9}, {"people": 21},
                   {"strictness_share": 0.25}, {"guarantee": TWO}):  # fmt: skip
        with pytest.raises(RefusedError, match=r"frozen|cannot be changed"):
            replace(chair, request=replace(REQUEST, **change)).amend(chair.read())
    with pytest.raises(RefusedError, match="frozen"):
        chair.amend(read_inputs(rows, evidence=dict.fromkeys(dict.fromkeys(rows["paper"]), "accept")))
    later = rows
    for who, score in (("r01", 9.0), ("r02", 8.0), ("r03", 3.0)):
        later = with_row(later, "q1", who, score, "c")
    second = chair.amend(read_inputs(later))
    assert second.record.model == first.record.model
    assert (second.record.bar, set(second.changes.new)) == (first.record.bar, {"q1"})
    model = second.record.level_model
    assert model is not None
    assert {*model.moments.areas} == {"a", "b"}
    assert {p: w for p, w in accepted(second).items() if p != "q1"} == accepted(first)
    assert chair.verify(read_inputs(later), "out2").agrees


@pytest.mark.parametrize("kind", ["true level", "both levels", "no draw"])
def test_a_table_bent_for_one_decision_is_found(kind: str, tmp_path: Path) -> None:
    """Papers in turn, by a holder of the key who plans and records another table for each of them."""
    inputs = read_inputs(this_year(1))
    request = REQUEST.for_inputs(inputs)
    conference, truth = request.prepared(inputs)
    stamp, bent = input_stamp(Key(bytes(32)), conference, truth.reviewers, request), 0
    for number in range(0, 30, count(5, 1)):
        path = known_key(tmp_path / str(number) / "key.bin", bytes(32))
        with open_ledger(path, Key(bytes(32))) as ledger:
            honest = draft(conference, truth.reviewers, request, ledger, plan_conference, "")
            paper = honest.record.papers[number]
            own = honest.policies[paper.paper]
            low, high = ends_of(own)
            other, turned = own.numerator.copy(), not paper.accepted
            if kind == "true level":
                other[paper.secret] = high if turned else low
            else:
                other[:] = (high if turned else low) if kind == "both levels" else UNIT * turned
            forged = replace(
                paper, accepted=turned, probability=(f"{int(other[paper.secret]):x}", f"{UNIT:x}")
            )
            papers = tuple(forged if one is paper else one for one in honest.record.papers)
            record = with_texts(replace(honest.record, papers=papers), ledger.key)
            tables = PolicyTables({**honest.policies.packed, paper.paper: pack_policy(ExactPolicy(other))})
            commit(ledger, record, tables, stamp)
        bent += 1
        assert not verify(inputs, path).agrees
    assert bent >= 6
