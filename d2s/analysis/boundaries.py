"""What crosses the boundaries of stretches of statements, where they become functions."""

from __future__ import annotations

from typing import Any

from d2s.analysis import scopes
from d2s.analysis.definite import Binding
from d2s.analysis.flow import flow_of
from d2s.analysis.liveness import Liveness
from d2s.analysis.uses import EMPTY, Set, Uses, bound_in


class _Recorded(Binding):
    """The forward walk, which remembers what is bound where each statement begins."""

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
