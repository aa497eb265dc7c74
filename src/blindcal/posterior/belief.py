"""The adversary's belief before any decision is seen.

`pair_belief` and `PaperCase.belief` make beliefs; policies, certificates and audits read them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from blindcal.cells import number_text
from blindcal.checks import Array, Integers, nonnegative, within
from blindcal.errors import InputError
from blindcal.io.tables import long_frame

_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Belief:
    """The posterior over the secret, who wrote which review, once the scores are seen.

    The last axis is the secrets; leading axes are instances, each a paper or a pair of papers.

    Attributes:
        weight: `[..., n] = P(secret | scores)`, which sum to 1.
        favor: `[..., n] = P("accept" is right | scores, secret)`.
        labels: `[..., slot, secret]`, the correct guess in each slot, as integers: equal labels are the same
            guess, and no guess is right if the label is below 0. None: there is one slot, the secret itself.
        entry: `[secret]`, the entry of each secret in a table of fewer accept probabilities. Large pools
            only.
        alike: `[label]`, the number of equally likely guesses that each label stands for. Large pools only.

    Example:
        >>> Belief([0.6, 0.4], [0.9, 0.2]).weight
        array([0.6, 0.4])
    """

    weight: Array
    favor: Array
    labels: Integers | None = field(default=None)
    entry: Integers | None = field(default=None)
    alike: Integers | None = field(default=None)

    def __init__(self, weight: ArrayLike, favor: ArrayLike, labels: ArrayLike | None = None) -> None:
        w, f = nonnegative("weight", weight), within("favor", favor, 0.0, 1.0)
        if w.ndim == 0 or w.shape != f.shape:
            raise InputError(f"weight and favor must have one shape [..., n], found {w.shape} and {f.shape}")
        if (np.abs(w.sum(axis=-1) - 1.0) > _SUM_TOLERANCE).any():
            worst = w.sum(axis=-1).flat[int(np.argmax(np.abs(w.sum(axis=-1) - 1.0)))]
            raise InputError(f"weight must sum to 1 over the secrets, found {number_text(worst)}")
        object.__setattr__(self, "weight", w)
        object.__setattr__(self, "favor", f)
        object.__setattr__(self, "labels", None if labels is None else _labels(labels, w.shape))
        object.__setattr__(self, "entry", None)
        object.__setattr__(self, "alike", None)

    def spread(self, table: Array) -> Array:
        """The accept probability of each secret, from those of a table's entries."""
        return table if self.entry is None else table[self.entry]

    def by_entry(self, size: int) -> Array:
        """The weight of each of a table's `size` entries."""
        if self.entry is None:
            return self.weight
        return np.bincount(self.entry, self.weight, size).astype(np.float64)

    def to_frame(self) -> Any:
        """One row per instance and secret, as a pandas data frame; needs pandas."""
        columns: dict[str, Any] = {"weight": self.weight, "favor": self.favor}
        if self.labels is not None:
            slots = range(self.labels.shape[-2])
            columns |= {f"label {slot}": self.labels[..., slot, :] for slot in slots}
        return long_frame(columns, "secret")


def _labels(labels: ArrayLike, shape: tuple[int, ...]) -> Integers:
    """The labels, checked against the shape of the weights."""
    array = np.asarray(labels)
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"labels must be integers, found {array.dtype}")
    if array.ndim < 2 or array.shape[-1] != shape[-1] or array.shape[:-2] not in {(), shape[:-1]}:
        raise InputError(
            f"labels must have shape [..., slot, secret] for weight {shape}, found {array.shape}"
        )
    return array.astype(np.int64)


def unchecked_belief(
    weight: Array,
    favor: Array,
    labels: Integers | None = None,
    entry: Integers | None = None,
    alike: Integers | None = None,
) -> Belief:
    """A belief from numbers known to be valid: results of this package are not checked twice."""
    belief = object.__new__(Belief)
    parts = {"weight": weight, "favor": favor, "labels": labels, "entry": entry, "alike": alike}
    for name, value in parts.items():
        object.__setattr__(belief, name, value)
    return belief
