"""The generated code to read: calls and operators as they were written, where they stayed that.

``d2s.call(d2s.call(x.abs)().max)()`` is what runs, and ``x.abs().max()`` is what one reads: words
that do on Python values, and mean on tensors, what the plain form does are taken out.  What has
become something else (branches, loops, built-ins, text) keeps its word.  Changes a copy.
"""

from __future__ import annotations

import builtins
from typing import Any, Final

import gast

from d2s.syntax.trees import Rewriter, copied
from d2s.syntax.vocabulary import NAMESPACE

_COMPARISONS: Final[dict[str, type]] = {
    "in_": gast.In,
    "not_in": gast.NotIn,
    "is_": gast.Is,
    "is_not": gast.IsNot,
    "eq": gast.Eq,
    "ne": gast.NotEq,
}
_FIRST: Final = frozenset(("read", "result", "seen", "unpacked", "keywords", "subject"))
"""Words that stand for their first argument."""


def readable(tree: Any) -> Any:
    """A generated tree with plain calls and operators.

    >>> from d2s.syntax.printer import text_of
    >>> text_of(readable(gast.parse("y = d2s.call(d2s.call(x.abs)().max)() + d2s.shape(x)[0]")))
    'y = x.abs().max() + x.shape[0]'
    >>> text_of(readable(gast.parse("d2s.if_(d2s.not_(d2s.call(len)(x)), body, None, ())")))
    'd2s.if_(not d2s.call(len)(x), body, None, ())'
    """
    return _Plain().visit(copied(tree))


class _Plain(Rewriter):
    """Takes transparent words out."""

    def visit_Call(self, node: Any) -> Any:
        """A word, or a call of what ``d2s.call`` has given."""
        self.generic_visit(node)
        made = _of_word(_word(node), node.args) if not node.keywords else None
        if made is not None:
            return gast.copy_location(made, node)
        called = node.func
        if _word(called) in ("call", "call_unpacked") and not _is_builtin(called.args[0]):
            node.func = called.args[0]
        return node


def _word(node: Any) -> str:
    """The word of generated code that a node calls; empty if none."""
    if not isinstance(node, gast.Call) or not isinstance(node.func, gast.Attribute):
        return ""
    owner = node.func.value
    return node.func.attr if isinstance(owner, gast.Name) and owner.id == NAMESPACE else ""


def _is_builtin(function: Any) -> bool:
    """Whether a function is a built-in, which has an operator of its own."""
    return isinstance(function, gast.Name) and hasattr(builtins, function.id)


def _of_word(word: str, given: list[Any]) -> Any:
    """The plain form of a word; None if it has none."""
    if word in _FIRST and given:
        return given[0]
    if word == "shape" and len(given) == 1:
        return gast.Attribute(given[0], "shape", gast.Load())
    if word == "getitem" and len(given) == 2:
        return gast.Subscript(given[0], given[1], gast.Load())
    if word == "not_" and len(given) == 1:
        return gast.UnaryOp(gast.Not(), given[0])
    if word == "percent" and len(given) == 2:
        return gast.BinOp(given[0], gast.Mod(), given[1])
    if word in _COMPARISONS and len(given) == 2:
        return gast.Compare(given[0], [_COMPARISONS[word]()], [given[1]])
    return None
