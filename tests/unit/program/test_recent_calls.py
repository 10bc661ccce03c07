"""A warm call's quick key says what the whole key says (rule G2)."""

from __future__ import annotations

import gc
import itertools
import weakref
from typing import Any

import paddle
import pytest

import d2s
from d2s.program.dispatch.recent_calls import MOST, KnownCalls, Modes, parts_of
from tests.helpers import assert_same, function_of, tensor

X = tensor(1.0, 2.0)

DIFFERENT = [
    ((X,), {}),
    ((X, X + 1), {}),
    ((tensor(1.0, 2.0, 3.0),), {}),
    ((X.reshape([1, 2]),), {}),
    ((X.astype("float64"),), {}),
    ((X, 0.0), {}),
    ((X, -0.0), {}),
    ((X, float("inf")), {}),
    ((X, 0), {}),
    ((X, False), {}),
    ((X, 1), {}),
    ((X, True), {}),
    ((X, None), {}),
    ((X, "1"), {}),
    ((X, b"1"), {}),
    ((X, 1, 2), {}),
    ((X, 2, 1), {}),
    ((X,), {"a": 1}),
    ((X,), {"b": 1}),
    ((X, "a"), {}),
    ((X, "a", 1), {}),
    ((X,), {"a": 1, "b": 2}),
    ((X,), {"b": 2, "a": 1}),  # what **options shows
    ((), {"x": X}),
]


def differentiable() -> Any:
    """``X``, with a gradient to come."""
    made = X.clone()
    made.stop_gradient = False
    return made


def test_different_calls_have_different_keys() -> None:
    """G2: dtype, shape, stop_gradient, type and value of constants, names and their order."""
    calls = [*DIFFERENT, ((differentiable(),), {})]
    taken = [parts_of(args, kwargs, ()) for args, kwargs in calls]
    known = KnownCalls()
    for number, call in enumerate(taken):
        assert call is not None
        known.add(call, number, call[1])  # type: ignore[arg-type]
    for number, call in enumerate(taken):
        assert call is not None
        assert [number] == [n for n, other in enumerate(taken) if other and other[0] == call[0]]
        for _ in range(2):
            found = known.find(call[0])
            assert found is not None
            assert found.entry == number
    assert parts_of((X,), {}, (True,)) != parts_of((X,), {}, (False,))


def test_like_calls_have_one_key() -> None:
    """G2: other tensors of the same kind, and two that are no numbers."""
    nan = float("nan")
    for left, right in [((X,), (X * 2,)), ((X, nan), (X, nan)), ((X, "a"), (X + 1, "a"))]:
        one, other = parts_of(left, {}, ()), parts_of(right, {}, ())
        assert one is not None
        assert other is not None
        assert one[0] == other[0]


@pytest.mark.parametrize("args", [(X, X), ([X],), ((1, 2),), (object(),), ({"a": X},), (1 + 2j,)])
def test_other_calls_have_none(args: tuple[Any, ...]) -> None:
    """A container, an object or one tensor twice goes the long way."""
    assert parts_of(args, {}, ()) is None


@pytest.mark.parametrize("order", list(itertools.permutations("xyz")))
def test_tensors_by_name_in_any_order(order: tuple[str, ...]) -> None:
    """G2: the program gets its tensors in the order of the parameters."""
    function = function_of("def f(x, y, z, k=2): return x - y * k + z / k")
    static = d2s.to_static(function)
    given = {"x": tensor(1.0), "y": tensor(20.0), "z": tensor(300.0)}
    want = function(**given)
    for _ in range(3):
        assert static(**{name: given[name] for name in order}).item() == want.item()
    assert static.get_traced_count() == 1


def test_a_changed_default_is_another_call() -> None:
    """G2: what the key does not show is looked at on its own."""
    function = function_of("def f(x, k=2.0): return x * k")
    static = d2s.to_static(function)
    assert [static(X)[0].item() for _ in range(3)] == [2.0] * 3
    function.__defaults__ = (5.0,)
    assert [static(X)[0].item() for _ in range(3)] == [5.0] * 3


def test_a_default_may_be_a_tensor() -> None:
    """G2: it is an input of the program that the call does not show."""
    function = function_of("def f(x, *, k=T, s=2.0): return x * k + s", T=tensor(3.0, 4.0))
    assert_same(function, (X,), (X + 1,), (X,))
    static = d2s.to_static(function)
    for _ in range(3):
        assert static(X, k=X).tolist() == [3.0, 6.0]
        assert static(X).tolist() == [5.0, 10.0]


def test_what_is_read_outside_is_still_guarded() -> None:
    """G2: a known call looks at the guards of its program."""
    scope: dict[str, Any] = {}
    function = function_of("def f(x): return x * scope['k']", scope=scope)
    static = d2s.to_static(function)
    seen = []
    for k in (2, 2, 2, 3, 3, 2, 2):
        scope["k"] = k
        seen.append(static(X)[0].item())
    assert seen == [2.0, 2.0, 2.0, 3.0, 3.0, 2.0, 2.0]


def test_many_kinds_of_calls_are_forgotten() -> None:
    """One program with an open dimension serves any number of lengths; what is noted is bounded."""
    static = d2s.to_static(
        function_of("def f(x): return x * 2"), input_spec=[paddle.static.InputSpec([None])]
    )
    for length in range(1, MOST + 20):
        assert static(paddle.ones([length])).shape == [length]
    assert static.get_traced_count() == 1
    assert 0 < len(static._programs.known) <= MOST


def test_errors_of_a_known_call_are_as_before() -> None:
    """E1: the same exception on the first call and on the third."""
    function = function_of("def f(x, k): return x.reshape([2, k])")
    assert_same(function, (tensor(1.0, 2.0), 1), (tensor(1.0, 2.0, 3.0, 4.0), 2))
    static = d2s.to_static(function_of("def f(x, y): return x + y"))
    for _ in range(3):
        with pytest.raises(TypeError, match=r"f\(\) missing 1 required positional argument: 'y'"):
            static(X)


class Net(paddle.nn.Layer):
    """Two layers, one below the other."""

    def __init__(self) -> None:
        super().__init__()
        self.drop = paddle.nn.Dropout(0.5)
        self.block = paddle.nn.Sequential(paddle.nn.Linear(2, 2), paddle.nn.Dropout(0.5))

    def forward(self, x: Any) -> Any:
        return self.block(self.drop(x))


def test_modes_follow_every_layer() -> None:
    """B2: train or eval of a layer far below, one that is added, and one that goes."""
    net, modes = Net(), Modes()
    seen = [modes.of(net)]
    assert modes.of(net) == seen[0]
    net.block[1].eval()
    seen.append(modes.of(net))
    net.block.add_sublayer("third", paddle.nn.Dropout(0.5))
    seen.append(modes.of(net))
    net.block = paddle.nn.Linear(2, 2)
    seen.append(modes.of(net))
    net.eval()
    seen.append(modes.of(net))
    assert len(set(seen)) == len(seen)


def test_modes_of_a_class() -> None:
    """A class may say ``training`` for its layers."""

    class Always(Net):
        training = True

    net, modes = Always(), Modes()
    net.__dict__.pop("training")
    before = modes.of(net)
    Always.training = False
    assert modes.of(net) != before


def test_modes_do_not_keep_a_layer() -> None:
    """A layer whose programs are known goes when its last name goes."""
    net = Net()
    net.eval()
    static = d2s.to_static(net)
    for _ in range(3):
        static(paddle.ones([1, 2]))
    gone = weakref.ref(net)
    del net, static
    gc.collect()
    assert gone() is None


def test_what_python_makes_of_a_call_is_there_on_each_call() -> None:
    """G1: ``*rest`` and ``**more`` are objects of the call, also of one that is known."""

    def gives(x, *rest, **more):
        return x * 2, rest, more

    def keeps(x, **more):
        more["y"] = x
        return more

    for f in (gives, keeps):
        static = d2s.to_static(f)
        for _ in range(5):
            assert_same(lambda f=f: f(X, k=1), (), static=lambda static=static: static(X, k=1))
