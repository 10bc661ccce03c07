"""Built-ins, casts and calls on tensors mean in static what they mean in dygraph (E1 to E5)."""

from __future__ import annotations

import functools
import operator

import numpy as np
import paddle
import pytest

import d2s
from d2s.errors import NotStaticError, TensorRecursionError
from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, 2.0, 3.0)
BOTH = (X, -X)


@pytest.mark.parametrize("cast", ["int", "float", "bool"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bool"])
def test_casts(cast: str, dtype: str) -> None:
    """E1: the value comes back as a Python number; int() cuts, and keeps 64 bits."""
    f = function_of(f"""
        def f(x):
            return {cast}(x)
    """)
    values = (0.0, 1.0, -1.75, 2.5)
    assert_same(f, *(paddle.to_tensor(value).astype(dtype) for value in values), grad=False)


def test_a_large_int() -> None:
    """E1: no detour over 32 bits."""

    def f(x):
        return int(x) + 1

    assert_same(f, scalar(2**40), grad=False)


def test_casts_inside_arithmetic() -> None:
    """E1, B3: a cast number is weak, as a Python number is."""

    def f(x, n):
        k = int(n) * 2 + float(x.sum())
        if bool(n > 1):
            k = k + 1
        return x * k + int(3.7)

    assert_same(f, *[(x, scalar(n)) for x in BOTH for n in (0, 1, 5)], grad=False)


def test_len() -> None:
    """E1: of tensors, lists, and open dimensions."""

    def f(x):
        if len(x) > 1:
            return x * len(x) + len([1, 2])
        return x

    assert_same(f, X, X[:1])
    static = d2s.to_static(f, input_spec=[paddle.static.InputSpec([None], "float32")])
    assert_same(f, X, X[:1], static=static)


def test_folds() -> None:
    """E1: sum, min, max, any, all, abs, sorted on tensors and lists of tensors."""

    def f(x):
        parts = [x[0], x[1] * 2, x[2] - 5]
        y = sum(parts) + max(parts) - min(parts) + abs(x)
        y = y + max(x[0], 1.5) + min(x[1], 0)
        if any(part > 2 for part in parts):
            y = y + 1
        if all([part > 0 for part in parts]):
            y = y * 2
        return y

    assert_same(f, *BOTH, X + 5)


def test_sorted_with_a_key() -> None:
    """E1, E2: the key function is converted."""

    def f(x, words):
        return x * len(sorted(words, key=lambda w: -len(w))[0])

    assert_same(f, (X, ["a", "bcd", "ef"]))


def test_map_filter_isinstance() -> None:
    """E1."""

    def double(x):
        if x.sum() > 0:
            return x * 2
        return x

    def f(x):
        parts = list(map(double, [x, -x]))
        kept = list(filter(lambda p: isinstance(p, paddle.Tensor), [*parts, None, 1]))
        return kept[0] - kept[1], isinstance(x, paddle.Tensor), isinstance(x, int), len(kept)

    assert_same(f, *BOTH)


def helper(x, *, scale=1.0):
    """A function of the user's, with a branch."""
    if x.sum() > 0:
        return x * scale
    return -x


def test_functions_of_the_user() -> None:
    """E2: helpers, keywords, lambdas, nested functions."""

    def f(x):
        def inner(y):
            while y.sum() < 20:
                y = y + 3
            return y

        square = lambda v: v * v if v.sum() > 0 else v
        return helper(x, scale=2.0) + inner(x) + square(x)

    assert_same(f, *BOTH)


def noted(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        result = function(*args, **kwargs)
        if result.sum() > 10:
            return result / 2
        return result

    return wrapper


@noted
def decorated(x):
    if x.sum() > 0:
        return x * 4
    return x


def test_decorated_functions_and_partials() -> None:
    """E2: ``functools.wraps``; the wrapper is converted as well."""
    tripled = functools.partial(helper, scale=3.0)

    def f(x):
        return decorated(x) + tripled(x) + functools.reduce(operator.add, [x, x])

    assert_same(f, *BOTH)


class Scaler:
    factor = 2.0

    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        if x.sum() > 0:
            return x * self.k
        return x

    @classmethod
    def of(cls, x):
        if x.sum() > 0:
            return x * cls.factor
        return x

    @staticmethod
    def negated(x):
        if x.sum() > 0:
            return -x
        return x

    @property
    def doubled(self):
        return self.k * 2

    def method(self, x):
        if x.max() > 2:
            return self(x) + self.doubled
        return x


def test_methods_and_callables() -> None:
    """E2: methods, callables, class and static methods, properties."""
    scaler = Scaler(3.0)

    def f(x):
        return scaler(x) + scaler.method(x) + Scaler.of(x) * scaler.negated(x)

    assert_same(f, *BOTH)


@pytest.mark.row(93)
def test_methods_as_entry_points() -> None:
    """G1, E2."""
    scaler = Scaler(3.0)
    assert_same(scaler.method, *BOTH)
    assert_same(Scaler.of, *BOTH)
    assert_same(Scaler.negated, *BOTH)
    assert_same(scaler, *BOTH)
    assert_same(functools.partial(helper, scale=5.0), *BOTH)


class Block(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.linear = paddle.nn.Linear(3, 3)

    def forward(self, x, twice=False):
        y = self.linear(x)
        if y.sum() > 0:
            y = self.extra(y)
        if twice:
            y = y + self.linear(y)
        return y

    def extra(self, y):
        for _ in range(2):
            if y.max() > 1:
                y = y / 2
        return y


class Net(Block):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = paddle.nn.LayerList([Block(), Block()])

    def forward(self, x, twice=False):
        x = super().forward(x, twice=twice)
        for block in self.blocks:
            x = block(x)
        if x.sum() > 0:
            return self.blocks[0](x, twice=True)
        return x


@pytest.mark.row(94)
def test_sublayers_and_super() -> None:
    """E2: ``forward`` of sublayers is converted; gradients of parameters too."""
    plain = Net()
    static = Net()
    static.set_state_dict(plain.state_dict())
    d2s.to_static(static)
    for x in (X, -X, X * 5, -X * 5):
        for net in (plain, static):
            net.clear_gradients()
            net(x, twice=True).sum().backward()
        assert static(x).numpy() == pytest.approx(plain(x).numpy(), rel=1e-4)
        for (name, mine), (_, right) in zip(
            static.named_parameters(), plain.named_parameters(), strict=True
        ):
            got = np.zeros(mine.shape) if mine.grad is None else mine.grad.numpy()
            assert got == pytest.approx(right.grad.numpy(), rel=1e-3, abs=1e-5), name


def test_hooks_of_sublayers_run() -> None:
    """E2, G3: forward hooks."""
    linear = paddle.nn.Linear(3, 3)
    linear.register_forward_post_hook(lambda layer, inputs, output: output * 2)

    def f(x):
        if x.sum() > 0:
            return linear(x)
        return x

    assert_same(f, *BOTH)


@pytest.mark.row(56)
def test_recursion_over_python_values() -> None:
    """E3: works."""

    def power(x, n):
        if n == 0:
            return paddle.ones_like(x)
        return x * power(x, n - 1)

    assert_same(power, (X, 0), (X, 4))


@pytest.mark.row(56, refused="D2S206")
def test_recursion_over_a_tensor_is_refused() -> None:
    """E3: a coded error, no stack overflow."""

    def halve(x):
        if x.sum() > 1:
            return halve(x / 2)
        return x

    with pytest.raises(TensorRecursionError) as caught:
        d2s.to_static(halve)(X)
    assert "'halve'" in str(caught.value)
    assert caught.value.line == halve.__code__.co_firstlineno + 2


def test_recursion_of_a_decorated_function_over_a_tensor_is_refused() -> None:
    """E3: the line that a function begins on is its decorator's."""

    @d2s.to_static
    def halve(x):
        if x.sum() > 1:
            return halve(x / 2)
        return x

    with pytest.raises(TensorRecursionError, match="'halve' calls itself"):
        halve(X)


def test_shapes() -> None:
    """E4: known dimensions are ints, unknown ones tensors; both go into reshape and zeros."""

    def f(x):
        n, m = x.shape[0], x.shape[1]
        y = paddle.zeros([n, m]) + x.reshape([m, n]).reshape([n, -1])
        y = y[: n - 1] if n > 1 else y
        return y * m, paddle.ones([1, 1]).expand([n, m])

    a, b = paddle.ones([2, 3]), paddle.ones([1, 3])
    assert_same(f, a, b)
    static = d2s.to_static(f, input_spec=[paddle.static.InputSpec([None, 3], "float32")])
    assert_same(f, a, b, static=static)
    assert len(static.programs) == 1


def test_item_stands_for_a_number() -> None:
    """E5: what ``item`` gives may be computed with."""

    def f(x):
        k = x.sum().item()
        return x * k

    assert_same(f, *BOTH, grad=False)


@pytest.mark.parametrize("text", ["memoryview(x.numpy())", "hash(x.tolist()[0])"])
@pytest.mark.row(71, 72, refused="D2S208")
def test_values_are_not_known_at_capture(text: str) -> None:
    """E5: a coded error with line and cure."""
    f = function_of(
        f"""
        def f(x):
            y = x * 2
            {text}
            return y
        """,
        np=np,
    )
    with pytest.raises(NotStaticError) as caught:
        d2s.to_static(f)(X)
    assert caught.value.line == 3
    assert caught.value.cure


@pytest.mark.row(125)
def test_ignored_functions_are_called_as_they_are() -> None:
    """E2: ``not_to_static``."""
    seen = []

    @d2s.not_to_static
    def opaque(x, flag):
        seen.append(opaque.__code__)
        if flag:
            return x * 2
        return x

    def f(x):
        return opaque(x, True)

    assert_same(f, X)


def test_one_conversion_for_each_code_object() -> None:
    """E2: converted once."""
    d2s.clear_cache()

    def inner(x):
        if x.sum() > 0:
            return x * 2
        return x

    assert d2s.convert(inner).__code__ is d2s.convert(inner).__code__


@pytest.mark.parametrize("case", ["method", "inplace"])
def test_tensor_methods(case: str) -> None:
    """E1: methods of tensors are Paddle's own."""

    def f(x):
        y = x.abs().clip(0.5, 2.5).cast("float64").unsqueeze(0).astype("float32")
        if case == "inplace":
            y = y + x.exp().squeeze().T
        return y

    assert_same(f, *BOTH)


def test_functions_that_look_at_their_caller() -> None:
    """A1: ``globals``, ``locals``, ``vars``, ``dir`` and ``eval`` see the user's frame."""
    f = function_of(
        """
        Z = 5
        def f(x):
            k = 3
            a = globals()["Z"] + locals()["k"] + eval("k + Z") + vars()["k"]
            return x + a, "k" in dir()
        """
    )
    assert_same(f, tensor(1.0), tensor(-1.0))


def clipped(layer, inputs, output):
    if output.abs().max() > 2:
        return paddle.clip(output, -2, 2)


def halved(layer, inputs):
    if inputs[0].sum() > 4:
        return inputs[0] / 2


@pytest.mark.parametrize("before", [True, False])
def test_a_hook_that_returns_something_on_some_runs(before: bool) -> None:
    """E2: on the others the layer goes on with what it has."""
    half = paddle.nn.initializer.Constant(0.5)
    net = paddle.nn.Linear(2, 2, weight_attr=half)
    if before:
        net.register_forward_pre_hook(halved)
    else:
        net.register_forward_post_hook(clipped)
    assert_same(lambda x: net(x) * 2, tensor(1.0, 1.0), tensor(5.0, 1.0), tensor(2.0, 1.0))
