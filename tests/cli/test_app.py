"""The command line: one voice, exit codes, JSON, and no traceback or id in any message."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer")

from blindcal import __version__
from blindcal.cli.app import app
from commands import call

pytestmark = pytest.mark.edge


def test_version_and_help() -> None:
    assert call("--version")[1].startswith(f"blindcal {__version__}\n")
    code, out, err = call("--help")
    assert (code, err) == (0, "")
    assert call() == call("-h") == (0, out, "")
    for command in app.registered_commands:
        assert f"  {command.name} " in out


def test_commands_are_grouped_by_who_uses_them_and_when() -> None:
    panels = [command.rich_help_panel for command in app.registered_commands]
    assert all(panels)
    parts = call("--help")[1].split("\n\n")[-len({*panels}) :]
    for panel, part in zip(dict.fromkeys(panels), parts, strict=True):
        heading, *lines = part.rstrip().split("\n")
        names = [one.name for one in app.registered_commands if one.rich_help_panel == panel]
        assert (heading, [line.split()[0] for line in lines]) == (f"{panel}:", names)


@pytest.mark.parametrize("name", [command.name for command in app.registered_commands])
def test_every_command_has_help_an_example_and_json(name: str) -> None:
    code, out, err = call(name, "--help")
    assert (code, err) == (0, "")
    assert re.search(rf"Example: blindcal {name}\b", out)
    assert "--json" in out


@pytest.mark.parametrize("arguments", [("nonsense",), ("--nonsense",), ("check",), ("check", "a", "--grid")])
def test_bad_usage_ends_with_2_and_one_voice(arguments: tuple[str, ...]) -> None:
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("blindcal: ")
    assert "Traceback" not in err


def test_errors_as_json_list_the_problems(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("paper,reviewer,score\np,r,nan\np,r,1\n")
    code, out, err = call("check", str(tmp_path / "r.csv"), "--json")
    assert (code, out) == (2, "")
    report = json.loads(err)["error"]
    assert report["code"] == 2
    assert report["problems"] == [
        {
            "file": str(tmp_path / "r.csv"),
            "row": 2,
            "column": "score",
            "rule": "must be a finite number",
            "found": "'nan'",
        }
    ]


def test_the_script_runs(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("blindcal")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()[0], done.stderr) == (0, f"blindcal {__version__}", "")


def test_a_demo_needs_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    code, out, err = call("demo", "--out", str(tmp_path / "file"))
    assert (code, out, err) == (
        2,
        "",
        f"blindcal: --out must be a folder, found the file {tmp_path / 'file'}\n",
    )
