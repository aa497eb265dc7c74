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

ITEMS = {
    "Setting (Section 3)": "setting",
    "Table 1": "to_letters",
    "Proposition 4.1": "proposition_4_1",
    "Theorem 4.2": "theorem_4_2",
    "Theorem 4.3": "theorem_4_3",
    "Algorithm 1": "algorithm_1",
    "Theorem 4.4": "theorem_4_4",
    "Algorithm 2": "algorithm_2",
    "Theorem 4.5": "theorem_4_5",
    "Theorem 4.6": "theorem_4_6",
    "Algorithm 3": "algorithm_3",
    **{f"Figure {number}": f"figures.figure_{number}" for number in range(1, 7)},
    "Appendix A": "figures.figure_3",
    "Definition B.1": "definition_b_1",
    "Definition B.2": "definition_b_2",
    "Proposition B.3": "proposition_b_3",
    "Appendix B, the strategies": "strategy_epsilon",
}
"""Every item of the paper, and the function of this package that has it."""

__all__ = [
    "INTERIOR",
    "ITEMS",
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
