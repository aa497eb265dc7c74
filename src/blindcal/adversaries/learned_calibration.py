"""Chains over everybody's calibration -> what somebody gains who takes all papers together and learns it.

The certificate's adversary holds the stated calibration with its errors and takes papers one by one. This one
starts from the same distribution; all scores, and all decisions, say how strict everybody really is, and what
it has learned from one paper it uses on the others. No certificate covers it: what is found here is measured,
by chains (`sweeping`) from several starts, with the two estimates and the agreement of `looking`.

Of a release its decisions are known. Before the toss outcomes are drawn: one for each chain, from the tables,
for the reviewers that the chain has drawn; what is found with each of them is averaged.

Calibration learned from all papers together: everybody's slope and offset, qualities and authors drawn in
turn (Gibbs sampling), given all scores and, where they are known, all decisions.

One slope and one offset stand behind all scores that somebody gave this year, and the stated standard errors
say how well they are known beforehand: (slope, offset) ~ N(mean, covariance), as beliefs have it. Papers
share nothing else. A sweep draws, with everything else given,

1. for each paper its tuple of reviewers and its quality: the tuple by its chance with the quality integrated
   out, then the quality, which is Gaussian;
2. for each person slope and offset, which are Gaussian given the qualities of the papers that they reviewed.

A rounded score is known up to its cell. Then the tuple is drawn by the chances of cells at the quality that
was drawn before, the score before rounding from its part of a Gaussian, and the quality given such scores.

The noise is the total one that beliefs use: its own uncertainty counts as more noise, and is not learned.
`*`, anyone not listed, is somebody else in every review: they share the stated distribution and no slope.

Counted are not the tuples that were drawn but their chances, given everybody's slope and offset (and, where
scores are rounded, the quality). `learning` says what many chains found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from blindcal.adversaries.coupled_exact import member_rows
from blindcal.adversaries.coupled_mcmc import TARGET, Guessed, guessed
from blindcal.adversaries.findings import Finding, named, paper_findings
from blindcal.adversaries.paper_view import POLICIES, View
from blindcal.adversaries.single_paper import AUTHOR, ONE_BY_ONE
from blindcal.assignment.candidates import OUTSIDER
from blindcal.checks import Array, Integers
from blindcal.compute.mcmc import (
    bivariate_draw,
    bivariate_posterior,
    conditional_normal,
    regression_sums,
    truncated_normal,
)
from blindcal.compute.parallel import Progress, Workers, each, silent
from blindcal.errors import InputError
from blindcal.reviewers.affine import Affine
from blindcal.reviewers.rounded import Rounded, log_normal_between

# Chains start from draws this many times as far from what is stated as its standard errors say; the first
# start is at what is stated.
_WIDER = 2.0
# So many tuples of papers are worked on at once, for a few chains: they stay in the cache.
_AT_ONCE = 1 << 14
# Products with so many columns, most of them 0, are faster than sums of those that are not.
_NARROW = 64
_LOWEST = -1e300
# Slope and offset in standard units before any review: means 0, variances 1, no covariance.
_STANDARD = np.array([0.0, 0.0, 1.0, 0.0, 1.0])[:, None, None]


@dataclass(frozen=True, eq=False)
class People:
    """What is stated of everybody: `mean[person]` of (slope, offset), their covariance
    `(slope, slope), (slope, offset), (offset, offset)` as `covariance[person]`, and the variance of scores
    around them."""

    mean: Array
    covariance: Array
    variance: Array

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
class Block:
    """Papers with the same `rows[tuple, slot]` of places in a pool. By paper: its number, and those of
    its reviews (`paper`, `review[paper, slot]`); the person at each place, for each slot
    (`who[paper, slot, place]`; `*` is another one in every slot); the ends of each score's cell, `low` and
    `high[paper, slot]`, equal where scores are not rounded; and `log_base[paper, tuple]`, the prior and the
    chance of the decision."""

    paper: Integers
    review: Integers
    rows: Integers
    who: Integers
    low: Array
    high: Array
    log_base: Array = field(repr=False)

    @property
    def rounded(self) -> bool:
        return bool((self.low < self.high).any())

    @property
    def on(self) -> Array | csr_array:
        """`[tuple, slot * place]`: who stands where. A product with it sums over tuples; with its transpose,
        over the slots of each tuple."""
        tuples, slots = self.rows.shape
        column = self.rows + np.arange(slots) * self.who.shape[2]
        found = csr_array(
            (np.ones(column.size), (np.repeat(np.arange(tuples), slots), column.ravel())),
            shape=(tuples, slots * self.who.shape[2]),
        )
        return found.toarray() if found.shape[1] <= _NARROW else found


@dataclass(frozen=True, eq=False)
class Sheet:
    """All people, all papers in blocks, how many there are, and `named[review, place]`: which places of a
    paper's pool can be guessed. Reviews are numbered paper by paper."""

    people: People
    blocks: tuple[Block, ...]
    papers: int
    named: NDArray[np.bool_] = field(repr=False)

    @property
    def rounded(self) -> bool:
        return any(block.rounded for block in self.blocks)

    @property
    def on(self) -> list[Array | csr_array]:
        """Those of the blocks, made once where blocks have the same rows."""
        found = {id(block.rows): block for block in self.blocks}
        made = {rows: block.on for rows, block in found.items()}
        return [made[id(block.rows)] for block in self.blocks]


@dataclass(frozen=True, eq=False)
class Chains:
    """Where chains stand, and from which `start[chain]` they came: everybody's (slope, offset) in
    `drawn[chain, person]`, `quality[chain, paper]`, and the tuple in place, `pick[chain, paper]`; the sweeps
    `seen` so far, and in `tally[chain, review, place]` how often somebody wrote a review, by their chances.
    """

    start: Integers = field(repr=False)
    drawn: Array = field(repr=False)
    quality: Array = field(repr=False)
    pick: Integers = field(repr=False)
    seen: Array = field(repr=False)
    tally: Array = field(repr=False)
    rounds: int = 0


def sheet_of(views: Sequence[View]) -> Sheet:
    """The papers without decisions; refused where something is not what `learns` can handle."""
    affine = [_affine(view) for view in views]
    people, place = list[tuple[float, ...]](), dict[str, int]()
    whos = []
    for view, stated in zip(views, affine, strict=True):
        rows = _stated_rows(stated, len(view.names))
        whos.append(np.array([_persons(view.names, rows, people, place) for _ in view.scores]))
    return _sheet(views, whos, np.array(people))


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


def _persons(
    names: Sequence[str],
    rows: Sequence[tuple[float, ...]],
    people: list[tuple[float, ...]],
    place: dict[str, int],
) -> list[int]:
    """The numbers of a pool's people, who enter the list where they are new; `*` is always somebody new."""
    found = []
    for name, row in zip(names, rows, strict=True):
        if name == OUTSIDER or name not in place:
            place[name] = len(people)
            people.append(row)
        elif people[place[name]] != row:
            raise InputError("`learns` needs the same calibration of a reviewer for all papers")
        found.append(place[name])
    return found


def _sheet(views: Sequence[View], whos: Sequence[Integers], people: Array) -> Sheet:
    slots = np.array([len(view.scores) for view in views])
    first, width = np.cumsum(slots) - slots, max(len(view.names) for view in views)
    named = np.zeros((int(slots.sum()), width), dtype=np.bool_)
    for view, at in zip(views, first, strict=True):
        named[at : at + len(view.scores), : len(view.names)] = [name != OUTSIDER for name in view.names]
    rows = [member_rows(view) for view in views]
    cells = [_cells(view) for view in views]
    alike: dict[tuple[object, ...], list[int]] = {}
    for number, (view, row, (low, high)) in enumerate(zip(views, rows, cells, strict=True)):
        kind = row.shape, len(view.names), bool((low < high).any()), row.tobytes()
        alike.setdefault(kind, []).append(number)
    blocks = [
        Block(
            paper=np.array(some),
            review=first[some][:, None] + np.arange(rows[some[0]].shape[1]),
            rows=rows[some[0]],
            who=np.array([whos[one] for one in some]),
            low=np.array([cells[one][0] for one in some]),
            high=np.array([cells[one][1] for one in some]),
            log_base=np.array([views[one].log_prior for one in some]),
        )
        for every in alike.values()
        for some in _parted(every, rows[every[0]])
    ]
    return Sheet(People(people[:, :2], people[:, 2:5], people[:, 5]), tuple(blocks), len(views), named)


def _parted(papers: list[int], rows: Integers) -> list[list[int]]:
    size = max(1, _AT_ONCE // len(rows))
    return [papers[start : start + size] for start in range(0, len(papers), size)]


def _cells(view: View) -> tuple[Array, Array]:
    """The ends of the cell of each score; the score itself where it is not rounded."""
    scores = np.array(view.scores)
    if not isinstance(view.reviewers, Rounded):
        return scores, scores
    low, high = view.reviewers.edges(scores).T
    return low, high


def deciding(sheet: Sheet, likely: Sequence[Array]) -> Sheet:
    """The papers with what was decided: `likely[paper]` is the chance of the decision under each tuple. One
    that no tuple leads to says nothing."""
    blocks = []
    for block in sheet.blocks:
        chance = np.array(
            [likely[one] if likely[one].any() else np.ones_like(likely[one]) for one in block.paper]
        )
        with np.errstate(divide="ignore"):
            blocks.append(replace(block, log_base=block.log_base + np.log(chance)))
    return replace(sheet, blocks=tuple(blocks))


def at_start(sheet: Sheet, starts: Sequence[int], chains: int, seed: int) -> Chains:
    """So many chains at each of these starts: at what is stated (0), or away from it."""
    parts = [_one_start(sheet.people, one, np.random.default_rng([seed, one])) for one in starts]
    start = np.repeat(starts, chains)
    shape = start.size, sheet.papers
    return Chains(
        start=start,
        drawn=np.repeat(parts, chains, axis=0),
        quality=np.random.default_rng([seed, starts[0], 0, 0]).standard_normal(shape),
        pick=np.zeros(shape, dtype=np.int64),
        seen=np.zeros(start.size),
        tally=np.zeros((start.size, *sheet.named.shape)),
    )


def _one_start(people: People, start: int, rng: np.random.Generator) -> Array:
    normal = rng.standard_normal(people.mean.shape) * (_WIDER if start else 0.0)
    return people.mean + _rooted(people.root, normal.T)


def swept(chains: Chains, sheet: Sheet, sweeps: int, rng: np.random.Generator, skipped: int = 0) -> Chains:
    """The chains after this many sweeps, of which all but the first ones are counted."""
    drawn, quality, pick = chains.drawn, chains.quality.copy(), chains.pick.copy()
    people, root = sheet.people, sheet.people.root
    totals, ons = [np.zeros((len(drawn), *block.who.shape)) for block in sheet.blocks], sheet.on
    for sweep in range(sweeps):
        chance, normal = rng.random(quality.shape), rng.standard_normal(quality.shape)
        within = rng.random((len(drawn), len(sheet.named))) if sheet.rounded else None
        sums = np.zeros((5, *drawn.shape[:2]))
        for block, total, on in zip(sheet.blocks, totals, ons, strict=True):
            at = block.paper
            share = _shares(block, on, drawn, people.variance, quality[:, at])
            if sweep >= skipped:
                total += np.asarray(share.reshape(-1, on.shape[0]) @ on).reshape(total.shape)
            pick[:, at] = _picked(share, chance[:, at])
            cell = None if within is None else within[:, block.review]
            reviews = _written(block, drawn, people.variance, quality[:, at], pick[:, at], cell)
            quality[:, at] = reviews.quality(normal[:, at])
            sums += _reviewer_sums(reviews, quality[:, at], people)
        drawn = _drawn_people(people, root, sums, rng.standard_normal(drawn.shape))
    tally = chains.tally.copy()
    for block, total in zip(sheet.blocks, totals, strict=True):
        tally[:, block.review, : total.shape[-1]] += total
    seen = chains.seen + max(0, sweeps - skipped)
    return Chains(chains.start, drawn, quality, pick, seen, tally, chains.rounds + 1)


def _shares(block: Block, on: Array | csr_array, drawn: Array, variance: Array, quality: Array) -> Array:
    """`[chain, paper, tuple]`: the chance of each tuple, given everybody's slope and offset; quality
    integrated out where scores are not rounded, and as it is where they are."""
    a, b, v = drawn[:, block.who, 0], drawn[:, block.who, 1], variance[block.who]
    if block.rounded:
        mean, spread = a * quality[:, :, None, None] + b, np.sqrt(v)
        ends = (block.low[..., None] - mean) / spread, (block.high[..., None] - mean) / spread
        # What is no float is out as well.
        (log,) = _summed([np.maximum(log_normal_between(*ends), _LOWEST)], on)
    else:
        rest = block.low[..., None] - b
        known, pull, square = _summed([a**2 / v, a * rest / v, rest**2 / v + np.log(v)], on)
        # -(square + log precision - pull^2/precision)/2, precision = 1 + known: in place, for speed.
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
    """`[value, chain, paper, tuple]` from `[chain, paper, slot, place]` each: sums over a tuple's slots."""
    chains, papers = values[0].shape[:2]
    flat = np.stack(values).reshape(-1, on.shape[1])
    return np.asarray(flat @ on.T).reshape(len(values), chains, papers, on.shape[0])


def _picked(share: Array, chance: Array) -> Integers:
    """`[chain, paper]`: one of the tuples, by their shares; those without any are never it."""
    ends = share.cumsum(axis=2)
    pick = (ends <= chance[..., None] * ends[..., -1:]).sum(axis=2)
    return np.asarray(np.minimum(pick, share.shape[2] - 1))


@dataclass(frozen=True, eq=False)
class _Written:
    """Who wrote what, in `[chain, paper, slot]`: person, slope, offset, variance, and the score as it was
    before rounding."""

    who: Integers
    slope: Array
    offset: Array
    variance: Array
    score: Array

    def quality(self, normal: Array) -> Array:
        """`[chain, paper]`: N(pull/precision, 1/precision), with precision = 1 + sum slope^2/variance and
        pull = sum slope (score - offset)/variance."""
        precision = 1.0 + (self.slope**2 / self.variance).sum(axis=2)
        pull = (self.slope * (self.score - self.offset) / self.variance).sum(axis=2)
        return conditional_normal(pull, precision, normal)


def _written(
    block: Block, drawn: Array, variance: Array, quality: Array, pick: Integers, within: Array | None
) -> _Written:
    place = block.rows[pick]
    paper, slot = np.arange(block.paper.size)[:, None], np.arange(place.shape[2])
    who = block.who[paper, slot, place]
    a, b = np.moveaxis(drawn[np.arange(len(drawn))[:, None, None], who], -1, 0)
    v, score = variance[who], np.broadcast_to(block.low, who.shape)
    if block.rounded and within is not None:
        score = truncated_normal(a * quality[..., None] + b, np.sqrt(v), block.low, block.high, within)
    return _Written(who, a, b, v, score)


def _reviewer_sums(reviews: _Written, quality: Array, people: People) -> Array:
    """What reviews say about the differences of slopes and offsets from the stated ones.

    A log likelihood `[5, chain, person]` in the rows of `bivariate_posterior`.
    """
    chains, size = len(reviews.who), len(people.mean)
    at = (reviews.who + np.arange(chains)[:, None, None] * size).ravel()
    slope, offset = np.moveaxis(people.mean[reviews.who], -1, 0)
    t = quality[..., None]
    sums = regression_sums(
        t,
        reviews.score - slope * t - offset,
        1.0 / reviews.variance,
        lambda part: np.bincount(at, part.ravel(), chains * size).astype(np.float64, copy=False),
    )
    return sums.reshape(5, chains, size)


def _drawn_people(people: People, root: Array, sums: Array, normal: Array) -> Array:
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
# So many chains and starts for each outcome that was drawn, and looks at them.
_FEW, _FEW_STARTS, _FEW_LOOKS = 8, 4, 3
# Sweeps that are not counted, and those between looks.
_WARM, _LOOK = 150, 50
MOST = 30
_LEAST = 1e-12
# Chains with fewer weights of tuples than this are worked on together.
_TOGETHER = 1 << 16


@dataclass(frozen=True)
class Learned(Guessed):
    """What chains found. `sweeps`: how many each of them counted. `by_start`: the chance that the same
    guesses are right, by the chains from each start; `pick[chain, paper]`: the tuple that each chain drew
    last."""

    chains: int
    starts: int
    sweeps: int
    by_start: Array = field(repr=False, compare=False)
    pick: Integers = field(repr=False, compare=False)


def learn(
    sheet: Sheet,
    *,
    target: float = TARGET,
    most: int = MOST,
    chains: int = CHAINS,
    starts: int = STARTS,
    seed: int = 0,
    workers: Workers = 1,
    advance: Callable[[int], None] | None = None,
) -> Learned:
    """Sweep until the error is at most `target`, or `most` looks were taken. `advance` is called with 1 for
    each start of a look, and at the end with what was not needed."""
    parts = [at_start(sheet, some, chains // starts, seed) for some in _grouped_starts(sheet, chains, starts)]
    done = None if advance is None else lambda ended: advance(ended * starts // len(parts))
    for look in range(most):
        warm = 0 if look else _WARM
        onward = partial(_onward, sheet=sheet, sweeps=warm + _LOOK, skipped=warm, seed=seed)
        parts = each(onward, parts, workers=workers, advance=done)
        found = _found(parts, sheet)
        if look and found.error <= target:
            break
    if advance is not None:
        advance((most - 1 - look) * starts)
    return found


def _grouped_starts(sheet: Sheet, chains: int, starts: int) -> list[list[int]]:
    """The starts that are worked on together: all of them where papers are few, whatever the number of
    processes."""
    tuples = chains * sum(block.log_base.size for block in sheet.blocks)
    return [[one] for one in range(starts)] if tuples > _TOGETHER else [list(range(starts))]


def _onward(chains: Chains, sheet: Sheet, sweeps: int, skipped: int, seed: int) -> Chains:
    rng = np.random.default_rng([seed, int(chains.start[0]), 1 + chains.rounds])
    return swept(chains, sheet, sweeps, rng, skipped)


def _found(parts: Sequence[Chains], sheet: Sheet) -> Learned:
    start, seen, tally, pick = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("start", "seen", "tally", "pick")
    )
    guess = (tally.sum(axis=0) * sheet.named).argmax(axis=1)
    right = tally[:, np.arange(guess.size), guess].mean(axis=1) / seen
    starts = np.unique(start)
    return Learned(
        **vars(guessed(tally, seen, start, sheet.named)),
        chains=seen.size,
        starts=starts.size,
        sweeps=round(float(seen.max())),
        by_start=np.array([right[start == one].mean() for one in starts]),
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
    progress: Progress = silent,
) -> list[Finding]:
    """What decisions add for somebody who learns calibration across papers, and beside each the same for who
    takes papers one by one. Measured, with a standard error; exact where nothing is uncertain.

    `views` are the papers, as `planned_views` or `open_release` has them; `policies` whose decisions are
    compared. Chains go on until the standard error of a chance is at most `target`, for `most` looks at most.
    The same `seed` gives the same numbers, whatever the number of `workers`; `progress` shows how far they
    are.

    Decisions that are the same whoever reviewed, as raw and public ones are, add nothing.

    >>> from blindcal.adversaries.paper_view import case_view
    >>> from blindcal.posterior.paper import PaperCase
    >>> from blindcal.policy.policy import Policy
    >>> strict, lenient = (1.0, 4.0, 1.0, 0.0, 0.0, 0.0, 0.0), (1.0, 6.0, 1.0, 0.0, 0.0, 0.0, 0.0)
    >>> case = PaperCase("p", (5.0,), ("ada", "ben"), (0.5, 0.5), (strict, lenient), bar=0.0)
    >>> found = learning_findings([case_view(case, Policy([0.5, 0.5]), 1.0)], ["chosen", "full"])
    >>> [(one.question, one.policy, one.baseline, one.success) for one in found][:2]
    [('author', 'chosen', 0.5, 0.5), ('author', 'full', 0.5, 1.0)]
    """
    plain = [named(paper_findings(LEARNS, views, policy), policy) for policy in policies]
    sheet = sheet_of(views)
    if not sheet.people.uncertain:
        name = f"{LEARNS} (which is stated without errors, so there is nothing to learn)"
        return _beside(name, plain, plain)
    revealing = [policy for policy in policies if any(_reveals(view, policy) for view in views)]
    tossed = all(view.outcome is not None for view in views)
    steps = (1 + len(revealing) * tossed) * most * STARTS + (not tossed) * len(revealing) * CHAINS
    with progress("learning calibration from all papers", steps) as advance:
        sweep = partial(learn, target=target, most=most, seed=seed, workers=workers, advance=advance)
        alone = sweep(sheet)
        found: dict[str, Guessed] = {}
        for policy in revealing:
            if tossed:
                found[policy] = sweep(deciding(sheet, [_likely(view, policy) for view in views]))
            else:
                found[policy] = _expected(views, sheet, policy, alone, seed, workers, advance)
    every = [alone, *found.values()]
    if not all(one.agrees for one in every):
        raise InputError(
            "`learns`: chains from different starts do not agree, so nothing can be said of this adversary"
        )
    name = (
        f"{LEARNS} (measured, no certificate covers it; {alone.chains} chains from {alone.starts} starts, "
        f"which differ by at most {max(one.apart for one in every):.1f} standard errors; those of chances "
        f"are up to {100 * max(one.error for one in every):.2f})"
    )
    return _beside(name, [_finding(name, policy, alone, found.get(policy)) for policy in policies], plain)


def _reveals(view: View, policy: str) -> bool:
    """Whether the decision depends on who reviewed the paper."""
    return float(np.ptp(view.accept[policy] if view.outcome is None else view.outcome[policy])) > 0.0


def _likely(view: View, policy: str) -> Array:
    """The chance of what was published, by tuple; 1 where nobody of the pool could have led to it."""
    chance = np.ones_like(view.weight) if view.outcome is None else view.outcome[policy]
    return chance if (view.weight * chance).any() else np.ones_like(chance)


def _finding(name: str, policy: str, alone: Guessed, decided: Guessed | None) -> Finding:
    if decided is None:
        return Finding(name, AUTHOR, policy, alone.success, alone.success)
    error = float(np.hypot(alone.error, decided.error))
    return Finding(name, AUTHOR, policy, alone.success, decided.success, error)


def _beside(name: str, found: Sequence[Finding], plain: Sequence[Finding]) -> list[Finding]:
    """The findings under one name, and those of papers taken one by one."""
    return [
        *(Finding(name, AUTHOR, one.policy, one.baseline, one.success, one.error) for one in found),
        *(Finding(name, ONE_BY_ONE, one.policy, one.baseline, one.success, one.error) for one in plain),
    ]


def _expected(
    views: Sequence[View],
    sheet: Sheet,
    policy: str,
    alone: Learned,
    seed: int,
    workers: Workers,
    advance: Callable[[int], None],
) -> Guessed:
    """The mean over outcomes, one for each chain: a paper's decision is tossed by its table for the tuple
    that the chain drew last. Its error is that of the draws and of the chains together; starts differ where
    one is better or worse on all outcomes."""
    accept = [view.accept[policy] for view in views]
    tossing = partial(_tossed, sheet=sheet, accept=accept, seed=seed)
    found = each(tossing, list(enumerate(alone.pick)), workers=workers, advance=advance)
    success, low = np.array([[one.success, one.low] for one in found]).T
    by_start = np.array([one.by_start for one in found])
    others = (by_start.sum(axis=1, keepdims=True) - by_start) / (by_start.shape[1] - 1)
    rest, root = by_start - others, np.sqrt(len(found))
    spread = np.maximum(rest.std(axis=0, ddof=1), _LEAST) / root
    middle, least = float(success.mean()), float(low.mean())
    return Guessed(
        success=middle,
        error=float(np.hypot(success.std(ddof=1) / root, middle - least)),
        low=least,
        high=2.0 * middle - least,
        apart=float((np.abs(rest.mean(axis=0)) / spread).max()),
    )


def _tossed(job: tuple[int, Integers], sheet: Sheet, accept: Sequence[Array], seed: int) -> Learned:
    """What chains find with one outcome of all papers, for one tuple of each."""
    number, pick = job
    chance = np.random.default_rng([seed, number, 0, 0]).random(pick.size)
    likely = [
        table if one < table[row] else 1.0 - table
        for one, row, table in zip(chance, pick, accept, strict=True)
    ]
    decided = deciding(sheet, likely)
    return learn(
        decided, target=0.0, most=_FEW_LOOKS, chains=_FEW, starts=_FEW_STARTS, seed=seed + 1 + number
    )
