"""Decided on one kind of machine, verified on every other: kernels and instructions switched off stand in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from machines import KINDS, machines, run_as
from sizes import count

CONFERENCES = count(len(KINDS), 24)


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Folders with the same conferences, as each kind of machine decided them."""
    homes = []
    for decider, settings in machines().items():
        homes.append(str(tmp_path_factory.mktemp(decider)))
        run_as(settings, "decide", homes[-1], str(CONFERENCES))
    return homes


@pytest.mark.parametrize("verifier", machines())
def test_what_one_kind_of_machine_decided_every_other_verifies(verifier: str, decided: list[str]) -> None:
    """All kinds of conferences. No honest release is refused: false alarms are bounded by 1e-6 a release."""
    found = json.loads(run_as(machines()[verifier], "verify", str(CONFERENCES), *decided))
    assert len(found) == CONFERENCES * len(decided)
    assert [one for one in found if one["wrong"]] == []


def test_every_kind_of_machine_publishes_the_same_of_this_year_s_reviews(tmp_path: Path) -> None:
    """Whole releases with the same keys, amended once: every byte that is public."""
    digests = {
        name: run_as(settings, "this-year", str(tmp_path / name), f"{count(6, 60)}")
        for name, settings in machines().items()
    }
    assert len({*digests.values()}) == 1, digests
