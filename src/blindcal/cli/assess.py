"""`blindcal assess`: is calibration worth it on these reviews?"""

from __future__ import annotations

from typing import Annotated

from blindcal.calibrators.assessment import WORTH, Assessment, Estimate
from blindcal.calibrators.assessment import assess as assess_reviews
from blindcal.cli.calibrate import ReviewsOrFolder, folder_of, reviews_to_decide
from blindcal.cli.console import CONFIDENTIAL, Json, emit_json, note, say, table
from blindcal.cli.fit import DEFAULT_RATE, expected_rate
from blindcal.cli.options import numeric, probability, share
from blindcal.report.wording import VERDICTS
from blindcal.reviews import similar_id_warnings

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
    accept_rate: Annotated[
        float | None, numeric(share, "Share of papers to accept; 0.25 unless a folder says otherwise.")
    ] = None,
    least_gain: Annotated[
        float,
        numeric(probability, "Smallest share of papers decided better that makes calibration worthwhile."),
    ] = WORTH,
    as_json: Json = False,
) -> None:
    """Estimate how much reviewers differ, and how much calibration would change.

    Prints each source's share of the variance of a score, with 90 % intervals; how many papers each method
    puts on the wrong side of the acceptance line, on conferences simulated with this assignment and these
    shares; how well a left-out score of each paper is predicted, which needs no model; and a verdict.

    Example: blindcal assess reviews.csv --accept-rate 0.25
    """
    folder = folder_of(reviews)
    read = reviews_to_decide(reviews, folder)
    if accept_rate is None:
        accept_rate = DEFAULT_RATE if folder is None else expected_rate(folder, read)
    for remark in similar_id_warnings(read, str(reviews)):
        note(remark)
    result = assess_reviews(read, accept_rate=accept_rate, least_gain=least_gain)
    if as_json:
        emit_json({**vars(result), "warning": CONFIDENTIAL})
    else:
        _print(result)


def _print(result: Assessment) -> None:
    say(CONFIDENTIAL)
    table(
        ["part of a score's variance", "share", "90 % interval"],
        [(name, *_percent(share)) for name, share in result.shares.items()],
    )
    say()
    table(
        [f"papers on the wrong side at rate {result.accept_rate:g}", "share", "90 % interval"],
        [(meaning, *_percent(result.wrong[name])) for name, meaning in _METHODS.items()],
    )
    say(f"({result.conferences} simulated conferences with this assignment)")
    say()
    if result.predictions:
        _print_predictions(result)
    say(f"gain over raw, now: {_points(result.gain_now)}; reviewers known: {_points(result.gain_known)}")
    say(f"verdict: {result.verdict}: {VERDICTS[result.verdict]}")
    say(f"(smallest worthwhile gain: {100 * result.least_gain:g} in 100)")
    for remark in result.notes:
        say(f"note: {remark}")


def _print_predictions(result: Assessment) -> None:
    rows = [
        (meaning, f"{100 * error.change:+.1f} %", f"{100 * error.low:+.1f} to {100 * error.high:+.1f} %")
        for name, meaning in _PREDICTORS.items()
        for error in [result.predictions[name]]
    ]
    table(["error in predicting a left-out score", "against raw", "90 % interval"], rows)
    say()


def _percent(estimate: Estimate) -> tuple[str, str]:
    return f"{100 * estimate.value:.1f} %", f"{100 * estimate.low:.1f} to {100 * estimate.high:.1f} %"


def _points(estimate: Estimate) -> str:
    low, high = 100 * estimate.low, 100 * estimate.high
    return f"{100 * estimate.value:.1f} papers in 100 ({low:.1f} to {high:.1f})"
