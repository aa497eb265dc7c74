"""What can go wrong, and the exit code each kind has on the command line."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, order=True)
class Problem:
    """One thing wrong with an input: where it is, the rule it breaks, the value found.

    `file`: its name as it was given, or `table` for columns in memory.
    `row`: as a spreadsheet numbers it, the header being row 1 (in memory from 0 on); None: the whole file.
    `column`: its name; None: the whole row.
    `rule`: what must hold, from its verb on ("must be a number").
    `found`: what is there instead, as text; None where there is nothing to add, or where it could reveal who
    wrote a review.

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
    """Bad input or an unachievable request.

    `message` is what a user reads, and `problems` lists every problem found in a file, one by one. The
    attribute `confidential` has what no message may say: for each reviewer who is not in a paper's pool, the
    paper, the reviewer, the cause and the nearest known name.

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
    """Refused because it would toss a coin again or overwrite a result."""

    exit_code = 3


class VerificationError(BlindcalError):
    """A record, commitment or certificate does not check out."""

    exit_code = 4


class CertificateError(BlindcalError):
    """A guarantee could not be certified for the table that would be sampled."""

    exit_code = 5


def unexpected(error: BaseException) -> str:
    """A line that says where the unforeseen `error` arose. Its own text may quote a reviewer id, and is left
    out.

    >>> unexpected(KeyError("ada"))
    'internal error (KeyError); this is a bug in blindcal, please report it'
    """
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"internal error ({type(error).__name__}{place}); this is a bug in blindcal, please report it"
