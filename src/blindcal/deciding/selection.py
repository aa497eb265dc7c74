"""Selection: another number of accepted papers, from private decisions that were drawn once.

A new list is a release. It is recorded and counted like any other, so that a correction starts from the cuts
that were published last, and an auditor can make the list again. Nothing is drawn, and no input is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from blindcal.cells import count
from blindcal.deciding.coins import read_key
from blindcal.deciding.draft import listing, ranked, track_of, with_texts
from blindcal.deciding.ledger import (
    Ledger,
    Record,
    ReleaseEntry,
    check_published,
    check_vacant,
    commit,
    finish_interrupted,
    open_ledger,
    publish,
    published_at,
    read_published,
    release_folder,
)
from blindcal.deciding.path_checks import check_apart, check_paths, check_writable
from blindcal.deciding.release import Outcome
from blindcal.errors import InputError, RefusedError
from blindcal.io.atomic_files import remove_stale_files
from blindcal.planning.ranking import ACCEPT, REJECT, WAIT
from blindcal.planning.request import WHOLE, Number, Quota


def select(
    published: str | os.PathLike[str],
    key: str | os.PathLike[str],
    out: str | os.PathLike[str],
    accept: Number,
    wait_list: Number | None = None,
    *,
    numbered: bool = False,
) -> Outcome:
    """Accepts another number of papers of a conference that was decided with such a number.

    Papers are ranked again by their private decisions as they stand, including amendments. The same numbers
    return the stored list.

    Args:
        published: The folder of an earlier release of the conference.
        key: The file of the key that decided the papers.
        out: The folder for the new list.
        accept: The exact number of accepted papers: one number, or one per track, as when they were decided.
        wait_list: The number of further papers that wait, in the same form. By default every paper that is
            accepted or waits now is accepted or waits; only another number makes papers leave the list.
        numbered: Whether the list gets a folder of its own in `out`, as in `decide`.

    Example:
        >>> from blindcal import Guarantee, Request, decide, make_key
        >>> from blindcal.posterior.inputs import example_inputs
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> folder = TemporaryDirectory()
        >>> inputs = example_inputs()
        >>> key, out = Path(folder.name) / "key.bin", Path(folder.name) / "out"
        >>> _ = make_key(key)
        >>> _ = decide(inputs, Request(Guarantee("steady"), accept=1), key, out)
        >>> select(out, key, Path(folder.name) / "two", accept=2).certificate["accepted"]
        2
        >>> folder.cleanup()
    """
    check_paths(published=published, key=key, out=out)
    quota, key, out = Quota(accept, wait_list or 0), Path(key), Path(out)
    check_apart(key, out)
    check_writable(out)
    if not key.exists():
        raise InputError(f"there is no key {key}: give the key that the papers were decided with")
    secret = read_key(key)
    certificate = read_published(published)
    certificates = published_at(out, numbered)
    if certificate is None:
        raise InputError(f"{published} must be a folder with a certificate.json that blindcal wrote")
    for folder in (key.parent, out):
        remove_stale_files(folder)
    with open_ledger(key, secret) as ledger:
        check_published(ledger, [certificate, *certificates])
        content = json.loads(certificate.text)
        releases = ledger.of(content["conference"])
        outcome = _select(ledger, releases, quota, wait_list is None, out, numbered)
        publish(outcome.record, release_folder(out, outcome.record.release) if numbered else out)
        completed = finish_interrupted(ledger, content["conference"], out) if numbered else ()
    superseded = _superseded(published, content["release"], releases[-1].number)
    return replace(outcome, remarks=(*completed, *superseded, *outcome.remarks))


@dataclass(frozen=True)
class ListPreview:
    """A list with another number of papers before it is released. CONFIDENTIAL."""

    accepted: int  # how many papers would be accepted
    waiting: int  # how many would wait
    # The papers whose decision would be another one: paper, decision now, decision then
    changes: tuple[tuple[str, str, str], ...]


def preview_list(
    published: str | os.PathLike[str],
    key: str | os.PathLike[str],
    accept: Number,
    wait_list: Number | None = None,
) -> ListPreview:
    """What `select` would change, with nothing recorded or published.

    `published`: the folder of an earlier release of the conference. `key`: the file of the key that decided
    the papers. `accept`: the exact number of accepted papers, as in `select`. `wait_list`: the number of
    further papers that wait, as in `select`.
    """
    check_paths(published=published, key=key)
    quota, certificate = Quota(accept, wait_list or 0), read_published(published)
    if certificate is None:
        raise InputError(f"{published} must be a folder with a certificate.json that blindcal wrote")
    with open_ledger(Path(key), read_key(key)) as ledger:
        latest = ledger.record(ledger.of(json.loads(certificate.text)["conference"])[-1])
    _refuse_other_kind(latest, quota)
    if wait_list is None:
        quota = _with_wait_list(latest, quota)
    before, after = _decisions_by_paper(latest), _decisions_by_paper(reselected(latest, quota))
    words = list(after.values())
    changes = tuple((paper, word, after[paper]) for paper, word in before.items() if after[paper] != word)
    return ListPreview(words.count(ACCEPT), words.count(WAIT), changes)


def _superseded(published: str | os.PathLike[str], given: int, latest: int) -> tuple[str, ...]:
    """A remark if the folder is not the latest release, whose decisions are ranked."""
    if given == latest:
        return ()
    return (f"{published} is release {given}: the papers are ranked as they stand since release {latest}",)


def _select(
    ledger: Ledger, releases: Sequence[ReleaseEntry], quota: Quota, waiting: bool, out: Path, numbered: bool
) -> Outcome:
    """The latest list if it has these numbers, else a new, recorded list; `waiting` keeps the wait list."""
    latest = ledger.record(releases[-1])
    _refuse_other_kind(latest, quota)
    if waiting:
        quota = _with_wait_list(latest, quota)
    drafted = reselected(latest, quota)
    if drafted.selection is not None and latest.selection is not None:
        same = ("accept", "wait_list", "cuts")
        if [drafted.selection[name] for name in same] == [latest.selection[name] for name in same]:
            return Outcome(latest, "stored")
    check_vacant(release_folder(out, drafted.release) if numbered else out, None)
    drafted = with_texts(drafted, ledger)
    commit(ledger, drafted, {}, releases[-1].input)
    return Outcome(drafted, "selected", remarks=_leaving_remarks(latest, drafted))


def _with_wait_list(latest: Record, quota: Quota) -> Quota:
    """The quota with a wait list such that every paper that is accepted or waits now is accepted or waits."""
    words = _decisions_by_paper(latest)
    tracks = {paper.paper: track_of(paper) for paper in latest.papers}
    waiting = {
        group: max(0, sum(word != REJECT for word in here) - quota.of(group)[0])
        for group in quota.groups
        if WAIT in (here := [word for paper, word in words.items() if tracks[paper] == group])
    }
    return replace(quota, wait_list=waiting if quota.tracks else waiting.get(WHOLE, 0))


def _leaving_remarks(latest: Record, drafted: Record) -> tuple[str, ...]:
    """A remark on papers that waited and are rejected now."""
    before, after = _decisions_by_paper(latest), _decisions_by_paper(drafted)
    left = [paper for paper, word in before.items() if word == WAIT and after[paper] == REJECT]
    if not left:
        return ()
    return (f"{count(len(left), 'paper')} no longer on the wait list: {', '.join(left)}",)


def _decisions_by_paper(record: Record) -> dict[str, str]:
    """The decision on each paper of a list."""
    final_list = listing(record)
    return (
        {}
        if final_list is None
        else dict(zip((p.paper for p in record.papers), final_list.decisions, strict=True))
    )


def reselected(latest: Record, quota: Quota) -> Record:
    """The next release, with the same private decisions ranked again; its texts are still to be written."""
    number = latest.release + 1
    selection = ranked(latest.papers, quota, number)
    return replace(latest, release=number, reason="", redecided=False, selection=selection)


def _refuse_other_kind(latest: Record, quota: Quota) -> None:
    before = latest.request.quota
    if before is None:
        raise RefusedError(
            "these papers were decided one by one, by a share or a bar: only where `accept` was given "
            "when they were decided can another number be chosen"
        )
    if set(before.tracks) != set(quota.tracks):
        given = ", ".join(before.tracks) or "none: give one number"
        raise RefusedError(f"`accept` must be about the tracks that each have a bar ({given})")
