"""`blindcal report`: a release as one page for people, or its certificate in plain language."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

import typer

from blindcal.cells import count
from blindcal.cli.arguments import ClusterAddress, Processes, hired
from blindcal.cli.completions import conference_folders
from blindcal.cli.console import Json, emit_json, note, progress, say
from blindcal.cli.folders import key_of, opened_release, say_next
from blindcal.cli.inputs import loaded
from blindcal.compute.parallel import Workers
from blindcal.deciding.ledger import read_record
from blindcal.errors import InputError
from blindcal.exporters.decisions import DecidedPaper, decided_of, read_decided, read_titles
from blindcal.io.atomic_files import refuse_existing, refuse_published, write_bytes
from blindcal.planning.conference_plan import plan_remarks
from blindcal.project.settings import Folder, parse_grid
from blindcal.report.explanation import certificate_of, explain_certificate, has_figures, read_certificate
from blindcal.report.guarantee_survey import Survey, survey_release
from blindcal.report.html_page import Report, page

_WIDTH = 96


def report(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="The conference's folder, for its latest release; or a published folder, or, for --text, a "
            "certificate.json.",
            autocompletion=conference_folders,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The page to write; an existing file is never overwritten."),
    ] = None,
    text: Annotated[
        bool,
        typer.Option(
            "--text", help="Instead print what the certificate promises: a sentence for every number in it."
        ),
    ] = False,
    confidential: Annotated[
        bool,
        typer.Option(
            "--confidential",
            help="A page for the chair alone, marked so: also titles, mean scores and chances of the papers "
            "in the gray zone.",
        ),
    ] = False,
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The key, for --confidential if scores are confidential: all figures are sealed.",
        ),
    ] = None,
    processes: Processes = None,
    cluster: ClusterAddress = None,
    as_json: Json = False,
) -> None:
    """Write a page about a release: what was promised, what it cost, what it reveals, how to check it.

    One HTML file that needs nothing else: it has no script and loads nothing, so it can be sent or printed as
    it is to whoever may see the scores. It is made from certificate.json and decisions.csv, and, if the
    conference's folder is given, from the public side of the files that were decided; it is the same whoever
    wrote the reviews. If scores are confidential, nothing in it depends on them but the decisions, and the
    page with all figures is that of --confidential. With --text, a certificate is enough.

    Example: blindcal report icx2027 --out icx2027.html
    """
    if text == (out is not None):
        raise InputError("give either --out, for a page, or --text")
    if out is None:
        _print_text(opened_release(path)[1], as_json)
        return
    refuse_existing(out)
    if confidential:
        refuse_published(out)
    folder, release = opened_release(path)
    certificate, decided = read_certificate(release), read_decided(release)
    if confidential and not has_figures(certificate):
        secret = key if folder is None else key_of(folder, key)
        certificate, decided = _sealed(release, secret)
    if len(decided) != certificate["papers"]:
        raise InputError(
            f"{release}: certificate.json is about {count(certificate['papers'], 'paper')}, and "
            f"decisions.csv has {len(decided):,}"
        )
    survey = None
    if not has_figures(certificate):
        note("scores are confidential: the page has no figure that depends on them; --confidential has all")
    elif folder is not None:
        with hired(processes, cluster) as workers:
            survey = _survey(folder, certificate, decided, workers)
    titles = None if folder is None else folder.settings.get("titles")
    names = read_titles(str(titles)) if titles and confidential else {}
    notes: tuple[str, ...] = ()
    if has_figures(certificate):
        notes = tuple(plan_remarks(certificate, certificate["limits"].get("never_against")))
    made = page(Report(certificate, decided, survey, confidential, names, notes)).encode()
    write_bytes(out, made, confidential=confidential)
    if folder is None and has_figures(certificate):
        note("without the conference's folder the page has no menu and no gray zone")
    if as_json:
        facts = {
            "out": out,
            "bytes": len(made),
            "confidential": confidential,
            "release": release,
            "notes": [],
        }
        emit_json({**facts, "menu": None if survey is None else survey.menu})
        return
    say(f"wrote {out} ({len(made) / 1000:,.0f} kB); open it in any browser, or print it from there")
    if confidential:
        say(f"CONFIDENTIAL, never share: {out}")
    if folder is not None:
        say_next("report", folder)


def _survey(
    folder: Folder, certificate: dict[str, Any], decided: tuple[DecidedPaper, ...], workers: Workers
) -> Survey:
    """Where every paper of a folder stood before the decision, with the menu."""
    grid = folder.settings.get("grid")
    with loaded(folder, parse_grid(None if grid is None else str(grid))) as inputs:
        # The menu is about as many papers as the bar was set for.
        only = "expected_wrong_fully_calibrated" not in certificate
        return survey_release(inputs, certificate, decided, only=only, workers=workers, progress=progress)


def _sealed(release: Path, key: Path | None) -> tuple[dict[str, Any], tuple[DecidedPaper, ...]]:
    """Certificate and decisions with all figures, from the sealed record."""
    if key is None:
        raise InputError("scores are confidential, and the figures of this release are sealed: give --key")
    record = read_record(release, key)
    name = str(release)
    return certificate_of(record.certificate.encode(), name), decided_of(record.decisions.encode(), name)


def _print_text(release: Path, as_json: bool) -> None:
    """Print what a certificate promises, number by number."""
    certificate = read_certificate(release)
    parts = explain_certificate(certificate)
    if as_json:
        emit_json({"certificate": release, "parts": parts, "assumptions": certificate["assumptions"]})
        return
    for part in parts:
        say(part.title)
        for line in part.lines:
            say(f"  {line.name}: {line.value}")
            say(fill(line.sentence, _WIDTH, initial_indent="    ", subsequent_indent="    "))
        say()
    say("On these assumptions")
    for assumption in certificate["assumptions"]:
        say(fill(assumption, _WIDTH, initial_indent="  * ", subsequent_indent="    "))
