"""Key + another number of papers -> a new list from the private decisions that were tossed once.

A list is a release: it is sealed and counted like any other, so that a correction starts from the cuts that
were published last, and an auditor makes it again. No coin is tossed, and no input is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from blindcal.cells import count
from blindcal.deciding.coins import read_key
from blindcal.deciding.draft import listing, ranked, track_of, with_texts
from blindcal.deciding.ledger import (
    Ledger,
    Record,
    Release,
    check_published,
    check_vacant,
    commit,
    finish,
    open_ledger,
    publish,
    published_at,
    read_published,
    release_folder,
)
from blindcal.deciding.path_checks import check_apart, check_paths, check_writable
from blindcal.deciding.release import Outcome
from blindcal.errors import InputError, RefusedError
from blindcal.io.atomic_files import clear_stale
from blindcal.planning.ranking import REJECT, WAIT
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
    """Accept another number of papers of a conference that was decided with such a number.

    Papers are ranked anew by the private decisions as they stand, amendments included; no coin is tossed. The
    same numbers return the stored list.

    `published`: the folder of an earlier release of the conference.
    `key`: the file of the key that the papers were decided with.
    `out`: the folder for the new list.
    `accept`: exactly this many are accepted: one number, or one for each track, as it was when they were
    decided.
    `wait_list`: how many more may follow them, in the same form; by default those who wait now, less those
    accepted now, and ahead of them those no longer accepted. Only another number makes papers leave it.
    `numbered`: the list gets a folder of its own in `out`, as in `decide`.

    >>> from blindcal import Guarantee, Request, decide, make_key, read_inputs
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> reviews, reviewers = (Path(folder.name) / name for name in ("reviews.csv", "reviewers.csv"))
    >>> _ = reviews.write_text("paper,reviewer,score\\np1,ada,7\\np2,ben,4\\np3,cleo,6\\n")
    >>> _ = reviewers.write_text("reviewer,slope,offset,noise\\nada,1.2,6,1\\nben,1,4.5,1\\ncleo,1,5,1\\n")
    >>> inputs = read_inputs(reviews, reviewers, "everyone")
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
    seen = read_published(published)
    there = published_at(out, numbered)
    if seen is None:
        raise InputError(f"{published} must be a folder with a certificate.json that blindcal wrote")
    for folder in (key.parent, out):
        clear_stale(folder)
    with open_ledger(key, secret) as ledger:
        check_published(ledger, [seen, *there])
        given = json.loads(seen.text)
        releases = ledger.of(given["conference"])
        outcome = _selected(ledger, releases, quota, wait_list is None, out, numbered)
        publish(outcome.record, release_folder(out, outcome.record.release) if numbered else out)
        finished = finish(ledger, given["conference"], out) if numbered else ()
    superseded = _superseded(published, given["release"], releases[-1].number)
    return replace(outcome, remarks=(*finished, *superseded, *outcome.remarks))


def _superseded(published: str | os.PathLike[str], given: int, latest: int) -> tuple[str, ...]:
    """Whether the folder that was given is not the latest release, whose decisions are the ones ranked."""
    if given == latest:
        return ()
    return (f"{published} is release {given}: the papers are ranked as they stand since release {latest}",)


def _selected(
    ledger: Ledger, releases: Sequence[Release], quota: Quota, waiting: bool, out: Path, numbered: bool
) -> Outcome:
    """The latest list if it has these numbers, else a new one, sealed; `waiting` keeps the wait list."""
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
    return Outcome(drafted, "selected", remarks=_leaving(latest, drafted))


def _with_wait_list(latest: Record, quota: Quota) -> Quota:
    """The quota with the wait list that there is: whoever is accepted or waits now is accepted or waits."""
    words = _words(latest)
    tracks = {paper.paper: track_of(paper) for paper in latest.papers}
    waiting = {
        group: max(0, sum(word != REJECT for word in here) - quota.of(group)[0])
        for group in quota.groups
        if WAIT in (here := [word for paper, word in words.items() if tracks[paper] == group])
    }
    return replace(quota, wait_list=waiting if quota.tracks else waiting.get(WHOLE, 0))


def _leaving(latest: Record, drafted: Record) -> tuple[str, ...]:
    """Which papers waited and are rejected now, in words."""
    before, after = _words(latest), _words(drafted)
    left = [paper for paper, word in before.items() if word == WAIT and after[paper] == REJECT]
    if not left:
        return ()
    return (f"{count(len(left), 'paper')} no longer on the wait list: {', '.join(left)}",)


def _words(record: Record) -> dict[str, str]:
    """The decision on each paper of a list."""
    found = listing(record)
    return {} if found is None else dict(zip((p.paper for p in record.papers), found.decisions, strict=True))


def reselected(latest: Record, quota: Quota) -> Record:
    """The next release: the same papers and private decisions, ranked anew. Its public files are still to be
    written."""
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
