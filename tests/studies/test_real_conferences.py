"""The study of real conferences on made-up scores: what it draws fits together as its model says."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sizes import count

pytest.importorskip("matplotlib").use("Agg")
pytest.importorskip("joblib")
pytestmark = pytest.mark.edge

study: Any = import_module("studies.real_conferences")
VENUE = study.Venue("made up", "made_up.csv", (1.0, 3.0, 5.0, 6.0, 8.0))
LATENT = study.Latent(4.5, 1.2, 1.6)
SPLIT = study.Split("somebody", 0.4, 0.1)


def made_up(papers: int) -> Any:
    """Scores of the model itself."""
    rng, grid = np.random.default_rng(1), np.array(VENUE.grid)
    scores = []
    for _ in range(papers):
        mean = LATENT.mean + LATENT.between * rng.standard_normal()
        chance = study.chances(VENUE.grid, np.array(mean), LATENT.within)
        scores.append(tuple(sorted(rng.choice(grid, rng.integers(3, 5), p=chance).tolist())))
    return study.Published(VENUE, scores, [sum(one) / len(one) > 5.0 for one in scores])


def pools() -> dict[int, list[tuple[str, dict[str, float]]]]:
    rng = np.random.default_rng(2)
    names = [f"r{j}" for j in range(7)]
    return {
        reviews: [("p", dict(zip(names, rng.uniform(0.3, 1.0, 7).tolist(), strict=True)))]
        for reviews in study.REVIEWS
    }


def test_the_latent_model_has_the_moments_of_the_scores() -> None:
    found = made_up(400)
    latent = study.latent_of(found)
    assert study.rounded_moments(latent, VENUE.grid) == pytest.approx(study.moments(found.scores), abs=1e-6)
    # Moments of one way to split three papers, by hand.
    assert study.moments([[1.0, 3.0], [5.0, 5.0], [8.0, 10.0]]) == pytest.approx(
        (16 / 3, np.var([2, 5, 9], ddof=1) - (2 + 0 + 2) / 3 / 2, (2 + 0 + 2) / 3)
    )


def test_chances_of_scores_are_those_of_rounding() -> None:
    rng, grid = np.random.default_rng(3), np.array(VENUE.grid)
    drawn = 4.0 + 1.5 * rng.standard_normal(200_000)
    nearest = np.abs(drawn[:, None] - grid).argmin(axis=1)
    share = np.bincount(nearest, minlength=grid.size) / drawn.size
    # Five standard errors of a share, for five shares.
    stated = study.chances(VENUE.grid, np.array(4.0), 1.5)
    assert share == pytest.approx(stated, abs=5 * 0.5 / np.sqrt(drawn.size))


def test_authors_are_drawn_from_their_posterior(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few reviewers and qualities: frequencies against a list of all of them."""
    monkeypatch.setattr(study, "BANK", 3)
    monkeypatch.setattr(study, "QUALITY", np.array([-1.0, 0.5, 2.0]))
    crowd = study.crowd_of(LATENT, SPLIT, VENUE.grid)
    scores, rng = (3.0, 8.0), np.random.default_rng(4)
    level = [VENUE.grid.index(score) for score in scores]
    weight = {
        (at, one, two): np.exp(-0.5 * study.QUALITY[at] ** 2)
        * crowd.chance[one, at, level[0]]
        * crowd.chance[two, at, level[1]]
        for at, one, two in product(range(3), repeat=3)
    }
    total, games = sum(weight.values()), count(4000, 100_000)
    times = dict.fromkeys(weight, 0)
    for _ in range(games):
        quality, rows = study.authors_of(crowd, scores, rng)
        at = int(np.flatnonzero(quality == study.QUALITY)[0])
        one, two = (int(np.flatnonzero((crowd.parameters == row).all(axis=1))[0]) for row in rows)
        times[at, one, two] += 1
    for key, mass in weight.items():
        # Six standard errors at most, for 27 shares: a false alarm in less than one run in a million.
        assert times[key] / games == pytest.approx(mass / total, abs=6 * 0.5 / np.sqrt(games))


def test_what_is_drawn_comes_out_as_often_as_the_belief_says() -> None:
    """The drawn authors are named, and full calibration is wrong about the drawn quality, as often as the
    belief expects: five standard errors, for two numbers."""
    papers = count(150, 1500)
    drawn = study.drawn_papers(made_up(papers), study.crowd_of(LATENT, SPLIT, VENUE.grid), pools())
    gaps = []
    for one in drawn:
        case = one.case
        belief, place = case.belief, {name: index for index, name in enumerate(case.candidates)}
        truth = [place[name] for name in one.authors]
        (row,) = np.flatnonzero((case.tuples == truth).all(axis=1))
        by_slot = [np.bincount(slot, belief.weight) for slot in case.tuples.T]
        named = np.mean([mass.max() for mass in by_slot])
        right = np.mean([mass.argmax() == who for mass, who in zip(by_slot, truth, strict=True)])
        error = belief.weight @ np.minimum(belief.favor, 1.0 - belief.favor)
        wrong = (belief.favor[row] > 0.5) != (one.quality > case.bar)
        gaps.append((right - named, wrong - error))
    mean, spread = np.mean(gaps, axis=0), np.std(gaps, axis=0, ddof=1) / np.sqrt(papers)
    assert (np.abs(mean) < 5 * spread).all()


def test_a_cell_has_what_the_tables_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "COLLUDERS", 2)
    cell = study.compute(made_up(12), LATENT, SPLIT, pools(), 1)
    wrong = {name: line.wrong.mean() for name, line in cell.lines.items()}
    assert wrong["full calibration"] <= wrong["average"] + 1e-9 <= wrong["public"] + 2e-9
    assert wrong["public"] <= cell.raw.mean() + 1e-9
    for name in ("steady, epsilon 2", "average", "public"):
        assert cell.lines[name].author.added == pytest.approx(0.0, abs=1e-9)
    assert cell.lines["full calibration"].author.added >= 0.0
    assert (len(study.worth_table([cell])), len(study.gain_table([cell]))) == (3, 2 + len(study.MENU))


def test_less_is_known_of_reviewers_after_fewer_reviews() -> None:
    few, many = (SPLIT.after(reviews, LATENT) for reviews in (3, 1_000_000))
    assert few.own < SPLIT.own
    assert (many.offset, many.slope) == pytest.approx((SPLIT.offset, SPLIT.slope), abs=1e-4)
    left = 1 / (1 / LATENT.between**2 + study.OTHERS / LATENT.within**2)
    noise = 0.5 * LATENT.within**2 + left
    spread = SPLIT.offset * LATENT.within**2
    # A normal offset seen three times with that noise: its variance less the posterior one.
    known = spread - 1 / (1 / spread + 3 / noise)
    assert few.offset * LATENT.within**2 == pytest.approx(known)


def test_published_papers_are_those_that_were_decided(tmp_path: Path) -> None:
    rows = ["paper_id,rating,accepted,decision"]
    rows += [f"1,{score},1,accept" for score in (5, 1, 3)]
    rows += [f"2,{score},0,withdrawn" for score in (5, 1, 3)]
    rows += ["3,5,0,reject", *(f"4,{score},0,reject" for score in (8, 6, 6, 3))]
    (tmp_path / VENUE.file).write_text("\n".join(rows) + "\n", encoding="utf-8")
    found = study.published(tmp_path, VENUE)
    assert (found.scores, found.accepted) == ([(1.0, 3.0, 5.0), (3.0, 6.0, 6.0, 8.0)], [True, False])
    assert found.rate == 0.5


def test_bids_make_pools_for_every_number_of_reviews() -> None:
    value = np.random.default_rng(3).random((8, 12))
    found = study.candidates(study.Bids(value, value < 0.1))
    assert {reviews: len(found[reviews]) for reviews in study.REVIEWS} == {3: 8, 4: 8, 5: 8}
    for reviews, every in found.items():
        sums = [sum(pool.values()) for _, pool in every]
        assert sums == pytest.approx([reviews] * 8)
        load = Counter[str]()
        for _, pool in every:
            assert max(pool.values()) <= study.CAP + 1e-9
            load.update(pool)
        assert max(load.values()) <= study.LOAD + 1e-9


def test_chances_are_those_of_the_most_similarity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two papers and three people, by hand: the best person has both papers as often as the cap allows."""
    monkeypatch.setattr(study, "CAP", 0.6)
    value = np.array([[3.0, 2.0, 0.0], [3.0, 0.0, 1.0]])
    barred = np.array([[False] * 3, [False, True, False]])
    expected = np.array([[0.6, 0.4, 0.0], [0.6, 0.0, 0.4]])
    assert study.marginals(study.Bids(value, barred), 1) == pytest.approx(expected)
