"""A conference's folder as commands take it: its settings, its releases, and the step that comes next.

Every command after `blindcal new` takes the folder, reads `conference.toml` in it, and asks only for what the
file cannot know. Readers of a release have no folder: `report` and `export` also take what was published.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from blindcal.cli.console import note, say
from blindcal.cli.options import conference_folders
from blindcal.deciding.ledger import latest_release
from blindcal.io.atomic_files import read_bytes
from blindcal.project.settings import FILE, Folder, read_folder
from blindcal.project.workflow import interrupted_remarks, release_of

FolderPath = Annotated[
    Path,
    typer.Argument(
        metavar="FOLDER",
        help="The conference's folder, which `blindcal new` made.",
        autocompletion=conference_folders,
    ),
]
ReleasePath = Annotated[
    Path,
    typer.Argument(
        metavar="FOLDER",
        help="The conference's folder, for its latest release; or the folder of a published release.",
        autocompletion=conference_folders,
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The key, if it lies elsewhere than conference.toml says."),
]
Published = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FOLDER",
        help="A folder published earlier with this key, of one release or of all, to check the key and its "
        "sealed record against; repeatable.",
    ),
]
Misfit = Annotated[
    bool,
    typer.Option("--despite-misfit", help="Continue even if the calibration does not fit the scores at all."),
]
Leak = Annotated[
    bool,
    typer.Option(
        "--yes-leak",
        help="Allow decisions to reveal reviewers: the guarantee none, or a budget that reveals at least "
        "half of what full calibration would.",
    ),
]


def opened_release(path: Path) -> tuple[Folder | None, Path]:
    """The conference's folder at `path`, if it is one, and the release that `path` stands for."""
    if not os.path.lexists(path / FILE):
        return None, path
    folder = read_folder(path)
    release = release_of(folder)
    for remark in interrupted_remarks(folder):
        note(remark)
    return folder, release


def say_next(command: str, folder: Folder) -> None:
    """Print which command comes next, as the last line of a command on a folder."""
    say(f"next: {next_step(command, folder)}")


def next_step(command: str, folder: Folder) -> str:
    """What a chair does after a command on a conference's folder."""
    path, file = folder.path, folder.path / FILE
    if command == "plan":
        if _released(folder):
            return f'if something was corrected, blindcal decide {path} --amend --reason "..."'
        return f"write what you choose into {file}, then blindcal decide {path}"
    if command == "report":
        return f"blindcal export {path} --to csv --out {path.name}.csv"
    report = f"blindcal report {path} --out {path.name}.html"
    if command == "select" and (lines := _other_numbers(folder)):
        return f"write {' and '.join(lines)} into {file}, then {report}"
    return f"back up the key with its sealed record, then {report}"


def _other_numbers(folder: Folder) -> list[str]:
    """The numbers of a list just made that conference.toml does not have, as it should."""
    made = json.loads(read_bytes(release_of(folder) / "certificate.json"))["requested"]
    numbers = {"accept": _papers(made["accept"]), "wait-list": _papers(made["wait_list"])}
    return [
        f"{name} = {number if number.isdecimal() else json.dumps(number)}"
        for name, number in numbers.items()
        if number != folder.settings.get(name, "0")
    ]


def _papers(number: int | Mapping[str, int]) -> str:
    """A number of papers, or one for each track, as conference.toml has it.

    >>> _papers(40), _papers({"main": 40, "short": 10})
    ('40', 'main=40,short=10')
    """
    return ",".join(f"{k}={v}" for k, v in number.items()) if isinstance(number, Mapping) else str(number)


def _released(folder: Folder) -> bool:
    out = str(folder.settings.get("out", ""))
    return latest_release(out) is not None or os.path.lexists(Path(out) / "certificate.json")
