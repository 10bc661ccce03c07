"""``Color(number)`` with a number that the run decides (D1, E1)."""

from __future__ import annotations

import pytest

import d2s
from tests.helpers import assert_same, function_of, tensor

MEMBERS = """
import enum

class Move(enum.Enum):
    STOP = 0
    UP = 1
    LEFT = 2
    SAME = 1

class Level(enum.IntEnum):
    LOW = 0
    HIGH = 1

class Guessed(enum.Enum):
    ONE = 1

    @classmethod
    def _missing_(cls, value):
        return cls.ONE

class Asked(enum.Enum):
    ONE = 1

    @staticmethod
    def _missing_(value):
        return None

class Mixed(enum.Enum):
    ONE = 1
    MANY = [2, 3]
    HALF = 0.5

class Calling(enum.EnumMeta):
    def __call__(cls, value):
        return value * 2

class Doubled(enum.Enum, metaclass=Calling):
    ONE = 1

class Named(str, enum.Enum):
    X = "x"
    Y = "y"

def f(x):
"""

BODIES = [
    "return Move(int(x.argmax())), x",
    "m = Move(int(x.argmax()))\n    return m.name, m.value, m is Move.UP, m == Move.STOP, x.sum()",
    "m = Move(int(x.argmax()))\n    if m is Move.STOP:\n        return x * 2\n    return x - 1",
    "return x * {Move.STOP: 0.5, Move.UP: 1.5, Move.LEFT: 2.5}[Move(int(x.argmax()))]",
    "n = Level(int(x[0] > x[1]))\n    return n + 1, n > 0, n is Level.LOW, x",
    "m = Named('x' if x.sum() > 1 else 'y')\n    return m.value, {Named.X: 1, Named.Y: 2}[m], x",
    "return [Move(int(v)) for v in x.astype('int64') if v < 3], x.sum()",
    "return Move(int(x.sum())), x",
    "return Mixed(int(x[0])), x",
    "return Doubled(int(x.sum())), x",
    "return Named(int(x.sum())), x",
    "try:\n        m = Move(int(x.sum()))\n    except ValueError as e:\n"
    "        return str(e), x\n    return m.name, x",
    "match Move(int(x.argmax())):\n        case Move.STOP:\n            return x\n"
    "        case _:\n            return x * 3",
    "i, seen = 3, []\n    while i > 0:\n        m = Move(int(x[i % 3]))\n"
    "        if m is Move.STOP:\n            break\n        if m is Move.UP:\n"
    "            i -= 1\n            seen.append(i)\n        else:\n            i -= 2\n"
    "    return seen, i",
]


@pytest.mark.parametrize("body", BODIES)
def test_the_member_of_a_value(body: str) -> None:
    """E1: it is the member itself, and a ValueError where there is none."""
    f = function_of(f"{MEMBERS}    {body}\n", "f")
    assert_same(
        f, tensor(0, 1, 2), tensor(2, 1, 0), tensor(1, 2, 0), tensor(0, 0, 0), tensor(1, 0, 0)
    )


@pytest.mark.parametrize("asked", ["Guessed(int(x.sum()))", "Asked(int(x[0]))"])
@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
def test_a_class_that_answers_for_missing_values_stays_pythons(asked: str) -> None:
    """A1: by default its own method is asked."""
    f = function_of(f"{MEMBERS}    return {asked}, x\n", "f")
    assert_same(f, tensor(1, 0), tensor(7, 0), static=d2s.to_static(f, full_graph=False))
