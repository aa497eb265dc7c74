"""The files that a chair has -> a conference's folder with all its inputs and settings, and its key."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from blindcal.assignments.pools import pools_of
from blindcal.beliefs.conferences import read_reviewers
from blindcal.cells import count
from blindcal.decisions.coins import Key, read_key
from blindcal.errors import InputError, RefusedError
from blindcal.files.disk import read_bytes, write_bytes
from blindcal.files.published import PUBLIC
from blindcal.fitting.estimates import Fitted, fit
from blindcal.fitting.footprints import footprint_of, reuse_remarks
from blindcal.fitting.rosters import read_same
from blindcal.folders.asking import levels, papers
from blindcal.folders.filling import INPUTS, Contents, grid_text, import_past, write_inputs
from blindcal.folders.keys import check_key, new_key
from blindcal.folders.making import check_new, new_folder
from blindcal.folders.settings import FILE
from blindcal.folders.strangers import unlisted_remarks
from blindcal.folders.templates import Value, conference_text
from blindcal.importers import (
    MAX_EXPORT,
    Choices,
    import_reviews,
    read_conflicts,
    read_people,
    team_codes,
)
from blindcal.orientations import known_end
from blindcal.plans.remarks import stray_remarks
from blindcal.plans.requests import known_readers
from blindcal.workers import Progress, silent


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
