"""All commands, one line each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from blindcal.cli.assess import assess
from blindcal.cli.assign import assign
from blindcal.cli.audit import audit
from blindcal.cli.average import average
from blindcal.cli.bench import bench
from blindcal.cli.calibrate import calibrate
from blindcal.cli.console import Once, say
from blindcal.cli.decide import decide
from blindcal.cli.demo import demo
from blindcal.cli.export import export
from blindcal.cli.fit import fit
from blindcal.cli.imports import import_
from blindcal.cli.new import new
from blindcal.cli.pair import pair
from blindcal.cli.paper import paper
from blindcal.cli.plan import plan
from blindcal.cli.report import report
from blindcal.cli.select import select
from blindcal.cli.serving import serve
from blindcal.cli.share import share
from blindcal.cli.simulate import simulate
from blindcal.cli.venue import audit_venue
from blindcal.cli.verify import verify
from blindcal.cli.versions import version_text

_FIRST = "To look around"
_BEFORE = "Chair, when papers are assigned"
_DECIDING = "Chair, once reviews are in"
_DECIDED = "Chair, once papers are decided"
_BETWEEN = "Chair, between conferences"
_CHECKING = "Auditor, with the key"
_OPENLY = "Calibration without privacy, for chairs only"
_RESEARCH = "Research"


class Grouped(TyperGroup):
    """The help of all commands, by who uses them and when."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, self.commands))
        panels = dict[str, list[tuple[str, str]]]()
        for name, command in self.commands.items():
            line = command.get_short_help_str(formatter.width - 6 - width)
            panels.setdefault(getattr(command, "rich_help_panel", ""), []).append((name.ljust(width), line))
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)


app = typer.Typer(
    name="blindcal",
    cls=Grouped,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "terminal_width": 100},
)


def _version(asked: bool) -> None:
    if asked:
        say(version_text())
        raise typer.Exit


@app.callback()
def blindcal(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Print what a bug report should say, versions first, and exit.",
        ),
    ] = False,
) -> None:
    """Private calibration of peer review.

    Better decisions from miscalibrated reviewers, with a certificate of what the decisions reveal about who
    wrote which review.
    """
    if context.invoked_subcommand is None:
        say(context.get_help())


# One line a command, in the order of the help: _command("name", module.function, who and when).
# Modules of commands import what only they need (matplotlib, dask) inside their functions.
def _command(name: str, function: Callable[..., None], panel: str) -> None:
    app.command(name, cls=Once, rich_help_panel=panel)(function)


_command("demo", demo, _FIRST)
_command("app", serve, _FIRST)
_command("assign", assign, _BEFORE)
_command("new", new, _DECIDING)
_command("import", import_, _DECIDING)
_command("fit", fit, _DECIDING)
_command("plan", plan, _DECIDING)
_command("decide", decide, _DECIDING)
_command("report", report, _DECIDED)
_command("export", export, _DECIDED)
_command("select", select, _DECIDED)
_command("audit", audit, _DECIDED)
_command("audit-venue", audit_venue, _DECIDED)
_command("share", share, _BETWEEN)
_command("verify", verify, _CHECKING)
_command("assess", assess, _OPENLY)
_command("calibrate", calibrate, _OPENLY)
_command("pair", pair, _RESEARCH)
_command("average", average, _RESEARCH)
_command("simulate", simulate, _RESEARCH)
_command("paper", paper, _RESEARCH)
_command("bench", bench, _RESEARCH)
