"""Appendix A of the paper: both figures in both readings, with intervals, beside our methods.

    python studies/appendix_a.py [--trials 300] [--workers N]

Writes docs/figures/appendix_a_*.png, docs/numbers/appendix_a.json and the tables of evidence/calibrators.md.
"""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

from blindcal.checks import Array
from blindcal.paper import appendix_a
from blindcal.paper.appendix_simulations import NOISES, SimulatedErrors
from stated import asked, keep, mean_and_error, save_figure, table, with_errors

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
    return {reading: appendix_a(NOISES, list(STYLES), reading=reading, **options) for reading in READINGS}


def draw(results: dict[str, SimulatedErrors]) -> None:
    """One figure for each measure, one panel for each reading; bars are 95 % intervals of the mean."""
    mpl.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    for k, (measure, title) in enumerate(MEASURES.items()):
        figure, panels = plt.subplots(1, 2, figsize=(10, 4.8), sharey=True)
        for panel, (reading, axis) in zip(panels, READINGS.items(), strict=True):
            result = results[reading]
            for m, method in enumerate(result.methods):
                label, color, marker, line = STYLES[method]
                mean, bars = result.mean[:, m, k], 1.96 * result.standard_error[:, m, k]
                style = {"color": color, "marker": marker, "linestyle": line, "label": label}
                panel.errorbar(NOISES, mean, bars, markersize=4, capsize=2, **style)
            panel.set_title(f"reading of the {reading}")
            panel.set_xlabel(axis)
            panel.set_ylim(bottom=0)
        panels[0].set_ylabel(title)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="lower center", ncols=3, frameon=False)
        save_figure(figure, f"appendix_a_{measure}.png", rect=(0, 0.16, 1, 1))


def tables(results: dict[str, SimulatedErrors]) -> dict[str, list[str]]:
    """Errors at some noise levels, by the name under which docs/evidence/calibrators.md may show them."""
    shown = [NOISES.index(noise) for noise in TABLED]
    built = {}
    for reading, result in results.items():
        for k, measure in enumerate(MEASURES):
            errors = result.errors[shown, :, k]
            rows = [[f"`{m}`", *cells(errors[:, i])] for i, m in enumerate(result.methods)]
            built[f"{reading}_{measure}"] = table([READINGS[reading], *map(str, TABLED)], *rows)
    return {**built, "trials": [f"{errors.shape[-1]} conferences per point."]}


def cells(errors: Array) -> list[str]:
    """For each noise level the mean over trials with its error, of `errors[noise, trial]`."""
    return with_errors(errors.T, ".3f")


def sentences(results: dict[str, SimulatedErrors]) -> dict[str, list[str]]:
    """What the page says in words: how far standardizing is behind, how far `hierarchical` is ahead."""
    behind = min(
        float(ratio)
        for result in results.values()
        for noise, ratio in zip(NOISES, _standard_errors(result, "standardized", "raw", 0), strict=True)
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
    means = [results[reading].mean[NOISES.index(noise), :, 0] for reading, noise in places]
    known, *others = (list(STYLES).index(name) for name in ("maximum_likelihood", "raw", "hierarchical"))
    raw, best = ([mean[method] / mean[known] for mean in means] for method in others)
    return [
        f"{raw[0]:.0f} times as large as known parameters at noise of standard deviation .05",
        f"{raw[1]:.1f} times at .25, {raw[2]:.1f} times at .5, {raw[3]:.1f} times at variance .5",
        f"the factors are {best[0]:.1f}, {best[1]:.1f}, {best[2]:.1f} and {best[3]:.1f}",
    ]


def _standard_errors(result: SimulatedErrors, method: str, against: str, k: int) -> Array:
    """The mean paired difference `method - against` in standard errors, at every noise level."""
    m, a = (result.methods.index(name) for name in (method, against))
    difference = result.errors[:, m, k] - result.errors[:, a, k]
    mean, error = mean_and_error(difference.T)
    return np.asarray(mean / error)


def main() -> None:
    options = asked("appendix_a", __doc__, trials=300)
    results = compute(options.trials, options.workers)
    draw(results)
    keep(options, {"docs/evidence/calibrators.md": tables(results)}, sentences(results))


if __name__ == "__main__":
    main()
