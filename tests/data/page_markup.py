"""What a page of HTML is made of, for tests of what may run in it."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

VOID = frozenset({"meta", "br", "img", "link", "input", "hr", "rect", "line", "circle"})


class Markup(HTMLParser):
    """Every element with its attributes, the text of scripts, and that each element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    @property
    def policy(self) -> str:
        """The one policy in the head of the page."""
        (policy,) = [a["content"] for _, a in self.found if a.get("http-equiv") == "Content-Security-Policy"]
        return str(policy)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["script"]:
            self.scripts[-1] += data


def serious_faults(page: Page) -> list[tuple[str, str]]:
    """What would keep people from using a page: the rule of axe, and the first element that breaks it."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]
