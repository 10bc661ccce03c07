"""``d2s bench``: time one function of the user's in dygraph, by Paddle's converters and by d2s.

The protocol is that of ``d2s.bench``.  Here the inputs are understood and made, each peer gets the
function in a new process, which imports the file once more, and the table is printed.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import json
import os
import re
import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import paddle
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from d2s.bench import texts
from d2s.bench.environment import environment, in_one_line
from d2s.bench.peers import NoReferenceError, measure
from d2s.bench.rounds import Measured, Settings
from d2s.bench.work import CONVERTERS, Kind, Prepared, Work, calls
from d2s.cli.targets.find import find
from d2s.cli.targets.specs import InputSpecText, parse_input_spec
from d2s.cli.terminal.files import write
from d2s.diagnostics.tracebacks import places_in
from d2s.errors import BenchCallError, BenchInputError

_TENSOR: Final = re.compile(r"(?P<spec>(?:\w+:)?\w+\[[^\[\]]*\])(?:=(?P<value>.+))?", re.DOTALL)
_PLAIN: Final = re.compile(r"(?:(?P<name>[^\W\d]\w*)\s*=)?(?P<literal>.+)", re.DOTALL)
_CURE_INPUT: Final = "write it like x:float32[8,64], n:int64[]=10 or n=10"
_CURES_CALL: Final[dict[str, str]] = {
    "inference": "; say --step if it computes gradients itself",
    "gradient": "; leave --grad out if nothing in it has a gradient",
    "step": "",
}
_WIDTH: Final = 100
"""Columns of a table that goes into a file or a pipe."""


def bench(
    target: str,
    *,
    inputs: Sequence[str],
    grad: bool,
    step: bool,
    rounds: int,
    limit: float,
    as_json: bool,
    output: Path | None,
) -> None:
    """What the command does; ``d2s.cli.commands`` says what its options mean."""
    if grad and step:
        raise typer.BadParameter("choose one of --grad and --step")
    kind: Kind = "gradient" if grad else "step" if step else "inference"
    request = Request(target, tuple(parse_input(text) for text in inputs), kind)
    request.check()
    settings = Settings(rounds=rounds, limit_s=limit)
    report = Report(request, settings, environment(), _measured(request, settings))
    if output is not None:
        write(output, report.json() if as_json else report.text(_WIDTH))
    elif as_json:
        typer.echo(report.json(), nl=False)
    else:
        console = Console() if sys.stdout.isatty() else Console(width=_WIDTH)
        report.show(console)
    if report.peers["d2s"].status != "timed":
        raise typer.Exit(1)


def _measured(request: Request, settings: Settings) -> dict[str, Measured]:
    jobs = {peer: functools.partial(calls, request, peer) for peer in CONVERTERS}
    # The C++ side of Paddle reports each interpreter that a new process starts.
    os.environ.setdefault("GLOG_minloglevel", "2")
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    console = Console(stderr=True)
    with console.status("...") as status:
        try:
            # A new interpreter: the file has run operations when it was imported, and what they
            # leave behind does not survive a fork.
            return measure(jobs, settings, method="spawn", progress=status.update)
        except NoReferenceError as error:
            raise BenchCallError(
                f"{request.target} cannot be measured: {error}", cure=_cure_of(request.kind)
            ) from error


# -- inputs ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Input:
    """One ``--input``, understood.

    Attributes:
        text: as it was given.
        name: the parameter that it is for; None is the next one.
        spec: dtype and shape of a tensor; None for a value of Python's.
        value: the value of Python's, or of all elements; None makes a tensor random.
    """

    text: str
    name: str | None
    spec: InputSpecText | None
    value: Any

    def make(self, *, gradient: bool) -> Any:
        """The argument; a random one depends on Paddle's seed.

        Args:
            gradient: whether a tensor of floating-point numbers is to have one.
        """
        if self.spec is None:
            return self.value
        shape = [size for size in self.spec.shape if size is not None]
        if self.value is not None:
            made = paddle.full(shape, self.value, self.spec.dtype)
        elif self.spec.dtype == "bool":
            made = paddle.randint(0, 2, shape).astype("bool")
        elif "int" in self.spec.dtype:
            made = paddle.randint(0, 10, shape).astype(self.spec.dtype)
        else:
            made = paddle.randn(shape).astype(self.spec.dtype)
        made.stop_gradient = not (gradient and made.is_floating_point())
        return made


def parse_input(text: str) -> Input:
    """Understand ``x:float32[8,64]``, ``n:int64[]=10`` or ``n=10``.

    Raises:
        BenchInputError: (D2S506) it is none of these, or a size is open.
        InputSpecTextError: (D2S503) there is no such dtype, or a size is not one.
    """
    tensor = _TENSOR.fullmatch(text.strip())
    if tensor is None:
        plain = _PLAIN.fullmatch(text.strip())
        if plain is None:
            raise BenchInputError("--input '' is empty", cure=_CURE_INPUT)
        return Input(text, plain["name"], None, _literal(text, plain["literal"]))
    spec = parse_input_spec(tensor["spec"])
    if None in spec.shape:
        raise BenchInputError(
            f"--input {text!r}: a size is open", cure="give each dimension the size to measure with"
        )
    value = None if tensor["value"] is None else _literal(text, tensor["value"])
    if value is not None and not isinstance(value, bool | int | float | complex):
        raise BenchInputError(
            f"--input {text!r}: {tensor['value']!r} is not one number",
            cure="a tensor is random, or full of one number: n:int64[]=10",
        )
    return Input(text, spec.name, spec, value)


def _literal(text: str, literal: str) -> Any:
    try:
        return ast.literal_eval(literal.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise BenchInputError(f"--input {text!r} cannot be understood", cure=_CURE_INPUT) from error


# -- the function ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Request:
    """What is measured; called in the process of a peer, it is the peer's work.

    Attributes:
        target: the text that names the function.
        inputs: its arguments.
        kind: what one call is.
    """

    target: str
    inputs: tuple[Input, ...]
    kind: Kind

    def __call__(self) -> Work:
        found = find(self.target, layers=True).bound()
        sys.path.insert(0, str(found.folder))  # for what it imports when it is called
        # Prints do not belong into the table; the process ends with this file open.
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
        function = undecorated(found.function)
        arguments = self.bound(found.name, function)
        return Work(function, arguments.args, arguments.kwargs, self.kind)

    def check(self) -> None:
        """See that there is such a function, and that it can be called, by calling it once.

        Raises:
            TargetError: (D2S501) there is no such function, or it needs an instance.
            BenchInputError: (D2S506) it takes other arguments.
            BenchCallError: (D2S507) it raises in dygraph.
        """
        found = find(self.target, layers=True).bound()
        with found.importable(), contextlib.redirect_stdout(sys.stderr):
            function = undecorated(found.function)
            arguments = self.bound(found.name, function)
            work = Work(function, arguments.args, arguments.kwargs, self.kind)
            try:
                with work.mode():
                    Prepared(work, lambda function: function)()
            except Exception as error:
                raise _cannot_be_called(found.name, error, self.kind) from error

    def bound(self, name: str, function: Any) -> inspect.BoundArguments:
        """The arguments of a call of the function.

        Raises:
            BenchInputError: (D2S506) it takes other arguments.
        """
        gradient = self.kind == "gradient"
        given = [(each.name, each.make(gradient=gradient)) for each in self.inputs]
        called = function.forward if isinstance(function, paddle.nn.Layer) else function
        signature = inspect.signature(getattr(called, "dygraph_function", called))
        try:
            return signature.bind(
                *(value for key, value in given if key is None),
                **{key: value for key, value in given if key is not None},
            )
        except TypeError as error:
            raise BenchInputError(
                f"the inputs are not those of {name}{signature}: {error}",
                cure="add one --input for each argument, such as "
                f"--input {next(iter(signature.parameters), 'x')}:float32[8,64]",
            ) from error


def _cure_of(kind: Kind) -> str:
    return f"give inputs that it takes: 'n:int64[4]=1' is full of ones{_CURES_CALL[kind]}"


def _cannot_be_called(name: str, error: Exception, kind: Kind) -> BenchCallError:
    places = places_in(error.__traceback__)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    message = f": {lines[0]}" if lines else ""
    return BenchCallError(
        f"{name} raises {type(error).__name__} in dygraph with these inputs{message}",
        cure=_cure_of(kind),
        file=places[-1].file if places else None,
        line=places[-1].line if places else None,
    )


def undecorated(function: Any) -> Any:
    """What was given to ``to_static``, where it was; a layer is changed in place."""
    if isinstance(function, paddle.nn.Layer):
        forward = undecorated(function.forward)
        if forward is not function.forward:
            plain = getattr(forward, "__func__", forward)
            function.forward = types.MethodType(plain, function)
        return function
    return getattr(function, "dygraph_function", function)


# -- the report -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Report:
    """What was measured.

    Attributes:
        request: of what.
        settings: how long.
        environment: where.
        peers: the figures.
    """

    request: Request
    settings: Settings
    environment: Mapping[str, Any]
    peers: Mapping[str, Measured]

    def json(self) -> str:
        """For other programs; times are seconds."""
        out = {
            "target": self.request.target,
            "inputs": [each.text for each in self.request.inputs],
            "call": self.request.kind,
            "environment": self.environment,
            "settings": vars(self.settings),
            "peers": {name: found.as_json() for name, found in self.peers.items()},
        }
        return json.dumps(out, indent=2) + "\n"

    def text(self, width: int) -> str:
        """The table, and where it comes from."""
        console = Console(width=width, color_system=None)
        with console.capture() as capture:
            self.show(console)
        return capture.get()

    def show(self, console: Console) -> None:
        """Print the table, and where it comes from."""
        console.print(self.table())
        for name, found in self.peers.items():
            if found.status != "timed":
                line = f"{texts.TITLES[name]} {found.status}: {found.detail}"
                console.print(escape(line), highlight=False)
        line = f"{self.settings.rounds} rounds; {in_one_line(self.environment)}"
        console.print(escape(line), highlight=False)

    def table(self) -> Table:
        """One line for each peer."""
        what = {
            "inference": "one call, no gradients",
            "gradient": "forward and backward",
            "step": "one step",
        }
        arguments = ", ".join(each.text for each in self.request.inputs)
        title = f"{self.request.target}({arguments}): {what[self.request.kind]}"
        out = Table("", title=escape(title), title_justify="left")
        for heading in ("best", "median", "spread", "of dygraph", "first call"):
            out.add_column(heading, justify="right")
        base = self.peers["dygraph"].best_s
        for name, found in self.peers.items():
            out.add_row(texts.TITLES[name], *_cells(found.as_json(), base))
        return out


def _cells(found: Mapping[str, Any], base: float) -> Sequence[str]:
    if found["status"] != "timed":
        return [escape(texts.failure(found))]
    times = [texts.duration(found[key]) for key in ("best_s", "median_s")]
    first = texts.duration(found["first_s"])
    return [*times, f"{found['spread']:.0%}", texts.ratio(found["best_s"] / base), first]
