"""Mechanisms to compare with, and those that a user names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blindcal import Belief, InputError
from blindcal.benchmark import MECHANISMS, load

BELIEF = Belief([0.6, 0.4], [0.9, 0.2])


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_keeps_what_its_name_says(name: str) -> None:
    policy = MECHANISMS[name](BELIEF)
    expected = {
        "full calibration": [1.0, 0.0],
        "public": [1.0, 1.0],
        "half and half": [1.0, 0.5],
        "three in four": [0.75, 0.25],
        "by the evidence": [0.9, 0.2],
    }
    if name in expected:
        np.testing.assert_allclose(policy.accept, expected[name])
    if "epsilon" in name:
        assert policy.epsilon <= float(name.split("epsilon ")[1][0]) + 1e-9
    if name.startswith(("average", "steady")):
        assert 1.0 - policy.adversary_error(BELIEF) == pytest.approx(0.6, abs=1e-9)


def test_a_module_of_this_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("own_policies.py").write_text(
        "def never(belief):\n    return None\n\n\nnumber = 3\n", encoding="utf-8"
    )
    assert load("own_policies:never")(BELIEF) is None
    for place, message in (
        ("own_policies", "must be given as module:function"),
        ("own_policies:nothing", "no function at 'own_policies:nothing'"),
        ("no_such_module:policy", "no function at"),
        ("own_policies:number", "must be a function"),
    ):
        with pytest.raises(InputError, match=message):
            load(place)
