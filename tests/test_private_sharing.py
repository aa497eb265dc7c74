"""share: sealed once, added up, and nothing in it but noisy sums and public numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blindcal import private_sharing
from blindcal.deciding.key import make_key
from blindcal.errors import InputError, RefusedError
from blindcal.fitting.received_sums import read_shared_sums
from blindcal.private_sharing import LossLimit, Share, TotalLoss, share, shared_folder
from blindcal.reviews import Reviews

ROWS: dict[str, list[Any]] = {
    "paper": [1, 1, 2, 2, 3, 3, 4, 4],
    "reviewer": ["ann", "bob", "ann", "cyd", "bob", "cyd", "ann", "dan"],
    "score": [7, 4, 6, 5, 8, 3, 9, 2],
}
PEOPLE = ("ann", "bob", "cyd", "eve")
ONE = LossLimit(epsilon=1.0)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A key; noise that is never the same twice, without OpenDP, which has tests of its own."""
    monkeypatch.chdir(tmp_path)
    make_key("key.bin")
    rng = np.random.default_rng(5)
    monkeypatch.setattr(
        private_sharing, "add_noise", lambda sums, limit: sums + rng.integers(-500, 500, sums.shape)
    )
    return tmp_path


def shared(
    out: str = "out.csv", rows: dict[str, list[Any]] = ROWS, limit: LossLimit = ONE, **how: Any
) -> Share:
    people = how.pop("people", PEOPLE)
    how = {"conference": "C", **how}
    return share(Reviews.from_table(rows), people, limit, "key.bin", out, **how)


def test_the_same_input_returns_the_same_release_whatever_the_order() -> None:
    first = shared()
    assert (first.how, first.left_out) == ("new", 1)
    table = Path("out.csv").read_text()
    assert [line.split(",")[0] for line in table.splitlines()] == ["reviewer", *PEOPLE]
    turned = {name: column[::-1] for name, column in ROWS.items()}
    again = shared("again.csv", turned, people=PEOPLE[::-1])
    assert (again.how, again.statement) == ("stored", first.statement)
    assert Path("again.csv").read_text() == table
    assert shared().how == "stored"
    assert len([*shared_folder("key.bin").glob("*.sealed")]) == 1


def test_a_further_release_needs_a_reason_and_adds_up() -> None:
    assert shared().total == TotalLoss(1.0, 0.5)
    for name in ("C", "C under another name"):
        with pytest.raises(RefusedError, match=r"epsilon 1, zCDP 0.5 spent.*zCDP 2.5: give a `reason`"):
            shared("two.csv", limit=LossLimit(zcdp=2.0), conference=name)
    assert not Path("two.csv").exists()
    second = shared("two.csv", limit=LossLimit(zcdp=2.0), reason="another list")
    assert second.total == TotalLoss(None, 2.5)
    assert second.statement["release"] == 2
    assert shared("three.csv", limit=LossLimit(epsilon=0.5), reason="x").total == TotalLoss(None, 2.625)


def test_another_author_is_another_release() -> None:
    shared()
    changed = {**ROWS, "reviewer": ["ann", "eve", *ROWS["reviewer"][2:]]}
    with pytest.raises(RefusedError, match="reason"):
        shared("two.csv", changed)


def test_public_numbers_do_not_depend_on_who_wrote_what() -> None:
    first = shared().statement
    changed = {**ROWS, "reviewer": ["cyd", "ann", "bob", "ann", "dan", "ann", "bob", "eve"]}
    second = shared("two.csv", changed, reason="x").statement
    for one in (first, second):
        for name in ("release", "total", "total_epsilon_at_delta_1e-6"):
            del one[name]
    assert first == second


def test_sums_are_of_the_listed_and_the_statement_is_enough_to_read_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(private_sharing, "add_noise", lambda sums, limit: sums)
    shared()
    found = read_shared_sums("out.csv")
    assert found.counts.tolist() == [3.0, 2.0, 2.0, 0.0]
    assert found.conference == "C"
    assert found.noise == pytest.approx(ONE.variance)
    assert found.sums[0] > found.sums[1] > found.sums[2]
    stated = json.loads(Path("out.csv.share.json").read_text())
    assert (stated["people"], stated["reviews"], stated["epsilon"]) == (4, 8, 1.0)


def test_nothing_is_overwritten_and_nothing_sealed_where_out_is_taken() -> None:
    for name in ("out.csv", "out.csv.share.json"):
        Path(name).write_text("mine")
        with pytest.raises(RefusedError, match="never overwritten"):
            shared()
        Path(name).unlink()
    assert not shared_folder("key.bin").exists()


def test_nothing_is_spent_where_out_cannot_be_written() -> None:
    Path("full.csv").mkdir()
    Path("file").write_text("")
    for out, error in (
        ("nowhere/out.csv", "nowhere must be a folder that exists"),
        ("file/out.csv", "file must be a folder that exists"),
        ("full.csv", "full.csv exists already"),
        ("", "a path must not be empty"),
    ):
        with pytest.raises((InputError, RefusedError), match=error):
            shared(out)
    assert not shared_folder("key.bin").exists()
    # Nor is anything else for what was shared before: it only says that it could not be written.
    shared()
    with pytest.raises(InputError, match="nowhere must be a folder that exists"):
        shared("nowhere/out.csv")
    assert len([*shared_folder("key.bin").glob("*.sealed")]) == 1


def test_what_was_shared_before_comes_with_what_is_spent_now() -> None:
    first = shared()
    stated = Path("out.csv.share.json").read_bytes()
    assert shared("two.csv", limit=LossLimit(epsilon=2.0), reason="again").total == TotalLoss(3.0, 2.5)
    again = shared("three.csv")
    assert (again.how, again.total) == ("stored", TotalLoss(3.0, 2.5))
    # What was published stays as it was.
    assert again.statement == first.statement
    assert Path("three.csv.share.json").read_bytes() == stated


def test_a_run_that_was_killed_after_sealing_publishes_the_same_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(private_sharing, "_publish", killed)
        with pytest.raises(KeyboardInterrupt):
            shared()
    assert not Path("out.csv").exists()
    assert shared().how == "stored"
    assert Path("out.csv").exists()


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="one conference at a time"):
        shared(rows={**ROWS, "conference": [*"aaaabbbb"]})
    for people in ((), ("*", "ann")):
        with pytest.raises(InputError, match="committee must list people"):
            shared(people=people)
    with pytest.raises(InputError, match="scores that differ"):
        shared(rows={**ROWS, "score": [3] * 8})
    for folder in ("key.bin.shared", "key.bin.sealed"):
        with pytest.raises(InputError, match="must not lie in a private log"):
            shared(f"{folder}/out.csv")
    with pytest.raises(InputError, match="high or low"):
        shared(better="up")
