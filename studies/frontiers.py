"""Frontiers of errors: of one pair of papers, averaged over all scores, and by kind of limit.

    python studies/frontiers.py

Writes into docs/figures, for docs/explanation/theory.md: frontiers.png (Theorems 4.2 and 4.5 and a paper with
twelve secrets: lines from the closed form, rings from linear programs, dots from random policies, none of
which lies above the lines), average_frontiers.png and prices.png (as the noise grows: lines are integrals
over all scores, dots are games played with 200,000 pairs of papers each). For
docs/explanation/privacy_model.md: two_secrets.png (a policy that adds no success and still names the secret)
and epsilon_and_map.png (policies with a limit on success, epsilon or multiplier on the same axes).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from blindcal import Affine, Belief, Guarantee, Policy, frontier, pair_belief, private_policy
from blindcal.checks import Array
from blindcal.policy import (
    AverageFrontier,
    Frontier,
    average_frontier,
    epsilon_policy,
    evidence_policy,
    spend,
)
from blindcal.policy.accept_lp import AcceptProgram, secret_classes
from blindcal.policy.guarantee import UNLIMITED
from stated import save_figure

# --- one pair of papers

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
        rings = {"color": "tab:red", "fillstyle": "none", "markersize": 6, "zorder": 4}
        axis.plot(*part.programs, "o", label="linear program", **rings)
        axis.axhline(adversary[-1], color="0.4", linewidth=0.8, linestyle=":", zorder=2)
        axis.set_title(part.title, fontsize=10)
        axis.set_xlabel("conference error")
        pair = part.front.belief.weight.size == 2
        axis.set_xlim(0.0 if pair else conference[0] - 0.02, 1.0 if pair else None)
        axis.set_ylim(0.0 if pair else adversary[0] - 0.02, adversary[-1] + (0.04 if pair else 0.02))
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("adversary error")
    place = 0.98, panels[0].front.adversary_error[-1] + 0.006
    axes[0].annotate("from the scores alone", place, ha="right", fontsize=8, color="0.3")
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="lower center", ncols=3, frameon=False, fontsize=9)
    return save_figure(figure, "frontiers.png", rect=(0, 0.08, 1, 1))


# --- averaged over all scores

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


def averaged(seed: int = 1) -> list[Curve]:
    rng = np.random.default_rng(seed)
    curves = []
    for noise in NOISES:
        front = average_frontier((Affine(1.2, 0.3, noise), Affine(0.8, -0.3, noise)))
        allowed = (
            front.least_error + (front.largest_error - front.least_error) * np.linspace(0, 0.9999, 120) ** 2
        )
        rules = [front.rule(conference_error=float(error)) for error in allowed]
        conference, adversary, price = (
            np.array([getattr(rule, name) for rule in rules])
            for name in ("conference_error", "adversary_error", "price")
        )
        curves.append(Curve(noise, front, conference, adversary, price, play(front, rng)))
    return curves


def draw_averaged(curves: list[Curve]) -> list[Path]:
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
    paths = [save_figure(figure, "average_frontiers.png")]
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
    return [*paths, save_figure(figure, "prices.png")]


# --- by kind of limit

TWO_SECRETS = Belief([0.6, 0.4], [0.9, 0.2])
REVIEWERS = (Affine(1.2, 0.3, 0.5), Affine(0.8, -0.3, 0.5))
EPSILONS = np.linspace(0.0, 6.0, 25)
PAPER_PAIRS = 40_000


@dataclass(frozen=True)
class Families:
    """Average errors along each family; one row (conference error, adversary error)."""

    success: Array
    epsilon: Array
    multiplier: Array


def _drawn_scores(rng: np.random.Generator) -> Array:
    quality, noise = rng.standard_normal((2, PAPER_PAIRS, 2))
    first = rng.random((PAPER_PAIRS, 1)) < 0.5
    one, two = (r.score(quality) + r.noise * noise for r in REVIEWERS)
    return np.where(first ^ np.array([False, True]), one, two)


def _errors(belief: Belief, policy: Policy) -> tuple[float, float]:
    return float(policy.conference_error(belief).mean()), float(policy.adversary_error(belief).mean())


def by_limit(seed: int = 1) -> Families:
    belief = pair_belief(REVIEWERS, _drawn_scores(np.random.default_rng(seed)))
    front = frontier(belief)
    least, most = (float(front.conference_error[:, k].mean()) for k in (0, -1))
    spent = [spend(front, conference_error=least + s * (most - least)) for s in np.linspace(0, 1, 25) ** 2]
    multiplied = [Guarantee("none", epsilon=None, multiplier=m) for m in np.linspace(1, 2, 25)]
    return Families(
        np.array([(one.conference_error, one.adversary_error) for one in spent]),
        np.array([_errors(belief, epsilon_policy(belief, e)) for e in EPSILONS]),
        np.array([_errors(belief, private_policy(belief, limited)) for limited in multiplied]),
    )


def draw_by_limit(families: Families) -> list[Path]:
    figure, axis = plt.subplots(figsize=(6.4, 4.2))
    axis.plot(*families.success.T, color="tab:blue", label="limit on the average success (price threshold)")
    axis.plot(*families.epsilon.T, ".-", color="tab:red", label="epsilon from 0 to 6")
    axis.plot(*families.multiplier.T, ".-", color="tab:green", label="multiplier from 1 to 2")
    for epsilon in (0.0, 1.0, 2.0, 3.0):
        at = families.epsilon[int(np.argmin(np.abs(EPSILONS - epsilon)))]
        axis.annotate(
            f"{epsilon:g}", at, xytext=(7, -8), textcoords="offset points", fontsize=8, color="tab:red"
        )
    axis.set_xlabel("average conference error")
    axis.set_ylabel("average adversary error")
    axis.legend(frameon=False, fontsize=8, loc="lower right")
    axis.spines[["top", "right"]].set_visible(False)
    return [draw_two_secrets(), save_figure(figure, "epsilon_and_map.png")]


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
            mass = TWO_SECRETS.weight * chance
            total = float(mass.sum())
            if total > 0:
                share = float(mass[0]) / total
                axis.bar(left, share, width=total, align="edge", color=color, alpha=0.75, edgecolor="white")
                height = min(max(share / 2, 0.14), 0.36)  # clear of the dotted line
                axis.text(left + total / 2, height, name, ha="center", va="center", fontsize=8, rotation=90)
            left += total
        axis.axhline(0.6, color="0.2", linewidth=0.9, linestyle=":")
        success = 1 - float(policy.adversary_error(TWO_SECRETS))
        axis.set_title(f"{title}\nsuccess {success:.2f}, epsilon {float(policy.epsilon):.2g}", fontsize=8)
        axis.set_xlim(0, 1)
        axis.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
        axis.set_ylim(0, 1)
        axis.set_xlabel("chance of the outcome", fontsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("P(secret 1 | outcome)")
    return save_figure(figure, "two_secrets.png")


if __name__ == "__main__":
    print(draw(compute()), *draw_averaged(averaged()), *draw_by_limit(by_limit()))
