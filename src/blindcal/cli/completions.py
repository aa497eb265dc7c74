"""What a shell offers where someone presses Tab: folders of conferences, and words that an option takes.

Where nothing is offered here, the shell offers files. Nothing is read but the names of folders.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from blindcal.project.settings import FILE


def one_of(words: Iterable[str]) -> Callable[[str], list[str]]:
    """A function that completes to one of these words.

    >>> one_of(["high", "low"])("h")
    ['high']
    """
    listed = list(words)

    def complete(incomplete: str) -> list[str]:
        return [word for word in listed if word.startswith(incomplete)]

    return complete


def conference_folders(incomplete: str) -> list[str]:
    """The folders that `blindcal new` made, beside or in the folder that is being typed."""
    above, begun = os.path.split(incomplete)
    try:
        names = sorted(os.listdir(above or "."))
    except OSError:
        return []
    return [
        os.path.join(above, name)
        for name in names
        if name.startswith(begun) and os.path.lexists(Path(above or ".") / name / FILE)
    ]
