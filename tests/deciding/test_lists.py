"""Final lists: the best by the private decisions, other numbers in print, amendments at the frozen cut."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp, inf, prod
from pathlib import Path
from typing import Any

import pytest

from blindcal.deciding.certificate import claim_of
from blindcal.deciding.decide import draft, with_texts
from blindcal.deciding.key import Key, coin_facts, input_stamp, public_facts
from blindcal.deciding.ledger import Ledger
from blindcal.deciding.lists import list_problems, listing, own_rank, printed_list, ranked, ranked_again
from blindcal.deciding.record import Record
from blindcal.errors import InputError, RefusedError
from blindcal.planning.conference_plan import PaperPlan, plan, plan_conference
from blindcal.planning.request import Quota, Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import Conference, TrueReviewers
from blindcal.posterior.paper import PaperCase
from blindcal.verification import latest
from chances import keys
from sizes import count
from small_conferences import Chair, everything, known_key, loaded, read_small, small_conference

CLOSE = small_conference(seed=8, papers=8, noise=1.0, spread=0.3)
REQUEST = Request(Guarantee("average", epsilon=None), accept=3, wait_list=2)
TRACKS = {f"p{i:02d}": "short" if i % 3 == 0 else "main" for i in range(8)}
TRACKED = CLOSE.with_tracks(TRACKS)
BY_TRACK = replace(REQUEST, accept={"main": 2, "short": 1}, wait_list={"main": 1})


@pytest.fixture
def chair(tmp_path: Path) -> Chair:
    """The same key every time: what a test finds does not hang on a coin."""
    known_key(tmp_path / "key.bin")
    CLOSE.write(tmp_path / "in")
    return Chair(tmp_path, CLOSE, REQUEST)


@pytest.fixture
def by_track(chair: Chair) -> Chair:
    return replace(chair, given=TRACKED, request=BY_TRACK)


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def words_of(text: str) -> dict[str, str]:
    return {row["paper"]: row["decision"] for row in rows_of(text)}


def decisions_of(record: Record) -> dict[str, str]:
    return words_of(record.decisions)


def numbers(record: Record) -> tuple[int, int]:
    words = Counter(decisions_of(record).values())
    return words["accept"], words["wait list"]


def test_another_number_is_printed_from_the_same_coins(chair: Chair) -> None:
    first = chair.decide().record
    before, order = chair.files, sorted(first.papers, key=own_rank)
    for number in (8, 5, 3, 1):
        found = printed_list(first, number, 0)
        accepted = {paper for paper, word in words_of(found.text).items() if word == "accept"}
        assert accepted == {paper.paper for paper in order[:number]}
        assert found.accepted == number
        assert found.digest != printed_list(first, 4).digest
    assert chair.files == before, "nothing is drawn, recorded or published"
    same = printed_list(first, 3, 2)
    assert (same.text, same.changes) == (first.decisions, ())


@pytest.mark.parametrize(
    "request_", [REQUEST, BY_TRACK, replace(REQUEST, guarantee=Guarantee("steady", epsilon=2.0))]
)
def test_what_mean_scores_say_follows_the_number(request_: Request, chair: Chair) -> None:
    """Else calibration is compared with mean scores that accept fewer papers, and advice is wrong."""
    record = chair.decide(TRACKED if request_ is BY_TRACK else CLOSE, request_).record
    lists = [{"main": 4, "short": 2}, {"main": 1, "short": 1}] if request_ is BY_TRACK else [6, 1]
    for number in lists:
        rows = rows_of(printed_list(record, number, 0).text)
        for track in {row.get("track") for row in rows}:
            here = [row for row in rows if row.get("track") == track]
            accepted = sum(row["decision"] == "accept" for row in here)
            raws = Counter(row["by_mean_score"] for row in here)
            assert raws["accept"] <= accepted <= raws["accept"] + raws["tie"]


@pytest.mark.parametrize("request_", [REQUEST, BY_TRACK])
def test_whoever_waits_is_accepted_or_waits_unless_another_number_is_given(
    request_: Request, chair: Chair
) -> None:
    first = chair.decide(TRACKED if request_ is BY_TRACK else CLOSE, request_).record
    before = decisions_of(first)
    waiting = {paper for paper, word in before.items() if word == "wait list"}
    lists = [{"main": 1, "short": 2}, {"main": 3, "short": 1}] if request_ is BY_TRACK else [2, 4, 6]
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


def test_a_list_of_confidential_scores_is_given_out_without_them(chair: Chair) -> None:
    found = printed_list(chair.decide(request=replace(REQUEST, scores="confidential")).record, 4)
    assert found.text.splitlines()[0] == "paper,decision,by_mean_score,advice,wait_list"
    assert found.public.splitlines()[0] == "paper,decision,wait_list"


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"accept": 4}, r"since release 1 and cannot be changed: .*export"),
        ({"wait_list": 0}, r"since release 1 and cannot be changed: .*export"),
        ({"guarantee": Guarantee("steady", epsilon=2.0)}, "frozen with the first release"),
        ({"accept": None, "wait_list": 0, "accept_rate": 0.4}, "cannot be changed"),
    ],
)
def test_another_request_is_refused_and_leaves_nothing_behind(
    other: dict[str, Any], told: str, chair: Chair
) -> None:
    first = chair.decide()
    again = chair.decide()
    assert (again.how, again.record) == ("stored", first.record)
    before = everything(chair.home)
    for amend in ({}, {"amend": True, "reason": "longer"}):
        with pytest.raises(RefusedError, match=told):
            chair.decide(request=replace(REQUEST, **other), out="new", **amend)
    assert everything(chair.home) == before


def test_a_withdrawn_paper_leaves_its_place_empty_until_a_list_is_printed_that_refills_it(
    chair: Chair,
) -> None:
    first = chair.decide().record
    order = [paper.paper for paper in sorted(first.papers, key=own_rank)]
    gone = order[1]
    fewer = replace(
        CLOSE,
        reviews=tuple(row for row in CLOSE.reviews if row[0] != gone),
        pools=tuple(row for row in CLOSE.pools if row[0] != gone),
    )
    without = printed_list(first, 3, 1, {gone})
    left = chair.amend(fewer, reason="withdrawn").record
    assert numbers(left) == (2, 2)
    filled = printed_list(left, 3, 1)
    assert filled.text == without.text, "whether or not the withdrawal was recorded"
    words = words_of(filled.text)
    assert [paper for paper in order if words.get(paper) == "accept"] == [order[0], *order[2:4]]
    back = chair.amend(CLOSE, out="out4", reason="back")
    assert decisions_of(back.record)[gone] == "accept"
    assert chair.verify(out="out4").agrees


def test_a_printed_list_can_be_checked(chair: Chair) -> None:
    """Whatever its number; a paper that was moved up, one that is not there and one of another conference."""
    record, path = chair.decide().record, chair.home / "list.csv"
    for number in (1, 5, 8):
        path.write_text(printed_list(record, number).text)
        assert chair.verify(lists=[path]).agrees
        assert list_problems(record, path) == ([], 8, 0)
    order = [paper.paper for paper in sorted(record.papers, key=own_rank)]
    text = printed_list(record, 4, 0).text
    words = words_of(text)
    swapped = {**words, order[3]: "reject", order[4]: "accept"}
    lines = [f"{paper},{word}" for paper, word in swapped.items()]
    path.write_text("\n".join(["paper,decision", *lines]) + "\n")
    assert sorted(list_problems(record, path)[0]) == sorted(order[3:5])
    found = chair.verify(lists=[path])
    assert [check.name for check in found.checks if check.failed] == [f"printed list {path}"]
    path.write_text(printed_list(record, 4, 0, {order[0]}).text)
    (check,) = [c for c in chair.verify(out=None, lists=[path]).checks if c.name.startswith("printed")]
    assert (check.failed, check.items) == (0, 7)
    assert check.note.startswith("1 paper of the release not in it")
    path.write_text(text + "p99,accept,accept,leave\n")
    assert "p99" in list_problems(record, path)[0]


def test_papers_that_were_decided_one_by_one_have_no_list(chair: Chair) -> None:
    record = chair.decide(request=Request(Guarantee("steady", epsilon=2.0), accept_rate=0.4)).record
    with pytest.raises(RefusedError, match="decided one by one"):
        printed_list(record, 3)
    with pytest.raises(InputError, match="decided one by one"):
        list_problems(record, chair.home / "out" / "decisions.csv")


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ((9,), "`accept` 9: there are only 8 papers"),
        ((4, 5), "`accept` 4 and 5 on the wait list: there are only 8 papers"),
        ((0,), "at least 1"),
    ],
)
def test_more_papers_than_there_are(numbers: tuple[int, ...], told: str, chair: Chair) -> None:
    record = chair.decide().record
    with pytest.raises(InputError, match=told):
        printed_list(record, *numbers)


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


@pytest.mark.parametrize(("score", "word"), [("9", "accept"), ("-9", "reject")])
def test_an_amended_paper_is_accepted_if_it_ranks_above_the_frozen_cut(
    score: str, word: str, chair: Chair
) -> None:
    """One paper gets the best scores, or the worst; nobody else's place changes, not even to keep k.

    The frozen cuts follow from private decisions, and so would expectations at these cuts: those that are
    stated are those of a list ranked as a whole.
    """
    first = chair.decide().record
    before = decisions_of(first)
    paper = next(row[0] for row in CLOSE.reviews if before.get(row[0]) not in (None, word))
    header, *rows = CLOSE.reviews
    corrected = tuple((*row[:2], score) if row[0] == paper else row for row in rows)
    changed = replace(CLOSE, reviews=(header, *corrected))
    with pytest.raises(RefusedError, match="1 with other scores"):
        chair.decide(changed, out="out2")
    amended = chair.amend(changed).record
    after = decisions_of(amended)
    assert after == {**before, paper: word}
    assert amended.selection == first.selection
    certificate = json.loads(amended.certificate)
    assert certificate["accepted"] == [*after.values()].count("accept")
    wrong = expected_wrong(amended, {"": certificate["accepted"]})
    assert certificate["expected_wrong"] == pytest.approx(wrong, abs=1.2e-9)
    assert chair.verify(changed, "out2").agrees
    again = printed_list(amended, 3, 2)
    assert (again.accepted, again.waiting) == (3, 2)


def test_each_track_has_a_bar_and_a_number(by_track: Chair) -> None:
    record = by_track.decide().record
    assert isinstance(record.bar, dict)
    assert set(record.bar) == {"main", "short"}
    assert len({*record.bar.values()}) == 2
    rows = rows_of(record.decisions)
    assert {row["paper"]: row["track"] for row in rows} == TRACKS
    words = Counter((row["track"], row["decision"]) for row in rows)
    assert (words["main", "accept"], words["main", "wait list"], words["short", "accept"]) == (2, 1, 1)
    certificate = json.loads(record.certificate)
    assert certificate["bar"] == record.bar
    assert certificate["selection"]["accept"] == {"main": 2, "short": 1}
    planned = plan(by_track.read(), BY_TRACK)
    assert planned.summary["expected_wrong"] == pytest.approx(certificate["expected_wrong"], abs=1.2e-9)
    assert by_track.verify().agrees
    more = printed_list(record, {"main": 1, "short": 2})
    assert (more.accepted, more.waiting) == (3, 2)
    for accept in (4, {"main": 2}, {"main": 2, "long": 1}):
        with pytest.raises(RefusedError, match=r"tracks that each have a bar .main, short"):
            printed_list(record, accept)


def test_a_paper_that_changes_its_track_is_decided_again(by_track: Chair) -> None:
    by_track.decide()
    moved = CLOSE.with_tracks({**TRACKS, "p00": "main"})
    with pytest.raises(RefusedError, match="1 in another track"):
        by_track.decide(moved, out="out2")
    assert by_track.amend(moved).changes.tracks == ("p00",)
    assert by_track.verify(moved, "out2").agrees
    strange = CLOSE.with_tracks({**TRACKS, "p00": "demo", "p01": ""})
    with pytest.raises(InputError) as caught:
        by_track.amend(strange, out="out3")
    assert "column track: must be one of those that papers are accepted in (main, short)" in str(caught.value)
    found = {problem.found for problem in caught.value.problems}
    assert found == {"another one for 1 paper", "none for 1 paper"}


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
def test_all_or_none_of_a_track(accept: dict[str, int], by_track: Chair) -> None:
    """The list, expected errors by enumeration, verifying, other numbers, and a corrected paper."""
    chair = replace(by_track, request=replace(REQUEST, accept=accept, wait_list=0))
    record = chair.decide().record
    assert numbers(record) == (sum(accept.values()), 0)
    for row in rows_of(record.decisions):
        if accept[row["track"]] in (0, {"main": 5, "short": 3}[row["track"]]):
            assert row["decision"] == row["by_mean_score"] == ("accept" if accept[row["track"]] else "reject")
    certificate = json.loads(record.certificate)
    assert certificate["expected_wrong"] == pytest.approx(expected_wrong(record, accept), abs=1.2e-9)
    planned = plan(chair.read(), chair.request).summary["expected_wrong"]
    assert planned == pytest.approx(certificate["expected_wrong"], abs=1.2e-9)
    assert chair.verify().agrees
    for other in ({"main": 0, "short": 2}, {"main": 5, "short": 3}, accept):
        assert printed_list(record, other).accepted == sum(other.values())
    header, *rows = TRACKED.reviews
    better = [(*row[:2], "9", row[3]) if row[0] in ("p00", "p01") else row for row in rows]
    corrected = replace(TRACKED, reviews=(header, *better))
    amended = chair.amend(corrected).record
    for track, places in accept.items():
        papers = [paper for paper in amended.papers if paper.public["track"] == track]
        found_here = [decisions_of(amended)[paper.paper] for paper in papers].count("accept")
        assert found_here == places or 0 < places < len(papers)
    assert chair.verify(corrected, "out2").agrees


def test_a_track_without_papers_may_have_the_number_0(chair: Chair) -> None:
    request = replace(REQUEST, accept={"main": 3, "short": 0}, wait_list={"main": 1})
    chair = replace(chair, given=CLOSE.with_tracks(dict.fromkeys(TRACKS, "main")), request=request)
    record = chair.decide().record
    assert numbers(record) == (3, 1)
    assert chair.verify().agrees
    assert latest(chair.key).records == [record]
    assert printed_list(record, {"main": 4, "short": 0}).accepted == 4


# --- Exactly k: what the final list reveals, by an adversary that lists every vector of private decisions.


KEY = Key(bytes(range(32)))
AVERAGE = Guarantee("average", epsilon=None)
GUARANTEES = (
    Guarantee("steady", epsilon=2.0),
    AVERAGE,
    Guarantee("none", epsilon=1.0),
    Guarantee("average", epsilon=2.0),
    Guarantee("crowd", among=4, epsilon=None),
    Guarantee("average", epsilon=None, among=3),
    Guarantee("steady", epsilon=3.0, multiplier=1.4),
)
TINY = Fraction(1, 10**12)
# Conferences of which several papers are decided by a coin; of the second, whatever the guarantee.
OPEN = (4, 8, 12)


def planned(
    seed: int, guarantee: Guarantee, papers: int = 5, accept: int = 2, wait_list: int = 1
) -> tuple[Conference, TrueReviewers, Request, list[PaperPlan]]:
    """A small conference whose bar is chosen for so many papers, and its tables."""
    request = Request(guarantee, accept=accept, wait_list=wait_list).checked()
    close = small_conference(seed=seed, papers=papers, noise=1.0, spread=0.3)
    conference, truth = loaded(close, accept_rate=accept / papers)
    plans = plan_conference(conference, guarantee)
    return conference, truth, request, plans


def first_release(
    conference: Conference, truth: TrueReviewers, request: Request, plans: list[PaperPlan], key: Key = KEY
) -> Record:
    """The first release, by the door that `decide` goes through, without any file."""
    past = Ledger(Path(), key, ())
    return draft(conference, truth, request, past, lambda *_: plans, "").record


def with_decisions(record: Record, decisions: Sequence[int], quota: Quota) -> list[str]:
    """The list that these private decisions would have led to."""
    papers = tuple(replace(p, accepted=bool(d)) for p, d in zip(record.papers, decisions, strict=True))
    return list(listing(replace(record, papers=papers, selection=ranked(papers, quota))).decisions)


class Everything:
    """Every tuple of every paper and every vector of private decisions, in fractions."""

    def __init__(self, conference: Conference, plans: list[PaperPlan]) -> None:
        self.cases = conference.cases
        self.weight, self.table = [], []
        for case, planned in zip(conference.cases, plans, strict=True):
            weight = [Fraction(float(w)) for w in case.belief.weight]
            self.weight.append([w / sum(weight) for w in weight])
            accept = [planned.policy.probability(r) for r in range(len(weight))]
            self.table.append([[1 - p for p in accept], accept])
        self.chance = [
            [sum(w * p for w, p in zip(weight, outcome, strict=True)) for outcome in table]
            for weight, table in zip(self.weight, self.table, strict=True)
        ]
        self.vectors = [
            vector
            for vector in product((0, 1), repeat=len(self.cases))
            if all(self.chance[i][d] > 0 for i, d in enumerate(vector))
        ]

    def favor(self, paper: int, decision: int) -> Fraction:
        """P(right to accept | scores, private decision)."""
        mass = [w * p for w, p in zip(self.weight[paper], self.table[paper][decision], strict=True)]
        favor = self.cases[paper].belief.favor
        return sum(m * Fraction(float(f)) for m, f in zip(mass, favor, strict=True)) / sum(mass)

    def best(self, decisions: Sequence[int], accept: int, wait_list: int) -> tuple[str, ...]:
        """The list, ranked here by fractions: no two papers of these conferences are as good as tied."""
        order = sorted(range(len(self.cases)), key=lambda i: -self.favor(i, decisions[i]))
        words = ["accept"] * accept + ["wait list"] * wait_list + ["reject"] * len(order)
        found = dict(zip(order, words, strict=False))
        return tuple(found[i] for i in range(len(order)))

    def given_tuple(self, paper: int, lists: Sequence[object]) -> dict[object, list[Fraction]]:
        """P(what is published | tuple) of one paper, over the coins of all papers."""
        found: dict[object, list[Fraction]] = {}
        for vector, seen in zip(self.vectors, lists, strict=True):
            others = prod((self.chance[j][d] for j, d in enumerate(vector) if j != paper), start=Fraction(1))
            table = self.table[paper][vector[paper]]
            before = found.setdefault(seen, [Fraction(0)] * len(table))
            found[seen] = [old + others * p for old, p in zip(before, table, strict=True)]
        return found


def by_author(case: PaperCase, slot: int, mass: Sequence[Fraction]) -> dict[int, Fraction]:
    found: dict[int, Fraction] = defaultdict(Fraction)
    for row, part in zip(case.tuples.tolist(), mass, strict=True):
        found[row[slot]] += part
    return found


@pytest.mark.parametrize("seed", [*OPEN, *range(20, count(20, 40))])
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda one: f"{one.name} {one.epsilon}")
def test_no_list_reveals_more_than_the_certificate_says(seed: int, guarantee: Guarantee) -> None:
    """All decisions jointly, and three lists together (one, two, two and a wait list): success, rise,
    posterior, epsilon and multiplier of every paper, over all vectors of private decisions."""
    conference, truth, request, plans = planned(seed, guarantee)
    record = first_release(conference, truth, request, plans)
    world, success = Everything(conference, plans), Fraction(0)
    lists = []
    for vector in world.vectors:
        quotas = ((1, 0), (2, 0), (2, 1))
        lists.append(tuple(world.best(vector, *numbers) for numbers in quotas))
        assert lists[-1] == tuple(tuple(with_decisions(record, vector, Quota(*one))) for one in quotas)
    assert len(set(lists)) > 1 or seed != OPEN[1], "some list depends on the private decisions"
    for index, (case, paper) in enumerate(zip(world.cases, record.papers, strict=True)):
        stated, seen = claim_of(paper), world.given_tuple(index, lists)
        weight = world.weight[index]
        joint = {one: [w * p for w, p in zip(weight, chances, strict=True)] for one, chances in seen.items()}
        assert sum(map(sum, joint.values())) == 1
        named = Fraction(0)
        for slot in range(len(case.scores)):
            before = max(by_author(case, slot, weight).values())
            for mass in joint.values():
                if sum(mass) > 0:
                    top = max(by_author(case, slot, mass).values())
                    named += top
                    assert top / sum(mass) <= Fraction(stated.largest_posterior) + TINY
                    assert top / sum(mass) - before <= Fraction(stated.largest_rise) + TINY
        assert named <= stated.named
        success += named
        assert sum(max(chances) for chances in seen.values()) <= Fraction(stated.multiplier) + TINY
        for chances in seen.values():
            if max(chances) > 0 and stated.epsilon != inf:
                assert max(chances) <= Fraction(exp(stated.epsilon) * (1 + 1e-12)) * min(chances)
    certificate = json.loads(record.certificate)
    assert success / certificate["reviews"] <= Fraction(certificate["success"])


@pytest.mark.parametrize("guarantee", GUARANTEES[:2], ids=("steady", "average"))
def test_expected_errors_are_those_of_the_final_list(guarantee: Guarantee) -> None:
    """Over every tuple and every vector of private decisions; those of the private decisions are less."""
    for seed in (*OPEN, *range(20, count(20, 40))):
        conference, truth, request, plans = planned(seed, guarantee)
        world, record = Everything(conference, plans), first_release(conference, truth, request, plans)
        wrong = Fraction(0)
        for vector in world.vectors:
            chance = prod((world.chance[i][d] for i, d in enumerate(vector)), start=Fraction(1))
            for i, word in enumerate(world.best(vector, 2, 1)):
                favor = world.favor(i, vector[i])
                wrong += chance * (1 - favor if word == "accept" else favor)
        certificate = json.loads(record.certificate)
        assert certificate["expected_wrong"] == pytest.approx(float(wrong / 5), abs=1.2e-9)
        assert certificate["selection"]["expected_wrong_private"] <= certificate["expected_wrong"] + 1e-12


def test_public_files_are_the_same_whenever_the_list_is() -> None:
    """Nothing of the private decisions or of the true reviewers is published but the list: neither in the
    table nor in the certificate."""
    conference, truth, request, plans = planned(8, AVERAGE, wait_list=0)
    public: dict[tuple[str, ...], set[tuple[str, str]]] = defaultdict(set)
    private: dict[tuple[str, ...], set[tuple[bool, ...]]] = defaultdict(set)
    turned = {paper: who[::-1] for paper, who in truth.items()}
    for key, who in product(keys(8, 150), (truth, turned)):
        record = first_release(conference, who, request, plans, key)
        found = listing(record)
        certificate = json.loads(record.certificate)
        for own in ("commitment", "key_fingerprint"):
            certificate.pop(own)
        public[tuple(found.decisions)].add((record.decisions, json.dumps(certificate, sort_keys=True)))
        private[tuple(found.decisions)].add(tuple(p.accepted for p in record.papers))
    assert {len(texts) for texts in public.values()} == {1}
    assert max(map(len, private.values())) > 1, "one list, several private decisions"
    assert len({certificate for texts in public.values() for _, certificate in texts}) == 1


def test_an_amended_list_with_frozen_cuts_says_no_more_than_its_decisions() -> None:
    """Expected errors at the frozen cuts told which private decisions had led to them."""
    conference, truth, request, plans = planned(8, AVERAGE, wait_list=0)
    public: dict[str, set[str]] = defaultdict(set)
    cuts = defaultdict(set)
    for key in keys(8, 300):
        first = first_release(conference, truth, request, plans, key)
        record = with_texts(replace(first, release=2, reason="typo"), key)
        certificate = json.loads(record.certificate)
        for own in ("commitment", "key_fingerprint"):
            certificate.pop(own)
        public[record.decisions].add(json.dumps(certificate, sort_keys=True))
        cuts[record.decisions].add(json.dumps(first.selection))
    assert max(map(len, cuts.values())) > 1, "one list, several cuts"
    assert {len(texts) for texts in public.values()} == {1}


def test_the_number_requested_is_part_of_a_coin_and_the_bar_is_not() -> None:
    """It led to the bar, which is computed and enters nothing: another number means other tables, and then
    other coins."""
    conference, truth, request, _ = planned(8, AVERAGE)
    more = replace(request, accept=4, wait_list=0)
    case = conference.cases[0]
    one, two = (
        coin_facts(each, 1, case.paper, public_facts(case), truth[case.paper]) for each in (request, more)
    )
    assert {name for name in one if one[name] != two[name]} == {"accept"}
    assert input_stamp(KEY, conference, truth, more) != input_stamp(KEY, conference, truth, request)
    moved = replace(conference, bar=0.123)
    assert input_stamp(KEY, moved, truth, request) == input_stamp(KEY, conference, truth, request)


def test_a_list_is_ranked_by_its_own_papers_unless_its_cuts_are_frozen() -> None:
    conference, truth, request, plans = planned(8, AVERAGE)
    record = first_release(conference, truth, request, plans)
    assert ranked_again(record) == record
    turned = replace(record, papers=tuple(replace(p, accepted=not p.accepted) for p in record.papers))
    assert ranked_again(turned).selection == ranked(turned.papers, Quota(2, 1))
    assert ranked_again(turned).selection != record.selection
    frozen = replace(turned, release=2)
    assert ranked_again(frozen) == frozen
    alone = first_release(conference, truth, Request(AVERAGE, accept_rate=0.4), plans)
    assert (ranked_again(alone), alone.selection, listing(alone).quota) == (alone, None, None)


def test_the_wait_list_has_an_order() -> None:
    conference, truth, request, plans = planned(8, AVERAGE, papers=6, accept=2, wait_list=3)
    record = first_release(conference, truth, request, plans)
    found = listing(record)
    waiting = {place: i for i, place in enumerate(found.waiting) if place != ""}
    assert sorted(waiting) == [1, 2, 3]
    ranks = [own_rank(record.papers[waiting[place]]) for place in (1, 2, 3)]
    assert ranks == sorted(ranks)
    header, *rows = record.decisions.splitlines()
    assert header == "paper,decision,by_mean_score,advice,wait_list"
    assert [row.split(",")[1] for row in rows] == list(found.decisions)
    assert [row.split(",")[4] for row in rows] == [str(place) for place in found.waiting]
