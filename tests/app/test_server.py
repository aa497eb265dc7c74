"""The server: on 127.0.0.1 alone, silent, and reached by an address that no list of processes shows."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("jinja2")

from app_clients import Client, served
from blindcal.app import server
from blindcal.app.server import listen, write_redirect
from blindcal.app.session import Session
from blindcal.errors import InputError

pytestmark = pytest.mark.edge


def test_it_is_bound_to_this_machine_alone(tmp_path: Path) -> None:
    with served(tmp_path) as (client, _, found):
        assert found.socket.getsockname()[0] == "127.0.0.1"
        assert found.address == f"http://127.0.0.1:{found.port}/{found.token}/"
        assert client.get("/").status == 200
        for other in ("127.0.0.2", *_own_addresses()):
            with pytest.raises(OSError), socket.create_connection((other, found.port), timeout=2):
                pass


def _own_addresses() -> list[str]:
    """Addresses of this machine that others reach it by, where it has any."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(("192.0.2.1", 9))
        except OSError:
            return []
        return [str(asked.getsockname()[0])]


def test_it_logs_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with served(tmp_path) as (client, _, _):
        client.get("/pair")
        client.get("/nowhere")
        with socket.create_connection(("127.0.0.1", client.port)) as line:
            line.sendall(b"no request at all\r\n\r\n")
            assert line.recv(20).startswith(b"HTTP/1.1 400")
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")


def test_ports_that_are_taken_or_none_are_refused(tmp_path: Path) -> None:
    desk = Session(tmp_path)
    with served(tmp_path) as (client, _, _):
        for port in (client.port, 70_000):
            with pytest.raises(InputError, match=f"`port` {port} cannot be used"):
                listen(desk, port)
    desk.close()


def test_two_servers_have_two_tokens_and_the_page_with_one_is_for_its_owner_alone(tmp_path: Path) -> None:
    with served(tmp_path) as (one, _, found), served(tmp_path) as (two, _, _):
        assert one.token != two.token
        assert Client(one.port, two.token).get("/").status == 403
        path = write_redirect(found.address, tmp_path)
        assert path.stat().st_mode & 0o777 == 0o600
        assert f'url={found.address}"' in path.read_text()


PUT = "PUT /{token}/conference/files?name=a.csv HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
GET = "GET /{token}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"
LONG = "Content-Length: 1000000\r\n\r\n"


def head(text: str, client: Client, token: str | None = None) -> bytes:
    return text.format(token=token or client.token, host=f"127.0.0.1:{client.port}").encode()


def seconds_until_dropped(client: Client, start: bytes, drop: bytes, most: float) -> float:
    """How long a connection lasts on which `start` is sent, and then little by little `drop`."""
    begin = time.monotonic()
    with socket.create_connection(("127.0.0.1", client.port), timeout=0.05) as line:
        try:
            line.sendall(start)
            while time.monotonic() < begin + most:
                line.sendall(drop)
                with suppress(TimeoutError):
                    while line.recv(10_000):
                        pass
                    break
        except OSError:
            pass
    return time.monotonic() - begin


@pytest.mark.parametrize(
    ("start", "drop"),
    [
        ("", b""),
        ("GET /", b""),
        ("GET /", b"x"),
        ("GET / HTTP/1.1\r\nHost: x\r\n", b"A: b\r\n"),
        (PUT, b""),
        (PUT, b"A: b\r\n"),
        (PUT.format(token="stranger", host="{host}") + LONG, b"x"),
        (GET.format(token="stranger", host="{host}"), b""),
        (GET.format(token="stranger", host="{host}"), GET.format(token="stranger", host="x").encode()),
    ],
)
def test_whoever_has_no_token_holds_no_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str, drop: bytes
) -> None:
    monkeypatch.setattr(server, "PATIENCE", 0.5)
    with served(tmp_path) as (client, _, _):
        assert seconds_until_dropped(client, head(start, client), drop, 10.0) < 5.0
        assert client.get("/").status == 200


def test_many_half_open_requests_keep_nobody_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PATIENCE", 0.5)
    with served(tmp_path) as (client, _, found), ExitStack() as stack:
        for _ in range(200):
            line = stack.enter_context(socket.create_connection(("127.0.0.1", client.port)))
            line.sendall(b"GET / HTTP/1.1\r\n")
        assert client.get("/").status == 200
        end = time.monotonic() + 10.0
        while found.server.server_state.connections and time.monotonic() < end:
            time.sleep(0.05)
        assert not found.server.server_state.connections


def test_whoever_has_the_token_may_be_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PATIENCE", 0.5)
    with served(tmp_path) as (client, _, _):
        assert seconds_until_dropped(client, head(PUT + LONG, client), b"x", 1.5) >= 1.5
        with socket.create_connection(("127.0.0.1", client.port)) as line:
            line.sendall(head(GET, client))
            time.sleep(1.0)
            line.sendall(head(GET, client))
            time.sleep(0.5)
            assert line.recv(100_000).count(b"HTTP/1.1 200") == 2
