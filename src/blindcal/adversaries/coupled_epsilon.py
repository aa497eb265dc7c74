"""A limit on what somebody who knows all loads gains from all decisions together -> the epsilon per paper at
which what is *measured* stays below it.

Tables are planned paper by paper, so nothing that they promise holds for this adversary (`ceilings` has what
does, and it is far too much). But what it gains can be measured before any coin is tossed: assignments are
drawn from what scores and loads say, which anybody can do; decisions are drawn for them; the adversary is
played against these. A smaller epsilon tightens the tables that reveal most and leaves the others as they
are. The largest epsilon, on a ladder below the requested one, whose measured gain keeps the limit is what to
decide with.

Nothing here knows the true assignment: everything is drawn with a fixed seed from public information. Loads
must be public, too: they shape the tables. What is found is a measurement, for the stated pools, calibration
and loads; it is no guarantee.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from scipy.special import stdtrit

from blindcal.adversaries.coupled_exact import exact_finding, is_small, network
from blindcal.adversaries.coupled_mcmc import Walked, walk
from blindcal.adversaries.paper_view import View, planned_view
from blindcal.assignment.candidates import OUTSIDER
from blindcal.assignment.prior import NOBODY
from blindcal.checks import Array, Integers, strictly_within
from blindcal.compute.parallel import Progress, Workers, each, silent
from blindcal.errors import InputError
from blindcal.planning.conference_plan import PaperPlan, plan_conference
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import Conference

DRAWS = 8
"""Assignments, with decisions, for which the adversary is played."""
CONFIDENCE = 0.99
"""Of the upper limit of a gain that was measured from draws."""
RUNGS = 16
"""Epsilons that are considered below the requested one, at equal distances; the last is 0: public."""
# Where no epsilon is requested, the ladder starts here.
_TOP = 4.0
_CHAINS, _LOOKS = 128, 12
_TARGET_SHARE, _FINEST = 0.1, 3e-4


@dataclass(frozen=True)
class Measured:
    """What all decisions together were measured to add to the chance of naming an author, for somebody who
    knows all loads; its standard error, 0 where everything was summed up; and its upper confidence limit."""

    added: float
    error: float
    upper: float


@dataclass(frozen=True)
class Try:
    """A guarantee that was tried: what was measured, and the expected share of wrong decisions."""

    guarantee: Guarantee
    measured: Measured
    wrong: float


@dataclass(frozen=True)
class Held:
    """The guarantee to decide with, so that the measured gain stays within `limit`.

    `limit`: the most that all decisions together may add to the chance of naming an author.
    `chosen`: what keeps it, with what was measured.
    `tries`: all that were tried, first the requested one.
    """

    limit: float
    chosen: Try
    tries: tuple[Try, ...]

    @property
    def price(self) -> float:
        """Wrong decisions that it costs, as a share of papers."""
        return self.chosen.wrong - self.tries[0].wrong


@dataclass(frozen=True, eq=False)
class Draws:
    """What scores and loads say of who wrote what: the chance of naming an author, and assignments as rows of
    each paper's tuples, `[draw, paper]`, with a number for each paper's coin."""

    alone: Walked
    rows: Integers = field(repr=False)
    coins: Array = field(repr=False)


def hold(
    conference: Conference,
    guarantee: Guarantee,
    loads: Mapping[str, int],
    limit: float,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    workers: Workers = 1,
    progress: Progress = silent,
) -> Held:
    """The largest epsilon up to the requested one at which all decisions together are measured to add at most
    `limit` to the chance of naming an author, for somebody who knows all loads. A measurement, no guarantee.

    `conference`: its public side, the first that `Inputs.prepared` returns.
    `guarantee`: the requested one; without an epsilon, those up to 4 are tried after it.
    `loads`: how many reviews each person wrote, by id; they shape the tables, so they must be public.
    `limit`: between 0 and 1.
    `draws`: assignments, with decisions, for which the adversary is played where not all can be listed.
    `seed`: of those draws.
    `workers`: how many processes share the work, or a cluster's pool; results are the same.
    `progress`: called as work goes on; silent by default.

    Here the scores alone favor one of two assignments by e^2 to 1, and full calibration names the true one:

    >>> from blindcal.posterior.paper import PaperCase
    >>> rows = ((1.0, 4.0, 1.0, 0.0, 0.0, 0.0, 0.0), (1.0, 6.0, 1.0, 0.0, 0.0, 0.0, 0.0))
    >>> pool = ("ada", "ben"), (0.5, 0.5), rows
    >>> cases = tuple(PaperCase(f"p{score}", (score,), *pool, bar=0.0) for score in (5.0, 7.0))
    >>> conference, loads = Conference(cases, 0.0, None, (1.0, 1.0)), {"ada": 1, "ben": 1}
    >>> found = hold(conference, Guarantee("none", epsilon=None), loads, limit=0.2)
    >>> len(found.tries), round(found.chosen.measured.added, 3), round(float(1 / (1 + np.exp(2))), 3)
    (1, 0.119, 0.119)
    """
    strictly_within("`coupled`", limit, 0.0, 1.0)
    top = _TOP if guarantee.epsilon is None else guarantee.epsilon
    planned = _Planned(conference, loads, limit, draws, seed, workers)
    with progress("measuring what all decisions reveal together", 2 + RUNGS.bit_length()) as advance:
        tries = [planned.tried(guarantee)]
        advance(1)
        kept, broken = 0, RUNGS
        held = tries[0] if tries[0].measured.upper <= limit else None
        while held is None or (held is not tries[0] and broken - kept > 1):
            rung = (kept + broken) // 2 if broken - kept > 1 else kept
            tries.append(planned.tried(replace(guarantee, epsilon=top * rung / RUNGS)))
            advance(1)
            if tries[-1].measured.upper <= limit:
                kept, held = rung, tries[-1]
            else:
                broken = rung
    return Held(limit, held, tuple(tries))


class _Planned:
    """A conference whose tables are planned again and again; who may have written what is drawn once."""

    def __init__(
        self,
        conference: Conference,
        loads: Mapping[str, int],
        limit: float,
        draws: int,
        seed: int,
        workers: Workers,
    ) -> None:
        self.conference, self.loads, self.limit = conference, loads, limit
        self.draws, self.seed, self.workers = draws, seed, workers
        self.drawn: Draws | None = None

    def tried(self, guarantee: Guarantee) -> Try:
        plans, _ = plan_conference(self.conference, guarantee, workers=self.workers)
        wrong = float(np.mean([one.figures.wrong for one in plans]))
        return Try(guarantee, self.measured(self._views(plans, guarantee)), wrong)

    def _views(self, plans: Sequence[PaperPlan], guarantee: Guarantee) -> list[View]:
        known = zip(self.conference.cases, plans, self.conference.raw_accept, strict=True)
        return [planned_view(case, plan, raw, guarantee) for case, plan, raw in known]

    def measured(self, views: Sequence[View]) -> Measured:
        """What the chosen tables of these papers add."""
        if all(np.ptp(view.accept["chosen"]) == 0.0 for view in views):
            return Measured(0.0, 0.0, 0.0)
        if is_small(views, self.loads):
            added = exact_finding(views, self.loads, "chosen").added
            return Measured(added, 0.0, added)
        target = max(_TARGET_SHARE * self.limit, _FINEST)
        if self.drawn is None:
            self.drawn = drawn(views, self.loads, self.draws, self.seed, target=target, workers=self.workers)
        return measure(views, self.loads, self.drawn, target=target, workers=self.workers)


def drawn(
    views: Sequence[View],
    loads: Mapping[str, int],
    draws: int,
    seed: int,
    *,
    target: float = _FINEST,
    workers: Workers = 1,
) -> Draws:
    """Assignments drawn from what scores and loads say, and coins: no table and no truth enters."""
    made = network(views, loads, [view.weight for view in views])
    alone = walk(views, loads, made, target=target, seed=seed, workers=workers)
    _refuse_disagreement(alone)
    rng = np.random.default_rng([seed, draws])
    chosen = rng.choice(alone.walks, draws, replace=False, p=alone.share)
    members, at, rows = alone.drawn[chosen], 0, []
    for view in views:
        slots = len(view.scores)
        rows.append(_places(view, members[:, at : at + slots]))
        at += slots
    return Draws(alone, np.stack(rows, axis=1), rng.random((draws, len(views))))


def _places(view: View, members: Integers) -> Integers:
    """Where some tuples stand among those of a paper."""
    listed = {tuple(row): place for place, row in enumerate(view.rows.tolist())}
    named = np.array([NOBODY if name == OUTSIDER else place for place, name in enumerate(view.names)])
    return np.array([listed[tuple(row)] for row in named[members].tolist()])


def measure(
    views: Sequence[View],
    loads: Mapping[str, int],
    draws: Draws,
    *,
    target: float = _FINEST,
    workers: Workers = 1,
) -> Measured:
    """What the chosen tables of these papers add, on average over assignments and coins that were drawn."""
    jobs = [
        [_decided(view, row, coin) for view, row, coin in zip(views, rows, coins, strict=True)]
        for rows, coins in zip(draws.rows.tolist(), draws.coins.tolist(), strict=True)
    ]
    play = partial(_played, views=views, loads=loads, target=target)
    found = each(play, jobs, workers=workers)
    for one in found:
        _refuse_disagreement(one)
    success, count = np.array([one.success for one in found]), len(found)
    added = float(success.mean()) - draws.alone.success
    # What walks may be off by does not average out over draws: it is not all chance.
    walks = float(np.hypot(np.mean([one.error for one in found]), draws.alone.error))
    error = float(np.hypot(success.std(ddof=1) / np.sqrt(count), walks))
    return Measured(added, error, added + float(stdtrit(count - 1, CONFIDENCE)) * error)


def _decided(view: View, row: int, coin: float) -> Array:
    """What a paper's tuples weigh after the decision that this coin gives to one of them."""
    accept = view.accept["chosen"]
    return view.weight * (accept if coin < accept[row] else 1.0 - accept)


def _played(masses: list[Array], views: Sequence[View], loads: Mapping[str, int], target: float) -> Walked:
    made = network(views, loads, masses)
    return walk(views, loads, made, target=target, most=_LOOKS, chains=_CHAINS)


def _refuse_disagreement(found: Walked) -> None:
    if not found.agrees:
        raise InputError(
            "`coupled`: walks from different starts do not agree, so nothing can be said of this adversary"
        )
