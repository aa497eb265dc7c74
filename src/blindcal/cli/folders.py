"""Commands whose first argument may be a conference's folder: what the command line does not say is there."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Any

import typer
from typer.core import TyperArgument, TyperOption

from blindcal.cli.console import Once, note, say
from blindcal.deciding.ledger import interrupted_release, latest_release, published_in, sealed_folder
from blindcal.errors import InputError, RefusedError
from blindcal.io.atomic_files import read_bytes
from blindcal.project.outsiders import refused_in
from blindcal.project.settings import FILE, Folder, Setting, read_folder, readers_of

# Of these only one can be meant: whichever is on the command line.
_ACCEPT = ("accept-rate", "bar", "accept")
# Limits in the file belong to the guarantee in the file.
_LIMITS = ("added-success", "epsilon", "multiplier", "posterior-cap", "never-against")
# Arguments that name what was published: a folder stands for its latest release.
_PUBLISHED = ("release", "certificate", "published")
# Where a command's option is another setting of the file than its name says, or none.
_INSTEAD: Mapping[str, Mapping[str, str | None]] = {
    "fit": {"out": "reviewers", "for": "reviews", "grid": None},
    "plan": {"key": None, "out": None},
    "report": {"out": None},
    "export": {"out": None},
    "audit": {"out": None},
    # The list that there is keeps its wait list: only the command line makes papers leave it.
    "select": {"wait-list": None},
}
# Where a command keeps the folder that it was given.
_FOLDER = "blindcal.folder"
# The folder of the command that is running.
_current: ContextVar[Folder | None] = ContextVar("folder", default=None)


def current_folder() -> Folder | None:
    """The folder that the running command was given; None where it was given files."""
    return _current.get()


class InFolder(Once):
    """A command that takes from conference.toml what the command line leaves open."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        values, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        argument = next(one for one in self.params if isinstance(one, TyperArgument))
        value = values.get(argument.name)
        folder = folder_in(value, plain=argument.name in _PUBLISHED)
        if folder is None:
            self._check_there(value, values)
            return super().parse_args(ctx, args)
        names = {one.name: _option(one) for one in self.params if isinstance(one, TyperOption)}
        given = {names[name] for name in values if name in names}
        found = defaults(folder, self.name or "", given)
        ctx.default_map = {name: found[option] for name, option in names.items() if option in found}
        try:
            rest = super().parse_args(ctx, args)
        except typer.BadParameter as error:
            raise _located(error, folder, ctx.default_map, given) from None
        ctx.params[argument.name] = _argument(argument.name, folder)
        if self.name in ("decide", "verify"):
            ctx.params["published"] = [*(ctx.params["published"] or ()), *_published(folder)]
        if self.name == "verify" or (argument.name in _PUBLISHED and self.name != "select"):
            _say_interrupted(folder)
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
            say_next(self.name or "", folder, ctx.params)
        return result

    def _check_there(self, value: object, values: Mapping[str, object]) -> None:
        """Say that a folder does not exist, where a folder must be meant, as options are missing."""
        missing = any(one.required and one.name not in values for one in self.params)
        if missing and isinstance(value, str) and not os.path.lexists(value):
            raise InputError(f"{value}: there is no such file or folder")


def folder_in(value: object, *, plain: bool = False) -> Folder | None:
    """The folder that an argument names; None where it names a file, nothing that is there, or a `plain`
    folder that `blindcal new` did not make."""
    values = value if isinstance(value, list | tuple) else (value,)
    folders = [one for one in values if isinstance(one, str) and os.path.isdir(one)]
    if not folders or (plain and not _made(folders[0])):
        return None
    if len(values) > 1:
        raise InputError(f"{folders[0]} is a folder: give it alone, or give files")
    return read_folder(folders[0])


def _made(path: str) -> bool:
    return os.path.lexists(Path(path) / FILE)


def defaults(folder: Folder, command: str, given: set[str]) -> dict[str, Setting]:
    """The settings that a command takes from a folder, where these options are given.

    One way to say what to accept replaces the others, another guarantee comes without the file's limits,
    another folder for results is taken as it is, and the scale of an earlier fit comes without this year's.
    """
    instead, options = _INSTEAD.get(command, {}), folder.options
    found = {name: value for name, value in options.items() if name not in instead}
    found |= {
        name: options[other] for name, other in instead.items() if other is not None and other in options
    }
    replaced: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
        (_ACCEPT, (*_ACCEPT, "wait-list")),
        (("guarantee",), _LIMITS),
        (("out",), ("numbered",)),
        (("scale-of",), ("for",)),
    )
    for these, others in replaced:
        if given & {*these}:
            found = {name: value for name, value in found.items() if name not in others}
    if command in ("plan", "decide", "verify") and "reviewers" not in given:
        _check_calibrated(folder)
    if command == "decide" and "scores" not in given:
        readers_of(folder)
    return found


def _check_calibrated(folder: Folder) -> None:
    path = folder.settings.get("reviewers")
    if isinstance(path, str) and not os.path.lexists(path):
        past = "" if folder.settings.get("past") else f" (name past reviews as past = [...] in {FILE} first)"
        raise InputError(
            f"there is no calibration {path} yet: `blindcal fit {folder.path}` makes it from past "
            f"reviews{past}"
        )


def say_next(command: str, folder: Folder, options: Mapping[str, object] = MappingProxyType({})) -> None:
    """The last line of a command on a folder: which command comes next, if one does."""
    if (line := next_step(command, folder, options)) is not None:
        say(f"next: {line}")


def next_step(command: str, folder: Folder, options: Mapping[str, object]) -> str | None:
    """What a chair does after a command with these `options` on a conference's folder."""
    path, file = folder.path, folder.path / FILE
    if command in ("decide", "select"):
        report = f"blindcal report {path} --out {path.name}.html"
        if command == "select" and (lines := _other_numbers(folder, options)):
            return f"write {' and '.join(lines)} into {file}, then {report}"
        return f"back up the key with its sealed record, then {report}"
    if command == "report":
        return f"blindcal export {path} --to csv --out {path.name}.csv"
    if command not in ("new", "check", "fit", "plan"):
        return None
    if not calibrated(folder):
        first = "" if folder.settings.get("past") else f"name past reviews in {file}, then "
        return f"{first}blindcal fit {path}"
    if command != "plan" and refused_in(folder) is not None:
        if command != "check":
            return f"blindcal check {path}"
        return f"correct this, then blindcal plan {path}, which says who is meant, in a file for you alone"
    if _released(folder):
        return f'if something was corrected, blindcal decide {path} --amend --reason "..."'
    if command == "plan":
        return f"write what you choose into {file}, then blindcal decide {path}"
    wanted = any(folder.settings.get(name) for name in _ACCEPT)
    return f"{'' if wanted else f'set accept-rate or accept in {file}, then '}blindcal plan {path}"


def _other_numbers(folder: Folder, options: Mapping[str, object]) -> list[str]:
    """The numbers of a list just made that the file does not have, as it should."""
    out = Path(str(options["out"]))
    release = (latest_release(out) if options.get("numbered") else None) or out
    made = json.loads(read_bytes(release / "certificate.json"))["requested"]
    numbers = {"accept": _papers(made["accept"]), "wait-list": _papers(made["wait_list"])}
    return [
        f"{name} = {number if number.isdecimal() else json.dumps(number)}"
        for name, number in numbers.items()
        if number != folder.settings.get(name, "0")
    ]


def _papers(number: int | Mapping[str, int]) -> str:
    """A number of papers, or one for each track, as the file has it.

    >>> _papers(40), _papers({"main": 40, "short": 10})
    ('40', 'main=40,short=10')
    """
    return ",".join(f"{k}={v}" for k, v in number.items()) if isinstance(number, Mapping) else str(number)


def calibrated(folder: Folder) -> bool:
    """Whether a folder has a calibration."""
    return os.path.lexists(str(folder.settings.get("reviewers", "")))


def _released(folder: Folder) -> bool:
    out = str(folder.settings.get("out", ""))
    return latest_release(out) is not None or os.path.lexists(Path(out) / "certificate.json")


def fits_again(folder: Folder | None, out: Path) -> bool:
    """Whether a calibration `out` may replace an earlier one: it is that of a `folder` where nothing was
    decided."""
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


def _argument(name: str | None, folder: Folder) -> object:
    """What stands for the folder itself: its reviews, past reviews, or latest release."""
    if name in _PUBLISHED:
        _set(folder, "out")
        release = _latest(folder)
        if not any(os.path.lexists(release / name) for name in ("decisions.csv", "certificate.json")):
            raise InputError(
                f"{folder.path} has no release yet: `blindcal decide {folder.path}` makes the first"
            )
        return release
    value = _set(folder, str(name))
    return [Path(one) for one in value] if isinstance(value, tuple) else Path(str(value))


def _latest(folder: Folder) -> Path:
    """Where the latest release of a folder is, once there is one."""
    out = Path(str(folder.settings.get("out", "")))
    return (latest_release(out) if folder.settings.get("numbered") else None) or out


def _published(folder: Folder) -> list[Path]:
    """Where a folder shows what its key and ledger must hold, wherever a command publishes: its releases."""
    out = str(folder.settings.get("out", ""))
    return [Path(out)] if out and published_in(out) else []


def _say_interrupted(folder: Folder) -> None:
    """Say, to whoever only reads, that the latest release is incomplete and how to complete it."""
    out = str(folder.settings.get("out", ""))
    left = interrupted_release(out) if folder.settings.get("numbered") else None
    if left is not None:
        note(
            f"{left} was left incomplete by an interrupted run: `blindcal decide {folder.path}` completes "
            f"it; the latest complete release is {latest_release(out) or 'still to come'}"
        )


def _set(folder: Folder, name: str) -> Setting:
    if not folder.settings.get(name):
        raise InputError(f"{folder.path / FILE}: must set {name}")
    return folder.settings[name]


def _option(parameter: TyperOption) -> str:
    """The name of an option as it is typed, without its dashes."""
    return max(parameter.opts, key=len).lstrip("-")


def _located(
    error: typer.BadParameter, folder: Folder, found: Mapping[str, object], given: set[str]
) -> Exception:
    """A problem with an option that came from the file, and where to mend it."""
    parameter = error.param
    if isinstance(parameter, TyperOption) and parameter.name in found and _option(parameter) not in given:
        return InputError(f"{folder.path / FILE}: {_option(parameter)}: {error.message}")
    return error
