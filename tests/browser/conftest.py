"""One Chromium for the pages of a module; what pages say is heard, and they are closed after each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    from page_pictures import MISSING, browser, chromium

    if chromium() is None:
        pytest.fail(MISSING)
    with browser() as found:
        yield found


@pytest.fixture
def heard() -> list[str]:
    """What pages say, and every request that is not to the server of their own."""
    return []


@pytest.fixture
def opened(chrome: Browser, heard: list[str]) -> Iterator[Callable[..., Page]]:
    """Opens the page at an address; `own` is where its server has all that it may ask for."""
    contexts = []

    def page_at(address: str, own: str | None = None, **more: Any) -> Page:
        contexts.append(chrome.new_context(**more))
        page = contexts[-1].new_page()
        page.set_default_timeout(90_000)
        page.on("console", lambda message: heard.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: heard.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (heard.append(f"dialog: {dialog.message}"), dialog.dismiss()))

        def asked(url: str) -> None:
            if own is None or not url.startswith(own):
                heard.append(f"request: {url}")

        page.on("request", lambda request: asked(request.url))
        page.goto(address)
        return page

    yield page_at
    for context in contexts:
        context.close()
