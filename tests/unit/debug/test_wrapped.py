"""A function in a wrapper of a library, as of ``paddle.no_grad()``, is shown as written."""

from __future__ import annotations

import functools
import io
import warnings

import paddle
import pytest

import d2s
from tests.helpers import shown


@paddle.no_grad()
def plain(x):
    if x.sum() > 0:
        x = x + 1
    return x


@paddle.no_grad()
@paddle.enable_grad()
def twice(x):
    return x * 2 if x.sum() > 0 else x


class Net(paddle.nn.Layer):
    @paddle.no_grad()
    def forward(self, x):
        if x.sum() > 0:
            x = x + 1
        return x

    @d2s.to_static
    @paddle.no_grad()
    def predict(self, x):
        if x.sum() > 0:
            x = x + 2
        return x


def ours(function):
    @functools.wraps(function)
    def around(*args):
        return function(*args) * 2

    return around


@ours
def decorated(x):
    return x if x.sum() > 0 else -x


@pytest.mark.parametrize(
    ("thing", "name", "text"),
    [
        (plain, "plain", "x = x + 1"),
        (d2s.to_static(plain), "plain", "x = x + 1"),
        (Net(), "forward", "x = x + 1"),
        (Net().forward, "forward", "x = x + 1"),
        (Net.predict, "predict", "x = x + 2"),
        (Net().predict, "predict", "x = x + 2"),
        (twice, "twice", "x * 2"),
        (decorated, "around", "function(*args) * 2"),
    ],
)
def test_what_is_shown_is_what_was_written(thing, name, text):
    """A decorator of the user's own is code like other code."""
    code = d2s.code(thing).replace("d2s.call_unpacked(function)", "function")
    code = code.replace("*d2s.unpacked(args)", "*args")
    assert code.startswith(f"def {name}(")
    assert text in code
    printed = io.StringIO()
    d2s.dump(thing, file=printed)
    assert "test_wrapped.py" in printed.getvalue().splitlines()[0]
    found = d2s.explain(thing)
    assert found.file == __file__


def test_the_place_is_that_of_the_function():
    static = d2s.to_static(Net())
    static(paddle.ones([2]))
    assert "test_wrapped.py" in repr(static.forward)
    found = d2s.explain(Net(), paddle.ones([2]))
    (line,) = [line for line in found.functions[0].lines if "if x.sum" in line.text]
    assert [fate.kind for fate in line.fates] == ["cond"]
    assert [each.name for each in found.functions] == ["Net.forward"]


class Broken(paddle.nn.Layer):
    @paddle.no_grad()
    def forward(self, x):
        y = paddle.tanh(x) * 2 + 1
        k = sum(y.numpy().tobytes()) % 7
        for _ in range(3):
            y = y * 0.5 + y.mean() - k
        return y.sum()


@paddle.no_grad()
def broken(x):
    return Broken.forward(None, x) + 1


@pytest.mark.parametrize("make", [Broken, lambda: broken], ids=["layer", "function"])
def test_what_is_not_one_program_is_split_in_the_function(make):
    """Each break is a line of the user's; gradients are off in the islands, too."""
    x = paddle.to_tensor([1.0, -2.0], stop_gradient=False)
    wanted = make()(x)
    static = d2s.to_static(make(), full_graph=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            found = static(x)
            assert shown(found) == shown(wanted)
            assert found.stop_gradient is wanted.stop_gradient is True
    said = [str(each.message) for each in caught if "is not one program" in str(each.message)]
    assert said
    assert all("test_wrapped.py:" in each for each in said)
    function = getattr(static, "forward", static)
    assert all(each.file == __file__ for each in function.breaks)
