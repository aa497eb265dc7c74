"""conference.toml: settings as options, files by their place, and every problem at once."""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blindcal.errors import InputError
from blindcal.planning.guarantee_menu import MENU
from blindcal.policy.guarantee import Guarantee
from blindcal.project.settings import (
    FILE,
    SETTINGS,
    conference_text,
    folder_request,
    grid_text,
    guarantee_settings,
    number_hint,
    parse_grid,
    parse_guarantee,
    parse_paper_counts,
    read_folder,
    toml_value,
    with_settings,
)
from blindcal.reviews import infer_grid
from sizes import count


def folder(path: Path, text: str) -> Path:
    path.mkdir(exist_ok=True)
    (path / FILE).write_text(text, encoding="utf-8")
    return path


def test_settings_stand_as_they_would_be_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = """
    conference = "icx"
    reviews = "inputs/reviews.csv"
    pools = "Everyone"
    past = ["inputs/past/a.csv", "/data/b.csv"]
    key = "../icx.key"
    grid = [1, 3, 5.5]
    accept-rate = 0.25
    epsilon = "none"
    multiplier = 1
    numbered = true
    past-better = ["2021=low"]
    [withdrawn]
    "17" = "by its authors"
    [overridden]
    "p 3" = "accept: why: so"
    4 = "reject"
    """
    found = read_folder(folder(Path("icx"), text))
    assert found.settings == {
        "conference": "icx",
        "reviews": "icx/inputs/reviews.csv",
        "pools": "everyone",
        "past": ("icx/inputs/past/a.csv", "/data/b.csv"),
        "past-better": ("2021=low",),
        "grid": "1,3,5.5",
        "accept-rate": "0.25",
        "epsilon": "none",
        "multiplier": "1",
        "key": "icx.key",
        "numbered": True,
    }
    assert found.withdrawn == {"17": "by its authors"}
    assert {paper: text.split(":")[0] for paper, text in found.overridden.items()} == {
        "p 3": "accept",
        "4": "reject",
    }


def test_a_file_of_pools_is_found_in_the_folder_and_a_linked_folder_has_its_own_neighbors(
    tmp_path: Path,
) -> None:
    there = folder(tmp_path / "there", 'pools = "pools.csv"\nkey = "../x.key"\n')
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "link").symlink_to(there)
    assert read_folder(there).settings["pools"] == str(tmp_path / "there" / "pools.csv")
    assert read_folder(tmp_path / "else" / "link").settings["key"] == str(tmp_path / "x.key")


def test_every_problem_is_listed_at_once(tmp_path: Path) -> None:
    text = """
    accept_rate = 0.25
    accept-rate = "0.25"
    bar = true
    epsilon = "much"
    grid = []
    better = 3
    past = "2025.csv"
    numbered = "yes"
    nonsense = 1
    [withdrawn]
    " 17" = "why"
    18 = ""
    [overridden]
    23 = "maybe: why"
    24 = "accept:"
    """
    with pytest.raises(InputError) as caught:
        read_folder(folder(tmp_path / "f", text))
    found = [(problem.column, problem.rule) for problem in caught.value.problems]
    assert found == [
        ("accept_rate", "must be a setting that is known: is it accept-rate?"),
        ("accept-rate", "must be a number, like 0.25"),
        ("bar", "must be a number, like 0.25"),
        ("epsilon", 'must be a number, or "none"'),
        ("grid", 'must be text in quotes, like "1..10" or "none", or a list of numbers, like [1, 3, 5]'),
        ("better", 'must be text in quotes, like "high"'),
        ("past", 'must be a list of file names, like ["inputs/past/2025.csv"]'),
        ("numbered", "must be true or false"),
        ("nonsense", "must be a setting that is known"),
        ("withdrawn, entry 1", "its paper must not start or end with a space"),
        ("withdrawn, entry 2", "must be a reason in quotes"),
        ("overridden, entry 1", 'must be "accept: why" or "reject: why"'),
        ("overridden, entry 2", 'must be "accept: why" or "reject: why"'),
    ]


@pytest.mark.parametrize(
    ("text", "row"),
    [
        *(("a = 1\nb = high\n", 2), ('a = "1\n', 1), ("a = 1\na = 2\n", 2), ("[withdrawn\n", 1)),
        # Numbers and lists beyond reason.
        *(("bar = " + "9" * 5000, None), ("past = " + "[" * 5000, None)),
    ],
)
def test_what_is_no_toml_is_refused_by_its_line(text: str, row: int | None, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be TOML: lines like name = value") as caught:
        read_folder(folder(tmp_path / "f", text))
    assert caught.value.problems[0].row == row


@pytest.mark.parametrize(
    ("text", "told"),
    [
        *((f"bar = {number}", "must be a number, like") for number in ("1" + "0" * 400, "inf", "nan")),
        ('withdrawn = ["17"]\n', r"column withdrawn: must be a table: a line \[withdrawn\]"),
        (None, r"must be a folder that `blindcal new` made: there is no conference"),
    ],
)
def test_what_is_no_file_of_settings_is_refused(text: str | None, told: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=told):
        read_folder(tmp_path if text is None else folder(tmp_path, text))


def test_any_change_of_bytes_is_read_or_refused(tmp_path: Path) -> None:
    """Never another error: the file is edited by hand."""
    base = {"conference": "icx", "key": "../icx.key", "out": "public", "grid": "1..5", "past": ["a.csv"]}
    text = re.sub(r'^# ((?:[a-z-]+|"[0-9]+") = )', r"\1", conference_text(base), flags=re.M).encode()
    good = re.sub(rb"^#.*\n", b"", text, flags=re.M)
    path, rng, read = folder(tmp_path / "f", "") / FILE, Random(3), 0
    for _ in range(count(300, 20_000)):
        changed = bytearray(good)
        for _ in range(rng.randint(1, 3)):
            place = rng.randrange(len(changed))
            changed[place : place + rng.randint(0, 2)] = rng.choice(
                [b"", b'"', b"[", b"=", b"\xff", b"9", b"\n"]
            )
        path.write_bytes(bytes(changed))
        with contextlib.suppress(InputError):
            read_folder(tmp_path / "f")
            read += 1
    assert read, "some changes are harmless"


# --- Settings as text: the guarantee they add up to, grids, numbers of papers, what a folder requests.


LEVELS: list[tuple[list[float], str]] = [
    ([1, 2, 5, 2], "1..5"),
    ([-3, 3, 0], "-3..3"),
    ([1] * 100 + [3] * 100 + [10] * 100, "1,3,10"),
    ([0.5, 1] * 3, "0.5,1"),
    ([0.5, 1], "none"),
    ([3, 3], "none"),
    ([0, 100], "none"),
]


@pytest.mark.parametrize(("score", "expected"), LEVELS)
def test_the_grid_is_written_as_it_is_recognized(score: list[float], expected: str) -> None:
    levels = infer_grid(np.array(score, dtype=float))
    assert grid_text(levels) == expected
    assert parse_grid(expected) == ([] if levels is None else levels.tolist())


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
    text = with_settings(REQUESTED, guarantee_settings(guarantee))
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


def parse_papers(text: str | None) -> object:
    return parse_paper_counts("`accept`", text)


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_grid, None, None),
        (parse_grid, "1..4", [1, 2, 3, 4]),
        (parse_grid, "-2..1", [-2, -1, 0, 1]),
        (parse_grid, " 0 .. 2 ", [0, 1, 2]),
        (parse_grid, "1, 2.5,-3", [1, 2.5, -3]),
        (parse_grid, "0..1000", list(range(1001))),
        (parse_papers, None, None),
        (parse_papers, "50", 50),
        (parse_papers, "0050", 50),
        (parse_papers, "main=40,short=10", {"main": 40, "short": 10}),
        (parse_papers, " main = 40 , a=b=3", {"main": 40, "a=b": 3}),
    ],
)
def test_a_grid_is_a_range_or_a_list_and_papers_are_a_number_or_one_for_each_track(
    parse: Callable[[str | None], object], text: str | None, value: object
) -> None:
    assert parse(text) == value


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


@pytest.mark.parametrize("text", ["", "x", "-3", "1e3", "3.0", "1_0", "40,10", "٣", "main=", "main=-1", "=3"])
def test_what_is_no_number_of_papers_is_told_how_to_write_one(text: str) -> None:
    with pytest.raises(InputError, match="main=40,short=10"):
        parse_papers(text)


@pytest.mark.parametrize(
    ("text", "percent", "said"),
    [
        ("0,25", False, ": give 0.25"),
        ("-1,5", False, ": give -1.5"),
        ("0,125", False, ": give 0.125"),
        ("1,000", True, ""),
        ("12,345", False, ""),
        ("7.5%", False, ": for 7.5 % give 0.075"),
        ("33 %", False, ": for 33 % give 0.33"),
        ("100", True, ": for 100 % give 1"),
        ("25", False, ""),
        ("0.5", True, ""),
        ("1%", True, ""),
        ("101", True, ""),
        ("-5", True, ""),
    ],
)
def test_what_was_probably_meant(text: str, percent: bool, said: str) -> None:
    """A comma before three digits may be one of thousands, and 1 is a share already: nothing is guessed."""
    assert number_hint(text, percent=percent) == said


REQUESTED = """\
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
    (tmp_path / "icx" / "conference.toml").write_text(REQUESTED)
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
        ("accept-rate", "people = 2.5\naccept-rate", "`people` must be a whole number of at least 1"),
        ('out = "public"\n', "", "conference.toml: must set out"),
        ('guarantee = "average"', 'guarantee = "none"', "needs `yes_leak`"),
        ('"1..5"', '"1-5"', "write 1..5"),
    ],
)
def test_what_a_folder_leaves_open_is_refused(tmp_path: Path, old: str, new: str, told: str) -> None:
    (tmp_path / "conference.toml").write_text(REQUESTED.replace(old, new))
    with pytest.raises(InputError, match=told):
        folder_request(read_folder(tmp_path))


# --- A new conference.toml: what is set reads back, every line is explained, examples can be used.


BASE = {"conference": "icx", "key": "../icx.key", "out": "public"}


def test_what_is_set_reads_back() -> None:
    settings = {
        **BASE,
        "reviews": "inputs/reviews.csv",
        "past": ["a.csv", "b c.csv"],
        "accept-rate": 0.25,
        "epsilon": 2.0,
        "numbered": True,
        "grid": "1..5",
    }
    expected = {**settings, "epsilon": 2, "withdrawn": {}, "overridden": {}}
    assert tomllib.loads(conference_text(settings)) == expected


@given(st.text(max_size=20).filter(lambda text: not re.search("[\ud800-\udfff]", text)))
def test_any_text_reads_back(text: str) -> None:
    assert tomllib.loads(f"a = {toml_value(text)}") == {"a": text}


def test_every_setting_is_there_with_its_meaning_and_no_other() -> None:
    lines = conference_text(BASE).split("\n")
    for place, line in enumerate(lines):
        match = re.fullmatch(r"(?:# )?([a-z-]+) = .*", line)
        if match and match[1] in SETTINGS:
            assert lines[place - 1].startswith("# "), "a comment stands above"
            assert not lines[place - 1].startswith("# ----")
    assert max(map(len, lines)) <= 100


def test_the_file_says_who_may_hold_the_key_how_long_and_how_to_delete_it() -> None:
    text = " ".join(line.lstrip("# ") for line in conference_text(BASE).split("\n"))
    for words in (
        "WHO HOLDS THE KEY",
        "HOW LONG",
        "then delete both",
        "../icx.key",
        "public/ is made to be sent on",
    ):
        assert words in text


def test_examples_can_be_used_as_they_are(tmp_path: Path) -> None:
    """Whoever removes the # has a file that is read: every example is of the kind that its setting takes."""
    text = re.sub(r'^# ((?:[a-z-]+|"[0-9]+") = )', r"\1", conference_text(BASE), flags=re.M)
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    found = read_folder(tmp_path)
    assert found.settings.keys() == SETTINGS.keys()
    assert found.withdrawn.keys() == {"17"}
    assert found.overridden["23"].startswith("accept:")


def test_lines_are_set_anew_and_everything_else_stays() -> None:
    before = conference_text({"conference": "icx", "key": "../icx.key", "out": "public", "epsilon": 2.0})
    after = with_settings(before, {"guarantee": "public", "epsilon": None, "accept-rate": 0.3})
    changed = {*after.split("\n")} - {*before.split("\n")}
    assert changed == {'guarantee = "public"', "# epsilon = 2", "accept-rate = 0.3"}
    assert len(after.split("\n")) == len(before.split("\n"))
    again = with_settings(after, {"guarantee": "steady", "epsilon": 2.0, "accept-rate": None})
    found = tomllib.loads(again)
    assert (found["guarantee"], found["epsilon"]) == ("steady", 2)
    assert "accept-rate" not in found
    # A line that is missing comes before the tables.
    text = with_settings('better = "high"\n[withdrawn]\n"7" = "bar = 3"\n', {"bar": 0.5})
    assert tomllib.loads(text) == {"better": "high", "bar": 0.5, "withdrawn": {"7": "bar = 3"}}


def test_a_setting_on_several_lines_is_replaced_as_a_whole() -> None:
    listed, grid = 'past = [\n  "a.csv",  # the oldest ]\n  "b.csv",\n]', '  "grid" = """\n1..3"""'
    text = "\n".join([listed, grid, 'better = "low"', "[withdrawn]", ""])
    wanted = {"past": ["c.csv"], "grid": None, "better": "high"}
    after = with_settings(text, wanted)
    assert after == 'past = ["c.csv"]\n#   "grid" = """\n# 1..3"""\nbetter = "high"\n[withdrawn]\n'
    assert tomllib.loads(after) == {"past": ["c.csv"], "better": "high", "withdrawn": {}}
    windows = with_settings(text.replace("\n", "\r\n"), {"past": ["c.csv"], "better": "high"})
    assert tomllib.loads(windows) == {"past": ["c.csv"], "grid": "1..3", "better": "high", "withdrawn": {}}
