"""Papers that a system shows as decided: known by each importer, so that they are not decided again."""

from __future__ import annotations

import json
from collections.abc import Mapping

from blindcal.importers import import_reviews
from exports import SYSTEMS, packed


def withdrawn(data: bytes) -> Mapping[str, str]:
    return import_reviews(data, "x").withdrawn


def warnings(data: bytes) -> str:
    return "\n".join(import_reviews(data, "x").warnings)


def scores(*decisions: str) -> bytes:
    lines = [f"{paper},P{paper},{word},ada@x.org,{paper}" for paper, word in enumerate(decisions, start=1)]
    return "\n".join(["paper,title,decision,email,OveMer", *lines, ""]).encode()


def test_the_scores_of_hotcrp_show_decisions_in_the_words_of_the_site() -> None:
    assert withdrawn(scores("Early reject", "Accept;  as talk", "", "Desk rejected")) == {
        "1": "decided already (Early reject)",
        "2": "decided already (Accept; as talk)",
        "4": "desk rejected",
    }


def test_the_json_of_hotcrp_tells_decisions_from_words_that_leave_a_paper_open() -> None:
    """A decision may be of the class maybe, such as Discuss; then the status stays submitted."""
    export = json.loads((SYSTEMS / "hotcrp-3.4-jsonrqc-metareview-round.json").read_text(encoding="utf-8"))
    states = [("submitted", "Discuss"), ("reject", "Early reject"), ("desk_reject", "Out of scope")]
    states += [("withdrawn", "Accepted"), ("deskrejected", ""), ("reject", "Desk reject")]
    states += [("submitted", "")] * (len(export["papers"]) - len(states))
    for paper, (status, decision) in zip(export["papers"], states, strict=True):
        paper |= {"status": status, "decision": decision}
    desk = dict.fromkeys(("3", "5", "6"), "desk rejected")
    early = "decided already (Early reject)"
    assert withdrawn(json.dumps(export).encode()) == {"2": early, "4": "withdrawn", **desk}


def test_exports_of_hotcrp_that_show_no_decision_say_so() -> None:
    """Scores without the column have no decision; the reviews never have one, nor has the API's JSON."""
    told = "does not say which papers were withdrawn, desk rejected or decided already"
    assert f"HotCRP's CSV of reviews {told}" in warnings((SYSTEMS / "hotcrp-3.4-revcsv.csv").read_bytes())
    batch = b"pid,review,email,round,Overall merit\n1,1A,a@x.org,,3\n2,2A,a@x.org,,4\n"
    assert f"HotCRP's CSV of reviews {told}" in warnings(batch)
    review = {"object": "review", "rid": 1, "status": "complete", "reviewer_email": "a@x.org"}
    reviews = [{**review, "pid": paper, "OveMer": paper} for paper in (1, 2)]
    answer = json.dumps({"ok": True, "reviews": reviews}).encode()
    assert f"HotCRP's JSON of reviews {told}" in warnings(answer)
    for data in ((SYSTEMS / "hotcrp-3.4-scores.csv").read_bytes(), scores("Early reject", "")):
        assert told not in warnings(data)
        assert "HotCRP's table of scores does not say which papers were withdrawn" in warnings(data)


def test_easychair_shows_decisions_and_deletions_beside_the_submissions() -> None:
    reviews = "submission #,member #,member name,version,scores\n"
    reviews += "".join(f"{paper},3,Ada,1,Score: {paper}\n" for paper in range(1, 8))
    words = ("reject,no", "no decision,no", "accept?,no", ",no", "desk reject,no", "ACCEPT,no", "accept,Yes")
    submissions = "#,title,authors,decision,deleted?\n99,No reviews,A,reject,no\n"
    submissions += "".join(f"{paper},T{paper},A,{word}\n" for paper, word in enumerate(words, start=1))
    assert withdrawn(packed({"review.csv": reviews.encode(), "submission.csv": submissions.encode()})) == {
        "1": "decided already (reject)",
        "5": "desk rejected",
        "6": "decided already (ACCEPT)",
        "7": "deleted",
    }, "with a question mark it is a proposal"


def test_openreview_shows_decisions_as_notes() -> None:
    def note(paper: int, kind: str, **content: object) -> dict[str, object]:
        return {
            "id": f"{kind}{paper}",
            "forum": f"f{paper}",
            "invitations": [f"ICX.cc/2027/Conference/Submission{paper}/-/{kind}"],
            "signatures": ["~Ada_Byron1"],
            "content": {name: {"value": value} for name, value in content.items()},
        }

    reviews = [note(paper, "Official_Review", rating=paper) for paper in (1, 2, 3)]
    decision, comment = note(2, "Decision", decision="Accept (Poster)"), note(3, "Comment", decision="x")
    notes = [*reviews, decision, comment]
    assert withdrawn(json.dumps(notes).encode()) == {"2": "decided already (Accept (Poster))"}


def test_a_decision_of_any_length_is_one_short_line() -> None:
    why = withdrawn(scores("Reject " * 40, ""))["1"]
    assert len(why) < 90
    assert why.startswith("decided already (Reject Reject ")
