"""Fits in a folder, called as the command and the app call them; `tests/cli/test_fit.py` runs them whole."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("jinja2")

from blindcal.errors import InputError
from blindcal.project.fit import fit_folder, people_listing
from blindcal.project.settings import read_folder
from small_conferences import project, small_conference

pytestmark = pytest.mark.edge


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ((), "has no past reviews: `blindcal import"),
        (('past = ["reviews.csv", "reviews.csv"]',), "past must not name a table twice"),
        (('past = ["reviews.csv"]', 'past-better = ["=low"]'), "past-better must be like 2021=low"),
    ],
)
def test_past_reviews_that_cannot_be_are_refused(
    settings: tuple[str, ...], rule: str, tmp_path: Path
) -> None:
    files = small_conference().write(tmp_path)
    folder = Path(project(files, None, None, f'reviewers = "{tmp_path}/new.csv"', *settings))
    (folder / "reviews.csv").write_text("paper,reviewer,score\np1,a,3\np1,b,4\np2,a,1\np2,b,2\n")
    with pytest.raises(InputError, match=rule):
        fit_folder(read_folder(folder))
    assert not (tmp_path / "new.csv").exists()


def test_whom_past_ids_were_taken_for_is_listed_beside_the_calibration() -> None:
    assert people_listing(Path("inputs/reviewers.csv")) == Path("inputs/reviewers.csv.people.csv")
