"""Decisions as the bytes of a file that another system reads, or a spreadsheet.

`.xlsx` workbooks are written by the standard library. Every cell is an inline text, so nothing in it is ever
run as a formula, whatever it starts with. The same table always gives the same bytes.
"""

from __future__ import annotations

import html
import io
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from blindcal.errors import InputError, Problem
from blindcal.io.atomic_files import ADVICE as ADVICE_FILE
from blindcal.io.atomic_files import DECISIONS as DECISIONS_FILE
from blindcal.io.atomic_files import read_bytes, read_table
from blindcal.io.cells import Column, escape
from blindcal.io.tables import StrPath, encode_utf8, format_table, input_error, parse_table, quote_cell
from blindcal.planning.advice import ADVICE, BY_MEANS, LEAVE

# --- The public table of decisions as one row per paper: its decision, title, and whether it was overridden

DECISIONS = ("accept", "reject")
WAITING = "wait list"
_FOUND = (*DECISIONS, WAITING)
_COLUMNS = (
    Column("paper", "id"),
    Column("decision", choices=_FOUND, required=False),
    Column("by_mean_score", choices=BY_MEANS, required=False),
    Column("advice", choices=(*ADVICE,), required=False),
    Column("track", "id", required=False, empty=True),
    Column("wait_list", required=False, empty=True),
)


@dataclass(frozen=True)
class DecidedPaper:
    """One paper as it goes out."""

    paper: str  # its id, as in the reviews
    decision: str  # `accept`, `reject` or `wait list`; empty if advice is published
    # What its mean score alone says, `accept`, `reject` or `tie`; empty if scores are confidential and the
    # table is the public one
    by_mean_score: str
    advice: str  # how to get from there to the decision, one of `ADVICE`; empty in the same case
    title: str = ""  # empty if it is not known
    overridden: bool = False  # whether the decision is the chair's and not blindcal's
    track: str = ""  # empty if it is not known
    wait_list: str = ""  # its rank there, as text; empty if it has none


def read_decided(
    release: StrPath, titles: StrPath | None = None, overridden: Mapping[str, str] | None = None
) -> tuple[DecidedPaper, ...]:
    """The papers of a release, in the order of its table.

    `release`: a folder with a `decisions.csv` or `advice.csv`, or the table itself. `overridden`: decisions
    made by hand, by paper, `accept` or `reject`: they take the place of blindcal's.
    """
    file = table_of(release) or Path(release) / DECISIONS_FILE
    return decided_of(read_bytes(file), str(file), titles, overridden)


def table_of(release: StrPath) -> Path | None:
    """The public table of a release folder; None if it has none, as with confidential advice.

    A path that is no folder is the table itself.
    """
    folder = Path(release)
    tables = [folder / name for name in (DECISIONS_FILE, ADVICE_FILE)]
    return next(filter(Path.is_file, tables), None) if folder.is_dir() else folder


def decided_of(
    data: bytes, file: str, titles: StrPath | None = None, overridden: Mapping[str, str] | None = None
) -> tuple[DecidedPaper, ...]:
    """The papers in the `data` of a table of decisions, a `file`; see `read_decided`."""
    table = parse_table(data, file, _COLUMNS, extra=True)
    if "decision" not in table and "advice" not in table:
        raise input_error([Problem(table.file, 1, "decision", "must be there, or else the column advice")])
    papers = table.text("paper")
    if twice := table.repeated("paper"):
        raise input_error(twice)
    by_hand = dict(overridden or {})
    if unknown := sorted(by_hand.keys() - {*papers}):
        raise InputError(f"`overridden`: paper {unknown[0]!r} is not in {table.file}")
    names = {} if titles is None else read_titles(titles)
    columns = ("decision", "by_mean_score", "advice", "track", "wait_list")
    cells = (table.text(name) if name in table else ("",) * len(papers) for name in columns)
    decided = {
        paper: DecidedPaper(paper, decision, raw, advice, names.get(paper, ""), track=track, wait_list=index)
        for paper, decision, raw, advice, track, index in zip(papers, *cells, strict=True)
    }
    for paper, decision in by_hand.items():
        decided[paper] = replace(decided[paper], decision=decision, overridden=True, wait_list="")
    return tuple(decided.values())


def read_titles(path: StrPath) -> dict[str, str]:
    """Titles by paper; `path` is a table with the columns `paper,title`."""
    table = read_table(path, [Column("paper", "id"), Column("title", empty=True)], extra=True)
    return dict(zip(table.text("paper"), table.text("title"), strict=True))


WHAT = ("decisions", "advice")
_TAGS = {advice: advice.replace(": ", "-") for advice in ADVICE if advice != LEAVE}

# Only chairs see a HotCRP tag that starts so: what area chairs are advised is not for everyone.
_CHAIR_TAG = "~~blindcal-"
_NUMBERED = "a whole number: {} knows papers by their numbers"


def export(
    papers: Sequence[DecidedPaper],
    to: str,
    what: str = "decisions",
    *,
    accepted: str | None = None,
    rejected: str | None = None,
    waiting: str | None = None,
) -> bytes:
    """The bytes of a file that another system imports, or that people read.

    Args:
        papers: Those of `read_decided`; HotCRP and OpenReview need ids that are numbers, pretalx its codes.
        to: The system: `hotcrp` and `openreview` import the file; for `pretalx` it is a program that calls
            its API; for `easychair` and `cmt`, which import no decisions that we know of, a list to type
            from. Or, for people, `csv` or `xlsx`.
        what: The `decisions`, or the `advice` for area chairs, which OpenReview and pretalx cannot take.
        accepted: What the conference calls acceptance, by default the system's usual word.
        rejected: What it calls rejection, by default the system's usual word.
        waiting: What it calls the wait list. Without it, papers there are not decided in a system: a file for
            HotCRP or pretalx takes back what an earlier one said of them, OpenReview's leaves them out.

    Example:
        >>> paper = DecidedPaper("12", "accept", "reject", "raise", title="On Widgets")
        >>> export([paper], "hotcrp").decode().split()
        ['paper,action,decision', '12,decision,yes']
        >>> export([paper], "openreview", accepted="Accept").decode()
        '12,Accept,\\n'
        >>> export([paper], "csv", "advice").decode().split("\\n")[:2]
        ['paper,title,by_mean_score,advice', '12,On Widgets,reject,raise']
    """
    if what not in WHAT:
        raise InputError(f"`what` must be one of {', '.join(WHAT)}, found {what!r}")
    words, system = decision_words(to, accepted, rejected, waiting), FORMATS[to]
    why = system.own_words or ("these are words for decisions" if what == "advice" else "")
    if why and any(word is not None for word in (accepted, rejected, waiting)):
        raise InputError(f"`accepted`, `rejected` and `waiting` must be left out: {why}")
    every = what == "advice" or system.waiting == TAKEN_BACK
    kept = papers if every else [decided for decided in papers if decided.decision in words]
    if what == "advice" and not system.advice:
        raise InputError(f"{to} takes decisions alone: export advice as csv or xlsx, for area chairs alone")
    return system.write(kept, what, words)


def decision_words(
    to: str, accepted: str | None = None, rejected: str | None = None, waiting: str | None = None
) -> dict[str, str]:
    """What a system calls each decision that its file can have; the arguments are those of `export`."""
    if to not in FORMATS:
        raise InputError(f"`to` must be one of {', '.join(FORMATS)}, found {to!r}")
    system = FORMATS[to]
    words = {"accept": accepted or system.accepted, "reject": rejected or system.rejected}
    if waiting is not None or system.waiting == LISTED:
        words[WAITING] = waiting or WAITING
    for name, word in zip(("accepted", "rejected", "waiting"), words.values(), strict=False):
        # One that a spreadsheet might run cannot be escaped: the system would take it for another word.
        if not word.strip() or not word.isprintable() or escape(word) != word:
            raise InputError(f"`{name}` must be words such as Accept (Poster), found {word!a}")
    if len({*words.values()}) < len(words):
        raise InputError("`accepted`, `rejected` and `waiting` must be different words")
    return words


def _hotcrp_assignment(papers: Sequence[DecidedPaper], what: str, words: Mapping[str, str]) -> bytes:
    """A bulk assignment. Advice is in tags; what an earlier file said and this one does not is cleared."""
    _check_papers(papers, _NUMBERED.format("HotCRP"))
    if what == "decisions":
        rows = [("paper", "action", "decision")]
        for decided in papers:
            # A decision to clear is cleared only if the paper has it: the site's own ones stay.
            action = "decision" if decided.decision in words else "cleardecision"
            named = [words[decided.decision]] if decided.decision in words else words.values()
            rows += [(decided.paper, action, word) for word in named]
    else:
        rows = [("paper", "action", "tag")]
        rows += [
            (decided.paper, "tag" if decided.advice == advice else "cleartag", f"{_CHAIR_TAG}{tag}")
            for decided in papers
            for advice, tag in _TAGS.items()
        ]
    return encode_utf8("".join(f"{','.join(map(quote_cell, row))}\n" for row in rows))


def _openreview_rows(papers: Sequence[DecidedPaper], what: str, words: Mapping[str, str]) -> bytes:
    """Rows of number, decision and comment, without a header, which would be taken for a paper."""
    _check_papers(papers, _NUMBERED.format("OpenReview"))
    return encode_utf8(
        "".join(f"{decided.paper},{quote_cell(words[decided.decision])},\n" for decided in papers)
    )


def _pretalx_program(papers: Sequence[DecidedPaper], what: str, words: Mapping[str, str]) -> bytes:
    """A program that sets the states by pretalx's API; the token is asked for when it runs."""
    _check_papers(papers, "a code of pretalx, like ABC37X", "[A-Z0-9]{4,20}")
    lines = "".join(f'    "{decided.paper}": "{decided.decision}",\n' for decided in papers)
    program = files("blindcal.exporters").joinpath("pretalx_states.txt").read_text(encoding="utf-8")
    return encode_utf8(program.replace("DECISIONS = {}", f"DECISIONS = {{\n{lines}}}"))


def _typing_list(papers: Sequence[DecidedPaper], what: str, words: Mapping[str, str]) -> bytes:
    """A list to type from, in the order in which systems list papers."""
    in_order = sorted(papers, key=lambda decided: (decided.paper.zfill(20), decided.paper))
    return _csv_table(in_order, what, words)


def _csv_table(papers: Sequence[DecidedPaper], what: str, words: Mapping[str, str]) -> bytes:
    return format_table(_people_table(papers, what, words))


def _excel_table(papers: Sequence[DecidedPaper], what: str, words: Mapping[str, str]) -> bytes:
    columns = _people_table(papers, what, words)
    return workbook([*columns], [*zip(*columns.values(), strict=True)], what)


class Format(NamedTuple):
    """A system, or a table for people: how its file is written, and how decisions get there."""

    write: Callable[[Sequence[DecidedPaper], str, Mapping[str, str]], bytes]
    accepted: str = "accept"  # its usual words
    rejected: str = "reject"
    upload: str = ""  # what to do with the file, `{out}`; empty for people
    worded: bool = False  # whether a conference may have other words
    own_words: str = ""  # why nobody may give it words at all; empty if they may
    advice: bool = True  # whether its file may have advice in place of decisions
    waiting: str = "listed"  # what becomes of the wait list if it has no word there: one of the three below
    ending: str = "csv"  # of its file's name


LISTED, TAKEN_BACK, LEFT_OUT = "listed", "taken back", "left out"
_BY_HAND = "a list to type from: we know of no upload of decisions to {}"
FORMATS: Mapping[str, Format] = {
    "hotcrp": Format(
        _hotcrp_assignment,
        # Not words: HotCRP takes a word that is no whole name of a decision for part of one, so `Rejected`
        # would be `Desk rejected` on a site that says `Reject`. With these it finds the only one, or refuses.
        "yes",
        "no",
        "upload it under Assignments > Bulk update, whose preview shows what becomes of each paper. HotCRP "
        "takes yes and no for your site's only decision that accepts and the only one that rejects; if it "
        "answers that more than one matches, give the exact names of yours with `accepted` and `rejected`",
        worded=True,
        waiting=TAKEN_BACK,
    ),
    "openreview": Format(
        _openreview_rows,
        "Accept (Poster)",
        "Reject",
        "upload it in the decision stage, or post it by openreview-py's Venue.post_decisions",
        worded=True,
        advice=False,
        waiting=LEFT_OUT,
    ),
    "pretalx": Format(
        _pretalx_program,
        upload="run it: python {out} https://YOUR.PRETALX/api/events/EVENT/ --check, then without --check",
        own_words="pretalx has states of its own",
        advice=False,
        ending="py",
        waiting=TAKEN_BACK,
    ),
    "easychair": Format(_typing_list, upload=_BY_HAND.format("EasyChair"), worded=True),
    "cmt": Format(_typing_list, "Accept", "Reject", _BY_HAND.format("CMT"), worded=True),
    "csv": Format(_csv_table),
    "xlsx": Format(_excel_table, ending="xlsx"),
}


def _people_table(
    papers: Sequence[DecidedPaper], what: str, words: Mapping[str, str]
) -> dict[str, list[str]]:
    """Columns for people; titles, tracks, the wait list and who decided only where there are any."""
    fields = ("by_mean_score", "advice") if what == "advice" else ("decision", "wait_list", "overridden")
    names = ("paper", "title", "track", *fields)
    columns = {name: [getattr(decided, name) for decided in papers] for name in names}
    if what == "decisions":
        columns["decision"] = [words[decision] for decision in columns["decision"]]
        columns["overridden"] = ["by hand" * decided.overridden for decided in papers]
    return {name: cells for name, cells in columns.items() if any(cells)}


def _check_papers(papers: Sequence[DecidedPaper], rule: str, pattern: str = "[1-9][0-9]{0,8}") -> None:
    """Refuse papers that a system could not know: by default one that has numbers for them."""
    bad = [line for line, decided in enumerate(papers, start=2) if not re.fullmatch(pattern, decided.paper)]
    if bad:
        rule = f"must be {rule}. Export as csv or xlsx"
        raise input_error([Problem("decisions.csv", row, "paper", rule) for row in bad])


_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_LINKS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
# Two styles: texts, and texts in bold. Format 49 is text, so that no number or date is seen in them.
_STYLES = (
    f'<styleSheet xmlns="{_MAIN}"><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="49"/></cellStyleXfs><cellXfs count="2">'
    '<xf numFmtId="49" xfId="0" applyNumberFormat="1"/><xf numFmtId="49" fontId="1" xfId="0" '
    'applyNumberFormat="1" applyFont="1"/></cellXfs><cellStyles count="1">'
    '<cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
)
_CONTENT_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPES}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPES}.worksheet+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_TYPES}.styles+xml"/></Types>'
)
_BEGIN = (1980, 1, 1, 0, 0, 0)
MOST_ROWS, MOST_CELL = 1_048_576, 32_767

# XML cannot hold these, and readers take _x0041_ for a letter: both are written as _xHHHH_.
_ESCAPED = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")


def workbook(header: Sequence[str], rows: Sequence[Sequence[str]], sheet: str) -> bytes:
    """A workbook of one sheet, named `sheet`: the `header` in bold, then the `rows`, all cells as text."""
    if len(rows) >= MOST_ROWS:
        raise InputError(f"a workbook must have at most {MOST_ROWS:,} rows, found {len(rows) + 1:,}")
    parts = {
        "[Content_Types].xml": _CONTENT_TYPES,
        "_rels/.rels": _relationships_xml({"rId1": ("officeDocument", "xl/workbook.xml")}),
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
        f'<sheet name="{html.escape(sheet)}" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": _relationships_xml(
            {"rId1": ("worksheet", "worksheets/sheet1.xml"), "rId2": ("styles", "styles.xml")}
        ),
        "xl/styles.xml": _STYLES,
        "xl/worksheets/sheet1.xml": _sheet_xml([header, *rows]),
    }
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            # A fixed date, so that the bytes do not depend on when they were written.
            archive.writestr(zipfile.ZipInfo(name, _BEGIN), _HEAD + text, zipfile.ZIP_DEFLATED)
    return data.getvalue()


def _relationships_xml(targets: dict[str, tuple[str, str]]) -> str:
    links = "".join(
        f'<Relationship Id="{name}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for name, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{_LINKS}">{links}</Relationships>'


def _sheet_xml(rows: Sequence[Sequence[str]]) -> str:
    """The rows as XML; cells without text are left out, so each says where it is."""
    lines = (
        "".join(_cell_xml(column, number, text) for column, text in enumerate(row))
        for number, row in enumerate(rows, start=1)
    )
    numbered = "".join(f'<row r="{number}">{line}</row>' for number, line in enumerate(lines, start=1))
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{numbered}</sheetData></worksheet>'


def _cell_xml(column: int, row: int, text: str) -> str:
    if not text:
        return ""
    if len(text) > MOST_CELL:
        raise InputError(
            f"a cell of a workbook must have at most {MOST_CELL:,} characters, found {len(text):,}"
        )
    safe = html.escape(_ESCAPED.sub(lambda match: f"_x{ord(match[0]):04X}_", text), quote=False)
    place = f'r="{_column_letters(column)}{row}" s="{int(row == 1)}"'
    return f'<c {place} t="inlineStr"><is><t xml:space="preserve">{safe}</t></is></c>'


def _column_letters(column: int) -> str:
    """The letters of a column, counted from 0.

    >>> [_column_letters(column) for column in (0, 25, 26, 701)]
    ['A', 'Z', 'AA', 'ZZ']
    """
    before, last = divmod(column, 26)
    return (_column_letters(before - 1) if before else "") + chr(ord("A") + last)
