"""Files that come in: plain names alone, whole or not at all, never too large; none stays after a kill."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from blindcal.app.session import Session, Staging, TooLargeError, checked_name
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


@pytest.fixture
def staging(tmp_path: Path) -> Staging:
    return Staging(tmp_path / "uploads")


@pytest.mark.parametrize("name", BAD)
def test_a_name_that_is_a_path_or_hidden_is_refused(name: str, staging: Staging, tmp_path: Path) -> None:
    for call in (checked_name, staging.open, staging.remove):
        with pytest.raises(InputError, match=r"^the name of a file must be a plain name of at most 100"):
            call(name)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("name", ["reviews.csv", "2027 (final).xlsx", "Begutachtungen für Ä.csv", "<b>.csv"])
def test_plain_names_pass(name: str) -> None:
    assert checked_name(name) == name


def fill(staging: Staging, name: str, *parts: Any) -> None:
    with staging.open(name) as incoming:
        for part in parts:
            incoming.write(part, 10)


def test_files_are_for_their_owner_alone_and_one_of_the_same_name_is_replaced(staging: Staging) -> None:
    for name in ("b.csv", "a.csv", "b.csv"):
        fill(staging, name, b"abc", name.encode())
    assert [path.name for path in staging.files] == ["a.csv", "b.csv"]
    assert staging.files[1].read_bytes() == b"abcb.csv"
    assert staging.files[1].stat().st_mode & 0o777 == 0o600
    assert staging.directory.stat().st_mode & 0o777 == 0o700
    staging.remove("a.csv")
    staging.remove("never.csv")
    assert [path.name for path in staging.files] == ["b.csv"]
    staging.clear()
    assert not staging.files


def test_what_is_too_large_or_broken_off_leaves_what_was_there(staging: Staging) -> None:
    fill(staging, "a.csv", b"old")
    with pytest.raises(TooLargeError, match="at most 10 bytes"):
        fill(staging, "b.csv", b"12345678", b"90!")
    with pytest.raises(TypeError):
        fill(staging, "a.csv", b"new", None)
    (only,) = staging.files
    assert only.read_bytes() == b"old"
    assert not list(staging.directory.rglob(".*"))


def test_a_file_that_arrives_after_its_conference_was_closed_is_not_the_next_ones(staging: Staging) -> None:
    incoming = staging.open("reviews.csv").__enter__()
    incoming.write(b"who reviewed what", 100)
    staging.clear(arriving=True)
    with pytest.raises(InputError, match="closed before"):
        incoming.__exit__(None, None, None)
    assert [*staging.directory.iterdir()] == []


def test_there_are_not_too_many(staging: Staging) -> None:
    for number in range(30):
        fill(staging, f"{number}.csv", b"x")
    with pytest.raises(InputError, match="at most 30 files"):
        staging.open("more.csv")
    fill(staging, "7.csv", b"again")


def test_two_at_a_time_are_not_mixed(staging: Staging) -> None:
    with staging.open("a.csv") as first, staging.open("b.csv") as second:
        for _ in range(2):
            first.write(b"ada" * 5000, 10**6)
            second.write(b"ben" * 5000, 10**6)
    found = {path.name: path.read_bytes() for path in staging.files}
    assert found == {"a.csv": b"ada" * 10000, "b.csv": b"ben" * 10000}
    assert not list(staging.directory.rglob(".*"))


KILLED = """
import os, signal, sys
from pathlib import Path
from blindcal.app.session import Session
session = Session(Path(sys.argv[1]))
(session.staging.directory / "reviews.csv").write_text("who reviewed what")
print(session.private, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_session_left_is_removed_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True)
    left = Path(ended.stdout.strip())
    assert (left / "uploads" / "reviews.csv").is_file()
    other = tmp_path / "blindcal-app-notes.txt"
    other.write_text("not a session's")
    running = Session(tmp_path)
    assert not left.exists()
    assert other.exists()
    second = Session(tmp_path)
    assert running.private.is_dir(), "a session that runs keeps its files"
    for session in (running, second):
        session.close()
        assert not session.private.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == [other.name]
