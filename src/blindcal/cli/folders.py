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

from blindcal.cli.arguments import share
from blindcal.cli.completions import conference_folders
from blindcal.cli.console import note, say
from blindcal.deciding.ledger import interrupted_release, latest_release, published_in
from blindcal.errors import InputError
from blindcal.io.atomic_files import read_bytes
from blindcal.project.settings import FILE, Folder, FolderRequest, SettingValue, folder_request, read_folder

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


def opened(path: Path) -> Folder:
    """The conference's folder at `path`."""
    if not os.path.lexists(path):
        raise InputError(f"{path}: there is no such folder")
    return read_folder(path)


def opened_release(path: Path) -> tuple[Folder | None, Path]:
    """The conference's folder at `path`, if it is one, and the release that `path` stands for."""
    if not os.path.lexists(path / FILE):
        return None, path
    folder = read_folder(path)
    release = release_of(folder)
    say_interrupted(folder)
    return folder, release


def required(folder: Folder, name: str) -> SettingValue:
    """A setting that the conference.toml of a folder must have."""
    if not folder.settings.get(name):
        raise InputError(f"{folder.path / FILE}: must set {name}")
    return folder.settings[name]


def settings_of(folder: Folder, *, yes_leak: bool = False) -> FolderRequest:
    """What the settings of a folder add up to; problems with them name the file."""
    check_calibrated(folder)
    file = str(folder.path / FILE)
    try:
        share(str(folder.settings.get("accept-rate", 0.5)))
        return folder_request(folder, yes_leak=yes_leak)
    except typer.BadParameter as error:
        raise InputError(f"{file}: accept-rate: {error.message}") from None
    except InputError as error:
        message = str(error)
        raise InputError(message if message.startswith(file) else f"{file}: {message}") from None


def key_of(folder: Folder, key: Path | None) -> Path:
    """The key that an option names, or else the folder's own."""
    return Path(str(required(folder, "key"))) if key is None else key


def check_calibrated(folder: Folder) -> None:
    """Refuse a folder without a calibration, and say which command makes it."""
    path = str(required(folder, "reviewers"))
    if not os.path.lexists(path):
        past = "" if folder.settings.get("past") else f" (name past reviews as past = [...] in {FILE} first)"
        raise InputError(
            f"there is no calibration {path} yet: `blindcal fit {folder.path}` makes it from past "
            f"reviews{past}"
        )


def release_of(folder: Folder) -> Path:
    """The latest complete release of a folder."""
    out = Path(str(required(folder, "out")))
    release = (latest_release(out) if folder.settings.get("numbered") else None) or out
    if not any(os.path.lexists(release / name) for name in ("decisions.csv", "certificate.json")):
        raise InputError(f"{folder.path} has no release yet: `blindcal decide {folder.path}` makes the first")
    return release


def releases_of(folder: Folder) -> list[Path]:
    """Where a folder keeps its releases, against which its key and sealed record are checked."""
    out = str(folder.settings.get("out", ""))
    return [Path(out)] if out and published_in(out) else []


def say_interrupted(folder: Folder) -> None:
    """Report a latest release that is incomplete, and how to complete it, to someone who only reads."""
    out = str(folder.settings.get("out", ""))
    left = interrupted_release(out) if folder.settings.get("numbered") else None
    if left is not None:
        note(
            f"{left} was left incomplete by an interrupted run: `blindcal decide {folder.path}` completes "
            f"it; the latest complete release is {latest_release(out) or 'still to come'}"
        )


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
