"""The written reference is what the commands say."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("typer")

from tools.cli_reference import reference

from blindcal.cli import REFERENCE, run, stored_help

pytestmark = pytest.mark.edge


ROOT = Path(__file__).parents[2]


def test_the_reference_is_what_the_commands_say() -> None:
    for page in (ROOT / "docs" / "reference" / "cli.md", REFERENCE):
        assert page.read_text(encoding="utf-8") == reference(), "run `make docs`"


def test_help_is_printed_from_the_page_and_is_the_command_s_own(capsys: pytest.CaptureFixture[str]) -> None:
    """Also of a command in a group; what the page does not know is asked of the command."""
    for name in ("verify", "research pair"):
        printed = []
        for asked in (["--help"], ["-h"], ["--help", "--help"]):
            assert run([*name.split(), *asked]) == 0
            printed.append("\n".join(map(str.rstrip, capsys.readouterr().out.strip().split("\n"))))
        assert len({*printed}) == 1
        assert printed[0] == stored_help(name.split())
    assert not stored_help(["nonsense"])
