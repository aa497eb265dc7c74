"""`blindcal fit`: reviewers' calibration from the reviews of past conferences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from blindcal.cells import count
from blindcal.cli.arguments import probability
from blindcal.cli.completions import conference_folders, one_of
from blindcal.cli.console import CONFIDENTIAL, Json, emit_json, note, progress, say, table
from blindcal.cli.folders import current_folder, fits_again
from blindcal.cli.inputs import Grid
from blindcal.cli.pictures import check_picture, draw_fit
from blindcal.compute.parallel import cores
from blindcal.errors import InputError
from blindcal.fitting.committee import FIELDS, read_committee, read_same, similar_names
from blindcal.fitting.diagnostics import Checks, Forecast
from blindcal.fitting.estimate import Fitted, Prospects, check_fit
from blindcal.fitting.estimate import fit as fit_reviews
from blindcal.fitting.history import Scale, pasts_of
from blindcal.fitting.reuse_guard import beside, footprint, read_scale, reuse_remarks
from blindcal.fitting.shared_sums import Shared, is_shared, read_shared
from blindcal.io.atomic_files import refuse_published, write_table
from blindcal.project.settings import levels
from blindcal.report.wording import SOURCES
from blindcal.reviews import BETTER, Reviews


def fit(
    past: Annotated[
        list[Path],
        typer.Argument(
            help="Reviews of past conferences, oldest first: columns paper, reviewer, score, optionally "
            "conference and confidence. Tables that others made by `blindcal share` may stand among them. Or "
            "a folder that `blindcal new` made, which has all options that are not given.",
            autocompletion=conference_folders,
        ),
    ],
    out: Annotated[Path, typer.Option(help="The table to write; an existing file is never overwritten.")],
    committee: Annotated[
        Path | None,
        typer.Option(
            help="Who may have reviewed this year: column reviewer, optionally track. These get a row, and "
            "nobody else; without it, everyone with a past review."
        ),
    ] = None,
    this_year: Annotated[
        Path | None,
        typer.Option(
            "--for",
            help="This year's reviews, for the mean and spread of all their scores; nothing else of them "
            "enters the table. Past reviews that are among them are refused.",
        ),
    ] = None,
    grid: Grid = None,
    better: Annotated[
        str,
        typer.Option(
            help="Which scores are better, high or low, this year and in the past.",
            autocompletion=one_of(BETTER),
        ),
    ] = "high",
    past_better: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONFERENCE=END", help="A past conference where the other end was better; repeatable."
        ),
    ] = None,
    same: Annotated[
        Path | None, typer.Option(help="People whose id changed: columns old, new. Nobody else is merged.")
    ] = None,
    scale_of: Annotated[
        Path | None,
        typer.Option(
            help="The table of an earlier fit for the same reviews, instead of --for: its shift and stretch "
            "are kept, as they must be once papers were decided."
        ),
    ] = None,
    what_if: Annotated[
        bool,
        typer.Option(
            "--what-if",
            help="Also say what this history is worth: expected wrong decisions with it, with twice as much, "
            "and with reviewers known exactly.",
        ),
    ] = False,
    accept_rate: Annotated[
        float,
        typer.Option(
            parser=probability, metavar="SHARE", help="For --what-if: the share of papers to be accepted."
        ),
    ] = 0.25,
    picture: Annotated[
        Path | None,
        typer.Option(help="Draw the checks too, as .svg, .png or .pdf; CONFIDENTIAL. Needs Matplotlib."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Estimate each reviewer's slope, offset and noise from the reviews of past conferences.

    Writes reviewer, slope, offset, noise, slope_se, offset_se, correlation, noise_se, reviews; one row per
    reviewer, and a row * for anyone else. Someone with little history is drawn toward the population, and
    older reviews count less, as much as the past shows. Give the table to `plan` and `decide`. A second
    file, OUT.fit.json, has the checks and digests of what was used: keep it beside the table, so that
    `decide` can refuse a calibration that was fitted on its own reviews. Only you can read either. In a
    folder where nothing was decided yet, what an earlier fit wrote is replaced, unless you changed it.

    Example: blindcal fit 2024.csv 2025.csv --committee committee.csv --for reviews.csv --out reviewers.csv
    """
    again = fits_again(current_folder(), out)
    check_fit(out, picture, None if again else _similar_path(out), replace=again)
    for file in filter(None, (out, picture)):
        refuse_published(file)
    if picture is not None:
        check_picture(picture)
    tables = _tables(past, levels(grid))
    people = None if committee is None else read_committee(committee)
    merged = {} if same is None else read_same(same)
    now = None if this_year is None else Reviews.read(this_year, grid=levels(grid or _own_grid()))
    own = {name: one for name, one in tables.items() if isinstance(one, Reviews)}
    reused = reuse_remarks(map(footprint, pasts_of(own)), now) if now is not None and own else []
    fitted = fit_reviews(
        tables,
        committee=people,
        this_year=now,
        better=better,
        past_better=_ends(past_better or ()),
        same=merged,
        scale=None if scale_of is None else _kept_scale(scale_of),
        workers=cores(),
        progress=progress,
    )
    fitted.write(out, replace=again)
    if picture is not None:
        draw_fit(fitted, picture)
    named = {merged.get(name, name) for one in tables.values() for name in one.reviewers}
    similar = similar_listed(out, named | set(people or ()), replace=again)
    facts = _facts(fitted, out, this_year is not None or scale_of is not None)
    if what_if:
        facts["what_if"] = fitted.prospects(accept_rate)
    if not as_json:
        _print(fitted, facts)
    for remark in (*reused, *fitted.checks.notes, *similar):
        note(remark)
    if as_json:
        emit_json(facts)


def _own_grid() -> str | None:
    """The scores of this year that the folder declares; those of past conferences may be others."""
    folder = current_folder()
    return None if folder is None or "grid" not in folder.settings else str(folder.settings["grid"])


def _tables(past: Sequence[Path], grid: list[float] | None) -> dict[str, Reviews | Shared]:
    if len(set(past)) < len(past):
        raise InputError("a table of past reviews must not be given twice")
    return {
        str(path): read_shared(path) if is_shared(path) else Reviews.read(path, grid=grid) for path in past
    }


def _kept_scale(earlier: Path) -> Scale:
    scale = read_scale(earlier)
    if scale is None:
        raise InputError(f"--scale-of {earlier} must be a fit that was moved to this year's scale (--for)")
    return scale


def _ends(given: Sequence[str]) -> dict[str, str]:
    """The better ends of past conferences.

    >>> _ends(["2021=low"])
    {'2021': 'low'}
    """
    pairs = [text.rpartition("=") for text in given]
    for text, (name, _, _) in zip(given, pairs, strict=True):
        if not name:
            raise InputError(f"--past-better must be like 2021=low, found {text!r}")
    return {name: end for name, _, end in pairs}


def _similar_path(out: Path) -> Path:
    return out.with_name(f"{out.name}.similar.csv")


def similar_listed(out: Path, names: set[str], *, replace: bool = False) -> list[str]:
    """Names that may be one person's, in a file for the chair alone; what is said of it."""
    pairs = similar_names(names)
    if not pairs:
        return []
    path = _similar_path(out)
    one, other = zip(*pairs, strict=True)
    write_table(path, {"reviewer": one, "similar": other}, confidential=True, replace=replace)
    return [
        f"{count(len(pairs), 'pair')} of names may be one person's, and were not merged: see {path} "
        "(CONFIDENTIAL); list those that are in a table for `same` and fit again"
    ]


def _facts(fitted: Fitted, out: Path, scaled: bool) -> dict[str, Any]:
    """What is printed: no reviewer is named."""
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
        "scale": fitted.scale if scaled else None,
        "out": out,
        "checks": beside(out),
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
    say_fitted(fitted, facts["out"], facts["scale"] is not None)
    if "what_if" in facts:
        _print_prospects(facts["what_if"])
    say(f"CONFIDENTIAL, never share: {facts['out']}, {facts['checks']}")


def say_fitted(fitted: Fitted, out: Path, scaled: bool) -> None:
    """What the past has shown, and how reviewers in `out` were moved to this year's scale if they were
    (`scaled`). It names nobody."""
    checks = fitted.checks
    rows = [(meaning, *_percent(checks, name)) for name, meaning in SOURCES.items()]
    table(["part of a score's variance", "share", "90 % interval"], rows)
    say()
    kept = checks.persistence
    say(
        f"habits from one conference to the next correlate by {kept.value:.2f} "
        f"({kept.low:.2f} to {kept.high:.2f})"
    )
    for level, noise in checks.levels.items():
        say(f"confidence {level}: noise times {noise:.2f}")
    straight = not checks.bent and (checks.line is None or not checks.line.notes)
    say("scores are a straight line in quality" if straight else "scores are not a straight line in quality")
    if checks.forecast is not None:
        _print_forecast(checks.forecast)
    if scaled:
        scale = fitted.scale
        say(
            f"moved to this year's scale: shift {scale.shift:+.2f} ({scale.shift_in_sds:+.2f} standard "
            f"deviations), stretch {scale.stretch:.2f}"
        )
    if checks.outliers:
        say(f"{count(len(checks.outliers), 'reviewer')} unlike the others: named in {beside(out)}")


def _percent(checks: Checks, name: str) -> tuple[str, str]:
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


def _print_prospects(found: Prospects) -> None:
    say()
    rows = [
        ("raw mean scores", found.raw),
        ("all reviewers alike", found.alike),
        ("with this history", found.now),
        ("with twice as much", found.twice),
        ("with reviewers known exactly", found.known),
    ]
    papers = f"{count(found.reviews_per_paper, 'review')} per paper, {100 * found.accept_rate:g} % accepted"
    heading = f"expected wrong decisions ({papers}, no privacy)"
    table([heading, "share"], [(name, f"{100 * share:.1f} %") for name, share in rows])
    (twice, twice_se), (whole, whole_se) = found.twice_gains, found.to_gain
    say(
        f"twice as much history would take off {100 * twice:.1f} points (standard error "
        f"{100 * twice_se:.1f}), knowing reviewers exactly {100 * whole:.1f} ({100 * whole_se:.1f})"
    )
    say()
