"""Reviews, calibration and pools that do not fit together: every problem at once, and no reviewer named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from math import factorial

import numpy as np

from blindcal.assignments.pools import OUTSIDER, Pools, SampledPool, conflicts_in, first_row
from blindcal.assignments.priors import tuple_count
from blindcal.assignments.strangers import BEFOREHAND, CAUSES, Stranger, strangers
from blindcal.beliefs.cases import MOST_LISTED
from blindcal.cells import count
from blindcal.errors import Problem
from blindcal.files.tables import refuse
from blindcal.reviews import Reviews

# Where tuples are too many to be listed, sums over all sets of slots are taken: a minute at this number.
MOST_REVIEWS = 9
Parameters = Mapping[str, tuple[float, ...]]
"""For each reviewer (and `*`, anyone without a row) the numbers of `fitting.rosters.FIELDS`."""

_POOL_RULE = "must have a pool for a paper that has reviews"
_SWAPPED = "the columns paper and reviewer look swapped"
_UNLIKE = "emails in one file and names in the other?"
_APART = "no paper is in both files: are the ids spelled differently?"


@dataclass(frozen=True)
class Sources:
    """The files that a conference was read from: messages then name them, and rows in them."""

    reviews: str
    reviewers: str
    pools: str


def refuse_mismatches(
    reviews: Reviews, parameters: Parameters, pools: Pools, sources: Sources | None
) -> None:
    """Every problem at once. No reviewer is named, and a paper by the first of its rows: no review is singled
    out."""
    named = sources or Sources("reviews", "reviewers", "pools")
    wrote = by_slot(reviews)
    broken = {paper: _pool_problems(who, pools.get(paper)) for paper, who in wrote.items()}
    missing = {paper: _missing(who, pools.get(paper, {})) for paper, who in wrote.items()}
    problems, strange = list[Problem](), list[Stranger]()
    if any(broken.values()) or any(missing.values()):
        barred = set[tuple[str, str]]() if sources is None else conflicts_in(sources.pools)
        members = {name for pool in pools.values() for name in pool}
        people = {*parameters, *members, *(name for _, name in barred)}
        shown = _shown_papers(reviews, pools, people, sources)
        swapped = _swapped(reviews, people) or (bool(pools) and pools.keys() <= parameters.keys())
        strange = strangers(missing, pools, parameters, barred)
        problems += _broken_pools(broken, reviews, pools, shown, swapped, named)
        problems += _unknown_reviewers(strange, reviews, parameters, shown, swapped, named)
    problems += unknown_candidates(reviews.papers, parameters, pools, sources)
    if problems:
        error = refuse(problems[:100], more=max(0, len(problems) - 100))
        error.confidential = tuple(astuple(one) for one in strange)
        raise error


def _broken_pools(
    broken: Mapping[str, Sequence[tuple[str, str]]],
    reviews: Reviews,
    pools: Pools,
    shown: Mapping[str, str],
    swapped: bool,
    named: Sources,
) -> list[Problem]:
    """What is wrong with the pools of some papers; said once where no paper has any."""
    if pools.keys().isdisjoint(reviews.papers):
        why = f"{_SWAPPED} in one of them" if swapped else _APART
        found = f"none for any of the {count(len(reviews.papers), 'paper')} of {named.reviews}: {why}"
        return [Problem(named.pools, None, None, _POOL_RULE, found)]
    return [
        Problem(named.pools, None, None, rule, f"{found} for {shown[paper]}")
        for paper in shown
        for rule, found in broken[paper]
    ]


def _unknown_reviewers(
    strange: Sequence[Stranger],
    reviews: Reviews,
    parameters: Parameters,
    shown: Mapping[str, str],
    swapped: bool,
    named: Sources,
) -> list[Problem]:
    """How many reviewers of which papers are not in the pool, and why; said once where nobody has a row."""
    counted = Counter((one.paper, one.cause) for one in strange)
    problems = []
    if parameters.keys().isdisjoint(reviews.reviewers) and any(one.cause == "calibration" for one in strange):
        why = f"{_SWAPPED} there" if swapped else _UNLIKE
        found = f"none of the reviewers of {named.reviews}: {why}"
        problems.append(Problem(named.reviewers, None, "reviewer", CAUSES["calibration"][2], found))
        counted = Counter({one: number for one, number in counted.items() if one[1] != "calibration"})
    place = {paper: index for index, paper in enumerate(shown)}
    for paper, cause in sorted(counted, key=lambda one: place[one[0]]):
        file, column, rule, found = CAUSES[cause]
        found = f"{counted[paper, cause]} {found} for {shown[paper]}"
        problems.append(Problem(getattr(named, file), None, column, rule, found))
    return problems


def unknown_candidates(
    papers: Iterable[str], parameters: Parameters, pools: Pools, sources: Sources | None
) -> list[Problem]:
    """Whether candidates of these papers' pools have no calibration."""
    needed = {name for paper in papers for name in pools.get(paper, {})}
    without = needed - set(parameters)
    if OUTSIDER in parameters or not without:
        return []
    found = f"{len(without)} missing"
    if sources is not None and (row := first_row(sources.pools, without)) is not None:
        found += f", the first in {sources.pools}, row {row}"
    found += " (among them *, anyone not listed)" if OUTSIDER in without else ""
    rule = "must have a row for every candidate of the pools, or a row * for those without one"
    return [Problem("reviewers" if sources is None else sources.reviewers, None, None, rule, found)]


def _shown_papers(
    reviews: Reviews, pools: Pools, people: Collection[str], sources: Sources | None
) -> dict[str, str]:
    """What messages call each paper, in the order to list them.

    Where columns were swapped a paper's id is a person's name. It is not shown if any file knows it as one,
    or if no paper has a pool, so that nothing tells; nor may the order of the messages then be that of names.
    """
    starts = _first_rows(reviews)
    apart = not any(pools.get(paper) for paper in reviews.papers)
    hidden = {paper for paper in reviews.papers if apart or paper in people}
    row = {paper: "" if sources is None else f" ({sources.reviews}, row {starts[paper]})" for paper in starts}
    order = sorted(starts, key=starts.__getitem__) if hidden else reviews.papers
    return {paper: ("a paper" if paper in hidden else f"paper {paper!r}") + row[paper] for paper in order}


def _swapped(reviews: Reviews, people: Collection[str]) -> bool:
    """Whether most papers are called as people are, and no reviewer is."""
    known = sum(paper in people for paper in reviews.papers)
    return 2 * known >= len(reviews.papers) and not any(name in people for name in reviews.reviewers)


def _missing(who: Sequence[str], pool: Mapping[str, float]) -> list[str]:
    """Whom the pool of a paper does not hold, and `*` does not stand for."""
    positive = {name for name, chance in pool.items() if chance > 0.0}
    missing = [name for name in who if name not in positive]
    return missing if pool and OUTSIDER not in positive else []


def _pool_problems(who: Sequence[str], pool: Mapping[str, float] | None) -> list[tuple[str, str]]:
    """The rules that the pool of one paper breaks, and what was found."""
    problems = pool_problems(len(who), pool)
    if isinstance(pool, SampledPool) and not problems:
        drawn = pool.of(len(who))
        if pool.keys() >= set(who) and tuple(sorted(who)) not in drawn.sets:
            return [(f"must have a paper's reviewers together in some draw {BEFOREHAND}", "them apart")]
    return problems


def pool_problems(reviews: int, pool: Mapping[str, float] | None) -> list[tuple[str, str]]:
    """The rules that a pool breaks for a paper with this many reviews, whoever wrote them."""
    if pool is None:
        return [(_POOL_RULE, "none")]
    if isinstance(pool, SampledPool):
        return _draw_problems(reviews, pool)
    problems = []
    positive = {name for name, chance in pool.items() if chance > 0.0}
    outside = OUTSIDER in positive
    if len(positive) < reviews and not outside:
        rule = "must have at least as many candidates as the paper has reviews"
        problems.append((rule, count(len(positive), "candidate")))
    elif reviews > MOST_REVIEWS and tuple_count(len(positive), reviews, outside) > MOST_LISTED:
        problems.append((f"must be small where a paper has over {MOST_REVIEWS} reviews", f"{len(positive)}"))
    return problems


def _draw_problems(reviews: int, pool: SampledPool) -> list[tuple[str, str]]:
    """The rules that the sampled reviewers of one paper break."""
    if pool.least < reviews:
        rule = "must have at least as many reviewers of a paper in every draw as the paper has reviews"
        return [(rule, f"{pool.least}")]
    drawn = pool.of(reviews)
    if len(drawn.sets) * factorial(reviews) > MOST_LISTED:
        return [(f"must have few draws where a paper has {reviews} reviews", f"{len(drawn.sets)} sets")]
    return []


def _first_rows(reviews: Reviews) -> dict[str, int]:
    """The first row of each paper: the same whoever wrote its reviews."""
    starts = np.full(len(reviews.papers), np.iinfo(np.int64).max)
    np.minimum.at(starts, reviews.paper, reviews.row)
    return dict(zip(reviews.papers, starts.tolist(), strict=True))


def by_slot(reviews: Reviews) -> dict[str, tuple[str, ...]]:
    """Who wrote each slot of each paper, lowest score first, ties by reviewer id. CONFIDENTIAL."""
    order = np.lexsort((reviews.reviewer, reviews.score, reviews.paper))
    found: dict[str, list[str]] = {paper: [] for paper in reviews.papers}
    for row in order:
        found[reviews.papers[reviews.paper[row]]].append(reviews.reviewers[reviews.reviewer[row]])
    return {paper: tuple(who) for paper, who in found.items()}
