"""The page *Pair*: from the positions of its sliders to the score plane, frontier, policy and posterior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from blindcal.adversaries.single_paper import audit, guess, outcome_mass, posterior
from blindcal.checks import Integers, open_interval_rule
from blindcal.errors import InputError
from blindcal.io.cells import Column, cell_problem
from blindcal.policy.pareto_frontier import Frontier, frontier
from blindcal.policy.policy import Policy, epsilon_policy, evidence_policy
from blindcal.posterior.belief import Belief, pair_belief
from blindcal.reviewers.affine import Affine

REACH = 3.0
"""The score plane goes this far from 0, in both directions."""
MOST_DRAWS = 1_000_000
BY = ("epsilon", "error")
"""What limits the policy: epsilon, or a share of the frontier."""
Points = list[tuple[float, float]]
_SQUARE: Points = [(-REACH, -REACH), (REACH, -REACH), (REACH, REACH), (-REACH, REACH)]


class Slider(NamedTuple):
    """A number that can be moved from `low` to `high` by `step`, starting at `start`, with a `label`."""

    start: float
    low: float
    high: float
    step: float
    label: str


def _slider(*numbers_and_label: Any) -> Any:
    """A field of `Settings` that a slider moves."""
    slider = Slider(*numbers_and_label)
    return field(default=slider.start, metadata={"slider": slider})


@dataclass(frozen=True)
class Settings:
    """Where the sliders stand.

    `slope_1`, `offset_1`, `slope_2`, `offset_2`: how the two reviewers score; `noise` is that of both.
    `score_1`, `score_2`: the scores of the two papers.
    `prior`: the chance that reviewer 1 has paper 1, before any score is seen.
    `protection`: how far along the frontier the policy lies: 0 is full calibration, 1 reveals no more than
    the scores.
    `epsilon`: what limits the policy in its place, unless `by` says `error`.
    """

    slope_1: float = _slider(1.2, 0.2, 3.0, 0.05, "slope")
    offset_1: float = _slider(0.6, -2.0, 2.0, 0.05, "offset")
    slope_2: float = _slider(0.8, 0.2, 3.0, 0.05, "slope")
    offset_2: float = _slider(-0.6, -2.0, 2.0, 0.05, "offset")
    noise: float = _slider(0.5, 0.0, 2.0, 0.05, "noise")
    score_1: float = _slider(0.6, -REACH, REACH, 0.05, "score of paper 1")
    score_2: float = _slider(0.2, -REACH, REACH, 0.05, "score of paper 2")
    prior: float = _slider(0.5, 0.01, 0.99, 0.01, "reviewer 1 on paper 1, before any score")
    protection: float = _slider(0.5, 0.0, 1.0, 0.01, "protection")
    epsilon: float = _slider(1.0, 0.0, 5.0, 0.05, "epsilon")
    by: str = BY[0]

    @property
    def reviewers(self) -> tuple[Affine, Affine]:
        first = Affine(self.slope_1, self.offset_1, noise=self.noise)
        return first, Affine(self.slope_2, self.offset_2, noise=self.noise)

    @property
    def belief(self) -> Belief:
        return pair_belief(self.reviewers, (self.score_1, self.score_2), self.prior)


SLIDERS: Mapping[str, Slider] = {
    field.name: field.metadata["slider"] for field in fields(Settings) if "slider" in field.metadata
}


def read_settings(given: Mapping[str, str]) -> Settings:
    """Settings from text, each number within its slider; what is not `given` stays where it starts.

    >>> read_settings({"noise": "0.3"}).noise
    0.3
    >>> read_settings({"noise": "9"})
    Traceback (most recent call last):
    ...
    blindcal.errors.InputError: noise must lie in [0, 2]
    """
    if unknown := {*given} - {*SLIDERS, "by"}:
        raise InputError(f"there are {len(unknown)} settings that are not known here")
    by = given.get("by", BY[0])
    if by not in BY:
        raise InputError(f"by must be one of {', '.join(BY)}")
    return Settings(**{name: _slider_number(name, given[name]) for name in SLIDERS if name in given}, by=by)


def _slider_number(name: str, text: str) -> float:
    slider = SLIDERS[name]
    if cell_problem(text, Column(name, "number")) is not None:
        raise InputError(f"{name} must be a number")
    if not slider.low <= float(text) <= slider.high:
        raise InputError(f"{name} must lie in [{slider.low:g}, {slider.high:g}]")
    return float(text)


def chosen_policy(settings: Settings, belief: Belief, front: Frontier) -> Policy:
    """The policy within the limit that the `settings` set: on the frontier, or the best one at that epsilon.

    `belief` is that of the settings, and `front` its frontier.

    >>> settings = Settings(protection=0.0, by="error")
    >>> chosen_policy(settings, settings.belief, frontier(settings.belief)).accept
    array([0., 1.])
    """
    if settings.by == "epsilon":
        return epsilon_policy(belief, settings.epsilon)
    least, most = front.conference_error[0], front.conference_error[-1]
    return front.policy(conference_error=least + settings.protection * (most - least))


def picture(settings: Settings) -> dict[str, Any]:
    """Every number that the page shows for these `settings`, by name; arrays are of NumPy.

    >>> found = picture(Settings(protection=1.0, by="error"))
    >>> found["conflict"], round(abs(found["scores_only"] - found["policy"]["adversary_error"]), 12)
    (True, 0.0)
    """
    belief = settings.belief
    front = frontier(belief)
    across, up = front.relation()
    chosen, full = chosen_policy(settings, belief, front), evidence_policy(belief)
    return {
        "weight": belief.weight,
        "favor": belief.favor,
        "conflict": bool((belief.favor > 0.5).any() and (belief.favor < 0.5).any()),
        "regions": regions(settings),
        "reach": REACH,
        "frontier": {"conference_error": front.conference_error, "adversary_error": front.adversary_error},
        "relation": {"conference_error": across, "adversary_error": up},
        "by_epsilon": _errors_by_epsilon(belief),
        "scores_only": 1.0 - float(belief.weight.max()),
        "policy": _policy_facts(belief, chosen),
        "full": _policy_facts(belief, full),
    }


def regions(settings: Settings) -> dict[str, list[Points]]:
    """The parts of the score plane by which paper the two assignments favor, as polygons.

    `first` and `second` are where both favor that paper, `conflict` where they favor different ones. A
    reviewer with slope a, offset b and noise s turns a score into an expected quality of
    a (score - b) / (a^2 + s^2), so that under one assignment the expected qualities differ by a linear
    function of the scores, and borders are straight lines.

    >>> alike = Settings(slope_1=1.0, offset_1=0.0, slope_2=1.0, offset_2=0.0)
    >>> [(name, len(parts)) for name, parts in regions(alike).items()]
    [('first', 1), ('second', 1), ('conflict', 0)]
    """
    weights = [a / (a * a + settings.noise**2) for a in (settings.slope_1, settings.slope_2)]
    (one, two), (low, high) = weights, (settings.offset_1, settings.offset_2)
    # Over 0: the first paper is favored; reviewer 1 has it in the first line, reviewer 2 in the second.
    lines = ((one, -two, two * high - one * low), (two, -one, one * low - two * high))
    found: dict[str, list[Points]] = {"first": [], "second": [], "conflict": []}
    for signs in product((1, -1), repeat=2):
        polygon = _SQUARE
        for sign, (a, b, c) in zip(signs, lines, strict=True):
            polygon = _clipped_polygon(polygon, (sign * a, sign * b, sign * c))
        if _polygon_area(polygon) > 0:
            found["conflict" if sum(signs) == 0 else "first" if sum(signs) > 0 else "second"].append(polygon)
    return found


def _clipped_polygon(polygon: Points, line: tuple[float, float, float]) -> Points:
    """The part of a convex polygon where `a x + b y + c` is at least 0 (Sutherland and Hodgman)."""
    a, b, c = line
    sides = [a * x + b * y + c for x, y in polygon]
    kept: Points = []
    for corner, (x, y) in enumerate(polygon):
        (before_x, before_y), before = polygon[corner - 1], sides[corner - 1]
        if (before < 0) != (sides[corner] < 0):
            share = before / (before - sides[corner])
            kept.append((before_x + share * (x - before_x), before_y + share * (y - before_y)))
        if sides[corner] >= 0:
            kept.append((x, y))
    return kept


def _polygon_area(polygon: Points) -> float:
    """The area of a polygon whose corners go counterclockwise.

    >>> _polygon_area(_SQUARE)
    36.0
    """
    pairs = zip(polygon, polygon[1:] + polygon[:1], strict=True)
    return sum(x * other_y - other_x * y for (x, y), (other_x, other_y) in pairs) / 2


def _errors_by_epsilon(belief: Belief) -> dict[str, list[float]]:
    """The errors of the best policy for each limit on odds, from none of its slider's range to all."""
    slider = SLIDERS["epsilon"]
    policies = [epsilon_policy(belief, limit) for limit in np.linspace(slider.low, slider.high, 26)]
    return {
        "conference_error": [float(policy.conference_error(belief)) for policy in policies],
        "adversary_error": [float(1 - audit(belief, policy).success) for policy in policies],
    }


def _policy_facts(belief: Belief, policy: Policy) -> dict[str, Any]:
    audited = audit(belief, policy)
    return {
        "accept": policy.accept,
        "conference_error": policy.conference_error(belief),
        "adversary_error": float(1 - audited.success),
        "epsilon": audited.epsilon,
        "multiplier": audited.multiplier,
        "largest_posterior": audited.largest_posterior,
        "posterior": posterior(belief, policy),
        "outcome": outcome_mass(belief, policy).sum(axis=-1),
    }


def drawn(settings: Settings, number: int, rng: np.random.Generator) -> dict[str, Any]:
    """A `number` of draws of who reviewed what and of the decision, under the policy of the `settings`.

    Returns `counts[assignment, accepted paper]`, how often the adversary's best guess was `right`, and how
    many decisions were `wrong`; `rng` draws them.

    >>> found = drawn(Settings(), 100, np.random.default_rng(1))
    >>> int(found["counts"].sum()), found["drawn"]
    (100, 100)
    """
    if not 1 <= number <= MOST_DRAWS:
        raise InputError(f"the number of draws {open_interval_rule(0, MOST_DRAWS + 1)}")
    belief = settings.belief
    policy = chosen_policy(settings, belief, frontier(belief))
    mass = outcome_mass(belief, policy)
    counts: Integers = np.reshape(rng.multinomial(number, mass.ravel() / mass.sum()), mass.shape)
    best = guess(belief, policy)[:, 0]
    # Which paper is the worse one, is drawn too.
    missed = np.stack([1.0 - belief.favor, belief.favor])
    return {
        "counts": counts.T,
        "drawn": number,
        "right": int(counts[np.arange(2), best].sum()),
        "wrong": int(rng.binomial(counts, missed).sum()),
    }
