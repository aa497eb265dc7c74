"""Decide once: the same input returns the stored decisions, a changed one is a new, recorded release."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from blindcal.agreements import agreement
from blindcal.amendments import amended_case, history
from blindcal.coins import Key, commitment, toss
from blindcal.conferences import Conference, PaperCase, secret_of
from blindcal.errors import InputError, RefusedError
from blindcal.guarantees import Guarantee
from blindcal.plans import PaperPlan, paired
from blindcal.pools import OUTSIDER
from blindcal.records import Ledger, PaperRecord, Record, commit
from blindcal.statements import certificate_text, claim_json, claim_of, decisions_text

Truth = Mapping[str, tuple[str, ...]]
"""The true reviewers of each paper by slot: CONFIDENTIAL."""

Planner = Callable[[Conference, Guarantee, float | None], tuple[Sequence[PaperPlan], float | None]]
"""Certified tables for a conference and their price; the price is given where it is frozen."""


@dataclass(frozen=True)
class Request:
    """What the chair asked for. It is frozen with the first release: later ones may only change data."""

    guarantee: Guarantee
    conference: str = "conference"
    accept_rate: float | None = None
    bar: float | None = None
    better: str = "high"

    @property
    def settings(self) -> dict[str, Any]:
        """As it enters the coins."""
        settings = {**asdict(self.guarantee), "accept_rate": self.accept_rate, "bar": self.bar}
        return {**settings, "better": self.better}

    @classmethod
    def recorded(cls, record: Record) -> Request:
        """The request that a record was made for."""
        limits = {k: v for k, v in record.settings.items() if k not in ("accept_rate", "bar", "better")}
        rate, bar = record.settings["accept_rate"], record.settings["bar"]
        return cls(Guarantee(**limits), record.conference, rate, bar, record.settings.get("better", "high"))


@dataclass(frozen=True)
class Outcome:
    """A release and how it came about: `new`, `stored` (nothing was tossed) or `amended`."""

    record: Record
    how: str

    @property
    def certificate(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.record.certificate)
        return content


def public_facts(case: PaperCase) -> dict[str, Any]:
    """What is public about a paper, numbers as they were given."""
    pool = [
        [name, chance, *parameters]
        for name, chance, parameters in zip(case.candidates, case.inclusion, case.parameters, strict=True)
    ]
    return {"scores": list(case.scores), "grid": None if case.grid is None else list(case.grid), "pool": pool}


def coin_facts(
    request: Request,
    release: int,
    paper: str,
    public: Mapping[str, Any],
    reviewers: Sequence[str],
    bar: float,
    price: float | None,
) -> dict[str, Any]:
    """Everything that shaped a decision, and nothing else: what its coin is derived from."""
    return {
        "conference": request.conference,
        "release": release,
        "paper": paper,
        **public,
        "bar": bar,
        "settings": request.settings,
        "price": price,
        "reviewers": list(reviewers),
    }


def input_stamp(key: Key, conference: Conference, truth: Truth, request: Request) -> str:
    """What tells one input from another, whatever the order of its rows; it tells nothing without the key."""
    papers = {case.paper: [public_facts(case), list(truth[case.paper])] for case in conference.cases}
    return key.stamp("input", {"settings": request.settings, "papers": papers}).hex()


def commit_to(key: Key, conference: Conference, truth: Truth, request: Request) -> str:
    """The number that can be published before the draw: it fixes the key and the whole input."""
    return commitment(
        key, {"conference": request.conference, "input": input_stamp(key, conference, truth, request)}
    )


def decide(
    conference: Conference,
    truth: Truth,
    request: Request,
    ledger: Ledger,
    planner: Planner,
    *,
    amend: bool = False,
    reason: str = "",
) -> Outcome:
    """The decisions for this input: stored ones if it was decided before, else tossed and sealed.

    A changed input is refused unless `amend`, which decides again only the papers that changed. Nothing
    public is written here: `records.publish` does that, after the release is in the ledger.
    """
    stamp, past = input_stamp(ledger.key, conference, truth, request), ledger.of(request.conference)
    same = [release for release in past if release.input == stamp]
    if same and (same[-1] == past[-1] or not amend):
        return Outcome(ledger.record(same[-1]), "stored")
    if past:
        record = ledger.record(past[-1])
        old = _ever_decided(ledger, request.conference)
        changed = _changed(record, old, conference, truth, request)
        if not amend:
            raise RefusedError(_explain_change(record, changed, conference))
        return _amended(ledger, record, old, changed, conference, truth, request, planner, reason, stamp)
    if amend:
        raise InputError("there is no release to amend: this conference was not decided with this key")
    _refuse_other_names(ledger, conference.cases, truth, request)
    return _first(ledger, conference, truth, request, planner, stamp)


def _first(
    ledger: Ledger, conference: Conference, truth: Truth, request: Request, planner: Planner, stamp: str
) -> Outcome:
    plans, price = planner(conference, request.guarantee, None)
    papers = draw(ledger.key, conference, truth, request, plans, price)
    record = _record(ledger.key, request, 1, "", conference, truth, papers, price)
    policies = {case.paper: plan.policy for case, plan in zip(conference.cases, plans, strict=True)}
    commit(ledger, record, policies, stamp)
    return Outcome(record, "new")


def draw(
    key: Key,
    conference: Conference,
    truth: Truth,
    request: Request,
    plans: Sequence[PaperPlan],
    price: float | None,
) -> list[PaperRecord]:
    """Toss the coin of every paper for the first time."""
    return [
        _decided(key, request, 1, case, truth[case.paper], plan, raw, conference.bar, price)
        for case, plan, raw in zip(conference.cases, plans, conference.raw_accept, strict=True)
    ]


def _decided(
    key: Key,
    request: Request,
    release: int,
    case: PaperCase,
    reviewers: tuple[str, ...],
    plan: PaperPlan,
    raw: bool,
    bar: float,
    price: float | None,
    earlier: tuple[int, ...] = (),
) -> PaperRecord:
    """Toss the coin of one paper."""
    public, secret = public_facts(case), true_secret(key, request, case, reviewers)
    probability = plan.policy.probability(secret)
    facts = coin_facts(request, release, case.paper, public, reviewers, bar, price)
    return PaperRecord(
        paper=case.paper,
        release=release,
        earlier=earlier,
        public=public,
        reviewers=reviewers,
        secret=secret,
        probability=(f"{probability.numerator:x}", f"{probability.denominator:x}"),
        accepted=toss(key, facts, probability),
        raw_accepted=raw,
        weights=plan.weights,
        figures={"claim": claim_json(plan.claim), "numbers": asdict(plan.figures)},
    )


def true_secret(key: Key, request: Request, case: PaperCase, reviewers: Sequence[str]) -> int:
    """The tuple of the true reviewers. Which of two equal scores is whose has no answer: the key orders them.

    The belief counts every order of tied slots as equally likely, so that is how the truth must be drawn.
    """

    def place(slot: int) -> tuple[float, bytes]:
        who = {"conference": request.conference, "paper": case.paper, "reviewer": reviewers[slot]}
        return case.scores[slot], key.stamp("tie", who)

    order = sorted(range(len(reviewers)), key=place)
    return secret_of(case, [reviewers[slot] for slot in order])


def _refuse_other_names(ledger: Ledger, cases: Sequence[PaperCase], truth: Truth, request: Request) -> None:
    """Refuse papers that another conference of the ledger decided, whatever its settings were."""
    mine = {case.paper: case for case in cases}
    for release in ledger.releases:
        if release.conference == request.conference:
            continue
        again = [
            paper.paper
            for paper in ledger.record(release).papers
            if paper.paper in mine and _same_reviews(paper, mine[paper.paper].scores, truth[paper.paper])
        ]
        if again:
            raise RefusedError(
                f"{len(again)} of {len(mine)} papers were decided as conference {release.conference!r}: "
                "another name would toss again. Other papers that only look alike need a key of their own"
            )


def _same_reviews(paper: PaperRecord, scores: Sequence[float], reviewers: Sequence[str]) -> bool:
    """Whether these are the reviews of a record; whom its pool or the new one does not know may be anyone."""
    return list(paper.public["scores"]) == list(scores) and all(
        one == other or OUTSIDER in (one, other)
        for one, other in zip(paper.reviewers, reviewers, strict=True)
    )


def _ever_decided(ledger: Ledger, conference: str) -> dict[str, PaperRecord]:
    """The latest record of every paper of a conference, those withdrawn since included."""
    return {
        paper.paper: paper for release in ledger.of(conference) for paper in ledger.record(release).papers
    }


def _changed(
    record: Record, old: Mapping[str, PaperRecord], conference: Conference, truth: Truth, request: Request
) -> dict[str, list[str]]:
    """Papers by what happened to them since the record: new, withdrawn, public data or reviewers changed.

    One that was withdrawn and is back as it was keeps its decision.
    """
    if json.loads(json.dumps(request.settings)) != dict(record.settings):
        raise RefusedError(
            "the guarantee, its limits and the bar are frozen with the first release and cannot be changed"
        )
    last = {paper.paper for paper in record.papers}
    changed: dict[str, list[str]] = {"new": [], "public": [], "reviewers": [], "returned": []}
    for case in conference.cases:
        if case.paper not in old:
            changed["new"].append(case.paper)
        elif _plain(public_facts(case)) != old[case.paper].public:
            changed["public"].append(case.paper)
        elif truth[case.paper] != old[case.paper].reviewers:
            changed["reviewers"].append(case.paper)
        elif case.paper not in last:
            changed["returned"].append(case.paper)
    changed["withdrawn"] = sorted(last - {case.paper for case in conference.cases})
    return changed


def _explain_change(record: Record, changed: Mapping[str, Sequence[str]], conference: Conference) -> str:
    count = sum(map(len, changed.values()))
    words = {"new": "new", "public": "with other scores, pools or calibration"}
    words |= {"reviewers": "with other reviewers", "returned": "returned", "withdrawn": "withdrawn"}
    parts = ", ".join(f"{len(papers)} {words[kind]}" for kind, papers in changed.items() if papers)
    grids = [_plain(public_facts(case))["grid"] for case in conference.cases[:1]]
    if grids != [paper.public["grid"] for paper in record.papers[:1]]:
        return (
            f"the grid of scores is not that of release {record.release}, so all papers differ: "
            "give the --grid that was given then, or none if none was"
        )
    return (
        f"the input differs from release {record.release} in {count} of {len(conference.cases)} papers "
        f"({parts}). Deciding again tells more about their reviewers; to do it for these papers only, "
        "give --amend --reason and a new --out folder"
    )


def _refuse_new_ids(
    old: Mapping[str, PaperRecord], new: Sequence[str], conference: Conference, truth: Truth
) -> None:
    """A decided paper under another id would be tossed again: refuse it."""
    present = {case.paper for case in conference.cases}
    gone = [paper for name, paper in old.items() if name not in present]
    for case in conference.cases if gone else ():
        facts = _plain(public_facts(case)) if case.paper in new else None
        if any(paper.public == facts and paper.reviewers == truth[case.paper] for paper in gone):
            raise RefusedError(
                f"paper {case.paper!r} has the reviews and the pool of one that was decided and is not here "
                "any more: under another id it would be tossed again"
            )


def _amended(
    ledger: Ledger,
    record: Record,
    old: Mapping[str, PaperRecord],
    changed: Mapping[str, Sequence[str]],
    conference: Conference,
    truth: Truth,
    request: Request,
    planner: Planner,
    reason: str,
    stamp: str,
) -> Outcome:
    """Decide the changed papers again from what their earlier decisions told; everything else is frozen."""
    if not reason.strip():
        raise InputError("an amendment needs a --reason for the record")
    if conference.bar != record.bar:
        raise InputError("an amendment must be prepared with the frozen bar")
    release = record.release + 1
    again = {name for kind in ("new", "public", "reviewers") for name in changed[kind]}
    chosen = [index for index, case in enumerate(conference.cases) if case.paper in again]
    _refuse_other_names(ledger, [conference.cases[i] for i in chosen], truth, request)
    _refuse_new_ids(old, changed["new"], conference, truth)
    past = history(ledger, replace(record, papers=tuple(old.values())), again & set(old))
    cases = [
        amended_case(conference.cases[i], past.get(conference.cases[i].paper, ()), record.bar) for i in chosen
    ]
    part = replace(conference, cases=tuple(cases), raw_accept=tuple(conference.raw_accept[i] for i in chosen))
    plans, _ = planner(part, request.guarantee, record.price) if cases else ((), None)
    fresh = {}
    for case, plan, raw in zip(cases, plans, part.raw_accept, strict=True):
        before = old.get(case.paper)
        if before is not None:
            pair = paired(claim_of(before), plan.claim, plan.policy, case.paper in changed["reviewers"])
            plan = replace(plan, claim=pair)
        earlier = () if before is None else (*before.earlier, before.release)
        fresh[case.paper] = _decided(
            ledger.key,
            request,
            release,
            case,
            truth[case.paper],
            plan,
            raw,
            record.bar,
            record.price,
            earlier,
        )
    papers = [fresh.get(case.paper) or old[case.paper] for case in conference.cases]
    new = _record(ledger.key, request, release, reason, conference, truth, papers, record.price)
    policies = {case.paper: plan.policy for case, plan in zip(cases, plans, strict=True)}
    commit(ledger, new, policies, stamp)
    return Outcome(new, "amended")


def _record(
    key: Key,
    request: Request,
    release: int,
    reason: str,
    conference: Conference,
    truth: Truth,
    papers: Sequence[PaperRecord],
    price: float | None,
) -> Record:
    from blindcal import __version__

    promise = commit_to(key, conference, truth, request)
    return Record(
        conference=request.conference,
        release=release,
        reason=reason,
        version=__version__,
        settings=_plain(request.settings),
        bar=conference.bar,
        price=price,
        commitment=promise,
        papers=tuple(papers),
        decisions=decisions_text(papers),
        certificate=certificate_text(
            request.guarantee,
            request.conference,
            release,
            conference.bar,
            papers,
            promise,
            request.better,
            agreement(conference.cases, request.better),
        ),
        tables="",
    )


def _plain(content: Mapping[str, Any]) -> dict[str, Any]:
    """As it comes back from a record."""
    plain: dict[str, Any] = json.loads(json.dumps(content))
    return plain
