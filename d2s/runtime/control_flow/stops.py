"""Whether the run decides that a tensor stops gradients.

In dygraph a tensor has a gradient if the path that was taken has given it one.  A program says it
of a value once, for all runs: where one path has no gradient, the results say so after the run::

    if not valid.any():
        return paddle.zeros([])        the result stops gradients where not valid.any()
    return (bids * w).sum()

What is found of a value can be computed wherever the value can be used: a branch hands on what
only its inside knows, and so does a loop, whose variables change with the trips.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.trace import current


@dataclass(frozen=True, eq=False)
class Test:
    """A condition that is computed where it is asked for.

    Attributes:
        parts: a bool value; or the conditions that ``joint`` is of.
        joint: ``"and"``, ``"or"``, ``"not"``; empty for a value.
        depth: in how many blocks the innermost value of it is.
    """

    parts: tuple[Any, ...]
    joint: str
    depth: int


Stops = bool | Test


def test_of(value: bridge.Value) -> Test:
    """``value``, a bool value that can be used here, as a condition."""
    return Test((value,), "", bridge.depth_of(value))


def are_followed() -> bool:
    """Whether the results of the program that is captured say when they stop gradients."""
    capture = current()
    return capture is not None and capture.gradients and not capture.export


def note_stops(value: bridge.Value, stops: Stops) -> None:
    """Note when ``value`` stops gradients, where its operations do not say it."""
    capture = current()
    if capture is not None:
        capture.notes.stops[value.id] = (value, stops)


def stops_of(value: bridge.Value) -> Stops:
    """When ``value`` stops gradients; ``False`` also where that is not known."""
    capture = current()
    if capture is None or not are_followed():
        return bool(value.stop_gradient)
    known = capture.notes.stops
    open_ = [value]
    while open_:
        found, unknown = _found(open_[-1], known)
        if unknown is not None:
            open_.append(unknown)
            continue
        done = open_.pop()
        if not done.stop_gradient:
            known[done.id] = (done, found)
    return _known(value, known) or False


def _known(value: bridge.Value, known: dict[int, Any]) -> Stops | None:
    if value.stop_gradient:
        return True
    noted = known.get(value.id)
    return None if noted is None else noted[1]


def _found(value: bridge.Value, known: dict[int, Any]) -> tuple[Stops, bridge.Value | None]:
    """When ``value`` stops gradients; or a value of which that has to be found before."""
    mine = _known(value, known)
    operation = value.get_defining_op()
    if mine is not None or operation is None:
        return mine or False, None
    if operation.name() == "pd_op.if":
        return _of_branch(operation, value, known)
    if bridge.blocks_of(operation) or bridge.is_made_of_constants(value):
        return False, None  # in the latter case the user has said it
    found: Stops = True
    for operand in operation.operands_source():
        if bridge.is_fake(operand):
            continue
        each = _known(operand, known)
        if each is None:
            return False, operand
        found = both(found, each)
        if found is False:
            break
    return found, None


def _of_branch(
    operation: Any, value: bridge.Value, known: dict[int, Any]
) -> tuple[Stops, bridge.Value | None]:
    index = [each.id for each in operation.results()].index(value.id)
    sides = [block.ops[-1].operand_source(index) for block in bridge.blocks_of(operation)]
    true, false = (_known(side, known) for side in sides)
    if true is None or false is None:
        return False, sides[0 if true is None else 1]
    if true is false and isinstance(true, bool):
        return true, None
    test = test_of(operation.operand_source(0))
    return either(both(test, true), both(opposite(test), false)), None


def both(one: Stops, other: Stops) -> Stops:
    """Whether both conditions hold."""
    if isinstance(one, bool):
        return other if one else False
    if isinstance(other, bool):
        return one if other else False
    return Test((one, other), "and", max(one.depth, other.depth))


def either(one: Stops, other: Stops) -> Stops:
    """Whether one of the conditions holds."""
    if isinstance(one, bool):
        return True if one else other
    if isinstance(other, bool):
        return True if other else one
    return Test((one, other), "or", max(one.depth, other.depth))


def opposite(test: Test) -> Test:
    """Whether ``test`` does not hold."""
    return Test((test,), "not", test.depth)


def is_known_here(stops: Stops) -> bool:
    """Whether ``stops`` can be computed where the next operation is made."""
    return isinstance(stops, bool) or stops.depth <= bridge.depth_of()


_JOINTS = {"and": paddle.logical_and, "or": paddle.logical_or, "not": paddle.logical_not}


def computed(stops: Stops) -> bool | bridge.Value:
    """``stops`` as a bool, or as a bool value that is computed here; ``False`` if unknown here."""
    if isinstance(stops, bool) or not is_known_here(stops):
        return stops is True
    made: dict[int, bridge.Value] = {}
    for test in _inner_first(stops):
        made[id(test)] = (
            _JOINTS[test.joint](*(made[id(part)] for part in test.parts))
            if test.joint
            else test.parts[0]
        )
    made[id(stops)].stop_gradient = True
    return made[id(stops)]


def _inner_first(test: Test) -> Iterator[Test]:
    """The conditions that ``test`` is made of, and then ``test``; each once."""
    seen: set[int] = set()
    open_ = [(test, False)]
    while open_:
        each, ready = open_.pop()
        if ready:
            yield each
        elif id(each) not in seen:
            seen.add(id(each))
            open_.append((each, True))
            open_ += [(part, False) for part in each.parts if each.joint]
