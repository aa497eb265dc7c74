"""The committee: who is on it, and who of it wrote past reviews under which id.

Systems name people differently: by email, by name, by profile. `match_people` finds members among past
reviewers by the addresses and names that the list of the committee and past files show. It never sees a
review of this year: whether someone is found must not depend on whether, or what, that person reviewed.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product, starmap
from typing import NamedTuple

from blindcal.errors import InputError, Problem
from blindcal.io.atomic_files import read_table
from blindcal.io.cells import Column, count
from blindcal.io.tables import StrPath, Table, input_error
from blindcal.reviewers.calibration import ANYONE

_REVIEWER, _NAME = Column("reviewer", "id", secret=True), Column("name", required=False, empty=True)

# If fewer than one member in so many is found, files that name people differently are the likelier reason.
_NEARLY_NOBODY = 20


def read_committee(path: StrPath) -> dict[str, str]:
    """The name of everyone who may have reviewed, by id, in the order of the file; empty if it has none.

    `path`: a table `reviewer[,name][,track]`, with a row for each person, or for each person and track.
    """
    table = read_table(path, [_REVIEWER, _NAME, Column("track", "id", required=False, empty=True)])
    people, tracks = table.text("reviewer"), ("track",) if "track" in table else ()
    rule = "must be a person: * is written by the fit itself"
    stars = [row for row, name in zip(table.rows, people, strict=True) if name == ANYONE]
    problems = [Problem(table.file, row, "reviewer", rule) for row in stars]
    problems += table.repeated("reviewer", *tracks)
    if problems:
        raise input_error(problems)
    return dict(zip(people, _optional_text(table, "name"), strict=True))


def read_names(path: StrPath) -> dict[str, str]:
    """The name of each reviewer in a table of past reviews, by id; none if it has no column `name`.

    `path` is the table, as `blindcal import` wrote it or as a chair made it.
    """
    table = read_table(path, [_REVIEWER, _NAME], extra=True)
    return dict(zip(table.text("reviewer"), _optional_text(table, "name"), strict=True))


def _optional_text(table: Table, column: str, missing: str = "") -> Sequence[str]:
    return table.text(column) if column in table else (missing,) * len(table)


def read_aliases(path: StrPath) -> dict[str, str]:
    """The present id of everyone who had another, by old id; an old id that is nobody's now is its own.

    Chains of changes are followed; no id may become two, or come back to itself.

    `path`: a table `old,new[,taken]`. A row that is not `taken` says that these are two people.
    """
    ids = [Column(name, "id", secret=True) for name in ("old", "new")]
    taken = Column("taken", required=False, choices=("yes", "no"))
    table = read_table(path, [*ids, taken], extra=True)
    olds, columns = table.text("old"), (table.text("new"), _optional_text(table, "taken", "yes"))
    pairs, problems = dict[str, str](), list[Problem]()
    for row, old, new, answer in zip(table.rows, olds, *columns, strict=True):
        if answer == "yes" and old in pairs:
            problems.append(Problem(table.file, row, "old", "must not be listed twice"))
        elif answer == "yes":
            pairs[old] = new
    if problems:
        raise input_error(problems)
    return {old: _present_id(old, pairs, table.file) for old in olds}


def _present_id(old: str, pairs: Mapping[str, str], file: str) -> str:
    """The id that a chain of changes ends at."""
    chain = [old]
    while chain[-1] in pairs:
        chain.append(pairs[chain[-1]])
        if chain[-1] in chain[:-1]:
            rule = "must not lead back to an older id of the same person"
            raise input_error([Problem(file, None, "new", rule)])
    return chain[-1]


class Pair(NamedTuple):
    """A past id and a member it may stand for, why, and whether it was taken for that member."""

    old: str
    new: str
    why: str
    taken: bool


@dataclass(frozen=True)
class MatchedPeople:
    """The members of a committee among past reviewers. CONFIDENTIAL.

    Attributes:
        members: How many members there are.
        found: How many of them have past reviews.
        same: The member whom a past id stands for if it is another one, and what the chair said.
        pairs: Whom past ids were taken for, and whom they might stand for.
        kinds: How most members are named, and how most past reviewers are, in words.
    """

    members: int
    found: int
    same: Mapping[str, str]
    pairs: tuple[Pair, ...]
    kinds: tuple[str, str]

    def __str__(self) -> str:
        return f"{self.found:,} of {count(self.members, 'member')} found in past reviews"

    def remarks(self, path: StrPath) -> list[str]:
        """What the chair should know of the table at `path`, a sentence each; nobody is named."""
        opened = len({pair.old for pair in self.pairs if not pair.taken})
        joined = sum(pair.taken for pair in self.pairs)
        remarks = []
        if joined:
            what = f"{count(joined, 'past id')} taken for a member under another id"
            remarks.append(f"{what}: {path} lists them with the reason (CONFIDENTIAL)")
        if opened:
            what = f"{count(opened, 'past id')} may be a member's and {'was' if opened == 1 else 'were'} left"
            remarks.append(
                f"{what} out: write yes or no into the column taken of {path}, import it with --as same, and "
                "fit again"
            )
        return remarks

    def columns(self) -> dict[str, list[str]]:
        """The table for the chair, which `read_aliases` reads back."""
        columns = {name: [str(getattr(pair, name)) for pair in self.pairs] for name in ("old", "new", "why")}
        return {**columns, "taken": ["yes" if pair.taken else "no" for pair in self.pairs]}

    def refuse_strangers(self) -> None:
        """Refuse past reviews in which nobody, or nearly nobody, of the committee is found."""
        if _NEARLY_NOBODY * self.found >= self.members:
            return
        now, before = self.kinds
        differ = f": members go by {now}, past reviewers by {before}" if now != before else ""
        raise InputError(
            f"{self}{differ}. So nothing would be known about the rest. Give a list of the committee with a "
            "column name beside the ids, as the lists that the systems export have it, or a table old,new "
            "that says who is who (`same`)"
        )


def match_people(
    members: Mapping[str, str],
    conferences: Sequence[Mapping[str, str]],
    same: Mapping[str, str] | None = None,
) -> MatchedPeople:
    """Finds the members of a committee among past reviewers, who may have other ids.

    A past id stands for a member if it is the same address but for a tag (`ada+pc@x.org`), or has the same
    name in any order, with or without accents or the letters that had them, and no other member has it.
    Names count that any of the lists has for an id. Initials are left to the chair. So are two members, or
    two reviewers of one conference: they are never joined.

    Args:
        members: The name of each member by id, or an empty text; listed without looking at this year's
            reviews.
        conferences: The same of the reviewers of each past conference.
        same: What the chair says, as `read_aliases` returns it; it comes first.

    Example:
        >>> members = {"ada@new.org": "Ada Byron", "kurt@x.org": "Kurt Gödel", "wei@x.org": "Wei Wang"}
        >>> past = {"ada@old.org": "Ada Byron", "Godel, K.": "", "wang@x.org": "Wei Wang", "Wang, Wei": ""}
        >>> people = match_people(members, [past])
        >>> print(people, [(pair.old, pair.why) for pair in people.pairs if pair.taken])
        1 of 3 members found in past reviews [('ada@old.org', 'same name')]
    """
    chosen = dict(same or {})
    names = defaultdict[str, set[str]](set)
    for people in (members, *conferences):
        for who, name in people.items():
            names[_address(who)].add(name)
    everyone = dict.fromkeys(who for people in conferences for who in people)
    past = [who for who in everyone if who not in members and who not in chosen]
    known = {who: _identity(who, names[_address(who)]) for who in (*members, *past)}
    near = _likeliest_members(past, [*members], known)
    sure = {old: min(found) for old, (why, found) in near.items() if why in _SURE and len(found) == 1}
    for people in conferences:
        stands_for = Counter(sure.get(who, chosen.get(who, who)) for who in people)
        sure = {old: new for old, new in sure.items() if old not in people or stands_for[new] == 1}
    pairs = [Pair(old, new, why, old in sure) for old, (why, found) in near.items() for new in sorted(found)]
    joined = {**chosen, **sure}
    matched = {joined.get(who, who) for who in everyone} & members.keys()
    return MatchedPeople(
        len(members), len(matched), joined, tuple(pairs), (_id_kind(members), _id_kind(everyone))
    )


_SURE = ("same address", "same name", "nearly the same name")
_REASONS = (*_SURE, "initials", "same mailbox elsewhere")
_TITLES = {"dr", "prof", "professor", "jr", "sr", "ii", "iii", "phd"}
_PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ß": "ss"}
)
_DIGRAPHS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})
# OpenReview's ids; it numbers people of one name.
_PROFILE = re.compile(r"~(.+?)[0-9]+")
# Of a name that lost its accented letters so many others must be left.
_FEWEST_LETTERS = 5
# A name that more members have is no name: "Program Committee Member".
_MOST_NAMESAKES = 10


class _Identity(NamedTuple):
    """What a person can be recognized by."""

    spelled: frozenset[str]  # names, first names first
    keys: tuple[frozenset[str], ...]  # texts that two people share if they are alike, for each of `_REASONS`


def _address(who: str) -> str:
    """An email without a tag, in lower case; any other id as it is."""
    return re.sub(r"\+[^@]*(?=@)", "", who.lower()) if "@" in who else who


def _id_kind(ids: Iterable[str]) -> str:
    """How most of these people are named."""
    kinds = ["email" if "@" in who else "profile" if _PROFILE.fullmatch(who) else "" for who in ids]
    names = ["name" if len(_words_of(who)) > 1 else "other ids" for who in ids]
    return Counter(kind or name for kind, name in zip(kinds, names, strict=True)).most_common(1)[0][0]


def _words_of(name: str) -> list[str]:
    """The words of a name in lower case, first names first, without titles and what stands in brackets.

    >>> _words_of("Gödel, Kurt F."), _words_of("Dr. Otto Pérez, Jr."), _words_of("Wei O'Hara (member 3)")
    (['kurt', 'f', 'gödel'], ['otto', 'pérez'], ['wei', 'ohara'])
    """
    text = re.sub(r"\([^)]*\)|['’]", "", unicodedata.normalize("NFC", name).lower())
    last, *first = text.split(",")
    words = (word for part in (*first, last) for word in re.findall(r"[^\W_]+", part))
    return [word for word in words if word not in _TITLES]


def _unaccented(words: Iterable[str]) -> str:
    """Words without accents, with a space between them."""
    letters = unicodedata.normalize("NFKD", " ".join(words).casefold().translate(_PLAIN))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _identity(who: str, names: Iterable[str]) -> _Identity:
    mail, profile = "@" in who, _PROFILE.fullmatch(who)
    own = profile[1].replace("_", " ") if profile else "" if mail else who
    listed = [words for words in map(_words_of, {*names, own}) if len(words) > 1]
    listed = [words for words in listed if not any(map(str.isdigit, "".join(words)))]
    spelled = {_unaccented(words) for words in listed}
    spelled |= {_unaccented(word.translate(_DIGRAPHS) for word in words) for words in listed}
    exact = {" ".join(sorted(name.split())) for name in spelled} | ({_unaccented([own])} if own else set())
    # What is left of a name without its accented letters; and an address that spells a name.
    bare = {"".join(re.findall("[a-z]", "".join(words))) for words in listed}
    near = {text for text in bare if len(text) >= _FEWEST_LETTERS} | {
        name.replace(" ", "") for name in spelled
    }
    box = _address(who).split("@")[0] if mail and not listed else ""
    parts = re.findall(r"[^\W\d_]{2,}", box)
    near |= {"".join(parts)} if len(parts) > 1 else set()
    initials = {f"{name[0]} {name.split()[-1]}" for name in spelled}
    keys = ({_address(who)} if mail else set(), exact, near, initials, {box} - {""})
    return _Identity(frozenset(spelled), tuple(map(frozenset, keys)))


def _likeliest_members(
    past: Sequence[str], members: Sequence[str], known: Mapping[str, _Identity]
) -> dict[str, tuple[str, set[str]]]:
    """The members whom each past id points to by the strongest reason, and that reason; by strength."""
    near = dict[str, tuple[str, set[str]]]()
    for strength, why in enumerate(_REASONS):
        holders = defaultdict[str, list[str]](list)
        for member in members:
            for key in known[member].keys[strength]:
                holders[key].append(member)
        for old in [who for who in past if who not in near]:
            groups = [holders[key] for key in known[old].keys[strength] if key in holders]
            found = {member for group in groups if len(group) <= _MOST_NAMESAKES for member in group}
            if _PROFILE.fullmatch(old):
                found = {member for member in found if not _PROFILE.fullmatch(member)}
            if why == "initials":
                found = {
                    member
                    for member in found
                    if any(starmap(_abbreviates, product(known[old].spelled, known[member].spelled)))
                }
            if found:
                near[old] = why, found
    return near


def _abbreviates(one: str, other: str) -> bool:
    """Whether two names differ only by initials, and by middle names that one leaves out.

    >>> _abbreviates("k godel", "kurt f godel"), _abbreviates("ada king", "anne king")
    (True, False)
    """
    short, long = sorted((one.split(), other.split()), key=len)
    middle = iter(long[1:-1])
    return (
        short[-1] == long[-1]
        and _same_or_initial(short[0], long[0])
        and all(any(_same_or_initial(word, full) for full in middle) for word in short[1:-1])
    )


def _same_or_initial(one: str, other: str) -> bool:
    return one == other or (min(len(one), len(other)) == 1 and one[0] == other[0])
