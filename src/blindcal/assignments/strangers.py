"""Reviewers whom their paper's pool does not hold: why not, and who was probably meant.

A message may say how many there are and for which reason; who they are is CONFIDENTIAL.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

from blindcal.assignments.pools import OUTSIDER
from blindcal.cells import natural

# Beyond so many names the nearest spelling is not looked for letter by letter: it takes milliseconds a name.
_MOST_COMPARED = 200
_CLOSE, _SURE = 0.6, 0.8

BEFOREHAND = (
    "(adding only those missing would reveal who they are: see docs/limitations.md, pools fixed beforehand)"
)
CAUSES = {
    "spelling": (
        "reviews",
        "reviewer",
        "must spell reviewers as the other files do",
        "spelled differently",
    ),
    "calibration": (
        "reviewers",
        "reviewer",
        "must have a row for every reviewer (each must also be in the paper's pool)",
        "without a row",
    ),
    "conflict": ("pools", "conflict", "must not list a reviewer of the paper", "listed"),
    "probability 0": (
        "pools",
        "probability",
        f"must be above 0 for every reviewer of a paper {BEFOREHAND}",
        "with 0",
    ),
    "pool": ("pools", None, f"must hold every reviewer of a paper {BEFOREHAND}", "missing"),
}
"""For each cause the file and the column to blame, the rule, and what is said of those found."""


@dataclass(frozen=True, order=True)
class Stranger:
    """A reviewer whom the pool of a paper does not hold, why, and the nearest known name. CONFIDENTIAL."""

    paper: str
    reviewer: str
    cause: str
    nearest: str


@dataclass(frozen=True)
class Directory:
    """Everyone who is known, to look names up by."""

    names: Collection[str]

    @cached_property
    def by_spelling(self) -> Mapping[str, str]:
        return {plain(name): name for name in sorted(self.names, reverse=True)}

    def nearest(self, name: str, close: bool) -> str:
        """The known name that is spelled most like this one; letter by letter only where asked to be `close`.

        >>> Directory(["Ada Lovelace", "Alan Turing"]).nearest("lovelace, ada", False)
        'Ada Lovelace'
        """
        if plain(name) in self.by_spelling:
            return self.by_spelling[plain(name)]
        found = get_close_matches(plain(name), self.by_spelling, 1 + len(self.names), _CLOSE) if close else []
        known = (self.by_spelling[one] for one in found)
        return next((one for one in known if _alike(name, one, _CLOSE)), "")


def plain(name: str) -> str:
    """A name without what people write differently: case, accents, signs, spaces, the order of its words.

    >>> plain("Gödel,  Kurt"), plain("kurt godel"), plain("R-07"), plain("r07")
    ('godel kurt', 'godel kurt', 'r07', 'r07')
    """
    letters = [c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c)]
    words = re.findall(r"[^\W_]+", "".join(letters).casefold())
    numbered = any(c.isdigit() for c in name)
    return ("".join(words) if numbered else " ".join(sorted(words))) or name


def strangers(
    missing: Mapping[str, Sequence[str]],
    pools: Mapping[str, Mapping[str, float]],
    known: Collection[str],
    conflicts: Collection[tuple[str, str]] = (),
) -> list[Stranger]:
    """Why each of the `missing` reviewers of each paper is not in its pool, papers in natural order.
    CONFIDENTIAL.

    Nobody lacks a calibration where `*` is among those `known`.

    >>> strangers({"p": ["bob"]}, {"p": {"Ann": 1.0, "Bob": 1.0}}, ["Ann", "Bob"])
    [Stranger(paper='p', reviewer='bob', cause='spelling', nearest='Bob')]
    """
    directory = Directory({*known, *(name for pool in pools.values() for name in pool)} - {OUTSIDER})
    unknown = sorted({name for names in missing.values() for name in names} - set(directory.names))
    close = set(unknown[:_MOST_COMPARED])
    nearest = {name: directory.nearest(name, name in close) for name in unknown}
    anybody = OUTSIDER in known

    def stranger(paper: str, name: str) -> Stranger:
        cause = _cause(paper, name, pools.get(paper, {}), nearest, conflicts, anybody)
        return Stranger(paper, name, cause, nearest.get(name, ""))

    found = [stranger(paper, name) for paper, names in missing.items() for name in names]
    return sorted(found, key=lambda one: (natural(one.paper), one))


def _cause(
    paper: str,
    name: str,
    pool: Mapping[str, float],
    nearest: Mapping[str, str],
    conflicts: Collection[tuple[str, str]],
    anybody: bool,
) -> str:
    if name in pool:
        return "probability 0"
    if (paper, name) in conflicts:
        return "conflict"
    if name not in nearest:
        return "pool"
    if _same(name, nearest[name]):
        return "spelling"
    return "pool" if anybody else "calibration"


def _same(name: str, other: str) -> bool:
    """Whether two spellings are surely one name: `r12` and `r13` are as close as can be, and two people.

    >>> _same("R12", "r12"), _same("r12", "r13"), _same("Ada Lovelace", "Ada Lovelance"), _same("Ada", "Eva")
    (True, False, True, False)
    """
    digits = [re.findall(r"\d+", word) for word in (name, other)]
    whole = bool(get_close_matches(plain(name), [plain(other)], 1, _SURE))
    return digits[0] == digits[1] and whole and _alike(name, other, _SURE)


def _alike(name: str, other: str, least: float) -> bool:
    """Whether two names are alike before the @ of a mail address: many people share what comes after it.

    >>> [_alike("umar@example.edu", f"{other}@example.edu", 0.6) for other in ("yuki", "omar")]
    [False, True]
    """
    one, two = (plain(word.partition("@")[0]) for word in (name, other))
    return bool(get_close_matches(one, [two], 1, least))
