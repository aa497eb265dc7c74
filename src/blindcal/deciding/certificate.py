"""The text of decisions.csv and certificate.json, and the claims and figures of papers in a record.

`decisions_text` and `certificate_text` are functions of the record alone, so that verification makes both
files again and compares bytes. The fields of the certificate are declared
in `certificate_fields`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import ceil, isinf
from typing import Any

from blindcal.certify.claims import SUMS, Claim
from blindcal.certify.exact import CLAIM_DENOMINATOR
from blindcal.deciding.certificate_fields import (
    CERTIFICATE_FORMAT,
    assumptions,
    certificate_json,
    public_fields,
)
from blindcal.deciding.record import PaperRecord, Record
from blindcal.io.atomic_files import to_jsonable
from blindcal.io.tables import format_table
from blindcal.planning.advice import advice, by_means
from blindcal.planning.expected_errors import Figures, Standing, summary
from blindcal.planning.ranking_and_wait_list import ACCEPT, WAIT
from blindcal.planning.request import Quota
from blindcal.policy.guarantee import LIMITS, Guarantee
from blindcal.pools.candidates import OUTSIDER, union

# Figures have nine decimals. Sums differ by far less than 1e-10 from one kind of machine to another.
_DECIMALS, _MACHINES, _NOTHING = 10**9, Fraction(1, 10**10), 1e-12
# JSON has no infinity, which these may be.
UNBOUNDED = ("epsilon", "largest_factor")


@dataclass(frozen=True, eq=False)
class Listing:
    """What a release says of its papers: their private decisions, or the final list by an exact number."""

    quota: Quota | None  # how many papers are accepted, and how many wait; None if no number was requested
    decisions: Sequence[str]  # the decision on each paper
    # The place of each paper on the wait list; empty for papers that are not on it
    waiting: Sequence[int | str]
    # Whether mean scores would accept each paper; for an exact number, if they accepted as many
    raw: Sequence[float]
    figures: Sequence[Figures]  # the expectations of each paper

    def count(self, decision: str) -> int:
        """How many papers have this decision."""
        return list(self.decisions).count(decision)


def decisions_text(papers: Sequence[PaperRecord], listing: Listing) -> str:
    """The public table: decision, decision by mean scores, and the advice that leads from one to the other.

    A list by an exact number has tracks and places on the wait list too.
    A new column is written here; `exporters.formats` reads the columns.
    """
    raws = [by_means(share) for share in listing.raw]
    columns: dict[str, list[str] | list[int | str]] = {
        "paper": [p.paper for p in papers],
        "decision": list(listing.decisions),
        "by_mean_score": raws,
        "advice": [advice(*pair) for pair in zip(listing.decisions, raws, strict=True)],
    }
    if listing.quota is not None and any(p.public["track"] for p in papers):
        columns["track"] = [p.public["track"] for p in papers]
    if WAIT in listing.decisions:
        columns["wait_list"] = list(listing.waiting)
    return format_table(columns).decode()


def certificate_text(record: Record, listing: Listing, key_fingerprint: str) -> str:
    """The certificate: a function of scores, decisions and tables, and three numbers of the key.

    `public_certificate` says what of it is public.
    """
    request, papers, settings = record.request, record.papers, record.settings
    guarantee, claims = request.guarantee, [claim_of(paper) for paper in papers]
    since = [c for c, paper in zip(claims, papers, strict=True) if paper.earlier or paper.corrected]
    content: dict[str, Any] = {
        **stated(summary(claims, listing.figures), guarantee),
        "format": CERTIFICATE_FORMAT,
        "reviews": sum(len(paper.public["scores"]) for paper in papers),
        "conference": record.conference,
        "release": record.release,
        "accepted": listing.count(ACCEPT),
        "bar": record.bar,
        "better": request.better,
        "scores": record.scores,
        "publishes": record.publishes,
        "requested": {
            "accept_rate": settings["accept_rate"],
            "bar": settings["bar"],
            **({"accept": None, "wait_list": None} if listing.quota is None else vars(listing.quota)),
        },
        "scale": _scale(papers, request.better),
        "source": request.source,
        "pools": _pools(papers, guarantee),
        "calibration_fit": record.fit,
        "guarantee": guarantee.name,
        "limits": guarantee.recorded,
        "decided_again": {
            "papers": sum(bool(paper.earlier) for paper in papers),
            "corrected": sum(paper.corrected for paper in papers),
            **_largest_since(since, guarantee),
        },
        "commitment": record.commitment,
        "key_fingerprint": key_fingerprint,
    }
    if request.scale is not None:
        # How the calibration was moved to this year's scores, toward the better end.
        content["calibration_scale"] = dict(zip(("shift", "stretch"), request.scale, strict=True))
    if listing.quota is not None:
        private = stated(summary(claims, [figures_of(paper) for paper in papers]), guarantee)
        content["selection"] = {
            **vars(listing.quota),
            "waiting": listing.count(WAIT),
            "expected_wrong_private": private["expected_wrong"],
        }
    if record.level_model is not None:
        # Nothing is stated of candidates, of whom there are none, and no error, since the scores cannot tell
        # how strict reviewers are: `plan` gives a range. So all that is left depends on no score.
        content = {name: value for name, value in public_fields(content).items() if name != "pools"}
    content["assumptions"] = assumptions(content)
    return certificate_json(content)


def _scale(papers: Sequence[PaperRecord], better: str) -> dict[str, Any]:
    """The lowest and the highest score, and the possible ones if scores are rounded, as they were given."""
    sign = -1.0 if better == "low" else 1.0
    # Adding 0 makes a zero of no sign.
    given = {sign * score + 0.0 for paper in papers for score in paper.public["scores"]}
    grid = papers[0].public["grid"]
    return {
        "lowest_score": min(given),
        "highest_score": max(given),
        "possible_scores": None if grid is None else sorted(sign * level + 0.0 for level in grid),
    }


def _pools(papers: Sequence[PaperRecord], guarantee: Guarantee) -> dict[str, Any]:
    """How many people may have reviewed some paper, and how many candidates papers have.

    Somebody who is not listed by name counts as one candidate. Of fewer named people than a crowd someone is
    always likelier than 1 in so many, so that a crowd is steady there; somebody who is not listed may
    prevent that.
    """
    pools: list[Sequence[str]] = [paper.public["pool"].candidates for paper in papers]
    sizes = sorted(map(len, pools))
    reviews = [len(paper.public["scores"]) for paper in papers]
    among = guarantee.among or 0
    small = sum(len(pool) < among and OUTSIDER not in pool for pool in pools)
    return {
        "people": len(union(pools) - {OUTSIDER}),
        "smallest": sizes[0],
        "median": sizes[(len(sizes) - 1) // 2],
        "largest": sizes[-1],
        "with_others": sum(OUTSIDER in pool for pool in pools),
        "reviews_per_paper": [min(reviews), max(reviews)],
        **({"smaller_than_crowd": small} if among else {}),
    }


def stated(numbers: Mapping[str, float | int], guarantee: Guarantee) -> dict[str, float | int]:
    """The numbers of a certificate as they are stated: counts as they are, all others rounded upwards."""
    # What depends on the table alone is the same on every machine.
    exact, most = {limit.bounds for limit in LIMITS.values() if limit.prior_free}, guarantee.figure_limits

    def rounded(name: str, number: float) -> float:
        if isinstance(number, int):
            return number
        if name in exact:
            return upwards(number, most.get(name))
        if name == "largest_factor":
            return upwards(number, None, _MACHINES * max(1, ceil(min(number, _DECIMALS))))
        # All others are chances or shares.
        return min(1.0, upwards(number, most.get(name), _MACHINES))

    return {name: rounded(name, number) for name, number in numbers.items()}


def _largest_since(claims: Sequence[Claim], guarantee: Guarantee) -> dict[str, float]:
    """The largest figures of these claims that hold under any prior, so under corrected data too."""
    return {
        limit.bounds: upwards(
            max((getattr(claim, limit.bounds) for claim in claims), default=limit.low),
            getattr(guarantee, name),
        )
        for name, limit in LIMITS.items()
        if limit.prior_free
    }


def upwards(number: float, limit: float | None = None, margin: Fraction = Fraction(0)) -> float:
    """A number rounded up to nine decimals, but never past a limit that it keeps.

    The margin allows for what another machine finds. A number within rounding of 0 is 0.
    """
    if isinf(number) or number < _NOTHING:
        return number if isinf(number) else 0.0
    rounded = ceil((Fraction(number) + margin) * _DECIMALS) / _DECIMALS
    return rounded if limit is None or number > limit else min(rounded, limit)


def figures_json(figures: Figures) -> dict[str, Any]:
    """The figures of a paper as they are recorded, standings apart from the rest."""
    numbers = asdict(figures)
    return {"standings": [list(standing) for standing in numbers.pop("standings")], "numbers": numbers}


def figures_of(paper: PaperRecord) -> Figures:
    """The figures of a recorded paper."""
    rejected, accepted = (Standing(*standing) for standing in paper.figures["standings"])
    return Figures(**paper.figures["numbers"], standings=(rejected, accepted))


def claim_json(claim: Claim) -> dict[str, Any]:
    """A claim in JSON's types, the sums in units of 2^-80; how a table was repaired is no claim."""
    sums = {name: int(getattr(claim, name) * CLAIM_DENOMINATOR) for name in SUMS}
    kept = {name: value for name, value in asdict(claim).items() if name != "mixed"}
    return {**kept, **sums, **{name: to_jsonable(getattr(claim, name)) for name in UNBOUNDED}}


def claim_of(paper: PaperRecord) -> Claim:
    """The claim of a recorded paper."""
    content = dict(paper.figures["claim"])
    sums = {name: Fraction(content[name], CLAIM_DENOMINATOR) for name in SUMS}
    return Claim(**{**content, **sums, **{name: float(content[name]) for name in UNBOUNDED}})
