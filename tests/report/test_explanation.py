"""A certificate in plain language: a sentence for every number, with the numbers of the certificate."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer")

from blindcal.report.explanation import explain_certificate, read_certificate
from small_conferences import decided, small_conference

pytestmark = pytest.mark.edge

# Fields that are no numbers, or that pages have in a place of their own.
ELSEWHERE = {"assumptions", "decided_again.note"}
OPTIONS = {
    "plain": (),
    "average": (
        'guarantee = "average"',
        "added-success = 0.01",
        "multiplier = 1.5",
        'epsilon = "none"',
    ),
    "limited": ('guarantee = "none"', "--yes-leak", "never-against = 0.97", "posterior-cap = 1"),
    "list": ("accept = 2", "wait-list = 1"),
    "bar": ("bar = 0.3",),
}


def fields(content: Mapping[str, Any], within: str = "") -> Iterator[str]:
    for name, value in content.items():
        if isinstance(value, dict) and name not in ("bar", "accept", "wait_list"):
            yield from fields(value, f"{within}{name}.")
        elif value is not None:
            yield f"{within}{name}"


@pytest.mark.parametrize("name", OPTIONS)
def test_every_field_that_says_something_has_a_sentence(name: str, tmp_path: Path) -> None:
    small = small_conference()
    decided(small.write(tmp_path / "in"), tmp_path / "key.bin", tmp_path / "out", *OPTIONS[name])
    content = read_certificate(tmp_path / "out")
    lines = [line for part in explain_certificate(content) for line in part.lines]
    told = {line.name for line in lines}
    absent = {"limits.added_success"} if not content["limits"]["added_success"] else set()
    if not content["decided_again"]["papers"]:
        absent |= {f"decided_again.{name}" for name in ("corrected", "epsilon", "multiplier")}
    assert {*fields(content)} - told - ELSEWHERE == absent
    assert len(told) == len(lines), "one sentence each"
    for line in lines:
        assert line.sentence.endswith("."), line
        assert len(line.sentence) > 20, line
        assert "e-" not in line.value or line.name in ("commitment", "conference"), "no 1.35e-10 for people"
    assert not [one for one in small.canaries if one in json.dumps([vars(line) for line in lines])]


def test_numbers_in_sentences_are_those_of_the_certificate(tmp_path: Path) -> None:
    decided(small_conference().write(tmp_path / "in"), tmp_path / "key.bin", tmp_path / "out")
    content = read_certificate(tmp_path / "out")
    lines = {line.name: line for part in explain_certificate(content) for line in part.lines}
    papers = content["papers"]
    assert f"{content['expected_wrong_raw'] * papers:.1f} papers" in lines["expected_wrong_raw"].sentence
    assert f"{100 * content['success']:.1f} %" in lines["success"].sentence
    assert lines["accepted"].value == str(content["accepted"])
    odds = lines["epsilon"].sentence
    assert "single decision" in odds
    assert f"a factor of {2.718281828459045 ** content['epsilon']:.1f}" in odds


def test_a_fit_without_its_optional_parts_is_explained(tmp_path: Path) -> None:
    """`following` and `mirrored` are numbers or missing: a reader may get either."""
    decided(small_conference().write(tmp_path / "in"), tmp_path / "key.bin", tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    content = json.loads(path.read_text())
    for name in ("following", "mirrored"):
        content["calibration_fit"].pop(name)
    (tmp_path / "short.json").write_text(json.dumps(content))
    told = {
        line.name
        for part in explain_certificate(read_certificate(tmp_path / "short.json"))
        for line in part.lines
    }
    assert "calibration_fit.shape" in told
    assert not told & {"calibration_fit.following", "calibration_fit.mirrored"}
