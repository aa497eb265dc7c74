"""`blindcal research outcomes`: exact chances that keep the guarantee, and what is refused."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

pytest.importorskip("typer")

import blindcal as bc
from commands import call

pytestmark = pytest.mark.edge

WEIGHT = [0.5, 0.3, 0.2]
LOSS = [[0.22, 0.29, 0.75], [0.72, 0.34, 0.25], [0.4, 0.22, 0.55]]
OUTCOMES = ["oral", "poster", "rejected"]
ROWS = [
    ["reviewer", "weight", *OUTCOMES],
    *([name, w, *row] for name, w, row in zip(("ada", "ben", "cleo"), WEIGHT, LOSS, strict=True)),
]


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    (tmp_path / "losses.csv").write_text(
        "".join(",".join(map(str, row)) + "\n" for row in ROWS), encoding="utf-8"
    )
    return ["research", "outcomes", str(tmp_path / "losses.csv"), "--outcomes", "oral,poster,rejected"]


@pytest.mark.parametrize(
    ("options", "guarantee"),
    [
        ([], bc.Guarantee("steady", epsilon=None)),
        (["--guarantee", "average", "--epsilon", "2"], bc.Guarantee("average", epsilon=2.0)),
        (
            ["--guarantee", "average", "--added-success", "0.1"],
            bc.Guarantee("average", added_success=0.1, epsilon=None),
        ),
        (["--guarantee", "none"], bc.Guarantee("none", epsilon=None)),
    ],
)
def test_it_prints_what_the_functions_find(
    command: list[str], options: list[str], guarantee: bc.Guarantee
) -> None:
    best = bc.policy.least_loss(WEIGHT, LOSS, guarantee=guarantee)
    table, claim = bc.certify.certify_outcomes(WEIGHT, best.chance, guarantee)
    code, out, err = call(*command, *options, "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    chances = [tuple(Fraction(row[name]) for name in OUTCOMES) for row in report["chance"].values()]
    assert chances == [*table]
    assert report["loss"] == pytest.approx(best.loss, abs=1e-9)
    assert report["claim"]["success"] == pytest.approx(float(claim.success), abs=1e-15)
    text = call(*command, *options)[1]
    assert re.search(rf"^expected loss +{best.loss:.4f}$", text, re.M)
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        ("oral", [], "--outcomes must be two or more different columns, found 'oral'"),
        ("oral,oral", [], "--outcomes must be two or more different columns, found 'oral,oral'"),
        ("oral,weight", [], "--outcomes must be two or more different columns, found 'oral,weight'"),
        ("oral,poster", [], "must be one of the known columns (reviewer, weight, oral, poster)"),
        ("oral,poster,rejected", ["--guarantee", "fair"], "guarantee must be one of public, steady"),
        (
            "oral,poster,rejected",
            ["--added-success", "0.1"],
            "--added-success goes with the guarantee average",
        ),
    ],
)
def test_what_is_refused(command: list[str], names: str, options: list[str], message: str) -> None:
    code, out, err = call(*command[:-1], names, *options)
    assert (code, out) == (2, "")
    assert message in err
