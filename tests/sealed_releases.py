"""One small release and the ledger that holds it, for tests of what is sealed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from blindcal.decisions.coins import read_key
from blindcal.decisions.records import (
    Ledger,
    PaperRecord,
    Record,
    commit,
    open_ledger,
    read_ledger,
    sealed_folder,
)
from blindcal.plans.exact import UNIT, ExactPolicy, Tables

PAPER = PaperRecord(
    paper="p1",
    release=1,
    earlier=(),
    price=None,
    public={
        "scores": [1.5, 2.0],
        "grid": None,
        "pool": [["a", 0.5, 1.0], ["b", 0.5, 2.0]],
        "track": "",
        "sets": None,
    },
    reviewers=("a", "b"),
    secret=0,
    probability=("1", "2"),
    accepted=True,
    raw_accepted=False,
    figures={"claim": {"epsilon": "inf"}},
)
RECORD = Record(
    conference="c",
    release=1,
    reason="",
    settings={"epsilon": 2.0},
    bar=0.5,
    price=None,
    commitment="",
    papers=(PAPER,),
    fit={},
    decisions="paper,decision\np1,accept\n",
    certificate="{}\n",
)
POLICIES = {"p1": ExactPolicy(np.array([UNIT // 2, 0]), ((1, Fraction(1, 3)),))}


def sealed(key_path: Path, record: Record = RECORD, stamp: str = "s") -> Ledger:
    with open_ledger(key_path, read_key(key_path)) as ledger:
        return commit(ledger, record, POLICIES, stamp)


def seal_next(ledger: Ledger) -> Ledger:
    """One more release of the same papers."""
    return commit(ledger, replace(RECORD, release=ledger.counter + 1), POLICIES, f"s{ledger.counter}")


def several(key_path: Path, releases: int = 3) -> list[Path]:
    for _ in range(releases):
        with open_ledger(key_path, read_key(key_path)) as ledger:
            seal_next(ledger)
    return sorted(sealed_folder(key_path).iterdir())


def everything(key_path: Path) -> list[Tables]:
    """Every part of every file, read."""
    ledger = read_ledger(key_path, read_key(key_path))
    return [ledger.tables(ledger.record(release)) for release in ledger.releases]
