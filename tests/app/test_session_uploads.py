"""Files that come in: plain names alone, whole or not at all, never too large."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from blindcal.app.session import ROLES, Staging, TooLargeError, checked_name, checked_role
from blindcal.errors import InputError

BAD = [
    "",
    ".",
    "..",
    "../key.bin",
    "..\\key.bin",
    "a/b",
    "/etc/passwd",
    ".hidden",
    "a\x00b",
    "a\nb",
    " a",
    "a ",
    "x" * 101,
    "é" * 101,
]


@pytest.mark.parametrize("name", BAD)
def test_a_name_that_is_a_path_or_hidden_is_refused(name: str, tmp_path: Path) -> None:
    for call in (checked_name, lambda name: Staging(tmp_path).open("reviews", name)):
        with pytest.raises(InputError, match=r"^the name of a file must be a plain name of at most 100"):
            call(name)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("name", ["reviews.csv", "2027 (final).xlsx", "Begutachtungen für Ä.csv", "<b>.csv"])
def test_plain_names_pass(name: str) -> None:
    assert checked_name(name) == name


def test_kinds_are_known_ones() -> None:
    assert [checked_role(role) for role in ROLES] == [*ROLES]
    for role in ("", "..", "key", "reviews/.."):
        with pytest.raises(InputError, match="no such kind"):
            checked_role(role)


def test_a_file_takes_the_place_of_another_unless_there_may_be_several(tmp_path: Path) -> None:
    staging = Staging(tmp_path)
    for role, names in (("reviews", ["a.csv", "b.csv"]), ("past", ["2025.csv", "2026.csv"])):
        for name in names:
            with staging.open(role, name) as incoming:
                incoming.write(b"abc", 10)
                incoming.write(name.encode(), 100)
    assert [path.name for path in staging.files("reviews")] == ["b.csv"]
    assert [path.name for path in staging.files("past")] == ["2025.csv", "2026.csv"]
    (only,) = staging.files("reviews")
    assert only.read_bytes() == b"abcb.csv"
    assert only.stat().st_mode & 0o777 == 0o600
    assert only.parent.stat().st_mode & 0o777 == 0o700
    staging.remove("past", "2025.csv")
    staging.remove("past", "never.csv")
    assert [path.name for path in staging.files("past")] == ["2026.csv"]
    staging.clear()
    assert not [path for role in ROLES for path in staging.files(role)]


def fill(staging: Staging, name: str, *parts: Any) -> None:
    with staging.open("reviews", name) as incoming:
        for part in parts:
            incoming.write(part, 10)


def test_what_is_too_large_or_broken_off_leaves_what_was_there(tmp_path: Path) -> None:
    staging = Staging(tmp_path)
    with staging.open("reviews", "a.csv") as incoming:
        incoming.write(b"old", 10)
    with pytest.raises(TooLargeError, match="at most 10 bytes"):
        fill(staging, "b.csv", b"12345678", b"90!")
    with pytest.raises(TypeError):
        fill(staging, "a.csv", b"new", None)
    (only,) = tmp_path.rglob("*.csv")
    assert only.read_bytes() == b"old"
    assert not list(tmp_path.rglob(".*"))


def test_there_are_not_too_many(tmp_path: Path) -> None:
    staging = Staging(tmp_path)
    for number in range(30):
        with staging.open("past", f"{number}.csv") as incoming:
            incoming.write(b"x", 10)
    with pytest.raises(InputError, match="at most 30 files"):
        staging.open("past", "more.csv")
    with staging.open("past", "7.csv") as incoming:
        incoming.write(b"again", 10)


@pytest.mark.parametrize("role", ["past", "reviews"])
def test_two_at_a_time_are_not_mixed(role: str, tmp_path: Path) -> None:
    staging = Staging(tmp_path)
    with staging.open(role, "a.csv") as first, staging.open(role, "b.csv") as second:
        for _ in range(2):
            first.write(b"ada" * 5000, 10**6)
            second.write(b"ben" * 5000, 10**6)
    found = {path.name: path.read_bytes() for path in staging.files(role)}
    whole = {"a.csv": b"ada" * 10000, "b.csv": b"ben" * 10000}
    assert found == (whole if role == "past" else {"a.csv": whole["a.csv"]})
    assert not list(tmp_path.rglob(".*"))
