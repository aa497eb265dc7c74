"""What calibration fitted on the reviews being decided gives away: naming reviewers from published offsets.

Each reviewer's "offset" is the mean of the scores they gave in this very conference, to two decimals. An
adversary that sees scores, pools and these offsets, and no decision at all, lists for every reviewer the
ways to have written reviews of the papers in whose pools they are, keeps those whose mean is the published
one, and names for each review the candidate that most of them (by prior weight) point to. It looks at one
reviewer at a time, so what it finds is a lower bound. Writes docs/numbers/fitted_on_itself.json.

    python studies/fitted_on_itself.py
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from blindcal.simulation.conference import SimulatedConference, simulate
from stated import keep

_MOST_PAPERS = 9


@dataclass(frozen=True)
class Leak:
    """Chance to name a reviewer: from the pools alone, and with the fitted offsets beside them."""

    pools_alone: float
    with_fitted_offsets: float
    reviews: int


def compute(papers: int = 300, pool: int = 8, per_paper: int = 3, seed: int = 1) -> Leak:
    """Reviewers in more than nine pools are not looked at: they keep the chance that the pool gives them."""
    drawn = simulate(papers, pool, per_paper, seed=seed)
    score = drawn.score.round(2)
    chance = np.full((papers, per_paper, len(drawn.slope)), 1 / pool)
    for j in range(len(drawn.slope)):
        _look_at(j, drawn, score, chance)
    right = 0
    for i in range(papers):
        named = drawn.pool[i][chance[i][:, drawn.pool[i]].argmax(axis=1)]
        right += int((named == drawn.reviewer[i]).sum())
    return Leak(1 / pool, right / (papers * per_paper), papers * per_paper)


def _look_at(j: int, drawn: SimulatedConference, score: np.ndarray, chance: np.ndarray) -> None:
    """Fill in P(j wrote the review) for the papers in whose pools j is."""
    where = np.flatnonzero((drawn.pool == j).any(axis=1))
    if not 0 < where.size <= _MOST_PAPERS:
        return
    slots = score.shape[1]
    ways = np.array(list(product(range(slots + 1), repeat=where.size)))
    given = np.concatenate([score[where], np.zeros((where.size, 1))], axis=1)
    total = given[np.arange(where.size), ways].sum(axis=1)
    written = (ways < slots).sum(axis=1)
    wrote = drawn.reviewer[where] == j
    published = round(float(score[where][wrote].mean()), 2) if wrote.any() else None
    if published is None:
        fits = written == 0
    else:
        fits = (written > 0) & (np.abs(total / np.maximum(written, 1) - published) <= 0.005 + 1e-9)
    inside = slots / drawn.pool.shape[1]
    weight = fits * (inside / slots) ** written * (1 - inside) ** (where.size - written)
    for index, i in enumerate(where):
        for slot in range(slots):
            chance[i, slot, j] = weight[ways[:, index] == slot].sum() / weight.sum()


def sentences(leak: Leak) -> dict[str, list[str]]:
    named, alone = 100 * leak.with_fitted_offsets, 100 * leak.pools_alone
    told = [
        f"names {named:.1f} % of the reviewers without seeing any decision",
        f"against {alone:.1f} % from the pools",
    ]
    return {"docs/evidence/adversaries.md": told}


def main() -> None:
    told = sentences(compute())
    print(*told["docs/evidence/adversaries.md"])
    keep("fitted_on_itself", "python studies/fitted_on_itself.py", {}, told)


if __name__ == "__main__":
    main()
