"""Sealed files: packed tables, formats, and every changed byte."""

from __future__ import annotations

import hashlib
import hmac
import json
import zlib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blindcal.certify.exact import UNIT, ExactPolicy
from blindcal.deciding import ledger
from blindcal.deciding.key import make_key, read_key
from blindcal.deciding.ledger import NOTICE, read_chain, read_ledger
from blindcal.deciding.record import pack, unpack
from blindcal.errors import VerificationError
from sealed_releases import everything, several
from sizes import count


def test_every_changed_byte_is_found(key_path: Path) -> None:
    """The bytes of the second file of three, one at a time: head, stamp, record, tables."""
    path = several(key_path)[1]
    data = path.read_bytes()
    for at in range(0, len(data), count(7, 1)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(VerificationError):
            everything(key_path)
    path.write_bytes(data)
    assert len(everything(key_path)) == 3


def test_a_chain_has_every_head_and_the_stamp_of_the_one_before(key_path: Path) -> None:
    folder = several(key_path)[0].parent
    chain = read_chain(folder, read_key(key_path), "decisions")
    assert [seal.head["counter"] for seal in chain] == [1, 2, 3]
    assert [seal.head["previous"] for seal in chain] == ["", chain[0].stamp, chain[1].stamp]
    assert read_chain(folder / "nothing", read_key(key_path), "decisions") == ()


def test_later_formats_are_named_and_not_guessed(key_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later:
        later.setattr(ledger, "RECORD_FORMAT", 2)
        several(key_path, 1)
    with pytest.raises(VerificationError, match="log format 2, and this version of blindcal reads format 1"):
        read_ledger(key_path, read_key(key_path))
    other = key_path.with_name("other.bin")
    make_key(other)
    with monkeypatch.context() as later:
        later.setattr(ledger, "COIN_FORMAT", 2)
        several(other, 1)
    with pytest.raises(VerificationError, match="draws of another format than 1"):
        read_ledger(other, read_key(other))


def test_a_file_is_what_the_page_on_formats_says(key_path: Path) -> None:
    """Written out, so that an auditor can check a file with any tool."""
    key, path = read_key(key_path), several(key_path, 1)[0]
    first, stamp, head, rest = path.read_bytes().split(b"\n", 3)
    assert first == f"{NOTICE} blindcal sealed format 1".encode()
    quoted = json.dumps(head.decode())
    message = f'{{"content":{quoted},"purpose":"blindcal/sealed head","version":1}}'
    assert stamp.decode() == hmac.new(key.secret, message.encode(), hashlib.sha256).hexdigest()
    for part in json.loads(head)["parts"]:
        data, rest = rest[: part["size"]], rest[part["size"] :]
        assert hashlib.sha256(data).hexdigest() == part["sha256"]
        if part["name"] == "record":
            assert json.loads(data)["papers"][0]["reviewers"] == ["a", "b"]
    assert rest == b""
    index, blob = data.split(b"\n", 1)
    assert json.loads(index) == [["p1", len(blob), [[1, "1", "3"]]]]
    assert np.frombuffer(zlib.decompress(blob), "<i8").tolist() == [UNIT // 2, 0]


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=5),
        st.tuples(st.lists(st.integers(0, UNIT), min_size=1, max_size=9), st.fractions(0, 1)),
        max_size=4,
    )
)
def test_tables_pack_and_unpack(tables: dict[str, tuple[list[int], Fraction]]) -> None:
    policies = {name: ExactPolicy(np.array(rows), ((0, few),)) for name, (rows, few) in tables.items()}
    again = unpack(pack(policies))
    assert list(again) == list(policies)
    for name, policy in policies.items():
        assert again[name].exact == policy.exact
        assert again[name].numerator.tolist() == policy.numerator.tolist()
