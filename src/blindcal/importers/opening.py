"""Bytes -> sheets or JSON, by content alone: gzip, zip, `.xlsx`, SpreadsheetML, JSON, delimited text.

Nothing is unpacked beyond a limit, whatever a file says of itself.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable
from pathlib import PurePosixPath

from blindcal.errors import InputError, Problem
from blindcal.files.disk import parse_json
from blindcal.files.tables import refuse
from blindcal.importers.sheets import Opened
from blindcal.importers.texts import SEPARATORS, decoded, delimited
from blindcal.importers.workbooks import spreadsheet_xml, xlsx_sheets

MAX_EXPORT = 256 * 2**20
_MAX_PARTS = 2_000
_BROKEN_ZIP = (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, OSError, ValueError, KeyError)
_FOREIGN = (
    (b"\xd0\xcf\x11\xe0", "an old binary Excel file", "must be saved again as .xlsx or CSV"),
    (b"%PDF", "a PDF file", "must be an export with one row per review"),
)


def open_export(data: bytes, file: str) -> Opened:
    """What the bytes of an export hold, unpacked and decoded.

    `data` may be packed as gzip or zip; `file` is its name, for messages alone.

    >>> opened = open_export(b"paper;score\\n7;2\\n", "x.csv")
    >>> opened.sheets[0].rows, opened.said
    ([(1, ['paper', 'score']), (2, ['7', '2'])], ('cells separated by semicolons, UTF-8',))
    """
    if len(data) > MAX_EXPORT:
        raise _refused(file, f"must have at most {MAX_EXPORT:,} bytes", f"{len(data):,}")
    if data.startswith(b"\x1f\x8b"):
        inner = _opened(unpacked(data, file), file)
        return Opened(file, inner.sheets, inner.value, inner.is_json, ("gzip", *inner.said))
    return _opened(data, file)


def _opened(data: bytes, file: str) -> Opened:
    for mark, found, rule in _FOREIGN:
        if data.startswith(mark):
            raise _refused(file, rule, found)
    if data.startswith(b"\x1f\x8b"):
        raise _refused(file, "must be packed once", "gzip within gzip")
    if data.startswith(b"PK\x03\x04"):
        return _zipped(data, file)
    return _text(data, file, PurePosixPath(file).stem)


def unpacked(data: bytes, file: str, limit: int = MAX_EXPORT) -> bytes:
    """What a gzip file holds, up to `limit` bytes; one that holds more is refused.

    `data` holds its bytes; `file` is its name, for messages.

    >>> import gzip
    >>> unpacked(gzip.compress(b"paper,score"), "x.csv.gz")
    b'paper,score'
    """
    parts, size = [], 0
    while data:
        engine = zlib.decompressobj(wbits=31)
        try:
            part = engine.decompress(data, limit - size + 1)
        except zlib.error:
            raise _refused(file, "must be a whole gzip file", "damage") from None
        size += len(part)
        if size > limit:
            raise _refused(file, f"must unpack to at most {limit:,} bytes", "more")
        if not engine.eof:
            raise _refused(file, "must be a whole gzip file", "its end missing")
        parts.append(part)
        data = engine.unused_data
    return b"".join(parts)


def _zipped(data: bytes, file: str) -> Opened:
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        names = archive.namelist()
    except _BROKEN_ZIP:
        raise _refused(file, "must be a whole zip or .xlsx file", "damage") from None
    if len(names) > _MAX_PARTS or len(set(names)) < len(names):
        raise _refused(file, f"must have at most {_MAX_PARTS:,} parts, each once", f"{len(names):,}")
    read = _reader(archive, file)
    if "xl/workbook.xml" in names:
        return Opened(file, xlsx_sheets(read, file), said=("an .xlsx workbook",))
    return _folder(names, read, file)


def _reader(archive: zipfile.ZipFile, file: str) -> Callable[[str], bytes | None]:
    """A function that reads a part of the archive, within one limit for all parts together."""
    left = MAX_EXPORT

    def read(name: str) -> bytes | None:
        nonlocal left
        try:
            info = archive.getinfo(name)
        except KeyError:
            return None
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or info.flag_bits & 1:
            raise _refused(file, "must be packed plainly", "a password or an unusual packing")
        try:
            with archive.open(info) as part:
                data = part.read(left + 1)
        except _BROKEN_ZIP:
            raise _refused(file, "must be a whole zip or .xlsx file", "damage") from None
        left -= len(data)
        if left < 0:
            raise _refused(file, f"must unpack to at most {MAX_EXPORT:,} bytes", "more")
        return data

    return read


def _folder(names: list[str], read: Callable[[str], bytes | None], file: str) -> Opened:
    """The tables of a zip of text files, or the only JSON text in it."""
    inside = [name for name in names if _is_table(name)]
    found = [_text(read(name) or b"", f"{file}: {name}", PurePosixPath(name).stem) for name in inside]
    if not found:
        raise _refused(file, "must hold a CSV, TSV or JSON file, or be an .xlsx workbook", "neither")
    said = tuple(dict.fromkeys(("zip", *(line for part in found for line in part.said))))
    if any(part.is_json for part in found):
        if len(found) > 1:
            raise _refused(file, "must hold one JSON file or only tables", f"{len(found)} files")
        return Opened(file, value=found[0].value, is_json=True, said=said)
    return Opened(file, tuple(sheet for part in found for sheet in part.sheets), said=said)


def _is_table(name: str) -> bool:
    path = PurePosixPath(name)
    hidden = any(part.startswith((".", "__MACOSX")) for part in path.parts)
    return path.suffix.lower() in (".csv", ".tsv", ".txt", ".json", ".jsonl", ".xls", ".xml") and not hidden


def _text(data: bytes, file: str, name: str) -> Opened:
    start = data[:1_000].replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html")):
        raise _refused(file, "must be an export and not a web page", "HTML (a page to sign in?)")
    if start.startswith(b"<"):
        return Opened(file, spreadsheet_xml(data, file), said=("a SpreadsheetML workbook",))
    text, encoding = decoded(data, file)
    if start.startswith((b"{", b"[")):
        return Opened(file, value=_json(text, file), is_json=True, said=(f"JSON, {encoding}",))
    sheet, separator = delimited(text, file, name)
    return Opened(file, (sheet,), said=(f"cells separated by {SEPARATORS[separator]}, {encoding}",))


def _json(text: str, file: str) -> object:
    """The value of a JSON text, or the list of those on its lines where each line is one."""
    first, line_end, rest = text.strip().partition("\n")
    if line_end and rest.lstrip().startswith("{") and first.rstrip().endswith("}"):
        lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
        return [_json_line(line, number, file) for number, line in lines]
    return parse_json(text, file)


def _json_line(line: str, number: int, file: str) -> object:
    try:
        return parse_json(line, file)
    except InputError as error:
        found = error.problems[0].found
        raise refuse([Problem(file, number, None, "must be one JSON value per line", found)]) from None


def _refused(file: str, rule: str, found: str) -> InputError:
    return refuse([Problem(file, None, None, rule, found)])
