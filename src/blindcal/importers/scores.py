"""Cells as scores: numbers, numbers with a label, decimal commas, letters or words whose order is known."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from blindcal.cells import Column, Violation, cell_problem, number_text

_NUMBER = Column("score", "number")
# A number and what follows it: `8: Top 50%`, `3 good`, `4 (high)`, `5. Accept`, `6 - weak accept`.
_LABELED = re.compile(
    r"([+-]?+[0-9]++(?:[.,][0-9]++)?+)"
    r"(?:\s*+[:=]\s*+(.*+)|\s*+(\(.*+)|[.)]\s++([^0-9].*+)|\s++[-–—]\s++([^0-9].*+)|\s++([^\W\d_].*+))?+",
    re.DOTALL,
)
_LETTER = re.compile(r"([A-Z])(?:\s*+[:.=)-]\s*+(.*+)|\s*+(\(.*+))?+", re.DOTALL)


@dataclass(frozen=True)
class ScoreScale:
    """The distinct scores that were given.

    Attributes:
        levels: The numbers, from worst to best.
        labels: The label or letter of each, empty if it has none.
        named: Whether reviewers gave letters or words; a level is then the rank of its label in their order,
            1 being the worst.
    """

    levels: tuple[float, ...]
    labels: tuple[str, ...]
    named: bool = False

    def __str__(self) -> str:
        shown = [
            f"{label} = {number_text(level)}" if self.named else number_text(level)
            for level, label in zip(self.levels, self.labels, strict=True)
        ]
        return ", ".join(shown if len(shown) <= 12 else [*shown[:5], "...", *shown[-5:]])


def score_shaped(cells: Iterable[str]) -> bool:
    """Whether a column holds scores: most filled cells are numbers, with labels or not, or letters.

    >>> score_shaped(["4", "", "5: accept"]), score_shaped(["B", "C"]), score_shaped(["Good.", "I like it"])
    (True, True, False)
    """
    counts = Counter(cell.strip() for cell in cells if cell.strip())
    shaped = sum(count for cell, count in counts.items() if _number(cell) or _LETTER.fullmatch(cell))
    return 2 * shaped > counts.total()


def is_worded(cells: Iterable[str]) -> bool:
    """Whether most of the filled cells are letters or words and no numbers.

    >>> is_worded(["A", "B", ""]), is_worded(["Accept", "Reject", "3"]), is_worded(["3: good", "x"])
    (True, True, False)
    """
    counts = Counter(cell.strip() for cell in cells if cell.strip())
    numbers = sum(count for cell, count in counts.items() if isinstance(read_number(cell, True)[0], float))
    return 2 * numbers < counts.total()


def has_decimal_commas(cells: Iterable[str]) -> bool:
    """Whether a column writes decimals with a comma: some cells do, none has a point.

    >>> has_decimal_commas(["2,5", "3"]), has_decimal_commas(["2,5", "3.5"]), has_decimal_commas(["1,000"])
    (True, False, False)
    """
    numbers = [match[1] for cell in set(cells) if (match := _number(cell.strip()))]
    commas = [text.partition(",")[2] for text in numbers if "," in text]
    return bool(commas) and max(map(len, commas)) <= 2 and not any("." in text for text in numbers)


def read_number(cell: str, commas: bool) -> tuple[float, str] | Violation:
    """The number of a `cell` and its label; otherwise the rule that it breaks, and what to show of it.

    With `commas`, decimals are written with a comma.

    >>> read_number("8: Top 50% of papers", False), read_number("3 good", False), read_number("2,5", True)
    ((8.0, 'Top 50% of papers'), (3.0, 'good'), (2.5, ''))
    >>> read_number("3-4", False)
    ('must be a number, or a number and a label', None)
    """
    text = cell.strip()
    if cell_problem(text, _NUMBER) is None:
        return float(text), ""
    match = _number(text)
    if match is None:
        return "must be a number, or a number and a label", None
    if "," in match[1] and not commas:
        return "must be a number with a point for decimals and no commas", None
    number = match[1].replace(",", ".")
    broken = cell_problem(number, _NUMBER)
    return broken or (float(number), next(filter(None, match.groups()[1:]), "").strip())


def _number(text: str) -> re.Match[str] | None:
    match = _LABELED.fullmatch(text)
    label = next(filter(None, match.groups()[1:]), "") if match else ""
    return match if match and (not label or re.search(r"[^\W\d_]", label)) else None


def read_ordered(cell: str, order: Sequence[str]) -> tuple[float, str] | Violation:
    """The rank of a letter, word or number in an `order` from best to worst: the best of four is 4.

    >>> read_ordered("A", "ABCD"), read_ordered("D: poor", "ABCD"), read_ordered("E", "ABCD")
    ((4.0, 'A'), (1.0, 'D'), ('must be one of A, B, C, D', None))
    >>> read_ordered("Weak accept", ("Accept", "Weak accept", "Reject")), read_ordered("1: best", "12345")
    ((2.0, 'Weak accept'), (5.0, '1'))
    """
    spellings = {cell.strip().casefold()}
    if match := _LETTER.fullmatch(cell.strip()):
        spellings.add(match[1].casefold())
    value = read_number(cell, False)[0]
    if isinstance(value, float):
        spellings.add(number_text(value))
    for index, known in enumerate(order):
        if known.casefold() in spellings:
            return float(len(order) - index), known
    return f"must be one of {', '.join(order)}", None


def scale_of(levels: Mapping[float, str], named: bool) -> ScoreScale:
    """The scale of the scores in an export, lowest first.

    `levels` has the label of each, and they are `named` if the labels are what reviewers gave.

    >>> print(scale_of({2.0: "A", 1.0: "B"}, named=True))
    B = 1, A = 2
    """
    ordered = sorted(levels)
    return ScoreScale(tuple(ordered), tuple(levels[level] for level in ordered), named)
