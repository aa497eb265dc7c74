"""Which system a file is from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from blindcal.importers import import_reviews
from blindcal.importers.raw_export import Choices
from exports import Export, every_export, in_order, packed, refused, rows


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
    pools = b"paper_id,reviewer_id,probability\n1,a,1\n"
    refused(pools, "must hold scores: this table has papers and reviewers")
    for header in (
        b"paper,reviewer",
        b"Paper ID,Paper Title,Reviewer Email",
        b"member #,member name,submission #",
    ):
        refused(
            header + b"\n1,a,1\n", "must hold reviews: this lists papers and people. Give --as conflicts if"
        )
    refused(b"paper,overall\n1,4\n", "must say who the reviewers are")
    for data in (b"", b" \n\n"):
        refused(data, "must not be empty")


SYSTEMS = Path(__file__).parents[1] / "data" / "systems"
CONFLICTS = "must hold reviews: this is a list of conflicts, for --as conflicts"
PREFERENCES = "must hold reviews: this is a list of preferences"
BOTH = "must hold reviews: this is a list of preferences and conflicts, for --as conflicts"
AUTHORS = "must hold reviews: this is a list of authors"
# What else lies in the same menus, by its first line and one row: HotCRP, EasyChair, CMT, blindcal itself.
LISTS = {
    "paper,title,preference\n1,On Widgets,3\n": PREFERENCES,
    "paper,conflict\n1,ada\n": CONFLICTS,
    "submission #,first name,last name,email,country,affiliation,Web page,person #,corresponding?\n"
    "1,A,B,a@x.org,UK,,,4,yes\n": AUTHORS,
    "member #,member name,submission #,bid\n1,Ada,3,yes\n": PREFERENCES,
    "member #,member name,submission #,conflict\n1,Ada,3,yes\n": CONFLICTS,
    "Paper ID\tPaper Title\tReviewer Email\tBid\n1\tW\ta@x.org\tEager\n2\tW\ta@x.org\tEager\n": PREFERENCES,
    "Paper ID\tReviewer Email\tConflict\n1\ta@x.org\tAdvisor\n2\ta@x.org\tAdvisor\n": CONFLICTS,
    "Paper ID\tPaper Title\tAuthor Names\tAuthor Emails\n1\tT\tA\ta@x.org\n": AUTHORS,
    '{"edges":[{"invitation":"X/Reviewers/-/Conflict","head":"f1","tail":"~A1"}]}': CONFLICTS,
    '[{"invitation":"X/Reviewers/-/Bid","head":"f1","tail":"~A1","label":"High"}]': PREFERENCES,
}


@pytest.mark.parametrize("data", LISTS)
def test_a_list_that_is_no_reviews_is_called_what_it_is(data: str) -> None:
    refused(data.encode(), LISTS[data])


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("hotcrp-3.4-authors.csv", AUTHORS),
        ("hotcrp-3.4-pcconf.csv", CONFLICTS),
        ("hotcrp-3.4-allrevpref.csv", BOTH),
        ("hotcrp-3.4-pcassignments.csv", "must hold reviews: this is a bulk assignment"),
        ("hotcrp-3.4-pcinfo.csv", "must hold reviews: this is a list of people"),
        ("openreview-neurips2023-people.csv", "must hold reviews: this says who is behind ids, for `map`"),
    ],
)
def test_lists_that_hotcrp_writes_are_called_what_they_are(name: str, rule: str) -> None:
    refused((SYSTEMS / name).read_bytes(), rule)


def test_a_table_of_reviews_may_have_a_column_of_conflicts_or_preferences() -> None:
    data = b"paper,reviewer,score,conflict,preference\n1,ada,2,no,3\n2,ada,3,no,4\n"
    assert len(import_reviews(data, "x").reviews) == 2


def test_two_years_in_one_file_are_refused_as_that() -> None:
    """The numbers of papers start again every year: reviews of two papers would be taken for one's."""
    this, past = ((SYSTEMS / f"hotcrp-3.4-{name}.csv").read_bytes() for name in ("scores", "scores-past"))
    error = refused(this + past.partition(b"\n")[2], "column title: must be one for each paper")
    assert "found 30 papers with two titles: two years in one file?" in str(error)
    assert len(error.problems) == 1
    notes = [
        {"forum": f"f{year}", "content": {"rating": 3}, "signatures": ["~Ada1"]}
        | {"invitations": [f"CONF.cc/{year}/Conference/Submission1/-/Official_Review"]}
        for year in (2025, 2026)
    ]
    refused(json.dumps(notes).encode(), "must be of one year, found 2025, 2026: two years in one file?")
    twice = "paper,reviewer,score\n1,ada,2\n2,ada,3\n1,ada,4\n"
    refused(twice.encode(), "found row 2's: two years in one file?")
    review = b"submission #,member #,member name,scores\n1,3,Ada,Score: 1\n"
    years = packed({"2025/review.csv": review, "2026/review.csv": review})
    refused(years, "must be the only table of its kind in the file: save the one to import alone (two years")
