"""Beliefs for someone who knows loads, against lists of all assignments."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

from blindcal.posterior.loads import load_sums, sets_of
from sizes import count


def test_sums_equal_a_list_of_all_assignments() -> None:
    """Random sets of reviewers, some without a load, and ranges of loads."""
    rng = np.random.default_rng(310)
    for _ in range(count(40, 400)):
        people, papers = int(rng.integers(2, 5)), int(rng.integers(1, 5))
        sets = []
        for _ in range(papers):
            every = list(combinations(range(-1, people), int(rng.integers(1, 3))))
            sets.append(np.array([every[i] for i in rng.permutation(len(every))[: rng.integers(1, 6)]]))
        least = rng.integers(0, 2, people)
        most = least + rng.integers(0, 3, people)
        weights = [rng.random((len(rows), 3)) for rows in sets]
        listed, rest = np.zeros(3), [np.zeros(weight.shape) for weight in weights]
        for choice in product(*(range(len(rows)) for rows in sets)):
            chosen = np.concatenate([rows[i] for rows, i in zip(sets, choice, strict=True)])
            held = np.bincount(chosen[chosen >= 0], minlength=people)
            if (held >= least).all() and (held <= most).all():
                each = np.array([weight[i] for weight, i in zip(weights, choice, strict=True)])
                listed += each.prod(axis=0)
                for paper, i in enumerate(choice):
                    rest[paper][i] += np.delete(each, paper, axis=0).prod(axis=0)
        sums = load_sums(sets, least, most)
        assert sums.feasible == bool(listed.any())
        if sums.feasible:
            total, found = sums.total_and_rest(weights)
            np.testing.assert_allclose(total, listed, rtol=1e-12)
            for mine, theirs in zip(found, rest, strict=True):
                np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-300)


def test_sets_forget_who_wrote_which_review() -> None:
    sets, index = sets_of(np.array([[2, 0], [0, 2], [1, 0]]))
    assert sets[index].tolist() == [[0, 2], [0, 2], [0, 1]]
