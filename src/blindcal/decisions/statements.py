"""What is said about a release: the public table of decisions, the public certificate, claims in a record."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import ceil, isinf
from typing import Any

from blindcal.assignments.pools import OUTSIDER
from blindcal.beliefs.conferences import Level
from blindcal.decisions.records import PaperRecord
from blindcal.files.disk import jsonable
from blindcal.files.tables import format_table
from blindcal.plans.agreements import Agreement
from blindcal.plans.certificates import Claim
from blindcal.plans.figures import Figures, Standing
from blindcal.plans.listings import ACCEPT, REJECT, WAIT
from blindcal.plans.promises import ASSUMPTIONS, SELECTED, summary
from blindcal.plans.quotas import Quota
from blindcal.plans.rounding import FINE
from blindcal.policies.guarantees import Guarantee

CERTIFICATE_FORMAT = 2
"""Counted up whenever a field is added; 1 did not say so. docs/certificate_schema.json describes them all."""
_DECIMALS = 10**6
# A certificate calls them so for ever, whatever they are called here: it is made again to be verified.
_LIMITS = ("added_success", "epsilon", "multiplier", "posterior_cap", "never_against")


@dataclass(frozen=True, eq=False)
class Listing:
    """The final list of a release: for each paper its decision, its place on the wait list (empty: none), and
    its figures."""

    quota: Quota
    decisions: Sequence[str]
    waiting: Sequence[int | str]
    figures: Sequence[Figures]

    def count(self, decision: str) -> int:
        """How many papers have this decision."""
        return list(self.decisions).count(decision)


def decisions_text(papers: Sequence[PaperRecord], listing: Listing | None = None) -> str:
    """The public table: decision, raw decision, and the advice that leads from the second to the first; with
    the final list's decisions where there is one, and then the track and the place on the wait list.

    A tie of mean scores is no decision: there the advice is the decision itself. A paper on the wait list
    is not accepted.

    A new column is written here. `audits.comparisons` compares published tables byte by byte, so it must
    first allow tables without it; what is not in `PaperRecord` becomes a field with a default there, and
    `exporters.decided` reads the columns.
    """
    words = {1.0: ACCEPT, 0.0: REJECT}
    advice = {(ACCEPT, REJECT): "raise", (REJECT, ACCEPT): "lower", (WAIT, ACCEPT): "lower"}
    advice |= {(word, "tie"): word for word in (ACCEPT, REJECT, WAIT)}
    found = [words[p.accepted] for p in papers] if listing is None else listing.decisions
    raws = [words.get(p.raw_accepted, "tie") for p in papers]
    columns: dict[str, list[str] | list[int | str]] = {
        "paper": [p.paper for p in papers],
        "decision": list(found),
        "raw_decision": raws,
        "advice": [advice.get(pair, "leave") for pair in zip(found, raws, strict=True)],
    }
    if listing is not None and any(p.public.get("track") for p in papers):
        columns["track"] = [p.public["track"] for p in papers]
    if listing is not None and WAIT in found:
        columns["wait_list"] = list(listing.waiting)
    return format_table(columns).decode()


def certificate_text(
    guarantee: Guarantee,
    settings: Mapping[str, Any],
    conference: str,
    release: int,
    bar: Level,
    papers: Sequence[PaperRecord],
    *,
    better: str,
    listing: Listing | None = None,
    fit: Agreement,
    commitment: str,
    key_fingerprint: str,
    release_counter: int,
) -> str:
    """The public certificate: a function of scores, decisions and tables, and three numbers of the key."""
    claims, figures = [claim_of(paper) for paper in papers], [figures_of(paper) for paper in papers]
    private = summary(claims, figures)
    numbers = private if listing is None else summary(claims, listing.figures)
    twice = [c for c, paper in zip(claims, papers, strict=True) if paper.earlier]
    content = {
        "format": CERTIFICATE_FORMAT,
        **numbers,
        "epsilon": stated_epsilon(max(c.epsilon for c in claims), guarantee.epsilon),
        "conference": conference,
        "release": release,
        "accepted": sum(p.accepted for p in papers) if listing is None else listing.count(ACCEPT),
        "bar": bar,
        "better": better,
        "requested": _requested(settings, listing),
        "scale": _scale(papers, better),
        "pools": _pools(papers),
        **moved_to_scale(settings),
        "calibration_fit": fit.public,
        "guarantee": guarantee.name,
        "limits": {name: settings[name] for name in _LIMITS},
        "decided_again": {
            "papers": len(twice),
            "epsilon": stated_epsilon(max((c.epsilon for c in twice), default=0.0), guarantee.epsilon),
            "note": "When a paper is decided again although its public data did not change, this reveals that"
            " its reviewers were corrected. Its figures are for all decisions about its reviews "
            "together; success, largest_rise and largest_posterior are for someone who takes its "
            "reviewers to be the same in all of them, whichever old score a corrected one replaced. "
            "They count what the earlier outcomes happened to reveal, so added_success may exceed a "
            "limit that every decision keeps on average.",
        },
        "commitment": commitment,
        "key_fingerprint": key_fingerprint,
        "release_counter": release_counter,
        "assumptions": [*ASSUMPTIONS, *(() if listing is None else SELECTED)],
    }
    if listing is not None:
        content["selection"] = {
            "accept": listing.quota.accept,
            "wait_list": listing.quota.wait_list,
            "waiting": listing.count(WAIT),
            "expected_wrong_private": private["expected_wrong"],
        }
    return json.dumps(jsonable(content), indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def _requested(settings: Mapping[str, Any], listing: Listing | None) -> dict[str, Any]:
    """How many papers the chair requested: a share, a bar or a number; what was not given is null."""
    quota = None if listing is None else listing.quota
    exactly = {"accept": None, "wait_list": None} if quota is None else vars(quota)
    return {"accept_rate": settings["accept_rate"], "bar": settings["bar"], **exactly}


def _scale(papers: Sequence[PaperRecord], better: str) -> dict[str, Any]:
    """The lowest and the highest score that was given, and those that can be given where they are rounded;
    as they were given, also where low scores are better."""
    sign = -1.0 if better == "low" else 1.0
    # Adding 0 makes a zero of no sign.
    given = {sign * score + 0.0 for paper in papers for score in paper.public["scores"]}
    grid = papers[0].public["grid"]
    return {
        "lowest_score": min(given),
        "highest_score": max(given),
        "possible_scores": None if grid is None else sorted(sign * level + 0.0 for level in grid),
    }


def _pools(papers: Sequence[PaperRecord]) -> dict[str, Any]:
    """How many people may have reviewed: over all papers, and for the papers with the fewest and the most
    candidates; where somebody who is not listed may have, that counts as one candidate."""
    pools = [[row[0] for row in paper.public["pool"]] for paper in papers]
    sizes = sorted(map(len, pools))
    reviews = [len(paper.public["scores"]) for paper in papers]
    return {
        "people": len({name for pool in pools for name in pool} - {OUTSIDER}),
        "smallest": sizes[0],
        "median": sizes[(len(sizes) - 1) // 2],
        "largest": sizes[-1],
        "with_others": sum(OUTSIDER in pool for pool in pools),
        "reviews_per_paper": [min(reviews), max(reviews)],
    }


def moved_to_scale(settings: Mapping[str, Any]) -> dict[str, Any]:
    """How the calibration was moved to this year's scores, where it was: toward the better end.

    >>> moved_to_scale({"scale": [0.25, 1.1]}), moved_to_scale({})
    ({'calibration_scale': {'shift': 0.25, 'stretch': 1.1}}, {})
    """
    scale = settings.get("scale")
    return {} if scale is None else {"calibration_scale": {"shift": scale[0], "stretch": scale[1]}}


def stated_epsilon(exact: float, limit: float | None) -> float:
    """An epsilon as it is stated: rounded up to six decimals, but never past the limit that it keeps.

    >>> stated_epsilon(1.9999999999999873, 2.0), stated_epsilon(0.12345612, 0.1234562)
    (2.0, 0.1234562)
    """
    if isinf(exact):
        return exact
    rounded = ceil(Fraction(exact) * _DECIMALS) / _DECIMALS
    return rounded if limit is None or exact > limit else min(rounded, limit)


def figures_json(figures: Figures) -> dict[str, Any]:
    """The figures of a paper as they are recorded: standings, which came later, apart from the rest."""
    numbers = asdict(figures)
    standings = numbers.pop("standings")
    if standings is None:
        return {"numbers": numbers}
    return {"numbers": numbers, "standings": [list(one) for one in standings]}


def figures_of(paper: PaperRecord) -> Figures:
    """The figures of a recorded paper."""
    standings = paper.figures.get("standings")
    both = None if standings is None else (Standing(*standings[0]), Standing(*standings[1]))
    return Figures(**paper.figures["numbers"], standings=both)


def claim_json(claim: Claim) -> dict[str, Any]:
    """A claim in JSON's types; the sums in units of 2^-80."""
    sums = {name: int(getattr(claim, name) * FINE) for name in ("success_scores_only", "success", "added")}
    return {**asdict(claim), **sums, "epsilon": jsonable(claim.epsilon)}


def claim_of(paper: PaperRecord) -> Claim:
    """The claim of a recorded paper."""
    content = dict(paper.figures["claim"])
    sums = {name: Fraction(content[name], FINE) for name in ("success_scores_only", "success", "added")}
    return Claim(**{**content, **sums, "epsilon": float(content["epsilon"])})


def probability_of(paper: PaperRecord) -> Fraction:
    """The exact accept probability that a paper's coin was compared with."""
    top, bottom = paper.probability
    return Fraction(int(top, 16), int(bottom, 16))
