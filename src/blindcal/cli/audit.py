"""`blindcal audit`: adversaries played against what was published; and `blindcal verify`: all of it checked.

The first is for the chair alone, the second for a confidential auditor, who derives everything again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from blindcal.adversaries.findings import SCORES, Finding, Findings
from blindcal.adversaries.single_paper import AUTHOR, CONSTANT
from blindcal.cli.console import as_options, emit_json, note, number, say, table
from blindcal.cli.options import (
    ClusterAddress,
    FolderPath,
    KeyFile,
    Processes,
    Published,
    decimal,
    hired,
    numeric,
    option,
    whole,
)
from blindcal.errors import InputError
from blindcal.io.atomic_files import check_targets, refuse_published, write_json
from blindcal.io.cells import count, number_text
from blindcal.project.check import Adversaries, audit_folder, verify_folder
from blindcal.project.settings import read_folder
from blindcal.report.wording import quota_line
from blindcal.verification import EARLIER, Check

_MOST_EXPOSED = 10
_POLICY_NAMES = {"raw": "raw", "public": "public", "chosen": "decided", "full": "full"}
_QUESTIONS = {
    "author": "a reviewer",
    "three guesses": "in three guesses",
    "reviewed at all": "yes or no, each candidate",
    "whole tuple": "all its reviewers",
    "link": "same person's reviews",
}
CONFIDENTIAL = "CONFIDENTIAL: for the chair alone; what is below was found with the key."


def audit(
    path: FolderPath,
    key: KeyFile = None,
    prior: list[str] | None = option(
        "Also an adversary with this prior over reviewers: uniform, or sharpened towards the true ones, "
        "or a file of similarities (columns paper, reviewer, similarity): reviewers are as likely as their "
        "product; repeatable.",
        metavar="PRIOR",
    ),
    evidence: list[float] | None = numeric(
        decimal,
        "Also an adversary with evidence of its own about every review, such as writing style, by which the "
        "reviewer stands out by this many standard deviations; repeatable.",
    ),
    colluders: list[int] | None = numeric(
        whole, "Also this many reviewers who share what they know of their own reviews; repeatable."
    ),
    loads: str | None = option(
        "Also an adversary who knows everyone's review load: columns reviewer, load; or the word "
        "true, for the true numbers. Takes minutes.",
        metavar="FILE",
    ),
    keep: Path | None = option(
        "With --loads: a directory for its owner alone, from which an interrupted run goes on.",
        metavar="DIRECTORY",
    ),
    processes: Processes = None,
    out: Path | None = option(
        "Also write everything as JSON to this file, which only its owner can read.", metavar="FILE"
    ),
) -> None:
    """Play adversaries against decisions that were published, and say what they gain. For the chair alone.

    For raw decisions by mean score, the public decision, the decisions as they were made and full
    calibration: how often an adversary is right from the scores alone, and with the decisions. Exact, paper
    by paper, for the decisions as they came out; `blindcal plan --audit` averages over those that may come
    out. Then adversaries who know more, each against its own baseline: a co-reviewer, the author of the worst
    paper, and those that the options name. Nothing is drawn, and nothing here may be published.

    Example: blindcal audit icx2027 --evidence 1.5 --colluders 3
    """
    check_targets(out)
    for file in filter(None, (out, keep and keep / "walks")):
        refuse_published(file)
    if keep is not None and loads is None:
        raise InputError("--keep goes with --loads")
    folder = read_folder(path)
    adversaries = Adversaries(prior or (), evidence or (), colluders or (), loads, keep)
    with hired(processes, None) as work:
        findings, record, remarks = audit_folder(folder, adversaries, key=key, **work)
    note(*remarks)
    facts = facts_of(
        findings, release=record.release, conference=record.conference, confidential=True, notes=[]
    )
    if out is not None:
        write_json(out, facts, confidential=True)
    emit_json(facts)
    say(CONFIDENTIAL)
    say_findings(findings)
    if out is not None:
        say(f"wrote {out} (CONFIDENTIAL, never share)")


def facts_of(findings: Findings, **more: Any) -> dict[str, Any]:
    """Findings as JSON."""
    each = [{**vars(finding), "added": finding.added} for finding in findings.findings]
    return {**vars(findings), "findings": each, **more}


def say_findings(findings: Findings) -> None:
    """Findings as text: what each policy lets each question gain, then the reviews most exposed."""
    when = "as published" if findings.published else "before the draw, on average over the public belief"
    say(f"{count(findings.papers, 'paper')}, {count(findings.reviews, 'review')}, {when}")
    say(gain_sentence(findings.findings))
    _say_adversaries(findings.findings)
    if findings.method:
        say(findings.method)
    if findings.bits:
        say()
        headings = ["decisions", "bits per review", "largest rise of a best guess, in points"]
        rises = findings.largest_rise
        table(
            headings, [(_POLICY_NAMES[one], bits, points(rises[one])) for one, bits in findings.bits.items()]
        )
    say()
    rows = [
        (e.paper, e.review, number(e.score, 2), points(e.before), points(e.after), points(e.rise))
        for e in findings.exposures[:_MOST_EXPOSED]
    ]
    table(
        ["paper", "review", "score", "scores alone", "with the decision", "largest rise"],
        rows,
        title="reviews most exposed: chance in percent that the best guess is right",
    )
    if findings.sampled:
        say(f"{count(findings.sampled, 'paper')} with large pools: estimated from a sample of tuples")
    if findings.erasure is not None:
        say("a review's reviewer named with all decisions together, proved before the draw: at most")
        say(f"  {points(findings.erasure)} % for the stated prior and these loads (erasure bound)")


def gain_sentence(findings: Sequence[Finding]) -> str:
    """What the decisions add: for the certificate's adversary, or else for the one that gains most.

    >>> gain_sentence([Finding("knows everyone's strictness", "author", "chosen", 0.25, 0.261, 0.0004)])
    "decisions add 1.10 +- 0.04 points to the chance of naming a reviewer (25.0 to 26.1 %): knows everyone's \
strictness"
    """
    named = [one for one in findings if (one.policy, one.question) == ("chosen", AUTHOR)]
    most = max(named, key=lambda one: one.added)
    usual = next((one for one in named if one.adversary == SCORES), most)
    error = f" +- {number(100 * usual.error, 2)}" if usual.error else ""
    chances = f"({points(usual.baseline)} to {points(usual.success)} %)"
    added = f"decisions add {number(100 * usual.added, 2)}{error} points to the chance of naming a reviewer"
    if most.added <= usual.added:
        return f"{added} {chances}: {usual.adversary}"
    return f"{added} {chances}, and up to {number(100 * most.added, 2)} for others: {most.adversary}"


def _say_adversaries(findings: Sequence[Finding]) -> None:
    """One table for each adversary: its baseline, then what each policy's decisions make of it."""
    for adversary in dict.fromkeys(finding.adversary for finding in findings):
        own = [finding for finding in findings if finding.adversary == adversary]
        policies = list(dict.fromkeys(finding.policy for finding in own))
        rows = []
        for question in dict.fromkeys(finding.question for finding in own):
            by_policy = {finding.policy: finding for finding in own if finding.question == question}
            error = max(finding.error for finding in by_policy.values())
            baselines = {points(finding.baseline) for finding in by_policy.values()}
            alike = len(baselines) == 1
            baseline = baselines.pop() if alike else "(each)"
            cells = [_cell(by_policy[name], alone=not alike) for name in policies]
            within = number(100 * error, 2) if error else "exact"
            rows.append((_QUESTIONS.get(question, question), baseline, *cells, within))
        say()
        headings = ["right about", "before", *(_POLICY_NAMES[name] for name in policies), "error"]
        table(headings, rows, title=f"adversary: {adversary}")
    say("in percent: right before the decisions and with them, what they add, and its standard error")


def _cell(finding: Finding, *, alone: bool) -> str:
    """What decisions make of a chance; those that reveal nothing, without what they add.

    If it is `alone`, it is about another paper than its neighbors, with another chance before the decisions.
    """
    before = f"{points(finding.baseline)} to " if alone else ""
    added = f" {100 * finding.added:+z.2f}" if finding.policy not in CONSTANT else ""
    return f"{before}{points(finding.success)}{added}"


def points(share: float) -> str:
    """A share in percent."""
    return number(100 * share, 1)


def verify(
    path: FolderPath,
    key: KeyFile = None,
    published: Published = None,
    commitment: str | None = option(
        "The commitment that was published before decisions could be known, to check it."
    ),
    lists: list[Path] | None = option(
        "A list of another number of papers, as `export --accept` writes it for csv; may be repeated.",
        "--list",
        metavar="FILE",
    ),
    processes: Processes = None,
    cluster: ClusterAddress = None,
) -> None:
    """Check the latest release with the key: input, commitment, draws, tables, claims, public files.

    The folder must have the files that were decided; the request is taken from the private log and shown.
    For an auditor who may know who reviewed what, since the files say so. Exits with code 4 if anything does
    not agree.

    Example: blindcal verify icx2027
    """
    folder = read_folder(path)
    with hired(processes, cluster) as work:
        verification, record, remarks = verify_folder(
            folder,
            key=key,
            published=published or (),
            commitment=commitment,
            lists=lists or (),
            **work,
        )
    note(*remarks)
    facts = {"release": record.release, "checks": verification.checks, "verified": verification.agrees}
    emit_json({**facts, "settings": record.settings} if verification.agrees else facts)
    say(f"release {record.release}, the latest of conference {folder.text('conference')!r}")
    rows = [(c.name, _check_result(c), c.note) for c in verification.checks]
    table(["check", "result", ""], rows)
    for check in verification.checks:
        if check.papers:
            say(f"CONFIDENTIAL: {check.name}: {', '.join(check.papers)}")
    verification.raise_if_not()
    say(f"release {record.release} verified")
    if verification.limits:
        say(as_options(verification.limits))
    settings = {**record.settings, "grid": " ".join(map(number_text, record.grid)) or None}
    quota = record.request.quota
    exactly = "" if quota is None else f"; {quota_line(quota)}"
    settled = ", ".join(
        f"{name.replace('_', ' ')} {number_text(value) if isinstance(value, float) else value}"
        for name, value in settings.items()
        if value is not None
    )
    say(f"decided with: {settled}{exactly}")


def _check_result(check: Check) -> str:
    """How much of a check agrees; before the first release there were no decisions that could."""
    none = check.name == f"release 1: {EARLIER}" and not check.failed
    return "none" if none else f"{check.items - check.failed} of {check.items} agree"
