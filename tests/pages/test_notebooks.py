"""The notebooks run from top to bottom and show what they say."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from notebooks import FOLDER, run_cell, shown

pytest.importorskip("pandas")
pytest.importorskip("matplotlib").use("Agg")
pytestmark = pytest.mark.edge

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
ALIKE = 0.002


@pytest.fixture(autouse=True)
def plain_matplotlib() -> Iterator[None]:
    """A study that another test ran may have left settings behind."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        yield


def difference(picture: bytes, other: bytes) -> float:
    """The mean difference of two pictures' pixels, from 0 to 1; 1 if their sizes differ."""
    import matplotlib.image

    one, two = (matplotlib.image.imread(io.BytesIO(data)) for data in (picture, other))
    return float(np.abs(one - two).mean()) if one.shape == two.shape else 1.0


def test_there_are_five() -> None:
    assert len(NOTEBOOKS) == 5


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_says(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    pictures = 0
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            text, figures = run_cell("".join(cell["source"]), names)
            said, kept = shown(cell["outputs"])
            assert text == said, "".join(cell["source"])
            # Another rounding moves single pixels; another curve moves more.
            assert len(figures) == len(kept)
            assert all(difference(*pair) < ALIKE for pair in zip(figures, kept, strict=True))
            pictures += len(figures)
    assert pictures > 0


def test_another_curve_is_noticed() -> None:
    code = (
        "import matplotlib.pyplot as plt\nfigure, axes = plt.subplots(figsize=(5, 3))\n_ = axes.plot([0, {}])"
    )
    (one,), (same,), (other,) = (run_cell(code.format(end), {})[1] for end in (1, 1, -1))
    assert difference(one, same) == 0.0
    assert difference(one, other) > 2 * ALIKE


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_one_that_jupyter_opens(path: Path) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in content["cells"]}) == len(content["cells"])
