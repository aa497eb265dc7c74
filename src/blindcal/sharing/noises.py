"""Discrete noise by OpenDP: the one place where it is drawn. It takes no seed, so what is drawn is sealed."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from blindcal.checks import Integers
from blindcal.errors import InputError
from blindcal.sharing.limits import SENSITIVITY_1, SENSITIVITY_2_SQUARED, Limit

# OpenDP states the loss of what it draws, rounded upward: so little more is a matter of floats.
_ROUNDING = 1e-9


def noisy(sums: Integers, limit: Limit) -> Integers:
    """Each number with noise of its own; refused where OpenDP's own account says more than the limit."""
    prelude = _opendp()
    domain = prelude.vector_domain(prelude.atom_domain(T="i64"))
    if limit.pure:
        measure = prelude.m.make_laplace(domain, prelude.l1_distance(T="i64"), scale=limit.scale)
        loss, most = measure.map(SENSITIVITY_1), limit.epsilon
    else:
        measure = prelude.m.make_gaussian(domain, prelude.l2_distance(T="f64"), scale=limit.scale)
        loss, most = measure.map(SENSITIVITY_2_SQUARED**0.5), limit.zcdp
    if most is None or loss > most * (1.0 + _ROUNDING):
        raise InputError("the noise must keep the limit by OpenDP's own account, and does not")
    return np.array(measure(sums.ravel().tolist()), dtype=np.int64).reshape(sums.shape)


def _opendp() -> Any:
    try:
        prelude = importlib.import_module("opendp.prelude")
    except ImportError:
        raise InputError("sharing needs OpenDP: pip install 'blindcal[share]'") from None
    # Its measurements are not all vetted by its own process yet, and it asks users to know that.
    prelude.enable_features("contrib")
    return prelude
