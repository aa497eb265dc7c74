"""The pictures of docs/tutorials/two_reviewers.md are about the case of the README, with its numbers."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

pytest.importorskip("matplotlib").use("Agg")
pytestmark = pytest.mark.edge

two_reviewers = import_module("studies.two_reviewers")


def test_two_reviewers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stated.DOCS", tmp_path)
    front = two_reviewers.compute()
    # Scores are N(offset, slope^2 + noise^2) over papers, whoever reviewed which.
    one, two = (norm(b, np.hypot(a, 0.5)) for a, b in ((1.2, 0.3), (0.8, -0.3)))
    straight, crossed = one.pdf(0.9) * two.pdf(0.4), two.pdf(0.9) * one.pdf(0.4)
    np.testing.assert_allclose(front.belief.weight[0], straight / (straight + crossed), atol=1e-9)
    assert front.adversary_error[-1] == pytest.approx(front.belief.weight.min())
    assert two_reviewers.draw(front).read_bytes().startswith(b"\x89PNG")
