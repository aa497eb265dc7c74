"""A table of texts -> the bytes of an `.xlsx` workbook, by the standard library.

Every cell is an inline text: nothing in it is ever run as a formula, whatever it starts with. The same table
always gives the same bytes.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from blindcal.errors import InputError

MOST_ROWS, MOST_CELL = 1_048_576, 32_767
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_LINKS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_BEGIN = (1980, 1, 1, 0, 0, 0)
# XML cannot hold these, and readers take _x0041_ for a letter: both are written as _xHHHH_.
_ESCAPED = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")


def workbook(header: Sequence[str], rows: Sequence[Sequence[str]], sheet: str) -> bytes:
    """A workbook of one sheet, named `sheet`: the `header` in bold, then the `rows`, all cells as text.

    >>> workbook(["paper", "decision"], [["17", "accept"]], "decisions")[:2]
    b'PK'
    """
    if len(rows) >= MOST_ROWS:
        raise InputError(f"a workbook must have at most {MOST_ROWS:,} rows, found {len(rows) + 1:,}")
    parts = {
        "[Content_Types].xml": _content_types(),
        "_rels/.rels": _links({"rId1": ("officeDocument", "xl/workbook.xml")}),
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
        f'<sheet name={quoteattr(sheet)} sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": _links(
            {"rId1": ("worksheet", "worksheets/sheet1.xml"), "rId2": ("styles", "styles.xml")}
        ),
        "xl/styles.xml": _styles(),
        "xl/worksheets/sheet1.xml": _sheet([header, *rows]),
    }
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            # A fixed date, so that the bytes do not depend on when they were written.
            archive.writestr(zipfile.ZipInfo(name, _BEGIN), _HEAD + text, zipfile.ZIP_DEFLATED)
    return data.getvalue()


def _content_types() -> str:
    overrides = {"workbook": "sheet.main", "worksheets/sheet1": "worksheet", "styles": "styles"}
    parts = "".join(
        f'<Override PartName="/xl/{name}.xml" ContentType="{_TYPES}.{kind}+xml"/>'
        for name, kind in overrides.items()
    )
    package = "http://schemas.openxmlformats.org/package/2006/content-types"
    relations = "application/vnd.openxmlformats-package.relationships+xml"
    return (
        f'<Types xmlns="{package}"><Default Extension="rels" ContentType="{relations}"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{parts}</Types>'
    )


def _links(targets: dict[str, tuple[str, str]]) -> str:
    found = "".join(
        f'<Relationship Id="{name}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for name, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{_LINKS}">{found}</Relationships>'


def _styles() -> str:
    """Two styles: texts, and texts in bold. Format 49 is text, so that no number or date is seen in them."""
    return (
        f'<styleSheet xmlns="{_MAIN}"><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
        '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
        '<fills count="2"><fill><patternFill patternType="none"/></fill>'
        '<fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders>'
        '<cellStyleXfs count="1"><xf numFmtId="49"/></cellStyleXfs><cellXfs count="2">'
        '<xf numFmtId="49" xfId="0" applyNumberFormat="1"/><xf numFmtId="49" fontId="1" xfId="0" '
        'applyNumberFormat="1" applyFont="1"/></cellXfs><cellStyles count="1">'
        '<cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
    )


def _sheet(rows: Sequence[Sequence[str]]) -> str:
    cells = "".join(
        f'<row r="{number}">'
        + "".join(_cell(f"{_letters(place)}{number}", text, number == 1) for place, text in enumerate(row))
        + "</row>"
        for number, row in enumerate(rows, start=1)
    )
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{cells}</sheetData></worksheet>'


def _cell(place: str, text: str, bold: bool) -> str:
    if not text:
        return ""
    if len(text) > MOST_CELL:
        raise InputError(
            f"a cell of a workbook must have at most {MOST_CELL:,} characters, found {len(text):,}"
        )
    safe = escape(_ESCAPED.sub(lambda match: f"_x{ord(match[0]):04X}_", text))
    return f'<c r="{place}" s="{int(bold)}" t="inlineStr"><is><t xml:space="preserve">{safe}</t></is></c>'


def _letters(place: int) -> str:
    """The letters of a column, counted from 0.

    >>> [_letters(place) for place in (0, 25, 26, 701)]
    ['A', 'Z', 'AA', 'ZZ']
    """
    before, last = divmod(place, 26)
    return (_letters(before - 1) if before else "") + chr(ord("A") + last)
