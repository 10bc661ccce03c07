"""Turn f-strings into calls, so that a tensor in them is formatted when its value is known.

>>> show(PASS, '''
... def f(x):
...     return f"loss {x:.3f} of {x!r}"
... ''')
def f(x):
    return d2s.text('loss ', (x, None, '.3f'), ' of ', (x, 'r', ''))
"""

from __future__ import annotations

from typing import Any

import gast

from d2s.passes.base import Context, Pass
from d2s.syntax.positions import place, span_of
from d2s.syntax.quote import constant


class _Texts(gast.NodeTransformer):  # type: ignore[misc]
    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx

    def visit_ClassDef(self, node: Any) -> Any:
        return node

    def visit_JoinedStr(self, node: Any) -> Any:
        at = span_of(node)
        if not any(isinstance(part, gast.FormattedValue) for part in node.values):
            return node
        self.generic_visit(node)
        call = self.ctx.expr("d2s.text()", at)
        for part in node.values:
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
            call.args.append(place(item, at))
        return place(call, at)


def run(tree: Any, ctx: Context) -> Any:
    """Convert each f-string with a placeholder."""
    tree.body = [_Texts(ctx).visit(statement) for statement in tree.body]
    return tree


PASS = Pass("texts", run)
