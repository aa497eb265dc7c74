"""conference.toml -> `Folder`: the settings of a conference, each as it would stand on a command line."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from blindcal.cells import id_problem, number_text
from blindcal.errors import InputError, Problem
from blindcal.files.disk import read_bytes
from blindcal.files.tables import decode, refuse

FILE = "conference.toml"
Kind = Literal["text", "texts", "file", "files", "pools", "number", "papers", "limit", "grid", "flag"]
Setting = str | bool | tuple[str, ...]

SETTINGS: Mapping[str, Kind] = {
    "conference": "text",
    "reviews": "file",
    "committee": "file",
    "pools": "pools",
    "titles": "file",
    "tracks": "file",
    "past": "files",
    "past-better": "texts",
    "same": "file",
    "reviewers": "file",
    "grid": "grid",
    "better": "text",
    "scores": "text",
    "distinct-papers": "flag",
    "accept-rate": "number",
    "accept": "papers",
    "wait-list": "papers",
    "bar": "number",
    "guarantee": "text",
    "added-success": "number",
    "epsilon": "limit",
    "multiplier": "number",
    "posterior-cap": "number",
    "never-against": "number",
    "accepted": "text",
    "rejected": "text",
    "key": "file",
    "out": "file",
    "numbered": "flag",
}
"""What the file may set: the names of options, and what each of them takes."""
NOTES = ("withdrawn", "overridden")
"""What the file keeps note of, paper by paper."""

_RULES: Mapping[Kind, str] = {
    "text": 'must be text in quotes, like "high"',
    "texts": 'must be a list of texts, like ["2021=low"]',
    "file": 'must be the name of a file in quotes, like "inputs/reviews.csv"',
    "files": 'must be a list of file names, like ["inputs/past/2025.csv"]',
    "pools": 'must be the name of a file in quotes, or "everyone"',
    "number": "must be a number, like 0.25",
    "papers": 'must be a whole number, like 50, or one for each track in quotes, like "main=40,short=10"',
    "limit": 'must be a number, or "none"',
    "grid": 'must be text in quotes, like "1..10" or "none", or a list of numbers, like [1, 3, 5]',
    "flag": "must be true or false",
}
_LARGEST = 10**15
_LINE = re.compile(r"(.*?) \(at line ([0-9]+), column [0-9]+\)", re.DOTALL)
_DECISION = re.compile(r"(accept|reject)(?:$|: *\S)")


@dataclass(frozen=True)
class Folder:
    """A conference's folder.

    `path`: where it is.
    `settings`: the values of its `conference.toml` by the names of options, as they would be typed; files as
    the caller can open them.
    `withdrawn`: the reason, for each paper that was withdrawn.
    `overridden`: the decision and its reason, for each paper that was decided by hand.
    """

    path: Path
    settings: Mapping[str, Setting]
    withdrawn: Mapping[str, str]
    overridden: Mapping[str, str]

    @property
    def options(self) -> dict[str, Setting]:
        """Everything in the file as options; decisions overridden are `paper=decision`."""
        decisions = tuple(f"{paper}={text.split(':')[0]}" for paper, text in self.overridden.items())
        return {**self.settings, "withdrawn": tuple(self.withdrawn), "overridden": decisions}


def read_folder(path: str | os.PathLike[str]) -> Folder:
    """The folder of a conference at `path`, or an `InputError` with every problem of its conference.toml.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as place:
    ...     _ = Path(place, FILE).write_text('accept-rate = 0.25\\n[withdrawn]\\n"17" = "by its authors"\\n')
    ...     folder = read_folder(place)
    >>> folder.settings, folder.withdrawn
    ({'accept-rate': '0.25'}, {'17': 'by its authors'})
    """
    folder = Path(path)
    file = folder / FILE
    if not os.path.lexists(file):
        raise InputError(f"{folder} must be a folder that `blindcal new` made: there is no {FILE} in it")
    content = _parsed(decode(read_bytes(file), str(file)), str(file))
    problems = [
        *(problem for name, value in content.items() for problem in _problems(str(file), name, value)),
        *(problem for name in NOTES for problem in _note_problems(str(file), name, content.get(name, {}))),
    ]
    if problems:
        raise refuse(problems)
    settings = {
        name: _setting(kind, content[name], folder) for name, kind in SETTINGS.items() if name in content
    }
    withdrawn, overridden = (dict(content.get(name, {})) for name in NOTES)
    return Folder(folder, settings, withdrawn, overridden)


def _parsed(text: str, file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        # Numbers of thousands of digits and lists within lists are errors of other kinds.
        match = _LINE.fullmatch(str(error)) if isinstance(error, tomllib.TOMLDecodeError) else None
        said, row = (match[1], int(match[2])) if match else ("something else", None)
        rule = "must be TOML: lines like name = value, text in quotes"
        raise refuse([Problem(file, row, None, rule, said[:1].lower() + said[1:])]) from None


def _problems(file: str, name: str, value: object) -> list[Problem]:
    if name in NOTES:
        return []
    if name not in SETTINGS:
        close = get_close_matches(name.replace("_", "-"), SETTINGS, n=1)
        rule = f"must be a setting that is known{f': is it {close[0]}?' if close else ''}"
        return [Problem(file, None, name, rule)]
    kind = SETTINGS[name]
    return [] if _fits(kind, value) else [Problem(file, None, name, _RULES[kind])]


def _fits(kind: Kind, value: object) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST
    match kind:
        case "flag":
            return isinstance(value, bool)
        case "number":
            return number
        case "limit":
            return number or value == "none"
        case "papers" if number:
            return isinstance(value, int) and value >= 0
        case "texts" | "files":
            return isinstance(value, list) and all(isinstance(item, str) and item for item in value)
        case "grid" if isinstance(value, list):
            return bool(value) and all(_fits("number", item) for item in value)
    return isinstance(value, str) and bool(value)


def _note_problems(file: str, name: str, value: object) -> list[Problem]:
    """What is wrong with a table of papers: ids as elsewhere, and a text for each."""
    if not isinstance(value, dict):
        rule = f'must be a table: a line [{name}], and below it lines like "17" = "why"'
        return [Problem(file, None, name, rule)]
    rule = 'must be "accept: why" or "reject: why"' if name == "overridden" else "must be a reason in quotes"
    good = _DECISION.match if name == "overridden" else str.strip
    problems = []
    for place, (paper, text) in enumerate(value.items(), start=1):
        column = f"{name}, entry {place}"
        if (broken := id_problem(paper)) is not None:
            problems.append(Problem(file, None, column, f"its paper {broken[0]}", broken[1]))
        if not isinstance(text, str) or not good(text):
            problems.append(Problem(file, None, column, rule))
    return problems


def _setting(kind: Kind, value: object, folder: Path) -> Setting:
    """A value of the file as it would be typed."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return str(value) if kind == "papers" else number_text(float(value))
    if isinstance(value, list):
        if kind == "grid":
            return ",".join(number_text(float(item)) for item in value)
        return tuple(_place(folder, item) if kind == "files" else item for item in value)
    text = str(value)
    return _place(folder, text) if kind == "file" or (kind == "pools" and text != "everyone") else text


def _place(folder: Path, name: str) -> str:
    """Where a file that is named relative to the folder lies, in as few words as can be."""
    # A folder that is a link has its neighbors elsewhere.
    base = os.path.realpath(folder) if folder.is_symlink() else os.fspath(folder)
    return os.path.normpath(os.path.join(base, name))
