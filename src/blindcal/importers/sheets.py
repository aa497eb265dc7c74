"""A sheet of cells, whatever file it came from, and the table under its header row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from blindcal.errors import Problem
from blindcal.files.tables import refuse

_HEADER_ROWS = 6
Cells = Sequence[str]


@dataclass(frozen=True)
class Sheet:
    """A sheet of cells, each row under the number that a spreadsheet shows.

    `file`: what messages call it; `name`: the sheet's own.
    `rows`: numbers and cells, as text.
    `workbook`: whether it is from one, where empty last cells are not stored.
    `cut`: whether it is a text without a line end at its end, so that its last row may not be whole.
    """

    file: str
    name: str
    rows: Sequence[tuple[int, Cells]]
    workbook: bool = False
    cut: bool = False


@dataclass(frozen=True)
class Opened:
    """What a file holds once unpacked and decoded: `sheets`, or if it `is_json`, the `value` of its text.

    `file` is its name, for messages; `said` is what was recognized on the way, such as the encoding.
    """

    file: str
    sheets: tuple[Sheet, ...] = ()
    value: object = None
    is_json: bool = False
    said: tuple[str, ...] = ()


@dataclass(frozen=True)
class Headed:
    """A sheet's table: the `names` in its header row and the rows below, each as wide as the header.

    The header is at this `place` among the rows of the `sheet`, counted from 0, which shows it as its `row`.

    >>> rows = [["CONF 2026"], [""], ["Paper ID", "Score"], ["7", "2"]]
    >>> sheet = Sheet("x.csv", "x", list(enumerate(rows, start=1)))
    >>> table = headed(sheet, lambda names: "paper id" in names)
    >>> table.row, table.names, table.column("score"), table.rows
    (3, ('Paper ID', 'Score'), ['2'], [(4, ['7', '2'])])
    """

    sheet: Sheet
    place: int
    row: int
    names: tuple[str, ...]

    @cached_property
    def _under(self) -> tuple[list[tuple[int, Cells]], tuple[Problem, ...]]:
        """The rows that fit the header, and a problem for each that does not. Some systems leave out empty
        cells at the end of a row; an empty line and a last row that may be cut are problems."""
        width, fitting, problems = len(self.names), [], []
        last = self.sheet.rows[-1][0] if self.sheet.cut else None
        for number, cells in self.sheet.rows[self.place + 1 :]:
            short = len(cells) < width and any(cells) and number != last
            if short or (self.sheet.workbook and len(cells) != width):
                cells = _fitted(cells, width)
            if len(cells) != width:
                rule = f"must have {width} cells like the header"
                problems.append(Problem(self.file, number, None, rule, f"{len(cells)}"))
            elif any(cells) or not self.sheet.workbook:
                fitting.append((number, cells))
        return fitting, tuple(problems)

    @property
    def rows(self) -> Sequence[tuple[int, Cells]]:
        return self._under[0]

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self._under[1]

    @property
    def file(self) -> str:
        return self.sheet.file

    @cached_property
    def folded(self) -> tuple[str, ...]:
        return tuple(name.casefold() for name in self.names)

    def __contains__(self, name: str) -> bool:
        return name.casefold() in self.folded

    def first(self, *names: str) -> str | None:
        """The first of these columns that there is."""
        return next((name for name in names if name in self), None)

    def column(self, name: str | None) -> list[str]:
        """The cells of a column; empty ones where there is no such column."""
        if name is None or name not in self:
            return [""] * len(self.rows)
        place = self.folded.index(name.casefold())
        return [cells[place] for _, cells in self.rows]

    def repeated(self, used: Collection[str | None]) -> list[Problem]:
        """A problem for each used name that stands in the header twice."""
        return [
            Problem(self.file, self.row, name, "must appear once", f"{self.folded.count(name.casefold())}")
            for name in dict.fromkeys(used)
            if name is not None and self.folded.count(name.casefold()) > 1
        ]


def headed(sheet: Sheet, wanted: Callable[[frozenset[str]], bool]) -> Headed | None:
    """The table under the first of a `sheet`'s top rows whose names (in lower case) are `wanted`, or None.

    >>> sheet = Sheet("x.csv", "x", [(1, ["ICX 2027"]), (2, ["Paper"]), (3, ["7"])])
    >>> headed(sheet, lambda names: "paper" in names).row, headed(sheet, lambda names: "score" in names)
    (2, None)
    """
    for place, (row, cells) in enumerate(sheet.rows[:_HEADER_ROWS]):
        names = tuple(" ".join(cell.split()) for cell in cells)
        if wanted(frozenset(name.casefold() for name in names)):
            return Headed(sheet, place, row, _trimmed(names) if sheet.workbook else names)
    return None


def one_table(sheets: Sequence[Sheet], wanted: Callable[[frozenset[str]], bool]) -> Headed | None:
    """The only table of these `sheets` whose names (in lower case) are `wanted`, or None; several are
    refused, as they could be anything.

    >>> people, scores = (Sheet("x.xlsx", name, [(1, [name])]) for name in ("person", "score"))
    >>> one_table([people, scores], lambda names: "score" in names).sheet.name
    'score'
    """
    tables = [table for sheet in sheets if (table := headed(sheet, wanted)) is not None]
    if len(tables) > 1:
        rule = (
            "must be the only table of its kind in the file: save the one to import alone (two years in one "
            "file?)"
        )
        raise refuse([Problem(table.file, table.row, None, rule) for table in tables])
    return tables[0] if tables else None


def _fitted(cells: Cells, width: int) -> Cells:
    """The cells of a row up to the last that is filled, and at least `width` of them."""
    kept = _trimmed(cells)
    return [*kept, *[""] * (width - len(kept))]


def _trimmed(cells: Cells) -> tuple[str, ...]:
    end = len(cells)
    while end and not cells[end - 1].strip():
        end -= 1
    return tuple(cells[:end])
