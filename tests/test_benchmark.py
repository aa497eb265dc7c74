"""What the benchmark measures, each number by another way."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from blindcal import Affine, Belief, InputError, Policy, audit, private_policy
from blindcal.adversaries.single_paper import case_view
from blindcal.benchmark import (
    INSTANCES,
    MECHANISMS,
    SEQUENCES,
    Instance,
    SequentialMechanism,
    all_decisions,
    best_guesses,
    instance,
    measure,
    nothing_added,
    run,
    shared_reviewers,
)
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.policy import public_policy
from blindcal.posterior.paper import PaperCase
from general_program import least_loss
from loaded_conferences import Assigned
from sizes import count

# Papers, secrets of all papers together, and assignments.
PUBLISHED = {
    "pair with noise": (1, 2, None),
    "papers, pools of 4": (12, 144, None),
    "papers, pools of 8": (8, 448, None),
    "papers, pools of 40": (4, 6240, None),
    "the paper's two reviewers": (2, 4, 2),
    "matching of 2": (2, 4, 2),
    "matching of 3": (3, 9, 6),
    "matching of 4": (4, 16, 24),
    "two reviews each, 3 papers": (3, 18, 48),
    "two reviews each, 4 papers": (4, 48, 1440),
    "conference": (30, 1800, None),
}


@pytest.mark.parametrize("name", INSTANCES)
def test_an_instance_is_what_was_published(name: str) -> None:
    found = instance(name)
    papers, secrets, assignments = PUBLISHED[name]
    assert (len(found.beliefs), sum(one.weight.size for one in found.beliefs)) == (papers, secrets)
    for belief in found.beliefs:
        assert belief.weight.sum() == pytest.approx(1.0)
    if assignments is None:
        assert found.assignments is found.chance is None
        return
    assert found.assignments is not None
    assert found.chance is not None
    assert len(np.unique(found.assignments, axis=0)) == len(found.assignments) == assignments
    assert found.chance.sum() == pytest.approx(1.0)


# --- Three papers with two reviews each by three people, everyone with two: all of it by enumeration.


def listed(rng: np.random.Generator) -> tuple[Instance, list[PaperCase], Assigned]:
    """An instance, its papers, and the list of everything that can have been."""
    people = Affine(np.exp(rng.normal(0.0, 0.5, 3)), rng.normal(0.0, 0.7, 3), rng.uniform(0.3, 0.8, 3))
    score, names = rng.normal(0.0, 1.2, (3, 2)), ("r0", "r1", "r2")
    known = zip(people.slope.tolist(), people.offset.tolist(), people.noise.tolist(), strict=True)
    rows = tuple((*row, 0.0, 0.0, 0.0, 0.0) for row in known)
    cases = [
        PaperCase(f"p{number}", tuple(sorted(own)), names, (2 / 3,) * 3, rows, 0.0)
        for number, own in enumerate(score.tolist())
    ]
    views = [case_view(case, public_policy(case.belief), 1.0) for case in cases]
    return shared_reviewers("x", score, people, 2), cases, Assigned(views, dict.fromkeys(names, 2))


def named(known: Instance, lister: Assigned, step: SequentialMechanism) -> float:
    """The chance of naming a reviewer, mean over all reviews, over every way in which papers are decided."""
    weights = [view.weight for view in lister.views]
    right = 0.0
    for outcome in product((True, False), repeat=len(weights)):
        masses, decided = list(weights), dict[int, bool]()
        while len(decided) < len(weights) and lister.total(masses) > 0.0:
            paper, policy = step(known, decided)
            decided[paper] = outcome[paper]
            masses[paper] = weights[paper] * (policy.accept if outcome[paper] else 1.0 - policy.accept)
        if (total := lister.total(masses)) > 0.0:
            right += total * np.mean([own.max(axis=1) for own in lister.authors(masses)])
    return right / lister.total(weights)


def test_several_reviews_a_paper_against_enumeration() -> None:
    """Twenty-five instances: baseline, what all decisions add, and errors; a sequence that adds nothing."""
    rng = np.random.default_rng(46)
    largest = 0.0
    for _ in range(count(25, 100)):
        known, cases, lister = listed(rng)
        weights = [view.weight for view in lister.views]
        baseline = np.mean([own.max(axis=1) for own in lister.authors(weights)])
        every = np.array([row for row, _ in lister.weighed(weights)])
        chance = np.array([weight for _, weight in lister.weighed(weights)]) / lister.total(weights)
        for name in ("full calibration", "crowd of 10, epsilon 3", "average"):
            policies = [MECHANISMS[name](belief) for belief in known.beliefs]
            found = measure(MECHANISMS[name], name, known)
            separate = named(known, lister, lambda _, decided, p=policies: (len(decided), p[len(decided)]))
            assert found.baseline == pytest.approx(baseline, abs=1e-9)
            assert found.coupled == pytest.approx(separate - baseline, abs=1e-9)
            wrong = [
                chance @ (accept * (1.0 - favor) + (1.0 - accept) * favor)
                for accept, favor in (
                    (policy.accept[rows], case.belief.favor[rows])
                    for policy, case, rows in zip(policies, cases, every.T, strict=True)
                )
            ]
            assert found.error == pytest.approx(np.mean(wrong), abs=1e-9)
            largest = max(largest, found.coupled)
        sequence = measure(nothing_added, "nothing added", known)
        together = named(known, lister, nothing_added)
        assert sequence.coupled == pytest.approx(together - baseline, abs=1e-9)
        assert sequence.coupled < 1e-7
    assert largest > 0.05, "guarantees for each paper can add much"


@pytest.mark.parametrize("name", ["pair with noise", "matching of 3", "papers, pools of 4"])
def test_no_mechanism_lies_beyond_the_frontier(name: str) -> None:
    for found in run(MECHANISMS, [name]):
        assert found.wasted >= -1e-9, found.mechanism
        assert found.added >= -1e-9
        assert found.coupled >= -1e-9
        if found.mechanism in ("full calibration", "average"):
            assert found.wasted == pytest.approx(0.0, abs=1e-7)
        if found.mechanism.startswith(("public", "steady", "average", "crowd")):
            assert found.added == pytest.approx(0.0, abs=1e-8), "no pool here has a crowd of ten"
        if instance(name).assignments is None:
            assert found.coupled == pytest.approx(found.added, abs=1e-12)


def test_average_can_add_far_more_than_full_calibration_where_papers_share_reviewers() -> None:
    """By all decisions of `matching of 3`: 24.67 points against 1.36 (docs/explanation/limitations.md)."""
    found = {score.mechanism: score for score in run(MECHANISMS, ["matching of 3"])}
    assert round(100 * found["average"].coupled, 2) == 24.67
    assert round(100 * found["full calibration"].coupled, 2) == 1.36
    assert found["average"].added == pytest.approx(0.0, abs=1e-9)


def test_the_default_guarantee_is_among_the_mechanisms() -> None:
    rises = 0
    for belief in instance("papers, pools of 40").beliefs:
        default = private_policy(belief, Guarantee()).accept
        assert np.array_equal(MECHANISMS["crowd of 10, epsilon 3"](belief).accept, default)
        rises += not np.array_equal(MECHANISMS["steady, epsilon 3"](belief).accept, default)
    assert rises > 0, "a crowd of ten lets people rise where pools are larger"


def test_the_least_error_is_that_of_a_program() -> None:
    belief = instance("matching of 3").beliefs[0]
    policy = MECHANISMS["three in four"](belief)
    success = 1.0 - float(policy.adversary_error(belief))
    program = least_loss(belief.weight, np.stack([1 - belief.favor, belief.favor], axis=-1), success=success)
    found = measure(MECHANISMS["three in four"], "x", Instance("one", (belief,)))
    assert found.error - found.wasted == pytest.approx(program.loss, abs=1e-9)


def test_numbers_of_one_paper_are_those_of_its_audit() -> None:
    belief = Belief([0.5, 0.3, 0.2], [0.9, 0.2, 0.6])
    policy = Policy([0.9, 0.3, 0.4])
    found, claim = measure(lambda _: policy, "x", Instance("one", (belief,))), audit(belief, policy)
    assert found.baseline == pytest.approx(float(claim.success_scores_only))
    assert found.coupled == pytest.approx(float(claim.added))
    assert found.added == pytest.approx(float(claim.added))
    assert found.epsilon == pytest.approx(float(claim.epsilon))
    assert found.rise == pytest.approx(float(claim.largest_rise))
    assert found.error == pytest.approx(float(policy.conference_error(belief)))


def test_an_adversary_of_ones_own_takes_the_place_of_the_best() -> None:
    known = instance("matching of 3")

    def first_reviewer(part: Instance, outcomes: np.ndarray) -> float:
        """Always names person 0 for the first paper: right as often as before, whatever is decided."""
        assignments, chance = part.joint
        return float((outcomes * chance)[:, assignments[:, 0] == 0].sum())

    found = measure(MECHANISMS["full calibration"], "x", known, first_reviewer)
    assignments, chance = known.joint
    assert found.baseline == pytest.approx(chance[assignments[:, 0] == 0].sum())
    assert found.coupled == pytest.approx(0.0, abs=1e-12)


def test_every_assignment_has_its_outcomes() -> None:
    known = instance("two reviews each, 4 papers")
    outcomes, wrong, tables = all_decisions(lambda belief: Policy(0.2 + 0.6 * belief.favor), known)
    assert outcomes.sum(axis=0) == pytest.approx(np.ones(1440))
    assert wrong.shape == (1440,)
    # Each paper's table is used once for each way in which the papers before it were decided.
    assert len(tables) == 1 + 2 + 4 + 8
    nothing = np.ones((1, 1440))
    assert best_guesses(known, outcomes) >= best_guesses(known, nothing) - 1e-12


NO_POLICY = "must return a Policy with one accept probability for each of 2"
REFUSED: list[tuple[str, Callable[[], object]]] = [
    (NO_POLICY, lambda: measure(lambda belief: belief.favor, "x", instance("pair with noise"))),
    (NO_POLICY, lambda: measure(lambda _: Policy([0.5]), "x", instance("pair with noise"))),
    (r"must be one of pair with noise; .*, found 'pairs'", lambda: instance("pairs")),
    ("whose papers share reviewers, not 'conference'", lambda: instance("conference").joint),
    (
        "no assignment of 3 papers has these loads",
        lambda: shared_reviewers("x", [[0.1, 0.2]] * 3, Affine([1.0] * 3, [0.0] * 3, [0.5] * 3), 1),
    ),
]


@pytest.mark.parametrize(("message", "call"), REFUSED)
def test_what_is_refused_is_named(message: str, call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_results_are_a_frame() -> None:
    pandas = pytest.importorskip("pandas")
    from blindcal.benchmark import results_frame

    found = results_frame(run({"public": MECHANISMS["public"], **SEQUENCES}, ["matching of 2", INSTANCES[0]]))
    assert isinstance(found, pandas.DataFrame)
    assert found.columns.tolist()[:4] == ["mechanism", "instance", "baseline", "coupled"]
    assert found.mechanism.tolist() == ["public", *SEQUENCES, "public"]
