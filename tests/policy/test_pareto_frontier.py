"""The closed form against all splits of success, its shape, its limits, its symmetries and its refusals."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

import blindcal as bc
from blindcal import Belief, frontier
from blindcal.checks import Array
from blindcal.policy import Frontier, pareto_frontier
from blindcal.policy.pareto_frontier import accept_at, frontier_vertices, trace_frontier
from blindcal.policy.policy import label_tops
from general_program import least_loss
from sizes import count
from strategies import mirrored, random_beliefs

BELIEFS = 10_000


def batches(seed: int, total: int) -> list[Belief]:
    """`total` random beliefs of 2 to 12 secrets, one batch a size."""
    rng = np.random.default_rng(seed)
    sizes = rng.multinomial(total, np.full(11, 1.0 / 11.0))
    return [random_beliefs(rng, int(size), n) for n, size in zip(range(2, 13), sizes, strict=True)]


def least_errors(weight: Array, favor: Array, success: Array) -> Array:
    """The oracle: the least conference error at each instance's success, for floats and for fractions.

    The error is convex and piecewise linear in how the success is split between the two caps, so one of the
    splits at which a cap meets a weight is best.
    """
    most = np.asarray(success)[..., None]
    splits = np.concatenate([0 * most, most, weight, most - weight], axis=-1).clip(0, most)[..., None]
    weight, favor = weight[..., None, :], favor[..., None, :]
    kept, left = np.minimum(weight, splits), np.maximum(weight - (most[..., None] - splits), 0)
    mass = np.where(favor > 0.5, kept, left)
    return np.asarray((weight * favor + mass * (1 - 2 * favor)).sum(axis=-1).min(axis=-1))


def at_adversary_error(front: Frontier, wanted: Array) -> Array:
    """The frontier read off its vertices, instance by instance."""
    return np.array(
        [
            np.interp(a, adversary, conference)
            for a, adversary, conference in zip(
                wanted, front.adversary_error, front.conference_error, strict=True
            )
        ]
    )


@pytest.mark.parametrize("place", ["saturated", "anywhere"])
def test_the_closed_form_is_the_best_of_all_caps(place: str) -> None:
    rng = np.random.default_rng(7)
    total = 0
    for belief in batches(2024, BELIEFS):
        front = frontier(belief)
        top = belief.weight.max(axis=1)
        success = top if place == "saturated" else rng.uniform(top, 1.0)
        wanted = np.minimum(1.0 - success, front.adversary_error[:, -1])
        least = least_errors(belief.weight, belief.favor, success)
        np.testing.assert_allclose(at_adversary_error(front, wanted), least, rtol=0, atol=1e-9)
        by_privacy = front.policy(adversary_error=wanted)
        np.testing.assert_allclose(by_privacy.conference_error(belief), least, rtol=0, atol=1e-9)
        assert (by_privacy.adversary_error(belief) >= wanted - 1e-12).all()
        allowed = by_privacy.conference_error(belief)
        by_error = front.policy(conference_error=allowed)
        assert (by_error.conference_error(belief) <= allowed + 1e-12).all()
        assert (by_error.adversary_error(belief) >= wanted - 1e-9).all()
        total += len(belief.weight)
    assert total == BELIEFS


def test_policies_reach_the_vertices_they_promise() -> None:
    for belief in batches(3, count(4000, 40_000)):
        front = frontier(belief)
        for vertex in range(front.conference_error.shape[1]):
            e, a = front.conference_error[:, vertex], front.adversary_error[:, vertex]
            policy = front.policy(adversary_error=a)
            np.testing.assert_allclose(policy.conference_error(belief), e, rtol=0, atol=3e-12)
            np.testing.assert_allclose(policy.adversary_error(belief), a, rtol=0, atol=1e-14)


def test_vertices_are_monotone_convex_padded_and_few() -> None:
    for belief in batches(4, 4000):
        front = frontier(belief)
        assert front.conference_error.shape[-1] <= belief.weight.shape[-1] + 1
        rise, run = np.diff(front.conference_error, axis=-1), np.diff(front.adversary_error, axis=-1)
        assert (rise >= 0.0).all()
        assert (run >= 0.0).all()
        # Prices rise along the chain: compared as products, so that short steps need no division.
        assert (
            rise[:, :-1] * run[:, 1:] <= rise[:, 1:] * run[:, :-1] + 1e-15 * (run[:, :-1] + run[:, 1:])
        ).all()
        ended = front.bought[:, 1:] == front.bought[:, -1:]
        np.testing.assert_array_equal(rise[:, 1:][ended[:, :-1]], 0.0)
        np.testing.assert_array_equal(run[:, 1:][ended[:, :-1]], 0.0)
        np.testing.assert_allclose(front.adversary_error[:, -1], 1.0 - belief.weight.max(-1), atol=1e-15)


def test_first_stretch_of_price_zero_is_dropped() -> None:
    """A secret at exactly 1/2 costs nothing to randomize: the frontier starts where that is used up."""
    front = frontier(Belief([0.5, 0.3, 0.2], [0.5, 0.9, 0.1]))
    np.testing.assert_allclose(front.adversary_error, [0.5, 0.5, 0.5, 0.5])
    front = frontier(Belief([0.4, 0.35, 0.25], [0.5, 0.9, 0.2]))
    np.testing.assert_allclose(front.adversary_error, [0.4, 0.6, 0.6, 0.6])
    assert front.conference_error[0] == pytest.approx(0.4 * 0.5 + 0.35 * 0.1 + 0.25 * 0.2)


def test_all_agreeing_is_one_point_and_tells_nothing() -> None:
    front = frontier(Belief([0.5, 0.3, 0.2], [0.9, 0.6, 0.7]))
    assert np.ptp(front.conference_error) == 0.0
    policy = front.policy(conference_error=1.0)
    np.testing.assert_array_equal(policy.accept, 1.0)
    assert policy.epsilon == 0.0


def test_swapping_the_papers_mirrors_frontier_and_policy() -> None:
    rng = np.random.default_rng(21)
    for belief in batches(6, count(6000, 60_000)):
        front, other = frontier(belief), frontier(mirrored(belief))
        np.testing.assert_allclose(front.conference_error, other.conference_error, rtol=0, atol=1e-12)
        np.testing.assert_allclose(front.adversary_error, other.adversary_error, rtol=0, atol=1e-12)
        share = rng.choice([0.0, 0.25, 0.7, 1.0], size=len(belief.weight))
        wanted = front.adversary_error[:, 0] + share * front.bought[:, -1]
        accept, swapped = (f.policy(adversary_error=wanted).accept for f in (front, other))
        np.testing.assert_allclose(swapped, 1.0 - accept, rtol=0, atol=1e-12)


def test_permuting_the_secrets_permutes_the_policy() -> None:
    rng = np.random.default_rng(22)
    for belief in batches(9, 3000):
        order = rng.permutation(belief.weight.shape[-1])
        other = Belief(belief.weight[:, order], belief.favor[:, order])
        front = frontier(belief)
        wanted = front.adversary_error[:, 0] + 0.6 * front.bought[:, -1]
        mass = belief.weight * front.policy(adversary_error=wanted).accept
        permuted = other.weight * frontier(other).policy(adversary_error=wanted).accept
        np.testing.assert_allclose(permuted, mass[:, order], rtol=0, atol=1e-14)


def test_relation_is_the_greatest_adversary_error_at_each_exact_conference_error() -> None:
    rng = np.random.default_rng(31)
    for belief in batches(12, 60):
        for weight, favor in zip(belief.weight, belief.favor, strict=True):
            conference, adversary = frontier(Belief(weight, favor)).relation()
            assert conference[0] + conference[-1] == pytest.approx(1.0, abs=1e-12)
            exact = rng.uniform(conference[0], conference[-1])
            n = weight.size
            a_ub = np.block(
                [
                    [np.eye(n), -np.ones((n, 1)), np.zeros((n, 1))],
                    [-np.eye(n), np.zeros((n, 1)), -np.ones((n, 1))],
                ]
            )
            found = linprog(
                np.concatenate([np.zeros(n), [1.0, 1.0]]),
                A_ub=a_ub,
                b_ub=np.concatenate([np.zeros(n), -weight]),
                A_eq=np.concatenate([1.0 - 2.0 * favor, [0.0, 0.0]])[None, :],
                b_eq=[exact - (weight * favor).sum()],
                bounds=[(0.0, w) for w in weight] + [(0.0, 1.0)] * 2,
            )
            # The solver keeps the exact error to 1e-7 only, and near a price of 1e-3 that is 1e-4 in height.
            assert 1.0 - found.fun == pytest.approx(np.interp(exact, conference, adversary), abs=1e-4)


def test_policies_broadcast() -> None:
    belief = Belief([0.6, 0.4], [0.9, 0.2])
    policy = frontier(belief).policy(conference_error=[0.2, 0.3, 0.38])
    assert policy.accept.shape == (3, 2)
    many = Belief(np.tile([0.5, 0.3, 0.2], (4, 1)), np.tile([0.9, 0.2, 0.7], (4, 1)))
    assert frontier(many).policy(adversary_error=[[0.3], [0.4]]).accept.shape == (2, 4, 3)


def test_a_request_that_rounding_puts_below_the_least_error_is_met() -> None:
    belief = random_beliefs(np.random.default_rng(41), 5000, 2)
    front = frontier(belief)
    policy = front.policy(conference_error=front.conference_error[:, 0] - 1e-16)
    np.testing.assert_allclose(policy.conference_error(belief), front.conference_error[:, 0], atol=1e-15)


def labeled(rng: np.random.Generator, size: int) -> Belief:
    n = int(rng.integers(3, 9))
    labels = rng.integers(0, 3, (int(rng.integers(1, 4)), n))
    batch = random_beliefs(rng, size, n)
    return Belief(batch.weight, batch.favor, labels)


def test_labeled_frontier_is_the_program_at_every_success() -> None:
    """At vertices and between them, where policies reach it too."""
    rng = np.random.default_rng(3)
    for _ in range(count(12, 120)):
        belief = labeled(rng, 3)
        front = frontier(belief)
        assert belief.labels is not None
        for i, (weight, favor) in enumerate(zip(belief.weight, belief.favor, strict=True)):
            loss = np.stack([1.0 - favor, favor], axis=-1)
            most = front.adversary_error[i, -1]
            assert most == pytest.approx(1.0 - label_tops(weight, belief.labels).mean(), abs=1e-10)
            for error in (front.adversary_error[i, 0], rng.uniform(0.0, most), most):
                closed = np.interp(error, front.adversary_error[i], front.conference_error[i])
                program = least_loss(weight, loss, belief.labels, success=1.0 - error)
                assert program.loss == pytest.approx(closed, abs=1e-8)
        assert (np.diff(front.conference_error, axis=-1) >= 0.0).all()
        assert (np.diff(front.adversary_error, axis=-1) >= 0.0).all()
        start, end = front.adversary_error[:, 0], front.adversary_error[:, -1]
        wanted = start + rng.random(3) * (end - start)
        policy = front.policy(adversary_error=wanted)
        np.testing.assert_allclose(policy.adversary_error(belief), wanted, atol=1e-8)
        allowed = policy.conference_error(belief)
        again = front.policy(conference_error=allowed)
        assert (again.conference_error(belief) <= allowed + 1e-9).all()
        np.testing.assert_allclose(again.adversary_error(belief), wanted, atol=1e-6)


def test_one_slot_that_names_the_secret_is_the_closed_form() -> None:
    rng = np.random.default_rng(5)
    batch = random_beliefs(rng, 20, 5)
    plain = frontier(batch)
    named = rng.permutation(5)[None, :]
    closed = frontier(Belief(batch.weight, batch.favor, named))
    np.testing.assert_array_equal(closed.conference_error, plain.conference_error)
    for i in range(20):
        conference, adversary, _ = trace_frontier(batch.weight[i], batch.favor[i], named)
        at = np.linspace(plain.adversary_error[i, 0], plain.adversary_error[i, -1], 7)
        np.testing.assert_allclose(
            np.interp(at, adversary, conference),
            np.interp(at, plain.adversary_error[i], plain.conference_error[i]),
            atol=1e-9,
        )


# --- What limits imply for each other, by enumeration and by policies that reach the bounds.


@pytest.mark.parametrize("secrets", [2, 3, 5])
def test_what_epsilon_implies_for_the_map_adversary_is_sharp(secrets):
    """No policy within epsilon gives more success, and one gives that much; the reverse bound inverts it."""
    rng = np.random.default_rng(secrets)
    for _ in range(count(40, 400)):
        weight, epsilon = rng.dirichlet(np.ones(secrets)), float(rng.exponential(1.0))
        bound = float(bc.policy.largest_success(weight, epsilon))
        belief = bc.Belief(weight, np.full(secrets, 0.5))
        accept = rng.random((300, secrets))
        # Squeezed into the ratio e^epsilon for both outcomes.
        low = rng.random((300, 1)) / (1 + np.exp(epsilon))
        high = np.minimum(low * np.exp(epsilon), 1 - (1 - low) * np.exp(-epsilon))
        policies = bc.Policy(low + (high - low) * np.round(accept * 3) / 3)
        assert (policies.epsilon <= epsilon + 1e-9).all()
        assert (1 - policies.adversary_error(belief)).max() <= bound + 1e-12
        response = np.full(secrets, 1 / (1 + np.exp(epsilon)))
        response[np.argmax(weight)] = 1 - response[0]
        reached = 1 - float(bc.Policy(response).adversary_error(belief))
        assert max(reached, weight.max()) == pytest.approx(bound, abs=1e-12)
        if bound > weight.max() + 1e-9:
            assert float(bc.policy.least_epsilon(weight, bound)) == pytest.approx(epsilon, abs=1e-7)
    assert bc.policy.least_epsilon([0.6, 0.4], [0.5, 0.6, 1.0]).tolist() == [0.0, 0.0, np.inf]


def test_no_added_success_allows_any_epsilon():
    """The reverse of the bound does not hold: success stays .6, yet every acceptance names the secret."""
    belief, policy = bc.Belief([0.6, 0.4], [0.9, 0.2]), bc.Policy([1 / 3, 0.0])
    assert 1 - float(policy.adversary_error(belief)) == pytest.approx(0.6)
    assert float(policy.epsilon) == np.inf
    assert float(policy.largest_posterior(belief)) == 1.0


@pytest.mark.parametrize(("epsilon", "papers", "prior"), [(1.0, 1, 0.5), (0.7, 4, 0.3), (1.3, 7, 0.6)])
def test_composition_is_the_enumeration_of_all_decisions(epsilon, papers, prior):
    q = np.exp(epsilon) / (1 + np.exp(epsilon))
    success = 0.0
    for decisions in product([True, False], repeat=papers):
        one = prior * np.prod([q if d else 1 - q for d in decisions])
        two = (1 - prior) * np.prod([1 - q if d else q for d in decisions])
        success += max(one, two)
    assert bc.policy.composed_success(epsilon, papers, prior) == pytest.approx(success, abs=1e-12)
    whole = bc.policy.composed_epsilon(np.full(papers, epsilon))
    assert whole == pytest.approx(papers * epsilon)
    assert success <= float(bc.policy.largest_success([prior, 1 - prior], whole)) + 1e-12


# --- Caps that go down by price: every vertex against a search over policies, ties and weights of zero.


def test_two_secrets_are_a_case_of_many() -> None:
    belief = random_beliefs(np.random.default_rng(8), 20_000, 2)
    pair = frontier(belief)
    conference, adversary, _ = frontier_vertices(belief.weight, belief.favor)
    for end in (0, -1):
        np.testing.assert_allclose(pair.conference_error[:, end], conference[:, end], atol=1e-15)
        np.testing.assert_allclose(pair.adversary_error[:, end], adversary[:, end], atol=1e-16)
    for share in (0.0, 0.3, 1.0):
        bought = share * pair.bought[:, -1]
        wanted = pair.adversary_error[:, 0] + bought
        np.testing.assert_allclose(
            pair.policy(adversary_error=wanted).accept,
            accept_at(belief.weight, belief.favor, bought),
            rtol=0,
            atol=1e-12,
        )


def test_weight_zero_follows_the_evidence_under_a_positive_cap_only() -> None:
    front = frontier(Belief([0.6, 0.4, 0.0], [1.0, 0.0, 1.0]))
    np.testing.assert_array_equal(front.policy(conference_error=0.1).accept[2], 1.0)
    alone = frontier(Belief([0.6, 0.4, 0.0], [1.0, 1.0, 0.0]))
    np.testing.assert_array_equal(alone.policy(conference_error=0.0).accept, 1.0)
    pair = frontier(Belief([1.0, 0.0], [1.0, 0.0]))
    np.testing.assert_array_equal(pair.policy(conference_error=0.0).accept, 1.0)


def test_equal_prices_lower_the_smaller_cap_first() -> None:
    belief = Belief([0.5, 0.3, 0.2], [1.0, 0.0, 0.0])
    policy = frontier(belief).policy(adversary_error=0.2 + 0.05)
    np.testing.assert_allclose(policy.accept, [1.0, 1.0 - 0.25 / 0.3, 0.0])
    end = frontier(Belief([0.7, 0.3], [1.0, 0.0])).policy(conference_error=1.0)
    np.testing.assert_array_equal(end.accept, [1.0, 1.0])


def test_equal_prices_and_equal_caps_are_lowered_equally() -> None:
    np.testing.assert_allclose(
        frontier(Belief([0.5, 0.5], [1.0, 0.0])).policy(adversary_error=0.2).accept, [0.8, 0.2]
    )
    belief = Belief([0.3, 0.3, 0.2, 0.2], [1.0, 0.0, 1.0, 0.0])
    policy = frontier(belief).policy(adversary_error=0.4 + 0.1)
    np.testing.assert_allclose(policy.accept, [0.25 / 0.3, 1.0 - 0.25 / 0.3, 1.0, 0.0])


@pytest.mark.parametrize(
    ("bought", "caps"), [(0.04, (0.28, 0.28)), (0.14, (0.25, 0.21)), (0.2, (0.25, 0.15))]
)
def test_equal_caps_go_down_together_until_one_meets_its_next_weight(
    bought: float, caps: tuple[float, float]
) -> None:
    """Accepting weights .3, .25, rejecting .3, .15, all of price 1: .05 of one side, .15 of the other."""
    weight, favor = np.array([0.3, 0.3, 0.25, 0.15]), np.array([1.0, 0.0, 1.0, 0.0])
    for evidence in (favor, 1.0 - favor):
        accept = frontier(Belief(weight, evidence)).policy(adversary_error=0.4 + bought).accept
        mass = weight * np.where(evidence > 0.5, accept, 1.0 - accept)
        assert mass[0] == pytest.approx(caps[0])
        assert mass[1] == pytest.approx(caps[1])


def small_beliefs() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Two to six secrets of a few 64ths, so that weights tie, vanish and add up exactly; favors of 1/2, equal
    prices and certain ones among them."""
    rng = np.random.default_rng(51)
    for _ in range(count(150, 1500)):
        secrets = int(rng.integers(2, 7))
        cuts = np.sort(rng.integers(0, 65, secrets - 1))
        weight = np.diff(cuts, prepend=0, append=64) / 64
        yield weight, rng.integers(0, 9, secrets) / 8


def exactly(numbers: Array | float) -> Array:
    return np.asarray(np.vectorize(Fraction, otypes=[object])(numbers))


def test_every_vertex_and_the_way_between_is_the_best_of_all_caps() -> None:
    """From what the evidence alone decides to the success that the scores alone allow."""
    for weight, favor in small_beliefs():
        conference, adversary, bought = frontier_vertices(weight, favor)
        assert conference.shape == adversary.shape == bought.shape == (weight.size + 1,)
        w, f = exactly(weight), exactly(favor)
        assert conference[0] == pytest.approx(float((w * np.minimum(f, 1 - f)).sum()))
        assert adversary[-1] == pytest.approx(1 - float(max(w)))
        assert adversary - adversary[0] == pytest.approx(bought, abs=1e-15)
        for share in (0.0, 0.3):
            for error, missed in zip(
                conference[:-1] + share * np.diff(conference),
                adversary[:-1] + share * np.diff(adversary),
                strict=True,
            ):
                least = least_errors(w, f, 1 - exactly(missed))
                assert error == pytest.approx(float(least), abs=1e-14)


def test_the_policy_after_a_purchase_reaches_what_the_vertices_say() -> None:
    for weight, favor in small_beliefs():
        _, adversary, bought = frontier_vertices(weight, favor)
        for share in (0.0, 0.25, 0.6, 1.0):
            spent = share * bought[-1]
            accept = accept_at(weight, favor, np.asarray(spent))
            assert ((accept >= 0.0) & (accept <= 1.0)).all()
            success = float((weight * accept).max() + (weight * (1 - accept)).max())
            assert success <= 1 - adversary[0] - spent + 1e-14
            error = float((weight * (accept * (1 - favor) + (1 - accept) * favor)).sum())
            w, f = exactly(weight), exactly(favor)
            allowed = np.maximum(1 - exactly(adversary[0]) - exactly(spent), w.max())
            least = least_errors(w, f, allowed)
            assert error == pytest.approx(float(least), abs=1e-14)


def test_rows_are_worked_off_in_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers of a batch are those of its instances, however many fit into memory at a time."""
    belief = random_beliefs(np.random.default_rng(52), 12, 5)
    weight, favor = belief.weight.reshape(3, 4, 5), belief.favor.reshape(3, 4, 5)
    points = 0.4 * frontier_vertices(weight, favor)[2][..., -1]
    whole = (*frontier_vertices(weight, favor), accept_at(weight, favor, points))
    monkeypatch.setattr(pareto_frontier, "_BLOCK", 35)
    parts = (*frontier_vertices(weight, favor), accept_at(weight, favor, points))
    for i, j in np.ndindex(3, 4):
        alone = (
            *frontier_vertices(weight[i, j], favor[i, j]),
            accept_at(weight[i, j], favor[i, j], points[i, j]),
        )
        for one, other, single in zip(whole, parts, alone, strict=True):
            assert one[i, j].tolist() == other[i, j].tolist() == single.tolist()
