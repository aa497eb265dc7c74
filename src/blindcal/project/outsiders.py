"""Reviewers whom no pool holds: messages name nobody, and a file for the chair alone names them.

`unknown_reviewers_listed` writes that file when a command refuses such reviews; `plan_refusal` says the
same without writing anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from blindcal.assignment.candidates import CAUSES, EVERYONE, conflicts_in
from blindcal.errors import InputError, Problem
from blindcal.fitting.committee import read_committee
from blindcal.io.atomic_files import read_bytes, write_table
from blindcal.io.tables import input_error
from blindcal.posterior.conference import read_reviewers, refuse_mismatches
from blindcal.posterior.inputs import read_inputs
from blindcal.project.settings import Folder, parse_grid
from blindcal.reviews import Reviews

UNKNOWN_REVIEWERS_FILE = "CONFIDENTIAL-unknown-reviewers.csv"
_COLUMNS = ("paper", "reviewer", "cause", "nearest")
_COMPLETE = (
    "complete the list in full, from who was invited and without looking at who reviewed: adding only those "
    "who are missing would reveal who they are"
)


@contextmanager
def unknown_reviewers_listed(reviews: Path, out: Path | None, folder: Folder | None = None) -> Iterator[None]:
    """Lists reviewers whom no pool holds in a file beside the reviews, for the chair alone.

    Within the block, an error about such reviewers says where the file is.

    `out`: the public folder, in which the file must not lie. `folder`: the conference's folder, if the files
    are its own; the error then says what to do there.
    """
    try:
        yield
    except InputError as error:
        if not error.confidential:
            raise
        refusal = error if folder is None else in_folder_words(error, folder)
        listing = _listed(error, reviews.parent / UNKNOWN_REVIEWERS_FILE, out)
        raise InputError(f"{refusal}\n{listing}", refusal.problems) from None


def plan_refusal(folder: Folder) -> InputError | None:
    """What `plan` would refuse in a folder that has a calibration, in the same words; None if nothing.

    It names nobody, and nothing is written.
    """
    reviews, reviewers, pools, grid = (
        str(folder.settings.get(name, "")) for name in ("reviews", "reviewers", "pools", "grid")
    )
    try:
        inputs = read_inputs(
            reviews, reviewers, pools, grid=parse_grid(grid or None), withdrawn=folder.withdrawn
        )
        refuse_mismatches(inputs.reviews, inputs.parameters, inputs.pools, inputs.sources)
    except InputError as error:
        return in_folder_words(error, folder)
    return None


def in_folder_words(error: InputError, folder: Folder, members: Collection[str] | None = None) -> InputError:
    """The same error in words of the folder, if everyone without a conflict is a candidate.

    Then a reviewer whom no pool holds is not on the committee, or has joined it since the calibration was
    made. The error names nobody.

    `members`: the committee; by default that of the folder.
    """
    committee, pools, reviewers = (
        str(folder.settings.get(name, "")) for name in ("committee", "pools", "reviewers")
    )
    missing = {who for _, who, cause, _ in error.confidential if cause == "pool"}
    if not missing or not committee or not (pools == EVERYONE or conflicts_in(pools)):
        return error
    others = [problem for problem in error.problems if problem.rule != CAUSES["pool"][2]]
    past = bool(folder.settings.get("past"))
    fit = f"`blindcal fit {folder.path}`" if past else f"give everyone on it a row in {reviewers}"
    listed = {*(read_committee(committee) if members is None else members)}
    if unlisted := len(missing - listed):
        rule, number = "must list everyone who may have reviewed", f"{_people(unlisted)} missing who reviewed"
        file, advice = committee, f"{_COMPLETE}. Then {fit}"
    else:
        without = len(listed - {*read_reviewers(reviewers)})
        rule, number = f"must have a row for everyone in {committee}", f"{_people(without)} without one"
        file, advice = reviewers, f"the committee has changed since: {fit}"
    refusal = input_error([*others, Problem(file, None, "reviewer", rule, number)])
    return InputError(f"{refusal}\n{advice}", refusal.problems)


def _people(number: int) -> str:
    return "1 person" if number == 1 else f"{number:,} people"


def unlisted_remarks(reviews: Reviews, committee: Collection[str], file: str, inputs: Path) -> list[str]:
    """How many reviewers are not on the committee, and what to do: their papers could not be decided.

    It names nobody.

    `committee`: everyone who may have reviewed; if there is no list, there is no remark.
    """
    missing = len({*reviews.reviewers} - {*committee})
    if not committee or not missing:
        return []
    whom = "a reviewer who is" if missing == 1 else f"{missing:,} reviewers who are"
    return [
        f"{file} has {whom} not on the committee: `blindcal plan` says who, in a file for you alone. If an "
        f"id is spelled differently, correct it in {inputs}; if the list is not complete, complete "
        f"{inputs / 'committee.csv'} without looking at who reviewed"
    ]


def _listed(error: InputError, path: Path, out: Path | None) -> str:
    """Write the file, and return a sentence about it."""
    if out is not None and out.resolve() in path.resolve().parents:
        return f"their names are not written down: {path.parent} is in the `out` folder, which you will share"
    if path.exists() and not _ours(path):
        return f"their names are not written down: {path} already exists"
    columns = dict(zip(_COLUMNS, zip(*error.confidential, strict=True), strict=True))
    try:
        write_table(path, columns, confidential=True, replace=True)
    except OSError as problem:
        return f"their names cannot be written to {path}: {problem.strerror}"
    return f"their names, and the closest known names: {path} (CONFIDENTIAL, never share)"


def _ours(path: Path) -> bool:
    return path.is_file() and read_bytes(path).startswith(",".join(_COLUMNS).encode())
