"""Inputs + Request + key -> decisions: tossed once, sealed beside the key, published in a folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from blindcal.beliefs.conferences import Conference, Level
from blindcal.beliefs.inputs import Inputs
from blindcal.cells import count
from blindcal.decisions.coins import Key, read_key
from blindcal.decisions.drafts import stamp_of
from blindcal.decisions.duplicates import refuse_duplicates
from blindcal.decisions.histories import Past
from blindcal.decisions.places import check_apart, check_paths, check_reviews_apart, check_writable
from blindcal.decisions.records import (
    Ledger,
    Record,
    all_published,
    check_published,
    check_vacant,
    finish,
    open_ledger,
    publish,
    published_at,
    read_ledger,
    release_folder,
    sealed_folder,
)
from blindcal.decisions.releases import Outcome, release
from blindcal.errors import InputError, RefusedError
from blindcal.files.disk import clear_stale
from blindcal.plans.agreements import agreement, refuse_misfit
from blindcal.plans.papers import plan_conference, planning_steps
from blindcal.plans.remarks import input_remarks, plan_remarks, quota_remarks
from blindcal.plans.requests import Request, check_types
from blindcal.workers import Progress, Workers, silent


def decide(
    inputs: Inputs,
    request: Request,
    key: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    numbered: bool = False,
    published: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    amend: bool = False,
    reason: str = "",
    redecide: bool = False,
    yes_leak: bool = False,
    despite_misfit: bool = False,
    distinct_papers: bool = False,
    workers: Workers = 1,
    progress: Progress = silent,
) -> Outcome:
    """Decide every paper once and publish: `decisions.csv` and `certificate.json` in the folder `out`, the
    sealed record beside the file `key`. Returns an `Outcome`: `certificate`, sealed `record`, `how` it came
    about. If the request says that scores are confidential, nothing in `out` depends on them but decisions.

    The same input always returns the stored decisions.

    `inputs`: those of `read_inputs`.
    `request`: the guarantee, and how many papers are to be accepted.
    `key`: the file that `make_key` made; it and the sealed folder beside it must never be shared.
    `out`: the folder to publish; it may hold this release already, but no other.
    `numbered`: each release has a folder of its own in `out`: `release-1`, `release-2`.
    `published`: a folder published earlier with this key, or several, to check key and ledger against; one
    may hold all releases, `release-1`, `release-2`.
    `amend`: accept a changed input, which is refused otherwise: new papers are decided, papers whose scores
    changed are decided again from their public data alone, and all other decisions stand.
    `reason`: for the amendment, in words; it is sealed.
    `redecide`: with `amend`, decide all papers whose pools or calibration were corrected again, from their
    public data alone; else their decisions stand.
    `yes_leak`: the consent of a chair who lets decisions reveal half or more of what full calibration would.
    `despite_misfit`: decide even where the calibration does not fit the scores at all, which is refused
    otherwise.
    `distinct_papers`: the word of a chair that papers with the same reviewers, and the same score from each,
    are different papers, as with a jury; otherwise they are refused as one paper under several ids.
    `workers`: how many processes share the work, or a cluster's pool; results are the same.
    `progress`: called as work goes on; silent by default.

    >>> from blindcal import Guarantee, make_key, read_inputs
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> reviews, reviewers = (Path(folder.name) / name for name in ("reviews.csv", "reviewers.csv"))
    >>> _ = reviews.write_text("paper,reviewer,score\\np1,ada,7\\np2,ben,4\\np3,cleo,6\\n")
    >>> _ = reviewers.write_text("reviewer,slope,offset,noise\\nada,1.2,6,1\\nben,1,4.5,1\\ncleo,1,5,1\\n")
    >>> inputs = read_inputs(reviews, reviewers, "everyone")
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
    for name, given in (("reason", reason.strip()), ("redecide", redecide)):
        if given and not amend:
            raise InputError(f"`{name}` goes with `amend`: without it nothing is decided again")
    check_types(inputs, request)
    check_paths(key=key, out=out)
    request, key, out = request.checked().on_scale(inputs.scale), Path(key), Path(out)
    check_reviews_apart(inputs.sources.reviews, out)
    secret = _key(key, out)
    # What was published is read before the ledger, which can only have grown in between.
    seen = [*all_published(published), *published_at(out, numbered)]
    ledger = read_ledger(key, secret)
    check_published(ledger, seen)
    if not distinct_papers:
        refuse_duplicates(inputs.reviews, _decided_before(ledger, request))
    latest = _latest(ledger, request)
    frozen: Level | None = None
    if latest is not None:
        _refuse_other_readers(latest, request)
        frozen, inputs = latest.bar, inputs.on_grid(latest.grid)
    conference, truth = request.prepared(inputs, frozen, workers=workers, progress=progress)
    fit = agreement(conference.cases, request.better)
    # What was decided once is returned, and corrected, whatever it was decided from.
    refuse_misfit(fit, despite_misfit=despite_misfit or frozen is not None)
    work = f"deciding {count(len(conference.cases), 'paper')}"
    steps = planning_steps(conference.cases, request.guarantee)
    with open_ledger(key, secret) as ledger, progress(work, steps) as advance:
        stamp = stamp_of(Past(ledger), conference, truth, request, amend=amend, redecide=redecide)
        past = ledger.of(request.conference)
        if (amend or not past) and all(earlier.input != stamp for earlier in past):
            check_vacant(release_folder(out, len(past) + 1) if numbered else out, None)
        planner = partial(plan_conference, workers=workers, advance=advance)
        outcome = release(
            conference,
            truth,
            request,
            ledger,
            planner,
            amend=amend,
            reason=reason,
            redecide=redecide,
            yes_leak=yes_leak,
        )
        publish(outcome.record, release_folder(out, outcome.record.release) if numbered else out)
        finished = finish(ledger, request.conference, out) if numbered else ()
    remarks = _remarks(inputs, conference, request, outcome, fit.notes)
    return replace(outcome, remarks=(*finished, *_superseded(outcome, len(past)), *outcome.remarks, *remarks))


def first_of_key(outcome: Outcome) -> str | None:
    """What to say when nothing was decided with a key before: from then on its copies must not decide."""
    if outcome.how != "new" or outcome.certificate["release_counter"] != 1:
        return None
    return (
        "only this copy of the key and its sealed folder may decide from now on: a copy made before knows "
        "nothing of this release, and would toss coins for changed papers as if it were the first"
    )


def _superseded(outcome: Outcome, releases: int) -> list[str]:
    """Whether stored decisions are not the latest: an old file of reviews leads to the old decisions."""
    record = outcome.record
    number = record.release
    if outcome.how != "stored" or number == releases:
        return []
    if record.selection is not None:
        return [
            f"this is the list of release {number}: release {releases} came after it and replaced it. "
            "blindcal select accepts another number of papers, as they stand now"
        ]
    return [
        f"this input is that of release {number}, and so are these decisions: release {releases} came after "
        "it and replaced it. To decide by this input again, give `amend` `reason`"
    ]


def _remarks(
    inputs: Inputs, conference: Conference, request: Request, outcome: Outcome, misfit: Sequence[str]
) -> tuple[str, ...]:
    figures = plan_remarks(outcome.full_certificate, request.guarantee.never_against)
    return *input_remarks(inputs, conference, request.bar), *misfit, *figures, *quota_remarks(request)


def _refuse_other_readers(latest: Record, request: Request) -> None:
    """Refuse to publish more, or less, than the releases before."""
    if latest.scores != request.scores:
        raise RefusedError(
            f"`scores` is {latest.scores} since release {latest.release} and cannot be changed, found "
            f"{request.scores}"
        )


def _latest(ledger: Ledger, request: Request) -> Record | None:
    """The latest release of the conference: its bar and its grid are frozen."""
    releases = ledger.of(request.conference)
    return ledger.record(releases[-1]) if releases else None


def _decided_before(ledger: Ledger, request: Request) -> set[str]:
    """The ids that have a decision already; nothing is tossed for them unless they changed."""
    return {
        paper.paper for release in ledger.of(request.conference) for paper in ledger.record(release).papers
    }


def _key(path: Path, out: Path) -> Key:
    """The key, once it is certain that it and its sealed folder lie apart from what is shared."""
    check_apart(path, out)
    check_writable(out)
    sealed = sealed_folder(path)
    if not path.exists():
        if sealed.exists():
            raise RefusedError(
                f"{sealed} holds decisions of a missing key, {path}: restore the key from its "
                "backup; a new one would draw new coins"
            )
        raise InputError(
            f"there is no key {path}. If these papers were never decided, make one: blindcal key {path}. "
            "If they were, give the key they were decided with: another one would draw new coins"
        )
    for folder in (path.parent, out):
        clear_stale(folder)
    return read_key(path)
