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
    """Definition B.1: the least epsilon for which a mechanism is differentially private.

    Every two inputs are neighbors. 0/0 counts as 1.

    Args:
        chance: `chance[..., input, output]`, the probability of each output given each input, which sums to 1
            over the outputs; leading axes are mechanisms.

    Returns:
        One epsilon for each mechanism.

    Example:
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
    """Definition B.2 as printed: binary randomized response.

    The true bit has probability `1/(1+gamma)`.

    Args:
        gamma: The parameter, above 0.

    Returns:
        `chance[..., x, output]`; the axes of `gamma` come first.

    Example:
        >>> definition_b_2(3.0)
        array([[0.25, 0.75],
               [0.75, 0.25]])
    """
    g = positive("gamma", gamma)
    kept, flipped = 1.0 / (1.0 + g), g / (1.0 + g)
    return np.stack([np.stack([kept, flipped], axis=-1), np.stack([flipped, kept], axis=-1)], axis=-2)


def proposition_b_3(epsilon: ArrayLike) -> Array:
    """Proposition B.3: randomized response with parameter `e^epsilon` is epsilon-differentially private.

    Here its outputs are swapped, so that the true bit has probability `e^epsilon/(1+e^epsilon)`.

    Args:
        epsilon: The parameter, at least 0.

    Returns:
        `chance[..., x, output]`; the axes of `epsilon` come first.

    Example:
        >>> proposition_b_3(np.log(3.0)).round(12)
        array([[0.75, 0.25],
               [0.25, 0.75]])
    """
    return definition_b_2(np.exp(-nonnegative("epsilon", epsilon)))


def response_policy(belief: Belief, epsilon: ArrayLike) -> Policy:
    """Appendix B: the assignment passes through randomized response, and the output is calibrated.

    `h(S, A) = e^epsilon/(1+e^epsilon)` whatever the scores, which keeps epsilon for all of them.

    Args:
        belief: About the two assignments A1 and A2, on its last axis; leading axes are instances.
        epsilon: At least 0; it broadcasts against the instances.

    Returns:
        The policy.

    Example:
        >>> response_policy(Belief([0.6, 0.4], [0.9, 0.2]), np.log(3.0)).accept.round(12)
        array([0.75, 0.25])
    """
    if belief.weight.shape[-1] != 2 or belief.labels is not None:
        raise InputError(f"the paper has two assignments, found {belief.weight.shape[-1]} secrets")
    response, own = proposition_b_3(epsilon), evidence_policy(belief).accept
    return unchecked_policy((response @ own[..., None])[..., 0])


def strategy_epsilon(found: Calibrated) -> Array:
    """The least epsilon of what an algorithm chose for these scores.

    `q` depends on the scores, so no limit holds for all of them, and for many it is infinite.

    Args:
        found: What `algorithm_1` or `algorithm_3` returned.

    Returns:
        One epsilon for each instance.

    Example:
        >>> from blindcal.paper.theorems import algorithm_1
        >>> belief = Belief([0.75, 0.25], [1.0, 0.0])
        >>> [float(strategy_epsilon(algorithm_1(belief, error))) for error in (0.125, 0.25)]
        [inf, 0.0]
    """
    accept = found.policy.accept
    return definition_b_1(np.stack([accept, 1.0 - accept], axis=-1))
