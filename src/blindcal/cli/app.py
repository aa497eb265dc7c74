"""All commands: a name, a summary, and the function behind it, which is imported when the command is used.

`blindcal --help`, `--version` and the completion of a command's name import no command, because NumPy, SciPy
and the package take most of a second to load. A command that works on a folder loads most of the package.
"""

from __future__ import annotations

import platform
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from blindcal import __version__
from blindcal.cli.console import Once, say
from blindcal.cli.startup import raise_interrupts

# --- What a bug report should say: the versions of blindcal and of the packages that it computes with

_CORE = ("numpy", "scipy", "highspy")
_OPTIONAL = ("typer", "rich", "joblib", "jinja2", "dask", "distributed", "matplotlib", "opendp")


def version_text() -> str:
    """The version on the first line, then the versions on which decisions and errors may depend.

    No package is imported for it. Certificates and the private log state their own formats.
    """
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    python = f"{platform.python_implementation()} {platform.python_version()} on {system}"
    packages = [", ".join(f"{name} {_installed(name)}" for name in names) for names in (_CORE, _OPTIONAL)]
    return "\n".join([f"blindcal {__version__}", python, *packages])


def _installed(name: str) -> str:
    metadata = import_module("importlib.metadata")
    try:
        return str(metadata.version(name))
    except metadata.PackageNotFoundError:
        return "not installed"


# By who uses them and when, in the order of the help: a command's module and function, and its summary.
COMMANDS = {
    "To look around": {
        "demo": ("demo:demo", "Run every step on a simulated conference of 200 papers."),
        "app": ("serve:serve", "Run a whole conference in a browser, or play with one pair of papers."),
    },
    "Chair, before reviews are in": {
        "new": ("imports:new", "Make a conference's folder and its key, with or without reviews."),
        "pools": ("pools:pools", "Write down who may have reviewed each paper, from bids or similarities."),
    },
    "Chair, once reviews are in": {
        "import": ("imports:import_", "Bring reviews, past years, candidates or conflicts into a folder."),
        "fit": ("fit:fit", "Estimate each reviewer's slope, offset and noise from past reviews."),
        "plan": ("plan:plan", "Show what each guarantee would cost, without deciding anything."),
        "decide": ("decide:decide", "Decide every paper privately, once, with a certificate."),
    },
    "Chair, once papers are decided": {
        "report": ("report:report", "Explain a release and its certificate, on a page or as text."),
        "export": ("report:export", "Write decisions, or a list of another number, for a system or a table."),
        "audit": ("audit:audit", "Play adversaries against published decisions, and say what they gain."),
    },
    "Chair, between conferences": {
        "share": ("fit:share", "Give another conference noisy sums about reviewers.")
    },
    "Auditor, with the key": {"verify": ("audit:verify", "Check that a release is what it says.")},
    "Calibration without privacy, for chairs only": {
        "assess": (
            "calibrate:assess",
            "Estimate how much reviewers differ, and what calibration would change.",
        ),
        "calibrate": ("calibrate:calibrate", "Calibrate the scores of one conference."),
    },
}
RESEARCH = {
    "Commands": {
        "pair": (
            "research:pair",
            "Show the belief, the frontier and a policy for two papers and two reviewers.",
        ),
        "average": ("research:average", "Show the errors of two papers, averaged over all possible scores."),
        "paper": (
            "paper:paper",
            "List what the paper has, answer in its letters, and draw its figures again.",
        ),
    }
}


class Panels(TyperGroup):
    """A group whose help lists commands by who uses them and when."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, self.commands))
        panels = dict[str, list[tuple[str, str]]]()
        for name, command in self.commands.items():
            row = name.ljust(width), command.get_short_help_str()
            panels.setdefault(getattr(command, "rich_help_panel", ""), []).append(row)
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)


class Deferred(TyperCommand):
    """A command that is a name and a summary until it is used; its callback imports the real one.

    Typer asks a command for a context to run it, to print its help or to complete its options, and from then
    on asks the context for the command.
    """

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        load: Any = self.callback
        return load().make_context(info_name, args, parent=parent, **extra)


def _group(name: str, commands: dict[str, dict[str, tuple[str, str]]], **settings: Any) -> typer.Typer:
    group = typer.Typer(
        name=name,
        cls=Panels,
        invoke_without_command=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        **settings,
    )
    for panel, entries in commands.items():
        for command, (target, summary) in entries.items():
            register = group.command(command, cls=Deferred, short_help=summary, rich_help_panel=panel)
            register(_loader(command, *target.split(":")))
    return group


def _loader(name: str, module: str, function: str) -> Any:

    def load() -> Any:
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(name, cls=Once)(getattr(import_module(f"blindcal.cli.{module}"), function))
        command = typer.main.get_command(alone)
        raise_interrupts()
        return command

    return load


_CONTEXT = {"help_option_names": ["-h", "--help"], "terminal_width": 100}
app = _group("blindcal", COMMANDS, context_settings=_CONTEXT)
research = _group("research", RESEARCH)
app.add_typer(
    research,
    short_help="Experiment with mechanisms, simulated conferences and the paper's results.",
    rich_help_panel="Research",
)


def _print_version(requested: bool) -> None:
    if requested:
        say(version_text())
        raise typer.Exit


@app.callback()
def blindcal(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print what a bug report should say, versions first, and exit.",
        ),
    ] = False,
) -> None:
    """Private calibration of peer review.

    Better decisions from miscalibrated reviewers, with a certificate of what the decisions reveal about who
    wrote which review.
    """
    _print_help(context)


@research.callback()
def experiment(context: typer.Context) -> None:
    """Experiment with mechanisms, simulated conferences and the paper's results.

    Example: blindcal research pair --reviewer 1.2,0.3 --reviewer 0.8,-0.3 --noise 0.5 --scores 0.9,0.4
    """
    _print_help(context)


def _print_help(context: typer.Context) -> None:
    """Print a group's help if it was called without a command."""
    if context.invoked_subcommand is None:
        say(context.get_help())
