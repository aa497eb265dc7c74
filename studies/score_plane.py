"""The plane of score pairs: where both assignments agree, where they conflict, and what privacy costs there.

    python studies/score_plane.py

Writes docs/figures/score_plane.png and docs/numbers/score_plane.json, computed from beliefs alone: a pair
conflicts where one assignment favors paper 1 and the other paper 2; there one unit of adversary error costs
min |2 favor - 1| of conference error.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import ListedColormap

from blindcal import Affine, Belief, Reviewer, pair_belief
from blindcal.checks import Array
from blindcal.reviewers import Logistic
from stated import DOCS, keep

FIGURES = DOCS / "figures"
HELD = (0.5, 0.9, 0.99)


@dataclass(frozen=True)
class Plane:
    """Beliefs on a grid of score pairs, and the density with which the pairs occur."""

    title: str
    score: Array
    belief: Belief
    density: Array


PAIRS: tuple[tuple[str, tuple[Reviewer, Reviewer], float, float], ...] = (
    ("no noise", (Affine(1.2, 0.6), Affine(0.8, -0.6)), -4.5, 4.5),
    ("noise 0.5", (Affine(1.2, 0.6, noise=0.5), Affine(0.8, -0.6, noise=0.5)), -4.5, 4.5),
    (
        "scale 1 to 10, noise 0.8",
        (Logistic(1, 10, 1.2, 0.7, noise=0.8), Logistic(1, 10, 0.7, -0.5, noise=0.8)),
        -1.5,
        12.5,
    ),
)


def densities(pair: tuple[Reviewer, Reviewer], low: float, high: float, steps: int) -> tuple[Array, Array]:
    """Scores, and how often each pair of them occurs."""
    # Cell centers, so that no score of a bounded scale falls on its end.
    score = low + (high - low) * (np.arange(steps) + 0.5) / steps
    f1, f2 = (np.exp(reviewer.log_marginal(score)) for reviewer in pair)
    return score, 0.5 * (np.outer(f1, f2) + np.outer(f2, f1))


def compute(steps: int = 240) -> list[Plane]:
    planes = []
    for title, pair, low, high in PAIRS:
        # Integrals take their time: half the steps where there is no closed form.
        fine = steps if isinstance(pair[0], Affine) else steps // 2
        score, density = densities(pair, low, high, fine)
        scores = np.stack(np.meshgrid(score, score, indexing="ij"), axis=-1)
        planes.append(Plane(title, score, pair_belief(pair, scores), density))
    return planes


def conflict(belief: Belief) -> Array:
    """-1 where both favor paper 2, 1 where both favor paper 1, 0 where they conflict."""
    return np.sign(belief.favor - 0.5).sum(axis=-1) / 2.0


def held_levels(score: Array, density: Array) -> list[float]:
    """Density levels whose regions hold the given shares of all pairs, also of those not shown; rising."""
    ranked = np.sort(density.ravel())[::-1]
    share = np.cumsum(ranked) * (score[1] - score[0]) ** 2
    if share[-1] < max(HELD):
        raise SystemExit(f"only {share[-1]:.2%} of the pairs are shown, show more")
    return [float(ranked[np.searchsorted(share, held)]) for held in sorted(HELD, reverse=True)]


def draw(planes: list[Plane]) -> Path:
    figure, axes = plt.subplots(1, 3, figsize=(12.5, 4.4), layout="constrained")
    sides = ListedColormap(["#d9e4f2", "#ffffff", "#f7e3d4"])
    for axis, part in zip(axes, planes, strict=True):
        s, side = part.score, conflict(part.belief)
        price = np.where(side == 0.0, np.abs(2.0 * part.belief.favor - 1.0).min(axis=-1), np.nan)
        axis.pcolormesh(s, s, side.T, cmap=sides, vmin=-1, vmax=1, rasterized=True)
        shown = axis.pcolormesh(s, s, price.T, cmap="viridis_r", vmin=0.0, vmax=1.0, rasterized=True)
        axis.contour(s, s, part.density.T, levels=held_levels(s, part.density), colors="0.35", linewidths=0.7)
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


def sentences(planes: list[Plane]) -> dict[str, list[str]]:
    """What the caption says: the rings, and how often the assignments conflict."""
    rings = [f"{100 * held:.0f}" for held in HELD]
    conflicts = [f"{100 * share:.0f} %" for _, share, _ in shares(planes)]
    return {
        "docs/explanation/theory.md": [
            f"Rings hold {', '.join(rings[:-1])} and {rings[-1]} % of all pairs",
            f"{', '.join(conflicts[:-1])} and {conflicts[-1]} of the pairs conflict",
        ]
    }


if __name__ == "__main__":
    planes = compute()
    print(draw(planes))
    told = sentences(planes)
    print(*told["docs/explanation/theory.md"], sep="\n")
    keep("score_plane", "python studies/score_plane.py", {}, told)
