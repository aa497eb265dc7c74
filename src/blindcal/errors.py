"""What can go wrong, and the exit code each kind has on the command line."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, order=True)
class Problem:
    """One thing wrong with an input: where it is, the rule it breaks, the value found.

    >>> print(Problem("reviews.csv", 7, "score", "must be a number", "'good'"))
    reviews.csv, row 7, column score: must be a number, found 'good'
    """

    file: str
    row: int | None
    column: str | None
    rule: str
    found: str | None = None

    def __str__(self) -> str:
        place = self.file
        if self.row is not None:
            place += f", row {self.row}"
        if self.column is not None:
            place += f", column {self.column}"
        return f"{place}: {self.rule}" + ("" if self.found is None else f", found {self.found}")


class BlindcalError(Exception):
    """Any failure that blindcal explains itself; `exit_code` is the command line's."""

    exit_code = 1


class InputError(BlindcalError, ValueError):
    """Bad input or an unachievable request; `problems` lists every one found in a file.

    `confidential` says what no message may: for each reviewer who is not in a paper's pool the paper, the
    reviewer, the cause and the nearest known name.
    """

    exit_code = 2

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)
        self.confidential: tuple[tuple[str, str, str, str], ...] = ()


class RefusedError(BlindcalError):
    """Refused because it would toss a coin again or overwrite a result."""

    exit_code = 3


class VerificationError(BlindcalError):
    """A record, commitment or certificate does not check out."""

    exit_code = 4


class CertificateError(BlindcalError):
    """A guarantee could not be certified for the table that would be sampled."""

    exit_code = 5


def unexpected(error: BaseException) -> str:
    """Where an unforeseen exception arose. Its own text may quote a reviewer id, so it is left out."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"internal error ({type(error).__name__}{place}); this is a bug in blindcal, please report it"
