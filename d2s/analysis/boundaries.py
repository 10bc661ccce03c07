"""What crosses the boundaries of stretches of statements, where they become functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import gast

from d2s.analysis import scopes
from d2s.analysis.definite import Binding
from d2s.analysis.flow import flow_of
from d2s.analysis.liveness import Liveness
from d2s.analysis.uses import EMPTY, Set, Uses, bound_in
from d2s.analysis.walk import walk

_ASKED: Final = frozenset(("grad", "gradient", "register_hook", "retain_grads"))
"""Attributes that are about the gradient of a tensor."""

_ASKS: Final = frozenset(("grad", "jacobian", "hessian", "Jacobian", "Hessian", "vjp", "jvp"))
"""Functions that are given the tensors whose gradients they are asked for."""


class _Recorded(Binding):
    """The forward walk, which remembers what is bound where each statement begins.

    ``before`` is by ``id``: ``Flow.nodes`` keeps the statements.
    """

    def __init__(self, locals_: Set) -> None:
        super().__init__(locals_, Uses())
        self.before: dict[int, Set] = {}

    def statement(self, node: Any, bound: Set | None, breaks: list[Set]) -> Set | None:
        if bound is not None:
            known = self.before.get(id(node))
            self.before[id(node)] = bound if known is None else known & bound
        return super().statement(node, bound, breaks)


class Boundaries:
    """What crosses the boundaries of stretches of statements, where they become functions.

    Args:
        function: the gast ``FunctionDef`` that the statements belong to.

    >>> import gast
    >>> tree = gast.parse('''
    ... def f(x, n):
    ...     y = x * n
    ...     z = y + 1
    ...     return z
    ... ''').body[0]
    >>> bounds, first = Boundaries(tree), tree.body[:2]
    >>> sorted(bounds.reads(first)), sorted(bounds.gives(first)), bounds.unsure(first)
    (['n', 'x'], ['z'], frozenset())
    """

    def __init__(self, function: Any) -> None:
        self.flow = flow_of(function)
        self._recorded = _Recorded(self.flow.locals_)
        self._recorded.block(function.body, frozenset(scopes.parameters(function)), [])
        self._uses = Uses()
        self._differentiated = frozenset(_differentiated(function))

    def reached(self, stretch: list[Any]) -> bool:
        """Whether control comes to ``stretch``."""
        return id(stretch[0]) in self._recorded.before

    def gives(self, stretch: list[Any]) -> Set:
        """The variables that ``stretch`` binds and that are read behind it."""
        after = self.flow.after.get(id(stretch[-1]), EMPTY)
        return bound_in(stretch) & after & self.flow.locals_

    def reads(self, stretch: list[Any]) -> Set:
        """The variables whose values on entry to ``stretch`` matter."""
        live = Liveness(EMPTY, self._uses).settled(stretch, self.gives(stretch))
        return live & self.flow.locals_

    def unsure(self, stretch: list[Any]) -> Set:
        """Those of :meth:`reads` and :meth:`gives` that may be unbound where they are needed."""
        before = self._recorded.before[id(stretch[0])]
        after = Binding(self.flow.locals_, self._uses).block(stretch, before, [])
        unsure = self.reads(stretch) - before
        return unsure if after is None else unsure | self.gives(stretch) - after

    def parts(self, stretch: list[Any]) -> bool:
        """Whether ``stretch`` would part a variable from what is differentiated by it elsewhere.

        Of two results of one function, nobody can tell how one depends on the other.  What takes a
        hook away again is a result, too.
        """
        if self.gives(stretch) & frozenset(_hooks(stretch)):
            return True
        for name in self._differentiated & self.gives(stretch):
            bound = [at for at, each in enumerate(stretch) if name in bound_in([each])]
            rest = [each for each in stretch[bound[-1] + 1 :] if not _sets_flag(each, name)]
            if name in scopes.reads_in(rest) or name in _read_in_blocks(stretch[bound[-1]]):
                return True
        return False


def _differentiated(function: Any) -> Iterator[str]:
    """The variables of which gradients are asked somewhere, as far as the text tells."""
    for node in walk(function):
        if isinstance(node, gast.Attribute) and isinstance(node.value, gast.Name):
            set_ = node.attr == "stop_gradient" and isinstance(node.ctx, gast.Store)
            if set_ or node.attr in _ASKED:
                yield node.value.id
        elif isinstance(node, gast.Call) and _name_of(node.func) in _ASKS:
            given = node.args[1:] if _name_of(node.func) == "grad" else node.args
            for part in (*given, *(each.value for each in node.keywords)):
                yield from (each.id for each in walk(part) if isinstance(each, gast.Name))
        elif isinstance(node, gast.Assign) and isinstance(node.value, gast.Call):
            flags = [each for each in node.value.keywords if each.arg == "stop_gradient"]
            if flags or _name_of(node.value.func) == "create_parameter":
                yield from bound_in([node])


def _hooks(stretch: list[Any]) -> Iterator[str]:
    """The variables that hold what ``register_hook`` gives."""
    for node in (each for statement in stretch for each in walk(statement)):
        given = node.value if isinstance(node, gast.Assign) else None
        if isinstance(given, gast.Call) and _name_of(given.func) == "register_hook":
            yield from bound_in([node])


def _name_of(function: Any) -> str | None:
    return getattr(function, "attr", None) or getattr(function, "id", None)


def _sets_flag(statement: Any, name: str) -> bool:
    """Whether ``statement`` is ``name.stop_gradient = ...``."""
    targets = statement.targets if isinstance(statement, gast.Assign) else ()
    return bool(targets) and all(
        isinstance(each, gast.Attribute)
        and each.attr == "stop_gradient"
        and isinstance(each.value, gast.Name)
        and each.value.id == name
        for each in targets
    )


def _read_in_blocks(statement: Any) -> frozenset[str]:
    """What a compound statement reads."""
    return scopes.reads_in([statement]) if getattr(statement, "body", None) else frozenset()
