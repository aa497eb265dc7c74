"""`blindcal explain`: a certificate in plain language."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import Annotated

import typer

from blindcal.cli.completions import conference_folders
from blindcal.cli.console import Json, emit_json, say
from blindcal.report.explanation import explained, read_certificate

_WIDTH = 96


def explain(
    certificate: Annotated[
        Path,
        typer.Argument(
            help="certificate.json, or the folder that `blindcal decide` wrote, or a folder that "
            "`blindcal new` made: then that of its latest release.",
            autocompletion=conference_folders,
        ),
    ],
    as_json: Json = False,
) -> None:
    """Say in plain language what a certificate promises: a sentence for every number in it.

    Example: blindcal explain out/certificate.json
    """
    content = read_certificate(certificate)
    parts = explained(content)
    if as_json:
        emit_json({"certificate": certificate, "parts": parts, "assumptions": content["assumptions"]})
        return
    for part in parts:
        say(part.title)
        for line in part.lines:
            say(f"  {line.name}: {line.value}")
            say(_indented(line.sentence))
        say()
    say("On these assumptions")
    for one in content["assumptions"]:
        say(fill(one, _WIDTH, initial_indent="  * ", subsequent_indent="    "))


def _indented(text: str) -> str:
    return fill(text, _WIDTH, initial_indent="    ", subsequent_indent="    ")
