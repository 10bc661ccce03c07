"""What Python checks, a saved program checks too: numbers of ``int``, indexes, divisors (F1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import paddle
import pytest
from paddle.static import InputSpec

import d2s
from tests.helpers import tensor


class Whole(paddle.nn.Layer):
    def forward(self, x: Any) -> Any:
        return x * int(x.sum())


class Quotient(paddle.nn.Layer):
    def forward(self, x: Any) -> Any:
        return x + int(x.max()) // int(x.min())


class Picked(paddle.nn.Layer):
    def forward(self, x: Any) -> Any:
        return [x, x * 2, x * 3][int(x.max())]


class Repeated(paddle.nn.Layer):
    def forward(self, x: Any) -> Any:
        rows = [x]
        for number in range(0, 6, int(x.max())):
            rows.append(x * number)
        return paddle.stack(rows).sum(0)


class Resized(paddle.nn.Layer):
    def forward(self, x: Any) -> Any:
        height, width = paddle.shape(x)[:2]
        sizes = (int(0.5 * height), int(0.5 * width))
        return paddle.nn.functional.interpolate(x.unsqueeze([0, 1]), sizes)


GOOD = tensor([1.0, 1.0], [1.0, 2.0])


@pytest.mark.parametrize(
    ("kind", "bad"),
    [
        (Whole, GOOD * float("nan")),
        (Whole, GOOD * float("inf")),
        (Quotient, GOOD * 0),
        (Picked, GOOD * 5),
        (Repeated, GOOD * 0),
        (Resized, None),
    ],
)
def test_a_saved_program_checks_what_python_does(kind: Any, bad: Any, tmp_path: Path) -> None:
    """F1: it has no Python, so the error is another one; without the check it would be silent."""
    spec = [paddle.static.InputSpec([2, 2], "float32")]
    d2s.save(d2s.to_static(kind(), input_spec=spec), str(tmp_path / "model"))
    loaded = d2s.load(str(tmp_path / "model"))
    assert loaded(GOOD).tolist() == kind()(GOOD).tolist()
    if bad is not None:
        for model in (kind(), loaded):
            with pytest.raises(Exception):  # noqa: B017, PT011 - Paddle's own, of the run
                model(bad)


WRONG_CALLS = {
    "nothing": lambda call: call(),
    "too many": lambda call: call(tensor(1.0, 2.0), tensor(1.0, 2.0)),
    "another dtype": lambda call: call(paddle.to_tensor([[1, 2]])),
    "a text": lambda call: call("a"),
    "by name": lambda call: call(x=paddle.ones([1, 2])),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_loaded_program_says_what_it_takes(name: str, tmp_path: Path) -> None:
    """F1: Paddle says it in words of its own, about tensors and containers."""
    layer = paddle.nn.Linear(2, 2)
    d2s.save(layer, str(tmp_path / "m"), input_spec=[InputSpec([None, 2], "float32", "x")])
    loaded = d2s.load(str(tmp_path / "m"))
    with pytest.raises(
        d2s.errors.ArgumentsError, match=r"takes tensors .*float32 \[-1, 2\]"
    ) as caught:
        WRONG_CALLS[name](loaded)
    assert (caught.value.code, caught.value.file) == ("D2S301", __file__)
    with pytest.raises(ValueError, match="matmul"):  # another size is the program's own matter
        loaded(paddle.ones([1, 3]))
