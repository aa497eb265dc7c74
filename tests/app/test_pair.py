"""The page Pair: its numbers are the library's, its plane is what each pair of scores would give, its draws
are as often as they should be."""

from __future__ import annotations

import numpy as np
import pytest

import blindcal as bc
from blindcal.app.pair import (
    MOST_DRAWS,
    REACH,
    SLIDERS,
    Settings,
    chosen_policy,
    drawn,
    picture,
    read_settings,
    regions,
)
from blindcal.io.atomic_files import to_jsonable
from blindcal.policy.policy import epsilon_policy
from chances import within
from sizes import count

UNEVEN = Settings(1.3, 0.4, 0.7, -0.9, 0.35, 0.6, 0.1, 0.4, 0.3, by="error")


def test_sliders_are_the_settings_and_start_within_their_range() -> None:
    assert [*SLIDERS, "by"] == [*vars(Settings())]
    for slider in SLIDERS.values():
        assert slider.low <= slider.start <= slider.high
        assert slider.start == pytest.approx(
            slider.low + slider.step * round((slider.start - slider.low) / slider.step)
        )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"slope_1": "0"}, "slope_1 must lie in"),
        ({"slope_1": "nan"}, "slope_1 must be a number"),
        ({"noise": "1e999"}, "noise must"),
        ({"by": "luck"}, "by must be one of"),
        ({"else": "1"}, "not known"),
    ],
)
def test_bad_settings_are_refused_without_quoting_them(given: dict[str, str], told: str) -> None:
    with pytest.raises(bc.InputError, match=told) as caught:
        read_settings(given)
    assert "luck" not in str(caught.value)
    assert "else" not in str(caught.value)


def test_the_numbers_are_those_of_the_library() -> None:
    found = picture(UNEVEN)
    pair = (bc.Affine(1.3, 0.4, noise=0.35), bc.Affine(0.7, -0.9, noise=0.35))
    belief = bc.pair_belief(pair, (0.6, 0.1), 0.4)
    front = bc.frontier(belief)
    assert found["weight"] == pytest.approx(belief.weight)
    assert found["favor"] == pytest.approx(belief.favor)
    assert found["frontier"]["adversary_error"] == pytest.approx(front.adversary_error)
    error = front.conference_error[0] + 0.3 * (front.conference_error[-1] - front.conference_error[0])
    policy = front.policy(conference_error=error)
    assert found["policy"]["accept"] == pytest.approx(policy.accept)
    assert found["policy"]["conference_error"] == pytest.approx(float(error))
    mass = belief.weight * policy.accept
    assert found["policy"]["posterior"][0] == pytest.approx(mass / mass.sum())
    assert found["policy"]["adversary_error"] == pytest.approx(
        float(policy.adversary_error(belief)), abs=1e-9
    )
    assert found["full"]["accept"].tolist() == [1.0 * (one > 0.5) for one in belief.favor]
    to_jsonable(found)


def test_a_limit_on_odds_is_kept() -> None:
    settings = Settings(by="epsilon", epsilon=0.7)
    policy = chosen_policy(settings, settings.belief, bc.frontier(settings.belief))
    assert policy.accept == pytest.approx(epsilon_policy(settings.belief, 0.7).accept)
    assert picture(settings)["policy"]["epsilon"] <= 0.7


def inside(polygon: list[tuple[float, float]], x: float, y: float) -> bool:
    """Whether a point is on the left of every side of a convex polygon."""
    corners = zip(polygon, polygon[1:] + polygon[:1], strict=True)
    return all((bx - ax) * (y - ay) >= (by - ay) * (x - ax) for (ax, ay), (bx, by) in corners)


@pytest.mark.parametrize("settings", [UNEVEN, Settings(noise=0.0), Settings(slope_1=0.3, offset_2=1.5)])
def test_every_point_of_the_plane_is_in_the_part_that_its_scores_would_give(settings: Settings) -> None:
    found = regions(settings)
    rng = np.random.default_rng(3)
    for x, y in rng.uniform(-REACH, REACH, (200, 2)):
        favor = bc.pair_belief(settings.reviewers, (x, y), settings.prior).favor
        first, second = bool((favor > 0.5).any()), bool((favor < 0.5).any())
        name = "conflict" if first and second else "first" if first else "second"
        if (abs(favor - 0.5) > 1e-9).all():
            assert [kind for kind, parts in found.items() if any(inside(one, x, y) for one in parts)] == [
                name
            ]


def test_the_page_starts_with_a_promise_and_not_with_a_leak() -> None:
    alike = Settings(slope_2=1.2, offset_2=0.6)
    assert (regions(alike)["conflict"], picture(alike)["conflict"]) == ([], False)
    found = picture(Settings())
    assert found["conflict"]
    assert found["policy"]["largest_posterior"] < 0.9
    assert found["policy"]["epsilon"] <= 1.0 + 1e-9
    assert found["full"]["largest_posterior"] == 1.0
    assert found["policy"]["conference_error"] > found["full"]["conference_error"] + 0.1
    path = found["by_epsilon"]
    assert path["conference_error"] == sorted(path["conference_error"], reverse=True)


def test_draws_are_as_often_as_the_policy_has_them() -> None:
    """Each of six counts is within its exact binomial interval; false alarms: 1e-6 over all of them."""
    number = count(2_000, 200_000)
    found = drawn(UNEVEN, number, np.random.default_rng(5))
    belief = UNEVEN.belief
    policy = chosen_policy(UNEVEN, belief, bc.frontier(belief))
    for place in (0, 1):
        accept = float(belief.weight[place] * policy.accept[place])
        reject = float(belief.weight[place] * (1 - policy.accept[place]))
        for seen, chance in zip(found["counts"][place], (accept, reject), strict=True):
            assert within(int(seen), number, chance, tests=6)
    right = 1 - float(policy.adversary_error(belief))
    assert within(found["right"], number, right, tests=6)
    wrong = float(policy.conference_error(belief))
    assert within(found["wrong"], number, wrong, tests=6)


def test_one_draw_is_one_outcome_and_too_many_are_refused() -> None:
    found = drawn(UNEVEN, 1, np.random.default_rng(1))
    assert found["counts"].sum() == found["drawn"] == 1
    for number in (0, -1, MOST_DRAWS + 1):
        with pytest.raises(bc.InputError, match="number of draws"):
            drawn(UNEVEN, number, np.random.default_rng(1))
