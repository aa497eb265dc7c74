"""Where the papers of a conference stand before any decision.

Everything is a function of scores, pools, calibration and bar: the same whoever wrote the reviews.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import fsum
from typing import Any

from blindcal.compute.parallel import Progress, Workers, no_progress, parallel_map
from blindcal.deciding.amend import recorded_case
from blindcal.deciding.record import Record
from blindcal.errors import InputError
from blindcal.exporters.formats import DecidedPaper
from blindcal.io.cells import count
from blindcal.planning.calibration_check import check_calibration
from blindcal.planning.expected_errors import evidence_probability
from blindcal.planning.guarantee_menu import with_chosen
from blindcal.planning.level_menu import LEVEL_MENU, LevelAnswer, level_menu
from blindcal.posterior.conference import Conference
from blindcal.posterior.inputs import Inputs
from blindcal.posterior.paper import PaperCase

# If the reviewers who would change the decision are together less likely than this, nothing is at stake.
UNLIKELY = 0.001
# The fit of the calibration is published with four digits: other files have another one.
_SAME_FIT = 2e-4


@dataclass(frozen=True)
class Surveyed:
    """One paper before any decision, as public information has it."""

    paper: str  # its id
    mean: float  # its mean score, on the scale of the reviews
    chance: float  # the probability that it is above the bar given scores and pools
    gray: bool  # whether its reviewers could turn the decision: each side's evidence has a chance of .001


def survey(
    conference: Conference,
    *,
    better: str = "high",
    workers: Workers = 1,
    progress: Progress = no_progress,
) -> tuple[Surveyed, ...]:
    """Where every paper stands, in the order of the conference.

    With `better` being `low`, mean scores are those that were given.
    """
    cases, sign = conference.pooled, -1.0 if better == "low" else 1.0
    with progress(f"surveying {count(len(cases), 'paper')}", len(cases)) as advance:
        return tuple(parallel_map(partial(_surveyed, sign), cases, workers=workers, advance=advance))


def survey_release(
    inputs: Inputs,
    certificate: Mapping[str, Any],
    decided: Sequence[DecidedPaper],
    *,
    workers: Workers = 1,
    progress: Progress = no_progress,
) -> tuple[Surveyed, ...]:
    """The survey of a conference that was decided, or an `InputError` if the inputs are others.

    `certificate` and `decided` are what `read_certificate` and `read_decided` return for the release.
    """
    bar, better = certificate["bar"], certificate["better"]
    conference, _ = inputs.prepared(bar=bar, better=better, workers=workers, progress=progress)
    if {case.paper for case in conference.cases} != {paper.paper for paper in decided}:
        raise InputError("`reviews` is not about the papers that were decided; `withdrawn` leaves papers out")
    fit, stated = check_calibration(conference.pooled, better).public, certificate["calibration_fit"]
    reviews = sum(len(case.scores) for case in conference.cases)
    if reviews != certificate["reviews"] or not all(_same_fit(fit[name], stated[name]) for name in stated):
        raise InputError(
            "`reviews`, `reviewers`, `pools` or `grid` are not those that were decided: by the certificate "
            "they fit the scores in another way"
        )
    return survey(conference, better=better, workers=workers, progress=progress)


def recorded_answer(record: Record) -> LevelAnswer:
    """What was gained by a release that was decided by this year's evidence, and what others would gain.

    It is a function of the recorded scores and settings, as `plan` prints it before anything is decided.
    """
    cases = tuple(recorded_case(paper, record) for paper in record.papers)
    raw = tuple(paper.raw_accepted for paper in record.papers)
    conference = Conference(cases, record.bar, None, raw)
    guarantee = record.request.guarantee
    compared = level_menu(conference, with_chosen(guarantee, LEVEL_MENU))
    reviews, from_file = sum(len(case.scores) for case in cases), record.given is not None
    return LevelAnswer(guarantee, compared, record.bar, reviews, (), from_file)


def _surveyed(sign: float, case: PaperCase) -> Surveyed:
    # Evidence for a side is right at least half of the time, so it is at most twice as likely as being right.
    chance, sides = case.favor, (0.0, 0.0)
    if 2.0 * min(chance, 1.0 - chance) >= UNLIKELY:
        tuples = case.sample or case.belief
        sides = evidence_probability(tuples, 1), evidence_probability(tuples, -1)
    mean, gray = sign * fsum(case.scores) / len(case.scores), min(sides) >= UNLIKELY
    return Surveyed(case.paper, mean, chance, gray)


def _same_fit(found: object, stated: object) -> bool:
    if isinstance(found, int | float) and isinstance(stated, int | float):
        return abs(found - stated) <= _SAME_FIT * max(1.0, abs(stated))
    return found == stated
