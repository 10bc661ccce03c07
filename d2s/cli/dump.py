"""``d2s dump``: show what d2s makes of one function.

Three steps, each with errors of its own: find the function that TARGET names (its file or module
is imported), render it, write the text.  The rendering is in ``d2s.debug.dump``; colours are added
here, and only for a terminal.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import importlib
import importlib.util
import inspect
import itertools
import json
import os
import re
import sys
import traceback
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import paddle
import typer
from rich.console import Console
from rich.syntax import Syntax

from d2s.api import to_static, trace
from d2s.cli.files import write
from d2s.cli.progress import importing, working
from d2s.debug.dump import render_passes, render_program, render_side_by_side, render_text
from d2s.debug.show import source_map as map_of
from d2s.errors import (
    D2SError,
    InputSpecTextError,
    NotAFunctionError,
    NotCapturedError,
    TargetError,
    UserCodeError,
)

_DTYPES: Final = (
    *("bool", "uint8", "int8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)
_SPEC: Final = re.compile(r"(?:(?P<name>\w+):)?(?P<dtype>\w+)\[(?P<shape>[^\[\]]*)\]")
_UNKNOWN: Final = ("None", "-1", "?")
_C_FUNCTIONS: Final = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.ClassMethodDescriptorType,
)
_CURE_TARGET: Final = "write FILE.py:NAME or module:NAME"

_numbers = itertools.count(1)


def dump(
    target: str,
    *,
    side_by_side: bool,
    passes: bool,
    program: bool,
    exact: bool,
    input_spec: Sequence[str],
    source_map: Path | None,
    as_json: bool,
    output: Path | None,
) -> None:
    """What the command does; ``d2s.cli.commands`` says what its options mean."""
    if as_json and source_map is not None:
        raise typer.BadParameter("choose one of --json and --source-map")
    if side_by_side + passes + program + (source_map is not None) > 1:
        raise typer.BadParameter(
            "choose one of --side-by-side, --passes, --program and --source-map"
        )
    if input_spec and not program:
        raise typer.BadParameter("--input-spec is for --program")
    specs = [parse_input_spec(text) for text in input_spec]
    found = find(target)
    # What user code prints does not belong into the dump.
    with (
        working(f"converting {found.name}"),
        found.importable(),
        contextlib.redirect_stdout(sys.stderr),
    ):
        lexer = "python"
        if program:
            text, lexer = render_program(_capture(found, specs)), "text"
        elif passes:
            text, lexer = render_passes(trace(found.function)), "diff"
        elif side_by_side:
            text = render_side_by_side(trace(found.function), exact=exact)
        elif source_map is not None:
            made = map_of(found.function)
            text = made.text
            write(
                source_map, made.to_json(None if output is None else output.name, indent=2) + "\n"
            )
        else:
            text = render_text(trace(found.function), exact=exact)
    if as_json:
        text = _json(found, lexer, text)
    if output is not None:
        write(output, text)
    elif as_json:
        typer.echo(text, nl=False)
    elif sys.stdout.isatty():
        coloured = Syntax("", lexer, theme="ansi_dark").highlight(text)
        Console().print(coloured, end="", soft_wrap=True)
    else:
        typer.echo(text, nl=False)


def _json(found: Found, lexer: str, text: str) -> str:
    """A dump for other programs: of what, from where, in which language."""
    source = trace(found.function, keep_steps=False).source
    place = {"file": source.file, "line": source.first_line}
    return (
        json.dumps({"name": found.name, **place, "language": lexer, "text": text}, indent=2) + "\n"
    )


def _capture(found: Found, specs: list[InputSpecText]) -> object:
    if found.needs_instance:
        raise TargetError(
            f"{found.name!r} cannot be captured without an instance",
            cure="create the object in the file, and name it: FILE.py:net or FILE.py:net.method",
        )
    input_spec = [spec.to_paddle() for spec in specs]
    converted: Any = to_static(found.function, input_spec=input_spec or None)
    if isinstance(converted, paddle.nn.Layer):  # converted in place: its forward is the program
        converted = converted.forward
    try:
        return converted.main_program
    except NotCapturedError as error:
        raise InputSpecTextError(
            f"--program needs to know the arguments of {found.name!r}",
            cure="add --input-spec x:float32[None,8], one for each argument",
        ) from error


# -- the target -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """The function that a TARGET names.

    Attributes:
        function: The function, or a callable that stands for one.
        name: Its dotted name in the file or module.
        folder: Where the modules that it imports are looked for first.
        needs_instance: It was reached through a class, and is not bound to an object.
    """

    function: Any
    name: str
    folder: Path
    needs_instance: bool

    @contextlib.contextmanager
    def importable(self) -> Iterator[None]:
        """Let the function import what stands beside it."""
        with first_on_path(self.folder):
            yield


def find(target: str) -> Found:
    """Import what TARGET names.

    Args:
        target: ``FILE.py:NAME`` or ``module:NAME``, where NAME may be dotted.

    Raises:
        TargetError: There is no such file, module or name.
        UserCodeError: The file or module cannot be imported.
        NotAFunctionError: It is something else than a function.
    """
    place, colon, name = target.rpartition(":")
    if not colon or not place or not name:
        raise TargetError(f"{target!r} does not name a function", cure=_cure_without_name(target))
    if not all(part.isidentifier() for part in name.split(".")):
        raise TargetError(f"{name!r} is not the name of a function", cure=_CURE_TARGET)
    if _looks_like_file(place):
        path = _checked_file(place)
        folder, file = path.parent, str(path)
        with (
            importing(place),
            first_on_path(folder),
            contextlib.redirect_stdout(sys.stderr),
        ):
            module = _import_file(path)
    else:
        folder = Path.cwd()
        with (
            importing(place),
            first_on_path(folder),
            contextlib.redirect_stdout(sys.stderr),
        ):
            module = import_module(place)
        file = getattr(module, "__file__", None) or place
    return _member(module, name, folder, file)


def _cure_without_name(target: str) -> str:
    path = Path(target.rstrip(":"))
    names: list[str] = []
    with contextlib.suppress(OSError, SyntaxError, ValueError):
        names = [*_functions(ast.parse(path.read_bytes()))]
    if not names:
        return _CURE_TARGET
    return f"write {path}:NAME, where NAME is {_either(names[:5])}"


def _functions(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, ast.FunctionDef) and not item.name.startswith("__"):
                    yield f"{node.name}.{item.name}"


def _either(names: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _looks_like_file(place: str) -> bool:
    path = Path(place)
    if place.endswith(".py") or path.is_file() or len(path.parts) != 1:
        return True
    if path.is_dir() and not (path / "__init__.py").exists():
        return True
    return not all(part.isidentifier() for part in place.split("."))


def _checked_file(place: str) -> Path:
    path = Path(place)
    if path.is_dir():
        raise TargetError(f"{place} is a directory", cure="name a file in it: FILE.py:NAME")
    if not path.exists():
        raise TargetError(f"there is no file {place}", cure=_CURE_TARGET)
    if path.suffix != ".py":
        raise TargetError(f"{place} is not a Python file: its name does not end with .py")
    if not os.access(path, os.R_OK):
        raise TargetError(f"{place} cannot be read", cure="check its permissions")
    return path.resolve()


@contextlib.contextmanager
def first_on_path(folder: Path) -> Iterator[None]:
    """Let modules be looked for in a folder before all others."""
    entry = str(folder)
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):  # user code may have removed it
            sys.path.remove(entry)


def _import_file(path: Path) -> types.ModuleType:
    # A name of its own: the file may be called like a module that is already loaded.
    name = f"_d2s_target_{next(_numbers)}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"{path} cannot be imported", cure=_CURE_TARGET)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        _explain(error, str(path))
        raise
    return module


def import_module(name: str) -> types.ModuleType:
    """Import a module of the user's.

    Raises:
        TargetError: (D2S501) there is no such module.
        UserCodeError: (D2S502) it cannot be imported.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise TargetError(
                f"there is no module {error.name!r}",
                cure="run d2s where it can be imported, or name its file: FILE.py:NAME",
            ) from error
        _explain(error, None)
        raise
    except BaseException as error:
        _explain(error, None)
        raise


def _explain(error: BaseException, file: str | None) -> None:
    """Raise a ``UserCodeError`` for what user code raised on import; return for what is not its.

    Args:
        error: What the import raised.
        file: The file that was imported; None takes the place where the error was raised.
    """
    if isinstance(error, D2SError) or not isinstance(error, Exception | SystemExit):
        return
    if isinstance(error, SyntaxError):
        raise UserCodeError(
            f"this is not Python: {error.msg}",
            cure="correct the line; Python itself reports the same",
            file=error.filename or file,
            line=error.lineno,
            columns=_columns(error),
        ) from error
    frames = traceback.extract_tb(error.__traceback__)
    places = [frame for frame in frames if frame.filename == file] or (
        [] if file else [frame for frame in frames if not frame.filename.startswith("<")]
    )
    message = " ".join(str(error).split())
    raise UserCodeError(
        f"importing it raised {type(error).__name__}" + (f": {message}" if message else ""),
        cure="make the file importable; what runs only as a script belongs under "
        'if __name__ == "__main__"',
        file=places[-1].filename if places else file,
        line=places[-1].lineno if places else None,
    ) from error


def _columns(error: SyntaxError) -> tuple[int, int] | None:
    """Where in its line Python stumbles."""
    if not error.offset:
        return None
    start = error.offset - 1
    same_line = error.end_lineno in (None, error.lineno)
    end = (error.end_offset or 0) - 1 if same_line else len((error.text or "").rstrip())
    return start, max(end, start + 1)


def _member(module: types.ModuleType, name: str, folder: Path, file: str) -> Found:
    owner: Any = module
    value: Any = module
    for part in name.split("."):
        owner = value
        if part.startswith("__") and not part.endswith("__") and isinstance(owner, type):
            part = f"_{owner.__name__.lstrip('_')}{part}"  # as Python mangles private names
        try:
            value = getattr(owner, part)
        except AttributeError as error:
            raise _no_member(module, owner, part, name, file) from error
    if isinstance(value, property) and value.fget is not None:
        value = value.fget
    _check_function(value, name, file)
    held = inspect.getattr_static(owner, name.rpartition(".")[2], None)
    bound = isinstance(held, staticmethod | classmethod)
    return Found(value, name, folder, isinstance(owner, type) and not bound)


def _no_member(
    module: types.ModuleType, owner: Any, part: str, name: str, file: str
) -> TargetError:
    inner = inspect.unwrap(owner) if callable(owner) and not isinstance(owner, type) else None
    if isinstance(inner, types.FunctionType):
        return TargetError(
            f"{name!r}: d2s cannot reach inside the function {inner.__name__!r}",
            cure=f"name {inner.__name__!r} itself, or move {part!r} to the level of the module",
            file=file,
            line=inner.__code__.co_firstlineno,
        )
    names = [key for key in getattr(owner, "__dict__", ()) if not key.startswith("__")]
    if owner is module and not names:
        with contextlib.suppress(OSError):
            if not Path(file).read_bytes().strip():
                return TargetError(f"the file is empty: there is no {name!r} in it", file=file)
    place = "" if owner is module else f" in {name.rpartition('.')[0]!r}"
    close = [repr(key) for key in difflib.get_close_matches(part, names, 3)]
    return TargetError(
        f"there is no {part!r}{place}",
        cure=f"did you mean {_either(close)}?" if close else _holds(owner, names),
        file=file,
    )


def _holds(owner: object, names: list[str]) -> str:
    home = owner.__name__ if inspect.ismodule(owner) else getattr(owner, "__module__", None)
    functions = [
        key
        for key in names
        if callable(value := inspect.getattr_static(owner, key))
        and not isinstance(value, type)
        and getattr(value, "__module__", None) == home
    ]
    if not functions:
        return "name a function that is defined there"
    return f"name a function that is defined there, such as {_either(functions[:5])}"


def _check_function(value: Any, name: str, file: str) -> None:
    if isinstance(value, type):
        methods = [
            f"{name}.{key}"
            for key, held in vars(value).items()
            if inspect.isfunction(held) and not key.startswith("_")
        ]
        raise NotAFunctionError(
            f"{name!r} is a class",
            cure=f"name a method: {_either(methods[:5])}" if methods else "name a function",
            file=file,
            line=_line_of(value),
        )
    if isinstance(value, _C_FUNCTIONS):
        raise NotAFunctionError(
            f"{name!r} is a C function: there is no Python source to convert",
            cure="name a function that is written in Python",
            file=file,
        )
    if not callable(value):
        what = "module" if inspect.ismodule(value) else f"value of type {type(value).__name__!r}"
        raise NotAFunctionError(
            f"{name!r} is a {what}, not a function", cure="name a function", file=file
        )


def _line_of(value: Any) -> int | None:
    try:
        return inspect.getsourcelines(value)[1]
    except (OSError, TypeError):
        return None


# -- input specs ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class InputSpecText:
    """One ``--input-spec``, understood.

    Attributes:
        name: The name of the input, or None.
        dtype: The dtype, as Paddle calls it.
        shape: The dimensions; None where one is unknown.
    """

    name: str | None
    dtype: str
    shape: tuple[int | None, ...]

    def to_paddle(self) -> paddle.static.InputSpec:
        """The same for Paddle."""
        dtype: Any = self.dtype  # one of ``_DTYPES``; Paddle's annotation lists them as literals
        return paddle.static.InputSpec(list(self.shape), dtype, self.name)


def parse_input_spec(text: str) -> InputSpecText:
    """Understand ``x:float32[None,8]`` or ``float32[None,8]``.

    Args:
        text: What stands after ``--input-spec``. An unknown dimension is None, -1 or ``?``.

    Raises:
        InputSpecTextError: It is not of this form.
    """
    match = _SPEC.fullmatch("".join(text.split()))
    name = match["name"] if match else None
    if match is None or not (name is None or name.isidentifier()):
        raise InputSpecTextError(
            f"--input-spec {text!r} cannot be understood", cure="write it like x:float32[None,8]"
        )
    dtype = match["dtype"]
    if dtype not in _DTYPES:
        close = difflib.get_close_matches(dtype, _DTYPES, 1) or _DTYPES
        raise InputSpecTextError(
            f"--input-spec {text!r}: there is no dtype {dtype!r}",
            cure=f"use {_either(list(close))}",
        )
    shape: list[int | None] = []
    for dimension in match["shape"].removesuffix(",").split(",") if match["shape"] else ():
        if dimension in _UNKNOWN:
            shape.append(None)
        elif dimension.isascii() and dimension.isdigit():
            shape.append(int(dimension))
        else:
            raise InputSpecTextError(
                f"--input-spec {text!r}: {dimension!r} is not a dimension",
                cure="use a number, or None where the size is not known",
            )
    return InputSpecText(name, dtype, tuple(shape))
