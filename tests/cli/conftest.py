"""Files that tests of several commands read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from small_conferences import SmallConference, small_conference


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
    """An empty folder, in which commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
