"""Releases forged with the key, on one kind of machine, and verified on it and on another kind: every forgery
is noticed, and no honest release is refused."""

from __future__ import annotations

import json
from math import gcd
from pathlib import Path

import pytest

import forgeries
from forgeries import FORGERIES
from machines import machines, run_as
from sizes import count

# In the long run more than 200 forgeries and as many honest releases, half of them on either kind of machine.
MANY, EVERY = count(30, 2 * len(FORGERIES)), count(2, 1)
ENDS = list(dict.fromkeys((min(machines(), key=list(machines()).index), list(machines())[-1])))


@pytest.mark.parametrize("forger", ENDS[: count(1, 2)])
def test_every_forgery_is_noticed_and_no_honest_release_is_refused(forger: str, tmp_path: Path) -> None:
    program = forgeries.__file__
    text = run_as(machines()[forger], "forge", str(tmp_path), str(MANY), str(EVERY), program=program)
    (tmp_path / "made.json").write_text(text, encoding="utf-8")
    assert len(json.loads(text)) == MANY
    for auditor in ENDS:
        made = str(tmp_path / "made.json")
        found = json.loads(run_as(machines()[auditor], "verify", str(tmp_path), made, program=program))
        assert len(found) == MANY
        assert [one for one in found if not one["noticed"]] == []
        assert [one for one in found if one["refused"]] == []
        assert sum(len(one["twins"]) for one in found) * EVERY >= MANY


def test_all_sorts_of_forgeries_are_made_in_the_long_run() -> None:
    assert gcd(forgeries._STEP, len(FORGERIES)) == 1
    assert 4 * len(FORGERIES) > 200
