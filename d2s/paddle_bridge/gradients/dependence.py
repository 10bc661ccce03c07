"""Which inputs of a program a gradient of each of its outputs can reach.

Paddle makes one node of a program: a backward that comes to one output goes on to the history of
all inputs, also of those that the output was not computed from.  Dygraph does not::

    peak = maximum(peak, loss)     reached by what comes to ``peak``: peak and loss
    loss = ...                     reached by what comes to ``loss``: not peak
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from d2s.paddle_bridge.capturing.leaves import is_cut
from d2s.paddle_bridge.values import is_fake
from d2s.paddle_bridge.walks import arguments_of, blocks_of, under

Positions = frozenset[int]
_NONE: Positions = frozenset()
_Reached = defaultdict[int, Positions]


def reached_inputs(program: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Positions]:
    """For each output the positions of the inputs that a gradient of it can reach.

    What goes through a branch or loop is told apart by its results; of other operations each
    result counts as computed from every operand.

    Args:
        program: with no gradients in it.
        inputs: its inputs, and what it reads as its parameters.
        outputs: its outputs.
    """
    found: _Reached = defaultdict(lambda: _NONE)
    found.update({value.id: frozenset([at]) for at, value in enumerate(inputs)})
    _walk(program.global_block(), found)
    return [found[value.id] for value in outputs]


def _walk(block: Any, found: _Reached) -> None:
    for operation in block.ops:
        if operation.name() == "pd_op.while":
            _loop(operation, found)
        elif operation.name() == "pd_op.if":
            _branch(operation, found)
        else:
            _plain(operation, found)


def _read(operation: Any) -> list[Any]:
    return [value for value in operation.operands_source() if not is_fake(value)]


def _note(value: Any, positions: Positions, found: _Reached) -> None:
    if not value.stop_gradient and positions - found[value.id]:
        found[value.id] |= positions


def _plain(operation: Any, found: _Reached) -> None:
    read = _read(operation)
    for block in blocks_of(operation):
        for inner in under(block):
            read += _read(inner)
    positions = _NONE.union(*(found[value.id] for value in read))
    if not positions or is_cut(operation):
        return
    for result in operation.results():
        _note(result, positions, found)
    if operation.name().endswith("_"):
        _note(read[0], positions, found)
    for value in read:
        if value.is_dense_tensor_array_type():
            _note(value, positions, found)


def _branch(operation: Any, found: _Reached) -> None:
    for block in blocks_of(operation):
        _walk(block, found)
        given = _read(block.ops[-1]) if operation.num_results() else []
        for result, value in zip(operation.results(), given, strict=True):
            _note(result, found[value.id], found)


def _loop(operation: Any, found: _Reached) -> None:
    (body,) = blocks_of(operation)
    arguments = arguments_of(body)
    for argument, value in zip(arguments, _read(operation)[1:], strict=True):
        _note(argument, found[value.id], found)
    before = None
    while before != dict(found):
        before = dict(found)
        _walk(body, found)
        for argument, value in zip(arguments, _read(body.ops[-1])[1:], strict=True):
            _note(argument, found[value.id], found)
    for result, argument in zip(operation.results(), arguments, strict=True):
        found[result.id] |= found[argument.id]
