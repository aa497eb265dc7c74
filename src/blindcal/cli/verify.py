"""`blindcal verify`: a confidential auditor derives everything again with the key."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blindcal.cells import number_text
from blindcal.cli.arguments import ClusterAddress, Processes, hired
from blindcal.cli.console import Json, emit_json, progress, say, table
from blindcal.cli.inputs import (
    ConferenceName,
    Numbered,
    PoolsFile,
    Published,
    ReviewersFile,
    ReviewsFile,
    Withdrawn,
    loaded,
)
from blindcal.deciding.ledger import release_folder
from blindcal.errors import InputError
from blindcal.report.wording import quota_line
from blindcal.verification import latest, verify_latest


def verify(
    reviews: ReviewsFile,
    reviewers: ReviewersFile,
    pools: PoolsFile,
    key: Annotated[Path, typer.Option(help="The secret key; its sealed folder must be beside it.")],
    out: Annotated[Path | None, typer.Option(help="Folder of the public files, to check them too.")] = None,
    published: Published = None,
    conference: ConferenceName = "conference",
    commitment: Annotated[
        str | None,
        typer.Option(help="The commitment that was published before decisions could be known, to check it."),
    ] = None,
    withdrawn: Withdrawn = None,
    numbered: Numbered = False,
    processes: Processes = None,
    cluster: ClusterAddress = None,
    as_json: Json = False,
) -> None:
    """Check the latest release with the key: input, commitment, coins, tables, claims, public files.

    Give the same files as for decide; the options are taken from the sealed record and shown. For an auditor
    who may know who reviewed what, since the files say so. Exits with code 4 if anything does not agree.

    Example: blindcal verify reviews.csv --reviewers reviewers.csv --pools pools.csv --key key.bin --out out/
    """
    past, record = latest(key, conference)
    if numbered and out is not None:
        out = release_folder(out, record.release)
        if not out.is_dir():
            raise InputError(
                f"release {record.release} is sealed, and there is no folder {out}: if the run that made it "
                "was interrupted, run the same command again (no coin is tossed twice); if it published "
                "elsewhere, give that folder as `out`"
            )
    given = loaded(reviews, reviewers, pools, record.grid, out, withdrawn)
    with hired(processes, cluster) as workers, given as inputs:
        found = verify_latest(
            inputs,
            past,
            record,
            out,
            published=published or (),
            commitment=commitment,
            workers=workers,
            progress=progress,
        )
    facts = {"release": record.release, "checks": found.checks, "verified": found.agrees}
    if as_json:
        emit_json({**facts, "settings": record.settings} if found.agrees else facts)
    else:
        say(f"release {record.release}, the latest of conference {conference!r}")
        rows = [(c.name, f"{c.items - c.failed} of {c.items} agree", c.note) for c in found.checks]
        table(["check", "result", ""], rows)
        for check in found.checks:
            if check.papers:
                say(f"CONFIDENTIAL: {check.name}: {', '.join(check.papers)}")
    found.raise_if_not()
    if not as_json:
        say(f"release {record.release} verified")
        if found.limits:
            say(found.limits)
        settings = dict(record.settings)
        settings["grid"] = " ".join(map(number_text, record.grid)) or None
        quota = record.request.quota
        exactly = "" if quota is None else f"; {quota_line(quota)}"
        settled = ", ".join(
            f"{name.replace('_', ' ')} {number_text(value) if isinstance(value, float) else value}"
            for name, value in settings.items()
            if value is not None
        )
        say(f"decided with: {settled}{exactly}")
