"""Whether a gradient to come reads a value: from the operations that have used it.

Dygraph keeps what a gradient reads by reference, and ``set_value`` writes it unseen.  Most
gradients read what their operation was given, so those are listed that do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from d2s.paddle_bridge.values import is_fake
from d2s.paddle_bridge.walks import inside

_NAMES: Final = """
    add subtract add_n scale sum mean mean_all assign cast concat stack unstack expand expand_as
    tile flip roll pad pad3d cumsum tril triu trace full_like zeros_like ones_like shape shape64
    exp expm1 sqrt rsqrt reciprocal tanh sigmoid relu softmax log_softmax ceil floor round sign
    linear_interp bilinear_interp nearest_interp dropout repeat_interleave masked_fill
    split split_with_num set_value set_value_ share_data_ while if cf.yield cf.tuple_push
"""

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


def read_by_gradients(value: Any) -> Iterator[Any]:
    """What was computed with ``value``, and has a gradient that reads the contents of it."""
    for operation in value.all_used_ops():
        results = operation.results()
        if operation.name() in _VIEWS:
            for result in results:
                yield from read_by_gradients(result)
        elif _reads(operation, value):
            yield from (result for result in results if not result.stop_gradient)


def gradients_go_to(outputs: Iterable[Any]) -> set[int]:
    """The ids of ``outputs`` and of all that their gradients go through, in blocks too."""
    seen: set[int] = set()
    waiting = list(outputs)
    while waiting:
        value = waiting.pop()
        if is_fake(value) or value.stop_gradient or value.id in seen:
            continue
        seen.add(value.id)
        made = value.get_defining_op()
        if made is not None:
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
