"""``Program``: a generated function with the calls to make, as a Python file that runs on its own.

Knows Paddle, and neither hypothesis nor how programs are generated.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import paddle

_numbers = itertools.count(1)

BETWEEN: Final = "between"
"""The function of a program that changes its state before the second call, the third and so on."""

Call = tuple[Any, ...]
"""The arguments of one call as plain data: a list for a tensor, an int or a float for itself."""

_MAIN: Final = '''\

CALLS = [
{calls}
]


def argument(name, value):
    """A value of CALLS as the function takes it."""
    if name == "n":
        return paddle.to_tensor(value)
    return paddle.to_tensor(value, stop_gradient=False) if isinstance(value, list) else value


if __name__ == "__main__":
    for number, call in enumerate(CALLS):
        if number and "between" in globals():
            between(number)
        arguments = [argument(*pair) for pair in zip({parameters}, call)]
        try:
            print(f(*arguments))
        except Exception as error:
            print(f"{{type(error).__name__}}: {{error}}")
'''


@dataclass(frozen=True, repr=False)
class Program:
    """A generated function ``f`` and calls of it.

    ``x`` and ``y`` are float tensors of one size (floats in a program without tensors), ``n`` is
    an int tensor, ``p`` a Python int; a program has those parameters that it uses.

    Attributes:
        text: what stands above ``f``, and ``f``.
        parameters: the names of its parameters.
        calls: the arguments of each call.
        tensors: whether ``x`` and ``y`` are tensors.
        constructs: the names of the constructs in it.
    """

    text: str
    parameters: tuple[str, ...]
    calls: tuple[Call, ...]
    tensors: bool = True
    constructs: frozenset[str] = field(default=frozenset(), compare=False)

    @property
    def file(self) -> str:
        """The text of a Python file that makes the calls in dygraph, without d2s."""
        calls = "\n".join(f"    {call!r}," for call in self.calls)
        return self.text + "\n" + _MAIN.format(calls=calls, parameters=repr(self.parameters))

    def __repr__(self) -> str:
        """The text and the calls, as a reader wants to see them."""
        calls = "\n".join(f"# f({', '.join(map(repr, call))})" for call in self.calls)
        return f"\n{self.text}{calls}\n"

    def function(self) -> types.FunctionType:
        """A new ``f``, with globals of its own; its source can be found."""
        name = f"<program {next(_numbers)}>"
        linecache.cache[name] = (len(self.text), None, self.text.splitlines(keepends=True), name)
        scope: dict[str, Any] = {"__name__": "program", "paddle": paddle}
        exec(compile(self.text, name, "exec", dont_inherit=True), scope)
        function: types.FunctionType = scope["f"]
        return function

    def calls_of(self, function: types.FunctionType) -> Iterator[Call]:
        """The calls one after the other; in between, what changes the state of ``function``."""
        between = function.__globals__.get(BETWEEN)
        for number, call in enumerate(self.calls):
            if number and between is not None:
                between(number)
            yield call

    def arguments(self, call: Call) -> tuple[Any, ...]:
        """New arguments for one call."""
        return tuple(map(_argument, self.parameters, call))


def _argument(name: str, value: Any) -> Any:
    if name == "n" and isinstance(value, int):
        return paddle.to_tensor(value)
    if isinstance(value, list):
        return paddle.to_tensor(value, dtype="float32", stop_gradient=False)
    return value


def read(text: str) -> Program:
    """The program that a file holds which :attr:`Program.file` gave.

    Raises:
        ValueError: it holds something else.
    """
    body, marker, rest = text.partition("\nCALLS = [\n")
    if not marker:
        raise ValueError("the file has no CALLS: it does not come from Program.file")
    calls = ast.literal_eval("[" + rest.partition("\n]\n")[0] + "]")
    body = body.rstrip("\n") + "\n"
    function = next(
        item
        for item in ast.parse(body).body
        if isinstance(item, ast.FunctionDef) and item.name == "f"
    )
    parameters = tuple(item.arg for item in function.args.args)
    tensors = any(isinstance(value, list) for call in calls for value in call)
    return Program(body, parameters, tuple(map(tuple, calls)), tensors)
