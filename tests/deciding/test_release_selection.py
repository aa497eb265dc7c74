"""Another number of papers later: the same coins, a release of its own, and amendments at the frozen cut."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from math import prod
from pathlib import Path

import pytest

from blindcal.deciding import release as selection
from blindcal.deciding.draft import own_rank
from blindcal.deciding.key_and_coins import make_key, read_key
from blindcal.deciding.ledger import Record, read_ledger
from blindcal.deciding.release import decide, select
from blindcal.errors import BlindcalError, InputError, RefusedError
from blindcal.io.atomic_files import write_bytes
from blindcal.planning.conference_plan import plan
from blindcal.planning.ranking_and_wait_list import cuts_from_json
from blindcal.planning.request import WHOLE, Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.inputs import Inputs
from blindcal.verification import verify
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


def test_numbered_lists_lie_side_by_side(inputs: Inputs, key_path: Path, tmp_path: Path) -> None:
    public = tmp_path / "public"
    decide(inputs, REQUEST, key_path, public, numbered=True)
    for number, place in ((5, "release-2"), (5, "release-2"), (1, "release-3")):
        found = select(public / "release-1", key_path, public, number, numbered=True).record
        assert (public / place / "decisions.csv").read_text() == found.decisions
        assert json.loads((public / place / "certificate.json").read_text())["accepted"] == number
    assert sorted(path.name for path in public.iterdir()) == [f"release-{i}" for i in (1, 2, 3)]
    before = everything(tmp_path)
    (public / "release-4").mkdir()
    (public / "release-4" / "decisions.csv").write_text("another result\n")
    with pytest.raises(RefusedError, match="never overwritten"):
        select(public / "release-1", key_path, public, 2, numbered=True)
    (public / "release-4" / "decisions.csv").unlink()
    assert everything(tmp_path) == before


def test_another_number_is_chosen_from_the_same_coins(inputs: Inputs, key_path: Path, tmp_path: Path) -> None:
    first = decide(inputs, REQUEST, key_path, tmp_path / "out").record
    assert numbers(first) == (3, 2)
    order = sorted(first.papers, key=own_rank)
    for number in (5, 1, 3):
        found = select(tmp_path / "out", key_path, tmp_path / f"out{number}", number).record
        assert found.papers == first.papers, "nothing was drawn"
        assert (found.bar, found.commitment, found.settings) == (first.bar, first.commitment, first.settings)
        accepted = {paper for paper, word in decisions_of(found).items() if word == "accept"}
        assert accepted == {paper.paper for paper in order[:number]}
        assert verify(inputs, key_path, tmp_path / f"out{number}").agrees
    ledger = read_ledger(key_path, read_key(key_path))
    tossed = [len(ledger.tables(ledger.record(one))) for one in ledger.releases]
    assert tossed == [8, 0, 0, 0]
    assert len({one.input for one in ledger.releases}) == 1


def rows_of(record: Record) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(record.decisions)))


@pytest.mark.parametrize(
    "request_", [REQUEST, BY_TRACK, replace(REQUEST, guarantee=Guarantee("steady", epsilon=2.0))]
)
def test_what_mean_scores_say_follows_the_number(request_: Request, key_path: Path, tmp_path: Path) -> None:
    """Else calibration is compared with mean scores that accept fewer papers, and seems to harm."""
    small = CLOSE.with_tracks(TRACKS) if isinstance(request_.accept, dict) else CLOSE
    inputs = read_small(small, tmp_path / "in")
    decide(inputs, request_, key_path, tmp_path / "out")
    lists = [{"main": 4, "short": 2}, {"main": 1, "short": 1}] if small is not CLOSE else [6, 1]
    for place, number in enumerate(lists):
        found = select(tmp_path / "out", key_path, tmp_path / f"{place}", number, 0)
        rows, content = rows_of(found.record), found.certificate
        for track in {row.get("track") for row in rows}:
            here = [row for row in rows if row.get("track") == track]
            accepted = sum(row["decision"] == "accept" for row in here)
            raws = Counter(row["raw_decision"] for row in here)
            assert raws["accept"] <= accepted <= raws["accept"] + raws["tie"]
        assert content["expected_wrong"] <= content["expected_wrong_raw"] + 1e-9
        assert content["selection"]["bar_for"] == request_.accept
        for name in ("expected_wrong_public", "expected_wrong_fully_calibrated", "against_evidence", "gap"):
            assert name not in content, "by the bar another number would be accepted"
        assert "expected_wrong_private" not in content["selection"]
        assert verify(inputs, key_path, tmp_path / f"{place}").agrees
    assert request_.accept is not None
    back = select(tmp_path / "out", key_path, tmp_path / "back", request_.accept, 0).certificate
    first = json.loads((tmp_path / "out" / "certificate.json").read_text())
    for name in ("expected_wrong", "expected_wrong_raw", "gap"):
        assert back[name] == first[name]


@pytest.mark.parametrize("request_", [REQUEST, BY_TRACK])
def test_whoever_waits_is_accepted_or_waits_unless_another_number_is_given(
    request_: Request, key_path: Path, tmp_path: Path
) -> None:
    small = CLOSE.with_tracks(TRACKS) if isinstance(request_.accept, dict) else CLOSE
    first = decide(read_small(small, tmp_path / "in"), request_, key_path, tmp_path / "out").record
    before = decisions_of(first)
    waiting = sorted(paper for paper, word in before.items() if word == "wait list")
    lists = [{"main": 1, "short": 2}, {"main": 3, "short": 1}] if small is not CLOSE else [2, 4, 6]
    for place, number in enumerate(lists):
        found = select(tmp_path / "out", key_path, tmp_path / f"{place}", number)
        after = decisions_of(found.record)
        assert all(after[paper] != "reject" for paper, word in before.items() if word == "wait list")
        assert not any("wait list" in remark for remark in found.remarks)
        before = after
    assert "wait list" not in before.values()
    select(tmp_path / "out", key_path, tmp_path / "again", request_.accept, request_.wait_list)
    left = select(tmp_path / "out", key_path, tmp_path / "none", request_.accept, 0)
    papers = "1 paper" if len(waiting) == 1 else f"{len(waiting)} papers"
    assert left.remarks[-1] == f"{papers} no longer on the wait list: {', '.join(waiting)}"


def test_the_same_numbers_return_the_stored_list(inputs: Inputs, key_path: Path, tmp_path: Path) -> None:
    decide(inputs, REQUEST, key_path, tmp_path / "out")
    again = select(tmp_path / "out", key_path, tmp_path / "out", 3, 2)
    assert (again.how, again.record.release) == ("stored", 1)
    new = select(tmp_path / "out", key_path, tmp_path / "out5", 5)
    assert (new.how, new.record.release) == ("selected", 2)
    sealed = everything(tmp_path / "key.bin.sealed")
    for folder in ("out5", "copy"):
        stored = select(tmp_path / "out5", key_path, tmp_path / folder, 5)
        assert (stored.how, stored.record) == ("stored", new.record)
    assert everything(tmp_path / "copy") == everything(tmp_path / "out5")
    assert everything(tmp_path / "key.bin.sealed") == sealed


def test_a_list_that_was_sealed_and_not_published_is_published_by_the_same_command(
    inputs: Inputs, key_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide(inputs, REQUEST, key_path, tmp_path / "out")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(selection, "publish", killed)
        with pytest.raises(KeyboardInterrupt):
            select(tmp_path / "out", key_path, tmp_path / "out5", 5)
    assert not (tmp_path / "out5").exists()
    again = select(tmp_path / "out", key_path, tmp_path / "out5", 5)
    assert (again.how, again.record.release, numbers(again.record)) == ("stored", 2, (5, 0))
    assert len(read_ledger(key_path, read_key(key_path)).releases) == 2
    assert verify(inputs, key_path, tmp_path / "out5").agrees


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


def test_an_older_folder_is_told_what_came_after_it(inputs: Inputs, key_path: Path, tmp_path: Path) -> None:
    decide(inputs, REQUEST, key_path, tmp_path / "out")
    assert select(tmp_path / "out", key_path, tmp_path / "out5", 5).remarks == ()
    (told,) = select(tmp_path / "out", key_path, tmp_path / "out4", 4).remarks
    assert told == f"{tmp_path / 'out'} is release 1: the papers are ranked as they stand since release 2"
    assert select(tmp_path / "out4", key_path, tmp_path / "copy", 4).remarks == ()


def test_deciding_again_returns_the_list_of_its_number(
    inputs: Inputs, key_path: Path, tmp_path: Path
) -> None:
    first = decide(inputs, REQUEST, key_path, tmp_path / "out")
    select(tmp_path / "out", key_path, tmp_path / "out5", 5)
    again = decide(inputs, REQUEST, key_path, tmp_path / "out")
    assert (again.how, again.record) == ("stored", first.record)
    assert "this is the list of release 1: release 2 came after it" in again.remarks[0]
    latest = decide(inputs, replace(REQUEST, accept=5, wait_list=0), key_path, tmp_path / "out5")
    assert (latest.how, latest.record.release) == ("stored", 2)
    with pytest.raises(
        RefusedError, match=r"`accept` is 5 and `wait_list` 0 since release 2.*blindcal select"
    ):
        decide(inputs, replace(REQUEST, accept=4), key_path, tmp_path / "out4")
    assert not (tmp_path / "out4").exists()


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
        again = select(folder / "out2", key, folder / "out3", 3, 2)
        assert numbers(again.record) == (3, 2)
        assert verify(corrected, key, folder / "out3").agrees


def test_an_amendment_starts_from_the_cuts_that_were_chosen_last(
    inputs: Inputs, key_path: Path, tmp_path: Path
) -> None:
    decide(inputs, REQUEST, key_path, tmp_path / "out")
    wider = select(tmp_path / "out", key_path, tmp_path / "out5", 5).record
    corrected = read_small(CLOSE.with_review(1, score="9").with_review(2, score="9"), tmp_path / "in2")
    with pytest.raises(RefusedError, match="`accept` is 5 and `wait_list` 0 since release 2"):
        decide(corrected, REQUEST, key_path, tmp_path / "no", amend=True, reason="typo")
    request = replace(REQUEST, accept=5, wait_list=0)
    amended = decide(corrected, request, key_path, tmp_path / "out6", amend=True, reason="typo").record
    assert amended.selection == wider.selection
    assert amended.release == 3
    assert verify(corrected, key_path, tmp_path / "out6").agrees


def test_a_withdrawn_paper_leaves_its_place_empty(inputs: Inputs, key_path: Path, tmp_path: Path) -> None:
    first = decide(inputs, REQUEST, key_path, tmp_path / "out").record
    gone = next(paper for paper, word in decisions_of(first).items() if word == "accept")
    fewer = replace(
        CLOSE,
        reviews=tuple(row for row in CLOSE.reviews if row[0] != gone),
        pools=tuple(row for row in CLOSE.pools if row[0] != gone),
    )
    corrected = read_small(fewer, tmp_path / "in2")
    left = decide(corrected, REQUEST, key_path, tmp_path / "out2", amend=True, reason="withdrawn").record
    assert numbers(left) == (2, 2)
    filled = select(tmp_path / "out2", key_path, tmp_path / "out3", 3, 1).record
    assert numbers(filled) == (3, 1)
    assert verify(corrected, key_path, tmp_path / "out3").agrees
    back = decide(
        inputs, replace(REQUEST, wait_list=1), key_path, tmp_path / "out4", amend=True, reason="back"
    )
    assert decisions_of(back.record)[gone] == "accept"
    assert verify(inputs, key_path, tmp_path / "out4").agrees


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
    more = select(tmp_path / "out", key_path, tmp_path / "out2", {"main": 1, "short": 2})
    assert numbers(more.record) == (3, 2)
    assert verify(inputs, key_path, tmp_path / "out2").agrees
    for accept in (4, {"main": 2}, {"main": 2, "long": 1}):
        with pytest.raises(RefusedError, match=r"tracks that each have a bar .main, short"):
            select(tmp_path / "out", key_path, tmp_path / "out3", accept)


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


def test_expected_errors_after_an_amendment_are_those_at_the_frozen_cut(
    inputs: Inputs, key_path: Path, tmp_path: Path
) -> None:
    decide(inputs, REQUEST, key_path, tmp_path / "out")
    corrected = read_small(CLOSE.with_review(1, score="9"), tmp_path / "in2")
    record = decide(corrected, REQUEST, key_path, tmp_path / "out2", amend=True, reason="typo").record
    assert record.selection is not None
    cut = cuts_from_json(record.selection["cuts"])[WHOLE][0]
    wrong = 0.0
    for paper in record.papers:
        for chance, favor, *_ in paper.figures["standings"]:
            own = own_rank(
                replace(paper, figures={**paper.figures, "standings": [[chance, favor, 0.0, 0.0]] * 2})
            )
            wrong += chance * (1 - favor if cut is None or own < cut else favor)
    assert json.loads(record.certificate)["expected_wrong"] == pytest.approx(wrong / 8, abs=1.2e-9)


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
    """The list, expected errors by enumeration, verifying, other numbers later, and a corrected paper."""
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
    for i, other in enumerate(({"main": 0, "short": 2}, {"main": 5, "short": 3}, accept)):
        found = select(tmp_path / "out", key_path, tmp_path / f"out{i}", other).record
        told = json.loads(found.certificate)["expected_wrong"]
        assert numbers(found) == (sum(other.values()), 0)
        assert told == pytest.approx(expected_wrong(found, other), abs=1.2e-9)
        assert verify(inputs, key_path, tmp_path / f"out{i}").agrees
    header, *rows = small.reviews
    better = [(*row[:2], "9", row[3]) if row[0] in ("p00", "p01") else row for row in rows]
    corrected = read_small(replace(small, reviews=(header, *better)), tmp_path / "in2")
    amended = decide(corrected, request, key_path, tmp_path / "new", amend=True, reason="typo").record
    for track, places in accept.items():
        papers = [paper for paper in amended.papers if paper.public["track"] == track]
        found_here = [decisions_of(amended)[paper.paper] for paper in papers].count("accept")
        assert found_here == places or 0 < places < len(papers)
    assert verify(corrected, key_path, tmp_path / "new").agrees


def test_a_track_that_is_empty_does_not_freeze_the_numbers_of_the_others(
    key_path: Path, tmp_path: Path
) -> None:
    small = CLOSE.with_tracks(TRACKS)
    inputs, request = read_small(small, tmp_path / "in"), replace(BY_TRACK, wait_list=0)
    decide(inputs, request, key_path, tmp_path / "out")
    gone = {paper for paper, track in TRACKS.items() if track == "short"}
    fewer = replace(
        small,
        reviews=tuple(row for row in small.reviews if row[0] not in gone),
        pools=tuple(row for row in small.pools if row[0] not in gone),
    )
    left = read_small(fewer, tmp_path / "in2")
    decide(left, request, key_path, tmp_path / "out2", amend=True, reason="withdrawn")
    chosen = select(tmp_path / "out2", key_path, tmp_path / "out3", {"main": 3, "short": 0})
    assert numbers(chosen.record) == (3, 0)
    assert verify(left, key_path, tmp_path / "out3").agrees
    back_request = replace(request, accept={"main": 3, "short": 0})
    back = decide(inputs, back_request, key_path, tmp_path / "out4", amend=True, reason="back").record
    assert {decisions_of(back)[paper] for paper in gone} == {"reject"}
    assert verify(inputs, key_path, tmp_path / "out4").agrees


def test_a_track_without_papers_may_have_the_number_0(key_path: Path, tmp_path: Path) -> None:
    inputs = read_small(CLOSE.with_tracks(dict.fromkeys(TRACKS, "main")), tmp_path / "in")
    request = replace(REQUEST, accept={"main": 3, "short": 0}, wait_list={"main": 1})
    assert numbers(decide(inputs, request, key_path, tmp_path / "out").record) == (3, 1)
    assert verify(inputs, key_path, tmp_path / "out").agrees
    more = select(tmp_path / "out", key_path, tmp_path / "out2", {"main": 4, "short": 0}).record
    assert numbers(more) == (4, 0)


Refused = Callable[[Inputs, Path, Path], object]
REFUSED: dict[str, tuple[Refused, type[BlindcalError], str]] = {
    "more than there are": (
        lambda _, key, out: select(out / "out", key, out / "new", 9),
        InputError,
        "`accept` 9: there are only 8 papers",
    ),
    "a longer wait list than there are papers": (
        lambda _, key, out: select(out / "out", key, out / "new", 4, 5),
        InputError,
        "`accept` 4 and 5 on the wait list: there are only 8 papers",
    ),
    "tracks that there are not": (
        lambda _, key, out: select(out / "out", key, out / "new", {"main": 2}),
        RefusedError,
        "tracks that each have a bar .none: give one number",
    ),
    "none": (lambda _, key, out: select(out / "out", key, out / "new", 0), InputError, "at least 1"),
    "no release": (
        lambda _, key, out: select(out / "in", key, out / "new", 4),
        InputError,
        "must be a folder with a certificate.json",
    ),
    "a folder that holds another list": (
        lambda _, key, out: select(out / "out", key, out / "out", 4),
        RefusedError,
        "never overwritten",
    ),
    "no key": (
        lambda _, key, out: select(out / "out", out / "other.bin", out / "new", 4),
        InputError,
        "there is no key",
    ),
    "public files among the sealed": (
        lambda _, key, out: select(out / "out", key, out / "key.bin.sealed" / "new", 4),
        InputError,
        "must not lie in the private log",
    ),
    "a key for a path": (
        lambda _, key, out: select(out / "out", read_key(key), out / "new", 4),
        InputError,
        "`key` must be the path",
    ),
    "another guarantee": (
        lambda inputs, key, out: decide(
            inputs, replace(REQUEST, guarantee=Guarantee("steady", epsilon=2.0)), key, out / "new"
        ),
        RefusedError,
        "frozen with the first release",
    ),
    "a share in place of a number": (
        lambda inputs, key, out: decide(
            inputs, replace(REQUEST, accept=None, wait_list=0, accept_rate=0.4), key, out / "new"
        ),
        RefusedError,
        "`accept_rate` was not given, now 0.4",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_leaves_nothing_behind(
    case: str, inputs: Inputs, key_path: Path, tmp_path: Path
) -> None:
    decide(inputs, REQUEST, key_path, tmp_path / "out")
    before = everything(tmp_path)
    action, kind, told = REFUSED[case]
    with pytest.raises(kind, match=told):
        action(inputs, key_path, tmp_path)
    assert everything(tmp_path) == before


def test_papers_that_were_decided_one_by_one_have_no_number(
    inputs: Inputs, key_path: Path, tmp_path: Path
) -> None:
    decide(inputs, Request(Guarantee("steady", epsilon=2.0), accept_rate=0.4), key_path, tmp_path / "out")
    with pytest.raises(RefusedError, match="decided one by one"):
        select(tmp_path / "out", key_path, tmp_path / "new", 3)


def test_a_list_of_another_key_is_refused(inputs: Inputs, key_path: Path, tmp_path: Path) -> None:
    decide(inputs, REQUEST, key_path, tmp_path / "out")
    make_key(tmp_path / "other.bin")
    with pytest.raises(RefusedError, match="another key"):
        select(tmp_path / "out", tmp_path / "other.bin", tmp_path / "new", 4)


def test_nothing_that_is_published_names_a_reviewer(inputs: Inputs, key_path: Path, tmp_path: Path) -> None:
    decide(inputs, REQUEST, key_path, tmp_path / "out")
    select(tmp_path / "out", key_path, tmp_path / "out5", 5, 1)
    public = [*everything(tmp_path / "out").values(), *everything(tmp_path / "out5").values()]
    assert not [name for name in CLOSE.canaries for text in public if name.encode() in text]
