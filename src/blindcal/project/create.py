"""A conference's folder, made new: `conference.toml`, the inputs, the public folder, and beside it the key.

A folder may be made before reviews are in, so that the key's fingerprint can be published first, or with
every file at once. Either the whole folder appears or nothing does. `project.imports` brings files into a
folder later; both use `FolderContents`, the tables that a folder's `inputs` hold.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from blindcal.checks import Array
from blindcal.compute.parallel import Progress, no_progress
from blindcal.deciding.decide import refuse_other_conference
from blindcal.deciding.key import Key, make_key, read_key
from blindcal.deciding.ledger import ledger_folder, read_ledger
from blindcal.errors import InputError, Problem, RefusedError
from blindcal.exporters.formats import read_titles
from blindcal.fitting.committee import MatchedPeople, match_people, read_aliases, read_names
from blindcal.fitting.direction import MirroredError
from blindcal.fitting.estimate import Fitted, fit
from blindcal.fitting.history import in_year_order, order_remarks, past_people
from blindcal.fitting.received_sums import SharedSums, has_share_statement, read_shared_sums, statement_path
from blindcal.importers import MAX_EXPORT, import_reviews
from blindcal.importers.hotcrp import read_metareviews
from blindcal.importers.normalize import Imported, withdrawn_lines
from blindcal.importers.open import open_export
from blindcal.importers.people import read_conflicts, read_people, team_codes
from blindcal.importers.plain_table import FIELDS
from blindcal.importers.raw_export import DECIDED, Choices, MissingFieldError
from blindcal.io.atomic_files import (
    RELEASES_FOLDER,
    check_new_folder,
    make_folder,
    read_bytes,
    staged_folder,
    write_bytes,
)
from blindcal.io.cells import number_text
from blindcal.io.tables import format_table, input_error
from blindcal.planning.remarks import OUTSIDE_EVIDENCE, stray_remarks
from blindcal.planning.request import WHOLE, Quota, known_readers, shares
from blindcal.policy.guarantee import Guarantee
from blindcal.pools.candidates import papers_in, pools_of, refuse_other_papers
from blindcal.posterior.conference import paper_tracks, read_reviewers
from blindcal.posterior.inputs import PAST
from blindcal.posterior.reuse_guard import (
    Fingerprint,
    fingerprint_of_reviews,
    fit_record_path,
    reuse_warnings,
)
from blindcal.posterior.this_year import EVIDENCE_FILE, THIS_YEAR, read_evidence
from blindcal.private_sharing import shared_folder
from blindcal.project.paths import copied_remarks
from blindcal.project.settings import (
    FILE,
    WITHOUT_HISTORY,
    Value,
    conference_text,
    guarantee_settings,
    parse_grid,
    parse_paper_counts,
)
from blindcal.reviews import Reviews, check_better, infer_grid, similar_id_warnings
from blindcal.simulation.conference import RATE, SimulatedConference, example_files

INPUTS = "inputs"
CALIBRATED: Mapping[str, Value] = {"pools": "everyone", "reviewers": f"{INPUTS}/reviewers.csv"}
"""What a folder says besides if past years or a table calibrate reviewers."""
_OWN_COLUMNS = {"paper", "reviewer", "score"}
_PAST = re.compile(r"past/[^/]+\.csv")
# Scales begin or end with one of these; in a table of so many reviews, so few beyond it may be typing errors.
_SCALE_ENDS, _ENOUGH_SCORES, _FEW_SCORES = {0.0, 1.0, 5.0, 10.0, 20.0, 100.0}, 20, 2


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
    fitted: Fitted | None = None  # the calibration that past reviews gave; None if there is none
    # Who of the committee was found in past reviews; None without a calibration
    people: MatchedPeople | None = None

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
        if self.people is not None and self.people.pairs:
            tables |= {"reviewers.csv.people": self.people.columns()}
        data = {f"{name}.csv": format_table(table) for name, table in tables.items() if any(table.values())}
        for name, path in self.files.items():
            data |= _copied(f"{name}.csv", path)
        for name, past in self.past.items():
            file = f"past/{name}.csv"
            if isinstance(past, Path):
                data |= _copied(file, past)
            else:
                data[file] = format_table(past.columns(names=True))
        return data

    @property
    def settings(self) -> dict[str, Value]:
        """The settings that name the files of a new folder; without pools everyone may have reviewed."""
        settings = input_settings({name: f"{INPUTS}/{name}" for name in self.data})
        return {**CALIBRATED, **settings} if self.source == PAST else settings

    @property
    def source(self) -> str | None:
        """What calibrates the conference; None if that is open, since there are no reviews yet."""
        if "evidence" in self.files:
            return EVIDENCE_FILE
        if self.past or self.files.keys() & {"reviewers", "pools"}:
            return PAST
        return None if self.imported is None else THIS_YEAR


def _copied(name: str, path: Path) -> dict[str, bytes]:
    """A file as it is, and beside it what its calibration was fitted on, or what its sums promise."""
    there = [side for side in (fit_record_path(path), statement_path(path)) if os.path.exists(side)]
    companions = {f"{name}{side.removeprefix(os.fspath(path))}": read_bytes(side) for side in there}
    return {name: read_bytes(path), **companions}


def input_settings(places: Mapping[str, str], past: Sequence[str] = ()) -> dict[str, Value]:
    """The settings of conference.toml that name these files.

    `places`: where each file lies in the folder, by its name in `inputs`. `past`: past conferences that the
    folder names already, oldest first; one of the same name gives way.

    >>> input_settings({"reviews.csv": "inputs/reviews.csv"})
    {'reviews': 'inputs/reviews.csv'}
    >>> input_settings({"past/2026.csv": "inputs/past/2026.csv"}, ["inputs/past/2025.csv"])
    {'past': ['inputs/past/2025.csv', 'inputs/past/2026.csv']}
    """
    tables = ("reviews", "committee", "titles", "tracks", "same", "evidence", "reviewers")
    settings: dict[str, Value] = {name: places[f"{name}.csv"] for name in tables if f"{name}.csv" in places}
    for name in ("conflicts", "pools"):
        if f"{name}.csv" in places:
            settings["pools"] = places[f"{name}.csv"]
    brought = {Path(name).stem: path for name, path in places.items() if _PAST.fullmatch(name)}
    if brought:
        named = {Path(path).stem: path for path in past} | brought
        settings["past"] = [named[name] for name in in_year_order(named)]
    return settings


def write_inputs(folder: Path, contents: FolderContents) -> None:
    """Write the files of `contents` into `inputs` in a new folder, for its owner alone."""
    data = {folder / INPUTS / name: content for name, content in contents.data.items()}
    for path in dict.fromkeys([folder / INPUTS, *(path.parent for path in data)]):
        make_folder(path)
    for path, content in data.items():
        write_bytes(path, content, confidential=True)
    if contents.fitted is not None:
        contents.fitted.write(folder / INPUTS / "reviewers.csv")


def import_past(data: bytes, file: str, choices: Choices) -> Imported:
    """A past conference, read like this year's; a table that `blindcal import` wrote needs no choices.

    The form may have had another field then: what the scores were taken from is said for each year.
    """
    own = _OWN_COLUMNS <= _header(data) <= {*FIELDS, "conference"}
    try:
        return import_reviews(data, file, Choices(people=choices.people) if own else choices)
    except MissingFieldError:
        return import_reviews(data, file, replace(choices, score_field=None))


def grid_text(grid: Array | None) -> str:
    """The scores that can be given as the text of `grid`; `none` if any number can be one."""
    if grid is None:
        return "none"
    whole = bool((grid == np.floor(grid)).all()) and grid.size == grid[-1] - grid[0] + 1
    return f"{number_text(grid[0])}..{number_text(grid[-1])}" if whole else ",".join(map(number_text, grid))


def key_beside(folder: Path) -> Path:
    """The path of the key of a `folder`, by default."""
    return folder.with_name(f"{folder.name}.key")


def new_key(path: Path) -> Key:
    """A new key in the file `path`; refused if a key was there, or was lost."""
    refuse_lost(path)
    return make_key(path)


def refuse_lost(path: Path) -> None:
    """Refuse a `path` without a key if a folder of its releases lies beside it: the key was lost."""
    for folder, what in ((ledger_folder(path), "decisions"), (shared_folder(path), "shared sums")):
        if os.path.lexists(folder) and not os.path.lexists(path):
            raise RefusedError(
                f"{folder} holds {what} of a key that is missing: restore that key from its backup, or "
                "use another name for the new key of another conference"
            )


def check_key(key: Path, folder: Path) -> None:
    """Refuse a `key` in the `folder`, and one that could not be used, before any file is read."""
    if Path(os.path.realpath(folder)) in Path(os.path.realpath(key)).parents:
        raise InputError("`key` must not lie in the folder: packing the folder would pack the key")
    refuse_lost(key)
    if key.exists():
        refuse_other_conference(read_ledger(key, read_key(key)), folder.name)
    elif not key.parent.is_dir():
        raise InputError(f"{key.parent} must be a folder that exists")


@dataclass(frozen=True)
class SourceFiles:
    """The files that a chair has for a new folder."""

    reviews: Path | None = None  # this year's reviews, as exported; None if they are not in yet
    committee: Sequence[Path] = ()  # lists that add up to everyone who may have reviewed; `past` needs them
    # Reviews of past conferences, as exported, oldest first; or sums that a conference shared
    past: Sequence[Path] = ()
    conflicts: Path | None = None  # who cannot have reviewed what
    pools: Path | None = None  # or who may have reviewed what
    reviewers: Path | None = None  # a calibration, in place of `past`
    same: Path | None = None  # a table `old,new` of people whose id changed
    # How exports are read if their content leaves it open, this year's and past ones
    choices: Choices = field(default_factory=Choices)
    titles: Path | None = None  # a table `paper,title`
    evidence: Path | None = None  # accept or reject, or a number, for each paper, from another method
    # HotCRP's list of assignments: it says which of this year's reviews are metareviews
    assignments: Path | None = None


@dataclass(frozen=True)
class InitialSettings:
    """The settings of a new folder beside the names of its files."""

    # Who may see the scores of all papers: `public`, everyone, or `confidential`. It has no default, and may
    # stay open only until reviews are in.
    scores: str | None = None
    accept_rate: float | None = None  # the share of papers to accept, about
    # Or exactly how many, as text such as `50` or `main=40,short=10`; neither leaves it open
    accept: str | None = None
    better: str = "high"  # the better end of the scale, `high` or `low`


@dataclass(frozen=True)
class CreatedFolder:
    """A folder as it was made. CONFIDENTIAL."""

    contents: FolderContents  # its inputs
    settings: Mapping[str, Value]  # the settings of its `conference.toml`, by name
    withdrawn: Mapping[str, str]  # what became of each paper that it leaves out, since the export says so
    key: Path  # where the key lies
    secret: Key  # the key itself
    remarks: tuple[str, ...]  # what the chair should know, a sentence each

    @property
    def calibrated(self) -> bool:
        """Whether its reviewers are calibrated already."""
        return self.contents.fitted is not None or "reviewers" in self.contents.files


def create_folder(
    folder: Path,
    given: SourceFiles,
    wishes: InitialSettings,
    key: Path,
    *,
    keep: Collection[str] = (),
    workers: int = 1,
    progress: Progress = no_progress,
) -> CreatedFolder:
    """Makes a folder, and its key if there is none: all of it is written, or nothing.

    The name of the folder is that of the conference. With reviews and past ones, reviewers are calibrated.
    `key`: where the key lies or will lie, outside the folder. `keep`: papers to decide though the export says
    that they are withdrawn, desk rejected, deleted or decided.
    """
    if (folder / FILE).is_file():
        raise RefusedError(
            f"{folder} exists already and is never overwritten: `blindcal import {folder} FILE` brings a "
            f"file or a correction into it, and settings are changed in {folder / FILE}"
        )
    check_new_folder(folder)
    if wishes.accept is not None and wishes.accept_rate is not None:
        raise InputError("give either `accept_rate` or `accept`")
    if given.reviews is not None or wishes.scores is not None:
        known_readers(wishes.scores)
    check_better(wishes.better)
    _check_files(given)
    check_key(key, folder)
    contents, remarks = read_contents(given)
    if contents.past and not contents.committee:
        raise InputError(
            "`past` needs `committee`: a row is fitted for everyone who may have reviewed. Those who did "
            "review must not be taken for it, since that is secret"
        )
    past = {name: contents.past[name] for name in in_year_order(contents.past)}
    if [*past] != [*contents.past]:
        remarks += (f"past conferences were put in the order of their years: {', '.join(past)}",)
    contents, grid, withdrawn = replace(contents, past=past), None, dict[str, str]()
    check_scores(contents, None)
    remarks += score_remarks(contents, None)
    if (imported := contents.imported) is not None:
        grid, withdrawn = (
            grid_text(imported.reviews.grid),
            left_out(imported.withdrawn, imported.reviews.papers, keep),
        )
        _check_quota(imported.reviews.without(withdrawn), wishes.accept, str(given.reviews))
        remarks += (*reuse_warnings(past_footprints(contents), imported.reviews),)
    check_files(contents)
    if imported is not None:
        refuse_other_lists(contents, given.conflicts or "the conflicts", imported.reviews.papers)
        check_evidence(contents, imported.reviews, withdrawn)
    contents, calibration_remarks = _calibrated(contents, folder, grid, wishes.better, workers, progress)
    settings = _settings(folder, key, contents, grid, wishes)
    with staged_folder(folder) as filled:
        write_inputs(filled, contents)
        make_folder(filled / RELEASES_FOLDER)
        text = conference_text(settings, withdrawn_reasons(withdrawn))
        write_bytes(filled / FILE, text.encode(), confidential=True)
        secret = read_key(key) if key.exists() else new_key(key)
    remarks += (
        *_remarks(contents, folder, given),
        *([OUTSIDE_EVIDENCE] if contents.source == EVIDENCE_FILE else []),
        *calibration_remarks,
        *copied_remarks(folder, key),
        *(contents.fitted.checks.notes if contents.fitted else ()),
    )
    return CreatedFolder(contents, settings, withdrawn, key, secret, remarks)


def create_example(folder: Path, drawn: SimulatedConference) -> None:
    """Makes the folder of a simulated conference, whose scores are public."""
    with TemporaryDirectory() as scratch:
        for name, data in example_files(drawn).items():
            Path(scratch, name).write_bytes(data)
        reviews, pools, reviewers = (
            Path(scratch, f"{name}.csv") for name in ("reviews", "pools", "reviewers")
        )
        given = SourceFiles(reviews, pools=pools, reviewers=reviewers)
        create_folder(folder, given, InitialSettings("public", accept_rate=RATE), key_beside(folder))


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


def withdrawn_reasons(withdrawn: Mapping[str, str]) -> dict[str, str]:
    """The lines under `[withdrawn]` for papers that an export calls withdrawn, and the like."""
    return {paper: f"{status}, as the export says" for paper, status in withdrawn.items()}


def past_footprints(contents: FolderContents) -> list[Fingerprint]:
    """The digests of past reviews by which they are told from this year's."""
    reviews = contents.past_reviews
    return [replace(fingerprint_of_reviews(past), conference=name) for name, past in reviews.items()]


def read_contents(given: SourceFiles) -> tuple[FolderContents, tuple[str, ...]]:
    """Every file, read and checked by itself; and what to know about them, a sentence each."""
    choices, imported = given.choices, None
    lists = {str(path): read_bytes(path, MAX_EXPORT) for path in given.committee}
    # pretalx's list of teams explains the codes that its reviews have.
    if codes := {code: mail for file, data in lists.items() for code, mail in team_codes(data, file).items()}:
        choices = replace(choices, people={**codes, **(choices.people or {})})
    if given.reviews is not None:
        marked = replace(choices, metareviews=metareviews_in(given.assignments) or choices.metareviews)
        imported = import_reviews(read_bytes(given.reviews, MAX_EXPORT), str(given.reviews), marked)
    past = {name: _read_past(path, choices) for name, path in _past_names(given.past).items()}
    # Who reviewed at all is secret: a list of nobody but those who did is no committee.
    listed = {} if imported is None else dict(imported.committee)
    committee = listed if imported is not None and {*listed} > {*imported.reviews.reviewers} else {}
    if lists:
        committee = _committee(lists, given.choices.people)
    conflicts = () if imported is None else imported.conflicts
    remarks: tuple[str, ...] = ()
    if given.conflicts is not None:
        conflicts, form = read_conflicts(
            read_bytes(given.conflicts, MAX_EXPORT), str(given.conflicts), choices.people
        )
        remarks = (f"{given.conflicts} was read as {form}",)
    files = {name: getattr(given, name) for name in ("pools", "reviewers", "same", "titles", "evidence")}
    copied = {name: path for name, path in files.items() if path is not None}
    return FolderContents(imported, past, committee, conflicts, copied), remarks


def _committee(lists: Mapping[str, bytes], people: Mapping[str, str] | None) -> dict[str, str]:
    """The name of everyone in these lists, by id: external reviewers often stand in a list of their own."""
    names = dict[str, str]()
    for file, data in lists.items():
        for who, name in read_people(data, file, people).items():
            names[who] = names.get(who) or name
    return dict(sorted(names.items()))


def metareviews_in(path: Path | None) -> frozenset[tuple[str, str]] | None:
    """Paper and reviewer of each metareview in HotCRP's list of assignments; None without a list."""
    if path is None:
        return None
    marked = read_metareviews(open_export(read_bytes(path, MAX_EXPORT), str(path)))
    if marked is None:
        raise InputError(f"{path} must be HotCRP's list of assignments: paper, action, email")
    return marked


def _read_past(path: Path, choices: Choices) -> Imported | Path:
    """The reviews of a past conference; the `path` itself if the table is copied as it is.

    That is so if it has the sums that a conference shared, or several conferences in one table.
    """
    data = read_bytes(path, MAX_EXPORT)
    if has_share_statement(path) or {*_OWN_COLUMNS, "conference"} <= _header(data):
        past_table(path)
        return path
    return import_past(data, str(path), choices)


def past_table(past: Imported | Path) -> Reviews | SharedSums:
    """What `fit` takes of a past conference: reviews, or the sums that it shared."""
    if isinstance(past, Imported):
        return past.reviews
    return read_shared_sums(past) if has_share_statement(past) else Reviews.read(past)


def _header(data: bytes) -> set[str]:
    header = data[:1_000].partition(b"\n")[0].decode(errors="replace")
    return {name.strip().casefold() for name in header.split(",")}


def _past_names(past: Sequence[Path]) -> dict[str, Path]:
    """The files of past conferences by name: that of the file, with its folder in front if several share it.

    >>> [*_past_names([Path("2025/notes.json"), Path("2026/notes.json"), Path("2024.csv")])]
    ['2025-notes', '2026-notes', '2024']
    """
    stems = Counter(path.stem for path in past)
    folders = [f"{path.resolve().parent.name}-" if stems[path.stem] > 1 else "" for path in past]
    names = [f"{folder}{path.stem}" for folder, path in zip(folders, past, strict=True)]
    if len({*names}) < len(names):
        raise InputError("files of `past` must have different names, or lie in folders of different names")
    return dict(zip(names, past, strict=True))


def _same(contents: FolderContents) -> dict[str, str]:
    return read_aliases(contents.files["same"]) if "same" in contents.files else {}


def _check_files(given: SourceFiles) -> None:
    if given.past and given.reviewers is not None:
        raise InputError("give `past` or `reviewers`, not both: either calibrates the reviewers")
    if given.evidence is not None and (given.past or given.reviewers is not None):
        raise InputError("give `evidence` or past reviews, not both: either calibrates the papers")
    if given.evidence is not None and given.reviews is None:
        raise InputError("`evidence` needs `reviews`: it must list every paper that has some")
    if given.conflicts is not None and given.pools is not None:
        raise InputError("give `conflicts` or `pools`, not both: either says who may have reviewed")


def check_files(contents: FolderContents) -> None:
    """Refuse files, copied as they are, that no later command could use."""
    files, imported = contents.files, contents.imported
    known = read_reviewers(files["reviewers"]) if "reviewers" in files else contents.committee
    _same(contents)
    if "titles" in files:
        read_titles(files["titles"])
    if "pools" in files:
        pools_of(files["pools"], () if imported is None else imported.reviews.papers, known)


def check_evidence(contents: FolderContents, reviews: Reviews, withdrawn: Collection[str]) -> None:
    """Refuse evidence of another method that does not list each of these papers once, and no other."""
    if "evidence" in contents.files:
        read_evidence(contents.files["evidence"], reviews.without(withdrawn), withdrawn)


def refuse_other_lists(contents: FolderContents, conflicts: object, papers: Collection[str]) -> None:
    """Refuse lists that are about none of the `papers` that have reviews; `conflicts` names their file."""
    refuse_other_papers(conflicts, {paper for paper, _ in contents.conflicts}, papers)
    for name in ("pools", "titles"):
        if name in contents.files:
            refuse_other_papers(contents.files[name], papers_in(contents.files[name]), papers)


def check_scores(contents: FolderContents, grid: str | None) -> None:
    """Refuse scores that reviewers cannot give, and name the rows they stand in.

    `grid`: the scores that can be given this year, as declared; if nothing is, and in past reviews, scores
    are refused that are far from all others.
    """
    allowed, imported = parse_grid(grid), contents.imported
    problems = []
    if imported is not None and allowed is not None:
        off = ~np.isin(imported.reviews.score, allowed or imported.reviews.score)
        problems += _score_problems(imported, off, f"must be a score of the `grid` {grid}")
    unchecked = [*contents.past.values(), *([imported] if allowed is None else [])]
    for export in unchecked:
        if isinstance(export, Imported):
            off, usual = _far_off(export.reviews.score)
            rule = f"must be on the scale of the other scores, {usual}: is it a typing error?"
            problems += _score_problems(export, off, rule)
    if problems:
        raise input_error(problems)


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


def score_remarks(contents: FolderContents, grid: str | None) -> tuple[str, ...]:
    """One or two scores just beyond the end of a scale, such as 11 on one of 1 to 10, by file and row.

    A rare score may well be meant, so these are not refused. `grid`: as for `check_scores`.
    """
    exports = [past for past in contents.past.values() if isinstance(past, Imported)]
    exports += [contents.imported] if contents.imported is not None and grid is None else []
    remarks: list[str] = []
    for export in exports:
        others = [other.reviews.score for other in exports if other is not export]
        off, usual = _just_beyond(export.reviews.score, np.concatenate([*others, np.empty(0)]))
        rule = f"is it a typing error? All other scores are {usual}; `grid` says which can be given"
        remarks += map(str, _score_problems(export, off, rule))
    return tuple(remarks)


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


def _check_quota(reviews: Reviews, accept: str | None, file: str) -> None:
    """Refuse a number of papers that these reviews, without withdrawn papers, cannot have."""
    number = parse_paper_counts("`accept`", accept)
    if number is None:
        return
    quota, tracks = Quota(number), paper_tracks(reviews)
    listed = sorted({*tracks.values()} - {""})
    if quota.tracks and {*quota.tracks} != {*tracks.values()}:
        found = f"the tracks {', '.join(listed)}" if listed else "no tracks"
        some = " and papers without one" if listed and "" in tracks.values() else ""
        raise InputError(f"`accept` must have a number for each track of {file}, which has {found}{some}")
    shares(quota, [track if quota.tracks else WHOLE for track in tracks.values()])


def _calibrated(
    contents: FolderContents, folder: Path, grid: str | None, better: str, workers: int, progress: Progress
) -> tuple[FolderContents, list[str]]:
    """The contents with a calibration if there are reviews and past ones; and what to know of its people."""
    same, imported, inputs = _same(contents), contents.imported, folder / INPUTS
    if imported is None or not contents.past:
        return contents, []
    allowed = np.array(parse_grid(grid))
    this_year = replace(imported.reviews, grid=allowed if allowed.size else None, grid_declared=True)
    pasts = {str(inputs / "past" / f"{name}.csv"): past for name, past in contents.past.items()}
    tables = {file: past_table(past) for file, past in pasts.items()}
    names = {
        file: past.committee if isinstance(past, Imported) else read_names(past)
        for file, past in pasts.items()
    }
    reviewers = past_people(tables, names)
    people = match_people(contents.committee, [*reviewers.values()], same)
    people.refuse_strangers()
    try:
        fitted = fit(
            tables,
            committee=contents.committee,
            this_year=this_year,
            better=better,
            same=people.same,
            workers=workers,
            progress=progress,
        )
    except MirroredError as error:
        return contents, [f"there is no calibration yet: {error}. Then `blindcal fit {folder}`"]
    remarks = order_remarks(reviewers, contents.committee, people.same)
    remarks += people.remarks(inputs / "reviewers.csv.people.csv")
    return replace(contents, fitted=fitted, people=people), remarks


def _settings(
    folder: Path, key: Path, contents: FolderContents, grid: str | None, wishes: InitialSettings
) -> dict[str, Value]:
    number = parse_paper_counts("`accept`", wishes.accept)
    chosen: dict[str, Value | None] = {
        "conference": folder.name,
        **contents.settings,
        "grid": grid,
        "better": wishes.better,
        "scores": wishes.scores,
        "accept-rate": wishes.accept_rate,
        "accept": wishes.accept if isinstance(number, dict) else number,
        **_guarantee_settings(contents.source),
        "key": os.path.relpath(key, folder),
        "out": RELEASES_FOLDER,
        "numbered": True,
    }
    return {name: value for name, value in chosen.items() if value is not None}


def _guarantee_settings(source: str | None) -> dict[str, str | float | None]:
    """The guarantee of a new folder: what is usual for the source, or nothing while that is open."""
    if source is None:
        return {}
    return guarantee_settings(Guarantee() if source == PAST else Guarantee(WITHOUT_HISTORY))


def _remarks(contents: FolderContents, folder: Path, given: SourceFiles) -> list[str]:
    """Reviewers who are not on the committee, and rows of a file that are about nobody or nothing known."""
    if contents.imported is None:
        return []
    reviews, inputs = contents.imported.reviews, folder / INPUTS
    remarks = unlisted_remarks(reviews, contents.committee, str(given.reviews), inputs)
    remarks += similar_id_warnings(reviews, str(given.reviews))
    if given.conflicts is None and given.pools is None:
        return remarks
    # Without a calibration nobody is known yet whose name could be spelled differently.
    known: Collection[str] = {who for _, who in contents.conflicts}
    if contents.fitted is not None:
        known = contents.fitted.roster
    elif "reviewers" in contents.files:
        known = read_reviewers(contents.files["reviewers"])
    pools = folder / str(contents.settings["pools"])
    return [*remarks, *stray_remarks(pools, reviews.papers, known, str(given.reviews))]


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
