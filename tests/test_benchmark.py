"""What the benchmark measures, each number by another way."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from blindcal import Belief, InputError, Policy, audit
from blindcal.benchmark import HINT, INSTANCES, MECHANISMS, instance, measure, run
from general_program import least_loss


@pytest.mark.parametrize("name", ["pair with noise", "matching of 3", "papers, pools of 4"])
def test_no_mechanism_lies_beyond_the_frontier(name: str) -> None:
    for found in run(MECHANISMS, [name]):
        assert found.wasted >= -1e-9, found.mechanism
        assert found.success >= found.scores_only - 1e-9
        if found.mechanism in ("full calibration", "public", "average"):
            # Full calibration and the best policy without added success are ends of the frontier.
            assert found.mechanism == "public" or found.wasted == pytest.approx(0.0, abs=1e-7)
        if found.mechanism.startswith("steady"):
            assert found.rise == pytest.approx(0.0, abs=1e-8)


def test_the_least_error_is_that_of_a_program() -> None:
    belief = instance("matching of 3").beliefs[0]
    policy = MECHANISMS["three in four"](belief)
    success = 1.0 - float(policy.adversary_error(belief))
    program = least_loss(belief.weight, np.stack([1 - belief.favor, belief.favor], axis=-1), success=success)
    one = type(instance("matching of 3"))("one", (belief,))
    assert measure(MECHANISMS["three in four"], "x", one).least == pytest.approx(program.loss, abs=1e-9)


def test_a_hint_is_counted_by_going_through_secret_hint_and_outcome() -> None:
    belief = Belief([0.5, 0.3, 0.2], [0.9, 0.2, 0.6])
    policy = Policy([0.9, 0.3, 0.4])
    found = measure(lambda _: policy, "x", type(instance("matching of 3"))("one", (belief,)))
    after = before = 0.0
    for hint in range(3):
        told = [w * ((HINT if r == hint else 0.0) + (1 - HINT) / 3) for r, w in enumerate(belief.weight)]
        before += max(told)
        for chance in (policy.accept, 1.0 - policy.accept):
            after += max(one * p for one, p in zip(told, chance, strict=True))
    assert found.hinted == pytest.approx(after - before)
    assert np.isnan(found.coupled)
    assert found.epsilon == pytest.approx(float(audit(belief, policy).epsilon))


@pytest.mark.parametrize("name", ["three in four", "average", "full calibration"])
def test_the_coupled_adversary_goes_through_matchings_and_outcomes(name: str) -> None:
    known = instance("matching of 3")
    mechanism = MECHANISMS[name]
    accept = [mechanism(belief).accept for belief in known.beliefs]
    alone = decided = 0.0
    matchings = dict(zip(permutations(range(3)), known.chance, strict=True))
    for paper in range(3):
        alone += max(sum(w for m, w in matchings.items() if m[paper] == r) for r in range(3)) / 3
    for outcome in product((True, False), repeat=3):
        mass = {
            m: w * np.prod([accept[i][m[i]] if yes else 1 - accept[i][m[i]] for i, yes in enumerate(outcome)])
            for m, w in matchings.items()
        }
        for paper in range(3):
            decided += max(sum(w for m, w in mass.items() if m[paper] == r) for r in range(3)) / 3
    assert measure(mechanism, "x", known).coupled == pytest.approx(decided - alone)


@pytest.mark.parametrize("bad", [lambda belief: belief.favor, lambda belief: Policy([0.5])])
def test_what_is_no_policy_is_refused(bad: object) -> None:
    assert callable(bad)
    with pytest.raises(InputError, match="must return a Policy with one accept probability for each of 2"):
        measure(bad, "x", instance("pair with noise"))


def test_results_are_a_frame() -> None:
    pandas = pytest.importorskip("pandas")
    from blindcal.benchmark import results_frame

    found = results_frame(run({"public": MECHANISMS["public"]}, INSTANCES[:2]))
    assert isinstance(found, pandas.DataFrame)
    assert found.instance.tolist() == list(INSTANCES[:2])
    assert found.added.tolist() == pytest.approx((found.success - found.scores_only).tolist(), abs=1e-12)
