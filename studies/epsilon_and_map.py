"""Two ways to protect one secret: a limit on the adversary's success, and a limit on epsilon.

    python studies/epsilon_and_map.py

Writes docs/figures/two_secrets.png (a policy that adds no success and still names the secret) and
docs/figures/epsilon_and_map.png (policies of each kind on the same axes, averaged over a pair's scores).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from blindcal import Affine, Belief, Guarantee, Policy, pair_belief, private_policy
from blindcal.checks import Array
from blindcal.policy import epsilon_policy, spend
from blindcal.policy.pareto_frontier import frontier
from stated import DOCS

FIGURES = DOCS / "figures"
BELIEF = Belief([0.6, 0.4], [0.9, 0.2])
REVIEWERS = (Affine(1.2, 0.3, 0.5), Affine(0.8, -0.3, 0.5))
EPSILONS = np.linspace(0.0, 6.0, 25)
PAIRS = 40_000


@dataclass(frozen=True)
class Curves:
    """Average errors along each family; one row (conference error, adversary error)."""

    success: Array
    epsilon: Array
    multiplier: Array


def scores(rng: np.random.Generator) -> Array:
    quality, noise = rng.standard_normal((2, PAIRS, 2))
    first = rng.random((PAIRS, 1)) < 0.5
    one, two = (r.score(quality) + r.noise * noise for r in REVIEWERS)
    return np.where(first ^ np.array([False, True]), one, two)


def errors(belief: Belief, policy: Policy) -> tuple[float, float]:
    return float(policy.conference_error(belief).mean()), float(policy.adversary_error(belief).mean())


def compute(seed: int = 1) -> Curves:
    belief = pair_belief(REVIEWERS, scores(np.random.default_rng(seed)))
    front = frontier(belief)
    least, most = (float(front.conference_error[:, k].mean()) for k in (0, -1))
    spent = [spend(front, conference_error=least + s * (most - least)) for s in np.linspace(0, 1, 25) ** 2]
    return Curves(
        np.array([(one.conference_error, one.adversary_error) for one in spent]),
        np.array([errors(belief, epsilon_policy(belief, e)) for e in EPSILONS]),
        np.array(
            [
                errors(belief, private_policy(belief, Guarantee("none", epsilon=None, multiplier=m)))
                for m in np.linspace(1, 2, 25)
            ]
        ),
    )


def draw(curves: Curves) -> list[Path]:
    figure, axis = plt.subplots(figsize=(6.4, 4.2))
    axis.plot(*curves.success.T, color="tab:blue", label="limit on the average success (price threshold)")
    axis.plot(*curves.epsilon.T, ".-", color="tab:red", label="epsilon from 0 to 6")
    axis.plot(*curves.multiplier.T, ".-", color="tab:green", label="multiplier from 1 to 2")
    for epsilon in (0.0, 1.0, 2.0, 3.0):
        at = curves.epsilon[int(np.argmin(np.abs(EPSILONS - epsilon)))]
        axis.annotate(
            f"{epsilon:g}", at, xytext=(7, -8), textcoords="offset points", fontsize=8, color="tab:red"
        )
    axis.set_xlabel("average conference error")
    axis.set_ylabel("average adversary error")
    axis.legend(frameon=False, fontsize=8, loc="lower right")
    axis.spines[["top", "right"]].set_visible(False)
    return [draw_two_secrets(), _save(figure, "epsilon_and_map")]


def draw_two_secrets() -> Path:
    """The posterior of the heavier secret after each outcome, for four policies."""
    policies = {
        "public decision\naccept (1, 1)": Policy([1.0, 1.0]),
        "no added success\naccept (1/3, 0)": Policy([1 / 3, 0.0]),
        "randomized response\naccept (.73, .27)": epsilon_policy(Belief([0.6, 0.4], [1.0, 0.0]), 1.0),
        "full calibration\naccept (1, 0)": Policy([1.0, 0.0]),
    }
    figure, axes = plt.subplots(1, len(policies), figsize=(9.6, 3.2), sharey=True)
    for axis, (title, policy) in zip(axes, policies.items(), strict=True):
        left = 0.0
        for name, chance, color in (
            ("accept", policy.accept, "tab:blue"),
            ("reject", 1 - policy.accept, "tab:orange"),
        ):
            mass = BELIEF.weight * chance
            total = float(mass.sum())
            if total > 0:
                share = float(mass[0]) / total
                axis.bar(left, share, width=total, align="edge", color=color, alpha=0.75, edgecolor="white")
                axis.text(
                    left + total / 2,
                    # Clear of the dotted line.
                    min(max(share / 2, 0.14), 0.36),
                    name,
                    ha="center",
                    va="center",
                    fontsize=8,
                    rotation=90,
                )
            left += total
        axis.axhline(0.6, color="0.2", linewidth=0.9, linestyle=":")
        success = 1 - float(policy.adversary_error(BELIEF))
        axis.set_title(f"{title}\nsuccess {success:.2f}, epsilon {float(policy.epsilon):.2g}", fontsize=8)
        axis.set_xlim(0, 1)
        axis.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
        axis.set_ylim(0, 1)
        axis.set_xlabel("chance of the outcome", fontsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("P(secret 1 | outcome)")
    return _save(figure, "two_secrets")


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
