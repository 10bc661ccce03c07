"""What can be seen of a value as a list of facts, and in what two such lists differ.

A fact is a path and what is there: a container with its length, a Python value with its exact
type, or an array with dtype, shape and numbers.  Facts are copies.

>>> want, got = facts("result", [1, 2.0]), facts("result", [1, 2])
>>> [mismatch.name for mismatch in mismatches(want, got, Tolerance())]
['result[1]']
>>> print(*mismatches(want, got, Tolerance()))
result[1] is the int 2, in dygraph the float 2.0
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.lists.probes import HIDDEN
from d2s.runtime.values.objects import LAYER_FIELDS, is_user_class
from d2s.runtime.values.tree import pairs, parts

_TOLERANCES: Final[dict[str, tuple[float, float]]] = {
    "float16": (1e-3, 1e-3),
    "bfloat16": (1.6e-2, 1e-2),
    "float64": (1e-7, 1e-9),
    "complex128": (1e-7, 1e-9),
}
"""Relative and absolute tolerance by dtype; float32 and complex64 have the one below."""

_SINGLE: Final = (1e-5, 1e-6)


@dataclass(frozen=True)
class Tolerance:
    """How far floating values may be apart; ``None`` leaves it to the dtype.

    Attributes:
        rtol: relative to the value that dygraph gives.
        atol: absolute.
    """

    rtol: float | None = None
    atol: float | None = None

    def of(self, dtype: str) -> tuple[float, float]:
        """The relative and the absolute tolerance for values of ``dtype``."""
        rtol, atol = _TOLERANCES.get(dtype, _SINGLE)
        return (
            rtol if self.rtol is None else self.rtol,
            atol if self.atol is None else self.atol,
        )


@dataclass(frozen=True)
class Scalar:
    """A Python value that is no container; its type counts: 1, 1.0 and True are three things."""

    type: type
    value: Any

    def __str__(self) -> str:
        if self.value is None:
            return "None"
        text = repr(self.value)
        return f"the {self.type.__name__} {text if len(text) < 80 else text[:76] + ' ...'}"


@dataclass(frozen=True, eq=False)
class Array:
    """The numbers of a tensor or NumPy array; small floats are widened so that NumPy has them."""

    kind: str
    dtype: str
    shape: tuple[int, ...]
    data: Any

    def __str__(self) -> str:
        numbers = np.array2string(
            self.data, threshold=8, edgeitems=3, precision=7, separator=", "
        ).replace("\n", "")
        kind = "" if self.kind == "Tensor" else f"{self.kind} "
        return f"{kind}{self.dtype}{list(self.shape)} {numbers}"


@dataclass(frozen=True)
class Form:
    """What stands for a container, or for an object of which no more can be seen."""

    text: str

    def __str__(self) -> str:
        return self.text


Fact = tuple[str, object]


@dataclass(frozen=True)
class Mismatch:
    """One thing in which two values differ.

    Attributes:
        name: the path.
        dygraph, static: what is there, in words.
        detail: how large the difference is, if it can be said.
    """

    name: str
    dygraph: str
    static: str
    detail: str = ""

    def __str__(self) -> str:
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.name} is {self.static}, in dygraph {self.dygraph}{detail}"


def array_of(tensor: Any) -> Any:
    """A copy of the numbers of a dygraph tensor."""
    with paddle.no_grad():
        if tensor.dtype in (paddle.bfloat16, paddle.float16):
            tensor = tensor.astype("float32")
        return np.array(tensor.detach().numpy())


Known = Callable[[Any], Any]


@dataclass
class _Look:
    """How to look: see :func:`facts`."""

    seen: dict[int, str]
    known: Known
    objects: bool


def facts(
    path: str,
    thing: Any,
    seen: dict[int, str] | None = None,
    known: Known | None = None,
    *,
    objects: bool = True,
) -> list[Fact]:
    """All facts about ``thing``, outermost first.

    Args:
        path: how it is reached.
        thing: anything.
        seen: objects that were looked at already, with their paths; grows.
        known: gives the numbers of a tensor, in place of a fresh copy.
        objects: look into objects and layers.
    """
    look = _Look({} if seen is None else seen, known or array_of, objects)
    return list(_facts(path, thing, look, ()))


def _facts(path: str, thing: Any, look: _Look, around: tuple[int, ...]) -> Iterator[Fact]:
    if thing is HIDDEN:
        yield path, thing
        return
    if bridge.is_eager(thing):
        yield path, _array(thing, look.known)
        return
    if isinstance(thing, np.ndarray | np.generic) and thing.dtype.kind in "biufc":
        yield path, Array("ndarray", str(thing.dtype), thing.shape, np.array(thing))
        return
    held = _held(thing)
    if held is None:
        yield path, _plain(thing)
        return
    if id(thing) in around:
        yield path, Form("itself, around it")
        return
    form, items, shared = held
    if shared:
        if not look.objects:
            yield path, Form(form)
            return
        first = look.seen.setdefault(id(thing), path)
        if first != path:
            yield path, Form(f"the object at {first}")
            return
    yield path, Form(form)
    for step, item in items:
        yield from _facts(path + step, item, look, (*around, id(thing)))


def _array(tensor: Any, known: Known) -> object:
    try:
        data = known(tensor)
    except Exception:  # it has no numbers yet, or is of a kind that NumPy does not know
        return Form(f"a {type(tensor).__name__}")
    return Array("Tensor", dtype_of(tensor), tuple(tensor.shape), data)


def dtype_of(tensor: Any) -> str:
    """The name of the dtype of a tensor."""
    return str(tensor.dtype).rsplit(".", 1)[-1]


def _plain(thing: Any) -> object:
    if thing is None or isinstance(thing, bool | int | float | complex | str | bytes):
        return Scalar(type(thing), thing)
    if isinstance(thing, range | slice | paddle.dtype) or thing is Ellipsis:
        return Scalar(type(thing), thing)
    if isinstance(thing, type | types.FunctionType):
        return Form(f"{thing.__qualname__}")
    return Form(f"an object of {type(thing).__name__}")


def _held(thing: Any) -> tuple[str, list[tuple[str, Any]], bool] | None:
    """What a container or object is, what it holds, and whether its identity counts."""
    kind = type(thing).__name__
    if isinstance(thing, paddle.nn.Layer):
        return f"a layer {kind}", list(layer_items(thing)), True
    if isinstance(thing, type | types.ModuleType | types.FunctionType | types.MethodType):
        return None
    found = parts(thing)
    if found is not None or isinstance(thing, list):  # a library may have derived a list's class
        items = [(f"[{key}]", item) for key, item in pairs(thing)] if found is None else found[0]
        return f"a {kind} of {len(items)}", items, False
    if is_user_class(type(thing)):
        fields = fields_of(thing)
        if fields:
            return f"a {kind}", [(f".{name}", item) for name, item in fields.items()], True
    return None


def fields_of(thing: Any) -> dict[str, Any]:
    """The attributes that an object keeps, in ``__dict__`` and in slots."""
    found: dict[str, Any] = {}
    for kind in type(thing).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if not name.startswith("__") and hasattr(thing, name):
                found[name] = getattr(thing, name)
    own = getattr(thing, "__dict__", None)
    return {**found, **own} if isinstance(own, dict) else found


def layer_items(layer: Any) -> Iterator[tuple[str, Any]]:
    """Parameters, buffers, sublayers and the other attributes of a layer, each by its own name.

    Python values that a library keeps in a layer of its own are its business.
    """
    for table in (layer._parameters, layer._buffers, layer._sub_layers):
        for name, item in table.items():
            yield f".{name}", item
    users = is_user_class(type(layer))
    for name, item in layer.__dict__.items():
        if not users and not bridge.is_eager(item):
            continue
        if name not in LAYER_FIELDS and name != "forward":
            yield f".{name}", item
    yield ".training", layer.training


def mismatches(want: list[Fact], got: list[Fact], tolerance: Tolerance) -> Iterator[Mismatch]:
    """Everything in which ``got`` (of the program) differs from ``want`` (of dygraph)."""
    left, right = dict(want), dict(got)
    hidden = [path for path, what in (*want, *got) if what is HIDDEN]
    for path in dict.fromkeys(itertools.chain(left, right)):
        if any(path.startswith(start) for start in hidden):
            continue
        if path not in right:
            if _parent_agrees(path, left, right):
                yield Mismatch(path, str(left[path]), "missing")
        elif path not in left:
            if _parent_agrees(path, right, left):
                yield Mismatch(path, "missing", str(right[path]))
        else:
            yield from _unequal(path, left[path], right[path], tolerance)


def _parent_agrees(path: str, mine: dict[str, object], other: dict[str, object]) -> bool:
    """Whether what holds the thing at ``path`` is there on the other side as well."""
    holders = [step for step in mine if path != step and path.startswith(step)]
    return not holders or max(holders, key=len) in other


def _unequal(path: str, want: object, got: object, tolerance: Tolerance) -> Iterator[Mismatch]:
    if isinstance(want, Array) and isinstance(got, Array):
        detail = _apart(want, got, tolerance)
        if detail is not None:
            yield Mismatch(path, str(want), str(got), detail)
    elif isinstance(want, Scalar) and isinstance(got, Scalar) and want.type is got.type is float:
        one, other = (Array("", "float64", (), np.array(item.value)) for item in (want, got))
        detail = _apart(one, other, tolerance)
        if detail is not None:
            yield Mismatch(path, str(want), str(got), detail)
    elif not _same(want, got):
        yield Mismatch(path, str(want), str(got))


def _same(want: object, got: object) -> bool:
    if isinstance(want, Scalar) and isinstance(got, Scalar):
        return want.type is got.type and (want.value == got.value or want.value != want.value)
    return type(want) is type(got) and want == got


def _apart(want: Array, got: Array, tolerance: Tolerance) -> str | None:
    """How far two arrays are apart; ``None`` when they are not.  NaN equals itself."""
    if want.kind != got.kind:
        return "another kind of array"
    if want.dtype != got.dtype:
        return "another dtype"
    if want.shape != got.shape:
        return "another shape"
    if want.data.dtype.kind not in "fc":
        equal = want.data == got.data
    else:
        rtol, atol = tolerance.of(want.dtype)
        with np.errstate(all="ignore"):
            equal = np.isclose(got.data, want.data, rtol=rtol, atol=atol, equal_nan=True)
    if np.all(equal):
        return None
    count = int(np.size(equal) - np.count_nonzero(equal))
    if want.data.dtype.kind == "b":
        return f"{count} of {equal.size} differ"
    with np.errstate(all="ignore"):
        gaps = np.abs(np.where(equal, 0, got.data.astype(np.result_type(got.data, np.float64))
                               - want.data))  # fmt: skip
    gaps = np.where(np.isnan(gaps), np.inf, gaps)
    at = np.unravel_index(int(np.argmax(gaps)), gaps.shape)
    place = f" at {[int(index) for index in at]}" if at else ""
    return f"largest difference {float(gaps[at]):.6g}{place}, {count} of {equal.size} differ"


def floats_in(path: str, thing: Any, around: tuple[int, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every floating dygraph tensor in ``thing`` with its path; objects are not entered."""
    if bridge.is_eager(thing):
        if paddle.is_floating_point(thing):
            yield path, thing
        return
    found = None if id(thing) in around else parts(thing)
    for step, item in found[0] if found is not None else ():
        yield from floats_in(path + step, item, (*around, id(thing)))


def tensors_in(path: str, thing: Any, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Every tensor that can be reached from ``thing`` with its path, each once."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if bridge.is_eager(thing):
        yield path, thing
        return
    held = _held(thing)
    for step, item in held[1] if held is not None else ():
        yield from tensors_in(path + step, item, seen)
