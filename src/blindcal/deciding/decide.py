"""Deciding a conference once: decisions are drawn, recorded beside the key, and then published.

`draft` is pure: everything that follows from the input, the key and the ledger. `release` commits a draft,
and `decide` reads files and publishes; `verify` makes the same draft again, and there is no other way to a
release. A decision stands once it is published, because a second draw about the same reviews would reveal
more. So only new papers get a coin. A paper whose scores changed is decided from its new public data alone,
and corrected pools, calibration or names leave a decision as it is. If a number of papers was requested, the
private decisions are ranked into a final list (`lists`).

The same input always returns the stored decisions; a changed input is refused, or recorded as a new release.
A killed run resumes by itself: coins follow from key and input, the record is written before anything public,
and public files that are missing are written again from the record.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from blindcal.certify.claims import Claim
from blindcal.certify.exact import PolicyTables
from blindcal.compute.parallel import Progress, Workers, no_progress
from blindcal.deciding.amend import (
    Changes,
    changes_since,
    recorded_truth,
    refuse_unannounced,
    renamed_reviewers,
)
from blindcal.deciding.certificate import certificate_text, claim_json, claim_of, decisions_text, figures_json
from blindcal.deciding.key import (
    Key,
    as_recorded,
    coin_facts,
    draw,
    input_commitment,
    input_stamp,
    public_facts,
    read_key,
    uniform,
)
from blindcal.deciding.ledger import Ledger, commit, ledger_folder, open_ledger, read_ledger, record_name
from blindcal.deciding.lists import listing, ranked
from blindcal.deciding.paths import check_apart, check_paths, check_reviews_apart, check_writable
from blindcal.deciding.publish import (
    all_published,
    check_published,
    check_vacant,
    finish_interrupted,
    publish,
    published_in,
    release_folder,
)
from blindcal.deciding.record import PaperRecord, Record, Reference
from blindcal.deciding.resemblance import refuse_drawn_again, refuse_duplicates
from blindcal.errors import InputError, RefusedError
from blindcal.io.atomic_files import CERTIFICATE, remove_stale_files
from blindcal.io.cells import count
from blindcal.io.tables import StrPath, data_frame
from blindcal.planning.calibration_check import check_calibration
from blindcal.planning.conference_plan import PaperPlan, checked_fit, plan_conference
from blindcal.planning.remarks import input_remarks, plan_remarks
from blindcal.planning.request import Request, check_types
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import Case, Conference, TrueReviewers
from blindcal.posterior.inputs import Inputs
from blindcal.posterior.large_pools import TableLayout
from blindcal.posterior.paper import PaperCase, secret_of
from blindcal.posterior.this_year_evidence import LevelCase, evidence
from blindcal.posterior.this_year_inputs import ThisYearInputs, model_json

# What a claim says of the scores alone, and of how its table was made; all else is about what was decided.
_BEFORE_DECIDING = {"reviews", "named_scores_only", "largest_posterior_scores_only", "mixed"}
Planner = Callable[[Conference, Guarantee], Sequence[PaperPlan]]
"""A function of conference and guarantee that plans the certified tables."""


@dataclass(frozen=True, eq=False)
class Draft:
    """A release before it is committed: everything that follows from the input, the key and the ledger."""

    record: Record
    policies: PolicyTables
    # The stamp of the whole input, which enters every coin if evidence on a paper depends on all reviews
    rows: str | None


def draft(
    conference: Conference,
    truth: TrueReviewers,
    request: Request,
    past: Ledger,
    planner: Planner,
    reason: str,
    *,
    changes: Changes | None = None,
    stamp: str | None = None,
    given: Mapping[str, int] | None = None,
) -> Draft:
    """The release that follows from this input and the earlier releases.

    New papers get a coin. Papers whose scores changed are decided from their new public data alone, which
    reveals nothing further. All others keep their decisions, and everything else is frozen. `changes` since
    the latest release and the `stamp` of the input are computed unless they are known already. `given`:
    evidence that another method made.
    """
    records, old = past.records, past.latest
    changes = changes or changes_since(past, conference, truth, request)
    number = len(records) + 1
    if records and conference.bar != records[0].bar:
        raise InputError("an amendment must be prepared with the frozen bar")
    if records and conference.model != records[0].level_model:
        raise InputError("an amendment must be prepared with the frozen moments of the scores")
    part, recorded = _to_decide(conference, changes), recorded_truth(past, truth, changes)
    key = past.key
    stamp = stamp or input_stamp(key, conference, recorded, request, given)
    rows, levels = None, dict[str, int]()
    if conference.model is not None:
        rows, levels = stamp, dict(given or evidence(conference.graded, recorded))
    if given is not None:
        _refuse_other_evidence(old, changes, given)
    plans, fresh = planner(part, request.guarantee) if part.cases else (), {}
    for case, plan, raw in zip(part.cases, plans, part.raw_accept, strict=True):
        paper, earlier = case.paper, changes.earlier.get(case.paper, ())
        claim, level = _claim_of_paper(past, plan.claim, earlier, paper), levels.get(paper)
        fresh[paper] = decide_paper(
            key, request, number, case, truth[paper], plan, raw, earlier, claim, level, rows
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
        commitment=input_commitment(key, request.conference, stamp),
        papers=tuple(papers),
        fit={} if fit is None else fit.public,
        decisions="",
        certificate="",
        selection=selection,
        scores=request.scores,
        publishes=request.release,
        model=None if conference.model is None else model_json(conference.model),
    )
    policies = PolicyTables({case.paper: plan.packed for case, plan in zip(part.cases, plans, strict=True)})
    return Draft(with_texts(record, past.key), policies, rows)


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
    chosen = [
        (replace(case, settled=case.paper in changes.settled), raw)
        for case, raw in zip(conference.cases, conference.raw_accept, strict=True)
        if case.paper in changes.decided
    ]
    return replace(
        conference, cases=tuple(case for case, _ in chosen), raw_accept=tuple(raw for _, raw in chosen)
    )


def _standing_decision(paper: PaperRecord, case: Case) -> PaperRecord:
    """A paper whose decision stands, with today's public data: pools or calibration may be corrected."""
    public = public_facts(case)
    return replace(paper, public=public, corrected=paper.corrected or public != paper.public)


def _claim_of_paper(past: Ledger, own: Claim, earlier: Sequence[Reference], paper: str) -> Claim:
    """The claim about a paper, which is about its one draw.

    A paper that was decided before under this name keeps the claim of its first decision, for the scores of
    that release. A paper that looks like others may be one of them, and gets the worst of their claims.
    """
    first = next((ref for ref in earlier if ref[1] == paper), None)
    if first is not None:
        return claim_of(past.tossed[first])
    claims = [own, *(claim_of(past.tossed[ref]) for ref in earlier)]
    names = {claimed.name for claimed in fields(Claim)} - _BEFORE_DECIDING
    return replace(own, **{name: max(getattr(claim, name) for claim in claims) for name in names})


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
    level: int | None = None,
    rows: str | None = None,
) -> PaperRecord:
    """Draws the coin of one paper; `stated` is its claim, by default that of its table.

    If the paper is decided by its evidence, `level` is the true one, and `rows` the stamp of all reviews.
    """
    public = public_facts(case)
    if isinstance(case, PaperCase):
        level = true_secret(key, request, release, case, reviewers, plan.layout)
    if level is None:
        raise ValueError("a paper that is decided by its evidence needs it")
    probability = plan.policy.probability(level)
    facts = coin_facts(request, release, case.paper, public, reviewers, rows)
    return PaperRecord(
        paper=case.paper,
        release=release,
        earlier=earlier,
        public=public,
        reviewers=reviewers,
        secret=level,
        probability=(f"{probability.numerator:x}", f"{probability.denominator:x}"),
        accepted=draw(key, facts, probability),
        raw_accepted=raw,
        figures={"claim": claim_json(stated or plan.claim), **figures_json(plan.figures)},
    )


def true_secret(
    key: Key,
    request: Request,
    release: int,
    case: PaperCase,
    reviewers: Sequence[str],
    layout: TableLayout | None = None,
) -> int:
    """The index in the table of the true reviewers' tuple.

    Nothing says which of two equal scores is whose, and the belief counts every order of tied slots as
    equally likely. So the key draws the order, anew for each release, because decisions on one paper must be
    independent. In a large pool the key also draws the rounding of reviewers who lie between two steps.
    """

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


def with_texts(record: Record, key: Key) -> Record:
    """The record with the texts of its public files."""
    final_list = listing(record)
    text = certificate_text(record, final_list, key.fingerprint)
    return replace(record, decisions=decisions_text(record.papers, final_list), certificate=text)


@dataclass(frozen=True)
class Outcome:
    """A release, and how it came about.

    Attributes:
        record: The confidential record.
        how: "new", "stored" (nothing was drawn) or "amended".
        changes: The papers that differ from the release before; empty for a first release.
        remarks: Remarks for the chair, in words.
    """

    record: Record
    how: str
    changes: Changes = field(default_factory=Changes)
    remarks: tuple[str, ...] = ()

    def to_frame(self) -> Any:
        """The public table, one row per paper, as a pandas data frame; needs pandas."""
        tables = [text for name, text in self.record.published.items() if name != CERTIFICATE]
        if not tables:
            raise RefusedError("advice about papers with confidential scores is in the private log alone")
        names, *rows = csv.reader(tables[0].splitlines())
        return data_frame(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))

    @property
    def certificate(self) -> dict[str, Any]:
        """The public certificate, as it was published."""
        content: dict[str, Any] = json.loads(self.record.published[CERTIFICATE])
        return content

    @property
    def full_certificate(self) -> dict[str, Any]:
        """The certificate with every figure: CONFIDENTIAL if scores are, else the public one."""
        content: dict[str, Any] = json.loads(self.record.certificate)
        return content


def decide(
    inputs: Inputs | ThisYearInputs,
    request: Request,
    key: StrPath,
    out: StrPath,
    *,
    numbered: bool = False,
    published: StrPath | Sequence[StrPath] = (),
    amend: bool = False,
    reason: str = "",
    yes_leak: bool = False,
    despite_misfit: bool = False,
    distinct_papers: bool = False,
    workers: Workers = 1,
    progress: Progress = no_progress,
) -> Outcome:
    """Decides every paper once, records the release beside the key, and publishes it.

    The folder `out` gets `decisions.csv` and `certificate.json`. The same input always returns the stored
    decisions. If scores are confidential, nothing in `out` depends on them except the decisions. If the
    request is for advice, `out` gets `advice.csv` in place of decisions, and no table if scores are
    confidential.

    Args:
        inputs: The inputs of the conference, from `read_inputs`.
        request: The guarantee, and how many papers to accept.
        key: The file that `make_key` made; it and the ledger beside it must never be shared.
        out: The folder to publish; it may hold this release already, but no other.
        numbered: Whether each release has a folder of its own in `out`: `release-1`, `release-2`.
        published: One or several folders that were published with this key, to check key and ledger against;
            a folder may hold all releases.
        amend: Accept a changed input, which is refused otherwise. New papers are decided, papers whose scores
            changed are decided again from their public data alone, and all other decisions stand.
        reason: The reason for the amendment, for the record.
        yes_leak: The chair's consent to decisions without a guarantee.
        despite_misfit: Decide even if the calibration does not fit the scores at all.
        distinct_papers: The chair's word that papers with the same reviewers, and the same score from each,
            are different papers, as with a jury, and so are many new papers that resemble decided ones;
            otherwise they are refused as papers under other ids.
        workers: Number of processes, or a cluster's pool; results are the same.
        progress: Called as work goes on; silent by default.

    Raises:
        InputError: If an argument or a file is wrong.
        RefusedError: If a decision would be drawn again, or a published result overwritten.

    Example:
        >>> from blindcal import Guarantee, make_key
        >>> from blindcal.posterior.inputs import example_inputs
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> folder = TemporaryDirectory()
        >>> inputs = example_inputs()
        >>> key, out = Path(folder.name) / "key.bin", Path(folder.name) / "out"
        >>> _ = make_key(key)
        >>> outcome = decide(inputs, Request(Guarantee("steady"), accept_rate=0.5), key, out)
        >>> outcome.how, sorted(path.name for path in out.iterdir())
        ('new', ['certificate.json', 'decisions.csv'])
        >>> outcome.certificate["largest_rise"]
        0.0
        >>> decide(inputs, Request(Guarantee("steady"), accept_rate=0.5), key, out).how
        'stored'
        >>> folder.cleanup()
    """
    if reason.strip() and not amend:
        raise InputError("`reason` goes with `amend`: without it nothing is decided again")
    check_types(inputs, request)
    check_paths(key=key, out=out)
    request, key, out = request.for_inputs(inputs), Path(key), Path(out)
    check_reviews_apart(inputs.sources.reviews, out)
    secret = _checked_key(key, out)
    # Certificates are read before the ledger: the ledger can only grow in between, so no certificate of a
    # concurrent run can seem to be missing from it.
    certificates = [*all_published(published), *published_in(out, numbered)]
    ledger = read_ledger(key, secret)
    check_published(ledger, certificates)
    refuse_other_conference(ledger, request.conference)
    frozen = dict[str, Any]()
    if not distinct_papers:
        refuse_duplicates(inputs.reviews, ledger.latest)
    if ledger.releases:
        inputs, frozen = inputs.on_grid(ledger.records[-1].grid), ledger.records[-1].frozen
    conference, truth = request.prepared(inputs, **frozen, workers=workers, progress=progress)
    if not distinct_papers:
        refuse_drawn_again(ledger, conference, truth.reviewers)
    # A conference that was decided once can be returned and corrected even if its calibration does not fit.
    fit = checked_fit(conference, request.better, despite_misfit=despite_misfit or bool(frozen))
    papers = len(conference.cases)
    with (
        _saying_what_was_decided(key, len(ledger.releases) + 1),
        open_ledger(key, secret) as ledger,
        progress(f"deciding {count(papers, 'paper')}", papers) as advance,
    ):
        kept = partial(for_the_draw, truth.reviewers)
        outcome = release(
            conference,
            truth.reviewers,
            request,
            ledger,
            partial(plan_conference, workers=workers, advance=advance, kept=kept),
            given=truth.given,
            amend=amend,
            reason=reason,
            yes_leak=yes_leak,
            vacant=release_folder(out, len(ledger.releases) + 1, numbered),
        )
        publish(outcome.record, release_folder(out, outcome.record.release, numbered))
        completed = finish_interrupted(ledger, out) if numbered else ()
    stated = outcome.full_certificate
    remarks = (
        *completed,
        *_superseded(outcome, len(ledger.releases)),
        *outcome.remarks,
        *input_remarks(inputs, conference, request),
        *(() if fit is None else fit.notes),
        # What this year's evidence gains is a range, and names nobody: there is nothing to remark on.
        *(plan_remarks(stated, request.guarantee.never_against) if "success" in stated else ()),
    )
    return replace(outcome, remarks=remarks)


@contextmanager
def _saying_what_was_decided(key: Path, number: int) -> Iterator[None]:
    """Adds to an error of the system, such as a full disk, whether the release of this number was made."""
    try:
        yield
    except OSError as error:
        log = ledger_folder(key)
        recorded = os.path.lexists(log / record_name(number))
        what = "nothing was decided"
        if recorded:
            what = "the decisions are recorded: the same command publishes them, without another draw"
        raise OSError(error.errno, f"{error.strerror}; {what}", error.filename or os.fspath(log)) from error


def for_the_draw(truth: TrueReviewers, case: Case, plan: PaperPlan) -> PaperPlan:
    """What the draw needs of a plan: where the true reviewers are in a large table, and nobody else."""
    if plan.packed_layout is None or isinstance(case, LevelCase):
        return plan
    number_of = {name: index for index, name in enumerate(case.candidates)}
    own = tuple(sorted({number_of[name] for name in truth[case.paper] if name in number_of}))
    return replace(plan, packed_layout=plan.packed_layout.of(own))


def _checked_key(path: Path, out: Path) -> Key:
    """The key, after checking that it and its ledger lie apart from the public folder."""
    check_apart(path, out)
    check_writable(out)
    sealed = ledger_folder(path)
    if not path.exists():
        if sealed.exists():
            raise RefusedError(
                f"{sealed} holds decisions of a missing key, {path}: restore the key from its "
                "backup; a new one would draw again"
            )
        raise InputError(
            f"there is no key {path}. If these papers were never decided, make one with "
            "`blindcal new` or `blindcal.make_key`. "
            "If they were, give the key they were decided with: another one would draw again"
        )
    for folder in (path.parent, out):
        remove_stale_files(folder)
    return read_key(path)


def refuse_other_conference(ledger: Ledger, conference: str) -> None:
    """Refuses a second conference: under another name, papers would be drawn again."""
    decided = {release.conference for release in ledger.releases} - {conference}
    if decided:
        raise RefusedError(
            f"this key decided conference {decided.pop()!r}, and `conference` is {conference!r}: "
            "give that name if these are its papers; another conference needs a key of its own, as "
            "`blindcal new` makes it"
        )


def first_of_key(outcome: Outcome) -> str | None:
    """A remark after the first release of a key: from now on, older copies of the key must not decide."""
    if outcome.how != "new" or outcome.record.release != 1:
        return None
    return (
        "decide only with this key and this private log from now on: an older copy does not know this "
        "release, and would draw again"
    )


def _superseded(outcome: Outcome, releases: int) -> list[str]:
    """A remark if stored decisions are not the latest, because old reviews lead to old decisions."""
    number = outcome.record.release
    if outcome.how != "stored" or number == releases:
        return []
    return [
        f"this input is that of release {number}, and so are these decisions: release {releases} came after "
        "it and replaced it. To decide by this input again, give `amend` `reason`"
    ]


def release(
    conference: Conference,
    truth: TrueReviewers,
    request: Request,
    ledger: Ledger,
    planner: Planner,
    *,
    given: Mapping[str, int] | None = None,
    amend: bool = False,
    reason: str = "",
    yes_leak: bool = False,
    vacant: Path | None = None,
) -> Outcome:
    """The decisions for this input: the stored ones if it was decided before, else drawn and recorded.

    A changed input is refused unless `amend`: then new papers are drawn, and papers whose scores changed are
    decided from public data. Corrected names of reviewers change nothing: the stored decisions are returned.
    Nothing public is written here; `publish` does that after the release is in the ledger. A folder
    that must be `vacant` for a new release is checked before anything is drawn.
    """
    releases = ledger.releases
    refuse_other_conference(ledger, request.conference)
    changes = changes_since(ledger, conference, truth, request)
    stamp = input_stamp(ledger.key, conference, recorded_truth(ledger, truth, changes), request, given)
    same = [release for release in releases if release.input == stamp]
    if same and (not amend or (same[-1] == releases[-1] and not changes.decided)):
        return Outcome(ledger.record(same[-1].number), "stored", remarks=renamed_reviewers(changes))
    refuse_unannounced(ledger, changes, conference, amend, reason)
    if vacant is not None:
        check_vacant(vacant, None)
    if not releases and request.guarantee.name == "none" and not yes_leak:
        raise InputError(
            "without a guarantee every decision may reveal who reviewed the paper: that needs `yes_leak`"
        )
    why = reason if amend else ""
    made = draft(conference, truth, request, ledger, planner, why, changes=changes, stamp=stamp, given=given)
    commit(ledger, made.record, made.policies, stamp)
    return Outcome(made.record, "amended" if releases else "new", changes)
