"""What the rooms answer: pages, numbers, files; names and scripts in them stay text, and nobody is named."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("jinja2")

from app_clients import Client, served
from blindcal.app.session import Session
from chair_exports import PEOPLE, write_exports
from small_bombs import BOMBS, MEMORY
from small_conferences import SmallConference, small_conference

pytestmark = pytest.mark.edge

ATTACK = "<script>alert(1)</script>"
PAGES = ("/", "/pair", "/conference")
DOWNLOADS = ("decisions.csv", "certificate.json", "report.html", "CONFIDENTIAL-report.html")
LIMIT = 100_000


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def both(home: Path) -> Iterator[tuple[Client, Session]]:
    with served(home, limit=LIMIT) as (client, desk, _):
        yield client, desk


def attacked(small: SmallConference) -> SmallConference:
    def renamed(rows: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
        return tuple((ATTACK, *row[1:]) if row[0] == "p00" else row for row in rows)

    return SmallConference(renamed(small.reviews), small.reviewers, renamed(small.pools))


def text_of(rows: tuple[tuple[str, ...], ...]) -> bytes:
    return "".join(",".join(row) + "\n" for row in rows).encode()


def put_all(client: Client, small: SmallConference) -> None:
    for role in ("reviews", "reviewers", "pools"):
        assert client.put(role, f"{role}.csv", text_of(getattr(small, role))).status == 200


def test_a_whole_conference_and_no_reviewer_anywhere(
    both: tuple[Client, Session], home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Canary ids, and a paper that is called like a script, through every page, download and message."""
    client, _ = both
    small = attacked(small_conference(papers=8))
    said: list[str] = []

    def look() -> str:
        page = client.get("/conference").text
        said.append(page)
        return page

    broken = small.with_review(3, score=small.canaries[0])
    assert client.put("reviews", "reviews.csv", text_of(broken.reviews)).status == 200
    page = look()
    assert re.search(r"1 problem.*reviews\.csv.*>4<.*score.*must be a number", page, re.DOTALL)
    put_all(client, small)
    assert "16 reviews of 8 papers by " in look()
    assert client.do("found", name="icx", accept_rate="40", better="high", scores="public", grid="")
    client.wait()
    assert "8 papers" in look()
    assert (home / "icx.key").stat().st_mode & 0o777 == 0o600
    assert client.do("compare")
    client.wait()
    assert "Choose this promise" in look()
    assert client.do("guarantee", place="1")
    assert not client.do("decide")
    assert "tick that you are sure" in look()
    assert client.do("decide", sure="yes")
    client.wait()
    page = look()
    assert "Decided" in page
    assert ATTACK not in page
    assert "&lt;script&gt;" in page
    for name in DOWNLOADS:
        answer = client.get(f"/conference/download/{name}")
        assert answer.status == 200, name
        assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
        said.append(answer.text)
    public = home / "icx" / "public" / "release-1"
    for name in DOWNLOADS[:2]:
        assert client.get(f"/conference/download/{name}").body == (public / name).read_bytes()
    for path in ("/conference/report", "/conference/chair"):
        answer = client.get(path)
        assert "sha256-" in answer.headers["content-security-policy"]
        assert "unsafe-inline" not in answer.headers["content-security-policy"]
        assert ATTACK not in answer.text
        said.append(answer.text)
    heard = capfd.readouterr()
    said += [heard.out, heard.err]
    assert (heard.out, heard.err) == ("", "")
    assert not [one for one in small.canaries for text in said if one in text]


def test_pages_have_no_script_or_style_of_their_own_and_load_only_ours(both: tuple[Client, Session]) -> None:
    client, _ = both
    for path in PAGES:
        page = client.get(path).text
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", page)
        assert not re.search(r"<script(?! src=)", page)
        for found in re.findall(r'(?:src|href)="([^"]*)"', page):
            assert found.startswith((f"/{client.token}/", "#")), found
            if found.startswith("/"):
                assert client.ask("GET", found, whole=True).status == 200


def test_numbers_and_draws(both: tuple[Client, Session]) -> None:
    client, _ = both
    found = json.loads(client.get("/pair/numbers?noise=0.3&by=epsilon").body)
    assert len(found["plane"]) == 61
    assert client.get("/pair/numbers?noise=-1").status == 400
    assert client.get("/pair/numbers?nose=1").status == 400
    answer = client.post("/pair/draws", {"number": "1000", "noise": "0.3"})
    drawn = json.loads(answer.body)
    assert sum(map(sum, drawn["counts"])) == 1000
    for number in ("0", "x", "1e3", "99999999", "٣"):
        assert client.post("/pair/draws", {"number": number}).status == 400


def test_a_file_that_is_too_large_is_refused_while_it_is_read(both: tuple[Client, Session]) -> None:
    client, desk = both
    answer = client.put("reviews", "a.csv", b"x" * (LIMIT + 1))
    assert (answer.status, answer.text) == (413, "a file must have at most 100,000 bytes\n")
    assert not desk.uploads
    assert not [path for path in desk.private.rglob("*") if path.is_file()]


@pytest.mark.parametrize("role", ["reviews", "past", "committee", "conflicts"])
def test_a_small_file_that_would_take_gigabytes_is_refused(both: tuple[Client, Session], role: str) -> None:
    client, _ = both
    assert client.put(role, "a.csv.gz", BOMBS["rows.csv.gz"][0]()).status == 200
    assert MEMORY in client.get("/conference").text


@pytest.mark.parametrize("name", ["../evil.csv", "..", "a/b.csv", "/etc/passwd", "a\\b", ".x", "a\x00b"])
def test_a_path_for_a_name_is_refused(both: tuple[Client, Session], home: Path, name: str) -> None:
    client, desk = both
    assert client.put("reviews", name, b"paper,reviewer,score\n1,a,2\n").status == 400
    assert client.put("reviews/../past", "a.csv", b"x").status in (400, 404)
    assert client.put("key", "a.csv", b"x").status == 400
    assert not client.do("open", name=name)
    assert not client.do("remove", role="reviews", name=name)
    assert client.put("reviews", "r.csv", b"paper,reviewer,score\n1,a,2\n2,a,3\n").status == 200
    assert not client.do("found", name=name, accept_rate="25", better="high", scores="public", grid="")
    assert not [*home.rglob("*")]
    assert [path.name for path in desk.private.rglob("*") if path.is_file()] == ["r.csv"]


@pytest.mark.parametrize(
    "path",
    [
        "/static/../routes.py",
        "/static/%2e%2e%2froutes.py",
        "/static/frame.html",
        "/conference/download/key.bin",
        "/conference/download/..%2f..%2fconference.toml",
        "/conference/download/decisions.csv",
        "/conference/report",
        "/conference/do/assess",
        "/docs",
        "/openapi.json",
    ],
)
def test_other_files_cannot_be_had(both: tuple[Client, Session], path: str) -> None:
    client, _ = both
    assert client.get(path).status in (403, 404, 405)


def test_a_name_with_a_script_in_it_is_text(both: tuple[Client, Session]) -> None:
    client, _ = both
    client.put("reviews", "<img src=x onerror=alert(1)>.csv", f"{ATTACK}\n1\n".encode())
    page = client.get("/conference").text
    assert "<img" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;.csv" in page
    assert ATTACK not in page


@pytest.mark.parametrize(
    ("action", "fields", "told"),
    [
        ("accept", {"accept_rate": "x"}, "between 0 and 100"),
        ("accept", {"accept_rate": "100"}, "between 0 and 100"),
        ("accept", {"accept_rate": "25", "accept": "3"}, "either a share"),
        ("accept", {"accept": "3.5"}, "whole number"),
        ("guarantee", {"place": "x"}, "whole number"),
        ("compare", {}, "no conference is open"),
        ("report", {}, "no conference is open"),
        ("choose", {"columns": "paper"}, "paper"),
    ],
)
def test_what_cannot_be_done_is_told_on_the_page(
    both: tuple[Client, Session], action: str, fields: dict[str, str], told: str
) -> None:
    client, _ = both
    assert not client.do(action, **fields)
    assert told in client.get("/conference").text
    assert client.post("/conference/do/nothing", {}).status == 404


def test_the_embedded_conference_opens_and_is_compared_in_the_background(
    both: tuple[Client, Session],
) -> None:
    client, _ = both
    assert client.do("example")
    page = client.get("/conference").text
    assert "200 papers, 600 reviews" in page
    assert 'data-job="running"' in page
    assert client.do("cancel")
    client.wait()
    assert "Canceled" in client.get("/conference").text
    assert client.do("leave")


def test_a_conference_with_past_reviews_is_calibrated_and_no_reviewer_is_named(
    both: tuple[Client, Session], home: Path
) -> None:
    client, _ = both
    files = write_exports(home.parent / "downloads")
    roles = {"reviews": ["scores"], "committee": ["pc"], "past": ["2025", "2026"], "conflicts": ["bulk"]}
    said = []
    for role, names in roles.items():
        for name in names:
            assert client.put(role, f"{name}.csv", (files / f"{name}.csv").read_bytes()).status == 200
    said.append(client.get("/conference").text)
    assert client.do("found", name="icx", accept_rate="40", better="high", scores="public", grid="")
    client.wait()
    page = client.get("/conference").text
    said.append(page)
    assert "learned from 2 past conferences" in page
    assert "What makes scores differ" in page
    assert (home / "icx" / "inputs" / "reviewers.csv").is_file()
    assert not [one for one in (*PEOPLE, "idle@example.org", "Canary") for text in said if one in text]
