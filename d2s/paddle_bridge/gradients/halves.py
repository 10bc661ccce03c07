"""A program with its gradients, cut into a forward and a backward that reads what the first kept.

Paddle's own cut loses the stacks on which the trips of a loop save what their gradients read.
Lists of Python take their place, which live as long as the run's gradients may be asked for::

    loss = forward(x)                       loss = forward(x)
    while(...) {                            while(...) {
        y = tanh(x)                             y = tanh(x)
        push(y)                   ->            keep 1 (y)
    }                                       }
                                            keep 0 (loss)            the end of one program
    g = mean_grad(loss, seed)
    while(has_elements, g) {                loss = kept 0 ()         the beginning of the other
        y = pop()                           g = mean_grad(loss, seed)
        ...                                 while(more 1 (), g) {
    }                                           y = kept 1 ()

What is kept shares the memory of the run, so the forward gives its variables back as it goes on
(``preparing/memory``) and hands out copies (``inference_passes`` drops none where a backward is to
come).  What the backward takes from a list is its own, which it may write over.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import paddle

from d2s.paddle_bridge.gradients.arrays import array_like, stacked_of
from d2s.paddle_bridge.host_operations import host_operation
from d2s.paddle_bridge.names import pir
from d2s.paddle_bridge.values import is_fake, sharing
from d2s.paddle_bridge.walks import CONSTANTS, GIVEN, inside, operations, parts_of

Lists = list[list[tuple[Any, ...]]]
"""What the trips of each loop have kept, oldest first; the first one is of the code around."""

PREFIX: Final = "d2s_kept"


class _Present(threading.local):
    lists: Lists | None = None


_present = _Present()


@contextlib.contextmanager
def lists_of_run(lists: Lists) -> Iterator[None]:
    """While one of the two programs runs in this thread, ``lists`` are what it keeps or reads."""
    before, _present.lists = _present.lists, lists
    try:
        yield
    finally:
        _present.lists = before


# -- the operations ------------------------------------------------------------------------------

_made: Final[dict[tuple[Any, ...], Callable[..., Any]]] = {}
_answers: Final[dict[tuple[bool, int], Any]] = {}


def _answer(value: bool, rank: int) -> Any:
    found = _answers.get((value, rank))
    if found is None:
        found = _answers[value, rank] = paddle.full([1] * rank, value, "bool")
    return found


def _operation(
    kind: str, number: int, metas: tuple[tuple[tuple[int, ...], Any], ...], inputs: int, host: Any
) -> Callable[..., Any]:
    """An operation that calls ``host``; made once for each place that a program has for it."""
    key = kind, number, metas, inputs
    known = _made.get(key)
    if known is None:

        def infer(*_: Any) -> Any:
            made = [paddle.static.MetaTensor(shape=[*shape], dtype=dtype) for shape, dtype in metas]
            return made[0] if len(made) == 1 else tuple(made)

        name = f"{PREFIX}_{len(_made)}"
        known = host_operation(host, infer, name, inputs=inputs, results=len(metas))
        _made[key] = known
    return known


_DONE: Final = (((), paddle.bool),)
_ONE: Final = (((1,), paddle.bool),)


class _Writer:
    """Puts the operations of one program where those of the stacks are.

    Args:
        given: an operand for operations that read nothing of the program.
    """

    def __init__(self, given: Any) -> None:
        self._given = given
        self._count = 0

    def _number(self) -> int:
        self._count += 1
        return self._count

    def keep(self, at: int, values: Sequence[Any]) -> Any:
        """Keep ``values`` on list ``at``."""

        def host(*tensors: Any) -> Any:
            assert _present.lists is not None
            _present.lists[at].append(tuple(map(sharing, tensors)))
            return _answer(True, 0)

        operation = _operation(f"keep {at}", self._number(), _DONE, len(values), host)
        return operation(*values)

    def kept(self, at: int, like: Sequence[Any]) -> list[Any]:
        """The values that were kept last, which have the types of ``like``."""

        def host(_: Any) -> Any:
            assert _present.lists is not None
            found = _present.lists[at].pop()
            return found[0] if len(found) == 1 else found

        metas = tuple((tuple(value.shape), value.dtype) for value in like)
        made = _operation(f"kept {at}", self._number(), metas, 1, host)(self._given)
        return [made] if len(metas) == 1 else [*made]

    def more(self, at: int) -> Any:
        """Whether something is left on list ``at``."""

        def host(_: Any) -> Any:
            assert _present.lists is not None
            return _answer(bool(_present.lists[at]), 1)

        return _operation(f"more {at}", self._number(), _ONE, 1, host)(self._given)


# -- the cut -------------------------------------------------------------------------------------


class Half:
    """One of the two programs.

    Args:
        whole: the positions of the operations of the program that is cut, by their ids.
        program: a copy of it, from which the other half is taken away.

    Attributes:
        program: the same.
    """

    def __init__(self, whole: dict[int, int], program: Any) -> None:
        self.program = program
        self._whole = whole
        self._operations = list(program.global_block().ops)

    def value(self, value: Any) -> Any:
        """What stands for a value of the program that is cut, which is not in a block."""
        origin = value.get_defining_op()
        at = next(i for i, each in enumerate(origin.results()) if each.id == value.id)
        return self._operations[self._whole[origin.id()]].result(at)

    def drop(self, which: Callable[[int, Any], bool]) -> None:
        """Remove operations that nothing reads, from the last to the first."""
        block = self.program.global_block()
        for at in reversed(range(len(self._operations))):
            operation = self._operations[at]
            if which(at, operation) and all(each.use_empty() for each in operation.results()):
                block.remove_op(operation)


class Halves:
    """The forward and the backward.

    Attributes:
        forward, backward: the programs.
        lists: how many lists a run of both needs.
    """

    def __init__(self, forward: Half, backward: Half, lists: int) -> None:
        self.forward = forward
        self.backward = backward
        self.lists = lists


def cut(program: Any, end: int, seeds: Sequence[Any]) -> Halves | None:
    """Cut a program behind its forward.

    Args:
        program: with its gradients; changed in place.
        end: the id of the last operation of the forward.
        seeds: the values that stand for the gradients of its outputs.

    Returns:
        The halves; ``None`` where something is handed on that no list can keep.
    """
    block = program.global_block()
    stacks = [each for each in operations(program) if each.name() == "cf.stack_create"]
    order = [operation.id() for operation in block.ops]
    before, behind = block.ops[: order.index(end) + 1], block.ops[order.index(end) + 1 :]
    crossing = _crossing(before, behind)
    groups = {value.id: value for value in crossing if value.is_combine()}
    alone = {part.id: part for value in crossing for part in _parts(value, before)}
    arrays: dict[int, Any] = {
        value.id: stacked_of(value, before, behind)
        for value in alone.values()
        if value.is_dense_tensor_array_type()
    }
    if None in arrays.values():
        return None
    for array, stacked in arrays.items():
        del alone[array]
        alone[stacked.id] = stacked
    if not (behind and all(map(_is_kept_whole, stacks)) and all(map(_is_tensor, alone.values()))):
        return None
    with paddle.static.program_guard(program):
        paddle.pir.set_insertion_point(block.ops[0])
        writer = _Writer(paddle.full([], True, "bool"))
        paddle.pir.set_insertion_point(behind[0])
        last = end
        if alone:
            last = writer.keep(0, list(alone.values())).get_defining_op().id()
            others = dict(zip(alone, writer.kept(0, list(alone.values())), strict=True))
            for array, stacked in arrays.items():
                others[array] = array_like(others[stacked.id])
            for value in groups.values():
                parts = [others.get(part.id, part) for part in parts_of(value)]
                others[value.id] = paddle._C_ops.builtin_combine(parts)
            read_instead(behind, others)
        for at, stack in enumerate(stacks, 1):
            _replace(stack, at, writer)
        pir.set_insertion_point_to_block_end(block)
    whole = {operation.id(): at for at, operation in enumerate(block.ops)}
    there = whole[last]
    forward = Half(whole, program.clone(pir.IrMapping()))
    backward = Half(whole, program.clone(pir.IrMapping()))
    given = {whole[seed.get_defining_op().id()] for seed in seeds}
    forward.drop(lambda at, _: at > there or at in given)
    backward.drop(lambda at, operation: at <= there and operation.name() not in GIVEN)
    return Halves(forward, backward, 1 + len(stacks))


def _made_in(before: Sequence[Any]) -> set[int]:
    """The ids of what the forward computes, without what both programs make."""
    both = (*GIVEN, *CONSTANTS, "cf.stack_create")
    return {
        result.id
        for operation in before
        if operation.name() not in both
        for result in operation.results()
    }


def _crossing(before: Sequence[Any], behind: Sequence[Any]) -> list[Any]:
    """What the backward reads of the forward, each once."""
    made = _made_in(before)
    return list({value.id: value for value in read_by(behind) if value.id in made}.values())


def _parts(value: Any, before: Sequence[Any]) -> list[Any]:
    """What has to be kept for ``value``: of a list of values those that the forward computes."""
    if not value.is_combine():
        return [value]
    made = _made_in(before)
    return [part for part in parts_of(value) if part.id in made]


def _is_tensor(value: Any) -> bool:
    return bool(value.is_dense_tensor_type())


def read_by(behind: Sequence[Any]) -> Iterator[Any]:
    """What operations, and those of their blocks, read."""
    for operation in behind:
        for each in (operation, *inside(operation)):
            yield from (value for value in each.operands_source() if not is_fake(value))


def read_instead(behind: Sequence[Any], others: dict[int, Any]) -> None:
    """Let operations read other values, which are given by the ids of those they read now."""
    for operation in behind:
        for each in (operation, *inside(operation)):
            if each.name().startswith("py_op." + PREFIX):
                continue
            for index, value in enumerate(each.operands_source()):
                if not is_fake(value) and value.id in others:
                    each.operand(index).set_source(others[value.id])


def _is_kept_whole(stack: Any) -> bool:
    """Whether lists can take the place of ``stack``."""
    asks, pushes, pops = (result.all_used_ops() for result in stack.results())
    names = ("cf.has_elements", "cf.tuple_push", "cf.tuple_pop")
    return all(
        operation.name() == name
        for name, users in zip(names, (asks, pushes, pops), strict=True)
        for operation in users
    ) and all(
        _is_tensor(value)
        for values in (
            *(push.operands_source()[1:] for push in pushes),
            *(pop.results() for pop in pops),
        )
        for value in values
    )


def _replace(stack: Any, at: int, writer: _Writer) -> None:
    """Put list ``at`` in the place of ``stack``."""
    asks, pushes, pops = (result.all_used_ops() for result in stack.results())
    for push in pushes:
        paddle.pir.set_insertion_point(push)
        writer.keep(at, push.operands_source()[1:])
    for pop in pops:
        paddle.pir.set_insertion_point(pop)
        _stand_in(pop, writer.kept(at, pop.results()))
    for ask in asks:
        paddle.pir.set_insertion_point(ask)
        _stand_in(ask, [writer.more(at)])
    for operation in (*pushes, *pops, *asks, stack):
        operation.get_parent_block().remove_op(operation)


def _stand_in(operation: Any, made: list[Any]) -> None:
    for old, new in zip(operation.results(), made, strict=True):
        new.stop_gradient = old.stop_gradient
        old.replace_all_uses_with(new)
