#!/usr/bin/env python3
"""Save what blindcal needs of an OpenReview venue: reviews, who wrote them, assignments and conflicts.

    python tools/fetch_openreview.py CONF.cc/2027/Conference --out fetched
    python tools/fetch_openreview.py CONF.cc/2022/Conference --api 1 --out fetched-2022

For a program chair, with the account that may see reviewers. This script is no part of the package, which
never reaches for the network: it stands alone, uses nothing but Python's standard library, only reads (it
POSTs nothing but the login), and talks to OpenReview alone. Name and password are taken from
OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD, or prompted for, and so is the code of a two-step login; they are
sent to /login and /mfa alone and never written down.

Writes into a new folder that only you can enter:

    notes.json        submissions with their reviews, without times and texts, for `blindcal import`
    people.csv        signature,profile_id: who is behind each anonymous signature, for --map
    committee.csv     reviewer: everyone in the group of reviewers
    assignments.csv   paper,reviewer: who was assigned, if the venue says it
    conflicts.csv     paper,conflict, if there are any

Then: blindcal new icx2027 --committee fetched/committee.csv --conflicts fetched/conflicts.csv
      blindcal import icx2027 fetched/notes.json --map fetched/people.csv

Reviews that could not be used (no score, or nobody known behind the signature) are counted; if they are more
than --missing allows, nothing is written.
"""

from __future__ import annotations

import argparse
import csv
import getpass
import json
import os
import re
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
# Longer texts are no scores, unless most answers to the same question start with a number, as labels do.
LONGEST = 200
SCORE = re.compile(r"\s*[+-]?[0-9]+(?:\.[0-9]+)?(?:\s*[:=(]|\s|$)")


class Server:
    """The API, as far as it is needed: GET, and POST to log in."""

    def __init__(self, url: str, api: int) -> None:
        host = urllib.parse.urlsplit(url)
        if host.scheme != "https" and host.hostname not in ("localhost", "127.0.0.1"):
            sys.exit("the server must be reached by https: a password is sent to it")
        self.url, self.api, self.token = url.rstrip("/"), api, ""

    def login(self, name: str, password: str) -> str:
        """The token, once a code was given too if the account has a two-step login."""
        answer = self._answer("/login", body={"id": name, "password": password})
        if answer.get("mfaPending"):
            methods = [answer.get("preferredMethod"), *answer["mfaMethods"]]
            answer = self._second_step(answer["mfaPendingToken"], methods)
        return str(answer["token"])

    def _second_step(self, pending: str, methods: list[Any]) -> Any:
        method = next((method for method in methods if method in ("totp", "emailOtp")), None)
        if method is None:
            sys.exit("this two-step login has no codes: set up an authenticator app or email on OpenReview")
        step = {"mfaPendingToken": pending, "method": method}
        if method == "emailOtp":
            self._answer("/mfa/challenge", body=step)
        code = input(f"code {'of your app' if method == 'totp' else 'sent to you by email'}: ").strip()
        return self._answer("/mfa/verify", body={**step, "code": code})

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
    """A setting of the venue; the first if there are several."""
    found = (group.get("content") or {}).get(name, {}).get("value") or otherwise
    return str(found[0] if isinstance(found, list) else found)


def replies_of(note: dict[str, Any]) -> list[dict[str, Any]]:
    details = note.get("details") or {}
    return details.get("replies") or details.get("directReplies") or []


def is_review(note: dict[str, Any], name: str) -> bool:
    kinds = note.get("invitations") or [note.get("invitation") or ""]
    return not note.get("ddate") and any(kind.endswith(f"/-/{name}") for kind in kinds)


def answer_of(note: dict[str, Any], question: str) -> Any:
    item = (note.get("content") or {}).get(question)
    return item.get("value") if isinstance(item, dict) else item


def scores_in(reviews: list[dict[str, Any]], named: Iterable[str]) -> set[str]:
    """The questions that scores or confidences answer: those that are named so, and any whose answers mostly
    start with a number."""
    questions = {question for review in reviews for question in review.get("content") or {}}
    found = set(named)
    for question in questions:
        answers = [str(answer) for review in reviews if (answer := answer_of(review, question)) is not None]
        if 2 * sum(map(bool, map(SCORE.match, answers))) > len(answers):
            found.add(question)
    return found & questions


def plain(note: dict[str, Any], scores: set[str]) -> dict[str, Any]:
    """A note without its times, and without texts that can be no score; scores are never cut."""
    content = {
        name: item
        for name, item in (note.get("content") or {}).items()
        if name == "title" or name in scores or len(json.dumps(item)) <= LONGEST
    }
    replies = [plain(reply, scores) for reply in replies_of(note)]
    kept = {key: note[key] for key in KEPT if note.get(key) is not None}
    return {**kept, "content": content, **({"details": {"replies": replies}} if replies else {})}


def check(notes: list[dict[str, Any]], kind: str, rating: str, people: dict[str, str], most: float) -> None:
    """Say which share of the reviews to be saved could not be used, and end if it is more than `most`."""
    reviews = [reply for note in notes for reply in replies_of(note) if is_review(reply, kind)]
    scored = [answer_of(review, rating) not in (None, "") for review in reviews]
    known = [all(name[:1] == "~" or name in people for name in review["signatures"]) for review in reviews]
    good = sum(score and person for score, person in zip(scored, known, strict=True))
    missing = 1 - good / len(reviews) if reviews else 1.0
    print(
        f"{len(reviews):,} reviews ({kind}), score {rating}: {len(reviews) - sum(scored):,} without it, "
        f"{len(reviews) - sum(known):,} by unknown people; {100 * missing:.1f} % cannot be used"
    )
    if missing > most:
        others = ", ".join(sorted(scores_in(reviews, ()))) or "none"
        sys.exit(
            f"that is more than {100 * most:g} % (--missing): nothing is written. Answers that look like "
            f"scores: {others} (--rating)"
        )


def fetch(server: Server, venue: str, group: str, rating: str | None, most: float) -> dict[str, Any]:
    """All that is saved, by file."""
    settings = server.get("/groups", id=venue)["groups"][0]
    reviewers = value(settings, "reviewers_id", f"{venue}/{group}")
    kind = value(settings, "review_name", "Official_Review")
    if server.api == 2:
        submission = value(settings, "submission_name", "Submission")
        notes = list(server.all("/notes", "notes", invitation=f"{venue}/-/{submission}", details="replies"))
        name = value(settings, "reviewers_anon_name", reviewers.rpartition("/")[2].removesuffix("s") + "_")
        prefix = f"{venue}/{submission}{{}}/{name}"
        people = signed(server, [prefix.format(note["number"]) for note in notes])
    else:
        notes = old_notes(server, venue)
        people = signed_one_by_one(server, venue, notes, kind)
    reviews = [reply for note in notes for reply in replies_of(note) if is_review(reply, kind)]
    rating = rating or value(settings, "review_rating", "rating")
    scores = scores_in(reviews, [rating, value(settings, "review_confidence", "confidence")])
    saved = [plain(note, scores) for note in notes]
    check(saved, kind, rating, people, most)
    number = {note["id"]: str(note["number"]) for note in notes}
    committee = server.get("/groups", id=reviewers)["groups"][0]["members"]
    return {
        "notes.json": {"notes": saved},
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
    """Submissions on the old API: those of a double-blind venue go by another name, as do those withdrawn."""

    def called(name: str) -> list[dict[str, Any]]:
        invitation = f"{venue}/-/{name}"
        return list(server.all("/notes", "notes", invitation=invitation, details="directReplies"))

    notes = called("Blind_Submission") or called("Submission")
    if not notes:
        sys.exit(f"{venue} has no submissions on the old API")
    return [*notes, *called("Withdrawn_Submission"), *called("Desk_Rejected_Submission")]


def signed_one_by_one(
    server: Server, venue: str, notes: Iterable[dict[str, Any]], kind: str
) -> dict[str, str]:
    """The same on the old API, where groups are called AnonReviewer2 or Reviewer_AbCd: each by its name."""
    reviews = [reply for note in notes for reply in replies_of(note) if is_review(reply, kind)]
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
    parser.add_argument("--reviewers", default="Reviewers", help="the group, if the venue does not say it")
    parser.add_argument("--rating", help="the question that scores answer, if the venue does not say it")
    parser.add_argument("--missing", type=float, default=0.02, help="share of reviews that may be unusable")
    given = parser.parse_args()
    if given.out.exists():
        sys.exit(f"{given.out} exists already and is never overwritten")
    server = Server(given.server or SERVER.format(HOSTS[given.api]), given.api)
    name = os.environ.get("OPENREVIEW_USERNAME") or input("OpenReview name: ")
    # Also for venues on the old API, the login is on the new one.
    gate = Server(given.server or SERVER.format(HOSTS[2]), 2)
    server.token = gate.login(name, os.environ.get("OPENREVIEW_PASSWORD") or getpass.getpass("password: "))
    files = fetch(server, given.venue, given.reviewers, given.rating, given.missing)
    # blindcal refuses an empty list, which may be a mistake: a list of nobody is not written.
    there = {file: content for file, content in files.items() if len(content) > 1 or "notes" in content}
    save(there, given.out)
    for file, content in files.items():
        number = len(content["notes"]) if "notes" in content else len(content) - 1
        print(f"{given.out / file}: {number:,}" if file in there else f"{file}: none, not written")
    print("CONFIDENTIAL: these files say who reviewed what; only you can read them.")


if __name__ == "__main__":
    main()
