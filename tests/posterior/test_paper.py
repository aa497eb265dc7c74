"""The public data of one paper: its tuples, what looks alike, and where the true reviewers stand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from blindcal.errors import InputError
from blindcal.planning.conference_plan import plan_conference
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import Conference
from blindcal.posterior.paper import PaperCase, secret_of
from random_cases import random_case, row_of


def case_of(scores: tuple[float, ...], names: str, **more: object) -> PaperCase:
    rows = tuple(row_of(1.0 + 0.1 * index, 0.2 * index, 0.5) for index in range(len(names)))
    chance = (len(scores) / len(names),) * len(names)
    return PaperCase("p", scores, tuple(names), chance, rows, 0.3, **more)


@pytest.mark.parametrize("names", ["abcd", "*abc"])
def test_the_true_reviewers_are_found_among_the_tuples(names: str) -> None:
    case = case_of((1.0, 2.0), names)
    for row, tuple_ in enumerate(case.tuples.tolist()):
        who = [names[index] if names[index] != "*" else "someone else" for index in tuple_]
        assert secret_of(case, who) == row


def test_a_reviewer_outside_a_pool_without_a_star_is_refused_by_paper_and_never_by_name() -> None:
    with pytest.raises(InputError, match="the reviewers of paper 'p' must all be in its pool") as error:
        secret_of(case_of((1.0, 2.0), "abcd"), ["a", "zoe"])
    assert "zoe" not in str(error.value)


def test_what_looks_alike_has_equal_public_data() -> None:
    case = replace(
        case_of((1.0, 1.0, 2.0), "*abcd"),
        parameters=(row_of(1.0, 0.0, 0.5),) * 3 + (row_of(2.0, 0.0, 0.5),) * 2,
    )
    tied, kind = case.look_alikes
    assert tied.tolist() == [0, 0, 1]
    assert kind.tolist() == [-1, 0, 0, 1, 1]


def test_beliefs_are_kept_and_cannot_be_written_over() -> None:
    case = random_case(np.random.default_rng(1), 60, 2)
    belief = case.belief
    assert case.belief.weight is belief.weight
    with pytest.raises(ValueError, match="read-only"):
        belief.weight[0] = 1.0


def test_more_tuples_than_are_listed_are_summed_up_and_say_so() -> None:
    case = case_of((0.5, 1.0), "abcdef")
    aggregated = replace(case, most_listed=10)
    assert (case.listed, aggregated.listed, case.sample) == (True, False, None)
    assert aggregated.sample is not None
    assert aggregated.belief.entry is not None
    right = float(case.belief.weight @ case.belief.favor)
    assert float(aggregated.belief.weight @ aggregated.belief.favor) == pytest.approx(right, abs=1e-9)


def test_tuples_that_public_data_cannot_tell_apart_weigh_the_same_to_the_last_bit() -> None:
    """Reviewers alike and equal scores: in one paper the sums of two slots differed in their last digit, the
    equations of *steady* could not all hold, and on some machines the table became a constant."""
    known = (1.0, 5.0, 0.8, 0.0, 0.0, 0.0, 0.0)
    rows = [(1.0, offset, *known[2:]) for offset in (4.0, 5.0, 5.0, 5.0, 6.0, 4.0, 6.0)]
    names = tuple("abcdefg")
    case = PaperCase("p", (4.0, 6.0, 6.0), names, (3 / 7,) * 7, tuple(rows), 0.3)
    belief = case.belief
    weight = {tuple(row): w for row, w in zip(case.tuples.tolist(), belief.weight.tolist(), strict=True)}
    swapped = {0: 5, 5: 0, 4: 6, 6: 4}
    for (one, two, three), own in weight.items():
        assert weight[one, three, two] == own
        assert weight[tuple(swapped.get(j, j) for j in (one, two, three))] == own
    (plan,) = plan_conference(Conference((case,), 0.3, None, (1.0,)), Guarantee("steady", epsilon=None))
    assert plan.policy.ends[0] < plan.policy.ends[1], "a table that uses the secret keeps every equation"
