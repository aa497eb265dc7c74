"""The picture of a fit: drawn, the same each time, readable by its owner only, naming nobody."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from studies.past_reviews import drawn_pasts

pytest.importorskip("typer")
pytest.importorskip("matplotlib")

from blindcal.cli.fit import check_picture
from blindcal.errors import InputError
from commands import call
from small_pasts import short_fits, tiny_reviews

pytestmark = pytest.mark.edge


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short_fits(monkeypatch, tmp_path)
    tiny_reviews().write("past.csv")
    rows = (("x", "ann", 3), ("x", "bob", 2), ("y", "ann", 2), ("y", "cyd", 1), ("z", "bob", 5))
    table = "".join(f"{paper},{name},{score}\n" for paper, name, score in rows)
    Path("now.csv").write_text(f"paper,reviewer,score\n{table}")
    make("icx")


def make(folder: str, past: str = "past.csv") -> None:
    assert call("new", folder)[0] == 0
    assert call("import", folder, "now.csv")[0] == 0
    assert call("import", folder, past, "--as", "past")[0] == 0


def test_the_picture_of_a_fit() -> None:
    for name in ("a", "b"):
        code, _, err = call("fit", "icx", "--picture", f"{name}.svg")
        assert code == 0, err
    drawn = Path("a.svg").read_text()
    assert drawn == Path("b.svg").read_text()
    assert os.stat("a.svg").st_mode & 0o777 == 0o600
    assert not any(name in drawn for name in ("ann", "bob", "cyd", "dan"))
    assert call("fit", "icx", "--picture", "c.png")[0] == 0
    assert Path("c.png").read_bytes().startswith(b"\x89PNG")


def test_one_conference_has_nothing_to_predict(tmp_path: Path) -> None:
    years = drawn_pasts(np.random.default_rng(4), 40, 2, grid=np.arange(1.0, 11.0)).reviews
    Path("now.csv").unlink()
    for name, file in (("c0", "one.csv"), ("c1", "now.csv")):
        years.only(name).write(file)
    make("two", "one.csv")
    assert call("fit", "two", "--picture", "a.svg")[0] == 0


def test_nothing_is_fitted_where_the_picture_cannot_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, err = call("fit", "icx", "--picture", "a.gif")
    assert code == 2
    assert "--picture must end in .svg, .png, .pdf" in err
    Path("mine.svg").write_text("mine")
    code, _, err = call("fit", "icx", "--picture", "mine.svg")
    assert code == 3
    assert "never overwritten" in err

    def missing(name: str) -> ModuleType:
        raise ImportError(name)

    monkeypatch.setattr("blindcal.checks.import_module", missing)
    with pytest.raises(InputError, match=r"pip install 'blindcal\[figures\]'"):
        check_picture(Path("a.svg"))
    assert not Path("icx/inputs/reviewers.csv").exists()
