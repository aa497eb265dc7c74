"""The public side of a conference: its papers, candidates and acceptance bar.

`prepare` turns reviews, calibration and pools into a `Conference`. True reviewers enter at two places only:
`true_reviewers` lists them for the coins, and `prepare` checks that each of them is in the pool of the paper.
If the inputs do not fit together, `refuse_mismatches` lists every problem at once and names no reviewer.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import compress
from typing import Any, TypeVar

import numpy as np

from blindcal.checks import Integers, numbers, strictly_within, within
from blindcal.compute.parallel import Workers
from blindcal.errors import InputError, Problem
from blindcal.io.atomic_files import read_table
from blindcal.io.cells import Column, count
from blindcal.io.tables import Problems, input_error
from blindcal.pools.candidates import (
    CAUSES,
    OUTSIDER,
    CommitteePool,
    MissingReviewer,
    Pools,
    SharedTuple,
    all_but,
    conflicts_in,
    first_row,
    missing_reviewers,
    shared_part,
    union,
)
from blindcal.pools.prior import inclusion, tuple_count
from blindcal.posterior.acceptance_bar import choose_bar
from blindcal.posterior.paper import MOST_LISTED, PaperCase
from blindcal.posterior.this_year_evidence import LevelCase, LevelModel
from blindcal.posterior.variance_components import scores_by_paper
from blindcal.reviewers.calibration import FIELDS
from blindcal.reviews import Reviews

TrueReviewers = Mapping[str, tuple[str, ...]]
"""The true reviewers of each paper by slot: CONFIDENTIAL."""

Case = PaperCase | LevelCase
"""Everything public about one paper: its belief comes from calibration and candidates, or from its scores."""
_Case = TypeVar("_Case", PaperCase, LevelCase)


@dataclass(frozen=True)
class Truth:
    """What is true of a conference. CONFIDENTIAL."""

    reviewers: TrueReviewers  # who wrote the reviews of each paper, lowest score first
    # The level of evidence of each paper, if another method made it
    given: Mapping[str, int] | None = None


LevelByTrack = float | Mapping[str, float]
"""One number for the conference, or one for each track."""

_Candidates = tuple[Sequence[str], tuple[float, ...], Sequence[tuple[float, ...]]]
Parameters = Mapping[str, tuple[float, ...]]
"""For each reviewer (and `*`, anyone without a row) the numbers of `reviewers.calibration.FIELDS`."""

# Aggregated beliefs sum over all subsets of the slots: at this number of reviews that takes a minute.
MOST_REVIEWS = 9
_POOL_RULE = "must have a pool for a paper that has reviews"
_SWAPPED = "the columns paper and reviewer look swapped"
_UNLIKE = "emails in one file and names in the other?"
_APART = "no paper is in both files: are the ids spelled differently?"


@dataclass(frozen=True)
class Sources:
    """The files that a conference was read from, so that messages can name them and their rows."""

    reviews: str = "`reviews`"
    reviewers: str = "`reviewers`"  # the calibration
    pools: str = "`pools`"
    # Pairs of paper and reviewer that are not in a file yet; by default those of `pools`
    conflicts: Sequence[tuple[str, str]] = ()


UNNAMED = Sources()


@dataclass(frozen=True)
class Conference:
    """The public side of a conference: its papers and the bar.

    Attributes:
        cases: One per paper, sorted by paper id.
        bar: The quality above which a paper should be accepted; one number, or one for each track.
        accept_rate: The share that the bar was chosen for, likewise; None if the bar was given.
        raw_accept: For each case 1 if its mean score accepts the paper and 0 if it rejects it. Papers tied at
            the line get the share of them that fits.
    """

    cases: tuple[Case, ...]
    bar: LevelByTrack
    accept_rate: LevelByTrack | None
    raw_accept: tuple[float, ...]

    @property
    def pooled(self) -> tuple[PaperCase, ...]:
        """The papers that have candidates."""
        return tuple(case for case in self.cases if isinstance(case, PaperCase))

    @property
    def graded(self) -> tuple[LevelCase, ...]:
        """The papers that have levels of evidence."""
        return tuple(case for case in self.cases if isinstance(case, LevelCase))

    @property
    def model(self) -> LevelModel | None:
        """What all papers share if they are decided by this year's evidence, else None."""
        return next((case.model for case in self.cases if isinstance(case, LevelCase)), None)


def prepare(
    reviews: Reviews,
    parameters: Parameters,
    pools: Pools,
    *,
    accept_rate: LevelByTrack | None = None,
    bar: LevelByTrack | None = None,
    sources: Sources = UNNAMED,
    workers: Workers = 1,
    advance: Callable[[int], None] | None = None,
) -> Conference:
    """The public side of a conference.

    Args:
        reviews: This year's, high scores better; they count as rounded if they have a grid.
        parameters: For each reviewer, and `*` for anyone else, the numbers of `FIELDS`.
        pools: For each paper its candidates and their probabilities, before scaling.
        accept_rate: The share to accept: the bar is chosen so that full calibration accepts this share of the
            papers on average over the public belief. One number, or one for each track, which then has its
            own bar; single tracks may also have 0 or 1.
        bar: Instead of it, the bar itself, in units of quality; likewise.
        sources: The names of the files, for messages.
        workers: How many processes share the work, or a cluster's pool; results are the same.
        advance: Called with a number of papers as they are weighed.

    Raises:
        InputError: Lists every problem of the input.

    Example:
        >>> from blindcal.pools.candidates import everyone
        >>> reviews = Reviews.from_table({"paper": ["p", "q"], "reviewer": ["ada", "ben"], "score": [3, 1]})
        >>> known = dict.fromkeys(["ada", "ben"], (1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0))
        >>> conference = prepare(reviews, known, everyone(reviews.papers, list(known)), bar=1.0)
        >>> [(case.paper, case.scores) for case in conference.cases], conference.raw_accept
        ([('p', (3.0,)), ('q', (1.0,))], (1.0, 0.0))
    """
    check_levels(accept_rate, bar)
    refuse_mismatches(reviews, parameters, pools, sources)
    tracks = tracks_of(reviews, bar if accept_rate is None else accept_rate, sources)
    grid = None if reviews.grid is None else tuple(reviews.grid.tolist())
    known = _KnownPools(parameters)
    cases = [
        PaperCase(paper, scores, *known.candidates(pools[paper], len(scores)), 0.0, grid, track=tracks[paper])
        for paper, scores in scores_by_paper(reviews).items()
    ]
    return assemble(cases, accept_rate, bar, workers=workers, advance=advance)


def check_levels(accept_rate: LevelByTrack | None, bar: LevelByTrack | None) -> None:
    """Refuse a share or a bar that cannot be, and both or neither."""
    if (accept_rate is None) == (bar is None):
        raise InputError("give one of accept rate and bar")
    if accept_rate is not None:
        rates = _level_values(accept_rate)
        # Single tracks may accept all or none, if another track has something to decide.
        check = within if any(0.0 < rate < 1.0 for rate in rates) else strictly_within
        check("accept rate", rates, 0.0, 1.0)
    if bar is not None:
        numbers("bar", _level_values(bar))


def assemble(
    cases: Sequence[PaperCase],
    accept_rate: LevelByTrack | None,
    bar: LevelByTrack | None,
    *,
    workers: Workers = 1,
    advance: Callable[[int], None] | None = None,
) -> Conference:
    """A conference from cases: the bar, given or chosen for the accept rate, and the raw decisions."""
    return with_bars(cases, accept_rate, bar, partial(choose_bar, workers=workers, advance=advance))


def with_bars(
    cases: Sequence[_Case],
    accept_rate: LevelByTrack | None,
    bar: LevelByTrack | None,
    choose: Callable[[Sequence[_Case], float | None, float | None], tuple[float, float]],
) -> Conference:
    """A conference from cases; a track with a level of its own is handled as a conference of its own.

    `choose(cases, accept_rate, bar)` returns the bar and the share of these papers to accept.
    """
    by_track = isinstance(accept_rate, Mapping) or isinstance(bar, Mapping)
    # A track without papers keeps its bar.
    bars, decided = dict(bar) if isinstance(bar, Mapping) else {}, dict[str, tuple[_Case, float]]()
    for track in sorted({case.track if by_track else "" for case in cases}):
        part = [case for case in cases if case.track == track or not by_track]
        rate, height = (level if level is None else track_level(level, track) for level in (accept_rate, bar))
        bars[track], share = choose(part, rate, height)
        raw = best_by_mean([case.scores for case in part], round(share * len(part)))
        decided |= {
            case.paper: (replace(case, bar=bars[track]), own) for case, own in zip(part, raw, strict=True)
        }
    chosen, raws = zip(*(decided[case.paper] for case in cases), strict=True)
    return Conference(chosen, bars if by_track else bars[""], accept_rate, raws)


def track_level(level: LevelByTrack, track: str) -> float:
    """The number of one track.

    >>> track_level(0.5, "main"), track_level({"main": 0.5, "short": 0.75}, "short")
    (0.5, 0.75)
    """
    return level[track] if isinstance(level, Mapping) else level


def _level_values(level: LevelByTrack) -> list[float]:
    return list(level.values()) if isinstance(level, Mapping) else [level]


def tracks_of(reviews: Reviews, level: LevelByTrack | None, sources: Sources) -> dict[str, str]:
    """The track of each paper if tracks have levels of their own, else an empty one."""
    if not isinstance(level, Mapping):
        return dict.fromkeys(reviews.papers, "")
    tracks, log = paper_tracks(reviews), Problems(sources.reviews)
    strange = Counter("another one" if track else "none" for track in tracks.values() if track not in level)
    rule = f"must be one of those that papers are accepted in ({', '.join(level)})"
    for what, papers in strange.items():
        log.add(None, "track", rule, f"{what} for {count(papers, 'paper')}")
    log.finish()
    return tracks


def paper_tracks(reviews: Reviews) -> dict[str, str]:
    """The track of each paper, as its reviews say; empty if they do not."""
    return _code_by_paper(reviews, reviews.tracks, reviews.track)


def paper_areas(reviews: Reviews) -> dict[str, str]:
    """The area of each paper whose center is its own: the declared one, else its track, else empty."""
    if reviews.area is None:
        return paper_tracks(reviews)
    return _code_by_paper(reviews, reviews.areas, reviews.area)


def _code_by_paper(reviews: Reviews, names: tuple[str, ...], codes: Integers | None) -> dict[str, str]:
    if codes is None:
        return dict.fromkeys(reviews.papers, "")
    named = (*names, "")
    return {reviews.papers[p]: named[code] for p, code in zip(reviews.paper, codes, strict=True)}


def true_reviewers(conference: Conference, reviews: Reviews) -> dict[str, tuple[str, ...]]:
    """The reviewer of each review of each paper, lowest score first. CONFIDENTIAL.

    Args:
        conference: The public side, whose papers are listed.
        reviews: The reviews, which name their reviewers.

    Example:
        >>> from blindcal.pools.candidates import everyone
        >>> reviews = Reviews.from_table({"paper": ["p", "p"], "reviewer": ["ada", "ben"], "score": [3, 1]})
        >>> known = dict.fromkeys(["ada", "ben"], (1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0))
        >>> conference = prepare(reviews, known, everyone(reviews.papers, list(known)), bar=1.0)
        >>> true_reviewers(conference, reviews)
        {'p': ('ben', 'ada')}
    """
    everyone = reviewers_by_slot(reviews)
    return {case.paper: everyone[case.paper] for case in conference.cases}


def reviewers_by_slot(reviews: Reviews) -> dict[str, tuple[str, ...]]:
    """The reviewer of each slot of each paper, lowest score first, ties by reviewer id. CONFIDENTIAL."""
    order = np.lexsort((reviews.reviewer, reviews.score, reviews.paper))
    by_paper: dict[str, tuple[str, ...]] = dict.fromkeys(reviews.papers, ())
    for row in order:
        by_paper[reviews.papers[reviews.paper[row]]] += (reviews.reviewers[reviews.reviewer[row]],)
    return by_paper


class _KnownPools:
    """Candidates, their chances and their calibration, where papers share what they have in common.

    A large committee times many papers would be too much memory.
    """

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        # By the identity of a pool or committee, or by sizes
        self._pools: dict[tuple[int, int], _Candidates] = {}
        self._rows: dict[int, SharedTuple[tuple[float, ...]]] = {}
        self._chances: dict[tuple[int, int], tuple[float, ...]] = {}

    def candidates(self, pool: Mapping[str, float], reviews: int) -> _Candidates:
        """Those of a paper with so many reviews."""
        key = id(pool), reviews
        if key not in self._pools:
            if isinstance(pool, CommitteePool) and OUTSIDER not in pool:
                self._pools[key] = self._committee(pool, reviews)
            else:
                self._pools[key] = self._listed(pool, reviews)
        return self._pools[key]

    def _listed(self, pool: Mapping[str, float], reviews: int) -> _Candidates:
        names = sorted(pool)
        outsider = names.index(OUTSIDER) if OUTSIDER in names else None
        chances = inclusion([pool[name] for name in names], reviews, outsider)
        possible = [chance > 0.0 for chance in chances]
        kept = tuple(compress(names, possible))
        return kept, tuple(compress(chances, possible)), self._calibration(kept)

    def _committee(self, pool: CommitteePool, reviews: int) -> _Candidates:
        names, without = shared_part(pool.candidates)
        if id(names) not in self._rows:
            self._rows[id(names)] = SharedTuple(self._calibration(names))
        size = len(pool), reviews
        if size not in self._chances:
            self._chances[size] = SharedTuple(inclusion([1.0] * len(pool), reviews))
        return pool.candidates, self._chances[size], all_but(self._rows[id(names)], without)

    def _calibration(self, names: Sequence[str]) -> tuple[tuple[float, ...], ...]:
        """The calibration of each, or that of anyone without a row."""
        known = self.parameters
        return tuple(known[name if name in known else OUTSIDER] for name in names)


def best_by_mean(scores: Sequence[Sequence[float]], places: int) -> tuple[float, ...]:
    """For each paper 1 if it is among the best `places` by mean score, else 0.

    Tied papers get the share of them that fits. Means are exact: numbers count as they are written.

    >>> best_by_mean([(3.0, 4.0), (5.0,), (3.5,), (1.0, 9.0)], 3)
    (0.5, 1.0, 0.5, 1.0)
    """
    if not places:
        return (0.0,) * len(scores)
    means = list(map(exact_mean, scores))
    line = sorted(means, reverse=True)[places - 1]
    above, tied = sum(mean > line for mean in means), means.count(line)
    return tuple(1.0 if mean > line else (places - above) / tied * (mean == line) for mean in means)


def exact_mean(scores: Sequence[float]) -> Fraction:
    """The mean of scores as they are written: 0.1 is a tenth."""
    return sum(map(Fraction, map(str, scores)), Fraction(0)) / len(scores)


def read_reviewers(path: str | os.PathLike[str] | Any) -> dict[str, tuple[float, ...]]:
    """Each reviewer's calibration: slope, offset, noise, slope_se, offset_se, correlation, noise_se.

    Args:
        path: A file or data frame with a column `reviewer` and these columns. Only the first three are
            needed; the others are 0 by default. There is one row per reviewer, and optionally `*` for anyone
            without a row. A column `reviews`, as `blindcal fit` writes it, is not used.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder) / "reviewers.csv"
        ...     _ = path.write_text("reviewer,slope,offset,noise\\nada,1.2,6,1\\n*,1,5,1.5\\n")
        ...     read_reviewers(path)
        {'ada': (1.2, 6.0, 1.0, 0.0, 0.0, 0.0, 0.0), '*': (1.0, 5.0, 1.5, 0.0, 0.0, 0.0, 0.0)}
    """
    wide = [Column("reviewer", "id", secret=True)]
    wide += [Column(name, "number", required=name in FIELDS[:3]) for name in FIELDS]
    table = read_table(path, [*wide, Column("reviews", "number", required=False)], name="`reviewers`")
    columns = [table.number(name) if name in table else np.zeros(len(table)) for name in FIELDS]
    log, parameters = Problems(table.file), dict[str, tuple[float, ...]]()
    for row, name, *values in zip(table.rows, table.text("reviewer"), *columns, strict=True):
        slope, _, noise, slope_se, offset_se, correlation, noise_se = values
        for column, broken, rule in (
            ("reviewer", name in parameters, "must not be listed twice"),
            ("slope", slope <= 0, "must be above 0"),
            ("noise", noise <= 0, "must be above 0: scores without noise would name their reviewer"),
            ("slope_se", slope_se < 0, "must be at least 0"),
            ("offset_se", offset_se < 0, "must be at least 0"),
            ("noise_se", noise_se < 0, "must be at least 0"),
            ("correlation", abs(correlation) > 1, "must lie in [-1, 1]"),
        ):
            if broken:
                log.add(row, column, rule)
        parameters[name] = tuple(map(float, values))
    log.finish()
    return parameters


def refuse_mismatches(
    reviews: Reviews, parameters: Parameters, pools: Pools, sources: Sources = UNNAMED
) -> None:
    """Raise an `InputError` that lists every problem at once.

    No reviewer is named, and a paper is shown with the first of its rows, so that no review is singled out.
    """
    # Pools that papers with as many reviews share are checked once.
    pairs = {paper: (who, pools.get(paper)) for paper, who in reviewers_by_slot(reviews).items()}
    shared = {(id(pool), len(who)): (len(who), pool) for who, pool in pairs.values()}
    checked = {key: _pool_problems(*pair) for key, pair in shared.items()}
    broken = {paper: checked[id(pool), len(who)] for paper, (who, pool) in pairs.items()}
    # Nobody is missing from a pool that has `*`.
    missing = {
        paper: [name for name in who if pool and not max(pool.get(name, 0.0), pool.get(OUTSIDER, 0.0)) > 0.0]
        for paper, (who, pool) in pairs.items()
    }
    problems, outside = list[Problem](), list[MissingReviewer]()
    if any(broken.values()) or any(missing.values()):
        barred = {*sources.conflicts} or conflicts_in(sources.pools)
        people = {*parameters, *members_of(pools.values()), *(name for _, name in barred)}
        shown = _shown_papers(reviews, pools, people, sources)
        # Most papers have names of people, and no reviewer has one.
        known = sum(paper in people for paper in reviews.papers)
        swapped = 2 * known >= len(reviews.papers) and people.isdisjoint(reviews.reviewers)
        swapped = swapped or (bool(pools) and pools.keys() <= parameters.keys())
        outside = missing_reviewers(missing, pools, parameters, barred)
        if pools.keys().isdisjoint(reviews.papers):
            why = f"{_SWAPPED} in one of them" if swapped else _APART
            detail = f"none for any of the {count(len(reviews.papers), 'paper')} of {sources.reviews}: {why}"
            problems.append(Problem(sources.pools, None, None, _POOL_RULE, detail))
        else:
            problems += [
                Problem(sources.pools, None, None, rule, f"{detail} for {shown[paper]}")
                for paper in shown
                for rule, detail in broken[paper]
            ]
        problems += _unknown_reviewers(outside, reviews, parameters, shown, swapped, sources)
    problems += _unknown_candidates(reviews.papers, parameters, pools, sources)
    if problems:
        error = input_error(problems[:100], more=max(0, len(problems) - 100))
        error.confidential = tuple(astuple(reviewer) for reviewer in outside)
        raise error


def _unknown_reviewers(
    missing: Sequence[MissingReviewer],
    reviews: Reviews,
    parameters: Parameters,
    shown: Mapping[str, str],
    swapped: bool,
    sources: Sources,
) -> list[Problem]:
    """How many reviewers of which papers are not in the pool, and why; once if no reviewer has a row."""
    problems, no_rows = [], parameters.keys().isdisjoint(reviews.reviewers)
    if no_rows and any(reviewer.cause == "calibration" for reviewer in missing):
        why = f"{_SWAPPED} there" if swapped else _UNLIKE
        detail = f"none of the reviewers of {sources.reviews}: {why}"
        problems.append(Problem(sources.reviewers, None, "reviewer", CAUSES["calibration"][2], detail))
        missing = [reviewer for reviewer in missing if reviewer.cause != "calibration"]
    order = {paper: index for index, paper in enumerate(shown)}
    counted = Counter((reviewer.paper, reviewer.cause) for reviewer in missing)
    for (paper, cause), number in sorted(counted.items(), key=lambda item: order[item[0][0]]):
        file, column, rule, detail = CAUSES[cause]
        detail = f"{number} {detail} for {shown[paper]}"
        problems.append(Problem(getattr(sources, file), None, column, rule, detail))
    return problems


def _unknown_candidates(
    papers: Iterable[str], parameters: Parameters, pools: Pools, sources: Sources
) -> list[Problem]:
    """A problem if candidates of these papers' pools have no calibration."""
    needed = members_of(pools.get(paper, {}) for paper in papers)
    without = needed - set(parameters)
    if OUTSIDER in parameters or not without:
        return []
    detail = f"{len(without)} missing"
    if (row := first_row(sources.pools, without)) is not None:
        detail += f", the first in {sources.pools}, row {row}"
    detail += " (among them *, anyone not listed)" if OUTSIDER in without else ""
    rule = "must have a row for every candidate of the pools, or a row * for those without one"
    return [Problem(sources.reviewers, None, None, rule, detail)]


def _shown_papers(
    reviews: Reviews, pools: Pools, people: Collection[str], sources: Sources
) -> dict[str, str]:
    """What messages call each paper, in the order to list them.

    If columns were swapped, a paper's id is a person's name. It is not shown if any file knows it as a
    person's, or if no paper has a pool, so that nothing tells. Nor may the order of messages then be that of
    names.
    """
    # The first row of each paper is the same whoever wrote its reviews.
    first = np.full(len(reviews.papers), np.iinfo(np.int64).max)
    np.minimum.at(first, reviews.paper, reviews.row)
    starts = dict(zip(reviews.papers, first.tolist(), strict=True))
    apart = not any(pools.get(paper) for paper in reviews.papers)
    hidden = {paper for paper in reviews.papers if apart or paper in people}
    order = sorted(starts, key=starts.__getitem__) if hidden else reviews.papers
    called = {paper: "a paper" if paper in hidden else f"paper {paper!r}" for paper in order}
    return {paper: f"{name} ({sources.reviews}, row {starts[paper]})" for paper, name in called.items()}


def members_of(pools: Iterable[Mapping[str, float]]) -> set[str]:
    """Everyone in these pools; one that papers share is looked at once."""
    return union([pool.candidates if isinstance(pool, CommitteePool) else pool for pool in pools])


def _pool_problems(reviews: int, pool: Mapping[str, float] | None) -> list[tuple[str, str]]:
    """The rules that a pool breaks for a paper with this many reviews, whoever wrote them."""
    if pool is None:
        return [(_POOL_RULE, "none")]
    everyone = isinstance(pool, CommitteePool)
    positive = len(pool) if everyone else sum(chance > 0.0 for chance in pool.values())
    outside = pool.get(OUTSIDER, 0.0) > 0.0
    if positive < reviews and not outside:
        few = count(positive, "candidate")
        return [("must have at least as many candidates as the paper has reviews", few)]
    if reviews > MOST_REVIEWS and tuple_count(positive, reviews, outside) > MOST_LISTED:
        return [(f"must be small if a paper has over {MOST_REVIEWS} reviews", f"{positive}")]
    return []
