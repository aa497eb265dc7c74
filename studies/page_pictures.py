"""The pictures of a report and of the app in the documentation, as Chromium shows them.

    python studies/page_pictures.py    # writes report.png, app_pair.png and app_conference.png

The report is that of `blindcal demo`. Needs an installed Chromium; `make browser` looks for one, and installs
Debian's where it can.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from blindcal.app.pages import TABS
from blindcal.app.server import running
from blindcal.app.session import Session
from blindcal.cli import run
from blindcal.compute.parallel import available_cores

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = (
    "no Chromium was found: `make browser` installs Debian's if you are root; otherwise install Chromium or "
    "Chrome so that one of these is on the PATH: " + ", ".join(NAMES)
)
_WIDTH, _COLORS = 860, 48


def chromium() -> str | None:
    """The Chromium that is installed; None if there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@contextmanager
def browser() -> Iterator[Browser]:
    """A running Chromium, or a `FileNotFoundError` that says what to do."""
    path = chromium()
    if path is None:
        raise FileNotFoundError(MISSING)
    # Chromium refuses its sandbox to root.
    flags = ["--no-sandbox"] if hasattr(os, "getuid") and os.getuid() == 0 else []
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=flags)
        try:
            yield found
        finally:
            found.close()


def picture(page: Path, target: Path) -> None:
    """The promise and its menu as they look on a screen."""
    with browser() as found:
        context = found.new_context(
            offline=True, color_scheme="light", viewport={"width": _WIDTH, "height": 800}
        )
        tab = context.new_page()
        tab.goto(page.resolve().as_uri())
        # Contents and explanations are left out: the figures, the promise and its menu are the picture.
        hidden = "nav, section:has(#done), section:has(#short) > :not(h2, .cards) { display: none }"
        tab.add_style_tag(content=f"{hidden} h1 {{ margin-top: 1rem }} h2 {{ margin-top: 1.5rem }}")
        box = tab.locator("table").first.bounding_box()
        if box is None:
            raise ValueError(f"{page} has no menu")
        whole = {"x": 0, "y": 0, "width": _WIDTH, "height": box["y"] + box["height"] + 16}
        taken = tab.screenshot(full_page=True, clip=whole)
    few_colors(taken, target)


def few_colors(taken: bytes, target: Path) -> None:
    """Save a screenshot, in few colors."""
    Image.open(BytesIO(taken)).convert("RGB").quantize(_COLORS).save(target, optimize=True)


def app_pictures(out: Path, *, everything: bool) -> None:
    """The app's two pictures; `everything` also dark, narrow and whole pages, to look at."""
    with tempfile.TemporaryDirectory() as home, browser() as found:
        session = Session(Path(home), workers=available_cores())
        with running(session) as app:
            size: Any = {"width": 1180, "height": 900}
            context = found.new_context(viewport=size, color_scheme="light")
            page = context.new_page()
            page.set_default_timeout(120_000)
            page.goto(f"{app.address}pair")
            page.locator("body[data-redrawn]").wait_for()
            few_colors(page.screenshot(), out / "app_pair.png")
            page.goto(f"{app.address}conference")
            page.get_by_role("button", name="Open the embedded conference").click()
            page.get_by_text("200 papers, 600 reviews").wait_for()
            page.goto(f"{app.address}conference/plan")
            page.get_by_role("button", name="Compare").click()
            page.get_by_role("button", name="Choose this promise").wait_for()
            few_colors(page.screenshot(), out / "app_conference.png")
            if everything:
                _looks(page, app.address, out)
            context.close()
        session.close()


def _looks(page: Page, address: str, out: Path) -> None:
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for width in (1180, 360):
            page.set_viewport_size({"width": width, "height": 900})
            for slug in ("", "pair", "conference", *(f"conference/{tab}" for tab in TABS)):
                page.goto(f"{address}{slug}")
                page.wait_for_timeout(500)
                name = slug.replace("/", "-") or "home"
                few_colors(page.screenshot(full_page=True), out / f"{name}-{scheme}-{width}.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=FIGURES, help="folder for the pictures")
    parser.add_argument("--all", action="store_true", help="also dark, narrow and whole pages, to look at")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        demo = Path(folder) / "demo"
        if code := run(["demo", "--out", str(demo)]):
            raise SystemExit(code)
        picture(demo / "public" / "report.html", options.out / "report.png")
    app_pictures(options.out, everything=options.all)


if __name__ == "__main__":
    main()
