"""`blindcal key`: make the secret key that every coin is derived from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blindcal.cli.console import Json, emit_json, say
from blindcal.coins import make_key
from blindcal.records import sealed_folder

ADVICE = (
    "Only you can read it. It stays secret forever: whoever holds it can work out the coins, and with the",
    "decisions much of who reviewed what. Back it up together with the folder {sealed} (made by",
    "the first `blindcal decide`), which remembers what was decided. If the key is lost, the decisions stand",
    "but can no longer be checked or amended; deciding again with a new key would toss the coins again.",
)


def key(
    path: Annotated[Path, typer.Argument(help="The file to write; an existing one is never overwritten.")],
    as_json: Json = False,
) -> None:
    """Make a secret key of 32 random bytes in a new file that only you can read.

    Example: blindcal key key.bin
    """
    make_key(path)
    sealed = sealed_folder(path)
    if as_json:
        emit_json({"key": path, "sealed": sealed})
        return
    say(f"key written to {path}")
    for line in ADVICE:
        say(line.format(sealed=sealed))
