"""The figures of docs/explanation/theory.md show what they say: nothing above the line, programs on it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib").use("Agg")
pytestmark = pytest.mark.edge

frontiers = import_module("studies.frontiers")


def test_frontiers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stated.DOCS", tmp_path)
    panels = frontiers.compute()
    for panel in panels:
        conference, adversary = panel.front.relation()
        value, wanted = panel.programs
        reached = np.interp(wanted, panel.front.adversary_error, panel.front.conference_error)
        np.testing.assert_allclose(value, reached, atol=1e-9)
        error, privacy = panel.policies
        assert (privacy <= np.interp(error, conference, adversary) + 1e-12).all()
    assert frontiers.draw(panels).read_bytes().startswith(b"\x89PNG")
