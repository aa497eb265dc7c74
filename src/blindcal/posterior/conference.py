"""Reviews, reviewers' calibration and candidate pools -> Conference: the public side, ready to be solved.

The true reviewers enter at two places only: `true_reviewers` lists them for the coin, and `prepare` checks
that each of them stands in its paper's pool.

Reviews, calibration and pools that do not fit together: every problem at once, and no reviewer named.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from fractions import Fraction
from math import factorial
from typing import Any

import numpy as np

from blindcal.assignment.candidates import (
    BEFOREHAND,
    CAUSES,
    OUTSIDER,
    Pools,
    SampledPool,
    Stranger,
    conflicts_in,
    first_row,
    read_pools,
    strangers,
)
from blindcal.assignment.prior import inclusion, tuple_count
from blindcal.cells import Column, count
from blindcal.checks import numbers, strictly_within, within
from blindcal.compute.parallel import Workers
from blindcal.errors import InputError, Problem
from blindcal.fitting.committee import FIELDS
from blindcal.io.atomic_files import read_table
from blindcal.io.tables import refuse
from blindcal.posterior.acceptance_bar import bar_of
from blindcal.posterior.paper import MOST_LISTED, PaperCase, secret_of
from blindcal.reviews import Reviews

# Where tuples are too many to be listed, sums over all sets of slots are taken: a minute at this number.
MOST_REVIEWS = 9
Parameters = Mapping[str, tuple[float, ...]]
"""For each reviewer (and `*`, anyone without a row) the numbers of `fitting.rosters.FIELDS`."""

_POOL_RULE = "must have a pool for a paper that has reviews"
_SWAPPED = "the columns paper and reviewer look swapped"
_UNLIKE = "emails in one file and names in the other?"
_APART = "no paper is in both files: are the ids spelled differently?"


@dataclass(frozen=True)
class Sources:
    """The files that a conference was read from: messages then name them, and rows in them."""

    reviews: str
    reviewers: str
    pools: str


def refuse_mismatches(
    reviews: Reviews, parameters: Parameters, pools: Pools, sources: Sources | None
) -> None:
    """Every problem at once. No reviewer is named, and a paper by the first of its rows: no review is singled
    out."""
    named = sources or Sources("reviews", "reviewers", "pools")
    wrote = by_slot(reviews)
    broken = {paper: _pool_problems(who, pools.get(paper)) for paper, who in wrote.items()}
    missing = {paper: _missing(who, pools.get(paper, {})) for paper, who in wrote.items()}
    problems, strange = list[Problem](), list[Stranger]()
    if any(broken.values()) or any(missing.values()):
        barred = set[tuple[str, str]]() if sources is None else conflicts_in(sources.pools)
        members = {name for pool in pools.values() for name in pool}
        people = {*parameters, *members, *(name for _, name in barred)}
        shown = _shown_papers(reviews, pools, people, sources)
        swapped = _swapped(reviews, people) or (bool(pools) and pools.keys() <= parameters.keys())
        strange = strangers(missing, pools, parameters, barred)
        problems += _broken_pools(broken, reviews, pools, shown, swapped, named)
        problems += _unknown_reviewers(strange, reviews, parameters, shown, swapped, named)
    problems += unknown_candidates(reviews.papers, parameters, pools, sources)
    if problems:
        error = refuse(problems[:100], more=max(0, len(problems) - 100))
        error.confidential = tuple(astuple(one) for one in strange)
        raise error


def _broken_pools(
    broken: Mapping[str, Sequence[tuple[str, str]]],
    reviews: Reviews,
    pools: Pools,
    shown: Mapping[str, str],
    swapped: bool,
    named: Sources,
) -> list[Problem]:
    """What is wrong with the pools of some papers; said once where no paper has any."""
    if pools.keys().isdisjoint(reviews.papers):
        why = f"{_SWAPPED} in one of them" if swapped else _APART
        found = f"none for any of the {count(len(reviews.papers), 'paper')} of {named.reviews}: {why}"
        return [Problem(named.pools, None, None, _POOL_RULE, found)]
    return [
        Problem(named.pools, None, None, rule, f"{found} for {shown[paper]}")
        for paper in shown
        for rule, found in broken[paper]
    ]


def _unknown_reviewers(
    strange: Sequence[Stranger],
    reviews: Reviews,
    parameters: Parameters,
    shown: Mapping[str, str],
    swapped: bool,
    named: Sources,
) -> list[Problem]:
    """How many reviewers of which papers are not in the pool, and why; said once where nobody has a row."""
    counted = Counter((one.paper, one.cause) for one in strange)
    problems = []
    if parameters.keys().isdisjoint(reviews.reviewers) and any(one.cause == "calibration" for one in strange):
        why = f"{_SWAPPED} there" if swapped else _UNLIKE
        found = f"none of the reviewers of {named.reviews}: {why}"
        problems.append(Problem(named.reviewers, None, "reviewer", CAUSES["calibration"][2], found))
        counted = Counter({one: number for one, number in counted.items() if one[1] != "calibration"})
    place = {paper: index for index, paper in enumerate(shown)}
    for paper, cause in sorted(counted, key=lambda one: place[one[0]]):
        file, column, rule, found = CAUSES[cause]
        found = f"{counted[paper, cause]} {found} for {shown[paper]}"
        problems.append(Problem(getattr(named, file), None, column, rule, found))
    return problems


def unknown_candidates(
    papers: Iterable[str], parameters: Parameters, pools: Pools, sources: Sources | None
) -> list[Problem]:
    """Whether candidates of these papers' pools have no calibration."""
    needed = {name for paper in papers for name in pools.get(paper, {})}
    without = needed - set(parameters)
    if OUTSIDER in parameters or not without:
        return []
    found = f"{len(without)} missing"
    if sources is not None and (row := first_row(sources.pools, without)) is not None:
        found += f", the first in {sources.pools}, row {row}"
    found += " (among them *, anyone not listed)" if OUTSIDER in without else ""
    rule = "must have a row for every candidate of the pools, or a row * for those without one"
    return [Problem("reviewers" if sources is None else sources.reviewers, None, None, rule, found)]


def _shown_papers(
    reviews: Reviews, pools: Pools, people: Collection[str], sources: Sources | None
) -> dict[str, str]:
    """What messages call each paper, in the order to list them.

    Where columns were swapped a paper's id is a person's name. It is not shown if any file knows it as one,
    or if no paper has a pool, so that nothing tells; nor may the order of the messages then be that of names.
    """
    starts = _first_rows(reviews)
    apart = not any(pools.get(paper) for paper in reviews.papers)
    hidden = {paper for paper in reviews.papers if apart or paper in people}
    row = {paper: "" if sources is None else f" ({sources.reviews}, row {starts[paper]})" for paper in starts}
    order = sorted(starts, key=starts.__getitem__) if hidden else reviews.papers
    return {paper: ("a paper" if paper in hidden else f"paper {paper!r}") + row[paper] for paper in order}


def _swapped(reviews: Reviews, people: Collection[str]) -> bool:
    """Whether most papers are called as people are, and no reviewer is."""
    known = sum(paper in people for paper in reviews.papers)
    return 2 * known >= len(reviews.papers) and not any(name in people for name in reviews.reviewers)


def _missing(who: Sequence[str], pool: Mapping[str, float]) -> list[str]:
    """Whom the pool of a paper does not hold, and `*` does not stand for."""
    positive = {name for name, chance in pool.items() if chance > 0.0}
    missing = [name for name in who if name not in positive]
    return missing if pool and OUTSIDER not in positive else []


def _pool_problems(who: Sequence[str], pool: Mapping[str, float] | None) -> list[tuple[str, str]]:
    """The rules that the pool of one paper breaks, and what was found."""
    problems = pool_problems(len(who), pool)
    if isinstance(pool, SampledPool) and not problems:
        drawn = pool.of(len(who))
        if pool.keys() >= set(who) and tuple(sorted(who)) not in drawn.sets:
            return [(f"must have a paper's reviewers together in some draw {BEFOREHAND}", "them apart")]
    return problems


def pool_problems(reviews: int, pool: Mapping[str, float] | None) -> list[tuple[str, str]]:
    """The rules that a pool breaks for a paper with this many reviews, whoever wrote them."""
    if pool is None:
        return [(_POOL_RULE, "none")]
    if isinstance(pool, SampledPool):
        return _draw_problems(reviews, pool)
    problems = []
    positive = {name for name, chance in pool.items() if chance > 0.0}
    outside = OUTSIDER in positive
    if len(positive) < reviews and not outside:
        rule = "must have at least as many candidates as the paper has reviews"
        problems.append((rule, count(len(positive), "candidate")))
    elif reviews > MOST_REVIEWS and tuple_count(len(positive), reviews, outside) > MOST_LISTED:
        problems.append((f"must be small where a paper has over {MOST_REVIEWS} reviews", f"{len(positive)}"))
    return problems


def _draw_problems(reviews: int, pool: SampledPool) -> list[tuple[str, str]]:
    """The rules that the sampled reviewers of one paper break."""
    if pool.least < reviews:
        rule = "must have at least as many reviewers of a paper in every draw as the paper has reviews"
        return [(rule, f"{pool.least}")]
    drawn = pool.of(reviews)
    if len(drawn.sets) * factorial(reviews) > MOST_LISTED:
        return [(f"must have few draws where a paper has {reviews} reviews", f"{len(drawn.sets)} sets")]
    return []


def _first_rows(reviews: Reviews) -> dict[str, int]:
    """The first row of each paper: the same whoever wrote its reviews."""
    starts = np.full(len(reviews.papers), np.iinfo(np.int64).max)
    np.minimum.at(starts, reviews.paper, reviews.row)
    return dict(zip(reviews.papers, starts.tolist(), strict=True))


def by_slot(reviews: Reviews) -> dict[str, tuple[str, ...]]:
    """Who wrote each slot of each paper, lowest score first, ties by reviewer id. CONFIDENTIAL."""
    order = np.lexsort((reviews.reviewer, reviews.score, reviews.paper))
    found: dict[str, list[str]] = {paper: [] for paper in reviews.papers}
    for row in order:
        found[reviews.papers[reviews.paper[row]]].append(reviews.reviewers[reviews.reviewer[row]])
    return {paper: tuple(who) for paper, who in found.items()}


__all__ = [
    "FIELDS",
    "Conference",
    "PaperCase",
    "prepare",
    "read_pools",
    "read_reviewers",
    "secret_of",
    "true_reviewers",
]

Truth = Mapping[str, tuple[str, ...]]
"""The true reviewers of each paper by slot: CONFIDENTIAL."""

Level = float | Mapping[str, float]
"""One number for the conference, or one for each track."""

_NOISE_RULE = "must be above 0: scores without noise would name their author"


@dataclass(frozen=True)
class Conference:
    """The public side of a conference: its papers and the bar.

    `cases`: one per paper, sorted by paper id.
    `bar`: the quality above which a paper should be accepted; one number, or one for each track.
    `accept_rate`: the share that the bar was chosen for, likewise; None where the bar was given.
    `raw_accept`: for each case 1 if its mean score accepts the paper and 0 if it rejects it; papers that tie
    at the line have the share of them that fits.
    """

    cases: tuple[PaperCase, ...]
    bar: Level
    accept_rate: Level | None
    raw_accept: tuple[float, ...]


def prepare(
    reviews: Reviews,
    parameters: Parameters,
    pools: Pools,
    *,
    accept_rate: Level | None = None,
    bar: Level | None = None,
    sources: Sources | None = None,
    workers: Workers = 1,
    advance: Callable[[int], None] | None = None,
) -> Conference:
    """The public side of a conference, or an `InputError` that lists every problem of the input.

    `reviews`: this year's, high scores better; they count as rounded if they have a grid.
    `parameters`: for each reviewer, and `*` for anyone else, the numbers of `FIELDS`.
    `pools`: for each paper its candidates and their chances, before scaling.
    `accept_rate`: the bar is chosen so that full calibration accepts this share of the papers on average over
    the public belief; one number, or one for each track, which then has a bar of its own; of single tracks
    also 0 or 1.
    `bar`: in its place the bar itself, in units of quality; likewise.
    `sources`: the names of the files, for messages.
    `workers`: how many processes share the work, or a cluster's pool; results are the same.
    `advance`: called with a number of papers as they are weighed.

    >>> from blindcal.assignment.candidates import everyone
    >>> reviews = Reviews.from_table({"paper": ["p", "q"], "reviewer": ["ada", "ben"], "score": [3, 1]})
    >>> known = dict.fromkeys(["ada", "ben"], (1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0))
    >>> conference = prepare(reviews, known, everyone(reviews.papers, list(known)), bar=1.0)
    >>> [(case.paper, case.scores) for case in conference.cases], conference.raw_accept
    ([('p', (3.0,)), ('q', (1.0,))], (1.0, 0.0))
    """
    if (accept_rate is None) == (bar is None):
        raise InputError("give one of accept rate and bar")
    if accept_rate is not None:
        rates = _values(accept_rate)
        # All or none of single tracks, where another has something to decide.
        check = within if any(0.0 < rate < 1.0 for rate in rates) else strictly_within
        check("accept rate", rates, 0.0, 1.0)
    if bar is not None:
        numbers("bar", _values(bar))
    refuse_mismatches(reviews, parameters, pools, sources)
    tracks = _tracks(reviews, bar if accept_rate is None else accept_rate, sources)
    grid = None if reviews.grid is None else tuple(reviews.grid.tolist())
    cases = [
        public_case(paper, scores, pools[paper], parameters, tracks[paper], grid)
        for paper, scores in _scores(reviews).items()
    ]
    return assemble(cases, accept_rate, bar, workers=workers, advance=advance)


def assemble(
    cases: Sequence[PaperCase],
    accept_rate: Level | None,
    bar: Level | None,
    *,
    workers: Workers = 1,
    advance: Callable[[int], None] | None = None,
) -> Conference:
    """Cases with their bar, given or chosen for the accept rate, and the raw decisions; track by track where
    each has its own."""
    if isinstance(accept_rate, Mapping) or isinstance(bar, Mapping):
        return _track_by_track(cases, accept_rate, bar, workers=workers, advance=advance)
    height, share = bar_of(cases, accept_rate, bar, workers=workers, advance=advance)
    cases = [replace(case, bar=height) for case in cases]
    return Conference(tuple(cases), height, accept_rate, _raw(cases, share))


def _track_by_track(
    cases: Sequence[PaperCase],
    accept_rate: Level | None,
    bar: Level | None,
    *,
    workers: Workers,
    advance: Callable[[int], None] | None,
) -> Conference:
    """Every track as a conference of its own, and the papers of all of them in their order."""
    parts = {
        track: assemble(
            [case for case in cases if case.track == track],
            None if accept_rate is None else level_of(accept_rate, track),
            None if bar is None else level_of(bar, track),
            workers=workers,
            advance=advance,
        )
        for track in sorted({case.track for case in cases})
    }
    found = {
        case.paper: (case, raw)
        for part in parts.values()
        for case, raw in zip(part.cases, part.raw_accept, strict=True)
    }
    chosen, raws = zip(*(found[case.paper] for case in cases), strict=True)
    # A track without papers keeps its bar.
    kept = dict(bar) if isinstance(bar, Mapping) else {}
    bars = {**kept, **{track: level_of(part.bar, track) for track, part in parts.items()}}
    return Conference(chosen, bars, accept_rate, raws)


def level_of(level: Level, track: str) -> float:
    """The number of one track.

    >>> level_of(0.5, "main"), level_of({"main": 0.5, "short": 0.75}, "short")
    (0.5, 0.75)
    """
    return level[track] if isinstance(level, Mapping) else level


def _values(level: Level) -> list[float]:
    return list(level.values()) if isinstance(level, Mapping) else [level]


def _tracks(reviews: Reviews, level: Level | None, sources: Sources | None) -> dict[str, str]:
    """The track of each paper, where each of them has a level of its own; else none."""
    if not isinstance(level, Mapping):
        return dict.fromkeys(reviews.papers, "")
    found = tracks_of(reviews)
    file = "reviews" if sources is None else sources.reviews
    strange = Counter("another one" if track else "none" for track in found.values() if track not in level)
    rule = f"must be one of those that papers are accepted in ({', '.join(level)})"
    if strange:
        raise refuse(
            [
                Problem(file, None, "track", rule, f"{what} for {count(papers, 'paper')}")
                for what, papers in strange.items()
            ]
        )
    return found


def tracks_of(reviews: Reviews) -> dict[str, str]:
    """The track of each paper, as its reviews say; empty where they do not."""
    if reviews.track is None:
        return dict.fromkeys(reviews.papers, "")
    names = (*reviews.tracks, "")
    return {reviews.papers[p]: names[t] for p, t in zip(reviews.paper, reviews.track, strict=True)}


def true_reviewers(conference: Conference, reviews: Reviews) -> dict[str, tuple[str, ...]]:
    """Who wrote each review of each paper of the `conference`, lowest score first, as `reviews` say.
    CONFIDENTIAL.

    >>> from blindcal.assignment.candidates import everyone
    >>> reviews = Reviews.from_table({"paper": ["p", "p"], "reviewer": ["ada", "ben"], "score": [3, 1]})
    >>> known = dict.fromkeys(["ada", "ben"], (1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0))
    >>> conference = prepare(reviews, known, everyone(reviews.papers, list(known)), bar=1.0)
    >>> true_reviewers(conference, reviews)
    {'p': ('ben', 'ada')}
    """
    everyone = by_slot(reviews)
    return {case.paper: everyone[case.paper] for case in conference.cases}


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
) -> PaperCase:
    """One paper as anybody sees it, before there is a bar; `scores` from the lowest up."""
    drawn = pool.of(len(scores)) if isinstance(pool, SampledPool) else None
    pool = pool if drawn is None else drawn
    names = sorted(pool)
    outsider = names.index(OUTSIDER) if OUTSIDER in names else None
    chances = inclusion([pool[name] for name in names], len(scores), outsider)
    kept = [(name, chance) for name, chance in zip(names, chances, strict=True) if chance > 0.0]
    return PaperCase(
        paper=paper,
        scores=scores,
        candidates=tuple(name for name, _ in kept),
        inclusion=tuple(chance for _, chance in kept),
        parameters=tuple(parameters[name if name in parameters else OUTSIDER] for name, _ in kept),
        bar=0.0,
        grid=grid,
        track=track,
        sets=None if drawn is None else drawn.by_place(names),
    )


def _raw(cases: Sequence[PaperCase], share: float) -> tuple[float, ...]:
    return best_by_mean([case.scores for case in cases], round(share * len(cases)))


def best_by_mean(scores: Sequence[Sequence[float]], places: int) -> tuple[float, ...]:
    """For the `scores` of each paper 1 if it is among the best `places` by mean score, else 0; at a tie the
    share of the tied papers that fits. Numbers are taken as they are written.

    >>> best_by_mean([(3.0, 4.0), (5.0,), (3.5,), (1.0, 9.0)], 3)
    (0.5, 1.0, 0.5, 1.0)
    """
    if not places:
        return (0.0,) * len(scores)
    means = [sum(Fraction(str(score)) for score in one) / len(one) for one in scores]
    line = sorted(means, reverse=True)[places - 1]
    above, tied = sum(mean > line for mean in means), means.count(line)
    return tuple(1.0 if mean > line else (places - above) / tied * (mean == line) for mean in means)


def read_reviewers(path: str | os.PathLike[str] | Any) -> dict[str, tuple[float, ...]]:
    """Each reviewer's calibration: slope, offset, noise, slope_se, offset_se, correlation, noise_se.

    `path` is a file or data frame with a column `reviewer` and these columns, of which only the first three
    are needed; the others are 0 without them. It has one row per reviewer, and optionally `*`, for anyone
    without a row of their own. A column `reviews`, as `blindcal fit` writes it, is not used.

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
    problems, found = [], dict[str, tuple[float, ...]]()
    for row, name, values in zip(table.rows, table.text("reviewer"), rows, strict=True):
        rules = [(name in found, "reviewer", "must not be listed twice")]
        rules += [(values[0] <= 0, "slope", "must be above 0"), (values[2] <= 0, "noise", _NOISE_RULE)]
        rules += [(values[i] < 0, FIELDS[i], "must be at least 0") for i in (3, 4, 6)]
        rules += [(abs(values[5]) > 1, "correlation", "must lie in [-1, 1]")]
        problems += [Problem(table.file, row, column, rule) for broken, column, rule in rules if broken]
        found[name] = tuple(values.tolist())
    if problems:
        raise refuse(problems)
    return found
