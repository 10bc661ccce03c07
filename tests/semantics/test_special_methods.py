"""Special methods of the user's classes that a tensor decides: truth, length, numbers, membership.

Python's own ``bool()`` insists on a bool, ``int()`` on an int; a program asks the method itself.
"""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, -2.0, 3.0)

CLASS = """
    class Signal:
        def __init__(self, values):
            self.values = values
        def __bool__(self):
            return bool(self.values.sum() > 0)
        def __len__(self):
            return int(self.values.abs().max())
        def __int__(self):
            return int(self.values.sum())
        def __float__(self):
            return float(self.values.sum())
        def __contains__(self, number):
            return bool((self.values == number).any())
        def __abs__(self):
            return Signal(self.values.abs())
        def __lt__(self, other):
            return bool(self.values.sum() < other.values.sum())
        def __getitem__(self, index):
            if self.values[index] > 0:
                return self.values[index]
            return self.values[index] * 0
        def __call__(self, factor):
            if self.values.sum() > 0:
                return self.values * factor
            return self.values
        @property
        def peak(self):
            if self.values.sum() > 0:
                return self.values.max()
            return self.values.min()

    class Sized:
        def __init__(self, values):
            self.values = values
        def __len__(self):
            return int(self.values.clip(0.0).sum())
"""

USES = """
    x * 2 if Signal(x) else x * 3 | x * 2 if not Signal(x) else x | bool(Signal(x)) | len(Signal(x))
    x if Signal(x) and x.sum() > 1 else x * 5
    int(Signal(x)) | float(Signal(x)) | abs(Signal(x)).values
    1.0 in Signal(x) | (7.0 not in Signal(x), 1.0 in Signal(x)) | Signal(x) < Signal(x * 2)
    Signal(x)[1] | Signal(x)(2.0) | Signal(x).peak | any([Signal(x), Signal(-x)])
    all([Signal(x), Signal(-x)]) | [1 for each in [Signal(x), Signal(-x)] if each]
    1 if Signal(-x) < Signal(x) else 2 | x * 2 if Sized(x) else x | not Sized(x)
    sorted([x, -x], key=lambda each: float(Signal(each)))
"""


@pytest.mark.parametrize("text", [each.strip() for each in USES.replace("\n", "|").split("|")])
def test_special_methods_that_a_tensor_decides(text: str) -> None:
    """E1, E2: of an object that the function makes."""
    if text:
        assert_same(function_of(f"{CLASS}\n    def f(x): return {text}", "f"), X, -X)


def test_of_an_object_from_outside() -> None:
    """E2: methods that Python calls are converted for objects of globals and arguments, too."""
    function = function_of(f"""{CLASS}
    kept = Signal(paddle.to_tensor([1.0, -2.0, 0.5]))
    def f(x):
        kept.values = kept.values + x
        return kept[0], kept(2.0), kept.peak, 1.5 in kept
    """)
    static = d2s.to_static(function)
    for given in (X, X, -X * 4, X):
        kept = function.__globals__["kept"]
        before = kept.values
        want = function(given)
        kept.values = before
        got = static(given)
        assert [str(each) for each in got] == [str(each) for each in want]


def test_a_function_of_paddle_that_python_calls_back() -> None:
    """E2: ``map(paddle.stack, ...)`` in the ``__getitem__`` of a container from outside."""
    rows = [(paddle.ones([2]) * each, paddle.zeros([1])) for each in range(4)]

    class Memory:
        def __getitem__(self, places: Any) -> Any:
            return tuple(map(paddle.stack, zip(*[rows[each] for each in places], strict=True)))

    memory = Memory()

    def f(x):
        first, second = memory[[0, 3]]
        return first * x + second

    assert_same(f, tensor(1.0, 2.0))


DTYPES = """
    k.any() | k.all() | paddle.any(k > 1) | paddle.equal_all(k, k) | paddle.exp(k) | k.log()
    paddle.log1p(k) | paddle.expm1(k) | paddle.log2(k) | paddle.log10(k)
"""


@pytest.mark.parametrize("dtype", ["int64", "int32", "bool"])
@pytest.mark.parametrize("text", [each.strip() for each in DTYPES.replace("\n", "|").split("|")])
def test_dtypes_are_declared_as_the_kernels_give_them(text: str, dtype: str) -> None:
    """E1, B1: what is built on the result of integers and bools sees the dtype that dygraph has."""
    if not text or (dtype == "bool" and ("log" in text or "exp" in text)):
        return  # dygraph has no kernels for those
    function = function_of(f"""
        def f(k):
            y = {text}
            if y.sum() > 0:
                z = y.astype("float32") * 2
            else:
                z = y.astype("float32") - 1
            return y, z, str(y.dtype), [y, y] if y.dtype == paddle.bool else y * 2
    """)
    for values in ([1, 2, 3], [1, 1, 0]):
        given = paddle.to_tensor(values).astype(dtype)
        want, got = function(given), d2s.to_static(function)(given)
        assert str(got) == str(want)


def test_a_loop_until_an_integer_tensor_has_no_ones() -> None:
    """C1: ``while frontier.any()`` of an int64 tensor."""

    def f(k):
        steps = 0
        while k.any():
            k = (k - 1).clip(0)
            steps += 1
        return k, steps

    assert_same(f, tensor(3, 1, 0, dtype="int64"), tensor(0, 0, 0, dtype="int64"), grad=False)


def test_size_is_called() -> None:
    """E4: ``x.size`` is a number that gives the shape when it is called."""

    def f(x):
        return x.size, x.size(), x.size(0), x * x.size

    assert_same(f, X)


def test_a_tensor_is_asked_for_its_kind() -> None:
    """E1: tensors of a program are dense."""

    def f(x):
        if x.is_dense() and not (x.is_sparse() or x.is_sparse_coo() or x.is_sparse_csr()):
            x = x * 2
        return x, x.is_selected_rows()

    assert_same(f, X)


def test_parameters_are_set_from_a_dict() -> None:
    """F3: ``set_state_dict`` in the function writes on every run."""
    net = paddle.nn.Sequential(paddle.nn.Linear(2, 2), paddle.nn.BatchNorm1D(2))
    begin = {key: value.clone() for key, value in net.state_dict().items()}
    other = {key: value.clone() * 0 + 3 for key, value in net.state_dict().items()}

    def f(x):
        before = net(x).sum()
        net.set_state_dict(other)
        return before, net(x).sum()

    def outcome(function: Any, x: Any) -> str:
        net.set_state_dict(begin)
        with paddle.no_grad():  # with gradients, those of the first result would be of new contents
            results = function(x)
        return f"{results} {[value.tolist() for value in net.state_dict().values()]}"

    x = paddle.to_tensor([[1.0, 2.0], [3.0, -1.0]])
    static = d2s.to_static(f)
    for scale in (1.0, 2.0):
        assert outcome(static, x * scale) == outcome(f, x * scale)


def test_a_tensor_beside_an_object_with_reflected_operators() -> None:
    """E2: Paddle leaves these to the class of the other operand."""

    class Scaled:
        def __init__(self, value):
            self.value = value

        def __rmul__(self, other):
            return self.value * other + 1

        __radd__ = __rsub__ = __rmatmul__ = __rpow__ = __rmul__

    def function(x):
        right = Scaled(x)
        n = int(x)
        return x * right, x + right, x - right, x**right, 2 * right, n * right

    assert_same(function, scalar(3.0), scalar(-2.0))
