"""`blindcal new`: a folder for a conference, from what a chair has downloaded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from blindcal.cells import count
from blindcal.cli.completions import one_of
from blindcal.cli.console import CONFIDENTIAL, Json, as_options, emit_json, note, progress, say
from blindcal.cli.fit import say_fitted, similar_listed
from blindcal.cli.folders import say_next
from blindcal.cli.imports import (
    BestFirst,
    ColumnNames,
    KeepWithdrawn,
    PeopleMap,
    ScoreField,
    System,
    WhoseSeverity,
    best_to_worst,
    known_unit,
    people_in,
)
from blindcal.cli.inputs import Accept, Grid, Rate
from blindcal.cli.key import say_advice
from blindcal.compute.parallel import cores
from blindcal.deciding.ledger import sealed_folder
from blindcal.importers import Choices, withdrawn_lines
from blindcal.importers.export import METAREVIEWS
from blindcal.importers.plain_table import columns_of
from blindcal.planning.request import SCORES
from blindcal.project.create import (
    INPUTS,
    Contents,
    Founded,
    Given,
    Wishes,
    found_folder,
    key_beside,
    same_people,
)
from blindcal.project.settings import FILE, read_folder
from blindcal.reviews import BETTER


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
        typer.Option(
            help="Who cannot have reviewed what: paper, conflict (or email), or HotCRP's pcconf, allrevpref, "
            "jsonrqc or bulk assignment."
        ),
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
    scores: Annotated[
        str | None,
        typer.Option(
            help="Who may see the scores of all papers, and so the public folder: public, everyone; or "
            "confidential: then nothing in it depends on scores but the decisions. There is no default.",
            autocompletion=one_of(SCORES),
        ),
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
    keep_withdrawn: KeepWithdrawn = False,
    as_json: Json = False,
) -> None:
    """Make a folder for a conference: imported reviews, calibration, settings, and beside it the key.

    Afterward `blindcal check FOLDER`, `plan FOLDER`, `decide FOLDER` and `verify FOLDER` need no other
    option: FOLDER/conference.toml has them all, each with what it means, for you to read and change.
    FOLDER/public is for what may be sent on to whoever may see the scores, which --scores says; the key and
    its sealed record lie beside FOLDER. Reviews are read as by `blindcal import`, past ones too. Papers of
    this year that the export calls withdrawn, desk rejected or deleted are listed under [withdrawn] there,
    and so left out of the decisions. All is written, or nothing.

    Example: blindcal new icx2027 --reviews export.csv --committee pc.csv --past 2026.csv --accept-rate 0.25
    --scores confidential
    """
    choices = Choices(
        format=system,
        score_field=score_field,
        columns={} if columns is None else columns_of(columns),
        best_first=() if best_first is None else best_to_worst(best_first),
        people=people_in(people),
        unit=known_unit(unit),
    )
    given = Given(reviews, committee, past or (), conflicts, pools, reviewers, same, choices)
    wishes = Wishes(scores, accept_rate, accept, grid, better, keep_withdrawn)
    key = key_beside(folder) if key is None else key
    made = found_folder(folder, given, wishes, key, workers=cores(), progress=progress)
    remarks = [*made.remarks, *_similar(folder, made.contents)]
    facts = _facts(folder, made)
    if not as_json:
        _print(made, facts, grid is None)
    for remark in remarks:
        note(remark)
    if as_json:
        emit_json(facts)


def _similar(folder: Path, contents: Contents) -> list[str]:
    if contents.fitted is None:
        return []
    same = same_people(contents)
    named = {same.get(name, name) for one in contents.past.values() for name in one.reviews.reviewers}
    return similar_listed(folder / INPUTS / "reviewers.csv", named | {*contents.committee})


def _facts(folder: Path, made: Founded) -> dict[str, Any]:
    contents = made.contents
    imported, fitted = contents.imported, contents.fitted
    return {
        "folder": folder,
        "settings": made.settings,
        "recognized": list(imported.recognized),
        "score_field": imported.score_field,
        "reviews": len(imported.reviews),
        "papers": len(imported.reviews.papers),
        "reviewers": len(imported.reviews.reviewers),
        "dropped": [{"what": item.what, "why": item.why} for item in imported.dropped],
        "withdrawn": made.withdrawn,
        "warnings": list(imported.warnings),
        "committee": len(contents.committee),
        "conflicts": len(contents.conflicts),
        "past": {name: len(one.reviews) for name, one in contents.past.items()},
        "calibrated": None if fitted is None else fitted.checks.reviewers,
        "key": made.key,
        "fingerprint": made.secret.fingerprint,
        "sealed": sealed_folder(made.key),
        "notes": [],
        "warning": CONFIDENTIAL,
    }


def _print(made: Founded, facts: dict[str, Any], guessed: bool) -> None:
    contents = made.contents
    imported = contents.imported
    say(as_options(f"reviews: {'; '.join(imported.recognized)}"))
    say(f"score: {imported.score_field}, with the values {imported.scale}")
    papers, people = count(facts["papers"], "paper"), count(facts["reviewers"], "reviewer")
    say(f"{count(facts['reviews'], 'review')} of {papers} by {people}")
    for item in imported.dropped:
        say(as_options(f"dropped: {item}"))
    for line in withdrawn_lines(made.withdrawn):
        say(f"left out of the decisions: {line} (delete the line under [withdrawn] to decide it after all)")
    for line in imported.warnings:
        say(as_options(f"note: {line}"))
    if contents.committee:
        say(f"committee: {count(facts['committee'], 'member')}")
    if contents.conflicts:
        say(f"conflicts: {facts['conflicts']:,}")
    for name, one in contents.past.items():
        left = [f"; {item.what} left out" for item in one.dropped if item.why == METAREVIEWS]
        say(f"past: {name}, {count(len(one.reviews), 'review')}{''.join(left)}")
    if facts["calibrated"] is not None:
        say(f"calibrated: {count(facts['calibrated'], 'reviewer')}, and a row * for anyone else")
    say()
    if contents.fitted is not None:
        say_fitted(contents.fitted, facts["folder"] / INPUTS / "reviewers.csv", scaled=True)
        say()
    _print_open(made, facts, guessed)
    folder = facts["folder"]
    say(f"CONFIDENTIAL, never share: {folder / INPUTS}")
    say(f"key: {facts['key']}, fingerprint {facts['fingerprint']}")
    say_advice(facts["key"])
    say_next("new", read_folder(folder))


def _print_open(made: Founded, facts: dict[str, Any], guessed: bool) -> None:
    """What the chair should look at in the settings."""
    folder, settings = facts["folder"], facts["settings"]
    say(f"wrote {folder / FILE}: read it, and change what is not so")
    if guessed:
        say(f"  grid = {settings['grid']}: taken from the scores given; could others be given too?")
    say(f"  better = {settings['better']}: are {settings['better']} scores the better ones?")
    if not settings.keys() & {"accept-rate", "accept"}:
        say("  accept-rate, accept: neither is set; say how many papers to accept")
    if not made.calibrated:
        say(f"  past: not set; `blindcal fit {folder}` calibrates reviewers once it is")
