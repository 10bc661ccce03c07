"""Functions made from text: ones that no cache has seen, and ones of any length and depth."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Iterator
from typing import Any

import paddle

BRANCHES_AND_LOOPS = """\
def function(x, n):
    total = x * 0.0
    if x.mean() > 0:
        y = x * 2.0
        z = y + 1.0
    else:
        y = x - 1.0
        z = y * y
    for i in range(n):
        if z.max() > 10.0:
            z = z * 0.1
            continue
        total = total + z
        if total.sum() > 100.0:
            break
    while y.max() > 1.0 and n > 0:
        y = y * 0.5
        total = total - y
    if total.min() < 0.0:
        return total
    return total + y
"""

_numbers = itertools.count()


def define(text: str) -> Any:
    """The function in ``text``, a new one each time; ``inspect`` finds its text.

    It gets a name of its own: converters remember what they have made by text, or by code.
    """
    number = next(_numbers)
    text, file = text.replace("def function(", f"def function_{number}("), f"<benchmark {number}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"__name__": __name__, "paddle": paddle}
    exec(compile(text, file, "exec"), scope)
    return scope[f"function_{number}"]


def branches(count: int) -> str:
    """So many tensor ``if`` in a row."""
    lines = [
        line
        for index in range(count)
        for line in (f"if x.sum() > {index}.5:", "    x = x * 0.5", "else:", "    x = x * 1.5")
    ]
    return _function("x", lines)


def straight(count: int) -> str:
    """So many lines, every tenth of them a tensor ``if`` with a body of one line."""
    lines: list[str] = []
    while len(lines) < count:
        lines += [f"y{len(lines)} = x * 1.01", "x = x + 0.01"] * 4
        lines += ["if x.mean() > 1.0:", "    x = x - 1.0"]
    return _function("x", lines[:count])


def loop(count: int) -> str:
    """One tensor loop with a body of so many lines."""
    body = [f"    x = x * 1.{index % 7}1 - 0.{index % 5}1" for index in range(count - 1)]
    lines = ["i = paddle.zeros([], dtype='int64')", "while i < 2:", *body, "    i = i + 1"]
    return _function("x", lines)


def nest(depth: int) -> str:
    """Tensor ``if`` and ``while`` in turn, so deep inside of each other."""
    return _function("x", list(_nested(depth)))


def _nested(depth: int) -> Iterator[str]:
    for level in range(depth):
        indent = "    " * level
        if level % 2 == 0:
            yield f"{indent}if x.sum() > -{level}.5:"
        else:
            yield f"{indent}while x.max() < {level}.5:"
            yield f"{indent}    x = x + 1.0"
    yield "    " * depth + "x = x + 1.0"


def _function(parameters: str, lines: list[str]) -> str:
    body = "".join(f"    {line}\n" for line in [*lines, "return x"])
    return f"def function({parameters}):\n{body}"
