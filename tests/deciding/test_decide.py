"""Decisions as often as their tables say, for a fixed assignment and over the belief; amendments as pairs."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blindcal.certify.exact import CLAIM_DENOMINATOR
from blindcal.deciding.amend import Changes, changes_since
from blindcal.deciding.certificate import claim_of
from blindcal.deciding.decide import decide, decide_paper, draft, release, true_secret
from blindcal.deciding.key import Key, input_stamp
from blindcal.deciding.ledger import Ledger, commit, ledger_folder, open_ledger
from blindcal.deciding.publish import latest_release, release_folder
from blindcal.errors import InputError, RefusedError, VerificationError
from blindcal.planning.conference_plan import PaperPlan, plan_conference
from blindcal.planning.expected_errors import summary
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import Conference, TrueReviewers, assemble
from blindcal.posterior.paper import secret_of
from blindcal.verification import checks_of, refuse_failed
from chances import keys, within
from sealed_releases import probability_of
from sizes import count
from small_conferences import Chair, drawn, everything, loaded, only, released, small_conference

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
    """Over fresh keys every paper is accepted as often as its probability says, and every pair too."""
    conference, truth, plans = planned
    draws, rows = count(2_000, 20_000), list[list[bool]]()
    for key in keys(1, draws):
        papers = drawn(key, conference, truth, REQUEST, plans)
        rows.append([paper.accepted for paper in papers])
    accepted, chance = np.array(rows, dtype=int), [float(probability_of(paper)) for paper in papers]
    both, pairs = accepted.T @ accepted, list(combinations_with_replacement(range(len(plans)), 2))
    for i, j in pairs:
        together = chance[i] if i == j else chance[i] * chance[j]
        assert within(int(both[i, j]), draws, together, tests=len(pairs))


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


def swapped(truth: TrueReviewers, paper: str) -> TrueReviewers:
    return {**truth, paper: truth[paper][::-1]}


def test_a_corrected_name_is_told_to_the_chair_alone(tmp_path: Path) -> None:
    """No file, number or counter changes: the stored release is returned, with or without `amend`."""
    conference, truth = loaded(small_conference())
    key = tmp_path / "key.bin"
    first = released(key, conference, truth, REQUEST)
    for amend in (False, True):
        again = released(
            key, conference, swapped(truth, "p00"), REQUEST, amend=amend, reason="a name" * amend
        )
        assert (again.how, again.record) == ("stored", first.record)
        assert [remark[:46] for remark in again.remarks] == ["CONFIDENTIAL: the reviewers of 1 paper differ "]
    with open_ledger(key, Key(key.read_bytes())) as ledger:
        assert len(ledger.releases) == 1
        now = swapped(truth, "p00")
        with pytest.raises(VerificationError, match="reviewers are those recorded: 1 of 6 does not agree"):
            refuse_failed(checks_of(conference, now, ledger))


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


# --- A release before it is sealed: what changed since the last one, what is kept, and whose score a tie
# is.


KEY = Key(bytes(range(32)))

Given = tuple[Conference, TrueReviewers]


@pytest.fixture(scope="module")
def given() -> Given:
    return loaded(small_conference())


@pytest.fixture
def ledger(tmp_path: Path, given: Given) -> Iterator[Ledger]:
    """The first release of a conference of six papers, in a ledger that is open."""
    with open_ledger(tmp_path / "key.bin", KEY) as empty:
        made = draft(*given, REQUEST, empty, plan_conference, "")
        yield commit(empty, made.record, made.policies, input_stamp(KEY, *given, REQUEST))


def first_changed(given: Given, **changes: Any) -> Given:
    conference, truth = given
    cases = (replace(conference.cases[0], **changes), *conference.cases[1:])
    return replace(conference, cases=cases), truth


def renamed(given: Given, scores: tuple[float, ...]) -> Given:
    """One paper more, with the pool of the first."""
    conference, truth = given
    case = replace(conference.cases[0], paper="p99", scores=scores)
    cases, raw = (*conference.cases, case), (*conference.raw_accept, 1.0)
    return replace(conference, cases=cases, raw_accept=raw), {**truth, "p99": truth["p00"]}


def changed(given: Given, kind: str) -> Given:
    """The conference with the first paper changed in one way, or one paper more or less."""
    case, truth = given[0].cases[0], given[1]
    if kind == "withdrawn":
        return only(given[0], *range(1, 6)), given[1]
    if kind == "new":
        return renamed(given, (-7.5, 7.5))
    if kind == "late":
        scores = (*case.scores, case.scores[-1] + 1.0)
        third = next(name for name in case.candidates if name not in truth[case.paper])
        late = first_changed(given, scores=scores, inclusion=(0.75,) * 4)
        return late[0], {**truth, case.paper: (*truth[case.paper], third)}
    if kind == "reviewers":
        return given[0], {**truth, case.paper: truth[case.paper][::-1]}
    slope, *rest = case.parameters[0]
    return first_changed(
        given,
        **{
            "scores": {"scores": (case.scores[0], case.scores[1] + 3.0)},
            "pools": {"parameters": ((slope + 0.125, *rest), *case.parameters[1:])},
            "chances": {"inclusion": case.inclusion[::-1]},
            "grid": {"grid": (*case.scores, 9.0)},
        }[kind],
    )


@pytest.mark.parametrize(
    "kind", ["new", "scores", "late", "pools", "chances", "grid", "reviewers", "withdrawn", "nothing"]
)
def test_every_kind_of_change_is_told_as_what_it_is(kind: str, ledger: Ledger, given: Given) -> None:
    """And nothing else is: the other five papers are as they were."""
    now = given if kind == "nothing" else changed(given, kind)
    found = changes_since(ledger, *now, REQUEST)
    paper = "p99" if kind == "new" else "p00"
    field = "pools" if kind == "chances" else kind
    expected = Changes() if kind == "nothing" else Changes(**{field: (paper,)})
    assert replace(found, earlier={}) == expected
    assert found.earlier == ({paper: ((1, paper),)} if kind in ("scores", "late") else {})
    coins = {paper} if kind == "new" else set()
    settled = {paper} if kind in ("scores", "late") else set()
    assert (found.decided, found.settled) == (coins | settled, settled)


def test_of_several_changes_the_first_that_matters_is_told(ledger: Ledger, given: Given) -> None:
    """A paper is in one list only: scores before pools, pools before grid, grid before reviewers."""
    order = ["scores", "pools", "grid", "reviewers"]
    for place, kind in enumerate(order):
        now = given
        for other in order[place:]:
            now = changed(now, other)
        found = changes_since(ledger, *now, REQUEST)
        assert replace(found, earlier={}) == Changes(**{kind: ("p00",)})


def test_before_the_first_release_every_paper_is_new(tmp_path: Path, given: Given) -> None:
    with open_ledger(tmp_path / "key.bin", KEY) as empty:
        found = changes_since(empty, *given, REQUEST)
    assert found == Changes(new=tuple(case.paper for case in given[0].cases))


def test_a_paper_that_comes_back_as_it_was_keeps_its_decision(ledger: Ledger, given: Given) -> None:
    fewer = changed(given, "withdrawn")
    gone = draft(*fewer, REQUEST, ledger, plan_conference, "withdrawn")
    assert not gone.policies
    assert [paper.paper for paper in gone.record.papers] == [case.paper for case in fewer[0].cases]
    again = commit(ledger, gone.record, gone.policies, input_stamp(KEY, *fewer, REQUEST))
    assert changes_since(again, *given, REQUEST) == Changes(returned=("p00",))
    back = draft(*given, REQUEST, again, plan_conference, "back")
    assert not back.policies
    assert back.record.papers == ledger.record(1).papers
    other = changes_since(again, *changed(given, "scores"), REQUEST)
    assert replace(other, earlier={}) == Changes(scores=("p00",)), "what comes back changed is decided again"
    name = changes_since(again, *changed(given, "reviewers"), REQUEST)
    assert name == Changes(returned=("p00",)), "that it came back is public, that a name was corrected is not"


def test_a_new_paper_with_the_scores_of_another_is_told(ledger: Ledger, given: Given) -> None:
    """Of one that is gone: it may be that paper under another name."""
    conference, truth = renamed(given, given[0].cases[0].scores)
    moved = only(conference, *range(1, 7)), truth
    found = changes_since(ledger, *moved, REQUEST)
    assert found == Changes(new=("p99",), withdrawn=("p00",), earlier={"p99": ((1, "p00"),)})
    assert found.alike == ("p99",)


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (replace(REQUEST, accept_rate=0.3), "`accept_rate` was 0.4, now 0.3"),
        (replace(REQUEST, guarantee=Guarantee("steady", epsilon=1.0)), "`epsilon` was 2.0, now 1.0"),
        (replace(REQUEST, guarantee=Guarantee("public", epsilon=2.0)), "`guarantee` was steady, now public"),
        (replace(REQUEST, better="low"), "`better` was high, now low"),
    ],
)
def test_what_was_requested_is_frozen(other: Request, told: str, ledger: Ledger, given: Given) -> None:
    for ask in (
        lambda: changes_since(ledger, *given, other),
        lambda: draft(*given, other, ledger, plan_conference, "x"),
    ):
        with pytest.raises(RefusedError, match=rf"frozen with the first release.*\({told}\)"):
            ask()


def test_an_amendment_with_another_bar_is_refused(ledger: Ledger, given: Given) -> None:
    moved = replace(given[0], bar=given[0].bar + 0.25)
    with pytest.raises(InputError, match="must be prepared with the frozen bar"):
        draft(moved, given[1], REQUEST, ledger, plan_conference, "x")


def test_only_what_changed_is_decided_and_the_rest_is_kept(ledger: Ledger, given: Given) -> None:
    before = ledger.record(1)
    made = draft(*changed(given, "scores"), REQUEST, ledger, plan_conference, "mistyped")
    assert list(made.policies) == ["p00"]
    assert made.record.papers[1:] == before.papers[1:]
    assert made.record.papers[0] != before.papers[0]
    assert (made.record.release, made.record.reason, made.record.bar) == (2, "mistyped", before.bar)
    assert [paper.release for paper in made.record.papers] == [2, 1, 1, 1, 1, 1]
    assert made.record.papers[0].earlier == ((1, "p00"),)
    assert made.record.decisions.splitlines()[2:] == before.decisions.splitlines()[2:]


@pytest.mark.parametrize("kind", ["scores", "late"])
def test_a_paper_with_other_scores_is_decided_from_public_data(
    kind: str, ledger: Ledger, given: Given
) -> None:
    """A constant, by the evidence of all who may have reviewed; what its one coin promised is still said."""
    now = changed(given, kind)
    made = draft(*now, REQUEST, ledger, plan_conference, "corrected")
    before, after = ledger.record(1).papers[0], made.record.papers[0]
    belief = now[0].cases[0].belief
    likely = float(belief.weight @ belief.favor) > 0.5
    assert made.policies["p00"].ends == ((made.policies["p00"].denominator,) * 2 if likely else (0, 0))
    assert after.accepted is likely
    assert claim_of(after) == claim_of(before)
    others = [
        {**given[1], "p00": who} for who in permutations(now[0].cases[0].candidates, len(after.reviewers))
    ]
    texts = {draft(now[0], one, REQUEST, ledger, plan_conference, "x").record.decisions for one in others}
    assert texts == {made.record.decisions}, "whoever wrote the reviews"


@pytest.mark.parametrize("kind", ["pools", "chances", "grid"])
def test_corrected_pools_leave_decisions_standing(kind: str, ledger: Ledger, given: Given) -> None:
    now, before = changed(given, kind), ledger.record(1)
    kept = draft(*now, REQUEST, ledger, plan_conference, "corrected")
    assert not kept.policies
    assert kept.record.decisions == before.decisions
    assert kept.record.papers[0].public != before.papers[0].public, "the correction itself is on record"
    same = replace(kept.record.papers[0], public=before.papers[0].public, corrected=False)
    assert (same, kept.record.papers[0].corrected) == (before.papers[0], True)


def test_corrected_names_change_nothing(ledger: Ledger, given: Given) -> None:
    """Neither alone nor beside another change: the reviewers of a decision are those recorded."""
    before = ledger.record(1)
    more = changed(changed(given, "new"), "reviewers")
    made = draft(*more, REQUEST, ledger, plan_conference, "one more")
    plain = draft(*changed(given, "new"), REQUEST, ledger, plan_conference, "one more")
    assert made.record.papers[0] == before.papers[0]
    assert (made.record.decisions, made.record.certificate) == (
        plain.record.decisions,
        plain.record.certificate,
    )


def test_a_first_release_has_no_reason_and_is_the_same_again(tmp_path: Path, given: Given) -> None:
    """Everything follows from input, key and past: `verify` makes it again."""
    with open_ledger(tmp_path / "key.bin", KEY) as empty:
        one, two = (draft(*given, REQUEST, empty, plan_conference, why) for why in ("", "why"))
        other = draft(*given, REQUEST, replace(empty, key=Key(bytes(32))), plan_conference, "")
    assert one.record == two.record
    assert one.record.reason == ""
    assert one.record.commitment != other.record.commitment


def test_the_sealed_probability_is_that_of_the_true_reviewers(given: Given) -> None:
    """For every order of the two of a paper, by a list of all tuples."""
    conference, _ = given
    plans = plan_conference(conference, REQUEST.guarantee)
    case, plan = next(
        (case, plan)
        for case, plan in zip(conference.cases, plans, strict=True)
        if plan.policy.ends[0] < plan.policy.ends[1]
    )
    rows = [tuple(case.candidates[j] for j in row) for row in case.tuples.tolist()]
    seen = set()
    for who in permutations(case.candidates, 2):
        paper = decide_paper(KEY, REQUEST, 1, case, who, plan, 0.5)
        assert rows[paper.secret] == who == paper.reviewers
        numerator, denominator = (int(part, 16) for part in paper.probability)
        assert Fraction(numerator, denominator) == plan.policy.probability(paper.secret)
        assert (paper.raw_accepted, paper.figures["claim"]["newly_named"]) == (
            0.5,
            int(plan.claim.newly_named * CLAIM_DENOMINATOR),
        )
        seen.add(paper.probability)
    assert len(seen) > 1, "the table must use the secret"


def test_tied_slots_are_ordered_by_the_key_and_evenly() -> None:
    """Two equal scores: either order is half as likely as both, anew in each release."""
    conference, truth = loaded(small_conference())
    case = replace(conference.cases[0], scores=(1.0, 1.0))
    who = truth[case.paper]
    draws = count(2_000, 20_000)
    found = [true_secret(key, REQUEST, 1, case, who) for key in keys(5, draws)]
    first = sum(secret == secret_of(case, who) for secret in found)
    assert set(found) == {secret_of(case, who), secret_of(case, who[::-1])}
    assert within(first, draws, 0.5, tests=1)
    again = [true_secret(key, REQUEST, 1, case, who[::-1]) for key in keys(5, 20)]
    assert again == found[:20]
    later = [true_secret(key, REQUEST, 2, case, who) for key in keys(5, draws)]
    assert within(sum(one == two for one, two in zip(found, later, strict=True)), draws, 0.5, tests=1)
    untied = replace(case, scores=(1.0, 2.0))
    assert {true_secret(key, REQUEST, 1, untied, who) for key in keys(5, 20)} == {secret_of(untied, who)}


# --- Deciding from Python: the same input once and for all, and nothing written where it is refused.

SMALL, TYPO = small_conference(), small_conference().with_review(1, score="9.99")


@pytest.fixture
def chair(key_path: Path, tmp_path: Path) -> Chair:
    SMALL.write(tmp_path / "in")
    return Chair(tmp_path, SMALL, REQUEST)


def test_the_same_input_always_returns_the_stored_decisions(chair: Chair) -> None:
    first = chair.decide()
    assert first.how == "new"
    public = everything(chair.home / "out")
    assert public["decisions.csv"].decode() == first.record.decisions
    assert public["certificate.json"].decode() == first.record.certificate
    sealed = everything(chair.home / "key.bin.sealed")
    assert len([name for name in sealed if name.endswith(".sealed")]) == 1
    for out in ("out", "copy"):
        again = decide(chair.read(), REQUEST, str(chair.key), str(chair.home / out))
        assert (again.how, again.record) == ("stored", first.record)
        assert everything(chair.home / out) == public
    assert everything(chair.home / "key.bin.sealed") == sealed


def test_a_recognized_grid_is_frozen_with_the_first_release(chair: Chair) -> None:
    """Else one corrected score could move the grid, and with it the public data of every paper."""
    rows = [(paper, who, f"{3 + i % 4}") for i, (paper, who, _) in enumerate(SMALL.reviews[1:])]
    whole = replace(SMALL, reviews=(SMALL.reviews[0], *rows))
    record = chair.decide(whole, despite_misfit=True).record
    assert record.grid == [3, 4, 5, 6]
    nearer = [(paper, who, score if score in "45" else "5") for paper, who, score in rows]
    middle = replace(whole, reviews=(whole.reviews[0], *nearer))
    again = chair.amend(middle)
    assert again.record.grid == record.grid
    assert again.changes.grid == ()
    assert chair.verify(middle, "out2").agrees
    with pytest.raises(InputError, match="1 score not among those that papers were decided with"):
        chair.amend(whole.with_review(1, score="7"), out="out3")


def test_another_key_draws_other_coins(chair: Chair) -> None:
    """The tables are public and the same; only the toss is the key's, so some key decides otherwise."""
    first = chair.decide().record
    seen = {first.decisions}
    for number in range(20):
        record = replace(chair, home=chair.home / f"{number}").decide().record
        assert [paper.probability for paper in record.papers] == [p.probability for p in first.papers]
        seen.add(record.decisions)
        if len(seen) > 1:
            return
    raise AssertionError("21 keys drew the same coins")


def test_an_amendment_keeps_the_bar_and_everything_that_did_not_change(chair: Chair) -> None:
    """And an old file of reviews leads to the old decisions: whoever publishes them should know."""
    first, again = chair.decide(), chair.amend(TYPO)
    assert (again.how, again.changes.scores) == ("amended", ("p00",))
    assert again.record.bar == first.record.bar
    assert again.record.papers[1:] == first.record.papers[1:]
    both = [chair.home / "out", chair.home / "out2"]
    for given, out, outcome in ((SMALL, "out", first), (TYPO, "out2", again)):
        stored = chair.decide(given, out=out, published=both)
        assert (stored.how, stored.record) == ("stored", outcome.record)
        told = any("release 2 came after it and replaced it" in remark for remark in stored.remarks)
        assert told == (given is SMALL)


BAD: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "reason alone": ({"reason": "why"}, InputError, "`reason` goes with `amend`"),
    "amend nothing": ({"amend": True, "reason": "x"}, InputError, "there is no release to amend"),
    "no rate": (
        {"request": Request(Guarantee("steady", epsilon=2.0))},
        InputError,
        "give one of `accept_rate`",
    ),
    "full calibration": (
        {"request": Request(Guarantee("none", epsilon=None), accept_rate=0.4)},
        InputError,
        "that needs `yes_leak`",
    ),
    "no key": ({"key": "none.bin"}, InputError, "there is no key .*none.bin"),
    "out beside key": ({"out": "."}, InputError, "shared"),
    "out is a file": ({"out": "in/pools.csv"}, InputError, "pools.csv"),
    "nothing published": ({"published": ["in"]}, InputError, "must hold a certificate.json"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_refused_leaves_nothing_behind(name: str, chair: Chair) -> None:
    given, error, told = BAD[name]
    settings = {"request": REQUEST, "key": "key.bin", "out": "out", **given}
    request, key, out = (settings.pop(part) for part in ("request", "key", "out"))
    if "published" in settings:
        settings["published"] = [chair.home / folder for folder in settings["published"]]
    inputs, before = chair.read(), everything(chair.home)
    with pytest.raises(error, match=told):
        decide(inputs, request, chair.home / key, chair.home / out, **settings)
    assert everything(chair.home) == before
    assert not (chair.home / "out").exists()


def test_a_changed_input_is_refused_unless_it_is_amended_into_a_new_folder(chair: Chair) -> None:
    chair.decide()
    changed, before = SMALL.with_review(3, score="0.25"), chair.files
    with pytest.raises(RefusedError, match=r"in 1 of 6 papers \(1 with other scores\)"):
        chair.decide(changed, out="new")
    with pytest.raises(RefusedError, match="out"):
        chair.amend(changed, out="out")
    with pytest.raises(InputError, match="needs a `reason`"):
        chair.amend(changed, reason=" ")
    assert chair.files == before


def test_a_folder_that_holds_other_decisions_is_refused_before_anything_is_sealed(chair: Chair) -> None:
    (chair.home / "out").mkdir()
    (chair.home / "out" / "decisions.csv").write_text("mine")
    before = chair.files
    with pytest.raises(RefusedError, match=r"decisions\.csv"):
        chair.decide()
    assert chair.files == before


def test_full_calibration_is_decided_where_it_may_leak(chair: Chair) -> None:
    request = Request(Guarantee("none", epsilon=None), bar=7.0)
    outcome = chair.decide(request=request, yes_leak=True)
    assert outcome.record.request == request
    assert any(remark.startswith("no paper is expected to pass `bar` 7") for remark in outcome.remarks)


def test_decisions_of_a_missing_key_are_not_made_again(chair: Chair) -> None:
    chair.decide()
    chair.key.unlink()
    before = chair.files
    with pytest.raises(RefusedError, match="holds decisions of a missing key"):
        decide(chair.read(), REQUEST, chair.key, chair.home / "new")
    assert chair.files == before


def test_a_calibration_that_does_not_fit_is_refused_at_first_and_never_later(chair: Chair) -> None:
    """What was decided despite it is returned without asking again."""
    small = small_conference(papers=12)
    rows = [(paper, who, f"{float(score) + 50}") for paper, who, score in small.reviews[1:]]
    far, before = replace(small, reviews=(small.reviews[0], *rows)), chair.files
    with pytest.raises(InputError, match="despite_misfit"):
        chair.decide(far)
    assert chair.files == before
    first = chair.decide(far, despite_misfit=True)
    assert chair.decide(far).record == first.record


def test_progress_is_told_in_whole(chair: Chair) -> None:
    """Weighed once, then solved and certified: the steps that were announced are the steps that come."""
    told: dict[str, list[int]] = {}

    @contextmanager
    def progress(work: str, steps: int) -> Iterator[Callable[[int], None]]:
        told[work] = [steps]
        yield told[work].append

    chair.decide(progress=progress)
    assert list(told) == ["weighing 6 papers", "deciding 6 papers"]
    assert [(steps, sum(done)) for steps, *done in told.values()] == [(6, 6), (6, 6)]


def test_one_published_folder_needs_no_list(chair: Chair) -> None:
    out, folder, first = chair.home / "out", chair.home / "in", chair.decide()
    for published in (str(out), out, [out]):
        again = chair.decide(published=published)
        assert (again.how, again.record) == ("stored", first.record)
    with pytest.raises(InputError, match=f"`published` {folder} must hold a certificate.json"):
        chair.decide(published=str(folder))


def test_nothing_is_published_beside_the_reviews(chair: Chair) -> None:
    (chair.home / "link").symlink_to(chair.home / "in")
    for out in ("in", ".", "link"):
        with pytest.raises(InputError, match="must not lie in the `out` folder: it says who reviewed what"):
            chair.decide(out=out)
    assert {*everything(chair.home / "in")} == {"pools.csv", "reviewers.csv", "reviews.csv"}
    chair.decide(out="in/out")


def test_each_release_can_have_a_folder_of_its_own(chair: Chair) -> None:
    """And a numbered release shows that the ledger is older."""
    out = chair.home / "public"
    first = chair.decide(out="public", numbered=True)
    with pytest.raises(RefusedError, match=r"1 with other scores"):
        chair.decide(TYPO, out="public", numbered=True)
    second = chair.amend(TYPO, out="public", numbered=True)
    for _ in range(2):
        assert {path.name for path in out.iterdir()} == {"release-1", "release-2"}
        for number, outcome in enumerate((first, second), start=1):
            public = everything(release_folder(out, number))
            assert public["decisions.csv"].decode() == outcome.record.decisions
            assert public["certificate.json"].decode() == outcome.record.certificate
        assert latest_release(out) == out / "release-2"
        again = chair.amend(TYPO, out="public", numbered=True, reason="nothing changed")
        assert again.how == "stored"
    (chair.home / "key.bin.sealed" / "0002.sealed").unlink()
    with pytest.raises(RefusedError, match="holds only 1: it is older than what was published"):
        chair.amend(TYPO, out="public", numbered=True)


@pytest.mark.parametrize("full", ["nothing", "record", "public"])
def test_a_full_disk_is_named_with_what_was_decided(
    full: str, chair: Chair, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs, request = chair.read(), Request(Guarantee("public"), bar=0.0)
    log, out, fsync = ledger_folder(chair.key), chair.home / "out", os.fsync

    def limited(descriptor: int) -> None:
        record, table = log / "0001.sealed", out / "decisions.csv"
        if {"nothing": True, "record": record.exists(), "public": table.exists()}[full]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", limited)
    with pytest.raises(OSError, match="No space left on device") as caught:
        chair.decide(inputs, request)
    monkeypatch.undo()
    recorded = (log / "0001.sealed").exists()
    assert recorded == (full != "nothing")
    assert ("nothing was decided" in str(caught.value)) == (not recorded)
    assert ("the decisions are recorded" in str(caught.value)) == recorded
    place = out if full == "public" else log
    assert place in {(named := Path(str(caught.value.filename))), named.parent}
    assert chair.decide(inputs, request).how == ("stored" if recorded else "new")
