"""`blindcal demo`: every step on a made-up conference; and `blindcal app`: any conference in a browser."""

from __future__ import annotations

import csv
import io
import sys
import webbrowser
from pathlib import Path
from textwrap import fill
from typing import Any

from blindcal.cli.console import emit_json, note, number, progress, say, table
from blindcal.cli.options import Processes, argument, flag, hired, numeric, option, whole
from blindcal.cli.startup import terminations_as_interrupts, without_time_limit
from blindcal.compute.parallel import available_cores
from blindcal.errors import InputError, RefusedError
from blindcal.io.atomic_files import write_bytes
from blindcal.io.cells import count
from blindcal.posterior.conference import track_level
from blindcal.project.create import INPUTS, create_example, key_beside
from blindcal.project.decide import decide_folder
from blindcal.project.publish import report_release
from blindcal.project.settings import FILE, read_folder
from blindcal.report.wording import certified_steady, papers_text
from blindcal.simulation.conference import PAPERS, POOL, REVIEWS, SimulatedConference, example, example_files


def demo(
    out: Path = option("Folder to leave behind.", default=Path("demo-out")),
) -> None:
    """Run every step on a simulated conference of 200 papers and leave its folder.

    OUT is a folder as `blindcal new` makes it: OUT/inputs holds what a chair has, OUT/public what may be
    shared if scores are public, as here, with report.html to read; the key and its private log lie beside
    it. So `plan`, `verify` and the other commands take OUT. Running it again returns the stored decisions.

    Example: blindcal demo
    """
    drawn, key = example(PAPERS), key_beside(out)
    if out.exists() and not (out / FILE).exists():
        raise InputError(f"--out must be a new folder, or one that an earlier run made, found {out}")
    _make(drawn, out)
    folder, cores = read_folder(out), available_cores()
    outcome, release = decide_folder(folder, workers=cores, progress=progress)
    # The page about the release lies beside it in the public folder; the first run writes it.
    report = release.parent / "report.html"
    if not report.exists():
        write_bytes(report, report_release(folder, release, workers=cores, progress=progress).html.encode())
    counts = _wrong(drawn, outcome.record.decisions, track_level(outcome.record.bar, ""))
    facts = {"folder": out, "how": outcome.how, "report": report, "wrong": counts}
    emit_json({**facts, "certificate": outcome.certificate})
    _print(out, release, key, outcome.how, outcome.certificate, counts)
    say()
    say(f"Now open {report} in a browser: what was promised, what it cost, how to check it.")


def _make(drawn: SimulatedConference, out: Path) -> None:
    """Make the folder; that of an earlier run must have the same inputs."""
    if not out.exists():
        create_example(out, drawn)
        return
    for name, data in example_files(drawn).items():
        path = out / INPUTS / name
        if not path.is_file() or path.read_bytes() != data:
            raise RefusedError(f"{path} is not the demo's: give another --out folder")


def _wrong(drawn: SimulatedConference, decisions: str, bar: float) -> dict[str, int]:
    """Papers decided wrongly: only a simulated conference knows its papers' qualities."""
    rows = list(csv.DictReader(io.StringIO(decisions)))
    good = (drawn.quality > bar).tolist()
    return {
        name: sum((row[column] == "accept") != right for row, right in zip(rows, good, strict=True))
        for name, column in (("raw", "raw_decision"), ("private", "decision"))
    }


def _print(
    out: Path,
    release: Path,
    key: Path,
    how: str,
    certificate: dict[str, Any],
    counts: dict[str, int],
) -> None:
    say(f"A simulated conference: {PAPERS} papers, each reviewed by {REVIEWS} of {POOL} known candidates.")
    say("Reviewers differ in slope and offset; the chair accepts about a quarter.")
    say(
        "The decisions were stored by an earlier run." if how == "stored" else "Every paper was decided once."
    )
    say()
    names = {
        "success_scores_only": "chance of naming a reviewer from the scores alone",
        "success": "... with the decisions too",
        "largest_rise": "largest rise of that chance by one decision, for any review",
        "epsilon": "largest change of anyone's odds by one decision (natural log)",
    }
    wrong = {
        "_raw": "wrong decisions expected by mean scores",
        "": "... as decided",
        "_fully_calibrated": "... with full calibration, which would reveal reviewers",
    }
    papers = certificate["papers"]
    expected = {name: papers * certificate[f"expected_wrong{name}"] for name in wrong}
    rows = [(text, number(certificate[name])) for name, text in names.items()]
    rows += [(text, f"{papers_text(expected[name])} of {papers}") for name, text in wrong.items()]
    gain = papers_text(expected["_raw"] - expected[""])
    say(f"Expected gain: {gain} of {count(papers, 'paper')}.")
    for sentence in certified_steady(certificate):
        say(fill(sentence, 96))
    say()
    table(["from certificate.json", ""], rows)
    say()
    say(
        f"True qualities are known here: {counts['raw']} raw decisions were wrong, and "
        f"{counts['private']} of blindcal's."
    )
    say()
    say(f"{release}   decisions.csv and certificate.json: may be shared, as scores are public")
    say(f"{out / INPUTS}   what a chair has: CONFIDENTIAL, never share")
    say(f"{key}, {key}.sealed   the key and its private log: CONFIDENTIAL, never share")


@terminations_as_interrupts()
def serve(
    folder: Path | None = argument(
        "A folder that `blindcal new` made, to open; or the name of one to make in the browser.", default=None
    ),
    port: int = numeric(whole, "The port; any that is free unless given.", default=0),
    no_browser: bool = flag("Print the address and open no browser.", "--no-browser"),
    processes: Processes = None,
) -> None:
    """Run a whole conference in a browser, or play with one pair of papers.

    Everything stays on this machine: the server listens on 127.0.0.1 only and answers only requests that
    carry the token in the printed address. It works on a conference's folder, with the key that
    lies beside it, and does what the commands do. New folders are made beside FOLDER, or in the current
    folder. It runs until Ctrl-C.

    Example: blindcal app icx2027
    """
    try:
        from blindcal.app.server import listen, write_redirect
        from blindcal.app.session import Session
    except ImportError as error:
        raise InputError(f"the app needs {error.name}: pip install 'blindcal[app]'") from None
    if port < 0:
        raise InputError(f"--port must be at least 0, found {port}")
    home = Path() if folder is None else folder.parent
    if not home.is_dir():
        raise InputError(f"{home} must be a folder that exists")
    with hired(processes, None) as workers:
        session = Session(home, folder, workers=workers if isinstance(workers, int) else 1)
    try:
        server = listen(session, port)
    except InputError:
        session.close()
        raise
    try:
        emit_json({"address": server.address, "port": server.port})
        say(f"open {server.address}")
        say("Keep the address secret: anyone on this machine who has it can see what is open here.")
        say("Ctrl-C ends it.")
        if not no_browser and not webbrowser.open(write_redirect(server.address, session.private).as_uri()):
            note("no browser could be started: open the address yourself")
        sys.stdout.flush()
        without_time_limit()
        server.run()
    except KeyboardInterrupt:
        say("ended")
    finally:
        server.close()
        session.close()
