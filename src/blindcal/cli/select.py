"""`blindcal select`: another number of papers accepted, from the private decisions that were tossed once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from blindcal.cells import count
from blindcal.cli.console import Json, emit_json, note, say
from blindcal.cli.decide import waiting
from blindcal.cli.folders import FolderPath, KeyFile, say_next
from blindcal.planning.request import Quota
from blindcal.project.workflow import opened, select_folder
from blindcal.report.wording import quota_line


def select(
    path: FolderPath,
    accept: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="How many papers to accept, exactly; or how many of each track: main=40,short=10.  "
            "[default: as conference.toml says]",
        ),
    ] = None,
    wait_list: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="How many more papers are on the wait list, in their order; or how many of each track.  "
            "[default: those who wait now, less those accepted now]",
        ),
    ] = None,
    key: KeyFile = None,
    as_json: Json = False,
) -> None:
    """Accept another number of papers of a conference that was decided with such a number.

    No coin is tossed and no input is read: papers are ranked anew by their private decisions, which stay
    sealed. The list becomes the next release of the folder, and is sealed as one. What the certificate
    promises holds for all lists together. Whoever waits keeps waiting or is accepted, unless --wait-list is
    given.

    Example: blindcal select icx2027 --accept 55 --wait-list 10
    """
    folder = opened(path)
    outcome, public = select_folder(folder, accept, wait_list, key=key)
    certificate, counter = outcome.full_certificate, outcome.record.release
    facts = {
        "how": outcome.how,
        "release": counter,
        "decisions": public / "decisions.csv",
        "certificate_file": public / "certificate.json",
        "certificate": outcome.certificate,
        "notes": [],
    }
    for remark in outcome.remarks:
        note(remark)
    if as_json:
        emit_json(facts)
        return
    result = "already so" if outcome.how == "stored" else f"release {counter}"
    counted = f"{count(certificate['papers'], 'paper')}, {certificate['accepted']:,} accepted"
    say(f"{counted}{waiting(certificate)}; {result}, no coin was tossed")
    wrong, raw = (100 * certificate[name] for name in ("expected_wrong", "expected_wrong_raw"))
    say(f"expected wrong decisions: {wrong:.1f} % (by mean scores {raw:.1f} %){_bar_for(certificate)}")
    say(f"public: {facts['decisions']}, {facts['certificate_file']}")
    say_next("select", folder)


def _bar_for(certificate: Mapping[str, Any]) -> str:
    """For which number of papers the bar is, if it is another one than is accepted."""
    was, now = (Quota(certificate["selection"][name]) for name in ("bar_for", "accept"))
    return "" if was == now else f", by the bar that was set for {quota_line(was).removeprefix('exactly ')}"
