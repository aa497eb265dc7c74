"""Noise by OpenDP: frequencies against the exact probabilities, false alarm 1e-6. It takes no seed."""

from __future__ import annotations

import importlib
from types import ModuleType

import numpy as np
import pytest

from blindcal.errors import InputError
from blindcal.private_sharing import LossLimit, add_noise
from chances import within
from sizes import count


@pytest.mark.edge
@pytest.mark.parametrize("limit", [LossLimit(epsilon=80.0), LossLimit(zcdp=100.0)])
def test_frequencies_of_the_noise(limit: LossLimit) -> None:
    pytest.importorskip("opendp")
    draws = count(40_000, 1_000_000)
    found = add_noise(np.full((2, draws // 2), 1000, dtype=np.int64), limit) - 1000
    assert found.shape == (2, draws // 2)
    seen = np.arange(-4000, 4001)
    log = -np.abs(seen) / limit.scale if limit.pure else -(seen**2) / (2 * limit.scale**2)
    chance = np.exp(log) / np.exp(log).sum()
    edges = range(-30, 31)
    for value in edges:
        assert within(int((found == value).sum()), draws, chance[value + 4000], 2 * len(edges))
        assert within(int((found <= value).sum()), draws, chance[: value + 4001].sum(), 2 * len(edges))
    half = found.reshape(2, -1)
    both = int(((half[0] > 0) & (half[1] > 0)).sum())
    assert within(both, draws // 2, chance[4001:].sum() ** 2)


@pytest.mark.edge
@pytest.mark.parametrize(
    "limit", [LossLimit(epsilon=0.3), LossLimit(zcdp=0.7), LossLimit(epsilon=7.7), LossLimit(zcdp=0.01)]
)
def test_opendp_agrees_with_the_loss_that_is_stated(limit: LossLimit) -> None:
    """It is refused otherwise."""
    pytest.importorskip("opendp")
    assert add_noise(np.zeros((2, 1), dtype=np.int64), limit).shape == (2, 1)


def test_without_opendp_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> ModuleType:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(InputError, match=r"sharing needs OpenDP: pip install 'blindcal\[share\]'"):
        add_noise(np.zeros((2, 1), dtype=np.int64), LossLimit(epsilon=1.0))


def test_noise_beyond_the_limit_is_never_released(monkeypatch: pytest.MonkeyPatch) -> None:
    class Loose:
        def map(self, distance: object) -> float:
            return 1.5

    class Prelude(ModuleType):
        m = type("m", (), {"make_laplace": staticmethod(lambda *_, **__: Loose())})

        @staticmethod
        def enable_features(name: str) -> None: ...

        @staticmethod
        def vector_domain(inner: object) -> None: ...

        @staticmethod
        def atom_domain(T: str) -> None: ...

        @staticmethod
        def l1_distance(T: str) -> None: ...

    monkeypatch.setattr(importlib, "import_module", lambda name: Prelude(name))
    with pytest.raises(InputError, match="OpenDP's own account"):
        add_noise(np.zeros((2, 1), dtype=np.int64), LossLimit(epsilon=1.0))
