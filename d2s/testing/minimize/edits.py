"""Ways to make a program smaller, as edits of its tree.

Whether it still shows what it is to show is asked elsewhere.  Statements are taken away in chunks,
which is delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing
input", IEEE Transactions on Software Engineering 28(2), 2002), on every block of the tree
(hierarchical delta debugging: Misherghi and Su, 2006)::

    if x.sum() > 0:      ->    x = x * k      ->    x = x      (blocks, then expressions)
        x = x * k
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

Cost = tuple[int, float]


class Edit(NamedTuple):
    """One change of one node.

    Attributes:
        size: how much of the program it takes away, about.
        node: the number of the node in the order of ``ast.walk``.
        change: makes it, in a copy of the tree.
    """

    size: int
    node: int
    change: Callable[[Any], None]

    def on(self, tree: ast.Module) -> ast.Module:
        """The tree with the change."""
        made = copy.deepcopy(tree)
        for number, node in enumerate(ast.walk(made)):
            if number == self.node:
                self.change(node)
                break
        return made


def cost(tree: ast.AST) -> Cost:
    """How large a program is: its nodes, and what its constants are; each edit must lower it."""
    nodes, constants = 0, 0.0
    for node in ast.walk(tree):
        nodes += 1
        if isinstance(node, ast.Constant):
            constants += _weight(node.value)
    return nodes, constants


def _weight(value: object) -> float:
    """The simpler a constant, the less: 0 before 1 before 7 before 1.5, and short texts."""
    if isinstance(value, bool | int | float):
        number = min(abs(float(value)), 1e9)
        return number + (isinstance(value, float) and not number.is_integer()) + (value < 0) * 0.5
    return float(len(value)) if isinstance(value, str | bytes) else 0.0


# -- the phases ------------------------------------------------------------------------------------

_LISTS: Final = ("elts", "args", "keywords", "bases", "decorator_list", "names", "items", "values")
_BLOCKS: Final = ("body", "orelse", "finalbody", "handlers")
_OPTIONAL: Final = frozenset(
    (
        *("value", "annotation", "returns", "lower", "upper", "step", "optional_vars"),
        *("msg", "cause", "type", "exc", "vararg", "kwarg", "format_spec"),
    )
)


def chunks(tree: ast.Module) -> list[Edit]:
    """Take statements away: whole blocks first, then halves of them, down to single ones."""
    return _removals(tree, _BLOCKS)


def items(tree: ast.Module) -> list[Edit]:
    """Take away parts of lists, arguments, base classes, decorators and imported names."""
    return _removals(tree, _LISTS)


def _removals(tree: ast.Module, fields: tuple[str, ...]) -> list[Edit]:
    found: list[Edit] = []
    for number, node in enumerate(ast.walk(tree)):
        for field in fields:
            block = getattr(node, field, None)
            if isinstance(block, list) and block:
                found += _halves(number, field, block)
    return sorted(found, key=lambda edit: -edit.size)


def _halves(number: int, field: str, block: list[ast.AST]) -> Iterator[Edit]:
    length = len(block)
    while length:
        for start in range(0, len(block), length):
            size = sum(cost(each)[0] for each in block[start : start + length])
            yield Edit(size, number, _removal(field, start, length))
        length //= 2


def _removal(field: str, start: int, length: int) -> Callable[[Any], None]:
    def change(node: Any) -> None:
        block = getattr(node, field)
        del block[start : start + length]
        if isinstance(node, ast.Dict):
            del node.keys[start : start + length]
        if not block and field == "body" and not isinstance(node, ast.Module):
            block.append(ast.Pass())

    return change


def hoists(tree: ast.Module) -> list[Edit]:
    """Replace a statement by one of its blocks, or by one of its expressions."""
    found: list[Edit] = []
    for number, node in enumerate(ast.walk(tree)):
        for field in _BLOCKS[:3]:
            block = getattr(node, field, None)
            for at, statement in enumerate(block if isinstance(block, list) else ()):
                size = cost(statement)[0]
                parts = range(len(_parts(statement)))
                found += [Edit(size, number, _hoist(field, at, part)) for part in parts]
    return sorted(found, key=lambda edit: -edit.size)


def _parts(statement: ast.AST) -> list[list[ast.stmt]]:
    """What may stand in the place of a statement."""
    holders = [statement, *getattr(statement, "handlers", ())]
    blocks = [getattr(holder, field, None) for holder in holders for field in _BLOCKS[:3]]
    values = [] if isinstance(statement, ast.Expr) else [*ast.iter_child_nodes(statement)]
    alone = [[ast.Expr(value)] for value in values if isinstance(value, ast.expr)]
    return [*(block for block in blocks if block), *alone]


def _hoist(field: str, at: int, part: int) -> Callable[[Any], None]:
    def change(node: Any) -> None:
        block = getattr(node, field)
        block[at : at + 1] = _parts(block[at])[part]

    return change


def expressions(tree: ast.Module) -> list[Edit]:
    """Replace an expression by a part of it, or by a constant; leave one out where it may be."""
    found: list[Edit] = []
    for number, node in enumerate(ast.walk(tree)):
        for field, at, inner in _inside(node):
            if not isinstance(getattr(inner, "ctx", ast.Load()), ast.Load):
                continue
            size = cost(inner)[0]
            if at is None and field in _OPTIONAL:
                found.append(Edit(size, number, _put(field, at, lambda old: None)))
            found += [Edit(size, number, _put(field, at, way)) for way in _simpler(inner)]
    return sorted(found, key=lambda edit: -edit.size)


def _inside(node: ast.AST) -> Iterator[tuple[str, int | None, ast.AST]]:
    """The expressions right below a node: the field, the place in it, and the expression."""
    for field, value in ast.iter_fields(node):
        for at, each in enumerate(value) if isinstance(value, list) else ((None, value),):
            if isinstance(each, ast.expr | ast.arg):
                yield field, at, each


def _simpler(old: ast.AST) -> Iterator[Callable[[Any], Any]]:
    """What may stand in the place of an expression, the smallest of its kind first."""
    if isinstance(old, ast.Constant):
        yield from (_constant(value) for value in _smaller(old.value) if value != old.value)
        return
    if not isinstance(old, ast.expr):
        return
    parts = [part for part in ast.iter_child_nodes(old) if isinstance(part, ast.expr)]
    parts += [part.value for part in getattr(old, "keywords", ())]
    yield from (_constant(value) for value in ((0,) if isinstance(old, ast.Name) else (0, 1)))
    for at in range(len(parts)):
        yield lambda old, at=at: [  # type: ignore[misc]
            *(part for part in ast.iter_child_nodes(old) if isinstance(part, ast.expr)),
            *(part.value for part in getattr(old, "keywords", ())),
        ][at]


def _smaller(value: object) -> list[object]:
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, int):
        return [0, 1, 2, value // 2]
    if isinstance(value, float):
        return [0.0, 1.0, 2.0, -1.0, float(round(value))] if abs(value) < 1e300 else [0.0, 1.0]
    return ["", value[: len(value) // 2]] if isinstance(value, str) else []


def _constant(value: Any) -> Callable[[Any], Any]:
    return lambda old: ast.Constant(value)


def _put(field: str, at: int | None, way: Callable[[Any], Any]) -> Callable[[Any], None]:
    def change(node: Any) -> None:
        held = getattr(node, field)
        if at is None:
            setattr(node, field, way(held))
        else:
            held[at] = way(held[at])

    return change


def parameters(tree: ast.Module) -> list[Edit]:
    """Take a parameter away, and what calls in the file give for it by its name."""
    names = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return [Edit(1, 0, _without_parameter(name)) for name in sorted(names)]


def _without_parameter(name: str) -> Callable[[Any], None]:
    def change(tree: Any) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.arguments):
                _drop_parameter(node, name)
            elif isinstance(node, ast.Call):
                node.keywords = [each for each in node.keywords if each.arg != name]
            elif isinstance(node, ast.Dict):
                kept = [
                    (key, value)
                    for key, value in zip(node.keys, node.values, strict=True)
                    if not (isinstance(key, ast.Constant) and key.value == name)
                ]
                node.keys, node.values = [key for key, _ in kept], [value for _, value in kept]

    return change


def _drop_parameter(node: ast.arguments, name: str) -> None:
    """Take a parameter with its default away."""
    placed = [*node.posonlyargs, *node.args]
    first = len(placed) - len(node.defaults)
    names = [each.arg for each in placed]
    if name in names and names.index(name) >= first:
        del node.defaults[names.index(name) - first]
    named = [each.arg for each in node.kwonlyargs]
    if name in named:
        del node.kw_defaults[named.index(name)]
    for each in (node.posonlyargs, node.args, node.kwonlyargs):
        each[:] = [one for one in each if one.arg != name]


def variables(tree: ast.Module) -> list[Edit]:
    """Put what a variable is assigned into the places where it is read."""
    return [
        Edit(1, number, _inlining(at))
        for number, node in enumerate(ast.walk(tree))
        if isinstance(node, ast.FunctionDef)
        for at, statement in enumerate(node.body)
        if isinstance(statement, ast.Assign)
        and len(statement.targets) == 1
        and isinstance(statement.targets[0], ast.Name)
    ]


def _inlining(at: int) -> Callable[[Any], None]:
    def change(node: Any) -> None:
        statement = node.body.pop(at)
        put = _Put(statement.targets[0].id, statement.value)
        node.body = [put.visit(each) for each in node.body] or [ast.Pass()]

    return change


class _Put(ast.NodeTransformer):
    """Puts an expression where a variable is read."""

    def __init__(self, name: str, value: ast.expr) -> None:
        self._name = name
        self._value = value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == self._name and isinstance(node.ctx, ast.Load):
            return copy.deepcopy(self._value)
        return node


PHASES: Final = (chunks, hoists, parameters, items, expressions, variables)
"""In this order, again and again until none of them makes the program smaller."""
