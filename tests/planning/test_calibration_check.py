"""Agreement of calibration and scores: figures against simulation, false alarms, gross mistakes caught."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

from blindcal.planning.calibration_check import (
    DOUBTFUL,
    FITS,
    HOPELESS,
    check_calibration,
    conference_scores,
    impossible_scores,
)
from blindcal.pools.candidates import AllBut, SharedTuple
from blindcal.posterior.paper import PaperCase
from drawn_worlds import (
    Change,
    Drawn,
    any_world,
    centered,
    for_five_points,
    mirrored,
    one_sixty,
    scores_of,
    with_outsiders,
)
from listed_tuples import integrals
from sizes import count


@pytest.mark.parametrize("grid", [False, True])
def test_evidence_is_the_density_of_the_scores_up_to_what_the_pool_fixes(grid: bool) -> None:
    drawn = Drawn(papers=6, people=5, pool=(3, 4), reviews=2, grid=grid)
    for case in drawn.cases(np.random.default_rng(8)):
        other = replace(case, parameters=tuple((a, 11 - b, *rest) for a, b, *rest in case.parameters))
        told = other.log_evidence - case.log_evidence
        listed = [logsumexp(integrals(one, range(len(one.tuples)))[0]) for one in (other, case)]
        assert told == pytest.approx(listed[0] - listed[1], abs=1e-6)


def test_a_right_calibration_is_seldom_doubted() -> None:
    """If one in 50 were, over 3 of 25 (12 of 200) would be seen with a chance of 1.5e-3 (9e-5); the 200 must
    keep the one in 50 themselves."""
    worlds = count(25, 200)
    doubted = 0
    for seed in range(worlds):
        rng = np.random.default_rng([71, seed])
        doubted += check_calibration(any_world(rng, count(120, 5000)).cases(rng)).verdict != FITS
    assert doubted <= (3 if worlds == 25 else 4)


@pytest.mark.parametrize(("far", "chance", "reviews"), [(0.0, 0.5, 3), (8.0, 0.1, 2), (6.0, 1.0, 3)])
@pytest.mark.parametrize("papers", [3, 10])
def test_a_right_calibration_is_seldom_doubted_where_outsiders_may_have_reviewed(
    papers: int, far: float, chance: float, reviews: int
) -> None:
    """If one in 40 were, over 4 of 40 (9 of 150) would be seen with a chance of 3e-3 (6e-3); the seeds are
    fixed. Rare or frequent, like the others or not, `*` is not doubted for it."""
    doubted = 0
    for seed in range(conferences := count(40, 150)):
        rng = np.random.default_rng([72, seed])
        cases = with_outsiders(rng, papers, far=far, chance=chance, reviews=reviews)
        doubted += check_calibration(cases).verdict != FITS
    assert doubted <= (4 if conferences == 40 else 9)


def test_an_offset_of_outsiders_that_no_score_shows_is_named_if_some_score_should() -> None:
    """60 for 6, where outsiders were expected to write most reviews, or hardly any."""
    for chance, seen in ((1.0, 1), (0.002, 0)):
        rng = np.random.default_rng(3)
        found = check_calibration(with_outsiders(rng, 12, far=6.0, chance=chance, reviews=2, stated=60.0))
        assert found.odd == seen
        assert (found.verdict == FITS) == (not seen)


def test_an_offset_of_outsiders_beyond_the_scale_is_named_however_rare_they_are() -> None:
    cases = with_outsiders(np.random.default_rng(3), 3, far=0.0, chance=0.002, reviews=2, stated=60.0)
    scale = tuple(float(level) for level in range(-10, 11))
    found = check_calibration(
        [replace(one, scores=tuple(map(round, one.scores)), grid=scale) for one in cases]
    )
    assert (found.verdict, found.odd) == (DOUBTFUL, 1)


def moved(by: float) -> Change:
    return lambda rows: rows + np.array([0.0, by, 0.0])


def noisy(rows: np.ndarray) -> np.ndarray:
    return np.column_stack([rows[:, :2], np.full(len(rows), 50.0)])


def one_noisy(rows: np.ndarray) -> np.ndarray:
    rows[0, 2] = 50.0
    return rows


# How a calibration is made wrong, the verdicts that it may have, and what is said of it.
WRONG = {
    "five points": (for_five_points, {HOPELESS}, "another scale"),
    "centered": (centered, {HOPELESS}, "looks like one for scores from about -"),
    "one offset of 60": (one_sixty, {DOUBTFUL, HOPELESS}, "offset 60 "),
    "moved": (moved(3.0), {DOUBTFUL}, "the calibration may not fit the scores: "),
    "noise": (noisy, {DOUBTFUL, HOPELESS}, "a standard deviation of "),
    "one noise": (one_noisy, {DOUBTFUL, HOPELESS}, "and noise 50 would not give scores like these"),
}


@pytest.mark.parametrize("papers", [40, 300])
@pytest.mark.parametrize("grid", [False, True])
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_calibration_is_named(name: str, grid: bool, papers: int) -> None:
    change, verdicts, said = WRONG[name]
    for seed in range(count(2, 40)):
        cases = Drawn(papers, grid=grid).cases(np.random.default_rng([5, seed]), change)
        found = check_calibration(cases)
        assert found.verdict in verdicts
        assert len(found.notes) == 1
        assert said in found.notes[0]
        assert found.odd == ("one" in name) or not name.startswith("one")


@pytest.mark.parametrize(("offset", "least"), [(1.0, 0.7), (1.4, 0.85)])
def test_mirrored_offsets_are_mostly_seen_in_forty_papers(offset: float, least: float) -> None:
    """Caught in about 85 and 94 of 100; fewer than 8 of 14 with a chance of 1.1e-2 and 1e-4 (the seed is
    fixed)."""
    worlds = count(14, 100)
    drawn = Drawn(offset=offset)
    found = [
        check_calibration(drawn.cases(np.random.default_rng([8, seed]), mirrored)).verdict
        for seed in range(worlds)
    ]
    assert HOPELESS not in found
    assert found.count(DOUBTFUL) >= (8 if worlds == 14 else least * worlds)


def test_mirrored_offsets_are_seen_for_what_they_are_in_three_hundred_papers() -> None:
    for seed in range(count(2, 20)):
        found = check_calibration(Drawn(300, 150).cases(np.random.default_rng([9, seed]), mirrored))
        assert found.verdict == DOUBTFUL
        assert found.mirrored is not None
        assert found.mirrored > 3 or found.shift > 0.3


def test_a_small_misfit_is_no_matter_however_many_papers_show_it() -> None:
    """0.2 standard deviations are 10 of those that chance gives to the mean of 2,000 papers."""

    found = check_calibration(Drawn(2000, 400, grid=False).cases(np.random.default_rng(1), moved(0.4)))
    assert -0.25 < found.shift < -0.15
    assert found.verdict == FITS


def test_a_score_that_no_candidate_gives_is_counted() -> None:
    cases = Drawn(grid=False).cases(np.random.default_rng(3))
    assert check_calibration(cases).impossible == 0
    cases[7] = replace(cases[7], scores=(*cases[7].scores[:-1], 70.0))
    found = check_calibration(cases)
    assert found.impossible == 1
    assert found.verdict != FITS


def test_where_low_is_better_everything_is_shown_as_it_was_given() -> None:
    cases = Drawn().cases(np.random.default_rng(4), for_five_points)
    high, low = check_calibration(cases), check_calibration(cases, "low")
    assert (low.predicted_mean, low.observed_mean, low.shift) == (
        -high.predicted_mean,
        -high.observed_mean,
        -high.shift,
    )
    assert (low.stretch, low.verdict) == (high.stretch, high.verdict)
    assert "go from -10 to -1" in low.notes[0]


def test_what_a_certificate_repeats_names_no_candidate_and_has_few_digits() -> None:
    public = check_calibration(Drawn().cases(np.random.default_rng(4), one_sixty)).public
    assert "notes" not in public
    assert public["odd"] == 1
    assert all(round(v, 4) == v for v in public.values() if isinstance(v, float))


@pytest.mark.parametrize("scores", [(5.0,), (5.0, 5.0), (4.0, 6.0)])
def test_few_scores_or_all_the_same_can_be_judged(scores: tuple[float, ...]) -> None:
    row = (1.0, 5.0, 1.0, 0.0, 0.0, 0.0, 0.0)
    names = ("a", "b", "c")
    case = PaperCase("p", scores, names, (len(scores) / 3,) * 3, (row,) * 3, 0.0)
    found = check_calibration([case])
    assert (found.verdict, found.mirrored) == (FITS, None)
    assert found.observed_mean == pytest.approx(5)


@pytest.mark.parametrize("grid", [False, True])
def test_the_scale_that_a_calibration_was_made_for_is_not_cut_to_the_grid(grid: bool) -> None:
    """Rows for scores from 10 to 100: two standard deviations about 58 by hand from the rows themselves."""
    cases = Drawn(grid=grid).cases(np.random.default_rng(5), lambda rows: 10 * rows)
    found = check_calibration(cases)
    assert found.verdict == HOPELESS
    low, high = (float(x) for x in found.notes[0].split("from about ")[1].split(";")[0].split(" to "))
    rows = np.array([row for case in cases for row in case.parameters])
    sd = np.sqrt((rows[:, 0] ** 2 + rows[:, 2] ** 2).mean() + rows[:, 1].var())
    assert (low, high) == (
        pytest.approx(rows[:, 1].mean() - 2 * sd, abs=3),
        pytest.approx(rows[:, 1].mean() + 2 * sd, abs=3),
    )


def test_scores_in_other_units_are_no_typo_of_a_few_candidates() -> None:
    for seed in range(count(4, 40)):
        cases = Drawn(grid=False).cases(np.random.default_rng([12, seed]))
        found = check_calibration(
            [replace(case, scores=tuple(10 * x for x in case.scores)) for case in cases]
        )
        assert found.verdict == HOPELESS
        assert found.notes[0].startswith("the calibration does not fit the scores: it predicts a mean of")
        assert "typo" not in found.notes[0]


@pytest.mark.parametrize("grid", [False, True])
def test_swapped_slopes_and_offsets_are_mostly_doubted(grid: bool) -> None:
    """In 39 of 40 conferences; one fits by mean and spread."""
    worlds = count(2, 40)
    drawn = [
        Drawn(grid=grid).cases(np.random.default_rng([5, n]), lambda r: r[:, [1, 0, 2]])
        for n in range(worlds)
    ]
    assert sum(check_calibration(cases).verdict != FITS for cases in drawn) >= 0.9 * worlds


def test_scores_that_are_all_the_same_are_said_to_be() -> None:
    cases = [replace(case, scores=(6.0,) * 3) for case in Drawn().cases(np.random.default_rng(5))]
    (said,) = check_calibration(cases).notes
    assert "; all scores are 6: was it made" in said


@pytest.mark.parametrize("scale", [1.0, 1e-9])
def test_a_calibration_beyond_the_end_of_the_grid_does_not_fit(scale: float) -> None:
    """All candidates would give 10 whatever the paper: nothing is left to divide by."""

    def all_sixty(rows: np.ndarray) -> np.ndarray:
        return np.column_stack([scale * rows[:, 0], np.full(len(rows), 60.0), scale * rows[:, 2]])

    found = check_calibration(Drawn().cases(np.random.default_rng(5), all_sixty))
    assert found.verdict == HOPELESS
    assert found.predicted_mean == pytest.approx(10.0)
    assert np.isfinite([found.shift, found.stretch]).all()


def test_a_constant_added_to_scores_and_offsets_changes_nothing() -> None:
    cases = Drawn(grid=False).cases(np.random.default_rng(1))
    added = [
        replace(
            case,
            scores=tuple(score + 1e9 for score in case.scores),
            parameters=tuple((a, b + 1e9, *rest) for a, b, *rest in case.parameters),
        )
        for case in cases
    ]
    plain, moved = check_calibration(cases), check_calibration(added)
    assert moved.verdict == plain.verdict == FITS
    for name in ("shift", "stretch", "mirrored"):
        assert getattr(moved, name) == pytest.approx(getattr(plain, name), abs=1e-4)


# --- What a calibration predicts of all scores, against conferences that are simulated.


def _simulated(cases: list[PaperCase], rng: np.random.Generator, draws: int) -> np.ndarray:
    """`[draw, score]`: scores of conferences as the model has them; errors of a person's calibration are
    shared by all of their reviews."""
    people = sorted({one for case in cases for one in zip(case.candidates, case.parameters, strict=True)})
    place = {name: index for index, (name, _) in enumerate(people)}
    slope, offset, noise, slope_se, offset_se, _, _ = np.array([row for _, row in people]).T
    found = []
    for _ in range(draws):
        a = slope + slope_se * rng.standard_normal(len(people))
        b = offset + offset_se * rng.standard_normal(len(people))
        for case in cases:
            who = [place[name] for name in rng.permutation(case.candidates)[: len(case.scores)]]
            score = a[who] * rng.standard_normal() + b[who] + noise[who] * rng.standard_normal(len(who))
            found.append(score if case.grid is None else np.clip(np.round(score), 1, 10))
    return np.concatenate(found).reshape(draws, -1)


@pytest.mark.parametrize("grid", [False, True])
@pytest.mark.parametrize("error", [0.0, 0.2])
def test_expected_means_and_their_deviations_are_those_of_simulated_conferences(
    grid: bool, error: float
) -> None:
    """z within 4.5 (false alarm 1e-5 each), and within 0.02 of a score where slopes have errors: the model
    takes such scores as normal. Deviations of the observed figures are never understated, by more than the
    1.3 % that 3,000 draws know them to, and overstated by
    little more than the root of the two reviews."""
    drawn = Drawn(papers=7, people=6, pool=(3, 5), reviews=2, grid=grid, error=error, center=8.0)
    cases = drawn.cases(np.random.default_rng(3))
    said = conference_scores(cases).predicted
    scores = _simulated(cases, np.random.default_rng(4), draws := count(3000, 20000))
    near = 0.02 * bool(error)
    squares = (scores - said.mean) ** 2
    for values, expected, chance in (
        (scores, said.mean, said.mean_chance),
        (squares, said.sd**2, said.variance_chance),
    ):
        seen = values.mean(axis=1)
        assert abs(seen.mean() - expected) < 4.5 * seen.std() / draws**0.5 + near * max(1.0, said.sd)
        assert 0.95 < chance / seen.std() < 1.15 * 2**0.5


@pytest.mark.parametrize("chance", [0.1, 1.0])
def test_outsiders_who_may_write_several_reviews_of_a_paper_are_counted_as_several(chance: float) -> None:
    cases = with_outsiders(np.random.default_rng(5), 4, far=6.0, chance=chance, reviews=3)
    rng, draws = np.random.default_rng(6), count(2000, 20000)
    said = conference_scores(cases).predicted
    rows = [np.array(case.parameters) for case in cases]
    drawn = [
        [score for case, own in zip(cases, rows, strict=True) for score in scores_of(case, own, rng)]
        for _ in range(draws)
    ]
    means = np.array(drawn).mean(axis=1)
    squares = ((np.array(drawn) - said.mean) ** 2).mean(axis=1)
    assert abs(means.mean() - said.mean) < 4.5 * means.std() / draws**0.5
    assert abs(squares.mean() - said.sd**2) < 4.5 * squares.std() / draws**0.5
    assert 0.9 < said.mean_chance / means.std() < 1.1 * 3**0.5


@pytest.mark.parametrize("grid", [False, True])
def test_papers_of_a_committee_are_added_up_like_papers_with_pools_of_their_own(grid: bool) -> None:
    """Somebody with a conflict on every paper is no candidate, however extreme."""
    rng = np.random.default_rng(9)
    names = SharedTuple(f"r{number}" for number in range(9))
    rows = [(1.0 + 0.1 * n, 5.0 + 0.3 * n, 0.8, 0.1, 0.2, 0.0, 0.1) for n in range(8)]
    everyone = SharedTuple([*rows, (1.0, -90.0, 0.5, 0.0, 0.0, 0.0, 0.0)])
    shared, apart = [], []
    for paper, barred in enumerate([(0, 8), (3, 8), (8,), (0, 8), (1, 2, 7, 8), (0, 3, 8)]):
        scores = tuple(sorted(rng.integers(3, 10, 2).tolist()))
        chances = (2 / (9 - len(barred)),) * (9 - len(barred))
        some = AllBut(names, barred), chances, AllBut(everyone, barred)
        levels = tuple(float(level) for level in range(1, 11)) if grid else None
        shared.append(PaperCase(f"p{paper}", scores, *some, 0.0, levels))
        apart.append(PaperCase(f"p{paper}", scores, tuple(some[0]), chances, tuple(some[2]), 0.0, levels))
    mine, theirs = conference_scores(shared), conference_scores(apart)
    by_row = (dict(zip(map(tuple, d.people.tolist()), d.share.tolist(), strict=True)) for d in (mine, theirs))
    first, second = by_row
    assert len(first) == 8
    assert first == pytest.approx(second, rel=1e-12)
    assert sum(first.values()) == pytest.approx(1.0)
    assert vars(mine.predicted) == pytest.approx(vars(theirs.predicted), rel=1e-12)
    assert impossible_scores(mine) == impossible_scores(theirs)
    one, other = check_calibration(shared).public, check_calibration(apart).public
    assert one == other
