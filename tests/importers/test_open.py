"""What files are packed in: gzip, archives that are broken, and nothing beyond the limit."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Callable

import pytest

from blindcal.errors import InputError
from blindcal.importers import import_reviews, open
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
    with pytest.raises(InputError, match="must unpack to at most 50,000 bytes, found more"):
        open.gunzip(gzip.compress(b"x" * 60_000), "x", 50_000)
    with pytest.raises(InputError, match="must unpack to at most 50,000 bytes, found more"):
        open.gunzip(gzip.compress(b"x" * 30_000) * 2, "x", 50_000)
    refused(b"x" * 100_001, "must have at most 100,000 bytes")


def test_broken_and_unusual_archives_are_refused() -> None:
    good = packed({"a.csv": b"paper,reviewer,score\n1,a,1\n2,a,2\n"})
    assert len(import_reviews(good, "x").reviews) == 2
    refused(good[:-30], "must be a whole zip or .xlsx file")
    refused(good.replace(good[40:44], b"\xff\xff\xff\xff", 1), "must be a whole zip or .xlsx file")
    refused(packed({"a.csv": b"x"}, zipfile.ZIP_BZIP2), "must be packed plainly")
    refused(packed({"a.pdf": b"x"}), "must hold a CSV, TSV or JSON file")
    refused(packed({"a.json": b"[]", "b.json": b"[]"}), "must hold one JSON file or only tables")
    refused(packed({f"{i}.csv": b"" for i in range(2_001)}), "must have at most 2,000 parts")
    refused(packed({"xl/workbook.xml": b"<workbook/>"}), "must be a whole .xlsx workbook")
    refused(gzip.compress(b"x")[:-4], "must be a whole gzip file, found its end missing")
    refused(gzip.compress(b"x") + b"y" * 20, "must be a whole gzip file, found damage")
    refused(gzip.compress(gzip.compress(b"x")), "must be packed once")
