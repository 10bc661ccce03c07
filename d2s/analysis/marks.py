r"""What occurs in a function at all, so that passes which have nothing to do in it are left out.

>>> import gast
>>> tree = gast.parse("def f(x):\n    return -x.mean()").body[0]
>>> marks = marks_in(tree)
>>> gast.Call in marks, gast.USub in marks, gast.If in marks, "mean" in marks
(True, True, False, True)
"""

from __future__ import annotations

from typing import Any

import gast

from d2s.analysis.walk import walk

Mark = type | str
"""A type of node, the operator of an expression, the name of a variable or attribute, or ``"*"`` of
a function that takes any number of arguments."""


def marks_in(tree: Any) -> set[Mark]:
    """Every mark of ``tree``, in nested functions too."""
    found: set[Mark] = set()
    for node in walk(tree):
        kind = node.__class__
        found.add(kind)
        if kind is gast.Name:
            found.add(node.id)
        elif kind is gast.Attribute:
            found.add(node.attr)
        elif kind is gast.BinOp or kind is gast.UnaryOp:
            found.add(node.op.__class__)
        elif kind is gast.arguments and node.vararg is not None:
            found.add("*")
    return found
