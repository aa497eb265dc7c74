"""What a chair has -> the inputs of a new folder: tables for its owner alone, and settings that name them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from blindcal.cells import number_text
from blindcal.checks import Array
from blindcal.files.disk import make_folder, read_bytes, write_bytes, write_table
from blindcal.fitting.estimates import Fitted
from blindcal.fitting.footprints import beside
from blindcal.folders.templates import Value
from blindcal.importers import Choices, Imported, import_reviews

INPUTS = "inputs"


@dataclass(frozen=True)
class Contents:
    """What a new folder is made of. CONFIDENTIAL.

    `imported`: this year's reviews.
    `past`: those of past conferences by name, oldest first.
    `committee`: the name of everyone who may have reviewed, by id.
    `conflicts`: pairs of paper and reviewer.
    `files`: those that are taken over as they are, `pools`, `reviewers` or `same`, and where they lie now.
    `fitted`: the calibration that past reviews gave; None where there are none.
    """

    imported: Imported
    past: Mapping[str, Imported] = field(default_factory=dict)
    committee: Mapping[str, str] = field(default_factory=dict)
    conflicts: Sequence[tuple[str, str]] = ()
    files: Mapping[str, Path] = field(default_factory=dict)
    fitted: Fitted | None = None

    @property
    def tables(self) -> dict[str, Mapping[str, Sequence[object]]]:
        """The tables to write, by name; without those that would be empty."""
        imported = self.imported
        found: dict[str, Mapping[str, Sequence[object]]] = {
            "reviews": imported.columns(),
            "titles": {"paper": list(imported.titles), "title": list(imported.titles.values())},
            "tracks": {"paper": list(imported.tracks), "track": list(imported.tracks.values())},
            "committee": {"reviewer": list(self.committee)},
            "conflicts": {
                "paper": [paper for paper, _ in self.conflicts],
                "conflict": [who for _, who in self.conflicts],
            },
            **{f"past/{name}": one.columns() for name, one in self.past.items()},
        }
        return {name: table for name, table in found.items() if next(iter(table.values()))}

    @property
    def settings(self) -> dict[str, Value]:
        """The settings that name the inputs; everyone may have reviewed where nothing else is known."""
        there = {*self.tables, *self.files}
        pools = next((_file(name) for name in ("pools", "conflicts") if name in there), "everyone")
        named: dict[str, Value] = {
            name: _file(name)
            for name in ("reviews", "committee", "titles", "tracks", "same")
            if name in there
        }
        if self.past:
            named["past"] = [_file(f"past/{name}") for name in self.past]
        return {**named, "pools": pools, "reviewers": _file("reviewers")}


def _file(name: str) -> str:
    return f"{INPUTS}/{name}.csv"


def write_inputs(folder: Path, contents: Contents) -> None:
    """Write the tables and files of `contents` into `inputs` in a `folder`, for its owner alone.

    >>> from tempfile import TemporaryDirectory
    >>> imported = import_reviews(b"paper,reviewer,score\\n1,ada,2\\n2,ada,3\\n", "panel.csv")
    >>> with TemporaryDirectory() as folder:
    ...     write_inputs(Path(folder), Contents(imported, committee={"ada": "", "bo": ""}))
    ...     sorted(path.name for path in Path(folder, "inputs").iterdir())
    ['committee.csv', 'reviews.csv']
    """
    for place in (INPUTS, *([f"{INPUTS}/past"] if contents.past else [])):
        make_folder(folder / place)
    for name, table in contents.tables.items():
        write_table(folder / _file(name), table, confidential=True)
    for name, path in contents.files.items():
        write_bytes(folder / _file(name), read_bytes(path), confidential=True)
    # What a calibration was fitted on is written beside it, and must stay there.
    given = contents.files.get("reviewers")
    if given is not None and os.path.exists(beside(given)):
        write_bytes(beside(folder / _file("reviewers")), read_bytes(beside(given)), confidential=True)
    if contents.fitted is not None:
        contents.fitted.write(folder / _file("reviewers"))


def import_past(data: bytes, file: str, choices: Choices) -> Imported:
    """A past conference, read like this year's; a table that `blindcal import` wrote needs no choices.

    `data`, `file` and `choices` are as for `import_reviews`.

    >>> ours = b"paper,reviewer,score\\n1,a,3\\n2,a,2\\n"
    >>> import_past(ours, "2025.csv", Choices(score_field="OveMer")).reviews
    Reviews(2 reviews of 2 papers by 1 reviewer)
    """
    header = data[:1_000].partition(b"\n")[0].decode(errors="replace")
    own = {"paper", "reviewer", "score"} <= {name.strip().casefold() for name in header.split(",")}
    return import_reviews(data, file, Choices(people=choices.people) if own else choices)


def grid_text(grid: Array | None) -> str:
    """The scores that can be given as the text of `grid`; `none` if any number can be one.

    >>> grid_text(np.array([1.0, 2.0, 3.0])), grid_text(np.array([1.0, 3.0, 6.5])), grid_text(None)
    ('1..3', '1,3,6.5', 'none')
    """
    if grid is None:
        return "none"
    whole = bool((grid == np.floor(grid)).all()) and grid.size == grid[-1] - grid[0] + 1
    return f"{number_text(grid[0])}..{number_text(grid[-1])}" if whole else ",".join(map(number_text, grid))
