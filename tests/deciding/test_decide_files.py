"""Deciding from Python: the same input once and for all, and nothing written where it is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blindcal.deciding.decide import decide
from blindcal.deciding.key import make_key
from blindcal.deciding.publish import latest_release, release_folder
from blindcal.errors import InputError, RefusedError
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.inputs import Inputs, read_inputs
from blindcal.verification import verify
from small_conferences import everything, read_small, small_conference

REQUEST = Request(Guarantee("steady", epsilon=2.0), accept_rate=0.4)


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    return read_small(small_conference(), tmp_path / "in")


def test_the_same_input_always_returns_the_stored_decisions(
    inputs: Inputs, key_path: Path, tmp_path: Path
) -> None:
    first = decide(inputs, REQUEST, key_path, tmp_path / "out")
    assert first.how == "new"
    public = everything(tmp_path / "out")
    assert public["decisions.csv"].decode() == first.record.decisions
    assert public["certificate.json"].decode() == first.record.certificate
    sealed = everything(tmp_path / "key.bin.sealed")
    assert len([name for name in sealed if name.endswith(".sealed")]) == 1
    for out in ("out", "copy"):
        again = decide(inputs, REQUEST, str(key_path), str(tmp_path / out))
        assert (again.how, again.record) == ("stored", first.record)
        assert everything(tmp_path / out) == public
    assert everything(tmp_path / "key.bin.sealed") == sealed


def test_a_recognized_grid_is_frozen_with_the_first_release(key_path: Path, tmp_path: Path) -> None:
    """Else one corrected score could move the grid, and with it the public data of every paper."""
    small = small_conference()
    rows = [(paper, who, f"{3 + i % 4}") for i, (paper, who, _) in enumerate(small.reviews[1:])]
    whole = replace(small, reviews=(small.reviews[0], *rows))
    first = read_small(whole, tmp_path / "in")
    record = decide(first, REQUEST, key_path, tmp_path / "out", despite_misfit=True).record
    assert record.grid == [3, 4, 5, 6]
    nearer = [(paper, who, score if score in "45" else "5") for paper, who, score in rows]
    middle = replace(whole, reviews=(whole.reviews[0], *nearer))
    changed = read_small(middle, tmp_path / "in2")
    again = decide(changed, REQUEST, key_path, tmp_path / "out2", amend=True, reason="mistyped")
    assert again.record.grid == record.grid
    assert again.changes.grid == ()
    assert verify(changed, key_path, tmp_path / "out2").agrees
    wider = read_small(whole.with_review(1, score="7"), tmp_path / "in3")
    with pytest.raises(InputError, match="1 score not among those that papers were decided with"):
        decide(wider, REQUEST, key_path, tmp_path / "out3", amend=True, reason="late")


def test_another_key_draws_other_coins(inputs: Inputs, key_path: Path, tmp_path: Path) -> None:
    """The tables are public and the same; only the toss is the key's, so some key decides otherwise."""
    first = decide(inputs, REQUEST, key_path, tmp_path / "out").record
    seen = {first.decisions}
    for number in range(20):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        make_key(folder / "key.bin")
        record = decide(inputs, REQUEST, folder / "key.bin", folder / "out").record
        assert [paper.probability for paper in record.papers] == [p.probability for p in first.papers]
        seen.add(record.decisions)
        if len(seen) > 1:
            return
    raise AssertionError("21 keys drew the same coins")


def test_an_amendment_keeps_the_bar_and_everything_that_did_not_change(
    inputs: Inputs, key_path: Path, tmp_path: Path
) -> None:
    first = decide(inputs, REQUEST, key_path, tmp_path / "out")
    changed = read_small(small_conference().with_review(1, score="9.99"), tmp_path / "in2")
    again = decide(changed, REQUEST, key_path, tmp_path / "out2", amend=True, reason="mistyped")
    assert (again.how, again.changes.scores) == ("amended", ("p00",))
    assert again.record.bar == first.record.bar
    assert again.record.papers[1:] == first.record.papers[1:]
    assert decide(inputs, REQUEST, key_path, tmp_path / "out").record == first.record, "still stored"
    both = [tmp_path / "out", tmp_path / "out2"]
    stored = decide(changed, REQUEST, key_path, tmp_path / "out2", published=both)
    assert (stored.how, stored.record) == ("stored", again.record)


BAD: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "reason alone": ({"reason": "why"}, InputError, "`reason` goes with `amend`"),
    "amend nothing": ({"amend": True, "reason": "x"}, InputError, "there is no release to amend"),
    "no rate": (
        {"request": Request(Guarantee("steady", epsilon=2.0))},
        InputError,
        "give one of `accept_rate`",
    ),
    "full calibration": (
        {"request": Request(Guarantee("none", epsilon=None), accept_rate=0.4)},
        InputError,
        "that needs `yes_leak`",
    ),
    "no key": ({"key": "none.bin"}, InputError, "there is no key .*none.bin"),
    "out beside key": ({"out": "."}, InputError, "shared"),
    "out is a file": ({"out": "in/pools.csv"}, InputError, "pools.csv"),
    "nothing published": ({"published": ["in"]}, InputError, "must hold a certificate.json"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_refused_leaves_nothing_behind(
    name: str, inputs: Inputs, key_path: Path, tmp_path: Path
) -> None:
    given, error, told = BAD[name]
    settings = {"request": REQUEST, "key": "key.bin", "out": "out", **given}
    request, key, out = (settings.pop(part) for part in ("request", "key", "out"))
    if "published" in settings:
        settings["published"] = [tmp_path / folder for folder in settings["published"]]
    before = everything(tmp_path)
    with pytest.raises(error, match=told):
        decide(inputs, request, tmp_path / key, tmp_path / out, **settings)
    assert everything(tmp_path) == before
    assert not (tmp_path / "out").exists()


def test_a_changed_input_is_refused_unless_it_is_amended_into_a_new_folder(
    inputs: Inputs, key_path: Path, tmp_path: Path
) -> None:
    decide(inputs, REQUEST, key_path, tmp_path / "out")
    changed = read_small(small_conference().with_review(3, score="0.25"), tmp_path / "in2")
    before = everything(tmp_path)
    with pytest.raises(RefusedError, match=r"in 1 of 6 papers \(1 with other scores\)"):
        decide(changed, REQUEST, key_path, tmp_path / "new")
    with pytest.raises(RefusedError, match="out"):
        decide(changed, REQUEST, key_path, tmp_path / "out", amend=True, reason="x")
    with pytest.raises(InputError, match="needs a `reason`"):
        decide(changed, REQUEST, key_path, tmp_path / "new", amend=True, reason=" ")
    assert everything(tmp_path) == before


def test_a_folder_that_holds_other_decisions_is_refused_before_anything_is_sealed(
    inputs: Inputs, key_path: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "decisions.csv").write_text("mine")
    with pytest.raises(RefusedError, match=r"decisions\.csv"):
        decide(inputs, REQUEST, key_path, tmp_path / "out")
    assert not list(tmp_path.rglob("*.sealed/*.sealed"))
    assert everything(tmp_path / "out") == {"decisions.csv": b"mine"}


def test_full_calibration_is_decided_where_it_may_leak(
    inputs: Inputs, key_path: Path, tmp_path: Path
) -> None:
    request = Request(Guarantee("none", epsilon=None), bar=7.0)
    outcome = decide(inputs, request, key_path, tmp_path / "out", yes_leak=True)
    assert outcome.record.request == request
    assert any(remark.startswith("no paper is expected to pass `bar` 7") for remark in outcome.remarks)


def test_decisions_of_a_missing_key_are_not_made_again(
    inputs: Inputs, key_path: Path, tmp_path: Path
) -> None:
    decide(inputs, REQUEST, key_path, tmp_path / "out")
    key_path.unlink()
    before = everything(tmp_path)
    with pytest.raises(RefusedError, match="holds decisions of a missing key"):
        decide(inputs, REQUEST, key_path, tmp_path / "new")
    assert everything(tmp_path) == before


def test_a_calibration_that_does_not_fit_is_refused_at_first_and_never_later(
    key_path: Path, tmp_path: Path
) -> None:
    """What was decided despite it is returned without asking again."""
    small = small_conference(papers=12)
    rows = [(paper, who, f"{float(score) + 50}") for paper, who, score in small.reviews[1:]]
    far = read_small(type(small)((small.reviews[0], *rows), small.reviewers, small.pools), tmp_path / "in")
    before = everything(tmp_path)
    with pytest.raises(InputError, match="despite_misfit"):
        decide(far, REQUEST, key_path, tmp_path / "out")
    assert everything(tmp_path) == before
    first = decide(far, REQUEST, key_path, tmp_path / "out", despite_misfit=True)
    assert decide(far, REQUEST, key_path, tmp_path / "out").record == first.record


def test_progress_is_told_in_whole(inputs: Inputs, key_path: Path, tmp_path: Path) -> None:
    """Weighed once, then solved and certified: the steps that were announced are the steps that come."""
    told: dict[str, list[int]] = {}

    @contextmanager
    def progress(work: str, steps: int) -> Iterator[Callable[[int], None]]:
        told[work] = [steps]
        yield told[work].append

    decide(inputs, REQUEST, key_path, tmp_path / "out", progress=progress)
    assert list(told) == ["weighing 6 papers", "deciding 6 papers"]
    assert [(steps, sum(done)) for steps, *done in told.values()] == [(6, 6), (6, 6)]


def test_one_published_folder_needs_no_list(key_path: Path, tmp_path: Path) -> None:
    folder = small_conference().write(tmp_path / "inputs")
    inputs = read_inputs(*(folder / f"{name}.csv" for name in ("reviews", "reviewers", "pools")))
    request, out = Request(Guarantee("steady", epsilon=2.0), accept_rate=0.4), tmp_path / "out"
    first = decide(inputs, request, key_path, out)
    for published in (str(out), out, [out]):
        again = decide(inputs, request, key_path, out, published=published)
        assert (again.how, again.record) == ("stored", first.record)
    with pytest.raises(InputError, match=f"`published` {folder} must hold a certificate.json"):
        decide(inputs, request, key_path, out, published=str(folder))


def test_decisions_that_were_replaced_are_called_so(key_path: Path, tmp_path: Path) -> None:
    """An old file of reviews leads to the old decisions: whoever publishes them should know."""
    small = small_conference()
    request = Request(Guarantee("steady", epsilon=2.0), accept_rate=0.4)
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
            decide(inputs, Request(Guarantee("steady", epsilon=2.0), accept_rate=0.4), key_path, out)
    assert sorted(path.name for path in folder.iterdir()) == ["pools.csv", "reviewers.csv", "reviews.csv"]
    decide(inputs, Request(Guarantee("steady", epsilon=2.0), accept_rate=0.4), key_path, folder / "out")


def test_each_release_can_have_a_folder_of_its_own(inputs: Inputs, key_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "public"
    first = decide(inputs, REQUEST, key_path, out, numbered=True)
    changed = read_small(small_conference().with_review(1, score="9.99"), tmp_path / "in2")
    with pytest.raises(RefusedError, match=r"1 with other scores"):
        decide(changed, REQUEST, key_path, out, numbered=True)
    second = decide(changed, REQUEST, key_path, out, numbered=True, amend=True, reason="mistyped")
    for _ in range(2):
        assert {path.name for path in out.iterdir()} == {"release-1", "release-2"}
        for number, outcome in enumerate((first, second), start=1):
            public = everything(release_folder(out, number))
            assert public["decisions.csv"].decode() == outcome.record.decisions
            assert public["certificate.json"].decode() == outcome.record.certificate
        assert latest_release(out) == out / "release-2"
        again = decide(changed, REQUEST, key_path, out, numbered=True, amend=True, reason="nothing changed")
        assert again.how == "stored"


def test_a_numbered_release_shows_that_the_ledger_is_older(
    inputs: Inputs, key_path: Path, tmp_path: Path
) -> None:
    out = tmp_path / "public"
    decide(inputs, REQUEST, key_path, out, numbered=True)
    changed = read_small(small_conference().with_review(1, score="9.99"), tmp_path / "in2")
    decide(changed, REQUEST, key_path, out, numbered=True, amend=True, reason="mistyped")
    (tmp_path / "key.bin.sealed" / "0002.sealed").unlink()
    with pytest.raises(RefusedError, match="holds only 1: it is older than what was published"):
        decide(changed, REQUEST, key_path, out, numbered=True, amend=True, reason="mistyped")
