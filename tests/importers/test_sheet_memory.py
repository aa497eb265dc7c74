"""What is counted is at least what it costs, and not many times as much."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable

import pytest

from blindcal.errors import InputError
from blindcal.importers import sheet
from blindcal.importers.sheet import Memory, json_size


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
    for too_much in (lambda: counted.take(2**20 + 1), lambda: counted.check_tags(2**20)):
        with pytest.raises(InputError, match=r"^x.csv: must take at most 2 MiB of memory: .*, found more$"):
            too_much()
    counted.take_cell("a" * 2**19, gap=10, row=3)
    with pytest.raises(InputError, match=r"^x.csv, row 4: "):
        counted.take_cell("a" * 2**19, row=4)
