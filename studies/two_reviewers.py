"""Two papers, two reviewers, one review each, in three pictures: what scores mean, what they could mean, and
what a decision may use of it.

    python studies/two_reviewers.py

Writes docs/figures/two_reviewers.png, for docs/tutorials/two_reviewers.md: the case of the README.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from blindcal import Affine, Belief, frontier, pair_belief
from blindcal.policy import Frontier
from stated import DOCS

FIGURES = DOCS / "figures"
REVIEWERS = Affine(slope=1.2, offset=0.3, noise=0.5), Affine(slope=0.8, offset=-0.3, noise=0.5)
SCORES = 0.9, 0.4
_COLORS = "tab:blue", "tab:orange"


@dataclass(frozen=True)
class Story:
    """What the scores reveal, and the frontier of what a decision may use."""

    belief: Belief
    front: Frontier


def compute() -> Story:
    belief = pair_belief(REVIEWERS, SCORES)
    return Story(belief, frontier(belief))


def draw(story: Story) -> Path:
    figure, axes = plt.subplots(1, 3, figsize=(11.5, 3.8), width_ratios=(1.0, 1.15, 1.0))
    _habits(axes[0])
    _worlds(axes[1], story.belief)
    _frontier(axes[2], story.front)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    path = FIGURES / "two_reviewers.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    plt.close(figure)
    return path


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
    axis.annotate(
        "full calibration:\nevery decision\nnames both reviewers",
        (conference[0], adversary[0]),
        (conference[0] + 0.02, -0.005),
        fontsize=8,
    )
    axis.annotate(
        "nothing added\nto the scores",
        (conference[-1], adversary[-1]),
        (conference[-1] - 0.012, adversary[-1] - 0.02),
        fontsize=8,
        ha="right",
    )
    axis.set(
        title="what a decision may use",
        xlabel="chance of accepting the worse paper",
        ylabel="chance that a guess is wrong",
        xlim=(conference[0] - 0.02, conference[-1] + 0.06),
        ylim=(-0.02, adversary[-1] + 0.05),
    )


if __name__ == "__main__":
    print(draw(compute()))
