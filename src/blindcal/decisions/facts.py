"""Everything that a coin is derived from, and what tells one input from another, in one encoding."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from blindcal.beliefs.cases import PaperCase
from blindcal.beliefs.conferences import Conference, Truth
from blindcal.decisions.coins import Key, input_commitment
from blindcal.plans.requests import Request


def public_facts(case: PaperCase) -> dict[str, Any]:
    """What is public about a paper, numbers as they were given."""
    pool = [
        [name, chance, *parameters]
        for name, chance, parameters in zip(case.candidates, case.inclusion, case.parameters, strict=True)
    ]
    grid = None if case.grid is None else list(case.grid)
    facts: dict[str, object] = {"scores": list(case.scores), "grid": grid, "pool": pool}
    # Only where each track has a bar of its own, or assignments were sampled: other coins stay as they were.
    if case.track:
        facts["track"] = case.track
    if case.sets is not None:
        facts["sets"] = [[list(who), number] for who, number in case.sets]
    return facts


def coin_facts(
    request: Request,
    release: int,
    paper: str,
    public: Mapping[str, Any],
    reviewers: Sequence[str],
    bar: float,
    price: float | None,
) -> dict[str, Any]:
    """Everything that shaped a decision, and nothing else: what its coin is derived from."""
    return {
        "conference": request.conference,
        "release": release,
        "paper": paper,
        **public,
        "bar": bar,
        "settings": request.settings,
        "price": price,
        "reviewers": list(reviewers),
    }


def input_stamp(key: Key, conference: Conference, truth: Truth, request: Request) -> str:
    """What identifies an input, whatever the order of its rows; it reveals nothing without the key."""
    papers = {case.paper: [public_facts(case), list(truth[case.paper])] for case in conference.cases}
    # A number of papers is no setting, but the bar that it leads to is: coins depend on it.
    bar = {} if request.quota is None else {"bar": conference.bar}
    return key.stamp("input", {"settings": request.settings, "papers": papers, **bar}).hex()


def commit_to(key: Key, conference: Conference, truth: Truth, request: Request) -> str:
    """The number that can be published before the draw: it fixes the key and the whole input."""
    return input_commitment(key, request.conference, input_stamp(key, conference, truth, request))


def plain(content: Mapping[str, Any]) -> dict[str, Any]:
    """As it comes back from a record."""
    copied: dict[str, Any] = json.loads(json.dumps(content))
    return copied
