"""Checks that secrets and public files never lie in one folder, under any name or link."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import product
from pathlib import Path

from blindcal.deciding.key import KEY_BYTES, read_key
from blindcal.deciding.ledger import ledger_folder
from blindcal.errors import InputError
from blindcal.io.atomic_files import CERTIFICATE, check_writable_folder
from blindcal.io.tables import StrPath
from blindcal.posterior.reuse_guard import fit_record_path

# As many as Linux follows.
_MOST_LINKS = 40


def check_paths(**paths: object) -> None:
    """Refuses arguments that are no paths, such as the `Key` that `make_key` returns instead of its file."""
    for name, path in paths.items():
        if not isinstance(path, str | os.PathLike):
            raise InputError(f"`{name}` must be the path of a file or folder, found {type(path).__name__}")


def check_apart(key_path: StrPath, out: StrPath) -> None:
    """Refuses public files in the ledger, and a key, ledger or fitted calibration in the public folder."""
    public, sealed = locations(Path(out)), locations(ledger_folder(key_path))
    if _any_within(public, sealed):
        raise InputError("`out` must not lie in the private log, which must never be shared")
    inside = sorted(Path(out).iterdir()) if Path(out).is_dir() else []
    if _any_within([*locations(Path(key_path)), *sealed], map(_resolved, [out, *inside])):
        raise InputError(
            "`key` and its private log must not lie in the `out` folder, nor be linked from there: "
            "that folder is meant to be shared"
        )
    for path in inside:
        if _is_confidential(_resolved(path)):
            raise InputError(
                f"{path} is confidential and must not lie in the `out` folder, which is meant "
                "to be shared. Give a new `out` folder"
            )


def _is_confidential(path: Path) -> bool:
    """Whether a file is a key, or a fitted calibration, which tells how people reviewed."""
    if not path.is_file():
        return False
    if os.path.exists(fit_record_path(path)) or ledger_folder(path).is_dir():
        return True
    try:
        return path.stat().st_size == KEY_BYTES and bool(read_key(path))
    except InputError:
        return False


def check_reviews_apart(reviews: StrPath, out: StrPath) -> None:
    """Refuses to publish in a folder that holds the reviews, which name the reviewers."""
    # A data frame is no file; `Inputs` calls it by the argument's name.
    if os.path.lexists(reviews) and _any_within(locations(Path(reviews)), [_resolved(out)]):
        raise InputError(
            f"{reviews} must not lie in the `out` folder: it says who reviewed what, and that folder is "
            "meant to be shared. Give a new `out` folder"
        )


def locations(path: Path) -> list[Path]:
    """The locations of a path: its own, that of every link on the way, and the final one."""
    locations = [_own_location(path)]
    while locations[-1].is_symlink() and len(locations) < _MOST_LINKS:
        locations.append(_own_location(locations[-1].parent / os.readlink(locations[-1])))
    return [*locations, _resolved(path)]


def _own_location(path: Path) -> Path:
    """A path with all links resolved except its last name."""
    return _resolved(path) if path.name in ("", "..") else _resolved(path.parent) / path.name


def _resolved(path: StrPath) -> Path:
    # Unlike Path.resolve, this does not fail if links lead in a circle.
    return Path(os.path.realpath(path))


def _any_within(locations: Iterable[Path], folders: Iterable[Path]) -> bool:
    """Whether a location is one of these folders or lies in it, even if the folder has two spellings."""
    return any(
        parent == folder or (parent.exists() and folder.exists() and parent.samefile(folder))
        for location, folder in product(locations, folders)
        for parent in (location, *location.parents)
    )


def check_writable(out: StrPath) -> None:
    """Refuses a folder that cannot be made or written into, before anything is decided.

    Nothing is left there. A folder that already holds a result is only read.
    """
    folder = Path(out)
    if (folder / CERTIFICATE).exists():
        return
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    check_writable_folder(folder, existing)
