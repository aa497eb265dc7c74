"""What each guarantee would gain and reveal on one conference, before anything is drawn: the answer first.

Every number is an expectation over the public belief, in papers of this conference. Solving a paper under
every guarantee takes long, and few papers matter: most are on the same side of the bar whoever reviewed them.
So each paper is first weighed roughly, by the Gaussian approximation that also chooses the bar. That says how
many wrong decisions full calibration would avoid on it, its *stake*. Papers are then solved in an order that
is fixed beforehand by public data: a digest of the id, as a number from 0 to 1, over the stake (sequential
Poisson sampling, Ohlsson 1998). The first n of them are a sample with known chances whatever n is, so the
work may stop at any batch: by the clock, after a number of papers, or at the end, where numbers are exact.

* A paper's chance of being among the first n is `min(1, c size)`, size being its stake and a part that is
  equal for all, and c such that chances sum to n. It counts with weight w = 1/chance.
* What a guarantee gains is nearly proportional to the stake: `X sum(w gain) / sum(w stake)`, X being the sum
  of all stakes. Raw decisions are corrected by the difference to the rough ones. Errors are those of the
  residuals, `n/(n-1) sum (1-chance) (w e - mean)^2`, times (n-1)/(n-3) for the few papers that show them.
* A conference beyond `MOST_WEIGHED` papers is itself represented by that many, by their digests alone; this
  adds the usual variance of a simple random sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from hashlib import sha256
from math import ceil, inf, isfinite
from time import monotonic
from typing import Any

import numpy as np

from blindcal.checks import Array
from blindcal.compute.parallel import Progress, Workers, no_progress, parallel_map
from blindcal.io.tables import data_frame
from blindcal.planning.advice import decided_by_means
from blindcal.planning.expected_errors import (
    fully_calibrated_error,
    fully_calibrated_success,
    success_by_slot,
)
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.solver import solve
from blindcal.posterior.acceptance_bar import approximate_evidence, kinds_of_papers
from blindcal.posterior.conference import Conference, refuse_mismatches
from blindcal.posterior.inputs import Inputs
from blindcal.posterior.paper import PaperCase

MENU = (
    Guarantee("public", epsilon=None),
    Guarantee("steady", epsilon=2.0),
    Guarantee("steady", epsilon=None),
    *(Guarantee("crowd", among=10, epsilon=epsilon) for epsilon in (2.0, 3.0, 4.0, None)),
    Guarantee("crowd", among=5, epsilon=None),
    Guarantee("average", among=10, epsilon=3.0),
    Guarantee("average", epsilon=2.0),
    Guarantee("average", epsilon=None),
)
"""The guarantees that are compared, of each name the strictest first."""
# At most this many papers are weighed.
MOST_WEIGHED = 1_000
# The first answer comes after this many papers. Each further batch is half of what was solved before, so
# that stopping between batches loses little.
_FIRST, _GROWTH = 4, 0.5
# The share of a paper's size that does not depend on its stake: a rough weight must not rule a paper out.
_EQUAL_PART = 0.2
# Sizes have so many digits: their order must not depend on the last digit of a machine.
_DIGITS = 6


@dataclass(frozen=True)
class Choice:
    """One guarantee on this conference. Standard errors are 0 if every paper was solved."""

    guarantee: Guarantee  # the guarantee
    wrong: float  # expected number of papers decided wrongly
    gain: float  # expected number of wrong decisions that it avoids, compared with mean scores
    kept: float  # its share of what full calibration would gain
    added: float  # by how much decisions raise the chance of naming a reviewer, mean over reviews
    changed: float  # expected number of papers decided otherwise than by mean scores, ties aside
    wrong_se: float = 0.0  # standard error of `wrong`
    gain_se: float = 0.0  # standard error of `gain`
    kept_se: float = 0.0  # standard error of `kept`
    added_se: float = 0.0  # standard error of `added`


@dataclass(frozen=True)
class Menu:
    """Guarantees compared on one conference, beside mean scores and full calibration.

    Attributes:
        choices: One per guarantee, in the order of the guarantees.
        wrong_raw: Expected number of papers decided wrongly by mean scores.
        wrong_fully_calibrated: The same with full calibration.
        gain_fully_calibrated: The difference of the two.
        success_scores_only: The chance of naming a reviewer from the scores alone, mean over reviews.
        added_fully_calibrated: By how much decisions by full calibration would raise it.
        papers: Number of papers of the conference.
        weighed: Number of papers that were weighed.
        solved: Number of papers that were solved; if fewer than `papers`, the other numbers are estimates.
        gap: By how much the share of wrong decisions may exceed the least possible one, for every guarantee;
            proved, or estimated from a sample of tuples if a pool is too large to list them.
        wrong_raw_se, wrong_fully_calibrated_se, gain_fully_calibrated_se: Standard errors of these numbers.
        success_scores_only_se, added_fully_calibrated_se: Likewise.
    """

    choices: tuple[Choice, ...]
    wrong_raw: float
    wrong_fully_calibrated: float
    gain_fully_calibrated: float
    success_scores_only: float
    added_fully_calibrated: float
    papers: int
    weighed: int
    solved: int
    gap: float = 0.0
    wrong_raw_se: float = 0.0
    wrong_fully_calibrated_se: float = 0.0
    gain_fully_calibrated_se: float = 0.0
    success_scores_only_se: float = 0.0
    added_fully_calibrated_se: float = 0.0

    @property
    def sampled(self) -> bool:
        """Whether the numbers are estimates."""
        return self.solved < self.papers

    def choice(self, guarantee: Guarantee) -> Choice:
        """What a `guarantee` of the menu costs."""
        return next(choice for choice in self.choices if choice.guarantee == guarantee)

    def to_frame(self) -> Any:
        """One row per guarantee, as a pandas data frame; needs pandas."""
        limits = ("name", "epsilon")
        guarantees = {k: [getattr(choice.guarantee, k) for choice in self.choices] for k in limits}
        names = [name for name in Choice.__dataclass_fields__ if name != "guarantee"]
        return data_frame(guarantees | {k: [getattr(choice, k) for choice in self.choices] for k in names})


def with_chosen(chosen: Guarantee, guarantees: Sequence[Guarantee] = MENU) -> tuple[Guarantee, ...]:
    """The menu with the chosen guarantee in it, after the last one of its name; `guarantees` is the menu."""
    if chosen in guarantees:
        return tuple(guarantees)
    alike = [index for index, guarantee in enumerate(guarantees) if guarantee.name == chosen.name]
    position = 1 + max(alike, default=len(guarantees) - 1)
    return *guarantees[:position], chosen, *guarantees[position:]


def menu(
    conference: Conference,
    guarantees: Sequence[Guarantee] = MENU,
    *,
    papers: int | None = None,
    most: float = inf,
    seconds: float = inf,
    workers: Workers = 1,
    progress: Progress = no_progress,
    tell: Callable[[Menu], None] | None = None,
) -> Menu:
    """Compares guarantees on one conference by solving some of its papers, or all, under each of them.

    Args:
        conference: Public side of the conference, the first item that `Inputs.prepared` returns, or
            what `prepared_sample` returns.
        guarantees: The guarantees to compare, by default `MENU`.
        papers: How many papers the whole conference has, if `conference` is a sample of them.
        most: The largest number of papers to solve.
        seconds: Stop before a batch that would probably not be done by then; the first is always done.
        workers: Number of processes, or a cluster's pool; results are the same.
        progress: Called as work goes on; silent by default.
        tell: Called with the menu so far after each batch.

    Example:
        >>> rows = ((1.0, 4.0, 1.0, 0.0, 0.0, 0.0, 0.0), (1.0, 6.0, 1.0, 0.0, 0.0, 0.0, 0.0))
        >>> case = PaperCase("p", (5.0,), ("ada", "ben"), (0.5, 0.5), rows, bar=0.0)
        >>> found = menu(Conference((case,), 0.0, None, (1.0,)), [MENU[0], Guarantee("none", epsilon=None)])
        >>> [(choice.guarantee.name, choice.added, round(choice.wrong, 2)) for choice in found.choices]
        [('public', 0.0, 0.5), ('none', 0.5, 0.24)]
    """
    start, every = monotonic(), len(conference.cases) if papers is None else papers
    timed, drawn, solved = isfinite(seconds), 0, dict[int, _SolvedPaper]()
    if timed or isfinite(most):
        conference = sample_papers(conference, MOST_WEIGHED)
    weighed, (kinds, kind) = len(conference.cases), kinds_of_papers(conference.pooled)
    run = partial(_solve_under_guarantees, guarantees=tuple(guarantees))
    steps = ceil(seconds) if timed else int(min(most, len(kinds)))
    with progress(f"comparing {len(guarantees)} guarantees", steps) as step:
        advance = _clock(step, start, ceil(seconds)) if timed else step
        chances = np.array(parallel_map(_rough_chances, kinds, workers=workers, light=True))[kind]
        raw = np.array(conference.raw_accept)
        rough = np.stack([_one_of_two(raw, chances[:, 0]), chances[:, 1]], axis=1)
        order = _order([case.paper for case in conference.cases], _sizes(rough))
        begun = monotonic()

        def so_far() -> Menu:
            chosen = order[:drawn]
            known = [solved[kind[index]] for index in chosen]
            return _estimated(known, raw[chosen], rough, chosen, guarantees, every)

        while True:
            now = monotonic()
            if timed or tell is not None:
                batch = _batch(drawn, weighed, most, start + seconds - now, now - begun)
            else:
                # Nobody waits for a first answer: all at once keeps every worker busy.
                batch = int(min(most, weighed)) - drawn
            if not batch:
                return so_far()
            drawn += batch
            new = sorted({kind[index] for index in order[:drawn]} - solved.keys())
            results = parallel_map(run, [kinds[number] for number in new], workers=workers, advance=advance)
            solved |= dict(zip(new, results, strict=True))
            if tell is not None:
                tell(so_far())


def prepared_sample(
    inputs: Inputs, request: Request, *, workers: Workers = 1, progress: Progress = no_progress
) -> Conference:
    """A conference for the menu.

    Of more than `MOST_WEIGHED` papers these are so many, chosen by a digest of their ids. Bar and decisions
    by mean score are then those of the sample: they are not the ones that would be frozen. All `inputs` are
    checked.
    """
    reviews, (rate, bar) = inputs.reviews, request.levels(inputs)
    if len(reviews.papers) > MOST_WEIGHED:
        refuse_mismatches(reviews, inputs.parameters, inputs.pools, inputs.sources)
        left_out = _by_digest(reviews.papers)[MOST_WEIGHED:]
        inputs = replace(inputs, reviews=reviews.without([reviews.papers[index] for index in left_out]))
    better = request.better
    return inputs.prepared(accept_rate=rate, bar=bar, better=better, workers=workers, progress=progress)[0]


def sample_papers(conference: Conference, most: int) -> Conference:
    """The conference, or this many of its papers.

    They are the first in the order of a digest of their ids. Ids are public and have nothing to do with
    scores, so this is a simple random sample, and the same one on every run.
    """
    if len(conference.cases) <= most:
        return conference
    chosen = sorted(_by_digest([case.paper for case in conference.cases])[:most])
    cases = tuple(conference.cases[index] for index in chosen)
    return replace(conference, cases=cases, raw_accept=tuple(conference.raw_accept[i] for i in chosen))


def _by_digest(papers: Sequence[str]) -> list[int]:
    """Papers in the order of the digests of their ids."""
    digests = [sha256(paper.encode()).digest() for paper in papers]
    return sorted(range(len(papers)), key=digests.__getitem__)


def _rough_chances(case: PaperCase) -> tuple[float, float]:
    """The chance that accepting is right, and that full calibration errs, roughly."""
    weight, favor = approximate_evidence(case)
    return float(weight @ favor), float(weight @ np.minimum(favor, 1 - favor))


def _one_of_two(first: Array, second: Array) -> Array:
    """The chance that just one of two independent events happens, such as accepting and a good paper."""
    return np.asarray(first * (1 - second) + (1 - first) * second)


def _sizes(rough: Array) -> Array:
    """The size of each paper: its stake, and a part that is equal for all; 1 on average."""
    stake = _stakes(rough)
    mean = float(stake.mean())
    share = stake / mean if mean > 0.0 else np.ones_like(stake)
    return np.round(_EQUAL_PART + (1 - _EQUAL_PART) * share, _DIGITS)


def _stakes(rough: Array) -> Array:
    """How many wrong decisions full calibration would avoid on each paper, roughly."""
    return np.maximum(rough[:, 0] - rough[:, 1], 0.0)


def _order(papers: Sequence[str], size: Array) -> list[int]:
    """The order in which papers are solved: by the number that is the digest of the id, over their size."""
    uniform = [int.from_bytes(sha256(paper.encode()).digest()[8:16]) / 2**64 for paper in papers]
    rank = np.array(uniform) / size
    return sorted(range(len(papers)), key=lambda index: (rank[index], papers[index]))


def _chances(size: Array, drawn: int) -> Array:
    """Each paper's chance of being among the first `drawn`: in proportion to its size, at most 1."""
    sure = np.zeros(size.size, dtype=bool)
    while True:
        left = drawn - int(sure.sum())
        rest = float(size[~sure].sum())
        chance = np.where(sure, 1.0, size * (left / rest if rest > 0.0 else 1.0))
        more = (chance >= 1.0) & ~sure
        if not more.any():
            return chance
        sure |= more


def _batch(solved: int, papers: int, most: float, left: float, taken: float) -> int:
    """How many papers to solve next; 0 if it is time to stop: `left` seconds are left after `taken`.

    It follows from the papers solved so far, and a batch that is begun is completed: which papers are in the
    sample does not depend on how long those take that are not.

    >>> _batch(24, 180, 1000, 30, 24), _batch(24, 180, 1000, 8, 24), _batch(24, 180, 1000, 0.5, 24)
    (12, 8, 0)
    >>> _batch(24, 30, 1000, 30, 24), _batch(24, 180, 24, 30, 24), _batch(0, 180, 1000, -5, 0)
    (6, 0, 4)
    """
    if not solved:
        return min(_FIRST, papers)
    able = left * solved / max(taken, 1e-9)
    return max(0, int(min(max(_FIRST, _GROWTH * solved), able, most - solved, papers - solved)))


def _clock(step: Callable[[int], None], start: float, seconds: int) -> Callable[[int], None]:
    """Progress by seconds since `start`, of this many, whatever is done in them."""
    shown = 0

    def advance(_: int) -> None:
        nonlocal shown
        now = min(seconds, int(monotonic() - start))
        step(now - shown)
        shown = now

    return advance


@dataclass(frozen=True, eq=False)
class _SolvedPaper:
    """One paper: under each guarantee its error, success and chance of being accepted; then without any."""

    error: Array  # `[guarantee]`
    success: Array
    accepted: Array
    gap: float
    right: float
    full: float
    scores_only: float
    named_fully: float
    reviews: int


def _solve_under_guarantees(case: PaperCase, guarantees: tuple[Guarantee, ...]) -> _SolvedPaper:
    """One paper under every guarantee, with its posterior computed once."""
    belief, reviews, solutions, accepted = case.belief, len(case.scores), [], []
    for guarantee in guarantees:
        # The belief of each guarantee's table is kept only while the next ones do not need the place.
        own = case.promised(guarantee.promise)
        solutions.append(solve(own, guarantee))
        accepted.append(own.belief.weight @ own.belief.spread(solutions[-1].accept))
    return _SolvedPaper(
        error=np.array([solution.error for solution in solutions]),
        success=np.array([reviews * solution.success for solution in solutions]),
        accepted=np.array(accepted),
        gap=max((max(0.0, solution.error - solution.bound) for solution in solutions), default=0.0),
        right=float(belief.weight @ belief.favor),
        full=fully_calibrated_error(belief, case.sample),
        scores_only=float(success_by_slot(belief, np.ones_like(belief.weight)).sum()),
        named_fully=fully_calibrated_success(belief, case.sample),
        reviews=reviews,
    )


def _estimated(
    solved: Sequence[_SolvedPaper],
    raw_accept: Array,
    rough: Array,
    drawn: Sequence[int],
    guarantees: Sequence[Guarantee],
    every: int,
) -> Menu:
    """The menu by the papers solved so far, which are those `drawn` of the ones weighed."""
    sample = _Sample(rough, drawn, every)
    of = {one.name: np.array([getattr(paper, one.name) for paper in solved]) for one in fields(_SolvedPaper)}
    raw, full = _one_of_two(raw_accept, of["right"]), of["full"]
    decided = decided_by_means(raw_accept)
    before, number = of["scores_only"], of["reviews"]
    share = sample.weight / sample.weight.sum()
    reviews, scores_only = every * float(share @ number), float(share @ before / (share @ number))
    most, most_se = sample.total(raw - full)
    choices = []
    for index, guarantee in enumerate(guarantees):
        saved = raw - of["error"][:, index]
        (wrong, wrong_se), (gain, gain_se) = sample.total(-saved, raw), sample.total(saved)
        added, added_se = sample.total(of["success"][:, index] - before)
        kept = gain / most if most > 0.0 else 1.0
        choices.append(
            Choice(
                guarantee,
                wrong,
                gain,
                kept,
                added / reviews,
                sample.total(decided * _one_of_two(raw_accept, of["accepted"][:, index]))[0],
                wrong_se,
                gain_se,
                kept_se=sample.total(saved - kept * (raw - full))[1] / most if most > 0.0 else 0.0,
                added_se=added_se / reviews,
            )
        )
    (wrong_raw, wrong_raw_se), (wrong, wrong_se) = sample.total(0.0 * raw, raw), sample.total(full - raw, raw)
    added, added_se = sample.total(of["named_fully"] - before)
    return Menu(
        tuple(choices),
        wrong_raw,
        wrong_fully_calibrated=wrong,
        gain_fully_calibrated=most,
        success_scores_only=scores_only,
        added_fully_calibrated=added / reviews,
        papers=every,
        weighed=len(rough),
        solved=len(solved),
        gap=float(share @ of["gap"]),
        wrong_raw_se=wrong_raw_se,
        wrong_fully_calibrated_se=wrong_se,
        gain_fully_calibrated_se=most_se,
        success_scores_only_se=sample.total(before - scores_only * number)[1] / reviews,
        added_fully_calibrated_se=added_se / reviews,
    )


@dataclass(frozen=True, eq=False)
class _Sample:
    """The papers weighed, `rough[paper, (raw, full)]`, those of them `drawn`, and how many there are."""

    rough: Array
    drawn: Sequence[int]
    every: int

    @cached_property
    def weight(self) -> Array:
        """How many of the papers weighed each one drawn stands for."""
        return np.asarray(1.0 / _chances(_sizes(self.rough), len(self.drawn))[[*self.drawn]])

    def total(self, values: Array, raw: Array | None = None) -> tuple[float, float]:
        """The sum over all papers of `values` nearly proportional to the stake, and its standard error.

        To these errors by mean score are added if given: their rough sum is corrected by those drawn. The
        standard error is 0 if every paper was solved.
        """
        drawn, weighed, weight = len(self.drawn), len(self.rough), self.weight
        stake, rough, own = _stakes(self.rough), self.rough[:, 0], [*self.drawn]
        known = float(weight @ stake[own])
        ratio = float(weight @ values) / known if known > 0.0 else 0.0
        # What rough weights predict for each paper, and by how much those drawn differ from it.
        predicted, residual = ratio * stake, values - ratio * stake[own]
        if raw is not None:
            predicted, residual = predicted + rough, residual + raw - rough[own]
        scale, variance = self.every / weighed, 0.0
        if 1 < drawn < weighed:
            parts = weight * residual
            spread = (1.0 - 1.0 / weight) * (parts - parts.mean()) ** 2
            # A few papers do not show their own spread well: Student's t has (n-1)/(n-3) of the variance.
            variance = scale**2 * drawn / max(1, drawn - 3) * float(spread.sum())
        if weighed < self.every:
            within = float(predicted.var(ddof=1) + weight @ residual**2 / weighed)
            variance += self.every**2 * (1.0 / weighed - 1.0 / self.every) * within
        return scale * float(predicted.sum() + weight @ residual), float(np.sqrt(variance))
