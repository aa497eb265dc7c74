"""A made-up conference of two years for a live conference system, and blindcal's way through it."""

from __future__ import annotations

import csv
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from commands import call

ROOT = Path(__file__).parents[2]
GIVEN = ("Ada", "Ben", "Cleo", "Dov", "Eva", "Finn", "Gus", "Hana", "Ivo", "Jia")
FAMILY = ("Núñez", "Gauß")
Year = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Conference:
    """`people`: names by email; `years`: for each year's papers, by title, the scores by email."""

    people: Mapping[str, str]
    years: Mapping[str, Year]


def conference(papers: int = 30, reviews: int = 3) -> Conference:
    """Twenty people, each as severe in both years; titles and names that a writer of tables must quote."""
    rng = random.Random(2026)
    people = {
        f"{given}{place}@example.edu".lower(): f"{given} {family}"
        for place, family in enumerate(FAMILY)
        for given in GIVEN
    }
    severity = {email: rng.gauss(0, 0.8) for email in people}

    def year(name: str) -> Year:
        found = {}
        for number in range(1, papers + 1):
            quality = rng.gauss(3.5, 1.2)
            scores = {
                email: min(6, max(1, round(quality - severity[email] + rng.gauss(0, 0.5))))
                for email in rng.sample(sorted(people), reviews)
            }
            found[f'"On Widgets", Part {number} ({name}) – Größe'] = scores
        return found

    return Conference(people, {name: year(name) for name in ("2025", "2026")})


def environment(name: str) -> Path | None:
    """The Python of an environment that `make test-long` makes; None if it is not there."""
    python = ROOT / f".venv-{name}" / "bin" / "python"
    return python if python.exists() else None


def decided(folder: Path, *imports: tuple[str, ...]) -> dict[str, str]:
    """The decisions of a new `folder` after these imports (a kind, a file, further options), by paper."""
    for command in (
        ("new", str(folder), "--accept", "40%", "--scores", "public"),
        *(("import", str(folder), file, "--as", kind, *options) for kind, file, *options in imports),
        ("fit", str(folder)),
        ("plan", str(folder)),
        ("decide", str(folder)),
    ):
        code, _, err = call(*command)
        assert code == 0, (command[0], err)
    table = folder / "public" / "release-1" / "decisions.csv"
    with table.open(encoding="utf-8", newline="") as file:
        return {row["paper"]: row["decision"] for row in csv.DictReader(file)}


def exported(folder: Path, to: str, out: Path) -> Path:
    """What `blindcal export` writes for a system."""
    code, _, err = call("export", str(folder), "--to", to, "--out", str(out))
    assert code == 0, err
    return out
