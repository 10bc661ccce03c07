"""What a loop does right before it is left, with what its trips read (rules A1, C1, D1)."""

from __future__ import annotations

import textwrap
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import D2SError
from tests.helpers import assert_same, function_of, tensor

INPUTS = (tensor(1.0, 1.0, 1.0), tensor(2.0, 3.0, 1.0), tensor(0.1, 0.1))

KINDS = {
    "appended": ("outs = []", "outs.append(y)", "outs = paddle.concat(outs)"),
    "added": ("outs = []", "outs += [y]", "outs = paddle.concat(outs)"),
    "rebound": ("outs = []", "outs = [*outs, y]", "outs = paddle.concat(outs)"),
    "a sum": ("outs = []", "outs = outs + [y]", "outs = paddle.concat(outs)"),
    "a length": ("outs = []", "outs.insert(0, y)", "outs = len(outs)"),
    "a tuple": ("outs = []", "outs.extend([y, y])", "outs = (paddle.concat(outs), y)"),
    "with a value of the trip": (
        "outs = []",
        "z = y * 2\nouts.append(y)",
        "outs = paddle.concat([*outs, z])",
    ),
    "begun anew": ("outs = []", "outs.append(y)", "y = y + len(outs)\nouts = []"),
    "printed": ("outs = []", "outs.append(y)", "outs = paddle.concat(outs)\nprint(outs.sum())"),
    "in a branch": (
        "outs = []",
        "outs.append(y)",
        "if x.sum() > 3:\n    outs = paddle.concat(outs)\nelse:\n    outs = paddle.stack(outs)",
    ),
    "an attribute": (
        "box = types.SimpleNamespace(outs=[])\nouts = 0",
        "box.outs.append(y)",
        "box.outs = paddle.concat(box.outs)\nouts = box.outs",
    ),
    "a dtype": ("outs = y", "outs = outs + y", "outs = outs.astype('int64')"),
    "a rank": ("outs = y", "outs = outs + y", "outs = outs.unsqueeze(0).unsqueeze(0)"),
    "a word": ("outs = 'going'", "pass", "outs = 'done'"),
    "a number": ("outs = 0", "outs += 1", "outs = outs * 0.5"),
}
"""What ``outs`` is before the loop, in a trip, and right before the loop is left."""

LOOPS = {
    "endless": "while True:",
    "many": "for i in range(40):",
    "few": "for i in range(3):",
    "a condition": "while y.sum() < 60:",
}
EXITS = {
    "a break": "if y.sum() < 0.3:\n    END\n    break",
    "behind a continue": "if y.sum() < 0.3:\n    if k < n:\n        continue\n    END\n    break",
    "an else": "if y.sum() >= 0.3:\n    y = y * 0.99\nelse:\n    END\n    break",
    "a return": "if y.sum() < 0.3:\n    END\n    return outs, y",
    "one of two": "if y.sum() > 50:\n    break\nif y.sum() < 0.3:\n    END\n    break",
    "two": "if y.sum() < 0.2:\n    END\n    break\n"
    "if y.sum() < 0.3:\n    y = y * 2\n    END\n    break",
}


def made(kind: str, loop: str, leave: str) -> Any:
    before, step, end = KINDS[kind]
    lines = [_indented(line, end) if "END" in line else line for line in EXITS[leave].split("\n")]
    body = "\n".join(["y = y * 0.8", step, *lines])
    text = "\n".join(
        [
            "import types",
            "def f(x, k=2, n=1):",
            "    y = x.mean().reshape([1])",
            textwrap.indent(before, "    "),
            f"    {LOOPS[loop]}",
            textwrap.indent(body, "        "),
            "    return outs, y",
        ]
    )
    return function_of(text, "f")


def _indented(line: str, end: str) -> str:
    return textwrap.indent(end, " " * (len(line) - len(line.lstrip())))


@pytest.mark.sampled(45)
@pytest.mark.parametrize("leave", EXITS)
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_done_before_a_break(kind: str, loop: str, leave: str) -> None:
    """C1, D1: no trip begins with it, whatever it makes of what trips read."""
    assert_same(made(kind, loop, leave), *INPUTS)


def joined(x):
    outs, probs, step = [], [], 0
    y = x.mean().reshape([1])
    while True:
        step += 1
        y = y * 0.9
        outs += [y]
        probs += [y * 2]
        if sum((probs[-1] < 0.5).astype("int64")) > 0 or step >= 12:
            if step < 2:
                continue
            outs = paddle.concat(outs)
            outs = outs + outs.mean()
            probs = paddle.concat(probs)
            break
    return outs, probs


def test_two_lists_that_an_endless_loop_leaves_as_tensors() -> None:
    """C1, D1: the synthesis of speech by paddlespeech's TransformerTTS."""
    assert_same(joined, *INPUTS)


class Collecting:
    def __init__(self) -> None:
        self.found: Any = None

    def run(self, x):
        self.found = []
        y = x.mean()
        while True:
            y = y * 0.7
            self.found += [y]
            if y < 0.2:
                self.found = sum(self.found)
                break
        return y


def test_an_attribute_of_the_object() -> None:
    """B4, C1: what the object has behind the call is what dygraph leaves there."""
    for values in INPUTS:
        plain, converted = Collecting(), Collecting()
        want = plain.run(values)
        got = d2s.to_static(converted.run, full_graph=True)(values)
        assert float(got) == float(want)
        assert float(converted.found) == float(plain.found)


def test_python_sees_one_order() -> None:
    """A1: prints, exceptions and their lines, generators that are closed when a loop is left."""

    def f(n):
        log: Any = []

        def numbers():
            try:
                yield from range(9)
            finally:
                log.append("closed")

        found: Any = []
        for k in numbers():
            found.append(k)
            if k > n:
                found = len(found)
                log.append("left")
                break
        try:
            while True:
                found += 1
                if found > 5:
                    found = str(found)
                    found = found + found[9]
                    break
        except IndexError as error:
            return log, found, error.__traceback__.tb_lineno
        return log, found

    assert d2s.to_static(f, full_graph=True)(2) == f(2)


def held_in_a_with(x):
    outs: Any = []
    y = x.mean().reshape([1])
    while True:
        with paddle.no_grad():
            y = y * 0.8
            outs.append(y)
            if y.sum() < 0.3:
                outs = paddle.concat(outs)
                break
    return outs


def caught_in_a_try(x):
    outs: Any = []
    y = x.mean().reshape([1])
    while True:
        try:
            y = y * 0.8
            outs.append(y)
            if y.sum() < 0.3:
                outs = paddle.concat(outs)
                break
        except ValueError:
            outs = []
    return outs


@pytest.mark.parametrize("function", [held_in_a_with, caught_in_a_try])
def test_what_a_with_or_try_has_to_see(function: Any) -> None:
    """C1, H1: it stays where it is, and is refused by its cause; by default it is dygraph's."""
    with pytest.raises(D2SError, match=r"concat\(\) is given (?:'outs', )?a list whose") as caught:
        d2s.to_static(function, full_graph=True)(INPUTS[0])
    assert caught.value.code == "D2S207"
    converted = d2s.to_static(function, full_graph=False)
    for values in INPUTS:
        assert converted(values).tolist() == function(values).tolist()
