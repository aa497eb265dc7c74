"""Made-up exports of every system, what to say to the importer about each, and what it must find in it."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

from blindcal.errors import InputError
from blindcal.importers import import_reviews
from blindcal.importers.normalize import Imported
from blindcal.importers.people import read_map
from blindcal.importers.raw_export import Choices
from blindcal.io.cells import unescape
from blindcal.io.tables import format_table

FOLDER = Path(__file__).parent / "vectors" / "exports"
# Exports as the real programs wrote them.
SYSTEMS = Path(__file__).parent / "systems"


class Export(NamedTuple):
    """One fixture; `options` are those of `blindcal import`, `recognized` is what must be said first."""

    name: str
    recognized: str
    options: Mapping[str, object] = MappingProxyType({})

    @property
    def path(self) -> Path:
        return FOLDER / self.name

    @property
    def data(self) -> bytes:
        return self.path.read_bytes()

    @property
    def choices(self) -> Choices:
        people = self.path.with_suffix(".map")
        found = read_map(people.read_bytes(), people.name) if people.exists() else None
        return Choices(people=found, **self.options)

    def read(self, data: bytes | None = None) -> Imported:
        return import_reviews(self.data if data is None else data, self.path.name, self.choices)

    @property
    def expected(self) -> list[dict[str, str]]:
        return rows_of(self.path.with_name(self.path.name + ".expected.csv").read_bytes())

    @property
    def arguments(self) -> list[str]:
        """The command line that reads it."""
        people = self.path.with_suffix(".map")
        found = ["--map", str(people)] if people.exists() else []
        for name, value in self.options.items():
            if isinstance(value, dict):
                value = ",".join(f"{field}={column}" for field, column in value.items())
            text = ",".join(value) if isinstance(value, tuple) else str(value)
            found += [f"--{name.replace('_', '-')}", text]
        return ["import", str(self.path), *found]


def rows_of(table: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(table.decode().splitlines()))


EXPORTS = [
    Export("hotcrp/scores-2026.csv", "HotCRP scores"),
    Export("hotcrp/reviews-2019.csv", "HotCRP reviews", {"score_field": "Post-Rebuttal Overall Merit"}),
    Export("hotcrp/letters.csv", "HotCRP scores", {"best_first": ("A", "B", "C", "D")}),
    Export("hotcrp/api-2026.json", "HotCRP reviews as JSON"),
    Export("hotcrp/rqc-letters.json", "HotCRP reviews as JSON"),
    Export("hotcrp/batch.csv", "HotCRP reviews from its batch script"),
    Export("openreview/api2-replies.json", "OpenReview notes (API 2)"),
    Export("openreview/api1-labels.json", "OpenReview notes (API 1)"),
    Export("openreview/recommendation-2022.jsonl", "OpenReview notes (API 2)"),
    Export("openreview/halves-groups.json", "OpenReview notes (API 2)"),
    Export("cmt/two-tracks.xls", "CMT reviews"),
    Export("cmt/resaved-2021.xlsx", "CMT reviews", {"score_field": "Q4"}),
    Export("cmt/utf16.tsv", "CMT reviews"),
    Export("cmt/cmt2-2016.xls", "CMT reviews (2017 or older)"),
    Export("easychair/review-2024.csv", "EasyChair reviews"),
    Export(
        "easychair/review-2018-no-header.csv", "EasyChair reviews without a header row", {"unit": "member"}
    ),
    Export("easychair/review-criteria.csv", "EasyChair reviews"),
    Export("easychair/all-tables.zip", "EasyChair reviews"),
    Export("easychair/workbook.xlsx", "EasyChair reviews", {"unit": "member"}),
    Export("pretalx/legacy-2020.json", "pretalx reviews"),
    Export("pretalx/codes-2025-two-pages.json", "pretalx reviews"),
    Export("pretalx/expanded-2026.json", "pretalx reviews", {"score_field": "category Quality"}),
    Export("pretalx/export-2025.csv", "pretalx's export of reviews"),
    Export("pretalx/export-2025.json", "pretalx's export of reviews", {"score_field": "Relevance"}),
    Export("panel/jury-cp1252.export", "a table with a row for each review"),
    Export(
        "panel/own-columns.csv",
        "a table with a row for each review",
        {"columns": {"paper": "item_id", "reviewer": "rater_id", "score": "points", "confidence": "sure"}},
    ),
    Export("panel/blindcal.csv", "a table with a row for each review"),
    Export("panel/flat.json", "a table with a row for each review"),
    Export("panel/crowd.tsv.gz", "a table with a row for each review", {"best_first": ("A", "B", "C")}),
]


def rows(imported: Imported) -> list[dict[str, str]]:
    """The table as it would be written, without the escapes of the writer."""
    written = rows_of(format_table(imported.columns()))
    return [{name: unescape(cell) for name, cell in row.items()} for row in written]


def in_order(table: list[dict[str, str]]) -> list[tuple[tuple[str, str], ...]]:
    return sorted(tuple(sorted(row.items())) for row in table)


BY_NAME = {export.name: export for export in EXPORTS}
every_export = pytest.mark.parametrize("export", EXPORTS, ids=[export.name for export in EXPORTS])


def refused(data: bytes, message: str, **options: object) -> InputError:
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        import_reviews(data, "x.csv", Choices(**options))
    return caught.value


def packed(parts: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", compression) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return data.getvalue()
