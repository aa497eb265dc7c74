"""What can go wrong, and the exit code of each kind on the command line."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["BlindcalError", "CertificateError", "InputError", "Problem", "RefusedError", "VerificationError"]


@dataclass(frozen=True, order=True)
class Problem:
    """One thing wrong with an input: where it is, the rule it breaks, the value there.

    Attributes:
        file: Its name as it was given, or `table` for columns in memory.
        row: As a spreadsheet numbers it, the header being row 1 (in memory from 0 on); None: the whole file.
        column: Its name; None: the whole row.
        rule: What must hold, from its verb on ("must be a number").
        found: The value there, as text; None if there is nothing to add, or if it could reveal who wrote a
            review.

    Example:
        >>> print(Problem("reviews.csv", 7, "score", "must be a number", "'good'"))
        reviews.csv, row 7, column score: must be a number, found 'good'
    """

    file: str
    row: int | None
    column: str | None
    rule: str
    found: str | None = None

    def __str__(self) -> str:
        location = self.file
        if self.row is not None:
            location += f", row {self.row}"
        if self.column is not None:
            location += f", column {self.column}"
        return f"{location}: {self.rule}" + ("" if self.found is None else f", found {self.found}")


class BlindcalError(Exception):
    """Any failure that blindcal explains itself; `exit_code` is the command line's."""

    exit_code = 1


class InputError(BlindcalError, ValueError):
    """Bad input or an unachievable request.

    The attribute `confidential` has what no message may say: for each reviewer who is not in a paper's pool,
    the paper, the reviewer, the cause and the nearest known name.

    Args:
        message: What a user reads.
        problems: Every problem in a file, one by one.

    Example:
        >>> rule = Problem("reviews.csv", 7, "score", "must be a number")
        >>> InputError(str(rule), [rule]).problems[0].row
        7
    """

    exit_code = 2

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)
        self.confidential: tuple[tuple[str, str, str, str], ...] = ()


class RefusedError(BlindcalError):
    """Refused because it would draw a decision's coin again or overwrite a result."""

    exit_code = 3


class VerificationError(BlindcalError):
    """A record, commitment or certificate does not check out."""

    exit_code = 4


class CertificateError(BlindcalError):
    """A guarantee could not be certified for the table that would be sampled."""

    exit_code = 5


def unexpected(error: BaseException) -> str:
    """A line that says where an unforeseen error arose, without the error's own text.

    That text may quote a reviewer's id.

    Args:
        error: The exception.

    Example:
        >>> unexpected(KeyError("ada"))
        'internal error (KeyError); this is a bug in blindcal, please report it'
    """
    frames = traceback.extract_tb(error.__traceback__)
    location = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"internal error ({type(error).__name__}{location}); this is a bug in blindcal, please report it"


def __dir__() -> list[str]:
    return sorted(__all__)
