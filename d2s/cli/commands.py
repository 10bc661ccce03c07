"""What can be typed after ``d2s``: the commands, their options and their help.

Each imports what does its work when it is called: most of that imports Paddle, which takes seconds,
and help is wanted at once.
"""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from d2s import config
from d2s.cli.options import AsJson, CallInputs, InputSpecs, LogJson, Output, Target
from d2s.cli.terminal.files import check
from d2s.cli.terminal.progress import working

_LOADING: Final = "loading Paddle"


def _log(as_json: bool) -> None:
    """Let what d2s does be told in JSON, here and in the processes that are started from here."""
    if not as_json:
        return
    os.environ["D2S_LOG_JSON"] = "1"
    os.environ.setdefault("D2S_LOG", "all")
    config.set_default(log=os.environ["D2S_LOG"], log_json=True)


def dump(
    target: Target,
    side_by_side: Annotated[
        bool, typer.Option("--side-by-side", help="The original left, the generated code right.")
    ] = False,
    passes: Annotated[
        bool, typer.Option("--passes", help="What each pass changed, as diffs.")
    ] = False,
    program: Annotated[
        bool, typer.Option("--program", help="The captured Paddle program; see --input-spec.")
    ] = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="The text that runs, each call as it is made.")
    ] = False,
    input_spec: InputSpecs = None,
    inputs: CallInputs = None,
    source_map: Annotated[
        Path | None,
        typer.Option(
            "--source-map",
            metavar="FILE",
            help="Write a Source Map v3 there; the text is then the generated code alone.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    output: Output = None,
    log_json: LogJson = False,
) -> None:
    """Show what d2s makes of a function.

    Without options: the generated code, with its own line numbers and those of the original. The
    file or module is imported, and nothing is called (with --program, the function is captured;
    with --input it is called, and shown as the several programs that it is, if it is).
    Calls and operators are plain where they stayed what they were; --exact shows what runs.
    """
    _log(log_json)
    check(output, source_map, reads=[target])
    with working(_LOADING):
        from d2s.cli import dump as work
    work.dump(
        target,
        side_by_side=side_by_side,
        passes=passes,
        program=program,
        exact=exact,
        input_spec=input_spec or (),
        inputs=inputs or (),
        source_map=source_map,
        as_json=as_json,
        output=output,
    )


def bench(
    target: Target,
    inputs: CallInputs = None,
    grad: Annotated[
        bool, typer.Option("--grad", help="Time forward and backward, with gradients of inputs.")
    ] = False,
    step: Annotated[
        bool, typer.Option("--step", help="The function is a whole training step: call it so.")
    ] = False,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of each peer.")] = 15,
    limit: Annotated[
        float, typer.Option(min=1, help="Seconds before a peer that does not answer fails.")
    ] = 60.0,
    as_json: AsJson = False,
    output: Output = None,
    log_json: LogJson = False,
) -> None:
    """Time a function in dygraph, by Paddle's own converters, and by d2s.

    Each runs in a process of its own, in interleaved rounds; a result that is not dygraph's is
    reported, not timed. Exit status: 0, 1 when d2s is not among those that were timed, 2 after an
    error.
    """
    _log(log_json)
    check(output, reads=[target])
    with working(_LOADING):
        from d2s.cli import bench as work
    work.bench(
        target,
        inputs=inputs or (),
        grad=grad,
        step=step,
        rounds=rounds,
        limit=limit,
        as_json=as_json,
        output=output,
    )


def compare(
    target: Target,
    examples: Annotated[int, typer.Option(min=1, help="How many groups of calls to try.")] = 50,
    seed: Annotated[int, typer.Option(help="What all inputs depend on.")] = 0,
    grad: Annotated[bool, typer.Option(help="Compare gradients too.")] = True,
    input_spec: InputSpecs = None,
    rtol: Annotated[
        float | None, typer.Option(help="Relative tolerance.", show_default="by dtype")
    ] = None,
    atol: Annotated[
        float | None, typer.Option(help="Absolute tolerance.", show_default="by dtype")
    ] = None,
    as_json: AsJson = False,
    log_json: LogJson = False,
) -> None:
    """Run a function in dygraph and as a program on made-up inputs, and compare.

    Inputs are made from --input-spec, the InputSpec of a converted function, or annotations. Exit
    status: 0 when the program does what dygraph does, 1 when it differs, 2 after an error, such as
    a refusal.
    """
    _log(log_json)
    with working(_LOADING):
        from d2s.cli import test as work
    work.compare(
        target,
        examples=examples,
        seed=seed,
        grad=grad,
        input_spec=input_spec or (),
        rtol=rtol,
        atol=atol,
        as_json=as_json,
    )


def _codes(incomplete: str) -> list[tuple[str, str]]:
    """The codes that begin so, each with its title, for the shell."""
    from d2s.diagnostics.catalogue import codes, entry

    return [(code, entry(code).title) for code in codes() if code.startswith(incomplete.upper())]


def cache(
    action: Annotated[str, typer.Argument(metavar="info|clear", help="What to do.")] = "info",
    as_json: AsJson = False,
) -> None:
    """Say what is kept of conversions for later processes, or remove it.

    The folder is d2s in the user's folder of caches, or what D2S_CACHE_DIR names; with 0 nothing
    is kept. What is removed is made again when it is needed.
    """
    from d2s import disk_cache

    if action not in ("info", "clear"):
        raise typer.BadParameter(f"info or clear, not {action!r}", param_hint="info|clear")
    found = disk_cache.info() if action == "info" else {"removed": disk_cache.clear()}
    lines = "\n".join(f"{name}: {value}" for name, value in found.items())
    typer.echo(json.dumps(found) if as_json else lines)


def explain(
    code: Annotated[
        str | None,
        typer.Argument(
            metavar="CODE|TARGET",
            help="A code such as D2S204 (d2s204 and 204 are understood), or the name of an error; "
            "or FILE.py:NAME or module:NAME.",
            show_default=False,
            autocompletion=_codes,
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="All codes with their titles.")] = False,
    inputs: CallInputs = None,
    as_json: AsJson = False,
    output: Output = None,
    log_json: LogJson = False,
) -> None:
    """Explain the code of an error message, or what becomes of a function, line by line.

    Of a code: cause, example, cure; nothing of yours is imported, and no Paddle needed. Of a
    function: what became of each line and why, its programs, and what costs; with --input it is
    called, and everything is as it was afterwards. Exit status: 0, 1 when the function is refused,
    2 after an error.
    """
    _log(log_json)
    if code is not None and (":" in code or code.endswith(".py")):
        if list_:
            raise typer.BadParameter("choose one of TARGET and --list")
        check(output, reads=[code])
        with working(_LOADING):
            from d2s.cli import report as facts
            from d2s.debug.explain import explain as facts_of
        facts.show(
            code, inputs=inputs or (), html=None, as_json=as_json, output=output, work=facts_of
        )
        return
    if inputs:
        raise typer.BadParameter("--input is for a TARGET")
    check(output)
    from d2s.cli import explain as work

    work.explain(code, list_=list_, as_json=as_json, output=output)


def report(
    target: Target,
    inputs: CallInputs = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="FILE", help="Write a page that needs no network.", show_default=False
        ),
    ] = None,
    profile: Annotated[
        bool, typer.Option("--profile", help="Measure each line's share of the programs' time.")
    ] = False,
    as_json: AsJson = False,
    output: Output = None,
    log_json: LogJson = False,
) -> None:
    """Say what becomes of a function, line by line, check it, and time it beside dygraph.

    Everything that explain says of a function, the self-check and times; as text, or as one page
    with the original and the generated code side by side and the control flow of each program. The
    function is called with what --input says; everything is as it was afterwards. Exit status: 0, 1
    when it is refused or differs from dygraph, 2 after an error.
    """
    _log(log_json)
    if profile and not inputs:
        raise typer.BadParameter("--profile measures a call: say with --input what it is given")
    check(output, html, reads=[target])
    with working(_LOADING):
        from d2s.cli import report as facts
        from d2s.debug.explain import report as work
    facts.show(
        target,
        inputs=inputs or (),
        html=html,
        as_json=as_json,
        output=output,
        work=partial(work, profile=profile),
    )


def lint(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH...", help="Files or folders.", show_default="."),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(metavar="CODES", help="Only these, or what begins so: D2S205,D2S7."),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="CODES", help="All but these, or what begins so.")
    ] = None,
    converter: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name of yours that stands for to_static."),
    ] = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Rewrite where the meaning is certain to stay.")
    ] = False,
    format_: Annotated[
        str, typer.Option("--format", help="text, concise, json, github or sarif.")
    ] = "text",
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Find in the text of your files what a conversion refuses, does once, or leaves behind.

    Looks at functions under to_static, at the forward of layers, and at what they call in the same
    file. Imports nothing of yours, and needs no Paddle. A comment "# d2s: ignore[D2S208]" on the
    line leaves a finding out; [tool.d2s.lint] of pyproject.toml has select, ignore, exclude and
    converters. Exit status: 0, 1 when something was found, 2 after an error.
    """
    check(output, reads=paths or ())
    from d2s.cli import lint as work

    work.lint(
        paths or [Path()],
        select=tuple(select or ()),
        ignore=tuple(ignore or ()),
        converters=tuple(converter or ()),
        fix=fix,
        form="json" if as_json else format_,
        output=output,
    )


def doctor(
    limit: Annotated[
        float, typer.Option(min=1, help="Seconds that trying everything may take.")
    ] = 300.0,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Say what is installed and set, and try what works here: a text for a bug report.

    Tries one small program of each kind in a process of its own, so that there is a report when
    Paddle is missing or crashes. Exit status: 0, 1 when something does not work, 2 after an error.
    """
    check(output)
    from d2s.cli import doctor as work

    work.doctor(limit=limit, as_json=as_json, output=output)


def run(
    program: Annotated[
        str,
        typer.Argument(
            metavar="PROGRAM",
            help="A file, or with -m a module; what stands behind it is its own.",
            show_default=False,
        ),
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ARGS]", help="Those of the program.", show_default=False),
    ] = None,
    module: Annotated[
        bool, typer.Option("-m", "--module", help="PROGRAM is a module, as with python -m.")
    ] = False,
    all_layers: Annotated[
        bool,
        typer.Option(
            "--all-layers", help="Convert each layer that is called from outside of layers."
        ),
    ] = False,
    beside_paddle: Annotated[
        bool,
        typer.Option(
            "--beside-paddle",
            help="Run it a second time, in a process of its own, with Paddle's own converter, and "
            "say what that took.",
        ),
    ] = False,
    as_json: AsJson = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the summary into this file.",
            show_default=False,
        ),
    ] = None,
    log_json: LogJson = False,
) -> None:
    """Run a program unchanged: each paddle.jit.to_static in it is that of d2s.

    At its end, a summary on stderr names the functions, the programs and the reason for each, what
    keeps a function from being one program, and the seconds of conversion, capture and runs. The
    exit status is that of the program.
    """
    _log(log_json)
    check(output, reads=() if module else [program])
    with working(_LOADING):
        from d2s.cli import run as work
    work.run(
        program,
        arguments or (),
        module=module,
        all_layers=all_layers,
        beside_paddle=beside_paddle,
        as_json=as_json,
        output=output,
    )


def minimize(
    target: Target,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            "-i",
            metavar="[NAME:]DTYPE[DIMS][=VALUE]",
            help="One argument, as for d2s bench: 'x:float32[8,64]', 'n=10'. Repeatable.",
            show_default=False,
        ),
    ] = None,
    input_spec: InputSpecs = None,
    symptom: Annotated[
        str | None,
        typer.Option(
            "--code",
            metavar="CODE",
            help="Look for this one: D2S204, or 'differs in result', 'hangs'.",
            show_default="whatever is wrong",
        ),
    ] = None,
    grad: Annotated[bool, typer.Option(help="Compare gradients too.")] = True,
    limit: Annotated[float, typer.Option(min=1, help="Seconds that one program may take.")] = 20.0,
    seconds: Annotated[float, typer.Option(min=1, help="How long to go on.")] = 600.0,
    examples: Annotated[int, typer.Option(min=1, help="How many made-up calls to try.")] = 50,
    seed: Annotated[int, typer.Option(help="What made-up calls depend on.")] = 0,
    as_json: AsJson = False,
    output: Output = None,
    log_json: LogJson = False,
) -> None:
    """Cut a failing or differing function down to a file to attach.

    The file of the function is made smaller as long as d2s fails with the same code, or differs
    from dygraph in the same way, and dygraph does what it did; the inputs, too. Each program runs
    in a process of its own: one that hangs or crashes can be made smaller as well. Without
    --input, inputs are made up as for d2s test. Ctrl-C ends it with the smallest so far. Exit
    status: 0, 1 when nothing is wrong with the function, 2 after an error.
    """
    _log(log_json)
    check(output, reads=[target])
    with working(_LOADING):
        from d2s.cli import minimize as work
        from d2s.testing.minimize import Wanted
    work.minimize(
        target,
        inputs=inputs or (),
        input_spec=input_spec or (),
        wanted=Wanted(work.code_of(symptom), grad, limit, seconds, examples, seed),
        as_json=as_json,
        output=output,
    )


def build(
    package: Annotated[
        str,
        typer.Argument(
            metavar="PKG",
            help="A package: its folder or name; or one file.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Write into this folder.")
    ] = Path("d2s-built"),
    without_source: Annotated[
        bool,
        typer.Option(
            "--without-source",
            help="Leave your text out: tracebacks have lines without text then, and functions "
            "that cannot be one program run in dygraph.",
        ),
    ] = False,
    as_json: AsJson = False,
    log_json: LogJson = False,
) -> None:
    """Convert a package ahead of time, for frozen programs and places without source.

    Writes a package of the same name. Importing it needs no conversion and no source file; errors
    name the lines of yours. Beside each module lie the text of its converted functions and the
    source map. The package is imported; for the Python and the d2s that run it, only. A function
    that cannot be converted is named, and left as it is.
    """
    _log(log_json)
    with working(_LOADING):
        from d2s.cli import build as work
    work.build(package, output=output, keep_source=not without_source, as_json=as_json)
