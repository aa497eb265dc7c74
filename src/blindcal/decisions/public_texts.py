"""The texts of a release -> those that are published: all of them, or what does not depend on the scores.

Where scores are confidential, a reader of the public files learns the decisions and what was requested, and
no figure that the scores enter. The full texts are in the sealed record, for the chair and an auditor.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

from blindcal.files.disk import jsonable
from blindcal.files.tables import quoted

CONFIDENTIAL = "confidential"
_COLUMNS = ("paper", "decision", "track", "wait_list")
_FIELDS = (
    "format",
    "scores",
    "conference",
    "release",
    "papers",
    "reviews",
    "accepted",
    "better",
    "requested",
    "pools",
    "guarantee",
    "limits",
    "commitment",
    "key_fingerprint",
    "release_counter",
)
_PARTS = {
    "selection": ("accept", "wait_list", "waiting", "bar_for"),
    "decided_again": ("papers", "corrected"),
}
# Of the assumptions, those that speak of no figure.
_KEPT = ("One paper at a time", "One place on the list", "Fixed beforehand", "Not covered")
HIDDEN = (
    "Scores are confidential: apart from the decisions, nothing here depends on them. The chance of naming "
    "an author, the bar, expected errors and what the decision on each paper reveals at most are in the "
    "sealed record, for the chair and an auditor.",
    "Against whom: the guarantee and its limits are kept for someone who sees all scores and decisions and "
    "knows this method, how each reviewer scores and who may have reviewed each paper. They limit what a "
    "decision reveals to such a person beyond the scores.",
    "To someone who does not see the scores, a decision says something about them, and through them about "
    "reviewers: their best guess and their odds may change by more than the guarantee and epsilon say. They "
    "still name authors no more often than someone who sees the scores too, and a limit on how sure anyone "
    "can be (posterior_cap) holds for them as well, if they have the stated pools and nothing more to go by.",
    "Decided more than once: each decision on a paper keeps the limits, and several reveal more than one.",
)


def public_decisions(text: str, scores: str) -> str:
    """The table of decisions that is published; without what mean scores say if `scores` are confidential.

    >>> public_decisions("paper,decision,raw_decision,advice\\n17,accept,reject,raise\\n", "confidential")
    'paper,decision\\n17,accept\\n'
    """
    if scores != CONFIDENTIAL:
        return text
    header, *rows = csv.reader(io.StringIO(text))
    places = [place for place, name in enumerate(header) if name in _COLUMNS]
    return "".join(",".join(quoted(row[place]) for place in places) + "\n" for row in (header, *rows))


def public_certificate(text: str, scores: str) -> str:
    """The certificate that is published; without any figure that the scores enter if they are confidential.

    >>> full = json.dumps({"papers": 2, "success": 0.4, "guarantee": "steady", "assumptions": []})
    >>> sorted(json.loads(public_certificate(full, "confidential")))
    ['assumptions', 'guarantee', 'papers']
    """
    if scores != CONFIDENTIAL:
        return text
    content: Mapping[str, Any] = json.loads(text)
    kept: dict[str, Any] = {name: content[name] for name in _FIELDS if name in content}
    for name, inside in _PARTS.items():
        if name in content:
            kept[name] = {part: content[name][part] for part in inside}
    kept["assumptions"] = [*HIDDEN, *(one for one in content["assumptions"] if one.startswith(_KEPT))]
    return certificate_json(kept)


def certificate_json(content: Mapping[str, Any]) -> str:
    """A certificate as it is written."""
    plain = jsonable(content)
    return json.dumps(plain, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
