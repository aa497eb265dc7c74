"""Decided on this year's own reviews: how many decisions get better, and how many the scores promise.

    python studies/this_year.py [--conferences 400] [--workers N]

Conferences are simulated with their true qualities. Each is decided by mean scores, by the scores alone
(`public`), and by this year's evidence in full or within a limit on odds; figures are wrong decisions less
than by mean scores. Papers one by one: right is to accept above the population's quartile, and the
expectation over coins is exact. With an exact number: right are the truly best, and lists are ranked as
`planning` does it, over some draws. What is stated is what scores let expect if strictness is .15 to .5 of
the disagreement. Somebody who wants one of their papers accepted scores the others lower: by how much that
helps is measured, too. Writes docs/numbers/this_year.json and the tables of docs/evidence/this_year.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from blindcal.checks import Array, Integers
from blindcal.compute.parallel import parallel_map
from blindcal.planning.ranking_and_wait_list import DECIMALS
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.solver import private_policy
from blindcal.posterior.belief import Belief
from blindcal.posterior.conference import reviewers_by_slot
from blindcal.posterior.this_year_evidence import (
    SHARES,
    LevelCase,
    LevelModel,
    bar_of_number,
    bar_of_share,
    evidence,
    level_cases,
)
from blindcal.posterior.variance_components import score_moments, scores_by_paper
from blindcal.reviews import Reviews
from blindcal.simulation.metrics import chance_in_best
from stated import asked, keep, kept_part, table, with_errors

RATE, DRAWS = 0.25, 20
GUARANTEES = {
    "public": Guarantee("public"),
    "1": Guarantee("odds", epsilon=1.0),
    "2": Guarantee("odds", epsilon=2.0),
    "3": Guarantee("odds", epsilon=3.0),
    "full": Guarantee("none", epsilon=None),
}


@dataclass(frozen=True)
class World:
    """Kind and size of simulated conferences, and how they are decided.

    Scores are `mid + scale (slope quality + offset + noise)`, rounded and cut to 1..`top`.
    """

    slope: float = 0.2
    offset: float = 0.67
    noise: float = 0.7
    papers: int = 60
    people: int = 40
    reviews: tuple[int, ...] = (3,)  # the numbers of reviews that papers have in turn
    top: int = 10
    share: float = 0.25
    panels: bool = False  # three people who review the same papers
    areas: int = 1  # with people of their own; they hold .8 of quality's variance
    elsewhere: float = 0.0  # as many exchanges as this part of the reviews mix people of all areas
    centered: bool = False

    @property
    def scale(self) -> float:
        return 1.3 * (self.top - 1) / 9


@dataclass(frozen=True)
class Year:
    """One simulated conference."""

    quality: Array
    reviews: Reviews
    model: LevelModel
    areas: dict[str, str]
    offset: Array | None = None  # of each person, in units of the scores


def assigned(world: World, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Paper and reviewer of each review: loads as equal as can be, nobody twice on a paper."""
    slots = np.resize(world.reviews, world.papers)
    paper = np.repeat(np.arange(world.papers), slots)
    if world.panels:
        panel = rng.permutation(np.arange(world.papers) % (world.people // 3))
        return paper, 3 * panel[paper] + np.arange(paper.size) % 3
    group = np.arange(world.papers) % world.areas
    who = np.empty(paper.size, dtype=np.int64)
    for area in range(world.areas):
        members = np.arange(world.people)[np.arange(world.people) % world.areas == area]
        rows = np.flatnonzero(group[paper] == area)
        who[rows] = _balanced(paper[rows], members, rng)
    for one, other in rng.integers(paper.size, size=(round(world.elsewhere * paper.size), 2)):
        mine, theirs = who[paper == paper[one]], who[paper == paper[other]]
        if who[other] not in mine and who[one] not in theirs:
            who[one], who[other] = who[other], who[one]
    return paper, who


def _balanced(paper: Integers, members: Integers, rng: np.random.Generator) -> Integers:
    """Shuffled, then repaired by exchanges until nobody reviews a paper twice."""
    if members.size == np.bincount(paper).max():
        return np.asarray(members[np.arange(paper.size) - np.searchsorted(paper, paper)])
    who = rng.permutation(np.resize(rng.permutation(members), paper.size))
    while True:
        order = np.lexsort((who, paper))
        twice = order[1:][(np.diff(paper[order]) == 0) & (np.diff(who[order]) == 0)]
        if not twice.size:
            return who
        for row in twice:
            other = rng.integers(paper.size)
            who[row], who[other] = who[other], who[row]


def simulated(world: World, rng: np.random.Generator) -> Year:
    paper, who = assigned(world, rng)
    group = np.arange(world.papers) % world.areas
    quality = rng.standard_normal(world.papers)
    if world.areas > 1:
        quality = np.sqrt(0.8) * rng.standard_normal(world.areas)[group] + np.sqrt(0.2) * quality
    slope = np.exp(world.slope * rng.standard_normal(world.people))
    offset = world.offset * rng.standard_normal(world.people)
    seen = slope[who] * quality[paper] + offset[who] + world.noise * rng.standard_normal(paper.size)
    score = np.clip(np.round((1 + world.top) / 2 + world.scale * seen), 1, world.top)
    made = year(world, quality, paper, who, score, [f"a{one}" for one in group])
    return replace(made, offset=world.scale * offset)


def year(
    world: World, quality: Array, paper: Integers, who: Integers, score: Array, groups: Sequence[str]
) -> Year:
    """The tables of a conference; papers are numbered so that their natural order is their own."""
    columns = {"paper": paper.tolist(), "reviewer": [f"r{one}" for one in who], "score": score.tolist()}
    reviews = Reviews.from_table(columns)
    areas = {name: groups[int(name)] if world.centered else "" for name in reviews.papers}
    numbers = Counter(np.bincount(paper).tolist())
    moments = score_moments(scores_by_paper(reviews), areas)
    return Year(quality, reviews, LevelModel(moments, world.share, world.people, numbers), areas)


# --- Decisions.


def belief_of(cases: Sequence[LevelCase], share: float) -> Belief:
    each = [case.belief_if(share) for case in cases]
    weight, favor = (np.array([getattr(one, name) for one in each]) for name in ("weight", "favor"))
    return Belief(weight, favor, np.full((len(cases), 1, 2), -1))


def wrong(accept: Array, right: Array) -> Array:
    """The chance of a wrong decision, if accepting is right with the chance `right`."""
    return np.asarray(accept * (1.0 - right) + (1.0 - accept) * right)


def mean_scores(reviews: Reviews) -> Array:
    return np.asarray(np.bincount(reviews.paper, reviews.score) / np.bincount(reviews.paper))


def cases_of(made: Year, *, share: float = RATE, number: int | None = None) -> list[LevelCase]:
    """The papers at the bar that lets this share, or this number, of them pass."""
    cases = level_cases(made.reviews, made.model, dict.fromkeys(made.areas, ""), made.areas)
    bar = bar_of_share(cases, share) if number is None else bar_of_number(cases, number)
    return [replace(case, bar=bar) for case in cases]


def wrong_decisions(made: Year, cases: Sequence[LevelCase], right: Array) -> dict[str, Array]:
    """For each paper the chance of a wrong decision under each guarantee, papers decided one by one."""
    level = levels_of(made, cases)
    belief = belief_of(cases, made.model.share)
    own = np.arange(len(cases)), level
    return {name: wrong(private_policy(belief, one).accept[own], right) for name, one in GUARANTEES.items()}


def levels_of(made: Year, cases: Sequence[LevelCase]) -> Integers:
    return np.array(list(evidence(cases, reviewers_by_slot(made.reviews)).values()), dtype=np.int64)


def stated_gains(made: Year, cases: Sequence[LevelCase], raw: Array) -> list[float]:
    """Papers by lot at epsilon 3, and the gains that scores let expect at each share of strictness.

    The last one is that of public decisions, which depends on no share.
    """
    accept = private_policy(belief_of(cases, made.model.share), GUARANTEES["3"]).accept
    found = [float((np.ptp(accept, axis=1) > 0).sum())]
    for share in SHARES:
        belief = belief_of(cases, share)
        favor = (belief.weight * belief.favor).sum(axis=1)
        error = (belief.weight * wrong(accept, belief.favor)).sum()
        found.append(float(wrong(raw, favor).sum() - error))
    return [*found, float((wrong(raw, favor) - np.minimum(favor, 1.0 - favor)).sum())]


def wrong_on_lists(
    made: Year, cases: Sequence[LevelCase], right: Array, places: int, rng: np.random.Generator
) -> dict[str, Array]:
    """The same for lists with an exact number: ranked by favor after the draw, mean score, id."""
    level, number = levels_of(made, cases), np.arange(len(cases))
    belief, mean = belief_of(cases, made.model.share), mean_scores(made.reviews)
    found = {}
    for name, guarantee in GUARANTEES.items():
        accept = private_policy(belief, guarantee).accept
        after = [_favor(belief, 1.0 - accept), _favor(belief, accept)]
        chance, draws = np.zeros(len(cases)), DRAWS if name in "123" else 1
        for _ in range(draws):
            yes = rng.random(len(cases)) < accept[number, level]
            order = np.lexsort((number, -mean, -np.where(yes, after[1], after[0]).round(DECIMALS)))
            chance[order[:places]] += 1.0 / draws
        found[name] = wrong(chance, right)
    return found


def _favor(belief: Belief, chance: Array) -> Array:
    """P(accepting is right | scores, a private decision that each level takes with this chance)."""
    mass = belief.weight * chance
    total = mass.sum(axis=1)
    plain = (belief.weight * belief.favor).sum(axis=1)
    return np.where(total > 0.0, (mass * belief.favor).sum(axis=1) / np.where(total > 0.0, total, 1.0), plain)


def compute(job: tuple[World, int]) -> list[float]:
    """Gains one by one, papers by lot and stated gains, and gains of lists."""
    world, seed = job
    rng = np.random.default_rng([66, seed])
    made = simulated(world, rng)
    places = round(RATE * world.papers)
    singly, exact = cases_of(made), cases_of(made, number=places)
    raw, above, best_ones = (
        chance_in_best(mean_scores(made.reviews), places),
        (made.quality > ndtri(1 - RATE)).astype(np.float64),
        chance_in_best(made.quality, places),
    )
    one_by_one = wrong_decisions(made, singly, above)
    lists = wrong_on_lists(made, exact, best_ones, places, rng)
    return [
        *(float((wrong(raw, above) - each).sum()) for each in one_by_one.values()),
        *stated_gains(made, singly, raw),
        *(float((wrong(raw, best_ones) - each).sum()) for each in lists.values()),
    ]


# --- Tables.

MODERATE = World()
NIPS = World(slope=0.0, offset=0.19**0.5, noise=0.99**0.5)
PROTOTYPE = World(slope=0.5, offset=0.7, noise=0.5)
LARGE = {"papers": 180, "people": 110, "reviews": (4,)}
ORDINARY = {
    "moderate reviewers": MODERATE,
    "share .35": replace(MODERATE, share=0.35),
    "scores 1..5": replace(MODERATE, top=5),
    "scores 1..4": replace(MODERATE, top=4),
    "load 2": replace(MODERATE, people=90),
    "load 6": replace(MODERATE, people=30),
    "2 reviews": replace(MODERATE, reviews=(2,), people=27),
    "4 reviews": replace(MODERATE, reviews=(4,), people=53),
    "2 to 4 reviews": replace(MODERATE, reviews=(2, 3, 4)),
    "as at NIPS": NIPS,
    "NIPS, share .5": replace(NIPS, share=0.5),
    "prototype": PROTOTYPE,
    "prototype, share .5": replace(PROTOTYPE, share=0.5),
    "180 papers, moderate": replace(MODERATE, **LARGE),
    "180 papers, as at NIPS": replace(NIPS, **LARGE),
    "180 papers, prototype": replace(PROTOTYPE, **LARGE),
}
_AREAS = {"areas": 5, "people": 20}
HARD = {
    "everyone reviews everything": replace(MODERATE, people=3),
    "nobody is strict": replace(MODERATE, slope=0.0, offset=0.0, noise=0.97),
    "nobody is strict, share .5": replace(MODERATE, slope=0.0, offset=0.0, noise=0.97, share=0.5),
    "large slopes, small offsets": replace(MODERATE, slope=0.6, offset=0.1),
    "fixed panels of three": replace(MODERATE, panels=True, people=36),
    "one review a person": replace(MODERATE, people=180),
    "a third of the papers with one review": replace(MODERATE, reviews=(3, 3, 1), people=31),
    "areas that differ": replace(MODERATE, **_AREAS),
    "areas that differ, share .5": replace(MODERATE, share=0.5, **_AREAS),
    "areas that differ, centered": replace(MODERATE, centered=True, **_AREAS),
    "areas that differ and share people": replace(MODERATE, elsewhere=0.5, **_AREAS),
    "areas that share people, centered": replace(MODERATE, elsewhere=0.5, centered=True, **_AREAS),
}


# --- Strategy.

MOVES = {
    "two points less for all others": (-2, 0),
    "two points less for one other": (-2, 0),
    "one point more for the paper": (0, 1),
    "both": (-2, 1),
}


def moved(made: Year, person: int, paper: int, move: str, top: int) -> Reviews:
    """The reviews after somebody changed their scores for the sake of a paper that they reviewed."""
    others, own = MOVES[move]
    mine = made.reviews.reviewer == person
    rest = mine & (made.reviews.paper != paper)
    if "one other" in move:
        rest &= np.arange(rest.size) == np.flatnonzero(rest)[0]
    change = others * rest + own * (mine & (made.reviews.paper == paper))
    return replace(made.reviews, score=np.clip(made.reviews.score + change, 1, top))


def accepted(made: Year, paper: int, world: World) -> list[float]:
    """The chance that a paper is accepted: among the best by mean scores, and by each guarantee."""
    cases = cases_of(made)
    level, belief = levels_of(made, cases), belief_of([cases[paper]], made.model.share)
    chances = [
        float(private_policy(belief, GUARANTEES[name]).accept[0, level[paper]])
        for name in ("public", "3", "full")
    ]
    return [float(chance_in_best(mean_scores(made.reviews), round(RATE * world.papers))[paper]), *chances]


def strategic(job: tuple[World, int]) -> Array:
    """`[move, rule]`: how much likelier a move makes a paper near the bar."""
    world, seed = job
    rng = np.random.default_rng([68, seed])
    made = simulated(world, rng)
    means = mean_scores(made.reviews)
    near = np.argsort(np.abs(means - np.quantile(means, 1 - RATE)))[:15]
    paper = int(rng.choice(near))
    person = int(rng.choice(made.reviews.reviewer[made.reviews.paper == paper]))
    honest = np.array(accepted(made, paper, world))
    found = []
    for move in MOVES:
        reviews = moved(made, person, paper, move, world.top)
        model = replace(made.model, moments=score_moments(scores_by_paper(reviews), made.areas))
        found.append(np.array(accepted(replace(made, reviews=reviews, model=model), paper, world)) - honest)
    return np.array(found)


def strategy_lines(found: Array) -> list[str]:
    rows = ([name, *with_errors(found[:, move], "+.1f", scale=100)] for move, name in enumerate(MOVES))
    return table(["move", "best quarter by mean scores", "public", "epsilon 3", "full"], *rows)


def lines(found: dict[str, Array]) -> list[str]:
    head = ["public", "epsilon 1", "2", "3", "full", "stated: public", "stated: 3", "lots"]
    head += [f"exact: {name}" for name in ("public", "1", "2", "3", "full")]
    rows = []
    for name, gains in found.items():
        mean, cells = gains.mean(axis=0), with_errors(gains)
        stated = f"{mean[6:10].min():.2f} to {mean[6:10].max():.2f}"
        rows.append([name, *cells[:5], f"{mean[10]:.2f}", stated, f"{mean[5]:.1f}", *cells[11:]])
    return table(["conference", *head], *rows)


def kept_lines(found: dict[str, Array]) -> list[str]:
    """The part of (full - public) that each epsilon keeps, one by one and with an exact number."""
    head = [f"{kind}epsilon {one}" for kind in ("", "exact: ") for one in (1, 2, 3)]
    rows = (
        [name, *(kept_part(part, one) for part in (gains[:, :5], gains[:, 11:]) for one in (1, 2, 3))]
        for name, gains in found.items()
    )
    return table(["conference", *head], *rows)


def main() -> None:
    options = asked("this_year", __doc__, conferences=400)
    found = {}
    for name, world in {**ORDINARY, **HARD}.items():
        number = options.conferences // (4 if world.papers > 100 else 1)
        jobs = [(world, seed) for seed in range(number)]
        found[name] = np.array(parallel_map(compute, jobs, workers=options.workers))
        print(f"{name}: done", flush=True)
    jobs = [(MODERATE, seed) for seed in range(2 * options.conferences)]
    strategy = strategy_lines(np.array(parallel_map(strategic, jobs, workers=options.workers)))
    ordinary, hard = ({name: found[name] for name in worlds} for worlds in (ORDINARY, HARD))
    tables = {"this year": lines(ordinary), "this year hard": lines(hard)}
    tables |= {"this year strategy": strategy, "this year kept": kept_lines(found)}
    keep(options, {"docs/evidence/this_year.md": tables})


if __name__ == "__main__":
    main()
