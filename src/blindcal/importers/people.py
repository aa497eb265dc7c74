"""Reviewers' identities: whether ids are people at all, maps that join ids, codes in place of names."""

from __future__ import annotations

import re
import secrets
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from blindcal.cells import Column
from blindcal.errors import InputError, Problem
from blindcal.importers.open import open_export
from blindcal.importers.pretalx import team_sheet
from blindcal.io.tables import input_error, parse_table

_ORDINAL = re.compile(
    r"(?:.*/)?(?:anonymous|anon)?[ _-]?(?:reviewer|referee|review|r)?[ _#-]{0,2}([0-9]{1,2}|[A-Z])", re.I
)
_SOME_PAPERS, _MANY_PAPERS = 5, 20
_CODE = re.compile(r"R[0-9]{3,}")

NEVER_REPEATED = (
    "must name a reviewer on several papers: no id occurs twice, so nobody's severity can be learned. Ids "
    "that are new for every paper (OpenReview's) need `map` with the columns signature,profile_id"
)
NUMBERED = (
    "must say who the reviewers are: these ids only number the reviews of each paper. Export with reviewers' "
    "names or emails; if these really are people, give them names with `map`"
)


def check_people(pairs: Sequence[tuple[str, str]], file: str) -> None:
    """Refuse ids that cannot be people: they never repeat, or they only number the reviews of each paper.

    `pairs` are paper and reviewer of each review; `file` is for messages.

    >>> check_people([("1", "ada"), ("2", "ada"), ("2", "bo")], "x.csv")
    """
    times = Counter(reviewer for _, reviewer in pairs)
    if max(times.values()) == 1:
        raise input_error([Problem(file, None, "reviewer", NEVER_REPEATED)])
    if _numbers_reviews(pairs):
        raise input_error([Problem(file, None, "reviewer", NUMBERED)])


def _numbers_reviews(pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether every paper has the reviewers 1 to k, in all variations of spelling.

    A panel whose members all read everything looks the same as long as it is small: it is let through.
    """
    matches = {reviewer: _ORDINAL.fullmatch(reviewer) for _, reviewer in pairs}
    place = {name: _value(match[1]) for name, match in matches.items() if match is not None}
    if len(place) < len(matches):
        return False
    mapping: defaultdict[str, set[int]] = defaultdict(set)
    for paper, reviewer in pairs:
        mapping[paper].add(place[reviewer])
    lowest = min(place.values())
    nested = all(numbers == set(range(lowest, lowest + len(numbers))) for numbers in mapping.values())
    few = _SOME_PAPERS if len({len(numbers) for numbers in mapping.values()}) > 1 else _MANY_PAPERS
    return nested and len(mapping) >= few


def _value(ordinal: str) -> int:
    return int(ordinal) if ordinal.isdigit() else ord(ordinal.upper())


def read_map(data: bytes, file: str) -> dict[str, str]:
    """The people behind the ids of an export.

    `data`: the bytes of a CSV table `signature,profile_id` (or `reviewer,person`), or of pretalx's list of
    teams, which has the email behind each code.
    """
    if codes := team_codes(data, file):
        return codes
    table = parse_table(
        data,
        file,
        [
            Column("signature", "id", synonyms=("reviewer", "id"), secret=True),
            Column("profile_id", "id", synonyms=("person", "profile"), secret=True),
        ],
        extra=True,
    )
    return _unique(zip(table.text("signature"), table.text("profile_id"), strict=True), table.rows, file)


def team_codes(data: bytes, file: str) -> dict[str, str]:
    """The email behind each code in pretalx's list of teams; none if this is another file.

    Example:
        >>> member = b'{"code": "U1", "name": "Ada", "email": "ada@x.org"}'
        >>> teams = b'[{"is_reviewer": true, "members": [' + member + b"]}]"
        >>> team_codes(teams, "teams.json"), team_codes(b"reviewer\\nada\\n", "pc.csv")
        ({'U1': 'ada@x.org'}, {})
    """
    maybe = data.lstrip()[:1] in (b"[", b"{")
    sheet = team_sheet(open_export(data, file)) if maybe else None
    rows = [] if sheet is None else sheet.rows[1:]
    return {code: email for _, (code, _, email) in rows if code and email}


def read_maps(files: Mapping[str, bytes]) -> dict[str, str]:
    """The people behind the ids of several exports, for example of several years, as one map.

    An id that stands for two people is refused.

    `files`: the bytes of each map, as `read_map` takes them, by the name that messages use.
    """
    people: dict[str, str] = {}
    for file, data in files.items():
        mapping = read_map(data, file)
        if any(people.get(key, person) != person for key, person in mapping.items()):
            rule = "must not stand for another person than in the maps before"
            raise input_error([Problem(file, None, "signature", rule)])
        people |= mapping
    return people


def _unique(pairs: Iterable[tuple[str, str]], rows: Iterable[int], file: str) -> dict[str, str]:
    people: dict[str, str] = {}
    problems = []
    for row, (key, person) in zip(rows, pairs, strict=True):
        if people.setdefault(key, person) != person:
            problems.append(Problem(file, row, "signature", "must not stand for two people"))
    if problems:
        raise input_error(problems)
    return people


def read_codes(data: bytes, file: str) -> dict[str, str]:
    """The codes of an earlier import by reviewer."""
    columns = [Column("code", "id", secret=True), Column("reviewer", "id", secret=True)]
    table = parse_table(data, file, columns, extra=True)
    codes = _unique(zip(table.text("reviewer"), table.text("code"), strict=True), table.rows, file)
    if len(set(codes.values())) < len(codes) or not all(map(_CODE.fullmatch, codes.values())):
        raise InputError(f"{file}: each code must be like R001 and belong to one reviewer")
    return codes


def new_codes(people: Iterable[str], known: Mapping[str, str]) -> dict[str, str]:
    """A code for each of the `people`: the `known` one, else a new one in an order that nobody can foresee.

    >>> sorted(new_codes(["ada", "bo"], {}).values()), new_codes(["ada"], {"ada": "R007"})
    (['R001', 'R002'], {'ada': 'R007'})
    """
    fresh = sorted(set(people) - known.keys())
    secrets.SystemRandom().shuffle(fresh)
    first = 1 + max((int(code[1:]) for code in known.values()), default=0)
    width = max(3, len(str(first + len(fresh))))
    made = {person: f"R{number:0{width}d}" for number, person in enumerate(fresh, start=first)}
    return {person: known.get(person) or made[person] for person in sorted(set(people))}
