"""Texts and objects that a static loop makes anew in each trip (rules A1, C3, C4)."""

from __future__ import annotations

import numpy as np
import paddle
import pytest

import d2s
from d2s.errors import InplaceError, LoopMismatchError
from tests.helpers import assert_same, function_of, tensor

BOX = """
class Box:
    def __init__(self, h):
        self.h = h
"""

CARRIED = {
    "a text of the last trip": """
def f(x):
    word, k, t = "none", 1, paddle.zeros([])
    while t < 3:
        t = t + 1
        if x.sum() > t:
            word = f"<{k} {t.item():.2f}>"
        k = k + 1
    print(word)
    return k
""",
    "what a text is put into": """
def f(x):
    word, t = "none", paddle.zeros([])
    while t < 3:
        t = t + 1
        if t > 1:
            word = f"{t.item():.0f}".zfill(4) + f"{t.item():>6}"
        print("in", word)
    print("out", word)
    return t
""",
}


@pytest.mark.parametrize("source", CARRIED.values(), ids=CARRIED)
def test_text_that_the_run_fills_in(source: str) -> None:
    """A1, F1: the text has the tensors of the trip that has made it."""
    assert_same(function_of(source), (tensor(1.0, 1.0),), (tensor(-1.0, 1.0),), (tensor(9.0, 1.0),))


CHOSEN = {
    "objects of the loop around": """
class Box:
    def __init__(self, h): self.h = h
def f(x):
    s = paddle.zeros([])
    while s < 2:
        s = s + 1
        a, b = Box(x), Box(x * 2)
        box, t = a, paddle.zeros([])
        while t < 3:
            t = t + 1
            if t > 1: box = b
            else: box = a
            x = x + 1
        x = x + box.h
    return x
""",
    "functions of before the loop": """
def f(x):
    w = x * 2
    def a(v): return v + w
    def b(v): return v - w
    g, t = a, paddle.zeros([])
    while t < 3:
        t = t + 1
        x = g(x)
        if t > 1: g = b
        else: g = a
    return x
""",
}


@pytest.mark.parametrize("source", CHOSEN.values(), ids=CHOSEN)
def test_what_was_made_before_the_loop_may_be_chosen(source: str) -> None:
    """C3: it is the same one in every trip."""
    assert_same(function_of(source), (tensor(1.0, 1.0),), (tensor(-1.0, 2.0),))


REFUSED = {
    "a text that grows": """
def f(x):
    word, k, t = "b", 1, paddle.zeros([])
    while t < 1:
        t = t + 1
        if x.sum() > 0:
            word = f"{k}"
            word = word + "c"
        else:
            word = word + "c"
        k = k + 1
    return k
""",
    "a text of all trips": """
def f(x):
    word, t = "b", paddle.zeros([])
    while t < 3:
        t = t + 1
        word = f"{word}{t.item():.0f}"
    print(word)
    return t
""",
    "a function with a default of the trip": """
def f(x):
    g, t = None, paddle.zeros([])
    while t < 3:
        t = t + 1
        s = t * 2
        if t > 1:
            def h(v, s=s): return v + s
            g = h
        if g is not None:
            x = g(x)
    return x
""",
    "a partial of the trip": """
import functools
def f(x):
    g, t = None, paddle.zeros([])
    while t < 3:
        t = t + 1
        if g is not None:
            x = g(x)
        g = functools.partial(paddle.add, t * 2)
    return x
""",
    "a method of an object of the trip": """
class Box:
    def __init__(self, h): self.h = h
    def add(self, v): return v + self.h
def f(x):
    g, t = None, paddle.zeros([])
    while t < 3:
        t = t + 1
        if g is not None:
            x = g(x)
        g = Box(t * 2).add
    return x
""",
}


@pytest.mark.parametrize("source", REFUSED.values(), ids=REFUSED)
def test_what_is_another_one_in_each_trip(source: str) -> None:
    """C3: refused with a code; values of a capture that was given up once ended the process."""
    with pytest.raises(LoopMismatchError) as caught:
        d2s.to_static(function_of(source))(tensor(1.0, 1.0))
    assert caught.value.line is not None


HANDED_ON = {
    "the gradient of an argument": """
def f(x, w, n):
    before = x
    for _ in range(n):
        before, x = x, x @ w
    loss = (before * before).mean() + (x * x).mean()
    loss.backward()
    return loss
""",
    "two variables further": """
def f(x, w, n):
    first = second = x
    for _ in range(n):
        first, second, x = second, x, x @ w
    loss = (first * second).mean() + x.mean()
    loss.backward()
    return loss
""",
}


@pytest.mark.parametrize("source", HANDED_ON.values(), ids=HANDED_ON)
def test_an_argument_that_is_handed_from_variable_to_variable(source: str) -> None:
    """C7: such a variable is the argument in the first trips only; its gradient was lost."""
    w = tensor([0.5, -0.25], [0.25, 0.5])
    want, got = tensor(1.0, 2.0), tensor(1.0, 2.0)
    want.stop_gradient = got.stop_gradient = False
    function = function_of(source)
    static = d2s.to_static(function, full_graph=True)
    for n in (0, 1, 2, 3):
        count = paddle.to_tensor(n)
        assert static(got, w, count).item() == pytest.approx(function(want, w, n).item())
        np.testing.assert_allclose(got.grad.numpy(), want.grad.numpy(), 1e-5)


def test_what_may_be_an_argument_is_not_changed_in_place() -> None:
    """B4: the argument was changed where dygraph changes what it has become."""
    source = """
    def f(x, w, n):
        before = x
        for _ in range(n):
            before, x = x, x @ w
        before.add_(w[0])
        return before
    """
    with pytest.raises(InplaceError):
        d2s.to_static(function_of(source), full_graph=True)(
            tensor(1.0, 2.0), tensor([0.5, -0.25], [0.25, 0.5]), paddle.to_tensor(3)
        )
