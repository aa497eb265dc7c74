"""A key where no key was: never in the place of one that was lost, never in what is packed and sent."""

from __future__ import annotations

import os
from pathlib import Path

from blindcal.decisions.coins import Key, make_key, read_key
from blindcal.decisions.records import sealed_folder
from blindcal.errors import InputError, RefusedError
from blindcal.sharing.accounts import shared_folder


def key_beside(folder: Path) -> Path:
    """Where the key of a `folder` lies unless another place is given.

    >>> key_beside(Path("conferences/icx2027")).as_posix()
    'conferences/icx2027.key'
    """
    return folder.with_name(f"{folder.name}.key")


def new_key(path: Path) -> Key:
    """A new key in the file `path`, where no key was, and none was lost.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "icx2027.key")
    ...     new_key(path) == read_key(path)
    True
    """
    refuse_lost(path)
    return make_key(path)


def refuse_lost(path: Path) -> None:
    """A `RefusedError` if there is no key at `path` but a folder of its releases beside it: it was lost."""
    for folder, what in ((sealed_folder(path), "decisions"), (shared_folder(path), "shared sums")):
        if os.path.lexists(folder) and not os.path.lexists(path):
            raise RefusedError(
                f"{folder} holds {what} of a key that is missing: restore that key from its backup, or "
                "use another name for a new key for other conferences"
            )


def check_key(key: Path, folder: Path) -> None:
    """Refuse a `key` in the `folder`, and one that could not be used, before anything is read.

    >>> check_key(Path("icx2027/key"), Path("icx2027"))
    Traceback (most recent call last):
    ...
    blindcal.errors.InputError: `key` must not lie in the folder: whoever packs the folder would pack the key
    """
    place, inside = Path(os.path.realpath(key)), Path(os.path.realpath(folder))
    if inside in place.parents:
        raise InputError("`key` must not lie in the folder: whoever packs the folder would pack the key")
    refuse_lost(key)
    if key.exists():
        read_key(key)
    elif not key.parent.is_dir():
        raise InputError(f"{key.parent} must be a folder that exists")
