"""The function that TARGET names: its file or module is imported, and nothing else happens."""

from __future__ import annotations

import ast
import contextlib
import difflib
import importlib
import importlib.util
import inspect
import itertools
import os
import sys
import traceback
import types
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import paddle

from d2s.cli.terminal.progress import importing
from d2s.errors import D2SError, NotAFunctionError, TargetError, UserCodeError

_C_FUNCTIONS: Final = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.ClassMethodDescriptorType,
)
_CURE_TARGET: Final = "write FILE.py:NAME or module:NAME"

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Found:
    """The function that a TARGET names.

    Attributes:
        function: The function, or a callable that stands for one.
        name: Its dotted name in the file or module.
        folder: Where the modules that it imports are looked for first.
        owner: The class that it was reached through, if it is not bound to an object; it may be
            the class itself.
    """

    function: Any
    name: str
    folder: Path
    owner: type | None = None

    @contextlib.contextmanager
    def importable(self) -> Iterator[None]:
        """Let the function import what stands beside it."""
        with first_on_path(self.folder):
            yield

    def bound(self, doing: str = "called") -> Found:
        """The same, to be called: a layer is made of its class, where that takes no arguments.

        Args:
            doing: what is to be done with it, in words.

        Raises:
            TargetError: (D2S501) it needs an object that is not there.
            UserCodeError: (D2S502) making the object raises.
        """
        if self.owner is None:
            return self
        if not _makes_itself(self.owner):
            raise TargetError(
                f"{self.name!r} cannot be {doing} without an instance",
                cure="create the object in the file, and name it: FILE.py:net or "
                "FILE.py:net.method",
            )
        with self.importable(), contextlib.redirect_stdout(sys.stderr):
            try:
                made = self.owner()
            except Exception as error:
                _explain(error, None, f"making {self.owner.__name__}()")
                raise
        whole = self.function is self.owner
        return replace(
            self, function=made if whole else self.function.__get__(made, self.owner), owner=None
        )


def _makes_itself(owner: type) -> bool:
    """Whether a class is one of layers, whose objects need no arguments."""
    try:
        inspect.signature(owner).bind()
    except (TypeError, ValueError):
        return False
    return issubclass(owner, paddle.nn.Layer)


def find(target: str, *, layers: bool = False) -> Found:
    """Import what TARGET names.

    Args:
        target: ``FILE.py:NAME`` or ``module:NAME``, where NAME may be dotted.
        layers: A class of layers may be named, for an object that is made of it (``bound``).

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
    return _member(module, name, folder, file, layers=layers)


def _cure_without_name(target: str) -> str:
    path = Path(target.rstrip(":"))
    names: list[str] = []
    with contextlib.suppress(OSError, SyntaxError, ValueError):
        names = [*_functions(ast.parse(path.read_bytes()))]
    if not names:
        return _CURE_TARGET
    return f"write {path}:NAME, where NAME is {either(names[:5])}"


def _functions(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, ast.FunctionDef) and not item.name.startswith("__"):
                    yield f"{node.name}.{item.name}"


def either(names: list[str]) -> str:
    """Some names to choose from, in words."""
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


def _explain(error: BaseException, file: str | None, doing: str = "importing it") -> None:
    """Raise a ``UserCodeError`` for what user code raised on import; return for what is not its.

    Args:
        error: What the import raised.
        file: The file that was imported; None takes the place where the error was raised.
        doing: What was done when it was raised.
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
    cure = (
        "make the file importable; what runs only as a script belongs under "
        'if __name__ == "__main__"'
    )
    if isinstance(error, ModuleNotFoundError):
        cure = f"install what provides {error.name!r}, or run d2s where it can be imported"
    raise UserCodeError(
        f"{doing} raised {type(error).__name__}" + (f": {message}" if message else ""),
        cure=cure,
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


def _member(module: types.ModuleType, name: str, folder: Path, file: str, *, layers: bool) -> Found:
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
    if layers and isinstance(value, type) and issubclass(value, paddle.nn.Layer):
        return Found(value, name, folder, value)
    _check_function(value, name, file)
    held = inspect.getattr_static(owner, name.rpartition(".")[2], None)
    bound = isinstance(held, staticmethod | classmethod)
    unbound = isinstance(owner, type) and not bound
    return Found(value, name, folder, owner if unbound else None)


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
        cure=f"did you mean {either(close)}?" if close else _holds(owner, names),
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
    return f"name a function that is defined there, such as {either(functions[:5])}"


def _check_function(value: Any, name: str, file: str) -> None:
    if isinstance(value, type):
        methods = [
            f"{name}.{key}"
            for key, held in vars(value).items()
            if inspect.isfunction(held) and not key.startswith("_")
        ]
        raise NotAFunctionError(
            f"{name!r} is a class",
            cure=f"name a method: {either(methods[:5])}" if methods else "name a function",
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
