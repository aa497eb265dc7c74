"""`Belief` + `Guarantee` -> the best policy: accept probabilities for each secret.

In: a belief and limits on what decisions may reveal. Out: policies, whole frontiers, what a budget buys.
`solvers` is the door: closed forms, the program of a belief (`programs`), that of large pools (`lumps`). A
new guarantee is a name or a limit in `guarantees`, rows in `programs`, exact checks in `plans.certificates`
and `plans.outcomes` (in `plans.equations` if it pins a share, in `plans.papers` for papers decided again), a
limit in `audits.comparisons`. Its name in files is in `plans.requests`: left out at its default, or earlier
releases no longer verify. Options are in `cli.inputs`, `cli.folders`, `folders.asking`, `folders.settings`,
`folders.templates` and `app.steps`, words in `decisions.statements`, `reports.sentences` and
`reports.explanations`. `solvers`, `pairwise`, `losses`, `lumps` and `plans.menus` must know it or refuse it.
CONTRIBUTING.md has the steps.
`average_case` is for scores that are not seen yet. Imports: beliefs and below.
"""

from blindcal.policies.average_case.averages import AverageFrontier, AverageRule, average_frontier
from blindcal.policies.bounds import composed_epsilon, composed_success, largest_success, least_epsilon
from blindcal.policies.budgets import Allocation, Spending, allocate, spend
from blindcal.policies.frontiers import Frontier, frontier
from blindcal.policies.guarantees import Guarantee
from blindcal.policies.losses import Chances, LossFrontier, least_loss, loss_frontier
from blindcal.policies.policy import (
    Policy,
    epsilon_policy,
    evidence_policy,
    proposition_strategy,
    public_policy,
)
from blindcal.policies.programs import Solution
from blindcal.policies.solvers import limit_frontier, private_policy, solve

__all__ = [
    "Allocation",
    "AverageFrontier",
    "AverageRule",
    "Chances",
    "Frontier",
    "Guarantee",
    "LossFrontier",
    "Policy",
    "Solution",
    "Spending",
    "allocate",
    "average_frontier",
    "composed_epsilon",
    "composed_success",
    "epsilon_policy",
    "evidence_policy",
    "frontier",
    "largest_success",
    "least_epsilon",
    "least_loss",
    "limit_frontier",
    "loss_frontier",
    "private_policy",
    "proposition_strategy",
    "public_policy",
    "solve",
    "spend",
]
