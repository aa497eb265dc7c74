"""`blindcal select`: another number of papers accepted, from the private decisions that were tossed once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from blindcal.cells import count
from blindcal.cli.completions import conference_folders
from blindcal.cli.console import Json, emit_json, note, say
from blindcal.cli.decide import KeyFile, Out, waiting
from blindcal.cli.inputs import Numbered, WaitList
from blindcal.deciding.ledger import release_folder
from blindcal.deciding.selection import select as select_papers
from blindcal.errors import InputError
from blindcal.planning.request import Quota
from blindcal.project.settings import papers
from blindcal.report.wording import quota_line


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
    What the certificate promises holds for all lists together. Whoever waits keeps waiting or is accepted,
    unless --wait-list is given. In a conference's folder the list becomes its next release.

    Example: blindcal select out/ --accept 55 --wait-list 10 --key key.bin --out out55/
    """
    number, wait = papers("--accept", accept), papers("--wait-list", wait_list)
    if number is None:
        raise InputError("--accept must be a number of papers")
    outcome = select_papers(published, key, out, number, wait, numbered=numbered)
    certificate, place = outcome.full_certificate, out
    if numbered:
        place = release_folder(out, outcome.record.release)
    facts = {
        "how": outcome.how,
        "release": outcome.record.release,
        "decisions": place / "decisions.csv",
        "certificate_file": place / "certificate.json",
        "certificate": outcome.certificate,
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
    wrong, raw = (100 * certificate[name] for name in ("expected_wrong", "expected_wrong_raw"))
    say(f"expected wrong decisions: {wrong:.1f} % (by mean scores {raw:.1f} %){_bar_for(certificate)}")
    say(f"public: {facts['decisions']}, {facts['certificate_file']}")


def _bar_for(certificate: Mapping[str, Any]) -> str:
    """For which number of papers the bar is, if it is another one than is accepted."""
    was, now = (Quota(certificate["selection"][name]) for name in ("bar_for", "accept"))
    return "" if was == now else f", by the bar that was set for {quota_line(was).removeprefix('exactly ')}"
