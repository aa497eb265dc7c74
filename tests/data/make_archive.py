"""Make the archive of the formats in use: `python tests/data/make_archive.py`.

Releases as a chair of today leaves them: the key, the private log, and for each release the input and the
public files. tests/platforms/test_archive.py verifies all of them, on every kind of machine. An archive is
never made again once a version of blindcal with its formats was released.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from blindcal.cli import run
from blindcal.deciding.certificate_fields import CERTIFICATE_FORMAT
from blindcal.deciding.key import COIN_FORMAT
from blindcal.deciding.ledger import RECORD_FORMAT
from small_conferences import SmallConference, arguments, small_conference

ARCHIVE = Path(__file__).with_name("archive")
IN_USE = {"sealed": RECORD_FORMAT, "coins": COIN_FORMAT, "certificate": CERTIFICATE_FORMAT}
KEY = bytes(range(100, 132))


def releases() -> Iterator[tuple[str, SmallConference, tuple[str, ...]]]:
    """By the name of the key: a first release with somebody outside the pools, an amendment, *average*, and a
    list with confidential scores: together they have most sentences that a certificate can have."""
    first = with_outsider(small_conference(papers=6))
    yield "first", first, ()
    changed = first.with_review(3, score="0.25")
    yield "first", changed, ("--amend", "--reason", "a score was mistaken")
    other = on_a_grid(small_conference(seed=11, papers=4, reviews=3))
    yield (
        "second",
        other,
        (
            'conference = "second"',
            'grid = "-9..9"',
            "distinct-papers = true",
            'guarantee = "average"',
            "multiplier = 1.5",
            "posterior-cap = 0.95",
        ),
    )
    listed = ('conference = "third"', "accept = 2", "wait-list = 1", 'scores = "confidential"')
    yield "third", small_conference(seed=7, papers=5), listed


def with_outsider(small: SmallConference) -> SmallConference:
    """Someone whom `*` stands for wrote the first review."""
    papers = sorted({row[0] for row in small.reviews[1:]})
    people = (*small.reviewers, ("*", "1", "0", "1"))
    pools = (*small.pools, *((paper, "*", "0.3") for paper in papers))
    return replace(small, reviewers=people, pools=pools).with_review(1, reviewer="emergency")


def on_a_grid(small: SmallConference) -> SmallConference:
    rows = tuple((paper, who, str(round(float(score)))) for paper, who, score in small.reviews[1:])
    return replace(small, reviews=(small.reviews[0], *rows))


def make(folder: Path) -> None:
    """All of it in a new folder, in the place of one that is there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for number, (name, small, options) in enumerate(releases(), start=1):
        key, home = folder / f"{name}.bin", small.write(folder / f"{number}")
        if not key.exists():
            key.write_bytes(bytes([number, *KEY[1:]]))
            key.chmod(0o600)
        if code := run(arguments(home, key, home / "out", *options)):
            sys.exit(f"release {number} ended with {code}")


if __name__ == "__main__":
    make(ARCHIVE / "-".join(f"{kind}-{number}" for kind, number in IN_USE.items()))
