"""What files are packed in, nothing beyond the limit; texts in any encoding, with any separator."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest

from blindcal.importers import import_reviews, open
from blindcal.importers.open import decode_text
from blindcal.importers.people import read_people
from blindcal.importers.sheet import Memory
from exports import Export, every_export, packed, refused, rows


@every_export
@pytest.mark.parametrize(
    "pack", [gzip.compress, lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:])]
)
def test_gzip_is_unpacked(export: Export, pack: Callable[[bytes], bytes]) -> None:
    if not export.name.endswith(".gz"):
        imported = export.read(pack(export.data))
        assert rows(imported) == rows(export.read())
        assert "gzip" in imported.recognized


def test_nothing_unpacks_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open, "MAX_EXPORT", 100_000)
    refused(packed({"a.csv": b"x" * 60_000, "b.csv": b"x" * 60_000}), "must unpack to at most 100,000 bytes")
    for packing in (gzip.compress(b"x" * 100_001), gzip.compress(b"x" * 60_000) * 2):
        refused(packing, "must unpack to at most 100,000 bytes, found more")
    refused(b"x" * 100_001, "must have at most 100,000 bytes")
    assert len(import_reviews(packed({"a.csv": b"paper,reviewer,score\n1,a,1\n2,a,2\n"}), "x").reviews) == 2


# --- Texts in any encoding, with any separator and line end.


ENCODINGS = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8"}
ENCODINGS |= dict.fromkeys(("utf-16", "utf-16-le", "utf-16-be"), "UTF-16")
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("separator", SEPARATORS)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_encodings_separators_and_line_ends(encoding: str, separator: str, end: str) -> None:
    lines = ["paper,reviewer,score,comment", "1,Zoë,3,é", "2,Zoë,4,ü", ""]
    imported = import_reviews(end.join(lines).replace(",", separator).encode(encoding), "x")
    assert imported.columns()["reviewer"] == ["Zoë", "Zoë"]
    told = f"cells separated by {SEPARATORS[separator]}, {ENCODINGS[encoding]}"
    assert imported.recognized[1] == told


def test_a_cell_full_of_another_separator_does_not_mislead() -> None:
    for other in ";|\t":
        data = f"paper,reviewer,score,note\n1,a,3,{other * 9}\n2,a,4,{other * 9}\n3,c,1,\n".encode()
        assert import_reviews(data, "x").recognized[1] == "cells separated by commas, UTF-8"


def test_a_list_in_one_column_has_no_separator() -> None:
    people = read_people(b"reviewer\nByron; Ada\nbo\nCy|D\n", "x")
    assert sorted(people) == ["Byron; Ada", "Cy|D", "bo"]


def test_windows_text_is_told_from_utf8() -> None:
    text = "paper,reviewer,score\n1,Zoë,3\n2,Zoë,4\n"
    assert import_reviews(text.encode("cp1252"), "x").recognized[1].endswith("Windows-1252")
    assert decode_text(b"", "x", Memory("x")) == ("", "UTF-8")
