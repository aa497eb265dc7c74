"""`blindcal research average`: the JSON of its contract, the text, and what it refuses."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("typer")

import blindcal as bc
from blindcal.cli import run

pytestmark = pytest.mark.edge

BASE = ["average", "--reviewer", "1.2,0.3", "--reviewer", "0.8,-0.3"]


def printed(capsys, *arguments: str) -> str:
    code = run(["research", *arguments])
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    return out


def test_the_json_of_the_contract(capsys):
    found = json.loads(printed(capsys, *BASE, "--noise", "0.5", "--max-error", "0.16", "--json"))
    avg = bc.policy.average_frontier((bc.Affine(1.2, 0.3, 0.5), bc.Affine(0.8, -0.3, 0.5)))
    rule = avg.rule(conference_error=0.16)
    assert found == {
        "least_error": avg.least_error,
        "largest_error": avg.largest_error,
        "adversary_error_at_largest": avg.largest_adversary_error,
        "policy": {
            "price": rule.price,
            "conference_error": rule.conference_error,
            "adversary_error": rule.adversary_error,
        },
    }
    assert found["policy"]["conference_error"] == pytest.approx(0.16, abs=1e-9)


def test_no_policy_unless_asked_and_the_prior_counts(capsys):
    found = json.loads(printed(capsys, *BASE, "--prior", "0.8", "--json"))
    assert "policy" not in found
    avg = bc.policy.average_frontier((bc.Affine(1.2, 0.3), bc.Affine(0.8, -0.3)), 0.8)
    assert found["largest_error"] == avg.largest_error


def test_the_text_shows_errors_and_rule(capsys):
    out = printed(capsys, *BASE, "--noise", "0.5", "--max-error", "0.16")
    assert "always by the evidence" in out
    assert "Rule: spend wherever the price of privacy is at most" in out
    tied = printed(capsys, *BASE, "--max-error", "0.05")
    assert "at most 1.0000, 43.0 % of it" in tied
    same = printed(capsys, "average", "--reviewer", "1,0", "--reviewer", "1,0")
    assert "One point" in same


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*BASE, "--noise", "0.5", "--max-error", "0.1"], "below the least achievable"),
        (["average", "--reviewer", "1,0"], "must be given twice"),
        ([*BASE, "--prior", "1"], "'1' must be between 0 and 1"),
        ([*BASE, "--max-error", "x"], "must be a number"),
        ([*BASE, "--max-error", "5"], "'--max-error': '5' must lie in [0, 1]"),
        ([*BASE, "--max-error", "-0.1"], "'--max-error': '-0.1' must lie in [0, 1]"),
        (["average", "--reviewer", "1,0,0.5", "--reviewer", "logistic:1,10,1,0"], "noise, or neither"),
    ],
)
def test_bad_values_are_named(capsys, arguments, message):
    code = run(["research", *arguments])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert message in err
