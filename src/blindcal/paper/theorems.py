"""Sections 3 and 4 and Appendix B: the setting, theorems and algorithms for two papers and two reviewers.

They stand under the paper's own numbers, as thin views on the general code. Secret 1 is the assignment A1
(reviewer 1 on paper 1), secret 2 is A2. In the paper's letters, `a_j` and `b_j` are the slope and offset of
reviewer j, `sigma` the noise, `S = [s1, s2]` the scores; `f_j` is the density of the *score* (with noise
N(b_j, a_j^2 + sigma^2), as the proof of Theorem 4.5 has it). `u : v = weight[0] : weight[1]`,
`Phi_1 = 1 - favor[0]` and `Phi_2 = 1 - favor[1]`. `q1`, `q2` are the probabilities of calibrating under the
true assignment, `zeta` is the average conference error of Algorithm 1 at error 1, `eta` the average adversary
error of full calibration.

In the noiseless setting the paper counts a tie of the two qualities as no error, blindcal as half of one (the
limit of small noise): these views subtract that half. Calibrating under an assignment at a tie (a favor of
exactly 1/2; `pair_belief` says what counts as one) accepts either paper at random, as the paper has it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blindcal.checks import Array, nonnegative, numbers, positive, within
from blindcal.errors import InputError
from blindcal.io.cells import number_text
from blindcal.policy.pareto_frontier import Frontier, frontier
from blindcal.policy.policy import Policy, evidence_policy, proposition_strategy, unchecked_policy
from blindcal.posterior.belief import Belief, pair_belief
from blindcal.reviewers.affine import Affine

PAPER_1, PAPER_2, SATURATED, INTERIOR = "accept paper 1", "accept paper 2", "saturated", "interior"


@dataclass(frozen=True, eq=False)
class Letters:
    """A belief in the paper's letters, one array each, of the shape of the instances.

    Attributes:
        u: The weight of A1, divided by the sum of both.
        v: The weight of A2, divided by the sum of both.
        Phi_1: The chance that paper 2 is the better one under A1.
        Phi_2: The chance that paper 2 is the better one under A2.
    """

    u: Array
    v: Array
    Phi_1: Array
    Phi_2: Array


def setting(
    S: ArrayLike, a_1: ArrayLike, b_1: ArrayLike, a_2: ArrayLike, b_2: ArrayLike, sigma: ArrayLike = 0.0
) -> Belief:
    """Section 3: the belief about A1 and A2 after the scores, the two being equally likely before.

    Args:
        S: `S[..., 2]`, the scores of paper 1 and paper 2; the other arguments broadcast against its leading
            axes.
        a_1: The slope of reviewer 1, above 0.
        b_1: The offset of reviewer 1: what this reviewer gives a paper of quality 0.
        a_2: The slope of reviewer 2, above 0.
        b_2: The offset of reviewer 2.
        sigma: The standard deviation of the noise of both; 0 is the noiseless setting.

    Example:
        >>> setting([0.9, 0.4], a_1=1.2, b_1=0.6, a_2=0.8, b_2=-0.6, sigma=0.5).favor.round(4)
        array([0.1475, 0.9886])
    """
    return pair_belief((Affine(a_1, b_1, noise=sigma), Affine(a_2, b_2, noise=sigma)), S)


def to_letters(belief: Belief) -> Letters:
    """A belief about two assignments in the paper's letters.

    Args:
        belief: Its leading axes are instances.

    Example:
        >>> found = to_letters(Belief([0.6, 0.4], [0.9, 0.2]))
        >>> [round(float(one), 12) for one in (found.u, found.v, found.Phi_1, found.Phi_2)]
        [0.6, 0.4, 0.1, 0.8]
    """
    phi = 1.0 - _two_assignments(belief).favor
    return Letters(belief.weight[..., 0], belief.weight[..., 1], phi[..., 0], phi[..., 1])


def from_letters(u: ArrayLike, v: ArrayLike, Phi_1: ArrayLike, Phi_2: ArrayLike) -> Belief:
    """The belief of which these are the letters; all four broadcast against each other.

    Args:
        u: The weight of A1, at least 0.
        v: The weight of A2, at least 0; the two need not sum to 1.
        Phi_1: The chance that paper 2 is the better one under A1.
        Phi_2: The chance that paper 2 is the better one under A2.

    Example:
        >>> from_letters(u=3.0, v=1.0, Phi_1=0.25, Phi_2=1.0).favor
        array([0.75, 0.  ])
    """
    weight = np.stack(np.broadcast_arrays(np.asarray(u, float), np.asarray(v, float)), axis=-1)
    phi = np.stack(np.broadcast_arrays(np.asarray(Phi_1, float), np.asarray(Phi_2, float)), axis=-1)
    return Belief(weight / weight.sum(axis=-1, keepdims=True), 1.0 - phi)


@dataclass(frozen=True, eq=False)
class Calibrated:
    """What an algorithm chose, for each instance.

    At a tie under one assignment q is 0 for that one and 1 for the other, as in the proof of Theorem 4.2.

    Attributes:
        branch: `PAPER_1` or `PAPER_2` if the assignments agree on a paper, `SATURATED` if more conference
            error would hide no more, otherwise `INTERIOR`.
        q: `q[..., 2]`, the chances of calibrating under the true assignment, q1 and q2; nan if A1 and A2
            agree.
        policy: The chances of accepting paper 1 under A1 and A2.
    """

    branch: NDArray[np.str_]
    q: Array
    policy: Policy


@dataclass(frozen=True, eq=False)
class Segment:
    """A Pareto frontier: a line between two points (conference error, adversary error).

    Attributes:
        start: One end, `[..., 2]`.
        end: The other end, `[..., 2]`.
    """

    start: Array
    end: Array


def proposition_4_1(belief: Belief, g: ArrayLike) -> Array:
    """Proposition 4.1: `h[..., 2]` at least as good on both errors as the strategy `g[..., 2]`.

    `h` is the chance of calibrating under the true assignment, 1 if both assignments favor the same paper or
    both are tied. If one is tied, h is 0 for it, so that the other's evidence always decides.

    Args:
        belief: About the two assignments A1 and A2, on its last axis; leading axes are instances.
        g: The chance of accepting paper 1 under A1 and A2.

    Example:
        >>> proposition_4_1(Belief([0.6, 0.4], [0.9, 0.2]), [0.7, 0.1])
        array([0.7, 0.9])
        >>> proposition_4_1(Belief([0.6, 0.4], [0.9, 0.8]), [0.7, 0.1])
        array([1., 1.])
        >>> proposition_4_1(Belief([0.6, 0.4], [0.5, 0.8]), [0.7, 0.1])
        array([0., 1.])
    """
    h = proposition_strategy(_two_assignments(belief), Policy(g)).calibrates(belief)
    return np.where(np.isnan(h), 1.0, h)


def theorem_4_2(belief: Belief) -> Segment:
    """Theorem 4.2, noiseless: the frontier is a point, or a line if the assignments disagree.

    The point is (0, min(u,v)/(u+v)), the line has slope 1 from (0, 0) to (min(u,v)/(u+v), min(u,v)/(u+v)).

    Args:
        belief: About the two assignments A1 and A2, on its last axis, each with a favor of 0, 1/2 or 1;
            leading axes are instances.

    Example:
        >>> theorem_4_2(Belief([0.7, 0.3], [1.0, 0.0])).end
        array([0.3, 0.3])
    """
    return _segment(frontier(_noiseless(belief)))


def algorithm_1(belief: Belief, conference_error: ArrayLike) -> Calibrated:
    """Algorithm 1, noiseless: the branch, q1, q2 and the policy for an allowed conference error.

    Of the optimal pairs (q1, q2), this is the one that randomizes under the assignment of smaller weight.

    Args:
        belief: About the two assignments A1 and A2, on its last axis, each with a favor of 0, 1/2 or 1;
            leading axes are instances.
        conference_error: From 0 to 1; it broadcasts against the instances.

    Example:
        >>> found = algorithm_1(Belief([0.75, 0.25], [1.0, 0.0]), 0.125)
        >>> str(found.branch), found.q
        ('interior', array([1. , 0.5]))
    """
    front = frontier(_noiseless(belief))
    error = within("conference_error", conference_error, 0.0, 1.0)
    return _calibrated(front, np.minimum(error + _tied_weight(belief), 1.0))


def theorem_4_3(belief: Belief, conference_error: ArrayLike) -> Array:
    """Theorem 4.3: the greatest adversary error within a conference error, reached by Algorithm 1.

    Args:
        belief: As for `algorithm_1`.
        conference_error: As for `algorithm_1`.

    Example:
        >>> float(theorem_4_3(Belief([0.7, 0.3], [1.0, 0.0]), 0.1))
        0.1
    """
    return algorithm_1(belief, conference_error).policy.adversary_error(belief)


def algorithm_2(belief: Belief, conference_error: float, zeta: float) -> Policy:
    """Algorithm 2, noiseless average case: with chance `E/zeta` Algorithm 1 at error 1, else calibrate fully.

    At a tie both sides of the coin decide as Algorithm 1 does.

    Args:
        belief: As for `algorithm_1`.
        conference_error: E, the budget for the average over all instances, at least 0.
        zeta: The average conference error of Algorithm 1 at error 1, from 0 to 1: of a larger budget only
            zeta is spent.

    Example:
        >>> algorithm_2(Belief([0.75, 0.25], [1.0, 0.0]), 0.05, 0.2).accept
        array([1.  , 0.25])
    """
    allowed = nonnegative("conference_error", conference_error)
    most = within("zeta", zeta, 0.0, 1.0)
    heads = np.where(allowed >= most, 1.0, allowed / np.where(most > 0.0, most, 1.0))
    saturated = algorithm_1(belief, 1.0).policy
    accepting = (belief.favor > 0.5).any(axis=-1, keepdims=True)
    rejecting = (belief.favor < 0.5).any(axis=-1, keepdims=True)
    honest = np.where(accepting & rejecting, evidence_policy(belief).accept, saturated.accept)
    return unchecked_policy(heads * saturated.accept + (1.0 - heads) * honest)


def theorem_4_4(conference_error: ArrayLike, zeta: ArrayLike, eta: ArrayLike) -> Array:
    """Theorem 4.4: the greatest average adversary error, `eta + min(E, zeta)`. All arguments broadcast.

    Args:
        conference_error: E, the average that is allowed, at least 0.
        zeta: The average conference error of Algorithm 1 at error 1, from 0 to 1.
        eta: The average adversary error under full calibration, from 0 to 1.

    Example:
        >>> float(theorem_4_4(0.05, 0.2, 0.1)), float(theorem_4_4(0.5, 0.2, 0.1))
        (0.15000000000000002, 0.30000000000000004)
    """
    allowed = nonnegative("conference_error", conference_error)
    most = within("zeta", zeta, 0.0, 1.0)
    return within("eta", eta, 0.0, 1.0) + np.minimum(allowed, most)


def theorem_4_5(belief: Belief) -> Segment:
    """Theorem 4.5, noisy: a point, or the line from (e0, 0) to (e0 + m*w, m) in all eight cases.

    `m = min(u,v)/(u+v)`, `w = min(|2 Phi_1 - 1|, |2 Phi_2 - 1|)`, `e0` the error of full calibration.

    Args:
        belief: About the two assignments A1 and A2, on its last axis; leading axes are instances.

    Example:
        >>> theorem_4_5(Belief([0.4, 0.6], [0.9, 0.3])).end.round(12)
        array([0.38, 0.4 ])
    """
    return _segment(frontier(_two_assignments(belief)), subtract_ties=False)


def algorithm_3(belief: Belief, conference_error: ArrayLike) -> Calibrated:
    """Algorithm 3, noisy, corrected: the branch, q1, q2 and the policy for an allowed conference error.

    The assignment of smaller |2 Phi - 1| is randomized, `q = 1 - x/weight`, until `x = min(u,v)/(u+v)`: there
    q2 = 1 - u/v in the paper's case.

    Args:
        belief: About the two assignments A1 and A2, on its last axis; leading axes are instances.
        conference_error: It broadcasts against the instances. Below e0, the error of full calibration, it
            cannot be achieved and is refused, even if the assignments agree.

    Example:
        >>> found = algorithm_3(Belief([0.4, 0.6], [0.9, 0.3]), 1.0)
        >>> str(found.branch), found.q.round(12)
        ('saturated', array([1.        , 0.33333333]))
    """
    return _calibrated(frontier(_two_assignments(belief)), conference_error)


def theorem_4_6(belief: Belief, conference_error: ArrayLike) -> Array:
    """Theorem 4.6: the greatest adversary error within a conference error, reached by Algorithm 3.

    Args:
        belief: As for `algorithm_3`.
        conference_error: As for `algorithm_3`.

    Example:
        >>> round(float(theorem_4_6(Belief([0.4, 0.6], [0.9, 0.3]), 0.26)), 12)
        0.1
    """
    return algorithm_3(belief, conference_error).policy.adversary_error(belief)


def _two_assignments(belief: Belief) -> Belief:
    if belief.weight.shape[-1] != 2 or belief.labels is not None:
        raise InputError(f"the paper has two assignments, found {belief.weight.shape[-1]} secrets")
    return belief


def _noiseless(belief: Belief) -> Belief:
    odd = ~np.isin(_two_assignments(belief).favor, (0.0, 0.5, 1.0))
    if odd.any():
        raise InputError(
            f"without noise favor must be 0, 1/2 or 1, found {number_text(belief.favor[odd].flat[0])}"
        )
    return belief


def _tied_weight(belief: Belief) -> Array:
    """What blindcal counts for ties and the paper does not: half the weight of the tied assignments."""
    return np.asarray(0.5 * (belief.weight * (belief.favor == 0.5)).sum(axis=-1))


def _segment(front: Frontier, *, subtract_ties: bool = True) -> Segment:
    """The ends of a frontier, noiseless ones as the paper counts ties."""
    ties = _tied_weight(front.belief)[..., None] if subtract_ties else 0.0
    conference = np.maximum(front.conference_error - ties, 0.0)
    ends = np.stack([conference, front.adversary_error], axis=-1)
    return Segment(ends[..., 0, :], ends[..., -1, :])


def _calibrated(front: Frontier, allowed: ArrayLike) -> Calibrated:
    """What both algorithms choose on a frontier within a conference error."""
    policy, favor = front.policy(conference_error=allowed), front.belief.favor
    first = np.asarray((favor >= 0.5).all(axis=-1))
    second = np.asarray((favor <= 0.5).all(axis=-1))
    full = numbers("conference_error", allowed) >= front.conference_error[..., -1]
    branch = np.select([first, second, full], [PAPER_1, PAPER_2, SATURATED], INTERIOR)
    # Two ties at once: the algorithms test for paper 1 first.
    settled = unchecked_policy(np.where(first[..., None], 1.0, policy.accept))
    return Calibrated(branch, settled.calibrates(front.belief), settled)


# --- Appendix B: local differential privacy and binary randomized response, beside the paper's strategies.
#
# Definition B.2 as printed gives the true bit with probability `1/(1+gamma)`, so at `gamma = e^epsilon` it
# lies most of the time. It is epsilon-differentially private all the same; the useful response swaps its
# outputs.


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
    # max over inputs r, r' and outputs d of log(P(d|r)/P(d|r')).
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
    return _response(positive("gamma", gamma))


def _response(gamma: Array) -> Array:
    """`chance[..., x, output]`: the true bit has probability `1/(1+gamma)`."""
    kept, flipped = 1.0 / (1.0 + gamma), gamma / (1.0 + gamma)
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
    return _response(np.exp(-nonnegative("epsilon", epsilon)))


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
    response, own = proposition_b_3(epsilon), evidence_policy(_two_assignments(belief)).accept
    return unchecked_policy((response @ own[..., None])[..., 0])


def strategy_epsilon(calibrated: Calibrated) -> Array:
    """The least epsilon of what an algorithm chose for these scores.

    `q` depends on the scores, so no limit holds for all of them, and for many it is infinite.

    Args:
        calibrated: What `algorithm_1` or `algorithm_3` returned.

    Returns:
        One epsilon for each instance.

    Example:
        >>> belief = Belief([0.75, 0.25], [1.0, 0.0])
        >>> [float(strategy_epsilon(algorithm_1(belief, error))) for error in (0.125, 0.25)]
        [inf, 0.0]
    """
    accept = calibrated.policy.accept
    return definition_b_1(np.stack([accept, 1.0 - accept], axis=-1))
