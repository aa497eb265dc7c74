"""Average-case frontiers as the noise grows, and the price of privacy against the budget.

    python studies/average_frontiers.py

Writes docs/figures/average_frontiers.png and docs/figures/prices.png. Lines are integrals over all scores;
dots are games played with 200,000 pairs of papers each.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from blindcal import Affine
from blindcal.checks import Array
from blindcal.policy import AverageFrontier, average_frontier
from stated import DOCS

FIGURES = DOCS / "figures"
NOISES = (0.0, 0.1, 0.3, 0.5, 0.8)
PAIRS = 200_000


@dataclass(frozen=True)
class Curve:
    """One noise level: the frontier, points along it with their prices, and one game played."""

    noise: float
    front: AverageFrontier
    conference: Array
    adversary: Array
    price: Array
    played: tuple[float, float]


def play(front: AverageFrontier, rng: np.random.Generator) -> tuple[float, float]:
    """How often the conference and the adversary err at half the budget worth spending."""
    rule = front.rule(conference_error=0.5 * (front.least_error + front.largest_error))
    quality, first = rng.standard_normal((PAIRS, 2)), rng.random(PAIRS) < 0.5
    noise = rng.standard_normal((PAIRS, 2))
    one, two = (r.score(quality) + r.noise * noise for r in front.reviewers)
    scores = np.where(first[:, None] ^ np.array([False, True]), one, two)
    accept = rule.policy(scores).accept
    accepted = rng.random(PAIRS) < np.where(first, accept[:, 0], accept[:, 1])
    a, b = front.reviewers
    log = np.stack(
        [r.log_marginal(scores[:, 0]) + q.log_marginal(scores[:, 1]) for r, q in ((a, b), (b, a))], -1
    )
    weight = np.exp(log - log.max(axis=1, keepdims=True))
    mass = weight * np.where(accepted[:, None], accept, 1 - accept)
    guess = mass[:, 0] >= mass[:, 1]
    return float((accepted != (quality[:, 0] > quality[:, 1])).mean()), float((guess != first).mean())


def compute(seed: int = 1) -> list[Curve]:
    rng = np.random.default_rng(seed)
    curves = []
    for noise in NOISES:
        front = average_frontier((Affine(1.2, 0.3, noise), Affine(0.8, -0.3, noise)))
        allowed = (
            front.least_error + (front.largest_error - front.least_error) * np.linspace(0, 0.9999, 120) ** 2
        )
        rules = [front.rule(conference_error=float(one)) for one in allowed]
        conference, adversary, price = (
            np.array([getattr(rule, name) for rule in rules])
            for name in ("conference_error", "adversary_error", "price")
        )
        curves.append(Curve(noise, front, conference, adversary, price, play(front, rng)))
    return curves


def draw(curves: list[Curve]) -> list[Path]:
    colors = plt.get_cmap("viridis")(np.linspace(0.05, 0.85, len(curves)))
    figure, axis = plt.subplots(figsize=(6.4, 4.2))
    for curve, color in zip(curves, colors, strict=True):
        axis.plot(curve.conference, curve.adversary, color=color, label=f"noise {curve.noise:g}")
        axis.plot(*curve.played, "o", color=color, markersize=5, markeredgecolor="white")
    axis.plot([], [], "o", color="0.5", label="games played")
    axis.set_xlabel("average conference error")
    axis.set_ylabel("average adversary error")
    axis.set_xlim(-0.005)
    axis.legend(frameon=False, fontsize=8)
    axis.spines[["top", "right"]].set_visible(False)
    paths = [_save(figure, "average_frontiers")]
    figure, axis = plt.subplots(figsize=(7.2, 3.6))
    for curve, color in zip(curves, colors, strict=True):
        spent = curve.conference - curve.front.least_error
        share = spent / (curve.front.largest_error - curve.front.least_error)
        price = np.where(share > 0, curve.price, 1.0 if curve.noise == 0 else 0.0)
        axis.plot(share, price, color=color, label=f"noise {curve.noise:g}")
    axis.set_xlabel("share spent of all that is worth spending")
    axis.set_ylabel("price: conference error\nfor each unit of adversary error")
    axis.set_ylim(0, 1.04)
    axis.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    axis.spines[["top", "right"]].set_visible(False)
    return [*paths, _save(figure, "prices")]


def _save(figure: plt.Figure, name: str) -> Path:
    FIGURES.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    path = FIGURES / f"{name}.png"
    figure.savefig(path, dpi=110, metadata={"Software": ""})
    plt.close(figure)
    return path


if __name__ == "__main__":
    for written in draw(compute()):
        print(written.name)
