"""A belief and a guarantee to the accept probabilities that err least.

In: `Belief`, `Guarantee`. Out: `Policy`, whole frontiers, the best split of a budget. Open
`guarantee` first, then `solver`, which picks a closed form or a program of `accept_lp`.
`multi_outcome` has more than two decisions, `average_case` scores that are not yet known. Imports:
posterior and earlier.
"""

from blindcal.policy.accept_lp import Solution
from blindcal.policy.average_case import AverageFrontier, AverageRule, average_frontier
from blindcal.policy.budget import Spending, spend
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.multi_outcome import (
    LossFrontier,
    OutcomeProbabilities,
    Selection,
    least_loss,
    loss_frontier,
    selection,
)
from blindcal.policy.pareto_frontier import (
    Frontier,
    composed_epsilon,
    composed_success,
    frontier,
    largest_success,
    least_epsilon,
)
from blindcal.policy.policy import Policy, epsilon_policy, evidence_policy, public_policy
from blindcal.policy.solver import limit_frontier, private_policy, solve

__all__ = [
    "AverageFrontier",
    "AverageRule",
    "Frontier",
    "Guarantee",
    "LossFrontier",
    "OutcomeProbabilities",
    "Policy",
    "Selection",
    "Solution",
    "Spending",
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
    "public_policy",
    "selection",
    "solve",
    "spend",
]
