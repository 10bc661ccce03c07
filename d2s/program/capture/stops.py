"""Whether the run decides that a result stops gradients.

In dygraph a tensor has a gradient if the path that was taken has given it one.  A program says it
of a value once, for all runs: where one path has no gradient, the results say so after the run::

    if not valid.any():
        return paddle.zeros([])        the result stops gradients where not valid.any()
    return (bids * w).sum()

It is known where the conditions are values of the program's top level.
"""

from __future__ import annotations

from typing import Any

import paddle

from d2s import paddle_bridge as bridge

Stops = Any
"""``True``, ``False``, or a bool value of the program's top level."""


class Paths:
    """Finds out, for values of one program, on which runs they stop gradients."""

    def __init__(self) -> None:
        self._known: dict[int, Stops] = {}
        self._kept: list[Any] = []

    def of(self, value: Any) -> Stops:
        """When ``value`` stops gradients; ``False`` also where that is not known."""
        if value.stop_gradient:
            return True
        if value.id not in self._known:
            self._known[value.id] = False  # of a value that a loop carries
            self._kept.append(value)
            self._known[value.id] = self._found(value)
        return self._known[value.id]

    def _found(self, value: Any) -> Stops:
        operation = value.get_defining_op()
        if operation is None:
            return False
        name = operation.name()
        if name == "pd_op.if":
            return self._of_branch(operation, value)
        if bridge.blocks_of(operation) or not operation.num_operands():
            return False
        found: Stops = True
        for operand in operation.operands_source():
            if not bridge.is_fake(operand):
                found = _both(found, self.of(operand))
                if found is False:
                    return False
        return found

    def _of_branch(self, operation: Any, value: Any) -> Stops:
        index = [each.id for each in operation.results()].index(value.id)
        sides = [block.ops[-1].operand_source(index) for block in bridge.blocks_of(operation)]
        true, false = map(self.of, sides)
        if true is false and isinstance(true, bool):
            return true
        test = operation.operand_source(0)
        if not bridge.is_visible(test):
            return False
        return _either(_both(test, true), _both(paddle.logical_not(test), false))


def _both(one: Stops, other: Stops) -> Stops:
    if one is False or other is False:
        return False
    if one is True:
        return other
    return one if other is True else paddle.logical_and(one, other)


def _either(one: Stops, other: Stops) -> Stops:
    if one is False or other is False:
        return other if one is False else one
    return paddle.logical_or(one, other)
