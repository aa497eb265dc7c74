"""A conference's folder, made new: `conference.toml`, the inputs, the public folder, and beside it the key.

A folder may be made before reviews are in, so that the key's fingerprint can be published first, or with
every file at once: then the files are imported, as at any later time, while the folder is still staged under
another name. So either the whole folder appears or nothing does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Unpack

from blindcal.deciding.decide import refuse_other_conference
from blindcal.deciding.key import Key, make_key, read_key
from blindcal.deciding.ledger import ledger_folder, read_ledger
from blindcal.errors import BlindcalError, InputError, RefusedError
from blindcal.fitting.direction import MirroredError
from blindcal.fitting.history import in_year_order
from blindcal.importers.raw_export import Choices
from blindcal.io.atomic_files import (
    RELEASES_FOLDER,
    check_new_folder,
    make_folder,
    staged_folder,
    write_bytes,
)
from blindcal.planning.remarks import stray_remarks
from blindcal.planning.request import WHOLE, Quota, known_readers, shares
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import paper_tracks, read_reviewers
from blindcal.private_sharing import shared_folder
from blindcal.project.contents import INPUTS, Source, file_of
from blindcal.project.fit import FolderFit, fit_folder
from blindcal.project.folder import Work
from blindcal.project.imports import CALIBRATED, FolderImport, read_import, write_import
from blindcal.project.paths import copied_remarks
from blindcal.project.settings import (
    FILE,
    WITHOUT_HISTORY,
    Folder,
    Value,
    accept_setting,
    conference_text,
    guarantee_settings,
    parse_paper_counts,
    read_folder,
)
from blindcal.reviews import check_better
from blindcal.simulation.conference import RATE, SimulatedConference, example_files


@dataclass(frozen=True)
class InitialSettings:
    """The settings of a new folder beside the names of its files."""

    # Who may see the scores of all papers: `public`, everyone, or `confidential`. It has no default, and may
    # stay open only until reviews are in.
    scores: str | None = None
    # The share of papers to accept, about, such as `25%`, or exactly how many, such as `50` or
    # `main=40,short=10`; None leaves it open
    accept: str | None = None
    better: str = "high"  # the better end of the scale, `high` or `low`


@dataclass(frozen=True)
class CreatedFolder:
    """A folder as it was made. CONFIDENTIAL."""

    brought: FolderImport  # the files that it was made with, and what the chair should know of all
    fit: FolderFit | None  # the calibration, if there are this year's reviews and past ones
    settings: Mapping[str, Value]  # the settings of its `conference.toml`, by name
    key: Path  # where the key lies
    secret: Key  # the key itself


def create_folder(
    folder: Path,
    wishes: InitialSettings,
    key: Path,
    sources: Sequence[Source] = (),
    choices: Choices | None = None,
    *,
    keep: Collection[str] = (),
    **work: Unpack[Work],
) -> CreatedFolder:
    """Makes a folder, and its key if there is none: all of it is written, or nothing.

    The name of the folder is that of the conference. With reviews and past ones, reviewers are calibrated.
    `key`: where the key lies or will lie, outside the folder. `sources`, `choices`, `keep`: the files to
    import, as `read_import` takes them.
    """
    if (folder / FILE).is_file():
        raise RefusedError(
            f"{folder} exists already and is never overwritten: `blindcal import {folder} FILE` brings a "
            f"file or a correction into it, and settings are changed in {folder / FILE}"
        )
    check_new_folder(folder)
    kinds = {source.kind for source in sources}
    _check_wishes(wishes, kinds)
    check_key(key, folder)
    settings = _settings(folder, key, wishes, kinds)
    with staged_folder(folder) as staged, _named(staged, folder) as named:
        for inner in (INPUTS, RELEASES_FOLDER):
            make_folder(staged / inner)
        write_bytes(staged / FILE, conference_text(settings).encode(), confidential=True)
        empty = read_folder(staged)
        brought = read_import(empty, sources, choices or Choices(), keep=keep)
        _check_brought(brought, wishes)
        write_import(empty, brought)
        filled = read_folder(staged)
        fit, remarks = None, [*brought.remarks]
        if (in_order := in_year_order(brought.contents.past)) != [*brought.contents.past]:
            remarks.append(f"past conferences were put in the order of their years: {', '.join(in_order)}")
        if brought.contents.imported is not None and brought.contents.past:
            try:
                fit = fit_folder(filled, **work)
            except MirroredError as error:
                remarks.append(f"there is no calibration yet: {error}. Then `blindcal fit {folder}`")
        remarks += [*_stray_remarks(filled, brought, fit), *copied_remarks(folder, key)]
        secret = read_key(key) if key.exists() else make_key(key)
    refusals = tuple(map(named, brought.refusals))
    brought = replace(brought, remarks=tuple(map(named, remarks)), refusals=refusals)
    if fit is not None:
        out = Path(named(str(fit.out)))
        fit = replace(fit, out=out, remarks=tuple(map(named, fit.remarks)))
    return CreatedFolder(brought, fit, {**settings, **brought.settings}, key, secret)


@contextmanager
def _named(staged: Path, folder: Path) -> Iterator[Callable[[str], str]]:
    """What names files of a folder by the name that it will have; errors in the block do so."""

    def named(text: str) -> str:
        return text.replace(str(staged), str(folder))

    try:
        yield named
    except BlindcalError as error:
        error.args = (named(str(error)),)
        if isinstance(error, InputError):
            error.problems = tuple(replace(problem, file=named(problem.file)) for problem in error.problems)
        raise


def create_example(folder: Path, drawn: SimulatedConference) -> None:
    """Makes the folder of a simulated conference, whose scores are public."""
    with TemporaryDirectory() as scratch:
        files = {Path(scratch, name): data for name, data in example_files(drawn).items()}
        for path, data in files.items():
            path.write_bytes(data)
        sources = [Source(path, path.stem) for path in files]
        create_folder(folder, InitialSettings("public", f"{100 * RATE:g}%"), key_beside(folder), sources)


def _check_wishes(wishes: InitialSettings, kinds: Set[str]) -> None:
    """Refuse settings and kinds of files that cannot be together, before any file is read."""
    if "reviews" in kinds or wishes.scores is not None:
        known_readers(wishes.scores)
    check_better(wishes.better)
    if {"past", "reviewers"} <= kinds:
        raise InputError("give `past` or `reviewers`, not both: either calibrates the reviewers")
    if "evidence" in kinds and {"past", "reviewers"} & kinds:
        raise InputError("give `evidence` or past reviews, not both: either calibrates the papers")
    if "evidence" in kinds and "reviews" not in kinds:
        raise InputError("`evidence` needs `reviews`: it must list every paper that has some")


def _settings(folder: Path, key: Path, wishes: InitialSettings, kinds: Set[str]) -> dict[str, Value]:
    """The settings of a new folder without the names of its files."""
    rate, counts = accept_setting(wishes.accept)
    number = parse_paper_counts("`accept`", counts)
    chosen: dict[str, Value | None] = {
        "conference": folder.name,
        "better": wishes.better,
        "scores": wishes.scores,
        "accept-rate": rate,
        "accept": counts if isinstance(number, dict) else number,
        "key": os.path.relpath(key, folder),
        "out": RELEASES_FOLDER,
        "numbered": True,
    }
    # What calibrates is open as long as there are no reviews, and so is the guarantee that is usual for it.
    if "evidence" not in kinds and {"past", "reviewers", "pools"} & kinds:
        chosen |= {**CALIBRATED, **guarantee_settings(Guarantee())}
    elif "reviews" in kinds:
        chosen |= guarantee_settings(Guarantee(WITHOUT_HISTORY))
    return {name: value for name, value in chosen.items() if value is not None}


def _check_brought(brought: FolderImport, wishes: InitialSettings) -> None:
    """Refuse past years without a committee, and a number of papers that these reviews cannot have."""
    contents = brought.contents
    if contents.past and not contents.committee:
        raise InputError(
            "`past` needs `committee`: a row is fitted for everyone who may have reviewed. Those who did "
            "review must not be taken for it, since that is secret"
        )
    number = parse_paper_counts("`accept`", accept_setting(wishes.accept)[1])
    if number is None or contents.imported is None:
        return
    tracks = paper_tracks(contents.imported.reviews.without(brought.withdrawn))
    quota, listed = Quota(number), sorted({*tracks.values()} - {""})
    if quota.tracks and {*quota.tracks} != {*tracks.values()}:
        found = f"the tracks {', '.join(listed)}" if listed else "no tracks"
        some = " and papers without one" if listed and "" in tracks.values() else ""
        file = file_of(brought.sources, "reviews")
        raise InputError(f"`accept` must have a number for each track of {file}, which has {found}{some}")
    shares(quota, [track if quota.tracks else WHOLE for track in tracks.values()])


def _stray_remarks(folder: Folder, brought: FolderImport, fit: FolderFit | None) -> list[str]:
    """Rows of a given list of pools or conflicts that are about nobody or nothing known."""
    contents = brought.contents
    if contents.imported is None or not {"conflicts", "pools"} & {source.kind for source in brought.sources}:
        return []
    # Without a calibration nobody is known yet whose name could be spelled differently.
    known: Collection[str] = {who for _, who in contents.conflicts}
    if fit is not None or "reviewers" in contents.files:
        known = read_reviewers(folder.text("reviewers"))
    reviews = file_of(brought.sources, "reviews")
    return stray_remarks(folder.text("pools"), contents.imported.reviews.papers, known, reviews)


# --- The key: beside the folder, never inside, and none in the place of one that was lost


def key_beside(folder: Path) -> Path:
    """The path of the key of a `folder`, by default."""
    return folder.with_name(f"{folder.name}.key")


def check_key(key: Path, folder: Path) -> None:
    """Refuse a `key` in the `folder`, and one that was lost or could not be used, before any file is read."""
    if Path(os.path.realpath(folder)) in Path(os.path.realpath(key)).parents:
        raise InputError("`key` must not lie in the folder: packing the folder would pack the key")
    for kept, what in ((ledger_folder(key), "decisions"), (shared_folder(key), "shared sums")):
        if os.path.lexists(kept) and not os.path.lexists(key):
            raise RefusedError(
                f"{kept} holds {what} of a key that is missing: restore that key from its backup, or "
                "use another name for the new key of another conference"
            )
    if key.exists():
        refuse_other_conference(read_ledger(key, read_key(key)), folder.name)
    elif not key.parent.is_dir():
        raise InputError(f"{key.parent} must be a folder that exists")
