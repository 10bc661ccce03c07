"""Modules that were converted ahead of time: what ``d2s build`` puts into their place.

Such a module holds the code that Python has made of the user's file, and what each function in it
is converted to.  Importing it runs the one, and tells ``conversion`` of the other, so that neither
a source file nor a conversion is needed.  Code keeps the user's lines; the text of the file, for
tracebacks and for what still needs it (islands, ``d2s.check``, dumps), comes with it unless it was
left out.
"""

from __future__ import annotations

import base64
import dataclasses
import importlib.util
import inspect
import linecache
import marshal
import types
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from d2s.analysis.reads import Reads
from d2s.conversion import bound, codes_in, convert_ahead, give_converted
from d2s.errors import BuiltModuleError, D2SError

FORMAT: Final = "1"


@dataclass(frozen=True)
class Left:
    """A function that could not be converted ahead of time.

    Attributes:
        name: its qualified name.
        line: its first line.
        code: the code of the error.
        reason: what stands in the way.
    """

    name: str
    line: int
    code: str
    reason: str


def stamp() -> str:
    """What a built module was made for: code is of one Python, what it calls of one d2s."""
    from d2s import __version__

    return f"{FORMAT} {__version__} {importlib.util.MAGIC_NUMBER.hex()}"


def packed(
    text: str, file: str, scope: Mapping[str, Any], *, keep_source: bool
) -> tuple[str, list[Left]]:
    """What a built module holds, as text, and the functions that are left to be converted.

    Args:
        text: the user's file.
        file: its name, for tracebacks.
        scope: the globals of the module, imported.
        keep_source: put the text of the file into it.
    """
    show_text(file, text)
    code = compile(text, file, "exec", dont_inherit=True)
    left: list[Left] = []
    made = [
        (index, pipeline, *parts)
        for index, each in enumerate(codes_in(code))
        for pipeline, parts in _converted(each, scope, left)
    ]
    data = marshal.dumps((text if keep_source else None, file, code, made))
    return base64.b85encode(zlib.compress(data, 9)).decode("ascii"), left


def _converted(
    code: types.CodeType, scope: Mapping[str, Any], left: list[Left]
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """What functions of ``code`` become: by each pipeline, the code and what goes with it."""
    if not is_function(code):
        return
    cells = tuple(types.CellType() for _ in code.co_freevars)
    function = types.FunctionType(code, dict(scope), code.co_name, None, cells)
    usual = ["usual", "cut", "handed"] if code.co_flags & inspect.CO_GENERATOR else ["usual"]
    for pipeline in usual:
        known: tuple[bytes, tuple[Any, ...]] = b"", ()
        for name in (pipeline, bound(pipeline)):
            try:
                made, namespace, reads = convert_ahead(function, name)
            except D2SError as error:
                if name == "usual":
                    title = getattr(code, "co_qualname", code.co_name)
                    left.append(Left(title, code.co_firstlineno, error.code, error.cause))
                continue
            text = marshal.dumps(made)
            if text != known[0]:  # the same code is kept once
                fields = [getattr(reads, each.name) for each in dataclasses.fields(reads)]
                known = text, (made, namespace, fields)
            yield name, known[1]


def is_function(code: types.CodeType) -> bool:
    """Whether it is the code of a function or lambda, not of a class or comprehension."""
    inside = code.co_name.startswith("<") and code.co_name != "<lambda>"
    return bool(code.co_flags & inspect.CO_OPTIMIZED) and not inside


def run(scope: dict[str, Any], made_for: str, data: str) -> None:
    """What a built module does when it is imported: all that the user's module does.

    Args:
        scope: its globals.
        made_for: the stamp of what has built it.
        data: what :func:`packed` gave.

    Raises:
        BuiltModuleError: (D2S404) it was built by another d2s, or for another Python.
    """
    name = scope.get("__name__")
    if made_for != stamp():
        raise BuiltModuleError(
            f"the module {name!r} was built for {_shown(made_for)}, and this is {_shown(stamp())}",
            cure="build it again with d2s build, with the Python and the d2s that run it",
            file=scope.get("__file__"),
            line=1,
        )
    text, file, code, made = marshal.loads(zlib.decompress(base64.b85decode(data)))
    show_text(file, text or "")
    codes = list(codes_in(code))
    for index, pipeline, converted, namespace, reads in made:
        give_converted(codes[index], pipeline, converted, namespace, Reads(*reads))
    exec(code, scope)


def _shown(made_for: str) -> str:
    _, version, magic = made_for.split(" ")
    return f"d2s {version} and Python of bytecode {magic}"


def show_text(file: str, text: str) -> None:
    """Let tracebacks, and whoever asks for the source, find the text under this name of a file."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
