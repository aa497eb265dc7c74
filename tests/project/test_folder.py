"""What a folder says, and its inputs as they are read for each step."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("jinja2")

from blindcal.errors import InputError
from blindcal.project.folder import folder_inputs
from blindcal.project.imports import UNKNOWN_REVIEWERS_FILE
from blindcal.project.settings import read_folder
from small_conferences import project, small_conference

pytestmark = pytest.mark.edge


def test_files_are_loaded_and_whoever_is_in_no_pool_is_listed_beside_them(tmp_path: Path) -> None:
    """The block around the whole work: the list is written when it turns out, and never into `out`."""
    small = small_conference()
    files = small.write(tmp_path / "in")
    folder = read_folder(project(files, None, None))
    with folder_inputs(folder) as inputs:
        assert inputs.reviews.papers == tuple(sorted({row[0] for row in small.reviews[1:]}))
    paper, author = small.reviews[1][:2]
    pools = files / "pools.csv"
    lines = pools.read_text().splitlines(keepends=True)
    pools.write_text("".join(line for line in lines if not line.startswith(f"{paper},{author},")))

    def prepared(out: Path) -> str:
        published = replace(folder, settings={**folder.settings, "out": str(out)})
        with pytest.raises(InputError) as caught, folder_inputs(published) as inputs:
            inputs.prepared(accept_rate=0.4)
        return str(caught.value)

    assert author not in prepared(tmp_path)
    assert not (files / UNKNOWN_REVIEWERS_FILE).exists(), "the folder is within what will be shared"
    assert author not in prepared(tmp_path / "out")
    assert author in (files / UNKNOWN_REVIEWERS_FILE).read_text()
