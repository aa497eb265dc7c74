"""What is published if scores are confidential: the decisions, and nothing else that depends on scores."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blindcal.deciding.certificate_fields import ASSUMED, public_table
from blindcal.errors import InputError, RefusedError
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from small_conferences import Chair, small_conference

REQUEST = Request(Guarantee("steady", epsilon=2.0), accept=2, wait_list=1, scores="confidential")
# What a reader of public files may know whatever the scores are.
KNOWN = {
    *("format", "scores", "publishes", "source", "conference", "release", "papers", "reviews", "accepted"),
    *("better", "requested", "pools", "guarantee", "limits", "commitment", "key_fingerprint"),
    *("assumptions", "decided_again", "selection"),
}


def without_key(certificate: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in certificate.items() if k not in ("commitment", "key_fingerprint")}


def test_published_files_hold_decisions_and_nothing_else_of_the_scores(tmp_path: Path) -> None:
    chair = Chair(tmp_path, small_conference(), REQUEST)
    outcome = chair.decide()
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
    assert chair.verify().agrees


@pytest.mark.parametrize("move", [0.013, -0.02])
def test_the_certificate_is_the_same_whatever_the_scores_are(move: float, tmp_path: Path) -> None:
    """But for the commitment, which looks random without the key: figures would tell the scores apart."""
    small = small_conference()
    rows = [(paper, who, f"{float(score) + move:g}") for paper, who, score in small.reviews[1:]]
    made = []
    for name, reviews in (("as", small.reviews), ("moved", (small.reviews[0], *rows))):
        chair = Chair(tmp_path / name, replace(small, reviews=reviews), REQUEST)
        made.append(chair.decide())
    one, two = made
    assert without_key(one.certificate) == without_key(two.certificate)
    assert without_key(one.full_certificate) != without_key(two.full_certificate)


def test_who_may_see_the_scores_is_frozen_with_the_first_release(tmp_path: Path) -> None:
    chair = Chair(tmp_path, small_conference(), REQUEST)
    chair.decide()
    with pytest.raises(RefusedError, match="`scores` is confidential since release 1 and cannot be changed"):
        chair.decide(request=replace(REQUEST, scores="public"), out="public")
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
        late = tuple(("q", who, f"{float(score) + move:g}") for _, who, score in rows)
        if kind == "alike":
            changed = replace(small, reviews=(*small.reviews, *late), pools=(*small.pools, *pools))
        else:
            changed = small.with_review(1, score=f"{float(rows[0][2]) + move:g}")
            changed = replace(changed, reviews=tuple(r for r in changed.reviews if r[0] != "p05"))
        request = replace(REQUEST, accept=None, wait_list=0, accept_rate=0.4, guarantee=Guarantee("public"))
        chair = Chair(tmp_path / name, small, request)
        chair.decide()
        outcome = chair.amend(changed, distinct_papers=True)
        told[name] = without_key(outcome.certificate)
        expected = {"alike": {"same": 1, "other": 0}, "corrected": {"same": 0, "other": 1}}[kind][name]
        assert outcome.full_certificate["decided_again"]["papers"] == expected
    assert told["same"] == told["other"]
    assert told["same"]["decided_again"] == {"corrected": 0}
