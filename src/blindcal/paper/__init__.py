"""The paper's own items under their own numbers and letters; docs/research/paper.md lists them all.

In: beliefs about two assignments, made in the paper's letters (`setting`). Out: its theorems, algorithms and
Appendix B (`theorems`), Appendix A (`appendix_simulations`), its figures (`figures`). Open `theorems` first.
Imports: simulation and earlier.
"""

from typing import TYPE_CHECKING

from blindcal.lazy_names import lazy_names

if TYPE_CHECKING:
    from blindcal.paper import figures as figures
    from blindcal.paper.appendix_simulations import appendix_a as appendix_a
    from blindcal.paper.figures import figure as figure
    from blindcal.paper.theorems import INTERIOR as INTERIOR
    from blindcal.paper.theorems import PAPER_1 as PAPER_1
    from blindcal.paper.theorems import PAPER_2 as PAPER_2
    from blindcal.paper.theorems import SATURATED as SATURATED
    from blindcal.paper.theorems import Calibrated as Calibrated
    from blindcal.paper.theorems import Letters as Letters
    from blindcal.paper.theorems import Segment as Segment
    from blindcal.paper.theorems import algorithm_1 as algorithm_1
    from blindcal.paper.theorems import algorithm_2 as algorithm_2
    from blindcal.paper.theorems import algorithm_3 as algorithm_3
    from blindcal.paper.theorems import definition_b_1 as definition_b_1
    from blindcal.paper.theorems import definition_b_2 as definition_b_2
    from blindcal.paper.theorems import from_letters as from_letters
    from blindcal.paper.theorems import proposition_4_1 as proposition_4_1
    from blindcal.paper.theorems import proposition_b_3 as proposition_b_3
    from blindcal.paper.theorems import response_policy as response_policy
    from blindcal.paper.theorems import setting as setting
    from blindcal.paper.theorems import strategy_epsilon as strategy_epsilon
    from blindcal.paper.theorems import theorem_4_2 as theorem_4_2
    from blindcal.paper.theorems import theorem_4_3 as theorem_4_3
    from blindcal.paper.theorems import theorem_4_4 as theorem_4_4
    from blindcal.paper.theorems import theorem_4_5 as theorem_4_5
    from blindcal.paper.theorems import theorem_4_6 as theorem_4_6
    from blindcal.paper.theorems import to_letters as to_letters
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__)

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
    "Appendix A": "appendix_a",
    "Definition B.1": "definition_b_1",
    "Definition B.2": "definition_b_2",
    "Proposition B.3": "proposition_b_3",
    "Appendix B, the strategies": "strategy_epsilon",
}
"""Every item of the paper, and the function of this package that has it."""
