"""Training inside of a program: gradients, hooks, and tensors that a program writes into."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any, Final

import paddle

from d2s.paddle_bridge.capturing.leaves import cut_operation, is_cut
from d2s.paddle_bridge.gate import static_lock
from d2s.paddle_bridge.gradients.absent import without_absent
from d2s.paddle_bridge.gradients.codes import coded_gradients
from d2s.paddle_bridge.gradients.paths import beside, refuse_unpaired
from d2s.paddle_bridge.gradients.repairs import (
    LEFT_OUT,
    derivatives_to_come,
    differentiate,
    gradient_function,
    mark_inner_loops,
    visible_to,
)
from d2s.paddle_bridge.names import (
    _global_parameter_recorder,
    _program_hash,
    dygraph_guard_if_declarative,
    layers,
    pir,
    to_static_mode_guard,
)
from d2s.paddle_bridge.preparing.passes import copy_into_loops, refuse_untried
from d2s.paddle_bridge.walks import (
    Facts,
    arguments_of,
    blocks_of,
    inside,
    known_truth,
    never_free,
    operations,
)


def gradients_here(
    outputs: list[Any],
    inputs: list[Any],
    seeds: list[Any] | None,
    left_out: set[int],
    *,
    again: bool = False,
) -> tuple[list[Any], list[int], set[int]]:
    """Gradients of the program that is being captured; it goes on behind them.

    Args:
        outputs: values of it, at its top level.
        inputs: the values of which the gradients are wanted.
        seeds: the gradient of each output; ``None`` for ones.
        left_out: ids of operations that no gradient goes through.
        again: they may be differentiated once more.

    Returns:
        The gradient of each input, or ``None``; the ids of values that are gone, and of the
        operations that are there for gradients.

    Raises:
        LoopGradientError: (D2S307) Paddle cannot differentiate the program.
    """
    program = paddle.static.default_main_program()
    refuse_untried(program)
    before = {operation.id() for operation in operations(program)}
    with coded_gradients(), static_lock, derivatives_to_come() if again else nullcontext():
        copy_into_loops(program)
        gone = mark_inner_loops(program)
        LEFT_OUT.update(left_out)
        try:
            made = differentiate(outputs, inputs, seeds)
        finally:
            LEFT_OUT.clear()
    pir.set_insertion_point_to_block_end(program.global_block())
    return list(made), gone, {operation.id() for operation in operations(program)} - before


def gradients_in_block(
    outputs: list[Any],
    inputs: list[Any],
    seeds: list[Any] | None,
    left_out: set[int],
    *,
    again: bool,
) -> list[Any]:
    """Gradients in the branch or loop that is being captured.

    Args:
        outputs, inputs, seeds, left_out, again: as for :func:`gradients_here`.

    Returns:
        The gradient of each input, or ``None``.

    Raises:
        LoopGradientError: (D2S307) Paddle cannot differentiate what is there.
    """
    block = paddle.pir.get_current_insertion_point().block()
    before = {operation.id() for operation in block.ops}
    with coded_gradients(), static_lock, derivatives_to_come() if again else nullcontext():
        LEFT_OUT.update(left_out)
        LEFT_OUT.update(beside(outputs, inputs, visible_to(block)))
        try:
            made = gradient_function()(outputs, inputs, seeds)
            made = without_absent(block, before, seeds, made)
        except BaseException:
            never_free(paddle.static.default_main_program())
            raise
        finally:
            LEFT_OUT.clear()
        gradient = [each for each in block.ops if each.id() not in before]
        refuse_unpaired([part for each in gradient for part in (each, *inside(each))], block)
    if not again:
        for operation in gradient:
            cut_operation(operation)
    return list(made)


@contextlib.contextmanager
def in_dygraph() -> Iterator[None]:
    """Run operations, and no longer put them into the program that is being captured."""
    with dygraph_guard_if_declarative():
        yield


@contextlib.contextmanager
def outside_of_capture() -> Iterator[None]:
    """Run operations as if no program was being captured: parameters are tensors, not values."""
    with dygraph_guard_if_declarative(), to_static_mode_guard(is_to_static=False):
        yield


@contextlib.contextmanager
def layers_as_in_dygraph() -> Iterator[None]:
    """Let methods of layers take their way in dygraph, while a program is captured."""
    before = layers.in_dygraph_mode
    layers.in_dygraph_mode = lambda: True
    try:
        yield
    finally:
        layers.in_dygraph_mode = before


def is_flag(layer: Any, name: str) -> bool:
    """Whether an attribute of a layer is where Paddle notes calls in programs, and no others."""
    return name == "_built" and type(layer)._build_once is layers.Layer._build_once


def tensors_of_layers(is_paddle: Callable[[Any], bool]) -> tuple[tuple[Any, str], Any]:
    """What a layer gives for a parameter or buffer of its own, for ``methods_replaced``.

    Paddle's code gets the value that stands for it in the program.  The user's code gets the tensor
    itself, as from a list or a closure: it may ask for its identity or class, or have it as a key.

    Args:
        is_paddle: whether a frame is of Paddle's code.
    """
    original = layers._convert_into_variable

    def read(tensor: Any) -> Any:
        value = original(tensor)  # the program knows it from here on
        reader = sys._getframe(2)  # behind ``Layer.__getattr__``
        return value if is_paddle(reader) else tensor

    return (layers, "_convert_into_variable"), read


def renew(tensor: Any, value: Any) -> None:
    """Let ``value`` stand for the dygraph tensor from here on, in the program being captured."""
    known_tensors()[id(tensor)] = value


def filled_like(value: Any, number: float) -> Any:
    """``paddle.full_like``, which in a program warns that a value has no place."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(Tensor|Value) do not have 'place'")
        return paddle.full_like(value, number)


def known_tensors() -> Any:
    """The dygraph tensors that the program being built knows, by their ids."""
    key = _program_hash(paddle.static.default_main_program())
    return _global_parameter_recorder.tensor2value.get(key, {})


def write_into(value: Any, fresh: Any) -> Any:
    """Write ``fresh`` over the contents of a tensor; the value for them afterwards."""
    return paddle._C_ops.assign_out_(fresh, value)


_INPLACE_NAMES: Final = {"output": "out", "x": "out"}


def overwriting(start: int) -> Iterator[tuple[int, Any]]:
    """What the operations from ``start`` on in the program write over: id, and the new value."""
    for operation in _here().ops[start:]:
        if not operation.name().endswith("_"):
            continue
        results = dict(zip(operation.get_output_names(), operation.results(), strict=True))
        for name, value in zip(
            operation.get_input_names(), operation.operands_source(), strict=True
        ):
            fresh = results.get(f"{name}_out", results.get(_INPLACE_NAMES.get(name, "")))
            if fresh is None or pir.is_fake_value(value):
                continue
            if fresh.shape == value.shape:  # not the mean_grad_out of rmsprop_ without centered
                yield value.id, fresh


def _here() -> Any:
    """The block that is being written."""
    return paddle.pir.get_current_insertion_point().block()


def length() -> int:
    """How many operations the block that is being written has; for :func:`overwriting`."""
    return len(_here().ops)


def share_constants(start: int) -> None:
    """Let the operations from ``start`` on make every constant once.

    A call of ``adam_`` makes three constants of its own, for every parameter.
    """
    block = _here()
    known: dict[Any, Any] = {}
    written = {number for number, _ in overwriting(start)}
    for operation in block.ops[start:]:
        if operation.name() != "pd_op.full" or operation.result(0).id in written:
            continue
        facts = operation.attrs()
        key = tuple(str(facts[name]) for name in ("value", "dtype", "shape", "place"))
        first = known.setdefault(key, operation)
        if first is not operation:
            operation.result(0).replace_all_uses_with(first.result(0))
            block.remove_op(operation)


def id_of_maker(value: Any) -> int:
    """The id of the operation that makes ``value``."""
    return int(value.get_defining_op().id())


def ids_from(start: int) -> set[int]:
    """The ids of the operations from ``start`` on."""
    return {operation.id() for operation in _here().ops[start:]}


def is_made_of_constants(value: Any) -> bool:
    """Whether what makes ``value`` has no operand with a gradient, and no block."""
    operation = value.get_defining_op()
    return (
        operation is not None
        and operation.name() != _ARRAY
        and not operation.num_regions()
        and all(
            pir.is_fake_value(operand) or operand.stop_gradient
            for operand in operation.operands_source()
        )
    )


_ARRAY: Final = "pd_op.create_array"


def sources(value: Any) -> list[Any]:
    """The values that what makes ``value`` reads, in its blocks too; none that these make."""
    operation = value.get_defining_op()
    if operation is None:
        return []
    writing = _writing(value) if operation.name() == _ARRAY else []
    return [source for each in (operation, *writing) for source in _read_by(each)]


def _writing(array: Any) -> list[Any]:
    """What writes into a tensor array of Paddle: operations beside the one that has made it."""
    home = array.get_defining_op().get_parent_block()
    found = {}
    for operation in array.all_used_ops():
        at = operation
        while at is not None and at.get_parent_block() != home:
            at = at.get_parent_block().parent_op
        if at is not None and operation.name() == "pd_op.array_write_":
            found[at.id()] = at
    return list(found.values())


def _read_by(operation: Any) -> list[Any]:
    """The values that ``operation`` reads, in its blocks too; none that these make."""
    held = list(inside(operation))
    made = {each.id() for each in held}
    given = {
        each.id for part in (operation, *held) for b in blocks_of(part) for each in arguments_of(b)
    }
    found = []
    for each in (operation, *held):
        for source in each.operands_source():
            if pir.is_fake_value(source):
                continue
            origin = source.get_defining_op()
            if source.id not in given and (origin is None or origin.id() not in made):
                found.append(source)
    return found


def holds(value: Any, numbers: set[int]) -> bool:
    """Whether what makes ``value`` is a branch or loop with an operation of ``numbers`` in it."""
    operation = value.get_defining_op()
    return operation is not None and any(each.id() in numbers for each in inside(operation))


def uncopied(value: Any) -> Any:
    """What ``value`` is a copy of, or ``value`` itself."""
    maker = value.get_defining_op()
    while maker is not None and maker.name() == "pd_op.assign" and not is_cut(maker):
        value = maker.operand_source(0)
        maker = value.get_defining_op()
    return value


def _depends(value: Any, on: Any) -> bool:
    """Whether a gradient of ``value`` may go to ``on``, or to what that is a copy of."""
    on = uncopied(on)
    waiting, seen = [value], set()
    while waiting:
        each = waiting.pop()
        if each.id == on.id:
            return True
        if each.id not in seen and not each.stop_gradient:
            seen.add(each.id)
            waiting.extend(sources(each))
    return False


def joined(value: Any, at: int | None = None) -> list[list[Any]]:
    """What may become the results of the branch or loop that makes ``value``, path by path.

    Args:
        value: a result.
        at: the place of the result that is wanted alone.

    Returns:
        A list for each block, and for the start of a loop; empty if no branch or loop makes it.
    """
    operation = value.get_defining_op()
    if operation is None or not operation.num_regions():
        return []
    count = len(operation.results())
    paths = [block.ops[-1].operands_source()[-count:] for block in blocks_of(operation)]
    if operation.name() == "pd_op.while":
        paths.append(operation.operands_source()[-count:])
    paths = [path for path in paths if len(path) == count]
    return paths if at is None else [[path[at]] for path in paths]


def taken(value: Any, facts: Facts) -> Any:
    """What a branch has given for ``value``, where ``facts`` tell the side; or ``value`` itself."""
    while True:
        paths = joined(value)
        if not paths or value.get_defining_op().name() != "pd_op.if":
            return value
        truth = known_truth(value.get_defining_op().operand_source(0), facts)
        if truth is None:
            return value
        value = paths[0 if truth else 1][place_among(value)]
        if uncopied(value).stop_gradient == value.stop_gradient:  # else one that is detached
            value = uncopied(value)


def place_among(value: Any) -> int:
    """Which result of the operation that makes it ``value`` is."""
    results = value.get_defining_op().results()
    return next(at for at, each in enumerate(results) if each.id == value.id)


def parted(outputs: list[Any], wanted: Any) -> bool:
    """Whether one branch or loop gives ``wanted`` and something that is computed from it there.

    Paddle knows of no gradient that goes from one result of an operation to another one.
    """
    paths = joined(wanted)
    if not paths:
        return False
    mine = place_among(wanted)
    for at, other in enumerate(wanted.get_defining_op().results()):
        if at == mine or other.stop_gradient:
            continue
        if not any(_depends(path[at], path[mine]) for path in paths):
            continue
        if any(_depends(output, other) for output in outputs):
            return True
    return False


def makes_sparse_gradients() -> bool:
    """Whether dygraph would have sparse gradients where the program so far has dense ones."""
    return any(
        operation.name() == "pd_op.embedding"
        and operation.attrs().get("sparse")
        and not operation.operand_source(1).stop_gradient
        for operation in operations(paddle.static.default_main_program())
    )
