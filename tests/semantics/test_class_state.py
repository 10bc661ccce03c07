"""State that classes, modules and functions hold: after each run it is what dygraph leaves (F3)."""

from __future__ import annotations

import types
from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import assert_same, function_of, tensor

SETUP = """
    class Base:
        inherited = 0

    class C(Base):
        n = 0
        seen = None
        log = []

        @classmethod
        def count(cls, by=1):
            cls.n += by

        @property
        def twice(self):
            C.n += 2
            return C.n

        def me(self):
            type(self).n += 1

        def inherit(self):
            self.__class__.inherited += 1

    class L(paddle.nn.Layer):
        calls = 0

        def forward(self, x):
            type(self).calls += 1
            L.last = x.sum()
            return x

    def helper(x):
        helper.calls += 1
        return x * 2

    helper.calls = 0
    layer = L()
"""

BODIES = {
    "a number": "C.n += 1",
    "a tensor": "C.seen = x.sum()",
    "a number that becomes a tensor": "C.n = C.n + x.sum()",
    "a list": "C.log.append(x.sum())",
    "a class method": "C.count()",
    "through an object": "C().me()",
    "a property": "x = x + C().twice",
    "an attribute of the base": "C().inherit()",
    "a new attribute": "C.fresh = x.sum()",
    "one side": """
        if x.sum() > 0:
            C.n += 1
    """,
    "both sides": """
        if x.sum() > 0:
            C.count(1)
        else:
            C.count(10)
    """,
    "methods in sides": """
        c = C()
        if x.sum() > 0:
            c.me()
        else:
            c.inherit()
    """,
    "in handlers": """
        try:
            if x.sum() > 0:
                raise KeyError("large")
        except KeyError:
            C.count(1)
        else:
            C.count(10)
    """,
    "in a static loop": """
        while x.sum() < 3:
            x = x + 1
            C.n += 1
    """,
    "a layer's class": "x = layer(x)",
    "an attribute of a function": "x = helper(x)",
    "an attribute of a module": "M.n += 1",
    "an attribute of a module, one side": """
        if x.sum() > 0:
            M.n += 1
            M.seen = x
    """,
}


def shown(value: Any) -> Any:
    return value.tolist() if isinstance(value, paddle.Tensor) else value


def state_of(scope: dict[str, Any]) -> dict[str, Any]:
    """The data attributes of everything that the functions may change."""
    found = {}
    for name in ("Base", "C", "L", "helper", "M"):
        for key, value in vars(scope[name]).items():
            if key.startswith("_") or callable(value) or hasattr(type(value), "__get__"):
                continue
            found[name, key] = (
                [shown(item) for item in value] if isinstance(value, list) else shown(value)
            )
    return found


@pytest.mark.parametrize("name", BODIES)
def test_as_in_dygraph(name: str) -> None:
    """F3: for classes, modules and functions, also out of branches, handlers and loops."""
    made = []
    for _ in range(2):
        module = types.ModuleType("module")
        module.__dict__.update(n=0, seen=None)
        lines = "\n".join(f"        {line}" for line in _lines(BODIES[name]))
        text = f"{SETUP}\n    def f(x):\n{lines}\n        return x, C.n\n"
        made.append(function_of(text, "f", M=module))
    static = d2s.to_static(made[1])
    for value in (1.0, -2.0, 3.0, 1.0):
        seen = []
        for call, function in zip((made[0], static), made, strict=True):
            x, n = call(tensor(value))
            seen.append((x.tolist(), shown(n), state_of(function.__globals__)))
        assert seen[0] == seen[1], value


def _lines(body: str) -> list[str]:
    lines = [line for line in body.split("\n") if line.strip()]
    indent = min(len(line) - len(line.lstrip()) for line in lines)
    return [line[indent:] for line in lines]


def test_number_of_programs() -> None:
    """G2: a counter of a class does not make each call capture anew."""
    made = function_of(SETUP + "\n    def f(x):\n        C.n += 1\n        return x\n", "f")
    static = d2s.to_static(made)
    for _ in range(6):
        static(tensor(1.0))
    assert len(static.programs) <= 2
    assert made.__globals__["C"].n == 6


@pytest.mark.parametrize(
    "body",
    [
        "c = L()\nfor v in x:\n    if v > 0:\n        c.hit()\nreturn L.total, c.n",
        "cs = [L(), L()]\nfor v in x:\n    cs[0 if v > 0 else 1].hit()\nreturn L.total, cs[0].n",
        "c, k = L(), x.sum()\nwhile k < 5:\n    c.hit()\n    k = k + 1\nreturn L.total, c.n",
        "if x.sum() > 0:\n    L.total = x.sum()\nreturn L.total",
    ],
)
def test_a_class_that_the_function_makes(body: str) -> None:
    """B4, G1: its attributes are state of branches and loops as those of other classes."""
    text = "class L:\n    total = 0\n    n = 0\n    def hit(self):\n        self.n += 1\n"
    text += "        type(self).total += 1\n" + body
    lines = "\n".join(f"    {line}" for line in text.split("\n"))
    assert_same(
        function_of(f"def f(x):\n{lines}"), tensor(1.0, -2.0), tensor(3.0, 1.0), tensor(-1.0, -2.0)
    )
