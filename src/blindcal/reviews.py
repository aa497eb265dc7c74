"""Reviews: the long table of paper, reviewer and score. Ids at the border, integers inside.

Which end of the scale is better. Inside, higher is: where low scores are the better ones, scores, offsets
and grid are negated at the door, and negated back wherever they are shown.

No public data can tell: reversed scores look the same as reversed qualities. So it is for the chair to say.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from blindcal.cells import (
    Column,
    cell_problem,
    cell_value,
    count,
    escape,
    in_natural_order,
    loose,
    number_text,
)
from blindcal.checks import Array, Integers, numbers
from blindcal.errors import InputError
from blindcal.io.atomic_files import digest, read_table, write_table
from blindcal.io.tables import Problems

__all__ = ["Components", "Reviews", "absent_remarks", "recognize_grid", "twin_remarks"]

COLUMNS = (
    Column("paper", "id", synonyms=("paperid", "paper_id", "submission", "item", "task")),
    Column(
        "reviewer",
        "id",
        synonyms=("reviewerid", "reviewer_id", "rater", "worker", "judge", "personid"),
        secret=True,
    ),
    Column("score", "number", synonyms=("rating", "label"), secret=True),
    Column("confidence", "number", required=False, empty=True, secret=True),
    Column("conference", "id", required=False),
    Column("track", "id", required=False, empty=True),
)
# Whole scores are taken as rounded if they span fewer than this; with this many reviews for each of them on
# average, one that nobody gave could not be given.
_WHOLE_SPAN, _EACH_WHOLE = 21, 20
# Other scores are, if they are no more than this and each was given so often on average.
_GRID_SIZE, _GRID_REPEATS = 32, 3


@dataclass(frozen=True)
class Components:
    """The parts of the reviewer-paper graph that no review connects; part 0 has the most reviews.

    There are `count` parts: `paper[i]` is that of the i-th of the papers, `reviewer[j]` that of the j-th
    reviewer.
    """

    count: int
    paper: Integers
    reviewer: Integers


@dataclass(frozen=True, eq=False)
class Reviews:
    """One row per review, sorted by paper and reviewer.

    Review i gave `score[i]` to `papers[paper[i]]` and was written by `reviewers[reviewer[i]]`. Made by `read`
    or `from_table`. CONFIDENTIAL: it says who reviewed what.

    `papers`, `reviewers`: sorted ids, kept as text; papers in natural order, 2 before 10, with the
    conference's name and a slash in front where there are several conferences.
    `row`: where each review stood in its file (the header is row 1), or in its table from 0 on.
    `confidence`: that of each review, `nan` where it was not given; None without such a column.
    `conferences`, `conference`: sorted names, and the place of each review's among them; None without them.
    Names stay where all papers of a conference were left out.
    `tracks`, `track`: the same of tracks, -1 for a review of a paper that has none.
    `grid`: the scores that can be given, rising; None if any number can be: scores are not rounded.
    `grid_declared`: whether the caller said so; else `recognize_grid` did.

    >>> table = {"paper": ["P2", "P1", "P1"], "reviewer": ["007", "007", "NA"], "score": [3, 2, 5]}
    >>> reviews = Reviews.from_table(table)
    >>> reviews
    Reviews(3 reviews of 2 papers by 2 reviewers)
    >>> reviews.papers, reviews.paper, reviews.reviewers, reviews.reviewer, reviews.score
    (('P1', 'P2'), array([0, 0, 1]), ('007', 'NA'), array([0, 1, 0]), array([2., 5., 3.]))
    """

    papers: tuple[str, ...]
    reviewers: tuple[str, ...]
    paper: Integers
    reviewer: Integers
    score: Array
    row: Integers
    confidence: Array | None = None
    conferences: tuple[str, ...] = ()
    conference: Integers | None = None
    tracks: tuple[str, ...] = ()
    track: Integers | None = None
    grid: Array | None = None
    grid_declared: bool = field(default=False)

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, grid: ArrayLike | None = None) -> Reviews:
        """The reviews of a comma-separated file; every problem of the file in one `InputError`.

        Columns `paper, reviewer, score`, optionally `confidence, conference, track`, in any order and case;
        `item, rater`, `task, worker, label` and a few more names are understood; other columns are left out.
        `grid` declares the possible scores, and any other score is refused; an empty one says that any number
        can be given. None: `recognize_grid` finds it in the scores.
        """
        table = read_table(path, COLUMNS, extra=True)
        return _reviews(dict(table.columns), table.file, table.rows.start, grid)

    @classmethod
    def from_table(cls, table: Any, *, grid: ArrayLike | None = None) -> Reviews:
        """The reviews of `table`: a data frame, a mapping of columns or a structured array (see `read`).

        Ids are text or whole numbers. Rows in messages count from 0. `grid` is that of `read`.
        """
        log = Problems("table")
        found = _columns_of(table, log)
        log.finish()
        if len({len(values) for values in found.values()}) != 1:
            raise InputError(f"columns must have one length, found {[len(v) for v in found.values()]}")
        checked = {column.name: _checked(column, found[column.name], log) for column in _asked(found)}
        log.finish()
        return _reviews(checked, "table", 0, grid)

    def __repr__(self) -> str:
        papers, people = count(len(self.papers), "paper"), count(len(self.reviewers), "reviewer")
        return f"Reviews({count(len(self), 'review')} of {papers} by {people})"

    def __len__(self) -> int:
        return len(self.score)

    @property
    def components(self) -> Components:
        """Which papers and reviewers are connected by reviews: only within a part can scores be compared.

        >>> Reviews.from_table({"paper": [1, 2], "reviewer": ["a", "b"], "score": [3, 4]}).components.count
        2
        """
        papers, reviewers = len(self.papers), len(self.reviewers)
        edges = (np.ones(len(self)), (self.paper, papers + self.reviewer))
        count, part = connected_components(coo_array(edges, shape=(papers + reviewers,) * 2), directed=False)
        size = np.bincount(part[self.paper], minlength=count)
        rank = np.empty(count, dtype=np.int64)
        rank[np.argsort(-size, kind="stable")] = np.arange(count)
        return Components(int(count), rank[part[:papers]], rank[part[papers:]])

    def only(self, conference: str) -> Reviews:
        """The reviews of the one `conference` of that name, paper ids without its name."""
        if self.conference is None or conference not in self.conferences:
            raise InputError(f"conference must be one of {list(self.conferences)}, found {conference!r}")
        rows = self.conference == self.conferences.index(conference)
        columns = {name: [value[i] for i in np.flatnonzero(rows)] for name, value in self.columns().items()}
        del columns["conference"]
        declared = np.empty(0) if self.grid is None else self.grid
        return Reviews.from_table(columns, grid=declared if self.grid_declared else None)

    def without(self, papers: Collection[str]) -> Reviews:
        """The reviews of all but these `papers`, such as those withdrawn; rows keep their numbers, and papers
        their ids, also where those of a single conference are left.

        >>> reviews = Reviews.from_table({"paper": [1, 2], "reviewer": ["a", "b"], "score": [3, 4]})
        >>> reviews.without(["1"])
        Reviews(1 review of 1 paper by 1 reviewer)
        """
        without = {*papers}
        gone = [place for place, name in enumerate(self.papers) if name in without]
        if not gone:
            return self
        if len(gone) == len(self.papers):
            raise InputError(f"no paper is left: all {len(gone):,} were left out")
        kept = ~np.isin(self.paper, gone)
        papers, paper = _left(self.papers, self.paper[kept])
        reviewers, reviewer = _left(self.reviewers, self.reviewer[kept])
        tracks, track = (self.tracks, None) if self.track is None else _left(self.tracks, self.track[kept])
        return replace(
            self,
            papers=papers,
            reviewers=reviewers,
            paper=paper,
            reviewer=reviewer,
            score=self.score[kept],
            row=self.row[kept],
            confidence=None if self.confidence is None else self.confidence[kept],
            conference=None if self.conference is None else self.conference[kept],
            tracks=tracks,
            track=track,
        )

    def columns(self) -> dict[str, list[Any]]:
        """The table as plain columns, as `from_table` reads and `write` writes them."""
        ids = _plain_ids(self)
        found: dict[str, list[Any]] = {
            "paper": [ids[i] for i in self.paper],
            "reviewer": [self.reviewers[j] for j in self.reviewer],
            "score": self.score.tolist(),
        }
        if self.confidence is not None:
            found["confidence"] = self.confidence.tolist()
        if self.conference is not None:
            found["conference"] = [self.conferences[c] for c in self.conference]
        if self.track is not None:
            found["track"] = [self.tracks[t] if t >= 0 else "" for t in self.track]
        return found

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the table, readable by its owner only; `Reviews.read` gives equal reviews back."""
        write_table(path, self.columns(), confidential=True)

    def digest(self) -> str:
        """A digest of the rows by value: equal for equal reviews in any row order. CONFIDENTIAL."""
        table = self.columns()
        return digest({name: [None if v != v else v for v in column] for name, column in table.items()})


def twin_remarks(reviews: Reviews, file: str) -> list[str]:
    """Sentences about ids of `reviews` that differ so little that one paper or person may count as two.

    Papers are named by their rows in `file`; reviewers are only counted, since their rows would reveal who
    reviewed what.

    >>> reviews = Reviews.from_table({"paper": ["p1", "q"], "reviewer": ["Ada", "ada"], "score": [3, 4]})
    >>> print(twin_remarks(reviews, "r.csv")[0].split(": ")[1])
    the ids of 2 reviewers differ from another's only in capital letters, spaces or leading zeros
    """
    how, remarks = "only in capital letters, spaces or leading zeros", []
    if twins := _twins(reviews.papers):
        first, second = (min(reviews.row[reviews.paper == place]) for place in twins[0][:2])
        more = "" if len(twins) == 1 else f" (and so do those of {count(len(twins) - 1, 'other paper')})"
        remarks.append(
            f"{file}: the ids of the papers in rows {first} and {second} differ {how}{more}: are they one "
            "paper? They count as two"
        )
    if people := sum(map(len, _twins(reviews.reviewers))):
        remarks.append(
            f"{file}: the ids of {people:,} reviewers differ from another's {how}: is it the same person? "
            f"They count as {people:,} people"
        )
    return remarks


def absent_remarks(reviews: Reviews, withdrawn: Collection[str], file: str) -> list[str]:
    """A sentence for each paper of `withdrawn` that has no review in `file`: it may be mistyped, and the
    paper that was meant is then decided. `reviews` still has those of papers withdrawn.

    >>> reviews = Reviews.from_table({"paper": ["p1"], "reviewer": ["ada"], "score": [3]})
    >>> absent_remarks(reviews, ["p1", "p7"], "r.csv")
    ["withdrawn: 'p7' has no review in r.csv"]
    """
    known = {*reviews.papers}
    return [f"withdrawn: {name!r} has no review in {file}" for name in withdrawn if name not in known]


def _twins(ids: Sequence[str]) -> list[list[int]]:
    """The places of ids that are loosely spelled alike, for each such id."""
    alike: dict[str, list[int]] = {}
    for place, name in enumerate(ids):
        alike.setdefault(loose(name), []).append(place)
    return [places for places in alike.values() if len(places) > 1]


def recognize_grid(score: Array) -> Array | None:
    """The scores that reviewers could give, as far as the `score` of each review tells; None if any number
    can be one.

    Whole scores: all from the lowest to the highest given, if that is at most 21; without those that nobody
    gave if there are 20 reviews or more for each. Other scores: those given, if they are at most 32 and each
    was given three times on average. Declare the grid if it has scores beyond the ones given.

    >>> recognize_grid(np.array([1.0, 4.0, 3.0]))
    array([1., 2., 3., 4.])
    >>> recognize_grid(np.repeat([1.0, 3.0, 6.0], 40)), recognize_grid(np.repeat([0.5, 2.0], 3))
    (array([1., 3., 6.]), array([0.5, 2. ]))
    >>> recognize_grid(np.array([0.12, 0.57, 0.93])) is None
    True
    """
    given = np.unique(score)
    if given.size < 2:
        return None
    low, high = given[0], given[-1]
    if high - low < _WHOLE_SPAN and bool((given == np.floor(given)).all()):
        whole = np.arange(low, high + 1.0)
        return given if len(score) >= _EACH_WHOLE * whole.size else whole
    few = given.size <= _GRID_SIZE and _GRID_REPEATS * given.size <= len(score)
    return given if few else None


def _reviews(columns: dict[str, Any], file: str, first: int, grid: ArrayLike | None) -> Reviews:
    """Checked columns -> Reviews: what one row cannot tell is checked here."""
    log = Problems(file)
    conferences, conference = _coded(columns.get("conference"))
    names = _qualified(columns["paper"], conferences, conference)
    papers, paper = _coded(names, in_natural_order)
    reviewers, reviewer = _coded(columns["reviewer"])
    tracks, track = _coded(columns.get("track"))
    score = columns["score"]
    levels = None if grid is None else np.unique(numbers("grid", grid))
    _check_repeats(paper * len(reviewers) + reviewer, first, log)
    _check_tracks(paper, track, first, log)
    _check_conferences(conferences, conference, first, log)
    if levels is not None and levels.size:
        for row in np.flatnonzero(~np.isin(score, levels)):
            shown = ", ".join(map(number_text, levels))
            log.add(first + int(row), "score", f"must be on the declared grid ({shown})")
    log.finish()
    order = np.lexsort((reviewer, paper))
    confidence = columns.get("confidence")
    return Reviews(
        papers=papers,
        reviewers=reviewers,
        paper=paper[order],
        reviewer=reviewer[order],
        score=score[order],
        row=first + order,
        confidence=None if confidence is None else confidence[order],
        conferences=conferences,
        conference=conference[order] if conferences else None,
        tracks=tuple(name for name in tracks if name),
        track=_without_empty(tracks, track)[order] if tracks else None,
        grid=recognize_grid(score) if levels is None else levels if levels.size else None,
        grid_declared=levels is not None,
    )


def _coded(
    ids: Sequence[str] | None, order: Callable[[Iterable[str]], list[str]] = sorted
) -> tuple[tuple[str, ...], Integers]:
    """Distinct ids in sorted order, and the place of each."""
    if ids is None:
        return (), np.empty(0, dtype=np.int64)
    names = tuple(order(set(ids)))
    place = {name: index for index, name in enumerate(names)}
    return names, np.fromiter(map(place.__getitem__, ids), dtype=np.int64, count=len(ids))


def _left(names: tuple[str, ...], code: Integers) -> tuple[tuple[str, ...], Integers]:
    """The names that still occur, and the place of each among them; -1 stays."""
    used = np.unique(code[code >= 0])
    return tuple(names[i] for i in used), np.where(code >= 0, np.searchsorted(used, code), -1)


def _qualified(ids: Sequence[str], conferences: tuple[str, ...], conference: Integers) -> Sequence[str]:
    """Paper ids, with the conference's name in front where there are several conferences."""
    if len(conferences) < 2:
        return ids
    return [f"{conferences[c]}/{name}" for c, name in zip(conference, ids, strict=True)]


def _plain_ids(reviews: Reviews) -> list[str]:
    many = len(reviews.conferences) > 1
    return [name.split("/", 1)[1] if many else name for name in reviews.papers]


def _without_empty(names: tuple[str, ...], code: Integers) -> Integers:
    return code - 1 if names[:1] == ("",) else code


def _check_repeats(pair: Integers, first: int, log: Problems) -> None:
    order = np.argsort(pair, kind="stable")
    again = np.flatnonzero(np.diff(pair[order]) == 0) + 1
    start = np.searchsorted(pair[order], pair[order][again])
    for i in np.argsort(order[again]):
        row, earlier = first + int(order[again[i]]), first + int(order[start[i]])
        log.add(row, "reviewer", "must not repeat an earlier row's paper and reviewer", f"row {earlier}'s")


def _check_tracks(paper: Integers, track: Integers, first: int, log: Problems) -> None:
    if len(track):
        _, start, inverse = np.unique(paper, return_index=True, return_inverse=True)
        for row in np.flatnonzero(track != track[start[inverse]]):
            earlier = first + int(start[inverse[row]])
            log.add(
                first + int(row),
                "track",
                "must be the track of the paper's first row",
                f"not row {earlier}'s",
            )


def _check_conferences(names: tuple[str, ...], code: Integers, first: int, log: Problems) -> None:
    for index, name in enumerate(names):
        if "/" in name:
            row = first + int(np.flatnonzero(code == index)[0])
            log.add(row, "conference", "must not contain a slash")


def _columns_of(table: Any, log: Problems) -> dict[str, list[object]]:
    """The columns of anything with named columns, by our names."""
    if hasattr(table, "keys"):
        names = list(table.keys())
    elif hasattr(table, "columns"):
        names = list(table.columns)
    else:
        names = list(getattr(getattr(table, "dtype", None), "names", None) or ())
    found: dict[str, list[object]] = {}
    for column in COLUMNS:
        spellings = {name.casefold() for name in (column.name, *column.synonyms)}
        matches = [name for name in names if str(name).strip().casefold() in spellings]
        if len(matches) > 1:
            log.add(None, column.name, "must appear once", f"{len(matches)} columns that mean it")
        elif matches:
            values = table[matches[0]]
            found[column.name] = list(values.tolist() if hasattr(values, "tolist") else values)
        elif column.required:
            log.add(None, column.name, f"must be a column (or {', '.join(column.synonyms)})")
    return found


def _asked(found: dict[str, list[object]]) -> Iterable[Column]:
    return (column for column in COLUMNS if column.name in found)


def _checked(column: Column, values: list[object], log: Problems) -> Any:
    """Values of a table held to the rules of a file's cells."""
    if not values:
        log.add(None, column.name, "must have at least one row", "none")
    known: dict[str, str | float] = {}
    checked: list[str | float] = []
    for row, value in enumerate(values):
        cell = _cell_of(column, value)
        if cell is None:
            rule = "must be a number" if column.kind == "number" else "must be text or a whole number"
            log.add(row, column.name, rule, type(value).__name__)
        elif cell in known:
            checked.append(known[cell])
        elif broken := cell_problem(cell, column):
            log.add(row, column.name, *broken)
        else:
            checked.append(known.setdefault(cell, cell_value(cell, column)))
    return np.array(checked, dtype=np.float64) if column.kind == "number" else list(map(str, checked))


def _cell_of(column: Column, value: object) -> str | None:
    """The cell a file would have for this value; None for what can be neither an id nor a number."""
    if value is None or type(value).__name__ == "NAType" or value != value:
        return "" if column.empty else "nan" if column.kind == "number" else None
    if isinstance(value, str):
        return value if column.kind == "number" else escape(value)
    value = value.item() if isinstance(value, np.generic) else value
    whole = isinstance(value, int) and not isinstance(value, bool)
    return repr(value) if whole or (column.kind == "number" and isinstance(value, float)) else None


BETTER = ("high", "low")
_OFFSET, _CORRELATION = 1, 5


def known_end(better: str) -> str:
    """`better` if it is `high` or `low`."""
    if better not in BETTER:
        raise InputError(f"`better` must be high or low, found {better!r}")
    return better


def upright_reviews(reviews: Reviews, better: str) -> Reviews:
    """The reviews with high scores the better ones."""
    if known_end(better) == "high":
        return reviews
    # 0 - x and not -x: a score of 0 stays 0.
    grid = None if reviews.grid is None else 0.0 - reviews.grid[::-1]
    return replace(reviews, score=0.0 - reviews.score, grid=grid)


def upright_reviewers(
    parameters: Mapping[str, tuple[float, ...]], better: str
) -> dict[str, tuple[float, ...]]:
    """The calibration for upright scores: `score = offset - slope * quality` was given for `low`.

    >>> upright_reviewers({"a": (1.5, 3.0, 0.5, 0.1, 0.2, 0.4, 0.0)}, "low")
    {'a': (1.5, -3.0, 0.5, 0.1, 0.2, -0.4, 0.0)}
    """
    turned = (_OFFSET, _CORRELATION) if known_end(better) == "low" else ()
    return {
        name: tuple(0.0 - value if place in turned else value for place, value in enumerate(row))
        for name, row in parameters.items()
    }


def upright_scores(scores: Iterable[float], better: str) -> tuple[float, ...]:
    """Scores with high ones the better ones, lowest first.

    >>> upright_scores([1.0, 5.0], "low")
    (-5.0, -1.0)
    """
    return tuple(sorted(0.0 - score if known_end(better) == "low" else score for score in scores))


def as_given(scores: Iterable[float], better: str) -> list[float]:
    """Upright scores as the chair knows them, lowest first.

    >>> as_given([-5.0, -1.0], "low")
    [1.0, 5.0]
    """
    return sorted(0.0 - score if better == "low" else score for score in scores)
