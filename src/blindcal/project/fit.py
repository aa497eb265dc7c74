"""The calibration of a conference's folder, fitted from the past reviews that it names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from blindcal.errors import InputError
from blindcal.fitting.committee import MatchedPeople, match_people, read_aliases, read_committee, read_names
from blindcal.fitting.estimate import Fitted, check_fit_targets, fit
from blindcal.fitting.history import fingerprint_of_past, order_remarks, past_conferences, past_people
from blindcal.fitting.received_sums import SharedSums
from blindcal.io.atomic_files import make_folder, read_bytes, refuse_published, write_table
from blindcal.io.cells import count
from blindcal.io.tables import format_table
from blindcal.posterior.reuse_guard import read_scale, reuse_warnings
from blindcal.project.contents import past_table
from blindcal.project.folder import Work, change_settings, past_better_ends
from blindcal.project.imports import decided, folder_reviews, free_place
from blindcal.project.settings import Folder
from blindcal.reviewers.calibration import Scale
from blindcal.reviews import Reviews


@dataclass(frozen=True)
class FolderFit:
    """A calibration that was fitted in a folder. CONFIDENTIAL."""

    fitted: Fitted  # the calibration
    # Who of the committee was found in past reviews; None if there is no committee
    people: MatchedPeople | None
    out: Path  # the table that it was written to
    remarks: tuple[str, ...]  # what the chair should know, a sentence each; nobody is named


def fit_folder(folder: Folder, **work: Unpack[Work]) -> FolderFit:
    """Estimates reviewers from the past conferences of a folder, and writes the table that it names."""
    reviews = folder_reviews(folder)
    if reviews is None:
        raise InputError(
            f"{folder.path} has no reviews yet: `blindcal import {folder.path} FILE` brings them"
        )
    current = out = Path(folder.required("reviewers"))
    # Once papers are decided, a further table is written.
    if frozen := decided(folder) and current.exists():
        out = folder.path / free_place(folder.path, current.name)
    else:
        check_fit_targets(out, None, replace=True)
    refuse_published(out)
    tables = _past_tables(folder)
    same = read_aliases(folder.text("same")) if "same" in folder.settings else {}
    committee = read_committee(folder.text("committee")) if "committee" in folder.settings else None
    past = {name: table for name, table in tables.items() if isinstance(table, Reviews)}
    reused = reuse_warnings(map(fingerprint_of_past, past_conferences(past)), reviews) if past else []
    people, remarks = None, list[str]()
    if committee is not None:
        names = {path: read_names(path) for path in past}
        reviewers = past_people(tables, names)
        people = match_people(committee, [*reviewers.values()], same)
        people.refuse_strangers()
        unused = same.keys() - {who for listed in reviewers.values() for who in listed}
        same = dict(people.same)
        remarks = order_remarks(reviewers, committee, same)
        if unused:
            remarks.append(f"{count(len(unused), 'id')} of {folder.text('same')} stood in no past review")
    fitted = fit(
        tables,
        committee=committee,
        this_year=None if frozen else reviews,
        better=folder.text("better"),
        past_better=past_better_ends(folder),
        same=same,
        scale=_kept_scale(current) if frozen else None,
        **work,
    )
    out = _write_calibration(fitted, folder, current, out)
    if people is not None and people.pairs:
        listing = people_listing(out)
        write_table(listing, people.columns(), confidential=True, replace=True)
        remarks += people.remarks(listing)
    if frozen:
        remarks.append(
            f"papers are decided: the calibration keeps the shift and stretch of {current}, and decisions "
            "stand. `blindcal decide` with --amend and --reason decides new papers by it"
        )
    return FolderFit(fitted, people, out, (*reused, *fitted.checks.notes, *remarks))


def people_listing(table: Path) -> Path:
    """Where `fit_folder` lists whom past ids were taken for, beside the calibration's `table`."""
    return table.with_name(f"{table.name}.people.csv")


def _past_tables(folder: Folder) -> dict[str, Reviews | SharedSums]:
    """The past conferences of a folder, oldest first: reviews, or sums that a conference shared."""
    if not folder.past:
        raise InputError(
            f"{folder.path} has no past reviews: `blindcal import {folder.path} FILE --as past` brings them"
        )
    if len({*folder.past}) < len(folder.past):
        raise InputError(f"{folder.file}: past must not name a table twice")
    return {path: past_table(Path(path)) for path in folder.past}


def _write_calibration(fitted: Fitted, folder: Folder, current: Path, out: Path) -> Path:
    """Write the calibration, and return where it is: an equal one that papers were decided with stays."""
    if out == current:
        fitted.write(out, replace=True)
        return out
    if read_bytes(current) == format_table(fitted.columns()):
        return current
    make_folder(out.parent)
    fitted.write(out)
    change_settings(folder, {"reviewers": out.relative_to(folder.path).as_posix()})
    return out


def _kept_scale(earlier: Path) -> Scale:
    scale = read_scale(earlier)
    if scale is None:
        raise InputError(
            f"papers were decided with {earlier}, which `blindcal fit` did not move to this year's scale: "
            "there is no scale to keep"
        )
    return scale
