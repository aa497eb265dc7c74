"""`blindcal assign`: draw an assignment of reviewers to papers whose prior is known."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from blindcal.assignment.marginal_probabilities import marginals
from blindcal.assignment.sampling import ASSIGNMENT, ASSIGNMENTS, POOLS, SEED_BYTES, Assigned
from blindcal.assignment.sampling import assign as assign_papers
from blindcal.assignment.similarity import Similarity, read_papers, read_similarity
from blindcal.cells import count, number_text
from blindcal.cli.arguments import decimal, probability, whole
from blindcal.cli.console import Json, emit_json, say, table
from blindcal.deciding.coins import read_key
from blindcal.errors import InputError
from blindcal.fitting.committee import read_committee

Bids = Annotated[
    Path | None,
    typer.Option(help="Bids: columns paper, reviewer, bid (a number, or yes, maybe, no, conflict)."),
]
SimilarityFile = Annotated[
    Path | None,
    typer.Option(help="Similarities: columns paper, reviewer, similarity; or a NumPy .npz file of a matrix."),
]
Conflicts = Annotated[Path | None, typer.Option(help="Conflicts of interest: columns paper, conflict.")]
Papers = Annotated[Path | None, typer.Option(help="All papers, where some may have no bids: column paper.")]
Committee = Annotated[
    Path | None, typer.Option(help="All reviewers, where some may have no bids: column reviewer.")
]
PerPaper = Annotated[int, typer.Option(parser=whole, metavar="NUMBER", help="Reviewers for each paper.")]


def assign(
    per_paper: PerPaper,
    per_reviewer: Annotated[
        int, typer.Option(parser=whole, metavar="NUMBER", help="Most papers of one reviewer.")
    ],
    cap: Annotated[
        float,
        typer.Option(
            parser=probability, metavar="NUMBER", help="Largest probability that a reviewer gets a paper."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the files; another assignment is never overwritten.")],
    bids: Bids = None,
    similarity: SimilarityFile = None,
    conflicts: Conflicts = None,
    papers: Papers = None,
    committee: Committee = None,
    spread: Annotated[
        float,
        typer.Option(
            parser=decimal,
            metavar="NUMBER",
            help="Spread each paper over more reviewers, up to 1; 0.05 costs next to no similarity.",
        ),
    ] = 0.0,
    draws: Annotated[
        int,
        typer.Option(
            parser=whole, metavar="NUMBER", help="Assignments to sample and keep, a power of 2; one is used."
        ),
    ] = 64,
    key: Annotated[
        Path | None,
        typer.Option(
            help="The secret key, made by `blindcal key`: the same input then always returns the same "
            "assignment. Without it, every run draws another one."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Assign reviewers to papers at random, before reviewing, and keep the prior it was drawn from.

    Finds the probabilities of greatest expected similarity with each at most --cap and all loads met, samples
    --draws assignments that have exactly those probabilities, and uses one of them. Writes
    OUT/assignment.csv (paper, reviewer), the assignment to use, OUT/assignments.csv (draw, paper, reviewer),
    which you give to `plan` and `decide` as --pools after reviewing, both for you alone, and OUT/pools.csv
    (paper, reviewer, probability). Draws are numbered for each paper by itself.

    Example: blindcal assign --bids bids.csv --conflicts conflicts.csv --per-paper 3 --per-reviewer 6
    --cap 0.5 --out assigned/
    """
    read = similarities(bids, similarity, conflicts, papers, committee)
    settings = {
        "per_paper": per_paper,
        "per_reviewer": per_reviewer,
        "cap": cap,
        "spread": spread,
        "draws": draws,
    }
    seed = _seed(key, read, settings)
    found = assign_papers(
        read,
        per_paper=per_paper,
        per_reviewer=per_reviewer,
        cap=cap,
        spread=spread,
        draws=draws,
        seed=seed,
    )
    best = marginals(read, per_paper=per_paper, per_reviewer=per_reviewer).kept(read)
    found.write(out)
    facts = _facts(found, best, out)
    if as_json:
        emit_json(facts)
    else:
        _print(facts)


def similarities(
    bids: Path | None,
    similarity: Path | None,
    conflicts: Path | None,
    papers: Path | None,
    committee: Path | None,
) -> Similarity:
    """The one matrix that is given, with everybody whom the other files list."""
    if (bids is None) == (similarity is None):
        raise InputError("give one of --bids and --similarity")
    source = bids if bids is not None else similarity
    return read_similarity(
        source or Path(),
        bids=bids is not None,
        conflicts=conflicts,
        papers=() if papers is None else read_papers(papers),
        reviewers=() if committee is None else read_committee(committee),
    )


def _seed(key: Path | None, similarity: Similarity, settings: dict[str, Any]) -> bytes:
    """Derived from the key and all that shapes the assignment; without a key, from the system."""
    if key is None:
        return secrets.token_bytes(SEED_BYTES)
    return read_key(key).stamp("assignment", {"input": similarity.digest, "settings": settings})


def _facts(found: Assigned, best: float, out: Path) -> dict[str, Any]:
    """What is printed: nothing of it depends on which draw is used, or on who was drawn."""
    chances, sizes = found.chances, found.chances.pool_sizes
    top = np.zeros(sizes.size)
    np.maximum.at(top, chances.paper, chances.probability)
    kept = chances.kept(found.similarity)
    return {
        "papers": len(found.similarity.papers),
        "reviewers": len(found.similarity.reviewers),
        "draws": chances.draws,
        "largest_probability": float(top.max()),
        "similarity": kept,
        "similarity_kept": kept / best if best > 0.0 else 1.0,
        "candidates_per_paper": [int(sizes.min()), float(np.median(sizes)), int(sizes.max())],
        "author_named": float(top.mean()) / chances.per_paper,
        "assignment": out / ASSIGNMENT,
        "assignments": out / ASSIGNMENTS,
        "pools": out / POOLS,
        "notes": [],
    }


def _print(facts: dict[str, Any]) -> None:
    papers, reviewers = count(facts["papers"], "paper"), count(facts["reviewers"], "reviewer")
    say(f"{papers} and {reviewers}: one of {count(facts['draws'], 'sampled assignment')}, each as likely")
    say()
    low, median, high = (number_text(size) for size in facts["candidates_per_paper"])
    rows = [
        ("similarity kept, of the most that any assignment has", f"{100 * facts['similarity_kept']:.1f} %"),
        ("candidates per paper: fewest, median, most", f"{low}, {median}, {high}"),
        ("largest probability of a pair", number_text(facts["largest_probability"])),
        ("chance of naming a review's author before any score", f"{100 * facts['author_named']:.1f} %"),
    ]
    table(("", ""), rows)
    say()
    say(f"the assignment to use: {facts['assignment']} (CONFIDENTIAL, never share)")
    say(f"--pools of `plan` and `decide`: {facts['assignments']} (CONFIDENTIAL, never share)")
    say(f"each pair's probability: {facts['pools']}")
