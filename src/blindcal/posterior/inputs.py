"""Reading a conference: reviews, calibration, and the candidates of each paper.

Reviews name their reviewers, so `Inputs` is CONFIDENTIAL. `Inputs.prepared` separates the public side, from
which everything is planned, from the true reviewers, who enter only when coins are compared.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

from blindcal.checks import check_type
from blindcal.compute.parallel import Progress, Workers, no_progress
from blindcal.errors import InputError
from blindcal.io.atomic_files import is_path, source_name
from blindcal.io.cells import count
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
    Truth,
    prepare,
    read_reviewers,
    reviewers_by_slot,
)
from blindcal.posterior.reuse_guard import read_scale, refuse_reused
from blindcal.posterior.this_year_inputs import ThisYearInputs, read_evidence
from blindcal.reviewers.calibration import Scale
from blindcal.reviews import (
    Reviews,
    missing_withdrawn_warnings,
    on_recorded_grid,
    orient_reviewers,
    orient_reviews,
    refuse_similar_withdrawn,
)

PAST = "past"


@dataclass(frozen=True, eq=False)
class Inputs:
    """A conference with a calibration and candidates. CONFIDENTIAL: the reviews name their reviewers.

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

    @property
    def source(self) -> str:
        """Where the evidence comes from: past reviews, or whatever else the calibration was made from."""
        return PAST

    def prepared(
        self,
        *,
        accept_rate: LevelByTrack | None = None,
        bar: LevelByTrack | None = None,
        better: str = "high",
        workers: Workers = 1,
        progress: Progress = no_progress,
    ) -> tuple[Conference, Truth]:
        """The public side of the conference, with its bar, and who wrote what.

        Args:
            accept_rate: The share to accept, as for `prepare`; give it or `bar`.
            bar: The bar itself, as for `prepare`.
            better: The better end of the scale, `high` or `low`.
            workers: As for `prepare`.
            progress: Called as work goes on; silent by default.
        """
        reviews = orient_reviews(self.reviews, better)
        with progress(f"weighing {count(len(reviews.papers), 'paper')}", len(reviews.papers)) as advance:
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
        who = reviewers_by_slot(reviews)
        truth = {
            case.paper: tuple(name if name in case.candidates else OUTSIDER for name in who[case.paper])
            for case in conference.pooled
        }
        return conference, Truth(truth)

    def on_grid(self, grid: Sequence[float]) -> Inputs:
        """The same inputs with the `grid` of earlier decisions, unless a grid was declared now."""
        return replace(self, reviews=on_recorded_grid(self.reviews, grid, self.sources.reviews))


@overload
def read_inputs(
    reviews: Any,
    *,
    evidence: Any = None,
    grid: Sequence[float] | None = None,
    withdrawn: Collection[str] = (),
) -> ThisYearInputs: ...


@overload
def read_inputs(
    reviews: Any,
    reviewers: Any,
    pools: Any,
    *,
    grid: Sequence[float] | None = None,
    withdrawn: Collection[str] = (),
) -> Inputs: ...


def read_inputs(
    reviews: Any,
    reviewers: Any = None,
    pools: Any = None,
    *,
    evidence: Any = None,
    grid: Sequence[float] | None = None,
    withdrawn: Collection[str] = (),
) -> Inputs | ThisYearInputs:
    """Read the tables of a conference: its reviews alone, or with a calibration and candidates.

    Each is a comma-separated file or a data frame (pandas, Polars, a mapping of columns), held to the same
    rules. A data frame has no record of the reviews it was fitted on: give the file that `fit` wrote if you
    have it, so that a calibration of the reviews being decided is refused.

    Args:
        reviews: A table `paper,reviewer,score[,confidence,conference,track,area]`.
        reviewers: The calibration (see `read_reviewers`); one fitted on these very reviews is refused. By
            default there is none, and the reviews are calibrated on themselves.
        pools: With a calibration: who may have reviewed each paper (see `pools_of`), or the word `everyone`.
        evidence: Without a calibration: evidence that another method made (see `read_evidence`), or a
            function from `Reviews` to it.
        grid: The scores that can be given; empty if any number can be. None: as `infer_grid` finds.
        withdrawn: The ids of papers to leave out.

    Raises:
        InputError: Lists every problem of the first bad file.

    Example:
        >>> table = {"paper": ["p", "q"], "reviewer": ["ada", "ben"], "score": [7, 4]}
        >>> read_inputs(table).source
        'this-year'
        >>> calibration = {"reviewer": ["ada", "ben"], "slope": [1.2, 1], "offset": [6, 4.5], "noise": [1, 1]}
        >>> sorted(read_inputs(table, calibration, "everyone").pools["p"])
        ['ada', 'ben']
    """
    file = source_name(reviews, "reviews")
    is_file = is_path(reviews)
    whole = Reviews.read(reviews, grid=grid) if is_file else Reviews.from_table(reviews, grid=grid, name=file)
    refuse_similar_withdrawn(whole, withdrawn, file)
    present, remarks = whole.without(withdrawn), tuple(missing_withdrawn_warnings(whole, withdrawn, file))
    if reviewers is None:
        if pools is not None:
            raise InputError("`pools` goes with `reviewers`: without a calibration nobody's scores are known")
        made = evidence(present) if callable(evidence) else evidence
        given = None if made is None else read_evidence(made, present, withdrawn)
        return ThisYearInputs(present, Sources(file, "", ""), given, remarks)
    if evidence is not None:
        raise InputError("`evidence` goes without `reviewers`: it takes the place of a calibration")
    if pools is None:
        raise InputError("`reviewers` needs `pools`: who may have reviewed each paper, or the word everyone")
    candidates = f"`pools` {EVERYONE}" if is_everyone(pools) else source_name(pools, "pools")
    named = Sources(file, source_name(reviewers, "reviewers"), candidates)
    if named.pools != EVERYONE == named.pools.casefold() and not os.path.exists(named.pools):
        raise InputError(f"`pools`: the word is {EVERYONE}, in small letters, found {named.pools!r}")
    if is_path(pools):
        refuse_other_papers(named.pools, [paper for paper, _ in conflicts_in(pools)], whole.papers)
    parameters = read_reviewers(reviewers)
    refuse_reused(reviewers, parameters, present)
    by_paper = pools_of(pools, present.papers, parameters)
    return Inputs(present, parameters, by_paper, named, read_scale(reviewers), remarks)


def example_inputs() -> Inputs:
    """The inputs of a made-up conference of three papers and three reviewers, for examples.

    >>> example_inputs().reviews
    Reviews(3 reviews of 3 papers by 3 reviewers)
    """
    who = ["ada", "ben", "cleo"]
    reviews = {"paper": ["p1", "p2", "p3"], "reviewer": who, "score": [7, 4, 6]}
    reviewers = {"reviewer": who, "slope": [1.2, 1, 1], "offset": [6, 4.5, 5], "noise": [1, 1, 1]}
    return read_inputs(reviews, reviewers, "everyone")


def check_inputs(inputs: object) -> None:
    """Refuse anything that `read_inputs` did not return, such as the path of a file."""
    if not isinstance(inputs, ThisYearInputs):
        check_type("inputs", inputs, Inputs, "what read_inputs returns")


def example_reviews() -> ThisYearInputs:
    """The reviews of a made-up conference of six papers and four reviewers, for examples: ben is strict."""
    rows = [("p1", "ada", 7), ("p1", "ben", 4), ("p2", "ben", 3), ("p2", "cleo", 5), ("p3", "cleo", 6)]
    rows += [("p3", "dan", 7), ("p4", "dan", 3), ("p4", "ada", 4), ("p5", "ben", 6), ("p5", "dan", 8)]
    papers, reviewers, scores = zip(*rows, ("p6", "ada", 2), ("p6", "cleo", 3), strict=True)
    return read_inputs({"paper": papers, "reviewer": reviewers, "score": scores})
