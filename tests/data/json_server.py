"""A server of JSON on this machine, in the place of a conference system's."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class JsonHandler(BaseHTTPRequestHandler):
    """Answers with JSON, and writes no log."""

    def log_message(self, *_: object) -> None:
        pass

    def posted(self) -> Any:
        """The body of a request."""
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, content: object, code: int = 200, **headers: str) -> None:
        data = json.dumps(content).encode()
        self.send_response(code)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def served(handler: type[JsonHandler]) -> Iterator[str]:
    """The address of a server on this machine that answers so."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{running.server_port}"
        finally:
            running.shutdown()
            thread.join()
