"""`blindcal average`: two reviewers, all the scores they may give; the best trade on average."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

from blindcal.cli.arguments import Noise, Prior, Reviewers, probability, reviewer_pair
from blindcal.cli.console import Json, emit_json, number, say, table
from blindcal.cli.plots import plot
from blindcal.policy.average_case import AverageFrontier, AverageRule, average_frontier

_POINTS = 13


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
    """Average errors of two papers reviewed by two reviewers, over all the scores they may give.

    The conference error is the chance of accepting the worse paper; the adversary error is the chance that
    the adversary's best guess of the assignment is wrong. The best rule trades error for privacy at all
    scores where privacy is cheap: where its price is at most a threshold.

    Example: blindcal average --reviewer 1.2,0.3 --reviewer 0.8,-0.3 --noise 0.5 --max-error 0.16
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
    say()
    if rule is not None:
        tie = (
            ""
            if rule.fraction >= 1.0
            else f", {number(100 * rule.fraction, 1)} % of it where it is exactly that"
        )
        say(f"Rule: spend wherever the price of privacy is at most {number(rule.price)}{tie}.")
        say()
    prices = np.linspace(0.0, 1.0, _POINTS) ** 2
    curve = [front.at_price(float(price)) for price in prices]
    x, y = (
        np.array([getattr(one, name) for one in curve]) for name in ("conference_error", "adversary_error")
    )
    chosen = None if rule is None else (rule.conference_error, rule.adversary_error)
    say(plot(x, y, chosen, "average conference error", "average adversary error"))
