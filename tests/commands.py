"""One command run in this process."""

from __future__ import annotations

import contextlib
import io

from blindcal.cli import run


def call(*arguments: str) -> tuple[int, str, str]:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = run(arguments)
    return code, out.getvalue(), err.getvalue()
