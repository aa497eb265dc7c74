"""Bytes -> text -> cells: encodings and separators are recognized, and what was recognized is said."""

from __future__ import annotations

import codecs
import re
from collections import Counter

from blindcal.errors import InputError, Problem
from blindcal.files.tables import Problems, records, refuse
from blindcal.importers.sheets import Sheet

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8"),
    (codecs.BOM_UTF32_LE, "", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
_SAMPLE = 2**16
_TOP_LINES = 50
_QUOTED = re.compile(r'"(?:[^"]++|"")*+(?:"|\Z)')
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


def decoded(data: bytes, file: str) -> tuple[str, str]:
    """The text of a file and the name of its encoding: UTF-8, UTF-16 or, if it is neither, Windows-1252.

    `data` holds its bytes; `file` is its name, for messages.

    >>> decoded("Zoë".encode("cp1252"), "x.csv"), decoded("Zoë".encode("utf-16"), "x.csv")
    (('Zoë', 'Windows-1252'), ('Zoë', 'UTF-16'))
    """
    codec, name = next(
        ((codec, name) for mark, codec, name in _MARKS if data.startswith(mark)), _unmarked(data)
    )
    if not codec:
        raise _bad(data, file, None, "must be UTF-8, UTF-16 or Windows-1252 text", name)
    try:
        text = data.decode(codec)
    except UnicodeDecodeError as error:
        offset = error.start + (len(data) - len(error.object))
        raise _bad(data, file, offset, f"must be {name} text throughout", f"byte {offset}") from None
    if "\0" in text:
        offset = data.find(b"\0")
        raise _bad(data, file, offset, "must have no NUL characters", f"one at byte {offset}")
    return text, name


def _unmarked(data: bytes) -> tuple[str, str]:
    top = data[:_SAMPLE]
    if len(top) >= 4 and top[1::2].count(0) > 0.4 * len(top[1::2]) and not top[::2].count(0):
        return "utf-16-le", "UTF-16"
    if len(top) >= 4 and top[::2].count(0) > 0.4 * len(top[::2]) and not top[1::2].count(0):
        return "utf-16-be", "UTF-16"
    return ("utf-8", "UTF-8") if _mostly_utf8(data) else ("cp1252", "Windows-1252")


def _mostly_utf8(data: bytes) -> bool:
    """Whether the text is UTF-8, if only up to some damage: then it must be refused and not misread."""
    if data.isascii():
        return True
    text = data.decode("utf-8", errors="replace")
    damaged = text.count("�") - data.count("�".encode())
    return not damaged or re.search(r"[^\x00-\x7f�]", text) is not None


def _bad(data: bytes, file: str, offset: int | None, rule: str, found: str) -> InputError:
    row = None if offset is None else data.count(b"\n", 0, offset) + 1
    return refuse([Problem(file, row, None, rule, found)])


def delimited(text: str, file: str, name: str) -> tuple[Sheet, str]:
    """The sheet of a delimited `text`, called `name`, and the separator of its cells; `file` is for messages.

    >>> sheet, separator = delimited("paper;score\\n7;2,5\\n", "x.csv", "x")
    >>> sheet.rows, separator
    ([(1, ['paper', 'score']), (2, ['7', '2,5'])], ';')
    """
    separator = _separator(text)
    log = Problems(file)
    rows = list(enumerate(records(text, log, separator=separator), start=1))
    log.finish()
    return Sheet(file, name, rows, cut=not text.endswith(("\n", "\r"))), separator


def _separator(text: str) -> str:
    """The separator that stands equally often in the most of the first lines, outside quotes; a comma if it
    stands in less than half of them, as in a list of names.

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
