"""Whether a system depends on the truth: planted leaks are found, and none where there is none.

Public texts must be a function of public data and decisions, and tables of public data alone. The same
public data are released for many assignments and keys, and three signs are looked for: tables that change
with the truth (as parameters fitted on the same reviews do), public texts that differ although the decisions
do not (as rows in the order of processing do), and decisions that are correlated (a coin used twice) or
biased.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from blindcal.certify.claims import certify
from blindcal.certify.exact import ExactPolicy
from blindcal.checks import Array
from blindcal.deciding.key import Key, draw
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.solver import solve
from blindcal.posterior.paper import PaperCase
from random_cases import random_case
from sizes import count

FALSE_ALARM = 1e-6
"""The probability that a sound system fails, over all papers and pairs together (Bonferroni)."""


class RepeatedRelease(NamedTuple):
    """One of several releases of the same public data."""

    tables: tuple[Array, ...]  # one table per paper
    chance: tuple[float, ...]  # the accept probability of each paper under this release's true reviewers
    accepted: tuple[bool, ...]
    public: bytes  # all public bytes


class TruthDependence(NamedTuple):
    """Signs of dependence on the truth, over several releases."""

    tables: tuple[int, ...]  # papers whose table changed
    texts: int  # how many releases have equal decisions and other texts
    biased: tuple[int, ...]  # papers decided too often one way
    together: tuple[tuple[int, int], ...]  # pairs of papers with correlated decisions


def truth_dependence(trials: Sequence[RepeatedRelease]) -> TruthDependence:
    """Tests several releases of the same public data for dependence on the truth."""
    papers = range(len(trials[0].tables))
    moved = [
        paper
        for paper in papers
        if any(not np.array_equal(one.tables[paper], trials[0].tables[paper]) for one in trials[1:])
    ]
    texts: dict[tuple[bool, ...], bytes] = {}
    differ = sum(texts.setdefault(one.accepted, one.public) != one.public for one in trials)
    chance = np.array([one.chance for one in trials])
    rest = np.array([one.accepted for one in trials], dtype=np.float64) - chance
    spread = chance * (1.0 - chance)
    pairs = [(one, other) for one in papers for other in papers if one < other]
    limit = -float(ndtri(FALSE_ALARM / 2 / (len(pairs) + len(papers))))
    return TruthDependence(
        tables=tuple(moved),
        texts=differ,
        biased=tuple(paper for paper in papers if _beyond_chance(rest[:, paper], spread[:, paper], limit)),
        together=tuple(
            (one, other)
            for one, other in pairs
            if _beyond_chance(rest[:, one] * rest[:, other], spread[:, one] * spread[:, other], limit)
        ),
    )


def _beyond_chance(rest: Array, variance: Array, limit: float) -> bool:
    """Whether a sum of independent numbers of mean 0 is further from 0 than chance allows.

    Below a total variance of 10/16, as of ten products of two fair coins, a normal limit says nothing; then
    only decisions that were certain are tested.
    """
    total = float(variance.sum())
    if total < 10.0 / 16.0:
        return bool(np.abs(rest[variance == 0.0]).max(initial=0.0) > 0.0)
    return abs(float(rest.sum())) > limit * float(np.sqrt(total))


Truth = list[int]
GUARANTEE = Guarantee("average", epsilon=2.0)


def open_cases(seed: int = 5, papers: int = 4) -> list[PaperCase]:
    """Papers whose decisions are open for many of their tuples."""
    rng, found = np.random.default_rng(seed), []
    while len(found) < papers:
        case = replace(random_case(rng, 5, 2), paper=f"p{len(found)}")
        table = table_of(case).accept
        if (case.belief.weight @ (table * (1 - table))) > 0.05:
            found.append(case)
    return found


def table_of(case: PaperCase) -> ExactPolicy:
    return certify(case.belief, solve(case, GUARANTEE).accept, GUARANTEE)[0]


def rows_by_paper(cases: Sequence[PaperCase], truth: Truth, accepted: Sequence[bool]) -> list[int]:
    return list(range(len(cases)))


def played(
    cases: Sequence[PaperCase],
    trials: int,
    *,
    planned: Callable[[PaperCase, int], PaperCase] | None = None,
    order: Callable[[Sequence[PaperCase], Truth, Sequence[bool]], list[int]] = rows_by_paper,
    coin: Callable[[str, int], dict[str, object]] = lambda paper, truth: {"paper": paper, "truth": truth},
) -> list[RepeatedRelease]:
    """The same scores decided for assignments drawn from the belief, each with a key of its own."""
    rng, found = np.random.default_rng(9), []
    tables: dict[tuple[str, int], ExactPolicy] = {}
    for _ in range(trials):
        key = Key(rng.bytes(32))
        truth = [int(rng.choice(len(case.tuples), p=case.belief.weight)) for case in cases]
        policies = []
        for case, who in zip(cases, truth, strict=True):
            place = case.paper, who if planned else 0
            if place not in tables:
                tables[place] = table_of(planned(case, who) if planned else case)
            policies.append(tables[place])
        chance = [policy.probability(who) for policy, who in zip(policies, truth, strict=True)]
        accepted = [
            draw(key, coin(case.paper, who), one) for case, who, one in zip(cases, truth, chance, strict=True)
        ]
        rows = [
            f"{cases[i].paper},{'accept' if accepted[i] else 'reject'}" for i in order(cases, truth, accepted)
        ]
        accept = tuple(policy.accept for policy in policies)
        found.append(
            RepeatedRelease(accept, tuple(map(float, chance)), tuple(accepted), "\n".join(rows).encode())
        )
    return found


def test_a_sound_system_is_not_suspected() -> None:
    """A false alarm in one of a million runs."""
    assert not any(truth_dependence(played(open_cases(), count(400, 4000))))


def test_a_table_that_depends_on_the_truth_is_found() -> None:
    def truth_first(case: PaperCase, truth: int) -> PaperCase:
        chances = np.array(case.inclusion)
        chances[case.tuples[truth]] += 0.05
        return replace(case, inclusion=tuple(chances * len(case.scores) / chances.sum()))

    assert truth_dependence(played(open_cases(), 40, planned=truth_first)).tables == (0, 1, 2, 3)


def test_parameters_fitted_on_the_same_conference_are_found() -> None:
    """Everybody's offset moved by the score that they gave: the public data are the same, the tables not."""

    def fitted(case: PaperCase, truth: int) -> PaperCase:
        rows = [list(row) for row in case.parameters]
        for slot, who in enumerate(case.tuples[truth]):
            rows[who][1] = 0.5 * (rows[who][1] + case.scores[slot])
        return replace(case, parameters=tuple(map(tuple, rows)))

    assert len(truth_dependence(played(open_cases(), 40, planned=fitted)).tables) >= 3


def test_a_coin_used_twice_is_found() -> None:
    found = truth_dependence(
        played(open_cases(), count(400, 4000), coin=lambda paper, truth: {"conference": "one"})
    )
    assert len(found.together) == 6
    assert not found.tables


def test_rows_in_processing_order_are_found() -> None:
    """Papers of the same first reviewer were handled one after the other."""

    def by_reviewer(cases: Sequence[PaperCase], truth: Truth, accepted: Sequence[bool]) -> list[int]:
        return sorted(range(len(cases)), key=lambda i: cases[i].tuples[truth[i]][0])

    found = truth_dependence(played(open_cases(), 40, order=by_reviewer))
    assert found.texts > 0
    assert not found.tables


def test_a_coin_that_is_not_the_tables_is_found() -> None:
    trials = [one._replace(accepted=(True,) * 4) for one in played(open_cases(), count(400, 4000))]
    assert set(truth_dependence(trials).biased) == {0, 1, 2, 3}


def test_what_was_certain_must_come_out() -> None:
    sure = RepeatedRelease((np.ones(2),), (1.0,), (True,), b"")
    assert not any(truth_dependence([sure, sure]))
    assert truth_dependence([sure, sure._replace(accepted=(False,))]).biased == (0,)
