"""Decisions -> the bytes of a file that another system reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from blindcal.cells import escape
from blindcal.errors import InputError, Problem
from blindcal.exporters.decided import DECISIONS, Decided
from blindcal.exporters.workbooks import workbook
from blindcal.files.tables import encoded, format_table, refuse

WHAT = ("decisions", "advice")
_TAGS = ("raise", "lower", "accept", "reject")
# Only chairs see a HotCRP tag that starts so: what area chairs are advised is not for everyone.
_CHAIR_TAG = "~~blindcal-"
_WORDS: Mapping[str, tuple[str, str]] = {
    "hotcrp": ("Accepted", "Rejected"),
    "openreview": ("Accept (Poster)", "Reject"),
    "csv": DECISIONS,
    "xlsx": DECISIONS,
}
FORMATS = tuple(_WORDS)


def export(
    papers: Sequence[Decided],
    to: str,
    what: str = "decisions",
    *,
    accepted: str | None = None,
    rejected: str | None = None,
) -> bytes:
    """The file for a system: `hotcrp`, `openreview`, `csv` or `xlsx`; of the `decisions` or the `advice`.

    `accepted` and `rejected` are what the conference calls its decisions, where these are not the system's
    usual words.

    >>> paper = Decided("12", "accept", "reject", "raise", title="On Widgets")
    >>> export([paper], "hotcrp").decode().split()
    ['paper,action,decision', '12,decision,Accepted']
    >>> export([paper], "openreview", accepted="Accept").decode()
    '12,Accept,\\n'
    >>> export([paper], "csv", "advice").decode().split("\\n")[:2]
    ['paper,title,advice', '12,On Widgets,raise']
    """
    if to not in FORMATS:
        raise InputError(f"`to` must be one of {', '.join(FORMATS)}, found {to!r}")
    if what not in WHAT:
        raise InputError(f"`what` must be one of {', '.join(WHAT)}, found {what!r}")
    words = dict(zip(DECISIONS, _checked_words(to, what, accepted, rejected), strict=True))
    return _WRITERS[to](papers, what, words)


def _checked_words(to: str, what: str, accepted: str | None, rejected: str | None) -> tuple[str, str]:
    """What decisions are called; a word that a spreadsheet might run is refused, as it cannot be escaped."""
    if what == "advice" and (accepted is not None or rejected is not None):
        raise InputError("`accepted` and `rejected` are words for decisions: leave them out with advice")
    words = accepted or _WORDS[to][0], rejected or _WORDS[to][1]
    for name, word in zip(("accepted", "rejected"), words, strict=True):
        if not word.strip() or not word.isprintable() or escape(word) != word:
            raise InputError(f"`{name}` must be words such as Accept (Poster), found {word!a}")
    if words[0] == words[1]:
        raise InputError("`accepted` and `rejected` must be different words")
    return words


def _hotcrp(papers: Sequence[Decided], what: str, words: Mapping[str, str]) -> bytes:
    """A bulk assignment. Advice is in tags; those of an earlier release are cleared."""
    numbers = _numbers(papers, "HotCRP")
    if what == "decisions":
        header = "paper,action,decision"
        rows = [(paper, "decision", words[one.decision]) for paper, one in zip(numbers, papers, strict=True)]
    else:
        header = "paper,action,tag"
        rows = [
            (paper, "tag" if one.advice == tag else "cleartag", f"{_CHAIR_TAG}{tag}")
            for paper, one in zip(numbers, papers, strict=True)
            for tag in _TAGS
        ]
    return encoded("".join(f"{','.join(map(_quoted, row))}\n" for row in [tuple(header.split(",")), *rows]))


def _openreview(papers: Sequence[Decided], what: str, words: Mapping[str, str]) -> bytes:
    """Rows of number, decision and comment, without a header, which would be taken for a paper."""
    if what == "advice":
        raise InputError(
            "OpenReview reads decisions and nothing else: export advice as csv or xlsx, for area chairs alone"
        )
    numbers = _numbers(papers, "OpenReview")
    rows = zip(numbers, papers, strict=True)
    return encoded("".join(f"{paper},{_quoted(words[one.decision])},\n" for paper, one in rows))


def _csv(papers: Sequence[Decided], what: str, words: Mapping[str, str]) -> bytes:
    header, rows = _table(papers, what, words)
    return format_table(dict(zip(header, zip(*rows, strict=True), strict=True)))


def _xlsx(papers: Sequence[Decided], what: str, words: Mapping[str, str]) -> bytes:
    header, rows = _table(papers, what, words)
    return workbook(header, rows, what)


_WRITERS: Mapping[str, Callable[[Sequence[Decided], str, Mapping[str, str]], bytes]] = {
    "hotcrp": _hotcrp,
    "openreview": _openreview,
    "csv": _csv,
    "xlsx": _xlsx,
}


def _table(
    papers: Sequence[Decided], what: str, words: Mapping[str, str]
) -> tuple[list[str], list[tuple[str, ...]]]:
    """Header and rows for people: titles where there are any, and who decided where the chair did."""
    columns = {"paper": [one.paper for one in papers]}
    if any(one.title for one in papers):
        columns["title"] = [one.title for one in papers]
    if what == "advice":
        columns["advice"] = [one.advice for one in papers]
    else:
        columns["decision"] = [words[one.decision] for one in papers]
        if any(one.overridden for one in papers):
            columns["overridden"] = ["by hand" if one.overridden else "" for one in papers]
    return list(columns), list(zip(*columns.values(), strict=True))


def _numbers(papers: Sequence[Decided], system: str) -> list[str]:
    """The papers' ids, which these systems know by number."""
    bad = [
        place for place, one in enumerate(papers, start=2) if not re.fullmatch(r"[1-9][0-9]{0,8}", one.paper)
    ]
    if bad:
        rule = f"must be a whole number: {system} knows papers by their numbers. Export as csv or xlsx"
        raise refuse([Problem("decisions.csv", row, "paper", rule) for row in bad])
    return [one.paper for one in papers]


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if re.search('[",]', cell) else cell
