"""share: the reviews of a past conference -> noisy sums for a public list of people, sealed and published."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from blindcal.cells import in_natural_order
from blindcal.checks import Integers
from blindcal.decisions.coins import read_key
from blindcal.decisions.records import sealed_folder
from blindcal.errors import InputError, RefusedError
from blindcal.files.disk import refuse_empty, refuse_existing, write_bytes
from blindcal.files.tables import format_table
from blindcal.files.targets import check_folder_of
from blindcal.fitting.footprints import footprint
from blindcal.fitting.pasts import Past, pasts_of
from blindcal.fitting.points import Points, points_of, sums_of, upright_scores
from blindcal.fitting.rosters import ANYONE
from blindcal.fitting.shared import POINTS, REACH, SHARED_FORMAT, statement_path
from blindcal.reviews import Reviews
from blindcal.sharing.accounts import Account, Entry, enter, open_account, shared_folder
from blindcal.sharing.limits import Limit, Total, total_of
from blindcal.sharing.noises import noisy

_DELTA = 1e-6


@dataclass(frozen=True)
class Share:
    """What was released.

    `how`: `new`, or `stored` where this very input was released before.
    `statement`: what the table promises and how it is read; public, as the table is. Its total is as it was
    when the table was released.
    `total`: what all releases about the same reviews add up to now, later ones included.
    `left_out`: the number of reviews by people who are not on the list; for the chair alone.
    """

    how: str
    statement: dict[str, Any]
    total: Total
    left_out: int = field(repr=False)


def share(
    reviews: Reviews,
    committee: Iterable[str],
    limit: Limit,
    key: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    conference: str,
    better: str = "high",
    reason: str = "",
) -> Share:
    """Release noisy sums of one past conference for each person of a public list.

    The same input and key return the same release. Another release about the same reviews adds to what is
    spent of their privacy.

    `reviews`: of that conference, with the true reviewers.
    `committee`: the ids of the people to publish sums for, whether or not they reviewed.
    `limit`: the privacy loss of one review, as `Limit(epsilon=1.0)`.
    `key`: the file that `make_key` made; what is drawn is sealed beside it.
    `out`: the table to write, a CSV; its statement is written beside it, as `out` with .share.json at the
    end.
    `conference`: its name, public.
    `better`: which end of the scale of scores is the better one, "high" or "low".
    `reason`: for a further release about the same reviews, in words; without one it is refused.
    """
    past = _one(reviews, conference, better)
    people = tuple(in_natural_order(set(committee)))
    if not people or ANYONE in people:
        raise InputError(f"committee must list people, at least one, and not {ANYONE}")
    _check_place(key, out)
    left_out = sum(who not in set(people) for who in past.reviewer)
    secret = read_key(key)
    stamp = secret.stamp("shared input", _identity(past, people, limit)).hex()
    with open_account(key, secret) as account:
        stored = account.again(stamp)
        _check_vacant(out, stored)
        entry = stored or _released(account, past, people, limit, stamp, reason)
        about = account.about(past.name, footprint(past))
        total = total_of(one.limit for one in (*about, *(() if stored else (entry,))))
    _publish(entry, out)
    statement = json.loads(entry.statement)
    return Share("stored" if stored else "new", statement, total, left_out)


def _check_place(key: str | os.PathLike[str], out: str | os.PathLike[str]) -> None:
    """Public tables never lie among sealed files."""
    refuse_empty(out)
    folder = Path(os.path.realpath(Path(out).parent))
    if folder in {Path(os.path.realpath(one)) for one in (shared_folder(key), sealed_folder(key))}:
        raise InputError("`out` must not lie in a sealed folder, which must never be shared")


def _one(reviews: Reviews, conference: str, better: str) -> Past:
    if reviews.conferences and len(reviews.conferences) > 1:
        raise InputError("share one conference at a time: the table has several")
    past = pasts_of({conference: reviews}, better=better)[0]
    return Past(
        conference, past.file, past.paper, past.reviewer, past.score, past.confidence, past.grid, past.better
    )


def _identity(past: Past, people: tuple[str, ...], limit: Limit) -> dict[str, Any]:
    """All that a release depends on, in no order of rows."""
    rows = sorted(zip(past.paper, past.reviewer, past.score.tolist(), strict=True))
    return {
        "conference": past.name,
        "better": past.better,
        "reviews": [list(row) for row in rows],
        "people": list(people),
        "epsilon": limit.epsilon,
        "zcdp": limit.zcdp,
    }


def _released(
    account: Account, past: Past, people: tuple[str, ...], limit: Limit, stamp: str, reason: str
) -> Entry:
    used = footprint(past)
    earlier = account.about(past.name, used)
    total = total_of([*(entry.limit for entry in earlier), limit])
    if earlier and not reason.strip():
        spent = total_of(entry.limit for entry in earlier)
        raise RefusedError(
            f"sums of these reviews were shared before ({_said(spent)} spent); a further release would make "
            f"it {_said(total)}: give a `reason`"
        )
    points = points_of(upright_scores(past))
    drawn = noisy(sums_of(points, past, people), limit)
    statement = _statement(account, past.name, points, limit, total, len(earlier) + 1, len(people))
    parts = {"footprint": used, "table": _table(people, drawn), "statement": statement}
    return enter(account, past.name, limit, stamp, reason, parts)


def _said(total: Total) -> str:
    pure = "" if total.epsilon is None else f"epsilon {total.epsilon:g}, "
    return f"{pure}zCDP {total.zcdp:g}"


def _table(people: tuple[str, ...], drawn: Integers) -> bytes:
    above, below = (np.asarray(row).tolist() for row in drawn)
    return format_table({"reviewer": people, "above": above, "below": below})


def _statement(
    account: Account, conference: str, points: Points, limit: Limit, total: Total, number: int, people: int
) -> bytes:
    promise = (
        "Whoever wrote one review, and whoever else had written it, any table is at most e^epsilon times as "
        "likely; zcdp bounds the same by concentrated differential privacy. Papers, scores and the list of "
        "people are public; the unit is the author of one review."
    )
    content = {
        "format": SHARED_FORMAT,
        "conference": conference,
        "promise": promise,
        "noise": "discrete Laplace" if limit.pure else "discrete Gaussian",
        "noise_scale": limit.scale,
        "noise_variance": limit.variance,
        "epsilon": limit.epsilon,
        "zcdp": limit.zcdp,
        "release": number,
        "total": {"epsilon": total.epsilon, "zcdp": total.zcdp},
        "total_epsilon_at_delta_1e-6": total.epsilon_at(_DELTA),
        "people": people,
        "reviews": points.reviews,
        "points": {
            "each_review": POINTS,
            "reach": REACH,
            "mean": points.mean,
            "gain": points.gain,
            "variance": points.variance,
        },
        "key_fingerprint": account.key.fingerprint,
    }
    return (json.dumps(content, indent=1, allow_nan=False) + "\n").encode()


def _files(entry: Entry, out: str | os.PathLike[str]) -> dict[Path, bytes]:
    # A table must never be there without what it is read by.
    return {Path(statement_path(out)): entry.statement, Path(out): entry.table}


def _check_vacant(out: str | os.PathLike[str], entry: Entry | None) -> None:
    """Refuse an `out` that could not be written, before anything is spent of the reviews' privacy."""
    files = (Path(statement_path(out)), Path(out))
    there = [path for path in files if os.path.lexists(path)]
    for path in there:
        if entry is None or not path.is_file() or path.read_bytes() != _files(entry, out)[path]:
            refuse_existing(path)
    if len(there) < len(files):
        check_folder_of(out)


def _publish(entry: Entry, out: str | os.PathLike[str]) -> None:
    for path, data in _files(entry, out).items():
        if not os.path.lexists(path):
            write_bytes(path, data)
