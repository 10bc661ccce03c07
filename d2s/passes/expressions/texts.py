"""Turn f-strings into calls, so that a tensor in them is formatted when its value is known.

>>> show(PASS, '''
... def f(x):
...     return f"loss {x:.3f} of {x!r}"
... ''')
def f(x):
    return d2s.text('loss ', (x, None, '.3f'), ' of ', (x, 'r', ''))

A part is formatted before the next one is evaluated, as Python does:

>>> show(PASS, '''
... def f(items):
...     return f"{items} without {items.pop()}"
... ''')
def f(items):
    return d2s.text(d2s.formatted(items, None, ''), ' without ', (items.pop(), None, ''))

``%`` of a text, or with a tuple, and, where it is only to be shown, what only the host can make
of a tensor:

>>> show(PASS, '''
... def f(x):
...     print("%s" % x, x.numpy().shape)
... ''')
def f(x):
    print(d2s.percent('%s', x), d2s.late(x, lambda value: value.numpy().shape))
"""

from __future__ import annotations

from typing import Any, Final

import gast

from d2s.analysis.walk import walk
from d2s.passes.base import Context, Pass
from d2s.syntax.positions import place, span_of
from d2s.syntax.quote import constant, name
from d2s.syntax.trees import Rewriter


class _Texts(Rewriter):
    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx

    def visit_ClassDef(self, node: Any) -> Any:
        return node

    def visit_BinOp(self, node: Any) -> Any:
        self.generic_visit(node)
        several = isinstance(node.right, gast.Tuple)  # no number is divided by a tuple
        if not (isinstance(node.op, gast.Mod) and (several or self.is_text(node.left))):
            return node
        return self.ctx.expr(
            "d2s.percent(text, things)", span_of(node), text=node.left, things=node.right
        )

    def is_text(self, node: Any) -> bool:
        """Whether ``node``, already converted, is plainly text."""
        if isinstance(node, gast.Constant):
            return isinstance(node.value, str)
        if isinstance(node, gast.BinOp):
            return self.is_text(node.left) or self.is_text(node.right)
        return isinstance(node, gast.Call) and (
            self.ctx.is_word(node.func) and node.func.attr in ("text", "percent")
        )

    def visit_Call(self, node: Any) -> Any:
        if isinstance(node.func, gast.Name) and node.func.id == "print":
            node.args = [_shown(item, self.ctx) for item in node.args]
        return self.generic_visit(node)

    def visit_JoinedStr(self, node: Any) -> Any:
        at = span_of(node)
        if not any(isinstance(part, gast.FormattedValue) for part in node.values):
            return node
        for part in node.values:
            if isinstance(part, gast.FormattedValue):
                part.value = _shown(part.value, self.ctx)
        self.generic_visit(node)
        call = self.ctx.expr("d2s.text()", at)
        last = _last_that_runs(node)
        for index, part in enumerate(node.values):
            if not isinstance(part, gast.FormattedValue):
                if part.value:  # Python 3.12 leaves empty texts
                    call.args.append(part)
                continue
            conversion = constant(chr(part.conversion) if part.conversion > 0 else None)
            spec = constant("") if part.format_spec is None else part.format_spec
            if isinstance(spec, gast.JoinedStr) and all(
                isinstance(item, gast.Constant) for item in spec.values
            ):
                spec = constant("".join(item.value for item in spec.values))
            item = gast.Tuple([part.value, conversion, spec], gast.Load())
            if index < last:  # code behind it may change what it shows
                item = self.ctx.expr("d2s.formatted()", at)
                item.args = [part.value, conversion, spec]
            call.args.append(place(item, at))
        return place(call, at)


def _last_that_runs(text: Any) -> int:
    """Where in an f-string the last part is that may run code of the user's; 0 if there is none."""
    found = [
        index
        for index, part in enumerate(text.values)
        if isinstance(part, gast.FormattedValue)
        and not (
            _is_quiet(part.value) and (part.format_spec is None or _is_quiet(part.format_spec))
        )
    ]
    return found[-1] if found else 0


def _is_quiet(node: Any) -> bool:
    """Whether nothing runs when ``node`` is evaluated."""
    if isinstance(node, gast.JoinedStr):
        return all(isinstance(part, gast.Constant) for part in node.values)
    return isinstance(node, gast.Name | gast.Constant)


_FOR_THE_HOST: Final = frozenset({"numpy", "tolist"})
"""Methods of a tensor that give what only the host knows."""


_READERS: Final = frozenset({"shape", "getitem"})
"""Operators that passes have made of an attribute or a subscript."""


def _shown(node: Any, ctx: Context) -> Any:
    """``node``, which is only shown; ``x.numpy().shape`` in it is left to the run."""
    inner = node
    while True:  # down to the innermost call of such a method
        if isinstance(inner, gast.Call) and ctx.is_word(inner.func):
            if inner.func.attr not in _READERS:
                return node
            step, *others = inner.args
        elif isinstance(inner, gast.Call) and isinstance(inner.func, gast.Attribute):
            others = [*inner.args, *(keyword.value for keyword in inner.keywords)]
            step = inner.func.value
        elif isinstance(inner, gast.Attribute):
            step, others = inner.value, []
        elif isinstance(inner, gast.Subscript):
            step, others = inner.value, [inner.slice]
        else:
            return node
        if not all(map(_is_constant, others)):
            return node
        if isinstance(inner, gast.Call) and inner.func.attr in _FOR_THE_HOST:
            break
        inner = step
    value = ctx.names.fresh("value")
    inner.func.value = place(name(value), span_of(step))
    return ctx.expr(
        "d2s.late(tensor, lambda value: shown)",
        span_of(node),
        tensor=step,
        value=value,
        shown=node,
    )


def _is_constant(node: Any) -> bool:
    return all(
        isinstance(
            part,
            gast.Constant
            | gast.Tuple
            | gast.Slice
            | gast.UnaryOp
            | gast.unaryop
            | gast.expr_context,
        )
        for part in walk(node)
    )


def run(tree: Any, ctx: Context) -> Any:
    """Convert each f-string with a placeholder."""
    tree.body = [_Texts(ctx).visit(statement) for statement in tree.body]
    return tree


PASS = Pass("texts", run, about=(gast.JoinedStr, gast.Mod, "print"))
