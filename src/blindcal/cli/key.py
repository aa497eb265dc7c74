"""`blindcal key`: make the secret key that every coin is derived from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blindcal.cli.console import Json, emit_json, say
from blindcal.deciding.ledger import sealed_folder
from blindcal.project.create import new_key
from blindcal.sharing.noisy_sums import shared_folder

_ADVICE = (
    "Only you can read it. Keep it secret forever: anyone who holds it can work out the coins and, with the",
    "decisions, much of who reviewed what. Back it up now, and again after every `blindcal decide`, together",
    "with the folder {sealed}, which remembers what was decided, and after every `blindcal share`",
    "with {shared}, which remembers what was shared. If the key is lost, the decisions",
    "stand but can no longer be checked or amended; deciding again with a new key would draw new coins.",
)


def key(
    path: Annotated[Path, typer.Argument(help="The file to write; an existing file is never overwritten.")],
    as_json: Json = False,
) -> None:
    """Make a secret key of 32 random bytes in a new file that only you can read.

    The fingerprint identifies the key and reveals nothing else about it; every certificate includes it.

    Example: blindcal key key.bin
    """
    made = new_key(path)
    if as_json:
        folders = {"sealed": sealed_folder(path), "shared": shared_folder(path)}
        emit_json({"key": path, **folders, "fingerprint": made.fingerprint})
        return
    say(f"key written to {path}, fingerprint {made.fingerprint}")
    say_advice(path)


def say_advice(path: Path) -> None:
    """How to keep a key that was just made."""
    for line in _ADVICE:
        say(line.format(sealed=sealed_folder(path), shared=shared_folder(path)))
