"""How many papers exactly: what is refused, and the share of the papers that it is."""

from __future__ import annotations

from typing import Any

import pytest

from blindcal.errors import InputError
from blindcal.planning.request import WHOLE, Quota, shares

BAD: list[tuple[tuple[Any, ...], str]] = [
    ((0,), "`accept` must be whole numbers of at least 1, found 0"),
    ((-3,), "`accept` must be whole numbers"),
    ((0.25,), "`accept` must be whole numbers of at least 1, found 0.25"),
    ((True,), "`accept` must be whole numbers"),
    (("50",), "`accept` must be whole numbers"),
    ((5, -1), "`wait_list` must be whole numbers of at least 0, found -1"),
    (({},), "at least one track"),
    (({"": 4},), "a track must not be empty"),
    (({" a": 4},), "a track must"),
    (({"a": 0, "b": 0},), "`accept` must be at least 1 in some track, found 0 in each"),
    (({"a": 1, "b": -1},), "`accept` must be whole numbers of at least 0, found -1 for track 'b'$"),
    (({"a": 4}, {"b": 1}), "`wait_list` must be about the tracks of `accept`"),
    ((4, {"b": 1}), "`wait_list` must be about the tracks of `accept`"),
    (({"a": 4}, 1), "`wait_list` must have one number for each track"),
]


@pytest.mark.parametrize(("given", "told"), BAD)
def test_what_is_no_number_of_papers_is_refused(given: tuple[Any, ...], told: str) -> None:
    with pytest.raises(InputError, match=told):
        Quota(*given)


def test_one_number_is_about_the_whole_conference() -> None:
    quota = Quota(3, 2)
    assert (quota.tracks, quota.groups, quota.of(WHOLE)) == ((), (WHOLE,), (3, 2))


def test_each_track_has_its_numbers_and_none_waits_unless_said() -> None:
    quota = Quota({"main": 3, "short": 1}, {"short": 2})
    assert quota.groups == quota.tracks == ("main", "short")
    assert (quota.of("main"), quota.of("short")) == ((3, 0), (1, 2))


def test_there_is_one_way_to_say_that_nobody_waits() -> None:
    quota = Quota({"main": 3, "short": 1})
    assert quota == Quota({"short": 1, "main": 3}, {"main": 0}) == Quota({"main": 3, "short": 1}, {})
    assert Quota({"main": 3, "short": 1}, {"main": 0, "short": 2}).wait_list == {"short": 2}


def test_more_places_than_papers_are_refused() -> None:
    Quota(3, 2).check([WHOLE] * 5)
    with pytest.raises(InputError, match=r"`accept` 3 and 2 on the wait list: there are only 4 papers$"):
        Quota(3, 2).check([WHOLE] * 4)
    with pytest.raises(InputError, match=r"`accept` 2: there is only 1 paper in track 'short'$"):
        Quota({"main": 1, "short": 2}).check(["main", "main", "short"])


def test_shares_are_of_the_papers_of_the_track() -> None:
    assert shares(Quota(3, 1), [WHOLE] * 8) == 3 / 8
    assert shares(Quota({"main": 1, "short": 3}), ["main"] * 4 + ["short"] * 4) == {
        "main": 0.25,
        "short": 0.75,
    }


def test_a_number_that_is_every_paper_leaves_nothing_to_decide() -> None:
    with pytest.raises(InputError, match="`accept` 4 is every paper:"):
        shares(Quota(4), [WHOLE] * 4)
    for accept in ({"main": 2, "short": 1}, {"main": 2, "short": 0}, {"main": 0, "short": 1}):
        with pytest.raises(InputError, match="`accept` is every paper of a track or none, in each track:"):
            shares(Quota(accept), ["main", "main", "short"])


def test_all_of_a_track_or_none_is_a_share_where_another_track_has_something_to_decide() -> None:
    tracks = ["main", "main", "short"]
    assert shares(Quota({"main": 1, "short": 1}), tracks) == {"main": 0.5, "short": 1.0}
    assert shares(Quota({"main": 1, "short": 0}), tracks) == {"main": 0.5, "short": 0.0}
    assert shares(Quota({"main": 1, "demo": 0}), ["main", "main"]) == {"main": 0.5}
