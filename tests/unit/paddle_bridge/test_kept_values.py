"""Values of a program that are kept in Python stay that program's (rule C7)."""

from __future__ import annotations

import ast
import ctypes
import gc
import pathlib
from typing import Any

import paddle
import pytest

import d2s
from d2s import paddle_bridge as bridge
from d2s.paddle_bridge import walks

_OWNED = 48
"""Where pybind11 notes, on a 64-bit machine, whether a Python object owns what it stands for."""


def is_owned(value: Any) -> bool:
    return bool(ctypes.c_uint8.from_address(id(value) + _OWNED).value & 1)


def cubed(x: Any) -> Any:
    return (x * x * x if x.sum() > 0 else x).sum()


def trained() -> Any:
    x = paddle.to_tensor([2.0], stop_gradient=False)
    d2s.to_static(cubed)(x).backward()
    return x.grad.item()


def test_what_is_kept_of_a_program_is_no_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """C7: a reference that outlives its block stands for a value of another program later."""
    kept: list[Any] = []
    given: list[bool] = []
    keywords = walks.keywords_of

    def noting(block: Any) -> dict[str, Any]:
        given.extend(is_owned(value) for value in block.kwargs().values())
        found = keywords(block)
        kept.extend(found.values())
        return found

    monkeypatch.setattr(walks, "keywords_of", noting)
    assert trained() == 12.0
    assert kept
    assert all(is_owned(value) for value in kept)
    assert not any(given)  # else there is nothing to copy


def looped() -> Any:
    """A gradient inside of the program, through a loop with a list."""
    x = paddle.to_tensor([2.0], stop_gradient=False)

    def f(x: Any, n: Any) -> Any:
        rows = []
        for _ in range(int(n)):
            rows.append(x * x * x)
        return paddle.grad(paddle.stack(rows).sum(), x)[0]

    return d2s.to_static(f, full_graph=True)(x, paddle.to_tensor(1)).item()


@pytest.mark.parametrize("train", [trained, looped])
def test_no_reference_waits_for_the_garbage_collector(train: Any) -> None:
    """C7: Paddle's list of the values of a program and its map of loop variables are in cycles."""
    gc.collect()
    gc.disable()
    try:
        assert train() == 12.0
        left = sum(
            type(value) is bridge.Value and not is_owned(value)
            for thing in gc.get_objects()
            for value in gc.get_referents(thing)
        )
    finally:
        gc.enable()
    assert left == 0


def test_the_arguments_of_a_block_are_no_references() -> None:
    """C7: they stay what they are when the list of the block moves or goes."""
    with bridge.static_lock, paddle.static.program_guard(paddle.static.Program()):
        paddle.enable_static()
        try:
            loop = bridge.WhileOp(paddle.full([], True, "bool"), [paddle.full([], 1.0)])
            with loop.body() as variables:
                block = paddle.pir.get_current_insertion_point().block()
                found = [*variables, *walks.arguments_of(block)]
                assert all(is_owned(value) for value in found)
                assert not any(is_owned(value) for value in block.args())
                assert {value.id for value in found} == {value.id for value in block.args()}
                loop.finish(paddle.full([], False, "bool"), variables)
        finally:
            paddle.disable_static()


def test_nobody_else_asks_blocks_for_their_arguments() -> None:
    """C7: ``args`` and ``kwargs`` of a block are called in ``walks`` only."""
    package = pathlib.Path(d2s.__file__).parent
    calls = {
        (file.name, node.attr)
        for file in package.rglob("*.py")
        for call in ast.walk(ast.parse(file.read_text()))
        if isinstance(call, ast.Call) and not call.args and not call.keywords
        for node in [call.func]
        if isinstance(node, ast.Attribute) and node.attr in ("args", "kwargs", "block_arguments")
    }
    assert calls == {("walks.py", "args"), ("walks.py", "kwargs")}
