"""``squeeze`` where the run decides how many dimensions are left (rules A1, B3)."""

from __future__ import annotations

import paddle
import pytest

import d2s
from d2s.errors import InplaceError
from tests.helpers import assert_same, function_of, tensor

ONE, TWO, LAST = tensor(1.0, 3.0, 0.5), tensor(1.0, 3.0, 4.0), tensor(0.5, 0.0, 5.0)
CALLS = [
    "y.squeeze()",
    "paddle.squeeze(y)",
    "y.squeeze(0)",
    "y.squeeze(-1)",
    "y.squeeze(axis=[0])",
    "y.unsqueeze(-1).squeeze()",
    "y.unsqueeze(0).squeeze([0, 1])",
    "paddle.squeeze(y.reshape([-1, 1]), axis=0)",
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "use",
    [
        "z",
        "z.ndim, z * 2",
        "(z + 100 if z.ndim == 0 else z.sum())",
        "z.shape[0] if len(z.shape) else 7",
        "[row * 2 for row in z] if z.ndim == 1 else z",
        "z.unsqueeze(0), z.reshape([-1]), (z - 1).square().mean()",
    ],
)
def test_the_rank_is_that_of_the_run(call: str, use: str) -> None:
    """B3: code that asks for the number of dimensions gets that of the run."""
    function = function_of(
        f"""
        def f(x):
            y = x[x > 2]
            z = {call}
            return {use}
        """
    )
    assert_same(function, ONE, TWO, LAST)


def test_positions_are_used_as_indices() -> None:
    """B3: one position picks an item, several pick a part."""
    function = function_of(
        """
        def f(x):
            where = paddle.nonzero(x > 2).squeeze()
            total = x.sum() * 0
            for index in where.reshape([-1]):
                total = total + x[index]
            return x[where], total
        """
    )
    assert_same(function, ONE, TWO, LAST)


def test_an_open_batch_stays_one_program() -> None:
    """G2: a size that comes from an argument is not 1, so nothing is captured twice."""
    function = function_of(
        """
        def f(x, w):
            y = paddle.matmul(x, w).squeeze()
            return y.ndim, (y - 1).square().mean(), (y * 2)[0]
        """
    )
    calls = [(paddle.ones([size, 3]), paddle.ones([3, 1])) for size in (4, 5, 6)]
    converted = assert_same(function, *calls)
    assert not any("pd_op.if" in str(info.program) for info in converted.programs)


@pytest.mark.parametrize("call", ["y.squeeze_()", "y.squeeze_(0)", "paddle.squeeze_(y)"])
def test_in_place_it_is_refused(call: str) -> None:
    """E1: all names of the tensor would have either rank."""
    function = function_of(f"def f(x):\n    y = x[x > 2] * 1\n    {call}\n    return y")
    with pytest.raises(InplaceError, match="how many dimensions"):
        d2s.to_static(function)(TWO)


def test_a_saved_model_takes_the_open_dimension_as_it_is(tmp_path: object) -> None:
    """G3: an InputSpec that leaves the batch open, and a squeeze at the end."""
    model = paddle.nn.Linear(3, 1)
    text = "def forward(self, x):\n    return self.inner(x).squeeze()"
    kind = type("Net", (paddle.nn.Layer,), {"forward": function_of(text)})
    net = kind()
    net.inner = model
    spec = [paddle.static.InputSpec([None, 3], "float32")]
    path = f"{tmp_path}/net"
    d2s.save(d2s.to_static(net, input_spec=spec), path)
    loaded = d2s.load(path)
    for size in (2, 5):
        assert loaded(paddle.ones([size, 3])).shape == [size]
