"""Settings as text: the guarantee they add up to, grids, numbers of papers, what a folder requests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from blindcal.errors import InputError
from blindcal.planning.guarantee_menu import MENU
from blindcal.policy.guarantee import Guarantee
from blindcal.project.settings import (
    folder_request,
    guarantee_settings,
    number_hint,
    parse_grid,
    parse_guarantee,
    parse_paper_counts,
    read_folder,
    with_settings,
)


def guarantee_text(guarantee: Guarantee) -> str:
    """A guarantee as a chair would type it."""
    name, *limits = guarantee_settings(guarantee).items()
    return " ".join([str(name[1]), *(f"{limit}={value}" for limit, value in limits if value is not None)])


@pytest.mark.parametrize(
    ("text", "guarantee"),
    [
        ("steady", Guarantee("steady", epsilon=3.0)),
        ("steady epsilon=0.5", Guarantee("steady", epsilon=0.5)),
        ("steady epsilon=none", Guarantee("steady", epsilon=None)),
        ("public", Guarantee("public", epsilon=None)),
        ("public epsilon=none", Guarantee("public", epsilon=None)),
        ("none", Guarantee("none", epsilon=None)),
        (" full ", Guarantee("none", epsilon=None)),
        (
            "steady never-against=0.95  multiplier=1.5 posterior-cap=.9",
            Guarantee("steady", 3.0, 1.5, 0.9, 0.95),
        ),
    ],
)
def test_a_text_names_a_guarantee_and_its_limits_in_any_order(text: str, guarantee: Guarantee) -> None:
    assert parse_guarantee(text) == guarantee
    assert parse_guarantee(guarantee_text(guarantee)) == guarantee


@pytest.mark.parametrize(
    "guarantee",
    [
        replace(one, multiplier=multiplier, posterior_cap=cap, never_against=against)
        for one in [*MENU, Guarantee("average", 1e-7), Guarantee("odds", 0.1 + 0.2)]
        for multiplier in (None, 1.25)
        for cap in (None, 0.1)
        for against in (None, 0.95)
    ]
    + [
        Guarantee("crowd", epsilon=2.0),
        Guarantee("crowd", among=7, epsilon=None),
        Guarantee("average", among=12, epsilon=3.0),
        Guarantee("average", epsilon=None, among=2),
    ],
    ids=guarantee_text,
)
def test_a_guarantee_reads_back_from_its_text_and_from_settings(guarantee: Guarantee, tmp_path: Path) -> None:
    assert parse_guarantee(guarantee_text(guarantee)) == guarantee
    text = with_settings(SETTINGS, guarantee_settings(guarantee))
    (tmp_path / "conference.toml").write_text(text)
    assert folder_request(read_folder(tmp_path), yes_leak=True).guarantee == guarantee


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("public epsilon=1", "`epsilon` has no effect with `guarantee` public"),
        ("steady epsilon=0,5", "`epsilon` must be a number or none, found '0,5': give 0.5"),
        ("steady epsilon=None", "`epsilon` must be a number or none, found 'None'"),
        ("steady epsilon=inf", "`epsilon` must be a number or none, found 'inf'"),
        ("steady epsilon=", "`epsilon` must be a number or none, found ''"),
        ("steady epsilon=-1", r"`epsilon` must lie in \[0, 700\], found -1"),
        ("steady multiplier=none", "`multiplier` must be a number, found 'none'"),
        ("odds epsilon=none", "`epsilon` must be a number, found 'none'"),
        ("steady among=10", "`among` goes with the guarantee crowd and average only, found it with steady"),
        ("none among=10", "`among` goes with the guarantee crowd and average only, found it with none"),
        ("crowd among=1", r"`among` must lie in \[2, 1e\+06\], found 1"),
        ("crowd among=2.5", "`among` must be a whole number, found 2.5"),
        ("average added-success=0.1", ".*"),
        ("steady multiplier=2.5", r"`multiplier` must lie in \[1, 2\]"),
        ("steady posterior-cap=1.5", r"`posterior_cap` must lie in \[0, 1\]"),
        ("steady never-against=0.5", "`never_against` must"),
        ("", "'': the guarantee must be one of public, steady, crowd, average, odds, none, full, found ''"),
        ("epsilon=2", "'epsilon=2': the guarantee must be one of"),
        ("steady epsilon=1 epsilon=2", ".*each limit must be there once"),
        (
            "steadily eps=2 epsilon",
            ".*must be one of .*, found 'steadily'; its limits must be among .*never-against=, among=, "
            "found 'eps=2', 'epsilon'",
        ),
    ],
)
def test_a_refused_guarantee_names_its_setting(text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        parse_guarantee(text)


@pytest.mark.parametrize(
    ("text", "grid"),
    [
        (None, None),
        ("1..4", [1, 2, 3, 4]),
        ("-2..1", [-2, -1, 0, 1]),
        (" 0 .. 2 ", [0, 1, 2]),
        ("1, 2.5,-3", [1, 2.5, -3]),
        ("0..1000", list(range(1001))),
    ],
)
def test_a_grid_is_a_range_of_whole_numbers_or_a_list(text: str | None, grid: list[float] | None) -> None:
    assert parse_grid(text) == grid


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1-10", "write 1..10"),
        ("-3--1", "write -3..-1"),
        ("5..5", "from the lowest score up to the highest, found '5..5'"),
        ("5..1", "from the lowest score up to the highest"),
        ("0..1001", "at most 1,001 scores, found 1,002"),
        ("0..999999999999999", "at most 1,001 scores"),
        ("1...3", "must be like 1..10 or 1,3,5, or none, found '1...3'"),
        ("0.5..2", "must be like 1..10 or 1,3,5"),
        ("1", "at least two different scores"),
        ("2,2.0", "at least two different scores"),
        ("1,,3", "must be like 1..10 or 1,3,5"),
        ("", "must be like 1..10 or 1,3,5"),
    ],
)
def test_what_is_no_grid_is_told_how_to_write_one(text: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_grid(text)
    assert str(caught.value).startswith("`grid` must")
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (None, None),
        ("50", 50),
        ("0050", 50),
        ("main=40,short=10", {"main": 40, "short": 10}),
        (" main = 40 , a=b=3", {"main": 40, "a=b": 3}),
    ],
)
def test_papers_are_a_number_or_one_for_each_track(text: str | None, number: object) -> None:
    assert parse_paper_counts("`accept`", text) == number


@pytest.mark.parametrize("text", ["", "x", "-3", "1e3", "3.0", "1_0", "40,10", "٣", "main=", "main=-1", "=3"])
def test_what_is_no_number_of_papers_is_told_how_to_write_one(text: str) -> None:
    with pytest.raises(InputError, match="main=40,short=10"):
        parse_paper_counts("`accept`", text)


def test_a_number_that_was_probably_meant() -> None:
    assert number_hint("0,25") == ": give 0.25"
    assert number_hint("25%") == ": for 25 % give 0.25"


SETTINGS = """\
conference = "icx"
reviews = "in/reviews.csv"
reviewers = "in/reviewers.csv"
pools = "everyone"
grid = "1..5"
better = "low"
scores = "public"
accept-rate = 0.25
guarantee = "average"
epsilon = "none"
key = "../icx.key"
out = "public"
numbered = true
[withdrawn]
"7" = "by its authors"
"""


def test_what_a_folder_requests(tmp_path: Path) -> None:
    (tmp_path / "icx").mkdir()
    (tmp_path / "icx" / "conference.toml").write_text(SETTINGS)
    folder = read_folder(tmp_path / "icx")
    request = folder_request(folder)
    assert request.guarantee == Guarantee("average", epsilon=None)
    assert (request.conference, request.accept_rate, request.better) == ("icx", 0.25, "low")
    assert (request.bar, request.accept, request.wait_list) == (None, None, 0)
    assert folder.grid == [1, 2, 3, 4, 5]
    assert [*folder.withdrawn] == ["7"]
    assert folder.required("reviews") == str(tmp_path / "icx" / "in" / "reviews.csv")
    assert folder.text("pools") == "everyone"
    paths = [str(tmp_path / "icx.key"), str(tmp_path / "icx" / "public")]
    assert [folder.text("key"), folder.text("out"), folder.numbered] == [*paths, True]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("accept-rate = 0.25\n", "", "give one of `accept_rate`"),
        ('out = "public"\n', "", "conference.toml: must set out"),
        ('guarantee = "average"', 'guarantee = "none"', "needs `yes_leak`"),
        ('"1..5"', '"1-5"', "write 1..5"),
    ],
)
def test_what_a_folder_leaves_open_is_refused(tmp_path: Path, old: str, new: str, told: str) -> None:
    (tmp_path / "conference.toml").write_text(SETTINGS.replace(old, new))
    with pytest.raises(InputError, match=told):
        folder_request(read_folder(tmp_path))
