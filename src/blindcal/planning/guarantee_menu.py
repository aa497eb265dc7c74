"""The menu for one conference: what each guarantee would cost and keep, before any coin is tossed.

Every number is an expectation over the public belief. Of a large conference some papers are weighed, chosen
by their ids alone, and the numbers have standard errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from math import fsum, sqrt
from typing import Any

import numpy as np

from blindcal.compute.parallel import Workers, each, stepping
from blindcal.io.tables import frame
from blindcal.planning.expected_errors import evidence, expected_figures, success_by_slot
from blindcal.planning.shared_budget import exploring_steps, shares_of
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.solver import solve
from blindcal.posterior.conference import Conference
from blindcal.posterior.paper import PaperCase

MENU = (
    Guarantee("public", epsilon=None),
    Guarantee("steady", epsilon=1.0),
    Guarantee("steady", epsilon=2.0),
    Guarantee("steady", epsilon=None),
    Guarantee("average", epsilon=2.0),
    Guarantee("average", epsilon=None),
    Guarantee("average", added_success=0.01, epsilon=None),
    Guarantee("none", epsilon=None),
)
# Of more papers than this, this many are weighed.
MOST_WEIGHED = 1_000
# A review whose author the scores alone name with this chance has no secret left to keep.
KNOWN = 0.95
# Reviewers that could turn a decision, together no likelier than this, put nothing at stake.
UNLIKELY = 0.001


@dataclass(frozen=True)
class Choice:
    """One guarantee on this conference: means over papers, and success as a mean over reviews.

    `kept` is the share of full calibration's benefit over raw decisions that is kept; `against` the expected
    share of papers decided against their reviewers' evidence. The standard errors are 0 where every paper was
    weighed.
    """

    guarantee: Guarantee
    wrong: float
    kept: float
    against: float
    success: float
    wrong_se: float = 0.0
    kept_se: float = 0.0
    success_se: float = 0.0


@dataclass(frozen=True)
class Menu:
    """What each guarantee would cost and keep, beside the raw decision, and the papers where there is nothing
    to choose.

    `choices`: one for each guarantee, in the order in which they were given.
    `wrong_raw`: the expected share of wrong decisions by mean score.
    `success_scores_only`: how often a review's author can be named from the scores alone.
    `nothing_secret`: papers whose reviews all have authors that the scores alone name almost surely.
    `nothing_at_stake`: papers for which all likely reviewers lead to the same decision.
    `papers`, `weighed`: how many there are, and how many were solved; if fewer, the other numbers are
    estimates.
    `gap`: by how much the mean share of wrong decisions may exceed the least possible one, whichever the
    guarantee; proved, or from a sample of tuples where a pool is too large to list them.
    """

    choices: tuple[Choice, ...]
    wrong_raw: float
    success_scores_only: float
    nothing_secret: int
    nothing_at_stake: int
    papers: int
    weighed: int
    gap: float

    def to_frame(self) -> Any:
        """One row per guarantee, as a pandas data frame; needs pandas."""
        kinds = {name: [getattr(one.guarantee, name) for one in self.choices] for name in ("name", "epsilon")}
        names = ("wrong", "kept", "against", "success", "wrong_se", "kept_se", "success_se")
        return frame(kinds | {name: [getattr(one, name) for one in self.choices] for name in names})


@dataclass(frozen=True)
class _Paper:
    wrong: tuple[float, ...]
    against: tuple[float, ...]
    gap: tuple[float, ...]
    success: tuple[float, ...]
    wrong_raw: float
    wrong_fully_calibrated: float
    scores_only: float
    reviews: int
    known: bool
    settled: bool


def menu(
    conference: Conference,
    guarantees: Sequence[Guarantee] = MENU,
    *,
    most: int = MOST_WEIGHED,
    workers: Workers = 1,
    advance: Callable[[int], None] | None = None,
) -> Menu:
    """What each guarantee would cost and keep, from papers solved under every one of them.

    `conference`: its public side, the first that `Inputs.prepared` returns.
    `guarantees`: which to compare; by default eight, from public decisions to full calibration.
    `most`: how many papers to solve; of more, this many are chosen by their ids.
    `workers`: how many processes share the work, or a cluster's pool; results are the same.
    `advance`: called with the number of steps done, `menu_steps` in all.

    >>> rows = ((1.0, 4.0, 1.0, 0.0, 0.0, 0.0, 0.0), (1.0, 6.0, 1.0, 0.0, 0.0, 0.0, 0.0))
    >>> case = PaperCase("p", (5.0,), ("ada", "ben"), (0.5, 0.5), rows, bar=0.0)
    >>> found = menu(Conference((case,), 0.0, None, (1.0,)), [MENU[0], MENU[-1]])
    >>> [(one.guarantee.name, one.success, round(one.wrong, 2)) for one in found.choices]
    [('public', 0.5, 0.5), ('none', 1.0, 0.24)]
    """
    every = len(conference.cases)
    conference = some_papers(conference, most)
    shares = [shares_of(conference, one, workers=workers, advance=advance)[0] for one in guarantees]
    jobs = list(zip(conference.cases, conference.raw_accept, zip(*shares, strict=True), strict=True))
    step = stepping(advance, 2 * len(guarantees))
    papers = each(partial(_paper, guarantees=guarantees), jobs, workers=workers, advance=step)
    raw = fsum(paper.wrong_raw for paper in papers) / len(papers)
    full = fsum(paper.wrong_fully_calibrated for paper in papers) / len(papers)
    weigh = partial(_choice, papers=papers, every=every, raw=raw, full=full)
    choices = map(weigh, range(len(guarantees)), guarantees)
    reviews = sum(paper.reviews for paper in papers)
    return Menu(
        choices=tuple(choices),
        wrong_raw=raw,
        success_scores_only=fsum(paper.scores_only for paper in papers) / reviews,
        nothing_secret=round(sum(paper.known for paper in papers) * every / len(papers)),
        nothing_at_stake=round(sum(paper.settled for paper in papers) * every / len(papers)),
        papers=every,
        weighed=len(papers),
        gap=max(fsum(paper.gap[index] for paper in papers) / len(papers) for index in range(len(guarantees))),
    )


def menu_steps(
    conference: Conference, guarantees: Sequence[Guarantee] = MENU, most: int = MOST_WEIGHED
) -> int:
    """How many steps the menu takes: two for each paper under each guarantee, and those of exploring what a
    budget buys."""
    cases = some_papers(conference, most).cases
    return 2 * len(cases) * len(guarantees) + sum(exploring_steps(cases, one) for one in guarantees)


def some_papers(conference: Conference, most: int) -> Conference:
    """The conference, or this many of its papers: in the order of a digest of their ids, which are public."""
    digest = [sha256(case.paper.encode()).digest() for case in conference.cases]
    chosen = sorted(sorted(range(len(digest)), key=digest.__getitem__)[:most])
    cases = tuple(conference.cases[index] for index in chosen)
    return replace(conference, cases=cases, raw_accept=tuple(conference.raw_accept[i] for i in chosen))


def _choice(
    index: int, guarantee: Guarantee, *, papers: Sequence[_Paper], every: int, raw: float, full: float
) -> Choice:
    count, reviews = len(papers), sum(paper.reviews for paper in papers)
    wrong = fsum(paper.wrong[index] for paper in papers) / count
    kept = (raw - wrong) / (raw - full) if raw > full else 1.0
    success = fsum(paper.success[index] for paper in papers) / reviews
    # A ratio of means errs as the mean of what each paper is off it does.
    gains = [p.wrong_raw - p.wrong[index] - kept * (p.wrong_raw - p.wrong_fully_calibrated) for p in papers]
    named = [paper.success[index] - success * paper.reviews for paper in papers]
    return Choice(
        guarantee=guarantee,
        wrong=wrong,
        kept=kept,
        against=fsum(paper.against[index] for paper in papers) / count,
        success=success,
        wrong_se=_standard_error([paper.wrong[index] for paper in papers], every),
        kept_se=_standard_error(gains, every) / (raw - full) if raw > full else 0.0,
        success_se=_standard_error(named, every) * count / reviews,
    )


def _standard_error(values: Sequence[float], every: int) -> float:
    """Of the mean of some values drawn without replacement from this many: none if these are all of them.

    >>> _standard_error([0.0, 1.0, 0.0, 1.0], 4), round(_standard_error([0.0, 1.0, 0.0, 1.0], 400), 3)
    (0.0, 0.287)
    """
    drawn = len(values)
    return float(np.std(values, ddof=1)) * sqrt((1 - drawn / every) / drawn) if drawn < every else 0.0


def _paper(job: tuple[PaperCase, float, Sequence[float | None]], guarantees: Sequence[Guarantee]) -> _Paper:
    """One paper under every guarantee, with its posterior computed once."""
    case, raw, shares = job
    belief = case.belief
    before = success_by_slot(belief, np.ones_like(belief.weight))
    numbers, success = [], []
    for guarantee, share in zip(guarantees, shares, strict=True):
        paper = case.promised(guarantee.promise)
        found, one = solve(paper, guarantee, success=share), paper.belief
        numbers.append(expected_figures(one, found.accept, raw, sample=paper.sample, bound=found.bound))
        success.append(float(success_by_slot(one, one.spread(found.accept)).sum()))
    favoring = [evidence(belief, case.sample, side) for side in (1, -1)]
    return _Paper(
        wrong=tuple(one.wrong for one in numbers),
        against=tuple(one.against for one in numbers),
        gap=tuple(one.gap for one in numbers),
        success=tuple(success),
        wrong_raw=numbers[0].wrong_raw,
        wrong_fully_calibrated=numbers[0].wrong_fully_calibrated,
        scores_only=float(before.sum()),
        reviews=before.size,
        known=bool((before >= KNOWN).all()),
        settled=min(favoring) < UNLIKELY,
    )
