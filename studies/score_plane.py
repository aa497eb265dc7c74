"""The plane of score pairs: where both assignments agree, where they conflict, and what privacy costs there.

    python studies/score_plane.py

Writes docs/figures/score_plane.png, computed from beliefs alone: a pair conflicts where one assignment favors
paper 1 and the other paper 2; there one unit of adversary error costs min |2 favor - 1| of conference error.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import ListedColormap

from blindcal import Affine, Belief, Logistic, Reviewer, pair_belief
from blindcal.checks import Array

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
HELD = (0.5, 0.9, 0.99)


@dataclass(frozen=True)
class Plane:
    """Beliefs on a grid of score pairs, and the density with which the pairs occur."""

    title: str
    score: Array
    belief: Belief
    density: Array


def plane(title: str, pair: tuple[Reviewer, Reviewer], low: float, high: float, steps: int) -> Plane:
    # Cell centers, so that no score of a bounded scale falls on its end.
    score = low + (high - low) * (np.arange(steps) + 0.5) / steps
    scores = np.stack(np.meshgrid(score, score, indexing="ij"), axis=-1)
    f1, f2 = (np.exp(reviewer.log_marginal(score)) for reviewer in pair)
    density = 0.5 * (np.outer(f1, f2) + np.outer(f2, f1))
    return Plane(title, score, pair_belief(pair, scores), density)


def compute(steps: int = 240) -> list[Plane]:
    lenient, strict = (1.2, 0.6), (0.8, -0.6)
    return [
        plane("no noise", (Affine(*lenient), Affine(*strict)), -3.5, 3.5, steps),
        plane("noise 0.5", (Affine(*lenient, noise=0.5), Affine(*strict, noise=0.5)), -3.5, 3.5, steps),
        plane(
            "scale 1 to 10, noise 0.8",
            (Logistic(1, 10, 1.2, 0.7, noise=0.8), Logistic(1, 10, 0.7, -0.5, noise=0.8)),
            0.0,
            11.0,
            steps // 2,
        ),
    ]


def conflict(belief: Belief) -> Array:
    """-1 where both favor paper 2, 1 where both favor paper 1, 0 where they conflict."""
    return np.sign(belief.favor - 0.5).sum(axis=-1) / 2.0


def held_levels(density: Array) -> list[float]:
    """Density levels whose regions hold the given shares of all pairs, rising."""
    ranked = np.sort(density.ravel())[::-1]
    share = np.cumsum(ranked) / ranked.sum()
    return [float(ranked[np.searchsorted(share, part)]) for part in sorted(HELD, reverse=True)]


def draw(planes: list[Plane]) -> Path:
    figure, axes = plt.subplots(1, 3, figsize=(12.5, 4.4), layout="constrained")
    sides = ListedColormap(["#d9e4f2", "#ffffff", "#f7e3d4"])
    for axis, part in zip(axes, planes, strict=True):
        s, side = part.score, conflict(part.belief)
        price = np.where(side == 0.0, np.abs(2.0 * part.belief.favor - 1.0).min(axis=-1), np.nan)
        axis.pcolormesh(s, s, side.T, cmap=sides, vmin=-1, vmax=1, rasterized=True)
        shown = axis.pcolormesh(s, s, price.T, cmap="viridis_r", vmin=0.0, vmax=1.0, rasterized=True)
        axis.contour(s, s, part.density.T, levels=held_levels(part.density), colors="0.35", linewidths=0.7)
        middle, reach = 0.5 * (s[0] + s[-1]), s[-1] - s[0]
        for sign, paper in ((1, 1), (-1, 2)):
            place = middle + sign * 0.27 * reach, middle - sign * 0.40 * reach
            box = {"facecolor": sides((sign + 1) / 2), "edgecolor": "none", "pad": 1.5}
            text = f"paper {paper},\nwhoever reviewed it"
            axis.text(*place, text, ha="center", va="center", fontsize=8, bbox=box)
        axis.set_title(part.title, fontsize=10)
        axis.set_xlabel("score of paper 1")
        axis.set_aspect("equal")
    axes[0].set_ylabel("score of paper 2")
    figure.colorbar(
        shown, ax=axes, shrink=0.85, pad=0.01, label="price: conference error per unit of adversary error"
    )
    path = FIGURES / "score_plane.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": ""})
    plt.close(figure)
    return path


def shares(planes: list[Plane]) -> list[tuple[str, float, float]]:
    """For each plane: the share of pairs that conflict, and their mean price."""
    found = []
    for part in planes:
        weight = part.density / part.density.sum()
        open_ = conflict(part.belief) == 0.0
        price = np.abs(2.0 * part.belief.favor - 1.0).min(axis=-1)
        found.append(
            (part.title, float(weight[open_].sum()), float(np.average(price[open_], weights=weight[open_])))
        )
    return found


if __name__ == "__main__":
    planes = compute()
    print(draw(planes))
    for title, share, price in shares(planes):
        print(f"{title}: {share:.1%} of pairs conflict, mean price there {price:.2f}")
