"""`blindcal verify`: a confidential auditor derives everything again with the key."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from blindcal.audits.verification import Check, report
from blindcal.audits.verification import verify as verify_release
from blindcal.beliefs.conferences import assemble
from blindcal.cells import count, number_text
from blindcal.cli.console import Json, emit_json, progress, say, table
from blindcal.cli.inputs import ConferenceName, Files, PoolsFile, ReviewersFile, ReviewsFile
from blindcal.decisions.coins import read_key
from blindcal.decisions.records import read_ledger, sealed_folder
from blindcal.decisions.requests import Request, input_stamp
from blindcal.errors import InputError, VerificationError
from blindcal.orientations import as_given
from blindcal.plans.planning import plan_conference
from blindcal.workers import cores


def verify(
    reviews: ReviewsFile,
    reviewers: ReviewersFile,
    pools: PoolsFile,
    key: Annotated[Path, typer.Option(help="The secret key; the sealed folder must lie beside it.")],
    out: Annotated[Path | None, typer.Option(help="Folder of the public files, to compare them too.")] = None,
    conference: ConferenceName = "conference",
    as_json: Json = False,
) -> None:
    """Check the latest release with the key: input, commitment, coins, tables, claims, public files.

    Give the files that were given to decide; the options are taken from the sealed record and shown. For a
    confidential auditor: the files say who reviewed what. Ends with code 4 if anything does not agree.

    Example: blindcal verify reviews.csv --reviewers reviewers.csv --pools pools.csv --key key.bin --out out/
    """
    if out is not None and not out.is_dir():
        raise InputError(f"--out {out} must be the folder of the public files: there is no such folder")
    ledger = read_ledger(key, read_key(key))
    past = ledger.of(conference)
    if not past:
        raise InputError(
            f"conference {conference!r} was never decided with this key, or its record is not in "
            f"{sealed_folder(key)}"
        )
    record = ledger.record(past[-1])
    request, grid = Request.recorded(record), record.papers[0].public["grid"]
    grid = None if grid is None else as_given(grid, request.better)
    # The bar of a first release is derived again.
    loaded, truth = Files(reviews, reviewers, pools, grid).load(
        request, bar=record.bar if record.release > 1 else None, out=out
    )
    with progress(f"verifying {count(len(loaded.cases), 'paper')}", 2 * len(loaded.cases)) as advance:
        checks = verify_release(
            loaded,
            truth,
            request,
            ledger,
            partial(plan_conference, workers=cores(), advance=advance),
            partial(assemble, workers=cores()),
            out,
        )
    stamp = input_stamp(ledger.key, loaded, truth, request)
    earlier = [release.number for release in past[:-1] if release.input == stamp]
    if not as_json:
        say(f"release {record.release}, the latest of conference {conference!r}")
        rows = [(c.name, f"{c.items - c.failed} of {c.items} agree", c.note) for c in checks]
        table(["check", "result", ""], rows)
    if as_json and any(check.failed for check in checks):
        emit_json({"release": record.release, "checks": checks, "verified": False})
    _report(checks, record.release, earlier)
    if as_json:
        emit_json(
            {"release": record.release, "settings": record.settings, "checks": checks, "verified": True}
        )
    else:
        say(f"release {record.release} verified")
        settings = dict(record.settings)
        settings["grid"] = None if grid is None else " ".join(map(number_text, grid))
        asked = ", ".join(f"{name} {value}" for name, value in settings.items() if value is not None)
        say(f"decided with: {asked}")


def _report(checks: Sequence[Check], release: int, earlier: Sequence[int]) -> None:
    """Raise if a check failed, and say of which release; `earlier` ones had the input that was given."""
    try:
        report(checks)
    except VerificationError as error:
        older = f". The input given is that of release {earlier[-1]}, not the latest" if earlier else ""
        raise VerificationError(f"release {release}: {error}{older}") from None
