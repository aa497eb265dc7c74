"""Which folders are meant to be shared: those that hold a release. Nothing confidential is written there."""

from __future__ import annotations

import os
import re
from pathlib import Path

from blindcal.errors import InputError

DECISIONS, CERTIFICATE = "decisions.csv", "certificate.json"
NUMBERED = re.compile(r"release-([1-9][0-9]{0,5})")
PUBLIC = "public"
"""How a conference's folder calls the one for its releases."""


def refuse_published(path: str | os.PathLike[str]) -> None:
    """Refuse a place for something confidential that lies in a folder meant to be shared.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("decisions.csv", "certificate.json"):
    ...         _ = Path(folder, name).write_text("")
    ...     try:
    ...         refuse_published(Path(folder, "audit.json"))
    ...     except InputError as error:
    ...         print(str(error).replace(os.path.realpath(folder), "out").replace(folder, "out"))
    out/audit.json is confidential and must not lie in out, which is meant to be shared: give a place outside
    """
    # The file itself may be a link, which is replaced; its folder is where it will be.
    place = Path(os.path.realpath(Path(path).parent))
    shared = next((folder for folder in (place, *place.parents) if is_shared(folder)), None)
    if shared is not None:
        raise InputError(
            f"{os.fspath(path)} is confidential and must not lie in {shared}, which is meant to be shared: "
            "give a place outside"
        )


def is_shared(folder: Path) -> bool:
    """Whether a folder holds a release, or is one for numbered releases and holds one of those.

    A folder in which somebody works may have a release in it beside all else, and is none of these.
    """
    return _holds_release(folder) or _holds_numbered(folder)


def _holds_release(folder: Path) -> bool:
    return all((folder / name).is_file() for name in (DECISIONS, CERTIFICATE))


def _holds_numbered(folder: Path) -> bool:
    try:
        with os.scandir(folder) as entries:
            folders = [Path(one.path) for one in entries if one.is_dir()]
    except OSError:
        return False
    numbered = [one for one in folders if NUMBERED.fullmatch(one.name)]
    alone = folder.name == PUBLIC or len(numbered) == len(folders)
    return alone and any(map(_holds_release, numbered))
