"""From history to decision: wrong decisions with calibration known, fitted, or fitted and taken for certain.

    python studies/from_history.py [--people 120] [--papers 100] [--rounds 2] [--workers N]

Three past conferences in which everybody wrote h reviews (h = 0, 3, 10, 30), three a paper, beside 100 others
with six each, of whom nobody is on this year's committee: they say what reviewers are like. `fit` makes a
calibration. This year each paper has a pool of 8 and three reviews. Every figure is an exact expectation for
the sampled papers: what the certificate claims by the stated calibration, and what is true by every
reviewer's *true* slope, offset and noise. Writes docs/numbers/from_history.json,
docs/figures/from_history.svg and a table of docs/evidence/history_and_sharing.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import ndtri

import blindcal as bc
from blindcal.checks import Array
from blindcal.compute.parallel import parallel_map
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.policy import Policy
from blindcal.policy.solver import solve
from blindcal.posterior.paper import PaperCase
from blindcal.simulation.conference import uniform_case
from blindcal.simulation.population import Population, nips_2014_population, prototype_population
from past_reviews import dealt
from stated import asked, guarantees, keep, save_figure, table

BAR = float(ndtri(0.75))
PER_PAPER, POOL, OTHERS, OTHERS_REVIEWS = 3, 8, 100, 6
LENGTHS = (0, 3, 10, 30)
REGIMES = {"prototype": prototype_population(), "NIPS 2014": nips_2014_population()}
GUARANTEES = guarantees("public; steady and epsilon 2; average; full calibration")
VARIANTS = ("known", "fitted", "uncertainty ignored")


@dataclass(frozen=True, eq=False)
class People:
    """True slopes, offsets and noise; `rows` of all three, as in reviewers.csv."""

    slope: Array
    offset: Array
    noise: Array

    @property
    def names(self) -> list[str]:
        return [f"r{j}" for j in range(self.slope.size)]

    @property
    def rows(self) -> Array:
        return np.column_stack([self.slope, self.offset, self.noise, np.zeros((self.slope.size, 4))])


def drawn_people(rng: np.random.Generator, population: Population, people: int) -> People:
    return People(*population.parameters(rng, (people,)))


def past_reviews(
    rng: np.random.Generator, people: People, each_wrote: Array, conferences: int = 3
) -> dict[str, list[object]]:
    """A table of past reviews, three a paper: everybody wrote so many, over the conferences in turn."""
    who = np.repeat(np.arange(people.slope.size), each_wrote)
    turn = (np.arange(who.size) - np.repeat(np.cumsum(each_wrote) - each_wrote, each_wrote)) % conferences
    table: dict[str, list[object]] = {name: [] for name in ("conference", "paper", "reviewer", "score")}
    for c in range(conferences):
        paper, person = dealt(rng, who[turn == c])
        quality = rng.standard_normal(paper.max() + 1)[paper]
        noise = people.noise[person] * rng.standard_normal(person.size)
        score = people.slope[person] * quality + people.offset[person] + noise
        table["conference"] += [f"c{c}"] * person.size
        table["paper"] += [f"p{i}" for i in paper]
        table["reviewer"] += [people.names[j] for j in person]
        table["score"] += score.tolist()
    return table


def roster_rows(fitted: bc.Fitted, names: list[str]) -> Array:
    return np.array([fitted.roster[name] for name in names])


def fitted_rows(rng: np.random.Generator, people: People, reviews: int, others: People) -> Array:
    """The committee's rows by `fit`, from so many past reviews each."""
    everyone = People(*np.concatenate([people.rows, others.rows])[:, :3].T)
    wrote = np.repeat([reviews, OTHERS_REVIEWS], [people.slope.size, others.slope.size])
    table = bc.Reviews.from_table(past_reviews(rng, everyone, wrote))
    return roster_rows(bc.fit(table, committee=people.names), people.names)


# --- this year


@dataclass(frozen=True, eq=False)
class Year:
    """This year's papers: pools, and scores by slot."""

    pool: Array
    score: Array


def drawn_year(rng: np.random.Generator, people: People, papers: int) -> Year:
    pool = np.array([np.sort(rng.choice(people.slope.size, POOL, replace=False)) for _ in range(papers)])
    who = rng.permuted(pool, axis=1)[:, :PER_PAPER]
    quality = rng.standard_normal((papers, 1))
    noise = people.noise[who] * rng.standard_normal(who.shape)
    return Year(pool, np.sort(people.slope[who] * quality + people.offset[who] + noise, axis=1))


def cases(year: Year, rows: Array) -> list[PaperCase]:
    names = [f"r{place}" for place in range(POOL)]
    return [
        uniform_case(f"p{i}", scores, names, rows[pool], BAR)
        for i, (scores, pool) in enumerate(zip(year.score, year.pool, strict=True))
    ]


def judged(pair: tuple[PaperCase, PaperCase], guarantees: tuple[Guarantee, ...]) -> list[list[float]]:
    """For each guarantee of one paper, and last for the raw decision: the chance of a wrong decision as
    claimed under the stated calibration, and under the true one."""
    stated, true = pair
    found = []
    for guarantee in guarantees:
        policy = Policy(solve(stated, guarantee).accept)
        found.append([float(policy.conference_error(belief)) for belief in (stated.belief, true.belief)])
    right = float(true.belief.weight @ true.belief.favor)
    raw = 1 - right if np.mean(true.scores) > BAR else right
    return [*found, [raw, raw]]


def compute(
    population: Population, lengths: tuple[int, ...], people: int, papers: int, rounds: int, workers: int
) -> dict[tuple[int, str], Array]:
    """`[paper, guarantee (raw last), (claimed, true)]`: wrong decisions, by length and variant."""
    found: dict[tuple[int, str], list[Array]] = {}
    run = partial(judged, guarantees=tuple(GUARANTEES.values()))
    for number in range(rounds):
        rng = np.random.default_rng([2025, number])
        crowd, others = drawn_people(rng, population, people), drawn_people(rng, population, OTHERS)
        year = drawn_year(rng, crowd, papers)
        true = cases(year, crowd.rows)
        known = np.array(parallel_map(run, list(zip(true, true, strict=True)), workers=workers))
        for length in lengths:
            rows = fitted_rows(np.random.default_rng([number, length]), crowd, length, others)
            certain = rows * np.array([1, 1, 1, 0, 0, 0, 0])
            found.setdefault((length, "known"), []).append(known)
            for name, stated in (("fitted", rows), ("uncertainty ignored", certain)):
                pairs = list(zip(cases(year, stated), true, strict=True))
                found.setdefault((length, name), []).append(
                    np.array(parallel_map(run, pairs, workers=workers))
                )
    return {key: np.concatenate(parts) for key, parts in found.items()}


def history_table(found: Mapping[str, Mapping[tuple[int, str], Array]]) -> list[str]:
    """Wrong decisions; the certificate's claim where it is another."""
    rows = []
    for regime, runs in found.items():
        raw = next(iter(runs.values()))[:, -1, 1].mean()
        rows.append([regime, "", "raw", *([f"{100 * raw:.1f} %"] * len(GUARANTEES))])
        for (length, variant), values in runs.items():
            claimed, wrong = 100 * values.mean(axis=0)[:-1].T
            if variant == "known":
                if length == LENGTHS[0]:
                    rows.append([regime, "", variant, *(f"{one:.1f} %" for one in wrong)])
                continue
            cells = [f"{one:.1f} % ({claim:.1f})" for one, claim in zip(wrong, claimed, strict=True)]
            rows.append([regime, f"{length}", variant, *cells])
    return table(["", "past reviews", "calibration", *GUARANTEES], *rows)


def picture(found: Mapping[str, Mapping[tuple[int, str], Array]]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "blindcal"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, len(GUARANTEES), figsize=(12, 6), sharex=True, sharey="row")
    for row, (regime, runs) in zip(axes, found.items(), strict=True):
        for g, (axis, name) in enumerate(zip(row, GUARANTEES, strict=True)):
            for variant, style in zip(VARIANTS, ("k--", "o-", "s:"), strict=True):
                wrong = [100 * runs[length, variant][:, g, 1].mean() for length in LENGTHS]
                axis.plot(range(len(LENGTHS)), wrong, style, label=variant)
            axis.axhline(100 * next(iter(runs.values()))[:, -1, 1].mean(), color="0.6", lw=1, label="raw")
            axis.set_title(f"{regime}: {name}", fontsize=9)
            axis.set_xticks(range(len(LENGTHS)), [str(length) for length in LENGTHS])
    for axis in axes[-1]:
        axis.set_xlabel("past reviews of each reviewer")
    for row in axes:
        row[0].set_ylabel("wrong decisions (%)")
    axes[0, -1].legend(fontsize=8)
    save_figure(figure, "from_history.svg")


def main() -> None:
    options = asked("from_history", __doc__, people=120, papers=100, rounds=2)
    found = {
        name: compute(one, LENGTHS, options.people, options.papers, options.rounds, options.workers)
        for name, one in REGIMES.items()
    }
    picture(found)
    keep(options, {"docs/evidence/history_and_sharing.md": {"from history": history_table(found)}})


if __name__ == "__main__":
    main()
