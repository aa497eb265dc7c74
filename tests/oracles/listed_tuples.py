"""Adversaries that list every tuple of reviewers and add up, knowing nothing of the code that they check."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise, permutations, product
from math import inf

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

from blindcal.certify.claims import Claim
from blindcal.certify.exact import CLAIM_DENOMINATOR, ExactPolicy
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.belief import Belief, unchecked_belief
from blindcal.posterior.paper import PaperCase

ROUNDING = 1e-9
"""By how much the table of a program may miss its limits."""


def gaussian_posteriors(case: PaperCase) -> np.ndarray:
    """For each tuple of equally likely reviewers who are known exactly its weight, and the mean and standard
    deviation of quality: their scores are jointly normal, with the covariance `a a' + diag(noise^2)`."""
    found = []
    for who in permutations(range(len(case.candidates)), len(case.scores)):
        a, b, noise = np.array([case.parameters[j][:3] for j in who]).T
        covariance = np.diag(noise**2) + np.outer(a, a)
        solved = np.linalg.solve(covariance, a)
        density = multivariate_normal(b, covariance).pdf(case.scores)
        found.append((density, solved @ (case.scores - b), np.sqrt(1.0 - solved @ a)))
    weight, mean, deviation = np.array(found).T
    return np.stack([weight / weight.sum(), mean, deviation])


def integrals(case: PaperCase, some: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """For some of the tuples, distinct but for `*`, the log density of the scores and the chance that quality
    is above the bar: one tuple after the other, in logarithms, on a rule of its own (48,000 nodes)."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    edges = np.concatenate([np.linspace(-42, case.bar, 601), np.linspace(case.bar, 42, 601)[1:]])
    half = np.diff(edges)[:, None] / 2
    t, rule = (edges[:-1, None] + half * (1 + nodes)).ravel(), np.log(half * weights).ravel()
    named = {j for j, name in enumerate(case.candidates) if name != "*"}
    every = product(range(len(case.candidates)), repeat=len(case.scores))
    tuples = [who for who in every if all(who.count(j) == 1 for j in named.intersection(who))]
    log_weight, favor = np.empty(len(some)), np.empty(len(some))
    given = {(s, j): _log_given(case, s, j, t) for s in set(case.scores) for j in range(len(case.candidates))}
    for row, who in enumerate(tuples[index] for index in some):
        value = rule + norm.logpdf(t)
        for score, j in zip(case.scores, who, strict=True):
            value = value + given[score, j]
        log_weight[row] = logsumexp(value)
        favor[row] = np.exp(logsumexp(value[t > case.bar]) - log_weight[row])
    return log_weight, favor


def _log_given(case: PaperCase, score: float, j: int, t: np.ndarray) -> np.ndarray:
    """Log density (or chance, on a grid) of one score; an uncertain line has variance
    `sa^2 t^2 + 2 rho sa sb t + sb^2` at quality t."""
    a, b, noise, sa, sb, rho, sn = case.parameters[j]
    sd = np.sqrt((sa * t) ** 2 + 2 * rho * sa * sb * t + sb**2 + noise**2 + sn**2)
    if case.grid is None:
        return norm.logpdf(score, a * t + b, sd)
    place, ends = case.grid.index(score), [-inf, *((x + y) / 2 for x, y in pairwise(case.grid)), inf]
    low, high = ((ends[place + side] - a * t - b) / sd for side in (0, 1))
    # The difference of the two chances, taken in the tail where they are small.
    upper, lower = np.where(low + high > 0, -low, high), np.where(low + high > 0, -high, low)
    with np.errstate(divide="ignore"):
        return norm.logcdf(upper) + np.log(-np.expm1(norm.logcdf(lower) - norm.logcdf(upper)))


class Oracle:
    """Section 5 of the theory with fractions and dictionaries: no integers on one exponent, no arrays.

    A table of floats is taken as it is, and everything is added up in floats. A label below 0 is nobody: it
    may take mass, and is no guess.
    """

    def __init__(self, belief: Belief, policy: ExactPolicy | np.ndarray) -> None:
        n, exact = belief.weight.size, isinstance(policy, ExactPolicy)
        entry = range(n) if belief.entry is None else belief.entry.tolist()
        raw = [Fraction(w) if exact else w for w in belief.weight.tolist()]
        self.accept = [policy.probability(e) for e in entry] if exact else policy.tolist()
        labels = np.arange(n)[None] if belief.labels is None else belief.labels
        total = sum(raw)
        # The few long denominators come last: a sum of dyadic numbers stays short.
        order = sorted(range(n), key=lambda r: self.accept[r].as_integer_ratio()[1])
        self.p = {True: Fraction(0), False: Fraction(0)}
        self.slots: list[dict[bool | None, dict[int, Fraction]]] = []
        for slot in labels:
            mass: dict[bool | None, dict[int, Fraction]] = {None: {}, True: {}, False: {}}
            names = slot.tolist()
            for r in order:
                accepted = raw[r] * self.accept[r]
                for outcome, part in ((None, raw[r]), (True, accepted), (False, raw[r] - accepted)):
                    mass[outcome][names[r]] = mass[outcome].get(names[r], Fraction(0)) + part
            self.slots.append(
                {
                    outcome: {name: part / total for name, part in parts.items()}
                    for outcome, parts in mass.items()
                }
            )
        for outcome in (True, False):
            self.p[outcome] = sum(self.slots[0][outcome].values(), Fraction(0))
        for slot in self.slots:
            for parts in slot.values():
                parts.pop(-1, None)
                parts[-2] = Fraction(0)

    @property
    def scores_only(self) -> Fraction:
        return sum((max(s[None].values()) for s in self.slots), Fraction(0))

    @property
    def success(self) -> Fraction:
        return sum((max(s[d].values()) for s in self.slots for d in (True, False)), Fraction(0))

    @property
    def tops(self) -> list[tuple[Fraction, Fraction, Fraction]]:
        """(mass of the best guess after an outcome, chance of that, mass of the best one before it)."""
        return [
            (max(s[d].values()), self.p[d], max(s[None].values())) for s in self.slots for d in (True, False)
        ]

    @property
    def posteriors(self) -> list[tuple[Fraction, Fraction]]:
        """(the top posterior after an outcome, the top one before it) for each slot and outcome."""
        return [(mass / chance, before) for mass, chance, before in self.tops if chance > 0]

    @property
    def by_name(self) -> list[Fraction]:
        """The top posterior of each slot after each outcome, for someone who knows that it was not nobody."""
        tops = [(max(s[d].values()), sum(s[d].values())) for s in self.slots for d in (True, False)]
        return [top / named for top, named in tops if named > 0]

    @property
    def of_paper(self) -> list[Fraction]:
        """For each label and outcome the sum over slots of P(label | outcome): nobody is in two."""
        people = {name for s in self.slots for name in s[None]}
        return [
            sum((s[d].get(name, Fraction(0)) for s in self.slots), Fraction(0)) / self.p[d]
            for name in people
            for d in (True, False)
            if self.p[d] > 0
        ]

    @property
    def factors(self) -> list[Fraction]:
        """P(label | outcome) / P(label) for each slot, label and outcome."""
        return [
            part / self.p[d] / s[None][name]
            for s in self.slots
            for d in (True, False)
            for name, part in s[d].items()
            if self.p[d] > 0 and s[None][name] > 0
        ]

    @property
    def ratio(self) -> Fraction | None:
        worst = Fraction(1)
        for side in (self.accept, [1 - a for a in self.accept]):
            if max(side) > 0 and min(side) == 0:
                return None
            if max(side) > 0:
                worst = max(worst, max(side) / min(side))
        return worst

    @property
    def multiplier(self) -> Fraction:
        return max(self.accept) + 1 - min(self.accept)


def agree(stated: Claim, true: Oracle) -> None:
    """Nothing is stated better than it is, and nothing worse by more than the last digit."""
    for said, exact in (
        (stated.named, true.success),
        (stated.named_scores_only, true.scores_only),
        (stated.newly_named, true.success - true.scores_only),
    ):
        assert exact <= said <= exact + Fraction(1, CLAIM_DENOMINATOR)
    floats = (
        (stated.largest_rise, max(0, *(after - before for after, before in true.posteriors))),
        (stated.largest_posterior, max(after for after, _ in true.posteriors)),
        (stated.largest_posterior_scores_only, max(before for _, _, before in true.tops)),
        (stated.largest_posterior_named, max(true.by_name, default=Fraction(0))),
        (stated.largest_posterior_paper, min(Fraction(1), max(true.of_paper))),
        (stated.largest_factor, max(true.factors, default=Fraction(1))),
        (stated.multiplier, true.multiplier),
    )
    for said, exact in floats:
        if said == inf:
            assert exact > float(np.finfo(float).max)
            continue
        assert exact <= Fraction(said)
        assert float(exact) >= said - 2.3e-16 * max(1.0, said)
    ratio = true.ratio
    if ratio is None:
        assert stated.epsilon == math.inf
    else:
        digits, bottom = Context(prec=60), Decimal(ratio.denominator)
        exact_log = float(digits.ln(digits.divide(Decimal(ratio.numerator), bottom)))
        assert abs(stated.epsilon - exact_log) <= 1e-12 * exact_log
        assert digits.multiply(digits.exp(Decimal(stated.epsilon)), bottom) >= ratio.numerator


def keeps(guarantee: Guarantee, belief: Belief, policy: ExactPolicy | np.ndarray, slack: float = 0) -> Oracle:
    """Every limit, exactly or up to `slack`; the adversary that says so."""
    true = Oracle(belief, policy)
    caps = [lambda before: before] if guarantee.name == "steady" else []
    if guarantee.posterior_cap is not None:
        caps.append(lambda _: Fraction(guarantee.posterior_cap))
    if guarantee.among is not None:
        caps.append(lambda before: max(before, Fraction(1, guarantee.among)))
    for cap in caps:
        assert all(mass <= cap(before) * chance + slack for mass, chance, before in true.tops), guarantee
    if guarantee.name in ("steady", "public", "average"):
        assert abs(true.success - true.scores_only) <= slack * len(true.slots), guarantee
    if guarantee.name == "public":
        assert len(set(true.accept)) == 1
    if guarantee.epsilon is not None:
        assert true.ratio is not None
        assert true.ratio <= Fraction(Context(prec=90).exp(Decimal(guarantee.epsilon + slack)))
    if guarantee.multiplier is not None:
        assert true.multiplier <= Fraction(guarantee.multiplier) + Fraction(slack)
    return true


def solvable(case: PaperCase, guarantee: Guarantee) -> bool:
    """Whether the scores alone leave everybody below the cap."""
    alone = Oracle(case.belief, np.ones(len(case.tuples)))
    return guarantee.posterior_cap is None or max(top for *_, top in alone.tops) <= guarantee.posterior_cap


def naming(case: PaperCase) -> Belief:
    """The weights of a paper's tuples with the guesses listed anew: people by name, and `*` is not a name."""
    named = [name for name in case.candidates if name != "*"]
    every = product(case.candidates, repeat=len(case.scores))
    tuples = [who for who in every if all(who.count(name) <= 1 for name in named)]
    labels = [[named.index(name) if name != "*" else -1 for name in who] for who in tuples]
    assert len(tuples) == case.belief.weight.size
    return unchecked_belief(case.belief.weight, case.belief.favor, np.array(labels).T)
