"""Prints verdicts about conferences that differ in nothing but roundoff; run under several kernels."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from blindcal.adversaries.coupled_mcmc import _largest_disagreement
from blindcal.calibrators import raw, standardized
from blindcal.calibrators.assessment import assess
from blindcal.errors import InputError
from blindcal.fitting.diagnostics import _curvature_variance, mean_score_skewness
from blindcal.fitting.history import History, PastConference, build_history, match_scale
from blindcal.planning.calibration_check import check_calibration
from blindcal.posterior.paper import PaperCase
from blindcal.reviews import Reviews

VALUES = (0.1, 0.3, 0.7, 5.0, 1e6 / 3)
SCORES = ((0.1, 0.2, 0.7), (0.1, 0.2, 0.3), (3.3, 4.7, 9.1))
Z = (-0.3, 1.1, 0.2, -1.6, 0.9, -0.8, 0.1, 1.7, -0.5, 0.4, -1.2)


def cases(offset: float, reviews: int, papers: int) -> list[PaperCase]:
    """Papers of candidates who are all alike, with pools of several sizes."""
    row = (0.1, offset, 0.1, 0.0, 0.0, 0.0, 0.0)
    found = []
    for paper in range(papers):
        size = reviews + 1 + paper
        names = tuple(f"r{j:02d}" for j in range(size))
        scores = tuple(sorted(offset + 0.1 * z for z in Z[paper : paper + reviews]))
        found.append(PaperCase(f"p{paper}", scores, names, (reviews / size,) * size, (row,) * size, 0.0))
    return found


def agreements() -> None:
    found = [
        check_calibration(cases(offset, reviews, papers))
        for offset in VALUES
        for reviews in (1, 2, 3, 5)
        for papers in (1, 2, 3, 7)
    ]
    mirrored, verdicts = {one.mirrored for one in found}, {one.verdict for one in found}
    print("mirrored: all None" if mirrored == {None} else f"mirrored: {mirrored}")
    print("fits: all" if verdicts == {"fits"} else {one.notes for one in found})


def table(rows: list[tuple[str, str, float]]) -> Reviews:
    paper, reviewer, score = zip(*rows, strict=True)
    return Reviews.from_table({"paper": paper, "reviewer": reviewer, "score": score})


def shuffled(papers: int) -> Reviews:
    """Each paper has the same scores, by other people: sums in another order."""
    return table(
        [(f"p{i}", f"r{j}", s) for i in range(papers) for j, s in enumerate(np.roll([0.1, 0.2, 0.3], i))]
    )


def equal(papers: int, score: float) -> Reviews:
    """All scores are equal; papers have 3, 4, 5, ... of them."""
    return table([(f"p{i}", f"r{j}", score) for i in range(papers) for j in range(3 + i)])


def calibrators() -> None:
    ranks = {int(rank) for reviews in (shuffled(4), equal(6, 0.7)) for rank in raw(reviews).rank}
    print("raw ranks: all 1" if ranks == {1} else f"raw ranks: {ranks}")
    chances = {float(c) for v in VALUES for c in raw(equal(6, v)).probability_accepted(0.5).round(6)}
    print(f"chances of being accepted: all {chances.pop()}" if len(chances) == 1 else chances)
    flat = table([(f"p{i}", "r0", 0.1) for i in range(1000)])
    print(f"standardized: at most {np.abs(standardized(flat).quality).max()}")
    same = table([(f"p{i}", f"r{j}", 0.1 * (i % 4) + 0.1) for i in range(12) for j in range(3)])
    found = assess(same)
    print(f"assessed: {found.verdict}, {'something' if found.predictions else 'nothing'} to predict")


def history(scores: list[list[float]]) -> History:
    rows = [(f"p{i}", f"r{j}", s) for i, row in enumerate(scores) for j, s in enumerate(row)]
    paper, reviewer, score = zip(*rows, strict=True)
    unknown = np.full(len(rows), np.nan)
    return build_history(
        [PastConference("then", "then.csv", paper, reviewer, np.array(score), unknown, None, "high")]
    )


def fits() -> None:
    alike = [history([list(np.roll(scores, i)) for i in range(7)]) for scores in SCORES]
    print(f"bend: {max(abs(mean_score_skewness(one).value) for one in alike)}")
    strangers = replace(alike[0], reviewer=np.arange(21), reviewers=tuple(f"r{j}" for j in range(21)))
    rng = np.random.default_rng(1)
    found = {_curvature_variance(strangers, *rng.standard_normal((2, 21))) for _ in range(9)}
    # Of everybody's quality the square is the same.
    found.add(_curvature_variance(alike[0], 0.3 * rng.choice([-1.0, 1.0], 21), rng.standard_normal(21)))
    print("curved: nothing to compare" if found == {(0.0, np.inf)} else f"curved: {found}")


def walks() -> None:
    seen, start = np.array([0.1, 0.3, 0.7, 0.11, 0.13, 0.17]), np.array([0, 0, 1, 1, 2, 2])
    print(
        f"walks apart: {max(_largest_disagreement(share * seen, seen, start) for share in (1.0, 0.3, 0.7))}"
    )


def scale() -> None:
    rows = np.array([[0.1, 0.3, 0.1, 0.01, 0.01, 0.0, 0.01]] * 3).T
    refusals = set()
    for score, papers in product(VALUES, range(1, 7)):
        try:
            match_scale(rows, equal(papers, score))
        except InputError as error:
            refusals.add(str(error))
    alike = refusals == {"this year's scores are all equal: they have no scale"}
    print("scale: refused, all equal" if alike else refusals)


if __name__ == "__main__":
    agreements()
    calibrators()
    fits()
    walks()
    scale()
