"""What decisions by this year's evidence tell about who wrote what, by walks over assignments.

A step exchanges the writers of two reviews by delayed acceptance: first by the scores given qualities and
strictness, then by the decisions. Only papers by lot that one of the two reviewed can change their evidence,
so a step costs nearly the same in conferences of all sizes. Between sweeps qualities are drawn given
strictness, and unknown strictness given qualities. Walks start from assignments that have nothing to do with
the true one. In large conferences observers are told all writers but those of a sample of papers, which is a
harder test.
`this_year_findings` lists all assignments if there are few.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import hypot, sqrt

import numpy as np

from blindcal.adversaries.coupled_exact import first_assignment
from blindcal.adversaries.coupled_mcmc import MOST_STANDARD_ERRORS, TARGET, GuessEstimate, estimate_success
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
    told_all_but,
)
from blindcal.checks import Array, Integers
from blindcal.compute.parallel import Progress, no_progress
from blindcal.errors import InputError
from blindcal.io.cells import count
from blindcal.reviews import original_scores

CHAINS, STARTS = 64, 8
MOST = 40
"""Looks at the estimates."""
# Walks whose starts disagree go on for so many times the looks: a difference by chance then shrinks, and one
# between walks that stay near their start grows.
_PATIENCE = 4
MOST_WALKED, SAMPLED = 1000, 60
WALKS = f"estimated by {CHAINS} walks from {STARTS} starts, which differ by at most {{:.1f}} standard errors"
# At most so many counts of guesses are kept.
_MOST_COUNTS = 1 << 25
# Sweeps before anything is counted, and then between two looks at the estimates.
_WARM_UP, _BETWEEN_LOOKS = 30, 10
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


class Walks:
    """Assignments that many walks have reached, with qualities and strictness."""

    def __init__(self, seen: Observed, offset: Array | None, *, decided: bool, seed: int) -> None:
        self.seen, self.fixed, self.asked = seen, offset is not None, seen.asked
        self.rng = np.random.default_rng([seed, 1, int(decided)])
        starts = (np.random.default_rng([seed, 0, one]) for one in range(STARTS))
        first = np.array([_first_writers(seen, rng) for rng in starts])
        self.chain = np.arange(CHAINS)
        self.writer = first[self.chain % STARTS]
        people = len(seen.people)
        self.offset = np.tile(np.zeros(people) if offset is None else offset, (CHAINS, 1))
        slots = np.bincount(seen.paper)
        rank = np.arange(slots.max())
        self.reviews_of = np.where(rank < slots[:, None], seen.first[:, None] + rank, -1)
        self.weighs = decided and seen.decided is not None and seen.lots.size > 0
        self.decided = np.zeros(slots.size, dtype=np.bool_) if seen.decided is None else seen.decided
        if self.weighs:
            self._weigh_decisions()
        self.counted = counted_reviews(seen, seed)
        self.apart = seen.paper[self.counted, None] != seen.paper
        self.counts, shape = 0, (CHAINS, self.counted.size)
        self.tally = {AUTHOR: np.zeros((*shape, people))}
        if seen.told is None:
            self.tally[LINK] = np.zeros((*shape, seen.paper.size))

    def _weigh_decisions(self) -> None:
        """The sums over everybody's reviews, and the log chance of each decision."""
        seen = self.seen
        self.sums = seen.known_sums(self.writer)
        self.log = np.zeros((CHAINS, len(seen.papers)))
        self.log[:, seen.lots] = self._log_chance(seen.lots, seen.levels(self.writer))

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
            for _ in range(self.asked.size):
                self._step()
            if count:
                self._count()

    def _count(self) -> None:
        self.counts += 1
        names, review = self.writer[:, self.counted], np.arange(self.counted.size)
        self.tally[AUTHOR][self.chain[:, None], review, names] += 1.0
        if LINK in self.tally:
            for tally, own, every in zip(self.tally[LINK], names, self.writer, strict=True):
                tally += (own[:, None] == every) & self.apart

    def _step(self) -> None:
        """Exchanges the writers of two reviews."""
        seen, rng, chain = self.seen, self.rng, self.chain
        one, other = self.asked[rng.integers(self.asked.size, size=(2, chain.size))]
        r, s = self.writer[chain, one], self.writer[chain, other]
        gap = self.error[chain, one] - self.error[chain, other]
        log = (self.offset[chain, s] - self.offset[chain, r]) * gap / seen.noise
        same = seen.paper[one] == seen.paper[other]
        able = same | (self._is_new_to_paper(one, s) & self._is_new_to_paper(other, r))
        go = np.flatnonzero(able & (r != s) & (np.log(rng.random(chain.size)) < log))
        if self.weighs and go.size:
            go = go[self._accept_by_decisions(go, one[go], other[go], r[go], s[go])]
        self.writer[go, one[go]], self.writer[go, other[go]] = s[go], r[go]

    def _is_new_to_paper(self, review: Integers, person: Integers) -> Bools:
        """Whether a person wrote no review of this paper."""
        mates = self.reviews_of[self.seen.paper[review]]
        wrote = (self.writer[self.chain[:, None], mates] == person[:, None]) & (mates >= 0)
        return np.asarray(~wrote.any(axis=1))

    def _accept_by_decisions(
        self, chain: Integers, one: Integers, other: Integers, r: Integers, s: Integers
    ) -> Bools:
        """The second stage, by the ratio of the decisions' likelihoods: which exchanges are made."""
        seen, papers = self.seen, len(self.seen.papers)
        by_lot, _ = seen.lot_rows
        writer = self.writer[chain[:, None], by_lot]
        at, review = np.nonzero((writer == r[:, None]) | (writer == s[:, None]))
        # A paper that both reviewed counts once.
        at, touched = np.divmod(np.unique(at * papers + seen.paper[by_lot[review]]), papers)
        row, rows = chain[at], self.reviews_of[touched]
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
        change = np.bincount(at, log - self.log[row, touched], chain.size)
        taken = np.asarray(np.log(self.rng.random(chain.size)) < change)
        self.log[row[taken[at]], touched[taken[at]]] = log[taken[at]]
        for total, part in zip(self.sums, moved, strict=True):
            total[chain[taken], r[taken]] -= part[taken]
            total[chain[taken], s[taken]] += part[taken]
        return taken

    def estimate(self, question: str) -> GuessEstimate:
        counts = np.full(CHAINS, float(self.counts))
        return estimate_success(self.tally[question], counts, self.chain % STARTS)

    def shares(self, question: str, half: int | None = None) -> Array:
        """`[review, guess]`: the estimated posterior, of all walks or of every second round of starts."""
        own = self.chain // STARTS % 2 == half if half is not None else np.full(CHAINS, True)
        return np.asarray(self.tally[question][own].sum(axis=0) / (self.counts * own.sum()))


def _first_writers(seen: Observed, rng: np.random.Generator) -> Integers:
    """An assignment that has nothing to do with the true one, but for writers that are told."""
    loads = {name: load for name, load in zip(seen.people, seen.load.tolist(), strict=True) if load}
    pools = [([*loads], int(size)) for size in np.bincount(seen.paper[seen.asked]) if size]
    drawn = first_assignment(pools, loads, rng)
    index = {name: number for number, name in enumerate(seen.people)}
    writer = seen.truth.copy()
    writer[seen.asked] = [index[name] for names in drawn for name in names]
    return writer


def counted_reviews(seen: Observed, seed: int) -> Integers:
    """The reviews whose guesses are counted: all that are asked about, or as many as fit in memory."""
    asked = seen.asked
    guesses = len(seen.people) + (seen.paper.size if seen.told is None else 0)
    most = max(1, _MOST_COUNTS // (CHAINS * guesses))
    return np.sort(np.random.default_rng([seed, 3]).permutation(asked)[:most])


def walked(
    seen: Observed,
    offset: Array | None,
    *,
    target: float = TARGET,
    most: int = MOST,
    seed: int = 0,
    make: Callable[..., Walks] = Walks,
    advance: Callable[[int], None] | None = None,
) -> dict[str, Answers]:
    """The answers as walks estimate them, for decisions that were made.

    Walks by the scores alone and walks that weigh decisions go on side by side, until the standard error of
    what is added is at most `target`, or for `most` looks; longer while starts disagree. `make` is the
    kind of walks.
    """
    if seen.decided is None:
        raise InputError("too many assignments to list: the audit then needs decisions that were published")
    both = [make(seen, offset, decided=decided, seed=seed) for decided in (False, True)[: 1 + seen.lots.size]]
    alone, decided = both[0], both[-1]
    for one in both:
        one.sweep(_WARM_UP)
    for look in range(_PATIENCE * most):
        for one in both:
            one.sweep(_BETWEEN_LOOKS, count=True)
        found = {question: _compare_walks(alone, decided, question) for question in alone.tally}
        if advance is not None and look < most:
            advance(1)
        enough = look + 1 >= most or (look > 0 and max(one.error for one in found.values()) <= target)
        agree = max(one.apart for one in found.values()) <= MOST_STANDARD_ERRORS
        if enough and agree:
            break
    if not agree:
        raise InputError("walks from different starts do not agree, so nothing can be said of the assignment")
    return {question: replace(one, error=_error_with_sampling(alone, one)) for question, one in found.items()}


def _compare_walks(alone: Walks, decided: Walks, question: str) -> Answers:
    """The answers by walks without decisions and as many with them.

    Guesses that were learned from other walks are too bad, and the likeliest ones too good. Of both kinds of
    walks the same part of that gap is taken as true; which part is not known, so half of the difference of
    the gaps is part of the standard error.
    """
    first, second = (one.estimate(question) for one in (alone, decided))
    gaps = [max(one.high - one.low, 0.0) for one in (first, second)]
    draws = [one.error**2 - (0.5 * gap) ** 2 for one, gap in zip((first, second), gaps, strict=True)]
    before, after = (one.shares(question) for one in (alone, decided))
    variance = max(sum(draws), 0.0) + (0.5 * (gaps[1] - gaps[0])) ** 2
    return Answers(
        baseline=first.success,
        success=second.success,
        before=before.max(axis=1),
        after=after.max(axis=1),
        rise=after.max(axis=1) - before.max(axis=1),
        guess=after.argmax(axis=1),
        largest_rise=_largest_rise(alone, decided, question),
        error=0.0 if decided is alone else sqrt(variance),
        apart=max(first.apart, second.apart),
    )


def _error_with_sampling(walks: Walks, told: Answers) -> float:
    """The standard error of a mean over papers, also if the observer was asked about a sample of them."""
    if walks.seen.told is None or told.error == 0.0:
        return told.error
    paper = np.unique(walks.seen.paper[walks.counted], return_inverse=True)[1]
    each = np.bincount(paper, told.rise) / np.bincount(paper)
    return hypot(told.error, sqrt(each.var(ddof=1) / each.size)) if each.size > 1 else told.error


def _largest_rise(alone: Walks, decided: Walks, question: str) -> float:
    """The rise of the review and guess that half of the walks have as the largest, by the other half.

    The largest of many estimates would be too large.
    """
    before, after = ([one.shares(question, half) for half in (0, 1)] for one in (alone, decided))
    found = []
    for half in (0, 1):
        review = int((after[half].max(axis=1) - before[half].max(axis=1)).argmax())
        guesses = before[half][review].argmax(), after[half][review].argmax()
        found.append(after[1 - half][review, guesses[1]] - before[1 - half][review, guesses[0]])
    return float(np.mean(found))


def this_year_findings(
    seen: Observed,
    *,
    strictness: Mapping[str, float] | None = None,
    better: str = "high",
    target: float = TARGET,
    most: int = MOST,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Findings:
    """What both observers gain from all decisions. CONFIDENTIAL, for the chair alone.

    Exposures are those of the observer who knows strictness. If walks had to sample, a rise is an estimate.
    With more than `MOST_WALKED` reviews, both observers are also told who wrote every review except those of
    `SAMPLED` papers by lot, and figures are about these.

    Args:
        seen: What is observed.
        strictness: Everybody's, in standard deviations of quality; by default one drawn from all reviews with
            their true writers: how it may be, as far as this year's reviews tell.
        better: The better end of the scale.
        target: The standard error at which walks stop.
        most: At most so many looks at them.
        seed: Of the walks and of the drawn strictness.
        progress: How far it is.
    """
    known = drawn_strictness(seen, seed) if strictness is None else strictness
    papers, reviews = len(seen.papers), seen.paper.size
    every = all_assignments(seen) if seen.lots.size <= MOST_LOTS or seen.decided is not None else None
    if every is None and reviews > MOST_WALKED and seen.lots.size:
        seen = told_all_but(seen, np.random.default_rng([seed, 4]).permutation(seen.lots)[:SAMPLED])
    offset = np.array([known[name] for name in seen.people])
    told = ""
    if seen.told is not None:
        sampled = count(np.unique(seen.paper[seen.asked]).size, "paper")
        told = f", and is told who wrote every review except those of a sample of {sampled} with random draws"
    findings, rises, apart = list[Finding](), list[float](), 0.0
    with progress("walking over assignments", 0 if every is not None else 2 * most) as advance:
        for adversary, own in ((NOTHING, None), (STRICTNESS, offset)):
            if every is not None:
                answers = enumerated(seen, every, own)
            else:
                answers = walked(seen, own, target=target, most=most, seed=seed, advance=advance)
            for question, one in answers.items():
                figures = one.baseline, one.success, one.error, one.largest_rise
                findings.append(Finding(f"{adversary}{told}", question, "chosen", *figures))
                apart = max(apart, one.apart)
            rises.append(answers[AUTHOR].largest_rise)
    counted = np.arange(seen.paper.size) if every is not None else counted_reviews(seen, seed)
    return Findings(
        papers=papers,
        reviews=reviews,
        published=seen.decided is not None,
        sampled=0,
        findings=tuple(findings),
        bits={},
        largest_rise={"chosen": max(rises)},
        exposures=_exposed_reviews(seen, counted, answers[AUTHOR], better),
        method="" if every is not None else WALKS.format(apart),
    )


def _exposed_reviews(seen: Observed, counted: Integers, told: Answers, better: str) -> tuple[Exposure, ...]:
    """Each review whose guesses were counted, the most exposed first."""
    rows = []
    for number, review in enumerate(counted.tolist()):
        (score,) = original_scores([float(seen.given[review])], better)
        paper = int(seen.paper[review])
        right = None if seen.decided is None else bool(told.guess[number] == seen.truth[review])
        before, after, rise = (float(part[number]) for part in (told.before, told.after, told.rise))
        slot = review - int(seen.first[paper]) + 1
        rows.append(Exposure(seen.papers[paper], slot, score, before, after, rise, right))
    return tuple(sorted(rows, key=lambda row: (-row.after, row.paper, row.review)))
