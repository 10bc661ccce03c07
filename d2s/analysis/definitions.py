"""Where each variable gets its values: beniget's def-use chains, as plain values.

Used where a message names "the line of its last assignment", and to find names that a function
reads from outside (its globals and closure).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import beniget
import gast


@dataclass(frozen=True)
class Definitions:
    """The facts of one function.

    Attributes:
        lines: for each local variable, the lines on which it is bound, ascending.
        outside: names that are read but not bound in the function: globals, closure, built-ins.
    """

    lines: dict[str, tuple[int, ...]]
    outside: frozenset[str]


class _Chains(beniget.DefUseChains):  # type: ignore[misc]
    """Def-use chains that collect unbound names instead of printing warnings."""

    def __init__(self) -> None:
        super().__init__()
        self.outside: set[str] = set()

    def unbound_identifier(self, name: str, node: Any) -> None:
        self.outside.add(name)

    def visit_MatchSingleton(self, node: Any) -> Any:
        """``case None``: beniget 0.5 takes the constant for an expression."""
        return self.chains.setdefault(node, beniget.Def(node))

    def warn(self, msg: str, node: Any) -> None:
        """Say nothing: a doubtful name is found by the flow analysis."""


def definitions_of(function: Any) -> Definitions:
    """The definitions of one gast ``FunctionDef``.

    >>> import gast
    >>> tree = gast.parse('''
    ... def f(x):
    ...     y = x + w
    ...     z = y
    ... ''').body[0]
    >>> facts = definitions_of(tree)
    >>> facts.lines["y"], sorted(facts.outside)
    ((3,), ['w'])
    >>> tree = gast.parse('''
    ... def f(x):
    ...     match x:
    ...         case None:
    ...             y = 1
    ... ''').body[0]
    >>> definitions_of(tree).lines["y"]
    (5,)
    """
    chains = _Chains()
    chains.visit(gast.Module([function], []))
    lines: dict[str, set[int]] = {}
    for definition in chains.locals[function]:
        name = definition.name()
        line = getattr(definition.node, "lineno", None)
        lines.setdefault(name, set())
        if line is not None:
            lines[name].add(line)
    return Definitions(
        {name: tuple(sorted(found)) for name, found in lines.items()},
        frozenset(chains.outside),
    )
