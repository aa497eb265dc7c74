"""Chains over everybody's calibration -> what somebody gains who takes all papers together and learns it.

The certificate's adversary holds the stated calibration with its errors and takes papers one by one. This one
starts from the same distribution; all scores, and all decisions, say how strict everybody really is, and what
it has learned from one paper it uses on the others. No certificate covers it: what is found here is measured,
by chains (`sweeping`) from several starts, with the two estimates and the agreement of `looking`.

Of a release its decisions are known. Before the toss outcomes are drawn: one for each chain, from the tables,
for the reviewers that the chain has drawn; what is found with each of them is averaged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from blindcal.audits.findings import Finding, named, paper_findings
from blindcal.audits.looking import TARGET, Guessed, guessed
from blindcal.audits.questions import AUTHOR, ONE_BY_ONE
from blindcal.audits.sweeping import Chains, Sheet, at_start, deciding, sheet_of, swept
from blindcal.audits.views import POLICIES, View
from blindcal.checks import Array, Integers
from blindcal.errors import InputError
from blindcal.workers import Progress, Workers, each, silent

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
    parts = [at_start(sheet, some, chains // starts, seed) for some in _parted(sheet, chains, starts)]
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


def _parted(sheet: Sheet, chains: int, starts: int) -> list[list[int]]:
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

    >>> from blindcal.audits.views import case_view
    >>> from blindcal.beliefs.cases import PaperCase
    >>> from blindcal.policies.policy import Policy
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
