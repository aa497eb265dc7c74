"""Committees, changed ids, and members who are found in past reviews under other ids."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blindcal.errors import InputError
from blindcal.fitting.committee import MatchedPeople, match_people, read_aliases, read_committee, read_names
from blindcal.io.atomic_files import write_table
from sizes import count


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_committee_lists_people_by_track_or_once(tmp_path: Path) -> None:
    plain = written(tmp_path / "a.csv", "reviewer\nben\nAda\n")
    assert [*read_committee(plain)] == ["ben", "Ada"]
    tracks = written(tmp_path / "b.csv", "reviewer,track\nAda,theory\nAda,systems\nben,\n")
    assert [*read_committee(tracks)] == ["Ada", "ben"]
    named = written(tmp_path / "c.csv", "reviewer,name\na@x.org,Ada Byron\nb@x.org,\n")
    assert read_committee(named) == {"a@x.org": "Ada Byron", "b@x.org": ""}
    assert read_names(written(tmp_path / "d.csv", "paper,reviewer,name,score\n1,a,Ada B,2\n")) == {
        "a": "Ada B"
    }
    assert read_names(written(tmp_path / "e.csv", "paper,reviewer,score\n1,a,2\n")) == {"a": ""}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("reviewer\nAda\nAda\n", "row 3, column reviewer: must not be listed twice"),
        ("reviewer,track\nAda,x\nAda,x\n", "row 3, column reviewer: must not be listed twice"),
        ("reviewer\n*\n", "row 2, column reviewer: must be a person"),
        ("reviewer\n", "must have at least one row"),
        ("person\nAda\n", "column reviewer: must be in the header"),
    ],
)
def test_a_bad_committee_is_refused_without_a_name(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InputError) as error:
        read_committee(written(tmp_path / "c.csv", text))
    assert told in str(error.value)
    assert "Ada" not in str(error.value)


def test_changes_of_ids_are_followed_to_the_end(tmp_path: Path) -> None:
    path = written(tmp_path / "s.csv", "old,new\na,b\nb,c\nx,y\n")
    assert read_aliases(path) == {"a": "c", "b": "c", "x": "y"}


@pytest.mark.parametrize(
    ("text", "told"), [("old,new\na,b\na,c\n", "row 3, column old"), ("old,new\na,b\nb,a\n", "lead back")]
)
def test_an_id_that_becomes_two_or_comes_back_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        read_aliases(written(tmp_path / "s.csv", text))


def matched(
    members: dict[str, str], *pasts: dict[str, str], same: dict[str, str] | None = None
) -> MatchedPeople:
    return match_people(members, pasts, same)


def joined(people: MatchedPeople) -> dict[str, str]:
    return {pair.old: pair.new for pair in people.pairs if pair.taken}


def left_open(people: MatchedPeople) -> set[tuple[str, str]]:
    return {(pair.old, pair.new) for pair in people.pairs if not pair.taken}


# The name of a member, how a past file may write it, and why the two may be one.
SPELLINGS = [
    ("Kurt Gödel", "Godel, Kurt", "same name"),
    ("Kurt Gödel", "GOEDEL KURT", "same name"),
    ("Kurt Go\u0308del", "Kurt Gödel", "same name"),
    ("Søren Kierkegaard", "Soren Kierkegaard", "same name"),
    ("Søren Kierkegaard", "Soeren Kierkegaard", "same name"),
    ("Conan O'Brien", "Conan O’Brien", "same name"),
    ("Jean-Luc Picard", "Jean Luc Picard", "same name"),
    ("Otto Pérez, Jr.", "Dr. Otto Perez", "same name"),
    ("Wei Wang", "Wang Wei", "same name"),
    ("Ada Byron", "~Ada_Byron1", "same name"),
    ("Cleo Díaz", "~Cleo_D_az1", "nearly the same name"),
    ("Gus Gauß", "~Gus_Gau_1", "nearly the same name"),
    ("Ada Byron", "ada.byron@past.org", "nearly the same name"),
    ("Ada Byron", "A. Byron", "initials"),
    ("Ada Byron", "Byron, A.", "initials"),
    ("Ada King Byron", "Ada Byron", "initials"),
    ("Ada K. Byron", "A. King Byron", "initials"),
    ("Ada Byron", "Anne Byron", None),
    ("Ada Byron", "Ada Lovelace", None),
    ("Ada K. Byron", "Ada M. Byron", None),
    ("Ada Byron", "B. Byron", None),
    ("Ada Byron", "abyron@past.org", None),
    ("Ada", "ada@past.org", None),
]


@pytest.mark.parametrize(("name", "spelled", "why"), SPELLINGS)
def test_a_name_is_found_however_a_system_writes_it(name: str, spelled: str, why: str | None) -> None:
    """A member known by email and name; a past file that has only its own id."""
    others = {"bo@x.org": "Bo Chen", "eva@x.org": "Eva Ng"}
    people = matched({"m@now.org": name, **others}, {spelled: "", "bo@x.org": "", "Dan Fox": ""})
    assert [(pair.old, pair.new, pair.why) for pair in people.pairs] == (
        [] if why is None else [(spelled, "m@now.org", why)]
    )
    same = why in ("same name", "nearly the same name")
    assert people.found == (2 if same else 1)
    turned = matched({spelled: "", **others}, {"m@now.org": name, "Dan Fox": ""})
    assert joined(turned) == ({"m@now.org": spelled} if same else {}), "and the other way round"
    assert left_open(turned) == (set() if same or why is None else {("m@now.org", spelled)})


def test_addresses_match_without_tags_and_capitals() -> None:
    people = matched(
        {"ada@x.org": "", "bo+pc@y.org": ""}, {"Ada+Rev2025@X.org": "", "bo@y.org": "", "bo@z.org": ""}
    )
    assert joined(people) == {"Ada+Rev2025@X.org": "ada@x.org", "bo@y.org": "bo+pc@y.org"}
    assert left_open(people) == {("bo@z.org", "bo+pc@y.org")}, "a first name alone is no evidence"


def test_a_new_address_is_found_by_name_and_by_what_other_files_show() -> None:
    members = {"ada@new.org": "", "bo@x.org": "Bo Chen"}
    pasts = [{"Ada Byron": "", "Chen, Bo": ""}, {"ada@old.org": "Ada Byron"}, {"ada@new.org": "A. Byron"}]
    assert joined(matched(members, *pasts[:2])) == {"Chen, Bo": "bo@x.org"}, "no file says who ada@new.org is"
    pasts[2]["ada@new.org"] = "Ada Byron"
    assert joined(matched(members, *pasts)) == {
        "Ada Byron": "ada@new.org",
        "ada@old.org": "ada@new.org",
        "Chen, Bo": "bo@x.org",
    }


def test_two_people_are_never_joined() -> None:
    two = {"wei@x.org": "Wei Wang", "wang@y.org": "Wei Wang"}
    people = matched(two, {"Wei Wang": "", "wei@x.org": "Wei Wang"})
    assert joined(people) == {}
    assert left_open(people) == {("Wei Wang", "wei@x.org"), ("Wei Wang", "wang@y.org")}
    one = {"wei@x.org": "Wei Wang"}
    twins = {"Wei Wang (member 3)": "", "Wei Wang (member 7)": ""}
    assert (joined(matched(one, twins)), matched(one, twins).found) == ({}, 0)
    assert joined(matched(one, {"wei@x.org": "", "w@old.org": "Wei Wang"})) == {}, (
        "both came to one conference"
    )
    assert joined(matched(one, {"wei@x.org": ""}, {"w@old.org": "Wei Wang"})) == {"w@old.org": "wei@x.org"}
    assert joined(matched({"~Wei_Wang1": ""}, {"~Wei_Wang2": ""})) == {}, "OpenReview numbers namesakes"
    initials = matched({"ada@x.org": "Ada Byron"}, {"A. Byron": ""}, {"Andrew Byron": ""})
    assert left_open(initials) == {("A. Byron", "ada@x.org")}, "it may be Andrew's"
    members = {f"u{i}@x.org": "PC Member" for i in range(11)}
    assert matched(members, {f"v{i}@y.org": "PC Member" for i in range(11)}).pairs == (), "it names nobody"
    assert joined(matched({"r1": "", "r12": ""}, {"r2": "", "R 12": "", "r21": ""})) == {}


def test_what_the_chair_says_comes_first(tmp_path: Path) -> None:
    members, past = {"wei@x.org": "Wei Wang", "ada@x.org": "Ada Byron"}, {"Wang": "", "Ada Byron": ""}
    said = written(tmp_path / "same.csv", "old,new,why,taken\nWang,wei@x.org,,yes\nAda Byron,ada@x.org,,no\n")
    people = matched(members, past, same=read_aliases(said))
    assert (people.found, people.pairs, people.same["Wang"]) == (1, (), "wei@x.org")


def test_the_table_for_the_chair_can_be_given_back(tmp_path: Path) -> None:
    members = {"wei@x.org": "Wei Wang", "wang@y.org": "Wei Wang", "ada@x.org": "Ada Byron"}
    past = {"Wei Wang": "", "Ada Byron": ""}
    path = tmp_path / "people.csv"
    write_table(path, matched(members, past).columns(), confidential=True)
    text = path.read_text()
    assert text.splitlines()[1:] == [
        "Ada Byron,ada@x.org,same name,yes",
        "Wei Wang,wang@y.org,same name,no",
        "Wei Wang,wei@x.org,same name,no",
    ]
    path.write_text(text.replace("wei@x.org,same name,no", "wei@x.org,same name,yes"))
    assert read_aliases(path) == {"Wei Wang": "wei@x.org", "Ada Byron": "ada@x.org"}
    assert matched(members, past, same=read_aliases(path)).found == 2


@pytest.mark.parametrize(("found", "refused"), [(0, True), (1, True), (5, True), (6, False)])
def test_hardly_anyone_found_is_refused_without_a_name(found: int, refused: bool) -> None:
    members = {f"m{i}@x.org": "" for i in range(110)}
    past = {f"m{i}@x.org" if i < found else f"Canary N{chr(97 + i % 26)}": "" for i in range(40)}
    people = match_people(members, [past])
    assert str(people) == f"{found} of 110 members found in past reviews"
    if not refused:
        people.refuse_strangers()
        return
    with pytest.raises(InputError) as error:
        people.refuse_strangers()
    told = f"{found} of 110 members found in past reviews: members go by email, past reviewers by name"
    assert str(error.value).startswith(told)
    assert "anary" not in str(error.value)


GIVEN = ["Ada", "Bo", "Chloé", "Dmitri", "Eva", "Fatih", "Günter", "Hana", "Ines", "Jörg"]
FAMILY = ["Byron", "Chen", "Díaz", "Evans", "Fox", "Gauß", "Håkon", "Ivanov", "Müller", "Ng"]


@pytest.mark.parametrize("seed", range(count(5, 50)))
def test_random_committees_are_found_under_other_ids(seed: int) -> None:
    """Everyone with a full name of their own is found, whatever the system; nobody is taken for another."""
    rng = np.random.default_rng(seed)
    everyone = [(first, last) for first in GIVEN for last in FAMILY]
    chosen = [everyone[i] for i in rng.choice(100, 60, replace=False)]
    forms = [
        lambda first, last, i: (f"{last}, {first}", ""),
        lambda first, last, i: (f"~{first}_{last}{1 + i % 3}", ""),
        lambda first, last, i: (f"p{i}@past.org", f"{first} {last}"),
        lambda first, last, i: (f"{first.upper()} {last.upper()}", ""),
        lambda first, last, i: (f"u{i}+tag@now.org", ""),
    ]
    members = {f"u{i}@now.org": " ".join(name) for i, name in enumerate(chosen[:40])}
    truth, past = {}, {}
    for i, name in [*enumerate(chosen)][15:]:
        old, shown = forms[rng.integers(5 if i < 40 else 4)](*name, i)
        past[old] = shown
        truth[old] = f"u{i}@now.org" if i < 40 else None
    people = match_people(members, [past])
    assert joined(people) == {old: new for old, new in truth.items() if new}
    assert people.found == 25
    shuffled = dict(sorted(past.items(), key=lambda _: rng.random()))
    assert joined(match_people(dict(reversed(members.items())), [shuffled])) == joined(people)
