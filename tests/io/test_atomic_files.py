"""The atomic writer, locks, folders and digests."""

from __future__ import annotations

import json
import math
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blindcal.errors import InputError, Problem, RefusedError
from blindcal.io import atomic_files as files
from blindcal.io.atomic_files import (
    canonical_json,
    check_parent_folder,
    check_targets,
    digest,
    is_release_folder,
    lock,
    make_folder,
    read_bytes,
    read_json,
    read_range,
    refuse_existing,
    refuse_published,
    remove_stale_files,
    staged_folder,
    to_jsonable,
    write_bytes,
    write_json,
    write_table,
)
from sizes import count
from stress import stress


def test_files_that_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name, rule in {
        "pipe": "regular file",
        "": "regular file",
        "link": "there is no such file",
        "x\0y": "can be read",
    }.items():
        with pytest.raises(InputError, match=rule):
            read_bytes(f"{tmp_path}/{name}")
    (tmp_path / "large").write_bytes(b"x" * 11)
    with pytest.raises(InputError, match="at most 10 bytes"):
        read_bytes(tmp_path / "large", limit=10)
    assert read_bytes(tmp_path / "large", limit=11) == b"x" * 11


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ('{"a": 1, "a": 2}', "repeat a key"),
        ('{"a": NaN}', "finite numbers only, not NaN"),
        ("[-Infinity]", "finite numbers only"),
        ("[1e999]", "below 1e308"),
        ('{"a": }', "must be JSON, found Expecting value at byte 6"),
        ('["\u00e9", x]', "at byte 7"),
        ("[" * 100_000, "limits of depth"),
        ("1" * 10_000, "below 1e308"),
        ("[-1" + "0" * 308 + "9]", "below 1e308"),
        ("", "must be JSON"),
        ("[1] 2", "must be JSON"),
    ],
)
def test_bad_json_is_refused(text: str, rule: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=rule):
        read_json(tmp_path / "x.json")


@given(st.binary(max_size=40) | st.text('{}[]":,0e-.nultrefa\\ \n', max_size=25).map(str.encode))
def test_any_bytes_are_json_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("j") / "x.json"
    path.write_bytes(data)
    try:
        value = read_json(path)
    except InputError:
        return
    assert value == json.loads(data.decode("utf-8-sig"))


@pytest.fixture(params=["nameless", "named"])
def writer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to write: with nameless temporary files, and where the system has none."""
    if request.param == "named":
        monkeypatch.setattr(files, "_open_nameless", lambda folder, mode: None)
    return str(request.param)


@pytest.mark.usefixtures("writer")
def test_nothing_is_overwritten_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    write_bytes(path, b"old")
    with pytest.raises(RefusedError, match="never overwritten"):
        write_bytes(path, b"new")
    assert path.read_bytes() == b"old"
    write_bytes(path, b"new", replace=True)
    assert path.read_bytes() == b"new"
    (tmp_path / "dangling").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RefusedError):
        write_bytes(tmp_path / "dangling", b"x")
    assert sorted(os.listdir(tmp_path)) == ["dangling", "out.csv"]


@pytest.mark.usefixtures("writer")
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_confidential_files_are_for_their_owner(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        write_bytes(tmp_path / "sealed", b"x", confidential=True)
        write_table(tmp_path / "public.csv", {"a": [1]})
        write_json(tmp_path / "sealed.json", {"a": 1}, confidential=True)
    finally:
        os.umask(before)
    modes = {name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in os.listdir(tmp_path)}
    assert modes == {"sealed": 0o600, "public.csv": 0o666 & ~umask, "sealed.json": 0o600}


@pytest.mark.usefixtures("writer")
@pytest.mark.parametrize("call", ["fsync", "link", "replace"])
def test_a_failing_disk_leaves_the_old_file_and_no_temporary(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out"
    if call == "replace":
        write_bytes(path, b"old")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, full)
    with pytest.raises(OSError, match="No space"):
        write_bytes(path, b"new", replace=call == "replace")
    assert [p.read_bytes() for p in tmp_path.iterdir()] == [b"old"] * (call == "replace")


@pytest.mark.parametrize("replace", [0, 1])
@pytest.mark.parametrize("named", [0, 1])
def test_writers_killed_while_they_write_leave_the_old_file(replace: int, named: int, tmp_path: Path) -> None:
    """The system kills them at one byte after another; what is left under a temporary name can be cleared."""
    kills = count(40, 300)
    seen = stress("kill_within_the_write", tmp_path, kills=kills, replace=replace, named=named)
    assert seen == {"torn": 0, "temporaries": kills * named, "temporaries_after_clearing": 0}


@pytest.mark.parametrize("replace", [0, 1])
@pytest.mark.parametrize("named", [0, 1])
def test_a_kill_before_or_after_any_system_call_is_harmless(replace: int, named: int, tmp_path: Path) -> None:
    seen = stress("kill_at_every_call", tmp_path, replace=replace, named=named)
    assert seen["torn"] == 0
    assert seen["calls"] >= 10
    assert seen["temporaries_after_the_next_write"] == 0
    assert min(seen["old"], seen["new"]) > 0
    if not named and not replace:
        assert seen["temporaries"] == 0


@pytest.mark.parametrize("named", [0, 1])
def test_twenty_concurrent_writers_have_one_winner(named: int, tmp_path: Path) -> None:
    seen = stress("race", tmp_path, writers=20, rounds=count(5, 100), named=named)
    assert seen == {"winners_not_one": 0, "content_not_the_winners": 0, "left_over": 0, "failures": 0}


@pytest.mark.parametrize("named", [0, 1])
def test_twenty_concurrent_replacements_leave_one_whole_file(named: int, tmp_path: Path) -> None:
    seen = stress("replace_race", tmp_path, writers=20, rounds=count(5, 100), named=named)
    assert seen == {"torn": 0, "left_over": 0, "failures": 0}


def test_a_lock_has_one_holder_and_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "ledger"
    with lock(target):
        with pytest.raises(RefusedError, match="another run is working on"), lock(target):
            pass
        with lock(tmp_path / "other"):
            pass
    with lock(target):
        pass
    assert os.listdir(tmp_path) == []


def test_locks_exclude_and_are_freed_by_a_kill(tmp_path: Path) -> None:
    seen = stress("lock_race", tmp_path, writers=20, rounds=count(8, 200))
    assert seen["two_holders"] == 0
    assert seen["held_after_a_kill"] == 0
    assert seen["held"] > 0


def test_only_temporaries_that_nobody_holds_are_cleared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = tmp_path / ".out.csv.0123456789abcdef.blindcal-new"
    others = [".out.csv.blindcal-new", ".out.csv.0123456789ABCDEF.blindcal-new", "out.csv", ".x.lock"]
    for name in (stale.name, *others):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / ".linked.0123456789abcdef.blindcal-new").symlink_to("out.csv")
    (tmp_path / ".folder.0123456789abcdef.blindcal-new").mkdir()
    monkeypatch.setattr(files, "_open_nameless", lambda folder, mode: None)
    held = tmp_path / ".held.0123456789abcdef.blindcal-new"
    descriptor, _ = files._open_temporary(held, 0o600)
    remove_stale_files(tmp_path)
    kept = {*others, *(f".{name}.0123456789abcdef.blindcal-new" for name in ("linked", "held"))}
    assert set(os.listdir(tmp_path)) == kept
    os.close(descriptor)
    remove_stale_files(tmp_path)
    assert not held.exists()
    remove_stale_files(tmp_path / "nowhere")
    remove_stale_files(tmp_path / "out.csv")


def test_parts_of_files(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"0123456789")
    assert [read_range(tmp_path / "x", *at) for at in ((0, 3), (8, 3), (20, 3))] == [b"012", b"89", b""]
    with pytest.raises(InputError, match="regular file"):
        read_range(tmp_path, 0, 1)


def test_a_folder_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    for name in ("open", "new"):
        make_folder(tmp_path / name)
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o700
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to("nowhere")
    for name in ("file", "dangling"):
        with pytest.raises(InputError, match=f"{name} must be a folder"):
            make_folder(tmp_path / name)


def test_a_system_without_file_locks_can_import_and_read_but_not_write(tmp_path: Path) -> None:
    program = """
import os, sys
sys.modules["fcntl"] = None
for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOFOLLOW", "O_TMPFILE"):
    delattr(os, name)
import blindcal as bc
from blindcal.io.atomic_files import read_bytes, write_bytes
assert read_bytes(sys.argv[1]) == b"x"
try:
    write_bytes(sys.argv[1] + "2", b"y")
except bc.InputError as error:
    print(error)
"""
    (tmp_path / "x").write_bytes(b"x")
    command = [sys.executable, "-c", program, str(tmp_path / "x")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Linux and macOS have and this system lacks" in done.stdout, done.stderr
    assert os.listdir(tmp_path) == ["x"]


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@given(PLAIN)
def test_canonical_content_is_json_of_equal_value(value: object) -> None:
    text = canonical_json(value).decode().replace("-inf", "-Infinity").replace("inf", "Infinity")
    if "inf" not in repr(value):
        assert json.loads(text) == value


@given(PLAIN, PLAIN)
def test_canonical_content_differs_where_values_differ(one: object, other: object) -> None:
    def typed(value: object) -> object:
        """`True` and `1` are equal in Python and not here."""
        if isinstance(value, dict):
            return ("dict", sorted((key, repr(typed(item))) for key, item in value.items()))
        if isinstance(value, list):
            return [typed(item) for item in value]
        if isinstance(value, float) and value.is_integer():
            return ("number", int(value))
        if isinstance(value, bool) or not isinstance(value, int | float):
            return (type(value).__name__, value)
        return ("number", value)

    assert (canonical_json(one) == canonical_json(other)) == (repr(typed(one)) == repr(typed(other)))


def test_canonical_content_by_value() -> None:
    assert (
        canonical_json({"b": 1, "a": np.float64(0.5)})
        == canonical_json({"a": 0.5, "b": 1.0})
        == b'{"a":0.5,"b":1}'
    )
    assert canonical_json(np.array([[1.0, -0.0]])) == canonical_json([[1, 0]]) == b"[[1,0]]"
    assert canonical_json(2**53 + 1) != canonical_json(float(2**53))
    assert canonical_json("inf") != canonical_json(math.inf)
    assert digest([1]) == "080a9ed428559ef602668b4c00f114f1a11c3f6b02a435f0bdc154578e4d7f22"
    for bad in (math.nan, {1: 2}, object(), "\ud800", b"x", {"a": {1}}):
        with pytest.raises(InputError):
            canonical_json(bad)


def test_json_of_results(tmp_path: Path) -> None:
    value = {
        "b": np.array([1.5, np.inf]),
        "a": Problem("f", 1, None, "r"),
        "p": Path("x"),
        "s": {"b", "a"},
        "n": math.nan,
    }
    write_json(tmp_path / "x.json", value)
    assert read_json(tmp_path / "x.json") == {
        "a": {"file": "f", "row": 1, "column": None, "rule": "r", "found": None},
        "b": [1.5, "inf"],
        "n": None,
        "p": "x",
        "s": ["a", "b"],
    }
    with pytest.raises(InputError, match="half a surrogate pair"):
        write_json(tmp_path / "y.json", "\udc80")
    with pytest.raises(InputError, match="cannot be written as JSON: object"):
        to_jsonable(object())


# --- New folders: whole or not at all, never over another, and only for their owner.


def test_a_folder_has_its_name_when_it_is_filled_and_is_stale_never(tmp_path: Path) -> None:
    with staged_folder(tmp_path / "icx") as filled:
        (filled / "a").write_text("1")
        remove_stale_files(tmp_path)
        assert not (tmp_path / "icx").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["icx"]
    assert (tmp_path / "icx" / "a").read_text() == "1"
    assert stat.S_IMODE((tmp_path / "icx").stat().st_mode) == 0o700


@pytest.mark.parametrize("error", [InputError("no"), KeyboardInterrupt()])
def test_a_folder_that_cannot_be_filled_leaves_nothing(error: BaseException, tmp_path: Path) -> None:
    def fill() -> None:
        with staged_folder(tmp_path / "icx") as filled:
            (filled / "a").write_text("1")
            raise error

    with pytest.raises(type(error)):
        fill()
    assert not list(tmp_path.iterdir())


def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path: Path) -> None:
    stale, other = tmp_path / f".icx.{'0' * 16}.blindcal-new", tmp_path / f".icx2.{'0' * 16}.blindcal-new"
    for path in (stale, other):
        path.mkdir()
        (path / "a").write_text("secret")
    with staged_folder(tmp_path / "icx"):
        pass
    assert not stale.exists()
    assert other.exists()


def test_bad_names_are_refused(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for name, error, message in (
        ("there", RefusedError, "exists already and is never overwritten"),
        ("no/where", InputError, "must be a folder that exists"),
        ("..", InputError, "must be the name of a new folder"),
        ("ic\x1bx", InputError, r"'ic\\x1bx' must be a name without control"),
        ("icx\ngrid = 1", InputError, r"'icx\\ngrid = 1' must be a name without control"),
    ):
        with pytest.raises(error, match=message), staged_folder(tmp_path / name):
            pass


def test_a_name_taken_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    def fill() -> None:
        with staged_folder(tmp_path / "icx"):
            (tmp_path / "icx").mkdir()

    with pytest.raises(RefusedError):
        fill()
    assert [path.name for path in tmp_path.iterdir()] == ["icx"]


# --- Folders that are meant to be shared, and that nothing confidential is written there.


def publish(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("decisions.csv", "certificate.json"):
        (folder / name).write_text("")
    return folder


@pytest.mark.parametrize(
    "place", ["icx/public", "icx/public/release-1", "icx/public/notes", "icx/public/release-1/a/b", "link"]
)
def test_nothing_confidential_is_written_where_a_release_is(place: str, tmp_path: Path) -> None:
    publish(tmp_path / "icx" / "public" / "release-1")
    (tmp_path / "link").symlink_to(tmp_path / "icx" / "public")
    folder = tmp_path / place
    folder.mkdir(parents=True, exist_ok=True)
    before = sorted(tmp_path.rglob("*"))
    path = folder / "secret"
    for write in (
        lambda: write_bytes(path, b"x", confidential=True),
        lambda: write_json(path, {}, confidential=True, replace=True),
        lambda: write_table(path, {"paper": ["1"]}, confidential=True),
        lambda: refuse_published(path),
    ):
        with pytest.raises(InputError, match=r"meant to be shared: give a place outside$"):
            write()
    assert sorted(tmp_path.rglob("*")) == before
    write_bytes(folder / "report.html", b"for everyone")


def test_a_folder_to_work_in_may_have_releases_in_it(tmp_path: Path) -> None:
    for name in ("out", "release-1", "icx/public/release-1"):
        publish(tmp_path / name)
    for name in ("key.bin.sealed", "icx/inputs"):
        (tmp_path / name).mkdir()
    for name in ("key.bin", "key.bin.sealed/000001", "icx/conference.toml", "icx/inputs/reviews.csv"):
        write_bytes(tmp_path / name, b"x", confidential=True)
    assert not is_release_folder(tmp_path)


def test_numbered_releases_may_be_in_a_folder_of_any_name(tmp_path: Path) -> None:
    out = tmp_path / "to send"
    publish(out / "release-2")
    assert is_release_folder(out)
    (out / "release-2" / "decisions.csv").unlink()
    assert is_release_folder(out), "confidential advice has no table"
    publish(out / "release-3")
    for number in (2, 3):
        (out / f"release-{number}" / "certificate.json").unlink()
    assert not is_release_folder(out), "half a release is none: the certificate is written last"
    assert not is_release_folder(tmp_path / "nowhere")


# --- Files to be written are looked at before the work: empty names, taken ones, missing folders, twins.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("there").mkdir()
    Path("link").symlink_to("there")
    Path("taken.csv").write_text("mine")
    return tmp_path


def test_files_that_can_all_be_written_are_taken_and_nothing_is_left(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    check_targets("a.csv", None, Path("there/a.csv"), folder / "there" / "b.csv")
    check_targets()
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("one", "other"),
    [("a", "a"), ("a", "./a"), ("a", "there/../a"), ("there/a", "link/a"), ("link/a", "there/a")],
)
def test_one_file_by_two_names_is_refused(one: str, other: str, folder: Path) -> None:
    for path in (other, folder / other):
        with pytest.raises(InputError, match=r"must not be written twice: give each file a name of its own$"):
            check_targets(one, "b", path)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("path", "kind", "message"),
    [
        ("", InputError, "a path must not be empty"),
        ("nowhere/a.csv", InputError, "nowhere must be a folder that exists"),
        ("taken.csv/a.csv", InputError, "taken.csv must be a folder that exists"),
        ("taken.csv", RefusedError, "taken.csv exists already and is never overwritten"),
        ("there", RefusedError, "there exists already and is never overwritten"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_wherever_it_stands(
    path: str, kind: type[Exception], message: str
) -> None:
    for wanted in ((path,), ("a.csv", path), (path, None, "a.csv")):
        with pytest.raises(kind, match=f"^{message}$"):
            check_targets(*wanted)
    with pytest.raises(kind, match=f"^{message}$"):
        write_bytes(path, b"")


@pytest.mark.usefixtures("folder")
def test_a_folder_that_cannot_be_written_into_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(name: Path, mode: int) -> None:
        raise PermissionError(13, os.strerror(13))

    # Permissions do not bind an administrator, who may run the tests.
    monkeypatch.setattr(files, "_open_temporary", denied)
    with pytest.raises(InputError, match="there must be a folder that can be written: Permission denied"):
        check_parent_folder("there/a.csv")


def test_an_empty_path_is_no_folder(folder: Path) -> None:
    before = folder.stat().st_mode
    with pytest.raises(InputError, match="a path must not be empty"):
        make_folder("")
    assert folder.stat().st_mode == before


@pytest.mark.parametrize("name", [".html", ".CSV", ".json"])
def test_an_ending_alone_is_no_name_of_a_file(name: str, tmp_path: Path) -> None:
    """Most often a variable of a shell was not set: such a file would be hidden, too."""
    with pytest.raises(InputError, match=f"must have a name before {re.escape(name)}"):
        refuse_existing(tmp_path / name)
    refuse_existing(tmp_path / f"icx{name}")
    refuse_existing(tmp_path / ".profile")
