"""Advice as a product: what goes out says raise, lower or leave, and no file says what was drawn."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blindcal.deciding.decide import Outcome, draft, with_texts
from blindcal.deciding.key import input_stamp, read_key
from blindcal.deciding.ledger import commit, open_ledger, read_ledger
from blindcal.deciding.publish import publish
from blindcal.errors import InputError, RefusedError
from blindcal.planning.conference_plan import plan_conference
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.inputs import read_inputs
from blindcal.verification import verify
from small_conferences import Chair, everything, known_key
from small_reviews import this_year

SHARE = Request(Guarantee("odds"), accept_rate=0.3, people=20, strictness_share=0.5, release="advice")
NUMBER = replace(SHARE, accept_rate=None, accept=9, wait_list=3)
TRACKS = replace(SHARE, accept_rate=None, accept={"long": 6, "short": 3}, wait_list={"long": 2})
KINDS = pytest.mark.parametrize("request_", [SHARE, NUMBER, TRACKS], ids=["share", "number", "tracks"])
WORDS = ("accept", "reject", "wait list", "tie")


def table(seed: int = 3, tracks: bool = False) -> dict[str, Any]:
    made = this_year(seed, steps=True)
    if tracks:
        made["track"] = ["long" if int(paper[1:]) % 3 else "short" for paper in made["paper"]]
    return made


def rows_for(request: Request) -> dict[str, Any]:
    return table(tracks=bool(request.quota and request.quota.tracks))


def chair_of(folder: Path, request: Request, rows: dict[str, Any] | None = None) -> Chair:
    """A chair with a known key who is asked for this."""
    return Chair(known_key(folder / "key.bin").parent, read_inputs(rows or rows_for(request)), request)


def full_table(outcome: Outcome) -> list[dict[str, str]]:
    return list(csv.DictReader(outcome.record.decisions.splitlines()))


@KINDS
def test_advice_is_published_and_no_decision(request_: Request, tmp_path: Path) -> None:
    rows, chair = rows_for(request_), chair_of(tmp_path, request_)
    outcome, out = chair.decide(), chair.home / "out"
    assert {*everything(out)} == {"advice.csv", "certificate.json"}
    with (out / "advice.csv").open(newline="") as file:
        published = list(csv.DictReader(file))
    kept = ("paper", "by_mean_score", "advice", *(["track"] if "track" in rows else []))
    assert published == [{name: row[name] for name in kept} for row in full_table(outcome)]
    moved = {row["advice"] for row in published}
    assert "raise" in moved or "lower" in moved
    assert not published[0].keys() & {"decision", "wait_list"}
    certificate = json.loads((out / "certificate.json").read_text())
    assert certificate["publishes"] == "advice"
    assert "accepted" not in certificate
    assert "accepted" in outcome.full_certificate
    assert chair.decide().how == "stored"
    assert chair.verify().agrees


@KINDS
def test_advice_follows_from_means_and_decisions_alone(request_: Request, tmp_path: Path) -> None:
    """An oracle of its own: means ranked here, and what was accepted in the private log."""
    rows, outcome = rows_for(request_), chair_of(tmp_path, request_).decide()
    for row in full_table(outcome):
        tied, by_means = row["by_mean_score"] == "tie", row["by_mean_score"] == "accept"
        accepted = row["decision"] == "accept"
        expected = "leave" if accepted == by_means else "raise" if accepted else "lower"
        assert row["advice"] == (f"tie: {'raise' if accepted else 'lower'}" if tied else expected)
    if request_.quota is None:
        return
    means: dict[str, list[float]] = {}
    for paper, score in zip(rows["paper"], rows["score"], strict=True):
        means.setdefault(paper, []).append(score)
    track = dict(zip(rows["paper"], rows.get("track", [""] * len(rows["paper"])), strict=True))
    for group in {*track.values()}:
        mean = {paper: np.mean(scores) for paper, scores in means.items() if track[paper] == group}
        places = request_.quota.of(group)[0]
        cut = sorted(mean.values(), reverse=True)[places - 1]
        tied = sum(value >= cut for value in mean.values()) > places
        for row in full_table(outcome):
            if row["paper"] in mean:
                value = mean[row["paper"]]
                at_cut = "tie" if tied else "accept"
                assert row["by_mean_score"] == (
                    "accept" if value > cut else at_cut if value == cut else "reject"
                )


@KINDS
def test_with_confidential_scores_nothing_of_a_paper_is_published(request_: Request, tmp_path: Path) -> None:
    """Advice depends on scores: the same bytes whatever the scores and the draws are, but for the key."""
    told = []
    for seed in (3, 4):
        rows = table(seed=seed, tracks="track" in rows_for(request_))
        chair = chair_of(tmp_path / str(seed), replace(request_, scores="confidential"), rows)
        outcome = chair.decide()
        assert {*everything(chair.home / "out")} == {"certificate.json"}
        assert chair.verify().agrees
        with pytest.raises(RefusedError, match="private log"):
            outcome.to_frame()
        content = outcome.certificate
        if "selection" in content:
            content["selection"].pop("waiting")
        told.append({name: value for name, value in content.items() if name != "commitment"})
    assert told[0] == told[1]


def test_the_draws_are_those_of_decisions(tmp_path: Path) -> None:
    """What goes out is no lever: it enters no coin, and asking for the other kind draws nothing again."""
    made = []
    for release, other in (("advice", "decisions"), ("decisions", "advice")):
        chair = chair_of(tmp_path / release, replace(SHARE, release=release))
        made.append(chair.decide().record)
        for amend in ({}, {"amend": True, "reason": "why"}):
            with pytest.raises(RefusedError, match=f"`release` is {release} since release 1"):
                chair.decide(request=replace(SHARE, release=other), out="other", **amend)
        assert not (chair.home / "other").exists()
    assert [p.accepted for p in made[0].papers] == [p.accepted for p in made[1].papers]
    assert made[0].commitment == made[1].commitment
    with pytest.raises(InputError, match="`release` must be one of decisions, advice, found 'both'"):
        replace(SHARE, release="both").checked()


@KINDS
def test_an_amendment_publishes_advice_too(request_: Request, tmp_path: Path) -> None:
    rows, chair = rows_for(request_), chair_of(tmp_path, request_)
    first = chair.decide()
    later = {name: [*cells] for name, cells in rows.items()}
    later["score"][0] = 10.0 if later["score"][0] < 5 else 1.0
    for name in later:
        later[name] += {"paper": ["q"] * 3, "reviewer": ["r01", "r02", "r03"], "score": [1.0, 9.0, 9.0]}.get(
            name, ["long"] * 3
        )
    second = chair.amend(read_inputs(later))
    assert {*everything(chair.home / "out2")} == {"advice.csv", "certificate.json"}
    before = {row["paper"]: row["decision"] for row in full_table(first)}
    after = {row["paper"]: row["decision"] for row in full_table(second)}
    assert {paper for paper in before if before[paper] != after[paper]} <= {"p00"}
    assert chair.verify(read_inputs(later), "out2").agrees


def test_files_beside_advice_and_other_advice_are_noticed(tmp_path: Path) -> None:
    chair, out = chair_of(tmp_path, SHARE), tmp_path / "out"
    outcome = chair.decide()
    (out / "decisions.csv").write_text(outcome.record.decisions)
    checked = chair.verify(published=out)
    assert {check.name for check in checked.checks if check.failed} == {
        "published files",
        "published earlier",
    }
    with pytest.raises(RefusedError, match="another result"):
        chair.decide()
    (out / "decisions.csv").unlink()
    (out / "advice.csv").write_text(outcome.record.published["advice.csv"].replace("leave", "raise"))
    assert not chair.verify().agrees


def seal(folder: Path, request: Request, rows: dict[str, Any], **changed: Any) -> None:
    """A release by a holder of the key who writes other things into the record."""
    key, request = read_key(folder / "key"), request.for_inputs(read_inputs(rows))
    with open_ledger(folder / "key", key) as ledger:
        frozen = ledger.record(1).frozen if ledger.releases else {}
        conference, truth = request.prepared(read_inputs(rows), **frozen)
        made = draft(conference, truth.reviewers, request, ledger, plan_conference, "why" if frozen else "")
        record = with_texts(replace(made.record, **changed), ledger.key)
        stamp = input_stamp(key, conference, truth.reviewers, request)
        commit(ledger, record, made.policies, stamp)
    publish(record, folder / f"out{record.release}")


def test_a_release_that_publishes_otherwise_than_the_first_is_noticed(tmp_path: Path) -> None:
    rows, more = table(), table()
    for name, cells in {"paper": ["q"] * 2, "reviewer": ["r01", "r02"], "score": [1.0, 9.0]}.items():
        more[name] = [*more[name], *cells]
    for forged in ({}, {"publishes": "decisions"}, {"scores": "confidential"}):
        folder = known_key(tmp_path / "-".join(["forged", *forged]) / "key").parent
        seal(folder, SHARE, rows)
        seal(folder, SHARE, more, **forged)
        checked = verify(read_inputs(more), folder / "key", folder / "out2")
        failed = {check.name for check in checked.checks if check.failed}
        assert failed == ({"release 2: settings"} if forged else set())
    assert len(read_ledger(folder / "key", read_key(folder / "key")).releases) == 2


@pytest.mark.parametrize("text", ["leave", "raise"])
def test_advice_that_was_turned_in_the_record_is_noticed(text: str, tmp_path: Path) -> None:
    chair, other = chair_of(tmp_path, SHARE), chair_of(tmp_path / "forged", SHARE)
    first = chair.decide().record
    rows = list(csv.DictReader(first.decisions.splitlines()))
    turned = next(row for row in rows if row["advice"] != text)
    lines = [",".join(rows[0])]
    lines += [",".join({**row, "advice": text if row is turned else row["advice"]}.values()) for row in rows]
    with open_ledger(other.key, read_key(other.key)) as ledger:
        past, forged = read_ledger(chair.key, ledger.key), replace(first, decisions="\n".join(lines) + "\n")
        commit(ledger, forged, past.tables(1), past.releases[0].input)
    publish(forged, other.home / "out")
    assert [check.name for check in other.verify().checks if check.failed] == [
        "release 1: public files follow from the record"
    ]
