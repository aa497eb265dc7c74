"""Input and past -> a release before it is sealed: what is decided now, and everything that follows from it.

`decide` seals a draft, `verify` makes one again: there is no other way to a release.

Private decisions of a record -> the final list: this many papers accepted, this many on the wait list.

A first list, and one whose numbers are changed, is ranked as a whole. An amendment keeps the cuts of the list
before it: the papers that changed are compared with them, and nobody else's place changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from blindcal.certify.claims import Claim
from blindcal.certify.exact import FINE, Tables, downward
from blindcal.deciding.certificate_file import (
    Listing,
    certificate_text,
    claim_json,
    claim_of,
    decisions_text,
    figures_json,
    figures_of,
)
from blindcal.deciding.coins import (
    Key,
    coin_facts,
    commit_to,
    input_stamp,
    plain,
    public_facts,
    toss,
    uniform,
)
from blindcal.deciding.ledger import Ledger, PaperRecord, Record, Reference
from blindcal.deciding.prior_decisions import Past, look_up, nearness
from blindcal.errors import InputError, RefusedError
from blindcal.planning.calibration_check import agreement
from blindcal.planning.conference_plan import PaperPlan
from blindcal.planning.ranking import (
    ACCEPT,
    WAIT,
    RankPair,
    Rank,
    cuts_by_track,
    both_ranks,
    cuts_json,
    cuts_from_json,
    listed_figures,
    list_decision,
    with_raw_decision,
)
from blindcal.planning.request import Number, Quota, Request
from blindcal.planning.shared_budget import frozen_price
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import Conference, Truth, best_by_mean
from blindcal.posterior.large_pools import Layout
from blindcal.posterior.paper import PaperCase, secret_of


def ranked(papers: Sequence[PaperRecord], quota: Quota, release: int) -> dict[str, Any]:
    """The selection of a release whose list is ranked as a whole."""
    tracks = [track_of(paper) for paper in papers]
    quota.check(tracks)
    found = cuts_by_track([own_rank(paper) for paper in papers], tracks, quota)
    return {
        "accept": _plain(quota.accept),
        "wait_list": _plain(quota.wait_list),
        "cuts": cuts_json(found),
        "ranked": release,
    }


def ranked_again(record: Record) -> Record:
    """The record with its list ranked by its own papers, unless it keeps the cuts of another release."""
    quota, selection = record.request.quota, record.selection
    if quota is None or selection is None or selection["ranked"] != record.release:
        return record
    return replace(record, selection=ranked(record.papers, quota, record.release))


def listing(record: Record) -> Listing | None:
    """The final list of a release; None where the private decisions are the published ones."""
    quota, selection = record.request.quota, record.selection
    if quota is None or selection is None or record.first_accept is None:
        return None
    cuts = cuts_from_json(selection["cuts"])
    ranks, tracks = [own_rank(paper) for paper in record.papers], [track_of(paper) for paper in record.papers]
    decisions = [list_decision(rank, cuts[track]) for rank, track in zip(ranks, tracks, strict=True)]
    figures = listed_figures(
        [figures_of(paper) for paper in record.papers],
        [_pair(paper) for paper in record.papers],
        tracks,
        quota,
        None if selection["ranked"] == record.release else cuts,
    )
    raw = _raw(record.papers, tracks, decisions)
    figures = [
        one if share == paper.raw_accepted else with_raw_decision(one, share)
        for one, paper, share in zip(figures, record.papers, raw, strict=True)
    ]
    return Listing(quota, record.first_accept, decisions, _waiting(ranks, tracks, decisions), raw, figures)


def _raw(papers: Sequence[PaperRecord], tracks: Sequence[str], decisions: Sequence[str]) -> list[float]:
    """Which papers mean scores would accept, if they accepted as many of each track."""
    found = [0.0] * len(papers)
    for track in set(tracks):
        here = [index for index, one in enumerate(tracks) if one == track]
        places = sum(decisions[index] == ACCEPT for index in here)
        best = best_by_mean([papers[index].public["scores"] for index in here], places)
        for index, share in zip(here, best, strict=True):
            found[index] = share
    return found


def own_rank(paper: PaperRecord) -> Rank:
    """Where a paper ranks by its private decision."""
    return _pair(paper)[int(paper.accepted)]


def track_of(paper: PaperRecord) -> str:
    """The track that a paper is in; empty where tracks have no bar of their own."""
    return str(paper.public["track"])


def _pair(paper: PaperRecord) -> RankPair:
    return both_ranks(paper.paper, paper.public["scores"], figures_of(paper))


def _waiting(ranks: Sequence[Rank], tracks: Sequence[str], decisions: Sequence[str]) -> list[int | str]:
    """The place of each paper on the wait list of its track; empty where it is not on it."""
    waiting = sorted(
        (track, rank, index)
        for index, (rank, track) in enumerate(zip(ranks, tracks, strict=True))
        if decisions[index] == WAIT
    )
    found: list[int | str] = [""] * len(ranks)
    for number, (track, _, index) in enumerate(waiting):
        found[index] = 1 + number - sum(other < track for other, _, _ in waiting)
    return found


def _plain(number: int | Mapping[str, int]) -> int | dict[str, int]:
    return dict(number) if isinstance(number, Mapping) else number


_KINDS = ("new", "late", "scores", "pools", "grid", "tracks", "reviewers", "returned")

Planned = tuple[Sequence[PaperPlan], float | None]
"""Certified tables for a conference and their price."""
Planner = Callable[[Conference, Guarantee, float | None], Planned]
"""Conference, guarantee and price -> tables; the price is given where it is frozen."""


def as_planned(_: Conference, planned: Planned) -> Planned:
    """The tables that were planned are the ones that are tossed."""
    return planned


@dataclass(frozen=True)
class Changes:
    """Which papers differ from the release before, and how.

    `late` have all their scores and more; `reviewers` differ in who wrote their reviews and in nothing that
    is public; `alike` are new and have the scores of a paper that was decided under another name. With
    `redecided`, papers whose `pools` or `grid` changed are decided again; else their decisions stand.
    """

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
    redecided: bool = False

    @cached_property
    def settled(self) -> frozenset[str]:
        """The papers that public data alone decide: those whose public data changed, and look-alikes."""
        corrected = (*self.pools, *self.grid) if self.redecided else ()
        return frozenset((*self.late, *self.scores, *self.tracks, *corrected, *self.alike))

    @cached_property
    def decided(self) -> frozenset[str]:
        """The papers that are decided now: the settled ones, and new ones, which get a coin."""
        return self.settled | frozenset(self.new)

    @property
    def public(self) -> bool:
        """Whether anything that is public differs."""
        return bool(self.decided or self.pools or self.grid or self.returned or self.withdrawn)


@dataclass(frozen=True, eq=False)
class Draft:
    """A release before it is sealed: everything that follows from the input, the key and the past."""

    record: Record
    cases: tuple[PaperCase, ...]
    policies: Tables
    changes: Changes


def draft(
    conference: Conference,
    truth: Truth,
    request: Request,
    past: Past,
    planner: Planner,
    reason: str,
    *,
    redecide: bool = False,
    replayed: Callable[[Conference, Planned], Planned] = as_planned,
) -> Draft:
    """The release that this input leads to after that past; `replayed` puts the tables of a sealed one in the
    place of those planned.

    New papers are tossed. Papers whose scores changed are decided from their new public data alone, which
    reveals nothing further; so are all papers with corrected pools or calibration, with `redecide`. All
    others keep their decisions, and everything else is frozen.
    """
    records, old = past.of(request.conference), past.latest(request.conference)
    others = not records and bool(reason.strip())
    changes = changes_since(past, conference, truth, request, others=others, redecide=redecide)
    number, accept = len(records) + 1, first_accept(past, request)
    if records and conference.bar != records[0].bar:
        raise InputError("an amendment must be prepared with the frozen bar")
    last = records[-1].selection if records and changes.public else None
    part = _to_decide(conference, changes)
    before = _looked_up(past, conference, request, changes.decided, others)
    frozen = records[0].price if records else None
    left = budget_left(past, request, part.cases)
    plans, price = replayed(part, _planned(part, request.guarantee, frozen, planner, left))
    price = None if price is None else frozen_price(price)
    fresh = {}
    for case, plan, raw in zip(part.cases, plans, part.raw_accept, strict=True):
        earlier, reviewers = before.get(case.paper, ()), truth[case.paper]
        stated = _stated(past, plan.claim, earlier, (request.conference, case.paper))
        fresh[case.paper] = decide_paper(
            past.ledger.key, request, number, case, reviewers, plan, raw, price, accept, earlier, stated
        )
    papers = [fresh.get(case.paper) or _standing(old[case.paper], case) for case in conference.cases]
    said, budget = (reason if records or before else ""), (frozen if records else price)
    selection = _selection(request, papers, number, last)
    whole = (conference, recorded_truth(past, truth, request, changes))
    again = bool(redecide and (changes.pools or changes.grid))
    record = _record(past.ledger, request, number, said, whole, papers, budget, selection, accept, again)
    policies = Tables({case.paper: plan.packed for case, plan in zip(part.cases, plans, strict=True)})
    return Draft(record, part.cases, policies, changes)


def first_accept(past: Past, request: Request) -> Number | None:
    """The number of papers that was requested first, or is requested now: `select` may have changed it."""
    records = past.of(request.conference)
    return records[0].first_accept if records else request.accept


def recorded_truth(past: Past, truth: Truth, request: Request, changes: Changes) -> Truth:
    """Who wrote the reviews, for papers whose decisions stand as it was recorded: corrected names change
    nothing."""
    old = past.latest(request.conference)
    return {
        paper: names if paper in changes.decided or paper not in old else old[paper].reviewers
        for paper, names in truth.items()
    }


def stamp_of(
    past: Past, conference: Conference, truth: Truth, request: Request, *, amend: bool, redecide: bool
) -> str:
    """What identifies this input after that past."""
    others = amend and not past.of(request.conference)
    changes = changes_since(past, conference, truth, request, others=others, redecide=redecide)
    recorded = recorded_truth(past, truth, request, changes)
    return input_stamp(past.ledger.key, conference, recorded, request, first_accept(past, request))


def _standing(paper: PaperRecord, case: PaperCase) -> PaperRecord:
    """A paper whose decision stands, with its public data of today: pools or calibration may be corrected."""
    public = plain(public_facts(case))
    return replace(paper, public=public, corrected=paper.corrected or public != paper.public)


def _selection(
    request: Request,
    papers: Sequence[PaperRecord],
    number: int,
    last: Mapping[str, Any] | None,
) -> Mapping[str, Any] | None:
    """The list that was requested: with the cuts of the `last` one if papers changed since, else ranked as a
    whole."""
    if request.quota is None:
        return None
    return ranked(papers, request.quota, number) if last is None else last


def _said(setting: object) -> str:
    return "not given" if setting is None else str(setting)


def changes_since(
    past: Past,
    conference: Conference,
    truth: Truth,
    request: Request,
    *,
    others: bool = False,
    redecide: bool = False,
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
    kinds = {kind: tuple(papers) for kind, papers in found.items()}
    alike = tuple(_looked_up(past, conference, request, set(kinds["new"]), others))
    return Changes(**kinds, withdrawn=tuple(withdrawn), alike=alike, redecided=redecide)


def _looked_up(
    past: Past, conference: Conference, request: Request, papers: Collection[str], others: bool
) -> dict[str, tuple[Reference, ...]]:
    """What was decided before about the reviews of some papers, by public data alone."""
    decided = [case for case in conference.cases if case.paper in papers]
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
    if case.paper not in last:
        # First, for it is public: what is published after must not depend on whether a name was corrected.
        return "returned"
    return "reviewers" if reviewers != old.reviewers else None


def _only_more(now: Sequence[float], then: Sequence[float]) -> bool:
    """Whether scores came in and none was changed."""
    return Counter(now) > Counter(then)


def _to_decide(conference: Conference, changes: Changes) -> Conference:
    """The papers that are decided now; what was decided before gets no second coin."""
    chosen = [index for index, case in enumerate(conference.cases) if case.paper in changes.decided]
    cases = tuple(
        replace(conference.cases[index], settled=conference.cases[index].paper in changes.settled)
        for index in chosen
    )
    return replace(conference, cases=cases, raw_accept=tuple(conference.raw_accept[i] for i in chosen))


def budget_left(past: Past, request: Request, cases: Sequence[PaperCase]) -> Fraction:
    """What is left of a shared budget for these cases, in correct guesses: reviews bring their share,
    decisions used theirs."""
    reviews = {paper.paper: len(paper.reviewers) for paper in past.latest(request.conference).values()}
    reviews |= {case.paper: len(case.scores) for case in cases}
    used = sum(p.figures["added"] for ref, p in past.tossed.items() if ref[0] == request.conference)
    return Fraction(request.guarantee.added_success) * sum(reviews.values()) - Fraction(used, FINE)


def _planned(
    part: Conference, guarantee: Guarantee, frozen: float | None, planner: Planner, left: Fraction
) -> Planned:
    """Tables at the frozen price; where these would overdraw the budget, within what is left of it."""
    if not part.cases:
        return (), frozen
    plans, price = planner(part, guarantee, frozen)
    if frozen is None or sum((plan.claim.added for plan in plans), Fraction(0)) <= left:
        return plans, price
    reviews = sum(len(case.scores) for case in part.cases)
    return planner(part, replace(guarantee, added_success=downward(max(left, Fraction(0)) / reviews)), None)


def _stated(past: Past, own: Claim, earlier: Sequence[Reference], paper: tuple[str, str]) -> Claim:
    """What is claimed of a paper: of its one toss.

    A paper that was decided under this name before keeps what its first decision promised, for the scores of
    that release. One that looks like others may be one of them: the worst of both.
    """
    first = next((ref for ref in earlier if (ref[0], ref[2]) == paper), None)
    if first is not None:
        return claim_of(past.tossed[first])
    claims = [own, *(claim_of(past.tossed[ref]) for ref in earlier)]
    return replace(own, **{name: max(getattr(claim, name) for claim in claims) for name in _WORST})


_WORST = ("success", "added", "largest_rise", "epsilon", "multiplier", "largest_posterior")


def decide_paper(
    key: Key,
    request: Request,
    release: int,
    case: PaperCase,
    reviewers: tuple[str, ...],
    plan: PaperPlan,
    raw: float,
    price: float | None = None,
    accept: Number | None = None,
    earlier: tuple[Reference, ...] = (),
    stated: Claim | None = None,
) -> PaperRecord:
    """Toss the coin of one paper; `stated` is what is claimed of it, by default what its table promises."""
    public, secret = public_facts(case), true_secret(key, request, release, case, reviewers, plan.layout)
    probability = plan.policy.probability(secret)
    facts = coin_facts(request, release, case.paper, public, reviewers, accept)
    figures = {"claim": claim_json(stated or plan.claim), **figures_json(plan.figures)}
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
        # What this decision alone adds counts against a budget.
        figures={**figures, "added": int(plan.claim.added * FINE)},
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


def _record(
    ledger: Ledger,
    request: Request,
    release: int,
    reason: str,
    whole: tuple[Conference, Truth],
    papers: Sequence[PaperRecord],
    price: float | None,
    selection: Mapping[str, Any] | None,
    accept: Number | None,
    redecided: bool,
) -> Record:
    conference, truth = whole
    record = Record(
        conference=request.conference,
        release=release,
        reason=reason,
        settings=plain(request.settings),
        bar=conference.bar,
        price=price,
        commitment=commit_to(ledger.key, conference, truth, request, accept),
        papers=tuple(papers),
        fit=agreement(conference.cases, request.better).public,
        decisions="",
        certificate="",
        selection=selection,
        first_accept=accept,
        redecided=redecided,
        scores=request.scores,
    )
    return with_texts(record, ledger)


def with_texts(record: Record, ledger: Ledger) -> Record:
    """The record with the public files that follow from it, after those releases."""
    request, found = record.request, listing(record)
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
        fit=record.fit,
        commitment=record.commitment,
        key_fingerprint=ledger.fingerprint,
        release_counter=ledger.counter + 1,
    )
    return replace(record, decisions=decisions_text(record.papers, found), certificate=text)
