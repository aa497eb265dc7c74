"""Real raters by `fit`: the last events held out, each score foretold from its panel and from earlier events.

    python studies/past_raters.py --data FOLDER [--events 3] [--sweeps 300]

FOLDER holds the tables of studies/real_raters.py. Each of the last events is held out in turn (fewer where
there are not so many), reviewers are fitted on all events before it, and each of its scores by a rater with a
history is predicted from the other scores of the item. Errors are root mean squares in standard deviations of
the event's scores: all raters alike, each corrected by the mean of their own past scores, fitted. Peer grades
were given at one event: there, a random half of the items is the past. Writes docs/numbers/past_raters.json
and a table of docs/evidence/history_and_sharing.md.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import blindcal as bc
from blindcal.fitting.diagnostics import Forecast, forecast_last_conference
from blindcal.fitting.gibbs import chain
from blindcal.fitting.history import build_history, past_conferences
from real_raters import SETS, Row
from stated import keep

_STAGES = {"stage-1": "1", "stage-2": "2", "stage-3": "3", "stage-final": "4"}


def _event(row: Row) -> str:
    return row["event"]


def _stage(row: Row) -> str:
    return _STAGES[row["event"]]


def _half(row: Row) -> str:
    """A random half of the items, the same each time."""
    number = int("".join(filter(str.isdigit, row["item_id"])))
    return str(int(np.random.default_rng([9, number]).integers(2)))


EVENTS: dict[str, Callable[[Row], str]] = {
    "skating, components": _event,
    "skating, execution": _event,
    "dancing": _event,
    "piano (Chopin 2025)": _stage,
    "grants (AIBS)": _event,
    "peer grades (MOOC)": _half,
}


@dataclass(frozen=True)
class Foretold:
    """Mean squares over all held-out events, and the share that the fit takes off, with standard error."""

    events: int
    reviews: int
    alike: float
    raw: float
    fitted: float
    gain: float
    gain_error: float


def load(folder: Path, name: str) -> bc.Reviews:
    source, event = SETS[name], EVENTS[name]
    with (folder / source.file).open(newline="", encoding="utf-8") as file:
        rows = [
            (event(row), source.item(row), row["rater_id"], source.score(row)) for row in csv.DictReader(file)
        ]
    columns = zip(*(row for row in rows if row[3] is not None), strict=True)
    return bc.Reviews.from_table(
        dict(zip(("conference", "paper", "reviewer", "score"), columns, strict=True))
    )


def foretold(reviews: bc.Reviews, events: int, sweeps: int) -> Foretold:
    pasts = past_conferences({"past": reviews})
    found = []
    for last in range(max(1, len(pasts) - events), len(pasts)):
        moments = chain(build_history(pasts[:last]), [31, last], sweeps)
        forecast = forecast_last_conference(pasts[: last + 1], moments)
        if forecast is not None:
            found.append(forecast)
    return pooled(found)


def pooled(found: list[Forecast]) -> Foretold:
    """Events weighed by their held-out scores."""
    weight = np.array([one.reviews for one in found], dtype=float)
    squares = {
        name: float(weight @ [getattr(one, name) ** 2 for one in found] / weight.sum())
        for name in ("population", "raw", "fitted")
    }
    base = np.array([one.population**2 for one in found])
    error = np.sqrt(((weight * base * [one.gain_se for one in found]) ** 2).sum()) / (weight @ base)
    gain = 1 - squares["fitted"] / squares["population"]
    alike, raw, fitted = (float(np.sqrt(square)) for square in squares.values())
    return Foretold(len(found), int(weight.sum()), alike, raw, fitted, gain, float(error))


def table(found: dict[str, Foretold]) -> list[str]:
    lines = [
        "| data | events, scores held out | all alike | own past mean | fitted | the fit takes off |",
        "|---|---|---|---|---|---|",
    ]
    for name, one in found.items():
        lines.append(
            f"| {name} | {one.events}, {one.reviews:,} "
            f"| {one.alike:.3f} | {one.raw:.3f} | {one.fitted:.3f} | "
            f"{100 * one.gain:+.1f} ± {100 * one.gain_error:.1f} % |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the public tables")
    parser.add_argument("--events", type=int, default=3, help="how many of the last events are held out")
    parser.add_argument("--sweeps", type=int, default=300)
    options = parser.parse_args()
    if options.data is None:
        print("past_raters needs --data FOLDER with the public tables; nothing done")
        return
    found = {}
    for name in EVENTS:
        found[name] = foretold(load(options.data, name), options.events, options.sweeps)
        print(name, found[name], flush=True)
    lines = table(found)
    print(*lines, sep="\n")
    command = (
        f"python studies/past_raters.py --data FOLDER --events {options.events} --sweeps {options.sweeps}"
    )
    keep("past_raters", command, {"docs/evidence/history_and_sharing.md": {"past raters": lines}}, {})


if __name__ == "__main__":
    main()
