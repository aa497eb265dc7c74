"""`blindcal app`: it prints an address that answers, opens a browser on request, and ends with Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("fastapi")

from blindcal.cli import serve
from commands import call, succeed

pytestmark = pytest.mark.edge


@pytest.mark.parametrize("end", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_it_serves_until_it_is_ended_and_leaves_no_upload(tmp_path: Path, end: str) -> None:
    if not hasattr(signal, end) or os.name == "nt":
        pytest.skip(f"this system has no {end}")
    command = [sys.executable, "-m", "blindcal", "app", "--no-browser", "--json"]
    private = tmp_path / "tmp"
    private.mkdir()
    # Whoever runs these tests may ignore a signal, as `nohup` does, and what is ignored stays so.
    heeded = partial(signal.signal, getattr(signal, end), signal.SIG_DFL)
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        preexec_fn=None if end == "SIGINT" else heeded,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(private)},
    ) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        lines = []
        while not lines or lines[-1].rstrip() != "}":
            lines.append(server.stdout.readline())
        try:
            address = json.loads("".join(lines))["address"]
            with urllib.request.urlopen(f"{address}conference") as answer:
                assert b"Open the embedded conference" in answer.read()
            upload = urllib.request.Request(
                f"{address}conference/files?name=a.csv",
                b"paper,reviewer,score\n1,ada,2\n2,ada,3\n",
                {"Origin": "/".join(address.split("/")[:3])},
                method="PUT",
            )
            urllib.request.urlopen(upload).close()
            assert [*private.rglob("a.csv")]
            os.kill(server.pid, getattr(signal, end))
            assert server.wait(60) == 0
        finally:
            server.kill()
        assert (server.stdout.read(), server.stderr.read()) == ("", "")
    assert [*tmp_path.rglob("*")] == [private]


def test_it_says_where_to_look_and_opens_a_browser_without_showing_the_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = pytest.importorskip("blindcal.app.server")
    opened: list[str] = []

    def ended(self: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(servers.Listening, "run", ended)
    monkeypatch.setattr(serve.webbrowser, "open", lambda url: opened.append(url) or True)
    _, out, err = succeed("app")
    assert err == ""
    token = out.split("\n")[0].rstrip("/").split("/")[-1]
    assert out.startswith("open http://127.0.0.1:")
    (url,) = opened
    assert url.startswith("file://")
    assert token not in url
    monkeypatch.setattr(serve.webbrowser, "open", lambda url: False)
    assert "open the address yourself" in call("app")[2]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--port", "-1"], "--port must be at least 0"),
        (["--port", "70000"], "--port 70000 cannot be used"),
        (["nowhere/icx"], "must be a folder that exists"),
        (["."], "conference.toml"),
    ],
)
def test_what_cannot_be_opened_is_refused(place: Path, arguments: list[str], told: str) -> None:
    code, out, err = call("app", "--no-browser", *arguments)
    assert (code, out) == (2, "")
    assert told in err
    assert not [*place.iterdir()]
