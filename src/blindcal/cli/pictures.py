"""The picture of a fit: parts of a score's variance, offsets, straightness of lines, prediction errors.

CONFIDENTIAL: nobody is named, but every reviewer's offset is drawn.
"""

from __future__ import annotations

import importlib
import io
from pathlib import Path
from typing import Any

import numpy as np

from blindcal.errors import InputError
from blindcal.fitting.committee import ANYONE
from blindcal.fitting.estimate import Fitted
from blindcal.io.atomic_files import write_bytes

_FORMATS = (".svg", ".png", ".pdf")
_INTERVAL = 1.6448536269514722  # 90 %
_SOURCES = {"quality": "papers", "offset": "leniency", "slope": "use of the scale", "noise": "noise"}


def check_picture(path: Path) -> None:
    """Refuse a picture that could not be drawn, before anything is fitted."""
    if path.suffix not in _FORMATS:
        raise InputError(f"--picture must end in {', '.join(_FORMATS)}, found {path.name}")
    _matplotlib()


def draw_fit(fitted: Fitted, path: Path) -> None:
    """Write the picture, readable by its owner only."""
    matplotlib = _matplotlib()
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


def _matplotlib() -> Any:
    try:
        return importlib.import_module("matplotlib")
    except ImportError:
        raise InputError("a picture needs Matplotlib: pip install 'blindcal[figures]'") from None


def _draw_shares(axis: Any, fitted: Fitted) -> None:
    shares = [fitted.checks.shares[name] for name in _SOURCES]
    low, high = (
        [abs(share.value - end) for share, end in zip(shares, ends, strict=True)]
        for ends in ([share.low for share in shares], [share.high for share in shares])
    )
    value = [share.value for share in shares]
    axis.bar(list(_SOURCES.values()), value, yerr=[low, high], color="0.7", capsize=3)
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
