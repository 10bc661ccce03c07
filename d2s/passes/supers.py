"""Write out what zero-argument ``super()`` stands for; in a body function it would not work.

>>> show(PASS, '''
... def forward(this, x):
...     return super().forward(x)
... ''')
def forward(this, x):
    return super(__class__, this).forward(x)
"""

from __future__ import annotations

from typing import Any

import gast

from d2s.passes.base import Context, Pass, load
from d2s.syntax.positions import span_of


def run(tree: Any, ctx: Context) -> Any:
    """Name class and instance in each ``super()`` of the method."""
    arguments = [*tree.args.posonlyargs, *tree.args.args]
    if not arguments:
        return tree
    for node in gast.walk(tree):
        if (
            isinstance(node, gast.Call)
            and isinstance(node.func, gast.Name)
            and node.func.id == "super"
            and not node.args
            and not node.keywords
        ):
            at = span_of(node)
            node.args = [load("__class__", at), load(arguments[0].id, at)]
    return tree


PASS = Pass("supers", run)
