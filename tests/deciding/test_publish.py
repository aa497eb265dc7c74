"""What is published if scores are confidential: the decisions, and nothing else that depends on scores."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from blindcal.deciding.certificate_fields import ASSUMED, public_table
from blindcal.deciding.decide import decide
from blindcal.deciding.key import make_key
from blindcal.errors import InputError, RefusedError
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.inputs import read_inputs
from blindcal.verification import verify
from small_conferences import read_small, small_conference

REQUEST = Request(Guarantee("steady", epsilon=2.0), accept=2, wait_list=1, scores="confidential")
# What a reader of public files may know whatever the scores are.
KNOWN = {
    "format",
    "scores",
    "publishes",
    "source",
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
    "assumptions",
    "decided_again",
    "selection",
}


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
    assert content["decided_again"] == {"corrected": 0}
    assert content["assumptions"][:4] == [*ASSUMED["confidential"]]
    assert content["assumptions"][4:] == ["one_paper", "fixed", "uncovered", "one_place"]
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
    text = 'paper,decision,by_mean_score,advice,track\n"\'=x,1",accept,tie,accept,"a;b"\n'
    assert public_table(text, "confidential") == 'paper,decision,track\n"\'=x,1",accept,"a;b"\n'
    assert public_table(text, "public") == text


@pytest.mark.parametrize("kind", ["alike", "corrected"])
def test_nothing_that_is_published_says_that_a_paper_has_the_scores_of_another(
    kind: str, tmp_path: Path
) -> None:
    """A late paper with the scores of a decided one, or with others; a score corrected, or none: with the
    same decisions the same certificate, but for the commitment."""
    small = small_conference(papers=6)
    rows = [row for row in small.reviews[1:] if row[0] == "p00"]
    pools = tuple(("q", *row[1:]) for row in small.pools[1:] if row[0] == "p00")
    told = {}
    for name, move in (("same", 0.0), ("other", 0.05)):
        place = tmp_path / name
        late = tuple(("q", who, f"{float(score) + move:g}") for _, who, score in rows)
        if kind == "alike":
            changed = replace(small, reviews=(*small.reviews, *late), pools=(*small.pools, *pools))
        else:
            changed = small.with_review(1, score=f"{float(rows[0][2]) + move:g}")
            changed = replace(changed, reviews=tuple(r for r in changed.reviews if r[0] != "p05"))
        (place / "1").mkdir(parents=True)
        make_key(place / "key")
        request = replace(REQUEST, accept=None, wait_list=0, accept_rate=0.4, guarantee=Guarantee("public"))
        decide(read_small(small, place / "1"), request, place / "key", place / "out1")
        inputs = read_small(changed, place / "2")
        outcome = decide(
            inputs,
            request,
            place / "key",
            place / "out2",
            amend=True,
            reason="late",
            distinct_papers=True,
        )
        told[name] = outcome.certificate
        expected = {"alike": {"same": 1, "other": 0}, "corrected": {"same": 0, "other": 1}}[kind][name]
        assert outcome.full_certificate["decided_again"]["papers"] == expected
    hidden = {"commitment", "key_fingerprint"}
    one, two = ({k: v for k, v in content.items() if k not in hidden} for content in told.values())
    assert one == two
    assert one["decided_again"] == {"corrected": 0}
