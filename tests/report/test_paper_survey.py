"""Where papers stand: chances by a loop over tuples, and no true reviewer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from blindcal.deciding.decide import decide
from blindcal.errors import InputError
from blindcal.exporters.formats import read_decided
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import Conference
from blindcal.report.paper_survey import Surveyed, survey, survey_release
from blindcal.report.wording import read_certificate
from random_cases import random_cases
from small_conferences import read_small, small_conference, with_key

Stands = tuple[Surveyed, ...]


@pytest.fixture(scope="module")
def conference() -> Conference:
    cases = [replace(case, paper=f"p{i:02d}") for i, case in enumerate(random_cases(5, 12, 60))]
    raw = tuple(bool(np.mean(case.scores) > 0.6) for case in cases)
    return Conference(tuple(cases), 0.6, None, raw)


@pytest.fixture(scope="module")
def found(conference: Conference) -> Stands:
    return survey(conference)


def test_every_paper_stands_where_a_loop_over_tuples_puts_it(conference: Conference, found: Stands):
    for case, one in zip(conference.cases, found, strict=True):
        above = for_it = against = 0.0
        for weight, favor in zip(case.belief.weight, case.belief.favor, strict=True):
            above += weight * favor
            for_it += weight * (favor > 0.5)
            against += weight * (favor < 0.5)
        assert one.paper == case.paper
        assert one.chance == pytest.approx(above, abs=1e-12)
        assert one.mean == pytest.approx(np.mean(case.scores))
        assert one.gray == (min(for_it, against) >= 0.001)
    assert 0 < sum(one.gray for one in found) < len(found)


def test_papers_too_large_to_list_stand_where_listing_puts_them(conference: Conference, found: Stands):
    """By their nodes and a sample of tuples; the gray zone has a margin for the sample's error."""
    large = tuple(replace(case, most_listed=0) for case in conference.cases)
    assert not any(case.listed for case in large)
    stands = survey(replace(conference, cases=large))
    clear = 0
    for case, listed, sampled in zip(conference.cases, found, stands, strict=True):
        assert sampled.chance == pytest.approx(listed.chance, abs=1e-8)
        weight, favor = case.belief.weight, case.belief.favor
        least = min(weight[favor > 0.5].sum(), weight[favor < 0.5].sum())
        if not 0.0003 < least < 0.003:
            clear += 1
            assert sampled.gray == listed.gray
    assert clear > len(stands) // 2


def test_low_scores_that_are_better_are_shown_as_they_were_given(conference: Conference, found: Stands):
    low = survey(conference, better="low")
    assert [one.mean for one in low] == [-one.mean for one in found]


def test_a_release_is_surveyed_with_the_files_that_were_decided_and_no_others(tmp_path: Path):
    small = small_conference()
    inputs = read_small(small, tmp_path / "in")
    request = Request(Guarantee("steady", epsilon=0.7), accept_rate=0.4)
    decide(inputs, request, with_key(tmp_path / "key.bin"), tmp_path / "out")
    certificate, decided = read_certificate(tmp_path / "out"), read_decided(tmp_path / "out")
    found = survey_release(inputs, certificate, decided)
    conference, _ = inputs.prepared(bar=certificate["bar"])
    assert found == survey(conference)
    other = read_small(small.with_review(1, score="9.9"), tmp_path / "other")
    with pytest.raises(InputError, match="`grid` are not those that were decided"):
        survey_release(other, certificate, decided)
    with pytest.raises(InputError, match="`reviews` is not about the papers"):
        survey_release(inputs, certificate, decided[1:])
