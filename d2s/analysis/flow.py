"""Which variables are live, and which may be unbound: two walks over the structured tree.

Liveness is the classic backward analysis; it decides what a branch or loop hands on (rules B1
and C2: only what is assigned there *and* read afterwards).  Definite assignment is the forward
one; it decides which reads must be checked (rules B2 and C3).

Both run on trees whose jumps have been lowered, but are right for ``break``, ``continue`` and
``return`` as well, which remain in code that stays Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gast

from d2s.analysis import scopes
from d2s.analysis.definite import Binding
from d2s.analysis.liveness import Liveness
from d2s.analysis.uses import EMPTY, Set, Uses


@dataclass(frozen=True)
class Flow:
    """The facts of one function; keys are ``id(node)`` of nodes that ``nodes`` keeps alive.

    A pass may replace a node: another one would get its ``id`` if nothing kept it.

    Attributes:
        root: the function that was looked at.
        after: variables live after an ``if``, loop or other compound statement.
        entering: variables whose value on entry to a branch body or loop body matters.
        unsure: each ``Name`` that is read where it may be unbound, by its ``id``.
        captured: variables that nested functions may read at any time.
        locals_: the function's own variables.
        globals_: names that it declares ``global``.
        nodes: all nodes of the function but those of functions in it.
    """

    root: Any
    after: dict[int, Set]
    entering: dict[int, Set]
    unsure: dict[int, Any]
    captured: Set
    locals_: Set
    globals_: Set
    nodes: list[Any]


_SEES_ALL = frozenset({"locals", "vars", "eval", "exec", "dir"})


def flow_of(function: Any) -> Flow:
    """The flow facts of one gast ``FunctionDef`` (nested functions are looked at on their own).

    >>> import gast
    >>> tree = gast.parse('''
    ... def f(x):
    ...     if x > 0:
    ...         t = x * 2
    ...         y = t
    ...     return y
    ... ''').body[0]
    >>> flow = flow_of(tree)
    >>> sorted(flow.after[id(tree.body[0])]), len(flow.unsure)
    (['y'], 1)
    """
    globals_ = scopes.declared(function, gast.Global)
    outside = globals_ | scopes.declared(function, gast.Nonlocal)
    nodes = list(scopes.own_nodes(function.body))
    locals_ = (frozenset(scopes.parameters(function)) | scopes.changes_of(nodes).bound) - outside
    later = EMPTY.union(*[scopes.reads_in(n) for n in nodes if n.__class__ in scopes.CAPTURING])
    captured = later & locals_
    always = captured | outside
    reads = {n.id for n in nodes if n.__class__ is gast.Name and n.ctx.__class__ is gast.Load}
    if (later | outside | reads) & _SEES_ALL:
        always |= locals_
    uses = Uses()
    liveness = Liveness(always, uses)
    liveness.settled(function.body, always)
    binding = Binding(locals_, uses)
    binding.block(function.body, frozenset(scopes.parameters(function)), [])
    return Flow(
        function,
        liveness.after,
        liveness.entering,
        binding.unsure,
        captured,
        locals_,
        globals_,
        nodes,
    )
