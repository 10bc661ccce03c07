r"""Between Python's own trees, which ``ast.parse`` gives and ``compile`` takes, and gast's.

``gast.ast_to_gast`` and ``gast.gast_to_ast`` make the same trees, and the second leaves the
positions out that generated code has none of; they take about three times as long, and conversion
would spend a third of its time in them.

>>> tree = to_gast(ast.parse("def f(x, *y): return x").body[0])
>>> ast.unparse(to_ast(tree))
'def f(x, *y):\n    return x'
"""

from __future__ import annotations

import ast
from types import ModuleType
from typing import Any, Final, NamedTuple

import gast

_PLACED: Final = (
    ast.stmt,
    ast.expr,
    ast.excepthandler,
    ast.pattern,
    ast.arg,
    ast.keyword,
    ast.alias,
)
"""The nodes that ``compile`` wants to have a position."""


class _Kind(NamedTuple):
    """A node type of one side, to which a type of the other side corresponds.

    Attributes:
        made: the type.
        code: its fields that may hold nodes, other than words and operators.
        word: the field that holds an operator or a context, such as ``Load()``.
        missing: its fields that the other side may not have.
        placed: whether ``compile`` wants it to have a position.
        shared: the one node of the type, where it says nothing but its type.
    """

    made: type[ast.AST]
    code: tuple[str, ...]
    word: str
    missing: tuple[str, ...]
    placed: bool
    shared: Any


class _Kinds(dict[type, _Kind]):
    """The kind of each node type of the other side, found when first asked for."""

    def __init__(self, side: ModuleType) -> None:
        super().__init__()
        self.side = side

    def __missing__(self, kind: type) -> _Kind:
        made: Any = getattr(self.side, kind.__name__)
        fields = tuple(name for name in made._fields if name not in _SAID)
        self[kind] = found = _Kind(
            made,
            tuple(name for name in fields if (made.__name__, name) != ("Constant", "value")),
            next((name for name in ("ctx", "op") if name in made._fields), ""),
            tuple(name for name in made._fields if name in _MISSING),
            issubclass(made, _PLACED),
            None if made._fields or made._attributes else made(),
        )
        return found


_OF_PYTHON: Final = _Kinds(ast)
_OF_GAST: Final = _Kinds(gast)

_SAID: Final = frozenset(
    ("arg", "asname", "attr", "ctx", "id", "kind", "level", "module", "op", "type_comment")
)
"""Fields that hold a name or a number on both sides, and those of words, which are one node."""

_MISSING: Final = frozenset(("annotation", "type_comment", "default_value"))
"""What gast has and the running Python may not have."""


def to_gast(node: Any) -> Any:
    """``node`` of Python's and what is below it, as nodes of gast's."""
    if node.__class__ is ast.arg:
        return _variable(node)
    kind = _OF_GAST[node.__class__]
    if kind.shared is not None:
        return kind.shared
    made: Any = kind.made.__new__(kind.made)
    found = made.__dict__
    found.update(node.__dict__)
    if kind.word:
        found[kind.word] = _OF_GAST[found[kind.word].__class__].shared
    for name in kind.missing:
        found.setdefault(name, None)
    for name in kind.code:
        value = found.get(name)
        if value.__class__ is list:
            found[name] = [to_gast(item) if isinstance(item, ast.AST) else item for item in value]
        elif isinstance(value, ast.AST):
            found[name] = to_gast(value)
    if kind.made is gast.ExceptHandler and made.name is not None:
        made.name = gast.Name(made.name, gast.Store(), None, None)
    elif "type_params" in kind.code:
        found.setdefault("type_params", [])
    return made


def _variable(parameter: ast.arg) -> Any:
    annotation = parameter.annotation and to_gast(parameter.annotation)
    made = gast.Name(parameter.arg, gast.Param(), annotation, parameter.type_comment)
    return ast.copy_location(made, parameter)


def to_ast(node: Any, line: int = 1, column: int = 0) -> Any:
    """``node`` of gast's and what is below it, as nodes of Python's.

    Args:
        node: a node of any kind.
        line, column: the position of what has none; below a node that has one it is that node's.
    """
    kind = _OF_PYTHON[node.__class__]
    if kind.shared is not None:
        return kind.shared
    if kind.made is ast.arguments:
        return _arguments(node, line, column)
    made: Any = kind.made.__new__(kind.made)
    found = made.__dict__
    found.update(node.__dict__)
    if kind.placed:
        line, column = _position(found, line, column)
    if kind.word:
        found[kind.word] = _OF_PYTHON[found[kind.word].__class__].shared
    for name in kind.code:
        value = found.get(name)
        if value.__class__ is list:
            found[name] = [
                to_ast(item, line, column) if isinstance(item, ast.AST) else item for item in value
            ]
        elif isinstance(value, ast.AST):
            found[name] = to_ast(value, line, column)
    if kind.made is ast.ExceptHandler and node.name is not None:
        found["name"] = node.name.id
    return made


def _position(found: dict[str, Any], line: int, column: int) -> tuple[int, int]:
    """Put the given position into ``found``, or what is missing of its own; and which it is."""
    start = found.get("lineno")
    if start is None:
        found["lineno"] = found["end_lineno"] = line
        found["col_offset"] = found["end_col_offset"] = column
        return line, column
    begin: int = found["col_offset"]
    if found.get("end_lineno") is None:
        found["end_lineno"], found["end_col_offset"] = start, begin
    return start, begin


def _arguments(node: Any, line: int, column: int) -> ast.arguments:
    """The parameters of a function, which are variables in gast."""

    def parameter(variable: Any) -> ast.arg:
        made = ast.arg(variable.id, None, variable.type_comment)
        found = made.__dict__
        found.update((name, variable.__dict__.get(name)) for name in variable._attributes)
        placed = _position(found, line, column)
        if variable.annotation is not None:
            made.annotation = to_ast(variable.annotation, *placed)
        return made

    def value(expression: Any) -> Any:
        return None if expression is None else to_ast(expression, line, column)

    return ast.arguments(
        posonlyargs=[parameter(variable) for variable in node.posonlyargs],
        args=[parameter(variable) for variable in node.args],
        vararg=node.vararg and parameter(node.vararg),
        kwonlyargs=[parameter(variable) for variable in node.kwonlyargs],
        kw_defaults=[value(default) for default in node.kw_defaults],
        kwarg=node.kwarg and parameter(node.kwarg),
        defaults=[value(default) for default in node.defaults],
    )
