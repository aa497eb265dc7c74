"""Input and past -> a release before it is sealed: what is decided now, and everything that follows from it.

`decide` seals a draft, `verify` makes one again: there is no other way to a release.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from importlib.metadata import version
from typing import Any

from blindcal.beliefs.cases import PaperCase, secret_of
from blindcal.beliefs.conferences import Conference, Truth
from blindcal.beliefs.crowds import Layout
from blindcal.decisions.coins import Key, toss, uniform
from blindcal.decisions.facts import coin_facts, commit_to, plain, public_facts
from blindcal.decisions.histories import Past, look_up, nearness, recorded_case
from blindcal.decisions.records import Ledger, PaperRecord, Record, Reference
from blindcal.decisions.selections import listing, ranked
from blindcal.decisions.statements import (
    certificate_text,
    claim_json,
    claim_of,
    decisions_text,
    figures_json,
)
from blindcal.errors import InputError, RefusedError
from blindcal.plans.agreements import agreement
from blindcal.plans.amendments import amended_case
from blindcal.plans.exact import Tables
from blindcal.plans.papers import PaperPlan
from blindcal.plans.promises import paired
from blindcal.plans.requests import Request
from blindcal.plans.rounding import FINE, downward
from blindcal.policies.guarantees import Guarantee

# Counted up whenever the same input may be planned to other tables: records of another number are compared by
# what their tables promise and cost.
PLANNER = 4

_KINDS = ("new", "late", "scores", "pools", "grid", "tracks", "reviewers", "returned")

Planner = Callable[[Conference, Guarantee, float | None], tuple[Sequence[PaperPlan], float | None]]
"""Certified tables for a conference and their price; the price is given where it is frozen."""


@dataclass(frozen=True)
class Changes:
    """Which papers differ from the release before, and how; `late` have all their scores and more, `alike`
    the scores of a paper that was decided under another name."""

    new: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()
    grid: tuple[str, ...] = ()
    tracks: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()

    @cached_property
    def decided(self) -> frozenset[str]:
        """The papers that get a coin."""
        given = (self.new, self.late, self.scores, self.pools, self.grid, self.tracks, self.reviewers)
        return frozenset(paper for kind in given for paper in kind)

    @property
    def none(self) -> bool:
        """Whether every paper is as it was, and all are there."""
        return not (self.decided or self.returned or self.withdrawn)


@dataclass(frozen=True, eq=False)
class Draft:
    """A release before it is sealed: everything that follows from the input, the key and the past."""

    record: Record
    cases: tuple[PaperCase, ...]
    policies: Tables
    changes: Changes


def draft(
    conference: Conference, truth: Truth, request: Request, past: Past, planner: Planner, reason: str
) -> Draft:
    """The release that this input leads to after that past: new and changed papers are decided, knowing what
    was revealed about their reviews; the others keep their decisions, and everything else is frozen."""
    records, old = past.of(request.conference), past.latest(request.conference)
    others = not records and bool(reason.strip())
    changes, number = changes_since(past, conference, truth, request, others=others), len(records) + 1
    if records and conference.bar != records[0].bar:
        raise InputError("an amendment must be prepared with the frozen bar")
    before_it = records[-1].selection if records else None
    part, before = _to_decide(conference, request, past, changes, others)
    frozen = records[0].price if records else None
    plans, price = _planned(part, request.guarantee, frozen, planner, _left(past, request, part))
    fresh = {}
    for case, plan, raw in zip(part.cases, plans, part.raw_accept, strict=True):
        earlier = before.get(case.paper, ())
        whole = _together(past, plan, earlier, same_public_data=case.paper in changes.reviewers)
        toss_of = partial(decide_paper, past.ledger.key, request, number, case, truth[case.paper])
        spent = int(plan.claim.added * FINE)
        fresh[case.paper] = toss_of(whole, raw, case.bar, price, earlier, spent)
    papers = [fresh.get(case.paper) or old[case.paper] for case in conference.cases]
    said, budget = (reason if records or before else ""), (frozen if records else price)
    selection = _selection(request, papers, number, before_it, changed=not changes.none)
    record = _record(past.ledger, request, number, said, conference, truth, papers, budget, selection)
    policies = Tables({case.paper: plan.packed for case, plan in zip(part.cases, plans, strict=True)})
    return Draft(record, part.cases, policies, changes)


def _selection(
    request: Request,
    papers: Sequence[PaperRecord],
    number: int,
    last: Mapping[str, Any] | None,
    *,
    changed: bool,
) -> Mapping[str, Any] | None:
    """The list that was requested: with the cuts of the `last` one if papers `changed` since, else ranked
    as a whole."""
    if request.quota is None:
        return None
    return last if last is not None and changed else ranked(papers, request.quota, number, last)


def _said(setting: object) -> str:
    return "not given" if setting is None else str(setting)


def changes_since(
    past: Past, conference: Conference, truth: Truth, request: Request, *, others: bool = False
) -> Changes:
    """What happened to each paper since the latest release; one that was withdrawn and is back as it was
    keeps its decision."""
    records, old = past.of(request.conference), past.latest(request.conference)
    if records and plain(request.settings) != dict(records[0].settings):
        was, now = records[0].settings, plain(request.settings)
        names = [name for name in {**now, **was} if was.get(name) != now.get(name)]
        differ = [f"`{k}` was {_said(was.get(k))}, now {_said(now.get(k))}" for k in names]
        scaled = "; fit again with `scale_of` the first calibration" if "scale" in names else ""
        raise RefusedError(
            "the guarantee, its limits, the bar, the better end of the scale and the shift and stretch of "
            "the calibration are frozen with the first release and cannot be changed "
            f"({'; '.join(differ)}){scaled}"
        )
    last = {paper.paper for paper in records[-1].papers} if records else set()
    found: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    for case in conference.cases:
        kind = _kind_of_change(case, truth[case.paper], old.get(case.paper), last)
        if kind is not None:
            found[kind].append(case.paper)
    withdrawn = sorted(last - {case.paper for case in conference.cases})
    changes = Changes(**{kind: tuple(papers) for kind, papers in found.items()}, withdrawn=tuple(withdrawn))
    again = _looked_up(past, conference, request, changes, others)
    alike = [
        paper
        for paper, refs in again.items()
        if any((ref[0], ref[2]) != (request.conference, paper) for ref in refs)
    ]
    return replace(changes, alike=tuple(alike))


def _looked_up(
    past: Past, conference: Conference, request: Request, changes: Changes, others: bool
) -> dict[str, tuple[Reference, ...]]:
    """What was decided before about the papers that get a coin, by public data alone."""
    decided = [case for case in conference.cases if case.paper in changes.decided]
    present, near = {case.paper for case in conference.cases}, nearness(past, conference.cases)
    return look_up(past, request.conference, decided, present, near, others=others)


# What a paper's public data consist of, and what it is called where one of them changed. Pools whose
# assignments were sampled are also the sets of people that were drawn: shares can agree where these do not.
_FACTS = (
    ("scores", "scores"),
    ("pools", "pool"),
    ("pools", "sets"),
    ("grid", "grid"),
    ("tracks", "track"),
)


def _kind_of_change(
    case: PaperCase, reviewers: tuple[str, ...], old: PaperRecord | None, last: set[str]
) -> str | None:
    if old is None:
        return "new"
    public = plain(public_facts(case))
    for kind, fact in _FACTS:
        if public.get(fact) != old.public.get(fact):
            return "late" if kind == "scores" and _only_more(public[fact], old.public[fact]) else kind
    if reviewers != old.reviewers:
        return "reviewers"
    return "returned" if case.paper not in last else None


def _only_more(now: Sequence[float], then: Sequence[float]) -> bool:
    """Whether scores came in and none was changed."""
    return Counter(now) > Counter(then)


def _to_decide(
    conference: Conference, request: Request, past: Past, changes: Changes, others: bool
) -> tuple[Conference, dict[str, tuple[Reference, ...]]]:
    """The papers that get a coin, with what was decided about their reviews before counted in."""
    chosen = [index for index, case in enumerate(conference.cases) if case.paper in changes.decided]
    cases = [conference.cases[index] for index in chosen]
    before = _looked_up(past, conference, request, changes, others)
    cases = [
        amended_case(case, past.decisions(before.get(case.paper, ()), request.conference, case.paper))
        for case in cases
    ]
    raw = tuple(conference.raw_accept[index] for index in chosen)
    return replace(conference, cases=tuple(cases), raw_accept=raw), before


def _left(past: Past, request: Request, part: Conference) -> Fraction | None:
    """What is left of a shared budget, in correct guesses: reviews bring their share, decisions used theirs.

    None for the first release, which has it all.
    """
    old = past.latest(request.conference)
    if not old or not request.guarantee.spends:
        return None
    reviews = {paper.paper: len(paper.reviewers) for paper in old.values()}
    reviews |= {case.paper: len(case.scores) for case in part.cases}
    used = sum(p.figures["added"] for ref, p in past.tossed.items() if ref[0] == request.conference)
    return Fraction(request.guarantee.added_success) * sum(reviews.values()) - Fraction(used, FINE)


def _planned(
    part: Conference, guarantee: Guarantee, frozen: float | None, planner: Planner, left: Fraction | None
) -> tuple[Sequence[PaperPlan], float | None]:
    """Tables at the frozen price; where these would overdraw the budget, within what is left of it."""
    if not part.cases:
        return (), frozen
    plans, price = planner(part, guarantee, frozen)
    if left is None or sum((plan.claim.added for plan in plans), Fraction(0)) <= left:
        return plans, price
    reviews = sum(len(case.scores) for case in part.cases)
    return planner(part, replace(guarantee, added_success=downward(max(left, Fraction(0)) / reviews)), None)


def _together(
    past: Past, plan: PaperPlan, earlier: Sequence[Reference], *, same_public_data: bool
) -> PaperPlan:
    """The plan with what is claimed of all decisions about the paper's reviews together."""
    if not earlier:
        return plan
    included = {ref for other in earlier for ref in past.tossed[other].earlier}
    claims = [claim_of(past.tossed[ref]) for ref in earlier if ref not in included]
    return replace(plan, claim=paired(claims, plan.claim, plan.policy, same_public_data))


def decide_paper(
    key: Key,
    request: Request,
    release: int,
    case: PaperCase,
    reviewers: tuple[str, ...],
    plan: PaperPlan,
    raw: float,
    bar: float,
    price: float | None,
    earlier: tuple[Reference, ...] = (),
    added: int = 0,
) -> PaperRecord:
    """Toss the coin of one paper; `added` is what this decision alone adds to the success."""
    public, secret = public_facts(case), true_secret(key, request, release, case, reviewers, plan.layout)
    probability = plan.policy.probability(secret)
    facts = coin_facts(request, release, case.paper, public, reviewers, bar, price)
    return PaperRecord(
        paper=case.paper,
        release=release,
        earlier=earlier,
        price=price,
        public=plain(public),
        reviewers=reviewers,
        secret=secret,
        probability=(f"{probability.numerator:x}", f"{probability.denominator:x}"),
        accepted=toss(key, facts, probability),
        raw_accepted=raw,
        weights=plan.weights,
        figures={"claim": claim_json(plan.claim), **figures_json(plan.figures), "added": added},
    )


def true_secret(
    key: Key,
    request: Request,
    release: int,
    case: PaperCase,
    reviewers: Sequence[str],
    layout: Layout | None = None,
) -> int:
    """The tuple of the true reviewers. Which of two equal scores is whose has no answer: the key orders them.

    The belief counts every order of tied slots as equally likely, so that is how the truth must be drawn, and
    anew for each release: decisions on one paper are tossed independently. In a large pool the key also draws
    the steps of reviewers who stand between two.
    """

    def drawn(slot: int, purpose: str) -> bytes:
        who = {
            "conference": request.conference,
            "release": release,
            "paper": case.paper,
            "reviewer": reviewers[slot],
        }
        if again := list(reviewers[:slot]).count(reviewers[slot]):
            # Two who are not listed are two people: every order of a tie stays equally likely.
            who["again"] = again
        return key.stamp(purpose, who)

    order = sorted(range(len(reviewers)), key=lambda slot: (case.scores[slot], drawn(slot, "tie")))
    chance = [uniform(drawn(slot, "step")) for slot in order]
    promised = case.promised(request.guarantee.promise)
    return secret_of(promised, [reviewers[slot] for slot in order], chance, layout)


def made_with() -> str:
    """What plans the tables: records made with something else are compared by what their tables promise."""
    parts = " ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "highspy"))
    return f"planner {PLANNER} {parts}"


def _record(
    ledger: Ledger,
    request: Request,
    release: int,
    reason: str,
    conference: Conference,
    truth: Truth,
    papers: Sequence[PaperRecord],
    price: float | None,
    selection: Mapping[str, Any] | None,
) -> Record:
    record = Record(
        conference=request.conference,
        release=release,
        reason=reason,
        made_with=made_with(),
        settings=plain(request.settings),
        bar=conference.bar,
        price=price,
        commitment=commit_to(ledger.key, conference, truth, request),
        papers=tuple(papers),
        decisions="",
        certificate="",
        selection=selection,
        scores=request.scores,
    )
    return with_texts(record, ledger)


def with_texts(record: Record, ledger: Ledger) -> Record:
    """The record with the public files that follow from it, after those releases."""
    request = record.request
    cases, found = [recorded_case(paper, record.bar) for paper in record.papers], listing(record)
    text = certificate_text(
        request.guarantee,
        record.settings,
        record.conference,
        record.release,
        record.bar,
        record.papers,
        better=request.better,
        scores=record.scores,
        listing=found,
        fit=agreement(cases, request.better),
        commitment=record.commitment,
        key_fingerprint=ledger.fingerprint,
        release_counter=ledger.counter + 1,
    )
    return replace(record, decisions=decisions_text(record.papers, found), certificate=text)
