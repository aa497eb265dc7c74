"""certificate.json: described by its schema, and complete."""

from __future__ import annotations

import csv
import json
import shutil
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer")
pytest.importorskip("jsonschema")

from jsonschema import Draft202012Validator
from tools.certificate_schema import PATH, certificate_schema, schema_text

from blindcal.deciding.certificate_fields import CERTIFICATE_FORMAT
from commands import call
from make_archive import ARCHIVE, with_outsider
from small_conferences import SmallConference, arguments, decided, small_conference

pytestmark = pytest.mark.edge

SCHEMA = certificate_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
ARCHIVED = sorted(ARCHIVE.glob("*/*/out/certificate.json"))


def on_grid(small: SmallConference) -> SmallConference:
    rows = tuple((paper, who, str(round(float(score)))) for paper, who, score in small.reviews[1:])
    return replace(small, reviews=(small.reviews[0], *rows))


CASES: dict[str, tuple[SmallConference, tuple[str, ...]]] = {
    "plain": (small_conference(), ()),
    "outsiders": (with_outsider(small_conference()), ('epsilon = "none"', 'guarantee = "average"')),
    "low": (on_grid(small_conference(reviews=3)), ('grid = "-9..9"', 'better = "low"', "bar = 0.2")),
    "list": (small_conference(), ("accept = 2", "wait-list = 1")),
    "tracks": (
        small_conference().with_tracks({f"p{i:02d}": "main" if i % 2 else "short" for i in range(6)}),
        ('accept = "main=1,short=2"',),
    ),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path, dict[str, Any]]:
    small, more = CASES[request.param]
    folder = small.write(tmp_path / "in")
    _, certificate = decided(folder, tmp_path / "key.bin", tmp_path / "out", *more)
    return request.param, folder, certificate


def test_it_is_as_its_schema_says_and_says_all_that_was_asked(case: tuple[str, Path, dict[str, Any]]) -> None:
    name, folder, certificate = case
    VALIDATOR.validate(certificate)
    assert certificate["format"] == CERTIFICATE_FORMAT
    with (folder / "reviews.csv").open() as file:
        reviews = list(csv.DictReader(file))
    with (folder / "pools.csv").open() as file:
        pools = [(row["paper"], row["reviewer"]) for row in csv.DictReader(file)]
    scores = [float(row["score"]) for row in reviews]
    sizes = [sum(paper == one for paper, _ in pools) for one in {row["paper"] for row in reviews}]
    counts = [sum(row["paper"] == one for row in reviews) for one in {row["paper"] for row in reviews}]
    among, named = certificate["limits"].get("among"), {paper for paper, who in pools if who != "*"}
    listed = named - {paper for paper, who in pools if who == "*"}
    small = sum(sum(paper == one for paper, _ in pools) < (among or 0) for one in listed)
    assert certificate["scale"] == {
        "lowest_score": min(scores),
        "highest_score": max(scores),
        "possible_scores": [*range(-9, 10)] if name == "low" else None,
    }
    assert certificate["pools"] == {
        "people": len({who for _, who in pools} - {"*"}),
        "smallest": min(sizes),
        "median": statistics.median_low(sizes),
        "largest": max(sizes),
        "with_others": sum(who == "*" for _, who in pools),
        "reviews_per_paper": [min(counts), max(counts)],
        **({"smaller_than_crowd": small} if among else {}),
    }
    requested = {"accept_rate": 0.4, "bar": None, "accept": None, "wait_list": None}
    other = {
        "low": {"accept_rate": None, "bar": 0.2},
        "list": {"accept_rate": None, "accept": 2, "wait_list": 1},
        "tracks": {"accept_rate": None, "accept": {"main": 1, "short": 2}, "wait_list": 0},
    }
    assert certificate["requested"] == {**requested, **other.get(name, {})}
    assert 0 < certificate["largest_posterior_scores_only"] <= certificate["largest_posterior"] <= 1
    if certificate["guarantee"] == "steady":
        assert certificate["largest_posterior_scores_only"] == certificate["largest_posterior"]


def test_confidential_scores_have_fewer_figures(tmp_path: Path) -> None:
    folder, key = small_conference().write(tmp_path / "in"), tmp_path / "key.bin"
    _, certificate = decided(folder, key, tmp_path / "out", "accept = 2", 'scores = "confidential"')
    VALIDATOR.validate(certificate)
    assert not VALIDATOR.is_valid({**certificate, "scores": "public"})
    assert not VALIDATOR.is_valid({**certificate, "success": 0.5})


def test_there_is_no_date_in_it_so_the_same_key_and_input_are_the_same_bytes(tmp_path: Path) -> None:
    """In another folder, with a copy of the key that has no ledger yet: as on another day after a crash."""
    folder = small_conference().write(tmp_path / "in")
    first, key = (tmp_path / name / "key.bin" for name in ("one", "two"))
    for path in (first, key):
        path.parent.mkdir()
    decided(folder, first, tmp_path / "a")
    shutil.copy(first, key)
    assert call(*arguments(folder, key, tmp_path / "b"))[0] == 0
    one, other = ((tmp_path / name / "certificate.json").read_bytes() for name in ("a", "b"))
    assert one == other


@pytest.mark.parametrize("path", ARCHIVED, ids=lambda path: "-".join(path.parts[-4:-2]))
def test_archived_certificates_are_as_the_schema_says(path: Path) -> None:
    content = json.loads(path.read_text())
    VALIDATOR.validate(content)


def test_the_schema_notices_what_is_wrong(tmp_path: Path) -> None:
    _, certificate = decided(
        small_conference().write(tmp_path / "in"), tmp_path / "key.bin", tmp_path / "out"
    )
    for name in ("success", "pools", "requested"):
        assert not VALIDATOR.is_valid({key: value for key, value in certificate.items() if key != name}), name
    for changed in ({"success": 1.2}, {"epsilon": "large"}, {"papers": 2.5}, {"reviewer": "ada"}):
        assert not VALIDATOR.is_valid({**certificate, **changed}), changed


def test_the_schema_in_the_documentation_is_that_of_the_declared_fields() -> None:
    assert PATH.read_text() == schema_text(), "run python tools/certificate_schema.py"
    Draft202012Validator.check_schema(SCHEMA)
