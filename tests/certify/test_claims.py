"""Certificates against an oracle of plain fractions, on tables from the general program and on hard cases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blindcal.certify.claims import certify, claim
from blindcal.certify.claims import keeps_guarantee as kept
from blindcal.certify.exact import UNIT, ExactPolicy, weight_integers
from blindcal.errors import CertificateError
from blindcal.policy import guarantee as guarantee_module
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.belief import Belief
from oracles import Oracle, agree, keeps
from papers import random_paper, solved
from sizes import count

MENU = (
    Guarantee("steady", epsilon=2.0),
    Guarantee("steady", epsilon=None),
    Guarantee("steady", epsilon=1.0, multiplier=1.3),
    Guarantee("crowd", among=3, epsilon=None),
    Guarantee("crowd", among=5, epsilon=3.0),
    Guarantee("average", among=4, epsilon=None),
    Guarantee("average", epsilon=None),
    Guarantee("average", epsilon=2.0),
    Guarantee("average", epsilon=3.0, multiplier=1.5),
    Guarantee("public", epsilon=None),
    Guarantee("average", epsilon=1.5),
)
PARTS = (0.0, 1e-308, 1e-301, 1e-300, 1e-17, 1e-9, 0.1, 1 / 3, 1.0)


@pytest.mark.parametrize("guarantee", MENU, ids=str)
def test_every_promise_holds_exactly_for_tables_of_the_program(guarantee: Guarantee) -> None:
    rng = np.random.default_rng(6)
    for trial in range(count(12, 200)):
        candidates = int(rng.integers(2, 9))
        reviews = int(rng.integers(1, min(candidates, 4 if candidates < 7 else 3) + 1))
        belief = random_paper(rng, candidates, reviews, twins=trial % 4 == 0)
        table = solved(belief, guarantee)
        policy, stated = certify(belief, table, guarantee)
        agree(stated, keeps(guarantee, belief, policy))
        lost = float(belief.weight @ ((policy.accept - table) * (1 - 2 * belief.favor)))
        assert lost < 1e-6, "the repair must cost next to nothing"


def test_a_guarantee_that_nothing_compares_is_never_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for somebody who adds a name and forgets what it promises."""
    kinds = {**guarantee_module.GUARANTEES, "top three": guarantee_module.GUARANTEES["none"]}
    monkeypatch.setattr(guarantee_module, "GUARANTEES", kinds)
    monkeypatch.setattr(guarantee_module, "NAMES", tuple(kinds))
    belief, accept = Belief([0.6, 0.4], [0.9, 0.2]), np.array([1.0, 0.0])
    later = Guarantee("top three", epsilon=None)
    with pytest.raises(CertificateError, match="top three cannot be certified here"):
        certify(belief, accept, later)
    for name in guarantee_module.NAMES[:-1]:
        certify(belief, accept, Guarantee(name, epsilon=3.0))


@dataclass(frozen=True)
class LaterGuarantee(Guarantee):
    bits: float | None = None


def test_a_limit_that_nothing_compares_is_never_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for somebody who adds a row to the table of limits and forgets its comparison."""
    limits = {**guarantee_module.LIMITS, "bits": guarantee_module.LIMITS["multiplier"]}
    monkeypatch.setattr(guarantee_module, "LIMITS", limits)
    belief, accept = Belief([0.6, 0.4], [0.9, 0.2]), np.array([1.0, 0.0])
    table = ExactPolicy(np.array([UNIT, 0]))
    for name in guarantee_module.NAMES:
        later = LaterGuarantee(name, epsilon=3.0, bits=1.5)
        with pytest.raises(CertificateError, match="bits cannot be certified here"):
            certify(belief, accept, later)
        with pytest.raises(CertificateError, match="bits cannot be certified here"):
            kept(belief, table, later)
        certify(belief, accept, LaterGuarantee(name, epsilon=3.0))


@pytest.mark.parametrize("limit", guarantee_module.LIMITS)
def test_every_limit_is_compared_or_has_another_place(limit: str) -> None:
    """A table that breaks one limit alone is found."""
    belief, table = Belief([0.6, 0.4], [0.9, 0.1]), ExactPolicy(np.array([UNIT, 0]))
    breaks = {
        "epsilon": Guarantee("none", epsilon=9.0),
        "multiplier": Guarantee("none", epsilon=None, multiplier=1.9),
        "posterior_cap": Guarantee("none", epsilon=None, posterior_cap=0.9),
        "among": Guarantee("crowd", epsilon=None),
    }
    assert kept(belief, table, Guarantee("none", epsilon=None, never_against=0.8))
    against = ExactPolicy(np.array([0, 0]))
    if limit == "never_against":
        assert not kept(belief, against, Guarantee("none", epsilon=None, never_against=0.8))
    else:
        assert not kept(belief, table, breaks[limit])


@st.composite
def beliefs(draw: st.DrawFn) -> tuple[Belief, np.ndarray]:
    """Skewed, tied and zero weights, favors of 1/2, shared labels, and any table."""
    n = draw(st.integers(2, 8))
    raw = draw(st.lists(st.sampled_from(PARTS), min_size=n, max_size=n))
    raw[0] = 1.0
    chance = st.one_of(st.sampled_from([0.0, 5e-324, 1e-9, 0.5, 1.0]), st.floats(0, 1))
    favor = draw(st.lists(chance, min_size=n, max_size=n))
    table = draw(st.lists(chance, min_size=n, max_size=n))
    labels = draw(st.lists(st.lists(st.integers(-1, 3), min_size=n, max_size=n), min_size=1, max_size=3))
    weight = np.array(raw) / np.sum(raw)
    return Belief(weight, favor, np.array(labels)), np.array(table)


@given(beliefs(), st.sampled_from(MENU))
def test_any_table_is_made_to_keep_its_promise(case: tuple[Belief, np.ndarray], guarantee: Guarantee) -> None:
    belief, table = case
    policy, stated = certify(belief, table, guarantee)
    keeps(guarantee, belief, policy)
    agree(stated, Oracle(belief, policy))


@given(beliefs())
def test_claims_agree_with_fractions_on_any_table(case: tuple[Belief, np.ndarray]) -> None:
    belief, table = case
    policy = ExactPolicy(np.rint(table * UNIT).astype(np.int64), ((0, Fraction(1, 3)),))
    agree(claim(belief, policy), Oracle(belief, policy))


def test_stated_epsilon_never_exceeds_a_limit_that_was_met() -> None:
    """The limit's exponential is rounded down with fewer digits than the logarithm is rounded up."""
    rng = np.random.default_rng(3)
    for epsilon in (0.0, 0.1, 1.0, 2.0, math.log(2), 5.0, 40.0):
        for name in ("steady", "average"):
            belief = random_paper(rng, 5, 2)
            guarantee = Guarantee(name, epsilon=epsilon)
            _, stated = certify(belief, solved(belief, guarantee), guarantee)
            assert stated.epsilon <= epsilon


def test_a_deterministic_table_that_breaks_the_promise_is_repaired() -> None:
    belief = Belief([0.5, 0.3, 0.2], [0.9, 0.1, 0.2])
    policy, stated = certify(belief, np.array([1.0, 0.0, 0.0]), Guarantee("average", epsilon=None))
    keeps(Guarantee("average", epsilon=None), belief, policy)
    assert stated.mixed > 0


def test_tied_heaviest_weights_fall_back_to_the_public_decision() -> None:
    """Two equally likely secrets that disagree: zero added success leaves only a constant decision."""
    belief = Belief([0.5, 0.5], [0.9, 0.2])
    for guarantee in (Guarantee("average", epsilon=None), Guarantee("steady", epsilon=None)):
        policy, stated = certify(belief, np.array([1.0, 0.0]), guarantee)
        keeps(guarantee, belief, policy)
        assert len({policy.probability(0), policy.probability(1)}) == 1
    assert stated.added == 0


def test_a_posterior_cap_below_the_scores_alone_is_refused() -> None:
    belief = Belief([0.9, 0.1], [0.9, 0.2])
    with pytest.raises(CertificateError, match="not even a constant"):
        certify(belief, np.array([1.0, 0.0]), Guarantee("none", epsilon=None, posterior_cap=0.5))


def test_a_posterior_cap_above_it_is_kept() -> None:
    belief = Belief([0.6, 0.4], [0.9, 0.2])
    guarantee = Guarantee("none", epsilon=None, posterior_cap=0.8)
    policy, _ = certify(belief, np.array([1.0, 0.0]), guarantee)
    keeps(guarantee, belief, policy)


def test_never_against_stays_exact_through_the_repair() -> None:
    rng = np.random.default_rng(4)
    guarantee = Guarantee("none", epsilon=None, never_against=0.95)
    belief = random_paper(rng, 6, 2)
    policy, _ = certify(belief, np.full(belief.weight.size, 0.25), guarantee, mixed=0.001)
    assert all(policy.probability(int(r)) == 1 for r in np.flatnonzero(belief.favor >= 0.95))
    assert all(policy.probability(int(r)) == 0 for r in np.flatnonzero(belief.favor <= 0.05))


def both_decisions(belief: Belief, first: ExactPolicy, second: dict[bool, ExactPolicy]) -> Fraction:
    """The adversary's success after two decisions; the second table follows the first decision."""
    weight = [Fraction(float(w)) for w in belief.weight]
    success = Fraction(0)
    for accepted, policy in second.items():
        for again in (True, False):
            chances = []
            for r, w in enumerate(weight):
                one, two = first.probability(r), policy.probability(r)
                chances.append(w * (one if accepted else 1 - one) * (two if again else 1 - two))
            success += max(chances)
    return success / sum(weight)


def test_weights_are_read_exactly() -> None:
    rng = np.random.default_rng(5)
    weight = rng.random(50) * 2.0 ** rng.integers(-900, 0, 50)
    weight[3] = 0.0
    exact = weight_integers(weight)
    share = [Fraction(int(w), int(exact.sum())) for w in exact]
    total = sum(Fraction(float(w)) for w in weight)
    assert share == [Fraction(float(w)) / total for w in weight]


def test_what_is_never_decided_against_is_decided_for_sure() -> None:
    """By the evidence from .8 on, either way, whatever the rest is mixed with; the check says so."""
    rng, sure = np.random.default_rng(21), Guarantee("none", epsilon=None, never_against=0.8)
    for _ in range(20):
        belief = random_paper(rng, 5, 2)
        for mixed in (0.0, 0.25):
            policy, _ = certify(belief, np.full(belief.weight.size, 0.4), sure, mixed=mixed)
            held = (belief.favor >= 0.8) | (1 - belief.favor >= 0.8)
            assert (policy.accept[held] == (belief.favor[held] > 0.5)).all()
            assert mixed or policy.accept[~held] == pytest.approx(0.4)
            assert kept(belief, policy, sure)
            for secret in np.flatnonzero(held):
                numerator = policy.numerator.copy()
                numerator[secret] = UNIT // 2
                assert not kept(belief, ExactPolicy(numerator), sure)


def test_a_cap_is_checked_after_both_outcomes() -> None:
    """Accepting leaves .6 and .4 as they are; rejecting names the first secret."""
    belief, cap = Belief([0.6, 0.4], [0.9, 0.2]), Guarantee("none", epsilon=None, posterior_cap=0.8)
    for table in ((UNIT // 2, UNIT), (UNIT // 2, 0)):
        assert not kept(belief, ExactPolicy(np.array(table)), cap)
    assert kept(belief, ExactPolicy(np.array([UNIT // 2, UNIT // 2])), cap)
