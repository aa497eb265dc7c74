"""What a layer names is explained where a caller reads it: every argument and field, and an example."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

import blindcal
from layers import LAYERS

# Functions without an example, and why.
WITHOUT_EXAMPLE = {
    "benchmark.results_frame": "needs pandas, which no layer needs otherwise",
    "private_sharing.share": "needs OpenDP, an extra that takes seconds to load",
}
OPEN = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def is_function(found: object) -> bool:
    """A function, whatever caches it."""
    return callable(found) and inspect.isfunction(inspect.unwrap(found))


def named_by(module: ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions and classes that a layer names; of a module that it names, or that is a layer by itself,
    those that are made there."""
    place = module.__name__.removeprefix("blindcal.")
    if not hasattr(module, "__all__"):
        yield from made_in(module)
    for name in getattr(module, "__all__", ()):
        found = getattr(module, name)
        if isinstance(found, ModuleType):
            yield from made_in(found)
        elif inspect.isclass(found) or is_function(found):
            yield f"{place}.{name}", found


def made_in(module: ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    place = module.__name__.removeprefix("blindcal.")
    for name, found in vars(module).items():
        listed = name in getattr(module, "__all__", [name])
        own = getattr(found, "__module__", "") == module.__name__ and not name.startswith("_") and listed
        if own and (inspect.isclass(found) or is_function(found)):
            yield f"{place}.{name}", found


NAMED = dict(
    pair
    for layer in LAYERS
    if layer in blindcal.__all__
    for pair in named_by(import_module(f"blindcal.{layer}"))
)


def unexplained(found: Callable[..., Any]) -> list[str]:
    """Arguments, or fields of a dataclass, without an entry in a section `Args:` or `Attributes:`."""
    text = (inspect.getdoc(found) or "").split(">>>")[0]
    sections = re.findall(r"^(?:Args|Attributes):\n((?:(?:    .*)?\n?)+)", text, re.M)
    entries = re.findall(r"^    ((?:\*{0,2}\w+(?:, )?)+):", "\n".join(sections), re.M)
    explained = {name for entry in entries for name in re.findall(r"\w+", entry)}
    return [name for name in arguments(found) if name not in explained]


def arguments(found: Callable[..., Any]) -> list[str]:
    """None of an error that takes a message, as every one does."""
    if inspect.isclass(found) and issubclass(found, Exception) and "__init__" not in vars(found):
        return []
    return [one.name for one in inspect.signature(found).parameters.values() if one.kind not in OPEN]


def test_an_argument_counts_as_explained_by_an_entry_in_a_section() -> None:
    def power(base: float, exponent: float, digits: int) -> float:
        """The power of a number to some `digits`.

        Args:
            base: The number.

        Example:
            >>> power(3.0, 2.0, digits=1)
            9.0
        """
        return round(float(base**exponent), digits)

    assert unexplained(power) == ["exponent", "digits"]


@pytest.mark.parametrize("place", NAMED)
def test_every_argument_and_field_has_an_entry_in_a_section(place: str) -> None:
    assert not unexplained(NAMED[place])


def test_every_public_function_has_an_example() -> None:
    functions = {place for place, found in NAMED.items() if is_function(found)}
    without = {place for place in functions if ">>>" not in (inspect.getdoc(NAMED[place]) or "")}
    assert len(functions) > 80
    assert sorted(without - WITHOUT_EXAMPLE.keys()) == []
    # Whatever has got an example, or is gone, needs no excuse any more.
    assert sorted(WITHOUT_EXAMPLE.keys() - without) == []
