"""`blindcal research average`: two reviewers, all the scores they may give; the best trade on average."""

from __future__ import annotations

from typing import Annotated

import typer

from blindcal.cli.arguments import Noise, Prior, Reviewers, probability, reviewer_pair
from blindcal.cli.console import Json, emit_json, number, say, table
from blindcal.policy.average_case import AverageFrontier, AverageRule, average_frontier


def average(
    reviewer: Reviewers,
    noise: Noise = 0.0,
    prior: Prior = 0.5,
    max_error: Annotated[
        float | None,
        typer.Option(
            parser=probability,
            metavar="NUMBER",
            help="Largest average chance of accepting the worse paper that you allow; adds the best rule.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the errors of two papers, averaged over all possible scores.

    Two reviewers wrote one review each. The conference error is the chance of accepting the worse paper; the
    adversary error is the chance that the adversary's best guess of the assignment is wrong. The best rule
    trades error for privacy wherever the price of privacy is at most a threshold.

    Example: blindcal research average --reviewer 1.2,0.3 --reviewer 0.8,-0.3 --noise 0.5 --max-error 0.16
    """
    front = average_frontier(reviewer_pair(reviewer, noise), prior)
    rule = None if max_error is None else front.rule(conference_error=max_error)
    if as_json:
        emit_json(_report(front, rule))
    else:
        _print(front, rule)


def _report(front: AverageFrontier, rule: AverageRule | None) -> dict[str, object]:
    report: dict[str, object] = {
        "least_error": front.least_error,
        "largest_error": front.largest_error,
        "adversary_error_at_largest": front.largest_adversary_error,
    }
    if rule is not None:
        report["policy"] = {
            "price": rule.price,
            "conference_error": rule.conference_error,
            "adversary_error": rule.adversary_error,
        }
    return report


def _print(front: AverageFrontier, rule: AverageRule | None) -> None:
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
