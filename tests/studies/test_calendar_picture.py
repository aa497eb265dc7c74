"""The drawing of a conference's calendar is the one that its study makes, and names commands that exist."""

from __future__ import annotations

import re

import pytest

from documents import ROOT

pytest.importorskip("typer")
pytestmark = pytest.mark.edge


def test_the_calendar_is_drawn_by_its_study() -> None:
    import calendar_picture

    figure = ROOT / "docs" / "figures" / "calendar.svg"
    assert figure.read_text(encoding="utf-8") == calendar_picture.drawing()


def test_the_calendar_names_commands_that_exist() -> None:
    import calendar_picture

    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    commands = set(re.findall(r"^## blindcal (\w+)$", page, flags=re.MULTILINE))
    named = {line.split()[0] for _, lines, _, _ in calendar_picture.STEPS for line in lines.split("|")}
    assert {"new", "decide", "verify"} <= named <= commands
