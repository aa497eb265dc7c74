"""Importers: made-up exports of every system read right, what cannot be used refused with what to do."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from blindcal.files.tables import format_table
from blindcal.importers import Choices, import_reviews
from blindcal.reviews import Reviews
from exports import BY_NAME, EXPORTS, Export, every_export, packed, refused, rows, rows_of


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


def test_what_is_dropped_is_said_with_the_reason() -> None:
    told = {name: "\n".join(map(str, BY_NAME[name].read().dropped)) for name in BY_NAME}
    assert (
        "review: numbers and letters of reviews can reveal who wrote them" in told["hotcrp/scores-2026.csv"]
    )
    assert "Created, Last Modified: times can reveal who wrote a review" in told["cmt/two-tracks.xls"]
    assert "Reviewer Number: numbers and letters" in told["cmt/two-tracks.xls"]
    assert "date, time: times can reveal" in told["easychair/review-2024.csv"]
    assert "1 older version of reviews: only the latest counts" in told["easychair/review-2024.csv"]
    assert "cdate, mdate, tcdate, tmdate: times" in told["openreview/api2-replies.json"]
    assert "1 Decision, 1 Meta_Review: no reviews" in told["openreview/api2-replies.json"]
    assert "1 deleted note" in told["openreview/api2-replies.json"]
    assert "1 unfinished review" in told["hotcrp/api-2026.json"]
    assert "Paper summary, Comments for authors: review texts" in told["hotcrp/reviews-2019.csv"]
    assert all("the order of rows: it can reveal who wrote a review" in text for text in told.values())


def test_nothing_that_must_not_go_on_is_in_the_table() -> None:
    times = re.compile(r"2026-0|2020-01|17[0-9]{8}|PM -08:00|AnonReviewer|Reviewer_[A-Z]")
    for export in EXPORTS:
        table = format_table(export.read().columns()).decode()
        assert not times.search(table), export.name
        assert not set(rows_of(table.encode())[0]) - {
            "paper", "reviewer", "score", "confidence", "track", "round"
        }, export.name  # fmt: skip


@pytest.mark.parametrize(
    "name", ["hotcrp/scores-2026.csv", "easychair/review-2024.csv", "panel/own-columns.csv"]
)
def test_the_order_of_rows_leaves_no_trace(name: str) -> None:
    export = BY_NAME[name]
    head, *body = export.data.decode().split("\n")
    records = re.findall(r"(?:[^\"\n]|\"(?:[^\"]|\"\")*\")+\n", "\n".join(body))
    assert len(records) > 2
    turned = "".join([head + "\n", *reversed(records)]).encode()
    assert turned != export.data
    one, other = export.read(), export.read(turned)
    assert rows(one) == rows(other)
    assert (one.titles, one.committee, one.dropped) == (other.titles, other.committee, other.dropped)


def test_averages_cannot_be_calibrated() -> None:
    console = (
        b"number,forum,title,num reviewers,num submitted reviewers,min rating,max rating,average rating\n"
    )
    refused(console + b"1,aB,On Widgets,3,3,4,8,6.33\n", "this table has only averages for each paper")
    refused(b"Paper ID,Average Score\n1,2.5\n", "this table has only averages for each paper")


def test_several_scores_are_asked_about() -> None:
    export = BY_NAME["hotcrp/reviews-2019.csv"]
    told = str(refused(export.data, "say which with `score_field`"))
    assert "Pre-Response Overall Merit, Post-Rebuttal Overall Merit" in told
    refused(export.data, "must have the field 'Merit' that `score_field` names, found", score_field="Merit")
    before = import_reviews(export.data, "x", Choices(score_field="pre-response overall merit"))
    assert [row["score"] for row in rows(before)] == ["3", "5", "2", "3"]
    table = b"paper,reviewer,score,points\n1,a,1,2\n2,a,3,4\n"
    refused(table, "row 1, column score: must have one column for it: say which with `columns` score=")
    assert rows(import_reviews(table, "x", Choices(score_field="points")))[0]["score"] == "2"
    assert rows(import_reviews(table, "x", Choices(columns={"score": "points"})))[0]["score"] == "2"


@pytest.mark.parametrize(
    ("data", "advice"),
    [
        (b"Paper ID,Paper Title,Status,Reviewers\n1,W,Accept,a\n", "this is the list of submissions"),
        (b"#,title,authors,decision\n1,W,A,accept\n", "this is the list of submissions"),
        (b"member #,member name,submission #\n1,Ada,3\n", "this is a list of people, assignments or bids"),
        (b"first,last,email,roles,tags\nAda,Byron,a@b.c,pc,\n", "this is a list of people"),
        (b"paper,title,OveMer\n1,W,3\n", "there is no column for them. Export as a chair"),
        (b"a,b,c\n1,2,3\n", "must be an export that is recognized"),
        (b"", "must not be empty"),
        (b"{}", "must be an export that is recognized"),
        (b"[]", "must be an export that is recognized"),
        (b"[1, [2], \"x\"]", "must be an export that is recognized"),
        (b"%PDF-1.7", "must be an export with one row per review, found a PDF file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "must be saved again as .xlsx or CSV"),
        (b"<!DOCTYPE html><html>", "must be an export and not a web page"),
        (b"{\"a\": 1, \"a\": 2}", "must not repeat a key"),
        (b"{\"a\": NaN}", "must hold finite numbers only"),
        (b"[" * 100_000, "must be JSON within the limits of depth and size"),
        (b"{\"notes\": ", "must be JSON"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_with_advice(data: bytes, advice: str) -> None:
    refused(data, advice)


def test_every_problem_is_told_at_once_with_its_place() -> None:
    data = b"paper,reviewer,score\n1,a,x\n1,,3\n2,a\n2,b,1\n2,b,2\n"
    error = refused(data, "row 2, column score: must be a number, or a number and a label")
    assert {(problem.row, problem.column) for problem in error.problems} == {
        (2, "score"), (3, "reviewer"), (4, None), (6, "reviewer")
    }  # fmt: skip
    assert all(problem.file == "x.csv" for problem in error.problems)


def test_messages_name_nobody() -> None:
    data = b"paper,reviewer,score\n1,canary,x\n1,canary,3\ncanary,canary\n" + b"2,canary\xc3\xa9\xcc\x81,1\n"
    assert "canary" not in str(refused(data, "must"))
    tracks = b"paper,reviewer,score,track\n1,canary,1,canary\n1,b,2,other\n2,b,1,\n"
    assert "canary" not in str(
        refused(tracks, "row 3, column track: must be the track of the paper's first row")
    )


def test_two_tables_of_reviews_in_one_file_are_asked_about() -> None:
    table = b"paper,reviewer,score\n1,a,1\n2,a,2\n"
    both = packed({"old.csv": table, "new.csv": table})
    error = refused(both, "must be the only table of its kind in the file")
    assert [problem.file for problem in error.problems] == ["x.csv: old.csv", "x.csv: new.csv"]


def test_a_list_with_anything_but_objects_is_refused() -> None:
    for name, key in (("openreview/api2-replies.json", "notes"), ("pretalx/legacy-2020.json", "results")):
        whole = json.loads(BY_NAME[name].data)
        mixed = {**whole, key: [*whole[key], 7]}
        refused(json.dumps(mixed).encode(), "must have nothing but objects in a list of reviews or notes")


def test_reviews_without_a_score_are_counted_with_their_places() -> None:
    told = BY_NAME["cmt/two-tracks.xls"].read().warnings
    assert told == ("1 review without a score left out (two-tracks.xls, sheet Industry, row 5)",)
    blank = b"paper,reviewer,score\n1,a,1\n2,a,2\n" + b"".join(b"%d,a,\n" % paper for paper in range(3, 10))
    places = "row 4, row 5, row 6, row 7, row 8, ..."
    assert import_reviews(blank, "x").warnings == (f"7 reviews without a score left out ({places})",)


def test_a_version_with_an_odd_space_around_it_is_a_number() -> None:
    export = BY_NAME["easychair/review-2024.csv"]
    assert rows(export.read(export.data.replace(b",1,2,", b",1,\x1c2,"))) == rows(export.read())


def test_two_rounds_by_one_reviewer_are_asked_about() -> None:
    table = b"paper,reviewer,score,round\n1,a,1,R1\n1,a,2,R2\n2,a,3,R1\n"
    refused(
        table,
        "row 3, column reviewer: must not repeat an earlier row's paper and reviewer, found row 2's from",
    )


def test_the_unit_of_calibration_is_chosen() -> None:
    export = BY_NAME["easychair/review-2024.csv"]
    by_writer, by_member = export.read(), import_reviews(export.data, "x", Choices(unit="member"))
    assert {row["reviewer"] for row in rows(by_writer)} == {
        "Ada Byron (member 3)",
        "Bo Chen",
        "cy@example.org",
    }
    assert [row["reviewer"] for row in rows(by_member) if row["paper"] == "14"] == ["Ada Byron (member 9)"]
    assert "2 reviews by sub-reviewers count for them (`unit` member: for the member)" in by_writer.recognized


def test_problems_in_the_tables_beside_the_reviews_are_told() -> None:
    review = BY_NAME["easychair/review-2024.csv"].data
    short = packed({"review.csv": review, "submission.csv": b"#,title,authors\n12,Logic,A\n13,Less\n"})
    refused(short, "x.csv: submission.csv, row 3: must have 3 cells like the header, found 2")
    twice = packed({"review.csv": review, "submission.csv": b"#,title,title,authors\n12,Logic,L,A\n"})
    refused(twice, "x.csv: submission.csv, row 1, column title: must appear once")


def test_more_that_cannot_be_used_is_refused() -> None:
    refused(b"pid,review,email,field,format,data\n1,1A,a,OveMer,,3\n", "run the batch script without -x")
    users = [{"submission": "A", "user": None, "score": "1"}]
    refused(json.dumps(users).encode(), "fetch as an organizer who may see reviewers")
    note = {"forum": "f", "signatures": ["~A1"], "content": {"rating": 3}}
    kinds = [
        {**note, "id": kind, "invitation": f"V/Paper1/-/{kind}"}
        for kind in ("Senior_Review", "Junior_Review")
    ]
    refused(json.dumps(kinds).encode(), "must hold one kind of reviews: leave the others out")
    tracks = BY_NAME["cmt/two-tracks.xls"].data.decode()
    start = tracks.index("Industry")
    other = tracks[:start] + tracks[start:].replace("Overall score", "Merit")
    refused(other.encode(), "must have one score in all tracks: say which with `score_field`")
