"""Importers: made-up exports of every system read right, what cannot be used refused with what to do."""

from __future__ import annotations

import re
from pathlib import Path

from blindcal.importers import import_reviews
from blindcal.io.tables import format_table
from blindcal.reviews import Reviews
from exports import BY_NAME, EXPORTS, Export, every_export, rows_of


def test_there_are_three_exports_of_each_system() -> None:
    systems = [export.name.split("/")[0] for export in EXPORTS]
    assert {"hotcrp", "openreview", "cmt", "easychair", "pretalx", "panel"} == set(systems)
    assert min(map(systems.count, systems)) >= 3


@every_export
def test_what_was_imported_is_imported_again_as_it_is(export: Export) -> None:
    imported = export.read()
    table = format_table(imported.columns())
    again = import_reviews(table, "reviews.csv")
    assert repr(again.columns()) == repr(imported.columns())
    assert format_table(again.columns()) == table
    assert again.reviews.digest() == imported.reviews.digest()


@every_export
def test_what_was_imported_is_what_the_strict_reader_reads(export: Export, tmp_path: Path) -> None:
    imported = export.read()
    (tmp_path / "r.csv").write_bytes(format_table(imported.columns()))
    assert repr(Reviews.read(tmp_path / "r.csv").columns()) == repr(imported.reviews.columns())


def test_what_else_an_export_tells() -> None:
    rqc = BY_NAME["hotcrp/rqc-letters.json"].read()
    assert rqc.titles == {"1": "On Widgets", "2": "Gadgets Revisited", "3": "No reviews yet"}
    assert rqc.conflicts == (("1", "cy@example.org"), ("2", "ada@example.edu"), ("2", "cy@example.org"))
    assert rqc.committee == {"ada@example.edu": "Ada Byron", "bo@example.org": "Bo Chen"}
    assert rqc.tracks == {"1": "short"}
    assert (rqc.scale.levels, rqc.scale.labels) == ((1, 3, 4), ("D", "B", "A"))
    assert str(rqc.scale) == "D = 1, B = 3, A = 4"
    zipped = BY_NAME["easychair/all-tables.zip"].read()
    assert zipped.titles["12"] == "Logic, a Gentle View"
    assert zipped.tracks == {"12": "Main", "13": "Posters", "14": "Main"}
    assert zipped.committee["eve@example.org"] == "Eve Fox"
    assert zipped.committee["cy@example.org"] == "Cy Diaz"
    halves = BY_NAME["openreview/halves-groups.json"].read()
    assert halves.conflicts == (("22", "~Bo_Chen2"),)
    assert "~Cy_Diaz1" in halves.committee
    replies = BY_NAME["openreview/api2-replies.json"].read()
    assert replies.titles == {"12": "Deep Widgets", "13": "Shallow Widgets", "14": "Withdrawn Widgets"}
    assert BY_NAME["hotcrp/api-2026.json"].read().committee["ada@example.edu"] == "Ada Byron"
    labels = BY_NAME["openreview/api1-labels.json"].read().scale
    assert labels.levels == (1, 3, 6, 8)
    assert labels.labels[3] == "Top 50% of accepted papers, clear accept"


def test_nothing_that_must_not_go_on_is_in_the_table() -> None:
    times = re.compile(r"2026-0|2020-01|17[0-9]{8}|PM -08:00|AnonReviewer|Reviewer_[A-Z]")
    for export in EXPORTS:
        table = format_table(export.read().columns()).decode()
        assert not times.search(table), export.name
        assert not set(rows_of(table.encode())[0]) - {
            "paper", "reviewer", "score", "confidence", "track", "round"
        }, export.name  # fmt: skip
