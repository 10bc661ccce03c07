"""The command ``d2s``: one file per command, and one place that turns errors into exit status 2.

What can be typed is in ``commands``, which is quick to import; the files that do the work import
Paddle.  A ``D2SError`` is a message to the user on stderr, laid out on a terminal.  Anything else
that leaves a command is a defect of d2s, and keeps its traceback.
"""

from __future__ import annotations

import functools
import inspect
import io
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from d2s import __version__, config
from d2s.cli import commands
from d2s.cli.terminal.help import Command, Group
from d2s.cli.terminal.progress import INTERRUPTED
from d2s.errors import D2SError, PaddleVersionError

app = typer.Typer(
    name="d2s",
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: paragraphs are filled, and it can be piped
    pretty_exceptions_enable=False,  # a traceback is for a bug report: plain text, in full
)


def _command(
    name: str,
    function: Callable[..., None],
    summary: str,
    examples: Sequence[str],
    settings: dict[str, Any] | None = None,
) -> None:
    """Add a command.

    Args:
        name: what is typed.
        function: takes its options; its docstring is the help.
        summary: one whole sentence for the list of commands.
        examples: command lines, which the help ends with.
        settings: how its command line is read, where that is another way.
    """

    @functools.wraps(function)
    def run(**options: Any) -> None:
        if name != "doctor":  # which shows what is set
            os.environ.setdefault("GLOG_minloglevel", "2")
        try:
            function(**options)
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None

    text = f"{inspect.getdoc(function)}\n\n{_shown(examples)}"
    app.command(name, cls=Command, help=text, short_help=summary, context_settings=settings)(run)


def _shown(examples: Sequence[str]) -> str:
    """Command lines for a help text; the mark keeps their lines from being filled."""
    return "\n".join(["Examples:", "", "\b", *(f"  {line}" for line in examples)])


_command(
    "dump",
    commands.dump,
    "Show what d2s makes of a function.",
    [
        "d2s dump net.py:Net.forward --side-by-side",
        "d2s dump net.py:net --program --input-spec 'x:float32[None,8]'",
    ],
)
_command(
    "test",
    commands.compare,
    "Compare a function with dygraph on made-up inputs.",
    [
        "d2s test net.py:clip_mean --input-spec 'x:float32[None,8]'",
        "d2s test net.py:net --examples 200 --no-grad",
    ],
)
_command(
    "bench",
    commands.bench,
    "Time a function beside dygraph and Paddle.",
    [
        "d2s bench net.py:net --input 'x:float32[16,8]' --grad",
        "d2s bench train.py:step --input 'x:float32[16,8]' --step --json",
    ],
)
_command(
    "lint",
    commands.lint,
    "Find what a conversion will refuse, without running it.",
    [
        "d2s lint src",
        "d2s lint net.py --select D2S2 --format concise",
        "d2s lint src --format sarif -o lint.sarif",
    ],
)
_command(
    "explain",
    commands.explain,
    "Explain an error code, or what becomes of a function.",
    [
        "d2s explain D2S203",
        "d2s explain --list",
        "d2s explain net.py:net --input 'x:float32[8,64]'",
    ],
)
_command(
    "report",
    commands.report,
    "Explain, check and time a function, as text or a page.",
    [
        "d2s report net.py:net --input 'x:float32[8,64]'",
        "d2s report net.py:net --input 'x:float32[8,64]' --html net.html",
    ],
)
_command(
    "run",
    commands.run,
    "Run a program, each to_static in it served by d2s.",
    ["d2s run train.py --epochs 3", "d2s run --all-layers -m package.train"],
    settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
_command(
    "doctor",
    commands.doctor,
    "Say what is installed, set, and working here.",
    ["d2s doctor", "d2s doctor --json -o doctor.json"],
)
_command(
    "minimize",
    commands.minimize,
    "Cut a failing function down to a file to attach.",
    [
        "d2s minimize net.py:net -i 'x:float32[2,8]' -o smallest.py",
        "d2s minimize net.py:clip_mean --input-spec 'x:float32[None,8]' --code D2S204",
    ],
)
_command(
    "build",
    commands.build,
    "Convert a package ahead of time.",
    ["d2s build package -o dist", "d2s build net.py --without-source"],
)

_command(
    "cache",
    commands.cache,
    "Show or clear what is kept for later processes.",
    ["d2s cache info", "d2s cache clear"],
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"d2s {__version__}")
        raise typer.Exit


def _d2s(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Turn PaddlePaddle dygraph functions into static programs.

    Exit status: 0; 1 when a command found something; 2 after an error.
    """


app.callback(
    help=f"{inspect.getdoc(_d2s)}\n\n"
    + _shown(
        [
            "d2s dump net.py:Net.forward      what a function is rewritten to",
            "d2s explain D2S203               what an error means, and the cure",
        ]
    )
)(_d2s)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        args: The arguments; those of the process when None.

    Returns:
        2 after an error of d2s. Otherwise the exit status leaves as ``SystemExit``.

    Raises:
        D2SError: An error of d2s, with the option ``full_traceback``.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a character gets an escape
            stream.reconfigure(errors="backslashreplace")
    # Of Paddle's import: it is about extensions in C++, which nothing here builds.
    warnings.filterwarnings("ignore", message="No ccache found")
    try:
        app(args, prog_name="d2s")
    except D2SError as error:
        if config.get().full_traceback:
            raise
        return _failed(error)
    except ModuleNotFoundError as error:
        if error.name != "paddle" or config.get().full_traceback:
            raise
        return _failed(
            PaddleVersionError(
                "this command needs Paddle, which is not installed",
                cure="pip install 'd2s[cpu]', or paddlepaddle 3.x",
            )
        )
    return 0


def _failed(error: D2SError) -> int:
    from d2s.diagnostics import render

    render.show(error, sys.stderr)
    return 2
