"""`blindcal export`: decisions as other systems read them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blindcal.cells import count
from blindcal.cli.completions import one_of
from blindcal.cli.console import Json, emit_json, note, say
from blindcal.cli.folders import ReleasePath, key_of, opened_release
from blindcal.deciding.ledger import read_record
from blindcal.errors import InputError
from blindcal.exporters import FORMATS, WHAT, parse_overrides, read_decided
from blindcal.exporters import export as exported
from blindcal.exporters.decisions import WAITING, decided_of
from blindcal.io.atomic_files import write_bytes

# How the decisions get into each system.
_NEXT = {
    "hotcrp": "upload it under Assignments > Bulk update; if HotCRP answers `No decisions match`, your site "
    "has other words: --accepted, --rejected",
    "openreview": "upload it in the decision stage, or post it by openreview-py's Venue.post_decisions",
    "pretalx": "run it: python {out} https://YOUR.PRETALX/api/events/EVENT/ --check, then without --check",
    "easychair": "a list to type from: we know of no upload of decisions to EasyChair",
    "cmt": "a list to type from: we know of no upload of decisions to CMT",
}
_WORDED = ("hotcrp", "openreview", "easychair", "cmt")
ADVICE_WARNING = (
    "Advice is for area chairs who decide by it: it reveals what the decisions reveal, to whoever sees it."
)


def export(
    path: ReleasePath,
    to: Annotated[str, typer.Option(help=f"One of {', '.join(FORMATS)}.", autocompletion=one_of(FORMATS))],
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The file to write; an existing file is never overwritten.")
    ],
    what: Annotated[
        str, typer.Option(help=f"One of {', '.join(WHAT)}.", autocompletion=one_of(WHAT))
    ] = "decisions",
    accepted: Annotated[
        str | None, typer.Option(help="What your conference calls an accepted paper, like Accept (Oral).")
    ] = None,
    rejected: Annotated[str | None, typer.Option(help="What it calls a rejected one.")] = None,
    waiting: Annotated[
        str | None,
        typer.Option(help="What it calls the wait list; without it, its papers are not sent to a system."),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The key, for --what advice if scores are confidential."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the decisions of a release for a conference system, or as a CSV or XLSX table.

    HotCRP: a bulk assignment, for Assignments > Bulk update; advice becomes tags that only chairs see.
    OpenReview: rows of number, decision and comment without a header. pretalx: a Python program that accepts
    and rejects by its API, and asks for the token. EasyChair, CMT: a list to type from, as they take no file
    of decisions that we know of. csv and xlsx have titles if the folder has them. A cell that a spreadsheet
    might run as a formula is written as text. Titles, your words for decisions, and decisions that you made
    by hand are taken from conference.toml.

    Example: blindcal export icx2027 --to hotcrp --out decisions-hotcrp.csv
    """
    folder, release = opened_release(path)
    settings = {} if folder is None else folder.settings
    titles = str(settings["titles"]) if "titles" in settings else None
    by_hand = {} if folder is None else folder.overridden
    edits = parse_overrides(f"{paper}={text.split(':')[0]}" for paper, text in by_hand.items())
    papers = read_decided(release, titles, edits)
    if what == "advice" and not all(paper.advice for paper in papers):
        secret = key if folder is None else key_of(folder, key)
        if secret is None:
            raise InputError("scores are confidential, and so is the advice, which is sealed: give --key")
        papers = decided_of(read_record(release, secret).decisions.encode(), str(release), titles, edits)
    if what == "decisions" and to in _WORDED:
        # The folder's words are for systems that have words; on the command line they may be a mistake.
        accepted, rejected = (
            str(settings[name]) if word is None and name in settings else word
            for name, word in (("accepted", accepted), ("rejected", rejected))
        )
    write_bytes(out, exported(papers, to, what, accepted=accepted, rejected=rejected, waiting=waiting))
    overridden = sum(paper.overridden for paper in papers)
    accept = sum(paper.decision == "accept" for paper in papers)
    if overridden and what == "decisions":
        note(
            f"{count(overridden, 'decision')} overridden by hand: the certificate is about blindcal's own "
            "decisions, and does not say what these reveal"
        )
    left = sum(paper.decision == WAITING for paper in papers)
    if left and waiting is None and what == "decisions" and to in _NEXT:
        called = ", and stay `submitted`" if to == "pretalx" else ": --waiting says what you call it"
        note(f"{count(left, 'paper')} on the wait list left out{called}")
    if as_json:
        facts = {"papers": len(papers), "accepted": accept, "overridden": overridden, "out": out, "notes": []}
        emit_json({**facts, "release": release, "to": to, "what": what})
        return
    say(f"{count(len(papers), 'paper')}, {accept:,} accepted, from {release}")
    say(f"wrote {out} ({what} for {to})")
    if to in _NEXT and what == "decisions":
        say(_NEXT[to].format(out=out))
    if what == "advice":
        say(ADVICE_WARNING)
