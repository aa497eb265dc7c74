"""Caps that go down by price: every vertex against a search over policies, ties and weights of zero."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from blindcal import Belief, frontier
from blindcal.policy import pareto_frontier
from blindcal.policy.pareto_frontier import accept_at, frontier_vertices
from sizes import count
from strategies import random_beliefs


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


def least_error(weight: list[Fraction], favor: list[Fraction], success: Fraction) -> Fraction:
    """The least conference error at a success, exactly: the error is convex and piecewise linear in how the
    success is split between the two caps, so one of the splits where a cap meets a weight is best."""
    splits = {Fraction(0), success, *weight, *(success - w for w in weight)}
    found = []
    for accepting in splits:
        rejecting = success - accepting
        if min(accepting, rejecting) >= 0:
            error = Fraction(0)
            for w, f in zip(weight, favor, strict=True):
                most, least = min(w, accepting), max(Fraction(0), w - rejecting)
                mass = most if f > Fraction(1, 2) else least
                error += w * f + mass * (1 - 2 * f)
            found.append(error)
    return min(found)


def small_beliefs() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Two to six secrets of a few 64ths, so that weights tie, vanish and add up exactly; favors of 1/2, equal
    prices and certain ones among them."""
    rng = np.random.default_rng(51)
    for _ in range(count(150, 1500)):
        secrets = int(rng.integers(2, 7))
        cuts = np.sort(rng.integers(0, 65, secrets - 1))
        weight = np.diff(cuts, prepend=0, append=64) / 64
        yield weight, rng.integers(0, 9, secrets) / 8


def exactly(numbers: np.ndarray) -> list[Fraction]:
    return [Fraction(float(number)) for number in numbers]


def test_every_vertex_and_the_way_between_is_the_best_of_all_caps() -> None:
    """From what the evidence alone decides to the success that the scores alone allow."""
    for weight, favor in small_beliefs():
        conference, adversary, bought = frontier_vertices(weight, favor)
        assert conference.shape == adversary.shape == bought.shape == (weight.size + 1,)
        w, f = exactly(weight), exactly(favor)
        assert conference[0] == pytest.approx(
            float(sum(a * min(b, 1 - b) for a, b in zip(w, f, strict=True)))
        )
        assert adversary[-1] == pytest.approx(1 - float(max(w)))
        assert adversary - adversary[0] == pytest.approx(bought, abs=1e-15)
        for share in (0.0, 0.3):
            for error, missed in zip(
                conference[:-1] + share * np.diff(conference),
                adversary[:-1] + share * np.diff(adversary),
                strict=True,
            ):
                least = least_error(w, f, 1 - Fraction(float(missed)))
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
            least = least_error(w, f, max(1 - Fraction(float(adversary[0])) - Fraction(float(spent)), max(w)))
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
