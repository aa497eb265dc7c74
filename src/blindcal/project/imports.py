"""Files brought into a conference's folder at any time; earlier files are kept.

`read_import` reads files, checks them together with what the folder holds, and says what would be written;
`write_import` writes it. A file whose place in `inputs` is taken goes to `inputs/correction-1`, and so on;
`conference.toml`, which names the current files, is replaced last and at once. So an interrupted import
changes nothing that a command reads.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from blindcal.deciding.ledger import ledger_folder
from blindcal.deciding.publish import latest_release
from blindcal.errors import InputError, Problem
from blindcal.exporters.formats import read_decided, table_of
from blindcal.fitting.committee import read_committee, read_names
from blindcal.fitting.history import in_year_order
from blindcal.fitting.received_sums import has_share_statement
from blindcal.importers import MAX_EXPORT
from blindcal.importers.cmt import read_statuses
from blindcal.importers.normalize import Imported, coded, withdrawn_lines
from blindcal.importers.open import open_export
from blindcal.importers.people import new_codes, read_codes
from blindcal.importers.raw_export import LISTED_BY_HAND, METAREVIEWS, Choices
from blindcal.io.atomic_files import (
    is_release_folder,
    lock,
    make_folder,
    read_bytes,
    write_bytes,
    write_table,
)
from blindcal.io.cells import count, normalize_id
from blindcal.io.tables import decode_utf8, input_error
from blindcal.planning.remarks import OUTSIDE_EVIDENCE
from blindcal.pools.candidates import (
    CAUSES,
    EVERYONE,
    Pools,
    conflicts_in,
    everyone,
    papers_in,
    pools_of,
    refuse_other_papers,
)
from blindcal.posterior.conference import Parameters, Sources, read_reviewers, refuse_mismatches
from blindcal.posterior.inputs import PAST
from blindcal.posterior.reuse_guard import Fingerprint, fingerprint_of_reviews, refuse_reused, reuse_warnings
from blindcal.posterior.this_year_inputs import read_evidence
from blindcal.project.contents import (
    INPUTS,
    FolderContents,
    Source,
    check_files,
    check_scores,
    check_sources,
    file_of,
    left_out,
    past_table,
    read_contents,
    refuse_other_lists,
    unlisted_remarks,
)
from blindcal.project.settings import FILE, Folder, Value, grid_text, toml_value, with_settings
from blindcal.reviewers.calibration import ANYONE
from blindcal.reviews import Reviews, grid_warnings, missing_withdrawn_warnings, similar_id_warnings

Notes = Mapping[str, Mapping[str, str | None]]
"""Lines about papers under the headings of conference.toml: by heading, then by paper; None for none."""
CALIBRATING = frozenset(("reviews", "past", "committee", "same"))
"""What a calibration from past years follows from."""
CALIBRATED: Mapping[str, Value] = {"pools": EVERYONE, "reviewers": f"{INPUTS}/reviewers.csv"}
"""What a folder says besides if past years or a table calibrate reviewers."""
_PAST = re.compile(r"past/[^/]+\.csv")


@dataclass(frozen=True)
class FolderImport:
    """What an import brings into a folder. CONFIDENTIAL."""

    sources: tuple[Source, ...]  # the files and what each was taken for
    contents: FolderContents  # what they hold
    # Where each file goes, relative to the folder, by its name in `inputs`; those whose bytes the folder has
    # already are left out
    places: Mapping[str, str]
    settings: Mapping[str, Value]  # the settings that change
    # What became of each paper that the export calls withdrawn, if it is not listed yet
    withdrawn: Mapping[str, str] = field(default_factory=dict)
    # The code of each reviewer, and of everyone coded before; None if reviewers keep their ids
    codes: Mapping[str, str] | None = None
    # The names of those people, as far as they are known
    names: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()  # what the chair should know, a sentence each
    refusals: tuple[str, ...] = ()  # what `plan` would refuse, in its words; they name nobody


def read_import(
    folder: Folder,
    sources: Sequence[Source],
    choices: Choices,
    *,
    keep: Collection[str] = (),
    codes: Path | None = None,
) -> FolderImport:
    """Read files and check them with what a folder holds; nothing is written. No file: the folder as it is.

    `keep`: papers to decide though the export calls them withdrawn, desk rejected, deleted or decided.
    `codes`: a table of codes that replace reviewers' ids; people in it keep theirs.
    """
    check_sources(sources)
    contents, remarks = _contents_for(folder, sources, choices)
    known, names = None, dict[str, str]()
    if codes is not None:
        contents, known, names = _coded_contents(contents, codes)
    imported = contents.imported
    this_year = folder_reviews(folder) if imported is None else imported.reviews
    settings: dict[str, Value] = {}
    if imported is not None:
        remarks += _conflict_remarks(folder, contents)
        settings |= {} if "grid" in folder.settings else {"grid": grid_text(imported.reviews.grid)}
    grid = folder.text("grid") or None
    remarks += check_scores(contents, grid)
    check_files(contents)
    if this_year is not None:
        refuse_other_lists(contents, file_of(sources, "conflicts") or "the conflicts", this_year.papers)
        if "pools" not in contents.files and not contents.conflicts:
            own = folder.text("pools")
            refuse_other_papers(own, papers_in(own) if os.path.isfile(own) else (), this_year.papers)
        remarks += (*reuse_warnings(_past_fingerprints(folder, contents), this_year),)
    statuses = {**({} if imported is None else imported.withdrawn), **_statuses(sources, this_year)}
    papers = () if this_year is None else this_year.papers
    if statuses or imported is not None:
        statuses = left_out(statuses, papers, keep, _released_papers(folder))
    withdrawn = {paper: status for paper, status in statuses.items() if paper not in folder.withdrawn}
    remarks += (*_restored_remarks(folder, contents), *_left_remarks(folder, contents))
    remarks += _evidence_remarks(folder, contents, this_year, {**folder.withdrawn, **withdrawn})
    places, unchanged = _file_places(folder, contents.data)
    named = input_settings(places, [_folder_relative(folder, path) for path in folder.past])
    if named.keys() & {"past", "reviewers"}:
        named = {**{k: v for k, v in CALIBRATED.items() if k not in folder.settings}, **named}
    settings |= {name: value for name, value in named.items() if not _is_set_already(folder, name, value)}
    written = {name: target for name, target in places.items() if name not in unchanged}
    looked, refusals = _plan_checks(folder, contents, this_year, sources, {**folder.withdrawn, **withdrawn})
    remarks = (*remarks, *looked)
    return FolderImport(
        tuple(sources), contents, written, settings, withdrawn, known, names, remarks, refusals
    )


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


def _statuses(sources: Sequence[Source], reviews: Reviews | None) -> dict[str, str]:
    """What a list of submissions says became of papers that have reviews."""
    if not (file := file_of(sources, "statuses")):
        return {}
    if reviews is None:
        raise InputError(f"{file} says what became of papers: import it once reviews are in")
    statuses = read_statuses(open_export(read_bytes(file, MAX_EXPORT), file))
    return {paper: statuses[paper] for paper in reviews.papers if paper in statuses}


def papers_of(text: str) -> list[str]:
    """The papers that a text such as `4, 9,17` names."""
    return [normalize_id(paper.strip()) for paper in text.split(",") if paper.strip()]


def write_import(folder: Folder, brought: FolderImport, codes: Path | None = None) -> None:
    """Write what `read_import` returned: files first, and conference.toml at the end.

    `codes`: the table of codes, if there is one; it is written before anything that has codes.
    """
    with lock(folder.file):
        gone = {paper: f"{status}, as the export says" for paper, status in brought.withdrawn.items()}
        notes = {"withdrawn": gone}
        text = edited_settings(folder.path, brought.settings, notes)
        if codes is not None and brought.codes is not None:
            _write_codes(codes, brought.codes, brought.names)
        data = brought.contents.data
        for name, path in brought.places.items():
            target = folder.path / path
            for parent in (*reversed(target.relative_to(folder.path).parents),):
                make_folder(folder.path / parent)
            if not target.exists():
                write_bytes(target, data[name], confidential=True)
        if brought.settings or brought.withdrawn:
            write_bytes(folder.file, text.encode(), confidential=True, replace=True)


def edited_settings(folder: Path, settings: Mapping[str, Value | None], notes: Notes | None = None) -> str:
    """The text of a folder's conference.toml with other settings; the chair's comments and lines stay.

    `notes`: lines about papers, by the name of their table; None takes the line of a paper from there.
    """
    file = folder / FILE
    text = with_settings(decode_utf8(read_bytes(file), str(file)), settings)
    for table, lines in (notes or {}).items():
        text = _with_paper_lines(text, table, lines) if lines else text
    # An inline table, say, cannot be replaced line by line.
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        content = {}
    wrong = [name for name, value in settings.items() if content.get(name) != value]
    wrong += [
        table
        for table, lines in (notes or {}).items()
        if any(content.get(table, {}).get(paper) != line for paper, line in lines.items())
    ]
    if wrong:
        raise InputError(f"{file}: cannot be edited at {', '.join(wrong)}: write it as a new file has it")
    return text


def _with_paper_lines(text: str, table: str, lines: Mapping[str, str | None]) -> str:
    """The text with these lines about papers under the heading of a table, in place of others about them."""
    parts = re.split(r"(?m)^(?=[ \t]*\[)", text)
    places = [index for index, part in enumerate(parts) if part.lstrip().startswith(f"[{table}]")]
    if not places:
        places, parts = [len(parts) + 1], [*parts, "\n", f"[{table}]\n"]
    heading, *others = parts[places[0]].splitlines()
    added = [f"{toml_value(paper)} = {toml_value(line)}" for paper, line in lines.items() if line is not None]
    kept = [line for line in others if _paper_of_line(line) not in lines]
    parts[places[0]] = "".join(f"{line}\n" for line in (heading, *added, *kept))
    return "".join(parts)


def _paper_of_line(line: str) -> str | None:
    try:
        return next(iter(tomllib.loads(line)), None)
    except tomllib.TOMLDecodeError:
        return None


def free_place(folder: Path, name: str) -> str:
    """Where a further file `name` goes, relative to the folder: the next `inputs/correction-<n>`."""
    number = 1
    while os.path.lexists(folder / INPUTS / f"correction-{number}"):
        number += 1
    return f"{INPUTS}/correction-{number}/{name}"


def decided(folder: Folder) -> bool:
    """Whether papers were decided in a folder, by what it published or by the record beside its key."""
    out, key = folder.text("out"), folder.text("key")
    sealed = bool(key) and ledger_folder(key).exists()
    return sealed or latest_release(out) is not None or os.path.lexists(Path(out) / "certificate.json")


def fit_follows(folder: Folder, sources: Sequence[Source], contents: FolderContents | None = None) -> bool:
    """Whether an import gives occasion to fit reviewers: all that it takes is there, and nothing is decided.

    `contents`: what the files hold, if the folder does not have it yet.
    """
    brought = contents or FolderContents()
    has = {name for name in ("reviews", "committee", "evidence") if name in folder.settings}
    has |= {"reviews"} if brought.imported else set()
    has |= {"committee"} if brought.committee else set()
    past = bool(folder.past or brought.past) and folder.text("source") in ("", PAST)
    occasion = {source.kind for source in sources} & CALIBRATING
    return bool(occasion) and past and has == {"reviews", "committee"} and not decided(folder)


def _contents_for(
    folder: Folder, sources: Sequence[Source], choices: Choices
) -> tuple[FolderContents, tuple[str, ...]]:
    """What the files hold, without what an export lists beside its reviews and the folder has its own of."""
    contents, remarks = read_contents(sources, choices)
    kinds = {source.kind for source in sources}
    if "committee" in folder.settings and "committee" not in kinds:
        contents = replace(contents, committee={})
    own_pools = "reviews" in folder.settings or folder.text("pools") not in ("", EVERYONE)
    if "conflicts" not in kinds and own_pools:
        contents = replace(contents, conflicts=())
    return contents, remarks


def _coded_contents(
    contents: FolderContents, table: Path
) -> tuple[FolderContents, dict[str, str], dict[str, str]]:
    """The contents with codes in place of reviewers' ids, and the code and the name of everyone.

    Codes are those of the `table`, if it is there, and new ones for everyone else.
    """
    if plain := [name for name in ("pools", "reviewers", "same") if name in contents.files]:
        raise InputError(f"--codes cannot be given for {plain[0]}: the ids in that file stay as they are")
    past = {name: export for name, export in contents.past.items() if isinstance(export, Imported)}
    if len(past) < len(contents.past):
        raise InputError("--codes needs a table of reviews for each past conference")
    codes, names = dict[str, str](), dict[str, str]()
    if table.exists():
        codes, names = read_codes(read_bytes(table), str(table)), read_names(table)
    exports = [*past.values(), *([contents.imported] if contents.imported else [])]
    for listed in (*(export.committee for export in exports), contents.committee):
        names |= {who: name for who, name in listed.items() if name}
    codes |= new_codes([*contents.committee, *(who for _, who in contents.conflicts)], codes)
    for export in exports:
        codes |= coded(export, codes)[1]
    in_codes = replace(
        contents,
        imported=coded(contents.imported, codes)[0] if contents.imported else None,
        past={name: coded(export, codes)[0] for name, export in past.items()},
        committee={codes[who]: "" for who in contents.committee},
        conflicts=sorted((paper, codes[who]) for paper, who in contents.conflicts),
    )
    return in_codes, codes, names


def imported_lines(brought: FolderImport) -> list[str]:
    """What each file was taken for, how much it holds, and what was dropped or left out; it names nobody."""
    contents, imported = brought.contents, brought.contents.imported
    lines = list[str]()
    if imported is not None:
        reviews, field = imported.reviews, imported.confidence_field
        papers, people = count(len(reviews.papers), "paper"), count(len(reviews.reviewers), "reviewer")
        lines += [
            f"recognized: {'; '.join(imported.recognized)}",
            f"score: {imported.score_field}, with the values {imported.scale}",
            *([] if field is None else [f"confidence: {field}"]),
            f"{count(len(reviews), 'review')} of {papers} by {people}",
            *(f"dropped: {item}" for item in imported.dropped),
        ]
    undo = "(delete the line under [withdrawn] to decide it after all)"
    lines += [f"left out of the decisions: {line} {undo}" for line in withdrawn_lines(brought.withdrawn)]
    warnings = () if imported is None else imported.warnings
    lines += [f"note: {line}" for line in warnings]
    lines += [f"committee: {count(len(contents.committee), 'member')}"] if contents.committee else []
    lines += [f"conflicts: {len(contents.conflicts):,}"] if contents.conflicts else []
    years = dict[str, list[str]]()
    for name, past in contents.past.items():
        table, left, field = past_table(past), "", ""
        if isinstance(past, Imported):
            left = "".join(f"; {item.what} left out" for item in past.dropped if item.why == METAREVIEWS)
            same = imported is not None and imported.score_field == past.score_field
            field = "" if same else f", score {past.score_field}"
            for line in past.warnings:
                if LISTED_BY_HAND not in line and line not in warnings:  # past papers are not decided
                    years.setdefault(line, []).append(name)
        number = count(len(table), "review") if isinstance(table, Reviews) else "sums that it shared"
        lines.append(f"past: {name}, {number}{field}{left}")
    return [*lines, *(f"note: {', '.join(names)}: {line}" for line, names in years.items())]


def _write_codes(path: Path, codes: Mapping[str, str], names: Mapping[str, str]) -> None:
    columns = {"code": list(codes.values()), "reviewer": list(codes)}
    if any(names.values()):
        columns["name"] = [names.get(person, "") for person in codes]
    write_table(path, columns, confidential=True, replace=True)


def folder_reviews(folder: Folder) -> Reviews | None:
    """This year's reviews as the folder has them, withdrawn papers included."""
    if "reviews" not in folder.settings:
        return None
    return Reviews.read(folder.text("reviews"), grid=folder.grid)


def _past_fingerprints(folder: Folder, contents: FolderContents) -> list[Fingerprint]:
    """The digests of past reviews: those that the folder has and that stay, and those brought."""
    kept = [path for path in map(Path, folder.past) if path.stem not in contents.past and path.exists()]
    past = {path.stem: Reviews.read(path) for path in kept if not has_share_statement(path)}
    past |= contents.past_reviews
    return [fingerprint_of_reviews(reviews, name) for name, reviews in past.items()]


def _folder_relative(folder: Folder, path: str) -> str:
    """A file as conference.toml names it."""
    base = os.path.realpath(folder.path) if folder.path.is_symlink() else folder.path
    return Path(os.path.relpath(path, base)).as_posix()


def _file_places(folder: Folder, data: Mapping[str, bytes]) -> tuple[dict[str, str], set[str]]:
    """Where each file goes, relative to the folder, and which of them the folder has already."""
    places, unchanged = dict[str, str](), set[str]()
    for table in [name for name in data if name.endswith(".csv")]:
        # What lies beside a table goes where it goes.
        files = {name: data[name] for name in data if name == table or name.startswith(f"{table}.")}
        current, target = _current_file(folder, table), f"{INPUTS}/{table}"
        if current is not None and _holds(folder.path / current, table, files):
            target = current
            unchanged |= files.keys()
        elif not _holds(folder.path / target, table, files, free=True):
            target = free_place(folder.path, table)
        places |= {name: f"{target}{name.removeprefix(table)}" for name in files}
    return places, unchanged


def _holds(target: Path, table: str, files: Mapping[str, bytes], *, free: bool = False) -> bool:
    """Whether a `target` for a `table` and the files beside it has their bytes, or is `free` to take them."""
    paths = {Path(f"{target}{name.removeprefix(table)}"): data for name, data in files.items()}
    return all(read_bytes(path) == data if os.path.lexists(path) else free for path, data in paths.items())


def _current_file(folder: Folder, table: str) -> str | None:
    """The file that conference.toml names for a table of `inputs`, relative to the folder; None without."""
    name = Path(table).stem
    if table.startswith("past/"):
        path = next((path for path in folder.past if Path(path).stem == name), "")
    else:
        path = folder.text("pools" if name == "conflicts" else name)
    return None if path in ("", EVERYONE) else _folder_relative(folder, path)


def _is_set_already(folder: Folder, name: str, value: Value) -> bool:
    current = folder.settings.get(name)
    if isinstance(current, tuple):
        return [_folder_relative(folder, path) for path in current] == value
    return current is not None and current != EVERYONE and _folder_relative(folder, str(current)) == value


def _conflict_remarks(folder: Folder, contents: FolderContents) -> tuple[str, ...]:
    """Conflicts of an export that are not taken over, since the folder has its own."""
    pools, imported = folder.text("pools") or EVERYONE, contents.imported
    brought = contents.conflicts or "pools" in contents.files
    if imported is None or not imported.conflicts or brought or conflicts_in(pools) == {*imported.conflicts}:
        return ()
    return (
        f"conflicts in the export differ from {pools}, which stays: import them with --as conflicts if they "
        "are the right ones",
    )


def _released_papers(folder: Folder) -> set[str]:
    """The papers of the latest release: what a system calls decided there are blindcal's own decisions."""
    out = folder.text("out")
    release = (latest_release(out) if folder.numbered else Path(out)) if out else None
    table = None if release is None else table_of(release)
    if table is not None:
        return {decided.paper for decided in read_decided(table)}
    # Confidential advice is in no public table: its papers are those that were read last.
    reviews = folder_reviews(folder) if release is not None and is_release_folder(release) else None
    return set() if reviews is None else {*reviews.papers}


def _restored_remarks(folder: Folder, contents: FolderContents) -> tuple[str, ...]:
    """Papers that an earlier export called withdrawn, and this one does not."""
    if contents.imported is None:
        return ()
    said = {paper for paper, why in folder.withdrawn.items() if why.endswith("as the export says")}
    back = said - contents.imported.withdrawn.keys()
    if not back:
        return ()
    papers = f"{count(len(back), 'paper')} that this export does not call withdrawn or decided"
    return (f"{folder.file} lists {papers} under [withdrawn]: delete the line of a paper to decide it",)


def _left_remarks(folder: Folder, contents: FolderContents) -> tuple[str, ...]:
    """Members of the folder's committee who are not on the list that takes its place; nobody is named."""
    listed = folder.text("committee")
    if not contents.committee or not os.path.isfile(listed):
        return ()
    number = len(read_committee(listed).keys() - contents.committee.keys())
    who = f"{_people_words(number)} of {listed} {'is' if number == 1 else 'are'} not in this list"
    return (f"{who}: give all lists together if they are to add up",) if number else ()


def _evidence_remarks(
    folder: Folder, contents: FolderContents, reviews: Reviews | None, withdrawn: Mapping[str, str]
) -> tuple[str, ...]:
    """What to know of evidence that another method made, once the files are there."""
    if "evidence" in contents.files:
        if reviews is None:
            raise InputError(
                f"{folder.path} has no reviews yet: evidence must list each of their papers once"
            )
        read_evidence(contents.files["evidence"], reviews.without(withdrawn), withdrawn)
        unused = "past reviews and reviewers are not used while `evidence` is set"
        return (OUTSIDE_EVIDENCE, *([unused] if folder.past or "reviewers" in folder.settings else []))
    own = folder.text("evidence")
    if contents.imported is None or reviews is None or not os.path.isfile(own):
        return ()
    try:
        read_evidence(own, reviews.without(withdrawn), withdrawn)
    except InputError as error:
        return (
            f"{error}. `blindcal import {folder.path} FILE --as evidence` brings evidence about all papers",
        )
    return ()


def _plan_checks(
    folder: Folder,
    contents: FolderContents,
    reviews: Reviews | None,
    sources: Sequence[Source],
    withdrawn: Mapping[str, str],
) -> tuple[list[str], tuple[str, ...]]:
    """What to look at in this year's reviews, and what `plan` would refuse once the files are there.

    Before there is a calibration, `plan` refuses nothing, and reviewers on no committee are looked at. One
    that will be fitted has a row for everyone on the committee.
    """
    if reviews is None:
        return [], ()
    file = file_of(sources, "reviews") or folder.text("reviews")
    kept = reviews.without(withdrawn)
    remarks = [*missing_withdrawn_warnings(reviews, withdrawn, file), *similar_id_warnings(kept, file)]
    remarks += grid_warnings(kept) if kept.grid_declared else []
    listed = folder.text("committee")
    committee = contents.committee or (read_committee(listed) if os.path.exists(listed) else {})
    reviewers = contents.files.get("reviewers", Path(folder.text("reviewers")))
    fitted = fit_follows(folder, sources, contents)
    unlisted = unlisted_remarks(kept, committee, file, folder.path / INPUTS)
    if not fitted and not reviewers.is_file():
        return [*remarks, *unlisted], ()
    try:
        rows: Parameters = dict.fromkeys((*committee, ANYONE), ())
        parameters = rows if fitted else read_reviewers(reviewers)
        if not fitted:
            refuse_reused(reviewers, parameters, kept)
        pools, named = _pools_afterward(folder, contents, kept.papers, [*parameters])
        refuse_mismatches(kept, parameters, pools, Sources(file, str(reviewers), named, contents.conflicts))
    except InputError as error:
        listing = listed if not contents.committee else str(folder.path / INPUTS / "committee.csv")
        past = bool(folder.past or contents.past)
        return remarks, tuple(str(_in_folder_words(error, folder, listing, committee, past)).split("\n"))
    return [*remarks, *unlisted], ()


def _pools_afterward(
    folder: Folder, contents: FolderContents, papers: Sequence[str], people: Sequence[str]
) -> tuple[Pools, str]:
    """Who may have reviewed what once the files are there, and the name of the file that says so."""
    if contents.conflicts and "pools" not in contents.files:
        members = sorted({*people} - {ANYONE})
        return everyone(papers, members, contents.conflicts), str(folder.path / INPUTS / "conflicts.csv")
    source = str(contents.files.get("pools", folder.text("pools") or EVERYONE))
    return pools_of(source, papers, people), f"`pools` {EVERYONE}" if source == EVERYONE else source


# --- Reviewers whom no pool holds: messages name nobody, and a file for the chair alone names them

UNKNOWN_REVIEWERS_FILE = "CONFIDENTIAL-unknown-reviewers.csv"
_UNKNOWN_COLUMNS = ("paper", "reviewer", "cause", "nearest")
_COMPLETE = (
    "complete the list in full, from who was invited and without looking at who reviewed: adding only those "
    "who are missing would reveal who they are"
)


@contextmanager
def unknown_reviewers_listed(folder: Folder) -> Iterator[None]:
    """Lists reviewers whom no pool holds in a file beside the reviews, for the chair alone.

    Within the block, an error about such reviewers says where the file is, never in the public folder, and
    what to do.
    """
    try:
        yield
    except InputError as error:
        if not error.confidential:
            raise
        refusal = _in_folder_words(error, folder, folder.text("committee"), None, bool(folder.past))
        listing = _list_unknown_reviewers(
            error, Path(folder.text("reviews")).with_name(UNKNOWN_REVIEWERS_FILE), folder
        )
        raise InputError(f"{refusal}\n{listing}", refusal.problems) from None


def plan_refusals(folder: Folder) -> tuple[str, ...]:
    """What `plan` would refuse in a folder that has a calibration, in the same words; they name nobody."""
    return _plan_checks(folder, FolderContents(), folder_reviews(folder), (), folder.withdrawn)[1]


def _in_folder_words(
    error: InputError, folder: Folder, committee: str, members: Collection[str] | None, past: bool
) -> InputError:
    """The same error in words of the folder, if everyone without a conflict is a candidate; it names nobody.

    Then a reviewer whom no pool holds is not on the committee, or has joined it since the calibration was
    made. `committee`: its file, or nothing; `members`: who is on it; `past`: whether there are past years.
    """
    pools, reviewers = map(folder.text, ("pools", "reviewers"))
    missing = {who for _, who, cause, _ in error.confidential if cause == "pool"}
    if not missing or not (pools == EVERYONE or conflicts_in(pools)) or not (committee or past):
        return error
    others = [problem for problem in error.problems if problem.rule != CAUSES["pool"][2]]
    fit = f"`blindcal fit {folder.path}`" if past else f"give everyone on it a row in {reviewers}"
    if members is None:
        members = read_committee(committee) if committee else ()
    if not members:
        rule = "must have a row for everyone who may have reviewed"
        file, number = reviewers, f"{_people_words(len(missing))} missing"
        bring = f"`blindcal import {folder.path} FILE --as committee`"
        advice = f"it was fitted without a committee: {bring}, then {fit}"
    elif unlisted := len(missing - {*members}):
        rule = "must list everyone who may have reviewed"
        number = f"{_people_words(unlisted)} missing who reviewed"
        file, advice = committee, f"{_COMPLETE}. Then {fit}"
    else:
        without = len({*members} - {*read_reviewers(reviewers)})
        rule, number = f"must have a row for everyone in {committee}", f"{_people_words(without)} without one"
        file, advice = reviewers, f"the committee has changed since: {fit}"
    refusal = input_error([*others, Problem(file, None, "reviewer", rule, number)])
    return InputError(f"{refusal}\n{advice}", refusal.problems)


def _people_words(number: int) -> str:
    return "1 person" if number == 1 else f"{number:,} people"


def _list_unknown_reviewers(error: InputError, path: Path, folder: Folder) -> str:
    """Write the file, and return a sentence about it."""
    if folder.text("out") and Path(folder.text("out")).resolve() in path.resolve().parents:
        return f"their names are not written down: {path.parent} is in the `out` folder, which you will share"
    ours = path.is_file() and read_bytes(path).startswith(",".join(_UNKNOWN_COLUMNS).encode())
    if path.exists() and not ours:
        return f"their names are not written down: {path} already exists"
    columns = dict(zip(_UNKNOWN_COLUMNS, zip(*error.confidential, strict=True), strict=True))
    try:
        write_table(path, columns, confidential=True, replace=True)
    except OSError as problem:
        return f"their names cannot be written to {path}: {problem.strerror}"
    return f"their names, and the closest known names: {path} (CONFIDENTIAL, never share)"
