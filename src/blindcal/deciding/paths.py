"""Checks that secrets and public files never lie in one folder, under any name or link."""

from __future__ import annotations

import os
from pathlib import Path

from blindcal.deciding.key import KEY_BYTES, read_key
from blindcal.deciding.ledger import ledger_folder
from blindcal.errors import InputError
from blindcal.io.atomic_files import check_writable_folder
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
    if any(_within(location, folder) for location in public for folder in sealed):
        raise InputError("`out` must not lie in the private log, which must never be shared")
    inside = sorted(Path(out).iterdir()) if Path(out).is_dir() else []
    shared = [_real(out), *map(_real, inside)]
    if any(
        _within(location, folder) for location in (*locations(Path(key_path)), *sealed) for folder in shared
    ):
        raise InputError(
            "`key` and its private log must not lie in the `out` folder, nor be linked from there: "
            "that folder is meant to be shared"
        )
    for path in inside:
        if _confidential(_real(path)):
            raise InputError(
                f"{path} is confidential and must not lie in the `out` folder, which is meant "
                "to be shared. Give a new `out` folder"
            )


def _confidential(path: Path) -> bool:
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
    if os.path.lexists(reviews) and any(_within(it, _real(out)) for it in locations(Path(reviews))):
        raise InputError(
            f"{reviews} must not lie in the `out` folder: it says who reviewed what, and that folder is "
            "meant to be shared. Give a new `out` folder"
        )


def locations(path: Path) -> list[Path]:
    """The locations of a path: its own, that of every link on the way, and the final one."""
    locations = [_location(path)]
    while locations[-1].is_symlink() and len(locations) < _MOST_LINKS:
        locations.append(_location(locations[-1].parent / os.readlink(locations[-1])))
    return [*locations, _real(path)]


def _location(path: Path) -> Path:
    """A path with all links resolved except its last name."""
    return _real(path) if path.name in ("", "..") else _real(path.parent) / path.name


def _real(path: StrPath) -> Path:
    # Unlike Path.resolve, this does not fail if links lead in a circle.
    return Path(os.path.realpath(path))


def _within(location: Path, folder: Path) -> bool:
    """Whether a location is a folder or lies in it, even if the folder has two spellings."""
    return any(
        parent == folder or (parent.exists() and folder.exists() and parent.samefile(folder))
        for parent in (location, *location.parents)
    )


def check_writable(out: StrPath) -> None:
    """Refuses a folder that cannot be made or written into, before anything is decided.

    Nothing is left there. A folder that already holds a result is only read.
    """
    folder = Path(out)
    if (folder / "certificate.json").exists():
        return
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    check_writable_folder(folder, existing)
