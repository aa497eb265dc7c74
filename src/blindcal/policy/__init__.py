"""A belief and a guarantee to the accept probabilities that err least.

In: `Belief`, `Guarantee`. Out: `Policy`, whole frontiers, the best split of a budget. Open
`guarantee` first, then `solver`, which picks a closed form or a program of `accept_lp`.
`average_case` has scores that are not yet known. Imports: posterior and earlier.
"""

from typing import TYPE_CHECKING

from blindcal.lazy_names import lazy_names

if TYPE_CHECKING:
    from blindcal.policy.accept_lp import Solution as Solution
    from blindcal.policy.average_case import AverageFrontier as AverageFrontier
    from blindcal.policy.average_case import AverageRule as AverageRule
    from blindcal.policy.average_case import average_frontier as average_frontier
    from blindcal.policy.budget import Spending as Spending
    from blindcal.policy.budget import spend as spend
    from blindcal.policy.guarantee import Guarantee as Guarantee
    from blindcal.policy.pareto_frontier import Frontier as Frontier
    from blindcal.policy.pareto_frontier import composed_epsilon as composed_epsilon
    from blindcal.policy.pareto_frontier import composed_success as composed_success
    from blindcal.policy.pareto_frontier import frontier as frontier
    from blindcal.policy.pareto_frontier import largest_success as largest_success
    from blindcal.policy.pareto_frontier import least_epsilon as least_epsilon
    from blindcal.policy.policy import Policy as Policy
    from blindcal.policy.policy import epsilon_policy as epsilon_policy
    from blindcal.policy.policy import evidence_policy as evidence_policy
    from blindcal.policy.policy import public_policy as public_policy
    from blindcal.policy.solver import limit_frontier as limit_frontier
    from blindcal.policy.solver import private_policy as private_policy
    from blindcal.policy.solver import solve as solve
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__)
