"""How well `fit` recovers reviewers from past reviews: coverage of its intervals, and errors beside others'.

Simulated histories: 20 conferences, 1,000 reviewers with 1 to 12 past reviews each, three reviews a paper,
with and without drift, rounded to 1..10 or not; and short ones, 5 conferences and 250 reviewers. An estimate
is compared with the reviewer's true slope, offset and noise at the *next* conference. The error of (slope,
offset) is the root mean square difference of the expected score over papers, `sqrt((slope error)^2 + (offset
error)^2)`, in standard deviations of the scores. Beside it: a common slope with each reviewer's shrunken
offset (crossed random effects, REML). And a committee of 40 after two past years of nine reviews each, which
hardly show how habits drift: the fit averages over what its prior takes for possible, correlations from one
year to the next around .8 (Beta(4, 1)). Writes docs/numbers/past_reviews.json and the tables of
docs/evidence/history_and_sharing.md and docs/explanation/calibration_models.md.

    python studies/past_reviews.py --histories 20 --drifting 40 --short 120
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.sparse import csr_array

import blindcal as bc
from blindcal.compute.parallel import parallel_map
from blindcal.fitting.history import History, build_history, past_conferences
from stated import asked, keep, mean_and_error, table, with_errors

_INTERVAL = 1.6448536269514722  # 90 %
SETTINGS = {
    "no drift": (1.0, False),
    "drift": (0.8, False),
    "no drift, rounded": (1.0, True),
    "drift, rounded": (0.8, True),
    "short, no drift": (1.0, False),
    "short, drift, rounded": (0.8, True),
}
_SHORT = 250, 5  # reviewers and conferences of a short history
# After two past years: how habits correlate from one conference to the next, None if drawn from the prior of
# the fit; and the standard deviation of offsets.
TWO_YEARS = {
    "reviewers stay the same": (1.0, 0.4),
    "reviewers stay the same, offsets of .67": (1.0, 0.67),
    "years correlate by .8": (0.8, 0.4),
    "any drift, as the fit expects it": (None, 0.4),
}
_GRID = np.arange(1.0, 11.0)


@dataclass(frozen=True)
class Drawn:
    """Past reviews and the truth behind them: everybody's slope, offset and noise at the conference after the
    last, on the scale of the last past one."""

    reviews: bc.Reviews
    truth: dict[str, tuple[float, float, float]]


def drawn_pasts(
    rng: np.random.Generator,
    people: int = 1000,
    conferences: int = 20,
    *,
    most: int = 12,
    least: int = 1,
    persistence: float = 1.0,
    grid: np.ndarray | None = None,
    offset_sd: float = 0.4,
) -> Drawn:
    """Each person has `least` to `most` past reviews at random conferences.

    Slopes 1 +- .3 (above 0.05), offsets 0 +- offset_sd, noise 0.5 e^(+-0.3), in units of quality; the
    scale of each conference is about 5.5 + 1.7 times that.
    """
    who = np.repeat(np.arange(people), rng.integers(least, most + 1, people))
    where = rng.integers(0, conferences, who.size)
    habits = _drifting(rng, people, conferences + 1, persistence)
    slope, offset = np.maximum(1.0 + 0.3 * habits[0], 0.05), offset_sd * habits[1]
    noise = 0.5 * np.exp(0.3 * rng.standard_normal(people))
    middle, width = rng.normal(5.5, 0.5, conferences), 1.7 * np.exp(0.15 * rng.standard_normal(conferences))
    table: dict[str, list[object]] = {name: [] for name in ("conference", "paper", "reviewer", "score")}
    for c in range(conferences):
        paper, person = dealt(rng, who[where == c])
        quality = rng.standard_normal(paper.max() + 1)
        plain = slope[person, c] * quality[paper] + offset[person, c]
        score = middle[c] + width[c] * (plain + noise[person] * rng.standard_normal(person.size))
        if grid is not None:
            score = grid[np.abs(score[:, None] - grid).argmin(axis=1)]
        table["conference"] += [f"c{c}"] * person.size
        table["paper"] += [f"p{i}" for i in paper]
        table["reviewer"] += [f"r{j}" for j in person]
        table["score"] += score.tolist()
    rows = zip(
        (width[-1] * slope[:, -1]).tolist(),
        (middle[-1] + width[-1] * offset[:, -1]).tolist(),
        (width[-1] * noise).tolist(),
        strict=True,
    )
    return Drawn(bc.Reviews.from_table(table, grid=grid), {f"r{j}": row for j, row in enumerate(rows)})


def _drifting(rng: np.random.Generator, people: int, times: int, persistence: float) -> np.ndarray:
    """Standard normal (slope, offset) of each person at each time, correlated from one to the next."""
    found = np.empty((2, people, times))
    found[..., 0] = rng.standard_normal((2, people))
    for time in range(1, times):
        fresh = np.sqrt(1 - persistence**2) * rng.standard_normal((2, people))
        found[..., time] = persistence * found[..., time - 1] + fresh
    return found


def dealt(rng: np.random.Generator, who: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Papers for these reviews, three each, nobody twice on one: repeats are left out."""
    person = rng.permutation(who)
    paper = np.arange(person.size) % max(2, person.size // 3)
    first = np.unique(paper * (person.max() + 1) + person, return_index=True)[1]
    return paper[first], person[first]


# --- the other method: in standard deviations of each conference's scores


def shrunken_offsets(history: History) -> tuple[float, np.ndarray]:
    """Common slope, and each reviewer's best linear unbiased offset, variances by restricted maximum
    likelihood of `score = conference + paper + reviewer + noise`."""
    n, papers, people = len(history), len(history.paper_conference), len(history.reviewers)
    rows = np.arange(n)
    paper = csr_array((np.ones(n), (rows, history.paper)), shape=(n, papers))
    wide = np.stack([history.reviewer, people + history.conference])
    conferences = len(history.conferences)
    rest = csr_array((np.ones(2 * n), (np.tile(rows, 2), wide.ravel())), shape=(n, people + conferences))
    reviews, square = history.per_paper(), (rest.T @ rest).toarray()
    cross, y = (paper.T @ rest).tocsr(), history.score
    by_paper, by_rest = paper.T @ y, rest.T @ y

    def parts(logs: np.ndarray) -> tuple[float, float, np.ndarray]:
        ratio = np.exp(logs)
        diagonal = reviews + ratio[0]
        matrix = square - (cross.T @ (cross / diagonal[:, None])).toarray()
        matrix[np.arange(people), np.arange(people)] += ratio[1]
        # The sum of conferences and that of papers coincide nowhere: only offsets are drawn to 0.
        factor = cho_factor(matrix + 1e-9 * np.eye(len(matrix)), lower=True)
        right = by_rest - cross.T @ (by_paper / diagonal)
        solved = cho_solve(factor, right)
        left = float(y @ y - by_paper @ (by_paper / diagonal) - right @ solved)
        noise = left / (n - conferences)
        logdet = 2 * np.log(np.diag(factor[0])).sum() + np.log(diagonal).sum()
        value = (n - conferences) * np.log(noise) + logdet - papers * logs[0] - people * logs[1]
        return float(value), noise, solved

    best = minimize(
        lambda x: parts(x)[0], [-0.5, 0.5], method="Nelder-Mead", options={"xatol": 0.01, "fatol": 0.01}
    )
    _, noise, solved = parts(best.x)
    return float(np.sqrt(noise / np.exp(best.x[0]))), solved[:people]


@dataclass(frozen=True)
class Compared:
    """One history: coverage of (slope, offset, noise), and by reviewer the number of past reviews and the
    squared errors of the fit and of shrunken offsets."""

    cover: np.ndarray
    reviews: np.ndarray
    squares: np.ndarray
    persistence: float


def compared(drawn: Drawn, *, sweeps: int | None = None) -> Compared:
    fitted = bc.fit(drawn.reviews, sweeps=sweeps)
    history = build_history(past_conferences({"past": drawn.reviews}))
    middle, width = history.middle[-1], history.width[-1]
    truth = np.array([drawn.truth[name] for name in history.reviewers]).T
    found = np.array([fitted.roster[name] for name in history.reviewers]).T
    inside = np.abs(found[:3] - truth) < _INTERVAL * found[[3, 4, 6]]
    common, offsets = shrunken_offsets(history)
    true_slope, true_offset = truth[0] / width, (truth[1] - middle) / width
    guesses = [
        (found[0] / width, (found[1] - middle) / width),
        (np.full(offsets.shape, common), offsets),
    ]
    squares = [(a - true_slope) ** 2 + (b - true_offset) ** 2 for a, b in guesses]
    return Compared(
        inside.mean(axis=1),
        history.per_reviewer(),
        np.array(squares),
        fitted.checks.persistence.value,
    )


def compute(job: tuple[str, int]) -> Compared:
    """One history, drawn by its setting and number."""
    setting, number = job
    if setting in TWO_YEARS:
        return after_two_years(setting, number)
    persistence, rounded = SETTINGS[setting]
    rng = np.random.default_rng([list(SETTINGS).index(setting), number])
    size = _SHORT if setting.startswith("short") else ()
    return compared(drawn_pasts(rng, *size, persistence=persistence, grid=_GRID if rounded else None))


def after_two_years(setting: str, number: int) -> Compared:
    rng = np.random.default_rng([98, number])
    fixed, offset = TWO_YEARS[setting]
    persistence = float(rng.beta(4.0, 1.0)) if fixed is None else fixed
    return compared(drawn_pasts(rng, 40, 2, least=9, most=9, persistence=persistence, offset_sd=offset))


def coverage_table(found: dict[str, list[Compared]]) -> list[str]:
    rows = []
    for name, runs in found.items():
        cover = with_errors(np.array([run.cover for run in runs]), ".1f", " %", 100)
        rows.append([name, *cover, *with_errors(np.array([[run.persistence] for run in runs]))])
    return table(["histories", "slope", "offset", "noise", "persistence found"], *rows)


def sentences(found: dict[str, list[Compared]]) -> dict[str, list[str]]:
    """How far single histories are from their mean, and what the table of errors does not show."""
    cover = 100 * np.array([run.cover for run in found["drift, rounded"]])
    compared_all = (
        paired(runs, 1, *lengths)
        for name, runs in found.items()
        for lengths in _LENGTHS
        if not name.startswith("short")
    )
    ahead = [mean / error for mean, error in compared_all]
    return {
        "docs/evidence/history_and_sharing.md": [
            f"from {cover.min():.0f} % to {cover.max():.0f} %",
            f"by {min(ahead):.1f} to {max(ahead):.1f} standard errors",
        ]
    }


_LENGTHS = ((1, 1), (2, 2), (3, 4), (5, 6), (7, 9), (10, 12))


def paired(runs: list[Compared], other: int, low: int, high: int) -> tuple[float, float]:
    """Mean difference of squared errors, another method's minus the fit's, over reviewers with so many past
    reviews; and its standard error over histories, whose reviewers err together."""
    saved = []
    for run in runs:
        part = run.squares[:, (run.reviews >= low) & (run.reviews <= high)]
        saved.append(np.nanmean(part[other] - part[0]))
    mean, error = mean_and_error(np.array(saved))
    return float(mean), float(error)


def main() -> None:
    options = asked("past_reviews", __doc__, histories=20, drifting=40, short=120)
    jobs = []
    for name, (persistence, _) in SETTINGS.items():
        usual = options.histories if persistence == 1.0 else options.drifting
        jobs += [(name, number) for number in range(options.short if name.startswith("short") else usual)]
    jobs += [(name, number) for name in TWO_YEARS for number in range(options.short)]
    found: dict[str, list[Compared]] = {}
    for (name, _), run in zip(jobs, parallel_map(compute, jobs, workers=options.workers), strict=True):
        found.setdefault(name, []).append(run)
    long, two = ({name: found[name] for name in names} for names in (SETTINGS, TWO_YEARS))
    pages = {
        "docs/evidence/history_and_sharing.md": {"past coverage": coverage_table(long)},
        "docs/explanation/calibration_models.md": {"two past years": coverage_table(two)},
    }
    keep(options, pages, sentences(long))


if __name__ == "__main__":
    main()
