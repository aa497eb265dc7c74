"""Access control: which requests are admitted, and what a browser may do with the answer.

The token is a part of every address and in no cookie: cookies of 127.0.0.1 reach the servers of all its
ports, and those may be another user's.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from base64 import b64encode
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from blindcal.errors import unexpected

HOSTS = ("127.0.0.1", "localhost")
"""By these names alone the server is known: a request by another one was led here."""
MOST_BODY = 64 * 2**10
"""A request that is no file has at most this many bytes."""
ADMITTED = "blindcal.admitted"
"""Requests that passed have this in their scope."""
_READING = ("GET", "HEAD")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src {style}; img-src 'self'; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)


def new_token() -> str:
    """A token that nobody can guess, of 256 random bits.

    >>> len(new_token())
    43
    """
    return secrets.token_urlsafe(32)


def policy(page: str = "") -> str:
    """What a page may load: what this server has, and of styles within it those that stand in `page`.

    >>> policy().split("; ")[2]
    "style-src 'self'"
    """
    own = [b64encode(hashlib.sha256(style.encode()).digest()).decode() for style in _STYLE.findall(page)]
    return _POLICY.format(style=" ".join(["'self'", *(f"'sha256-{digest}'" for digest in own)]))


class Guard:
    """The middleware that admits a request only with the `token`, the right host name and `port`.

    A request that changes something must also come from our own pages. All others never reach `app`.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app, self._token = app, token.encode()
        self._hosts = {f"{name}:{port}" for name in HOSTS}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        refused = self._refusal(scope)
        if refused is not None:
            await _send_text(send, *refused)
            return
        scope[ADMITTED] = True
        body = _LimitedBody(receive, MOST_BODY if scope["method"] != "PUT" else None)
        said = _GuardedResponse(send, body)
        try:
            await self._app(scope, body, said)
        except Exception as error:
            await said.instead(500, unexpected(error))
        if body.too_long:
            await said.instead(413, "That is too much for one request.")

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Why a request does not pass; None if it does."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return 403, "This server answers to 127.0.0.1 alone."
        given = scope["path"].split("/")[1].encode() if scope["path"].startswith("/") else b""
        if not secrets.compare_digest(given, self._token):
            return 403, "Open the address that blindcal printed: it has a token in it."
        names = ("origin", "sec-fetch-site", "sec-fetch-mode")
        origin, site, mode = (_single_value(headers.getlist(name)) for name in names)
        if scope["method"] in _READING:
            led = site not in (None, "same-origin", "none") and mode != "navigate"
            return (403, "Another page asked for this.") if led else None
        if origin != f"http://{hosts[0]}" or site not in (None, "same-origin"):
            return 403, "Another page asked for this."
        return None


def _single_value(values: list[str]) -> str | None:
    """The value of a header that stands there once; None without it, and empty if it stands there twice."""
    return values[0] if len(values) == 1 else "" if values else None


class _TooLongError(Exception):
    """A request with a longer body than it may have."""


class _LimitedBody:
    """What a client sends, up to a limit. Files have none here: they are counted where they are written."""

    def __init__(self, receive: Receive, limit: int | None) -> None:
        self._receive, self._left, self.too_long = receive, limit, False

    async def __call__(self) -> Message:
        message = await self._receive()
        if self._left is not None:
            self._left -= len(message.get("body", b""))
            self.too_long = self._left < 0
        if self.too_long:
            raise _TooLongError
        return message


class _GuardedResponse:
    """The response as it is sent, with our headers.

    Once a request was too long, nothing of it is sent; another response goes out if none was begun.
    """

    def __init__(self, send: Send, body: _LimitedBody) -> None:
        self._send, self._body, self._begun = send, body, False

    async def __call__(self, message: Message) -> None:
        if self._body.too_long:
            return
        if message["type"] == "http.response.start":
            self._begun = True
            message = {**message, "headers": _with_headers(message["headers"])}
        await self._send(message)

    async def instead(self, status: int, text: str) -> None:
        if not self._begun:
            self._begun = True
            await _send_text(self._send, status, text)


def _with_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    kept = [(name, value) for name, value in headers if name != b"server"]
    names = {name for name, _ in kept}
    ours = {**_HEADERS, "content-security-policy": policy()}
    return [*kept, *((n.encode(), v.encode()) for n, v in ours.items() if n.encode() not in names)]


async def _send_text(send: Send, status: int, text: str) -> None:
    body = f"{text}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": _with_headers(headers)})
    await send({"type": "http.response.body", "body": body})
