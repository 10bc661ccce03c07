"""Input at the edge: what Python or Paddle refuses is refused, the rest is right or a coded error.

No test here says that something works which dygraph does not do: where the original raises, the
converted function raises as well.
"""

from __future__ import annotations

import math
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s.errors import D2SError
from tests.helpers import assert_same, function_of, scalar, tensor

PLUS, MINUS = tensor(1, 2), tensor(-1, -2)


def branch(x, y=1):
    return x + y if x.sum() > 0 else x - y


def keeps(x, other):
    """It is given something that it does not look at."""
    return x * 2 if x.sum() > 0 else x


def outcome(function: Any, *arguments: Any) -> Any:
    """What a call gives: the numbers of the result, or the error."""
    try:
        result = function(*arguments)
    except Exception as error:
        return error
    return result.tolist() if isinstance(result, paddle.Tensor) else result


# -- calls that do not fit -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "options"),
    [((), {}), ((PLUS, 1, 2), {}), ((PLUS,), {"z": 1}), ((PLUS,), {"x": PLUS}), ((), {"y": 1})],
)
def test_arguments_that_do_not_fit(args: Any, options: Any) -> None:
    """G1: a ``TypeError`` with the name of the function, as Python has it."""
    with pytest.raises(TypeError):
        branch(*args, **options)
    with pytest.raises(TypeError, match=r"branch\(\)"):
        d2s.to_static(branch)(*args, **options)


@pytest.mark.parametrize(
    "operand",
    [None, [1], {1, 2}, b"x", object(), range(3), slice(1), print],
    ids=lambda operand: type(operand).__name__,
)
def test_operands_that_paddle_refuses(operand: Any) -> None:
    """A1: what dygraph raises a ``TypeError`` for is one in a program too."""
    assert isinstance(outcome(branch, PLUS, operand), TypeError)
    assert isinstance(outcome(d2s.to_static(branch), PLUS, operand), TypeError)


@pytest.mark.parametrize(
    "number",
    [True, 2**40, -(2**63), math.nan, math.inf, -0.0, np.float32(3), np.int64(4)],
    ids=repr,
)
def test_numbers_of_all_kinds(number: Any) -> None:
    """G2: they are a part of the key, NaN and the negative zero too; one program for each."""
    static = d2s.to_static(branch)
    for x in (PLUS, MINUS, PLUS):
        want, got = branch(x, number), static(x, number)
        assert want.dtype == got.dtype
        np.testing.assert_array_equal(want.numpy(), got.numpy())
    assert len(static.programs) == 1


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64", "complex128"])
@pytest.mark.parametrize("text", ["x + 1j", "1j * x", "x - 2j", "x / 1j"])
def test_complex_numbers_take_the_width_of_the_tensor(text: str, dtype: str) -> None:
    """B3: a Python complex number does not widen a tensor."""
    f = function_of(f"def f(x):\n    return {text}\n")
    x = tensor(1, 2).astype(dtype)
    want, got = outcome(f, x), outcome(d2s.to_static(f), x)
    if isinstance(want, Exception):
        assert isinstance(got, Exception)
    else:
        assert want == got
        assert f(x).dtype == d2s.to_static(f)(x).dtype


# -- arguments that are no tensors ---------------------------------------------------------------


class Odd:
    pass


class Unhashable:
    __hash__ = None

    def __eq__(self, other):
        return True


class Uncomparable:
    __hash__ = None

    def __eq__(self, other):
        raise ValueError("not to be compared")


LEAVES = {
    "an object": Odd(),
    "one without a hash": Unhashable(),
    "one without a comparison": Uncomparable(),
    "in a list": [Odd(), Uncomparable()],
    "as a value": {"a": Unhashable()},
    "tensors at odd keys": {1: tensor(1), (1, 2): tensor(2), None: tensor(3)},
    "nothing": [],
    "nothing at all": {"a": [], "b": (), "c": {}, "d": set()},
    "a generator": (number for number in range(3)),
    "an empty array": np.array([]),
    "a type": paddle.float32,
    "a place": paddle.CPUPlace(),
    "a lock": threading.Lock(),
    "a layer": paddle.nn.Linear(2, 2),
    "a namespace with a tensor": SimpleNamespace(a=tensor(1)),
    "not a number": [math.nan, np.float64("nan")],
}


@pytest.mark.parametrize("name", LEAVES)
def test_leaves_that_nobody_looks_at(name: str) -> None:
    """G1, G2: they go through, and the second call finds the program of the first."""
    static = d2s.to_static(keeps)
    for x in (PLUS, MINUS, PLUS):
        assert static(x, LEAVES[name]).tolist() == keeps(x, LEAVES[name]).tolist()
    assert len(static.programs) == 1


def refused(code: str, function: Any, *arguments: Any) -> D2SError:
    with pytest.raises(D2SError) as raised:
        d2s.to_static(function)(*arguments)
    assert raised.value.code == code
    return raised.value


def test_a_container_that_holds_itself() -> None:
    """G1: D2S301 names the place."""
    looped: list[Any] = [PLUS]
    looped.append(looped)
    assert "other[1]" in refused("D2S301", keeps, PLUS, looped).cause
    named: dict[str, Any] = {}
    named["a"] = {"b": named}
    assert "holds itself" in refused("D2S301", keeps, PLUS, named).cause


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([object()])], ids=["text", "objects"])
def test_arrays_that_paddle_has_no_tensors_for(array: Any) -> None:
    """G1: D2S301, in place of Paddle's own error about an array."""
    assert str(array.dtype) in refused("D2S301", keeps, PLUS, array).cause


# -- tensors of all kinds ------------------------------------------------------------------------

BIG = 2**63 - 1
FLOATS = {
    "no elements": tensor(),
    "one number": scalar(1.5),
    "NaN": tensor(math.nan, 1.0),
    "infinities": tensor(math.inf, -math.inf),
    "all NaN": tensor(math.nan, math.nan),
    "the largest": tensor(3.4e38, 3.4e38),
    "the smallest": tensor(1e-45, -1e-45),
    "zeros": tensor(0.0, -0.0),
    "doubles": tensor(1.0, -2.5, dtype="float64"),
    "a row of none": paddle.zeros([0, 3]),
    "rows of none": paddle.zeros([3, 0]),
}
INTS = {
    "no elements": paddle.zeros([0], "int64"),
    "one number": scalar(3),
    "the largest": paddle.to_tensor([BIG, 1]),
    "the smallest": paddle.to_tensor([-BIG - 1, -1]),
    "bytes": paddle.to_tensor([250, 10], dtype="uint8"),
    "small ones": paddle.to_tensor([-128, 127], dtype="int8"),
    "int32": paddle.to_tensor([2**31 - 1, 1], dtype="int32"),
}
PROGRAMS = {
    "compared": """
        def f(x):
            return (x != x).any(), x.sum() > 0 and x.sum() < 3, x.sum() == x.sum()
    """,
    "walked": """
        def f(x):
            seen = 0
            if x.ndim > 0:
                for row in x:
                    if row.sum() > 0:
                        seen = seen + 1
            return seen
    """,
    "counted": """
        def f(x):
            n = 0
            while x.abs().sum() > n and n < 3:
                n += 1
            return n
    """,
    "read by index": """
        def f(x):
            s = x.sum()
            for i in range(x.shape[0] if x.ndim else 0):
                s = s + x[i].sum()
            return s
    """,
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("kind", FLOATS)
def test_floating_input(name: str, kind: str) -> None:
    """B1, C1: empty tensors, 0-D ones, NaN and infinities decide branches and loops."""
    assert_same(function_of(PROGRAMS[name]), FLOATS[kind], grad=False)


@pytest.mark.parametrize("name", ["compared", "walked", "read by index"])
@pytest.mark.parametrize("kind", INTS)
def test_whole_input(name: str, kind: str) -> None:
    """B1, C1: integers of all widths, at their ends."""
    f, x = function_of(PROGRAMS[name]), INTS[kind]
    want = outcome(f, x)
    if isinstance(want, Exception):  # Paddle has no kernel for it
        assert isinstance(outcome(d2s.to_static(f), x), Exception)
    else:
        assert_same(f, x, grad=False)


def test_wide_integers_keep_their_digits() -> None:
    """E1: ``int`` of the largest and the smallest int64."""

    def f(x):
        n = int(x.max())
        if x.sum() > 0:
            return n, n - 1
        return -1, n

    for values in ([BIG, -BIG], [2**53 + 1, 0], [-BIG, -BIG - 1]):
        assert d2s.to_static(f)(paddle.to_tensor(values)) == f(paddle.to_tensor(values))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 2.75, -2.75])
@pytest.mark.parametrize("head", ["if True:", "if x.sum() == x.sum() or x.sum() != 0:"])
def test_int_of_what_is_no_number(value: float, head: str) -> None:
    """E1, F1: ``int()`` of NaN raises ``ValueError``, of an infinity ``OverflowError``."""
    f = function_of(f"""
        def f(x):
            k = 0
            {head}
                k = int(x.sum())
            return k + 1
    """)
    static = d2s.to_static(f)
    for given in (tensor(value), tensor(1.5), tensor(value)):
        want, got = outcome(f, given), outcome(static, given)
        assert type(want) is type(got)
        assert str(want) == str(got)


@pytest.mark.parametrize("cast", ["int", "float"])
def test_casts_of_complex_tensors(cast: str) -> None:
    """E1: a ``TypeError``, as dygraph has it; the real part would be silently wrong."""
    f = function_of(f"def f(x):\n    return {cast}(x.sum())\n")
    x = paddle.to_tensor([1 + 2j])
    want, got = outcome(f, x), outcome(d2s.to_static(f), x)
    assert type(want) is type(got) is TypeError


def test_low_precision_in_branches_and_loops() -> None:
    """B1, C1: bfloat16 goes through blocks and keeps its dtype."""

    def f(x, n):
        for _i in range(n):
            if x.sum() > 0:
                x = x * 0.5
            else:
                x = -x
        return x

    static = d2s.to_static(f)
    for values in ((1.0, 2.0), (-1.0, -2.5)):
        for n in (0, 1, 3):
            x = tensor(*values).astype("bfloat16")
            want, got = f(x, scalar(n)), static(x, scalar(n))
            assert want.dtype == got.dtype
            assert want.astype("float32").tolist() == got.astype("float32").tolist()


def test_complex_tensors_in_branches_and_loops() -> None:
    """B1, C1: they are carried like others."""

    def f(x, n):
        for _i in range(n):
            if x.real().sum() > 0:
                x = x * (0.5 + 0.5j)
            else:
                x = x.conj() + 1j
        return x

    x = paddle.to_tensor([1 + 2j, -0.5 - 1j])
    assert_same(f, *[(each, scalar(n)) for each in (x, -x) for n in (0, 1, 3)], grad=False)


# -- long and deep code --------------------------------------------------------------------------


def nested(head: str, count: int) -> str:
    lines = ["def f(x):", "    y = x"]
    lines += ["    " * (at + 1) + head.replace("@", str(at)) for at in range(count)]
    return "\n".join([*lines, "    " * (count + 1) + "y = y + 1", "    return y", ""])


@pytest.mark.parametrize(
    ("head", "count"),
    [
        ("if x.sum() > @ - 20:", 20),
        ("for i@ in range(int(x[0])):", 6),
        ("if x.ndim > 0:", 60),
        pytest.param("if x.sum() > @ - 100:", 95, marks=pytest.mark.slow),
        pytest.param("for i@ in range(int(x[0])):", 19, marks=pytest.mark.slow),
    ],
)
def test_blocks_in_each_other(head: str, count: int) -> None:
    """B1, C1: as deep as Python's own parser goes."""
    assert_same(function_of(nested(head, count)), PLUS, MINUS)


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    return x" + " + x" * 400 + "\n",
        "def f(x):\n    return x" + ".clip(-5, 5)" * 100 + "\n",
        "def f(x):\n    return " + "(x if x[0] > 5 else " * 40 + "x" + ")" * 40 + "\n",
        "def f(x):\n    return " + "(lambda: " * 40 + "x" + ")()" * 40 + "\n",
        "def f(x):\n" + "    x = x + 1\n" * 400 + "    return x\n",
    ],
    ids=["terms", "calls in a row", "ternaries", "lambdas", "lines"],
)
def test_long_code(text: str) -> None:
    """A5: expressions and functions that are long for no good reason."""
    assert_same(function_of(text), PLUS, MINUS, rtol=1e-4)


@pytest.mark.slow
def test_a_thousand_lines() -> None:
    """A5: with a branch in every tenth line, as generated code has it."""
    part = "    if x.sum() > 3:\n        x = x - 1\n    else:\n        x = x * 1.01\n"
    text = "def f(x):\n" + (part + "    x = x + 0.01\n" * 6) * 100 + "    return x\n"
    assert_same(function_of(text), PLUS, MINUS, rtol=1e-3)


def test_code_that_is_too_deep_is_refused() -> None:
    """A5: D2S103 with the line of the function; Python takes it."""
    text = "def f(x):\n    return x" + " + x" * 2500 + "\n"
    f = function_of(text)
    assert f(PLUS).tolist() == [2501.0, 5002.0]
    error = refused("D2S103", f, PLUS)
    assert error.line == f.__code__.co_firstlineno
    assert "nested too deeply" in error.cause


def test_arguments_that_are_deep() -> None:
    """G1: a list in a list, 60 times; far beyond that a coded error."""

    def f(x, things):
        while isinstance(things, list):
            (things,) = things
        return x + things if x.sum() > 0 else x - things

    def wrapped(count: int) -> Any:
        things: Any = tensor(1, 1)
        for _ in range(count):
            things = [things]
        return things

    static = d2s.to_static(f)
    for x in (PLUS, MINUS):
        assert static(x, wrapped(60)).tolist() == f(x, wrapped(60)).tolist()
    refused("D2S301", f, PLUS, wrapped(600))


def test_many_arguments() -> None:
    """G1: a list of a thousand tensors, and three hundred parameters."""

    def f(things):
        return paddle.add_n(things) if things[0].sum() > 0 else things[-1]

    static = d2s.to_static(f)
    for x in (PLUS, MINUS):
        things = [x + at for at in range(1000)]
        assert static(things).tolist() == f(things).tolist()
    names = ", ".join(f"a{at}={at}" for at in range(300))
    g = function_of(f"def g(x, {names}):\n    return x + a299 if x.sum() > 0 else x\n")
    assert_same(g, PLUS, MINUS)


@pytest.mark.parametrize("key", ["-1", "0", "k", "k - 1", "-k"])
@pytest.mark.parametrize("length", [0, 1])
def test_items_that_are_not_there(key: str, length: int) -> None:
    """A1: an item of a part that the run finds too short is an ``IndexError``, as in dygraph."""
    function = function_of(f"def f(x, n, k):\n    return x[:n][{key}] * 2")
    static = d2s.to_static(function)
    assert outcome(static, PLUS, scalar(2), scalar(1)) == outcome(
        function, PLUS, scalar(2), scalar(1)
    )
    arguments = (PLUS, scalar(length), scalar(1))
    want, got = outcome(function, *arguments), outcome(static, *arguments)
    assert type(want) is type(got)
    assert str(got) == str(want).partition(" (at ")[0]
