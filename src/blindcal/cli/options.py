"""Options that commands share, and the conference's folder that they take: its releases, the next step.

Every command after `blindcal new` takes the folder, reads `conference.toml` in it, and asks only for what the
file cannot know. Readers of a release have no folder: `report` and `export` also take what was published.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from glob import escape, glob
from inspect import Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from blindcal.checks import open_interval_rule
from blindcal.cli.console import note, progress, quiet, say
from blindcal.compute.parallel import Workers, available_cores, connected
from blindcal.errors import InputError
from blindcal.io.cells import Column, cell_problem, count
from blindcal.project.folder import Work, interrupted_remarks, release_of
from blindcal.project.imports import decided, plan_refusals
from blindcal.project.settings import FILE, Folder, number_hint, read_folder
from blindcal.reviewers.affine import Affine
from blindcal.reviewers.base import Reviewer
from blindcal.reviewers.curves import Logistic, Power

# --- What a shell offers where someone presses Tab: folders of conferences, and words that an option takes.
#
# Where nothing is offered here, the shell offers files. Nothing is read but the names of folders.


def one_of(words: Iterable[str]) -> Callable[[str], list[str]]:
    """A function that completes to one of these words."""
    listed = list(words)

    def complete(incomplete: str) -> list[str]:
        return [word for word in listed if word.startswith(incomplete)]

    return complete


def conference_folders(incomplete: str) -> list[str]:
    """The folders that `blindcal new` made, beside or in the folder that is being typed."""
    return sorted(map(os.path.dirname, glob(f"{escape(incomplete)}*/{FILE}")))


def decimal(text: str | float) -> float:
    """One number, in the grammar of tables: the parser of an option (whose default is a number already)."""
    return _parsed_number(text, Column("value", "number"))


def whole(text: str | int) -> int:
    """One whole number: the parser of an option that counts something."""
    return int(_parsed_number(text, Column("value", "integer")))


def probability(text: str | float) -> float:
    """One number in [0, 1]: the parser of an option that is a chance or a share."""
    return _parsed_number(text, Column("value", "number", low=0.0, high=1.0))


def share(text: str | float) -> float:
    """One number in (0, 1): the parser of an option that is neither nothing nor all."""
    value = decimal(text)
    if not 0.0 < value < 1.0:
        raise typer.BadParameter(
            f"{text!r} {open_interval_rule(0.0, 1.0)}{number_hint(str(text), percent=True)}"
        )
    return value


def _parsed_number(text: str | float, column: Column) -> float:
    if not isinstance(text, str):
        return text
    if (problem := cell_problem(text, column)) is not None:
        raise typer.BadParameter(f"{text!r} {problem[0]}{number_hint(text, percent=column.high == 1.0)}")
    return float(text)


def option(help: str, *names: str, default: Any = None, **more: Any) -> Any:
    """An option: what its help says, its name unless the argument's, and Typer's other settings of it."""
    return typer.Option(default, *names, help=help, **more)


def flag(help: str, name: str) -> Any:
    """An option that is given or not."""
    return typer.Option(False, name, help=help)


def argument(help: str, default: Any = ..., **more: Any) -> Any:
    """An argument, which must be given if it has no default."""
    return typer.Argument(default, help=help, **more)


def numeric(parser: Callable[..., float], help: str, *names: str, default: Any = None) -> Any:
    """An option that takes a number which `parser` reads."""
    return typer.Option(default, *names, parser=parser, metavar="NUMBER", help=help)


def word(choices: Iterable[str], help: str, *names: str, default: Any = None, **more: Any) -> Any:
    """An option that takes one of a few words, which Tab completes."""
    return typer.Option(default, *names, help=help, autocompletion=one_of(choices), **more)


def options_of(make: Callable[..., object]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator: a command takes the options of `make` too, and what they make is its first argument."""
    shared = signature(make, eval_str=True).parameters

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        _, *own = signature(command, eval_str=True).parameters.values()

        def run(**given: object) -> None:
            made = make(**{name: given.pop(name) for name in shared})
            command(made, **given)

        # Typer reads these to know the options.
        options = [*own, *shared.values()]
        run.__doc__, run.__dict__["__signature__"] = command.__doc__, Signature(options)
        run.__annotations__ = {option.name: option.annotation for option in options}
        return run

    return decorate


Processes = Annotated[
    int | None, numeric(whole, "Processes on this machine.  [default: all cores]", "--workers", default=...)
]
ClusterAddress = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Dask scheduler whose workers compute instead: tls://host:port, with the certificates of Dask's "
        "configuration, or tcp://127.0.0.1:port.",
    ),
]


@contextmanager
def hired(processes: int | None, cluster: str | None) -> Iterator[Work]:
    """Who does the work, as `--workers` and `--cluster` say, while its progress is shown."""
    if processes is not None and cluster is not None:
        raise InputError("give one of --workers and --cluster")
    crew: AbstractContextManager[Workers]
    crew = nullcontext(number_of(processes)) if cluster is None else connected(cluster)
    with crew as workers:
        yield {"workers": workers, "progress": progress}


def number_of(processes: int | None) -> int:
    """How many processes `--workers` asks for; all cores unless given."""
    number = available_cores() if processes is None else processes
    if number < 1:
        raise InputError(f"--workers must be at least 1, found {number}")
    return number


PICTURE_FORMATS = ("svg", "png", "pdf")


Reviewers = Annotated[
    list[str],
    typer.Option(
        "--reviewer",
        metavar="REVIEWER",
        help="slope,offset[,noise], or logistic:low,high,slope,offset[,noise], or "
        "power:exponent,slope,offset[,noise]. Give it twice: reviewer 1, then reviewer 2.",
    ),
]
Noise = Annotated[
    float, numeric(decimal, "Standard deviation of the noise, for a reviewer given without one.", default=...)
]
Prior = Annotated[
    float, numeric(share, "Chance that reviewer 1 reviewed paper 1, before any score is seen.", default=...)
]


# What each kind of reviewer is made by, and from which parameters.
_KINDS: Mapping[str, tuple[Callable[..., Reviewer], str]] = {
    "affine": (Affine, "slope,offset"),
    "logistic": (Logistic, "low,high,slope,offset"),
    "power": (Power, "exponent,slope,offset"),
}


def decimals(option: str, text: str) -> list[float]:
    """The numbers of a list separated by commas."""
    for part in text.split(","):
        if (problem := cell_problem(part, Column(option, "number"))) is not None:
            raise InputError(f"{option} {text!r}: {part!r} {problem[0]}")
    return [float(part) for part in text.split(",")]


def two_numbers(option: str, text: str) -> tuple[float, float]:
    """The two numbers of a list separated by a comma."""
    values = decimals(option, text)
    if len(values) != 2:
        raise InputError(f"{option} {text!r}: must be two numbers, found {len(values)}")
    return values[0], values[1]


def reviewer_pair(texts: Sequence[str], noise: float) -> tuple[Reviewer, Reviewer]:
    """Reviewer 1 and reviewer 2 as given by `--reviewer`, twice."""
    if len(texts) != 2:
        raise InputError(f"--reviewer must be given twice, found {len(texts)}")
    first, second = (_reviewer_of(text, noise) for text in texts)
    return first, second


def _reviewer_of(text: str, noise: float) -> Reviewer:
    name, colon, rest = text.rpartition(":")
    name = name if colon else "affine"
    if name not in _KINDS:
        raise InputError(f"--reviewer {text!r}: the kind must be one of {', '.join(_KINDS)}, found {name!r}")
    (make, form), values = _KINDS[name], decimals("--reviewer", rest)
    parameters = len(form.split(","))
    if len(values) not in (parameters, parameters + 1):
        raise InputError(f"--reviewer {text!r}: must be {form}[,noise], found {count(len(values), 'number')}")
    own = values[parameters] if len(values) > parameters else noise
    try:
        return make(*values[:parameters], noise=own)
    except InputError as error:
        raise InputError(f"--reviewer {text!r}: {error}") from None


def folder_argument(help: str) -> Any:
    """An argument that is a conference's folder, which Tab completes."""
    return typer.Argument(metavar="FOLDER", help=help, autocompletion=conference_folders)


FolderPath = Annotated[Path, folder_argument("The conference's folder, which `blindcal new` made.")]
KeyFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The key, if it lies elsewhere than conference.toml says.")
]
Published = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FOLDER",
        help="A folder published earlier with this key, of one release or of all, to check the key and its "
        "private log against; repeatable.",
    ),
]
Misfit = Annotated[
    bool,
    typer.Option("--despite-misfit", help="Continue even if the calibration does not fit the scores at all."),
]
Leak = Annotated[
    bool, typer.Option("--yes-leak", help="Allow decisions to reveal reviewers, as the guarantee none does.")
]


AMEND = 'if something was corrected, blindcal decide {} --amend --reason "..."'


def opened_release(path: Path) -> tuple[Folder | None, Path]:
    """The conference's folder at `path`, if it is one, and the release that `path` stands for."""
    if not os.path.lexists(path / FILE):
        return None, path
    folder = read_folder(path)
    release = release_of(folder)
    note(*interrupted_remarks(folder))
    return folder, release


def say_next_step(path: Path, *, refit: bool = False, refused: bool | None = None) -> None:
    """Say which command comes next in a folder that was made, filled or fitted.

    `refit`: whether past reviews or the committee were just changed, and reviewers were not fitted again.
    `refused`: whether `plan` would refuse something; None if that is to be looked up and said.
    """
    if quiet():  # to find it, all files are read
        return
    folder = read_folder(path)
    settings = folder.settings
    if refused is None and folder.source == "past":
        refusals = plan_refusals(folder)
        note(*refusals)
        refused = bool(refusals)
    if "reviews" not in settings:
        step = f"blindcal import {path} FILE, once reviews are in"
    elif folder.source == "past" and (
        not os.path.lexists(folder.text("reviewers")) or (refit and folder.past)
    ):
        lacking = [kind for kind in ("committee", "past") if not settings.get(kind)]
        imports = [f"blindcal import {path} FILE --as {kind}" for kind in lacking]
        step = ", ".join(imports) or f"blindcal fit {path}"
    elif refused:
        step = f"correct this, then blindcal plan {path}, which says who is meant, in a file for you alone"
    elif decided(folder):
        step = AMEND.format(path)
    else:
        missing = [] if settings.get("scores") else ["scores"]
        missing += [] if {"accept-rate", "accept", "bar"} & settings.keys() else ["accept-rate or accept"]
        first = f"set {' and '.join(missing)} in {folder.file}, then " if missing else ""
        step = f"{first}blindcal plan {path}"
    say(f"next: {step}")
