"""`blindcal demo`: every step on a made-up conference of 200 papers, in a folder to look at."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated

import typer

from blindcal.cli.console import Json, emit_json, progress, say, table
from blindcal.compute.parallel import cores
from blindcal.deciding.release import decide
from blindcal.errors import InputError, RefusedError
from blindcal.exporters.decisions import read_decided
from blindcal.io.atomic_files import write_bytes
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import level_of
from blindcal.posterior.inputs import Inputs, read_inputs
from blindcal.project.create import new_key
from blindcal.report.explanation import read_certificate
from blindcal.report.guarantee_survey import survey_release
from blindcal.report.html_page import Report, page
from blindcal.simulation.population import (
    PAPERS,
    POOL,
    RATE,
    REVIEWS,
    PooledConference,
    example,
    example_files,
)


def demo(
    out: Annotated[Path, typer.Option(help="Folder to leave behind.")] = Path("demo-out"),
    as_json: Json = False,
) -> None:
    """Run every step on a made-up conference of 200 papers and leave a folder to look at.

    OUT/inputs holds what a chair has, OUT/public what may be shared if scores are public, as here, with
    report.html to read, OUT/secret the key and the sealed record. Running it again returns the stored
    decisions.

    Example: blindcal demo
    """
    if out.exists() and not out.is_dir():
        raise InputError(f"--out must be a folder, found the file {out}")
    drawn = example(PAPERS)
    inputs, secret, public = (out / name for name in ("inputs", "secret", "public"))
    for folder, mode in ((inputs, 0o777), (secret, 0o700)):
        folder.mkdir(parents=True, exist_ok=True, mode=mode)
    _write_inputs(drawn, inputs)
    if not (key := secret / "key.bin").exists():
        new_key(key)
    given = read_inputs(*(inputs / f"{name}.csv" for name in ("reviews", "reviewers", "pools")))
    request = Request(Guarantee(), "demo", accept_rate=RATE)
    outcome = decide(given, request, key, public, workers=cores(), progress=progress)
    report = _reported(given, public)
    counts = _wrong(drawn, outcome.record.decisions, level_of(outcome.record.bar, ""))
    if as_json:
        facts = {"folder": out, "how": outcome.how, "report": report, "wrong": counts}
        emit_json({**facts, "certificate": outcome.certificate})
        return
    _print(out, outcome.how, outcome.certificate, counts)
    say()
    say(f"Now open {report} in a browser: what was promised, what it cost, how to check it.")


def _reported(inputs: Inputs, public: Path) -> Path:
    """The page about the release, written by the first run."""
    path = public / "report.html"
    if not path.exists():
        certificate, decided = read_certificate(public), read_decided(public)
        found = survey_release(inputs, certificate, decided, workers=cores(), progress=progress)
        write_bytes(path, page(Report(certificate, decided, found)).encode())
    return path


def _write_inputs(drawn: PooledConference, folder: Path) -> None:
    """The three files; those of an earlier run must be the same."""
    for name, data in example_files(drawn).items():
        path = folder / name
        if not path.exists():
            write_bytes(path, data, confidential=name == "reviews.csv")
        elif path.read_bytes() != data:
            raise RefusedError(f"{path} is not the demo's: give another --out folder")


def _wrong(drawn: PooledConference, decisions: str, bar: float) -> dict[str, int]:
    """Papers decided wrongly: only a made-up conference knows its papers' qualities."""
    rows = list(csv.DictReader(io.StringIO(decisions)))
    good = (drawn.quality > bar).tolist()
    return {
        name: sum((row[column] == "accept") != right for row, right in zip(rows, good, strict=True))
        for name, column in (("raw", "raw_decision"), ("private", "decision"))
    }


def _print(out: Path, how: str, certificate: dict[str, object], counts: dict[str, int]) -> None:
    say(f"A made-up conference: {PAPERS} papers, each reviewed by {REVIEWS} of {POOL} known candidates.")
    say("Reviewers differ in slope and offset; the chair accepts about a quarter.")
    say(
        "The decisions were stored by an earlier run." if how == "stored" else "Every paper was decided once."
    )
    say()
    names = {
        "success_scores_only": "chance of naming a review's author from the scores alone",
        "success": "... with the decisions too",
        "largest_rise": "largest rise of that chance by one decision, for any review",
        "epsilon": "largest change of anyone's odds by one decision (natural log)",
        "expected_wrong_raw": "expected share of wrong decisions: by raw mean scores",
        "expected_wrong": "... decided by blindcal",
        "expected_wrong_fully_calibrated": "... fully calibrated, which would reveal reviewers",
    }
    table(["from certificate.json", ""], [(text, certificate[name]) for name, text in names.items()])
    say()
    say(
        f"True qualities are known here: {counts['raw']} raw decisions were wrong, and "
        f"{counts['private']} of blindcal's."
    )
    say()
    say(
        f"{out}/public   decisions.csv, certificate.json and report.html: may be shared, as scores are public"
    )
    say(f"{out}/inputs   what a chair has; reviews.csv is confidential")
    say(f"{out}/secret   the key and the sealed record: CONFIDENTIAL, never share")
