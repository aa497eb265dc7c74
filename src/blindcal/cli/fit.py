"""`blindcal fit`: reviewers' calibration from the past conferences of a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from blindcal.cells import count
from blindcal.cli.completions import conference_folders
from blindcal.cli.console import CONFIDENTIAL, Json, emit_json, note, progress, say, table
from blindcal.cli.imports import say_next_step
from blindcal.cli.pictures import check_picture, draw_fit
from blindcal.compute.parallel import available_cores
from blindcal.errors import InputError
from blindcal.fitting.committee import FIELDS, read_aliases, read_committee, similar_names
from blindcal.fitting.diagnostics import FitDiagnostics, Forecast
from blindcal.fitting.estimate import Fitted, ValueOfHistory, check_fit_targets
from blindcal.fitting.estimate import fit as fit_reviews
from blindcal.fitting.history import Scale, past_conferences
from blindcal.fitting.reuse_guard import fingerprint_of_past, fit_record_path, read_scale, reuse_warnings
from blindcal.fitting.shared_sums import SharedSums, has_share_statement, read_shared_sums
from blindcal.io.atomic_files import lock, make_folder, read_bytes, refuse_published, write_bytes, write_table
from blindcal.io.tables import format_table
from blindcal.project.imports import decided, edited_settings, folder_reviews, free_place
from blindcal.project.settings import FILE, Folder, parse_paper_counts, read_folder
from blindcal.report.wording import SOURCES
from blindcal.reviews import Reviews

# The share of papers to accept, if neither the command nor a folder says how many.
DEFAULT_RATE = 0.25


def fit(
    folder: Annotated[
        Path,
        typer.Argument(
            help="A folder that `blindcal new` made, with reviews and past reviews.",
            autocompletion=conference_folders,
        ),
    ],
    what_if: Annotated[
        bool,
        typer.Option(
            "--what-if",
            help="Also say what this history is worth: expected wrong decisions with it, with twice as much, "
            "and with reviewers known exactly.",
        ),
    ] = False,
    picture: Annotated[
        Path | None,
        typer.Option(help="Draw the checks too, as .svg, .png or .pdf; CONFIDENTIAL. Needs Matplotlib."),
    ] = None,
    as_json: Json = False,
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
    reviews = folder_reviews(conference)
    if reviews is None:
        raise InputError(f"{folder} has no reviews yet: `blindcal import {folder} FILE` brings them")
    current = Path(_needed(conference, "reviewers"))
    frozen = decided(conference) and current.exists()
    out = folder / free_place(folder, current.name) if frozen else current
    if not frozen:
        check_fit_targets(out, picture, replace=True)
    for file in filter(None, (out, picture)):
        refuse_published(file)
    if picture is not None:
        check_picture(picture)
    settings = conference.settings
    tables = _tables(conference)
    same = read_aliases(str(settings["same"])) if "same" in settings else {}
    committee = read_committee(str(settings["committee"])) if "committee" in settings else None
    past = {name: one for name, one in tables.items() if isinstance(one, Reviews)}
    reused = reuse_warnings(map(fingerprint_of_past, past_conferences(past)), reviews) if past else []
    fitted = fit_reviews(
        tables,
        committee=committee,
        this_year=None if frozen else reviews,
        better=str(settings.get("better", "high")),
        past_better=_better_ends(settings.get("past-better", ())),
        same=same,
        scale=_kept_scale(current) if frozen else None,
        workers=available_cores(),
        progress=progress,
    )
    out = _written(fitted, conference, current, out)
    if picture is not None:
        draw_fit(fitted, picture)
    listed = {same.get(name, name) for one in tables.values() for name in one.reviewers}
    similar = similar_listed(out, listed | {*(committee or ())}, replace=True)
    facts = _facts(fitted, out)
    if what_if:
        facts["what_if"] = fitted.prospects(expected_rate(conference, reviews))
    kept = f"papers are decided: shift and stretch of {current} are kept" if frozen else None
    remarks = [*reused, *fitted.checks.notes, *similar, *([kept] if kept else [])]
    if not as_json:
        _print(fitted, facts)
    for remark in remarks:
        note(remark)
    if as_json:
        emit_json(facts)
    else:
        say_next_step(read_folder(folder))


def _needed(folder: Folder, name: str) -> str:
    value = folder.settings.get(name)
    if not isinstance(value, str):
        raise InputError(f"{folder.path / FILE}: must set {name}")
    return value


def _tables(folder: Folder) -> dict[str, Reviews | SharedSums]:
    """The past conferences of a folder, oldest first: reviews, or sums that a conference shared."""
    past = folder.settings.get("past")
    if not isinstance(past, tuple) or not past:
        raise InputError(
            f"{folder.path} has no past reviews: `blindcal import {folder.path} FILE --as past` brings them"
        )
    if len({*past}) < len(past):
        raise InputError(f"{folder.path / FILE}: past must not name a table twice")
    return {
        path: read_shared_sums(path) if has_share_statement(path) else Reviews.read(path) for path in past
    }


def _written(fitted: Fitted, folder: Folder, current: Path, out: Path) -> Path:
    """Write the calibration, and return where it is: an equal one that papers were decided with stays."""
    if out == current:
        fitted.write(out, replace=True)
        return out
    if read_bytes(current) == format_table(fitted.columns()):
        return current
    with lock(folder.path / FILE):
        place = out.relative_to(folder.path).as_posix()
        text = edited_settings(folder.path, {"reviewers": place})
        make_folder(out.parent)
        fitted.write(out)
        write_bytes(folder.path / FILE, text.encode(), confidential=True, replace=True)
    return out


def _kept_scale(earlier: Path) -> Scale:
    scale = read_scale(earlier)
    if scale is None:
        raise InputError(
            f"papers were decided with {earlier}, which `blindcal fit` did not move to this year's scale: "
            "there is no scale to keep"
        )
    return scale


def _better_ends(texts: object) -> dict[str, str]:
    """The better ends of past conferences.

    >>> _better_ends(("2021=low",))
    {'2021': 'low'}
    """
    pairs = [(text, *text.rpartition("=")) for text in texts] if isinstance(texts, tuple) else []
    for text, name, _, _ in pairs:
        if not name:
            raise InputError(f"past-better must be like 2021=low, found {text!r}")
    return {name: end for _, name, _, end in pairs}


def expected_rate(folder: Folder, reviews: Reviews) -> float:
    """The share of papers to accept, as far as the folder says; a quarter if it does not.

    Args:
        folder: The folder.
        reviews: Its reviews, whose papers a number to accept is a part of.
    """
    rate, number = (folder.settings.get(name) for name in ("accept-rate", "accept"))
    if rate is not None:
        return float(str(rate))
    accept = parse_paper_counts("`accept`", None if number is None else str(number))
    if accept is None:
        return DEFAULT_RATE
    whole = sum(accept.values()) if isinstance(accept, Mapping) else accept
    share = whole / len(reviews.without(folder.withdrawn).papers)
    return share if 0.0 < share < 1.0 else DEFAULT_RATE


def _similar_path(out: Path) -> Path:
    return out.with_name(f"{out.name}.similar.csv")


def similar_listed(out: Path, names: set[str], *, replace: bool = False) -> list[str]:
    """List names that may be one person's in a file for the chair alone, and return a remark about it."""
    pairs = similar_names(names)
    if not pairs:
        return []
    path = _similar_path(out)
    one, other = zip(*pairs, strict=True)
    write_table(path, {"reviewer": one, "similar": other}, confidential=True, replace=replace)
    return [
        f"{count(len(pairs), 'pair')} of names may be one person's, and were not merged: see {path} "
        "(CONFIDENTIAL); list those that are in a table old,new, import it and fit again"
    ]


def _facts(fitted: Fitted, out: Path) -> dict[str, Any]:
    """The figures of a fit; no reviewer is named."""
    checks = fitted.checks
    return {
        "reviewers": checks.reviewers,
        "conferences": list(fitted.conferences),
        "past_reviews": fitted.reviews["*"],
        "shared": list(fitted.shared),
        "population": dict(zip(FIELDS, fitted.population, strict=True)),
        "shares": checks.shares,
        "persistence": checks.persistence,
        "levels": checks.levels,
        "bend": checks.bend,
        "line": checks.line,
        "outliers": len(checks.outliers),
        "newcomers": checks.newcomers,
        "forecast": checks.forecast,
        "scale": fitted.scale,
        "out": out,
        "checks": fit_record_path(out),
        "notes": [],
        "warning": CONFIDENTIAL,
    }


def _print(fitted: Fitted, facts: dict[str, Any]) -> None:
    say(CONFIDENTIAL)
    checks = fitted.checks
    reviews, people = count(facts["past_reviews"], "past review"), count(checks.reviewers, "reviewer")
    say(f"{reviews} of {count(len(fitted.conferences), 'conference')}; a row for {people}, and one for *")
    if fitted.shared:
        say(f"with what {count(len(fitted.shared), 'other conference')} shared")
    say()
    say_fitted(fitted, facts["out"])
    if "what_if" in facts:
        _print_prospects(facts["what_if"])
    say(f"CONFIDENTIAL, never share: {facts['out']}, {facts['checks']}")


def say_fitted(fitted: Fitted, out: Path) -> None:
    """Say what the past has shown, and how reviewers in `out` were moved to this year's scale.

    Nobody is named.
    """
    checks = fitted.checks
    rows = [(meaning, *_percent(checks, name)) for name, meaning in SOURCES.items()]
    table(["part of a score's variance", "share", "90 % interval"], rows)
    say()
    persistence = checks.persistence
    say(
        f"habits from one conference to the next correlate by {persistence.value:.2f} "
        f"({persistence.low:.2f} to {persistence.high:.2f})"
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


def _percent(checks: FitDiagnostics, name: str) -> tuple[str, str]:
    share = checks.shares[name]
    return f"{100 * share.value:.1f} %", f"{100 * share.low:.1f} to {100 * share.high:.1f} %"


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
