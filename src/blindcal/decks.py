"""Conference + Guarantee -> the table of every paper, and the price of a budget that they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from blindcal.budgets import allocate, at_price
from blindcal.cases import PaperCase
from blindcal.checks import Array
from blindcal.conferences import Conference
from blindcal.guarantees import Guarantee
from blindcal.solvers import PaperProgram, Solved
from blindcal.workers import each

_SAME_VERTEX = 1e-9
# A budget row exactly at the least success is met by a rounding or not at all.
_ROOM = 1e-12


@dataclass(frozen=True, eq=False)
class Tables:
    """One table a paper. `price`: wrong decisions per added right guess about a review, at which a shared
    budget was spent (None: no budget). `gap`: by how much more wrong decisions a paper than the proved bound
    the worst table may make."""

    accept: tuple[Array, ...]
    price: float | None
    gap: float


@dataclass(frozen=True, eq=False)
class Chain:
    """One paper's frontier: errors non-decreasing, success non-increasing, vertex by vertex."""

    error: Array
    success: Array
    reviews: int


def tables(
    conference: Conference,
    guarantee: Guarantee,
    *,
    price: float | None = None,
    workers: int = 1,
    advance: Callable[[int], None] | None = None,
) -> Tables:
    """The table of every paper, in the conference's order; `advance(n)` as papers are done.

    Every table is a function of its paper's public data, the guarantee and, for a budget over all papers,
    the price at which it was spent. A `price` that is given is kept: that of an earlier release.
    """
    if not guarantee.spends:
        solved = each(
            partial(solve_case, guarantee=guarantee), conference.cases, workers=workers, advance=advance
        )
        return _tables(solved, None)
    chains = each(partial(chain, guarantee=guarantee), conference.cases, workers=workers, advance=advance)
    limits, spent = _spend(chains, guarantee, price)
    jobs = list(zip(conference.cases, limits.tolist(), strict=True))
    solved = each(partial(_solve_within, guarantee=guarantee), jobs, workers=workers, advance=None)
    return _tables(solved, spent)


def solve_case(case: PaperCase, guarantee: Guarantee) -> Solved:
    """The best table of one paper."""
    return PaperProgram(case, guarantee).solve()


def _solve_within(job: tuple[PaperCase, float], guarantee: Guarantee) -> Solved:
    case, success = job
    program = PaperProgram(case, guarantee)
    return program.solve(success=max(success, program.scores_only) + _ROOM)


def _tables(solved: Sequence[Solved], price: float | None) -> Tables:
    gap = max((one.error - one.bound for one in solved), default=0.0)
    return Tables(tuple(one.accept for one in solved), price, max(0.0, gap))


def chain(case: PaperCase, guarantee: Guarantee) -> Chain:
    """A paper's frontier between deciding by the evidence and adding no success, within the other limits.

    Between two vertices the program that prices success at their chord's slope finds a vertex below the
    chord, or shows that there is none.
    """
    program = PaperProgram(case, guarantee)
    first, last = program.solve(), program.solve(success=program.scores_only + _ROOM)
    found, pending = [first], [(first, last)]
    while pending:
        left, right = pending.pop()
        between = _between(program, left, right)
        if between is None:
            found.append(right)
        else:
            pending += [(between, right), (left, between)]
    error = np.maximum.accumulate([one.error for one in found])
    success = np.minimum.accumulate([one.success for one in found])
    return Chain(error, success, len(case.scores))


def _between(program: PaperProgram, left: Solved, right: Solved) -> Solved | None:
    run, rise = left.success - right.success, right.error - left.error
    if run <= _SAME_VERTEX or rise <= _SAME_VERTEX:
        return None
    price = rise / run
    found = program.solve(price=price)
    gain = left.error + price * left.success - (found.error + price * found.success)
    return found if gain > _SAME_VERTEX * (1.0 + price) else None


def _spend(chains: Sequence[Chain], guarantee: Guarantee, price: float | None) -> tuple[Array, float]:
    """Each paper's success at the price that spends the budget, and that price."""
    longest = max(one.error.size for one in chains)
    error, miss = (
        np.stack([np.pad(part, (0, longest - part.size), mode="edge") for part in parts])
        for parts in ([one.error for one in chains], [1.0 - one.success for one in chains])
    )
    reviews = np.array([one.reviews for one in chains], dtype=np.float64)
    shares = reviews / reviews.sum()
    # Prices of the allocation are per mean error and mean success; a chair's price is per paper and review.
    unit = reviews.sum() / len(chains)
    if price is not None:
        chosen = at_price(error, miss, price * unit, adversary_weights=shares)
    else:
        alone = float(shares @ miss[:, -1])
        target = max(alone - guarantee.added_success, float(shares @ miss[:, 0]))
        chosen = allocate(error, miss, adversary_limit=target, adversary_weights=shares)
    return 1.0 - chosen.adversary_error, chosen.price / unit
