"""What a matching adds: promises made paper by paper, against an adversary that knows papers are coupled.

    python studies/matchings.py [--conferences 1000] [--workers N]

As many reviewers as papers, one review each, every matching equally likely: if somebody reviewed one paper
they reviewed no other. The library plans each paper as it always does, with everybody in every pool. The
adversary knows that the reviewers form a matching and goes through all of them and all outcomes of all
papers, so every number is exact for its conference and only the conferences are sampled. Writes
docs/numbers/matchings.json and the table of docs/evidence/adversaries.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations, product

import numpy as np
from scipy.special import ndtri
from scipy.stats import norm

import blindcal as bc
from blindcal.checks import Array
from blindcal.compute.parallel import parallel_map
from blindcal.simulation.population import Population, prototype_population
from stated import asked, guarantees, keep, table, with_errors

UPPER_QUARTILE = round(float(ndtri(0.75)), 4)
DEFAULT = "crowd of 10, epsilon 3"  # in pools of 4 to 6 it is steady
GUARANTEES = guarantees(
    "crowd of 10, epsilon 3; steady, epsilon 1; steady, epsilon 2; steady, epsilon 3; steady; "
    "odds, epsilon 1; odds, epsilon 2; odds, epsilon 3; average, epsilon 1; average, epsilon 2; "
    "average, epsilon 3; average; full calibration"
)
# Log odds that move farther than this are those of a candidate who was ruled out.
FARTHEST = 20.0


@dataclass(frozen=True)
class Setting:
    """So many papers and reviewers, the bar, and the reviewers' noise (else those of the prototype)."""

    papers: int
    bar: float
    noise: float = 0.5

    @property
    def name(self) -> str:
        bar = "bar 0" if self.bar == 0.0 else "best quarter"
        return f"{self.papers} papers, {bar}, noise {self.noise:g}"

    @property
    def population(self) -> Population:
        return replace(prototype_population(), noise=self.noise)


SETTINGS = (
    Setting(5, UPPER_QUARTILE),
    Setting(5, 0.0),
    Setting(6, 0.0),
    Setting(4, 0.0, noise=0.2),
)


@dataclass(frozen=True, eq=False)
class Drawn:
    """One conference: `score[paper]` and each reviewer's slope, offset and noise."""

    score: Array
    slope: Array
    offset: Array
    noise: Array


@dataclass(frozen=True)
class Gain:
    """Naming a reviewer, mean over papers, and the most that one outcome of all papers together does.

    `alone`: from the scores; `decided`: with all decisions. `rise`: of the likeliest reviewer;
    `log_odds`: between two candidates for one review. `stated`: the largest rise that a paper's claim admits.
    """

    alone: float
    decided: float
    rise: float
    log_odds: float
    stated: float

    @property
    def added(self) -> float:
        return self.decided - self.alone


def draw(rng: np.random.Generator, setting: Setting) -> Drawn:
    slope, offset, noise = setting.population.parameters(rng, (setting.papers,))
    # Reviewer i writes the review of paper i; the adversary does not know that, nor does any table.
    score = setting.population.scores(rng, rng.standard_normal(setting.papers), slope, offset, noise)
    return Drawn(score, slope, offset, noise)


def planned(drawn: Drawn, bar: float, guarantee: bc.Guarantee) -> tuple[Array, float]:
    """`accept[paper, reviewer]` as the library plans it, everybody in every pool; the largest rise stated."""
    count = len(drawn.score)
    papers, people = [f"p{i}" for i in range(count)], [f"r{j}" for j in range(count)]
    reviews = bc.Reviews.from_table({"paper": papers, "reviewer": people, "score": drawn.score})
    rows = np.column_stack([drawn.slope, drawn.offset, drawn.noise, np.zeros((count, 4))]).tolist()
    parameters = {name: tuple(row) for name, row in zip(people, rows, strict=True)}
    pools = {paper: dict.fromkeys(people, 1.0 / count) for paper in papers}
    plans = bc.planning.plan_conference(bc.posterior.prepare(reviews, parameters, pools, bar=bar), guarantee)
    # Cases are sorted by paper, candidates by name: here both are the order of the arrays.
    return np.array([plan.policy.accept for plan in plans]), max(plan.claim.largest_rise for plan in plans)


def coupled(drawn: Drawn, accept: Array) -> tuple[Array, Array]:
    """P(scores fit, reviewer j on paper i) and P(outcome, reviewer j on paper i | scores), both by going
    through every matching: `[i, j]` and `[outcome, i, j]`."""
    count = len(drawn.score)
    papers, matchings = np.arange(count), np.array(list(permutations(range(count))))
    deviation = np.hypot(drawn.slope, drawn.noise)
    density = norm.pdf(drawn.score[:, None], drawn.offset, deviation)
    weight = density[papers, matchings].prod(axis=1)
    weight /= weight.sum()
    chances = np.stack([1.0 - accept, accept])[:, papers, matchings]
    outcomes = np.array(list(product((0, 1), repeat=count)))
    likelihood = np.stack([chances[outcome, :, papers].prod(axis=0) for outcome in outcomes])
    on = (matchings[:, :, None] == papers).astype(np.float64)
    return np.einsum("m,mij->ij", weight, on), np.einsum("om,mij->oij", likelihood * weight, on)


def gain(alone: Array, joint: Array, stated: float) -> Gain:
    """What the decisions add to `alone[paper, reviewer]`; outcomes that never happen are left out."""
    chance = joint[:, 0].sum(axis=-1)
    happens = chance > 0.0
    after = joint[happens] / chance[happens, None, None]
    # Where a candidate is impossible to the last digit there are no odds to move.
    possible = np.broadcast_to(alone > 0.0, after.shape)
    moved = np.log(after, where=possible & (after > 0.0), out=np.full(after.shape, -np.inf))
    moved -= np.log(alone, where=alone > 0.0, out=np.zeros_like(alone))
    spread = moved.max(axis=2, where=possible, initial=-np.inf) - moved.min(
        axis=2, where=possible, initial=np.inf
    )
    return Gain(
        alone=float(alone.max(axis=1).mean()),
        decided=float(joint.max(axis=2).mean(axis=1).sum()),
        rise=float((after.max(axis=2) - alone.max(axis=1)).max()),
        log_odds=float(spread.max()),
        stated=stated,
    )


def compute(job: tuple[Setting, int]) -> list[Gain]:
    """One conference under every guarantee."""
    setting, seed = job
    drawn = draw(np.random.default_rng([setting.papers, round(1000 * setting.noise), seed]), setting)
    found = []
    for guarantee in GUARANTEES.values():
        accept, stated = planned(drawn, setting.bar, guarantee)
        found.append(gain(*coupled(drawn, accept), stated))
    return found


def rows(found: dict[Setting, list[list[Gain]]]) -> Iterator[list[str]]:
    for setting, gains in found.items():
        for name, column in zip(GUARANTEES, zip(*gains, strict=True), strict=True):
            parts = np.array([(one.alone, one.decided, one.added) for one in column])
            alone, decided, _ = 100 * parts.mean(axis=0)
            odds = max(one.log_odds for one in column)
            yield [
                setting.name,
                name,
                f"{alone:.1f} %",
                f"{decided:.1f} %",
                *with_errors(100 * parts[:, 2:], unit=" points"),
                f"{max(one.rise for one in column):.2f}",
                "all the way" if odds > FARTHEST else f"{odds:.2f}",
            ]


def sentences(found: dict[Setting, list[list[Gain]]]) -> dict[str, list[str]]:
    """What the pages say of it in words: the worst over all settings, and the range of the means."""
    every = {
        name: [gains[place] for part in found.values() for gains in part]
        for place, name in enumerate(GUARANTEES)
    }
    usual = every[DEFAULT]
    if max(one.stated for one in usual) > 0.0:
        raise SystemExit("a table that is steady states a rise")
    odds = max(one.log_odds for one in usual)
    rise = max(one.rise for one in usual)
    place = list(GUARANTEES).index(DEFAULT)
    added = [100 * np.mean([gains[place].added for gains in part]) for part in found.values()]
    fold = f"up to {np.exp(odds):.0f}-fold in small matchings"
    return {
        "docs/evidence/adversaries.md": [
            f"log odds between two candidates for one review moved by up to {odds:.2f}",
            f"a best guess became likelier by up to {rise:.2f} where every certificate says 0",
            f"grew by {min(added):.2f} to {max(added):.2f} percentage points",
        ],
        "docs/howto/before_you_say_yes.md": [fold],
        "README.md": [fold, f"{min(added):.1f} to {max(added):.1f} percentage points"],
        "src/blindcal/report/wording.py": [
            _row(GUARANTEES[name], gains) for name, gains in every.items() if name != DEFAULT
        ],
    }


def _row(guarantee: bc.Guarantee, gains: list[Gain]) -> str:
    """How far all decisions moved odds and a best guess at most, as `wording` has it for certificates."""
    odds, epsilon = max(one.log_odds for one in gains), guarantee.epsilon
    fold = "inf" if odds > FARTHEST else f"{np.exp(odds):.0f}"
    limit = "inf" if epsilon is None else f"{epsilon:g}"
    return f'("{guarantee.name}", {limit}): ({fold}, {max(one.rise for one in gains):.2f})'


def main() -> None:
    options = asked("matchings", __doc__, conferences=1000)
    found = {
        setting: parallel_map(
            compute, [(setting, seed) for seed in range(options.conferences)], workers=options.workers
        )
        for setting in SETTINGS
    }
    head = ["conferences", "guarantee", "reviewer named: scores alone", "with all decisions", "added"]
    lines = table([*head, "best guess rose by up to", "log odds moved by up to"], *rows(found))
    keep(options, {"docs/evidence/adversaries.md": {"matchings": lines}}, sentences(found))


if __name__ == "__main__":
    main()
