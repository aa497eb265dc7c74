"""`blindcal --version`: what a bug report should say, and nothing of the machine's owner."""

from __future__ import annotations

import getpass
import platform
from importlib.metadata import version

import pytest

pytest.importorskip("typer")

from blindcal import __version__
from blindcal.cli import app
from commands import call

pytestmark = pytest.mark.edge


def test_it_names_all_that_decisions_depend_on(monkeypatch: pytest.MonkeyPatch) -> None:
    code, said, err = call("--version")
    assert (code, err) == (0, "")
    lines = said.splitlines()
    assert lines[0] == f"blindcal {__version__}"
    for name in ("numpy", "scipy", "highspy", "typer", "jinja2"):
        assert f"{name} {version(name)}" in said
    assert platform.python_version() in lines[1]
    assert platform.node() not in said.split()
    assert getpass.getuser() not in said.split()
    monkeypatch.setattr(app, "_OPTIONAL", ("no-such-package",))
    assert "no-such-package not installed" in call("--version")[1]
