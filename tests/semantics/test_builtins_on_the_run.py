"""Built-in functions and methods on what the run decides, case by case (rules A1, D1, E1)."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, 2.0, 3.0)
SIGNS = [(X, scalar(1.0)), (X, scalar(-1.0))]

TEXTS = [
    "capitalize()", "center(30, '*')", "expandtabs()", "ljust(30, '.')", "lower()", "lstrip()",
    "replace('1', 'one')", "rjust(30)", "rstrip('] ')", "strip(' t')", "swapcase()", "title()",
    "upper()", "zfill(40)",
]  # fmt: skip


@pytest.mark.parametrize("call", TEXTS)
def test_methods_of_text_that_the_run_makes(call: str, capsys: pytest.CaptureFixture[str]) -> None:
    """E1, F1: what is printed is what dygraph prints."""
    f = function_of(f"def f(x, s):\n    print(f'  tEXT\\t{{s}} '.{call} + '|')\n    return x")
    outputs = []
    for function in (f, d2s.to_static(f)):
        for call_ in SIGNS:
            function(*call_)
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize("caught", ["ValueError", "OverflowError", "(TypeError, ValueError)"])
@pytest.mark.parametrize("number", [1.5, float("nan"), float("inf"), -float("inf")])
def test_a_cast_that_fails_inside_of_a_try(caught: str, number: float) -> None:
    """E1, F1: a handler for one of the two errors catches that one."""
    f = function_of(f"""
    def f(x, s):
        try:
            k = int(s)
        except {caught}:
            k = -7
        return x * k
    """)
    assert_same(f, (X, scalar(number)), (X, scalar(2.5)), grad=False)


@pytest.mark.parametrize("name", ["max", "min", "sorted"])
@pytest.mark.parametrize(
    "items",
    [
        "[n, 2, m]",
        "[x[1], x[0], x[2]]",
        "[int(n), 3, int(m)]",
        "[float(n), 2.5]",
    ],
)
def test_the_greatest_of_tensors_and_numbers(name: str, items: str) -> None:
    """E1: it is the item itself, of its own kind and dtype."""
    f = function_of(f"def f(x, n, m):\n    return {name}({items}), x")
    numbers = [(4, 3), (1, 2), (2, 3)]
    assert_same(f, *((X, scalar(n), scalar(m)) for n, m in numbers), grad=False)


@pytest.mark.parametrize("items", ["[n, 2.5]", "[n, 2.5, x[0]]", "[2.5, int(m), int(n)]"])
def test_the_greatest_of_numbers_of_two_kinds(items: str) -> None:
    """E1: a fraction counts, though the tensors hold whole numbers."""
    f = function_of(f"def f(x, n, m):\n    return max({items}) * x[0], min({items}) * x[0]")
    numbers = [(4, 3), (1, 2), (2, 3)]
    assert_same(f, *((X, scalar(n), scalar(m)) for n, m in numbers), grad=False)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("axis", [0, 1, -1, 2, -2, -3])
@pytest.mark.parametrize("call", ["paddle.stack(out, axis={})", "paddle.stack(out, {}) * 2"])
def test_stacking_a_grown_list_along_any_axis(call: str, axis: int) -> None:
    """D1: of as many items as the run has appended."""
    f = function_of(f"""
    def f(x, n):
        out = [x]
        for i in range(n):
            out.append(x * i)
        return {call.format(axis)}
    """)
    given = paddle.ones([2, 3]) * paddle.to_tensor([1.0, 2.0, 3.0])
    assert_same(f, *((given, scalar(n)) for n in (2, 0, 1)))


def test_items_of_python_lists_are_the_things_themselves() -> None:
    """A1: an index or slice that is known picks the object, whatever is captured."""
    f = function_of("""
    def f(x, s):
        y, z = x * 2, x + 1
        things, pair, table = [x, y, z], (y, z), {"a": x, 2: y}
        part = things[1:]
        return (
            things[0] is x, things[-1] is z, part[0] is y, len(part), pair[1] is z,
            table["a"] is x, table[2] is y, things[::2], s,
        )
    """)
    assert_same(f, *SIGNS)


class Watched:
    """An object that looks at what is assigned to it."""

    def __init__(self) -> None:
        self.value = paddle.zeros([3])

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value * 2 if name == "value" else value)

    def __add__(self, other: Any) -> Any:
        return self.value + other if other.sum() > 6 else self.value - other

    def total(self, other: Any) -> Any:
        if other.sum() > 6:
            return self.value.sum()
        return other.sum()


class Kind(type):
    def __instancecheck__(cls, thing: object) -> bool:
        return hasattr(thing, "shape")


class Shaped(metaclass=Kind):
    pass


@pytest.mark.parametrize("use", ["box + x", "box.total(x)", "box.value", "isinstance(x, Shaped)"])
def test_special_methods_of_objects_of_the_user(use: str) -> None:
    """E2: those that a tensor may decide are converted, and the others work as they are."""
    f = function_of(
        f"""
    def f(x, s):
        box = Watched()
        box.value = x * s
        return {use}
    """,
        Watched=Watched,
        Shaped=Shaped,
    )
    assert_same(f, *SIGNS, (X + 1, scalar(1.0)), grad=False)


@pytest.mark.parametrize(
    "text",
    ["', '.join([f'{s}', 'end'])", "'-'.join(f'{v}' for v in [s, s + 1])", "''.join(['a', 'b'])"],
)
def test_joining_texts_of_the_run(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """E1, F1: ``str.join`` takes texts that only the run knows."""
    f = function_of(f"def f(x, s):\n    print({text})\n    return x")
    outputs = []
    for function in (f, d2s.to_static(f)):
        for call in SIGNS:
            function(*call)
        outputs.append(capsys.readouterr().out)
    assert set(outputs[1].splitlines()) == set(outputs[0].splitlines())
