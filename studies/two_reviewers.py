"""Two papers, two reviewers, one review each: what scores mean, what they could mean, what a decision may use
of it; and the plane of all score pairs, where privacy has a price or none.

    python studies/two_reviewers.py

Writes docs/figures/two_reviewers.png, for docs/tutorials/two_reviewers.md (the case of the README), and
docs/figures/score_plane.png with docs/numbers/two_reviewers.json, computed from beliefs alone: a pair
conflicts if one assignment favors paper 1 and the other paper 2; one unit of adversary error then costs
min |2 favor - 1| of conference error.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap

from blindcal import Affine, Belief, Reviewer, frontier, pair_belief
from blindcal.checks import Array
from blindcal.policy import Frontier
from blindcal.reviewers import Logistic
from stated import asked, keep, save_figure

REVIEWERS = Affine(slope=1.2, offset=0.3, noise=0.5), Affine(slope=0.8, offset=-0.3, noise=0.5)
SCORES = 0.9, 0.4
_COLORS = "tab:blue", "tab:orange"


def compute() -> Frontier:
    """What a decision may use, and the belief that the scores leave."""
    return frontier(pair_belief(REVIEWERS, SCORES))


def draw(front: Frontier) -> Path:
    figure, axes = plt.subplots(1, 3, figsize=(11.5, 3.8), width_ratios=(1.0, 1.15, 1.0))
    _habits(axes[0])
    _worlds(axes[1], front.belief)
    _frontier(axes[2], front)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    return save_figure(figure, "two_reviewers.png", dpi=100)


def _habits(axis: Axes) -> None:
    """The same quality, two scores; the same score, two qualities."""
    quality = np.array([-2.0, 2.0])
    for index, (reviewer, color) in enumerate(zip(REVIEWERS, _COLORS, strict=True), start=1):
        axis.plot(quality, reviewer.score(quality), color=color, label=f"reviewer {index}")
    for paper, score in enumerate(SCORES, start=1):
        axis.axhline(score, color="0.6", linewidth=0.8, linestyle="--")
        axis.text(-1.95, score + 0.06, f"paper {paper} got {score:g}", fontsize=8)
        for reviewer, color in zip(REVIEWERS, _COLORS, strict=True):
            axis.plot(reviewer.quality(np.array([score])), [score], "o", color=color)
    axis.set(title="what a score means", xlabel="quality of the paper", ylabel="score", ylim=(-2.2, 2.8))
    axis.legend(frameon=False, fontsize=8, loc="upper left")


def _worlds(axis: Axes, belief: Belief) -> None:
    """Both ways in which the papers can have been assigned: how likely, and which paper is then better."""
    names = (
        "reviewer 1 had paper 1,\nreviewer 2 had paper 2",
        "reviewer 2 had paper 1,\nreviewer 1 had paper 2",
    )
    for row, (name, weight, favor) in enumerate(zip(names, belief.weight, belief.favor, strict=True)):
        better, chance = (1, favor) if favor >= 0.5 else (2, 1.0 - favor)
        axis.barh(-row, weight, height=0.4, color="0.8" if better == 2 else "0.55")
        axis.text(0.0, 0.32 - row, name, va="bottom", fontsize=8)
        axis.text(
            weight + 0.02,
            -row,
            f"{100 * weight:.0f} % likely;\npaper {better} is better\nwith {100 * chance:.0f} %",
            va="center",
            fontsize=8,
        )
    axis.set(
        title="what the scores could mean", xlabel="chance, given the scores", xlim=(0.0, 1.0), yticks=[]
    )
    axis.set_ylim(-1.6, 0.6)


def _frontier(axis: Axes, front: Frontier) -> None:
    """The best decisions: the more an adversary errs, the more the conference does."""
    conference, adversary = front.conference_error, front.adversary_error
    axis.plot(conference, adversary, color="tab:green", linewidth=2.5)
    axis.plot(conference[[0, -1]], adversary[[0, -1]], "o", color="tab:green")
    for words, end, aside, side in (
        ("full calibration:\nevery decision\nnames both reviewers", 0, (0.02, -0.005), "left"),
        ("nothing added\nto the scores", -1, (-0.012, -0.02), "right"),
    ):
        point = np.array([conference[end], adversary[end]])
        axis.annotate(words, point, point + aside, fontsize=8, ha=side)
    axis.set(
        title="what a decision may use",
        xlabel="chance of accepting the worse paper",
        ylabel="chance that a guess is wrong",
        xlim=(conference[0] - 0.02, conference[-1] + 0.06),
        ylim=(-0.02, adversary[-1] + 0.05),
    )


# --- all pairs of scores

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


def planes(steps: int = 240) -> list[Plane]:
    found = []
    for title, pair, low, high in PAIRS:
        # Integrals take their time: half the steps where there is no closed form.
        fine = steps if isinstance(pair[0], Affine) else steps // 2
        score, density = densities(pair, low, high, fine)
        scores = np.stack(np.meshgrid(score, score, indexing="ij"), axis=-1)
        found.append(Plane(title, score, pair_belief(pair, scores), density))
    return found


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


def draw_planes(shown: list[Plane]) -> Path:
    figure, axes = plt.subplots(1, 3, figsize=(12.5, 4.4), layout="constrained")
    sides = ListedColormap(["#d9e4f2", "#ffffff", "#f7e3d4"])
    for axis, part in zip(axes, shown, strict=True):
        s, side = part.score, conflict(part.belief)
        price = np.where(side == 0.0, np.abs(2.0 * part.belief.favor - 1.0).min(axis=-1), np.nan)
        axis.pcolormesh(s, s, side.T, cmap=sides, vmin=-1, vmax=1, rasterized=True)
        priced = axis.pcolormesh(s, s, price.T, cmap="viridis_r", vmin=0.0, vmax=1.0, rasterized=True)
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
        priced, ax=axes, shrink=0.85, pad=0.01, label="price: conference error per unit of adversary error"
    )
    return save_figure(figure, "score_plane.png")


def sentences(shown: list[Plane]) -> dict[str, list[str]]:
    """What the caption says: the rings, and how often the assignments conflict."""
    rings = [f"{100 * held:.0f}" for held in HELD]
    shares = [(one.density / one.density.sum())[conflict(one.belief) == 0.0].sum() for one in shown]
    conflicts = [f"{100 * share:.0f} %" for share in shares]
    return {
        "docs/explanation/theory.md": [
            f"Rings hold {', '.join(rings[:-1])} and {rings[-1]} % of all pairs",
            f"{', '.join(conflicts[:-1])} and {conflicts[-1]} of the pairs conflict",
        ]
    }


if __name__ == "__main__":
    options, computed = asked("two_reviewers", __doc__), planes()
    print(draw(compute()), draw_planes(computed), sep="\n")
    keep(options, {}, sentences(computed))
