"""Liveness: the backward walk over the structured tree.

It decides what a branch or loop hands on (rules B1 and C2: only what is assigned there *and* read
afterwards).  A loop is walked with what is known of its head so far, and the whole function again
until nothing is added: the second time finds nothing new, so that nests cost what their text costs.

Source: Aho, Lam, Sethi, Ullman, *Compilers*, 2nd ed., 9.2.5 (live variables), restated for
structured programs, so that no control-flow graph is built.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import gast

from d2s.analysis import scopes
from d2s.analysis.uses import ASSIGNING, EMPTY, Set, Uses, bound_in, handler_name


@dataclass
class Liveness:
    """State of the backward walk; ``after`` and ``entering`` grow monotonically.

    ``grown`` tells whether the head of a loop has turned out to be more than was known.
    """

    always: Set
    uses: Uses
    after: dict[int, Set] = field(default_factory=dict)
    entering: dict[int, Set] = field(default_factory=dict)
    grown: bool = False

    def settled(self, statements: list[Any], out: Set) -> Set:
        """What is live before ``statements``, where ``out`` is behind them, when nothing grows."""
        live = self.block(statements, out, (EMPTY, EMPTY), EMPTY)
        while self.grown:
            self.grown = False
            live = self.block(statements, out, (EMPTY, EMPTY), EMPTY)
        return live

    def reads(self, tree: Any) -> Set:
        return self.uses.of(tree).reads

    def block(self, statements: list[Any], out: Set, loop: tuple[Set, Set], extra: Set) -> Set:
        for statement in reversed(statements):
            out = self.statement(statement, out, loop, extra)
            if extra:
                out |= extra
        return out

    def statement(self, node: Any, out: Set, loop: tuple[Set, Set], extra: Set) -> Set:
        if self.always:
            out |= self.always
        if extra:
            out |= extra  # an exception may leave it anywhere
        known = self.after.get(id(node))
        self.after[id(node)] = out if known is None else known | out
        if isinstance(node, ASSIGNING):
            use = self.uses.of(node)
            return use.reads | (out - use.bound)
        if isinstance(node, gast.If):
            body = self.block(node.body, out, loop, extra)
            orelse = self.block(node.orelse, out, loop, extra)
            self.entering[id(node)] = self.entering.get(id(node), EMPTY) | body | orelse
            test = self.uses.of(node.test)
            return test.reads | ((body | orelse) - test.walrus)
        if isinstance(node, gast.While | gast.For | gast.AsyncFor):
            return self.loop(node, out, loop, extra)
        if isinstance(node, gast.Try | gast.TryStar):
            return self.try_(node, out, loop, extra)
        if isinstance(node, gast.With | gast.AsyncWith):
            # A context manager may swallow an exception: what is live after is live all along.
            inner = self.block(node.body, out, loop, extra | out)
            return scopes.reads_in(node.items) | inner - bound_in(
                [item.optional_vars for item in node.items if item.optional_vars is not None]
            )
        if isinstance(node, gast.Match):
            inner = out
            for case in node.cases:
                guard = EMPTY if case.guard is None else self.reads(case.guard)
                body = self.block(case.body, out, loop, extra)
                inner |= (guard | body) - bound_in([case.pattern])
                inner |= scopes.reads_in(case.pattern)
            self.entering[id(node)] = self.entering.get(id(node), EMPTY) | inner
            return self.reads(node.subject) | inner
        if isinstance(node, gast.Return):
            return self.always | (EMPTY if node.value is None else self.reads(node.value))
        if isinstance(node, gast.Raise):
            return self.always | extra | self.reads(node)
        if isinstance(node, gast.Break):
            return loop[0]
        if isinstance(node, gast.Continue):
            return loop[1]
        use = self.uses.of(node)
        if isinstance(node, gast.Delete):  # what is unbound has to be bound
            return use.reads | out | bound_in([node])
        return use.reads | (out - use.bound)

    def loop(self, node: Any, out: Set, outer: tuple[Set, Set], extra: Set) -> Set:
        after = self.block(node.orelse, out, outer, extra) if node.orelse else out
        bound: Set = EMPTY
        if isinstance(node, gast.While):
            head_reads = self.reads(node.test)
        else:
            head_reads = EMPTY
            bound = bound_in([node.target])
        head = self.entering.get(id(node), EMPTY) | after | head_reads
        body = self.block(node.body, head, (out, head), extra)
        added = body - bound - head
        if added:
            self.grown = True
            head |= added
        self.entering[id(node)] = head
        if isinstance(node, gast.While):
            return head
        return head | self.reads(node.iter)

    def try_(self, node: Any, out: Set, loop: tuple[Set, Set], extra: Set) -> Set:
        final = self.block(node.finalbody, out, loop, extra) if node.finalbody else out
        leave = loop
        if node.finalbody:
            leave = (loop[0] | final, loop[1] | final)
            extra = extra | final
        handlers: Set = EMPTY
        for handler in node.handlers:
            inner = self.block(handler.body, final, leave, extra)
            handlers |= inner - handler_name(handler)
            if handler.type is not None:
                handlers |= scopes.reads_in(handler.type)
        orelse = self.block(node.orelse, final, leave, extra) if node.orelse else final
        # An exception may come between any two statements of the body.
        return self.block(node.body, orelse, leave, extra | handlers) | handlers
