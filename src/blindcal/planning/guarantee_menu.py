"""The menu of guarantees for one conference: the cost and the protection of each, before anything is drawn.

Every number is an expectation over the public belief. Of a large conference only a sample of the papers is
solved, chosen by their ids alone, and the numbers have standard errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from math import fsum, sqrt
from typing import Any

import numpy as np

from blindcal.compute.parallel import Workers, parallel_map, scaled_progress
from blindcal.io.tables import data_frame
from blindcal.planning.expected_errors import evidence_probability, expected_figures, success_by_slot
from blindcal.planning.shared_budget import exploration_steps, success_limits
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
# At most this many papers are solved.
MOST_SOLVED = 1_000
# If the scores alone name the reviewer with this chance, the review has no secret left to keep.
KNOWN = 0.95
# If the reviewers who would change the decision are together less likely than this, nothing is at stake.
UNLIKELY = 0.001


@dataclass(frozen=True)
class Choice:
    """One guarantee on this conference: means over papers, and success as a mean over reviews.

    The standard errors are 0 if every paper was solved.

    Attributes:
        guarantee: The guarantee.
        wrong: Expected share of wrong decisions.
        kept: Share of full calibration's benefit over raw decisions that is kept.
        against: Expected share of papers decided against their reviewers' evidence.
        success: The adversary's chance of naming a reviewer.
        wrong_se: Standard error of `wrong`.
        kept_se: Standard error of `kept`.
        success_se: Standard error of `success`.
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
    """Guarantees compared on one conference, beside the raw decision.

    Attributes:
        choices: One per guarantee, in the order of the guarantees.
        wrong_raw: Expected share of wrong decisions by mean score.
        success_scores_only: The chance of naming a reviewer from the scores alone.
        nothing_secret: Number of papers whose reviewers the scores alone name almost surely.
        nothing_at_stake: Number of papers for which all likely reviewers lead to the same decision.
        papers: Number of papers.
        weighed: Number of papers that were solved; if fewer, the other numbers are estimates.
        gap: By how much the mean share of wrong decisions may exceed the least possible one, for every
            guarantee; proved, or estimated from a sample of tuples if a pool is too large to list them.
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
        limits = ("name", "epsilon")
        guarantees = {k: [getattr(choice.guarantee, k) for choice in self.choices] for k in limits}
        names = ("wrong", "kept", "against", "success", "wrong_se", "kept_se", "success_se")
        return data_frame(guarantees | {k: [getattr(choice, k) for choice in self.choices] for k in names})


@dataclass(frozen=True)
class _PaperUnderGuarantees:
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
    most: int = MOST_SOLVED,
    workers: Workers = 1,
    advance: Callable[[int], None] | None = None,
) -> Menu:
    """Compares guarantees on one conference by solving its papers under each of them.

    Args:
        conference: Public side of the conference, the first item that `Inputs.prepared` returns.
        guarantees: The guarantees to compare; by default eight, from public decisions to full calibration.
        most: The largest number of papers to solve; a larger conference is sampled by paper ids.
        workers: Number of processes, or a cluster's pool; results are the same.
        advance: Called with the number of steps done, `menu_steps` in all.

    Returns:
        The menu, with standard errors if papers were sampled.

    Example:
        >>> rows = ((1.0, 4.0, 1.0, 0.0, 0.0, 0.0, 0.0), (1.0, 6.0, 1.0, 0.0, 0.0, 0.0, 0.0))
        >>> case = PaperCase("p", (5.0,), ("ada", "ben"), (0.5, 0.5), rows, bar=0.0)
        >>> compared = menu(Conference((case,), 0.0, None, (1.0,)), [MENU[0], MENU[-1]])
        >>> [(choice.guarantee.name, choice.success, round(choice.wrong, 2)) for choice in compared.choices]
        [('public', 0.5, 0.5), ('none', 1.0, 0.24)]
    """
    every = len(conference.cases)
    conference = sample_papers(conference, most)
    shares = [
        success_limits(conference, limits, workers=workers, advance=advance)[0] for limits in guarantees
    ]
    jobs = list(zip(conference.cases, conference.raw_accept, zip(*shares, strict=True), strict=True))
    step = scaled_progress(advance, 2 * len(guarantees))
    papers = parallel_map(
        partial(_solve_under_guarantees, guarantees=guarantees), jobs, workers=workers, advance=step
    )
    raw = fsum(paper.wrong_raw for paper in papers) / len(papers)
    full = fsum(paper.wrong_fully_calibrated for paper in papers) / len(papers)
    weigh = partial(_summarize, papers=papers, every=every, raw=raw, full=full)
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
    conference: Conference, guarantees: Sequence[Guarantee] = MENU, most: int = MOST_SOLVED
) -> int:
    """The number of steps of the menu: two per paper and guarantee, and those of exploring shared budgets."""
    cases = sample_papers(conference, most).cases
    return 2 * len(cases) * len(guarantees) + sum(exploration_steps(cases, limits) for limits in guarantees)


def sample_papers(conference: Conference, most: int) -> Conference:
    """The conference, or this many of its papers.

    They are the first in the order of a digest of their ids. Ids are public and have nothing to do with
    scores, so this is a simple random sample, and the same one on every run.
    """
    digest = [sha256(case.paper.encode()).digest() for case in conference.cases]
    chosen = sorted(sorted(range(len(digest)), key=digest.__getitem__)[:most])
    cases = tuple(conference.cases[index] for index in chosen)
    return replace(conference, cases=cases, raw_accept=tuple(conference.raw_accept[i] for i in chosen))


def _summarize(
    index: int,
    guarantee: Guarantee,
    *,
    papers: Sequence[_PaperUnderGuarantees],
    every: int,
    raw: float,
    full: float,
) -> Choice:
    count, reviews = len(papers), sum(paper.reviews for paper in papers)
    wrong = fsum(paper.wrong[index] for paper in papers) / count
    kept = (raw - wrong) / (raw - full) if raw > full else 1.0
    success = fsum(paper.success[index] for paper in papers) / reviews
    # Delta method: the error of a ratio of means is the mean of the papers' residuals from that ratio.
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
    """Standard error of the mean of values drawn without replacement from `every`; 0 if they are all drawn.

    >>> _standard_error([0.0, 1.0, 0.0, 1.0], 4), round(_standard_error([0.0, 1.0, 0.0, 1.0], 400), 3)
    (0.0, 0.287)
    """
    drawn = len(values)
    return float(np.std(values, ddof=1)) * sqrt((1 - drawn / every) / drawn) if drawn < every else 0.0


def _solve_under_guarantees(
    job: tuple[PaperCase, float, Sequence[float | None]], guarantees: Sequence[Guarantee]
) -> _PaperUnderGuarantees:
    """One paper under every guarantee, with its posterior computed once."""
    case, raw, shares = job
    belief = case.belief
    before = success_by_slot(belief, np.ones_like(belief.weight))
    numbers, success = [], []
    for guarantee, share in zip(guarantees, shares, strict=True):
        paper = case.promised(guarantee.promise)
        solution, after = solve(paper, guarantee, success=share), paper.belief
        numbers.append(
            expected_figures(after, solution.accept, raw, sample=paper.sample, bound=solution.bound)
        )
        success.append(float(success_by_slot(after, after.spread(solution.accept)).sum()))
    sides = [evidence_probability(belief, case.sample, side) for side in (1, -1)]
    return _PaperUnderGuarantees(
        wrong=tuple(figures.wrong for figures in numbers),
        against=tuple(figures.against for figures in numbers),
        gap=tuple(figures.gap for figures in numbers),
        success=tuple(success),
        wrong_raw=numbers[0].wrong_raw,
        wrong_fully_calibrated=numbers[0].wrong_fully_calibrated,
        scores_only=float(before.sum()),
        reviews=before.size,
        known=bool((before >= KNOWN).all()),
        settled=min(sides) < UNLIKELY,
    )
