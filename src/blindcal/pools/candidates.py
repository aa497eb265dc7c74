"""The candidates of each paper: who may have reviewed it, and with which probability.

A pool gives each candidate's probability of having reviewed the paper; `prior` extends it to tuples. Pools
are read from a file (`pools_of`), such as the marginal probabilities of an assignment that was drawn at
random, or assumed from bids or similarities (`assumed_pools`). `*` is anyone not listed by name.

An assumed pool is an assumption about what the adversary knows. The guarantee holds against someone who
knows just that; someone who knows more can do better.

`missing_reviewers` finds out why a reviewer is not in the pool of a paper. A message may say how many there
are and for which reason; who they are is CONFIDENTIAL.
"""

from __future__ import annotations

import os
import pickle
import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from hashlib import sha256
from itertools import chain, pairwise
from typing import Any, TypeVar, overload

import numpy as np

from blindcal.errors import InputError, Problem
from blindcal.io.atomic_files import is_path, read_table
from blindcal.io.cells import Column, cell_problem, natural_key
from blindcal.io.tables import StrPath, Table, input_error
from blindcal.pools.prior import inclusion

_T = TypeVar("_T")
OUTSIDER = "*"
EVERYONE = "everyone"
Pools = Mapping[str, Mapping[str, float]]
"""For each paper its candidates and their probabilities, before scaling."""


class SharedTuple(tuple[_T, ...]):
    """A tuple that many papers refer to: what takes long to find out about it is found out once."""

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()

    @cached_property
    def place(self) -> dict[Any, int]:
        """The index of each item."""
        return {item: index for index, item in enumerate(self)}

    def __contains__(self, item: object, /) -> bool:
        return item in self.place

    @cached_property
    def sent_once(self) -> tuple[str, bytes]:
        """A digest and the bytes of these items, for workers of a cluster."""
        data = pickle.dumps(self, protocol=5)
        return sha256(data).hexdigest(), data

    def __reduce__(self) -> tuple[type[SharedTuple[_T]], tuple[tuple[_T, ...]]]:
        # Another process hashes texts differently.
        return SharedTuple, (tuple(self),)


@dataclass(frozen=True, eq=False, slots=True)
class AllBut(Sequence[_T]):
    """The items of a shared tuple except a few: equal to a tuple of the others, in far less memory.

    Papers that a whole committee may have reviewed differ in their conflicts alone.

    >>> some = AllBut(SharedTuple("abcd"), (1, 3))
    >>> len(some), some[1], "b" in some, some == ("a", "c")
    (2, 'c', False, True)
    """

    shared: SharedTuple[_T]
    without: tuple[int, ...]  # the indices of those left out, ascending

    def whole(self) -> tuple[_T, ...]:
        """The tuple that this is equal to."""
        ends = pairwise((-1, *self.without, len(self.shared)))
        return tuple(chain.from_iterable(self.shared[left + 1 : right] for left, right in ends))

    def __len__(self) -> int:
        return len(self.shared) - len(self.without)

    @overload
    def __getitem__(self, index: int) -> _T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[_T, ...]: ...
    def __getitem__(self, index: int | slice) -> _T | tuple[_T, ...]:
        if isinstance(index, slice):
            return self.whole()[index]
        position = range(len(self))[index]
        for left_out in self.without:
            position += left_out <= position
        return self.shared[position]

    def __iter__(self) -> Iterator[_T]:
        return iter(self.whole())

    def __contains__(self, item: object) -> bool:
        return self.shared.place.get(item, self.without[0]) not in self.without

    def __eq__(self, other: object) -> bool:
        if isinstance(other, AllBut):
            same = self.shared is other.shared and self.without == other.without
            return same or self.whole() == other.whole()
        return self.whole() == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.whole())


def all_but(shared: SharedTuple[_T], without: tuple[int, ...]) -> SharedTuple[_T] | AllBut[_T]:
    """The shared tuple itself if nobody is left out."""
    return AllBut(shared, without) if without else shared


def shared_part(items: Sequence[_T]) -> tuple[tuple[_T, ...], tuple[int, ...]]:
    """The tuple that some items share with those of other papers, and the indices of those left out."""
    if isinstance(items, AllBut):
        return items.shared, items.without
    return (items if isinstance(items, tuple) else tuple(items)), ()


def union(parts: Iterable[Iterable[_T]]) -> set[_T]:
    """Everything in any of these; a tuple that many share is looked at once."""
    several, rest = dict[int, list[AllBut[_T]]](), dict[int, Iterable[_T]]()
    for part in parts:
        if isinstance(part, AllBut):
            several.setdefault(id(part.shared), []).append(part)
        else:
            rest[id(part)] = part
    for group in several.values():
        nowhere = set(group[0].without).intersection(*(part.without for part in group))
        rest[id(group)] = all_but(group[0].shared, tuple(sorted(nowhere)))
    return set[_T]().union(*rest.values())


@dataclass(frozen=True, eq=False)
class CommitteePool(Mapping[str, float]):
    """Everyone of a committee without a conflict, all equally likely."""

    candidates: Sequence[str]  # their sorted names

    def __getitem__(self, name: str) -> float:
        if name not in self:
            raise KeyError(name)
        return 1.0

    def __contains__(self, name: object) -> bool:
        return name in self.candidates

    def __iter__(self) -> Iterator[str]:
        return iter(self.candidates)

    def __len__(self) -> int:
        return len(self.candidates)


def read_pools(path: StrPath | Any) -> dict[str, dict[str, float]]:
    """Each paper's candidates with their probabilities, from a table.

    Args:
        path: A table `paper,reviewer[,probability]`. Without the last column all candidates are alike. A
            candidate `*` stands for everyone who is not listed.

    Example:
        >>> read_pools({"paper": ["p", "p"], "reviewer": ["ada", "ben"], "probability": [0.75, 0.25]})
        {'p': {'ada': 0.75, 'ben': 0.25}}
    """
    columns = [
        Column("paper", "id"),
        Column("reviewer", "id", secret=True),
        Column("probability", "number", required=False, low=0.0, high=1.0),
    ]
    table = read_table(path, columns, name="`pools`")
    chance = table.number("probability") if "probability" in table else np.ones(len(table))
    if problems := table.repeated("reviewer", "paper", rule="must not be twice in one paper's pool"):
        raise input_error(problems)
    pools = defaultdict[str, dict[str, float]](dict)
    for paper, reviewer, p in zip(table.text("paper"), table.text("reviewer"), chance.tolist(), strict=True):
        pools[paper][reviewer] = p
    return dict(pools)


def everyone(
    papers: Iterable[str], reviewers: Sequence[str], conflicts: Iterable[tuple[str, str]] = ()
) -> dict[str, CommitteePool]:
    """Pools of everyone without a conflict `(paper, reviewer)`, all equally likely."""
    committee, barred = SharedTuple(sorted(set(reviewers))), defaultdict[str, set[int]](set)
    for paper, reviewer in conflicts:
        if reviewer in committee:
            barred[paper].add(committee.place[reviewer])
    without = {paper: tuple(sorted(barred[paper])) for paper in papers}
    # Papers with the same conflicts share one pool: a large committee times many papers is too much memory.
    shared = {some: CommitteePool(all_but(committee, some)) for some in set(without.values())}
    return {paper: shared[some] for paper, some in without.items()}


def is_everyone(source: object) -> bool:
    """Whether the word `everyone` stands in place of a file or data frame of pools."""
    return is_path(source) and str(source) == EVERYONE


def pools_of(source: StrPath | Any, papers: Iterable[str], reviewers: Iterable[str]) -> Pools:
    """The pools that a file or a data frame describes; its columns say how.

    A table `paper,reviewer[,probability]` has candidates; `paper,conflict`, everyone except these. The word
    `everyone` in place of a file means that there are no conflicts.
    """
    people = sorted(set(reviewers) - {OUTSIDER})
    if is_everyone(source):
        return everyone(papers, people)
    columns = [Column("paper", "id"), Column("probability", "text", required=False, empty=True)]
    columns += [Column(name, "id", required=False, secret=True) for name in ("reviewer", "conflict")]
    table = read_table(source, columns, name="`pools`")
    if "conflict" in table and "reviewer" not in table:
        return everyone(papers, people, zip(table.text("paper"), table.text("conflict"), strict=True))
    return read_pools(source)


def first_row(source: StrPath, candidates: Collection[str]) -> int | None:
    """The first row of a file of pools that names one of these candidates, for a message that must not."""
    table = _people_of(source)
    if table is None or "reviewer" not in table:
        return None
    named = zip(table.rows, table.text("reviewer"), strict=True)
    return next((row for row, name in named if name in candidates), None)


def conflicts_in(source: StrPath) -> set[tuple[str, str]]:
    """The conflicts `(paper, reviewer)` of a file that lists them instead of pools; else none."""
    table = _people_of(source)
    if table is None or "conflict" not in table or "reviewer" in table:
        return set()
    return set(zip(table.text("paper"), table.text("conflict"), strict=True))


def _people_of(source: StrPath) -> Table | None:
    """The ids in a file of pools or conflicts, whatever else it has; None if there is no file."""
    columns = [Column(name, "id", required=False, secret=True) for name in ("paper", "conflict", "reviewer")]
    return read_table(source, columns, extra=True) if os.path.exists(source) else None


def papers_in(source: StrPath) -> set[str]:
    """The papers that a file of pools, conflicts or titles lists."""
    return {*read_table(source, [Column("paper", "id")], extra=True).text("paper")}


def refuse_other_papers(source: object, listed: Collection[str], papers: Collection[str]) -> None:
    """Refuse a file, the `source`, that lists papers, and none of those that have reviews.

    Otherwise its conflicts, say, would be left out in silence.
    """
    if listed and papers and {*listed}.isdisjoint(papers):
        rule = "must list papers that have reviews: are the ids spelled differently?"
        raise input_error([Problem(str(source), None, "paper", rule, f"none among {len({*listed}):,}")])


Similarity = Mapping[str, Mapping[str, float]]
"""For each paper how well reviewers fit it, at least 0; one who is not listed has 0."""
BIDS = {"yes": 1.0, "maybe": 0.5, "no": 0.0, "conflict": 0.0}
"""What a bid that is a word counts."""
_BID_RULE = f"must be a number of at least 0, or one of {', '.join(BIDS)}"
_ONE_OF_BOTH = "must have one more column: similarity, or bid (a number, or yes, maybe, no, conflict)"


def read_similarity(path: StrPath | Any) -> dict[str, dict[str, float]]:
    """How well each reviewer fits each paper, from bids or similarities.

    Args:
        path: A table `paper,reviewer,similarity`, or `paper,reviewer,bid` with numbers or the words yes,
            which counts 1, maybe 0.5, no and conflict 0.

    Example:
        >>> bids = {"paper": ["p", "p", "q"], "reviewer": ["ada", "ben", "ben"]}
        >>> read_similarity(bids | {"bid": ["yes", "maybe", "conflict"]})
        {'p': {'ada': 1.0, 'ben': 0.5}, 'q': {'ben': 0.0}}
    """
    names = [Column("paper", "id", secret=True), Column("reviewer", "id", secret=True)]
    number, bid = Column("similarity", "number", required=False, low=0.0), Column("bid", required=False)
    table = read_table(path, [*names, number, bid])
    if ("similarity" in table) == ("bid" in table):
        raise input_error([Problem(table.file, None, None, _ONE_OF_BOTH)])
    problems = table.repeated("reviewer", "paper", rule="must not be listed twice for one paper")
    values: Sequence[float | None]
    if "bid" in table:
        counted = {text: _bid(text) for text in dict.fromkeys(table.text("bid"))}
        values = [counted[text] for text in table.text("bid")]
    else:
        values = table.number("similarity").tolist()
    similarity: dict[str, dict[str, float]] = {}
    rows = zip(table.rows, table.text("paper"), table.text("reviewer"), values, strict=True)
    for row, paper, reviewer, value in rows:
        if value is None:
            problems.append(Problem(table.file, row, "bid", _BID_RULE))
        else:
            similarity.setdefault(paper, {})[reviewer] = value
    if problems:
        raise input_error(sorted(problems))
    return similarity


def _bid(text: str) -> float | None:
    """What a bid counts; None if it is neither a word for one nor a number of at least 0."""
    if text.casefold() in BIDS:
        return BIDS[text.casefold()]
    return None if cell_problem(text, Column("bid", "number", low=0.0)) else float(text)


ASSUMPTIONS = {
    "bidders": (
        "everyone with a bid or similarity above 0 and no conflict is as likely: against someone who knows "
        "who could be asked, and not how papers were assigned among them"
    ),
    "similarity": (
        "chances are in proportion to similarity: against someone who knows all similarities and takes the "
        "assignment for a draw by them. A real assignment of greatest similarity is more predictable than "
        "that"
    ),
}
"""What each kind of pool assumes, in a sentence."""


def assumed_pools(
    similarity: Similarity, assume: str, per_paper: int, conflicts: Collection[tuple[str, str]] = ()
) -> dict[str, dict[str, float]]:
    """Each paper's candidates with probabilities, for an assignment that was made without any.

    Args:
        similarity: Of papers and reviewers, or bids.
        assume: `bidders` or `similarity`; `ASSUMPTIONS` says what each assumes.
        per_paper: How many reviews each paper has, which its probabilities sum to.
        conflicts: Pairs `(paper, reviewer)`, who are no candidates.

    Example:
        >>> similarity = {"p": {"a": 3.0, "b": 1.0, "c": 0.0}}
        >>> assumed_pools(similarity, "similarity", 1)
        {'p': {'a': 0.75, 'b': 0.25}}
        >>> assumed_pools(similarity, "bidders", 1)
        {'p': {'a': 0.5, 'b': 0.5}}
    """
    if assume not in ASSUMPTIONS:
        raise InputError(f"`assume` must be one of {', '.join(ASSUMPTIONS)}, found {assume!r}")
    if per_paper < 1:
        raise InputError(f"`per_paper` must be at least 1, found {per_paper}")
    weights: dict[str, dict[str, float]] = {paper: {} for paper in sorted(similarity)}
    for paper, weight in weights.items():
        for name, value in sorted(similarity[paper].items()):
            if value > 0.0 and (paper, name) not in conflicts:
                weight[name] = value if assume == "similarity" else 1.0
    if few := [f"{paper!r} with {len(pool)}" for paper, pool in weights.items() if len(pool) < per_paper]:
        found = ", ".join(few[:3]) + (f" and {len(few) - 3} more" if len(few) > 3 else "")
        rule = f"every paper must have {per_paper} candidates if `assume` is {assume}"
        raise InputError(f"{rule}, found {found}")
    for pool in weights.values():
        pool.update(zip(pool, inclusion(list(pool.values()), per_paper), strict=True))
    return weights


# At most this many names are compared letter by letter, which takes milliseconds per name.
_MAX_COMPARED = 200
_CLOSE_RATIO, _SURE_RATIO = 0.6, 0.8

_ROW_RULE = "must have a row for every reviewer (each must also be in the paper's pool)"
_ALL_OF_THEM = (
    "every reviewer of a paper (adding only those missing would reveal who they are: see "
    "docs/explanation/limitations.md)"
)
CAUSES = {
    "spelling": ("reviews", "reviewer", "must spell reviewers as the other files do", "spelled differently"),
    "calibration": ("reviewers", "reviewer", _ROW_RULE, "without a row"),
    "conflict": ("pools", "conflict", "must not list a reviewer of the paper", "listed"),
    "probability 0": ("pools", "probability", f"must be above 0 for {_ALL_OF_THEM}", "with 0"),
    "pool": ("pools", None, f"must hold {_ALL_OF_THEM}", "missing"),
}
"""For each cause: the file and the column to blame, the rule, and the detail of the message."""


@dataclass(frozen=True, order=True)
class MissingReviewer:
    """A reviewer who is not in the pool of a paper. CONFIDENTIAL."""

    paper: str  # the paper
    reviewer: str  # the reviewer's name
    cause: str  # A key of `CAUSES`
    nearest: str  # the nearest known name, or an empty text


class NameDirectory:
    """All known names, to look up by spelling."""

    def __init__(self, names: Collection[str]) -> None:
        self.by_spelling = {plain_name(name): name for name in sorted(names, reverse=True)}

    def nearest(self, name: str, close: bool) -> str:
        """The known name with the most similar spelling; letter by letter only if `close`."""
        plain, known = plain_name(name), self.by_spelling
        if plain in known:
            return known[plain]
        matches = get_close_matches(plain, known, 1 + len(known), _CLOSE_RATIO) if close else []
        return next((known[m] for m in matches if _similar_names(name, known[m], _CLOSE_RATIO)), "")


def plain_name(name: str) -> str:
    """A name without what people write differently: case, accents, signs, spaces, the order of its words.

    >>> plain_name("Gödel,  Kurt"), plain_name("kurt godel"), plain_name("R-07"), plain_name("r07")
    ('godel kurt', 'godel kurt', 'r07', 'r07')
    """
    letters = [c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c)]
    words = re.findall(r"[^\W_]+", "".join(letters).casefold())
    numbered = any(c.isdigit() for c in name)
    return ("".join(words) if numbered else " ".join(sorted(words))) or name


def missing_reviewers(
    missing: Mapping[str, Sequence[str]],
    pools: Mapping[str, Mapping[str, float]],
    known: Collection[str],
    conflicts: Collection[tuple[str, str]] = (),
) -> list[MissingReviewer]:
    """Why each of the `missing` reviewers is not in the pool, papers in natural order. CONFIDENTIAL.

    If `*` is among those `known`, nobody lacks a calibration.
    """
    names = {*known, *(name for pool in pools.values() for name in pool)} - {OUTSIDER}
    unknown = sorted({name for people in missing.values() for name in people} - names)
    directory = NameDirectory(names)
    nearest = {name: directory.nearest(name, i < _MAX_COMPARED) for i, name in enumerate(unknown)}

    def cause(paper: str, name: str) -> str:
        """The key of `CAUSES` that applies."""
        if name in pools.get(paper, {}):
            return "probability 0"
        if (paper, name) in conflicts:
            return "conflict"
        if name in nearest and _same_name(name, nearest[name]):
            return "spelling"
        return "pool" if OUTSIDER in known or name not in nearest else "calibration"

    pairs = [(paper, name) for paper, people in missing.items() for name in people]
    reviewers = [MissingReviewer(*pair, cause(*pair), nearest.get(pair[1], "")) for pair in pairs]
    return sorted(reviewers, key=lambda missed: (natural_key(missed.paper), missed))


def _same_name(name: str, other: str) -> bool:
    """Whether two spellings are surely one name; `r12` and `r13` are similar, but two people.

    >>> [_same_name("r12", other) for other in ("R12", "r13")], _same_name("Ada Lovelace", "Ada Lovelance")
    ([True, False], True)
    >>> _same_name("Ada", "Eva")
    False
    """
    digits = [re.findall(r"\d+", word) for word in (name, other)]
    whole = bool(get_close_matches(plain_name(name), [plain_name(other)], 1, _SURE_RATIO))
    return digits[0] == digits[1] and whole and _similar_names(name, other, _SURE_RATIO)


def _similar_names(name: str, other: str, least: float) -> bool:
    """Whether two names are similar before the @ of a mail address, since many people share a domain.

    >>> [_similar_names("umar@example.edu", f"{other}@example.edu", 0.6) for other in ("yuki", "omar")]
    [False, True]
    """
    first, second = (plain_name(word.partition("@")[0]) for word in (name, other))
    return bool(get_close_matches(first, [second], 1, least))
