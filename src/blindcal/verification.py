"""A confidential audit of a release: with the key, everything is derived again and compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from blindcal.agreements import agreement
from blindcal.amendments import AmendedCase, Earlier, amended_case, history, recorded_case
from blindcal.cases import SettledCase
from blindcal.certificates import Claim, claim, keeps
from blindcal.coins import Key, toss
from blindcal.conferences import Conference
from blindcal.errors import InputError, VerificationError
from blindcal.guarantees import Guarantee
from blindcal.plans import at_most, paired, weights_digest
from blindcal.records import Ledger, PaperRecord, Record, Release
from blindcal.releases import Request, Truth, coin_facts, commit_to, input_stamp, public_facts, true_secret
from blindcal.statements import certificate_text, claim_of, decisions_text, probability_of

# Another machine may round a weight differently; its claims then agree to this much.
_CLOSE = 1e-9


@dataclass(frozen=True)
class Check:
    """One thing that was derived again: how many items, how many did not agree, and what that means."""

    name: str
    items: int
    failed: int
    note: str = ""


def verify(
    conference: Conference, truth: Truth, request: Request, ledger: Ledger, out: Path | None = None
) -> list[Check]:
    """Every check of the latest release of a conference; `report` raises if one failed."""
    past = ledger.of(request.conference)
    if not past:
        raise InputError(f"conference {request.conference!r} was never decided with this key")
    record = ledger.record(past[-1])
    decided = history(ledger, record, {paper.paper for paper in record.papers})
    checks = [
        *_input(conference, truth, request, ledger, past[-1], record),
        _coins(ledger, request, record),
        _tables(ledger.key, request, record, decided),
        *_claims(request, record, decided),
        _texts(request, record),
    ]
    return checks if out is None else [*checks, _files(record, out)]


def report(checks: Sequence[Check]) -> None:
    """Raise a `VerificationError` that names the checks that failed; papers are counted, never named."""
    failed = [
        f"{check.name}: {check.failed} of {check.items} do not agree" for check in checks if check.failed
    ]
    if failed:
        raise VerificationError("verification failed. " + "; ".join(failed))


def _input(
    conference: Conference, truth: Truth, request: Request, ledger: Ledger, release: Release, record: Record
) -> list[Check]:
    same = input_stamp(ledger.key, conference, truth, request) == release.input
    promised = commit_to(ledger.key, conference, truth, request) == record.commitment
    return [
        Check("input is the one that was decided", 1, int(not same)),
        Check("commitment", 1, int(not promised)),
    ]


def _coins(ledger: Ledger, request: Request, record: Record) -> Check:
    """Each decision is the one its coin gives under the recorded probability."""

    def wrong(paper: PaperRecord) -> bool:
        facts = coin_facts(
            request, paper.release, paper.paper, paper.public, paper.reviewers, record.bar, record.price
        )
        return toss(ledger.key, facts, probability_of(paper)) != paper.accepted

    return Check("coins", len(record.papers), sum(map(wrong, record.papers)))


def _tables(key: Key, request: Request, record: Record, decided: dict[str, tuple[Earlier, ...]]) -> Check:
    """Each recorded probability is the entry of the sealed table for the true reviewers."""

    def wrong(paper: PaperRecord) -> bool:
        last = decided[paper.paper][-1]
        secret = true_secret(key, request, last.case, paper.reviewers)
        return secret != paper.secret or last.policy.probability(secret) != probability_of(paper)

    return Check("accept probabilities", len(record.papers), sum(map(wrong, record.papers)))


def _claims(request: Request, record: Record, decided: dict[str, tuple[Earlier, ...]]) -> list[Check]:
    """What is claimed of each table follows from it, and it keeps what was asked: exactly, where the weights
    are equal to the last bit."""
    other, wrong, loose = 0, 0, 0
    for paper in record.papers:
        past = decided[paper.paper]
        stated, again = claim_of(paper), claim_again(past)
        exact = weights_digest(recorded_case(paper, record.bar).belief) == paper.weights
        other += not exact
        agree = replace(again, mixed=stated.mixed) == stated if exact else _close(again, stated)
        wrong += not agree
        loose += exact and not _kept(past, request.guarantee)
    note = f"{other} papers have weights rounded differently on this machine" if other else ""
    return [
        Check("claims of each table", len(record.papers), wrong, note),
        Check("limits of each table", len(record.papers) - other, loose),
    ]


def _kept(decisions: Sequence[Earlier], guarantee: Guarantee) -> bool:
    """Whether the latest table of a paper keeps what was asked, the earlier decisions counted in."""
    *earlier, last = decisions
    case = amended_case(last.case, earlier, last.case.bar)
    factor = case.factor if isinstance(case, AmendedCase) else None
    cap = guarantee.posterior_cap
    if cap is not None and isinstance(case, SettledCase):
        stated = at_most(claim(last.case.belief, last.policy), case.told)
        if stated.largest_posterior > cap:
            return False
    return keeps(last.case.belief, last.policy, guarantee, factor=factor)


def claim_again(decisions: Sequence[Earlier]) -> Claim:
    """The claim of a paper from its decisions alone, oldest first."""
    first = decisions[0]
    stated = claim(first.case.belief, first.policy)
    for index, later in enumerate(decisions[1:], start=1):
        case = amended_case(later.case, decisions[:index], later.case.bar)
        factor = case.factor if isinstance(case, AmendedCase) else None
        before = decisions[index - 1].case
        same = public_facts(case) == public_facts(before)
        told = claim(later.case.belief, later.policy, factor=factor)
        if isinstance(case, SettledCase):
            told = at_most(told, case.told)
        stated = paired(stated, told, later.policy, same)
    return stated


def _close(one: Claim, other: Claim) -> bool:
    pairs = (
        (one.success, other.success),
        (one.added, other.added),
        (one.largest_rise, other.largest_rise),
        (one.largest_posterior, other.largest_posterior),
        (one.multiplier, other.multiplier),
    )
    return all(abs(float(a) - float(b)) <= _CLOSE for a, b in pairs) and (
        one.epsilon == other.epsilon or abs(one.epsilon - other.epsilon) <= _CLOSE
    )


def _texts(request: Request, record: Record) -> Check:
    """The public files follow from the record."""
    texts = (
        (decisions_text(record.papers), record.decisions),
        (
            certificate_text(
                request.guarantee,
                request.conference,
                record.release,
                record.bar,
                record.papers,
                record.commitment,
                request.better,
                agreement([recorded_case(paper, record.bar) for paper in record.papers], request.better),
            ),
            record.certificate,
        ),
    )
    return Check("public files follow from the record", 2, sum(made != kept for made, kept in texts))


def _files(record: Record, out: Path) -> Check:
    """The files in a folder are the ones that were released."""
    kept = {"decisions.csv": record.decisions, "certificate.json": record.certificate}
    wrong = sum(
        not (out / name).exists() or (out / name).read_bytes() != text.encode() for name, text in kept.items()
    )
    return Check("published files", len(kept), wrong)
