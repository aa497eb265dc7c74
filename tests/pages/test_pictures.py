"""Drawings in docs/figures that are made quickly: each is what its study draws now."""

from __future__ import annotations

import re

import pytest

import guarantee_chart
import idea_picture
from documents import ROOT


@pytest.mark.parametrize("name", ["idea", "guarantees"])
def test_a_drawing_is_what_its_study_draws(name: str) -> None:
    drawn = {
        "idea": lambda: idea_picture.drawing(idea_picture.paper()),
        "guarantees": guarantee_chart.drawing,
    }[name]()
    assert (ROOT / "docs" / "figures" / f"{name}.svg").read_text(encoding="utf-8") == drawn


def test_the_drawing_of_the_idea_keeps_its_promise() -> None:
    view = idea_picture.paper()
    for mass in view.mass("chosen"):
        assert (mass / mass.sum()).max() <= 1 / idea_picture.AMONG + 1e-12
    assert re.search(r"crowd of 3 \(of five candidates", idea_picture.drawing(view))


def test_every_figure_is_on_a_page() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert not [
        path.name for path in (ROOT / "docs" / "figures").iterdir() if f"figures/{path.name})" not in text
    ]
