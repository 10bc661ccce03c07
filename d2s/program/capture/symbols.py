"""What code that is captured meets in the place of tensors, and what it may do with it.

A value of a program is no tensor: what only the run knows is refused, in words about the code.

    x.detach()      ->    a copy without gradient, in the program
    float(x)        ->    D2S208, if code that stays Python asks
    i + 1           ->    a Python number again on each run, if ``i`` is one
"""

from __future__ import annotations

import contextlib
import dis
import functools
import inspect
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import is_ours
from d2s.errors import NotStaticError, UnsupportedInGraphError
from d2s.program.capture.arithmetic import propagate_numbers
from d2s.program.state.records import is_symbol
from d2s.runtime.aliasing import inplace
from d2s.runtime.aliasing.replays import CHECKS, Method, as_in_dygraph
from d2s.runtime.calls.applying import APPLYING
from d2s.runtime.lists import becoming
from d2s.runtime.lists.positions import want_steps
from d2s.runtime.python import casts
from d2s.runtime.python.arrays.array import Array
from d2s.runtime.python.items import value_getitem
from d2s.runtime.python.tolist import tolist
from d2s.runtime.trace import current, error_here
from d2s.runtime.training.flags import set_flag
from d2s.runtime.training.tensor_attributes import VALUE_METHODS
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.objects import is_user_object
from d2s.runtime.values.tensors import (
    NUMBER_DTYPES,
    ArrayAskedError,
    adapt_operand,
    cast_plain,
    is_array,
    mark_number,
    no_hash,
    number_kind,
    refuse,
)
from d2s.runtime.values.tree import is_plain_sequence

_HASH: Final[Callable[[Any], int]] = bridge.Value.__hash__

_SIZE: Final[type] = type(paddle.ones([1]).size)
"""What ``tensor.size`` is in dygraph: since Paddle 3.3 an int of its own, which knows the shape."""


def _unknown(name: str) -> Callable[..., Any]:
    """A method for values that asks for what only the run knows."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise error_here(
            NotStaticError,
            f"{name}() asks for the values of a tensor while the program is being captured",
            "compute with the tensor itself, with functions of Paddle",
        )

    return method


def _array_asked(self: Any, *args: Any, **kwargs: Any) -> Any:
    """What a library asks for an array: NumPy's own functions are left to the run then."""
    raise error_here(
        ArrayAskedError,
        "np.asarray() asks for the values of a tensor while the program is being captured",
        "compute with the tensor itself, with functions of Paddle, or call np.asarray in a "
        "converted function",
    )


@functools.cache
def _inplace_methods() -> dict[str, Callable[..., Any]]:
    """Every in-place method of a dygraph tensor, for values of a program."""

    def made(name: str) -> Callable[..., Any]:
        def change(self: Any, *arguments: Any, **options: Any) -> Any:
            return inplace.method(self, name)(*arguments, **options)

        change.__name__ = name
        return change

    names = [name for name in dir(paddle.Tensor) if inplace.is_inplace(name)]
    return {name: made(name) for name in names if not name.startswith("_")}


_DECIDES: Final = "its value decides what code that stays Python does, which only the run knows"

_YIELDING: Final = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR


def _truth(self: Any) -> bool:
    """Refuse to be a truth value; a generator stays Python, and is named."""
    code = sys._getframe(1).f_code
    if code.co_flags & _YIELDING and not is_ours(code.co_filename) and code.co_name[0] != "<":
        want_steps()
        raise error_here(
            UnsupportedInGraphError,
            f"a tensor decides what the generator {code.co_name!r} yields, which only the run "
            "knows",
            "write its loop into the function that uses it, without yield, or let it return a list",
        )
    raise error_here(
        UnsupportedInGraphError,
        f"a tensor is used as a truth value, but {_DECIDES}",
        "use if, while, and, or, not of a converted function, or bool(tensor)",
    )


def attributes_of_values() -> dict[str, Any]:
    """What values have besides or instead of Paddle's own attributes, by name."""
    plain = _DECIDES
    return {
        **_inplace_methods(),
        "name": property(_name, _NAME.__set__),
        "size": property(_size),
        "stop_gradient": property(_FLAG.__get__, _set_flag),
        "detach": _detach,
        "data": property(_detach),
        "cpu": _to_cpu,
        "place": property(_place),
        "is_dense": lambda self: True,
        **dict.fromkeys(_OF_OTHER_KINDS, lambda self: False),
        **{name: property(casts.of_arrays(name)) for name in ("append", "pop")},
        "is_integer": _is_integer,
        **casts.attributes_of_numbers(),
        "__hash__": _hash,
        "__bool__": _truth,
        "__index__": refuse(
            f"a tensor is used as a Python index, but {plain}",
            "stack the sequence into a tensor and index that",
        ),
        "__setitem__": refuse(
            "an item of a tensor that is no local variable is assigned, which a captured program "
            "would lose",
            "bind the tensor to a local variable, assign the item, and bind it back",
        ),
        "__array__": _array_asked,
        "__array_priority__": 100,  # as tensors of dygraph: numbers of NumPy leave it to them
        "__float__": _unknown("float"),
        "__int__": _unknown("int"),
        "__complex__": _unknown("complex"),
        "numpy": lambda self: Array.of(self),
        "tolist": tolist,
        "__format__": _refuse_format,
        "__str__": _as_text,
        "__iter__": _iterate,
        "__len__": _length,
        "__contains__": refuse(
            f"'in' asks for the truth of tensors, but {plain}",
            "use (tensor == item).any()",
        ),
        **VALUE_METHODS,
        "__getitem__": value_getitem(),
    }


def _place(self: Any) -> Any:
    """Where tensors are made, as a run's are."""
    return bridge.place_of_tensors()


def _is_integer(self: Any) -> Any:
    """``float.is_integer``, or what Paddle says of a tensor's dtype."""
    return casts.is_whole(self) if number_kind(self) is float else paddle.is_integer(self)


_OF_OTHER_KINDS: Final = ("is_selected_rows", "is_sparse", "is_sparse_coo", "is_sparse_csr")
"""Methods that ask whether a tensor is of a kind that a program has none of."""


def _to_cpu(self: Any) -> Any:
    """``x.cpu()``, which ``x.to("cpu")`` calls as well: Paddle's own has no gradient."""
    if not paddle.is_compiled_with_cuda():
        return paddle.assign(self)
    if self.stop_gradient:
        return _COPY_TO_CPU(self)
    raise error_here(
        UnsupportedInGraphError,
        ".cpu() moves a tensor that takes a gradient, which Paddle's programs would lose",
        "leave it on its device, or move a .detach() of it",
    )


_COPY_TO_CPU: Final = bridge.Value.cpu


def _adapted(mine: Any, other: Any, name: str) -> Any:
    """``other`` as a partner of ``mine`` in the operator ``name``."""
    if is_array(other):
        return _beside_array(mine, other, name)
    if isinstance(other, Choice):
        compares = name in ("__eq__", "__ne__") and any(each is None for each in other.leaves())
        if compares or not other.single:
            return NotImplemented  # it uses each of its alternatives
        other = other.get(lambda found: getattr(mine, name)(found))
    if (
        name in ("__eq__", "__ne__")
        and type(other) in _NO_NUMBERS
        and number_kind(mine) is not None
    ):
        return bridge.Answer(name == "__ne__")
    if isinstance(other, np.generic):
        return bridge.Answer(getattr(mine, name)(_plain_number(mine, other)))
    casts.check_divisor(mine, other, name)
    if name in casts.BITS and None not in (number_kind(mine), number_kind(other)):
        return bridge.Answer(casts.bits(name, mine, other))
    if name in casts.ARITHMETIC and number_kind(mine) is number_kind(other) is bool:
        return bridge.Answer(getattr(casts.to_number(mine, int), name)(casts.to_number(other, int)))
    if name in ("__mul__", "__rmul__") and (is_plain_sequence(other) or type(other) is str):
        return bridge.Answer(becoming.repeated(other, _times(mine)))
    if not isinstance(other, _PARTNERS):
        return _beside_other(mine, other, name)
    adapted = adapt_operand(mine, other)
    if name == "__matmul__" and bridge.is_value(adapted) and not bridge.autocasts():
        return cast_plain(adapted, mine.dtype)  # a program would promote both
    return adapted


_NO_NUMBERS: Final = (str, bytes, tuple, list, dict, set, frozenset, type(None))
"""What no Python number is equal to."""


_PARTNERS: Final = (bridge.Value, bridge.EagerTensor, int, float, complex, np.ndarray)
"""What a tensor is computed with."""


_LEFT_TO_THE_OTHER: Final = frozenset(("add", "sub", "mul", "matmul", "pow"))
"""Operators of a dygraph tensor that Paddle leaves to a class with ``__radd__`` and the like."""


def _beside_other(mine: Any, other: Any, name: str) -> Any:
    """What is no number beside a tensor, which is equal to none of it."""
    word = name.strip("_")
    if is_user_object(other) and (
        number_kind(mine) is not None
        or (word in _LEFT_TO_THE_OTHER and hasattr(type(other), f"__r{word}__"))
    ):
        return NotImplemented
    if type(other) in (str, paddle.dtype):
        raise error_here(
            UnsupportedInGraphError,
            f"a tensor and a {type(other).__name__} are operands of {name}, where Paddle takes it "
            "for a number",
            "compare or compute with what was meant",
        )
    return bridge.Answer(name == "__ne__") if name in ("__eq__", "__ne__") else other


def _times(mine: Any) -> Any:
    """How often a tensor, as a Python int, repeats a list, tuple or text.

    Raises:
        AssertionError, TypeError: it cannot be one, as in dygraph.
    """
    if number_kind(mine) is float:
        raise TypeError("can't multiply sequence by non-int of type 'float'")
    if number_kind(mine) is not None:
        return mine
    if list(mine.shape) == []:
        return mark_number(cast_plain(mine, "int64"), int)
    if list(mine.shape).count(1) == len(mine.shape):
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    raise AssertionError("only one element variable can be converted to python index.")


def _beside_array(mine: Any, array: Any, name: str) -> Any:
    """An array of the run beside a tensor, which takes it for one, or beside a number."""
    if number_kind(mine) is not None:
        return NotImplemented  # it is the array that knows
    if not array.scalar:
        return array.value
    kind = type(array.sample().item())
    if kind not in NUMBER_DTYPES or (kind is float and "int" in str(mine.dtype)):
        raise error_here(
            UnsupportedInGraphError,
            f"a {array.dtype} of NumPy meets a tensor of {mine.dtype}",
            "take the number out of NumPy with float() or .item()",
        )
    return bridge.Answer(getattr(mine, name)(array.item()))


def _plain_number(mine: Any, number: Any) -> Any:
    """A number of NumPy as the number of Python that dygraph takes it for beside a tensor."""
    if number_kind(mine) is not None:
        raise error_here(
            UnsupportedInGraphError,
            "a number of NumPy meets a Python number that a tensor decides, and would make it "
            "one of NumPy",
            "take the number out of NumPy with float(), int() or .item()",
        )
    plain = number.item()
    if isinstance(plain, float) and not isinstance(number, float) and "int" in str(mine.dtype):
        raise error_here(
            UnsupportedInGraphError,
            f"a {type(number).__name__} of NumPy meets a tensor of integers, which dygraph would "
            "cut it for",
            "take the number out of NumPy with float() or .item()",
        )
    return plain


def _said(error: Exception, name: str, operands: tuple[Any, ...]) -> Exception:
    return as_in_dygraph(error, Method(name), operands, {})


def _refuse_format(self: Any, spec: str) -> str:
    raise NotStaticError(
        "a tensor is formatted into text while the program is being captured",
        cure="use an f-string in print, assert or raise",
    )


def _as_text(self: Any) -> str:
    """What a debugger shows; ``text % tensor`` of code that stays as it is would keep it."""
    frame = sys._getframe(1)
    step = dis.opname[frame.f_code.co_code[frame.f_lasti]]
    if step.startswith(("BINARY_", "INPLACE_")) and not is_ours(frame.f_code.co_filename):
        raise error_here(
            NotStaticError,
            "a tensor is formatted into text by % while the program is being captured",
            "write the text before the % itself, or a tuple behind it, or use an f-string",
        )
    return repr(self)


def _length(self: Any) -> int:
    if number_kind(self) is not None:
        raise error_here(
            NotStaticError,
            "a library takes the number that only the run knows for a sequence",
            "give it a number that depends on no tensor, or a list with the number",
        )
    if not list(self.shape):
        raise AssertionError("len() of a 0-D tensor is wrong")
    if self.shape[0] < 0:
        raise UnsupportedInGraphError(
            "the length of a tensor with an open first dimension is asked for by Python code",
            cure="call len() in a converted function, or use x.shape[0]",
        )
    return int(self.shape[0])


def _noticed(tensor: Any) -> None:
    """The contents of a tensor go into the program as constants, if user code reads them."""
    state = current()
    if state is not None and state.on_read is not None:
        state.on_read(tensor)


def _hash(self: Any) -> int:
    """A number of the run has no hash by which a dict or set would find it."""
    code = sys._getframe(1).f_code
    if number_kind(self) is not None and (not is_ours(code.co_filename) or code is APPLYING):
        raise no_hash()
    return _HASH(self)


def _check_parts(operation: Any, value: Any, axis: int = 0, *others: Any, **options: Any) -> None:
    """Paddle 3.3.1 ends the process when it takes apart a dimension of unknown size."""
    if bridge.is_value(value) and list(value.shape)[axis : axis + 1 or None] == [-1]:
        raise error_here(
            UnsupportedInGraphError,
            "a tensor is taken apart along a dimension whose size only the run knows",
            "iterate over it with for, or index it",
        )


def _detach(self: Any) -> Any:
    """A copy without gradient.

    In dygraph it shares the tensor's storage; in a program of Paddle 3.3 an operation that may
    work in place then overwrites the argument.
    """
    copy = paddle.assign(self)
    copy.stop_gradient = True
    state = current()
    if state is not None:
        state.notes.detached[copy.id] = copy
    return copy


_NAME: Final[Any] = vars(bridge.Value)["name"]


def _name(self: Any) -> str:
    """A name, also of what Paddle has none for; dygraph makes a new one on each call."""
    try:
        return str(_NAME.__get__(self))
    except ValueError:
        capture = current()
        if capture is None:
            return f"eager_tmp_{self.id}"
        names = capture.notes.names
        return names.setdefault(self.id, (self, f"eager_tmp_{len(names)}"))[1]


_FLAG: Final[Any] = vars(bridge.Value)["stop_gradient"]


def _set_flag(self: Any, stops: bool) -> None:
    if current() is None or is_ours(sys._getframe(1).f_code.co_filename):
        _FLAG.__set__(self, stops)
    else:
        set_flag(self, bool(stops))


def _size(self: Any) -> Any:
    """The number of elements: an int where every dimension is known, as in dygraph."""
    sizes = list(self.shape)
    if all(size >= 0 for size in sizes):
        return math.prod(sizes) if _SIZE is int else _SIZE(sizes)
    return mark_number(paddle.numel(self).astype("int64"), int)


def _iterate(self: Any) -> Any:
    if not list(self.shape):
        return iter(())  # as in dygraph
    return iter([self[index] for index in range(_length(self))])


@contextlib.contextmanager
def _attributes_as_values() -> Iterator[None]:
    """While a program is captured, a layer's attribute can hold what stands for a value.

    Paddle's own ``Layer.__setattr__`` would write the new value into the buffer that is there.
    """
    layer = paddle.nn.Layer
    original = layer.__setattr__

    def assign(self: Any, name: str, value: Any) -> None:
        if (
            current() is None
            or not is_symbol(value)
            or name in self.__dict__.get("_parameters", ())
        ):
            original(self, name, value)
        elif isinstance(getattr(type(self), name, None), property):
            raise error_here(
                UnsupportedInGraphError,
                f"a tensor is assigned to {name!r}, a property of a layer, of which Paddle makes "
                "a buffer as well",
                f"write a method such as set_{name}(value) in place of the setter",
            )
        else:
            fields = self.__dict__
            home = fields["_buffers"] if name in fields.get("_buffers", ()) else fields
            home[name] = value

    layer.__setattr__ = assign
    try:
        yield
    finally:
        layer.__setattr__ = original


_OWN_CHECKS: Final[dict[str, Callable[..., None]]] = {
    "unbind": _check_parts,
    "unstack": _check_parts,
}


@contextlib.contextmanager
def expressions(attributes: dict[str, Any]) -> Iterator[None]:
    """Let dygraph tensors take part in the expressions of a program.

    Args:
        attributes: what values have meanwhile.
    """
    with (
        bridge.tensors_as_values(_adapted, propagate_numbers, attributes, _noticed, _said),
        bridge.checked_operations({**CHECKS, **_OWN_CHECKS}),
        bridge.true_dtypes(),
        bridge.derivatives_as_in_dygraph(),
        bridge.exact_numbers(),  # around the checks, which ask dygraph by Paddle's own functions
        _attributes_as_values(),
    ):
        yield
