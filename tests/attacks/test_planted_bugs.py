"""Bugs that a private system must not have, planted one by one: each is caught by the check named for it.

Every check passes on the code as it is, and fails once its bug is planted; a check that could not fail would
promise nothing.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import count, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("typer")

from blindcal.certify import claims
from blindcal.certify.exact import UNIT, ExactPolicy
from blindcal.cli import console, run
from blindcal.deciding import decide as decide_module
from blindcal.deciding import key as key_module
from blindcal.deciding import ledger as ledger_module
from blindcal.deciding import lists as lists_module
from blindcal.deciding.key import Key
from blindcal.deciding.record import PaperRecord, Record, unpack
from blindcal.planning import conference_plan as plans
from blindcal.planning.advice import ADVICE, BY_MEANS
from blindcal.planning.ranking_and_wait_list import rank
from blindcal.planning.request import Request
from blindcal.policy import solver
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior import inputs
from blindcal.posterior.belief import Belief
from listed_tuples import Oracle, agree, keeps
from papers import random_paper, solved
from sealed_releases import probability_of
from small_conferences import (
    SmallConference,
    arguments,
    known_key,
    loaded,
    sealed_tables,
    small_conference,
    swapped,
)

pytestmark = pytest.mark.edge
Plant = Callable[[pytest.MonkeyPatch], None]
Check = Callable[[Path], None]
CAUGHT: dict[str, tuple[Plant, Check]] = {}


def caught_by(check: Check) -> Callable[[Plant], Plant]:
    """Register a planted bug under its function's name, with the check that must catch it."""

    def register(plant: Plant) -> Plant:
        CAUGHT[plant.__name__] = (plant, check)
        return plant

    return register


# Checks


KEY = Key(bytes(range(32)))


def a_chair(folder: Path, name: str = "chair") -> Path:
    """A folder with a fixed key in it."""
    return known_key(folder / name / "key.bin", KEY.secret)


def said_by(command: Sequence[str]) -> tuple[int, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(list(command))
    return code, out.getvalue() + err.getvalue()


def public_files(
    small: SmallConference, folder: Path, key: Path, *more: str, name: str = "out"
) -> dict[str, bytes]:
    code, said = said_by(arguments(small.write(folder / "in"), key, folder / name, *more))
    if code == 1:
        # A run that breaks is no bug that was caught.
        raise RuntimeError(said)
    assert code == 0, said
    return {file.name: file.read_bytes() for file in (folder / name).iterdir()}


def coin_is_compared_exactly(folder: Path) -> None:
    """The coins just below, at and above a probability fall where they must."""
    accept, edge = Fraction(5, UNIT), 5 << (256 - 53)
    for value, expected in ((edge - 1, True), (edge, False), (edge + 1, False)):
        key = _FixedKey(value)
        assert key_module.draw(key, {}, accept) is expected


class _FixedKey(Key):
    def __init__(self, value: int) -> None:
        object.__setattr__(self, "value", value)

    def stamp(self, purpose: str, content: object) -> bytes:
        return int(self.value).to_bytes(32)


def public_decisions_follow_the_evidence(folder: Path) -> None:
    """Under `public` a paper is accepted if and only if the public evidence says so."""
    small = small_conference(seed=9, papers=8)
    files = public_files(small, folder, a_chair(folder), 'guarantee = "public"', "bar = 0")
    found = {
        line.split(",")[0]: line.split(",")[1] for line in files["decisions.csv"].decode().splitlines()[1:]
    }
    conference, _ = loaded(small, accept_rate=None, bar=0.0)
    for case in conference.cases:
        favor = float(case.belief.weight @ case.belief.favor)
        assert found[case.paper] == ("accept" if favor > 0.5 else "reject")


def coins_of_different_facts_differ(folder: Path) -> None:
    """Papers equal but for their id, a corrected reviewer, a next release: each has a coin of its own."""
    request = Request(Guarantee("steady", epsilon=2.0), bar=0.5)
    public = {"scores": [1.0], "grid": None, "pool": [["a", 0.5, 1.0], ["b", 0.5, 2.0]]}
    parts: list[tuple[int, str, tuple[str, ...]]] = [
        (1, "p", ("a",)),
        (1, "q", ("a",)),
        (1, "p", ("b",)),
        (2, "p", ("a",)),
    ]
    stamps = {
        KEY.stamp("coin", decide_module.coin_facts(request, release, paper, public, reviewers))
        for release, paper, reviewers in parts
    }
    assert len(stamps) == len(parts)


def claims_agree_with_fractions(folder: Path) -> None:
    rng = np.random.default_rng(1)
    for guarantee in (
        Guarantee("steady", epsilon=2.0),
        Guarantee("average", epsilon=None),
        Guarantee("steady", epsilon=None),
    ):
        for _ in range(4):
            belief = random_paper(rng, 5, 2)
            policy, stated = claims.certify(belief, solved(belief, guarantee), guarantee)
            keeps(guarantee, belief, policy)
            agree(stated, Oracle(belief, policy))


def crowds_hold_against_fractions(folder: Path) -> None:
    """Papers whose reviews the scores name with different chances, and some of their tuples with `*`."""
    rng = np.random.default_rng(3)
    for among, epsilon in ((2, None), (3, None), (4, 2.0), (6, 1.0)):
        guarantee = Guarantee("crowd", among=among, epsilon=epsilon)
        for trial in range(6):
            belief = random_paper(rng, 6, 2)
            labels = np.where(belief.labels == 0, -1, belief.labels) if trial % 2 else belief.labels
            belief = Belief(belief.weight, belief.favor, labels)
            accept = solver.solve(belief, guarantee).accept
            policy, stated = claims.certify(belief, accept, guarantee)
            agree(stated, keeps(guarantee, belief, policy))


def the_whole_epsilon_is_used(folder: Path) -> None:
    """Odds may change by e^2 and, where it pays, they do: another base would show."""
    rng, guarantee = np.random.default_rng(2), Guarantee("none", epsilon=2.0)
    largest = Fraction(0)
    for _ in range(6):
        belief = random_paper(rng, 5, 2)
        policy, _ = claims.certify(belief, (belief.favor > 0.5).astype(float), guarantee)
        largest = max(largest, Oracle(belief, policy).ratio or Fraction(0))
    assert math.exp(2) * 0.999 < largest <= Fraction(math.exp(2)) * (1 + Fraction(1, 10**12))


def no_message_names_a_reviewer(folder: Path) -> None:
    """Not even when something breaks that nobody thought of."""
    small = small_conference(seed=4)
    with pytest.MonkeyPatch.context() as breaking:

        def broken(case: object, reviewers: Sequence[str], chance: object, layout: object) -> int:
            raise RuntimeError(f"no tuple {reviewers}")

        breaking.setattr(decide_module, "secret_of", broken)
        code, said = said_by(arguments(small.write(folder / "in"), a_chair(folder), folder / "out"))
    assert code == 1
    assert not [canary for canary in small.canaries if canary in said]


def public_rows_are_sorted_and_row_order_does_not_matter(folder: Path) -> None:
    small = small_conference(seed=4)
    table = public_files(small, folder, a_chair(folder))["decisions.csv"].decode().splitlines()
    assert table[1:] == sorted(table[1:])


def a_crash_does_not_toss_again(folder: Path) -> None:
    """A run that dies before its ledger counts, then the same run again: one set of decisions."""
    small, seen = small_conference(seed=4, papers=30, noise=1.0, spread=0.3), []
    for attempt in range(3):
        key = a_chair(folder, f"chair{attempt}")
        with pytest.MonkeyPatch.context() as crash:

            def dies(ledger: object, record: Record, *rest: object) -> None:
                seen.append(record.decisions)
                raise KeyboardInterrupt

            crash.setattr(decide_module, "commit", dies)
            assert said_by(arguments(small.write(folder / "in"), key, folder / f"out{attempt}"))[0] == 130
        seen.append(public_files(small, folder, key, name=f"out{attempt}")["decisions.csv"].decode())
    assert len(set(seen)) == 1


def a_new_folder_does_not_toss_again(folder: Path) -> None:
    """Another score or corrected reviewers, and a new output folder: the first is refused, the others change
    nothing, for the ledger lies beside the key."""
    small, key = small_conference(seed=4), a_chair(folder)
    before = public_files(small, folder, key)
    other = small.with_review(1, score="0.12")
    assert said_by(arguments(other.write(folder / "in"), key, folder / "other"))[0] == 3
    assert public_files(swapped(small), folder, key, name="new") == before


def certificates_do_not_depend_on_the_truth(folder: Path) -> None:
    seen = set()
    for index, small in enumerate(assignments(small_conference(seed=34, papers=3, spread=0.3))):
        key = a_chair(folder, f"chair{index}")
        content = json.loads(public_files(small, folder, key, name=f"out{index}")["certificate.json"])
        seen.add(json.dumps({k: v for k, v in content.items() if k not in ("accepted", "commitment")}))
    assert len(seen) == 1


def tables_do_not_depend_on_the_truth(folder: Path) -> None:
    seen = set()
    for index, small in enumerate(assignments(small_conference(seed=34, papers=3, spread=0.3))):
        key = a_chair(folder, f"chair{index}")
        public_files(small, folder, key, name=f"out{index}")
        seen.add(sealed_tables(key))
    assert len(seen) == 1


def assignments(small: SmallConference) -> list[SmallConference]:
    """The first paper's reviews written by other members of its pool."""
    paper = small.reviews[1][0]
    pool = [row[1] for row in small.pools[1:] if row[0] == paper]
    pairs = [(pool[0], pool[1]), (pool[1], pool[0]), (pool[2], pool[3])]
    return [small.with_review(1, reviewer=a).with_review(2, reviewer=b) for a, b in pairs]


def a_second_decision_reveals_nothing(folder: Path) -> None:
    """A corrected score: the paper is decided by a constant, whoever wrote its reviews."""
    small, key = small_conference(seed=8, papers=3, spread=0.3), a_chair(folder)
    public_files(small, folder, key)
    corrected = small.with_review(1, score=f"{float(small.reviews[1][2]) + 0.01:.2f}")
    public_files(corrected, folder, key, "--amend", "--reason", "x", name="new")
    tables = unpack(sealed_tables(key, 2))
    assert [np.unique(table.accept).size for table in tables.values()] == [1]


def formatting_does_not_toss_again(folder: Path) -> None:
    small, key = small_conference(seed=4), a_chair(folder)
    before = public_files(small, folder, key)
    rows = tuple((*row[:2], row[2] + "0") if index else row for index, row in enumerate(small.reviews))
    assert public_files(replace(small, reviews=rows), folder, key, name="new") == before


def public_table_holds_decisions_only(folder: Path) -> None:
    table = public_files(small_conference(seed=4), folder, a_chair(folder))["decisions.csv"].decode()
    words = {*BY_MEANS, *ADVICE}
    assert all(set(line.split(",")[1:]) <= words for line in table.splitlines()[1:])


def lists_follow_from_the_private_decisions_alone(folder: Path) -> None:
    """Whoever wrote the reviews: where the private decisions are the same, so is the list, of 3 papers."""
    small = small_conference(seed=8, papers=6, noise=1.0, spread=0.3)
    conference, truth = loaded(small, accept_rate=0.5)
    request = Request(Guarantee("average", epsilon=None), accept=3)
    plans_ = plans.plan_conference(conference, request.guarantee)
    lists: dict[tuple[bool, ...], set[str]] = {}
    for number, who in product(range(60), (truth, {paper: one[::-1] for paper, one in truth.items()})):
        past = ledger_module.Ledger(folder, Key(bytes([number]) * 32), ())
        made = decide_module.draft(conference, who, request, past, lambda *_: plans_, "").record
        lists.setdefault(tuple(p.accepted for p in made.papers), set()).add(made.decisions)
        assert [row.split(",")[1] for row in made.decisions.splitlines()].count("accept") == 3
    assert {len(texts) for texts in lists.values()} == {1}


def without(part: str) -> Plant:
    real = decide_module.coin_facts

    def plant(patch: pytest.MonkeyPatch) -> None:
        def facts(*arguments_: Any) -> dict[str, Any]:
            return {name: value for name, value in real(*arguments_).items() if name != part}

        patch.setattr(decide_module, "coin_facts", facts)

    return plant


def instead(module: Any, name: str, value: Callable[[Any], Any]) -> Plant:
    """Something else in the place of a function of the package, made from it."""
    return lambda patch: patch.setattr(module, name, value(getattr(module, name)))


def private_word(paper: PaperRecord) -> str:
    return "accept" if paper.accepted else "reject"


fresh = count(1)
CAUGHT |= {
    "coin_reused_across_papers": (without("paper"), coins_of_different_facts_differ),
    "coin_reused_after_a_correction": (without("reviewers"), coins_of_different_facts_differ),
    "coin_reused_in_the_next_release": (without("release"), coins_of_different_facts_differ),
    "probability_off_by_one_percent": (
        instead(
            key_module, "draw", lambda real: lambda key, facts, p: real(key, facts, p * Fraction(101, 100))
        ),
        coin_is_compared_exactly,
    ),
    "accept_and_reject_swapped": (
        instead(decide_module, "draw", lambda real: lambda *facts: not real(*facts)),
        public_decisions_follow_the_evidence,
    ),
    "second_toss_after_a_crash": (
        instead(
            decide_module, "draw", lambda real: lambda _, *facts: real(Key(next(fresh).to_bytes(32)), *facts)
        ),
        a_crash_does_not_toss_again,
    ),
    "prior_ignored": (
        instead(
            claims,
            "exact_case",
            lambda real: (
                lambda belief: replace(real(belief), weight=np.ones(belief.weight.size, dtype=object))
            ),
        ),
        claims_agree_with_fractions,
    ),
    "epsilon_in_base_2": (
        instead(claims, "exponential_below", lambda _: lambda epsilon: Fraction(2**epsilon)),
        the_whole_epsilon_is_used,
    ),
    "epsilon_stated_in_base_2": (
        instead(claims, "logarithm_above", lambda real: lambda *parts: real(*parts) / math.log(2)),
        claims_agree_with_fractions,
    ),
    "best_review_for_the_whole_paper": (
        instead(
            claims, "_most_reviewed", lambda _: lambda case, parts: max(int(part.max()) for part in parts)
        ),
        crowds_hold_against_fractions,
    ),
    # The posterior among named people stated as if the outsider were one of them.
    "outsider_hides_a_name": (
        instead(
            claims,
            "_claim_of",
            lambda real: (
                lambda *parts: replace(
                    stated := real(*parts), largest_posterior_named=stated.largest_posterior
                )
            ),
        ),
        crowds_hold_against_fractions,
    ),
    "id_in_a_message": (instead(console, "unexpected", lambda _: str), no_message_names_a_reviewer),
    "probability_in_the_public_table": (
        instead(
            decide_module,
            "decisions_text",
            lambda real: (
                lambda papers, *more: real(papers, *more).replace(
                    "accept", str(float(probability_of(papers[0]))), 1
                )
            ),
        ),
        public_table_holds_decisions_only,
    ),
    "private_decisions_published": (
        instead(
            decide_module,
            "decisions_text",
            lambda real: (
                lambda papers, shown: real(papers, replace(shown, decisions=list(map(private_word, papers))))
            ),
        ),
        lists_follow_from_the_private_decisions_alone,
    ),
    # Full calibration for the last places.
    "list_ranked_by_the_true_reviewers": (
        instead(
            lists_module,
            "own_rank",
            lambda _: lambda paper: rank(paper.paper, [0.0], float(probability_of(paper))),
        ),
        lists_follow_from_the_private_decisions_alone,
    ),
}


@caught_by(coin_is_compared_exactly)
def at_most_for_below(patch: pytest.MonkeyPatch) -> None:
    def at_most(key: Key, facts: Mapping[str, object], accept: Fraction) -> bool:
        coin = int.from_bytes(key.stamp("coin", {"block": 0, "facts": dict(facts)}))
        return coin * accept.denominator <= accept.numerator << 256

    patch.setattr(key_module, "draw", at_most)


@caught_by(public_rows_are_sorted_and_row_order_does_not_matter)
def rows_in_processing_order(patch: pytest.MonkeyPatch) -> None:
    real = decide_module.decisions_text

    def unsorted(papers: Sequence[PaperRecord], *more: Any) -> str:
        head, *rows = real(papers, *more).splitlines()
        by_truth = dict(
            zip([paper.paper for paper in papers], [paper.secret for paper in papers], strict=True)
        )
        return "\n".join([head, *sorted(rows, key=lambda row: by_truth[row.split(",")[0]])]) + "\n"

    patch.setattr(decide_module, "decisions_text", unsorted)


@caught_by(a_new_folder_does_not_toss_again)
def second_toss_in_a_new_folder(patch: pytest.MonkeyPatch) -> None:
    real = ledger_module.read_ledger

    def forgetful(path: Path, key: Key) -> ledger_module.Ledger:
        return replace(real(path, key), releases=())

    for module in (ledger_module, decide_module):
        patch.setattr(module, "read_ledger", forgetful)
    patch.setattr(decide_module, "commit", lambda ledger, *_: ledger)


@caught_by(certificates_do_not_depend_on_the_truth)
def expectation_under_the_truth(patch: pytest.MonkeyPatch) -> None:
    real = decide_module.decide_paper

    def under_the_truth(*arguments_: Any, **more: Any) -> PaperRecord:
        paper = real(*arguments_, **more)
        figures = dict(paper.figures)
        figures["numbers"] = {**figures["numbers"], "wrong": float(probability_of(paper))}
        return replace(paper, figures=figures)

    patch.setattr(decide_module, "decide_paper", under_the_truth)


@caught_by(tables_do_not_depend_on_the_truth)
def tables_that_move_with_the_truth(patch: pytest.MonkeyPatch) -> None:
    """The pool listed with the true reviewers first."""
    real = inputs.Inputs.prepared

    def truth_first(files: inputs.Inputs, *arguments_: Any, **more: Any) -> tuple[Any, Any]:
        conference, truth = real(files, *arguments_, **more)

        def listed(case: Any) -> Any:
            order = sorted(
                range(len(case.candidates)),
                key=lambda i: case.candidates[i] not in truth.reviewers[case.paper],
            )
            moved = {
                name: tuple(getattr(case, name)[i] for i in order)
                for name in ("candidates", "inclusion", "parameters")
            }
            return replace(case, **moved)

        return replace(conference, cases=tuple(map(listed, conference.cases))), truth

    patch.setattr(inputs.Inputs, "prepared", truth_first)


@caught_by(claims_agree_with_fractions)
def float_table_sampled(patch: pytest.MonkeyPatch) -> None:
    """The program's own numbers, rounded, neither repaired nor moved onto the equations."""

    def unrepaired(belief: Any, accept: Any, guarantee: Any, **more: Any) -> Any:
        policy = ExactPolicy(np.rint(np.clip(accept, 0, 1) * UNIT).astype(np.int64))
        return policy, claims.claim(belief, policy)

    patch.setattr(claims, "certify", unrepaired)


@caught_by(claims_agree_with_fractions)
def claims_rounded_inwards(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(claims, "ceiling", lambda top, bottom: top * claims.CLAIM_DENOMINATOR // bottom)
    patch.setattr(claims, "upward", lambda value: math.nextafter(float(value), 0))


@caught_by(crowds_hold_against_fractions)
def crowd_of_half_the_size(patch: pytest.MonkeyPatch) -> None:
    """In the program and in the comparison alike, so that the two agree with each other."""
    cap, crowd = Guarantee.caps, claims._crowd_caps
    patch.setattr(Guarantee, "caps", lambda self, tops: np.maximum(cap(self, tops), 2.0 / self.among))
    patch.setattr(claims, "_crowd_caps", lambda case, among: crowd(case, max(1, among // 2)))


@caught_by(crowds_hold_against_fractions)
def one_cap_for_all_reviews_of_a_paper(patch: pytest.MonkeyPatch) -> None:
    """The likeliest name of any review of the paper, in place of the review's own."""
    cap, crowd = Guarantee.caps, claims._crowd_caps
    patch.setattr(Guarantee, "caps", lambda self, tops: np.full_like(tops, cap(self, tops).max()))

    def loosest(case: Any, among: Any) -> Any:
        caps = crowd(case, among)
        return [max(caps, key=lambda one: Fraction(*one))] * len(caps)

    patch.setattr(claims, "_crowd_caps", loosest)


@caught_by(a_second_decision_reveals_nothing)
def second_decision_with_a_coin(patch: pytest.MonkeyPatch) -> None:
    """The second table solved and certified as if the first decision had not been seen."""
    patch.setattr(decide_module.Changes, "settled", frozenset())
    decided = property(lambda self: frozenset((*self.new, *self.scores)))
    patch.setattr(decide_module.Changes, "decided", decided)


@caught_by(formatting_does_not_toss_again)
def number_format_tosses_again(patch: pytest.MonkeyPatch) -> None:
    """Scores as the text of the file instead of by value."""
    real = inputs.Inputs.prepared

    def by_text(files: inputs.Inputs, *arguments_: Any, **more: Any) -> tuple[Any, Any]:
        text = Path(files.sources.reviews).read_text(encoding="utf-8")
        conference, truth = real(files, *arguments_, **more)
        cases = tuple(
            replace(case, scores=tuple(_WithText(s, text) for s in case.scores)) for case in conference.cases
        )
        return replace(conference, cases=cases), truth

    patch.setattr(inputs.Inputs, "prepared", by_text)


class _WithText(float):
    def __new__(cls, value: float, text: str) -> _WithText:
        return super().__new__(cls, value + 1e-12 * len(text))


@pytest.mark.parametrize("name", sorted(CAUGHT))
def test_planted_bug_is_caught(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, check = CAUGHT[name]
    (tmp_path / "sound").mkdir()
    check(tmp_path / "sound")
    plant(monkeypatch)
    (tmp_path / "planted").mkdir()
    with pytest.raises(AssertionError):
        check(tmp_path / "planted")


def test_no_planted_bug_is_lost() -> None:
    assert len(CAUGHT) == 26
