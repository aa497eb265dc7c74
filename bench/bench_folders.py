"""From a download to certified decisions, `new`, `import`, `fit`, `plan` and `decide`, for each system.

Made-up downloads of this year and two past ones in an empty folder; every command in a process of its own.
"""

from __future__ import annotations

import csv
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

PAPERS, PEOPLE, PER_PAPER = 60, 24, 3
YEARS = (2025, 2026, 2027)
TEXT = 'Solid work, but:\n- "Section 3" is thin;\n- see, e.g., Table 2.'
SPACE = "urn:schemas-microsoft-com:office:spreadsheet"


class Review(NamedTuple):
    paper: int
    place: int
    person: int
    score: int
    confidence: int


def reviews(year: int) -> list[Review]:
    """Whole scores from 1 to 7; everybody is as lenient every year."""
    people, rng = random.Random(1), random.Random(year)
    lenient = [people.gauss(0, 0.6) for _ in range(PEOPLE)]
    found = []
    for paper in range(1, PAPERS + 1):
        quality = rng.gauss(0, 1)
        for place, who in enumerate(rng.sample(range(PEOPLE), PER_PAPER), start=1):
            score = round(4 + 1.2 * (quality + lenient[who] + rng.gauss(0, 0.5)))
            found.append(Review(paper, place, who, min(7, max(1, score)), rng.randint(1, 5)))
    return found


def name(person: int) -> tuple[str, str]:
    return f"Given{person}", f"Family{person}"


def mail(person: int) -> str:
    return f"p{person}@example.org"


def table(header: list[str], rows: Iterable[Iterable[object]], separator: str = ",") -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator)
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def hotcrp(folder: Path) -> list[list[str]]:
    header = ["paper", "title", "review", "reviewername", "email", "OveMer", "RevExp"]
    for year in YEARS:
        rows = (
            (
                r.paper,
                f"Widgets, {r.paper}",
                f"{r.paper}{'ABC'[r.place - 1]}",
                *_who(r),
                r.score,
                r.confidence,
            )
            for r in reviews(year)
        )
        (folder / f"{year}-scores.csv").write_text(table(header, rows))
    members = ((*name(j), mail(j), "pc") for j in range(PEOPLE))
    (folder / "pcinfo.csv").write_text(table(["first", "last", "email", "roles"], members))
    return _imports("{}-scores.csv", "pcinfo.csv")


def _who(review: Review) -> tuple[str, str]:
    return " ".join(name(review.person)), mail(review.person)


def openreview(folder: Path) -> list[list[str]]:
    for year in YEARS:
        venue, notes, people = f"ICX.cc/{year}/Conference", dict[int, dict[str, object]](), []
        for r in reviews(year):
            place = f"{venue}/Submission{r.paper}"
            people.append((f"{place}/Reviewer_x{r.place}", f"~{'_'.join(name(r.person))}1"))
            content = {"rating": f"{r.score}: so", "confidence": r.confidence, "summary": TEXT}
            note = notes.setdefault(
                r.paper,
                {
                    "id": f"f{r.paper}",
                    "forum": f"f{r.paper}",
                    "number": r.paper,
                    "invitations": [f"{venue}/-/Submission"],
                    "content": {"title": {"value": f"Widgets, {r.paper}"}},
                    "details": {"replies": []},
                },
            )
            note["details"]["replies"].append(
                {
                    "id": f"r{r.paper}-{r.place}",
                    "forum": f"f{r.paper}",
                    "replyto": f"f{r.paper}",
                    "number": r.place,
                    "invitations": [f"{place}/-/Official_Review", f"{venue}/-/Edit"],
                    "signatures": [people[-1][0]],
                    "content": {field: {"value": value} for field, value in content.items()},
                }
            )
        (folder / f"notes-{year}.json").write_text(json.dumps({"notes": list(notes.values())}))
        (folder / f"people-{year}.csv").write_text(table(["signature", "profile_id"], people))
    members = ((f"~{'_'.join(name(j))}1",) for j in range(PEOPLE))
    (folder / "committee.csv").write_text(table(["reviewer"], members))
    return _imports("notes-{}.json", "committee.csv", "people-{}.csv")


def cmt(folder: Path) -> list[list[str]]:
    header = ["Paper ID", "Paper Title", "Reviewer Name", "Reviewer Email", "Q1 (Summary)"]
    header += ["Q2 (Overall Rating - Value)", "Q3 (Confidence - Value)"]
    for year in YEARS:
        rows = [[f"ICX{year}"], [], header]
        rows += [
            [r.paper, f"Widgets, {r.paper}", *_who(r), TEXT, r.score, r.confidence] for r in reviews(year)
        ]
        cells = ("".join(map(_cell, row)) for row in rows)
        body = "".join(f"<Row>{row}</Row>" for row in cells)
        (folder / f"Reviews{year}.xls").write_text(
            f'<?xml version="1.0"?><Workbook xmlns="{SPACE}" xmlns:ss="{SPACE}"><Worksheet ss:Name="Reviews">'
            f"<Table>{body}</Table></Worksheet></Workbook>"
        )
    members = ((*name(j), mail(j), "X") for j in range(PEOPLE))
    text = table(["First Name", "Last Name", "E-mail", "Organization"], members, "\t")
    (folder / "Reviewers.txt").write_text(text)
    return _imports("Reviews{}.xls", "Reviewers.txt")


def _cell(value: object) -> str:
    kind = "Number" if isinstance(value, int) else "String"
    return f'<Cell><Data ss:Type="{kind}">{escape(str(value))}</Data></Cell>'


def easychair(folder: Path) -> list[list[str]]:
    header = ["#", "submission #", "member #", "member name", "number", "version", "text", "scores"]
    committee = table(
        ["#", "person #", "first name", "last name", "email", "role"],
        ((j + 1, 100 + j, *name(j), mail(j), "PC member") for j in range(PEOPLE)),
    )
    for year in YEARS:
        rows = (
            [
                *(i, r.paper, r.person + 1, " ".join(name(r.person)), r.place, 1, TEXT),
                f"Overall evaluation: {r.score - 4}\nReviewer's confidence: {r.confidence}",
            ]
            for i, r in enumerate(reviews(year), start=1)
        )
        titles = ((p, f"Widgets, {p}", "X and Y", "no decision") for p in range(1, PAPERS + 1))
        with zipfile.ZipFile(folder / f"EasyChair-{year}.zip", "w") as archive:
            archive.writestr("review.csv", table(header, rows))
            archive.writestr("submission.csv", table(["#", "title", "authors", "decision"], titles))
            archive.writestr("committee.csv", committee)
    (folder / "committee.csv").write_text(committee)
    return _imports("EasyChair-{}.zip", "committee.csv")


def _imports(download: str, committee: str, people: str = "") -> list[list[str]]:
    """What follows `blindcal import FOLDER` for each file, past years first."""
    *past, now = YEARS
    kinds = [*(("past", year) for year in past), ("reviews", now)]
    maps = {year: ["--map", people.format(year)] if people else [] for year in YEARS}
    files = [[download.format(year), "--as", kind, *maps[year]] for kind, year in kinds]
    return [[committee, "--as", "committee"], *files]


SYSTEMS: dict[str, Callable[[Path], list[list[str]]]] = {
    "HotCRP": hotcrp,
    "OpenReview": openreview,
    "CMT": cmt,
    "EasyChair": easychair,
}


def timed(folder: Path, *words: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "blindcal", *words], cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - began


def main() -> None:
    print(f"{PAPERS} papers with {PER_PAPER} of {PEOPLE} reviewers, {len(YEARS) - 1} past years")
    heads = " ".join(f"{name:>8s}" for name in ("new", "import", "fit", "plan", "decide"))
    print(f"  {'':12s} {heads}   at load {os.getloadavg()[0]:.1f}")
    for system, make in SYSTEMS.items():
        with tempfile.TemporaryDirectory() as place:
            given = make(Path(place))
            took = [
                timed(Path(place), "new", "icx", "--scores", "public", "--accept", "25%"),
                sum(timed(Path(place), "import", "icx", *words) for words in given),
                *(timed(Path(place), command, "icx") for command in ("fit", "plan", "decide")),
            ]
        print(f"  {system:12s} " + " ".join(f"{seconds:6.1f} s" for seconds in took), flush=True)


if __name__ == "__main__":
    main()
