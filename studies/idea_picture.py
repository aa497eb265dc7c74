"""The idea in one drawing: a score, candidates, the belief, the table of accept probabilities, a draw.

    python studies/idea_picture.py

Writes docs/figures/idea.svg, for docs/explanation/privacy_model.md. All numbers are computed:
one paper with one review, five candidates, a crowd of 3 with epsilon 3.
"""

from __future__ import annotations

from html import escape

import blindcal as bc
from blindcal.adversaries.findings import planned_views
from blindcal.adversaries.single_paper import View
from stated import DOCS

# What each candidate gives an average paper.
MEANS = {"Ada": 7.0, "Ben": 6.5, "Cleo": 6.0, "Dan": 5.0, "Eva": 4.5}
SCORE, TRUE, AMONG, EPSILON = 6, "Dan", 3, 3.0

_WIDTH, _HEIGHT, _TOP, _ROW = 960, 352, 132, 32
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


def drawing(view: View) -> str:
    """The picture as SVG: a column for each step, a row for each candidate."""
    accept = view.accept["chosen"]
    after = view.weight * accept / (view.weight @ accept)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" font-family="Helvetica, Arial, sans-serif" font-size="14">',
        "<title>From a score to a private decision</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" rx="8" fill="#ffffff"/>',
    ]
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
            *_bar(_COLUMNS[2], y, float(view.weight[row]), _BELIEF, "#7aa6d6"),
            *_bar(_COLUMNS[3], y, float(accept[row]), 90, "#c8553d" if own else "#e3a593"),
            *_bar(_COLUMNS[4] + 4, y, float(after[row]), _BELIEF, "#7aa6d6", _BELIEF // 2),
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
    return "\n".join([*parts, "</svg>", ""])


def _bar(x: int, y: int, share: float, width: int, color: str, beside: int = 0) -> list[str]:
    """A bar for a share, with its number: at the end of the bar, or that far to the right."""
    return [
        f'<rect x="{x}" y="{y - 13}" width="{max(width * share, 1):.1f}" height="16" rx="2" fill="{color}"/>',
        _text(x + (beside or int(width * share) + 6), y, f"{share:.0%}", 'font-size="12" fill="#223344"'),
    ]


def _text(x: int, y: int, words: str, style: str) -> str:
    return f'<text x="{x}" y="{y}" {style}>{escape(words)}</text>'


def main() -> None:
    figures = DOCS / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    (figures / "idea.svg").write_text(drawing(paper()), encoding="utf-8")


if __name__ == "__main__":
    main()
