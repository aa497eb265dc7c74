"""What `plan`, `decide` and `verify` read: the files behind their options."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("typer")

from blindcal.cli.inputs import loaded
from blindcal.errors import InputError
from blindcal.project.outsiders import NAME
from small_conferences import small_conference

pytestmark = pytest.mark.edge


def test_files_are_loaded_and_whoever_is_in_no_pool_is_listed_beside_them(tmp_path: Path) -> None:
    """The block around the whole work: the list is written when it turns out, and never into `out`."""
    small = small_conference()
    folder = small.write(tmp_path / "in")
    files = tuple(folder / f"{name}.csv" for name in ("reviews", "reviewers", "pools"))
    with loaded(*files, None) as inputs:
        assert inputs.reviews.papers == tuple(sorted({row[0] for row in small.reviews[1:]}))
    paper, author = small.reviews[1][:2]
    lines = files[2].read_text().splitlines(keepends=True)
    files[2].write_text("".join(line for line in lines if not line.startswith(f"{paper},{author},")))

    def prepared(out: Path | None) -> str:
        with pytest.raises(InputError) as caught, loaded(*files, None, out) as inputs:
            inputs.prepared(accept_rate=0.4)
        return str(caught.value)

    assert author not in prepared(tmp_path)
    assert not (folder / NAME).exists(), "the folder is within what will be shared"
    assert author not in prepared(tmp_path / "out")
    assert author in (folder / NAME).read_text()
