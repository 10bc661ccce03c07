"""An array of the run as the user's code sees it: its operators, methods and items."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import NotStaticError, UnsupportedInGraphError
from d2s.runtime.aliasing.views.arrays import MAKER
from d2s.runtime.lists.positions import Indexed
from d2s.runtime.python.arrays.contents import KNOWN, RunArray, alone, dtype_of, size_of
from d2s.runtime.python.arrays.keys import check_bounds, is_simple, sample_of
from d2s.runtime.python.arrays.numpy_calls import call, holds_values
from d2s.runtime.python.arrays.ufuncs import is_number_like, lowered, sample_like
from d2s.runtime.python.arrays.views import view, write
from d2s.runtime.python.casts import to_number
from d2s.runtime.python.tolist import tolist
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.callbacks import raise_when
from d2s.runtime.values.choice import Choice, each
from d2s.runtime.values.tensors import (
    as_value,
    cast_plain,
    is_array,
    is_tensor,
    no_hash,
    number_kind,
)
from d2s.runtime.values.tree import is_list_or_tuple

Function = Callable[..., Any]


def memoryview_(thing: Any, /) -> Any:
    """``memoryview``, which shows the memory of an array: there is none before the run."""
    if isinstance(thing, Choice):
        return each(memoryview_, thing, none=True, exact=True)
    if is_array(thing):
        thing.d2s_memory()
    return memoryview(thing)


def _asked(name: str) -> Function:
    """A method that code of Python calls by itself, which would need the numbers."""

    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        raise error_here(
            NotStaticError,
            f"{name} asks for the numbers of an array that each run decides, while the program is "
            "being captured",
            "compute with functions of NumPy or tensors, or take the numbers outside",
        )

    return method


class Array(RunArray):
    """An array, or a number, of NumPy that the run decides."""

    __array_priority__ = 1000

    d2s_is_state = True

    @staticmethod
    def of(thing: object) -> Array:
        """``x.numpy()``: a copy of a tensor, without gradient; of a constant array likewise."""
        if isinstance(thing, np.ndarray | np.generic):
            if thing.dtype.name not in KNOWN:
                _asked(f"an item of an array of {thing.dtype}")(thing)
            constant = paddle.to_tensor(np.asarray(thing))
            return (Array if isinstance(thing, np.ndarray) else Scalar)(
                cast_plain(constant, np.asarray(thing).dtype.name)
            )
        value = paddle.assign(as_value(thing))
        value.stop_gradient = True
        dtype_of(value)
        return Array(value)

    # -- as Python sees it -----------------------------------------------------------------------

    def d2s_condition(self) -> Any:
        """Its truth, a value of the program."""
        if not self.is_known():
            many = UnsupportedInGraphError(
                "the truth of an array is asked for that has not one element on this run",
                cure="use a.any() or a.all()",
            )
            raise_when(self._count() != 1, many)
        elif self.size != 1:
            bool(self.sample())  # says what is wrong
        return cast_plain(alone(self.value), "bool")

    def d2s_number(self, kind: type) -> Any:
        """``int``, ``float`` of one element."""
        if self.is_known():
            kind(self.sample())  # says what is wrong
        return to_number(alone(self.value), kind)

    def d2s_index(self) -> Any:
        """The number of the run that it is where Python asks for ``__index__``."""
        operator.index(self.sample())  # says what is wrong
        return to_number(alone(self.value), int)

    def d2s_len(self) -> Any:
        """``len``."""
        return size_of(self.value, 0) if self.ndim else len(self.sample())

    def __len__(self) -> int:
        if self.ndim and self.value.shape[0] < 0:
            _asked("len()")(self)
        return int(self.d2s_len())

    def d2s_indexed(self) -> Indexed | None:
        """What a ``for`` iterates, where the run decides how long it is."""
        if not self.ndim or self.value.shape[0] >= 0:
            return None
        return Indexed(lambda: size_of(self.value, 0), lambda index: self[index])

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            return iter(self.sample())  # says what is wrong
        if self.value.shape[0] < 0:
            _asked("iter()")(self)
        return iter([self[index] for index in range(self.value.shape[0])])

    def __hash__(self) -> int:
        if self.scalar:
            raise no_hash()
        return hash(self.sample())  # says what is wrong

    __bool__ = _asked("bool()")
    __int__ = _asked("int()")
    __float__ = _asked("float()")
    __complex__ = _asked("complex()")
    __index__ = _asked("an index")
    __array__ = _asked("a library")
    d2s_memory = _asked("memoryview()")
    __format__ = _asked("format()")

    def __contains__(self, item: Any) -> Any:
        return (self == item).any().item()

    # -- operations that Paddle says exactly ------------------------------------------------------

    def item(self, *index: Any) -> Any:
        """``a.item()``: a Python number."""
        if index:
            place = index[0] if len(index) == 1 and not isinstance(index[0], tuple) else None
            found = self if place is None else Array(paddle.reshape(self.value, [-1]))
            return found[index[0] if len(index) == 1 else index].item()
        kind = type(self.sample(odd=1).item())
        if kind is complex:
            tolist(self.value)  # says what is wrong
        return to_number(alone(self.value), kind)

    def tolist(self) -> Any:
        """``a.tolist()``."""
        return tolist(self.value)

    def astype(self, dtype: Any, *arguments: Any, **options: Any) -> Any:
        """``a.astype()``: a copy, of another dtype."""
        name = np.dtype(dtype).name
        if arguments or options or name not in KNOWN or self.dtype.kind == "c":
            return call(_method("astype"), [self, dtype, *arguments], options)
        return self._like(paddle.cast(self.value, name))

    def copy(self, *arguments: Any, **options: Any) -> Any:
        """``a.copy()``."""
        return self._like(paddle.assign(self.value))

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: object) -> Any:
        return self.copy()

    def _like(self, value: object) -> Array:
        made = type(self)(paddle.assign(value) if value is self.value else value)
        made.value.stop_gradient = True
        return made

    @property
    def T(self) -> Any:
        """The transposed array, a view."""
        return self.transpose()

    def transpose(self, *axes: Any) -> Any:
        """``a.transpose()``, a view."""
        axes = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        order = list(range(self.ndim))[::-1] if not axes else [a % self.ndim for a in axes]
        self.sample().transpose(order)  # says what is wrong
        back = [order.index(axis) for axis in range(self.ndim)]
        return view(
            self,
            lambda base: paddle.transpose(base, order),
            lambda base, part: paddle.transpose(part, back),
        )

    def __getitem__(self, key: object) -> Any:
        key = _plain_key(key)
        if not is_simple(key):
            return call(operator.getitem, [self, key], {})
        check_bounds(self, key)
        sample = sample_of(self, key)
        chosen = self.value if key == () else self.value[key]
        if not isinstance(sample, np.ndarray):
            return Scalar(paddle.assign(chosen))
        return view(
            self,
            lambda base: base[key],
            lambda base, part: bridge.with_item(base, key, part),
        )

    def __setitem__(self, key: object, item: object) -> None:
        key = _plain_key(key)
        if self.scalar:
            self.sample()[key] = 0  # says what is wrong
        if not (is_simple(key) and self._takes(key, item)):
            call(operator.setitem, [self, key, item], {})
            return
        check_bounds(self, key)
        value = item.value if isinstance(item, Array) else as_value(item)
        if not self.ndim:  # of which Paddle's operation knows nothing
            write(self, paddle.assign(cast_plain(value, self.dtype.name)))
            return
        write(self, bridge.with_item(self.value, key, cast_plain(value, self.dtype.name)))

    def _takes(self, key: object, item: object) -> bool:
        """Whether ``a[key] = item`` stores one number, or an array of the shape that there is."""
        if not self.is_known():
            return False
        if number_kind(item) is not None:
            return not (self.dtype.kind in "iu" and number_kind(item) is float)
        if not isinstance(item, Array) or item.dtype.kind == "c":
            return False
        place = sample_of(self, key)
        return item.is_known() and tuple(item.value.shape) in ((), np.shape(place))

    # -- NumPy ------------------------------------------------------------------------------------

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if any(is_tensor(item) and number_kind(item) is None for item in inputs):
            return NotImplemented
        if method == "__call__" and not options:
            made = lowered(function, inputs)
            if made is not None:
                return made
        use = function if method == "__call__" else _part_of(function, method)
        return call(use, list(inputs), options)

    def __array_function__(
        self, function: Any, types: object, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        return call(function, list(arguments), options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("d2s_") or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(name)
        found = getattr(self.sample(), name)  # says what is wrong
        if callable(found):
            return lambda *arguments, **options: call(_method(name), [self, *arguments], options)
        if isinstance(found, np.ndarray | np.generic):  # .real, .imag, .flat
            return call(operator.attrgetter(name), [self], {})
        if name in ("flags", "ctypes", "data", "base", "strides", "flat"):
            _asked(f".{name}")(self)
        return found


class Scalar(Array):
    """A number of NumPy that the run decides."""

    d2s_is_state = True
    scalar = True


def _method(name: str) -> Function:
    def method(array: object, *arguments: Any, **options: Any) -> Any:
        return getattr(array, name)(*arguments, **options)

    method.__name__ = method.__qualname__ = name
    return method


def _part_of(function: object, method: str) -> Function:
    """``np.add.reduce`` and its like."""
    return getattr(function, method)  # type: ignore[no-any-return]


def _plain_key(key: object) -> Any:
    """A key with numbers of the run in the place of NumPy's."""
    if isinstance(key, Array) and not key.ndim and key.dtype.kind in "iu":
        return key.d2s_index()
    if type(key) is tuple:
        return tuple(map(_plain_key, key))
    if type(key) is slice:
        return slice(*map(_plain_key, (key.start, key.stop, key.step)))
    return int(key) if isinstance(key, np.integer) else key


def _binary(function: object, *, swapped: bool = False) -> Function:
    def method(self: Any, other: object) -> Any:
        if is_tensor(other) and number_kind(other) is None:
            return NotImplemented  # a tensor takes an array for a tensor
        if not (isinstance(other, Array) or is_list_or_tuple(other) or is_number_like(other)):
            return NotImplemented
        pair = (other, self) if swapped else (self, other)
        return self.__array_ufunc__(function, "__call__", *pair)

    return method


def _in_place(function: Any) -> Function:
    def method(self: Any, other: Any) -> Any:
        if self.scalar:
            return self.__array_ufunc__(function, "__call__", self, other)
        if is_tensor(other) and number_kind(other) is None:
            return NotImplemented
        sample = self.sample(odd=1)
        function(sample, sample_like(other), out=sample)  # it raises what NumPy raises
        made = self.__array_ufunc__(function, "__call__", self, other)
        write(self, cast_plain(made.value, self.dtype.name))
        return self

    return method


for _word, _function in {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "pow": np.power, "matmul": np.matmul,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "lshift": np.left_shift, "rshift": np.right_shift, "divmod": np.divmod,
}.items():  # fmt: skip
    setattr(Array, f"__{_word}__", _binary(_function))
    setattr(Array, f"__r{_word}__", _binary(_function, swapped=True))
    if _word != "divmod":
        setattr(Array, f"__i{_word}__", _in_place(_function))
for _word, _function in {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "eq": np.equal, "ne": np.not_equal,
}.items():  # fmt: skip
    setattr(Array, f"__{_word}__", _binary(_function))
for _word, _function in {
    "neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert,
}.items():  # fmt: skip
    setattr(
        Array,
        f"__{_word}__",
        (lambda function: lambda self: self.__array_ufunc__(function, "__call__", self))(_function),
    )


def numpy_(x: object) -> Any:
    """``x.numpy()``."""
    return Array.of(x)


def asarray(a: object, dtype: object = None, *arguments: Any, **options: Any) -> Any:
    """``np.asarray``, of what the run decides."""
    return _as_array(np.asarray, a, dtype, arguments, options)


def array(object: object, dtype: object = None, *arguments: Any, **options: Any) -> Any:
    """``np.array``, of what the run decides."""
    return _as_array(np.array, object, dtype, arguments, options)


def _as_array(
    function: Any, thing: Any, dtype: Any, arguments: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    given = {} if dtype is None else {"dtype": dtype}
    if current() is None or not (holds_values(thing) or bridge.is_eager(thing)):
        return function(thing, *arguments, **given, **options)
    if not arguments and not options:
        if is_tensor(thing) and number_kind(thing) is None:
            made = Array.of(thing)
            return made if dtype is None else made.astype(dtype)
        if isinstance(thing, Array) and not thing.scalar and dtype in (None, thing.dtype):
            return thing if function is np.asarray else thing.copy()
    return call(function, [thing, *arguments], {**given, **options})


MAKER.append(Array.of)
