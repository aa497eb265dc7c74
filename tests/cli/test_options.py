"""Values from the command line: numbers as in tables, what was meant by a wrong one, reviewers as text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("typer")

import typer

from blindcal.cli.options import by_option, decimal, decimals, probability, reviewer_pair, share
from blindcal.errors import InputError
from blindcal.project.settings import number_hint
from blindcal.reviewers import Affine, Logistic, Power

pytestmark = pytest.mark.edge

Parser = Callable[[str | float], float]


@pytest.mark.parametrize(
    ("parse", "good", "bad"),
    [
        (decimal, ["0", "-2.5", "+1e3", "700"], ["", "x", "nan", "inf", "1_000", "0x1", "1,5", "1 2"]),
        (probability, ["0", "1", "0.25", "1.0"], ["-0.1", "1.1", "nan", "25", "25%"]),
        (share, ["0.001", "0.999"], ["0", "1", "-1", "2", "nan", "50%"]),
    ],
)
def test_numbers_within_their_limits_and_no_others(parse: Parser, good: list[str], bad: list[str]) -> None:
    for text in good:
        assert parse(text) == float(text)
        assert parse(float(text)) == float(text), "a default is a number already"
    for text in bad:
        with pytest.raises(typer.BadParameter) as caught:
            parse(text)
        assert str(caught.value).startswith(repr(text))


@pytest.mark.parametrize(
    ("text", "percent", "said"),
    [
        ("0,25", False, ": give 0.25"),
        ("-1,5", False, ": give -1.5"),
        ("0,125", False, ": give 0.125"),
        ("1,000", True, ""),
        ("12,345", False, ""),
        ("7.5%", False, ": for 7.5 % give 0.075"),
        ("33 %", False, ": for 33 % give 0.33"),
        ("100", True, ": for 100 % give 1"),
        ("25", False, ""),
        ("0.5", True, ""),
        ("1%", True, ""),
        ("101", True, ""),
        ("-5", True, ""),
    ],
)
def test_what_was_probably_meant(text: str, percent: bool, said: str) -> None:
    """A comma before three digits may be one of thousands, and 1 is a share already: nothing is guessed."""
    assert number_hint(text, percent=percent) == said


def test_a_refused_number_says_what_was_meant() -> None:
    for parse in (probability, share):
        with pytest.raises(typer.BadParameter, match=r"'60'.*: for 60 % give 0\.6$"):
            parse("60")
    with pytest.raises(typer.BadParameter) as caught:
        decimal("60%")
    assert str(caught.value).endswith(": for 60 % give 0.6")


def test_a_message_starts_with_the_option_of_its_name() -> None:
    names = ["epsilon", "posterior cap", "per_paper"]
    assert by_option("posterior cap must be", names) == "--posterior-cap must be"
    assert by_option("per_paper must be", names) == "--per-paper must be"
    for message in ("epsilons must be", "the epsilon must be", "success must be"):
        assert by_option(message, names) == message


def test_lists_of_numbers() -> None:
    assert decimals("--x", "1,-2.5,3e2") == [1.0, -2.5, 300.0]
    for text, part in (("1,,2", "''"), ("1, 2", "' 2'"), ("1;2", "'1;2'"), ("1,nan", "'nan'")):
        with pytest.raises(InputError) as caught:
            decimals("--x", text)
        assert str(caught.value).startswith(f"--x {text!r}: {part} must")


def test_every_kind_of_reviewer_has_its_parameters_in_order() -> None:
    """Each reviewer's curve at two qualities, against the formula; without a noise of its own it has that of
    all."""
    one, two = reviewer_pair(["1.5,0.25", "logistic:1,5,2,-0.5,0.1"], 0.75)
    assert isinstance(one, Affine)
    assert [float(one.score(t)) for t in (0.0, 2.0)] == [0.25, 3.25]
    assert float(one.noise) == 0.75
    assert isinstance(two, Logistic)
    assert float(two.score(0.25)) == pytest.approx(3.0)
    assert float(two.score(9.0)) == pytest.approx(5.0, abs=1e-6)
    assert float(two.noise) == 0.1
    three, four = reviewer_pair(["power:3,2,1", "affine:1,0,0.5"], 0.2)
    assert isinstance(three, Power)
    assert float(three.score(2.0)) == pytest.approx(float(Power(3.0, 2.0, 1.0, noise=0.2).score(2.0)))
    assert float(three.score(0.0)) == pytest.approx(1.0)
    assert (float(three.noise), float(four.noise)) == (0.2, 0.5)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1", "must be slope,offset[,noise]"),
        ("1,2,3,4", "must be slope,offset[,noise], found 4 numbers"),
        ("logistic:1,2,3", "must be low,high,slope,offset[,noise], found 3 numbers"),
        ("power:1,2", "must be exponent,slope,offset[,noise], found 2 numbers"),
        ("cubic:1,2", "the kind must be one of affine, logistic, power, found 'cubic'"),
        (":1,2", "the kind must be one of affine, logistic, power, found ''"),
        ("a:b:1,2", "found 'a:b'"),
        ("0,1", "slope must be above 0"),
        ("logistic:5,1,1,0", "low"),
        ("x,1", "'x' must be a number"),
    ],
)
def test_a_reviewer_that_is_none_is_quoted(text: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        reviewer_pair(["1,0", text], 0.5)
    assert str(caught.value).startswith(f"--reviewer {text!r}: ")
    assert told in str(caught.value)


def test_two_reviewers_are_needed() -> None:
    for number in (0, 1, 3):
        with pytest.raises(InputError, match=f"--reviewer must be given twice, found {number}"):
            reviewer_pair(["1,0"] * number, 0.5)
