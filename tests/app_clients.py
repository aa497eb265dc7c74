"""A running app and somebody who talks to it, for its tests."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from small_conferences import Rows, SmallConference

if TYPE_CHECKING:  # the core's tests read this file too, without FastAPI
    from blindcal.app.server import Listening
    from blindcal.app.session import Session

PATIENCE = 120.0
ATTACK = "<script>alert(1)</script>"


def text_of(rows: Iterable[Iterable[str]]) -> str:
    """Rows as a table that is uploaded."""
    return "".join(",".join(row) + "\n" for row in rows)


def attacked(small: SmallConference) -> SmallConference:
    """The same conference with a paper that is called like a script."""

    def renamed(rows: Rows) -> Rows:
        return tuple((ATTACK, *row[1:]) if row[0] == "p00" else row for row in rows)

    return replace(small, reviews=renamed(small.reviews), pools=renamed(small.pools))


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass(frozen=True)
class Client:
    """Speaks to a server as its own pages do, unless headers say otherwise."""

    port: int
    token: str

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str | None] | None = None,
        *,
        whole: bool = False,
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        given: dict[str, str | None] = {"Host": f"127.0.0.1:{self.port}"}
        if method not in ("GET", "HEAD"):
            given["Origin"] = f"http://127.0.0.1:{self.port}"
        given.update(headers or {})
        connection.putrequest(method, path if whole else f"/{self.token}{path}", skip_host=True)
        for name, value in given.items():
            if value is not None:
                connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders()
        try:
            if body:
                connection.send(body)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the answer came before the end of the body
        found = connection.getresponse()
        try:
            return Answer(found.status, {k.lower(): v for k, v in found.getheaders()}, found.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str | None) -> Answer:
        return self.ask("GET", path, None, {k.replace("_", "-"): v for k, v in headers.items()})

    def do(self, action: str, **fields: str) -> bool:
        """Post one action: whether it was done."""
        answer = self.post(f"/conference/do/{action}", fields)
        assert answer.status == 200, answer.text
        return bool(json.loads(answer.body)["done"])

    def post(self, path: str, fields: dict[str, str], **headers: str | None) -> Answer:
        given = {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
        return self.ask("POST", path, json.dumps(fields).encode(), given)

    def put(self, name: str, data: bytes, kind: str = "files") -> Answer:
        path = f"/conference/{kind}?{urlencode({'name': name})}"
        return self.ask("PUT", path, data, {"Content-Type": "application/octet-stream"})

    def wait(self) -> None:
        """Until no job runs."""
        end = time.monotonic() + PATIENCE
        while json.loads(self.get("/conference/job").body)["running"]:
            assert time.monotonic() < end, "a job does not end"
            time.sleep(0.02)


@contextmanager
def served(home: Path, folder: Path | None = None) -> Iterator[tuple[Client, Session, Listening]]:
    """A session in a folder, and a client of its server."""
    from blindcal.app.server import running
    from blindcal.app.session import Session

    desk = Session(home, folder)
    try:
        with running(desk) as found:
            yield Client(found.port, found.token), desk, found
    finally:
        desk.close()
