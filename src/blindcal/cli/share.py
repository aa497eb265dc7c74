"""`blindcal share`: noisy sums of a past conference, for the fits of other conferences."""

from __future__ import annotations

from pathlib import Path

from blindcal.cells import count
from blindcal.cli.console import Json, emit_json, note, say
from blindcal.cli.options import argument, decimal, numeric, option, word
from blindcal.fitting.committee import read_committee
from blindcal.fitting.shared_sums import statement_path
from blindcal.project.settings import parse_grid
from blindcal.reviews import BETTER, Reviews
from blindcal.sharing import LossLimit, shared_folder
from blindcal.sharing import share as share_sums


def share(
    past: Path = argument("Reviews of one past conference: columns paper, reviewer, score."),
    committee: Path = option(
        "A public list of people: column reviewer. Each gets a row, whether they reviewed or not.",
        default=...,
    ),
    key: Path = option("The secret key that `blindcal new` made.", default=...),
    out: Path = option("The table to write; an existing file is never overwritten.", default=...),
    epsilon: float | None = numeric(decimal, "Limit of the privacy loss of one review."),
    zcdp: float | None = numeric(
        decimal, "The same limit as rho of zero-concentrated differential privacy, instead of --epsilon."
    ),
    conference: str | None = option("The name of the conference; else that of the file."),
    grid: str | None = option(
        "The scores reviewers could give: 1..10, or a list such as 1,3,5, or none if any number could be "
        "given. Unless given, they are recognized in the scores."
    ),
    better: str = word(BETTER, "Which scores are better, high or low.", default="high"),
    reason: str = option("Why sums of the same reviews are shared again; their losses add up.", default=""),
    as_json: Json = False,
) -> None:
    """Release noisy sums about people, with a stated limit of what they reveal.

    Writes OUT (reviewer, above, below) and OUT.share.json, which says what is promised and how the numbers
    are read; both may be sent to other conferences, which import them like past reviews (keep both files in
    one folder). What is released is sealed beside the key: the same input returns the same numbers. Needs
    OpenDP.

    Example: blindcal share 2025.csv --committee committee.csv --epsilon 1 --key icx2025.key
    --out 2025.shared.csv
    """
    limit = LossLimit(epsilon, zcdp)
    people = read_committee(committee)
    reviews = Reviews.read(past, grid=parse_grid(grid))
    name = conference or past.name.removesuffix(".csv")
    done = share_sums(reviews, people, limit, key, out, conference=name, better=better, reason=reason)
    facts = {
        "how": done.how,
        "out": out,
        "statement_file": statement_path(out),
        "statement": done.statement,
        "total": {"epsilon": done.total.epsilon, "zcdp": done.total.zcdp},
        "sealed": shared_folder(key),
        "notes": [],
    }
    if not as_json:
        again = "shared before: the stored numbers are returned, no noise was drawn"
        how = "new noise was drawn" if done.how == "new" else again
        say(f"a row for {len(people):,} {'person' if len(people) == 1 else 'people'}; {how}")
        say(f"privacy loss of one review: {_loss(epsilon, zcdp)}")
        total = done.total
        at_delta = f"epsilon {total.epsilon_at(1e-6):.3g} but for a chance of 1e-6"
        loss = at_delta if total.epsilon is None else f"epsilon {total.epsilon:g}"
        say(f"with everything that was shared of these reviews: {loss}")
        say(f"public: {out}, {statement_path(out)}")
        say(f"CONFIDENTIAL, never share: {key}, {shared_folder(key)}")
    if reason and done.how == "stored":
        note("`reason` was not entered: nothing new was shared")
    if done.left_out:
        note(
            f"for you alone: {count(done.left_out, 'review')} by people who are not on the list count for "
            "nobody"
        )
    if as_json:
        emit_json(facts)


def _loss(epsilon: float | None, zcdp: float | None) -> str:
    return f"zCDP {zcdp:g}" if epsilon is None else f"epsilon {epsilon:g}"
