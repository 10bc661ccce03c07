"""``d2s.testing.minimize``: edits that make a program smaller, and the search for the smallest."""

from __future__ import annotations

import ast
import textwrap

import numpy as np
import paddle
import pytest

from d2s.errors import ArgumentsError
from d2s.testing.minimize import literal, whole
from d2s.testing.minimize.edits import PHASES, cost
from d2s.testing.minimize.reduce import Reduction

PROGRAM = '''
"""Of no use."""
import math
import os


def helper(x: int, k=3):
    """Neither."""
    limit = 10
    for i in range(limit):
        x = x + i
    return x


class Net(Base, metaclass=Meta):
    @property
    def forward(self, x, *, flag=None):
        with open("f") as file:
            try:
                y = helper(x, k=2) + 7
            except (ValueError, TypeError) as error:
                y = {"a": 1, "wanted": [1.5, 2.5, 3.0]}
            finally:
                del x
        while y and flag:
            y = f"{y} is {x!r}"
            break
        return y if flag else -1
'''


def reduced(program: str, *wanted: str) -> str:
    """The smallest text that Python takes and that has all of some words."""
    tree = ast.parse(textwrap.dedent(program))
    reduction = Reduction(lambda text: all(word in text for word in wanted), tree)
    reduction.run()
    assert reduction.complete
    return reduction.text


def test_every_edit_gives_another_program_or_none() -> None:
    """The tree itself is left alone; what an edit makes can be written, or is no Python."""
    tree = ast.parse(PROGRAM)
    before = ast.dump(tree)
    for phase in PHASES:
        edits = phase(tree)
        assert edits, phase.__name__
        for edit in edits:
            made = edit.on(tree)
            assert ast.dump(made) != before or phase.__name__ == "parameters"
    assert ast.dump(tree) == before


@pytest.mark.parametrize(
    ("wanted", "smallest"),
    [
        (["math"], "import math\n"),
        (["wanted"], '"""wanted"""\n'),
        (["range", "def helper"], "def helper():\n    range\n"),
        (["class Net", "while"], "class Net:\n    while 0:\n        pass\n"),
    ],
)
def test_the_smallest_that_has_some_words(wanted: list[str], smallest: str) -> None:
    assert reduced(PROGRAM, *wanted) == smallest


def test_numbers_and_texts_get_simple() -> None:
    assert reduced("x = f([8, 99.5, 'some text'])\nf(x, -3)", "f([") == "f([])\n"
    assert reduced("f(1234)", "f(", "2") == "f(2)\n"


def test_a_variable_is_put_where_it_is_read() -> None:
    program = "def f(a):\n    b = a + 1\n    return g(b)\n"
    assert reduced(program, "g(a +", "return", "f(a)") == "def f(a):\n    return g(a + 0)\n"


def test_what_python_refuses_is_not_asked_about() -> None:
    """A ``break`` without its loop, a handler without its ``try``."""
    asked: list[str] = []

    def shows(text: str) -> bool:
        asked.append(text)
        compile(text, "text", "exec")
        return "break" in text

    reduction = Reduction(shows, ast.parse("for i in range(3):\n    if i:\n        break\n"))
    reduction.run()
    assert reduction.text == "for i in 0:\n    break\n"
    assert len(asked) == len(set(asked)) == reduction.tried


def test_each_step_costs_less() -> None:
    """So that the search comes to an end."""
    costs = []
    reduction = Reduction(lambda text: "helper" in text, ast.parse(PROGRAM))
    reduction.told = lambda reduction: costs.append(cost(reduction.tree))
    reduction.run()
    assert costs == sorted(costs, reverse=True)
    assert len(set(costs)) == len(costs)


def test_it_ends_when_the_time_is_over() -> None:
    reduction = Reduction(lambda text: True, ast.parse(PROGRAM), seconds=0.0)
    reduction.run()
    assert not reduction.complete
    assert reduction.text == ast.unparse(ast.parse(PROGRAM)) + "\n"


def test_the_program_has_the_calls_behind_future_imports() -> None:
    text = ast.unparse(whole('"""Words."""\nfrom __future__ import annotations\nx = 1\n', "[{}]"))
    assert text.splitlines()[:4] == [
        '"""Words."""',
        "from __future__ import annotations",
        "import paddle",
        "paddle.seed(0)",
    ]
    compile(text, "text", "exec")


def test_values_are_written_so_that_python_reads_them() -> None:
    tensor = paddle.to_tensor([[1.5, float("nan")], [float("-inf"), 2.0]], stop_gradient=False)
    values = {
        "t": tensor,
        "half": paddle.ones([2], "bfloat16"),
        "array": np.arange(3, dtype="int32"),
        "rest": [1, (2.5,), {3}, None, True, "text", b"x", 1 + 2j, set()],
    }
    scope = {"paddle": paddle, "np": np}
    made = eval(literal(values), scope)
    assert made["rest"] == values["rest"]
    assert made["t"].stop_gradient is False
    assert np.array_equal(made["t"].numpy(), tensor.numpy(), equal_nan=True)
    assert made["half"].dtype == paddle.bfloat16
    assert made["array"].dtype == np.int32
    with pytest.raises(ArgumentsError, match="'object' cannot be written"):
        literal([object()])
