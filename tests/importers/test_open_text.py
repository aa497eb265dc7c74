"""Texts in any encoding, with any separator and line end."""

from __future__ import annotations

import pytest

from blindcal.importers import import_reviews
from blindcal.importers.open import decode_text
from blindcal.importers.people import read_people
from blindcal.importers.sheet import Memory
from exports import refused


@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        ("utf-8", "UTF-8"),
        ("utf-8-sig", "UTF-8"),
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16"),
        ("utf-16-be", "UTF-16"),
    ],
)
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_encodings_separators_and_line_ends(encoding: str, said: str, separator: str, end: str) -> None:
    lines = ["paper,reviewer,score,comment", "1,Zoë,3,é", "2,Zoë,4,ü", ""]
    data = end.join(lines).replace(",", separator).encode(encoding)
    imported = import_reviews(data, "x")
    assert imported.columns()["reviewer"] == ["Zoë", "Zoë"]
    names = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
    assert imported.recognized[1] == f"cells separated by {names[separator]}, {said}"


def test_a_cell_full_of_another_separator_does_not_mislead() -> None:
    for other in ";|\t":
        data = f"paper,reviewer,score,note\n1,a,3,{other * 9}\n2,a,4,{other * 9}\n3,c,1,\n".encode()
        assert import_reviews(data, "x").recognized[1] == "cells separated by commas, UTF-8"


def test_a_list_in_one_column_has_no_separator() -> None:
    people = read_people(b"reviewer\nByron; Ada\nbo\nCy|D\n", "x")
    assert sorted(people) == ["Byron; Ada", "Cy|D", "bo"]


def test_windows_text_is_told_from_damaged_utf8() -> None:
    text = "paper,reviewer,score\n1,Zoë,3\n2,Zoë,4\n"
    assert import_reviews(text.encode("cp1252"), "x").recognized[1].endswith("Windows-1252")
    damaged = text.encode().replace("ë,4".encode(), b"\xeb,4")
    refused(damaged, "x.csv, row 3: must be UTF-8 text throughout, found byte")
    refused(
        text.replace("ë", "e").encode("cp1252").replace(b"4", b"\x81"), "must be Windows-1252 text throughout"
    )
    refused(text.encode("utf-16")[:-1], "must be UTF-16 text throughout")
    refused(text.encode("utf-32"), "must be UTF-8, UTF-16 or Windows-1252 text")
    refused(text.encode().replace(b"3", b"\0"), "must have no NUL characters")
    assert decode_text(b"", "x", Memory("x")) == ("", "UTF-8")
