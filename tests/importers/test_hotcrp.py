"""HotCRP: papers come in several forms."""

from __future__ import annotations

import json

import pytest

from blindcal.errors import InputError
from blindcal.importers import import_reviews
from blindcal.importers.raw_export import Choices
from exports import BY_NAME, packed, rows


def test_papers_of_hotcrp_may_come_as_a_list_or_in_a_zip() -> None:
    export = BY_NAME["hotcrp/rqc-letters.json"]
    papers = json.dumps(json.loads(export.data)["papers"]).encode()
    listed = import_reviews(papers, "x", Choices(best_first=("A", "B", "C", "D")))
    assert rows(listed) == rows(export.read())
    assert rows(import_reviews(packed({"rqc.json": export.data}), "x")) == rows(export.read())
    form = json.loads(export.data)
    form["reviewform"]["OveMer"]["symbols"] = ["A", "B", "C", "D"]
    assert [row["score"] for row in rows(export.read(json.dumps(form).encode()))] == ["2", "4", "1"]
    form["reviewform"]["OveMer"] = {"values": []}
    with pytest.raises(InputError, match="letters and words need their order"):
        export.read(json.dumps(form).encode())
