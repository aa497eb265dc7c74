"""A mechanism of one's own, measured: what it costs, and what all of its decisions together reveal.

A mechanism is a function from one paper's belief to its policy. It may be random in its decisions only: the
same belief must give the same policy; otherwise an adversary who knows the mechanism knows less than it
could. A *sequence* is a mechanism for papers that share reviewers: a function of the instance and the
decisions so far, to the paper that is decided next and its policy.

An instance is a tuple of beliefs, one per paper, made from stated reviewers and scores. If papers share
reviewers, it also has every assignment of all papers with its probability. The adversary then knows how many
reviews everyone wrote and sees all scores and decisions; who looks at one paper at a time knows less.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

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
from blindcal.simulation.conference import simulate, uniform_case
from blindcal.simulation.population import Population, nips_2014_population, prototype_population

Mechanism = Callable[[Belief], Policy]
"""From a paper's belief to its policy."""


def three_in_four(belief: Belief) -> Policy:
    """Follow the evidence with chance 3/4, whatever it is: randomized response of epsilon log 3.

    `belief` is of one paper or pair.

    >>> three_in_four(Belief([0.6, 0.4], [0.9, 0.2])).accept
    array([0.75, 0.25])
    """
    return unchecked_policy(0.25 + 0.5 * evidence_policy(belief).accept)


def _guaranteed(name: str, **limits: Any) -> Mechanism:
    return partial(private_policy, guarantee=Guarantee(name, **limits))


MECHANISMS: Mapping[str, Mechanism] = {
    "full calibration": evidence_policy,
    "public": public_policy,
    "crowd of 10, epsilon 3": _guaranteed("crowd", among=10, epsilon=3.0),
    "steady, epsilon 3": _guaranteed("steady", epsilon=3.0),
    "odds, epsilon 3": _guaranteed("odds", epsilon=3.0),
    "odds, epsilon 1": _guaranteed("odds", epsilon=1.0),
    "average, epsilon 3": _guaranteed("average", epsilon=3.0),
    "average": _guaranteed("average", epsilon=None),
    "three in four": three_in_four,
}
"""The guarantees, and simple mechanisms to compare with."""


@dataclass(frozen=True, eq=False)
class Instance:
    """Papers that are decided one by one; shared reviewers may couple them.

    Attributes:
        name: What it is called.
        beliefs: One per paper, from its own scores.
        assignments: `assignments[assignment, paper]`, the number of each paper's secret in every assignment
            that is possible; None if papers are independent.
        chance: `chance[assignment]`, the probability of each assignment given all scores.
    """

    name: str
    beliefs: tuple[Belief, ...]
    assignments: Integers | None = None
    chance: Array | None = None

    @property
    def joint(self) -> tuple[Integers, Array]:
        """`assignments` and `chance`; an instance without them is refused."""
        if self.assignments is None or self.chance is None:
            raise InputError(f"this needs an instance whose papers share reviewers, not {self.name!r}")
        return self.assignments, self.chance

    @property
    def parts(self) -> list[Instance]:
        """Independent parts, each with its assignments: all papers that share reviewers, or single papers."""
        if self.assignments is not None:
            return [self]
        return [
            Instance(self.name, (belief,), np.arange(belief.weight.size)[:, None], belief.weight)
            for belief in self.beliefs
        ]


def shared_reviewers(
    name: str, score: ArrayLike, people: Affine, loads: ArrayLike | int = 1, bar: float = 0.0
) -> Instance:
    """Papers reviewed by the same people, everyone with a known number of reviews.

    Every assignment in which everyone has their load is equally likely before the scores.

    Args:
        name: What the instance is called.
        score: `score[paper]`, or `score[paper, slot]` if papers have several reviews.
        people: All reviewers, exactly known.
        loads: How many reviews everyone wrote, or one number for all.
        bar: The threshold on quality.

    Example:
        >>> people = Affine(np.array([1.2, 0.8]), np.array([0.6, -0.6]), np.array([0.5, 0.5]))
        >>> shared_reviewers("mine", [0.9, 0.4], people).chance.round(3)
        array([0.665, 0.335])
    """
    scores = np.asarray(score, dtype=np.float64)
    by_slot = scores.reshape(len(scores), -1)
    known = np.column_stack(
        [np.ravel(part) for part in np.broadcast_arrays(people.slope, people.offset, people.noise)]
    )
    size, slots = len(known), by_slot.shape[1]
    names = [f"r{person:03d}" for person in range(size)]
    cases = [uniform_case(f"p{number}", own, names, known, bar) for number, own in enumerate(by_slot)]
    beliefs = [case.belief for case in cases]
    if slots == 1:
        # Without labels, the secret itself is the guess: closed forms know it.
        beliefs = [Belief(belief.weight, belief.favor) for belief in beliefs]
    assignments = _assignments_with_loads(cases[0].tuples, len(cases), np.broadcast_to(loads, size))
    chance = np.prod([belief.weight[own] for belief, own in zip(beliefs, assignments.T, strict=True)], axis=0)
    if not chance.sum() > 0.0:
        raise InputError(f"no assignment of {len(cases)} papers has these loads: {loads!r}")
    return Instance(name, tuple(beliefs), assignments, chance / chance.sum())


def _assignments_with_loads(tuples: Integers, papers: int, loads: Integers) -> Integers:
    """`[assignment, paper]`: the tuples of all papers in which everyone has their load."""
    used = (tuples[:, :, None] == np.arange(loads.size)).sum(axis=1)
    chosen, left = np.zeros((1, 0), dtype=np.int64), loads[None]
    for _ in range(papers):
        after = left[:, None] - used
        earlier, tuple_of = np.nonzero((after >= 0).all(axis=2))
        chosen, left = np.column_stack([chosen[earlier], tuple_of]), after[earlier, tuple_of]
    return np.asarray(chosen[(left == 0).all(axis=1)])


def _pools_instance(
    name: str, papers: int, pool: int, reviews: int, population: Population, seed: int
) -> Instance:
    """Papers whose pools hardly overlap, taken as independent; the bar is the upper quartile of N(0, 1)."""
    drawn = simulate(papers, pool, reviews, population, reviewers=40 * papers, seed=seed)
    return Instance(name, tuple(case.belief for case in drawn.cases(0.6745)))


def _committee_instance(name: str, papers: int, reviews: int, seed: int) -> Instance:
    """As many reviewers as papers, the prototype's, everyone with as many reviews as a paper has."""
    rng, population = np.random.default_rng(seed), prototype_population()
    parameters = population.parameters(rng, (papers,))
    quality = rng.standard_normal(papers)
    # Slot s of paper i by person i + s: the scores are the same if the names of people change.
    who = (np.arange(papers)[:, None] + np.arange(reviews)) % papers
    score = population.scores(rng, quality[:, None], *(part[who] for part in parameters))
    return shared_reviewers(name, score, Affine(*parameters), reviews)


_PAIR = partial(setting, (0.9, 0.4), a_1=1.2, b_1=0.6, a_2=0.8, b_2=-0.6, sigma=0.5)
# What makes each instance: a function of its name and these arguments.
_MAKERS: dict[str, tuple[Any, ...]] = {
    "pair with noise": (lambda name: Instance(name, (_PAIR(),)),),
    "papers, pools of 4": (_pools_instance, 12, 4, 2, prototype_population(), 11),
    "papers, pools of 8": (_pools_instance, 8, 8, 2, prototype_population(), 12),
    "papers, pools of 40": (_pools_instance, 4, 40, 2, prototype_population(), 14),
    # The paper's two papers, each decided by itself.
    "the paper's two reviewers": (shared_reviewers, [0.9, 0.4], Affine([1.2, 0.8], [0.6, -0.6], [0.5, 0.5])),
    "matching of 2": (_committee_instance, 2, 1, 21),
    "matching of 3": (_committee_instance, 3, 1, 22),
    "matching of 4": (_committee_instance, 4, 1, 23),
    "two reviews each, 3 papers": (_committee_instance, 3, 2, 26),
    "two reviews each, 4 papers": (_committee_instance, 4, 2, 25),
    "conference": (_pools_instance, 30, 5, 3, nips_2014_population(), 31),
}
INSTANCES = tuple(_MAKERS)
"""The fixed instances; their numbers never change."""


@cache
def instance(name: str) -> Instance:
    """An instance by its name; it is made once, and always the same.

    Args:
        name: One of `INSTANCES`.

    Example:
        >>> found = instance("two reviews each, 3 papers")
        >>> len(found.beliefs), found.assignments.shape, round(float(found.chance.sum()), 12)
        (3, (48, 3), 1.0)
    """
    if name not in _MAKERS:
        raise InputError(f"an instance must be one of {'; '.join(INSTANCES)}, found {name!r}")
    make, *facts = _MAKERS[name]
    return cast(Instance, make(name, *facts))


SequentialMechanism = Callable[[Instance, Mapping[int, bool]], tuple[int, Policy]]
"""From an instance and the decisions so far, by paper, to the paper that is decided next and its policy."""
Adversary = Callable[[Instance, Array], float]
"""From an instance and `[outcome, assignment]`, P(all decisions | assignment), to how often it is right."""


def nothing_added(
    known: Instance, decided: Mapping[int, bool], epsilon: float | None = None
) -> tuple[int, Policy]:
    """The next paper and its table, of the sequence whose decisions together add nothing.

    `policy.sequential` has the theorem. Papers on which knowing the reviewers saves most errors come first.

    Args:
        known: An instance with assignments.
        decided: The decisions so far, by paper.
        epsilon: The most that a decision may change the logarithm of any odds between a paper's secrets.

    Example:
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
    tuples = [_secret_labels(belief).T for belief in known.beliefs]
    prior = ListedPrior(tuples, *known.joint)
    likelihoods = [np.ones(len(rows)) for rows in tuples]
    weights = [joint.sum(axis=1) for joint in prior.pairwise(likelihoods, 0)]
    favors = [belief.favor for belief in known.beliefs]
    paper = best_order(weights, favors)[len(decided)]
    for step, (earlier, accepted) in enumerate(decided):
        table = _sequence_table(known, epsilon, decided[:step])[1]
        likelihoods[earlier] = table if accepted else 1.0 - table
    return paper, next_table(prior, likelihoods, paper, favors[paper], epsilon=epsilon)


def _secret_labels(belief: Belief) -> Integers:
    """`[slot, secret]`: who wrote each review; the secret itself if there is one guess."""
    return np.arange(belief.weight.size)[None] if belief.labels is None else belief.labels


SEQUENCES: Mapping[str, SequentialMechanism] = {
    "nothing added, epsilon 3": partial(nothing_added, epsilon=3.0),
    "nothing added": nothing_added,
}
"""Sequences, for papers that share reviewers."""


def all_decisions(
    mechanism: Mechanism | SequentialMechanism, known: Instance
) -> tuple[Array, Array, list[Policy]]:
    """What all decisions together are, under each assignment: every way that they can come out.

    Args:
        mechanism: A function of a belief, or a sequence.
        known: An instance with assignments.

    Returns:
        `[outcome, assignment]`, P(all decisions | assignment); `[assignment]`, the expected share of wrong
        decisions; and every table that was used.

    Example:
        >>> chance, wrong, tables = all_decisions(public_policy, instance("matching of 2"))
        >>> chance.shape, chance.sum(axis=0), len(tables)
        ((1, 2), array([1., 1.]), 2)
    """
    assignments, prior = known.joint
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
        own = assignments[:, paper]
        accept, favor = policy.accept[own], known.beliefs[paper].favor[own]
        wrong = wrong + likelihood * (accept * (1.0 - favor) + (1.0 - accept) * favor) / len(known.beliefs)
        for accepted, chance in ((True, accept), (False, 1.0 - accept)):
            if float(likelihood * chance @ prior) > 0.0:
                decide({**decided, paper: accepted}, likelihood * chance)

    decide({}, np.ones(prior.size))
    return np.array(outcomes), wrong, tables


def _as_sequence(mechanism: Mechanism | SequentialMechanism, known: Instance) -> SequentialMechanism:
    """The mechanism as a sequence; one of beliefs decides papers in their order, each by itself."""
    if _is_sequence(mechanism):
        return cast(SequentialMechanism, mechanism)
    policies = [_checked_policy(cast(Mechanism, mechanism), belief) for belief in known.beliefs]
    return lambda _, decided: (len(decided), policies[len(decided)])


def _is_sequence(mechanism: Mechanism | SequentialMechanism) -> bool:
    """Whether a mechanism takes an instance and decisions, and not a belief."""
    parameters = inspect.signature(mechanism).parameters.values()
    own = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.default is one.empty and one.kind in own for one in parameters) == 2


def _checked_policy(mechanism: Mechanism, belief: Belief) -> Policy:
    policy = mechanism(belief)
    if not isinstance(policy, Policy) or policy.accept.shape != belief.weight.shape:
        raise InputError(
            f"a mechanism must return a Policy with one accept probability for each of {belief.weight.size} "
            f"secrets, found {type(policy).__name__}"
        )
    return policy


def best_guesses(known: Instance, outcomes: Array) -> float:
    """The adversary who knows the assignments: its chance of naming a reviewer, mean over reviews.

    Args:
        known: An instance with assignments.
        outcomes: `[outcome, assignment]`, P(all decisions | assignment); one row of ones before any decision.

    Example:
        >>> best_guesses(instance("matching of 2"), np.ones((1, 2))).__round__(3)
        0.659
    """
    return float(np.mean([top.sum(axis=0).mean() for top in _tops(known, outcomes)]))


def _tops(known: Instance, outcomes: Array) -> list[Array]:
    """For each paper `[outcome, slot]`: P(all decisions, and the best guess at a reviewer is right)."""
    assignments, chance = known.joint
    return [
        label_tops((outcomes * chance) @ np.eye(belief.weight.size)[own], _secret_labels(belief))
        for own, belief in zip(assignments.T, known.beliefs, strict=True)
    ]


@dataclass(frozen=True)
class BenchmarkScore:
    """One mechanism on one instance: means over papers, except `rise` and `epsilon`.

    Attributes:
        mechanism: The name of the mechanism.
        instance: The name of the instance.
        baseline: The chance of naming a reviewer from all scores, for someone who knows the assignments.
        coupled: How much all decisions together add to that.
        added: How much a paper's own decision adds for someone who looks at that paper alone; nan for a
            sequence.
        error: The expected share of wrong decisions.
        wasted: The error beyond the frontier of single papers, which another policy would save while
            revealing as much of each; nan for a sequence.
        rise: The most that all decisions together raise one best guess.
        epsilon: The largest of any table, which may be infinite.
    """

    mechanism: str
    instance: str
    baseline: float
    coupled: float
    added: float
    error: float
    wasted: float
    rise: float
    epsilon: float


def measure(
    mechanism: Mechanism | SequentialMechanism,
    name: str,
    known: Instance,
    adversary: Adversary = best_guesses,
) -> BenchmarkScore:
    """The score of a mechanism on an instance.

    Args:
        mechanism: Takes the belief about one paper and returns its `Policy`, or a sequence.
        name: What its score is called.
        known: The instance, as `instance` or `shared_reviewers` returns it.
        adversary: Who sees all decisions of the papers that share reviewers.

    Example:
        >>> average = measure(MECHANISMS["average"], "average", instance("matching of 3"))
        >>> round(average.baseline, 4), round(average.coupled, 4), abs(round(average.added, 9))
        (0.6606, 0.2467, 0.0)
    """
    parts = [_part_score(mechanism, part, adversary) for part in known.parts]
    baseline, coupled, error, rise, epsilon = np.array(parts).T
    added, wasted = (np.nan, np.nan) if _is_sequence(mechanism) else _single_papers(mechanism, known)
    numbers = (baseline.mean(), coupled.mean(), added, error.mean(), wasted, rise.max(), epsilon.max())
    # A difference of two sums that is their rounding is 0.
    return BenchmarkScore(name, known.name, *(0.0 if abs(one) < 1e-12 else float(one) for one in numbers))


def _part_score(
    mechanism: Mechanism | SequentialMechanism, part: Instance, adversary: Adversary
) -> tuple[float, ...]:
    """Baseline, what all decisions add, error, largest rise and largest epsilon."""
    outcomes, wrong, tables = all_decisions(mechanism, part)
    chance, nothing = part.joint[1], np.ones((1, part.joint[1].size))
    total = (outcomes @ chance)[:, None]
    tops = zip(_tops(part, nothing), _tops(part, outcomes), strict=True)
    rise = max(float((after / total - before).max()) for before, after in tops)
    baseline = adversary(part, nothing)
    epsilon = max(float(table.epsilon) for table in tables)
    return baseline, adversary(part, outcomes) - baseline, float(wrong @ chance), max(0.0, rise), epsilon


def _single_papers(mechanism: Any, known: Instance) -> tuple[float, float]:
    """What a decision adds for who looks at its paper alone, and error beyond the frontier; means."""
    added, wasted = [], []
    for belief in known.beliefs:
        policy, front = _checked_policy(mechanism, belief), frontier(belief)
        claim = audit(belief, policy)
        added.append(float(claim.success - claim.success_scores_only))
        # The best policy that reveals no more.
        hidden = min(float(policy.adversary_error(belief)), float(front.adversary_error[-1]))
        best = front.policy(adversary_error=hidden)
        wasted.append(float(policy.conference_error(belief)) - float(best.conference_error(belief)))
    return float(np.mean(added)), float(np.mean(wasted))


def run(
    mechanisms: Mapping[str, Mechanism | SequentialMechanism], names: Sequence[str] = INSTANCES
) -> list[BenchmarkScore]:
    """Every mechanism on every instance: one `BenchmarkScore` each, instance by instance.

    Sequences are measured where papers share reviewers.

    Args:
        mechanisms: Functions from a belief to a policy, or sequences, by name, such as `MECHANISMS`.
        names: Those of instances, by default all `INSTANCES`.

    Example:
        >>> both = {"full": evidence_policy, "public": public_policy}
        >>> [(one.mechanism, round(one.error, 3), round(one.coupled, 3)) for one in run(both, INSTANCES[:1])]
        [('full', 0.102, 0.335), ('public', 0.429, 0.0)]
    """
    return [
        measure(mechanism, name, instance(instance_name))
        for instance_name in names
        for name, mechanism in mechanisms.items()
        if instance(instance_name).assignments is not None or not _is_sequence(mechanism)
    ]


def results_frame(scores: Sequence[BenchmarkScore]) -> Any:
    """One row per mechanism and instance, as a pandas data frame; needs pandas.

    Args:
        scores: Those that `run` returns, at least one.
    """
    return data_frame({name: [getattr(score, name) for score in scores] for name in vars(scores[0])})


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "INSTANCES",
    "MECHANISMS",
    "SEQUENCES",
    "Adversary",
    "BenchmarkScore",
    "Instance",
    "Mechanism",
    "SequentialMechanism",
    "all_decisions",
    "best_guesses",
    "instance",
    "measure",
    "nothing_added",
    "results_frame",
    "run",
    "shared_reviewers",
]
