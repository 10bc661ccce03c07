"""Route calls through ``d2s.call``, which gives the converted function to call.

The callee is converted, not called, by the operator: the call itself stays in the user's frame,
so tracebacks and evaluation order are Python's own.  Calls into Paddle and other modules that
are never converted stay as they are, except where a grown list may be handed over, or a value
that a branch, a loop or a choice has set: it may be one of several.

>>> show(PASS, '''
... def f(x, outs, **options):
...     y = helper(x, scale=2)
...     y = helper(y, **options)
...     outs.append(y.mean())
...     return len(outs)
... ''')
def f(x, outs, **options):
    y = d2s.call(helper)(x, scale=2)
    y = d2s.call_unpacked(helper)(y, **d2s.keywords(options))
    d2s.call(outs.append)(d2s.call(y.mean)())
    return d2s.call(len)(outs)
"""

from __future__ import annotations

import functools
import types
from typing import Any, Final

import gast

from d2s.analysis.scopes import dotted, local_names
from d2s.passes.base import CHOOSERS, Context, Pass, decided_in, functions_in
from d2s.syntax.positions import span_of
from d2s.syntax.trees import Rewriter

NEEDS_OPERATOR: Final = frozenset(
    (
        "DataParallel", "as_tensor", "asarray", "assign", "auto_cast", "backward", "grad",
        "increment", "tensor", "tile", "to_tensor", "tolist", "unique",
    )
)  # fmt: skip
"""Functions of Paddle that mean something else in a program than in dygraph."""

LOOKS_AT_KIND: Final = frozenset(
    (
        "cummax", "cummin", "cumprod", "flatten", "median", "nanmedian", "nanquantile", "quantile",
        "ravel", "repeat_interleave", "take", "view", "view_as",
    )
)  # fmt: skip
"""Functions of Paddle that refuse a tensor of dygraph (a parameter, say) while they capture."""

PLACE_OF_OUT: Final = {
    **dict.fromkeys(("bitwise_not", "bitwise_invert"), 1),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), 2),
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), 3),
    **dict.fromkeys(("gather", "norm", "normalize", "prod"), 4),
    "scatter": 5,
}
"""Functions of Paddle that may be given ``out`` by position, and which one that is."""

LIST_TAKERS: Final = frozenset(
    (
        "add_n", "block_diag", "broadcast_tensors", "cartesian_prod", "column_stack", "concat",
        "dstack", "hstack", "multi_dot", "multiplex", "row_stack", "stack", "vstack",
    )
)  # fmt: skip
"""Functions of Paddle that take a list of tensors, which may be one that grew in a loop."""

NEVER_CONVERTED: Final = ("paddle", "numpy", "itertools", "functools")
"""Modules whose functions are called as they are; callbacks handed to them are the exception."""

TAKES_CALLBACK: Final = ("functools", "itertools")

_MAY_BE_CHOSEN: Final = (gast.Name, gast.Attribute, gast.Subscript, gast.Call, gast.IfExp)
"""Expressions of which a tensor may decide what they are."""


class _Calls(Rewriter):
    def __init__(self, ctx: Context, tree: Any) -> None:
        self.ctx = ctx
        self.tree = tree
        self.locals_ = frozenset[str]().union(*map(local_names, functions_in(tree)))
        self.made = ctx.generated_names

    @functools.cached_property
    def decided(self) -> frozenset[str]:
        # Asked for when there is a call that may stay; converted calls decide nothing more.
        return decided_in(self.tree, self.ctx)

    def visit_ClassDef(self, node: Any) -> Any:
        return node

    def visit_FunctionDef(self, node: Any) -> Any:
        # Decorators and defaults are the user's; calls in them run when the function is made.
        node.body = [self.visit(statement) for statement in node.body]
        node.decorator_list = [self.visit(item) for item in node.decorator_list]
        return node

    def visit_Call(self, node: Any) -> Any:
        self.generic_visit(node)
        function = node.func
        if self.ctx.is_word(function):
            return node
        if self._stays(function) and not (self._may_differ(node) or _may_give_out(node)):
            return node
        if isinstance(function, gast.Name) and (function.id == "super" or function.id in self.made):
            return node
        word = "call_unpacked" if self._unpack(node) else "call"
        node.func = self.ctx.expr(f"d2s.{word}(function)", span_of(function), function=function)
        return node

    def _unpack(self, node: Any) -> bool:
        """Route what stands behind ``*`` and ``**`` through operators; whether there is any."""
        found = False
        for argument in node.args:
            if isinstance(argument, gast.Starred) and isinstance(argument.value, _MAY_BE_CHOSEN):
                argument.value = self._routed("unpacked", argument.value)
                found = True
        for keyword in node.keywords:
            if keyword.arg is None and isinstance(keyword.value, _MAY_BE_CHOSEN):
                keyword.value = self._routed("keywords", keyword.value)
                found = True
        return found

    def _routed(self, word: str, value: Any) -> Any:
        return self.ctx.expr(f"d2s.{word}(value)", span_of(value), value=value)

    def _may_differ(self, node: Any) -> bool:
        """Whether an argument may be something that a tensor has decided, such as an axis."""
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        while arguments:
            part = arguments.pop()
            if isinstance(part, gast.Starred):
                part = part.value
            if self.ctx.careful and not isinstance(part, gast.Constant):
                return True
            while isinstance(part, gast.Subscript):
                part = part.value
            if isinstance(part, gast.List | gast.Tuple):
                arguments.extend(part.elts)
            elif dotted(part) in self.decided or (
                isinstance(part, gast.Call) and self._chooses(part.func)
            ):
                return True
        return False

    def _chooses(self, function: Any) -> bool:
        return self.ctx.is_word(function) and function.attr in CHOOSERS

    def _stays(self, function: Any) -> bool:
        """Whether ``function`` is plainly one that is never converted."""
        path = dotted(function)
        if path is None:
            return False
        root, *rest = path.split(".")
        if root in self.locals_:
            return False
        found = self.ctx.resolve(root)
        for part in rest:
            if not isinstance(found, types.ModuleType):
                break
            found = getattr(found, part, None)
        else:
            if isinstance(found, types.ModuleType) or not rest:
                return isinstance(found, type) and issubclass(found, BaseException)
        home = str(getattr(found, "__module__", "") or "").split(".")[0]
        names = {rest[-1], str(getattr(found, "__name__", ""))}  # paddle.cat is paddle.concat
        return (
            isinstance(self.ctx.resolve(root), types.ModuleType)
            and home in NEVER_CONVERTED
            and home not in TAKES_CALLBACK
            and not rest[-1].endswith("_")  # it changes a tensor in place
            and not names & (LIST_TAKERS | NEEDS_OPERATOR | LOOKS_AT_KIND)
            and "random" not in rest  # NumPy's, which a program would repeat
        )


def _may_give_out(node: Any) -> bool:
    """Whether a call of Paddle's is given a tensor to write into, which a program would ignore."""
    if any(keyword.arg in ("out", None) for keyword in node.keywords):
        return True
    place = PLACE_OF_OUT.get(str(dotted(node.func)).split(".")[-1])
    return place is not None and (
        len(node.args) > place or any(isinstance(item, gast.Starred) for item in node.args)
    )


def run(tree: Any, ctx: Context) -> Any:
    """Convert the calls of the whole tree."""
    transformer = _Calls(ctx, tree)
    tree.body = [transformer.visit(statement) for statement in tree.body]
    return tree


PASS = Pass("calls", run, after=("boolean", "ternary", "asserts", "raises"))
