"""The app as people use it, in Chromium: both rooms, by mouse and keyboard, light, dark and narrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer")
pytest.importorskip("fastapi")
pytest.importorskip("playwright")

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from app_clients import served
from blindcal.app.server import Listening
from report_page import MISSING, browser, chromium
from small_conferences import small_conference

pytestmark = pytest.mark.edge

SERIOUS = {"serious", "critical"}
SMALL = small_conference(papers=8)
PATIENCE = 90_000
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    if chromium() is None:
        pytest.fail(MISSING)
    with browser() as found:
        yield found


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Listening]:
    (tmp_path / "home").mkdir()
    with served(tmp_path / "home") as (_, _, found):
        yield found


def opened(chrome: Browser, app: Listening, room: str, heard: list[str], **more: Any) -> Page:
    """A room; all that its page says is `heard`, and every request that is not to the app."""
    page = chrome.new_context(**more).new_page()
    page.set_default_timeout(PATIENCE)
    page.on("console", lambda message: heard.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: heard.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (heard.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on(
        "request",
        lambda request: request.url.startswith(app.address) or heard.append(f"request: {request.url}"),
    )
    page.goto(f"{app.address}{room}")
    return page


def serious(page: Page) -> list[tuple[str, str]]:
    found = Axe().run(page).response["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in SERIOUS]


def fits(page: Page, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing hangs over the edge"


def drag(page: Page, slider: Locator, share: float) -> None:
    """Pull a slider to a share of its way."""
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, y)
    page.mouse.down()
    page.mouse.move(box["x"] + 8 + share * (box["width"] - 16), y, steps=5)
    page.mouse.up()


def test_a_pair_is_played_with(chrome: Browser, app: Listening) -> None:
    heard: list[str] = []
    page = opened(chrome, app, "pair", heard, viewport={"width": 1200, "height": 900})
    sentence = page.locator("#sentence")
    expect(sentence).to_contain_text("a decision speaks")
    error = page.locator("[data-number='policy.conference_error']")
    before = error.inner_text()
    drag(page, page.locator("#protection"), 1.0)
    expect(page.locator("#protection-value")).to_have_text("1.00")
    expect(error).not_to_have_text(before)
    first = page.locator("#plane path.cell-conflict").get_attribute("d")
    drag(page, page.locator("#offset_1"), 0.1)
    expect(page.locator("#plane path.cell-conflict")).not_to_have_attribute("d", str(first))
    page.locator("#by-epsilon").check()
    page.locator("#epsilon").press("Home")
    expect(page.locator("[data-factor='policy.epsilon']")).to_have_text("× 1")
    box = page.locator("#plane").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 0.75 * box["height"])
    page.mouse.down()
    page.mouse.up()
    expect(page.locator("#score_1-value")).not_to_have_text("1.20")
    page.get_by_role("button", name="Draw once").click()
    expect(page.locator("#drawn")).to_contain_text("1 drawn")
    page.get_by_role("button", name="Draw 1,000 times").click()
    expect(page.locator("#drawn")).to_contain_text("1,001 drawn")
    counts = [int(one.inner_text().replace(",", "")) for one in page.locator("[data-count]").all()]
    assert sum(counts) == 1001
    page.get_by_role("button", name="Back to the start").click()
    expect(sentence).to_contain_text("a decision speaks")
    expect(page.locator("#drawn")).to_have_text("Nothing drawn yet.")
    assert heard == []
    page.context.close()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 1200), ("light", 340)])
def test_rooms_are_readable_and_fit(chrome: Browser, app: Listening, scheme: Any, width: int) -> None:
    for room in ("", "pair", "conference"):
        heard: list[str] = []
        page = opened(
            chrome,
            app,
            room,
            heard,
            color_scheme=scheme,
            bypass_csp=True,
            viewport={"width": width, "height": 800},
        )
        if room == "pair":
            expect(page.locator("#sentence")).not_to_be_empty()
        fits(page, width)
        assert serious(page) == []
        assert heard == []
        page.context.close()


def files(folder: Path) -> dict[str, Path]:
    SMALL.write(folder)
    (folder / "broken.csv").write_text("paper,reviewer,score\np00,canary-x,good\np01,canary-x,3\n")
    return {name: folder / f"{name}.csv" for name in ("reviews", "reviewers", "pools", "broken")}


def test_a_conference_from_a_bad_file_to_a_download(chrome: Browser, app: Listening, tmp_path: Path) -> None:
    heard: list[str] = []
    given = files(tmp_path / "in")
    page = opened(chrome, app, "conference", heard, accept_downloads=True)
    make = page.get_by_role("button", name="Make the folder")
    expect(make).to_be_disabled()
    page.set_input_files("#file-reviews", given["broken"])
    problems = page.locator("table.problems")
    expect(problems).to_contain_text("must be a number")
    assert problems.locator("td").all_inner_texts()[:3] == ["broken.csv", "2", "score"]
    expect(make).to_be_disabled()
    for role in ("reviews", "reviewers", "pools"):
        page.set_input_files(f"#file-{role}", given[role])
        expect(page.locator(".file strong", has_text=f"{role}.csv")).to_be_visible()
    expect(problems).to_have_count(0)
    page.get_by_label("Name of the folder").fill("icx")
    page.get_by_label("Share of papers to accept").fill("40")
    page.get_by_label("Who may see the scores").select_option("public")
    make.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("icx")
    page.get_by_role("button", name="Compare").click()
    choice = page.get_by_label("steady, epsilon 1")
    choice.check()
    page.get_by_role("button", name="Choose this promise").click()
    expect(page.locator("tr.chosen")).to_contain_text("steady, epsilon 1")
    page.get_by_label("Decide now").check()
    page.get_by_role("button", name="Decide every paper").click()
    expect(page.get_by_role("heading", name="Decided", exact=True)).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="decisions.csv", exact=True).click()
    text = Path(download.value.path()).read_text()
    assert text == (tmp_path / "home" / "icx" / "public" / "release-1" / "decisions.csv").read_text()
    with page.context.expect_page() as other:
        page.get_by_role("link", name="read it here").first.click()
    report = other.value
    expect(report.get_by_role("heading", name="In short")).to_be_visible()
    assert report.evaluate("getComputedStyle(document.querySelector('.cards')).display") == "grid"
    look = opened(chrome, app, "conference", heard, bypass_csp=True)
    for summary in look.locator("summary").all():
        summary.click()
    for scheme in ("light", "dark"):
        look.emulate_media(color_scheme=scheme)
        assert serious(look) == []
    for one in (page, report, look):
        assert not [name for name in SMALL.canaries if name in one.content()]
        assert "canary" not in one.content()
    assert heard == []
    look.context.close()
    page.context.close()


def test_the_embedded_conference_can_be_looked_at_and_canceled(chrome: Browser, app: Listening) -> None:
    heard: list[str] = []
    page = opened(chrome, app, "conference", heard, bypass_csp=True)
    page.get_by_role("button", name="Open the embedded conference").click()
    expect(page.get_by_role("heading", name="Working")).to_be_visible()
    expect(page.locator("progress")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("Canceled. Nothing was written.")).to_be_visible()
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("button", name="Choose this promise")).to_be_enabled()
    for summary in page.locator("summary").all():
        summary.click()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert serious(page) == []
    page.set_viewport_size({"width": 340, "height": 800})
    fits(page, 340)
    assert heard == []
    page.context.close()


def test_the_pair_can_be_played_by_keyboard(chrome: Browser, app: Listening) -> None:
    page = opened(chrome, app, "pair", [])
    expect(page.locator("#sentence")).not_to_be_empty()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    names = set()
    for _ in range(30):
        page.keyboard.press("Tab")
        names.add(page.evaluate("document.activeElement.id || document.activeElement.textContent"))
    assert {"slope_1", "noise", "prior", "score_1", "score_2", "protection", "Draw once"} <= names
    page.locator("#noise").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#noise-value")).to_have_text("0.55")
    page.context.close()
