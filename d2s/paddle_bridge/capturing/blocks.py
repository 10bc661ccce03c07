"""``if`` and ``while`` of a program, built when both sides or the body are known."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import paddle

from d2s.paddle_bridge.names import StaticPyLayerContext, build_if_op, build_while_op, cf_yield, pir
from d2s.paddle_bridge.walks import (
    arguments_of,
    blocks_of,
    is_visible,
    never_free,
    operations,
    tensor_operands,
    under,
)
from d2s.paddle_bridge.walks import inside as all_inside


class IfOp:
    """An ``if`` of a program: both sides are captured, then unified, then yield."""

    def __init__(self, pred: Any) -> None:
        self._op = build_if_op(pred)

    def side(self, which: bool) -> Any:
        """The context in which the true (or false) side is captured; may be entered again."""
        return self._op.true_block() if which else self._op.false_block()

    def makes(self, value: Any) -> bool:
        """Whether ``value`` is made inside one of the sides; code around cannot see it."""
        return _makes(self._op, value)

    def may_yield(self, which: bool, value: Any) -> bool:
        """Whether a side can hand out ``value``: it is made there, and in no block inside."""
        operation = value.get_defining_op()
        if operation is None or not self.makes(value):
            return True
        return bool(operation.get_parent_block() == self.side(which))

    def finish(self, true: list[Any], false: list[Any]) -> list[Any]:
        """Yield the two lists of values, one for one, and return the results."""
        with self._op.true_block():
            cf_yield(true)
        with self._op.false_block():
            cf_yield(false)
        self._op.update_output()
        results = list(self._op.results())
        for result, left, right in zip(results, true, false, strict=True):
            result.stop_gradient = left.stop_gradient and right.stop_gradient
        return results

    def drop(self) -> list[int]:
        """Take the operation out of the program again; gives the ids of the values that go."""
        return _taken_out(self._op.as_operation())


class WhileOp:
    """A ``while`` of a program over values that are known to be loop variables."""

    def __init__(self, pred: Any, inits: list[Any]) -> None:
        # The loop writes its later conditions over the first one, which others may read.
        self._op = build_while_op(paddle.assign(pred), inits)
        self._inits = inits
        self._arguments: set[int] = set()

    @contextlib.contextmanager
    def body(self) -> Iterator[list[Any]]:
        """The context in which the body is captured; gives the loop variables inside."""
        with self._op.body() as block:
            arguments = arguments_of(block)
            for argument, init in zip(arguments, self._inits, strict=True):
                argument.stop_gradient = init.stop_gradient
            self._arguments = {argument.id for argument in arguments}
            yield arguments

    def finish(self, pred: Any, values: list[Any]) -> list[Any]:
        """Yield from within :meth:`body`; call :meth:`results` outside of it."""
        pred.stop_gradient = True
        cf_yield([pred, *values])
        return values

    def makes(self, value: Any) -> bool:
        """Whether ``value`` is made in the body; variables of loops are made by nobody."""
        return _makes(self._op, value)

    def is_outer(self, value: Any) -> bool:
        """Whether ``value`` is there before the loop."""
        inside = self._arguments | {argument.id for argument, *_ in self.carried_inside()}
        return value.id not in inside and not self.makes(value)

    def carried_inside(self) -> Iterator[tuple[Any, Any, Any]]:
        """The variables of loops in the body; what each begins with, and what a trip leaves.

        Of those that are finished.
        """
        for operation in all_inside(self._op.as_operation()):
            (body,) = operation.blocks() if operation.name() == "pd_op.while" else (None,)
            if body is not None and body.ops and body.ops[-1].name() == "cf.yield":
                begins, ends = operation.operands_source()[1:], body.ops[-1].operands_source()[1:]
                yield from zip(arguments_of(body), begins, ends, strict=True)

    def results(self) -> list[Any]:
        """The loop variables after the loop."""
        return list(self._op.optimize_update())

    def drop(self) -> list[int]:
        """Take the operation out of the program again; gives the ids of the values that go."""
        return _taken_out(self._op.as_operation())


def _makes(op: Any, value: Any) -> bool:
    mine = op.as_operation().id()
    operation = value.get_defining_op()
    while operation is not None:
        block = operation.get_parent_block()
        operation = None if block is None else block.parent_op
        if operation is not None and operation.id() == mine:
            return True
    return False


_aside: list[Any] = []
"""For each capture that is under way, innermost last, an operation of a program beside its own."""


@contextlib.contextmanager
def keeping_what_goes() -> Iterator[None]:
    """Keep what is taken out of a program meanwhile, in a program beside it.

    An exception or an object of the user's may still hold a value of a branch that was captured
    in vain.  Of one whose operation is gone even the question who has made it ends the process;
    of one in the program beside, the answer is that nobody can see it.
    """
    beside = paddle.static.Program()
    with paddle.static.program_guard(beside):
        first = paddle.full([], 0).get_defining_op()
    _aside.append(first)
    try:
        yield
    except BaseException:
        if any(_is_read_elsewhere(beside)):
            never_free(beside)
        raise
    finally:
        _aside.remove(first)


def _is_read_elsewhere(program: Any) -> Iterator[bool]:
    """For each value of a program whether an operation of another one reads it."""
    own = {each.id() for each in operations(program)}
    for operation in operations(program):
        for result in operation.results():
            yield any(user.id() not in own for user in result.all_used_ops())


def _taken_out(operation: Any) -> list[int]:
    """Take an operation out of its program; gives the ids of the values that go with it."""
    parts = [operation, *all_inside(operation)]
    gone = [result.id for part in parts for result in part.results()]
    for part in parts:
        gone += [argument.id for block in blocks_of(part) for argument in arguments_of(block)]
    own = set(gone)
    for part in parts:
        for index, value in enumerate(part.operands_source()):
            if not pir.is_fake_value(value) and (value.id not in own or not _sees(part, value)):
                part.operand(index).set_source(pir.fake_value())
    if _aside:
        operation.move_before(_aside[-1])
    else:
        operation.get_parent_block().remove_op(operation)
    return gone


def _sees(operation: Any, value: Any) -> bool:
    """Whether ``value`` is not one of an ``if``'s other side.

    Paddle ends the process when it destroys a value that a side further down still reads.
    """
    return bool(is_visible(value, operation.get_parent_block()))


def pass_into_blocks(
    program: Any,
    chosen: Callable[[Any], bool],
    before: Callable[[Any], Any],
    inside: Callable[[Any, Any], Any],
) -> None:
    """Let blocks read some values from outside of them in another form.

    Args:
        program: the program; its operations are rewired in place.
        chosen: whether a value that a block reads from outside is meant.
        before: makes the form that goes in; its operations come before the branch or loop.
        inside: makes, from that form and the value, what is read; they come first in the block.
    """

    def treat(block: Any) -> None:
        for operation in list(block.ops):
            if operation.name() not in ("pd_op.if", "pd_op.while"):
                continue
            outer: dict[int, Any] = {}
            for part in operation.blocks():
                enter(part, operation, outer)
            for part in operation.blocks():
                treat(part)

    def enter(part: Any, operation: Any, outer: dict[int, Any]) -> None:
        reading = [(inner, index) for inner in under(part) for index in tensor_operands(inner)]
        own = {argument.id for argument in arguments_of(part)}
        for inner in under(part):
            own |= {result.id for result in inner.results()}
            own |= {argument.id for block in blocks_of(inner) for argument in arguments_of(block)}
        if not part.ops:  # the missing side of an `if`
            return
        first = part.ops[0]
        forms: dict[int, Any] = {}
        for inner, index in reading:
            value = inner.operand_source(index)
            if value.id in own or not chosen(value):
                continue
            if value.id not in outer:
                pir.set_insertion_point(operation)
                outer[value.id] = before(value)
            if value.id not in forms:
                pir.set_insertion_point(first)
                forms[value.id] = inside(outer[value.id], value)
            inner.operand(index).set_source(forms[value.id])

    with paddle.static.program_guard(program):
        treat(program.global_block())
        pir.set_insertion_point_to_block_end(program.global_block())


def static_py_layer(
    forward: Callable[..., Any], backward: Callable[..., Any]
) -> Callable[[list[Any]], Any]:
    """From the inputs of a ``PyLayer`` with this forward and backward to its outputs."""
    context = StaticPyLayerContext()

    def apply(inputs: list[Any]) -> Any:
        return paddle.static.nn.static_pylayer(
            forward_fn=lambda *values: forward(context, *values),
            inputs=inputs,
            backward_fn=lambda *gradients: backward(context, *gradients),
        )

    return apply
