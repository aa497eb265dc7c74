"""The record of a release: its papers, and how it is kept as one line of JSON with its tables beside it.

A record is enough to return, amend and audit a release. Secret fields are in no `repr`, because notebooks and
logs keep what they print.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

from blindcal.certify.exact import PackedPolicy, PolicyTables
from blindcal.deciding.certificate_fields import public_certificate, public_table
from blindcal.deciding.recorded_pools import PoolRows, RecordedPeople
from blindcal.io.atomic_files import ADVICE, CERTIFICATE, DECISIONS
from blindcal.planning.request import Request, recorded_request
from blindcal.pools.candidates import union
from blindcal.posterior.conference import LevelByTrack
from blindcal.posterior.this_year_evidence import LevelModel
from blindcal.posterior.this_year_inputs import EVIDENCE_FILE, model_of_json
from blindcal.reviews import original_scores

Reference = tuple[int, str]
"""A decision: release, paper id."""
_T = TypeVar("_T")


@dataclass(frozen=True)
class PaperRecord:
    """One paper of a record: its public facts, its reviewers and its decision.

    Secret fields are not in its `repr`, because notebooks and logs keep what they print.
    """

    paper: str  # id of the paper
    release: int  # the release that drew the coin
    earlier: tuple[Reference, ...]  # earlier decisions about its reviews, under any name
    public: Mapping[str, Any]  # its public facts
    reviewers: tuple[str, ...] = field(repr=False)  # its reviewers
    secret: int = field(repr=False)  # index of the tuple of reviewers in its table
    # Exact accept probability under the true reviewers, numerator and denominator in hexadecimal; with it, a
    # holder of the key can draw the coin again
    probability: tuple[str, str] = field(repr=False)
    # The private decision; confidential if a number of papers was requested
    accepted: bool = field(repr=False)
    # 1 if the mean score accepts the paper, 0 if not; at a tie, the share of the tied papers that fits
    raw_accepted: float
    figures: Mapping[str, Any]  # its claim and its expected errors
    corrected: bool = False  # whether its pools or calibration were corrected since

    def __post_init__(self) -> None:
        object.__setattr__(self, "earlier", tuple((int(n), p) for n, p in self.earlier))


@dataclass(frozen=True)
class Record:
    """The confidential record of one release: enough to return, amend and audit it."""

    conference: str  # name of the conference
    release: int  # number of the release of that conference, from 1
    reason: str = field(repr=False)  # the chair's reason for an amendment; else empty
    settings: Mapping[str, Any]  # settings of the request, as they enter the coins
    bar: LevelByTrack  # quality from which accepting is right, or one per track
    commitment: str  # the commitment to key and input
    # For each paper its public facts, its reviewers and its decision
    papers: tuple[PaperRecord, ...] = field(repr=False)
    fit: Mapping[str, Any]  # how well the calibration predicts the scores, as in the certificate
    decisions: str = field(repr=False)  # full text of `decisions.csv`; `published` has the public text
    certificate: str = field(repr=False)  # full text of `certificate.json`; `published` has the public text
    # If a number of papers was requested: `accept`, `wait_list` and the `cuts` of the final list, which are
    # those of the first release; else None
    selection: Mapping[str, Any] | None = field(default=None, repr=False)
    scores: str = "public"  # "public" or "confidential"
    # What all papers share if they are decided by this year's evidence; else None
    model: Mapping[str, Any] | None = field(default=None, repr=False)
    publishes: str = "decisions"  # or "advice"

    @cached_property
    def level_model(self) -> LevelModel | None:
        """What all papers share, frozen with the first release."""
        return None if self.model is None else model_of_json(self.model)

    @property
    def given(self) -> dict[str, int] | None:
        """The level of evidence of each paper, if another method made it."""
        made = self.settings.get("source") == EVIDENCE_FILE
        return {paper.paper: paper.secret for paper in self.papers} if made else None

    @property
    def frozen(self) -> dict[str, Any]:
        """What later releases keep of this one, as `Request.prepared` takes it."""
        return {"frozen": self.bar, "model": self.level_model, "standing": self.given}

    @property
    def published(self) -> dict[str, str]:
        """The public files by name; if scores are confidential, the parts that do not depend on them."""
        readers = self.scores, self.publishes
        name = ADVICE if self.publishes == "advice" else DECISIONS
        tables = {name: text} if (text := public_table(self.decisions, *readers)) else {}
        return {**tables, CERTIFICATE: public_certificate(self.certificate, *readers)}

    @property
    def request(self) -> Request:
        """The request of this release."""
        return recorded_request(self.conference, self.settings, self.selection, self.scores, self.publishes)

    @property
    def grid(self) -> list[float]:
        """The grid of scores, on the scale of the reviews; empty if any number is a score."""
        return original_scores(self.papers[0].public["grid"] or (), self.settings["better"])


def record_json(record: Record) -> bytes:
    """The bytes of a record, with everyone in a pool once."""
    pools: list[PoolRows] = [paper.public["pool"] for paper in record.papers]
    people = sorted(union([pool.people for pool in pools]))
    everyone = RecordedPeople.of([[name, *parameters] for name, parameters in people])
    papers = [
        {**_by_field(paper), "public": {**paper.public, "pool": everyone.encoded(pool)}}
        for paper, pool in zip(record.papers, pools, strict=True)
    ]
    content = {**_by_field(record), "papers": papers, "people": everyone.rows}
    return json.dumps(content, sort_keys=True, allow_nan=False).encode()


def _by_field(part: Any) -> dict[str, Any]:
    # Not `asdict`, which copies every number.
    return {each.name: getattr(part, each.name) for each in fields(part)}


def record_of(data: bytes) -> Record:
    """The record in these bytes; a ValueError or its like if they are not as they are written."""
    content = json.loads(data)
    everyone = RecordedPeople.of(content.pop("people"))
    for paper in content["papers"]:
        paper["public"]["pool"] = everyone.decoded(paper["public"]["pool"])
    people = sorted(union([paper["public"]["pool"].people for paper in content["papers"]]))
    if [[name, *parameters] for name, parameters in people] != everyone.rows:
        raise ValueError("people must be those of the pools, sorted")
    papers = [_from_json(PaperRecord, paper) for paper in content["papers"]]
    return _from_json(Record, {**content, "papers": papers})


def _from_json(kind: type[_T], content: Mapping[str, Any]) -> _T:
    return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in content.items()})


def pack(policies: PolicyTables) -> bytes:
    """Tables as one part: a line of JSON with the size of each, then their compressed integers."""
    index = [
        [
            paper,
            len(table.numerator),
            [[secret, f"{p.numerator:x}", f"{p.denominator:x}"] for secret, p in table.exact],
        ]
        for paper, table in policies.packed.items()
    ]
    blobs = (table.numerator for table in policies.packed.values())
    return b"\n".join([json.dumps(index).encode(), b"".join(blobs)])


def unpack(data: bytes) -> PolicyTables:
    """The tables of a part."""
    index, blobs = data.split(b"\n", 1)
    compressed, offset = {}, 0
    for paper, size, few in json.loads(index):
        exact = tuple((secret, Fraction(int(top, 16), int(bottom, 16))) for secret, top, bottom in few)
        compressed[paper], offset = PackedPolicy(blobs[offset : offset + size], exact), offset + size
    return PolicyTables(compressed)
