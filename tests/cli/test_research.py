"""`blindcal research pair` and `average`: the JSON of their contracts, the text, and what they refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("typer")

import blindcal as bc
from commands import refusal, succeed

pytestmark = pytest.mark.edge

REVIEWERS = ["--reviewer", "1.2,0.3", "--reviewer", "0.8,-0.3"]
AVERAGE = ["average", *REVIEWERS]
PAIR = ["pair", *REVIEWERS]
NOISY = [*PAIR, "--noise", "0.5", "--scores", "0.9,0.4"]


def printed(*arguments: str) -> str:
    said = succeed("research", *arguments)
    assert said.err == ""
    return said.out


def reported(*arguments: str) -> dict[str, Any]:
    found = json.loads(printed(*arguments, "--json"))
    assert found.pop("notes") == []
    return found


def belief() -> bc.Belief:
    return bc.pair_belief((bc.Affine(1.2, 0.3, 0.5), bc.Affine(0.8, -0.3, 0.5)), [0.9, 0.4])


def test_the_json_of_average() -> None:
    found = reported(*AVERAGE, "--noise", "0.5", "--max-error", "0.16")
    front = bc.policy.average_frontier((bc.Affine(1.2, 0.3, 0.5), bc.Affine(0.8, -0.3, 0.5)))
    rule = front.rule(conference_error=0.16)
    assert found == {
        "least_error": front.least_error,
        "largest_error": front.largest_error,
        "adversary_error_at_largest": front.largest_adversary_error,
        "policy": {name: getattr(rule, name) for name in ("price", "conference_error", "adversary_error")},
    }
    assert found["policy"]["conference_error"] == pytest.approx(0.16, abs=1e-9)
    found = reported(*AVERAGE, "--prior", "0.8")
    front = bc.policy.average_frontier((bc.Affine(1.2, 0.3), bc.Affine(0.8, -0.3)), 0.8)
    assert ("policy" in found, found["largest_error"]) == (False, front.largest_error)


def test_the_text_of_average_shows_errors_and_rule() -> None:
    out = printed(*AVERAGE, "--noise", "0.5", "--max-error", "0.16")
    assert "always by the evidence" in out
    assert "Rule: spend wherever the price of privacy is at most" in out
    assert "at most 1.0000, 43.0 % of it" in printed(*AVERAGE, "--max-error", "0.05")
    assert "One point" in printed("average", "--reviewer", "1,0", "--reviewer", "1,0")


def test_the_json_of_pair() -> None:
    found = reported(*NOISY, "--max-error", "0.3")
    expected = belief()
    front = bc.frontier(expected)
    policy = front.policy(conference_error=0.3)
    assert found.pop("frontier") == {
        "conference_error": pytest.approx(front.conference_error.tolist(), abs=1e-12),
        "adversary_error": pytest.approx(front.adversary_error.tolist(), abs=1e-12),
    }
    assert found.pop("policy") == {
        "accept": pytest.approx(policy.accept.tolist(), abs=1e-12),
        "q": pytest.approx(policy.calibrates(expected).tolist(), abs=1e-12),
        "conference_error": pytest.approx(0.3, abs=1e-12),
        "adversary_error": pytest.approx(float(policy.adversary_error(expected)), abs=1e-12),
        "epsilon": "inf",
        "multiplier": pytest.approx(float(policy.multiplier), abs=1e-12),
    }
    assert found == {
        "weight": pytest.approx(expected.weight.tolist(), abs=1e-12),
        "favor": pytest.approx(expected.favor.tolist(), abs=1e-12),
    }
    assert "policy" not in reported(*NOISY), "none unless asked"
    assert reported(*PAIR, "--scores", "3,-3", "--max-error", "0.3")["policy"]["q"] is None, "they agree"


def test_priors_and_reviewers_of_every_kind_reach_the_belief() -> None:
    odds = belief().weight * [0.2, 0.8]
    found = reported(*NOISY, "--prior", "0.2")["weight"]
    assert found == pytest.approx((odds / odds.sum()).tolist(), abs=1e-12)
    curves = ["--reviewer", "logistic:-3,3,1.1,0.2,0.4", "--reviewer", "power:1.5,0.8,-0.3"]
    favor = reported("pair", *curves, "--noise", "0.6", "--scores", "-0.9,0.4")["favor"]
    pair = bc.reviewers.Logistic(-3.0, 3.0, 1.1, 0.2, 0.4), bc.reviewers.Power(1.5, 0.8, -0.3, 0.6)
    assert favor == pytest.approx(bc.pair_belief(pair, [-0.9, 0.4]).favor.tolist(), abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.0, 0.7, 3.0])
def test_epsilon_is_kept(epsilon: float) -> None:
    found = reported(*NOISY, "--epsilon", str(epsilon))["policy"]
    assert found["epsilon"] <= epsilon + 1e-12
    expected = bc.policy.epsilon_policy(belief(), epsilon)
    assert found["accept"] == pytest.approx(expected.accept.tolist(), abs=1e-12)
    general = bc.private_policy(belief(), bc.Guarantee("none", epsilon=epsilon)).conference_error(belief())
    assert found["conference_error"] == pytest.approx(float(general), abs=1e-9)


def test_the_text_of_pair_shows_belief_frontier_and_policy() -> None:
    out = printed(*NOISY, "--max-error", "0.3")
    for text in ("0.6059", "0.3782", "Frontier", "conference error", "epsilon", "inf"):
        assert text in out
    assert max(map(len, out.splitlines())) <= 100
    assert "One point" in printed(*PAIR, "--scores", "3,-3")


# What no reviewer can be is in tests/cli/test_options.py.
BAD = {
    "below the least achievable": [*AVERAGE, "--noise", "0.5", "--max-error", "0.1"],
    "'--max-error': 'x' must be a number": [*AVERAGE, "--max-error", "x"],
    "'--max-error': '-0.1' must lie in [0, 1]": [*AVERAGE, "--max-error", "-0.1"],
    "noise, or neither": ["average", "--reviewer", "1,0,0.5", "--reviewer", "logistic:1,10,1,0"],
    "must be given twice, found 1": ["average", "--reviewer", "1,0"],
    "must be given twice, found 3": [*PAIR, "--reviewer", "1,0", "--scores", "1,2"],
    "two numbers, found 3": [*PAIR, "--scores", "1,2,3"],
    "'1_000' must be a number without underscores": [*PAIR, "--scores", "1,1_000"],
    "--scores": PAIR,
    "noise must be at least 0, found -1": [*PAIR, "--scores", "1,2", "--noise", "-1"],
    "'--noise': 'nan' must be a finite number": [*PAIR, "--scores", "1,2", "--noise", "nan"],
    "'--prior': '1' must be between 0 and 1, ends excluded": [*AVERAGE, "--prior", "1"],
    "'--prior': '50' must be between 0 and 1, ends excluded: for 50 % give 0.5": [*NOISY, "--prior", "50"],
    "'50%' must be a number without a percent sign: for 50 % give 0.5": [*NOISY, "--prior", "50%"],
    "conference_error 0.01 cannot be achieved": [*NOISY, "--max-error", "0.01"],
    "'--max-error': '5' must lie in [0, 1]: for 5 % give 0.05": [*NOISY, "--max-error", "5"],
    "give either --max-error or --epsilon, not both": [*NOISY, "--max-error", "0.3", "--epsilon", "1"],
    "epsilon must be at least 0, found -1": [*NOISY, "--epsilon", "-1"],
}


@pytest.mark.parametrize("message", BAD)
def test_malformed_values_are_named(message: str) -> None:
    assert message in refusal("research", *BAD[message])
    error = json.loads(refusal("research", *BAD[message], "--json"))["error"]
    assert (error["code"], message in error["message"]) == (2, True)
