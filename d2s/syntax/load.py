"""From a tree back to a function: the user's file name, real globals, real closure cells.

The tree is compiled inside a factory that makes the closure's names (and the name of the
operators) free variables; the code object is taken out of it and bound to the original's own
globals, cells, defaults and annotations, so a ``nonlocal`` write is seen by siblings and late
binding holds (rule A2).
"""

from __future__ import annotations
import __future__

import functools
import operator
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any, Final

import gast

from d2s.errors import SyntaxNotSupportedError
from d2s.syntax.plain import to_ast

_OWN: Final = "<d2s>"
"""The name of the function while it is compiled: one that no variable can have."""

FUTURE: Final[int] = functools.reduce(
    operator.or_,
    (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names),
)
"""The flags of code objects that tell which ``__future__`` imports they were compiled under."""


def compile_tree(
    tree: Any,
    free: Iterable[str],
    original: types.CodeType,
    generated: frozenset[str] = frozenset(),
    qualname: str = "",
) -> types.CodeType:
    """The code object of the function ``tree``.

    Args:
        tree: a gast ``FunctionDef``, every node with a position.
        free: names that are free variables of the function.
        original: the user's code object; file name, names and ``__future__`` imports are its.
        generated: names of body functions, which qualified names shall not mention.
        qualname: the original's qualified name.

    Raises:
        SyntaxNotSupportedError: (D2S103) Python does not compile the tree.
    """
    none = gast.Constant(None, None)
    bind = [gast.Assign([gast.Name(name, gast.Store(), None, None)], none, None) for name in free]
    arguments = gast.arguments([], [], None, [], [], None, [])
    name, tree.name = tree.name, _OWN  # under its own name it would hide a global of that name
    factory = gast.FunctionDef(
        "factory", arguments, [*bind, tree], [], None, None, *_no_type_params()
    )
    module = gast.Module([factory], [])
    plain = to_ast(module)
    tree.name = name
    try:
        compiled = compile(
            plain, original.co_filename, "exec", original.co_flags & FUTURE, dont_inherit=True
        )
    except (SyntaxError, ValueError) as error:
        raise SyntaxNotSupportedError(
            f"Python cannot compile the converted function {tree.name!r}: {error}",
            cure="please report it with the function's text",
            file=original.co_filename,
            line=tree.lineno,
        ) from error
    outer = next(item for item in compiled.co_consts if isinstance(item, types.CodeType))
    code = next(
        item
        for item in outer.co_consts
        if isinstance(item, types.CodeType) and item.co_name == _OWN
    )
    prefix = f"factory.<locals>.{_OWN}"

    def clean(name: str) -> str:
        parts = ((qualname or tree.name) + name.removeprefix(prefix)).split(".<locals>.")
        return ".<locals>.".join(part for part in parts if part not in generated)

    return _requalified(code, original.co_name, prefix, clean, generated)


def _requalified(
    code: types.CodeType,
    name: str,
    prefix: str,
    clean: Callable[[str], str],
    generated: frozenset[str],
) -> types.CodeType:
    """``code`` and what is defined in it, with cleaned qualified names (a class has a constant).

    A body function is called as the function that it is a part of: in tracebacks, profiles, logs.
    """

    def fixed(item: Any) -> Any:
        if isinstance(item, types.CodeType):
            inner = name if item.co_name in generated else item.co_name
            return _requalified(item, inner, prefix, clean, generated)
        if isinstance(item, str) and item.startswith(f"{prefix}."):
            return clean(item)
        return item

    changes: dict[str, Any] = {"co_name": name, "co_consts": tuple(map(fixed, code.co_consts))}
    if sys.version_info >= (3, 11):
        changes["co_qualname"] = clean(code.co_qualname)
    return code.replace(**changes)


def _no_type_params() -> list[list[Any]]:
    return [[]] if "type_params" in gast.FunctionDef._fields else []


def bind(
    code: types.CodeType, original: types.FunctionType, extra: dict[str, Any]
) -> types.FunctionType:
    """A function of ``code`` that is ``original`` in everything but its body.

    Args:
        code: what :func:`compile_tree` gave.
        original: the user's function; its globals, cells and defaults are shared, not copied.
        extra: values for free variables that the original does not have (the operators).
    """
    cells = dict(zip(original.__code__.co_freevars, original.__closure__ or (), strict=True))
    closure = tuple(
        cells[name] if name in cells else types.CellType(extra[name]) for name in code.co_freevars
    )
    function = types.FunctionType(
        code, original.__globals__, original.__name__, original.__defaults__, closure
    )
    function.__kwdefaults__ = original.__kwdefaults__
    function.__annotations__ = original.__annotations__
    function.__doc__ = original.__doc__
    function.__module__ = original.__module__
    function.__qualname__ = original.__qualname__
    function.__dict__.update(original.__dict__)
    return function
