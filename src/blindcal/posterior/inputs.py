"""Reading a conference: reviews, calibration, and the candidates of each paper.

Reviews name their reviewers, so `Inputs` is CONFIDENTIAL. `Inputs.prepared` separates the public side, from
which everything is planned, from the true reviewers, who enter only when coins are compared.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from blindcal.checks import check_type
from blindcal.compute.parallel import Progress, Workers, no_progress
from blindcal.errors import InputError
from blindcal.io.atomic_files import is_path, source_name
from blindcal.io.cells import count, number_text
from blindcal.pools.candidates import (
    EVERYONE,
    OUTSIDER,
    Pools,
    conflicts_in,
    is_everyone,
    pools_of,
    refuse_other_papers,
)
from blindcal.posterior.conference import (
    Conference,
    LevelByTrack,
    Parameters,
    Sources,
    TrueReviewers,
    prepare,
    read_reviewers,
    true_reviewers,
)
from blindcal.posterior.reuse_guard import read_scale, refuse_reused
from blindcal.reviewers.calibration import Scale
from blindcal.reviews import Reviews, missing_withdrawn_warnings, orient_reviewers, orient_reviews


@dataclass(frozen=True, eq=False)
class Inputs:
    """A conference as it was read by `read_inputs`. CONFIDENTIAL: the reviews name their reviewers.

    Attributes:
        reviews: This year's reviews, without withdrawn papers.
        parameters: The calibration: for each reviewer, and `*` for anyone else, the numbers of `FIELDS`.
        pools: For each paper its candidates and their probabilities.
        sources: The names of the three files, for messages.
        scale: How `fit` moved the calibration to this year's scores; None if `fit` did not write it.
        remarks: What the chair should know about withdrawn papers.
    """

    reviews: Reviews
    parameters: Parameters
    pools: Pools
    sources: Sources
    scale: Scale | None = None
    remarks: tuple[str, ...] = ()

    def prepared(
        self,
        *,
        accept_rate: LevelByTrack | None = None,
        bar: LevelByTrack | None = None,
        better: str = "high",
        workers: Workers = 1,
        progress: Progress = no_progress,
    ) -> tuple[Conference, TrueReviewers]:
        """The public side of the conference, with its bar, and the true reviewers.

        Args:
            accept_rate: The share to accept, as for `prepare`; give it or `bar`.
            bar: The bar itself, as for `prepare`.
            better: The better end of the scale, `high` or `low`.
            workers: How many processes share the work, or a cluster's pool; results are the same.
            progress: Called as work goes on; silent by default.
        """
        reviews = orient_reviews(self.reviews, better)
        papers = len(reviews.papers)
        with progress(f"weighing {count(papers, 'paper')}", papers) as advance:
            conference = prepare(
                reviews,
                orient_reviewers(self.parameters, better),
                self.pools,
                accept_rate=accept_rate,
                bar=bar,
                sources=self.sources,
                workers=workers,
                advance=advance,
            )
        # Someone who is not listed in the pool is `*`.
        who, pools = true_reviewers(conference, reviews), {c.paper: c.candidates for c in conference.cases}
        return conference, {
            paper: tuple(name if name in pool else OUTSIDER for name in who[paper])
            for paper, pool in pools.items()
        }

    def on_grid(self, grid: Sequence[float]) -> Inputs:
        """The same inputs with the `grid` of earlier decisions, unless a grid was declared now.

        A grid that is recognized in the scores would move with a late review, and with it every paper.
        """
        reviews = self.reviews
        if reviews.grid_declared:
            return self
        off = int((~np.isin(reviews.score, grid)).sum()) if grid else 0
        if off:
            scores = ", ".join(map(number_text, grid))
            raise InputError(
                f"{self.sources.reviews}: {count(off, 'score')} not among those that papers were decided "
                f"with ({scores}): give the scores that can be given as `grid`"
            )
        return replace(self, reviews=replace(reviews, grid=np.array(grid) if grid else None))


def read_inputs(
    reviews: str | os.PathLike[str] | Any,
    reviewers: str | os.PathLike[str] | Any,
    pools: str | os.PathLike[str] | Any,
    *,
    grid: Sequence[float] | None = None,
    withdrawn: Collection[str] = (),
) -> Inputs:
    """Read the three tables of a conference.

    Each is a comma-separated file or a data frame (pandas, Polars, a mapping of columns), held to the same
    rules. A data frame has no record of the reviews it was fitted on: give the file that `fit` wrote if you
    have it, so that a calibration of the reviews being decided is refused.

    Args:
        reviews: A table `paper,reviewer,score[,confidence,conference,track]`.
        reviewers: The calibration (see `read_reviewers`); one fitted on these very reviews is refused.
        pools: Who may have reviewed each paper (see `pools_of`), or the word `everyone`.
        grid: The scores that can be given; empty if any number can be. None: as `recognize_grid` finds.
        withdrawn: The ids of papers to leave out.

    Raises:
        InputError: Lists every problem of the first bad file.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> folder = TemporaryDirectory()
        >>> reviews, reviewers = (Path(folder.name) / name for name in ("reviews.csv", "reviewers.csv"))
        >>> _ = reviews.write_text("paper,reviewer,score\\np1,ada,7\\np2,ben,4\\np3,cleo,6\\n")
        >>> calibration = "reviewer,slope,offset,noise\\nada,1.2,6,1\\nben,1,4.5,1\\ncleo,1,5,1\\n"
        >>> _ = reviewers.write_text(calibration)
        >>> inputs = read_inputs(reviews, reviewers, "everyone")
        >>> inputs.reviews
        Reviews(3 reviews of 3 papers by 3 reviewers)
        >>> sorted(inputs.pools["p1"])
        ['ada', 'ben', 'cleo']
        >>> folder.cleanup()
    """
    named = Sources(
        source_name(reviews, "reviews"),
        source_name(reviewers, "reviewers"),
        f"`pools` {EVERYONE}" if is_everyone(pools) else source_name(pools, "pools"),
    )
    if named.pools != EVERYONE == named.pools.casefold() and not os.path.exists(named.pools):
        raise InputError(f"`pools`: the word is {EVERYONE}, in small letters, found {named.pools!r}")
    if is_path(reviews):
        whole = Reviews.read(reviews, grid=grid)
    else:
        whole = Reviews.from_table(reviews, grid=grid, name=named.reviews)
    if is_path(pools):
        refuse_other_papers(named.pools, [paper for paper, _ in conflicts_in(pools)], whole.papers)
    parameters = read_reviewers(reviewers)
    present = whole.without(withdrawn)
    refuse_reused(reviewers, parameters, present)
    return Inputs(
        present,
        parameters,
        pools_of(pools, present.papers, parameters),
        named,
        read_scale(reviewers),
        tuple(missing_withdrawn_warnings(whole, withdrawn, named.reviews)),
    )


def example_inputs() -> Inputs:
    """The inputs of a made-up conference of three papers and three reviewers, for examples.

    Returns:
        What `read_inputs` makes of its three tables.

    Example:
        >>> example_inputs().reviews
        Reviews(3 reviews of 3 papers by 3 reviewers)
    """
    reviews = {"paper": ["p1", "p2", "p3"], "reviewer": ["ada", "ben", "cleo"], "score": [7, 4, 6]}
    reviewers = {
        "reviewer": ["ada", "ben", "cleo"],
        "slope": [1.2, 1, 1],
        "offset": [6, 4.5, 5],
        "noise": [1, 1, 1],
    }
    return read_inputs(reviews, reviewers, "everyone")


def check_inputs(inputs: object) -> None:
    """Refuse anything that `read_inputs` did not return, such as the path of a file."""
    check_type("inputs", inputs, Inputs, "what read_inputs returns")
