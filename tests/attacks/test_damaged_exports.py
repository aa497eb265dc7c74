"""Damaged exports: each is refused with its place or read right; nothing is lost without a word.

Damage whose effect is known (rows and columns dropped, repeated or moved, other encodings) is held to that
effect. For a flipped byte nobody knows the right answer, so what is left is held to this: reviews that are no
longer there share the one paper, reviewer or track that was hit, or something else is said than before.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from random import Random
from zlib import crc32

import pytest

from blindcal.errors import InputError
from blindcal.importers.normalize import Imported
from exports import EXPORTS, Export, in_order, rows
from sizes import count

DELIMITED = [export for export in EXPORTS if export.name.endswith(".csv")]
JSONS = [export for export in EXPORTS if export.name.endswith((".json", ".jsonl"))]
PACKED = [export for export in EXPORTS if export.name.endswith((".gz", ".zip", ".xlsx"))]
FLIPS, CUTS = count(40, 4_000), count(12, 400)


def cases(exports: list[Export]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("export", exports, ids=[export.name for export in exports])


def attempt(export: Export, data: bytes) -> Imported | None:
    """The import, or None where it was refused with its place and without a traceback."""
    try:
        return export.read(data)
    except InputError as error:
        refusal = error
    assert refusal.problems, str(refusal)
    assert all(problem.file.startswith(export.path.name) for problem in refusal.problems), str(refusal)
    assert all(problem.rule.startswith("must") for problem in refusal.problems), str(refusal)
    return None


def said(imported: Imported) -> tuple[object, ...]:
    fields = imported.score_field, imported.confidence_field, *imported.columns()
    return imported.recognized, imported.dropped, imported.warnings, fields


def generator(export: Export, what: str) -> Random:
    return Random(crc32(f"{export.name} {what}".encode()))


def assert_nothing_is_lost(export: Export, whole: Imported, left: Imported) -> None:
    """What differs has one cause, or something else is said."""
    before, after = rows(whole), rows(left)
    gone = [row for row in before if row not in after]
    if len(left.reviews) >= len(whole.reviews) and not gone:
        return
    shared = [{row.get(name) for row in gone} for name in ("paper", "reviewer", "track")]
    one_cause = len(after) == len(before) and any(len(values) == 1 for values in shared)
    assert one_cause or said(left) != said(whole), f"{export.name}: {gone}"


@cases(EXPORTS)
def test_a_flipped_byte_is_refused_or_changes_one_thing(export: Export) -> None:
    rng, data, whole = generator(export, "flip"), export.data, export.read()
    for _ in range(FLIPS):
        place = rng.randrange(len(data))
        other = rng.choice(
            [data[place] ^ 1 << rng.randrange(8), rng.randrange(256), ord(rng.choice('",;\t\n 0aA'))]
        )
        left = attempt(export, data[:place] + bytes([other]) + data[place + 1 :])
        if left is not None:
            assert_nothing_is_lost(export, whole, left)


@cases(PACKED)
def test_a_flipped_byte_in_what_is_packed_is_refused_or_harmless(export: Export) -> None:
    rng, data, whole = generator(export, "packed"), export.data, export.read()
    for _ in range(FLIPS):
        place = rng.randrange(len(data))
        left = attempt(
            export, data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]
        )
        if left is not None and said(left) == said(whole):
            assert rows(left) == rows(whole)


@cases(EXPORTS)
def test_a_file_cut_short_is_refused_or_loses_only_its_end(export: Export) -> None:
    rng, data = generator(export, "cut"), export.data
    whole = rows(export.read())
    for _ in range(CUTS):
        left = attempt(export, data[: rng.randrange(len(data))])
        if left is not None and rows(left) != whole:
            assert export in DELIMITED or export.name.endswith((".tsv", ".export", ".jsonl")), export.name
            # Only the last review that is left can be cut within.
            assert sum(row not in unnumbered(whole) for row in unnumbered(rows(left))) <= 1


@cases(EXPORTS)
def test_noise_in_the_middle_is_refused_or_changes_one_thing(export: Export) -> None:
    rng, data, whole = generator(export, "noise"), export.data, export.read()
    for _ in range(CUTS):
        start = rng.randrange(len(data))
        noise = (
            rng.randbytes(rng.randrange(1, 6))
            if rng.random() < 0.5
            else data[start : start + rng.randrange(9)]
        )
        left = attempt(export, data[:start] + noise + data[start:])
        if left is not None:
            assert_nothing_is_lost(export, whole, left)


def unnumbered(found: list[dict[str, str]]) -> list[dict[str, str]]:
    """Members who share a name on EasyChair have their number behind it, as long as both are there."""
    return [{**row, "reviewer": re.sub(r" \(member \d+\)$", "", row["reviewer"])} for row in found]


def table(export: Export) -> tuple[list[list[str]], str]:
    text = export.data.decode()
    separator = "|" if "|" in text.split("\n")[0] else ","
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=separator)), separator


def written(lines: list[list[str]], separator: str) -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\n").writerows(lines)
    return text.getvalue().encode()


def body(export: Export, lines: list[list[str]]) -> Iterator[int]:
    """The places of the rows with reviews."""
    yield from range(0 if "no-header" in export.name else 1, len(lines))


@cases(DELIMITED)
def test_a_dropped_row_takes_only_its_own_review_along(export: Export) -> None:
    lines, separator = table(export)
    whole = in_order(rows(export.read()))
    for place in body(export, lines):
        left = attempt(export, written(lines[:place] + lines[place + 1 :], separator))
        if left is not None:
            kept = in_order(rows(left))
            extra = [row for row in kept if row not in whole]
            # An older version comes back where the latest is gone; a column or id may lose its last entry.
            names = {name for name, _ in whole[0]}
            assert len(kept) in (len(whole), len(whole) - 1)
            assert len(extra) <= 1 or {name for name, _ in kept[0]} != names or "easychair" in export.name


@cases(DELIMITED)
def test_a_repeated_row_is_refused_with_its_place(export: Export) -> None:
    lines, separator = table(export)
    whole = rows(export.read())
    for place in body(export, lines):
        data = written([*lines, lines[place]], separator)
        left = attempt(export, data)
        if left is None:
            rule = f"must not repeat an earlier row's paper and reviewer, found row {place + 1}'s"
            with pytest.raises(InputError, match=f"row {len(lines) + 1}, column reviewer: {rule}$"):
                export.read(data)
        else:
            # Only a row that did not count before may stand there twice: a draft, no score, an old version.
            assert rows(left) == whole
            assert said(left) != said(export.read())


@cases([export for export in DELIMITED if "no-header" not in export.name])
def test_columns_may_stand_in_any_order(export: Export) -> None:
    lines, separator = table(export)
    rng = generator(export, "order")
    for _ in range(count(5, 50)):
        order = rng.sample(range(len(lines[0])), len(lines[0]))
        moved = written([[line[i] for i in order] for line in lines], separator)
        assert in_order(rows(export.read(moved))) == in_order(export.expected)


@cases([export for export in DELIMITED if "no-header" not in export.name])
def test_a_dropped_or_repeated_column_is_refused_or_said(export: Export) -> None:
    lines, separator = table(export)
    whole = export.read()
    for place in range(len(lines[0])):
        for kept in ([*range(place), *range(place + 1, len(lines[0]))], [*range(len(lines[0])), place]):
            left = attempt(export, written([[line[i] for i in kept] for line in lines], separator))
            if left is None:
                continue
            same = in_order(rows(left)) == in_order(rows(whole))
            assert same or said(left) != said(whole), place


@cases([*DELIMITED, *JSONS])
def test_other_encodings_change_nothing(export: Export) -> None:
    text, expected = export.data.decode(), in_order(export.expected)
    for encoding in ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"):
        assert in_order(rows(export.read(text.encode(encoding)))) == expected
    if text.isascii():
        assert in_order(rows(export.read(text.encode("cp1252")))) == expected


@cases(DELIMITED)
def test_line_ends_and_quotes_change_nothing(export: Export) -> None:
    lines, separator = table(export)
    for end in ("\n", "\r\n"):
        for quoting in (csv.QUOTE_ALL, csv.QUOTE_MINIMAL):
            text = io.StringIO()
            csv.writer(text, delimiter=separator, lineterminator=end, quoting=quoting).writerows(lines)
            assert in_order(rows(export.read(text.getvalue().encode()))) == in_order(export.expected)
