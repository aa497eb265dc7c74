#!/usr/bin/env python3
"""Save what blindcal needs of an OpenReview venue: reviews, who wrote them, assignments and conflicts.

    python tools/fetch_openreview.py CONF.cc/2027/Conference --out fetched
    python tools/fetch_openreview.py CONF.cc/2022/Conference --api 1 --out fetched-2022

For a program chair, with the account that may see reviewers. This script is no part of the package, which
never reaches for the network: it stands alone, uses nothing but Python's standard library, only reads (the
one POST is the login), and talks to one server. Name and password are taken from OPENREVIEW_USERNAME and
OPENREVIEW_PASSWORD, or prompted for; they are sent to /login alone and never written down.

Writes into a new folder that only you can enter:

    notes.json        submissions with their reviews, without times and long texts, for `blindcal import`
    people.csv        signature,profile_id: who is behind each anonymous signature, for --map
    committee.csv     reviewer: everyone in the group of reviewers
    assignments.csv   paper,reviewer: who was assigned
    conflicts.csv     paper,conflict

Then: blindcal new icx2027 --reviews fetched/notes.json --map fetched/people.csv
--committee fetched/committee.csv --conflicts fetched/conflicts.csv
"""

from __future__ import annotations

import argparse
import csv
import getpass
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

# Venues until about 2023 are on the old API.
SERVER, HOSTS = "https://{}.openreview.net", {1: "api", 2: "api2"}
PAGE, PATIENCE, TRIES = 1000, 60.0, 6
# What is kept of a note: nothing that says when it was written or changed.
KEPT = ("id", "forum", "replyto", "number", "invitation", "invitations", "signatures", "ddate")
# Longer texts are no scores.
LONGEST = 200


class Server:
    """The API, as far as it is needed: GET, and one POST to log in."""

    def __init__(self, url: str, api: int) -> None:
        host = urllib.parse.urlsplit(url)
        if host.scheme != "https" and host.hostname not in ("localhost", "127.0.0.1"):
            sys.exit("the server must be reached by https: a password is sent to it")
        self.url, self.api, self.token = url.rstrip("/"), api, ""

    def login(self, name: str, password: str) -> None:
        self.token = self._answer("/login", body={"id": name, "password": password})["token"]

    def get(self, path: str, **parameters: object) -> dict[str, Any]:
        return self._answer(f"{path}?{urllib.parse.urlencode(parameters)}")

    def all(self, path: str, kind: str, **parameters: object) -> Iterator[dict[str, Any]]:
        """Every item of a list, page by page: each page starts after the last id of the one before, on the
        old API after so many items."""
        after: dict[str, Any] = {"sort": "id"} if self.api == 2 else {"offset": 0}
        while page := self.get(path, **parameters, limit=PAGE, **after)[kind]:
            yield from page
            if len(page) < PAGE:
                return
            after |= {"after": page[-1]["id"]} if self.api == 2 else {"offset": after["offset"] + PAGE}

    def edges(self, invitation: str) -> Iterator[tuple[str, str]]:
        """Pairs of submission and person."""
        found = self.get("/edges", invitation=invitation, groupBy="head", select="tail")
        for group in found["groupedEdges"]:
            yield from ((group["id"]["head"], edge["tail"]) for edge in group["values"])

    def _answer(self, path: str, body: object = None) -> Any:
        headers = {"Accept": "application/json", "User-Agent": "blindcal-fetch"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            headers["Content-Type"] = "application/json"
        for turn in range(1, TRIES + 1):
            try:
                request = urllib.request.Request(self.url + path, data, headers)
                with urllib.request.urlopen(request, timeout=PATIENCE) as response:
                    return json.load(response)
            except urllib.error.HTTPError as error:
                error.close()
                if error.code not in (429, 502, 503) or turn == TRIES:
                    sys.exit(f"{path.partition('?')[0]}: the server answers {error.code} {error.reason}")
                time.sleep(float(error.headers.get("Retry-After") or 2**turn))
            except urllib.error.URLError as error:
                sys.exit(f"{self.url} cannot be reached: {error.reason}")
        raise AssertionError("the last turn returns or ends the program")


def value(group: dict[str, Any], name: str, otherwise: str) -> str:
    """A setting of the venue."""
    return str((group.get("content") or {}).get(name, {}).get("value") or otherwise)


def plain(note: dict[str, Any]) -> dict[str, Any]:
    """A note without its times, and without texts that can be no score."""
    content = {
        name: item
        for name, item in (note.get("content") or {}).items()
        if name == "title" or len(json.dumps(item)) <= LONGEST
    }
    details = note.get("details") or {}
    replies = details.get("replies") or details.get("directReplies") or []
    kept = {key: note[key] for key in KEPT if note.get(key) is not None}
    return {
        **kept,
        "content": content,
        **({"details": {"replies": list(map(plain, replies))}} if replies else {}),
    }


def fetch(server: Server, venue: str) -> dict[str, Any]:
    """All that is saved, by file."""
    settings = server.get("/groups", id=venue)["groups"][0]
    reviewers = value(settings, "reviewers_id", f"{venue}/Reviewers")
    if server.api == 2:
        submission = value(settings, "submission_name", "Submission")
        notes = list(server.all("/notes", "notes", invitation=f"{venue}/-/{submission}", details="replies"))
        prefix = f"{venue}/{submission}{{}}/{reviewers.rpartition('/')[2].removesuffix('s')}_"
        people = signed(server, [prefix.format(note["number"]) for note in notes])
    else:
        notes = old_notes(server, venue)
        people = signed_one_by_one(server, venue, notes)
    number = {note["id"]: str(note["number"]) for note in notes}
    committee = server.get("/groups", id=reviewers)["groups"][0]["members"]
    return {
        "notes.json": {"notes": [plain(note) for note in notes]},
        "people.csv": [("signature", "profile_id"), *sorted(people.items())],
        "committee.csv": [("reviewer",), *((person,) for person in sorted(committee))],
        "assignments.csv": [("paper", "reviewer"), *pairs(server.edges(f"{reviewers}/-/Assignment"), number)],
        "conflicts.csv": [("paper", "conflict"), *pairs(server.edges(f"{reviewers}/-/Conflict"), number)],
    }


def signed(server: Server, prefixes: Iterable[str]) -> dict[str, str]:
    """Who is behind each signature: the groups of these names, with one member each."""
    groups = (group for prefix in prefixes for group in server.all("/groups", "groups", prefix=prefix))
    return {group["id"]: group["members"][0] for group in groups if group.get("members")}


def old_notes(server: Server, venue: str) -> list[dict[str, Any]]:
    """Submissions on the old API: those of a double-blind venue go by another name."""
    for name in ("Blind_Submission", "Submission"):
        invitation = f"{venue}/-/{name}"
        if notes := list(server.all("/notes", "notes", invitation=invitation, details="directReplies")):
            return notes
    sys.exit(f"{venue} has no submissions on the old API")


def signed_one_by_one(server: Server, venue: str, notes: Iterable[dict[str, Any]]) -> dict[str, str]:
    """The same on the old API, where groups are called AnonReviewer2 or Reviewer_AbCd: each by its name."""
    replies = [reply for note in notes for reply in note["details"]["directReplies"]]
    reviews = [reply for reply in replies if reply["invitation"].endswith("/-/Official_Review")]
    names = {name for review in reviews for name in review["signatures"] if name.startswith(f"{venue}/")}
    found = {name: server.get("/groups", id=name)["groups"] for name in sorted(names)}
    return {
        name: group[0]["members"][0] for name, group in found.items() if group and group[0].get("members")
    }


def pairs(edges: Iterable[tuple[str, str]], number: dict[str, str]) -> list[tuple[str, str]]:
    """Edges by the number of the paper; those of submissions that are gone are left out."""
    found = {(number[head], person) for head, person in edges if head in number}
    return sorted(found, key=lambda pair: (int(pair[0]), pair[1]))


def save(files: dict[str, Any], out: Path) -> None:
    """Write the files into a new folder, for its owner alone."""
    os.umask(0o077)
    out.mkdir()
    for name, content in files.items():
        with (out / name).open("x", encoding="utf-8", newline="") as file:
            if name.endswith(".json"):
                json.dump(content, file)
            else:
                csv.writer(file, lineterminator="\n").writerows(content)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("venue", help="like CONF.cc/2027/Conference")
    parser.add_argument("--out", type=Path, required=True, help="the folder to make")
    parser.add_argument("--api", type=int, choices=(1, 2), default=2, help="1: venues until about 2023")
    parser.add_argument("--server", help=f"{SERVER.format(HOSTS[2])} unless given, or that of the old API")
    given = parser.parse_args()
    if given.out.exists():
        sys.exit(f"{given.out} exists already and is never overwritten")
    server = Server(given.server or SERVER.format(HOSTS[given.api]), given.api)
    name = os.environ.get("OPENREVIEW_USERNAME") or input("OpenReview name: ")
    server.login(name, os.environ.get("OPENREVIEW_PASSWORD") or getpass.getpass("password: "))
    files = fetch(server, given.venue)
    save(files, given.out)
    for file, content in files.items():
        print(f"{given.out / file}: {len(content['notes']) if 'notes' in content else len(content) - 1:,}")
    print("CONFIDENTIAL: these files say who reviewed what; only you can read them.")


if __name__ == "__main__":
    main()
