"""What is said of a release: decisions and advice, epsilons rounded up, claims that come back."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blindcal.certify.claims import Claim
from blindcal.certify.exact import CLAIM_DENOMINATOR
from blindcal.deciding.certificate import (
    Listing,
    claim_json,
    claim_of,
    decisions_text,
    figures_json,
    figures_of,
    upwards,
)
from blindcal.deciding.decide import release, with_texts
from blindcal.deciding.key import Key
from blindcal.deciding.ledger import open_ledger
from blindcal.planning import request as request_module
from blindcal.planning.conference_plan import plan_conference
from blindcal.planning.expected_errors import Figures, Standing
from blindcal.planning.request import Quota, Request
from blindcal.policy.guarantee import Guarantee
from sealed_releases import PAPER
from small_conferences import loaded, small_conference


def test_a_raw_tie_is_stated_as_a_tie_and_so_is_the_advice():
    papers = [replace(PAPER, paper=name) for name in "abcdef"]
    words = ["accept", "reject", "accept", "accept", "reject", "reject"]
    private = Listing(None, words, [""] * 6, (0.5, 0.5, 1.0, 0.0, 1.0, 0.0), ())
    assert decisions_text(papers, private).splitlines()[1:] == [
        "a,accept,tie,tie: raise",
        "b,reject,tie,tie: lower",
        "c,accept,accept,leave",
        "d,accept,reject,raise",
        "e,reject,accept,lower",
        "f,reject,reject,leave",
    ]


def test_the_decisions_of_a_list_are_its_own_and_who_waits_is_not_accepted():
    words, waiting = ["accept", "wait list", "reject", "wait list", "wait list"], ["", 1, "", 3, 2]
    raws = (0.0, 1.0, 0.5, 0.0, 0.5)
    papers = [replace(PAPER, paper=name) for name in "abcde"]
    assert decisions_text(papers, Listing(Quota(1, 3), words, waiting, raws, ())).splitlines() == [
        "paper,decision,by_mean_score,advice,wait_list",
        "a,accept,reject,raise,",
        "b,wait list,accept,lower,1",
        "c,reject,tie,tie: lower,",
        "d,wait list,reject,leave,3",
        "e,wait list,tie,tie: lower,2",
    ]
    nobody = Listing(Quota({"x": 1}), ["accept"], [""], [0.0], ())
    assert decisions_text([replace(papers[0], public={"track": "x"})], nobody).splitlines() == [
        "paper,decision,by_mean_score,advice,track",
        "a,accept,reject,raise,x",
    ]


def test_figures_come_back_from_a_record_as_they_were():
    figures = Figures(
        0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, (Standing(0.1, 0.2, 0.3, 0.4), Standing(0.9, 0.8, 0, 1))
    )
    record = json.loads(json.dumps(figures_json(figures)))
    assert figures_of(replace(PAPER, figures=record)) == figures


@given(st.floats(0.0, 50.0), st.none() | st.floats(0.0, 50.0))
def test_a_figure_is_stated_above_what_it_is_and_not_past_a_limit_that_it_keeps(
    exact: float, limit: float | None
) -> None:
    """And above what a machine finds whose sums differ by 1e-11."""
    stated = upwards(exact, limit, Fraction(1, 10**10))
    assert stated <= exact + 1.2e-9
    assert stated >= exact + 1e-11 or stated == limit or (exact < 1e-12 and stated == 0.0)
    assert limit is None or exact > limit or stated <= limit
    assert stated == limit or stated == float(f"{stated:.9f}")


UNITS = st.integers(0, 4 * CLAIM_DENOMINATOR).map(lambda units: Fraction(units, CLAIM_DENOMINATOR))


@given(UNITS, UNITS, UNITS, st.floats(0.0), st.floats(1.0))
def test_a_claim_comes_back_from_a_record_as_it_was(
    before: Fraction, success: Fraction, added: Fraction, epsilon: float, factor: float
) -> None:
    claim = Claim(3, before, success, added, 0.25, epsilon, 1.5, 0.1, 0.05, 0.15, 0.2, factor)
    written = json.loads(json.dumps({"claim": claim_json(claim)}, allow_nan=False))
    assert claim_of(replace(PAPER, figures=written)) == claim


@dataclass(frozen=True)
class LaterGuarantee(Guarantee):
    newer: float | None = None


def test_a_later_version_with_more_options_makes_the_same_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise no release of today could be verified by it."""
    request = Request(Guarantee("steady", epsilon=2.0), accept_rate=0.4)
    with open_ledger(tmp_path / "key.bin", Key(bytes(32))) as ledger:
        record = release(*loaded(small_conference(papers=2)), request, ledger, plan_conference).record
        monkeypatch.setattr(request_module, "Guarantee", LaterGuarantee)
        assert isinstance(record.request.guarantee, LaterGuarantee)
        assert with_texts(record, ledger.key).certificate == record.certificate
