"""Opening an export: bytes to sheets or JSON, by content alone.

Gzip, zip, `.xlsx`, SpreadsheetML, JSON and delimited text are recognized, and so are encodings and
separators; what was recognized is reported. Nothing is unpacked beyond a limit, whatever a file says of
itself, or kept beyond the memory that an input may take.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePosixPath
from shutil import copyfileobj
from sys import getsizeof

from blindcal.errors import InputError
from blindcal.importers.raw_export import export_error
from blindcal.importers.sheet import Memory, OpenedExport, Worksheet, json_size
from blindcal.importers.workbooks import spreadsheet_xml, xlsx_sheets
from blindcal.io.atomic_files import parse_json
from blindcal.io.tables import SEPARATORS, Problems, records

MAX_EXPORT = 256 * 2**20
_CHUNK = 2**20
_MAX_PARTS = 2_000
_ZIP_ENTRY = b"PK\x01\x02"
_BROKEN_ZIP = (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, OSError, ValueError, KeyError)
_FOREIGN = (
    (b"\xd0\xcf\x11\xe0", "an old binary Excel file", "must be saved again as .xlsx or CSV"),
    (b"%PDF", "a PDF file", "must be an export with one row per review"),
)
_ENCODING_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8"),
    (codecs.BOM_UTF32_LE, "", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
_SAMPLE = 2**16
_TOP_LINES = 50
_QUOTED = re.compile(r'"(?:[^"]++|"")*+(?:"|\Z)')


def open_export(data: bytes, file: str) -> OpenedExport:
    """What the bytes of an export hold, unpacked and decoded; `file` is its name, for messages alone."""
    if len(data) > MAX_EXPORT:
        raise export_error(file, f"must have at most {MAX_EXPORT:,} bytes", f"{len(data):,}")
    memory = Memory(file)
    memory.take(len(data))
    if data.startswith(b"\x1f\x8b"):
        data = _gunzip(data, file)
        memory.take(len(data))
        inner = _open_unpacked(data, file, memory)
        return replace(inner, said=("gzip", *inner.said))
    return _open_unpacked(data, file, memory)


def _open_unpacked(data: bytes, file: str, memory: Memory) -> OpenedExport:
    for mark, kind, rule in _FOREIGN:
        if data.startswith(mark):
            raise export_error(file, rule, kind)
    if data.startswith(b"\x1f\x8b"):
        raise export_error(file, "must be packed once", "gzip within gzip")
    if data.startswith(b"PK\x03\x04"):
        return _open_zip(data, file, memory)
    return _open_text(data, file, PurePosixPath(file).stem, memory)


def _gunzip(data: bytes, file: str) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            content = packed.read(MAX_EXPORT + 1)
    except EOFError:
        raise export_error(file, "must be a whole gzip file", "its end missing") from None
    except (zlib.error, OSError):
        raise export_error(file, "must be a whole gzip file", "damage") from None
    if len(content) > MAX_EXPORT:
        raise export_error(file, f"must unpack to at most {MAX_EXPORT:,} bytes", "more")
    return content


def _open_zip(data: bytes, file: str, memory: Memory) -> OpenedExport:
    if (parts := data.count(_ZIP_ENTRY)) > _MAX_PARTS:
        raise export_error(file, f"must have at most {_MAX_PARTS:,} parts, each once", f"{parts:,}")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        names = archive.namelist()
    except _BROKEN_ZIP:
        raise export_error(file, "must be a whole zip or .xlsx file", "damage") from None
    if len(set(names)) < len(names):
        raise export_error(file, f"must have at most {_MAX_PARTS:,} parts, each once", f"{len(names):,}")
    read = _part_reader(archive, file, memory)
    if "xl/workbook.xml" in names:
        return OpenedExport(file, xlsx_sheets(read, file, memory), said=("an .xlsx workbook",))
    return _open_zipped_files(names, read, file, memory)


def _part_reader(archive: zipfile.ZipFile, file: str, memory: Memory) -> Callable[[str], bytes | None]:
    """A function that reads a part of the archive, within one limit for all parts together."""
    left = MAX_EXPORT

    def read(name: str) -> bytes | None:
        nonlocal left
        try:
            info = archive.getinfo(name)
        except KeyError:
            return None
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or info.flag_bits & 1:
            raise export_error(file, "must be packed plainly", "a password or an unusual packing")
        # No part unpacks to more than it says: `zipfile` reads no further, and the checksum tells.
        if info.file_size > left:
            raise export_error(file, f"must unpack to at most {MAX_EXPORT:,} bytes", "more")
        left -= info.file_size
        memory.check(info.file_size)
        unpacked = io.BytesIO()
        try:
            with archive.open(info) as part:
                copyfileobj(part, unpacked, _CHUNK)
        except _BROKEN_ZIP:
            raise export_error(file, "must be a whole zip or .xlsx file", "damage") from None
        return unpacked.getvalue()

    return read


def _open_zipped_files(
    names: list[str], read: Callable[[str], bytes | None], file: str, memory: Memory
) -> OpenedExport:
    """The tables of a zip of text files, or the only JSON text in it."""
    files = []
    for name in filter(_is_table, names):
        if (data := read(name)) is not None:
            memory.take(len(data))
            files.append(_open_text(data, f"{file}: {name}", PurePosixPath(name).stem, memory))
    if not files:
        raise export_error(file, "must hold a CSV, TSV or JSON file, or be an .xlsx workbook", "neither")
    said = tuple(dict.fromkeys(("zip", *(line for part in files for line in part.said))))
    if len(files) > 1 and any(part.value is not None for part in files):
        raise export_error(file, "must hold one JSON file or only tables", f"{len(files)} files")
    return OpenedExport(file, tuple(sheet for part in files for sheet in part.sheets), files[0].value, said)


def _is_table(name: str) -> bool:
    path = PurePosixPath(name)
    hidden = any(part.startswith((".", "__MACOSX")) for part in path.parts)
    return path.suffix.lower() in (".csv", ".tsv", ".txt", ".json", ".jsonl", ".xls", ".xml") and not hidden


def _open_text(data: bytes, file: str, name: str, memory: Memory) -> OpenedExport:
    start = data[:1_000].replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html")):
        raise export_error(file, "must be an export and not a web page", "HTML (a page to sign in?)")
    if start.startswith(b"<"):
        return OpenedExport(file, spreadsheet_xml(data, file, memory), said=("a SpreadsheetML workbook",))
    text, encoding = decode_text(data, file, memory)
    if start.startswith((b"{", b"[")):
        memory.check(json_size(text), file=file)
        return OpenedExport(file, value=_parse_json_or_lines(text, file), said=(f"JSON, {encoding}",))
    sheet, separator = parse_delimited(text, file, name, memory)
    return OpenedExport(file, (sheet,), said=(f"cells separated by {SEPARATORS[separator]}s, {encoding}",))


def _parse_json_or_lines(text: str, file: str) -> object:
    """The value of a JSON text, or the list of those on its lines where each line is one."""
    first, line_end, rest = text.strip().partition("\n")
    if line_end and rest.lstrip().startswith("{") and first.rstrip().endswith("}"):
        values, rule = [], "must be one JSON value per line"
        for number, line in enumerate(text.split("\n"), start=1):
            try:
                values += [parse_json(line, file)] if line.strip() else []
            except InputError as error:
                raise export_error(file, rule, error.problems[0].found, number) from None
        return values
    return parse_json(text, file)


def decode_text(data: bytes, file: str, memory: Memory) -> tuple[str, str]:
    """The text of a file and the name of its encoding: UTF-8, UTF-16 or, if it is neither, Windows-1252."""
    # How many bytes Python takes for each character of such a text, at most.
    width = 4 if re.search(rb"[\xf0-\xff]", data) else 2 if re.search(rb"[\x80-\xff]", data) else 1
    memory.take(len(data) * width, file=file)
    marked = (encoding for mark, *encoding in _ENCODING_MARKS if data.startswith(mark))
    codec, name = next(marked, _guessed_encoding(data))
    if not codec:
        raise export_error(file, "must be UTF-8, UTF-16 or Windows-1252 text", name)
    try:
        text = data.decode(codec)
    except UnicodeDecodeError as error:
        offset = error.start + (len(data) - len(error.object))
        row = data.count(b"\n", 0, offset) + 1
        raise export_error(file, f"must be {name} text throughout", f"byte {offset}", row) from None
    if "\0" in text:
        offset = data.find(b"\0")
        row = data.count(b"\n", 0, offset) + 1
        raise export_error(file, "must have no NUL characters", f"one at byte {offset}", row)
    return text, name


def _guessed_encoding(data: bytes) -> tuple[str, str]:
    top = data[:_SAMPLE]
    for codec, high, low in (("utf-16-le", top[1::2], top[::2]), ("utf-16-be", top[::2], top[1::2])):
        if len(top) >= 4 and high.count(0) > 0.4 * len(high) and not low.count(0):
            return codec, "UTF-16"
    return ("utf-8", "UTF-8") if _mostly_utf8(data) else ("cp1252", "Windows-1252")


def _mostly_utf8(data: bytes) -> bool:
    """Whether the text is UTF-8, if only up to some damage: then it must be refused and not misread."""
    if data.isascii():
        return True
    text = data.decode("utf-8", errors="replace")
    damaged = text.count("�") - data.count("�".encode())
    return not damaged or re.search(r"[^\x00-\x7f�]", text) is not None


def parse_delimited(text: str, file: str, name: str, memory: Memory) -> tuple[Worksheet, str]:
    """The sheet of a delimited `text`, called `name`, and the separator of its cells."""
    separator = _separator(text)
    log = Problems(file)
    # The end is cut off a copy, and all the rest may be one cell.
    memory.take(getsizeof(text), file=file)
    memory.check(getsizeof(text), file=file)
    rows = []
    for number, cells in enumerate(records(text, log, separator=separator), start=1):
        memory.take_row(cells, number, file)
        rows.append((number, cells))
    log.finish()
    return Worksheet(file, name, rows, cut=not text.endswith(("\n", "\r"))), separator


def _separator(text: str) -> str:
    """The separator that stands equally often in most of the first lines, outside quotes.

    It is a comma if the best one stands in less than half of them, as in a list of names.

    >>> _separator("a,b,c\\n1,x;;;;;;,2\\n"), _separator("CONF, 2026\\n\\na\\tb\\n1\\t2, 3\\n")
    (',', '\\t')
    """
    top = [line for line in _QUOTED.sub("", text[:_SAMPLE]).splitlines()[:_TOP_LINES] if line]

    def agreement(separator: str) -> tuple[int, int]:
        counts = Counter(number for line in top if (number := line.count(separator)))
        return max(((lines, number) for number, lines in counts.items()), default=(0, 0))

    # Where two agree equally well it is the comma that stands in texts.
    best = max(reversed(SEPARATORS), key=agreement)
    return best if 2 * agreement(best)[0] >= len(top) else ","
