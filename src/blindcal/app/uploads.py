"""Files that come in: their names and sizes, and a private place for them until a folder is made of them."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from blindcal.errors import InputError

ROLES: Mapping[str, str] = {
    "reviews": "This year's reviews",
    "committee": "Committee",
    "past": "Past reviews",
    "conflicts": "Conflicts",
    "pools": "Candidates of each paper",
    "reviewers": "Calibration",
    "same": "Changed ids",
}
"""What a file may be, and how the room calls it."""
SEVERAL = ("past",)
"""Of these there may be several; another file takes the place of any other."""
_LONGEST = 100
_MOST = 30


class TooLargeError(InputError):
    """More bytes than a file may have."""


def checked_name(name: str) -> str:
    """The name of a file as it may stand in a folder, or an `InputError`: no path, nothing hidden.

    >>> checked_name("reviews 2027.csv")
    'reviews 2027.csv'
    >>> checked_name("../key.bin")
    Traceback (most recent call last):
    ...
    blindcal.errors.InputError: the name of a file must be a plain name of at most 100 characters
    """
    plain = bool(name) and len(name) <= _LONGEST and len(name.encode()) <= 2 * _LONGEST and name.isprintable()
    if not plain or any(mark in name for mark in "/\\") or name.startswith(".") or name != name.strip():
        raise InputError(f"the name of a file must be a plain name of at most {_LONGEST} characters")
    return name


def checked_role(role: str) -> str:
    """The same `role` if it is one of `ROLES`, or an `InputError`.

    >>> checked_role("past")
    'past'
    """
    if role not in ROLES:
        raise InputError("there is no such kind of file")
    return role


class Staging:
    """Files for one new folder, by what they are, in a `place` that only its owner can enter."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def open(self, role: str, name: str) -> Incoming:
        """A file to fill; it takes its place when it is whole."""
        folder = self.place / checked_role(role)
        if len([path for path in self.files(role) if path.name != name]) >= _MOST:
            raise InputError(f"there can be at most {_MOST} files of a kind")
        folder.mkdir(mode=0o700, exist_ok=True)
        return Incoming(folder / checked_name(name), alone=role not in SEVERAL)

    def files(self, role: str) -> list[Path]:
        """The files of a kind, by their names."""
        folder = self.place / checked_role(role)
        found = folder.iterdir() if folder.is_dir() else ()
        return sorted(path for path in found if not path.name.startswith("."))

    def remove(self, role: str, name: str) -> None:
        (self.place / checked_role(role) / checked_name(name)).unlink(missing_ok=True)

    def clear(self) -> None:
        for role in ROLES:
            shutil.rmtree(self.place / role, ignore_errors=True)


class Incoming:
    """A file that is being filled under a hidden name of its own, and then becomes `target`; left early,
    nothing of it stays. If it is to be `alone`, all other files beside it go when it is there."""

    def __init__(self, target: Path, *, alone: bool) -> None:
        self.target, self._alone, self.size = target, alone, 0
        self._part = target.with_name(f".{secrets.token_hex(8)}.incoming")

    def __enter__(self) -> Incoming:
        self._file = os.fdopen(os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        return self

    def write(self, data: bytes, limit: int) -> None:
        """This many more bytes, or a `TooLargeError` once there are more than `limit`."""
        self.size += len(data)
        if self.size > limit:
            raise TooLargeError(f"a file must have at most {limit:,} bytes")
        self._file.write(data)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._file.close()
        if kind is not None:
            self._part.unlink(missing_ok=True)
            return
        if self._alone:
            for other in self.target.parent.iterdir():
                # What is hidden is still on its way, and sees to itself.
                if other != self.target and not other.name.startswith("."):
                    other.unlink(missing_ok=True)
        os.replace(self._part, self.target)
