"""Scores that real conferences published: what each guarantee costs there, and what each adversary gains.

    python studies/real_conferences.py --data FOLDER [--papers 300] [--workers N]

FOLDER holds the scores of ICLR 2018, 2024 and 2026 (iclr/), the bids of AAMAS 2021 (bids/) and the tables of
studies/real_raters.py. Scores, grids, numbers of reviews and accept rates are the venues' own. Who reviewed
what is not public, so reviewers are drawn: the public scores fix their mean and how much of the spread lies
within papers, and what part of that is the reviewers' own offset and slope is taken from NIPS 2014 and from
real raters (`assess`). Candidates are those of a paper of AAMAS 2021 if it is assigned at random by its bids,
with capped chances. Of each paper's candidates some are drawn as its reviewers, their parameters from the
posterior given the scores that they gave, all others from the crowd: so scores and reviewers fit together.
Wrong decisions are expected values over the public belief. Writes docs/numbers/real_conferences.json, the
tables of docs/evidence/real_conferences.md and docs/figures/real_conferences.png.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog, root
from scipy.special import ndtr

import blindcal as bc
from blindcal.adversaries.findings import Finding, finding_about, paper_findings
from blindcal.adversaries.side_knowledge import collusion_findings, evidence_findings
from blindcal.adversaries.single_paper import THREE_GUESSES, View, case_view, rises
from blindcal.certify.claims import certify
from blindcal.checks import Array
from blindcal.compute.parallel import parallel_map
from blindcal.policy.policy import Policy
from blindcal.policy.solver import solve
from blindcal.pools.prior import all_tuples, inclusion, log_prior
from blindcal.posterior.conference import Conference, assemble
from blindcal.posterior.paper import PaperCase
from real_raters import SETS, load
from stated import asked, guarantees, keep, mean_and_error, save_figure, table

MENU = guarantees(
    "public; steady, epsilon 1; steady, epsilon 2; steady; average, epsilon 2; average; full calibration"
)
DEFAULT, FULL = "steady, epsilon 2", "full calibration"
STRENGTH, COLLUDERS = 1.5, 20
CAP, LOAD, REVIEWS = 0.5, 6, (3, 4, 5)
YES, MAYBE, CONFLICT = 3, 2, 255
ROUNDING = 1e-9
OTHERS, HISTORY = 3, 10
BANK, QUALITY = 2000, np.linspace(-4.5, 4.5, 181)


@dataclass(frozen=True)
class Latent:
    """Scores before rounding: `mean + between * quality + within * N(0,1)`."""

    mean: float
    between: float
    within: float


@dataclass(frozen=True)
class Venue:
    """A table of scores, the scores that could be given, and the share of papers that it accepted."""

    name: str
    file: str
    grid: tuple[float, ...]


VENUES = (
    Venue("ICLR 2018", "iclr/iclr_2018.csv", tuple(map(float, range(1, 11)))),
    Venue("ICLR 2024", "iclr/iclr_2024.csv.gz", (1.0, 3.0, 5.0, 6.0, 8.0, 10.0)),
    Venue("ICLR 2026", "iclr/iclr_2026.csv.gz", (0.0, 2.0, 4.0, 6.0, 8.0, 10.0)),
)


@dataclass(frozen=True)
class Split:
    """What part of the spread within papers is the raters' own: offsets, and slopes."""

    name: str
    offset: float
    slope: float

    @property
    def own(self) -> float:
        return self.offset + self.slope

    def after(self, reviews: int, latent: Latent) -> Split:
        """What a fit on so many past reviews of each rater can know of it; the rest is like noise.

        A past review says what its rater adds up to the noise, and up to what `OTHERS` other reviews leave
        open of the paper's quality.
        """
        left = 1.0 / (1.0 / latent.between**2 + OTHERS / latent.within**2)
        noise = (1.0 - self.own) + left / latent.within**2
        offset, slope = (part**2 / (part + noise / reviews) for part in (self.offset, self.slope))
        return Split(self.name, offset, slope)


NIPS = Split("NIPS 2014", 0.19 / (0.19 + 0.99), 0.0)
RATERS = {
    "grant reviewers": "grants (AIBS)",
    "skating judges": "skating, components",
    "dance judges": "dancing",
    "peer graders": "peer grades (MOOC)",
}


def split_of(folder: Path, name: str) -> Split:
    """How real raters' spread parts, by random effects."""
    shares = bc.assess(load(folder, SETS[RATERS[name]])).shares
    within = sum(shares[part].value for part in ("offset", "slope", "residual"))
    return Split(name, shares["offset"].value / within, shares["slope"].value / within)


@dataclass(frozen=True, eq=False)
class Published:
    """What a venue published: each paper's scores, lowest first, and whether it was accepted."""

    venue: Venue
    scores: list[tuple[float, ...]]
    accepted: list[bool]

    @property
    def rate(self) -> float:
        return float(np.mean(self.accepted))

    def some(self, papers: int) -> Published:
        """A random sample of the papers, the same each time."""
        chosen = np.random.default_rng(7).permutation(len(self.scores))[:papers].tolist()
        return Published(self.venue, [self.scores[i] for i in chosen], [self.accepted[i] for i in chosen])


def published(folder: Path, venue: Venue) -> Published:
    """All papers that were decided, with three to five reviews."""
    path = folder / venue.file
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["decision"] not in ("withdrawn", "desk_reject")]
    scores, accepted = dict[str, list[float]](), dict[str, bool]()
    for row in rows:
        scores.setdefault(row["paper_id"], []).append(float(row["rating"]))
        accepted[row["paper_id"]] = row["accepted"] == "1"
    usual = sorted(paper for paper, given in scores.items() if len(given) in REVIEWS)
    return Published(venue, [tuple(sorted(scores[one])) for one in usual], [accepted[one] for one in usual])


def chances(grid: Sequence[float], mean: Array, spread: Array | float) -> Array:
    """`[..., level]`: the chance of each score of the grid, for a normal number moved to the nearest one."""
    middles = (np.array(grid)[1:] + np.array(grid)[:-1]) / 2
    below = ndtr((middles - np.asarray(mean)[..., None]) / np.asarray(spread)[..., None])
    ends = [np.zeros((*below.shape[:-1], 1)), below, np.ones((*below.shape[:-1], 1))]
    return np.asarray(np.diff(np.concatenate(ends, axis=-1), axis=-1))


def moments(scores: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """Mean of all scores, and their variances between papers and within, by analysis of variance."""
    sizes = np.array([len(one) for one in scores])
    means = np.array([np.mean(one) for one in scores])
    within = sum(len(one) * np.var(one) for one in scores) / (sizes - 1).sum()
    between = means.var(ddof=1) - within * (1 / sizes).mean()
    return float(np.concatenate([np.array(one) for one in scores]).mean()), float(between), float(within)


def rounded_moments(latent: Latent, grid: Sequence[float]) -> tuple[float, float, float]:
    """The same of scores that the model gives and the grid rounds."""
    node, weight = np.polynomial.hermite_e.hermegauss(80)
    weight = weight / weight.sum()
    chance = chances(grid, latent.mean + latent.between * node, latent.within)
    mean, square = chance @ np.array(grid), chance @ np.array(grid) ** 2
    total = float(weight @ mean)
    return total, float(weight @ mean**2 - total**2), float(weight @ (square - mean**2))


def latent_of(found: Published) -> Latent:
    """The normal model whose rounded scores have the mean and variances of the published ones."""
    wanted = np.array(moments(found.scores))

    def gap(point: Array) -> Array:
        latent = Latent(point[0], float(np.exp(point[1])), float(np.exp(point[2])))
        return np.array(rounded_moments(latent, found.venue.grid)) - wanted

    solved = root(gap, [wanted[0], *(0.5 * np.log(wanted[1:]))])
    if not solved.success:
        raise SystemExit(f"no normal model has the moments of {found.venue.name}")
    return Latent(float(solved.x[0]), *(float(one) for one in np.exp(solved.x[1:])))


@dataclass(frozen=True, eq=False)
class Crowd:
    """Many reviewers `parameters[m, (slope, offset, noise)]`, and what they say: `chance[m, quality, level]`
    of the grid."""

    parameters: Array
    chance: Array
    grid: tuple[float, ...]


def crowd_of(latent: Latent, split: Split, grid: tuple[float, ...]) -> Crowd:
    """Lognormal slopes, normal offsets and one noise, with the latent model's spread parted as `split`."""
    rng, variance = np.random.default_rng(11), latent.within**2
    log_variance = np.log1p(split.slope * variance / latent.between**2)
    slope = latent.between * np.exp(np.sqrt(log_variance) * rng.standard_normal(BANK) - log_variance / 2)
    offset = latent.mean + np.sqrt(split.offset * variance) * rng.standard_normal(BANK)
    noise = np.full(BANK, np.sqrt((1.0 - split.own) * variance))
    chance = chances(grid, slope[:, None] * QUALITY + offset[:, None], noise[:, None])
    return Crowd(np.column_stack([slope, offset, noise]), chance, grid)


def quality_of(crowd: Crowd, scores: Sequence[float]) -> Array:
    """What scores of unknown reviewers say of a paper's quality: a chance for each of `QUALITY`."""
    said = [crowd.chance[:, :, crowd.grid.index(score)].mean(axis=0) for score in scores]
    likely = np.exp(-0.5 * QUALITY**2) * np.prod(said, axis=0)
    return np.asarray(likely / likely.sum())


def authors_of(crowd: Crowd, scores: Sequence[float], rng: np.random.Generator) -> tuple[float, Array]:
    """A quality and the parameters of those who gave `scores`, from their posterior: the quality from its own
    given the scores of unknown reviewers, then each reviewer given the quality and the score."""
    at = int(rng.choice(QUALITY.size, p=quality_of(crowd, scores)))
    said = [crowd.chance[:, at, crowd.grid.index(score)] for score in scores]
    who = [int(rng.choice(len(crowd.parameters), p=one / one.sum())) for one in said]
    return float(QUALITY[at]), crowd.parameters[who]


@dataclass(frozen=True, eq=False)
class Bids:
    """How well everybody fits every paper, `value[paper, reviewer]`, and who may not review what."""

    value: Array
    barred: NDArray[np.bool_]


def bids_of(folder: Path) -> Bids:
    """The bids of AAMAS 2021: yes counts 1, maybe one half."""
    bids = np.load(folder / "aamas2021.npz")["bids"].T
    return Bids(np.select([bids == YES, bids == MAYBE], [1.0, 0.5], 0.0), bids == CONFLICT)


Candidates = dict[int, list[tuple[str, dict[str, float]]]]
"""For each number of reviews the pools of a randomized assignment, one for each paper."""


def candidates(bids: Bids) -> Candidates:
    return {reviews: pools_of(marginals(bids, reviews)) for reviews in REVIEWS}


def pools_of(chance: Array) -> list[tuple[str, dict[str, float]]]:
    return [
        (f"p{paper:03d}", {f"r{who:03d}": float(row[who]) for who in np.flatnonzero(row)})
        for paper, row in enumerate(chance)
    ]


def marginals(bids: Bids, reviews: int) -> Array:
    """`[paper, reviewer]`: the chances of the greatest expected similarity, each at most `CAP`.

    Every paper has `reviews` reviewers and nobody more than `LOAD` papers on average (Jecmen et al. 2020).
    """
    papers, people = bids.value.shape
    paper, reviewer = np.nonzero(~bids.barred)
    column, one = np.arange(paper.size), np.ones(paper.size)
    solved = linprog(
        -bids.value[paper, reviewer],
        A_ub=sparse.csr_array((one, (reviewer, column)), (people, paper.size)),
        b_ub=np.full(people, float(LOAD)),
        A_eq=sparse.csr_array((one, (paper, column)), (papers, paper.size)),
        b_eq=np.full(papers, float(reviews)),
        bounds=(0.0, CAP),
        method="highs-ds",
    )
    chance = np.zeros(bids.value.shape)
    chance[paper, reviewer] = np.where(solved.x < ROUNDING, 0.0, solved.x)
    return chance


@dataclass(frozen=True)
class Drawn:
    """A paper as anybody sees it, and what was drawn for it: its quality, and who gave the scores."""

    case: PaperCase
    quality: float
    authors: tuple[str, ...]


def drawn_authors(
    rng: np.random.Generator, names: Sequence[str], chances: tuple[float, ...], reviews: int
) -> tuple[str, ...]:
    """Who wrote the reviews, in any order: a tuple drawn from the prior."""
    rows = all_tuples(len(names), reviews)
    weight = np.exp(log_prior(chances, rows))
    return tuple(names[j] for j in rows[rng.choice(len(rows), p=weight / weight.sum())])


def drawn_papers(found: Published, crowd: Crowd, pools: Candidates) -> list[Drawn]:
    """Every paper with the pool of a paper drawn for it, and reviewers who fit its scores."""
    drawn = []
    for number, scores in enumerate(found.scores):
        rng = np.random.default_rng([17, number])
        paper, pool = pools[len(scores)][rng.integers(len(pools[len(scores)]))]
        names = sorted(pool)
        chances = inclusion([pool[name] for name in names], len(scores))
        authors = drawn_authors(rng, names, chances, len(scores))
        anyone = rng.integers(len(crowd.parameters), size=len(names))
        quality, theirs = authors_of(crowd, scores, rng)
        rows = dict(zip(names, crowd.parameters[anyone], strict=True))
        rows.update(zip(authors, theirs, strict=True))
        case = PaperCase(
            paper=f"{number:04d} with the pool of {paper}",
            scores=scores,
            candidates=tuple(names),
            inclusion=chances,
            parameters=tuple((*map(float, rows[name]), 0.0, 0.0, 0.0, 0.0) for name in names),
            bar=0.0,
            grid=crowd.grid,
        )
        drawn.append(Drawn(case, quality, authors))
    return drawn


def decided(job: tuple[PaperCase, float]) -> list[tuple[View, float]]:
    """The paper under each guarantee, and how likely its decision is wrong."""
    case, raw = job
    belief = case.belief
    found = []
    for guarantee in MENU.values():
        accept = certify(belief, np.clip(solve(case, guarantee).accept, 0.0, 1.0), guarantee)[0].accept
        wrong = belief.weight @ (accept * (1 - belief.favor) + (1 - accept) * belief.favor)
        found.append((case_view(case, Policy(accept), raw), float(wrong)))
    return found


@dataclass(frozen=True, eq=False)
class Line:
    """One guarantee at one venue: how likely each paper's decision is wrong, and what adversaries gain."""

    wrong: Array
    author: Finding
    three: Finding
    evidence: Finding
    colluders: Finding
    rise: float


@dataclass(frozen=True, eq=False)
class Cell:
    """A venue with one kind of reviewers and pools: how likely raw decisions are wrong, and those under each
    guarantee.

    `overruled`: the share of papers that the venue itself decided otherwise than by their mean scores.
    `learned`: what full calibration spares where it knows reviewers by `HISTORY` reviews each.
    """

    venue: str
    split: Split
    overruled: float
    raw: Array
    learned: Array
    lines: dict[str, Line]

    def saved(self, name: str) -> tuple[float, float]:
        """Wrong decisions that a guarantee spares against raw ones, in percentage points; standard error."""
        mean, error = mean_and_error(100 * (self.raw - self.lines[name].wrong))
        return float(mean), float(error)


def conference_of(found: Published, crowd: Crowd, pools: Candidates) -> Conference:
    return assemble([one.case for one in drawn_papers(found, crowd, pools)], found.rate, None)


def raw_wrong(case: PaperCase, raw: float) -> float:
    """How likely a decision is wrong that accepts with chance `raw` whoever reviewed."""
    right = float(case.belief.weight @ case.belief.favor)
    return raw * (1.0 - right) + (1.0 - raw) * right


def spared(job: tuple[PaperCase, float]) -> float:
    """How much less likely full calibration is wrong about a paper than its raw decision."""
    case, raw = job
    belief = case.belief
    return raw_wrong(case, raw) - float(belief.weight @ np.minimum(belief.favor, 1.0 - belief.favor))


def compute(found: Published, latent: Latent, split: Split, pools: Candidates, workers: int) -> Cell:
    grid = found.venue.grid
    crowd = crowd_of(latent, split, grid)
    conference = conference_of(found, crowd, pools)
    partly = conference_of(found, crowd_of(latent, split.after(HISTORY, latent), grid), pools)
    jobs = list(zip(conference.cases, conference.raw_accept, strict=True))
    by_paper = parallel_map(decided, jobs, workers=workers)
    lines = {}
    for place, name in enumerate(MENU):
        views = [paper[place][0] for paper in by_paper]
        plain = paper_findings("", views, "chosen")
        (evidence,) = evidence_findings(views, STRENGTH, ["chosen"], workers=workers)
        (colluders,) = collusion_findings(views, COLLUDERS, ["chosen"], draws=8)
        lines[name] = Line(
            np.array([paper[place][1] for paper in by_paper]),
            finding_about(plain, "chosen"),
            finding_about(plain, "chosen", THREE_GUESSES),
            evidence,
            colluders,
            max(float(rises(view, view.mass("chosen")).max()) for view in views),
        )
    raw = np.array([raw_wrong(*job) for job in jobs])
    print(found.venue.name, split.name, f"{100 * raw.mean():.1f}", flush=True)
    overruled = float(np.abs(np.array(conference.raw_accept) - found.accepted).mean())
    less = parallel_map(spared, list(zip(partly.cases, partly.raw_accept, strict=True)), workers=workers)
    return Cell(found.venue.name, split, overruled, raw, np.array(less), lines)


def worth_table(cells: Sequence[Cell]) -> list[str]:
    rows = []
    for cell in cells:
        shown = (cell.lines[name].wrong for name in ("public", DEFAULT, "average", FULL))
        wrong = [f"{100 * one.mean():.1f} %" for one in (cell.raw, *shown)]
        spreads = (cell.saved(FULL), mean_and_error(100 * cell.learned))
        saved = [f"{mean:.1f} ± {error:.1f}" for mean, error in spreads]
        rows.append([cell.venue, cell.split.name, f"{100 * cell.split.own:.0f} %", *wrong, *saved])
    head = ["venue", "reviewers like", "their own", "wrong: raw", "public", DEFAULT, "`average`", "full"]
    head += ["full spares against raw (points)", f"against raw, known by {HISTORY} reviews"]
    return table(head, *rows)


def gain_table(cells: Sequence[Cell]) -> list[str]:
    rows = []
    for cell in cells:
        for name, one in cell.lines.items():
            saved, error = cell.saved(name)
            row = [cell.venue, name, f"{saved:.2f} ± {error:.2f}", f"{100 * one.author.baseline:.1f} %"]
            told = (
                f"{100 * part.baseline:.1f} % {_added(part)}"
                for part in (one.three, one.evidence, one.colluders)
            )
            rows.append([*row, _added(one.author), *told, f"{max(one.rise, 0.0):.2f}"])
    head = ["venue", "guarantee", "spared against raw (points)", "reviewer named: scores alone", "added"]
    head += ["three guesses", f"evidence of strength {STRENGTH:g}", f"{COLLUDERS} colluders"]
    return table([*head, "best guess rose by up to"], *rows)


def _added(found: Finding) -> str:
    return f"{round(100 * found.added, 2) + 0.0:+.2f}"


def draw(cells: Sequence[Cell]) -> Path:
    """What calibration spares against what it reveals, venue by venue: a line for each kind of reviewers."""
    figure, axes = plt.subplots(1, len(VENUES), figsize=(11, 3.9), sharex=True, sharey=True)
    shown = ("public", DEFAULT, "steady", "average", FULL)
    marks = dict(zip(shown, "so^Dx", strict=True))
    kinds = list(dict.fromkeys(cell.split.name for cell in cells))
    for axis, venue in zip(axes, VENUES, strict=True):
        for cell in (one for one in cells if one.venue == venue.name):
            color = f"C{kinds.index(cell.split.name)}"
            spared = [cell.saved(name)[0] for name in shown]
            gained = [100 * cell.lines[name].evidence.added for name in shown]
            axis.plot(spared, gained, color=color, linewidth=1, alpha=0.6, label=cell.split.name)
            for x, y, name in zip(spared, gained, shown, strict=True):
                axis.plot(x, y, marks[name], color=color, markersize=6)
        axis.set_title(venue.name, fontsize=10)
        axis.set_xlabel("wrong decisions spared against raw (points)")
        axis.axvline(0.0, color="0.7", linewidth=0.8)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel(f"reviewers named, added by decisions\n(evidence of strength {STRENGTH:g}; points)")
    lines, names = axes[0].get_legend_handles_labels()
    dots = [plt.Line2D([], [], color="0.3", marker=marks[name], linestyle="") for name in shown]
    figure.legend([*lines, *dots], [*names, *shown], loc="lower center", ncols=5, frameon=False, fontsize=8)
    return save_figure(figure, "real_conferences.png", rect=(0, 0.13, 1, 1))


def sentences(cells: Sequence[Cell]) -> list[str]:
    mine = [cell for cell in cells if cell.split is NIPS]

    def span(values: Iterable[float], digits: int = 1) -> str:
        found = list(values)
        return f"{min(found):.{digits}f} to {max(found):.{digits}f}"

    def spared(*names: str) -> str:
        return span(cell.saved(FULL)[0] for cell in cells if cell.split.name in names)

    def beyond(name: str) -> str:
        """The share of what full calibration spares beyond public decisions, in percent."""
        each = ([cell.saved(one)[0] for one in ("public", name, FULL)] for cell in mine)
        return span((100 * (own - public) / (full - public) for public, own, full in each), 0)

    def gained(name: str) -> str:
        """What somebody with evidence gains, as a share of what full calibration gives them, in percent."""
        both = ((cell.lines[name].evidence.added, cell.lines[FULL].evidence.added) for cell in mine)
        return span((100 * own / full for own, full in both), 0)

    return [
        f"the venues themselves decided {span((100 * cell.overruled for cell in mine), 0)} % of these papers "
        "otherwise than by mean score",
        f"full calibration avoids {span(cell.saved(FULL)[0] for cell in mine)} percentage points of wrong "
        f"decisions, and public decisions avoid {span(cell.saved('public')[0] for cell in mine)}",
        f"If reviewers are known by {HISTORY} past reviews each, full calibration avoids "
        f"{span(100 * float(cell.learned.mean()) for cell in mine)} points",
        f"{spared('grant reviewers')} points for raters like grant reviewers and "
        f"{spared('peer graders', 'dance judges')} for raters like peer graders or dance judges",
        f"*steady*, epsilon 2 keeps {beyond(DEFAULT)} %, `average` {beyond('average')} %",
        f"under *steady*, epsilon 2 it gains {gained(DEFAULT)} % of what full calibration gives it, "
        f"under `average` {gained('average')} %",
    ]


def main() -> None:
    options = asked("real_conferences", __doc__, data=True, papers=300)
    splits = sorted([NIPS, *(split_of(options.data, name) for name in RATERS)], key=lambda one: one.own)
    pools, cells = candidates(bids_of(options.data / "bids")), list[Cell]()
    for venue in VENUES:
        whole = published(options.data, venue)
        latent, some = latent_of(whole), whole.some(options.papers)
        cells += [compute(some, latent, split, pools, options.workers) for split in splits]
    draw(cells)
    tables = {
        "worth": worth_table(cells),
        "gains": gain_table([cell for cell in cells if cell.split is NIPS]),
    }
    page = "docs/evidence/real_conferences.md"
    keep(options, {page: tables}, {page: sentences(cells)})


if __name__ == "__main__":
    main()
