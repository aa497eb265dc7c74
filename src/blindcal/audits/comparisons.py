"""A ledger and the inputs -> `Check`s: with the key, every release is made again and compared.

Tables, bar, price, coins, claims, figures and texts are derived from the recorded input as `decide` derives
them; nothing is taken from a record but what was given to it. A release that was planned by another version,
or on a machine that rounds differently, cannot be made again digit by digit: its own tables are then
replayed. They must keep what was requested, promise what is claimed of them, and cost no more than today's.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import fsum, inf, isclose
from pathlib import Path
from typing import Any

import numpy as np

from blindcal.beliefs.bars import bar_of
from blindcal.beliefs.cases import PaperCase
from blindcal.beliefs.conferences import Conference, Level, Truth, level_of
from blindcal.decisions.drafts import Draft, Planner, draft, with_texts
from blindcal.decisions.facts import input_stamp
from blindcal.decisions.histories import Past, recorded_case
from blindcal.decisions.records import Ledger, PaperRecord, Record
from blindcal.decisions.selections import ranked_again
from blindcal.decisions.statements import claim_of
from blindcal.errors import InputError, VerificationError
from blindcal.plans.amendments import AmendedCase, SettledCase
from blindcal.plans.certificates import Claim, claim, keeps
from blindcal.plans.exact import ExactPolicy, Tables, packed
from blindcal.plans.figures import expected_figures
from blindcal.plans.papers import PaperPlan, weights_digest
from blindcal.plans.promises import at_most, worst
from blindcal.plans.quotas import shares
from blindcal.plans.requests import Request
from blindcal.policies.guarantees import Guarantee

# Another machine may round a weight differently; what is said of a table then agrees to this much.
_CLOSE = 1e-9
# Another version may find another table, as good but for this share of wrong decisions, and another bar: so
# near, or one that by today's count accepts the requested share but for so much, and a part of a paper.
_AS_GOOD, _NEAR_BAR, _NEAR_SHARE, _PART = 1e-6, 0.01, 0.02, 0.2
# What is compared, and under which name it is told.
_RECORD = {
    "conference": "settings",
    "release": "settings",
    "reason": "settings",
    "settings": "settings",
    "bar": "bar and price",
    "price": "bar and price",
    "commitment": "commitment",
    "selection": "number accepted",
    "decisions": "public files follow from the record",
    "certificate": "public files follow from the record",
}
_PAPER = {
    "paper": "public data",
    "release": "earlier decisions",
    "earlier": "earlier decisions",
    "price": "bar and price",
    "public": "public data",
    "reviewers": "reviewers",
    "secret": "accept probabilities",
    "probability": "accept probabilities",
    "accepted": "coins",
    "raw_accepted": "raw decisions",
    "weights": "tables",
    "figures": "claims and figures",
}
# What certificates of every version say; later ones may say more.
_ALWAYS = frozenset(
    [
        "papers",
        "reviews",
        "success_scores_only",
        "success",
        "added_success",
        "success_fully_calibrated",
        "largest_rise",
        "epsilon",
        "multiplier",
        "largest_posterior",
        "expected_wrong",
        "expected_wrong_raw",
        "expected_wrong_public",
        "expected_wrong_fully_calibrated",
        "against_evidence",
        "gap",
        "conference",
        "release",
        "accepted",
        "bar",
        "better",
        "guarantee",
        "limits",
        "calibration_fit",
        "commitment",
        "key_fingerprint",
        "release_counter",
        "assumptions",
        "decided_again",
    ]
)
Prepare = Callable[[Sequence[PaperCase], Level | None, Level | None], Conference]
"""Cases, accept rate and bar (one of them None) -> Conference, as it is prepared to be decided."""


@dataclass(frozen=True)
class Check:
    """One thing that was derived again.

    `name`: what was compared.
    `items`: how many.
    `failed`: how many of them did not agree.
    `note`: what that means, in words; empty where there is nothing to add.
    """

    name: str
    items: int
    failed: int
    note: str = ""


def checks_of(
    conference: Conference,
    truth: Truth,
    request: Request,
    past: Past,
    planner: Planner,
    prepare: Prepare,
    out: Path | None = None,
) -> list[Check]:
    """Every check of all releases of a conference, the latest one from the input given; `report` raises if
    one failed."""
    ledger = past.ledger
    places = [i for i, release in enumerate(ledger.releases) if release.conference == request.conference]
    if not places:
        raise InputError(f"conference {request.conference!r} was never decided with this key")
    frozen = with_bar(conference, past.record(places[-1]).bar)
    same = input_stamp(ledger.key, frozen, truth, request) == ledger.releases[places[-1]].input
    other = "" if same else "reviews, calibration, pools or grid are not those that were decided"
    checks = [Check("input is the one that was decided", 1, int(not same), other)]
    for place in places:
        given = (conference, truth) if same and place == places[-1] else _recorded_input(past, place, prepare)
        checks += _release(past, place, *given, planner)
    return checks if out is None else [*checks, _files(past.record(places[-1]), out)]


def refuse_failed(checks: Sequence[Check]) -> None:
    """Raise a `VerificationError` that names the checks that failed; papers are counted, never named."""
    failed = [
        f"{check.name}: {check.failed} of {check.items} {'does' if check.failed == 1 else 'do'} not agree"
        + (f" ({check.note})" if check.note else "")
        for check in checks
        if check.failed
    ]
    if failed:
        raise VerificationError("verification failed. " + "; ".join(failed))


def _recorded_input(past: Past, place: int, prepare: Prepare) -> tuple[Conference, Truth]:
    """The input of a release as its record holds it; the bar of a first one is derived again."""
    record = past.record(place)
    request, first = record.request, record.release == 1
    cases = [recorded_case(paper, record.bar) for paper in record.papers]
    rate, bar = recorded_rate(request, cases) if first else None, request.bar if first else record.bar
    return prepare(cases, rate, bar), {paper.paper: paper.reviewers for paper in record.papers}


def recorded_rate(request: Request, cases: Sequence[PaperCase]) -> Level | None:
    """The share of these papers that was requested, or that the number requested is."""
    quota = request.quota
    return request.accept_rate if quota is None else shares(quota, [case.track for case in cases])


def _release(
    past: Past, place: int, conference: Conference, truth: Truth, planner: Planner
) -> Iterator[Check]:
    """Make one release again and compare it."""
    stored, before, tables = past.record(place), past.before(place), past.tables(place)
    derived = conference.bar
    conference = with_bar(conference, stored.bar)
    again = partial(draft, conference, truth, stored.request.checked(), before, reason=stored.reason)
    made = again(planner=planner)
    elsewhere = _elsewhere(stored, made.record)
    wrong_bar = derived != stored.bar and not (elsewhere and _near_bar(stored.bar, conference, derived))
    compared = again(planner=_replaying(stored, tables)) if elsewhere else made
    name, note = f"release {stored.release}", "planned by another version or kind of machine" * elsewhere
    for what, (items, failed) in _compared(
        stored, tables, compared, before.ledger, elsewhere, wrong_bar
    ).items():
        yield Check(f"{name}: {what}", items, failed, note)
    if elsewhere:
        yield from _as_good(name, stored, made, compared, tables)


def with_bar(conference: Conference, bar: Level) -> Conference:
    cases = tuple(replace(case, bar=level_of(bar, case.track)) for case in conference.cases)
    return replace(conference, bar=bar, cases=cases)


def _apart(one: Level, other: Level) -> float:
    """How far two bars are from each other; those of other tracks, infinitely far."""
    if not isinstance(one, Mapping) and not isinstance(other, Mapping):
        return abs(one - other)
    if not isinstance(one, Mapping) or not isinstance(other, Mapping) or one.keys() != other.keys():
        return inf
    return max(abs(one[track] - other[track]) for track in one)


def _near_bar(stored: Level, conference: Conference, derived: Level) -> bool:
    """Whether a bar of another version is nearly the one of today, or does nearly what was requested, in
    every track that has one."""
    if _apart(derived, stored) <= _NEAR_BAR:
        return True
    if conference.accept_rate is None or isinstance(derived, Mapping) != isinstance(stored, Mapping):
        return False
    for track in {case.track for case in conference.cases}:
        cases = [case for case in conference.cases if case.track == track]
        rate, share = level_of(conference.accept_rate, track), bar_of(cases, None, level_of(stored, track))[1]
        if abs(share - rate) > _NEAR_SHARE + _PART / len(cases):
            return False
    return True


def _elsewhere(stored: Record, made: Record) -> bool:
    """Whether a release was planned by another version, or on a machine that rounds differently."""
    weights = {paper.paper: paper.weights for paper in made.papers}
    tossed = [paper for paper in stored.papers if paper.release == stored.release]
    return stored.made_with != made.made_with or any(
        weights.get(paper.paper, paper.weights) != paper.weights for paper in tossed
    )


def _replaying(stored: Record, tables: Tables) -> Planner:
    """Plans from the tables that were sampled: what they promise is worked out again."""
    recorded = {paper.paper: paper for paper in stored.papers}

    def planner(
        part: Conference, guarantee: Guarantee, price: float | None
    ) -> tuple[list[PaperPlan], float | None]:
        papers = [recorded[case.paper] for case in part.cases]
        plans = [
            _replayed(case.promised(guarantee.promise), tables[case.paper], paper, raw)
            for case, paper, raw in zip(part.cases, papers, part.raw_accept, strict=True)
        ]
        return plans, papers[0].price if papers and guarantee.spends else None

    return planner


def _replayed(case: PaperCase, policy: ExactPolicy, paper: PaperRecord, raw: float) -> PaperPlan:
    belief, mixed = case.scores_belief, claim_of(paper).mixed
    factor = case.readings[0] if isinstance(case, AmendedCase) else None
    readings = case.readings if isinstance(case, AmendedCase) else (None,)
    stated = worst([claim(belief, policy, factor=one, mixed=mixed) for one in readings])
    if isinstance(case, SettledCase):
        stated = at_most(stated, case.revealed)
    numbers = expected_figures(belief, policy.accept, raw, factor, sample=case.sample)
    numbers = replace(numbers, gap=paper.figures["numbers"]["gap"])
    return PaperPlan(packed(policy), stated, numbers, weights_digest(belief))


def _compared(
    stored: Record,
    tables: Tables,
    made: Draft,
    ledger: Ledger,
    elsewhere: bool,
    wrong_bar: bool,
) -> dict[str, list[int]]:
    """For each check the number of items and of those that differ."""
    found: dict[str, list[int]] = {name: [0, 0] for name in (*_RECORD.values(), *_PAPER.values())}

    def count(name: str, wrong: bool) -> None:
        found[name][0] += 1
        found[name][1] += wrong

    # What is said in public follows from the record also where that only nearly agrees.
    whole = made.record
    if elsewhere:
        whole = with_texts(ranked_again(replace(made.record, papers=stored.papers)), ledger)
    for name, told in _RECORD.items():
        same = _same_text if elsewhere and name == "certificate" else operator.eq
        wrong = not same(getattr(stored, name), getattr(whole, name))
        count(told, wrong or (name == "bar" and wrong_bar))
    again = {paper.paper: paper for paper in made.record.papers}
    for paper in stored.papers:
        other = again.get(paper.paper)
        for name in _PAPER:
            count(_PAPER[name], other is None or not _agree(name, paper, other, elsewhere))
    count("public data", set(again) != {paper.paper for paper in stored.papers})
    count("tables", set(tables) != set(made.policies))
    for paper_id in tables.keys() & made.policies.keys():
        count("tables", not _equal(tables[paper_id], made.policies[paper_id]))
    return found


def _same_text(stored: str, made: str) -> bool:
    """Whether a certificate of another version says what today's would, wording apart: all that every version
    says, and nothing that today's does not."""
    try:
        one, other = json.loads(stored), json.loads(made)
        again = [content["decided_again"] for content in (one, other)]
    except (ValueError, KeyError, TypeError):
        return False
    if not one.keys() >= _ALWAYS or not one.keys() <= other.keys():
        return False
    shared = one.keys() - {"assumptions", "decided_again"}
    return all(one[key] == other[key] for key in shared) and all(
        again[0].get(key) == again[1].get(key) for key in ("papers", "epsilon")
    )


def _agree(name: str, stored: PaperRecord, made: PaperRecord, elsewhere: bool) -> bool:
    one, other = getattr(stored, name), getattr(made, name)
    if name == "figures":
        other = _as_known_then(one, other)
    if not elsewhere:
        return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    return name == "weights" or _close(one, other)


def _as_known_then(stored: Mapping[str, Any], made: Mapping[str, Any]) -> dict[str, Any]:
    """Figures without what records of older versions lack: standings, the posterior before any decision."""
    known = {part: value for part, value in made.items() if part in stored or part != "standings"}
    later = {"largest_posterior_scores_only"} - stored.get("claim", {}).keys()
    claim_then = {part: value for part, value in made["claim"].items() if part not in later}
    return {**known, "claim": claim_then}


def _close(one: Any, other: Any) -> bool:
    """Whether two pieces of a record agree, numbers nearly."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_close(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_close, one, other))
    if isinstance(one, int | float) and isinstance(other, int | float) and not isinstance(one, bool):
        return isclose(one, other, rel_tol=_CLOSE, abs_tol=_CLOSE)
    return bool(one == other)


def _equal(one: ExactPolicy, other: ExactPolicy) -> bool:
    return np.array_equal(one.numerator, other.numerator) and one.exact == other.exact


def _as_good(
    name: str,
    stored: Record,
    made: Draft,
    replayed: Draft,
    tables: Tables,
) -> Iterator[Check]:
    """Tables that were planned elsewhere keep what was requested, and cost no more than today's."""
    request = stored.request
    weights = {paper.paper: paper.weights for paper in stored.papers}
    exact = [case for case in made.cases if weights_digest(case.scores_belief) == weights[case.paper]]
    loose = sum(not _kept(case, tables[case.paper], request.guarantee) for case in exact)
    yield Check(f"{name}: limits of each table", len(exact), loose)
    tossed = [p for p in replayed.record.papers if p.release == stored.release and not p.earlier]
    beyond = sum(not _nearly_kept(claim_of(paper), request.guarantee) for paper in tossed)
    yield Check(f"{name}: limits of the claims", len(tossed), beyond)
    if request.guarantee.spends and stored.release == 1:
        spent = fsum(float(claim_of(paper).added) for paper in tossed)
        reviews = sum(len(paper.reviewers) for paper in tossed)
        over = spent > reviews * request.guarantee.added_success + _CLOSE * reviews
        yield Check(f"{name}: the budget", 1, int(over))
    cost = [
        fsum(p.figures["numbers"]["wrong"] for p in one.record.papers if p.release == stored.release)
        for one in (replayed, made)
    ]
    yield Check(f"{name}: tables as good as today's", 1, int(cost[0] > cost[1] + _AS_GOOD * len(made.cases)))


def _nearly_kept(stated: Claim, guarantee: Guarantee) -> bool:
    """Whether what a first table promises keeps what was requested, up to another machine's rounding."""
    limits = [
        (guarantee.epsilon, stated.epsilon),
        (guarantee.multiplier, stated.multiplier),
        (guarantee.posterior_cap, stated.largest_posterior),
        (0.0 if guarantee.name in ("steady", "public") else None, stated.largest_rise),
        (0.0 if guarantee.name == "average" and not guarantee.spends else None, float(stated.added)),
        (0.0 if guarantee.name == "public" else None, stated.epsilon),
    ]
    return all(limit is None or value <= limit + _CLOSE for limit, value in limits)


def _kept(case: PaperCase, policy: ExactPolicy, guarantee: Guarantee) -> bool:
    """Whether a table keeps what was requested, however the past is read."""
    belief = case.scores_belief
    readings = case.readings if isinstance(case, AmendedCase) else (None,)
    if guarantee.posterior_cap is not None and isinstance(case, SettledCase):
        stated = at_most(claim(belief, policy), case.revealed)
        if stated.largest_posterior > guarantee.posterior_cap:
            return False
    return all(keeps(belief, policy, guarantee, factor=one) for one in readings)


def _files(record: Record, out: Path) -> Check:
    """The files in a folder are the ones that were released."""
    kept = {"decisions.csv": record.decisions, "certificate.json": record.certificate}
    wrong = [
        name
        for name, text in kept.items()
        if not (out / name).exists() or (out / name).read_bytes() != text.encode()
    ]
    return Check("published files", len(kept), len(wrong), ", ".join(wrong))
