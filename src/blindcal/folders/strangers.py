"""Where a message may not name reviewers: a file beside the reviews does, for the chair alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from blindcal.errors import InputError
from blindcal.files.disk import read_bytes, write_table

NAME = "CONFIDENTIAL-unknown-reviewers.csv"
_COLUMNS = ("paper", "reviewer", "cause", "nearest")


@contextmanager
def strangers_listed(reviews: Path, out: Path | None) -> Iterator[None]:
    """Within the block, reviewers whom no pool holds are listed in a file beside `reviews`, for the chair
    alone, and never in `out`, which is public; the error then says where."""
    try:
        yield
    except InputError as error:
        if not error.confidential:
            raise
        told = InputError(f"{error}\n{_listed(error, reviews.parent / NAME, out)}", error.problems)
        raise told from None


def _listed(error: InputError, path: Path, out: Path | None) -> str:
    """Write the file; what is said of it."""
    if out is not None and out.resolve() in path.resolve().parents:
        return f"their names are not written down: {path.parent} is in the `out` folder, which you will share"
    if path.exists() and not _ours(path):
        return f"their names are not written down: {path} already exists"
    columns = dict(zip(_COLUMNS, zip(*error.confidential, strict=True), strict=True))
    try:
        write_table(path, columns, confidential=True, replace=True)
    except OSError as problem:
        return f"their names cannot be written to {path}: {problem.strerror}"
    return f"their names, and the closest known names: {path} (CONFIDENTIAL, never share)"


def _ours(path: Path) -> bool:
    return path.is_file() and read_bytes(path).startswith(",".join(_COLUMNS).encode())
