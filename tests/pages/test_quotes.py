"""What pages quote from the package is what it says now: tools/quotes.py fills it in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools.quotes import PAGES, QUOTE, filled, quoted

from blindcal import Guarantee
from blindcal.deciding.certificate_fields import FIELDS, PARTS
from blindcal.project.settings import SECTIONS
from blindcal.report.wording import conditions, promises
from documents import ROOT, without_blocks

CROWD = Guarantee("crowd", among=7, epsilon=None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_quotes_what_the_package_says(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count("<!-- quote:") == len(QUOTE.findall(text))
    assert filled(text) == text, "run python tools/quotes.py"


@pytest.mark.parametrize(
    "page", ["README.md", "docs/howto/before_you_say_yes.md", "docs/explanation/privacy_model.md"]
)
def test_what_is_promised_is_quoted(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert "<!-- quote: promise" in text


def test_a_quote_that_is_no_longer_true_is_noticed() -> None:
    page = "<!-- quote: promise steady epsilon=2 -->\nNothing.\n<!-- end -->\n"
    first, second = promises(Guarantee("steady", epsilon=2.0))
    assert filled(page) == page.replace("Nothing.", f"* {first}\n* {second}")
    for wrong in ("promise nothing", "certificate", "what"):
        with pytest.raises(ValueError, match="nothing"):
            quoted(wrong)


def test_tables_have_every_setting_and_every_field() -> None:
    settings = quoted("settings")
    assert all(f"| `{name}` |" in settings for names in SECTIONS.values() for name in names)
    fields = "\n".join(quoted(f"certificate {part}") for part in PARTS)
    names = [row.name for row in FIELDS] + [f"{row.name}.{one.name}" for row in FIELDS for one in row.fields]
    assert sorted(names) == sorted(line.split("`")[1] for line in fields.splitlines() if "`" in line[:4])


def test_promises_in_short_leave_out_the_conditions() -> None:
    whole = quoted("promise crowd among=7").splitlines()
    assert whole == [f"* {text}" for own in (promises, conditions) for text in own(CROWD)]
    assert quoted("promise crowd among=7 in short").splitlines() == whole[:1]


def restated(page: str) -> list[str]:
    """Lines outside quotes and examples that promise what a limit on odds or a crowd promises."""
    promise = r"^.*(?:\bodds\b.*\bby more than a factor|\blikelier than 1 in (?:10|N)\b).*$"
    return re.findall(promise, without_blocks(QUOTE.sub("", page)), re.MULTILINE)


# The page of the theory has its definition.
@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name != "theory.md"], ids=lambda page: page.name
)
def test_a_promise_has_one_home(page: Path) -> None:
    assert restated(page.read_text(encoding="utf-8")) == []


def test_a_promise_in_other_words_is_noticed() -> None:
    (own,) = restated("Fine.\nNo odds change by more than a factor of 2.\n")
    assert own.startswith("No odds")
    assert restated("After it nobody is likelier than 1 in 10 to be right.") != []
    assert restated(f"<!-- quote: promise steady -->\n{own}\n<!-- end -->") == []
