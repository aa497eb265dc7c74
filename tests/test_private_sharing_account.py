"""The account of shared sums: sealed, chained, and by which reviews it adds up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blindcal.deciding.key import make_key, read_key
from blindcal.errors import RefusedError, VerificationError
from blindcal.fitting.history import PastConference, fingerprint_of_past
from blindcal.posterior.reuse_guard import Fingerprint
from blindcal.private_sharing import (
    LossLimit,
    SharedRelease,
    open_account,
    read_account,
    record_share,
    shared_folder,
)


def used(name: str, first: float) -> Fingerprint:
    """A conference of 40 papers with scores that nobody else's have."""
    rng = np.random.default_rng(int(10 * first))
    paper = [str(i) for i in range(40)]
    return fingerprint_of_past(
        PastConference(
            name, name, paper, ["a"] * 40, first + rng.random(40), np.full(40, np.nan), None, "high"
        )
    )


def entered(key: Path, name: str, limit: LossLimit, first: float = 1.0, stamp: str = "x") -> SharedRelease:
    with open_account(key, read_key(key)) as account:
        parts = {"footprint": used(name, first), "table": b"t", "statement": b"s"}
        return record_share(account, name, limit, stamp, "", parts)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    make_key(tmp_path / "key.bin")
    return tmp_path / "key.bin"


def test_entries_come_back_in_their_order(key: Path) -> None:
    assert read_account(key, read_key(key)).entries == ()
    assert not shared_folder(key).exists()
    one = entered(key, "A", LossLimit(epsilon=1.0), stamp="x")
    two = entered(key, "B", LossLimit(zcdp=0.5), 2.0, stamp="y")
    account = read_account(key, read_key(key))
    assert account.entries == (one, two)
    assert account.again("y") == two
    assert account.again("z") is None
    assert (one.table, one.statement, one.limit) == (b"t", b"s", LossLimit(epsilon=1.0))
    assert {path.stat().st_mode & 0o777 for path in shared_folder(key).glob("*.sealed")} == {0o600}


def test_a_key_under_another_name_has_no_second_account(key: Path) -> None:
    entered(key, "A", LossLimit(epsilon=1.0))
    other = key.rename(key.with_name("chair.key"))
    with pytest.raises(RefusedError, match=r"key\.bin\.shared holds releases made with this key"):
        entered(other, "A", LossLimit(epsilon=1.0))
    shared_folder(key).rename(shared_folder(other))
    assert len(read_account(other, read_key(other)).entries) == 1


def test_the_same_reviews_are_known_by_name_or_by_papers_and_scores(key: Path) -> None:
    entered(key, "A", LossLimit(epsilon=1.0))
    entered(key, "B", LossLimit(epsilon=2.0), 2.0)
    account = read_account(key, read_key(key))
    assert [entry.conference for entry in account.about("A", used("A", 3.0))] == ["A"]
    assert [entry.conference for entry in account.about("C", used("C", 2.0))] == ["B"]
    assert account.about("C", used("C", 3.0)) == ()


def test_a_changed_missing_or_foreign_file_is_noticed(key: Path, tmp_path: Path) -> None:
    entered(key, "A", LossLimit(epsilon=1.0))
    entered(key, "B", LossLimit(epsilon=1.0), 2.0)
    first, second = (shared_folder(key) / name for name in ("0001.sealed", "0002.sealed"))
    whole = first.read_bytes()
    for bad in (whole.replace(b'"epsilon": 1.0', b'"epsilon": 0.1'), whole[:-1], whole[:-1] + b"x"):
        first.write_bytes(bad)
        with pytest.raises(VerificationError):
            read_account(key, read_key(key))
    first.unlink()
    with pytest.raises(VerificationError, match="missing"):
        read_account(key, read_key(key))
    second.rename(first)
    with pytest.raises(VerificationError, match="does not follow"):
        read_account(key, read_key(key))
    first.write_bytes(whole)
    other = make_key(tmp_path / "other.bin")
    with pytest.raises(VerificationError, match="another key"):
        read_account(key, other)


def test_two_runs_at_once_are_refused(key: Path) -> None:
    with (
        open_account(key, read_key(key)),
        pytest.raises(RefusedError),
        open_account(key, read_key(key)),
    ):
        pass


def reviewed(score: np.ndarray, papers: int = 60) -> Fingerprint:
    """Three reviews a paper by 20 people, of the first papers."""
    paper = np.repeat(np.arange(60), 3)
    who = np.random.default_rng(1).permuted(np.tile(np.arange(20), (60, 1)), axis=1)[:, :3].ravel()
    kept = paper < papers
    names = [f"r{one}" for one in who[kept]]
    ids = [str(one) for one in paper[kept]]
    return fingerprint_of_past(
        PastConference("x", "x", ids, names, score[kept], np.full(kept.sum(), np.nan), None, "high")
    )


def test_a_few_papers_or_a_score_changed_in_each_are_still_the_same_reviews(key: Path) -> None:
    score = np.random.default_rng(2).integers(1, 6, 180).astype(float)
    changed = np.where(np.arange(180) % 3 == 0, 6.0 - score, score)
    with open_account(key, read_key(key)) as account:
        parts = {"footprint": reviewed(score), "table": b"t", "statement": b"s"}
        record_share(account, "A", LossLimit(epsilon=1.0), "x", "", parts)
    account = read_account(key, read_key(key))
    for again in (reviewed(score, papers=6), reviewed(changed)):
        assert [entry.conference for entry in account.about("B", again)] == ["A"]
    other = reviewed(np.random.default_rng(3).integers(1, 6, 180).astype(float))
    assert account.about("B", other) == ()
