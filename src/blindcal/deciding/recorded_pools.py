"""Pools as a record has them: everyone once, and for each paper who of them is, or is not, a candidate.

A pool is a list of rows, name, chance and calibration, and enters coins and stamps in that form (`PoolRows`).
Papers of one committee share all of it but their conflicts, in memory and in the file (`RecordedPeople`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from blindcal.checks import Integers
from blindcal.io.atomic_files import EncodedList, canonical_json
from blindcal.pools.candidates import SharedTuple, all_but, shared_part


@dataclass(frozen=True, repr=False)
class PoolRows(EncodedList):
    """The pool of a paper among its public facts: a row with name, chance and calibration of each candidate.

    Rows are made when they are looked at. Papers of one committee share all but their conflicts.
    """

    candidates: Sequence[str]
    chances: Sequence[float]
    parameters: Sequence[tuple[float, ...]]

    @property
    def chance(self) -> float | None:
        """The chance that all candidates have; None if they differ."""
        return self.chances[0] if len(set(self.chances)) == 1 else None

    @property
    def people(self) -> Sequence[tuple[str, tuple[float, ...]]]:
        """Name and calibration of each candidate, shared if both are."""
        (names, without), (rows, others) = shared_part(self.candidates), shared_part(self.parameters)
        if without == others:
            return all_but(_names_with_parameters(names, rows), without)
        return tuple(zip(self.candidates, self.parameters, strict=True))

    @property
    def item_texts(self) -> Iterable[str]:
        """The canonical form of each row."""
        (names, without), (rows, others) = shared_part(self.candidates), shared_part(self.parameters)
        if (chance := self.chance) is not None and without == others:
            return all_but(_row_texts(names, chance, rows), without)
        return map(_row_text, self.candidates, self.chances, self.parameters)

    def __len__(self) -> int:
        return len(self.candidates)

    def __getitem__(self, index: Any) -> Any:
        return list(self)[index]

    def __iter__(self) -> Iterator[list[Any]]:
        rows = zip(self.candidates, self.chances, self.parameters, strict=True)
        return ([name, chance, *parameters] for name, chance, parameters in rows)

    def __repr__(self) -> str:
        return f"PoolRows({len(self)} candidates)"


@lru_cache(maxsize=4)
def _names_with_parameters(
    names: tuple[str, ...], rows: tuple[tuple[float, ...], ...]
) -> SharedTuple[tuple[str, tuple[float, ...]]]:
    return SharedTuple(zip(names, rows, strict=True))


@lru_cache(maxsize=16)
def _row_texts(
    names: tuple[str, ...], chance: float, rows: tuple[tuple[float, ...], ...]
) -> SharedTuple[str]:
    return SharedTuple(_row_text(name, chance, row) for name, row in zip(names, rows, strict=True))


def _row_text(name: str, chance: float, parameters: Sequence[float]) -> str:
    return canonical_json([name, chance, *parameters]).decode()


@dataclass(frozen=True, eq=False)
class RecordedPeople:
    """Everyone in the pools of a record, by name and calibration: a pool has the numbers of its candidates.

    If these are most people, it has the numbers of the others. So a committee is recorded once, and each
    paper's conflicts.
    """

    names: SharedTuple[str]
    parameters: SharedTuple[tuple[float, ...]]
    _numbers: dict[tuple[object, ...], Integers] = field(default_factory=dict)
    _chances: dict[tuple[float, int], tuple[float, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Sequence[Sequence[Any]]) -> RecordedPeople:
        """These people: name and calibration of each."""
        if any(type(number) not in (int, float) for row in rows for number in row[1:]):
            raise ValueError("a calibration has numbers")
        return cls(SharedTuple(row[0] for row in rows), SharedTuple(tuple(row[1:]) for row in rows))

    @property
    def rows(self) -> list[list[Any]]:
        return [[name, *row] for name, row in zip(self.names, self.parameters, strict=True)]

    @cached_property
    def _number_of(self) -> dict[tuple[str, tuple[float, ...]], int]:
        pairs = zip(self.names, self.parameters, strict=True)
        return {person: number for number, person in enumerate(pairs)}

    def encoded(self, pool: PoolRows) -> dict[str, Any]:
        """A pool in JSON's types."""
        people, without = shared_part(pool.people)
        if people not in self._numbers:
            # Of those whom papers share, some may be in nobody's pool.
            self._numbers[people] = np.array([self._number_of.get(person, -1) for person in people])
        members = np.delete(self._numbers[people], without)
        chances = list(pool.chances) if pool.chance is None else pool.chance
        size = len(self.names)
        if 2 * members.size > size and (np.diff(members) > 0).all():
            return {"without": np.delete(np.arange(size), members).tolist(), "chances": chances}
        return {"members": members.tolist(), "chances": chances}

    def decoded(self, pool: Mapping[str, Any]) -> PoolRows:
        """The pool that is encoded like this; a ValueError if none is."""
        (kind, numbers), size = next((k, v) for k, v in pool.items() if k != "chances"), len(self.names)
        rising = all(low < high for low, high in pairwise(numbers))
        known = all(type(number) is int and 0 <= number < size for number in numbers)
        if kind == "without":
            shorter = rising and 2 * len(numbers) < size
        else:
            shorter = 2 * len(numbers) <= size or not rising
        if len(pool) != 2 or not known or not shorter:
            raise ValueError("a pool has the numbers of its candidates, or of those who are none")
        if kind == "without":
            names = all_but(self.names, tuple(numbers))
            chances = self._chances_of(pool["chances"], len(names))
            return PoolRows(names, chances, all_but(self.parameters, tuple(numbers)))
        chances = self._chances_of(pool["chances"], len(numbers))
        rows = tuple(self.parameters[number] for number in numbers)
        return PoolRows(tuple(self.names[number] for number in numbers), chances, rows)

    def _chances_of(self, chances: Any, size: int) -> tuple[float, ...]:
        if not isinstance(chances, list):
            return self._chances.setdefault((float(chances), size), (float(chances),) * size)
        if len(chances) != size or len({*chances}) == 1:
            raise ValueError("chances that are all the same are one number")
        return tuple(map(float, chances))
