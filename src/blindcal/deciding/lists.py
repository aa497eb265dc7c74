"""Final lists: an exact number of papers from the private decisions, and any other number in confidence.

The first release ranks the papers as a whole, and its list is published with a wait list in its order. An
amendment keeps the cuts of that list: changed papers are compared with them, and the decision on no other
paper changes. The order of all papers follows from the private decisions, which the private log keeps.
`printed_list` prints any other number of papers from it, for the chair alone: nothing is drawn or released,
and the rest of the order stays secret. Every list is a function of the same private decisions, so that what
the certificate promises holds for all lists together. `list_problems` checks a printed list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from blindcal.deciding.certificate import Listing, decisions_text, figures_of
from blindcal.deciding.certificate_fields import public_table
from blindcal.deciding.record import PaperRecord, Record
from blindcal.errors import InputError, RefusedError
from blindcal.io.atomic_files import read_table
from blindcal.io.cells import Column
from blindcal.io.tables import StrPath
from blindcal.planning.ranking_and_wait_list import (
    ACCEPT,
    REJECT,
    WAIT,
    Rank,
    RankPair,
    both_ranks,
    cuts_by_track,
    cuts_from_json,
    cuts_json,
    list_decision,
    listed_figures,
    with_raw_decision,
)
from blindcal.planning.request import WHOLE, Number, Quota
from blindcal.posterior.conference import best_by_mean


def ranked(papers: Sequence[PaperRecord], quota: Quota) -> dict[str, Any]:
    """The final list of a first release, ranked as a whole."""
    tracks = [track_of(paper) for paper in papers]
    quota.check(tracks)
    cuts = cuts_by_track([own_rank(paper) for paper in papers], tracks, quota)
    accept, wait_list = (
        dict(number) if isinstance(number, Mapping) else number for number in (quota.accept, quota.wait_list)
    )
    return {"accept": accept, "wait_list": wait_list, "cuts": cuts_json(cuts)}


def ranked_again(record: Record) -> Record:
    """The record with its list ranked again, unless it keeps the cuts of the first release."""
    quota = record.request.quota
    if quota is None or record.release > 1:
        return record
    return replace(record, selection=ranked(record.papers, quota))


def listing(record: Record) -> Listing:
    """The final list of a release; the private decisions if no number was requested."""
    papers, quota, selection = record.papers, record.request.quota, record.selection
    figures = [figures_of(paper) for paper in papers]
    if quota is None or selection is None:
        private = [ACCEPT if paper.accepted else REJECT for paper in papers]
        return Listing(None, private, [""] * len(papers), [paper.raw_accepted for paper in papers], figures)
    cuts = cuts_from_json(selection["cuts"])
    ranks, tracks = [own_rank(paper) for paper in papers], [track_of(paper) for paper in papers]
    decisions = [list_decision(rank, cuts[track]) for rank, track in zip(ranks, tracks, strict=True)]
    figures = listed_figures(
        figures,
        [_ranks_by_decision(paper) for paper in papers],
        tracks,
        Counter(track for track, word in zip(tracks, decisions, strict=True) if word == ACCEPT),
    )
    raw, waiting = [0.0] * len(papers), list[int | str]([""] * len(papers))
    for track in set(tracks):
        members = [index for index, other in enumerate(tracks) if other == track]
        # The decisions by mean score if as many papers of the track were accepted.
        places = sum(decisions[index] == ACCEPT for index in members)
        best = best_by_mean([papers[index].public["scores"] for index in members], places)
        for index, share in zip(members, best, strict=True):
            raw[index] = share
        in_order = sorted((index for index in members if decisions[index] == WAIT), key=ranks.__getitem__)
        for position, index in enumerate(in_order, start=1):
            waiting[index] = position
    figures = [
        own if share == paper.raw_accepted else with_raw_decision(own, share)
        for own, paper, share in zip(figures, papers, raw, strict=True)
    ]
    return Listing(quota, decisions, waiting, raw, figures)


def own_rank(paper: PaperRecord) -> Rank:
    """The rank of a paper, given its private decision."""
    return _ranks_by_decision(paper)[int(paper.accepted)]


def track_of(paper: PaperRecord) -> str:
    """The track of a paper; empty if tracks have no bars of their own."""
    return str(paper.public["track"])


def _ranks_by_decision(paper: PaperRecord) -> RankPair:
    return both_ranks(paper.paper, paper.public["scores"], figures_of(paper))


# --- Any other number of papers, for the chair alone.


@dataclass(frozen=True)
class PrintedList:
    """A list of another number of papers than was released, or without some papers. CONFIDENTIAL.

    Attributes:
        text: As the full `decisions.csv` would be, with the advice that belongs to it.
        public: The same with the columns that the release published.
        accepted: How many papers it accepts.
        waiting: How many wait.
        changes: The papers whose decision is another one than in the release: paper, decision there, decision
            here.
    """

    text: str
    public: str
    accepted: int
    waiting: int
    changes: tuple[tuple[str, str, str], ...]

    @property
    def digest(self) -> str:
        """What tells one list from another, so that the list that was shown is the one that goes out."""
        return sha256(self.text.encode()).hexdigest()


def printed_list(
    record: Record, accept: Number, wait_list: Number | None = None, withdrawn: Collection[str] = ()
) -> PrintedList:
    """The best `accept` papers of a release by their private decisions, as they stand, and a wait list.

    Nothing is drawn, recorded or published.

    Args:
        record: The release; its papers were ranked when they were decided.
        accept: The number of accepted papers: one number, or one per track, as when they were decided.
        wait_list: The number of further papers that wait, in the same form. By default every paper that is
            accepted or waits in the release is accepted or waits.
        withdrawn: Papers that are gone; the next ones take their places.

    Raises:
        RefusedError: The papers were decided one by one, or about other tracks.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from blindcal import Guarantee, Request, decide, make_key
        >>> from blindcal.posterior.inputs import example_inputs
        >>> folder = TemporaryDirectory()
        >>> key, out = Path(folder.name) / "key", Path(folder.name) / "out"
        >>> _ = make_key(key)
        >>> outcome = decide(example_inputs(), Request(Guarantee("steady"), accept=1), key, out)
        >>> printed = printed_list(outcome.record, accept=2)
        >>> printed.accepted, printed.waiting, len(printed.changes)
        (2, 0, 1)
        >>> folder.cleanup()
    """
    quota = Quota(accept, wait_list or 0)
    if (released := record.request.quota) is None:
        raise RefusedError(
            "these papers were decided one by one, by a share or a bar: only where `accept` was given "
            "when they were decided can another number be printed"
        )
    if set(released.tracks) != set(quota.tracks):
        given = ", ".join(released.tracks) or "none: give one number"
        raise RefusedError(f"`accept` must be about the tracks that each have a bar ({given})")
    papers = tuple(paper for paper in record.papers if paper.paper not in withdrawn)
    before = _decisions_by_paper(record)
    if wait_list is None:
        quota = _with_wait_list(papers, before, quota)
    made = replace(record, release=1, papers=papers, selection=ranked(papers, quota))
    after = _decisions_by_paper(made)
    changes = tuple((p, before[p], word) for p, word in after.items() if before[p] != word)
    words, text = list(after.values()), decisions_text(papers, listing(made))
    public = public_table(text, record.scores, record.publishes)
    return PrintedList(text, public, words.count(ACCEPT), words.count(WAIT), changes)


def _with_wait_list(papers: Sequence[PaperRecord], words: Mapping[str, str], quota: Quota) -> Quota:
    """The quota with a wait list that leaves nobody out who is accepted or waits in the release."""
    waiting = {
        group: max(0, sum(word != REJECT for word in here) - quota.of(group)[0])
        for group in quota.groups
        if WAIT in (here := [words[paper.paper] for paper in papers if track_of(paper) == group])
    }
    return replace(quota, wait_list=waiting if quota.tracks else waiting.get(WHOLE, 0))


def _decisions_by_paper(record: Record) -> dict[str, str]:
    """The decision on each paper of a list."""
    return dict(zip((paper.paper for paper in record.papers), listing(record).decisions, strict=True))


_PRINTED = (Column("paper", "id"), Column("decision", choices=(ACCEPT, WAIT, REJECT)))


def list_problems(record: Record, path: StrPath) -> tuple[list[str], int, int]:
    """The papers on which a printed list in a file is not as the private order says.

    Returns them with the number of papers that were compared, and that of papers of the release that are not
    in the list, as withdrawn papers are not.
    """
    table = read_table(path, _PRINTED, extra=True)
    words = dict(zip(table.text("paper"), table.text("decision"), strict=True))
    papers = tuple(paper for paper in record.papers if paper.paper in words)
    strange = sorted(words.keys() - {paper.paper for paper in papers})
    if record.selection is None:
        raise InputError(f"{path}: these papers were decided one by one, so there is no other list of them")
    wrong = []
    for group in {track_of(paper) for paper in papers}:
        # Whoever is above stands above: the words must be accept, wait list and reject in this order.
        here = [p.paper for p in sorted(papers, key=own_rank) if track_of(p) == group]
        best = sorted((words[paper] for paper in here), key=(ACCEPT, WAIT, REJECT).index)
        wrong += [paper for paper, word in zip(here, best, strict=True) if words[paper] != word]
    return [*strange, *wrong], len(words), len(record.papers) - len(papers)
