"""What a program that is only run does without, and that it means the same (rules A1, D1)."""

from __future__ import annotations

from typing import Any

import paddle
import pytest
from paddle.static import InputSpec

import d2s
from d2s import paddle_bridge as bridge
from tests.helpers import assert_same, function_of, tensor

LOOP = """
def f(x, n):
    i = paddle.zeros([], dtype="int64")
    while i < n:
        x = x * 0.5 + 1.0
        i = i + 1
    return x
"""


def operations_of(source: str, *arguments: Any) -> tuple[list[str], list[str]]:
    """The operations of the program that a call without gradients runs; those of its loop."""
    static = d2s.to_static(function_of(source))
    with paddle.no_grad():
        static(*arguments)
    ((layer, _),) = static._programs.entries[0].runner.program._ready
    every = list(bridge.operations(layer.infer_program.forward_program))
    looped = [inner for each in every if each.name() == "pd_op.while" for inner in body_of(each)]
    return [each.name() for each in every], looped


def body_of(loop: Any) -> list[str]:
    (body,) = loop.blocks()
    return [operation.name() for operation in body.ops]


def test_a_loop_body_copies_nothing_and_makes_no_constants() -> None:
    """A trip costs what it computes: two sums, a product and a comparison."""
    _, body = operations_of(LOOP, tensor(1.0), paddle.to_tensor(3))
    assert "pd_op.scale" in body
    assert not {"pd_op.assign", "pd_op.full"} & set(body)


def test_a_branch_hands_out_what_it_has_computed() -> None:
    """No copy in a branch, none of what the program returns if it is computed outside of it."""
    every, _ = operations_of(
        """
        def f(x):
            if x.sum() > 0:
                y = x * 2
            else:
                y = x - 1
            return y + 1
        """,
        tensor(1.0),
    )
    assert "pd_op.if" in every
    assert "pd_op.assign" not in every


KEPT = {
    "from outside": "x, y = y, x",
    "one value twice": "x = y = x * 0.5 + 1",
    "a view": "x, y = x.reshape([2, 1]).reshape([2]), x * 2",
    "a swap of computed values": "x, y = y * 0.5, x + 1",
    "a matrix product of itself": "y = paddle.matmul(y.reshape([1, 2]), W).reshape([2]); x = x + y",
    "an item that is set": "y = y * 0.5; y[0] = x[1]; x = x + y",
    "a branch inside": "x = x * 0.5 if x.sum() > 1 else y + 1",
    "a constant as first operand": "x = paddle.full([2], 3.0) - y; y = paddle.full([2], 3.0) * x",
    "a constant that is changed": "z = paddle.full([2], 1.0); z.add_(x); x = z * 0.5; y = y - z",
    "a constant that is kept": "y = paddle.full([2], 2.0); x = x + y",
    "a loop inside": "for j in range(n): y = y * 0.5 + x\n            x = x + y",
    "read afterwards": "y = x * 0.5; x = y + y.sum(); print(y.sum().item())",
}
W = paddle.to_tensor([[0.0, 2.0], [0.5, 0.0]])


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_values_are_those_of_dygraph(body: str) -> None:
    """D1: with every reason there is to keep a copy or a constant."""
    source = f"""
    def f(x, y, n):
        seen = []
        for i in range(n):
            {body}
            seen.append(x)
        return x, y, paddle.stack(seen)
    """
    function = function_of(source, W=W)
    calls = [(tensor(1.0, 2.0), tensor(3.0, -4.0), paddle.to_tensor(n)) for n in (3, 1, 5, 3)]
    with paddle.no_grad():
        assert_same(function, *calls)


@pytest.mark.parametrize("source", [LOOP, "def f(x, n): return x * 2 + n, x - n"])
def test_a_result_outlives_later_calls(source: str) -> None:
    """F3: what a call has returned does not change when the program runs again."""
    function = function_of(source)
    static = d2s.to_static(function)
    with paddle.no_grad():
        calls = [(tensor(float(k)), paddle.to_tensor(k)) for k in range(1, 6)]
        kept = [paddle.utils.flatten(static(*call)) for call in calls]
        for call, results in zip(calls, kept, strict=True):
            wanted = paddle.utils.flatten(function(*call))
            assert [each.tolist() for each in results] == [each.tolist() for each in wanted]


UNREAD = {
    "of a branch": "a = x; b = x\n            if i > 0: a = x * 2; b = paddle.cast(y, 'int64')\n"
    "            x = a + 1",
    "sizes": "n = y.shape[0]; m = [y.shape[0] + 1, n]; x = x + y",
    "a copy that is read": "z = y.clone(); y = z.exp() + paddle.concat([z, z])[:2]; x = x + y",
    "a copy of what is changed": "z = y.clone(); y[0] = 7; x = x + z.exp() + y",
    "a copy of a copy that is changed": "z = y.clone(); w = z.clone(); z[1] = 5; x = x * w + z",
    "what is drawn": "z = paddle.rand([3]); y = paddle.rand([2]) + y * 0; x = x + y",
    "a shape that fails": "z = y.reshape([x.shape[0] + i - i, 1]) if i < 2 else y.reshape([5]); "
    "x = x + 1",
    "operands that fail": "z = y[:1 + i] + paddle.ones([2]); x = x + 1",
}


@pytest.mark.parametrize("body", UNREAD.values(), ids=UNREAD)
@pytest.mark.parametrize("sizes", [2, None])
def test_without_what_is_not_read_it_means_the_same(body: str, sizes: int | None) -> None:
    """A1: values, what is drawn after, and what is raised."""
    source = f"""
    def f(x, y, n):
        seen = []
        for i in range(n):
            {body}
            seen.append(x)
        return x, y, paddle.stack(seen)
    """
    spec = [InputSpec([sizes]), InputSpec([sizes]), InputSpec([], "int64")]
    function = function_of(source, W=W)
    static = d2s.to_static(function, input_spec=spec, full_graph=True)
    trips = (1, 2, 1) if "fails" in body else (1, 2, 4)
    calls = [(tensor(1.0, 2.0), tensor(3.0, -4.0), paddle.to_tensor(n)) for n in trips]
    with paddle.no_grad():
        assert_same(function, *calls, static=static)


def test_what_nobody_reads_is_not_computed() -> None:
    """C2: in a trip, and in the sides of a branch there."""
    _, body = operations_of(
        """
        def f(x, n):
            a = x
            for i in range(n):
                size = paddle.shape(x)[0] + 1
                if x.sum() > 1:
                    a, b = x + 1, paddle.full_like(x, 2)
                else:
                    a, b = x - 1, paddle.full_like(a, 3)
                x = a * 2
            return x
        """,
        tensor(1.0, 2.0),
        paddle.to_tensor(3),
    )
    assert not {"pd_op.full_like", "pd_op.shape64", "pd_op.slice"} & set(body)


def test_a_copy_that_is_only_read_is_none() -> None:
    """D1: what makes a tensor of its own reads what a copy is made of."""
    _, body = operations_of(
        """
        def f(x, n):
            for i in range(n):
                y = x.clone()
                x = paddle.concat([y, x])[:2] * y.exp() * 0.1
            return x
        """,
        tensor(1.0, 2.0),
        paddle.to_tensor(3),
    )
    assert "pd_op.assign" not in body


def test_a_branch_hands_out_nothing_for_nobody() -> None:
    """B1: an output that is not read is whatever is there already."""
    every, _ = operations_of(
        """
        def f(x, k):
            y, z = x * 1, x
            if k > 0:
                y, z = x * 2, paddle.full_like(x, 3)
            return (y, paddle.shape(z)[0])[0]
        """,
        tensor(1.0, 2.0),
        paddle.to_tensor(3),
    )
    assert "pd_op.if" in every
    assert "pd_op.full_like" not in every
