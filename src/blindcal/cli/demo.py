"""`blindcal demo`: every step on a made-up conference."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill

from blindcal.cli.console import emit_json, progress, say
from blindcal.cli.options import option
from blindcal.compute.parallel import available_cores
from blindcal.errors import InputError, RefusedError
from blindcal.io.atomic_files import write_bytes
from blindcal.posterior.conference import track_level
from blindcal.project.contents import INPUTS, Source
from blindcal.project.create import InitialSettings, create_folder, key_beside
from blindcal.project.decide import decide_folder
from blindcal.project.publish import report_release
from blindcal.project.settings import FILE, read_folder
from blindcal.report.paper_survey import recorded_answer
from blindcal.report.wording import certified_promises, level_advice
from blindcal.simulation.conference import PAPERS, RATE, REVIEWS, SimulatedConference, example, example_files


def demo(out: Path = option("Folder to leave behind.", default=Path("demo-out"))) -> None:
    """Decide a simulated conference of 200 papers on its own reviews, and leave its folder.

    OUT is a folder as `blindcal new` makes it from one file of reviews: OUT/inputs holds that file,
    OUT/public what may be shared if scores are public, as here, with report.html to read; the key and its
    private log lie beside it. So `plan`, `verify` and the other commands take OUT. OUT/history has what past
    years would tell of the reviewers, for the next step. Running it again returns the stored decisions.

    Example: blindcal demo
    """
    drawn, key = example(PAPERS), key_beside(out)
    if out.exists() and not (out / FILE).exists():
        raise InputError(f"--out must be a new folder, or one that an earlier run made, found {out}")
    _make_folder(drawn, out)
    folder, cores = read_folder(out), available_cores()
    outcome, release = decide_folder(folder, workers=cores, progress=progress)
    # The page about the release lies beside it in the public folder; the first run writes it.
    report = release.parent / "report.html"
    if not report.exists():
        write_bytes(report, report_release(folder, release, workers=cores, progress=progress).html.encode())
    record = outcome.record
    gained = recorded_answer(record)
    counts = _wrong_decisions(drawn, record.decisions, track_level(record.bar, ""))
    facts = {"folder": out, "how": outcome.how, "report": report, "wrong": counts}
    emit_json({**facts, "certificate": outcome.certificate})
    say(f"A simulated conference: {PAPERS} papers with {REVIEWS} reviews each. Some reviewers are strict,")
    say("some lenient. The chair has one file, these reviews, and accepts about a quarter.")
    say(
        "The decisions were stored by an earlier run."
        if outcome.how == "stored"
        else "Every paper was decided once."
    )
    say()
    say(fill(level_advice(gained), 96))
    for sentence in certified_promises(outcome.certificate):
        say(fill(sentence, 96))
    say(f"A random draw decided {gained.choice.lots:,} papers; scores settled all others.")
    say(
        f"True qualities are known here: {counts['raw']} decisions by mean scores were wrong, and "
        f"{counts['private']} of blindcal's."
    )
    say()
    say(f"{release}   decisions.csv and certificate.json: may be shared, as scores are public")
    say(f"{out / INPUTS}, {out / HISTORY}   CONFIDENTIAL, never share")
    say(f"{key}, {key}.sealed   the key and its private log: CONFIDENTIAL, never share")
    say()
    say(f"Now open {report} in a browser: what was promised, what was gained, how to check it.")
    say(f"The table for a meeting: blindcal report {out} --papers --out papers.html")
    say("History gains more. The same conference with what past years tell of its reviewers:")
    given = (f"--{name} {out / folder / name}.csv" for name, folder in _CALIBRATION_FILES.items())
    say(f"  blindcal new history2027 {' '.join(given)} --accept 25% --scores public")


HISTORY = "history"
"""The folder of the demo with what past years would tell."""
# What `blindcal new` takes for a calibration from past years, by where it lies.
_CALIBRATION_FILES = {"reviews": INPUTS, "reviewers": HISTORY, "pools": HISTORY}


def _make_folder(drawn: SimulatedConference, out: Path) -> None:
    """Make the folder from one file; that of an earlier run must have the same files."""
    files = {
        Path(_CALIBRATION_FILES[name.removesuffix(".csv")], name): data
        for name, data in example_files(drawn).items()
    }
    if not out.exists():
        with TemporaryDirectory() as scratch:
            reviews = Path(scratch, "reviews.csv")
            reviews.write_bytes(files[Path(INPUTS, "reviews.csv")])
            wishes, sources = InitialSettings("public", f"{100 * RATE:g}%"), [Source(reviews, "reviews")]
            create_folder(out, wishes, key_beside(out), sources)
        (out / HISTORY).mkdir(mode=0o700)
        for name in (path for path in files if path.parent.name == HISTORY):
            write_bytes(out / name, files[name], confidential=True)
        return
    for name, data in files.items():
        if not (out / name).is_file() or (out / name).read_bytes() != data:
            raise RefusedError(f"{out / name} is not the demo's: give another --out folder")


def _wrong_decisions(drawn: SimulatedConference, decisions: str, bar: float) -> dict[str, int]:
    """Papers decided wrongly: only a simulated conference knows its papers' qualities."""
    rows = list(csv.DictReader(io.StringIO(decisions)))
    good = (drawn.quality > bar).tolist()
    return {
        name: sum((row[column] == "accept") != right for row, right in zip(rows, good, strict=True))
        for name, column in (("raw", "by_mean_score"), ("private", "decision"))
    }
