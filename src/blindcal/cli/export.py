"""`blindcal export`: decisions as other systems read them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blindcal.cells import count
from blindcal.cli.completions import conference_folders, one_of
from blindcal.cli.console import Json, emit_json, note, say
from blindcal.deciding.ledger import sealed_record
from blindcal.errors import InputError
from blindcal.exporters import FORMATS, WHAT, overrides_of, read_decided
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
    context: typer.Context,
    release: Annotated[
        Path,
        typer.Argument(
            help="The folder that `blindcal decide` wrote, or a folder that `blindcal new` made: then its "
            "latest release.",
            autocompletion=conference_folders,
        ),
    ],
    to: Annotated[str, typer.Option(help=f"One of {', '.join(FORMATS)}.", autocompletion=one_of(FORMATS))],
    out: Annotated[Path, typer.Option(help="The file to write; an existing file is never overwritten.")],
    what: Annotated[
        str, typer.Option(help=f"One of {', '.join(WHAT)}.", autocompletion=one_of(WHAT))
    ] = "decisions",
    titles: Annotated[Path | None, typer.Option(help="Titles of papers: columns paper, title.")] = None,
    accepted: Annotated[
        str | None, typer.Option(help="What your conference calls an accepted paper, like Accept (Oral).")
    ] = None,
    rejected: Annotated[str | None, typer.Option(help="What it calls a rejected one.")] = None,
    waiting: Annotated[
        str | None,
        typer.Option(help="What it calls the wait list; without it, its papers are not sent to a system."),
    ] = None,
    overridden: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PAPER=DECISION",
            help="A decision that you made by hand, like 17=accept: written in place of blindcal's, and "
            "marked as overridden; repeatable.",
        ),
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="The key, for --what advice if scores are confidential.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the decisions of a release for a conference system, or as a CSV or XLSX table.

    HotCRP: a bulk assignment, for Assignments > Bulk update; advice becomes tags that only chairs see.
    OpenReview: rows of number, decision and comment without a header. pretalx: a Python program that accepts
    and rejects by its API, and asks for the token. EasyChair, CMT: a list to type from, as they take no file
    of decisions that we know of. csv and xlsx have titles if they are known. A cell that a spreadsheet might
    run as a formula is written as text.

    Example: blindcal export out/ --to hotcrp --out decisions-hotcrp.csv
    """
    edits = overrides_of(overridden or ())
    papers = read_decided(release, titles, edits)
    if what == "advice" and not all(one.advice for one in papers):
        if key is None:
            raise InputError("scores are confidential, and so is the advice, which is sealed: give --key")
        papers = decided_of(sealed_record(release, key).decisions.encode(), str(release), titles, edits)
    if what == "advice" or to not in _WORDED:
        # The folder's words are for systems that have words; on the command line they may be a mistake.
        accepted, rejected = (_typed(context, name) for name in ("accepted", "rejected"))
    write_bytes(out, exported(papers, to, what, accepted=accepted, rejected=rejected, waiting=waiting))
    by_hand = sum(one.overridden for one in papers)
    accept = sum(one.decision == "accept" for one in papers)
    if by_hand and what == "decisions":
        note(
            f"{count(by_hand, 'decision')} overridden by hand: the certificate is about blindcal's own "
            "decisions, and does not say what these reveal"
        )
    left = sum(one.decision == WAITING for one in papers)
    if left and waiting is None and what == "decisions" and to in _NEXT:
        called = ", and stay `submitted`" if to == "pretalx" else ": `waiting` says what you call it"
        note(f"{count(left, 'paper')} on the wait list left out{called}")
    if as_json:
        facts = {"papers": len(papers), "accepted": accept, "overridden": by_hand, "out": out, "notes": []}
        emit_json({**facts, "release": release, "to": to, "what": what})
        return
    say(f"{count(len(papers), 'paper')}, {accept:,} accepted, from {release}")
    say(f"wrote {out} ({what} for {to})")
    if to in _NEXT and what == "decisions":
        say(_NEXT[to].format(out=out))
    if what == "advice":
        say(ADVICE_WARNING)


def _typed(context: typer.Context, name: str) -> str | None:
    """The value of an option if it stood on the command line."""
    source = context.get_parameter_source(name)
    return context.params[name] if source is not None and source.name == "COMMANDLINE" else None
