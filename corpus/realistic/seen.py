"""What can be seen of what a program yields and prints, and the first difference of two such views.

Seen of a tensor: numbers, dtype, shape, ``stop_gradient`` and ``.grad``. Of an object: its class
and its attributes; of a layer its parameters, buffers and the attributes that users set; of other
objects of Paddle, an optimizer among them, only the class. Containers count with their types and
the order of their items. Classes are compared by name, for the two runs load the program's file
twice. Functions are equal: a converted one is another object.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import itertools
import re
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np
import paddle

from corpus.facts import Array, Fact, Scalar, array_of, far_apart
from corpus.realistic import Raised

TOLERANCE = {
    "float64": 1e-7,
    "float32": 2e-5,
    "float16": 2e-3,
    "bfloat16": 2e-2,
    "complex64": 2e-5,
    "complex128": 1e-7,
}
OF_PYTHON = 1e-5
"""The relative tolerance for floats that may have been read from a float32."""

_NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
_PLAIN = (bool, int, float, complex, str, bytes, type(None), range, slice)


@dataclasses.dataclass(frozen=True)
class Flag:
    """The ``stop_gradient`` of a tensor."""

    value: bool


@dataclasses.dataclass(frozen=True)
class Difference:
    """What differs first: a sentence, and the code if the converted program raised one instead."""

    text: str
    code: str = ""


def seen(path: str, value: object) -> list[Fact]:
    """All that can be seen of ``value``, outermost first, as copies.

    >>> seen("it", {"a": [1, 2.0]})  # doctest: +NORMALIZE_WHITESPACE
    [('it', 'dict of 1'), ("it['a']", 'list of 2'),
     ("it['a'][0]", Scalar(int, 1)), ("it['a'][1]", Scalar(float, 2.0))]
    """
    return list(_seen(path, value, {}))


def _seen(path: str, value: Any, inside: dict[int, str]) -> Iterator[Fact]:
    if isinstance(value, paddle.Tensor):
        yield from _tensor(path, value)
    elif isinstance(value, np.ndarray | np.generic):
        data = np.array(value)
        yield path, Array(type(value).__name__, str(data.dtype), data.shape, data)
    elif isinstance(value, paddle.dtype):
        yield path, str(value)
    elif isinstance(value, enum.Enum):
        yield path, f"{type(value).__name__}.{value.name}"
    elif isinstance(value, Raised):
        yield path, value
    elif isinstance(value, _PLAIN):
        yield path, Scalar(type(value), value)
    elif isinstance(value, Set):
        yield path, f"{type(value).__name__} {sorted(map(repr, value))}"
    elif id(value) in inside:
        yield path, f"the object at {inside[id(value)]}"
    else:
        title, parts = _parts(value)
        yield path, title
        for step, part in parts:
            yield from _seen(path + step, part, {**inside, id(value): path})


def _tensor(path: str, tensor: paddle.Tensor) -> Iterator[Fact]:
    dtype = str(tensor.dtype).removeprefix("paddle.")
    yield path, Array("Tensor", dtype, tuple(tensor.shape), array_of(tensor))
    yield f"{path}.stop_gradient", Flag(tensor.stop_gradient)
    if tensor.grad is not None:
        grad = tensor.grad.detach()
        yield f"{path}.grad", Array("Tensor", dtype, tuple(grad.shape), array_of(grad))


def _parts(value: Any) -> tuple[str, Iterable[tuple[str, Any]]]:
    """What a container or an object is called, and its parts with the text that reaches each."""
    name = type(value).__name__
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return name, [(f".{field}", getattr(value, field)) for field in value._fields]
    if isinstance(value, list | tuple | collections.deque):
        return f"{name} of {len(value)}", [(f"[{i}]", part) for i, part in enumerate(value)]
    if isinstance(value, Mapping):
        return f"{name} of {len(value)}", [(f"[{key!r}]", part) for key, part in value.items()]
    if isinstance(value, paddle.nn.Layer):
        return name, [(f".{key}", part) for key, part in _of_layer(value)]
    if _is_function(value):
        return "something to call", ()
    if _of_paddle(value):
        return name, ()
    return name, [(f".{key}", part) for key, part in sorted(_attributes(value).items())]


def _is_function(value: object) -> bool:
    kinds = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, type)
    if isinstance(value, (*kinds, functools.partial, types.ModuleType)):
        return True
    return callable(value) and (hasattr(value, "__wrapped__") or _of_paddle(value))


def _of_paddle(value: object) -> bool:
    return type(value).__module__.split(".")[0] in ("paddle", "d2s")


def _of_layer(layer: paddle.nn.Layer) -> Iterator[tuple[str, Any]]:
    yield "training", layer.training
    yield from layer.named_parameters()
    yield from layer.named_buffers()
    for key, value in sorted(vars(layer).items()):
        if not (key.startswith("_") or key == "training" or callable(value)):
            yield key, value


def _attributes(value: object) -> dict[str, Any]:
    found = {
        key: getattr(value, key)
        for cls in type(value).__mro__
        for key in _slots(cls)
        if hasattr(value, key) and not key.startswith("__")
    }
    return {**found, **getattr(value, "__dict__", {})}


def _slots(cls: type) -> Sequence[str]:
    slots = cls.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def difference(
    expected: Sequence[Fact], actual: Sequence[Fact], flags: list[str]
) -> Difference | None:
    """The first difference that is more than a gradient flag; those are added to ``flags``."""
    for want, got in itertools.zip_longest(expected, actual):
        if want is None:
            return Difference(f"{got[0]} is {got[1]}, should not be there")
        if got is None:
            return Difference(f"{want[0]} is missing, should be {want[1]}")
        if isinstance(got[1], Raised) and got[1] != want[1]:
            return Difference(f"{got[0]} raised {got[1]}, should be {want[1]}", got[1].code)
        if want[0] != got[0]:
            return Difference(f"{got[0]} stands where {want[0]} should be, which is {want[1]}")
        if isinstance(want[1], Flag):
            if isinstance(got[1], Flag) and want[1] != got[1]:
                flags.append(f"{want[0]} is {want[1].value} in dygraph, {got[1].value} here")
            continue
        text = _unequal(want[1], got[1])
        if text:
            return Difference(f"{want[0]} {text}")
    return None


def _unequal(want: Any, got: Any) -> str | None:
    wrong = f"is {got}, should be {want}"
    if isinstance(want, Array) and isinstance(got, Array):
        return wrong if str(want) != str(got) else _far(want.data, got.data, want.dtype)
    if isinstance(want, Scalar) and isinstance(got, Scalar):
        if want.type is not got.type:
            return wrong
        if want.type in (float, complex):
            far = far_apart(np.array(want.value), np.array(got.value), OF_PYTHON, OF_PYTHON)
            return wrong if far else None
        return None if want.value == got.value else wrong
    return None if type(want) is type(got) and want == got else wrong


def _far(want: np.ndarray, got: np.ndarray, dtype: str) -> str | None:
    """How the numbers differ: next to a large number of the array, a small one may be rounded."""
    tolerance = TOLERANCE.get(dtype, 0.0)
    if not tolerance:
        return far_apart(want, got, 0.0, 0.0)
    finite = np.abs(want[np.isfinite(want)])
    scale = float(finite.max()) if finite.size else 0.0
    return far_apart(want, got, tolerance, tolerance * max(scale, 1e-3))


def text_difference(want: str, got: str) -> str | None:
    """The first line in which printed texts differ.

    Fractions may differ in the last digits, and blanks where their widths do.

    >>> text_difference("loss 0.1234567\\n", "loss 0.1234568\\n")
    >>> text_difference("loss 0.125\\n", "loss 0.25\\n")
    "printed 'loss 0.25', should print 'loss 0.125'"
    >>> text_difference("epoch 1\\n", "")
    "printed nothing, should print 'epoch 1'"
    """
    if want == got:
        return None
    for mine, right in itertools.zip_longest(got.split("\n"), want.split("\n")):
        if mine is None or right is None or not _same_line(right, mine):
            said, right = (repr(text) if text else "nothing" for text in (mine, right))
            return f"printed {said}, should print {right}"
    return None


def _same_line(want: str, got: str) -> bool:
    if [w.split() for w in _NUMBER.split(want)] != [g.split() for g in _NUMBER.split(got)]:
        return False
    return all(map(_same_number, _NUMBER.findall(want), _NUMBER.findall(got)))


def _same_number(want: str, got: str) -> bool:
    if want == got:
        return True
    if want.isdigit() or got.isdigit():
        return False
    return abs(float(want) - float(got)) <= OF_PYTHON * max(1.0, abs(float(want)))
