"""Who gets an answer: by the right name, with the token, from our own pages. All else is refused, and what is
answered allows a browser next to nothing."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("jinja2")

from app_clients import Answer, Client, served
from blindcal.app import routes
from blindcal.app.guard import MOST_BODY, new_token, policy
from blindcal.app.pages import TABS

pytestmark = pytest.mark.edge


PAGES = ("/conference", *(f"/conference/{slug}" for slug in TABS))
DOWNLOADS = ("decisions.csv", "certificate.json", "report.html", "CONFIDENTIAL-report.html", "export")
READ = (
    *PAGES,
    "/conference/page/report",
    "/conference/page/chair",
    *(f"/conference/download/{name}" for name in DOWNLOADS),
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with served(tmp_path_factory.mktemp("home")) as (found, _, _):
        yield found


def test_tokens_are_long_and_never_the_same_and_pass_with_the_right_name(client: Client) -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert min(map(len, tokens)) >= 43
    for name in ("127.0.0.1", "localhost"):
        assert client.get("/", Host=f"{name}:{client.port}").status == 200


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1.evil.example:{port}",
        "localhost.evil.example:{port}",
        "[::1]:{port}",
        "0.0.0.0:{port}",
        "127.0.0.1:{port}@evil.example",
        "LOCALHOST:{port} ",
    ],
)
def test_a_wrong_host_is_refused(client: Client, host: str | None) -> None:
    """A page that had its own name point here (DNS rebinding) comes by that name."""
    named = None if host is None else host.format(port=client.port)
    for path in READ:
        answer = client.get(path, Host=named)
        assert answer.status in (400, 403)
        assert "<html" not in answer.text


def test_two_hosts_are_refused(client: Client) -> None:
    with socket.create_connection(("127.0.0.1", client.port)) as line:
        line.sendall(
            f"GET /{client.token}/ HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nHost: evil.example\r\n"
            "Connection: close\r\n\r\n".encode()
        )
        assert b" 200 " not in line.recv(100)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/pair",
        *READ,
        "/conference/do/decide",
        "/conference/files?name=a.csv",
        "/static/app.css",
        "//{token}/",
        "/x/{token}/",
        "/{token}x/",
        "/%2e%2e/{token}/",
        "/docs",
        "/openapi.json",
        "/favicon.ico",
        "/{wrong}/pair",
        "/%C3%A9",
    ],
)
def test_a_missing_or_wrong_token_is_refused(client: Client, path: str) -> None:
    wrong = client.token[:-1] + ("A" if client.token[-1] != "A" else "B")
    asked = path.format(token=client.token, wrong=wrong)
    answer = client.ask("GET", asked, whole=True)
    assert answer.status in (400, 403)
    assert client.token not in answer.text
    for method in ("POST", "PUT", "DELETE"):
        assert client.ask(method, asked, b"{}", whole=True).status in (400, 403)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": None},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://localhost:{port}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
    ],
)
def test_what_another_page_sends_is_refused(client: Client, headers: dict[str, str | None]) -> None:
    given = {k: None if v is None else v.format(port=client.port) for k, v in headers.items()}
    posts = [("POST", f"/conference/do/{action}") for action in ("nothing", *routes.ACTIONS)]
    for method, path in (*posts, ("POST", "/pair/draws"), ("PUT", "/conference/files?name=a.csv")):
        assert client.ask(method, path, b"{}", given).status == 403
    assert "Open the embedded conference" in client.get("/conference").text, "nothing was opened"


def test_what_another_page_loads_is_refused_but_people_may_follow_a_link(client: Client) -> None:
    for site in ("cross-site", "same-site"):
        for path in ("/pair/numbers", "/conference/job", *READ):
            assert client.get(path, Sec_Fetch_Site=site, Sec_Fetch_Mode="no-cors").status == 403
        assert client.get("/pair", Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate").status == 200


def test_no_other_page_may_read_anything(client: Client) -> None:
    """There is no header that would allow it, and a question whether one may ask is refused."""
    other: dict[str, str | None] = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    asked = client.ask("OPTIONS", "/conference/do/example", None, other)
    assert asked.status == 403
    for answer in (asked, client.get("/pair", Origin="http://evil.example")):
        assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("path", ["/", "/pair", "/static/app.js", "/nowhere", "/pair/numbers", *READ])
def test_every_answer_allows_a_browser_next_to_nothing_and_does_not_say_who_serves(
    client: Client, path: str
) -> None:
    headers = client.get(path).headers
    assert "server" not in headers
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
    rules = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert rules["frame-ancestors"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]


def test_a_policy_allows_the_styles_of_a_page_by_their_digest() -> None:
    found = policy("<style>a</style><style>b</style>")
    assert "'sha256-ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs='" in found, "SHA-256 of the letter a"
    assert found.count("sha256-") == 2
    assert "unsafe" not in found


def test_what_is_long_or_cannot_be_read_is_refused_without_an_echo(client: Client) -> None:
    def posted(path: str, body: bytes) -> Answer:
        return client.ask("POST", path, body, {"Content-Type": "application/json"})

    assert posted("/pair/draws", b"[" * (MOST_BODY + 1)).status == 413
    for body in (b"", b"[]", b"{", b'{"a": 1}', b'{"number": ["x"]}', b"\xff"):
        answer = posted("/pair/draws", body)
        assert (answer.status, answer.text) in ((422, "That cannot be read.\n"), (400, answer.text)), body
        assert "Traceback" not in answer.text
    # No text: it could be written to no file.
    assert posted("/conference/do/read", b'{"score_field": "\\ud800"}').status == 422
    assert client.get("/conference").status == 200


def test_a_failure_is_told_without_its_text_or_a_traceback(
    client: Client, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def failing(desk: object, fields: object) -> None:
        raise ValueError("canary-123456789")

    monkeypatch.setitem(routes.ACTIONS, "example", failing)
    answer = client.post("/conference/do/example", {})
    assert answer.status == 500
    assert answer.text.startswith("internal error (ValueError at test_guard.py:")
    assert "canary" not in answer.text
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")
