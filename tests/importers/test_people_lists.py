"""Lists of people and conflicts, in the shapes that chairs have them."""

from __future__ import annotations

import contextlib
from random import Random

import pytest

import plain_files
from blindcal.errors import InputError
from blindcal.importers import import_reviews
from blindcal.importers.people import read_conflicts, read_people
from blindcal.importers.raw_export import Choices
from sizes import count

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


BAD = {
    "no people": (read_people, b"country\nUK\n", "must be a list of people"),
    "an empty id": (read_people, b"email,name\nada,A\n,B\n", "row 3, column email: must not be empty"),
    "two columns": (read_people, b"email,email\nada,bo\n", "column email: must appear once"),
    "nobody": (read_people, b"reviewer\n", "must have at least one row"),
    "an assignment": (read_conflicts, b"paper,reviewer\n1,ada\n", "must be a list of conflicts"),
    "no paper": (read_conflicts, b"paper,conflict\n,ada\n", "row 2, column paper: must not be empty"),
    "no person": (
        read_conflicts,
        b"paper,action,email\n1,conflict,\n",
        "row 2, column email: must not be empty",
    ),
    "no conflicts": (read_conflicts, b"paper,action,email\n1,review,ada\n", "none of its rows is one"),
    "two people": (
        read_conflicts,
        b"paper,email,conflict\n1,ada,conflict\n2,ada,bo\n",
        "the column conflict may hold only the word",
    ),
    "no word": (read_conflicts, b"paper,email,conflict\n1,ada,\n", "none of its rows is one"),
    "no papers": (read_conflicts, b'{"papers": [{"pid": 1, "reviews": []}]}', "must be a list of conflicts"),
    "mixed": (read_conflicts, b'{"papers": [{"pid": 1}, 7]}', "must be a list of conflicts"),
    "nothing": (read_conflicts, b'{"papers": [{"pid": 1, "pc_conflicts": {}}]}', "none of its rows is one"),
    "a bad id": (
        read_conflicts,
        b'{"papers": [{"pid": 1, "pc_conflicts": {"": true}}]}',
        "column pc_conflicts: must not be empty",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_lists_are_refused_by_place_and_quote_nobody(case: str) -> None:
    read, data, message = BAD[case]
    with pytest.raises(InputError, match=message) as caught:
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


def test_a_bulk_assignment_is_no_reviews_and_it_is_said_what_it_is() -> None:
    with pytest.raises(InputError, match=r"this is a bulk assignment\. Export the reviews"):
        import_reviews(BULK, "bulk.csv", Choices())


def test_reviews_are_no_list_of_who_may_have_reviewed() -> None:
    table = b"paper,title,review,reviewername,email,OveMer\n1,W,1A,Ada,ada@example.edu,3\n"
    with pytest.raises(InputError, match=r"scores\.csv: must be a list of people, and this one is about"):
        read_people(table, "scores.csv")
