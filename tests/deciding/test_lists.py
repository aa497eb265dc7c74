"""Final lists: the best by the private decisions, other numbers in print, amendments at the frozen cut."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import replace
from itertools import product
from math import prod
from pathlib import Path

import pytest

from blindcal.deciding.decide import decide
from blindcal.deciding.lists import list_problems, own_rank, printed_list
from blindcal.deciding.record import Record
from blindcal.errors import InputError, RefusedError
from blindcal.io.atomic_files import write_bytes
from blindcal.planning.conference_plan import plan
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.inputs import Inputs
from blindcal.verification import latest, verify
from small_conferences import everything, read_small, small_conference

CLOSE = small_conference(seed=8, papers=8, noise=1.0, spread=0.3)
REQUEST = Request(Guarantee("average", epsilon=None), accept=3, wait_list=2)
TRACKS = {f"p{i:02d}": "short" if i % 3 == 0 else "main" for i in range(8)}
BY_TRACK = replace(REQUEST, accept={"main": 2, "short": 1}, wait_list={"main": 1})


@pytest.fixture
def key_path(tmp_path: Path) -> Path:
    """The same key every time: what a test finds does not hang on a coin."""
    return known_key(tmp_path)


def known_key(folder: Path) -> Path:
    write_bytes(folder / "key.bin", bytes(range(32)), confidential=True)
    return folder / "key.bin"


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    return read_small(CLOSE, tmp_path / "in")


def decisions_of(record: Record) -> dict[str, str]:
    return {row["paper"]: row["decision"] for row in csv.DictReader(io.StringIO(record.decisions))}


def numbers(record: Record) -> tuple[int, int]:
    words = Counter(decisions_of(record).values())
    return words["accept"], words["wait list"]


def rows_of(record: Record) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(record.decisions)))


def words_of(text: str) -> dict[str, str]:
    return {row["paper"]: row["decision"] for row in csv.DictReader(io.StringIO(text))}


def test_another_number_is_printed_from_the_same_coins(
    inputs: Inputs, key_path: Path, tmp_path: Path
) -> None:
    first = decide(inputs, REQUEST, key_path, tmp_path / "out").record
    before, order = everything(tmp_path), sorted(first.papers, key=own_rank)
    for number in (8, 5, 3, 1):
        found = printed_list(first, number, 0)
        accepted = {paper for paper, word in words_of(found.text).items() if word == "accept"}
        assert accepted == {paper.paper for paper in order[:number]}
        assert found.accepted == number
        assert found.digest != printed_list(first, 4).digest
    assert everything(tmp_path) == before, "nothing is drawn, recorded or published"
    same = printed_list(first, 3, 2)
    assert (same.text, same.changes) == (first.decisions, ())


@pytest.mark.parametrize(
    "request_", [REQUEST, BY_TRACK, replace(REQUEST, guarantee=Guarantee("steady", epsilon=2.0))]
)
def test_what_mean_scores_say_follows_the_number(request_: Request, key_path: Path, tmp_path: Path) -> None:
    """Else calibration is compared with mean scores that accept fewer papers, and advice is wrong."""
    small = CLOSE.with_tracks(TRACKS) if isinstance(request_.accept, dict) else CLOSE
    inputs = read_small(small, tmp_path / "in")
    record = decide(inputs, request_, key_path, tmp_path / "out").record
    lists = [{"main": 4, "short": 2}, {"main": 1, "short": 1}] if small is not CLOSE else [6, 1]
    for number in lists:
        rows = list(csv.DictReader(io.StringIO(printed_list(record, number, 0).text)))
        for track in {row.get("track") for row in rows}:
            here = [row for row in rows if row.get("track") == track]
            accepted = sum(row["decision"] == "accept" for row in here)
            raws = Counter(row["raw_decision"] for row in here)
            assert raws["accept"] <= accepted <= raws["accept"] + raws["tie"]


@pytest.mark.parametrize("request_", [REQUEST, BY_TRACK])
def test_whoever_waits_is_accepted_or_waits_unless_another_number_is_given(
    request_: Request, key_path: Path, tmp_path: Path
) -> None:
    small = CLOSE.with_tracks(TRACKS) if isinstance(request_.accept, dict) else CLOSE
    first = decide(read_small(small, tmp_path / "in"), request_, key_path, tmp_path / "out").record
    before = decisions_of(first)
    waiting = {paper for paper, word in before.items() if word == "wait list"}
    lists = [{"main": 1, "short": 2}, {"main": 3, "short": 1}] if small is not CLOSE else [2, 4, 6]
    for number in lists:
        found = printed_list(first, number)
        after = words_of(found.text)
        assert all(after[paper] != "reject" for paper in waiting)
        assert found.changes == tuple(
            (paper, word, after[paper]) for paper, word in before.items() if after[paper] != word
        )
    assert request_.accept is not None
    left = printed_list(first, request_.accept, 0)
    assert {(then, now) for _, then, now in left.changes} == {("wait list", "reject")}
    assert {paper for paper, _, _ in left.changes} == waiting


def test_a_list_of_confidential_scores_is_given_out_without_them(
    inputs: Inputs, key_path: Path, tmp_path: Path
) -> None:
    record = decide(inputs, replace(REQUEST, scores="confidential"), key_path, tmp_path / "out").record
    found = printed_list(record, 4)
    assert found.text.splitlines()[0] == "paper,decision,raw_decision,advice,wait_list"
    assert found.public.splitlines()[0] == "paper,decision,wait_list"


def test_deciding_with_another_number_is_refused(inputs: Inputs, key_path: Path, tmp_path: Path) -> None:
    first = decide(inputs, REQUEST, key_path, tmp_path / "out")
    again = decide(inputs, REQUEST, key_path, tmp_path / "out")
    assert (again.how, again.record) == ("stored", first.record)
    before = everything(tmp_path)
    for other in ({"accept": 4}, {"wait_list": 0}):
        for amend in ({}, {"amend": True, "reason": "longer"}):
            with pytest.raises(RefusedError, match=r"since release 1 and cannot be changed: .*export"):
                decide(inputs, replace(REQUEST, **other), key_path, tmp_path / "out4", **amend)
    assert everything(tmp_path) == before


def test_a_withdrawn_paper_leaves_its_place_empty_until_a_list_is_printed_that_refills_it(
    inputs: Inputs, key_path: Path, tmp_path: Path
) -> None:
    first = decide(inputs, REQUEST, key_path, tmp_path / "out").record
    order = [paper.paper for paper in sorted(first.papers, key=own_rank)]
    gone = order[1]
    fewer = replace(
        CLOSE,
        reviews=tuple(row for row in CLOSE.reviews if row[0] != gone),
        pools=tuple(row for row in CLOSE.pools if row[0] != gone),
    )
    without = printed_list(first, 3, 1, {gone})
    corrected = read_small(fewer, tmp_path / "in2")
    left = decide(corrected, REQUEST, key_path, tmp_path / "out2", amend=True, reason="withdrawn").record
    assert numbers(left) == (2, 2)
    filled = printed_list(left, 3, 1)
    assert filled.text == without.text, "whether or not the withdrawal was recorded"
    words = words_of(filled.text)
    assert [paper for paper in order if words.get(paper) == "accept"] == [order[0], *order[2:4]]
    back = decide(inputs, REQUEST, key_path, tmp_path / "out4", amend=True, reason="back")
    assert decisions_of(back.record)[gone] == "accept"
    assert verify(inputs, key_path, tmp_path / "out4").agrees


def test_a_printed_list_can_be_checked(inputs: Inputs, key_path: Path, tmp_path: Path) -> None:
    """Whatever its number; a paper that was moved up, one that is not there and one of another conference."""
    record = decide(inputs, REQUEST, key_path, tmp_path / "out").record
    path = tmp_path / "list.csv"
    for number in (1, 5, 8):
        path.write_text(printed_list(record, number).text)
        assert verify(inputs, key_path, tmp_path / "out", lists=[path]).agrees
        assert list_problems(record, path) == ([], 8, 0)
    order = [paper.paper for paper in sorted(record.papers, key=own_rank)]
    text = printed_list(record, 4, 0).text
    words = words_of(text)
    swapped = {**words, order[3]: "reject", order[4]: "accept"}
    lines = [f"{paper},{word}" for paper, word in swapped.items()]
    path.write_text("\n".join(["paper,decision", *lines]) + "\n")
    assert sorted(list_problems(record, path)[0]) == sorted(order[3:5])
    found = verify(inputs, key_path, tmp_path / "out", lists=[path])
    assert [check.name for check in found.checks if check.failed] == [f"printed list {path}"]
    path.write_text(printed_list(record, 4, 0, {order[0]}).text)
    (check,) = [c for c in verify(inputs, key_path, lists=[path]).checks if c.name.startswith("printed")]
    assert (check.failed, check.items) == (0, 7)
    assert check.note.startswith("1 paper of the release not in it")
    path.write_text(text + "p99,accept,accept,leave\n")
    assert "p99" in list_problems(record, path)[0]


def test_papers_that_were_decided_one_by_one_have_no_list(
    inputs: Inputs, key_path: Path, tmp_path: Path
) -> None:
    request = Request(Guarantee("steady", epsilon=2.0), accept_rate=0.4)
    record = decide(inputs, request, key_path, tmp_path / "out").record
    with pytest.raises(RefusedError, match="decided one by one"):
        printed_list(record, 3)
    with pytest.raises(InputError, match="decided one by one"):
        list_problems(record, tmp_path / "out" / "decisions.csv")


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ((9,), "`accept` 9: there are only 8 papers"),
        ((4, 5), "`accept` 4 and 5 on the wait list: there are only 8 papers"),
        ((0,), "at least 1"),
    ],
)
def test_more_papers_than_there_are(
    numbers: tuple[int, ...], told: str, inputs: Inputs, key_path: Path, tmp_path: Path
) -> None:
    record = decide(inputs, REQUEST, key_path, tmp_path / "out").record
    with pytest.raises(InputError, match=told):
        printed_list(record, *numbers)


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (replace(REQUEST, guarantee=Guarantee("steady", epsilon=2.0)), "frozen with the first release"),
        (replace(REQUEST, accept=None, wait_list=0, accept_rate=0.4), "cannot be changed"),
    ],
)
def test_another_request_is_refused_and_leaves_nothing_behind(
    other: Request, told: str, inputs: Inputs, key_path: Path, tmp_path: Path
) -> None:
    decide(inputs, REQUEST, key_path, tmp_path / "out")
    before = everything(tmp_path)
    with pytest.raises(RefusedError, match=told):
        decide(inputs, other, key_path, tmp_path / "new")
    assert everything(tmp_path) == before


def test_where_low_is_better_the_list_is_that_of_the_scale_turned_round(tmp_path: Path) -> None:
    """Scores and offsets turned round: the same standings, so the same best papers."""
    header, *rows = CLOSE.reviews
    turned = replace(
        CLOSE,
        reviews=(header, *((p, r, f"{-float(s):.2f}") for p, r, s in rows)),
        reviewers=(
            CLOSE.reviewers[0],
            *((r, a, f"{-float(b):.3f}", n) for r, a, b, n in CLOSE.reviewers[1:]),
        ),
    )
    one = plan(read_small(CLOSE, tmp_path / "high"), REQUEST)
    two = plan(read_small(turned, tmp_path / "low"), replace(REQUEST, better="low"))
    assert two.summary == one.summary
    assert [case.scores for case in two.conference.cases] == [case.scores for case in one.conference.cases]


def test_an_amended_paper_is_accepted_if_it_ranks_above_the_frozen_cut(
    inputs: Inputs, key_path: Path, tmp_path: Path
) -> None:
    """One paper gets the best scores, another the worst; nobody else's place changes, not even to keep k."""
    first = decide(inputs, REQUEST, key_path, tmp_path / "out").record
    before = decisions_of(first)
    for number, (score, word) in enumerate((("9", "accept"), ("-9", "reject"))):
        rows = [i for i, row in enumerate(CLOSE.reviews) if before.get(row[0]) not in (None, word)]
        paper = CLOSE.reviews[rows[0]][0]
        changed = CLOSE
        for row in rows:
            if CLOSE.reviews[row][0] == paper:
                changed = changed.with_review(row, score=score)
        folder = tmp_path / f"{number}"
        folder.mkdir()
        key = known_key(folder)
        decide(inputs, REQUEST, key, folder / "out")
        corrected = read_small(changed, folder / "in")
        with pytest.raises(RefusedError, match="1 with other scores"):
            decide(corrected, REQUEST, key, folder / "out2")
        amended = decide(corrected, REQUEST, key, folder / "out2", amend=True, reason="typo").record
        after = decisions_of(amended)
        assert {name: one for name, one in after.items() if name != paper} == {
            name: one for name, one in before.items() if name != paper
        }
        assert after[paper] == word
        assert amended.selection == first.selection
        accepted = sum(one == "accept" for one in after.values())
        assert json.loads(amended.certificate)["accepted"] == accepted
        assert verify(corrected, key, folder / "out2").agrees
        again = printed_list(amended, 3, 2)
        assert (again.accepted, again.waiting) == (3, 2)


def test_each_track_has_a_bar_and_a_number(key_path: Path, tmp_path: Path) -> None:
    inputs = read_small(CLOSE.with_tracks(TRACKS), tmp_path / "in")
    record = decide(inputs, BY_TRACK, key_path, tmp_path / "out").record
    assert isinstance(record.bar, dict)
    assert set(record.bar) == {"main", "short"}
    assert len({*record.bar.values()}) == 2
    rows = list(csv.DictReader(io.StringIO(record.decisions)))
    assert {row["paper"]: row["track"] for row in rows} == TRACKS
    words = Counter((row["track"], row["decision"]) for row in rows)
    assert (words["main", "accept"], words["main", "wait list"], words["short", "accept"]) == (2, 1, 1)
    certificate = json.loads(record.certificate)
    assert certificate["bar"] == record.bar
    assert certificate["selection"]["accept"] == {"main": 2, "short": 1}
    planned = plan(inputs, BY_TRACK)
    assert planned.summary["expected_wrong"] == pytest.approx(certificate["expected_wrong"], abs=1.2e-9)
    assert verify(inputs, key_path, tmp_path / "out").agrees
    more = printed_list(record, {"main": 1, "short": 2})
    assert (more.accepted, more.waiting) == (3, 2)
    for accept in (4, {"main": 2}, {"main": 2, "long": 1}):
        with pytest.raises(RefusedError, match=r"tracks that each have a bar .main, short"):
            printed_list(record, accept)


def test_a_paper_that_changes_its_track_is_decided_again(key_path: Path, tmp_path: Path) -> None:
    inputs = read_small(CLOSE.with_tracks(TRACKS), tmp_path / "in")
    decide(inputs, BY_TRACK, key_path, tmp_path / "out")
    moved = read_small(CLOSE.with_tracks({**TRACKS, "p00": "main"}), tmp_path / "in2")
    with pytest.raises(RefusedError, match="1 in another track"):
        decide(moved, BY_TRACK, key_path, tmp_path / "out2")
    outcome = decide(moved, BY_TRACK, key_path, tmp_path / "out2", amend=True, reason="moved")
    assert outcome.changes.tracks == ("p00",)
    assert verify(moved, key_path, tmp_path / "out2").agrees
    strange = read_small(CLOSE.with_tracks({**TRACKS, "p00": "demo", "p01": ""}), tmp_path / "in3")
    with pytest.raises(InputError) as caught:
        decide(strange, BY_TRACK, key_path, tmp_path / "out3", amend=True, reason="moved")
    assert "column track: must be one of those that papers are accepted in (main, short)" in str(caught.value)
    assert {problem.found for problem in caught.value.problems} == {
        "another one for 1 paper",
        "none for 1 paper",
    }


def test_expected_errors_after_an_amendment_are_those_of_a_list_ranked_as_a_whole(
    inputs: Inputs, key_path: Path, tmp_path: Path
) -> None:
    """The frozen cuts follow from private decisions, and so would expectations at these cuts."""
    decide(inputs, REQUEST, key_path, tmp_path / "out")
    corrected = read_small(CLOSE.with_review(1, score="9"), tmp_path / "in2")
    record = decide(corrected, REQUEST, key_path, tmp_path / "out2", amend=True, reason="typo").record
    content = json.loads(record.certificate)
    wrong = expected_wrong(record, {"": content["accepted"]})
    assert content["expected_wrong"] == pytest.approx(wrong, abs=1.2e-9)


def expected_wrong(record: Record, accept: dict[str, int]) -> float:
    """By every outcome of every coin of each track, ranked here."""
    wrong = 0.0
    for track, places in accept.items():
        papers = [paper for paper in record.papers if paper.public["track"] == track]
        for coins in product((0, 1), repeat=len(papers)):
            chance = prod(p.figures["standings"][d][0] for p, d in zip(papers, coins, strict=True))
            tossed = [replace(p, accepted=bool(d)) for p, d in zip(papers, coins, strict=True)]
            best = sorted(tossed, key=own_rank)[:places]
            for paper in tossed:
                favor = paper.figures["standings"][int(paper.accepted)][1]
                wrong += chance * (1 - favor if paper in best else favor)
    return wrong / len(record.papers)


@pytest.mark.parametrize("accept", [{"main": 2, "short": n} for n in (0, 3)] + [{"main": 5, "short": 2}])
def test_all_or_none_of_a_track(accept: dict[str, int], key_path: Path, tmp_path: Path) -> None:
    """The list, expected errors by enumeration, verifying, other numbers, and a corrected paper."""
    small = CLOSE.with_tracks(TRACKS)
    inputs, request = read_small(small, tmp_path / "in"), replace(REQUEST, accept=accept, wait_list=0)
    record = decide(inputs, request, key_path, tmp_path / "out").record
    assert numbers(record) == (sum(accept.values()), 0)
    for row in csv.DictReader(io.StringIO(record.decisions)):
        if accept[row["track"]] in (0, {"main": 5, "short": 3}[row["track"]]):
            assert row["decision"] == row["raw_decision"] == ("accept" if accept[row["track"]] else "reject")
    certificate = json.loads(record.certificate)
    assert certificate["expected_wrong"] == pytest.approx(expected_wrong(record, accept), abs=1.2e-9)
    planned = plan(inputs, request).summary["expected_wrong"]
    assert planned == pytest.approx(certificate["expected_wrong"], abs=1.2e-9)
    assert verify(inputs, key_path, tmp_path / "out").agrees
    for other in ({"main": 0, "short": 2}, {"main": 5, "short": 3}, accept):
        assert printed_list(record, other).accepted == sum(other.values())
    header, *rows = small.reviews
    better = [(*row[:2], "9", row[3]) if row[0] in ("p00", "p01") else row for row in rows]
    corrected = read_small(replace(small, reviews=(header, *better)), tmp_path / "in2")
    amended = decide(corrected, request, key_path, tmp_path / "new", amend=True, reason="typo").record
    for track, places in accept.items():
        papers = [paper for paper in amended.papers if paper.public["track"] == track]
        found_here = [decisions_of(amended)[paper.paper] for paper in papers].count("accept")
        assert found_here == places or 0 < places < len(papers)
    assert verify(corrected, key_path, tmp_path / "new").agrees


def test_a_track_without_papers_may_have_the_number_0(key_path: Path, tmp_path: Path) -> None:
    inputs = read_small(CLOSE.with_tracks(dict.fromkeys(TRACKS, "main")), tmp_path / "in")
    request = replace(REQUEST, accept={"main": 3, "short": 0}, wait_list={"main": 1})
    assert numbers(decide(inputs, request, key_path, tmp_path / "out").record) == (3, 1)
    assert verify(inputs, key_path, tmp_path / "out").agrees
    record = latest(key_path)[1]
    assert printed_list(record, {"main": 4, "short": 0}).accepted == 4
