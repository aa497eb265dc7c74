"""`blindcal new`: a folder for a conference, from what a chair has downloaded."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from blindcal.assignments.pools import pools_of
from blindcal.beliefs.conferences import read_reviewers
from blindcal.cells import count, number_text
from blindcal.checks import Array
from blindcal.cli.console import Json, as_options, emit_json, note, progress, say
from blindcal.cli.fit import similar_listed
from blindcal.cli.imports import best_to_worst, known_unit
from blindcal.cli.inputs import Grid, Rate, levels
from blindcal.cli.key import ADVICE, new_key, refuse_lost
from blindcal.decisions.coins import Key, read_key
from blindcal.decisions.records import sealed_folder
from blindcal.errors import InputError
from blindcal.files.disk import make_folder, read_bytes, write_bytes, write_table
from blindcal.fitting.estimates import Fitted
from blindcal.fitting.estimates import fit as fit_reviews
from blindcal.fitting.footprints import beside
from blindcal.fitting.rosters import read_same
from blindcal.folders.making import check_new, new_folder
from blindcal.folders.settings import FILE
from blindcal.folders.templates import Value, conference_text
from blindcal.importers import (
    FORMATS,
    MAX_EXPORT,
    Choices,
    Imported,
    import_reviews,
    read_conflicts,
    read_map,
    read_people,
)
from blindcal.importers.panels import columns_of
from blindcal.orientations import known_end
from blindcal.workers import cores

_INPUTS, _PUBLIC = "inputs", "public"
# A grid of so many whole scores or fewer is taken as what reviewers could give.
_MOST_SCORES = 21
# With so many reviews for each score on average, one that nobody gave could not be given.
_EACH_SCORE = 20


@dataclass(frozen=True)
class _Read:
    """What the files given hold. CONFIDENTIAL."""

    imported: Imported
    past: Mapping[str, Imported]
    committee: Mapping[str, str]
    conflicts: Sequence[tuple[str, str]]
    conflicts_are: str


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
            help="Reviews of a past conference, as downloaded; repeatable, oldest first. Reviewers are "
            "calibrated from them at once."
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
    grid: Grid = None,
    better: Annotated[str, typer.Option(help="Which scores are better, high or low.")] = "high",
    system: Annotated[
        str | None,
        typer.Option("--format", help=f"One of {', '.join(FORMATS)}; needed only if it is not recognized."),
    ] = None,
    score_field: Annotated[
        str | None, typer.Option(help="The field to use as the score, if there are several.")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="The columns of any other table, like paper=item,reviewer=who,score=mark."),
    ] = None,
    best_first: Annotated[
        str | None, typer.Option(help="Letters or words from best to worst, like A,B,C,D.")
    ] = None,
    unit: Annotated[
        str, typer.Option(help="Whose severity counts on EasyChair: reviewer or member.")
    ] = "reviewer",
    people: Annotated[
        Path | None, typer.Option("--map", help="A table of who is behind the ids: signature, profile_id.")
    ] = None,
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
    _check_options(past, committee, conflicts, pools, reviewers)
    choices = Choices(
        format=system,
        score_field=score_field,
        columns={} if columns is None else columns_of(columns),
        best_first=() if best_first is None else best_to_worst(best_first),
        people=None if people is None else read_map(read_bytes(people), str(people)),
        unit=known_unit(unit),
    )
    key = folder.with_name(f"{folder.name}.key") if key is None else key
    _check_key(key, folder)
    found = _read(reviews, committee, conflicts, past or (), choices)
    scores = grid or grid_text(found.imported.reviews.score)
    _check_given(found, known_end(better), scores, pools, reviewers)
    merged = {} if same is None else read_same(same)
    fitted = _fitted(found, folder, better, merged)
    settings = _settings(folder, key, found, pools, reviewers or fitted, same, scores, better, accept_rate)
    with new_folder(folder) as filled:
        _write(filled, found, fitted, {"pools": pools, "reviewers": reviewers, "same": same}, settings)
        made = read_key(key) if key.exists() else new_key(key)
    remarks = [*_unlisted(found, reviews), *([] if fitted is None else _similar(folder, found, merged))]
    facts = _facts(folder, key, made, found, fitted, settings)
    if not as_json:
        _print(found, facts, fitted, scores if grid is None else None)
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
    reviews: Path, committee: Path | None, conflicts: Path | None, past: Sequence[Path], choices: Choices
) -> _Read:
    imported = import_reviews(read_bytes(reviews, MAX_EXPORT), str(reviews), choices)
    if len({path.stem for path in past}) < len(past):
        raise InputError("files of --past must have different names")
    older = {path.stem: _imported_past(path, choices) for path in past}
    people = {} if committee is None else read_people(read_bytes(committee), str(committee), choices.people)
    if conflicts is None:
        return _Read(imported, older, people, imported.conflicts, "the export")
    pairs, what = read_conflicts(read_bytes(conflicts, MAX_EXPORT), str(conflicts), choices.people)
    return _Read(imported, older, people, pairs, what)


def _imported_past(path: Path, choices: Choices) -> Imported:
    """A past conference, read like this year's; a table that `blindcal import` wrote needs no choices."""
    data = read_bytes(path, MAX_EXPORT)
    names = {
        name.strip().casefold() for name in data[:1_000].split(b"\n")[0].decode(errors="replace").split(",")
    }
    own = {"paper", "reviewer", "score"} <= names
    return import_reviews(data, str(path), Choices(people=choices.people) if own else choices)


def _check_given(
    found: _Read, better: str, grid: str | None, pools: Path | None, reviewers: Path | None
) -> None:
    """Refuse files that no later command could use."""
    known = () if reviewers is None else read_reviewers(reviewers)
    if pools is not None:
        pools_of(pools, found.imported.reviews.papers, known or found.committee)
    allowed = levels(grid)
    off = 0 if allowed is None else int((~np.isin(found.imported.reviews.score, allowed)).sum())
    if off:
        raise InputError(
            f"--grid {grid} must hold every score: {count(off, 'score')} of this year are not in it"
        )


def grid_text(score: Array) -> str | None:
    """The scores that reviewers could give, as far as whole ones show: from the lowest to the highest given.

    Without those between that nobody gave, if there are enough reviews to see that.

    >>> grid_text(np.array([1.0, 4.0, 3.0])), grid_text(np.array([1.0, 2.5])), grid_text(np.array([0.0, 99]))
    ('1..4', None, None)
    >>> grid_text(np.repeat([1.0, 3.0, 6.0], 40))
    '1,3,6'
    """
    given, low, high = np.unique(score), score.min(), score.max()
    if not bool((given == np.floor(given)).all()) or not 0 < high - low < _MOST_SCORES:
        return None
    gaps = len(given) <= high - low and len(score) >= _EACH_SCORE * (high - low + 1)
    return ",".join(map(number_text, given)) if gaps else f"{number_text(low)}..{number_text(high)}"


def _fitted(found: _Read, folder: Path, better: str, same: Mapping[str, str]) -> Fitted | None:
    if not found.past:
        return None
    return fit_reviews(
        {str(folder / _INPUTS / "past" / f"{name}.csv"): one.reviews for name, one in found.past.items()},
        committee=found.committee,
        this_year=found.imported.reviews,
        better=better,
        same=same,
        workers=cores(),
        progress=progress,
    )


def _settings(
    folder: Path,
    key: Path,
    found: _Read,
    pools: Path | None,
    calibration: object,
    same: Path | None,
    grid: str | None,
    better: str,
    accept_rate: float | None,
) -> dict[str, Value]:
    """The lines of conference.toml."""
    who = "pools" if pools is not None else "conflicts" if found.conflicts else None
    lines: dict[str, Value | None] = {
        "conference": folder.name,
        "reviews": f"{_INPUTS}/reviews.csv",
        "committee": f"{_INPUTS}/committee.csv" if found.committee else None,
        "pools": "everyone" if who is None else f"{_INPUTS}/{who}.csv",
        "titles": f"{_INPUTS}/titles.csv" if found.imported.titles else None,
        "tracks": f"{_INPUTS}/tracks.csv" if found.imported.tracks else None,
        "past": [f"{_INPUTS}/past/{name}.csv" for name in found.past] or None,
        "same": None if same is None else f"{_INPUTS}/same.csv",
        "reviewers": f"{_INPUTS}/reviewers.csv",
        "grid": grid,
        "better": better,
        "accept-rate": accept_rate,
        "guarantee": "steady",
        "epsilon": 2.0,
        "key": os.path.relpath(key, folder),
        "out": _PUBLIC,
        "numbered": True,
    }
    return {name: value for name, value in lines.items() if value is not None}


def _write(
    folder: Path,
    found: _Read,
    fitted: Fitted | None,
    copied: Mapping[str, Path | None],
    settings: Mapping[str, Value],
) -> None:
    inputs, imported = folder / _INPUTS, found.imported
    make_folder(inputs)
    tables: dict[str, Mapping[str, Sequence[object]]] = {
        "reviews": imported.columns(),
        "titles": {"paper": list(imported.titles), "title": list(imported.titles.values())},
        "tracks": {"paper": list(imported.tracks), "track": list(imported.tracks.values())},
        "committee": {"reviewer": list(found.committee)},
        "conflicts": {
            "paper": [paper for paper, _ in found.conflicts],
            "conflict": [who for _, who in found.conflicts],
        },
    }
    for name, table in tables.items():
        if next(iter(table.values())):
            write_table(inputs / f"{name}.csv", table, confidential=True)
    if found.past:
        make_folder(inputs / "past")
    for name, one in found.past.items():
        write_table(inputs / "past" / f"{name}.csv", one.columns(), confidential=True)
    for name, path in copied.items():
        if path is not None:
            write_bytes(inputs / f"{name}.csv", read_bytes(path), confidential=True)
    # What a calibration was fitted on is written beside it, and must stay there.
    given = copied["reviewers"]
    if given is not None and os.path.exists(beside(given)):
        write_bytes(beside(inputs / "reviewers.csv"), read_bytes(beside(given)), confidential=True)
    if fitted is not None:
        fitted.write(inputs / "reviewers.csv")
    write_bytes(folder / FILE, conference_text(settings).encode(), confidential=True)


def _unlisted(found: _Read, reviews: Path) -> list[str]:
    """How many reviewers are not on the committee: their papers could not be decided."""
    missing = len({*found.imported.reviews.reviewers} - {*found.committee}) if found.committee else 0
    whom = "a reviewer" if missing == 1 else f"{missing:,} reviewers"
    return [
        f"{reviews} has {whom} who {'is' if missing == 1 else 'are'} not on the committee: is an id spelled "
        "differently, or is the list not complete? `blindcal plan` says who, in a file for you alone"
    ][: bool(missing)]


def _similar(folder: Path, found: _Read, same: Mapping[str, str]) -> list[str]:
    named = {same.get(name, name) for one in found.past.values() for name in one.reviews.reviewers}
    return similar_listed(folder / _INPUTS / "reviewers.csv", named | {*found.committee})


def _facts(
    folder: Path, key: Path, made: Key, found: _Read, fitted: Fitted | None, settings: Mapping[str, Value]
) -> dict[str, Any]:
    reviews = found.imported.reviews
    return {
        "folder": folder,
        "settings": settings,
        "recognized": list(found.imported.recognized),
        "score_field": found.imported.score_field,
        "reviews": len(reviews),
        "papers": len(reviews.papers),
        "reviewers": len(reviews.reviewers),
        "dropped": [{"what": item.what, "why": item.why} for item in found.imported.dropped],
        "warnings": list(found.imported.warnings),
        "committee": len(found.committee),
        "conflicts": len(found.conflicts),
        "past": {name: len(one.reviews) for name, one in found.past.items()},
        "calibrated": None if fitted is None else fitted.checks.reviewers,
        "key": key,
        "fingerprint": made.fingerprint,
        "sealed": sealed_folder(key),
        "notes": [],
    }


def _print(found: _Read, facts: dict[str, Any], fitted: Fitted | None, guessed: str | None) -> None:
    imported, settings = found.imported, facts["settings"]
    say(as_options(f"reviews: {'; '.join(imported.recognized)}"))
    say(f"score: {imported.score_field}, with the values {imported.scale}")
    papers, people = count(facts["papers"], "paper"), count(facts["reviewers"], "reviewer")
    say(f"{count(facts['reviews'], 'review')} of {papers} by {people}")
    for item in imported.dropped:
        say(as_options(f"dropped: {item}"))
    for line in imported.warnings:
        say(as_options(f"note: {line}"))
    if found.committee:
        say(f"committee: {count(facts['committee'], 'member')}")
    if found.conflicts:
        say(f"conflicts: {facts['conflicts']:,}, from {found.conflicts_are}")
    for name, reviews in facts["past"].items():
        say(f"past: {name}, {count(reviews, 'review')}")
    if fitted is not None:
        say(f"calibrated: {count(fitted.checks.reviewers, 'reviewer')}, and a row * for anyone else")
    say()
    folder = facts["folder"]
    say(f"wrote {folder / FILE}: read it, and change what is not so")
    if guessed is not None:
        say(f"  grid = {guessed}: taken from the scores given; could others be given too?")
    say(f"  better = {settings['better']}: are {settings['better']} scores the better ones?")
    if "accept-rate" not in settings:
        say("  accept-rate: not set; say how many papers to accept")
    if fitted is None and not (folder / _INPUTS / "reviewers.csv").exists():
        say(f"  past: not set; `blindcal fit {folder}` calibrates reviewers once it is")
    say(f"CONFIDENTIAL, never share: {folder / _INPUTS}")
    say(f"key: {facts['key']}, fingerprint {facts['fingerprint']}")
    for line in ADVICE:
        say(line.format(sealed=facts["sealed"]))
    say(f"next: blindcal plan {folder}")
