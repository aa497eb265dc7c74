"""The page: made of public things alone, whole in itself, and deaf to what a file might try to make it do."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from math import exp
from pathlib import Path

import pytest

pytest.importorskip("jinja2")

from blindcal.deciding.certificate_fields import (
    ASSUMED,
)
from blindcal.exporters.formats import DecidedPaper
from blindcal.planning.guarantee_menu import MENU, Choice, Menu, with_chosen
from blindcal.policy.guarantee import Guarantee
from blindcal.report.charts import WIDTH
from blindcal.report.html_page import MOST_LISTED, Report, facts, page
from blindcal.report.paper_survey import Surveyed
from blindcal.report.wording import ASSUMPTIONS, assumptions_of, read_certificate
from page_markup import Markup

pytestmark = pytest.mark.edge

CERTIFICATE = sorted((Path(__file__).parents[1] / "data" / "archive").glob("*/1/out/certificate.json"))[0]
ATTACKS = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "</title></style><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
)


def made(
    papers: int = 8, *, confidential: bool = False, names: tuple[str, ...] = (), **more: object
) -> Report:
    """A report about so many papers; `names` are ids and titles of the first ones."""
    content = {**read_certificate(CERTIFICATE), "papers": papers, "reviews": 3 * papers, **more}
    ids = [*names, *(f"p{i}" for i in range(papers - len(names)))]
    rows = tuple(
        DecidedPaper(one, "accept" if i % 3 == 0 else "reject", "reject", "leave")
        for i, one in enumerate(ids)
    )
    stands = tuple(Surveyed(one, 3.25, (i % 21) / 20, i % 2 == 0) for i, one in enumerate(ids))
    chosen = Guarantee(content["guarantee"], **content["limits"])
    choices = tuple(
        Choice(one, 2.0 - 0.1 * i, 0.1 * i, 0.1 * i, 0.01 * i, 0.2 * i)
        for i, one in enumerate(with_chosen(chosen))
    )
    menu = Menu(choices, 2.0, 0.75, 1.25, 0.3, 0.1, papers, papers, papers)
    return Report(content, rows, stands, confidential, dict(zip(ids, names, strict=False)), menu=menu)


@pytest.mark.parametrize("confidential", [False, True])
def test_nothing_in_a_file_runs_or_loads(confidential: bool) -> None:
    """Ids, titles, the conference's name and notes that would like to be markup are text."""
    evil = ATTACKS[0]
    given = made(confidential=confidential, names=ATTACKS, conference=evil, commitment=evil)
    given = replace(given, notes=ATTACKS)
    text = page(given)
    seen = Markup(text)
    assert not seen.open
    loading = {"script", "img", "link", "iframe", "object", "embed", "form", "input", "base", "foreignobject"}
    assert not {tag for tag, _ in seen.found} & loading
    for tag, attributes in seen.found:
        for name, value in attributes.items():
            assert not name.startswith("on")
            assert name not in ("src", "srcset", "action", "data", "style")
            assert name != "href" or str(value).startswith("#"), (tag, value)
    assert "url(" not in text
    assert "@import" not in text
    assert seen.policy.startswith("default-src 'none'")
    assert "{{ 7 * 7 }}" in text, "a template in a name is not run"


def test_links_lead_to_places_on_the_page_and_ids_are_unique() -> None:
    seen = Markup(page(made()))
    ids = [a["id"] for _, a in seen.found if "id" in a]
    assert len(ids) == len({*ids})
    links = {str(a["href"])[1:] for t, a in seen.found if t == "a"}
    assert links <= {*ids}
    named = {one for _, a in seen.found for key in a if key.endswith("by") for one in str(a[key]).split()}
    assert named <= {*ids}


def test_a_page_says_what_was_promised_what_it_cost_and_how_to_check() -> None:
    content = made().certificate
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page(made())))
    for words in (
        "In short",
        "What was done",
        "Wrong decisions avoided",
        "Papers in the gray zone",
        "decided against what their own reviewers' corrected scores indicate",
        "They could",
        "they cannot",
        "Against whom:",
        "Does the calibration fit these scores?",
        "To authors",
        "To reviewers",
        "How to verify",
        "Limits",
    ):
        assert words in text, words
    assert f"{100 * content['success']:.1f} %" in text
    assert f"{8 * content['expected_wrong_raw']:.1f}" in text
    assert content["commitment"] in text
    assert "single decision" in text


MOVED = "by a shift of +0.17 and a factor of 0.89, so that mean and spread below agree by construction"
WHOM = "It is made to everyone who reviewed these papers. It holds against anyone who"
SHARE = {"accept_rate": 0.25, "bar": None, "accept": None, "wait_list": None}
SAID = {
    "without a survey or a menu": (
        replace(made(), survey=None, menu=None),
        ("blindcal verify",),
        ("gray zone", "What other guarantees would gain"),
    ),
    "a plan has no decision": (
        replace(made(), decided=()),
        ("Nothing was drawn",),
        ("How to verify", "Every number explained", " accepted<", "were decided:"),
    ),
    "moved to this year's scale": (made(calibration_scale={"shift": 0.1712, "stretch": 0.89}), (MOVED,), ()),
    "not moved": (made(), (WHOM,), ("by construction",)),
    "no promise": (made(guarantee="none", limits={}), (), (WHOM,)),
    "a share": (made(requested=SHARE), ("about 25.0 % of papers would be accepted",), ()),
    "a bar": (made(requested=SHARE | {"accept_rate": None, "bar": 0.5}), (), ("would be accepted",)),
}


@pytest.mark.parametrize("case", SAID)
def test_a_page_says_what_is_so_and_nothing_else(case: str) -> None:
    report, there, absent = SAID[case]
    text = page(report)
    assert [words for words in there if words not in text] == []
    assert [words for words in absent if words in text] == []


def test_where_pools_are_smaller_than_the_crowd_the_promise_says_that_it_is_steady() -> None:
    crowd = {"guarantee": "crowd", "limits": {"among": 10, "epsilon": 3.0}}

    def shown(small: int) -> str:
        text = page(made(**crowd, pools={**made().certificate["pools"], "smaller_than_crowd": small}))
        return text.partition('id="pictures"')[0]

    own, steady = "likelier than 1 in 10 to have written", "no decision makes the best guess of who wrote"
    promise = "For 3 of 8 papers fewer than 10 people may have reviewed"
    assert [text in shown(0) for text in (own, steady, "fewer than 10 people")] == [True, False, False]
    assert [text in shown(3) for text in (own, steady, promise)] == [True, False, True]
    # Where no paper has a crowd, what is in force is the stricter promise; the crowd is a condition.
    text = shown(8)
    assert [word in text for word in (own, "can be up to the sum over its reviews")] == [False, False]
    assert text.index(steady) < text.index("<summary>To whom") < text.index("For 8 of 8 papers fewer than 10")


@pytest.mark.parametrize("guarantee", MENU, ids=lambda one: f"{one.name}-{one.epsilon}-{one.among}")
def test_every_guarantee_has_a_page(guarantee: Guarantee) -> None:
    limits = {name: value for name, value in vars(guarantee).items() if name != "name"}
    text = page(made(guarantee=guarantee.name, limits=limits, epsilon=guarantee.epsilon or 0.0))
    assert ("by a random draw" in text) == (guarantee.name in ("steady", "crowd", "average"))
    assert ("<strong>without protection" in text) == (guarantee.name == "none")


def test_one_for_the_chair_is_marked_on_screen_and_on_every_printed_page_and_other_ones_have_less() -> None:
    public, own = page(made(names=("first",))), page(made(names=("first",), confidential=True))
    assert "CONFIDENTIAL" not in public
    assert 'mean score</th><th scope="col" class="number">chance' not in public
    assert "3.25" not in public
    assert "3.25" in own
    assert '<p class="mark">CONFIDENTIAL' in own
    assert own.count('content: "CONFIDENTIAL') == 2, "in the margins of every page"
    assert "<title>CONFIDENTIAL" in own


def test_a_page_about_very_many_papers_lists_only_some() -> None:
    """20,000 papers are as long a page as 1,000, and that is far below 5 MB."""
    small, large = (page(made(papers)) for papers in (MOST_LISTED, 20 * MOST_LISTED))
    assert len(small.encode()) < 500_000
    assert len(large.encode()) < 1.1 * len(small.encode())
    assert "decisions.csv has all 20,000 papers" in large
    own = page(made(20 * MOST_LISTED, confidential=True))
    assert len(own.encode()) < 1_000_000


def test_the_same_facts_are_the_same_bytes() -> None:
    assert page(made()) == page(made())
    assert json.loads(CERTIFICATE.read_text())["papers"] == 6


def test_letters_round_only_as_far_as_there_is_still_a_difference() -> None:
    near = page(made(60, expected_wrong=8.6 / 60, expected_wrong_raw=9.0 / 60))
    assert re.search(r"we expect 8\.6 to be decided wrongly, [^.]* it would have been 9\.0\.", near)
    wrong = {"expected_wrong": 5.6 / 60, "expected_wrong_raw": 9.0 / 60}
    far = page(made(60, **wrong, expected_wrong_fully_calibrated=4.2 / 60))
    assert re.search(r"we expect about 6 to be decided wrongly, [^.]* it would have been about 9\.", far)


def test_nothing_is_said_to_be_avoided_where_no_decision_differs() -> None:
    report = made()
    said = "no decision differs from that of the mean score, so this time nothing was gained or lost"
    assert said in page(report)
    first = replace(report.decided[0], advice="raise")
    assert said not in page(replace(report, decided=(first, *report.decided[1:])))
    assert said not in page(replace(report, decided=())), "nothing is drawn yet"


def test_papers_that_tie_by_their_mean_score_are_counted_apart() -> None:
    """Calibration decides these: they are no change, and not nothing."""
    report = made()
    tied = replace(report.decided[0], by_mean_score="tie", advice="tie: raise")
    text = page(replace(report, decided=(tied, *report.decided[1:])))
    assert "For 1 more the mean score decides nothing, because it ties with those at the cut" in text
    assert "no decision differs from that of the mean score, but for the 1 where that is a tie" in text
    assert "a mean score that ties with those at the cut, so that it decides nothing" in text
    assert "A tie is" not in page(report)


QUESTIONS = (
    "What was promised?",
    "To whom, against whom, on what conditions",
    "What was not promised?",
    "What did it cost?",
    "How can it be checked?",
)


def test_the_first_section_answers_what_a_reader_asks() -> None:
    text = page(made())
    places = [text.index(one) for one in (*QUESTIONS, 'id="done"')]
    assert places == sorted(places)
    epsilon = made().certificate["epsilon"]
    most = 0.1 / (0.1 + 0.9 * exp(-epsilon))
    assert f"A suspicion of 10 in 100, say, becomes {100 * most:.0f} in 100 at most." in text
    assert "Nothing: there is no promise to pay for." in page(made(guarantee="none", limits={}))
    assert "How can it be checked?" not in page(replace(made(), decided=())), "there is no certificate yet"


def letters(text: str) -> list[str]:
    """The two letters of a page, as words."""
    found = re.findall(r'<blockquote id="to-\w+">(.*?)</blockquote>', text, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]+>", " ", letter).split()) for letter in found]


EVIDENCE = {
    "source": "this-year",
    "guarantee": "odds",
    "limits": {"epsilon": 3.0},
    "assumptions": [*ASSUMED["this-year"]],
}


@pytest.mark.parametrize("scores", ["public", "confidential"])
@pytest.mark.parametrize(
    "guarantee", [*MENU, Guarantee("odds")], ids=lambda one: f"{one.name}-{one.epsilon}-{one.among}"
)
def test_letters_are_short_and_say_what_may_be_told(guarantee: Guarantee, scores: str) -> None:
    limits = {name: value for name, value in vars(guarantee).items() if name != "name"}
    given = {"guarantee": guarantee.name, "limits": limits, "scores": scores}
    given |= EVIDENCE if guarantee.name == "odds" else {"epsilon": guarantee.epsilon or 0.0}
    authors, reviewers = letters(page(made(**given)))
    assert max(len(letter.split()) for letter in (authors, reviewers)) < 120
    drawn = guarantee.name not in ("public", "none")
    assert ("A draw cannot be repeated." in authors) == drawn
    assert ("We cannot say whether yours was drawn" in authors) == (drawn and guarantee.name != "odds")
    if guarantee.name == "odds":
        told = "you may ask" if scores == "public" else "the chairs may tell you"
        assert f"so {told} whether yours was." in authors
    for letter in (authors, reviewers):
        assert " ." not in letter
        assert "  " not in letter


def test_assumptions_say_first_what_they_are_about() -> None:
    text = page(made(assumptions=[*ASSUMED["past"], *ASSUMED["list"]]))
    for lead in ("Against whom", "What they know", "One paper at a time", "Fixed beforehand", "Not covered"):
        assert f"<strong>{lead}:</strong> " in text
    assert "<li>One place on the list depends on the private decisions on all papers." in text


def test_every_assumption_has_a_sentence_and_says_which_limits_hold_without_scores() -> None:
    names = [*dict.fromkeys(name for some in ASSUMED.values() for name in some)]
    assert {*ASSUMPTIONS} == {*names}
    told = dict(zip(names, assumptions_of(names, Guarantee("steady")), strict=True))
    assert all(text.endswith(".") and "{" not in text for text in told.values())
    assert "a limit on how sure anyone can be (posterior_cap) holds for them as well" in told["unseen"]


@pytest.mark.parametrize("better", ["high", "low"])
def test_the_pictures_say_where_the_bar_lies_what_changed_and_what_each_promise_gains(better: str) -> None:
    report = made(better=better)
    assert report.survey is not None
    assert report.menu is not None
    stands = tuple(replace(one, mean=1.5 + 0.7 * place) for place, one in enumerate(report.survey))
    # By mean scores the last three are accepted, or if low ones are better the first five.
    raw = [("accept" if (place > 4) == (better == "high") else "reject") for place in range(8)]
    advice = {("reject", "accept"): "raise", ("accept", "reject"): "lower"}
    decided = tuple(
        replace(one, by_mean_score=word, advice=advice.get((word, one.decision), "leave"))
        for one, word in zip(report.decided, raw, strict=True)
    )
    report = replace(report, survey=stands, decided=decided)
    found = facts(report)
    chart = found["score_chart"]
    assert sum(sum(column.counts) for column in chart.columns) == 8
    assert sum(column.counts[0] for column in chart.columns) == 3
    low, high = chart.columns[0].low, chart.columns[-1].high
    cut = low + chart.mark / WIDTH * (high - low)
    for stand, word in zip(stands, raw, strict=True):
        assert ((stand.mean > cut) == (better == "high")) == (word == "accept")
    changes = {bar.label: int(bar.text) for bar in found["change_bars"]}
    assert changes["raise"] + changes["lower"] == found["changed"] > 0
    assert sum(changes.values()) == 8
    gains = found["menu_bars"]
    assert report.menu is not None
    assert len(gains) == len(report.menu.choices) + 2
    assert [bar.chosen for bar in gains].count(True) == 1
    wide = [bar.width for bar in gains]
    assert wide[0] == 0.0, "mean scores gain nothing"
    text = page(report)
    for word in ("raise", "lower", "leave"):
        assert f"<em>{word}</em>" in text
    assert "with all decisions" not in text


@pytest.mark.parametrize("raw", [5.04, 5.043, 5.08, 5.1, 17.66])
@pytest.mark.parametrize("gain", [0.12, 0.241, 0.269, 0.31])
def test_one_gain_is_one_number_in_headline_chart_and_table_and_the_numbers_beside_it_differ_by_it(
    raw: float, gain: float
) -> None:
    of_hundred = {
        "expected_wrong_raw": raw,
        "expected_wrong": raw - gain,
        "expected_wrong_fully_calibrated": 4,
    }
    given = made(100, **{name: wrong / 100 for name, wrong in of_hundred.items()})
    said = facts(given)
    (own,) = (bar for bar in said["wrong_bars"] if bar.chosen)
    (row,) = (bar for bar in said["menu_bars"] if bar.chosen)
    assert {said["saved_text"], own.text, row.text} == {f"{gain:.1f}"}
    assert f"Expected gain: {gain:.1f} of 100" in said["advice"]
    before, now = (float(said["number"][name]) for name in ("_raw", "_now"))
    assert f"{round(before - now, 3):.1f}" == f"{gain:.1f}"


def test_figures_on_strictness_from_past_years_are_kept_by_the_chair() -> None:
    """On the short page of confidential scores too: only this year's own reviews leave no such figures."""
    pages = {}
    for source in ("past", "this-year"):
        report = made(scores="confidential", source=source)
        without = {name: value for name, value in report.certificate.items() if name != "success"}
        pages[source] = page(replace(report, certificate=without, survey=None))
    assert "The chair, in files for the chair alone" in pages["past"]
    assert "Nobody: they were computed from this year" not in pages["past"]
    assert "Nobody: they were computed from this year" in pages["this-year"]
