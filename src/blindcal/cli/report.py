"""`blindcal report`: one page about a release, for people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from blindcal.cells import count
from blindcal.cli.arguments import ClusterAddress, Processes, hired
from blindcal.cli.completions import conference_folders
from blindcal.cli.console import Json, emit_json, note, progress, say
from blindcal.cli.inputs import Grid, Withdrawn, loaded
from blindcal.deciding.ledger import sealed_record
from blindcal.errors import InputError
from blindcal.exporters.decisions import Decided, decided_of, read_decided, read_titles
from blindcal.io.atomic_files import refuse_existing, refuse_published, write_bytes
from blindcal.planning.conference_plan import plan_remarks
from blindcal.project.settings import levels
from blindcal.report.explanation import certificate_of, has_figures, read_certificate
from blindcal.report.guarantee_survey import survey_release
from blindcal.report.html_page import Report, page


def report(
    release: Annotated[
        Path,
        typer.Argument(
            help="The folder that `blindcal decide` wrote, or a folder that `blindcal new` made: then its "
            "latest release, with all files that are not given.",
            autocompletion=conference_folders,
        ),
    ],
    out: Annotated[Path, typer.Option(help="The page to write; an existing file is never overwritten.")],
    reviews: Annotated[
        Path | None,
        typer.Option(
            help="The reviews that were decided, with --reviewers and --pools: for the menu and the gray "
            "zone. Who wrote them does not enter the page."
        ),
    ] = None,
    reviewers: Annotated[
        Path | None, typer.Option(help="The calibration that they were decided with.")
    ] = None,
    pools: Annotated[Path | None, typer.Option(help="The pools that they were decided with.")] = None,
    grid: Grid = None,
    withdrawn: Withdrawn = None,
    only: Annotated[
        bool, typer.Option("--only", help="Leave out the menu, which takes longest to compute.")
    ] = False,
    confidential: Annotated[
        bool,
        typer.Option(
            "--confidential",
            help="A page for the chair alone, marked so: also titles, mean scores and chances of the papers "
            "in the gray zone.",
        ),
    ] = False,
    titles: Annotated[
        Path | None, typer.Option(help="Titles of papers, for --confidential: columns paper, title.")
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(help="The key, for --confidential if scores are confidential: all figures are sealed."),
    ] = None,
    processes: Processes = None,
    cluster: ClusterAddress = None,
    as_json: Json = False,
) -> None:
    """Write a page about a release: what was promised, what it cost, what it reveals, how to check it.

    One HTML file that needs nothing else: it has no script and loads nothing, so it can be sent or printed as
    it is to whoever may see the scores. It is made from certificate.json and decisions.csv, and from the
    public side of the files that were decided where these are given; it is the same whoever wrote the
    reviews. If scores are confidential, nothing in it depends on them but the decisions, and the page with
    all figures is that of --confidential.

    Example: blindcal report out/ --out report.html
    """
    refuse_existing(out)
    if confidential:
        refuse_published(out)
    certificate, decided = read_certificate(release), read_decided(release)
    if confidential and not has_figures(certificate):
        certificate, decided = _sealed(release, key)
    if len(decided) != certificate["papers"]:
        raise InputError(
            f"{release}: certificate.json is about {count(certificate['papers'], 'paper')}, and "
            f"decisions.csv has {len(decided):,}"
        )
    files = [reviews, reviewers, pools]
    given = [one for one in files if one is not None]
    if 0 < len(given) < len(files):
        raise InputError("give --reviews, --reviewers and --pools together, or none of them")
    found = None
    if not has_figures(certificate):
        note("scores are confidential: the page has no figure that depends on them; --confidential has all")
    elif reviews is not None and reviewers is not None and pools is not None:
        read = loaded(reviews, reviewers, pools, levels(grid), withdrawn=withdrawn)
        with hired(processes, cluster) as workers, read as inputs:
            # The menu is about as many papers as the bar was set for.
            only = only or "expected_wrong_fully_calibrated" not in certificate
            found = survey_release(
                inputs, certificate, decided, only=only, workers=workers, progress=progress
            )
    names = read_titles(titles) if titles is not None and confidential else {}
    notes: tuple[str, ...] = ()
    if has_figures(certificate):
        notes = tuple(plan_remarks(certificate, certificate["limits"].get("never_against")))
    made = page(Report(certificate, decided, found, confidential, names, notes)).encode()
    write_bytes(out, made, confidential=confidential)
    if found is None and has_figures(certificate):
        note("without --reviews, --reviewers and --pools the page has no menu and no gray zone")
    if as_json:
        facts = {
            "out": out,
            "bytes": len(made),
            "confidential": confidential,
            "release": release,
            "notes": [],
        }
        emit_json({**facts, "menu": None if found is None else found.menu})
        return
    say(f"wrote {out} ({len(made) / 1000:,.0f} kB); open it in any browser, or print it from there")
    if confidential:
        say(f"CONFIDENTIAL, never share: {out}")


def _sealed(release: Path, key: Path | None) -> tuple[dict[str, Any], tuple[Decided, ...]]:
    """Certificate and decisions with all figures, from the sealed record."""
    if key is None:
        raise InputError("scores are confidential, and the figures of this release are sealed: give --key")
    record = sealed_record(release, key)
    name = str(release)
    return certificate_of(record.certificate.encode(), name), decided_of(record.decisions.encode(), name)
