"""Options that several commands share: numbers, reviewers as text, workers, and what Tab completes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from blindcal.cells import Column, cell_problem, count
from blindcal.checks import open_interval_rule
from blindcal.compute.parallel import Workers, available_cores, connected
from blindcal.errors import InputError
from blindcal.project.settings import FILE, number_hint
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
    above, begun = os.path.split(incomplete)
    try:
        names = sorted(os.listdir(above or "."))
    except OSError:
        return []
    return [
        os.path.join(above, name)
        for name in names
        if name.startswith(begun) and os.path.lexists(Path(above or ".") / name / FILE)
    ]


def decimal(text: str | float) -> float:
    """One number, in the grammar of tables: the parser of an option (whose default is a number already)."""
    return _parsed(text, Column("value", "number"))


def whole(text: str | int) -> int:
    """One whole number: the parser of an option that counts something."""
    return int(_parsed(text, Column("value", "integer")))


def probability(text: str | float) -> float:
    """One number in [0, 1]: the parser of an option that is a chance or a share."""
    return _parsed(text, Column("value", "number", low=0.0, high=1.0))


def share(text: str | float) -> float:
    """One number in (0, 1): the parser of an option that is neither nothing nor all."""
    value = decimal(text)
    if not 0.0 < value < 1.0:
        raise typer.BadParameter(
            f"{text!r} {open_interval_rule(0.0, 1.0)}{number_hint(str(text), percent=True)}"
        )
    return value


def _parsed(text: str | float, column: Column) -> float:
    if not isinstance(text, str):
        return text
    problem = cell_problem(text, column)
    if problem is not None:
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


def by_option(message: str, names: Sequence[str]) -> str:
    """A message that starts with one of these names, with the option of that name in its place."""
    for name in names:
        if message.startswith(f"{name} "):
            return f"--{re.sub('[ _]', '-', name)}{message.removeprefix(name)}"
    return message


Processes = Annotated[
    int | None,
    numeric(whole, "Processes on this machine.  [default: all cores]", "--workers", default=...),
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
def hired(processes: int | None, cluster: str | None) -> Iterator[Workers]:
    """Who does the work, as `--workers` and `--cluster` say."""
    if processes is not None and cluster is not None:
        raise InputError("give one of --workers and --cluster")
    if cluster is None:
        number = available_cores() if processes is None else processes
        if number < 1:
            raise InputError(f"--workers must be at least 1, found {number}")
        yield number
        return
    with connected(cluster) as workers:
        yield workers


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
    float,
    numeric(decimal, "Standard deviation of the noise, for a reviewer given without one.", default=...),
]
Prior = Annotated[
    float,
    numeric(share, "Chance that reviewer 1 reviewed paper 1, before any score is seen.", default=...),
]


class _Kind(NamedTuple):
    make: Callable[..., Reviewer]
    parameters: tuple[str, ...]


_KINDS = {
    "affine": _Kind(Affine, ("slope", "offset")),
    "logistic": _Kind(Logistic, ("low", "high", "slope", "offset")),
    "power": _Kind(Power, ("exponent", "slope", "offset")),
}


def decimals(option: str, text: str) -> list[float]:
    """The numbers of a list separated by commas."""
    column = Column(option, "number")
    for part in text.split(","):
        problem = cell_problem(part, column)
        if problem is not None:
            raise InputError(f"{option} {text!r}: {part!r} {problem[0]}")
    return [float(part) for part in text.split(",")]


def reviewer_pair(texts: Sequence[str], noise: float) -> tuple[Reviewer, Reviewer]:
    """Reviewer 1 and reviewer 2 as given by `--reviewer`, twice."""
    if len(texts) != 2:
        raise InputError(f"--reviewer must be given twice, found {len(texts)}")
    first, second = (_reviewer(text, noise) for text in texts)
    return first, second


def _reviewer(text: str, noise: float) -> Reviewer:
    name, colon, rest = text.rpartition(":")
    name = name if colon else "affine"
    if name not in _KINDS:
        raise InputError(f"--reviewer {text!r}: the kind must be one of {', '.join(_KINDS)}, found {name!r}")
    kind, values = _KINDS[name], decimals("--reviewer", rest)
    parameters = len(kind.parameters)
    if len(values) not in (parameters, parameters + 1):
        form = ",".join(kind.parameters)
        raise InputError(f"--reviewer {text!r}: must be {form}[,noise], found {count(len(values), 'number')}")
    own = values[parameters] if len(values) > parameters else noise
    try:
        return kind.make(*values[:parameters], noise=own)
    except InputError as error:
        raise InputError(f"--reviewer {text!r}: {error}") from None
