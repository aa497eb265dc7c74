"""How much of each layer the tests reach: `make coverage`, or `python bench/covered.py coverage.json`.

Lines and branches together, as coverage.py counts them. What runs in a process that a test starts is not
counted. A layer that is reached is not thereby tested: `bench/mutants.py` asks that.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

COUNTED = ("num_statements", "num_branches", "covered_lines", "covered_branches")


def layer_of(file: str) -> str:
    """The layer of a file of the package.

    >>> layer_of("src/blindcal/policy/average_case.py"), layer_of("src/blindcal/reviews.py")
    ('policies', 'reviews')
    """
    parts = PurePath(file).with_suffix("").parts
    # The last one: a clone may lie in a folder of the package's name.
    return parts[len(parts) - parts[::-1].index("blindcal")]


def by_layer(report: Mapping[str, Any]) -> dict[str, Counter[str]]:
    """What coverage.py counted in each file, added up for each layer."""
    layers: dict[str, Counter[str]] = {}
    for file, found in report["files"].items():
        counted = Counter({name: found["summary"][name] for name in COUNTED})
        layers[layer_of(file)] = layers.get(layer_of(file), Counter()) + counted
    return layers


def row(name: str, counted: Counter[str]) -> str:
    """A line of the table; a file with nothing to run is wholly covered."""
    there = counted["num_statements"] + counted["num_branches"]
    reached = counted["covered_lines"] + counted["covered_branches"]
    share = reached / there if there else 1.0
    return f"{name:<14}{counted['num_statements']:>7}{counted['num_branches']:>10}{share:>10.1%}"


def main() -> None:
    layers = by_layer(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    print(f"{'layer':<14}{'lines':>7}{'branches':>10}{'covered':>10}")
    for name, counted in layers.items():
        print(row(name, counted))
    print(row("all", sum(layers.values(), Counter())))


if __name__ == "__main__":
    main()
