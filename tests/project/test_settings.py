"""conference.toml: settings as options, files by their place, and every problem at once."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from random import Random

import pytest

from blindcal.errors import InputError
from blindcal.project import read_folder
from blindcal.project.settings import FILE, conference_text
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
    pools = "everyone"
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


def test_a_folder_without_settings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"must be a folder that `blindcal new` made: there is no conference"
    ):
        read_folder(tmp_path)


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
    [("a = 1\nb = high\n", 2), ('a = "1\n', 1), ("a = 1\na = 2\n", 2), ("[withdrawn\n", 1)],
)
def test_what_is_no_toml_is_refused_by_its_line(text: str, row: int, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be TOML: lines like name = value") as caught:
        read_folder(folder(tmp_path / "f", text))
    assert caught.value.problems[0].row == row


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


@pytest.mark.parametrize(
    "text", ["bar = 1" + "0" * 400, "bar = " + "9" * 5000, "bar = inf", "bar = nan", "past = " + "[" * 5000]
)
def test_numbers_and_lists_beyond_reason_are_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_folder(folder(tmp_path / "f", text + "\n"))


def test_notes_must_be_tables(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"column withdrawn: must be a table: a line \[withdrawn\]"):
        read_folder(folder(tmp_path / "f", 'withdrawn = ["17"]\n'))


@pytest.mark.parametrize("word", ["everyone", "Everyone", "EVERYONE"])
def test_everyone_may_be_written_in_capitals(tmp_path: Path, word: str) -> None:
    (tmp_path / FILE).write_text(f'pools = "{word}"\n')
    assert read_folder(tmp_path).settings["pools"] == "everyone"
