"""What the chair asked for, and everything else that a coin is derived from, in one encoding."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from blindcal.beliefs.cases import PaperCase
from blindcal.beliefs.conferences import Conference
from blindcal.decisions.coins import Key, commitment
from blindcal.decisions.histories import Truth
from blindcal.decisions.records import Record
from blindcal.policies.guarantees import Guarantee

# The names of settings in coins and records never change, whatever they are called here.
_WIRE = {
    "name": "guarantee",
    "added_success": "added_success",
    "epsilon": "epsilon",
    "multiplier": "multiplier",
    "posterior_cap": "posterior_cap",
    "never_against": "never_against",
}


@dataclass(frozen=True)
class Request:
    """What the chair asked for. It is frozen with the first release: later ones may only change data."""

    guarantee: Guarantee
    conference: str = "conference"
    accept_rate: float | None = None
    bar: float | None = None
    better: str = "high"

    @property
    def settings(self) -> dict[str, Any]:
        """As it enters the coins and the record, under names that never change."""
        limits = {wire: getattr(self.guarantee, name) for name, wire in _WIRE.items()}
        return {**limits, "accept_rate": self.accept_rate, "bar": self.bar, "better": self.better}

    @classmethod
    def recorded(cls, record: Record) -> Request:
        """The request that a record was made for."""
        limits = {name: record.settings[wire] for name, wire in _WIRE.items()}
        rate, bar = record.settings["accept_rate"], record.settings["bar"]
        return cls(Guarantee(**limits), record.conference, rate, bar, record.settings["better"])


def public_facts(case: PaperCase) -> dict[str, Any]:
    """What is public about a paper, numbers as they were given."""
    pool = [
        [name, chance, *parameters]
        for name, chance, parameters in zip(case.candidates, case.inclusion, case.parameters, strict=True)
    ]
    return {"scores": list(case.scores), "grid": None if case.grid is None else list(case.grid), "pool": pool}


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
    """What tells one input from another, whatever the order of its rows; it tells nothing without the key."""
    papers = {case.paper: [public_facts(case), list(truth[case.paper])] for case in conference.cases}
    return key.stamp("input", {"settings": request.settings, "papers": papers}).hex()


def commit_to(key: Key, conference: Conference, truth: Truth, request: Request) -> str:
    """The number that can be published before the draw: it fixes the key and the whole input."""
    return commitment(
        key, {"conference": request.conference, "input": input_stamp(key, conference, truth, request)}
    )


def plain(content: Mapping[str, Any]) -> dict[str, Any]:
    """As it comes back from a record."""
    copied: dict[str, Any] = json.loads(json.dumps(content))
    return copied
