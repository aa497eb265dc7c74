"""Drawn figures: numbers of corners cover neither each other nor the corners of others."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("matplotlib")

from blindcal.cli import paper
from blindcal.paper.figures import FIGURES, figure

pytestmark = pytest.mark.edge


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "3"])
def test_every_number_stands_apart(name: str) -> None:
    for panel in filter(lambda panel: panel.corners, figure(name).panels):
        points = np.array([(one.x, one.y) for one in panel.corners]) / panel.reach
        places = np.array(
            [point + 0.06 * paper._away(panel, one) for point, one in zip(points, panel.corners, strict=True)]
        )
        for k in range(len(places)):
            others = np.delete(np.concatenate([places, points]), k, axis=0)
            assert np.linalg.norm(others - places[k], axis=1).min() > 0.05


def test_letters_are_printed_as_in_the_paper() -> None:
    assert (
        paper.symbols("q1 and q2 at sigma with Phi_1 < Phi_2, e0, Phi")
        == "q₁ and q₂ at σ with Φ₁ < Φ₂, e₀, Φ"
    )


def test_a_caption_is_in_the_drawing() -> None:
    assert "always the wrong assignment" in paper.render(figure("5"), "svg").decode().replace("\n", " ")
