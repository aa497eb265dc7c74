"""What cannot be a request is refused in words, before anything is read or planned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from blindcal.audits.verifying import verify
from blindcal.beliefs.inputs import read_inputs
from blindcal.decisions.deciding import decide
from blindcal.errors import InputError
from blindcal.plans.plans import plan
from blindcal.plans.requests import Request
from blindcal.policies.guarantees import Guarantee
from small_conferences import small_conference

BAD: dict[str, dict[str, Any]] = {
    "`accept_rate` must be one number, found '0.25'": {"accept_rate": "0.25"},
    "`accept_rate` must be one number, found [0.25]": {"accept_rate": [0.25]},
    "`bar` must be one number, found '0'": {"bar": "0"},
    "`bar` must be one number, found True": {"bar": True},
    "`guarantee` must be like Guarantee('steady'), found 'steady'": {
        "guarantee": "steady",
        "accept_rate": 0.2,
    },
    "`conference` must be a name, found 0.25: is it a number that belongs to `accept_rate`": {
        "conference": 0.25
    },
}


@pytest.mark.parametrize("told", BAD)
def test_a_request_of_wrong_types_is_refused(told: str) -> None:
    with pytest.raises(InputError) as caught:
        Request(**{"guarantee": Guarantee(), **BAD[told]}).checked()
    assert told in str(caught.value)


def test_arguments_in_the_wrong_place_are_named(tmp_path: Path) -> None:
    folder = small_conference().write(tmp_path)
    inputs = read_inputs(*(folder / f"{name}.csv" for name in ("reviews", "reviewers", "pools")))
    request: Any = Request(Guarantee(), accept_rate=0.4)
    path: Any = folder / "reviews.csv"
    swapped: Any = inputs
    for given in (path, request):
        with pytest.raises(InputError, match="inputs must be what read_inputs returns"):
            plan(given, swapped)
        with pytest.raises(InputError, match="inputs must be what read_inputs returns"):
            decide(given, request, tmp_path / "key.bin", tmp_path / "out")
        with pytest.raises(InputError, match="inputs must be what read_inputs returns"):
            verify(given, tmp_path / "key.bin")
    for other in (Guarantee(), plan(inputs, request)):
        wrong: Any = other
        with pytest.raises(InputError, match=f"request must be a Request, found {type(other).__name__}"):
            plan(inputs, wrong)
        with pytest.raises(InputError, match=f"request must be a Request, found {type(other).__name__}"):
            decide(inputs, wrong, tmp_path / "key.bin", tmp_path / "out")
