"""Reviews of past conferences as one history: conferences in time order, each on its own scale.

Scores are turned so that high ones are better, and put into standard deviations of their conference. A
*visit* is one reviewer at one conference; between visits a reviewer may drift. Conferences that only shared
noisy sums (`received_sums`) take their place in time.

`match_scale` moves a calibration to this year's scores by their mean and spread alone. These do not depend on
who wrote which review, so nothing is revealed about anyone; matching anything reviewer by reviewer would.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import partialmethod

import numpy as np
from scipy.special import ndtr

from blindcal.checks import Array, Integers
from blindcal.errors import InputError, Problem
from blindcal.fitting.drift import Visits, visits_by_rank
from blindcal.fitting.received_sums import SharedSums, StackedSums, stack_sums
from blindcal.io.cells import count, natural_sorted, number_text
from blindcal.io.tables import input_error
from blindcal.posterior.reuse_guard import Fingerprint, fingerprint
from blindcal.reviewers.base import Booleans
from blindcal.reviewers.calibration import Scale
from blindcal.reviewers.rounded import grid_cells
from blindcal.reviews import Reviews, check_better, encode_ids, infer_grid

# A calibration is moved to this year's scale no further than this: beyond, it is probably for another scale.
MAX_SHIFT, MAX_STRETCH = 1.0, 1.5
_MAX_ITERATIONS, _TOLERANCE = 500, 1e-10

DatedSums = tuple[int, SharedSums]
"""What a conference shared, and how many of the others came before it."""


@dataclass(frozen=True, eq=False)
class History:
    """Row n says: at visit `visit[n]` paper `paper[n]` got a score between `low[n]` and `high[n]`.

    Both ends are the score itself unless the conference had a grid. `middle` and `width` (mean and standard
    deviation of the scores) lead back from its units to those of each conference. `gathered` is what other
    conferences shared.
    """

    conferences: tuple[str, ...]
    reviewers: tuple[str, ...]
    levels: tuple[float, ...]
    paper: Integers
    reviewer: Integers
    conference: Integers
    visit: Integers
    level: Integers
    score: Array
    low: Array
    high: Array
    paper_conference: Integers
    visits: Visits
    middle: Array
    width: Array
    gathered: StackedSums

    def __len__(self) -> int:
        return len(self.score)

    @property
    def rounded(self) -> Booleans:
        return self.low < self.high

    def _sums_by_unit(self, unit: str, value: Array | None = None) -> Array:
        """Sums over each paper, or another unit; without a value, the number of its reviews."""
        units: Mapping[str, Sized] = {
            "paper": self.paper_conference,
            "reviewer": self.reviewers,
            "visit": self.visits,
            "conference": self.conferences,
            "level": self.levels,
        }
        return np.bincount(getattr(self, unit), value, len(units[unit])).astype(np.float64, copy=False)

    per_paper = partialmethod(_sums_by_unit, "paper")
    per_reviewer = partialmethod(_sums_by_unit, "reviewer")
    per_visit = partialmethod(_sums_by_unit, "visit")
    per_conference = partialmethod(_sums_by_unit, "conference")
    per_level = partialmethod(_sums_by_unit, "level")


@dataclass(frozen=True, eq=False)
class PastConference:
    """One past conference as it was given: whose reviews, which papers, which scores."""

    name: str
    file: str
    paper: Sequence[str]
    reviewer: Sequence[str]
    score: Array
    confidence: Array
    grid: Array | None
    better: str
    this_year: str = "high"  # the better end of the scale that it is brought to


def fingerprint_of_past(past: PastConference) -> Fingerprint:
    """The digests of a past conference."""
    plain = [paper.removeprefix(f"{past.name}/") for paper in past.paper]
    return fingerprint(past.name, plain, past.reviewer, past.score.tolist())


def past_conferences(
    tables: Mapping[str, Reviews],
    *,
    better: str = "high",
    past_better: Mapping[str, str] | None = None,
    same: Mapping[str, str] | None = None,
) -> tuple[PastConference, ...]:
    """The conferences of some tables, oldest first: tables in their order, and in each by name.

    A table without a column `conference` is one conference, named after the table. `better` is the better end
    of the scale for all conferences except those that `past_better` names. `same` has the present id of
    everyone who had another.
    """
    ends = dict(past_better or {})
    conferences = [
        past
        for file, table in tables.items()
        for past in _conferences_of_table(file, table, check_better(better), ends, same or {})
    ]
    _refuse_uninformative(conferences, ends)
    return tuple(conferences)


def _conferences_of_table(
    file: str, table: Reviews, better: str, ends: Mapping[str, str], same: Mapping[str, str]
) -> list[PastConference]:
    default_name = os.path.basename(file).removesuffix(".csv")
    code = np.zeros(len(table), np.int64) if table.conference is None else table.conference
    names = table.conferences or (default_name,)
    confidence = np.full(len(table), np.nan) if table.confidence is None else table.confidence
    people = np.array([same.get(name, name) for name in table.reviewers], dtype=object)
    papers = np.array(table.papers, dtype=object)
    conferences = []
    for name in natural_sorted(names):
        rows = code == names.index(name)
        score = table.score[rows]
        grid = table.grid if table.grid_declared else infer_grid(score)
        conferences.append(
            PastConference(
                name=name,
                file=file,
                paper=papers[table.paper[rows]].tolist(),
                reviewer=people[table.reviewer[rows]].tolist(),
                score=score,
                confidence=confidence[rows],
                grid=grid,
                better=check_better(ends.get(name, better)),
                this_year=better,
            )
        )
    return conferences


def _refuse_uninformative(pasts: Sequence[PastConference], ends: Mapping[str, str]) -> None:
    """Every reason why nothing can be learned, at once."""
    problems = [problem for past in pasts for problem in _conference_problems(past)]
    names = [past.name for past in pasts]
    for past in pasts:
        if names.count(past.name) > 1:
            rule = f"must not share the conference {past.name!r} with another table"
            problems.append(Problem(past.file, None, "conference", rule))
    for name in sorted(set(ends) - set(names)):
        rule = f"must have the conference {name!r}, for which `past_better` is given"
        problems.append(Problem(pasts[0].file, None, "conference", rule))
    if problems:
        raise input_error(problems)


def _conference_problems(past: PastConference) -> list[Problem]:
    """Why a conference teaches nothing about its reviewers."""
    file, label = past.file, f"conference {past.name!r}"
    pairs = list(zip(past.paper, past.reviewer, strict=True))
    problems = []
    if len(pairs) > len(set(pairs)):
        rule = f"must not have one person twice on a paper of {label}, after `same`"
        problems.append(Problem(file, None, "reviewer", rule, count(len(pairs) - len(set(pairs)), "repeat")))
    if len(set(past.paper)) < 2:
        problems.append(Problem(file, None, "paper", f"must have two papers or more of {label}", "1"))
    elif len(set(past.reviewer)) < 2:
        problems.append(Problem(file, None, "reviewer", f"must have two reviewers or more of {label}", "1"))
    elif len(set(past.paper)) == len(pairs):
        rule = f"must have a paper with two reviews in {label}: else quality is not told from noise"
        problems.append(Problem(file, None, "paper", rule, "none"))
    if np.ptp(past.score) == 0.0:
        rule = f"must have scores that differ in {label}"
        problems.append(Problem(file, None, "score", rule, f"{number_text(float(past.score[0]))} only"))
    return problems


def past_people(
    tables: Mapping[str, Reviews | SharedSums], names: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    """Who reviewed at each past conference: the name of everyone by id, if `names` has it for the table."""
    people = {}
    for file, table in tables.items():
        known = names.get(file, {})
        if isinstance(table, SharedSums):
            groups = {table.conference: table.reviewers}
        else:
            pasts = _conferences_of_table(file, table, "high", {}, {})
            groups = {past.name: tuple(past.reviewer) for past in pasts}
        for name, ids in groups.items():
            people[name] = {who: known.get(who, "") for who in ids}
    return people


_YEAR = re.compile(r"(?<![0-9])((?:19|20)[0-9]{2})(?![0-9])")
_SHORT_YEAR = re.compile(r"(?<=[^\W\d_])([0-9]{2})(?![0-9])")
# By chance the older one of two conferences has so many more of the members once in 740 cases.
_STANDARD_ERRORS = 3.0


def in_year_order(names: Iterable[str]) -> list[str]:
    """Past conferences by the years in their names; in the order given if a name has none, or several.

    >>> in_year_order(["icx2026", "icx2025"]), in_year_order(["nsdi27-scores", "nsdi26-scores"])
    (['icx2025', 'icx2026'], ['nsdi26-scores', 'nsdi27-scores'])
    >>> in_year_order(["b", "icx2025"]), in_year_order(["nsdi01", "nsdi99"])
    (['b', 'icx2025'], ['nsdi01', 'nsdi99'])
    """
    given = list(names)
    for pattern in (_YEAR, _SHORT_YEAR):
        years = [{int(year) for year in pattern.findall(name)} for name in given]
        if all(len(named) == 1 for named in years):
            year = {name: min(named) for name, named in zip(given, years, strict=True)}
            # Of two digits it cannot be said where a century begins.
            apart = max(year.values(), default=0) - min(year.values(), default=0)
            return sorted(given, key=year.__getitem__) if apart < 50 else given
    return given


def order_remarks(
    people: Mapping[str, Collection[str]], members: Collection[str], same: Mapping[str, str]
) -> list[str]:
    """What speaks against this order of past conferences, oldest first.

    `members`: the committee. Usually more of those who reviewed lately are on it. `same`: the present ids of
    those who had others.
    """
    names = list(people)
    if (by_year := in_year_order(names)) != names:
        return [f"past conferences must stand oldest first: by their names that is {', '.join(by_year)}"]
    if len(names) < 2 or not members:
        return []
    first, last = ({same.get(who, who) for who in people[name]} for name in (names[0], names[-1]))
    now, of = len(first & {*members}), len(last & {*members})
    pooled = (now + of) / (len(first) + len(last))
    error = np.sqrt(pooled * (1 - pooled) * (1 / len(first) + 1 / len(last)))
    if now / len(first) - of / len(last) <= _STANDARD_ERRORS * error:
        return []
    return [
        f"are past conferences given oldest first? Of those who reviewed for {names[0]}, {now:,} of "
        f"{len(first):,} are on the committee, and {of:,} of {len(last):,} of those for {names[-1]}"
    ]


def build_history(pasts: Sequence[PastConference], shared: Sequence[DatedSums] = ()) -> History:
    """Past conferences, oldest first, as one history, with what others shared."""
    sizes = [len(past.score) for past in pasts]
    conference = np.repeat(np.arange(len(pasts)), sizes)
    turned = [upright(past) for past in pasts]
    middle = np.array([score.mean() for score, _, _ in turned])
    width = np.array([score.std() for score, _, _ in turned])
    columns = (np.concatenate(part) for part in zip(*turned, strict=True))
    score, low, high = ((column - middle[conference]) / width[conference] for column in columns)
    time, shared_time = _review_times(conference, len(pasts), shared)
    everyone = [past.reviewer for past in pasts] + [sums.reviewers for _, sums in shared]
    names, person = encode_ids([name for people in everyone for name in people], natural_sorted)
    times = np.concatenate([time, shared_time])
    # Those who came most often first.
    came = np.unique(person * (times.max() + 1) + times) // (times.max() + 1)
    order = np.argsort(-np.bincount(came, minlength=len(names)), kind="stable")
    who = np.argsort(order)[person]
    paper = _number_papers(pasts)
    visits, visit = visits_by_rank(who, times, len(names))
    levels, level = _confidence_levels(np.concatenate([past.confidence for past in pasts]))
    first = np.unique(paper, return_index=True)[1]
    return History(
        conferences=tuple(past.name for past in pasts),
        reviewers=tuple(names[index] for index in order),
        levels=levels,
        paper=paper,
        reviewer=who[: len(time)],
        conference=conference,
        visit=visit[: len(time)],
        level=level,
        score=score,
        low=low,
        high=high,
        paper_conference=conference[first],
        visits=visits,
        middle=middle,
        width=width,
        gathered=stack_sums([sums for _, sums in shared], visit[len(time) :]),
    )


def _review_times(conference: Integers, pasts: int, shared: Sequence[DatedSums]) -> tuple[Integers, Integers]:
    """When each review was written, and when each shared row was: conferences in one order."""
    after = np.array([before for before, _ in shared], dtype=np.int64)
    own = np.arange(pasts) + np.searchsorted(after, np.arange(pasts), side="right")
    others = np.repeat(after + np.arange(len(shared)), [len(sums.reviewers) for _, sums in shared])
    return own[conference], others.astype(np.int64)


def upright(past: PastConference) -> tuple[Array, Array, Array]:
    """Scores with high ones better, and the ends of the cell that each was rounded from.

    A scale whose better end is not this year's is mirrored between its ends, so that it stays where it was.
    """
    levels = past.score if past.grid is None else past.grid
    rounded = past.grid is not None and past.grid.size > 1
    cells = past.score, *(grid_cells(past.score, levels) if rounded else (past.score, past.score))
    if past.better != past.this_year:
        cells = _mirror_scale(cells, float(levels.min() + levels.max()))
    return cells if past.this_year == "high" else _mirror_scale(cells, 0.0)


def _mirror_scale(cells: tuple[Array, Array, Array], ends: float) -> tuple[Array, Array, Array]:
    """Scores and cells on the reversed scale, the sum of whose ends is `ends`."""
    score, low, high = cells
    return ends - score, ends - high, ends - low


def _number_papers(pasts: Sequence[PastConference]) -> Integers:
    """Papers numbered through all conferences: one that came twice is two papers."""
    numbers, start = [], 0
    for past in pasts:
        names, paper = encode_ids(past.paper, natural_sorted)
        numbers.append(paper + start)
        start += len(names)
    return np.concatenate(numbers)


def _confidence_levels(confidence: Array) -> tuple[tuple[float, ...], Integers]:
    """Levels of confidence, `nan` for those that are not given, the most frequent one first."""
    levels, level = np.unique(confidence, return_inverse=True)
    order = np.argsort(-np.bincount(level), kind="stable")
    return tuple(levels[order].tolist()), np.argsort(order)[level]


def match_scale(parameters: Array, reviews: Reviews) -> Scale:
    """The scale on which these people give scores with the mean and standard deviation of `reviews`.

    Each person is as likely as the next to have written a review. Scores are rounded to the grid, if there is
    one. Refused beyond `MAX_SHIFT` standard deviations or a stretch of `MAX_STRETCH`.
    """
    # Reviews stand by paper and reviewer, and the last digits of a sum depend on the order: sorted, nothing
    # is left of who wrote what.
    score = np.sort(reviews.score)
    mean, sd = float(score.mean()), float(score.std())
    if score[0] == score[-1]:
        raise InputError("this year's scores are all equal: they have no scale")
    offset, total = score_moments(parameters)
    center = float(offset.mean())
    shift, stretch = _solve_shift_and_stretch(
        offset - center, total, (mean - center, sd), center, reviews.grid
    )
    scale = Scale(shift, stretch, center, shift / sd)
    if abs(scale.shift_in_sds) > MAX_SHIFT or not 1 / MAX_STRETCH <= scale.stretch <= MAX_STRETCH:
        raise InputError(
            f"this year's scores are on another scale than the last past conference's: they would need a "
            f"shift of {scale.shift_in_sds:.2f} standard deviations and a stretch of {scale.stretch:.2f}, "
            f"and at most {MAX_SHIFT:g} and {MAX_STRETCH:g} are corrected; check `better`, or write the "
            "past scores on this year's scale"
        )
    return scale


def score_moments(parameters: Array) -> tuple[Array, Array]:
    """Mean and variance of a score by each person: quality is N(0, 1), and standard errors count as noise."""
    slope, offset, noise, slope_se, offset_se, _, noise_se = parameters
    return offset, slope**2 + slope_se**2 + offset_se**2 + noise**2 + noise_se**2


def _solve_shift_and_stretch(
    offset: Array, variance: Array, wanted: tuple[float, float], center: float, grid: Array | None
) -> tuple[float, float]:
    """Shift and stretch by fixed-point iteration.

    Rounding changes mean and spread little, so what is missing from the reported ones is about what is
    missing from those before rounding.
    """
    shift, stretch = 0.0, 1.0
    for _ in range(_MAX_ITERATIONS):
        mean, sd = _reported_moments(shift + stretch * offset, stretch * np.sqrt(variance), center, grid)
        if max(abs(wanted[0] - mean), abs(wanted[1] - sd)) < _TOLERANCE * wanted[1]:
            return shift, stretch
        shift, stretch = shift + wanted[0] - mean, stretch * wanted[1] / max(sd, 1e-3 * wanted[1])
    raise InputError("no scale gives this year's scores their mean and spread: is the grid the right one?")


def _reported_moments(mean: Array, sd: Array, center: float, grid: Array | None) -> tuple[float, float]:
    """Mean and standard deviation of the scores that are reported, from `center`."""
    if grid is None or grid.size < 2:
        return float(mean.mean()), float(np.sqrt(mean.var() + (sd**2).mean()))
    ends = 0.5 * (grid[1:] + grid[:-1]) - center
    below = ndtr((ends - mean[:, None]) / sd[:, None]).mean(axis=0)
    share = np.diff(np.concatenate([[0.0], below, [1.0]]))
    first = float(share @ (grid - center))
    return first, float(np.sqrt(share @ (grid - center - first) ** 2))
