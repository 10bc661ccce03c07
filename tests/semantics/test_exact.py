"""Numbers of the user's code are as exact in a program as in dygraph (paddle_bridge.exact).

Paddle 3.3.1 rounds them to float32 while a program is made.  Everything here is compared bit by
bit, gradients too.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s import paddle_bridge as bridge
from d2s.paddle_bridge.capturing import exact
from tests.helpers import function_of

DOUBLES = """
x * 0.1
x + 0.1
x - 0.1
0.1 - x
x / 0.3
x / 3
0.3 / x
x ** 0.3
0.3 ** x
x ** 2.0
x % 0.3
x // 0.3
x.clip(0.1, 0.7)
x.clip(min=0.1)
paddle.clip(x, max=0.7)
paddle.where(x > 0.5, x, paddle.full_like(x, 0.1))
x.scale(0.1, 0.2)
paddle.scale(x, 0.1, 0.2, False)
paddle.scale(x, 2.0, 0.2, True)
paddle.maximum(x, paddle.full([4], 0.1, "float64"))
paddle.lerp(x, x * 2, 0.1)
paddle.linspace(0, 1, 7, dtype="float64") * x.sum()
x.cumsum() * 0.1
x.masked_fill(x > 0.5, 0.1)
paddle.nan_to_num(x / 0 * 0, nan=0.1)
paddle.quantile(x, 0.3)
x + paddle.to_tensor(0.1, dtype="float64")
x + paddle.to_tensor([0.1, 0.2, 0.3, 0.4], dtype="float64")
x + paddle.to_tensor([[0.1], [0.2]], dtype=paddle.float64)
x * paddle.to_tensor([x.sum(), 0.1], dtype="float64").sum()
paddle.increment(x.sum(), 0.1)
x.mean() * 0.1 + x.std() * 0.7
paddle.nn.functional.softmax(x * 0.1) * 0.3
paddle.rad2deg(x) + paddle.deg2rad(x)
x * -0.0 + 0.1
x * 1e300 * 1e-300
x * float("inf") + float("nan")
""".strip().splitlines()

INTEGERS = """
k * 16777217
k + 16777217
k - 16777217
16777217 - k
16777217 * k
k // 3 * 16777219
k % 16777217
k.clip(3, 16777217)
paddle.clip(k, min=16777217)
paddle.clip(k, max=16777217)
k.scale(16777217)
paddle.full_like(k, 16777217)
paddle.where(k > 2, k, paddle.full_like(k, 2**53 + 1))
paddle.full([2], 2**53 + 1, "int64")
paddle.full([2], -(2**62) - 1, "int64")
paddle.to_tensor(2**53 + 1)
paddle.to_tensor([2**53 + 1, 3, -(2**60) - 7])
paddle.to_tensor(2**53 + 1) + k
k.astype("int32") * 16777217
k.astype("int32") + 16777217
k / 16777217
k.astype("float64") * 16777217
k.astype("float32") * 16777217
k.astype("float64") + 2.0**40 + 0.5
k.cumsum() * 16777219
k * 1.5 + 0.1
paddle.increment(k.sum(), 16777217)
(k * 1103515245 + 12345) % 2147483648
k == 2**53 + 1
""".strip().splitlines()


def bits(tensor: Any) -> Any:
    """The bytes of a tensor, all numbers that are none being one."""
    array = tensor.numpy()
    return np.where(array != array, np.nan, array).tobytes(), array.dtype, array.shape


def outcome(function: Any, argument: Any) -> list[Any]:
    """Result, and gradient where there is one."""
    given = paddle.to_tensor(argument.numpy())
    given.stop_gradient = not given.is_floating_point()
    result = function(given)
    seen = [bits(result)]
    if not result.stop_gradient:
        result.sum().backward()
        seen.append(bits(given.grad))
    return seen if given.grad is None or given.grad.any() else seen[:1]  # zero is like none


@pytest.mark.parametrize("body", DOUBLES)
def test_numbers_for_doubles(body: str) -> None:
    """B1: a float64 tensor meets the number itself."""
    function = function_of(f"def f(x): return {body}")
    x = paddle.to_tensor([0.31, 0.77, 1.13, 0.09], dtype="float64")
    assert outcome(d2s.to_static(function), x) == outcome(function, x)


QUOTIENTS = """
x / 3
x / 7.0
x / 0.3
x / 8
x / -24
x / 1e-3
x / 0
x / -0.0
3 / x
-x / 3 * 0.7
x.sum() / 9
x.mean() / 3 + x.std() / 7
(x / 3) ** 2 / 5
x / float(x.shape[0] - 97)
paddle.exp(-x * x / 2) / 2.5066
(x - x.mean()) / (x.std() + 1e-5) / 11
""".strip().splitlines()


HALVES = """
x / 3
x / 7.0
x / 0.7
x / 8
x / 0.001
((x / 3) * 0.7 + 0.1) / 9
(x / 3).sum() / 7
""".strip().splitlines()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("body", HALVES)
def test_division_of_halves_by_numbers(body: str, dtype: str) -> None:
    """B1: the number is rounded to the dtype, the quotient once more; so is its gradient."""
    text = f"def f(y):\n x = y.astype({dtype!r})\n return ({body}).astype('float32')"
    x = paddle.linspace(0.1, 7.0, 200)
    function = function_of(text)
    assert outcome(d2s.to_static(function), x) == outcome(function, x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("body", QUOTIENTS)
def test_division_by_numbers(body: str, dtype: str) -> None:
    """B1: dygraph divides by a number; a product with its reciprocal would be another float."""
    function = function_of(f"def f(x): return {body}")
    converted = d2s.to_static(function)
    paddle.seed(3)
    for _ in range(2):
        x = (paddle.rand([200]) * 3 + 0.01).astype(dtype)
        assert outcome(converted, x) == outcome(function, x)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "bool"])
def test_division_of_integers_by_numbers(dtype: str) -> None:
    """B1: the quotient is of the default dtype."""
    function = function_of("def f(x): return x / 3 + x / 7.0 - x / 4")
    x = (paddle.arange(200) % 113).astype(dtype)
    assert outcome(d2s.to_static(function), x) == outcome(function, x)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_division_of_complex_numbers(dtype: str) -> None:
    """B1: both parts are divided."""
    function = function_of(
        "def f(x):\n y = x * (1 + 2j) / 0.001\n y /= 7\n return y.real() + 3 * y.imag()"
    )
    x = paddle.linspace(0.1, 7.0, 200).astype(dtype)
    assert outcome(d2s.to_static(function), x) == outcome(function, x)


@pytest.mark.parametrize("number", ["2.0 ** -200", "2.0 ** 1000", "1e-310"])
def test_division_by_what_no_float32_is(number: str) -> None:
    """B1: float64 has numbers whose reciprocal float32 has not."""
    function = function_of(f"def f(x): return x / ({number})")
    x = paddle.linspace(0.1, 7.0, 20, dtype="float64")
    assert outcome(d2s.to_static(function), x) == outcome(function, x)


def test_division_by_numbers_in_a_loop() -> None:
    """B1: an error of one bit in a trip is amplified by the next ones."""
    function = function_of(
        "def f(x):\n"
        "    h = x[0] / 3\n"
        "    while x.sum() < 1000:\n"
        "        k = x / 24 + (x + h) / 9\n"
        "        x = x + h * (2 * k / 9 + k / 3 + 4 * k / 9)\n"
        "    return x, h\n"
    )
    x = paddle.to_tensor([0.7, 1.3, 2.9])
    want, got = function(x), d2s.to_static(function)(x)
    assert [bits(each) for each in got] == [bits(each) for each in want]


@pytest.mark.parametrize("body", INTEGERS)
def test_numbers_for_integers(body: str) -> None:
    """B1: so do integers, also such as no double is."""
    function = function_of(f"def f(k): return {body}")
    k = paddle.to_tensor([1, 2, 3, 16777216 * 3])
    assert outcome(d2s.to_static(function), k) == outcome(function, k)


PRODUCTS = [
    *(
        (body, pair)
        for body in (
            "x.matmul(y)", "paddle.matmul(x, y)", "paddle.linalg.matmul(x, y)", "F.linear(x, y)",
        )
        for pair in (("float32", "int64"), ("float32", "int32"))
    ),
    *(
        ("x @ y", pair)
        for pair in itertools.permutations(["float32", "int64", "int32", "bool"], 2)
        if pair[0] != "bool"
    ),
]  # fmt: skip
"""Those that dygraph takes."""


@pytest.mark.parametrize(("body", "dtypes"), PRODUCTS)
def test_matrices_of_two_dtypes(body: str, dtypes: tuple[str, str]) -> None:
    """B1: functions go by the floats, ``@`` by its first operand; each with all of its digits."""
    function = function_of(f"def f(x, y): return {body}", F=paddle.nn.functional)
    x = paddle.to_tensor([[1.5, 2.0], [3.25, 1.0]]).astype(dtypes[0])
    y = paddle.to_tensor([[2.0, 1.0], [1.75, 0.0]]).astype(dtypes[1])
    want, got = function(x, y), d2s.to_static(function)(x, y)
    assert (got.tolist(), got.dtype) == (want.tolist(), want.dtype)


def test_in_branches_and_loops() -> None:
    """B2: a recurrence of a random number generator."""
    text = """
    def f(seed, n):
        for _ in range(n):
            seed = (seed * 1103515245 + 12345) % 2147483648
            if seed % 2 == 0:
                seed = seed + 16777217
        return seed
    """
    function = function_of(text)
    static = d2s.to_static(function)
    for seed, n in ((1, 20), (987654321, 7), (3, 0)):
        given = paddle.to_tensor(seed), paddle.to_tensor(n)
        assert static(*given).item() == function(*given).item()


def test_what_is_exact_stays_one_operation() -> None:
    """Nothing is done where nothing is lost."""
    names = {}
    for body in ("x * 0.5 + 3.0", "x * 0.1 + 0.3"):
        for dtype in ("float32", "float64"):
            static = d2s.to_static(function_of(f"def f(x): return {body}"))
            static(paddle.ones([2], dtype))
            program = static.programs[0].program
            names[body, dtype] = [each.name() for each in bridge.operations(program)]
    plain = names["x * 0.5 + 3.0", "float32"]
    assert names["x * 0.5 + 3.0", "float64"] == names["x * 0.1 + 0.3", "float32"] == plain
    assert "pd_op.add" in names["x * 0.1 + 0.3", "float64"]


def test_the_dygraph_of_a_capture_is_as_ever() -> None:
    """A1: a helper that stays Python, and what comes after a capture, have Paddle's functions."""
    before = [getattr(paddle._C_ops, name) for name in exact._KEEPING]
    function = function_of("def f(x): return x * 0.1")
    d2s.to_static(function)(paddle.ones([2], "float64"))
    failing = d2s.to_static(function_of("def f(x): return x * 0.1 + undefined_name"))
    with pytest.raises(NameError):
        failing(paddle.ones([2], "float64"))
    assert [getattr(paddle._C_ops, name) for name in exact._KEEPING] == before
    with exact.exact_numbers():  # dygraph, as in another thread
        x = paddle.to_tensor([0.31], dtype="float64")
        assert (x * 0.1).item() == 0.31 * 0.1
        assert x.clip(0.4, 0.7).item() == 0.4
        assert paddle.full([1], 2**60 + 1, "int64").item() == 2**60 + 1


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(
    "body", ["z.flatten()", "z.flatten(1)", "z.flatten(0, 1) * 2", "z[0, 0, 0].flatten()"]
)
def test_complex_numbers_are_flattened(body: str, dtype: str) -> None:
    """A1: Paddle's programs have no operation for it."""
    text = f"def f(x):\n    z = x.astype({dtype!r})\n    y = {body}\n    return y.real()"
    function = function_of(text)
    x = paddle.arange(12, dtype="float64").reshape([2, 3, 2])
    assert outcome(d2s.to_static(function), x) == outcome(function, x)
