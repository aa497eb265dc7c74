"""Deciding from Python: what is given one way or the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from blindcal.beliefs.inputs import read_inputs
from blindcal.decisions.deciding import decide
from blindcal.errors import InputError
from blindcal.plans.requests import Request
from blindcal.policies.guarantees import Guarantee
from small_conferences import small_conference


def test_one_published_folder_needs_no_list(key_path: Path, tmp_path: Path) -> None:
    folder = small_conference().write(tmp_path / "inputs")
    inputs = read_inputs(*(folder / f"{name}.csv" for name in ("reviews", "reviewers", "pools")))
    request, out = Request(Guarantee(), accept_rate=0.4), tmp_path / "out"
    first = decide(inputs, request, key_path, out)
    for published in (str(out), out, [out]):
        again = decide(inputs, request, key_path, out, published=published)
        assert (again.how, again.record) == ("stored", first.record)
    with pytest.raises(InputError, match=f"`published` {folder} must hold a certificate.json"):
        decide(inputs, request, key_path, out, published=str(folder))
