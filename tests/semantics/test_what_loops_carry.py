"""Texts and objects that a static loop makes anew in each trip (rules A1, C3, D4)."""

from __future__ import annotations

import pytest

import d2s
from d2s.errors import LoopMismatchError
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
    "an object": BOX
    + """
def f(x):
    box, t = Box(x), paddle.zeros([])
    while t < 3:
        t = t + 1
        box = Box(box.h * t)
    return box.h
""",
    "an object of the last trip": BOX
    + """
def f(x):
    box, t = None, paddle.zeros([])
    while t < 3:
        t = t + 1
        if box is None:
            box = Box(t * 2)
    return x
""",
}


@pytest.mark.parametrize("source", REFUSED.values(), ids=REFUSED)
def test_what_is_another_one_in_each_trip(source: str) -> None:
    """C3: refused with a code; values of a capture that was given up once ended the process."""
    with pytest.raises(LoopMismatchError) as caught:
        d2s.to_static(function_of(source))(tensor(1.0, 1.0))
    assert caught.value.line is not None
