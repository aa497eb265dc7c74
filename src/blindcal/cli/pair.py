"""`blindcal research pair`: two papers, two reviewers, two scores; what calibrating them costs in privacy."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

from blindcal.adversaries.single_paper import audit
from blindcal.cli.arguments import Noise, Prior, Reviewers, decimal, decimals, probability, reviewer_pair
from blindcal.cli.console import Json, emit_json, number, say, table
from blindcal.errors import InputError
from blindcal.policy.pareto_frontier import Frontier, frontier
from blindcal.policy.policy import Policy, epsilon_policy
from blindcal.posterior.belief import Belief
from blindcal.posterior.pair import pair_belief


def pair(
    reviewer: Reviewers,
    scores: Annotated[str, typer.Option(metavar="S1,S2", help="The public scores of paper 1 and paper 2.")],
    noise: Noise = 0.0,
    prior: Prior = 0.5,
    max_error: Annotated[
        float | None,
        typer.Option(
            parser=probability,
            metavar="NUMBER",
            help="Largest chance of accepting the worse paper that you allow; adds the best policy.",
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            parser=decimal,
            metavar="NUMBER",
            help="Instead: add the best policy whose decision changes nobody's odds by more than e^EPSILON.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the belief, the frontier and a policy for two papers and two reviewers.

    Each reviewer wrote one review. Assignment A1 is reviewer 1 on paper 1, A2 is reviewer 2 on paper 1. The
    conference error is the chance of accepting the worse paper; the adversary error is the chance that the
    adversary's best guess of the assignment is wrong.

    Example: blindcal research pair --reviewer 1.2,0.3 --reviewer 0.8,-0.3 --noise 0.5 --scores 0.9,0.4
    """
    if max_error is not None and epsilon is not None:
        raise InputError("give either --max-error or --epsilon, not both")
    both = decimals("--scores", scores)
    if len(both) != 2:
        raise InputError(f"--scores {scores!r}: must be two numbers, found {len(both)}")
    belief = pair_belief(reviewer_pair(reviewer, noise), both, prior)
    front = frontier(belief)
    policy = _policy(belief, front, max_error, epsilon)
    if as_json:
        emit_json(_report(belief, front, policy))
    else:
        _print(belief, front, policy)


def _policy(belief: Belief, front: Frontier, max_error: float | None, epsilon: float | None) -> Policy | None:
    if max_error is not None:
        return front.policy(conference_error=max_error)
    return None if epsilon is None else epsilon_policy(belief, epsilon)


def _report(belief: Belief, front: Frontier, policy: Policy | None) -> dict[str, object]:
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
            "adversary_error": _adversary_error(belief, policy),
            "epsilon": finding.epsilon,
            "multiplier": finding.multiplier,
        }
    return report


def _print(belief: Belief, front: Frontier, policy: Policy | None) -> None:
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


def _adversary_error(belief: Belief, policy: Policy) -> float:
    """The chance that the adversary's best guess after the decision is wrong, rounded down."""
    return float(1 - audit(belief, policy).success)


def _revealed(belief: Belief, policy: Policy) -> list[tuple[str, float]]:
    finding = audit(belief, policy)
    return [
        ("conference error", float(policy.conference_error(belief))),
        ("adversary error", _adversary_error(belief, policy)),
        ("adversary error from the scores alone", float(1 - finding.success_scores_only)),
        ("epsilon: odds change by at most e^", finding.epsilon),
        ("multiplier: a correct guess becomes at most this many times likelier", finding.multiplier),
        ("largest posterior after any decision", finding.largest_posterior),
    ]
