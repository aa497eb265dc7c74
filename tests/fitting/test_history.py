"""From tables of past reviews to one history, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from blindcal.checks import Array
from blindcal.errors import InputError
from blindcal.fitting.history import (
    build_history,
    match_scale,
    order_remarks,
    past_conferences,
    past_people,
)
from blindcal.reviews import Reviews
from small_pasts import tiny_history, tiny_reviews


def table(rows: str, **options: object) -> Reviews:
    """From `paper reviewer score` triples, separated by commas."""
    columns = zip(*(row.split() for row in rows.split(",")), strict=True)
    paper, reviewer, score = columns
    found = {"paper": paper, "reviewer": reviewer, "score": [float(value) for value in score]}
    return Reviews.from_table(found, **options)


GOOD = "1 a 1, 1 b 2, 2 a 4, 2 c 3"


def test_visits_lead_from_each_reviewer_to_each_conference() -> None:
    history, visits = tiny_history(), tiny_history().visits
    came = {
        (history.reviewers[r], history.conferences[c])
        for r, c in zip(visits.reviewer, visits.conference, strict=True)
    }
    assert came == {("ann", "A"), ("ann", "B"), ("bob", "A"), ("bob", "B"), ("cyd", "A"), ("dan", "B")}
    assert history.reviewers[:2] == ("ann", "bob")  # came twice
    assert visits.starts == (0, 4, 6)
    assert visits.gap.tolist() == [0, 0, 0, 0, 1, 1]
    assert visits.conference[visits.last].tolist() == [1, 1, 0, 1]
    assert visits.ago.tolist() == [1, 1, 2, 1]
    np.testing.assert_array_equal(visits.reviewer[history.visit], history.reviewer)
    np.testing.assert_array_equal(visits.conference[history.visit], history.conference)


def test_each_conference_has_a_scale_of_its_own() -> None:
    history = tiny_history()
    for c in (0, 1):
        own = history.score[history.conference == c]
        assert own.mean() == pytest.approx(0, abs=1e-12)
        assert own.std() == pytest.approx(1)
    rebuilt = history.middle[0] + history.width[0] * history.score[history.conference == 0]
    np.testing.assert_allclose(sorted(rebuilt), sorted([6.5, 4.0, 5.0, 3.5, 7.0, 6.0]))
    assert history.levels == (3.0, 2.0)  # the most frequent one first
    assert history.per_level().tolist() == [9.0, 4.0]


def test_a_confidence_that_is_not_given_is_a_level_of_its_own() -> None:
    columns = {**tiny_reviews().columns()}
    columns["confidence"] = [np.nan if value == 2 else value for value in columns["confidence"]]
    history = build_history(past_conferences({"x": Reviews.from_table(columns)}))
    assert history.levels[0] == 3.0
    assert np.isnan(history.levels[1])
    assert history.per_level().tolist() == [9.0, 4.0]


def test_a_rounded_score_is_known_up_to_its_cell() -> None:
    history = tiny_history()
    assert history.rounded.tolist() == (history.conference == 1).tolist()
    score, low, high = (
        history.middle[1] + history.width[1] * part[history.rounded]
        for part in (history.score, history.low, history.high)
    )
    np.testing.assert_allclose(low, np.where(score == 1.0, -np.inf, score - 0.5))
    np.testing.assert_allclose(high, np.where(score == 4.0, np.inf, score + 0.5))


def test_where_low_scores_are_better_everything_is_turned() -> None:
    grid = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    high = build_history(past_conferences({"x": table(GOOD, grid=grid)}))
    turned = table("1 a 6, 1 b 5, 2 a 3, 2 c 4", grid=grid)
    low = build_history(past_conferences({"x": turned}, better="low"))
    by_name = build_history(past_conferences({"x": turned}, past_better={"x": "low"}))
    for name in ("score", "low", "high"):
        np.testing.assert_allclose(getattr(low, name), getattr(high, name))
        np.testing.assert_allclose(getattr(by_name, name), getattr(high, name))
    assert by_name.middle == pytest.approx(high.middle), "mirrored between the ends of the scale"


def test_conferences_stand_in_the_order_of_tables_then_of_names() -> None:
    two = Reviews.from_table(
        {
            "conference": ["10", "10", "9", "9"] * 2,
            "paper": [1, 1, 1, 1, 2, 2, 2, 2],
            "reviewer": ["a", "b"] * 4,
            "score": [1, 2, 3, 4, 5, 6, 7, 8],
        }
    )
    pasts = past_conferences({"folder/zeta.csv": table(GOOD), "two.csv": two})
    assert [past.name for past in pasts] == ["zeta", "9", "10"]


def test_people_with_a_new_id_are_one_person() -> None:
    history = build_history(past_conferences({"x": tiny_reviews()}, same={"dan": "cyd"}))
    assert set(history.reviewers) == {"ann", "bob", "cyd"}
    assert len(history.visits) == 6


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("1 a 1, 1 b 2", "must have two papers or more of conference 'x', found 1"),
        ("1 a 1, 2 a 2", "must have two reviewers or more of conference 'x', found 1"),
        ("1 a 5, 1 b 5, 2 a 5, 2 b 5", "must have scores that differ in conference 'x', found 5 only"),
        ("1 a 1, 2 b 2", "must have a paper with two reviews in conference 'x'"),
    ],
)
def test_a_conference_that_teaches_nothing_is_refused(rows: str, told: str) -> None:
    with pytest.raises(InputError) as error:
        past_conferences({"x.csv": table(rows)})
    assert told in str(error.value)
    assert str(error.value).startswith("x.csv")


def test_a_reviewer_twice_on_a_paper_after_merging_is_refused() -> None:
    with pytest.raises(InputError, match="one person twice on a paper"):
        past_conferences({"x": table(GOOD)}, same={"b": "a"})


def test_names_of_conferences_must_be_distinct_and_known() -> None:
    with pytest.raises(InputError, match="must not share the conference 'x' with another table"):
        past_conferences({"x": table(GOOD), "folder/x.csv": table(GOOD)})
    with pytest.raises(InputError, match="must have the conference 'y', for which `past_better` is given"):
        past_conferences({"x": table(GOOD)}, past_better={"y": "low"})


def test_the_order_of_past_years_is_noticed_by_names_and_by_who_came_back() -> None:
    members = {f"r{i}" for i in range(100)}
    lately, long_ago = ({f"r{i}" for i in range(start, start + 100)} for start in (20, 60))
    assert order_remarks({"a": long_ago, "b": lately}, members, {}) == []
    (remark,) = order_remarks({"a": lately, "b": long_ago}, members, {})
    assert "reviewed for a, 80 of 100 are on the committee, and 40 of 100 of those for b" in remark
    same = {f"r{i}": f"r{i - 100}" for i in range(120, 160)}
    assert order_remarks({"a": lately, "b": long_ago}, members, same) == [], "they came under other ids"
    assert order_remarks({"a": lately, "b": {f"r{i}" for i in range(30, 130)}}, members, {}) == []
    (remark,) = order_remarks({"icx2026": long_ago, "icx2025": long_ago}, members, {})
    assert remark.endswith("oldest first: by their names that is icx2025, icx2026")


def test_who_reviewed_where_comes_with_the_names_that_a_file_has() -> None:
    columns = {"paper": ["1", "1", "2"], "reviewer": ["a", "b", "a"], "score": [1.0, 2.0, 3.0]}
    single, several = (
        Reviews.from_table({**columns, **extra}) for extra in ({}, {"conference": ["x", "y", "y"]})
    )
    people = past_people({"in/2024.csv": single, "all.csv": several}, {"in/2024.csv": {"a": "Ada"}})
    assert people == {"2024": {"a": "Ada", "b": ""}, "x": {"a": ""}, "y": {"a": "", "b": ""}}


# --- This year's scale: the mean and spread that are seen are those of the scores, rounded or not.


PEOPLE = np.array(
    [
        [1.2, 5.0, 0.9, 0.2, 0.3, 0.1, 0.1],
        [0.8, 6.5, 0.6, 0.1, 0.5, -0.4, 0.2],
        [1.5, 4.0, 1.1, 0.3, 0.2, 0, 0.1],
    ]
).T
SCORE = np.array([3.1, 4.7, 5.2, 6.6, 7.4, 5.9])


def reviews(score: Array, grid: Array | None = None) -> Reviews:
    table = {"paper": [f"p{i}" for i in range(len(score))], "reviewer": ["a"] * len(score), "score": score}
    return Reviews.from_table(table, grid=grid)


def simulated(rows: Array, draws: int, rng: np.random.Generator) -> Array:
    """Scores of papers and people drawn one by one, errors of the calibration included."""
    slope, offset, noise, slope_se, offset_se, _, noise_se = rows[:, rng.integers(0, rows.shape[1], draws)]
    z = rng.standard_normal((5, draws))
    plain = slope * z[0] + offset + slope_se * z[0] * z[1] + offset_se * z[2]
    return np.asarray(plain + noise * z[3] + noise_se * z[4])


@pytest.mark.parametrize("rounded", [False, True])
def test_scores_are_matched_in_mean_and_spread_as_they_are_rounded(rounded: bool) -> None:
    """Against simulated people: standard errors of mean and deviation are below 0.5 % at this number."""
    grid = np.arange(1.0, 6.0) if rounded else None
    score = np.repeat(grid, [5, 9, 14, 20, 12]) if rounded else SCORE
    people = 0.8 * PEOPLE if rounded else PEOPLE
    scale = match_scale(people, reviews(score, grid))
    raw = simulated(scale.moved(people), 200_000, np.random.default_rng(2))
    seen = grid[np.abs(raw[:, None] - grid).argmin(axis=1)] if rounded else raw
    assert seen.mean() == pytest.approx(score.mean(), abs=6 * score.std() / np.sqrt(2e5))
    assert seen.std() == pytest.approx(score.std(), rel=0.015)
    # The ends of the grid cut scores off.
    assert not rounded or raw.std() > 1.05 * seen.std()
    assert rounded or scale.shift_in_sds == pytest.approx((SCORE.mean() - PEOPLE[1].mean()) / SCORE.std())


def test_who_wrote_which_review_is_not_looked_at() -> None:
    assert match_scale(PEOPLE, reviews(SCORE)) == match_scale(PEOPLE, reviews(SCORE[::-1]))


def test_another_scale_is_refused_and_not_corrected() -> None:
    for changed in (10 * SCORE, SCORE + 5, 0.3 * (SCORE - 5.5) + 5.5):
        with pytest.raises(InputError, match=r"another scale .* and at most 1 and 1\.5 are corrected"):
            match_scale(PEOPLE, reviews(changed))
    with pytest.raises(InputError, match="all equal"):
        match_scale(PEOPLE, reviews(np.full(4, 5.0)))
