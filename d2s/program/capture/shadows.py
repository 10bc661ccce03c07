"""Conditions on numbers of the state, decided while the program is captured.

A function that does something every few calls cannot always have both sides in its program::

    self.step_no += 1
    if self.step_no % self.k == 0:
        self.optimizer.step()

The number is an input of the program, so that there is not a program for every value.  What is
computed of it is computed beside the capture as well; a condition then is what it is on the present
call, and a guard of the program: it serves the calls on which the condition is the same.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from d2s import paddle_bridge as bridge
from d2s.program.state.guards import Guard, same_constant_now
from d2s.program.state.places import Place, Reading
from d2s.runtime.values.tensors import number_kind

Expression = Callable[[list[Any]], Any]
"""A number, from the numbers at the places."""

_OPERATORS: Final = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "gt", "ge", "eq", "ne",
)  # fmt: skip


class Shadows:
    """What the numbers of a capture are on the present call.

    Args:
        places: where the numbers of the state are kept.
        found: what they are now.
        values: what stands for them in the program.
        relied: takes the guards.
    """

    def __init__(
        self, places: list[Place], found: list[Any], values: list[Any], relied: list[Guard]
    ) -> None:
        self.places = places
        self.found = found
        self.relied = relied
        self.known: dict[Any, tuple[Any, Expression]] = {
            value.id: (value, operator.itemgetter(at)) for at, value in enumerate(values)
        }

    def note(self, name: str, operands: tuple[Any, ...], result: Any) -> None:
        """Note what an operation on numbers computes."""
        plain = name.strip("_")
        swapped = plain not in _OPERATORS and plain.startswith("r") and plain[1:] in _OPERATORS
        parts = [self._expression(operand) for operand in operands]
        if not (swapped or plain in _OPERATORS) or len(parts) != 2 or None in parts:
            return
        function = getattr(operator, plain[1:] if swapped else plain)
        left, right = reversed(parts) if swapped else parts
        self.known[result.id] = (result, _applied(function, left, right))

    def _expression(self, operand: Any) -> Any:
        if bridge.is_value(operand):
            found = self.known.get(operand.id)
            return None if found is None else found[1]
        return (lambda numbers: operand) if number_kind(operand) is not None else None

    def decide(self, test: Any) -> bool | None:
        """How a condition is on the present call, and on every call of the program."""
        known = self.known.get(test.id)
        if known is None:
            return None
        _, expression = known
        truth = bool(expression(self.found))
        names = " and ".join(place.path for place in self.places)

        def told(places: list[Place]) -> Any:
            try:
                return bool(expression([place.get() for place in places]))
            except (TypeError, ArithmeticError):  # something else stands there now
                return None

        self.relied.append(Guard(Reading(self.places, told, names), same_constant_now, truth))
        return truth


def _applied(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Expression:
    return lambda numbers: function(left(numbers), right(numbers))
