"""Who is one person: maps, codes that stand for everyone and lead back, and numbers that are nobody."""

from __future__ import annotations

import contextlib
from random import Random

import pytest

import plain_files
from blindcal.errors import InputError
from blindcal.importers import import_reviews
from blindcal.importers.normalize import coded
from blindcal.importers.people import new_codes, read_codes, read_conflicts, read_map, read_maps, read_people
from blindcal.importers.raw_export import Choices
from blindcal.io.tables import format_table
from exports import BY_NAME, Export, every_export, in_order, refused, rows
from sizes import count


def test_ids_that_never_repeat_are_not_people() -> None:
    export = BY_NAME["openreview/api2-replies.json"]
    advice = "no id occurs twice, so no one's severity can be learned. Ids that are new for every paper"
    refused(export.data, advice)
    assert "`map` with the columns signature,profile_id" in str(refused(export.data, advice))
    few = dict(list((export.choices.people or {}).items())[:2])
    error = refused(export.data, "must be in the map of signatures", people=few)
    assert [problem.row for problem in error.problems] == [3, 4]


@pytest.mark.parametrize("form", ["{}", "R{}", "Reviewer {}", "AnonReviewer{}", "reviewer_{}", "Review #{}"])
def test_numbers_of_reviews_are_not_people(form: str) -> None:
    sizes = [3, 3, 2, 3, 4, 3]
    pairs = [(paper, number) for paper, size in enumerate(sizes) for number in range(1, size + 1)]
    table = "paper,reviewer,score\n" + "".join(f"P{p},{form.format(n)},{n}\n" for p, n in pairs)
    advice = "these ids only number the reviews of each paper"
    refused(table.encode(), advice)
    people = {form.format(number): f"person {number}" for number in range(1, 5)}
    assert len(import_reviews(table.encode(), "x", Choices(people=people)).reviews) == len(pairs)
    always = "paper,reviewer,score\n" + "".join(
        f"P{p},{form.format(n)},{n}\n" for p in range(30) for n in (1, 2, 3)
    )
    refused(always.encode(), advice)


def test_a_small_panel_that_reads_everything_is_let_through() -> None:
    table = "paper,reviewer,score\n" + "".join(f"P{p},R{n},{n}\n" for p in range(8) for n in (1, 2, 3))
    assert len(import_reviews(table.encode(), "x").reviews.reviewers) == 3


def test_a_map_joins_what_is_one_person() -> None:
    table = b"paper,reviewer,score\n1,ada_x,1\n2,Ada_x,2\n2,bo,3\n3,bo,1\n"
    apart = import_reviews(table, "x")
    assert apart.reviews.reviewers == ("Ada_x", "ada_x", "bo")
    people = read_map(b"reviewer,person\nada_x,Ada\nAda_x,Ada\n", "m.csv")
    joined = import_reviews(table, "x", Choices(people=people))
    assert joined.reviews.reviewers == ("Ada", "bo")
    assert "1 reviewer id not in the map kept as in the export" in joined.warnings
    with pytest.raises(InputError, match=r"m.csv, row 3, column signature: must not stand for two people"):
        read_map(b"signature,profile_id\na,Ada\na,Bo\n", "m.csv")
    refused(
        table,
        "must not repeat an earlier row's paper and reviewer",
        people={"ada_x": "bo", "Ada_x": "bo"},
    )


@every_export
def test_codes_stand_for_everyone_and_lead_back(export: Export) -> None:
    imported = export.read()
    hidden, codes = coded(imported, {})
    assert sorted(codes.values()) == [f"R{number:03d}" for number in range(1, len(codes) + 1)]
    person = {code: name for name, code in codes.items()}
    back = [{**row, "reviewer": person[row["reviewer"]]} for row in rows(hidden)]
    assert in_order(back) == in_order(rows(imported))
    assert {(paper, person[code]) for paper, code in hidden.conflicts} == set(imported.conflicts)
    table = format_table(hidden.columns()).decode() + str(hidden.committee) + str(hidden.conflicts)
    assert not any(name in table for name in codes if len(name) > 3)
    assert not any(hidden.committee.values())


def test_known_codes_are_kept() -> None:
    known = read_codes(b"code,reviewer,name\nR007,ada,Ada\nR002,bo,\n", "codes.csv")
    codes = new_codes(["ada", "cy", "di"], known)
    assert codes["ada"] == "R007"
    assert {codes["cy"], codes["di"]} == {"R008", "R009"}
    for bad in (b"code,reviewer\nR001,a\nR001,b\n", b"code,reviewer\nX,a\n"):
        with pytest.raises(InputError, match="each code must be like R001 and belong to one reviewer"):
            read_codes(bad, "codes.csv")


def test_codes_tell_nothing_about_the_order() -> None:
    """The code of the first of 4 people is uniform: 400 draws, each count within 5.2 sd; false alarm 1e-6."""
    draws = [new_codes("abcd", {})["a"] for _ in range(400)]
    for code in ("R001", "R002", "R003", "R004"):
        assert abs(draws.count(code) - 100) < 5.2 * (400 * 0.25 * 0.75) ** 0.5


def test_maps_of_several_years_are_joined_unless_they_disagree() -> None:
    first, second = b"signature,profile_id\nx,Ada\ny,Bo\n", b"signature,profile_id\ny,Bo\nz,Cy\n"
    assert read_maps({"a.csv": first, "b.csv": second}) == {"x": "Ada", "y": "Bo", "z": "Cy"}
    with pytest.raises(InputError, match=r"b\.csv, column signature: must not stand for another person"):
        read_maps({"a.csv": first, "b.csv": second.replace(b"y,Bo", b"y,Ada")})


# --- Lists of people and conflicts, in the shapes that chairs have them.


PEOPLE = {
    "own": b"reviewer,name\nbo@example.org,Bo Chen\nada@example.edu,Ada Byron\n",
    "HotCRP": b"first,last,email,roles,tags\nAda,Byron,ada@example.edu,pc,\nBo,Chen, bo@example.org ,pc,x\n",
    "newer HotCRP": b"given_name,family_name,email\nBo,Chen,bo@example.org\nAda,Byron,ada@example.edu\n",
    "EasyChair": b"#,person #,first name,last name,email,role\n1,9,Ada,Byron,ada@example.edu,chair\n"
    b"2,8,Bo,Chen,bo@example.org,member\n",
    "semicolons": "Name;E-Mail\nAda Byron;ada@example.edu\nBo Chen;bo@example.org\n".encode("utf-16"),
    "twice": b"reviewer,track,name\nada@example.edu,a,\nada@example.edu,b,Ada Byron\n"
    b"bo@example.org,a,Bo Chen\n",
}
BULK = b"""paper,action,email,round,title
1,primaryreview,bo@example.org,R1,On Widgets
1,conflict,ada@example.edu,,On Widgets
2,conflict,bo@example.org,,"Gadgets, Revisited"
2,clearconflict,bo@example.org,,
all,clearreview,,R1,
"""


@pytest.mark.parametrize("shape", PEOPLE)
def test_people_are_found_in_every_shape(shape: str) -> None:
    expected = {"ada@example.edu": "Ada Byron", "bo@example.org": "Bo Chen"}
    assert read_people(PEOPLE[shape], "pc.csv") == expected


def test_without_names_there_are_ids_and_a_map_joins_them() -> None:
    people = {"old@example.org": "ada"}
    assert read_people(b"reviewer\nada\nold@example.org\n", "pc.csv", people) == {"ada": ""}


def test_conflicts_by_email_with_names_and_titles_but_no_reviews() -> None:
    table = b"Paper,Title,First,Last,E-mail\n2,G,Bo,Chen,bo@example.org\n1,W,Ada,Byron,ada@example.edu\n"
    expected = (("1", "ada@example.edu"), ("2", "bo@example.org"))
    assert read_conflicts(table, "c.csv") == (expected, "a list of conflicts")
    with pytest.raises(InputError, match=r"the columns paper and conflict \(or paper and email"):
        read_conflicts(b"paper,email,OveMer\n1,ada@example.edu,3\n", "scores.csv")


def test_conflicts_of_both_shapes() -> None:
    assert read_conflicts(b"paper;conflict\n2;bo\n1;ada\n1;ada\n", "c.csv")[0] == (("1", "ada"), ("2", "bo"))
    pairs, what = read_conflicts(BULK, "bulk.csv", {"ada@example.edu": "ada"})
    assert pairs == (("1", "ada"),)
    assert what == "a HotCRP bulk assignment: 2 rows that are no conflict left out"


REVIEWS = {
    "a Google form": plain_files.google_form(),
    "a Microsoft form": plain_files.microsoft_form(),
    "a German sheet": plain_files.german(),
    "a report of OJS": plain_files.ojs_report(),
    "a transposed matrix": plain_files.transposed_matrix(),
}


@pytest.mark.parametrize("shape", REVIEWS)
def test_a_table_of_reviews_is_no_list_of_people(shape: str) -> None:
    """The committee would be those who reviewed, which is secret: also if a person says that it is one."""
    with pytest.raises(InputError, match=r"must have one row for each person|looks like scores|about papers"):
        read_people(REVIEWS[shape], "x")


def test_a_list_of_people_may_say_more_of_them_but_has_one_row_for_each() -> None:
    extra = b"email,name,load,topic: AI,topic: DB\nada@x.org,Ada,3,2,0\nbo@x.org,Bo,4,0,-1\n"
    expected = {"ada@x.org": "Ada", "bo@x.org": "Bo"}
    assert read_people(extra, "pc.csv") == expected
    assert read_people(extra + b"bo@x.org,Bo,4,0,-1\n", "pc.csv") == expected, "the same row again"
    with pytest.raises(InputError, match=r"one row for each person.*found 1 with several"):
        read_people(extra + b"bo@x.org,Bo,5,0,-1\n", "pc.csv")
    numbers = b"email,a,b,c,d\nada@x.org,1,2,3,4\n"
    assert read_people(numbers, "pc.csv") == {"ada@x.org": ""}
    with pytest.raises(InputError, match="looks like scores, with a column for each paper, found 5 columns"):
        read_people(b"email,a,b,c,d,e\nada@x.org,1,,3,4,5\nbo@x.org,,2,3,4,5\n", "pc.csv")


ABOUT_PAPERS = "must be a list of people, and this one is about papers"
NO_CONFLICT = "none of its rows is one"
BAD_PEOPLE = {
    b"country\nUK\n": "must be a list of people",
    b'[{"is_reviewer": true, "members": []}, 7]': "must be a list of people",
    b'[{"is_reviewer": true, "members": ["AB12"]}]': r"fetch the teams with \?expand=members",
    b'[{"is_reviewer": false, "members": []}]': "must have a team that may review",
    b"paper,title,review,reviewername,email,OveMer\n1,W,1A,Ada,ada@example.edu,3\n": ABOUT_PAPERS,
    b"Score,Proposal ID,Reviewer name,Reviewer email\n3,W,Ada,ada@example.edu\n": ABOUT_PAPERS,
    b"email,name\nada,A\n,B\n": "row 3, column email: must not be empty",
    b"email,email\nada,bo\n": "column email: must appear once",
    b"reviewer\n": "must have at least one row",
}
BAD_CONFLICTS = {
    b"paper,reviewer\n1,ada\n": "must be a list of conflicts",
    b'{"papers": [{"pid": 1, "reviews": []}]}': "must be a list of conflicts",
    b'{"papers": [{"pid": 1}, 7]}': "must be a list of conflicts",
    b"paper,conflict\n,ada\n": "row 2, column paper: must not be empty",
    b"paper,action,email\n1,conflict,\n": "row 2, column email: must not be empty",
    b'{"papers": [{"pid": 1, "pc_conflicts": {"": true}}]}': "column pc_conflicts: must not be empty",
    b"paper,action,email\n1,review,ada\n": NO_CONFLICT,
    b"paper,email,conflict\n1,ada,\n": NO_CONFLICT,
    b'{"papers": [{"pid": 1, "pc_conflicts": {}}]}': NO_CONFLICT,
    b"paper,email,conflict\n1,ada,conflict\n2,ada,bo\n": "the column conflict may hold only the word",
}


@pytest.mark.parametrize("data", BAD_PEOPLE | BAD_CONFLICTS)
def test_bad_lists_are_refused_by_place_and_quote_nobody(data: bytes) -> None:
    read, message = (read_people, BAD_PEOPLE) if data in BAD_PEOPLE else (read_conflicts, BAD_CONFLICTS)
    with pytest.raises(InputError, match=message[data]) as caught:
        read(data, "list.csv")
    assert "ada" not in str(caught.value)


def test_any_change_of_bytes_is_read_or_refused() -> None:
    rng, lists = Random(5), [*((read_people, data) for data in PEOPLE.values()), (read_conflicts, BULK)]
    for _ in range(count(300, 20_000)):
        read, data = rng.choice(lists)
        changed = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            place = rng.randrange(len(changed))
            changed[place : place + rng.randint(0, 3)] = rng.choice(
                [b"", b'"', b",", b"\0", b"\xff", b"\r\n", b";"]
            )
        with contextlib.suppress(InputError):
            read(bytes(changed), "list.csv")
