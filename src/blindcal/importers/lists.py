"""Lists that come beside the reviews: who is on the committee, and who has a conflict with which paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from blindcal.cells import id_problem, unescape
from blindcal.errors import Problem
from blindcal.files.tables import Problems
from blindcal.importers.easychair import committee_table
from blindcal.importers.findings import counted, refusal
from blindcal.importers.opening import open_export
from blindcal.importers.pretalx import team_sheet
from blindcal.importers.sheets import Headed, Opened, one_table

_MAILS = ("email", "e-mail", "email address", "reviewer email", "profile_id", "profile")
_IDS = ("reviewer", *_MAILS)
_NAMES = (("name",), ("first name", "last name"), ("first", "last"), ("given_name", "family_name"))
_PAPERS = ("paper", "paper id", "pid", "submission #", "submission")
# What may stand in a table of papers and emails that is a list of conflicts, and no list of reviews.
_PLAIN = {*_PAPERS, *_MAILS, *(name for group in _NAMES for name in group), "title", "affiliation"}
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
    "most titles and names besides), or HotCRP's bulk assignment (paper, action, email)"
)


def read_people(data: bytes, file: str, people: Mapping[str, str] | None = None) -> dict[str, str]:
    """The name of everyone in the list of a committee, by id; empty where there is only the id.

    `data` holds the bytes of the list, as a CSV or a workbook: columns `reviewer[,name]`, or what HotCRP,
    EasyChair and pretalx (its teams) export of their committees, where ids are emails. `file` is its name in
    messages. `people` maps an id to a person, as for reviews; by default ids stay as they are.

    >>> read_people(b"first,last,email,roles\\nAda,Byron,ada@example.edu,pc\\n", "pcinfo.csv")
    {'ada@example.edu': 'Ada Byron'}
    """
    table = _people_table(open_export(data, file))
    if table is None:
        raise refusal(file, _PEOPLE)
    if table.first(*_PAPERS) is not None:
        raise refusal(file, _REVIEWS)
    ids = _ids(table, table.first(*_IDS), people)
    parts = next((group for group in _NAMES if all(name in table for name in group)), ())
    names = zip(*(table.column(name) for name in parts), strict=True) if parts else [()] * len(ids)
    found: dict[str, str] = {}
    for who, name in zip(ids, names, strict=True):
        found[who] = found.get(who) or " ".join(" ".join(name).split())
    return dict(sorted(found.items()))


def _people_table(opened: Opened) -> Headed | None:
    """The table of people: EasyChair's committee, pretalx's teams, or the only table that has them."""
    if (committee := committee_table(opened)) is not None:
        return committee
    teams = team_sheet(opened)
    return one_table(opened.sheets if teams is None else [teams], lambda names: bool(names & {*_IDS}))


def read_conflicts(
    data: bytes, file: str, people: Mapping[str, str] | None = None
) -> tuple[tuple[tuple[str, str], ...], str]:
    """The conflicts `(paper, reviewer)` of a list, sorted, and what it was taken for, in words.

    `data` holds the bytes of the list, as a CSV or a workbook: columns `paper,conflict` or `paper,email`, or
    HotCRP's bulk assignment, of which only conflicts are taken: the later of two rows on the same paper and
    person counts, as it does there. `file` is its name in messages. `people` maps an id to a person, as for
    reviews; by default ids stay as they are.

    >>> bulk = b"paper,action,email\\n1,conflict,ada@example.edu\\n1,primaryreview,bo@example.org\\n"
    >>> read_conflicts(bulk, "assignments.csv")
    ((('1', 'ada@example.edu'),), 'a HotCRP bulk assignment: 1 row that is no conflict left out')
    """
    sheets = open_export(data, file).sheets
    table = one_table(sheets, _of_conflicts)
    if table is not None:
        person = table.first("conflict", *_MAILS)
        pairs = zip(_ids(table, table.first(*_PAPERS)), _ids(table, person, people), strict=True)
        return tuple(sorted(set(pairs))), "a list of conflicts"
    table = one_table(sheets, lambda names: {"paper", "action"} <= names and bool(names & {"email", "user"}))
    if table is None:
        raise refusal(file, _CONFLICTS)
    return _bulk(table, people)


def _of_conflicts(names: frozenset[str]) -> bool:
    """Whether a table with columns of these names is a plain list of conflicts.

    >>> [_of_conflicts(frozenset(names.split())) for names in ("paper email", "paper email score")]
    [True, False]
    """
    listed = "conflict" in names or (not names.isdisjoint(_MAILS) and names <= _PLAIN)
    return listed and not names.isdisjoint(_PAPERS)


def _bulk(table: Headed, people: Mapping[str, str] | None) -> tuple[tuple[tuple[str, str], ...], str]:
    actions = [action.strip().casefold() for action in table.column("action")]
    turns = {"conflict": True, "clearconflict": False, "noconflict": False}
    about = [place for place, action in enumerate(actions) if action in turns]
    papers = _ids(table, "paper", rows=about)
    persons = _ids(table, table.first("email", "user"), people, rows=about)
    last = {
        (paper, who): turns[actions[place]] for place, paper, who in zip(about, papers, persons, strict=True)
    }
    return tuple(sorted(pair for pair, there in last.items() if there)), _bulk_words(
        len(actions) - len(about)
    )


def _bulk_words(others: int) -> str:
    """What a bulk assignment was taken for, where so many rows are about something else.

    >>> _bulk_words(0), _bulk_words(2)
    ('a HotCRP bulk assignment', 'a HotCRP bulk assignment: 2 rows that are no conflict left out')
    """
    left = f": {counted(others, 'row')} that {'is' if others == 1 else 'are'} no conflict left out"
    return "a HotCRP bulk assignment" + (left if others else "")


def _ids(
    table: Headed,
    column: str | None,
    people: Mapping[str, str] | None = None,
    rows: Sequence[int] | None = None,
) -> list[str]:
    """The ids of a column, without spaces around them, as the map has them; every bad one is a problem."""
    cells = [unescape(cell.strip()) for cell in table.column(column)]
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
