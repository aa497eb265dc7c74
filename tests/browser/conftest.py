"""One Chromium for the pages of a module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    from page_pictures import MISSING, browser, chromium

    if chromium() is None:
        pytest.fail(MISSING)
    with browser() as found:
        yield found
