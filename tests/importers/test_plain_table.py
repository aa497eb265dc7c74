"""Any table with a row for each review: which column is what, by name or by choice."""

from __future__ import annotations

import pytest

from blindcal.errors import InputError
from blindcal.importers import import_reviews, plain_table
from blindcal.importers.raw_export import Choices, RawExport
from blindcal.importers.sheet import OpenedExport, Worksheet


def opened(*lines: str) -> OpenedExport:
    rows = [(number, line.split(",")) for number, line in enumerate(lines, start=1)]
    return OpenedExport("x.csv", (Worksheet("x.csv", "x", rows),))


def read(*lines: str, **options: object) -> RawExport:
    return plain_table.read(opened(*lines), Choices(**options))


@pytest.mark.parametrize(
    "header", ["Paper,Reviewer,Score", "submission_id,rater,rating", "Proposal,JUDGE,overall  score"]
)
def test_columns_are_known_by_many_names(header: str) -> None:
    assert plain_table.recognize(opened(header, "1,a,2"), Choices())
    (row,) = read(header, "1,a,2").rows
    assert (row.row, row.paper, row.reviewer, row.score) == (2, "1", "a", "2")


@pytest.mark.parametrize("missing", ["paper", "reviewer", "score"])
def test_a_table_needs_paper_reviewer_and_score(missing: str) -> None:
    header = ",".join(name for name in ("paper", "reviewer", "score", "note") if name != missing)
    assert plain_table.recognize(opened(header, "1,2,3"), Choices()) is None
    with pytest.raises(InputError, match="the columns paper, reviewer, score: name them with `columns`"):
        read(header, "1,2,3")
    chosen = Choices(columns={missing: "note"})
    assert plain_table.recognize(opened(header, "1,2,3"), chosen)
    (row,) = plain_table.read(opened(header, "1,2,3"), chosen).rows
    assert getattr(row, missing) == "3"


def test_every_field_is_taken_from_its_own_column_and_the_rest_is_dropped() -> None:
    found = read("paper,reviewer,score,confidence,track,round,title,name,country", "1,a,2,3,T,R,On,Ada,NZ")
    assert found.rows[0][1:9] == ("1", "a", "2", "3", "T", "R", "On", "Ada")
    assert [item.what for item in found.dropped] == ["country"]
    assert (found.score_field, found.confidence_field) == ("score", "confidence")
    assert "title from column title" in found.said


def test_two_columns_for_one_field_are_asked_about_unless_one_is_chosen() -> None:
    lines = ("paper,reviewer,score,rating,judge", "1,a,2,3,b")
    with pytest.raises(InputError) as caught:
        read(*lines)
    told = {(problem.row, problem.column, problem.found) for problem in caught.value.problems}
    assert told == {(1, "reviewer", "reviewer, judge"), (1, "score", "score, rating")}
    found = read(*lines, columns={"reviewer": "Judge", "score": "rating"})
    assert (found.rows[0].reviewer, found.rows[0].score) == ("b", "3")
    assert read(*lines, columns={"reviewer": "judge"}, score_field="score").rows[0].score == "2"


def test_a_column_is_one_field_only() -> None:
    """The column that was chosen as the score is no track, though it is called so."""
    found = read("paper,reviewer,panel,score", "1,a,7,2", columns={"score": "panel"})
    assert (found.rows[0].score, found.rows[0].track) == ("7", "")
    with pytest.raises(InputError, match="column track: must be in the header as stream"):
        read("paper,reviewer,score", "1,a,2", columns={"track": "stream"})


def test_rows_that_do_not_fit_and_names_there_twice_are_told() -> None:
    found = read("paper,reviewer,score,Score,note,note", "1,a,2,3,x,y", "1,b,2,3,x,y,z")
    assert [(problem.row, problem.column) for problem in found.problems] == [(3, None), (1, "score")]
    assert [row.row for row in found.rows] == [2]


def test_ids_that_blindcal_escaped_are_themselves_again() -> None:
    reviews = import_reviews(b"paper,reviewer,score,title\n'=1,'@a,1,'=x\n2,'@a,2,\n", "x.csv")
    assert (reviews.reviews.papers, reviews.reviews.reviewers) == (("2", "=1"), ("@a",))
    assert reviews.titles == {"=1": "=x"}


def test_a_json_list_of_flat_objects_is_a_table() -> None:
    value = [{"paper": 1, "reviewer": "a", "score": 2.5}, {"reviewer": "b", "paper": 2, "note": "x"}]
    found = plain_table.read(OpenedExport("x.json", value=value), Choices())
    assert [row[:4] for row in found.rows] == [(1, "1", "a", "2.5"), (2, "2", "b", "")]
    assert [item.what for item in found.dropped] == ["note"]
    for other in ([*value, 7], {"paper": 1}, "text"):
        assert plain_table.recognize(OpenedExport("x.json", value=other), Choices()) is None


def test_columns_are_named_once_and_by_known_fields() -> None:
    assert plain_table.columns_of(" paper = item id ,score=points") == {"paper": "item id", "score": "points"}
    for text in ("paper", "paper=", "=x", "grade=x", "paper=a,paper=b", ""):
        with pytest.raises(InputError, match="`columns` must be like paper=item_id,score=points with paper"):
            plain_table.columns_of(text)
