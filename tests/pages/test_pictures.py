"""Drawings in docs/figures that are made quickly: each is what its study draws now."""

from __future__ import annotations

import re

import drawings
from documents import PAGES, ROOT


def test_drawings_are_what_their_study_draws() -> None:
    drawn = {
        "idea": drawings.idea(drawings.paper()),
        "calendar": drawings.calendar(),
        "guarantees": drawings.guarantees(),
    }
    for name, text in drawn.items():
        assert (ROOT / "docs" / "figures" / f"{name}.svg").read_text(encoding="utf-8") == text


def test_the_drawing_of_the_idea_keeps_its_promise() -> None:
    view = drawings.paper()
    for mass in view.mass("chosen"):
        assert (mass / mass.sum()).max() <= 1 / drawings.AMONG + 1e-12
    assert re.search(r"crowd of 3 \(of five candidates", drawings.idea(view))


def test_the_calendar_names_commands_that_exist() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    commands = set(re.findall(r"^## blindcal (\w+)$", page, flags=re.MULTILINE))
    named = {line.split()[0] for _, lines, _, _ in drawings.STEPS for line in lines.split("|")}
    assert {"new", "decide", "verify"} <= named <= commands


def test_every_figure_is_on_a_page() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    names = [path.name for path in (ROOT / "docs" / "figures").iterdir()]
    assert [name for name in names if f"figures/{name})" not in text] == []
