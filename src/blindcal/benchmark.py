"""Mechanisms measured side by side: what each costs and reveals on the same instances.

A mechanism is a function from one paper's belief to its policy: ours, and simple ones to compare with. It may
be random in its decisions only. The same belief must give the same policy; otherwise an adversary who knows
the mechanism knows less than it could. A *sequence* is a mechanism for papers that a matching couples: a
function of the instance and the decisions so far, to the paper that is decided next and its policy.

An instance is a tuple of beliefs, one per paper, made from stated reviewers and scores: pairs, papers with
pools, matchings and one conference, the same numbers for everybody. In a matching everybody reviewed one
paper.

A score has the success of three adversaries: that of the certificates, one with a hint of its own, and one
who knows that a matching couples the papers and sees all decisions, or another one of your own in its place.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import permutations
from pathlib import Path
from typing import Any, cast

import numpy as np

from blindcal.adversaries.single_paper import audit
from blindcal.checks import Array, Integers
from blindcal.errors import InputError
from blindcal.io.tables import data_frame
from blindcal.paper.theorems import setting
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.pareto_frontier import frontier
from blindcal.policy.policy import Policy, evidence_policy, label_tops, public_policy, unchecked_policy
from blindcal.policy.sequential import ListedPrior, best_order, next_table
from blindcal.policy.solver import private_policy
from blindcal.posterior.belief import Belief
from blindcal.reviewers.affine import Affine
from blindcal.reviewers.quality_posterior import posterior_tail
from blindcal.simulation.population import (
    Population,
    nips_2014_population,
    pooled_conference,
    prototype_population,
)

__all__ = [
    "INSTANCES",
    "MECHANISMS",
    "SEQUENCES",
    "BenchmarkScore",
    "Instance",
    "Mechanism",
    "SequentialMechanism",
    "all_decisions",
    "best_guesses",
    "instance",
    "load",
    "measure",
    "results_frame",
    "run",
]

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


def _ours(name: str, epsilon: float | None) -> Mechanism:
    return partial(private_policy, guarantee=Guarantee(name, epsilon=epsilon))


MECHANISMS: Mapping[str, Mechanism] = {
    "full calibration": evidence_policy,
    "public": public_policy,
    "steady, epsilon 2": _ours("steady", 2.0),
    "steady": _ours("steady", None),
    "average, epsilon 2": _ours("average", 2.0),
    "average": _ours("average", None),
    "epsilon 1": _ours("none", 1.0),
    "epsilon 2": _ours("none", 2.0),
    "half and half": half_and_half,
    "three in four": three_in_four,
    "by the evidence": by_evidence,
}


def load(reference: str) -> Any:
    """A function from a module: a mechanism, a sequence, an adversary, or one that makes an instance.

    The module is looked for in the current folder, then where Python looks; importing it runs its code.

    Args:
        reference: Where it is, as `module:function`.

    Example:
        >>> load("blindcal.benchmark:three_in_four")(Belief([0.6, 0.4], [0.9, 0.2])).accept
        array([0.75, 0.25])
    """
    module, _, name = reference.partition(":")
    if not module or not name:
        raise InputError(f"a function must be given as module:function, found {reference!r}")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        function: Any = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"no function at {reference!r}: {error}") from None
    if not callable(function):
        raise InputError(f"{reference!r} must be a function")
    return function


# The upper quartile of N(0, 1), as elsewhere.
_BAR = 0.6745


@dataclass(frozen=True, eq=False)
class Instance:
    """Papers that are decided one by one; a matching may couple them.

    Attributes:
        name: One of `INSTANCES`.
        beliefs: One per paper.
        assignments: `assignments[matching, paper]`, who reviewed each paper in each matching, as the number
            of a secret; None if no matching couples the papers.
        chance: `chance[matching]`, the probability of each matching given the scores.
    """

    name: str
    beliefs: tuple[Belief, ...]
    assignments: Integers | None = None
    chance: Array | None = None

    @property
    def matchings(self) -> tuple[Integers, Array]:
        """`assignments` and `chance`; an instance without them is refused."""
        if self.assignments is None or self.chance is None:
            raise InputError(f"this needs an instance whose papers a matching couples, not {self.name!r}")
        return self.assignments, self.chance


def _pair(name: str, scores: tuple[float, float], sigma: float) -> Instance:
    belief = setting(scores, a_1=1.2, b_1=0.6, a_2=0.8, b_2=-0.6, sigma=sigma)
    return Instance(name, (belief,))


def _pools(name: str, papers: int, pool: int, reviews: int, population: Population, seed: int) -> Instance:
    """Papers whose pools hardly overlap."""
    rng = np.random.default_rng(seed)
    drawn = pooled_conference(rng, papers, pool, reviews, population, reviewers=40 * papers)
    return Instance(name, tuple(case.belief for case in drawn.cases(_BAR)))


def _matching(name: str, papers: int, seed: int) -> Instance:
    """As many reviewers as papers, the prototype's."""
    rng = np.random.default_rng(seed)
    population = prototype_population()
    slope, offset, noise = population.parameters(rng, (papers,))
    score = population.scores(rng, rng.standard_normal(papers), slope, offset, noise)
    return matching(name, score, Affine(slope, offset, noise))


def matching(name: str, score: Array, people: Affine) -> Instance:
    """One review for each paper, by as many people, every matching equally likely before the scores; bar 0.

    >>> people = Affine(np.array([1.2, 0.8]), np.array([0.6, -0.6]), np.array([0.5, 0.5]))
    >>> matching("mine", np.array([0.9, 0.4]), people).chance.round(3)
    array([0.665, 0.335])
    """
    papers = len(score)
    density = np.exp(people.log_marginal(score[:, None]))
    favor = posterior_tail([people], score[:, None, None], 0.0)
    assignments = np.array(list(permutations(range(papers))))
    chance = density[np.arange(papers), assignments].prod(axis=1)
    weight = density / density.sum(axis=1, keepdims=True)
    beliefs = tuple(Belief(weight[i], favor[i]) for i in range(papers))
    return Instance(name, beliefs, assignments, chance / chance.sum())


_MAKERS: dict[str, Callable[[str], Instance]] = {
    "pair without noise": partial(_pair, scores=(0.9, 0.4), sigma=0.0),
    "pair with noise": partial(_pair, scores=(0.9, 0.4), sigma=0.5),
    "pair near a tie": partial(_pair, scores=(1.2, 0.2), sigma=0.5),
    "papers, pools of 4": partial(
        _pools, papers=12, pool=4, reviews=2, population=prototype_population(), seed=11
    ),
    "papers, pools of 8": partial(
        _pools, papers=8, pool=8, reviews=2, population=prototype_population(), seed=12
    ),
    # The paper's two papers, each decided by itself.
    "the paper's two reviewers": partial(
        matching, score=np.array([0.9, 0.4]), people=Affine([1.2, 0.8], [0.6, -0.6], [0.5, 0.5])
    ),
    "matching of 2": partial(_matching, papers=2, seed=21),
    "matching of 3": partial(_matching, papers=3, seed=22),
    "matching of 4": partial(_matching, papers=4, seed=23),
    "conference": partial(_pools, papers=30, pool=5, reviews=3, population=nips_2014_population(), seed=31),
}
INSTANCES = tuple(_MAKERS)


@cache
def instance(name: str) -> Instance:
    """An instance by its name; it is made once, and always the same.

    Args:
        name: One of `INSTANCES`, or `module:function` for a function without arguments that returns one.

    Example:
        >>> found = instance("matching of 3")
        >>> len(found.beliefs), found.assignments.shape, round(float(found.chance.sum()), 12)
        (3, (6, 3), 1.0)
    """
    if ":" in name:
        made = load(name)()
        if not isinstance(made, Instance):
            raise InputError(f"{name!r} must return an Instance, found {type(made).__name__}")
        return made
    if name not in _MAKERS:
        raise InputError(f"an instance must be one of {'; '.join(INSTANCES)}, found {name!r}")
    return _MAKERS[name](name)


SequentialMechanism = Callable[[Instance, Mapping[int, bool]], tuple[int, Policy]]
"""From an instance and the decisions so far, by paper, to the paper that is decided next and its policy."""
CoupledAdversary = Callable[[Instance, Array], float]
"""From an instance and `[outcome, matching]`, P(all decisions | matching), to how often it is right."""


def nothing_added(
    known: Instance, decided: Mapping[int, bool], epsilon: float | None = None
) -> tuple[int, Policy]:
    """The next paper and its table, of the sequence whose decisions together add nothing.

    `policy.sequential` has the theorem. Papers on which knowing the reviewers saves most errors come first.

    >>> paper, policy = nothing_added(instance("matching of 2"), {})
    >>> paper, policy.accept.size
    (1, 2)
    """
    paper, table = _sequence_table(known, epsilon, tuple(decided.items()))
    return paper, unchecked_policy(table)


@cache
def _sequence_table(
    known: Instance, epsilon: float | None, decided: tuple[tuple[int, bool], ...]
) -> tuple[int, Array]:
    """The paper after these decisions, and its table; those before follow from the decisions before them."""
    tuples = [np.arange(belief.weight.size)[:, None] for belief in known.beliefs]
    prior = ListedPrior(tuples, *known.matchings)
    likelihoods = [np.ones(len(rows)) for rows in tuples]
    belief = [joint.sum(axis=1) for joint in prior.pairwise(likelihoods, 0)]
    favors = [belief.favor for belief in known.beliefs]
    paper = best_order(belief, favors)[len(decided)]
    for step, (earlier, accepted) in enumerate(decided):
        table = _sequence_table(known, epsilon, decided[:step])[1]
        likelihoods[earlier] = table if accepted else 1.0 - table
    return paper, next_table(prior, likelihoods, paper, favors[paper], epsilon=epsilon)


SEQUENCES: Mapping[str, SequentialMechanism] = {
    "nothing added, epsilon 2": partial(nothing_added, epsilon=2.0),
    "nothing added": nothing_added,
}
"""Sequences, for instances that a matching couples."""


def all_decisions(
    mechanism: Mechanism | SequentialMechanism, known: Instance
) -> tuple[Array, Array, list[Policy]]:
    """What all decisions together are, under each matching: every way that they can come out.

    Args:
        mechanism: A function of a belief, or a sequence.
        known: An instance that a matching couples.

    Returns:
        `[outcome, matching]`, P(all decisions | matching); `[matching]`, the expected share of wrong
        decisions; and every table that was used.

    Example:
        >>> chance, wrong, tables = all_decisions(public_policy, instance("matching of 2"))
        >>> chance.shape, chance.sum(axis=0), len(tables)
        ((1, 2), array([1., 1.]), 2)
    """
    matchings, prior = known.matchings
    step = _as_sequence(mechanism, known)
    outcomes, tables = list[Array](), list[Policy]()
    wrong = np.zeros(len(prior))

    def decide(decided: dict[int, bool], likelihood: Array) -> None:
        nonlocal wrong
        if len(decided) == len(known.beliefs):
            outcomes.append(likelihood)
            return
        paper, policy = step(known, decided)
        tables.append(policy)
        own = matchings[:, paper]
        accept, favor = policy.accept[own], known.beliefs[paper].favor[own]
        wrong = wrong + likelihood * (accept * (1.0 - favor) + (1.0 - accept) * favor) / len(known.beliefs)
        for accepted, chance in ((True, accept), (False, 1.0 - accept)):
            if float(likelihood * chance @ prior) > 0.0:
                decide({**decided, paper: accepted}, likelihood * chance)

    decide({}, np.ones(prior.size))
    return np.array(outcomes), wrong, tables


def _as_sequence(mechanism: Mechanism | SequentialMechanism, known: Instance) -> SequentialMechanism:
    """The mechanism as a sequence; one of beliefs decides papers in their order, each by itself."""
    function: Any = mechanism
    if is_sequence(mechanism):
        return cast(SequentialMechanism, function)
    policies = [_policy(function, belief) for belief in known.beliefs]
    return lambda _, decided: (len(decided), policies[len(decided)])


def is_sequence(mechanism: Mechanism | SequentialMechanism) -> bool:
    """Whether a mechanism takes an instance and decisions, and not a belief.

    >>> is_sequence(nothing_added), is_sequence(public_policy)
    (True, False)
    """
    needed = [
        parameter
        for parameter in inspect.signature(mechanism).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    return len(needed) == 2


def best_guesses(known: Instance, outcomes: Array) -> float:
    """The adversary who knows the matching: its chance of naming a paper's reviewer, mean over papers.

    Args:
        known: The instance.
        outcomes: `[outcome, matching]`, P(all decisions | matching); one row of ones before any decision.

    Example:
        >>> best_guesses(instance("matching of 2"), np.ones((1, 2))).__round__(3)
        0.659
    """
    return float(_reviewer_chances(known, outcomes).max(axis=2).mean(axis=1).sum())


def _reviewer_chances(known: Instance, outcomes: Array) -> Array:
    """`[outcome, paper, secret]`: P(all decisions, and who reviewed this paper)."""
    matchings, chance = known.matchings
    on = (matchings[:, :, None] == np.arange(matchings.max() + 1)).astype(np.float64)
    return np.asarray(np.einsum("om,mij->oij", outcomes * chance, on))


# A hint names the truth with this chance, and else anyone at random.
HINT = 0.5


@dataclass(frozen=True)
class BenchmarkScore:
    """One mechanism on one instance; all numbers except `rise` and `epsilon` are means over papers.

    Of a sequence there are the coupled ones, `epsilon` of its worst table, and `rise` by all decisions
    together; the others are nan.

    Attributes:
        mechanism: The name of the mechanism.
        instance: The name of the instance.
        error: The chance of a wrong decision.
        least: The least possible error at the same success.
        scores_only: The chance of naming a reviewer before the decision.
        success: The same after the decision.
        rise: The most that one outcome of any paper makes the best guess likelier.
        hinted: The success that decisions add for an adversary with a hint of its own.
        coupled: The success that all of them add for one who knows the matching, nan if there is none.
        coupled_before: That adversary's success before any decision.
        coupled_error: The chance of a wrong decision, for someone who knows the matching.
        epsilon: The largest of any paper, which may be infinite.
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
    coupled_before: float
    coupled_error: float
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


def measure(
    mechanism: Mechanism | SequentialMechanism,
    name: str,
    known: Instance,
    adversary: CoupledAdversary = best_guesses,
) -> BenchmarkScore:
    """The score of a mechanism on an instance.

    Args:
        mechanism: Takes the belief about one paper and returns its `Policy`, or a sequence.
        name: What its score is called.
        known: The instance, as `instance` returns it.
        adversary: Who sees all decisions of an instance that a matching couples.

    Example:
        >>> from blindcal.policy.policy import evidence_policy
        >>> found = measure(evidence_policy, "full", instance("pair without noise"))
        >>> found.error, found.success, round(found.scores_only, 3), round(found.wasted, 12)
        (0.0, 1.0, 0.723, 0.0)
    """
    alone, coupled, wrong, rise, tables = _coupled(mechanism, known, adversary)
    jointly = {"coupled": coupled, "coupled_before": alone, "coupled_error": wrong}
    if is_sequence(mechanism):
        unknown = dict.fromkeys(("error", "least", "success", "hinted"), float("nan"))
        before = [float(label_tops(prior.weight, prior.labels).mean()) for prior in known.beliefs]
        epsilon = max(float(table.epsilon) for table in tables)
        means = {**unknown, **jointly, "scores_only": float(np.mean(before))}
        return BenchmarkScore(name, known.name, rise=rise, epsilon=epsilon, **means)
    function: Any = mechanism
    pairs = [(belief, _policy(function, belief)) for belief in known.beliefs]
    audits = [audit(belief, policy) for belief, policy in pairs]
    success = [1.0 - float(policy.adversary_error(belief)) for belief, policy in pairs]
    numbers = {
        "error": [float(policy.conference_error(belief)) for belief, policy in pairs],
        "least": [_least(belief, most) for belief, most in zip(known.beliefs, success, strict=True)],
        "scores_only": [float(claim.success_scores_only) / claim.reviews for claim in audits],
        "success": success,
        "hinted": [_hinted(belief, policy) for belief, policy in pairs],
    }
    rise, epsilon = max(_rise(*pair) for pair in pairs), max(float(claim.epsilon) for claim in audits)
    means = {key: float(np.mean(values)) for key, values in numbers.items()}
    return BenchmarkScore(name, known.name, rise=rise, epsilon=epsilon, **means, **jointly)


def run(
    mechanisms: Mapping[str, Mechanism | SequentialMechanism], names: Sequence[str] = INSTANCES
) -> list[BenchmarkScore]:
    """Every mechanism on every instance: one `BenchmarkScore` each, instance by instance.

    Sequences are measured where a matching couples the papers.

    Args:
        mechanisms: Functions from a belief to a policy, or sequences, by name, such as `MECHANISMS`.
        names: Those of instances, by default all `INSTANCES`.

    Example:
        >>> from blindcal.policy.policy import evidence_policy, public_policy
        >>> both = {"full": evidence_policy, "public": public_policy}
        >>> [(one.mechanism, round(one.error, 3), round(one.added, 3)) for one in run(both, INSTANCES[:1])]
        [('full', 0.0, 0.277), ('public', 0.277, 0.0)]
    """
    return [
        measure(mechanism, name, instance(instance_name))
        for instance_name in names
        for name, mechanism in mechanisms.items()
        if instance(instance_name).assignments is not None or not is_sequence(mechanism)
    ]


def results_frame(scores: Sequence[BenchmarkScore]) -> Any:
    """One row per mechanism and instance, as a pandas data frame; needs pandas.

    The columns are the fields of the scores, `added` and `wasted`.

    Args:
        scores: Those that `run` returns, at least one.
    """
    rows = [asdict(score) | {"added": score.added, "wasted": score.wasted} for score in scores]
    return data_frame({name: [row[name] for row in rows] for name in rows[0]})


def _policy(mechanism: Mechanism, belief: Belief) -> Policy:
    policy = mechanism(belief)
    if not isinstance(policy, Policy) or policy.accept.shape != belief.weight.shape:
        raise InputError(
            f"a mechanism must return a Policy with one accept probability for each of {belief.weight.size} "
            f"secrets, found {type(policy).__name__}"
        )
    return policy


def _least(belief: Belief, success: float) -> float:
    """The least conference error of any policy whose success is no larger."""
    front = frontier(belief)
    adversary_error = min(1.0 - success, float(front.adversary_error[-1]))
    return float(front.policy(adversary_error=adversary_error).conference_error(belief))


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
            weight = belief.weight * (np.where(labels == hint, HINT, 0.0) + (1.0 - HINT) / names.size)
            masses = weight, weight * policy.accept, weight * (1.0 - policy.accept)
            before, *after = (label_tops(mass, labels[None])[0] for mass in masses)
            added.append((sum(after) - before) / len(slots))
    return float(sum(added))


def _coupled(
    mechanism: Mechanism | SequentialMechanism, known: Instance, adversary: CoupledAdversary
) -> tuple[float, float, float, float, list[Policy]]:
    """The coupled adversary's success before, what all decisions add; errors, largest rise, all tables."""
    if known.assignments is None and not is_sequence(mechanism):
        return float("nan"), float("nan"), float("nan"), float("nan"), []
    (outcomes, wrong, tables), (_, chance) = all_decisions(mechanism, known), known.matchings
    nothing, total = np.ones((1, chance.size)), (outcomes @ chance)[:, None]
    alone, before = adversary(known, nothing), _reviewer_chances(known, nothing)[0].max(axis=1)
    after = _reviewer_chances(known, outcomes).max(axis=2)
    rises = after / np.where(total > 0.0, total, 1.0) - before
    added, rise = adversary(known, outcomes) - alone, max(0.0, float(rises.max()))
    return alone, added, float(wrong @ chance), rise, tables


def __dir__() -> list[str]:
    return sorted(__all__)
