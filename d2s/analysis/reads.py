"""What a function names besides its arguments: what a capture of it has to look at."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import gast

from d2s.analysis.scopes import local_names, reads_in
from d2s.analysis.walk import walk


@dataclass(frozen=True)
class Reads:
    """What a function names besides its arguments.

    Attributes:
        outside: names of globals and of the closure that it reads or assigns.
        attributes: names of attributes, of whatever object; ``*`` among them for those that the
            code computes, but for those of what its first parameter is.
        filled: those of ``outside`` that are only ever appended to, as ``losses``, and the items
            that are, as ``log['loss']``, where nothing else is done with ``log``.
        appended: those of ``attributes`` that are only ever appended to.
        stored: those of ``attributes`` that are only ever assigned.
        catches: there is an ``except`` that catches whatever is raised.
        own: it computes names of attributes of what its first parameter is, as in
            ``getattr(self, name)`` and ``self.__dict__``.
        tabled: those that it reads as in ``self.__dict__["name"]``.
        tables: of what it may read attributes from the dictionary of an object, by names that it
            computes: ``OWN`` is what its first parameter is, ``ALIKE`` what is compared with that.
    """

    outside: tuple[str, ...]
    attributes: tuple[str, ...]
    filled: frozenset[str] = frozenset()
    appended: frozenset[str] = frozenset()
    stored: frozenset[str] = frozenset()
    catches: bool = False
    own: bool = False
    tabled: frozenset[str] = frozenset()
    tables: frozenset[str] = frozenset()


OWN: Final = "own"
ALIKE: Final = "alike"

COMPARING: Final = frozenset(("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"))
"""Methods whose other argument is an object like the one that they belong to."""


def reads_in_tree(tree: Any) -> Reads:
    """What a function names, from its tree."""
    names: set[str] = set()
    attributes: set[str] = set()
    used: list[str] = []
    filled: list[str] = []
    catches = False
    tabled: set[str] = set()
    looked: collections.Counter[str] = collections.Counter()
    stored: collections.Counter[str] = collections.Counter()
    appended: collections.Counter[str] = collections.Counter()
    for node in walk(tree):
        kind = node.__class__
        if kind is gast.Name:
            used.append(node.id)
        elif kind is gast.Attribute:
            if node.attr != "__dict__":
                attributes.add(node.attr)
            looked[node.attr] += 1
            stored[node.attr] += node.ctx.__class__ is gast.Store
        elif kind is gast.Call:
            told = _computed(node)
            attributes |= told - {"*"}
            looked.update(told)
        elif kind is gast.AugAssign and isinstance(node.target, gast.Attribute):
            looked[node.target.attr] += 1
        elif kind is gast.Subscript or kind is gast.Compare:
            used += _item(node) if kind is gast.Subscript else []
            tabled.update(name for _, name in _in_table(node))
        elif kind is gast.ExceptHandler:
            catches = catches or node.type is None
        elif kind is gast.Expr:
            filled += _filled(node.value)
            appended.update(_appended(node.value))
        elif kind is gast.Global or kind is gast.Nonlocal:
            names |= set(node.names)
    names |= reads_in(tree.body) - local_names(tree)
    computed = computed_on(tree)
    first = _parameters(tree)[:1]
    if not computed <= {*first}:
        attributes.add("*")
    times, fillings = collections.Counter(used), collections.Counter(filled)
    only = {name for name in names if fillings[name] == times[name] > 0}
    for name in names:
        parts = {path for path in times if path.startswith(f"{name}[")}
        if parts and sum(times[path] for path in parts) == times[name]:
            only |= {path for path in parts if fillings[path] == times[path]}
    return Reads(
        tuple(sorted(names)),
        tuple(sorted(attributes | tabled)),
        frozenset(only),
        frozenset(name for name, times in appended.items() if looked[name] == times),
        frozenset(name for name, times in stored.items() if looked[name] == times),
        catches,
        bool(computed & {*first}),
        frozenset(tabled),
        _tables_in_words(tree),
    )


def _tables_in_words(tree: Any) -> frozenset[str]:
    names = [OWN, *([ALIKE] if tree.name in COMPARING else [])]
    words = dict(zip(_parameters(tree), names, strict=False))
    return frozenset(words.get(each, "*") for each in _as_parameters(tree, _tables(tree)))


def computed_on(tree: Any) -> set[str]:
    """On what a function computes names of attributes: its parameters, ``*`` for anything else.

    What a ``__getattr__`` asks another object for by the name that it is given, the code names that
    has asked it.
    """
    named, found = _asked(tree), _tables(tree)
    for node in walk(tree):
        if node.__class__ is not gast.Call or "*" not in _computed(node):
            continue
        if _name(node.args[1]) not in named:
            found.add(_name(node.args[0]))
    return _as_parameters(tree, found)


def _as_parameters(tree: Any, names: set[str]) -> set[str]:
    """``names`` with ``*`` for those that are no parameter, or bound to something else as well."""
    if not names:
        return names
    parameters = _parameters(tree)
    bound: collections.Counter[str] = collections.Counter()
    for node in walk(tree):
        if node.__class__ is gast.Name:
            bound[node.id] += node.ctx.__class__ is not gast.Load
    return {each if each in parameters and bound[each] == 1 else "*" for each in names}


def _tables(tree: Any) -> set[str]:
    """Of what a function takes the dictionary of attributes; ``*`` for anything but a variable.

    ``self.__dict__["name"]`` and ``"name" in self.__dict__`` name an attribute like others.
    """
    named, unsaid = _asked(tree), 0
    found: set[str] = set()
    tables: list[Any] = []
    known: set[int] = set()
    for node in walk(tree):
        kind = node.__class__
        if kind is gast.Name:
            unsaid += node.id == "vars"
        elif kind is gast.Attribute and node.attr == "__dict__":
            tables.append(node)
        elif kind is gast.Call and _name(node.func) == "vars" and len(node.args) == 1:
            unsaid -= 1
            found.add(_name(node.args[0]))
        elif kind is gast.Subscript or kind is gast.Compare:
            known.update(id(table) for table, _ in _in_table(node, named))
    found.update(_name(table.value) for table in tables if id(table) not in known)
    return found | {"*"} if unsaid else found


def _asked(tree: Any) -> list[str]:
    """The parameter of a ``__getattr__`` that is the name of the attribute."""
    return _parameters(tree)[1:2] if tree.name in ("__getattr__", "__getattribute__") else []


def _in_table(node: Any, named: Sequence[str] = ()) -> list[tuple[Any, str]]:
    """The ``self.__dict__`` of which an expression asks for one name, and that name.

    Args:
        node: any expression.
        named: variables that hold names which other code says.
    """
    if isinstance(node, gast.Subscript):
        table, name = node.value, node.slice
    elif isinstance(node, gast.Compare) and isinstance(node.ops[0], gast.In | gast.NotIn):
        table, name = node.comparators[0], node.left
    else:
        return []
    if not (isinstance(table, gast.Attribute) and table.attr == "__dict__"):
        return []
    if isinstance(name, gast.Constant) and isinstance(name.value, str):
        return [(table, name.value)]
    return [(table, "")] if _name(name) in named else []


def _name(node: Any) -> str:
    """The variable that an expression is; ``*`` for any other one."""
    return node.id if isinstance(node, gast.Name) else "*"


def _parameters(tree: Any) -> list[str]:
    """The names of the parameters that are passed by their places."""
    return [each.id for each in (*tree.args.posonlyargs, *tree.args.args)]


def _item(node: Any) -> list[str]:
    """The path of an item of a variable, as ``log['loss']``."""
    if isinstance(node.value, gast.Name) and isinstance(node.slice, gast.Constant):
        return [f"{node.value.id}[{node.slice.value!r}]"]
    return []


def _computed(call: Any) -> set[str]:
    """The attributes that ``getattr(thing, "name")`` and its like name; ``*`` for others."""
    if _name(call.func) not in ("getattr", "setattr", "hasattr", "delattr"):
        return set()
    return {
        part.value if isinstance(part, gast.Constant) and isinstance(part.value, str) else "*"
        for part in call.args[1:2]
    }


def _filled(value: Any) -> list[str]:
    """The variable, or item of one, to which a statement such as ``items.append(x)`` adds."""
    target = _target(value)
    if isinstance(target, gast.Name):
        return [target.id]
    return _item(target) if isinstance(target, gast.Subscript) else []


def _appended(value: Any) -> list[str]:
    """The attribute to which a statement such as ``self.items.append(x)`` adds."""
    target = _target(value)
    return [target.attr] if isinstance(target, gast.Attribute) else []


def _target(value: Any) -> Any:
    """To what a statement such as ``items.append(x)`` adds."""
    if (
        isinstance(value, gast.Call)
        and isinstance(value.func, gast.Attribute)
        and value.func.attr in ("append", "extend")
    ):
        return value.func.value
    return None
