"""The picture of a report in the README: the page of `blindcal demo`, as Chromium shows it.

    python studies/report_page.py    # writes docs/figures/report.png

Needs an installed Chromium; `make browser` looks for one, and installs Debian's where it can.
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

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from blindcal.cli import run

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "report.png"
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
    image = Image.open(BytesIO(taken)).convert("RGB").quantize(_COLORS)
    image.save(target, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=FIGURE, help="where the picture goes")
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder:
        demo = Path(folder) / "demo"
        if code := run(["demo", "--out", str(demo)]):
            raise SystemExit(code)
        picture(demo / "public" / "report.html", out)


if __name__ == "__main__":
    main()
