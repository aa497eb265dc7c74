"""Coverage-guided fuzzing of the importers with atheris, which is no dependency: install it where this runs.

    python bench/fuzz_importers.py corpus/ -max_total_time=1800 -max_len=16384 -timeout=10 -rss_limit_mb=2048

The folder `corpus/` is filled with the tests' exports if it is empty. An input is one byte for the options,
one for how the rest is packed, and the rest. Any error but an InputError that names its file is a find; so is
an import whose table is not imported again as it is, and what takes longer or more memory than is allowed.
"""

from __future__ import annotations

import gzip
import io
import sys
import zipfile
from pathlib import Path

import atheris

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

with atheris.instrument_imports(include=["blindcal.importers", "blindcal.files.tables", "blindcal.cells"]):
    from blindcal.errors import InputError
    from blindcal.files.tables import format_table
    from blindcal.importers import Choices, import_reviews
    from exports import EXPORTS

_PEOPLE = {key: name for export in EXPORTS for key, name in (export.choices.people or {}).items()}
CHOICES = [
    Choices(),
    Choices(people=_PEOPLE),
    Choices(best_first=("A", "B", "C", "D")),
    Choices(unit="member"),
    Choices(columns={"paper": "item_id", "reviewer": "rater_id", "score": "points", "confidence": "sure"}),
    *(Choices(score_field=name) for name in ("Post-Rebuttal Overall Merit", "Q4", "category Quality")),
    *(Choices(format=name) for name in ("openreview", "hotcrp", "cmt", "easychair", "pretalx", "panel")),
]
_BOOK = (ROOT / "tests" / "vectors" / "exports" / "cmt" / "resaved-2021.xlsx").read_bytes()


def in_workbook(part: str, data: bytes) -> bytes:
    """The workbook of the tests with one part replaced; the checksums are right, unlike after a flip."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(_BOOK)) as old, zipfile.ZipFile(packed, "w") as new:
        for name in old.namelist():
            new.writestr(name, data if name == part else old.read(name))
    return packed.getvalue()


def in_zip(data: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("review.csv", data)
        archive.writestr("submission.csv", "#,title,authors,track name\n12,Widgets,A,Main\n")
    return packed.getvalue()


PACKINGS = [
    lambda data: data,
    gzip.compress,
    in_zip,
    lambda data: in_workbook("xl/worksheets/sheet1.xml", data),
    lambda data: in_workbook("xl/sharedStrings.xml", data),
    lambda data: in_workbook("xl/workbook.xml", data),
]


def once(data: bytes) -> None:
    """Import one input; whatever this raises is a find."""
    if len(data) < 2:
        return
    choices = CHOICES[data[0] % len(CHOICES)]
    packed = PACKINGS[data[1] % len(PACKINGS)](data[2:])
    try:
        imported = import_reviews(packed, "fuzzed", choices)
    except InputError as error:
        if not error.problems or not all(p.file.startswith("fuzzed") for p in error.problems):
            raise RuntimeError("a refusal without its file") from error
        return
    table = format_table(imported.columns())
    again = import_reviews(table, "again")
    if format_table(again.columns()) != table:
        raise RuntimeError("not imported again as it is")


def seeds(folder: Path) -> None:
    """The tests' exports with the options that read them, workbooks part by part."""
    for number, export in enumerate(EXPORTS):
        options = [Choices(**export.options), Choices(people=_PEOPLE)][export.choices.people is not None]
        first = CHOICES.index(options) if options in CHOICES else 0
        (folder / f"seed-{number}").write_bytes(bytes([first, 0]) + export.data)
    with zipfile.ZipFile(io.BytesIO(_BOOK)) as book:
        for place, part in enumerate(("worksheets/sheet1", "sharedStrings", "workbook"), start=3):
            start = bytes([CHOICES.index(Choices(score_field="Q4")), place])
            (folder / f"seed-{part.replace('/', '-')}").write_bytes(start + book.read(f"xl/{part}.xml"))


if __name__ == "__main__":
    corpus = Path(sys.argv[1])
    corpus.mkdir(exist_ok=True)
    if not any(corpus.iterdir()):
        seeds(corpus)
    atheris.Setup(sys.argv, once)
    atheris.Fuzz()
