"""Checks of a folder's release, called as the commands and the app call them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("jinja2")

from blindcal.errors import InputError
from blindcal.project.check import Adversaries, audit_folder, prior_of, verify_folder
from blindcal.project.settings import read_folder
from small_conferences import decided, project, small_conference

pytestmark = pytest.mark.edge


def test_a_release_is_verified_and_audited_with_the_adversaries_given(tmp_path: Path) -> None:
    files = small_conference().write(tmp_path / "in")
    decided(files, tmp_path / "key.bin", tmp_path / "out")
    folder = read_folder(project(files, None, tmp_path / "out"))
    checked = verify_folder(folder)
    assert checked.verification.agrees
    assert (checked.record.release, checked.remarks) == (1, ())
    given = Adversaries(colluders=(2,), evidence=(1.0,))
    always, more = (audit_folder(folder, who).findings.findings for who in (Adversaries(), given))
    assert {*always} < {*more}
    assert {finding.adversary for finding in {*more} - {*always}} == {
        "evidence of strength 1",
        "2 colluding reviewers",
    }


def test_a_prior_is_a_known_one_or_a_file() -> None:
    assert prior_of("uniform") == "uniform"
    with pytest.raises(InputError, match="--prior must be one of"):
        prior_of("nowhere.csv")
