"""EasyChair: versions of a review, members and sub-reviewers, scores as lines of one cell."""

from __future__ import annotations

import zipfile

import pytest

from blindcal.errors import InputError
from blindcal.importers import import_reviews
from blindcal.importers.people import read_conflicts, read_people
from blindcal.importers.raw_export import Choices
from blindcal.project.contents import Source, read_contents
from exports import BY_NAME, packed, refused, rows


def test_a_version_with_an_odd_space_around_it_is_a_number() -> None:
    export = BY_NAME["easychair/review-2024.csv"]
    assert rows(export.read(export.data.replace(b",1,2,", b",1,\x1c2,"))) == rows(export.read())


def test_the_unit_of_calibration_is_chosen() -> None:
    export = BY_NAME["easychair/review-2024.csv"]
    by_writer, by_member = export.read(), import_reviews(export.data, "x", Choices(unit="member"))
    assert {row["reviewer"] for row in rows(by_writer)} == {
        "Ada Byron (member 3)",
        "Bo Chen",
        "cy@example.org",
    }
    assert [row["reviewer"] for row in rows(by_member) if row["paper"] == "14"] == ["Ada Byron (member 9)"]
    assert by_writer.warnings[0] == (
        "2 reviews by sub-reviewers count for them: the committee must list everyone who may have been one. "
        "If there is no such list, `unit` member counts them for the committee member"
    )
    assert by_member.warnings[0] == "2 reviews by sub-reviewers count for the committee member"


def test_bids_say_who_has_a_conflict() -> None:
    """In the download of all tables members go by email, and in the table of bids alone by name."""
    bids = b"member #,member name,submission #,bid\n3,Ada Byron,12,conflict\n7,Bo Chen,13,yes\n"
    bids += b"7,Bo Chen,12,Conflict\n"
    committee = b"#,person #,first name,last name,email,role\n3,1,Ada,Byron,Ada@x.org,chair\n"
    committee += b"7,2,Bo,Chen,bo@x.org,PC\n"
    review = BY_NAME["easychair/review-2024.csv"].data
    whole = packed({"review.csv": review, "committee.csv": committee, "bidding.csv": bids})
    by_email = (("12", "ada@x.org"), ("12", "bo@x.org"))
    assert import_reviews(whole, "x.zip").conflicts == by_email
    assert read_conflicts(whole, "x.zip")[0] == by_email
    assert read_conflicts(bids, "bidding.csv", {"Bo Chen": "bo"})[0] == (("12", "Ada Byron"), ("12", "bo"))
    for none in (bids.replace(b"onflict", b"onflicts"), bids.partition(b"\n")[0] + b"\n"):
        with pytest.raises(InputError, match="must hold conflicts: none of its rows is one"):
            read_conflicts(none, "bidding.csv")
    assert import_reviews(review, "review.csv").conflicts == ()


def test_problems_in_the_tables_beside_the_reviews_are_told() -> None:
    review = BY_NAME["easychair/review-2024.csv"].data
    longer = packed({"review.csv": review, "submission.csv": b"#,title,authors\n12,Logic,A\n13,Less,B,C\n"})
    refused(longer, "x.csv: submission.csv, row 3: must have 3 cells like the header, found 4")
    twice = packed({"review.csv": review, "submission.csv": b"#,title,title,authors\n12,Logic,L,A\n"})
    refused(twice, "x.csv: submission.csv, row 1, column title: must appear once")


HEADER = "submission #,member #,member name,version,scores\n"


def reviews(*lines: str, header: str = HEADER) -> bytes:
    return (header + "".join(f"{line}\n" for line in lines)).encode()


def test_the_highest_version_counts_whatever_the_order_of_rows() -> None:
    """By number and not by text: 10 comes after 9. Another member's versions are another review's."""
    lines = ["1,3,Ada,9,Score: 1", "1,3,Ada,10,Score: 2", "1,4,Bo,1,Score: 3", "2,3,Ada,1,Score: 4"]
    for order in (lines, lines[::-1]):
        imported = import_reviews(reviews(*order), "x")
        assert [(row["paper"], row["score"]) for row in rows(imported)] == [
            ("1", "2"),
            ("1", "3"),
            ("2", "4"),
        ]
        assert "1 older version of reviews: only the latest counts" in map(str, imported.dropped)
    refused(reviews(*lines, "2,4,Bo,two,Score: 1"), "row 6, column version: must be a whole number")
    refused(reviews(*lines, "2,3,Ada,1,Score: 1"), "row 6, column reviewer: must not repeat an earlier")


@pytest.mark.parametrize(
    ("cell", "score"),
    [
        ("Score: 2", "2"),
        ("Score : -2 (weak reject)", "-2"),
        ("Score: +1", "1"),
        ("  Score:3  ", "3"),
        ('"Best: no\nScore: 4"', "4"),
    ],
)
def test_scores_are_lines_of_one_cell(cell: str, score: str) -> None:
    imported = import_reviews(reviews(f"1,3,Ada,1,{cell}", "2,3,Ada,1,Score: 0"), "x")
    assert [row["score"] for row in rows(imported)] == [score, "0"]
    assert imported.score_field == "Score"


def test_a_line_that_says_nothing_or_a_label_twice_is_a_problem() -> None:
    good = "1,3,Ada,1,Score: 1"
    for cell in ('"Score: 1\nScore: 2"', '"Score: 1\n: 2"', '"Score: 1\nno label"'):
        refused(reviews(good, f"2,3,Ada,1,{cell}"), "row 3, column scores: must have lines like Overall")


def test_half_a_name_is_refused() -> None:
    for half, other in (("first", "last"), ("last", "first")):
        header = HEADER.replace("version", f"reviewer {half} name,version")
        lines = reviews("1,3,Ada,Cy,1,Score: 1", "2,3,Ada,Cy,1,Score: 2", header=header)
        refused(lines, f"row 1: must have the column reviewer {other} name")


def test_members_of_one_name_are_told_apart_by_their_numbers() -> None:
    lines = ["1,3,Ada,1,Score: 1", "1,9,Ada,1,Score: 2", "2,3,Ada,1,Score: 3", "2,4,Bo,1,Score: 4"]
    imported = import_reviews(reviews(*lines), "x")
    assert imported.reviews.reviewers == ("Ada (member 3)", "Ada (member 9)", "Bo")
    numberless = [",".join(line.split(",")[:1] + line.split(",")[2:]) for line in lines[1:]]
    imported = import_reviews(reviews(*numberless, header=HEADER.replace("member #,", "")), "x")
    assert imported.reviews.reviewers == ("Ada", "Bo")
    assert "there are no member numbers: members of one name are taken as one person" in imported.warnings


def test_metareviews_that_come_along_are_counted() -> None:
    header = "submission #,member #,member name,recommendation,text,PC-only part,date,time"
    meta = f"{header}\n12,3,Ada,accept,Good.,,2026-03-01,10:15\n13,3,Ada,reject,Bad.,,2026-03-01,10:16\n"
    review = BY_NAME["easychair/review-2024.csv"].data
    both = import_reviews(packed({"review.csv": review, "metareview.csv": meta.encode()}), "x.zip")
    assert rows(both) == rows(import_reviews(review, "x.csv"))
    assert "2 metareviews: they sum up reviews and are none themselves" in map(str, both.dropped)


def test_one_workbook_is_reviews_and_committee() -> None:
    """EasyChair's own download: the committee is the table of it, whatever else has emails."""
    everyone = {"ada@example.edu": "Ada Byron", "bo@example.org": "Bo Chen", "eve@example.org": "Eve Fox"}
    for name in ("easychair/workbook.xlsx", "easychair/all-tables.zip"):
        committee = read_people(BY_NAME[name].data, name)
        assert everyone.items() <= committee.items()
        assert "cy@example.org" not in committee, "a sub-reviewer is no member"
        sources = [Source(BY_NAME[name].path, kind) for kind in ("reviews", "committee")]
        contents, _ = read_contents(sources, Choices(unit="member"))
        assert {*contents.imported.reviews.reviewers} <= {*contents.committee}


def headless(name: str) -> bytes:
    """A table of the zip without its header."""
    with zipfile.ZipFile(BY_NAME["easychair/all-tables.zip"].path) as archive:
        return archive.read(f"conf_data/{name}.csv").partition(b"\n")[2]


def test_a_zip_of_a_year_without_headers_is_read() -> None:
    old = {f"conf/{name}.csv": headless(name) for name in ("submission", "review", "committee")}
    imported = import_reviews(packed(old), "conf.zip")
    assert imported.recognized[0] == "EasyChair reviews without a header row"
    assert rows(imported) == [
        {name: cell for name, cell in row.items() if name != "track"}
        for row in rows(BY_NAME["easychair/all-tables.zip"].read())
    ]
    assert "ada@example.edu" in imported.reviews.reviewers, "by email, as in years with headers"
    assert "eve@example.org" in read_people(packed(old), "conf.zip")
