"""`blindcal pools`: pools for an assignment that was already made, named for what they assume."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from blindcal.assignment.candidates import ASSUMPTIONS, assumed_pools
from blindcal.assignment.similarity import Similarity, nothing_known, read_conflicts, read_papers
from blindcal.cells import count, number_text
from blindcal.cli.assign import Bids, Committee, Conflicts, Papers, PerPaper, SimilarityFile, similarities
from blindcal.cli.completions import one_of
from blindcal.cli.console import Json, emit_json, say
from blindcal.errors import InputError
from blindcal.fitting.committee import read_committee
from blindcal.io.atomic_files import write_table


def pools(
    assume: Annotated[
        str,
        typer.Option(
            metavar="|".join(ASSUMPTIONS),
            help="What an adversary is taken to know of how papers were assigned.",
            autocompletion=one_of(ASSUMPTIONS),
        ),
    ],
    per_paper: PerPaper,
    out: Annotated[Path, typer.Option(help="The table to write; an existing file is never overwritten.")],
    bids: Bids = None,
    similarity: SimilarityFile = None,
    conflicts: Conflicts = None,
    papers: Papers = None,
    committee: Committee = None,
    as_json: Json = False,
) -> None:
    """List who may have reviewed each paper, for an assignment that was made without `blindcal assign`.

    Never from the assignment itself: pools that depend on it reveal it. With --assume eligible, everyone
    without a conflict is as likely (give --papers and --committee, or bids); with bidders, everyone with a
    bid or similarity above 0; with similarity, chances are in proportion to it. The certificate is then about
    an adversary who knows just that. Writes OUT (paper, reviewer, probability) for `plan` and `decide`.

    Example: blindcal pools --assume similarity --bids bids.csv --conflicts conflicts.csv --per-paper 3
    --out pools.csv
    """
    read = _read(assume, bids, similarity, conflicts, papers, committee)
    found = assumed_pools(read, assume, per_paper)
    rows = [(paper, name, chance) for paper, pool in found.items() for name, chance in pool.items()]
    columns = dict(zip(("paper", "reviewer", "probability"), zip(*rows, strict=True), strict=True))
    write_table(out, columns)
    sizes = [len(pool) for pool in found.values()]
    facts = {
        "papers": len(found),
        "candidates_per_paper": [min(sizes), float(np.median(sizes)), max(sizes)],
        "assumes": ASSUMPTIONS[assume],
        "out": out,
        "notes": [],
    }
    if as_json:
        emit_json(facts)
        return
    low, median, high = min(sizes), number_text(float(np.median(sizes))), max(sizes)
    say(f"{count(len(found), 'paper')}; candidates per paper: fewest {low}, median {median}, most {high}")
    say(f"assumes: {ASSUMPTIONS[assume]}")
    say(f"written: {out}")


def _read(
    assume: str,
    bids: Path | None,
    similarity: Path | None,
    conflicts: Path | None,
    papers: Path | None,
    committee: Path | None,
) -> Similarity:
    if bids is not None or similarity is not None or assume != "eligible":
        return similarities(bids, similarity, conflicts, papers, committee)
    if papers is None or committee is None:
        raise InputError("give --papers and --committee, or one of --bids and --similarity")
    known = nothing_known(read_papers(papers), read_committee(committee))
    return known if conflicts is None else known.barring(read_conflicts(conflicts, known))
