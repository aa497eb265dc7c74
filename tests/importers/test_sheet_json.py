"""Values of a JSON text: objects, pages that are not all, and what a cell would say."""

from __future__ import annotations

import json

import pytest

from blindcal.errors import InputError
from blindcal.importers.sheet import MixedListError, all_pages, json_cell, json_objects, json_pages
from exports import BY_NAME, refused


def test_a_list_with_anything_but_objects_is_refused() -> None:
    for name, key in (("openreview/api2-replies.json", "notes"), ("pretalx/legacy-2020.json", "results")):
        entire = json.loads(BY_NAME[name].data)
        mixed = {**entire, key: [*entire[key], 7]}
        refused(json.dumps(mixed).encode(), "must have nothing but objects in a list of reviews or notes")


def test_a_page_of_many_is_not_taken_for_all() -> None:
    for name, key in (("openreview/api2-replies.json", "notes"), ("pretalx/legacy-2020.json", "results")):
        export = BY_NAME[name]
        entire = json.loads(export.data)
        part = {**entire, key: entire[key][:-1]}
        with pytest.raises(InputError, match=r"must hold all [34] entries: fetch every page"):
            export.read(json.dumps(part).encode())


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
