"""Pages as people see them, in Chromium: from disk, with the network blocked, by keyboard, in print."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("typer")
pytest.importorskip("playwright")

from playwright.sync_api import Page

from app_clients import ATTACK, attacked
from blindcal.policy.guarantee import Guarantee
from blindcal.report.html_page import table_page
from blindcal.report.paper_table import PaperTable, TablePaper
from commands import call
from page_markup import serious_faults
from small_conferences import command_line, decided, small_conference

pytestmark = pytest.mark.edge

Opener = Callable[..., Page]

PAGES = ("report.html", "chair.html", "plan.html")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report, one for the chair and a plan, about papers of which one is called like a script."""
    home = tmp_path_factory.mktemp("pages")
    small = attacked(small_conference(papers=8))
    small.write(home / "in")
    decided(home / "in", home / "key.bin", home / "out")
    (home / "titles.csv").write_text(f'paper,title\np01,"<img src=""//x"" onerror=alert(1)>"\n{ATTACK},t\n')
    given = (home / "in", home / "key.bin", home / "out", f'titles = "{home / "titles.csv"}"')
    report = command_line("report", *given)
    assert call(*report, "--out", str(home / PAGES[0]))[0] == 0
    assert call(*report, "--out", str(home / PAGES[1]), "--confidential")[0] == 0
    assert call(*command_line("plan", *given), "--out", str(home / PAGES[2]))[0] == 0
    for name in PAGES:
        text = (home / name).read_text()
        assert not [one for one in small.canaries if one in text]
    return home


@pytest.fixture
def read(opened: Opener) -> Opener:
    """Opens a file with the network blocked."""
    return lambda path, **more: opened(path.as_uri(), offline=True, **more)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_from_disk_is_quiet_asks_for_nothing_and_fits(
    read: Opener, heard: list[str], folder: Path, name: str
) -> None:
    for width, scheme in ((1000, "light"), (1000, "dark"), (340, "light")):
        heard.clear()
        page = read(folder / name, color_scheme=scheme, viewport={"width": width, "height": 800})
        for summary in page.locator("summary").all():
            summary.click()
        assert heard == [f"request: {(folder / name).as_uri()}"]
        assert page.evaluate("document.scripts.length") == 0
        assert (ATTACK in page.inner_text("body")) == (name != "plan.html"), "a name is text"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing hangs over the edge"
        ink, paper = (
            page.evaluate(f"getComputedStyle(document.body).{part}") for part in ("color", "backgroundColor")
        )
        assert (_light(paper), _light(ink)) == (scheme == "light", scheme == "dark")


def _light(color: str) -> bool:
    red, green, blue = (int(part) for part in color.removeprefix("rgb(").removesuffix(")").split(","))
    return red + green + blue > 3 * 128


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(read: Opener, folder: Path, name: str, scheme: Any) -> None:
    page = read(folder / name, color_scheme=scheme, bypass_csp=True)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert serious_faults(page) == []


def test_axe_would_find_something(read: Opener, tmp_path: Path) -> None:
    (tmp_path / "bad.html").write_text('<p style="color: #ccc; background: #fff">pale</p><img src="x.png">')
    page = read(tmp_path / "bad.html")
    found = {rule for rule, _ in serious_faults(page)}
    assert {"color-contrast", "image-alt"} <= found


def test_everything_can_be_reached_by_keyboard(read: Opener, folder: Path) -> None:
    page = read(folder / PAGES[0], viewport={"width": 900, "height": 700})
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.wait_for_url("**#short")  # the browser goes there in its own time
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        tag, text = page.evaluate("[document.activeElement.tagName, document.activeElement.textContent]")
        if tag == "SUMMARY" and text not in seen:
            seen.add(text)
            page.keyboard.press("Enter")
    assert len(seen) == page.locator("summary").count() == page.locator("details[open]").count()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_two_sheets_of_paper_until_parts_of_it_are_opened(
    read: Opener, folder: Path, name: str
) -> None:
    page = read(folder / name, viewport={"width": 400, "height": 800})
    sheet = re.compile(rb"/Type\s*/Page\b(?!s)")
    closed = len(sheet.findall(page.pdf(format="A4")))
    assert closed <= 2
    assert page.evaluate("document.documentElement.scrollHeight") < 7000, "14,250 with everything open"
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert len(sheet.findall(page.pdf(format="A4"))) > closed


def row(number: int, **more: Any) -> TablePaper:
    """A paper of a table, with scores that differ."""
    scores = tuple(float(1 + (number * factor) % 10) for factor in (3, 5, 7))
    empty = dict.fromkeys(("title", "track", "area", "wait_list", "by_hand"), "")
    decision = "accept" if sum(scores) > 18 else "reject"
    told = {"how": "scores", "by_means": decision, "advice": "leave", "decision": decision, "published": ()}
    mean = round(sum(scores) / 3, 4)
    return TablePaper(
        **{"paper": f"{number}", "scores": scores, "mean": mean, "above": 0.5, **empty, **told, **more}
    )


def table_of(*papers: TablePaper) -> PaperTable:
    certificate = {
        "conference": "icx",
        "release": 1,
        "papers": len(papers),
        "accepted": 1,
        "better": "high",
        "scores": "public",
        "publishes": "decisions",
        "source": "this-year",
        "guarantee": "odds",
        "limits": {"epsilon": 3.0},
        "requested": {"accept_rate": 0.4},
    }
    return PaperTable(certificate, papers, Guarantee("odds"), "95.3 %")


@pytest.fixture(scope="module")
def meeting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 120 papers in two tracks, some near the bar, with hostile ids and titles."""
    drawn = {"how": "draw", "advice": "raise", "by_means": "reject", "decision": "accept"}
    evil = row(0, paper=ATTACK, title='"><img src=//x onerror=alert(1)>', track="main")
    tie = row(2, by_means="tie", advice="tie: raise", decision="accept", track="short")
    others = [
        row(number, track=("main", "short")[number % 2], title=f"On {number}") for number in range(3, 120)
    ]
    path = tmp_path_factory.mktemp("meeting") / "papers.html"
    path.write_text(
        table_page(
            table_of(evil, row(1, track="main", published=("reject", "accept"), **drawn), tie, *others)
        )
    )
    return path


def ids(page: Page) -> list[str]:
    return page.locator("#papers-table tbody th").all_inner_texts()


def test_the_table_of_papers_sorts_filters_searches_and_opens_papers_by_keyboard(
    read: Opener, heard: list[str], meeting: Path
) -> None:
    page = read(meeting, viewport={"width": 1200, "height": 900})
    assert sorted(ids(page)) == ["1", "2"], "the first view has the papers near the bar"
    page.get_by_label("Show").select_option("all")
    assert len(ids(page)) == 100
    means = [float(text) for text in page.locator("#papers-table tbody td:nth-child(4)").all_inner_texts()]
    assert means == sorted(means, reverse=True)
    page.get_by_role("button", name="Next papers").press("Enter")
    assert len(ids(page)) == 20
    page.get_by_role("button", name="paper", exact=True).press("Enter")
    assert ids(page)[:3] == [ATTACK, "1", "2"], "numbers sort as numbers"
    assert page.locator("th[aria-sort]").all_inner_texts() == ["paper"]
    page.get_by_role("button", name="paper", exact=True).press("Enter")
    assert ids(page)[:2] == ["119", "118"]
    page.get_by_label("Track or area").select_option(label="short")
    assert len(ids(page)) == 60
    page.keyboard.press("Escape")
    page.locator("body").press("/")
    page.keyboard.type("on 11")
    assert ids(page) == ["119", "117", "115", "113", "111", "11"]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator("#paper-title:focus").wait_for()
    assert page.locator("#paper-title").inner_text() == "Paper 117: On 117"
    assert not page.locator("#papers-view").is_visible()
    page.get_by_role("button", name="Next").press("Enter")
    page.locator("#paper-title", has_text="115").wait_for()
    page.keyboard.press("Escape")
    page.locator('a:focus:text-is("115")').wait_for()
    page.goto(f"{meeting.as_uri()}#paper=1")
    said = page.locator("#paper-view").inner_text()
    for words in (
        "with chance 95.3 %",
        "Release 1: reject",
        "Release 2: accept",
        "places 1",
        "never whether",
        "raised",
        "not confidence in this decision",
        "What you may tell the authors",
    ):
        assert words in said.replace("place 1", "places 1"), words
    page.goto(f"{meeting.as_uri()}#papers-view")
    page.get_by_label("Track or area").select_option(label="any")
    page.get_by_label("Show").select_option("draw")
    page.get_by_label("Id or title").fill("on 11")
    found = page.locator("#papers-count")
    assert found.inner_text() == "0 papers; outside this filter 11 match"
    page.get_by_label("Id or title").fill("on 117")
    assert found.inner_text() == "0 papers; outside this filter 1 matches"
    page.goto(f"{meeting.as_uri()}#paper={quote(ATTACK)}")
    assert ATTACK in page.locator("#paper-title").inner_text()
    assert {line.partition(": file:")[0] for line in heard} == {"request"}, "nothing runs, loads or complains"


def test_where_a_paper_lies_among_all_is_counted(read: Opener, meeting: Path) -> None:
    page = read(meeting)
    data = json.loads(page.locator("#papers-data").text_content() or "")
    papers = [dict(zip(data["columns"], line, strict=True)) for line in data["rows"]]
    mean = next(paper["mean"] for paper in papers if paper["paper"] == "50")
    better = sum(paper["mean"] > mean for paper in papers)
    equal = sum(paper["mean"] == mean for paper in papers)
    page.goto(f"{meeting.as_uri()}#paper=50")
    assert f"places {better + 1} to {better + equal} of 120 by mean score" in page.inner_text("#paper-facts")
    scores = [score for paper in papers for score in paper["scores"]]
    for line in page.locator("#paper-scores tbody tr").all():
        score, *shares = line.inner_text().split("\t")
        own = float(score.split()[0])
        sides = [sum(each < own for each in scores), scores.count(own), sum(each > own for each in scores)]
        assert shares == [f"{100 * side / len(scores):.0f} %" for side in sides]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("paper", ["", "#paper=1"])
def test_axe_finds_nothing_serious_in_the_table_of_papers(
    read: Opener, meeting: Path, scheme: Any, paper: str
) -> None:
    for width in (1200, 400):
        size = {"width": width, "height": 800}
        page = read(meeting, color_scheme=scheme, bypass_csp=True, viewport=size)
        page.goto(f"{meeting.as_uri()}{paper}")
        assert serious_faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_one_for_the_chair_is_marked_on_every_screen_and_page(read: Opener, folder: Path) -> None:
    page = read(folder / "chair.html", viewport={"width": 900, "height": 600})
    for place in (0, 0.5, 1.0):
        page.evaluate(f"window.scrollTo(0, {place} * document.documentElement.scrollHeight)")
        box = page.locator(".mark").bounding_box()
        assert box is not None
        assert 0 <= box["y"] < 600 - box["height"], "the mark stays on the screen"
    page.pdf(path=folder / "chair.pdf", format="A4")
    if reader := shutil.which("pdftotext"):
        done = subprocess.run([reader, folder / "chair.pdf", "-"], capture_output=True, text=True, check=True)
        sheets = done.stdout.removesuffix("\f").split("\f")
        assert len(sheets) >= 2
        assert all("CONFIDENTIAL" in sheet for sheet in sheets)
