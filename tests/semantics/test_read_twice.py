"""An operation that reads one tensor twice does not write over it in between.

Paddle 3.3.1's in-place pass lets ``addmm(y, y, y)`` write over ``y`` before it has read it.  Where
equal expressions become one, that is ``addmm(x + 1, x + 1, x + 1)``, too.
"""

from __future__ import annotations

import paddle
import pytest

import d2s
from tests.helpers import assert_same, function_of, tensor

BODIES = """
paddle.addmm(y, y, y, 0.1, 0.3)
paddle.addmm(y + 1, y + 1, y + 1)
paddle.baddbmm(y.unsqueeze(0) * 2, y.unsqueeze(0) * 2, y.unsqueeze(0) * 2)
paddle.scatter(y + 0, k, y + 0)
paddle.scatter(y + 0, k, y + 0, overwrite=False)
paddle.put_along_axis(y + 0, paddle.stack([k, k]), y + 0, 1)
paddle.index_add(y + 0, k, 0, y + 0)
paddle.index_put(y + 0, (k,), y + 0)
paddle.index_put(y + 0, (k,), y + 0, accumulate=True)
paddle.scatter(k + 0, k + 0, k + 0)
paddle.index_put(k + 0, (k + 0,), k + 0)
paddle.scatter_nd_add(y + 0, k.unsqueeze(1), y + 0)
paddle.where(y > 0.5, y + 0, y + 0)
paddle.lerp(y + 0, y + 0, y + 0)
paddle.einsum("ij,jk->ik", y + 0, y + 0)
paddle.linalg.multi_dot([y + 0, y + 0, y + 0])
paddle.nn.functional.linear(y + 0, y + 0, (y + 0)[0])
(y + 0) @ (y + 0) @ (y + 0) + (y + 0)
""".strip().splitlines()


@pytest.mark.parametrize("body", BODIES)
def test_one_tensor_twice(body: str) -> None:
    """B1, C1: values and gradients are those of dygraph."""
    made = "x.reshape([2, 2]) * 1.5, paddle.to_tensor([1, 0])"
    text = f"def f(x):\n    y, k = {made}\n    return {body}"
    assert_same(
        function_of(text), (tensor(0.31, 0.77, 0.43, 0.09),), (tensor(1.0, -2.0, 0.5, 3.0),)
    )


def test_in_a_loop() -> None:
    """B2: the same in a body."""
    text = """
    def f(x, n):
        y = x.reshape([2, 2])
        for _ in range(n):
            y = paddle.addmm(y * 0.5, y * 0.5, y * 0.5)
        return y
    """
    assert_same(function_of(text), (tensor(0.3, 0.7, 0.4, 0.1), paddle.to_tensor(3)))


def test_saved(tmp_path: pytest.TempPathFactory) -> None:
    """G3: a program that is loaded reads it right."""

    class Net(paddle.nn.Layer):
        def forward(self, x):  # type: ignore[no-untyped-def]
            y = x * 1.5
            return paddle.addmm(y, y, y, 0.1, 0.3)

    net = Net()
    x = tensor(0.31, 0.77, 0.43, 0.09).reshape([2, 2])
    static = d2s.to_static(net, input_spec=[paddle.static.InputSpec([2, 2], "float32", "x")])
    d2s.save(static, f"{tmp_path}/net")
    loaded = paddle.jit.load(f"{tmp_path}/net")
    assert loaded(x).numpy().tolist() == net.forward(x).numpy().tolist()
