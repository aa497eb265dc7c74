"""Exports as the real programs wrote them (tests/data/systems): what is read of each, and what left out."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import pytest

from blindcal.errors import InputError
from blindcal.importers import import_reviews
from blindcal.importers.hotcrp import read_metareviews
from blindcal.importers.normalize import Imported
from blindcal.importers.open import open_export
from blindcal.importers.people import read_codes, read_conflicts, read_map, read_people
from blindcal.importers.raw_export import WITHDRAWN, Choices
from blindcal.io.cells import natural_key
from exports import SYSTEMS

T = TypeVar("T")


def data(name: str) -> bytes:
    return (SYSTEMS / name).read_bytes()


class Read(NamedTuple):
    """What is read of a file: reviews, papers and reviewers; conflicts beside them (`inside`); conflicts and
    people, where it is given as such a list; None if it is refused. `left` is left out, beside columns."""

    reviews: tuple[int, int, int] | None
    inside: int = 0
    conflicts: int | None = None
    people: int | None = None
    left: tuple[str, ...] = ()
    score_field: str | None = None


ALL = (90, 30, 20)
META = "{}: they sum up reviews and are none themselves"
FILES = {
    "hotcrp-3.4-allrevpref.csv": Read(None, conflicts=60),
    "hotcrp-3.4-authors.csv": Read(None),
    "hotcrp-3.4-jsonrqc-metareview-round.json": Read(
        (92, 30, 21), inside=60, conflicts=60, left=(META.format("1 metareview"),)
    ),
    "hotcrp-3.4-pcassignments.csv": Read(None),
    "hotcrp-3.4-pcassignments-metareviews.csv": Read(None),
    "hotcrp-3.4-scores-metareviews.csv": Read((93, 30, 20)),
    "hotcrp-3.4-pcconf.csv": Read(None, conflicts=60),
    "hotcrp-3.4-pcinfo.csv": Read(None, people=20),
    "hotcrp-3.4-revcsv.csv": Read(ALL),
    "hotcrp-3.4-scores-past.csv": Read(ALL),
    "hotcrp-3.4-scores-shortrows.csv": Read(ALL, score_field="OveMer"),
    "hotcrp-3.4-scores.csv": Read(ALL),
    "openreview-neurips2023-people.csv": Read(None),
    "openreview-py-2.9.1-neurips2023-labels.json": Read(
        ALL, left=(META.format("30 metareviews"), "30 Official_Comment: no reviews")
    ),
    "pretalx-2025.2.2-api.json": Read(ALL, left=("1 review without a score left out (row 91)",)),
    "pretalx-2025.2.2-export.csv": Read(ALL, left=("1 review without a score left out (row 5)",)),
    "pretalx-2025.2.2-export.json": Read(ALL, left=("1 review without a score left out (row 4)",)),
}


def test_every_file_of_the_systems_is_in_the_table() -> None:
    there = {path.name for path in SYSTEMS.iterdir() if path.suffix in (".csv", ".json")}
    assert there == FILES.keys()


@pytest.mark.parametrize("name", FILES)
def test_what_is_read_of_each_file_and_what_is_left_out(name: str) -> None:
    expected = FILES[name]
    known = "openreview-py" in name
    people = read_map(data("openreview-neurips2023-people.csv"), "people.csv") if known else None
    choices = Choices(score_field=expected.score_field, people=people)
    imported = attempt(lambda: import_reviews(data(name), name, choices))
    conflicts = attempt(lambda: read_conflicts(data(name), name)[0])
    committee = attempt(lambda: read_people(data(name), name))
    if imported is not None:
        reviews = imported.reviews
        assert (len(reviews), len(reviews.papers), len(reviews.reviewers)) == expected.reviews
        assert len(imported.conflicts) == expected.inside
        said = [*map(str, imported.dropped), *imported.warnings]
        counts = [line for line in said if line[0].isdigit()]
        assert counts == [*expected.left]
        reasons = {why.partition(" (")[0] for why in imported.withdrawn.values()}
        assert reasons <= {"decided already", *WITHDRAWN}
    found = (imported and expected.reviews, conflicts and len(conflicts), committee and len(committee))
    assert found == (expected.reviews, expected.conflicts, expected.people)


def attempt(read: Callable[[], T]) -> T | None:
    try:
        return read()
    except InputError:
        return None


def test_rows_without_their_empty_last_cells_are_whole() -> None:
    """HotCRP omits empty cells at the end of a row."""
    name = "hotcrp-3.4-scores-shortrows.csv"
    later = import_reviews(data(name), name, Choices(score_field="PosRebMer"))
    assert len(later.reviews) < 90
    assert f"{90 - len(later.reviews)} reviews without a score left out" in later.warnings[-1]


def test_a_last_row_that_may_be_cut_is_refused() -> None:
    name = "hotcrp-3.4-scores.csv"
    cut = data(name)[: data(name).rindex(b",")].rstrip(b"\n")
    with pytest.raises(InputError, match=r"row 91: must have 7 cells like the header, found 6"):
        import_reviews(cut, name)


def test_conflicts_are_those_of_the_people_named() -> None:
    """60 of 20 people in each shape, and nobody called "conflict"."""
    plain, _ = read_conflicts(data("hotcrp-3.4-pcconf.csv"), "pcconf.csv")
    words, _ = read_conflicts(data("hotcrp-3.4-allrevpref.csv"), "allrevpref.csv")
    papers, what = read_conflicts(data("hotcrp-3.4-jsonrqc-metareview-round.json"), "rqc.json")
    assert plain == words == papers
    assert what == "HotCRP's JSON of papers"
    committee = read_people(data("hotcrp-3.4-pcinfo.csv"), "pcinfo.csv")
    assert {who for _, who in plain} <= committee.keys()


def test_preferences_without_a_conflict_are_none() -> None:
    more = b"1,W,Ada,Byron,ada@example.edu,,5\n1,W,Bo,Chen,bo@example.edu\n"
    pairs, what = read_conflicts(data("hotcrp-3.4-allrevpref.csv") + more, "allrevpref.csv")
    assert (len(pairs), what) == (60, "a list of conflicts: 2 rows that are no conflict left out")


def test_emails_that_differ_in_capitals_are_one_person() -> None:
    """One of HotCRP's people is Eva.Fermi@Example.EDU in one file; others write her otherwise."""
    eva = "eva.fermi@example.edu"
    now, past = data("hotcrp-3.4-scores.csv"), data("hotcrp-3.4-scores-past.csv")
    tables = (now, past, now.replace(b"@example.edu", b"@EXAMPLE.edu"))
    years = [import_reviews(table, "scores.csv").reviews.reviewers for table in tables]
    assert years[0] == years[1] == years[2]
    assert eva in years[0]
    assert eva in read_people(b"email\nEVA.Fermi@example.edu\neva.fermi@example.edu\n", "pc.csv")
    assert read_conflicts(b"paper,conflict\n1,Eva.Fermi@Example.EDU\n", "c.csv")[0] == (("1", eva),)
    assert read_map(b"signature,profile_id\nx,Eva.Fermi@Example.EDU\n", "map.csv") == {"x": eva}
    assert read_codes(b"code,reviewer\nR001,Eva.Fermi@Example.EDU\n", "codes.csv") == {eva: "R001"}
    joined = Choices(people={"Eva.Fermi@Example.EDU": "~Eva_Fermi1"})
    assert "~Eva_Fermi1" in import_reviews(now, "x", joined).reviews.reviewers


def test_ordinary_numbers_of_reviews_raise_no_doubt() -> None:
    """A CSV has no word of types of reviews; of 93 reviews in the JSON, one is said to be a metareview."""
    name = "hotcrp-3.4-jsonrqc-metareview-round.json"
    imported = import_reviews(data(name), name)
    assert ("1", "ada@example.edu") not in {*zip(*list(imported.reviews.columns().values())[:2], strict=True)}
    assert not any("metareviews" in line for line in imported.warnings)
    for table in ("scores", "revcsv", "scores-past", "scores-shortrows"):
        field = "OveMer" if table == "scores-shortrows" else None
        said = import_reviews(data(f"hotcrp-3.4-{table}.csv"), "x.csv", Choices(score_field=field)).warnings
        assert not any("metareviews" in line for line in said)


def test_a_list_of_assignments_says_which_reviews_are_metareviews() -> None:
    """Both files are from HotCRP's pages; three of 93 reviews are metareviews."""
    table = data("hotcrp-3.4-scores-metareviews.csv")
    opened = open_export(data("hotcrp-3.4-pcassignments-metareviews.csv"), "x")
    listed = read_metareviews(opened)
    assert listed is not None
    assert sorted(paper for paper, _ in listed) == ["1", "2", "3"]
    imported = import_reviews(table, "x", Choices(metareviews=listed))
    assert (len(imported.reviews), len(imported.reviews.papers)) == (90, 30)
    assert "3 metareviews: they sum up reviews and are none themselves" in map(str, imported.dropped)
    assert listed.isdisjoint(zip(*list(imported.columns().values())[:2], strict=True))
    for other in ("pcassignments", "pcconf", "scores"):
        none = read_metareviews(open_export(data(f"hotcrp-3.4-{other}.csv"), "x"))
        assert none == (frozenset() if other == "pcassignments" else None), other


def extra(numbers: dict[str, list[int]], usual: int = 2, papers: int = 12) -> bytes:
    """Scores of HotCRP: as many ordinary reviews of each paper, and those of some people on some papers."""
    ordinary = [
        (paper, f"r{(paper + turn * 5) % 9}") for paper in range(1, papers + 1) for turn in range(usual)
    ]
    more = [(paper, who) for who, reviewed in numbers.items() for paper in reviewed]
    rows = [f"{paper},P{paper},{who}@x.org,{(paper + len(who)) % 5}" for paper, who in [*ordinary, *more]]
    return "\n".join(["paper,title,email,OveMer", *rows, ""]).encode()


@pytest.mark.parametrize(
    ("numbers", "doubted"),
    [
        ({}, 0),
        ({"chair": [1, 4, 7]}, 3),
        ({"chair": [1, 4], "other": [7, 8]}, 4),
        ({"chair": list(range(1, 7)), "other": list(range(7, 13))}, 12),
        ({"chair": [1]}, 0),
        ({"r0": [1, 2, 3], "late": [4, 5]}, 0),
    ],
)
def test_metareviews_are_suspected_only_where_numbers_of_reviews_say_so(
    numbers: dict[str, list[int]], doubted: int
) -> None:
    data = extra(numbers)
    told = [line for line in import_reviews(data, "x").warnings if "metareviews" in line]
    assert [line.split(" of them")[0].rpartition(" ")[2] for line in told] == [f"{doubted}"] * (doubted > 0)
    answered = import_reviews(data, "x", Choices(metareviews=frozenset())).warnings
    assert not any("metareviews" in line for line in answered), "a list of assignments answers it"


def test_metareviews_of_the_oldest_venues_are_no_reviews() -> None:
    notes = [
        {
            "id": f"{kind}{paper}", "forum": f"f{paper}", "signatures": [f"~{kind.title()}1"],
            "invitation": f"ICX.cc/2017/x/-/paper{paper}/{kind}/review", "content": {"rating": paper},
        }
        for kind in ("meta", "official", "public") for paper in (1, 2)
    ]  # fmt: skip
    imported = import_reviews(json.dumps(notes).encode(), "x.json")
    assert imported.reviews.reviewers == ("~Official1",)
    assert "2 metareviews: they sum up reviews and are none themselves" in map(str, imported.dropped)
    assert "2 public_review: no reviews" in map(str, imported.dropped)


def openreview(notes: list[dict[str, object]]) -> Imported:
    people = read_map(data("openreview-neurips2023-people.csv"), "people.csv")
    return import_reviews(json.dumps(notes).encode(), "notes.json", Choices(people=people))


def labels() -> list[Any]:
    notes: list[Any] = json.loads(data("openreview-py-2.9.1-neurips2023-labels.json"))
    return notes


def number(note: Any) -> str:
    return str(note["signatures"][0]).split("/Submission")[1].split("/")[0]


def test_papers_that_openreview_calls_withdrawn_are_known_and_their_reviews_stay() -> None:
    notes = labels()
    for place, where in enumerate(
        ("Withdrawn_Submission", "Desk_Rejected_Submission", "Rejected_Submission")
    ):
        notes[place]["content"]["venueid"] = {"value": f"NeurIPS.cc/2023/Conference/{where}"}
    notes[3]["ddate"] = 1700000000000
    imported = openreview(notes)
    expected = dict(zip(map(number, (notes[0], notes[1], notes[3])), WITHDRAWN, strict=True))
    expected |= {number(notes[2]): "decided already (rejected)"}
    assert imported.withdrawn == expected
    assert len(imported.reviews) == 90, "past reviews of such papers still calibrate"
    assert len(imported.reviews.without(imported.withdrawn)) == 78
    assert not {*imported.reviews.without(imported.withdrawn).papers} & expected.keys()


def test_papers_that_the_old_api_calls_withdrawn_are_known() -> None:
    notes: list[dict[str, object]] = []
    for paper, kind in enumerate(("Blind", "Withdrawn", "Desk_Rejected"), start=1):
        known = {"forum": f"f{paper}", "signatures": ["~A1"]}
        notes += [
            {**known, "id": f"f{paper}", "number": paper, "invitation": f"V/-/{kind}_Submission"},
            {**known, "id": f"r{paper}", "invitation": f"V/Paper{paper}/-/Official_Review"}
            | {"content": {"rating": paper}},
        ]
    imported = import_reviews(json.dumps(notes).encode(), "notes.json")
    assert imported.withdrawn == {"2": "withdrawn", "3": "desk rejected"}


def test_a_submission_without_reviews_leaves_all_numbers_as_they_are() -> None:
    """`Note.to_json` has no numbers: they are found in what notes answer, and by whom they are signed."""
    whole = openreview(labels()).reviews.papers
    assert whole == tuple(map(str, range(1, 31)))
    notes, venue = labels(), "NeurIPS.cc/2023/Conference"

    def bare(name: str, signature: str = "~Ada_Byron1", *replies: dict[str, object]) -> dict[str, object]:
        details = {"replies": [*replies]}
        return {**notes[0], "id": name, "forum": name, "details": details, "signatures": [signature]}

    answer = {"id": "z1", "forum": "z", "invitations": [f"{venue}/Submission32/-/Withdrawal"]}
    signed, answered = bare("y", f"{venue}/Submission31/Authors"), bare("z", "~Ada_Byron1", answer)
    twice = bare("w", notes[0]["signatures"][0])
    imported = openreview([bare("x"), signed, answered, twice, *notes])
    assert imported.reviews.papers == whole
    assert imported.titles.keys() == {*whole, "31", "32"}
    assert not any("forum" in line for line in imported.warnings)


def test_papers_go_by_forum_only_if_numbers_of_reviewed_ones_are_unknown() -> None:
    notes = labels()
    for reply in notes[0]["details"]["replies"]:
        reply["invitations"] = ["NeurIPS.cc/2023/Conference/-/Official_Review"]
        reply["signatures"] = ["~Ada_Byron1"]
    notes[0]["signatures"] = ["~Ada_Byron1"]
    notes[0]["details"]["replies"] = notes[0]["details"]["replies"][:1]
    imported = openreview(notes)
    assert imported.reviews.papers == tuple(sorted((note["forum"] for note in notes), key=natural_key))
    assert "decisions cannot go back to OpenReview by file" in imported.warnings[0]


def test_a_numbered_part_of_a_venue_is_no_number_of_a_paper() -> None:
    venue = "NeurIPS.cc/2021/Track/Datasets/Round1"
    text = json.dumps(labels()).replace("NeurIPS.cc/2023/Conference/", f"{venue}/")
    people = {
        key.replace("NeurIPS.cc/2023/Conference/", f"{venue}/"): who
        for key, who in read_map(data("openreview-neurips2023-people.csv"), "people.csv").items()
    }
    imported = import_reviews(text.encode(), "notes.json", Choices(people=people))
    assert imported.reviews.papers == tuple(map(str, range(1, 31)))


def test_signatures_are_those_of_reviewers_whatever_they_are_called() -> None:
    """A venue may call its reviewers Program_Committee; authors and area chairs are no reviewers."""
    text = json.dumps(labels()).replace("/Reviewer_", "/Program_Committee_")
    with pytest.raises(InputError, match="must name a reviewer on several papers"):
        import_reviews(text.encode(), "notes.json")
    people = read_map(data("openreview-neurips2023-people.csv"), "people.csv")
    groups: list[dict[str, object]] = [
        {"id": key.replace("/Reviewer_", "/Program_Committee_"), "members": [who]}
        for key, who in people.items()
    ]
    paper = "NeurIPS.cc/2023/Conference/Submission1"
    others = ("Authors", "Area_Chairs", "Area_Chair_abcd", "Program_Committee")
    groups += [{"id": f"{paper}/{name}", "members": [f"~{name}1"]} for name in others]
    whole = json.dumps({"notes": json.loads(text), "groups": groups}).encode()
    imported = import_reviews(whole, "notes.json")
    assert len(imported.reviews) == 90
    assert {*imported.committee} == {*imported.reviews.reviewers} == {*people.values()}
    some = json.dumps({"notes": json.loads(text), "groups": groups[1:]}).encode()
    with pytest.raises(InputError, match="column signatures: must be in the map of signatures"):
        import_reviews(some, "notes.json")


def test_a_list_of_assignments_is_unescaped_like_any_other_list() -> None:
    """Found by random inputs: an id such as -1, which blindcal writes with an apostrophe, was another one."""
    table = b"paper,action,email\n'-1,metareview,'=a@x.org\n-2,metareview,b@x.org\n"
    listed = read_metareviews(open_export(table, "pcassignments.csv"))
    assert listed == {("-1", "=a@x.org"), ("-2", "b@x.org")}
