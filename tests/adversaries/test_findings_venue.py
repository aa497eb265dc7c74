"""Venues that decided by calibrated scores, against lists of everybody who may have written what."""

from __future__ import annotations

from collections import defaultdict
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from blindcal.adversaries.findings import (
    Venue,
    finding_about,
    findings_of,
    posterior_table,
    read_decisions,
    read_scores,
    read_venue,
)
from blindcal.errors import InputError
from blindcal.posterior.conference import prepare
from blindcal.reviews import Reviews
from sizes import count

BAR = 0.3
Scores = dict[str, list[float]]
Rows = dict[str, tuple[float, float, float]]


def a_venue(rng: np.random.Generator, papers: int = 3) -> tuple[Scores, Rows, dict[str, list[str]]]:
    """Scores in no order, reviewers, and pools of four for each paper."""
    people = [f"r{j}" for j in range(6)]
    rows = {one: (float(np.exp(rng.normal(0, 0.4))), float(rng.normal()), 0.5) for one in people}
    scores = {f"p{i}": rng.normal(0.3, 1.0, rng.integers(1, 4)).round(3).tolist() for i in range(papers)}
    pools = {paper: sorted(rng.choice(people, 4, replace=False).tolist()) for paper in scores}
    return scores, rows, pools


def write(folder: Path, scores: Scores, rows: Rows, pools: dict[str, list[str]], accepted: set[str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    lines = {
        "scores": ["paper,score", *(f"{p},{s}" for p, all_ in scores.items() for s in all_)],
        "reviewers": ["reviewer,slope,offset,noise", *(f"{r},{a},{b},{c}" for r, (a, b, c) in rows.items())],
        "pools": ["paper,reviewer", *(f"{p},{r}" for p, who in pools.items() for r in who)],
        "decisions": ["paper,decision", *(f"{p},{'accept' if p in accepted else 'reject'}" for p in scores)],
    }
    for name, text in lines.items():
        (folder / f"{name}.csv").write_text("\n".join(text) + "\n", encoding="utf-8")
    return folder


def read(folder: Path, bar: float | None = BAR, **options: Any) -> Venue:
    names = ("decisions", "scores", "reviewers", "pools")
    return read_venue(*(folder / f"{name}.csv" for name in names), bar=bar, **options)


def listed(scores: list[float], rows: Rows, pool: list[str]) -> list[tuple[tuple[str, ...], float, bool]]:
    """Every tuple of reviewers, lowest score first: how likely the scores are, and whether they accept."""
    found = []
    for who in permutations(pool, len(scores)):
        slope, offset, noise = np.array([rows[one] for one in who]).T
        density = multivariate_normal(offset, np.outer(slope, slope) + np.diag(noise**2)).pdf(sorted(scores))
        precision = 1 + (slope**2 / noise**2).sum()
        mean = (slope * (np.array(sorted(scores)) - offset) / noise**2).sum() / precision
        found.append((who, float(density), bool(mean > BAR)))
    return found


def test_posteriors_equal_a_list_of_everybody(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    unexplained = 0
    for number in range(count(12, 200)):
        scores, rows, pools = a_venue(rng)
        accepted = {paper for paper in scores if rng.random() < 0.5}
        venue = read(write(tmp_path / str(number), scores, rows, pools, accepted))
        told = posterior_table(venue.views)
        mine = {
            (paper, review, name): (before, after)
            for paper, review, name, before, after in zip(
                *(told[n] for n in ("paper", "review", "reviewer", "scores_alone", "with_decision")),
                strict=True,
            )
        }
        right, reviews = np.zeros(2), 0
        for paper, given in scores.items():
            every = listed(given, rows, pools[paper])
            agrees = [(who, mass) for who, mass, yes in every if yes == (paper in accepted)]
            assert (paper in venue.unexplained) == (not agrees)
            unexplained += not agrees
            sides = [(who, mass) for who, mass, _ in every], agrees or [(w, m) for w, m, _ in every]
            for place, side in enumerate(sides):
                total = sum(mass for _, mass in side)
                for slot in range(len(given)):
                    chance: dict[str, float] = defaultdict(float)
                    for who, mass in side:
                        chance[who[slot]] += mass / total
                    for name in pools[paper]:
                        assert mine[paper, slot + 1, name][place] == pytest.approx(chance[name], abs=1e-9)
                    right[place] += max(chance.values())
            reviews += len(given)
        found = finding_about(findings_of(venue.views, ("full",)).findings, "full")
        assert (found.baseline, found.success) == pytest.approx(tuple(right / reviews), abs=1e-9)
    assert unexplained > 0


def test_without_a_bar_as_many_are_accepted_as_were(tmp_path: Path) -> None:
    scores, rows, pools = a_venue(np.random.default_rng(2), papers=6)
    folder = write(tmp_path, scores, rows, pools, {"p1", "p4"})
    venue = read(folder, bar=None)
    assert venue.accepted == 2
    # The same conference with somebody of each pool as the reviewers: the bar is public.
    wrote = [
        (paper, who, s) for paper, all_ in scores.items() for who, s in zip(pools[paper], all_, strict=False)
    ]
    table = dict(zip(("paper", "reviewer", "score"), zip(*wrote, strict=True), strict=True))
    full = {name: (*row, 0.0, 0.0, 0.0, 0.0) for name, row in rows.items()}
    alike = {paper: dict.fromkeys(pool, 1.0) for paper, pool in pools.items()}
    assert venue.bar == prepare(Reviews.from_table(table), full, alike, accept_rate=2 / 6).bar
    write(tmp_path, scores, rows, pools, set())
    with pytest.raises(InputError, match="`bar` must be given"):
        read(folder, bar=None)


@pytest.mark.parametrize("grid", [None, [-1.0, 0.0, 1.0, 2.0]], ids=("continuous", "rounded"))
def test_where_low_scores_are_better_everything_is_the_same_upside_down(
    grid: list[float] | None, tmp_path: Path
) -> None:
    """Score 7 - s of a reviewer with offset 7 - b, who takes off for quality: what is learned of a review is
    what was learned of it, and it is shown with the score that was given."""
    rng = np.random.default_rng(5)
    scores, rows, pools = a_venue(rng, papers=5)
    if grid is not None:
        scores = {paper: rng.choice(grid, len(all_)).tolist() for paper, all_ in scores.items()}
    turned = {paper: [round(7 - s, 3) for s in all_] for paper, all_ in scores.items()}
    people = {name: (slope, 7 - offset, noise) for name, (slope, offset, noise) in rows.items()}
    levels = None if grid is None else [7 - s for s in grid]
    for bar in (None, BAR):
        high = read(write(tmp_path / "high", scores, rows, pools, {"p1", "p3"}), bar=bar, grid=grid)
        low_files = write(tmp_path / "low", turned, people, pools, {"p1", "p3"})
        low = read(low_files, bar=bar, grid=levels, better="low")
        assert (low.bar, low.accepted, low.unexplained) == (high.bar, 2, high.unexplained)
        one, other = posterior_table(high.views), posterior_table(low.views, better="low")
        assert other["score"] == pytest.approx([7 - s for s in one["score"]], abs=1e-9)
        for column in ("paper", "review", "reviewer"):
            assert other[column] == one[column]
        for column in ("scores_alone", "with_decision"):
            assert other[column] == pytest.approx(one[column], abs=1e-9)
        assert read(low_files, bar=BAR, grid=levels).bar == BAR, "who does not say it is not refused"
    with pytest.raises(InputError, match="`better` must be high or low"):
        read(low_files, better="small")


def test_scores_and_decisions_in_any_order_and_with_other_columns(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("rating,paper,confidence\n5,p10,1\n3,p2,2\n1,p10,5\n", encoding="utf-8")
    assert read_scores(file) == {"p2": (3.0,), "p10": (1.0, 5.0)}
    with pytest.raises(InputError, match="must be a score of the grid"):
        read_scores(file, [1.0, 3.0])
    file.write_text("decision,paper\naccept,p1\nreject,p2\n", encoding="utf-8")
    assert read_decisions(file) == {"p1": True, "p2": False}
    file.write_text("decision,paper\naccept,p1\nreject,p1\n", encoding="utf-8")
    with pytest.raises(InputError, match="must not be listed twice"):
        read_decisions(file)


def test_papers_without_a_decision_are_left_out(tmp_path: Path) -> None:
    scores, rows, pools = a_venue(np.random.default_rng(3))
    folder = write(tmp_path, scores, rows, pools, {"p0"})
    (folder / "decisions.csv").write_text("paper,decision\np0,accept\np2,reject\n", encoding="utf-8")
    assert [view.paper for view in read(folder).views] == ["p0", "p2"]
    (folder / "decisions.csv").write_text("paper,decision\np0,accept\nnew,reject\n", encoding="utf-8")
    with pytest.raises(InputError, match="must have scores"):
        read(folder)


def test_pools_that_cannot_be_are_refused_without_a_name(tmp_path: Path) -> None:
    scores = {"p0": [0.1, 0.2, 0.3], "p1": [0.5]}
    rows = dict.fromkeys(("canary-1", "canary-2"), (1.0, 0.0, 0.5))
    pools = {"p0": ["canary-1", "canary-2", "canary-3"], "p1": ["canary-1"]}
    folder = write(tmp_path, scores, rows, pools, {"p0"})
    with pytest.raises(InputError, match="must have a row for every candidate") as caught:
        read(folder)
    assert "canary" not in str(caught.value)
    pools["p0"] = ["canary-1"]
    with pytest.raises(InputError, match="at least as many candidates") as caught:
        read(write(tmp_path, scores, rows, pools, {"p0"}))
    assert "canary" not in str(caught.value)
