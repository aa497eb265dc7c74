"""What a mechanism costs and reveals on an instance: to the adversary of the certificates, to one who has a
hint of its own, and to one who knows that a matching couples the papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np

from blindcal.audits.adversaries import audit
from blindcal.beliefs.belief import Belief, unchecked_belief
from blindcal.checks import Array
from blindcal.errors import InputError
from blindcal.frames import frame
from blindcal.mechanisms.baselines import Mechanism
from blindcal.mechanisms.instances import INSTANCES, Instance, instance
from blindcal.policies.frontiers import frontier
from blindcal.policies.policy import Policy, label_tops

# A hint names the truth with this chance, and else anyone at random.
HINT = 0.5


@dataclass(frozen=True)
class Score:
    """One mechanism on one instance; all numbers but `rise` and `epsilon` are means over papers.

    `mechanism`, `instance`: the names of the two.
    `error`: the chance of a wrong decision; `least`: the least possible at the same success.
    `scores_only`, `success`: the chance of naming an author, before and after the decision.
    `rise`: the most that one outcome of any paper makes the best guess likelier.
    `hinted`: the success that decisions add for an adversary with a hint of its own.
    `coupled`: the success that they add for one who knows the matching, nan where there is none.
    `epsilon`: the largest of any paper, which may be infinite.
    """

    mechanism: str
    instance: str
    error: float
    least: float
    scores_only: float
    success: float
    rise: float
    hinted: float
    coupled: float
    epsilon: float

    @property
    def added(self) -> float:
        """How much likelier a correct guess became."""
        return _plain(self.success - self.scores_only)

    @property
    def wasted(self) -> float:
        """Error beyond the frontier: what another mechanism would save while revealing as much."""
        return _plain(self.error - self.least)


def _plain(difference: float) -> float:
    """A difference of two sums, 0 where it is their rounding."""
    return 0.0 if abs(difference) < 1e-12 else difference


def measure(mechanism: Mechanism, name: str, known: Instance) -> Score:
    """How a mechanism does on an instance.

    `mechanism` takes the belief about one paper and returns its `Policy`; `name` is what its score is called.
    `known` is the instance, as `instance` returns it.

    >>> from blindcal.policies.policy import evidence_policy
    >>> found = measure(evidence_policy, "full", instance("pair without noise"))
    >>> found.error, found.success, round(found.scores_only, 3), round(found.wasted, 12)
    (0.0, 1.0, 0.723, 0.0)
    """
    policies = [_policy(mechanism, belief) for belief in known.beliefs]
    pairs = list(zip(known.beliefs, policies, strict=True))
    audits = [audit(belief, policy) for belief, policy in pairs]
    errors = [float(policy.conference_error(belief)) for belief, policy in pairs]
    success = [1.0 - float(policy.adversary_error(belief)) for belief, policy in pairs]
    return Score(
        mechanism=name,
        instance=known.name,
        error=float(np.mean(errors)),
        least=float(np.mean([_least(*one) for one in zip(known.beliefs, success, strict=True)])),
        scores_only=float(np.mean([float(one.success_scores_only) / one.reviews for one in audits])),
        success=float(np.mean(success)),
        rise=max(_rise(belief, policy) for belief, policy in pairs),
        hinted=float(np.mean([_hinted(belief, policy) for belief, policy in pairs])),
        coupled=_coupled(known, policies),
        epsilon=max(float(one.epsilon) for one in audits),
    )


def run(mechanisms: Mapping[str, Mechanism], names: Sequence[str] = INSTANCES) -> list[Score]:
    """Every mechanism on every instance named: one `Score` each, instance by instance.

    `mechanisms` are functions from a belief to a policy, by name, such as `MECHANISMS`; `names` are of
    instances, by default all `INSTANCES`.

    >>> from blindcal.policies.policy import evidence_policy, public_policy
    >>> both = {"full": evidence_policy, "public": public_policy}
    >>> [(one.mechanism, round(one.error, 3), round(one.added, 3)) for one in run(both, INSTANCES[:1])]
    [('full', 0.0, 0.277), ('public', 0.277, 0.0)]
    """
    return [
        measure(mechanism, name, instance(one)) for one in names for name, mechanism in mechanisms.items()
    ]


def results_frame(scores: Sequence[Score]) -> Any:
    """One row per mechanism and instance, as a pandas data frame; needs pandas.

    `scores` are those that `run` returns, at least one; the columns are their fields, `added` and `wasted`.
    """
    rows = [asdict(one) | {"added": one.added, "wasted": one.wasted} for one in scores]
    return frame({name: [row[name] for row in rows] for name in rows[0]})


def _policy(mechanism: Mechanism, belief: Belief) -> Policy:
    found = mechanism(belief)
    if not isinstance(found, Policy) or found.accept.shape != belief.weight.shape:
        raise InputError(
            f"a mechanism must return a Policy with one accept probability for each of {belief.weight.size} "
            f"secrets, found {type(found).__name__}"
        )
    return found


def _least(belief: Belief, success: float) -> float:
    """The least conference error of any policy whose success is no larger."""
    front = frontier(belief)
    wanted = min(1.0 - success, float(front.adversary_error[-1]))
    return float(front.policy(adversary_error=wanted).conference_error(belief))


def _rise(belief: Belief, policy: Policy) -> float:
    """The most that an outcome raises the likeliest label of a slot."""
    before = label_tops(belief.weight, belief.labels)
    rises = []
    for chance in (policy.accept, 1.0 - policy.accept):
        mass = belief.weight * chance
        if mass.sum() > 0.0:
            rises.append(float((label_tops(mass, belief.labels) / mass.sum() - before).max()))
    return max(0.0, *rises)


def _hinted(belief: Belief, policy: Policy) -> float:
    """Success that the decision adds for an adversary who was given a hint, mean over the slots."""
    slots = np.arange(belief.weight.size)[None] if belief.labels is None else belief.labels
    added = []
    for labels in slots:
        names = np.unique(labels)
        for hint in names:
            hinted = np.where(labels == hint, HINT, 0.0) + (1.0 - HINT) / names.size
            one = unchecked_belief(belief.weight * hinted, belief.favor, labels[None])
            before = label_tops(one.weight, one.labels)[0]
            outcomes = (one.weight * policy.accept, one.weight * (1.0 - policy.accept))
            added.append((sum(label_tops(mass, one.labels)[0] for mass in outcomes) - before) / len(slots))
    return float(sum(added))


def _coupled(known: Instance, policies: Sequence[Policy]) -> float:
    """Success added by all decisions together, for one who knows the matching; by going through them all."""
    if known.assignments is None or known.chance is None:
        return float("nan")
    papers = np.arange(len(policies))
    accept = np.stack([policy.accept for policy in policies])[papers, known.assignments]
    on = (known.assignments[:, :, None] == papers).astype(np.float64)
    alone = np.einsum("m,mij->ij", known.chance, on).max(axis=1).mean()
    decided = 0.0
    for outcome in product((False, True), repeat=len(policies)):
        likelihood = np.where(outcome, accept, 1.0 - accept).prod(axis=1)
        decided += _best(known.chance * likelihood, on)
    return float(decided - alone)


def _best(mass: Array, on: Array) -> float:
    return float(np.einsum("m,mij->ij", mass, on).max(axis=1).mean())
