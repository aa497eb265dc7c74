"""The average case: integrals against a slower method, the game played, Algorithm 2, limits, symmetries."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import erf
from scipy.stats import binomtest

import blindcal as bc
import slow_averages
from blindcal.paper import algorithm_1, algorithm_2, theorem_4_4
from sizes import count

KINDS = {
    "affine": bc.Affine,
    "logistic": bc.reviewers.Logistic,
    "power": bc.reviewers.Power,
    "pieces": bc.reviewers.PiecewiseLinear,
}
STORED = json.loads(slow_averages.VECTORS.read_text())["values"]
FALSE_ALARM = 1e-6


def reviewer(kind) -> bc.Reviewer:
    name, *parameters = kind
    return KINDS[name](*parameters)


def six_integrals(name):
    one, two, prior = slow_averages.SETTINGS[name]
    avg = bc.policy.average_frontier((reviewer(one), reviewer(two)), prior)
    at_level = avg.at_price(float(erf(slow_averages.LEVEL / np.sqrt(2))))
    found = {
        "least": avg.least_error,
        "agree": avg.least_adversary_error,
        "gained": avg.largest_adversary_error - avg.least_adversary_error,
        "spent": avg.largest_error - avg.least_error,
        "gained_at_level": at_level.adversary_error - avg.least_adversary_error,
        "spent_at_level": at_level.conference_error - avg.least_error,
    }
    return found, avg.integration_error


@pytest.mark.parametrize("name", slow_averages.SETTINGS)
def test_integrals_agree_with_the_slower_method(name):
    found, bound = six_integrals(name)
    assert bound < 1e-8
    # reference/numerics.md states this largest difference; the slower method's own error is about 1e-10.
    assert found == pytest.approx(STORED[name], abs=2e-10)


# The one that takes minutes is left to the script.
QUICK = [name for name in slow_averages.SETTINGS if name != "noisy logistics"]


@pytest.mark.parametrize("name", QUICK[4 : 4 + count(2, 100)])
def test_the_slower_method_gives_what_is_stored(name):
    assert slow_averages.slow(name)[0] == pytest.approx(STORED[name], abs=1e-10)


def drawn(rng, reviewers, prior, pairs):
    """Qualities, the true assignment and the scores, as the model says."""
    quality, first = rng.standard_normal((pairs, 2)), rng.random(pairs) < prior
    noise = rng.standard_normal((pairs, 2))
    one, two = (
        np.stack([r.score(quality[:, i]) + r.noise * noise[:, i] for i in (0, 1)], -1) for r in reviewers
    )
    scores = np.where(
        first[:, None], np.stack([one[:, 0], two[:, 1]], -1), np.stack([two[:, 0], one[:, 1]], -1)
    )
    return quality, first, scores


def map_adversary(reviewers, prior, scores, accept, accepted):
    """Guess A1 where its posterior after the decision is larger, from the reviewers' own densities."""
    one, two = reviewers
    log_a1 = np.log(prior) + one.log_marginal(scores[:, 0]) + two.log_marginal(scores[:, 1])
    log_a2 = np.log1p(-prior) + two.log_marginal(scores[:, 0]) + one.log_marginal(scores[:, 1])
    chance = np.where(accepted[:, None], accept, 1 - accept)
    with np.errstate(divide="ignore"):
        return log_a1 + np.log(chance[:, 0]) >= log_a2 + np.log(chance[:, 1])


GAMES = {
    "noiseless affine": ((bc.Affine(1.2, 0.3), bc.Affine(0.8, -0.3)), 0.5),
    "noiseless, not affine": (
        (bc.reviewers.Logistic(1, 10, 1.4, 0.3), bc.reviewers.Power(1.5, 2.0, 5.0)),
        0.4,
    ),
    "noisy affine": ((bc.Affine(1.2, 0.3, 0.5), bc.Affine(0.8, -0.3, 0.3)), 0.6),
}


@pytest.mark.parametrize("name", GAMES)
def test_the_game_played_errs_as_often_as_stated(name):
    """Reviewers draw, the rule decides, a separate adversary guesses; exact intervals, false alarm 1e-6."""
    reviewers, prior = GAMES[name]
    avg = bc.policy.average_frontier(reviewers, prior)
    rule = avg.rule(conference_error=0.6 * avg.least_error + 0.4 * avg.largest_error)
    rng = np.random.default_rng(2024)
    wrong = missed = played = 0
    for _ in range(count(2, 40)):
        quality, first, scores = drawn(rng, reviewers, prior, 250_000)
        accept = rule.policy(scores).accept
        accepted = rng.random(len(first)) < np.where(first, accept[:, 0], accept[:, 1])
        wrong += int((accepted != (quality[:, 0] > quality[:, 1])).sum())
        missed += int((map_adversary(reviewers, prior, scores, accept, accepted) != first).sum())
        played += len(first)
    for errors, stated in ((wrong, rule.conference_error), (missed, rule.adversary_error)):
        assert binomtest(errors, played, stated).pvalue > FALSE_ALARM, (errors / played, stated)


@pytest.mark.parametrize("name", ["noiseless affine", "noiseless, not affine"])
def test_theorem_4_4_without_noise_the_rule_is_the_coin_of_algorithm_2(name):
    reviewers, _ = GAMES[name]
    avg = bc.policy.average_frontier(reviewers)
    zeta = avg.largest_error
    _, _, scores = drawn(np.random.default_rng(7), reviewers, 0.5, 20_000)
    scores = scores[
        bc.pair_belief(reviewers, scores).weight.min(axis=1) > 0
    ]  # weight 0: any decision will do
    belief = bc.pair_belief(reviewers, scores)
    for share in (0.0, 0.25, 0.8, 1.0):
        rule = avg.rule(conference_error=share * zeta)
        assert rule.price == 1.0 or share == 0.0
        assert rule.policy(scores).accept == pytest.approx(
            algorithm_2(belief, share * zeta, zeta).accept, abs=1e-9
        )
        stated = theorem_4_4(share * zeta, zeta, avg.least_adversary_error)
        assert rule.adversary_error == pytest.approx(float(stated), abs=1e-12)
    # zeta is the average error of Algorithm 1 at error 1 (standard error about .001 here; six of them).
    average = algorithm_1(belief, 1.0).policy.conference_error(belief).sum() / 20_000
    assert average == pytest.approx(zeta, abs=0.006)
    assert avg.rule(conference_error=0.9).conference_error == pytest.approx(zeta, abs=1e-12)


@pytest.mark.parametrize("prior", [0.5, 0.8])
def test_noise_to_zero_converges_to_algorithm_2(prior):
    def frontier(noise):
        return bc.policy.average_frontier((bc.Affine(1.2, 0.3, noise), bc.Affine(0.8, -0.3, noise)), prior)

    exact = frontier(0.0)
    for share in (0.3, 0.9):
        allowed = share * exact.largest_error
        gaps = [
            abs(
                frontier(noise).rule(conference_error=allowed).adversary_error
                - exact.rule(conference_error=allowed).adversary_error
            )
            for noise in (3e-2, 1e-2, 1e-3, 1e-4, 1e-6)
        ]
        assert gaps == sorted(gaps, reverse=True)
        assert gaps[-1] < 1e-5


def test_the_frontier_is_increasing_and_concave_and_prices_are_its_slopes():
    avg = bc.policy.average_frontier((bc.Affine(1.2, 0.3, 0.5), bc.Affine(0.8, -0.3, 0.3)), 0.6)
    allowed = np.linspace(avg.least_error, avg.largest_error, 40)
    error = avg.adversary_error(conference_error=allowed)
    slope = np.diff(error) / np.diff(allowed)
    assert (slope > 0).all()
    assert (np.diff(slope) < 1e-9).all()
    assert error[-1] == pytest.approx(avg.largest_adversary_error, abs=1e-12)
    rule = avg.rule(conference_error=float(allowed[12]))
    step = 1e-5
    above, below = (
        float(avg.adversary_error(conference_error=rule.conference_error + d)) for d in (step, -step)
    )
    assert (above - below) / (2 * step) == pytest.approx(1 / rule.price, rel=1e-4)


def test_both_directions_meet():
    avg = bc.policy.average_frontier((bc.Affine(1.2, 0.3, 0.5), bc.Affine(0.8, -0.3, 0.3)), 0.6)
    rule = avg.rule(conference_error=0.14)
    back = avg.rule(adversary_error=rule.adversary_error)
    assert (back.price, back.conference_error) == pytest.approx((rule.price, 0.14), abs=1e-9)
    priced = avg.at_price(rule.price)
    assert (priced.conference_error, priced.adversary_error) == pytest.approx(
        (0.14, rule.adversary_error), abs=1e-9
    )


def test_every_budget_is_met():
    """From a millionth of what is worth spending to all but a billionth, in both directions."""
    rng = np.random.default_rng(9)
    for _ in range(count(20, 300)):
        pair = [bc.Affine(rng.uniform(0.2, 2), rng.normal(), 10 ** rng.uniform(-3, 0.5)) for _ in range(2)]
        avg = bc.policy.average_frontier(tuple(pair), rng.uniform(0.05, 0.95))
        for share in (1e-6, 0.01, 0.3, 0.9, 0.9999, 1 - 1e-9):
            allowed = avg.least_error + share * (avg.largest_error - avg.least_error)
            assert avg.rule(conference_error=allowed).conference_error == pytest.approx(allowed, abs=1e-12)
            wanted = avg.least_adversary_error * (1 - share) + avg.largest_adversary_error * share
            assert avg.rule(adversary_error=wanted).adversary_error == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize(
    "twin",
    [
        bc.Affine(1.1, 0.2),
        bc.Affine(1.1, 0.2, 0.5),
        bc.reviewers.Logistic(1, 10, 1.3),
        bc.reviewers.Logistic(1, 10, 1.3, noise=0.5),
    ],
    ids=["affine", "noisy affine", "logistic", "noisy logistic"],
)
def test_identical_reviewers_have_one_point(twin):
    avg = bc.policy.average_frontier((twin, twin), 0.3)
    assert avg.largest_error == pytest.approx(avg.least_error, abs=1e-10)
    assert avg.largest_adversary_error == pytest.approx(0.3, abs=1e-9)
    assert avg.adversary_error(conference_error=0.5) == pytest.approx(0.3, abs=1e-9)
