"""What decisions by this year's evidence tell about who wrote what, by walks over assignments.

A step exchanges the writers of two reviews by delayed acceptance: first by the scores given qualities and
strictness, then by the decisions. Only papers by lot that one of the two reviewed can change their evidence,
so a step costs the same in conferences of all sizes. Between sweeps qualities are drawn given strictness, and
unknown strictness given qualities. Walks start from assignments that have nothing to do with the true one.
`this_year_findings` lists all assignments if there are few.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from blindcal.adversaries.coupled_exact import first_assignment
from blindcal.adversaries.coupled_mcmc import TARGET, GuessEstimate, estimate_success
from blindcal.adversaries.findings import Exposure, Finding, Findings
from blindcal.adversaries.single_paper import AUTHOR, LINK
from blindcal.adversaries.this_year_exact import (
    LEAST_NOISE,
    MOST_LOTS,
    NOTHING,
    STRICTNESS,
    Answers,
    Bools,
    Observed,
    all_assignments,
    enumerated,
)
from blindcal.checks import Array, Integers
from blindcal.compute.parallel import Progress, no_progress
from blindcal.errors import InputError
from blindcal.reviews import original_scores

CHAINS, STARTS = 64, 8
# At most so many counts of guesses are kept.
_MOST_COUNTS = 1 << 25
# Sweeps before anything is counted, and then between two looks at the estimates.
_WARM_UP, _BETWEEN_LOOKS = 30, 20
_DRAWN_AFTER = 200
_TINY = 1e-300


def given_writers(
    seen: Observed, writer: Integers, offset: Array, rng: np.random.Generator, *, fixed: bool
) -> tuple[Array, Array]:
    """`[assignment, paper]` and `[assignment, person]`: qualities drawn given strictness, then the reverse.

    If it is `fixed`, strictness stays what it is.
    """
    rest = seen.score - np.take_along_axis(offset, writer, 1)
    precision = 1.0 + np.bincount(seen.paper) / seen.noise
    mean = np.add.reduceat(rest, seen.first, axis=1) / seen.noise / precision
    quality = mean + rng.standard_normal(mean.shape) / np.sqrt(precision)
    if fixed:
        return quality, offset
    ones = np.ones(seen.paper.size)
    sums, number = seen.person_sums(writer, seen.score - quality[:, seen.paper], ones)
    precision = 1.0 / max(seen.strictness, LEAST_NOISE) + number / seen.noise
    mean = sums / seen.noise / precision
    return quality, mean + rng.standard_normal(mean.shape) / np.sqrt(precision)


def drawn_strictness(seen: Observed, seed: int = 0) -> dict[str, float]:
    """Everybody's strictness, drawn from what all reviews with their true writers say. CONFIDENTIAL."""
    rng, offset = np.random.default_rng([seed, 2]), np.zeros((1, len(seen.people)))
    for _ in range(_DRAWN_AFTER):
        _, offset = given_writers(seen, seen.truth[None], offset, rng, fixed=False)
    return dict(zip(seen.people, offset[0].tolist(), strict=True))


class _Walks:
    """Assignments that many walks have reached, with qualities and strictness."""

    def __init__(self, seen: Observed, offset: Array | None, *, decided: bool, seed: int) -> None:
        if seen.load is None:
            raise InputError("too many assignments to list: the audit then needs everyone's load")
        self.seen, self.fixed, self.load = seen, offset is not None, seen.load
        self.rng = np.random.default_rng([seed, 1, int(decided)])
        starts = (np.random.default_rng([seed, 0, one]) for one in range(STARTS))
        first = np.array([_first(seen, self.load, rng) for rng in starts])
        self.chain = np.arange(CHAINS)
        self.writer = first[self.chain % STARTS]
        people, size = len(seen.people), seen.paper.size
        self.offset = np.tile(np.zeros(people) if offset is None else offset, (CHAINS, 1))
        slots = np.bincount(seen.paper)
        rank = np.arange(slots.max())
        self.reviews_of = np.where(rank < slots[:, None], seen.first[:, None] + rank, -1)
        self.lot = np.full(len(seen.papers), -1)
        self.weighs = decided and seen.decided is not None and seen.lots.size > 0
        self.decided = np.zeros(slots.size, dtype=np.bool_) if seen.decided is None else seen.decided
        if self.weighs:
            self._list_reviews()
        self.asked = asked_reviews(seen, seed)
        self.apart = seen.paper[self.asked, None] != seen.paper
        self.counted = 0
        shape = CHAINS, self.asked.size
        self.tally = {AUTHOR: np.zeros((*shape, people)), LINK: np.zeros((*shape, size))}

    def _list_reviews(self) -> None:
        """Everybody's reviews and sums, and the log chance of each decision by lot."""
        seen, load = self.seen, self.load
        order = np.argsort(self.writer, axis=1, kind="stable")
        who = np.take_along_axis(self.writer, order, 1)
        rank = np.arange(seen.paper.size) - (np.cumsum(load) - load)[who]
        self.held = np.full((CHAINS, load.size, load.max()), -1)
        self.held[self.chain[:, None], who, rank] = order
        self.position = np.zeros_like(self.writer)
        self.position[self.chain[:, None], order] = rank
        self.sums = seen.person_sums(self.writer, seen.residual, seen.known)
        self.lot[seen.lots] = np.arange(seen.lots.size)
        self.log = self._log_chance(seen.lots, seen.levels(self.writer, *self.sums))

    def _log_chance(self, paper: Integers, level: Bools) -> Array:
        """The log of the chance of decisions given the evidence."""
        accept = self.seen.accept[paper, level.astype(np.int64)]
        return np.log(np.maximum(np.where(self.decided[paper], accept, 1.0 - accept), _TINY))

    def sweep(self, number: int, *, count: bool = False) -> None:
        """One step a review, then qualities and strictness; `count` the assignments reached."""
        for _ in range(number):
            quality, self.offset = given_writers(
                self.seen, self.writer, self.offset, self.rng, fixed=self.fixed
            )
            self.error = self.seen.score - quality[:, self.seen.paper]
            for _ in range(self.seen.paper.size):
                self._step()
            if count:
                self._count()

    def _count(self) -> None:
        self.counted += 1
        names, asked = self.writer[:, self.asked], np.arange(self.asked.size)
        self.tally[AUTHOR][self.chain[:, None], asked, names] += 1.0
        for tally, own, every in zip(self.tally[LINK], names, self.writer, strict=True):
            tally += (own[:, None] == every) & self.apart

    def _step(self) -> None:
        """Exchanges the writers of two reviews."""
        seen, rng, chain = self.seen, self.rng, self.chain
        one, other = rng.integers(seen.paper.size, size=(2, chain.size))
        r, s = self.writer[chain, one], self.writer[chain, other]
        gap = self.error[chain, one] - self.error[chain, other]
        log = (self.offset[chain, s] - self.offset[chain, r]) * gap / seen.noise
        same = seen.paper[one] == seen.paper[other]
        able = same | (self._able(one, s) & self._able(other, r))
        go = np.flatnonzero(able & (r != s) & (np.log(rng.random(chain.size)) < log))
        if self.weighs and go.size:
            go = go[self._by_decisions(go, one[go], other[go], r[go], s[go])]
        self.writer[go, one[go]], self.writer[go, other[go]] = s[go], r[go]

    def _able(self, review: Integers, person: Integers) -> Bools:
        """Whether a person may write a review, and wrote none of this paper."""
        mates = self.reviews_of[self.seen.paper[review]]
        wrote = (self.writer[self.chain[:, None], mates] == person[:, None]) & (mates >= 0)
        return np.asarray(self.seen.allowed[self.seen.paper[review], person] & ~wrote.any(axis=1))

    def _by_decisions(
        self, chain: Integers, one: Integers, other: Integers, r: Integers, s: Integers
    ) -> Bools:
        """The second stage, by the ratio of the decisions' likelihoods: which exchanges are made."""
        seen, wide = self.seen, self.held.shape[2]
        theirs = np.concatenate([self.held[chain, r], self.held[chain, s]], axis=1)
        paper = seen.paper[theirs]
        use = (theirs >= 0) & (self.lot[paper] >= 0)
        # A paper that both reviewed counts once.
        mates = self.reviews_of[paper[:, wide:]]
        own = self.writer[chain[:, None, None], mates] == r[:, None, None]
        use[:, wide:] &= ~(own & (mates >= 0)).any(axis=2)
        at, place = np.nonzero(use)
        touched, row = paper[at, place], chain[at]
        rows = self.reviews_of[touched]
        there, who = rows >= 0, self.writer[row[:, None], rows]
        old, new = r[at][:, None], s[at][:, None]
        who = np.where(rows == one[at][:, None], new, np.where(rows == other[at][:, None], old, who))
        moved = [part[one] - part[other] for part in (seen.residual, seen.known)]
        sign = (who == new) * 1.0 - (who == old)
        g, h = (
            total[row[:, None], who] + sign * change[at][:, None]
            for total, change in zip(self.sums, moved, strict=True)
        )
        corrected, precision = (part * there for part in seen.corrected_scores(rows, g, h))
        level = corrected.sum(axis=1) > seen.bar[touched] * (1.0 + precision.sum(axis=1))
        log = self._log_chance(touched, level)
        change = np.bincount(at, log - self.log[row, self.lot[touched]], chain.size)
        taken = np.asarray(np.log(self.rng.random(chain.size)) < change)
        self.log[row[taken[at]], self.lot[touched[taken[at]]]] = log[taken[at]]
        chain, one, other, r, s = (part[taken] for part in (chain, one, other, r, s))
        for total, part in zip(self.sums, moved, strict=True):
            total[chain, r] -= part[taken]
            total[chain, s] += part[taken]
        left, right = self.position[chain, one], self.position[chain, other]
        self.held[chain, r, left], self.held[chain, s, right] = other, one
        self.position[chain, one], self.position[chain, other] = right, left
        return taken

    def estimate(self, question: str) -> GuessEstimate:
        counted = np.full(CHAINS, float(self.counted))
        return estimate_success(self.tally[question], counted, self.chain % STARTS)

    def shares(self, question: str) -> Array:
        """`[review, guess]`: the estimated posterior."""
        return np.asarray(self.tally[question].sum(axis=0) / (self.counted * CHAINS))


def _first(seen: Observed, load: Integers, rng: np.random.Generator) -> Integers:
    """An assignment that has nothing to do with the true one."""
    able = [[seen.people[who] for who in np.flatnonzero(row)] for row in seen.allowed]
    pools = list(zip(able, np.bincount(seen.paper).tolist(), strict=True))
    drawn = first_assignment(pools, dict(zip(seen.people, load.tolist(), strict=True)), rng)
    index = {name: number for number, name in enumerate(seen.people)}
    return np.array([index[name] for names in drawn for name in names], dtype=np.int64)


def asked_reviews(seen: Observed, seed: int) -> Integers:
    """The reviews that walks are asked about: all, or as many at random as can be counted in memory."""
    size = seen.paper.size
    most = max(1, _MOST_COUNTS // (CHAINS * (size + len(seen.people))))
    return np.sort(np.random.default_rng([seed, 3]).permutation(size)[:most])


def walked(
    seen: Observed,
    offset: Array | None,
    *,
    target: float = TARGET,
    most: int = 40,
    seed: int = 0,
    advance: Callable[[int], None] | None = None,
) -> dict[str, Answers]:
    """The answers as walks estimate them, for decisions that were made.

    They stop when the standard error of each success is at most `target`, or after `most` looks.
    """
    if seen.decided is None:
        raise InputError("too many assignments to list: the audit then needs decisions that were published")
    walks = [_Walks(seen, offset, decided=decided, seed=seed) for decided in (False, True)]
    for one in walks:
        one.sweep(_WARM_UP)
        for look in range(most):
            one.sweep(_BETWEEN_LOOKS, count=True)
            if advance is not None:
                advance(1)
            if look and max(one.estimate(question).error for question in (AUTHOR, LINK)) <= target:
                break
    found = {}
    for question in (AUTHOR, LINK):
        alone, decided = (one.estimate(question) for one in walks)
        if not (alone.agrees and decided.agrees):
            raise InputError(
                "walks from different starts do not agree, so nothing can be said of the assignment"
            )
        before, after = (one.shares(question) for one in walks)
        found[question] = Answers(
            baseline=alone.success,
            success=decided.success,
            before=before.max(axis=1),
            after=after.max(axis=1),
            rise=after.max(axis=1) - before.max(axis=1),
            guess=after.argmax(axis=1),
            error=float(np.hypot(alone.error, decided.error)),
            apart=max(alone.apart, decided.apart),
        )
    return found


def this_year_findings(
    seen: Observed,
    *,
    strictness: Mapping[str, float] | None = None,
    policy: str = "chosen",
    better: str = "high",
    target: float = TARGET,
    most: int = 40,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Findings:
    """What both observers gain from all decisions. CONFIDENTIAL, for the chair alone.

    Exposures are those of the observer who knows strictness. If walks had to sample, a rise is an estimate,
    and in very large conferences figures are about some of the reviews.

    Args:
        seen: What is observed.
        strictness: Everybody's, in standard deviations of quality; by default one drawn from all reviews with
            their true writers: how it may be, as far as this year's reviews tell.
        policy: What the tables are called.
        better: The better end of the scale.
        target: The standard error at which walks stop.
        most: At most so many looks at them.
        seed: Of the walks and of the drawn strictness.
        progress: How far it is.
    """
    known = drawn_strictness(seen, seed) if strictness is None else strictness
    offset = np.array([known[name] for name in seen.people])
    every = all_assignments(seen) if seen.lots.size <= MOST_LOTS or seen.decided is not None else None
    findings, rises = list[Finding](), list[float]()
    with progress("walking over assignments", 0 if every is not None else 4 * most) as advance:
        for adversary, own in ((NOTHING, None), (STRICTNESS, offset)):
            if every is not None:
                answers = enumerated(seen, every, own)
            else:
                answers = walked(seen, own, target=target, most=most, seed=seed, advance=advance)
            for question, one in answers.items():
                name = f"{adversary}{_walks_in_words(one)}" if every is None else adversary
                figures = one.baseline, one.success, one.error, float(one.rise.max())
                findings.append(Finding(name, question, policy, *figures))
            rises.append(float(answers[AUTHOR].rise.max()))
    asked = np.arange(seen.paper.size) if every is not None else asked_reviews(seen, seed)
    return Findings(
        papers=len(seen.papers),
        reviews=seen.paper.size,
        published=seen.decided is not None,
        sampled=0,
        findings=tuple(findings),
        bits={},
        largest_rise={policy: max(rises)},
        exposures=_exposures(seen, asked, answers[AUTHOR], better),
    )


def _walks_in_words(told: Answers) -> str:
    return f" ({CHAINS} walks from {STARTS} starts, which differ by at most {told.apart:.1f} standard errors)"


def _exposures(seen: Observed, asked: Integers, told: Answers, better: str) -> tuple[Exposure, ...]:
    """Each review that was asked about, the most exposed first."""
    rows = []
    for number, review in enumerate(asked.tolist()):
        (score,) = original_scores([float(seen.given[review])], better)
        paper = int(seen.paper[review])
        right = None if seen.decided is None else bool(told.guess[number] == seen.truth[review])
        before, after, rise = (float(part[number]) for part in (told.before, told.after, told.rise))
        slot = review - int(seen.first[paper]) + 1
        rows.append(Exposure(seen.papers[paper], slot, score, before, after, rise, right))
    return tuple(sorted(rows, key=lambda row: (-row.after, row.paper, row.review)))
