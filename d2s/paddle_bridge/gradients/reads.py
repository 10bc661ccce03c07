"""Whether a gradient to come reads a value: from the operations that have used it.

Dygraph keeps what a gradient reads by reference, and ``set_value`` writes it unseen.  Most
gradients read what their operation was given, so those are listed that do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import paddle

from d2s.paddle_bridge.capturing.leaves import is_copy, is_cut
from d2s.paddle_bridge.values import is_fake
from d2s.paddle_bridge.walks import blocks_of, inside

_NAMES: Final = """
    add subtract add_n scale sum mean mean_all assign cast concat stack unstack expand expand_as
    tile flip roll pad pad3d cumsum tril triu trace full_like zeros_like ones_like shape shape64
    exp expm1 sqrt rsqrt reciprocal tanh sigmoid relu softmax log_softmax ceil floor round sign
    linear_interp bilinear_interp nearest_interp dropout repeat_interleave masked_fill
    split split_with_num set_value set_value_ share_data_ while if cf.yield cf.tuple_push
"""
_IF: Final = "pd_op.if"
_LOOP: Final = "pd_op.while"

_SOME: Final = {
    "divide": (0,),
    "embedding": (1,),
    "gather": (0,),
    "gather_nd": (0,),
    "index_add": (0, 2),
    "index_put": (0, 2),
    "index_select": (0,),
    "put_along_axis": (0, 2),
    "repeat_interleave_with_tensor_index": (0,),
    "scatter": (0, 2),
    "scatter_nd_add": (0, 2),
    "set_value_with_tensor": (0, 1),
    "set_value_with_tensor_": (0, 1),
    "take_along_axis": (0,),
    "where": (1, 2),
}


def _named(name: str) -> str:
    return name if "." in name else f"pd_op.{name}"


_UNREAD: Final[dict[str, tuple[int, ...] | None]] = {
    **{_named(name): None for name in _NAMES.split()},
    **{_named(name): places for name, places in _SOME.items()},
}
"""Operations whose gradient reads none of their operands, or not those at these positions."""

_BILINEAR: Final = frozenset(
    map(_named, ("multiply", "matmul", "bmm", "mv", "dot", "kron", "inner", "conv2d"))
)
"""Operations whose gradient reads an operand for the gradient of the other one."""

_VIEWS: Final = frozenset(
    map(
        _named,
        (
            *("slice", "strided_slice", "transpose", "reshape", "flatten", "squeeze", "unsqueeze"),
            *("unbind", "diagonal", "as_strided", "view_shape", "view_dtype"),
            *("builtin.combine", "builtin.split"),
        ),
    )
)
"""Operations whose results are what they were given, or parts of it."""

_SHARING: Final = _VIEWS - {"builtin.combine"}


_RESULT_UNREAD: Final = frozenset(
    map(
        _named,
        (
            *("add", "subtract", "multiply", "matmul", "bmm", "scale", "sum", "mean", "assign"),
            *("cast", "concat", "stack", "expand", "tile", "flip", "where", "gather", "gather_nd"),
            *("index_select", "embedding", "abs", "square", "sin", "cos", "log", "gelu", "silu"),
            *("conv2d", "linear", "clip", "pow", "maximum", "minimum", "set_value"),
            *("set_value_with_tensor", "split", "transpose", "reshape", "flatten", "squeeze"),
            *("unsqueeze", "slice", "strided_slice", "unbind", "diagonal", "builtin.split"),
        ),
    )
)
"""Operations whose gradient does not read what they give."""


def read_by_gradients(
    value: Any, is_view: Callable[[Any], bool], *, plainly: bool = True
) -> Iterator[tuple[Any, bool]]:
    """What was computed with ``value``, and has a gradient that reads the contents of it.

    Args:
        value: a value.
        is_view: whether what an operation has made of it shares its storage in dygraph.
        plainly: what ``value`` reads could be other contents of it.

    Yields:
        The result of an operation, and whether its gradient could read other contents of ``value``.
    """
    for operation in value.all_used_ops():
        results = operation.results()
        if operation.name() == "builtin.combine" or is_copy(operation):
            for result in results:
                yield from read_by_gradients(result, is_view, plainly=plainly)
        elif operation.name() in _VIEWS or _is_detached(operation, is_view):
            for result in results:
                known = plainly and is_view(result)
                yield from read_by_gradients(result, is_view, plainly=known)
        elif _reads(operation, value) and not _hands_on(operation):
            here = plainly and not operation.num_regions() and not _is_apart(operation)
            yield from ((result, here) for result in results if not result.stop_gradient)


def views_among(value: Any, is_view: Callable[[Any], bool]) -> Iterator[Any]:
    """The views of ``value``, and of these, that operations have made."""
    for operation in value.all_used_ops():
        if is_copy(operation):
            yield from views_among(operation.result(0), is_view)
        elif operation.name() in _SHARING or _is_detached(operation, is_view):
            for result in filter(is_view, operation.results()):
                yield result
                yield from views_among(result, is_view)


def _is_detached(operation: Any, is_view: Callable[[Any], bool]) -> bool:
    """Whether it is ``.detach()``, whose result shares the storage."""
    return operation.name() == "pd_op.assign" and bool(is_view(operation.result(0)))


def reads_its_result(value: Any) -> bool:
    """Whether the gradient of what has made ``value`` reads the contents of it."""
    maker = value.get_defining_op()
    return (
        maker is not None
        and not maker.num_regions()
        and not is_cut(maker)
        and maker.name() not in _RESULT_UNREAD
    )


def read_from_copies(value: Any) -> Iterator[Any]:
    """The results of operations that read ``value`` in a branch in a loop, where it is copied."""
    for operation in value.all_used_ops():
        block, names = operation.get_parent_block(), []
        while block.parent_block is not None:
            names.append(block.parent_op.name())
            block = block.parent_block
        if _LOOP in names and _IF in names[: names.index(_LOOP)]:
            yield from operation.results()


def goes_on(value: Any, wanted: set[int], left_out: set[int]) -> bool | None:
    """Whether a gradient of ``value`` goes on to one of ``wanted`` as it is.

    Args:
        value: a value.
        wanted: ids of others.
        left_out: ids of operations that no gradient goes through.

    Returns:
        ``None``: on some paths alone, or through a loop.
    """
    if value.id in wanted:
        return True
    maker = value.get_defining_op()
    if maker is None or is_cut(maker) or maker.id() in left_out:
        return False
    if maker.name() == "pd_op.assign" or _hands_on(maker):
        return goes_on(maker.operand_source(0), wanted, left_out)
    if maker.name() not in (_IF, _LOOP):
        return False
    place = [each.id for each in maker.results()].index(value.id)
    if maker.name() == _LOOP:
        first = goes_on(maker.operand_source(place + 1), wanted, left_out)
        return False if first is False else None
    sides = [block.ops[-1].operands_source()[place] for block in blocks_of(maker)]
    found = {goes_on(side, wanted, left_out) for side in sides}
    return found.pop() if len(found) == 1 else None


def _hands_on(operation: Any) -> bool:
    """Whether ``operation`` is a ``PyLayer`` that gives what it is given."""
    return (
        operation.name() not in (_IF, _LOOP)
        and bool(operation.num_regions())
        and all(each.name() in ("pd_op.assign", "cf.yield") for each in inside(operation))
    )


def _is_apart(operation: Any) -> bool:
    """Whether a ``PyLayer`` that is over by now holds ``operation``."""
    here = paddle.pir.get_current_insertion_point().block()
    around = [here]
    while around[-1].parent_block is not None:
        around.append(around[-1].parent_block)
    block = operation.get_parent_block()
    while all(block != each for each in around):
        holder = block.parent_op
        if holder.name() not in (_IF, _LOOP):
            return True
        block = holder.get_parent_block()
    return False


def gradients_go_to(outputs: Iterable[Any], ends: Callable[[Any], bool]) -> set[int]:
    """The ids of ``outputs`` and of all that their gradients go through, in blocks too.

    Args:
        outputs: values.
        ends: whether no gradient goes on from a value.
    """
    seen: set[int] = set()
    waiting = list(outputs)
    while waiting:
        value = waiting.pop()
        if is_fake(value) or value.stop_gradient or value.id in seen:
            continue
        seen.add(value.id)
        made = value.get_defining_op()
        if made is not None and not ends(value):
            waiting += made.operands_source()
            for each in inside(made):
                waiting += [*each.results(), *each.operands_source()]
    return seen


def _reads(operation: Any, value: Any) -> bool:
    name = operation.name()
    operands = operation.operands_source()
    if name in _BILINEAR:
        others = [each for each in operands if each.id != value.id]
        return len(others) < len(operands) - 1 or not all(each.stop_gradient for each in others)
    if name not in _UNREAD:
        return True
    places = _UNREAD[name]
    return places is not None and any(
        operand.id == value.id and place not in places for place, operand in enumerate(operands)
    )
