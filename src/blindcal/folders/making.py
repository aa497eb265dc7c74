"""A new folder that is there whole or not at all, and that only its owner can enter."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from blindcal.errors import InputError
from blindcal.files.disk import lock, make_folder, refuse_empty, refuse_existing

_TEMPORARY = ".blindcal-new"


@contextmanager
def new_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A folder to fill, under another name: it gets its own when the block ends, and is removed if it fails.

    `path` is its own name, in a folder that exists; one that is taken is refused. What a killed run left is
    removed by the next one for the same name.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as place:
    ...     with new_folder(Path(place, "icx2027")) as filled:
    ...         _ = Path(filled, "note.txt").write_text("to do")
    ...     Path(place, "icx2027", "note.txt").read_text()
    'to do'
    """
    target = Path(path)
    check_new(target)
    with lock(target):
        _remove_stale(target)
        filled = target.with_name(f".{target.name}.{secrets.token_hex(8)}{_TEMPORARY}")
        make_folder(filled)
        try:
            yield filled
            check_new(target)
            os.rename(filled, target)
        except BaseException:
            shutil.rmtree(filled, ignore_errors=True)
            raise


def check_new(path: str | os.PathLike[str]) -> None:
    """Refuse a `path` that is taken, that has no folder to lie in, or whose name cannot be shown.

    >>> check_new("..")
    Traceback (most recent call last):
    ...
    blindcal.errors.InputError: .. must be the name of a new folder
    """
    refuse_empty(path)
    target = Path(path)
    if target.name in ("", ".", ".."):
        raise InputError(f"{target} must be the name of a new folder")
    if not target.name.isprintable():
        raise InputError(f"{target.name!a} must be a name without control or invisible characters")
    refuse_existing(target)
    if not target.parent.is_dir():
        raise InputError(f"{target.parent} must be a folder that exists")


def _remove_stale(target: Path) -> None:
    """Remove what killed runs left of this folder: nobody fills it while we hold its lock."""
    left = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}{re.escape(_TEMPORARY)}")
    for name in os.listdir(target.parent):
        if left.fullmatch(name) and (target.parent / name).is_dir():
            shutil.rmtree(target.parent / name, ignore_errors=True)
