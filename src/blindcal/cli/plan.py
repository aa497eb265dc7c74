"""`blindcal plan`: everything but the toss."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blindcal.cli.console import Json, emit_json
from blindcal.cli.inputs import (
    Bar,
    ConferenceName,
    Files,
    Grid,
    PoolsFile,
    Rate,
    ReviewersFile,
    ReviewsFile,
    levels,
    request_of,
)
from blindcal.coins import read_key
from blindcal.guarantees import Guarantee
from blindcal.releases import commit_to


def plan(
    reviews: ReviewsFile,
    reviewers: ReviewersFile,
    pools: PoolsFile,
    accept_rate: Rate = None,
    bar: Bar = None,
    grid: Grid = None,
    conference: ConferenceName = "conference",
    key: Annotated[Path | None, typer.Option(help="Also print the commitment under this key.")] = None,
    as_json: Json = False,
) -> None:
    """Everything but the toss."""
    request = request_of(Guarantee(), conference, accept_rate, bar)
    loaded, truth = Files(reviews, reviewers, pools, levels(grid)).load(request)
    promise = None if key is None else commit_to(read_key(key), loaded, truth, request)
    emit_json({"commitment": promise})
