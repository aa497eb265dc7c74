"""Importers: made-up exports of every system read right, what cannot be used refused with what to do."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from blindcal.cells import unescape
from blindcal.errors import InputError
from blindcal.files.tables import format_table
from blindcal.importers import Choices, Imported, coded, import_reviews, opening, read_codes, read_map
from blindcal.importers.identities import new_codes
from blindcal.importers.scores import has_decimal_commas, read_number, read_ordered, score_shaped
from blindcal.importers.texts import decoded
from blindcal.importers.workbooks import spreadsheet_xml
from blindcal.reviews import Reviews
from exports import EXPORTS, Export, rows_of

BY_NAME = {export.name: export for export in EXPORTS}
every_export = pytest.mark.parametrize("export", EXPORTS, ids=[export.name for export in EXPORTS])


def rows(imported: Imported) -> list[dict[str, str]]:
    """The table as it would be written, without the escapes of the writer."""
    written = rows_of(format_table(imported.columns()))
    return [{name: unescape(cell) for name, cell in row.items()} for row in written]


def in_order(table: list[dict[str, str]]) -> list[tuple[tuple[str, str], ...]]:
    return sorted(tuple(sorted(row.items())) for row in table)


def refused(data: bytes, message: str, **options: object) -> InputError:
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        import_reviews(data, "x.csv", Choices(**options))
    return caught.value


# What is read


@every_export
def test_every_export_is_recognized_and_read(export: Export) -> None:
    imported = export.read()
    assert imported.recognized[0] == export.recognized
    assert in_order(rows(imported)) == in_order(export.expected)


def test_there_are_three_exports_of_each_system() -> None:
    systems = [export.name.split("/")[0] for export in EXPORTS]
    assert {"hotcrp", "openreview", "cmt", "easychair", "pretalx", "panel"} == set(systems)
    assert min(map(systems.count, systems)) >= 3


@every_export
def test_the_name_of_a_file_does_not_matter(export: Export) -> None:
    for name in ("x", "reviews.pdf", "a.json", "b.xls", "c.csv"):
        assert rows(import_reviews(export.data, name, export.choices)) == rows(export.read())


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


@every_export
def test_the_format_can_be_named(export: Export) -> None:
    system = export.name.split("/")[0]
    options = {**export.options, "format": system, "people": export.choices.people}
    assert rows(import_reviews(export.data, "x", Choices(**options))) == rows(export.read())


@every_export
@pytest.mark.parametrize(
    "pack", [gzip.compress, lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:])]
)
def test_gzip_is_unpacked(export: Export, pack: Callable[[bytes], bytes]) -> None:
    if not export.name.endswith(".gz"):
        imported = export.read(pack(export.data))
        assert rows(imported) == rows(export.read())
        assert "gzip" in imported.recognized


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
    assert decoded(b"", "x") == ("", "UTF-8")


# Scores


@pytest.mark.parametrize(
    ("cell", "value", "label"),
    [
        ("8", 8, ""),
        (" 8 ", 8, ""),
        ("-2", -2, ""),
        ("+1", 1, ""),
        ("2.5", 2.5, ""),
        ("1e-1", 0.1, ""),
        ("8: Top 50% of papers", 8, "Top 50% of papers"),
        ("3 good", 3, "good"),
        ("-2 (reject)", -2, "(reject)"),
        ("5. Accept", 5, "Accept"),
        ("6 - weak accept", 6, "weak accept"),
        ("3.5 = Between", 3.5, "Between"),
        ("10:strong", 10, "strong"),
        ("4 out of 5", 4, "out of 5"),
        ("1: Trivial\nor wrong", 1, "Trivial\nor wrong"),
    ],
)
def test_numbers_with_labels(cell: str, value: float, label: str) -> None:
    assert read_number(cell, False) == (value, label)


@pytest.mark.parametrize(
    "cell",
    [
        "3-4",
        "3/5",
        "3 4",
        "good",
        "",
        "1_000",
        "nan",
        "inf",
        "3%",
        "3 - 4",
        "1.2.3",
        "٣",
        "−2",
        "8, 7",
        "3: 4",
    ],
)
def test_what_is_no_score(cell: str) -> None:
    broken = read_number(cell, False)
    assert isinstance(broken[0], str)
    assert broken[0].startswith("must")


def test_decimal_commas_only_where_they_are_sure() -> None:
    assert has_decimal_commas(["2,5", "3", "1,25: fair"])
    assert not has_decimal_commas(["2,5", "3.5"])
    assert not has_decimal_commas(["1,000"])
    assert read_number("2,5", True) == (2.5, "")
    header = "paper;reviewer;score\n"
    imported = import_reviews((header + "1;a;2,5\n2;a;4\n").encode(), "x")
    assert imported.reviews.score.tolist() == [2.5, 4]
    for bad in ("1;a;2,5\n2;a;4.5\n", "1;a;1,000\n2;a;4\n"):
        refused((header + bad).encode(), "row 2, column score: must be a number with a point for decimals")


def test_letters_have_the_order_that_was_given() -> None:
    assert read_ordered("B: fair", ("A", "B", "C")) == (2, "B")
    assert read_ordered("z", ("X", "Y", "Z")) == (1, "Z")
    assert read_ordered("D", ("A", "B"))[0] == "must be one of A, B"
    assert score_shaped(["A", "B", "", "A. Best"])
    export = BY_NAME["hotcrp/letters.csv"]
    refused(
        export.data,
        "column OveMer: must be a number: letters and words need their order. Give it with --best-first",
    )
    turned = import_reviews(export.data, "x", Choices(best_first=("D", "C", "B", "A")))
    assert [row["score"] for row in rows(turned)] == ["1", "3", "4", "2"]
    refused(export.data, "row 4, column OveMer: must be one of A, B, C", best_first=("A", "B", "C"))


# What is refused, and with what advice


def test_averages_cannot_be_calibrated() -> None:
    console = (
        b"number,forum,title,num reviewers,num submitted reviewers,min rating,max rating,average rating\n"
    )
    refused(console + b"1,aB,On Widgets,3,3,4,8,6.33\n", "this table has only averages for each paper")
    refused(b"Paper ID,Average Score\n1,2.5\n", "this table has only averages for each paper")


def test_ids_that_never_repeat_are_not_people() -> None:
    export = BY_NAME["openreview/api2-replies.json"]
    advice = "no id occurs twice, so nobody's severity can be learned. Ids that are new for every paper"
    refused(export.data, advice)
    assert "--map with the columns signature,profile_id" in str(refused(export.data, advice))
    refused(b"paper,reviewer,score\n1,a,1\n1,b,2\n2,c,3\n", advice)
    few = dict(list((export.choices.people or {}).items())[:2])
    error = refused(export.data, "must be in the map of signatures", people=few)
    assert [problem.row for problem in error.problems] == [3, 4]


@pytest.mark.parametrize("form", ["{}", "R{}", "Reviewer {}", "AnonReviewer{}", "reviewer_{}", "Review #{}"])
def test_numbers_of_reviews_are_not_people(form: str) -> None:
    sizes = [3, 3, 2, 3, 4, 3]
    pairs = [(paper, number) for paper, size in enumerate(sizes) for number in range(1, size + 1)]
    table = "paper,reviewer,score\n" + "".join(f"P{p},{form.format(n)},{n}\n" for p, n in pairs)
    advice = "these ids only number the reviews of each paper"
    refused(table.encode(), advice)
    people = {form.format(number): f"person {number}" for number in range(1, 5)}
    assert len(import_reviews(table.encode(), "x", Choices(people=people)).reviews) == len(pairs)
    always = "paper,reviewer,score\n" + "".join(
        f"P{p},{form.format(n)},{n}\n" for p in range(30) for n in (1, 2, 3)
    )
    refused(always.encode(), advice)


def test_a_small_panel_that_reads_everything_is_let_through() -> None:
    table = "paper,reviewer,score\n" + "".join(f"P{p},R{n},{n}\n" for p in range(8) for n in (1, 2, 3))
    assert len(import_reviews(table.encode(), "x").reviews.reviewers) == 3


def test_hotcrp_letters_of_reviews_are_not_people() -> None:
    data = b"paper,title,review,OveMer\n1,W,1A,3\n1,W,1B,4\n2,X,2A,3\n"
    refused(data, "letters such as 1A only number the reviews. Download as a chair")
    reviews = [{"object": "review", "pid": 1, "rid": 7, "ordinal": "A", "OveMer": 4}]
    refused(
        json.dumps({"ok": True, "reviews": reviews}).encode(), "letters such as 1A only number the reviews"
    )


def test_cmt_numbers_of_reviews_are_not_people() -> None:
    data = b"Paper ID\tReviewer Number\tQ1 (Overall - Value)\n1\t1\t3\n1\t2\t4\n2\t1\t3\n"
    refused(data, "must have the column Reviewer Email: Reviewer Number only counts the reviews of a paper")


def test_several_scores_are_asked_about() -> None:
    export = BY_NAME["hotcrp/reviews-2019.csv"]
    told = str(refused(export.data, "say which with --score-field"))
    assert "Pre-Response Overall Merit, Post-Rebuttal Overall Merit" in told
    refused(export.data, "must have the field 'Merit' that --score-field names, found", score_field="Merit")
    before = import_reviews(export.data, "x", Choices(score_field="pre-response overall merit"))
    assert [row["score"] for row in rows(before)] == ["3", "5", "2", "3"]
    table = b"paper,reviewer,score,points\n1,a,1,2\n2,a,3,4\n"
    refused(table, "row 1, column score: must have one column for it: say which with --columns score=")
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
        (b"", "must be an export that is recognized"),
        (b"{}", "must be an export that is recognized"),
        (b"[]", "must be an export that is recognized"),
        (b"[1, [2], \"x\"]", "must be an export that is recognized"),
        (b"%PDF-1.7", "must be an export with one row a review, found a PDF file"),
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


def test_a_page_of_many_is_not_taken_for_all() -> None:
    for name, key in (("openreview/api2-replies.json", "notes"), ("pretalx/legacy-2020.json", "results")):
        export = BY_NAME[name]
        whole = json.loads(export.data)
        part = {**whole, key: whole[key][:-1]}
        with pytest.raises(InputError, match=r"must hold all [34] entries: fetch every page"):
            export.read(json.dumps(part).encode())


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


def test_problems_in_a_workbook_name_the_sheet() -> None:
    export = BY_NAME["cmt/two-tracks.xls"]
    bad = export.data.replace(b'<Data ss:Type="Number">3.5</Data>', b'<Data ss:Type="String">fine</Data>')
    with pytest.raises(
        InputError, match=r"two-tracks.xls, sheet Industry, row 6, column Q2 \(Overall score - Val"
    ):
        export.read(bad)
    twice = export.data.replace(b"zoe@example.net", b"bo@example.org").replace(b">103<", b">101<")
    with pytest.raises(
        InputError, match=r"sheet Industry, row 6, column reviewer: must not repeat an earlier"
    ):
        export.read(twice)


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


def test_words_and_reversed_numbers_have_the_order_that_was_given() -> None:
    words = b"paper,reviewer,score\n1,a,Accept\n1,b,Weak Accept\n2,a,reject\n"
    refused(words, "letters and words need their order. Give it with --best-first")
    found = import_reviews(words, "x", Choices(best_first=("Accept", "Weak accept", "Reject")))
    assert [row["score"] for row in rows(found)] == ["3", "2", "1"]
    numbers = b"paper,reviewer,score\n1,a,1: best\n1,b,3\n2,a,5\n"
    turned = import_reviews(numbers, "x", Choices(best_first=("1", "2", "3", "4", "5")))
    assert [row["score"] for row in rows(turned)] == ["5", "3", "1"]
    assert str(turned.scale) == "5 = 1, 3 = 3, 1 = 5"
    refused(numbers, "row 4, column score: must be one of 1, 2, 3", best_first=("1", "2", "3"))
    verdicts = b"paper,title,email,Verdict,OveMer\n1,W,a,Yes,2\n1,W,b,No,3\n2,X,a,Maybe,1\n"
    choices = Choices(score_field="verdict", best_first=("Yes", "Maybe", "No"))
    assert [row["score"] for row in rows(import_reviews(verdicts, "x", choices))] == ["3", "1", "2"]


@pytest.mark.parametrize(
    "invitation", ["/-/Paper{}/Official_Review", "/-/paper{}/official/review", "/Paper{}/-/Official_Review"]
)
def test_invitations_of_all_years(invitation: str) -> None:
    notes = [
        {
            "id": f"n{i}", "forum": f"f{paper}", "replyto": f"f{paper}", "signatures": ["~Ada_Byron1"],
            "invitation": "ICX.cc/2017/x" + invitation.format(paper), "content": {"rating": f"{i}: x"},
        }
        for i, paper in enumerate((12, 15))
    ]  # fmt: skip
    imported = import_reviews(json.dumps({"notes": notes}).encode(), "x")
    assert rows(imported) == [
        {"paper": "12", "reviewer": "~Ada_Byron1", "score": "0"},
        {"paper": "15", "reviewer": "~Ada_Byron1", "score": "1"},
    ]


def test_old_workbooks_may_be_in_another_encoding() -> None:
    export = BY_NAME["cmt/two-tracks.xls"]
    text = export.data.decode()
    for encoding in ("utf-16", "iso-8859-1", "windows-1252"):
        declared = text.replace('version="1.0"', f'version="1.0" encoding="{encoding}"', 1)
        assert rows(export.read(declared.encode(encoding))) == rows(export.read())
    unknown = text.replace('version="1.0"', 'version="1.0" encoding="klingon"', 1).encode()
    with pytest.raises(InputError, match="must be"):
        export.read(unknown)


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


def test_versions_of_one_note_must_agree() -> None:
    export = BY_NAME["openreview/recommendation-2022.jsonl"]
    first = export.data.split(b"\n")[0]
    assert rows(export.read(first + b"\n" + export.data)) == rows(export.read())
    with pytest.raises(InputError, match="must not hold two versions of one note"):
        export.read(first.replace(b"8: accept", b"3: reject") + b"\n" + export.data)


def test_the_unit_of_calibration_is_chosen() -> None:
    export = BY_NAME["easychair/review-2024.csv"]
    by_writer, by_member = export.read(), import_reviews(export.data, "x", Choices(unit="member"))
    assert {row["reviewer"] for row in rows(by_writer)} == {
        "Ada Byron (member 3)",
        "Bo Chen",
        "cy@example.org",
    }
    assert [row["reviewer"] for row in rows(by_member) if row["paper"] == "14"] == ["Ada Byron (member 9)"]
    assert "2 reviews by sub-reviewers count for them (--unit member: for the member)" in by_writer.recognized


def test_problems_in_the_tables_beside_the_reviews_are_told() -> None:
    review = BY_NAME["easychair/review-2024.csv"].data
    short = packed({"review.csv": review, "submission.csv": b"#,title,authors\n12,Logic,A\n13,Less\n"})
    refused(short, "x.csv: submission.csv, row 3: must have 3 cells like the header, found 2")
    twice = packed({"review.csv": review, "submission.csv": b"#,title,title,authors\n12,Logic,L,A\n"})
    refused(twice, "x.csv: submission.csv, row 1, column title: must appear once")


# Files that mean harm


BOMB = b"""<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;">]>
<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"><Worksheet>&b;</Worksheet></Workbook>"""
OUTSIDE = b"""<?xml version="1.0"?><!DOCTYPE x SYSTEM "file:///etc/passwd"><Workbook/>"""


@pytest.mark.parametrize("data", [BOMB, OUTSIDE])
def test_no_entities_and_nothing_from_outside(data: bytes) -> None:
    refused(data, "must not declare a document type or entities")


def cell(attributes: str = "", kind: str = "String", value: str = "x") -> str:
    return f'<Cell {attributes}><Data ss:Type="{kind}">{value}</Data></Cell>'


def sheet(body: str) -> bytes:
    space = "urn:schemas-microsoft-com:office:spreadsheet"
    table = f'<Worksheet ss:Name="s"><Table>{body}</Table></Worksheet>'
    return f'<Workbook xmlns="{space}" xmlns:ss="{space}">{table}</Workbook>'.encode()


def test_cells_and_rows_stand_where_the_sheet_says() -> None:
    third, wide = cell('ss:Index="3"'), cell('ss:MergeAcross="1"')
    body = f"<Row>{cell()}{cell(kind='Number', value='2.50')}</Row>"
    body += f'<Row ss:Index="4" ss:Span="2">{third}</Row><Row>{wide}{cell()}</Row>'
    (found,) = spreadsheet_xml(sheet(body), "x")
    assert list(found.rows) == [(1, ["x", "2.5"]), (4, ["", "", "x"]), (7, ["x", "", "x"])]
    comment = '<Comment><Data ss:Type="String">no</Data></Comment>'
    (found,) = spreadsheet_xml(sheet(f"<Row><Cell>{comment}<Data><B>y</B>es</Data></Cell></Row>"), "x")
    assert list(found.rows) == [(1, ["yes"])]


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ('<Row ss:Index="3"/><Row ss:Index="2"/>', "must number its rows upward"),
        ('<Row ss:Index="9999999"/>', "must number its rows upward"),
        ('<Row ss:Index="x"/>', "must have a whole number as Index"),
        ('<Row><Cell ss:Index="5"/><Cell ss:Index="2"/></Row>', "must number its cells upward"),
        ('<Row><Cell ss:Index="5000000"/></Row>', "must number its cells upward"),
        ("<Row>" * 200, "must not nest more than 100 elements"),
        ("<Row><Cell>", "must be well-formed XML"),
        (f"<Row>{cell('', value='y' * 100_001)}</Row>", "must have at most 100,000 characters a cell"),
    ],
)
def test_sheets_beyond_their_limits_are_refused(body: str, rule: str) -> None:
    refused(sheet(body), rule)


def packed(parts: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", compression) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return data.getvalue()


def test_nothing_unpacks_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MAX_EXPORT", 100_000)
    refused(packed({"a.csv": b"x" * 60_000, "b.csv": b"x" * 60_000}), "must unpack to at most 100,000 bytes")
    with pytest.raises(InputError, match="must unpack to at most 50,000 bytes, found more"):
        opening.unpacked(gzip.compress(b"x" * 60_000), "x", 50_000)
    with pytest.raises(InputError, match="must unpack to at most 50,000 bytes, found more"):
        opening.unpacked(gzip.compress(b"x" * 30_000) * 2, "x", 50_000)
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


# Identities


def test_a_map_joins_what_is_one_person() -> None:
    table = b"paper,reviewer,score\n1,ada@x.org,1\n2,Ada@x.org,2\n2,bo,3\n3,bo,1\n"
    apart = import_reviews(table, "x")
    assert any("differs from another only in capitals" in line for line in apart.warnings)
    people = read_map(b"reviewer,person\nada@x.org,Ada\nAda@x.org,Ada\n", "m.csv")
    joined = import_reviews(table, "x", Choices(people=people))
    assert joined.reviews.reviewers == ("Ada", "bo")
    assert "1 reviewer id not in the map kept as in the export" in joined.warnings
    with pytest.raises(InputError, match=r"m.csv, row 3, column signature: must not stand for two people"):
        read_map(b"signature,profile_id\na,Ada\na,Bo\n", "m.csv")
    refused(
        table,
        "must not repeat an earlier row's paper and reviewer",
        people={"ada@x.org": "bo", "Ada@x.org": "bo"},
    )


@every_export
def test_codes_stand_for_everyone_and_lead_back(export: Export) -> None:
    imported = export.read()
    hidden, codes = coded(imported, {})
    assert sorted(codes.values()) == [f"R{number:03d}" for number in range(1, len(codes) + 1)]
    person = {code: name for name, code in codes.items()}
    back = [{**row, "reviewer": person[row["reviewer"]]} for row in rows(hidden)]
    assert in_order(back) == in_order(rows(imported))
    assert {(paper, person[code]) for paper, code in hidden.conflicts} == set(imported.conflicts)
    table = format_table(hidden.columns()).decode() + str(hidden.committee) + str(hidden.conflicts)
    assert not any(name in table for name in codes if len(name) > 3)
    assert not any(hidden.committee.values())


def test_known_codes_are_kept() -> None:
    known = read_codes(b"code,reviewer,name\nR007,ada,Ada\nR002,bo,\n", "codes.csv")
    codes = new_codes(["ada", "cy", "di"], known)
    assert codes["ada"] == "R007"
    assert {codes["cy"], codes["di"]} == {"R008", "R009"}
    for bad in (b"code,reviewer\nR001,a\nR001,b\n", b"code,reviewer\nX,a\n"):
        with pytest.raises(InputError, match="each code must be like R001 and belong to one reviewer"):
            read_codes(bad, "codes.csv")


def test_codes_tell_nothing_about_the_order() -> None:
    """The code of the first of 4 people is uniform: 400 draws, each count within 5.2 sd; false alarm 1e-6."""
    draws = [new_codes("abcd", {})["a"] for _ in range(400)]
    for code in ("R001", "R002", "R003", "R004"):
        assert abs(draws.count(code) - 100) < 5.2 * (400 * 0.25 * 0.75) ** 0.5


# Workbooks against another reader


@pytest.mark.parametrize("name", [export.name for export in EXPORTS if export.name.endswith(".xlsx")])
def test_workbooks_are_read_as_openpyxl_reads_them(name: str) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    data = BY_NAME[name].data
    book = openpyxl.load_workbook(io.BytesIO(data))
    for ours in opening.open_export(data, "x").sheets:
        found = {
            (row, place): text for row, cells in ours.rows for place, text in enumerate(cells, 1) if text
        }
        theirs = {
            (cell.row, cell.column): str(cell.value)
            for line in book[ours.name].iter_rows()
            for cell in line
            if cell.value is not None
        }
        assert found == theirs


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def workbook(body: str, link: str = "r1", kind: str = "worksheet") -> bytes:
    """A small `.xlsx` file with one text that its cells share."""
    sheets = f'<sheets><sheet name="s" r:id="{link}"/></sheets>'
    target = f'<Relationship Id="r1" Type="{LINKS}/{kind}" Target="/xl/s.xml"/>'
    return packed(
        {
            "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{LINKS}">{sheets}</workbook>'.encode(),
            "xl/_rels/workbook.xml.rels": f"<Relationships>{target}</Relationships>".encode(),
            "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}"><si><t>a_x000D_b</t></si></sst>'.encode(),
            "xl/s.xml": f'<worksheet xmlns="{MAIN}"><sheetData>{body}</sheetData></worksheet>'.encode(),
        }
    )


def test_cells_of_a_workbook_are_what_they_stand_for() -> None:
    body = '<row r="2"><c r="A2" t="s"><v>0</v></c><c r="C2"><v>2.50E0</v></c><c t="b"><v>1</v></c></row>'
    body += (
        '<row><c><v>x</v></c><c t="str"><f>1+1</f><v>two</v></c><c t="inlineStr"><is><t>y</t></is></c></row>'
    )
    (found,) = opening.open_export(workbook(body), "x").sheets
    assert list(found.rows) == [(2, ["a\rb", "", "2.5", "1"]), (3, ["x", "two", "y"])]
    assert not opening.open_export(workbook(body, kind="chartsheet"), "x").sheets


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ('<row r="x"/>', "must number its rows"),
        ('<row r="2"/><row r="1"/>', "must number its rows upward"),
        ('<row r="1"><c r="B2"/></row>', "must name its cells like B3"),
        ('<row r="1"><c r="7"/></row>', "must name its cells like B3"),
        ('<row r="1"><c r="ZZ1"/><c r="AMK1"/></row>', "must number its cells upward, at most 1,000"),
        ('<row r="1"><c r="A1" t="s"><v>1</v></c></row>', "must point to a text of the workbook"),
        ('<row r="1"><c r="A1" t="s"><v>-1</v></c></row>', "must point to a text of the workbook"),
        ('<row r="1"><c r="A1" t="e"><v>#REF!</v></c></row>', "must not hold the error of a formula"),
    ],
)
def test_workbooks_that_are_not_right_are_refused(body: str, rule: str) -> None:
    refused(workbook(body), rule)
    refused(workbook(body, link="r2"), "must be a part of the workbook")


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
    refused(other.encode(), "must have one score in all tracks: say which with --score-field")


def test_papers_of_hotcrp_may_come_as_a_list_or_in_a_zip() -> None:
    export = BY_NAME["hotcrp/rqc-letters.json"]
    papers = json.dumps(json.loads(export.data)["papers"]).encode()
    refused(papers, "letters and words need their order")
    listed = import_reviews(papers, "x", Choices(best_first=("A", "B", "C", "D")))
    assert rows(listed) == rows(export.read())
    assert rows(import_reviews(packed({"rqc.json": export.data}), "x")) == rows(export.read())
    form = json.loads(export.data)
    form["reviewform"]["OveMer"]["symbols"] = ["A", "B", "C", "D"]
    assert [row["score"] for row in rows(export.read(json.dumps(form).encode()))] == ["2", "4", "1"]
    form["reviewform"]["OveMer"] = {"values": []}
    with pytest.raises(InputError, match="letters and words need their order"):
        export.read(json.dumps(form).encode())
