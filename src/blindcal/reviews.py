"""Reviews: the long table of paper, reviewer and score. Ids outside, integers inside.

Inside, higher scores are better. If a conference's low scores are the better ones, scores, offsets and grid
are negated when they come in (`orient_reviews`), and negated back wherever they are shown
(`original_scores`). No public data can tell which end is better, because reversed scores look the same as
reversed qualities: the chair must say it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array

from blindcal.checks import Array, Integers, numbers
from blindcal.errors import InputError
from blindcal.io.atomic_files import digest, read_table, write_table
from blindcal.io.cells import Column, count, loose_id, natural_sorted, number_text
from blindcal.io.tables import Problems, StrPath, Table, data_frame, table_from_frame

__all__ = ["Reviews"]
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
    Column("area", "id", required=False, empty=True),
)
BETTER = ("high", "low")
_OFFSET, _CORRELATION = 1, 5

# Whole scores are taken as rounded if they span fewer than this; with this many reviews for each of them on
# average, one that nobody gave could not be given.
_WHOLE_SPAN, _EACH_WHOLE = 21, 20

# Other scores are, if they are no more than this and each was given so often on average.
_GRID_SIZE, _GRID_REPEATS = 32, 3


@dataclass(frozen=True, eq=False)
class Reviews:
    """One row per review, sorted by paper and reviewer. CONFIDENTIAL: it says who reviewed what.

    Review i gave `score[i]` to `papers[paper[i]]` and was written by `reviewers[reviewer[i]]`. Made by `read`
    or `from_table`.

    Attributes:
        papers: Ids as text, in natural order, 2 before 10. If there are several conferences, an id starts
            with its conference's name and a slash.
        reviewers: Sorted ids, as text.
        paper: For each review, the index of its paper.
        reviewer: For each review, the index of its reviewer.
        score: For each review, its score.
        row: Where each review stood in its file (the header is row 1), or in its data frame from 0 on.
        confidence: That of each review, `nan` if it was not given; None without such a column.
        conferences: Sorted names. A name stays if all papers of its conference were left out.
        conference: For each review, the index of its conference; None without such a column.
        tracks: Sorted names.
        track: For each review, the index of its track, -1 if its paper has none; None without such a column.
        areas: Sorted names of subject areas, whose papers may differ in quality.
        area: For each review, the index of its paper's area, likewise.
        grid: The scores that can be given, rising; None if any number can be, so that scores are not rounded.
        grid_declared: Whether the caller declared the grid; otherwise `infer_grid` inferred it.

    Example:
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
    areas: tuple[str, ...] = ()
    area: Integers | None = None
    grid: Array | None = None
    grid_declared: bool = field(default=False)

    @classmethod
    def read(cls, path: StrPath, *, grid: ArrayLike | None = None) -> Reviews:
        """The reviews of a comma-separated file.

        Columns `paper, reviewer, score`, optionally `confidence, conference, track, area`, in any order and
        case; `item, rater`, `task, worker, label` and more names are understood; other columns are left out.

        Args:
            path: The file.
            grid: The possible scores; any other score is refused. An empty grid says that any number can be
                given. By default `infer_grid` infers it from the scores.

        Raises:
            InputError: With every problem of the file.
        """
        return _reviews(read_table(path, COLUMNS, extra=True), grid)

    @classmethod
    def from_table(cls, table: Any, *, grid: ArrayLike | None = None, name: str = "table") -> Reviews:
        """The reviews of a data frame, held to the rules of a file (see `read`).

        Args:
            table: A pandas, Polars or Arrow table, a mapping of columns, or a structured array. Ids are text
                or whole numbers. Rows in messages count from 0.
            grid: As for `read`.
            name: What messages call the table.
        """
        return _reviews(table_from_frame(table, COLUMNS, name, extra=True), grid)

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
        # SciPy's graphs bring all its linear algebra with them, and few commands need it.
        from scipy.sparse.csgraph import connected_components

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
        """The reviews of all papers except these, such as those withdrawn.

        Rows keep their numbers, and papers their ids, even if those of a single conference are left.

        Args:
            papers: The ids to leave out.

        Example:
            >>> reviews = Reviews.from_table({"paper": [1, 2], "reviewer": ["a", "b"], "score": [3, 4]})
            >>> reviews.without(["1"])
            Reviews(1 review of 1 paper by 1 reviewer)
        """
        without = {*papers}
        removed = [index for index, name in enumerate(self.papers) if name in without]
        if not removed:
            return self
        if len(removed) == len(self.papers):
            raise InputError(f"no paper is left: all {len(removed):,} were left out")
        kept = ~np.isin(self.paper, removed)
        own = ("paper", "reviewer", "score", "row", "confidence", "conference", "track", "area")
        columns = {name: column[kept] for name in own if (column := getattr(self, name)) is not None}
        for name in columns.keys() & {"paper", "reviewer", "track", "area"}:
            columns[f"{name}s"], columns[name] = _recoded(getattr(self, f"{name}s"), columns[name])
        return replace(self, **columns)

    def columns(self) -> dict[str, list[Any]]:
        """The table as plain columns, as `from_table` reads and `write` writes them."""
        many = len(self.conferences) > 1
        ids = [name.split("/", 1)[1] if many else name for name in self.papers]
        columns: dict[str, list[Any]] = {
            "paper": [ids[i] for i in self.paper],
            "reviewer": [self.reviewers[j] for j in self.reviewer],
            "score": self.score.tolist(),
        }
        if self.confidence is not None:
            columns["confidence"] = self.confidence.tolist()
        for name in ("conference", "track", "area"):
            labels, code = getattr(self, f"{name}s"), getattr(self, name)
            if code is not None:
                columns[name] = [labels[i] if i >= 0 else "" for i in code]
        return columns

    def to_frame(self) -> Any:
        """One row per review, as a pandas data frame; `from_table` reads it back; needs pandas."""
        return data_frame(self.columns())

    def write(self, path: StrPath) -> None:
        """Write the table, readable by its owner only; `Reviews.read` gives equal reviews back."""
        write_table(path, self.columns(), confidential=True)

    def digest(self) -> str:
        """A digest of the rows by value: equal for equal reviews in any row order. CONFIDENTIAL."""
        table = self.columns()
        return digest({name: [None if v != v else v for v in column] for name, column in table.items()})


@dataclass(frozen=True)
class Components:
    """The parts of the reviewer-paper graph that no review connects; part 0 has the most reviews."""

    count: int  # how many parts there are
    paper: Integers  # for each paper, its part
    reviewer: Integers  # for each reviewer, their part


def infer_grid(score: Array) -> Array | None:
    """The scores that reviewers could give, as far as the scores tell; None if any number can be one.

    Whole scores: all from the lowest to the highest given, if that is at most 21; without those that nobody
    gave if there are 20 reviews or more for each. Other scores: those given, if they are at most 32 and each
    was given three times on average. Declare the grid if it has scores beyond the ones given.
    """
    distinct = np.unique(score)
    if distinct.size < 2:
        return None
    low, high = distinct[0], distinct[-1]
    if high - low < _WHOLE_SPAN and bool((distinct == np.floor(distinct)).all()):
        whole = np.arange(low, high + 1.0)
        return distinct if len(score) >= _EACH_WHOLE * whole.size else whole
    few = distinct.size <= _GRID_SIZE and _GRID_REPEATS * distinct.size <= len(score)
    return distinct if few else None


def _reviews(table: Table, grid: ArrayLike | None) -> Reviews:
    """The reviews of a table; what one row cannot tell is checked here."""
    log, columns, first = Problems(table.file), dict[str, Any](table.columns), table.rows.start
    conferences, conference = encode_ids(columns.get("conference"))
    ids: Sequence[str] = columns["paper"]
    if len(conferences) > 1:
        ids = [f"{conferences[c]}/{name}" for c, name in zip(conference, ids, strict=True)]
    papers, paper = encode_ids(ids, natural_sorted)
    reviewers, reviewer = encode_ids(columns["reviewer"])
    score, order = columns["score"], np.lexsort((reviewer, paper))
    levels = None if grid is None else np.unique(numbers("grid", grid))
    _check_repeats(paper * len(reviewers) + reviewer, first, log)
    labels = dict[str, Any]()
    for name in ("track", "area"):
        ids, code = encode_ids(columns.get(name))
        _check_same_in_all_rows(paper, code, name, first, log)
        labels[f"{name}s"] = tuple(filter(None, ids))
        # No track or area is an empty name, which sorts first.
        labels[name] = (code - (ids[0] == ""))[order] if ids else None
    for index, name in enumerate(conferences):
        if "/" in name:
            first_row = first + int(np.flatnonzero(conference == index)[0])
            log.add(first_row, "conference", "must not contain a slash")
    if levels is not None and levels.size:
        for row in np.flatnonzero(~np.isin(score, levels)):
            shown = ", ".join(map(number_text, levels))
            log.add(first + int(row), "score", f"must be on the declared grid ({shown})")
    log.finish()
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
        **labels,
        grid=infer_grid(score) if levels is None else levels if levels.size else None,
        grid_declared=levels is not None,
    )


def encode_ids(
    ids: Sequence[str] | None, order: Callable[[Iterable[str]], list[str]] = sorted
) -> tuple[tuple[str, ...], Integers]:
    """Distinct ids in sorted order, and the place of each."""
    if ids is None:
        return (), np.empty(0, dtype=np.int64)
    names = tuple(order(set(ids)))
    index_of = {name: index for index, name in enumerate(names)}
    return names, np.fromiter(map(index_of.__getitem__, ids), dtype=np.int64, count=len(ids))


def _recoded(names: tuple[str, ...], code: Integers) -> tuple[tuple[str, ...], Integers]:
    """The names that still occur, and the place of each among them; -1 stays."""
    used = np.unique(code[code >= 0])
    return tuple(names[i] for i in used), np.where(code >= 0, np.searchsorted(used, code), -1)


def _check_repeats(pair: Integers, first: int, log: Problems) -> None:
    order = np.argsort(pair, kind="stable")
    again = np.flatnonzero(np.diff(pair[order]) == 0) + 1
    start = np.searchsorted(pair[order], pair[order][again])
    for i in np.argsort(order[again]):
        row, earlier = first + int(order[again[i]]), first + int(order[start[i]])
        log.add(row, "reviewer", "must not repeat an earlier row's paper and reviewer", f"row {earlier}'s")


def _check_same_in_all_rows(paper: Integers, code: Integers, column: str, first: int, log: Problems) -> None:
    if len(code):
        _, start, inverse = np.unique(paper, return_index=True, return_inverse=True)
        rule = f"must be the {column} of the paper's first row"
        for row in np.flatnonzero(code != code[start[inverse]]):
            log.add(first + int(row), column, rule, f"not row {first + int(start[inverse[row]])}'s")


# If so many reviews fill less of a declared scale than this, they are most often on another one.
_PART_OF_SCALE, _ENOUGH_REVIEWS = 1 / 3, 10


def grid_warnings(reviews: Reviews) -> list[str]:
    """A sentence if the scores that can be given were guessed, or if those given fill little of them.

    >>> table = {"paper": [*range(10)], "reviewer": [*"abcdefghij"], "score": [2, 10, *[7] * 8]}
    >>> grid_warnings(Reviews.from_table(table, grid=range(1, 101)))[0][:59]
    'the scores given are 2 to 10, and `grid` says 1, 2, ..., 10'
    >>> grid_warnings(Reviews.from_table(table, grid=range(1, 11)))
    []
    """
    if reviews.grid is None:
        return []
    grid, low, high = _levels_text(reviews.grid), reviews.score.min(), reviews.score.max()
    if not reviews.grid_declared:
        return [
            f"the scores are taken as rounded to {grid}, by those that were given: `grid` says which can be "
            "given, or none if any number can be"
        ]
    if len(reviews) < _ENOUGH_REVIEWS or high - low >= _PART_OF_SCALE * (reviews.grid[-1] - reviews.grid[0]):
        return []
    return [
        f"the scores given are {number_text(low)} to {number_text(high)}, and `grid` says {grid}: could all "
        "of these be given? Each score counts as rounded to the nearest of them"
    ]


def _levels_text(grid: Array) -> str:
    levels = [number_text(level) for level in grid.tolist()]
    return ", ".join(levels if len(levels) <= 4 else [levels[0], levels[1], "...", levels[-1]])


def similar_id_warnings(reviews: Reviews, file: str) -> list[str]:
    """Sentences about ids that differ so little that one paper or person may count as two.

    Papers are named by their rows in the file. Reviewers are only counted, since their rows would reveal who
    reviewed what.
    """
    how, remarks = "only in capital letters, spaces or leading zeros", []
    if twins := _similar_ids(reviews.papers):
        first, second = (min(reviews.row[reviews.paper == index]) for index in twins[0][:2])
        more = "" if len(twins) == 1 else f" (and so do those of {count(len(twins) - 1, 'other paper')})"
        remarks.append(
            f"{file}: the ids of the papers in rows {first} and {second} differ {how}{more}: are they one "
            "paper? They count as two"
        )
    if people := sum(map(len, _similar_ids(reviews.reviewers))):
        remarks.append(
            f"{file}: the ids of {people:,} reviewers differ from another's {how}: is it the same person? "
            f"They count as {people:,} people"
        )
    return remarks


def _similar_ids(ids: Sequence[str]) -> list[list[int]]:
    """The places of ids that are loosely spelled alike, for each such id."""
    alike: dict[str, list[int]] = {}
    for index, name in enumerate(ids):
        alike.setdefault(loose_id(name), []).append(index)
    return [indices for indices in alike.values() if len(indices) > 1]


def refuse_similar_withdrawn(reviews: Reviews, withdrawn: Collection[str], file: str) -> None:
    """Refuses a withdrawn paper without a review if a paper's id is that with or without letters or zeros.

    The paper that was meant would be decided, and its decision would stand.

    Example:
        >>> reviews = Reviews.from_table({"paper": ["7", "8"], "reviewer": ["a", "b"], "score": [3, 4]})
        >>> refuse_similar_withdrawn(reviews, ["7", "P9"], "r.csv")
        >>> refuse_similar_withdrawn(reviews, ["P7"], "r.csv")
        Traceback (most recent call last):
            ...
        blindcal.errors.InputError: withdrawn: 'P7' has no review in r.csv, and '7' has: give its id so, if it
        is that paper; if not, leave 'P7' out
    """
    known, numbers = {*reviews.papers}, dict[str, str]()
    for paper in reviews.papers:
        # Of two papers with one number, in two tracks say, neither is meant for sure.
        number = _paper_number(paper)
        numbers[number] = "" if number in numbers else paper
    for name in withdrawn:
        paper = numbers.get(_paper_number(name), "")
        if name not in known and paper:
            raise InputError(
                f"withdrawn: {name!r} has no review in {file}, and {paper!r} has: give its id so, if it is "
                f"that paper; if not, leave {name!r} out"
            )


def _paper_number(paper: str) -> str:
    """An id without letters before its number and leading zeros; in another form the id, loosely spelled."""
    match = re.fullmatch(r"[^0-9]*0*([0-9]+)", paper)
    return match[1] if match else loose_id(paper)


def missing_withdrawn_warnings(reviews: Reviews, withdrawn: Collection[str], file: str) -> list[str]:
    """A sentence for each withdrawn paper without a review: its id may be mistyped.

    The paper that was meant is then decided.

    Example:
        >>> reviews = Reviews.from_table({"paper": ["p1"], "reviewer": ["ada"], "score": [3]})
        >>> missing_withdrawn_warnings(reviews, ["p1", "p7"], "r.csv")
        ["withdrawn: 'p7' has no review in r.csv"]
    """
    known = {*reviews.papers}
    return [f"withdrawn: {name!r} has no review in {file}" for name in withdrawn if name not in known]


def check_better(better: str) -> str:
    """`better` if it is `high` or `low`."""
    if better not in BETTER:
        raise InputError(f"`better` must be high or low, found {better!r}")
    return better


def orient_reviews(reviews: Reviews, better: str) -> Reviews:
    """The reviews with high scores the better ones."""
    if check_better(better) == "high":
        return reviews
    # 0 - x and not -x: a score of 0 stays 0.
    grid = None if reviews.grid is None else 0.0 - reviews.grid[::-1]
    return replace(reviews, score=0.0 - reviews.score, grid=grid)


def on_recorded_grid(reviews: Reviews, grid: Sequence[float], file: str) -> Reviews:
    """The reviews with the `grid` of earlier decisions, unless a grid was declared now.

    A grid that is recognized in the scores would move with a late review, and with it every paper.
    """
    if reviews.grid_declared:
        return reviews
    off = int((~np.isin(reviews.score, grid)).sum()) if grid else 0
    if off:
        scores = ", ".join(map(number_text, grid))
        raise InputError(
            f"{file}: {count(off, 'score')} not among those that papers were decided with ({scores}): give "
            "the scores that can be given as `grid`"
        )
    return replace(reviews, grid=np.array(grid) if grid else None)


def orient_reviewers(
    parameters: Mapping[str, tuple[float, ...]], better: str
) -> dict[str, tuple[float, ...]]:
    """The calibration for scores of which high ones are better.

    For `low`, the calibration says `score = offset - slope * quality`.
    """
    turned = (_OFFSET, _CORRELATION) if check_better(better) == "low" else ()
    return {
        name: tuple(0.0 - value if index in turned else value for index, value in enumerate(row))
        for name, row in parameters.items()
    }


def original_scores(scores: Iterable[float], better: str) -> list[float]:
    """Upright scores as the chair knows them, lowest first."""
    return sorted(0.0 - score if better == "low" else score for score in scores)


def __dir__() -> list[str]:
    return sorted(__all__)
