"""The best of two secrets' policies, against every policy on a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blindcal import Belief, Policy, private_policy
from blindcal.policy import solver
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.solver import pair_policy
from sizes import count
from strategies import limits

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
