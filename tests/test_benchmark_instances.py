"""The instances are fixed: their numbers are those that were published."""

from __future__ import annotations

import numpy as np
import pytest

from blindcal import InputError
from blindcal.benchmark import INSTANCES, instance

# Papers, and secrets of all papers together.
PUBLISHED = {
    "pair without noise": (1, 2),
    "pair with noise": (1, 2),
    "pair near a tie": (1, 2),
    "papers, pools of 4": (12, 144),
    "papers, pools of 8": (8, 448),
    "the paper's two reviewers": (2, 4),
    "matching of 2": (2, 4),
    "matching of 3": (3, 9),
    "matching of 4": (4, 16),
    "conference": (30, 1800),
}


@pytest.mark.parametrize("name", INSTANCES)
def test_an_instance_is_what_was_published(name: str) -> None:
    found = instance(name)
    papers, secrets = PUBLISHED[name]
    assert (len(found.beliefs), sum(one.weight.size for one in found.beliefs)) == (papers, secrets)
    for belief in found.beliefs:
        assert belief.weight.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("name", [name for name in INSTANCES if name.startswith("matching")])
def test_a_matching_has_every_permutation(name: str) -> None:
    found = instance(name)
    assert found.assignments is not None
    assert found.chance is not None
    papers = len(found.beliefs)
    assert len(np.unique(found.assignments, axis=0)) == np.prod(np.arange(1, papers + 1))
    assert found.chance.sum() == pytest.approx(1.0)


def test_an_instance_that_there_is_not_is_refused() -> None:
    with pytest.raises(InputError, match=r"must be one of pair without noise; .*, found 'pairs'"):
        instance("pairs")
