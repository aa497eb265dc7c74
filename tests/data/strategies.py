"""Beliefs for tests: random batches with every awkward feature, and Hypothesis strategies."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from blindcal import Belief, Guarantee, Policy
from blindcal.checks import Array


def random_beliefs(rng: np.random.Generator, count: int, secrets: int) -> Belief:
    """A batch of `count` beliefs: even, skewed (down to 1e-9), tied and zero weights; favors anywhere, on a
    coarse grid with exact halves, certain, complementary, or all on one side."""
    weight = np.choose(
        rng.integers(4, size=(count, 1)),
        [
            rng.dirichlet(np.ones(secrets), size=count),
            10.0 ** rng.uniform(-9.0, 0.0, (count, secrets)),
            rng.integers(1, 4, (count, secrets)).astype(np.float64),
            rng.dirichlet(np.full(secrets, 0.3), size=count) + 1e-9,
        ],
    )
    empty = (rng.random((count, secrets)) < 0.3) & (rng.random((count, 1)) < 0.3)
    empty[np.arange(count), rng.integers(secrets, size=count)] = False
    weight = np.where(empty, 0.0, weight)
    weight /= weight.sum(axis=1, keepdims=True)
    anywhere = rng.random((count, secrets))
    mirrored = np.abs(anywhere[:, :1] - (rng.random((count, secrets)) < 0.5))
    favor = np.choose(
        rng.integers(6, size=(count, 1)),
        [
            anywhere,
            rng.integers(0, 5, (count, secrets)) / 4.0,
            rng.integers(0, 2, (count, secrets)).astype(np.float64),
            mirrored,
            np.where(rng.random((count, 1)) < 0.5, anywhere / 2.0, 1.0 - anywhere / 2.0),
            0.5 + 1e-3 * (anywhere - 0.5),
        ],
    )
    return Belief(weight, favor)


def mirrored(belief: Belief) -> Belief:
    """The same belief with "accept" and "reject" (paper 1 and paper 2) exchanged."""
    return Belief(belief.weight, 1.0 - belief.favor, belief.labels)


def random_policies(rng: np.random.Generator, shape: tuple[int, ...]) -> Policy:
    """Accept probabilities anywhere, with exact 0 and 1 among them."""
    accept = rng.random(shape)
    return Policy(np.where(rng.random(shape) < 0.3, np.round(accept), accept))


def _normalized(parts: list[float]) -> Array:
    array = np.array(parts)
    array[0] += array.sum() == 0.0
    return array / array.sum()


@st.composite
def beliefs(draw: st.DrawFn, least: int = 1, most: int = 6) -> Belief:
    """One belief of `least` to `most` secrets; Hypothesis likes 0, 1, 1/2, ties and tiny weights."""
    n = draw(st.integers(least, most))
    part = st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 1e-12, 1e-9, 0.25, 0.5, 1.0]))
    favor = st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]))
    weight = _normalized(draw(st.lists(part, min_size=n, max_size=n)))
    return Belief(weight, draw(st.lists(favor, min_size=n, max_size=n)))


@st.composite
def beliefs_with_policies(draw: st.DrawFn, least: int = 1, most: int = 6) -> tuple[Belief, Policy]:
    belief = draw(beliefs(least, most))
    n = belief.weight.size
    chance = st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 0.5, 1.0]))
    return belief, Policy(draw(st.lists(chance, min_size=n, max_size=n)))


# Cells that a spreadsheet might run, or that need quotes.
TEXT = st.text(max_size=12) | st.sampled_from(
    ["=1+1", "'=x", "''", "'", "\t", "\r", "-1", "@a", '"', "a,b", "a\nb", "+"]
)


def limits(success: float | None = None, steady: bool = False, **others: float | None) -> dict[str, Any]:
    """Limits by their names as the arguments of a solver: a guarantee, and a success."""
    guarantee = Guarantee("steady" if steady else "none", **{"epsilon": None, **others})
    return {"guarantee": guarantee, "success": success}
