"""Reviews, reviewers' calibration and candidate pools -> Conference: the public side, ready to be solved.

The true reviewers enter at two places only: `true_reviewers` lists them for the coin, and `prepare` checks
that each of them stands in its paper's pool.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from blindcal.assignments.pools import OUTSIDER, Pools, SampledPool, read_pools
from blindcal.assignments.priors import inclusion
from blindcal.beliefs.bars import bar_of
from blindcal.beliefs.cases import PaperCase, secret_of
from blindcal.beliefs.mismatches import Parameters, Sources, by_slot, refuse_mismatches
from blindcal.cells import Column, count
from blindcal.checks import numbers, strictly_within, within
from blindcal.errors import InputError, Problem
from blindcal.files.disk import read_table
from blindcal.files.tables import refuse
from blindcal.fitting.rosters import FIELDS
from blindcal.reviews import Reviews
from blindcal.workers import Workers

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

    >>> from blindcal.assignments.pools import everyone
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

    >>> from blindcal.assignments.pools import everyone
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


def read_reviewers(path: str | os.PathLike[str]) -> dict[str, tuple[float, ...]]:
    """Each reviewer's calibration: slope, offset, noise, slope_se, offset_se, correlation, noise_se.

    `path` is a table with a column `reviewer` and these columns, of which only the first three are needed;
    the others are 0 without them. It has one row per reviewer, and optionally `*`, for anyone without a row
    of their own. A column `reviews`, as `blindcal fit` writes it, is not used.

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
    table = read_table(path, wide)
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
