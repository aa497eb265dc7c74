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


# --- `blindcal research pair`: the JSON of its contract, the text, and what it refuses.


PAIR = ["--reviewer", "1.2,0.3", "--reviewer", "0.8,-0.3"]
ASKED = ["pair", *PAIR, "--noise", "0.5", "--scores", "0.9,0.4"]


def refused(capsys, *arguments: str) -> str:
    code = run(["research", *arguments])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    return err


def belief() -> bc.Belief:
    return bc.pair_belief((bc.Affine(1.2, 0.3, 0.5), bc.Affine(0.8, -0.3, 0.5)), [0.9, 0.4])


def test_the_json_of_pair(capsys) -> None:
    found = json.loads(printed(capsys, *ASKED, "--max-error", "0.3", "--json"))
    assert set(found) == {"weight", "favor", "frontier", "policy"}
    assert set(found["frontier"]) == {"conference_error", "adversary_error"}
    assert set(found["policy"]) == {
        *("accept", "q", "conference_error", "adversary_error", "epsilon", "multiplier")
    }
    expected = belief()
    front = bc.frontier(expected)
    policy = front.policy(conference_error=0.3)
    assert found["weight"] == pytest.approx(expected.weight.tolist(), abs=1e-12)
    assert found["favor"] == pytest.approx(expected.favor.tolist(), abs=1e-12)
    assert found["frontier"]["conference_error"] == pytest.approx(front.conference_error.tolist(), abs=1e-12)
    assert found["frontier"]["adversary_error"] == pytest.approx(front.adversary_error.tolist(), abs=1e-12)
    assert found["policy"]["accept"] == pytest.approx(policy.accept.tolist(), abs=1e-12)
    assert found["policy"]["q"] == pytest.approx(policy.calibrates(expected).tolist(), abs=1e-12)
    assert found["policy"]["conference_error"] == pytest.approx(0.3, abs=1e-12)
    assert found["policy"]["adversary_error"] == pytest.approx(
        float(policy.adversary_error(expected)), abs=1e-12
    )
    assert found["policy"]["epsilon"] == "inf"
    assert found["policy"]["multiplier"] == pytest.approx(float(policy.multiplier), abs=1e-12)


def test_no_policy_unless_asked(capsys) -> None:
    assert "policy" not in json.loads(printed(capsys, *ASKED, "--json"))


def test_q_is_null_where_the_assignments_agree(capsys) -> None:
    out = printed(capsys, "pair", *PAIR, "--scores", "3,-3", "--max-error", "0.3", "--json")
    assert json.loads(out)["policy"]["q"] is None


def test_the_prior_reaches_the_belief(capsys) -> None:
    found = json.loads(printed(capsys, *ASKED, "--prior", "0.2", "--json"))["weight"]
    odds = belief().weight * [0.2, 0.8]
    assert found == pytest.approx((odds / odds.sum()).tolist(), abs=1e-12)


def test_a_reviewer_may_have_its_own_noise_and_its_own_kind(capsys) -> None:
    arguments = ["--reviewer", "logistic:-3,3,1.1,0.2,0.4", "--reviewer", "power:1.5,0.8,-0.3"]
    out = printed(capsys, "pair", *arguments, "--noise", "0.6", "--scores", "-0.9,0.4", "--json")
    pair = bc.reviewers.Logistic(-3.0, 3.0, 1.1, 0.2, 0.4), bc.reviewers.Power(1.5, 0.8, -0.3, 0.6)
    assert json.loads(out)["favor"] == pytest.approx(
        bc.pair_belief(pair, [-0.9, 0.4]).favor.tolist(), abs=1e-12
    )


@pytest.mark.parametrize("epsilon", [0.0, 0.7, 3.0])
def test_epsilon_is_kept(capsys, epsilon: float) -> None:
    found = json.loads(printed(capsys, *ASKED, "--epsilon", str(epsilon), "--json"))["policy"]
    assert found["epsilon"] <= epsilon + 1e-12
    expected = bc.policy.epsilon_policy(belief(), epsilon)
    assert found["accept"] == pytest.approx(expected.accept.tolist(), abs=1e-12)
    general = bc.private_policy(belief(), bc.Guarantee("none", epsilon=epsilon)).conference_error(belief())
    assert found["conference_error"] == pytest.approx(float(general), abs=1e-9)


def test_the_text_shows_belief_frontier_and_policy(capsys) -> None:
    out = printed(capsys, *ASKED, "--max-error", "0.3")
    for text in ("0.6059", "0.3782", "Frontier", "conference error", "epsilon", "inf"):
        assert text in out
    assert max(map(len, out.splitlines())) <= 100
    agreeing = printed(capsys, "pair", *PAIR, "--scores", "3,-3")
    assert "One point" in agreeing


BAD = {
    "'x' must be a number": ["pair", "--reviewer", "1.2,x", "--reviewer", "1,0", "--scores", "1,2"],
    "slope must be above 0, found -1": ["pair", "--reviewer", "-1,0", "--reviewer", "1,0", "--scores", "1,2"],
    "found 4 numbers": ["pair", "--reviewer", "1,0,0,0", "--reviewer", "1,0", "--scores", "1,2"],
    "must be given twice, found 1": ["pair", "--reviewer", "1,0", "--scores", "1,2"],
    "must be given twice, found 3": ["pair", *PAIR, "--reviewer", "1,0", "--scores", "1,2"],
    "found 'cubic'": ["pair", "--reviewer", "cubic:1,0", "--reviewer", "1,0", "--scores", "1,2"],
    "two numbers, found 3": ["pair", *PAIR, "--scores", "1,2,3"],
    "must not be empty": ["pair", *PAIR, "--scores", "1,"],
    "'nan' must be a finite number": ["pair", *PAIR, "--scores", "1,nan"],
    "must be slope,offset[,noise], found 1 number": [
        "pair",
        "--reviewer",
        "1",
        "--reviewer",
        "1,0",
        "--scores",
        "1,2",
    ],
    "'1_000' must be a number without underscores": ["pair", *PAIR, "--scores", "1,1_000"],
    "--scores": ["pair", *PAIR],
    "noise must be at least 0, found -1": ["pair", *PAIR, "--scores", "1,2", "--noise", "-1"],
    "'--noise': 'nan' must be a finite number": ["pair", *PAIR, "--scores", "1,2", "--noise", "nan"],
    "'--noise': 'abc' must be a number": ["pair", *PAIR, "--scores", "1,2", "--noise", "abc"],
    "'--prior': '1' must be between 0 and 1, ends excluded": [*ASKED, "--prior", "1"],
    "'--prior': '50' must be between 0 and 1, ends excluded: for 50 % give 0.5": [*ASKED, "--prior", "50"],
    "'--prior': '50%' must be a number without a percent sign: for 50 % give 0.5": [
        *ASKED,
        "--prior",
        "50%",
    ],
    "conference_error 0.01 cannot be achieved": [*ASKED, "--max-error", "0.01"],
    "'--max-error': '5' must lie in [0, 1]: for 5 % give 0.05": [*ASKED, "--max-error", "5"],
    "give either --max-error or --epsilon, not both": [*ASKED, "--max-error", "0.3", "--epsilon", "1"],
    "epsilon must be at least 0, found -1": [*ASKED, "--epsilon", "-1"],
}


@pytest.mark.parametrize("message", list(BAD))
def test_malformed_values_are_named(capsys, message: str) -> None:
    assert message in refused(capsys, *BAD[message])
    error = json.loads(refused(capsys, *BAD[message], "--json"))["error"]
    assert error["code"] == 2
    assert message in error["message"]
