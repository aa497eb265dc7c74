"""`blindcal fit`: calibration from past conferences; and `blindcal share`: noisy sums for others' fits."""

from __future__ import annotations

import importlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from blindcal.checks import import_matplotlib
from blindcal.cli.console import CONFIDENTIAL, emit_json, note, progress, say, table
from blindcal.cli.options import (
    PICTURE_FORMATS,
    argument,
    decimal,
    flag,
    folder_argument,
    numeric,
    option,
    say_next_step,
    word,
)
from blindcal.compute.parallel import available_cores
from blindcal.errors import InputError
from blindcal.fitting.committee import MatchedPeople, read_committee
from blindcal.fitting.diagnostics import Estimate, Forecast
from blindcal.fitting.estimate import Fitted
from blindcal.fitting.received_sums import statement_path
from blindcal.fitting.value_of_history import ValueOfHistory
from blindcal.io.atomic_files import check_targets, refuse_published, write_bytes
from blindcal.io.cells import count
from blindcal.posterior.reuse_guard import fit_record_path
from blindcal.private_sharing import LossLimit, shared_folder
from blindcal.private_sharing import share as share_sums
from blindcal.project.fit import fit_folder
from blindcal.project.imports import folder_reviews
from blindcal.project.settings import Folder, parse_grid, parse_paper_counts, read_folder
from blindcal.report.wording import SOURCES
from blindcal.reviewers.calibration import ANYONE, FIELDS
from blindcal.reviews import BETTER, Reviews

# The share of papers to accept, if neither the command nor a folder says how many.
DEFAULT_RATE = 0.25
_CHECKS = ("shares", "persistence", "levels", "bend", "line", "newcomers", "forecast")


def fit(
    folder: Path = folder_argument("A folder that `blindcal new` made, with reviews and past reviews."),
    what_if: bool = flag(
        "Also say what this history is worth: expected wrong decisions with it, with twice as much, and with "
        "reviewers known exactly.",
        "--what-if",
    ),
    picture: Path | None = option(
        "Draw the checks too, as .svg, .png or .pdf; CONFIDENTIAL. Needs Matplotlib."
    ),
) -> None:
    """Estimate reviewers' slope, offset and noise from past conferences.

    Writes the table that FOLDER/conference.toml names as reviewers: reviewer, slope, offset, noise, slope_se,
    offset_se, correlation, noise_se, reviews; one row for everyone on the committee, and a row * for anyone
    else. Someone with little history is drawn toward the population, and older reviews count less, as much
    as the past shows. Of this year's reviews only the mean and spread of all scores enter the table; past
    reviews that are among them are refused. A second file, with .fit.json at its end, has the checks and
    digests of what was used, so that `decide` can refuse a calibration that was fitted on its own reviews.
    Only you can read either. What an earlier fit wrote is replaced, unless you changed it. Once papers were
    decided it is kept instead, the new table keeps its shift and stretch, and conference.toml names the new
    one.

    Example: blindcal fit icx2027
    """
    conference = read_folder(folder)
    if picture is not None:
        check_targets(picture)
        refuse_published(picture)
        check_picture(picture)
    made = fit_folder(conference, workers=available_cores(), progress=progress)
    fitted = made.fitted
    if picture is not None:
        draw_fit(fitted, picture)
    facts = {**_fit_facts(fitted, made.out), "found": made.people.found if made.people else None}
    if what_if and (reviews := folder_reviews(conference)) is not None:
        facts["what_if"] = fitted.prospects(expected_rate(conference, reviews))
    _print_fit(fitted, facts, made.people)
    note(*made.remarks)
    emit_json(facts)
    say_next_step(folder)


def expected_rate(folder: Folder, reviews: Reviews) -> float:
    """The share of papers to accept, as far as the folder says; a quarter if it does not.

    `reviews`: its reviews, whose papers a number to accept is a part of.
    """
    if rate := folder.text("accept-rate"):
        return float(rate)
    accept = parse_paper_counts("`accept`", folder.text("accept") or None)
    if accept is None:
        return DEFAULT_RATE
    whole = sum(accept.values()) if isinstance(accept, Mapping) else accept
    share = whole / len(reviews.without(folder.withdrawn).papers)
    return share if 0.0 < share < 1.0 else DEFAULT_RATE


def _fit_facts(fitted: Fitted, out: Path) -> dict[str, Any]:
    """The figures of a fit; no reviewer is named."""
    checks = fitted.checks
    return {
        "reviewers": checks.reviewers,
        "conferences": list(fitted.conferences),
        "past_reviews": fitted.reviews["*"],
        "shared": list(fitted.shared),
        "population": dict(zip(FIELDS, fitted.population, strict=True)),
        **{name: getattr(checks, name) for name in _CHECKS},
        "outliers": len(checks.outliers),
        "scale": fitted.scale,
        "out": out,
        "checks": fit_record_path(out),
        "warning": CONFIDENTIAL,
    }


def _print_fit(fitted: Fitted, facts: dict[str, Any], committee: MatchedPeople | None) -> None:
    say(CONFIDENTIAL)
    checks = fitted.checks
    reviews, people = count(facts["past_reviews"], "past review"), count(checks.reviewers, "reviewer")
    say(f"{reviews} of {count(len(fitted.conferences), 'conference')}; a row for {people}, and one for *")
    if committee is not None:
        say(f"{committee}; everyone else is taken as any reviewer of the past")
    if fitted.shared:
        say(f"with what {count(len(fitted.shared), 'other conference')} shared")
    say()
    say_fitted(fitted, facts["out"])
    if "what_if" in facts:
        _print_prospects(facts["what_if"])
    say(f"CONFIDENTIAL, never share: {facts['out']}, {facts['checks']}")


def percents(share: Estimate) -> tuple[str, str]:
    """A share and its interval, in percent."""
    return f"{100 * share.value:.1f} %", f"{100 * share.low:.1f} to {100 * share.high:.1f} %"


def say_fitted(fitted: Fitted, out: Path) -> None:
    """Say what the past has shown, and how reviewers in `out` were moved to this year's scale.

    No person is named.
    """
    checks = fitted.checks
    rows = [(meaning, *percents(checks.shares[name])) for name, meaning in SOURCES.items()]
    table(["part of a score's variance", "share", "90 % interval"], rows)
    say()
    persistence = checks.persistence
    say(
        "reviewers' strictness and slopes from one conference to the next correlate by "
        f"{persistence.value:.2f} ({persistence.low:.2f} to {persistence.high:.2f})"
    )
    for level, noise in checks.levels.items():
        say(f"confidence {level}: noise times {noise:.2f}")
    straight = not checks.bent and (checks.line is None or not checks.line.notes)
    say("scores are a straight line in quality" if straight else "scores are not a straight line in quality")
    if checks.forecast is not None:
        _print_forecast(checks.forecast)
    scale = fitted.scale
    say(
        f"moved to this year's scale: shift {scale.shift:+.2f} ({scale.shift_in_sds:+.2f} standard "
        f"deviations), stretch {scale.stretch:.2f}"
    )
    if checks.outliers:
        say(f"{count(len(checks.outliers), 'reviewer')} unlike the others: named in {fit_record_path(out)}")


def _print_forecast(forecast: Forecast) -> None:
    say()
    rows = [
        ("all reviewers alike", f"{forecast.population:.3f}"),
        ("corrected by each reviewer's past mean", f"{forecast.raw:.3f}"),
        ("fitted", f"{forecast.fitted:.3f}"),
    ]
    heading = f"error in predicting {count(forecast.reviews, 'score')} of {forecast.conference}"
    table([heading, "standard deviations"], rows)
    say(
        f"{forecast.verdict}: {100 * forecast.gain:+.1f} % of the mean square error "
        f"(standard error {100 * forecast.gain_se:.1f})"
    )
    say()


def _print_prospects(prospects: ValueOfHistory) -> None:
    say()
    rows = [
        ("raw mean scores", prospects.raw),
        ("all reviewers alike", prospects.alike),
        ("with this history", prospects.now),
        ("with twice as much", prospects.twice),
        ("with reviewers known exactly", prospects.known),
    ]
    reviews = f"{count(prospects.reviews_per_paper, 'review')} per paper"
    heading = f"expected wrong decisions ({reviews}, {100 * prospects.accept_rate:g} % accepted, no privacy)"
    table([heading, "share"], [(name, f"{100 * share:.1f} %") for name, share in rows])
    (twice, twice_se), (whole, whole_se) = prospects.twice_gains, prospects.to_gain
    say(
        f"twice as much history would take off {100 * twice:.1f} points (standard error "
        f"{100 * twice_se:.1f}), knowing reviewers exactly {100 * whole:.1f} ({100 * whole_se:.1f})"
    )
    say()


def share(
    past: Path = argument("Reviews of one past conference: columns paper, reviewer, score."),
    committee: Path = option(
        "A public list of people: column reviewer. Each gets a row, whether they reviewed or not.",
        default=...,
    ),
    key: Path = option("The secret key that `blindcal new` made.", default=...),
    out: Path = option("The table to write; an existing file is never overwritten.", default=...),
    epsilon: float | None = numeric(decimal, "Limit of the privacy loss of one review."),
    zcdp: float | None = numeric(
        decimal, "The same limit as rho of zero-concentrated differential privacy, instead of --epsilon."
    ),
    conference: str | None = option("The name of the conference; else that of the file."),
    grid: str | None = option(
        "The scores reviewers could give: 1..10, or a list such as 1,3,5, or none if any number could be "
        "given. Unless given, they are recognized in the scores."
    ),
    better: str = word(BETTER, "Which scores are better, high or low.", default="high"),
    reason: str = option("Why sums of the same reviews are shared again; their losses add up.", default=""),
) -> None:
    """Release noisy sums about people, with a stated limit of what they reveal.

    Writes OUT (reviewer, above, below) and OUT.share.json, which says what is promised and how the numbers
    are read; both may be sent to other conferences, which import them like past reviews (keep both files in
    one folder). What is released is recorded beside the key: the same input returns the same numbers. Needs
    OpenDP.

    Example: blindcal share 2025.csv --committee committee.csv --epsilon 1 --key icx2025.key
    --out 2025.shared.csv
    """
    limit = LossLimit(epsilon, zcdp)
    people = read_committee(committee)
    reviews = Reviews.read(past, grid=parse_grid(grid))
    name = conference or past.name.removesuffix(".csv")
    done = share_sums(reviews, people, limit, key, out, conference=name, better=better, reason=reason)
    again = "shared before: the stored numbers are returned, no noise was drawn"
    how = "new noise was drawn" if done.how == "new" else again
    say(f"a row for {len(people):,} {'person' if len(people) == 1 else 'people'}; {how}")
    say(f"privacy loss of one review: {f'zCDP {zcdp:g}' if epsilon is None else f'epsilon {epsilon:g}'}")
    spent = done.total
    at_delta = f"epsilon {spent.epsilon_at(1e-6):.3g} but for a chance of 1e-6"
    loss = at_delta if spent.epsilon is None else f"epsilon {spent.epsilon:g}"
    say(f"with everything that was shared of these reviews: {loss}")
    say(f"public: {out}, {statement_path(out)}")
    say(f"CONFIDENTIAL, never share: {key}, {shared_folder(key)}")
    if reason and done.how == "stored":
        note("`reason` was not entered: nothing new was shared")
    if done.left_out:
        people_left = f"{count(done.left_out, 'review')} by people who are not on the list"
        note(f"for you alone: {people_left} are left out")
    facts = {"how": done.how, "out": out, "statement": done.statement, "sealed": shared_folder(key)}
    total = {"epsilon": spent.epsilon, "zcdp": spent.zcdp}
    emit_json({**facts, "statement_file": statement_path(out), "total": total})


# --- The picture of a fit: parts of a score's variance, offsets, straightness of lines, prediction errors.
#
# CONFIDENTIAL: nobody is named, but every reviewer's offset is drawn.

_INTERVAL = 1.6448536269514722  # 90 %
_SOURCES = {"quality": "papers", "offset": "leniency", "slope": "use of the scale", "noise": "noise"}


def check_picture(path: Path) -> None:
    """Refuse a picture that could not be drawn, before anything is fitted."""
    if path.suffix[1:] not in PICTURE_FORMATS:
        raise InputError(f"--picture must end in .{', .'.join(PICTURE_FORMATS)}, found {path.name}")
    import_matplotlib("a picture")


def draw_fit(fitted: Fitted, path: Path) -> None:
    """Write the picture, readable by its owner only."""
    matplotlib = import_matplotlib("a picture")
    with matplotlib.rc_context({"svg.hashsalt": "blindcal", "font.size": 9}):
        figure = importlib.import_module("matplotlib.figure").Figure(figsize=(10, 7), layout="tight")
        shares, offsets, lines, forecast = figure.subplots(2, 2).ravel()
        _draw_shares(shares, fitted)
        _draw_offsets(offsets, fitted)
        _draw_lines(lines, fitted)
        _draw_forecast(forecast, fitted)
        data = io.BytesIO()
        plain = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(data, format=path.suffix[1:], metadata=plain)
    write_bytes(path, data.getvalue(), confidential=True)


def _draw_shares(axis: Any, fitted: Fitted) -> None:
    shares = [fitted.checks.shares[name] for name in _SOURCES]
    value, low, high = np.array([(share.value, share.low, share.high) for share in shares]).T
    axis.bar([*_SOURCES.values()], value, yerr=np.abs([value - low, value - high]), color="0.7", capsize=3)
    axis.set(title="part of a score's variance (90 % intervals)", ylim=(0, 1))


def _draw_offsets(axis: Any, fitted: Fitted) -> None:
    rows = np.array([row for name, row in fitted.roster.items() if name != ANYONE])
    rows = rows[np.argsort(rows[:, 1])]
    rank = np.arange(len(rows))
    axis.errorbar(rank, rows[:, 1], yerr=_INTERVAL * rows[:, 4], fmt=".", ms=3, lw=0.7, color="C0")
    axis.axhline(fitted.population[1], color="0.5", lw=1)
    axis.set(title="expected score of a typical paper, each reviewer", xlabel="reviewers, strictest first")


def _draw_lines(axis: Any, fitted: Fitted) -> None:
    line = fitted.checks.line
    axis.set(title="what a straight line leaves over", xlabel="quality by the other reviews")
    if line is None:
        return
    quality = [group.quality for group in line.bins]
    left, error = [group.left for group in line.bins], [2 * group.error for group in line.bins]
    axis.errorbar(quality, left, yerr=error, fmt="o-", ms=4, label="mean, 2 standard errors")
    axis.plot(quality, [group.width for group in line.bins], "s:", ms=4, label="width (1 expected)")
    axis.axhline(0, color="0.5", lw=1)
    axis.axhline(1, color="0.8", lw=1)
    axis.legend()


def _draw_forecast(axis: Any, fitted: Fitted) -> None:
    forecast = fitted.checks.forecast
    if forecast is None:
        axis.set(title="no conference could be held out")
        axis.set_axis_off()
        return
    names = ("all alike", "past mean", "fitted")
    axis.bar(names, [forecast.population, forecast.raw, forecast.fitted], color="0.7")
    axis.set(title=f"error in predicting {forecast.conference} (standard deviations)")
