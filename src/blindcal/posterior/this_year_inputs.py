"""A conference that is calibrated on its own reviews: they alone are read, and nothing else is needed.

`ThisYearInputs.prepared` separates the public side, a `Conference` of `LevelCase`s, from what is true: who
wrote what, and the level of evidence of each paper. The levels are computed from the reviews, or given by a
file that any other method made. Lots and their chances come from the scores alone in both cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from blindcal.errors import InputError
from blindcal.io.atomic_files import read_table
from blindcal.io.cells import Column, cell_problem, count
from blindcal.io.tables import Problems
from blindcal.posterior.conference import (
    Conference,
    LevelByTrack,
    Sources,
    Truth,
    check_levels,
    exact_mean,
    paper_areas,
    reviewers_by_slot,
    tracks_of,
    with_bars,
)
from blindcal.posterior.this_year_evidence import (
    SHARE,
    LevelCase,
    LevelModel,
    bar_of_number,
    bar_of_share,
    check_share,
    level_cases,
    people_by_rule,
)
from blindcal.posterior.variance_components import ScoreMoments, score_moments, scores_by_paper
from blindcal.reviews import Reviews, on_recorded_grid, orient_reviews

THIS_YEAR, EVIDENCE_FILE = "this-year", "file"
_LEVELS = {"accept": 1, "reject": 0}


@dataclass(frozen=True)
class Evidence:
    """Evidence about papers that another method made. CONFIDENTIAL."""

    levels: Mapping[str, int]  # 1 for accept, 0 for reject; empty if there are numbers
    numbers: Mapping[str, float] | None = None  # a number for each paper, larger ones better


@dataclass(frozen=True)
class ThisYearInputs:
    """A conference's own reviews. CONFIDENTIAL: they name their reviewers."""

    reviews: Reviews  # this year's, without withdrawn papers
    sources: Sources  # the name of their file, for messages
    given: Evidence | None = None  # the evidence about each paper, if another method made it
    remarks: tuple[str, ...] = ()  # what the chair should know about withdrawn papers

    @property
    def source(self) -> str:
        """Where the evidence comes from: "this-year", or "file"."""
        return THIS_YEAR if self.given is None else EVIDENCE_FILE

    def prepared(
        self,
        *,
        accept_rate: LevelByTrack | None = None,
        bar: LevelByTrack | None = None,
        exact: bool = False,
        better: str = "high",
        strictness_share: float = SHARE,
        people: int | None = None,
        model: LevelModel | None = None,
        standing: Mapping[str, int] | None = None,
    ) -> tuple[Conference, Truth]:
        """The public side of the conference, with its bar, and what is true.

        Args:
            accept_rate: The share to accept, as for `prepare`; give it or `bar`.
            bar: The bar itself, in standard deviations of quality.
            exact: Whether the share stands for a number of papers: the evidence is then expected to lie above
                the bar for so many. Otherwise the share of the population does.
            better: The better end of the scale, `high` or `low`.
            strictness_share: The part of disagreement that is taken as strictness.
            people: How many people reviewed; by default as many as `people_by_rule` has.
            model: What all papers share, if it was frozen by an earlier release.
            standing: The levels of that release, if another method made them: numbers keep its line.
        """
        check_levels(accept_rate, bar)
        reviews = orient_reviews(self.reviews, better)
        areas = paper_areas(reviews)
        model = model or level_model(scores_by_paper(reviews), areas, strictness_share, people)
        tracks = tracks_of(reviews, bar if accept_rate is None else accept_rate, self.sources)
        conference = _assemble_levels(level_cases(reviews, model, tracks, areas), accept_rate, bar, exact)
        given = None if self.given is None else _given_levels(self.given, conference, standing or {})
        return conference, Truth(reviewers_by_slot(reviews), given)

    def on_grid(self, grid: Sequence[float]) -> ThisYearInputs:
        """The same inputs with the `grid` of earlier decisions, unless a grid was declared now."""
        return replace(self, reviews=on_recorded_grid(self.reviews, grid, self.sources.reviews))


def level_model(
    scores: Mapping[str, Sequence[float]], areas: Mapping[str, str], share: float, people: int | None
) -> LevelModel:
    """What all papers share, from their scores, high ones better, and from stated numbers."""
    numbers = list(map(len, scores.values()))
    everyone = people_by_rule(numbers) if people is None else people
    # Whether as many people wrote these reviews is not looked at: that would tell how many there are.
    if everyone < max(numbers):
        raise InputError(f"`people` must be at least {max(numbers)}: so many reviews has some paper")
    reviews = dict(sorted(Counter(numbers).items()))
    return LevelModel(score_moments(scores, areas), check_share(share), everyone, reviews)


def prepared_again(
    cases: Sequence[LevelCase],
    accept_rate: LevelByTrack | None,
    bar: LevelByTrack | None,
    exact: bool,
    share: float,
    people: int | None,
    frozen: LevelModel | None = None,
) -> Conference:
    """The public side of a conference from its recorded papers, with the bar derived again.

    So are the moments, unless they are `frozen` by an earlier release.
    """
    scores, areas = {case.paper: case.scores for case in cases}, {case.paper: case.area for case in cases}
    model = frozen or level_model(scores, areas, share, people)
    again = [replace(case, model=model, bar=0.0) for case in cases]
    return _assemble_levels(again, accept_rate, bar, exact)


def model_json(model: LevelModel) -> dict[str, Any]:
    """A model in JSON's types, which have its numbers to the last digit."""
    return asdict(model) | {"reviews": {str(number): papers for number, papers in model.reviews.items()}}


def model_of_json(content: Mapping[str, Any]) -> LevelModel:
    """The model of such content.

    >>> model = LevelModel(ScoreMoments(5.1, 0.3, 1.2), 0.25, 9, {3: 20})
    >>> model_of_json(model_json(model)) == model
    True
    """
    reviews = {int(number): papers for number, papers in content["reviews"].items()}
    return LevelModel(ScoreMoments(**content["moments"]), content["share"], content["people"], reviews)


def _assemble_levels(
    cases: Sequence[LevelCase],
    accept_rate: LevelByTrack | None,
    bar: LevelByTrack | None,
    exact: bool,
) -> Conference:
    """The conference, with one bar or one for each track."""

    def bar_and_share(
        part: Sequence[LevelCase], rate: float | None, height: float | None
    ) -> tuple[float, float]:
        if rate is not None:
            return level_bar(part, rate, exact=exact), rate
        given = float(height or 0.0)
        return given, sum(replace(case, bar=given).favor for case in part) / len(part)

    return with_bars(cases, accept_rate, bar, bar_and_share)


def _given_levels(given: Evidence, conference: Conference, standing: Mapping[str, int]) -> dict[str, int]:
    """The levels that were given, or as many *accept* as are accepted by mean scores, in each track.

    Where papers have `standing` levels, accept is what reaches the lowest number among those with accept.
    """
    if given.numbers is None:
        return dict(given.levels)
    levels: dict[str, int] = {}
    raw = {case.paper: share for case, share in zip(conference.cases, conference.raw_accept, strict=True)}
    for track in {case.track for case in conference.cases}:
        part = [case for case in conference.graded if case.track == track]
        places = round(sum(raw[case.paper] for case in part))
        levels |= best_levels(part, given.numbers, places, standing)
    return levels


def level_bar(cases: Sequence[LevelCase], rate: float, *, exact: bool) -> float:
    """The bar of some papers for a share of them, which stands for a number of papers if it is `exact`."""
    return bar_of_number(cases, rate * len(cases)) if exact else bar_of_share(cases, rate)


def read_evidence(source: Any, reviews: Reviews, withdrawn: Collection[str] = ()) -> Evidence:
    """The evidence about each paper, from any method.

    Args:
        source: A table of two columns, `paper` and `evidence`: a file, a data frame, or a mapping from paper
            to evidence. It has accept or reject for each paper, or a number for each, larger ones better.
        reviews: This year's; each of their papers must be listed exactly once, and no other.
        withdrawn: Papers that may be listed too, and are left out.

    Raises:
        InputError: Lists every problem of the table.

    >>> reviews = Reviews.from_table({"paper": ["p", "q"], "reviewer": ["a", "b"], "score": [3, 4]})
    >>> read_evidence({"p": "accept", "q": "reject"}, reviews)
    Evidence(levels={'p': 1, 'q': 0}, numbers=None)
    """
    if isinstance(source, Mapping) and not set(source) <= {"paper", "evidence"}:
        source = {"paper": list(source), "evidence": list(map(str, source.values()))}
    table = read_table(source, [Column("paper", "id"), Column("evidence", "text")], name="`evidence`")
    log, texts = Problems(table.file), dict[str, str]()
    known = {*reviews.papers, *withdrawn}
    for row, paper, text in zip(table.rows, table.text("paper"), table.text("evidence"), strict=True):
        if paper in texts:
            log.add(row, "paper", "must not be listed twice", repr(paper))
        if paper not in known:
            log.add(row, "paper", "must be a paper that is decided", repr(paper))
        texts[paper] = text.strip().casefold()
        word = texts[paper] in _LEVELS
        if not word and cell_problem(texts[paper], Column("evidence", "number")) is not None:
            log.add(row, "evidence", "must be accept or reject, or a number", repr(text))
    if missing := len({*reviews.papers} - texts.keys()):
        log.add(None, "paper", "must list every paper that is decided", f"all but {count(missing, 'paper')}")
    words = sum(text in _LEVELS for text in texts.values())
    if 0 < words < len(texts):
        log.add(None, "evidence", "must have words for all papers, or numbers for all", "both")
    log.finish()
    if words:
        return Evidence({paper: _LEVELS[texts[paper]] for paper in reviews.papers})
    return Evidence({}, {paper: float(texts[paper]) for paper in reviews.papers})


def best_levels(
    cases: Sequence[LevelCase],
    numbers: Mapping[str, float],
    places: int,
    standing: Mapping[str, int],
) -> dict[str, int]:
    """Accept for the best `places` by these numbers, ties by mean score; what is still tied is rejected.

    If some of the papers have `standing` levels, these decide in place of `places` where the line is.

    >>> model = LevelModel(ScoreMoments(0.0, 1.0, 1.0), SHARE, 9, {1: 2})
    >>> cases = [LevelCase("1", (3.0,), model), LevelCase("2", (4.0,), model)]
    >>> best_levels(cases, {"1": 0.5, "2": 0.5}, 1, {})
    {'1': 0, '2': 1}
    """
    keys = {case.paper: (numbers[case.paper], exact_mean(case.scores)) for case in cases}
    levels = {paper: level for paper, level in standing.items() if paper in keys}
    if 1 in levels.values():
        least = min(keys[paper] for paper, level in levels.items() if level)
        return {paper: int(key >= least) for paper, key in keys.items()}
    best = sorted(keys.values(), reverse=True)
    line = max(keys[paper] for paper in levels) if levels else best[places] if places < len(best) else None
    return {paper: int(line is None or key > line) for paper, key in keys.items()}
