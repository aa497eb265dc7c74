"""The studies of docs/evidence/this_year.md, against plain loops."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import permutations, product

import numpy as np
import pytest
from scipy.special import ndtri
from studies.this_year import (
    GUARANTEES,
    MODERATE,
    RATE,
    World,
    cases_of,
    compute,
    levels_of,
    moved,
    simulated,
    strategic,
    wrong_decisions,
    wrong_on_lists,
)
from studies.this_year_observers import (
    HISTORY,
    HistoryWalks,
    Job,
    against_evidence,
    history_tables,
    listed_history,
)
from studies.this_year_observers import compute as observed
from studies.this_year_raters import JURIES, Ratings, ratings, relative, strictness_share
from studies.this_year_raters import compute as rated

from blindcal.adversaries.single_paper import AUTHOR
from blindcal.adversaries.this_year_exact import Observed, all_assignments, likelihoods, observe
from blindcal.adversaries.this_year_mcmc import walked
from blindcal.checks import Array
from blindcal.planning.ranking_and_wait_list import cuts, list_decision, rank
from blindcal.policy.solver import private_policy
from blindcal.posterior.this_year_evidence import level_cases
from blindcal.simulation.metrics import chance_in_best
from sizes import count

pytestmark = pytest.mark.edge
SMALL = replace(MODERATE, papers=12, people=9, reviews=(2, 3))


@pytest.mark.parametrize(
    "world",
    [SMALL, replace(SMALL, panels=True, reviews=(3,)), replace(SMALL, areas=2, people=8, elsewhere=0.5)],
)
def test_nobody_reviews_a_paper_twice_and_loads_are_even(world: World) -> None:
    for seed in range(count(20, 200)):
        made = simulated(world, np.random.default_rng(seed)).reviews
        pairs = list(zip(made.paper.tolist(), made.reviewer.tolist(), strict=True))
        assert len(set(pairs)) == len(pairs) == sum(np.resize(world.reviews, world.papers))
        loads = np.bincount(made.reviewer)
        assert np.ptp(loads) <= (3 if world.panels else world.areas)
        assert set(made.score.tolist()) <= set(range(1, 11))


def test_errors_are_expectations_over_all_draws() -> None:
    rng = np.random.default_rng(5)
    made = simulated(replace(SMALL, papers=6), rng)
    singly = cases_of(made)
    right = (made.quality > ndtri(1 - RATE)).astype(float)
    level = levels_of(made, singly)
    for name, errors in wrong_decisions(made, singly, right).items():
        for number, case in enumerate(singly):
            accept = private_policy(case.belief, GUARANTEES[name]).accept[level[number]]
            assert errors[number] == pytest.approx(1 - accept if right[number] else accept)
    exact = cases_of(made, number=2)
    level, draws, right = levels_of(made, exact), 4000, chance_in_best(made.quality, 2)
    tables = [private_policy(case.belief, GUARANTEES["2"]).accept for case in exact]
    expected = np.zeros(6)
    for outcome in product([0, 1], repeat=6):
        chance = np.prod(
            [t[v] if yes else 1 - t[v] for t, v, yes in zip(tables, level, outcome, strict=True)]
        )
        ranks = []
        for case, table, yes in zip(exact, tables, outcome, strict=True):
            belief = case.belief
            mass = belief.weight * (table if yes else 1 - table)
            favor = (mass * belief.favor).sum() / mass.sum() if mass.sum() > 0 else case.favor
            ranks.append(rank(case.paper, case.scores, float(favor)))
        cut = cuts(ranks, 2, 0)
        accepted = np.array([list_decision(one, cut) == "accept" for one in ranks])
        expected += chance * (accepted != right)
    found = sum(wrong_on_lists(made, exact, right, 2, rng)["2"] for _ in range(draws // 20)) / (draws // 20)
    assert found == pytest.approx(expected, abs=6 * 0.5 / np.sqrt(draws))


def test_full_calibration_is_best_where_strictness_is_all_there_is() -> None:
    world = replace(SMALL, slope=0.0, offset=2.0, noise=0.1, share=0.5, papers=30, people=12)
    gains = np.array([compute((world, seed)) for seed in range(count(10, 60))]).mean(axis=0)
    assert gains[4] > gains[3] > gains[1] > gains[0] - 0.2
    assert gains[4] > 1.5


def test_a_move_changes_only_the_mover_s_scores() -> None:
    made = simulated(SMALL, np.random.default_rng(8))
    person, paper = int(made.reviews.reviewer[0]), int(made.reviews.paper[0])
    mine = made.reviews.reviewer == person
    for move, (others, own) in (
        ("two points less for all others", (-2, 0)),
        ("one point more for the paper", (0, 1)),
        ("both", (-2, 1)),
    ):
        after = moved(made, person, paper, move, 10)
        expected = made.reviews.score + mine * np.where(made.reviews.paper == paper, own, others)
        assert after.score.tolist() == np.clip(expected, 1, 10).tolist()
    one = moved(made, person, paper, "two points less for one other", 10).score != made.reviews.score
    assert one.sum() == 1
    assert mine[one].all()
    assert strategic((SMALL, 3)).shape == (4, 4)


# --- Real raters; their data are no part of the package.


def rows(scores: dict[tuple[str, str], float]) -> list[dict[str, str]]:
    return [{"item_id": item, "rater_id": who, "score": str(s)} for (item, who), s in scores.items()]


def test_ratings_and_effects_of_raters() -> None:
    table = {(f"i{i}", f"j{j}"): 3.0 * i + 2.0 * j for i in range(4) for j in range(3)}
    del table["i3", "j1"], table["i3", "j2"]
    made = ratings(rows(table), lambda r: r["item_id"], lambda r: float(r["score"]), 2)
    assert made.score.size == 9  # an item with no rating to hold out is left out
    assert relative(made) == pytest.approx(3.0 * made.item + 2.0, abs=1e-9)
    assert strictness_share([made]) == pytest.approx(1.0)
    experts = [{"item_id": "i0", "rater_id": "t", "score": "7", "rater_kind": "tutor"}]
    peers = [{**row, "rater_kind": "peer"} for row in rows({("i0", "a"): 1.0, ("i0", "b"): 2.0})]
    graded = ratings(
        [*experts, *peers],
        lambda r: r["item_id"],
        lambda r: float(r["score"]) if r["rater_kind"] == "peer" else None,
        2,
    )
    assert (graded.truth.tolist(), graded.score.tolist()) == ([7.0], [1.0, 2.0])


def test_raters_who_differ_by_strictness_alone_are_corrected() -> None:
    rng = np.random.default_rng(9)
    quality, strict = rng.normal(size=40), 3.0 * rng.normal(size=8)
    item, rater = (part.ravel() for part in np.indices((40, 8)))
    score = np.round(10 * (quality[item] + strict[rater])) / 10
    made = Ratings(item, rater, score, np.zeros(0))
    gains = rated(made, JURIES["skating, components"], 3, 0).sum(axis=1)
    assert gains[2] > 1.0  # full, exact number
    assert gains[3] >= gains[2]  # effects known
    assert gains[1] > gains[0] - 1e-9


# --- Observers.


def test_listed_conferences_take_every_paper_as_a_lot() -> None:
    """A conference of four papers, before the draw: nobody is named, and links follow the evidence."""
    world = replace(MODERATE, papers=4, people=4, reviews=(2,))
    found = {name: observed(Job(world, name, True, 3)) for name in ("1", "full")}
    assert [figures[0, 1] for figures in found.values()] == pytest.approx([0.0] * 2, abs=1e-12)
    assert (found["full"][:, 1] >= found["1"][:, 1] - 1e-12).all()
    assert found["1"][1, 1] > 0.0
    assert found["full"][0, 0] == pytest.approx(0.25, abs=1e-12)


def small_history() -> tuple[Observed, Array]:
    """Four papers, as the study has them, and everybody's strictness."""
    made = simulated(replace(MODERATE, papers=4, people=4, reviews=(2,)), np.random.default_rng(8))
    cases = level_cases(made.reviews, made.model, dict.fromkeys(made.areas, ""), made.areas)
    decided = dict(zip(made.reviews.papers, (True, False, False, True), strict=True))
    seen = observe(made.reviews, cases, dict.fromkeys(decided, (0.0, 1.0)), decided)
    assert made.offset is not None
    names = [int(name[1:]) for name in seen.people]
    return seen, made.offset[names] / made.model.moments.spread


def test_tables_by_history_follow_the_posterior_mean_within_their_limit() -> None:
    seen, offset = small_history()
    low = against_evidence(HISTORY["history, odds 2"])
    table = history_tables(seen, offset, HISTORY["history, odds 2"])
    for paper in range(4):
        own = seen.score[seen.paper == paper]
        for pair in permutations(range(4), 2):
            mean = (own - offset[list(pair)]).sum() / (2 + seen.noise)
            chance = table[(paper, *pair)]
            # Public information may decide a paper; else it follows its reviewers' evidence.
            lot = np.ptp(table[paper][~np.eye(4, dtype=bool)]) > 0
            assert not lot or chance == pytest.approx(1 - low if mean > seen.bar[paper] else low)
    assert table.max() <= 1.0


def test_walks_by_history_find_what_a_list_finds() -> None:
    """Decisions that were made: all assignments, weighed by scores and by each paper's own table."""
    seen, offset = small_history()
    accept = np.random.default_rng(5).random((4, 4, 4))
    every = all_assignments(seen)
    assert every is not None
    before = likelihoods(seen, every, offset)
    pairs = every.reshape(-1, 4, 2)
    chance = accept[np.arange(4), pairs[:, :, 0], pairs[:, :, 1]]
    assert seen.decided is not None
    after = before * np.where(seen.decided, chance, 1.0 - chance).prod(axis=1)
    found = walked(seen, offset, target=0.0, most=30, make=partial(HistoryWalks, accept=accept))[AUTHOR]
    for weight, told in ((before, found.before), (after, found.after)):
        listed = [np.bincount(column, weight / weight.sum()).max() for column in every.T]
        # 64 walks of 300 sweeps: a share has a standard error of about .005.
        assert told == pytest.approx(listed, abs=0.03)


def test_listed_history_is_before_the_draw_what_outcomes_add_up_to() -> None:
    seen, offset = small_history()
    for low in (0.5, 0.0):
        names, links = listed_history(seen, offset, low).values()
        assert names.success >= names.baseline - 1e-12
        if low == 0.5:
            assert (links.success, links.largest_rise) == pytest.approx((links.baseline, 0.0), abs=1e-12)
    assert names.largest_rise > 0.0
