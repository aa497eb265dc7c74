"""Files that tests of several commands read."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import numpy as np
import pytest

from chair_exports import options, write_exports
from commands import succeed
from small_conferences import SmallConference, small_conference
from small_pasts import short_fits


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    quality, offset = rng.standard_normal(20), rng.normal(5, 1, 8)
    lines = ["paper,reviewer,score"]
    for paper in range(20):
        for reviewer in sorted(rng.choice(8, 3, replace=False)):
            score = quality[paper] + offset[reviewer] + 0.3 * rng.standard_normal()
            lines.append(f"p{paper:02d},r{reviewer},{score:.3f}")
    path = tmp_path / "reviews.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def small() -> SmallConference:
    return small_conference()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which commands run and fits are short."""
    short_fits(monkeypatch, tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def chairs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What a chair has, `undecided` and `decided`: downloads, the folder icx of six papers, its key."""
    undecided, decided = (tmp_path_factory.mktemp(name) for name in ("undecided", "decided"))
    with contextlib.chdir(undecided):
        given = options(write_exports(Path("downloads"), papers=6), "reviews", "reviewers")
        succeed("new", "icx", *given, "--accept", "50%")
    shutil.copytree(undecided, decided, dirs_exist_ok=True)
    with contextlib.chdir(decided):
        succeed("decide", "icx")
    return {"undecided": undecided, "decided": decided}


@pytest.fixture
def undecided(chairs: dict[str, Path], place: Path) -> Path:
    """A conference's folder, ready to be decided, beside its key and the downloads."""
    shutil.copytree(chairs["undecided"], place, dirs_exist_ok=True)
    return Path("icx")


@pytest.fixture
def published(chairs: dict[str, Path], place: Path) -> Path:
    """The same, decided."""
    shutil.copytree(chairs["decided"], place, dirs_exist_ok=True)
    return Path("icx")
