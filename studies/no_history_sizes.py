"""Calibrating inside a conference of any size, with nothing published but decisions: what they reveal.

    python studies/no_history_sizes.py [--conferences 30] [--sweeps 250] [--workers N]

The conferences of studies/no_history.py with more papers: as many reviewers, two reviews of each paper and by
each reviewer. There are too many assignments to go through, so both adversaries walk: two reviews exchange
their authors, accepted by how likely the scores are (Metropolis). Where decisions are known, an assignment
under which the chair would have decided some papers otherwise is given less weight for each of them, so that
walks can pass, and is not counted. Half of the walks start at the truth, the others anywhere. What walks of
one kind hold likeliest is guessed, and those of the other kind say how often that is right, so that no guess
profits from its own sampling; the two ways must agree. Writes docs/numbers/no_history_sizes.json and a table
of docs/evidence/adversaries.md.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from blindcal.checks import Array, Integers
from blindcal.compute.parallel import available_cores, parallel_map
from no_history import NOISE, OFFSET, REVIEWS
from stated import keep

SIZES = (4, 8, 16, 32)
WALKS = 16  # of each kind
WARMUP = 4  # one sweep of so many is not counted
THIN = 8  # and of the others one step of so many
DRIVE = 2.5  # log weight that every decision costs which an assignment does not lead to

# Given offsets the scores of a paper have precision K = (I - 11' / (noise^2 + 2)) / noise^2.
TOTAL = NOISE**2 + REVIEWS
KEEP, CROSS = (1.0 - 1.0 / TOTAL) / NOISE**2, -1.0 / (TOTAL * NOISE**2)
ROWS = (
    "knows nothing: same person's review",
    "knows offsets: reviewer",
    "knows offsets: same person's review",
)


@dataclass(frozen=True, eq=False)
class Seen:
    """What an adversary has: scores, everybody's offset if known, and decisions if known. Review i is of
    paper i // 2, and its partner is i ^ 1."""

    score: Array
    offset: Array | None = None
    accepted: Integers | None = None
    pull: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        partner = self.score[np.arange(self.score.size) ^ 1]
        object.__setattr__(self, "pull", KEEP * self.score + CROSS * partner)


def posterior(score: Array, pull: Array, who: Integers) -> tuple[Array, Array]:
    """For each assignment `who[walk, review]`: the log likelihood of the scores without the offsets, up to a
    constant, and the mean quality of every paper that the chair computes."""
    walks, reviews = who.shape
    people, walk = reviews // REVIEWS, np.arange(walks)[:, None]
    precision = np.zeros((walks, people, people))
    precision[:] = (1.0 / OFFSET**2 + REVIEWS * KEEP) * np.eye(people)
    first, second = who[:, ::REVIEWS], who[:, 1::REVIEWS]
    np.add.at(precision, (walk, first, second), CROSS)
    np.add.at(precision, (walk, second, first), CROSS)
    known = np.zeros((walks, people))
    np.add.at(known, (walk, who), pull)
    offset = np.linalg.solve(precision, known[..., None])[..., 0]
    root = np.linalg.cholesky(precision).diagonal(axis1=1, axis2=2)
    log = 0.5 * (known * offset).sum(axis=1) - np.log(root).sum(axis=1)
    rest = score - np.take_along_axis(offset, who, axis=1)
    return log, rest.reshape(walks, people, REVIEWS).sum(axis=2) / TOTAL


def weighed(seen: Seen, who: Integers) -> tuple[Array, Integers]:
    """What each assignment weighs by the scores (log), and how many decisions it does not lead to."""
    log = np.zeros(len(who))
    if seen.offset is None or seen.accepted is not None:
        log, quality = posterior(seen.score, seen.pull, who)
    if seen.offset is not None:
        rest = seen.score - seen.offset[who]
        partner = rest[:, np.arange(rest.shape[1]) ^ 1]
        log = -0.5 * (KEEP * rest**2 + CROSS * rest * partner).sum(axis=1)
    if seen.accepted is None:
        return log, np.zeros(len(who), dtype=np.int64)
    return log, ((quality > 0.0) != seen.accepted).sum(axis=1)


def exchanged(who: Integers, rng: np.random.Generator) -> Integers:
    """Each assignment with the reviewers of two reviews exchanged; as it was, where somebody would then have
    reviewed a paper twice."""
    walks, reviews = who.shape
    walk = np.arange(walks)
    one, other = rng.integers(reviews, size=(2, walks))
    new = who.copy()
    new[walk, one], new[walk, other] = who[walk, other], who[walk, one]
    twice = (new[walk, one] == new[walk, one ^ 1]) | (new[walk, other] == new[walk, other ^ 1])
    return np.where(twice[:, None], who, new)


def drawn_assignment(people: int, rng: np.random.Generator) -> Integers:
    """Two reviews of each paper and by each person, every such assignment equally likely."""
    while True:
        who = rng.permutation(np.repeat(np.arange(people), REVIEWS))
        if (who[::REVIEWS] != who[1::REVIEWS]).all():
            return who


def walked(seen: Seen, truth: Integers, sweeps: int, rng: np.random.Generator) -> tuple[Array, Array, float]:
    """For walks of both kinds `[kind, review, person]` and `[kind, review, review]`: how often this person
    wrote it, and the same person both; and the share of assignments that lead to all decisions."""
    reviews = truth.size
    people = reviews // REVIEWS
    who = np.array([truth] * WALKS + [drawn_assignment(people, rng) for _ in range(WALKS)])
    log, wrong = weighed(seen, who)
    authors, same = np.zeros((2, reviews, people)), np.zeros((2, reviews, reviews))
    kind, counted, passed = np.repeat([0, 1], WALKS), 0, 0
    for step in range(sweeps * reviews):
        new = exchanged(who, rng)
        new_log, new_wrong = weighed(seen, new)
        go = np.log(rng.random(len(who))) < new_log - log - DRIVE * (new_wrong - wrong)
        who[go], log[go], wrong[go] = new[go], new_log[go], new_wrong[go]
        if step >= sweeps * reviews // WARMUP and step % THIN == 0:
            passed, counted = passed + len(who), counted + int((wrong == 0).sum())
            for number in range(2):
                there = who[(kind == number) & (wrong == 0)]
                np.add.at(authors[number], (np.arange(reviews), there), 1.0)
                same[number] += (there[:, :, None] == there[:, None, :]).sum(axis=0)
    same[:, np.arange(reviews), np.arange(reviews)] = 0.0
    return authors, same, counted / passed


def right(mass: Array) -> Array:
    """How often the guess of walks of each kind is right by those of the other, mean over reviews."""
    chance = mass / np.maximum(mass.sum(axis=2, keepdims=True), 1.0)
    guess = chance.argmax(axis=2)
    return np.array(
        [np.take_along_axis(chance[1 - one], guess[one][:, None], axis=1).mean() for one in range(2)]
    )


def compute(job: tuple[int, int], sweeps: int) -> tuple[Array, float]:
    """`[row, (scores, with decisions), kind]` of one conference, and the smallest share of assignments that
    counted."""
    people, seed = job
    rng = np.random.default_rng([56, people, seed])
    offset, quality = OFFSET * rng.standard_normal(people), rng.standard_normal(people)
    truth = drawn_assignment(people, rng)
    score = np.repeat(quality, REVIEWS) + offset[truth] + NOISE * rng.standard_normal(truth.size)
    accepted = posterior(score, Seen(score).pull, truth[None])[1][0] > 0.0
    found, least = np.empty((len(ROWS), 2, 2)), 1.0
    for known, rows in ((None, (0,)), (offset, (1, 2))):
        for place, decided in enumerate((None, accepted)):
            authors, same, share = walked(Seen(score, known, decided), truth, sweeps, rng)
            least = min(least, share)
            for row in rows:
                found[row, place] = right(authors if row == 1 else same)
    return found, least


def table(found: dict[int, Array]) -> list[str]:
    lines = ["| papers | adversary, right about | from the scores | with all decisions | added (points) |"]
    lines.append("|---|---|---|---|---|")
    for people, values in found.items():
        for name, (before, after) in zip(ROWS, np.moveaxis(values.mean(axis=3), 0, 2), strict=True):
            added = 100 * (after - before)
            error = added.std(ddof=1) / np.sqrt(added.size)
            shares = f"{100 * before.mean():.1f} % | {100 * after.mean():.1f} %"
            lines.append(f"| {people} | {name} | {shares} | {added.mean():+.2f} ± {error:.2f} |")
    return lines


def sentences(found: dict[int, Array], least: float) -> list[str]:
    """Whether chains from different starts agree, and how many of the assignments they passed counted."""
    gaps = np.concatenate(
        [100 * (values[..., 0] - values[..., 1]).reshape(-1, 6) for values in found.values()]
    )
    gap, error = gaps.mean(axis=0), gaps.std(axis=0, ddof=1) / np.sqrt(len(gaps))
    return [
        f"chains from the truth and from random starts differ by at most {np.abs(gap).max():.2f} points "
        f"({np.abs(gap / error).max():.1f} standard errors)",
        f"At least {100 * least:.0f} % of the sampled assignments lead to all decisions",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--conferences", type=int, default=30)
    parser.add_argument("--sweeps", type=int, default=250)
    parser.add_argument("--workers", type=int, default=available_cores())
    given = parser.parse_args()
    jobs = [(people, seed) for people in SIZES[::-1] for seed in range(given.conferences)]
    done = dict(
        zip(
            jobs,
            parallel_map(partial(compute, sweeps=given.sweeps), jobs, workers=given.workers),
            strict=True,
        )
    )
    found = {
        people: np.array([done[people, seed][0] for seed in range(given.conferences)]) for people in SIZES
    }
    lines, said = table(found), sentences(found, min(least for _, least in done.values()))
    print("\n".join([*lines, *said]))
    command = f"python studies/no_history_sizes.py --conferences {given.conferences} --sweeps {given.sweeps}"
    keep(
        "no_history_sizes",
        command,
        {"docs/evidence/adversaries.md": {"no history by size": lines}},
        {"docs/evidence/adversaries.md": said},
    )


if __name__ == "__main__":
    main()
