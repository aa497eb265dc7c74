"""One small release and the ledger that holds it, for tests of what is sealed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from blindcal.certify.exact import UNIT, ExactPolicy, PolicyTables, pack_policy
from blindcal.deciding import ledger as ledger_module
from blindcal.deciding.key import Key, input_commitment, read_key
from blindcal.deciding.ledger import Ledger, commit, ledger_folder, open_ledger, read_ledger
from blindcal.deciding.record import PaperRecord, Record
from blindcal.deciding.recorded_pools import PoolRows

PAPER = PaperRecord(
    paper="p1",
    release=1,
    earlier=(),
    public={
        "scores": [1.5, 2.0],
        "grid": None,
        "pool": PoolRows(("a", "b"), (0.5, 0.5), ((1.0,), (2.0,))),
        "track": "",
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
    commitment="",
    papers=(PAPER,),
    fit={},
    decisions="paper,decision\np1,accept\n",
    certificate='{"format": 1}\n',
)
POLICIES = PolicyTables({"p1": pack_policy(ExactPolicy(np.array([UNIT // 2, 0]), ((1, Fraction(1, 3)),)))})


def sealed(key_path: Path, record: Record = RECORD, stamp: str = "s") -> Ledger:
    with open_ledger(key_path, read_key(key_path)) as ledger:
        return commit(ledger, committed(ledger.key, record, stamp), POLICIES, stamp)


def committed(key: Key, record: Record, stamp: str) -> Record:
    """The record of an input that has this stamp."""
    return replace(record, commitment=input_commitment(key, record.conference, stamp))


def seal_next(ledger: Ledger) -> Ledger:
    """One more release of the same papers."""
    number = len(ledger.releases)
    stamp = f"s{number}"
    record = committed(ledger.key, replace(RECORD, release=number + 1), stamp)
    return commit(ledger, record, POLICIES, stamp)


def ledger_of(key_path: Path) -> Ledger:
    """The ledger of the key in this file."""
    return read_ledger(key_path, read_key(key_path))


def several(key_path: Path, releases: int = 3) -> list[Path]:
    for _ in range(releases):
        with open_ledger(key_path, read_key(key_path)) as ledger:
            seal_next(ledger)
    return sorted(ledger_folder(key_path).iterdir())


def everything(key_path: Path) -> list[tuple[Record, PolicyTables]]:
    """Every part of every file, read."""
    ledger = ledger_of(key_path)
    return [(record, ledger.tables(record.release)) for record in ledger.records]


def forge(
    path: Path, key: Key, head: Mapping[str, Any] | None = None, record: Mapping[str, Any] | None = None
) -> None:
    """A sealed file with other fields in its head or its record, stamped as only the key's holder can; a
    field that is None is left out."""
    seal = ledger_module.read_head(path, key)
    parts = {part["name"]: seal.part(part["name"]) for part in seal.head["parts"]}
    if record is not None:
        parts["record"] = json.dumps(_with(json.loads(parts["record"]), record)).encode()
    described = [
        {"name": name, "size": len(data), "sha256": sha256(data).hexdigest()} for name, data in parts.items()
    ]
    path.write_bytes(
        ledger_module.record_bytes(key, _with({**seal.head, "parts": described}, head or {}), parts)[1]
    )


def _with(content: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in content.items() if name not in fields}
    return kept | {name: value for name, value in fields.items() if value is not None}


def probability_of(paper: PaperRecord) -> Fraction:
    """The exact accept probability that a paper's coin was compared with."""
    top, bottom = paper.probability
    return Fraction(int(top, 16), int(bottom, 16))


def pool_of(rows: Sequence[Sequence[Any]]) -> PoolRows:
    """The pool with these rows."""
    names, chances = (tuple(row[column] for row in rows) for column in (0, 1))
    return PoolRows(names, chances, tuple(tuple(row[2:]) for row in rows))
