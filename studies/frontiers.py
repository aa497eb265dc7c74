"""The Pareto frontiers of Theorems 4.2 and 4.5, and of a paper with twelve secrets.

    python studies/frontiers.py

Writes docs/figures/frontiers.png: lines from the closed form, rings from linear programs, dots from random
policies, none of which lies above the lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from blindcal import Affine, Belief, Policy, frontier, pair_belief
from blindcal.checks import Array
from blindcal.policy import Frontier, evidence_policy
from blindcal.policy.accept_lp import AcceptProgram, secret_classes
from blindcal.policy.guarantee import UNLIMITED
from stated import DOCS

FIGURES = DOCS / "figures"
SCORES = (0.9, 0.4)
SLOPES, OFFSETS = (1.2, 0.8), (0.6, -0.6)


@dataclass(frozen=True)
class Panel:
    """One instance: its frontier, a few of its points by programs, and random policies."""

    title: str
    front: Frontier
    programs: Array
    policies: Array


def panel(title: str, belief: Belief, rng: np.random.Generator) -> Panel:
    front = frontier(belief)
    wanted = np.linspace(front.adversary_error[0], front.adversary_error[-1], 6)
    program = AcceptProgram(secret_classes(belief), UNLIMITED)
    programs = [program.solve(success=1.0 - a).error for a in wanted]
    coin = rng.beta(0.4, 0.4, (6000, belief.weight.size))
    follow = rng.random((6000, belief.weight.size)) < rng.random((6000, 1))
    policy = Policy(np.where(follow, evidence_policy(belief).accept, coin))
    cloud = np.stack([policy.conference_error(belief), policy.adversary_error(belief)])
    return Panel(title, front, np.stack([programs, wanted]), cloud)


def compute(seed: int = 1) -> list[Panel]:
    """A noiseless pair, the same pair with noise, and one paper that twelve candidates may have reviewed."""
    rng = np.random.default_rng(seed)
    panels = []
    for title, noise in (("noiseless pair (Theorem 4.2)", 0.0), ("noisy pair (Theorem 4.5)", 0.5)):
        one, two = (Affine(a, b, noise=noise) for a, b in zip(SLOPES, OFFSETS, strict=True))
        panels.append(panel(title, pair_belief((one, two), SCORES), rng))
    many = Belief(rng.dirichlet(np.full(12, 1.5)), rng.beta(0.7, 0.7, 12))
    panels.append(panel("twelve secrets", many, rng))
    return panels


def draw(panels: list[Panel]) -> Path:
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.7))
    for axis, part in zip(axes, panels, strict=True):
        axis.plot(*part.policies, ".", color="0.75", markersize=1.5, label="random policies", zorder=1)
        conference, adversary = part.front.conference_error, part.front.adversary_error
        axis.plot(conference, adversary, color="tab:blue", linewidth=2, label="closed form", zorder=3)
        axis.plot(
            *part.programs,
            "o",
            color="tab:red",
            fillstyle="none",
            markersize=6,
            label="linear program",
            zorder=4,
        )
        axis.axhline(adversary[-1], color="0.4", linewidth=0.8, linestyle=":", zorder=2)
        axis.set_title(part.title, fontsize=10)
        axis.set_xlabel("conference error")
        pair = part.front.belief.weight.size == 2
        axis.set_xlim(0.0 if pair else conference[0] - 0.02, 1.0 if pair else None)
        axis.set_ylim(0.0 if pair else adversary[0] - 0.02, adversary[-1] + (0.04 if pair else 0.02))
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("adversary error")
    axes[0].annotate(
        "from the scores alone",
        (0.98, panels[0].front.adversary_error[-1] + 0.006),
        ha="right",
        fontsize=8,
        color="0.3",
    )
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="lower center", ncols=3, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    path = FIGURES / "frontiers.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": ""})
    plt.close(figure)
    return path


if __name__ == "__main__":
    print(draw(compute()))
