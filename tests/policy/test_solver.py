"""Policies under any limits against the general program, closed forms, and one by one."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blindcal as bc
from blindcal import Belief, Policy, audit, private_policy
from blindcal.adversaries.single_paper import View, bits_about_reviewer
from blindcal.checks import Array
from blindcal.policy import solve, solver
from blindcal.policy.guarantee import UNLIMITED, Guarantee
from blindcal.policy.solver import pair_policy
from general_program import least_loss
from sizes import count
from strategies import limits, random_beliefs


def random_limits(rng, tops):
    """Any combination of limits that can be kept: `tops` is what the scores alone give."""
    chosen = {}
    if rng.random() < 0.5:
        chosen["success"] = float(tops + (1 - tops) * rng.random() ** 2)
    if rng.random() < 0.3:
        chosen["steady"] = True
    if rng.random() < 0.5:
        chosen["epsilon"] = float(rng.exponential(1.5))
    if rng.random() < 0.4:
        chosen["multiplier"] = float(1 + rng.random())
    if rng.random() < 0.3:
        chosen["posterior_cap"] = float(tops + (1 - tops) * rng.random())
    return chosen


def excess(belief, policy, chosen):
    """By how much a policy breaks its limits; 0 where it keeps them."""
    broken = [0.0]
    if "success" in chosen:
        broken.append(float(1 - policy.adversary_error(belief)) - chosen["success"])
    if "epsilon" in chosen:
        broken.append(float(policy.epsilon) - chosen["epsilon"])
    if "multiplier" in chosen:
        broken.append(float(policy.multiplier) - chosen["multiplier"])
    caps = [chosen["posterior_cap"]] if "posterior_cap" in chosen else []
    caps += [float(belief.weight.max())] if "steady" in chosen else []
    if caps:
        broken.append(float(policy.largest_posterior(belief)) - min(caps))
    return max(broken)


@pytest.mark.parametrize("secrets", [2, 3, 6])
def test_no_policy_of_the_general_program_is_better(secrets):
    rng = np.random.default_rng(40 + secrets)
    size = count(120, 700)
    beliefs = random_beliefs(rng, size, secrets)
    for weight, favor in zip(beliefs.weight, beliefs.favor, strict=True):
        belief, chosen = bc.Belief(weight, favor), random_limits(rng, float(weight.max()))
        policy = bc.private_policy(belief, **limits(**chosen))
        assert excess(belief, policy, chosen) < 1e-8, chosen
        best = least_loss(weight, np.stack([1 - favor, favor], -1), **limits(**chosen))
        # An outcome rarer than 1e-8 is dropped where the solver could not keep its posterior.
        assert float(policy.conference_error(belief)) <= best.loss + (1e-9 if secrets == 2 else 1.1e-8), (
            chosen
        )
        assert float(policy.conference_error(belief)) >= best.loss - 1e-8, chosen


@pytest.mark.parametrize("name", ["none", "odds", "average", "steady"])
def test_any_loss_of_two_decisions_is_a_favor(name: str) -> None:
    """As docs/research/extending.md says of a loss of one's own, against the program that takes losses."""
    rng = np.random.default_rng(44)
    for _ in range(count(40, 400)):
        weight, loss = rng.dirichlet(np.ones(4)), rng.normal(size=(4, 2)) * 3.0
        gain = loss[:, 1] - loss[:, 0]
        scale = np.abs(gain).max() * rng.uniform(1.0, 2.0)
        guarantee = Guarantee(name, epsilon=float(rng.uniform(0.1, 3.0)))
        chance = private_policy(Belief(weight, 0.5 + gain / (2.0 * scale)), guarantee).accept
        found = weight @ (chance * loss[:, 0] + (1.0 - chance) * loss[:, 1])
        assert found == pytest.approx(least_loss(weight, loss, None, guarantee).loss, abs=1e-7)


def test_a_batch_is_its_instances():
    rng = np.random.default_rng(3)
    for secrets, chosen in (
        (2, {"success": 0.97, "epsilon": 1.5, "steady": True}),
        (2, {"success": 0.97}),
        (4, {"epsilon": 1.0, "multiplier": 1.3}),
        (4, {"steady": True, "epsilon": 2.0}),
    ):
        weight = 0.9 * rng.dirichlet(np.ones(secrets), size=(3, 4)) + 0.1 / secrets
        belief = bc.Belief(weight, rng.random((3, 4, secrets)))
        batch = bc.private_policy(belief, **limits(**chosen)).accept
        for i, j in product(range(3), range(4)):
            one = bc.private_policy(bc.Belief(belief.weight[i, j], belief.favor[i, j]), **limits(**chosen))
            assert batch[i, j] == pytest.approx(one.accept, abs=1e-9)


def test_labels_are_what_is_protected():
    """Four tuples, two slots: the limits are on the labels, not on the tuples."""
    labels = np.array([[0, 0, 1, 1], [2, 3, 2, 3]])
    belief = bc.Belief([0.3, 0.3, 0.2, 0.2], [0.9, 0.2, 0.8, 0.1], labels)
    steady = bc.private_policy(belief, **limits(steady=True))
    assert float(steady.conference_error(belief)) < 0.5
    for outcome in (steady.accept, 1 - steady.accept):
        mass = belief.weight * outcome
        for slot, top in zip(labels, (0.6, 0.5), strict=True):
            sums = [mass[slot == label].sum() for label in np.unique(slot)]
            assert max(sums) <= top * mass.sum() + 1e-9
    batch = bc.Belief(np.tile(belief.weight, (3, 1)), np.tile(belief.favor, (3, 1)), labels)
    assert bc.private_policy(batch, **limits(steady=True)).accept == pytest.approx(
        np.tile(steady.accept, (3, 1))
    )


def test_limits_alone_have_the_closed_forms_of_policies():
    belief = random_beliefs(np.random.default_rng(4), 500, 4)
    public, evidence = bc.policy.public_policy(belief), bc.policy.evidence_policy(belief)
    forms = [({}, evidence), ({"multiplier": 1.0}, public), ({"multiplier": 2.0}, evidence)]
    forms += [({"epsilon": 0.0}, public), ({"epsilon": 60.0}, evidence)]
    forms += [({"epsilon": e}, bc.policy.epsilon_policy(belief, e)) for e in (0.2, 1.0, 3.0)]
    for chosen, form in forms:
        found = bc.private_policy(belief, **limits(**chosen)).conference_error(belief)
        assert found == pytest.approx(form.conference_error(belief), abs=1e-12), chosen
    assert (bc.private_policy(belief, **limits(epsilon=0.0)).epsilon == 0).all()


@given(st.floats(0.5, 0.99), st.floats(0, 1), st.floats(0, 1), st.floats(0, 4), st.floats(0, 1))
def test_a_looser_limit_never_costs_more(weight, favor1, favor2, epsilon, share):
    belief = bc.Belief([weight, 1 - weight], [favor1, favor2])
    for limit, low, high in (
        ("epsilon", share * epsilon, epsilon),
        ("multiplier", 1 + share / 2, 1 + share),
        ("success", weight + (1 - weight) * share / 2, weight + (1 - weight) * share),
        ("posterior_cap", weight + (1 - weight) * share / 2, weight + (1 - weight) * share),
    ):
        tight, loose = bc.policy.limit_frontier(
            belief, limit, [low, high], **limits(epsilon=None if limit == "epsilon" else 1.5)
        )
        # Borders so close to what the scores alone give cross where an outcome is next to impossible: there
        # rounding decides for the constant decision, which costs no more than the limit is loosened by.
        assert loose <= tight + (1e-12 if share > 1e-6 else share)


def test_a_limit_next_to_a_tie_is_used_up():
    """The complement of an accept probability near 1 has few digits; it once cost the whole gain."""
    gaps = 2.0 ** -np.arange(9, 18)
    errors = bc.policy.limit_frontier(
        bc.Belief([0.5, 0.5], [1.0, 0.25]), "success", 0.5 + gaps, **limits(epsilon=1.5)
    )
    assert np.allclose((0.375 - errors) / gaps, (0.375 - errors[0]) / gaps[0], rtol=1e-6)


def test_limit_frontier_has_one_row_a_value():
    belief = random_beliefs(np.random.default_rng(6), 7, 2)
    errors = bc.policy.limit_frontier(belief, "epsilon", [0.0, 1.0, 2.0], **limits(steady=True))
    assert errors.shape == (3, 7)
    assert (np.diff(errors, axis=0) <= 1e-12).all()


BELIEF = bc.Belief([0.7, 0.3], [0.9, 0.2])


def test_a_guarantee_by_name_is_the_same_program_whatever_the_solver():
    """Public, steady, average: closed forms and programs against the losses of two decisions."""
    rng = np.random.default_rng(11)
    for secrets, guarantee in product(
        (2, 3, 5),
        (
            bc.Guarantee("public", epsilon=2.0),
            bc.Guarantee("steady", epsilon=2.0),
            bc.Guarantee("average", epsilon=2.0),
            bc.Guarantee("average", epsilon=None),
            bc.Guarantee("average", epsilon=1.0),
        ),
    ):
        for _ in range(count(8, 80)):
            labels = rng.integers(0, secrets, (2, secrets)) if rng.random() < 0.5 else None
            belief = bc.Belief(rng.dirichlet(np.ones(secrets)), rng.random(secrets), labels)
            loss = np.stack([1 - belief.favor, belief.favor], -1)
            best = least_loss(belief.weight, loss, labels, guarantee)
            found = bc.policy.solve(belief, guarantee)
            assert found.error == pytest.approx(best.loss, abs=1.1e-8)
            assert found.bound <= found.error + 1e-12
            policy = bc.private_policy(belief, guarantee)
            assert policy.accept == pytest.approx(found.accept, abs=1e-12)
            assert found.success == pytest.approx(1 - float(policy.adversary_error(belief)), abs=1e-12)


def test_never_against_is_kept_for_a_belief_too():
    rng = np.random.default_rng(12)
    guarantee = bc.Guarantee("average", epsilon=None, never_against=0.9)
    for _ in range(count(40, 400)):
        belief = bc.Belief(rng.dirichlet(np.ones(4)), rng.beta(0.5, 0.5, 4), rng.integers(0, 3, (1, 4)))
        sure = np.where(belief.favor >= 0.9, 1.0, np.where(belief.favor <= 0.1, 0.0, -1.0))
        try:
            accept = bc.private_policy(belief, guarantee).accept
        except bc.CertificateError:
            # Only where both sides have evidence beyond doubt can it fail.
            assert {0.0, 1.0} <= set(sure.tolist())
            continue
        assert accept[sure >= 0] == pytest.approx(sure[sure >= 0], abs=1e-12)


def test_epsilon_alone_is_one_of_three_policies() -> None:
    rng = np.random.default_rng(2)
    for n in range(2, 8):
        batch = random_beliefs(rng, count(25, 250), n)
        epsilon = rng.uniform(0.0, 5.0, len(batch.weight))
        best = bc.policy.epsilon_policy(batch, epsilon)
        errors = best.conference_error(batch)
        assert (best.epsilon <= epsilon + 1e-12).all()
        for weight, favor, e, error in zip(batch.weight, batch.favor, epsilon, errors, strict=True):
            value = least_loss(weight, np.stack([1.0 - favor, favor], -1), **limits(epsilon=float(e))).loss
            assert value == pytest.approx(error, abs=1e-8)


# --- The best of two secrets' policies, against every policy on a grid.


STEPS = 400
LIMITS = {
    "none": limits(),
    "success": limits(success=0.75),
    "epsilon": limits(epsilon=0.7),
    "multiplier": limits(multiplier=1.3),
    "steady": limits(steady=True),
    "crowd": {"guarantee": Guarantee("crowd", epsilon=None), "success": None},
    "crowd, average": {"guarantee": Guarantee("average", among=3, epsilon=2.0), "success": 0.6},
    "cap": limits(posterior_cap=0.8),
    "several": limits(success=0.8, epsilon=1.5, multiplier=1.6, posterior_cap=0.9),
}


def kept(weight: np.ndarray, accept: np.ndarray, chosen: dict[str, Any], slack: float) -> np.ndarray:
    """Whether policies `accept[n, 2]` keep each limit by its definition, up to `slack`."""
    guarantee, success = chosen["guarantee"], chosen["success"]
    sides = np.stack([accept, 1 - accept])
    mass = weight * sides
    top = weight.max()
    good = np.ones(len(accept), dtype=bool)
    if success is not None:
        good &= mass.max(axis=-1).sum(axis=0) <= max(success, top) + slack
    if guarantee.epsilon is not None:
        good &= (sides.max(axis=-1) <= np.exp(guarantee.epsilon) * sides.min(axis=-1) + slack).all(axis=0)
    if guarantee.multiplier is not None:
        good &= sides.max(axis=-1).sum(axis=0) <= guarantee.multiplier + slack
    caps = [] if guarantee.posterior_cap is None else [max(guarantee.posterior_cap, top)]
    caps += [top] if guarantee.name == "steady" else []
    for cap in caps if guarantee.among is None else [*caps, max(1 / guarantee.among, top)]:
        good &= (mass.max(axis=-1) <= cap * mass.sum(axis=-1) + slack).all(axis=0)
    return good


@pytest.mark.parametrize("name", LIMITS)
def test_no_policy_on_a_grid_is_better_and_the_best_one_keeps_the_limits(name: str) -> None:
    """Moving both chances by less than one step costs less than one step: so close is the grid's best."""
    chosen, rng = LIMITS[name], np.random.default_rng(1)
    side = np.linspace(0.0, 1.0, STEPS + 1)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    for _ in range(12):
        first = rng.uniform(0.5, 0.95)
        weight, favor = np.array([first, 1 - first])[:: rng.choice([1, -1])], rng.random(2)
        success = None if chosen["success"] is None else np.array(chosen["success"])
        accept = pair_policy(weight, favor, chosen["guarantee"], success)
        assert kept(weight, accept[None], chosen, 1e-11).all()
        error = (weight * (accept * (1 - favor) + (1 - accept) * favor)).sum()
        others = (weight * (grid * (1 - favor) + (1 - grid) * favor)).sum(axis=1)
        assert error <= others[kept(weight, grid, chosen, 0.0)].min() + 1e-11
        assert others[kept(weight, grid, chosen, 2 / STEPS)].min() <= error + 1 / STEPS


@pytest.mark.parametrize(
    "guarantee",
    [
        Guarantee("steady"),
        Guarantee("steady", epsilon=None),
        Guarantee(),
        Guarantee("crowd", among=2, epsilon=0.5),
        *(Guarantee("average", epsilon=epsilon) for epsilon in (0.0, 0.1, 2.0, 30.0)),
    ],
    ids=lambda guarantee: f"{guarantee.name} {guarantee.epsilon}",
)
def test_closed_forms_of_many_pairs_are_the_best_of_all_crossings(guarantee: Guarantee) -> None:
    """Weights from equal to 1 and 0, favors from equal to certain: as the general search, which keeps every
    limit, and no worse than it."""
    rng = np.random.default_rng(46)
    pairs = count(4_000, 100_000)
    weight, favor = rng.dirichlet([0.7, 0.7], pairs), rng.random((pairs, 2))
    weight[:20], weight[20:24], weight[24:28] = 0.5, [1.0, 0.0], [1.0 - 1e-12, 1e-12]
    favor[10:30] = np.round(2.0 * favor[10:30]) / 2.0
    favor[40:60, 1] = 1.0 - favor[40:60, 0]
    belief = Belief(weight / weight.sum(axis=1, keepdims=True), favor)
    success = belief.weight.max(axis=1) if guarantee.name == "average" else None
    limits = solver._limits(belief.weight, guarantee, success)
    searched = solver._best_corner(belief.weight, belief.favor, limits)
    found = private_policy(belief, guarantee)
    assert solver._keeps_limits(found.accept[None], belief.weight, limits).all()
    errors = found.conference_error(belief), Policy(searched).conference_error(belief)
    np.testing.assert_allclose(*errors, atol=2e-12)


# --- Accept probabilities and audits against an independent library of optimal mechanisms (qif).


@pytest.fixture
def qif() -> Any:
    return pytest.importorskip("qif")


def random_belief(rng: np.random.Generator, labels: int = 0) -> Belief:
    n = int(rng.integers(2, 7))
    slots = rng.integers(0, labels, (1, n)) if labels else None
    return Belief(rng.dirichlet(np.ones(n)), rng.random(n), slots)


def losses(belief: Belief) -> Array:
    return np.stack([1.0 - belief.favor, belief.favor], axis=-1)


def value(belief: Belief, channel: Array) -> float:
    return float((belief.weight[:, None] * channel * losses(belief)).sum())


@pytest.mark.edge
@pytest.mark.parametrize(("kind", "tolerance"), [("success", 1e-8), ("labels", 1e-8), ("epsilon", 1e-7)])
def test_the_best_policy_agrees_with_qif(qif: Any, kind: str, tolerance: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(count(60, 600)):
        belief = random_belief(rng, labels=3 if kind == "labels" else 0)
        weight, table, guarantee, success = belief.weight, losses(belief), UNLIMITED, None

        def loss(r: int, d: int, table: Array = table) -> float:
            return float(table[r, d])

        if kind == "success":
            success = rng.uniform(weight.max(), 1.0)
            channel = qif.mechanism.bayes_vuln.min_loss_given_max_vuln(weight, 2, success, loss)
        elif kind == "labels":
            assert belief.labels is not None
            labels = belief.labels[0]
            success = rng.uniform(min(np.bincount(labels, weight).max(), 1.0), 1.0)
            channel = qif.mechanism.g_vuln.min_loss_given_max_vuln(
                weight, 2, 3, success, lambda y, r, labels=labels: float(labels[r] == y), loss
            )
        else:
            guarantee = Guarantee("none", epsilon=rng.uniform(0.1, 3.0))
            channel = qif.mechanism.d_privacy.min_loss_given_d(
                weight, 2, lambda a, b, epsilon=guarantee.epsilon: epsilon * (a != b), loss
            )
        found = solve(belief, guarantee, success=success)
        assert found.error == pytest.approx(value(belief, channel), abs=tolerance)


@pytest.mark.edge
def test_audit_agrees_with_qif(qif: Any) -> None:
    rng = np.random.default_rng(4)
    for _ in range(count(100, 1000)):
        belief = random_belief(rng)
        policy = Policy(rng.random(belief.weight.size))
        found = audit(belief, policy)
        channel = np.stack([policy.accept, 1.0 - policy.accept], axis=-1)
        assert float(found.success) == pytest.approx(
            qif.measure.bayes_vuln.posterior(belief.weight, channel), abs=1e-13
        )
        assert found.multiplier == pytest.approx(qif.measure.bayes_vuln.mult_capacity(channel), abs=1e-13)
        people, none = belief.weight.size, np.zeros(belief.weight.size)
        names, rows = tuple(map(str, range(people))), np.arange(people)[:, None]
        view = View("p", names, (0.0,), rows, belief.weight, none, {"chosen": policy.accept})
        assert bits_about_reviewer(view, view.mass("chosen")) == pytest.approx(
            qif.measure.shannon.add_leakage(belief.weight, channel), abs=1e-12
        )
