"""Every guarantee proved by an adversary that enumerates, and every table optimal against a plain program."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product
from math import exp, inf

import highspy
import numpy as np
import pytest

from blindcal.errors import CertificateError
from blindcal.policy.accept_lp import (
    AcceptProgram,
    DualSolution,
    _row_prices,
    aggregate_columns,
    forced_decisions,
    initial_columns,
    secret_classes,
    solve_with_retries,
    tuple_classes,
)
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.pareto_frontier import frontier
from blindcal.policy.policy import Policy
from blindcal.policy.solver import accept_program, solve
from blindcal.posterior.belief import Belief
from blindcal.posterior.conference import prepare
from blindcal.posterior.paper import PaperCase
from blindcal.reviews import Reviews
from general_program import least_loss
from listed_tuples import ROUNDING, keeps, solvable
from papers import solve_all
from random_cases import GUARANTEES, random_case, random_cases
from sizes import count


def test_each_guarantee_holds_against_an_enumerating_adversary_on_200_papers():
    for index, case in enumerate(random_cases(21, 200, count(1320, 11_880))):
        for guarantee in (GUARANTEES[index % len(GUARANTEES)], GUARANTEES[(index // 3) % len(GUARANTEES)]):
            if not solvable(case, guarantee):
                with pytest.raises(CertificateError, match="posterior cap"):
                    solve(case, guarantee)
                continue
            solved = solve(case, guarantee)
            adversary = keeps(guarantee, case.belief, solved.accept, ROUNDING)
            assert solved.success == pytest.approx(adversary.success / len(case.scores), abs=1e-12)


def _plain_optimum(case: PaperCase, guarantee: Guarantee) -> float:
    belief = case.belief
    if guarantee.name == "public":
        right = float(belief.weight @ belief.favor)
        return min(right, 1 - right)
    loss = np.stack([1 - belief.favor, belief.favor], axis=-1)
    return least_loss(belief.weight, loss, belief.labels, guarantee).loss


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda g: f"{g.name}-{g.epsilon}-{g.multiplier}")
def test_tables_are_optimal_against_a_plain_program(guarantee: Guarantee):
    cases = random_cases(7, count(16, 200), count(210, 1320))
    for case in (case for case in cases if solvable(case, guarantee)):
        solved = solve(case, guarantee)
        assert solved.error == pytest.approx(_plain_optimum(case, guarantee), abs=1e-7)
        assert solved.error - solved.bound <= 1e-8
        belief, accept = case.belief, solved.accept
        by_hand = belief.weight @ (accept * (1 - belief.favor) + (1 - accept) * belief.favor)
        assert solved.error == pytest.approx(by_hand, abs=1e-12)


def test_a_crowd_lies_between_steady_and_no_limit():
    gained = 0
    for index, case in enumerate(random_cases(15, count(30, 200), 120)):
        among, epsilon = [2, 3, 2, 5][index // 3 % 4], [2.0, 0.7, None][index % 3]
        crowd = Guarantee("crowd", epsilon=epsilon, among=among)
        wanted = _plain_optimum(case, crowd)
        assert solve(case, crowd).error == pytest.approx(wanted, abs=1e-7)
        steady = solve(case, Guarantee("steady", epsilon=epsilon)).error
        huge = solve(case, Guarantee("crowd", epsilon=epsilon, among=10**6)).error
        assert huge == pytest.approx(steady, abs=1e-9)
        gained += wanted < steady - 1e-6
    assert gained >= count(3, 20), "crowds must make a difference"


def test_never_against_decides_by_strong_evidence_or_says_that_it_cannot():
    seen = {"kept": 0, "refused": 0}
    for index, case in enumerate(random_cases(10, count(40, 200), 120)):
        steady, p = index % 2 == 0, [0.55, 0.7, 0.99][index % 3]
        guarantee = Guarantee("steady" if steady else "average", epsilon=None, never_against=p)
        wanted = _plain_optimum(case, guarantee)
        if wanted == inf:
            seen["refused"] += 1
            with pytest.raises(CertificateError):
                solve(case, guarantee)
            continue
        seen["kept"] += 1
        solved = solve(case, guarantee)
        favor = case.belief.favor
        assert (solved.accept[favor >= p] == 1.0).all()
        assert (solved.accept[1 - favor >= p] == 0.0).all()
        assert solved.error == pytest.approx(wanted, abs=1e-7)
    assert min(seen.values()) > 0


def test_one_review_has_the_closed_form():
    for case in random_cases(12, count(60, 400), 12):
        if len(case.scores) == 1:
            closed = frontier(case.belief).conference_error[-1]
            assert solve(case, Guarantee("average", epsilon=None)).error == pytest.approx(closed, abs=1e-9)


def test_limits_of_epsilon_are_the_public_and_the_unlimited_decision():
    for case in random_cases(13, 20, 210):
        public = solve(case, Guarantee("public", epsilon=2.0)).error
        assert solve(case, Guarantee("steady", epsilon=0.0)).error == pytest.approx(public, abs=1e-9)
        free = solve(case, Guarantee("steady", epsilon=None)).error
        assert solve(case, Guarantee("steady", epsilon=40.0)).error == pytest.approx(free, abs=1e-8)


@pytest.mark.parametrize(
    ("epsilon", "multiplier"), [(None, None), (2.0, None), (0.0, None), (1.0, 1.2), (None, 1.5)]
)
def test_corners_of_the_range_keep_the_limits_and_reach_them(epsilon: float | None, multiplier: float | None):
    corners = Guarantee("steady", epsilon=epsilon, multiplier=multiplier).corners
    ratio = inf if epsilon is None else exp(epsilon)
    for low, high in corners:
        assert 0 <= low <= high <= 1
        if epsilon is not None:
            assert high <= ratio * low * (1 + 1e-12)
            assert 1 - low <= ratio * (1 - high) * (1 + 1e-12) + 1e-15
        if multiplier is not None:
            assert high - low <= multiplier - 1 + 1e-12
    grid = np.linspace(0, 1, 201)
    low, high = np.meshgrid(grid, grid)
    allowed = low <= high
    if epsilon is not None:
        allowed &= (high <= ratio * low) & (1 - low <= ratio * (1 - high))
    if multiplier is not None:
        allowed &= high - low <= multiplier - 1
    for a, b in [(1.0, -2.0), (-1.0, 2.0), (-2.0, 1.0), (1.0, 1.0), (-1.0, -1.0), (-3.0, 4.0)]:
        best = (a * low + b * high)[allowed].max()
        assert (corners @ [a, b]).max() >= best - 1e-12


def test_reviewers_alike_and_tied_slots_are_treated_alike():
    rng = np.random.default_rng(15)
    row = (1.3, 0.4, 0.5, 0.0, 0.0, 0.0, 0.0)
    for guarantee in (Guarantee("steady", epsilon=2.0), Guarantee("average", epsilon=None)):
        base = random_case(rng, 5, 3)
        parameters = (row, row, *base.parameters[2:])
        scores = (base.scores[0], base.scores[1], base.scores[1])
        case = PaperCase("p", scores, base.candidates, (0.6,) * 5, parameters, 0.2)
        accept = dict(zip(map(tuple, case.tuples.tolist()), solve(case, guarantee).accept, strict=True))
        swap = {0: 1, 1: 0}
        for who, chance in accept.items():
            assert accept[who[0], who[2], who[1]] == chance
            assert accept[tuple(swap.get(j, j) for j in who)] == chance


def test_tables_are_byte_identical_for_every_true_assignment():
    parameters = {
        name: (1 + 0.2 * i, 0.3 * i - 0.4, 0.5, 0.0, 0.0, 0.0, 0.0) for i, name in enumerate("abcd")
    }
    pools = {"p": {"a": 0.9, "b": 0.5, "c": 0.6, "d": 0.4}, "q": {"b": 1.0, "c": 1.0, "d": 1.0}}
    for guarantee in (Guarantee("steady", epsilon=2.0), Guarantee("average", epsilon=None)):
        seen = set()
        for first, second in product(permutations("abcd", 2), permutations("bcd", 2)):
            rows = [("p", first[0], 0.5), ("p", first[1], 1.2), ("q", second[0], 0.4), ("q", second[1], 0.4)]
            paper, reviewer, score = zip(*rows, strict=True)
            reviews = Reviews.from_table({"paper": paper, "reviewer": reviewer, "score": score})
            solved = solve_all(prepare(reviews, parameters, pools, accept_rate=0.5), guarantee)
            seen.add(b"".join(table.tobytes() for table in solved))
        assert len(seen) == 1


def test_a_cap_that_binds_is_kept_by_the_best_table():
    """The cap is just above what the scores alone allow: an oracle's optimum, and no posterior beyond it."""
    for case in random_cases(22, count(12, 60), 120):
        top = max(
            float(np.bincount(case.tuples[:, s], case.belief.weight).max()) for s in range(len(case.scores))
        )
        for name in ("none", "average"):
            guarantee = Guarantee(name, epsilon=None, posterior_cap=min(1.0, top + 0.01))
            solved = solve(case, guarantee)
            assert solved.error == pytest.approx(_plain_optimum(case, guarantee), abs=1e-7)
            keeps(guarantee, case.belief, solved.accept, ROUNDING)


def test_tuples_that_look_alike_must_weigh_alike():
    """A belief that tells apart whom public data cannot is refused, by however little."""
    case = random_case(np.random.default_rng(23), 5, 2, ties=True)
    belief = case.belief
    twins = [index for index, who in enumerate(case.tuples.tolist()) if 0 in who and 1 not in who]
    moved = belief.weight.copy()
    moved[twins[0]] *= 1.0 + 1e-3
    assert tuple_classes(case, belief).weight.sum() == pytest.approx(1.0)
    with pytest.raises(CertificateError, match="look alike"):
        tuple_classes(case, Belief(moved / moved.sum(), belief.favor, belief.labels))


def test_a_warm_program_answers_like_a_fresh_one():
    guarantee = Guarantee("none", epsilon=None)
    for case in random_cases(20, 10, 210):
        warm = accept_program(case, guarantee)
        for price in (3.0, 0.2, 1.0):
            fresh = accept_program(case, guarantee).solve(price=price)
            again = warm.solve(price=price)
            value = [one.error + price * one.success for one in (fresh, again)]
            assert value[0] == pytest.approx(value[1], abs=1e-9)


class StubbornSolver:
    """Gives these answers in turn; remembers how it was asked."""

    def __init__(self, answers: list[str]) -> None:
        self.asked: list[dict[str, str]] = []
        self.options, self.cleared = {"presolve": "off"}, 0
        status = highspy.HighsModelStatus
        self.setOptionValue = self.options.__setitem__
        self.run = lambda: self.asked.append(dict(self.options))
        self.getModelStatus = lambda: getattr(status, answers[len(self.asked) - 1])
        self.clearSolver = self._clear

    def _clear(self) -> None:
        self.cleared += 1


def test_a_numerical_failure_is_tried_again_by_other_means_and_told_apart_from_impossible_limits():
    """Two of 300 papers with pools of 60 need this."""
    solver = StubbornSolver(["kUnknown", "kUnknown", "kOptimal"])
    solve_with_retries(solver)
    assert [asked["presolve"] for asked in solver.asked] == ["off", "off", "on"]
    assert solver.cleared == 2
    assert solver.options["presolve"] == "off"
    last = StubbornSolver(["kUnknown"] * 3 + ["kOptimal"])
    solve_with_retries(last)
    assert last.asked[-1]["solver"] == "ipm"
    assert last.options["solver"] == "choose"
    with pytest.raises(CertificateError, match=r"could not be solved \(Unknown\)"):
        solve_with_retries(StubbornSolver(["kUnknown"] * 4))
    # In a committee of 200 a feasible program was called infeasible, by 3e-10, from a warm basis.
    unlucky = StubbornSolver(["kInfeasible", "kOptimal"])
    solve_with_retries(unlucky)
    assert unlucky.cleared == 1
    impossible = StubbornSolver(["kInfeasible"] * 2)
    with pytest.raises(CertificateError, match="no policy keeps the requested limits"):
        solve_with_retries(impossible)


@pytest.mark.parametrize("seed", range(4))
def test_caps_out_of_reach_need_no_program_and_give_its_policy(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    weight = rng.dirichlet(np.full(60, 40.0))
    classes = secret_classes(Belief(weight, rng.random(60)))
    reach = float(np.log(0.1 / weight.max()))
    for epsilon, needed in ((0.999 * reach, False), (1.5 * reach, True)):
        guarantee = Guarantee("crowd", epsilon=epsilon)
        program = AcceptProgram(classes, guarantee)
        found = program.solve()
        assert program.searched is needed
        assert (Policy(found.accept).largest_posterior(Belief(weight, classes.favor)) <= 0.1 + 1e-9).all()
        with monkeypatch.context() as patch:
            patch.setattr(AcceptProgram, "_out_of_reach", lambda self: False)
            solved = AcceptProgram(classes, guarantee).solve()
        assert found.error == pytest.approx(solved.error, abs=1e-9)
        assert found.success == pytest.approx(solved.success, abs=1e-6)


def test_forced_decisions_are_compared_with_epsilon_even_if_caps_are_out_of_reach() -> None:
    classes = secret_classes(Belief(np.full(60, 1 / 60), np.repeat([0.999, 0.001, 0.4], 20)))
    with pytest.raises(CertificateError, match="never-against cannot be kept together with epsilon"):
        AcceptProgram(classes, Guarantee("crowd", epsilon=1.0, never_against=0.99)).solve()


# --- Aggregated programs: the guarantee is kept, the bound is a bound, and the gap is as small as stated.


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
        keeps(guarantee, case.belief, solved.accept, ROUNDING)
        assert solved.bound <= exact.error + 1e-9
        assert exact.error <= solved.error + 1e-9
        assert solved.error - solved.bound <= 1e-6 + 1e-9


def test_limits_on_success_are_aggregated_too():
    guarantee, rng = Guarantee("none", epsilon=None), np.random.default_rng(32)
    for _ in range(count(4, 30)):
        case = random_case(rng, 9, 3)
        exact, rough = accept_program(case, guarantee), accept_program(case, guarantee, most_columns=0)
        limit = 0.5 * (exact.scores_only + exact.solve().success)
        best, found = exact.solve(success=limit), rough.solve(success=limit)
        assert found.success <= limit + 1e-9
        assert -1e-9 <= found.error - best.error <= 1e-6 + 1e-9


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


def test_a_large_pool_is_solved_to_a_stated_gap():
    case = replace(random_case(np.random.default_rng(37), count(30, 70), 3), most_listed=400_000)
    solved = accept_program(case, Guarantee("steady", epsilon=2.0), most_columns=1000).solve()
    assert 0 <= solved.error - solved.bound + 1e-12 <= 1e-6 + 1e-12
    weight, accept = case.belief.weight, solved.accept
    for slot in case.tuples.T:
        top = np.bincount(slot, weight).max()
        for chance in (accept, 1 - accept):
            assert (np.bincount(slot, weight * chance) <= top * (weight @ chance) + 1e-12).all()


# --- Classes of plain beliefs: every secret is its own, and nobody has no row.


@pytest.mark.parametrize("labels", [None, [[3, 9, 3, -1], [0, 0, 5, 5]], [[-1, -1, -1, -1]]])
def test_rows_are_the_labels_of_each_slot(labels: list[list[int]] | None) -> None:
    belief = Belief([0.4, 0.3, 0.2, 0.1], [0.9, 0.2, 0.6, 0.5], labels)
    found = secret_classes(belief)
    np.testing.assert_array_equal(found.weight, belief.weight)
    np.testing.assert_array_equal(found.favor, belief.favor)
    slots = [[0, 1, 2, 3]] if labels is None else labels
    for group, slot in enumerate(slots):
        rows = np.flatnonzero(found.slot == group)
        masses = sorted(mass for mass in found.mass[rows] if mass > 0)
        named = {
            y: sum(w for w, z in zip(belief.weight, slot, strict=True) if z == y) for y in slot if y >= 0
        }
        assert masses == pytest.approx(sorted(named.values()))
        assert (found.top[rows] == found.mass[rows].max(initial=0.0)).all()
