"""Values of a program and tensors of dygraph: what they are, what they hold, what made them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, TypeGuard

import numpy as np
import paddle

from d2s.paddle_bridge.gate import static_lock
from d2s.paddle_bridge.names import (
    EagerTensor,
    Value,
    _convert_into_value,
    _current_expected_place_,
    _global_parameter_recorder,
    amp_attributes,
    convert_dtype,
    core,
    create_shaped_type,
    in_to_static_mode,
    pir,
    tensor_array_to_tensor,
    variable_index,
)

INDEXING: Final = str(Path(paddle.__file__).parent / "base" / "variable_index.py")
"""The file in which Paddle reads and writes items of tensors."""


def is_value(thing: object) -> TypeGuard[Value]:
    """Whether ``thing`` is a tensor of a program that is being captured."""
    return isinstance(thing, Value)


def shows_value(text: str) -> bool:
    """Whether ``text`` shows a tensor of a program that is being captured, as Paddle shows it."""
    return "Value(define_op_name=" in text


def is_fake(value: Any) -> bool:
    """Whether ``value`` stands for an absent operand."""
    return bool(pir.is_fake_value(value))


def is_eager(thing: object) -> TypeGuard[EagerTensor]:
    """Whether ``thing`` is a tensor of dygraph (a parameter too)."""
    return isinstance(thing, EagerTensor)


def as_value(tensor: Any) -> Any:
    """The value that stands for a dygraph tensor in the program being captured."""
    return _convert_into_value(tensor)


def tensor_of(value: Any) -> Any:
    """The dygraph tensor that ``value`` stands for, or ``None``."""
    if not is_value(value):
        return None
    for key, tensors in _global_parameter_recorder.params_dict.items():
        known = _global_parameter_recorder.tensor2value[key]
        for tensor in tensors:
            if known[id(tensor)].id == value.id:
                return tensor
    return None


def share_storage(one: Any, other: Any) -> bool:
    """Whether two dygraph tensors are one, or views of one storage."""
    if one is other:
        return True
    return bool(one.size and other.size and one._is_shared_buffer_with(other))


_SHARED: Final = (paddle.float32, paddle.float64, paddle.float16)
"""The dtypes for which Paddle has ``share_data``, the faster one."""


def sharing(tensor: Any) -> Any:
    """Another dygraph tensor with the contents of ``tensor``, in the same memory where it can be.

    A ``detach`` of it is the same to a ``PyLayer``, which does not give back what it is given.
    """
    if tensor.dtype in _SHARED:
        return paddle._C_ops.share_data(tensor)
    return paddle._C_ops.view_dtype(tensor, tensor.dtype)


_DENSE: Final = core.VarDesc.VarType.DENSE_TENSOR


def expect_dense_gradient(tensor: Any) -> None:
    """What Paddle does with a parameter of a program before it trains."""
    tensor._set_grad_type(_DENSE)


def has_contents(tensor: Any) -> bool:
    """Whether a dygraph tensor has memory: the state that an LSTM has for its dropout has none."""
    return bool(tensor._is_initialized())


def place_of_tensors() -> Any:
    """Where a tensor is that is made now; no operation is run, as a gradient may be under way."""
    place = core.Place()
    place.set_place(_current_expected_place_())
    return place


def inside_to_static() -> bool:
    """Whether Paddle (or d2s) is capturing a function, rather than the user building a program."""
    return bool(in_to_static_mode())


def capturing() -> bool:
    """Whether operations go into a program rather than being run."""
    return not paddle.in_dynamic_mode()


def autocasts() -> bool:
    """Whether ``auto_cast`` is on in this thread; Paddle 3.1 has no public name for it."""
    return bool(amp_attributes()._amp_level != core.AmpLevel.O0)


def relax(value: Any, shape: Sequence[int]) -> None:
    """Give ``value`` the static shape ``shape`` (-1 for a dimension that may vary)."""
    value.set_type(create_shaped_type(value.type(), list(shape)))


def shape_of(value: Any) -> list[int] | None:
    """The static shape of ``value``; ``None`` for what is no tensor (several, an array)."""
    return list(value.shape) if value.is_dense_tensor_type() else None


def is_array(thing: Any) -> bool:
    """Whether ``thing`` is a list of tensors in a program, as ``create_array`` makes it."""
    return is_value(thing) and bool(thing.is_dense_tensor_array_type())


def producer(value: Any) -> tuple[str, list[Any], dict[str, Any]] | None:
    """The operation that makes ``value``: name without dialect, operands, attributes.

    ``None`` for a variable of a loop body, and what else no operation makes.  The name of an
    operation that works in place is that of the one that does not.  The attributes of a host
    operator are functions, which Paddle cannot show.
    """
    operation = value.get_defining_op()
    if operation is None:
        return None
    name = operation.name().split(".")[-1]
    return (
        name[:-1] if name.endswith("_") else name,
        list(operation.operands_source()),
        {} if operation.name().startswith("py_op.") else operation.attrs(),
    )


def dtype_name(dtype: Any) -> str:
    """The name of a dtype, however it is given; Paddle says what is wrong with another thing."""
    return str(convert_dtype(dtype))


def callstack(operation: Any) -> list[str]:
    """The Python call stack under which ``operation`` was made, as text."""
    return list(operation.callstack)


def with_item(value: Any, key: Any, item: Any) -> Any:
    """A new value: ``value`` after ``value[key] = item``.

    ``paddle.static.setitem`` writes into its operand, whose old contents a gradient may need; the
    same operations exist without the writing.  The gradient of the operation that takes a
    constant is wrong (the overwritten item still gets one), so constants become tensors.
    """
    if isinstance(item, bool | int | float):
        item = paddle.full([], item, value.dtype)
        if not list(value.shape) and _is_whole(key):  # of which Paddle's operation knows nothing
            return paddle.where(paddle.full([], True, "bool"), item, value)
    elif is_eager(item):
        item = as_value(item)
    elif not is_value(item):
        item = paddle.cast(paddle.to_tensor(item), value.dtype)
    operations_ = paddle._C_ops
    names = ("set_value_", "set_value_with_tensor_", "index_put_")

    def copying(plain: Callable[..., Any], writing: Callable[..., Any]) -> Callable[..., Any]:
        def operation(operand: Any, *others: Any) -> Any:  # other threads may be in dygraph
            return (plain if is_value(operand) else writing)(operand, *others)

        return operation

    key = key_in_program(value, key)
    with static_lock:
        variable_index.deal_advanced_index = _aligned
        before = {name: getattr(operations_, name) for name in names}
        for name in names:
            setattr(operations_, name, copying(getattr(operations_, name[:-1]), before[name]))
        try:
            value, key = with_fitting_masks(value, key)
            return paddle.static.setitem(value, _from_front(value, key), item)
        finally:
            variable_index.deal_advanced_index = _align
            for name, original in before.items():
                setattr(operations_, name, original)


def _is_whole(key: Any) -> bool:
    return key is None or key is ... or (type(key) is tuple and all(part is ... for part in key))


_align = variable_index.deal_advanced_index


def _aligned(whole: Any, indexes: Any, writes: bool, item: Any, *others: Any) -> tuple[Any, ...]:
    """What Paddle makes of a key with lists of indexes, and of the item that is to be written.

    It brings the axes that the lists are for to the front, those of the item with them, but not
    where the item has another number of dimensions: ``y[:, [0, 2]] = row`` wrote a column.
    """
    if not (writes and is_value(item) and item.shape):
        return tuple(_align(whole, indexes, writes, item, *others))
    found = list(_align(whole, indexes, writes, SimpleNamespace(ndim=0), *others))
    turned, lists, _, first = found[:4]
    if first:
        taken = sum(map(_axes, lists))
        chosen = turned[tuple(lists)]
        front = list(range(len(chosen.shape) - len(turned.shape) + taken))
        places = [first + axis for axis in front]
        chosen = paddle.moveaxis(chosen, front, places)  # as dygraph has it
        item = paddle.moveaxis(paddle.expand_as(item, chosen), places, front)
    found[5] = item
    return tuple(found)


def key_in_program(value: Any, key: Any) -> Any:
    """``key`` for ``value[key]``, without what Paddle misreads in a program.

    Values stand in place of dygraph tensors, and slices in place of ``...``: Paddle asks whether a
    tensor equals that.
    """
    if type(key) is not tuple:
        return _part_in_program(key)
    parts = list(map(_part_in_program, key))
    places = [place for place, part in enumerate(parts) if part is Ellipsis]
    if len(places) == 1 and any(map(is_value, parts)):
        (place,) = places
        missing = len(value.shape) - sum(map(_axes, parts))
        parts[place : place + 1] = [slice(None)] * max(0, missing)
    return tuple(parts)


def _part_in_program(part: Any) -> Any:
    if is_eager(part):
        return as_value(part)
    if isinstance(part, np.integer):
        return int(part)
    if type(part) is slice:
        return slice(*map(_part_in_program, (part.start, part.stop, part.step)))
    return part


def inner_write(fresh: Any) -> Any:
    """What Paddle writes into first where :func:`with_item` has made ``fresh``; mostly ``None``.

    ``x[:, mask] = 0`` is written into ``x`` transposed, and that into ``x``.
    """
    found = producer(fresh)
    if found is None or found[0] != "set_value_with_tensor":
        return None
    value = found[1][1]
    while (found := producer(value)) is not None and found[0] == "transpose":
        value = found[1][0]
    return value if found is not None and found[0] == "index_put" else None


def _from_front(value: Any, key: Any) -> Any:
    """``key``, its indexes that only the run knows counted from the front.

    Paddle 3.3 writes the stretch from ``i`` to ``i + 1`` for them: nothing where ``i`` is -1.
    """
    parts = key if type(key) is tuple else (key,)
    axis, found = 0, []
    for position, part in enumerate(parts):
        if part is Ellipsis:
            axis = len(value.shape) - sum(map(_axes, parts[position + 1 :]))
        elif is_value(part) and list(part.shape) == [] and "int" in str(part.dtype):
            size = value.shape[axis]
            if size < 0:
                size = paddle.cast(paddle.shape(value)[axis], part.dtype)
            part = paddle.where(part < 0, part + size, part)
        axis += _axes(part)
        found.append(part)
    return tuple(found) if type(key) is tuple else found[0]


def with_fitting_masks(value: Any, key: Any) -> tuple[Any, Any]:
    """``value`` and ``key``, where one of them has sizes that the other leaves open.

    Paddle 3.3 takes -1 for another size than 7, and refuses.  A mask that does not fit fails on the
    run, as it does in dygraph.
    """
    parts = list(key) if type(key) is tuple else [key]
    axis = 0
    for position, part in enumerate(parts):
        if part is Ellipsis:
            axis = len(value.shape) - sum(map(_axes, parts[position + 1 :]))
        if _is_mask(part) and axis + len(part.shape) <= len(value.shape):
            value, parts[position] = _fitted(value, part, axis)
        axis += _axes(part)
    return value, tuple(parts) if type(key) is tuple else parts[0]


def _fitted(value: Any, mask: Any, axis: int) -> tuple[Any, Any]:
    sizes, asked = list(value.shape), list(mask.shape)
    if sizes[axis : axis + len(asked)] == asked:
        return value, mask
    known = [max(pair) for pair in zip(sizes[axis:], asked, strict=False)]
    whole = [*sizes[:axis], *known, *sizes[axis + len(asked) :]]
    if whole != sizes and sizes.count(-1) == 1:
        value = paddle.reshape(value, whole)
    if known != asked and is_value(mask):
        same = paddle.reshape(mask, known)  # as many elements, and each size is the same or 1
        mask = same if len(asked) == 1 else paddle.logical_and(same, paddle.expand(mask, known))
    return value, mask


def _is_mask(part: Any) -> bool:
    return (is_value(part) or is_eager(part)) and part.dtype == paddle.bool and part.ndim > 0


def _axes(part: Any) -> int:
    """How many dimensions a part of a key takes."""
    if part is None or part is Ellipsis:
        return 0
    masks = (is_value(part) or is_eager(part)) and part.dtype == paddle.bool
    return len(part.shape) if masks else 1


def array_to_tensor(array: Any) -> Any:
    """The elements of a TensorArray, stacked along a new first axis."""
    stacked, _ = tensor_array_to_tensor(array, axis=0, use_stack=True)
    return stacked
