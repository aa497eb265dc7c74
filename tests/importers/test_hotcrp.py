"""HotCRP: letters of reviews are not people, and papers come in several forms."""

from __future__ import annotations

import json

import pytest

from blindcal.errors import InputError
from blindcal.importers import import_reviews
from blindcal.importers.raw_export import Choices
from exports import BY_NAME, packed, refused, rows


def test_hotcrp_letters_of_reviews_are_not_people() -> None:
    data = b"paper,title,review,OveMer\n1,W,1A,3\n1,W,1B,4\n2,X,2A,3\n"
    refused(data, "letters such as 1A only number the reviews. Download as a chair")
    reviews = [{"object": "review", "pid": 1, "rid": 7, "ordinal": "A", "OveMer": 4}]
    refused(
        json.dumps({"ok": True, "reviews": reviews}).encode(), "letters such as 1A only number the reviews"
    )


def test_metareviews_alone_are_refused() -> None:
    reviews = [{"object": "review", "pid": 1, "rid": 7, "rtype": 5, "reviewer_email": "a@x.org", "OveMer": 4}]
    refused(json.dumps({"reviews": reviews}).encode(), "must hold reviews, found metareviews alone")


def test_a_batch_without_papers_is_refused() -> None:
    refused(b"pid,review,email,field,format,data\n1,1A,a,OveMer,,3\n", "run the batch script without -x")


def test_papers_of_hotcrp_may_come_as_a_list_or_in_a_zip() -> None:
    export = BY_NAME["hotcrp/rqc-letters.json"]
    papers = json.dumps(json.loads(export.data)["papers"]).encode()
    refused(papers, "letters and words need their order")
    listed = import_reviews(papers, "x", Choices(best_first=("A", "B", "C", "D")))
    assert rows(listed) == rows(export.read())
    assert rows(import_reviews(packed({"rqc.json": export.data}), "x")) == rows(export.read())
    form = json.loads(export.data)
    form["reviewform"]["OveMer"]["symbols"] = ["A", "B", "C", "D"]
    assert [row["score"] for row in rows(export.read(json.dumps(form).encode()))] == ["2", "4", "1"]
    form["reviewform"]["OveMer"] = {"values": []}
    with pytest.raises(InputError, match="letters and words need their order"):
        export.read(json.dumps(form).encode())
