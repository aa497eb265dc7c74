"""Drawn figures: numbers of corners cover neither each other nor the corners of others."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from blindcal.paper.drawing import _corner_label_direction, render, symbols
from blindcal.paper.figures import FIGURES, figure

pytestmark = pytest.mark.edge


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "3"])
def test_every_number_stands_apart(name: str) -> None:
    for panel in filter(lambda panel: panel.corners, figure(name).panels):
        points = np.array([(one.x, one.y) for one in panel.corners]) / panel.reach
        places = np.array(
            [
                point + 0.06 * _corner_label_direction(panel, one)
                for point, one in zip(points, panel.corners, strict=True)
            ]
        )
        for k in range(len(places)):
            others = np.delete(np.concatenate([places, points]), k, axis=0)
            assert np.linalg.norm(others - places[k], axis=1).min() > 0.05


def test_letters_are_printed_as_in_the_paper() -> None:
    assert symbols("q1 and q2 at sigma with Phi_1 < Phi_2, e0, Phi") == "q₁ and q₂ at σ with Φ₁ < Φ₂, e₀, Φ"


def test_a_caption_is_in_the_drawing() -> None:
    assert "always the wrong assignment" in render(figure("5"), "svg").decode().replace("\n", " ")


def test_a_figure_is_drawn_in_python_as_it_is_by_the_command() -> None:
    """Its axes have the data of its frame: here the curve and the corners of Figure 6."""
    (axis,) = figure(6).plot().axes
    frame = figure(6).to_frame()
    drawn = {line.get_label(): line.get_xydata() for line in axis.lines}
    for label, rows in frame[frame.kind != "corner"].groupby("label"):
        np.testing.assert_allclose(drawn[label], rows[["x", "y"]])
    simulated = figure(3, trials=2)
    for axis, panel in zip(simulated.plot().axes, simulated.panels, strict=True):
        assert [container.has_yerr for container in axis.containers] == [True] * len(panel.curves)
