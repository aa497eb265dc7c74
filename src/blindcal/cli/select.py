"""`blindcal select`: another number of papers accepted, from the private decisions that were tossed once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from blindcal.cells import count
from blindcal.cli.console import Json, emit_json, note, say
from blindcal.cli.decide import waiting
from blindcal.cli.folders import FolderPath, KeyFile, key_of, opened, release_of, required, say_next
from blindcal.deciding.ledger import release_folder
from blindcal.deciding.selection import select as select_papers
from blindcal.planning.request import Quota
from blindcal.project.settings import parse_paper_counts
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
    out, numbered = Path(str(required(folder, "out"))), bool(folder.settings.get("numbered"))
    number = str(required(folder, "accept")) if accept is None else accept
    outcome = select_papers(
        release_of(folder),
        key_of(folder, key),
        out,
        parse_paper_counts("`accept`", number) or 0,
        parse_paper_counts("`wait_list`", wait_list),
        numbered=numbered,
    )
    certificate, counter = outcome.full_certificate, outcome.record.release
    public = release_folder(out, counter) if numbered else out
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
