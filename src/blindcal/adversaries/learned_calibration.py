"""An adversary who learns everybody's calibration from all papers together, by Gibbs sampling.

It starts from the stated calibration, (slope, offset) ~ N(mean, covariance), as the certificate's adversary
does. But the same slope and offset stand behind all scores that a reviewer gave, so what one paper reveals
helps with the others. No certificate covers this adversary: its success is measured.

A sweep draws, with everything else given,

1. for each paper its tuple of reviewers and its quality: the tuple by its probability with the quality
   integrated out, then the quality, which is normal;
2. for each reviewer slope and offset, which are normal given the qualities of the papers that they reviewed.

A rounded score is known up to its cell. Then the tuple is drawn by the probabilities of cells at the last
quality, the score before rounding from a truncated normal, and the quality given such scores.

The noise is the total one that beliefs use: its own uncertainty counts as more noise, and is not learned.
`*`, anyone not listed, is somebody else in every review: they share the stated distribution and no slope.

What is counted is the probability of each tuple given everybody's slope and offset, rather than the tuple
that was drawn (Rao-Blackwell). Only sums are kept of it, for every candidate of every review, so there are no
draws to compute R-hat from: chains from several starts are compared by their standard errors instead
(`coupled_mcmc.guessed`).

The decisions of a release are known. For a plan they are drawn: one outcome for each chain, from the tables,
for the reviewers that the chain has drawn. The success is then averaged over outcomes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from blindcal.adversaries.coupled_exact import member_rows
from blindcal.adversaries.coupled_mcmc import TARGET, GuessEstimate, estimate_success, estimated_finding
from blindcal.adversaries.findings import Finding, finding_about, paper_findings
from blindcal.adversaries.single_paper import ONE_BY_ONE, POLICIES, View
from blindcal.assignment.candidates import OUTSIDER
from blindcal.checks import Array, Integers
from blindcal.compute.mcmc import (
    bivariate_draw,
    bivariate_posterior,
    conditional_normal,
    regression_sums,
    truncated_normal,
)
from blindcal.compute.parallel import Progress, Workers, no_progress, parallel_map
from blindcal.errors import InputError
from blindcal.reviewers.affine import Affine
from blindcal.reviewers.rounded import Rounded, log_normal_probability

# Chains start this many times as far from the stated calibration as its standard errors say; the first
# start is at the stated calibration itself.
_WIDER = 2.0
# Tuples of papers that are worked on at once: for a few chains they stay in the processor's cache.
_AT_ONCE = 1 << 14
# Up to this many columns a dense product, mostly with zeros, is faster than a sparse one.
_NARROW = 64
_LOWEST = -1e300
# Slope and offset in standard units before any review: means 0, variances 1, no covariance.
_STANDARD = np.array([0.0, 0.0, 1.0, 0.0, 1.0])[:, None, None]


@dataclass(frozen=True, eq=False)
class StatedReviewers:
    """The stated calibration of everybody."""

    mean: Array  # means `[person, 2]` of (slope, offset)
    covariance: Array  # their covariances `[person, 3]`: (slope, slope), (slope, offset), (offset, offset)
    variance: Array  # variances `[person]` of scores around the line

    @property
    def uncertain(self) -> bool:
        """Whether there is anything to learn."""
        return bool(self.covariance.any())

    @property
    def root(self) -> Array:
        """Lower triangular roots of the covariances: (slope, slope), (offset, slope), (offset, offset)."""
        c11, c12, c22 = self.covariance.T
        first = np.sqrt(c11)
        # Without a variance of the slope, the offset has all of its own.
        both = np.divide(c12, first, out=np.zeros_like(first), where=first > 0.0)
        return np.stack([first, both, np.sqrt(np.maximum(c22 - both**2, 0.0))])


@dataclass(frozen=True, eq=False)
class PaperBlock:
    """Papers whose tuples have the same candidates, by their position in the pool."""

    paper: Integers  # numbers `[paper]` of the papers
    review: Integers  # numbers `[paper, slot]` of their reviews
    rows: Integers  # positions `[tuple, slot]` in a pool
    who: Integers  # the person `[paper, slot, position]`; `*` is another one in every slot
    low: Array  # the lower ends `[paper, slot]` of the scores' cells
    high: Array  # the upper ends; equal to `low` if scores are not rounded
    # Log of the prior times the probability of the decision, `[paper, tuple]`
    log_base: Array = field(repr=False)

    @property
    def rounded(self) -> bool:
        return bool((self.low < self.high).any())

    @property
    def on(self) -> Array | csr_array:
        """Which position `[tuple, slot * position]` each slot of a tuple has, as 0 and 1.

        A product with it sums over tuples; one with its transpose sums over the slots of each tuple.
        """
        tuples, slots = self.rows.shape
        column = self.rows + np.arange(slots) * self.who.shape[2]
        indicator = csr_array(
            (np.ones(column.size), (np.repeat(np.arange(tuples), slots), column.ravel())),
            shape=(tuples, slots * self.who.shape[2]),
        )
        return indicator.toarray() if indicator.shape[1] <= _NARROW else indicator


@dataclass(frozen=True, eq=False)
class CalibrationModel:
    """What the chains are given: the stated calibration, and all papers."""

    people: StatedReviewers  # the stated calibration
    blocks: tuple[PaperBlock, ...]  # all papers; reviews are numbered paper by paper
    papers: int  # how many papers there are
    # Which positions `[review, position]` of a paper's pool can be guessed: `*` cannot
    named: NDArray[np.bool_] = field(repr=False)

    @property
    def rounded(self) -> bool:
        return any(block.rounded for block in self.blocks)

    @property
    def on(self) -> list[Array | csr_array]:
        """Those of the blocks, made once if blocks have the same rows."""
        distinct = {id(block.rows): block for block in self.blocks}
        indicators = {rows: block.on for rows, block in distinct.items()}
        return [indicators[id(block.rows)] for block in self.blocks]


@dataclass(frozen=True, eq=False)
class Chains:
    """The state of chains, and what they have counted."""

    start: Integers = field(repr=False)  # from which start `[chain]` each of them came
    drawn: Array = field(repr=False)  # (slope, offset) of everybody, `[chain, person, 2]`
    quality: Array = field(repr=False)  # `[chain, paper]`
    pick: Integers = field(repr=False)  # the present tuple `[chain, paper]`
    seen: Array = field(repr=False)  # how many sweeps `[chain]` were counted
    # The summed probability `[chain, review, position]` that a candidate wrote a review
    tally: Array = field(repr=False)
    rounds: int = 0  # how often the chains were continued


def calibration_model(views: Sequence[View]) -> CalibrationModel:
    """The papers without decisions; papers that this adversary cannot handle are refused."""
    people, index, whos = list[tuple[float, ...]](), dict[str, int](), []
    for view in views:
        rows = _stated_rows(_affine(view), len(view.names))
        whos.append(np.empty((len(view.scores), len(rows)), dtype=np.int64))
        for slot, position in np.ndindex(whos[-1].shape):
            name, row = view.names[position], rows[position]
            # `*` is always somebody new.
            if name == OUTSIDER or name not in index:
                index[name] = len(people)
                people.append(row)
            elif people[index[name]] != row:
                raise InputError("`learns` needs the same calibration of a reviewer for all papers")
            whos[-1][slot, position] = index[name]
    return _model_of(views, whos, np.array(people))


def _affine(view: View) -> Affine:
    """The calibrations of a paper's pool, before rounding."""
    if not view.exact:
        raise InputError(
            f"`learns` needs pools whose tuples can be listed: paper {view.paper!r} has too many"
        )
    if view.reviewers is None:
        raise InputError(
            f"`learns` needs to know what paper {view.paper!r} was believed to be before any decision on it, "
            "by the stated prior and calibration"
        )
    inner = view.reviewers.reviewer if isinstance(view.reviewers, Rounded) else view.reviewers
    if not isinstance(inner, Affine):
        raise InputError(f"`learns` needs affine reviewers with Gaussian noise, found {type(inner).__name__}")
    if not (inner.noise > 0.0).all():
        raise InputError(f"`learns` needs noise above 0 for every candidate of paper {view.paper!r}")
    return inner


def _stated_rows(stated: Affine, size: int) -> list[tuple[float, ...]]:
    """Slope, offset, their covariance in three numbers, and the variance of scores, by candidate."""
    known = np.zeros((size, 2, 2)) if stated.covariance is None else stated.covariance
    c = np.broadcast_to(known, (size, 2, 2))
    slope, offset, noise = (
        np.broadcast_to(part, size) for part in (stated.slope, stated.offset, stated.noise)
    )
    table = np.column_stack([slope, offset, c[:, 0, 0], c[:, 0, 1], c[:, 1, 1], noise**2])
    return [tuple(row) for row in table.tolist()]


def _model_of(views: Sequence[View], whos: Sequence[Integers], people: Array) -> CalibrationModel:
    """Papers with the same tuples in blocks; `whos[paper][slot, position]` are numbers of people."""
    slots = np.array([len(view.scores) for view in views])
    first, width = np.cumsum(slots) - slots, max(len(view.names) for view in views)
    named = np.zeros((int(slots.sum()), width), dtype=np.bool_)
    for view, at in zip(views, first, strict=True):
        named[at : at + len(view.scores), : len(view.names)] = [name != OUTSIDER for name in view.names]
    rows = [member_rows(view) for view in views]
    # The ends of the cell of each score; both are the score itself if it is not rounded.
    scores, pools = [np.array(view.scores) for view in views], [view.reviewers for view in views]
    cells = [
        pool.edges(score).T if isinstance(pool, Rounded) else (score, score)
        for score, pool in zip(scores, pools, strict=True)
    ]
    alike: dict[tuple[object, ...], list[int]] = {}
    for number, (view, row, (low, high)) in enumerate(zip(views, rows, cells, strict=True)):
        kind = row.shape, len(view.names), bool((low < high).any()), row.tobytes()
        alike.setdefault(kind, []).append(number)
    blocks = [
        PaperBlock(
            paper=np.array(papers),
            review=first[papers][:, None] + np.arange(rows[papers[0]].shape[1]),
            rows=rows[papers[0]],
            who=np.array([whos[paper] for paper in papers]),
            low=np.array([cells[paper][0] for paper in papers]),
            high=np.array([cells[paper][1] for paper in papers]),
            log_base=np.array([views[paper].log_prior for paper in papers]),
        )
        for kin in alike.values()
        for papers in _parted(kin, rows[kin[0]])
    ]
    return CalibrationModel(
        StatedReviewers(people[:, :2], people[:, 2:5], people[:, 5]), tuple(blocks), len(views), named
    )


def _parted(papers: list[int], rows: Integers) -> list[list[int]]:
    """The papers in parts that are small enough to be worked on at once."""
    size = max(1, _AT_ONCE // len(rows))
    return [papers[start : start + size] for start in range(0, len(papers), size)]


def with_decisions(model: CalibrationModel, likely: Sequence[Array]) -> CalibrationModel:
    """The papers with their decisions.

    `likely[paper]` is the probability of the paper's decision under each tuple. A decision that no tuple
    leads to says nothing.
    """
    blocks = []
    for block in model.blocks:
        chances = [likely[paper] for paper in block.paper]
        chance = np.array([part if part.any() else np.ones_like(part) for part in chances])
        with np.errstate(divide="ignore"):
            blocks.append(replace(block, log_base=block.log_base + np.log(chance)))
    return replace(model, blocks=tuple(blocks))


def start_chains(model: CalibrationModel, starts: Sequence[int], chains: int, seed: int) -> Chains:
    """So many chains at each of these starts: at the stated calibration (0), or away from it."""
    people, parts = model.people, []
    for number in starts:
        normal = np.random.default_rng([seed, number]).standard_normal(people.mean.shape)
        parts.append(people.mean + _rooted(people.root, normal.T * (_WIDER if number else 0.0)))
    start = np.repeat(starts, chains)
    shape = start.size, model.papers
    return Chains(
        start=start,
        drawn=np.repeat(parts, chains, axis=0),
        quality=np.random.default_rng([seed, starts[0], 0, 0]).standard_normal(shape),
        pick=np.zeros(shape, dtype=np.int64),
        seen=np.zeros(start.size),
        tally=np.zeros((start.size, *model.named.shape)),
    )


def continue_chains(
    chains: Chains, model: CalibrationModel, sweeps: int, rng: np.random.Generator, skipped: int = 0
) -> Chains:
    """The chains after this many sweeps, of which the first `skipped` ones are not counted."""
    drawn, quality, pick = chains.drawn, chains.quality.copy(), chains.pick.copy()
    people, root = model.people, model.people.root
    totals, ons = [np.zeros((len(drawn), *block.who.shape)) for block in model.blocks], model.on
    for sweep in range(sweeps):
        chance, normal = rng.random(quality.shape), rng.standard_normal(quality.shape)
        within = rng.random((len(drawn), len(model.named))) if model.rounded else None
        sums = np.zeros((5, *drawn.shape[:2]))
        for block, total, on in zip(model.blocks, totals, ons, strict=True):
            at = block.paper
            share = _shares(block, on, drawn, people.variance, quality[:, at])
            if sweep >= skipped:
                total += np.asarray(share.reshape(-1, on.shape[0]) @ on).reshape(total.shape)
            # A tuple of probability 0 is never picked.
            ends = share.cumsum(axis=2)
            drawn_at = (ends <= chance[:, at, None] * ends[..., -1:]).sum(axis=2)
            pick[:, at] = np.minimum(drawn_at, share.shape[2] - 1)
            cell = None if within is None else within[:, block.review]
            now = quality[:, at], pick[:, at], cell, normal[:, at]
            quality[:, at], said = _drawn_quality(block, drawn, people, *now)
            sums += said
        drawn = _drawn_people(people, root, sums, rng.standard_normal(drawn.shape))
    tally = chains.tally.copy()
    for block, total in zip(model.blocks, totals, strict=True):
        tally[:, block.review, : total.shape[-1]] += total
    seen = chains.seen + max(0, sweeps - skipped)
    return Chains(chains.start, drawn, quality, pick, seen, tally, chains.rounds + 1)


def _shares(block: PaperBlock, on: Array | csr_array, drawn: Array, variance: Array, quality: Array) -> Array:
    """The probability `[chain, paper, tuple]` of each tuple, given everybody's slope and offset.

    Quality is integrated out; only if scores are rounded it is given too.
    """
    a, b, v = drawn[:, block.who, 0], drawn[:, block.who, 1], variance[block.who]
    if block.rounded:
        mean, spread = a * quality[:, :, None, None] + b, np.sqrt(v)
        ends = (block.low[..., None] - mean) / spread, (block.high[..., None] - mean) / spread
        # A cell whose probability is 0 as a float must not turn a whole tuple into nan.
        (log,) = _summed([np.maximum(log_normal_probability(*ends), _LOWEST)], on)
    else:
        rest = block.low[..., None] - b
        known, pull, square = _summed([a**2 / v, a * rest / v, rest**2 / v + np.log(v)], on)
        # -(square + log precision - pull^2/precision)/2, precision = 1 + known, is the log density of a
        # tuple's scores. In place: these arrays are the largest here.
        known += 1.0
        pull *= pull
        pull /= known
        square -= pull
        square += np.log(known, out=known)
        log = square
        log *= -0.5
    log += block.log_base
    log -= log.max(axis=2, keepdims=True)
    share: Array = np.exp(log, out=log)
    share /= share.sum(axis=2, keepdims=True)
    return share


def _summed(values: Sequence[Array], on: Array | csr_array) -> Array:
    """Sums `[value, chain, paper, tuple]` over a tuple's slots, of `[chain, paper, slot, position]` each."""
    chains, papers = values[0].shape[:2]
    flat = np.stack(values).reshape(-1, on.shape[1])
    return np.asarray(flat @ on.T).reshape(len(values), chains, papers, on.shape[0])


def _drawn_quality(
    block: PaperBlock,
    drawn: Array,
    people: StatedReviewers,
    quality: Array,
    pick: Integers,
    within: Array | None,
    normal: Array,
) -> tuple[Array, Array]:
    """Qualities `[chain, paper]` given the reviews that the picked tuples wrote, and the prior N(0,1).

    `within` are uniform draws for scores that were rounded. Second is what the reviews say about the
    differences of slopes and offsets from the stated ones: a log likelihood `[5, chain, person]` in the rows
    of `bivariate_posterior`.
    """
    position = block.rows[pick]
    paper, slot = np.arange(block.paper.size)[:, None], np.arange(position.shape[2])
    who = block.who[paper, slot, position]
    chain, size = np.arange(len(drawn))[:, None, None], len(people.mean)
    a, b = np.moveaxis(drawn[chain, who], -1, 0)
    v, score = people.variance[who], np.broadcast_to(block.low, who.shape)
    if block.rounded and within is not None:
        score = truncated_normal(a * quality[..., None] + b, np.sqrt(v), block.low, block.high, within)
    precision, pull = 1.0 + (a**2 / v).sum(axis=2), (a * (score - b) / v).sum(axis=2)
    new = conditional_normal(pull, precision, normal)
    at, t = (who + chain * size).ravel(), new[..., None]
    slope, offset = np.moveaxis(people.mean[who], -1, 0)
    sums = regression_sums(
        t,
        score - slope * t - offset,
        1.0 / v,
        lambda part: np.bincount(at, part.ravel(), len(drawn) * size).astype(np.float64, copy=False),
    )
    return new, sums.reshape(5, len(drawn), size)


def _drawn_people(people: StatedReviewers, root: Array, sums: Array, normal: Array) -> Array:
    """(slope, offset) of everybody, `[chain, person, 2]`, given the sums of their reviews.

    They are `mean + root u` with u ~ N(0, I) beforehand, and u is what is drawn: unlike (slope, offset) it
    has a density even if something is known for certain, which then stays so.
    """
    first, both, second = root
    r1, r2, s11, s12, s22 = sums
    likelihood = np.stack(
        [
            first * r1 + both * r2,
            second * r2,
            first**2 * s11 + 2.0 * first * both * s12 + both**2 * s22,
            second * (first * s12 + both * s22),
            second**2 * s22,
        ]
    )
    after, _ = bivariate_posterior(_STANDARD, likelihood)
    return np.asarray(people.mean + _rooted(root, bivariate_draw(after, np.moveaxis(normal, -1, 0))))


def _rooted(root: Array, normal: Array) -> Array:
    """The root of everybody's covariance times (slope, offset) in standard units; these come last."""
    first, both, second = root
    return np.stack([first * normal[0], both * normal[0] + second * normal[1]], axis=-1)


LEARNS = "learns calibration across papers"
CHAINS, STARTS = 32, 8
# Chains, starts and looks for each outcome that is drawn before decisions are made.
_FEW, _FEW_STARTS, _FEW_LOOKS = 8, 4, 3
# Sweeps that are not counted, and sweeps between two looks at what the chains have counted.
_WARM, _LOOK = 150, 50
MOST = 30
_LEAST = 1e-12
# Chains of all starts are worked on together if they have no more weights of tuples than this.
_TOGETHER = 1 << 16


@dataclass(frozen=True)
class Learned(GuessEstimate):
    """What chains found about an adversary's success."""

    chains: int  # how many chains there were
    starts: int  # from how many starts they came
    sweeps: int  # how many sweeps each of them counted
    # The chance that the same guesses are right, by the chains from each start
    by_start: Array = field(repr=False, compare=False)
    pick: Integers = field(repr=False, compare=False)  # the tuple `[chain, paper]` that each chain drew last


def learn(
    model: CalibrationModel,
    *,
    target: float = TARGET,
    most: int = MOST,
    chains: int = CHAINS,
    starts: int = STARTS,
    seed: int = 0,
    workers: Workers = 1,
    advance: Callable[[int], None] | None = None,
) -> Learned:
    """Sweep until the standard error is at most `target`, or `most` looks were taken.

    `advance` is called with 1 for each start of a look, and at the end with what was not needed.
    """
    # All starts together if papers are few; the number of processes does not matter, so that it cannot change
    # a number.
    together = chains * sum(block.log_base.size for block in model.blocks) <= _TOGETHER
    groups = [list(range(starts))] if together else [[start] for start in range(starts)]
    parts = [start_chains(model, group, chains // starts, seed) for group in groups]
    done = None if advance is None else lambda ended: advance(ended * starts // len(parts))
    for look in range(most):
        warm = 0 if look else _WARM
        onward = partial(_onward, model=model, sweeps=warm + _LOOK, skipped=warm, seed=seed)
        parts = parallel_map(onward, parts, workers=workers, advance=done)
        result = _joined(parts, model)
        # Two looks at least: the error of one is itself too uncertain to stop at.
        if look and result.error <= target:
            break
    if advance is not None:
        advance((most - 1 - look) * starts)
    return result


def _onward(chains: Chains, model: CalibrationModel, sweeps: int, skipped: int, seed: int) -> Chains:
    """The chains after more sweeps, with a generator of their own for each round."""
    rng = np.random.default_rng([seed, int(chains.start[0]), 1 + chains.rounds])
    return continue_chains(chains, model, sweeps, rng, skipped)


def _joined(parts: Sequence[Chains], model: CalibrationModel) -> Learned:
    """What all chains together have counted."""
    start, seen, tally, pick = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("start", "seen", "tally", "pick")
    )
    guess = (tally.sum(axis=0) * model.named).argmax(axis=1)
    right = tally[:, np.arange(guess.size), guess].mean(axis=1) / seen
    starts = np.unique(start)
    return Learned(
        **vars(estimate_success(tally, seen, start, model.named)),
        chains=seen.size,
        starts=starts.size,
        sweeps=round(float(seen.max())),
        by_start=np.array([right[start == number].mean() for number in starts]),
        pick=pick,
    )


def learning_findings(
    views: Sequence[View],
    policies: Sequence[str] = POLICIES,
    *,
    target: float = TARGET,
    most: int = MOST,
    seed: int = 0,
    workers: Workers = 1,
    progress: Progress = no_progress,
) -> list[Finding]:
    """How much decisions help an adversary who learns calibration across papers.

    Beside each finding stands the same one for an adversary who looks at each paper separately. Findings are
    measured, with a standard error; they are exact if the calibration is stated without errors. Decisions
    that are the same whoever reviewed, as raw and public ones are, add nothing. Chains go on until the
    standard error of a chance is at most `target`, or they were looked at `most` times. Returns one finding
    for each policy, then one for each policy with papers taken separately.
    """
    plain = [finding_about(paper_findings(LEARNS, views, policy), policy) for policy in policies]
    model = calibration_model(views)
    if not model.people.uncertain:
        name = f"{LEARNS} (which is stated without errors, so there is nothing to learn)"
        return _beside(name, plain, plain)
    tables_of = [view.accept if view.outcome is None else view.outcome for view in views]
    revealing = [policy for policy in policies if any(np.ptp(each[policy]) > 0.0 for each in tables_of)]
    drawn = all(view.outcome is not None for view in views)
    steps = (1 + len(revealing) * drawn) * most * STARTS + (not drawn) * len(revealing) * CHAINS
    with progress("learning calibration from all papers", steps) as advance:
        sweep = partial(learn, target=target, most=most, seed=seed, workers=workers, advance=advance)
        alone = sweep(model)
        decided: dict[str, GuessEstimate] = {}
        for policy in revealing:
            if drawn:
                decided[policy] = sweep(with_decisions(model, [_likely(view, policy) for view in views]))
            else:
                tables = [view.accept[policy] for view in views]
                outcome = partial(_with_outcome, model=model, accept=tables, seed=seed)
                picks = list(enumerate(alone.pick))
                results = parallel_map(outcome, picks, workers=workers, advance=advance)
                decided[policy] = _mean_over_outcomes(results)
    estimates = [alone, *decided.values()]
    if not all(estimate.agrees for estimate in estimates):
        raise InputError(
            "`learns`: chains from different starts do not agree, so nothing can be said of this adversary"
        )
    name = (
        f"{LEARNS} (measured, no certificate covers it; {alone.chains} chains from {alone.starts} starts, "
        f"which differ by at most {max(estimate.apart for estimate in estimates):.1f} standard errors; "
        f"those of chances are up to {100 * max(estimate.error for estimate in estimates):.2f})"
    )
    return _beside(
        name, [estimated_finding(name, policy, alone, decided.get(policy)) for policy in policies], plain
    )


def _likely(view: View, policy: str) -> Array:
    """The probability of what was published, by tuple; 1 if no tuple of the pool could have led to it."""
    chance = np.ones_like(view.weight) if view.outcome is None else view.outcome[policy]
    return chance if (view.weight * chance).any() else np.ones_like(chance)


def _beside(name: str, learned: Sequence[Finding], plain: Sequence[Finding]) -> list[Finding]:
    """The findings under one name, and those of papers taken one by one."""
    both = [*learned, *(replace(finding, question=ONE_BY_ONE) for finding in plain)]
    return [replace(finding, adversary=name) for finding in both]


def _mean_over_outcomes(results: Sequence[Learned]) -> GuessEstimate:
    """The mean over outcomes, one for each chain.

    A paper's decision is drawn by its table for the tuple that the chain drew last. The error is that of the
    outcomes and of the chains together; starts differ if one is better or worse on all outcomes.
    """
    success, low = np.array([[result.success, result.low] for result in results]).T
    by_start = np.array([result.by_start for result in results])
    others = (by_start.sum(axis=1, keepdims=True) - by_start) / (by_start.shape[1] - 1)
    rest, root = by_start - others, np.sqrt(len(results))
    spread = np.maximum(rest.std(axis=0, ddof=1), _LEAST) / root
    middle, least = float(success.mean()), float(low.mean())
    return GuessEstimate(
        success=middle,
        error=float(np.hypot(success.std(ddof=1) / root, middle - least)),
        low=least,
        high=2.0 * middle - least,
        apart=float((np.abs(rest.mean(axis=0)) / spread).max()),
    )


def _with_outcome(
    job: tuple[int, Integers], model: CalibrationModel, accept: Sequence[Array], seed: int
) -> Learned:
    """What chains find with one outcome of all papers, for one tuple of each."""
    number, pick = job
    uniform = np.random.default_rng([seed, number, 0, 0]).random(pick.size)
    likely = [
        table if draw < table[row] else 1.0 - table
        for draw, row, table in zip(uniform, pick, accept, strict=True)
    ]
    decided = with_decisions(model, likely)
    return learn(
        decided, target=0.0, most=_FEW_LOOKS, chains=_FEW, starts=_FEW_STARTS, seed=seed + 1 + number
    )
