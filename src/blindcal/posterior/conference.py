"""The public side of a conference: its papers, candidates and acceptance bar.

`prepare` turns reviews, calibration and pools into a `Conference`. True reviewers enter at two places only:
`true_reviewers` lists them for the coins, and `prepare` checks that each of them is in the pool of the paper.
If the inputs do not fit together, `refuse_mismatches` lists every problem at once and names no reviewer.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from fractions import Fraction
from itertools import compress
from typing import Any

import numpy as np

from blindcal.checks import Integers, numbers, strictly_within, within
from blindcal.compute.parallel import Workers
from blindcal.errors import InputError, Problem
from blindcal.io.atomic_files import read_table
from blindcal.io.cells import Column, count
from blindcal.io.tables import input_error
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
from blindcal.posterior.levels import LevelCase, LevelModel
from blindcal.posterior.paper import MOST_LISTED, PaperCase
from blindcal.reviewers.calibration import FIELDS
from blindcal.reviews import Reviews

TrueReviewers = Mapping[str, tuple[str, ...]]
"""The true reviewers of each paper by slot: CONFIDENTIAL."""


Case = PaperCase | LevelCase
"""Everything public about one paper: its belief comes from calibration and candidates, or from its scores."""


@dataclass(frozen=True)
class Truth:
    """What is true of a conference. CONFIDENTIAL."""

    reviewers: TrueReviewers  # who wrote the reviews of each paper, lowest score first
    # The level of evidence of each paper, if another method made it
    given: Mapping[str, int] | None = None


LevelByTrack = float | Mapping[str, float]
"""One number for the conference, or one for each track."""

Parameters = Mapping[str, tuple[float, ...]]
"""For each reviewer (and `*`, anyone without a row) the numbers of `reviewers.calibration.FIELDS`."""

# Aggregated beliefs sum over all subsets of the slots: at this number of reviews that takes a minute.
MOST_REVIEWS = 9
_NOISE_RULE = "must be above 0: scores without noise would name their reviewer"
_POOL_RULE = "must have a pool for a paper that has reviews"
_SWAPPED = "the columns paper and reviewer look swapped"
_UNLIKE = "emails in one file and names in the other?"
_APART = "no paper is in both files: are the ids spelled differently?"


@dataclass(frozen=True)
class Sources:
    """The files that a conference was read from, so that messages can name them and their rows.

    Attributes:
        reviews: The file of reviews.
        reviewers: The file of the calibration.
        pools: The file of candidates.
        conflicts: Pairs of paper and reviewer that are not in a file yet; by default those of `pools`.
    """

    reviews: str
    reviewers: str
    pools: str
    conflicts: Sequence[tuple[str, str]] = ()

    @property
    def barred(self) -> set[tuple[str, str]]:
        """Who cannot have reviewed what."""
        return {*self.conflicts} or conflicts_in(self.pools)


@dataclass(frozen=True)
class Conference:
    """The public side of a conference: its papers and the bar.

    Attributes:
        cases: One per paper, sorted by paper id.
        bar: The quality above which a paper should be accepted; one number, or one for each track.
        accept_rate: The share that the bar was chosen for, likewise; None if the bar was given.
        raw_accept: For each case 1 if its mean score accepts the paper and 0 if it rejects it. Papers tied at
            the line get the share of them that fits.
        model: What all papers share if they are decided by this year's evidence, else None.
    """

    cases: tuple[Case, ...]
    bar: LevelByTrack
    accept_rate: LevelByTrack | None
    raw_accept: tuple[float, ...]
    model: LevelModel | None = None

    @property
    def pooled(self) -> tuple[PaperCase, ...]:
        """The papers that have candidates."""
        return tuple(case for case in self.cases if isinstance(case, PaperCase))

    @property
    def graded(self) -> tuple[LevelCase, ...]:
        """The papers that have levels of evidence."""
        return tuple(case for case in self.cases if isinstance(case, LevelCase))


def prepare(
    reviews: Reviews,
    parameters: Parameters,
    pools: Pools,
    *,
    accept_rate: LevelByTrack | None = None,
    bar: LevelByTrack | None = None,
    sources: Sources | None = None,
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
    shared = _Shared()
    cases = [
        public_case(paper, scores, pools[paper], parameters, tracks[paper], grid, shared)
        for paper, scores in _scores(reviews).items()
    ]
    return assemble(cases, accept_rate, bar, workers=workers, advance=advance)


def check_levels(accept_rate: LevelByTrack | None, bar: LevelByTrack | None) -> None:
    """Refuse a share or a bar that cannot be, and both or neither."""
    if (accept_rate is None) == (bar is None):
        raise InputError("give one of accept rate and bar")
    if accept_rate is not None:
        rates = _values(accept_rate)
        # Single tracks may accept all or none, if another track has something to decide.
        check = within if any(0.0 < rate < 1.0 for rate in rates) else strictly_within
        check("accept rate", rates, 0.0, 1.0)
    if bar is not None:
        numbers("bar", _values(bar))


def assemble(
    cases: Sequence[PaperCase],
    accept_rate: LevelByTrack | None,
    bar: LevelByTrack | None,
    *,
    workers: Workers = 1,
    advance: Callable[[int], None] | None = None,
) -> Conference:
    """A conference from cases: the bar, given or chosen for the accept rate, and the raw decisions.

    Tracks with levels of their own are handled one by one.
    """
    if isinstance(accept_rate, Mapping) or isinstance(bar, Mapping):
        return _track_by_track(cases, accept_rate, bar, workers=workers, advance=advance)
    height, share = choose_bar(cases, accept_rate, bar, workers=workers, advance=advance)
    cases = [replace(case, bar=height) for case in cases]
    raw_accept = best_by_mean([case.scores for case in cases], round(share * len(cases)))
    return Conference(tuple(cases), height, accept_rate, raw_accept)


def _track_by_track(
    cases: Sequence[PaperCase],
    accept_rate: LevelByTrack | None,
    bar: LevelByTrack | None,
    *,
    workers: Workers,
    advance: Callable[[int], None] | None,
) -> Conference:
    """Every track as a conference of its own, and the papers of all of them in their order."""
    parts = {
        track: assemble(
            [case for case in cases if case.track == track],
            None if accept_rate is None else track_level(accept_rate, track),
            None if bar is None else track_level(bar, track),
            workers=workers,
            advance=advance,
        )
        for track in sorted({case.track for case in cases})
    }
    by_paper = {
        case.paper: (case, raw)
        for part in parts.values()
        for case, raw in zip(part.cases, part.raw_accept, strict=True)
    }
    chosen, raws = zip(*(by_paper[case.paper] for case in cases), strict=True)
    # A track without papers keeps its bar.
    kept = dict(bar) if isinstance(bar, Mapping) else {}
    bars = {**kept, **{track: track_level(part.bar, track) for track, part in parts.items()}}
    return Conference(chosen, bars, accept_rate, raws)


def track_level(level: LevelByTrack, track: str) -> float:
    """The number of one track.

    >>> track_level(0.5, "main"), track_level({"main": 0.5, "short": 0.75}, "short")
    (0.5, 0.75)
    """
    return level[track] if isinstance(level, Mapping) else level


def _values(level: LevelByTrack) -> list[float]:
    return list(level.values()) if isinstance(level, Mapping) else [level]


def tracks_of(reviews: Reviews, level: LevelByTrack | None, sources: Sources | None) -> dict[str, str]:
    """The track of each paper if tracks have levels of their own, else an empty one."""
    if not isinstance(level, Mapping):
        return dict.fromkeys(reviews.papers, "")
    tracks = paper_tracks(reviews)
    file = "reviews" if sources is None else sources.reviews
    strange = Counter("another one" if track else "none" for track in tracks.values() if track not in level)
    rule = f"must be one of those that papers are accepted in ({', '.join(level)})"
    details = [f"{what} for {count(papers, 'paper')}" for what, papers in strange.items()]
    if details:
        raise input_error([Problem(file, None, "track", rule, detail) for detail in details])
    return tracks


def paper_tracks(reviews: Reviews) -> dict[str, str]:
    """The track of each paper, as its reviews say; empty if they do not."""
    return _by_paper(reviews, reviews.tracks, reviews.track)


def paper_areas(reviews: Reviews) -> dict[str, str]:
    """The area of each paper whose center is its own: the declared one, else its track, else empty."""
    if reviews.area is None:
        return paper_tracks(reviews)
    return _by_paper(reviews, reviews.areas, reviews.area)


def _by_paper(reviews: Reviews, names: tuple[str, ...], codes: Integers | None) -> dict[str, str]:
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
    by_paper: dict[str, list[str]] = {paper: [] for paper in reviews.papers}
    for row in order:
        by_paper[reviews.papers[reviews.paper[row]]].append(reviews.reviewers[reviews.reviewer[row]])
    return {paper: tuple(who) for paper, who in by_paper.items()}


def _scores(reviews: Reviews) -> dict[str, tuple[float, ...]]:
    order = np.lexsort((reviews.score, reviews.paper))
    parts = np.split(reviews.score[order], np.flatnonzero(np.diff(reviews.paper[order])) + 1)
    return {paper: tuple(part.tolist()) for paper, part in zip(reviews.papers, parts, strict=True)}


def public_case(
    paper: str,
    scores: tuple[float, ...],
    pool: Mapping[str, float],
    parameters: Parameters,
    track: str,
    grid: tuple[float, ...] | None,
    shared: _Shared | None = None,
) -> PaperCase:
    """One paper as anyone sees it, before there is a bar; `scores` from the lowest up.

    `shared` keeps what papers with the same pool have in common: a large committee times many papers would
    be too much memory.
    """
    shared, key = shared or _Shared(), (id(pool), len(scores))
    if key not in shared.parts:
        shared.parts[key] = _candidates(pool, len(scores), parameters, shared)
    return PaperCase(paper, scores, *shared.parts[key], 0.0, grid, track=track)


_Candidates = tuple[Sequence[str], tuple[float, ...], Sequence[tuple[float, ...]]]


@dataclass(frozen=True, eq=False)
class _Shared:
    """What papers have in common, by the identity of a pool or committee, or by sizes."""

    parts: dict[tuple[int, int], _Candidates] = field(default_factory=dict)
    rows: dict[int, SharedTuple[tuple[float, ...]]] = field(default_factory=dict)
    chances: dict[tuple[int, int], tuple[float, ...]] = field(default_factory=dict)


def _candidates(
    pool: Mapping[str, float], reviews: int, parameters: Parameters, shared: _Shared
) -> _Candidates:
    """Candidates, their chances and their calibration, for a paper with so many reviews."""
    if isinstance(pool, CommitteePool) and OUTSIDER not in pool:
        return _committee(pool, reviews, parameters, shared)
    names = sorted(pool)
    outsider = names.index(OUTSIDER) if OUTSIDER in names else None
    chances = inclusion([pool[name] for name in names], reviews, outsider)
    possible = [chance > 0.0 for chance in chances]
    kept = tuple(compress(names, possible))
    return kept, tuple(compress(chances, possible)), _calibration(kept, parameters)


def _committee(pool: CommitteePool, reviews: int, parameters: Parameters, shared: _Shared) -> _Candidates:
    """The same for a committee, whose names and calibration all papers share."""
    names, without = shared_part(pool.candidates)
    if id(names) not in shared.rows:
        shared.rows[id(names)] = SharedTuple(_calibration(names, parameters))
    size = len(pool), reviews
    if size not in shared.chances:
        shared.chances[size] = SharedTuple(inclusion([1.0] * len(pool), reviews))
    return pool.candidates, shared.chances[size], all_but(shared.rows[id(names)], without)


def _calibration(names: Sequence[str], parameters: Parameters) -> tuple[tuple[float, ...], ...]:
    """The calibration of each, or that of anyone without a row."""
    return tuple(parameters[name if name in parameters else OUTSIDER] for name in names)


def best_by_mean(scores: Sequence[Sequence[float]], places: int) -> tuple[float, ...]:
    """For each paper 1 if it is among the best `places` by mean score, else 0.

    Tied papers get the share of them that fits. Means are exact: numbers count as they are written.

    >>> best_by_mean([(3.0, 4.0), (5.0,), (3.5,), (1.0, 9.0)], 3)
    (0.5, 1.0, 0.5, 1.0)
    """
    if not places:
        return (0.0,) * len(scores)
    means = [sum(Fraction(str(score)) for score in paper) / len(paper) for paper in scores]
    line = sorted(means, reverse=True)[places - 1]
    above, tied = sum(mean > line for mean in means), means.count(line)
    return tuple(1.0 if mean > line else (places - above) / tied * (mean == line) for mean in means)


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
    wide += [Column("reviews", "number", required=False)]
    table = read_table(path, wide, name="`reviewers`")
    rows = np.stack(
        [table.number(name) if name in table else np.zeros(len(table)) for name in FIELDS], axis=-1
    )
    problems, parameters = [], dict[str, tuple[float, ...]]()
    for row, name, values in zip(table.rows, table.text("reviewer"), rows, strict=True):
        rules = [(name in parameters, "reviewer", "must not be listed twice")]
        rules += [(values[0] <= 0, "slope", "must be above 0"), (values[2] <= 0, "noise", _NOISE_RULE)]
        rules += [(values[i] < 0, FIELDS[i], "must be at least 0") for i in (3, 4, 6)]
        rules += [(abs(values[5]) > 1, "correlation", "must lie in [-1, 1]")]
        problems += [Problem(table.file, row, column, rule) for broken, column, rule in rules if broken]
        parameters[name] = tuple(values.tolist())
    if problems:
        raise input_error(problems)
    return parameters


def refuse_mismatches(
    reviews: Reviews, parameters: Parameters, pools: Pools, sources: Sources | None
) -> None:
    """Raise an `InputError` that lists every problem at once.

    No reviewer is named, and a paper is shown with the first of its rows, so that no review is singled out.
    """
    named = sources or Sources("reviews", "reviewers", "pools")
    by_slot = reviewers_by_slot(reviews)
    # Pools that papers with as many reviews share are checked once.
    pairs = {paper: (who, pools.get(paper)) for paper, who in by_slot.items()}
    shared = {(id(pool), len(who)): (len(who), pool) for who, pool in pairs.values()}
    checked = {key: pool_problems(*pair) for key, pair in shared.items()}
    broken = {paper: checked[id(pool), len(who)] for paper, (who, pool) in pairs.items()}
    # Nobody is missing from a pool that has `*`.
    missing = {
        paper: [name for name in who if pool and not max(pool.get(name, 0.0), pool.get(OUTSIDER, 0.0)) > 0.0]
        for paper, (who, pool) in pairs.items()
    }
    problems, outside = list[Problem](), list[MissingReviewer]()
    if any(broken.values()) or any(missing.values()):
        barred = set[tuple[str, str]]() if sources is None else sources.barred
        members = members_of(pools.values())
        people = {*parameters, *members, *(name for _, name in barred)}
        shown = _shown_papers(reviews, pools, people, sources)
        # Most papers have names of people, and no reviewer has one.
        known = sum(paper in people for paper in reviews.papers)
        swapped = 2 * known >= len(reviews.papers) and people.isdisjoint(reviews.reviewers)
        swapped = swapped or (bool(pools) and pools.keys() <= parameters.keys())
        outside = missing_reviewers(missing, pools, parameters, barred)
        if pools.keys().isdisjoint(reviews.papers):
            why = f"{_SWAPPED} in one of them" if swapped else _APART
            detail = f"none for any of the {count(len(reviews.papers), 'paper')} of {named.reviews}: {why}"
            problems.append(Problem(named.pools, None, None, _POOL_RULE, detail))
        else:
            problems += [
                Problem(named.pools, None, None, rule, f"{detail} for {shown[paper]}")
                for paper in shown
                for rule, detail in broken[paper]
            ]
        problems += _unknown_reviewers(outside, reviews, parameters, shown, swapped, named)
    problems += unknown_candidates(reviews.papers, parameters, pools, sources)
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
    named: Sources,
) -> list[Problem]:
    """How many reviewers of which papers are not in the pool, and why; once if no reviewer has a row."""
    counted = Counter((reviewer.paper, reviewer.cause) for reviewer in missing)
    problems = []
    if parameters.keys().isdisjoint(reviews.reviewers) and any(
        reviewer.cause == "calibration" for reviewer in missing
    ):
        why = f"{_SWAPPED} there" if swapped else _UNLIKE
        detail = f"none of the reviewers of {named.reviews}: {why}"
        problems.append(Problem(named.reviewers, None, "reviewer", CAUSES["calibration"][2], detail))
        counted = Counter({pair: number for pair, number in counted.items() if pair[1] != "calibration"})
    order = {paper: index for index, paper in enumerate(shown)}
    for paper, cause in sorted(counted, key=lambda pair: order[pair[0]]):
        file, column, rule, detail = CAUSES[cause]
        detail = f"{counted[paper, cause]} {detail} for {shown[paper]}"
        problems.append(Problem(getattr(named, file), None, column, rule, detail))
    return problems


def unknown_candidates(
    papers: Iterable[str], parameters: Parameters, pools: Pools, sources: Sources | None
) -> list[Problem]:
    """A problem if candidates of these papers' pools have no calibration."""
    needed = members_of(pools.get(paper, {}) for paper in papers)
    without = needed - set(parameters)
    if OUTSIDER in parameters or not without:
        return []
    detail = f"{len(without)} missing"
    if sources is not None and (row := first_row(sources.pools, without)) is not None:
        detail += f", the first in {sources.pools}, row {row}"
    detail += " (among them *, anyone not listed)" if OUTSIDER in without else ""
    rule = "must have a row for every candidate of the pools, or a row * for those without one"
    return [Problem("reviewers" if sources is None else sources.reviewers, None, None, rule, detail)]


def _shown_papers(
    reviews: Reviews, pools: Pools, people: Collection[str], sources: Sources | None
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
    row = {paper: "" if sources is None else f" ({sources.reviews}, row {starts[paper]})" for paper in starts}
    order = sorted(starts, key=starts.__getitem__) if hidden else reviews.papers
    return {paper: ("a paper" if paper in hidden else f"paper {paper!r}") + row[paper] for paper in order}


def members_of(pools: Iterable[Mapping[str, float]]) -> set[str]:
    """Everyone in these pools; one that papers share is looked at once."""
    return union([pool.candidates if isinstance(pool, CommitteePool) else pool for pool in pools])


def pool_problems(reviews: int, pool: Mapping[str, float] | None) -> list[tuple[str, str]]:
    """The rules that a pool breaks for a paper with this many reviews, whoever wrote them."""
    if pool is None:
        return [(_POOL_RULE, "none")]
    problems = []
    everyone = isinstance(pool, CommitteePool)
    positive = len(pool) if everyone else sum(chance > 0.0 for chance in pool.values())
    outside = pool.get(OUTSIDER, 0.0) > 0.0
    if positive < reviews and not outside:
        rule = "must have at least as many candidates as the paper has reviews"
        problems.append((rule, count(positive, "candidate")))
    elif reviews > MOST_REVIEWS and tuple_count(positive, reviews, outside) > MOST_LISTED:
        problems.append((f"must be small if a paper has over {MOST_REVIEWS} reviews", f"{positive}"))
    return problems
