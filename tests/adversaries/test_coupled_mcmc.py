"""What walks over assignments say, against sums over all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from blindcal.adversaries import coupled_mcmc
from blindcal.adversaries.coupled_exact import exact_reviewers, network
from blindcal.adversaries.coupled_mcmc import Walks, coupled_findings, estimate_of, walk
from blindcal.adversaries.single_paper import View
from blindcal.errors import InputError
from loaded_conferences import assigned, decided, drawn
from sizes import count


def test_what_is_stated_holds_the_exact_value() -> None:
    rng = np.random.default_rng(83)
    for number in range(count(3, 50)):
        views, loads, truth = drawn(rng, 4, people=6)
        made = network(views, loads, decided(views, truth, "chosen", rng))
        exact = np.concatenate([one.max(axis=1) for one in exact_reviewers(made)]).mean()
        found = walk(made, target=0.003, chains=64, starts=4, most=20, seed=number)
        assert abs(found.success - exact) <= 6 * found.error + 1e-9
        assert found.agrees
        assert (found.walks, found.starts) == (64, 4)


def test_an_interrupted_walk_ends_as_it_would_have(tmp_path: Path) -> None:
    views, loads = assigned(np.random.default_rng(85), 4)
    made = network(views, loads, [view.weight for view in views])
    options = {"chains": 16, "starts": 4, "target": 0.0}
    whole = walk(made, most=4, **options)
    kept = tmp_path / "walks"
    walk(made, most=1, kept=kept, **options)
    assert kept.stat().st_mode & 0o777 == 0o600
    assert walk(made, most=4, kept=kept, **options) == whole
    with pytest.raises(InputError, match="another audit"):
        walk(made, most=4, kept=kept, **{**options, "chains": 32})
    kept.write_bytes(b"nothing")
    with pytest.raises(InputError, match="no walks"):
        walk(made, most=4, kept=kept, **options)


def test_a_walk_that_was_killed_goes_on_to_the_same_numbers(tmp_path: Path) -> None:
    """Between any two looks: what is in the file is whole."""
    views, loads = assigned(np.random.default_rng(85), 4)
    made = network(views, loads, [view.weight for view in views])
    options = {"chains": 16, "starts": 4, "target": 0.0, "most": 4, "workers": 1}
    whole, kept, looks = walk(made, **options), tmp_path / "walks", []

    def killed(_: int) -> None:
        looks.append(1)
        raise KeyboardInterrupt

    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            walk(made, kept=kept, advance=killed, **options)
    assert len(looks) == 3
    assert [file.name for file in tmp_path.iterdir()] == ["walks"]
    assert walk(made, kept=kept, **options) == whole


def test_walks_that_cannot_leave_where_they_start_disagree() -> None:
    """Two starts that never meet: what they say differs by more than chance."""
    walks = Walks(
        author=np.zeros((8, 1), dtype=int),
        lacks=np.full(8, -1),
        extra=np.full(8, -1),
        seen=np.full(8, 100),
        tally=np.array([[[100 - one, one]] for one in (1, 99, 2, 98, 3, 97, 1, 98)]),
        start=np.arange(8) % 2,
        drawn=np.zeros((8, 1), dtype=int),
    )
    assert not estimate_of(walks).agrees


def published(rng: np.random.Generator) -> tuple[list[View], dict[str, int]]:
    """Papers with the decisions that came out for the assignment which their loads are of."""
    views, loads, truth = drawn(rng, 4, people=6)
    seen = []
    for view, row in zip(views, truth, strict=True):
        outcome = {}
        for policy, accept in view.accept.items():
            yes = rng.random() < accept[row]
            outcome[policy] = accept if yes else 1.0 - accept
        seen.append(replace(view, outcome=outcome, truth=tuple(view.rows[row].tolist())))
    return seen, loads


def test_findings_by_walks_are_those_by_sums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    views, loads = published(np.random.default_rng(86))
    exact = coupled_findings(views, loads)
    assert all(one.error == 0.0 for one in exact)
    monkeypatch.setattr(coupled_mcmc, "is_small", lambda *_: False)
    steps: list[int] = []

    @contextmanager
    def progress(work: str, total: int) -> Iterator[Callable[[int], None]]:
        yield steps.append

    options = {"target": 0.003, "most": count(8, 40), "progress": progress}
    found = coupled_findings(views, loads, keep=tmp_path / "walks", **options)
    for one, other in zip(found, exact, strict=True):
        assert one.policy == other.policy
        assert one.adversary.startswith("knows everyone's load (256 walks from 8 starts, which differ by")
        error = max(one.error, max(each.error for each in found))
        assert one.baseline == pytest.approx(other.baseline, abs=6 * error)
        assert one.success == pytest.approx(other.success, abs=6 * error)
    assert sum(steps) > 0
    names = {file.name for file in (tmp_path / "walks").iterdir()}
    assert names == {"scores.walks", "chosen.walks", "full.walks"}
    assert coupled_findings(views, loads, keep=tmp_path / "walks", **options) == found
    with pytest.raises(InputError, match="published"):
        coupled_findings([replace(view, outcome=None) for view in views], loads)


def test_walks_that_disagree_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    views, loads = published(np.random.default_rng(86))
    monkeypatch.setattr(coupled_mcmc, "is_small", lambda *_: False)
    monkeypatch.setattr(coupled_mcmc, "MOST_STANDARD_ERRORS", -1.0)
    with pytest.raises(InputError, match="do not agree"):
        coupled_findings(views, loads, ["full"], target=1.0, most=1)
