"""A certificate in plain language: a sentence for every number, with the numbers of the certificate."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer")

from blindcal.report.wording import explain_certificate, read_certificate
from small_conferences import decided, small_conference

pytestmark = pytest.mark.edge

# Fields that are no numbers, or that pages have in a place of their own.
ELSEWHERE = {"assumptions"}
OPTIONS = {
    "plain": (),
    "average": (
        'guarantee = "average"',
        "multiplier = 1.5",
        'epsilon = "none"',
    ),
    "limited": ('guarantee = "none"', "--yes-leak", "never-against = 0.97", "posterior-cap = 1"),
    "list": ("accept = 2", "wait-list = 1"),
    "crowd": ('guarantee = "crowd"', "among = 3"),
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
    absent = set[str]()
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


def test_a_crowd_is_called_hidden_only_if_it_is_one_and_everyone_is_listed(tmp_path: Path) -> None:
    """With `*` in a pool, 1 in 10 may be one of two people and somebody unknown."""
    decided(
        small_conference().write(tmp_path / "in"), tmp_path / "key.bin", tmp_path / "out", *OPTIONS["crowd"]
    )
    content = read_certificate(tmp_path / "out")

    def told(**more: Any) -> dict[str, str]:
        parts = explain_certificate({**content, **more})
        return {line.name: line.sentence for part in parts for line in part.lines}

    among = {**content["limits"], "among": 10}
    small = {**content["pools"], "with_others": 0}
    others = {**small, "with_others": 3}
    sure = {"largest_posterior": 0.1, "largest_posterior_named": 0.4, "limits": among}
    assert "hidden among 10 people" in told(**sure, pools=small)["largest_posterior_named"]
    for pools, posterior in ((others, 0.1), (small, 0.2), (others, 0.2)):
        said = told(**{**sure, "largest_posterior": posterior}, pools=pools)
        assert not [one for one in said.values() if "hidden" in one]
        assert ("40.0 % sure" in said["largest_posterior_named"]) == (pools is others)
    steady = told(limits=among, pools={**small, "smaller_than_crowd": 6})["pools.smaller_than_crowd"]
    assert steady.startswith("For 6 papers, fewer than 10 people may have reviewed")
    assert "A crowd is steady there" in steady
    plain = {"guarantee": "steady", "limits": {**among, "among": None}}
    assert not [one for one in told(**plain, largest_posterior=0.01).values() if "hidden" in one]
    assert "does not limit this" in told(added_success=0.01)["added_success"]
    assert "does not limit this" not in told(**plain, added_success=0.01)["added_success"]


def test_a_fit_without_its_optional_parts_is_explained(tmp_path: Path) -> None:
    """`mirrored` is a number or missing: a reader may get either."""
    decided(small_conference().write(tmp_path / "in"), tmp_path / "key.bin", tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    content = json.loads(path.read_text())
    content["calibration_fit"].pop("mirrored")
    (tmp_path / "short.json").write_text(json.dumps(content))
    told = {
        line.name
        for part in explain_certificate(read_certificate(tmp_path / "short.json"))
        for line in part.lines
    }
    assert "calibration_fit.stretch" in told
    assert "calibration_fit.mirrored" not in told
