"""Decided on this year's own reviews: real raters, part of whose ratings are held out as the truth.

    python studies/this_year_raters.py --data FOLDER [--repeats 20]

FOLDER holds the public tables of studies/real_raters.py. Every segment of a skating competition, every series
of a dance contest, every stage of a piano competition and every course is a conference. At random some
ratings of each item are its reviews. The truth is the mean of its other ratings, each relative to its rater's
mean if raters rated (almost) everything; right is to accept the best quarter by that truth. Figures are wrong
decisions less than by mean scores, of 100 items; errors are over conferences, or over items if there are few
conferences. *Known* is the mean of scores less the effects of their raters over all ratings: what correcting
for strictness could do at best. Writes docs/numbers/this_year_raters.json and a table of
docs/evidence/this_year.md.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from blindcal.checks import Array, Integers
from blindcal.simulation.metrics import chance_in_best
from real_raters import SETS, Row
from stated import asked, keep, mean_and_error, table
from this_year import RATE, World, cases_of, mean_scores, wrong, wrong_decisions, wrong_on_lists, year

FEW = 20
SHOWN = ("public", "3", "full")


@dataclass(frozen=True)
class Ratings:
    """The ratings of one conference."""

    item: Integers
    rater: Integers
    score: Array
    truth: Array  # of each item by experts; empty if some ratings are held out


@dataclass(frozen=True)
class Jury:
    """Where ratings come from, how many of an item are its reviews, and how conferences are told apart."""

    source: str
    conference: Callable[[Row], str]
    reviews: int
    complete: bool  # whether raters rated (almost) everything in a conference


JURIES = {
    "skating, components": Jury("skating, components", lambda r: f"{r['event']} {r['segment']}", 3, True),
    "skating, execution": Jury("skating, execution", lambda r: f"{r['event']} {r['segment']}", 3, True),
    "dancing": Jury("dancing", lambda r: r["event"], 2, True),
    "piano (Chopin 2025)": Jury("piano (Chopin 2025)", lambda r: r["event"], 3, True),
    "peer grades (MOOC)": Jury("peer grades (MOOC)", lambda r: "", 2, False),
    "peer grades (R course)": Jury("peer grades (R course)", lambda r: "", 3, False),
}


def load(folder: Path, jury: Jury) -> list[Ratings]:
    source = SETS[jury.source]
    with (folder / source.file).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(jury.conference(row), []).append(row)
    return [ratings(own, source.item, source.score, jury.reviews) for _, own in sorted(groups.items())]


def ratings(
    rows: list[Row], item: Callable[[Row], str], score: Callable[[Row], float | None], reviews: int
) -> Ratings:
    """Items with more ratings than reviews, or with experts' grades beside as many."""
    experts = [row for row in rows if row.get("rater_kind") == "tutor"]
    rated = [(item(row), row["rater_id"], score(row)) for row in rows if score(row) is not None]
    number = np.unique([one[0] for one in rated], return_inverse=True)[1]
    kept = np.flatnonzero(np.bincount(number)[number] >= reviews + (not experts))
    name, who, value = (np.array([rated[i][place] for i in kept]) for place in range(3))
    ids, code = np.unique(name, return_inverse=True)
    truth = np.zeros(0)
    if experts:
        each = {one: [float(row["score"]) for row in experts if item(row) == one] for one in ids}
        truth = np.array([np.mean(each[one]) for one in ids])
    return Ratings(code, np.unique(who, return_inverse=True)[1], value.astype(np.float64), truth)


def relative(made: Ratings) -> Array:
    """Ratings less the effect of their rater, where everybody rated (almost) everything."""
    effect = np.zeros(made.rater.max() + 1)
    for _ in range(50):
        level = np.bincount(made.item, made.score - effect[made.rater]) / np.bincount(made.item)
        effect = np.bincount(made.rater, made.score - level[made.item]) / np.bincount(made.rater)
        effect -= effect.mean()
    return made.score - effect[made.rater]


def strictness_share(conferences: list[Ratings]) -> float:
    """The share of disagreement that is strictness, by moments of residuals about the items' means.

    Residuals of one rater on two items with k and k' raters, m of them the same, have the covariance
    `(1 - 1/k - 1/k' + m/(k k'))` times the variance of strictness.
    """
    pairs, number, square, own = 0.0, 0.0, 0.0, 0.0
    for made in conferences:
        rated = np.zeros((made.item.max() + 1, made.rater.max() + 1))
        rated[made.item, made.rater] = 1.0
        slots, mates = rated.sum(axis=1), rated @ rated.T
        rest = made.score - (np.bincount(made.item, made.score) / slots)[made.item]
        sums, squares = (np.bincount(made.rater, part) for part in (rest, rest**2))
        expected = mates * (1.0 - 1.0 / slots - 1.0 / slots[:, None] + mates / slots / slots[:, None])
        pairs += float((sums**2 - squares).sum())
        number += float(expected.sum() - np.trace(expected))
        square, own = square + float(squares.sum()), own + float((slots - 1.0).sum())
    return (pairs / number) / (square / own)


def compute(made: Ratings, jury: Jury, repeats: int, seed: int) -> Array:
    """`[figure, item]`: chances of a wrong decision less than by mean scores, one by one and on lists."""
    plain = relative(made) if jury.complete else made.score
    items = int(made.item.max()) + 1
    found = np.zeros((2 * len(SHOWN) + 1, items))
    for repeat in range(repeats):
        rng = np.random.default_rng([67, seed, repeat])
        order = np.lexsort((rng.random(made.item.size), made.item))
        rank = np.arange(order.size) - np.searchsorted(made.item[order], made.item[order])
        rows, rest = order[rank < jury.reviews], order[rank >= jury.reviews]
        truth = made.truth
        if not truth.size:
            truth = np.bincount(made.item[rest], plain[rest]) / np.bincount(made.item[rest])
        people = np.unique(made.rater[rows]).size
        world = World(papers=items, people=people, reviews=(jury.reviews,))
        own = year(world, truth, made.item[rows], made.rater[rows], made.score[rows], [""] * items)
        places = round(RATE * items)
        raw, right = chance_in_best(mean_scores(own.reviews), places), chance_in_best(truth, places)
        singly = wrong_decisions(own, cases_of(own), right)
        lists = wrong_on_lists(own, cases_of(own, number=places), right, places, rng)
        known = chance_in_best(np.bincount(made.item[rows], plain[rows]), places)
        errors = [lists[n] for n in SHOWN] + [wrong(known, right)] + [singly[n] for n in SHOWN]
        for place, each in enumerate(errors):
            found[place] += (wrong(raw, right) - each) / repeats
    return found


def row(name: str, jury: Jury, conferences: list[Ratings], repeats: int) -> list[str]:
    parts = [compute(made, jury, repeats, seed) for seed, made in enumerate(conferences)]
    each = np.concatenate(parts, axis=1)
    means, error = mean_and_error(each.T)
    if len(parts) >= FEW:
        sums = np.array([part.sum(axis=1) - part.shape[1] * means for part in parts])
        error = np.sqrt((sums**2).sum(axis=0)) / each.shape[1]
    cells = [f"{100 * m:+.2f} ± {100 * e:.2f}" for m, e in zip(means, error, strict=True)]
    if not jury.complete:
        cells[len(SHOWN)] = "-"  # effects of raters with a few ratings are not known
    sizes = f"{len(parts)}, {each.shape[1]:,}, {jury.reviews}"
    return [name, sizes, f"{strictness_share(conferences):.2f}", *cells]


def main() -> None:
    options = asked("this_year_raters", __doc__, data=True, repeats=20)
    ways = [f"{way}: {name}" for way in ("exact", "one by one") for name in ("public", "epsilon 3", "full")]
    head = ["data", "conferences, items, reviews of each", "strictness", *ways]
    head.insert(6, "exact: known")
    rows = [row(name, jury, load(options.data, jury), options.repeats) for name, jury in JURIES.items()]
    keep(options, {"docs/evidence/this_year.md": {"this year raters": table(head, *rows)}})


if __name__ == "__main__":
    main()
