"""Who may have reviewed a paper, and how likely: candidate pools, read from files or meant by a word.

A pool gives each candidate's chance of having reviewed the paper; `priors` has what that says of tuples.
Where the assignment was drawn by a sampler that is known, its own distribution is the prior: `SampledPool`
has the sets of reviewers that a paper got in each of its draws.

`*` is anyone not listed by name.

Pools for an assignment that was already made, each named for what it assumes.

Nobody computed chances when the papers were assigned, so any prior is an assumption about what the adversary
knows. The promise holds against someone who knows just that; anyone who knows more can do better.

Reviewers whom their paper's pool does not hold: why not, and who was probably meant.

A message may say how many there are and for which reason; who they are is CONFIDENTIAL.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from itertools import combinations
from math import comb, gcd, lcm
from typing import Any

import numpy as np

from blindcal.assignment.prior import Sets, inclusion
from blindcal.assignment.similarity import Similarity
from blindcal.cells import Column, natural
from blindcal.errors import InputError, Problem
from blindcal.io.atomic_files import is_path, read_table
from blindcal.io.tables import refuse

OUTSIDER = "*"
EVERYONE = "everyone"
Pools = Mapping[str, Mapping[str, float]]
"""For each paper its candidates and their chances, before scaling."""

_KINDS = ("draw", "reviewer", "conflict")
_DRAWN_OUTSIDER = (
    "must be a person: nobody drew * for a paper. Where others may have reviewed too, give pools with "
    "probabilities (pools.csv) and add * to every paper"
)


@dataclass(frozen=True, eq=False)
class SampledPool(Mapping[str, float]):
    """Who reviewed a paper together in sampled assignments, one of which, each as likely, is the true one.

    `sets` has in how many draws each set of reviewers had the paper. As a mapping, a pool has the share of
    draws of each candidate. The shares alone do not say who may have reviewed with whom: teams {a, b} and
    {c, d} have the same ones as any two of the four.

    >>> pool = SampledPool({("a", "b"): 1, ("c", "d"): 1})
    >>> dict(pool)
    {'a': 0.5, 'b': 0.5, 'c': 0.5, 'd': 0.5}
    """

    sets: Mapping[tuple[str, ...], int]

    @cached_property
    def _chances(self) -> dict[str, float]:
        draws, number = sum(self.sets.values()), Counter[str]()
        for people, times in self.sets.items():
            number.update(dict.fromkeys(people, times))
        return {name: number[name] / draws for name in sorted(number)}

    def __getitem__(self, name: str) -> float:
        return self._chances[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._chances)

    def __len__(self) -> int:
        return len(self._chances)

    @property
    def least(self) -> int:
        """How many reviewers the paper has in every draw at least."""
        return min(map(len, self.sets))

    def of(self, reviews: int) -> SampledPool:
        """Who may have written this many reviews: of those drawn, each group of that size is as likely.

        >>> SampledPool({("a", "b"): 1, ("a", "c"): 1}).of(1).sets
        Counter({('a',): 2, ('b',): 1, ('c',): 1})
        """
        ways = {len(people): comb(len(people), reviews) for people in self.sets}
        even, found = lcm(*ways.values()), Counter[tuple[str, ...]]()
        for people, times in self.sets.items():
            for group in combinations(people, reviews):
                found[group] += times * (even // ways[len(people)])
        return SampledPool(found)

    def by_place(self, names: Sequence[str]) -> Sets:
        """The sets by the candidates' places among `names`, sorted, with counts in lowest terms."""
        place, least = {name: index for index, name in enumerate(names)}, gcd(*self.sets.values())
        return tuple(
            sorted(
                (tuple(sorted(place[name] for name in people)), times // least)
                for people, times in self.sets.items()
            )
        )


def read_pools(path: str | os.PathLike[str] | Any) -> dict[str, dict[str, float]]:
    """Each paper's candidates with their chances, from the table `path`: `paper,reviewer[,probability]`.

    Without the last column all are alike. A candidate `*` stands for everybody who is not listed.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pools.csv"
    ...     _ = path.write_text("paper,reviewer,probability\\np,ada,0.75\\np,ben,0.25\\n")
    ...     read_pools(path)
    {'p': {'ada': 0.75, 'ben': 0.25}}
    """
    columns = [
        Column("paper", "id"),
        Column("reviewer", "id", secret=True),
        Column("probability", "number", required=False, low=0.0, high=1.0),
    ]
    table = read_table(path, columns, name="`pools`")
    chance = table.number("probability") if "probability" in table else np.ones(len(table))
    pools: dict[str, dict[str, float]] = {}
    problems = []
    for row, paper, reviewer, p in zip(
        table.rows, table.text("paper"), table.text("reviewer"), chance, strict=True
    ):
        pool = pools.setdefault(paper, {})
        if reviewer in pool:
            problems.append(Problem(table.file, row, "reviewer", "must not be twice in one paper's pool"))
        pool[reviewer] = float(p)
    if problems:
        raise refuse(problems)
    return pools


def read_draws(path: str | os.PathLike[str] | Any) -> dict[str, SampledPool]:
    """Sampled assignments `draw,paper,reviewer`: for each paper, who reviewed it together, and how often."""
    columns = [Column("draw", "id"), Column("paper", "id"), Column("reviewer", "id", secret=True)]
    table = read_table(path, columns, name="`pools`")
    drawn: dict[tuple[str, str], list[str]] = {}
    problems = []
    for row, draw, paper, reviewer in zip(
        table.rows, table.text("draw"), table.text("paper"), table.text("reviewer"), strict=True
    ):
        who = drawn.setdefault((paper, draw), [])
        if reviewer in who:
            problems.append(
                Problem(table.file, row, "reviewer", "must not stand twice on one paper of one draw")
            )
        if reviewer == OUTSIDER:
            problems.append(Problem(table.file, row, "reviewer", _DRAWN_OUTSIDER))
        who.append(reviewer)
    if problems:
        raise refuse(problems)
    draws, counted = len(set(table.text("draw"))), dict[str, Counter[tuple[str, ...]]]()
    for (paper, _), people in drawn.items():
        counted.setdefault(paper, Counter())[tuple(sorted(people))] += 1
    # A draw that leaves a paper out has nobody there.
    for sets in counted.values():
        sets.update({(): draws - sets.total()} if sets.total() < draws else {})
    return {paper: SampledPool(sets) for paper, sets in sorted(counted.items())}


def everyone(
    papers: Iterable[str], reviewers: Sequence[str], conflicts: Iterable[tuple[str, str]] = ()
) -> dict[str, dict[str, float]]:
    """Pools of everyone without a conflict, all equally likely.

    Each of the `papers` has all `reviewers` as candidates but those for whom `conflicts` lists
    `(paper, reviewer)`; by default there are none.

    >>> everyone(["p"], ["a", "b", "c"], [("p", "b")])
    {'p': {'a': 1.0, 'c': 1.0}}
    """
    barred = set(conflicts)
    return {p: {r: 1.0 for r in reviewers if (p, r) not in barred} for p in papers}


def is_everyone(source: object) -> bool:
    """Whether the word `everyone` stands in place of a file or data frame of pools."""
    return is_path(source) and str(source) == EVERYONE


def pools_of(source: str | os.PathLike[str] | Any, papers: Iterable[str], reviewers: Iterable[str]) -> Pools:
    """The pools that the file or data frame `source` describes; its columns say how.

    `paper,reviewer[,probability]`: the candidates.
    `draw,paper,reviewer`: sampled assignments, of which one is the true one.
    `paper,conflict`: everyone but these. The word `everyone` in place of a file: no conflicts at all.

    `papers` and `reviewers` are all that there are; they matter where candidates are not listed.

    >>> pools_of("everyone", ["p", "q"], ["ada", "ben"])
    {'p': {'ada': 1.0, 'ben': 1.0}, 'q': {'ada': 1.0, 'ben': 1.0}}
    """
    people = sorted(set(reviewers) - {OUTSIDER})
    if is_everyone(source):
        return everyone(papers, people)
    columns = [Column("paper", "id"), Column("probability", "text", required=False, empty=True)]
    columns += [Column(name, "id", required=False, secret=name != "draw") for name in _KINDS]
    table = read_table(source, columns, name="`pools`")
    if "draw" in table:
        return read_draws(source)
    if "conflict" in table and "reviewer" not in table:
        return everyone(papers, people, zip(table.text("paper"), table.text("conflict"), strict=True))
    return read_pools(source)


def first_row(source: str | os.PathLike[str], candidates: Collection[str]) -> int | None:
    """The first row of a file of pools that names one of these candidates, for a message that must not."""
    if not os.path.exists(source):
        return None
    columns = [Column("reviewer", "id", required=False, secret=True)]
    table = read_table(source, columns, extra=True)
    names = table.text("reviewer") if "reviewer" in table else ()
    return next((row for row, name in zip(table.rows, names, strict=False) if name in candidates), None)


def conflicts_in(source: str | os.PathLike[str]) -> set[tuple[str, str]]:
    """The conflicts `(paper, reviewer)` of a file that lists them in place of pools; none of any other."""
    if not os.path.exists(source):
        return set()
    columns = [Column(name, "id", required=False, secret=True) for name in ("paper", "conflict", "reviewer")]
    table = read_table(source, columns, extra=True)
    if "conflict" not in table or "reviewer" in table:
        return set()
    return set(zip(table.text("paper"), table.text("conflict"), strict=True))


ASSUMPTIONS = {
    "eligible": (
        "everyone without a conflict is as likely to have reviewed a paper: against someone who knows the "
        "conflicts, and neither bids nor similarities nor how papers were assigned"
    ),
    "bidders": (
        "everyone with a similarity above 0 and no conflict is as likely: against someone who knows who "
        "could be asked, and not how papers were assigned among them"
    ),
    "similarity": (
        "chances are in proportion to similarity: against someone who knows all similarities and takes the "
        "assignment for a draw by them. A real assignment of greatest similarity is more predictable than "
        "that"
    ),
}
"""What each kind of pool assumes, in a sentence."""


def assumed_pools(similarity: Similarity, assume: str, per_paper: int) -> dict[str, dict[str, float]]:
    """Each paper's candidates with their chances, for an assignment that was made without any.

    `similarity`: of papers and reviewers; nobody with a conflict is a candidate.
    `assume`: `eligible`, `bidders` or `similarity`; what each assumes is said in `ASSUMPTIONS`.
    `per_paper`: how many reviews each paper has, which is what its chances sum to.

    >>> similarity = Similarity.dense(["p"], ["a", "b", "c"], [[3.0, 1.0, 0.0]])
    >>> assumed_pools(similarity, "similarity", 1)
    {'p': {'a': 0.75, 'b': 0.25}}
    >>> assumed_pools(similarity, "bidders", 1)
    {'p': {'a': 0.5, 'b': 0.5}}
    """
    if assume not in ASSUMPTIONS:
        raise InputError(f"`assume` must be one of {', '.join(ASSUMPTIONS)}, found {assume!r}")
    if per_paper < 1:
        raise InputError(f"`per_paper` must be at least 1, found {per_paper}")
    found, few = {}, []
    for index, paper in enumerate(similarity.papers):
        value = similarity.value[[index]].toarray()[0]
        weight = {"eligible": np.ones(value.size), "bidders": (value > 0) * 1.0, "similarity": value}[assume]
        weight = np.where(similarity.barred[[index]].toarray()[0], 0.0, weight)
        who = np.flatnonzero(weight)
        if who.size < per_paper:
            few.append(f"{paper!r} with {who.size}")
            continue
        chances = inclusion(weight[who].tolist(), per_paper)
        found[paper] = {
            similarity.reviewers[j]: chance for j, chance in zip(who.tolist(), chances, strict=True)
        }
    if few:
        more = f" and {len(few) - 3} more" if len(few) > 3 else ""
        raise InputError(
            f"every paper must have {per_paper} candidates where `assume` is {assume}, found "
            f"{', '.join(few[:3])}{more}"
        )
    return found


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
