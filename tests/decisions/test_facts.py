"""What enters a coin: everything that shaped a decision, each part of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blindcal.decisions.coins import Key
from blindcal.decisions.facts import coin_facts
from blindcal.plans.requests import Request
from blindcal.policies.guarantees import Guarantee

REQUEST = Request(Guarantee(), "c", accept_rate=0.4)
PUBLIC = {"scores": [1.0, 2.0], "grid": None, "pool": [["a", 0.5, 1.0], ["b", 0.5, 1.0]]}
FACTS = {
    "request": REQUEST,
    "release": 1,
    "paper": "p",
    "public": PUBLIC,
    "reviewers": ("a", "b"),
    "bar": 0.5,
    "price": None,
}
OTHERS = {
    "request": replace(REQUEST, conference="d"),
    "release": 2,
    "paper": "q",
    "public": {**PUBLIC, "scores": [1.0, 3.0]},
    "reviewers": ("b", "a"),
    "bar": 0.6,
    "price": 0.1,
}


@pytest.mark.parametrize("name", sorted(FACTS))
def test_every_fact_moves_the_coin(name: str) -> None:
    key = Key(bytes(32))
    one, two = (key.stamp("coin", coin_facts(**facts)) for facts in (FACTS, {**FACTS, name: OTHERS[name]}))
    assert one != two
