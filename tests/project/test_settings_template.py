"""A new conference.toml: what is set reads back, every line is explained, examples can be used."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from blindcal.project import read_folder
from blindcal.project.settings import FILE, SETTINGS, conference_text, toml_value, with_settings

BASE = {"conference": "icx", "key": "../icx.key", "out": "public"}


def test_what_is_set_reads_back() -> None:
    settings = {
        **BASE,
        "reviews": "inputs/reviews.csv",
        "past": ["a.csv", "b c.csv"],
        "accept-rate": 0.25,
        "epsilon": 2.0,
        "numbered": True,
        "grid": "1..5",
    }
    expected = {**settings, "epsilon": 2, "withdrawn": {}, "overridden": {}}
    assert tomllib.loads(conference_text(settings)) == expected


@given(st.text(max_size=20).filter(lambda text: not re.search("[\ud800-\udfff]", text)))
def test_any_text_reads_back(text: str) -> None:
    assert tomllib.loads(f"a = {toml_value(text)}") == {"a": text}


def test_every_setting_is_there_with_its_meaning_and_no_other() -> None:
    lines = conference_text(BASE).split("\n")
    for place, line in enumerate(lines):
        match = re.fullmatch(r"(?:# )?([a-z-]+) = .*", line)
        if match and match[1] in SETTINGS:
            assert lines[place - 1].startswith("# "), "a comment stands above"
            assert not lines[place - 1].startswith("# ----")
    assert max(map(len, lines)) <= 100


def test_the_file_says_who_may_hold_the_key_how_long_and_how_to_delete_it() -> None:
    text = " ".join(line.lstrip("# ") for line in conference_text(BASE).split("\n"))
    for words in (
        "WHO HOLDS THE KEY",
        "HOW LONG",
        "then delete both",
        "../icx.key",
        "public/ is made to be sent on",
    ):
        assert words in text


def test_examples_can_be_used_as_they_are(tmp_path: Path) -> None:
    """Whoever removes the # has a file that is read: every example is of the kind that its setting takes."""
    text = re.sub(r'^# ((?:[a-z-]+|"[0-9]+") = )', r"\1", conference_text(BASE), flags=re.M)
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    found = read_folder(tmp_path)
    assert found.settings.keys() == SETTINGS.keys()
    assert found.withdrawn.keys() == {"17"}
    assert found.overridden["23"].startswith("accept:")


def test_lines_are_set_anew_and_everything_else_stays() -> None:
    before = conference_text({"conference": "icx", "key": "../icx.key", "out": "public", "epsilon": 2.0})
    after = with_settings(before, {"guarantee": "public", "epsilon": None, "accept-rate": 0.3})
    changed = {*after.split("\n")} - {*before.split("\n")}
    assert changed == {'guarantee = "public"', "# epsilon = 2", "accept-rate = 0.3"}
    assert len(after.split("\n")) == len(before.split("\n"))
    again = with_settings(after, {"guarantee": "steady", "epsilon": 2.0, "accept-rate": None})
    found = tomllib.loads(again)
    assert (found["guarantee"], found["epsilon"]) == ("steady", 2)
    assert "accept-rate" not in found


def test_a_line_that_is_missing_comes_before_the_tables() -> None:
    text = with_settings('better = "high"\n[withdrawn]\n"7" = "bar = 3"\n', {"bar": 0.5})
    assert tomllib.loads(text) == {"better": "high", "bar": 0.5, "withdrawn": {"7": "bar = 3"}}


def test_a_setting_on_several_lines_is_replaced_as_a_whole() -> None:
    listed, grid = 'past = [\n  "a.csv",  # the oldest ]\n  "b.csv",\n]', '  "grid" = """\n1..3"""'
    text = "\n".join([listed, grid, 'better = "low"', "[withdrawn]", ""])
    wanted = {"past": ["c.csv"], "grid": None, "better": "high"}
    after = with_settings(text, wanted)
    assert after == 'past = ["c.csv"]\n#   "grid" = """\n# 1..3"""\nbetter = "high"\n[withdrawn]\n'
    assert tomllib.loads(after) == {"past": ["c.csv"], "better": "high", "withdrawn": {}}
    windows = with_settings(text.replace("\n", "\r\n"), {"past": ["c.csv"], "better": "high"})
    assert tomllib.loads(windows) == {"past": ["c.csv"], "grid": "1..3", "better": "high", "withdrawn": {}}
