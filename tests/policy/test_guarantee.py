"""Guarantees: the ends of every limit are allowed or not as its rule says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from blindcal import Belief, private_policy
from blindcal.errors import InputError
from blindcal.policy.guarantee import MOST_EPSILON, NAMES, PUBLIC, UNLIMITED, Guarantee
from blindcal.project.settings import parse_guarantee

ALLOWED = {
    "epsilon": (0.0, MOST_EPSILON),
    "multiplier": (1.0, 2.0),
    "posterior_cap": (0.0, 1.0),
}


@pytest.mark.parametrize("limit", ALLOWED)
def test_a_bad_limit_is_refused_and_its_ends_are_not(limit: str) -> None:
    low, high = ALLOWED[limit]
    for value in (low, high):
        assert getattr(Guarantee("average", **{limit: value}), limit) == value
    for value in (math.nextafter(low, -math.inf), math.nextafter(high, math.inf), math.nan, math.inf):
        with pytest.raises(InputError, match=f"`{limit}`"):
            Guarantee("average", **{limit: value})


@pytest.mark.parametrize("limit", [*ALLOWED, "never_against"])
def test_a_limit_is_one_number(limit: str) -> None:
    """Text that reads as a number would enter the coins and the record as text."""
    for value in ("0.9", True, [0.9], np.array([0.9, 0.8])):
        with pytest.raises(InputError, match="must be one number, found"):
            Guarantee("average", **{limit: value})
    assert Guarantee("average", multiplier=np.float64(1.5), epsilon=2.0).multiplier == 1.5


def test_never_against_is_refused_at_both_ends() -> None:
    for value in (0.5, 1.0, 0.3, math.nan):
        with pytest.raises(InputError, match="`never_against`"):
            Guarantee("steady", never_against=value, epsilon=2.0)
    assert Guarantee("steady", never_against=math.nextafter(0.5, 1.0), epsilon=2.0).never_against > 0.5


def test_a_bad_name_is_quoted_beside_the_good_ones() -> None:
    with pytest.raises(InputError, match="one of public, steady, crowd, average, odds, none, found 'Steady'"):
        Guarantee("Steady", epsilon=2.0)


def test_a_limit_on_odds_is_never_missing() -> None:
    """Without one the guarantee would promise nothing."""
    assert Guarantee("odds") == Guarantee("odds", epsilon=3.0)
    with pytest.raises(InputError, match="`epsilon` must be a number with `guarantee` odds, found None"):
        Guarantee("odds", epsilon=None)


def test_a_name_alone_means_what_its_docstring_says() -> None:
    """In Python only the guarantees that limit every single decision come with an epsilon."""
    alone = {name: Guarantee(name).limits for name in NAMES}
    assert alone == {
        "public": {},
        "steady": {"epsilon": 3.0},
        "crowd": {"epsilon": 3.0, "among": 10},
        "average": {},
        "odds": {"epsilon": 3.0},
        "none": {},
    }
    assert Guarantee() == Guarantee("crowd", among=10, epsilon=3.0)
    assert Guarantee("none") == UNLIMITED
    assert Guarantee("public") == PUBLIC
    belief = Belief([0.6, 0.4], [0.9, 0.2])
    assert private_policy(belief, Guarantee("none")).accept.tolist() == [1.0, 0.0]
    assert Guarantee("steady", epsilon=None).limits == {}
    with pytest.raises(InputError, match="`epsilon` must be a number with `guarantee` odds, found None"):
        Guarantee("odds", epsilon=None)


@pytest.mark.parametrize("name", ["steady", "crowd", "average", "odds"])
def test_a_chair_who_names_no_epsilon_has_one_of_3(name: str) -> None:
    """The default of conference.toml and of the command line: also with `average`."""
    assert parse_guarantee(name).epsilon == 3.0
    assert parse_guarantee(f"{name} epsilon=1").epsilon == 1.0
    assert parse_guarantee("none").epsilon is parse_guarantee("public").epsilon is None
