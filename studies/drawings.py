"""Drawings without a plotting library: the idea, a conference's calendar, what guarantees keep.

    python studies/drawings.py

Writes into docs/figures: idea.svg for docs/explanation/privacy_model.md (all numbers are computed: one paper
with one review, five candidates, a crowd of 3 with epsilon 3), calendar.svg for
docs/howto/run_a_conference.md, and guarantees.svg for docs/evidence/guarantees.md, from
docs/numbers/committees.json.
"""

from __future__ import annotations

import json
import re
from html import escape

import blindcal as bc
from blindcal.adversaries.findings import planned_views
from blindcal.adversaries.single_paper import View
from stated import DOCS, PUBLISHED


def _svg(title: str, width: int, height: int, parts: list[str]) -> str:
    """A drawing on a white card."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" font-family="Helvetica, Arial, sans-serif" font-size="14">',
            f"<title>{title}</title>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
            *parts,
            "</svg>",
            "",
        ]
    )


def _text(x: float, y: float, words: str, style: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" {style}>{escape(words)}</text>'


# --- the idea

# What each candidate gives an average paper.
MEANS = {"Ada": 7.0, "Ben": 6.5, "Cleo": 6.0, "Dan": 5.0, "Eva": 4.5}
SCORE, TRUE, AMONG, EPSILON = 6, "Dan", 3, 3.0

_TOP, _ROW = 132, 32
# The width of a bar for a belief of 1.
_BELIEF = 180
_COLUMNS = (24, 170, 344, 520, 706)
_TITLES = (
    ("Score", "public"),
    ("Candidates", "public"),
    ("Belief", "from the score alone"),
    ("Table", "accept probabilities"),
    ("Draw", "only the decision is public"),
)


def paper() -> View:
    """The one paper, planned."""
    people = list(MEANS)
    inputs = bc.read_inputs(
        {"paper": ["p"], "reviewer": [TRUE], "score": [SCORE]},
        {"reviewer": people, "slope": [1.5] * 5, "offset": list(MEANS.values()), "noise": [0.8] * 5},
        {"paper": ["p"] * 5, "reviewer": people},
        grid=[],
    )
    request = bc.Request(bc.Guarantee("crowd", among=AMONG, epsilon=EPSILON), bar=0.3)
    (view,) = planned_views(bc.plan(inputs, request))
    return view


def idea(view: View) -> str:
    """The picture as SVG: a column for each step, a row for each candidate."""
    accept = view.accept["chosen"]
    after = view.weight * accept / (view.weight @ accept)
    parts: list[str] = []
    for number, (x, (title, note)) in enumerate(zip(_COLUMNS, _TITLES, strict=True), 1):
        parts += [
            _text(x, 40, f"{number}. {title}", 'font-weight="bold" font-size="16" fill="#223344"'),
            _text(x, 60, note, 'font-size="12" fill="#556677"'),
        ]
    middle = _TOP + 2 * _ROW
    parts += [
        f'<rect x="24" y="{middle - 40}" width="88" height="80" rx="6" fill="#f3f5f8" stroke="#445566"/>',
        _text(68, middle + 14, f"{SCORE}", 'font-size="40" text-anchor="middle" fill="#223344"'),
        _text(24, middle + 64, "one review", 'font-size="12" fill="#556677"'),
        _text(_COLUMNS[1], _TOP - 32, "may have reviewed; mean score", 'font-size="12" fill="#556677"'),
        _text(_COLUMNS[4] + 4, _TOP - 32, "belief after “accept”", 'font-size="12" fill="#556677"'),
    ]
    for row, (name, mean) in enumerate(MEANS.items()):
        y = _TOP + row * _ROW
        own = name == TRUE
        parts += [
            _text(_COLUMNS[1], y, name, 'fill="#7a2e1d" font-weight="bold"' if own else 'fill="#223344"'),
            _text(_COLUMNS[1] + 58, y, f"{mean:g}", 'fill="#556677"'),
            *_share(_COLUMNS[2], y, float(view.weight[row]), _BELIEF, "#7aa6d6"),
            *_share(_COLUMNS[3], y, float(accept[row]), 90, "#c8553d" if own else "#e3a593"),
            *_share(_COLUMNS[4] + 4, y, float(after[row]), _BELIEF, "#7aa6d6", _BELIEF // 2),
        ]
    limit = _COLUMNS[4] + 4 + _BELIEF / AMONG
    drawn = _TOP + list(MEANS).index(TRUE) * _ROW
    bottom = _TOP + 5 * _ROW
    parts += [
        f'<path d="M {limit:.1f} {_TOP - 20} V {bottom - 18}" stroke="#445566" stroke-dasharray="3 3"/>',
        _text(int(limit) + 6, bottom - 8, f"1 in {AMONG}", 'font-size="12" fill="#445566"'),
        f'<path d="M {_COLUMNS[3] + 140} {drawn - 5} h 28" stroke="#c8553d" stroke-width="2"/>',
        f'<path d="M {_COLUMNS[3] + 166} {drawn - 10} l 10 5 l -10 5 z" fill="#c8553d"/>',
    ]
    words = (
        f"The review is {TRUE}’s, which only the conference knows. It draws “accept” with the probability in "
        f"{TRUE}’s row, here {accept[list(MEANS).index(TRUE)]:.0%}.",
        f"From a strict reviewer a {SCORE} means much: full calibration would accept it only from Dan or "
        "Eva, and “accept” would point to them.",
        f"With this table nobody becomes likelier than 1 in {AMONG}: a crowd of {AMONG} (of five candidates; "
        "the default is 10).",
    )
    parts += [
        _text(24, bottom + 16 + 18 * line, one, 'font-size="13" fill="#223344"')
        for line, one in enumerate(words)
    ]
    return _svg("From a score to a private decision", 960, 352, parts)


def _share(x: int, y: int, share: float, width: int, color: str, beside: int = 0) -> list[str]:
    """A bar for a share, with its number: at the end of the bar, or that far to the right."""
    return [
        f'<rect x="{x}" y="{y - 13}" width="{max(width * share, 1):.1f}" height="16" rx="2" fill="{color}"/>',
        _text(x + (beside or int(width * share) + 6), y, f"{share:.0%}", 'font-size="12" fill="#223344"'),
    ]


# --- the calendar

# When; the commands; a note below them; what may be published then. Lines are separated by bars.
STEPS = (
    ("Before reviews", "new|import|pools", "committee, conflicts,|past years", "key's|fingerprint"),
    ("Reviews are in", "import|fit|plan", "is it worth it?|choose a guarantee", "commitment|(optional)"),
    ("Decide, once", "decide", "back up key and|private log", "decisions.csv|certificate.json"),
    (
        "The same day",
        "audit|report|export",
        "audit: for the|chair alone",
        "report.html",
    ),
    ("Later", "verify|decide --amend|export|share", "verify: an auditor|with the key", "next releases"),
)
_WIDTH, _STEP, _LINE, _PUBLIC = 900, 176, 54, 206


def calendar() -> str:
    """The picture as SVG: a line of time with the steps on it, and a band below for what is public."""
    parts = [
        f'<rect x="10" y="{_PUBLIC}" width="{_WIDTH - 20}" height="74" rx="6" fill="#e8f1fb"/>',
        f'<text x="20" y="{_PUBLIC + 18}" font-size="12" fill="#2f5d8a">may be published, '
        "as the setting `scores` allows</text>",
        f'<path d="M 20 {_LINE} H {_WIDTH - 26}" stroke="#445566" stroke-width="2"/>',
        f'<path d="M {_WIDTH - 28} {_LINE - 6} l 12 6 l -12 6 z" fill="#445566"/>',
    ]
    for place, (when, commands, note, public) in enumerate(STEPS):
        x = 24 + place * _STEP
        parts.append(f'<circle cx="{x + 6}" cy="{_LINE}" r="7" fill="#c8553d"/>')
        parts.append(_text(x, _LINE - 20, when, 'font-weight="bold" fill="#223344"'))
        for line, command in enumerate(commands.split("|")):
            parts.append(_text(x, _LINE + 30 + 19 * line, command, 'font-family="monospace" fill="#7a2e1d"'))
        for line, words in enumerate(note.split("|")):
            parts.append(_text(x, _PUBLIC - 36 + 16 * line, words, 'font-size="12" fill="#556677"'))
        for line, name in enumerate(public.split("|")):
            parts.append(_text(x, _PUBLIC + 42 + 18 * line, name, 'fill="#1d4468"'))
    return _svg("The calendar of a conference", _WIDTH, 290, parts)


# --- the guarantees

DEFAULT = "crowd of 10, epsilon 3"
SHOWN = (
    "public",
    "steady, epsilon 2",
    "steady",
    "average, epsilon 3",
    "average",
    "crowd of 20, epsilon 3",
    DEFAULT,
    "crowd of 10",
    "full calibration",
)
_FIRST, _EACH = 74, 30
_NAMES, _KEPT, _NAMED, _LENGTH = 24, 230, 640, 300


def rows() -> dict[str, tuple[int, int, float]]:
    """For each guarantee shown: the least and most benefit kept in percent, and the points added."""
    table = json.loads((PUBLISHED / "numbers" / "committees.json").read_text(encoding="utf-8"))["tables"]
    found = {}
    for line in table["docs/evidence/guarantees.md"]["revealed"][2:]:
        name, kept, added = (cell.strip() for cell in line.split("|")[1:4])
        least, most = map(int, re.findall(r"\d+", kept))
        found[name] = least, most, float(added.split()[0])
    return {name: found[name] for name in SHOWN}


def guarantees() -> str:
    """The picture as SVG: a row for each guarantee, with a range and a bar."""
    shown = rows()
    bottom = _FIRST + len(shown) * _EACH
    longest = max(added for _, _, added in shown.values())
    parts = [
        _text(_KEPT, 28, "benefit of calibration kept", 'font-weight="bold" fill="#223344"'),
        _text(_KEPT, 46, "least to most over committees of 60 and more", 'font-size="12" fill="#556677"'),
        _text(_NAMED, 28, "reviewers named: added", 'font-weight="bold" fill="#223344"'),
        _text(_NAMED, 46, "percentage points, mean", 'font-size="12" fill="#556677"'),
    ]
    for share in (0, 25, 50, 75, 100):
        x = _KEPT + _LENGTH * share / 100
        parts += [
            f'<path d="M {x:.1f} {_FIRST - 14} V {bottom - 8}" stroke="#dde3ea"/>',
            _text(x, bottom + 10, f"{share}%", 'font-size="12" text-anchor="middle" fill="#556677"'),
        ]
    for number, (name, (least, most, added)) in enumerate(shown.items()):
        y = _FIRST + number * _EACH
        color, style = ("#c8553d", ' font-weight="bold"') if name == DEFAULT else ("#7aa6d6", "")
        left, right = (_KEPT + _LENGTH * share / 100 for share in (least, most))
        parts += [
            _text(_NAMES, y + 5, name, f'fill="#223344"{style}'),
            _bar(left, y, right - left, color),
            _bar(_NAMED, y, max(180 * added / longest, 1), color),
            _text(_NAMED + 180 * added / longest + 8, y + 5, f"{added:.2f}", 'font-size="12" fill="#223344"'),
        ]
    parts.append(_text(_NAMES, bottom + 30, "The default is in red.", 'font-size="12" fill="#c8553d"'))
    return _svg("What each guarantee keeps, and what it adds", 900, bottom + 40, parts)


def _bar(x: float, y: float, width: float, color: str) -> str:
    return f'<rect x="{x:.1f}" y="{y - 7}" width="{width:.1f}" height="14" rx="3" fill="{color}"/>'


def main() -> None:
    figures = DOCS / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    drawn = {"idea": idea(paper()), "calendar": calendar(), "guarantees": guarantees()}
    for name, text in drawn.items():
        (figures / f"{name}.svg").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
