"""The whole relation between both errors, noiseless and noisy: the paper's trapezoids.

    python studies/trapezoids.py

Writes docs/figures/trapezoids.png: for every exact conference error the greatest adversary error, with all
strategies (q1, q2) on a grid below it, and the four corners marked.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from blindcal import Belief, Policy, frontier
from blindcal.checks import Array
from stated import DOCS

FIGURES = DOCS / "figures"
# u, v, Phi_1, Phi_2. Without noise Phi is 0 or 1; the noisy pair is the case that the paper draws.
CASES = {
    "noiseless, u > v": (0.65, 0.35, 0.0, 1.0),
    "noiseless, u < v": (0.2, 0.8, 0.0, 1.0),
    "noisy, u < v, secret 2 cheaper": (0.35, 0.65, 0.1, 0.72),
}


@dataclass(frozen=True)
class Trapezoid:
    title: str
    conference: Array
    adversary: Array
    strategies: Array


def compute(steps: int = 61) -> list[Trapezoid]:
    """The relation of each case, and both errors of every (q1, q2) on a grid."""
    q1, q2 = (q.ravel() for q in np.meshgrid(*[np.linspace(0.0, 1.0, steps)] * 2))
    found = []
    for title, (u, v, phi_1, phi_2) in CASES.items():
        belief = Belief([u, v], [1.0 - phi_1, 1.0 - phi_2])
        policy = Policy(np.stack([q1, 1.0 - q2], axis=-1))
        errors = np.stack([policy.conference_error(belief), policy.adversary_error(belief)])
        found.append(Trapezoid(title, *frontier(belief).relation(), errors))
    return found


def draw(trapezoids: list[Trapezoid]) -> Path:
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.5), sharey=True)
    for axis, part in zip(axes, trapezoids, strict=True):
        axis.plot(*part.strategies, ".", color="0.78", markersize=2, label="strategies (q1, q2)")
        axis.plot(
            part.conference, part.adversary, color="tab:blue", linewidth=2, label="greatest adversary error"
        )
        axis.plot(
            part.conference[:2], part.adversary[:2], color="tab:red", linewidth=3, label="Pareto frontier"
        )
        for number, corner in enumerate(zip(part.conference, part.adversary, strict=True), start=1):
            axis.annotate(
                str(number),
                corner,
                xytext=(0, 7 if corner[1] > 0 else -12),
                textcoords="offset points",
                ha="center",
                fontsize=9,
                annotation_clip=False,
            )
        axis.set_title(part.title, fontsize=10)
        axis.set_xlabel("conference error")
        axis.set_xlim(-0.03, 1.03)
        axis.set_ylim(-0.045, 0.43)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("adversary error")
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="lower center", ncols=3, frameon=False, markerscale=2, fontsize=9)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    path = FIGURES / "trapezoids.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": ""})
    plt.close(figure)
    return path


if __name__ == "__main__":
    print(draw(compute()))
