"""Forms with attributes: a data class, a layer with a parameter and a buffer."""

from __future__ import annotations

from typing import Final

from d2s.testing.grammar import Writer, form

_BOX: Final = """\
class Box:
    def __init__(self, h):
        self.h = h
        self.count = 0

    def push(self, value):
        self.h = self.h * 0.5 + value * 0.25
        self.count += 1
        return self
"""

_POINT: Final = """\
@dataclasses.dataclass
class Point:
    at: object
    steps: int = 0
"""

_NET: Final = """\
class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.weight = self.create_parameter([1])
        self.weight.set_value(paddle.to_tensor([0.75]))
        self.register_buffer("steps", paddle.zeros([]))
        self.last = None

    def forward(self, v):
        if v.sum() > 0.2:
            self.steps = self.steps + 1
            v = v * 0.5
        return v * self.weight


net = Net()
"""


@form("statement", "attribute set", 84)
def attribute_set(w: Writer) -> None:
    w.module["Box"] = _BOX
    box = w.need("box")
    w.write(
        w.choose(
            f"{box}.h = {w.value()}",
            f"{box}.count += 1",
            f"{box}.count = {w.small()}",
            f"{box}.extra = {w.value()}",
        )
    )


@form("value", "attribute", 84)
def attribute(w: Writer) -> str:
    w.module["Box"] = _BOX
    box = w.need("box")
    return w.choose(
        f"{box}.h * 0.5", f"{w.name()} * 0.5 + {box}.count", f'getattr({box}, "extra", x) * 0.5'
    )


@form("statement", "method that changes self", 85)
def method(w: Writer) -> None:
    w.module["Box"] = _BOX
    w.write(f"{w.need('box')}.push({w.value()})")


@form("statement", "object replaced", 84)
def object_replaced(w: Writer) -> None:
    w.module["Box"] = _BOX
    w.write(f"{w.need('box')} = Box({w.value()})")


_TALLY: Final = """\
class Tally:
    total = 0
    last = None

    @classmethod
    def add(cls, value):
        cls.total += 1
        cls.last = value
"""


@form("statement", "attribute of a class set", 84)
def class_attribute_set(w: Writer) -> None:
    w.module["Tally"] = _TALLY
    w.write(
        w.choose(
            f"Tally.total += {w.small()}",
            f"Tally.last = {w.value()}",
            f"Tally.add({w.value()})",
        )
    )


@form("value", "attribute of a class", 84)
def class_attribute(w: Writer) -> str:
    w.module["Tally"] = _TALLY
    return w.choose(
        f"{w.name()} * 0.5 + Tally.total", "(x if Tally.last is None else Tally.last * 0.5)"
    )


@form("statement", "data class", 83, nests=True)
def data_class(w: Writer) -> None:
    w.module["dataclasses"] = "import dataclasses"
    w.module["Point"] = _POINT
    name = w.fresh("point")
    w.write(f"{name} = Point({w.name()})")
    with w.inside(f"if {w.condition()}:"):
        w.write(
            w.choose(
                f"{name}.at = {w.value()}",
                f"{name} = Point({w.value()}, 1)",
                f"{name}.steps += 1",
            )
        )
    w.write(f"x = {name}.at * 0.5 + {name}.steps")


@form("value", "layer", 54, 86, tensors=True)
def layer(w: Writer) -> str:
    w.module["net"] = _NET
    return f"net({w.name()})"


@form("statement", "state of a layer", 84, 86, tensors=True)
def layer_state(w: Writer) -> None:
    w.module["net"] = _NET
    w.write(
        w.choose(
            "net.steps = net.steps + 1",
            f"net.last = {w.value()}",
            "net.steps = net.steps * 0 + n",
        )
    )


@form("value", "buffer", 86, tensors=True)
def buffer(w: Writer) -> str:
    w.module["net"] = _NET
    return f"{w.name()} * 0.5 + net.steps"


@form("statement", "layers in a list", 39, 54, loops=True, tensors=True)
def layer_list(w: Writer) -> None:
    w.module["blocks"] = (
        "paddle.seed(3)\nblocks = paddle.nn.LayerList([paddle.nn.Linear(1, 1), paddle.nn.Tanh()])"
    )
    name = w.fresh("block")
    with w.inside(f"for {name} in blocks:", loop=True):
        w.write(f"x = {name}(x.unsqueeze(-1)).squeeze(-1)")
        with w.inside(f"if {w.condition()}:"):
            w.write(w.choose("break", "continue"))
        w.write(f"y = {w.value()}")
