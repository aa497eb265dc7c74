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


def test_decisions_that_were_replaced_are_called_so(key_path: Path, tmp_path: Path) -> None:
    """An old file of reviews leads to the old decisions: whoever publishes them should know."""
    small = small_conference()
    request = Request(Guarantee(), accept_rate=0.4)
    old, new = (
        read_inputs(*(folder / f"{name}.csv" for name in ("reviews", "reviewers", "pools")))
        for folder in (small.write(tmp_path / "a"), small.with_review(1, score="0.77").write(tmp_path / "b"))
    )
    first = decide(old, request, key_path, tmp_path / "one")
    second = decide(new, request, key_path, tmp_path / "two", amend=True, reason="typo")
    for inputs, told in ((old, True), (new, False)):
        again = decide(inputs, request, key_path, tmp_path / "three" / f"{told}")
        assert again.record == (first if told else second).record
        assert any("release 2 came after it and replaced it" in one for one in again.remarks) is told


def test_nothing_is_published_beside_the_reviews(key_path: Path, tmp_path: Path) -> None:
    folder = small_conference().write(tmp_path / "inputs")
    inputs = read_inputs(*(folder / f"{name}.csv" for name in ("reviews", "reviewers", "pools")))
    (tmp_path / "link").symlink_to(folder)
    for out in (folder, tmp_path, tmp_path / "link"):
        with pytest.raises(InputError, match="must not lie in the `out` folder: it says who reviewed what"):
            decide(inputs, Request(Guarantee(), accept_rate=0.4), key_path, out)
    assert sorted(path.name for path in folder.iterdir()) == ["pools.csv", "reviewers.csv", "reviews.csv"]
    decide(inputs, Request(Guarantee(), accept_rate=0.4), key_path, folder / "out")
