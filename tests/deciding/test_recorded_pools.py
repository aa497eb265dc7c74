"""Pools in a record: a committee once, each paper's conflicts, and one way to write them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from blindcal.deciding.key import Key, read_key
from blindcal.deciding.ledger import ledger_folder, read_head
from blindcal.deciding.record import Record
from blindcal.deciding.recorded_pools import PoolRows
from blindcal.errors import VerificationError
from blindcal.pools.candidates import SharedTuple, all_but
from sealed_releases import PAPER, RECORD, forge, ledger_of, pool_of, sealed


def test_a_committee_without_some_is_stamped_like_a_list_of_the_others() -> None:
    names, rows = SharedTuple("abc"), SharedTuple((float(n), 1.5, -0.25) for n in range(3))
    for chances in ((0.5, 0.5), (0.25, 0.75)):
        pool = PoolRows(all_but(names, (1,)), chances, all_but(rows, (1,)))
        plain = [["a", chances[0], 0, 1.5, -0.25], ["c", chances[1], 2.0, 1.5, -0.25]]
        assert list(pool) == plain
        assert pool_of(plain) == pool != pool_of(plain[::-1])
        assert Key(bytes(32)).stamp("coin", {"pool": pool}) == Key(bytes(32)).stamp("coin", {"pool": plain})
        assert Key(bytes(32)).stamp("coin", [pool, {}]) == Key(bytes(32)).stamp("coin", [plain, {}])


def pools_of(*pools: list[list[object]]) -> Record:
    """The record with a paper for each of these pools."""
    papers = [
        replace(PAPER, paper=f"p{number}", public={**PAPER.public, "pool": pool_of(pool)})
        for number, pool in enumerate(pools)
    ]
    return replace(RECORD, papers=tuple(papers))


ROWS = [[name, 0.25, 1.0 + number, 0.5] for number, name in enumerate("abcdefgh")]


def test_a_committee_is_recorded_once_whatever_its_papers_lack(key_path: Path) -> None:
    """Few, most, in another order, with a calibration or chances of their own: all are read back."""
    other, chances = [["a", 0.25, 9.0, 0.5], *ROWS[1:]], [["a", 0.75, 1.0, 0.5], *ROWS[1:]]
    record = pools_of(ROWS, ROWS[1:], ROWS[:4], ROWS[::-1], other, chances, ROWS[2:3])
    sealed(key_path, record)
    (path,) = ledger_folder(key_path).iterdir()
    content = json.loads(read_head(path, read_key(key_path)).part("record"))
    assert len(content["people"]) == len(ROWS) + 1
    assert [sorted(paper["public"]["pool"])[-1] for paper in content["papers"]] == [
        "without", "without", "members", "members", "without", "without", "members"
    ]  # fmt: skip
    assert content["papers"][1]["public"]["pool"] == {"without": [0, 1], "chances": 0.25}
    ledger = ledger_of(key_path)
    assert ledger.record(1).papers == record.papers


@pytest.mark.parametrize(
    ("paper", "pool"),
    [
        (0, {"without": [1, 0], "chances": 0.25}),
        (0, {"without": [-1], "chances": 0.25}),
        (0, {"without": [8], "chances": 0.25}),
        (0, {"without": [True], "chances": 0.25}),
        (0, {"without": [0, 1, 2, 3], "chances": 0.25}),
        (0, {"without": [0, 0], "chances": 0.25}),
        (0, {"members": [0, 1, 2, 3, 4], "chances": 0.25}),
        (0, {"members": [9, 1], "chances": 0.25}),
        (0, {"without": [0], "chances": [0.25] * 7}),
        (0, {"without": [0], "chances": [0.5, 0.25]}),
        (0, {"without": [0], "chances": 0.25, "members": [1]}),
        (0, {"chances": 0.25}),
        (1, {"members": [1], "chances": 0.25}),
    ],
)
def test_a_pool_that_is_not_written_like_this_is_refused(
    paper: int, pool: dict[str, object], key_path: Path
) -> None:
    """There is one way to write a pool, and nobody is listed who is in none: h is in the second alone."""
    sealed(key_path, pools_of(ROWS[:7], ROWS[7:]))
    (path,) = ledger_folder(key_path).iterdir()
    content = json.loads(read_head(path, read_key(key_path)).part("record"))
    content["papers"][paper]["public"]["pool"] = pool
    forge(path, read_key(key_path), record={"papers": content["papers"]})
    ledger = ledger_of(key_path)
    with pytest.raises(VerificationError, match="was changed"):
        ledger.record(1)
