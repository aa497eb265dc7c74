"""What is published if scores are confidential: the decisions, and nothing else that depends on scores."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from blindcal.deciding import ledger
from blindcal.deciding.certificate_fields import _limit_field
from blindcal.deciding.key_and_coins import make_key
from blindcal.deciding.ledger import confidential_assumptions, public_decisions
from blindcal.deciding.release import decide
from blindcal.errors import InputError, RefusedError
from blindcal.planning.request import Request
from blindcal.policy.guarantee import LIMITS, Guarantee
from blindcal.posterior.inputs import read_inputs
from blindcal.verification import verify
from small_conferences import read_small, small_conference

REQUEST = Request(Guarantee("steady", epsilon=2.0), accept=2, wait_list=1, scores="confidential")
# What a reader of public files may know whatever the scores are.
KNOWN = {
    "format",
    "scores",
    "conference",
    "release",
    "papers",
    "reviews",
    "accepted",
    "better",
    "requested",
    "pools",
    "guarantee",
    "limits",
    "commitment",
    "key_fingerprint",
    "release_counter",
    "assumptions",
    "decided_again",
    "selection",
}


def test_a_later_limit_leaves_the_assumptions_of_earlier_formats_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = confidential_assumptions(1)
    later = replace(LIMITS["posterior_cap"], since=2, without_scores="the new limit")
    monkeypatch.setattr(ledger, "LIMITS", {**LIMITS, "later": later})
    assert confidential_assumptions(1) == before
    assert ", and the new limit (later) holds for them as well" in confidential_assumptions(2)[2]
    assert _limit_field("later", later).since == 2


def test_published_files_hold_decisions_and_nothing_else_of_the_scores(tmp_path: Path) -> None:
    make_key(tmp_path / "key")
    inputs = read_small(small_conference(), tmp_path / "in")
    outcome = decide(inputs, REQUEST, tmp_path / "key", tmp_path / "out")
    table = (tmp_path / "out" / "decisions.csv").read_text()
    assert table.splitlines()[0] == "paper,decision,wait_list"
    content = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert content == outcome.certificate
    assert content.keys() == KNOWN
    assert content["scores"] == "confidential"
    assert content["selection"].keys() == {"accept", "wait_list", "waiting"}
    assert content["decided_again"] == {"papers": 0, "corrected": 0}
    assumptions = confidential_assumptions(content["format"])
    assert content["assumptions"][: len(assumptions)] == assumptions
    assert set(outcome.full_certificate) > {"success", "epsilon", "bar", "calibration_fit", "scale"}
    assert verify(inputs, tmp_path / "key", tmp_path / "out").agrees


@pytest.mark.parametrize("move", [0.013, -0.02])
def test_the_certificate_is_the_same_whatever_the_scores_are(move: float, tmp_path: Path) -> None:
    """But for the commitment, which looks random without the key: figures would tell the scores apart."""
    small = small_conference()
    rows = [(paper, who, f"{float(score) + move:g}") for paper, who, score in small.reviews[1:]]
    made = {}
    for name, reviews in (("as", small.reviews), ("moved", (small.reviews[0], *rows))):
        place = tmp_path / name
        files = replace(small, reviews=reviews).write(place / "in")
        make_key(place / "key")
        inputs = read_inputs(*(files / f"{one}.csv" for one in ("reviews", "reviewers", "pools")))
        made[name] = decide(inputs, REQUEST, place / "key", place / "out")
    own = {"commitment", "key_fingerprint"}
    told = [{k: v for k, v in one.certificate.items() if k not in own} for one in made.values()]
    full = [{k: v for k, v in one.full_certificate.items() if k not in own} for one in made.values()]
    assert told[0] == told[1]
    assert full[0] != full[1]


def test_who_may_see_the_scores_is_frozen_with_the_first_release(tmp_path: Path) -> None:
    make_key(tmp_path / "key")
    inputs = read_small(small_conference(), tmp_path / "in")
    decide(inputs, REQUEST, tmp_path / "key", tmp_path / "out")
    with pytest.raises(RefusedError, match="`scores` is confidential since release 1 and cannot be changed"):
        decide(inputs, replace(REQUEST, scores="public"), tmp_path / "key", tmp_path / "public")
    assert not (tmp_path / "public").exists()
    with pytest.raises(InputError, match="`scores` must be public or confidential, found secret"):
        replace(REQUEST, scores="secret").checked()


def test_cells_that_were_escaped_stay_as_they_were() -> None:
    text = 'paper,decision,raw_decision,advice,track\n"\'=x,1",accept,tie,accept,"a;b"\n'
    assert public_decisions(text, "confidential") == 'paper,decision,track\n"\'=x,1",accept,"a;b"\n'
    assert public_decisions(text, "public") == text
