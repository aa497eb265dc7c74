"""`blindcal export`: decisions as other systems read them."""

from __future__ import annotations

from pathlib import Path

from blindcal.cells import count
from blindcal.cli.console import Json, emit_json, note, say
from blindcal.cli.folders import ReleasePath, opened_release
from blindcal.cli.options import option, word
from blindcal.exporters import FORMATS, WHAT
from blindcal.io.atomic_files import write_bytes
from blindcal.project.workflow import export_release

ADVICE_WARNING = (
    "Advice is for area chairs who decide by it: it reveals what the decisions reveal, to whoever sees it."
)


def export(
    path: ReleasePath,
    to: str = word(FORMATS, f"One of {', '.join(FORMATS)}.", default=...),
    out: Path = option(
        "The file to write; an existing file is never overwritten.", default=..., metavar="FILE"
    ),
    what: str = word(WHAT, f"One of {', '.join(WHAT)}.", default="decisions"),
    accepted: str | None = option("What your conference calls an accepted paper, like Accept (Oral)."),
    rejected: str | None = option("What it calls a rejected one."),
    waiting: str | None = option(
        "What it calls the wait list; without it, its papers are not sent to a system."
    ),
    key: Path | None = option("The key, for --what advice if scores are confidential.", metavar="FILE"),
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
    made = export_release(
        folder, release, to, what, accepted=accepted, rejected=rejected, waiting=waiting, key=key
    )
    write_bytes(out, made.data)
    papers = made.papers
    overridden = sum(paper.overridden for paper in papers)
    accept = sum(paper.decision == "accept" for paper in papers)
    for remark in made.remarks:
        note(remark)
    if as_json:
        facts = {"papers": len(papers), "accepted": accept, "overridden": overridden, "out": out, "notes": []}
        emit_json({**facts, "release": release, "to": to, "what": what})
        return
    say(f"{count(len(papers), 'paper')}, {accept:,} accepted, from {release}")
    say(f"wrote {out} ({what} for {to})")
    if FORMATS[to].upload and what == "decisions":
        say(FORMATS[to].upload.format(out=out))
    if what == "advice":
        say(ADVICE_WARNING)
