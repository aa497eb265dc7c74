"""`blindcal select`: another number of papers accepted, from the private decisions that were tossed once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blindcal.cells import count
from blindcal.cli.console import Json, emit_json, note, say
from blindcal.cli.decide import KeyFile, Out, waiting
from blindcal.cli.inputs import WaitList
from blindcal.decisions.selecting import select as select_papers
from blindcal.errors import InputError
from blindcal.folders.asking import papers


def select(
    published: Annotated[
        Path,
        typer.Argument(help="The folder of a release of the conference: its --out.", metavar="PUBLISHED"),
    ],
    accept: Annotated[
        str,
        typer.Option(
            metavar="NUMBER",
            help="How many papers to accept, exactly; or how many of each track: main=40,short=10.",
        ),
    ],
    key: KeyFile,
    out: Out,
    wait_list: WaitList = None,
    as_json: Json = False,
) -> None:
    """Accept another number of papers of a conference that was decided with --accept.

    No coin is tossed and no input is read: papers are ranked anew by their private decisions, which stay
    sealed. Writes OUT/decisions.csv and OUT/certificate.json, and seals the list as a release of its own.
    What the certificate promises holds for all lists together.

    Example: blindcal select out/ --accept 55 --wait-list 10 --key key.bin --out out55/
    """
    number, wait = papers("--accept", accept), papers("--wait-list", wait_list) or 0
    if number is None:
        raise InputError("--accept must be a number of papers")
    outcome = select_papers(published, key, out, number, wait)
    certificate = outcome.certificate
    facts = {
        "how": outcome.how,
        "release": outcome.record.release,
        "decisions": out / "decisions.csv",
        "certificate_file": out / "certificate.json",
        "certificate": certificate,
        "notes": [],
    }
    for remark in outcome.remarks:
        note(remark)
    if as_json:
        emit_json(facts)
        return
    told = "already so" if outcome.how == "stored" else f"release {outcome.record.release}"
    counted = count(certificate["papers"], "paper")
    say(f"{counted}, {certificate['accepted']:,} accepted{waiting(certificate)}; {told}, no coin was tossed")
    say(f"expected wrong decisions: {100 * certificate['expected_wrong']:.1f} %")
    say(f"public: {facts['decisions']}, {facts['certificate_file']}")
