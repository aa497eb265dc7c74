"""The paper's own items under their own numbers and letters; docs/research/paper.md lists them all.

In: beliefs about two assignments, made in the paper's letters (`setting`). Out: its theorems and algorithms
and Appendix B (`theorems`), and the data of its figures (`figures`). Open `theorems` first.
Imports: simulation and earlier.
"""

from blindcal.paper import figures
from blindcal.paper.figures import figure
from blindcal.paper.theorems import (
    INTERIOR,
    PAPER_1,
    PAPER_2,
    SATURATED,
    Calibrated,
    Letters,
    Segment,
    algorithm_1,
    algorithm_2,
    algorithm_3,
    definition_b_1,
    definition_b_2,
    from_letters,
    proposition_4_1,
    proposition_b_3,
    response_policy,
    setting,
    strategy_epsilon,
    theorem_4_2,
    theorem_4_3,
    theorem_4_4,
    theorem_4_5,
    theorem_4_6,
    to_letters,
)

__all__ = [
    "INTERIOR",
    "PAPER_1",
    "PAPER_2",
    "SATURATED",
    "Calibrated",
    "Letters",
    "Segment",
    "algorithm_1",
    "algorithm_2",
    "algorithm_3",
    "definition_b_1",
    "definition_b_2",
    "figure",
    "figures",
    "from_letters",
    "proposition_4_1",
    "proposition_b_3",
    "response_policy",
    "setting",
    "strategy_epsilon",
    "theorem_4_2",
    "theorem_4_3",
    "theorem_4_4",
    "theorem_4_5",
    "theorem_4_6",
    "to_letters",
]
