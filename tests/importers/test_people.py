"""Who is one person: maps, codes that stand for everyone and lead back, and numbers that are nobody."""

from __future__ import annotations

import pytest

from blindcal.errors import InputError
from blindcal.importers import import_reviews
from blindcal.importers.normalize import coded
from blindcal.importers.people import new_codes, read_codes, read_map, read_maps
from blindcal.importers.raw_export import Choices
from blindcal.io.tables import format_table
from exports import BY_NAME, Export, every_export, in_order, refused, rows


def test_ids_that_never_repeat_are_not_people() -> None:
    export = BY_NAME["openreview/api2-replies.json"]
    advice = "no id occurs twice, so no one's severity can be learned. Ids that are new for every paper"
    refused(export.data, advice)
    assert "`map` with the columns signature,profile_id" in str(refused(export.data, advice))
    refused(b"paper,reviewer,score\n1,a,1\n1,b,2\n2,c,3\n", advice)
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
