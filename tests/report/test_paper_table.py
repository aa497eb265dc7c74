"""The table of papers for a meeting: right about every paper, the same whoever reviewed, safe from titles."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from math import exp, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

pytest.importorskip("jinja2")

from blindcal.deciding.amend import recorded_case
from blindcal.deciding.decide import decide
from blindcal.deciding.key import make_key
from blindcal.deciding.record import Record
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.inputs import read_inputs
from blindcal.posterior.this_year_evidence import LevelCase
from blindcal.report.html_page import table_page
from blindcal.report.paper_table import DRAW, EVIDENCE, SCORES, UNSAID, PaperTable, paper_table
from page_markup import Markup
from small_conferences import small_conference
from small_reviews import conference

pytestmark = pytest.mark.edge

HOSTILE = (
    "</script><script>alert(1)</script>",
    '<img src=x onerror="alert(1)">',
    "&lt;b&gt;\u2028{{ 7 * 7 }}",
)


def released(guarantee: Guarantee | None = None, **request: Any) -> Record:
    """A release of 30 papers on their own reviews."""
    table = conference(5).columns()
    wanted = {"accept_rate": 0.4} if not {"accept", "bar"} & request.keys() else {}
    with TemporaryDirectory() as folder:
        key = Path(folder) / "key.bin"
        make_key(key)
        wish = Request(guarantee or Guarantee("odds"), people=15, **wanted, **request)
        yes = guarantee is not None and guarantee.name == "none"
        return decide(read_inputs(table), wish, key, Path(folder) / "out", yes_leak=yes).record


@pytest.fixture(scope="module")
def record() -> Record:
    return released()


def expected_against(papers: float) -> str:
    return "fewer than 1" if papers < 0.5 else f"about {papers:.0f}"


def test_the_number_of_draws_that_go_against_the_scores_is_the_sum_of_their_chances(record: Record) -> None:
    table = paper_table(record)
    one = next(row for row in table.papers if row.how == DRAW)
    follows = 1.0 / (1.0 + exp(-3.0))
    assert table.against == pytest.approx(table.number(DRAW) * (1.0 - follows), rel=1e-3)
    for papers, said in (
        (21, "so about 1 of 21 is expected to go against them; which ones is said nowhere."),
        (42, "so about 2 of 42 are expected to go against them; which ones is said nowhere."),
        (4, "so fewer than 1 of 4 is expected to go against them; which ones is said nowhere."),
        (1, "1 paper was decided by a weighted draw: it follows the corrected scores with chance 95.3 %."),
        (0, "No paper was decided by a random draw: scores settle all."),
    ):
        many = replace(table, papers=(one,) * papers, against=papers * (1.0 - follows))
        assert many.draws.endswith(said), many.draws


def test_it_says_how_the_number_varies_where_more_papers_are_and_where_a_change_is_written(
    record: Record,
) -> None:
    table = paper_table(record)
    accepts = tuple(replace(row, decision="accept", by_means="reject") for row in table.papers)
    said = replace(table, papers=accepts).number_accepted
    assert said == (
        "30 are accepted, where mean scores accept 0: papers are decided one by one, so the number varies "
        "(40 % set the bar)."
    )
    tied = replace(table, papers=(replace(accepts[0], by_means="tie"), *accepts[1:])).number_accepted
    assert "where mean scores accept 0 and 1 ties: papers" in tied
    assert "no list of another number" in table.notes[1]
    listed = paper_table(released(accept=10, wait_list=4))
    assert listed.number_accepted == ""
    assert "export --accept NUMBER" in listed.notes[1]
    assert "the list follows from it" in listed.draws
    assert "[overridden] in conference.toml" in table.meeting
    assert "[overridden]" not in paper_table(released(release="advice")).meeting
    page = table_page(table)
    for words in (table.promise, "Near the bar: ", "Range: its highest score less its lowest."):
        assert words in page
    assert "by more than a factor of 20.1" in table.promise


def cases(record: Record) -> Iterator[LevelCase]:
    for paper in record.papers:
        case = recorded_case(paper, record)
        assert isinstance(case, LevelCase)
        yield case


def test_every_row_has_what_anyone_with_the_scores_can_compute(record: Record) -> None:
    """Means, places and chances again from the scores; draws are where following the evidence errs least."""
    reviews, table = conference(5), paper_table(record)
    rows = {row.paper: row for row in table.papers}
    assert [*rows] == sorted(reviews.papers)
    chance = 1.0 / (1.0 + exp(-3.0))
    drawn = 0
    for case in cases(record):
        row, own = rows[case.paper], reviews.score[reviews.paper == reviews.papers.index(case.paper)]
        assert row.scores == tuple(sorted(own.tolist()))
        assert row.mean == pytest.approx(own.mean(), abs=1e-4)
        above = ndtr((case.expected_quality - case.bar) / sqrt(case.model.variance_alone(4)))
        assert row.above == pytest.approx(above, abs=1e-3)
        weight, favor = case.belief.weight, case.belief.favor
        always = [float(weight @ favor), float(weight @ (1.0 - favor))]  # wrong if always rejected, accepted
        follow = np.array([1.0 - chance, chance])
        drawn_wrong = float(weight @ (follow * (1.0 - favor) + (1.0 - follow) * favor))
        assert row.how == (DRAW if drawn_wrong < min(always) else SCORES)
        drawn += row.how == DRAW
    assert 0 < drawn < 30
    assert table.follows == f"{100 * chance:.1f} %"
    assert table.summary[0] == (
        f"{drawn} papers were decided by a weighted draw: each follows the corrected scores with chance "
        f"95.3 %, so {expected_against(drawn * (1.0 - chance))} of {drawn} is expected to go against them; "
        "which ones is said nowhere."
    )
    cells = [line.split(",") for line in record.decisions.splitlines()]
    accepted, means = (sum(row[at] == "accept" for row in cells) for at in (1, 2))
    differ = f"{accepted} are accepted, where mean scores accept {means}"
    assert any(said.startswith(differ) for said in table.summary) == (accepted != means)
    lines = record.decisions.splitlines()[1:]
    for line in lines:
        paper, decision, raw, advice, *_ = line.split(",")
        assert (rows[paper].decision, rows[paper].by_means, rows[paper].advice) == (decision, raw, advice)
    moved = sum(line.split(",")[3] in ("raise", "lower") for line in lines)
    assert any(sentence.startswith(f"{moved} w") for sentence in table.summary)
    near = sum(row.how == DRAW or row.advice != "leave" for row in table.papers)
    assert table.near == near


def test_reviewers_draws_and_private_decisions_do_not_enter(record: Record) -> None:
    """The same release of other writers, whose evidence and draws are others: not a byte differs."""
    names = [name for paper in record.papers for name in paper.reviewers][::-1]
    others = tuple(
        replace(
            paper,
            reviewers=tuple(names.pop() for _ in paper.reviewers)[::-1],
            secret=1 - paper.secret,
            probability=("1", "2"),
        )
        for paper in record.papers
    )
    other = replace(record, papers=others)
    assert other != record
    assert table_page(paper_table(other)) == table_page(paper_table(record))
    page = table_page(paper_table(record))
    assert not [name for name in {*conference(5).reviewers} if re.search(rf"\b{name}\b", page)]


@pytest.mark.parametrize(
    ("guarantee", "hows"),
    [
        (Guarantee("odds"), {SCORES, DRAW}),
        (Guarantee("public", epsilon=None), {SCORES}),
        (Guarantee("none", epsilon=None), {SCORES, EVIDENCE}),
    ],
    ids=lambda one: one.name if isinstance(one, Guarantee) else "",
)
def test_what_decided_a_paper_depends_on_the_guarantee(guarantee: Guarantee, hows: set[str]) -> None:
    assert {row.how for row in paper_table(released(guarantee)).papers} <= hows
    assert {row.how for row in paper_table(released(guarantee)).papers} & (hows - {SCORES} or hows)


def test_with_past_years_whether_a_draw_decided_is_not_said(tmp_path: Path) -> None:
    files = small_conference(papers=12, spread=0.2).write(tmp_path / "in")
    inputs = read_inputs(*(files / f"{name}.csv" for name in ("reviews", "reviewers", "pools")))
    make_key(tmp_path / "key.bin")
    wish = Request(Guarantee("crowd", among=10, epsilon=3.0), accept_rate=0.4)
    outcome = decide(inputs, wish, tmp_path / "key.bin", tmp_path / "out")
    table = paper_table(outcome.record)
    settled = outcome.full_certificate["decided_by_public_information"]
    assert (table.number(SCORES), table.number(UNSAID), table.number(DRAW)) == (settled, 12 - settled, 0)
    assert 0 < settled < 12
    assert any("not said whether a random draw decided" in sentence for sentence in table.summary)
    text = json.dumps(table.words["how"][UNSAID])
    assert "cannot" in text or "can only be told" in text


def test_an_exact_number_has_its_wait_list_and_says_that_other_papers_count() -> None:
    table = paper_table(released(accept=10, wait_list=4))
    waiting = sorted((row for row in table.papers if row.wait_list), key=lambda row: int(row.wait_list))
    assert [(row.wait_list, row.decision) for row in waiting] == [(str(n), "wait list") for n in range(1, 5)]
    assert sum(row.decision == "accept" for row in table.papers) == 10
    assert "also depends on the other papers" in table.words["how"][DRAW]["long"]
    assert "also depends" not in paper_table(released()).words["how"][DRAW]["long"]


def test_low_scores_stand_as_they_were_given() -> None:
    low = {row.paper: row.scores for row in paper_table(released(better="low")).papers}
    assert low == {row.paper: row.scores for row in paper_table(released()).papers}


def hostile(record: Record) -> PaperTable:
    papers = [paper.paper for paper in record.papers]
    titles = dict(zip(papers, HOSTILE, strict=False))
    return paper_table(record, titles=titles, by_hand={papers[0]: f"accept: {HOSTILE[0]}"})


def test_titles_cannot_run_and_only_the_pages_own_script_may(record: Record) -> None:
    text = table_page(hostile(record))
    seen = Markup(text)
    kinds = [attributes.get("type") for tag, attributes in seen.found if tag == "script"]
    assert kinds == ["application/json", None]
    data, script = seen.scripts
    assert [row[1] for row in json.loads(data)["rows"][:3]] == [*HOSTILE], "titles are text"
    assert not set("<>&") & {*data}
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in seen.policy
    assert seen.policy.startswith("default-src 'none'")
    for tag, attributes in seen.found:
        assert tag not in ("img", "link", "iframe", "object", "embed", "form", "base")
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "style")]
    assert "innerHTML" not in script
    assert text.count("CONFIDENTIAL") >= 4, "on the screen, in the title, and on every printed page"


def test_what_each_release_decided_and_the_chairs_own_decision_stand_there(record: Record) -> None:
    from blindcal.exporters.formats import decided_of

    first = decided_of(record.decisions.encode(), "record")
    second = tuple(replace(paper, decision="reject") for paper in first)
    table = paper_table(record, by_hand={first[0].paper: "reject: an error"}, releases=[first, second])
    for row, paper in zip(table.papers, first, strict=True):
        assert row.published == (paper.decision, "reject")
    assert [row.by_hand for row in table.papers[:2]] == ["reject: an error", ""]
