"""Verifying from Python: what agrees, what does not, of which release; and nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from blindcal.deciding.decide import decide
from blindcal.deciding.key import make_key
from blindcal.errors import InputError, VerificationError
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.inputs import Inputs, read_inputs
from blindcal.verification import Check, Verification, latest, verify
from sealed_releases import RECORD
from small_conferences import everything, read_small, small_conference, swapped

REQUEST = Request(Guarantee("steady", epsilon=2.0), accept_rate=0.4)


@pytest.fixture
def key_path(tmp_path: Path) -> Path:
    make_key(tmp_path / "key.bin")
    return tmp_path / "key.bin"


@pytest.fixture
def decided(key_path: Path, tmp_path: Path) -> Inputs:
    """A conference that was decided into `out`."""
    inputs = read_small(small_conference(), tmp_path / "in")
    decide(inputs, REQUEST, key_path, tmp_path / "out")
    return inputs


def failed(found: Verification) -> set[str]:
    return {check.name for check in found.checks if check.failed}


def test_what_was_decided_agrees_and_nothing_is_written(
    decided: Inputs, key_path: Path, tmp_path: Path
) -> None:
    before = everything(tmp_path)
    found = verify(decided, key_path, tmp_path / "out")
    assert found.agrees
    assert found.earlier == ()
    assert found.record.release == 1
    found.raise_if_not()
    assert {"input is the one that was decided", "published files"} <= {check.name for check in found.checks}
    assert "published files" not in {check.name for check in verify(decided, key_path).checks}
    assert everything(tmp_path) == before


def test_another_input_or_another_file_does_not_agree(
    decided: Inputs, key_path: Path, tmp_path: Path
) -> None:
    other = read_small(swapped(small_conference()), tmp_path / "in2")
    found = verify(other, key_path, tmp_path / "out")
    assert failed(found) == {"reviewers are those recorded"}
    with pytest.raises(VerificationError, match=r"verification failed\. reviewers are those [^.]*$"):
        found.raise_if_not()
    table = tmp_path / "out" / "decisions.csv"
    text = table.read_text()
    turned = text.replace("accept", "x").replace("reject", "accept").replace("x", "reject")
    table.write_text(turned)
    assert failed(verify(decided, key_path, tmp_path / "out")) == {"published files"}
    assert verify(decided, key_path).agrees, "files that are not given are not compared"


def test_the_input_of_an_earlier_release_is_recognized(
    decided: Inputs, key_path: Path, tmp_path: Path
) -> None:
    changed = read_small(small_conference().with_review(1, score="9.99"), tmp_path / "in2")
    decide(changed, REQUEST, key_path, tmp_path / "out2", amend=True, reason="mistyped")
    found = verify(changed, key_path, tmp_path / "out2")
    assert found.agrees
    assert (found.record.release, found.earlier) == (2, ())
    stale = verify(decided, key_path)
    assert not stale.agrees
    assert stale.earlier == (1,)
    with pytest.raises(
        VerificationError, match=r"^release 2: .*The input given is that of release 1, not the"
    ):
        stale.raise_if_not()


def test_the_steps_of_every_release_are_counted(decided: Inputs, key_path: Path, tmp_path: Path) -> None:
    """All papers of the first release, and those decided again in the second."""
    told, done = list[int](), list[int]()

    @contextmanager
    def progress(work: str, steps: int) -> Iterator[Callable[[int], None]]:
        told.append(steps)
        yield done.append

    changed = read_small(small_conference().with_review(1, score="9.99"), tmp_path / "in2")
    outcome = decide(changed, REQUEST, key_path, tmp_path / "out2", amend=True, reason="mistyped")
    again = sum(paper.release == 2 for paper in outcome.record.papers)
    assert 0 < again < len(outcome.record.papers)
    assert verify(changed, key_path, progress=progress).agrees
    weighing, verifying = told
    assert (verifying, sum(done)) == (weighing + again, weighing + verifying)


def test_what_is_not_there_cannot_be_verified(decided: Inputs, key_path: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="conference 'other' was never decided with this key"):
        verify(decided, key_path, conference="other")
    for out in ("nowhere", "in/pools.csv"):
        with pytest.raises(InputError, match="must be the folder of the public files"):
            verify(decided, key_path, tmp_path / out)
    make_key(tmp_path / "other.bin")
    with pytest.raises(InputError, match=r"never decided with this key.*other\.bin\.sealed"):
        latest(tmp_path / "other.bin")


@pytest.mark.parametrize("better", ["high", "low"])
def test_the_grid_is_told_as_it_was_given(better: str, key_path: Path, tmp_path: Path) -> None:
    """Inside, high is better: a grid from 1 to 4 is sealed as -4 to -1 where low is."""
    small = small_conference()
    rows = [(paper, who, f"{1 + i % 4}") for i, (paper, who, _) in enumerate(small.reviews[1:])]
    folder = replace(small, reviews=(small.reviews[0], *rows)).write(tmp_path / "in")
    files = [folder / f"{name}.csv" for name in ("reviews", "reviewers", "pools")]
    for name, grid in (("none", list[float]()), ("whole", [1.0, 2.0, 3.0, 4.0])):
        key = tmp_path / name / "key.bin"
        key.parent.mkdir()
        make_key(key)
        request = replace(REQUEST, better=better)
        decide(read_inputs(*files, grid=grid), request, key, tmp_path / f"out-{name}", despite_misfit=True)
        record = latest(key)[1]
        assert record.grid == grid
        assert (record.papers[0].public["scores"][0] < 0) == (better == "low")


def test_one_check_that_failed_is_enough() -> None:
    fine, wrong = Check("a", 3, 0), Check("b", 3, 2)
    assert Verification(RECORD, (fine, fine), ()).agrees
    for checks in ((fine, wrong), (wrong, fine)):
        found = Verification(RECORD, checks, (1, 3))
        assert not found.agrees
        with pytest.raises(
            VerificationError, match=r"b: 2 of 3 do not agree\. The input given is .*release 3"
        ):
            found.raise_if_not()
