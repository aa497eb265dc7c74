"""A table under its header row: which row that is, ragged rows, columns that are missing or there twice."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable

import pytest

from blindcal.errors import InputError
from blindcal.importers import sheet
from blindcal.importers.sheet import (
    HeadedTable,
    Memory,
    MixedListError,
    Worksheet,
    all_pages,
    find_table,
    json_cell,
    json_objects,
    json_pages,
    json_size,
)
from exports import BY_NAME


def table(*lines: str, workbook: bool = False) -> HeadedTable | None:
    rows = [(number, line.split(",")) for number, line in enumerate(lines, start=1)]
    return find_table(Worksheet("x.csv", "x", rows, workbook), lambda names: "paper id" in names)


@pytest.mark.parametrize("above", range(8))
def test_the_header_is_sought_in_the_first_six_rows(above: int) -> None:
    found = table(*["CONF 2026"] * above, "Paper  ID ,Score", "7,2")
    if above > 5:
        assert found is None
        return
    assert found is not None
    assert (found.row, found.names) == (above + 1, ("Paper ID", "Score"))
    assert list(found.rows) == [(above + 2, ["7", "2"])]
    assert found.column("PAPER id") == ["7"]


def test_a_row_that_does_not_fit_its_header_is_a_problem() -> None:
    """A workbook does not store empty last cells, and HotCRP does not write them; a line has some cell."""
    lines = ("Paper ID,Score,Note,", "1,2,3,", "4,5", "6,7,8,9", ",,,", "", "1,2,3,,")
    text, book = table(*lines), table(*lines, workbook=True)
    assert text is not None
    assert book is not None
    assert list(text.rows)[1] == (3, ["4", "5", "", ""])
    assert [number for number, _ in text.rows] == [2, 3, 4, 5]
    assert [str(problem) for problem in text.problems] == [
        "x.csv, row 6: must have 4 cells like the header, found 1",
        "x.csv, row 7: must have 4 cells like the header, found 5",
    ]
    assert book.names == ("Paper ID", "Score", "Note")
    assert list(book.rows) == [(2, ["1", "2", "3"]), (3, ["4", "5"]), (7, ["1", "2", "3"])]
    assert book.column("note") == ["3", "", "3"]
    assert [str(problem) for problem in book.problems] == [
        "x.csv, row 4: must have 3 cells like the header, found 4"
    ]


def test_columns_that_are_not_there_are_empty_and_those_there_twice_are_told() -> None:
    found = table("Paper ID,Score,score,Note,Note", "1,2,3,4,5", "6,7,8,9,10")
    assert found is not None
    assert found.column("missing") == found.column(None) == ["", ""]
    assert found.column("SCORE") == ["2", "7"], "the first of its name"
    assert found.first("missing", "note", "score") == "note"
    assert found.first("missing") is None
    assert "paper ID" in found
    told = [str(problem) for problem in found.repeated(["score", None, "paper id", "score", "missing"])]
    assert told == ["x.csv, row 1, column score: must appear once, found 2"]


# --- Values of a JSON text: objects, pages that are not all, and what a cell would say.


@pytest.mark.parametrize(
    ("name", "key"), [("openreview/api2-replies.json", "notes"), ("pretalx/legacy-2020.json", "results")]
)
def test_a_list_with_other_things_or_a_page_of_many_is_refused(name: str, key: str) -> None:
    export = BY_NAME[name]
    entire = json.loads(export.data)
    for items, rule in (
        ([*entire[key], 7], "must have nothing but objects in a list of reviews or notes"),
        (entire[key][:-1], "must hold all [34] entries: fetch every page"),
    ):
        with pytest.raises(InputError, match=rule):
            export.read(json.dumps({**entire, key: items}).encode())


def test_objects_of_a_list_are_all_of_it_or_none() -> None:
    assert json_objects([{"a": 1}, {}]) == json_pages([{"a": 1}, {}]) == [{"a": 1}, {}]
    for value in ([], [1, "x", None], "text", 7, None, {"a": 1}):
        assert json_objects(value) == []
    assert json_pages({"a": 1}) == [{"a": 1}]
    for mixed in ([{}, 1], [None, {}]):
        with pytest.raises(MixedListError):
            json_objects(mixed)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "yes"),
        (False, ""),
        (0, "0"),
        (-3, "-3"),
        (2.50, "2.5"),
        (3.0, "3"),
        (1e-7, "1e-07"),
        (" a ", " a "),
        (["a", 2, None, True], "a, 2, , yes"),
        ({"a": 1}, ""),
    ],
)
def test_a_value_is_the_text_that_a_table_would_have(value: object, text: str) -> None:
    assert json_cell(value) == text


def test_pages_hold_as_many_as_the_longest_says() -> None:
    """Every page of a longer answer tells how many there are in all."""
    parts = [{"count": 3, "results": [{"id": 1}, {"id": 2}]}, {"count": 3, "results": [{"id": 3}]}]
    assert [item["id"] for item in all_pages(parts, "results", "x")] == [1, 2, 3]
    assert list(all_pages([{"results": [{}]}, {"count": "9"}], "results", "x")) == [{}], (
        "no number, no promise"
    )
    assert list(all_pages([], "results", "x")) == list(all_pages([{"results": []}], "results", "x")) == []
    for part in parts:
        with pytest.raises(InputError, match=rf"x: must hold all 3 entries.*, found {len(part['results'])}"):
            list(all_pages([part], "results", "x"))


# --- What is counted is at least what it costs, and not many times as much.


def cost(make: Callable[[], object]) -> int:
    """The most memory that Python holds while this is made."""
    tracemalloc.start()
    try:
        kept = make()
        return tracemalloc.get_traced_memory()[1] if kept is not None else 0
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "text",
    [
        "[" + "[]," * 20_000 + "1]",
        "[" + "{}," * 20_000 + "1]",
        "[" + "1.5," * 20_000 + "1]",
        "[" + "123456," * 20_000 + "1]",
        "[" + '"ab",' * 20_000 + "1]",
        "[" + '"\\":",' * 20_000 + "1]",
        "[" + '{"a":1},' * 20_000 + "1]",
        "[" + '{"a":{"b":[1,2,"cd"]},"e":"fg","h":2.5},' * 10_000 + "1]",
        "[" + ('"' + "a" * 100 + "😀" + '",') * 5_000 + "1]",
        "[" + ('"' + "a" * 100 + "\\ud83d\\ude00" + '",') * 5_000 + "1]",
        "[" + ('"' + "a" * 100 + "\\u2014" + '",') * 5_000 + "1]",
    ],
)
def test_a_json_text_costs_at_most_what_is_counted(text: str) -> None:
    actual = cost(lambda: json.loads(text))
    assert actual <= json_size(text) <= 6 * actual


def test_a_row_costs_at_most_what_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    actual = cost(lambda: [[*map(str, range(1_000, 1_020))] for _ in range(1_000)]) // 1_000
    cells = [*map(str, range(1_000, 1_020))]
    monkeypatch.setattr(sheet, "MAX_MEMORY", actual)
    with pytest.raises(InputError, match=r"^x.csv, sheet s, row 7: must take at most"):
        Memory("x.csv").take_row(cells, 7, "x.csv, sheet s")
    monkeypatch.setattr(sheet, "MAX_MEMORY", 2 * actual)
    Memory("x.csv").take_row(cells, 7)


def test_what_does_not_fit_is_refused_and_leaves_what_was_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet, "MAX_MEMORY", 2 * 2**20)
    counted = Memory("x.csv")
    counted.take(2**20)
    for too_much in (lambda: counted.take(2**20 + 1), lambda: counted.check(2**20 + 1)):
        with pytest.raises(InputError, match=r"^x.csv: must take at most 2 MiB of memory: .*, found more$"):
            too_much()
    counted.take_cell("a" * 2**19, gap=10, row=3)
    with pytest.raises(InputError, match=r"^x.csv, row 4: "):
        counted.take_cell("a" * 2**19, row=4)
