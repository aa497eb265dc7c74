"""Whether papers should share randomness: joint programs over two papers beside separate ones.

For promises about one paper's reviews, secrets being independent given the scores, separate tables lose
nothing. Where the promise is about whole assignments, or the secrets are coupled, they do: the smallest
instances.
"""

from __future__ import annotations

import numpy as np
import pytest

from blindcal import Belief, Guarantee, Policy, private_policy
from blindcal.checks import Array
from general_program import least_loss
from sizes import count

PROMISES = [
    Guarantee("average", epsilon=None),
    Guarantee("steady", epsilon=None),
    Guarantee("crowd", among=3, epsilon=None),
]


def errors(belief: Belief) -> Array:
    return np.stack([1.0 - belief.favor, belief.favor], axis=-1)


def together(one: Belief, two: Belief) -> tuple[Array, Array, Array]:
    """Weight, loss and labels of both papers at once: secrets (r1, r2), outcomes (d1, d2), a slot each."""
    weight = np.outer(one.weight, two.weight).ravel()
    first, second = (np.indices((one.weight.size, two.weight.size))[k].ravel() for k in (0, 1))
    loss = errors(one)[first][:, :, None] + errors(two)[second][:, None, :]
    return weight, loss.reshape(weight.size, 4), np.stack([first, second])


@pytest.mark.parametrize("guarantee", PROMISES, ids=lambda one: one.name)
def test_promises_about_one_paper_need_no_common_randomness(guarantee: Guarantee) -> None:
    rng = np.random.default_rng(11)
    for _ in range(count(15, 60)):
        one, two = (
            Belief(rng.dirichlet(np.ones(size)), rng.random(size)) for size in rng.integers(2, 5, size=2)
        )
        alone = sum(least_loss(part.weight, errors(part), guarantee=guarantee).loss for part in (one, two))
        weight, loss, labels = together(one, two)
        assert least_loss(weight, loss, labels, guarantee).loss == pytest.approx(alone, abs=1e-9)


def test_an_epsilon_between_whole_assignments_is_cheaper_jointly() -> None:
    """Two papers of one fair bit each, total epsilon 2: .807 against .731 right decisions."""
    one = Belief([0.5, 0.5], [1.0, 0.0])
    weight, loss, _ = together(one, one)
    joint = 1.0 - least_loss(weight, loss, guarantee=Guarantee("none", epsilon=2.0)).loss / 2.0
    alone = 1.0 - least_loss(one.weight, errors(one), guarantee=Guarantee("none", epsilon=1.0)).loss
    kept = np.exp(2.0) / (np.exp(2.0) + 3.0)
    assert joint == pytest.approx(kept + (1.0 - kept) / 3.0, abs=1e-9)
    assert alone == pytest.approx(np.e / (1.0 + np.e), abs=1e-9)
    assert round(joint, 3) == 0.807
    assert round(alone, 3) == 0.731


def test_in_a_matching_a_common_coin_pays() -> None:
    """Two papers, two reviewers, one bit: tables that add nothing each add success together if their coins
    are separate; a joint mechanism errs no more and adds nothing; no separate coins do both."""
    weight = np.array([0.6, 0.4])
    papers = [Belief(weight, [0.6, 0.1]), Belief(weight, [0.45, 0.9])]
    guarantee = Guarantee("average", epsilon=None)
    tables = [private_policy(paper, guarantee) for paper in papers]
    for paper, table in zip(papers, tables, strict=True):
        assert 1.0 - table.adversary_error(paper) == pytest.approx(0.6, abs=1e-9)
    assert jointly(weight, *(table.accept for table in tables)) > 0.6 + 0.05
    loss = errors(papers[0])[:, :, None] + errors(papers[1])[:, None, :]
    joint = least_loss(weight, loss.reshape(2, 4), guarantee=guarantee)
    separate = sum(float(t.conference_error(p)) for p, t in zip(papers, tables, strict=True))
    assert joint.success == pytest.approx(0.6, abs=1e-9)
    assert joint.loss == pytest.approx(separate, abs=1e-9)
    # All separate coins whose chances are multiples of 1/12, which has the vertices of both papers alone.
    grid = np.stack(np.meshgrid(*[np.arange(13) / 12] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    sound = jointly(weight, grid[:, :2], grid[:, 2:]) <= 0.6 + 1e-9
    wrong = sum(
        Policy(part).conference_error(p) for part, p in zip(np.split(grid, 2, axis=1), papers, strict=True)
    )
    assert wrong[sound].min() > joint.loss + 0.01


def jointly(weight: Array, one: Array, two: Array) -> Array:
    """Success after both decisions, tossed with separate coins."""
    sides = [np.stack([accept, 1.0 - accept], axis=-1) for accept in (one, two)]
    chance = sides[0][..., :, None] * sides[1][..., None, :]
    return (weight[:, None, None] * chance).max(axis=-3).sum(axis=(-2, -1))
