"""What Tab offers in every shell that is supported, and that only the shell's own files are written."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("typer")

from blindcal.cli.options import conference_folders, one_of
from blindcal.exporters import FORMATS
from blindcal.policy.guarantee import NAMES
from blindcal.project.settings import FILE
from commands import call

pytestmark = pytest.mark.edge


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two conferences, another folder, and a table."""
    for name in ("icx2026", "icx2027", "more/icy"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / FILE).touch()
    (tmp_path / "icecream").mkdir()
    (tmp_path / "ideas.csv").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


def offered(monkeypatch: pytest.MonkeyPatch, line: str) -> list[str]:
    """What bash is given for a line whose last word is being typed."""
    words = line.split(" ")
    with monkeypatch.context() as patch:
        patch.setenv("_BLINDCAL_COMPLETE", "complete_bash")
        patch.setenv("COMP_WORDS", "\n".join(words))
        patch.setenv("COMP_CWORD", str(len(words) - 1))
        code, out, err = call()
    assert (code, err) == (0, "")
    return out.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("blindcal pl", ["plan"]),
        ("blindcal plan ic", ["icx2026", "icx2027"]),
        ("blindcal plan more/", ["more/icy"]),
        ("blindcal plan id", []),
        ("blindcal plan nowhere/", []),
        ("blindcal plan icx2027 --guarantee ", [*NAMES]),
        ("blindcal plan icx2027 --guarantee s", ["steady"]),
        ("blindcal export icx2026 --to ", [*FORMATS]),
        ("blindcal export icx2026 --what a", ["advice"]),
        ("blindcal import icx2027 x.csv --system hot", ["hotcrp"]),
        ("blindcal pools icx2027 bids.csv --assume b", ["bidders"]),
        ("blindcal export icx2", ["icx2026", "icx2027"]),
        ("blindcal report icx2027 --confid", ["--confidential"]),
    ],
)
def test_tab_offers_what_can_stand_there(
    line: str, expected: list[str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert offered(monkeypatch, line) == expected


@pytest.mark.parametrize("command", ["fit", "plan", "decide", "verify", "audit", "report", "export"])
def test_every_command_on_a_folder_offers_folders(
    command: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert offered(monkeypatch, f"blindcal {command} icx") == ["icx2026", "icx2027"]


def test_an_unfinished_line_is_completed_whatever_is_wrong_with_it(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert offered(monkeypatch, "blindcal plan icx2027 --key 1 --key 2 --guarantee p") == ["public"]
    assert offered(monkeypatch, "blindcal plan nowhere --guarantee p") == ["public"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_given_its_script(shell: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer.completion._get_shell_name", lambda: shell)
    code, out, err = call("--show-completion")
    assert (code, err) == (0, "")
    assert f"_BLINDCAL_COMPLETE=complete_{shell}" in out
    assert not (here / "home").exists(), "showing writes nothing"


def test_installing_writes_where_the_shell_reads(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer._completion_shared._get_shell_name", lambda: "bash")
    code, out, err = call("--install-completion")
    assert (code, err) == (0, "")
    assert "bash completion installed in" in out
    home = here / "home"
    assert sorted(one.relative_to(home).as_posix() for one in home.rglob("*") if one.is_file()) == [
        ".bash_completions/blindcal.sh",
        ".bashrc",
    ]


def test_the_functions_alone(here: Path) -> None:
    assert conference_folders("") == ["icx2026", "icx2027"]
    assert conference_folders("mo") == []
    assert one_of("abc")("") == ["a", "b", "c"]
