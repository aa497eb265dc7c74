"""What `plan`, `decide` and `verify` read: the options they share, and the conference behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from blindcal.cli.arguments import decimal, evidence, probability, share
from blindcal.cli.completions import conference_folders, one_of
from blindcal.cli.folders import current_folder
from blindcal.planning.request import SCORES
from blindcal.policy.guarantee import NAMES
from blindcal.posterior.inputs import Inputs, read_inputs
from blindcal.project.outsiders import strangers_listed
from blindcal.project.settings import Folder
from blindcal.reviews import BETTER

ReviewsFile = Annotated[
    Path,
    typer.Argument(
        help="Table with columns paper, reviewer, score; or a folder that `blindcal new` made, which has all "
        "options that are not given.",
        autocompletion=conference_folders,
    ),
]
ReviewersFile = Annotated[
    Path,
    typer.Option(
        help="Reviewers' calibration: columns reviewer, slope, offset, noise; optionally slope_se, "
        "offset_se, correlation, noise_se; a row * for anyone without a row. Never fitted on these reviews."
    ),
]
PoolsFile = Annotated[
    Path,
    typer.Option(
        help="Who may have reviewed each paper: columns paper, reviewer, optionally probability. Or sampled "
        "assignments: draw, paper, reviewer. Or conflicts, if everyone else is a candidate: paper, conflict. "
        "Or the word everyone."
    ),
]
Rate = Annotated[
    float | None,
    typer.Option(parser=share, metavar="NUMBER", help="Share of papers to accept; this sets the bar."),
]
Accept = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER",
        help="How many papers to accept, exactly; or how many of each track (main=40,short=10), by the "
        "column track of the reviews. It may be changed later: blindcal select.",
    ),
]
WaitList = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER",
        help="How many more papers are on the wait list, in their order; or how many of each track. Only "
        "with --accept.",
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
Scores = Annotated[
    str,
    typer.Option(
        help="Who may see the scores of all papers: public, everyone, or confidential; then nothing in OUT "
        "depends on them but the decisions.",
        autocompletion=one_of(SCORES),
    ),
]
Name = Annotated[
    str,
    typer.Option(
        "--guarantee",
        help="steady, public or average; none also needs --yes-leak.",
        autocompletion=one_of(NAMES),
    ),
]
Added = Annotated[
    float,
    typer.Option(
        parser=probability,
        metavar="NUMBER",
        help="Extra chance of naming an author that you allow: 0.01 = one more in 100 reviews. Only with "
        "--guarantee average.",
    ),
]
Epsilon = Annotated[
    str | None,
    typer.Option(
        help="No decision changes anyone's odds by more than e^EPSILON; none removes the limit. With steady "
        "and average it is 2 unless given."
    ),
]
Multiplier = Annotated[
    float | None,
    typer.Option(
        parser=decimal,
        metavar="NUMBER",
        help="Largest factor by which a correct guess may become more likely. Between 1 and 2.",
    ),
]
Cap = Annotated[
    float | None,
    typer.Option(
        parser=probability,
        metavar="NUMBER",
        help="No decision may leave one author of a review more likely than this.",
    ),
]
Never = Annotated[
    float | None,
    typer.Option(
        parser=evidence,
        metavar="NUMBER",
        help="Never decide against evidence at least this strong. Between 0.5 and 1.",
    ),
]
ConferenceName = Annotated[
    str, typer.Option(help="This conference's name in the ledger, if one key serves several.")
]
Withdrawn = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PAPER", help="A paper that was withdrawn: left out, whatever the files say; repeatable."
    ),
]
Numbered = Annotated[
    bool,
    typer.Option("--numbered", help="Each release has a folder of its own in OUT: release-1, release-2."),
]
Published = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="<path>",
        help="A folder published earlier with this key, of one release or of all, to check key and ledger "
        "against; repeatable.",
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
        help="Allow decisions to reveal reviewers: --guarantee none, or a budget that reveals at least half "
        "of what full calibration would.",
    ),
]


@contextmanager
def loaded(
    reviews: Path,
    reviewers: Path,
    pools: Path,
    grid: Sequence[float] | None,
    out: Path | None = None,
    withdrawn: Sequence[str] | None = None,
) -> Iterator[Inputs]:
    """The conference in these files, without papers withdrawn; reviewers whom no pool turns out to hold are
    listed beside `reviews`, never in `out`."""
    with strangers_listed(reviews, out, _folder_of(reviewers, pools)):
        yield read_inputs(reviews, reviewers, pools, grid=grid, withdrawn=withdrawn or ())


def _folder_of(reviewers: Path, pools: Path) -> Folder | None:
    """The folder that a command was given, where calibration and pools are its own."""
    folder, used = current_folder(), {"reviewers": reviewers, "pools": pools}
    own = folder is not None and all(Path(str(folder.settings.get(name))) == used[name] for name in used)
    return folder if own else None
