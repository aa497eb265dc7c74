"""The pictures of the app in its page of the documentation, as Chromium shows them; and how quick they are.

    python studies/app_pages.py    # writes docs/figures/app_pair.png and app_conference.png

Prints the time from a moved slider to its drawing, and until the embedded conference's page is there.
Needs an installed Chromium; `make browser` looks for one, and installs Debian's where it can.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page

from blindcal.app.pages import TABS
from blindcal.app.server import running
from blindcal.app.session import Session
from blindcal.compute.parallel import available_cores
from report_page import browser

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
_COLORS, _MOVES = 48, 60


def save(page: Page, target: Path, **more: Any) -> None:
    """A picture of a page, in few colors."""
    taken = page.screenshot(**more)
    Image.open(BytesIO(taken)).convert("RGB").quantize(_COLORS).save(target, optimize=True)


def redraws(page: Page) -> list[float]:
    """Milliseconds from a moved slider to its drawing, for many moves of all sliders."""
    found = []
    for move in range(_MOVES):
        names = ("slope_1", "offset_2", "noise", "score_1", "prior", "protection")
        key = "ArrowRight" if move % 2 else "ArrowLeft"
        page.evaluate("delete document.body.dataset.redrawn")
        page.locator(f"#{names[move % len(names)]}").press(key)
        page.locator("body[data-redrawn]").wait_for()
        found.append(float(page.evaluate("document.body.dataset.redrawn")))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=FIGURES, help="folder for the pictures")
    parser.add_argument("--all", action="store_true", help="also dark, narrow and whole pages, to look at")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, browser() as found:
        session = Session(Path(home), workers=available_cores())
        with running(session) as app:
            size: Any = {"width": 1180, "height": 900}
            context = found.new_context(viewport=size, color_scheme="light")
            page = context.new_page()
            page.set_default_timeout(120_000)
            page.goto(f"{app.address}pair")
            page.locator("body[data-redrawn]").wait_for()
            save(page, options.out / "app_pair.png")
            times = redraws(page)
            print(
                f"slider to drawing, {len(times)} moves: median {statistics.median(times):.0f} ms, "
                f"longest {max(times):.0f} ms"
            )
            page.goto(f"{app.address}conference")
            began = time.perf_counter()
            page.get_by_role("button", name="Open the embedded conference").click()
            page.get_by_text("200 papers, 600 reviews").wait_for()
            print(f"the embedded conference's page: {time.perf_counter() - began:.2f} s")
            page.goto(f"{app.address}conference/plan")
            page.get_by_role("button", name="Compare").click()
            page.get_by_role("button", name="Choose this promise").wait_for()
            print(f"... with its menu: {time.perf_counter() - began:.2f} s")
            save(page, options.out / "app_conference.png")
            if options.all:
                _looks(page, app.address, options.out)
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
                save(page, out / f"{name}-{scheme}-{width}.png", full_page=True)


if __name__ == "__main__":
    main()
