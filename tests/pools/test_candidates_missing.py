"""Reviewers that no file knows: close ids are shown, and thousands looked up in time."""

from __future__ import annotations

from blindcal.pools.candidates import NameDirectory, missing_reviewers


def test_close_ids_are_shown_and_not_taken_for_misspelled() -> None:
    """`r12` for `r13` may be a slip or another person; a letter more in a name is a slip."""
    pools = {"p": {"r13": 1.0, "Emmy Noether": 1.0}}
    found = missing_reviewers({"p": ["r12", "Emmy Nother"]}, pools, ["r13", "Emmy Noether"])
    assert [(one.reviewer, one.cause, one.nearest) for one in found] == [
        ("Emmy Nother", "spelling", "Emmy Noether"),
        ("r12", "calibration", "r13"),
    ]


def test_addresses_of_one_place_are_not_near_by_what_they_share() -> None:
    known = ["yuki.yano@example.edu", "uma.usmani@example.edu"]
    directory = NameDirectory(known)
    assert directory.nearest("bob.berg@example.edu", True) == ""
    assert directory.nearest("umar.usmani@example.edu", True) == "uma.usmani@example.edu"
    assert NameDirectory(known[:1]).nearest("umar.usmani@example.edu", True) == ""
    bob = "bob@university.edu"
    found = missing_reviewers({"p": ["rob@university.edu"]}, {"p": {bob: 1.0}}, [bob])
    assert found[0].cause == "calibration", "two people, though most letters are the same"


def test_thousands_of_unknown_names_are_looked_up_in_time() -> None:
    """Where columns were swapped everyone is unknown: only the first few hundred are compared by letters."""
    known = [f"person number {i:05d}" for i in range(3000)]
    missing = {f"p{i}": [f"Person Number-{i:05d}", f"somebody {i} else"] for i in range(2000)}
    found = missing_reviewers(missing, {"p0": dict.fromkeys(known, 1.0)}, known)
    assert len(found) == 4000
    assert found[0].nearest == NameDirectory(known).nearest("PERSON NUMBER 00000", False)
