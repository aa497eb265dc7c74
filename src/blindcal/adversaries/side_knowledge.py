"""Adversaries with side knowledge, each compared with its own baseline without decisions.

The first part has adversaries who know more than a certificate assumes. A prior of its own: other weights for
the tuples. Evidence of its own, such as writing style: for each review and candidate a number from N(0, 1),
shifted by `strength` for the reviewer, who therefore stands out by this many standard deviations (d').
Colluding reviewers: they know which reviews are theirs, and that they wrote no other. A co-reviewer: it knows
its own review and who else reviewed the paper, but not who wrote which review. The author of a paper: it
looks at that paper alone, and it may be the worst one. Success is each adversary's own expectation, under its
own belief.

The second part has an adversary with a better model of reviewers. A certificate is exact for the adversary
that believes the stated model; here the scores arose in another `ScoreModel`, whose likelihoods the adversary
knows, while decisions follow tables that were planned without it. Its gain is compared with the claims.

The third part tests a whole system for dependence on the truth. Public texts must be a function of public
data and decisions, and tables of public data alone. The same public data are released for many assignments
and keys, and three signs are looked for: tables that change with the truth (as parameters fitted on the same
reviews do), public texts that differ although the decisions do not (as rows in the order of processing do),
and decisions that are correlated (a coin used twice) or biased.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import gammaln, log_ndtr, logsumexp, ndtri

from blindcal.adversaries.findings import Finding, finding_about, paper_findings
from blindcal.adversaries.single_paper import AUTHOR, POLICIES, View, authors, rises
from blindcal.assignment.candidates import OUTSIDER
from blindcal.assignment.similarity import Similarity
from blindcal.checks import Array, Integers
from blindcal.compute.parallel import Workers, parallel_map
from blindcal.errors import InputError
from blindcal.posterior.paper import PaperCase

PRIORS = ("given", "uniform", "sharpened")
_SHARPENING = 1.0
"""The increase of each true reviewer's log odds in a sharpened prior."""

# Draws of evidence for each paper, and of colluders for the conference.
_DRAWS, _COLLUSIONS = 64, 32
_SEED = 17


def with_prior(view: View, prior: str) -> View:
    """The paper under another prior: the stated one, a uniform one, or one that favors the true reviewers."""
    if prior not in PRIORS:
        raise InputError(f"`prior` must be one of {', '.join(PRIORS)}, found {prior!r}")
    if prior == "given":
        return view
    if prior == "uniform":
        return view.believing(_likelihood(view))
    if view.truth is None:
        raise InputError("`prior` sharpened leans towards the true reviewers: only a release has them")
    right = np.isin(view.rows, [who for who in view.truth if who >= 0]).sum(axis=1)
    return view.believing(view.weight * np.exp(_SHARPENING * right))


def with_similarity(view: View, similarity: Similarity) -> View:
    """The paper under a prior proportional to the product of the reviewers' similarities to it.

    A candidate without a similarity has 0, and cannot have reviewed.
    """
    place = {name: index for index, name in enumerate(similarity.reviewers)}
    known = view.paper in similarity.papers
    row = similarity.value[[similarity.papers.index(view.paper)]].toarray()[0] if known else []
    similar = np.array([row[place[name]] if known and name in place else 0.0 for name in view.names])
    # Nobody (-1) is the last entry: an outsider is as similar as `*` is.
    stranger = similar[view.names.index(OUTSIDER)] if OUTSIDER in view.names else 0.0
    product = np.append(similar, stranger)[view.rows].prod(axis=1)
    likelihood = _likelihood(view)
    if not (likelihood @ product) > 0.0:
        raise InputError(
            f"`prior`: by its similarities nobody of the pool can have reviewed paper {view.paper!r}"
        )
    return view.believing(likelihood * product)


def _likelihood(view: View) -> Array:
    """The likelihood of each tuple, up to a factor; 0 for tuples that the stated prior rules out."""
    possible = np.isfinite(view.log_prior)
    least = view.log_prior[possible].min()
    return np.asarray(view.weight * possible * np.exp(least - np.where(possible, view.log_prior, least)))


def prior_findings(
    views: Sequence[View], prior: str | Similarity, policies: Sequence[str] = POLICIES
) -> list[Finding]:
    """The gain of an adversary with another prior, given by name or by similarities, and its largest rise."""
    if isinstance(prior, str):
        name, other = prior, [with_prior(view, prior) for view in views]
    else:
        name, other = "similarity", [with_similarity(view, prior) for view in views]
    found = []
    for policy in policies:
        rise = max(float(rises(view, view.mass(policy)).max()) for view in other)
        found += [replace(finding, rise=rise) for finding in paper_findings(f"prior: {name}", other, policy)]
    return found


def evidence_findings(
    views: Sequence[View],
    strength: float,
    policies: Sequence[str] = POLICIES,
    *,
    draws: int = _DRAWS,
    workers: Workers = 1,
) -> list[Finding]:
    """Naming a reviewer with evidence of one's own, drawn at random and shared by all policies."""
    if not 0.0 <= strength < np.inf:
        raise InputError(f"`evidence` must be a number at least 0, found {strength}")
    one = partial(_with_evidence, strength=strength, policies=tuple(policies), draws=draws)
    # [paper, draw, 1 + policy]: mean over reviews of the chance that the best guess is right.
    right = np.array(parallel_map(one, list(enumerate(views)), workers=workers))
    share = _shares(views)
    mean, name = share @ right.mean(axis=1), f"evidence of strength {strength:g}"
    found = []
    for column, policy in enumerate(policies, start=1):
        added = right[:, :, column] - right[:, :, 0]
        error = float(np.sqrt((share**2) @ added.var(axis=1, ddof=1) / draws))
        found.append(Finding(name, AUTHOR, policy, float(mean[0]), float(mean[column]), error))
    return found


def _shares(views: Sequence[View]) -> Array:
    slots = np.array([len(view.scores) for view in views], dtype=np.float64)
    return np.asarray(slots / slots.sum())


def _with_evidence(job: tuple[int, View], strength: float, policies: tuple[str, ...], draws: int) -> Array:
    """`[draw, 1 + policy]`: success by importance sampling, with the truth drawn given the scores alone."""
    number, view = job
    rng = np.random.default_rng([_SEED, number])
    (tuples, slots), people = view.rows.shape, len(view.names)
    truth = view.rows[rng.choice(tuples, draws, p=view.weight)]
    signal = rng.standard_normal((draws, slots, people + 1))
    # Nobody (-1) has a column too: a review by an outsider looks like a review by any other.
    np.put_along_axis(
        signal, truth[:, :, None] % (people + 1), strength + _signal_of(signal, truth)[:, :, None], axis=2
    )
    likelihood = np.zeros((draws, tuples))
    for slot in range(slots):
        likelihood += strength * signal[:, slot, view.rows[:, slot] % (people + 1)]
    likelihood = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    scale = likelihood @ view.weight
    by_label = _by_label(view)
    found = []
    for mass in (view.alone, *(view.mass(policy) for policy in policies)):
        best = sum(
            (((likelihood * row) @ by_label).reshape(draws, slots, people).max(axis=2) for row in mass),
            start=np.zeros((draws, slots)),
        )
        found.append(best.mean(axis=1) / scale)
    return np.stack(found, axis=1)


def _signal_of(signal: Array, truth: Integers) -> Array:
    return np.take_along_axis(signal, truth[:, :, None] % signal.shape[2], axis=2)[:, :, 0]


def _by_label(view: View) -> csr_array:
    """`[tuple, slot * candidate]`: 1 if this candidate has this slot of the tuple."""
    tuples, slots = view.rows.shape
    row, slot = np.nonzero(view.rows >= 0)
    column = slot * len(view.names) + view.rows[row, slot]
    return csr_array((np.ones(row.size), (row, column)), shape=(tuples, slots * len(view.names)))


@dataclass(frozen=True, eq=False)
class _InformedView:
    """A paper as colluders see it; `open` is true for reviews that are not theirs."""

    view: View
    open: NDArray[np.bool_]


def collusion_findings(
    views: Sequence[View],
    colluders: int,
    policies: Sequence[str] = POLICIES,
    *,
    draws: int = _COLLUSIONS,
) -> list[Finding]:
    """Naming the reviewer of a review that no colluder wrote, for reviewers who share their knowledge.

    Colluders are drawn from all candidates; if the true reviewers are unknown, they are drawn from the
    belief. The result is the certificate's, computed again with the facts that colluders know.
    """
    people = sorted({name for view in views for name in view.names if name != "*"})
    if not 1 <= colluders < len(people):
        raise InputError(f"`colluders` must be at least 1 and below {len(people)}, found {colluders}")
    right, rise = np.zeros((draws, 1 + len(policies))), np.full(len(policies), -np.inf)
    for draw in range(draws):
        rng = np.random.default_rng([_SEED, colluders, draw])
        chosen = {people[i] for i in rng.choice(len(people), colluders, replace=False)}
        informed = [one for view in views if (one := _informed_view(view, chosen, rng)).open.any()]
        reviews = sum(float(one.open.sum()) for one in informed)
        for one in informed:
            masses = [one.view.alone, *(one.view.mass(policy) for policy in policies)]
            best = [authors(one.view, mass).max(axis=2).sum(axis=0)[one.open].sum() for mass in masses]
            right[draw] += np.array(best) / reviews
            for column, mass in enumerate(masses[1:]):
                rise[column] = max(rise[column], float(rises(one.view, mass)[:, one.open].max()))
    name = f"{colluders} colluding reviewer{'s' * (colluders > 1)}"
    mean = right.mean(axis=0)
    return [
        Finding(
            name,
            AUTHOR,
            policy,
            float(mean[0]),
            float(mean[column]),
            float((right[:, column] - right[:, 0]).std(ddof=1) / np.sqrt(draws)),
            float(rise[column - 1]),
        )
        for column, policy in enumerate(policies, start=1)
    ]


def _informed_view(view: View, colluders: set[str], rng: np.random.Generator) -> _InformedView:
    """The paper given the colluders' facts: which reviews are theirs, and that no others are."""
    inside = np.array([name in colluders for name in view.names])
    truth = np.array(
        view.truth if view.truth is not None else view.rows[rng.choice(len(view.rows), p=view.weight)]
    )
    theirs = (truth >= 0) & inside[truth]
    mine = (view.rows >= 0) & inside[view.rows]
    possible = np.where(theirs, view.rows == truth, ~mine).all(axis=1)
    return _InformedView(view.believing(view.weight * possible), ~theirs)


def co_reviewer_findings(views: Sequence[View], policies: Sequence[str] = POLICIES) -> list[Finding]:
    """Matching the other reviews to their reviewers, for a reviewer who knows the names of all of them."""
    several = [view for view in views if len(view.scores) > 1]
    if not several:
        return []
    share = _shares(several)
    groups = [_indistinguishable(view) for view in several]
    found = []
    for policy in policies:
        alone, decided = (
            float(
                share
                @ [
                    _co_reviewer_success(view, mass, group)
                    for view, mass, group in zip(several, masses, groups, strict=True)
                ]
            )
            for masses in ([view.alone for view in several], [view.mass(policy) for view in several])
        )
        found.append(Finding("co-reviewer who knows the names", AUTHOR, policy, alone, decided))
    return found


def _indistinguishable(view: View) -> list[Integers]:
    """For each slot, equal numbers for tuples that its reviewer, who knows the names, cannot distinguish."""
    base = len(view.names) + 1
    ordered = np.sort(view.rows + 1, axis=1)
    key = np.zeros(len(ordered), dtype=np.int64)
    for column in ordered.T:
        key = key * base + column
    return [np.unique(key * base + own + 1, return_inverse=True)[1].ravel() for own in view.rows.T]


def _co_reviewer_success(view: View, mass: Array, groups: Sequence[Integers]) -> float:
    """The chance of a correct guess, mean over the co-reviewer's slot and the other reviews."""
    base, found = len(view.names) + 1, []
    for own, group in enumerate(groups):
        for slot in range(len(view.scores)):
            if slot != own:
                label, which = np.unique(group * base + view.rows[:, slot] + 1, return_inverse=True)
                first = np.flatnonzero(np.diff(label // base, prepend=-1))
                found.append(sum(_best_guesses(row, which.ravel(), label % base > 0, first) for row in mass))
    return float(np.mean(found))


def _best_guesses(row: Array, which: Integers, named: NDArray[np.bool_], first: Integers) -> float:
    sums = np.bincount(which, row, named.size) * named
    return float(np.maximum.reduceat(sums, first).sum())


def author_findings(views: Sequence[View], policies: Sequence[str] = POLICIES) -> list[Finding]:
    """The author of the paper on which decisions add most, who sees that paper's scores and decision."""
    papers = [_paper_findings(view, policies) for view in views]
    return max(papers, key=lambda found: [round(one.added, 9) for one in found])


def _paper_findings(view: View, policies: Sequence[str]) -> list[Finding]:
    alone = float(authors(view, view.alone).max(axis=2).sum(axis=0).mean())
    found = []
    for policy in policies:
        mass = view.mass(policy)
        success = float(authors(view, mass).max(axis=2).sum(axis=0).mean())
        rise = float(rises(view, mass).max())
        found.append(
            Finding("author of the paper that loses most", AUTHOR, policy, alone, success, 0.0, rise)
        )
    return found


# The grid of qualities for sums: N(0, 1) has less than 1e-14 beyond its ends.
_LARGEST_QUALITY, _NODES = 8.0, 1601
QUALITIES = np.linspace(-_LARGEST_QUALITY, _LARGEST_QUALITY, _NODES)

Likelihood = Callable[[Array, Array, Array], Array]
"""`(score[slot], parameters[candidate, field], quality[node]) -> log density [slot, candidate, node]`."""


@dataclass(frozen=True)
class ScoreModel:
    """A true model of scores: log density of a score given reviewer and quality, and of quality."""

    name: str
    log_score: Likelihood
    log_quality: Callable[[Array], Array]

    def weight(self, case: PaperCase, parameters: Array | None = None) -> Array:
        """The posterior of each tuple of a paper in this world, by sums over quality.

        `parameters` are the true ones, if they differ from those stated.
        """
        if not case.listed:
            raise InputError(f"the tuples of paper {case.paper!r} must be few enough to be listed")
        known = np.array(case.parameters) if parameters is None else parameters
        log_score = self.log_score(np.array(case.scores), known, QUALITIES)
        total = case.log_prior(case.tuples)[:, None] + self.log_quality(QUALITIES)
        for slot, who in enumerate(case.tuples.T):
            total = total + log_score[slot, who]
        log_weight = logsumexp(total, axis=1)
        return np.asarray(np.exp(log_weight - logsumexp(log_weight)))


@dataclass(frozen=True)
class Misfit:
    """Claimed and true success in naming a reviewer, mean over reviews, and the largest rises."""

    world: str
    claimed_alone: float
    claimed: float
    alone: float
    success: float
    claimed_rise: float
    rise: float

    @property
    def claimed_added(self) -> float:
        return self.claimed - self.claimed_alone

    @property
    def added(self) -> float:
        return self.success - self.alone


def misfit(world: str, views: Sequence[View], weights: Sequence[Array], policy: str = "chosen") -> Misfit:
    """Compares views as planned with the true weights of their tuples."""
    true = [view.believing(weight) for view, weight in zip(views, weights, strict=True)]
    claimed_alone, claimed, claimed_rise = _naming_success(views, policy)
    alone, success, rise = _naming_success(true, policy)
    return Misfit(world, claimed_alone, claimed, alone, success, claimed_rise, rise)


def _naming_success(views: Sequence[View], policy: str) -> tuple[float, float, float]:
    """Success in naming a reviewer from the scores and with decisions, and the largest rise."""
    finding = finding_about(paper_findings("", views, policy), policy)
    return (
        finding.baseline,
        finding.success,
        max(float(rises(view, view.mass(policy)).max()) for view in views),
    )


def worst_misfit(found: Sequence[Misfit]) -> Misfit:
    """The world in which decisions add most beyond the claim."""
    return max(found, key=lambda misfit: misfit.added - misfit.claimed_added)


def affine(score: Array, parameters: Array, quality: Array) -> Array:
    """The stated model: N(slope q + offset, noise^2)."""
    slope, offset, noise = (column[None, :, None] for column in parameters.T[:3])
    gap = (score[:, None, None] - slope * quality - offset) / noise
    return np.asarray(-0.5 * gap**2 - np.log(noise))


def student_t(score: Array, parameters: Array, quality: Array, freedom: float = 4.0) -> Array:
    """Student's t around the same line, with the same standard deviation."""
    slope, offset, noise = (column[None, :, None] for column in parameters.T[:3])
    scale = noise * np.sqrt((freedom - 2.0) / freedom)
    gap = (score[:, None, None] - slope * quality - offset) / scale
    constant = gammaln((freedom + 1.0) / 2.0) - gammaln(freedom / 2.0) - 0.5 * np.log(freedom * np.pi)
    return np.asarray(constant - np.log(scale) - 0.5 * (freedom + 1.0) * np.log1p(gap**2 / freedom))


def saturating(score: Array, parameters: Array, quality: Array) -> Array:
    """Reviewers who saturate at both ends: the full slope at quality 0, and half of it at about 1.8."""
    return affine(score, parameters, bent(quality))


def bent(quality: Array) -> Array:
    """Quality as saturating reviewers see it, `2 tanh(q / 2)`."""
    return np.asarray(2.0 * np.tanh(quality / 2.0))


def rounded_to(step: float) -> Likelihood:
    """Scores rounded to a grid of this step, although the stated model takes them as exact."""

    def log_score(score: Array, parameters: Array, quality: Array) -> Array:
        slope, offset, noise = (column[None, :, None] for column in parameters.T[:3])
        middle = slope * quality + offset
        low, high = ((score[:, None, None] + side * step / 2 - middle) / noise for side in (-1, 1))
        # The difference of two normal probabilities, in the tail in which both are small.
        upper, lower = np.where(low > 0.0, -low, high), np.where(low > 0.0, -high, low)
        with np.errstate(divide="ignore"):
            return np.asarray(log_ndtr(upper) + np.log(-np.expm1(log_ndtr(lower) - log_ndtr(upper))))

    return log_score


def normal(quality: Array) -> Array:
    """The stated N(0, 1)."""
    return np.asarray(-0.5 * quality**2)


def bimodal(quality: Array, apart: float = 0.9) -> Array:
    """Half of the papers good and half of them bad, with mean 0 and variance 1."""
    spread = np.sqrt(1.0 - apart**2)
    humps = [-0.5 * ((quality - side * apart) / spread) ** 2 for side in (-1.0, 1.0)]
    return np.asarray(np.logaddexp(humps[0], humps[1]))


SCORE_MODELS = (
    ScoreModel("as stated", affine, normal),
    ScoreModel("heavy tails (t with 4 degrees of freedom)", student_t, normal),
    ScoreModel("curved reviewers", saturating, normal),
    ScoreModel("rounded scores, rounding ignored", rounded_to(1.0), normal),
    ScoreModel("two kinds of papers", affine, bimodal),
)
"""Worlds with the stated parameters; `World.weight` also takes true parameters that differ from these."""


FALSE_ALARM = 1e-6
"""The probability that a sound system fails, over all papers and pairs together (Bonferroni)."""


@dataclass(frozen=True, eq=False)
class RepeatedRelease:
    """One of several releases of the same public data.

    It has one table per paper, the accept probability of each paper under this release's true reviewers, the
    decisions, and all public bytes.
    """

    tables: tuple[Array, ...] = field(repr=False)
    chance: tuple[float, ...] = field(repr=False)
    accepted: tuple[bool, ...]
    public: bytes = field(repr=False)


@dataclass(frozen=True)
class TruthDependence:
    """Signs of dependence on the truth, over several releases.

    `tables` are papers whose table changed, `texts` counts releases with equal decisions and other texts,
    `biased` are papers decided too often one way, and `together` are pairs of papers with correlated
    decisions.
    """

    tables: tuple[int, ...]
    texts: int
    biased: tuple[int, ...]
    together: tuple[tuple[int, int], ...]

    @property
    def any(self) -> bool:
        return bool(self.tables or self.texts or self.biased or self.together)


def truth_dependence(trials: Sequence[RepeatedRelease]) -> TruthDependence:
    """Tests several releases of the same public data for dependence on the truth."""
    if len(trials) < 2:
        raise InputError("`trials` must be at least 2 releases of the same public data")
    papers = range(len(trials[0].tables))
    moved = [
        paper
        for paper in papers
        if any(not np.array_equal(one.tables[paper], trials[0].tables[paper]) for one in trials[1:])
    ]
    texts: dict[tuple[bool, ...], bytes] = {}
    differ = sum(texts.setdefault(one.accepted, one.public) != one.public for one in trials)
    chance = np.array([one.chance for one in trials])
    rest = np.array([one.accepted for one in trials], dtype=np.float64) - chance
    spread = chance * (1.0 - chance)
    pairs = [(one, other) for one in papers for other in papers if one < other]
    limit = -float(ndtri(FALSE_ALARM / 2 / (len(pairs) + len(papers))))
    return TruthDependence(
        tables=tuple(moved),
        texts=differ,
        biased=tuple(paper for paper in papers if _beyond_chance(rest[:, paper], spread[:, paper], limit)),
        together=tuple(
            (one, other)
            for one, other in pairs
            if _beyond_chance(rest[:, one] * rest[:, other], spread[:, one] * spread[:, other], limit)
        ),
    )


def _beyond_chance(rest: Array, variance: Array, limit: float) -> bool:
    """Whether a sum of independent numbers of mean 0 is further from 0 than chance allows.

    Below a total variance of 10/16, as of ten products of two fair coins, a normal limit says nothing; then
    only decisions that were certain are tested.
    """
    total = float(variance.sum())
    if total < 10.0 / 16.0:
        return bool(np.abs(rest[variance == 0.0]).max(initial=0.0) > 0.0)
    return abs(float(rest.sum())) > limit * float(np.sqrt(total))
