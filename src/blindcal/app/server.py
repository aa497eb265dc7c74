"""A port of this machine and the application behind it; no other machine can reach it."""

from __future__ import annotations

import html
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from blindcal.app.guard import ADMITTED, Guard, new_token
from blindcal.app.routes import make_app
from blindcal.app.session import Session
from blindcal.errors import InputError
from blindcal.io.atomic_files import write_bytes

HOST = "127.0.0.1"
PATIENCE = 5.0
"""Within this many seconds a connection must have sent the head of a request that is admitted."""


class _Connection(H11Protocol):
    """A connection that is dropped if nothing admitted came in time.

    Whoever has no token holds nothing open, however slowly they send, or if they do not read the answer.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._timer = self.loop.call_later(PATIENCE, self._drop_stranger)

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        super().connection_lost(exc)

    def _drop_stranger(self) -> None:
        if not (self.scope and self.scope.get(ADMITTED)):
            self.transport.abort()


@dataclass(frozen=True, eq=False)
class Listening:
    """A `socket` that listens, and the `server` that will answer there.

    The `token` is secret: nothing else is needed to see what the server has.
    """

    socket: socket.socket
    server: uvicorn.Server
    token: str

    @property
    def port(self) -> int:
        return int(self.socket.getsockname()[1])

    @property
    def address(self) -> str:
        """Where the pages are, token included."""
        return f"http://{HOST}:{self.port}/{self.token}/"

    def run(self) -> None:
        """Answer until interrupted."""
        self.server.run(sockets=[self.socket])

    def close(self) -> None:
        """Listen no more."""
        self.socket.close()


def listen(session: Session, port: int = 0) -> Listening:
    """Listen on a `port` of 127.0.0.1, or on any free one if it is 0; pages are about the `session`."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((HOST, port))
        # From here on whoever comes is kept waiting, and not turned away.
        bound.listen()
    except (OSError, OverflowError) as error:
        bound.close()
        why = error.strerror if isinstance(error, OSError) else "there is no such port"
        raise InputError(f"`port` {port} cannot be used: {why}") from None
    token = new_token()
    guard = Guard(make_app(session, token), token, int(bound.getsockname()[1]))
    # What a log would say is nobody's business: requests have the token in them.
    logging.getLogger("uvicorn").addHandler(logging.NullHandler())
    logging.getLogger("uvicorn").propagate = False
    config = uvicorn.Config(
        guard,
        loop="asyncio",
        http=_Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    return Listening(bound, uvicorn.Server(config), token)


@contextmanager
def running(session: Session) -> Iterator[Listening]:
    """Listen as `listen` does, and answer in a thread until the block ends."""
    listening = listen(session)
    thread = Thread(target=listening.run, name="server", daemon=True)
    thread.start()
    try:
        while not listening.server.started and thread.is_alive():
            sleep(0.01)
        yield listening
    finally:
        listening.server.should_exit = True
        thread.join(10.0)
        listening.close()


def write_redirect(address: str, folder: Path) -> Path:
    """A page in the `folder`, for this user alone, that leads to the `address`.

    A browser started with the address itself would show it, token included, to everyone who lists this
    machine's processes.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as place:
    ...     "url=http://127.0.0.1:80/t/" in write_redirect("http://127.0.0.1:80/t/", Path(place)).read_text()
    True
    """
    path = folder / "open-blindcal.html"
    text = f'<!DOCTYPE html><meta http-equiv="refresh" content="0; url={html.escape(address)}">\n'
    write_bytes(path, text.encode(), confidential=True, replace=True)
    return path
