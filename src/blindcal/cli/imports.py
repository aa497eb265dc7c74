"""`blindcal import`: an export of a conference system as a table of reviews."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from blindcal.cells import count
from blindcal.cli.completions import one_of
from blindcal.cli.console import Json, as_options, emit_json, say
from blindcal.errors import InputError
from blindcal.importers import (
    FORMATS,
    MAX_EXPORT,
    Choices,
    Imported,
    coded,
    import_reviews,
    read_codes,
    read_maps,
    withdrawn_lines,
)
from blindcal.importers.export import Unit
from blindcal.importers.plain_table import columns_of
from blindcal.io.atomic_files import check_targets, read_bytes, write_table

WARNING = "CONFIDENTIAL: the table says who reviewed what; only you can read it."
CODES_WARNING = (
    "The codes name everyone: keep that file apart from the reviews, and delete it when it is no longer "
    "needed."
)
_UNITS: Mapping[str, Unit] = {"reviewer": "reviewer", "member": "member"}
Table = Mapping[str, Sequence[object]]


# How an export is read; `new` reads them the same way.
System = Annotated[
    str | None,
    typer.Option(
        "--format",
        help=f"One of {', '.join(FORMATS)}; needed only if it is not recognized.",
        autocompletion=one_of(FORMATS),
    ),
]
ScoreField = Annotated[str | None, typer.Option(help="The field to use as the score, if there are several.")]
ColumnNames = Annotated[
    str | None,
    typer.Option(help="The columns of any other table, like paper=item_id,reviewer=rater_id,score=points."),
]
BestFirst = Annotated[
    str | None,
    typer.Option(help="Letters or words from best to worst, like A,B,C,D; also numbers, if 1 is best."),
]
WhoseSeverity = Annotated[
    str,
    typer.Option(
        help="Whose severity counts on EasyChair: reviewer (who wrote the review) or member (who is "
        "responsible for it)."
    ),
]
PeopleMap = Annotated[
    list[Path] | None,
    typer.Option(
        "--map", metavar="<path>", help="A table of who is behind the ids: signature, profile_id; repeatable."
    ),
]
KeepWithdrawn = Annotated[
    bool,
    typer.Option(
        "--keep-withdrawn",
        help="Keep papers that the export calls withdrawn, desk rejected or deleted.",
    ),
]


def import_(
    export: Annotated[
        Path, typer.Argument(help="The file as downloaded, compressed with gzip or zip or not.")
    ],
    out: Annotated[
        Path, typer.Option(help="The table of reviews to write; an existing file is never overwritten.")
    ],
    system: System = None,
    score_field: ScoreField = None,
    columns: ColumnNames = None,
    best_first: BestFirst = None,
    unit: WhoseSeverity = "reviewer",
    people: PeopleMap = None,
    codes: Annotated[
        Path | None, typer.Option(help="Replace reviewers with codes, and write who has which to this file.")
    ] = None,
    known_codes: Annotated[
        Path | None, typer.Option(help="The codes of an earlier import, so that people keep theirs.")
    ] = None,
    keep_withdrawn: KeepWithdrawn = False,
    as_json: Json = False,
) -> None:
    """Turn an export of HotCRP, OpenReview, CMT, EasyChair or pretalx, or any table, into a table of reviews.

    The format is recognized from the content. Reports what was recognized, what was dropped, and why. Times,
    review numbers and the order of rows are always dropped. Titles, the committee (if it
    lists more than those who reviewed), names, conflicts and tracks are written beside the table if the
    export has them (reviews.titles.csv and so on). Papers that the export calls withdrawn, desk rejected or
    deleted are left out and listed; for a past year, whose reviews calibrate, keep them (--keep-withdrawn).

    Example: blindcal import conf-scores.csv --out reviews.csv
    """
    choices = Choices(
        format=system,
        score_field=score_field,
        columns={} if columns is None else columns_of(columns),
        best_first=() if best_first is None else best_to_worst(best_first),
        people=people_in(people),
        unit=known_unit(unit),
    )
    if known_codes is not None and codes is None:
        raise InputError("--known-codes needs --codes, the file for the codes of this import")
    known = {} if known_codes is None else read_codes(read_bytes(known_codes), str(known_codes))
    imported = import_reviews(read_bytes(export, MAX_EXPORT), str(export), choices)
    names = imported.committee
    if codes is not None:
        imported, code = coded(imported, known)
    left_out = {} if keep_withdrawn else imported.withdrawn
    beside = _beside(out, imported)
    imported = imported if keep_withdrawn else imported.to_decide()
    tables: dict[Path, Table] = {out: imported.columns(), **beside}
    if codes is not None:
        if os.path.abspath(codes) in map(os.path.abspath, tables):
            raise InputError("--codes must name a file of its own")
        tables[codes] = _codes_table(code, names)
    _write(tables)
    report = {**_report(imported, tables, codes), "withdrawn": left_out}
    if as_json:
        emit_json(report)
    else:
        _print(imported, tables, codes, left_out)


def best_to_worst(text: str) -> tuple[str, ...]:
    """The order that `--best-first` gives."""
    order = tuple(name.strip() for name in text.split(","))
    if len(order) < 2 or not all(order) or len({name.casefold() for name in order}) < len(order):
        raise InputError(f"--best-first must be different scores, like A,B,C,D, found {text!r}")
    return order


def people_in(files: Sequence[Path] | None) -> dict[str, str] | None:
    """The people whom the files of `--map` name; None without any."""
    return read_maps({str(path): read_bytes(path) for path in files}) if files else None


def known_unit(text: str) -> Unit:
    """The unit that `--unit` names."""
    if text not in _UNITS:
        raise InputError(f"--unit must be one of {', '.join(_UNITS)}, found {text!r}")
    return _UNITS[text]


def _codes_table(codes: Mapping[str, str], names: Mapping[str, str]) -> Table:
    table = {"code": list(codes.values()), "reviewer": list(codes)}
    return {**table, "name": [names.get(person, "") for person in codes]} if any(names.values()) else table


def _beside(out: Path, imported: Imported) -> dict[Path, Table]:
    """What else the export tells, each as a table beside the reviews."""
    conflicts, people = imported.conflicts, imported.committee
    named = {"name": list(people.values())} if any(people.values()) else {}
    # Those who reviewed are no committee: who reviewed at all is secret.
    whole = {*people} > {*imported.reviews.reviewers}
    found: dict[str, Table] = {
        "titles": {"paper": list(imported.titles), "title": list(imported.titles.values())},
        "tracks": {"paper": list(imported.tracks), "track": list(imported.tracks.values())},
        "committee": {"reviewer": list(people) if whole else [], **named},
        "names": {"reviewer": list(people) if named and not whole else [], **named},
        "conflicts": {"paper": [p for p, _ in conflicts], "conflict": [who for _, who in conflicts]},
    }
    return {
        out.with_name(f"{out.stem}.{name}{out.suffix or '.csv'}"): table
        for name, table in found.items()
        if next(iter(table.values()))
    }


def _write(tables: Mapping[Path, Table]) -> None:
    """Write all tables or none: every name is looked at first."""
    check_targets(*tables)
    for path, table in tables.items():
        write_table(path, table, confidential=True)


def _report(imported: Imported, tables: Mapping[Path, Table], codes: Path | None) -> dict[str, object]:
    reviews = imported.reviews
    return {
        "format": imported.format,
        "recognized": list(imported.recognized),
        "score_field": imported.score_field,
        "confidence_field": imported.confidence_field,
        "scale": {
            "levels": list(imported.scale.levels),
            "labels": list(imported.scale.labels),
            "named": imported.scale.named,
        },
        "reviews": len(reviews),
        "papers": len(reviews.papers),
        "reviewers": len(reviews.reviewers),
        "dropped": [{"what": item.what, "why": item.why} for item in imported.dropped],
        "warnings": list(imported.warnings),
        "columns": list(imported.columns()),
        "wrote": list(tables),
        "codes": codes,
        "warning": WARNING,
    }


def _print(
    imported: Imported, tables: Mapping[Path, Table], codes: Path | None, left_out: Mapping[str, str]
) -> None:
    reviews = imported.reviews
    say(as_options(f"recognized: {'; '.join(imported.recognized)}"))
    say(f"score: {imported.score_field}, with the values {imported.scale}; higher is taken as better")
    if imported.confidence_field is not None:
        say(f"confidence: {imported.confidence_field}")
    papers, people = count(len(reviews.papers), "paper"), count(len(reviews.reviewers), "reviewer")
    say(f"{count(len(reviews), 'review')} of {papers} by {people}")
    for item in imported.dropped:
        say(as_options(f"dropped: {item}"))
    for line in withdrawn_lines(left_out):
        say(f"left out: {line} (--keep-withdrawn keeps them)")
    for line in imported.warnings:
        say(as_options(f"note: {line}"))
    for path, table in tables.items():
        say(f"wrote {path} ({', '.join(table)})")
    say(WARNING if codes is None else f"{WARNING}\n{CODES_WARNING}")
