"""Everything that a coin is derived from, and what tells one input from another, in one encoding.

Only what was given enters: scores, pools, calibration, settings, reviewers. No bar, price or other number
that is computed from them: whoever could choose such a number within some tolerance could choose the coins.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from blindcal.beliefs.cases import PaperCase
from blindcal.beliefs.conferences import Conference, Truth
from blindcal.decisions.coins import Key, input_commitment
from blindcal.plans.quotas import Number
from blindcal.plans.requests import Request


def public_facts(case: PaperCase) -> dict[str, Any]:
    """What is public about a paper, numbers as they were given."""
    pool = [
        [name, chance, *parameters]
        for name, chance, parameters in zip(case.candidates, case.inclusion, case.parameters, strict=True)
    ]
    grid = None if case.grid is None else list(case.grid)
    sets = None if case.sets is None else [[list(who), number] for who, number in case.sets]
    return {"scores": list(case.scores), "grid": grid, "pool": pool, "track": case.track, "sets": sets}


def coin_facts(
    request: Request,
    release: int,
    paper: str,
    public: Mapping[str, Any],
    reviewers: Sequence[str],
    accept: Number | None,
) -> dict[str, Any]:
    """Everything that was given and shaped a decision: what its coin is derived from.

    `accept` is the number of papers that was requested first: it led to the bar. `select` changes the number
    without a toss, and a paper that comes later is tossed as if it had been there.
    """
    return {
        "conference": request.conference,
        "release": release,
        "paper": paper,
        **public,
        "settings": request.settings,
        "accept": accept,
        "reviewers": list(reviewers),
    }


def input_stamp(
    key: Key, conference: Conference, truth: Truth, request: Request, accept: Number | None = None
) -> str:
    """What identifies an input, whatever the order of its rows; it reveals nothing without the key. `accept`
    is the number of papers that was requested first, by default the one requested now."""
    accept = request.accept if accept is None else accept
    papers = {case.paper: [public_facts(case), list(truth[case.paper])] for case in conference.cases}
    return key.stamp("input", {"settings": request.settings, "accept": accept, "papers": papers}).hex()


def commit_to(
    key: Key, conference: Conference, truth: Truth, request: Request, accept: Number | None = None
) -> str:
    """The number that can be published before the draw: it fixes the key and the whole input."""
    return input_commitment(key, request.conference, input_stamp(key, conference, truth, request, accept))


def plain(content: Mapping[str, Any]) -> dict[str, Any]:
    """As it comes back from a record."""
    copied: dict[str, Any] = json.loads(json.dumps(content))
    return copied
