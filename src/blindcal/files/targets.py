"""Where results will be written: checked before the work that makes them, so that nothing is left by half."""

from __future__ import annotations

import os
from pathlib import Path

from blindcal.errors import InputError
from blindcal.files.disk import clear_stale, refuse_empty, refuse_existing, try_writing


def check_targets(*paths: str | os.PathLike[str] | None) -> None:
    """Refuse files that could not all be written: one that is there already, that has no folder, or that is
    another one by the same or another name. None is a file that is not wanted.

    >>> check_targets("found.json", None, "./found.json")
    Traceback (most recent call last):
    ...
    blindcal.errors.InputError: found.json must not be written twice: give each file a name of its own
    """
    wanted = [path for path in paths if path is not None]
    places = [_place(path) for path in wanted]
    for path, place in zip(wanted, places, strict=True):
        if places.count(place) > 1:
            raise InputError(f"{Path(path)} must not be written twice: give each file a name of its own")
    for path in wanted:
        refuse_existing(path)
    for path in wanted:
        check_folder_of(path)


def check_folder_of(path: str | os.PathLike[str]) -> None:
    """Refuse a file whose folder is not there, or cannot be written into."""
    refuse_empty(path)
    folder = Path(path).parent
    if not folder.is_dir():
        raise InputError(f"{folder} must be a folder that exists")
    check_folder(folder, folder)


def check_folder(folder: str | os.PathLike[str], there: str | os.PathLike[str]) -> None:
    """Refuse a `folder` where nothing can be written; `there` is the folder itself, or the one it will be
    made in. Nothing is left."""
    clear_stale(there)
    try:
        try_writing(there)
    except OSError as error:
        raise InputError(f"{folder} must be a folder that can be written: {error.strerror}") from None


def _place(path: str | os.PathLike[str]) -> Path:
    """A file by one name, whatever links lead to its folder."""
    refuse_empty(path)
    return Path(os.path.realpath(Path(path).parent)) / Path(path).name
