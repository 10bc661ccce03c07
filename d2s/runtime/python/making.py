"""``paddle.to_tensor`` and its sisters, of tensors: new ones, to which no gradient comes back.

In a program Paddle 3.3.1 hands the tensor itself on and says of it that it has no gradient, and
asks for the values of those in a list::

    paddle.to_tensor(x)              a copy of x
    paddle.to_tensor([x.sum(), 1])   stack of a copy and a constant, of the dtype NumPy gives them
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.python.arrays.array import array as np_array
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import (
    NUMBER_DTYPES,
    as_value,
    cast_plain,
    is_array,
    is_tensor,
    number_kind,
)
from d2s.runtime.values.tree import is_list_or_tuple, is_plain_sequence, map_children
from d2s.runtime.values.unbound import UNBOUND

_COMPLEX: Final = {"float16": "complex64", "float32": "complex64"}
"""The default complex dtype, by the default dtype; complex128 for others."""


def to_tensor(
    data: object, dtype: object = None, place: object = None, stop_gradient: bool = True
) -> Any:
    """``paddle.to_tensor`` while a program is captured.

    Args:
        data: a tensor or number, or a nest of lists, tuples and arrays with such in it.
        dtype: that of the result; that of the data unless given.
        place: where Paddle puts what it makes of constants.
        stop_gradient: whether no gradient comes to it.
    """
    if is_array(data):
        return of_array(data, lambda sample: paddle.to_tensor(sample, dtype), stop_gradient)
    things = list(_leaves(data))
    if any(map(is_array, things)):
        return to_tensor(np_array(data), dtype, place, stop_gradient)
    if not any(_is_of_run(thing) for thing in things) or _is_odd(things):
        return paddle.to_tensor(data, dtype, place, stop_gradient)
    joint = _joint(things)
    wanted = bridge.dtype_name(dtype) if dtype else _default(data, joint)
    return _leaf(cast_plain(_stacked(data, joint), wanted), stop_gradient)


def of_array(array: Any, make: Callable[[Any], Any], stop_gradient: bool = True) -> Any:
    """The tensor that ``make`` gives of an array of NumPy that the run decides.

    Args:
        array: the array.
        make: asked for the dtype, of another array like it.
        stop_gradient: whether no gradient comes to the tensor.
    """
    with bridge.outside_of_capture():
        wanted = make(array.sample(odd=1)).dtype
    return _leaf(cast_plain(array.value, wanted), stop_gradient)


def _leaf(value: paddle.Tensor, stop_gradient: bool) -> paddle.Tensor:
    """A tensor with the contents of ``value``, which no gradient goes to."""
    made = paddle.assign(value)
    made.stop_gradient = True
    if stop_gradient:
        return made
    leaf = paddle.assign(made)
    leaf.stop_gradient = False
    return leaf


def tensor(
    data: object,
    dtype: object = None,
    device: object = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """``paddle.tensor``; memory is not pinned on a CPU."""
    return to_tensor(data, dtype, device, not requires_grad)


def asarray(
    obj: object,
    *,
    dtype: object = None,
    device: object = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Any:
    """``paddle.asarray``, which always copies."""
    return to_tensor(obj, dtype, device, not requires_grad)


def settled(data: Any) -> Any:
    """A nest in which each choice between numbers, or between tensors of one kind, is one value."""
    if isinstance(data, Choice):
        whole = all(value is not None and value is not UNBOUND for value in data.leaves())
        return data.get(check=False) if whole and data.single else data
    return map_children(settled, data) if is_plain_sequence(data) else data


def _leaves(data: object) -> Iterator[Any]:
    if is_list_or_tuple(data):
        for item in data:
            yield from _leaves(item)
    else:
        yield data


def _is_of_run(thing: object) -> bool:
    return is_tensor(thing) or (isinstance(thing, DynamicList) and len(thing.element.leaves) == 1)


def _is_odd(things: list[Any]) -> bool:
    """Whether there is something among them of which Paddle makes no tensor like this."""
    for thing in things:
        if is_tensor(thing):
            if len(things) > 1 and thing.dtype == paddle.bfloat16:
                return True
        elif not isinstance(thing, bool | int | float | complex | np.generic | np.ndarray):
            return len(things) > 1 or not isinstance(thing, DynamicList)
    return False


def _joint(things: list[Any]) -> Any:
    """The dtype of them all; as in dygraph, NumPy says what it is."""
    if len(things) == 1 and is_tensor(things[0]) and number_kind(things[0]) is None:
        return things[0].dtype
    return np.result_type(*map(_numpys, things)).name


def _numpys(thing: object) -> Any:
    kind = number_kind(thing)
    if kind is not None:
        return np.dtype(NUMBER_DTYPES[kind])
    if isinstance(thing, DynamicList):
        thing = thing.stacked()
    if is_tensor(thing):
        return np.dtype(str(thing.dtype).rsplit(".", 1)[-1])
    return np.asarray(thing).dtype


def _default(data: object, joint: object) -> Any:
    """The dtype of the result where none is given."""
    if is_tensor(data) and number_kind(data) is None:
        return joint
    among = is_list_or_tuple(data) and any(
        is_tensor(item) and number_kind(item) is None for item in data
    )
    if among and _keeps_joint():
        return joint
    name = str(joint).rsplit(".", 1)[-1]
    default = paddle.get_default_dtype()
    if name.startswith("complex"):
        return _COMPLEX.get(default, "complex128")
    if name.startswith("float"):
        return default
    return "int64" if name == "int32" else name


@functools.cache
def _keeps_joint() -> bool:
    """Whether Paddle keeps the joint dtype of a list with tensors; 3.1 does not."""
    with bridge.outside_of_capture():
        return bool(paddle.to_tensor([paddle.ones([]), 1]).dtype == paddle.float64)


def _stacked(data: object, dtype: object) -> Any:
    """One tensor of a nest."""
    if isinstance(data, DynamicList):
        return cast_plain(data.stacked(), dtype)
    if is_list_or_tuple(data):
        return paddle.stack([_stacked(item, dtype) for item in data])
    if is_tensor(data):
        return cast_plain(as_value(data), dtype)
    return paddle.to_tensor(np.asarray(data), dtype)


OPERATORS: Final[dict[Any, Any]] = {paddle.to_tensor: to_tensor}
for _name, _operator in (("tensor", tensor), ("as_tensor", tensor), ("asarray", asarray)):
    if callable(getattr(paddle, _name, None)):
        OPERATORS[getattr(paddle, _name)] = _operator
