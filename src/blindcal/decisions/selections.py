"""Private decisions of a record -> the final list: this many papers accepted, this many on the wait list.

A first list, and one whose numbers are changed, is ranked as a whole. An amendment keeps the cuts of the list
before it: the papers that changed are compared with them, and nobody else's place changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from blindcal.decisions.records import PaperRecord, Record
from blindcal.decisions.statements import Listing, figures_of
from blindcal.plans.listings import WAIT, Rank, all_cuts, cuts_json, cuts_of, place
from blindcal.plans.passing import Pair, both_ranks, listed_figures
from blindcal.plans.quotas import Quota


def ranked(papers: Sequence[PaperRecord], quota: Quota, release: int) -> dict[str, Any]:
    """The selection of a release whose list is ranked as a whole."""
    tracks = [track_of(paper) for paper in papers]
    quota.check(tracks)
    found = all_cuts([own_rank(paper) for paper in papers], tracks, quota)
    return {
        "accept": _plain(quota.accept),
        "wait_list": _plain(quota.wait_list),
        "cuts": cuts_json(found),
        "ranked": release,
    }


def ranked_again(record: Record) -> Record:
    """The record with its list ranked by its own papers, unless it keeps the cuts of another release."""
    quota, selection = record.request.quota, record.selection
    if quota is None or selection is None or selection["ranked"] != record.release:
        return record
    return replace(record, selection=ranked(record.papers, quota, record.release))


def listing(record: Record) -> Listing | None:
    """The final list of a release; None where the private decisions are the published ones."""
    quota, selection = record.request.quota, record.selection
    if quota is None or selection is None:
        return None
    cuts = cuts_of(selection["cuts"])
    ranks, tracks = [own_rank(paper) for paper in record.papers], [track_of(paper) for paper in record.papers]
    decisions = [place(rank, cuts[track]) for rank, track in zip(ranks, tracks, strict=True)]
    figures = listed_figures(
        [figures_of(paper) for paper in record.papers],
        [_pair(paper) for paper in record.papers],
        tracks,
        quota,
        None if selection["ranked"] == record.release else cuts,
    )
    return Listing(quota, decisions, _waiting(ranks, tracks, decisions), figures)


def own_rank(paper: PaperRecord) -> Rank:
    """Where a paper ranks by its private decision."""
    return _pair(paper)[int(paper.accepted)]


def track_of(paper: PaperRecord) -> str:
    """The track that a paper is in; empty where tracks have no bar of their own."""
    return str(paper.public["track"])


def _pair(paper: PaperRecord) -> Pair:
    return both_ranks(paper.paper, paper.public["scores"], figures_of(paper))


def _waiting(ranks: Sequence[Rank], tracks: Sequence[str], decisions: Sequence[str]) -> list[int | str]:
    """The place of each paper on the wait list of its track; empty where it is not on it."""
    waiting = sorted(
        (track, rank, index)
        for index, (rank, track) in enumerate(zip(ranks, tracks, strict=True))
        if decisions[index] == WAIT
    )
    found: list[int | str] = [""] * len(ranks)
    for number, (track, _, index) in enumerate(waiting):
        found[index] = 1 + number - sum(other < track for other, _, _ in waiting)
    return found


def _plain(number: int | Mapping[str, int]) -> int | dict[str, int]:
    return dict(number) if isinstance(number, Mapping) else number
