"""`blindcal report`: a release for people, as a page or as text; and `blindcal export`: for other systems."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import Any

from blindcal.cli.console import as_options, emit_json, note, say
from blindcal.cli.options import (
    ClusterAddress,
    Processes,
    flag,
    folder_argument,
    hired,
    opened_release,
    option,
    word,
)
from blindcal.errors import InputError
from blindcal.exporters import FORMATS, WHAT
from blindcal.io.atomic_files import refuse_existing, refuse_published, write_bytes
from blindcal.io.cells import count
from blindcal.project.publish import export_release, folder_list, folder_papers, report_release
from blindcal.project.settings import Folder
from blindcal.report.html_page import table_page
from blindcal.report.wording import assumptions_of, certified_guarantee, explain_certificate, read_certificate

_WIDTH = 96


def report(
    path: Path = folder_argument(
        "The conference's folder, for its latest release; or a published folder, or, for --text, a "
        "certificate.json."
    ),
    out: Path | None = option("The page to write; an existing file is never overwritten.", metavar="FILE"),
    text: bool = flag(
        "Instead print what the certificate promises: a sentence for every number in it.", "--text"
    ),
    confidential: bool = flag(
        "A page for the chair alone, marked so: also titles, mean scores and chances of the papers in the "
        "gray zone.",
        "--confidential",
    ),
    papers: bool = flag(
        "Instead a table of papers for the meeting, for chairs alone, marked so: every paper with title, "
        "scores, how it was decided and what that can say, to sort, filter and search. It names no reviewer.",
        "--papers",
    ),
    key: Path | None = option(
        "The key if it is not where the folder says, for --papers, and for --confidential if scores are "
        "confidential: only the private log has the figures.",
        metavar="FILE",
    ),
    processes: Processes = None,
    cluster: ClusterAddress = None,
) -> None:
    """Write a page about a release: what was promised, what it cost, what it reveals, how to check it.

    One HTML file that needs nothing else: it has no script and loads nothing, so it can be sent or printed as
    it is to people who may see the scores. It is made from certificate.json and decisions.csv, and, if the
    conference's folder is given, from the public side of the files that were decided; it does not depend on
    who wrote the reviews. If scores are confidential, only the decisions in it depend on them, and the page
    with all figures is that of --confidential. With --text, a certificate is enough.

    Example: blindcal report icx2027 --out icx2027.html
    """
    if text == (out is not None):
        raise InputError("give either --out, for a page, or --text")
    if out is None:
        _print_text(opened_release(path)[1])
        return
    refuse_existing(out)
    if confidential or papers:
        refuse_published(out)
    folder, release = opened_release(path)
    if papers:
        _write_papers(folder, release, out, key)
        return
    with hired(processes, cluster) as work:
        html, remarks = report_release(folder, release, confidential=confidential, key=key, **work)
    made = html.encode()
    write_bytes(out, made, confidential=confidential)
    note(*remarks)
    facts = {"out": out, "bytes": len(made), "confidential": confidential, "release": release}
    emit_json(facts)
    say(f"wrote {out} ({len(made) / 1000:,.0f} kB); open it in any browser, or print it from there")
    if confidential:
        say(f"CONFIDENTIAL, never share: {out}")
    if folder is not None:
        say(f"next: blindcal export {folder.path} --to csv --out {folder.path.name}.csv")


def _write_papers(folder: Folder | None, release: Path, out: Path, key: Path | None) -> None:
    if folder is None:
        raise InputError("--papers needs the conference's folder, whose key has the private log")
    table = folder_papers(folder, key)
    made = table_page(table).encode()
    write_bytes(out, made, confidential=True)
    facts = {"out": out, "bytes": len(made), "confidential": True, "release": release}
    emit_json({**facts, "papers": len(table.papers), "near": table.near})
    say(f"wrote {out} ({len(made) / 1000:,.0f} kB). {' '.join(table.summary)}")
    say(f"CONFIDENTIAL, for chairs alone, never share: {out}")


def _print_text(release: Path) -> None:
    certificate = read_certificate(release)
    parts = explain_certificate(certificate)
    assumptions = assumptions_of(certificate["assumptions"], certified_guarantee(certificate))
    emit_json({"certificate": release, "parts": parts, "assumptions": assumptions})
    for part in parts:
        say(part.title)
        for line in part.lines:
            say(f"  {line.name}: {line.value}")
            say(fill(line.sentence, _WIDTH, initial_indent="    ", subsequent_indent="    "))
        say()
    say("On these assumptions")
    for assumption in assumptions:
        say(fill(assumption, _WIDTH, initial_indent="  * ", subsequent_indent="    "))


def export(
    path: Path = folder_argument(
        "The conference's folder, for its latest release; or the folder of a published release."
    ),
    to: str = word(FORMATS, f"One of {', '.join(FORMATS)}.", default=...),
    out: Path = option(
        "The file to write; an existing file is never overwritten.", default=..., metavar="FILE"
    ),
    what: str | None = word(WHAT, f"One of {', '.join(WHAT)}.  [default: what was published]"),
    accepted: str | None = option("What your conference calls an accepted paper, like Accept (Oral)."),
    rejected: str | None = option("What it calls a rejected one."),
    waiting: str | None = option(
        "What it calls the wait list; without it, its papers are not sent to a system."
    ),
    accept: str | None = option(
        "Another number of papers than was released, in confidence; or how many of each track: "
        "main=40,short=10.",
        metavar="NUMBER",
    ),
    wait_list: str | None = option(
        "With --accept: how many more are on the wait list; or how many of each track.  [default: those who "
        "wait in the release, less those accepted here]",
        metavar="NUMBER",
    ),
    key: Path | None = option(
        "The key, for --accept, and for --what advice if scores are confidential.", metavar="FILE"
    ),
) -> None:
    """Write the decisions of a release for a conference system, or as a CSV or XLSX table.

    HotCRP: a bulk assignment, for Assignments > Bulk update; advice becomes tags that only chairs see.
    OpenReview: rows of number, decision and comment without a header. pretalx: a Python program that accepts
    and rejects by its API, and asks for the token. EasyChair, CMT: a list to type from, as they take no file
    of decisions that we know of. csv and xlsx have titles if the folder has them. A cell that a spreadsheet
    might run as a formula is written as text. Titles, your words for decisions, and decisions that you made
    by hand are taken from conference.toml.

    --accept prints the best papers by the private decisions, whatever their number, without those that
    conference.toml calls withdrawn: nothing is drawn, recorded or published, and what the certificate
    promises holds for all lists together. Such a file is confidential until you give it out; `verify --list`
    checks it.

    If the conference publishes advice, so is what is exported, and decisions are refused: they stay in the
    private log.

    Example: blindcal export icx2027 --to hotcrp --out decisions-hotcrp.csv
    """
    folder, release = opened_release(path)
    if wait_list is not None and accept is None:
        raise InputError("`wait_list` goes with `accept`")
    if accept is not None and folder is None:
        raise InputError("`accept` needs the conference's folder, whose key has the private log")
    printed = None
    if accept is not None and folder is not None:
        printed = folder_list(folder, accept, wait_list, key=key)
    words = {"accepted": accepted, "rejected": rejected, "waiting": waiting}
    made = export_release(folder, release, to, what, **words, printed=printed, key=key)
    write_bytes(out, made.data, confidential=made.confidential)
    papers, what = made.papers, made.what
    overridden = sum(paper.overridden for paper in papers)
    accepts = sum(paper.decision == "accept" for paper in papers)
    note(*made.remarks)
    facts: dict[str, Any] = {
        "papers": len(papers),
        "accepted": accepts if what == "decisions" else None,
        "overridden": overridden,
        "out": out,
    }
    emit_json({**facts, "release": release, "to": to, "what": what, "words": made.words})
    accepted_text = f", {accepts:,} accepted" if what == "decisions" else ""
    say(f"{count(len(papers), 'paper')}{accepted_text}, from {release}")
    say(f"wrote {out} ({what} for {to})")
    for decision, number in made.words.items():
        say(f"  {decision}: {count(number, 'paper')}")
    if made.confidential:
        say(f"CONFIDENTIAL until you give it out, and no release: {out}")
    if FORMATS[to].upload and what == "decisions":
        say(as_options(FORMATS[to].upload.format(out=out)))
    if what == "advice":
        say(
            "Advice is for area chairs who decide by it: it reveals as much as the decisions to anyone who "
            "sees it."
        )
