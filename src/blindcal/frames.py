"""Results as pandas data frames, for whoever has pandas: one row per number that is repeated."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from blindcal.errors import InputError


def frame(columns: Mapping[str, object]) -> Any:
    """A data frame of these columns, each a list or an array of one dimension."""
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise InputError("a data frame needs pandas: pip install pandas") from None
    return pandas.DataFrame(dict(columns))


def long_frame(values: Mapping[str, object], *axes: str) -> Any:
    """One row per entry of arrays that share a shape; the last axes have these names, those before them are
    instances, numbered in a column `instance`.

    >>> long_frame({"accept": np.array([[1.0, 0.0]])}, "secret").to_dict("list")
    {'instance': [0, 0], 'secret': [0, 1], 'accept': [1.0, 0.0]}
    >>> long_frame({"accept": np.array([1.0, 0.0])}, "secret").to_dict("list")
    {'secret': [0, 1], 'accept': [1.0, 0.0]}
    """
    arrays = np.broadcast_arrays(*(np.asarray(value) for value in values.values()))
    shape = arrays[0].shape
    lead = len(shape) - len(axes)
    names = [*(["instance"] if lead else []), *axes]
    sizes = [*([int(np.prod(shape[:lead]))] if lead else []), *shape[lead:]]
    places = np.indices(sizes).reshape(len(sizes), -1)
    columns: dict[str, object] = dict(zip(names, places, strict=True))
    columns |= {name: array.ravel() for name, array in zip(values, arrays, strict=True)}
    return frame(columns)
