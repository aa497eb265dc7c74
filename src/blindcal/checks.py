"""Checks of numbers and arrays where a type is made: a bad value is named, and nothing is silently repaired.

(Cells of files are checked in `io.cells`.)
"""

from __future__ import annotations

from importlib import import_module
from numbers import Real
from types import UnionType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blindcal.errors import InputError
from blindcal.io.cells import number_text

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


def numbers(name: str, value: ArrayLike) -> Array:
    """`value` as finite float64; anything else is refused by name."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers, found {value!r}") from None
    return require_all(name, array, np.isfinite(array), "must be finite")


def positive(name: str, value: ArrayLike) -> Array:
    """Finite numbers above 0."""
    array = numbers(name, value)
    return require_all(name, array, array > 0, "must be above 0")


def nonnegative(name: str, value: ArrayLike) -> Array:
    """Finite numbers of at least 0."""
    array = numbers(name, value)
    return require_all(name, array, array >= 0, "must be at least 0")


def within(name: str, value: ArrayLike, low: float, high: float, slack: float = 0.0) -> Array:
    """Finite numbers in [low, high], or `slack` beyond it, as computed ones may be."""
    array = numbers(name, value)
    good = (array >= low - slack) & (array <= high + slack)
    return require_all(name, array, good, f"must lie in [{low:g}, {high:g}]")


def strictly_within(name: str, value: ArrayLike, low: float, high: float) -> Array:
    """Finite numbers between low and high, ends excluded."""
    array = numbers(name, value)
    return require_all(name, array, (array > low) & (array < high), open_interval_rule(low, high))


def open_interval_rule(low: float, high: float) -> str:
    """The rule of a number in (low, high)."""
    return f"must be between {low:g} and {high:g}, ends excluded"


def require_all(name: str, array: Array, good: NDArray[np.bool_], rule: str) -> Array:
    """`array` if `good` everywhere, else an error that quotes the first bad value."""
    if not good.all():
        raise InputError(f"{name} {rule}, found {number_text(array[~good].flat[0])}")
    return array


def check_scalar(name: str, value: object) -> None:
    """Refuse what is not one number: text, a truth value, or a list.

    >>> check_scalar("epsilon", "2")
    Traceback (most recent call last):
    ...
    blindcal.errors.InputError: epsilon must be one number, found '2'
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise InputError(f"{name} must be one number, found {value!r}")


def check_type(name: str, value: object, kind: type | UnionType, rule: str = "") -> None:
    """Refuse what is not of a type, such as an argument in another's place.

    >>> check_type("score", "high", float)
    Traceback (most recent call last):
    ...
    blindcal.errors.InputError: score must be a float, found str
    """
    if not isinstance(value, kind):
        rule = rule or f"a {getattr(kind, '__name__', kind)}"
        raise InputError(f"{name} must be {rule}, found {type(value).__name__}")


def roundoff(values: Array) -> float:
    """How far sums, means and differences of these numbers may be off by rounding alone.

    A spread that is not above it is none.

    >>> float(np.std([0.1, 0.1, 0.1])) > 0.0, float(np.std([0.1, 0.1, 0.1])) > roundoff(np.array([0.1] * 3))
    (True, False)
    """
    return float(values.size * np.finfo(np.float64).eps * np.abs(values).max(initial=0.0))


def import_matplotlib(what: str) -> Any:
    """Matplotlib, which `what` needs and nothing else does."""
    try:
        return import_module("matplotlib")
    except ImportError:
        raise InputError(f"{what} needs Matplotlib: pip install 'blindcal[figures]'") from None
