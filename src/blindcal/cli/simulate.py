"""`blindcal research simulate`: how much each way of calibrating helps, on simulated conferences."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from blindcal.cells import count
from blindcal.checks import Array
from blindcal.cli.console import Json, emit_json, number, progress, say, table
from blindcal.cli.options import ClusterAddress, Processes, by_option, hired, numeric, whole
from blindcal.errors import InputError
from blindcal.simulation.parameter_sweep import MEASURES, METHODS, Setting, Sweep, sweep, tasks_in
from blindcal.simulation.population import paper_population

_METHODS = "raw,standardized,maximum_likelihood,posterior,hierarchical"
_OPTIONS = ("papers", "reviewers", "per_paper", "noise", "trials", "seed", "reading", "methods")
_READINGS = {
    "text": "noise is a variance, offsets have variance 0.5",
    "script": "noise is a standard deviation, offsets have standard deviation 0.5",
}


def simulate(
    papers: Annotated[int, numeric(whole, "Papers in a conference.")] = 100,
    reviewers: Annotated[
        int, numeric(whole, "Reviewers in a conference, with loads as even as possible.")
    ] = 100,
    per_paper: Annotated[int, numeric(whole, "Reviews per paper.")] = 3,
    noise: Annotated[str, typer.Option(help="Noise levels, separated by commas.")] = "0,0.25,0.5",
    trials: Annotated[int, numeric(whole, "Simulated conferences at each noise level.")] = 100,
    seed: Annotated[int, numeric(whole, "The same seed gives the same numbers.")] = 1,
    reading: Annotated[
        str,
        typer.Option(
            help="text: noise values are variances and offsets have variance 0.5; "
            "script: they are standard deviations and offsets have standard deviation 0.5."
        ),
    ] = "text",
    methods: Annotated[
        str, typer.Option(help=f"One or more of {', '.join(METHODS)}, separated by commas.")
    ] = _METHODS,
    processes: Processes = None,
    cluster: ClusterAddress = None,
    folder: Annotated[
        Path | None,
        typer.Option(help="Keep finished parts here; the same command then resumes."),
    ] = None,
    intervals: Annotated[bool, typer.Option(help="Add standard errors to the JSON.")] = False,
    as_json: Json = False,
) -> None:
    """Compare calibration methods on simulated conferences.

    Reviewers are miscalibrated: slopes are Exp(1), qualities N(0,1), assignments uniformly random.
    kendall_tau: share of pairs of papers in the wrong order. messy_middle: share of the papers around the cut
    (ranks 11-40 of 100) decided wrongly if the best quarter is accepted. Numbers do not depend on the number
    of workers.

    Example: blindcal research simulate --noise 0,0.25,0.5 --trials 100 --seed 1 --reading script
    """
    levels, names = _levels(noise), methods.split(",")
    work = f"simulating {count(trials * len(levels), 'conference')}"
    try:
        settings = [
            Setting(paper_population(level, reading), papers, reviewers, per_paper) for level in levels
        ]
        with hired(processes, cluster) as workers, progress(work, tasks_in(settings, trials)) as advance:
            result = sweep(
                settings,
                names,
                trials=trials,
                seed=seed,
                workers=workers,
                folder=folder,
                progress=advance,
            )
    except InputError as error:
        raise InputError(by_option(str(error), _OPTIONS)) from None
    if as_json:
        emit_json(_report(levels, result, intervals))
    else:
        size = f"{papers} papers, {reviewers} reviewers, {per_paper} reviews per paper"
        say(f"{trials} conferences per line: {size}")
        say(f"{_READINGS[reading]}; standard errors after +-")
        _print(levels, result)


def _levels(text: str) -> list[float]:
    try:
        levels = [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--noise must be numbers separated by commas, found {text!r}") from None
    if len(set(levels)) < len(levels):
        raise InputError(f"--noise must list each level once, found {text!r}")
    return levels


def _report(levels: list[float], result: Sweep, intervals: bool) -> dict[str, object]:
    report: dict[str, object] = {"noise": levels, "methods": _by_method(result, result.mean)}
    if intervals:
        report["standard_errors"] = _by_method(result, result.standard_error)
    return report


def _by_method(result: Sweep, value: Array) -> dict[str, dict[str, list[float]]]:
    """`value[setting, method, measure]` under the names of the methods and measures."""
    return {
        method: {measure: value[:, m, k].tolist() for k, measure in enumerate(MEASURES)}
        for m, method in enumerate(result.methods)
    }


def _print(levels: list[float], result: Sweep) -> None:
    mean, error = result.mean, result.standard_error
    rows = [
        (f"{level:g}", method, *(_cell(mean[n, m, k], error[n, m, k]) for k in range(len(MEASURES))))
        for n, level in enumerate(levels)
        for m, method in enumerate(result.methods)
    ]
    table(["noise", "method", *MEASURES], rows)


def _cell(mean: float, error: float) -> str:
    return number(mean, 3) + ("" if np.isnan(error) else f" +-{number(error, 3)}")
