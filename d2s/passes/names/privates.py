"""Mangle private names as Python does inside a class (rule A2).

Within ``class Net``:

>>> show(PASS, '''
... def forward(self, x):
...     return self.__scale * x
... ''', class_name="Net")
def forward(self, x):
    return self._Net__scale * x

The names of keywords in calls are not mangled, Python leaves them as they are.
"""

from __future__ import annotations

from typing import Any

import gast

from d2s.passes.base import Context, Pass


def run(tree: Any, ctx: Context) -> Any:
    """Mangle every name of the method; names inside an inner class belong to that class."""
    owner = (ctx.source.class_name or "").lstrip("_")
    if not owner:
        return tree

    def mangled(name: str) -> str:
        if name.startswith("__") and not name.endswith("__") and "." not in name:
            return f"_{owner}{name}"
        return name

    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, gast.ClassDef):
            node.name = mangled(node.name)
            continue
        if isinstance(node, gast.Attribute):
            node.attr = mangled(node.attr)
        elif isinstance(node, gast.Name):
            node.id = mangled(node.id)
        elif isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef) and node is not tree:
            node.name = mangled(node.name)
        elif isinstance(node, gast.Global | gast.Nonlocal):
            node.names = [mangled(name) for name in node.names]
        elif isinstance(node, gast.alias):
            name = node.asname or node.name
            if mangled(name) != name:
                node.asname = mangled(name)
        elif isinstance(node, gast.MatchAs | gast.MatchStar) and node.name is not None:
            node.name = mangled(node.name)
        elif isinstance(node, gast.MatchMapping) and node.rest is not None:
            node.rest = mangled(node.rest)
        stack.extend(gast.iter_child_nodes(node))
    return tree


PASS = Pass("privates", run)
