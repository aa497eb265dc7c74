"""What walks over assignments say, against sums over all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from blindcal.adversaries import coupled_mcmc
from blindcal.adversaries.coupled_exact import exact_reviewers, network
from blindcal.adversaries.coupled_mcmc import (
    Walks,
    advance_walks,
    coupled_findings,
    estimate_success,
    flat_network,
    start_walks,
    walk,
    without_counts,
)
from blindcal.adversaries.single_paper import View, case_view
from blindcal.errors import InputError
from blindcal.policy.policy import Policy
from loaded_conferences import assigned, decided, drawn, loads_of, starred
from random_cases import random_case
from sizes import count


def test_what_is_stated_holds_the_exact_value() -> None:
    rng = np.random.default_rng(83)
    for number in range(count(3, 50)):
        views, loads, truth = drawn(rng, 4, people=6)
        made = network(views, loads, decided(views, truth, "chosen", rng))
        exact = np.concatenate([one.max(axis=1) for one in exact_reviewers(made)]).mean()
        found = walk(made, target=0.003, chains=64, starts=4, most=20, seed=number)
        assert abs(found.success - exact) <= 6 * found.error + 1e-9
        assert found.agrees


def test_a_walk_that_was_killed_goes_on_to_the_same_numbers(tmp_path: Path) -> None:
    """Between any two looks: what is in the file is whole."""
    views, loads = assigned(np.random.default_rng(85), 4)
    made = network(views, loads, [view.weight for view in views])
    options = {"chains": 16, "starts": 4, "target": 0.0, "most": 4, "workers": 1}
    whole, kept, looks = walk(made, **options), tmp_path / "walks", []

    def killed(_: int) -> None:
        looks.append(1)
        raise KeyboardInterrupt

    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            walk(made, kept=kept, advance=killed, **options)
    assert len(looks) == 3
    assert [file.name for file in tmp_path.iterdir()] == ["walks"]
    assert kept.stat().st_mode & 0o777 == 0o600
    assert walk(made, kept=kept, **options) == whole
    for other in ({"chains": 32}, {"starts": 2}, {"seed": 1}):
        with pytest.raises(InputError, match="another audit"):
            walk(made, kept=kept, **{**options, **other})
    kept.write_bytes(b"nothing")
    with pytest.raises(InputError, match="no walks"):
        walk(made, kept=kept, **options)


def test_walks_that_cannot_leave_where_they_start_disagree() -> None:
    """Two starts that never meet: what they say differs by more than chance."""
    tally = np.array([[[100.0 - one, one]] for one in (1, 99, 2, 98, 3, 97, 1, 98)])
    assert not estimate_success(tally, np.full(8, 100.0), np.arange(8) % 2).agrees


def published(rng: np.random.Generator) -> tuple[list[View], dict[str, int]]:
    """Papers with the decisions that came out for the assignment which their loads are of."""
    views, loads, truth = drawn(rng, 4, people=6)
    seen = []
    for view, row in zip(views, truth, strict=True):
        outcome = {}
        for policy, accept in view.accept.items():
            yes = rng.random() < accept[row]
            outcome[policy] = accept if yes else 1.0 - accept
        seen.append(replace(view, outcome=outcome, truth=tuple(view.rows[row].tolist())))
    return seen, loads


def test_findings_by_walks_are_those_by_sums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    views, loads = published(np.random.default_rng(86))
    exact = coupled_findings(views, loads)
    assert all(one.error == 0.0 for one in exact)
    monkeypatch.setattr(coupled_mcmc, "is_small", lambda *_: False)
    steps: list[int] = []

    @contextmanager
    def progress(work: str, total: int) -> Iterator[Callable[[int], None]]:
        yield steps.append

    options = {"target": 0.003, "most": count(8, 40), "progress": progress}
    found = coupled_findings(views, loads, keep=tmp_path / "walks", **options)
    for one, other in zip(found, exact, strict=True):
        assert one.policy == other.policy
        assert one.adversary.startswith("knows everyone's load (256 walks from 8 starts, which differ by")
        error = max(one.error, max(each.error for each in found))
        assert one.baseline == pytest.approx(other.baseline, abs=6 * error)
        assert one.success == pytest.approx(other.success, abs=6 * error)
    assert sum(steps) > 0
    names = {file.name for file in (tmp_path / "walks").iterdir()}
    assert names == {"scores.walks", "chosen.walks", "full.walks"}
    assert coupled_findings(views, loads, keep=tmp_path / "walks", **options) == found
    with pytest.raises(InputError, match="published"):
        coupled_findings([replace(view, outcome=None) for view in views], loads)


def test_walks_that_disagree_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    views, loads = published(np.random.default_rng(86))
    monkeypatch.setattr(coupled_mcmc, "is_small", lambda *_: False)
    monkeypatch.setattr(coupled_mcmc, "MOST_STANDARD_ERRORS", -1.0)
    with pytest.raises(InputError, match="do not agree"):
        coupled_findings(views, loads, ["full"], target=1.0, most=1)


# --- Walks over assignments against sums over all of them.


# Of several hundred comparisons a correct walk fails one with a chance below 1e-6: seven standard errors,
# which are themselves estimated from 64 walks.
SPREAD = 7.0


def ring(
    rng: np.random.Generator, papers: int, pool: int, *, far: bool = False
) -> tuple[list[View], list[int]]:
    """As many people as papers, one review each; pools of neighbors on a ring, if `far` with one far away.

    In the assignment that is returned everybody has the paper of their number.
    """
    views, truth = [], []
    for paper in range(papers):
        near = {(paper + step) % papers for step in range(pool - far)}
        near |= {int(rng.choice([one for one in range(papers) if one not in near]))} if far else set()
        names = tuple(sorted(f"r{one:02d}" for one in near))
        case = replace(random_case(rng, pool, 1), candidates=names)
        views.append(case_view(case, Policy(rng.random(pool)), 1.0))
        truth.append(names.index(f"r{paper:02d}"))
    return views, truth


def compared(views: list[View], loads: dict[str, int], masses: list[np.ndarray], seed: int) -> float:
    """By how many standard errors walks from eight starts differ from the exact sums, at most: of every
    review the chance of its likeliest author."""
    made = network(views, loads, masses)
    table = flat_network(made)
    walks = without_counts(
        advance_walks(start_walks(made, table, chains=64, starts=8, seed=seed), table, 300, seed)
    )
    walks = advance_walks(walks, table, count(1200, 4000), seed)
    exact = np.concatenate([one.argmax(axis=1) for one in exact_reviewers(made)])
    chance = np.concatenate([one.max(axis=1) for one in exact_reviewers(made)])
    return worst(walks, exact, chance)


def worst(walks: Walks, guess: np.ndarray, chance: np.ndarray) -> float:
    """Over the reviews that somebody with a name can have written."""
    right = walks.tally[:, np.arange(guess.size), guess].astype(float)
    mean = right.sum(axis=0) / walks.seen.sum()
    rest = right - mean * walks.seen[:, None]
    error = np.sqrt((rest**2).sum(axis=0) * 64 / 63) / walks.seen.sum()
    return float((np.abs(mean - chance) / np.maximum(error, 1e-4))[chance > 0.0].max(initial=0.0))


@pytest.mark.parametrize("policy", ["chosen", "full", "raw"])
def test_walks_from_eight_starts_equal_sums_over_all_assignments(policy: str) -> None:
    """Full calibration rules tuples out: walks pass them, and do not count them."""
    rng = np.random.default_rng([81, len(policy)])
    for number in range(count(3, 50)):
        views, loads, truth = drawn(rng, 4, people=6)
        assert compared(views, loads, decided(views, truth, policy, rng), number) < SPREAD


def test_walks_pass_papers_of_which_strangers_wrote_several_reviews() -> None:
    rng = np.random.default_rng(88)
    for number in range(count(3, 50)):
        views, loads, truth = starred(rng, 4)
        assert compared(views, loads, decided(views, truth, "chosen", rng), number) < SPREAD


def test_walks_mix_where_exchanges_of_two_are_hardly_possible() -> None:
    """Pools of 4 in 16 papers (in 40, of which no sum can be taken, the starts must agree)."""
    rng = np.random.default_rng(82)
    views, truth = ring(rng, 16, 4, far=True)
    loads = loads_of(views, truth)
    assert compared(views, loads, decided(views, truth, "chosen", rng), 5) < SPREAD
    views, truth = ring(rng, 40, 4, far=True)
    made = network(views, loads_of(views, truth), decided(views, truth, "chosen", rng))
    found = walk(made, target=0.004, chains=64, starts=8, most=count(10, 60))
    assert found.agrees
    assert found.low <= found.high + 3 * found.error


def listed(views: list[View], masses: list[np.ndarray]) -> list[dict[str, float]]:
    """For each paper with one review who wrote it, everybody having one: by the sets of people that are used
    up before each paper and after it."""
    before: list[dict[frozenset[str], float]] = [{frozenset(): 1.0}]
    for view, mass in zip(views, masses, strict=True):
        after: dict[frozenset[str], float] = {}
        for used, weight in before[-1].items():
            for name, part in zip(view.names, mass, strict=True):
                if name not in used:
                    after[used | {name}] = after.get(used | {name}, 0.0) + weight * float(part)
        before.append(after)
    ways, found = {frozenset(name for view in views for name in view.names): 1.0}, []
    for number in reversed(range(len(views))):
        chance = dict.fromkeys(views[number].names, 0.0)
        earlier: dict[frozenset[str], float] = {}
        for used, weight in before[number].items():
            for name, part in zip(views[number].names, masses[number], strict=True):
                rest = ways.get(used | {name}, 0.0) * float(part) if name not in used else 0.0
                chance[name] += weight * rest
                earlier[used] = earlier.get(used, 0.0) + rest
        total = sum(chance.values())
        found.append({name: one / total for name, one in chance.items()})
        ways = earlier
    return found[::-1]


def test_walks_in_pools_of_4_in_40_papers_equal_a_list() -> None:
    rng = np.random.default_rng(87)
    views, truth = ring(rng, 40, 4)
    loads, masses = loads_of(views, truth), decided(views, truth, "chosen", rng)
    expected = listed(views, masses)
    made = network(views, loads, masses)
    table = flat_network(made)
    walks = start_walks(made, table, chains=64, starts=8, seed=3)
    walks = advance_walks(without_counts(advance_walks(walks, table, 2000, 3)), table, count(6000, 40_000), 3)
    guess = np.array([int(np.argmax(list(one.values()))) for one in expected])
    chance = np.array([max(one.values()) for one in expected])
    assert worst(walks, guess, chance) < SPREAD
    assert estimate_success(walks.tally, walks.seen, walks.start).agrees


def test_loads_stay_met_and_counts_add_up() -> None:
    views, loads = assigned(np.random.default_rng(84), 5)
    made = network(views, loads, [view.weight for view in views])
    table = flat_network(made)
    walks = advance_walks(start_walks(made, table, chains=8, starts=4, seed=1), table, 500, 2)
    seen = np.repeat(walks.seen[:, None], walks.author.shape[1], axis=1)
    np.testing.assert_allclose(walks.tally.sum(axis=2), seen)
    for chain in range(8):
        who = table.member[table.paper, walks.author[chain]]
        load = np.bincount(who, minlength=table.load.size) - table.load
        expected = np.zeros_like(load)
        if walks.extra[chain] >= 0:
            expected[walks.extra[chain]] += 1
            expected[walks.lacks[chain]] -= 1
        assert (load == expected).all()
