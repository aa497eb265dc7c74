"""Section 3: the setting of the paper in its own letters, for two affine reviewers of the same noise.

`a_j` and `b_j` are the slope and offset of reviewer j, `sigma` the noise, `S = [s1, s2]` the scores. `f_j` is
the density of the *score* (with noise N(b_j, a_j^2 + sigma^2), as the proof of Theorem 4.5 has it).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from blindcal.beliefs.belief import Belief
from blindcal.beliefs.pairs import pair_belief
from blindcal.checks import Array
from blindcal.errors import InputError
from blindcal.reviewers.affine import Affine


@dataclass(frozen=True, eq=False)
class Letters:
    """A belief in the paper's letters, one array each, of the shape of the instances.

    `u`, `v`: the weights of A1 and A2, divided by their sum.
    `Phi_1`, `Phi_2`: the chance that paper 2 is the better one, under A1 and under A2.
    """

    u: Array
    v: Array
    Phi_1: Array
    Phi_2: Array


def setting(
    S: ArrayLike, a_1: ArrayLike, b_1: ArrayLike, a_2: ArrayLike, b_2: ArrayLike, sigma: ArrayLike = 0.0
) -> Belief:
    """Section 3: the belief about A1 and A2 after the scores `S`, the two being equally likely before.

    `S[..., 2]`: the scores of paper 1 and paper 2; the other arguments broadcast against its leading axes.
    `a_1`, `a_2`: the slopes of reviewers 1 and 2, above 0.
    `b_1`, `b_2`: their offsets, which is what each would give a paper of quality 0.
    `sigma`: the standard deviation of the noise of both; 0 is the noiseless setting.

    >>> setting([0.9, 0.4], a_1=1.2, b_1=0.6, a_2=0.8, b_2=-0.6, sigma=0.5).favor.round(4)
    array([0.1475, 0.9886])
    """
    return pair_belief((Affine(a_1, b_1, noise=sigma), Affine(a_2, b_2, noise=sigma)), S)


def to_letters(belief: Belief) -> Letters:
    """A `belief` about two assignments in the paper's letters; leading axes are instances.

    >>> found = to_letters(Belief([0.6, 0.4], [0.9, 0.2]))
    >>> [round(float(one), 12) for one in (found.u, found.v, found.Phi_1, found.Phi_2)]
    [0.6, 0.4, 0.1, 0.8]
    """
    if belief.weight.shape[-1] != 2 or belief.labels is not None:
        raise InputError(f"the paper has two assignments, found {belief.weight.shape[-1]} secrets")
    phi = 1.0 - belief.favor
    return Letters(belief.weight[..., 0], belief.weight[..., 1], phi[..., 0], phi[..., 1])


def from_letters(u: ArrayLike, v: ArrayLike, Phi_1: ArrayLike, Phi_2: ArrayLike) -> Belief:
    """The belief of which these are the letters; all four broadcast against each other.

    `u` and `v`, the weights of A1 and A2, are at least 0 and need not sum to 1. `Phi_1` and `Phi_2`, from 0
    to 1, are the chances that paper 2 is the better one, under A1 and under A2.

    >>> from_letters(u=3.0, v=1.0, Phi_1=0.25, Phi_2=1.0).favor
    array([0.75, 0.  ])
    """
    weight = np.stack(np.broadcast_arrays(np.asarray(u, float), np.asarray(v, float)), axis=-1)
    phi = np.stack(np.broadcast_arrays(np.asarray(Phi_1, float), np.asarray(Phi_2, float)), axis=-1)
    return Belief(weight / weight.sum(axis=-1, keepdims=True), 1.0 - phi)
