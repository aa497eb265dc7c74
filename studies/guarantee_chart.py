"""The comparison of guarantees as a chart: benefit kept against how many more reviewers are named.

    python studies/guarantee_chart.py

Writes docs/figures/guarantees.svg from docs/numbers/committees.json, whose own command is on the page: for
docs/evidence/guarantees.md.
"""

from __future__ import annotations

import json
import re
from html import escape

from stated import DOCS, PUBLISHED

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
_WIDTH, _TOP, _ROW = 900, 74, 30
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


def drawing() -> str:
    """The picture as SVG: a row for each guarantee, with a range and a bar."""
    shown = rows()
    bottom = _TOP + len(shown) * _ROW
    longest = max(added for _, _, added in shown.values())
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {bottom + 40}" width="{_WIDTH}" '
        f'height="{bottom + 40}" font-family="Helvetica, Arial, sans-serif" font-size="14">',
        "<title>What each guarantee keeps, and what it adds</title>",
        f'<rect width="{_WIDTH}" height="{bottom + 40}" rx="8" fill="#ffffff"/>',
        _text(_KEPT, 28, "benefit of calibration kept", 'font-weight="bold" fill="#223344"'),
        _text(_KEPT, 46, "least to most over committees of 60 and more", 'font-size="12" fill="#556677"'),
        _text(_NAMED, 28, "reviewers named: added", 'font-weight="bold" fill="#223344"'),
        _text(_NAMED, 46, "percentage points, mean", 'font-size="12" fill="#556677"'),
    ]
    for share in (0, 25, 50, 75, 100):
        x = _KEPT + _LENGTH * share / 100
        parts += [
            f'<path d="M {x:.1f} {_TOP - 14} V {bottom - 8}" stroke="#dde3ea"/>',
            _text(x, bottom + 10, f"{share}%", 'font-size="12" text-anchor="middle" fill="#556677"'),
        ]
    for number, (name, (least, most, added)) in enumerate(shown.items()):
        y = _TOP + number * _ROW
        color, style = ("#c8553d", ' font-weight="bold"') if name == DEFAULT else ("#7aa6d6", "")
        left, right = (_KEPT + _LENGTH * share / 100 for share in (least, most))
        parts += [
            _text(_NAMES, y + 5, name, f'fill="#223344"{style}'),
            _bar(left, y, right - left, color),
            _bar(_NAMED, y, max(180 * added / longest, 1), color),
            _text(_NAMED + 180 * added / longest + 8, y + 5, f"{added:.2f}", 'font-size="12" fill="#223344"'),
        ]
    parts.append(_text(_NAMES, bottom + 30, "The default is in red.", 'font-size="12" fill="#c8553d"'))
    return "\n".join([*parts, "</svg>", ""])


def _bar(x: float, y: float, width: float, color: str) -> str:
    return f'<rect x="{x:.1f}" y="{y - 7}" width="{width:.1f}" height="14" rx="3" fill="{color}"/>'


def _text(x: float, y: float, words: str, style: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" {style}>{escape(words)}</text>'


def main() -> None:
    figures = DOCS / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    (figures / "guarantees.svg").write_text(drawing(), encoding="utf-8")


if __name__ == "__main__":
    main()
