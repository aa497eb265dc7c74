"""Everything that touches a disk: bounded reading, atomic writing, locks, and digests of content.

A file is written under a temporary name and gets its own once all its bytes are on the disk, so a killed run
leaves the old file or the new one. Nothing a user has is overwritten. Nothing confidential is written into a
folder that holds a release, since that folder is meant to be shared. Where results will go is checked before
the work that makes them (`check_targets`).
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import secrets
import shutil
import stat
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from functools import lru_cache
from json.encoder import encode_basestring
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blindcal.errors import InputError, Problem, RefusedError
from blindcal.io.cells import Column, number_text
from blindcal.io.tables import (
    MAX_BYTES,
    StrPath,
    Table,
    decode_utf8,
    encode_utf8,
    format_table,
    input_error,
    parse_table,
    table_from_frame,
)

DECISIONS, ADVICE, CERTIFICATE = "decisions.csv", "advice.csv", "certificate.json"
# A release has one of the tables, or none if it is advice and scores are confidential.
RELEASE_NAME = re.compile(r"release-([1-9][0-9]{0,5})")

RELEASES_FOLDER = "public"
"""How a conference's folder calls the one for its releases."""
_MAX_DIGITS = 308  # a whole number of this many digits or more can be beyond a float
_TEMPORARY = ".blindcal-new"

# Not every system has them all. Without O_NONBLOCK the opening of a named pipe would wait for a writer.
_READ_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
_LOCK_FLAGS = os.O_CREAT | os.O_RDWR | getattr(os, "O_CLOEXEC", 0)


def read_bytes(path: StrPath, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file."""
    data, rule = read_range(path, 0, limit + 1), f"must have at most {limit:,} bytes"
    if len(data) > limit:
        raise input_error([Problem(os.fspath(path), None, None, rule, "more")])
    return data


def read_range(path: StrPath, start: int, size: int) -> bytes:
    """At most `size` bytes of a regular file from `start` on; fewer where it ends."""
    name = os.fspath(path)
    try:
        descriptor = os.open(path, _READ_FLAGS)
    except FileNotFoundError:
        raise input_error([Problem(name, None, None, "there is no such file")]) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a file name"
        raise input_error([Problem(name, None, None, "must be a file that can be read", reason)]) from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise input_error([Problem(name, None, None, "must be a regular file")])
        with open(descriptor, "rb", closefd=False) as file:
            file.seek(start)
            return file.read(size)
    finally:
        os.close(descriptor)


def read_table(
    source: StrPath | Any, columns: Sequence[Column], *, extra: bool = False, name: str = "table"
) -> Table:
    """The named columns of a comma-separated file (see `parse_table`) or data frame (`table_from_frame`).

    `name`: what messages call a data frame; a file is called by its path.
    """
    if is_path(source):
        return parse_table(read_bytes(source), os.fspath(source), columns, extra=extra)
    return table_from_frame(source, columns, name, extra=extra)


def is_path(source: object) -> bool:
    """Whether a source is a file, not a data frame."""
    return isinstance(source, str | os.PathLike)


def source_name(source: object, argument: str) -> str:
    """What messages call a source: a file by its path, a data frame by the argument that it was."""
    return str(source) if is_path(source) else f"`{argument}`"


def read_json(path: StrPath, latest: int | None = None) -> object:
    """What a JSON file holds; one of a later format than the `latest` is refused."""
    name = os.fspath(path)
    content = parse_json(decode_utf8(read_bytes(path), name), name)
    if latest is not None and (rule := later_format(content, latest)):
        raise input_error([Problem(name, None, "format", rule)])
    return content


def later_format(content: object, latest: int) -> str:
    """The rule that a file breaks whose format is later than the `latest`; empty if it breaks none.

    >>> later_format({"format": 2}, latest=1)
    'must be at most 1, found 2: use the version of blindcal that wrote it, or a later one'
    """
    match content:
        case {"format": int(number)} if number > latest:
            advice = "use the version of blindcal that wrote it, or a later one"
            return f"must be at most {latest}, found {number}: {advice}"
    return ""


def parse_json(text: str, name: str) -> object:
    """What the JSON text of the file `name` holds (see `read_json`)."""
    try:
        return json.loads(
            text,
            object_pairs_hook=_object_of_pairs,
            parse_constant=_refuse_constant,
            parse_float=_json_float,
            parse_int=_json_int,
        )
    except json.JSONDecodeError as error:
        offset = len(text[: error.pos].encode())
        found = f"{error.msg} at byte {offset}"
        raise input_error([Problem(name, error.lineno, f"{error.colno}", "must be JSON", found)]) from None
    except (ValueError, RecursionError) as error:
        known = isinstance(error, InputError)
        rule = str(error) if known else "must be JSON within the limits of depth and size"
        raise input_error([Problem(name, None, None, rule)]) from None


def _object_of_pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise InputError("must not repeat a key within one object")
    return dict(pairs)


def _refuse_constant(word: str) -> float:
    raise InputError(f"must hold finite numbers only, not {word}")


def _json_float(text: str) -> float:
    if math.isinf(value := float(text)):
        raise InputError("must hold numbers below 1e308 in size")
    return value


def _json_int(text: str) -> int:
    if len(text) >= _MAX_DIGITS:
        _json_float(text)
    return int(text)


def write_bytes(path: StrPath, data: bytes, *, confidential: bool = False, replace: bool = False) -> None:
    """Write a file whole or not at all: its name appears once all bytes are on the disk.

    A killed writer leaves the old state or the new one. Where the system allows it, the temporary file has no
    name and disappears with the process. Where it needs a name, the next writer to the same file removes what
    is left, and so does `remove_stale_files`. Only its owner can read a `confidential` file, which is refused
    in a folder that is meant to be shared.
    """
    refuse_empty_path(path)
    target = Path(path)
    if not replace:
        refuse_existing(target)
    if not target.parent.is_dir():
        raise InputError(f"{target.parent} must be a folder that exists")
    if confidential:
        refuse_published(target)
    temporary = _temporary_name(target)
    descriptor, named = _open_temporary(temporary, 0o600 if confidential else 0o666)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(data)
        os.fsync(descriptor)
        remove_stale_files(target.parent, target.name)
        _publish(descriptor, temporary, named, target, replace)
        _fsync_folder(target.parent)
    except FileExistsError:
        raise _exists_error(target) from None
    except OSError as error:
        # A full disk names no file.
        raise OSError(error.errno, error.strerror, os.fspath(target)) from error
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        os.close(descriptor)


def write_table(
    path: StrPath,
    columns: Mapping[str, Sequence[object] | NDArray[np.float64]],
    *,
    confidential: bool = False,
    replace: bool = False,
) -> None:
    """Write a spreadsheet-safe table with sorted rows (see `format_table`)."""
    write_bytes(path, format_table(columns), confidential=confidential, replace=replace)


def write_json(path: StrPath, value: object, *, confidential: bool = False, replace: bool = False) -> None:
    """Write `to_jsonable(value)` with sorted keys, one item per line."""
    text = json.dumps(to_jsonable(value), indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    write_bytes(path, encode_utf8(text + "\n"), confidential=confidential, replace=replace)


def to_jsonable(value: object) -> object:
    """`value` in JSON's types: arrays and dataclasses opened, infinity as `"inf"`, `nan` as null."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else number_text(value)
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Mapping):
        return {str(key): to_jsonable(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        value = sorted(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [to_jsonable(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_jsonable(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise InputError(f"cannot be written as JSON: {type(value).__name__}")


def _publish(descriptor: int, temporary: Path, named: bool, target: Path, replace: bool) -> None:
    """Give the finished file its name in one step: a link never overwrites, a replacement always does."""
    if not named:
        # With a folder descriptor Python calls linkat, the one call that follows the link in /proc.
        name, source = temporary if replace else target, f"/proc/self/fd/{descriptor}"
        os.link(source, name, src_dir_fd=descriptor, follow_symlinks=True)
    elif not replace:
        os.link(temporary, target)
    if replace:
        os.replace(temporary, target)


def _open_temporary(name: Path, mode: int) -> tuple[int, bool]:
    """A locked file in the folder of `name`, and whether the system made us give it that name already."""
    locks = _file_locks()
    descriptor = _open_nameless(name.parent, mode)
    if descriptor is not None:
        locks.flock(descriptor, locks.LOCK_EX)
        return descriptor, False
    return _open_locked(name, mode, locks.LOCK_EX), True


def _open_nameless(folder: Path, mode: int) -> int | None:
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, mode)
    except OSError as error:
        # A file system or kernel without nameless files says so with one of these.
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
            return None
        raise


def _fsync_folder(folder: Path) -> None:
    descriptor = os.open(folder, _READ_FLAGS)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _temporary_name(target: Path) -> Path:
    """A new hidden name beside `target`, under which it is made before it gets its own."""
    return target.with_name(f".{target.name}.{secrets.token_hex(8)}{_TEMPORARY}")


def is_temporary_name(name: str, target: str | None = None) -> bool:
    """Whether a name is a temporary one of any target, or of this one."""
    start = ".+" if target is None else re.escape(target)
    temporary = re.compile(rf"\.{start}\.[0-9a-f]{{16}}{re.escape(_TEMPORARY)}", re.DOTALL)
    return temporary.fullmatch(name) is not None


def remove_stale_files(folder: StrPath, name: str | None = None) -> None:
    """Remove the temporary files and folders that killed writers left in a folder, all or those of `name`.

    What a living writer holds locked stays; a missing folder has none.
    """
    with suppress(FileNotFoundError, NotADirectoryError):
        for stale in os.listdir(folder):
            if is_temporary_name(stale, name):
                with suppress(OSError):
                    _remove_unless_held(Path(folder, stale))


def _remove_unless_held(stale: Path) -> None:
    locks = _file_locks()
    descriptor = os.open(stale, _READ_FLAGS | getattr(os, "O_NOFOLLOW", 0))
    try:
        locks.flock(descriptor, locks.LOCK_EX | locks.LOCK_NB)
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            shutil.rmtree(stale)
        else:
            os.unlink(stale)
    finally:
        os.close(descriptor)


def make_folder(path: StrPath) -> None:
    """Make a folder, on the disk when this returns, or take the one there; only its owner can enter."""
    # A system that could not write into the folder afterward is not left with an empty one.
    _file_locks()
    refuse_empty_path(path)
    folder = Path(path)
    if os.path.lexists(folder) and not folder.is_dir():
        raise InputError(f"{folder} must be a folder")
    if not folder.exists():
        folder.mkdir(mode=0o700, exist_ok=True)
        _fsync_folder(folder.parent)
    folder.chmod(0o700)


@contextmanager
def staged_folder(path: StrPath) -> Iterator[Path]:
    """A folder to fill under a temporary name, renamed when the block ends and removed if it fails.

    What a killed run left is removed by the next run for the same name.
    """
    target = Path(path)
    check_new_folder(target)
    with lock(target):
        remove_stale_files(target.parent, target.name)
        filled = _temporary_name(target)
        make_folder(filled)
        descriptor = os.open(filled, _READ_FLAGS)
        try:
            _file_locks().flock(descriptor, _file_locks().LOCK_EX)
            yield filled
            check_new_folder(target)
            os.rename(filled, target)
        except BaseException:
            shutil.rmtree(filled, ignore_errors=True)
            raise
        finally:
            os.close(descriptor)


def check_new_folder(path: StrPath) -> None:
    """Refuse a `path` that is taken, that has no folder to lie in, or whose name cannot be shown."""
    refuse_empty_path(path)
    target = Path(path)
    if target.name in ("", ".", ".."):
        raise InputError(f"{target} must be the name of a new folder")
    if not target.name.isprintable():
        raise InputError(f"{target.name!a} must be a name without control or invisible characters")
    refuse_existing(target)
    if not target.parent.is_dir():
        raise InputError(f"{target.parent} must be a folder that exists")


def check_targets(*paths: StrPath | None) -> None:
    """Refuse files that could not all be written.

    A file is refused if it exists, if its folder does not, or if two names lead to it. None stands for a file
    that was not requested.
    """
    targets = [path for path in paths if path is not None]
    resolved = [_resolved_path(path) for path in targets]
    for path, target in zip(targets, resolved, strict=True):
        if resolved.count(target) > 1:
            raise InputError(f"{Path(path)} must not be written twice: give each file a name of its own")
    for refuse in (refuse_existing, check_parent_folder):
        for path in targets:
            refuse(path)


def check_parent_folder(path: StrPath) -> None:
    """Refuse a file whose folder is not there, or cannot be written into."""
    refuse_empty_path(path)
    folder = Path(path).parent
    if not folder.is_dir():
        raise InputError(f"{folder} must be a folder that exists")
    check_writable_folder(folder, folder)


def check_writable_folder(folder: StrPath, there: StrPath) -> None:
    """Refuse a `folder` where nothing can be written; nothing is left there.

    `there` is the folder itself, or the one it will be made in.
    """
    remove_stale_files(there)
    temporary = _temporary_name(Path(there) / "blindcal")
    try:
        descriptor, named = _open_temporary(temporary, 0o600)
        if named:
            # Once it is closed, another run may take it for what a killed one left.
            os.unlink(temporary)
        os.close(descriptor)
    except OSError as error:
        raise InputError(f"{folder} must be a folder that can be written: {error.strerror}") from None


def refuse_empty_path(path: StrPath) -> None:
    """Refuse a path without a character, which would be taken for the current folder."""
    if not os.fspath(path):
        raise InputError("a path must not be empty")


_ENDINGS = {".html", ".csv", ".xlsx", ".json", ".py", ".txt", ".svg", ".png", ".pdf"}


def refuse_existing(path: StrPath) -> None:
    """Refuse a file that is there, before the work whose result would be written to it.

    Also one whose name is an ending alone: what stood before it was most often a variable that was not set.
    """
    name = Path(path).name
    if name.startswith(".") and name.lower() in _ENDINGS:
        raise InputError(f"{path} must have a name before {name}")
    if os.path.lexists(path):
        raise _exists_error(Path(path))


def _exists_error(target: Path) -> RefusedError:
    return RefusedError(f"{target} exists already and is never overwritten")


def _resolved_path(path: StrPath) -> Path:
    """A file by one name, whatever links lead to its folder."""
    refuse_empty_path(path)
    return Path(os.path.realpath(Path(path).parent)) / Path(path).name


def refuse_published(path: StrPath) -> None:
    """Refuse to put something confidential into a folder that is meant to be shared."""
    # The file itself may be a link, which is replaced; its folder is where it will be.
    parent = _resolved_path(path).parent
    for folder in (parent, *parent.parents):
        if is_release_folder(folder):
            raise InputError(
                f"{os.fspath(path)} is confidential and must not lie in {folder}, which is meant to be "
                "shared: give a place outside"
            )


def is_release_folder(folder: Path) -> bool:
    """Whether a folder holds a release, or is one for numbered releases and holds one of those.

    A working folder may hold a release among other things, and does not count.
    """
    if _holds_release(folder):
        return True
    try:
        with os.scandir(folder) as entries:
            folders = [Path(entry.path) for entry in entries if entry.is_dir()]
    except OSError:
        return False
    numbered = [path for path in folders if RELEASE_NAME.fullmatch(path.name)]
    alone = folder.name == RELEASES_FOLDER or len(numbered) == len(folders)
    return alone and any(map(_holds_release, numbered))


def _holds_release(folder: Path) -> bool:
    return (folder / CERTIFICATE).is_file()


def canonical_json(value: object) -> bytes:
    """The one encoding that equal content has: keys sorted, numbers by value, no spaces; `nan` is refused.

    Different content has different encodings.
    """
    return b"".join(canonical_parts(value))


def canonical_parts(value: object) -> Iterator[bytes]:
    """The same encoding in parts: that of a whole conference may not fit into memory."""
    if not isinstance(value, Mapping):
        yield encode_utf8(_canonical_text(value))
        return
    if not all(isinstance(key, str) for key in value):
        raise InputError("keys must be text to have a canonical form")
    for number, key in enumerate(sorted(value)):
        yield encode_utf8(f"{',' if number else '{'}{_canonical_text(key)}:")
        yield from canonical_parts(value[key])
    yield b"}" if value else b"{}"


class EncodedList(Sequence[Any]):
    """A list that has the canonical form of its items at hand."""

    @property
    @abstractmethod
    def item_texts(self) -> Iterable[str]:
        """The canonical form of each item."""


# A conference's papers repeat the numbers of its committee.
_float_text = lru_cache(maxsize=1 << 16)(number_text)


def _canonical_text(value: object) -> str:
    # What there is most of comes first: a conference has hundreds of thousands of numbers.
    if isinstance(value, float):
        if value != value:
            raise InputError("nan has no canonical form")
        return _float_text(value)
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_canonical_text, value)) + "]"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, np.ndarray | np.generic):
        return _canonical_text(value.tolist())
    if isinstance(value, Mapping):
        return b"".join(canonical_parts(value)).decode()
    if isinstance(value, EncodedList):
        return "[" + ",".join(value.item_texts) + "]"
    raise InputError(f"has no canonical form: {type(value).__name__}")


def digest(value: object) -> str:
    """The SHA-256 of `canonical_json(value)`. Digests of confidential content are confidential."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


@contextmanager
def lock(path: StrPath) -> Iterator[None]:
    """Hold a file or folder for this process alone; a second holder is refused at once.

    The lock is freed even if the process is killed.
    """
    target = Path(path)
    name = target.with_name(f".{target.name}.lock")
    try:
        descriptor = _open_locked(name, 0o600, _file_locks().LOCK_EX | _file_locks().LOCK_NB)
    except BlockingIOError:
        raise RefusedError(f"another run is working on {target}") from None
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)
        os.close(descriptor)


def _open_locked(name: Path, mode: int, how: int) -> int:
    """A file of this name that this process holds locked; it is made if need be."""
    while True:
        descriptor = os.open(name, _LOCK_FLAGS, mode)
        try:
            _file_locks().flock(descriptor, how)
        except BlockingIOError:
            os.close(descriptor)
            raise
        if _still_names_file(name, descriptor):
            return descriptor
        os.close(descriptor)


def _still_names_file(name: Path, descriptor: int) -> bool:
    """Whether the name was not removed between the opening and the locking of its file."""
    try:
        return os.path.samestat(os.stat(name), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _file_locks() -> ModuleType:
    """The system's file locks; imported here, so that a system without them can at least read and compute."""
    try:
        import fcntl
    except ImportError:
        rule = "writing needs file locks, which Linux and macOS have and this system lacks"
        raise InputError(rule) from None
    return fcntl
