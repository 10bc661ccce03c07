"""G2: what a function assigns before it reads it is no guard; what it may read first is one."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import function_of, tensor

DETECTOR = """
import paddle

class Head(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc = paddle.nn.Linear(2, 2)

    def forward(self, inputs):
        return self.fc(inputs["image"])

class Detector(paddle.nn.Layer):
    def __init__(self, fuse=False):
        super().__init__()
        self.inputs = {}
        self.head = Head()
        self.fuse = fuse

    def boxes(self):
        return self.head(self.inputs) * self.inputs["scale"]

    def forward(self, inputs):
        if self.fuse:
            self.inputs["image"] = inputs["image"] * 2
            self.inputs["scale"] = inputs["scale"]
        else:
            self.inputs = inputs
        return {"box": self.boxes(), "scale": self.inputs["scale"]}
"""

KEEPS = """
import copy
import paddle

class Keeps:
    def __init__(self):
        self.h = 1.0
        self.table = {"old": 1.0}

    def old(self):
        return self.h

    @property
    def doubled(self):
        return self.h * 2

    def forward(self, x):
        TEXT
"""


def detector(fuse: bool = False) -> Any:
    paddle.seed(3)
    return function_of(DETECTOR, "Detector")(fuse)


def images(value: float) -> dict[str, Any]:
    return {"image": tensor([[value, 2.0]]), "scale": tensor([value])}


@pytest.mark.parametrize("fuse", [False, True])
def test_a_detector_keeps_its_input(fuse: bool) -> None:
    """Each call another dict; the layer holds that of the last call, as in dygraph."""
    model, twin = detector(fuse), detector(fuse)
    twin.set_state_dict(model.state_dict())
    static = d2s.to_static(type(model).forward.__get__(model))
    for value in (1.0, 2.0, 3.0, 4.0):
        given = images(value)
        found, wanted = static(given), twin.forward(images(value))
        assert found["box"].tolist() == wanted["box"].tolist()
        assert {k: v.tolist() for k, v in model.inputs.items()} == {
            k: v.tolist() for k, v in twin.inputs.items()
        }
        assert (model.inputs is given) is not fuse
    if not fuse:
        assert len(static.programs) == 1


def test_the_same_input_again() -> None:
    """The dict that the layer already holds is an argument, too."""
    model, twin = detector(), detector()
    twin.set_state_dict(model.state_dict())
    static = d2s.to_static(type(model).forward.__get__(model))
    given, other = images(1.0), images(1.0)
    for value in (1.0, 5.0, 7.0):
        for each in (given, other):
            each["scale"] = tensor([value])
        assert static(given)["box"].tolist() == twin.forward(other)["box"].tolist()
        assert model.inputs is given


TEXTS = {
    "read after": ("self.h = x * 2\nreturn self.h + 1", True),
    "read in a method": ("self.h = x * 2\nreturn self.old() + 1", True),
    "read by a property": ("self.h = x * 2\nreturn self.doubled + 1", None),
    "read before": ("y = x * self.h\nself.h = x.sum()\nreturn y + self.h", False),
    "read before in a method": ("y = x * self.old()\nself.h = x.sum()\nreturn y + self.h", False),
    "read in a branch": (
        "if x.sum() > 0:\n    self.h = x.sum()\nreturn x * self.h",
        False,
    ),
    "read on one side": (
        "if x.sum() > 0:\n    self.h = x.sum()\n    y = self.h\nelse:\n    y = self.h * x.sum()\n"
        "    self.h = x.sum() * 0.0\nreturn x * y",
        False,
    ),
    "assigned in a loop": (
        "i = paddle.zeros([1])\nwhile i < x.sum():\n    self.h = i + 1.0\n    i = i + 1.0\n"
        "return x * self.h",
        False,
    ),
    "of a copy": ("other = copy.copy(self)\nself.h = x * 2\nreturn other.h * self.h", False),
    "asked for": ("had = hasattr(self, 'h')\nself.h = x * 2\nreturn self.h + had", None),
    "by another name": (
        "me = self\nold = me.h\nme.h = x * 2\nreturn old * self.h",
        False,
    ),
    "in the table": ("old = self.__dict__['h']\nself.h = x * 2\nreturn old * self.h", False),
    "deleted": ("del self.h\nself.h = x * 2\nreturn self.h", None),
    "deleted last": ("self.h = x * 2\ny = self.h\ndel self.h\nself.h = 1.0\nreturn y", None),
}


def numbers(value: Any) -> Any:
    """What an attribute holds, as something that can be compared."""
    return value.tolist() if isinstance(value, paddle.Tensor) else value


@pytest.mark.parametrize("name", TEXTS)
def test_what_was_there_before(name: str) -> None:
    """Python values put there between calls, each of which a program that reads it must see."""
    text, once = TEXTS[name]
    made = function_of(KEEPS.replace("TEXT", text.replace("\n", "\n        ")), "Keeps")
    model, twin = made(), made()
    static = d2s.to_static(model.forward)
    for value in (1.0, 2.0, 2.0, 5.0):
        model.h = twin.h = value
        x = tensor([1.0, 2.0])
        for _ in range(2):
            assert static(x).tolist() == twin.forward(x).tolist()
            assert numbers(model.h) == numbers(twin.h)
    if once is not None:
        assert (len(static.programs) == 1) is once
    assert "h" not in vars(made)


def test_the_class_is_as_it_was() -> None:
    """Nothing is left on it, whatever the capture raises."""
    made = function_of(
        KEEPS.replace("TEXT", "self.h = x\n        raise ValueError(self.h.shape)"), "Keeps"
    )
    model = made()
    with pytest.raises(ValueError, match="2"):
        d2s.to_static(model.forward)(tensor([1.0, 2.0]))
    assert "h" not in vars(made)
    assert model.h.tolist() == [[1.0, 2.0]]
