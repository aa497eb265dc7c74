"""From a raw export to `Imported`: every cell checked, all problems listed at once, ordinals gone."""

from __future__ import annotations

import math
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from blindcal.errors import Problem
from blindcal.importers.people import check_people, new_codes
from blindcal.importers.raw_export import (
    METAREVIEWS,
    Choices,
    Dropped,
    RawExport,
    RawReview,
    clean_id,
    dropped_count,
    listed,
)
from blindcal.importers.scores import (
    ScoreScale,
    has_decimal_commas,
    is_worded,
    read_number,
    read_ordered,
    scale_of,
    tops_of,
)
from blindcal.io.cells import Violation, count, id_problem, normalize_id, unescape, whole_ids
from blindcal.io.tables import Problems
from blindcal.reviewers.calibration import ANYONE
from blindcal.reviews import Reviews

_BLANK = {"", "no entry", "n/a", "-", "--", "–", "—"}
_SHOWN_ROWS = 5
# Two years are in one file if one paper in so many has two titles.
_MIXED_YEARS = 4
NO_ORDER = (
    "must be a number: letters and words need their order. Give it with `best_first`, such as "
    "`best_first` A,B,C,D"
)


@dataclass(frozen=True)
class Imported:
    """The reviews of an export in blindcal's own form, and what came with them. CONFIDENTIAL."""

    format: str  # the system that the export is from, one of `FORMATS`
    reviews: Reviews  # checked and sorted; those without a score are left out
    scale: ScoreScale  # the distinct scores that were given, with their labels
    score_field: str  # the field that scores were taken from
    confidence_field: str | None  # the field that confidences were taken from; None without any in numbers
    rounds: tuple[str, ...]  # one entry per review, in the order of `reviews`, or none at all
    titles: Mapping[str, str]  # by paper, for those papers that have one
    tracks: Mapping[str, str]  # by paper, for those papers that have one
    committee: Mapping[str, str]  # the name of everyone known, by id; empty if there is only the id
    conflicts: tuple[tuple[str, str], ...]  # pairs of paper and reviewer
    # Of the papers that have reviews, those that the system says were withdrawn, desk rejected, deleted or
    # decided already, each with which of it; `reviews` still has theirs, which serve a later calibration
    withdrawn: Mapping[str, str]
    # The file, or the sheet of it, and the row that each review stands in, in the order of `reviews`: for
    # messages
    sources: tuple[tuple[str, int], ...]
    # For the chair, what the export was taken for; it names nobody, nor do the next two
    recognized: tuple[str, ...]
    dropped: tuple[Dropped, ...]  # what goes no further
    warnings: tuple[str, ...]  # what to look at

    def columns(self, *, names: bool = False) -> dict[str, list[object]]:
        """The table to write: `paper, reviewer, score` and what else is known of a review.

        Reviewers' `names` are added if that is wanted and any is known.
        """
        table = {**self.reviews.columns(), **({"round": list(self.rounds)} if self.rounds else {})}
        known: list[object] = [self.committee.get(who, "") for who in table["reviewer"]] if names else []
        return {**table, "name": known} if any(known) else table


def gather(export: RawExport, choices: Choices) -> Imported:
    """The checked and sorted reviews of an export, or an `InputError` with every problem in it.

    `export` is what a system's `read` returns; of the `choices`, `best_first`, `people`, `latest` and
    `metareviews` count here.
    """
    metareviews = choices.metareviews or frozenset()
    given = [row for row in export.rows if (clean_id(row.paper), clean_id(row.reviewer)) not in metareviews]
    scored = [row for row in given if not _is_blank(row.score)]
    blank = [row for row in given if _is_blank(row.score)]
    people = {normalize_id(i.strip()): normalize_id(who.strip()) for i, who in (choices.people or {}).items()}
    paper_id = _ids_of([row.paper for row in scored])
    person = _ids_of([row.reviewer for row in scored], people)
    rows = [
        row._replace(
            paper=paper_id(row.paper),
            reviewer=person(row.reviewer),
            track=clean_id(row.track),
            round=clean_id(row.round),
            title=_one_line(row.title),
            name=_one_line(row.name),
            file=row.file or export.file,
        )
        for row in scored
    ]
    dropped = [*export.dropped, *dropped_count(len(export.rows) - len(given), "metareview", METAREVIEWS)]
    if choices.latest:
        last = {(row.paper, row.reviewer): index for index, row in enumerate(rows)}
        dropped += dropped_count(len(rows) - len(last), "earlier answer", "only the last one counts")
        rows = [rows[index] for index in sorted(last.values())]
    # The order that the export brought along counts if its scores need one.
    brought = export.best_first if is_worded(row.score for row in given) else ()
    log = Problems(export.file)
    log.extend(export.problems)
    order = choices.best_first or brought
    score = _scores(rows, order, export.score_field, log)
    sure = _confidences(rows, export.confidence_field, log)
    tracks = {row.paper: row.track for row in reversed(rows) if row.track}
    tracks |= {paper_id(paper): clean_id(track) for paper, track in export.tracks.items() if track.strip()}
    if not _has_mixed_years(rows, log):
        _check_pairs(rows, tracks, log)
    if tracks:
        rows = [row._replace(track=tracks.get(row.paper, "")) for row in rows]
    _check_ids(rows, log)
    if not rows:
        log.add(None, None, "must have at least one review with a score", "none")
    log.finish()
    check_people([(row.paper, row.reviewer) for row in rows], export.file)
    table: dict[str, list[Any]] = {
        "paper": [row.paper for row in rows],
        "reviewer": [row.reviewer for row in rows],
        "score": score.values,
        **({} if sure is None else {"confidence": sure}),
        **({"track": [row.track for row in rows]} if any(row.track for row in rows) else {}),
    }
    reviews = Reviews.from_table(table)
    titles = {row.paper: row.title for row in reversed(rows)}
    titles |= {paper_id(paper): _one_line(title) for paper, title in export.titles.items()}
    titles = {paper: title for paper, title in titles.items() if title and not id_problem(paper)}
    pairs = {(paper_id(paper), person(who)) for paper, who in export.conflicts}
    unmapped = {clean_id(row.reviewer) for row in scored if people} - {*people, *people.values()}
    became = {paper_id(paper): what for paper, what in export.withdrawn.items()}
    return Imported(
        format=export.format,
        # Messages name rows of the file.
        reviews=replace(reviews, row=np.array([rows[i].row for i in reviews.row])),
        scale=scale_of(score.levels, bool(order)),
        score_field=export.score_field,
        confidence_field=None if sure is None else export.confidence_field,
        rounds=tuple(rows[i].round for i in reviews.row) if any(row.round for row in rows) else (),
        titles=titles,
        tracks={paper: tracks[paper] for paper in tracks if not any(map(id_problem, (paper, tracks[paper])))},
        committee=_committee_names(rows, export, person),
        conflicts=tuple(sorted(pair for pair in pairs if not any(map(id_problem, pair)))),
        withdrawn={paper: became[paper] for paper in reviews.papers if paper in became},
        sources=tuple((rows[i].file, rows[i].row) for i in reviews.row),
        recognized=(*export.said, *(["decimals written with a comma"] if score.commas else [])),
        dropped=(*dropped, Dropped("the order of rows", "it can reveal who wrote a review")),
        warnings=(*export.warnings, *_warnings(export, blank, rows, titles, sure is None, unmapped)),
    )


def _ids_of(cells: Sequence[str], names: Mapping[str, str] = MappingProxyType({})) -> Callable[[str], str]:
    """The id behind a cell like these: `1.0` as `1` if all are whole, and what `names` has for it."""
    ids = [clean_id(cell) for cell in cells]
    whole = dict(zip(ids, whole_ids(ids), strict=True))

    def id_of(cell: str) -> str:
        cleaned = clean_id(cell)
        known = whole.get(cleaned, cleaned)
        return names.get(known, known)

    return id_of


def coded(imported: Imported, known: Mapping[str, str]) -> tuple[Imported, dict[str, str]]:
    """The same reviews with codes in place of reviewers, and the code of each; names stay behind.

    `known`: the codes of an earlier import by reviewer, as `read_codes` returns them: these people keep
    theirs, everyone else gets a new one in random order.
    """
    people = {*imported.committee, *imported.reviews.reviewers, *(who for _, who in imported.conflicts)}
    code = new_codes(people, known)
    columns = imported.reviews.columns()
    reviews = Reviews.from_table({**columns, "reviewer": [code[name] for name in columns["reviewer"]]})
    hidden = replace(
        imported,
        reviews=replace(reviews, row=imported.reviews.row[reviews.row]),
        rounds=tuple(imported.rounds[i] for i in reviews.row) if imported.rounds else (),
        sources=tuple(imported.sources[i] for i in reviews.row),
        committee={code[name]: "" for name in imported.committee},
        conflicts=tuple(sorted((paper, code[name]) for paper, name in imported.conflicts)),
    )
    return hidden, code


def _one_line(text: str) -> str:
    """A title or a name on one line, without characters that cannot be seen."""
    text = unescape(text)
    if not text.isprintable():
        text = "".join(character if character.isprintable() else " " for character in text)
    text = " ".join(text.split())
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _is_blank(cell: str) -> bool:
    return cell.strip().casefold() in _BLANK


class _Scores(NamedTuple):
    """A column of scores, and the label of each level."""

    values: list[float]
    levels: dict[float, str]
    commas: bool = False


def _scores(rows: Sequence[RawReview], order: Sequence[str], field: str, log: Problems) -> _Scores:
    cells = [row.score for row in rows]
    commas = has_decimal_commas(cells) and not order
    if not order and is_worded(cells):
        # One cure for all of them: said once and not row by row.
        log.add(None, field, NO_ORDER)
        return _Scores([], {})
    if len(tops := tops_of(cells)) > 1:
        log.add(None, field, "must be out of one number in all rows", listed(sorted(tops)))

    def number(cell: str) -> tuple[float, str] | Violation:
        return read_ordered(cell, order) if order else read_number(cell, commas)

    read = _read_cells(rows, cells, number, field, log)
    return _Scores([value for value, _ in read], dict(read), commas)


def _confidences(rows: Sequence[RawReview], field: str | None, log: Problems) -> list[float] | None:
    """How sure the reviewers are, where they say it in numbers; `nan` where one does not."""
    cells = ["" if _is_blank(row.confidence) else row.confidence for row in rows]
    if field is None or not any(cells) or is_worded(cells):
        return None
    commas = has_decimal_commas(cells)

    def number(cell: str) -> tuple[float, str] | Violation:
        return read_number(cell, commas) if cell else (math.nan, "")

    return [value for value, _ in _read_cells(rows, cells, number, field, log)]


def _read_cells(
    rows: Sequence[RawReview],
    cells: Sequence[str],
    read: Callable[[str], tuple[float, str] | Violation],
    field: str,
    log: Problems,
) -> list[tuple[float, str]]:
    """The numbers and labels of cells that are right; a problem for each other one."""
    # Cells repeat: each distinct one is read once.
    content = {cell: read(cell) for cell in set(cells)}
    good = {cell: (n, str(label or "")) for cell, (n, label) in content.items() if isinstance(n, float)}
    for row, cell in zip(rows, cells, strict=True) if len(good) < len(content) else ():
        if cell not in good:
            rule, what = content[cell]
            log.extend([Problem(row.file, row.row, field, str(rule), what)])
    return [good[cell] for cell in cells if cell in good]


def _check_ids(rows: Sequence[RawReview], log: Problems) -> None:
    for name in ("paper", "reviewer", "track", "round"):
        optional = name in ("track", "round")
        cells = [getattr(row, name) for row in rows]
        broken = {cell: id_problem(cell) for cell in set(cells) if cell or not optional}
        if name == "reviewer" and ANYONE in broken:
            broken[ANYONE] = (f"must be a person: {ANYONE} stands for anyone in other files", None)
        for row, cell in zip(rows, cells, strict=True):
            if problem := broken.get(cell):
                log.extend([Problem(row.file, row.row, name, *problem)])


def _has_mixed_years(rows: Sequence[RawReview], log: Problems) -> bool:
    """Whether many papers have two titles: their numbers start again every year."""
    titles = defaultdict[str, set[str]](set)
    for row in rows:
        titles[row.paper].add(row.title)
    double = sum(len(given - {""}) > 1 for given in titles.values())
    mixed = double > 1 and _MIXED_YEARS * double >= len(titles)
    if mixed:
        what = f"{count(double, 'paper')} with two titles: two years in one file?"
        log.add(None, "title", "must be one for each paper", what)
    return mixed


def _check_pairs(rows: Sequence[RawReview], tracks: Mapping[str, str], log: Problems) -> None:
    """One review of a paper by a reviewer; a paper stays in one track."""
    first: dict[tuple[str, str], RawReview] = {}
    for row in rows:
        earlier = first.setdefault((row.paper, row.reviewer), row)
        if earlier is not row:
            rule = "must not repeat an earlier row's paper and reviewer"
            log.extend([Problem(row.file, row.row, "reviewer", rule, _repeated_row(earlier, row))])
        if row.track and row.track != tracks.get(row.paper):
            rule = "must be the track of the paper's first row"
            log.extend([Problem(row.file, row.row, "track", rule)])


def _repeated_row(earlier: RawReview, row: RawReview) -> str:
    """Which row another one repeats, and how that may have come about if they are not the same."""
    if row.round != earlier.round:
        return f"row {earlier.row}'s from another round: import one round at a time"
    same = row._replace(row=earlier.row, file=earlier.file) == earlier
    second = ": two years in one file? If it is a second answer, `latest` takes the last"
    return f"row {earlier.row}'s" + ("" if same else second)


def _committee_names(
    rows: Sequence[RawReview], export: RawExport, person: Callable[[str], str]
) -> dict[str, str]:
    """The name of everyone that the export knows, those who wrote nothing included.

    Members that the export lists have the names of that list alone: which names are known must not tell who
    reviewed.
    """
    committee = {row.reviewer: row.name for row in reversed(rows)}
    committee |= {person(cell): _one_line(name) for cell, name in export.committee.items()}
    return {
        who: "" if name == who else name for who, name in sorted(committee.items()) if not id_problem(who)
    }


def withdrawn_lines(withdrawn: Mapping[str, str]) -> list[str]:
    """Sentences about papers that are not decided: how many, why, and which.

    Example:
        >>> withdrawn_lines({"4": "withdrawn", "9": "desk rejected", "17": "withdrawn"})
        ['2 papers withdrawn: 4, 17', '1 paper desk rejected: 9']
    """
    papers = defaultdict[str, list[str]](list)
    for paper, what in withdrawn.items():
        papers[what].append(paper)
    return [f"{count(len(ids), 'paper')} {what}: {', '.join(ids)}" for what, ids in papers.items()]


def _warnings(
    export: RawExport,
    blank: Sequence[RawReview],
    rows: Sequence[RawReview],
    titles: Mapping[str, str],
    unsure: bool,
    unmapped: Collection[str],
) -> Iterator[str]:
    """Reviews without a score, confidence in words, papers with two titles, ids that the map lacks."""
    if blank:
        places = ", ".join(f"{row.file}, row {row.row}".lstrip(", ") for row in blank[:_SHOWN_ROWS])
        more = "" if len(blank) <= _SHOWN_ROWS else ", ..."
        yield f"{count(len(blank), 'review')} without a score left out ({places}{more})"
    if export.confidence_field is not None and unsure:
        yield f"{export.confidence_field} holds no numbers: left out, and so there is no confidence"
    if double := {row.paper for row in rows if row.title and row.title != titles.get(row.paper)}:
        yield f"{count(len(double), 'paper')} with two titles: the first is kept"
    if unmapped:
        yield f"{count(len(unmapped), 'reviewer id')} not in the map kept as in the export"
