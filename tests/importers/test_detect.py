"""Which system a file is from."""

from __future__ import annotations

from blindcal.importers import import_reviews
from blindcal.importers.raw_export import Choices
from exports import SYSTEMS, Export, every_export, in_order, refused, rows


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


def test_a_table_of_reviews_may_have_a_column_of_conflicts_or_preferences() -> None:
    data = b"paper,reviewer,score,conflict,preference\n1,ada,2,no,3\n2,ada,3,no,4\n"
    assert len(import_reviews(data, "x").reviews) == 2


def test_two_years_in_one_file_are_refused_as_that() -> None:
    """The numbers of papers start again every year: reviews of two papers would be taken for one's."""
    this, past = ((SYSTEMS / f"hotcrp-3.4-{name}.csv").read_bytes() for name in ("scores", "scores-past"))
    error = refused(this + past.partition(b"\n")[2], "column title: must be one for each paper")
    assert "found 30 papers with two titles: two years in one file?" in str(error)
    assert len(error.problems) == 1
