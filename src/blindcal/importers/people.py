"""Reviewers' identities: whether ids are people at all, maps that join ids, codes in place of names."""

from __future__ import annotations

import re
import secrets
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from blindcal.errors import InputError, Problem
from blindcal.importers.easychair import committee_table
from blindcal.importers.easychair import conflicts as easychair_conflicts
from blindcal.importers.hotcrp import lists_assignments
from blindcal.importers.hotcrp import read_conflicts as hotcrp_conflicts
from blindcal.importers.open import open_export
from blindcal.importers.pretalx import team_sheet
from blindcal.importers.raw_export import clean_id, export_error
from blindcal.importers.scores import score_shaped
from blindcal.importers.sheet import HeadedTable, MixedListError, find_only_table
from blindcal.io.cells import Column, count, id_problem, whole_ids
from blindcal.io.tables import Problems, Table, input_error, parse_table
from blindcal.reviewers.calibration import ANYONE

_ORDINAL = re.compile(
    r"(?:.*/)?(?:anonymous|anon)?[ _-]?(?:reviewer|referee|review|r)?[ _#-]{0,2}([0-9]{1,2}|[A-Z])", re.I
)
_SOME_PAPERS, _MANY_PAPERS = 5, 20
_CODE = re.compile(r"R[0-9]{3,}")

NEVER_REPEATED = (
    "must name a reviewer on several papers: no id occurs twice, so no one's severity can be learned. Ids "
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
    ordinals = {name: match[1] for name, match in matches.items() if match is not None}
    ordinal_of = {name: int(o) if o.isdigit() else ord(o.upper()) for name, o in ordinals.items()}
    if len(ordinal_of) < len(matches):
        return False
    mapping: defaultdict[str, set[int]] = defaultdict(set)
    for paper, reviewer in pairs:
        mapping[paper].add(ordinal_of[reviewer])
    lowest = min(ordinal_of.values())
    nested = all(numbers == set(range(lowest, lowest + len(numbers))) for numbers in mapping.values())
    few = _SOME_PAPERS if len({len(numbers) for numbers in mapping.values()}) > 1 else _MANY_PAPERS
    return nested and len(mapping) >= few


def read_map(data: bytes, file: str) -> dict[str, str]:
    """The people behind the ids of an export.

    `data`: the bytes of a CSV table `signature,profile_id` (or `reviewer,person`), or of pretalx's list of
    teams, which has the email behind each code.
    """
    if codes := team_codes(data, file):
        return codes
    ids = Column("signature", "id", synonyms=("reviewer", "id"), secret=True)
    people = Column("profile_id", "id", synonyms=("person", "profile"), secret=True)
    return _unique_people(parse_table(data, file, [ids, people], extra=True), "signature", "profile_id")


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


def _unique_people(table: Table, key: str, value: str) -> dict[str, str]:
    """What stands beside each id; one that stands for two people is refused."""
    people, log = dict[str, str](), Problems(table.file)
    for row, who, person in zip(table.rows, table.text(key), table.text(value), strict=True):
        if people.setdefault(who, person) != person:
            log.add(row, "signature", "must not stand for two people")
    log.finish()
    return people


def read_codes(data: bytes, file: str) -> dict[str, str]:
    """The codes of an earlier import by reviewer."""
    columns = [Column("code", "id", secret=True), Column("reviewer", "id", secret=True)]
    codes = _unique_people(parse_table(data, file, columns, extra=True), "reviewer", "code")
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


# --- Lists beside the reviews: who is on the committee, and who has a conflict with which paper

Pairs = tuple[tuple[str, str], ...]
_MAILS = ("email", "e-mail", "email address", "reviewer email", "profile_id", "profile")
_IDS = ("reviewer", *_MAILS)
_NAMES = (("name",), ("first name", "last name"), ("first", "last"), ("given_name", "family_name"))
_PAPERS = ("paper", "paper id", "pid", "submission #", "submission", "proposal id")
# What may stand in a table of papers and emails that is a list of conflicts, and no list of reviews.
_PLAIN = {*_PAPERS, *_MAILS, *(name for group in _NAMES for name in group)}
_PLAIN |= {"title", "paper title", "affiliation", "reviewer name"}
# What a list of people may say of each of them; beside any other column it may be a table of reviews.
_PERSONAL = {"", *_IDS, *(name for group in _NAMES for name in group), "#", "person #", "member #", "code"}
_PERSONAL |= {"affiliation", "institution", "organization", "country", "web page", "orcid", "collaborators"}
_PERSONAL |= {"role", "roles", "tags", "follow", "track", "area", "areas", "topics", "expertise", "keywords"}
# So many further columns of numbers are scores, a column for each paper.
_MATRIX = 5
# HotCRP's lists of conflicts (pcconf) and of preferences (allrevpref) say with a word that there is one.
_TYPE, _WORD = "conflicttype", "conflict"
_PEOPLE = (
    "must be a list of people: a table with a column reviewer or email, in which everyone has the id that "
    "the reviews have"
)
_REVIEWS = (
    "must be a list of people, and this one is about papers: who reviewed is secret, so everyone who may "
    "have reviewed must be listed, without looking at the reviews"
)
_SEVERAL = (
    "must have one row for each person, and this looks like a table of reviews: who reviewed is secret, so "
    "everyone who may have reviewed must be listed, without looking at the reviews"
)
_SCORES = "must be a list of people, and this one looks like scores, with a column for each paper"
_CONFLICTS = (
    "must be a list of conflicts: a table with the columns paper and conflict (or paper and email, with at "
    "most titles and names besides), HotCRP's pcconf, allrevpref, jsonrqc or bulk assignment (paper, action, "
    "email), or EasyChair's bids"
)
_NONE = "must hold conflicts: none of its rows is one. HotCRP's list of conflicts is pcconf"
_TWO_PEOPLE = (
    "must say who has the conflict in one column: beside an email, the column conflict may hold only the "
    "word conflict, or nothing"
)


def read_people(data: bytes, file: str, people: Mapping[str, str] | None = None) -> dict[str, str]:
    """The name of everyone in the list of a committee, by id; empty if there is only the id.

    The list is a CSV or a workbook: columns `reviewer[,name]`, or what HotCRP, EasyChair and pretalx (its
    teams) export of their committees, whose ids are emails. `people`: the person behind an id, as in reviews.
    """
    opened = open_export(data, file)
    teams, wanted = team_sheet(opened), lambda names: bool(names & {*_IDS})
    table = committee_table(opened) or find_only_table(opened.sheets if teams is None else [teams], wanted)
    if table is None:
        raise export_error(file, _PEOPLE)
    if table.first(*_PAPERS, "signature") is not None:
        raise export_error(file, _REVIEWS)
    ids = _checked_ids(table, table.first(*_IDS), people)
    _refuse_reviews(table, ids)
    if ANYONE in ids:
        row = table.rows[ids.index(ANYONE)][0]
        raise export_error(
            file, "must list people: a row * for anyone else is written by `fit` itself", row=row
        )
    parts = next((group for group in _NAMES if all(name in table for name in group)), ())
    names = zip(*(table.column(name) for name in parts), strict=True) if parts else [()] * len(ids)
    name_of: dict[str, str] = {}
    for who, name in zip(ids, names, strict=True):
        name_of[who] = name_of.get(who) or " ".join(" ".join(name).split())
    return dict(sorted(name_of.items()))


def lists_people(names: frozenset[str]) -> bool:
    """Whether a table with columns of these `names`, in lower case, can only be a list of people."""
    others = {name for name in names - _PERSONAL if not name.startswith("topic")}
    return bool(names & {*_IDS}) and not others


def _refuse_reviews(table: HeadedTable, ids: Sequence[str]) -> None:
    """Refuse a table of reviews: people have several rows in it, or there is a column for each paper."""
    if lists_people(frozenset(table.folded)):
        return
    rows: dict[str, set[tuple[str, ...]]] = {}
    for who, (_, cells) in zip(ids, table.rows, strict=True):
        rows.setdefault(who, set()).add(tuple(cell.strip() for cell in cells))
    if several := sum(len(different) > 1 for different in rows.values()):
        raise export_error(table.file, _SEVERAL, f"{several:,} with several")
    others = [name for name in table.names if not lists_people(frozenset((name.casefold(), _IDS[0])))]
    numbers = [name for name in others if score_shaped(table.column(name))]
    if len(numbers) >= _MATRIX:
        raise export_error(table.file, _SCORES, f"{len(numbers):,} columns of numbers")


def read_conflicts(data: bytes, file: str, people: Mapping[str, str] | None = None) -> tuple[Pairs, str]:
    """The conflicts `(paper, reviewer)` of a list, sorted, and what it was taken for, in words.

    It is a CSV or a workbook with the columns `paper,conflict` or `paper,email`; or HotCRP's pcconf,
    allrevpref, JSON of papers or bulk assignment, of which only conflicts are taken: of two rows on the same
    paper and person the later, as it does there. `people`: the person behind an id, as for reviews.
    """
    opened = open_export(data, file)
    with suppress(MixedListError):
        if (listed := hotcrp_conflicts(opened)) is not None:
            return _exported_conflicts(file, listed, "pc_conflicts", people), "HotCRP's JSON of papers"
    if (bids := easychair_conflicts(opened)) is not None:
        return _exported_conflicts(
            file, bids, "member name", people
        ), "EasyChair's bids, of which conflicts are taken"
    if (table := find_only_table(opened.sheets, _lists_conflicts)) is not None:
        return _listed_conflicts(table, people)
    if (bulk := find_only_table(opened.sheets, lists_assignments)) is None:
        raise export_error(file, _CONFLICTS)
    turns = {"conflict": True, "clearconflict": False, "noconflict": False}
    actions = [turns.get(action.strip().casefold()) for action in bulk.column("action")]
    return _table_conflicts(bulk, actions, bulk.first("email", "user"), "a HotCRP bulk assignment", people)


def _lists_conflicts(names: frozenset[str]) -> bool:
    listed = _WORD in names or (not names.isdisjoint(_MAILS) and names <= {*_PLAIN, _TYPE})
    return listed and not names.isdisjoint(_PAPERS)


def _listed_conflicts(table: HeadedTable, people: Mapping[str, str] | None) -> tuple[Pairs, str]:
    """The conflicts of a list with a row for each; or with rows for others too, and a word for conflicts."""
    mail = table.first(*_MAILS)
    word = table.first(_WORD, _TYPE) if mail else None
    words = [cell.strip().casefold() for cell in table.column(word)]
    if word == _WORD and not {*words} <= {"", _WORD}:
        raise export_error(table.file, _TWO_PEOPLE, row=table.row)
    turns = [True if cell or word is None else None for cell in words]
    return _table_conflicts(table, turns, mail or _WORD, "a list of conflicts", people)


def _table_conflicts(
    table: HeadedTable,
    turns: Sequence[bool | None],
    person: str | None,
    what: str,
    people: Mapping[str, str] | None,
) -> tuple[Pairs, str]:
    """The conflicts of a table: a row's turn makes one (True), takes it back (False), or is about none."""
    about = [index for index, turn in enumerate(turns) if turn is not None]
    if turns and not about:
        raise export_error(table.file, _NONE)
    papers = _checked_ids(table, table.first(*_PAPERS), rows=about)
    pairs = zip(papers, _checked_ids(table, person, people, rows=about), strict=True)
    last = {pair: turns[index] for index, pair in zip(about, pairs, strict=True)}
    if others := len(turns) - len(about):
        what += f": {count(others, 'row')} that {'is' if others == 1 else 'are'} no conflict left out"
    return tuple(sorted(pair for pair, there in last.items() if there)), what


def _exported_conflicts(
    file: str, listed: Sequence[tuple[str, str]], column: str, people: Mapping[str, str] | None
) -> Pairs:
    """The conflicts that an export of everything lists, each once, as the map has the people."""
    if not listed:
        raise export_error(file, _NONE)
    log, known = Problems(file), people or {}
    pairs = [(clean_id(paper), clean_id(who)) for paper, who in listed]
    for broken in filter(None, (id_problem(cell) for pair in pairs for cell in pair)):
        log.add(None, column, *broken)
    log.finish()
    return tuple(sorted({(paper, known.get(who, who)) for paper, who in pairs}))


def _checked_ids(
    table: HeadedTable,
    column: str | None,
    people: Mapping[str, str] | None = None,
    rows: Sequence[int] | None = None,
) -> list[str]:
    """The ids of a column, as the map has them; every bad one is a problem."""
    cells = [clean_id(cell) for cell in table.column(column)]
    places = range(len(cells)) if rows is None else rows
    log = Problems(table.file)
    log.extend([*table.problems, *table.repeated([column])])
    for index in places:
        if (broken := id_problem(cells[index])) is not None:
            log.extend([Problem(table.file, table.rows[index][0], column, *broken)])
    if not places:
        log.add(None, column, "must have at least one row under the header", "none")
    log.finish()
    return [(people or {}).get(who, who) for who in whole_ids([cells[index] for index in places])]
