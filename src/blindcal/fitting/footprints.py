"""Never on the reviews being decided: digests of what a fit used, kept beside its output, and the refusal.

A calibration fitted on the very reviews that are decided depends on who wrote them, and gives that away. The
digests are CONFIDENTIAL: whoever guesses a review can check the guess by them.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import gammainc

from blindcal.cells import count, loose
from blindcal.errors import InputError, Problem
from blindcal.files.disk import digest, read_bytes, read_json
from blindcal.files.tables import refuse
from blindcal.fitting.pasts import Past
from blindcal.fitting.scales import Scale
from blindcal.reviews import Reviews

# So rarely is a calibration refused that has nothing to do with the reviews.
FALSE_ALARM = 1e-6
_CENT = 0.005  # means given to two decimals
_FORMAT = 1
# Digests of single reviews are cut to so many digits: 64 bits tell them apart.
_SHORT = 16
# So many of everybody's scores count beside one's own where chance is taken.
_FEW = 2.0
_WHY = (
    "a calibration fitted on the reviews being decided gives their authors away: in a simulated conference "
    "it names 40.0 % of the authors without seeing any decision, against 12.5 % from the pools; fit on other "
    "conferences alone"
)


Written = Mapping[str, tuple[str, str]]
"""For each review, by a digest of paper and reviewer: digests of the reviewer and of the score."""


@dataclass(frozen=True)
class Footprint:
    """Digests of one past conference's papers: `whole` of id, reviewers and scores; `scored` of id and
    scores; `patterns` of the scores alone, one for each paper; and its single reviews, which are found again
    where others of the paper changed, came in or are missing. Ids as `loose` has them: 007 is 7."""

    conference: str
    whole: frozenset[str]
    scored: frozenset[str]
    patterns: tuple[str, ...]
    reviews: Written = field(default_factory=dict, repr=False)


def beside(reviewers: str | os.PathLike[str]) -> str:
    """The file that a fit writes beside its table of reviewers: beside the table itself, not a link to it."""
    name = os.fspath(reviewers)
    return f"{os.path.realpath(name) if os.path.islink(name) else name}.fit.json"


def footprint(past: Past) -> Footprint:
    """The digests of a past conference."""
    plain = [paper.removeprefix(f"{past.name}/") for paper in past.paper]
    return _footprint(past.name, plain, past.reviewer, past.score.tolist())


def footprint_of(reviews: Reviews) -> Footprint:
    """The digests of the conference that is decided."""
    table = reviews.columns()
    return _footprint("", table["paper"], table["reviewer"], table["score"])


def _footprint(name: str, paper: Sequence[str], reviewer: Sequence[str], score: Sequence[float]) -> Footprint:
    known = {one: loose(one) for one in {*paper, *reviewer}}
    written = defaultdict[str, list[tuple[str, float]]](list)
    for one, who, given in zip(paper, reviewer, score, strict=True):
        written[known[one]].append((known[who], given))
    scores = {one: sorted(given for _, given in rows) for one, rows in written.items()}
    short = {one: digest(one)[:_SHORT] for one in {*(known[who] for who in reviewer), *score}}
    return Footprint(
        name,
        frozenset(digest([one, sorted(rows)]) for one, rows in written.items()),
        frozenset(digest([one, given]) for one, given in scores.items()),
        tuple(sorted(digest(given) for given in scores.values())),
        {
            digest([one, who])[:_SHORT]: (short[who], short[given])
            for one, rows in written.items()
            for who, given in rows
        },
    )


def written(footprints: Sequence[Footprint]) -> dict[str, object]:
    """As it stands in the file beside the table of reviewers."""
    kept = [
        {
            "conference": one.conference,
            "whole": sorted(one.whole),
            "scored": sorted(one.scored),
            "patterns": list(one.patterns),
            "reviews": {pair: list(rest) for pair, rest in sorted(one.reviews.items())},
        }
        for one in footprints
    ]
    return {"format": _FORMAT, "warning": "CONFIDENTIAL: never share this file", "used": kept}


def read_footprints(path: str | os.PathLike[str]) -> list[Footprint]:
    """What `written` wrote."""
    match read_json(path):
        case {"format": 1, "used": [*used]} if None not in (found := [*map(_one_read, used)]):
            return [one for one in found if one is not None]
    rule = f"must be what `blindcal fit` wrote beside its table, format {_FORMAT}"
    raise refuse([Problem(os.fspath(path), None, None, rule)])


def _one_read(content: object) -> Footprint | None:
    match content:
        case {
            "conference": str(name),
            "whole": [*whole],
            "scored": [*scored],
            "patterns": [_, *_] as patterns,
            **rest,
        } if all(isinstance(one, str) for one in (*whole, *scored, *patterns)):
            reviews = read_written(rest.get("reviews", {}))
            if reviews is not None:
                return Footprint(name, frozenset(whole), frozenset(scored), tuple(patterns), reviews)
    return None


def read_written(content: object) -> Written | None:
    """The digests of single reviews, as they stand in a file; None if it holds anything else."""
    if not isinstance(content, dict) or not all(map(_is_pair, content.values())):
        return None
    return {pair: (who, given) for pair, (who, given) in content.items()}


def _is_pair(content: object) -> bool:
    return isinstance(content, list) and len(content) == 2 and all(isinstance(one, str) for one in content)


def read_scale(reviewers: str | os.PathLike[str]) -> Scale | None:
    """How a calibration was moved to this year's scale, by what lies beside it; None where it was not."""
    path = beside(reviewers)
    if not os.path.exists(path):
        return None
    content = read_json(path)
    match content:
        case {
            "scale": {
                "shift": (int() | float()) as shift,
                "stretch": (int() | float()) as stretch,
                "center": (int() | float()) as center,
                "shift_in_sds": (int() | float()) as in_sds,
            }
        } if stretch > 0:
            found = Scale(float(shift), float(stretch), float(center), float(in_sds))
            return None if found == Scale() else found
        case {"scale": _}:
            rule = "must state shift and stretch as `blindcal fit` wrote them"
            raise refuse([Problem(path, None, "scale", rule)])
    return None


def table_digest(table: bytes) -> str:
    """The digest of a table of reviewers as it was written: by it a table that nobody changed is known."""
    return digest(table.hex())


def unchanged(reviewers: str | os.PathLike[str]) -> bool:
    """Whether a table of reviewers is as a fit wrote it, by the digest beside it; also where it is gone, and
    only what the fit wrote beside it is left."""
    path = beside(reviewers)
    if os.path.islink(reviewers) or os.path.islink(path) or not os.path.isfile(path):
        return False
    try:
        content = read_json(path)
    except InputError:
        return False
    match content:
        case {"format": 1, "used": [*_], "table": str(found)}:
            return not os.path.lexists(reviewers) or found == table_digest(read_bytes(reviewers))
    return False


def refuse_own(
    reviewers: str | os.PathLike[str], parameters: Mapping[str, Sequence[float]], reviews: Reviews
) -> None:
    """An `InputError` if the calibration was fitted on these very reviews, as far as that can be seen.

    A fit is known by the digests beside it: half of the papers with reviewers and scores, or more equal
    (paper, scores) or (paper, reviewer, score) than chance gives once in a million. One made by hand is known
    by offsets that are the reviewers' own means.
    """
    name = os.fspath(reviewers)
    if os.path.exists(beside(name)):
        now = footprint_of(reviews)
        for past in read_footprints(beside(name)):
            if found := overlap(past, now):
                raise InputError(f"{name} was fitted on these reviews ({found}): {_WHY}")
    if own_means(parameters, reviews):
        raise InputError(f"{name} has the reviewers' own mean scores of this year for offsets: {_WHY}")


def overlap(past: Footprint, now: Footprint, alarm: float = FALSE_ALARM) -> str:
    """What the two conferences share beyond chance, in words; empty where nothing is.

    Chance is taken as if paper ids had been dealt out anew: a paper's scores are then found under its id as
    often as they are among all past papers. Where the same person reviewed the same id both times, as if this
    person's past scores had been dealt out anew. `alarm` is how rarely chance may do as much.
    """
    papers = len(now.patterns)
    if 2 * len(past.whole & now.whole) >= max(papers, 2):
        return f"the papers of {past.conference!r} with the same reviewers and scores"
    same, known = len(past.scored & now.scored), Counter(past.patterns)
    expected = sum(known[pattern] for pattern in now.patterns) / len(past.patterns)
    if _at_least(same, expected) < alarm:
        return f"{count(same, 'paper')} of {past.conference!r} with the same scores, {expected:.1f} by chance"
    same, expected = _same_reviews(past.reviews, now.reviews)
    if _at_least(same, expected) < alarm:
        where = f"{past.conference!r} with the same paper, reviewer and score"
        return f"{count(same, 'review')} of {where}, {expected:.1f} by chance"
    return ""


def _same_reviews(past: Written, now: Written) -> tuple[int, float]:
    """How many reviews have the same paper, reviewer and score, and how many would by chance.

    What somebody's score for an id is expected to be: as often this or that as in the other past reviews of
    this person, with a few of everybody's added.
    """
    common = [(past[pair], now[pair]) for pair in past.keys() & now.keys()]
    people, everybody = Counter(who for who, _ in past.values()), Counter(given for _, given in past.values())
    own = Counter(past.values())
    expected = 0.0
    for then, (who, given) in common:
        others = own[who, given] - (then == (who, given))
        usual = everybody[given] / len(past)
        expected += (others + _FEW * usual) / (people[who] - 1 + _FEW)
    return sum(then == later for then, later in common), expected


def own_means(parameters: Mapping[str, Sequence[float]], reviews: Reviews) -> bool:
    """Whether most offsets are the mean scores that the same reviewers gave, to two decimals, and more of
    them than chance gives once in a million (each offset compared with everybody's means)."""
    known = [place for place, name in enumerate(reviews.reviewers) if name in parameters]
    if not known:
        return False
    means = (np.bincount(reviews.reviewer, reviews.score) / np.bincount(reviews.reviewer))[known]
    offsets = np.array([parameters[reviews.reviewers[place]][1] for place in known])
    near = _CENT * min(1.0, float(reviews.score.std())) + 1e-9
    same = int((np.abs(offsets - means) <= near).sum())
    ordered = np.sort(means)
    among = np.searchsorted(ordered, offsets + near, "right") - np.searchsorted(ordered, offsets - near)
    expected = float(among.sum()) / len(known)
    return 2 * same >= len(known) and _at_least(same, expected) < FALSE_ALARM


def _at_least(number: int, expected: float) -> float:
    """The chance of this many or more, where a Poisson number of them is expected.

    >>> _at_least(0, 0.0), round(_at_least(2, 1.0), 6), round(1 - 2 / np.e, 6)
    (1.0, 0.264241, 0.264241)
    """
    return float(gammainc(number, expected)) if number else 1.0
