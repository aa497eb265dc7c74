"""Verifying from Python: what agrees, what does not, of which release; and nothing is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blindcal.certify.exact import CLAIM_DENOMINATOR, UNIT, ExactPolicy, PolicyTables, pack_policy
from blindcal.deciding.decide import Draft, Planner, draft
from blindcal.deciding.key import Key, coin_facts, draw, input_stamp, make_key
from blindcal.deciding.ledger import Ledger, commit, open_ledger
from blindcal.deciding.record import PaperRecord, Record
from blindcal.errors import InputError, VerificationError
from blindcal.planning.conference_plan import PaperPlan, plan_conference, plan_paper
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import Conference, TrueReviewers, assemble
from blindcal.posterior.inputs import read_inputs
from blindcal.posterior.paper import PaperCase
from blindcal.posterior.this_year_evidence import LevelModel
from blindcal.posterior.this_year_inputs import model_json
from blindcal.posterior.variance_components import ScoreMoments
from blindcal.verification import (
    Check,
    Verification,
    _nearly_equal,
    checks_of,
    latest,
    refuse_failed,
)
from forgeries import (
    Change,
    Scene,
    ends_of,
    ordered,
    other_table,
    papers,
    public,
    replanned,
    restated,
    selected,
    texts_of,
    unlimited,
)
from sealed_releases import RECORD
from small_conferences import Chair, everything, known_key, loaded, only, small_conference, swapped

REQUEST = Request(Guarantee("steady", epsilon=2.0), accept_rate=0.4)


SMALL, TYPO = small_conference(), small_conference().with_review(1, score="9.99")


@pytest.fixture
def chair(tmp_path: Path) -> Chair:
    """A conference that was decided into `out`."""
    chair = Chair(tmp_path, SMALL, REQUEST)
    chair.decide()
    return chair


def failed(found: Verification) -> set[str]:
    return {check.name for check in found.checks if check.failed}


def test_what_was_decided_agrees_and_nothing_is_written(chair: Chair) -> None:
    before = everything(chair.home)
    found = chair.verify()
    assert found.agrees
    assert found.earlier == ()
    assert found.record.release == 1
    found.raise_if_not()
    assert {"input is the one that was decided", "published files"} <= {check.name for check in found.checks}
    assert "published files" not in {check.name for check in chair.verify(out=None).checks}
    assert everything(chair.home) == before


def test_another_input_or_another_file_does_not_agree(chair: Chair) -> None:
    found = chair.verify(swapped(SMALL))
    assert failed(found) == {"reviewers are those recorded"}
    with pytest.raises(VerificationError, match=r"verification failed\. reviewers are those [^.]*$"):
        found.raise_if_not()
    table = chair.home / "out" / "decisions.csv"
    text = table.read_text()
    turned = text.replace("accept", "x").replace("reject", "accept").replace("x", "reject")
    table.write_text(turned)
    assert failed(chair.verify()) == {"published files"}
    assert chair.verify(out=None).agrees, "files that are not given are not compared"


def test_the_input_of_an_earlier_release_is_recognized(chair: Chair) -> None:
    """And the steps of every release are counted: all papers of the first, and those decided again."""
    told, done = list[int](), list[int]()

    @contextmanager
    def progress(work: str, steps: int) -> Iterator[Callable[[int], None]]:
        told.append(steps)
        yield done.append

    again = sum(paper.release == 2 for paper in chair.amend(TYPO).record.papers)
    assert 0 < again < 6
    found = chair.verify(TYPO, "out2", progress=progress)
    assert found.agrees
    assert (found.record.release, found.earlier) == (2, ())
    weighing, verifying = told
    assert (verifying, sum(done)) == (weighing + again, weighing + verifying)
    stale = chair.verify(out=None)
    assert not stale.agrees
    assert stale.earlier == (1,)
    with pytest.raises(
        VerificationError, match=r"^release 2: .*The input given is that of release 1, not the"
    ):
        stale.raise_if_not()


def test_what_is_not_there_cannot_be_verified(chair: Chair) -> None:
    with pytest.raises(InputError, match="conference 'other' was never decided with this key"):
        chair.verify(conference="other")
    for out in ("nowhere", "in/pools.csv"):
        with pytest.raises(InputError, match="must be the folder of the public files"):
            chair.verify(out=out)
    make_key(chair.home / "other.bin")
    with pytest.raises(InputError, match=r"never decided with this key.*other\.bin\.sealed"):
        latest(chair.home / "other.bin")


@pytest.mark.parametrize("better", ["high", "low"])
def test_the_grid_is_told_as_it_was_given(better: str, tmp_path: Path) -> None:
    """Inside, high is better: a grid from 1 to 4 is sealed as -4 to -1 where low is."""
    rows = [(paper, who, f"{1 + i % 4}") for i, (paper, who, _) in enumerate(SMALL.reviews[1:])]
    folder = replace(SMALL, reviews=(SMALL.reviews[0], *rows)).write(tmp_path / "in")
    files = [folder / f"{name}.csv" for name in ("reviews", "reviewers", "pools")]
    for name, grid in (("none", list[float]()), ("whole", [1.0, 2.0, 3.0, 4.0])):
        chair = Chair(tmp_path / name, read_inputs(*files, grid=grid), replace(REQUEST, better=better))
        record = chair.decide(despite_misfit=True).record
        assert latest(chair.key).records[-1].grid == record.grid == grid
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
CROWD = Request(Guarantee("crowd", among=4, epsilon=None), accept_rate=0.4)
LIMITS = Request(Guarantee("none", epsilon=2.0), accept_rate=0.4)
Given = tuple[Conference, TrueReviewers]
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def honest() -> Given:
    return loaded(small_conference(papers=16))


def drafted(given: Given, request: Request, planner: Planner = plan_conference) -> Draft:
    return draft(*given, request, Ledger(Path(), KEY, ()), planner, "")


def honestly(_: Scene, made: Draft) -> Draft:
    return made


def sealed_checks(
    path: Path,
    given: Given,
    request: Request,
    planner: Planner = plan_conference,
    forgery: Change = honestly,
    decided: Conference | None = None,
) -> list[Check]:
    """The checks of a first release that was forged, or `decided` from something else, and then sealed."""
    conference, truth = given
    with open_ledger(path, KEY) as ledger:
        made = draft(decided or conference, truth, request, ledger, planner, "")
        made = forgery(Scene(request, ledger, conference, truth, RNG), made)
        sealed = commit(ledger, made.record, made.policies, input_stamp(KEY, *given, request))
        return checks_of(conference, truth, sealed)


def record_changed(**values: Any) -> Change:
    return texts_of(lambda _: values)


def first_changed(name: str, change: Callable[[PaperRecord], Any]) -> Change:
    def forge(scene: Scene, made: Draft) -> Draft:
        first = made.record.papers[0]
        return papers(scene, made, {0: replace(first, **{name: change(first)})})

    return forge


def lowered(part: str, name: str) -> Callable[[PaperRecord], Any]:
    def figures(paper: PaperRecord) -> Any:
        content = json.loads(json.dumps(paper.figures))
        value = content[part][name]
        content[part][name] = value - CLAIM_DENOMINATOR // 10**8 if isinstance(value, int) else value - 1e-8
        return content

    return figures


def raised(paper: PaperRecord) -> Any:
    """The paper raised to the top by its recorded standing."""
    standings = [[chance, 0.999, *more] for chance, _, *more in paper.figures["standings"]]
    return {**paper.figures, "standings": standings}


def entry(numerator: np.ndarray, place: int, value: int) -> np.ndarray:
    numerator[place] = value
    return numerator


def one_more_table(_: Scene, made: Draft) -> Draft:
    """A table of a paper that nothing was drawn for."""
    tables = made.policies.packed
    return replace(made, policies=PolicyTables({**tables, "p99": next(iter(tables.values()))}))


def of_a_smaller_crowd(scene: Scene, made: Draft) -> Draft:
    """Tables, figures and coins of a crowd of 2, sealed as if four were promised."""
    request = replace(CROWD, guarantee=Guarantee("crowd", among=2, epsilon=None))
    weaker = drafted(loaded(small_conference(papers=16)), request)
    return restated(scene, weaker, settings=made.record.settings, commitment=made.record.commitment)


OTHER_RECORD = {
    "conference": "other",
    "release": 2,
    "reason": "made up",
    "settings": {**REQUEST.settings, "epsilon": 1.5},
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
OTHER_PAPER: dict[str, Callable[[PaperRecord], Any]] = {
    "paper": lambda p: "p99",
    "release": lambda p: 2,
    "earlier": lambda p: ((1, "p03"),),
    "public": lambda p: {**p.public, "scores": [s + 0.5 for s in p.public["scores"]]},
    "reviewers": lambda p: p.reviewers[::-1],
    "secret": lambda p: p.secret + 1,
    "probability": lambda p: ("1", "3"),
    "accepted": lambda p: not p.accepted,
    "raw_accepted": lambda p: not p.raw_accepted,
    "figures": lowered("numbers", "wrong"),
    "corrected": lambda p: True,
}
FIGURES = {
    "numbers": ("wrong", "wrong_raw", "wrong_public", "wrong_fully_calibrated", "against", "gap"),
    "claim": (
        *("named", "newly_named", "largest_rise", "multiplier", "largest_posterior"),
        *("largest_posterior_named", "largest_posterior_paper", "largest_factor"),
    ),
}
LISTS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "one more": lambda s: {**s, "accept": 7},
    "a longer wait list": lambda s: {**s, "wait_list": 3},
    "no cut": lambda s: {**s, "cuts": {"": [None, None]}},
    "the cut of the wait list": lambda s: {**s, "cuts": {"": [s["cuts"][""][1], s["cuts"][""][1]]}},
    "a better cut": lambda s: {**s, "cuts": {"": [["0.999999999", "9", "p00"], s["cuts"][""][1]]}},
}
# Whoever sorts the public table by who reviewed publishes who reviewed.
ORDERS: dict[str, Callable[[list[PaperRecord]], list[PaperRecord]]] = {
    "twice": lambda papers: [*papers, papers[0]],
    "backwards": lambda papers: papers[::-1],
    "by reviewer": lambda papers: sorted(papers, key=lambda paper: paper.reviewers),
}
TABLES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "longer": lambda table: np.append(table, 0),
    "shorter": lambda table: table[:-1],
    "above 1": lambda table: entry(table.copy(), 0, 2 * UNIT),
    "below 0": lambda table: entry(table.copy(), 0, -1),
}
FORGED: dict[str, tuple[Request, Change, str | None]] = {
    **{f"record {k}": (REQUEST, record_changed(**{k: v}), None) for k, v in OTHER_RECORD.items()},
    **{f"paper {k}": (REQUEST, first_changed(k, change), None) for k, change in OTHER_PAPER.items()},
    **{
        f"{part} {name}": (REQUEST, first_changed("figures", lowered(part, name)), "claims and figures")
        for part, names in FIGURES.items()
        for name in names
    },
    **{f"list {k}": (EXACTLY, selected(change), "number accepted") for k, change in LISTS.items()},
    "standings": (EXACTLY, first_changed("figures", raised), "claims and figures"),
    **{f"papers {k}": (REQUEST, ordered(change), "public data: 1 of") for k, change in ORDERS.items()},
    **{
        f"table {k}": (
            REQUEST,
            other_table(lambda table, change=change: ExactPolicy(change(table.numerator))),
            "limits of each table: 1 of 16 does not agree",
        )
        for k, change in TABLES.items()
    },
    "one more table": (REQUEST, one_more_table, "accept probabilities: 1 of"),
    "a smaller crowd": (CROWD, of_a_smaller_crowd, r"limits of each table: \d+ of 16 do"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_record_is_found(tmp_path: Path, honest: Given, name: str) -> None:
    request, forgery, told = FORGED[name]
    given = for_request(honest, request)
    with pytest.raises((VerificationError, InputError), match=told):
        refuse_failed(sealed_checks(tmp_path / "key.bin", given, request, forgery=forgery))


def for_request(honest: Given, request: Request) -> Given:
    conference, truth = honest
    return (assemble(conference.cases, 6 / 16, None), truth) if request is EXACTLY else honest


@pytest.mark.parametrize("request_", [REQUEST, AVERAGE, EXACTLY, CROWD])
def test_an_honest_record_passes(tmp_path: Path, honest: Given, request_: Request) -> None:
    checks = sealed_checks(tmp_path / "key.bin", for_request(honest, request_), request_)
    refuse_failed(checks)
    assert not any(check.note for check in checks)


def test_every_field_is_forged_above() -> None:
    assert {one.name for one in fields(Record)} == {*OTHER_RECORD, "papers"}
    assert {one.name for one in fields(PaperRecord)} == {*OTHER_PAPER}


def test_tables_that_follow_the_true_reviewers(tmp_path: Path, honest: Given) -> None:
    """Constant tables keep every limit; those that were chosen by who wrote the reviews leak all the same."""
    truth = honest[1]

    def by_truth(part: Conference, guarantee: Guarantee) -> list[PaperPlan]:
        plans = []
        for case, raw in zip(part.cases, part.raw_accept, strict=True):
            place = {name: i for i, name in enumerate(case.candidates)}
            row = (case.tuples == [place[name] for name in truth[case.paper]]).all(axis=1).argmax()
            table = np.full(len(case.tuples), float(case.belief.favor[row] > 0.5))
            plan = plan_paper(case.belief, table, raw, guarantee)
            plans.append(replace(plan, packed=pack_policy(ExactPolicy((table * UNIT).astype(np.int64)))))
        return plans

    forged, made = (drafted(honest, REQUEST, planner).policies for planner in (by_truth, plan_conference))
    assert any((forged[p].accept != made[p].accept).any() for p in made)
    with pytest.raises(VerificationError, match="release 1: tables as good"):
        refuse_failed(sealed_checks(tmp_path / "key.bin", honest, REQUEST, by_truth))


@pytest.mark.parametrize("off", [-1e-2, -1e-4, 1e-4, 1e-3, 0.3])
def test_a_bar_that_is_nearly_right_or_picked_by_hand(tmp_path: Path, honest: Given, off: float) -> None:
    """Everything follows from the bar but the bar from nothing; unless a rounding led to the neighbor."""
    conference, _ = honest
    bar = round(conference.bar + off, 4)
    cases = tuple(replace(case, bar=bar) for case in conference.cases)
    near = replace(conference, bar=bar, cases=cases)
    failed = [c.name for c in sealed_checks(tmp_path / "key.bin", honest, REQUEST, decided=near) if c.failed]
    assert "release 1: bar" in failed


def test_what_nearly_agrees() -> None:
    numbers = {"a": [1.0, 2.0], "b": {"c": "x", "d": True}}
    assert _nearly_equal(numbers, {"a": [1.0 + 1e-12, 2.0], "b": {"c": "x", "d": True}}, 1e-9)
    others = (
        {"a": [1.0 + 1e-6, 2.0], "b": {"c": "x", "d": True}},
        {"a": [1.0], "b": {"c": "x", "d": True}},
        {"a": [1.0, 2.0], "b": {"c": "y", "d": True}},
        {"a": [1.0, 2.0], "b": {"c": "x", "d": False}},
        {"a": [1.0, 2.0], "b": {"c": "x"}},
        {"a": [1.0, 2.0]},
        [1.0],
    )
    assert not any(_nearly_equal(numbers, other, 1e-9) for other in others)
    assert not any(_nearly_equal(other, numbers, 1e-9) for other in others)


def planner_of(tables: PolicyTables) -> Planner:
    """A planner that claims of these tables what they promise, exactly."""
    return lambda part, guarantee: replanned(part, plan_conference(part, guarantee), guarantee, tables)


@pytest.mark.parametrize(
    ("request_", "planner", "told"),
    [
        (REQUEST, unlimited, "limits of each table"),
        (REQUEST, public, "tables as good as those planned here"),
        (AVERAGE, unlimited, "limits of each table"),
    ],
)
def test_tables_that_were_chosen_otherwise_are_found(
    tmp_path: Path, honest: Given, request_: Request, planner: Planner, told: str
) -> None:
    """Whatever they claim of themselves is right: but they leak more, or cost more."""
    with pytest.raises(VerificationError, match=told):
        refuse_failed(sealed_checks(tmp_path / "key.bin", honest, request_, planner))


def with_table(made: Draft, paper: str, table: ExactPolicy) -> Planner:
    return planner_of(PolicyTables({**made.policies.packed, paper: pack_policy(table)}))


def test_a_table_bent_at_the_true_reviewers_is_found(tmp_path: Path, honest: Given) -> None:
    """One entry of one table moved to the other side of its coin, within epsilon: each paper in turn."""
    made, moved = drafted(honest, LIMITS), 0
    for number, paper in enumerate(made.record.papers):
        table = made.policies[paper.paper]
        low, high = ends_of(table)
        bent = entry(table.numerator.copy(), paper.secret, low if paper.accepted else high)
        if low == high or bent[paper.secret] == table.numerator[paper.secret]:
            continue
        moved += 1
        planner = with_table(made, paper.paper, ExactPolicy(bent, table.exact))
        checks = sealed_checks(known_key(tmp_path / f"{number}" / "key.bin"), honest, LIMITS, planner)
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
    limits = replace(LIMITS, accept_rate=None, bar=0.25)
    made, moved = drafted(given, limits), 0
    for number, paper in enumerate(made.record.papers):
        table = made.policies[paper.paper]
        low, high = ends_of(table)
        ends = int(table.numerator[0]), low if paper.accepted else high
        facts = coin_facts(limits, 1, paper.paper, paper.public, paper.reviewers)
        while abs(ends[0] - ends[1]) > 1:
            middle = sum(ends) // 2
            same = draw(KEY, facts, Fraction(middle, UNIT)) == paper.accepted
            ends = (middle, ends[1]) if same else (ends[0], middle)
        if draw(KEY, facts, Fraction(ends[1], UNIT)) == paper.accepted:
            continue
        moved += 1
        planner = with_table(made, paper.paper, ExactPolicy(entry(table.numerator.copy(), 0, ends[1])))
        checks = sealed_checks(known_key(tmp_path / f"{number}" / "key.bin"), given, limits, planner)
        assert [check.name for check in checks if check.failed] == [
            "release 1: draws under the tables planned here"
        ]
    assert moved > 3


def test_tables_that_differ_in_the_last_digits_pass_and_epsilon_has_no_slack(
    tmp_path: Path, honest: Given
) -> None:
    """As another machine's do: every entry moved by some 1e-13. A table of 0 and 1e-9 has no epsilon."""
    made, rng = drafted(honest, LIMITS), np.random.default_rng(5)

    def nudged(table: ExactPolicy) -> ExactPolicy:
        step = rng.integers(-900, 900, table.numerator.size)
        return ExactPolicy(np.clip(table.numerator + step, *ends_of(table)), table.exact)

    near = PolicyTables({name: pack_policy(nudged(made.policies[name])) for name in made.policies})
    refuse_failed(sealed_checks(known_key(tmp_path / "near" / "key.bin"), honest, LIMITS, planner_of(near)))
    paper = next(name for name in made.policies if made.policies[name].ends[1] == 0)
    thin = entry(np.zeros_like(made.policies[paper].numerator), 0, UNIT // 10**9)
    planner = with_table(made, paper, ExactPolicy(thin))
    with pytest.raises(VerificationError, match="limits of each table: 1 of 16 does not agree"):
        refuse_failed(sealed_checks(known_key(tmp_path / "thin" / "key.bin"), honest, LIMITS, planner))


def several_releases(
    path: Path, inputs: Sequence[Given], planners: Sequence[Planner], forgery: Change
) -> list[Check]:
    """The checks of several releases, of which the first was forged."""
    for number, (given, planner) in enumerate(zip(inputs, planners, strict=True)):
        with open_ledger(path, KEY) as ledger:
            made = draft(*given, REQUEST, ledger, planner, "mistyped")
            made = made if number else forgery(Scene(REQUEST, ledger, *given, RNG), made)
            sealed = commit(ledger, made.record, made.policies, input_stamp(KEY, *given, REQUEST))
    return checks_of(*given, sealed)


def test_amended_tables_that_leak_are_found(tmp_path: Path, honest: Given) -> None:
    """Full calibration for the papers of a second release: what is decided again must be a constant."""
    conference, truth = honest
    moved = [replace(c, scores=tuple(s + 0.25 for s in c.scores)) for c in conference.cases]
    inputs = [honest, (replace(conference, cases=tuple(moved)), truth)]
    for index, planner in enumerate((plan_conference, unlimited)):
        path = known_key(tmp_path / f"{index}" / "key.bin")
        checks = several_releases(path, inputs, [plan_conference, planner], honestly)
        failed = {check.name: check.failed for check in checks if check.failed}
        assert bool(failed) is bool(index)
        assert not index or failed["release 2: limits of each table"] > 3
        assert {c.name: c.items for c in checks}["release 2: limits of each table"] == 16, "never 0 of 0"


def test_a_forgery_in_an_earlier_release_is_found(tmp_path: Path, honest: Given) -> None:
    """Of three releases the first: it is found when the third is verified."""
    conference, truth = honest
    inputs = [honest, (only(conference, *range(1, 16)), truth), honest]
    turned = first_changed("accepted", lambda paper: not paper.accepted)
    for index, forgery in enumerate((honestly, turned)):
        checks = several_releases(
            known_key(tmp_path / f"{index}" / "key.bin"), inputs, [plan_conference] * 3, forgery
        )
        failed = [check.name for check in checks if check.failed]
        assert any(name.startswith("release 1: ") for name in failed) == (index == 1)


def test_the_report_says_what_may_differ() -> None:
    one, two = Check("input", 1, 1, "other pools"), Check("draws", 4, 2)
    with pytest.raises(VerificationError) as caught:
        refuse_failed([one, two, Check("settings", 4, 0)])
    assert str(caught.value) == (
        "verification failed. input: 1 of 1 does not agree (other pools); draws: 2 of 4 do not agree"
    )


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
        planner = planner_of(PolicyTables({"p0": pack_policy(ExactPolicy(np.array([accept, UNIT])))}))
        checks = sealed_checks(known_key(tmp_path / f"{accept}" / "key.bin"), given, limits, planner)
        assert [check.name for check in checks if check.failed] == failed
