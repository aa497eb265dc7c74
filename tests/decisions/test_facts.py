"""What enters a coin: everything that shaped a decision, each part of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blindcal.beliefs.cases import PaperCase
from blindcal.decisions.coins import Key
from blindcal.decisions.facts import coin_facts, public_facts
from blindcal.plans.requests import Request
from blindcal.policies.guarantees import Guarantee

CASE = PaperCase("p", (1.0, 2.0), ("a", "b"), (1.0, 1.0), ((1.0,) * 7,) * 2, 0.0)
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


def test_a_track_is_a_fact_where_each_has_a_bar_of_its_own() -> None:
    """And no fact elsewhere: coins without tracks are what they always were."""
    assert public_facts(CASE).keys() == {"scores", "grid", "pool"}
    assert public_facts(replace(CASE, track="main")) == {**public_facts(CASE), "track": "main"}
