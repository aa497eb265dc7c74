"""Decided on one kind of machine, verified on every other: kernels and instructions switched off stand in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from machines import KINDS, machines, run_as
from sizes import count

CONFERENCES = count(len(KINDS), 24)


@pytest.mark.parametrize("decider", machines())
def test_what_one_kind_of_machine_decided_every_other_verifies(decider: str, tmp_path: Path) -> None:
    """All kinds of conferences. No honest release is refused: false alarms are bounded by 1e-6 a release."""
    run_as(machines()[decider], "decide", str(tmp_path), str(CONFERENCES))
    for settings in machines().values():
        found = json.loads(run_as(settings, "verify", str(tmp_path), str(CONFERENCES)))
        assert len(found) == CONFERENCES
        assert [one for one in found if one["wrong"]] == []
