"""Small files that stand for large tables or much work, made on the spot."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping

from exports import packed

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
SPACE = "urn:schemas-microsoft-com:office:spreadsheet"
HEADER = b"paper,reviewer,score\n"
NAMES = ("paper", "reviewer", "score")


def workbook(
    sheet: bytes, strings: bytes = b"", after: bytes = b"", link: str = "r1", kind: str = "worksheet"
) -> bytes:
    """An `.xlsx` file with these rows in its only sheet, and texts that its cells share."""
    main = f'xmlns="{MAIN}"'.encode()
    parts = {
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{LINKS}"><sheets>'
        f'<sheet name="s" r:id="{link}"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships><Relationship Id="r1" Type="{LINKS}/{kind}" '
        'Target="/xl/s.xml"/></Relationships>',
    }
    return packed(
        {
            **{name: text.encode() for name, text in parts.items()},
            "xl/sharedStrings.xml": b"<sst %b>%b</sst>" % (main, strings),
            "xl/s.xml": b"<worksheet %b><sheetData>%b</sheetData>%b</worksheet>" % (main, sheet, after),
        }
    )


def header(names: tuple[str, ...] = NAMES) -> bytes:
    cells = "".join(f'<c t="inlineStr"><is><t>{name}</t></is></c>' for name in names)
    return f'<row r="1">{cells}</row>'.encode()


def rows(number: int, cell: str) -> bytes:
    """A header, and so many rows of these cells."""
    return header() + "".join(f'<row r="{r}">{cell.format(r=r)}</row>' for r in range(2, number + 2)).encode()


def spreadsheet(number: int, cell: str) -> bytes:
    """The same as SpreadsheetML."""
    names = "".join(f'<Cell><Data ss:Type="String">{name}</Data></Cell>' for name in NAMES)
    table = f"<Row>{names}</Row>" + f"<Row>{cell}</Row>" * number
    sheet = f'<Worksheet ss:Name="s"><Table>{table}</Table></Worksheet>'
    return f'<Workbook xmlns="{SPACE}" xmlns:ss="{SPACE}">{sheet}</Workbook>'.encode()


def listed(numbers: int, item: str) -> bytes:
    return b"".join((item % number).encode() for number in range(numbers))


WIDE = (*NAMES, *(f"q{number}" for number in range(997)))
MEMORY = "must take at most 512 MiB of memory"
EMPTY = "must have at least one review with a score"
BOMBS: Mapping[str, tuple[Callable[[], bytes], str]] = {
    # 500,000 rows of one empty cell far to the right are no cell at all.
    "far and empty.xlsx": (lambda: workbook(rows(500_000, '<c r="ALL{r}"/>')), EMPTY),
    "far and empty.xls": (lambda: spreadsheet(500_000, '<Cell ss:Index="1000"/>'), EMPTY),
    "far.xlsx": (lambda: workbook(rows(300_000, '<c r="ALL{r}"><v>1</v></c>')), MEMORY),
    "far.xls": (lambda: spreadsheet(300_000, '<Cell ss:Index="1000"><Data>1</Data></Cell>'), MEMORY),
    "merged.xls": (lambda: spreadsheet(300_000, '<Cell ss:MergeAcross="999"/>'), EMPTY),
    "merged.xlsx": (
        lambda: workbook(rows(1, "<c/>"), after=b'<mergeCell ref="A1:XFD1048576"/>' * 200_000),
        EMPTY,
    ),
    "corners.xlsx": (lambda: workbook(b'<row r="1048576"><c r="XFD1048576"/></row>'), "at most 1,000"),
    "wide header.xlsx": (lambda: workbook(header(WIDE) + b"<row><c><v>1</v></c></row>" * 300_000), MEMORY),
    "long text that cells share.xlsx": (
        lambda: workbook(
            rows(20_000, '<c t="s"><v>0</v></c><c t="s"><v>0</v></c>'),
            b"<si><t> %b </t></si>" % (b"a" * 99_000),
        ),
        MEMORY,
    ),
    "cells.xlsx": (lambda: workbook(b"<row>%b</row>" % (b"<c/>" * 900) * 20_000), MEMORY),
    "texts.xlsx": (lambda: workbook(header(), b"<si/>" * 20_000_000), MEMORY),
    "text.xlsx": (
        lambda: workbook(header(), b"<si><t>%b</t></si>" % (b"a" * 10**8)),
        "at most 100,000",
    ),
    "pieces.xlsx": (
        lambda: workbook(b'<row><c t="inlineStr"><is>%b</is></c></row>' % (b"<t>a</t>" * 2_000_000)),
        "at most 100,000 characters per cell",
    ),
    "attribute.xlsx": (lambda: workbook(b'<row x="%b"/>' % (b"a" * 10**8)), "must not have a tag"),
    "comment.xlsx": (lambda: workbook(b"<!--%b-->" % (b"a" * 10**8)), "must not have a tag or comment"),
    "names.xlsx": (lambda: workbook(listed(500_000, "<e%d/>")), "must not have more than 1,000 names"),
    "spaces.xlsx": (
        lambda: workbook(listed(500_000, '<e xmlns:p%d="u"/>')),
        "must not have more than 1,000 names",
    ),
    "padding.xlsx": (lambda: workbook(b" " * 300_000_000), "must unpack to at most 268,435,456 bytes"),
    "rows.csv.gz": (lambda: gzip.compress(HEADER + b"1,1,1\n" * 1_900_000), MEMORY),
    "cells.csv.gz": (lambda: gzip.compress(HEADER + (b"ab," * 999 + b"\n") * 20_000), MEMORY),
    "lines.csv.gz": (
        lambda: gzip.compress(HEADER + b"\n" * 50_000_000),
        "must have at most 2,000,000 lines",
    ),
    "wide characters.csv.gz": (lambda: gzip.compress("😀".encode() + b"a" * 120_000_000), MEMORY),
    "members.csv.gz": (lambda: gzip.compress(b"") * 100_000, "must be an export that is recognized"),
    "lists.json.gz": (lambda: gzip.compress(b"[%b[]]" % (b"[]," * 20_000_000)), MEMORY),
    "objects.json.gz": (lambda: gzip.compress(b"[%b{}]" % (b"{}," * 20_000_000)), MEMORY),
    "keys.json": (lambda: b"[%b{}]" % listed(50_000, '{"k%d":1},'), MEMORY),
}
"""What makes each, and what the refusal says."""
