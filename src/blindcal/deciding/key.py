"""Secret, repeatable coins and commitments: the only module that draws a decision.

A coin is derived by a pseudorandom function, HMAC-SHA-256 of everything that shaped the decision, under a key
that stays with the chair forever. The same input always gets the same decision; an input that changed in any
part gets an independent coin. Without the key, nobody can tell the coins from fair ones.

Only given data enter a coin: scores, pools, calibration, settings, reviewers. A bar or any other computed
number does not: whoever could choose such a number within some tolerance could choose the coins.
The same encoding identifies an input and commits to it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from blindcal.deciding.recorded_pools import PoolRows
from blindcal.errors import InputError
from blindcal.io.atomic_files import canonical_parts, read_bytes, write_bytes
from blindcal.io.tables import StrPath
from blindcal.planning.request import Request
from blindcal.posterior.conference import Case, Conference, TrueReviewers
from blindcal.posterior.this_year_evidence import LevelCase

KEY_BYTES = 32
COIN_FORMAT = 1
"""The version of the bytes that a draw is derived from; docs/reference/records_and_randomness.md has each."""
_BLOCK_BITS = 8 * hashlib.sha256().digest_size


@dataclass(frozen=True)
class Key:
    """A chair's key.

    Attributes:
        secret: 32 bytes, which are never printed.
    """

    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.secret) != KEY_BYTES:
            raise InputError(f"a key must have {KEY_BYTES} bytes, found {len(self.secret)}")

    def stamp(self, purpose: str, content: object, version: int = COIN_FORMAT) -> bytes:
        """HMAC-SHA-256 of the canonical content; each purpose and version is a separate function of the key.

        >>> key, facts = Key(bytes(32)), {"score": 3}
        >>> key.stamp("coin", facts) == key.stamp("coin", {"score": 3.0}) != key.stamp("seal", facts)
        True
        """
        stamp = hmac.new(self.secret, digestmod=hashlib.sha256)
        message = {"purpose": f"blindcal/{purpose}", "version": version, "content": content}
        for part in canonical_parts(message):
            stamp.update(part)
        return stamp.digest()

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that may be published: they identify the key and reveal nothing else of it.

        >>> Key(bytes(32)).fingerprint
        'bf82c30b3a215fa2'
        """
        return self.stamp("fingerprint", None, version=1).hex()[:16]


def make_key(path: StrPath) -> Key:
    """Makes a new key in a new file that only its owner can read.

    Args:
        path: The file; an existing one is refused.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> folder = TemporaryDirectory()
        >>> key = make_key(Path(folder.name) / "key.bin")
        >>> key.fingerprint == read_key(Path(folder.name) / "key.bin").fingerprint
        True
        >>> folder.cleanup()
    """
    key = Key(secrets.token_bytes(KEY_BYTES))
    write_bytes(path, key.secret, confidential=True)
    return key


def read_key(path: StrPath) -> Key:
    """Reads a key."""
    data = read_bytes(path)
    if len(data) != KEY_BYTES:
        size = f"{len(data)}" if len(data) <= KEY_BYTES else "more"
        raise InputError(f"{os.fspath(path)} must hold a key of {KEY_BYTES} bytes, found {size}")
    if not hasattr(os, "geteuid"):
        raise InputError(
            f"{os.fspath(path)} must be readable by its owner only, which Linux and macOS can show and this "
            "system cannot"
        )
    refuse_shared_file(path)
    return Key(data)


def refuse_shared_file(path: StrPath) -> None:
    """Refuses a file that others than its owner could have read."""
    mode = stat.S_IMODE(os.stat(path).st_mode)
    if mode & 0o077:
        raise InputError(
            f"{os.fspath(path)} must be readable by its owner only (chmod 600), found mode {mode:o}"
        )


def draw(key: Key, facts: Mapping[str, object], accept: Fraction) -> bool:
    """Accepts with probability exactly `accept`, by the coin that belongs to these facts.

    The coin is a uniform number in [0, 1), given by as many blocks of 256 bits as it takes. It is below
    `accept` with exactly that probability, dyadic or not. One block decides except with chance 2^-256.

    Args:
        key: The chair's key.
        facts: Everything that shaped the decision, in JSON's types; the same facts under the same key have
            the same coin.
        accept: The accept probability.

    Example:
        >>> key = Key(bytes(32))
        >>> draw(key, {"paper": "a"}, Fraction(1)), draw(key, {"paper": "a"}, Fraction(0))
        (True, False)
    """
    if not 0 <= accept <= 1:
        raise InputError("an accept probability must lie in [0, 1]")
    rest, block = accept, 0
    while 0 < rest < 1:
        coin = int.from_bytes(key.stamp("coin", {"block": block, "facts": dict(facts)}))
        whole, part = divmod(rest.numerator << _BLOCK_BITS, rest.denominator)
        if coin != whole:
            return coin < whole
        # The coin agrees with `accept` so far: the next block is compared with what is left of it.
        rest, block = Fraction(part, rest.denominator), block + 1
    return rest == 1


def uniform(stamp: bytes) -> float:
    """A stamp as a number in [0, 1), one of 2^53 that are equally likely."""
    return float(int.from_bytes(stamp[:8]) >> 11) / 2.0**53


def commitment(key: Key, content: object) -> str:
    """A commitment to publish before the draw.

    It binds the chair, who can later show only this key and this content for it. It also hides them: without
    the key it looks random.

    Args:
        key: The chair's key.
        content: Anything in JSON's types; the order of keys and the type of a number do not matter.

    Example:
        >>> commitment(Key(bytes(32)), {"a": 1}) == commitment(Key(bytes(32)), {"a": 1.0})
        True
    """
    return key.stamp("commitment", content).hex()


def input_commitment(key: Key, conference: str, input_stamp: str) -> str:
    """The commitment to the input of a conference, by the stamp that identifies the input."""
    return commitment(key, {"conference": conference, "input": input_stamp})


def public_facts(case: Case) -> dict[str, Any]:
    """The public facts about a paper, with numbers as in the files."""
    grid = None if case.grid is None else list(case.grid)
    facts = {"scores": list(case.scores), "grid": grid, "track": case.track}
    if isinstance(case, LevelCase):
        # Nobody is a candidate where nothing is known of anyone.
        return {**facts, "area": case.area, "pool": PoolRows((), (), ())}
    return {**facts, "pool": PoolRows(case.candidates, case.inclusion, case.parameters)}


def coin_facts(
    request: Request,
    release: int,
    paper: str,
    public: Mapping[str, Any],
    reviewers: Sequence[str],
    rows: str | None = None,
) -> dict[str, Any]:
    """All given data that shaped a decision: the facts that its coin is derived from.

    `rows`: the stamp of the release's whole input, if evidence on each paper depends on the reviews of all.
    """
    return {
        **({} if rows is None else {"rows": rows}),
        "conference": request.conference,
        "release": release,
        "paper": paper,
        **public,
        "settings": request.settings,
        "accept": request.accept,
        "reviewers": list(reviewers),
    }


def input_stamp(
    key: Key,
    conference: Conference,
    truth: TrueReviewers,
    request: Request,
    given: Mapping[str, int] | None = None,
) -> str:
    """Identifies an input, whatever the order of its rows; without the key it reveals nothing.

    `given`: the level of evidence of each paper, if another method made it.
    """
    papers = {case.paper: [public_facts(case), list(truth[case.paper])] for case in conference.cases}
    evidence = {} if given is None else {"evidence": dict(given)}
    content = {"settings": request.settings, "accept": request.accept, "papers": papers, **evidence}
    return key.stamp("input", content).hex()


def as_recorded(content: Mapping[str, Any]) -> dict[str, Any]:
    """Content as it is read back from a record, so that both can be compared: JSON has no tuples."""
    copied: dict[str, Any] = json.loads(json.dumps(content))
    return copied
