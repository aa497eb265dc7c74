"""What a chair requests: what says too little or too much, and names that never change."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from blindcal.deciding.decide import decide
from blindcal.errors import InputError
from blindcal.planning.conference_plan import plan
from blindcal.planning.request import WHOLE, Quota, Request, recorded_request, shares
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.inputs import example_inputs, read_inputs
from blindcal.reviewers.calibration import Scale
from blindcal.verification import verify
from small_conferences import read_small, small_conference

REQUEST = Request(Guarantee("steady", epsilon=2.0), "c", accept_rate=0.4)
LIMITS = {
    "name": "average",
    "epsilon": 1.0,
    "multiplier": 1.5,
    "posterior_cap": 0.9,
    "never_against": 0.8,
    "among": 7,
}


@pytest.mark.parametrize("name", [one.name for one in fields(Guarantee)])
def test_every_limit_is_in_the_settings_and_comes_back(name: str) -> None:
    """So it enters the coins, is frozen with the first release and is what `verify` checks."""
    plain = Guarantee("average", epsilon=None)
    limited = replace(Guarantee("steady", epsilon=2.0) if name == "name" else plain, **{name: LIMITS[name]})
    before = Guarantee("steady", epsilon=2.0) if name == "name" else plain
    assert Request(limited, bar=0.0).settings != Request(before, bar=0.0).settings
    sealed = json.loads(json.dumps(Request(limited, bar=0.0).settings))
    assert recorded_request("conference", sealed) == Request(limited, bar=0.0)


def test_the_scale_of_a_calibration_is_a_setting_where_it_was_moved_and_none_where_not() -> None:
    """Releases that were made before there was such a setting must verify forever."""
    assert "scale" not in REQUEST.settings
    assert REQUEST.for_inputs(example_inputs()) == REQUEST
    scaled = replace(example_inputs(), scale=Scale(0.123456, 1.2345678, 5.0, 0.1))
    moved = REQUEST.for_inputs(scaled)
    assert moved.settings == {**REQUEST.settings, "scale": [0.1235, 1.2346]}
    assert recorded_request("c", json.loads(json.dumps(moved.settings))) == moved


@pytest.mark.parametrize(
    "change", [{"bar": 0.3, "accept_rate": None}, {"accept_rate": 0.3}, {"better": "low"}]
)
def test_everything_else_that_is_asked_is_in_the_settings(change: dict[str, object]) -> None:
    assert replace(REQUEST, **change).settings != REQUEST.settings
    assert recorded_request("c", replace(REQUEST, **change).settings) == replace(REQUEST, **change)


def test_the_names_of_settings_are_those_that_sealed_records_have() -> None:
    """Written out: a release that was sealed under these names must verify forever."""
    request = Request(Guarantee(**LIMITS), "c", accept_rate=0.25, better="low")
    assert request.settings == {
        "guarantee": "average",
        "epsilon": 1.0,
        "multiplier": 1.5,
        "posterior_cap": 0.9,
        "never_against": 0.8,
        "among": 7,
        "accept_rate": 0.25,
        "bar": None,
        "better": "low",
    }


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"accept_rate": None}, "give one of `accept_rate`, `accept` and `bar`$"),
        ({"bar": 0.0}, "give only one of `accept_rate`, `accept` and `bar`"),
        ({"bar": 0.0, "accept_rate": 0.0}, "give only one of"),
        ({"accept": 3}, "give only one of"),
        ({"wait_list": 3}, "`wait_list` goes with `accept`"),
        ({"accept": 0, "accept_rate": None}, "`accept` must be whole numbers of at least 1"),
        ({"accept": 0.25, "accept_rate": None}, "`accept` must be whole numbers"),
        ({"conference": ""}, "`conference` must not be empty"),
        ({"better": "up"}, "better.*found 'up'"),
        ({"accept_rate": "0.25"}, "`accept_rate` must be one number, found '0.25'"),
        ({"accept_rate": [0.25]}, r"`accept_rate` must be one number, found \[0.25\]"),
        ({"bar": "0"}, "`bar` must be one number, found '0'"),
        ({"bar": True}, "`bar` must be one number, found True"),
        ({"guarantee": "steady"}, r"`guarantee` must be like Guarantee\('steady'\), found 'steady'"),
        (
            {"conference": 0.25},
            "`conference` must be a name, found 0.25: is it a number that",
        ),
    ],
)
def test_a_request_that_does_not_say_what_to_do_is_refused(change: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        replace(REQUEST, **change).checked()


def test_options_in_the_wrong_place_are_named(tmp_path: Path) -> None:
    folder = small_conference().write(tmp_path)
    inputs = read_inputs(*(folder / f"{name}.csv" for name in ("reviews", "reviewers", "pools")))
    request: Any = Request(Guarantee("steady", epsilon=2.0), accept_rate=0.4)
    path: Any = folder / "reviews.csv"
    swapped: Any = inputs
    for given in (path, request):
        with pytest.raises(InputError, match="inputs must be what read_inputs returns"):
            plan(given, swapped)
        with pytest.raises(InputError, match="inputs must be what read_inputs returns"):
            decide(given, request, tmp_path / "key.bin", tmp_path / "out")
        with pytest.raises(InputError, match="inputs must be what read_inputs returns"):
            verify(given, tmp_path / "key.bin")
    for other in (Guarantee("steady", epsilon=2.0), plan(inputs, request)):
        wrong: Any = other
        with pytest.raises(InputError, match=f"request must be a Request, found {type(other).__name__}"):
            plan(inputs, wrong)
        with pytest.raises(InputError, match=f"request must be a Request, found {type(other).__name__}"):
            decide(inputs, wrong, tmp_path / "key.bin", tmp_path / "out")


def test_how_many_papers_exactly_is_no_setting_and_comes_back_from_a_selection() -> None:
    request = Request(
        Guarantee("steady", epsilon=2.0), "c", accept={"main": 3}, wait_list={"main": 1}
    ).checked()
    assert request.settings == Request(Guarantee("steady", epsilon=2.0), "c").settings
    assert {request.settings["accept_rate"], request.settings["bar"]} == {None}
    selection = {"accept": {"main": 3}, "wait_list": {"main": 1}, "cuts": {}, "ranked": 1}
    assert recorded_request("c", request.settings, selection) == request
    assert recorded_request("c", REQUEST.settings) == replace(REQUEST, conference="c")


def test_a_number_of_papers_sets_the_bar_by_its_share(tmp_path: Path) -> None:
    tracks = {f"p{i:02d}": "short" if i < 2 else "main" for i in range(6)}
    inputs = read_small(small_conference().with_tracks(tracks), tmp_path)
    three, half = (
        Request(Guarantee("steady", epsilon=2.0), accept=3),
        Request(Guarantee("steady", epsilon=2.0), accept_rate=0.5),
    )
    assert three.prepared(inputs) == half.prepared(inputs)
    apart, _ = Request(Guarantee("steady", epsilon=2.0), accept={"main": 1, "short": 1}).prepared(inputs)
    assert apart == inputs.prepared(accept_rate={"main": 0.25, "short": 0.5})[0]
    frozen, _ = three.prepared(inputs, 0.125)
    assert {case.bar for case in frozen.cases} == {0.125} == {frozen.bar}
    kept, _ = Request(Guarantee("steady", epsilon=2.0), accept={"main": 4, "short": 2}).prepared(
        inputs, {"main": 0.5, "short": 1.0}
    )
    assert {case.track: case.bar for case in kept.cases} == {"main": 0.5, "short": 1.0}


# --- How many papers exactly: what is refused, and the share of the papers that it is.


BAD_QUOTAS: list[tuple[tuple[Any, ...], str]] = [
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


@pytest.mark.parametrize(("given", "told"), BAD_QUOTAS)
def test_what_is_no_number_of_papers_is_refused(given: tuple[Any, ...], told: str) -> None:
    with pytest.raises(InputError, match=told):
        Quota(*given)


def test_numbers_are_about_the_conference_or_about_each_track() -> None:
    whole, apart = Quota(3, 2), Quota({"main": 3, "short": 1}, {"short": 2})
    assert (whole.tracks, whole.groups, whole.of(WHOLE)) == ((), (WHOLE,), (3, 2))
    assert apart.groups == apart.tracks == ("main", "short")
    assert (apart.of("main"), apart.of("short")) == ((3, 0), (1, 2))


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


TRACKS = ["main", "main", "short"]


@pytest.mark.parametrize(
    ("quota", "tracks", "share"),
    [
        (Quota(3, 1), [WHOLE] * 8, 3 / 8),
        (Quota({"main": 1, "short": 3}), ["main"] * 4 + ["short"] * 4, {"main": 0.25, "short": 0.75}),
        # All of a track or none, if another track has something to decide.
        (Quota({"main": 1, "short": 1}), TRACKS, {"main": 0.5, "short": 1.0}),
        (Quota({"main": 1, "short": 0}), TRACKS, {"main": 0.5, "short": 0.0}),
        (Quota({"main": 1, "demo": 0}), ["main", "main"], {"main": 0.5}),
    ],
)
def test_shares_are_of_the_papers_of_the_track(quota: Quota, tracks: list[str], share: object) -> None:
    assert shares(quota, tracks) == share


def test_a_number_that_is_every_paper_leaves_nothing_to_decide() -> None:
    with pytest.raises(InputError, match="`accept` 4 is every paper:"):
        shares(Quota(4), [WHOLE] * 4)
    for accept in ({"main": 2, "short": 1}, {"main": 2, "short": 0}, {"main": 0, "short": 1}):
        with pytest.raises(InputError, match="`accept` is every paper of a track or none, in each track:"):
            shares(Quota(accept), TRACKS)
