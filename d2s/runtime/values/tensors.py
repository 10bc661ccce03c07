"""Tensors of a program: recognising, making, promoting them; Python numbers among them.

A Python number whose value only the run knows (a loop counter, ``int(t)``, ``1 if t else 2``) is
a 0-D value with its Python type noted in the capture.  It is *weak*: meeting a tensor it takes
the tensor's dtype, as a Python number does; leaving the function it is a Python number again.
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, ParamSpec, SupportsIndex, TypeGuard, TypeVar

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import ConditionError, D2SError, NotStaticError, UnsupportedInGraphError
from d2s.runtime.trace import current, error_here

P = ParamSpec("P")
R = TypeVar("R")
Kind = TypeVar("Kind")

NUMBER_DTYPES: Final[dict[type, str]] = {bool: "bool", int: "int64", float: "float64"}

LEAVES: Final = frozenset((int, float, bool, str, bytes, type(None), bridge.Value))
"""Types of what holds nothing."""

_RANK: Final[dict[type, int]] = {bool: 0, int: 1, float: 2}


def is_tensor(thing: object) -> TypeGuard[paddle.Tensor]:
    """Whether ``thing`` is a tensor, of dygraph or of a program."""
    return bridge.is_value(thing) or bridge.is_eager(thing)


def is_array(thing: object) -> TypeGuard[Any]:
    """Whether ``thing`` is an array, or a number, of NumPy that the run decides."""
    return "d2s_is_state" in vars(type(thing))


def is_numeric(thing: object) -> bool:
    """Whether a thing is a tensor, or a Python number, which the run may know alone."""
    return is_tensor(thing) or number_kind(thing) is not None


def number_kind(thing: object) -> type | None:
    """``bool``, ``int`` or ``float`` for a Python number, also for one that the run decides."""
    if type(thing) in NUMBER_DTYPES:
        return type(thing)
    capture = current()
    if capture is not None and bridge.is_value(thing):
        found = capture.notes.numbers.get(thing.id)
        if found is not None:
            return found[1]
    return None


def mark_number(value: bridge.Value, kind: type) -> Any:
    """Note that ``value`` stands for a Python number of type ``kind``."""
    capture = current()
    if capture is not None:
        capture.notes.numbers[value.id] = (value, kind)
    return value


def number_value(number: float, kind: type | None = None) -> Any:
    """A 0-D value for the Python number ``number``."""
    kind = kind or type(number)
    value = paddle.full([], number, NUMBER_DTYPES[kind])
    return mark_number(value, kind)


def zeros_of(shape: Sequence[int], dtype: object) -> paddle.Tensor:
    """Zeros of ``shape``; an open dimension has one element, and stays open."""
    made = paddle.zeros([1 if size < 0 else size for size in shape], dtype)
    if any(size < 0 for size in shape):
        bridge.relax(made, list(shape))
    return made


def as_value(thing: Any) -> Any:
    """``thing`` (a tensor or number) as a value of the program."""
    if bridge.is_value(thing):
        return thing
    if bridge.is_eager(thing):
        return bridge.as_value(thing)
    if not hasattr(type(thing), "d2s_value"):
        return number_value(thing)
    return as_value(thing.d2s_value())


def check_dense(tensor: Any) -> None:
    """Refuse a tensor of dygraph that no program computes with.

    Raises:
        UnsupportedInGraphError: (D2S205) it is sparse, or sharded between processes.
    """
    if tensor.is_dense():
        return
    if tensor.is_dist():
        raise error_here(
            UnsupportedInGraphError,
            "a tensor that is sharded between processes is read, and a program would compute with "
            "the part that this process holds",
            "leave this in dygraph; paddle.distributed.to_static makes programs of sharded layers",
        )
    raise error_here(
        UnsupportedInGraphError,
        "a sparse tensor is read, and a program computes with dense ones",
        "leave this in dygraph, or take to_dense() of the tensor outside of the function",
    )


def joint_kind(left: type, right: type) -> type:
    """The type of ``left + right`` for Python numbers."""
    return left if _RANK[left] >= _RANK[right] else right


def is_float(dtype: Any) -> bool:
    """Whether values of ``dtype`` carry gradients."""
    return dtype in (
        paddle.float16, paddle.bfloat16, paddle.float32, paddle.float64,
        paddle.complex64, paddle.complex128,
    )  # fmt: skip


def weak_dtype(kind: type, dtype: Any) -> Any:
    """The dtype that a Python number of type ``kind`` takes beside a tensor of ``dtype``."""
    if kind is float and not is_float(dtype):
        return paddle.get_default_dtype()
    if kind is int and dtype == paddle.bool:
        return paddle.int64
    return dtype


def adapt_operand(other_of: Any, operand: Any) -> Any:
    """``operand`` as a partner of the value ``other_of`` in an expression."""
    if bridge.is_eager(operand):
        return bridge.as_value(operand)
    if isinstance(operand, np.ndarray):  # Paddle 3.3.1 ends the process
        return paddle.to_tensor(operand)
    if type(operand) is complex:
        wide = other_of.dtype in (paddle.float64, paddle.complex128)
        return paddle.full([], operand, "complex128" if wide else "complex64")
    kind = number_kind(operand)
    if kind is float and number_kind(other_of) is not None and not bridge.is_value(operand):
        return number_value(operand)  # a plain float would be rounded to float32
    if kind is None or not bridge.is_value(operand):
        return operand
    if number_kind(other_of) is not None:
        joint = joint_kind(kind, number_kind(other_of) or kind)
        wanted: Any = NUMBER_DTYPES[joint]
    else:
        wanted = weak_dtype(kind, other_of.dtype)
    return cast_plain(operand, wanted)


def passing(function: Callable[P, R]) -> Callable[P, R]:
    """Let gradients through a function that picks among tensors, also under ``no_grad``.

    Dygraph hands on the very tensor there, with the gradient that it has.
    """

    @functools.wraps(function)
    def run(*arguments: P.args, **options: P.kwargs) -> R:
        if bridge.has_grad():
            return function(*arguments, **options)
        with paddle.enable_grad():
            return function(*arguments, **options)

    return run


_HANDING_ON: Final = frozenset(
    [
        *("appendleft", "clear", "copy", "d2s_freeze", "insert", "item_rows", "need_rows", "of"),
        *("picked", "pop", "popleft", "reverse", "rotate", "stacked"),
    ]
)
"""Public methods of lists of the run that run no code of the user's."""


def passing_in(kind: type[Kind]) -> type[Kind]:
    """Let gradients through the methods of a list of the run, which computes no item of its own.

    The others iterate over what the user gives them, which may be a generator under ``no_grad``.
    """
    for name, method in list(vars(kind).items()):
        if name in _HANDING_ON or (name.startswith("_") and not name.startswith("__")):
            if isinstance(method, classmethod):
                setattr(kind, name, classmethod(passing(method.__func__)))
            elif isinstance(method, types.FunctionType):
                setattr(kind, name, passing(method))
    return kind


def carried(value: Any) -> Any:
    """A copy of ``value`` to hand on, out of a branch or through a loop.

    No value is handed on twice or used beside its own copy, which keeps Paddle's gradients and
    buffers right (paddle-facts 1).
    """
    copy = paddle.assign(value)
    copy.stop_gradient = value.stop_gradient
    capture = current()
    if capture is not None:
        capture.notes.copies[copy.id] = copy
    return copy


def as_dtype(dtype: Any) -> Any:
    """``dtype``, given by name or as it is, in the form that tensors have."""
    return getattr(paddle, dtype) if isinstance(dtype, str) else dtype


def cast_plain(value: paddle.Tensor, dtype: Any) -> Any:
    """``value`` with ``dtype``; the same value when it has it already."""
    if value.dtype == as_dtype(dtype):
        return value
    return paddle.cast(value, dtype)


def special_method(thing: Any, *names: str) -> Any:
    """The first of some methods that the class of ``thing`` has, if it is written in Python."""
    for name in names:
        found = getattr(type(thing), name, None)
        if found is not None:
            return found if isinstance(found, types.FunctionType) else None
    return None


def condition(test: Any) -> Any:
    """What decides a branch: a bool value of shape [] in a program, else ``test`` as it is."""
    capture = current()
    if capture is None:
        return test
    if hasattr(type(test), "d2s_condition"):
        test = test.d2s_condition()
    if bridge.is_eager(test):
        test = bridge.as_value(test)
    if not bridge.is_value(test):
        asked = special_method(test, "__bool__", "__len__")
        # Python's own bool() would insist on a bool, len() on an int.
        return test if asked is None else condition(asked(test))
    told = None if capture.decides is None else capture.decides(test)
    if told is not None:
        return told
    shape = list(test.shape)
    count = 1
    for size in shape:
        count *= size
    if count != 1 and not any(size < 0 for size in shape):
        raise error_here(
            ConditionError,
            f"a tensor of shape {shape} is used as a condition, which needs exactly one element",
            "reduce it first, for example with .all() or .any()",
        )
    if test.dtype != paddle.bool:
        # In dygraph a tensor is true when it is greater than zero; a Python number is true when
        # it is not zero.
        test = test > 0 if number_kind(test) is None else test != 0
    if shape:
        test = paddle.reshape(test, [])
    return test


def decided(test: object) -> Any:
    """:func:`condition` of an ``if``: in a file, whose state is known, mostly Python's."""
    test, capture = condition(test), current()
    if capture is None or not capture.export or not bridge.is_value(test):
        return test
    known = bridge.computed([test], math.inf)
    return test if known is None else bool(known[0])


def refuse(what: str, cure: str) -> Any:
    """A method for values that raises: the run alone knows the answer."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise error_here(UnsupportedInGraphError, what, cure)

    return method


class LibrarySizeError(NotStaticError):
    """A library computes with the size of an open dimension; its converted form may not."""


class ArrayAskedError(NotStaticError):
    """A library makes an array of a tensor; a function of NumPy may be called by the run."""


def library_size() -> D2SError:
    """The error of code of a library that computes with a size that only the run knows."""
    return error_here(
        LibrarySizeError,
        "a library computes with the size of an open dimension, which only the run knows",
        "give the tensor a fixed shape, or compute it with functions that take open sizes",
    )


def no_hash() -> D2SError:
    """The error of a number of the run that a dict or set would look for by its hash."""
    return error_here(
        NotStaticError,
        "a number that only the run knows is hashed, as a key of a dict or an item of a set",
        "choose with if, or index a list or a tensor with it",
    )


def root_of(value: bridge.Value) -> int | None:
    """The argument whose contents ``value`` is, changed in place or not; by its index.

    A tensor of the state that has been changed in place has a negative number.
    """
    capture = current()
    if capture is not None and bridge.is_eager(value):
        return next((root for root, kept in capture.stored.items() if kept is value), None)
    if capture is None or not bridge.is_value(value):
        return None
    found = capture.notes.roots.get(value.id)
    if found is None and capture.stored:  # noted where a loop was captured that has been undone
        kept = bridge.tensor_of(value)
        return None if kept is None else root_of(kept)
    return None if found is None else found[1]


def as_one_tensor(one: object, other: object) -> tuple[Any, Any]:
    """Two things, each as the dygraph tensor where one of them is it and the other its value."""
    for kept, also in ((one, other), (other, one)):
        if bridge.is_eager(kept) and bridge.tensor_of(also) is kept:
            return kept, kept
    return one, other


def root_to_change(value: bridge.Value) -> int | None:
    """The root of what is, or may be, changed in place; a tensor of the state gets one."""
    capture = current()
    root = root_of(value)
    if capture is None or root is not None:
        return root
    tensor = value if bridge.is_eager(value) else bridge.tensor_of(value)
    if tensor is None or (capture.steps is not None and capture.steps.gradients.stands_for(tensor)):
        return None
    root = root_of(tensor)
    if root is None:
        root = -1 - len(capture.stored)
        capture.stored[root] = tensor
    known = bridge.as_value(tensor)
    capture.notes.roots[known.id] = (known, root)
    return root


def note_carried(root: int | None, value: bridge.Value) -> None:
    """Note that ``value`` holds the contents of an argument behind a branch or loop."""
    capture = current()
    if capture is not None and root is not None:
        capture.notes.roots[value.id] = (value, root)
        if root in capture.notes.written:
            capture.notes.written[root] = value


def note_selected(value: bridge.Value, items: list[Any]) -> None:
    """Note that ``value`` is the same tensor in dygraph as one of ``items``, as the run decides."""
    capture = current()
    if capture is not None:
        values, taken = tuple(map(as_value, items)), capture.notes.taken
        capture.notes.selected[value.id] = (value, values)
        for item in values:
            taken[item.id] = (item, (*taken.get(item.id, (item, ()))[1], value))


def note_written(root: int | None, value: bridge.Value) -> None:
    """Note that ``value`` is what an argument holds from here on."""
    capture = current()
    if capture is not None and root is not None:
        capture.notes.roots[value.id] = (value, root)
        capture.notes.written[root] = value


def shape(thing: Any) -> Any:
    """``thing.shape``; a dimension that only the run knows is a 0-D value, not -1 (rule E4)."""
    if hasattr(type(thing), "d2s_shape"):
        return thing.d2s_shape()
    sizes = thing.shape
    if current() is None or not bridge.is_value(thing) or all(size >= 0 for size in sizes):
        return sizes
    known = paddle.shape(thing)
    return Sizes(
        size if size >= 0 else mark_number(known[index].astype("int64"), int)
        for index, size in enumerate(sizes)
    )


SIZE: Final[Any] = type(paddle.zeros([1]).shape)
"""What ``tensor.shape`` is in dygraph: a list of Paddle's own, and so are parts and sums."""


class Sizes(list[Any]):
    """The ``shape`` of a tensor with open dimensions; ``SIZE`` can only hold Python numbers."""

    def __getitem__(self, at: SupportsIndex | slice) -> Any:
        found = list.__getitem__(self, at)
        return sizes(found) if isinstance(at, slice) else found

    def __add__(self, other: Any) -> Any:
        SIZE(()) + _without_items(other)
        return sizes([*self, *other])

    def __radd__(self, other: Any) -> Any:
        _without_items(other) + SIZE(())
        return sizes([*other, *self])

    def __mul__(self, times: SupportsIndex) -> Any:
        found = list.__mul__(self, times)
        return found if found is NotImplemented else sizes(found)

    __rmul__ = __mul__

    def numel(self) -> Any:
        """How many elements a tensor of these sizes has."""
        return math.prod(self)


def _without_items(other: object) -> Any:
    """``other``, of a sequence nothing: Paddle says what its sizes can be joined to."""
    return other[:0] if isinstance(other, Sequence) else other


def sizes(found: Iterable[Any]) -> Any:
    """What ``shape`` holds, as dygraph has it: Paddle's own list, where that can hold it."""
    held = list(found)
    plain = current() is None or all(type(size) is int for size in held)
    return SIZE(()) + held if plain else Sizes(held)
