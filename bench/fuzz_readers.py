"""Coverage-guided fuzzing of everything that reads a file, with atheris, which is no dependency: install it
where this runs.

    python bench/fuzz_readers.py corpus/ -max_total_time=1800 -max_len=8192 -timeout=10 -rss_limit_mb=2048

The folder `corpus/` is filled with the tests' exports and a small file for every other reader if it is empty,
and `corpus.dict` beside it with their words. An input is one byte for the reader, two for its options, and
the rest. A find is any error but one of blindcal's own that names the file; a table that is not read again as
it was, or that has another number of rows than Python's `csv` finds; and what takes longer or more memory
than is allowed. `-print_final_stats=1` prints the counts.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import atheris
import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "data")]
INSTRUMENTED = [
    "blindcal.importers", "blindcal.io", "blindcal.io.cells", "blindcal.reviews", "blindcal.project",
    "blindcal.pools.candidates", "blindcal.exporters.formats",
    "blindcal.posterior.reuse_guard", "blindcal.fitting.committee", "blindcal.fitting.received_sums",
    "blindcal.posterior.conference", "blindcal.posterior.this_year_inputs", "blindcal.deciding.ledger",
    "blindcal.deciding.record", "blindcal.deciding.publish",
]  # fmt: skip

with atheris.instrument_imports(include=INSTRUMENTED):
    from blindcal.deciding.key import Key
    from blindcal.deciding.ledger import read_ledger
    from blindcal.deciding.publish import read_published
    from blindcal.errors import BlindcalError, InputError
    from blindcal.exporters.formats import read_decided, read_titles
    from blindcal.fitting.committee import read_aliases, read_committee
    from blindcal.fitting.received_sums import read_shared_sums
    from blindcal.importers import FORMATS, import_reviews
    from blindcal.importers.hotcrp import read_metareviews
    from blindcal.importers.open import open_export
    from blindcal.importers.people import read_codes, read_conflicts, read_map, read_people
    from blindcal.importers.plain_table import LAYOUTS
    from blindcal.importers.raw_export import Choices
    from blindcal.io.tables import format_table
    from blindcal.pools.candidates import conflicts_in, first_row, pools_of, read_pools, read_similarity
    from blindcal.posterior.conference import read_reviewers
    from blindcal.posterior.loads import read_loads
    from blindcal.posterior.reuse_guard import Fingerprint, overlap, read_fingerprints, read_scale
    from blindcal.posterior.this_year_inputs import read_evidence
    from blindcal.project.settings import read_folder
    from blindcal.reviews import Reviews
    from exports import EXPORTS

_PEOPLE = {key: name for export in EXPORTS for key, name in (export.choices.people or {}).items()}
CHOICES = [
    Choices(),
    Choices(people=_PEOPLE),
    Choices(best_first=("A", "B", "C", "D")),
    Choices(unit="member"),
    Choices(columns={"paper": "item_id", "reviewer": "rater_id", "score": "points", "confidence": "sure"}),
    *(Choices(score_field=name) for name in ("Post-Rebuttal Overall Merit", "Q4", "category Quality")),
    *(Choices(format=name) for name in FORMATS),
    Choices(latest=True),
    *(Choices(layout=name) for name in LAYOUTS),
]
_BOOK = (ROOT / "tests" / "data" / "vectors" / "exports" / "cmt" / "resaved-2021.xlsx").read_bytes()
_FOLDER = tempfile.TemporaryDirectory(prefix="fuzzed-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
FILE = Path(_FOLDER.name) / "fuzzed"
NOW = Fingerprint("now", frozenset({("x", "a", 1.0), ("x", "b", 2.0), ("y", "a", 2.0)}))
KEY = Key(bytes(32))
THIS_YEAR = Reviews.from_table({"paper": ["1", "2"], "reviewer": ["a", "a"], "score": [3, 4]})


class FoundError(Exception):
    """What a reader did wrong without an error of its own."""


# --- how an input is packed


def repacked(archive: bytes, part: str, data: bytes) -> bytes:
    """An archive with one part replaced; the checksums are right, unlike after a flip."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(packed, "w") as new:
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
    *(
        (lambda data, part=part: repacked(_BOOK, f"xl/{part}.xml", data))
        for part in ("worksheets/sheet1", "sharedStrings", "workbook")
    ),
]


# --- readers: each takes the bytes and two bytes of options


def put(data: bytes, name: str = "") -> Path:
    """The file that a reader is to read."""
    path = FILE.with_name(f"fuzzed{name}")
    path.write_bytes(data)
    return path


def check_rows(data: bytes, found: int) -> None:
    """A table that was read has as many rows with anything in them as the `csv` of Python finds."""
    text = io.StringIO(data.decode("utf-8-sig"), newline="")
    rows = sum(bool("".join(row).strip()) for row in csv.reader(text)) - 1
    # Only an empty cell in quotes makes a row of nothing, and `csv` does not say that it was quoted.
    if found != rows and b'""' not in data:
        raise FoundError("rows lost or made up")


def same(one: object, other: object) -> None:
    if one != other and repr(one) != repr(other):  # nan is not itself
        raise FoundError("not read again as it was")


def columns_of(pairs: Iterable[tuple[str, ...]], *names: str) -> bytes:
    return format_table(dict(zip(names, map(list, zip(*pairs, strict=True)), strict=True)))


def imports(data: bytes, first: int, second: int) -> None:
    choices, packed = CHOICES[first % len(CHOICES)], PACKINGS[second % len(PACKINGS)](data)
    imported = import_reviews(packed, "fuzzed", choices)
    table = format_table(imported.columns())
    again = import_reviews(table, "again")
    if format_table(again.columns()) != table:
        raise FoundError("not imported again as it is")


def people(data: bytes, first: int, second: int) -> None:
    found = read_people(PACKINGS[second % len(PACKINGS)](data), "fuzzed", _PEOPLE if first % 2 else None)
    # Two columns: what separates the cells of one alone cannot be told.
    same(
        list(read_people(columns_of([(who, "x") for who in found], "reviewer", "name"), "again")), list(found)
    )


def conflicts(data: bytes, first: int, second: int) -> None:
    pairs = read_conflicts(PACKINGS[second % len(PACKINGS)](data), "fuzzed", _PEOPLE if first % 2 else None)[
        0
    ]
    if pairs:
        same(read_conflicts(columns_of(pairs, "paper", "conflict"), "again")[0], pairs)


def maps(data: bytes, first: int, second: int) -> None:
    read, names = [(read_map, ("signature", "profile_id")), (read_codes, ("reviewer", "code"))][first % 2]
    found = read(data, "fuzzed")
    same(read(columns_of(found.items(), *names), "again"), found)


def reviews(data: bytes, first: int, second: int) -> None:
    found = Reviews.read(put(data), grid=range(1, 11) if first % 2 else None)
    check_rows(data, len(found))
    same(Reviews.read(put(format_table(found.columns()))).columns(), found.columns())


def pools(data: bytes, first: int, second: int) -> None:
    path = put(data)
    if first % 2 == 0:
        found = read_pools(path)
        check_rows(data, sum(map(len, found.values())))
        rows = [(paper, who, chance) for paper, pool in found.items() for who, chance in pool.items()]
        same(read_pools(put(columns_of(rows, "paper", "reviewer", "probability"))), found)
    else:
        pools_of(path, ("1", "2"), ("a", "b"))
    first_row(path, {"a"})
    conflicts_in(path)


def similarities(data: bytes, first: int, second: int) -> None:
    found = read_similarity(put(data))
    check_rows(data, sum(map(len, found.values())))
    rows = [(paper, who, value) for paper, row in found.items() for who, value in row.items()]
    if not all(0 <= value < np.inf for _, _, value in rows):
        raise FoundError("a similarity that is none")
    same(read_similarity(put(columns_of(rows, "paper", "reviewer", "similarity"))), found)


def lists(data: bytes, first: int, second: int) -> None:
    [read_titles, read_committee, read_aliases, read_decided, read_loads][first % 5](put(data))


def evidence(data: bytes, first: int, second: int) -> None:
    found = read_evidence(put(data), THIS_YEAR)
    if not np.isfinite([*found.levels.values(), *(found.numbers or {}).values()]).all():
        raise FoundError("evidence that is no number")


def metareviews(data: bytes, first: int, second: int) -> None:
    found = read_metareviews(open_export(PACKINGS[second % len(PACKINGS)](data), "fuzzed"))
    if found:
        rows = [(paper, "metareview", who) for paper, who in found]
        same(read_metareviews(open_export(columns_of(rows, "paper", "action", "email"), "again")), found)


def calibrations(data: bytes, first: int, second: int) -> None:
    found = read_reviewers(put(data))
    check_rows(data, len(found))


def shares(data: bytes, first: int, second: int) -> None:
    table, _, statement = data.partition(b"\0")
    put(statement, ".share.json")
    found = read_shared_sums(put(table))
    if not np.isfinite([*found.counts, *found.sums, found.count_variance, found.gain]).all():
        raise FoundError("a number that is none")
    check_rows(table, len(found.reviewers))


def records(data: bytes, first: int, second: int) -> None:
    if first % 3 == 0:
        for past in read_fingerprints(put(data)):
            overlap(past, NOW)
    elif first % 3 == 1:
        put(data, ".fit.json")
        scale = read_scale(FILE)
        if scale is not None and not np.isfinite([scale.shift, scale.stretch, scale.center]).all():
            raise FoundError("a number that is none")
    else:
        FILE.with_name("certificate.json").write_bytes(data)
        read_published(FILE.parent)


def folders(data: bytes, first: int, second: int) -> None:
    FILE.with_name("conference.toml").write_bytes(data)
    found = read_folder(FILE.parent)
    if not all(isinstance(value, str | bool | tuple) for value in found.settings.values()):
        raise FoundError("a setting that could not be typed")


def seals(data: bytes, first: int, second: int) -> None:
    folder = FILE.with_name("key.sealed")
    folder.mkdir(exist_ok=True)
    (folder / "0001.sealed").write_bytes(data)
    read_ledger(FILE.with_name("key"), KEY)


class Reader(NamedTuple):
    """What reads, by which seeds its fuzzing begins (options first)."""

    read: Callable[[bytes, int, int], None]
    seeds: Mapping[tuple[int, int], tuple[bytes, ...]]


_LISTS = (
    b"first,last,email,roles\nAda,Byron,ada@example.edu,pc chair\nBo,Chen,bo@example.org,pc\n",
    b"reviewer,name\nada,Ada Byron\nbo,\n",
    b"#;first name;last name;email\n1;Ada;Byron;ada@example.edu\n",
)
_BARRED = (
    b"paper,action,email\n1,conflict,a@b.c\n1,primaryreview,d@e.f\n2,clearconflict,a@b.c\n",
    b"paper,conflict\n1,a\n2,b\n",
)
_TOML = (
    b'conference = "icx"\nreviews = "inputs/reviews.csv"\npools = "everyone"\npast = ["a.csv"]\n'
    b'grid = "1..10"\naccept-rate = 0.25\naccept = "main=40,short=10"\nepsilon = "none"\n'
    b'numbered = true\nbetter = "low"\n'
    b'[withdrawn]\n"17" = "by its authors"\n[overridden]\n"23" = "accept: why"\n'
)
_STATEMENT = json.dumps(
    {
        "format": 1,
        "conference": "x",
        "points": {"each_review": 8, "reach": 2.0, "mean": 0.1, "gain": 0.5, "variance": 0.4},
        "noise_variance": 40.5,
    }
).encode()
_SCALE = b'{"scale": {"shift": 0.5, "stretch": 1.1, "center": 5.5, "shift_in_sds": 0.2}}'
_USED = (
    b'{"format": 1, "used": [{"conference": "c", "whole": ["a"], "scored": ["b"], "patterns": ["x", "y"]}]}'
)
_SEALED = (
    b"CONFIDENTIAL: names who wrote which review. Keep with the key; never publish or send on. "
    b'blindcal sealed format 1\nab\n{"counter": 1, "parts": [], "key_fingerprint": "bf82c30b3a215fa2"}\n'
)


READERS = [
    Reader(imports, {}),
    Reader(people, {(0, 0): _LISTS}),
    Reader(conflicts, {(0, 0): _BARRED}),
    Reader(maps, {(0, 0): (b"signature,profile_id\na,~A1\n",), (1, 0): (b"code,reviewer,name\nR001,a,A\n",)}),
    Reader(reviews, {(1, 0): (b"paper,reviewer,score,confidence\n1,a,3,2\n1,b,4,1\n2,a,10,\n",)}),
    Reader(
        pools,
        {
            (0, 0): (b"paper,reviewer,probability\n1,a,0.5\n1,b,0.5\n2,*,1\n",),
            (1, 0): (b"paper,conflict\n1,a\n",),
        },
    ),
    Reader(
        similarities,
        {
            (0, 0): (b"paper,reviewer,similarity\n1,a,0.5\n2,b,1e-3\n",),
            (1, 0): (b"paper,reviewer,bid\n1,a,yes\n1,b,maybe\n2,a,conflict\n2,b,3\n",),
        },
    ),
    Reader(
        lists,
        {
            (0, 0): (b'paper,title\n1,"T, U"\n2,\n',),
            (1, 0): (b"reviewer,track\na,main\na,short\nb,\n",),
            (2, 0): (b"old,new\na,b\nb,c\n",),
            (3, 0): (b"paper,decision,by_mean_score,advice,track,wait_list\n1,accept,tie,leave,m,\n",),
            (4, 0): (b"reviewer,load\na,2\nb,0\n",),
        },
    ),
    Reader(evidence, {(0, 0): (b"paper,evidence\n1,accept\n2,reject\n", b"paper,evidence\n1,0.5\n2,-3\n")}),
    Reader(metareviews, {(0, 0): (b"paper,action,email\n1,metareview,a@b.c\n1,primaryreview,d@e.f\n",)}),
    Reader(
        calibrations,
        {
            (0, 0): (
                b"reviewer,slope,offset,noise,slope_se,offset_se,correlation,noise_se,reviews\n"
                b"a,1,5,0.5,0.1,0.2,-0.3,0.1,4\n*,1,5,0.5,0,0,0,0,0\n",
            )
        },
    ),
    Reader(shares, {(0, 0): (b"reviewer,above,below\na,4,-2\nb,10,7\n\0" + _STATEMENT,)}),
    Reader(
        records,
        {
            (0, 0): (_USED,),
            (1, 0): (_SCALE,),
            (2, 0): (b'{"key_fingerprint": "bf82c30b3a215fa2", "release": 1}',),
        },
    ),
    Reader(folders, {(0, 0): (_TOML,)}),
    Reader(seals, {(0, 0): (_SEALED,)}),
]


def once(data: bytes) -> None:
    """Read one input; whatever this raises is a find."""
    if len(data) < 3:
        return
    # Exports are most of what there is to find out.
    which = READERS[data[0] % len(READERS) if data[0] < 128 else 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            which.read(data[3:], data[1], data[2])
        except InputError as error:
            if "fuzzed" not in str(error) and "conference.toml" not in str(error):
                raise FoundError("a refusal without its file") from error
        except BlindcalError:
            return


def seeds(folder: Path) -> None:
    """The tests' exports with the options that read them, workbooks part by part, and every reader's own."""
    number = 0
    for number, export in enumerate(EXPORTS):
        options = [Choices(**export.options), Choices(people=_PEOPLE)][export.choices.people is not None]
        first = CHOICES.index(options) if options in CHOICES else 0
        (folder / f"seed-{number}").write_bytes(bytes([128, first, 0]) + export.data)
    with zipfile.ZipFile(io.BytesIO(_BOOK)) as book:
        for place, part in enumerate(("worksheets/sheet1", "sharedStrings", "workbook"), start=3):
            start = bytes([128, CHOICES.index(Choices(score_field="Q4")), place])
            (folder / f"seed-{part.replace('/', '-')}").write_bytes(start + book.read(f"xl/{part}.xml"))
    for place, reader in enumerate(READERS):
        for (first, second), files in reader.seeds.items():
            for data in files:
                number += 1
                (folder / f"seed-{number}").write_bytes(bytes([place, first, second]) + data)


def words(folder: Path) -> Path:
    """A dictionary for libFuzzer: the words of the seeds."""
    found = {
        word for path in folder.glob("seed-*") for word in re.findall(rb"[\w@#./-]{2,24}", path.read_bytes())
    }
    path = folder.with_suffix(".dict")
    escaped = sorted("".join(f"\\x{byte:02x}" for byte in word) for word in found if word.isascii())
    path.write_text("".join(f'"{word}"\n' for word in escaped[:4000]))
    return path


if __name__ == "__main__":
    corpus = Path(sys.argv[1])
    corpus.mkdir(exist_ok=True)
    if not any(corpus.iterdir()):
        seeds(corpus)
    atheris.Setup([*sys.argv, f"-dict={words(corpus)}"], once)
    atheris.Fuzz()
