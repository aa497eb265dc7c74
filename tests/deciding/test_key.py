"""Coins: exact frequencies, repeatable, independent after any change; keys that nobody else can read."""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from blindcal.certify.exact import UNIT
from blindcal.deciding import key as key_module
from blindcal.deciding.key import Key, coin_facts, commitment, draw, make_key, public_facts, read_key
from blindcal.errors import InputError, RefusedError
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.paper import PaperCase
from chances import within
from sizes import count

KEY = Key(bytes(range(32)))


def test_sampler_frequencies() -> None:
    """64 probabilities, each drawn thousands of times with fresh facts (200,000 in the long run)."""
    draws = count(3_000, 200_000)
    rng = np.random.default_rng(1)
    inside = [Fraction(int(n), UNIT) for n in rng.integers(0, UNIT, 40)]
    odd = [Fraction(int(n), 3**20) for n in rng.integers(0, 3**20, 16)]
    edges = [Fraction(0), Fraction(1), Fraction(1, 2), Fraction(1, UNIT), 1 - Fraction(1, UNIT)]
    probabilities = [*inside, *odd, *edges, Fraction(1, 1000), Fraction(1, 3), Fraction(2, 3)]
    assert len(probabilities) == 64
    for index, p in enumerate(probabilities):
        hits = sum(draw(KEY, {"index": index, "draw": number}, p) for number in range(draws))
        assert within(hits, draws, float(p), tests=64)


def test_the_stamp_is_hmac_sha256_of_the_canonical_text() -> None:
    """Written out, so that an auditor can recompute a coin with any tool."""
    message = b'{"content":{"paper":"p","score":3},"purpose":"blindcal/coin","version":1}'
    expected = hmac.new(KEY.secret, message, hashlib.sha256).digest()
    assert KEY.stamp("coin", {"score": 3.0, "paper": "p"}) == expected


def test_no_library_generator_touches_a_coin() -> None:
    source = Path(key_module.__file__).read_text()
    assert "import random" not in source
    assert "numpy" not in source


def test_commitment_fixes_key_and_content() -> None:
    values = {commitment(KEY, {"a": 1}), commitment(KEY, {"a": 2}), commitment(Key(bytes(32)), {"a": 1})}
    assert len(values) == 3
    assert all(len(value) == 64 for value in values)


def test_a_fingerprint_tells_keys_apart_and_is_no_stamp_of_anything_else() -> None:
    expected = hmac.new(
        KEY.secret, b'{"content":null,"purpose":"blindcal/fingerprint","version":1}', hashlib.sha256
    )
    assert KEY.fingerprint == expected.hexdigest()[:16]
    assert len({Key(bytes([n] * 32)).fingerprint for n in range(256)}) == 256


def test_a_key_is_made_once_and_read_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "key.bin"
    key = make_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_key(path) == key
    assert key.secret.hex() not in repr(key)
    with pytest.raises(RefusedError):
        make_key(path)
    assert read_key(path) == key
    assert make_key(tmp_path / "other.bin") != key


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660])
def test_a_key_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key.bin"
    make_key(path)
    os.chmod(path, mode)
    with pytest.raises(InputError, match="readable by its owner only"):
        read_key(path)


@pytest.mark.parametrize("size", [0, 31, 33, 1000])
def test_a_key_of_another_length_is_refused(tmp_path: Path, size: int) -> None:
    path = tmp_path / "key.bin"
    path.write_bytes(bytes(size))
    path.chmod(0o600)
    with pytest.raises(InputError, match="must hold a key of 32 bytes"):
        read_key(path)


def test_a_key_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.bin", tmp_path):
        with pytest.raises(InputError):
            read_key(path)


def test_a_probability_outside_the_unit_interval_is_refused() -> None:
    for bad in (Fraction(-1, 2), Fraction(3, 2)):
        with pytest.raises(InputError):
            draw(KEY, {}, bad)


def test_a_coin_is_compared_exactly_and_goes_on_with_its_next_block_where_it_agrees() -> None:
    """The first 256 bits of the probability are those of the coin: the next 256 decide, and so on.

    `coin < accept`: a coin that equals its probability rejects, the one below accepts.
    """
    key, facts = Key(bytes(range(32))), {"paper": "p"}
    blocks = [int.from_bytes(key.stamp("coin", {"block": n, "facts": facts})) for n in range(3)]
    whole = 1 << 256
    for depth in (0, 1, 2):
        start = sum(
            (Fraction(block, whole ** (n + 1)) for n, block in enumerate(blocks[:depth])), Fraction(0)
        )
        last = whole ** (depth + 1)
        assert draw(key, facts, start + Fraction(blocks[depth] + 1, last))
        assert not draw(key, facts, start + Fraction(blocks[depth], last))
        assert not draw(key, facts, start + Fraction(blocks[depth], 2 * last))


# --- What enters a coin: everything that shaped a decision, each part of it.


CASE = PaperCase("p", (1.0, 2.0), ("a", "b"), (1.0, 1.0), ((1.0,) * 7,) * 2, 0.0)
REQUEST = Request(Guarantee("steady", epsilon=2.0), "c", accept_rate=0.4)
PUBLIC = {
    "scores": [1.0, 2.0],
    "grid": None,
    "pool": [["a", 0.5, 1.0], ["b", 0.5, 1.0]],
    "track": "",
}
GIVEN = {
    "request": REQUEST,
    "release": 1,
    "paper": "p",
    "public": PUBLIC,
    "reviewers": ("a", "b"),
}
OTHERS = {
    "request": replace(REQUEST, conference="d"),
    "release": 2,
    "paper": "q",
    "public": {**PUBLIC, "scores": [1.0, 3.0]},
    "reviewers": ("b", "a"),
}


@pytest.mark.parametrize("name", sorted(GIVEN))
def test_every_fact_moves_the_coin(name: str) -> None:
    key = Key(bytes(32))
    one, two = (key.stamp("coin", coin_facts(**facts)) for facts in (GIVEN, {**GIVEN, name: OTHERS[name]}))
    assert one != two


def test_an_exact_number_moves_the_coin() -> None:
    key, exactly = Key(bytes(32)), replace(REQUEST, accept_rate=None)
    stamps = {
        key.stamp("coin", coin_facts(**{**GIVEN, "request": replace(exactly, accept=number)}))
        for number in (1, 2, {"main": 2})
    }
    assert len(stamps) == 3
    waiting = replace(exactly, accept=2, wait_list=3)
    assert coin_facts(**{**GIVEN, "request": waiting})["accept"] == 2


def test_nothing_that_is_computed_enters_a_coin() -> None:
    """Given data alone: whoever could move a bar within a slack could choose the coins."""
    moved = replace(CASE, bar=CASE.bar + 0.001)
    assert public_facts(CASE) == public_facts(moved)
    assert coin_facts(**GIVEN).keys() == {
        *("conference", "release", "paper", "settings", "accept", "reviewers"),
        *PUBLIC,
    }
    assert public_facts(CASE).keys() == PUBLIC.keys()
