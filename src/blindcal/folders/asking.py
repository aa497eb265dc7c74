"""Settings as text -> what the library takes: a guarantee, numbers of papers, a grid, a whole request.

A conference's folder and the command line say them in the same words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from blindcal.beliefs.inputs import Inputs, read_inputs
from blindcal.cells import Column, cell_problem, number_text
from blindcal.errors import InputError
from blindcal.folders.settings import FILE, Folder, Setting
from blindcal.plans.requests import Request, known_readers
from blindcal.policies.guarantees import Guarantee

_LARGEST_GRID = 1001
# The limit that is set where none is given, and the guarantees that it does not touch.
_EPSILON = "2"
_UNLIMITED = ("none", "public")
_LIMITS = ("guarantee", "added success", "epsilon", "multiplier", "posterior cap", "never-against")


@dataclass(frozen=True)
class Asked:
    """What a folder's settings add up to.

    `request`: the guarantee, how many papers, and which end of the scale is better.
    `grid`: the scores that reviewers can give, none of them if any number can be one; None: as they show.
    `files`: where reviews, calibration and pools are, in this order; the last may be `everyone`.
    `withdrawn`: the papers that are left out.
    `key`: the file of the key.
    `out`: the public folder.
    `numbered`: whether each release has a folder of its own there.
    `distinct_papers`: whether papers that look like one under several ids are said to be different.
    """

    request: Request
    grid: list[float] | None
    files: tuple[str, str, str]
    withdrawn: tuple[str, ...]
    key: Path
    out: Path
    numbered: bool
    distinct_papers: bool

    def inputs(self) -> Inputs:
        """Reviews, calibration and pools. CONFIDENTIAL."""
        return read_inputs(*self.files, grid=self.grid, withdrawn=self.withdrawn)


def asked(folder: Folder, *, yes_leak: bool = False) -> Asked:
    """What the commands would do with this folder, or an `InputError` where its settings do not say it.

    `folder` is what `read_folder` returns. `yes_leak` is the consent of a chair whose guarantee is `none`,
    which is refused without it.

    >>> names = ("reviews", "reviewers", "pools", "key", "out")
    >>> settings = {name: name for name in names} | {"accept-rate": "0.25", "grid": "1..3"}
    >>> settings["scores"] = "public"
    >>> found = asked(Folder(Path("icx2027"), settings, {"17": "by its authors"}, {}))
    >>> found.request.guarantee.epsilon, found.request.accept_rate, found.grid, found.withdrawn
    (2.0, 0.25, [1.0, 2.0, 3.0], ('17',))
    """
    settings = folder.settings

    def number(name: str) -> float | None:
        text = settings.get(name)
        return None if text is None else float(str(text))

    def text(name: str) -> str | None:
        value = settings.get(name)
        return None if value is None else str(value)

    guarantee = guarantee_of(
        text("guarantee") or "steady",
        number("added-success") or 0.0,
        text("epsilon"),
        number("multiplier"),
        number("posterior-cap"),
        number("never-against"),
        yes_leak,
    )
    request = Request(
        guarantee,
        text("conference") or "conference",
        number("accept-rate"),
        number("bar"),
        text("better") or "high",
        papers("`accept`", text("accept")),
        papers("`wait_list`", text("wait-list")) or 0,
    ).checked()
    reviews, reviewers, pools, key, out = (
        str(_set(folder, name)) for name in ("reviews", "reviewers", "pools", "key", "out")
    )
    withdrawn, files = tuple(folder.withdrawn), (reviews, reviewers, pools)
    request = replace(request, scores=readers_of(folder))
    flags = (settings.get(name) is True for name in ("numbered", "distinct-papers"))
    return Asked(request, levels(text("grid")), files, withdrawn, Path(key), Path(out), *flags)


def readers_of(folder: Folder) -> str:
    """Who may see the scores, as a folder says: `public` or `confidential`; it must say so."""
    try:
        return known_readers(str(folder.settings.get("scores", "")))
    except InputError as error:
        raise InputError(f"{folder.path / FILE}: {error}") from None


def _set(folder: Folder, name: str) -> Setting:
    if not folder.settings.get(name):
        raise InputError(f"{folder.path / FILE}: must set {name}")
    return folder.settings[name]


def guarantee_of(
    name: str,
    added_success: float,
    epsilon: str | None,
    multiplier: float | None,
    posterior_cap: float | None,
    never_against: float | None,
    yes_leak: bool,
) -> Guarantee:
    """The guarantee that these settings request.

    `name`: `steady`, `public`, `average` or `none`.
    `epsilon`: as text, a number or `none`; None sets 2 where the guarantee takes a limit.
    `added_success`, `multiplier`, `posterior_cap`, `never_against`: the fields of `Guarantee`.
    `yes_leak`: the consent that `none` needs.

    >>> guarantee_of("steady", 0.0, None, None, None, None, False).epsilon
    2.0
    """
    if name == "none" and not yes_leak:
        raise InputError(
            "`guarantee` none lets every decision reveal who reviewed the paper: it needs `yes_leak`"
        )
    if name in _UNLIMITED and epsilon not in (None, "none"):
        raise InputError(f"`epsilon` has no effect with `guarantee` {name}: leave it out")
    limit = None if epsilon == "none" or name in _UNLIMITED else _number("`epsilon`", epsilon or _EPSILON)
    try:
        return Guarantee(name, added_success, limit, multiplier, posterior_cap, never_against)
    except InputError as error:
        raise InputError(_quoted(str(error))) from None


def _quoted(message: str) -> str:
    """A message about a limit, with its name as that of a setting.

    >>> _quoted("added success must lie in [0, 1]")
    '`added_success` must lie in [0, 1]'
    """
    name = next((name for name in _LIMITS if message.startswith(f"{name} ")), None)
    if name is None:
        return message
    return f"`{re.sub('[ -]', '_', name)}`{message.removeprefix(name)}"


def _number(option: str, text: str) -> float:
    if cell_problem(text, Column(option, "number")) is not None:
        raise InputError(f"{option} must be a number or none, found {text!r}{meant(text)}")
    return float(text)


def papers(option: str, text: str | None) -> int | dict[str, int] | None:
    """The number of papers that the `text` of an `option` gives, or one for each track; None for no text.

    >>> papers("`accept`", "50"), papers("`accept`", "main=40, short=10")
    (50, {'main': 40, 'short': 10})
    """
    if text is None:
        return None
    if "=" not in text:
        return _papers(option, text, text)
    pairs = [part.rpartition("=") for part in text.split(",")]
    names = [name.strip() for name, _, _ in pairs]
    if len(set(names)) < len(names) or not all(names):
        raise InputError(f"{option} must name each track once, like main=40,short=10, found {text!r}")
    return {name: _papers(option, number, text) for name, (_, _, number) in zip(names, pairs, strict=True)}


def _papers(option: str, number: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", number.strip()):
        share = re.fullmatch(r"0?\.[0-9]+|[0-9.]+ ?%", text) is not None
        raise InputError(
            f"{option} must be a whole number of papers, or one for each track (main=40,short=10), found "
            f"{text!r}" + ": for a share of the papers give `accept_rate`" * share
        )
    return int(number)


def levels(text: str | None) -> list[float] | None:
    """The scores that the `text` of `grid` names, a range of whole numbers or a list, none of them for `none`
    (any number can be given); None for no text.

    >>> levels("1..4"), levels("1,3,5.5"), levels("none")
    ([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 5.5], [])
    """
    if text is None:
        return None
    if text == "none":
        return []
    ends = re.fullmatch(r"([+-]?[0-9]{1,15})(\.\.|-)([+-]?[0-9]{1,15})", text.replace(" ", ""))
    if ends is None:
        return _listed_levels(text)
    low, high = int(ends[1]), int(ends[3])
    if ends[2] == "-":
        raise InputError(f"`grid` must be like 1..10 or 1,3,5, or none, found {text!r}: write {low}..{high}")
    if high <= low:
        raise InputError(f"`grid` must go from the lowest score up to the highest, found {text!r}")
    if high - low + 1 > _LARGEST_GRID:
        raise InputError(f"`grid` must have at most {_LARGEST_GRID:,} scores, found {high - low + 1:,}")
    return [float(level) for level in range(low, high + 1)]


def _listed_levels(text: str) -> list[float]:
    parts = text.replace(" ", "").split(",")
    if any(cell_problem(part, Column("grid", "number")) is not None for part in parts):
        raise InputError(f"`grid` must be like 1..10 or 1,3,5, or none, found {text!r}")
    found = [float(part) for part in parts]
    if len({*found}) < 2:
        raise InputError(f"`grid` must have at least two different scores, found {text!r}")
    return found


def meant(text: str, *, percent: bool = False) -> str:
    """The number that was probably meant by a `text`, with a colon before it: by a decimal comma or a percent
    sign, or, where the option is a `percent`, by a number up to 100. Empty where there is nothing to guess.

    >>> meant("0,25"), meant("25%"), meant("25", percent=True)
    (': give 0.25', ': for 25 % give 0.25', ': for 25 % give 0.25')
    >>> meant("1,000"), meant("250", percent=True), meant("half")
    ('', '', '')
    """
    if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", text) and not re.fullmatch(r"[+-]?[1-9][0-9]*,[0-9]{3}", text):
        return f": give {text.replace(',', '.')}"
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)( ?%)?", text)
    if match is None or not (match[2] or percent) or not 1 < float(match[1]) <= 100:
        return ""
    return f": for {match[1]} % give {number_text(round(float(match[1]) / 100, 12))}"
