"""Past conferences for tests, written out; drawn ones with their truth are in studies/past_reviews.py."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from blindcal.fitting import estimate
from blindcal.fitting.history import History, build_history, past_conferences
from blindcal.fitting.received_sums import SharedSums
from blindcal.reviews import Reviews

ROWS = [
    ("A", "1", "ann", 6.5, 3),
    ("A", "1", "bob", 4.0, 2),
    ("A", "2", "ann", 5.0, 2),
    ("A", "2", "cyd", 3.5, 3),
    ("A", "3", "bob", 7.0, 3),
    ("A", "3", "cyd", 6.0, 3),
    ("B", "1", "ann", 2.0, 3),
    ("B", "1", "dan", 3.0, 2),
    ("B", "2", "bob", 1.0, 3),
    ("B", "2", "dan", 2.0, 3),
    ("B", "2", "ann", 2.0, 2),
    ("B", "3", "bob", 4.0, 3),
    ("B", "3", "ann", 3.0, 3),
]
PEOPLE, PAPERS = 60, 90  # of the drawn years
NAMES = ("conference", "paper", "reviewer", "score", "confidence")


def tiny_reviews() -> Reviews:
    """Two conferences, four people, three papers each; one scale is whole numbers, the other is not."""
    return Reviews.from_table(dict(zip(NAMES, zip(*ROWS, strict=True), strict=True)))


def tiny_shared() -> SharedSums:
    """What a conference between the two shared: of ann, and of eve, who came to neither."""
    above, below = np.array([310, 70]), np.array([120, 190])
    return SharedSums("M", ("ann", "eve"), above, below, mean=0.05, gain=0.8, variance=0.4, noise=4000.0)


def tiny_history(*, shared: bool = False) -> History:
    """The same; the second conference is rounded to 1, 2, 3, 4."""
    pasts = past_conferences({"past": tiny_reviews()})
    grid = np.array([1.0, 2.0, 3.0, 4.0])
    object.__setattr__(pasts[1], "grid", grid)
    return build_history(pasts, [(1, tiny_shared())] if shared else ())


def few_sweeps(patch: pytest.MonkeyPatch) -> None:
    for name in ("_MAX_SWEEPS", "_MIN_SWEEPS"):
        patch.setattr(estimate, name, 60)


def short_fits(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Fits by command take few sweeps in one process, in this folder."""
    few_sweeps(patch)
    for module in ("fit", "imports"):
        patch.setattr(f"blindcal.cli.{module}.available_cores", lambda: 1)
    patch.chdir(folder)


def lenient_year(rng: np.random.Generator, offset: np.ndarray, middle: float, name: str) -> Reviews:
    """A conference on the scale 1..10; three reviews a paper, habits that last."""
    who = np.argsort(rng.random((PAPERS, PEOPLE)), axis=1)[:, :3]
    quality = rng.standard_normal((PAPERS, 1))
    score = middle + 1.5 * (quality + offset[who] + 0.7 * rng.standard_normal(who.shape))
    table = {
        "conference": [name] * who.size,
        "paper": [f"{name}p{i}" for i in np.repeat(np.arange(PAPERS), 3)],
        "reviewer": [f"r{j}" for j in who.ravel()],
        "score": np.clip(np.round(score), 1.0, 10.0).ravel(),
    }
    return Reviews.from_table(table, grid=np.arange(1.0, 11.0))


def turned(reviews: Reviews) -> Reviews:
    """The same reviews on the reversed scale."""
    return replace(reviews, score=11.0 - reviews.score)


def lenient_years(seed: int, middle: float = 6.5, spread: float = 0.3) -> tuple[dict[str, Reviews], Reviews]:
    """Two past years and this one, whose means differ a little."""
    rng = np.random.default_rng([43, seed])
    offset = 0.6 * rng.standard_normal(PEOPLE)
    names = ("25", "26", "27")
    one, two, now = (lenient_year(rng, offset, middle + spread * rng.standard_normal(), n) for n in names)
    return {"25": one, "26": two}, now
