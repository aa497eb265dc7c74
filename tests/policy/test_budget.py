"""One budget over many chains: against one joint linear program, at ties, in both directions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

import blindcal as bc
from blindcal.policy.budget import allocate, at_price
from sizes import count


def joint_program(belief, weights, conference_error=None, adversary_error=None):
    """All instances as one program in x = weight*accept and the two largest masses of each instance.

    Written without the frontier: returns the best adversary error within a conference error, or the
    least conference error that reaches an adversary error.
    """
    papers, n = belief.weight.shape
    size = n + 2
    paper, secret = np.divmod(np.arange(papers * n), n)
    x, cap = paper * size + secret, np.arange(papers) * size + n
    row = np.arange(papers * n)
    one = np.ones(papers * n)
    accepted = sparse.coo_array((np.r_[one, -one], (np.r_[row, row], np.r_[x, cap[paper]])))
    rejected = sparse.coo_array((np.r_[-one, -one], (np.r_[row, row], np.r_[x, cap[paper] + 1])))
    shape = (papers * n, papers * size)
    blocks = [sparse.csr_array((m.data, m.coords), shape=shape) for m in (accepted, rejected)]
    bound = [np.zeros(papers * n), -belief.weight.ravel()]
    lean = np.zeros(papers * size)
    lean[x] = (weights[:, None] * (1 - 2 * belief.favor)).ravel()
    base = float((weights[:, None] * belief.weight * belief.favor).sum())
    success = np.zeros(papers * size)
    success[cap] = success[cap + 1] = weights
    cost, limited = (success, lean) if adversary_error is None else (lean, success)
    limit = conference_error - base if adversary_error is None else 1.0 - adversary_error
    upper = np.ones((papers, size))
    upper[:, :n] = belief.weight
    found = linprog(
        cost,
        A_ub=sparse.vstack([*blocks, limited[None]]).tocsr(),
        b_ub=np.concatenate([*bound, [limit]]),
        bounds=np.stack([np.zeros(upper.size), upper.ravel()], axis=1),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.status == 0, found.message
    return 1.0 - found.fun if adversary_error is None else found.fun + base


def random_belief(rng, papers, secrets):
    return bc.Belief(rng.dirichlet(np.full(secrets, 0.8), size=papers), rng.random((papers, secrets)))


def totals(belief, policy, weights):
    return (
        float(weights @ policy.conference_error(belief)),
        float(weights @ policy.adversary_error(belief)),
    )


@pytest.mark.parametrize(("secrets", "papers"), [(2, 400), (3, 300), (7, 150)])
@pytest.mark.parametrize("equal", [True, False])
def test_spend_is_the_joint_linear_program(secrets, papers, equal):
    rng = np.random.default_rng(secrets)
    belief = random_belief(rng, papers, secrets)
    weights = np.full(papers, 1 / papers) if equal else rng.dirichlet(np.ones(papers))
    front = bc.frontier(belief)
    least, most = (float(weights @ front.conference_error[:, k]) for k in (0, -1))
    for share in rng.random(count(2, 20)):
        allowed = least + share * (most - least)
        spent = bc.policy.spend(front, conference_error=allowed, weights=None if equal else weights)
        assert spent.adversary_error == pytest.approx(joint_program(belief, weights, allowed), abs=1e-8)
        assert totals(belief, spent.policy, weights) == pytest.approx(
            (spent.conference_error, spent.adversary_error), abs=1e-12
        )
        assert spent.conference_error == pytest.approx(allowed, abs=1e-12)
        back = bc.policy.spend(front, adversary_error=spent.adversary_error, weights=weights)
        assert back.conference_error == pytest.approx(allowed, abs=1e-10)
        wanted = joint_program(belief, weights, adversary_error=spent.adversary_error)
        assert back.conference_error == pytest.approx(wanted, abs=1e-8)


def test_a_sequence_of_frontiers_with_different_numbers_of_secrets():
    rng = np.random.default_rng(3)
    beliefs = [random_belief(rng, 1, n) for n in (2, 5, 3, 12)]
    fronts = [bc.frontier(bc.Belief(b.weight[0], b.favor[0])) for b in beliefs]
    least = np.mean([f.conference_error[0] for f in fronts])
    most = np.mean([f.conference_error[-1] for f in fronts])
    spent = bc.policy.spend(fronts, conference_error=0.5 * (least + most))
    errors = [p.conference_error(f.belief) for p, f in zip(spent.policy, fronts, strict=True)]
    guesses = [p.adversary_error(f.belief) for p, f in zip(spent.policy, fronts, strict=True)]
    assert np.mean(errors) == pytest.approx(0.5 * (least + most), abs=1e-12)
    assert np.mean(guesses) == pytest.approx(spent.adversary_error, abs=1e-12)
    stretched = [np.pad(f.conference_error, (0, 13 - f.conference_error.size), mode="edge") for f in fronts]
    again = [np.pad(f.adversary_error, (0, 13 - f.adversary_error.size), mode="edge") for f in fronts]
    assert allocate(stretched, again, conference_limit=0.5 * (least + most)).price == spent.price


def test_no_segment_dearer_than_the_price_is_bought_and_every_cheaper_one_is():
    belief = random_belief(np.random.default_rng(5), 2000, 2)
    front = bc.frontier(belief)
    spent = bc.policy.spend(front, conference_error=0.26)
    price = np.abs(2 * belief.favor - 1).min(axis=1)
    bought = spent.policy.adversary_error(belief)
    disagree = front.adversary_error[:, 0] < front.adversary_error[:, 1]
    cheap, dear = disagree & (price < spent.price - 1e-9), disagree & (price > spent.price + 1e-9)
    assert np.allclose(bought[cheap], belief.weight[cheap].min(axis=1), atol=1e-12)
    assert np.allclose(bought[dear], 0, atol=1e-12)
    assert cheap.sum() > 100
    assert dear.sum() > 100


def test_ties_take_the_same_fraction_of_each_segment():
    rng = np.random.default_rng(6)
    lengths = rng.uniform(1e-3, 0.5, 500)
    start = rng.uniform(0, 0.2, 500)
    chosen = allocate(
        np.stack([start, start + 0.3 * lengths], -1),  # the same price .3 but for rounding
        np.stack([0 * lengths, lengths], -1),
        conference_limit=float(start.mean() + 0.3 * 0.4 * lengths.mean()),
    )
    assert chosen.fraction == pytest.approx(0.4, abs=1e-9)
    assert np.allclose(chosen.adversary_error / lengths, 0.4, atol=1e-9)


@given(st.integers(1, 30), st.integers(2, 5), st.integers(0, 10**6), st.floats(0, 1))
def test_allocation_is_monotone_and_meets_its_limit(papers, secrets, seed, share):
    belief = random_belief(np.random.default_rng(seed), papers, secrets)
    front = bc.frontier(belief)
    least, most = (float(front.conference_error[:, k].mean()) for k in (0, -1))
    low, high = (
        bc.policy.spend(front, conference_error=least + s * (most - least)) for s in (0.7 * share, share)
    )
    assert low.conference_error <= least + 0.7 * share * (most - least) + 1e-12
    assert low.adversary_error <= high.adversary_error + 1e-12
    assert low.price <= high.price + 1e-12
    again = at_price(front.conference_error, front.adversary_error, high.price, high.fraction)
    assert again.adversary_total == pytest.approx(high.adversary_error, abs=1e-12)


def test_more_than_can_be_spent_buys_everything_and_least_buys_nothing():
    belief = random_belief(np.random.default_rng(8), 50, 3)
    front = bc.frontier(belief)
    assert bc.policy.spend(front, conference_error=1.0).adversary_error == pytest.approx(
        float(front.adversary_error[:, -1].mean()), abs=1e-12
    )
    least = float(front.conference_error[:, 0].mean())
    assert bc.policy.spend(front, conference_error=least).conference_error == pytest.approx(least, abs=1e-12)
