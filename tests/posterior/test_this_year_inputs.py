"""A conference's own reviews: what is public of them, and evidence that another method made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from blindcal.errors import InputError
from blindcal.posterior.inputs import read_inputs
from blindcal.posterior.this_year_inputs import (
    ThisYearInputs,
    model_json,
    model_of_json,
    prepared_again,
    read_evidence,
)
from blindcal.reviews import Reviews
from small_reviews import strict_panels


def table(seed: int = 1, columns: tuple[str, ...] = ()) -> dict[str, Any]:
    """Two to four reviews of 20 papers by 12 people, with tracks or areas a and b if wanted."""
    rows = strict_panels(seed, 20, 12, least=2, digits=0)
    return rows | {name: ["ab"[int(paper[1:]) % 2] for paper in rows["paper"]] for name in columns}


def test_reviews_alone_are_enough() -> None:
    inputs = read_inputs(table())
    assert isinstance(inputs, ThisYearInputs)
    assert inputs.source == "this-year"
    conference, truth = inputs.prepared(accept_rate=0.25, people=12)
    assert truth.given is None
    assert set(truth.reviewers) == {case.paper for case in conference.cases}
    assert conference.bar == pytest.approx(norm.ppf(0.75), abs=1e-4)
    assert sum(conference.raw_accept) == pytest.approx(5)


def test_a_number_of_papers_is_that_of_the_evidence_that_is_expected_above_the_bar() -> None:
    conference, _ = read_inputs(table()).prepared(accept_rate=0.25, exact=True, people=12)
    assert sum(case.belief.weight[1] for case in conference.cases) == pytest.approx(5, abs=0.01)


def test_tracks_with_levels_of_their_own_have_bars_and_centers_of_their_own() -> None:
    inputs = read_inputs(table(columns=("track",)))
    conference, _ = inputs.prepared(accept_rate={"a": 0.2, "b": 0.6}, exact=True, people=12)
    assert isinstance(conference.bar, dict)
    for track, number in (("a", 2), ("b", 6)):
        part = [case for case in conference.cases if case.track == track]
        assert sum(case.belief.weight[1] for case in part) == pytest.approx(number, abs=0.01)
    assert conference.model is not None
    assert set(conference.model.moments.areas) == {"a", "b"}


def test_a_declared_area_takes_the_place_of_the_track_as_center() -> None:
    rows = table(columns=("area",))
    assert {case.area for case in read_inputs(rows).prepared(accept_rate=0.5)[0].graded} == {"a", "b"}
    rows["track"] = ["main"] * len(rows["paper"])
    assert {case.area for case in read_inputs(rows).prepared(accept_rate=0.5)[0].graded} == {"a", "b"}


@pytest.mark.parametrize("seed", range(10))
def test_other_writers_of_the_same_scores_leave_everything_public_as_it_is(seed: int) -> None:
    rows, rng = table(seed, ("area",) * (seed % 2)), np.random.default_rng(seed)
    numbers = np.unique(rows["paper"], return_counts=True)[1]
    everyone = [f"z{number}" for number in range(int(rng.integers(4, 40)))]
    merged = [name for number in numbers for name in rng.permutation(everyone)[:number]]
    for request in ({"accept_rate": 0.3}, {"accept_rate": 0.25, "exact": True}, {"bar": 0.2}):
        plain, _ = read_inputs(rows).prepared(**request)
        other, _ = read_inputs({**rows, "reviewer": merged}).prepared(**request)
        assert plain == other


def test_too_few_people_are_refused_by_the_scores_alone() -> None:
    rows = table()
    most = int(np.unique(rows["paper"], return_counts=True)[1].max())
    with pytest.raises(InputError, match=f"at least {most}"):
        read_inputs(rows).prepared(accept_rate=0.25, people=most - 1)
    # Twelve people wrote these reviews; nothing says that eight are too few.
    read_inputs(rows).prepared(accept_rate=0.25, people=8)


def test_a_share_of_strictness_is_one_of_a_short_list() -> None:
    with pytest.raises(InputError, match=r"0\.15, 0\.25, 0\.35, 0\.5, found 0\.3"):
        read_inputs(table()).prepared(accept_rate=0.25, strictness_share=0.3)


def test_a_model_is_recorded_to_the_last_digit_and_derived_again() -> None:
    conference, _ = read_inputs(table(columns=("area",))).prepared(accept_rate=0.25, people=12)
    model = conference.model
    assert model is not None
    assert model_of_json(model_json(model)) == model
    bare = [replace(case, bar=0.0) for case in conference.graded]
    again = prepared_again(bare, 0.25, None, False, 0.25, 12)
    assert again == conference


# --- Evidence from elsewhere.


def reviews() -> Reviews:
    return Reviews.from_table(table())


def levels(seed: int = 2) -> dict[str, str]:
    rng = np.random.default_rng(seed)
    return {paper: str(rng.choice(["accept", "Reject "])) for paper in reviews().papers}


def test_words_are_levels() -> None:
    words = levels()
    inputs = read_inputs(table(), evidence=words)
    assert inputs.source == "file"
    _, truth = inputs.prepared(accept_rate=0.25)
    assert truth.given == {paper: int(word == "accept") for paper, word in words.items()}


def test_a_function_of_the_reviews_is_evidence() -> None:
    def lowest(own: Reviews) -> dict[str, float]:
        return {paper: float(own.score[own.paper == index].min()) for index, paper in enumerate(own.papers)}

    _, truth = read_inputs(table(), evidence=lowest).prepared(accept_rate=0.25)
    assert truth.given is not None
    assert 0 < sum(truth.given.values()) <= 5


def test_numbers_accept_as_many_as_are_requested_and_ties_go_by_mean_score() -> None:
    ids = reviews().papers
    by_rank = {paper: float(rank) for rank, paper in enumerate(ids)}
    _, truth = read_inputs(table(), evidence=by_rank).prepared(accept_rate=0.25)
    assert truth.given == {paper: int(rank >= len(ids) - 5) for rank, paper in enumerate(ids)}
    conference, tied = read_inputs(table(), evidence=dict.fromkeys(ids, 1.0)).prepared(accept_rate=0.25)
    mean = {case.paper: np.mean(case.scores) for case in conference.cases}
    assert tied.given is not None
    worst = min(mean[paper] for paper, level in tied.given.items() if level)
    assert all(mean[paper] <= worst for paper, level in tied.given.items() if not level)


def test_papers_that_stand_say_where_the_line_of_numbers_is() -> None:
    ids = reviews().papers
    numbers = {paper: float(rank % 7) for rank, paper in enumerate(ids)}
    _, first = read_inputs(table(), evidence=numbers).prepared(accept_rate=0.25)
    assert first.given is not None
    least = min(numbers[paper] for paper, level in first.given.items() if level)
    # Papers that came later do not move it, however many are above.
    for others in (ids[:10], ids[10:], ids[::2]):
        standing = {paper: first.given[paper] for paper in others}
        if 1 in standing.values():
            _, again = read_inputs(table(), evidence=numbers).prepared(bar=0.1, standing=standing)
            assert again.given is not None
            assert {paper: again.given[paper] for paper in others} == standing
            assert {numbers[paper] for paper, level in again.given.items() if not level} <= {
                number for number in numbers.values() if number <= least
            }
    _, none = read_inputs(table(), evidence=numbers).prepared(bar=0.1, standing=dict.fromkeys(ids[:7], 0))
    assert none.given is not None
    assert not any(none.given.values()), "six is rejected, so nothing is above the line"


def test_lots_do_not_depend_on_the_evidence() -> None:
    plain, _ = read_inputs(table()).prepared(accept_rate=0.25)
    given, _ = read_inputs(table(), evidence=levels()).prepared(accept_rate=0.25)
    assert plain == given


def test_every_problem_of_a_table_of_evidence_is_listed() -> None:
    ids = [*reviews().papers[1:], "x", reviews().papers[3]]
    made = {"paper": ids, "evidence": ["accept", "maybe", *["1.5"] * (len(ids) - 2)]}
    with pytest.raises(InputError) as error:
        read_evidence(made, reviews())
    message = str(error.value)
    for part in (
        "must not be listed twice",
        "must be accept or reject, or a number",
        "must be a paper that is decided",
        "all but 1 paper",
        "words for all papers, or numbers for all",
    ):
        assert part in message


def test_arguments_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(InputError, match="`pools` goes with `reviewers`"):
        read_inputs(table(), None, "everyone")
    calibration = {"reviewer": ["*"], "slope": [1], "offset": [5], "noise": [1]}
    with pytest.raises(InputError, match="`reviewers` needs `pools`"):
        read_inputs(table(), calibration, None)
    with pytest.raises(InputError, match="`evidence` goes without `reviewers`"):
        read_inputs(table(), calibration, "everyone", evidence=levels())
