"""A published folder and the key -> the views of its papers; a plan -> the same before the toss.

The sealed record has everything: public data, tables, decisions and the true reviewers. So what is found is
for whoever holds the key.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from blindcal.audits.views import View, planned_view, published_views
from blindcal.decisions.coins import read_key
from blindcal.decisions.histories import Past
from blindcal.decisions.places import check_paths
from blindcal.decisions.records import Record, check_published, read_ledger, read_published
from blindcal.errors import InputError
from blindcal.plans.plans import Plan


@dataclass(frozen=True, eq=False)
class Decided:
    """A release as it was published, and its papers with their true reviewers: CONFIDENTIAL."""

    record: Record
    views: list[View] = field(repr=False)


def open_release(published: str | os.PathLike[str], key: str | os.PathLike[str]) -> Decided:
    """The release in a folder that `decide` wrote, opened with the key it was made with. CONFIDENTIAL.

    `published` is the folder, `key` the file of the key. Returns the sealed `record` and the `views` of its
    papers, which know the true reviewers; `findings_of` says what they reveal.
    """
    check_paths(published=published, key=key)
    seen = read_published(published)
    if seen is None:
        raise InputError(f"{published} must be a folder with a certificate.json that blindcal wrote")
    past = Past(read_ledger(key, read_key(key)))
    check_published(past.ledger, [seen])
    record = past.record(seen.counter - 1)
    return Decided(record, published_views(past, record))


def planned_views(plan: Plan) -> list[View]:
    """The papers of a plan before any coin is tossed: nothing here knows who reviewed them.

    `plan` is what `plans.plan` returns; the views are in the order of its papers.

    >>> from blindcal.beliefs.conferences import Conference, PaperCase
    >>> from blindcal.plans import Request, agreement, plan_conference
    >>> from blindcal.policies.guarantees import UNLIMITED
    >>> rows = ((1.0, 4.0, 1.0, 0.0, 0.0, 0.0, 0.0), (1.0, 6.0, 1.0, 0.0, 0.0, 0.0, 0.0))
    >>> case = PaperCase("p", (5.0,), ("ada", "ben"), (0.5, 0.5), rows, bar=0.0)
    >>> conference, request = Conference((case,), 0.0, None, (1.0,)), Request(UNLIMITED, bar=0.0)
    >>> papers, price = plan_conference(conference, UNLIMITED)
    >>> found = Plan(conference, request, tuple(papers), price, agreement([case]), ())
    >>> planned_views(found)[0].mass("chosen")
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    return [
        planned_view(case, paper, raw, plan.request.guarantee)
        for case, paper, raw in zip(
            plan.conference.cases, plan.papers, plan.conference.raw_accept, strict=True
        )
    ]
