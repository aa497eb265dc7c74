"""The files that a chair has -> a conference's folder with all its inputs and settings, and its key.

What a chair has -> the inputs of a new folder: tables for its owner alone, and settings that name them.

A new folder that is there whole or not at all, and that only its owner can enter.

A key where no key was: never in the place of one that was lost, never in what is packed and sent.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from blindcal.assignment.candidates import pools_of
from blindcal.cells import count, number_text
from blindcal.checks import Array
from blindcal.compute.parallel import Progress, silent
from blindcal.deciding.coins import Key, make_key, read_key
from blindcal.deciding.ledger import sealed_folder
from blindcal.errors import InputError, RefusedError
from blindcal.fitting.committee import read_same
from blindcal.fitting.estimate import Fitted, fit
from blindcal.fitting.reuse_guard import beside, footprint_of, reuse_remarks
from blindcal.importers import (
    MAX_EXPORT,
    Choices,
    Imported,
    import_reviews,
    read_conflicts,
    read_people,
    team_codes,
)
from blindcal.io.atomic_files import (
    PUBLIC,
    lock,
    make_folder,
    read_bytes,
    refuse_empty,
    refuse_existing,
    write_bytes,
    write_table,
)
from blindcal.planning.conference_plan import stray_remarks
from blindcal.planning.request import known_readers
from blindcal.posterior.conference import read_reviewers
from blindcal.project.outsiders import unlisted_remarks
from blindcal.project.settings import FILE, Value, levels, papers
from blindcal.project.template import conference_text
from blindcal.reviews import known_end
from blindcal.sharing.noisy_sums import shared_folder

INPUTS = "inputs"


@dataclass(frozen=True)
class Contents:
    """What a new folder is made of. CONFIDENTIAL.

    `imported`: this year's reviews.
    `past`: those of past conferences by name, oldest first.
    `committee`: the name of everyone who may have reviewed, by id.
    `conflicts`: pairs of paper and reviewer.
    `files`: those that are taken over as they are, `pools`, `reviewers` or `same`, and where they lie now.
    `fitted`: the calibration that past reviews gave; None where there are none.
    """

    imported: Imported
    past: Mapping[str, Imported] = field(default_factory=dict)
    committee: Mapping[str, str] = field(default_factory=dict)
    conflicts: Sequence[tuple[str, str]] = ()
    files: Mapping[str, Path] = field(default_factory=dict)
    fitted: Fitted | None = None

    @property
    def tables(self) -> dict[str, Mapping[str, Sequence[object]]]:
        """The tables to write, by name; without those that would be empty."""
        imported = self.imported
        found: dict[str, Mapping[str, Sequence[object]]] = {
            "reviews": imported.columns(),
            "titles": {"paper": list(imported.titles), "title": list(imported.titles.values())},
            "tracks": {"paper": list(imported.tracks), "track": list(imported.tracks.values())},
            "committee": {"reviewer": list(self.committee)},
            "conflicts": {
                "paper": [paper for paper, _ in self.conflicts],
                "conflict": [who for _, who in self.conflicts],
            },
            **{f"past/{name}": one.columns() for name, one in self.past.items()},
        }
        return {name: table for name, table in found.items() if next(iter(table.values()))}

    @property
    def settings(self) -> dict[str, Value]:
        """The settings that name the inputs; everyone may have reviewed where nothing else is known."""
        there = {*self.tables, *self.files}
        pools = next((_file(name) for name in ("pools", "conflicts") if name in there), "everyone")
        named: dict[str, Value] = {
            name: _file(name)
            for name in ("reviews", "committee", "titles", "tracks", "same")
            if name in there
        }
        if self.past:
            named["past"] = [_file(f"past/{name}") for name in self.past]
        return {**named, "pools": pools, "reviewers": _file("reviewers")}


def _file(name: str) -> str:
    return f"{INPUTS}/{name}.csv"


def write_inputs(folder: Path, contents: Contents) -> None:
    """Write the tables and files of `contents` into `inputs` in a `folder`, for its owner alone.

    >>> from tempfile import TemporaryDirectory
    >>> imported = import_reviews(b"paper,reviewer,score\\n1,ada,2\\n2,ada,3\\n", "panel.csv")
    >>> with TemporaryDirectory() as folder:
    ...     write_inputs(Path(folder), Contents(imported, committee={"ada": "", "bo": ""}))
    ...     sorted(path.name for path in Path(folder, "inputs").iterdir())
    ['committee.csv', 'reviews.csv']
    """
    for place in (INPUTS, *([f"{INPUTS}/past"] if contents.past else [])):
        make_folder(folder / place)
    for name, table in contents.tables.items():
        write_table(folder / _file(name), table, confidential=True)
    for name, path in contents.files.items():
        write_bytes(folder / _file(name), read_bytes(path), confidential=True)
    # What a calibration was fitted on is written beside it, and must stay there.
    given = contents.files.get("reviewers")
    if given is not None and os.path.exists(beside(given)):
        write_bytes(beside(folder / _file("reviewers")), read_bytes(beside(given)), confidential=True)
    if contents.fitted is not None:
        contents.fitted.write(folder / _file("reviewers"))


def import_past(data: bytes, file: str, choices: Choices) -> Imported:
    """A past conference, read like this year's; a table that `blindcal import` wrote needs no choices.

    `data`, `file` and `choices` are as for `import_reviews`.

    >>> ours = b"paper,reviewer,score\\n1,a,3\\n2,a,2\\n"
    >>> import_past(ours, "2025.csv", Choices(score_field="OveMer")).reviews
    Reviews(2 reviews of 2 papers by 1 reviewer)
    """
    header = data[:1_000].partition(b"\n")[0].decode(errors="replace")
    own = {"paper", "reviewer", "score"} <= {name.strip().casefold() for name in header.split(",")}
    return import_reviews(data, file, Choices(people=choices.people) if own else choices)


def grid_text(grid: Array | None) -> str:
    """The scores that can be given as the text of `grid`; `none` if any number can be one.

    >>> grid_text(np.array([1.0, 2.0, 3.0])), grid_text(np.array([1.0, 3.0, 6.5])), grid_text(None)
    ('1..3', '1,3,6.5', 'none')
    """
    if grid is None:
        return "none"
    whole = bool((grid == np.floor(grid)).all()) and grid.size == grid[-1] - grid[0] + 1
    return f"{number_text(grid[0])}..{number_text(grid[-1])}" if whole else ",".join(map(number_text, grid))


_TEMPORARY = ".blindcal-new"


@contextmanager
def new_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A folder to fill, under another name: it gets its own when the block ends, and is removed if it fails.

    `path` is its own name, in a folder that exists; one that is taken is refused. What a killed run left is
    removed by the next one for the same name.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as place:
    ...     with new_folder(Path(place, "icx2027")) as filled:
    ...         _ = Path(filled, "note.txt").write_text("to do")
    ...     Path(place, "icx2027", "note.txt").read_text()
    'to do'
    """
    target = Path(path)
    check_new(target)
    with lock(target):
        _remove_stale(target)
        filled = target.with_name(f".{target.name}.{secrets.token_hex(8)}{_TEMPORARY}")
        make_folder(filled)
        try:
            yield filled
            check_new(target)
            os.rename(filled, target)
        except BaseException:
            shutil.rmtree(filled, ignore_errors=True)
            raise


def check_new(path: str | os.PathLike[str]) -> None:
    """Refuse a `path` that is taken, that has no folder to lie in, or whose name cannot be shown.

    >>> check_new("..")
    Traceback (most recent call last):
    ...
    blindcal.errors.InputError: .. must be the name of a new folder
    """
    refuse_empty(path)
    target = Path(path)
    if target.name in ("", ".", ".."):
        raise InputError(f"{target} must be the name of a new folder")
    if not target.name.isprintable():
        raise InputError(f"{target.name!a} must be a name without control or invisible characters")
    refuse_existing(target)
    if not target.parent.is_dir():
        raise InputError(f"{target.parent} must be a folder that exists")


def _remove_stale(target: Path) -> None:
    """Remove what killed runs left of this folder: nobody fills it while we hold its lock."""
    left = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}{re.escape(_TEMPORARY)}")
    for name in os.listdir(target.parent):
        if left.fullmatch(name) and (target.parent / name).is_dir():
            shutil.rmtree(target.parent / name, ignore_errors=True)


def key_beside(folder: Path) -> Path:
    """Where the key of a `folder` lies unless another place is given.

    >>> key_beside(Path("conferences/icx2027")).as_posix()
    'conferences/icx2027.key'
    """
    return folder.with_name(f"{folder.name}.key")


def new_key(path: Path) -> Key:
    """A new key in the file `path`, where no key was, and none was lost.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "icx2027.key")
    ...     new_key(path) == read_key(path)
    True
    """
    refuse_lost(path)
    return make_key(path)


def refuse_lost(path: Path) -> None:
    """A `RefusedError` if there is no key at `path` but a folder of its releases beside it: it was lost."""
    for folder, what in ((sealed_folder(path), "decisions"), (shared_folder(path), "shared sums")):
        if os.path.lexists(folder) and not os.path.lexists(path):
            raise RefusedError(
                f"{folder} holds {what} of a key that is missing: restore that key from its backup, or "
                "use another name for a new key for other conferences"
            )


def check_key(key: Path, folder: Path) -> None:
    """Refuse a `key` in the `folder`, and one that could not be used, before anything is read.

    >>> check_key(Path("icx2027/key"), Path("icx2027"))
    Traceback (most recent call last):
    ...
    blindcal.errors.InputError: `key` must not lie in the folder: whoever packs the folder would pack the key
    """
    place, inside = Path(os.path.realpath(key)), Path(os.path.realpath(folder))
    if inside in place.parents:
        raise InputError("`key` must not lie in the folder: whoever packs the folder would pack the key")
    refuse_lost(key)
    if key.exists():
        read_key(key)
    elif not key.parent.is_dir():
        raise InputError(f"{key.parent} must be a folder that exists")


@dataclass(frozen=True)
class Given:
    """The files that a chair gives; None where there is none.

    `reviews`: this year's reviews, as exported.
    `committee`: a list of everyone who may have reviewed; `past` needs it.
    `past`: reviews of past conferences, as exported, oldest first; the reviewers are calibrated from them.
    `conflicts`, `pools`: who cannot have reviewed what, or who may have; one of them, or neither.
    `reviewers`: a calibration, in place of `past`.
    `same`: a table `old,new` of people whose id changed.
    `choices`: what the exports leave open, for this year's and for past ones.
    """

    reviews: Path
    committee: Path | None = None
    past: Sequence[Path] = ()
    conflicts: Path | None = None
    pools: Path | None = None
    reviewers: Path | None = None
    same: Path | None = None
    choices: Choices = field(default_factory=Choices)


@dataclass(frozen=True)
class Wishes:
    """What the settings of the new folder say beside the names of its files.

    `scores`: who may see the scores of all papers: `public`, everyone, or `confidential`. It must be said.
    `accept_rate`: the share of papers to accept, about.
    `accept`: or exactly how many, as text such as `50` or `main=40,short=10`; neither leaves it open.
    `grid`: the scores that reviewers can give, such as `1..10`, or `none` if any number can be one; by
    default found in the scores.
    `better`: the better end of the scale, `high` or `low`.
    `keep_withdrawn`: whether papers are decided that the export calls withdrawn, desk rejected or deleted.
    """

    scores: str | None
    accept_rate: float | None = None
    accept: str | None = None
    grid: str | None = None
    better: str = "high"
    keep_withdrawn: bool = False


@dataclass(frozen=True)
class Founded:
    """A folder as it was made. CONFIDENTIAL.

    `contents`: its inputs.
    `settings`: those of its `conference.toml`, by name.
    `withdrawn`: what became of each paper that it leaves out, since the export says so.
    `key`: where the key lies; `secret` is the key itself.
    `remarks`: what the chair should know, a sentence each.
    """

    contents: Contents
    settings: Mapping[str, Value]
    withdrawn: Mapping[str, str]
    key: Path
    secret: Key
    remarks: tuple[str, ...]

    @property
    def calibrated(self) -> bool:
        """Whether its reviewers are calibrated already."""
        return self.contents.fitted is not None or "reviewers" in self.contents.files


def found_folder(
    folder: Path,
    given: Given,
    wishes: Wishes,
    key: Path,
    *,
    workers: int = 1,
    progress: Progress = silent,
) -> Founded:
    """Make the folder, and its key where there is none: all of it is written, or nothing.

    `folder`: the new folder; its name is that of the conference.
    `given`: the files that it is made from. Where past reviews are among them, reviewers are calibrated.
    `wishes`: what its settings say beside the names of its files.
    `key`: where the key lies or will lie, outside the folder.
    `workers`: how many processes share the work; results are the same.
    `progress`: called as work goes on; silent by default.

    >>> from tempfile import TemporaryDirectory
    >>> place = TemporaryDirectory()
    >>> export, folder, key = (Path(place.name) / name for name in ("panel.csv", "icx2027", "icx2027.key"))
    >>> _ = export.write_text("paper,reviewer,score\\n1,ada,2\\n2,ada,3\\n")
    >>> made = found_folder(folder, Given(export), Wishes("public", accept_rate=0.5), key)
    >>> made.settings["grid"], made.calibrated, sorted(path.name for path in folder.iterdir())
    ('2..3', False, ['conference.toml', 'inputs'])
    >>> place.cleanup()
    """
    _check_taken(folder)
    check_new(folder)
    if wishes.accept is not None and wishes.accept_rate is not None:
        raise InputError("give either `accept_rate` or `accept`")
    known_readers(wishes.scores)
    _check_files(given)
    check_key(key, folder)
    contents, remarks = read_contents(given)
    grid = wishes.grid or grid_text(contents.imported.reviews.grid)
    known_end(wishes.better)
    _check_contents(contents, grid)
    pasts = (replace(footprint_of(one.reviews), conference=name) for name, one in contents.past.items())
    remarks += (*reuse_remarks(pasts, contents.imported.reviews),)
    fitted = _fitted(contents, folder, grid, wishes.better, workers, progress)
    contents = replace(contents, fitted=fitted)
    settings = _settings(folder, key, contents, grid, wishes)
    withdrawn = {} if wishes.keep_withdrawn else contents.imported.withdrawn
    with new_folder(folder) as filled:
        write_inputs(filled, contents)
        reasons = {paper: f"{what}, as the export says" for paper, what in withdrawn.items()}
        write_bytes(filled / FILE, conference_text(settings, reasons).encode(), confidential=True)
        secret = read_key(key) if key.exists() else new_key(key)
    remarks += (*_remarks(contents, folder, given), *(() if fitted is None else fitted.checks.notes))
    return Founded(contents, settings, withdrawn, key, secret, remarks)


def read_contents(given: Given) -> tuple[Contents, tuple[str, ...]]:
    """Everything that was `given`, read and checked file by file; and what to know of it, in words.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as place:
    ...     export = Path(place, "panel.csv")
    ...     _ = export.write_text("paper,reviewer,score\\n1,ada,2\\n2,ada,3\\n")
    ...     contents, remarks = read_contents(Given(export))
    >>> contents.imported.reviews, remarks
    (Reviews(2 reviews of 2 papers by 1 reviewer), ())
    """
    choices, past = _known(given), given.past
    imported = import_reviews(read_bytes(given.reviews, MAX_EXPORT), str(given.reviews), choices)
    older = {
        name: import_past(read_bytes(path, MAX_EXPORT), str(path), choices)
        for name, path in zip(_names(past), past, strict=True)
    }
    people, pairs = dict[str, str](), imported.conflicts
    remarks: tuple[str, ...] = ()
    if given.committee is not None:
        people = read_people(
            read_bytes(given.committee, MAX_EXPORT), str(given.committee), given.choices.people
        )
    if given.conflicts is not None:
        data = read_bytes(given.conflicts, MAX_EXPORT)
        pairs, what = read_conflicts(data, str(given.conflicts), choices.people)
        remarks = (f"{given.conflicts} was read as {what}",)
    files = {"pools": given.pools, "reviewers": given.reviewers, "same": given.same}
    taken = {name: path for name, path in files.items() if path is not None}
    return Contents(imported, older, people, pairs, taken), remarks


def _names(past: Sequence[Path]) -> list[str]:
    """A name for each past conference: that of its file, with that of its folder in front if several have it.

    >>> _names([Path("2025/notes.json"), Path("2026/notes.json"), Path("2024.csv")])
    ['2025-notes', '2026-notes', '2024']
    """
    stems = Counter(path.stem for path in past)
    folders = [f"{path.resolve().parent.name}-" if stems[path.stem] > 1 else "" for path in past]
    names = [f"{folder}{path.stem}" for folder, path in zip(folders, past, strict=True)]
    if len({*names}) < len(names):
        raise InputError("files of `past` must have different names, or lie in folders of different names")
    return names


def _known(given: Given) -> Choices:
    """The choices, with the codes that a list of teams explains among the ids of known people."""
    choices, file = given.choices, given.committee
    codes = {} if file is None else team_codes(read_bytes(file, MAX_EXPORT), str(file))
    return replace(choices, people={**codes, **(choices.people or {})}) if codes else choices


def same_people(contents: Contents) -> dict[str, str]:
    """The new id of everyone whose id changed, by the old one, where `contents` have a file that says so.

    >>> from tempfile import TemporaryDirectory
    >>> imported = import_reviews(b"paper,reviewer,score\\n1,ada,2\\n2,ada,3\\n", "panel.csv")
    >>> with TemporaryDirectory() as place:
    ...     table = Path(place, "same.csv")
    ...     _ = table.write_text("old,new\\nada@old.org,ada\\n")
    ...     same_people(Contents(imported, files={"same": table}))
    {'ada@old.org': 'ada'}
    """
    return read_same(contents.files["same"]) if "same" in contents.files else {}


def _check_taken(folder: Path) -> None:
    """Refuse a folder that was made already, and say what to do instead."""
    if not (folder / FILE).is_file():
        return
    correct = f"to correct something, edit {folder / FILE} or the files in {folder / INPUTS}"
    again = (
        f", then `blindcal decide {folder} --amend`"
        if (folder / PUBLIC).exists()
        else f"; or, if nothing was decided with it, remove {folder} and make it again (`map` can give an id "
        "another spelling)"
    )
    raise RefusedError(f"{folder} exists already and is never overwritten: {correct}{again}")


def _check_files(given: Given) -> None:
    if given.past and given.reviewers is not None:
        raise InputError("give `past` or `reviewers`, not both: either calibrates the reviewers")
    if given.past and given.committee is None:
        raise InputError(
            "`past` needs `committee`: a row is fitted for everyone who may have reviewed. Those who did "
            "review must not be taken for it, since that is secret"
        )
    if given.conflicts is not None and given.pools is not None:
        raise InputError("give `conflicts` or `pools`, not both: either says who may have reviewed")


def _check_contents(contents: Contents, grid: str) -> None:
    """Refuse files that no later command could use."""
    files, reviews = contents.files, contents.imported.reviews
    known = read_reviewers(files["reviewers"]) if "reviewers" in files else contents.committee
    if "pools" in files:
        pools_of(files["pools"], reviews.papers, known)
    allowed = levels(grid)
    off = int((~np.isin(reviews.score, allowed)).sum()) if allowed else 0
    if off:
        raise InputError(
            f"`grid` {grid} must hold every score: {count(off, 'score')} of this year are not in it"
        )


def _fitted(
    contents: Contents, folder: Path, grid: str, better: str, workers: int, progress: Progress
) -> Fitted | None:
    allowed = np.array(levels(grid))
    this_year = replace(contents.imported.reviews, grid=allowed if allowed.size else None, grid_declared=True)
    same = same_people(contents)
    if not contents.past:
        return None
    return fit(
        {str(folder / INPUTS / "past" / f"{name}.csv"): one.reviews for name, one in contents.past.items()},
        committee=contents.committee,
        this_year=this_year,
        better=better,
        same=same,
        workers=workers,
        progress=progress,
    )


def _settings(folder: Path, key: Path, contents: Contents, grid: str, wishes: Wishes) -> dict[str, Value]:
    """The lines of conference.toml."""
    number = papers("`accept`", wishes.accept)
    chosen: dict[str, Value | None] = {
        "conference": folder.name,
        **contents.settings,
        "grid": grid,
        "better": wishes.better,
        "scores": wishes.scores,
        "accept-rate": wishes.accept_rate,
        "accept": wishes.accept if isinstance(number, dict) else number,
        "guarantee": "steady",
        "epsilon": 2.0,
        **_decision_words(contents),
        "key": os.path.relpath(key, folder),
        "out": PUBLIC,
        "numbered": True,
    }
    return {name: value for name, value in chosen.items() if value is not None}


def _decision_words(contents: Contents) -> dict[str, Value]:
    """What the system calls its decisions, as the latest export that has them shows."""
    latest = [contents.imported, *[*contents.past.values()][::-1]]
    words: Mapping[str, str] = next((one.decision_words for one in latest if one.decision_words), {})
    names = {"accept": "accepted", "reject": "rejected"}
    return {names[kind]: word for kind, word in words.items()}


def _remarks(contents: Contents, folder: Path, given: Given) -> list[str]:
    """Reviewers who are not on the committee, and rows of a file that are about nobody or nothing known."""
    reviews, inputs = contents.imported.reviews, folder / INPUTS
    found = unlisted_remarks(reviews, contents.committee, str(given.reviews), inputs)
    if given.conflicts is None and given.pools is None:
        return found
    # Without a calibration nobody is known yet whose name could be spelled differently.
    known: Collection[str] = {who for _, who in contents.conflicts}
    if contents.fitted is not None:
        known = contents.fitted.roster
    elif "reviewers" in contents.files:
        known = read_reviewers(contents.files["reviewers"])
    return [
        *found,
        *stray_remarks(folder / str(contents.settings["pools"]), reviews.papers, known, given.reviews),
    ]
