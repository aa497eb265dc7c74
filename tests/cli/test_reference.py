"""The written reference is what the commands say."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("typer")

from blindcal.cli import reference

pytestmark = pytest.mark.edge


ROOT = Path(__file__).parents[2]


def test_the_reference_is_what_the_commands_say() -> None:
    page = ROOT / "docs" / "reference" / "cli.md"
    assert page.read_text(encoding="utf-8") == reference.reference(), "run `make docs`"
