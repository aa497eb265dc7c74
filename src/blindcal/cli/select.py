"""`blindcal select`: another number of papers accepted, from the private decisions that were tossed once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blindcal.cells import count
from blindcal.cli.completions import conference_folders
from blindcal.cli.console import Json, emit_json, note, say
from blindcal.cli.decide import KeyFile, Out, waiting
from blindcal.cli.inputs import Numbered, WaitList
from blindcal.decisions.records import release_folder
from blindcal.decisions.selecting import select as select_papers
from blindcal.errors import InputError
from blindcal.folders.asking import papers


def select(
    published: Annotated[
        Path,
        typer.Argument(
            help="The folder of a release of the conference: its --out. Or a folder that `blindcal new` "
            "made, which has all options that are not given: its latest release.",
            metavar="PUBLISHED",
            autocompletion=conference_folders,
        ),
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
    numbered: Numbered = False,
    as_json: Json = False,
) -> None:
    """Accept another number of papers of a conference that was decided with --accept.

    No coin is tossed and no input is read: papers are ranked anew by their private decisions, which stay
    sealed. Writes OUT/decisions.csv and OUT/certificate.json, and seals the list as a release of its own.
    What the certificate promises holds for all lists together. In a conference's folder the list becomes its
    next release.

    Example: blindcal select out/ --accept 55 --wait-list 10 --key key.bin --out out55/
    """
    number, wait = papers("--accept", accept), papers("--wait-list", wait_list) or 0
    if number is None:
        raise InputError("--accept must be a number of papers")
    outcome = select_papers(published, key, out, number, wait, numbered=numbered)
    certificate, place = outcome.certificate, out
    if numbered:
        place = release_folder(out, outcome.record.release)
    facts = {
        "how": outcome.how,
        "release": outcome.record.release,
        "decisions": place / "decisions.csv",
        "certificate_file": place / "certificate.json",
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
