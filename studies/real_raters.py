"""Real raters: leave out one score of each item, predict it with every calibrator; and `assess` on each.

    python studies/real_raters.py --data FOLDER [--repeats 6]

FOLDER holds a table for each of `SETS`, made from the public source named there, with columns item_id,
rater_id and a score. Items keep at least two scores and raters at least two others; what is left out is
random with a fixed seed. Errors are root mean squares in units of the scores; the change against `raw` is
paired. Writes docs/numbers/real_raters.json and the tables of docs/evidence/calibrators.md.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import blindcal as bc
from blindcal.calibrators import METHODS
from blindcal.calibrators.assessment import Change, change, left_out, shrunk_means
from blindcal.calibrators.results import batch_of
from stated import asked, keep, table

Row = dict[str, str]


@dataclass(frozen=True)
class Source:
    """A table in the folder, how a row of it is read, and where it comes from."""

    file: str
    origin: str
    score: Callable[[Row], float | None]
    item: Callable[[Row], str] = lambda row: row["item_id"]


def _number(column: str, sign: float = 1.0) -> Callable[[Row], float | None]:
    return lambda row: sign * float(row[column]) if row[column] else None


def _repository(name: str, commit: str) -> str:
    return f"[{name}](https://github.com/{name}/tree/{commit})"


SKATING = ("BuzzFeedNews/2018-02-figure-skating-analysis", "75f11db")
SETS = {
    "grants (AIBS)": Source(
        "grants/aibs_2014_2017.csv",
        "overall scores, [S. Gallo](https://doi.org/10.6084/m9.figshare.12728087), as `AIBS` in the R "
        "package ShinyItemAnalysis 1.5.4; 1 is best, so scores are negated",
        _number("score", -1.0),
    ),
    "piano (Chopin 2025)": Source(
        "chopin/chopin_2025.csv",
        "jury scores before the competition's own correction, "
        + _repository("marcinprzeradzki/chopin-19", "ac2f927"),
        _number("score"),
        lambda row: f"{row['event']} {row['item_id']}",
    ),
    "dancing": Source(
        "dancing/dancing_series_1_15.csv",
        "15 series of a television contest, "
        + _repository("four-tens/strictly-come-dancing-results", "80e85ae"),
        _number("score"),
    ),
    "peer grades (MOOC)": Source(
        "peer_grading/mooc_assignment3.csv",
        f"one assignment, {_repository('MiFei/AAAI15-Peer-Grading', 'e9510c9')}",
        _number("score"),
    ),
    "peer grades (R course)": Source(
        "peer_grading/r_coding_assessment.csv",
        f"grades by peers alone, {_repository('statbiscuit/peer-grading', 'a58ec70')}",
        lambda row: float(row["score"]) if row["rater_kind"] == "peer" else None,
    ),
    "skating, components": Source(
        "figure_skating/skating_by_performance.csv",
        f"17 competitions, mean program component of a judge, {_repository(*SKATING)}",
        _number("component_mean"),
    ),
    "skating, execution": Source(
        "figure_skating/skating_by_performance.csv",
        f"the same, mean grade of execution, {_repository(*SKATING)}",
        _number("mean_goe"),
    ),
}


def load(folder: Path, source: Source) -> bc.Reviews:
    with (folder / source.file).open(newline="", encoding="utf-8") as file:
        rows = [(source.item(row), row["rater_id"], source.score(row)) for row in csv.DictReader(file)]
    paper, reviewer, score = zip(*(row for row in rows if row[2] is not None), strict=True)
    return bc.Reviews.from_table({"paper": paper, "reviewer": reviewer, "score": score})


def shrunk(reviews: bc.Reviews) -> bc.calibrators.Calibration:
    """Raw means drawn to the overall mean, by the analysis of variance: no reviewer effects at all.

    What a method gains over this line, and not over `raw`, is what it knows of reviewers.
    """
    value = shrunk_means(batch_of(reviews))
    plain = bc.calibrators.raw(reviews)
    return bc.calibrators.Calibration(
        "shrunk", reviews, value, plain.standard_error, predictor=lambda paper, _: value[paper]
    )


def predict_left_out(reviews: bc.Reviews, repeats: int, seed: int) -> dict[str, Change]:
    """Every method's error on left-out scores, one of each item a repeat, against raw."""
    columns, methods = reviews.columns(), {"raw": METHODS["raw"], "shrunk": shrunk, **METHODS}
    items, squares = [], {name: [] for name in methods}
    for repeat in range(repeats):
        out = left_out(batch_of(reviews), np.random.default_rng([seed, repeat]))
        rest = bc.Reviews.from_table({n: [v[i] for i in np.flatnonzero(~out)] for n, v in columns.items()})
        paper, reviewer = ([columns[n][i] for i in np.flatnonzero(out)] for n in ("paper", "reviewer"))
        items.append(reviews.paper[out])
        for name, method in methods.items():
            squares[name].append((method(rest).predict(paper, reviewer) - reviews.score[out]) ** 2)
    plain = np.concatenate(squares["raw"])
    return {name: change(np.concatenate(s), plain, np.concatenate(items)) for name, s in squares.items()}


@dataclass(frozen=True)
class Study:
    reviews: bc.Reviews
    changes: dict[str, Change]
    assessment: bc.calibrators.Assessment


def compute(folder: Path, repeats: int) -> dict[str, Study]:
    found = {}
    for index, (name, source) in enumerate(SETS.items()):
        reviews = load(folder, source)
        changes = predict_left_out(reviews, repeats if len(reviews) < 3000 else max(1, repeats // 2), index)
        found[name] = Study(reviews, changes, bc.assess(reviews))
        print(f"{name}: done", flush=True)
    return found


def left_out_table(found: dict[str, Study]) -> list[str]:
    methods = list(next(iter(found.values())).changes)[1:]
    rows = []
    for name, study in found.items():
        changes = (study.changes[method] for method in methods)
        cells = [f"{100 * c.change:+.1f} ({100 * c.low:+.1f} to {100 * c.high:+.1f})" for c in changes]
        r = study.reviews
        sizes = f"{len(r.papers):,}, {len(r.reviewers):,}, {len(r):,}"
        rows.append([name, sizes, f"{study.changes['raw'].error:.3f}", *cells])
    return table(["data", "items, raters, scores", "raw error", *methods], *rows)


def assessed_table(found: dict[str, Study]) -> list[str]:
    rows = []
    for name, study in found.items():
        a = study.assessment
        shares = [f"{100 * s.value:.0f} ({100 * s.low:.0f}-{100 * s.high:.0f})" for s in a.shares.values()]
        wrong = [f"{100 * a.wrong[m].value:.1f}" for m in ("raw", "hierarchical", "known")]
        rows.append([name, *shares, *wrong, a.verdict])
    head = ["data", "quality", "offset", "slope", "residual", "wrong: raw", "now", "known", "verdict"]
    return table(head, *rows)


def main() -> None:
    options = asked("real_raters", __doc__, data=True, repeats=6)
    found, page = compute(options.data, options.repeats), "docs/evidence/calibrators.md"
    sources = table(["data", "source"], *([name, one.origin] for name, one in SETS.items()))
    tables = {"left out": left_out_table(found), "assessed": assessed_table(found), "sources": sources}
    leniency = found["peer grades (MOOC)"].assessment.shares["offset"].value
    keep(options, {page: tables}, {page: [f"{100 * leniency:.0f} % of the variance is leniency"]})


if __name__ == "__main__":
    main()
