"""The round trip through openreview-py: its classes make two venues, its client reads them from a local
server, and its `Venue.post_decisions` takes our decisions there.

Its environment is made by `make test-long`; without it these tests are left out.
"""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("typer")

from blindcal.importers import import_reviews
from blindcal.importers.people import read_map
from blindcal.importers.raw_export import Choices
from json_server import JsonHandler, served
from live_conferences import ROOT, Conference, conference, decided, environment, exported

PYTHON = environment("openreview")
pytestmark = [
    pytest.mark.edge,
    pytest.mark.skipif(PYTHON is None, reason="no .venv-openreview: make test-long makes it"),
]
SITE = Path(__file__).with_name("openreview_site.py")
VENUES = {year: f"ICX.cc/{year}/Conference" for year in ("2025", "2026")}
OPTIONS = ("Accept (Oral)", "Accept (Poster)", "Reject")


def site(*command: str, given: bytes = b"") -> dict[str, Any]:
    run = subprocess.run([str(PYTHON), str(SITE), *command], input=given, capture_output=True)
    assert run.returncode == 0, run.stderr.decode()[-2000:]
    return dict(json.loads(run.stdout))


def profile(name: str, email: str) -> str:
    """The id of a person at OpenReview."""
    return f"~{name.split()[0]}_{email.partition('@')[0].title()}1"


class Handler(JsonHandler, BaseHTTPRequestHandler):
    """As much of OpenReview's API as the client and `post_decisions` use."""

    notes: list[dict[str, Any]]
    groups: list[dict[str, Any]]

    def do_POST(self) -> None:
        body: dict[str, Any] = self.posted()
        if self.path == "/login":
            good = (body["id"], body["password"]) == ("chair", "secret")
            user = {"profile": {"id": "~Chair1"}}
            self.answer({"token": "t0ken", "user": user} if good else {}, 200 if good else 401)
        elif self.headers.get("Authorization") != "Bearer t0ken":
            self.answer({"name": "ForbiddenError", "message": "log in"}, 403)
        else:
            self.edit(body)

    def edit(self, body: dict[str, Any]) -> None:
        """A decision: of a paper that there is, among the options, signed by the chairs."""
        prefix, _, kind = body["invitation"].partition("/-/")
        venue, _, number = prefix.rpartition("/Submission")
        papers = [note for note in self.notes if f"{venue}/-/Submission" in note["invitations"]]
        forum = next((note["id"] for note in papers if str(note["number"]) == number), None)
        decision = body["note"]["content"]["decision"]["value"]
        if kind != "Decision" or forum is None or decision not in OPTIONS:
            self.answer({"name": "ValueError", "message": f"{body['invitation']}: {decision}"}, 400)
            return
        assert body["signatures"] == [f"{venue}/Program_Chairs"]
        note = {
            "id": f"{forum}d",
            "forum": forum,
            "replyto": forum,
            "invitations": [body["invitation"]],
            **body["note"],
        }
        self.notes[:] = [*(other for other in self.notes if other["id"] != note["id"]), note]
        self.answer({"id": f"{forum}e", "note": note})

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if self.headers.get("Authorization") != "Bearer t0ken":
            self.answer({"name": "ForbiddenError", "message": "log in"}, 403)
        elif parts.path == "/groups":
            exact, prefix = query.get("id"), query.get("prefix", "\0")
            self.page(
                "groups", [g for g in self.groups if g["id"] == exact or g["id"].startswith(prefix)], query
            )
        elif parts.path == "/notes":
            self.page("notes", self.submissions(query), query)
        else:
            self.answer({"groupedEdges": []})

    def submissions(self, query: Mapping[str, str]) -> list[dict[str, Any]]:
        places = query.get("content.venueid", "").split(",")
        found = []
        for note in self.notes:
            place = note["content"].get("venueid", {}).get("value")
            if query.get("invitation") in note["invitations"] or place in places:
                replies = [other for other in self.notes if other.get("replyto") == note["id"]]
                found.append({**note, "details": {query["details"]: replies}})
        return found

    def page(self, kind: str, found: list[dict[str, Any]], query: Mapping[str, str]) -> None:
        ordered = sorted(found, key=lambda item: str(item["id"]))
        rest = [item for item in ordered if str(item["id"]) > query.get("after", "")]
        self.answer({kind: rest[: int(query.get("limit", 1000))], "count": len(ordered)})


@pytest.fixture(scope="module")
def made() -> Conference:
    return conference()


@pytest.fixture(scope="module")
def server(made: Conference) -> Iterator[str]:
    rng, notes, groups = random.Random(7), [], []
    for year, papers in made.years.items():
        wanted = [
            {
                "title": title,
                "reviews": [
                    (f"{rng.randrange(16**4):04x}", profile(made.people[email], email), score)
                    for email, score in scores.items()
                ],
            }
            for title, scores in papers.items()
        ]
        venue = site("make", VENUES[year], given=json.dumps(wanted).encode())
        notes += venue["notes"]
        groups += venue["groups"]
    handler = type("Venues", (Handler,), {"notes": notes, "groups": groups})
    with served(handler) as address:
        yield address


def written(path: Path, rows: list[tuple[str, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def test_decisions_come_back_into_openreview(server: str, made: Conference, tmp_path: Path) -> None:
    imports = []
    for year, kind in (("2026", "reviews"), ("2025", "past")):
        found = site("fetch", server, VENUES[year])
        (tmp_path / f"{year}.json").write_text(json.dumps(found["notes"]), encoding="utf-8")
        written(tmp_path / f"{year}.csv", [("signature", "profile_id"), *found["people"].items()])
        written(tmp_path / "committee.csv", [("reviewer",), *((person,) for person in found["committee"])])
        imports.append((kind, str(tmp_path / f"{year}.json"), "--map", str(tmp_path / f"{year}.csv")))
        assert read(tmp_path / f"{year}.json", tmp_path / f"{year}.csv") == expected(made, year)
    decisions = decided(tmp_path / "icx", *imports, ("committee", str(tmp_path / "committee.csv")))
    assert {*decisions.values()} == {"accept", "reject"}
    file = exported(tmp_path / "icx", "openreview", tmp_path / "decisions.csv")
    posted = site("decide", server, VENUES["2026"], given=file.read_bytes())
    assert posted == {"posted": 30, "errors": {}}
    words = {"accept": "Accept (Poster)", "reject": "Reject"}
    wanted = {paper: words[decision] for paper, decision in decisions.items()}
    back = site("decisions", server, VENUES["2026"])
    equal = sum(back.get(paper) == decision for paper, decision in wanted.items())
    print(f"OpenReview: {equal} of {len(wanted)} decisions came back equal")
    assert (equal, back) == (30, wanted)
    assert site("decisions", server, VENUES["2025"]) == {}


def expected(made: Conference, year: str) -> set[tuple[str, str, float]]:
    return {
        (str(number), profile(made.people[email], email), float(score))
        for number, scores in enumerate(made.years[year].values(), start=1)
        for email, score in scores.items()
    }


def read(notes: Path, people: Path) -> set[tuple[str, str, float]]:
    found = read_map(people.read_bytes(), people.name)
    reviews = import_reviews(notes.read_bytes(), notes.name, Choices(people=found)).reviews.columns()
    return {*zip(reviews["paper"], reviews["reviewer"], reviews["score"], strict=True)}


def test_our_own_fetcher_reads_the_same_from_the_same_server(
    server: str, made: Conference, tmp_path: Path
) -> None:
    tool = ROOT / "tools" / "fetch_openreview.py"
    command = [sys.executable, str(tool), VENUES["2026"], "--out", str(tmp_path / "got"), "--server", server]
    login = {"OPENREVIEW_USERNAME": "chair", "OPENREVIEW_PASSWORD": "secret"}
    run = subprocess.run(command, env={**os.environ, **login}, capture_output=True)
    assert run.returncode == 0, run.stderr.decode()
    got = tmp_path / "got"
    assert read(got / "notes.json", got / "people.csv") == expected(made, "2026")
