"""Records of releases: read back as they were written, and without secrets in what notebooks keep."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from blindcal.certify.exact import UNIT, ExactPolicy, PolicyTables, pack_policy
from blindcal.deciding.decide import Outcome
from blindcal.deciding.key import read_key
from blindcal.deciding.record import pack, unpack
from blindcal.verification import Verification
from sealed_releases import PAPER, POLICIES, RECORD, committed, ledger_of, sealed


def test_a_record_reads_back_equal(key_path: Path) -> None:
    sealed(key_path)
    ledger = ledger_of(key_path)
    (release,) = ledger.releases
    record = ledger.record(1)
    assert record == committed(read_key(key_path), RECORD, "s")
    assert (release.number, release.input) == (1, "s")
    table = ledger.tables(1)["p1"]
    assert table.exact == POLICIES["p1"].exact
    assert table.numerator.tolist() == POLICIES["p1"].numerator.tolist()


def test_the_text_of_a_record_keeps_its_secrets() -> None:
    """A notebook shows what its last line returns, and keeps it."""
    paper = replace(PAPER, reviewers=("canary-1", "canary-2"), secret=73914, probability=("abcd", "ef01"))
    record = replace(RECORD, papers=(paper,), reason="canary-3", decisions="canary-4")
    shown = f"{paper!r} {record!r} {Outcome(record, 'new')!r} {Verification(record, (), ())!r}"
    assert "release=1" in shown
    assert "p1" in shown
    assert not [secret for secret in ("canary", "73914", "abcd", "ef01") if secret in shown]


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=5),
        st.tuples(st.lists(st.integers(0, UNIT), min_size=1, max_size=9), st.fractions(0, 1)),
        max_size=4,
    )
)
def test_tables_are_packed_without_a_loss(tables: dict[str, tuple[list[int], Fraction]]) -> None:
    policies = {name: ExactPolicy(np.array(rows), ((0, few),)) for name, (rows, few) in tables.items()}
    again = unpack(pack(PolicyTables({name: pack_policy(policy) for name, policy in policies.items()})))
    assert list(again) == list(policies)
    for name, policy in policies.items():
        assert again[name].exact == policy.exact
        assert again[name].numerator.tolist() == policy.numerator.tolist()
