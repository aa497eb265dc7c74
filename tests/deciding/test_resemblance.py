"""Papers under other ids are recognized by their reviews: within one table, and in an amendment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from math import comb, prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blindcal.deciding.ledger import ledger_folder
from blindcal.deciding.resemblance import Resemblance, duplicates, resemblances
from blindcal.errors import RefusedError
from blindcal.planning.conference_plan import plan_conference
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.inputs import read_inputs
from blindcal.posterior.this_year_inputs import ThisYearInputs
from blindcal.reviews import Reviews
from sizes import count
from small_conferences import Chair, SmallConference, everything, known_key, loaded, small_conference

REQUEST = Request(Guarantee("steady", epsilon=2.0), accept_rate=0.4)
Rows = list[tuple[str, str, float]]


def under_ids(small: SmallConference, ids: list[str], shift: float = 0.0) -> SmallConference:
    """The first paper once more under each of these ids, its scores moved by a little."""
    paper = small.reviews[1][0]
    reviews = tuple(
        (other, who, f"{float(score) + shift:.6f}")
        for other in ids
        for p, who, score in small.reviews[1:]
        if p == paper
    )
    pools = tuple((other, *row[1:]) for other in ids for row in small.pools[1:] if row[0] == paper)
    return replace(small, reviews=(*small.reviews, *reviews), pools=(*small.pools, *pools))


def table_of(rows: Rows) -> dict[str, Any]:
    return dict(zip(("paper", "reviewer", "score"), map(list, zip(*rows, strict=True)), strict=True))


def table(*rows: tuple[str, str, float]) -> Reviews:
    return Reviews.from_table(table_of([*rows]))


def test_twelve_decisions_about_one_paper_reveal_what_one_does_not() -> None:
    """Why: under steady no decision makes a guess likelier, and twelve independent ones do."""
    conference, _ = loaded(small_conference(seed=10, papers=12, pool=6))
    plans = plan_conference(conference, REQUEST.guarantee)
    case, plan = conference.cases[5], plans[5]
    belief = case.belief
    accept = belief.spread(plan.policy.accept)

    def success(decisions: int) -> float:
        seen = [
            belief.weight * comb(decisions, k) * accept**k * (1 - accept) ** (decisions - k)
            for k in range(decisions + 1)
        ]
        slots = range(len(case.scores))
        best = [np.bincount(case.tuples[:, slot], one).max() for slot in slots for one in seen]
        return float(sum(best)) / len(case.scores)

    assert success(0) == pytest.approx(success(1), abs=1e-9) == pytest.approx(0.39, abs=0.01)
    assert success(12) == pytest.approx(0.59, abs=0.01)


@pytest.mark.parametrize("reviews", [1, 2, 3])
@pytest.mark.parametrize("shift", [0.0, 0.000001])
def test_one_paper_under_several_ids_is_refused(tmp_path: Path, reviews: int, shift: float) -> None:
    ids = [f"x{index:02d}" for index in range(11)]
    small = under_ids(small_conference(papers=12, reviewers=12, reviews=reviews), ids, shift)
    chair = Chair(tmp_path, small, REQUEST)
    with pytest.raises(
        RefusedError, match=r"CONFIDENTIAL, for the chair alone: .*p00 and x00.*61 more pairs"
    ) as caught:
        chair.decide()
    assert not any(canary in str(caught.value) for canary in small.canaries)
    assert {*chair.files} == {"key.bin"}
    assert not ledger_folder(chair.key).exists()
    assert chair.decide(distinct_papers=True).how == "new"
    assert chair.decide().how == "stored"


def test_what_is_published_does_not_say_that_papers_were_declared_distinct(tmp_path: Path) -> None:
    made = []
    for declared in (False, True):
        chair = Chair(known_key(tmp_path / f"{declared}" / "key.bin").parent, small_conference(), REQUEST)
        made.append(chair.decide(distinct_papers=declared).record)
    assert made[0] == made[1]


def test_a_second_id_that_comes_with_an_amendment_is_refused(tmp_path: Path) -> None:
    """Of a paper that was decided, and of another new one; a paper that only changes its id is no second."""
    small = small_conference(papers=4)
    chair = Chair(tmp_path, small, REQUEST)
    chair.decide()
    with pytest.raises(RefusedError, match="late and p00"):
        chair.amend(under_ids(small, ["late"]))
    both = under_ids(small.with_review(1, score="0.31").with_review(2, score="0.17"), ["new", "new2"])
    with pytest.raises(RefusedError, match="new and new2"):
        chair.amend(replace(both, reviews=(*small.reviews, *both.reviews[len(small.reviews) :])))
    moved = [
        tuple(("late" if row[0] == "p00" else row[0], *row[1:]) for row in rows)
        for rows in (small.reviews, small.pools)
    ]
    outcome = chair.amend(replace(small, reviews=moved[0], pools=moved[1]))
    assert outcome.changes.alike == ("late",), "it is decided by public information alone"


def test_papers_are_alike_reviewer_by_reviewer() -> None:
    first = [("a", "ada", 7.0), ("a", "ben", 4.0)]
    assert duplicates(table(*first, ("b", "ben", 4.0), ("b", "ada", 7.0))) == [("a", "b")]
    for other in (
        [("b", "ada", 4.0), ("b", "ben", 7.0)],
        [("b", "ada", 7.0), ("b", "cleo", 4.0)],
        [("b", "ada", 7.0), ("b", "ben", 5.0)],
        [("b", "ada", 7.0)],
        [("b", "ada", 7.0), ("b", "ben", 4.0), ("b", "cleo", 4.0)],
    ):
        assert duplicates(table(*first, *other)) == []


def test_one_reviewer_gives_the_same_grade_to_many_papers() -> None:
    """On a scale of grades that is no sign; if scores are never repeated else, it is."""
    rng = np.random.default_rng(5)
    grades = [(f"p{i}", f"r{i % 9}", float(rng.integers(1, 11))) for i in range(60)]
    assert len({row[1:] for row in grades}) < len(grades), "some are the same"
    assert duplicates(table(*grades)) == []
    assert duplicates(table(("a", "ada", 7), ("b", "ada", 7), ("c", "ada", 7), ("d", "ben", 3))) == []
    fine = [(paper, who, round(float(rng.normal(5, 2)), 3)) for paper, who, _ in grades]
    assert duplicates(table(*fine)) == []
    ids = [f"x{i}" for i in range(12)]
    again = table(*fine, *((paper, *fine[7][1:]) for paper in ids))
    assert {paper for pair in duplicates(again) for paper in pair} >= {"p7", *ids}


def test_different_papers_are_seldom_refused() -> None:
    """Papers assigned one by one: 180 papers, three of 60 reviewers each, grades from 1 to 10."""
    refused, runs = 0, count(60, 400)
    for seed in range(runs):
        rng = np.random.default_rng([27, seed])
        quality, severity = rng.normal(size=180), rng.normal(size=60)
        rows = [
            (
                f"p{paper}",
                f"r{who}",
                float(np.clip(round(5.5 + 1.5 * quality[paper] + severity[who] + rng.normal()), 1, 10)),
            )
            for paper in range(180)
            for who in rng.choice(60, 3, replace=False)
        ]
        refused += bool(duplicates(table(*rows)))
    assert refused <= 0.1 * runs


# --- A whole conference under other ids.

ODDS = Request(Guarantee("odds"), accept_rate=0.3, people=20)


def drawn_reviews(
    rng: np.random.Generator, papers: int, people: int = 20, reviews: int = 3, prefix: str = "p"
) -> Rows:
    """Reviews by people who are strict in their own ways, the same for each call with such people."""
    strict = np.random.default_rng(people).normal(size=people)
    return [
        (
            f"{prefix}{paper:02d}",
            f"r{who:02d}",
            round(5 + 2 * (quality + 0.7 * strict[who] + rng.normal()), 2),
        )
        for paper, quality in enumerate(rng.normal(size=papers))
        for who in rng.choice(people, reviews, replace=False)
    ]


def inputs_of(rows: Rows) -> ThisYearInputs:
    return read_inputs(table_of(rows))


def same(who: str) -> str:
    return who


def copied(rows: Rows, rng: np.random.Generator, move: Callable[..., float], who: Any = same) -> Rows:
    """The same reviews under new ids, every score moved."""
    return [(paper.replace("p", "q"), who(name), move(score, rng)) for paper, name, score in rows]


def by_cents(score: float, rng: np.random.Generator) -> float:
    return score + float(rng.choice([-0.02, 0.02]))


def to_integers(score: float, rng: np.random.Generator) -> float:
    return float(round(score))


def other_name(who: str) -> str:
    return f"x{who}"


ATTACKS: dict[str, Callable[[Rows, np.random.Generator], Rows]] = {
    "cents": lambda rows, rng: copied(rows, rng, by_cents),
    "integers": lambda rows, rng: copied(rows, rng, to_integers),
    "one up": lambda rows, rng: copied(rows, rng, lambda score, _: score + 1.0),
    "other order": lambda rows, rng: copied(rows, rng, by_cents)[::-1],
    "reviewers too, cents": lambda rows, rng: copied(rows, rng, by_cents, other_name),
    "reviewers too, integers": lambda rows, rng: copied(rows, rng, to_integers, other_name),
    "a third of them": lambda rows, rng: copied(rows, rng, by_cents)[: len(rows) // 3],
    "beside the decided ones": lambda rows, rng: [*rows, *copied(rows, rng, by_cents)],
    "among others": lambda rows, rng: [*copied(rows, rng, by_cents), *drawn_reviews(rng, 30, prefix="new")],
    "a review less": lambda rows, rng: [
        row for place, row in enumerate(copied(rows, rng, by_cents)) if place % 3
    ],
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_conference_under_other_ids_is_not_drawn_anew(attack: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(45)
    rows = drawn_reviews(rng, 30)
    chair = Chair(tmp_path, inputs_of(rows), ODDS)
    chair.decide()
    before = everything(tmp_path)
    with pytest.raises(RefusedError, match="distinct_papers") as caught:
        chair.amend(inputs_of(ATTACKS[attack](rows, rng)))
    assert not any(who in str(caught.value) for _, who, _ in rows)
    assert everything(tmp_path) == before


def test_nor_in_two_parts(tmp_path: Path) -> None:
    rng = np.random.default_rng(45)
    rows = drawn_reviews(rng, 30)
    new = copied(rows, rng, lambda score, _: score + 1.0, other_name)
    chair = Chair(tmp_path, inputs_of(rows), ODDS)
    chair.decide()
    # Other reviewers and scores that moved far: only that the first conference goes shows what this is.
    chair.amend(inputs_of(new[:30] + rows[30:]))
    with pytest.raises(RefusedError, match="30 of 30 papers of the first release are gone"):
        chair.amend(inputs_of(new), out="out3")


def test_a_jury_says_that_papers_are_distinct(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    rows = drawn_reviews(rng, 12, people=4, reviews=4)
    more = drawn_reviews(rng, 8, people=4, reviews=4, prefix="late")
    chair = Chair(tmp_path, inputs_of(rows), ODDS)
    chair.decide()
    # Other papers of the same jury are no copies.
    assert len(chair.amend(inputs_of([*rows, *more])).changes.new) == 8
    copies = inputs_of([*rows, *copied(rows, rng, lambda score, _: score + 0.3)])
    with pytest.raises(RefusedError, match="resemble decided ones by"):
        chair.amend(copies, out="out3")
    chair.amend(copies, out="out3", distinct_papers=True)


@pytest.mark.parametrize(
    ("papers", "people", "reviews", "late"),
    [(60, 40, 3, 20), (60, 40, 3, 60), (24, 12, 2, 12), (30, 5, 4, 30)],
)
def test_honest_amendments_are_seldom_stopped(papers: int, people: int, reviews: int, late: int) -> None:
    """A stop in one of a thousand, by the bound of the comparison; as drawn here, in none of so many."""
    stopped, runs = 0, count(10, 200)
    for seed in range(runs):
        rng = np.random.default_rng([454, seed, papers, late])
        found = compared(
            drawn_reviews(rng, papers, people, reviews), drawn_reviews(rng, late, people, reviews, "q")
        )
        stopped += min(one.chance for one in found) * len(found) < 1e-3
    # 5 or more of 200 would have chance 3e-6 at a rate of one in a thousand.
    assert stopped < 5


def compared(decided: Rows, new: Rows) -> list[Resemblance]:
    """The comparisons of new papers with decided ones, without decisions."""
    from types import SimpleNamespace

    def papers(rows: Rows) -> dict[str, Any]:
        return {
            name: ([s for p, _, s in rows if p == name], tuple(who for p, who, _ in rows if p == name))
            for name, _, _ in rows
        }

    latest = {
        name: SimpleNamespace(public={"scores": scores}, reviewers=who)
        for name, (scores, who) in papers(decided).items()
    }
    cases = [SimpleNamespace(paper=name, scores=scores) for name, (scores, _) in papers(new).items()]
    truth: Any = {name: who for name, (_, who) in papers(new).items()}
    found: Any = resemblances(
        SimpleNamespace(latest=latest),
        SimpleNamespace(cases=cases),
        truth,
    )
    return list(found)


def test_the_chance_of_so_many_by_hand() -> None:
    pairs = tuple((f"q{n}", f"p{n}") for n in range(3))
    # As in an urn with 3 + 1 of one kind and 6 + 1 of the other: each drawn ball adds one of its kind.
    expected = sum(
        comb(5, n) * prod(range(4, 4 + n)) * prod(range(7, 12 - n)) / prod(range(11, 16)) for n in (3, 4, 5)
    )
    assert Resemblance("scores", pairs, 5, 3, 9).chance == pytest.approx(expected, rel=1e-10)
    assert Resemblance("scores", (), 5, 3, 9).chance == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("seed", range(count(20, 300)))
def test_papers_are_matched_one_to_one_as_an_enumeration_finds(seed: int) -> None:
    """By the rules written here once more, for small conferences of few people."""
    rng = np.random.default_rng([11, seed])
    old, new = drawn_reviews(rng, 5, 4, 2), drawn_reviews(rng, 4, 4, 2, "q")
    new[0] = (new[0][0], new[0][1], old[0][2])
    scores = {(paper, who): score for paper, who, score in [*old, *new]}
    panels = {paper: {who for p, who in scores if p == paper} for paper, _ in scores}
    deviation = float(np.std([score for _, _, score in old]))

    def near(one: str, other: str, step: float) -> bool:
        first, second = (sorted(scores[p, who] for who in panels[p]) for p in (one, other))
        return all(abs(a - b) <= step for a, b in zip(first, second, strict=True))

    def most(one: str, other: str) -> bool:
        both = panels[one] & panels[other]
        close = all(abs(scores[one, w] - scores[other, w]) <= 0.5 * deviation for w in both)
        return len(both) == 2 and close

    rules = [lambda a, b: panels[a] == panels[b], most]
    rules += [lambda a, b, step=step: near(a, b, step * deviation) for step in (0.02, 0.1, 0.3)]
    ids, others = (sorted({row[0] for row in rows}) for rows in (new, old))
    for found, rule in zip(compared(old, new), rules, strict=True):
        best = max(
            sum(rule(one, other) for one, other in zip(ids, chosen, strict=True))
            for chosen in permutations(others, len(ids))
        )
        assert len(found.pairs) == best
        assert all(rule(*pair) for pair in found.pairs)
        alike = sum(any(rule(a, b) for b in others if a != b) for a in others)
        assert (found.alike, found.decided) == (alike, len(others))
