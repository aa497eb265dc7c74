"""Files that a chair has: what each is taken for, what is read of it, and scores that can hardly be meant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from blindcal.errors import InputError
from blindcal.importers import import_reviews
from blindcal.importers.normalize import Imported
from blindcal.importers.raw_export import Choices
from blindcal.io.tables import format_table
from blindcal.project.contents import (
    FolderContents,
    Source,
    check_scores,
    file_kind,
    read_contents,
)
from exports import EXPORTS, Export
from small_reviews import SCORES, panel


@pytest.mark.parametrize("export", EXPORTS, ids=[export.name for export in EXPORTS])
def test_no_export_of_reviews_is_taken_for_a_list(export: Export) -> None:
    if "columns" not in export.options:
        assert file_kind(export.path, Choices(), has_reviews=False) == "reviews"


def test_past_years_whose_files_have_one_name_go_by_their_folders(tmp_path: Path) -> None:
    past = [tmp_path / "2025" / "notes.csv", tmp_path / "2026" / "notes.csv", tmp_path / "2024.csv"]
    for path in past:
        path.parent.mkdir(exist_ok=True)
        path.write_text("paper,reviewer,score\n1,ada,2\n2,ada,3\n")
    contents, _ = read_contents([Source(path, "past") for path in past], Choices())
    assert [*contents.past] == ["2025-notes", "2026-notes", "2024"]
    for twice in ([Source(past[0], "past")] * 2, [Source(path, "past", "2025") for path in past]):
        with pytest.raises(InputError, match="must have different names, or lie in folders of different"):
            read_contents(twice, Choices())
    with pytest.raises(InputError, match=r"a past conference's name must be like 2026 .* found '_old'"):
        read_contents([Source(past[0], "past", "_old")], Choices())


def test_a_past_table_of_ours_needs_no_choices(tmp_path: Path) -> None:
    """What `blindcal import` wrote last year is read, whatever this year's export is called."""
    choices = Choices(score_field="OveMer", best_first=("A", "B"))
    tables = {
        "ours": "Paper,reviewer,score\n1,a,3\n2,a,2\n",
        "export": "paper,title,email,OveMer,RevExp\n1,T,a@x.org,3,1\n2,T,a@x.org,2,2\n",
    }
    for name, text in tables.items():
        (tmp_path / f"{name}.csv").write_text(text)

    def read(name: str, choices: Choices) -> Imported:
        past = read_contents([Source(tmp_path / f"{name}.csv", "past")], choices)[0].past[name]
        assert isinstance(past, Imported)
        return past

    assert read("ours", choices).reviews.score.tolist() == [3.0, 2.0]
    assert read("export", Choices(score_field="RevExp")).score_field == "RevExp"


def with_panels(place: Path, wrong: dict[int, float]) -> tuple[FolderContents, FolderContents]:
    """Scores of which some are wrong, as this year's, and as a past year beside good ones."""
    bad = panel(place / "bad.csv", [wrong.get(at, score) for at, score in enumerate(SCORES)])
    good = panel(place / "good.csv", SCORES[::-1])
    return tuple(
        read_contents(sources, Choices())[0]
        for sources in ([Source(bad, "reviews")], [Source(good, "reviews"), Source(bad, "past")])
    )


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({11: 55.0}, "row 13, column score: must be on the scale of the other scores, 1 to 10"),
        ({0: -9.0}, "row 2, column score: must be on the scale of the other scores, 1 to 10"),
        ({3: 11.0}, None),
        ({3: 14.0, 5: 55.0}, "row 7, column score: must be on the scale of the other scores, 1 to 14"),
        ({3: 55.0, 5: 55.0}, None),
    ],
)
def test_a_typing_error_is_named_with_its_row(
    tmp_path: Path, wrong: dict[int, float], told: str | None
) -> None:
    this_year, past = with_panels(tmp_path, wrong)
    for contents in (this_year, past):
        if told is None:
            check_scores(contents, None)
        else:
            with pytest.raises(InputError, match=f"bad.csv, {told}"):
                check_scores(contents, None)
    check_scores(this_year, "none")


@pytest.mark.parametrize(
    ("wrong", "row", "usual"),
    [
        ({3: 11.0}, 5, "1 to 10"),
        ({0: 0.0}, 2, "1 to 10"),
        ({3: 11.0, 5: 11.0}, 7, "1 to 10"),
        ({3: 11.0, 5: 11.0, 8: 11.0}, None, ""),
        ({}, None, ""),
    ],
)
def test_a_score_just_beyond_the_scale_is_pointed_out(
    tmp_path: Path, wrong: dict[int, float], row: int | None, usual: str
) -> None:
    this_year, past = with_panels(tmp_path, wrong)
    bad = tmp_path / "bad.csv"
    wanted = (
        f"{bad}, row {row}, column score: is it a typing error? All other scores are {usual}; `grid` says"
    )
    for contents, grid in ((this_year, None), (past, None), (past, "1..10")):
        remarks = check_scores(contents, grid)
        assert any(remark.startswith(wanted) for remark in remarks) == (row is not None), remarks
        assert sum("typing error" in remark for remark in remarks) == (len(wrong) if row else 0)
    # Whoever says which scores can be given has looked; and a past year that has such scores answers it.
    assert check_scores(this_year, "0..11") == ()
    eleven = import_reviews(panel(tmp_path / "e.csv", [*SCORES[4:], *[11.0, 0.0] * 2]).read_bytes(), "e")
    remarks = check_scores(replace(this_year, past={"e": eleven}), None)
    assert not any(str(bad) in remark for remark in remarks)


def test_scores_of_any_kind_are_no_typing_errors() -> None:
    rng = np.random.default_rng(7)
    for scores in (np.exp(2 * rng.normal(size=200)), rng.choice([1.0, 3, 5, 6, 8, 10], 300), [1.0, 2, 50]):
        columns = {"paper": range(len(scores)), "reviewer": ["ada"] * len(scores), "score": scores}
        data = format_table({name: list(map(str, cells)) for name, cells in columns.items()})
        contents = FolderContents(import_reviews(data, "x.csv"))
        assert check_scores(contents, None) == ()
