"""How large a report is and how fast Chromium shows it: 1,000 and 20,000 papers, for everyone and the chair.

A small conference is decided, and its public files are repeated until there are so many papers. Needs an
installed Chromium, as `studies/page_pictures.py` does.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import Browser

sys.path.insert(0, str(Path(__file__).parents[1] / "studies"))

import blindcal as bc
from blindcal.exporters.formats import read_decided
from blindcal.report import read_certificate
from blindcal.report.html_page import Report, page
from blindcal.report.paper_survey import survey
from blindcal.simulation.conference import example_files, simulate
from page_pictures import browser

FEW, MANY = 20, (1_000, 20_000)
_LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"
_UNFOLD = """() => new Promise(done => {
  const start = performance.now();
  document.querySelectorAll('details').forEach(one => { one.open = true; });
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
})"""


def small(folder: Path) -> Report:
    """A report about a few papers."""
    drawn = simulate(FEW, 8, 3, seed=14)
    for name, data in example_files(drawn).items():
        (folder / name).write_bytes(data)
    inputs = bc.read_inputs(*(folder / f"{name}.csv" for name in ("reviews", "reviewers", "pools")))
    bc.make_key(folder / "key.bin")
    bc.decide(
        inputs,
        bc.Request(bc.Guarantee("steady", epsilon=2.0), accept_rate=0.25),
        folder / "key.bin",
        folder / "out",
    )
    certificate = read_certificate(folder / "out")
    conference, _ = inputs.prepared(bar=certificate["bar"])
    return Report(certificate, read_decided(folder / "out"), survey(conference))


def repeated(report: Report, papers: int) -> Report:
    """The same report about so many papers, with the same shares of everything."""
    times, found = papers // FEW, report.survey or ()
    counts = {name: report.certificate[name] * times for name in ("papers", "reviews", "accepted")}
    decided = [replace(one, paper=f"{one.paper}-{i}") for i in range(times) for one in report.decided]
    stands = [replace(one, paper=f"{one.paper}-{i}") for i in range(times) for one in found]
    return replace(
        report,
        certificate={**report.certificate, **counts},
        decided=tuple(decided),
        survey=tuple(stands),
        titles={one.paper: "A title of about the length that a title has, more or less" for one in decided},
    )


def shown(chrome: Browser, path: Path) -> tuple[float, float]:
    """Seconds until a page from disk is loaded, and until all of it is unfolded."""
    tab = chrome.new_context(offline=True, viewport={"width": 1000, "height": 1000}).new_page()
    tab.goto(path.as_uri())
    return tab.evaluate(_LOADED) / 1000, tab.evaluate(_UNFOLD) / 1000


def main() -> None:
    with tempfile.TemporaryDirectory() as name, browser() as chrome:
        folder = Path(name)
        first = small(folder)
        for papers in MANY:
            for confidential in (False, True):
                report = replace(repeated(first, papers), confidential=confidential)
                start = time.perf_counter()
                text = page(report).encode()
                made = time.perf_counter() - start
                path = folder / f"{papers}-{confidential}.html"
                path.write_bytes(text)
                loaded, unfolded = shown(chrome, path)
                kind = "for the chair" if confidential else "public"
                print(
                    f"{papers:>6,} papers, {kind:<13}: {len(text) / 1e6:.2f} MB, made in {made:.2f} s, "
                    f"loaded in {loaded:.2f} s, unfolded in {unfolded:.2f} s"
                )


if __name__ == "__main__":
    main()
