"""`blindcal verify`: a confidential auditor derives everything again with the key."""

from __future__ import annotations

from blindcal.cells import number_text
from blindcal.cli.console import Json, as_options, emit_json, note, progress, say, table
from blindcal.cli.folders import FolderPath, KeyFile, Published
from blindcal.cli.options import ClusterAddress, Processes, hired, option
from blindcal.project.workflow import opened, verify_folder
from blindcal.report.wording import quota_line


def verify(
    path: FolderPath,
    key: KeyFile = None,
    published: Published = None,
    commitment: str | None = option(
        "The commitment that was published before decisions could be known, to check it."
    ),
    processes: Processes = None,
    cluster: ClusterAddress = None,
    as_json: Json = False,
) -> None:
    """Check the latest release with the key: input, commitment, coins, tables, claims, public files.

    The folder must have the files that were decided; the request is taken from the sealed record and shown.
    For an auditor who may know who reviewed what, since the files say so. Exits with code 4 if anything does
    not agree.

    Example: blindcal verify icx2027
    """
    folder = opened(path)
    conference = str(folder.settings.get("conference", "conference"))
    with hired(processes, cluster) as workers:
        verification, record, remarks = verify_folder(
            folder,
            key=key,
            published=published or (),
            commitment=commitment,
            workers=workers,
            progress=progress,
        )
    for remark in remarks:
        note(remark)
    facts = {"release": record.release, "checks": verification.checks, "verified": verification.agrees}
    if as_json:
        emit_json({**facts, "settings": record.settings} if verification.agrees else facts)
    else:
        say(f"release {record.release}, the latest of conference {conference!r}")
        rows = [(c.name, f"{c.items - c.failed} of {c.items} agree", c.note) for c in verification.checks]
        table(["check", "result", ""], rows)
        for check in verification.checks:
            if check.papers:
                say(f"CONFIDENTIAL: {check.name}: {', '.join(check.papers)}")
    verification.raise_if_not()
    if not as_json:
        say(f"release {record.release} verified")
        if verification.limits:
            say(as_options(verification.limits))
        settings = dict(record.settings)
        settings["grid"] = " ".join(map(number_text, record.grid)) or None
        quota = record.request.quota
        exactly = "" if quota is None else f"; {quota_line(quota)}"
        settled = ", ".join(
            f"{name.replace('_', ' ')} {number_text(value) if isinstance(value, float) else value}"
            for name, value in settings.items()
            if value is not None
        )
        say(f"decided with: {settled}{exactly}")
