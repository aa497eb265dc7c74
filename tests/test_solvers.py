"""Every guarantee proved by an adversary that enumerates, and every table optimal against a plain program."""

from __future__ import annotations

from collections import defaultdict
from itertools import permutations, product
from math import exp, inf, log, perm

import highspy
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from blindcal.beliefs.belief import Belief
from blindcal.beliefs.cases import PaperCase
from blindcal.beliefs.conferences import Conference, prepare
from blindcal.errors import CertificateError
from blindcal.plans.decks import explore, solve_case, tables
from blindcal.policies.frontiers import frontier
from blindcal.policies.guarantees import Guarantee
from blindcal.policies.lumps import program
from blindcal.policies.programs import solve
from blindcal.policies.solvers import orbits, range_corners, run_solver
from blindcal.reviews import Reviews
from sizes import count

GUARANTEES = [
    Guarantee(),
    Guarantee("public"),
    Guarantee("none", epsilon=None),
    Guarantee("none", epsilon=1.0),
    Guarantee("steady", epsilon=None),
    Guarantee("steady", epsilon=0.5),
    Guarantee("steady", epsilon=None, multiplier=1.3),
    Guarantee("average", epsilon=None),
    Guarantee("average", epsilon=1.5),
    Guarantee("average", epsilon=1.0, multiplier=1.2),
    Guarantee("average", epsilon=None, multiplier=1.6),
    Guarantee("average", epsilon=None, posterior_cap=0.9),
    Guarantee("none", epsilon=2.0, posterior_cap=0.95),
]
ROUNDING = 1e-9


def random_case(rng: np.random.Generator, size: int, reviews: int, *, ties: bool = False) -> PaperCase:
    """Unequal chances, some reviewers alike, sometimes tied scores; someone of the pool wrote the reviews."""
    slope, offset = np.exp(rng.normal(0, 0.5, size)), rng.normal(0, 0.8, size)
    noise = rng.choice([0.4, 0.5, 0.8], size)
    chance = rng.uniform(0.3, 1.0, size)
    if ties and size > 2:
        slope[1], offset[1], noise[1], chance[1] = slope[0], offset[0], noise[0], chance[0]
    chance = chance * reviews / chance.sum()
    chance = chance if chance.max() < 1 else np.full(size, reviews / size)
    quality = rng.normal(0.5, 0.7)
    wrote = rng.choice(size, reviews, replace=False)
    scores = slope[wrote] * quality + offset[wrote] + noise[wrote] * rng.normal(size=reviews)
    if ties:
        scores = np.round(scores)
    rows = np.column_stack([slope, offset, noise, np.zeros((size, 4))])
    return PaperCase(
        paper="p",
        scores=tuple(sorted(scores.tolist())),
        candidates=tuple(f"r{j:02d}" for j in range(size)),
        inclusion=tuple(chance.tolist()),
        parameters=tuple(map(tuple, rows.tolist())),
        bar=0.6,
    )


def random_cases(seed: int, papers: int, most: int) -> list[PaperCase]:
    """Pools of 2 to 12 and 1 to 4 reviews, at most so many tuples."""
    rng, found = np.random.default_rng(seed), []
    while len(found) < papers:
        size = int(rng.integers(2, 13))
        reviews = int(rng.integers(1, min(4, size) + 1))
        if perm(size, reviews) <= most:
            found.append(random_case(rng, size, reviews, ties=bool(rng.random() < 0.4)))
    return found


class Enumerator:
    """An adversary that lists every tuple and adds up, in plain Python, knowing nothing of the solver."""

    def __init__(self, case: PaperCase, accept: np.ndarray) -> None:
        belief = case.belief
        self.tuples = list(permutations(range(len(case.candidates)), len(case.scores)))
        self.weight = belief.weight.tolist()
        self.chance = {"accept": accept.tolist(), "reject": (1.0 - accept).tolist()}
        self.slots = range(len(case.scores))

    def masses(self, slot: int, outcome: str | None) -> dict[int, float]:
        mass: dict[int, float] = defaultdict(float)
        for i, who in enumerate(self.tuples):
            mass[who[slot]] += self.weight[i] * (1.0 if outcome is None else self.chance[outcome][i])
        return mass

    def success(self) -> float:
        return sum(max(self.masses(s, d).values()) for s in self.slots for d in self.chance) / len(self.slots)

    def scores_only(self) -> float:
        return sum(max(self.masses(s, None).values()) for s in self.slots) / len(self.slots)

    def largest_rise(self) -> float:
        """Mass by which any author's joint chance exceeds what steadiness allows it."""
        worst = -inf
        for slot, outcome in product(self.slots, self.chance):
            mass = self.masses(slot, outcome)
            allowed = max(self.masses(slot, None).values()) * sum(mass.values())
            worst = max(worst, max(mass.values()) - allowed)
        return worst

    def cap_excess(self, cap: float) -> float:
        pairs = ((self.masses(s, d), d) for s in self.slots for d in self.chance)
        return max(max(mass.values()) - cap * sum(mass.values()) for mass, _ in pairs)

    def epsilon(self) -> float:
        found = 0.0
        for chances in self.chance.values():
            low, high = min(chances), max(chances)
            found = max(found, 0.0 if high == 0 else inf if low <= 0 else log(high / low))
        return found

    def multiplier(self) -> float:
        return sum(max(chances) for chances in self.chance.values())


def _promises(adversary: Enumerator, guarantee: Guarantee) -> dict[str, bool]:
    """Each promise that is made, and whether it is kept."""
    kept = {}
    if guarantee.name == "public":
        kept["public"] = adversary.epsilon() == 0.0
    if guarantee.name == "steady":
        kept["steady"] = adversary.largest_rise() <= ROUNDING
    if guarantee.name in ("steady", "average", "public"):
        kept["success"] = adversary.success() <= adversary.scores_only() + ROUNDING
    if guarantee.epsilon is not None:
        kept["epsilon"] = adversary.epsilon() <= guarantee.epsilon + ROUNDING
    if guarantee.multiplier is not None:
        kept["multiplier"] = adversary.multiplier() <= guarantee.multiplier + ROUNDING
    if guarantee.posterior_cap is not None:
        kept["cap"] = adversary.cap_excess(guarantee.posterior_cap) <= ROUNDING
    return kept


def _solvable(case: PaperCase, guarantee: Guarantee) -> bool:
    cap = guarantee.posterior_cap
    return cap is None or Enumerator(case, np.ones(len(case.tuples))).cap_excess(cap) <= 0


def test_each_guarantee_holds_against_an_enumerating_adversary_on_200_papers():
    for index, case in enumerate(random_cases(21, 200, count(1320, 11_880))):
        for guarantee in (GUARANTEES[index % len(GUARANTEES)], GUARANTEES[(index // 3) % len(GUARANTEES)]):
            if not _solvable(case, guarantee):
                with pytest.raises(CertificateError, match="posterior cap"):
                    solve_case(case, guarantee)
                continue
            solved = solve_case(case, guarantee)
            adversary = Enumerator(case, solved.accept)
            kept = _promises(adversary, guarantee)
            assert all(kept.values()), (guarantee, kept)
            assert solved.success == pytest.approx(adversary.success(), abs=1e-12)


def _plain_optimum(case: PaperCase, guarantee: Guarantee) -> float:
    belief = case.belief
    if guarantee.name == "public":
        right = float(belief.weight @ belief.favor)
        return min(right, 1 - right)
    success = None
    if guarantee.name == "average":
        success = Enumerator(case, np.ones(belief.weight.size)).scores_only()
    return solve(
        belief.weight,
        np.stack([1 - belief.favor, belief.favor], axis=-1),
        belief.labels,
        success=success,
        steady=guarantee.name == "steady",
        epsilon=guarantee.epsilon,
        multiplier=guarantee.multiplier,
        posterior_cap=guarantee.posterior_cap,
    ).value


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda g: f"{g.name}-{g.epsilon}-{g.multiplier}")
def test_tables_are_optimal_against_a_plain_program(guarantee: Guarantee):
    cases = random_cases(7, count(16, 200), count(210, 1320))
    for case in (case for case in cases if _solvable(case, guarantee)):
        solved = solve_case(case, guarantee)
        assert solved.error == pytest.approx(_plain_optimum(case, guarantee), abs=1e-7)
        assert solved.error - solved.bound <= 1e-8
        belief, accept = case.belief, solved.accept
        by_hand = belief.weight @ (accept * (1 - belief.favor) + (1 - accept) * belief.favor)
        assert solved.error == pytest.approx(by_hand, abs=1e-12)


def _written_out(
    case: PaperCase, *, epsilon: float | None, steady: bool, never_against: float | None = None
) -> float:
    """The program row by row, without any of blindcal's: the least error, or inf."""
    belief, tuples = case.belief, case.tuples
    n, k, m = len(tuples), len(case.scores), len(case.candidates)
    low, high = np.zeros(n), belief.weight.copy()
    if never_against is not None:
        low = np.where(belief.favor >= never_against, belief.weight, low)
        high = np.where(1 - belief.favor >= never_against, 0.0, high)
    rows, limits = [], []
    weight = belief.weight
    for slot in range(k):
        masses = np.array([weight[tuples[:, slot] == y].sum() for y in range(m)])
        top = int(masses.argmax())
        for y in range(m):
            who, best = (tuples[:, slot] == y) * 1.0, (tuples[:, slot] == top) * 1.0
            row = np.append(who, [0, 0, -masses[top]]) if steady else np.append(who - best, [0, 0, 0])
            rows += [row, -row]
            limits += [0.0, masses[top] - masses[y]]
    if epsilon is not None:
        for i in range(n):
            unit = np.zeros(n)
            unit[i] = 1.0
            rows += [np.append(unit, [0, -weight[i], 0]), np.append(-unit, [weight[i], 0, 0])]
            limits += [0.0, 0.0]
        rows += [np.append(np.zeros(n), [-exp(epsilon), 1, 0]), np.append(np.zeros(n), [-1, exp(epsilon), 0])]
        limits += [0.0, exp(epsilon) - 1.0]
    found = linprog(
        np.append(1 - 2 * belief.favor, [0, 0, 0]),
        A_ub=sparse.csr_array(np.array(rows)),
        b_ub=limits,
        A_eq=np.append(np.ones(n), [0, 0, -1])[None],
        b_eq=[0.0],
        bounds=[*zip(low, high, strict=True), (0, 1), (0, 1), (0, 1)],
        # Presolve calls a program infeasible that a rounding makes so.
        options={
            "presolve": False,
            "primal_feasibility_tolerance": 1e-10,
            "dual_feasibility_tolerance": 1e-10,
        },
    )
    return inf if found.status == 2 else float(found.fun + weight @ belief.favor)


def test_tables_are_optimal_against_a_program_written_out_here():
    for index, case in enumerate(random_cases(9, count(30, 200), 120)):
        steady, epsilon = index % 2 == 0, [None, 0.7, 2.0][index % 3]
        if epsilon is not None and case.belief.weight.min() < 1e-8:
            continue  # the program written out cannot hold such coefficients
        guarantee = Guarantee("steady" if steady else "average", epsilon=epsilon)
        wanted = _written_out(case, epsilon=epsilon, steady=steady)
        assert solve_case(case, guarantee).error == pytest.approx(wanted, abs=1e-7)


def test_never_against_decides_by_strong_evidence_or_says_that_it_cannot():
    seen = {"kept": 0, "refused": 0}
    for index, case in enumerate(random_cases(10, count(40, 200), 120)):
        steady, p = index % 2 == 0, [0.55, 0.7, 0.99][index % 3]
        guarantee = Guarantee("steady" if steady else "average", epsilon=None, never_against=p)
        wanted = _written_out(case, epsilon=None, steady=steady, never_against=p)
        if wanted == inf:
            seen["refused"] += 1
            with pytest.raises(CertificateError):
                solve_case(case, guarantee)
            continue
        seen["kept"] += 1
        solved = solve_case(case, guarantee)
        favor = case.belief.favor
        assert (solved.accept[favor >= p] == 1.0).all()
        assert (solved.accept[1 - favor >= p] == 0.0).all()
        assert solved.error == pytest.approx(wanted, abs=1e-7)
    assert min(seen.values()) > 0


def test_one_review_has_the_closed_form():
    for case in random_cases(12, count(60, 400), 12):
        if len(case.scores) == 1:
            closed = frontier(case.belief).conference_error[-1]
            assert solve_case(case, Guarantee("average", epsilon=None)).error == pytest.approx(
                closed, abs=1e-9
            )


def test_limits_of_epsilon_are_the_public_and_the_unlimited_decision():
    for case in random_cases(13, 20, 210):
        public = solve_case(case, Guarantee("public")).error
        assert solve_case(case, Guarantee("steady", epsilon=0.0)).error == pytest.approx(public, abs=1e-9)
        free = solve_case(case, Guarantee("steady", epsilon=None)).error
        assert solve_case(case, Guarantee("steady", epsilon=40.0)).error == pytest.approx(free, abs=1e-8)


def test_the_menu_is_ordered():
    """Weaker promises never cost more."""
    order = [
        Guarantee("public"),
        Guarantee("steady", epsilon=1.0),
        Guarantee(),
        Guarantee("steady", epsilon=None),
        Guarantee("average", epsilon=None),
        Guarantee("none", epsilon=None),
    ]
    for case in random_cases(14, 25, 504):
        errors = [solve_case(case, guarantee).error for guarantee in order]
        assert (np.diff(errors) <= 1e-9).all()


@pytest.mark.parametrize(
    ("epsilon", "multiplier"), [(None, None), (2.0, None), (0.0, None), (1.0, 1.2), (None, 1.5)]
)
def test_corners_of_the_range_keep_the_limits_and_reach_them(epsilon: float | None, multiplier: float | None):
    corners = range_corners(epsilon, multiplier)
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
    for guarantee in (Guarantee(), Guarantee("average", epsilon=None)):
        base = random_case(rng, 5, 3)
        parameters = (row, row, *base.parameters[2:])
        scores = (base.scores[0], base.scores[1], base.scores[1])
        case = PaperCase("p", scores, base.candidates, (0.6,) * 5, parameters, 0.2)
        accept = dict(zip(map(tuple, case.tuples.tolist()), solve_case(case, guarantee).accept, strict=True))
        swap = {0: 1, 1: 0}
        for who, chance in accept.items():
            assert accept[who[0], who[2], who[1]] == chance
            assert accept[tuple(swap.get(j, j) for j in who)] == chance


def test_tables_are_byte_identical_for_every_true_assignment():
    parameters = {
        name: (1 + 0.2 * i, 0.3 * i - 0.4, 0.5, 0.0, 0.0, 0.0, 0.0) for i, name in enumerate("abcd")
    }
    pools = {"p": {"a": 0.9, "b": 0.5, "c": 0.6, "d": 0.4}, "q": {"b": 1.0, "c": 1.0, "d": 1.0}}
    for guarantee in (Guarantee(), Guarantee("average", added_success=0.01, epsilon=None)):
        seen = set()
        for first, second in product(permutations("abcd", 2), permutations("bcd", 2)):
            rows = [("p", first[0], 0.5), ("p", first[1], 1.2), ("q", second[0], 0.4), ("q", second[1], 0.4)]
            paper, reviewer, score = zip(*rows, strict=True)
            reviews = Reviews.from_table({"paper": paper, "reviewer": reviewer, "score": score})
            solved = tables(prepare(reviews, parameters, pools, accept_rate=0.5), guarantee)
            seen.add((b"".join(table.tobytes() for table in solved.accept), solved.price))
        assert len(seen) == 1


def _conference(cases: list[PaperCase]) -> Conference:
    return Conference(tuple(cases), 0.6, None, (False,) * len(cases))


def test_every_explored_point_is_on_the_frontier_and_success_falls_with_its_price():
    prices = (0.0, 0.05, 0.2, 0.7, inf)
    for case in random_cases(16, count(12, 60), 210):
        points = explore((case, prices), Guarantee("average", added_success=0.01, epsilon=None))
        error, success = (np.array(part) for part in zip(*[point[1:] for point in points], strict=True))
        assert (np.diff(error) >= -1e-9).all()
        assert (np.diff(success) <= 1e-9).all()
        belief = case.belief
        loss = np.stack([1 - belief.favor, belief.favor], axis=-1)
        for e, v in zip(error, success, strict=True):
            plain = solve(belief.weight, loss, belief.labels, success=min(1.0, v + 1e-12))
            assert e == pytest.approx(plain.value, abs=1e-7)


@pytest.mark.parametrize("epsilon", [None, 2.0])
def test_a_budget_over_papers_is_spent_as_one_joint_program_would(epsilon: float | None):
    """All papers in one program with one row for the budget: the same total of wrong decisions."""
    cases = [case for case in random_cases(17, 14, 60) if len(case.scores) > 1][:6]
    guarantee = Guarantee("average", added_success=0.01, epsilon=epsilon)
    solved = tables(_conference(cases), guarantee)
    reviews = sum(len(case.scores) for case in cases)
    spent = wrong = 0.0
    for case, accept in zip(cases, solved.accept, strict=True):
        adversary, belief = Enumerator(case, accept), case.belief
        spent += (adversary.success() - adversary.scores_only()) * len(case.scores) / reviews
        wrong += float(belief.weight @ (accept * (1 - belief.favor) + (1 - accept) * belief.favor))
        if epsilon is not None:
            assert adversary.epsilon() <= epsilon + ROUNDING
    assert spent == pytest.approx(0.01, abs=1e-8)
    assert wrong == pytest.approx(_joint(cases, 0.01, epsilon), abs=1e-6)


def _joint(cases: list[PaperCase], added: float, epsilon: float | None) -> float:
    blocks, limits, cost, bounds, constant, budget, allowed = [], [], [], [], 0.0, [], added
    reviews = sum(len(case.scores) for case in cases)
    for case in cases:
        belief, n, k, m = case.belief, len(case.tuples), len(case.scores), len(case.candidates)
        rows, weight = [], belief.weight
        for slot, y in product(range(k), range(m)):
            who = (case.tuples[:, slot] == y) * 1.0
            for sign, column, limit in ((1.0, slot, 0.0), (-1.0, k + slot, -weight @ who)):
                tops = np.zeros(2 * k)
                tops[column] = -1.0
                rows.append(np.concatenate([sign * who, tops, [0, 0]]))
                limits.append(limit)
        if epsilon is not None:
            eye, none = np.eye(n), np.zeros((n, 2 * k))
            rows += list(np.hstack([eye, none, np.zeros((n, 1)), -weight[:, None]]))
            rows += list(np.hstack([-eye, none, weight[:, None], np.zeros((n, 1))]))
            rows += [np.append(np.zeros(n + 2 * k), [-exp(epsilon), 1])]
            rows += [np.append(np.zeros(n + 2 * k), [-1, exp(epsilon)])]
            limits += [0.0] * (2 * n + 1) + [exp(epsilon) - 1]
        blocks.append(np.array(rows))
        cost += [*(1 - 2 * belief.favor), *np.zeros(2 * k + 2)]
        bounds += [*((0, w) for w in weight), *[(0, 1)] * (2 * k + 2)]
        budget += [*np.zeros(n), *np.full(2 * k, 1 / reviews), 0.0, 0.0]
        constant += float(weight @ belief.favor)
        allowed += sum(np.bincount(case.tuples[:, slot], weight).max() for slot in range(k)) / reviews
    matrix = sparse.vstack([sparse.block_diag(blocks), sparse.csr_array(np.array(budget)[None])])
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(cost, A_ub=matrix.tocsr(), b_ub=[*limits, allowed], bounds=bounds, options=options)
    return float(found.fun + constant)


def test_the_same_budget_is_spent_the_same_way_again():
    cases = [case for case in random_cases(18, 12, 120) if len(case.scores) > 1]
    guarantee = Guarantee("average", added_success=0.02, epsilon=None)
    first = tables(_conference(cases), guarantee)
    again = tables(_conference(cases), guarantee)
    assert again.price == first.price
    for one, other in zip(first.accept, again.accept, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("added", [0.005, 0.02, 0.05])
def test_a_frozen_price_buys_each_paper_what_it_bought_before(added: float):
    """All but the paper on which the budget ran out, whatever their numbers of reviews."""
    cases = random_cases(18, 24, 120)
    assert len({len(case.scores) for case in cases}) > 2
    guarantee = Guarantee("average", added_success=added, epsilon=None)
    first = tables(_conference(cases), guarantee)
    again = tables(_conference(cases), guarantee, price=first.price)
    differ = [
        not np.allclose(one, other, atol=1e-7) for one, other in zip(first.accept, again.accept, strict=True)
    ]
    assert again.price == first.price
    assert sum(differ) <= 1


def test_a_cap_that_binds_is_kept_by_the_best_table():
    """The cap is just above what the scores alone allow: an oracle's optimum, and no posterior beyond it."""
    for case in random_cases(22, count(12, 60), 120):
        top = max(
            float(np.bincount(case.tuples[:, s], case.belief.weight).max()) for s in range(len(case.scores))
        )
        for name in ("none", "average"):
            guarantee = Guarantee(name, epsilon=None, posterior_cap=min(1.0, top + 0.01))
            solved = solve_case(case, guarantee)
            assert solved.error == pytest.approx(_plain_optimum(case, guarantee), abs=1e-7)
            kept = _promises(Enumerator(case, solved.accept), guarantee)
            assert all(kept.values()), (guarantee, kept)


def test_tuples_that_look_alike_must_weigh_alike():
    """A belief that tells apart whom public data cannot is refused, by however little."""
    case = random_case(np.random.default_rng(23), 5, 2, ties=True)
    belief = case.belief
    twins = [index for index, who in enumerate(case.tuples.tolist()) if 0 in who and 1 not in who]
    moved = belief.weight.copy()
    moved[twins[0]] *= 1.0 + 1e-3
    assert orbits(case, belief).weight.sum() == pytest.approx(1.0)
    with pytest.raises(CertificateError, match="look alike"):
        orbits(case, Belief(moved / moved.sum(), belief.favor, belief.labels))


def test_several_workers_give_the_same_bytes():
    cases = random_cases(19, 50, 60)
    one, two = (tables(_conference(cases), Guarantee(), workers=workers) for workers in (1, 2))
    assert [table.tobytes() for table in one.accept] == [table.tobytes() for table in two.accept]


def test_a_warm_program_answers_like_a_fresh_one():
    guarantee = Guarantee("average", added_success=0.01, epsilon=None)
    for case in random_cases(20, 10, 210):
        warm = program(case, guarantee)
        for price in (3.0, 0.2, 1.0):
            fresh = program(case, guarantee).solve(price=price)
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
    run_solver(solver)
    assert [asked["presolve"] for asked in solver.asked] == ["off", "off", "on"]
    assert solver.cleared == 2
    assert solver.options["presolve"] == "off"
    last = StubbornSolver(["kUnknown"] * 3 + ["kOptimal"])
    run_solver(last)
    assert last.asked[-1]["solver"] == "ipm"
    assert last.options["solver"] == "choose"
    with pytest.raises(CertificateError, match=r"could not be solved \(Unknown\)"):
        run_solver(StubbornSolver(["kUnknown"] * 4))
    impossible = StubbornSolver(["kInfeasible"])
    with pytest.raises(CertificateError, match="no table keeps the requested limits"):
        run_solver(impossible)
