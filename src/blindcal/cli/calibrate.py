"""`blindcal calibrate`: one calibrated quality per paper; and `blindcal assess`: whether that is worth it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from blindcal.calibrators import METHODS, Calibration, maximum_likelihood, posterior, raw
from blindcal.calibrators.assessment import Assessment
from blindcal.calibrators.assessment import assess as assess_reviews
from blindcal.calibrators.results import GRAY
from blindcal.checks import Array
from blindcal.cli.console import CONFIDENTIAL, emit_json, note, say, table
from blindcal.cli.fit import DEFAULT_RATE, expected_rate, percents
from blindcal.cli.options import conference_folders, numeric, option, probability, share, word
from blindcal.errors import InputError
from blindcal.fitting.diagnostics import Estimate
from blindcal.io.atomic_files import write_table
from blindcal.io.cells import count
from blindcal.planning.expected_errors import WORTH
from blindcal.planning.level_menu import LevelAnswer
from blindcal.posterior.conference import read_reviewers
from blindcal.posterior.inputs import PAST
from blindcal.project.decide import folder_answer
from blindcal.project.imports import decided, folder_reviews
from blindcal.project.settings import Folder, read_folder
from blindcal.report.wording import VERDICTS, level_advice, level_facts
from blindcal.reviewers.affine import Affine
from blindcal.reviews import BETTER, Reviews, orient_reviewers, orient_reviews, similar_id_warnings

ReviewsOrFolder = Annotated[
    Path,
    typer.Argument(
        help="Table with columns paper, reviewer, score; or a folder that `blindcal new` made.",
        autocompletion=conference_folders,
    ),
]
_KNOWN = {"maximum_likelihood": maximum_likelihood, "posterior": posterior}
_ANYONE = "*"
WARNING = (
    "CONFIDENTIAL: calibrated scores depend on who reviewed what; together with the scores they can reveal "
    "assignments."
)


def calibrate(
    reviews: ReviewsOrFolder,
    out: Path = option("The table to write; an existing file is never overwritten.", default=...),
    method: str = option(f"One of {', '.join((*METHODS, *_KNOWN))}.", default="hierarchical"),
    accept_rate: float | None = numeric(share, "Add each paper's probability of being in this top share."),
    reviewers: Path | None = option(
        "Known reviewers (columns reviewer, slope, offset, noise; a row * for those not listed): for "
        "maximum_likelihood and posterior. Else those of the folder."
    ),
    better: str | None = word(
        BETTER, "Which scores are better, high or low; high unless a folder says otherwise."
    ),
) -> None:
    """Calibrate the scores of one conference (no privacy: for chairs only).

    Writes paper, quality, standard_error, raw_mean, reviews, rank, raw_rank and, with --accept-rate,
    probability_accepted; one line per paper, readable only by you.

    Example: blindcal calibrate reviews.csv --method hierarchical --accept-rate 0.25 --out calibrated.csv
    """
    folder = folder_of(reviews)
    better = better or ("high" if folder is None else folder.text("better"))
    table = orient_reviews(reviews_to_decide(reviews, folder), better)
    note(*similar_id_warnings(table, str(reviews)))
    if reviewers is None and method in _KNOWN and folder is not None and folder.text("reviewers"):
        reviewers = Path(folder.text("reviewers"))
    result = _calibrated(table, method, reviewers, better)
    write_table(out, calibrated_columns(result, accept_rate, better), confidential=True)
    sizes = {"papers": len(table.papers), "reviews": len(table), "reviewers": len(table.reviewers)}
    accepted = {} if accept_rate is None else _accepted_papers(result, accept_rate)
    facts = {"method": method, "better": better, "notes": result.notes, "out": out, "warning": WARNING}
    emit_json({**facts, **sizes, **accepted})
    counted = ", ".join(count(number, things.removesuffix("s")) for things, number in sizes.items())
    say(f"{method}: {counted}; better: {better} scores")
    if accepted:
        low, high = GRAY
        gray, otherwise = (
            count(accepted[name], "paper") for name in ("gray_zone", "decided_otherwise_than_raw")
        )
        say(f"accepted: {accepted['accepted']}")
        say(f"gray zone (probability of being accepted {low:g} to {high:g}): {gray}")
        say(f"decided differently from raw means: {otherwise}")
    for remark in result.notes:
        say(f"note: {remark}")
    say(f"wrote {out}")
    say(WARNING)


def folder_of(path: Path) -> Folder | None:
    """The conference's folder at `path`; None if a table is there."""
    return read_folder(path) if path.is_dir() else None


def reviews_to_decide(path: Path, folder: Folder | None) -> Reviews:
    """The reviews of a table, or those of a folder without withdrawn papers."""
    if folder is None:
        return Reviews.read(path)
    if (reviews := folder_reviews(folder)) is None:
        raise InputError(f"{path} has no reviews yet: `blindcal import {path} FILE` brings them")
    return reviews.without(folder.withdrawn)


def calibrated_columns(
    result: Calibration, accept_rate: float | None, better: str = "high"
) -> dict[str, Sequence[object] | Array]:
    """The columns of `calibrated.csv`; higher is better in all but the raw mean, which is as it was."""
    reviews, plain = result.reviews, raw(result.reviews)
    columns: dict[str, Sequence[object] | Array] = {
        "paper": list(reviews.papers),
        "quality": result.quality,
        "standard_error": result.standard_error,
        "raw_mean": plain.quality if better == "high" else 0.0 - plain.quality,
        "reviews": np.bincount(reviews.paper).tolist(),
        "rank": result.rank.tolist(),
        "raw_rank": plain.rank.tolist(),
    }
    if accept_rate is not None:
        columns["probability_accepted"] = result.probability_accepted(accept_rate)
    return columns


def _calibrated(reviews: Reviews, method: str, reviewers: Path | None, better: str) -> Calibration:
    if method not in (*METHODS, *_KNOWN):
        raise InputError(f"--method must be one of {', '.join((*METHODS, *_KNOWN))}, found {method!r}")
    if (method in _KNOWN) != (reviewers is not None):
        rule = "needs --reviewers" if method in _KNOWN else "learns reviewers itself: leave --reviewers out"
        raise InputError(f"--method {method} {rule}")
    if reviewers is None:
        return METHODS[method](reviews)
    return _KNOWN[method](reviews, known_reviewers(reviewers, reviews.reviewers, better))


def known_reviewers(path: Path, wanted: tuple[str, ...], better: str = "high") -> Affine:
    """The reviewers of a file in the order `wanted`; one not listed takes the row `*`, else it is refused."""
    rows = orient_reviewers(read_reviewers(path), better)
    missing = sum(name not in rows for name in wanted)
    if missing and _ANYONE not in rows:
        raise InputError(f"{path} lacks {missing} of {len(wanted)} reviewers and has no row {_ANYONE}")
    table = np.array([rows.get(name, rows.get(_ANYONE)) for name in wanted], dtype=np.float64)
    slope, offset, noise, slope_se, offset_se, correlation, noise_se = table.T
    shared = correlation * slope_se * offset_se
    covariance = np.stack([slope_se**2, shared, shared, offset_se**2], axis=-1).reshape(-1, 2, 2)
    return Affine(slope, offset, np.hypot(noise, noise_se), covariance if covariance.any() else None)


def _accepted_papers(result: Calibration, accept_rate: float) -> dict[str, int]:
    """How many papers are accepted at a rate, how many of them all are in doubt, and how many moved."""
    most = result.accepted(accept_rate)
    otherwise = (result.rank <= most) != (raw(result.reviews).rank <= most)
    gray = int(result.gray_zone(accept_rate).sum())
    return {"accepted": most, "gray_zone": gray, "decided_otherwise_than_raw": int(otherwise.sum())}


# --- `blindcal assess`: is calibration worth it on these reviews?

_METHODS = {
    "raw": "raw means",
    "hierarchical": "hierarchical, from these reviews alone",
    "known": "reviewers known (the most that past reviews can give)",
}
_PREDICTORS = {
    "shrunk": "raw means shrunk toward the overall mean",
    "offsets": "offsets learned",
    "hierarchical": "offsets and slopes learned (hierarchical)",
}


def assess(
    reviews: ReviewsOrFolder,
    accept_rate: float | None = numeric(
        share, "Share of papers to accept; 0.25 unless a folder says otherwise."
    ),
    least_gain: float = numeric(
        probability,
        "Smallest share of papers decided better that makes calibration worthwhile.",
        default=WORTH,
    ),
) -> None:
    """Estimate how much reviewers differ, and how much calibration would change.

    Prints each source's share of the variance of a score, with 90 % intervals; how many papers each method
    puts on the wrong side of the acceptance line, on conferences simulated with this assignment and these
    shares; how well a left-out score of each paper is predicted, which needs no model; and a verdict.

    Example: blindcal assess reviews.csv --accept-rate 0.25
    """
    folder = folder_of(reviews)
    read = reviews_to_decide(reviews, folder)
    if folder is not None and folder.source != PAST and not decided(folder):
        _say_public_range(folder)
        return
    if accept_rate is None:
        accept_rate = DEFAULT_RATE if folder is None else expected_rate(folder, read)
    note(*similar_id_warnings(read, str(reviews)))
    result = assess_reviews(read, accept_rate=accept_rate, least_gain=least_gain)
    emit_json({**vars(result), "warning": CONFIDENTIAL})
    _print_assessment(result)


def _say_public_range(folder: Folder) -> None:
    """What the scores alone say, for a chair who has yet to decide by this year's evidence."""
    answer = folder_answer(folder, seconds=0.0)
    if not isinstance(answer, LevelAnswer):
        raise InputError(f"{folder.path} is not ready: `blindcal plan {folder.path}` says why")
    say(level_advice(answer))
    note(
        "before papers are decided only this range is given: figures fitted to who wrote what would break "
        "the promise if they shaped a decision, even the decision whether to calibrate"
    )
    emit_json({"advice": level_advice(answer), "menu": level_facts(answer), "warning": CONFIDENTIAL})


def _print_assessment(result: Assessment) -> None:
    say(CONFIDENTIAL)
    table(
        ["part of a score's variance", "share", "90 % interval"],
        [(name, *percents(share)) for name, share in result.shares.items()],
    )
    say()
    table(
        [f"papers on the wrong side at rate {result.accept_rate:g}", "share", "90 % interval"],
        [(meaning, *percents(result.wrong[name])) for name, meaning in _METHODS.items()],
    )
    say(f"({result.conferences} simulated conferences with this assignment)")
    say()
    if result.predictions:
        errors = {meaning: result.predictions[name] for name, meaning in _PREDICTORS.items()}
        rows = [
            (meaning, f"{100 * error.change:+.1f} %", f"{100 * error.low:+.1f} to {100 * error.high:+.1f} %")
            for meaning, error in errors.items()
        ]
        table(["error in predicting a left-out score", "against raw", "90 % interval"], rows)
        say()
    now, known = _gain_words(result.gain_now), _gain_words(result.gain_known)
    say(f"gain over raw, now: {now}; reviewers known: {known}")
    say(f"verdict: {result.verdict}: {VERDICTS[result.verdict]}")
    say(f"(smallest worthwhile gain: {100 * result.least_gain:g} in 100)")
    for remark in result.notes:
        say(f"note: {remark}")


def _gain_words(estimate: Estimate) -> str:
    low, high = 100 * estimate.low, 100 * estimate.high
    return f"{100 * estimate.value:.1f} papers in 100 ({low:.1f} to {high:.1f})"
