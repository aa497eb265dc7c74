"""CMT: numbers of reviews are not people, all tracks have one score, questions with and without values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

import pytest

from blindcal.importers import import_reviews
from blindcal.importers.raw_export import Choices
from exports import BY_NAME, refused, rows


def test_tracks_with_different_scores_are_refused() -> None:
    tracks = BY_NAME["cmt/two-tracks.xls"].data.decode()
    start = tracks.index("Industry")
    other = tracks[:start] + tracks[start:].replace("Overall score", "Merit")
    refused(other.encode(), "must have one score in all tracks: say which with `score_field`")


# Sheets of a workbook as CMT writes it: a title, an empty row, the header, the rows.
Rows = Sequence[Sequence[str]]
WHO = ("Paper ID", "Paper Title", "Reviewer Name", "Reviewer Email")
PEOPLE = (("1", "ada"), ("1", "bo"), ("2", "ada"), ("2", "cy"))


def workbook(**sheets: Rows) -> bytes:
    def row(cells: Sequence[str], index: str = "") -> str:
        data = "".join(f'<Cell><Data ss:Type="String">{escape(cell)}</Data></Cell>' for cell in cells)
        return f"<Row{index}>{data}</Row>"

    third = ' ss:Index="3"'
    tables = "".join(
        f'<Worksheet ss:Name="{name}"><Table>{row([f"CONF {name}"])}{row(lines[0], third)}'
        f"{''.join(map(row, lines[1:]))}</Table></Worksheet>"
        for name, lines in sheets.items()
    )
    space = "urn:schemas-microsoft-com:office:spreadsheet"
    return f'<?xml version="1.0"?><Workbook xmlns="{space}" xmlns:ss="{space}">{tables}</Workbook>'.encode()


def sheet(questions: Mapping[str, Sequence[str]]) -> Rows:
    """Four reviews with these answers to the questions."""
    answers = zip(*questions.values(), strict=True)
    people = [(paper, f"Paper {paper}", who.title(), f"{who}@example.org") for paper, who in PEOPLE]
    return [(*WHO, *questions), *((*who, *cells) for who, cells in zip(people, answers, strict=True))]


WORDS = {"Q1 (Overall Rating)": ("Accept", "Reject", "Accept", "Borderline"), "Q2 (Comments)": "wxyz"}
ORDER = ("Accept", "Borderline", "Reject")


def scores(data: bytes, **options: object) -> list[str]:
    return [row["score"] for row in rows(import_reviews(data, "x.xls", Choices(**options)))]


@pytest.mark.parametrize("name", ["Q1", "q1", "Overall Rating", "Q1 (Overall Rating)"])
def test_a_question_without_values_goes_by_its_number_or_text(name: str) -> None:
    data = workbook(Main=sheet(WORDS))
    assert scores(data, best_first=ORDER) == scores(data, score_field=name, best_first=ORDER)
    assert scores(data, best_first=ORDER) == ["3", "1", "3", "2"]
    free = {"Q1 (What to do?)": ("Take it", "Do not", "Take", "Hm"), "Q2 (Novelty - Value)": "1234"}
    data = workbook(Main=sheet(free))
    assert scores(data, score_field="Q1", best_first=("Take it", "Take", "Hm", "Do not"))[0] == "4"


def test_a_question_with_values_does_not_hide_the_score_that_has_none() -> None:
    """Novelty has values and the overall rating has none: novelty is not the score."""
    data = workbook(Main=sheet({**WORDS, "Q3 (Novelty)": "abba", "Q3 (Novelty - Value)": "1221"}))
    refused(data, "column Q1 (Overall Rating): must be a number: letters and words need their order")
    assert scores(data, best_first=ORDER) == ["3", "1", "3", "2"]
    assert scores(data, score_field="Novelty") == ["1", "2", "2", "1"]
    numbers = {"Q1 (Overall Rating)": "1323", "Q3 (Confidence - Value)": "4444"}
    assert scores(workbook(Main=sheet(numbers))) == ["1", "3", "2", "3"]


def test_a_sheet_without_the_question_is_left_out_and_counted() -> None:
    main = sheet({"Q2 (Overall score - Value)": "1234", "Q3 (Summary)": "wxyz"})
    revision = sheet({"Q1 (Was it revised as asked?)": ("Yes", "No", "Yes", "So"), "Q2 (Text)": "stuv"})
    data = workbook(Main=main, Revision=revision)
    for options in ({}, {"score_field": "Q2"}, {"score_field": "Overall score"}):
        imported = import_reviews(data, "x.xls", Choices(**options))
        assert [row["score"] for row in rows(imported)] == ["1", "2", "3", "4"]
        (left,) = [line for line in map(str, imported.dropped) if "the sheet" in line]
        assert left == "the sheet Revision with 4 rows: it does not ask for the score"
        assert not imported.tracks, "one sheet is no track"
    refused(data, "must have the field 'Merit' that `score_field` names", score_field="Merit")


def test_evaluation_in_the_text_of_a_question_does_not_make_it_the_score() -> None:
    """As in the form of ICML 2021: the sixth question is about experiments, the tenth is the score."""
    form = {
        "Q2 ([Comments] Soundness (theory, empirical evaluation), novelty, clarity.)": "wxyz",
        "Q6 ([Experimental evaluation] (Do the experiments suffice, and test limits?) )": "abba",
        "Q6 ([Experimental evaluation] (Do the experiments suffice, and test limits?) - Value)": "6776",
        'Q10 (Please give an "overall score" to this submission. )': "effe",
        'Q10 (Please give an "overall score" to this submission. - Value)': "1221",
        "Q11 ([Confidence] How sure are you of your assessment? )": "ijji",
        "Q11 ([Confidence] How sure are you of your assessment? - Value)": "4334",
    }
    imported = import_reviews(workbook(ICML2021=sheet(form)), "Reviews.xls")
    assert imported.score_field.startswith("Q10 ")
    assert imported.confidence_field is not None
    assert imported.confidence_field.startswith("Q11 ")
