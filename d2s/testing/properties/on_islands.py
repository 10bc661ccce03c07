"""What holds for every program in which some statements need Python; see ``properties``.

The statements are strewn over a generated program: each notes the bytes of an argument, which no
program can do, so that the function is split there.
"""

from __future__ import annotations

import ast
import dataclasses
import random
import warnings
import zlib
from typing import Any, Final

import numpy as np
import paddle

from d2s import api
from d2s.analysis.exits import blocks_of
from d2s.errors import BreakWarning, D2SError
from d2s.syntax.plain import to_ast, to_gast
from d2s.testing.program import Program
from d2s.testing.properties.observing import ATOL, RTOL, equal, fresh_state, outcome, tensors

_SEEN: Final = "SEEN"
"""The global list of a program that its statements in Python add to."""


def split_as_dygraph(program: Program) -> None:
    """E5: a driver and its islands do what dygraph does: results, order, state, gradients."""
    strewn = with_python(program)
    plain, other = strewn.function(), strewn.function()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BreakWarning)
        static = api.to_static(other, full_graph=False)
        for call in [*strewn.calls, *strewn.calls[:1]]:
            seen = []
            for function, scope in ((plain, plain), (static, other)):
                scope.__globals__[_SEEN].clear()
                arguments = strewn.arguments(call)
                paddle.seed(7)
                random.seed(7)
                with fresh_state(scope):
                    result = outcome(function, arguments)
                    gradients = _gradients(result[1], arguments)
                    state = scope.__globals__.get("total")
                seen.append((result, gradients, list(scope.__globals__[_SEEN]), state, arguments))
            _compare(seen[0], seen[1], f"for {call}")


def _compare(want: Any, got: Any, where: str) -> None:
    equal(want[0], got[0], where)
    for index, (left, right) in enumerate(zip(want[1], got[1], strict=False)):
        if isinstance(left, str):
            return  # what a program goes back through, dygraph may refuse
        assert np.allclose(left, right, RTOL, ATOL, equal_nan=True), (
            f"{where}: gradient {index} is {right}, should be {left}"
        )
    assert len(want[2]) == len(got[2]), f"{where}: Python was reached {len(got[2])} times"
    for left, right in zip(want[2], got[2], strict=True):
        ours, theirs = np.frombuffer(right, "float32"), np.frombuffer(left, "float32")
        assert np.allclose(ours, theirs, RTOL, ATOL, equal_nan=True), (
            f"{where}: Python saw {ours}, should see {theirs}"
        )
    for left, right in ((want[3], got[3]), (want[4], got[4])):
        equal(("state", left, ""), ("state", right, ""), where)


def _gradients(result: Any, arguments: tuple[Any, ...]) -> list[Any]:
    """The gradients of a sum over a result, by argument; zeros where there is none."""
    parts = [
        (each.astype("float32") * (1.0 + 0.1 * index)).sum()
        for index, each in enumerate(tensors(result))
        if not each.stop_gradient and each.size
    ]
    if parts:
        try:
            paddle.add_n(parts).backward()
        except D2SError:
            raise
        except Exception as error:  # dygraph refuses tensors that have changed meanwhile
            return [type(error).__name__]
    return [
        np.zeros(each.shape, "float32") if each.grad is None else each.grad.numpy()
        for each in arguments
        if isinstance(each, paddle.Tensor) and paddle.is_floating_point(each)
    ]


def with_python(program: Program) -> Program:
    """``program`` with one to three statements in it that need Python; always the same ones."""
    chance = random.Random(zlib.crc32(program.text.encode()))
    module = to_gast(ast.parse(program.text))
    (function,) = [node for node in module.body if getattr(node, "name", "") == "f"]
    name = next(name for name in program.parameters if name in ("x", "y", "n"))
    wide = "" if name == "n" else ".astype('float32')"
    statement = f"{_SEEN}.append({name}{wide}.numpy().astype('float32').tobytes())"
    for _ in range(chance.randint(1, 3)):
        block = chance.choice(list(_blocks(function)))
        at = chance.randint(0, len(block))
        block.insert(at, to_gast(ast.parse(statement)).body[0])
    text = f"{_SEEN} = []\n{ast.unparse(to_ast(module))}\n"
    return dataclasses.replace(program, text=text)


def _blocks(function: Any) -> list[list[Any]]:
    """The blocks of statements of a function, nested functions left out."""
    found, waiting = [], [function.body]
    while waiting:
        block = waiting.pop()
        found.append(block)
        waiting += [inner for statement in block for inner in blocks_of(statement)]
    return found
