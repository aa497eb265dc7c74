"""What no importer takes, and what it says to do instead."""

from __future__ import annotations

import gzip
import json
import zipfile

import pytest

from exports import BY_NAME, SYSTEMS, packed, refused

AVERAGES = "this table has only averages for each paper"
SUBMISSIONS = "this is the list of submissions"
CONFLICTS = "must hold reviews: this is a list of conflicts, for --as conflicts"
PREFERENCES = "must hold reviews: this is a list of preferences"
BOTH = "must hold reviews: this is a list of preferences and conflicts, for --as conflicts"
AUTHORS = "must hold reviews: this is a list of authors"
PAIRS = "must hold reviews: this lists papers and people. Give --as conflicts if"
UNKNOWN = "must be an export that is recognized"
LETTERS = "letters such as 1A only number the reviews. Download as a chair"
ORDER = "letters and words need their order. Give it with `best_first`"
ARCHIVE = "must be a whole zip or .xlsx file"
UNIQUE = "must be the only table of its kind in the file: save the one to import alone (two years"

NOTE = {"forum": "f", "signatures": ["~A1"], "content": {"rating": 3}}
KINDS = [
    {**NOTE, "id": kind, "invitation": f"V/Paper1/-/{kind}"} for kind in ("Senior_Review", "Junior_Review")
]
YEARS = [
    {**NOTE, "invitations": [f"CONF.cc/{year}/Conference/Submission1/-/Official_Review"]}
    for year in (2025, 2026)
]
METAREVIEW = {"object": "review", "pid": 1, "rid": 7, "rtype": 5, "reviewer_email": "a@x.org", "OveMer": 4}
NUMBERED = {"object": "review", "pid": 1, "rid": 7, "ordinal": "A", "OveMer": 4}
TABLE = b"paper,reviewer,score\n1,a,1\n2,a,2\n"
EASYCHAIR = b"submission #,member #,member name,scores\n1,3,Ada,Score: 1\n"
WORDS = "paper,reviewer,score\n1,Zoë,3\n2,Zoë,4\n"
SMALL = packed({"a.csv": TABLE})
LARGE = packed({"a.csv": b"paper,reviewer,score\n" + b"1,a,1\n" * 1_000})


def shown(*problems: tuple[bytes | object, str]) -> list[tuple[bytes, str]]:
    """The cases; what is not bytes is written as JSON."""
    return [(data if isinstance(data, bytes) else json.dumps(data).encode(), rule) for data, rule in problems]


REFUSED = shown(
    # No file of a system, or none that holds reviews.
    (b"", "must not be empty"),
    (b" \n\n", "must not be empty"),
    (b"a,b,c\n1,2,3\n", UNKNOWN),
    (b"{}", UNKNOWN),
    (b"[]", UNKNOWN),
    (b'[1, [2], "x"]', UNKNOWN),
    (b"%PDF-1.7", "must be an export with one row per review, found a PDF file"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "must be saved again as .xlsx or CSV"),
    (b"<!DOCTYPE html><html>", "must be an export and not a web page"),
    (b'{"a": 1, "a": 2}', "must not repeat a key"),
    (b'{"a": NaN}', "must hold finite numbers only"),
    (b"[" * 100_000, "must be JSON within the limits of depth and size"),
    (b'{"notes": ', "must be JSON"),
    (
        b"number,forum,title,num reviewers,num submitted reviewers,min rating,max rating,average rating\n"
        b"1,aB,On Widgets,3,3,4,8,6.33\n",
        AVERAGES,
    ),
    (b"Paper ID,Average Score\n1,2.5\n", AVERAGES),
    (b"Paper ID,Paper Title,Status,Reviewers\n1,W,Accept,a\n", SUBMISSIONS),
    (b"#,title,authors,decision\n1,W,A,accept\n", SUBMISSIONS),
    (
        b"submission #,member #,member name,recommendation,text,PC-only part\n1,1,A,accept,,\n",
        "this is a list of metareviews",
    ),
    (b"first,last,email,roles,tags\nAda,Byron,a@b.c,pc,\n", "this is a list of people"),
    (b"paper_id,reviewer_id,probability\n1,a,1\n", "must hold scores: this table has papers and reviewers"),
    (b"paper,reviewer\n1,a,1\n", PAIRS),
    (b"Paper ID,Paper Title,Reviewer Email\n1,a,1\n", PAIRS),
    (b"member #,member name,submission #\n1,a,1\n", PAIRS),
    # What else lies in the same menus: HotCRP, EasyChair, CMT, OpenReview, blindcal itself.
    (b"paper,title,preference\n1,On Widgets,3\n", PREFERENCES),
    (b"paper,conflict\n1,ada\n", CONFLICTS),
    (
        b"submission #,first name,last name,email,country,affiliation,Web page,person #,corresponding?\n"
        b"1,A,B,a@x.org,UK,,,4,yes\n",
        AUTHORS,
    ),
    (b"member #,member name,submission #,bid\n1,Ada,3,yes\n", PREFERENCES),
    (b"member #,member name,submission #,conflict\n1,Ada,3,yes\n", CONFLICTS),
    (b"Paper ID\tPaper Title\tReviewer Email\tBid\n1\tW\ta@x.org\tEager\n", PREFERENCES),
    (b"Paper ID\tReviewer Email\tConflict\n1\ta@x.org\tAdvisor\n", CONFLICTS),
    (b"Paper ID\tPaper Title\tAuthor Names\tAuthor Emails\n1\tT\tA\ta@x.org\n", AUTHORS),
    ({"edges": [{"invitation": "X/Reviewers/-/Conflict", "head": "f1", "tail": "~A1"}]}, CONFLICTS),
    ([{"invitation": "X/Reviewers/-/Bid", "head": "f1", "tail": "~A1", "label": "High"}], PREFERENCES),
    ((SYSTEMS / "hotcrp-3.4-authors.csv").read_bytes(), AUTHORS),
    ((SYSTEMS / "hotcrp-3.4-pcconf.csv").read_bytes(), CONFLICTS),
    ((SYSTEMS / "hotcrp-3.4-allrevpref.csv").read_bytes(), BOTH),
    ((SYSTEMS / "hotcrp-3.4-pcassignments.csv").read_bytes(), "must hold reviews: this is a bulk assignment"),
    ((SYSTEMS / "hotcrp-3.4-pcinfo.csv").read_bytes(), "must hold reviews: this is a list of people"),
    (
        (SYSTEMS / "openreview-neurips2023-people.csv").read_bytes(),
        "must hold reviews: this says who is behind ids, for `map`",
    ),
    ([{"is_reviewer": True, "members": []}], "must hold reviews: this is pretalx's list of teams"),
    # Reviews by nobody: letters and numbers of reviews are not people.
    (b"paper,overall\n1,4\n", "must say who the reviewers are"),
    (b"paper,title,OveMer\n1,W,3\n", "there is no column for them. Export as a chair"),
    (b"paper,title,review,OveMer\n1,W,1A,3\n1,W,1B,4\n2,X,2A,3\n", LETTERS),
    ({"ok": True, "reviews": [NUMBERED]}, LETTERS),
    (
        b"Paper ID\tReviewer Number\tQ1 (Overall - Value)\n1\t1\t3\n1\t2\t4\n2\t1\t3\n",
        "must have the column Reviewer Email: Reviewer Number only counts the reviews of a paper",
    ),
    (b"submission #,member #,version,scores\n1,3,1,Score: 1\n", "the column member name"),
    ([{"submission": "A", "user": None, "score": "1"}], "fetch as an organizer who may see reviewers"),
    (b"paper,reviewer,score\n1,a,1\n1,b,2\n2,c,3\n", "no id occurs twice"),
    # Reviews that cannot be told apart, or not be used.
    ({"reviews": [METAREVIEW]}, "must hold reviews, found metareviews alone"),
    (b"pid,review,email,field,format,data\n1,1A,a,OveMer,,3\n", "run the batch script without -x"),
    (KINDS, "must hold one kind of reviews: leave the others out"),
    (YEARS, "must be of one year, found 2025, 2026: two years in one file?"),
    (b"paper,reviewer,score\n1,ada,2\n2,ada,3\n1,ada,4\n", "found row 2's: two years in one file?"),
    (packed({"2025/review.csv": EASYCHAIR, "2026/review.csv": EASYCHAIR}), UNIQUE),
    (
        packed({"old.csv": TABLE, "new.csv": TABLE}),
        "x.csv: new.csv, row 1: must be the only table of its kind",
    ),
    (
        b"paper,reviewer,score,round\n1,a,1,R1\n1,a,2,R2\n2,a,3,R1\n",
        "row 3, column reviewer: must not repeat an earlier row's paper and reviewer, found row 2's from",
    ),
    (
        b"paper,reviewer,score,points\n1,a,1,2\n2,a,3,4\n",
        "row 1, column score: must have one column for it: say which with `columns` score=",
    ),
    (b"paper,reviewer,score\n1,a,Accept\n1,b,Weak Accept\n2,a,reject\n", ORDER),
    (json.loads(BY_NAME["hotcrp/rqc-letters.json"].data)["papers"], ORDER),
    (b"paper,reviewer,score\n1,a,'-2\n2,a,1\n", "row 2, column score: must be a number"),
    # Archives that are broken or unusual, and texts in no encoding.
    (SMALL[:-30], ARCHIVE),
    (SMALL.replace(SMALL[40:44], b"\xff\xff\xff\xff", 1), ARCHIVE),
    (LARGE.replace((6_021).to_bytes(4, "little"), (600).to_bytes(4, "little")), f"{ARCHIVE}, found damage"),
    (packed({"a.csv": b"x"}, zipfile.ZIP_BZIP2), "must be packed plainly"),
    (packed({"a.pdf": b"x"}), "must hold a CSV, TSV or JSON file"),
    (packed({"a.json": b"[]", "b.json": b"[]"}), "must hold one JSON file or only tables"),
    (packed({f"{i}.csv": b"" for i in range(2_001)}), "must have at most 2,000 parts"),
    (packed({"xl/workbook.xml": b"<workbook/>"}), "must be a whole .xlsx workbook"),
    (gzip.compress(b"x")[:-4], "must be a whole gzip file, found its end missing"),
    (gzip.compress(b"x") + b"y" * 20, "must be a whole gzip file, found damage"),
    (gzip.compress(gzip.compress(b"x")), "must be packed once"),
    (
        WORDS.encode().replace("ë,4".encode(), b"\xeb,4"),
        "x.csv, row 3: must be UTF-8 text throughout, found byte",
    ),
    (WORDS.replace("ë", "e").encode().replace(b"4", b"\x81"), "must be Windows-1252 text throughout"),
    (WORDS.encode("utf-16")[:-1], "must be UTF-16 text throughout"),
    (WORDS.encode("utf-32"), "must be UTF-8, UTF-16 or Windows-1252 text"),
    (WORDS.encode().replace(b"3", b"\0"), "must have no NUL characters"),
)


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_what_cannot_be_used_is_refused_with_what_to_do(case: int) -> None:
    refused(*REFUSED[case])
