"""Arrays of NumPy that the run decides: ``x.numpy()`` of a tensor of the program (rule E5).

An :class:`Array` stands for what NumPy has there: a value of the program holds its contents, and
what an operation gives is asked of NumPy itself, on samples of the same dtype and shape.  What
Paddle says exactly the same is an operation of the program (indexing, comparisons, sums and
products of two arrays, casts); every other function of NumPy is called by each run.

::

    a = x.numpy()               a copy of x, without gradient
    a[0] > 0, a * 2, int(a[0])  operations of the program
    np.cumsum(a), a.std()       NumPy, called with the contents of ``a`` on the run
    b = a[1:]; b[0] = 5         ``a`` has the 5, too

A function may write into an array: the array then has other contents, which a branch or loop hands
on as it does the attributes of an object.  What is a view of what is noted beside the arrays.
"""

from __future__ import annotations

import functools
import math
import operator
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import NotStaticError, UnsupportedInGraphError
from d2s.runtime.host.text import HostText
from d2s.runtime.lists.iteration import Indexed
from d2s.runtime.python.casts import to_number
from d2s.runtime.python.tolist import tolist
from d2s.runtime.trace import error_here
from d2s.runtime.values.callbacks import raise_when, raise_where
from d2s.runtime.values.tensors import (
    as_value,
    cast_plain,
    is_array,
    is_tensor,
    mark_number,
    no_hash,
    number_kind,
)

Function = Callable[..., Any]

KNOWN: Final = frozenset(
    (
        *("bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"),
        *("complex64", "complex128"),
    )
)
"""The dtypes that tensors and arrays have in common."""

_COMPUTED: Final = frozenset(("int32", "int64", "float32", "float64"))
"""In these Paddle computes sums and products as NumPy does."""


def memoryview_(thing: Any, /) -> Any:
    """``memoryview``, which shows the memory of an array: there is none before the run."""
    if is_array(thing):
        thing.d2s_memory()
    return memoryview(thing)


def dtype_of(value: Any) -> Any:
    """The dtype of the array that a tensor becomes."""
    name = str(value.dtype).rsplit(".", 1)[-1]
    if name not in KNOWN:
        raise error_here(
            NotStaticError,
            f"a {name} tensor becomes an array of NumPy, which has no such dtype",
            "cast it to float32 before",
        )
    return np.dtype(name)


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


class Array:
    """An array, or a number, of NumPy that the run decides.

    Attributes:
        value: the contents, a value of the program.
        part: not empty if it is a view of another array, or another array is one of it.
    """

    scalar = False
    """Whether it is a number of NumPy (``np.float32(3)``), which nobody can change."""

    d2s_is_state = True
    """Branches and loops hand on its attributes, as those of a user's object."""

    __array_priority__ = 1000

    def __init__(self, value: Any) -> None:
        self.value = value
        self.part = ""

    @staticmethod
    def of(thing: Any) -> Array:
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

    # -- what it looks like ----------------------------------------------------------------------

    @property
    def dtype(self) -> Any:
        """The dtype of NumPy."""
        return dtype_of(self.value)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.value.shape)

    @property
    def shape(self) -> Any:
        """A tuple; a dimension that only the run knows is a number of the run."""
        return tuple(_size(self.value, axis) for axis in range(self.ndim))

    @property
    def size(self) -> Any:
        """The number of elements."""
        return math.prod(self.shape) if self.is_known() else self._count()

    def _count(self) -> Any:
        return mark_number(paddle.numel(self.value).astype("int64"), int)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> Any:
        """Bytes of all."""
        return self.size * self.itemsize

    def is_known(self) -> bool:
        """Whether every dimension is known now."""
        return all(size >= 0 for size in self.value.shape)

    def sample(self, of: Callable[[tuple[int, ...], Any], Any] | None = None, odd: int = 3) -> Any:
        """An array, or number, of NumPy like this one.

        Args:
            of: makes it, of a shape and a dtype; ones by default.
            odd: the size of dimensions that only the run knows.
        """
        shape = tuple(odd if size < 0 else size for size in self.value.shape)
        made = (np.ones if of is None else of)(shape, self.dtype)
        return made[()] if self.scalar else made

    @classmethod
    def on_host(cls, tensor: Any) -> Any:
        """What it is on a run that has given ``tensor``."""
        array = np.array(tensor.numpy(), copy=True)
        return array[()] if cls.scalar else array

    def d2s_parts(self) -> tuple[list[tuple[str, Any]], Callable[[list[Any]], Any]]:
        """What it holds, and what makes its like: an array of NumPy of a run's tensor."""

        def make(items: list[Any]) -> Any:
            (item,) = items
            return type(self)(item) if bridge.is_value(item) else self.on_host(item)

        return [("", self.value)], make

    def d2s_is_like(self, other: Any) -> bool:
        """Whether one array may stand for both, behind a branch: of one dtype and rank."""
        values = self.value, other.value
        return all(map(bridge.is_value, values)) and (
            values[0].dtype == values[1].dtype and self.ndim == other.ndim
        )

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
        return cast_plain(_alone(self.value), "bool")

    def d2s_number(self, kind: type) -> Any:
        """``int``, ``float`` of one element."""
        if self.is_known():
            kind(self.sample())  # says what is wrong
        return to_number(_alone(self.value), kind)

    def d2s_index(self) -> Any:
        """The number of the run that it is where Python asks for ``__index__``."""
        operator.index(self.sample())  # says what is wrong
        return to_number(_alone(self.value), int)

    def d2s_len(self) -> Any:
        """``len``."""
        return _size(self.value, 0) if self.ndim else len(self.sample())

    def __len__(self) -> int:
        if self.ndim and self.value.shape[0] < 0:
            _asked("len()")(self)
        return int(self.d2s_len())

    def d2s_indexed(self) -> Indexed | None:
        """What a ``for`` iterates, where the run decides how long it is."""
        if not self.ndim or self.value.shape[0] >= 0:
            return None
        return Indexed(lambda: _size(self.value, 0), lambda index: self[index])

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
    __copy__ = _asked("copy.copy()")
    __deepcopy__ = _asked("copy.deepcopy()")
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
        return to_number(_alone(self.value), kind)

    def tolist(self) -> Any:
        """``a.tolist()``."""
        return tolist(self.value)

    def astype(self, dtype: Any, *arguments: Any, **options: Any) -> Any:
        """``a.astype()``: a copy, of another dtype."""
        name = np.dtype(dtype).name
        if arguments or options or name not in KNOWN or self.dtype.kind == "c":
            return _numpys().call(_method("astype"), [self, dtype, *arguments], options)
        return self._like(paddle.cast(self.value, name))

    def copy(self, *arguments: Any, **options: Any) -> Any:
        """``a.copy()``."""
        return self._like(paddle.assign(self.value))

    def _like(self, value: Any) -> Array:
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

    def __getitem__(self, key: Any) -> Any:
        key = _plain_key(key)
        if not _is_simple(key):
            return _numpys().call(operator.getitem, [self, key], {})
        self._check_bounds(key)
        sample = _sample_of(self, key)
        chosen = self.value if key == () else self.value[key]
        if not isinstance(sample, np.ndarray):
            return Scalar(paddle.assign(chosen))
        return view(
            self,
            lambda base: base[key],
            lambda base, part: bridge.with_item(base, key, part),
        )

    def __setitem__(self, key: Any, item: Any) -> None:
        key = _plain_key(key)
        if self.scalar:
            self.sample()[key] = 0  # says what is wrong
        if not (_is_simple(key) and self._takes(key, item)):
            _numpys().call(operator.setitem, [self, key, item], {})
            return
        self._check_bounds(key)
        value = item.value if isinstance(item, Array) else as_value(item)
        write(self, bridge.with_item(self.value, key, cast_plain(value, self.dtype.name)))

    def _takes(self, key: Any, item: Any) -> bool:
        """Whether ``a[key] = item`` stores one number, or an array of the shape that there is."""
        if not self.is_known():
            return False
        if number_kind(item) is not None:
            return not (self.dtype.kind in "iu" and number_kind(item) is float)
        if not isinstance(item, Array) or item.dtype.kind == "c":
            return False
        place = _sample_of(self, key)
        return item.is_known() and tuple(item.value.shape) in ((), np.shape(place))

    def _check_bounds(self, key: Any) -> None:
        """Let the run raise for an index out of bounds, in NumPy's words."""
        parts = key if isinstance(key, tuple) else (key,)
        axis = 0
        for part in parts:
            if part is None:
                continue
            if part is Ellipsis:
                axis += self.ndim - sum(p is not None and p is not Ellipsis for p in parts)
                continue
            if bridge.is_value(part):
                size = _size(self.value, axis)
                outside = (part < -size) | (part >= size)
                raise_where(outside, functools.partial(_outside, part, axis, size))
            axis += 1

    # -- NumPy ------------------------------------------------------------------------------------

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if any(is_tensor(item) and number_kind(item) is None for item in inputs):
            return NotImplemented
        if method == "__call__" and not options:
            made = _lowered(function, inputs)
            if made is not None:
                return made
        use = function if method == "__call__" else _part_of(function, method)
        return _numpys().call(use, list(inputs), options)

    def __array_function__(
        self, function: Any, types: Any, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        return _numpys().call(function, list(arguments), options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("d2s_") or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(name)
        found = getattr(self.sample(), name)  # says what is wrong
        if callable(found):
            return lambda *arguments, **options: _numpys().call(
                _method(name), [self, *arguments], options
            )
        if isinstance(found, np.ndarray | np.generic):  # .real, .imag, .flat
            return _numpys().call(operator.attrgetter(name), [self], {})
        if name in ("flags", "ctypes", "data", "base", "strides", "flat"):
            _asked(f".{name}")(self)
        return found


class Scalar(Array):
    """A number of NumPy that the run decides."""

    d2s_is_state = True
    scalar = True


def _size(value: Any, axis: int) -> Any:
    size = value.shape[axis]
    if size >= 0:
        return int(size)
    return mark_number(paddle.shape(value)[axis].astype("int64"), int)


def _alone(value: Any) -> Any:
    """The one element of ``value``."""
    return paddle.reshape(value, []) if list(value.shape) else value


def _method(name: str) -> Function:
    def call(array: Any, *arguments: Any, **options: Any) -> Any:
        return getattr(array, name)(*arguments, **options)

    call.__name__ = call.__qualname__ = name
    return call


def _part_of(function: Any, method: str) -> Function:
    """``np.add.reduce`` and its like."""
    return getattr(function, method)  # type: ignore[no-any-return]


def _numpys() -> Any:
    """``runtime.python.numpy_calls``, which needs this module."""
    return _Calls.module


class _Calls:
    module: Any


def call_numpy_by(module: Any) -> None:
    """Tell who calls NumPy on the run; called once, by ``runtime.python.numpy_calls``."""
    _Calls.module = module


# -- indices ---------------------------------------------------------------------------------------


def _plain_key(key: Any) -> Any:
    """A key with numbers of the run in the place of NumPy's."""
    if isinstance(key, Array) and not key.ndim and key.dtype.kind in "iu":
        return key.d2s_index()
    if type(key) is tuple:
        return tuple(map(_plain_key, key))
    if type(key) is slice:
        return slice(*map(_plain_key, (key.start, key.stop, key.step)))
    return int(key) if isinstance(key, np.integer) else key


def _is_simple(key: Any) -> bool:
    """Whether a key consists of whole numbers, slices, ``None`` and ``...``."""
    parts = key if type(key) is tuple else (key,)
    return all(map(_is_simple_part, parts))


def _is_simple_part(part: Any) -> bool:
    if type(part) is slice:
        return all(
            item is None or (not isinstance(item, bool) and number_kind(item) is int)
            for item in (part.start, part.stop)
        ) and (part.step is None or (type(part.step) is int and part.step > 0))
    return part is None or part is Ellipsis or number_kind(part) is int


def _sample_of(array: Array, key: Any) -> Any:
    """What NumPy gives for a key, on a sample; it raises what NumPy raises."""
    parts = key if type(key) is tuple else (key,)
    plain = tuple(_sample_part(part) for part in parts)
    odd = 1 + max((_reach(part) for part in plain), default=0)
    return array.sample(odd=odd)[plain]


def _sample_part(part: Any) -> Any:
    if type(part) is slice:
        return slice(*(None if is_tensor(p) else p for p in (part.start, part.stop, part.step)))
    return 0 if is_tensor(part) else part


def _reach(part: Any) -> int:
    return abs(part) if type(part) is int else 0


def _outside(index: Any, axis: int, size: Any) -> IndexError:
    """What NumPy raises for an index that is out of bounds."""
    words = ((index, None, ""), f" is out of bounds for axis {axis} with size ", (size, None, ""))
    return IndexError(HostText(("index ", *words)))


# -- what NumPy does with numbers, as operations ---------------------------------------------------

_ARITHMETIC: Final[dict[Any, Function]] = {
    np.add: paddle.add,
    np.subtract: paddle.subtract,
    np.multiply: paddle.multiply,
}

_COMPARISONS: Final[dict[Any, Function]] = {
    np.less: paddle.less_than,
    np.less_equal: paddle.less_equal,
    np.greater: paddle.greater_than,
    np.greater_equal: paddle.greater_equal,
    np.equal: paddle.equal,
    np.not_equal: paddle.not_equal,
}

_LOGICAL: Final[dict[Any, Function]] = {
    np.bitwise_and: paddle.logical_and,
    np.bitwise_or: paddle.logical_or,
    np.bitwise_xor: paddle.logical_xor,
    np.logical_and: paddle.logical_and,
    np.logical_or: paddle.logical_or,
    np.logical_xor: paddle.logical_xor,
    np.invert: paddle.logical_not,
    np.logical_not: paddle.logical_not,
}


def _lowered(function: Any, inputs: tuple[Any, ...]) -> Any:
    """``function(*inputs)`` as an operation of the program; ``None`` where Paddle has none."""
    if not all(_is_number_like(item) for item in inputs):
        return None
    samples = [_sample(item) for item in inputs]
    with np.errstate(all="ignore"):
        made = function(*samples)  # it raises what NumPy raises
    if not isinstance(made, np.ndarray | np.generic):
        return None
    operation, wanted = _operation(function, samples, made)
    if operation is None or not _holds(wanted, inputs):
        return None
    operands = [_operand(item, wanted.name) for item in inputs]
    return (Array if isinstance(made, np.ndarray) else Scalar)(operation(*operands))


def _operation(function: Any, samples: list[Any], made: Any) -> tuple[Function | None, Any]:
    """The operation of Paddle that is ``function``, and the dtype of its operands."""
    if function in _ARITHMETIC and made.dtype.name in _COMPUTED:
        return _ARITHMETIC[function], made.dtype
    if function is np.true_divide and made.dtype.name in ("float32", "float64"):
        return paddle.divide, made.dtype
    if function is np.negative and made.dtype.name in _COMPUTED:
        return paddle.neg, made.dtype
    joint = np.result_type(*samples)
    if function in _COMPARISONS and joint.name in (*_COMPUTED, "bool"):
        return _COMPARISONS[function], joint
    if function in _LOGICAL and joint.name == "bool":
        return _LOGICAL[function], joint
    return None, joint


def _holds(dtype: Any, inputs: tuple[Any, ...]) -> bool:
    """Whether each Python number among ``inputs`` has its value in ``dtype`` as in NumPy."""
    return not any(
        not isinstance(item, Array | np.ndarray | np.generic)
        and bridge.is_value(item)
        and number_kind(item) is int
        and dtype.name == "int32"
        for item in inputs
    )


def _is_number_like(item: Any) -> bool:
    if isinstance(item, Array):
        return item.is_known() or True
    return number_kind(item) is not None or isinstance(item, np.ndarray | np.generic)


def _sample(item: Any) -> Any:
    if isinstance(item, Array):
        return item.sample(odd=1)
    if bridge.is_value(item):
        return (number_kind(item) or float)(1)
    return item


def _operand(item: Any, dtype: str) -> Any:
    if isinstance(item, Array):
        return cast_plain(item.value, dtype)
    if bridge.is_value(item):
        return cast_plain(item, dtype)
    if isinstance(item, np.ndarray) and item.ndim:
        return paddle.to_tensor(item.astype(dtype))
    return paddle.full([], np.asarray(item).astype(dtype).item(), dtype)


def _binary(function: Any, *, swapped: bool = False) -> Function:
    def method(self: Any, other: Any) -> Any:
        if is_tensor(other) and number_kind(other) is None:
            return NotImplemented  # a tensor takes an array for a tensor
        if not isinstance(other, Array | list | tuple) and not _is_number_like(other):
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
        function(sample, _sample(other), out=sample)  # it raises what NumPy raises
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


# -- views -----------------------------------------------------------------------------------------


class _Link:
    """That an array is a view of another one.

    Attributes:
        base: the other one; a weak reference where it is not known which part of it the view is.
        take: from the contents of the base to those of the view.
        put: from both to the contents of the base.
    """

    def __init__(self, base: Any, take: Function | None, put: Function | None) -> None:
        self.base = base
        self.take = take
        self.put = put


_links: dict[int, tuple[Any, _Link]] = {}
_views: dict[int, tuple[Any, list[Any]]] = {}


def _noted(table: dict[int, tuple[Any, Any]], array: Array, entry: Any) -> None:
    key = id(array)
    table[key] = (weakref.ref(array, lambda _: table.pop(key, None)), entry)


def _of(table: dict[int, tuple[Any, Any]], array: Array) -> Any:
    found = table.get(id(array))
    return found[1] if found is not None and found[0]() is array else None


def view(base: Array, take: Function, put: Function) -> Array:
    """A view of ``base``: a write into either is seen in both."""
    made = Array(paddle.assign(take(base.value)))
    made.value.stop_gradient = True
    if base.scalar:
        return made
    return _linked(made, base, _Link(base, take, put))


def unknown_view(made: Array, base: Array) -> None:
    """Note that ``made`` shares its memory with ``base``, in a way that is not known."""
    _linked(made, base, _Link(weakref.ref(base), None, None))


def _linked(made: Array, base: Array, link: _Link) -> Array:
    made.part = base.part = "part"
    _noted(_links, made, link)
    known = _of(_views, base)
    if known is None:
        known = []
        _noted(_views, base, known)
    known.append(weakref.ref(made))
    return made


def write(array: Array, value: Any) -> None:
    """Give ``array`` other contents, and all arrays that share its memory.

    Raises:
        UnsupportedInGraphError: (D2S304 in tensors) it is not known which parts they share.
    """
    value.stop_gradient = True
    if array.part and _of(_links, array) is None and _of(_views, array) is None:
        raise _strange()  # a branch or loop has handed it on
    array.value = value
    root = array
    while (link := _of(_links, root)) is not None:
        if link.put is None:
            if link.base() is not None:
                raise _strange()
            break
        link.base.value = link.put(link.base.value, root.value)
        root = link.base
    _spread(root, array)


def _spread(base: Array, written: Array) -> None:
    """Give the views of ``base`` its contents."""
    for reference in _of(_views, base) or ():
        part = reference()
        if part is None:
            continue
        take = _of(_links, part).take
        if take is None:
            raise _strange()
        if part is not written:
            part.value = paddle.assign(take(base.value))
            part.value.stop_gradient = True
        _spread(part, written)


def _strange() -> Exception:
    return error_here(
        UnsupportedInGraphError,
        "an array is written that shares its memory with another one, in a way that d2s cannot "
        "follow",
        "write into a .copy() of it",
    )
