"""A call that comes again asks all that the long way asks (rule G2), and runs the same."""

from __future__ import annotations

import contextlib
import gc
import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Any

import paddle
import pytest

import d2s
from d2s.program.dispatch.specialized_call import ANOTHER, _compiled
from tests.helpers import assert_same, function_of, tensor

X = tensor(1.0, 2.0)


def twin(*values: float, **how: Any) -> Any:
    return paddle.to_tensor(list(values), **how)


def warm(static: Any) -> Any:
    """What runs calls like the last one; ``None`` if there is no such thing."""
    return static._programs.known.warm


def heat(static: Any, *args: Any, **kwargs: Any) -> Any:
    """Call until the call is warm."""
    for _ in range(3):
        result = static(*args, **kwargs)
    assert warm(static) is not None
    return result


CHANGES = {
    "the same": ((X,), {}, True),
    "another tensor like it": ((X * 3,), {}, True),
    "a parameter": ((paddle.create_parameter([2], "float32"),), {}, False),
    "another dtype": ((X.astype("float64"),), {}, False),
    "another shape": ((twin(1.0, 2.0, 3.0),), {}, False),
    "another rank": ((X.reshape([1, 2]),), {}, False),
    "a gradient to come": ((twin(1.0, 2.0, stop_gradient=False),), {}, False),
    "a number": ((2.0,), {}, False),
    "one more": ((X, 3), {}, False),
    "by name": ((), {"x": X}, False),
    "a second by name": ((X,), {"k": 3}, False),
    "a list": (([X],), {}, False),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_makes_a_call_another_one(name: str) -> None:
    """G2: kind, dtype, shape, ``stop_gradient`` and number of the arguments."""
    args, kwargs, same = CHANGES[name]
    function = function_of("def f(x, k=2): return (x[0] if isinstance(x, list) else x) * k")
    static = d2s.to_static(function)
    heat(static, X)
    found = warm(static)(args, kwargs, static._training)
    assert (found is not ANOTHER) == same
    for _ in range(3):
        want, got = function(*args, **kwargs), static(*args, **kwargs)
        assert (float(want.sum()) if paddle.is_tensor(want) else want) == (
            float(got.sum()) if paddle.is_tensor(got) else got
        )
        assert static(X).tolist() == [2.0, 4.0]


@pytest.mark.parametrize(
    "numbers",
    [(1, True, 1.0), (0, False, 0.0, -0.0, None), (float("nan"), float("inf")), ("a", b"a", "b")],
)
def test_constants_that_are_like_each_other(numbers: tuple[Any, ...]) -> None:
    """G2: type and value of a constant; a sign of zero, too."""
    function = function_of("def f(x, k): return x + 0, (type(k).__name__, repr(k))")
    static = d2s.to_static(function)
    for one, other in itertools.permutations(numbers, 2):
        heat(static, X, one)
        assert warm(static)((X, other), {}, static._training) is ANOTHER
        assert static(X, other)[1] == function(X, other)[1]
        assert heat(static, X, one)[1] == function(X, one)[1]


def test_names_and_their_order() -> None:
    """G2: what is passed by name stays with its name."""
    function = function_of("def f(x, y, z, k=2.0): return x - y * k + z / k")
    static = d2s.to_static(function)
    given = {"x": tensor(1.0), "y": tensor(20.0), "z": tensor(300.0)}
    want = function(**given).item()
    for order in itertools.permutations("xyz"):
        assert heat(static, **{name: given[name] for name in order}).item() == want
        assert heat(static, given["x"], z=given["z"], y=given["y"]).item() == want
        assert static(**given, k=4.0).item() == function(**given, k=4.0).item()
    assert heat(static, k=4.0, **given).item() == function(**given, k=4.0).item()


def test_one_tensor_twice_is_another_call() -> None:
    """C1: two arguments may be one."""
    text = """
    def f(x, y):
        x[0] = 5.0
        return x + y
    """
    function = function_of(text)
    static = d2s.to_static(function)
    for number in range(3):
        a, b, c, d = twin(1.0, 2.0), twin(3.0, number), twin(1.0, 2.0), twin(3.0, number)
        assert static(a, b).tolist() == function(c, d).tolist()
    one, other = twin(1.0, 2.0), twin(1.0, 2.0)
    assert static(one, one).tolist() == function(other, other).tolist() == [10.0, 4.0]


@contextlib.contextmanager
def default_dtype() -> Any:
    paddle.set_default_dtype("float64")
    try:
        yield
    finally:
        paddle.set_default_dtype("float32")


@contextlib.contextmanager
def amp() -> Any:
    """What ``auto_cast`` sets, on a machine that may not have its dtype."""
    state = paddle.base.core._get_amp_attrs()
    before = state._amp_level, state._amp_dtype
    state._amp_level, state._amp_dtype = paddle.base.core.AmpLevel.O1, "bfloat16"
    try:
        yield
    finally:
        state._amp_level, state._amp_dtype = before


MODES: dict[str, Callable[[], Any]] = {
    "no gradients": paddle.no_grad,
    "another default dtype": default_dtype,
    "auto_cast": amp,
    "breakpoints on the run": lambda: d2s.options(debug_on_run=True),
}


@pytest.mark.parametrize("name", MODES)
def test_modes(name: str) -> None:
    """G2: a program is captured in the modes that it is called in."""
    static = d2s.to_static(function_of("def f(x): return x * 2"))
    heat(static, X)
    inside, outside = warm(static), static._training
    with MODES[name]():
        assert inside((X,), {}, outside) is ANOTHER
        assert heat(static, X).tolist() == [2.0, 4.0]
        within = warm(static)
        assert within is not inside
    assert within((X,), {}, outside) is ANOTHER
    assert inside((X,), {}, outside).tolist() == [2.0, 4.0]
    assert static.get_traced_count() == 2


def test_another_thread_has_modes_of_its_own() -> None:
    """G2, I1: ``no_grad`` of one thread is none of another's."""
    static = d2s.to_static(function_of("def f(x): return x * 2"))
    x = twin(1.0, 2.0, stop_gradient=False)
    heat(static, x)
    seen: list[Any] = []

    def other() -> None:
        with paddle.no_grad(), amp():
            seen.append(warm(static)((x,), {}, static._training) is ANOTHER)
            seen.append(static(x).stop_gradient)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [True, True]
    assert not static(x).stop_gradient


def test_switches() -> None:
    """A1: off, in static mode and inside a capture, nothing is run."""
    static = d2s.to_static(function_of("def f(x): return x * 2"))
    heat(static, X)
    paddle.jit.enable_to_static(False)
    try:
        assert static(X).tolist() == [2.0, 4.0]
        assert static._programs.entries[0].runner.runs == 3
    finally:
        paddle.jit.enable_to_static(True)
    paddle.enable_static()
    try:
        assert warm(static)((X,), {}, static._training) is ANOTHER
        with pytest.raises(d2s.errors.StaticModeError):
            static(X)
    finally:
        paddle.disable_static()
    outer = d2s.to_static(function_of("def g(x): return inner(x) + 1", inner=static))
    assert outer(X).tolist() == [3.0, 5.0]


def test_state_outside() -> None:
    """G2: guards, defaults, code, parameters and train or eval are asked on each call."""
    scope: dict[str, Any] = {"k": 2}
    function = function_of("def f(x, d=1.0): return x * scope['k'] + d", scope=scope)
    static = d2s.to_static(function)
    assert heat(static, X).tolist() == [3.0, 5.0]
    scope["k"] = 3
    assert static(X).tolist() == [4.0, 7.0]
    assert heat(static, X).tolist() == [4.0, 7.0]
    function.__defaults__ = (10.0,)
    assert static(X).tolist() == [13.0, 16.0]
    function.__defaults__ = (1.0,)
    assert heat(static, X).tolist() == [4.0, 7.0]
    function.__code__ = function_of("def f(x, d=1.0): return x - d").__code__
    assert static(X).tolist() == [0.0, 1.0]


def test_layers() -> None:
    """G2, E1: another parameter, another layer inside, train and eval."""

    class Net(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.inner = paddle.nn.Linear(2, 2)
            self.drop = paddle.nn.Dropout(1.0)

        def forward(self, x: Any) -> Any:
            return self.drop(self.inner(x))

    net = Net()
    static = d2s.to_static(net)
    for _ in range(3):
        assert static(X).abs().sum().item() == 0
    assert warm(static.forward) is not None
    net.eval()
    for _ in range(4):
        assert static(X).tolist() == net.inner(X).tolist()
    net.inner.weight.set_value(paddle.ones([2, 2]))
    assert static(X).tolist() == [3.0, 3.0]
    net.inner = paddle.nn.Linear(2, 2)
    for _ in range(3):
        assert static(X).tolist() == net.inner(X).tolist()
    net.inner.weight.stop_gradient = True
    assert static(X).tolist() == net.inner(X).tolist()


def test_backwards() -> None:
    """C7: a warm call has its gradient, and its hook refuses the second one."""
    text = "def f(x, w): return (x * w).sum(), x.detach() * 2, w * w"
    assert_same(function_of(text), *[(tensor(1.0, 2.0 + n), tensor(3.0, 4.0)) for n in range(5)])
    static = d2s.to_static(function_of("def f(x): return (x * x).sum()"))
    x = twin(1.0, 2.0, stop_gradient=False)
    for number in range(1, 6):
        loss = static(x)
        loss.backward()
        assert x.grad.tolist() == [2.0 * number, 4.0 * number]
        with pytest.raises(d2s.errors.BackwardTwiceError):
            loss.backward()


def test_errors_are_the_users() -> None:
    """F1: what the user's code raises on a warm run names its line."""
    text = """
    def f(x):
        assert x.sum() > 0, "not positive"
        return x * 2
    """
    static = d2s.to_static(function_of(text))
    heat(static, X)
    for _ in range(2):
        with pytest.raises(AssertionError, match="not positive") as caught:
            static(-X)
        trace = caught.value.__traceback__
        assert trace is not None
        assert trace.tb_next is not None
        assert trace.tb_next.tb_lineno == 2
        assert static(X).tolist() == [2.0, 4.0]
    wide = d2s.to_static(function_of("def f(x, y): return paddle.matmul(x, y)"))
    y = paddle.ones([2, 3])
    for size in (1, 2, 3, 3, 3):
        assert wide(paddle.ones([size, 2]), y).shape == [size, 3]
    with pytest.raises(ValueError, match=r"matmul|Y_w|match"):
        wide(paddle.ones([3, 4]), y)
    assert wide(paddle.ones([3, 2]), y).shape == [3, 3]


def test_sizes_in_turn_share_a_program() -> None:
    """G2: each size is known; calls in turn go the way that needs no repetition."""
    static = d2s.to_static(
        function_of("def f(x): return x * 2"), input_spec=[paddle.static.InputSpec([None])]
    )
    for _ in range(3):
        for size in (1, 2, 3):
            assert static(paddle.ones([size])).shape == [size]
            assert warm(static) is None
    for size in (1, 1, 1, 2, 2, 2):
        assert static(paddle.ones([size])).shape == [size]
    assert warm(static) is not None
    assert static.get_traced_count() == 1


def test_programs_that_go_take_their_calls_with_them() -> None:
    """G2: a dropped program is not run, and a dropped function leaves nothing."""
    static = d2s.to_static(function_of("def f(x): return x * 2"))
    heat(static, X)
    static.clear_programs()
    assert warm(static) is None
    assert static(X).tolist() == [2.0, 4.0]
    assert static.get_traced_count() == 1
    heat(static, X)
    with d2s.options(max_programs=1):
        static(twin(1.0, 2.0, 3.0))
    assert warm(static) is None
    heat(static, X)
    gone = weakref.ref(static._programs.entries[-1].runner)
    layer = paddle.nn.Linear(2, 2)
    kept = weakref.ref(layer)
    method = d2s.to_static(layer)
    heat(method.forward, X)
    del static, layer, method
    gc.collect()
    assert gone() is None
    assert kept() is None


def test_few_texts() -> None:
    """A text is compiled once for all calls of its form."""
    _compiled.cache_clear()
    for number in range(8):
        heat(d2s.to_static(function_of(f"def f(x): return x * {number}")), X)
    assert _compiled.cache_info().misses == 1
