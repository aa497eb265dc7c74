"""Files and pages of a folder's release, called as the commands and the app call them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("jinja2")

from blindcal.errors import InputError, RefusedError
from blindcal.project.publish import export_release, folder_list, report_release, sealed_release
from blindcal.project.settings import Folder, read_folder
from small_conferences import decided, project, small_conference

pytestmark = pytest.mark.edge


@pytest.fixture
def release(tmp_path: Path) -> Path:
    decided(small_conference().write(tmp_path / "in"), tmp_path / "key.bin", tmp_path / "out")
    return tmp_path / "out"


def folder_of(release: Path, *lines: str) -> Folder:
    """The folder whose release it is, with further lines in conference.toml."""
    place = release.parent
    return read_folder(project(place / "in", place / "key.bin", release, *lines))


def test_a_release_alone_has_a_page_and_says_what_it_lacks_but_not_a_part_of_one(release: Path) -> None:
    made = report_release(None, release)
    assert "gray zone" not in made.html
    assert made.remarks == ("without the conference's folder the page has no gray zone",)
    table = release / "decisions.csv"
    table.write_text("\n".join(table.read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(InputError, match=r"certificate.json is about 6 papers, and its table has 5"):
        report_release(None, release)


def test_a_table_that_was_edited_is_neither_exported_nor_shown(release: Path, tmp_path: Path) -> None:
    folder = folder_of(release)
    assert export_release(folder, release, "csv").remarks == ()
    table = release / "decisions.csv"
    before = table.read_text()
    swap = {"accept": "reject", "reject": "accept"}
    header, first, *rest = before.splitlines()
    paper, word, *more = first.split(",")
    table.write_text("\n".join([header, ",".join([paper, swap[word], *more]), *rest]) + "\n")
    for made in (lambda: export_release(folder, release, "csv"), lambda: report_release(folder, release)):
        with pytest.raises(RefusedError, match=r"decisions.csv was changed since it was published"):
            made()
    # Without the private log nobody can tell, and that is said.
    alone = export_release(None, release, "csv")
    assert "was not compared with the private log" in alone.remarks[0]
    with pytest.raises(RefusedError, match="was changed since"):
        export_release(None, release, "csv", key=tmp_path / "key.bin")
    table.write_text(before)
    assert export_release(folder, release, "csv").remarks == ()


def test_scores_that_were_edited_after_deciding_go_into_no_page(release: Path, tmp_path: Path) -> None:
    assert "gray zone" in report_release(folder_of(release), release).html
    small_conference().with_review(1, score="0.31").write(tmp_path / "in")
    with pytest.raises(InputError, match=r"scores of 1 paper are not those that were decided \(p00\)"):
        report_release(folder_of(release), release)


def test_confidential_figures_need_the_key(release: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give `key`"):
        sealed_release(release, None)
    certificate, papers = sealed_release(release, tmp_path / "key.bin")
    assert len(papers) == certificate["papers"] == 6


def test_another_list_is_for_the_chair_alone_and_needs_a_number(tmp_path: Path) -> None:
    files, release = small_conference().write(tmp_path / "in"), tmp_path / "out"
    decided(files, tmp_path / "key.bin", release, "accept = 3")
    folder = folder_of(release, "accept = 3")
    with pytest.raises(InputError, match="say how many papers to accept"):
        folder_list(folder, "")
    made = export_release(folder, release, "csv", printed=folder_list(folder, "4"))
    assert (made.confidential, made.words) == (True, {"accept": 4, "reject": 2})
    assert not export_release(folder, release, "csv").confidential


def test_a_decision_by_hand_stands_in_the_file_with_a_remark(release: Path) -> None:
    plain = export_release(None, release, "csv")
    paper, other = next((p.paper, "reject") for p in plain.papers if p.decision == "accept")
    notes = f'[overridden]\n"{paper}" = "{other}: an error in a review"'
    made = export_release(folder_of(release, notes), release, "csv")
    assert {p.paper: p.decision for p in made.papers if p.overridden} == {paper: other}
    assert "1 decision overridden by hand" in made.remarks[0]
