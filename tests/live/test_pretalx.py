"""The round trip through a live pretalx: its models make two events, its export is decided, its API decides.

Its environment is made by `make test-long`; without it these tests are left out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer")

from blindcal.importers import import_reviews
from blindcal.importers.people import read_people
from blindcal.importers.raw_export import Choices
from live_conferences import Conference, conference, decided, environment, exported

PYTHON = environment("pretalx")
pytestmark = [
    pytest.mark.edge,
    pytest.mark.skipif(PYTHON is None, reason="no .venv-pretalx: make test-long makes it"),
]
SITE = Path(__file__).with_name("pretalx_site.py")
EVENTS = {"2025": "icx2025", "2026": "icx2026"}


def site(folder: Path, *command: str, given: bytes = b"") -> bytes:
    run = subprocess.run([str(PYTHON), str(SITE), str(folder), *command], input=given, capture_output=True)
    assert run.returncode == 0, run.stderr.decode()[-2000:]
    return run.stdout


class Live:
    """A running pretalx: its folder, the address of its API, and a token for it."""

    def __init__(self, folder: Path, address: str, token: str) -> None:
        self.folder, self.address, self.token = folder, address, token

    def get(self, path: str) -> bytes:
        headers = {"Authorization": f"Token {self.token}", "Pretalx-Version": "v1"}
        request = urllib.request.Request(f"{self.address}{path}", headers=headers)
        with urllib.request.urlopen(request, timeout=60) as response:
            return bytes(response.read())

    def states(self) -> dict[str, Any]:
        return dict(json.loads(site(self.folder, "states", EVENTS["2026"])))


@pytest.fixture(scope="module")
def made() -> Conference:
    return conference()


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, made: Conference) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("pretalx")
    wanted = {"people": made.people, "events": {EVENTS[year]: papers for year, papers in made.years.items()}}
    token = json.loads(site(folder, "make", given=json.dumps(wanted).encode()))["token"]
    server = subprocess.Popen(
        [str(PYTHON), str(SITE), str(folder), "serve"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert server.stdout is not None
    try:
        port = int(server.stdout.readline())
        yield Live(folder, f"http://127.0.0.1:{port}/api/", token)
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()


def test_decisions_come_back_into_pretalx(live: Live, made: Conference, tmp_path: Path) -> None:
    downloads = {"2025.csv": ("2025", "csv"), "2026.json": ("2026", "json")}
    for name, (year, form) in downloads.items():
        (tmp_path / name).write_bytes(site(live.folder, "export", EVENTS[year], form))
        imported = import_reviews((tmp_path / name).read_bytes(), name)
        scores = {
            (imported.titles[paper], email, score)
            for paper, email, score in zip(*imported.reviews.columns().values(), strict=True)
        }
        papers = made.years[year].items()
        assert scores == {(title, email, score) for title, given in papers for email, score in given.items()}
    teams = live.get("organisers/org/teams/?expand=members")
    assert read_people(teams, "teams.json") == dict(sorted(made.people.items()))
    (tmp_path / "teams.json").write_bytes(teams)
    files = ("reviews", "2026.json"), ("past", "2025.csv"), ("committee", "teams.json")
    decisions = decided(tmp_path / "icx", *((kind, str(tmp_path / file)) for kind, file in files))
    assert Counter(decisions.values()).keys() == {"accept", "reject"}

    program = exported(tmp_path / "icx", "pretalx", tmp_path / "states.py")

    def run(*options: str) -> list[str]:
        command = [sys.executable, str(program), f"{live.address}events/{EVENTS['2026']}/", *options]
        ended = subprocess.run(command, env={**os.environ, "PRETALX_TOKEN": live.token}, capture_output=True)
        assert ended.returncode == 0, ended.stderr.decode()
        return ended.stdout.decode().splitlines()

    assert sorted(run("--check")) == sorted(
        f"{code} {word}: would {word}" for code, word in decisions.items()
    )
    assert {*live.states()["states"].values()} == {"submitted"}, "--check changes nothing"
    states = {"accept": "accepted", "reject": "rejected"}
    wanted = {code: states[word] for code, word in decisions.items()}
    assert sorted(run()) == sorted(f"{code} {decisions[code]}: {state}" for code, state in wanted.items())
    back = live.states()
    equal = sum(back["states"].get(code) == state for code, state in wanted.items())
    print(f"pretalx: {equal} of {len(wanted)} decisions came back equal")
    assert (equal, back["states"]) == (30, wanted)
    assert back["emails waiting"] == 30, "none is sent before the organizer sends it"
    assert all(line.endswith("already") for line in run()), "it may be run again"


def test_codes_of_the_api_are_the_same_people(live: Live, made: Conference, tmp_path: Path) -> None:
    """Page by page, with users and without: by the list of teams, codes are the emails of the export."""
    export = import_reviews(site(live.folder, "export", EVENTS["2026"], "csv"), "2026.csv")
    pages = []
    for expand in ("", "&expand=user,submission,scores.category"):
        found: list[dict[str, Any]] = []
        while not found or found[-1]["next"]:
            page = live.get(f"events/{EVENTS['2026']}/reviews/?page_size=40&page={len(found) + 1}{expand}")
            found.append(json.loads(page))
        pages.append(json.dumps(found).encode())
    assert b'"count": 90' in pages[0]
    (tmp_path / "codes.json").write_bytes(pages[0])
    (tmp_path / "teams.json").write_bytes(live.get("organisers/org/teams/?expand=members"))
    from blindcal.project.contents import Source, read_contents

    files = {"codes": "reviews", "teams": "committee"}
    sources = [Source(tmp_path / f"{name}.json", kind) for name, kind in files.items()]
    codes, _ = read_contents(sources, Choices())
    assert codes.imported.reviews.columns() == export.reviews.columns()
    assert import_reviews(pages[1], "x.json").reviews.columns() == export.reviews.columns()
