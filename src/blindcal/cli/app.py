"""All commands, one line each."""

from __future__ import annotations

from typing import Annotated

import typer

from blindcal.cli.assess import assess
from blindcal.cli.assign import assign
from blindcal.cli.audit import audit
from blindcal.cli.average import average
from blindcal.cli.bench import bench
from blindcal.cli.calibrate import calibrate
from blindcal.cli.check import check
from blindcal.cli.console import Once, say
from blindcal.cli.decide import decide
from blindcal.cli.demo import demo
from blindcal.cli.explain import explain
from blindcal.cli.export import export
from blindcal.cli.fit import fit
from blindcal.cli.folders import InFolder
from blindcal.cli.imports import import_
from blindcal.cli.key import key
from blindcal.cli.new import new
from blindcal.cli.pair import pair
from blindcal.cli.paper import paper
from blindcal.cli.plan import plan
from blindcal.cli.pools import pools
from blindcal.cli.report import report
from blindcal.cli.select import select
from blindcal.cli.share import share
from blindcal.cli.simulate import simulate
from blindcal.cli.verify import verify
from blindcal.cli.versions import version_text

app = typer.Typer(
    name="blindcal",
    add_completion=False,
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


# One line a command, in the order of the help: app.command("name", cls=Once)(module.function); InFolder where
# the first argument may be a folder that `blindcal new` made.
# Modules of commands import what only they need (matplotlib, dask) inside their functions.
app.command("new", cls=Once)(new)
app.command("import", cls=Once)(import_)
app.command("assign", cls=Once)(assign)
app.command("pools", cls=Once)(pools)
app.command("check", cls=InFolder)(check)
app.command("pair", cls=Once)(pair)
app.command("average", cls=Once)(average)
app.command("calibrate", cls=Once)(calibrate)
app.command("assess", cls=Once)(assess)
app.command("simulate", cls=Once)(simulate)
app.command("fit", cls=InFolder)(fit)
app.command("key", cls=Once)(key)
app.command("share", cls=Once)(share)
app.command("plan", cls=InFolder)(plan)
app.command("decide", cls=InFolder)(decide)
app.command("select", cls=Once)(select)
app.command("verify", cls=InFolder)(verify)
app.command("audit", cls=InFolder)(audit)
app.command("report", cls=InFolder)(report)
app.command("explain", cls=Once)(explain)
app.command("export", cls=InFolder)(export)
app.command("paper", cls=Once)(paper)
app.command("bench", cls=Once)(bench)
app.command("demo", cls=Once)(demo)
