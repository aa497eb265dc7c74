"""A release before it is sealed: what changed since the last one, what is kept, and whose score a tie is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from blindcal.certify.exact import CLAIM_DENOMINATOR
from blindcal.deciding.amend import Changes, PriorDecisions, changes_since
from blindcal.deciding.certificate import claim_of
from blindcal.deciding.decide import decide_paper, draft, true_secret
from blindcal.deciding.key import Key, input_stamp
from blindcal.deciding.ledger import Ledger, commit, open_ledger
from blindcal.errors import InputError, RefusedError
from blindcal.planning.conference_plan import plan_conference
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import Conference, TrueReviewers
from blindcal.posterior.paper import secret_of
from chances import keys, within
from sizes import count
from small_conferences import loaded, small_conference

KEY = Key(bytes(range(32)))
REQUEST = Request(Guarantee("steady", epsilon=2.0), accept_rate=0.4)
Given = tuple[Conference, TrueReviewers]


@pytest.fixture(scope="module")
def given() -> Given:
    return loaded(small_conference())


@pytest.fixture
def ledger(tmp_path: Path, given: Given) -> Iterator[Ledger]:
    """The first release of a conference of six papers, in a ledger that is open."""
    with open_ledger(tmp_path / "key.bin", KEY) as empty:
        made = draft(*given, REQUEST, PriorDecisions(empty), plan_conference, "")
        yield commit(empty, made.record, made.policies, input_stamp(KEY, *given, REQUEST))


def first_changed(given: Given, **changes: Any) -> Given:
    conference, truth = given
    cases = (replace(conference.cases[0], **changes), *conference.cases[1:])
    return replace(conference, cases=cases), truth


def part_of(given: Given, places: slice) -> Given:
    conference, truth = given
    return replace(
        conference, cases=conference.cases[places], raw_accept=conference.raw_accept[places]
    ), truth


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
        return part_of(given, slice(1, None))
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
    found = changes_since(PriorDecisions(ledger), *now, REQUEST)
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
        found = changes_since(PriorDecisions(ledger), *now, REQUEST)
        assert replace(found, earlier={}) == Changes(**{kind: ("p00",)})


def test_before_the_first_release_every_paper_is_new(tmp_path: Path, given: Given) -> None:
    with open_ledger(tmp_path / "key.bin", KEY) as empty:
        found = changes_since(PriorDecisions(empty), *given, REQUEST)
    assert found == Changes(new=tuple(case.paper for case in given[0].cases))


def test_a_paper_that_comes_back_as_it_was_keeps_its_decision(ledger: Ledger, given: Given) -> None:
    fewer = changed(given, "withdrawn")
    gone = draft(*fewer, REQUEST, PriorDecisions(ledger), plan_conference, "withdrawn")
    assert gone.cases == ()
    assert [paper.paper for paper in gone.record.papers] == [case.paper for case in fewer[0].cases]
    again = commit(ledger, gone.record, gone.policies, input_stamp(KEY, *fewer, REQUEST))
    assert changes_since(PriorDecisions(again), *given, REQUEST) == Changes(returned=("p00",))
    back = draft(*given, REQUEST, PriorDecisions(again), plan_conference, "back")
    assert back.cases == ()
    assert back.record.papers == PriorDecisions(ledger).record(0).papers
    other = changes_since(PriorDecisions(again), *changed(given, "scores"), REQUEST)
    assert replace(other, earlier={}) == Changes(scores=("p00",)), "what comes back changed is decided again"
    name = changes_since(PriorDecisions(again), *changed(given, "reviewers"), REQUEST)
    assert name == Changes(returned=("p00",)), "that it came back is public, that a name was corrected is not"


def test_a_new_paper_with_the_scores_of_another_is_told(ledger: Ledger, given: Given) -> None:
    """Of one that is gone: it may be that paper under another name."""
    moved = part_of(renamed(given, given[0].cases[0].scores), slice(1, None))
    found = changes_since(PriorDecisions(ledger), *moved, REQUEST)
    assert found == Changes(new=("p99",), withdrawn=("p00",), earlier={"p99": ((1, "p00"),)})
    assert found.alike == ("p99",)


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (Request(Guarantee("steady", epsilon=2.0), accept_rate=0.3), "`accept_rate` was 0.4, now 0.3"),
        (Request(Guarantee("steady", epsilon=1.0), accept_rate=0.4), "`epsilon` was 2.0, now 1.0"),
        (Request(Guarantee("public", epsilon=2.0), accept_rate=0.4), "`guarantee` was steady, now public"),
        (
            Request(Guarantee("steady", epsilon=2.0), accept_rate=0.4, better="low"),
            "`better` was high, now low",
        ),
    ],
)
def test_what_was_requested_is_frozen(other: Request, told: str, ledger: Ledger, given: Given) -> None:
    for ask in (
        lambda: changes_since(PriorDecisions(ledger), *given, other),
        lambda: draft(*given, other, PriorDecisions(ledger), plan_conference, "x"),
    ):
        with pytest.raises(RefusedError, match=rf"frozen with the first release.*\({told}\)"):
            ask()


def test_an_amendment_with_another_bar_is_refused(ledger: Ledger, given: Given) -> None:
    moved = replace(given[0], bar=given[0].bar + 0.25)
    with pytest.raises(InputError, match="must be prepared with the frozen bar"):
        draft(moved, given[1], REQUEST, PriorDecisions(ledger), plan_conference, "x")


def test_only_what_changed_is_decided_and_the_rest_is_kept(ledger: Ledger, given: Given) -> None:
    before = PriorDecisions(ledger).record(0)
    made = draft(*changed(given, "scores"), REQUEST, PriorDecisions(ledger), plan_conference, "mistyped")
    assert [case.paper for case in made.cases] == list(made.policies) == ["p00"]
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
    made = draft(*now, REQUEST, PriorDecisions(ledger), plan_conference, "corrected")
    before, after = PriorDecisions(ledger).record(0).papers[0], made.record.papers[0]
    belief = now[0].cases[0].belief
    likely = float(belief.weight @ belief.favor) > 0.5
    assert made.policies["p00"].ends == ((made.policies["p00"].denominator,) * 2 if likely else (0, 0))
    assert after.accepted is likely
    assert claim_of(after) == claim_of(before)
    others = [
        {**given[1], "p00": who} for who in permutations(now[0].cases[0].candidates, len(after.reviewers))
    ]
    texts = {
        draft(now[0], one, REQUEST, PriorDecisions(ledger), plan_conference, "x").record.decisions
        for one in others
    }
    assert texts == {made.record.decisions}, "whoever wrote the reviews"


@pytest.mark.parametrize("kind", ["pools", "chances", "grid"])
def test_corrected_pools_leave_decisions_standing(kind: str, ledger: Ledger, given: Given) -> None:
    now, before = changed(given, kind), PriorDecisions(ledger).record(0)
    kept = draft(*now, REQUEST, PriorDecisions(ledger), plan_conference, "corrected")
    assert kept.cases == ()
    assert kept.record.decisions == before.decisions
    assert kept.record.papers[0].public != before.papers[0].public, "the correction itself is on record"
    same = replace(kept.record.papers[0], public=before.papers[0].public, corrected=False)
    assert (same, kept.record.papers[0].corrected) == (before.papers[0], True)


def test_corrected_names_change_nothing(ledger: Ledger, given: Given) -> None:
    """Neither alone nor beside another change: the reviewers of a decision are those recorded."""
    before = PriorDecisions(ledger).record(0)
    more = changed(changed(given, "new"), "reviewers")
    made = draft(*more, REQUEST, PriorDecisions(ledger), plan_conference, "one more")
    plain = draft(*changed(given, "new"), REQUEST, PriorDecisions(ledger), plan_conference, "one more")
    assert made.record.papers[0] == before.papers[0]
    assert (made.record.decisions, made.record.certificate) == (
        plain.record.decisions,
        plain.record.certificate,
    )


def test_a_first_release_has_no_reason_and_is_the_same_again(tmp_path: Path, given: Given) -> None:
    """Everything follows from input, key and past: `verify` makes it again."""
    with open_ledger(tmp_path / "key.bin", KEY) as empty:
        one, two = (
            draft(*given, REQUEST, PriorDecisions(empty), plan_conference, why) for why in ("", "why")
        )
        other = draft(
            *given, REQUEST, PriorDecisions(replace(empty, key=Key(bytes(32)))), plan_conference, ""
        )
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
