"""A conference's folder as commands take it: its settings, its releases, and the step that comes next.

Every command after `blindcal new` takes the folder, reads `conference.toml` in it, and asks only for what the
file cannot know. Readers of a release have no folder: `report` and `export` also take what was published.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperOption

from blindcal.cli.arguments import share
from blindcal.cli.completions import conference_folders
from blindcal.cli.console import Once, note, say
from blindcal.deciding.ledger import interrupted_release, latest_release, published_in, sealed_folder
from blindcal.errors import InputError, RefusedError
from blindcal.io.atomic_files import read_bytes
from blindcal.project.outsiders import refused_in
from blindcal.project.settings import FILE, Asked, Folder, Setting, asked, read_folder

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


def required(folder: Folder, name: str) -> Setting:
    """A setting that the conference.toml of a folder must have."""
    if not folder.settings.get(name):
        raise InputError(f"{folder.path / FILE}: must set {name}")
    return folder.settings[name]


def settings_of(folder: Folder, *, yes_leak: bool = False) -> Asked:
    """What the settings of a folder add up to; problems with them name the file."""
    check_calibrated(folder)
    file = str(folder.path / FILE)
    try:
        share(str(folder.settings.get("accept-rate", 0.5)))
        return asked(folder, yes_leak=yes_leak)
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
    """Print which command comes next, if one does, as the last line of a command on a folder."""
    if (line := next_step(command, folder)) is not None:
        say(f"next: {line}")


def next_step(command: str, folder: Folder) -> str | None:
    """What a chair does after a command on a conference's folder."""
    path, file = folder.path, folder.path / FILE
    if command in ("new", "check", "fit"):
        return _next_before_plan(command, folder)
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


# Below: what `new`, `check` and `fit` still use; `check` and `fit` take files as well as a folder.

# Settings that stand for other options of `fit`, or for none.
_INSTEAD: Mapping[str, Mapping[str, str | None]] = {
    "fit": {"out": "reviewers", "for": "reviews", "grid": None},
}
_FOLDER = "blindcal.folder"
_current: ContextVar[Folder | None] = ContextVar("folder", default=None)


def current_folder() -> Folder | None:
    """The folder that the running command was given; None if it was given files."""
    return _current.get()


class InFolder(Once):
    """A command that takes from conference.toml what the command line leaves open."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        values, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        argument = next(one for one in self.params if isinstance(one, TyperArgument))
        folder = _folder_in(values.get(argument.name))
        if folder is None:
            return super().parse_args(ctx, args)
        names = {one.name: _option(one) for one in self.params if isinstance(one, TyperOption)}
        given = {names[name] for name in values if name in names}
        found = _defaults(folder, self.name or "", given)
        ctx.default_map = {name: found[option] for name, option in names.items() if option in found}
        rest = super().parse_args(ctx, args)
        value = required(folder, str(argument.name))
        path = [Path(one) for one in value] if isinstance(value, tuple) else Path(str(value))
        ctx.params[str(argument.name)] = path
        ctx.meta[_FOLDER] = folder
        return rest

    def invoke(self, ctx: Any) -> Any:
        folder: Folder | None = ctx.meta.get(_FOLDER)
        token = _current.set(folder)
        try:
            result = super().invoke(ctx)
        finally:
            _current.reset(token)
        if folder is not None and not ctx.params.get("as_json"):
            say_next(self.name or "", folder)
        return result


def _folder_in(value: object) -> Folder | None:
    """The folder that an argument names; None if it names a file or nothing that is there."""
    values = value if isinstance(value, list | tuple) else (value,)
    folders = [one for one in values if isinstance(one, str) and os.path.isdir(one)]
    if not folders:
        return None
    if len(values) > 1:
        raise InputError(f"{folders[0]} is a folder: give it alone, or give files")
    return read_folder(folders[0])


def _defaults(folder: Folder, command: str, given: set[str]) -> dict[str, Setting]:
    """The settings that a command takes from a folder, apart from the options that are given."""
    instead, options = _INSTEAD.get(command, {}), folder.options
    found = {name: value for name, value in options.items() if name not in instead}
    found |= {
        name: options[other] for name, other in instead.items() if other is not None and other in options
    }
    if "scale-of" in given:
        found.pop("for", None)
    return found


def _option(parameter: TyperOption) -> str:
    """The name of an option as it is typed, without its dashes."""
    return max(parameter.opts, key=len).lstrip("-")


def calibrated(folder: Folder) -> bool:
    """Whether a folder has a calibration."""
    return os.path.lexists(str(folder.settings.get("reviewers", "")))


def fits_again(folder: Folder | None, out: Path) -> bool:
    """Whether the calibration `out` may be made again: a `folder` has it, and nothing was decided by it."""
    if folder is None or out != Path(str(folder.settings.get("reviewers", ""))):
        return False
    if os.path.lexists(out) and (_released(folder) or _sealed(folder)):
        raise RefusedError(
            f"{out} exists already and is never overwritten: papers were decided with the key of "
            f"{folder.path}. For a correction give another --out, and name it in {folder.path / FILE}"
        )
    return True


def _sealed(folder: Folder) -> bool:
    return "key" in folder.settings and sealed_folder(str(folder.settings["key"])).exists()


def _next_before_plan(command: str, folder: Folder) -> str:
    """What a chair does after a command that prepares a plan."""
    path, file = folder.path, folder.path / FILE
    if not calibrated(folder):
        first = "" if folder.settings.get("past") else f"name past reviews in {file}, then "
        return f"{first}blindcal fit {path}"
    if refused_in(folder) is not None:
        if command != "check":
            return f"blindcal check {path}"
        return f"correct this, then blindcal plan {path}, which says who is meant, in a file for you alone"
    if _released(folder):
        return f'if something was corrected, blindcal decide {path} --amend --reason "..."'
    number = any(folder.settings.get(name) for name in ("accept-rate", "accept", "bar"))
    return f"{'' if number else f'set accept-rate or accept in {file}, then '}blindcal plan {path}"
