"""What decisions by this year's evidence tell about who wrote what, by listing all assignments.

The evidence of every paper depends on which reviews have a writer in common, so the secret is the assignment
of the whole conference. An observer sees all scores and all private decisions, and believes every assignment
equally likely in which nobody writes two reviews of a paper and everybody wrote as many reviews as they did.
There are two of them: one knows everyone's strictness, the other only how it is spread. They are asked for
the writer of a review, and for another review by the same person.

Scores are `quality + strictness + noise`, all normal. So every assignment has a likelihood, and its evidence
gives each decision a chance. If there are too many assignments to list, `this_year_mcmc` draws some.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from blindcal.adversaries.single_paper import AUTHOR, LINK
from blindcal.checks import Array, Integers
from blindcal.deciding.amend import first_decision, recorded_case
from blindcal.deciding.ledger import Ledger
from blindcal.deciding.record import Record
from blindcal.errors import InputError
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.solver import private_policy
from blindcal.posterior.this_year_evidence import LevelCase
from blindcal.reviews import Reviews

STRICTNESS = "knows everyone's strictness"
NOTHING = "knows nobody's strictness"
Bools = NDArray[np.bool_]
Tables = Mapping[str, tuple[float, float]]
"""For each paper the accept chances if its evidence is to reject, and if it is to accept."""

# Conferences with at most so many assignments, papers by lot and cells of an array are enumerated.
_MOST_ASSIGNMENTS, MOST_LOTS, _MOST_CELLS = 1 << 17, 12, 1 << 26
_AT_ONCE = 256
# Without noise no two assignments could be compared.
LEAST_NOISE = 1e-6
_TINY = 1e-300


def tables_of(cases: Sequence[LevelCase], guarantee: Guarantee) -> Tables:
    """The best table of each paper under a guarantee."""
    each = ((case.paper, private_policy(case.belief, guarantee).accept.tolist()) for case in cases)
    return {paper: (low, high) for paper, (low, high) in each}


@dataclass(frozen=True, eq=False, repr=False)
class Observed:
    """A conference in arrays, its reviews sorted by paper and score. Confidential: it has the true writers.

    Scores, strictness and bars are in standard deviations of quality, relative to the center of the paper's
    area. `residual` and `known` are the `a u` and `a c` of a review in `posterior.this_year_evidence`.
    """

    papers: tuple[str, ...]
    people: tuple[str, ...]
    paper: Integers
    score: Array
    given: Array  # the scores as they were given
    truth: Integers
    residual: Array
    known: Array
    bar: Array
    accept: Array  # [paper, level]
    load: Integers
    disagreement: float
    strictness: float
    corrected: float  # the strictness that the evidence corrects for
    decided: Bools | None  # [paper]
    told: Bools | None = None  # [review], if the observer knows some writers
    outside: Array | None = None  # [sum, person], of reviews of other papers

    @property
    def asked(self) -> Integers:
        """The reviews whose writers the observer does not know."""
        return np.arange(self.paper.size) if self.told is None else np.flatnonzero(~self.told)

    @cached_property
    def lots(self) -> Integers:
        """The papers whose decision depends on their evidence."""
        return np.flatnonzero(self.accept[:, 0] != self.accept[:, 1])

    @cached_property
    def lot_rows(self) -> tuple[Integers, Integers]:
        """The reviews of these papers, and where those of each begin among them."""
        rows = np.flatnonzero(np.isin(self.paper, self.lots))
        return rows, np.searchsorted(self.paper[rows], self.lots)

    @property
    def noise(self) -> float:
        """The variance of a score about quality and strictness."""
        return max(self.disagreement - self.strictness, LEAST_NOISE)

    @property
    def first(self) -> Integers:
        """The first review of each paper."""
        return np.searchsorted(self.paper, np.arange(len(self.papers)))

    @property
    def apart(self) -> Bools:
        """Which pairs of reviews are of different papers."""
        return np.asarray(self.paper[:, None] != self.paper)

    def chance(self, level: Bools, accepted: Bools) -> Array:
        """`[..., lot]`: the chance of decisions, given the evidence of the papers by lot."""
        low, high = self.accept[self.lots].T
        accept = np.where(level, high, low)
        return np.asarray(np.where(accepted, accept, 1.0 - accept))

    def person_sums(self, writer: Integers, *of: Array) -> list[Array]:
        """`[assignment, person]` of each: its sums over everybody's reviews."""
        size = len(self.people)
        cell = (writer + size * np.arange(len(writer))[:, None]).ravel()
        parts = (np.broadcast_to(part, writer.shape).astype(np.float64).ravel() for part in of)
        shape = len(writer), size
        return [np.asarray(np.bincount(cell, part, size * len(writer)).reshape(shape)) for part in parts]

    def known_sums(self, writer: Integers) -> list[Array]:
        """`[assignment, person]`: the sums of `residual` and `known` over everybody's reviews."""
        sums = self.person_sums(writer, self.residual, self.known)
        return sums if self.outside is None else [a + b for a, b in zip(sums, self.outside, strict=True)]

    def levels(self, writer: Integers) -> Bools:
        """`[assignment, lot]`: whether the corrected quality lies above the bar."""
        rows, starts = self.lot_rows
        sums = (np.take_along_axis(part, writer[:, rows], 1) for part in self.known_sums(writer))
        corrected, precision = self.corrected_scores(rows, *sums)
        total = 1.0 + np.add.reduceat(precision, starts, axis=1)
        return np.asarray(np.add.reduceat(corrected, starts, axis=1) > self.bar[self.lots] * total)

    def corrected_scores(self, review: Integers, g: Array, h: Array) -> tuple[Array, Array]:
        """Corrected scores, times their precision, and the precision; `g` and `h` are sums of the writers."""
        remaining = self.corrected / (1.0 + self.corrected * (h - self.known[review]))
        precision = 1.0 / (self.disagreement - self.corrected + remaining)
        return precision * (self.score[review] - remaining * (g - self.residual[review])), precision


def observe(
    reviews: Reviews,
    cases: Sequence[LevelCase],
    tables: Tables,
    decisions: Mapping[str, bool] | None = None,
) -> Observed:
    """What observers know and what they are asked for. CONFIDENTIAL.

    Args:
        reviews: This year's, high scores better.
        cases: The papers, with their bars.
        tables: The accept chances of each paper.
        decisions: The private decisions; None before the draw.
    """
    model, case_of = cases[0].model, {case.paper: case for case in cases}
    center = np.array([model.moments.area(case_of[name].area) for name in reviews.papers])
    order = np.lexsort((reviews.score, reviews.paper))
    paper, given = reviews.paper[order], reviews.score[order]
    score = (given - model.moments.center) / model.moments.spread - center[paper]
    slots = np.bincount(paper)
    mean = np.bincount(paper, score) / (slots + model.moments.disagreement)
    gain = np.array([model.gain(int(k)) for k in slots])[paper]
    corrected = model.strictness if model.corrects else 0.0
    weight = 1.0 / np.maximum(model.moments.disagreement - gain * corrected, _TINY)
    decided = None if decisions is None else np.array([decisions[name] for name in reviews.papers])
    return Observed(
        papers=reviews.papers,
        people=reviews.reviewers,
        paper=paper,
        score=score,
        given=given,
        truth=reviews.reviewer[order],
        residual=weight * (score - mean[paper]),
        known=weight * gain,
        bar=np.array([case_of[name].bar for name in reviews.papers]) - center,
        accept=np.array([tables[name] for name in reviews.papers], dtype=np.float64),
        load=np.bincount(reviews.reviewer),
        disagreement=model.moments.disagreement,
        strictness=model.strictness,
        corrected=corrected,
        decided=decided,
    )


def observe_release(past: Ledger, record: Record) -> Observed:
    """What observers of a release know, with the true reviewers from its private log. CONFIDENTIAL.

    Observers know how many reviews everybody wrote. A paper whose decision stands from an earlier release is
    seen with its table of that release. Evidence that another method made is refused: nobody can say how it
    depends on the reviewers.
    """
    if record.level_model is None or record.given is not None:
        raise InputError("these observers are of decisions that were calibrated on this year's own reviews")
    cases, tables, decisions = list[LevelCase](), dict[str, tuple[float, float]](), dict[str, bool]()
    columns: dict[str, list[object]] = {"paper": [], "reviewer": [], "score": []}
    for paper in record.papers:
        case = recorded_case(paper, record)
        if not isinstance(case, LevelCase):
            raise InputError(f"paper {paper.paper!r} was not decided by this year's evidence")
        _, policy, first = first_decision(past, paper)
        accept = np.broadcast_to(policy.accept, 2).tolist()
        cases.append(case)
        tables[paper.paper], decisions[paper.paper] = (accept[0], accept[1]), first.accepted
        columns["paper"] += [paper.paper] * len(case.scores)
        columns["reviewer"] += paper.reviewers
        columns["score"] += case.scores
    return observe(Reviews.from_table(columns), cases, tables, decisions)


def told_all_but(seen: Observed, papers: Integers) -> Observed:
    """What matters to an observer who is told who wrote every review except those of some papers.

    These are the papers that somebody reviewed who reviewed one of them. Of other papers nothing is used, but
    that the reviews there by the same people enter the evidence.
    """
    unknown = np.isin(seen.paper, papers)
    near = np.unique(seen.paper[np.isin(seen.truth, seen.truth[unknown])])
    inside = np.isin(seen.paper, near)
    who, truth = np.unique(seen.truth[inside], return_inverse=True)
    parts = (np.where(inside, 0.0, part) for part in (seen.residual, seen.known))
    beyond = seen.person_sums(seen.truth[None], *parts)
    by_paper = {name: getattr(seen, name)[near] for name in ("bar", "accept")}
    by_review = {name: getattr(seen, name)[inside] for name in ("score", "given", "residual", "known")}
    return replace(
        seen,
        papers=tuple(seen.papers[one] for one in near),
        people=tuple(seen.people[one] for one in who),
        paper=np.searchsorted(near, seen.paper[inside]),
        truth=truth,
        load=np.bincount(truth[unknown[inside]], minlength=who.size),
        decided=None if seen.decided is None else seen.decided[near],
        told=~unknown[inside],
        outside=np.concatenate(beyond)[:, who],
        **by_paper,
        **by_review,
    )


# --- All assignments.


def all_assignments(seen: Observed) -> Integers | None:
    """`[assignment, review]`: the writers; None if there are too many to list."""
    found = np.zeros((1, 0), dtype=np.int64)
    used = np.zeros((1, seen.load.size), dtype=np.int64)
    slots = np.bincount(seen.paper)
    for number, size in enumerate(slots.tolist()):
        if float(seen.load.size) ** size > _MOST_ASSIGNMENTS:
            return None
        tuples = np.array(list(permutations(range(seen.load.size), size)), dtype=np.int64).reshape(-1, size)
        if len(found) * len(tuples) * seen.load.size > _MOST_CELLS:
            return None
        total = used[:, None, :] + (tuples[:, :, None] == np.arange(seen.load.size)).sum(axis=1)
        # Nobody writes more reviews than they did, nor two of one of the papers that are left.
        left = seen.load - total
        before, after = np.nonzero(((left >= 0) & (left < slots.size - number)).all(axis=2))
        if len(before) > _MOST_ASSIGNMENTS:
            return None
        found, used = np.hstack([found[before], tuples[after]]), total[before, after]
    return found


def likelihoods(seen: Observed, writer: Integers, offset: Array | None) -> Array:
    """P(assignment | scores) of these assignments, with everybody's strictness if it is known."""
    rest = np.broadcast_to(seen.score, writer.shape) - (0.0 if offset is None else offset[writer])
    spread = ~seen.apart + seen.noise * np.eye(seen.paper.size)
    logs = np.empty(len(writer))
    for part in np.array_split(np.arange(len(writer)), -(-len(writer) // _AT_ONCE)):
        every = spread[None]
        if offset is None:
            every = every + seen.strictness * (writer[part][:, :, None] == writer[part][:, None, :])
        solved = np.linalg.solve(every, rest[part][:, :, None])[:, :, 0]
        logs[part] = -0.5 * ((rest[part] * solved).sum(axis=1) + np.linalg.slogdet(every)[1])
    weight = np.exp(logs - logs.max())
    return np.asarray(weight / weight.sum())


@dataclass(frozen=True, eq=False, repr=False)
class Answers:
    """The chance that the best guess about a review is right, mean over reviews and for each review.

    `baseline` and `before` are from the scores alone, `success` and `after` with the decisions; `rise` is the
    largest increase by one outcome, `largest_rise` that over all reviews. `error` is the standard error of
    what is added, and `apart` the number of standard errors by which starts of walks differ.
    """

    baseline: float
    success: float
    before: Array
    after: Array
    rise: Array
    guess: Integers
    largest_rise: float
    error: float = 0.0
    apart: float = 0.0


def enumerated(seen: Observed, writer: Integers, offset: Array | None) -> dict[str, Answers]:
    """The exact answers, for the decisions that were made or on average over all that can be."""
    weight, levels = likelihoods(seen, writer, offset), seen.levels(writer)
    # Assignments with the same evidence have the same chances of all decisions.
    _, first, key = np.unique(levels, axis=0, return_index=True, return_inverse=True)
    key = key.ravel()
    reviews = seen.paper.size
    names, same = np.zeros((len(first), reviews, len(seen.people))), np.zeros((len(first), reviews, reviews))
    for review, who in enumerate(writer.T):
        np.add.at(names[:, review], (key, who), weight)
        np.add.at(same[:, review], key, weight[:, None] * (writer == who[:, None]))
    chances = list(_outcome_chances(seen, levels[first]))
    total = np.bincount(key, weight).astype(np.float64)
    masses = {AUTHOR: names, LINK: same * seen.apart}
    published = seen.decided is not None
    return {question: best_guesses(mass, total, chances, published) for question, mass in masses.items()}


def best_guesses(mass: Array, weight: Array, chances: Sequence[Array], published: bool) -> Answers:
    """From `mass[evidence, review, guess]` and the chances of outcomes given the evidence."""
    alone = mass.sum(axis=0)
    before, guess = alone.max(axis=1), alone.argmax(axis=1)
    after, rise = np.zeros_like(before), np.full_like(before, -np.inf)
    for chance in chances:
        possible = chance @ weight > 0.0
        joint, total = np.tensordot(chance[possible], mass, axes=1), chance[possible] @ weight
        best = joint.max(axis=2) / total[:, None]
        rise = np.maximum(rise, best.max(axis=0) - before)
        after += best[0] if published else total @ best
        guess = joint[0].argmax(axis=1) if published else guess
    means = float(before.mean()), float(after.mean())
    return Answers(*means, before, after, rise, guess, float(rise.max()))


def _outcome_chances(seen: Observed, levels: Bools) -> Iterator[Array]:
    """`[outcome, evidence]`: chances of the decisions that were made, or of all that can be, in parts."""
    lots = seen.lots
    if seen.decided is not None:
        yield seen.chance(levels, seen.decided[lots]).prod(axis=1)[None]
        return
    for start in range(0, 1 << lots.size, _AT_ONCE):
        outcomes = np.arange(start, min(start + _AT_ONCE, 1 << lots.size))
        accepted = (outcomes[:, None, None] >> np.arange(lots.size)) & 1 == 1
        yield seen.chance(levels, accepted).prod(axis=2)
