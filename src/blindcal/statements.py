"""What is said of a release: the public table of decisions, the public certificate, claims in a record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from blindcal.certificates import Claim
from blindcal.files import jsonable
from blindcal.guarantees import Guarantee
from blindcal.plans import ASSUMPTIONS, Figures, summary
from blindcal.records import PaperRecord
from blindcal.rounding import FINE
from blindcal.tables import format_table


def decisions_text(papers: Sequence[PaperRecord]) -> str:
    """The public table: decision, raw decision, and the advice that leads from the second to the first."""
    words = {True: "accept", False: "reject"}
    advice = {(True, False): "raise", (False, True): "lower"}
    return format_table(
        {
            "paper": [p.paper for p in papers],
            "decision": [words[p.accepted] for p in papers],
            "raw_decision": [words[p.raw_accepted] for p in papers],
            "advice": [advice.get((p.accepted, p.raw_accepted), "leave") for p in papers],
        }
    ).decode()


def certificate_text(
    guarantee: Guarantee,
    conference: str,
    release: int,
    bar: float,
    papers: Sequence[PaperRecord],
    *,
    commitment: str,
    key_fingerprint: str,
    release_counter: int,
) -> str:
    """The public certificate: a function of scores, decisions and tables, and three numbers of the key."""
    claims = [claim_of(paper) for paper in papers]
    numbers = summary(claims, [Figures(**paper.figures["numbers"]) for paper in papers])
    twice = [c for c, paper in zip(claims, papers, strict=True) if paper.earlier]
    content = {
        **numbers,
        "conference": conference,
        "release": release,
        "accepted": sum(paper.accepted for paper in papers),
        "bar": bar,
        "guarantee": guarantee.name,
        "limits": {k: v for k, v in asdict(guarantee).items() if k != "name"},
        "decided_again": {
            "papers": len(twice),
            "epsilon": max((c.epsilon for c in twice), default=0.0),
            "note": "A paper decided again whose public data did not change tells that its reviewers were "
            "corrected. Its figures are for all decisions about its reviews together; success, largest_rise "
            "and largest_posterior are for somebody who takes its reviewers to be the same in all of them, "
            "whichever old score a corrected one replaced. They count what the earlier outcomes happened to "
            "reveal, so added_success may exceed a limit that every decision keeps on average.",
        },
        "commitment": commitment,
        "key_fingerprint": key_fingerprint,
        "release_counter": release_counter,
        "assumptions": list(ASSUMPTIONS),
    }
    return json.dumps(jsonable(content), indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


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
