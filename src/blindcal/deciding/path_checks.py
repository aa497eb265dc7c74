"""Where secrets and public files may lie: never in one folder, by whatever name or link they go."""

from __future__ import annotations

import os
from pathlib import Path

from blindcal.deciding.coins import KEY_BYTES, read_key
from blindcal.deciding.ledger import sealed_folder
from blindcal.errors import InputError
from blindcal.fitting.reuse_guard import beside
from blindcal.io.atomic_files import check_folder

# As many as Linux follows.
_MOST_LINKS = 40


def check_paths(**paths: object) -> None:
    """Refuse what is not a path, such as the `Key` that `make_key` returns in place of its file."""
    for name, path in paths.items():
        if not isinstance(path, str | os.PathLike):
            raise InputError(f"`{name}` must be the path of a file or folder, found {type(path).__name__}")


def check_apart(key_path: str | os.PathLike[str], out: str | os.PathLike[str]) -> None:
    """Refuse public files among the sealed ones, and a key, a sealed folder or a fitted calibration in
    what is to be shared."""
    public, sealed = _places(Path(out)), _places(sealed_folder(key_path))
    if any(_within(place, folder) for place in public for folder in sealed):
        raise InputError("`out` must not lie in the sealed folder, which must never be shared")
    inside = sorted(Path(out).iterdir()) if Path(out).is_dir() else []
    sent = [_real(out), *map(_real, inside)]
    if any(_within(place, folder) for place in (*_places(Path(key_path)), *sealed) for folder in sent):
        raise InputError(
            "`key` and its sealed folder must not lie in the `out` folder, nor be linked from there: "
            "that folder is meant to be shared"
        )
    for path in inside:
        if _confidential(_real(path)):
            raise InputError(
                f"{path} is confidential and must not lie in the `out` folder, which is meant "
                "to be shared. Give a new `out` folder"
            )


def _confidential(path: Path) -> bool:
    """Whether a file is a calibration that was fitted, which says how people reviewed, or some key."""
    if not path.is_file():
        return False
    if os.path.exists(beside(path)) or sealed_folder(path).is_dir():
        return True
    try:
        return path.stat().st_size == KEY_BYTES and bool(read_key(path))
    except InputError:
        return False


def check_reviews_apart(reviews: str | os.PathLike[str], out: str | os.PathLike[str]) -> None:
    """Refuse to publish in a folder that holds the reviews, which say who reviewed what."""
    # A data frame is no file; `Inputs` calls it by the argument's name.
    if os.path.lexists(reviews) and any(_within(place, _real(out)) for place in _places(Path(reviews))):
        raise InputError(
            f"{reviews} must not lie in the `out` folder: it says who reviewed what, and that folder is "
            "meant to be shared. Give a new `out` folder"
        )


def _places(path: Path) -> list[Path]:
    """Where a path lies: its own place, that of every link it leads through, and where it ends."""
    places = [_own(path)]
    while places[-1].is_symlink() and len(places) < _MOST_LINKS:
        places.append(_own(places[-1].parent / os.readlink(places[-1])))
    return [*places, _real(path)]


def _own(path: Path) -> Path:
    """The place of the last name of a path, which may be a link, in folders that are none."""
    return _real(path) if path.name in ("", "..") else _real(path.parent) / path.name


def _real(path: str | os.PathLike[str]) -> Path:
    # Unlike Path.resolve this does not fail where links lead in a circle.
    return Path(os.path.realpath(path))


def _within(place: Path, folder: Path) -> bool:
    """Whether a place is a folder or lies in it, also where one folder has two spellings."""
    return any(
        one == folder or (one.exists() and folder.exists() and one.samefile(folder))
        for one in (place, *place.parents)
    )


def check_writable(out: str | os.PathLike[str]) -> None:
    """Refuse a folder that cannot be made or written into, before anything is decided; nothing is left there.

    One that holds a result already is only read.
    """
    folder = Path(out)
    if (folder / "certificate.json").exists():
        return
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    check_folder(folder, there)
