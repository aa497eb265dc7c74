"""Options that several commands share, and the conference that `plan`, `decide` and `verify` read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from blindcal.cli.arguments import decimal
from blindcal.cli.completions import one_of
from blindcal.cli.folders import required
from blindcal.posterior.inputs import Inputs, read_inputs
from blindcal.project.outsiders import unknown_reviewers_listed
from blindcal.project.settings import Folder
from blindcal.reviews import BETTER

PoolsFile = Annotated[
    Path,
    typer.Option(
        help="Who may have reviewed each paper: columns paper, reviewer, optionally probability. Or sampled "
        "assignments: draw, paper, reviewer. Or conflicts, if everyone else is a candidate: paper, conflict. "
        "Or the word everyone."
    ),
]
Bar = Annotated[
    float | None,
    typer.Option(
        parser=decimal, metavar="NUMBER", help="The acceptance bar, as a quality (N(0,1) over papers)."
    ),
]
Better = Annotated[
    str,
    typer.Option(
        help="Which scores are better, high or low; public data cannot show it.",
        autocompletion=one_of(BETTER),
    ),
]
Grid = Annotated[
    str | None,
    typer.Option(
        help="The scores reviewers can give: 1..10, or a list such as 1,3,5, or none if any number can be "
        "given. Unless given, they are recognized in the scores."
    ),
]
Published = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FOLDER",
        help="A folder published earlier with this key, of one release or of all, to check the key and its "
        "sealed record against; repeatable.",
    ),
]
Misfit = Annotated[
    bool,
    typer.Option("--despite-misfit", help="Continue even if the calibration does not fit the scores at all."),
]
Leak = Annotated[
    bool,
    typer.Option(
        "--yes-leak",
        help="Allow decisions to reveal reviewers: the guarantee none, or a budget that reveals at least "
        "half of what full calibration would.",
    ),
]


@contextmanager
def loaded(folder: Folder, grid: Sequence[float] | None, out: Path | None = None) -> Iterator[Inputs]:
    """The conference in a folder's files, without withdrawn papers.

    Reviewers who turn out to be in no pool are listed beside the reviews, never in the public folder.
    """
    files = [str(required(folder, name)) for name in ("reviews", "reviewers", "pools")]
    with unknown_reviewers_listed(Path(files[0]), out, folder):
        yield read_inputs(*files, grid=grid, withdrawn=tuple(folder.withdrawn))
