"""The ledger and the sealed record: stamped, atomic, readable by their owner only, never overwritten."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blindcal.coins import Key, make_key, read_key
from blindcal.errors import RefusedError, VerificationError
from blindcal.exact import UNIT, ExactPolicy
from blindcal.records import (
    NOTICE,
    Ledger,
    PaperRecord,
    Record,
    _pack,
    _unpack,
    check_vacant,
    commit,
    open_ledger,
    publish,
    read_ledger,
    sealed_folder,
)
from sizes import count

PAPER = PaperRecord(
    paper="p1",
    release=1,
    earlier=(),
    public={"scores": [1.5, 2.0], "grid": None, "pool": [["a", 0.5, 1.0], ["b", 0.5, 2.0]]},
    reviewers=("a", "b"),
    secret=0,
    probability=("1", "2"),
    accepted=True,
    raw_accepted=False,
    weights="",
    figures={"claim": {"epsilon": "inf"}},
)
RECORD = Record(
    conference="c",
    release=1,
    reason="",
    version="0",
    settings={"epsilon": 2.0},
    bar=0.5,
    price=None,
    commitment="",
    papers=(PAPER,),
    decisions="paper,decision\np1,accept\n",
    certificate="{}\n",
    tables="",
)
POLICIES = {"p1": ExactPolicy(np.array([UNIT // 2, 0]), ((1, Fraction(1, 3)),))}


@pytest.fixture
def key_path(tmp_path: Path) -> Path:
    make_key(tmp_path / "key.bin")
    return tmp_path / "key.bin"


def sealed(key_path: Path, record: Record = RECORD, stamp: str = "s") -> Ledger:
    with open_ledger(key_path, read_key(key_path)) as ledger:
        return commit(ledger, record, POLICIES, stamp)


def everything(key_path: Path) -> dict[str, ExactPolicy]:
    ledger = read_ledger(key_path, read_key(key_path))
    return ledger.tables(ledger.record(ledger.of("c")[0]))


def test_a_record_reads_back_equal(key_path: Path) -> None:
    sealed(key_path)
    ledger = read_ledger(key_path, read_key(key_path))
    (release,) = ledger.of("c")
    record = ledger.record(release)
    assert replace(record, tables="") == RECORD
    assert (release.number, release.papers, release.decided, release.input) == (1, 1, 1, "s")
    table = ledger.tables(record)["p1"]
    assert table.exact == POLICIES["p1"].exact
    assert table.numerator.tolist() == POLICIES["p1"].numerator.tolist()


def test_sealed_files_are_confidential_and_lie_beside_the_key(key_path: Path) -> None:
    sealed(key_path)
    folder = sealed_folder(key_path)
    assert folder.parent == key_path.parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = sorted(folder.iterdir())
    assert [file.name for file in files] == ["1-1.json", "1-1.tables", "ledger.json"]
    for file in files:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert file.read_bytes().startswith(NOTICE.encode())


@pytest.mark.parametrize("name", ["ledger.json", "1-1.json", "1-1.tables"])
def test_a_change_by_hand_is_found(key_path: Path, name: str) -> None:
    sealed(key_path)
    path = sealed_folder(key_path) / name
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(VerificationError):
        everything(key_path)


def test_another_key_cannot_read_the_ledger(key_path: Path) -> None:
    sealed(key_path)
    with pytest.raises(VerificationError, match="another key"):
        read_ledger(key_path, Key(bytes(32)))


def test_a_second_run_is_refused_at_once(key_path: Path) -> None:
    key = read_key(key_path)
    with (
        open_ledger(key_path, key),
        pytest.raises(RefusedError, match="another run"),
        open_ledger(key_path, key),
    ):
        pass


def test_public_files_are_written_once_and_kept(key_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert len(publish(RECORD, out)) == 2
    assert publish(RECORD, out) == []
    (out / "certificate.json").unlink()
    assert publish(RECORD, out) == [out / "certificate.json"], "what a killed run did not write is written"
    with pytest.raises(RefusedError, match="another result"):
        publish(replace(RECORD, decisions="other\n"), out)
    with pytest.raises(RefusedError, match="another result"):
        check_vacant(out, None)
    assert (out / "decisions.csv").read_text(encoding="utf-8") == RECORD.decisions


def test_an_output_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x", encoding="utf-8")
    with pytest.raises(RefusedError, match="not a folder"):
        check_vacant(tmp_path / "out", None)


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=5),
        st.tuples(st.lists(st.integers(0, UNIT), min_size=1, max_size=9), st.fractions(0, 1)),
        max_size=4,
    )
)
def test_tables_pack_and_unpack(tables: dict[str, tuple[list[int], Fraction]]) -> None:
    policies = {name: ExactPolicy(np.array(rows), ((0, few),)) for name, (rows, few) in tables.items()}
    again = _unpack(_pack(policies))
    assert list(again) == list(policies)
    for name, policy in policies.items():
        assert again[name].exact == policy.exact
        assert again[name].numerator.tolist() == policy.numerator.tolist()


KILLER = """
import os, random, signal, sys, time
from pathlib import Path
import test_records as t
from blindcal.coins import read_key
from blindcal.records import commit, open_ledger, read_ledger

path, kills = Path(sys.argv[1]), int(sys.argv[2])
random.seed(8)
before = 0
for _ in range(kills):
    if not (writer := os.fork()):
        while True:
            with open_ledger(path, read_key(path)) as ledger:
                number = len(ledger.releases) + 1
                commit(ledger, t.replace(t.RECORD, release=number), t.POLICIES, f"s{number}")
    time.sleep(random.uniform(0, 0.05))
    os.kill(writer, signal.SIGKILL)
    os.waitpid(writer, 0)
    ledger = read_ledger(path, read_key(path))
    numbers = [release.number for release in ledger.of("c")]
    assert numbers == list(range(1, len(numbers) + 1)), "the ledger has a gap"
    assert len(numbers) >= before, "a release was lost"
    before = len(numbers)
    for release in ledger.of("c")[-2:]:
        assert ledger.tables(ledger.record(release)).keys() == t.POLICIES.keys()
    if before > 200:
        for file in t.sealed_folder(path).iterdir():
            file.unlink()
        before = 0
print(before)
"""


def test_a_killed_writer_leaves_the_old_ledger_or_the_new_one(key_path: Path) -> None:
    """SIGKILL at random moments: the ledger always reads, and every release it names is whole."""
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(key_path), str(count(60, 300))],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0
    sealed(key_path, replace(RECORD, release=1000))
    names = {file.name for file in sealed_folder(key_path).iterdir()}
    stray = {name for name in names if not name.startswith(("1-", "ledger.json"))}
    assert not stray, "no stray secrets"
