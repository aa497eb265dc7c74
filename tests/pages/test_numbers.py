"""Every measured number in README.md and docs/ comes from a study, and page and study agree.

A study keeps what the pages state in docs/numbers, beside its command. What is quick is computed again here,
the rest is compared with what its study kept. A number that no study made must be in an example that runs, or
be listed below with the reason why nothing makes it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tools.quotes import QUOTE

from documents import PAGES, ROOT, without_blocks
from sizes import count
from stated import MARK, put

pytest.importorskip("matplotlib").use("Agg")
pytest.importorskip("joblib")
pytestmark = pytest.mark.edge

STUDIES = sorted((ROOT / "docs" / "numbers").glob("*.json"))
# Percentages, shares to two digits or more, and counts of standard errors.
NUMBER = re.compile(r"(?<![\w.,])\d*\.?\d+ %|(?<![\w.,/])\d*\.\d{2,}(?![\w.])|\d[\d.]* standard errors")

# Numbers that nothing measures: what an example on the page prints, arithmetic, settings, other people's.
KNOWN = {
    "README.md": {
        "3.11": "a version of Python",
    },
    "calibrators.md": {
        "90 %": "the level of an interval",
        ".002": "standard error of the paper's own figure: the page's, times the root of 3",
        ".009": "standard error of the paper's own figure: the page's, times the root of 3",
        ".25": "a noise level",
        **dict.fromkeys(
            [".143", ".151", ".168", ".147", ".200", ".235", ".000", ".061", ".112"],
            "printed by the paper's published script",
        ),
    },
    "calibration_models.md": {
        "90 %": "the level of an interval",
        "84 %": "P(N(0,1) < 1)",
        "0.01": "a setting of the prior",
        ".19": "a setting: NIPS 2014",
        ".99": "a setting: NIPS 2014",
    },
    "records_and_randomness.md": {
        "0.30": "put into the example below it",
        "0.16": "printed by the example below it",
    },
    "certificate.md": {
        ".60": "printed by the example below it",
        ".73": "printed by the example below it",
    },
    "this_year.md": {
        ".67": "a setting of moderate reviewers",
        **dict.fromkeys([".15", ".25", ".35"], "a share of disagreement that may be stated"),
    },
    "two_reviewers.md": {
        "0.14": "printed by the example above it",
        ".14": "printed by the example above it",
        ".38": "printed by the example above it",
    },
    "report_in_hand.md": {".953": "e^3 / (1 + e^3)"},
    "calibrate_reviewers.md": {"90 %": "the level of an interval", ".953": "e^3 / (1 + e^3)"},
    "privacy_model.md": {
        "40 %": ".7 - .3, the sentence's own numbers",
        "60 %": "printed by the example below it",
        ".985": "printed by the example above it",
    },
    "guarantees.md": {
        "0.19": "a setting: NIPS 2014",
        "0.99": "a setting: NIPS 2014",
    },
    "first_decisions.md": {"3.11": "a version of Python"},
    "systems.md": dict.fromkeys(["3.11", "3.13"], "a version of Python"),
    "before_you_say_yes.md": {"2 %": "a threshold of the check that calibration fits"},
    "numerics.md": {
        "0.04": "seconds, printed by the command below the table",
        "0.07": "seconds, printed by the command below it",
        "0.41": "GiB, printed by the bench of committees",
        "0.84": "GiB, printed by the bench of committees",
    },
    "history_and_sharing.md": {
        "90 %": "the level of an interval",
        "1.64": "the quantile of a 90 % interval",
        "100 %": "nothing learned, by definition",
    },
}


def kept(study: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (ROOT / "docs" / "numbers" / f"{study}.json").read_text(encoding="utf-8")
    )
    return found


def marks(page: Path) -> set[str]:
    """The tables that a page shows, wholly or in part."""
    return {found[2] for found in MARK.finditer(page.read_text(encoding="utf-8"))}


def words(path: Path) -> str:
    """The text of a page on one line; of a module, with its strings joined."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        text = re.sub(r'"\s*\n\s*f?"', "", text)
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_pages_state_what_a_study_kept(path: Path) -> None:
    record = json.loads(path.read_text(encoding="utf-8"))
    assert (ROOT / record["command"].split()[1]) == ROOT / "studies" / f"{path.stem}.py"
    assert (ROOT / "studies" / f"{path.stem}.py").exists()
    for page, tables in record["tables"].items():
        text = (ROOT / page).read_text(encoding="utf-8")
        assert put(text, tables) == text, f"{page}: run {record['command']}"
    for page, sentences in record["sentences"].items():
        for sentence in sentences:
            assert sentence in words(ROOT / page), f"{page} must say: {sentence} ({record['command']})"


def test_every_study_with_numbers_is_named_on_its_pages() -> None:
    for path in STUDIES:
        record = json.loads(path.read_text(encoding="utf-8"))
        shown = {page for page, tables in record["tables"].items() if tables.keys() & marks(ROOT / page)}
        for page in {*shown, *record["sentences"]}:
            assert record["command"] in words(ROOT / page) or page.endswith(".py"), (
                f"{page}: {record['command']}"
            )


def test_every_marked_table_has_a_study() -> None:
    held = {(page, mark) for p in STUDIES for page, marks in kept(p.stem)["tables"].items() for mark in marks}
    for page in PAGES:
        name = str(page.relative_to(ROOT))
        for mark in marks(page):
            assert (name, mark) in held, f"{name}: no study keeps {mark}"


def prose(page: Path) -> str:
    """The page without code, marked tables, quotes, sentences that a study keeps, and addresses."""
    text = QUOTE.sub("", page.read_text(encoding="utf-8"))
    text = MARK.sub("", without_blocks(text))
    text = re.sub(
        r"\s+", " ", re.sub(r"\]\([^)]*\)|arXiv:[\d.]+|`[^`]*`", " ", text.replace("`average`", "average"))
    )
    name = str(page.relative_to(ROOT))
    for path in STUDIES:
        for sentence in kept(path.stem)["sentences"].get(name, ()):
            text = text.replace(re.sub(r"`[^`]*`", " ", sentence.replace("`average`", "average")), "")
    return text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_number_in_a_page_has_a_source(page: Path) -> None:
    known = KNOWN.get(page.name, {})
    found = {number.removesuffix(" standard errors") for number in NUMBER.findall(prose(page))}
    assert found - set(known) == set()
    assert set(known) - found == set(), "listed, and no longer on the page"


def test_a_number_without_a_source_is_noticed() -> None:
    assert NUMBER.findall(
        "in about 2 % of reviews, .35 of 12.5 %, by 11 standard errors; 4.2, 5, v1.20.3"
    ) == [
        "2 %",
        ".35",
        "12.5 %",
        "11 standard errors",
    ]


def test_the_caption_of_the_score_plane() -> None:
    """The rings hold what they say, counted over a wider and finer plane (cells cut by a ring make 6e-4 of
    difference); if long, all is computed again."""
    import two_reviewers

    for _, pair, low, high in two_reviewers.PAIRS:
        score, density = two_reviewers.densities(pair, low, high, 240)
        wide, everywhere = two_reviewers.densities(pair, low - 3.0, high + 3.0, 701)
        held = [
            everywhere[everywhere >= level].sum() * (wide[1] - wide[0]) ** 2
            for level in two_reviewers.held_levels(score, density)
        ]
        np.testing.assert_allclose(held, sorted(two_reviewers.HELD, reverse=True), atol=0.001)
    if count(0, 1):
        assert two_reviewers.sentences(two_reviewers.planes()) == kept("two_reviewers")["sentences"]


def test_the_tables_of_appendix_a_that_are_quick() -> None:
    """Every cell of the methods that need no sampling, as the text has it (in both readings if long)."""
    import appendix_a
    from blindcal.paper import appendix_a as simulated

    tables = kept("appendix_a")["tables"]["docs/evidence/calibrators.md"]
    for reading in ("text", "script")[: count(1, 2)]:
        for method in ("raw", "standardized", "maximum_likelihood", "posterior"):
            found = simulated(appendix_a.TABLED, [method], reading=reading, trials=300)
            for k, measure in enumerate(appendix_a.MEASURES):
                cells = appendix_a.cells(found.errors[:, 0, k])
                assert f"| `{method}` | {' | '.join(cells)} |" in tables[f"{reading}_{measure}"]


def test_what_was_played_for_the_menu() -> None:
    """Raw decisions and full calibration with true qualities: four million papers in the long tests."""
    import menu
    from blindcal.simulation.population import prototype_population

    papers = count(400_000, 4_000_000)
    rows = kept("menu")["tables"]["docs/evidence/guarantees.md"]["headline"]
    for name, (mean, error) in menu.simulated(prototype_population(), papers, seed=3).items():
        row = next(row for row in rows if row.startswith(f"| {name} "))
        stated, spread = (float(part) / 100 for part in re.findall(r"played: ([\d.]+) ± ([\d.]+)", row)[0])
        # Five standard errors either way: a false alarm in less than one run in a million.
        assert abs(mean - stated) < 5 * np.hypot(error, spread)
        assert papers < 4_000_000 or f"played: {100 * mean:.2f} ± {100 * error:.2f} %" in row


def test_what_fitted_offsets_give_away() -> None:
    import audit

    stated = kept("audit")["sentences"]["docs/evidence/adversaries.md"]
    if count(0, 1):
        assert audit.leak_sentences(audit.leak()) == stated[1:]
    assert audit.leak_sentences(audit.Leak(0.125, 0.4, 900)) == stated[1:]


def test_the_results_of_mechanisms_are_those_of_this_code() -> None:
    """The file that others extend, and the tables of its page, computed again."""
    import csv

    import mechanisms

    found = mechanisms.compute()
    tables = kept("mechanisms")["tables"]["docs/research/benchmark.md"]
    assert mechanisms.tables(found) == tables
    assert mechanisms.sentences(found) == kept("mechanisms")["sentences"]
    text = (ROOT / "docs" / "research" / "benchmark.csv").read_text(encoding="utf-8")
    stored = list(csv.DictReader(text.splitlines()))
    again = list(csv.DictReader(mechanisms.results(found).splitlines()))
    assert [(row["mechanism"], row["instance"]) for row in stored] == [
        (row["mechanism"], row["instance"]) for row in again
    ]
    for old, new in zip(stored, again, strict=True):
        for column in list(old)[2:]:
            assert float(new[column]) == pytest.approx(float(old[column]), abs=2e-7, nan_ok=True), old
