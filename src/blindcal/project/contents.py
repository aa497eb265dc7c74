"""The files that a chair has: what each is, what it holds, and checks that need no folder.

`resolved_kinds` recognizes files by their content, `read_contents` reads them into one `FolderContents`, and
the checks refuse what no later command could use. `project.imports` brings the contents into a folder.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blindcal.checks import Array
from blindcal.errors import InputError, Problem
from blindcal.exporters.formats import read_titles
from blindcal.fitting.committee import read_aliases
from blindcal.fitting.received_sums import SharedSums, has_share_statement, read_shared_sums, statement_path
from blindcal.importers import MAX_EXPORT, import_reviews
from blindcal.importers.cmt import lists_statuses
from blindcal.importers.detect import recognized
from blindcal.importers.easychair import committee_table
from blindcal.importers.hotcrp import read_metareviews
from blindcal.importers.normalize import Imported, withdrawn_lines
from blindcal.importers.open import open_export
from blindcal.importers.people import lists_people, read_conflicts, read_people, team_codes
from blindcal.importers.plain_table import FIELDS
from blindcal.importers.pretalx import team_sheet
from blindcal.importers.raw_export import DECIDED, Choices, MissingFieldError
from blindcal.importers.sheet import OpenedExport, find_table
from blindcal.io.atomic_files import read_bytes
from blindcal.io.cells import number_text
from blindcal.io.tables import format_table, input_error
from blindcal.pools.candidates import papers_in, pools_of, refuse_other_papers
from blindcal.posterior.conference import read_reviewers
from blindcal.posterior.reuse_guard import fit_record_path
from blindcal.project.settings import Folder, parse_grid
from blindcal.reviews import Reviews, infer_grid

INPUTS = "inputs"
"""The folder of what is read, in a conference's folder."""
KINDS = (
    *("reviews", "past", "committee", "conflicts", "assignments", "pools", "reviewers", "titles", "same"),
    *("evidence", "statuses"),
)
"""What a file can be brought into a folder as."""
_COPIED = ("pools", "reviewers", "same", "titles", "evidence")
# What several files may be brought in as at once: years, and lists that add up to the committee.
_REPEATED = ("past", "committee")
_OWN_COLUMNS = {"paper", "reviewer", "score"}
_PAST_NAME = re.compile(r"[^\W_][\w .+()-]*")
# Scales begin or end with one of these; in a table of so many reviews, so few beyond it may be typing errors.
_SCALE_ENDS, _ENOUGH_SCORES, _FEW_SCORES = {0.0, 1.0, 5.0, 10.0, 20.0, 100.0}, 20, 2


class Source(NamedTuple):
    """A file to import: its `path`, the `kind` it is taken for, and a `name` for a past conference."""

    path: Path
    kind: str
    name: str = ""


def file_of(sources: Sequence[Source], kind: str) -> str:
    """The first file of a kind; empty if there is none."""
    return next((str(source.path) for source in sources if source.kind == kind), "")


@dataclass(frozen=True)
class FolderContents:
    """The inputs of a folder, or some of them, read and checked. CONFIDENTIAL."""

    imported: Imported | None = None  # this year's reviews; None if they are not in yet
    # Reviews of past conferences by name, oldest first; the path of a table that is copied as it is if it has
    # the sums that another conference shared, or a column `conference`
    past: Mapping[str, Imported | Path] = field(default_factory=dict)
    # The name of everyone who may have reviewed, by id; empty if only the id is known
    committee: Mapping[str, str] = field(default_factory=dict)
    conflicts: Sequence[tuple[str, str]] = ()  # pairs of paper and reviewer
    # Files that are copied as they are, by the name of the table: `pools`, `reviewers`, `same`, `titles` and
    # `evidence`
    files: Mapping[str, Path] = field(default_factory=dict)

    @property
    def past_reviews(self) -> dict[str, Reviews]:
        """The past reviews that are at hand, by the name of their table."""
        tables = {name: past_table(past) for name, past in self.past.items()}
        return {name: table for name, table in tables.items() if isinstance(table, Reviews)}

    @property
    def data(self) -> dict[str, bytes]:
        """The bytes of each file, by its name in the folder `inputs`; what would be empty is left out."""
        names = {"name": list(self.committee.values())} if any(self.committee.values()) else {}
        tables: dict[str, Mapping[str, Sequence[object]]] = {
            "committee": {"reviewer": list(self.committee), **names},
            "conflicts": {
                "paper": [paper for paper, _ in self.conflicts],
                "conflict": [who for _, who in self.conflicts],
            },
        }
        if (imported := self.imported) is not None:
            tables |= {
                "reviews": imported.columns(),
                "titles": {"paper": list(imported.titles), "title": list(imported.titles.values())},
                "tracks": {"paper": list(imported.tracks), "track": list(imported.tracks.values())},
            }
        data = {f"{name}.csv": format_table(table) for name, table in tables.items() if any(table.values())}
        for name, path in self.files.items():
            data |= _file_with_companions(f"{name}.csv", path)
        for name, past in self.past.items():
            file = f"past/{name}.csv"
            if isinstance(past, Path):
                data |= _file_with_companions(file, past)
            else:
                data[file] = format_table(past.columns(names=True))
        return data


def _file_with_companions(name: str, path: Path) -> dict[str, bytes]:
    """A file as it is, and beside it what its calibration was fitted on, or what its sums promise."""
    there = [side for side in (fit_record_path(path), statement_path(path)) if os.path.exists(side)]
    companions = {f"{name}{side.removeprefix(os.fspath(path))}": read_bytes(side) for side in there}
    return {name: read_bytes(path), **companions}


# --- What a file is, by its content

_PAPERS = {"paper", "paper id", "pid", "submission #", "submission", "proposal id", "#"}
# Kinds of table that their columns show, tried in this order; anything else is an export of reviews.
_COLUMNS = {
    "same": lambda names: {"old", "new"} <= names,
    "reviewers": lambda names: {"reviewer", "slope", "offset", "noise"} <= names,
    "pools": lambda names: {"paper", "reviewer"} < names <= {"paper", "reviewer", "probability"},
    "titles": lambda names: names == {"paper", "title"},
    "evidence": lambda names: names == {"paper", "evidence"},
    "statuses": lists_statuses,
    "committee": lists_people,
}


def _lists_conflicts(names: frozenset[str]) -> bool:
    word = names & {"conflict", "conflicttype"} or ("action" in names and names & {"email", "user"})
    return bool(names & _PAPERS and word) and "score" not in names


def file_kind(path: Path, choices: Choices, *, has_reviews: bool) -> str:
    """What a file is, by its content: one of `KINDS`, or an `InputError` that names the choice.

    `choices`: how an export is read if its content leaves it open. `has_reviews`: whether the folder has this
    year's reviews already; then further ones could correct them or be those of a past conference.
    """
    if has_share_statement(path):
        return "past"
    opened = _opened_export(path)
    # A list of conflicts may look like reviews; a workbook of many tables is an export, though it has lists.
    sheet = opened.sheets[0] if len(opened.sheets) == 1 else None
    if team_sheet(opened) is not None or (sheet is not None and committee_table(opened) is not None):
        return "committee"
    if read_metareviews(opened) is not None:
        return "assignments"
    if sheet is not None and find_table(sheet, _lists_conflicts) is not None:
        return "conflicts"
    try:
        recognized(opened, choices)
    except InputError:
        kinds = [k for k, wanted in _COLUMNS.items() if sheet is not None and find_table(sheet, wanted)]
        if not kinds:
            raise
        return kinds[0]
    if has_reviews:
        raise InputError(
            f"{path} holds reviews, and there are reviews of this year already. Give --as past if these are "
            "of a past conference, or --as reviews if they correct the others"
        )
    return "reviews"


def resolved_kinds(
    folder: Folder, paths: Sequence[Path], kind: str | None, choices: Choices
) -> tuple[Source, ...]:
    """The files, each with the kind that is given for all of them or recognized in its content."""
    if kind is not None and kind not in KINDS:
        raise InputError(f"--as must be one of {', '.join(KINDS)}, found {kind!r}")
    has_reviews = "reviews" in folder.settings
    sources = []
    for path in paths:
        # A list of assignments beside reviews says which of them are metareviews.
        beside = kind in ("reviews", "past") and len(paths) > 1
        own = "assignments" if beside and read_metareviews(_opened_export(path)) is not None else kind
        if own is None and (choices.columns or choices.format or choices.layout) and not has_reviews:
            own = "reviews"
        own = own or file_kind(path, choices, has_reviews=has_reviews)
        has_reviews |= own == "reviews"
        sources.append(Source(path, own))
    return tuple(sources)


def check_sources(sources: Sequence[Source]) -> None:
    """Refuse files that cannot be brought in together."""
    kinds = [source.kind for source in sources if source.kind not in _REPEATED]
    if twice := [repeated for repeated in KINDS if kinds.count(repeated) > 1]:
        raise InputError(f"give one file as {twice[0]}, found {kinds.count(twice[0])}")
    if {"conflicts", "pools"} <= {*kinds}:
        raise InputError("give `conflicts` or `pools`, not both: either says who may have reviewed")


def _opened_export(path: Path) -> OpenedExport:
    return open_export(read_bytes(path, MAX_EXPORT), str(path))


# --- What files hold


def read_contents(sources: Sequence[Source], choices: Choices) -> tuple[FolderContents, tuple[str, ...]]:
    """Every file, read by itself; and what to know about them, a sentence each.

    `choices`: how exports are read if their content leaves it open, this year's and past ones. Metareviews in
    it are those of this year's reviews.
    """
    paths = {source.kind: source.path for source in sources}
    people, metareviews, imported = choices.people, _metareviews(sources), None
    lists = {str(path): read_bytes(path, MAX_EXPORT) for path, kind, _ in sources if kind == "committee"}
    # pretalx's list of teams explains the codes that its reviews have.
    if codes := {code: mail for file, data in lists.items() for code, mail in team_codes(data, file).items()}:
        choices = replace(choices, people={**codes, **(people or {})})
    if (file := paths.get("reviews")) is not None:
        marked = replace(choices, metareviews=metareviews or choices.metareviews)
        imported = import_reviews(read_bytes(file, MAX_EXPORT), str(file), marked)
    years = [source for source in sources if source.kind == "past"]
    past = {
        name: _read_past(year.path, replace(choices, metareviews=metareviews))
        for name, year in zip(_past_names(years), years, strict=True)
    }
    # Who reviewed at all is secret: a list of nobody but those who did is no committee.
    listed = {} if imported is None else dict(imported.committee)
    committee = listed if imported is not None and {*listed} > {*imported.reviews.reviewers} else {}
    if lists:
        committee = _committee(lists, people)
    conflicts = () if imported is None else imported.conflicts
    remarks: tuple[str, ...] = ()
    if (file := paths.get("conflicts")) is not None:
        conflicts, form = read_conflicts(read_bytes(file, MAX_EXPORT), str(file), people)
        remarks = (f"{file} was read as {form}",)
    files = {name: paths[name] for name in _COPIED if name in paths}
    return FolderContents(imported, past, committee, conflicts, files), remarks


def _committee(lists: Mapping[str, bytes], people: Mapping[str, str] | None) -> dict[str, str]:
    """The name of everyone in these lists, by id: external reviewers often stand in a list of their own."""
    names = dict[str, str]()
    for file, data in lists.items():
        for who, name in read_people(data, file, people).items():
            names[who] = names.get(who) or name
    return dict(sorted(names.items()))


def metareviews_in(path: Path) -> frozenset[tuple[str, str]]:
    """Paper and reviewer of each metareview in HotCRP's list of assignments."""
    marked = read_metareviews(_opened_export(path))
    if marked is None:
        raise InputError(f"{path} must be HotCRP's list of assignments: paper, action, email")
    return marked


def _metareviews(sources: Sequence[Source]) -> frozenset[tuple[str, str]] | None:
    """The metareviews among the reviews that come with a list of assignments; None without one."""
    lists = [source.path for source in sources if source.kind == "assignments"]
    if not lists:
        return None
    if len([source for source in sources if source.kind in ("reviews", "past")]) != 1:
        raise InputError(
            f"{lists[0]} says which reviews are metareviews: give it together with the one file of reviews "
            "that it is about"
        )
    return metareviews_in(lists[0])


def _read_past(path: Path, choices: Choices) -> Imported | Path:
    """The reviews of a past conference; the `path` itself if the table is copied as it is.

    That is so if it has the sums that a conference shared, or several conferences in one table.
    """
    data = read_bytes(path, MAX_EXPORT)
    header = data[:1_000].partition(b"\n")[0].decode(errors="replace")
    names = {name.strip().casefold() for name in header.split(",")}
    if has_share_statement(path) or {*_OWN_COLUMNS, "conference"} <= names:
        past_table(path)
        return path
    # A table that `blindcal import` wrote needs no choices.
    own = _OWN_COLUMNS <= names <= {*FIELDS}
    try:
        return import_reviews(data, str(path), Choices(people=choices.people) if own else choices)
    except MissingFieldError:
        # The form may have had another field then: what the scores were taken from is said for each year.
        return import_reviews(data, str(path), replace(choices, score_field=None))


def past_table(past: Imported | Path) -> Reviews | SharedSums:
    """What `fit` takes of a past conference: reviews, or the sums that it shared."""
    if isinstance(past, Imported):
        return past.reviews
    return read_shared_sums(past) if has_share_statement(past) else Reviews.read(past)


def _past_names(years: Sequence[Source]) -> list[str]:
    """The names of past conferences: as given, or that of the file, with its folder if several share it.

    >>> _past_names([Source(Path(f"{name}"), "past") for name in ("2025/a.json", "2026/a.json", "2024.csv")])
    ['2025-a', '2026-a', '2024']
    """
    stems = Counter(path.stem for path, _, _ in years)
    folders = [f"{path.resolve().parent.name}-" if stems[path.stem] > 1 else "" for path, _, _ in years]
    names = [name or f"{folder}{path.stem}" for folder, (path, _, name) in zip(folders, years, strict=True)]
    if len({*names}) < len(names):
        raise InputError("files of `past` must have different names, or lie in folders of different names")
    if bad := [name for name in names if not _PAST_NAME.fullmatch(name)]:
        raise InputError(
            f"a past conference's name must be like 2026 or icx-2026, found {bad[0]!a}: give --name, or "
            "rename the file"
        )
    return names


def left_out(
    statuses: Mapping[str, str],
    papers: Collection[str],
    keep: Collection[str] = (),
    ours: Collection[str] = (),
) -> dict[str, str]:
    """Why papers of an export are not decided, by paper.

    `statuses`: what the export says became of some of the `papers`. `keep`: papers that are decided all the
    same, named one by one. `ours`: papers whose decisions are blindcal's own.
    """
    if unknown := [paper for paper in keep if paper not in statuses]:
        raise InputError(
            f"`keep`: the export does not call paper {unknown[0]!r} withdrawn, desk rejected, deleted or "
            "decided: it is decided anyway, or has no reviews"
        )
    gone = {
        paper: why
        for paper, why in statuses.items()
        if paper not in keep and not (paper in ours and why.startswith(DECIDED))
    }
    if papers and len(gone) == len(papers):
        raise InputError(
            f"no paper is left to decide: {'; '.join(withdrawn_lines(gone))}. If these are the reviews of a "
            "past conference, give --as past; to decide papers all the same, name them with `keep`"
        )
    return gone


# --- Checks of what files hold


def check_files(contents: FolderContents) -> None:
    """Refuse files, copied as they are, that no later command could use."""
    files, imported = contents.files, contents.imported
    known = read_reviewers(files["reviewers"]) if "reviewers" in files else contents.committee
    if "same" in files:
        read_aliases(files["same"])
    if "titles" in files:
        read_titles(files["titles"])
    if "pools" in files:
        pools_of(files["pools"], () if imported is None else imported.reviews.papers, known)


def refuse_other_lists(contents: FolderContents, conflicts: object, papers: Collection[str]) -> None:
    """Refuse lists that are about none of the `papers` that have reviews; `conflicts` names their file."""
    refuse_other_papers(conflicts, {paper for paper, _ in contents.conflicts}, papers)
    for name in ("pools", "titles"):
        if name in contents.files:
            refuse_other_papers(contents.files[name], papers_in(contents.files[name]), papers)


def check_scores(contents: FolderContents, grid: str | None) -> tuple[str, ...]:
    """Refuse scores that reviewers cannot give, by file and row; and remark on possible typing errors.

    `grid`: the scores that can be given this year, as declared. If nothing is, and in past reviews, scores
    far from all others are refused. One or two just beyond the end of a scale, such as 11 on one of 1 to 10,
    may well be meant.
    """
    allowed, imported = parse_grid(grid), contents.imported
    problems, remarks = list[Problem](), list[str]()
    undeclared = [past for past in contents.past.values() if isinstance(past, Imported)]
    if imported is not None and allowed is None:
        undeclared.append(imported)
    elif imported is not None:
        off = ~np.isin(imported.reviews.score, allowed or imported.reviews.score)
        problems += _score_problems(imported, off, f"must be a score of the `grid` {grid}")
    for export in undeclared:
        score = export.reviews.score
        others = [other.reviews.score for other in undeclared if other is not export]
        off, usual = _far_off(score)
        rule = f"must be on the scale of the other scores, {usual}: is it a typing error?"
        problems += _score_problems(export, off, rule)
        off, usual = _just_beyond(score, np.concatenate([*others, np.empty(0)]))
        rule = f"is it a typing error? All other scores are {usual}; `grid` says which can be given"
        remarks += map(str, _score_problems(export, off, rule))
    if problems:
        raise input_error(problems)
    return tuple(remarks)


def _score_problems(imported: Imported, wrong: NDArray[np.bool_], rule: str) -> list[Problem]:
    rows = sorted(imported.sources[index] for index in np.flatnonzero(wrong))
    return [Problem(file, row, imported.score_field, rule) for file, row in rows]


def _far_off(score: Array) -> tuple[NDArray[np.bool_], str]:
    """Which scores can hardly be meant, such as 55 on a scale of 1 to 10, and the range of the others.

    They are further from the next score than all others are from each other, and one in a hundred or just
    one; the others are on a grid of at least three scores.
    """
    levels = np.unique(score)
    few = max(1, score.size // 100)
    for cut in range(3, levels.size):
        for low, high in ((levels[0], levels[cut - 1]), (levels[-cut], levels[-1])):
            inside = (score >= low) & (score <= high)
            gap = levels[cut] - high if low == levels[0] else low - levels[-cut - 1]
            rare = score.size - inside.sum() <= few
            if rare and gap > high - low and infer_grid(score[inside]) is not None:
                return ~inside, f"{number_text(low)} to {number_text(high)}"
    return np.zeros(score.size, np.bool_), ""


def _just_beyond(score: Array, others: Array) -> tuple[NDArray[np.bool_], str]:
    """Which one or two scores are alone beyond all the rest of a table, and the range of the rest.

    Only if the rest ends where scales do, or where the scores of `others` do, which have none like it.
    """
    ends = (score.max(), score.min()) if score.size >= _ENOUGH_SCORES else ()
    for end, last in zip(ends, (np.max, np.min), strict=False):
        off = score == end
        rest = score[~off]
        if off.sum() > _FEW_SCORES or np.unique(rest).size < 3 or infer_grid(rest) is None:
            continue
        whole = last(rest) in _SCALE_ENDS or rest.max() == -rest.min()
        seen = bool(others.size) and others.min() <= end <= others.max()
        if not seen and (whole or (others.size and last(others) == last(rest))):
            return off, f"{number_text(rest.min())} to {number_text(rest.max())}"
    return np.zeros(score.size, np.bool_), ""


def unlisted_remarks(reviews: Reviews, committee: Collection[str], file: str, inputs: Path) -> list[str]:
    """How many reviewers are not on the committee, if there is one, and what to do; it names nobody."""
    missing = len({*reviews.reviewers} - {*committee})
    if not committee or not missing:
        return []
    whom = "a reviewer who is" if missing == 1 else f"{missing:,} reviewers who are"
    return [
        f"{file} has {whom} not on the committee: `blindcal plan` says who, in a file for you alone. If an "
        f"id is spelled differently, correct it in {inputs}; if the list is not complete, complete "
        f"{inputs / 'committee.csv'} without looking at who reviewed"
    ]
