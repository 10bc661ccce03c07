"""The fast walks, copies and rewriters do what ``gast`` and ``copy`` do."""

from __future__ import annotations

import copy
from typing import Any

import gast
import pytest

from d2s.syntax.trees import Rewriter, children, copied, walk

TEXT = """
@decorated(1)
def f(a, /, b: int = 1, *c, d=None, e, **g) -> int:
    global h
    with a as (x, y), b:
        z: int = {**a, b: c}
    try:
        del x[1:, ...], a.b
    except (A, B) as error:
        raise C from error
    match a:
        case {"k": [1, *rest], **others} | C(x, y=None):
            return [lambda k: k for i in a if i], f"{a!r:>{b}}"
    return not a < b < c and (w := -a)
"""

SAYS_NOTHING = (gast.expr_context, gast.operator, gast.unaryop, gast.boolop, gast.cmpop)


def tree() -> Any:
    return gast.parse(TEXT)


def test_a_walk_comes_by_all_code() -> None:
    whole = tree()
    code = [node for node in gast.walk(whole) if not isinstance(node, SAYS_NOTHING)]
    assert sorted(map(id, walk(whole))) == sorted(map(id, code))


def test_children_are_in_the_order_of_the_fields() -> None:
    (call,) = (node for node in walk(gast.parse("f(a, b, c=d)")) if isinstance(node, gast.Call))
    assert [getattr(node, "id", node.__class__.__name__) for node in children(call)] == [
        "f", "a", "b", "keyword",
    ]  # fmt: skip


def test_a_copy_is_equal_and_apart() -> None:
    whole = tree()
    twin = copied(whole)
    assert gast.dump(twin, include_attributes=True) == gast.dump(whole, include_attributes=True)
    assert not {*map(id, walk(twin))} & {*map(id, walk(whole))}
    before = gast.dump(whole)
    for node in walk(twin):
        for value in vars(node).values():
            if isinstance(value, list) and value and isinstance(value[0], gast.AST):
                value.clear()
    assert gast.dump(whole) == before


class _Edits:
    """Edits of every kind: in place, another node, several, none."""

    def visit_Name(self, node: Any) -> Any:
        node.id = node.id.upper()
        return node

    def visit_Constant(self, node: Any) -> Any:
        return gast.Name("constant", gast.Load(), None, None)

    def visit_Global(self, node: Any) -> Any:
        return None

    def visit_Raise(self, node: Any) -> Any:
        self.generic_visit(node)  # type: ignore[attr-defined]
        return [node, copy.deepcopy(node)]

    def visit_keyword(self, node: Any) -> Any:
        return None


class _Fast(_Edits, Rewriter):
    pass


class _Slow(_Edits, gast.NodeTransformer):  # type: ignore[misc]
    pass


def test_a_rewriter_does_what_a_transformer_does() -> None:
    assert gast.dump(_Fast().visit(tree())) == gast.dump(_Slow().visit(tree()))


def test_a_visit_of_its_own_sees_every_node() -> None:
    seen: list[str] = []

    class Seeing(Rewriter):
        def visit(self, node: Any) -> Any:
            seen.append(type(node).__name__)
            return super().visit(node)

    whole = tree()
    Seeing().visit(whole)
    assert sorted(seen) == sorted(type(node).__name__ for node in walk(whole))


def test_nodes_of_classes_with_the_same_visitors_do_not_mix() -> None:
    class One(Rewriter):
        def visit_Constant(self, node: Any) -> Any:
            return gast.Constant(1, None)

    class Two(One):
        def visit_Constant(self, node: Any) -> Any:
            return gast.Constant(2, None)

    values = [each().visit(gast.parse("0")).body[0].value.value for each in (One, Two, One)]
    assert values == [1, 2, 1]


@pytest.mark.parametrize("text", ["f(**{**a})", "lambda *, a, b=1: a"])
def test_what_may_be_missing_stays_missing(text: str) -> None:
    """A key of ``{**other}``, a default of a parameter that has none."""
    whole = gast.parse(text)
    assert gast.dump(_Fast().visit(copied(whole))) == gast.dump(_Slow().visit(copied(whole)))
