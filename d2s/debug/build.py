"""What ``d2s build`` writes: a package in which each module is converted ahead of time.

In the place of ``net.py`` come a module that ``d2s.built`` runs, the text of its converted
functions beside it to be read (``net.d2s.py``), and its source map (``net.d2s.py.map``).
"""

from __future__ import annotations

import ast
import tokenize
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from d2s.built import Left, is_function, packed, stamp
from d2s.conversion import trace_of
from d2s.diagnostics.sourcemap import Position, Segment, SourceMap, source_map_of
from d2s.errors import D2SError

MARK: Final = ".d2s-built"
"""The file in a folder that was written by ``d2s build``, which it may write anew."""

_STUB: Final = """\
# Built by d2s {version} from {file}; not to be edited. What is in it: {stem}.d2s.py
from d2s.built import run as _run


def _imports():
{imports}


_run(globals(), {stamp!r}, {data!r})
"""


@dataclass(frozen=True)
class Built:
    """What was made of one module.

    Attributes:
        file: the user's file, as tracebacks name it.
        module: the text that takes its place.
        converted: the text of its converted functions.
        source_map: from that text to the user's file.
        functions: how many were converted.
        left: those that were not.
    """

    file: str
    module: str
    converted: str
    source_map: str
    functions: int
    left: tuple[Left, ...]


def built(module: types.ModuleType, path: Path, file: str, *, keep_source: bool) -> Built:
    """Convert each function of a module.

    Args:
        module: it, imported.
        path: the user's file.
        file: the name of it for tracebacks.
        keep_source: put the text of the file into what is built.
    """
    with tokenize.open(path) as stream:
        text = stream.read()
    data, left = packed(text, file, vars(module), keep_source=keep_source)
    maps = list(_maps(text, file, module))
    joined = _joined(maps, file, text if keep_source else None)
    from d2s import __version__

    stub = _STUB.format(
        version=__version__,
        file=file,
        stem=path.stem,
        imports=_imports(text),
        stamp=stamp(),
        data=data,
    )
    mapped = joined.to_json(f"{path.stem}.d2s.py", indent=1) + "\n"
    return Built(file, stub, joined.text, mapped, len(maps), tuple(left))


def _imports(text: str) -> str:
    """The imports of a file, for tools that look for what a program needs."""
    found: dict[str, None] = {"pass": None}
    for node in ast.walk(ast.parse(text)):
        stars = isinstance(node, ast.ImportFrom) and any(each.name == "*" for each in node.names)
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if stars and isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found[f"import {node.module}"] = None
        elif isinstance(node, ast.Import | ast.ImportFrom) and not (future or stars):
            found[ast.unparse(node)] = None
    return "\n".join(f"    {line}" for line in found)


def _maps(text: str, file: str, module: types.ModuleType) -> Iterator[SourceMap]:
    """The source map of each function that stands in no other one."""
    for code in _outermost(compile(text, file, "exec", dont_inherit=True)):
        cells = tuple(types.CellType() for _ in code.co_freevars)
        function = types.FunctionType(code, vars(module), code.co_name, None, cells)
        try:
            yield source_map_of(trace_of(function).tree, file)
        except D2SError:
            continue  # it is among those that are left


def _outermost(code: types.CodeType) -> Iterator[types.CodeType]:
    """The functions of a module, and of its classes."""
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            if is_function(each):
                yield each
            else:
                yield from _outermost(each)


def _joined(maps: Sequence[SourceMap], file: str, content: str | None) -> SourceMap:
    """One text of all functions, and the map of it."""
    texts: list[str] = []
    segments: list[Segment] = []
    line = 0
    for each in maps:
        segments += [_moved(segment, segment.generated.line + line) for segment in each.segments]
        texts.append(each.text.rstrip("\n") + "\n\n")
        line += texts[-1].count("\n")
    return SourceMap("\n".join("".join(texts).split("\n")[:-1]), file, content, tuple(segments))


def _moved(segment: Segment, line: int) -> Segment:
    """The segment on another line of the generated text."""
    return segment._replace(generated=Position(line, segment.generated.column))
