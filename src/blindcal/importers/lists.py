"""Lists beside the reviews: who is on the committee, and who has a conflict with which paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from blindcal.cells import count, id_problem, normalize_id, unescape
from blindcal.errors import Problem
from blindcal.importers.easychair import committee_table
from blindcal.importers.easychair import conflicts as easychair_conflicts
from blindcal.importers.export import export_error
from blindcal.importers.hotcrp import read_conflicts as hotcrp_conflicts
from blindcal.importers.open import open_export
from blindcal.importers.pretalx import team_sheet
from blindcal.importers.sheet import HeadedTable, MixedListError, OpenedExport, find_only_table
from blindcal.io.tables import Problems

Pairs = tuple[tuple[str, str], ...]
_MAILS = ("email", "e-mail", "email address", "reviewer email", "profile_id", "profile")
_IDS = ("reviewer", *_MAILS)
_NAMES = (("name",), ("first name", "last name"), ("first", "last"), ("given_name", "family_name"))
_PAPERS = ("paper", "paper id", "pid", "submission #", "submission", "proposal id")
# What may stand in a table of papers and emails that is a list of conflicts, and no list of reviews.
_PLAIN = {*_PAPERS, *_MAILS, *(name for group in _NAMES for name in group)}
_PLAIN |= {"title", "paper title", "affiliation", "reviewer name"}
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

    `data`: the bytes of the list, as a CSV or a workbook: columns `reviewer[,name]`, or what HotCRP,
    EasyChair and pretalx (its teams) export of their committees, whose ids are emails. `people`: the person
    behind an id, as for reviews; by default ids stay as they are.
    """
    table = _people_table(open_export(data, file))
    if table is None:
        raise export_error(file, _PEOPLE)
    if table.first(*_PAPERS, "signature") is not None:
        raise export_error(file, _REVIEWS)
    ids = _ids(table, table.first(*_IDS), people)
    parts = next((group for group in _NAMES if all(name in table for name in group)), ())
    names = zip(*(table.column(name) for name in parts), strict=True) if parts else [()] * len(ids)
    found: dict[str, str] = {}
    for who, name in zip(ids, names, strict=True):
        found[who] = found.get(who) or " ".join(" ".join(name).split())
    return dict(sorted(found.items()))


def _people_table(opened: OpenedExport) -> HeadedTable | None:
    """The table of people: EasyChair's committee, pretalx's teams, or the only table that has them."""
    if (committee := committee_table(opened)) is not None:
        return committee
    teams = team_sheet(opened)
    return find_only_table(opened.sheets if teams is None else [teams], lambda names: bool(names & {*_IDS}))


def read_conflicts(data: bytes, file: str, people: Mapping[str, str] | None = None) -> tuple[Pairs, str]:
    """The conflicts `(paper, reviewer)` of a list, sorted, and what it was taken for, in words.

    Of two rows of a bulk assignment on the same paper and person the later counts, as it does there.

    `data`: the bytes of the list: as a CSV or a workbook with the columns `paper,conflict` or `paper,email`;
    or HotCRP's pcconf, allrevpref, JSON of papers or bulk assignment, of which only conflicts are taken.
    `people`: the person behind an id, as for reviews; by default ids stay as they are.
    """
    opened = open_export(data, file)
    if opened.is_json:
        return _from_json(opened, people)
    if (bids := easychair_conflicts(opened)) is not None:
        return _pairs(file, bids, "member name", people), "EasyChair's bids, of which conflicts are taken"
    table = find_only_table(opened.sheets, _of_conflicts)
    if table is not None:
        return _listed(table, people)
    bulk = find_only_table(opened.sheets, lambda n: {"paper", "action"} <= n and bool(n & {"email", "user"}))
    if bulk is None:
        raise export_error(file, _CONFLICTS)
    return _bulk(bulk, people)


def _of_conflicts(names: frozenset[str]) -> bool:
    """Whether a table with columns of these names is a plain list of conflicts."""
    listed = _WORD in names or (not names.isdisjoint(_MAILS) and names <= {*_PLAIN, _TYPE})
    return listed and not names.isdisjoint(_PAPERS)


def _listed(table: HeadedTable, people: Mapping[str, str] | None) -> tuple[Pairs, str]:
    """The conflicts of a list with a row for each; or with rows for others too, and a word for conflicts."""
    mail = table.first(*_MAILS)
    word = table.first(_WORD, _TYPE) if mail else None
    words = [cell.strip().casefold() for cell in table.column(word)]
    if word == _WORD and not {*words} <= {"", _WORD}:
        raise export_error(table.file, _TWO_PEOPLE, row=table.row)
    about = [place for place, cell in enumerate(words) if cell] if word else range(len(words))
    if words and not about:
        raise export_error(table.file, _NONE)
    papers = _ids(table, table.first(*_PAPERS), rows=about)
    pairs = zip(papers, _ids(table, mail or _WORD, people, rows=about), strict=True)
    return tuple(sorted({*pairs})), "a list of conflicts" + _left(len(words) - len(about))


def _from_json(opened: OpenedExport, people: Mapping[str, str] | None) -> tuple[Pairs, str]:
    try:
        listed = hotcrp_conflicts(opened)
    except MixedListError:
        listed = None
    if listed is None:
        raise export_error(opened.file, _CONFLICTS)
    return _pairs(opened.file, listed, "pc_conflicts", people), "HotCRP's JSON of papers"


def _pairs(
    file: str, listed: Sequence[tuple[str, str]], column: str, people: Mapping[str, str] | None
) -> Pairs:
    """The conflicts that an export of everything lists, each once, as the map has the people."""
    if not listed:
        raise export_error(file, _NONE)
    log, known = Problems(file), people or {}
    pairs = [(paper.strip(), normalize_id(who.strip())) for paper, who in listed]
    for broken in filter(None, (id_problem(cell) for pair in pairs for cell in pair)):
        log.add(None, column, *broken)
    log.finish()
    return tuple(sorted({(paper, known.get(who, who)) for paper, who in pairs}))


def _bulk(table: HeadedTable, people: Mapping[str, str] | None) -> tuple[Pairs, str]:
    actions = [action.strip().casefold() for action in table.column("action")]
    turns = {"conflict": True, "clearconflict": False, "noconflict": False}
    about = [place for place, action in enumerate(actions) if action in turns]
    if actions and not about:
        raise export_error(table.file, _NONE)
    papers = _ids(table, "paper", rows=about)
    persons = _ids(table, table.first("email", "user"), people, rows=about)
    last = {
        (paper, who): turns[actions[place]] for place, paper, who in zip(about, papers, persons, strict=True)
    }
    conflicts = sorted(pair for pair, there in last.items() if there)
    return tuple(conflicts), "a HotCRP bulk assignment" + _left(len(actions) - len(about))


def _left(others: int) -> str:
    """What is said of so many rows that are about something else."""
    return (
        f": {count(others, 'row')} that {'is' if others == 1 else 'are'} no conflict left out"
        if others
        else ""
    )


def _ids(
    table: HeadedTable,
    column: str | None,
    people: Mapping[str, str] | None = None,
    rows: Sequence[int] | None = None,
) -> list[str]:
    """The ids of a column, without spaces around them, as the map has them; every bad one is a problem."""
    cells = [normalize_id(unescape(cell.strip())) for cell in table.column(column)]
    places = range(len(cells)) if rows is None else rows
    log = Problems(table.file)
    log.extend([*table.problems, *table.repeated([column])])
    for place in places:
        if (broken := id_problem(cells[place])) is not None:
            log.extend([Problem(table.file, table.rows[place][0], column, *broken)])
    if not places:
        log.add(None, column, "must have at least one row under the header", "none")
    log.finish()
    return [(people or {}).get(cells[place], cells[place]) for place in places]
