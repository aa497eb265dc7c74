"""The app as people use it, in Chromium: every page, by mouse and keyboard, light, dark and narrow."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer")
pytest.importorskip("fastapi")
pytest.importorskip("playwright")

from playwright.sync_api import Locator, Page, expect

from app_clients import served
from blindcal.app.pages import TABS
from blindcal.app.server import Listening
from chair_exports import PEOPLE, write_exports
from page_markup import serious_faults
from small_conferences import small_conference

pytestmark = pytest.mark.edge

Opener = Callable[..., Page]

PATIENCE = 90_000
expect.set_options(timeout=PATIENCE)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Listening]:
    (tmp_path / "home").mkdir()
    with served(tmp_path / "home") as (_, _, found):
        yield found


@pytest.fixture
def visit(app: Listening, opened: Opener, heard: list[str]) -> Iterator[Opener]:
    """Opens a page of the app, which says nothing and loads nothing from anywhere else."""
    yield lambda slug, **more: opened(f"{app.address}{slug}", app.address, **more)
    assert heard == []


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


def test_a_pair_is_played_with(visit: Opener, app: Listening) -> None:
    page = visit("pair", viewport={"width": 1200, "height": 900})
    sentence = page.locator("#sentence")
    expect(sentence).to_contain_text("a decision speaks")
    expect(page.locator("[data-number='policy.largest_posterior']")).not_to_have_text("100.0 %")
    error = page.locator("[data-number='policy.conference_error']")
    before = error.inner_text()
    drag(page, page.locator("#protection"), 1.0)
    expect(page.locator("#protection-value")).to_have_text("1.00")
    expect(page.locator("#by-error")).to_be_checked()
    expect(error).not_to_have_text(before)
    first = page.locator("#plane polygon.cell-conflict").first.get_attribute("points")
    drag(page, page.locator("#offset_1"), 0.1)
    expect(page.locator("#plane polygon.cell-conflict").first).not_to_have_attribute("points", str(first))
    expect(page.locator(".letter").first).to_be_hidden()
    page.get_by_label("Show the letters of the paper").check()
    expect(page.locator(".letter").first).to_be_visible()
    other = page.context.new_page()
    other.goto(f"{app.address}pair#{page.url.partition('#')[2]}")
    expect(other.locator("#offset_1-value")).to_have_text(page.locator("#offset_1-value").inner_text())
    expect(other.locator("#protection-value")).to_have_text("1.00")
    expect(other.get_by_label("Show the letters of the paper")).to_be_checked()
    other.close()
    moved = page.locator("#frontier .mark-own").bounding_box()
    frame = page.locator("#frontier .frame").bounding_box()
    assert moved is not None
    assert frame is not None
    page.mouse.move(moved["x"] + moved["width"] / 2, moved["y"] + moved["height"] / 2)
    page.mouse.down()
    page.mouse.move(frame["x"], moved["y"], steps=4)
    page.mouse.up()
    expect(page.locator("#protection-value")).to_have_text("0.00")
    page.locator("#by-epsilon").check()
    page.locator("#epsilon").press("Home")
    expect(page.locator("[data-factor='policy.epsilon']")).to_have_text("× 1")
    box = page.locator("#plane").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 0.75 * box["height"])
    page.mouse.down()
    page.mouse.up()
    expect(page.locator("#score_1-value")).not_to_have_text("0.60")
    page.get_by_role("button", name="Draw once").click()
    expect(page.locator("#drawn")).to_contain_text("1 drawn")
    page.get_by_role("button", name="Draw 1,000 times").click()
    expect(page.locator("#drawn")).to_contain_text("1,001 drawn")
    counts = [int(one.inner_text().replace(",", "")) for one in page.locator("[data-count]").all()]
    assert sum(counts) == 1001
    page.get_by_role("button", name="Back to the start").click()
    expect(sentence).to_contain_text("a decision speaks")
    expect(page.locator("#drawn")).to_have_text("Nothing drawn yet.")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 1200), ("light", 340)])
def test_pages_are_readable_and_fit(visit: Opener, scheme: Any, width: int) -> None:
    for slug in ("", "pair", "conference"):
        size: Any = {"width": width, "height": 800}
        page = visit(slug, color_scheme=scheme, bypass_csp=True, viewport=size)
        if slug == "pair":
            expect(page.locator("#sentence")).not_to_be_empty()
        fits(page, width)
        assert serious_faults(page) == []


def to(page: Page, tab: str) -> None:
    page.get_by_role("navigation", name="Steps").get_by_role("link", name=tab, exact=True).click()
    expect(page.locator("nav.tabs a[aria-current]")).to_have_text(tab)


def press(page: Page, button: str) -> None:
    page.get_by_role("button", name=button, exact=True).click()


def bring(page: Page, *files: Path, **kinds: str) -> None:
    """Choose files, say what some are, and bring them in."""
    to(page, "Files")
    page.set_input_files("#files", files)
    for path in files:
        expect(page.locator(".file strong", has_text=path.name)).to_be_visible()
    for stem, kind in kinds.items():
        page.evaluate("document.getElementById('main').dataset.before = 'yes'")
        page.locator(f"select[name='kind:{stem}.csv']").focus()
        page.locator(f"select[name='kind:{stem}.csv']").select_option(kind)
        # The page is read in place: it is not left, and the chooser keeps the focus.
        page.locator("#main:not([data-before])").wait_for()
        expect(page.locator(f"select[name='kind:{stem}.csv']")).to_be_focused()
        expect(page.locator(f"select[name='kind:{stem}.csv']")).to_have_value(kind)
    press(page, "Bring them in")
    expect(page.get_by_text("Brought in.")).to_be_visible()


def as_easychair(path: Path) -> None:
    """The same reviews as EasyChair's review.csv has them."""
    heads = "#,submission #,member #,member name,number,version,text,scores,total score,reviewer first name,"
    lines = [f"{heads}reviewer last name,reviewer email,reviewer person #,date,time,attachment?"]
    for place, row in enumerate(csv.DictReader(path.read_text().splitlines()), start=1):
        score, who = row["OveMer"], row["reviewername"]
        named = f"{place},{row['paper']},{who[-1]},{who},{place},1,Fine.,Overall evaluation: {score},{score}"
        first, last = who.split()
        lines.append(f"{named},{first},{last},{row['email']},,2025-03-01,10:15,no")
    path.write_text("\n".join(lines) + "\n")


def late(files: Path, papers: int) -> Path:
    """The same scores with one corrected, and three more papers."""
    lines = (files / "scores.csv").read_text().splitlines()
    first = lines[1].split(",")
    first[-2] = "1" if first[-2] != "1" else "2"
    more = (files / "2026.csv").read_text().splitlines()[1:7]
    added = [f"{papers + 1 + place // 2}{line[line.index(',') :]}" for place, line in enumerate(more)]
    (files / "late.csv").write_text("\n".join([lines[0], ",".join(first), *lines[2:], *added]) + "\n")
    return files / "late.csv"


def test_a_conference_from_two_systems_exports_to_a_verified_correction(
    visit: Opener, tmp_path: Path
) -> None:
    """This year's reviews from HotCRP and a past year from EasyChair; all of it in the browser."""
    papers = 12
    given = write_exports(tmp_path / "in", papers=papers, past=15)
    as_easychair(given / "2025.csv")
    page = visit("conference", accept_downloads=True, bypass_csp=True)
    page.get_by_label("Name of the folder").fill("icx")
    page.get_by_label("Papers to accept").fill("four")
    press(page, "Make the folder")
    expect(page.get_by_role("alert")).to_contain_text("a number like 50")
    expect(page.get_by_label("Name of the folder")).to_have_value("icx")
    page.get_by_label("Papers to accept").fill("4")
    page.get_by_label("Who may see the scores").select_option("public")
    press(page, "Make the folder")
    expect(page.get_by_role("heading", level=1)).to_have_text("icx")
    expect(page.get_by_text("Its fingerprint, which may be published")).to_be_visible()
    exports = [given / f"{name}.csv" for name in ("scores", "pc", "2025", "2026", "bulk")]
    to(page, "Files")
    (given / "broken.csv").write_text("paper,reviewer,score\np00,canary-x,good\np01,canary-x,3\n")
    page.set_input_files("#files", given / "broken.csv")
    problems = page.locator("table.problems")
    expect(problems).to_contain_text("must be a number")
    assert problems.locator("td").all_inner_texts()[:3] == ["broken.csv", "2", "score"]
    press(page, "Remove broken.csv")
    expect(page.locator(".file")).to_have_count(0)
    bring(page, *exports, **{"2025": "past", "2026": "past"})
    page.locator(".next").get_by_role("link", name="Calibration").click()
    press(page, "Calibrate")
    expect(page.get_by_text("What makes scores differ")).to_be_visible()
    to(page, "Settings")
    page.get_by_label("Papers that look alike are different ones").select_option("true")
    with page.expect_navigation():
        press(page, "Save")
    to(page, "Promise")
    press(page, "Compare")
    page.get_by_label("crowd of 10, epsilon 3", exact=True).check()
    press(page, "Choose this promise")
    expect(page.locator("tr.chosen")).to_contain_text("crowd of 10, epsilon 3")
    expect(page.get_by_text("Expected gain: ")).to_be_visible()
    second = visit("conference")
    to(page, "Decide")
    page.get_by_label("Decide now").check()
    press(page, "Decide every paper")
    expect(page.get_by_text("release 1: decided")).to_be_visible()
    expect(second.get_by_text("release 1: 4 of 12 papers accepted")).to_be_visible()
    to(page, "Files")
    page.get_by_label("Paper", exact=True).fill("2")
    page.get_by_label("Reason", exact=True).fill("by its authors")
    press(page, "Withdraw it")
    expect(page.locator(".next")).to_contain_text("files or papers changed since")
    press(page, "Restore 2")
    expect(page.get_by_text("None.", exact=True)).to_be_visible()
    expect(page.locator(".next")).to_have_count(0)
    bring(page, late(given, papers), late="reviews")
    page.locator(".next").get_by_role("link", name="Decisions").click()
    page.get_by_label("Reason").fill("one score corrected, three late papers")
    page.get_by_label("Amend now").check()
    press(page, "Amend")
    expect(page.get_by_text("new papers, decided now: 13, 14, 15")).to_be_visible()
    expect(page.get_by_text("scores changed, decided from public data: 1")).to_be_visible()
    to(page, "Lists")
    page.get_by_label("Accept", exact=True).fill("6")
    press(page, "Show what would change")
    expect(page.get_by_text("6 accepted")).to_be_visible()
    page.get_by_label("System", exact=True).select_option("csv")
    press(page, "Print this list")
    expect(page.get_by_role("link", name="decisions-csv.csv")).to_be_visible()
    to(page, "Results")
    press(page, "Make the report")
    expect(page.get_by_role("link", name="report.html", exact=True)).to_be_visible()
    page.get_by_label("System", exact=True).select_option("hotcrp")
    press(page, "Make the file")
    with page.expect_download() as download:
        page.get_by_role("link", name="decisions-hotcrp.csv").click()
    # The other way round, HotCRP's bulk update has a decision for each paper.
    back = list(csv.DictReader(Path(download.value.path()).read_text().splitlines()))
    public = tmp_path / "home" / "icx" / "public" / "release-2"
    rows = list(csv.DictReader((public / "decisions.csv").read_text().splitlines()))
    accepted = {row["paper"] for row in back if row["decision"] == "yes"}
    assert accepted == {row["paper"] for row in rows if row["decision"] == "accept"}
    assert {row["paper"] for row in back} == {row["paper"] for row in rows}
    page.get_by_text("Override a decision by hand").click()
    page.get_by_label("Paper", exact=True).fill(back[0]["paper"])
    page.get_by_label("Reason", exact=True).fill("an error in a review")
    press(page, "Override it")
    expect(page.get_by_text("accept: an error in a review")).to_be_visible()
    press(page, f"Take back {back[0]['paper']}")
    expect(page.get_by_text("an error in a review")).to_have_count(0)
    # Before the report is made: a page that reads itself again when the work ends would end the download.
    with page.expect_download() as download:
        page.get_by_role("link", name="decisions.csv", exact=True).click()
    assert Path(download.value.path()).read_bytes() == (public / "decisions.csv").read_bytes()
    press(page, "Make the report")
    with page.context.expect_page() as other:
        page.get_by_role("link", name="read it here").first.click()
    report = other.value
    expect(report.get_by_role("heading", name="In short")).to_be_visible()
    assert report.evaluate("getComputedStyle(document.querySelector('.cards')).display") == "grid"
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", report.pdf(format="A4"))) <= 2, "two sheets of paper"
    to(page, "Check")
    press(page, "Verify")
    expect(page.get_by_text("Release 2 verified: everything agrees")).to_be_visible()
    press(page, "Audit")
    expect(page.locator("caption").first).to_contain_text("Adversary")
    said = [report.content()]
    for place, tab in enumerate(TABS.values()):
        to(page, tab.label)
        for summary in page.locator("summary").all():
            summary.click()
        for width in (1100, 340):
            page.set_viewport_size({"width": width, "height": 800})
            fits(page, width)
        page.emulate_media(color_scheme="dark" if place % 2 else "light")
        assert serious_faults(page) == [], tab.label
        said.append(page.content())
        assert str(tmp_path / "home" / "icx") in page.inner_text(".place"), "the folder's place is shown"
    kept = "[{...localStorage}, {...sessionStorage}, document.cookie, history.length > 1 && history.state]"
    assert page.evaluate(kept) == [{}, {}, "", None], "the browser keeps nothing"
    assert page.evaluate("indexedDB.databases()") == []
    addresses = [entry["url"] for entry in visited(page)]
    assert not [one for one in (*PEOPLE, "Canary", "idle@") for text in (*said, *addresses) if one in text]


def test_files_can_be_dropped_where_they_are_chosen(visit: Opener) -> None:
    page = visit("conference/files")
    page.get_by_label("Name of the folder").fill("icx")
    press(page, "Make the folder")
    to(page, "Files")
    dropped = page.evaluate_handle(
        """() => {
            const all = new DataTransfer();
            all.items.add(new File(["paper,reviewer,score\\n1,a,2\\n1,b,3\\n"], "now.csv"));
            return all;
        }"""
    )
    page.dispatch_event("footer", "drop", {"dataTransfer": dropped})
    page.dispatch_event(".upload", "drop", {"dataTransfer": dropped})
    expect(page.locator(".file strong")).to_have_text("now.csv")
    expect(page.locator(".file option").first).to_have_text("this year's reviews (by its content)")


def visited(page: Page) -> list[dict[str, Any]]:
    """Addresses and titles that the browser's history has."""
    tool = page.context.new_cdp_session(page)
    return list(tool.send("Page.getNavigationHistory")["entries"])


def test_the_embedded_conference_can_be_looked_at_and_its_work_stopped(visit: Opener) -> None:
    page = visit("conference")
    press(page, "Open the embedded conference")
    to(page, "Promise")
    press(page, "Compare")
    expect(page.get_by_role("heading", name="Working")).to_be_visible()
    expect(page.locator("progress")).to_be_visible()
    page.close()
    page = visit("conference/plan")
    expect(page.get_by_role("heading", name="Working")).to_be_visible()
    press(page, "Stop")
    expect(page.get_by_text("Stopped. Nothing was written by it.")).to_be_visible()


def reach(page: Page, name: str) -> None:
    """Press Tab until the element with this name, or this text, has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        found = page.evaluate("[document.activeElement.name, document.activeElement.textContent.trim()]")
        if name in found:
            return
    raise AssertionError(f"{name} cannot be reached by keyboard")


def test_a_conference_by_keyboard_alone(visit: Opener, tmp_path: Path) -> None:
    """No mouse: Tab, letters, Space and Enter. Only the system's own window for a file is left out."""
    small = small_conference(papers=6)
    files = small.write(tmp_path / "in")
    page = visit("conference")
    reach(page, "name")
    page.keyboard.type("icx")
    reach(page, "accept")
    page.keyboard.type("2")
    reach(page, "scores")
    page.keyboard.type("everyone")
    reach(page, "Make the folder")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("icx")
    reach(page, "Files")
    page.keyboard.press("Enter")
    expect(page.locator("#files")).to_be_visible()
    page.set_input_files("#files", [files / f"{name}.csv" for name in ("reviews", "reviewers", "pools")])
    expect(page.get_by_role("heading", name="What will be brought in")).to_be_visible()
    reach(page, "Bring them in")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Brought in.")).to_be_visible()
    reach(page, "Decide")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Decide every paper")).to_be_visible()
    reach(page, "sure")
    page.keyboard.press("Space")
    reach(page, "Decide every paper")
    page.keyboard.press("Enter")
    expect(page.get_by_text("release 1: decided")).to_be_visible()
    reach(page, "Check")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Verify with the key")).to_be_visible()
    reach(page, "Verify")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Release 1 verified")).to_be_visible()


def test_the_pair_can_be_played_by_keyboard(visit: Opener) -> None:
    page = visit("pair")
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
