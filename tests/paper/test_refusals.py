"""What the paper's statements and simulations refuse, and in which words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from blindcal import Belief, InputError, paper
from blindcal.paper import appendix_a

ONE_SECRET, DISAGREE, CERTAIN = (
    Belief([1.0], [0.9]),
    Belief([0.6, 0.4], [0.9, 0.2]),
    Belief([0.7, 0.3], [1.0, 0.0]),
)


def simulated(noise: object = (0.1,), methods: object = ("raw",), trials: int = 1, **more: object):
    return lambda: appendix_a(noise, methods, trials=trials, **more)


REFUSED: list[tuple[str, Callable[[], object]]] = [
    ("one of 1, 2, 3, 4, 5, 6, cases, limit, found '7'", lambda: paper.figure(7)),
    ("`trials` must be at least 1, found 0", simulated(trials=0)),
    ("`seed` must be at least 0, found -1", simulated(seed=-1)),
    ("methods must be among raw, .*; found 'cooked'", simulated(methods=["raw", "cooked"])),
    ("each once", simulated(methods=["raw", "raw"])),
    ("must be named", simulated(methods=[])),
    ("must be named", simulated(noise=[])),
    ("each once", simulated(noise=[0.1, 0.1])),
    ("noise must be", simulated(noise=[-0.1])),
    ("reading must be text or script, found 'footnote'", simulated(reading="footnote")),
    *(
        (
            "method <lambda> must return one finite quality for each",
            simulated(methods=[lambda drawn, wrong=wrong: (wrong, None)], trials=2),
        )
        for wrong in (np.zeros(3), np.full(2500, np.nan))
    ),
    ("favor must be 0, 1/2 or 1, found 0.9", lambda: paper.theorem_4_2(DISAGREE)),
    ("two assignments, found 1 secrets", lambda: paper.theorem_4_5(ONE_SECRET)),
    (r"conference_error must lie in \[0, 1\], found -0.1", lambda: paper.algorithm_1(CERTAIN, -0.1)),
    (r"conference_error must lie in \[0, 1\], found 1.1", lambda: paper.algorithm_1(CERTAIN, 1.1)),
    (r"zeta must lie in \[0, 1\], found -0.2", lambda: paper.algorithm_2(CERTAIN, 0.1, -0.2)),
    (r"zeta must lie in \[0, 1\], found 2", lambda: paper.algorithm_2(CERTAIN, 0.1, 2.0)),
    (r"zeta must lie in \[0, 1\], found -0.2", lambda: paper.theorem_4_4(0.1, -0.2, 0.1)),
    (r"eta must lie in \[0, 1\], found -0.1", lambda: paper.theorem_4_4(0.1, 0.2, -0.1)),
    ("conference_error must be finite, found nan", lambda: paper.algorithm_3(CERTAIN, float("nan"))),
    ("conference_error must be at least 0, found -1", lambda: paper.theorem_4_4(-1.0, 0.2, 0.1)),
    ("must sum to 1 over the outputs", lambda: paper.definition_b_1([0.5, 0.5])),
    ("must sum to 1 over the outputs", lambda: paper.definition_b_1([[0.5, 0.6], [0.5, 0.5]])),
    ("gamma must be above 0, found 0", lambda: paper.definition_b_2(0.0)),
    ("epsilon must be at least 0, found -1", lambda: paper.proposition_b_3(-1.0)),
    ("two assignments, found 1 secrets", lambda: paper.response_policy(ONE_SECRET, 1.0)),
    (
        "two assignments, found 3 secrets",
        lambda: paper.to_letters(Belief([0.2, 0.3, 0.5], [0.1, 0.2, 0.3])),
    ),
]


@pytest.mark.parametrize(("message", "call"), REFUSED, ids=[message for message, _ in REFUSED])
def test_what_is_refused_is_named(message: str, call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match=message):
        call()
