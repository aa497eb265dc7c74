"""What is promised of decisions by this year's evidence, by going through everything that can have been."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, permutations, product
from math import exp, log
from typing import Any

import numpy as np
import pytest

from blindcal.adversaries.this_year_exact import tables_of
from blindcal.planning.conference_plan import plan
from blindcal.planning.ranking_and_wait_list import ACCEPT, RankPair, both_ranks
from blindcal.planning.request import Quota, Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import reviewers_by_slot
from blindcal.posterior.inputs import read_inputs
from blindcal.posterior.this_year_evidence import (
    SHARES,
    LevelCase,
    LevelModel,
    bar_of_number,
    bar_of_share,
    evidence,
    level_cases,
    people_by_rule,
)
from blindcal.posterior.variance_components import score_moments, scores_by_paper
from blindcal.reviews import Reviews
from sizes import count
from this_year_conferences import SmallYear, Writers, small_year

Tables = Mapping[str, tuple[float, float]]
_ROUNDOFF = 1e-12


@dataclass(frozen=True)
class Decided:
    """A conference that is decided from its rows alone, whoever wrote them."""

    year: SmallYear
    epsilon: float
    exact: bool
    stated: bool
    share: float

    def cases(self, reviews: Reviews) -> list[LevelCase]:
        """Everything public, from the rows: moments, model, bars."""
        areas, numbers = self.year.areas, Counter(Counter(reviews.paper.tolist()).values())
        slots = [k for k, papers in numbers.items() for _ in range(papers)]
        people = len(self.year.people) if self.stated else people_by_rule(slots)
        moments = score_moments(scores_by_paper(reviews), areas)
        model = LevelModel(moments, self.share, people, dict(sorted(numbers.items())))
        cases = level_cases(reviews, model, dict.fromkeys(areas, ""), areas)
        bar = bar_of_number(cases, 1 + len(cases) // 3) if self.exact else bar_of_share(cases, 0.4)
        return [replace(case, bar=bar) for case in cases]

    def tables(self, cases: list[LevelCase]) -> Tables:
        return tables_of(cases, Guarantee("odds", epsilon=self.epsilon))

    @property
    def request(self) -> Request:
        """What a chair requests to have it decided so."""
        people = len(self.year.people) if self.stated else None
        level = {"accept": 1 + len(self.year.scores) // 3} if self.exact else {"accept_rate": 0.4}
        guarantee = Guarantee("odds", epsilon=self.epsilon)
        return Request(guarantee, people=people, strictness_share=self.share, **level)

    def chances(self, writers: Writers) -> tuple[float, ...]:
        """The chance of each paper to be accepted, as these writers' own rows give it."""
        reviews = self.year.reviews(writers)
        cases = self.cases(reviews)
        tables, levels = self.tables(cases), evidence(cases, reviewers_by_slot(reviews))
        return tuple(tables[paper][levels[paper]] for paper in self.year.scores)

    @cached_property
    def possible(self) -> dict[Writers, tuple[float, ...]]:
        """The chances under every assignment, with conflicts and loads as they are."""
        return {writers: self.chances(writers) for writers in self.year.assignments()}

    @cached_property
    def lots(self) -> list[int]:
        tables = self.tables(self.cases(self.year.reviews()))
        return [n for n, paper in enumerate(self.year.scores) if len(set(tables[paper])) == 2]


def conferences(most: int, *, papers: int = 4, people: int = 4) -> Iterator[Decided]:
    """Small ones of all kinds, each with papers by lot."""
    seed, found = 0, 0
    while found < most:
        year = small_year(seed, papers=papers, people=people, conflicts=seed % 3, areas=seed % 4 == 3)
        made = Decided(
            year,
            epsilon=(0.5, 1.0, 2.0, 3.0)[seed % 4],
            exact=bool(seed % 2),
            stated=bool(seed % 5),
            share=SHARES[seed % len(SHARES)],
        )
        seed += 1
        if made.lots:
            found += 1
            yield made


def joint(chances: tuple[float, ...]) -> list[float]:
    """The chance of all decisions together, for each way in which they can fall."""
    return [
        float(np.prod([p if yes else 1.0 - p for p, yes in zip(chances, outcome, strict=True)]))
        for outcome in product([False, True], repeat=len(chances))
    ]


def test_no_decision_changes_any_odds_by_more_than_the_factor() -> None:
    """Of two assignments given all other decisions, and of any two statements for any prior belief."""
    widest = 0.0
    for number, made in enumerate(conferences(count(20, 100))):
        rng = np.random.default_rng([62, number])
        every = list(made.possible.values())
        accept = np.array(every)
        for paper in range(accept.shape[1]):
            for own in (accept[:, paper], 1.0 - accept[:, paper]):
                if own.max() > 0.0:  # else the decision cannot fall so, whoever wrote what
                    factor = own.max() / own.min()
                    assert factor <= exp(made.epsilon) * (1.0 + _ROUNDOFF)
                    widest = max(widest, log(factor) / made.epsilon)
            # All other decisions are known, and any belief about who wrote what.
            others = rng.random(len(every)) ** 4
            for mate in set(range(accept.shape[1])) - {paper}:
                yes = rng.random() < accept[rng.integers(len(every)), mate]
                others = others * (accept[:, mate] if yes else 1.0 - accept[:, mate])
            if not others.any():
                continue
            for _ in range(20):
                one, other = rng.random((2, len(every))) < rng.choice([0.02, 0.3, 0.6])
                before = (others * one).sum(), (others * other).sum()
                for own in (accept[:, paper], 1.0 - accept[:, paper]):
                    after = (others * own * one).sum(), (others * own * other).sum()
                    if min(*before, *after) > 0.0:
                        moved = abs(log(after[0] / after[1]) - log(before[0] / before[1]))
                        assert moved <= made.epsilon + 1e-9
    assert widest == pytest.approx(1.0, abs=1e-9)


def test_all_decisions_together_are_equally_likely_under_every_renaming() -> None:
    """In every digit, though people have conflicts and wrote different numbers of reviews."""
    varied = 0
    for made in conferences(count(20, 100)):
        varied += len(set(made.possible.values())) > 1
        names = made.year.people
        rng = np.random.default_rng(len(made.possible))
        some = sorted(made.possible)
        for writers in [made.year.writers, *(some[i] for i in rng.permutation(len(some))[:2])]:
            expected = joint(made.possible[writers])
            for order in permutations(names):
                renamed = dict(zip(names, order, strict=True))
                other = tuple(tuple(renamed[who] for who in own) for own in writers)
                assert joint(made.chances(other)) == expected
    assert varied > 0


def exchanges(writers: Writers) -> Iterator[tuple[str, str, Writers]]:
    """Two people, and the assignment in which they have exchanged one review each, if it is one."""
    places = [(paper, slot) for paper, own in enumerate(writers) for slot in range(len(own))]
    for (a, k), (b, m) in combinations(places, 2):
        r, s = writers[a][k], writers[b][m]
        changed = [list(own) for own in writers]
        changed[a][k], changed[b][m] = s, r
        if r != s and all(len(set(own)) == len(own) for own in changed):
            yield r, s, tuple(map(tuple, changed))


def test_an_exchange_of_two_writers_changes_only_the_draws_of_their_papers() -> None:
    moved = 0
    for made in conferences(count(20, 100), papers=5, people=5):
        writers = made.year.writers
        before = made.chances(writers)
        for r, s, changed in exchanges(writers):
            after = made.chances(changed)
            theirs = {paper for paper, own in enumerate(writers) if r in own or s in own}
            differ = {paper for paper in range(len(before)) if before[paper] != after[paper]}
            assert differ <= theirs & set(made.lots)
            moved += bool(differ)
            most = made.epsilon * len(theirs & set(made.lots))
            for one, other in zip(joint(before), joint(after), strict=True):
                assert (one == 0.0) == (other == 0.0)
                assert one == 0.0 or abs(log(one / other)) <= most + 1e-9
    assert moved > 0


def other_writers(made: Decided, rng: np.random.Generator) -> list[Writers]:
    """Writers permuted, all different, and as few as can be."""
    slots, names = [len(own) for own in made.year.writers], list(made.year.people)
    split = iter(f"s{who}" for who in rng.permutation(100))
    return [
        *(tuple(tuple(rng.permutation(names)[:k].tolist()) for k in slots) for _ in range(5)),
        tuple(tuple(next(split) for _ in range(k)) for k in slots),
        tuple(tuple(names[:k]) for k in slots),
        tuple(tuple(names[::-1][:k]) for k in slots),
    ]


def test_who_wrote_what_changes_no_public_byte() -> None:
    """Moments, beliefs, bars and tables are equal, and so are the plans that have these tables."""

    def public(made: Decided, writers: Writers) -> tuple[object, ...]:
        cases = made.cases(made.year.reviews(writers))
        beliefs = [(case.belief.weight.tobytes(), case.belief.favor.tobytes()) for case in cases]
        others = [case.belief_if(share).favor.tobytes() for case in cases for share in SHARES]
        return repr(cases), repr(cases[0].model), beliefs, others, repr(made.tables(cases))

    def planned(made: Decided, writers: Writers) -> tuple[Any, ...]:
        found = plan(read_inputs(made.year.rows(writers)), made.request)
        names = [case.paper for case in found.conference.cases]
        tables = [
            (name, one.policy.accept.tobytes(), repr(one.claim))
            for name, one in zip(names, found.papers, strict=True)
        ]
        return repr(found.conference.cases), tables, repr(found.summary), found.remarks

    for number, made in enumerate(conferences(count(20, 100), papers=5, people=6)):
        others = other_writers(made, np.random.default_rng([63, number]))
        expected, own = public(made, made.year.writers), made.year.writers
        assert all(public(made, writers) == expected for writers in others)
        if made.year.areas["p1"]:
            continue  # areas are a column of their own
        cases, plans = made.cases(made.year.reviews()), planned(made, own)
        assert plans[0] == repr(tuple(cases))
        for (paper, accept, _), (name, table) in zip(plans[1], made.tables(cases).items(), strict=True):
            assert paper == name
            assert np.frombuffer(accept) == pytest.approx(table, abs=1e-9)
        assert all(planned(made, writers) == plans for writers in others[4:7])


def test_an_exchange_changes_odds_from_lists_by_the_lots_of_both_people_at_most() -> None:
    """Lists with every wait list: one place depends on all papers, and a list on the private decisions alone.

    So whatever is published has odds within epsilon times the lots that the two people reviewed, whatever
    number is accepted, and for all numbers together.
    """
    elsewhere = tight = 0
    for number, made in enumerate(conferences(count(20, 100), papers=5, people=7)):
        if not made.exact or made.year.areas["p1"]:
            continue
        writers, papers = made.year.writers, [*made.year.scores]
        before = made.chances(writers)
        rng = np.random.default_rng([65, number])
        ranks = ranks_of(made)
        quotas = [Quota(accept, wait) for accept in range(1, 5) for wait in range(6 - accept)]
        for r, s, changed in exchanges(writers):
            after = made.chances(changed)
            theirs = {paper for paper, own in enumerate(writers) if r in own or s in own} & set(made.lots)
            quota = quotas[rng.integers(len(quotas))]
            for some in ([quota], quotas):
                one, other = (list_chances(chances, ranks, papers, some) for chances in (before, after))
                for words in {*one, *other}:
                    first, second = one.get(words, 0.0), other.get(words, 0.0)
                    assert (first == 0.0) == (second == 0.0)
                    if first > 0.0:
                        moved = abs(log(first / second))
                        assert moved <= made.epsilon * len(theirs) + 1e-9
                        tight = max(tight, moved / (made.epsilon * max(1, len(theirs))))
            for place in set(range(5)) - {p for p, own in enumerate(writers) if r in own or s in own}:
                # The list says of somebody else's paper what its own draw does not.
                accepted = [
                    sum(chance for words, chance in found.items() if words[0][place] == ACCEPT)
                    for found in (list_chances(c, ranks, papers, [quota]) for c in (before, after))
                ]
                assert before[place] == after[place]
                elsewhere += abs(accepted[0] - accepted[1]) > 1e-6
    assert elsewhere > 0, "places of third papers do move"
    assert tight > 0.3


def ranks_of(made: Decided) -> list[RankPair]:
    """The public ranks of each paper after either private decision, as its plan has them."""
    planned = plan(read_inputs(made.year.rows()), made.request)
    figures = {
        case.paper: one.figures for case, one in zip(planned.conference.cases, planned.papers, strict=True)
    }
    return [both_ranks(paper, scores, figures[paper]) for paper, scores in made.year.scores.items()]


def list_chances(
    chances: tuple[float, ...], ranks: list[RankPair], papers: list[str], quotas: list[Quota]
) -> dict[tuple[tuple[str, ...], ...], float]:
    """The chance of each outcome of all these lists together: words, and places on the wait list."""
    found: dict[tuple[tuple[str, ...], ...], float] = {}
    outcomes = product([False, True], repeat=len(chances))
    for outcome, chance in zip(outcomes, joint(chances), strict=True):
        order = sorted(papers, key=lambda paper: ranks[papers.index(paper)][outcome[papers.index(paper)]])
        lists = []
        for quota in quotas:
            accept, wait = quota.of("")
            words = {
                paper: ACCEPT if place < accept else f"wait {place}" if place < accept + wait else "reject"
                for place, paper in enumerate(order)
            }
            lists.append(tuple(words[paper] for paper in papers))
        found[tuple(lists)] = found.get(tuple(lists), 0.0) + chance
    return {words: chance for words, chance in found.items() if chance > 0.0}
