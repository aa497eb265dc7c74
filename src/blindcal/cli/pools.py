"""`blindcal pools`: who may have reviewed each paper, and how likely, from bids or similarities."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from blindcal.cli.console import emit_json, say
from blindcal.cli.options import argument, folder_argument, numeric, whole, word
from blindcal.errors import RefusedError
from blindcal.io.atomic_files import lock, make_folder, write_bytes
from blindcal.io.cells import count, number_text
from blindcal.io.tables import format_table
from blindcal.pools.candidates import (
    ASSUMPTIONS,
    EVERYONE,
    Pools,
    assumed_pools,
    conflicts_in,
    read_similarity,
)
from blindcal.project.contents import INPUTS
from blindcal.project.imports import decided, edited_settings, free_place
from blindcal.project.settings import FILE, Folder, read_folder

_POOLS_FILE = "pools.csv"


def pools(
    folder: Path = folder_argument("A folder that `blindcal new` made; it has the conflicts."),
    similarity: Path = argument(
        "Bids or similarities: columns paper, reviewer, and bid (a number, or yes, maybe, no, conflict) or "
        "similarity."
    ),
    per_paper: int = numeric(whole, "Reviews of each paper.", default=...),
    assume: str = word(
        ASSUMPTIONS,
        "What an adversary is taken to know about how papers were assigned.",
        metavar="|".join(ASSUMPTIONS),
        default=...,
    ),
) -> None:
    """Write down who may have reviewed each paper, and how likely, from bids or similarities.

    Without it, everyone on the committee without a conflict is as likely. With --assume bidders, everyone
    with a bid or similarity above 0 and no conflict is as likely; with similarity, chances are in proportion
    to it. The certificate is then about an adversary who knows just that. Writes pools.csv (paper, reviewer,
    probability) to FOLDER/inputs, which becomes the folder's pools. It is made from bids and conflicts alone:
    pools that depend on the assignment reveal it. If your system states each pair's probability, because it
    assigns at random, import that table instead.

    Example: blindcal pools icx2027 bids.csv --per-paper 3 --assume bidders
    """
    conference = read_folder(folder)
    if decided(conference):
        raise RefusedError(f"papers were decided in {folder}: who may have reviewed them stays as it was")
    conflicts = _folder_conflicts(conference)
    assumed = assumed_pools(read_similarity(similarity), assume, per_paper, conflicts)
    place, sizes = _write_pools(conference, assumed), [len(pool) for pool in assumed.values()]
    low, median, high = min(sizes), float(np.median(sizes)), max(sizes)
    emit_json(
        {
            "papers": len(assumed),
            "candidates_per_paper": [low, median, high],
            "assumes": ASSUMPTIONS[assume],
            "pools": place,
        }
    )
    say(
        f"{count(len(assumed), 'paper')}; candidates per paper: fewest {low}, median {number_text(median)}, "
        f"most {high}"
    )
    say(f"assumes: {ASSUMPTIONS[assume]}")
    say(f"pools of the folder from now on: {place}")


def _folder_conflicts(folder: Folder) -> set[tuple[str, str]]:
    """The conflicts of a folder: its pools, or what was in their place before pools were written."""
    lists = (folder.text("pools") or EVERYONE, folder.path / INPUTS / "conflicts.csv")
    return next((conflicts for source in lists if (conflicts := conflicts_in(source))), set())


def _write_pools(folder: Folder, assumed: Pools) -> Path:
    """Write the pools, which become those of the folder; earlier ones are kept."""
    rows = [(paper, name, chance) for paper, pool in assumed.items() for name, chance in pool.items()]
    data = format_table(dict(zip(("paper", "reviewer", "probability"), zip(*rows, strict=True), strict=True)))
    with lock(folder.path / FILE):
        current = Path(folder.text("pools") or EVERYONE)
        if current.is_file() and current.read_bytes() == data:
            return current
        place = f"{INPUTS}/{_POOLS_FILE}"
        if (folder.path / place).exists():
            place = free_place(folder.path, _POOLS_FILE)
        target, text = folder.path / place, edited_settings(folder.path, {"pools": place})
        for parent in (folder.path / INPUTS, target.parent):
            make_folder(parent)
        write_bytes(target, data, confidential=True)
        write_bytes(folder.path / FILE, text.encode(), confidential=True, replace=True)
    return target
