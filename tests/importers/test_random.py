"""Random conferences, written in every system's shape by other writers, come back as they were."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable
from random import Random
from typing import NamedTuple
from xml.sax.saxutils import escape

import pytest

from blindcal.importers import import_reviews
from blindcal.importers.raw_export import Choices
from sizes import count

NAMES = [
    *("Ada Byron", "Bo Chen", "Zoë Ønskedal", "李 明", "Íñigo O'Neil", "X Æ, Jr."),
    *('The "Rock" Smith', "=cmd", "-1"),
]
TEXTS = [
    *("", "fine", "two\nlines", 'a "quote", and more', "=1+1", "ends with\n", "tab\tinside"),
    *("8: not a score", "ß"),
]


class Truth(NamedTuple):
    """A review as it must come back; ids go by number."""

    paper: int
    reviewer: int
    score: float
    confidence: int | None


def conference(rng: Random, scores: list[float]) -> list[Truth]:
    """Papers with 1 to 4 reviews; the first reviewer has two, so that somebody can be calibrated."""
    reviewers = range(1, rng.randint(5, 9))
    found = []
    for paper in range(rng.randint(5, 12)):
        chosen = rng.sample(reviewers, rng.randint(1, 4))
        chosen = [1, *(r for r in chosen if r != 1)] if paper < 2 else chosen
        found += [Truth(paper, r, rng.choice(scores), rng.choice([1, 2, 3, None])) for r in chosen]
    rng.shuffle(found)
    return found


def name(reviewer: int) -> str:
    return f"{NAMES[reviewer % len(NAMES)]} {reviewer}"


def email(reviewer: int) -> str:
    return f"r{reviewer}@example.org"


def number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def separated(rows: list[list[object]], rng: Random, separators: str = ",;|\t") -> bytes:
    text = io.StringIO()
    quoting = rng.choice([csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
    end = rng.choice(["\n", "\r\n"])
    writer = csv.writer(text, delimiter=rng.choice(separators), lineterminator=end, quoting=quoting)
    writer.writerows(rows)
    return text.getvalue().encode(rng.choice(["utf-8", "utf-8-sig", "utf-16"]))


def hotcrp(truth: list[Truth], rng: Random) -> bytes:
    header = ["paper", "title", "review", "reviewername", "email"]
    header += ["Overall merit", "Reviewer expertise", "Comments"]
    rows = [
        [
            *(t.paper, f"Title, {t.paper}", f"{t.paper}{rng.choice('ABC')}", name(t.reviewer)),
            *(email(t.reviewer), number(t.score), number(t.confidence), rng.choice(TEXTS)),
        ]
        for t in truth
    ]
    return separated([header, *rows], rng)


def hotcrp_json(truth: list[Truth], rng: Random) -> bytes:
    found = [
        {
            "object": "review", "pid": t.paper, "rid": i, "ordinal": "A", "status": "complete",
            "reviewer": escape(name(t.reviewer)), "reviewer_email": email(t.reviewer), "modified_at": i,
            "OveMer": t.score, "RevExp": t.confidence, "ComAut": rng.choice(TEXTS),
        }
        for i, t in enumerate(truth)
    ]  # fmt: skip
    return json.dumps(rng.choice([found, {"ok": True, "reviews": found}])).encode()


def openreview(truth: list[Truth], rng: Random) -> bytes:
    new, labels, venue = rng.random() < 0.5, rng.random() < 0.5, "CONF.cc/2026/Conference"

    def value(content: object) -> object:
        return {"value": content} if new else content

    def note(i: int, t: Truth) -> dict[str, object]:
        invitation = f"{venue}/{'Submission' if new else 'Paper'}{t.paper}/-/Official_Review"
        rating = f"{number(t.score)}: {rng.choice(['good', 'Top 5%'])}" if labels else t.score
        content = {"rating": rating, "confidence": t.confidence, "review": rng.choice(TEXTS)}
        return {
            "id": f"n{i}", "forum": f"f{t.paper}", "replyto": f"f{t.paper}", "number": i, "tcdate": i,
            "signatures": [f"~{email(t.reviewer)}"],
            "content": {key: value(item) for key, item in content.items()},
            **({"invitations": [invitation, f"{venue}/-/Edit"]} if new else {"invitation": invitation}),
        }  # fmt: skip

    notes = [note(i, t) for i, t in enumerate(truth)]
    if rng.random() < 0.3:
        return "\n".join(map(json.dumps, notes)).encode()
    return json.dumps(rng.choice([notes, {"notes": notes}])).encode()


def cmt_rows(truth: list[Truth], rng: Random) -> list[list[object]]:
    header = ["Paper ID", "Paper Title", "Reviewer Name", "Reviewer Email", "Reviewer Number", "Q1 (Text)"]
    header += ["Q2 (Overall (1 to 9))", "Q2 (Overall (1 to 9) - Value)", "Q3 (Confidence - Value)"]
    rows = [
        [
            *(t.paper, f"Title, {t.paper}", name(t.reviewer), email(t.reviewer), rng.randint(1, 3)),
            *(rng.choice(TEXTS), "Some words", t.score, t.confidence),
        ]
        for t in truth
    ]
    return [["CONF"], [], header, *rows]


def cmt_text(truth: list[Truth], rng: Random) -> bytes:
    rows = [["" if cell is None else cell for cell in row] or [""] for row in cmt_rows(truth, rng)]
    return separated(rows, rng, "\t")


def cmt_xml(truth: list[Truth], rng: Random) -> bytes:
    space, body = "urn:schemas-microsoft-com:office:spreadsheet", ""
    for index, row in enumerate(cmt_rows(truth, rng), start=1):
        cells = ""
        for place, cell in enumerate(row, start=1):
            kind = "Number" if isinstance(cell, int | float) else "String"
            text = escape(str(cell)).replace("\n", "&#10;").replace("\t", "&#9;")
            if cell is not None:
                cells += f'<Cell ss:Index="{place}"><Data ss:Type="{kind}">{text}</Data></Cell>'
        body += f'<Row ss:Index="{index}">{cells}</Row>' if row else ""
    table = f'<Worksheet ss:Name="Main"><Table>{body}</Table></Worksheet>'
    return f'<?xml version="1.0"?><Workbook xmlns="{space}" xmlns:ss="{space}">{table}</Workbook>'.encode()


def easychair(truth: list[Truth], rng: Random) -> bytes:
    header = ["#", "submission #", "member #", "member name", "number", "version", "text", "scores"]
    header += ["reviewer first name", "reviewer last name", "reviewer email", "reviewer person #"]
    header += ["date", "time"]
    rows: list[list[object]] = []
    for t in truth:
        last = rng.randint(1, 3)
        rest = ["Some", "Body", email(t.reviewer), 900 + t.reviewer, "2026-03-01", "10:15"]
        for version in range(1, last + 1):
            score = t.score if version == last else rng.randint(-9, 9)
            cell = f"Overall evaluation: {number(score)}\nBest paper: no"
            cell += "" if t.confidence is None else f"\nReviewer's confidence: {t.confidence}"
            start = [len(rows), t.paper, t.reviewer, name(t.reviewer), 1, version, rng.choice(TEXTS), cell]
            rows.append([*start, *rest])
    rng.shuffle(rows)
    return separated([header, *rows], rng)


def pretalx(truth: list[Truth], rng: Random) -> bytes:
    found = [
        {"id": i, "submission": t.paper, "user": email(t.reviewer), "text": rng.choice(TEXTS)}
        | {"score": f"{t.score:.2f}"}
        for i, t in enumerate(truth)
    ]
    return json.dumps({"count": len(found), "next": None, "results": found}).encode()


def panel(truth: list[Truth], rng: Random) -> bytes:
    header = ["Proposal", "Panelist", "Points", "Confidence", "Remark"]
    rows = [
        [t.paper, email(t.reviewer), number(t.score), number(t.confidence), rng.choice(TEXTS)] for t in truth
    ]
    order = rng.sample(range(5), 5)
    return separated([[row[i] for i in order] for row in [header, *rows]], rng)


SHAPES: dict[str, tuple[Callable[[list[Truth], Random], bytes], bool]] = {
    "hotcrp": (hotcrp, True),
    "hotcrp json": (hotcrp_json, True),
    "openreview": (openreview, True),
    "cmt text": (cmt_text, True),
    "cmt xml": (cmt_xml, True),
    "easychair": (easychair, True),
    "pretalx": (pretalx, False),
    "panel": (panel, True),
}
SCALES = [[1, 2, 3, 4, 5], [-3, -2, -1, 0, 1, 2, 3], [1, 3, 5, 6, 8, 10], [1, 1.5, 2, 2.5, 3]]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_random_conference_comes_back_as_it_was(shape: str) -> None:
    write, confident = SHAPES[shape]
    rng = random.Random(shape)
    for _ in range(count(12, 400)):
        truth = conference(rng, rng.choice(SCALES))
        found = import_reviews(write(truth, rng), "x", Choices())
        sign = "~" if shape == "openreview" else ""
        columns = found.reviews.columns()
        sure = columns.get("confidence", [float("nan")] * len(truth))
        rows = zip(columns["paper"], columns["reviewer"], columns["score"], sure, strict=True)
        assert sorted((p, r, s, number(None if c != c else c)) for p, r, s, c in rows) == sorted(
            (str(t.paper), f"{sign}{email(t.reviewer)}", t.score, number(t.confidence if confident else None))
            for t in truth
        )
        assert found.format == shape.split()[0]
        assert not found.conflicts
