"""What the pages answer: pages, numbers, files; names and scripts in them stay text, and nobody is named."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("jinja2")
pytest.importorskip("typer")

from app_clients import ATTACK, Client, attacked, served, text_of
from blindcal.app import routes
from blindcal.app.pages import TABS
from blindcal.app.routes import ACTIONS
from blindcal.app.session import Session
from blindcal.project.check import Adversaries
from chair_exports import PEOPLE, write_exports
from commands import call
from small_bombs import BOMBS, MEMORY
from small_conferences import SmallConference, everything, small_conference

pytestmark = pytest.mark.edge

PAGES = ("/", "/pair", "/conference")
DOWNLOADS = ("decisions.csv", "certificate.json", "report.html", "CONFIDENTIAL-report.html")
LIMIT = 100_000


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def app(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Client, Session]]:
    monkeypatch.setattr(routes, "MAX_EXPORT", LIMIT)
    with served(home) as (client, desk, _):
        yield client, desk


@pytest.fixture
def client(app: tuple[Client, Session]) -> Client:
    return app[0]


@pytest.fixture
def desk(app: tuple[Client, Session]) -> Session:
    return app[1]


def put_all(client: Client, small: SmallConference) -> None:
    for kind in ("reviews", "reviewers", "pools"):
        assert client.put(f"{kind}.csv", text_of(getattr(small, kind)).encode()).status == 200


def look(client: Client) -> str:
    """Every page about the open folder, one after the other."""
    pages = [client.get(f"/conference/{slug}") for slug in TABS]
    assert {page.status for page in pages} == {200}, [page.text for page in pages if page.status != 200]
    text = "\n".join(page.text for page in pages)
    # Else Firefox fills a page in again as it was before, with "I am sure" ticked for the next step.
    assert all('autocomplete="off"' in form for form in re.findall("<form[^>]*>", text))
    return text


def printed_as_shown(client: Client) -> bool:
    """Print the list that is shown, with what the page's own form has."""
    page = client.get("/conference/lists").text
    form = page.split('data-action="print"')[1].split("</form>")[0]
    hidden = dict(re.findall('<input type="hidden" name="([^"]*)" value="([^"]*)">', form))
    return client.do("print", to="csv", **hidden)


def test_a_whole_conference_and_no_reviewer_anywhere(
    client: Client, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Canary ids, and a paper that is called like a script, through every page, download and message."""
    small = attacked(small_conference(papers=8))
    said: list[str] = []

    def seen() -> str:
        said.append(look(client))
        return said[-1]

    assert client.do("new", name="icx", accept="4", better="high", scores="public")
    assert (home / "icx.key").stat().st_mode & 0o777 == 0o600
    assert "Its fingerprint, which may be published" in seen()
    broken = small.with_review(3, score=small.canaries[0])
    assert client.put("<img src=x onerror=alert(1)>.csv", f"{ATTACK}\n1\n".encode()).status == 200
    assert "&lt;img src=x onerror=alert(1)&gt;.csv" in seen()
    assert ATTACK not in said[-1]
    assert client.do("remove", name="<img src=x onerror=alert(1)>.csv")
    assert client.put("reviews.csv", text_of(broken.reviews).encode()).status == 200
    assert re.search(r"1 problem.*reviews\.csv.*>4<.*score.*must be a number", seen(), re.DOTALL)
    put_all(client, small)
    assert "16 reviews of 8 papers by " in seen()
    assert client.do("import")
    assert "8 papers" in seen()
    assert client.do("plan")
    client.wait()
    assert "Choose this promise" in seen()
    assert client.do("guarantee", place="1")
    assert not client.do("decide")
    assert "tick that you are sure" in seen()
    assert client.do("decide", sure="yes")
    client.wait()
    assert "release 1: decided" in seen()
    assert client.do("preview", accept="5", wait_list="1")
    assert "5 accepted, 1 waiting" in seen()
    assert not client.do("print", shown="", to="csv")
    assert printed_as_shown(client)
    assert "confidential until you give it out" in seen()
    assert client.get("/conference/download/printed").text.startswith("paper,")
    for action, fields in (
        ("report", {}),
        ("verify", {"commitment": ""}),
        ("audit", {"evidence": "1.5", "colluders": "2"}),
        ("export", {"to": "csv", "what": "decisions"}),
    ):
        assert client.do(action, **fields)
        client.wait()
    loads = Counter(row[1] for row in small.reviews[1:])
    table = "".join(f"{who},{loads[who]}\n" for who, *_ in small.reviewers[1:] if who != "*")
    assert client.put("loads.csv", f"reviewer,load\n{table}".encode(), "tables").status == 200
    assert "loads.csv" in client.get("/conference/check").text
    assert "loads.csv" not in client.get("/conference/files").text
    assert client.do("audit", loads="loads.csv", prior="uniform")
    client.wait()
    page = seen()
    assert "Adversary: knows everyone" in page
    assert "Release 1 verified: everything agrees" in page
    assert "Adversary: " in page
    assert ATTACK not in page
    assert "&lt;script&gt;" in page
    assert page.count("CONFIDENTIAL: for the chair alone") == 5, "calibration, people, papers, lists, checks"
    for name in (*DOWNLOADS, "export"):
        answer = client.get(f"/conference/download/{name}")
        assert answer.status == 200, name
        shown = "decisions-csv.csv" if name == "export" else name
        assert answer.headers["content-disposition"] == f'attachment; filename="{shown}"'
        said.append(answer.text)
    public = home / "icx" / "public" / "release-1"
    for name in DOWNLOADS[:2]:
        assert client.get(f"/conference/download/{name}").body == (public / name).read_bytes()
    for path in ("/conference/page/report", "/conference/page/chair"):
        answer = client.get(path)
        assert "sha256-" in answer.headers["content-security-policy"]
        assert "unsafe-inline" not in answer.headers["content-security-policy"]
        assert ATTACK not in answer.text
        said.append(answer.text)
    heard = capfd.readouterr()
    said += [heard.out, heard.err]
    assert (heard.out, heard.err) == ("", "")
    assert not [one for one in (*small.canaries, "<img") for text in said if one in text]


def test_the_list_that_was_shown_is_printed_whatever_the_folder_says(client: Client, home: Path) -> None:
    """An empty wait list means that papers stay there, and not the number in conference.toml."""
    assert client.do("new", name="icx", accept="3", better="high", scores="public")
    put_all(client, small_conference(papers=8))
    assert client.do("import")
    settings = home / "icx" / "conference.toml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace("accept = 3", "accept = 3\nwait-list = 4"), encoding="utf-8")
    assert client.do("decide", sure="yes")
    client.wait()
    assert client.do("preview", accept="8", wait_list="")
    assert "8 accepted, 0 waiting" in client.get("/conference/lists").text
    assert printed_as_shown(client)
    assert printed_words(client) == {"accept": 8}
    assert client.do("preview", accept="3", wait_list="4")
    assert printed_as_shown(client)
    assert printed_words(client) == {"accept": 3, "wait list": 4, "reject": 1}
    assert client.do("preview", accept="4", wait_list="0")
    assert "4 accepted, 0 waiting" in client.get("/conference/lists").text
    assert printed_as_shown(client)
    assert printed_words(client) == {"accept": 4, "reject": 4}


def printed_words(client: Client) -> Counter[str]:
    table = client.get("/conference/download/printed").text.splitlines()
    return Counter(row["decision"] for row in csv.DictReader(table))


def test_the_same_conference_by_pages_and_by_commands_is_the_same_byte_for_byte(
    client: Client, home: Path, tmp_path: Path
) -> None:
    """One key, the same files, a correction with new papers and a longer list: public folders are equal."""
    few, more = small_conference(papers=8), small_conference(papers=11)
    apart = tmp_path / "commands"
    assert client.do("new", name="icx", accept="3", better="high", scores="public")
    apart.mkdir()
    shutil.copy(home / "icx.key", apart / "icx.key")
    put_all(client, few)
    assert client.do("import")
    for action in ("plan", "decide"):
        assert client.do(action, sure="yes")
        client.wait()
    put_all(client, more)
    assert client.do("remove", name="reviewers.csv")
    assert client.do("read", **{"kind:reviews.csv": "reviews"})
    assert client.do("import")
    assert client.do("amend", reason="three late papers", sure="yes")
    client.wait()
    assert client.do("preview", accept="5", wait_list="2")
    assert printed_as_shown(client)
    first, second = few.write(tmp_path / "first"), more.write(tmp_path / "second")
    folder = str(apart / "icx")
    files = ("reviews", "reviewers", "pools")
    for command in (
        ["new", folder, "--accept", "3", "--scores", "public"],
        ["import", folder, *(str(first / f"{name}.csv") for name in files)],
        ["decide", folder],
        ["import", folder, str(second / "reviews.csv"), "--as", "reviews"],
        ["import", folder, str(second / "pools.csv"), "--as", "pools"],
        ["decide", folder, "--amend", "--reason", "three late papers"],
    ):
        code, _, error = call(*command)
        assert code == 0, error
    mine, theirs = everything(home / "icx" / "public"), everything(apart / "icx" / "public")
    assert sorted(mine) == sorted(theirs)
    assert len(mine) >= 4
    assert mine == theirs


def test_a_file_that_makes_the_folder_unreadable_is_replaced_on_the_page_that_says_so(
    client: Client, home: Path
) -> None:
    small = small_conference(papers=8)
    assert client.do("new", name="icx", accept="4", better="high", scores="public")
    assert client.put("reviews.csv", text_of(small.reviews).encode()).status == 200
    assert client.do("import")
    reviews = home / "icx" / "inputs" / "reviews.csv"
    good = reviews.read_bytes()
    reviews.write_bytes(good + b"p07,someone,good\n")
    page = client.get("/conference/overview").text
    assert "cannot be read" in page
    assert "must be a number" in page
    assert 'data-upload="files"' in page
    assert "someone" not in page
    assert client.put("again.csv", text_of(small.reviews).encode()).status == 200
    assert "again.csv" in client.get("/conference/overview").text
    assert client.do("read", **{"kind:again.csv": "reviews"})
    assert "What will be brought in" in client.get("/conference/overview").text
    assert client.do("import")
    page = client.get("/conference/files").text
    assert "cannot be read" not in page
    assert "Brought in." in page
    assert (home / "icx" / "inputs" / "correction-1" / "reviews.csv").read_bytes() == good
    assert reviews.read_bytes() == good + b"p07,someone,good\n"
    assert "cannot be read" not in look(client)
    (home / "icx" / "conference.toml").write_text("better = high\n")
    assert "must be TOML" in client.get("/conference/files").text
    assert client.do("leave")


def test_pages_have_no_script_or_style_of_their_own_and_load_only_ours(client: Client) -> None:
    for path in PAGES:
        page = client.get(path).text
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", page)
        assert not re.search(r"<script(?! src=)", page)
        for found in re.findall(r'(?:src|href)="([^"]*)"', page):
            assert found.startswith((f"/{client.token}/", "#")), found
            if found.startswith("/"):
                assert client.ask("GET", found, whole=True).status == 200


def test_numbers_and_draws_of_the_pair_and_files_that_are_too_large(client: Client, desk: Session) -> None:
    found = json.loads(client.get("/pair/numbers?noise=0.3&by=epsilon").body)
    assert {*found["regions"]} == {"first", "second", "conflict"}
    for bad in ("noise=-1", "nose=1"):
        assert client.get(f"/pair/numbers?{bad}").status == 400
    drawn = json.loads(client.post("/pair/draws", {"number": "1000", "noise": "0.3"}).body)
    assert sum(map(sum, drawn["counts"])) == 1000
    for number in ("0", "x", "1e3", "99999999", "٣"):
        assert client.post("/pair/draws", {"number": number}).status == 400
    answer = client.put("a.csv", b"x" * (LIMIT + 1))
    assert (answer.status, answer.text) == (413, "a file must have at most 100,000 bytes\n")
    assert not [path for path in desk.private.rglob("*") if path.is_file()]


@pytest.mark.parametrize("kind", ["committee", "map", ""])
def test_a_small_file_that_would_take_gigabytes_is_refused(client: Client, desk: Session, kind: str) -> None:
    assert client.do("new", name="icx", accept="", better="high", scores="")
    assert client.put("a.csv.gz", BOMBS["rows.csv.gz"][0]()).status == 200
    assert client.do("read", **{"kind:a.csv.gz": kind})
    page = client.get("/conference/files").text
    assert MEMORY in page or "UTF-8" in page
    assert str(desk.private) not in page, "a file that is on its way goes by its name"
    assert not client.do("import")


@pytest.mark.parametrize("name", ["../evil.csv", "..", "a/b.csv", "/etc/passwd", "a\\b", ".x", "a\x00b"])
def test_a_path_for_a_name_is_refused(client: Client, desk: Session, home: Path, name: str) -> None:
    assert client.put(name, b"paper,reviewer,score\n1,a,2\n").status == 400
    assert not client.do("open", name=name)
    assert not client.do("remove", name=name)
    assert not client.do("new", name=name, accept="25%", better="high", scores="public")
    assert not [*home.rglob("*")]
    assert not [path for path in desk.private.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "path",
    [
        "/static/../routes.py",
        "/static/%2e%2e%2froutes.py",
        "/static/frame.html",
        "/conference/download/key.bin",
        "/conference/download/..%2f..%2fconference.toml",
        "/conference/download/decisions.csv",
        "/conference/download/export",
        "/conference/page/report",
        "/conference/page/../../conference.toml",
        "/conference/start",
        "/conference/parts",
        "/conference/..%2fframe",
        "/conference/do/decide",
        "/docs",
        "/openapi.json",
    ],
)
def test_other_files_cannot_be_had(client: Client, path: str) -> None:
    assert client.get(path).status in (403, 404, 405)


@pytest.mark.parametrize(
    ("action", "fields", "told"),
    [
        ("accept", {"accept": "x"}, "a share of the papers like 25%"),
        ("accept", {"accept": "100%"}, "a share of the papers like 25%"),
        ("accept", {"accept": "3.5"}, "a share of the papers like 25%"),
        ("set", {"accept-rate": "x"}, "must be a number"),
        ("guarantee", {"place": "x"}, "whole number"),
        ("plan", {}, "give one of"),
        ("fit", {}, "has no reviews yet"),
        ("import", {}, "no file that can be brought in"),
        ("withdraw", {"paper": "7", "reason": "why"}, "no such paper"),
        ("decide", {"sure": "yes"}, "give one of"),
        ("amend", {"reason": "why"}, "tick that you are sure"),
        ("preview", {"accept": "x"}, "must be a whole number"),
        ("print", {"shown": "5", "to": "csv"}, "not the list that was shown"),
        ("export", {"to": "csv", "what": "decisions"}, "no release yet"),
        ("report", {}, "no release yet"),
        ("verify", {}, "was never decided"),
        ("audit", {"evidence": "much"}, "must be a number"),
        ("audit", {"loads": "/etc/passwd"}, "no such table"),
        ("audit", {"prior": "../key"}, "no such table"),
        ("restore", {"paper": "7"}, "no such paper"),
        ("override", {"paper": "7", "decision": "accept", "reason": "why"}, "no such paper"),
        ("join", {"new": "x"}, "which id in past reviews"),
        ("read", {"columns": "paper"}, "paper"),
    ],
)
def test_what_cannot_be_done_is_told_on_the_page(
    client: Client, action: str, fields: dict[str, str], told: str
) -> None:
    assert client.do("new", name="icx", accept="", better="high", scores="")
    client.do(action, **fields)
    client.wait()
    assert told in client.get("/conference").text
    assert client.post("/conference/do/nothing", {}).status == 404


def test_an_audit_plays_nobody_who_was_not_asked_for(
    client: Client, desk: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A conference that is decided on its own reviews takes no other adversary."""
    started: list[tuple[str, object]] = []
    monkeypatch.setattr(desk, "start", lambda name, adversaries: started.append((name, adversaries)))
    assert client.do("audit", evidence="", colluders="", prior="", loads="")
    assert started == [("audited", Adversaries())]


@pytest.mark.parametrize("action", [name for name in ACTIONS if name not in ("new", "open", "example")])
def test_nothing_is_done_while_no_folder_is_open(client: Client, home: Path, action: str) -> None:
    answer = client.post(
        f"/conference/do/{action}", {"sure": "yes", "place": "0", "reason": "x", "name": "x"}
    )
    assert answer.status == 200
    client.wait()
    assert not [*home.rglob("*")]
    assert client.get("/conference").status == 200


def test_many_requests_at_once_make_one_folder_and_one_release(client: Client, home: Path) -> None:
    with ThreadPoolExecutor(8) as people:
        made = [*people.map(lambda _: client.do("new", name="icx", accept="4", scores="public"), range(8))]
        assert made.count(True) == 1
        put_all(client, small_conference(papers=8))
        assert any(people.map(lambda _: client.do("import"), range(4)))
        started = [*people.map(lambda _: client.do("decide", sure="yes"), range(8))]
    assert True in started
    client.wait()
    assert [path.name for path in (home / "icx" / "public").iterdir()] == ["release-1"]


def test_a_conference_with_past_reviews_is_calibrated_and_no_reviewer_is_named(
    client: Client, home: Path
) -> None:
    files = write_exports(home.parent / "downloads")
    assert client.do("new", name="icx", accept="40%", better="high", scores="public")
    for name in ("scores", "pc", "2025", "2026", "bulk"):
        assert client.put(f"{name}.csv", (files / f"{name}.csv").read_bytes()).status == 200
    assert client.get("/conference/files").text.count("there are several files of reviews") == 3
    assert client.do("read", **{"kind:2025.csv": "past", "kind:2026.csv": "past"})
    said = [client.get("/conference/files").text]
    assert "past: 2025, 30 reviews" in said[0]
    assert client.do("import")
    assert client.do("fit")
    client.wait()
    said.append(look(client))
    assert "learned from 2 past conferences" in said[1]
    assert "What makes scores differ" in said[1]
    assert (home / "icx" / "inputs" / "reviewers.csv").is_file()
    assert not [one for one in (*PEOPLE, "idle@example.org", "Canary") for text in said if one in text]
