"""`blindcal research pair` and `average`: what calibrating two papers of two reviewers costs in privacy."""

from __future__ import annotations

import numpy as np

from blindcal.adversaries.single_paper import audit
from blindcal.cli.console import emit_json, number, say, table
from blindcal.cli.options import (
    Noise,
    Prior,
    Reviewers,
    decimal,
    numeric,
    option,
    probability,
    reviewer_pair,
    two_numbers,
)
from blindcal.errors import InputError
from blindcal.policy.average_case import average_frontier
from blindcal.policy.pareto_frontier import Frontier, frontier
from blindcal.policy.policy import Policy, epsilon_policy
from blindcal.posterior.belief import Belief, pair_belief


def pair(
    reviewer: Reviewers,
    scores: str = option("The public scores of paper 1 and paper 2.", default=..., metavar="S1,S2"),
    noise: Noise = 0.0,
    prior: Prior = 0.5,
    max_error: float | None = numeric(
        probability, "Largest chance of accepting the worse paper that you allow; adds the best policy."
    ),
    epsilon: float | None = numeric(
        decimal, "Instead: add the best policy whose decision changes no one's odds by more than e^EPSILON."
    ),
) -> None:
    """Show the belief, the frontier and a policy for two papers and two reviewers.

    Each reviewer wrote one review. Assignment A1 is reviewer 1 on paper 1, A2 is reviewer 2 on paper 1. The
    conference error is the chance of accepting the worse paper; the adversary error is the chance that the
    adversary's best guess of the assignment is wrong.

    Example: blindcal research pair --reviewer 1.2,0.3 --reviewer 0.8,-0.3 --noise 0.5 --scores 0.9,0.4
    """
    if max_error is not None and epsilon is not None:
        raise InputError("give either --max-error or --epsilon, not both")
    both = two_numbers("--scores", scores)
    belief = pair_belief(reviewer_pair(reviewer, noise), both, prior)
    front = frontier(belief)
    policy = None if epsilon is None else epsilon_policy(belief, epsilon)
    if max_error is not None:
        policy = front.policy(conference_error=max_error)
    emit_json(_pair_report(belief, front, policy))
    _print_pair(belief, front, policy)


def _pair_report(belief: Belief, front: Frontier, policy: Policy | None) -> dict[str, object]:
    report: dict[str, object] = {
        "weight": belief.weight,
        "favor": belief.favor,
        "frontier": {"conference_error": front.conference_error, "adversary_error": front.adversary_error},
    }
    if policy is not None:
        finding, q = audit(belief, policy), policy.calibrates(belief)
        report["policy"] = {
            "accept": policy.accept,
            "q": None if np.isnan(q).any() else q,
            "conference_error": policy.conference_error(belief),
            "adversary_error": float(1 - finding.success),
            "epsilon": finding.epsilon,
            "multiplier": finding.multiplier,
        }
    return report


def _print_pair(belief: Belief, front: Frontier, policy: Policy | None) -> None:
    rows: list[tuple[object, ...]] = [
        ("weight: what the scores alone say about the assignment", *belief.weight.tolist()),
        ("favor: chance that paper 1 is the better one", *belief.favor.tolist()),
        ("price: cost of deciding against that, per unit of weight", *np.abs(2 * belief.favor - 1).tolist()),
    ]
    if policy is not None:
        rows.append(("policy: chance of accepting paper 1", *policy.accept.tolist()))
    table(("", "A1", "A2"), rows)
    say()
    least, most = ((float(front.conference_error[k]), float(front.adversary_error[k])) for k in (0, -1))
    if least == most:
        say(f"One point: conference error {number(least[0])}, adversary error {number(least[1])}.")
        say("Deciding by the evidence adds nothing to what the scores reveal.")
    else:
        say(f"Frontier: conference error {number(least[0])} to {number(most[0])},")
        say(f"          adversary error  {number(least[1])} to {number(most[1])}.")
    if policy is not None:
        say()
        table(("policy", ""), _revealed(belief, policy))


def _revealed(belief: Belief, policy: Policy) -> list[tuple[str, float]]:
    finding = audit(belief, policy)
    return [
        ("conference error", float(policy.conference_error(belief))),
        # Rounded down, as the chance that the best guess is right is rounded up.
        ("adversary error", float(1 - finding.success)),
        ("adversary error from the scores alone", float(1 - finding.success_scores_only)),
        ("epsilon: odds change by at most e^", finding.epsilon),
        ("multiplier: a correct guess becomes at most this many times likelier", finding.multiplier),
        ("largest posterior after any decision", finding.largest_posterior),
    ]


# --- `blindcal research average`: two reviewers, all the scores they may give; the best trade on average


def average(
    reviewer: Reviewers,
    noise: Noise = 0.0,
    prior: Prior = 0.5,
    max_error: float | None = numeric(
        probability, "Largest average chance of accepting the worse paper that you allow; adds the best rule."
    ),
) -> None:
    """Show the errors of two papers, averaged over all possible scores.

    Two reviewers wrote one review each. The conference error is the chance of accepting the worse paper; the
    adversary error is the chance that the adversary's best guess of the assignment is wrong. The best rule
    trades error for privacy wherever the price of privacy is at most a threshold.

    Example: blindcal research average --reviewer 1.2,0.3 --reviewer 0.8,-0.3 --noise 0.5 --max-error 0.16
    """
    front = average_frontier(reviewer_pair(reviewer, noise), prior)
    rule = None if max_error is None else front.rule(conference_error=max_error)
    report = {name: getattr(front, name) for name in ("least_error", "largest_error")}
    report["adversary_error_at_largest"] = front.largest_adversary_error
    kept = ("price", "conference_error", "adversary_error")
    policy = {} if rule is None else {"policy": {name: getattr(rule, name) for name in kept}}
    emit_json(report | policy)
    if front.largest_error == front.least_error:
        say(f"One point: conference error {number(front.least_error)},")
        say(f"           adversary error  {number(front.largest_adversary_error)}.")
        say("Both assignments always favor the same paper: deciding by the evidence adds nothing.")
        return
    rows = [
        ("always by the evidence", front.least_error, front.least_adversary_error),
        ("beyond this, more error buys no privacy", front.largest_error, front.largest_adversary_error),
    ]
    if rule is not None:
        rows.append(("the best rule within the error allowed", rule.conference_error, rule.adversary_error))
    table(("average errors", "conference", "adversary"), rows)
    if rule is not None:
        say()
        share = f", {number(100 * rule.fraction, 1)} % of it where it is exactly that"
        tie = "" if rule.fraction >= 1.0 else share
        say(f"Rule: spend wherever the price of privacy is at most {number(rule.price)}{tie}.")
