"""The draft of a release: the papers that are decided now, and everything that follows from their decisions.

`decide` commits a draft to the ledger, and `verify` makes the same draft again; there is no other way to a
release. A decision stands once it is published, because a second draw about the same reviews would reveal
more. So only new papers get a coin. A paper whose scores changed is decided from its new public data alone,
and corrected pools, calibration or names leave a decision as it is.

If a number of papers was requested, the private decisions are ranked into a final list (`lists`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from blindcal.certify.claims import Claim
from blindcal.certify.exact import PolicyTables
from blindcal.deciding.amend import Changes, PriorDecisions, changes_since, recorded_truth
from blindcal.deciding.certificate_file import (
    certificate_text,
    claim_json,
    claim_of,
    decisions_text,
    figures_json,
)
from blindcal.deciding.key_and_coins import (
    Key,
    as_recorded,
    coin_facts,
    commitment_to_input,
    draw,
    input_stamp,
    public_facts,
    uniform,
)
from blindcal.deciding.ledger import Ledger, PaperRecord, Record, Reference
from blindcal.deciding.lists import listing, ranked
from blindcal.errors import InputError, RefusedError
from blindcal.io.cells import count
from blindcal.planning.calibration_check import check_calibration
from blindcal.planning.conference_plan import PaperPlan
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import Case, Conference, TrueReviewers
from blindcal.posterior.large_pools import TableLayout
from blindcal.posterior.levels import LevelCase, evidence
from blindcal.posterior.paper import secret_of
from blindcal.posterior.this_year import model_json

_WORST_CLAIMS = (
    "named",
    "newly_named",
    "largest_rise",
    "epsilon",
    "multiplier",
    "largest_posterior",
    "largest_posterior_named",
    "largest_posterior_paper",
    "largest_factor",
)
PlannedTables = Sequence[PaperPlan]
"""The certified tables of a conference."""
Planner = Callable[[Conference, Guarantee], PlannedTables]
"""A function of conference and guarantee that plans the tables."""


def as_planned(_: Conference, planned: PlannedTables) -> PlannedTables:
    """The planned tables, unchanged."""
    return planned


@dataclass(frozen=True, eq=False)
class Draft:
    """A release before it is committed: everything that follows from the input, the key and the ledger."""

    record: Record
    cases: tuple[Case, ...]
    policies: PolicyTables
    changes: Changes
    evidence: LevelEvidence | None = None


@dataclass(frozen=True)
class LevelEvidence:
    """The evidence of a release whose papers are decided by it. CONFIDENTIAL."""

    levels: Mapping[str, int]  # the level of each paper
    rows: str  # the stamp of the whole input, which enters every coin


def draft(
    conference: Conference,
    truth: TrueReviewers,
    request: Request,
    past: PriorDecisions,
    planner: Planner,
    reason: str,
    *,
    changes: Changes | None = None,
    given: Mapping[str, int] | None = None,
    replayed: Callable[[Conference, PlannedTables], PlannedTables] = as_planned,
) -> Draft:
    """The release that follows from this input and the earlier releases.

    New papers get a coin. Papers whose scores changed are decided from their new public data alone, which
    reveals nothing further. All others keep their decisions, and everything else is frozen. `changes` are
    those since the latest release, if they are known already. `given`: evidence that another method made. To
    verify a release, `replayed` substitutes the recorded tables for the planned ones.
    """
    records, old = past.records, past.latest
    changes = changes or changes_since(past, conference, truth, request)
    number = len(records) + 1
    if records and conference.bar != records[0].bar:
        raise InputError("an amendment must be prepared with the frozen bar")
    if records and conference.model != records[0].level_model:
        raise InputError("an amendment must be prepared with the frozen moments of the scores")
    part, recorded = _to_decide(conference, changes), recorded_truth(past, truth, changes)
    levels = _level_evidence(past.ledger.key, conference, recorded, request, given)
    if given is not None:
        _refuse_other_evidence(old, changes, given)
    plans = replayed(part, planner(part, request.guarantee) if part.cases else ())
    fresh = {}
    for case, plan, raw in zip(part.cases, plans, part.raw_accept, strict=True):
        earlier, reviewers = changes.earlier.get(case.paper, ()), truth[case.paper]
        claim = _claim_of_paper(past, plan.claim, earlier, case.paper)
        fresh[case.paper] = decide_paper(
            past.ledger.key, request, number, case, reviewers, plan, raw, earlier, claim, levels
        )
    papers = [fresh.get(case.paper) or _standing_decision(old[case.paper], case) for case in conference.cases]
    selection = None
    if request.quota is not None:
        selection = records[-1].selection if records else ranked(papers, request.quota)
    fit = None if conference.model is not None else check_calibration(conference.pooled, request.better)
    record = Record(
        conference=request.conference,
        release=number,
        reason=reason if records else "",
        settings=as_recorded(request.settings),
        bar=conference.bar,
        commitment=commitment_to_input(past.ledger.key, conference, recorded, request, given),
        papers=tuple(papers),
        fit={} if fit is None else fit.public,
        decisions="",
        certificate="",
        selection=selection,
        scores=request.scores,
        model=None if conference.model is None else model_json(conference.model),
    )
    policies = PolicyTables({case.paper: plan.packed for case, plan in zip(part.cases, plans, strict=True)})
    return Draft(with_texts(record, past.ledger), part.cases, policies, changes, levels)


def _level_evidence(
    key: Key,
    conference: Conference,
    recorded: TrueReviewers,
    request: Request,
    given: Mapping[str, int] | None,
) -> LevelEvidence | None:
    """The evidence of a conference that is decided by it, from its reviewers as they are recorded."""
    if conference.model is None:
        return None
    levels = evidence(conference.graded, recorded) if given is None else given
    return LevelEvidence(levels, input_stamp(key, conference, recorded, request, given))


def _refuse_other_evidence(
    old: Mapping[str, PaperRecord], changes: Changes, given: Mapping[str, int]
) -> None:
    """Refuse evidence that differs for papers whose decision stands: it would show in later draws."""
    standing = given.keys() & (old.keys() - changes.decided)
    if other := sum(given[paper] != old[paper].secret for paper in standing):
        raise RefusedError(
            f"the evidence about {count(other, 'paper')} is not that of earlier releases: an amendment "
            "brings evidence about new papers, and leaves all other rows as they were"
        )


def _to_decide(conference: Conference, changes: Changes) -> Conference:
    """The part of the conference that is decided now."""
    chosen = [index for index, case in enumerate(conference.cases) if case.paper in changes.decided]
    cases = tuple(
        replace(conference.cases[index], settled=conference.cases[index].paper in changes.settled)
        for index in chosen
    )
    return replace(conference, cases=cases, raw_accept=tuple(conference.raw_accept[i] for i in chosen))


def _standing_decision(paper: PaperRecord, case: Case) -> PaperRecord:
    """A paper whose decision stands, with today's public data: pools or calibration may be corrected."""
    public = public_facts(case)
    return replace(paper, public=public, corrected=paper.corrected or public != paper.public)


def _claim_of_paper(past: PriorDecisions, own: Claim, earlier: Sequence[Reference], paper: str) -> Claim:
    """The claim about a paper, which is about its one draw.

    A paper that was decided before under this name keeps the claim of its first decision, for the scores of
    that release. A paper that looks like others may be one of them, and gets the worst of their claims.
    """
    first = next((ref for ref in earlier if ref[1] == paper), None)
    if first is not None:
        return claim_of(past.tossed[first])
    claims = [own, *(claim_of(past.tossed[ref]) for ref in earlier)]
    return replace(own, **{name: max(getattr(claim, name) for claim in claims) for name in _WORST_CLAIMS})


def decide_paper(
    key: Key,
    request: Request,
    release: int,
    case: Case,
    reviewers: tuple[str, ...],
    plan: PaperPlan,
    raw: float,
    earlier: tuple[Reference, ...] = (),
    stated: Claim | None = None,
    levels: LevelEvidence | None = None,
) -> PaperRecord:
    """Draws the coin of one paper; `stated` is its claim, by default that of its table."""
    public = public_facts(case)
    secret = true_secret(key, request, release, case, reviewers, plan.layout, levels)
    probability = plan.policy.probability(secret)
    rows = None if levels is None else levels.rows
    facts = coin_facts(request, release, case.paper, public, reviewers, rows)
    return PaperRecord(
        paper=case.paper,
        release=release,
        earlier=earlier,
        public=public,
        reviewers=reviewers,
        secret=secret,
        probability=(f"{probability.numerator:x}", f"{probability.denominator:x}"),
        accepted=draw(key, facts, probability),
        raw_accepted=raw,
        figures={"claim": claim_json(stated or plan.claim), **figures_json(plan.figures)},
    )


def true_secret(
    key: Key,
    request: Request,
    release: int,
    case: Case,
    reviewers: Sequence[str],
    layout: TableLayout | None = None,
    levels: LevelEvidence | None = None,
) -> int:
    """The index in the table of the true reviewers' tuple, or of the true level of evidence.

    Nothing says which of two equal scores is whose, and the belief counts every order of tied slots as
    equally likely. So the key draws the order, anew for each release, because decisions on one paper must be
    independent. In a large pool the key also draws the rounding of reviewers who lie between two steps.
    """
    if isinstance(case, LevelCase):
        if levels is None:
            raise ValueError("a paper that is decided by its evidence needs it")
        return levels.levels[case.paper]

    def drawn(slot: int, purpose: str) -> bytes:
        who = {
            "conference": request.conference,
            "release": release,
            "paper": case.paper,
            "reviewer": reviewers[slot],
        }
        if again := list(reviewers[:slot]).count(reviewers[slot]):
            # Two outsiders are two people, so they need two stamps: every order of a tie stays equally
            # likely.
            who["again"] = again
        return key.stamp(purpose, who)

    order = sorted(range(len(reviewers)), key=lambda slot: (case.scores[slot], drawn(slot, "tie")))
    chance = [uniform(drawn(slot, "step")) for slot in order]
    promised = case.promised(request.guarantee.promise)
    return secret_of(promised, [reviewers[slot] for slot in order], chance, layout)


def with_texts(record: Record, ledger: Ledger) -> Record:
    """The record with the texts of its public files."""
    final_list = listing(record)
    text = certificate_text(record, final_list, ledger.fingerprint)
    return replace(record, decisions=decisions_text(record.papers, final_list), certificate=text)
