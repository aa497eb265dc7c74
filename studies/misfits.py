"""Wrong models: what a certificate claims where reviewers are not as stated, and what is true.

    python studies/misfits.py [--papers 200] [--workers N]

Papers have pools of 10 and 3 reviews; reviewers are the prototype's. Scores arise in another world than the
one that tables are planned for (`SCORE_MODELS`), and in one more the stated slopes and
offsets are off by errors of .2 and .3, which are stated. The adversary knows the true world. Writes
docs/numbers/misfits.json and a table of docs/evidence/adversaries.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import gammaln, log_ndtr, logsumexp, ndtri

from blindcal.adversaries.findings import finding_about, paper_findings
from blindcal.adversaries.single_paper import View, rises
from blindcal.checks import Array
from blindcal.compute.parallel import parallel_map
from blindcal.errors import InputError
from blindcal.posterior.paper import PaperCase
from blindcal.simulation.conference import uniform_case
from blindcal.simulation.population import prototype_population
from stated import asked, guarantees, keep, planned_view, table

# The grid of qualities for sums: N(0, 1) has less than 1e-14 beyond its ends.
_LARGEST_QUALITY, _NODES = 8.0, 1601
QUALITIES = np.linspace(-_LARGEST_QUALITY, _LARGEST_QUALITY, _NODES)

Likelihood = Callable[[Array, Array, Array], Array]
"""`(score[slot], parameters[candidate, field], quality[node]) -> log density [slot, candidate, node]`."""


@dataclass(frozen=True)
class ScoreModel:
    """A true model of scores: log density of a score given reviewer and quality, and of quality."""

    name: str
    log_score: Likelihood
    log_quality: Callable[[Array], Array]

    def weight(self, case: PaperCase, parameters: Array | None = None) -> Array:
        """The posterior of each tuple of a paper in this world, by sums over quality.

        `parameters` are the true ones, if they differ from those stated.
        """
        if not case.listed:
            raise InputError(f"the tuples of paper {case.paper!r} must be few enough to be listed")
        known = np.array(case.parameters) if parameters is None else parameters
        log_score = self.log_score(np.array(case.scores), known, QUALITIES)
        total = case.log_prior(case.tuples)[:, None] + self.log_quality(QUALITIES)
        for slot, who in enumerate(case.tuples.T):
            total = total + log_score[slot, who]
        log_weight = logsumexp(total, axis=1)
        return np.asarray(np.exp(log_weight - logsumexp(log_weight)))


@dataclass(frozen=True)
class Misfit:
    """Claimed and true success in naming a reviewer, mean over reviews, and the largest rises."""

    world: str
    claimed_alone: float
    claimed: float
    alone: float
    success: float
    claimed_rise: float
    rise: float

    @property
    def claimed_added(self) -> float:
        return self.claimed - self.claimed_alone

    @property
    def added(self) -> float:
        return self.success - self.alone


def misfit(world: str, views: Sequence[View], weights: Sequence[Array], policy: str = "chosen") -> Misfit:
    """Compares views as planned with the true weights of their tuples."""
    true = [view.believing(weight) for view, weight in zip(views, weights, strict=True)]
    claimed_alone, claimed, claimed_rise = _naming_success(views, policy)
    alone, success, rise = _naming_success(true, policy)
    return Misfit(world, claimed_alone, claimed, alone, success, claimed_rise, rise)


def _naming_success(views: Sequence[View], policy: str) -> tuple[float, float, float]:
    """Success in naming a reviewer from the scores and with decisions, and the largest rise."""
    finding = finding_about(paper_findings("", views, policy), policy)
    return (
        finding.baseline,
        finding.success,
        max(float(rises(view, view.mass(policy)).max()) for view in views),
    )


def worst_misfit(found: Sequence[Misfit]) -> Misfit:
    """The world in which decisions add most beyond the claim."""
    return max(found, key=lambda misfit: misfit.added - misfit.claimed_added)


def affine(score: Array, parameters: Array, quality: Array) -> Array:
    """The stated model: N(slope q + offset, noise^2)."""
    slope, offset, noise = (column[None, :, None] for column in parameters.T[:3])
    gap = (score[:, None, None] - slope * quality - offset) / noise
    return np.asarray(-0.5 * gap**2 - np.log(noise))


def student_t(score: Array, parameters: Array, quality: Array, freedom: float = 4.0) -> Array:
    """Student's t around the same line, with the same standard deviation."""
    slope, offset, noise = (column[None, :, None] for column in parameters.T[:3])
    scale = noise * np.sqrt((freedom - 2.0) / freedom)
    gap = (score[:, None, None] - slope * quality - offset) / scale
    constant = gammaln((freedom + 1.0) / 2.0) - gammaln(freedom / 2.0) - 0.5 * np.log(freedom * np.pi)
    return np.asarray(constant - np.log(scale) - 0.5 * (freedom + 1.0) * np.log1p(gap**2 / freedom))


def saturating(score: Array, parameters: Array, quality: Array) -> Array:
    """Reviewers who saturate at both ends: the full slope at quality 0, and half of it at about 1.8."""
    return affine(score, parameters, bent(quality))


def bent(quality: Array) -> Array:
    """Quality as saturating reviewers see it, `2 tanh(q / 2)`."""
    return np.asarray(2.0 * np.tanh(quality / 2.0))


def rounded_to(step: float) -> Likelihood:
    """Scores rounded to a grid of this step, although the stated model takes them as exact."""

    def log_score(score: Array, parameters: Array, quality: Array) -> Array:
        slope, offset, noise = (column[None, :, None] for column in parameters.T[:3])
        middle = slope * quality + offset
        low, high = ((score[:, None, None] + side * step / 2 - middle) / noise for side in (-1, 1))
        # The difference of two normal probabilities, in the tail in which both are small.
        upper, lower = np.where(low > 0.0, -low, high), np.where(low > 0.0, -high, low)
        with np.errstate(divide="ignore"):
            return np.asarray(log_ndtr(upper) + np.log(-np.expm1(log_ndtr(lower) - log_ndtr(upper))))

    return log_score


def normal(quality: Array) -> Array:
    """The stated N(0, 1)."""
    return np.asarray(-0.5 * quality**2)


def bimodal(quality: Array, apart: float = 0.9) -> Array:
    """Half of the papers good and half of them bad, with mean 0 and variance 1."""
    spread = np.sqrt(1.0 - apart**2)
    humps = [-0.5 * ((quality - side * apart) / spread) ** 2 for side in (-1.0, 1.0)]
    return np.asarray(np.logaddexp(humps[0], humps[1]))


SCORE_MODELS = (
    ScoreModel("as stated", affine, normal),
    ScoreModel("heavy tails (t with 4 degrees of freedom)", student_t, normal),
    ScoreModel("curved reviewers", saturating, normal),
    ScoreModel("rounded scores, rounding ignored", rounded_to(1.0), normal),
    ScoreModel("two kinds of papers", affine, bimodal),
)
"""Worlds with the stated parameters; `World.weight` also takes true parameters that differ from these."""


BAR, POOL, REVIEWS = float(ndtri(0.75)), 10, 3
SLOPE_ERROR, OFFSET_ERROR = 0.2, 0.3
UNSURE = replace(SCORE_MODELS[0], name="parameters off by their stated errors")
GUARANTEES = guarantees("steady, epsilon 2; average; full calibration")


def paper(rng: np.random.Generator, world: ScoreModel) -> tuple[PaperCase, Array]:
    """A paper as it is stated, and the true parameters of its pool."""
    slope, offset, noise = prototype_population().parameters(rng, (POOL,))
    true = np.column_stack([slope, offset, noise, np.zeros((POOL, 4))])
    quality = rng.standard_normal()
    if world.name == "two kinds of papers":
        quality = rng.choice([-0.9, 0.9]) + np.sqrt(1 - 0.9**2) * quality
    seen = float(bent(np.array(quality))) if world.name == "curved reviewers" else quality
    error = rng.standard_normal(REVIEWS)
    if world.name.startswith("heavy tails"):
        error = rng.standard_t(4, REVIEWS) * np.sqrt(0.5)
    score = slope[:REVIEWS] * seen + offset[:REVIEWS] + noise[:REVIEWS] * error
    if world.name.startswith("rounded"):
        score = np.round(score)
    stated = true.copy()
    if world is UNSURE:
        stated[:, 0] = np.abs(slope + SLOPE_ERROR * rng.standard_normal(POOL))
        stated[:, 1] = offset + OFFSET_ERROR * rng.standard_normal(POOL)
        stated[:, 3], stated[:, 4] = SLOPE_ERROR, OFFSET_ERROR
    order = rng.permutation(POOL)
    names = [f"r{j}" for j in range(POOL)]
    return uniform_case("p", score, names, stated[order], BAR), true[order]


def compute(world: ScoreModel, papers: int, workers: int) -> dict[str, Misfit]:
    rng = np.random.default_rng([31, len(world.name)])
    cases, true = zip(*(paper(rng, world) for _ in range(papers)), strict=True)
    weights = list(map(world.weight, cases, true))
    return {
        name: misfit(
            world.name,
            parallel_map(partial(planned_view, guarantee=guarantee), cases, workers=workers),
            weights,
        )
        for name, guarantee in GUARANTEES.items()
    }


def rows(found: list[dict[str, Misfit]]) -> Iterator[list[str]]:
    for by_guarantee in found:
        for name, one in by_guarantee.items():
            yield [
                one.world,
                name,
                f"{100 * one.claimed:.1f} %",
                f"{100 * one.alone:.1f} %",
                f"{100 * one.success:.1f} % ({100 * one.added:+.2f})",
                f"{one.rise:.2f} ({max(one.claimed_rise, 0.0):.2f})",
            ]


def sentences(found: list[dict[str, Misfit]]) -> list[str]:
    default = worst_misfit([one["steady, epsilon 2"] for one in found])
    rise = max(one["steady, epsilon 2"].rise for one in found)
    return [
        f"At worst ({default.world}) decisions under *steady*, epsilon 2 added {100 * default.added:.2f} "
        "percentage points where 0 was claimed",
        f"a single decision made a best guess likelier by up to {rise:.2f}",
    ]


def main() -> None:
    options = asked("misfits", __doc__, papers=200)
    found = [compute(world, options.papers, options.workers) for world in (*SCORE_MODELS, UNSURE)]
    head = ["world", "guarantee", "reviewer named, claimed", "true: scores alone", "true: with decisions"]
    lines = table([*head, "best guess rose by up to (claimed)"], *rows(found))
    page = "docs/evidence/adversaries.md"
    keep(options, {page: {"misfits": lines}}, {page: sentences(found)})


if __name__ == "__main__":
    main()
