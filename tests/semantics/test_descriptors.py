"""Descriptors of the user's classes, which Python calls (rule E2)."""

from __future__ import annotations

import pytest

from tests.helpers import assert_same, function_of, tensor

CLASSES = """
class Bounded:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def __set_name__(self, owner, name):
        self.slot = "_" + name
        self.name = name

    def __get__(self, thing, owner=None):
        return self if thing is None else thing.__dict__[self.slot]

    def __set__(self, thing, value):
        if not self.low <= value <= self.high:
            raise ValueError(f"{self.name} is not between {self.low} and {self.high}")
        thing.__dict__[self.slot] = value

class Positive:
    def __get__(self, thing, owner=None):
        if thing.shift.sum() > 0:
            return thing.shift
        return -thing.shift

class Knob:
    gain = Bounded(0.0, 2.0)
    size = Positive()

    def __init__(self, gain, shift):
        self.gain = gain
        self.shift = shift

class Finer(Knob):
    pass
"""
INPUTS = (tensor(1.0), tensor(-1.0), tensor(3.0))


@pytest.mark.parametrize("kind", ["Knob", "Finer"])
@pytest.mark.parametrize(
    "body",
    [
        "return Kind(1.0, x).size * x",
        "return Kind(x.item() / 2 + 1, x).gain",
        "knob = Kind(1.0, x)\n    knob.gain = x.sum()\n    return knob.gain * x",
        "return outside.size * x",
        "outside.shift = x\n    return outside.size * 2",
        "knob = Kind(1, x)\n    if x.sum() > 0:\n        knob.gain = x.sum()\n    return knob.gain",
    ],
)
def test_what_a_tensor_decides_in_them(kind: str, body: str) -> None:
    """E2: they are converted like other methods that Python calls."""
    function = function_of(
        f"""{CLASSES}
Kind = {kind}
outside = Kind(0.5, paddle.to_tensor([-2.0]))

def f(x):
    {body}
""",
        "f",
    )
    assert_same(function, *INPUTS, grad=False)
