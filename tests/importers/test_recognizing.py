"""Which system a file is from."""

from __future__ import annotations

from blindcal.importers import Choices, import_reviews
from exports import Export, every_export, in_order, refused, rows


@every_export
def test_every_export_is_recognized_and_read(export: Export) -> None:
    imported = export.read()
    assert imported.recognized[0] == export.recognized
    assert in_order(rows(imported)) == in_order(export.expected)


@every_export
def test_the_name_of_a_file_does_not_matter(export: Export) -> None:
    for name in ("x", "reviews.pdf", "a.json", "b.xls", "c.csv"):
        assert rows(import_reviews(export.data, name, export.choices)) == rows(export.read())


@every_export
def test_the_format_can_be_named(export: Export) -> None:
    system = export.name.split("/")[0]
    options = {**export.options, "format": system, "people": export.choices.people}
    assert rows(import_reviews(export.data, "x", Choices(**options))) == rows(export.read())


def test_a_format_that_was_named_must_be_there() -> None:
    wanted = {
        "hotcrp": "must be a HotCRP export",
        "openreview": "must hold reviews: notes with an invitation",
        "cmt": "must be a CMT export of reviews",
        "easychair": "must be EasyChair's table of reviews",
        "pretalx": "must be pretalx reviews",
        "panel": "must have a header row with the columns paper, reviewer, score",
    }
    for name, rule in wanted.items():
        refused(b"a,b\n1,2\n", rule, format=name)
        refused(b"[{}]", rule if name != "hotcrp" else "must be HotCRP's reviews", format=name)


def test_pools_and_empty_files_are_told_from_exports_without_names() -> None:
    for header in (b"paper,reviewer", b"paper_id,reviewer_id,probability"):
        refused(header + b"\n1,a,1\n", "must hold scores: this table has papers and reviewers")
    refused(b"paper,overall\n1,4\n", "must say who the reviewers are")
    for data in (b"", b" \n\n"):
        refused(data, "must not be empty")
