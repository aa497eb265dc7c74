"""Importing: 100,000 reviews in each form, each in a process of its own, from the file to the table."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

REVIEWS, A_PAPER, REVIEWERS = 100_000, 4, 9_000
TEXT = 'A review, of "some" length.\nIt has a second line, and so on and on. ' * 4
SPACE = "urn:schemas-microsoft-com:office:spreadsheet"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


class Review(NamedTuple):
    paper: int
    place: int
    reviewer: int
    score: int
    confidence: int


def reviews() -> Iterator[Review]:
    rng = random.Random(1)
    for paper in range(REVIEWS // A_PAPER):
        for place, reviewer in enumerate(rng.sample(range(REVIEWERS), A_PAPER), start=1):
            yield Review(paper, place, reviewer, rng.randint(1, 10), rng.randint(1, 5))


def separated(rows: Iterator[list[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def panel() -> bytes:
    rows = ([f"P{r.paper}", f"R{r.reviewer:05d}", r.score] for r in reviews())
    return separated(iter([["paper", "reviewer", "score"], *rows]))


def hotcrp() -> bytes:
    header = [
        "paper",
        "title",
        "review",
        "reviewername",
        "email",
        "Overall merit",
        "Reviewer expertise",
        "Comments",
    ]
    rows = (
        [
            *(r.paper, f"Paper {r.paper}", f"{r.paper}{'ABCD'[r.place - 1]}", f"Name {r.reviewer}"),
            *(f"r{r.reviewer}@example.org", r.score, r.confidence, TEXT),
        ]
        for r in reviews()
    )
    return separated(iter([header, *rows]))


def easychair() -> bytes:
    header = ["#", "submission #", "member #", "member name", "number", "version", "text", "scores"]
    rows = (
        [
            *(i, r.paper, r.reviewer, f"Name {r.reviewer}", r.place, 1, TEXT),
            f"Overall evaluation: {r.score - 5}\nReviewer's confidence: {r.confidence}",
        ]
        for i, r in enumerate(reviews())
    )
    return separated(iter([header, *rows]))


def openreview() -> bytes:
    venue = "CONF.cc/2026/Conference"
    notes = [
        {
            "id": f"n{r.paper}x{r.place}",
            "forum": f"f{r.paper}",
            "replyto": f"f{r.paper}",
            "number": r.place,
            "invitations": [f"{venue}/Submission{r.paper}/-/Official_Review", f"{venue}/-/Edit"],
            "signatures": [f"~Name_{r.reviewer}1"],
            "cdate": 1767225600000 + r.place,
            "content": {
                "review": {"value": TEXT},
                "rating": {"value": f"{r.score}: label"},
                "confidence": {"value": r.confidence},
            },
        }
        for r in reviews()
    ]
    return json.dumps({"notes": notes}).encode()


def pretalx() -> bytes:
    found = [
        {
            "id": i,
            "submission": f"P{r.paper}",
            "user": f"U{r.reviewer}",
            "text": TEXT,
            "score": f"{r.score}.00",
        }
        for i, r in enumerate(reviews())
    ]
    return json.dumps({"count": len(found), "results": found}).encode()


CMT = ["Paper ID", "Paper Title", "Reviewer Name", "Reviewer Email", "Q1 (Comments)", "Q2 (Overall - Value)"]


def cmt_rows() -> Iterator[list[object]]:
    for r in reviews():
        name, email = f"Name {r.reviewer}", f"r{r.reviewer}@example.org"
        yield [r.paper, f"Paper {r.paper}", name, email, TEXT, r.score]


def cmt_xml() -> bytes:
    def cell(value: object) -> str:
        kind = "Number" if isinstance(value, int) else "String"
        return f'<Cell><Data ss:Type="{kind}">{escape(str(value))}</Data></Cell>'

    lines = ["".join(map(cell, row)) for row in [["Conf"], CMT, *cmt_rows()]]
    body = "".join(f"<Row>{line}</Row>\n" for line in lines)
    start = (
        f'<?xml version="1.0"?><Workbook xmlns="{SPACE}" xmlns:ss="{SPACE}"><Worksheet ss:Name="s"><Table>'
    )
    return f"{start}{body}</Table></Worksheet></Workbook>".encode()


def cmt_xlsx() -> bytes:
    def cell(row: int, place: int, value: object) -> str:
        where = f"{'ABCDEF'[place]}{row}"
        if isinstance(value, int):
            return f'<c r="{where}"><v>{value}</v></c>'
        return f'<c r="{where}" t="inlineStr"><is><t>{escape(str(value))}</t></is></c>'

    rows = [["Conf"], CMT, *cmt_rows()]
    lines = ("".join(cell(i, j, value) for j, value in enumerate(row)) for i, row in enumerate(rows, start=1))
    body = "".join(f'<row r="{i}">{line}</row>' for i, line in enumerate(lines, start=1))
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{body}</sheetData></worksheet>'
    book = (
        f'<workbook xmlns="{MAIN}" xmlns:r="{LINKS}"><sheets><sheet name="s" r:id="r1"/></sheets></workbook>'
    )
    link = f'<Relationship Id="r1" Type="{LINKS}/worksheet" Target="worksheets/sheet1.xml"/>'
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", book)
        archive.writestr("xl/_rels/workbook.xml.rels", f"<Relationships>{link}</Relationships>")
        archive.writestr("xl/worksheets/sheet1.xml", sheet)
    return packed.getvalue()


FORMS: dict[str, Callable[[], bytes]] = {
    "plain table": panel,
    "plain table, gzip": lambda: gzip.compress(panel()),
    "HotCRP reviews CSV": hotcrp,
    "EasyChair review.csv": easychair,
    "OpenReview JSON": openreview,
    "pretalx JSON": pretalx,
    "CMT SpreadsheetML": cmt_xml,
    "CMT .xlsx": cmt_xlsx,
}


def measure(path: Path) -> None:
    """Import a file and write the table: clock, processor and peak memory, imports of modules included."""
    began = time.perf_counter()
    from blindcal.importers import import_reviews
    from blindcal.importers.normalize import coded
    from blindcal.io.tables import format_table

    imported, _ = coded(import_reviews(path.read_bytes(), path.name), {})
    size = len(format_table(imported.columns()))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = [time.perf_counter() - began, time.process_time(), peak, len(imported.reviews), size]
    print(json.dumps(found))


def main() -> None:
    print(f"{REVIEWS:,} reviews, with codes, from the file to the table")
    print(f"  {'':24s} {'file':>9s} {'clock':>9s} {'processor':>11s} {'memory':>10s}")
    with tempfile.TemporaryDirectory() as folder:
        for name, make in FORMS.items():
            path = Path(folder) / "export"
            path.write_bytes(make())
            command = [sys.executable, __file__, str(path)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            clock, processor, peak, count, _ = json.loads(done.stdout)
            if count != REVIEWS:
                raise RuntimeError(f"{name}: {count} reviews")
            size = path.stat().st_size / 2**20
            print(f"  {name:24s} {size:5.0f} MiB {clock:7.2f} s {processor:9.2f} s {peak:6.0f} MiB")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        measure(Path(sys.argv[1]))
    else:
        main()
