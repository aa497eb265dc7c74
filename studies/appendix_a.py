"""Appendix A of the paper: both figures in both readings, with intervals, beside our methods.

    python studies/appendix_a.py [--trials 300] [--workers N]

Writes docs/figures/appendix_a_*.png, docs/numbers/appendix_a.json and the tables of evidence/calibrators.md.
"""

from __future__ import annotations

import argparse

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

from blindcal.checks import Array
from blindcal.compute.parallel import available_cores
from blindcal.paper import appendix_a
from blindcal.paper.ranking_errors import SimulatedErrors
from stated import DOCS, keep, refuse_trials

NOISE = [step / 20 for step in range(11)]
TABLED = [0.0, 0.05, 0.1, 0.25, 0.5]
MEASURES = {"kendall_tau": "Kendall-tau distance", "messy_middle": "messy-middle error"}
# The published script stacks permutations; the text says uniformly at random. The noise axis is a variance
# in the text, a standard deviation in the script.
READINGS = {"text": "variance of noise", "script": "standard deviation of noise"}
STYLES = {
    "raw": ("no calibration (raw)", "tab:red", "s", "--"),
    "standardized": ("within-conference (standardized)", "tab:green", "^", "-."),
    "offsets": ("offsets", "tab:olive", "v", ":"),
    "hierarchical": ("hierarchical", "tab:purple", "D", "-"),
    "maximum_likelihood": ("known parameters (maximum likelihood)", "tab:blue", "o", "-"),
    "posterior": ("known parameters (posterior)", "tab:cyan", ".", ":"),
}


def compute(trials: int, workers: int) -> dict[str, SimulatedErrors]:
    """All methods at all noise levels, for each reading."""
    options = {"trials": trials, "workers": workers}
    return {reading: appendix_a(NOISE, list(STYLES), reading=reading, **options) for reading in READINGS}


def samplers(trials: int, workers: int) -> str:
    """Both ways to draw assignments under the script's population, as a table."""
    methods, levels = ["raw", "standardized", "maximum_likelihood"], [0.0, 0.25, 0.5]
    rows = []
    for stacked, way in ((True, "stacked"), (False, "uniform")):
        result = appendix_a(levels, methods, stacked=stacked, trials=trials, workers=workers)
        for k, measure in enumerate(MEASURES.values()):
            for m, method in enumerate(methods):
                cells = _cells(result.mean[:, m, k], result.standard_error[:, m, k], digits=4)
                rows.append([measure, f"`{method}`", way, *cells])
    return _markdown(["", "", "assignments", *map(str, levels)], sorted(rows))


def draw(results: dict[str, SimulatedErrors]) -> None:
    """One figure for each measure, one panel for each reading; bars are 95 % intervals of the mean."""
    mpl.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    (DOCS / "figures").mkdir(parents=True, exist_ok=True)
    for k, (measure, title) in enumerate(MEASURES.items()):
        figure, panels = plt.subplots(1, 2, figsize=(10, 4.8), sharey=True)
        for panel, (reading, axis) in zip(panels, READINGS.items(), strict=True):
            result = results[reading]
            for m, method in enumerate(result.methods):
                label, color, marker, line = STYLES[method]
                mean, bars = result.mean[:, m, k], 1.96 * result.standard_error[:, m, k]
                style = {"color": color, "marker": marker, "linestyle": line, "label": label}
                panel.errorbar(NOISE, mean, bars, markersize=4, capsize=2, **style)
            panel.set_title(f"reading of the {reading}")
            panel.set_xlabel(axis)
            panel.set_ylim(bottom=0)
        panels[0].set_ylabel(title)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="lower center", ncols=3, frameon=False)
        figure.tight_layout(rect=(0, 0.16, 1, 1))
        figure.savefig(DOCS / "figures" / f"appendix_a_{measure}.png", dpi=110, metadata={"Software": ""})
        plt.close(figure)


def tables(results: dict[str, SimulatedErrors]) -> dict[str, str]:
    """Markdown tables by the name under which docs/evidence/calibrators.md holds them."""
    shown = [NOISE.index(noise) for noise in TABLED]
    built = {}
    for reading, result in results.items():
        for k, measure in enumerate(MEASURES):
            mean, error = result.mean[shown, :, k].T, result.standard_error[shown, :, k].T
            rows = [[f"`{m}`", *_cells(mean[i], error[i])] for i, m in enumerate(result.methods)]
            built[f"{reading}_{measure}"] = _markdown([READINGS[reading], *map(str, TABLED)], rows)
    built["standardization"] = _comparisons(results, "standardized", "raw")
    built["hierarchical"] = _comparisons(results, "hierarchical", "raw")
    built["known"] = _ratios(results, shown)
    built["trials"] = f"{next(iter(results.values())).errors.shape[-1]} conferences per point."
    return built


def _cells(mean: Array, error: Array, digits: int = 3) -> list[str]:
    return [f"{a:.{digits}f} ± {b:.{digits}f}" for a, b in zip(mean, error, strict=True)]


def _comparisons(results: dict[str, SimulatedErrors], method: str, against: str) -> str:
    """Mean paired difference `method - against` and, in brackets, how many standard errors it is."""
    rows = []
    for reading, result in results.items():
        m, a = (result.methods.index(name) for name in (method, against))
        for k, measure in enumerate(MEASURES.values()):
            difference = result.errors[:, m, k] - result.errors[:, a, k]
            error = difference.std(axis=-1, ddof=1) / np.sqrt(difference.shape[-1])
            shown = [NOISE.index(noise) for noise in TABLED]
            cells = [f"{difference[n].mean():+.3f} ({difference[n].mean() / error[n]:+.0f})" for n in shown]
            rows.append([f"{reading}: {measure}", *cells])
    return _markdown(["noise", *map(str, TABLED)], rows)


def _ratios(results: dict[str, SimulatedErrors], shown: list[int]) -> str:
    """How many times smaller known parameters make the error of each other method."""
    rows = []
    for reading, result in results.items():
        known = result.mean[shown, result.methods.index("maximum_likelihood")]
        for k, measure in enumerate(MEASURES.values()):
            for method in ("raw", "standardized", "hierarchical"):
                other = result.mean[shown, result.methods.index(method), k]
                cells = [f"{b / a:.1f}" if a > 0 else "all" for a, b in zip(known[:, k], other, strict=True)]
                rows.append([f"{reading}: {measure}, `{method}`", *cells])
    return _markdown(["noise", *map(str, TABLED)], rows)


def _markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def sentences(results: dict[str, SimulatedErrors]) -> dict[str, list[str]]:
    """What the page says in words: how far standardizing is behind, how far `hierarchical` is ahead."""
    behind = min(
        float(ratio)
        for result in results.values()
        for noise, ratio in zip(NOISE, _standard_errors(result, "standardized", "raw", 0), strict=True)
        if noise > 0.0
    )
    ahead = [
        min(
            float(-_standard_errors(result, "hierarchical", other, k).max())
            for result in results.values()
            for other in ("raw", "standardized", "offsets")
        )
        for k in range(len(MEASURES))
    ]
    return {
        "docs/evidence/calibrators.md": [
            f"by {int(behind)} standard errors or more",
            f"by {int(ahead[0])} standard errors or more in Kendall-tau",
            f"and {int(10 * ahead[1]) / 10:.1f} or more in the messy middle",
            *_factors(results),
        ]
    }


def _factors(results: dict[str, SimulatedErrors]) -> list[str]:
    """How much larger the Kendall-tau distance is without known parameters, at four noise levels."""
    places = [("script", 0.05), ("script", 0.25), ("script", 0.5), ("text", 0.5)]
    raw, best = (
        [
            result.mean[at, result.methods.index(method), 0]
            / result.mean[at, result.methods.index("maximum_likelihood"), 0]
            for result, at in ((results[reading], NOISE.index(noise)) for reading, noise in places)
        ]
        for method in ("raw", "hierarchical")
    )
    return [
        f"{raw[0]:.0f} times as large as known parameters at noise of standard deviation .05",
        f"{raw[1]:.1f} times at .25, {raw[2]:.1f} times at .5, {raw[3]:.1f} times at variance .5",
        f"the factors are {best[0]:.1f}, {best[1]:.1f}, {best[2]:.1f} and {best[3]:.1f}",
    ]


def _standard_errors(result: SimulatedErrors, method: str, against: str, k: int) -> Array:
    """The mean paired difference `method - against` in standard errors, at every noise level."""
    m, a = (result.methods.index(name) for name in (method, against))
    difference = result.errors[:, m, k] - result.errors[:, a, k]
    error = difference.std(axis=-1, ddof=1) / np.sqrt(difference.shape[-1])
    return np.asarray(difference.mean(axis=-1) / error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--workers", type=int, default=available_cores())
    options = parser.parse_args()
    command = f"python studies/appendix_a.py --trials {options.trials}"
    refuse_trials("appendix_a", command)
    results = compute(options.trials, options.workers)
    draw(results)
    compared = samplers(4_000, options.workers)
    built = {name: text.split("\n") for name, text in (tables(results) | {"samplers": compared}).items()}
    keep("appendix_a", command, {"docs/evidence/calibrators.md": built}, sentences(results))


if __name__ == "__main__":
    main()
