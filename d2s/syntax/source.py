"""From a function object to its text and tree.

The whole file is parsed once (and kept), and the definition is found in it by line and name; a
lambda by line, and by its columns where several stand on one line.  Text comes from
``linecache``, so notebook cells and registered ``exec`` texts work like files.
"""

from __future__ import annotations

import ast
import copy
import dis
import linecache
import sys
import types
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from d2s.errors import NoSourceError, NotAFunctionError
from d2s.syntax.load import FUTURE
from d2s.syntax.plain import to_gast

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Defined = tuple[Definition, str | None]  # a definition and the innermost class around it


@dataclass(frozen=True)
class FunctionSource:
    """What is known of a function's text.

    Attributes:
        text: the dedented source of the definition, decorators included.
        tree: its gast tree: a ``FunctionDef`` without decorators (a lambda becomes one), with
            line numbers of the file.
        file: the file name as the code object has it.
        first_line: the line on which ``text`` begins.
        name: the function's own name.
        class_name: the innermost class around the definition, for private names; or ``None``.
        free: the names of the function's closure.
    """

    text: str
    tree: Any = field(repr=False)
    file: str = ""
    first_line: int = 1
    name: str = ""
    class_name: str | None = None
    free: tuple[str, ...] = ()


@dataclass(frozen=True)
class _File:
    """A parsed file: its lines and its tree."""

    lines: tuple[str, ...]
    tree: ast.Module

    def definitions(self, line: int) -> list[_Defined]:
        """The definitions whose code objects name ``line`` as their first."""
        return [item for item in _around(self.tree, line) if _first_line(item[0]) == line]


_given: dict[int, tuple[weakref.ref[types.CodeType], FunctionSource]] = {}
"""Code that was made of a part of the user's text, and what is known of it."""


def give_source(code: types.CodeType, source: FunctionSource) -> None:
    """Tell what functions of ``code`` are made of, which cannot be found by file and line."""
    key = id(code)
    _given[key] = weakref.ref(code, lambda _: _given.pop(key, None)), source


def is_given(code: types.CodeType) -> bool:
    """Whether :func:`give_source` has told of it."""
    given = _given.get(id(code))
    return given is not None and given[0]() is code


FILES: Final = 128
"""So many files are kept parsed, those asked for last; texts that notebooks make are files, too."""

_files: dict[str, _File] = {}


def _around(tree: ast.AST, line: int) -> Iterator[_Defined]:
    """The definitions that hold ``line``, with the innermost class around each."""
    stack: list[tuple[ast.AST, str | None]] = [(tree, None)]
    while stack:
        node, owner = stack.pop()
        for child in ast.iter_child_nodes(node):
            if not _holds(child, line):
                continue
            if isinstance(child, ast.ClassDef):
                stack.append((child, child.name))
                continue
            if isinstance(child, Definition):
                yield child, owner
            stack.append((child, owner))


def _holds(node: ast.AST, line: int) -> bool:
    """Whether ``line`` is one of those of ``node``, as far as it has lines of its own."""
    first = getattr(node, "lineno", None)
    if first is None:
        return True
    decorators = getattr(node, "decorator_list", None)
    if decorators:
        first = decorators[0].lineno
    last: int = getattr(node, "end_lineno", None) or first
    return bool(first <= line <= last)


def _first_line(node: Definition) -> int:
    """The line that ``co_firstlineno`` of the compiled definition has: its first decorator's."""
    if isinstance(node, ast.Lambda) or not node.decorator_list:
        return node.lineno
    return node.decorator_list[0].lineno


def _of_command(file: str, module_globals: dict[str, Any]) -> tuple[str, ...]:
    """The lines of ``python -c``, which Python itself keeps from 3.13 on; else none."""
    if file != "<string>" or sys.argv[:1] != ["-c"] or module_globals.get("__name__") != "__main__":
        return ()
    ends = (at for at, word in enumerate(sys.orig_argv) if word[:1] == "-" and word[-1:] == "c")
    text = sys.orig_argv[next(ends, -2) + 1 :][:1]
    return tuple("".join(text).splitlines(keepends=True))


def _cure(code: types.CodeType) -> str:
    """What to do about a function whose text cannot be found."""
    file = code.co_filename
    if getattr(code, "co_qualname", "").startswith("__create_fn__."):  # since Python 3.11
        return "write the method out: it is one that dataclass has made"
    if file == "<stdin>":
        return "define the function in a file: Python does not keep what is typed or piped into it"
    if file.startswith("<"):
        return (
            "define the function in a file or a notebook cell, or register its text with "
            "linecache before calling exec"
        )
    return "put the .py file beside it, or convert the package ahead of time: d2s build"


def _parse(file: str, module_globals: dict[str, Any]) -> _File | None:
    linecache.checkcache(file)
    lines = tuple(linecache.getlines(file, module_globals)) or _of_command(file, module_globals)
    known = _files.get(file)
    if known is not None and known.lines == lines:
        _files[file] = _files.pop(file, known)
        return known
    if not lines:
        return None
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:
        return None
    made = _files[file] = _File(lines, tree)
    for oldest in list(_files)[:-FILES]:
        _files.pop(oldest, None)
    return made


def _compiled(node: Definition, code: types.CodeType) -> types.CodeType | None:
    """``node`` compiled where the closure of ``code`` exists; ``None`` when it cannot be."""
    store = [ast.Name(name, ast.Store()) for name in code.co_freevars]
    nothing = ast.Constant(None)
    bind: list[ast.stmt] = [ast.Assign(list(store), nothing)] if store else []
    if isinstance(node, ast.Lambda):
        inner: ast.stmt = ast.Expr(node)
    else:
        inner = copy.copy(node)
        inner.decorator_list = []
    arguments = ast.arguments([], [], None, [], [], None, [])
    outer = ast.FunctionDef("outer", arguments, [*bind, inner], [], None)
    if "type_params" in ast.FunctionDef._fields:
        outer.__dict__["type_params"] = []
    for made_here in (outer, *bind, *store, nothing, inner):
        ast.copy_location(made_here, node)
    module = ast.Module([outer], [])
    try:
        flags = code.co_flags & FUTURE  # they decide what becomes of annotations
        compiled = compile(module, code.co_filename, "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    (made,) = (item for item in compiled.co_consts if isinstance(item, types.CodeType))
    found = [
        item
        for item in made.co_consts
        if isinstance(item, types.CodeType) and item.co_name == code.co_name
    ]
    return found[0] if found else None


def _same_code(one: types.CodeType, other: types.CodeType) -> bool:
    """Whether two code objects have the same instructions, names and constants."""
    if (one.co_code, one.co_names, one.co_freevars) != (
        other.co_code,
        other.co_names,
        other.co_freevars,
    ) or len(one.co_consts) != len(other.co_consts):
        return False
    for left, right in zip(one.co_consts, other.co_consts, strict=True):
        if isinstance(left, types.CodeType) and isinstance(right, types.CodeType):
            if not _same_code(left, right):
                return False
        elif type(left) is not type(right) or repr(left) != repr(right):
            if isinstance(left, str) and isinstance(right, str) and "<locals>" in left:
                continue  # a qualified name
            return False
    return True


def _same_lambda(node: ast.Lambda, code: types.CodeType) -> bool:
    compiled = _compiled(node, code)
    return compiled is not None and _same_code(compiled, code)


def _matching(lambdas: list[_Defined], code: types.CodeType) -> list[_Defined]:
    """Those of several lambdas on one line that ``code`` can be: the one where it says it stands.

    Before Python 3.11, and under ``-X no_debug_ranges``, code knows no columns; the instructions
    tell then.
    """
    places = _places(code)
    if not places:
        return [item for item in lambdas if _same_lambda(item[0], code)][:1]  # type: ignore[arg-type]
    around = [item for item in lambdas if _covers(item[0].body, places)]  # type: ignore[arg-type]
    # A lambda inside of another one lies in the bodies of both, and stands further right.
    return sorted(around, key=lambda item: (item[0].lineno, item[0].col_offset))[-1:]


def _places(code: types.CodeType) -> list[tuple[int, int]]:
    """Line and column where each instruction of the body starts, if ``code`` knows columns."""
    if sys.version_info < (3, 11):
        return []
    instructions = list(dis.get_instructions(code))
    names = [item.opname for item in instructions]
    return [
        (where.lineno, where.col_offset)
        for where in (item.positions for item in instructions[names.index("RESUME") + 1 :])
        if where
        and where.lineno is not None
        and where.col_offset is not None
        # The return of a lambda stands nowhere in Python 3.11: from column 0 to column 0.
        and (where.lineno, where.col_offset) != (where.end_lineno, where.end_col_offset)
    ]


def _covers(body: ast.expr, places: list[tuple[int, int]]) -> bool:
    first = (body.lineno, body.col_offset)
    last = (body.end_lineno or body.lineno, body.end_col_offset or body.col_offset)
    return all(first <= place < last for place in places)


def _could_be(node: Definition, code: types.CodeType) -> bool:
    """Whether ``code`` can have come from ``node``: it has every name and constant of it.

    Test runners add instructions to assertions, so only what is missing tells.  pytest takes their
    expressions apart (``-1`` is one that negates ``1``), with the help of names that begin with @.
    """
    compiled = _compiled(node, code)
    if compiled is None:
        return True
    names = {
        name.split("__")[-1] for name in (*code.co_names, *code.co_freevars, *code.co_cellvars)
    }
    mine = {name.split("__")[-1] for name in compiled.co_names}
    if any(name.startswith("@") for name in code.co_names):
        return mine <= names
    plain = [c for c in compiled.co_consts[1:] if isinstance(c, int | float) and c is not True]
    return mine <= names and all(c in code.co_consts for c in plain)


def _as_function(node: ast.Lambda) -> ast.FunctionDef:
    body: ast.stmt = ast.copy_location(ast.Return(node.body), node.body)
    function = ast.FunctionDef("lambda_", node.args, [body], [], None)
    if hasattr(node, "type_params") or "type_params" in ast.FunctionDef._fields:
        function.type_params = []  # type: ignore[attr-defined]
    return ast.copy_location(function, node)


def kind_of(thing: object) -> str:
    """What ``thing`` is, in words for a message."""
    if isinstance(thing, type):
        return f"the class {thing.__name__!r}"
    if isinstance(thing, types.BuiltinFunctionType | types.BuiltinMethodType):
        return f"the C function {thing.__name__!r}"
    if isinstance(thing, types.ModuleType):
        return f"the module {thing.__name__!r}"
    if isinstance(thing, str):
        return f"the text {thing!r}" if len(thing) < 40 else "a text"
    return f"a value of type {type(thing).__name__!r}"


def source_of(function: object) -> FunctionSource:
    """The text and tree of a Python function.

    Args:
        function: a plain Python function (``types.FunctionType``).

    Raises:
        NotAFunctionError: (D2S102) it is something else.
        NoSourceError: (D2S101) its text cannot be found, or is not the text it was made from.
    """
    if not isinstance(function, types.FunctionType):
        raise NotAFunctionError(
            f"{kind_of(function)} is not a Python function",
            cure="pass a function, a method or a paddle.nn.Layer",
        )
    code = function.__code__
    if is_given(code):
        return _given[id(code)][1]
    file, line = code.co_filename, code.co_firstlineno
    parsed = _parse(file, function.__globals__)
    definitions = [] if parsed is None else parsed.definitions(line)
    if parsed is None or (file.startswith("<") and not definitions):
        raise NoSourceError(
            f"the source text of {function.__name__!r} cannot be found",
            cure=_cure(code),
            file=file,
            line=line,
        )
    candidates = [(node, owner) for node, owner in definitions if _fits(node, code)]
    if len(candidates) > 1 and code.co_name == "<lambda>":
        candidates = _matching(candidates, code)
    if not candidates:
        raise _changed(function)
    candidates = [item for item in candidates if _could_be(item[0], code)]
    if not candidates:
        raise _changed(function)
    node, owner = candidates[0]
    last = node.end_lineno or node.lineno
    text = _dedent("".join(parsed.lines[line - 1 : last]))
    definition = _as_function(node) if isinstance(node, ast.Lambda) else node
    tree = to_gast(definition)
    tree.decorator_list = []
    return FunctionSource(text, tree, file, line, function.__name__, owner, code.co_freevars)


def function_at(file: str, line: int) -> Any | None:
    """The gast tree of the innermost function of ``file`` that holds ``line``, if it is known."""
    parsed = _files.get(file)
    if parsed is None:
        return None
    around = [
        node
        for node, _ in _around(parsed.tree, line)
        if isinstance(node, ast.FunctionDef) and node.lineno <= line
    ]
    if not around:
        return None
    return to_gast(max(around, key=lambda node: node.lineno))


def _changed(function: types.FunctionType) -> NoSourceError:
    file, line = function.__code__.co_filename, function.__code__.co_firstlineno
    return NoSourceError(
        f"line {line} of {file} no longer holds the definition of {function.__name__!r}",
        cure="reload the module: its file has changed since it was imported",
        file=file,
        line=line,
    )


def _fits(node: Definition, code: types.CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        if code.co_name != "<lambda>":
            return False
    elif node.name != code.co_name:
        return False
    arguments = [item.arg for item in (*node.args.posonlyargs, *node.args.args)]
    return [a.split("__")[-1] for a in arguments] == [
        a.split("__")[-1] for a in code.co_varnames[: code.co_argcount]
    ]


def _dedent(text: str) -> str:
    """``text`` moved left by the indentation of its first line."""
    lines = text.splitlines(keepends=True)
    margin = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    return "".join(line.removeprefix(margin) for line in lines)
