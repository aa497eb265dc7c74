"""Scores: which field of an export they are, and cells as numbers: with a label, decimal commas, or words.

A field that holds scores is found by its cells (`score_shaped`), the score among several by its name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from blindcal.importers.raw_export import export_error, listed, missing_field
from blindcal.io.cells import Column, Violation, cell_problem, number_text

_NUMBER = Column("score", "number")
# A number and what follows it: `8: Top 50%`, `3 good`, `4 (high)`, `5. Accept`, `6 - weak accept`.
_LABELED = re.compile(
    r"([+-]?+[0-9]++(?:[.,][0-9]++)?+)"
    r"(?:\s*+[:=]\s*+(.*+)|\s*+(\(.*+)|[.)]\s++([^0-9].*+)|\s++[-–—]\s++([^0-9].*+)|\s++([^\W\d_].*+))?+",
    re.DOTALL,
)
# `7/10`: seven of ten.
_OUT_OF = re.compile(r"([+-]?+[0-9]++(?:[.,][0-9]++)?+)\s*+/\s*+([1-9][0-9]{0,3})")
# An evaluation of the whole paper, not the experimental evaluation in it.
_SCORE = re.compile(
    r"overall|merit|recommend|rating|score|(?:^|\(|final[ _]|general[ _]|total[ _])(?:evaluation|assessment)"
    r"|(?-i:(?:^|[a-z])(?:Ove|Mer|Rec|Rat)(?=[A-Z]|$))",
    re.I,
)
_CONFIDENCE = re.compile(
    r"confiden|expert|familiar|qualifi|knowledge|(?-i:(?:^|[a-z])(?:Exp|Fam|Qua|Kno)(?=[A-Z]|$))|^RevCon$",
    re.I,
)
_LETTER = re.compile(r"([A-Z])(?:\s*+[:.=)-]\s*+(.*+)|\s*+(\(.*+))?+", re.DOTALL)


@dataclass(frozen=True)
class ScoreScale:
    """The distinct scores that were given."""

    levels: tuple[float, ...]  # the numbers, from worst to best
    labels: tuple[str, ...]  # the label or letter of each, empty if it has none
    # Whether reviewers gave letters or words; a level is then the rank of its label in their order, 1 being
    # the worst
    named: bool = False

    def __str__(self) -> str:
        shown = [
            f"{label} = {number_text(level)}" if self.named else number_text(level)
            for level, label in zip(self.levels, self.labels, strict=True)
        ]
        return ", ".join(shown if len(shown) <= 12 else [*shown[:5], "...", *shown[-5:]])


class ScoreFields(NamedTuple):
    """Which fields of an export are read, with the cells of each review."""

    score: str
    confidence: str | None
    scores: list[str]
    confidences: list[str]  # empty texts without such a field
    unused: list[str]  # fields that hold scores too
    texts: list[str]  # fields that hold none


Aliases = Callable[[str], Collection[str]]
"""The other names that a field goes by."""


def find_scores(
    columns: Mapping[str, list[str]],
    given: str | None,
    file: str,
    row: int | None = None,
    fields: Collection[str] | None = None,
    aliases: Aliases = lambda name: (),
) -> ScoreFields:
    """The score and the confidence among the `columns` of a `file`, whose header is its `row`.

    `fields` are those that hold scores; by default those that look so. Any other column can be the score only
    if it is `given`.
    """
    if fields is None:
        fields = [name for name, cells in columns.items() if score_shaped(cells)]
    score = choose_score_field(fields, given, file, row, columns, aliases)
    sure = [name for name in fields if name != score and is_confidence_name(name)]
    confidence = sure[0] if len(sure) == 1 else None
    return ScoreFields(
        score,
        confidence,
        columns[score],
        columns[confidence] if confidence else [""] * len(columns[score]),
        [name for name in fields if name not in (score, confidence)],
        [name for name in columns if name not in fields and name != score],
    )


def is_score_name(name: str) -> bool:
    """Whether a field of this `name` is called like the score."""
    return _SCORE.search(name) is not None and not is_confidence_name(name)


def is_confidence_name(name: str) -> bool:
    """Whether a field of this `name` is called like the confidence of a reviewer."""
    return _CONFIDENCE.search(name) is not None


def matching_fields(fields: Iterable[str], given: str, aliases: Aliases = lambda name: ()) -> list[str]:
    """The fields that a chair may have meant: capital letters and further spaces do not count."""
    wanted = " ".join(given.split()).casefold()
    return [name for name in fields if wanted in {other.casefold() for other in (name, *aliases(name))}]


def choose_score_field(
    fields: Collection[str],
    given: str | None,
    file: str,
    row: int | None = None,
    others: Collection[str] = (),
    aliases: Aliases = lambda name: (),
) -> str:
    """The field to take as the score: the one given, the only one, or the only one that is called so."""
    if given is not None:
        matches = matching_fields(fields, given, aliases) or matching_fields(others, given, aliases)
        if len(matches) == 1:
            return matches[0]
        raise missing_field(file, given, listed(list(fields) or list(others)) or "none", row)
    merits = [name for name in fields if not is_confidence_name(name)]
    for candidates in ([name for name in merits if is_score_name(name)], merits):
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            rule = "must have one field for the score: say which with `score_field`"
            raise export_error(file, rule, listed(candidates), row)
    raise export_error(file, "must have a field with scores", "none", row)


def score_shaped(cells: Iterable[str]) -> bool:
    """Whether a column holds scores: most filled cells are numbers, with labels or not, or letters."""
    counts = Counter(cell.strip() for cell in cells if cell.strip())
    shaped = sum(count for cell, count in counts.items() if _number(cell) or _LETTER.fullmatch(cell))
    return 2 * shaped > counts.total()


def is_worded(cells: Iterable[str]) -> bool:
    """Whether most of the filled cells are letters or words and no numbers."""
    counts = Counter(cell.strip() for cell in cells if cell.strip())
    numbers = sum(count for cell, count in counts.items() if isinstance(read_number(cell, True)[0], float))
    return 2 * numbers < counts.total()


def has_decimal_commas(cells: Iterable[str]) -> bool:
    """Whether a column writes decimals with a comma: some cells do, none has a point."""
    numbers = [match[1] for cell in set(cells) if (match := _number(cell.strip()))]
    commas = [text.partition(",")[2] for text in numbers if "," in text]
    return bool(commas) and max(map(len, commas)) <= 2 and not any("." in text for text in numbers)


def read_number(cell: str, commas: bool) -> tuple[float, str] | Violation:
    """The number of a `cell` and its label; otherwise the rule that it breaks, and what to show of it.

    With `commas`, decimals are written with a comma.
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
    label = "" if match.re is _OUT_OF else next(filter(None, match.groups()[1:]), "").strip()
    return broken or (float(number), label)


def tops_of(cells: Iterable[str]) -> set[str]:
    """The numbers that scores are out of.

    >>> tops_of(["7/10", "8 / 10", "3", "4/5"]) == {"10", "5"}
    True
    """
    return {match[2] for cell in set(cells) if (match := _OUT_OF.fullmatch(cell.strip()))}


def _number(text: str) -> re.Match[str] | None:
    if out_of := _OUT_OF.fullmatch(text):
        return out_of
    match = _LABELED.fullmatch(text)
    label = next(filter(None, match.groups()[1:]), "") if match else ""
    return match if match and (not label or re.search(r"[^\W\d_]", label)) else None


def read_ordered(cell: str, order: Sequence[str]) -> tuple[float, str] | Violation:
    """The rank of a letter, word or number in an `order` from best to worst: the best of four is 4."""
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
    """
    ordered = sorted(levels)
    return ScoreScale(tuple(ordered), tuple(levels[level] for level in ordered), named)
