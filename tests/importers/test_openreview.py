"""OpenReview: invitations of all years, kinds of reviews, versions of one note."""

from __future__ import annotations

import json

import pytest

from blindcal.errors import InputError
from blindcal.importers import import_reviews
from exports import BY_NAME, rows


@pytest.mark.parametrize(
    "invitation", ["/-/Paper{}/Official_Review", "/-/paper{}/official/review", "/Paper{}/-/Official_Review"]
)
def test_invitations_of_all_years(invitation: str) -> None:
    notes = [
        {
            "id": f"n{i}", "forum": f"f{paper}", "replyto": f"f{paper}", "signatures": ["~Ada_Byron1"],
            "invitation": "ICX.cc/2017/x" + invitation.format(paper), "content": {"rating": f"{i}: x"},
        }
        for i, paper in enumerate((12, 15))
    ]  # fmt: skip
    imported = import_reviews(json.dumps({"notes": notes}).encode(), "x")
    assert rows(imported) == [
        {"paper": "12", "reviewer": "~Ada_Byron1", "score": "0"},
        {"paper": "15", "reviewer": "~Ada_Byron1", "score": "1"},
    ]


def test_versions_of_one_note_must_agree() -> None:
    export = BY_NAME["openreview/recommendation-2022.jsonl"]
    first = export.data.split(b"\n")[0]
    assert rows(export.read(first + b"\n" + export.data)) == rows(export.read())
    with pytest.raises(InputError, match="must not hold two versions of one note"):
        export.read(first.replace(b"8: accept", b"3: reject") + b"\n" + export.data)
