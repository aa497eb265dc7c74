"""Numbers and guarantees in words: each sentence against the number that it states."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import exp, inf, log
from pathlib import Path
from typing import Any, get_args

import pytest

from blindcal.calibrators.assessment import Verdict
from blindcal.errors import InputError
from blindcal.fitting.gibbs import TRACES
from blindcal.planning.guarantee_menu import Choice, Menu
from blindcal.planning.level_menu import LevelAnswer, LevelChoice, LevelMenu
from blindcal.policy.guarantee import NAMES, UNLIMITED, Guarantee
from blindcal.report.wording import (
    SOURCES,
    VERDICTS,
    ExplainedField,
    advice,
    after_odds,
    better_choice,
    certified_conditions,
    certified_guarantee,
    certified_promises,
    conditions,
    doubt,
    expected,
    explain_certificate,
    factor,
    guarantee_words,
    level_advice,
    level_table,
    menu_rows,
    promises,
    read_certificate,
    written,
)
from small_conferences import decided, small_conference


@pytest.mark.parametrize("before", [0.01, 0.3, 0.5, 0.99])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_a_suspicion_after_a_decision_has_odds_that_changed_by_the_factor(before: float, epsilon: float):
    after = after_odds(before, epsilon)
    assert log(after / (1 - after)) - log(before / (1 - before)) == pytest.approx(epsilon, abs=1e-12)
    assert after_odds(before, inf) == 1.0


def test_numbers_are_never_told_as_none_where_there_is_some():
    assert expected(0.0) == "0"
    assert expected(1e-9) == expected(0.049) == "fewer than 0.1"
    assert (expected(0.05), expected(999.94), expected(12345.6)) == ("0.1", "999.9", "12,346")
    assert factor(log(3)) == "3"
    assert factor(700.0) == "any number of"
    assert float(factor(2.0)) == pytest.approx(exp(2), abs=0.05)


@pytest.mark.parametrize("name", NAMES)
def test_every_guarantee_and_limit_has_a_promise_of_its_own(name: str):
    bare = Guarantee(name, epsilon=3.0 if name == "odds" else None)
    assert len(promises(bare)) == 1
    limited = Guarantee(name, 1.5, 1.25, 0.75, 0.9)
    # The promise of *odds* is its limit.
    assert len({*promises(limited)}) == len(promises(limited)) == 5 - (name == "odds")
    for number in ("a factor of 4.5", "1.25", "75.0 %", "90.0 %"):
        assert any(number in one for one in promises(limited))
    named = {"crowd": "crowd of 10:", "odds": "odds, epsilon 3"}.get(name, f"{name}:")
    assert guarantee_words(bare).startswith(named)


def test_a_crowd_is_promised_with_what_it_does_not_cover():
    (told,) = promises(Guarantee("crowd", among=7, epsilon=None))
    own, both = promises(Guarantee("average", among=7, epsilon=None))
    assert own == promises(Guarantee("average", epsilon=None))[0]
    assert told == both
    assert "nobody listed by name is likelier than 1 in 7 to have written a given review" in told
    assert "the stated prior" in told
    for guarantee in (Guarantee("crowd", among=7, epsilon=None), Guarantee("average", among=7, epsilon=None)):
        beside = " ".join(conditions(guarantee))
        for caveat in ("as independent", "may raise", "sum over its reviews", "co-reviewers"):
            assert caveat in beside
    assert "hidden" not in told


def test_a_factor_is_written_as_people_write_numbers():
    times = [written(value, "times") for value in (1.0, 2.6139, 38.06, 11_983.4, 2e6, float("inf"))]
    assert times == ["1", "2.61", "38.1", "11,983", "any number of", "any number of"]


def test_every_verdict_and_every_source_of_variance_has_its_words():
    assert {*VERDICTS} == {*get_args(Verdict)}
    assert {*SOURCES} == {*TRACES[:4]}


def _compared(own: float, others: dict[Guarantee, float], full: float, *, se: float = 0.0) -> Menu:
    """A menu for 180 papers in which the default gains `own`; one paper in a hundred is 1.8."""
    gains = {Guarantee("steady", epsilon=2.0): own, **others}
    choices = tuple(Choice(one, 25.0 - g, g, g / full, 0.0, 6.0, gain_se=se) for one, g in gains.items())
    return Menu(choices, 25.0, 25.0 - full, full, 0.1, 0.02, 180, 180, 180 if se == 0.0 else 12)


CROWD = Guarantee("crowd", among=10, epsilon=3.0)
AVERAGE = Guarantee("average", epsilon=None)


GAINS = "Expected gain: {} of 180 papers; 6.0 decided otherwise than by mean scores, ties aside."
NOT_WORTH_IT = f"Not worth it with steady and epsilon 2. {GAINS}"
OTHER = " With a crowd of 10 and epsilon 3 it would be {}."
NONE_MORE = " No promise of the menu gains clearly more; full calibration would gain 2.7."


@pytest.mark.parametrize(
    ("own", "others", "full", "se", "said"),
    [
        (4.0, {CROWD: 5.5}, 6.0, 0.0, GAINS.format("4.0")),
        (2.0, {CROWD: 4.5, AVERAGE: 5.5}, 6.0, 0.0, GAINS.format("2.0") + OTHER.format("4.5")),
        (0.7, {CROWD: 2.1}, 2.7, 0.0, NOT_WORTH_IT.format("0.7") + OTHER.format("2.1")),
        (0.7, {CROWD: 2.1}, 2.7, 0.8, NOT_WORTH_IT.format("0.7 +- 0.8") + NONE_MORE),
        (0.7, {CROWD: 1.5, AVERAGE: 1.7}, 2.7, 0.0, NOT_WORTH_IT.format("0.7") + NONE_MORE),
        (
            0.1,
            {CROWD: 0.5},
            0.9,
            0.0,
            f"{NOT_WORTH_IT.format('0.1')} Even full calibration, without any promise, would gain 0.9.",
        ),
    ],
)
def test_the_first_line_says_whether_it_is_worth_it_with_the_promise_that_was_chosen(
    own: float, others: dict[Guarantee, float], full: float, se: float, said: str
) -> None:
    assert advice(_compared(own, others, full, se=se), Guarantee("steady", epsilon=2.0)) == said


def test_if_nothing_keeps_half_the_one_that_gains_most_is_named_and_full_calibration_never() -> None:
    menu = _compared(2.0, {CROWD: 4.0, AVERAGE: 4.5, UNLIMITED: 10.0}, 10.0)
    other = better_choice(menu, Guarantee("steady", epsilon=2.0))
    assert other is not None
    assert other.guarantee == AVERAGE


def test_rows_of_a_menu_begin_with_mean_scores_and_end_with_full_calibration() -> None:
    rows = menu_rows(_compared(0.7, {CROWD: 2.1}, 2.8, se=0.25))
    assert [row[0] for row in rows] == [
        "mean scores, no calibration",
        "steady, epsilon 2",
        "crowd of 10, epsilon 3",
        "full calibration, no promise",
    ]
    assert rows[0][1:] == ("", "25.0", "", "10.0 %")
    assert rows[1][1:] == ("0.7 +- 0.2", "24.3", "25.0 %", "10.0 %")
    assert rows[-1][1:] == ("2.8", "22.2", "100.0 %", "12.0 %")


def test_a_menu_gives_no_share_of_a_gain_that_may_be_none() -> None:
    menu = _compared(0.11, {CROWD: 0.05}, 0.1)
    for error, shares in ((0.2, {"nothing to gain"}), (0.09, {"110.0 %", "50.0 %", "100.0 %"})):
        rows = menu_rows(replace(menu, gain_fully_calibrated_se=error))
        assert {row[3] for row in rows[1:]} == shares


# --- A certificate in plain language: a sentence for every number, with the numbers of the certificate.


# Fields that are no numbers, or that pages have in a place of their own.
ELSEWHERE = {"assumptions"}
OPTIONS = {
    "plain": (),
    "average": ('guarantee = "average"', "multiplier = 1.5", 'epsilon = "none"'),
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


def certified(folder: Path, name: str = "plain") -> dict[str, Any]:
    """The certificate of a small conference that was decided with some options."""
    decided(small_conference().write(folder / "in"), folder / "key.bin", folder / "out", *OPTIONS[name])
    return read_certificate(folder / "out")


def explained(content: Mapping[str, Any]) -> dict[str, ExplainedField]:
    lines = [line for part in explain_certificate(content) for line in part.lines]
    named = {line.name: line for line in lines}
    assert len(named) == len(lines), "one sentence each"
    return named


@pytest.mark.edge
@pytest.mark.parametrize("name", OPTIONS)
def test_every_field_that_says_something_has_a_sentence(name: str, tmp_path: Path) -> None:
    content = certified(tmp_path, name)
    lines, again = explained(content), ("corrected", "epsilon", "multiplier")
    absent = set() if content["decided_again"]["papers"] else {f"decided_again.{name}" for name in again}
    assert {*fields(content)} - {*lines} - ELSEWHERE == absent
    for line in lines.values():
        assert line.sentence.endswith("."), line
        assert len(line.sentence) > 20, line
        assert "e-" not in line.value or line.name in ("commitment", "conference"), "no 1.35e-10 for people"
    said = json.dumps([vars(line) for line in lines.values()])
    assert not [one for one in small_conference().canaries if one in said]


@pytest.mark.edge
def test_numbers_in_sentences_are_those_of_the_certificate(tmp_path: Path) -> None:
    content = certified(tmp_path)
    lines, papers = explained(content), content["papers"]
    assert f"{content['expected_wrong_raw'] * papers:.1f} papers" in lines["expected_wrong_raw"].sentence
    assert f"{100 * content['success']:.1f} %" == lines["success"].value
    assert lines["accepted"].value == str(content["accepted"])
    odds = lines["epsilon"].sentence
    assert "single decision" in odds
    assert f"a factor of {2.718281828459045 ** content['epsilon']:.1f}" in odds


def test_in_small_pools_the_promise_in_force_is_the_stricter_one() -> None:
    content = {**json.loads(ARCHIVED[0].read_text()), "guarantee": "crowd", "papers": 6, "scores": "public"}
    content["limits"] = {**content["limits"], "among": 10, "epsilon": 3.0}

    def told(small: int) -> tuple[list[str], list[str]]:
        stated = {**content, "pools": {**content["pools"], "smaller_than_crowd": small}}
        return certified_promises(stated), certified_conditions(stated)

    crowd, odds = promises(Guarantee("crowd", among=10, epsilon=3.0))
    assert told(0) == ([crowd, odds], conditions(Guarantee("crowd", among=10)))
    assert told(2)[0][::2] == [crowd, odds]
    assert told(2)[0][1].startswith("For 2 of 6 papers fewer than 10 people")
    steady = promises(Guarantee("steady", epsilon=None))
    assert told(6)[0] == [*steady, odds]
    assert [text[:16] for text in told(6)[1]] == ["For 6 of 6 paper"]


@pytest.mark.edge
def test_a_fit_without_its_optional_parts_is_explained(tmp_path: Path) -> None:
    """`mirrored` is a number or missing: a reader may get either."""
    certified(tmp_path)
    content = json.loads((tmp_path / "out" / "certificate.json").read_text())
    content["calibration_fit"].pop("mirrored")
    told = explained(read_certificate(written_certificate(tmp_path, content)))
    assert "calibration_fit.stretch" in told
    assert "calibration_fit.mirrored" not in told


# --- Certificates that are read: what blindcal wrote, and nothing else.


ARCHIVED = sorted((Path(__file__).parents[1] / "data" / "archive").glob("*/*/out/certificate.json"))


def written_certificate(folder: Path, content: object) -> Path:
    path = folder / "certificate.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.parametrize("path", ARCHIVED, ids=lambda path: "-".join(path.parts[-4:-2]))
def test_certificates_of_every_version_are_read(path: Path):
    content = read_certificate(path)
    assert read_certificate(path.parent) == content
    assert content["papers"] > 0
    assert isinstance(certified_guarantee(content), Guarantee)


def test_an_epsilon_without_limit_is_infinite(tmp_path: Path):
    content = json.loads(ARCHIVED[0].read_text())
    assert read_certificate(written_certificate(tmp_path, {**content, "epsilon": "inf"}))["epsilon"] == inf


def test_a_certificate_with_bad_fields_is_refused_with_all_of_them(tmp_path: Path):
    content = json.loads(ARCHIVED[0].read_text())
    del content["success_scores_only"]
    bad = {**content, "papers": "many", "epsilon": "large", "largest_rise": 1.5, "guarantee": "total"}
    bad["calibration_fit"] = {**content["calibration_fit"], "verdict": 7}
    with pytest.raises(InputError) as raised:
        read_certificate(written_certificate(tmp_path, bad))
    columns = {problem.column for problem in raised.value.problems}
    top = {"papers", "epsilon", "largest_rise", "guarantee", "success_scores_only"}
    assert columns == top | {"calibration_fit.verdict"}


@pytest.mark.parametrize("content", [[], {}, "text", 7, {"papers": 3}])
def test_what_is_no_certificate_is_refused(content: object, tmp_path: Path):
    with pytest.raises(InputError, match="must be a certificate that blindcal wrote"):
        read_certificate(written_certificate(tmp_path, content))


def test_a_certificate_damaged_anywhere_is_refused_or_read(tmp_path: Path):
    """Any value replaced by any other kind: an `InputError` or a certificate, and never another error."""
    rng, text = random.Random(8), ARCHIVED[0].read_text()
    for _ in range(300):
        content = json.loads(text)
        place = content if rng.random() < 0.5 else content[rng.choice(["limits", "calibration_fit"])]
        place[rng.choice([*place])] = rng.choice([None, "x", -1, 2.5, 1e300, True, [], {}, ["a"], {"a": 1}])
        try:
            read_certificate(written_certificate(tmp_path, content))
        except InputError:
            continue


# --- This year's reviews: when a range is worth it, and how it is written

FACTS: Any = None  # the conference itself, of which these sentences say nothing


def _ranged(low: float, high: float, name: str = "odds") -> LevelAnswer:
    guarantee = Guarantee(name)
    menu = LevelMenu((LevelChoice(guarantee, (low, high, high, high), 3, 2.0, 25.0),), (9.0,) * 4, 100)
    return LevelAnswer(guarantee, menu, 0.0, 300, ())


BELOW = "even the larger end of the range is below one paper in a hundred"
LOSS = "the smaller end of the range is a loss"


@pytest.mark.parametrize(
    ("low", "high", "why", "written"),
    [
        (0.2, 1.0, "", "0.2 to 1.0"),
        (0.2, 0.99, BELOW, "0.2 to 1.0"),
        (-0.2, 3.0, LOSS, "-0.2 to 3.0"),
        (-0.04, 3.0, "", "0 to 3.0"),
        (-0.001, 0.0, BELOW, "0"),
        (2.04, 2.0, "", "2.0"),
        (0.0, 0.0, BELOW, "0"),
    ],
)
def test_a_range_is_worth_it_if_it_reaches_one_paper_in_a_hundred_and_loses_nothing_that_is_seen(
    low: float, high: float, why: str, written: str
) -> None:
    answer = _ranged(low, high)
    said = level_advice(answer)
    assert doubt(answer) == why
    assert said.startswith(f"Not worth it with odds and epsilon 3: {why}. " if why else "Expected gain: ")
    assert f"Expected gain: {written} of 100 papers, by how strict" in said


def test_public_is_never_called_not_worth_it_since_it_decides_by_the_scores() -> None:
    said = level_advice(_ranged(0.0, 0.0, "public"))
    assert said.startswith("Papers are decided by the scores alone. Expected gain: 0 of 100 papers")


def test_a_range_of_one_number_in_the_table_is_that_number() -> None:
    rows = [level_table(_ranged(*ends))[1][0][1] for ends in ((0.171, 0.174), (-0.001, 0.0), (0.1, 0.2))]
    assert rows == ["0.17", "0.00", "0.10 to 0.20"]
