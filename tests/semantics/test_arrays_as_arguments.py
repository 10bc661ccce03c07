"""Arrays of NumPy among the arguments of a converted function (G1, E5): arrays of the run."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import paddle
import pytest
from paddle.static import InputSpec

import d2s
from d2s.errors import ArgumentsError, NotStaticError, UnsupportedInGraphError
from tests.helpers import function_of, tensor


@dataclass
class Box:
    a: Any
    n: int = 3
    more: list[Any] = field(default_factory=list)


SCOPE = {"np": np, "paddle": paddle, "Box": Box, "copy": copy}
XS = (tensor(1.0, 2.0, 3.0), tensor(-1.0, 2.0, -3.0), tensor(-1.0, 2.0, -3.0, 5.0))


def shown(thing: Any) -> Any:
    """Values with all that tells arrays, numbers and tensors apart."""
    if isinstance(thing, np.ndarray | np.generic):
        return type(thing).__name__, thing.dtype.name, thing.tolist()
    if isinstance(thing, paddle.Tensor):
        return "Tensor", str(thing.dtype), thing.stop_gradient, thing.tolist()
    if isinstance(thing, Box):
        return "Box", shown(vars(thing))
    if isinstance(thing, dict):
        return [(key, shown(value)) for key, value in thing.items()]
    if isinstance(thing, list | tuple):
        return type(thing).__name__, [shown(each) for each in thing]
    return type(thing).__name__, thing


def assert_alike(text: str, makes: list[Any], *, whole: bool = True) -> None:
    """One program does to arguments what dygraph does, and returns the same.

    Args:
        text: the body of a function of ``x`` and ``a``.
        makes: each gives an ``a``, for dygraph and for the program.
        whole: whether the function is one program.
    """
    function = function_of(
        "def f(x, a):\n" + "".join(f"    {line}\n" for line in text.split("\n")), **SCOPE
    )
    static = d2s.to_static(function, full_graph=whole)
    for x in XS:
        for make in makes:
            ours, theirs = make(x), make(x)
            got, want = static(x.clone(), ours), function(x.clone(), theirs)
            assert repr(shown(got)) == repr(shown(want))
            assert repr(shown(ours)) == repr(shown(theirs))


def array(x: Any, dtype: str = "float32") -> Any:
    return (np.abs(x.numpy()) - 2.0).astype(dtype)


BODIES = {
    "kinds": "return isinstance(a, np.ndarray), type(a).__name__, isinstance(a, paddle.Tensor)",
    "numbers": "return a + 1, a * 2.5, a / 3, a ** 2, -a, abs(a), 1 - a, a > 0, a == 1",
    "beside a tensor": "return a + x, x + a, x * a, a * x, x - a, a - x, x == a",
    "made a tensor": "return paddle.to_tensor(a) * x, paddle.to_tensor(a, dtype='float64')",
    "assigned to a tensor": "y = x.clone()\ny.set_value(a)\nreturn y, paddle.assign(a)",
    "written into a tensor": "y = x * 1\ny[:] = a\nz = x * 1\npaddle.assign(a, z)\nreturn y, z",
    "one of its numbers": "return paddle.full([2], a[0]), x.clip(max=a[1]), x * float(a[0])",
    "returned": "return a, [a, a], {'k': a}",
    "items": "return a[0], a[1:], a[::-1], a[a > 0], a[[0, 1]], len(a), a.shape",
    "as an index": "return x[a > -1], x[a.astype('int64') * 0]",
    "methods": "return a.sum(), a.mean(), a.argmax(), a.astype('int64'), a.tolist(), float(a[0])",
    "functions": "return np.exp(a), np.concatenate([a, a]), np.where(a > 0, a, 0), np.cumsum(a)",
    "iterated": "return [v * 2 for v in a], list(a), max(a), sum(a), [u * v for u, v in zip(x, a)]",
    "added to": "a += 1\nreturn x",
    "multiplied": "a *= 2\na[0] = 7\nreturn x + paddle.to_tensor(a)",
    "an item": "a[1] = 5\nreturn x",
    "a slice": "a[:2] = 5\nreturn a",
    "bound anew": "a = a + 1\na += 1\nreturn a",
    "a method that writes": "a.sort()\nreturn x",
    "a function that writes": "np.add(a, 1, out=a)\nreturn a",
    "a mask": "a[a > 0] = 0\nreturn x",
    "a view": "b = a[1:]\nb[0] = 100\nreturn x",
    "a copy": "b = a.copy()\nc = copy.deepcopy([a])\nb[0] = c[0][1] = 9\nreturn a, b, c",
    "in a branch": "if x.sum() > 0:\n    a[0] = 9\nelse:\n    a -= 1\nreturn x",
    "on one side": "if x.sum() > 0:\n    a += 1\nreturn a",
    "chosen": "b = a if x.sum() > 0 else a * 2\nreturn b",
    "as a condition": "if a.max() > 0.5:\n    return x * 2\nreturn x",
    "returned early": "if x.sum() > 0:\n    return a\nreturn x",
    "in a static loop": "s = x.sum()\nwhile s < 20:\n    s = s + 3\n    a += 1\nreturn s, a",
    "in a loop left early": "for v in x:\n    if v > 1:\n        break\n    a[0] += 1\nreturn a",
    "in a function": "def add(v):\n    v[0] += 5\nadd(a)\nreturn x",
    "with gradients": "y = x * 2\ny.stop_gradient = False\nreturn y * a",
    "as text": "return f'{a[0]:.1f} {a}'",
    "as itself": "return a is a, [a][0] is a, a is None, hasattr(a, 'astype'), hasattr(a, 'numpy')",
    "before an exception": "a += 1\ntry:\n    int('x')\nexcept ValueError:\n    a += 1\nreturn x",
}


@pytest.mark.sampled(3, also=["chosen"])
@pytest.mark.parametrize("name", BODIES)
def test_an_array(name: str) -> None:
    """G1, E5: what an array among the arguments is, gives, and holds behind the call."""
    assert_alike(BODIES[name], [array])


@pytest.mark.parametrize(
    "dtype", ["float64", "float16", "int64", "int32", "uint8", "bool", "complex64"]
)
def test_dtypes(dtype: str) -> None:
    """G1: results are of the dtypes that NumPy gives, not of those of tensors."""
    text = "return a + 1, a * 2, a + 1.5, a == 1, a.max(), a[0], paddle.to_tensor(a), a[0] + 1"
    assert_alike(text, [lambda x: array(x, dtype)])
    assert_alike("a[0] = 1\na[1:] = 0\nreturn a", [lambda x: array(x, dtype)])


@pytest.mark.parametrize(
    "text",
    [
        "return a, a + 1, a * 2, a.item(), float(a), a[()], a.shape, x * a",
        "a += 1\nreturn a",
        "a[...] = 1\nreturn x",
        "return x if a > 2 else -x",
    ],
)
def test_without_dimensions(text: str) -> None:
    """G1: results of one are numbers of NumPy, and it can be written into."""
    assert_alike(text, [lambda x: np.array(3.0), lambda x: np.array(1, "int64")])


PLACES = {
    "in a list": (lambda a: [a, a * 2], "a[0]"),
    "in a dict": (lambda a: {"k": [a]}, "a['k'][0]"),
    "in a data class": (lambda a: Box(a), "a.a"),
    "in a tuple": (lambda a: (a, 1), "a[0]"),
}
CHANGES = {
    "read": "return isinstance({0}, np.ndarray), {0} + 1, a",
    "added to": "b = {0}\nb += 1\nreturn x",
    "an item": "{0}[0] = 9\nreturn x",
    "in a branch": "if x.sum() > 0:\n    {0}[0] = 9\nreturn x, a",
    "in a static loop": "s = x.sum()\nwhile s < 9:\n    s = s + 3\n    {0}[0] += 1\nreturn s",
}
BOUND = {
    "bound anew": "{0} = {0} * 2\nreturn x",
    "added to in its place": "{0} += 1\nreturn x",
    "bound anew in a branch": "if x.sum() > 0:\n    {0} = {0} * 2\nreturn x",
    "bound to a tensor": "{0} = x\nreturn x",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("change", {**CHANGES, **BOUND})
@pytest.mark.parametrize("place", PLACES)
def test_in_what_holds_it(place: str, change: str) -> None:
    """G1, F4: an item of the caller's is an array behind the call, too."""
    make, path = PLACES[place]
    if place == "in a tuple" and change in BOUND:
        pytest.skip("Python raises")
    text = {**CHANGES, **BOUND}[change].format(path)
    assert_alike(text, [lambda x: make(array(x))])


def test_one_array_twice() -> None:
    """B4: both are one array."""
    for text in (
        "a[0] += 1\nreturn a[1], a[0] is a[1]",
        "if x.sum() > 0:\n    a[0][0] = 7\nreturn a[1]",
    ):
        assert_alike(text, [lambda x: [array(x)] * 2])


@pytest.mark.parametrize("text", ["a[0][1] = 5\nreturn a[1][0], x", "a[1] += 1\nreturn x"])
def test_arrays_that_share_their_memory(text: str) -> None:
    """B4: a write into one would have to be seen in the other: refused, in dygraph by default."""

    def make(x: Any) -> Any:
        whole = array(x)
        return [whole, whole[1:]]

    assert_alike("return a[0] + 1, a[1] * 2", [make])
    with pytest.raises(UnsupportedInGraphError, match="shares its memory"):
        assert_alike(text, [make])
    with pytest.warns(d2s.errors.BreakWarning):
        assert_alike(text, [make], whole=False)


def test_an_array_that_is_read_only() -> None:
    """G1: a write raises as NumPy does; another array has another program."""
    fixed = np.ones(3)
    fixed.flags.writeable = False

    def f(x: Any, a: Any) -> Any:
        a[0] = 2
        return x

    static = d2s.to_static(f, full_graph=True)
    free = np.ones(3)
    static(XS[0], free)
    assert free[0] == 2
    with pytest.raises(ValueError, match="read-only"):
        static(XS[0], fixed)


def test_a_default_that_is_an_array() -> None:
    """F4: what is written into it the next call finds."""

    def f(x: Any, a: Any = np.zeros(2)) -> Any:  # noqa: B008 - it is kept
        a += 1
        return a.copy()

    static = d2s.to_static(f, full_graph=True)
    assert [static(XS[0]).tolist() for _ in range(3)] == [[1, 1], [2, 2], [3, 3]]


def test_an_input_spec_makes_a_tensor() -> None:
    """G1, G2: as Paddle's converters take arrays; and what is written is written back."""

    def f(a: Any) -> Any:
        a[0] = 5
        return paddle.exp(a * 0), isinstance(a, paddle.Tensor)

    static = d2s.to_static(f, [InputSpec([None], "float32")], full_graph=True)
    given = np.ones(3, "float32")
    result, is_tensor = static(given)
    assert (result.tolist(), is_tensor, given.tolist()) == ([1, 1, 1], True, [5, 1, 1])


@pytest.mark.parametrize(
    "call", ["paddle.exp(a)", "paddle.concat([x, a])", "x.add(a)", "paddle.nn.functional.relu(a)"]
)
def test_a_function_of_paddle_that_takes_no_array(call: str) -> None:
    """G1: it fails in dygraph; one program says what to write."""
    function = function_of(f"def f(x, a):\n    return {call}", **SCOPE)
    with pytest.raises(NotStaticError, match="of Paddle is given an array of NumPy") as caught:
        d2s.to_static(function, full_graph=True)(XS[0], array(XS[0]))
    assert (caught.value.line, caught.value.code) == (2, "D2S208")
    with pytest.raises((ValueError, TypeError), match="must be"):
        d2s.to_static(function, full_graph=False)(XS[0], array(XS[0]))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (np.matrix([[1.0, 2.0]]), "is a matrix"),
        (np.ma.masked_array([1.0, 2.0], [True, False]), "is a MaskedArray"),
        (np.array([1.0, 2.0], ">f4"), "of dtype >f4"),
        (np.array([1, 2], "uint16"), "of dtype uint16"),
        (np.array(["a"]), "of dtype <U1"),
    ],
)
def test_other_arrays(given: Any, says: str) -> None:
    """G1: a ``matrix`` multiplies otherwise, and ``uint16`` would be bfloat16: in dygraph only."""

    def f(x: Any, a: Any) -> Any:
        return x, type(a).__name__, len(a)

    with pytest.raises(ArgumentsError, match=says):
        d2s.to_static(f, full_graph=True)(XS[0], given)
    assert d2s.to_static(f, full_graph=False)(XS[0], given)[1:] == f(XS[0], given)[1:]
