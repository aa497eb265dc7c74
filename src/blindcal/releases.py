"""Decide once: the same input returns the stored decisions, a changed one is a new, recorded release."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from functools import partial
from importlib.metadata import version
from typing import Any

from blindcal.agreements import agreement
from blindcal.amendments import amended_case
from blindcal.cases import PaperCase, secret_of
from blindcal.coins import Key, commitment, toss
from blindcal.conferences import Conference
from blindcal.errors import InputError, RefusedError
from blindcal.exact import ExactPolicy
from blindcal.guarantees import Guarantee
from blindcal.histories import Past, look_up, nearness, recorded_case, renamed
from blindcal.histories import Truth as Truth
from blindcal.plans import PaperPlan, paired
from blindcal.records import Ledger, PaperRecord, Record, Reference, commit
from blindcal.rounding import FINE, downward
from blindcal.statements import certificate_text, claim_json, claim_of, decisions_text

# Of what full calibration would reveal: whoever spends so much says that decisions may leak.
MOST_SPENT_UNSAID = 0.5
# Counted up whenever the same input may be planned to other tables: records of another number are compared by
# what their tables promise and cost.
PLANNER = 1
_WIRE = {
    "name": "guarantee",
    "added_success": "added_success",
    "epsilon": "epsilon",
    "multiplier": "multiplier",
    "posterior_cap": "posterior_cap",
    "never_against": "never_against",
}

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
        """As it enters the coins and the record, under names that never change."""
        limits = {wire: getattr(self.guarantee, name) for name, wire in _WIRE.items()}
        return {**limits, "accept_rate": self.accept_rate, "bar": self.bar, "better": self.better}

    @classmethod
    def recorded(cls, record: Record) -> Request:
        """The request that a record was made for."""
        limits = {name: record.settings[wire] for name, wire in _WIRE.items()}
        rate, bar = record.settings["accept_rate"], record.settings["bar"]
        return cls(Guarantee(**limits), record.conference, rate, bar, record.settings["better"])


@dataclass(frozen=True)
class Changes:
    """Which papers differ from the release before, and how; `alike` have the reviews of a paper that was
    decided under another name."""

    new: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()

    @property
    def decided(self) -> frozenset[str]:
        """The papers that get a coin."""
        return frozenset((*self.new, *self.public, *self.reviewers))


@dataclass(frozen=True)
class Outcome:
    """A release and how it came about: `new`, `stored` (nothing was tossed) or `amended`."""

    record: Record
    how: str
    changes: Changes = field(default_factory=Changes)

    @property
    def certificate(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.record.certificate)
        return content


@dataclass(frozen=True, eq=False)
class Draft:
    """A release before it is sealed: everything that follows from the input, the key and the past."""

    record: Record
    cases: tuple[PaperCase, ...]
    policies: Mapping[str, ExactPolicy]
    changes: Changes


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
    may_leak: bool = False,
) -> Outcome:
    """The decisions for this input: stored ones if it was decided before, else tossed and sealed.

    A changed input is refused unless `amend`, which decides again only the papers that changed. `may_leak` is
    the word of a chair who lets decisions reveal half or more of what full calibration would. Nothing public
    is written here: `records.publish` does that, after the release is in the ledger.
    """
    stamp, past = input_stamp(ledger.key, conference, truth, request), Past(ledger)
    releases = ledger.of(request.conference)
    same = [release for release in releases if release.input == stamp]
    if same and (same[-1] == releases[-1] or not amend):
        return Outcome(ledger.record(same[-1]), "stored")
    changes = changes_since(past, conference, truth, request)
    _refuse_unsaid(past, changes, conference, request, amend, reason)
    drafted = draft(conference, truth, request, past, planner, reason)
    _refuse_leak(drafted.record, request.guarantee, may_leak)
    commit(ledger, drafted.record, drafted.policies, stamp)
    return Outcome(drafted.record, "amended" if releases else "new", changes)


def _refuse_unsaid(
    past: Past, changes: Changes, conference: Conference, request: Request, amend: bool, reason: str
) -> None:
    """Refuse what would toss a coin again unless that is said, with a reason."""
    released = bool(past.ledger.of(request.conference))
    if not amend and released:
        raise RefusedError(_explain_change(past.of(request.conference)[-1], changes, conference))
    if not amend and changes.alike:
        raise RefusedError(
            f"{len(changes.alike)} of {len(conference.cases)} papers have reviews that were decided before "
            "with this key, under another name. Deciding them again reveals more about their reviewers; to "
            "do it, with what was revealed counted in, give --amend --reason. Other papers that only look "
            "alike need a key of their own"
        )
    fresh = [case for case in conference.cases if case.paper in set(changes.new) - set(changes.alike)]
    other = renamed(past, request.conference, fresh, nearness(conference.cases))
    if other is not None:
        raise RefusedError(
            f"these are the scores of conference {other!r}, which was decided with this key, with other "
            "reviewers' ids: under new names they would be tossed again. Give the ids that were given then, "
            "or use another key if these are other papers"
        )
    if amend and not released and not changes.alike:
        raise InputError("there is no release to amend: this conference was not decided with this key")
    if amend and not reason.strip():
        raise InputError("an amendment needs a --reason for the record")


def _refuse_leak(record: Record, guarantee: Guarantee, may_leak: bool) -> None:
    """Refuse full calibration, or what comes near to it, unless the chair says so."""
    if may_leak:
        return
    if guarantee.name == "none":
        raise InputError(
            "without a guarantee every decision may reveal who reviewed the paper: that needs --yes-leak"
        )
    share = json.loads(record.certificate)["added_share_of_full"]
    if guarantee.spends and share >= MOST_SPENT_UNSAID:
        raise InputError(
            f"this budget lets the decisions reveal {100 * share:.0f} % of what full calibration would "
            "reveal here: choose a smaller one, or say so with --yes-leak"
        )


def draft(
    conference: Conference, truth: Truth, request: Request, past: Past, planner: Planner, reason: str
) -> Draft:
    """The release that this input leads to after that past: new and changed papers are decided, knowing what
    was revealed about their reviews; the others keep their decisions, and everything else is frozen."""
    records, old = past.of(request.conference), past.latest(request.conference)
    changes, number = changes_since(past, conference, truth, request), len(records) + 1
    if records and conference.bar != records[0].bar:
        raise InputError("an amendment must be prepared with the frozen bar")
    part, before = _to_decide(conference, truth, request, past, changes)
    frozen = records[0].price if records else None
    plans, price = _planned(part, request.guarantee, frozen, planner, _left(past, request, part))
    fresh = {}
    for case, plan, raw in zip(part.cases, plans, part.raw_accept, strict=True):
        earlier = before.get(case.paper, ())
        whole = _together(past, plan, earlier, same_public_data=case.paper in changes.reviewers)
        toss_of = partial(decide_paper, past.ledger.key, request, number, case, truth[case.paper])
        spent = int(plan.claim.added * FINE)
        fresh[case.paper] = toss_of(whole, raw, conference.bar, price, earlier, spent)
    papers = [fresh.get(case.paper) or old[case.paper] for case in conference.cases]
    said, budget = (reason if records or before else ""), (frozen if records else price)
    record = _record(past.ledger, request, number, said, conference, truth, papers, budget)
    policies = {case.paper: plan.policy for case, plan in zip(part.cases, plans, strict=True)}
    return Draft(record, part.cases, policies, changes)


def changes_since(past: Past, conference: Conference, truth: Truth, request: Request) -> Changes:
    """What happened to each paper since the latest release; one that was withdrawn and is back as it was
    keeps its decision."""
    records, old = past.of(request.conference), past.latest(request.conference)
    if records and _plain(request.settings) != dict(records[0].settings):
        raise RefusedError(
            "the guarantee, its limits and the bar are frozen with the first release and cannot be changed"
        )
    last = {paper.paper for paper in records[-1].papers} if records else set()
    found: dict[str, list[str]] = {"new": [], "public": [], "reviewers": [], "returned": []}
    for case in conference.cases:
        kind = _kind_of_change(case, truth[case.paper], old.get(case.paper), last)
        if kind is not None:
            found[kind].append(case.paper)
    withdrawn = sorted(last - {case.paper for case in conference.cases})
    changes = Changes(**{kind: tuple(papers) for kind, papers in found.items()}, withdrawn=tuple(withdrawn))
    decided = [case for case in conference.cases if case.paper in changes.decided]
    again = look_up(past, request.conference, decided, truth, nearness(conference.cases))
    others = [
        paper
        for paper, refs in again.items()
        if any((ref[0], ref[2]) != (request.conference, paper) for ref in refs)
    ]
    return replace(changes, alike=tuple(others))


def _kind_of_change(
    case: PaperCase, reviewers: tuple[str, ...], old: PaperRecord | None, last: set[str]
) -> str | None:
    if old is None:
        return "new"
    if _plain(public_facts(case)) != old.public:
        return "public"
    if reviewers != old.reviewers:
        return "reviewers"
    return "returned" if case.paper not in last else None


def _to_decide(
    conference: Conference, truth: Truth, request: Request, past: Past, changes: Changes
) -> tuple[Conference, dict[str, tuple[Reference, ...]]]:
    """The papers that get a coin, with what was decided about their reviews before counted in."""
    chosen = [index for index, case in enumerate(conference.cases) if case.paper in changes.decided]
    cases = [conference.cases[index] for index in chosen]
    before = look_up(past, request.conference, cases, truth, nearness(conference.cases))
    cases = [
        amended_case(case, past.decisions(before.get(case.paper, ()), request.conference, case.paper))
        for case in cases
    ]
    raw = tuple(conference.raw_accept[index] for index in chosen)
    return replace(conference, cases=tuple(cases), raw_accept=raw), before


def _left(past: Past, request: Request, part: Conference) -> Fraction | None:
    """What is left of a shared budget, in right guesses: reviews bring their share, decisions used theirs.

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
    public, secret = public_facts(case), true_secret(key, request, release, case, reviewers)
    probability = plan.policy.probability(secret)
    facts = coin_facts(request, release, case.paper, public, reviewers, bar, price)
    return PaperRecord(
        paper=case.paper,
        release=release,
        earlier=earlier,
        price=price,
        public=_plain(public),
        reviewers=reviewers,
        secret=secret,
        probability=(f"{probability.numerator:x}", f"{probability.denominator:x}"),
        accepted=toss(key, facts, probability),
        raw_accepted=raw,
        weights=plan.weights,
        figures={"claim": claim_json(plan.claim), "numbers": asdict(plan.figures), "added": added},
    )


def true_secret(key: Key, request: Request, release: int, case: PaperCase, reviewers: Sequence[str]) -> int:
    """The tuple of the true reviewers. Which of two equal scores is whose has no answer: the key orders them.

    The belief counts every order of tied slots as equally likely, so that is how the truth must be drawn, and
    anew for each release: decisions on one paper are tossed independently.
    """

    def place(slot: int) -> tuple[float, bytes]:
        who = {
            "conference": request.conference,
            "release": release,
            "paper": case.paper,
            "reviewer": reviewers[slot],
        }
        if again := list(reviewers[:slot]).count(reviewers[slot]):
            # Two who are not listed are two people: every order of a tie stays equally likely.
            who["again"] = again
        return case.scores[slot], key.stamp("tie", who)

    order = sorted(range(len(reviewers)), key=place)
    return secret_of(case, [reviewers[slot] for slot in order])


def _explain_change(record: Record, changes: Changes, conference: Conference) -> str:
    words = {"new": "new", "public": "with other scores, pools or calibration"}
    words |= {"reviewers": "with other reviewers", "returned": "returned", "withdrawn": "withdrawn"}
    parts = [(len(getattr(changes, kind)), word) for kind, word in words.items()]
    told = ", ".join(f"{count} {word}" for count, word in parts if count)
    grids = [_plain(public_facts(case))["grid"] for case in conference.cases[:1]]
    if grids != [paper.public["grid"] for paper in record.papers[:1]]:
        return (
            f"the grid of scores is not that of release {record.release}, so all papers differ: "
            "give the grid that was given then, or none if none was"
        )
    return (
        f"the input differs from release {record.release} in {sum(count for count, _ in parts)} of "
        f"{len(conference.cases)} papers ({told}). Deciding again reveals more about their reviewers; to do "
        "it for these papers only, give --amend --reason and a new --out folder"
    )


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
) -> Record:
    record = Record(
        conference=request.conference,
        release=release,
        reason=reason,
        made_with=made_with(),
        settings=_plain(request.settings),
        bar=conference.bar,
        price=price,
        commitment=commit_to(ledger.key, conference, truth, request),
        papers=tuple(papers),
        decisions="",
        certificate="",
    )
    return with_texts(record, ledger)


def with_texts(record: Record, ledger: Ledger) -> Record:
    """The record with the public files that follow from it, after those releases."""
    request = Request.recorded(record)
    cases = [recorded_case(paper, record.bar) for paper in record.papers]
    text = certificate_text(
        request.guarantee,
        record.conference,
        record.release,
        record.bar,
        record.papers,
        better=request.better,
        fit=agreement(cases, request.better),
        commitment=record.commitment,
        key_fingerprint=ledger.fingerprint,
        release_counter=ledger.counter + 1,
    )
    return replace(record, decisions=decisions_text(record.papers), certificate=text)


def _plain(content: Mapping[str, Any]) -> dict[str, Any]:
    """As it comes back from a record."""
    plain: dict[str, Any] = json.loads(json.dumps(content))
    return plain
