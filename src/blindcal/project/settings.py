"""The settings of a conference: what conference.toml may say, and what its lines add up to.

Each setting is declared once, in `SECTIONS`; limits of a guarantee come from their own table, `LIMITS`.
`read_folder` reads the file, `conference_text` writes a new one, and `folder_request` makes of it what the
library takes: a guarantee, numbers of papers, a grid, a whole request. The command line says these in the
same words.
"""

from __future__ import annotations

import json
import os
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import numpy as np

from blindcal.checks import Array
from blindcal.errors import InputError, Problem
from blindcal.io.atomic_files import read_bytes
from blindcal.io.cells import Column, cell_problem, id_problem, normalize_id, number_text
from blindcal.io.tables import StrPath, decode_utf8, input_error
from blindcal.planning.request import SOURCES, Request, known_readers
from blindcal.policy.guarantee import GUARANTEES, LIMITS, Guarantee, Limit
from blindcal.pools.candidates import EVERYONE
from blindcal.posterior.inputs import PAST
from blindcal.posterior.this_year_evidence import SHARE
from blindcal.posterior.this_year_inputs import EVIDENCE_FILE, THIS_YEAR

FILE = "conference.toml"
Kind = Literal["text", "texts", "file", "files", "pools", "number", "papers", "limit", "grid", "flag"]
Value = str | float | bool | Sequence[str]
"""A value as conference.toml has it."""
SettingValue = str | bool | tuple[str, ...]
"""A value as it would be typed."""


@dataclass(frozen=True)
class Declaration:
    """A setting of conference.toml."""

    kind: Kind  # what values it takes
    example: Value  # a value for a new file in which it is not set
    sentence: str  # what it means, as the file says it
    default: str | None = None  # what holds if it is not set; None if nothing does


def _limit_setting(limit: Limit) -> Declaration:
    removed = ' "none" removes it.' if limit.removable else ""
    guarantee = f" With {' or '.join(limit.only_with)} only." if limit.only_with else ""
    kind: Kind = "limit" if limit.removable else "number"
    return Declaration(kind, limit.example, f"{limit.sentence}{removed}{guarantee}")


def setting_name(name: str) -> str:
    """The name in settings of a field.

    >>> setting_name("posterior_cap")
    'posterior-cap'
    """
    return name.replace("_", "-")


# Each setting with its kind, an example, what holds without it, and what it means.
_DECLARED = """\
== The conference
conference: text = "icx2027" else conference
    Its name in the record and the certificate. Do not change it after deciding.
== Inputs
reviews: file = "inputs/reviews.csv"
    CONFIDENTIAL: who gave which paper which score. After a correction or a late review, run `blindcal
    import FOLDER FILE --as reviews`, then `decide` with --amend --reason.
committee: file = "inputs/committee.csv"
    Everyone who may have reviewed, not only those who did: `fit` writes a row for each.
pools: pools = "everyone"
    Who may have reviewed each paper: a table paper,reviewer[,probability], or paper,conflict (everyone
    else is a candidate), or "everyone". Never list only those who did review.
distinct-papers: flag = true
    With a jury or fixed panels: papers with the same reviewers, and the same score from each, are
    different papers, as are late papers that resemble decided ones. Else `decide` stops.
titles: file = "inputs/titles.csv"
    Titles of papers, for `export`.
tracks: file = "inputs/tracks.csv"
    Tracks of papers, as the export had them.
== Calibration
source: text = "this-year"
    What calibrates: past (past years, or a table of reviewers), this-year (these reviews alone), or file
    (evidence of another method). Without this line: file if there is such a file, past if there are past
    years or a table of reviewers, else this-year.
people: number = 40
    With this-year: how many people are on the committee's list. Never count this year's reviewers:
    the number shapes which papers a random draw decides. Five reviews each if not set.
strictness-share: number = 0.25
    With this-year: the part of the scores' disagreement that is taken as strictness, .15, .25, .35 or .5.
    The scores cannot tell which is right.
evidence: file = "inputs/evidence.csv"
    CONFIDENTIAL: paper, evidence (accept or reject, or a number) from another method. A person who
    chooses this file and has the key can choose decisions.
past: files = ["inputs/past/2026.csv"]
    CONFIDENTIAL: reviews of past conferences, oldest first, for `fit`.
past-better: texts = ["2021=low"]
    The better end of past scales: where it was another than this year's, or where `fit` asks.
same: file = "inputs/same.csv"
    People whose id changed since: a table old,new.
reviewers: file = "inputs/reviewers.csv"
    CONFIDENTIAL: each reviewer's slope, offset and noise, written by `fit`. Never fitted on the reviews
    that are decided.
== The scale
grid: grid = "1..10"
    The scores that reviewers can give, also those that no one gave: they are rounded to these. "none" if
    any number can be given.
better: text = "high" else high
    Which scores are better: high or low. No data can show it: check this line.
== What to accept: one of these
accept-rate: number = 0.25
    Share of papers to accept, about.
accept: papers = 50
    Or how many papers, exactly; by track: "main=40,short=10".
bar: number = 0.5
    Or the bar itself, as a quality (N(0,1) over papers).
wait-list: papers = 10
    With accept: how many more papers wait, in their order.
== What decisions may reveal (docs/explanation/privacy_model.md)
guarantee: text = "{guarantee}" else {guarantee}
    {guarantees}: `blindcal plan` shows what each would cost. Without past years: odds.
== Where results go
key: file = "../icx2027.key"
    SECRET forever; beside this folder, with its private log.
scores: text = "confidential"
    "public" if everyone may see the scores of all papers; "confidential" if not: then nothing in the
    public folder depends on them but the decisions. Frozen with the first release.
out: file = "public"
    The public folder: may be sent on if the line above is right.
numbered: flag = true
    Each release in a folder of its own there: release-1, release-2 after an amendment.
release: text = "advice" else decisions
    What goes out: decisions, or advice for a meeting that decides: raise, lower or leave what mean scores
    say. Decisions then stay in the private log. Frozen with the first release.
accepted: text = "Accept (Oral)"
    What your system calls an accepted paper, exactly, for `export` to HotCRP, OpenReview, EasyChair and
    CMT.
rejected: text = "Reject"
    And a rejected one.
"""
_ROW = re.compile(r"(?m)^(\S+): (\w+) = (.*?)(?: else (.*))?\n((?:    .*\n)+)")


def _declared() -> Iterator[tuple[str, dict[str, Declaration]]]:
    """The settings of each section; after the guarantee come its limits."""
    names = ", ".join(name for name in GUARANTEES if name != "none")
    text = _DECLARED.format(guarantee=Guarantee().name, guarantees=names)
    for section in text.removeprefix("== ").split("\n== "):
        title, _, rows = section.partition("\n")
        declared = dict[str, Declaration]()
        for name, kind, example, default, sentence in _ROW.findall(f"{rows}\n"):
            value = tomllib.loads(f"example = {example}")["example"]
            declared[name] = Declaration(kind, value, " ".join(sentence.split()), default or None)
        if "guarantee" in declared:
            declared |= {setting_name(name): _limit_setting(limit) for name, limit in LIMITS.items()}
        yield title, declared


SECTIONS: Mapping[str, Mapping[str, Declaration]] = dict(_declared())
"""What the file may set, in its order."""
SETTINGS: Mapping[str, Declaration] = {name: row for rows in SECTIONS.values() for name, row in rows.items()}
"""What the file may set, by name."""
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
    """A conference's folder."""

    path: Path  # where it is
    # The values of its `conference.toml` by name, as they would be typed; files as the caller can open them
    settings: Mapping[str, SettingValue]
    withdrawn: Mapping[str, str]  # the reason, for each paper that was withdrawn
    overridden: Mapping[str, str]  # the decision and its reason, for each paper that was decided by hand

    @property
    def file(self) -> Path:
        """Its conference.toml."""
        return self.path / FILE

    def text(self, name: str) -> str:
        """A setting as text; if it is not set, what holds then, or nothing."""
        return str(self.settings.get(name, SETTINGS[name].default or ""))

    def required(self, name: str) -> str:
        """A setting that the conference.toml must have, as text."""
        if not self.text(name):
            raise InputError(f"{self.file}: must set {name}")
        return self.text(name)

    @property
    def past(self) -> tuple[str, ...]:
        """The tables of past conferences, oldest first."""
        past = self.settings.get("past")
        return past if isinstance(past, tuple) else ()

    @property
    def source(self) -> str:
        """What calibrates: `past`, `this-year` or `file`."""
        named = self.text("source")
        if named and named not in SOURCES:
            raise InputError(f"{self.file}: source must be one of {', '.join(SOURCES)}, found {named!r}")
        if named or "evidence" in self.settings:
            return named or EVIDENCE_FILE
        return PAST if self.past or "reviewers" in self.settings else THIS_YEAR

    @property
    def grid(self) -> list[float] | None:
        """The scores that reviewers can give, as `parse_grid` has them."""
        return parse_grid(self.text("grid") or None)

    @property
    def numbered(self) -> bool:
        """Whether each release has a folder of its own in the public folder."""
        return self.settings.get("numbered") is True


def read_folder(path: StrPath) -> Folder:
    """Reads the settings of a conference's folder.

    Args:
        path: The folder that has the conference.toml.

    Raises:
        InputError: There is no such file, or it has problems, which are all listed.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as path:
        ...     text = 'accept-rate = 0.25\\n[withdrawn]\\n"17" = "by its authors"\\n'
        ...     _ = Path(path, FILE).write_text(text)
        ...     folder = read_folder(path)
        >>> folder.settings, folder.withdrawn
        ({'accept-rate': '0.25'}, {'17': 'by its authors'})
    """
    folder = Path(path)
    file = folder / FILE
    if not os.path.lexists(file):
        lacks = f"{FILE} in it" if os.path.lexists(folder) else "such folder"
        raise InputError(f"{folder} must be a folder that `blindcal new` made: there is no {lacks}")
    content = _parse_toml(decode_utf8(read_bytes(file), str(file)), str(file))
    broken = {name: _broken_rule(name, value) for name, value in content.items() if name not in NOTES}
    problems = [
        *(Problem(str(file), None, name, rule) for name, rule in broken.items() if rule),
        *(problem for name in NOTES for problem in _note_problems(str(file), name, content.get(name, {}))),
    ]
    if problems:
        raise input_error(problems)
    settings = {
        name: _setting(row.kind, content[name], folder) for name, row in SETTINGS.items() if name in content
    }
    withdrawn, overridden = (
        {normalize_id(paper): line for paper, line in content.get(name, {}).items()} for name in NOTES
    )
    return Folder(folder, settings, withdrawn, overridden)


def _parse_toml(text: str, file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        # Numbers of thousands of digits and lists within lists are errors of other kinds.
        match = _LINE.fullmatch(str(error)) if isinstance(error, tomllib.TOMLDecodeError) else None
        message, row = (match[1], int(match[2])) if match else ("something else", None)
        rule = "must be TOML: lines like name = value, text in quotes"
        raise input_error([Problem(file, row, None, rule, message[:1].lower() + message[1:])]) from None


def _broken_rule(name: str, value: object) -> str | None:
    """The rule that a line of the file breaks, if any."""
    if name not in SETTINGS:
        close = get_close_matches(name.replace("_", "-"), SETTINGS, n=1)
        return f"must be a setting that is known{f': is it {close[0]}?' if close else ''}"
    kind = SETTINGS[name].kind
    return None if _fits(kind, value) else _RULES[kind]


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
    for index, (paper, text) in enumerate(value.items(), start=1):
        column = f"{name}, entry {index}"
        if (broken := id_problem(paper)) is not None:
            problems.append(Problem(file, None, column, f"its paper {broken[0]}", broken[1]))
        if not isinstance(text, str) or not good(text):
            problems.append(Problem(file, None, column, rule))
    return problems


def _setting(kind: Kind, value: object, folder: Path) -> SettingValue:
    """A value of the file as it would be typed."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return str(value) if kind == "papers" else number_text(float(value))
    if isinstance(value, list):
        if kind == "grid":
            return ",".join(number_text(float(item)) for item in value)
        return tuple(_path_in(folder, item) if kind == "files" else item for item in value)
    text = str(value)
    if kind == "pools" and text.casefold() == EVERYONE:
        return EVERYONE
    return _path_in(folder, text) if kind in ("file", "pools") else text


def _path_in(folder: Path, name: str) -> str:
    """Where a file that is named relative to the folder lies, in as few words as can be."""
    # A folder that is a link has its neighbors elsewhere.
    base = os.path.realpath(folder) if folder.is_symlink() else os.fspath(folder)
    return os.path.normpath(os.path.join(base, name))


def parse_setting(name: str, text: str) -> Value:
    """The value of a setting that a person typed, as conference.toml has it.

    Example:
        >>> parse_setting("accept", "50"), parse_setting("epsilon", "none"), parse_setting("numbered", "true")
        (50, 'none', True)
    """
    kind = SETTINGS[name].kind
    made: Value = text
    if kind == "flag" and text in ("true", "false"):
        made = text == "true"
    elif kind == "texts":
        made = [part.strip() for part in text.split(",")]
    elif kind == "papers" and re.fullmatch("[0-9]{1,9}", text):
        made = int(text)
    elif kind in ("number", "limit") and cell_problem(text, Column(name, "number")) is None:
        made = float(text)
    if not _fits(kind, made):
        raise InputError(f"{name} {_RULES[kind]}, found {text!r}{number_hint(text)}")
    return made


_LARGEST_GRID = 1001


def folder_request(folder: Folder, *, yes_leak: bool = False) -> Request:
    """What a folder's settings request of the commands; one that lacks a file or the key is refused.

    `yes_leak`: the consent of a chair whose guarantee is `none`, which is refused without it.
    """
    source = folder.source
    named = str(folder.settings.get("guarantee", Guarantee().name if source == PAST else WITHOUT_HISTORY))
    stated = {name: folder.text(name) for name in _LIMITS.keys() & folder.settings}
    # Nothing is revealed that these lines could limit: a chair who turns to public need not remove them.
    unused = {name for name, field in _LIMITS.items() if LIMITS[field].removable or LIMITS[field].only_with}
    limits = {name: text for name, text in stated.items() if named != "public" or name not in unused}
    guarantee = checked_consent(_guarantee(named, limits), yes_leak=yes_leak)
    rate, bar = (float(text) if (text := folder.text(name)) else None for name in ("accept-rate", "bar"))
    if (people := folder.text("people")) and not re.fullmatch(r"[1-9][0-9]{0,8}", people):
        raise InputError(f"`people` must be a whole number of at least 1, found {people!r}")
    request = Request(
        guarantee,
        folder.text("conference"),
        rate,
        bar,
        folder.text("better"),
        parse_paper_counts("`accept`", folder.text("accept") or None),
        parse_paper_counts("`wait_list`", folder.text("wait-list") or None) or 0,
        source=source,
        strictness_share=float(folder.text("strictness-share") or SHARE),
        people=int(people) if people else None,
        release=folder.text("release"),
    ).checked()
    needed = {PAST: ("reviewers", "pools"), EVIDENCE_FILE: ("evidence",)}
    for name in ("reviews", *needed.get(source, ()), "key", "out"):
        folder.required(name)
    parse_grid(folder.text("grid") or None)
    return replace(request, scores=known_readers(folder.text("scores")))


WITHOUT_HISTORY = "odds"
"""The guarantee of a conference without history, if a chair names none."""
_LIMITS = {setting_name(name): name for name in LIMITS}
# What people call the guarantee none.
_FULL = "full"


def checked_consent(guarantee: Guarantee, *, yes_leak: bool) -> Guarantee:
    """The same `guarantee`; `none`, which protects no one, is refused without the chair's consent."""
    if guarantee.name == "none" and not yes_leak:
        raise InputError(
            "`guarantee` none lets every decision reveal who reviewed the paper: it needs `yes_leak`"
        )
    return guarantee


def parse_guarantee(text: str) -> Guarantee:
    """The guarantee that a `text` names, with its limits as settings: `steady epsilon=2`.

    The name comes first. Limits that the text leaves out have their defaults; `crowd=10` is short for
    `crowd among=10`, and `full` is another word for the guarantee `none`, full calibration.
    """
    name, *words = text.split() or [""]
    if name.startswith("crowd="):
        name, words = "crowd", [f"among={name.removeprefix('crowd=')}", *words]
    limits = {limit: value for limit, _, value in (word.partition("=") for word in words)}
    unknown = [word for word in words if word.partition("=")[0] not in _LIMITS or "=" not in word]
    problems = []
    if name not in (*GUARANTEES, _FULL):
        problems.append(f"the guarantee must be one of {', '.join((*GUARANTEES, _FULL))}, found {name!r}")
    if unknown:
        listed = ", ".join(f"{limit}=" for limit in _LIMITS)
        problems.append(f"its limits must be among {listed}, found {', '.join(map(repr, unknown))}")
    if len(limits) < len(words):
        problems.append("each limit must be there once")
    if problems:
        raise InputError(f"{text!r}: {'; '.join(problems)}. Write it like 'steady epsilon=2'")
    return _guarantee("none" if name == _FULL else name, limits)


def guarantee_settings(guarantee: Guarantee) -> dict[str, str | float | None]:
    """A `guarantee` as settings; None for a line that is left out."""
    limited = GUARANTEES[guarantee.name].limited
    removed = {name: "none" if limit.removable and limited else None for name, limit in LIMITS.items()}
    values = {**removed, **guarantee.limits}
    return {"guarantee": guarantee.name, **{setting_name(name): value for name, value in values.items()}}


def _guarantee(name: str, limits: Mapping[str, str]) -> Guarantee:
    """The guarantee of this name with limits by the names of settings, as they would be typed."""
    if name not in GUARANTEES:
        return Guarantee(name)
    values = {}
    for setting, field in _LIMITS.items():
        limit, text = LIMITS[field], limits.get(setting)
        applies = GUARANTEES[name].limited or not limit.removable
        removable = limit.removable and field not in GUARANTEES[name].needs
        if not applies and text not in (None, "none"):
            raise InputError(f"`{field}` has no effect with `guarantee` {name}: leave it out")
        if text is None:
            values[field] = limit.default if applies else None
        elif text == "none" and removable:
            values[field] = None
        elif cell_problem(text, Column(field, "number")) is not None:
            kinds = "a number or none" if removable else "a number"
            raise InputError(f"`{field}` must be {kinds}, found {text!r}{number_hint(text)}")
        else:
            values[field] = int(text) if limit.whole and text.isdecimal() else float(text)
    return Guarantee.from_record(name, values)


def parse_paper_counts(option: str, text: str | None) -> int | dict[str, int] | None:
    """The number of papers that the `text` of an `option` gives, or one for each track; None for no text."""
    if text is None:
        return None
    if "=" not in text:
        return _paper_count(option, text, text)
    pairs = [part.rpartition("=") for part in text.split(",")]
    names = [name.strip() for name, _, _ in pairs]
    if len(set(names)) < len(names) or not all(names):
        raise InputError(f"{option} must name each track once, like main=40,short=10, found {text!r}")
    return {
        name: _paper_count(option, number, text) for name, (_, _, number) in zip(names, pairs, strict=True)
    }


def _paper_count(option: str, number: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", number.strip()):
        share = re.fullmatch(r"0?\.[0-9]+|[0-9.]+ ?%", text) is not None
        raise InputError(
            f"{option} must be a whole number of papers, or one for each track (main=40,short=10), found "
            f"{text!r}" + ": for a share of the papers give `accept_rate`" * share
        )
    return int(number)


def accept_setting(text: str | None) -> tuple[float | None, str | None]:
    """The share of papers that the text of `accept` gives, or else their number; neither if there is no text.

    >>> accept_setting("12.5%"), accept_setting("50"), accept_setting("main=40,short=10")
    ((0.125, None), (None, '50'), (None, 'main=40,short=10'))
    """
    if text is None:
        return None, None
    share = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]+)?) ?%", text.strip())
    if share is not None and 0.0 < float(share[1]) < 100.0:
        return round(float(share[1]) / 100.0, 12), None
    try:
        if share is not None or parse_paper_counts("`accept`", text) is None:
            raise InputError(text)
    except InputError:
        guess = re.fullmatch(r"0?\.([0-9]+)", text.strip())
        hint = f": for a share of the papers write {100 * float(text):g}%" if guess else ""
        raise InputError(
            "`accept` must be a share of the papers like 25%, a number like 50, or a number for each track "
            f"like main=40,short=10, found {text!r}{hint}"
        ) from None
    return None, text


def parse_grid(text: str | None) -> list[float] | None:
    """The scores that the `text` of `grid` names: a range of whole numbers, or a list.

    There are none of them for `none`, as any number can then be given; None for no text.
    """
    if text is None:
        return None
    if text == "none":
        return []
    ends = re.fullmatch(r"([+-]?[0-9]{1,15})(\.\.|-)([+-]?[0-9]{1,15})", text.replace(" ", ""))
    if ends is None:
        parts = text.replace(" ", "").split(",")
        if any(cell_problem(part, Column("grid", "number")) is not None for part in parts):
            raise InputError(f"`grid` must be like 1..10 or 1,3,5, or none, found {text!r}")
        if len({*map(float, parts)}) < 2:
            raise InputError(f"`grid` must have at least two different scores, found {text!r}")
        return list(map(float, parts))
    low, high = int(ends[1]), int(ends[3])
    if ends[2] == "-":
        raise InputError(f"`grid` must be like 1..10 or 1,3,5, or none, found {text!r}: write {low}..{high}")
    if high <= low:
        raise InputError(f"`grid` must go from the lowest score up to the highest, found {text!r}")
    if high - low + 1 > _LARGEST_GRID:
        raise InputError(f"`grid` must have at most {_LARGEST_GRID:,} scores, found {high - low + 1:,}")
    return [float(level) for level in range(low, high + 1)]


def grid_text(grid: Array | None) -> str:
    """The scores that can be given as the text of `grid`; `none` if any number can be one."""
    if grid is None:
        return "none"
    whole = bool((grid == np.floor(grid)).all()) and grid.size == grid[-1] - grid[0] + 1
    return f"{number_text(grid[0])}..{number_text(grid[-1])}" if whole else ",".join(map(number_text, grid))


def number_hint(text: str, *, percent: bool = False) -> str:
    """The number that a `text` probably means, after a colon; empty if there is nothing to guess.

    A decimal comma or a percent sign tells, or a number up to 100 if the setting is a `percent`.
    """
    if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", text) and not re.fullmatch(r"[+-]?[1-9][0-9]*,[0-9]{3}", text):
        return f": give {text.replace(',', '.')}"
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)( ?%)?", text)
    if match is None or not (match[2] or percent) or not 1 < float(match[1]) <= 100:
        return ""
    return f": for {match[1]} % give {number_text(round(float(match[1]) / 100, 12))}"


# --- The text of a new conference.toml: every setting with what it means, as `settings` declares it

_WIDTH = 100


_OPENING = """\
{name}: what `blindcal fit`, `plan`, `decide`, `verify`, `audit`, `report` and `export` read \
when they are given this folder.

Files are named relative to this folder. A line that starts with # does nothing: remove the # to use it.

Once papers are decided, they are frozen: what to accept, the guarantee with its limits, the scale with \
its grid and better end, who may see scores, and what goes out. With other values `decide` is refused. \
A list of another number of papers is what `export --accept` prints.

WHAT IS SECRET. inputs/ says who reviewed what: confidential. {out}/ is made to be sent on as it is, to \
everyone who may see the scores: if that is not everyone, scores must be "confidential" below. The key \
({key}) and its private log (the same name with .sealed) lie beside this folder, so that packing the folder \
does not pack them: with the key and the decisions, much of who reviewed what can be worked out.

WHO HOLDS THE KEY. The chair who decides, and at most one other person who may know all reviewers: a \
co-chair, or an auditor. Hand a copy over in person or encrypted, never by plain email, and always with the \
whole private log. Only one of them decides; the other brings the log up to date after each `decide`. \
Next year's chairs need neither: they need the reviews, for their own calibration, and make their own key.

HOW LONG. Keep key and log until no one will ask for a correction or a check any more; then delete both, \
with all backups. Keep inputs/ as long as your conference keeps reviews: they serve next year's calibration. \
Keep {out}/ forever. Deleted files can survive in snapshots and on flash memory: keep the key on an \
encrypted disk, so that destroying that disk's password deletes it.
"""

_NOTES = """
# ---- Papers that were withdrawn, desk rejected, deleted or decided already ----
# Left out by every command, whatever the tables say. If blindcal decided them, run `decide` with
# --amend --reason: the private log then says that they were withdrawn. One line for each:
[withdrawn]
# "17" = "by its authors, May 3"

# ---- Decisions overridden by hand ----
# `export` writes them in place of blindcal's and marks them as overridden. The certificate is about
# blindcal's decisions: what an override reveals is not in it. Advice takes none of them.
# One line for each:
[overridden]
# "23" = "accept: the committee found an error in a review"
"""


def conference_text(settings: Mapping[str, Value]) -> str:
    """The text of a new conference.toml; what is not set stands there as an example behind a `#`.

    `settings`: values by the names of settings; `conference`, `key` and `out` must be among them.
    """
    opening = _OPENING.format(name=settings["conference"], key=settings["key"], out=settings["out"])
    paragraphs = "\n#\n".join(_toml_comment(paragraph) for paragraph in opening.strip().split("\n\n"))
    sections = []
    for title, rows in SECTIONS.items():
        sections.append(f"\n# ---- {title} ----")
        for name, row in rows.items():
            # What is not set stands there as an example.
            mark = "" if name in settings else "# "
            line = f"{mark}{name} = {toml_value(settings.get(name, row.example))}"
            sections += [_toml_comment(row.sentence), line]
    return "\n".join([paragraphs, *sections, _NOTES])


def with_settings(text: str, settings: Mapping[str, Value | None]) -> str:
    """The `text` of a conference.toml with other `settings`; all else stays as it is.

    Lines whose value is None go behind a `#`. A line that is not there yet is added before the tables of
    papers.
    """
    entries = _toml_entries(text)
    end = next((at for at, entry in enumerate(entries) if entry.lstrip().startswith("[")), len(entries) - 1)
    for name, value in settings.items():
        pattern = re.compile(rf"\s*(# )?[\"']?{re.escape(name)}[\"']?\s*=")
        marks = [(at, match[1]) for at, entry in enumerate(entries[:end]) if (match := pattern.match(entry))]
        set_at = [at for at, mark in marks if not mark]
        if value is None:
            for at in set_at:
                entries[at] = f"# {entries[at]}".replace("\n", "\n# ")
        elif marks:
            entries[(set_at or [marks[0][0]])[0]] = f"{name} = {toml_value(value)}"
        else:
            entries.insert(end, f"{name} = {toml_value(value)}")
            end += 1
    return "\n".join(entries)


def _toml_entries(text: str) -> list[str]:
    """The lines of a conference.toml; a setting that spans several of them is one entry.

    >>> _toml_entries("past = [\\n  'a.csv',\\n]\\n# grid = 1\\n")
    ["past = [\\n  'a.csv',\\n]", '# grid = 1', '']
    """
    entries, entry = [], ""
    for line in text.split("\n"):
        entry = f"{entry}\n{line}" if entry else line
        try:
            tomllib.loads(f"{entry}\n")
        except tomllib.TOMLDecodeError:
            continue
        entries.append(entry)
        entry = ""
    return [*entries, entry] if entry else entries


def _toml_comment(text: str) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent="# ",
        subsequent_indent="# ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def toml_value(value: Value) -> str:
    """A value in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number_text(value)
    if isinstance(value, str):
        # JSON's texts are TOML's, but for one character that TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"[{', '.join(map(toml_value, value))}]"
