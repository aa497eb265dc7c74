"""The calendar of a conference as a drawing: who runs which command when, and what becomes public.

    python studies/calendar_picture.py

Writes docs/figures/calendar.svg, for docs/howto/run_a_conference.md.
"""

from __future__ import annotations

from html import escape

from stated import DOCS

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
_WIDTH, _STEP, _TOP, _PUBLIC, _HEIGHT = 900, 176, 54, 206, 290


def drawing() -> str:
    """The picture as SVG: a line of time with the steps on it, and a band below for what is public."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" font-family="Helvetica, Arial, sans-serif" font-size="14">',
        "<title>The calendar of a conference</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" rx="8" fill="#ffffff"/>',
        f'<rect x="10" y="{_PUBLIC}" width="{_WIDTH - 20}" height="74" rx="6" fill="#e8f1fb"/>',
        f'<text x="20" y="{_PUBLIC + 18}" font-size="12" fill="#2f5d8a">may be published, '
        "as the setting `scores` allows</text>",
        f'<path d="M 20 {_TOP} H {_WIDTH - 26}" stroke="#445566" stroke-width="2"/>',
        f'<path d="M {_WIDTH - 28} {_TOP - 6} l 12 6 l -12 6 z" fill="#445566"/>',
    ]
    for place, (when, commands, note, public) in enumerate(STEPS):
        x = 24 + place * _STEP
        parts.append(f'<circle cx="{x + 6}" cy="{_TOP}" r="7" fill="#c8553d"/>')
        parts.append(_text(x, _TOP - 20, when, 'font-weight="bold" fill="#223344"'))
        for line, command in enumerate(commands.split("|")):
            parts.append(_text(x, _TOP + 30 + 19 * line, command, 'font-family="monospace" fill="#7a2e1d"'))
        for line, words in enumerate(note.split("|")):
            parts.append(_text(x, _PUBLIC - 36 + 16 * line, words, 'font-size="12" fill="#556677"'))
        for line, name in enumerate(public.split("|")):
            parts.append(_text(x, _PUBLIC + 42 + 18 * line, name, 'fill="#1d4468"'))
    return "\n".join([*parts, "</svg>", ""])


def _text(x: int, y: int, words: str, style: str) -> str:
    return f'<text x="{x}" y="{y}" {style}>{escape(words)}</text>'


def main() -> None:
    figures = DOCS / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    (figures / "calendar.svg").write_text(drawing(), encoding="utf-8")


if __name__ == "__main__":
    main()
