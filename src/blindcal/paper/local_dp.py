"""Appendix B: local differential privacy and binary randomized response, beside the strategies of the paper.

Definition B.2 as printed gives the true bit with probability `1/(1+gamma)`, so at `gamma = e^epsilon` it lies
most of the time. It is epsilon-differentially private all the same; the useful response swaps its outputs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from blindcal.checks import Array, nonnegative, positive, within
from blindcal.errors import InputError
from blindcal.paper.theorems import Calibrated
from blindcal.policy.policy import Policy, evidence_policy, unchecked_policy
from blindcal.posterior.belief import Belief


def definition_b_1(chance: ArrayLike) -> Array:
    """Definition B.1: the least epsilon for which a mechanism is differentially private, every two inputs
    being neighbors.

    `chance[..., input, output]` is the probability of each output given each input, and sums to 1 over the
    outputs; leading axes are mechanisms. 0/0 counts as 1.

    >>> round(float(definition_b_1([[0.75, 0.25], [0.25, 0.75]])), 6)
    1.098612
    >>> float(definition_b_1([[1.0, 0.0], [0.5, 0.5]]))
    inf
    """
    table = within("chance", chance, 0.0, 1.0)
    if table.ndim < 2 or (np.abs(table.sum(axis=-1) - 1.0) > 1e-9).any():
        raise InputError("chance[input, output] must sum to 1 over the outputs")
    most, least = table.max(axis=-2), table.min(axis=-2)
    with np.errstate(divide="ignore"):
        ratio = np.log(np.where(most > 0.0, most, 1.0)) - np.log(np.where(most > 0.0, least, 1.0))
    return np.asarray(ratio.max(axis=-1))


def definition_b_2(gamma: ArrayLike) -> Array:
    """Definition B.2 as printed: `chance[..., x, output]` of binary randomized response, the true bit having
    probability `1/(1+gamma)`; `gamma` is above 0, and its axes come first.

    >>> definition_b_2(3.0)
    array([[0.25, 0.75],
           [0.75, 0.25]])
    """
    g = positive("gamma", gamma)
    kept, flipped = 1.0 / (1.0 + g), g / (1.0 + g)
    return np.stack([np.stack([kept, flipped], axis=-1), np.stack([flipped, kept], axis=-1)], axis=-2)


def proposition_b_3(epsilon: ArrayLike) -> Array:
    """Proposition B.3: randomized response with parameter `e^epsilon` is epsilon-differentially private;
    here with its outputs swapped, so that the true bit has probability `e^epsilon/(1+e^epsilon)`.

    Returns `chance[..., x, output]`; `epsilon` is at least 0, and its axes come first.

    >>> proposition_b_3(np.log(3.0)).round(12)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    return definition_b_2(np.exp(-nonnegative("epsilon", epsilon)))


def response_policy(belief: Belief, epsilon: ArrayLike) -> Policy:
    """Appendix B: the assignment passes through randomized response, and the conference calibrates under what
    comes out: `h(S, A) = e^epsilon/(1+e^epsilon)` whatever the scores, which keeps epsilon for all of them.

    `belief` is about the two assignments A1 and A2, on its last axis; leading axes are instances, against
    which `epsilon`, at least 0, broadcasts.

    >>> response_policy(Belief([0.6, 0.4], [0.9, 0.2]), np.log(3.0)).accept.round(12)
    array([0.75, 0.25])
    """
    if belief.weight.shape[-1] != 2 or belief.labels is not None:
        raise InputError(f"the paper has two assignments, found {belief.weight.shape[-1]} secrets")
    response, own = proposition_b_3(epsilon), evidence_policy(belief).accept
    return unchecked_policy((response @ own[..., None])[..., 0])


def strategy_epsilon(found: Calibrated) -> Array:
    """The least epsilon of what an algorithm chose for these scores: `q` depends on them, so no limit holds
    for all scores, and at many it is infinite.

    `found` is what `algorithm_1` or `algorithm_3` returned; there is one epsilon per instance.

    >>> from blindcal.paper.theorems import algorithm_1
    >>> belief = Belief([0.75, 0.25], [1.0, 0.0])
    >>> [float(strategy_epsilon(algorithm_1(belief, error))) for error in (0.125, 0.25)]
    [inf, 0.0]
    """
    accept = found.policy.accept
    return definition_b_1(np.stack([accept, 1.0 - accept], axis=-1))
