"""Aggregated programs: the guarantee is kept, the bound is a bound, and the gap is as small as stated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from blindcal.errors import CertificateError
from blindcal.policy.accept_lp import (
    AggregatedProgram,
    DualSolution,
    _row_prices,
    aggregate_columns,
    forced_decisions,
    initial_columns,
    tuple_classes,
)
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.solver import accept_program
from oracles import Enumerator, promises, solvable
from random_cases import GUARANTEES, random_case, random_cases
from sizes import count

LIMITED = [g for g in GUARANTEES if g.name != "public"]


def _pairs(seed: int, papers: int, most: int):
    for index, case in enumerate(random_cases(seed, papers, most)):
        guarantee = LIMITED[index % len(LIMITED)]
        if solvable(case, guarantee):
            yield case, guarantee


def test_aggregated_tables_keep_every_guarantee_and_their_bound_is_below_the_optimum():
    for case, guarantee in _pairs(31, count(60, 300), 1320):
        exact = accept_program(case, guarantee).solve()
        solved = accept_program(case, guarantee, most_columns=0).solve()
        kept = promises(Enumerator(case, solved.accept), guarantee)
        assert all(kept.values()), (guarantee, kept)
        assert solved.bound <= exact.error + 1e-9
        assert exact.error <= solved.error + 1e-9
        assert solved.error - solved.bound <= 1e-6 + 1e-9


def test_prices_and_limits_on_success_are_aggregated_too():
    guarantee = Guarantee("none", epsilon=None)
    rng = np.random.default_rng(32)
    for _ in range(count(4, 30)):
        case = random_case(rng, 9, 3)
        exact, rough = accept_program(case, guarantee), accept_program(case, guarantee, most_columns=0)
        assert rough.scores_only == pytest.approx(exact.scores_only, abs=1e-12)
        for price in (0.1, 0.6):
            one, other = exact.solve(price=price), rough.solve(price=price)
            gap = other.error + price * other.success - one.error - price * one.success
            assert -1e-9 <= gap <= 1e-6 + 1e-9
        limit = 0.5 * (exact.scores_only + exact.solve().success)
        one, other = exact.solve(success=limit), rough.solve(success=limit)
        assert other.success <= limit + 1e-9
        assert -1e-9 <= other.error - one.error <= 1e-6 + 1e-9


def _impossible(case, guarantee: Guarantee) -> bool:
    """Whether not even a table with a column for each tuple keeps the limits."""
    try:
        accept_program(case, guarantee).solve()
    except CertificateError:
        return True
    return False


def test_never_against_holds_in_every_column():
    rng = np.random.default_rng(33)
    guarantee = Guarantee("average", epsilon=None, never_against=0.9)
    for _ in range(count(10, 60)):
        case = random_case(rng, 8, 3)
        rough = accept_program(case, guarantee, most_columns=0)
        if _impossible(case, guarantee):
            with pytest.raises(CertificateError, match="no policy keeps"):
                rough.solve()
            continue
        solved = rough.solve()
        favor = case.belief.favor
        assert (solved.accept[favor >= 0.9] == 1.0).all()
        assert (solved.accept[favor <= 1 - 0.9] == 0.0).all()


def test_prices_of_a_sample_of_tuples_are_those_of_the_program():
    rng = np.random.default_rng(35)
    for index in range(count(12, 60)):
        case = random_case(rng, 6, 3, ties=index % 2 == 0)
        grouped = tuple_classes(case, case.belief)
        dual = DualSolution(0.0, 0.0, rng.normal(size=grouped.mass.size), np.zeros((1, 2)))
        wanted = (dual.price @ grouped.share)[grouped.of]
        np.testing.assert_allclose(_row_prices(case, dual, case.tuples), wanted, atol=1e-12)


def test_aggregating_keeps_every_candidates_mass_in_every_slot():
    case = random_case(np.random.default_rng(34), 10, 3)
    fine = tuple_classes(case, case.belief)
    columns = initial_columns(fine, forced_decisions(fine.favor, None))
    coarse = aggregate_columns(fine, columns)
    assert coarse.weight.size < fine.weight.size
    np.testing.assert_allclose(coarse.share @ coarse.weight, fine.mass, atol=1e-14)
    assert coarse.weight @ coarse.favor == pytest.approx(fine.weight @ fine.favor, abs=1e-14)
    for table in np.random.default_rng(35).random((5, coarse.weight.size)):
        by_column = coarse.share @ (coarse.weight * table)
        by_class = fine.share @ (fine.weight * table[columns])
        np.testing.assert_allclose(by_column, by_class, atol=1e-14)


def test_dropping_the_rows_of_light_candidates_would_break_the_promise():
    """Why columns are aggregated and rows are not: with light candidates as one, one of them gains."""
    rng, broken = np.random.default_rng(36), 0
    for _ in range(6):
        case = random_case(rng, 9, 2)
        rough = accept_program(case, Guarantee("average", epsilon=None), most_columns=0)
        assert isinstance(rough, AggregatedProgram)
        accept = _with_heavy_rows_only(case)
        adversary = Enumerator(case, accept)
        broken += adversary.success() > adversary.scores_only() + 1e-6
    assert broken > 0


def _with_heavy_rows_only(case) -> np.ndarray:
    """The optimum that only the two heaviest candidates of each slot limit."""
    belief, rows = case.belief, []
    for slot in case.tuples.T:
        mass = np.bincount(slot, belief.weight)
        first, second = np.argsort(-mass)[:2]
        row = (slot == second) * 1.0 - (slot == first)
        rows += [(row, 0.0), (-row, mass[first] - mass[second])]
    found = linprog(
        1 - 2 * belief.favor,
        A_ub=np.array([row for row, _ in rows]),
        b_ub=[limit for _, limit in rows],
        bounds=[(0, w) for w in belief.weight],
    )
    return np.clip(found.x / belief.weight, 0, 1)


def test_a_large_pool_is_solved_to_a_stated_gap():
    case = replace(random_case(np.random.default_rng(37), count(30, 70), 3), most_listed=400_000)
    solved = accept_program(case, Guarantee("steady", epsilon=2.0), most_columns=1000).solve()
    assert 0 <= solved.error - solved.bound + 1e-12 <= 1e-6 + 1e-12
    weight, accept = case.belief.weight, solved.accept
    for slot in case.tuples.T:
        top = np.bincount(slot, weight).max()
        for chance in (accept, 1 - accept):
            assert (np.bincount(slot, weight * chance) <= top * (weight @ chance) + 1e-12).all()
