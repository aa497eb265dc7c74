"""Mechanisms: functions from one paper's belief to its policy. Ours, and simple ones to be measured against.

A mechanism may be random in its decisions only: the same belief must give the same policy, or an adversary
who knows the mechanism knows less than it could.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from blindcal.beliefs.belief import Belief
from blindcal.errors import InputError
from blindcal.policies.guarantees import Guarantee
from blindcal.policies.policy import Policy, evidence_policy, public_policy, unchecked_policy
from blindcal.policies.solvers import private_policy

Mechanism = Callable[[Belief], Policy]


def half_and_half(belief: Belief) -> Policy:
    """A fair coin between full calibration and the public decision; `belief` is of one paper or pair.

    >>> half_and_half(Belief([0.6, 0.4], [0.9, 0.2])).accept
    array([1. , 0.5])
    """
    return unchecked_policy(0.5 * evidence_policy(belief).accept + 0.5 * public_policy(belief).accept)


def three_in_four(belief: Belief) -> Policy:
    """Follow the evidence with chance 3/4, whatever it is: randomized response of epsilon log 3.

    `belief` is of one paper or pair.

    >>> three_in_four(Belief([0.6, 0.4], [0.9, 0.2])).accept
    array([0.75, 0.25])
    """
    return unchecked_policy(0.25 + 0.5 * evidence_policy(belief).accept)


def by_evidence(belief: Belief) -> Policy:
    """Accept with the very chance that accepting is right; `belief` is of one paper or pair.

    >>> by_evidence(Belief([0.6, 0.4], [0.9, 0.2])).accept
    array([0.9, 0.2])
    """
    return unchecked_policy(belief.favor)


def _guaranteed(belief: Belief, guarantee: Guarantee) -> Policy:
    return private_policy(belief, guarantee)


def _ours(name: str, epsilon: float | None) -> Mechanism:
    return partial(_guaranteed, guarantee=Guarantee(name, epsilon=epsilon))


MECHANISMS: Mapping[str, Mechanism] = {
    "full calibration": evidence_policy,
    "public": public_policy,
    "steady, epsilon 2 (default)": _ours("steady", 2.0),
    "steady": _ours("steady", None),
    "average, epsilon 2": _ours("average", 2.0),
    "average": _ours("average", None),
    "epsilon 1": _ours("none", 1.0),
    "epsilon 2": _ours("none", 2.0),
    "half and half": half_and_half,
    "three in four": three_in_four,
    "by the evidence": by_evidence,
}


def load(place: str) -> Mechanism:
    """The mechanism at `place`, written `module:function`.

    The module is looked for in the current folder, then where Python looks; importing it runs its code.

    >>> load("blindcal.mechanisms.baselines:three_in_four")(Belief([0.6, 0.4], [0.9, 0.2])).accept
    array([0.75, 0.25])
    """
    module, _, name = place.partition(":")
    if not module or not name:
        raise InputError(f"a mechanism must be given as module:function, found {place!r}")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"no mechanism at {place!r}: {error}") from None
    if not callable(found):
        raise InputError(f"{place!r} must be a function from a belief to a policy")
    mechanism: Mechanism = found
    return mechanism
