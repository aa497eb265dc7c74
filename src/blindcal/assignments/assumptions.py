"""Pools for an assignment that was already made, each named for what it assumes.

Nobody computed chances when the papers were assigned, so any prior is an assumption about what the adversary
knows. The promise holds against someone who knows just that; anyone who knows more can do better.
"""

from __future__ import annotations

import numpy as np

from blindcal.assignments.priors import inclusion
from blindcal.assignments.similarities import Similarity
from blindcal.errors import InputError

ASSUMPTIONS = {
    "eligible": (
        "everyone without a conflict is as likely to have reviewed a paper: against someone who knows the "
        "conflicts, and neither bids nor similarities nor how papers were assigned"
    ),
    "bidders": (
        "everyone with a similarity above 0 and no conflict is as likely: against someone who knows who "
        "could be asked, and not how papers were assigned among them"
    ),
    "similarity": (
        "chances are in proportion to similarity: against someone who knows all similarities and takes the "
        "assignment for a draw by them. A real assignment of greatest similarity is more predictable than "
        "that"
    ),
}
"""What each kind of pool assumes, in a sentence."""


def assumed_pools(similarity: Similarity, assume: str, per_paper: int) -> dict[str, dict[str, float]]:
    """Each paper's candidates with their chances, for an assignment that was made without any.

    `similarity`: of papers and reviewers; nobody with a conflict is a candidate.
    `assume`: `eligible`, `bidders` or `similarity`; what each assumes is said in `ASSUMPTIONS`.
    `per_paper`: how many reviews each paper has, which is what its chances sum to.

    >>> similarity = Similarity.dense(["p"], ["a", "b", "c"], [[3.0, 1.0, 0.0]])
    >>> assumed_pools(similarity, "similarity", 1)
    {'p': {'a': 0.75, 'b': 0.25}}
    >>> assumed_pools(similarity, "bidders", 1)
    {'p': {'a': 0.5, 'b': 0.5}}
    """
    if assume not in ASSUMPTIONS:
        raise InputError(f"`assume` must be one of {', '.join(ASSUMPTIONS)}, found {assume!r}")
    if per_paper < 1:
        raise InputError(f"`per_paper` must be at least 1, found {per_paper}")
    found, few = {}, []
    for index, paper in enumerate(similarity.papers):
        value = similarity.value[[index]].toarray()[0]
        weight = {"eligible": np.ones(value.size), "bidders": (value > 0) * 1.0, "similarity": value}[assume]
        weight = np.where(similarity.barred[[index]].toarray()[0], 0.0, weight)
        who = np.flatnonzero(weight)
        if who.size < per_paper:
            few.append(f"{paper!r} with {who.size}")
            continue
        chances = inclusion(weight[who].tolist(), per_paper)
        found[paper] = {
            similarity.reviewers[j]: chance for j, chance in zip(who.tolist(), chances, strict=True)
        }
    if few:
        more = f" and {len(few) - 3} more" if len(few) > 3 else ""
        raise InputError(
            f"every paper must have {per_paper} candidates where `assume` is {assume}, found "
            f"{', '.join(few[:3])}{more}"
        )
    return found
