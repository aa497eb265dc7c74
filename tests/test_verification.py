"""Verifying from Python: what agrees, what does not, of which release; and nothing is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blindcal.certify.claims import claim
from blindcal.certify.exact import CLAIM_DENOMINATOR, UNIT, ExactPolicy, PolicyTables, pack_policy
from blindcal.deciding.decide import Draft, Planner, decide, draft, release, with_texts
from blindcal.deciding.key import Key, coin_facts, draw, input_stamp, make_key
from blindcal.deciding.ledger import commit, open_ledger
from blindcal.deciding.lists import ranked_again
from blindcal.deciding.record import PaperRecord, Record
from blindcal.errors import InputError, VerificationError
from blindcal.planning.conference_plan import PaperPlan, plan_conference, plan_paper
from blindcal.planning.expected_errors import expected_figures
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import Conference, TrueReviewers, assemble
from blindcal.posterior.inputs import Inputs, read_inputs
from blindcal.posterior.levels import LevelModel
from blindcal.posterior.paper import PaperCase
from blindcal.posterior.this_year import model_json
from blindcal.posterior.variance_components import ScoreMoments
from blindcal.verification import (
    Check,
    Verification,
    _close,
    checks_of,
    latest,
    refuse_failed,
    verify,
)
from sealed_releases import RECORD
from small_conferences import everything, loaded, read_small, small_conference, swapped

REQUEST = Request(Guarantee("steady", epsilon=2.0), accept_rate=0.4)


@pytest.fixture
def key_path(tmp_path: Path) -> Path:
    make_key(tmp_path / "key.bin")
    return tmp_path / "key.bin"


@pytest.fixture
def decided(key_path: Path, tmp_path: Path) -> Inputs:
    """A conference that was decided into `out`."""
    inputs = read_small(small_conference(), tmp_path / "in")
    decide(inputs, REQUEST, key_path, tmp_path / "out")
    return inputs


def failed(found: Verification) -> set[str]:
    return {check.name for check in found.checks if check.failed}


def test_what_was_decided_agrees_and_nothing_is_written(
    decided: Inputs, key_path: Path, tmp_path: Path
) -> None:
    before = everything(tmp_path)
    found = verify(decided, key_path, tmp_path / "out")
    assert found.agrees
    assert found.earlier == ()
    assert found.record.release == 1
    found.raise_if_not()
    assert {"input is the one that was decided", "published files"} <= {check.name for check in found.checks}
    assert "published files" not in {check.name for check in verify(decided, key_path).checks}
    assert everything(tmp_path) == before


def test_another_input_or_another_file_does_not_agree(
    decided: Inputs, key_path: Path, tmp_path: Path
) -> None:
    other = read_small(swapped(small_conference()), tmp_path / "in2")
    found = verify(other, key_path, tmp_path / "out")
    assert failed(found) == {"reviewers are those recorded"}
    with pytest.raises(VerificationError, match=r"verification failed\. reviewers are those [^.]*$"):
        found.raise_if_not()
    table = tmp_path / "out" / "decisions.csv"
    text = table.read_text()
    turned = text.replace("accept", "x").replace("reject", "accept").replace("x", "reject")
    table.write_text(turned)
    assert failed(verify(decided, key_path, tmp_path / "out")) == {"published files"}
    assert verify(decided, key_path).agrees, "files that are not given are not compared"


def test_the_input_of_an_earlier_release_is_recognized(
    decided: Inputs, key_path: Path, tmp_path: Path
) -> None:
    changed = read_small(small_conference().with_review(1, score="9.99"), tmp_path / "in2")
    decide(changed, REQUEST, key_path, tmp_path / "out2", amend=True, reason="mistyped")
    found = verify(changed, key_path, tmp_path / "out2")
    assert found.agrees
    assert (found.record.release, found.earlier) == (2, ())
    stale = verify(decided, key_path)
    assert not stale.agrees
    assert stale.earlier == (1,)
    with pytest.raises(
        VerificationError, match=r"^release 2: .*The input given is that of release 1, not the"
    ):
        stale.raise_if_not()


def test_the_steps_of_every_release_are_counted(decided: Inputs, key_path: Path, tmp_path: Path) -> None:
    """All papers of the first release, and those decided again in the second."""
    told, done = list[int](), list[int]()

    @contextmanager
    def progress(work: str, steps: int) -> Iterator[Callable[[int], None]]:
        told.append(steps)
        yield done.append

    changed = read_small(small_conference().with_review(1, score="9.99"), tmp_path / "in2")
    outcome = decide(changed, REQUEST, key_path, tmp_path / "out2", amend=True, reason="mistyped")
    again = sum(paper.release == 2 for paper in outcome.record.papers)
    assert 0 < again < len(outcome.record.papers)
    assert verify(changed, key_path, progress=progress).agrees
    weighing, verifying = told
    assert (verifying, sum(done)) == (weighing + again, weighing + verifying)


def test_what_is_not_there_cannot_be_verified(decided: Inputs, key_path: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="conference 'other' was never decided with this key"):
        verify(decided, key_path, conference="other")
    for out in ("nowhere", "in/pools.csv"):
        with pytest.raises(InputError, match="must be the folder of the public files"):
            verify(decided, key_path, tmp_path / out)
    make_key(tmp_path / "other.bin")
    with pytest.raises(InputError, match=r"never decided with this key.*other\.bin\.sealed"):
        latest(tmp_path / "other.bin")


@pytest.mark.parametrize("better", ["high", "low"])
def test_the_grid_is_told_as_it_was_given(better: str, key_path: Path, tmp_path: Path) -> None:
    """Inside, high is better: a grid from 1 to 4 is sealed as -4 to -1 where low is."""
    small = small_conference()
    rows = [(paper, who, f"{1 + i % 4}") for i, (paper, who, _) in enumerate(small.reviews[1:])]
    folder = replace(small, reviews=(small.reviews[0], *rows)).write(tmp_path / "in")
    files = [folder / f"{name}.csv" for name in ("reviews", "reviewers", "pools")]
    for name, grid in (("none", list[float]()), ("whole", [1.0, 2.0, 3.0, 4.0])):
        key = tmp_path / name / "key.bin"
        key.parent.mkdir()
        make_key(key)
        request = replace(REQUEST, better=better)
        decide(read_inputs(*files, grid=grid), request, key, tmp_path / f"out-{name}", despite_misfit=True)
        record = latest(key)[1]
        assert record.grid == grid
        assert (record.papers[0].public["scores"][0] < 0) == (better == "low")


def test_one_check_that_failed_is_enough() -> None:
    fine, wrong = Check("a", 3, 0), Check("b", 3, 2)
    assert Verification(RECORD, (fine, fine), ()).agrees
    for checks in ((fine, wrong), (wrong, fine)):
        found = Verification(RECORD, checks, (1, 3))
        assert not found.agrees
        with pytest.raises(
            VerificationError, match=r"b: 2 of 3 do not agree\. The input given is .*release 3"
        ):
            found.raise_if_not()


# --- Records forged by somebody who holds the key: whatever part is made up, making it again shows it.


KEY = Key(bytes(range(32)))

EXACTLY = Request(Guarantee("steady", epsilon=2.0), accept=6, wait_list=2)
AVERAGE = Request(Guarantee("average", epsilon=None), accept_rate=0.4)
Forgery = Callable[[Draft], Draft]


@pytest.fixture(scope="module")
def honest() -> tuple[Conference, TrueReviewers]:
    return loaded(small_conference(papers=16))


def forged(
    tmp_path: Path, given: tuple[Conference, TrueReviewers], request: Request, forgery: Forgery
) -> list[Check]:
    """The checks of a first release that was forged and then sealed with the key."""
    conference, truth = given
    with open_ledger(tmp_path / "key.bin", KEY) as ledger:
        made = forgery(draft(conference, truth, request, ledger, plan_conference, ""))
        sealed = commit(ledger, made.record, made.policies, input_stamp(KEY, conference, truth, request))
        return checks_of(conference, truth, sealed)


def papers_changed(**values: Any) -> Forgery:
    """Other values in the fields of the first paper; the public texts follow from them."""

    def forge(made: Draft) -> Draft:
        first, *rest = made.record.papers
        record = replace(made.record, papers=(replace(first, **values), *rest))
        return replace(made, record=with_texts(record, KEY))

    return forge


def other_number(figures: dict[str, Any], part: str, name: str) -> dict[str, Any]:
    content = json.loads(json.dumps(figures))
    content[part][name] = content[part][name] * 0.9 - 1e-3
    return content


@pytest.mark.parametrize("request_", [REQUEST, AVERAGE], ids=("steady", "average"))
def test_an_honest_record_passes(
    tmp_path: Path, honest: tuple[Conference, TrueReviewers], request_: Request
) -> None:
    checks = forged(tmp_path, honest, request_, lambda made: made)
    refuse_failed(checks)
    assert not any(check.note for check in checks)


SOUND_RECORD = {
    "conference": "other",
    "release": 2,
    "reason": "made up",
    "settings": {"guarantee": "steady"},
    "bar": 0.123,
    "commitment": "00" * 32,
    "scores": "confidential",
    "publishes": "advice",
    "fit": {"verdict": "fits"},
    "selection": {"accept": 3, "wait_list": 0, "cuts": {"": [None, None]}},
    "decisions": "paper,decision\n",
    "certificate": "{}\n",
    "model": model_json(LevelModel(ScoreMoments(5.1, 0.3, 1.2), 0.25, 9, {3: 20})),
}


@pytest.mark.parametrize("name", sorted(SOUND_RECORD))
def test_every_field_of_a_record(tmp_path: Path, honest: tuple[Conference, TrueReviewers], name: str) -> None:
    def forge(made: Draft) -> Draft:
        value = SOUND_RECORD[name]
        if name == "settings":
            value = {**made.record.settings, "epsilon": 1.5}
        return replace(made, record=replace(made.record, **{name: value}))

    with pytest.raises((VerificationError, InputError)):
        refuse_failed(forged(tmp_path, honest, REQUEST, forge))


def test_every_field_of_a_record_is_forged_above() -> None:
    """Papers have tests of their own."""
    assert {one.name for one in fields(Record)} == {*SOUND_RECORD, "papers"}


def test_an_honest_list_passes(tmp_path: Path, honest: tuple[Conference, TrueReviewers]) -> None:
    refuse_failed(forged(tmp_path, listed(honest), EXACTLY, lambda made: made))


def listed(honest: tuple[Conference, TrueReviewers]) -> tuple[Conference, TrueReviewers]:
    conference, truth = honest
    return assemble(conference.cases, 6 / 16, None), truth


LISTS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "one more": lambda s: {**s, "accept": 7},
    "a longer wait list": lambda s: {**s, "wait_list": 3},
    "no cut": lambda s: {**s, "cuts": {"": [None, None]}},
    "the cut of the wait list": lambda s: {**s, "cuts": {"": [s["cuts"][""][1], s["cuts"][""][1]]}},
    "a better cut": lambda s: {**s, "cuts": {"": [["0.999999999", "9", "p00"], s["cuts"][""][1]]}},
}


@pytest.mark.parametrize("name", LISTS)
def test_every_part_of_a_list(tmp_path: Path, honest: tuple[Conference, TrueReviewers], name: str) -> None:
    """With the public files that follow from it: who was accepted must follow from the private decisions."""

    def forge(made: Draft) -> Draft:
        assert made.record.selection is not None
        record = replace(made.record, selection=LISTS[name](dict(made.record.selection)))
        return replace(made, record=with_texts(record, KEY))

    with pytest.raises(VerificationError, match="number accepted"):
        refuse_failed(forged(tmp_path, listed(honest), EXACTLY, forge))


def test_standings_that_were_made_up(tmp_path: Path, honest: tuple[Conference, TrueReviewers]) -> None:
    """A paper raised to the top by its recorded standing, and the list ranked by it."""

    def forge(made: Draft) -> Draft:
        first, *rest = made.record.papers
        standings = [[chance, 0.999, *more] for chance, _, *more in first.figures["standings"]]
        raised = replace(first, figures={**first.figures, "standings": standings})
        record = ranked_again(replace(made.record, papers=(raised, *rest)))
        return replace(made, record=with_texts(record, KEY))

    with pytest.raises(VerificationError, match="claims and figures"):
        refuse_failed(forged(tmp_path, listed(honest), EXACTLY, forge))


PAPER: dict[str, Callable[[PaperRecord], Any]] = {
    "paper": lambda p: "p99",
    "release": lambda p: 2,
    "earlier": lambda p: ((1, "p03"),),
    "public": lambda p: {**p.public, "scores": [s + 0.5 for s in p.public["scores"]]},
    "reviewers": lambda p: p.reviewers[::-1],
    "secret": lambda p: p.secret + 1,
    "probability": lambda p: ("1", "3"),
    "accepted": lambda p: not p.accepted,
    "raw_accepted": lambda p: not p.raw_accepted,
    "figures": lambda p: other_number(dict(p.figures), "numbers", "wrong"),
    "corrected": lambda p: True,
}


@pytest.mark.parametrize("name", sorted(PAPER))
def test_every_field_of_a_paper(tmp_path: Path, honest: tuple[Conference, TrueReviewers], name: str) -> None:
    def forge(made: Draft) -> Draft:
        return papers_changed(**{name: PAPER[name](made.record.papers[0])})(made)

    with pytest.raises(VerificationError):
        refuse_failed(forged(tmp_path, honest, REQUEST, forge))


def test_every_field_of_a_paper_is_forged_above() -> None:
    assert {one.name for one in fields(PaperRecord)} == {*PAPER}


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("numbers", name)
        for name in ("wrong", "wrong_raw", "wrong_public", "wrong_fully_calibrated", "against", "gap")
    ]
    + [
        ("claim", name)
        for name in ("named", "newly_named", "largest_rise", "largest_posterior", "multiplier")
    ]
    + [("claim", f"largest_{name}") for name in ("posterior_named", "posterior_paper", "factor")],
)
def test_every_figure(tmp_path: Path, honest: tuple[Conference, TrueReviewers], part: str, name: str) -> None:
    def forge(made: Draft) -> Draft:
        figures = json.loads(json.dumps(made.record.papers[0].figures))
        value = figures[part][name]
        figures[part][name] = value - CLAIM_DENOMINATOR // 10**8 if isinstance(value, int) else value - 1e-8
        return papers_changed(figures=figures)(made)

    with pytest.raises(VerificationError, match="claims and figures"):
        refuse_failed(forged(tmp_path, honest, REQUEST, forge))


def test_tables_of_a_smaller_crowd_than_was_promised(
    tmp_path: Path, honest: tuple[Conference, TrueReviewers]
) -> None:
    """Tables, figures and coins of a crowd of 2, sealed as if four were promised."""
    promised, planned = (Request(Guarantee("crowd", among=n, epsilon=None), accept_rate=0.4) for n in (4, 2))
    (tmp_path / "honest").mkdir()
    refuse_failed(forged(tmp_path / "honest", honest, promised, lambda made: made))

    def forge(made: Draft) -> Draft:
        with open_ledger(tmp_path / "other.bin", KEY) as ledger:
            weaker = draft(*honest, planned, ledger, plan_conference, "")
        record = replace(weaker.record, settings=made.record.settings, commitment=made.record.commitment)
        return replace(weaker, record=with_texts(record, KEY))

    with pytest.raises(VerificationError, match=r"limits of each table: \d+ of 16 do"):
        refuse_failed(forged(tmp_path, honest, promised, forge))


def test_tables_that_follow_the_true_reviewers(
    tmp_path: Path, honest: tuple[Conference, TrueReviewers]
) -> None:
    """Constant tables keep every limit; those that were chosen by who wrote the reviews leak all the same."""
    conference, truth = honest

    def by_truth(part: Conference, guarantee: Guarantee) -> list[PaperPlan]:
        plans = []
        for case, raw in zip(part.cases, part.raw_accept, strict=True):
            place = {name: i for i, name in enumerate(case.candidates)}
            row = (case.tuples == [place[name] for name in truth[case.paper]]).all(axis=1).argmax()
            table = np.full(len(case.tuples), float(case.belief.favor[row] > 0.5))
            plan = plan_paper(case.belief, table, raw, guarantee)
            plans.append(replace(plan, packed=pack_policy(ExactPolicy((table * UNIT).astype(np.int64)))))
        return plans

    with open_ledger(tmp_path / "key.bin", KEY) as ledger:
        release(conference, truth, REQUEST, ledger, by_truth)
        sealed = replace(ledger, releases=())
        made = draft(conference, truth, REQUEST, sealed, plan_conference, "")
    with open_ledger(tmp_path / "key.bin", KEY) as ledger:
        tables = ledger.tables(1)
        assert any((tables[p].accept != made.policies[p].accept).any() for p in tables)
        with pytest.raises(VerificationError, match="release 1: tables as good"):
            refuse_failed(checks_of(conference, truth, ledger))


def key_in(folder: Path) -> Path:
    """A place for the key, which has one sealed folder only, in a folder of its own."""
    folder.mkdir(exist_ok=True)
    return folder / "key.bin"


def test_a_bar_picked_by_hand(tmp_path: Path, honest: tuple[Conference, TrueReviewers]) -> None:
    """Everything follows from the bar but the bar from nothing."""
    conference, truth = honest
    cases = [replace(case, bar=0.0) for case in conference.cases]
    picked = assemble(cases, None, conference.bar + 0.3)
    with open_ledger(tmp_path / "key.bin", KEY) as ledger:
        made = draft(picked, truth, REQUEST, ledger, plan_conference, "")
        sealed = commit(ledger, made.record, made.policies, input_stamp(KEY, picked, truth, REQUEST))
        with pytest.raises(VerificationError, match="release 1: bar"):
            refuse_failed(checks_of(conference, truth, sealed))


def test_what_nearly_agrees() -> None:
    numbers = {"a": [1.0, 2.0], "b": {"c": "x", "d": True}}
    assert _close(numbers, {"a": [1.0 + 1e-12, 2.0], "b": {"c": "x", "d": True}}, 1e-9)
    others = (
        {"a": [1.0 + 1e-6, 2.0], "b": {"c": "x", "d": True}},
        {"a": [1.0], "b": {"c": "x", "d": True}},
        {"a": [1.0, 2.0], "b": {"c": "y", "d": True}},
        {"a": [1.0, 2.0], "b": {"c": "x", "d": False}},
        {"a": [1.0, 2.0], "b": {"c": "x"}},
        {"a": [1.0, 2.0]},
        [1.0],
    )
    assert not any(_close(numbers, other, 1e-9) for other in others)
    assert not any(_close(other, numbers, 1e-9) for other in others)


def shifted(conference: Conference, bar: float) -> Conference:
    return replace(conference, bar=bar, cases=tuple(replace(case, bar=bar) for case in conference.cases))


@pytest.mark.parametrize("off", [-1e-2, -1e-4, 1e-4, 1e-3])
def test_a_bar_that_is_nearly_right(
    tmp_path: Path, honest: tuple[Conference, TrueReviewers], off: float
) -> None:
    """No bar but the one computed here, unless a rounding may have led to the neighbor."""
    conference, truth = honest
    near = shifted(conference, round(conference.bar + off, 4))
    with open_ledger(tmp_path / "key.bin", KEY) as ledger:
        made = draft(near, truth, REQUEST, ledger, plan_conference, "")
        sealed = commit(ledger, made.record, made.policies, input_stamp(KEY, conference, truth, REQUEST))
        failed = [c.name for c in checks_of(conference, truth, sealed) if c.failed]
    assert "release 1: bar" in failed


def planner_of(tables: PolicyTables) -> Planner:
    """A planner that claims of these tables what they promise, exactly."""

    def planner(part: Conference, guarantee: Guarantee) -> list[PaperPlan]:
        honest = plan_conference(part, guarantee)
        return [
            replace(
                plan,
                packed=pack_policy(tables[case.paper]),
                claim=claim(case.belief, tables[case.paper]),
                figures=expected_figures(
                    case.belief, tables[case.paper].accept, raw, bound=plan.figures.wrong - plan.figures.gap
                ),
            )
            for case, plan, raw in zip(part.cases, honest, part.raw_accept, strict=True)
        ]

    return planner


def sealed_checks(
    path: Path, given: tuple[Conference, TrueReviewers], request: Request, planner: Planner
) -> list[Check]:
    conference, truth = given
    with open_ledger(path, KEY) as ledger:
        made = draft(conference, truth, request, ledger, planner, "")
        sealed = commit(ledger, made.record, made.policies, input_stamp(KEY, conference, truth, request))
        return checks_of(conference, truth, sealed)


def test_tables_that_were_chosen_otherwise_are_found(
    tmp_path: Path, honest: tuple[Conference, TrueReviewers]
) -> None:
    """Whatever they claim of themselves is right: but they leak more, or cost more."""

    def loose(part: Conference, _: Guarantee) -> list[PaperPlan]:
        return plan_conference(part, Guarantee("none", epsilon=None))

    def worse(part: Conference, _: Guarantee) -> list[PaperPlan]:
        return plan_conference(part, Guarantee("public", epsilon=None))

    found = (
        (REQUEST, loose, "limits of each table"),
        (REQUEST, worse, "tables as good as those planned here"),
        (AVERAGE, loose, "limits of each table"),
    )
    for index, (request, planner, name) in enumerate(found):
        with pytest.raises(VerificationError, match=name):
            refuse_failed(sealed_checks(key_in(tmp_path / f"{index}"), honest, request, planner))


def test_a_table_bent_at_the_true_reviewers_is_found(
    tmp_path: Path, honest: tuple[Conference, TrueReviewers]
) -> None:
    """One entry of one table moved to the other side of its coin, within epsilon: each paper in turn."""
    limits = Request(Guarantee("none", epsilon=2.0), accept_rate=0.4)
    with open_ledger(key_in(tmp_path / "first"), KEY) as ledger:
        made = draft(*honest, limits, ledger, plan_conference, "")
    moved = 0
    for number, paper in enumerate(made.record.papers):
        table = made.policies[paper.paper]
        low, high = (end * UNIT // table.denominator for end in table.ends)
        if low == high:
            continue
        numerator = table.numerator.copy()
        numerator[paper.secret] = low if paper.accepted else high
        if numerator[paper.secret] == table.numerator[paper.secret]:
            continue
        moved += 1
        tables = PolicyTables(
            {**made.policies.packed, paper.paper: pack_policy(ExactPolicy(numerator, table.exact))}
        )
        checks = sealed_checks(key_in(tmp_path / f"{number}"), honest, limits, planner_of(tables))
        assert [c.name for c in checks if c.failed], "the paper costs more, or only its reviewers differ"
    assert moved > 3


@pytest.mark.parametrize("chance", [1e-10, 1e-14])
def test_a_table_bent_where_the_true_reviewers_are_next_to_impossible_is_found(
    tmp_path: Path, chance: float
) -> None:
    """Twelve papers by a reviewer whose stated chance is so small that any entry there costs nothing. In each
    table in turn it is moved to the other side of its coin, by as little as that takes."""
    pool = ("ada", "ben", "cleo")
    people = ((1.0, 0.3, 1.0, *(0.0,) * 4), (1.2, -1.0, 0.8, *(0.0,) * 4), (0.8, 0.5, 1.1, *(0.0,) * 4))
    names = [f"p{number}" for number in range(12)]
    chances = (chance, 0.5, 0.5 - chance)
    cases = [PaperCase(n, (0.05 * k,), pool, chances, people, 0.25) for k, n in enumerate(names)]
    given = assemble(cases, None, 0.25), dict.fromkeys(names, ("ada",))
    limits = Request(Guarantee("none", epsilon=2.0), bar=0.25)
    with open_ledger(key_in(tmp_path / "first"), KEY) as ledger:
        made = draft(*given, limits, ledger, plan_conference, "")
    moved = 0
    for number, paper in enumerate(made.record.papers):
        table = made.policies[paper.paper]
        low, high = (end * UNIT // table.denominator for end in table.ends)
        ends = int(table.numerator[0]), low if paper.accepted else high
        facts = coin_facts(limits, 1, paper.paper, paper.public, paper.reviewers)
        while abs(ends[0] - ends[1]) > 1:
            middle = sum(ends) // 2
            same = draw(KEY, facts, Fraction(middle, UNIT)) == paper.accepted
            ends = (middle, ends[1]) if same else (ends[0], middle)
        if draw(KEY, facts, Fraction(ends[1], UNIT)) == paper.accepted:
            continue
        moved += 1
        numerator = table.numerator.copy()
        numerator[0] = ends[1]
        tables = {**made.policies.packed, paper.paper: pack_policy(ExactPolicy(numerator))}
        checks = sealed_checks(
            key_in(tmp_path / f"{number}"), given, limits, planner_of(PolicyTables(tables))
        )
        assert [check.name for check in checks if check.failed] == [
            "release 1: draws under the tables planned here"
        ]
    assert moved > 3


def test_tables_that_differ_in_the_last_digits_pass_and_epsilon_has_no_slack(
    tmp_path: Path, honest: tuple[Conference, TrueReviewers]
) -> None:
    """As another machine's do: every entry moved by some 1e-13. A table of 0 and 1e-9 has no epsilon."""
    limits = Request(Guarantee("none", epsilon=2.0), accept_rate=0.4)
    with open_ledger(key_in(tmp_path / "first"), KEY) as ledger:
        made = draft(*honest, limits, ledger, plan_conference, "")
    rng = np.random.default_rng(5)

    def nudged(table: ExactPolicy) -> ExactPolicy:
        low, high = (end * UNIT // table.denominator for end in table.ends)
        step = rng.integers(-900, 900, table.numerator.size)
        return ExactPolicy(np.clip(table.numerator + step, low, high), table.exact)

    near = PolicyTables({name: pack_policy(nudged(made.policies[name])) for name in made.policies})
    checks = sealed_checks(key_in(tmp_path / "near"), honest, limits, planner_of(near))
    refuse_failed(checks)
    paper = next(name for name in made.policies if made.policies[name].ends[1] == 0)
    thin = np.zeros_like(made.policies[paper].numerator)
    thin[0] = UNIT // 10**9
    sharp = PolicyTables({**made.policies.packed, paper: pack_policy(ExactPolicy(thin))})
    with pytest.raises(VerificationError, match="limits of each table: 1 of 16 does not agree"):
        refuse_failed(sealed_checks(key_in(tmp_path / "thin"), honest, limits, planner_of(sharp)))


def test_amended_tables_that_leak_are_found(tmp_path: Path, honest: tuple[Conference, TrueReviewers]) -> None:
    """Full calibration for the papers of a second release: what is decided again must be a constant."""
    conference, truth = honest
    moved = [replace(c, scores=tuple(s + 0.25 for s in c.scores)) for c in conference.cases]
    corrected = replace(conference, cases=tuple(moved))

    def leaking(part: Conference, _: Guarantee) -> list[PaperPlan]:
        free = replace(part, cases=tuple(replace(case, settled=False) for case in part.cases))
        return plan_conference(free, Guarantee("none", epsilon=None))

    for index, planner in enumerate((plan_conference, leaking)):
        path = key_in(tmp_path / f"{index}")
        for now, plans in ((conference, plan_conference), (corrected, planner)):
            with open_ledger(path, KEY) as ledger:
                made = draft(now, truth, REQUEST, ledger, plans, "mistyped")
                stamp = input_stamp(KEY, now, truth, REQUEST)
                sealed = commit(ledger, made.record, made.policies, stamp)
        checks = checks_of(corrected, truth, sealed)
        failed = {check.name: check.failed for check in checks if check.failed}
        assert bool(failed) is bool(index)
        assert not index or failed["release 2: limits of each table"] > 3
        assert {c.name: c.items for c in checks}["release 2: limits of each table"] == 16, "never 0 of 0"


def test_a_forgery_in_an_earlier_release_is_found(
    tmp_path: Path, honest: tuple[Conference, TrueReviewers]
) -> None:
    """Of three releases the first: it is found when the third is verified."""
    conference, truth = honest
    fewer = replace(conference, cases=conference.cases[1:], raw_accept=conference.raw_accept[1:])

    def other_decision(made: Draft) -> Draft:
        return papers_changed(accepted=not made.record.papers[0].accepted)(made)

    for index, forgery in enumerate((lambda made: made, other_decision)):
        path = key_in(tmp_path / f"{index}")
        for number, now in enumerate((conference, fewer, conference)):
            with open_ledger(path, KEY) as ledger:
                made = draft(now, truth, REQUEST, ledger, plan_conference, "why")
                made = forgery(made) if number == 0 else made
                sealed = commit(ledger, made.record, made.policies, input_stamp(KEY, now, truth, REQUEST))
        failed = [check.name for check in checks_of(conference, truth, sealed) if check.failed]
        assert any(name.startswith("release 1: ") for name in failed) == (index == 1)


def test_the_report_says_what_may_differ() -> None:
    one, two = Check("input", 1, 1, "other pools"), Check("draws", 4, 2)
    with pytest.raises(VerificationError) as caught:
        refuse_failed([one, two, Check("settings", 4, 0)])
    assert str(caught.value) == (
        "verification failed. input: 1 of 1 does not agree (other pools); draws: 2 of 4 do not agree"
    )


ORDERS: dict[str, Callable[[list[PaperRecord]], list[PaperRecord]]] = {
    "twice": lambda papers: [*papers, papers[0]],
    "backwards": lambda papers: papers[::-1],
    "by reviewer": lambda papers: sorted(papers, key=lambda paper: paper.reviewers),
}


@pytest.mark.parametrize("name", ORDERS)
def test_papers_in_another_order_or_twice(
    tmp_path: Path, honest: tuple[Conference, TrueReviewers], name: str
) -> None:
    """Whoever sorts the public table by who reviewed publishes who reviewed."""

    def forge(made: Draft) -> Draft:
        record = replace(made.record, papers=tuple(ORDERS[name](list(made.record.papers))))
        return replace(made, record=with_texts(record, KEY))

    with pytest.raises(VerificationError, match="public data: 1 of"):
        refuse_failed(forged(tmp_path, honest, REQUEST, forge))


@pytest.mark.parametrize("name", ["longer", "shorter", "above 1", "below 0"])
def test_what_is_no_table(tmp_path: Path, honest: tuple[Conference, TrueReviewers], name: str) -> None:
    """Entries that no coin is compared with: said as what it is, and no accident."""

    def forge(made: Draft) -> Draft:
        paper = made.record.papers[0]
        whole, other = made.policies[paper.paper].numerator, int(paper.secret == 0)
        changed = {"longer": np.append(whole, 0), "shorter": whole[:-1]}
        for what, value in (("above 1", 2 * UNIT), ("below 0", -1)):
            changed[what] = whole.copy()
            changed[what][other] = value
        tables = PolicyTables({**made.policies.packed, paper.paper: pack_policy(ExactPolicy(changed[name]))})
        return replace(made, policies=tables)

    with pytest.raises(VerificationError, match="limits of each table: 1 of 16 does not agree"):
        refuse_failed(forged(tmp_path, honest, REQUEST, forge))


@pytest.mark.parametrize("chance", [0.5, 1e-4, 1e-11, 1e-20])
def test_a_table_of_the_same_cost_chosen_for_its_decision_is_found(tmp_path: Path, chance: float) -> None:
    """The evidence is even if ada reviewed, and for accepting if ben did: to reject ada's costs nothing, and
    keeps every limit. The table planned on every machine accepts both, however unlikely ada is."""
    people = ((1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0), (1.0, -1.0, 1.0, 0.0, 0.0, 0.0, 0.0))
    case = PaperCase("p0", (0.5,), ("ada", "ben"), (chance, 1 - chance), people, 0.25)
    given = assemble([case], None, 0.25), {"p0": ("ada",)}
    limits = Request(Guarantee("none", epsilon=None), bar=0.25)
    assert case.belief.favor[0] == 0.5
    for accept, failed in ((UNIT, []), (0, ["release 1: draws under the tables planned here"])):
        tables = PolicyTables({"p0": pack_policy(ExactPolicy(np.array([accept, UNIT])))})
        checks = sealed_checks(key_in(tmp_path / f"{accept}"), given, limits, planner_of(tables))
        assert [check.name for check in checks if check.failed] == failed
