"""Tensors that no program computes with, and functions in which processes meet, in one process."""

from __future__ import annotations

from typing import Any

import paddle
import paddle.distributed as dist
import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from d2s.paddle_bridge import CALLS_PYTHON

SPARSE = paddle.sparse.sparse_coo_tensor([[0, 1, 2], [1, 2, 0]], [1.0, 2.0, 3.0], [3, 3])


def through_a_loop(x):
    y = x.to_dense() * 2
    while y.sum() < 100:
        y = y * 2
    return y


def relu(x):
    return paddle.sparse.nn.functional.relu(x).to_dense()


def of_a_global(x):
    return x + SPARSE.to_dense()


@pytest.mark.parametrize("function", [through_a_loop, relu])
def test_a_sparse_argument(function: Any) -> None:
    """G2: read in dygraph, beside programs of the rest; refused where all is to be one program."""
    expected = function(SPARSE)
    static = d2s.to_static(function, full_graph=False)
    for _ in range(3):
        assert static(SPARSE).tolist() == expected.tolist()
    with pytest.raises(UnsupportedInGraphError, match="a sparse tensor is read") as failure:
        d2s.to_static(function, full_graph=True)(SPARSE)
    assert failure.value.line == function.__code__.co_firstlineno + 1


def test_a_sparse_tensor_from_outside() -> None:
    """G2: it is no parameter of the program."""
    x = paddle.ones([3, 3])
    assert d2s.to_static(of_a_global, full_graph=False)(x).tolist() == of_a_global(x).tolist()
    with pytest.raises(UnsupportedInGraphError, match="a sparse tensor is read"):
        d2s.to_static(of_a_global, full_graph=True)(x)


def doubled(x):
    return x * 2 if x.is_sparse() else x * 3


def test_a_sparse_argument_after_dense_ones() -> None:
    """G2: no program that was made for a dense tensor takes it, also not one that comes again."""
    static = d2s.to_static(doubled, full_graph=True)
    dense = paddle.ones([3, 3])
    for _ in range(5):
        assert static(dense).tolist() == doubled(dense).tolist()
    with pytest.raises(UnsupportedInGraphError):
        static(SPARSE)
    assert static(dense).tolist() == doubled(dense).tolist()


def all_reduce(x):
    y = x * 2
    dist.all_reduce(y)
    return y


def broadcast(x):
    y = x * 2
    dist.broadcast(y, 0)
    return y


def all_gather(x):
    parts = []
    dist.all_gather(parts, x)
    return parts


def where_there_are_several(x):
    if dist.get_world_size() > 1:
        dist.all_reduce(x)
    return x * (1 + dist.get_rank())


@pytest.mark.parametrize("function", [all_reduce, broadcast, all_gather])
def test_processes_that_do_not_meet(function: Any) -> None:
    """A1: what dygraph says where nothing is initialized."""
    x = paddle.ones([2])
    with pytest.raises(RuntimeError) as expected:
        function(x)
    with pytest.raises(RuntimeError) as failure:
        d2s.to_static(function, full_graph=CALLS_PYTHON)(x)  # else in dygraph
    assert str(failure.value) == str(expected.value)


def test_one_process() -> None:
    x = paddle.ones([2])
    static = d2s.to_static(where_there_are_several, full_graph=True)
    assert static(x).tolist() == where_there_are_several(x).tolist()


def test_an_exchange_is_not_saved(tmp_path: Any) -> None:
    """A file runs without Python, and each run would call Paddle's function."""
    with pytest.raises(d2s.errors.SaveError, match="all_reduce"):
        d2s.save(all_reduce, str(tmp_path / "f"), [paddle.static.InputSpec([2], "float32")])
