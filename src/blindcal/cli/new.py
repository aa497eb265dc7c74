"""`blindcal new`: a folder for a conference, from what a chair has downloaded."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from blindcal.assignments.pools import pools_of
from blindcal.beliefs.conferences import read_reviewers
from blindcal.cells import count
from blindcal.cli.completions import one_of
from blindcal.cli.console import Json, as_options, emit_json, note, progress, say
from blindcal.cli.fit import similar_listed
from blindcal.cli.folders import say_next
from blindcal.cli.imports import (
    BestFirst,
    ColumnNames,
    PeopleMap,
    ScoreField,
    System,
    WhoseSeverity,
    best_to_worst,
    known_unit,
    people_in,
)
from blindcal.cli.inputs import Accept, Grid, Rate, levels, papers
from blindcal.cli.key import new_key, refuse_lost, say_advice
from blindcal.decisions.coins import Key, read_key
from blindcal.decisions.records import sealed_folder
from blindcal.errors import InputError
from blindcal.files.disk import read_bytes, write_bytes
from blindcal.fitting.estimates import Fitted
from blindcal.fitting.estimates import fit as fit_reviews
from blindcal.fitting.footprints import footprint_of, overlap
from blindcal.fitting.rosters import read_same
from blindcal.folders.filling import INPUTS, Contents, grid_text, import_past, write_inputs
from blindcal.folders.making import check_new, new_folder
from blindcal.folders.settings import FILE, read_folder
from blindcal.folders.templates import Value, conference_text
from blindcal.importers import (
    MAX_EXPORT,
    Choices,
    import_reviews,
    read_conflicts,
    read_people,
)
from blindcal.importers.panels import columns_of
from blindcal.orientations import BETTER, known_end
from blindcal.workers import cores

_PUBLIC = "public"


def new(
    folder: Annotated[Path, typer.Argument(help="The folder to make; an existing one is never changed.")],
    reviews: Annotated[
        Path, typer.Option(help="This year's reviews, as downloaded or as a table paper, reviewer, score.")
    ],
    committee: Annotated[
        Path | None,
        typer.Option(
            help="Everyone who may have reviewed, also those who did not: a table with a column reviewer or "
            "email. Needed with --past."
        ),
    ] = None,
    past: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="<path>",
            help="Reviews of a past conference, as downloaded; repeatable, oldest first. Reviewers are "
            "calibrated from them at once.",
        ),
    ] = None,
    conflicts: Annotated[
        Path | None,
        typer.Option(help="Who cannot have reviewed what: paper, conflict, or HotCRP's bulk assignment."),
    ] = None,
    pools: Annotated[
        Path | None,
        typer.Option(help="Or who may have reviewed each paper: paper, reviewer, optionally probability."),
    ] = None,
    reviewers: Annotated[
        Path | None, typer.Option(help="A calibration that you have already, in place of --past.")
    ] = None,
    same: Annotated[
        Path | None, typer.Option(help="People whose id changed since: columns old, new.")
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(help="The key; FOLDER.key unless given. One that exists is used, else it is made."),
    ] = None,
    accept_rate: Rate = None,
    accept: Accept = None,
    grid: Grid = None,
    better: Annotated[
        str, typer.Option(help="Which scores are better, high or low.", autocompletion=one_of(BETTER))
    ] = "high",
    system: System = None,
    score_field: ScoreField = None,
    columns: ColumnNames = None,
    best_first: BestFirst = None,
    unit: WhoseSeverity = "reviewer",
    people: PeopleMap = None,
    as_json: Json = False,
) -> None:
    """Make a folder for a conference: imported reviews, calibration, settings, and beside it the key.

    Afterward `blindcal check FOLDER`, `plan FOLDER`, `decide FOLDER` and `verify FOLDER` need no other
    option: FOLDER/conference.toml has them all, each with what it means, for you to read and change.
    FOLDER/public is for what may be sent on; the key and its sealed record lie beside FOLDER. Reviews are
    read as by `blindcal import`, past ones too. All is written, or nothing.

    Example: blindcal new icx2027 --reviews export.csv --committee pc.csv --past 2026.csv --accept-rate 0.25
    """
    check_new(folder)
    if accept is not None and accept_rate is not None:
        raise InputError("give either --accept-rate or --accept")
    _check_options(past, committee, conflicts, pools, reviewers)
    choices = Choices(
        format=system,
        score_field=score_field,
        columns={} if columns is None else columns_of(columns),
        best_first=() if best_first is None else best_to_worst(best_first),
        people=people_in(people),
        unit=known_unit(unit),
    )
    key = folder.with_name(f"{folder.name}.key") if key is None else key
    _check_key(key, folder)
    given = {"pools": pools, "reviewers": reviewers, "same": same}
    files = {name: path for name, path in given.items() if path is not None}
    contents = _read(reviews, committee, conflicts, past or (), files, choices)
    scores = grid or grid_text(contents.imported.reviews.score)
    known_end(better)
    _check_given(contents, scores)
    contents = replace(contents, fitted=_fitted(contents, folder, better))
    wanted: dict[str, Value | None] = {"accept-rate": accept_rate, "accept": _number(accept)}
    settings = _settings(folder, key, contents, scores, better, wanted)
    with new_folder(folder) as filled:
        write_inputs(filled, contents)
        write_bytes(filled / FILE, conference_text(settings).encode(), confidential=True)
        made = read_key(key) if key.exists() else new_key(key)
    remarks = [*_unlisted(contents, reviews), *_similar(folder, contents)]
    facts = _facts(folder, key, made, contents, settings)
    if not as_json:
        _print(contents, facts, scores if grid is None else None)
    for remark in remarks:
        note(remark)
    if as_json:
        emit_json(facts)


def _check_options(
    past: Sequence[Path] | None,
    committee: Path | None,
    conflicts: Path | None,
    pools: Path | None,
    reviewers: Path | None,
) -> None:
    if past and reviewers is not None:
        raise InputError("give --past or --reviewers, not both: either calibrates the reviewers")
    if past and committee is None:
        raise InputError(
            "--past needs --committee: a row is fitted for everyone who may have reviewed. Those who did "
            "review must not be taken for it, since that is secret"
        )
    if conflicts is not None and pools is not None:
        raise InputError("give --conflicts or --pools, not both: either says who may have reviewed")


def _check_key(key: Path, folder: Path) -> None:
    """Refuse a key in the folder, and one that could not be used, before anything is read."""
    place, inside = Path(os.path.realpath(key)), Path(os.path.realpath(folder))
    if inside in place.parents:
        raise InputError("--key must not lie in the folder: whoever packs the folder would pack the key")
    refuse_lost(key)
    if key.exists():
        read_key(key)
    elif not key.parent.is_dir():
        raise InputError(f"{key.parent} must be a folder that exists")


def _read(
    reviews: Path,
    committee: Path | None,
    conflicts: Path | None,
    past: Sequence[Path],
    files: Mapping[str, Path],
    choices: Choices,
) -> Contents:
    """Everything that was given, read and checked."""
    imported = import_reviews(read_bytes(reviews, MAX_EXPORT), str(reviews), choices)
    if len({path.stem for path in past}) < len(past):
        raise InputError("files of --past must have different names")
    older = {path.stem: import_past(read_bytes(path, MAX_EXPORT), str(path), choices) for path in past}
    people = {} if committee is None else read_people(read_bytes(committee), str(committee), choices.people)
    pairs = imported.conflicts
    if conflicts is not None:
        pairs, what = read_conflicts(read_bytes(conflicts, MAX_EXPORT), str(conflicts), choices.people)
        note(f"{conflicts} was read as {what}")
    return Contents(imported, older, people, pairs, files)


def _check_given(contents: Contents, grid: str | None) -> None:
    """Refuse files that no later command could use."""
    files, reviews = contents.files, contents.imported.reviews
    known = read_reviewers(files["reviewers"]) if "reviewers" in files else contents.committee
    if "pools" in files:
        pools_of(files["pools"], reviews.papers, known)
    allowed = levels(grid)
    off = 0 if allowed is None else int((~np.isin(reviews.score, allowed)).sum())
    if off:
        raise InputError(
            f"--grid {grid} must hold every score: {count(off, 'score')} of this year are not in it"
        )


def _same(contents: Contents) -> dict[str, str]:
    return read_same(contents.files["same"]) if "same" in contents.files else {}


def _fitted(contents: Contents, folder: Path, better: str) -> Fitted | None:
    same = _same(contents)
    if not contents.past:
        return None
    now = footprint_of(contents.imported.reviews)
    for name, one in contents.past.items():
        if found := overlap(replace(footprint_of(one.reviews), conference=name), now):
            raise InputError(
                "--past must be other conferences than the one being decided, whose own reviews would give "
                f"their authors away; found {found}"
            )
    return fit_reviews(
        {str(folder / INPUTS / "past" / f"{name}.csv"): one.reviews for name, one in contents.past.items()},
        committee=contents.committee,
        this_year=contents.imported.reviews,
        better=better,
        same=same,
        workers=cores(),
        progress=progress,
    )


def _settings(
    folder: Path,
    key: Path,
    contents: Contents,
    grid: str | None,
    better: str,
    wanted: Mapping[str, Value | None],
) -> dict[str, Value]:
    """The lines of conference.toml."""
    chosen: dict[str, Value | None] = {
        "conference": folder.name,
        **contents.settings,
        "grid": grid,
        "better": better,
        **wanted,
        "guarantee": "steady",
        "epsilon": 2.0,
        "key": os.path.relpath(key, folder),
        "out": _PUBLIC,
        "numbered": True,
    }
    return {name: value for name, value in chosen.items() if value is not None}


def _number(accept: str | None) -> int | str | None:
    """How many papers to accept, as the file says it."""
    number = papers("--accept", accept)
    return accept if isinstance(number, dict) else number


def _unlisted(contents: Contents, reviews: Path) -> list[str]:
    """How many reviewers are not on the committee: their papers could not be decided."""
    missing = len({*contents.imported.reviews.reviewers} - {*contents.committee})
    if not contents.committee or not missing:
        return []
    whom = "a reviewer who is" if missing == 1 else f"{missing:,} reviewers who are"
    return [
        f"{reviews} has {whom} not on the committee: is an id spelled differently, or is the list not "
        "complete? `blindcal plan` says who, in a file for you alone"
    ]


def _similar(folder: Path, contents: Contents) -> list[str]:
    if contents.fitted is None:
        return []
    same = _same(contents)
    named = {same.get(name, name) for one in contents.past.values() for name in one.reviews.reviewers}
    return similar_listed(folder / INPUTS / "reviewers.csv", named | {*contents.committee})


def _facts(
    folder: Path, key: Path, made: Key, contents: Contents, settings: Mapping[str, Value]
) -> dict[str, Any]:
    imported, fitted = contents.imported, contents.fitted
    return {
        "folder": folder,
        "settings": settings,
        "recognized": list(imported.recognized),
        "score_field": imported.score_field,
        "reviews": len(imported.reviews),
        "papers": len(imported.reviews.papers),
        "reviewers": len(imported.reviews.reviewers),
        "dropped": [{"what": item.what, "why": item.why} for item in imported.dropped],
        "warnings": list(imported.warnings),
        "committee": len(contents.committee),
        "conflicts": len(contents.conflicts),
        "past": {name: len(one.reviews) for name, one in contents.past.items()},
        "calibrated": None if fitted is None else fitted.checks.reviewers,
        "key": key,
        "fingerprint": made.fingerprint,
        "sealed": sealed_folder(key),
        "notes": [],
    }


def _print(contents: Contents, facts: dict[str, Any], guessed: str | None) -> None:
    imported = contents.imported
    say(as_options(f"reviews: {'; '.join(imported.recognized)}"))
    say(f"score: {imported.score_field}, with the values {imported.scale}")
    papers, people = count(facts["papers"], "paper"), count(facts["reviewers"], "reviewer")
    say(f"{count(facts['reviews'], 'review')} of {papers} by {people}")
    for item in imported.dropped:
        say(as_options(f"dropped: {item}"))
    for line in imported.warnings:
        say(as_options(f"note: {line}"))
    if contents.committee:
        say(f"committee: {count(facts['committee'], 'member')}")
    if contents.conflicts:
        say(f"conflicts: {facts['conflicts']:,}")
    for name, reviews in facts["past"].items():
        say(f"past: {name}, {count(reviews, 'review')}")
    if facts["calibrated"] is not None:
        say(f"calibrated: {count(facts['calibrated'], 'reviewer')}, and a row * for anyone else")
    say()
    _print_open(contents, facts, guessed)
    folder = facts["folder"]
    say(f"CONFIDENTIAL, never share: {folder / INPUTS}")
    say(f"key: {facts['key']}, fingerprint {facts['fingerprint']}")
    say_advice(facts["key"])
    say_next("new", read_folder(folder))


def _calibrated(contents: Contents) -> bool:
    return contents.fitted is not None or "reviewers" in contents.files


def _print_open(contents: Contents, facts: dict[str, Any], guessed: str | None) -> None:
    """What the chair should look at in the settings."""
    folder, settings = facts["folder"], facts["settings"]
    say(f"wrote {folder / FILE}: read it, and change what is not so")
    if guessed is not None:
        say(f"  grid = {guessed}: taken from the scores given; could others be given too?")
    say(f"  better = {settings['better']}: are {settings['better']} scores the better ones?")
    if not settings.keys() & {"accept-rate", "accept"}:
        say("  accept-rate, accept: neither is set; say how many papers to accept")
    if not _calibrated(contents):
        say(f"  past: not set; `blindcal fit {folder}` calibrates reviewers once it is")
