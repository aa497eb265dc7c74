"""Noisy sums of a past conference for a public list of people: points, the account of a key, and `share`.

A review is worth `POINTS` points, split between *above* and *below* by how far its score is above the
prediction from the other scores of the paper. Points depend on papers and scores alone. So a change of one
review's reviewer moves `POINTS` points from one person to another and nothing else, which bounds the
sensitivity of the sums.

The account has a record of every release, in a folder beside the key (`key.bin` -> `key.bin.shared`):
numbered, chained and written once, like those of decisions. A release counts from the moment its file has its
name, and nothing public is written before that.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import expm1, isfinite, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from scipy.special import ndtr

from blindcal.checks import Array, Integers
from blindcal.deciding.key import Key, read_key
from blindcal.deciding.ledger import (
    RecordHead,
    append_record,
    changed_record,
    ledger_folder,
    lock_ledger,
    read_chain,
)
from blindcal.errors import InputError, RefusedError
from blindcal.fitting.history import PastConference, fingerprint_of_past, past_conferences, upright
from blindcal.fitting.received_sums import POINTS, REACH, SHARED_FORMAT, statement_path
from blindcal.io.atomic_files import (
    check_parent_folder,
    refuse_empty_path,
    refuse_existing,
    write_bytes,
)
from blindcal.io.cells import natural_sorted
from blindcal.io.tables import StrPath, format_table
from blindcal.posterior.reuse_guard import Fingerprint, fingerprint_entry, parse_fingerprint, resemblance
from blindcal.reviewers.calibration import ANYONE
from blindcal.reviews import Reviews, encode_ids

# --- Privacy loss of one review: limits, noise, composition, and a lower bound on what stays unknown.
# Two tables are neighbors if they differ in the reviewer of one review. Papers and scores are public.
# Discrete noise is drawn by OpenDP, in this module only. OpenDP takes no seed, so the drawn sums are
# recorded.

__all__ = ["LossLimit", "Share", "share", "unlearned"]

# Moving a review moves its points: this many of them leave one row, and as many come to another.
SENSITIVITY_1 = 2 * POINTS
# Squared; the most where a review's points are all above or all below.
SENSITIVITY_2_SQUARED = 2 * POINTS**2
_LEAST_LIMIT, _MOST_LIMIT = 0.01, 100.0


@dataclass(frozen=True)
class LossLimit:
    """A limit on the privacy loss of one review, from 0.01 to 100.

    Attributes:
        epsilon: Pure differential privacy.
        zcdp: The rho of zero-concentrated differential privacy; exactly one of the two is given.

    Example:
        >>> LossLimit(epsilon=1.0).scale, LossLimit(zcdp=0.5).scale
        (200.0, 141.4213562373095)
    """

    epsilon: float | None = None
    zcdp: float | None = None

    def __post_init__(self) -> None:
        given = [value for value in (self.epsilon, self.zcdp) if value is not None]
        if len(given) != 1:
            raise InputError("give either `epsilon` or `zcdp`")
        if not (isfinite(given[0]) and _LEAST_LIMIT <= given[0] <= _MOST_LIMIT):
            raise InputError(
                f"`epsilon` or `zcdp` must be from {_LEAST_LIMIT:g} to {_MOST_LIMIT:g}, found {given[0]:g}"
            )

    @property
    def pure(self) -> bool:
        """Whether the limit is an epsilon."""
        return self.epsilon is not None

    @property
    def scale(self) -> float:
        """Of the discrete Laplace noise, or of the discrete Gaussian one, on each number."""
        if self.epsilon is not None:
            return SENSITIVITY_1 / self.epsilon
        return sqrt(SENSITIVITY_2_SQUARED / (2.0 * self._rho))

    @property
    def variance(self) -> float:
        """Of the noise. That of the discrete Gaussian is its scale squared, less than 1e-9 of it off here.

        >>> round(LossLimit(epsilon=1.0).variance, 2), round(LossLimit(zcdp=0.5).variance, 2)
        (79999.83, 20000.0)
        """
        if not self.pure:
            return self.scale**2
        back = -expm1(-1.0 / self.scale)
        return 2.0 * (1.0 - back) / back**2

    @property
    def _rho(self) -> float:
        return self.zcdp if self.zcdp is not None else 0.5 * (self.epsilon or 0.0) ** 2


@dataclass(frozen=True)
class TotalLoss:
    """What releases about the same reviews add up to: `epsilon` where each was pure, and `zcdp` always."""

    epsilon: float | None
    zcdp: float

    def __str__(self) -> str:
        pure = "" if self.epsilon is None else f"epsilon {self.epsilon:g}, "
        return f"{pure}zCDP {self.zcdp:g}"

    def epsilon_at(self, delta: float) -> float:
        """An epsilon that holds but for `delta`."""
        mixed = self.zcdp + 2.0 * sqrt(self.zcdp * log(1.0 / delta))
        return mixed if self.epsilon is None else min(mixed, self.epsilon)


def compose(limits: Iterable[LossLimit]) -> TotalLoss:
    """Losses add up, whatever was released first."""
    each = list(limits)
    pure = [limit.epsilon for limit in each if limit.epsilon is not None]
    epsilon = sum(pure) if len(pure) == len(each) else None
    return TotalLoss(epsilon, sum(limit._rho for limit in each))


def unlearned(epsilon: float, reviews: int, offset_sd: float, review_sd: float) -> float:
    """A lower bound on the share of an offset's variance that stays unknown within `epsilon`.

    Without a limit, `review_sd^2 / (review_sd^2 + reviews offset_sd^2)` stays unknown. Within it, let the
    size b of an offset be known and its sign not. If p and q are the probabilities of what is seen under b
    and -b, the best estimate errs by `b^2 (1 - D)` with `D = sum (p - q)^2 / 2(p + q)`. To lead from one to
    the other, K reviews are exchanged for others, two reviewers changed for each: then
    `|p - q| / (p + q) <= tanh(K epsilon)` and `D <= tanh(K epsilon)^2`. K can be binomial, its chance the
    total variation of one review, and D is convex in (p, q), so that D is at most the mean over K.

    Args:
        epsilon: Pure privacy loss of one review.
        reviews: Number of reviews of the reviewer; the difference of each is N(offset, review_sd^2).
        offset_sd: Standard deviation of offsets, which are N(0, offset_sd^2).
        review_sd: Standard deviation of one review.

    Example:
        >>> [round(unlearned(epsilon, 5, 0.35, 0.65), 2) for epsilon in (0.1, 0.25, 0.5, 1.0)]
        [0.91, 0.61, 0.41, 0.41]
    """
    # Sizes of an offset with their weights: Gauss-Hermite, by symmetry on one side.
    node, weights = np.polynomial.hermite_e.hermegauss(160)
    size, weight = offset_sd * node[node > 0.0], weights[node > 0.0] / weights[node > 0.0].sum()
    crossing = 2.0 * ndtr(size / review_sd) - 1.0
    exchanged = np.arange(reviews + 1)
    seen = scipy.stats.binom.pmf(exchanged, reviews, crossing[:, None]) @ np.tanh(exchanged * epsilon) ** 2
    private = float(weight @ (size**2 * (1.0 - seen))) / offset_sd**2
    return max(private, review_sd**2 / (review_sd**2 + reviews * offset_sd**2))


# OpenDP states the loss of what it draws, rounded upward: so little more is a matter of floats.
_ROUNDING = 1e-9


def add_noise(sums: Integers, limit: LossLimit) -> Integers:
    """Adds independent noise to each number; refused if OpenDP's own account exceeds the limit."""
    prelude = _opendp()
    domain = prelude.vector_domain(prelude.atom_domain(T="i64"))
    if limit.pure:
        measure = prelude.m.make_laplace(domain, prelude.l1_distance(T="i64"), scale=limit.scale)
        loss, most = measure.map(SENSITIVITY_1), limit.epsilon
    else:
        measure = prelude.m.make_gaussian(domain, prelude.l2_distance(T="f64"), scale=limit.scale)
        loss, most = measure.map(SENSITIVITY_2_SQUARED**0.5), limit.zcdp
    if most is None or loss > most * (1.0 + _ROUNDING):
        raise InputError("the noise must keep the limit by OpenDP's own account, and does not")
    return np.array(measure(sums.ravel().tolist()), dtype=np.int64).reshape(sums.shape)


def _opendp() -> Any:
    try:
        prelude = importlib.import_module("opendp.prelude")
    except ImportError:
        raise InputError("sharing needs OpenDP: pip install 'blindcal[share]'") from None
    # Its measurements are not all vetted by its own process yet, and it asks users to know that.
    prelude.enable_features("contrib")
    return prelude


# How much of a score's variance may be the paper's: papers of one review each say nothing about it.
_LEAST, _MOST = 0.05, 0.95


@dataclass(frozen=True, eq=False)
class Points:
    """`above[review]` of the `POINTS` points of a review; the rest are below. All of it is public by paper.

    In standard deviations of the scores, a review's difference is taken as `REACH * (2 above / POINTS - 1)`;
    `mean` and `variance` are those over all reviews. `gain` is by how much the difference grows where a
    reviewer is more lenient by 1: less than 1, since it is bounded.
    """

    above: Integers = field(repr=False)
    mean: float
    gain: float
    variance: float


def points_of(past: PastConference) -> Points:
    """The points of each review of a conference, from papers and scores alone."""
    _, paper = encode_ids(past.paper, natural_sorted)
    score, _, _ = upright(past)
    # One order whoever wrote what: the last digits of a sum depend on it.
    order = np.lexsort((score, paper))
    difference = differences(score[order], paper[order])
    above = np.rint(0.5 * POINTS * (1.0 + np.clip(difference / REACH, -1.0, 1.0))).astype(np.int64)
    counted = REACH * (2.0 * above / POINTS - 1.0)
    return Points(
        above=above[np.argsort(order)],
        mean=float(counted.mean()),
        gain=float((np.abs(difference) < REACH).mean()),
        variance=float(counted.var()),
    )


def differences(score: Array, paper: Integers) -> Array:
    """Each score minus its prediction from the paper's other scores, in standard deviations of all scores.

    Of k other scores with mean m, `k r / (1 - r + k r) * m` is expected, where r is the paper's part of a
    score's variance.
    """
    z = (score - score.mean()) / score.std()
    reviews: Integers = np.bincount(paper).astype(np.int64)
    total: Array = np.bincount(paper, z).astype(np.float64)
    # The mean product of two scores of one paper.
    pairs, products = float((reviews * (reviews - 1)).sum()), float((total**2).sum() - (z**2).sum())
    part = float(np.clip(products / pairs, _LEAST, _MOST)) if pairs else _LEAST
    others = reviews[paper] - 1
    return np.asarray(z - part * (total[paper] - z) / (1.0 - part + others * part))


def sums_of(points: Points, past: PastConference, people: Sequence[str]) -> Integers:
    """Points above and below of each of these people, `[2, person]`; reviews by others count for nobody."""
    column = {name: index for index, name in enumerate(people)}
    row = [column.get(who, len(people)) for who in past.reviewer]
    sums = [np.bincount(row, part, len(people) + 1) for part in (points.above, POINTS - points.above)]
    return np.stack(sums)[:, :-1].astype(np.int64)


_KIND = "shared sums"
_FIELDS: Mapping[str, tuple[type, ...]] = {
    "conference": (str,),
    "epsilon": (float, int, type(None)),
    "zcdp": (float, int, type(None)),
    "input": (str,),
    "reason": (str,),
}


@dataclass(frozen=True)
class SharedRelease:
    """One release of sums: for which reviews, with which limit, and what was published."""

    conference: str
    limit: LossLimit
    input: str
    footprint: Fingerprint = field(repr=False)
    table: bytes = field(repr=False)
    statement: bytes = field(repr=False)
    head: RecordHead = field(repr=False)


@dataclass(frozen=True)
class Account:
    """The releases of sums made with one key."""

    folder: Path  # the folder of the records
    key: Key  # the key that stamps them
    entries: tuple[SharedRelease, ...]  # one entry per release, oldest first

    def spent_on(self, conference: str, footprint: Fingerprint) -> list[LossLimit]:
        """Limits of earlier releases about the same reviews: of that name, or alike beyond chance (1 in 100).

        A false match only makes the total too high, which does no harm.
        """
        return [
            entry.limit
            for entry in self.entries
            if entry.conference == conference or resemblance(entry.footprint, footprint)
        ]


def shared_folder(key_path: StrPath) -> Path:
    """The private log of what was shared with a key, beside the key."""
    return ledger_folder(key_path).with_suffix(".shared")


@contextmanager
def open_account(key_path: StrPath, key: Key) -> Iterator[Account]:
    """The account of a key, held by this process alone: a second run is refused at once."""
    with lock_ledger(shared_folder(key_path)):
        yield read_account(key_path, key)


def read_account(key_path: StrPath, key: Key) -> Account:
    """Reads the account of a key; empty if nothing was shared.

    `key_path`: the file of the key, beside which the records lie.
    """
    folder = shared_folder(key_path)
    return Account(folder, key, tuple(map(_parse_share, read_chain(folder, key, _KIND))))


def record_share(
    account: Account, conference: str, limit: LossLimit, stamp: str, reason: str, parts: Mapping[str, bytes]
) -> SharedRelease:
    """Record a release in one new file; `parts` are footprint, table and statement."""
    fields = {"conference": conference, **vars(limit), "input": stamp, "reason": reason}
    chain = [entry.head for entry in account.entries]
    return _parse_share(append_record(account.folder, account.key, _KIND, chain, fields, parts))


def _parse_share(record: RecordHead) -> SharedRelease:
    fields = record.fields(_FIELDS, ("footprint", "table", "statement"))
    try:
        limit = LossLimit(fields["epsilon"], fields["zcdp"])
        footprint = parse_fingerprint(json.loads(record.part("footprint")))
    except (ValueError, TypeError):
        raise changed_record(record.path) from None
    if footprint is None:
        raise changed_record(record.path)
    texts = record.part("table"), record.part("statement")
    return SharedRelease(fields["conference"], limit, fields["input"], footprint, *texts, record)


_DELTA = 1e-6


@dataclass(frozen=True)
class Share:
    """A release of noisy sums.

    Attributes:
        how: "new", or "stored" if the same input was released before.
        statement: The public promise of the table and how to read it, with the total loss at its release.
        total: Total privacy loss of all releases about the same reviews, including later ones.
        left_out: Number of reviews by people who are not on the list; for the chair alone.
    """

    how: str
    statement: dict[str, Any]
    total: TotalLoss
    left_out: int = field(repr=False)


def share(
    reviews: Reviews,
    committee: Iterable[str],
    limit: LossLimit,
    key: StrPath,
    out: StrPath,
    *,
    conference: str,
    better: str = "high",
    reason: str = "",
) -> Share:
    """Releases noisy sums of one past conference for each person of a public list.

    The same input and key return the same release. Another release about the same reviews adds to their
    privacy loss.

    Args:
        reviews: The reviews of that conference, with the true reviewers.
        committee: Ids of the people to publish sums for, whether or not they reviewed.
        limit: Privacy loss of one review, such as `LossLimit(epsilon=1.0)`.
        key: The file that `make_key` made; the noise is recorded beside it.
        out: The CSV table to write; its statement is written beside it, with .share.json appended.
        conference: Public name of the conference.
        better: The better end of the scale of scores, "high" or "low".
        reason: The reason for a further release about the same reviews, which is refused without one.
    """
    past = _single_conference(reviews, conference, better)
    people = tuple(natural_sorted(set(committee)))
    if not people or ANYONE in people:
        raise InputError(f"committee must list people, at least one, and not {ANYONE}")
    refuse_empty_path(out)
    folder = Path(os.path.realpath(Path(out).parent))
    if folder in {Path(os.path.realpath(path)) for path in (shared_folder(key), ledger_folder(key))}:
        raise InputError("`out` must not lie in a private log, which must never be shared")
    left_out = sum(who not in set(people) for who in past.reviewer)
    secret, used = read_key(key), fingerprint_of_past(past)
    stamp = secret.stamp("shared input", _input_identity(past, people, limit)).hex()
    with open_account(key, secret) as account:
        entry = next((entry for entry in account.entries if entry.input == stamp), None)
        how = "new" if entry is None else "stored"
        _check_vacant(out, entry)
        spent = account.spent_on(past.name, used)
        if entry is None:
            _refuse_without_reason(spent, limit, reason)
            points = points_of(past)
            above, below = add_noise(sums_of(points, past, people), limit)
            parts = {
                "footprint": json.dumps(fingerprint_entry(used)).encode(),
                "table": format_table({"reviewer": people, "above": above, "below": below}),
                "statement": _statement_bytes(secret, past.name, points, len(people), limit, spent),
            }
            entry = record_share(account, past.name, limit, stamp, reason, parts)
            spent.append(limit)
    _write_release(entry, out)
    return Share(how, json.loads(entry.statement), compose(spent), left_out)


def _single_conference(reviews: Reviews, conference: str, better: str) -> PastConference:
    if reviews.conferences and len(reviews.conferences) > 1:
        raise InputError("share one conference at a time: the table has several")
    return replace(past_conferences({conference: reviews}, better=better)[0], name=conference)


def _input_identity(past: PastConference, people: tuple[str, ...], limit: LossLimit) -> dict[str, Any]:
    """All that a release depends on, in no order of rows."""
    rows = sorted(zip(past.paper, past.reviewer, past.score.tolist(), strict=True))
    named = {"conference": past.name, "better": past.better}
    return {**named, "reviews": [list(row) for row in rows], "people": list(people), **vars(limit)}


def _refuse_without_reason(spent: Sequence[LossLimit], limit: LossLimit, reason: str) -> None:
    if spent and not reason.strip():
        raise RefusedError(
            f"sums of these reviews were shared before ({compose(spent)} spent); a further release would "
            f"make it {compose([*spent, limit])}: give a `reason`"
        )


def _statement_bytes(
    key: Key, conference: str, points: Points, people: int, limit: LossLimit, spent: Sequence[LossLimit]
) -> bytes:
    total = compose([*spent, limit])
    promise = (
        "If another person had written one review, any table would be at most e^epsilon times as "
        "likely; zcdp bounds the same by concentrated differential privacy. Papers, scores and the list of "
        "people are public; the unit is the reviewer of one review."
    )
    content = {
        "format": SHARED_FORMAT,
        "conference": conference,
        "promise": promise,
        "noise": "discrete Laplace" if limit.pure else "discrete Gaussian",
        "noise_scale": limit.scale,
        "noise_variance": limit.variance,
        **vars(limit),
        "release": len(spent) + 1,
        "total": vars(total),
        "total_epsilon_at_delta_1e-6": total.epsilon_at(_DELTA),
        "people": people,
        "reviews": points.above.size,
        "points": {
            "each_review": POINTS,
            "reach": REACH,
            "mean": points.mean,
            "gain": points.gain,
            "variance": points.variance,
        },
        "key_fingerprint": key.fingerprint,
    }
    return (json.dumps(content, indent=1, allow_nan=False) + "\n").encode()


def _release_files(entry: SharedRelease, out: StrPath) -> dict[Path, bytes]:
    # A table must never be there without what it is read by.
    return {Path(statement_path(out)): entry.statement, Path(out): entry.table}


def _check_vacant(out: StrPath, entry: SharedRelease | None) -> None:
    """Refuse an `out` that could not be written, before anything is spent of the reviews' privacy."""
    files = (Path(statement_path(out)), Path(out))
    existing = [path for path in files if os.path.lexists(path)]
    for path in existing:
        if entry is None or not path.is_file() or path.read_bytes() != _release_files(entry, out)[path]:
            refuse_existing(path)
    if len(existing) < len(files):
        check_parent_folder(out)


def _write_release(entry: SharedRelease, out: StrPath) -> None:
    for path, data in _release_files(entry, out).items():
        if not os.path.lexists(path):
            write_bytes(path, data)


def __dir__() -> list[str]:
    return sorted(__all__)
