"""What enters a coin: everything that shaped a decision, each part of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blindcal.deciding.key import Key, coin_facts, public_facts
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.paper import PaperCase

CASE = PaperCase("p", (1.0, 2.0), ("a", "b"), (1.0, 1.0), ((1.0,) * 7,) * 2, 0.0)
REQUEST = Request(Guarantee("steady", epsilon=2.0), "c", accept_rate=0.4)
PUBLIC = {
    "scores": [1.0, 2.0],
    "grid": None,
    "pool": [["a", 0.5, 1.0], ["b", 0.5, 1.0]],
    "track": "",
}
FACTS = {
    "request": REQUEST,
    "release": 1,
    "paper": "p",
    "public": PUBLIC,
    "reviewers": ("a", "b"),
}
OTHERS = {
    "request": replace(REQUEST, conference="d"),
    "release": 2,
    "paper": "q",
    "public": {**PUBLIC, "scores": [1.0, 3.0]},
    "reviewers": ("b", "a"),
}


@pytest.mark.parametrize("name", sorted(FACTS))
def test_every_fact_moves_the_coin(name: str) -> None:
    key = Key(bytes(32))
    one, two = (key.stamp("coin", coin_facts(**facts)) for facts in (FACTS, {**FACTS, name: OTHERS[name]}))
    assert one != two


def test_an_exact_number_moves_the_coin() -> None:
    key, exactly = Key(bytes(32)), replace(REQUEST, accept_rate=None)
    stamps = {
        key.stamp("coin", coin_facts(**{**FACTS, "request": replace(exactly, accept=number)}))
        for number in (1, 2, {"main": 2})
    }
    assert len(stamps) == 3
    waiting = replace(exactly, accept=2, wait_list=3)
    assert coin_facts(**{**FACTS, "request": waiting})["accept"] == 2


def test_nothing_that_is_computed_enters_a_coin() -> None:
    """Given data alone: whoever could move a bar within a slack could choose the coins."""
    moved = replace(CASE, bar=CASE.bar + 0.001)
    assert public_facts(CASE) == public_facts(moved)
    assert coin_facts(**FACTS).keys() == {
        *("conference", "release", "paper", "settings", "accept", "reviewers"),
        *PUBLIC,
    }
    assert public_facts(CASE).keys() == PUBLIC.keys()
