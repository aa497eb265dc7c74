"""How much of each floor the tests reach: `make coverage`, or `python bench/covered.py coverage.json`.

Lines and branches together, as coverage.py counts them. What runs in a process that a test starts is not
counted. A floor that is reached is not thereby tested: `bench/mutants.py` asks that.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

COUNTED = ("num_statements", "num_branches", "covered_lines", "covered_branches")


def floor_of(file: str) -> str:
    """The floor of a file of the package.

    >>> floor_of("src/blindcal/policies/average_case/averages.py"), floor_of("src/blindcal/reviews.py")
    ('policies', 'reviews')
    """
    parts = PurePath(file).with_suffix("").parts
    # The last one: a clone may lie in a folder of the package's name.
    return parts[len(parts) - parts[::-1].index("blindcal")]


def by_floor(report: Mapping[str, Any]) -> dict[str, Counter[str]]:
    """What coverage.py counted in each file, added up for each floor."""
    floors: dict[str, Counter[str]] = {}
    for file, found in report["files"].items():
        counted = Counter({name: found["summary"][name] for name in COUNTED})
        floors[floor_of(file)] = floors.get(floor_of(file), Counter()) + counted
    return floors


def row(name: str, counted: Counter[str]) -> str:
    """A line of the table; a file with nothing to run is wholly covered."""
    there = counted["num_statements"] + counted["num_branches"]
    reached = counted["covered_lines"] + counted["covered_branches"]
    share = reached / there if there else 1.0
    return f"{name:<14}{counted['num_statements']:>7}{counted['num_branches']:>10}{share:>10.1%}"


def main() -> None:
    floors = by_floor(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    print(f"{'floor':<14}{'lines':>7}{'branches':>10}{'covered':>10}")
    for name, counted in floors.items():
        print(row(name, counted))
    print(row("all", sum(floors.values(), Counter())))


if __name__ == "__main__":
    main()
