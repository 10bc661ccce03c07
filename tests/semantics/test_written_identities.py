"""G2: an attribute or item that the function reads, and sets to another object that was there."""

from __future__ import annotations

import enum
from typing import Any

import paddle
import pytest

import d2s


class State(enum.Enum):
    A = "a"
    B = "b"


class Phase:
    """Told from others by identity."""


PAIRS = [
    (State.A, State.B),
    (Phase(), Phase()),
    (len, max),
    (int, float),
    (frozenset([1]), frozenset([2])),
    (range(3), range(4)),
    (paddle.float32, paddle.int32),
    ((State.A, 1), (State.B, 1)),
    (1 + 2j, 3j),
]


@pytest.mark.sampled(3, also=["python-builtin_function_or_method"])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: type(pair[0]).__name__)
@pytest.mark.parametrize("decided", [False, True], ids=["python", "tensor"])
def test_each_object_has_its_program(pair: Any, decided: bool) -> None:
    """G2: the object that a call has left decides the next one, and two programs are enough."""
    one, other = pair

    class Machine:
        def __init__(self) -> None:
            self.state = one

        def step(self, x: Any) -> Any:
            if decided and x < 0:
                self.state = one
                return x * 3
            if self.state == one:
                self.state = other
                return x + 1
            self.state = one
            return x - 1

    seen = []
    for convert in (lambda f: f, lambda f: d2s.to_static(f, full_graph=True)):
        machine = Machine()
        step = convert(machine.step)
        seen.append(
            [
                (int(step(paddle.to_tensor(number))), machine.state == one)
                for number in (1, 2, 3, -4, 5, -6, -7, 8, 9)
            ]
        )
    assert seen[0] == seen[1]
    assert len(step.programs) <= 3


def test_an_item_of_a_global_dict() -> None:
    """G2: the same for an item."""
    now = {"state": State.A}

    def f(x: Any) -> Any:
        if now["state"] is State.A:
            now["state"] = State.B
            return x + 1
        now["state"] = State.A
        return x - 1

    g = d2s.to_static(f, full_graph=True)
    assert [int(g(paddle.to_tensor(1))) for _ in range(4)] == [2, 0, 2, 0]
    assert now == {"state": State.A}
