"""G2: whatever a program counts on may change, one thing after the other; each is noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import function_of, tensor

MODEL = """
import os
import paddle

RATE = 2.0
TABLE = {"a": 1.0, "b": [1.0, 2.0]}
NAMES = {"one"}

class Config:
    kept = 3.0

    def __init__(self):
        self.width = 2.0
        self.aliases = {}

    def __getitem__(self, key):
        return getattr(self, key)

    def __eq__(self, other):
        return self.__dict__ == other.__dict__

    __hash__ = object.__hash__

class Block(paddle.nn.Layer):
    factor = 1.5

    def __init__(self):
        super().__init__()
        self.fc = paddle.nn.Linear(2, 2)
        self.scale_0 = 1.0
        self.scale_1 = 2.0
        self.steps = [1.0, 2.0]

    def forward(self, x, power=1.0):
        for index in range(2):
            x = x * getattr(self, f"scale_{index}")
        if self.training:
            x = x + 1.0
        return self.fc(x) * self.steps[1] * self.factor * power

class Model(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.blocks = paddle.nn.LayerList([Block() for _ in range(3)])
        self.config = Config()
        self.drop = paddle.nn.Dropout(0.0)
        self.register_buffer("shift", paddle.ones([2]))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        x = self.drop(x) * RATE + self.shift + len(NAMES)
        return (x * self.config.width * self.config["kept"] + TABLE["a"] + TABLE["b"][0]
                + float(os.environ.get("D2S_TEST_SHIFT", "0")))

class Bare(Model):
    pass
"""

Change = Callable[[Any], Any]


def _scope(model: Any) -> dict[str, Any]:
    found: dict[str, Any] = type(model).forward.__globals__
    return found


def _freeze(model: Any) -> None:
    model.blocks[0].fc.weight.stop_gradient = True


def _hook(model: Any) -> None:
    model.blocks[2].register_forward_post_hook(lambda layer, inputs, output: output * 2)


CHANGES: dict[str, Change] = {
    "a computed attribute": lambda model: setattr(model.blocks[1], "scale_1", 7.0),
    "one that hides another": lambda model: setattr(model.blocks[1], "factor", 0.5),
    "one of the class": lambda model: setattr(type(model.blocks[0]), "factor", 0.25),
    "an item of a list": lambda model: model.blocks[0].steps.__setitem__(1, 5.0),
    "a list": lambda model: setattr(model.blocks[0], "steps", [0.0, 9.0]),
    "one layer's mode": lambda model: model.blocks[2].eval(),
    "all modes": lambda model: model.eval(),
    "a method": lambda model: setattr(type(model.blocks[0]), "forward", lambda self, x: x),
    "a default": lambda model: setattr(type(model.blocks[0]).forward, "__defaults__", (3.0,)),
    "a layer": lambda model: setattr(model.blocks[0], "fc", paddle.nn.Linear(2, 2)),
    "one layer more": lambda model: model.blocks.append(paddle.nn.Linear(2, 2)),
    "a buffer": lambda model: setattr(model, "shift", paddle.full([2], 5.0)),
    "a buffer in place": lambda model: model.shift.set_value(paddle.full([2], 6.0)),
    "a parameter": lambda model: setattr(
        model.blocks[0].fc, "weight", paddle.create_parameter([2, 2], "float32")
    ),
    "a parameter in place": lambda model: model.blocks[1].fc.weight.set_value(paddle.ones([2, 2])),
    "a frozen parameter": _freeze,
    "a hook": _hook,
    "an object's attribute": lambda model: setattr(model.config, "width", 4.0),
    "an object": lambda model: model.config.__dict__.update(kept=9.0),
    "an object's class": lambda model: setattr(type(model.config), "kept", 8.0),
    "a global": lambda model: _scope(model).update(RATE=3.0),
    "an entry": lambda model: _scope(model)["TABLE"].update(a=4.0),
    "an item in an entry": lambda model: _scope(model)["TABLE"]["b"].__setitem__(0, 8.0),
    "a member": lambda model: _scope(model)["NAMES"].add("two"),
    "a layer in a list": lambda model: model.blocks.__setitem__(1, paddle.nn.Linear(2, 2)),
}


@pytest.fixture
def model() -> Any:
    paddle.seed(1)
    return function_of(MODEL, "Model")()


@pytest.mark.sampled(9, also=["one layer more-warm"])
@pytest.mark.parametrize("calls", [1, 4], ids=["looked up", "warm"])
@pytest.mark.parametrize("name", CHANGES)
def test_each_change_is_noticed(model: Any, name: str, calls: int) -> None:
    """Of a model, each thing that its program counts on, alone."""
    static = d2s.to_static(type(model).forward.__get__(model))
    x = tensor([1.0, 2.0])
    for _ in range(calls):
        assert static(x).tolist() == model.forward(x).tolist()
    before = model.forward(x).tolist()
    CHANGES[name](model)
    after = model.forward(x)
    frozen = name == "a frozen parameter"
    assert (after.tolist() == before) is frozen
    for _ in range(4):
        found = static(x)
        assert found.tolist() == after.tolist()
        assert found.stop_gradient == after.stop_gradient


@pytest.mark.parametrize("value", ["1", "2"])
def test_the_environment(model: Any, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the code names ``os.environ``, whatever is set there."""
    static = d2s.to_static(type(model).forward.__get__(model))
    x = tensor([1.0, 2.0])
    for _ in range(3):
        assert static(x).tolist() == model.forward(x).tolist()
    monkeypatch.setenv("D2S_TEST_SHIFT", value)
    for _ in range(3):
        assert static(x).tolist() == model.forward(x).tolist()
    assert len(static.programs) == 2


def test_all_changes_one_after_the_other(model: Any) -> None:
    """The order does not count, nor what has changed before."""
    static = d2s.to_static(type(model).forward.__get__(model))
    x = tensor([1.0, 2.0])
    for name, change in CHANGES.items():
        if name != "a method":
            change(model)
            for _ in range(3):
                assert static(x).tolist() == model.forward(x).tolist(), name


def test_what_paddle_notes_is_no_state() -> None:
    """A call of a layer in it, in dygraph, changes nothing that counts: Paddle's bookkeeping."""
    model = function_of(MODEL, "Model")()
    static = d2s.to_static(type(model).forward.__get__(model))
    x = tensor([1.0, 2.0])
    static(x)
    model.blocks[0](x)
    model.drop(x)
    static(x)
    assert len(static.programs) == 1


def test_one_that_always_changes() -> None:
    """A number that is a new object on every call leaves the others in their loops, and right."""
    f = function_of("A, B, C = 1.5, 2.5, [3.5]\ndef f(x):\n    return x * A + B * C[0]\n", "f")
    static = d2s.to_static(f)
    for _ in range(50):
        f.__globals__["A"] = float("1.5")
        assert static(tensor(2.0)).tolist() == f(tensor(2.0)).tolist()
    for name, value in {"B": 4.5, "A": 0.5, "C": [1.0]}.items():
        f.__globals__[name] = value
        assert static(tensor(2.0)).tolist() == f(tensor(2.0)).tolist()
    assert len(static.programs) == 4


@pytest.mark.parametrize(
    "text",
    [
        "getattr(self, 'w' + x.name[:0])",
        "vars(self)['w']",
        "self.__dict__['w']",
        "[getattr(self, name) for name in ['w']][0]",
        "getattr(other, 'w' + x.name[:0])",
        "(lambda me: getattr(me, 'w' + x.name[:0]))(other)",
    ],
)
@pytest.mark.parametrize("of", ["self", "class"])
def test_computed_attributes(text: str, of: str) -> None:
    """Whoever is asked for an attribute by a computed name, it is noticed when it changes."""
    made = function_of(
        "class Thing:\n    w = 2.0\n    def __init__(self, other=None):\n        self.w = 3.0\n"
        "        self.other = other\n"
        f"    def f(self, x):\n        other = self.other\n        return x * {text}\n",
        "Thing",
    )
    thing = made(made())
    static = d2s.to_static(thing.f)
    x = tensor([1.0, 2.0])
    for value in (4.0, 5.0, 5.0, 6.0):
        if of == "self":
            thing.w = thing.other.w = value
        elif "__dict__" not in text and "vars" not in text:
            thing.__dict__.pop("w", None)
            thing.other.__dict__.pop("w", None)
            made.w = value
        assert static(x).tolist() == thing.f(x).tolist()
