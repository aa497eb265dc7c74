"""Calibrating inside a conference, with nothing published but decisions: what they reveal, and to whom.

    python studies/no_history.py [--conferences 300] [--workers N]

Four papers, four reviewers, two reviews of each paper and by each reviewer, every such assignment equally
likely. Scores are quality plus a reviewer's offset plus noise; the chair does not know the offsets, and
papers are decided by the posterior mean of their quality given all scores and the true assignment. One
adversary knows nothing of the reviewers, another knows their offsets; both go through all assignments. Writes
docs/numbers/no_history.json and a table of docs/evidence/adversaries.md.
"""

from __future__ import annotations

import argparse
from itertools import permutations, product

import numpy as np

from blindcal.checks import Array, Integers
from blindcal.compute.parallel import available_cores, parallel_map
from stated import keep

PAPERS, REVIEWS = 4, 2
OFFSET, NOISE = 0.7, 0.5


def assignments() -> Integers:
    """`[assignment, review]`: who wrote each review; the reviews of a paper follow each other."""
    pairs = list(permutations(range(PAPERS), REVIEWS))
    found = []
    for chosen in product(pairs, repeat=PAPERS):
        who = [one for pair in chosen for one in pair]
        if all(who.count(person) == REVIEWS for person in range(PAPERS)):
            found.append(who)
    return np.array(found)


EVERY = assignments()
PAPER = np.repeat(np.arange(PAPERS), REVIEWS)
# [assignment, review, review]: covariances of scores for somebody who does not know the offsets.
SAME = EVERY[:, :, None] == EVERY[:, None, :]
SPREAD = (PAPER[:, None] == PAPER) + OFFSET**2 * SAME + NOISE**2 * np.eye(PAPER.size)
INVERSE, LOGDET = np.linalg.inv(SPREAD), np.linalg.slogdet(SPREAD)[1]


def decisions(score: Array) -> Integers:
    """For each assignment which papers are accepted, as one number."""
    quality = np.einsum("pi,aij,j->ap", np.eye(PAPERS)[:, PAPER], INVERSE, score)
    return (quality > 0.0) @ (1 << np.arange(PAPERS))


def ignorant(score: Array) -> Array:
    """What each assignment weighs for somebody who knows nothing of the reviewers."""
    return _normalized(-0.5 * (np.einsum("i,aij,j->a", score, INVERSE, score) + LOGDET))


def informed(score: Array, offset: Array) -> Array:
    """The same for somebody who knows everybody's offset."""
    rest = (score - offset[EVERY]).reshape(len(EVERY), PAPERS, REVIEWS)
    inverse = np.linalg.inv(np.ones((REVIEWS, REVIEWS)) + NOISE**2 * np.eye(REVIEWS))
    return _normalized(-0.5 * np.einsum("apk,kl,apl->a", rest, inverse, rest))


def _normalized(log_weight: Array) -> Array:
    weight = np.exp(log_weight - log_weight.max())
    return np.asarray(weight / weight.sum())


def author(weight: Array, seen: Integers) -> float:
    """The chance of naming a reviewer, mean over reviews, with what was `seen` of each assignment."""
    mass = np.zeros((int(seen.max()) + 1, PAPER.size, PAPERS))
    np.add.at(mass, (seen[:, None], np.arange(PAPER.size), EVERY), weight[:, None])
    return float(mass.max(axis=2).sum(axis=0).mean())


def link(weight: Array, seen: Integers) -> float:
    """The chance of naming, for a review, the other one by the same person."""
    same = SAME & (PAPER[:, None] != PAPER)
    mass = np.zeros((int(seen.max()) + 1, PAPER.size, PAPER.size))
    np.add.at(mass, seen, weight[:, None, None] * same)
    return float(mass.max(axis=2).sum(axis=0).mean())


def compute(seed: int) -> list[float]:
    """For both adversaries and both questions: right from the scores, and with all decisions."""
    rng = np.random.default_rng([55, seed])
    offset, quality = OFFSET * rng.standard_normal(PAPERS), rng.standard_normal(PAPERS)
    who = EVERY[rng.integers(len(EVERY))]
    score = quality[PAPER] + offset[who] + NOISE * rng.standard_normal(PAPER.size)
    told, nothing = decisions(score), np.zeros(len(EVERY), dtype=np.int64)
    return [
        question(weight, seen)
        for weight in (ignorant(score), informed(score, offset))
        for question in (author, link)
        for seen in (nothing, told)
    ]


def table(found: Array) -> list[str]:
    lines = [
        "| adversary | right about | from the scores | with all decisions | added (points) |",
        "|---|---|---|---|---|",
    ]
    rows = product(
        ("knows nothing of the reviewers", "knows their offsets"), ("reviewer", "same person's review")
    )
    for (who, question), (before, after) in zip(
        rows, np.moveaxis(found.reshape(-1, 4, 2), 0, 2), strict=True
    ):
        added = 100 * (after - before)
        lines.append(
            f"| {who} | {question} | {100 * before.mean():.1f} % | {100 * after.mean():.1f} % "
            f"| {round(added.mean(), 2) + 0.0:+.2f} ± {added.std(ddof=1) / np.sqrt(added.size):.2f} |"
        )
    return lines


def sentences(found: Array) -> list[str]:
    """What a chair without history should know: linking reviews without, naming reviewers with offsets."""
    _, link, known, _ = np.moveaxis(found.reshape(-1, 4, 2), 0, 2).mean(axis=2) * 100
    return [
        f"Decisions raise the chance of linking two reviews by the same person from {link[0]:.1f} % to "
        f"{link[1]:.1f} %",
        f"the chance of naming a reviewer rises from {known[0]:.1f} % to {known[1]:.1f} %",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--conferences", type=int, default=300)
    parser.add_argument("--workers", type=int, default=available_cores())
    options = parser.parse_args()
    found = np.array(parallel_map(compute, range(options.conferences), workers=options.workers))
    lines, said = table(found), sentences(found)
    print("\n".join([*lines, *said]))
    command = f"python studies/no_history.py --conferences {options.conferences}"
    keep(
        "no_history",
        command,
        {"docs/evidence/adversaries.md": {"no history": lines}},
        {"docs/evidence/adversaries.md": said},
    )


if __name__ == "__main__":
    main()
