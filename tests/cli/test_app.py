"""The command line: what it lists and loads, one style of error, exit codes, and JSON."""

from __future__ import annotations

import getpass
import json
import platform
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

pytest.importorskip("typer")

from tools.cli_reference import command_names

from blindcal import __version__
from blindcal.cli import app as commands
from blindcal.cli.app import COMMANDS, RESEARCH, app, research
from commands import call, succeed

pytestmark = pytest.mark.edge


NAMES = [name.split()[1:] for name in command_names() if name not in ("blindcal", "blindcal research")]


def test_version_and_help() -> None:
    assert call("--version")[1].startswith(f"blindcal {__version__}\n")
    _, out, err = succeed("--help")
    assert err == ""
    assert call() == call("-h") == (0, out, "")
    assert call("research") == call("research", "-h")


@pytest.mark.parametrize(("group", "table"), [((), COMMANDS), (("research",), RESEARCH)])
def test_commands_are_listed_by_who_uses_them_and_when(group: tuple[str, ...], table: dict) -> None:
    """In the order of the table, each summary whole and on one line."""
    help_text = call(*group, "--help")[1]
    width = max(len(name) for entries in table.values() for name in [*entries, "" if group else "research"])
    for panel, entries in table.items():
        lines = (f"  {name:<{width}}  {summary}\n" for name, (_, summary) in entries.items())
        assert f"\n{panel}:\n{''.join(lines)}" in help_text
    assert max(map(len, help_text.splitlines())) <= 100


def test_few_commands_stand_at_the_top() -> None:
    assert len(app.registered_commands) + len(app.registered_groups) <= 17
    assert len(research.registered_commands) == len({*RESEARCH["Commands"]})


def _options(help_text: str) -> list[str]:
    return re.findall(r"^  (--[a-z-]+)", help_text.split("\nOptions:")[1], re.M)


@pytest.mark.parametrize("name", NAMES, ids=" ".join)
def test_every_command_has_help_an_example_and_json(name: list[str]) -> None:
    _, out, err = succeed(*name, "--help")
    assert err == ""
    assert re.search(rf"Example: blindcal {' '.join(name)}\b", out)
    assert "--json" in out
    assert "list[" not in out
    if name[0] != "research":
        # `new` reads files as `import` does, with the same options; those of its own are few.
        shared = set() if name != ["new"] else set(_options(call("import", "--help")[1]))
        assert len(set(_options(out)) - shared) <= 14


@pytest.mark.parametrize(
    "name", [["app"], *(["research", name] for name in RESEARCH["Commands"])], ids=" ".join
)
def test_a_summary_is_the_first_line_of_the_help(name: list[str]) -> None:
    listed = dict(
        entry for table in (COMMANDS, RESEARCH) for part in table.values() for entry in part.items()
    )
    assert call(*name, "--help")[1].split("\n\n")[1].strip() == listed[name[-1]][1]


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        ("--version", {"numpy", "scipy", "rich", "blindcal.deciding", "blindcal.cli.decide"}),
        ("--help", {"numpy", "scipy", "rich", "blindcal.deciding", "blindcal.cli.decide"}),
        ("research", {"numpy", "scipy", "blindcal.cli.research"}),
        ("research pair --help", {"numpy", "scipy", "rich", "blindcal.policy", "blindcal.cli.research"}),
        ("decide -h", {"numpy", "scipy", "rich", "blindcal.deciding", "blindcal.cli.decide"}),
        (
            "research pair --nonsense",
            {"blindcal.cli.decide", "blindcal.cli.plan", "matplotlib", "distributed"},
        ),
    ],
)
def test_only_what_runs_is_loaded(arguments: str, heavy: set[str]) -> None:
    program = "import sys; from blindcal.cli import run; run(sys.argv[1:]); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments.split()], capture_output=True, text=True, check=True
    )
    assert not heavy & {*done.stdout.split("\n")[-2].split()}


@pytest.mark.parametrize(
    "arguments",
    [("nonsense",), ("--nonsense",), ("assess",), ("assess", "a", "--nonsense"), ("research", "nonsense")],
)
def test_bad_usage_ends_with_2_and_one_style(arguments: tuple[str, ...]) -> None:
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("blindcal: ")
    assert "Traceback" not in err


def test_a_command_that_is_nearly_right_is_suggested() -> None:
    assert "Did you mean 'decide'" in call("decde")[2]
    assert "Did you mean 'average'" in call("research", "avrage")[2]


def test_errors_as_json_list_the_problems(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("paper,reviewer,score\np,r,nan\np,r,1\n")
    code, out, err = call("assess", str(tmp_path / "r.csv"), "--json")
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


# --- `blindcal --version`: what a bug report should say, and nothing of the machine's owner.


def test_it_names_all_that_decisions_depend_on(monkeypatch: pytest.MonkeyPatch) -> None:
    _, said, err = succeed("--version")
    assert err == ""
    lines = said.splitlines()
    assert lines[0] == f"blindcal {__version__}"
    for name in ("numpy", "scipy", "highspy", "typer", "jinja2"):
        assert f"{name} {version(name)}" in said
    assert platform.python_version() in lines[1]
    assert platform.node() not in said.split()
    assert getpass.getuser() not in said.split()
    monkeypatch.setattr(commands, "_OPTIONAL", ("no-such-package",))
    assert "no-such-package not installed" in call("--version")[1]
