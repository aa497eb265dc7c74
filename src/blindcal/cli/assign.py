"""`blindcal assign`: an assignment whose prior is known; or pools for one that was made without it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from blindcal.assignment.candidates import ASSUMPTIONS, EVERYONE, assumed_pools, conflicts_in
from blindcal.assignment.sampling import ASSIGNMENT_FILE, DRAWS_FILE, POOLS_FILE, SampledAssignment, marginals
from blindcal.assignment.sampling import assign as assign_papers
from blindcal.assignment.similarity import (
    Similarity,
    read_conflicts,
    read_papers,
    read_similarity,
    zero_similarity,
)
from blindcal.cli.console import emit_json, say, table
from blindcal.cli.options import (
    decimal,
    folder_argument,
    numeric,
    option,
    probability,
    whole,
    word,
)
from blindcal.deciding.key_and_coins import read_key
from blindcal.errors import InputError, RefusedError
from blindcal.fitting.committee import read_committee
from blindcal.io.atomic_files import lock, make_folder, read_table, write_bytes
from blindcal.io.cells import Column, count, number_text
from blindcal.io.tables import format_table
from blindcal.project.create import INPUTS
from blindcal.project.imports import decided, edited_settings, folder_reviews
from blindcal.project.settings import FILE, Folder, read_folder

_BID = Column("bid", required=False, empty=True)


def assign(
    folder: Path = folder_argument(
        "A folder that `blindcal new` made; it has the committee, the conflicts and the key."
    ),
    per_paper: int = numeric(whole, "Reviewers for each paper.", default=...),
    similarity: Path | None = option(
        "Bids or similarities: columns paper, reviewer, and bid (a number, or yes, maybe, no, conflict) or "
        "similarity; or a NumPy .npz file of a matrix of similarities."
    ),
    papers: Path | None = option("All papers, if some may have no bids: column paper."),
    conflicts: Path | None = option(
        "Conflicts of interest: columns paper, conflict. Else those of the folder."
    ),
    per_reviewer: int | None = numeric(whole, "Most papers of one reviewer."),
    cap: float | None = numeric(probability, "Largest probability that a reviewer gets a paper."),
    spread: float = numeric(
        decimal,
        "Spread each paper over more reviewers, up to 1; 0.05 costs next to no similarity.",
        default=0.0,
    ),
    draws: int = numeric(whole, "Assignments to sample and keep, a power of 2; one is used.", default=64),
    assume: str | None = word(
        ASSUMPTIONS,
        "Draw nothing: the assignment was made without blindcal, and this is what an adversary is taken to "
        "know about how.",
        metavar="|".join(ASSUMPTIONS),
    ),
) -> None:
    """Assign reviewers to papers at random, and keep the prior of the draw.

    To be run before reviewing. Finds the probabilities of greatest expected similarity with each at most
    --cap and all loads met, samples --draws assignments that have exactly those probabilities, and uses one
    of them. Writes, in FOLDER/inputs, assignment.csv (paper, reviewer), the assignment to use;
    assignments.csv (draw, paper, reviewer), which becomes the folder's pools; both for you alone; and
    pools.csv (paper, reviewer, probability). Draws are numbered for each paper by itself. The assignment is
    derived from the key and the whole input: the same command returns the same one.

    If papers were assigned without blindcal, --assume lists who may have reviewed each paper, never from the
    assignment itself, as pools that depend on it reveal it. With eligible, everyone without a conflict is as
    likely; with bidders, everyone with a bid or similarity above 0; with similarity, chances are in
    proportion to it. The certificate is then about an adversary who knows just that. Writes pools.csv (paper,
    reviewer, probability), which becomes the folder's pools.

    Example: blindcal assign icx2027 --similarity bids.csv --per-paper 3 --per-reviewer 6 --cap 0.5
    """
    conference = read_folder(folder)
    if decided(conference):
        raise RefusedError(f"papers were decided in {folder}: who may have reviewed them stays as it was")
    read = _similarities(conference, similarity, papers, conflicts, needed=assume != "eligible")
    if assume is not None:
        if per_reviewer is not None or cap is not None:
            raise InputError("--per-reviewer and --cap draw an assignment: leave them out with --assume")
        facts = _assume(conference, read, assume, per_paper)
    elif per_reviewer is None or cap is None:
        raise InputError("give --per-reviewer and --cap, or --assume for an assignment that was already made")
    else:
        loads = {"per_paper": per_paper, "per_reviewer": per_reviewer}
        facts = _draw(conference, read, {**loads, "cap": cap, "spread": spread, "draws": draws})
    emit_json(facts)
    if assume is not None:
        _print_assumed(facts)
    else:
        _print(facts)


def _similarities(
    folder: Folder, similarity: Path | None, papers: Path | None, conflicts: Path | None, *, needed: bool
) -> Similarity:
    """The matrix of a file, with every paper and person whom the other files and the folder list."""
    reviews = folder_reviews(folder)
    listed = [*(() if papers is None else read_papers(papers)), *(() if reviews is None else reviews.papers)]
    committee = read_committee(folder.text("committee")) if "committee" in folder.settings else []
    # Once papers were assigned, the pools are no list of conflicts any more, but that list is still there.
    lists = [Path(folder.text("pools") or EVERYONE), folder.path / INPUTS / "conflicts.csv"]
    barred = conflicts or next((path for path in lists if conflicts_in(path)), None)
    if similarity is not None:
        return read_similarity(
            similarity,
            bids=similarity.suffix != ".npz" and "bid" in read_table(similarity, [_BID], extra=True),
            conflicts=barred,
            papers=listed,
            reviewers=committee,
        )
    if needed:
        raise InputError("give --similarity, a table of bids or similarities")
    if not listed or not committee:
        raise InputError(
            f"give --papers, and a committee (`blindcal import {folder.path} FILE --as committee`), or "
            "--similarity"
        )
    known = zero_similarity(listed, committee)
    return known if barred is None else known.barring(read_conflicts(barred, known))


def _draw(folder: Folder, similarity: Similarity, settings: Mapping[str, Any]) -> dict[str, Any]:
    key = read_key(folder.text("key"))
    seed = key.stamp("assignment", {"input": similarity.digest, "settings": settings})
    assigned = assign_papers(similarity, **settings, seed=seed)
    loads = {name: settings[name] for name in ("per_paper", "per_reviewer")}
    best = marginals(similarity, **loads).kept(similarity)
    inputs = folder.path / INPUTS
    with lock(folder.path / FILE):
        text = edited_settings(folder.path, {"pools": f"{INPUTS}/{DRAWS_FILE}"})
        assigned.write(inputs)
        write_bytes(folder.path / FILE, text.encode(), confidential=True, replace=True)
    return _facts(assigned, best, inputs)


def _assume(folder: Folder, similarity: Similarity, assume: str, per_paper: int) -> dict[str, Any]:
    """Write pools for an assignment that was already made, named for what they assume."""
    pools = assumed_pools(similarity, assume, per_paper)
    rows = [(paper, name, chance) for paper, pool in pools.items() for name, chance in pool.items()]
    columns = dict(zip(("paper", "reviewer", "probability"), zip(*rows, strict=True), strict=True))
    data, out = format_table(columns), folder.path / INPUTS / POOLS_FILE
    with lock(folder.path / FILE):
        text = edited_settings(folder.path, {"pools": f"{INPUTS}/{POOLS_FILE}"})
        make_folder(out.parent)
        if not (out.is_file() and out.read_bytes() == data):
            write_bytes(out, data, confidential=True)
        write_bytes(folder.path / FILE, text.encode(), confidential=True, replace=True)
    sizes = [len(pool) for pool in pools.values()]
    return {
        "papers": len(pools),
        "candidates_per_paper": [min(sizes), float(np.median(sizes)), max(sizes)],
        "assumes": ASSUMPTIONS[assume],
        "pools": out,
        "notes": [],
    }


def _facts(assigned: SampledAssignment, best: float, out: Path) -> dict[str, Any]:
    """Figures of an assignment; none depends on which draw is used, or on who was drawn."""
    chances, sizes = assigned.chances, assigned.chances.pool_sizes
    top = np.zeros(sizes.size)
    np.maximum.at(top, chances.paper, chances.probability)
    kept = chances.kept(assigned.similarity)
    return {
        "papers": len(assigned.similarity.papers),
        "reviewers": len(assigned.similarity.reviewers),
        "draws": chances.draws,
        "largest_probability": float(top.max()),
        "similarity": kept,
        "similarity_kept": kept / best if best > 0.0 else 1.0,
        "candidates_per_paper": [int(sizes.min()), float(np.median(sizes)), int(sizes.max())],
        "reviewer_named": float(top.mean()) / chances.per_paper,
        "assignment": out / ASSIGNMENT_FILE,
        "assignments": out / DRAWS_FILE,
        "pools": out / POOLS_FILE,
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
        ("chance of naming a reviewer before any score", f"{100 * facts['reviewer_named']:.1f} %"),
    ]
    table(("", ""), rows)
    say()
    say(f"the assignment to use: {facts['assignment']} (CONFIDENTIAL, never share)")
    say(f"pools of the folder from now on: {facts['assignments']} (CONFIDENTIAL, never share)")
    say(f"each pair's probability: {facts['pools']}")


def _print_assumed(facts: dict[str, Any]) -> None:
    low, median, high = (number_text(size) for size in facts["candidates_per_paper"])
    candidates = f"candidates per paper: fewest {low}, median {median}, most {high}"
    say(f"{count(facts['papers'], 'paper')}; {candidates}")
    say(f"assumes: {facts['assumes']}")
    say(f"pools of the folder from now on: {facts['pools']}")
