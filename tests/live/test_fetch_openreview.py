"""tools/fetch_openreview.py against a local stand-in of the API: what it asks, saves and refuses."""

from __future__ import annotations

import ast
import csv
import json
import os
import runpy
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from blindcal.importers import import_reviews
from blindcal.importers.normalize import Imported
from blindcal.importers.people import read_conflicts, read_map, read_people
from blindcal.importers.raw_export import Choices
from exports import SYSTEMS
from json_server import JsonHandler, served

SCRIPT = Path(__file__).parents[2] / "tools" / "fetch_openreview.py"
VENUE = "CONF.cc/2027/Conference"
PEOPLE = {"Ab": "~Ada_Byron1", "Cd": "~Bo_Chen1", "Ef": "~Cy_Diaz2"}
PAPERS = range(1, 5)
PAGE = 3
# As long as the labels of NeurIPS 2023.
LABEL = "Technically solid paper, with high impact on at least one sub-area or moderate impact on many. " * 3


def review(paper: int, place: int, signature: str) -> dict[str, object]:
    return {
        "id": f"r{paper}{place}",
        "forum": f"f{paper}",
        "replyto": f"f{paper}",
        "number": place,
        "invitations": [f"{VENUE}/Submission{paper}/-/Official_Review", f"{VENUE}/-/Edit"],
        "signatures": [f"{VENUE}/Submission{paper}/Reviewer_{signature}{paper}"],
        "cdate": 1767225600000 + place,
        "tmdate": 1767225600000,
        "content": {
            "summary": {"value": "A long text. " * 50},
            "rating": {"value": f"{paper + place}: {LABEL if paper + place > 4 else 'fine'}"},
            "confidence": {"value": 3},
        },
    }


def submission(paper: int) -> dict[str, object]:
    pair = list(PEOPLE)[paper % 3 :] + list(PEOPLE)
    replies = [review(paper, place, signature) for place, signature in enumerate(pair[:2], start=1)]
    return {
        "id": f"f{paper}",
        "forum": f"f{paper}",
        "number": paper,
        "invitations": [f"{VENUE}/-/Submission"],
        "cdate": 1767225600000,
        "content": {"title": {"value": f"Paper {paper} " + "x" * 300}, "abstract": {"value": "y" * 999}},
        "details": {"replies": replies},
    }


OLD = "CONF.cc/2021/Conference"
COMMITTEE = "WORK.cc/2027/Workshop"  # its reviewers are a program committee


def old_submission(paper: int) -> dict[str, object]:
    """The same on the old API: bare values, one invitation, AnonReviewer1 and 2 on every paper."""
    replies = [
        {
            "id": f"r{paper}{place}",
            "forum": f"f{paper}",
            "replyto": f"f{paper}",
            "invitation": f"{OLD}/Paper{paper}/-/Official_Review",
            "signatures": [f"{OLD}/Paper{paper}/AnonReviewer{place}"],
            "tcdate": 1767225600000,
            "content": {
                "review": "A long text. " * 50,
                "rating": f"{paper + place}: {LABEL if paper + place > 4 else 'fine'}",
                "confidence": f"3: {LABEL}",
            },
        }
        for place in (1, 2)
    ]
    comment = {"id": f"c{paper}", "invitation": f"{OLD}/Paper{paper}/-/Official_Comment", "signatures": [OLD]}
    title = {"title": f"Paper {paper} " + "x" * 300, "abstract": "y" * 999}
    plain = {"id": f"f{paper}", "forum": f"f{paper}", "number": paper, "content": title}
    invitation = f"{OLD}/-/{'Withdrawn' if paper == PAPERS[-1] else 'Blind'}_Submission"
    return {**plain, "invitation": invitation, "details": {"directReplies": [*replies, comment]}}


def old_groups(query: dict[str, str]) -> list[dict[str, object]]:
    name = query["id"]
    if name == f"{OLD}/Reviewers":
        return [{"id": name, "members": [*PEOPLE.values(), "~Idle_Member1"]}]
    if "AnonReviewer" not in name:
        return [{"id": name, "content": None}]
    paper, place = int(name.split("/Paper")[1].split("/")[0]), int(name[-1])
    order = [*PEOPLE.values()]
    return [{"id": name, "members": [order[(paper % 3 + place - 1) % 3]]}]


def groups(query: dict[str, str]) -> list[dict[str, object]]:
    if query.get("id") == VENUE:
        return [{"id": VENUE, "content": {"submission_name": {"value": "Submission"}}}]
    if query.get("id") == COMMITTEE:
        group = {"value": f"{COMMITTEE}/Program_Committee"}
        return [{"id": COMMITTEE, "content": {"reviewers_id": group, "review_name": {"value": "Review"}}}]
    if COMMITTEE in (query.get("id") or query["prefix"]):
        there = {name: text.replace(COMMITTEE, VENUE) for name, text in query.items()}
        there = {name: text.replace("Program_Committee", "Reviewer") for name, text in there.items()}
        there |= {"id": f"{VENUE}/Reviewers"} if "id" in query else {}
        renamed = json.dumps(groups(there)).replace("/Reviewer_", "/Program_Committee_")
        found: list[dict[str, object]] = json.loads(renamed.replace(VENUE, COMMITTEE))
        return found
    if query.get("id") == f"{VENUE}/Reviewers":
        return [{"id": f"{VENUE}/Reviewers", "members": [*PEOPLE.values(), "~Idle_Member1"]}]
    known = [
        (f"{VENUE}/Submission{p}/Reviewer_{who}{p}", name) for p in PAPERS for who, name in PEOPLE.items()
    ]
    return [{"id": key, "members": [name]} for key, name in sorted(known) if key.startswith(query["prefix"])]


def edges(query: dict[str, str]) -> list[dict[str, object]]:
    tails = {"Conflict": ["~Idle_Member1"], "Assignment": ["~Ada_Byron1", "~Bo_Chen1"]}
    found = tails[query["invitation"].rpartition("/")[2]]
    heads = ["f1", "gone"] if "~Idle_Member1" in found else [f"f{paper}" for paper in PAPERS]
    return [{"id": {"head": head}, "values": [{"tail": tail} for tail in found]} for head in heads]


class Handler(JsonHandler, BaseHTTPRequestHandler):
    asked: list[tuple[str, str]]
    busy: int
    methods: tuple[str, ...] = ()
    unscored: int = 0

    def do_POST(self) -> None:
        self.asked.append(("POST", self.path))
        step = {"mfaPendingToken": "p", "method": "totp" if "totp" in self.methods else "emailOtp"}
        good = {
            "/login": {"id": "chair", "password": "secret"},
            "/mfa/challenge": step,
            "/mfa/verify": {**step, "code": "123456"},
        }[self.path] == self.posted()
        pending = {"mfaPending": True, "mfaPendingToken": "p", "mfaMethods": self.methods}
        answer = pending if self.methods and self.path == "/login" else {"token": "t0ken"}
        self.answer(answer if good else {"message": "no"}, 200 if good else 401)

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self.asked.append(("GET", parts.path))
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if self.headers.get("Authorization") != "Bearer t0ken":
            self.answer({}, 403)
        elif type(self).busy:
            type(self).busy -= 1
            self.answer({}, 429, Retry_After="0")
        elif parts.path == "/edges":
            self.answer({"groupedEdges": edges(query)})
        elif parts.path == "/groups" and OLD in query.get("id", ""):
            self.answer({"groups": old_groups(query)})
        elif parts.path == "/notes" and OLD in query["invitation"]:
            assert query["details"] == "directReplies"
            start = int(query["offset"])
            notes = [n for n in map(old_submission, PAPERS) if n["invitation"] == query["invitation"]]
            self.answer({"notes": notes[start : start + int(query["limit"])]})
        elif parts.path == "/groups":
            self.answer({"groups": self.page(groups(query), query)})
        else:
            assert query["details"] == "replies"
            text = json.dumps([submission(paper) for paper in PAPERS])
            text = text.replace('"rating": {', '"summary_2": {', self.unscored)
            if COMMITTEE in query["invitation"]:
                text = text.replace(VENUE, COMMITTEE).replace("/Reviewer_", "/Program_Committee_")
                text = text.replace("Official_Review", "Review")
            self.answer({"notes": self.page(json.loads(text), query)})

    def page(self, items: list[dict[str, object]], query: dict[str, str]) -> list[dict[str, object]]:
        later = [item for item in items if str(item["id"]) > query.get("after", "")]
        return later[: int(query.get("limit", 1000))]


@pytest.fixture
def server() -> Iterator[tuple[str, type[Handler]]]:
    fresh = type("Fresh", (Handler,), {"asked": [], "busy": 1})
    with served(fresh) as address:
        yield address, fresh


def run(
    *arguments: str, password: str = "secret", page: int = PAGE, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "OPENREVIEW_USERNAME": "chair",
        "OPENREVIEW_PASSWORD": password,
        "no_proxy": "127.0.0.1",
    }
    steps = ["import runpy, sys", "sys.argv = sys.argv[1:]", "script = runpy.run_path(sys.argv[0])"]
    steps += [f"script['fetch'].__globals__['PAGE'] = {page}", "script['main']()"]
    command = [sys.executable, "-c", "; ".join(steps), str(SCRIPT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, input=typed)


def rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


@pytest.fixture
def fetched(server: tuple[str, type[Handler]], tmp_path: Path) -> Callable[..., tuple[str, Path]]:
    """Runs the script; what it says, and the folder that it makes."""

    def fetched(*arguments: str, typed: str = "") -> tuple[str, Path]:
        done = run(*arguments, "--out", str(tmp_path / "fetched"), "--server", server[0], typed=typed)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr, tmp_path / "fetched"

    return fetched


def imported(out: Path) -> tuple[dict[str, str], Imported]:
    """The people and the reviews of a folder; of times and long texts nothing is saved."""
    people, notes = read_map((out / "people.csv").read_bytes(), "people.csv"), out / "notes.json"
    assert not any(word in notes.read_text() for word in ('date"', "17672256", "A long text", "yyy"))
    return people, import_reviews(notes.read_bytes(), "notes.json", Choices(people=people))


def test_what_is_fetched_can_be_imported(
    server: tuple[str, type[Handler]], fetched: Callable[..., tuple[str, Path]]
) -> None:
    said, out = fetched(VENUE)
    assert "secret" not in said
    assert {stat.S_IMODE(path.stat().st_mode) for path in out.iterdir()} == {0o600}
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    people, found = imported(out)
    assert len(people) == len(PEOPLE) * len(PAPERS)
    assert found.reviews.papers == ("1", "2", "3", "4"), "all pages"
    assert found.reviews.reviewers == tuple(sorted(PEOPLE.values()))
    assert found.reviews.score.tolist()[:2] == [2.0, 3.0]
    assert sorted(found.reviews.score) == [2, 3, 3, 4, 4, 5, 5, 6], "high scores have long labels"
    assert "8 reviews (Official_Review), score rating: 0 without it, 0 by unknown people; 0.0 %" in said
    assert found.titles["1"].startswith("Paper 1 xxx")
    committee = read_people((out / "committee.csv").read_bytes(), "committee.csv")
    assert committee.keys() == {*PEOPLE.values(), "~Idle_Member1"}
    conflicts, _ = read_conflicts((out / "conflicts.csv").read_bytes(), "conflicts.csv")
    assert conflicts == (("1", "~Idle_Member1"),), "one of a submission that is gone is left out"
    assert rows(out / "assignments.csv")[:2] == [["paper", "reviewer"], ["1", "~Ada_Byron1"]]
    assert len(rows(out / "assignments.csv")) == 1 + 2 * len(PAPERS)
    assert [path for kind, path in server[1].asked if kind == "POST"] == ["/login"], "nothing else is written"


def test_a_venue_on_the_old_api(fetched: Callable[..., tuple[str, Path]]) -> None:
    _, out = fetched(OLD, "--api", "1")
    people, found = imported(out)
    assert people[f"{OLD}/Paper1/AnonReviewer1"] == "~Bo_Chen1"
    assert found.recognized[0] == "OpenReview notes (API 1)"
    assert found.reviews.papers == ("1", "2", "3", "4"), "all pages"
    assert found.reviews.reviewers == tuple(sorted(PEOPLE.values()))
    assert found.reviews.score.tolist()[:2] == [2.0, 3.0]
    assert len(rows(out / "committee.csv")) == 5
    assert len(found.reviews) == 8, "high scores have long labels"
    assert found.withdrawn == {"4": "withdrawn"}, "its reviews calibrate"


def test_a_program_committee_is_fetched_like_reviewers(fetched: Callable[..., tuple[str, Path]]) -> None:
    people, found = imported(fetched(COMMITTEE)[1])
    assert f"{COMMITTEE}/Submission1/Program_Committee_Ab1" in people
    assert len(found.reviews) == 8
    assert found.reviews.reviewers == tuple(sorted(PEOPLE.values()))


@pytest.mark.parametrize("method", ["totp", "emailOtp"])
def test_a_two_step_login_asks_for_its_code(
    server: tuple[str, type[Handler]],
    fetched: Callable[..., tuple[str, Path]],
    tmp_path: Path,
    method: str,
) -> None:
    url, handler = server
    handler.methods = (method, "passkey")
    said, _ = fetched(VENUE, typed="123456\n")
    asked = [path for kind, path in handler.asked if kind == "POST"]
    assert asked == ["/login", *(["/mfa/challenge"] if method == "emailOtp" else []), "/mfa/verify"]
    assert ("code of your app: " if method == "totp" else "code sent to you by email: ") in said
    wrong = run(VENUE, "--out", str(tmp_path / "other"), "--server", url, typed="654321\n")
    assert (wrong.returncode, wrong.stderr) == (1, "/mfa/verify: the server answers 401 Unauthorized\n")
    handler.methods = ("passkey",)
    without = run(VENUE, "--out", str(tmp_path / "other"), "--server", url)
    assert "has no codes: set up an authenticator app" in without.stderr
    assert not (tmp_path / "other").exists()


def test_a_share_of_reviews_that_cannot_be_used_is_said_and_refused(
    server: tuple[str, type[Handler]], tmp_path: Path
) -> None:
    url, handler = server
    handler.unscored = 2
    out = tmp_path / "fetched"
    done = run(VENUE, "--out", str(out), "--server", url)
    assert done.returncode == 1
    assert "2 without it, 0 by unknown people; 25.0 % cannot be used" in done.stdout
    assert "more than 2 % (--missing): nothing is written. Answers that look like scores: conf" in done.stderr
    assert not out.exists()
    assert run(VENUE, "--out", str(out), "--server", url, "--missing", "0.3").returncode == 0
    done = run(VENUE, "--out", str(tmp_path / "x"), "--server", url, "--rating", "soundness")
    assert "8 reviews (Official_Review), score soundness: 8 without it" in done.stdout


def test_the_labels_of_neurips_are_saved_whole_and_texts_are_not() -> None:
    """Those of 7 and 8 have more than 200 characters."""
    notes = json.loads((SYSTEMS / "openreview-py-2.9.1-neurips2023-labels.json").read_text(encoding="utf-8"))
    script = runpy.run_path(str(SCRIPT))
    reviews = [
        reply for note in notes for reply in note["details"]["replies"]
        if script["is_review"](reply, "Official_Review")
    ]  # fmt: skip
    scores = script["scores_in"](reviews, ["rating", "confidence"])
    assert scores == {"rating", "confidence", "soundness", "presentation", "contribution"}
    saved = json.dumps([script["plain"](note, scores) for note in notes])
    people = read_map((SYSTEMS / "openreview-neurips2023-people.csv").read_bytes(), "people.csv")
    imported = import_reviews(saved.encode(), "notes.json", Choices(people=people))
    assert len(imported.reviews) == 90
    assert {7.0, 8.0} < {*imported.reviews.score}
    assert "long long" not in saved


def test_a_wrong_password_leaves_nothing(server: tuple[str, type[Handler]], tmp_path: Path) -> None:
    done = run(VENUE, "--out", str(tmp_path / "fetched"), "--server", server[0], password="wrong")
    assert (done.returncode, done.stderr) == (1, "/login: the server answers 401 Unauthorized\n")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_exists_and_a_plain_connection_are_refused(tmp_path: Path) -> None:
    done = run(VENUE, "--out", str(tmp_path), "--server", "http://127.0.0.1:1")
    assert "exists already and is never overwritten" in done.stderr
    done = run(VENUE, "--out", str(tmp_path / "x"), "--server", "http://api2.openreview.net")
    assert "must be reached by https" in done.stderr
    done = run(VENUE, "--out", str(tmp_path / "x"), "--server", "http://127.0.0.1:1")
    assert "cannot be reached" in done.stderr


def test_the_script_stands_alone_and_is_short() -> None:
    """Whoever gives it a password should be able to read it first."""
    text = SCRIPT.read_text(encoding="utf-8")
    tree = ast.parse(text)
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= {*sys.stdlib_module_names}
    assert len(text.split("\n")) < 300
    assert text.count("https://") == 1, "one server"
