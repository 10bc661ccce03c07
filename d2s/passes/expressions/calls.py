"""Route calls through ``d2s.call``, which gives the converted function to call.

The callee is converted, not called, by the operator: the call itself stays in the user's frame,
so tracebacks and evaluation order are Python's own.  Calls into Paddle and other modules that
are never converted stay as they are where their arguments are plainly constants; any other one
may be a grown list, or one of several things that a tensor has decided, here or in a callee.

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

import builtins
import types
from typing import Any, Final

import gast

from d2s.analysis.scopes import dotted, local_names
from d2s.passes.base import Context, Pass, functions_in
from d2s.syntax.positions import span_of
from d2s.syntax.trees import Rewriter

NEEDS_OPERATOR: Final = frozenset(
    (
        "DataParallel", "as_tensor", "asarray", "assign", "auto_cast", "backward", "grad",
        "increment", "linspace", "logspace", "seed", "tensor", "tile", "to_tensor", "tolist",
        "unique",
    )
)  # fmt: skip
"""Functions of Paddle that mean something else in a program than in dygraph."""

NEVER_CONVERTED: Final = ("paddle", "numpy", "itertools", "functools")
"""Modules whose functions are called as they are; callbacks handed to them are the exception."""

TAKES_CALLBACK: Final = ("functools", "itertools")

_MAY_BE_CHOSEN: Final = (gast.Name, gast.Attribute, gast.Subscript, gast.Call, gast.IfExp)
"""Expressions of which a tensor may decide what they are."""


class _Calls(Rewriter):
    def __init__(self, ctx: Context, tree: Any) -> None:
        self.ctx = ctx
        self.locals_ = frozenset[str]().union(*map(local_names, functions_in(tree)))
        self.made = ctx.generated_names

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
        if self._is_exception(function):
            return node
        if self._stays(function) and not self._may_differ(node):
            return node
        if isinstance(function, gast.Name) and (function.id == "super" or function.id in self.made):
            return node
        if self._shows_variables(function) and not (node.args or node.keywords):
            hidden = " ".join(sorted({self.ctx.namespace, *self.made}))
            named, function.id = function.id == "dir", "locals"
            template = f"d2s.seen(found, {hidden!r}, {named})"
            return self.ctx.expr(template, span_of(node), found=node)
        word = "call_unpacked" if self._unpack(node) else "call"
        node.func = self.ctx.expr(f"d2s.{word}(function)", span_of(function), function=function)
        return node

    def _shows_variables(self, function: Any) -> bool:
        """Whether ``function`` is plainly one that shows the variables of who calls it."""
        name = function.id if isinstance(function, gast.Name) else ""
        plain = name in ("locals", "vars", "dir") and self.locals_.isdisjoint((name, "locals"))
        return plain and self.ctx.resolve(name) is getattr(builtins, name)

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
        return not all(map(self._is_sure, arguments))

    def _is_sure(self, argument: Any) -> bool:
        """Whether an argument is a constant, or made of constants by a call that stays."""
        if isinstance(argument, gast.Constant):
            return True
        if isinstance(argument, gast.UnaryOp):
            return self._is_sure(argument.operand)
        if isinstance(argument, gast.List | gast.Tuple):
            return all(map(self._is_sure, argument.elts))
        if isinstance(argument, gast.Call):
            return self._stays(argument.func) and not self._may_differ(argument)
        path = dotted(argument)
        if path is None or path.split(".")[0] in self.locals_:
            return False
        return isinstance(self.ctx.resolve(path.split(".")[0]), types.ModuleType)

    def _is_exception(self, function: Any) -> bool:
        """Whether ``function`` is plainly an exception class, which keeps what it is given."""
        if not isinstance(function, gast.Name) or function.id in self.locals_:
            return False
        found = self.ctx.resolve(function.id)
        return isinstance(found, type) and issubclass(found, BaseException)

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
                return False
        module = str(getattr(found, "__module__", "") or "")
        home = module.split(".")[0]
        names = {rest[-1], str(getattr(found, "__name__", ""))}  # paddle.cat is paddle.concat
        return (
            isinstance(self.ctx.resolve(root), types.ModuleType)
            and home in NEVER_CONVERTED
            and home not in TAKES_CALLBACK
            and not module.startswith("paddle.distributed.")  # processes meet in it
            and not rest[-1].endswith("_")  # it changes a tensor in place
            and not names & NEEDS_OPERATOR
            and "random" not in rest  # NumPy's, which a program would repeat
        )


def run(tree: Any, ctx: Context) -> Any:
    """Convert the calls of the whole tree."""
    transformer = _Calls(ctx, tree)
    tree.body = [transformer.visit(statement) for statement in tree.body]
    return tree


PASS = Pass("calls", run, after=("boolean", "ternary", "asserts", "raises"))
